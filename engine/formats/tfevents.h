/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
#include <glib.h>
#include <stdint.h>

/* TensorBoard event files: the metrics of a run.
 *
 * A file is a row of TFRecords (u64 length, masked CRC-32C of the length, an Event message, masked CRC-32C of it). The first
 * says "brain.Event:2". A run that goes on after a stop opens a new file whose second record is SessionLog START with the
 * step that will be done first: rows of that step and later ones that stand in earlier files count no more, here as in
 * TensorBoard.
 *
 * The writer appends and never changes what is there; the reader may follow a file that is being written. Either is used
 * by one thread at a time. */

/* A histogram as TensorBoard keeps it: buckets[i] values lie in (limits[i-1], limits[i]]. */
typedef struct
{
  double min, max, count, sum, sum_squares;
  int n_buckets;
  double *limits, *buckets; /* [n_buckets] */
} TnHistogram;

/** Counts @n values in TensorFlow's buckets, whose limits grow by 1.1 from 1e-12 to 1e20 on both sides of 0. Values that are
 * not finite are left out; their number goes to *n_not_finite (may be NULL). Free with tn_histogram_free(). */
TnHistogram *tn_histogram_new_from_floats (const float *values, size_t n, int64_t *n_not_finite);
void tn_histogram_free (TnHistogram *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (TnHistogram, tn_histogram_free)

typedef struct _TnTfeventsWriter TnTfeventsWriter;

/** Makes a new file "events.out.tfevents.SECONDS.HOST.PID.N" in @folder, with a name that sorts after all event files there (TensorBoard
 * reads them in that order). @resume_step: the first step that will be done, where a run goes on, else -1. The first
 * records are written and flushed at once. @wall_time: seconds since 1970 (for both); 0 for now. */
TnTfeventsWriter *tn_tfevents_writer_new (const char *folder, int64_t resume_step, double wall_time, GError **error);
/** Does not flush. */
void tn_tfevents_writer_free (TnTfeventsWriter *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (TnTfeventsWriter, tn_tfevents_writer_free)
const char *tn_tfevents_writer_path (TnTfeventsWriter *self);

/** One record with @n scalars of the same step. Goes to memory only. */
void tn_tfevents_writer_scalars (TnTfeventsWriter *self, int64_t step, double wall_time, int n, const char *const *tags,
                                 const float *values);
void tn_tfevents_writer_histogram (TnTfeventsWriter *self, int64_t step, double wall_time, const char *tag,
                                   const TnHistogram *histogram);
/** Hands what is in memory to the system. After a failure nothing is lost: what could not be written stays in memory, a record that
 * went in part is cut off or completed by the next flush. Errors: TN_ERROR_NO_SPACE, TN_ERROR_IO. */
gboolean tn_tfevents_writer_flush (TnTfeventsWriter *self, GError **error);
/** Flushes and makes it last. */
gboolean tn_tfevents_writer_sync (TnTfeventsWriter *self, GError **error);
/** Bytes that are in the file, or (@with_buffer) will be after the next flush. Always the end of a record after a flush
 * that succeeded. */
uint64_t tn_tfevents_writer_end (TnTfeventsWriter *self, gboolean with_buffer);

typedef enum
{
  TN_TFEVENTS_SCALAR,
  TN_TFEVENTS_HISTOGRAM,
  TN_TFEVENTS_START /* a run went on here: @step is the first one it did; no tag */
} TnTfeventsKind;

typedef struct
{
  const char *tag; /* owned by the rows; equal tags are equal pointers */
  int64_t step;
  double wall_time;
  TnTfeventsKind kind;
  double value;           /* SCALAR; float32 values are exact */
  TnHistogram *histogram; /* HISTOGRAM, owned by the rows */
} TnTfeventsRow;

/* Rows from one file or several, in the order they were written. */
typedef struct
{
  GArray *rows; /* TnTfeventsRow */
  /*< private >*/
  GHashTable *tags;
} TnTfeventsRows;

TnTfeventsRows *tn_tfevents_rows_new (void);
void tn_tfevents_rows_free (TnTfeventsRows *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (TnTfeventsRows, tn_tfevents_rows_free)
/** Applies the restart rule: each START drops all earlier scalars and histograms whose step is not smaller; it stays as the mark.
 * To be called again after more rows were read; cheap where there is nothing new. */
void tn_tfevents_rows_purge (TnTfeventsRows *self);

typedef struct _TnTfeventsReader TnTfeventsReader;

/** @offset: 0, or where an earlier reader stood. */
TnTfeventsReader *tn_tfevents_reader_new (const char *path, uint64_t offset, GError **error);
void tn_tfevents_reader_free (TnTfeventsReader *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (TnTfeventsReader, tn_tfevents_reader_free)

/** Appends the rows of all whole records that are there now. A record that is not whole yet is left for the next call:
 * TRUE, and tn_tfevents_reader_is_waiting() says so. A record whose data checksum is wrong is skipped and counted; a wrong length
 * checksum means that nothing behind it can be found: FALSE with TN_ERROR_FORMAT and the offset, the rows before it having
 * been appended. Scalars (simple_value, and new-style tensors of one float or double) and histograms become rows; pictures, text
 * and graphs are passed over. */
gboolean tn_tfevents_reader_read (TnTfeventsReader *self, TnTfeventsRows *rows, GError **error);
/** End of the last whole record that was read. */
uint64_t tn_tfevents_reader_offset (TnTfeventsReader *self);
gboolean tn_tfevents_reader_is_waiting (TnTfeventsReader *self);
/** Records skipped because of their checksum or contents, and where the first of them begins. */
uint64_t tn_tfevents_reader_n_damaged (TnTfeventsReader *self, uint64_t *first_offset);

/** Paths of the event files of @folder in reading order; NULL-terminated, free with g_strfreev. Empty if there is none. */
char **tn_tfevents_list (const char *folder, GError **error);
/** All rows of all event files of @folder, purged. Damage does not fail the call: what could be read is there, *warning (may be
 * NULL) gets a text, free with g_free, or NULL. */
TnTfeventsRows *tn_tfevents_read_folder (const char *folder, char **warning, GError **error);
