/* SPDX-License-Identifier: Apache-2.0 */
#include "formats/tfevents.h"

#include <inttypes.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/crc32c.h"
#include "base/error.h"
#include "formats/bytes.h"
#include "formats/protobuf.h"

#define HEAD_BYTES 12
#define TAIL_BYTES 4
#define CHUNK_BYTES (1u << 20)
#define MAX_RECORD ((uint64_t) 1 << 30)

struct _TnTfeventsReader
{
  char *path;
  int fd;
  uint64_t offset; /* of the next record */
  GByteArray *buffer;
  gboolean waiting;
  uint64_t n_damaged, first_damaged;
};

TnTfeventsRows *
tn_tfevents_rows_new (void)
{
  TnTfeventsRows *self = g_new0 (TnTfeventsRows, 1);
  self->rows = g_array_new (FALSE, FALSE, sizeof (TnTfeventsRow));
  self->tags = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, NULL);
  return self;
}

void
tn_tfevents_rows_free (TnTfeventsRows *self)
{
  for (guint i = 0; i < self->rows->len; i++)
    g_clear_pointer (&g_array_index (self->rows, TnTfeventsRow, i).histogram, tn_histogram_free);
  g_array_unref (self->rows);
  g_hash_table_unref (self->tags);
  g_free (self);
}

static const char *
intern_tag (TnTfeventsRows *self, const uint8_t *tag, size_t n)
{
  char *text = g_utf8_make_valid ((const char *) tag, (gssize) n);
  gpointer known;
  if (g_hash_table_lookup_extended (self->tags, text, &known, NULL))
    {
      g_free (text);
      return known;
    }
  g_hash_table_add (self->tags, text);
  return text;
}

/* From the back: a row goes if any START behind it has a step that is not larger. */
void
tn_tfevents_rows_purge (TnTfeventsRows *self)
{
  TnTfeventsRow *rows = (TnTfeventsRow *) self->rows->data;
  guint n = self->rows->len, to = n;
  int64_t limit = INT64_MAX;
  for (guint i = n; i-- > 0;)
    {
      TnTfeventsRow row = rows[i];
      if (row.kind == TN_TFEVENTS_START)
        limit = MIN (limit, row.step);
      else if (limit != INT64_MAX && row.step >= limit)
        {
          g_clear_pointer (&row.histogram, tn_histogram_free);
          continue;
        }
      rows[--to] = row;
    }
  if (to > 0)
    g_array_remove_range (self->rows, 0, to);
}

/* HistogramProto; NULL if it is not sound. */
static TnHistogram *
parse_histogram (const uint8_t *data, size_t n)
{
  TnPbReader r = tn_pb_reader (data, n);
  TnPbField f;
  g_autoptr (TnHistogram) self = g_new0 (TnHistogram, 1);
  g_autoptr (GArray) limits = g_array_new (FALSE, FALSE, sizeof (double));
  g_autoptr (GArray) buckets = g_array_new (FALSE, FALSE, sizeof (double));
  double *const numbers[] = { NULL, &self->min, &self->max, &self->count, &self->sum, &self->sum_squares };

  while (tn_pb_next (&r, &f))
    if (f.number >= 1 && f.number <= 5 && f.wire == TN_PB_FIXED64)
      *numbers[f.number] = tn_pb_double (&f);
    else if ((f.number == 6 && !tn_pb_append_doubles (&f, limits)) || (f.number == 7 && !tn_pb_append_doubles (&f, buckets)))
      return NULL;
  if (r.bad || limits->len != buckets->len)
    return NULL;
  self->n_buckets = (int) limits->len;
  self->limits = (double *) g_array_free (g_steal_pointer (&limits), FALSE);
  self->buckets = (double *) g_array_free (g_steal_pointer (&buckets), FALSE);
  return g_steal_pointer (&self);
}

/* A TensorProto that holds one float or double and no dimensions: what tf.summary.scalar writes. */
static gboolean
parse_scalar_tensor (const uint8_t *data, size_t n, double *value)
{
  TnPbReader r = tn_pb_reader (data, n);
  TnPbField f, dim;
  uint64_t dtype = 0;
  gboolean found = FALSE;

  while (tn_pb_next (&r, &f))
    if (f.number == 1 && f.wire == TN_PB_VARINT)
      dtype = f.value;
    else if (f.number == 2 && f.wire == TN_PB_BYTES)
      {
        TnPbReader shape = tn_pb_reader (f.bytes, f.n);
        while (tn_pb_next (&shape, &dim))
          if (dim.number == 2)
            return FALSE;
      }
    else if (f.number >= 4 && f.number <= 6)
      {
        /* tensor_content, float_val (packed or not), double_val */
        size_t size = dtype == 2 ? 8 : 4;
        gboolean single = f.wire == (size == 8 ? TN_PB_FIXED64 : TN_PB_FIXED32);
        if ((dtype != 1 && dtype != 2) || (!single && (f.wire != TN_PB_BYTES || f.n != size)) || (f.number != 4 && f.number != 4 + dtype))
          return FALSE;
        if (!single)
          f.value = size == 8 ? tn_read_le64 (f.bytes) : tn_read_le32 (f.bytes);
        *value = size == 8 ? tn_pb_double (&f) : (double) tn_pb_float (&f);
        found = TRUE;
      }
  return found && !r.bad;
}

static gboolean
parse_value (const uint8_t *data, size_t n, TnTfeventsRow row, TnTfeventsRows *rows)
{
  TnPbReader r = tn_pb_reader (data, n);
  TnPbField f;
  gboolean known = FALSE;

  row.tag = "";
  while (tn_pb_next (&r, &f))
    if (f.number == 1 && f.wire == TN_PB_BYTES)
      row.tag = intern_tag (rows, f.bytes, f.n);
    else if (f.number == 2 && f.wire == TN_PB_FIXED32)
      {
        row.kind = TN_TFEVENTS_SCALAR;
        row.value = (double) tn_pb_float (&f);
        known = TRUE;
      }
    else if (f.number == 5 && f.wire == TN_PB_BYTES)
      {
        g_clear_pointer (&row.histogram, tn_histogram_free);
        row.kind = TN_TFEVENTS_HISTOGRAM;
        row.histogram = parse_histogram (f.bytes, f.n);
        known = row.histogram != NULL;
        r.bad |= !known;
      }
    else if (f.number == 8 && f.wire == TN_PB_BYTES && parse_scalar_tensor (f.bytes, f.n, &row.value))
      {
        row.kind = TN_TFEVENTS_SCALAR;
        known = TRUE;
      }
  if (r.bad || !known)
    {
      g_clear_pointer (&row.histogram, tn_histogram_free);
      return !r.bad;
    }
  if (row.kind == TN_TFEVENTS_SCALAR)
    g_clear_pointer (&row.histogram, tn_histogram_free);
  g_array_append_val (rows->rows, row);
  return TRUE;
}

static gboolean
parse_event (const uint8_t *data, size_t n, TnTfeventsRows *rows)
{
  TnPbReader r = tn_pb_reader (data, n);
  TnPbField f, inner;
  TnTfeventsRow row = { 0 };
  const uint8_t *summary = NULL, *session = NULL;
  size_t n_summary = 0, n_session = 0;

  while (tn_pb_next (&r, &f))
    if (f.number == 1 && f.wire == TN_PB_FIXED64)
      row.wall_time = tn_pb_double (&f);
    else if (f.number == 2 && f.wire == TN_PB_VARINT)
      row.step = (int64_t) f.value;
    else if (f.number == 5 && f.wire == TN_PB_BYTES)
      summary = f.bytes, n_summary = f.n;
    else if (f.number == 7 && f.wire == TN_PB_BYTES)
      session = f.bytes, n_session = f.n;
  if (r.bad)
    return FALSE;

  TnPbReader s = tn_pb_reader (session, n_session);
  while (session && tn_pb_next (&s, &inner))
    if (inner.number == 1 && inner.wire == TN_PB_VARINT && inner.value == 1)
      {
        TnTfeventsRow start = { .tag = "", .step = row.step, .wall_time = row.wall_time, .kind = TN_TFEVENTS_START };
        g_array_append_val (rows->rows, start);
      }
  TnPbReader v = tn_pb_reader (summary, n_summary);
  gboolean ok = TRUE;
  while (summary && tn_pb_next (&v, &inner))
    if (inner.number == 1 && inner.wire == TN_PB_BYTES)
      ok &= parse_value (inner.bytes, inner.n, row, rows);
  return ok && !s.bad && !v.bad;
}

TnTfeventsReader *
tn_tfevents_reader_new (const char *path, uint64_t offset, GError **error)
{
  uint64_t size;
  int fd = tn_file_open (path, &size, error);
  if (fd < 0)
    return NULL;
  TnTfeventsReader *self = g_new0 (TnTfeventsReader, 1);
  self->path = g_strdup (path);
  self->fd = fd;
  self->offset = offset;
  self->buffer = g_byte_array_new ();
  return self;
}

void
tn_tfevents_reader_free (TnTfeventsReader *self)
{
  close (self->fd);
  g_byte_array_unref (self->buffer);
  g_free (self->path);
  g_free (self);
}

/* @n bytes from the reader's offset on, all of which lie in the file. */
static const uint8_t *
fetch (TnTfeventsReader *self, uint64_t start, size_t n, uint64_t file_size, uint64_t *buffer_start, GError **error)
{
  uint64_t have_end = *buffer_start + self->buffer->len;
  if (start < *buffer_start || start + n > have_end)
    {
      size_t want = (size_t) MIN ((uint64_t) MAX (n, CHUNK_BYTES), file_size - start);
      g_byte_array_set_size (self->buffer, (guint) want);
      *buffer_start = start;
      if (!tn_file_pread (self->fd, self->buffer->data, want, start, self->path, error))
        {
          g_byte_array_set_size (self->buffer, 0);
          return NULL;
        }
    }
  return self->buffer->data + (start - *buffer_start);
}

static void
note_damage (TnTfeventsReader *self)
{
  if (self->n_damaged++ == 0)
    self->first_damaged = self->offset;
}

static gboolean
bad_length (TnTfeventsReader *self, const uint8_t *head, GError **error)
{
  const char *what = self->offset == 0 ? tn_sniff (head, HEAD_BYTES) : NULL;
  if (what)
    g_set_error (error, TN_ERROR, TN_ERROR_FORMAT, _ ("“%s” is not an event file but %s."), self->path, what);
  else
    g_set_error (error, TN_ERROR, TN_ERROR_FORMAT,
                 _ ("“%s” is damaged at byte %" PRIu64 ": the checksum of the record's length is wrong, so nothing behind "
                    "it can be read."),
                 self->path, self->offset);
  return FALSE;
}

gboolean
tn_tfevents_reader_read (TnTfeventsReader *self, TnTfeventsRows *rows, GError **error)
{
  struct stat st;
  uint64_t buffer_start = 0;

  g_byte_array_set_size (self->buffer, 0);
  if (fstat (self->fd, &st) != 0)
    {
      g_set_error (error, TN_ERROR, TN_ERROR_IO, _ ("Cannot read “%s”."), self->path);
      return FALSE;
    }
  uint64_t size = (uint64_t) st.st_size;
  if (size < self->offset)
    {
      g_set_error (error, TN_ERROR, TN_ERROR_FORMAT,
                   _ ("“%s” became shorter: %" PRIu64 " bytes, of which %" PRIu64 " had been read. Open it again."), self->path,
                   size, self->offset);
      return FALSE;
    }
  while (size - self->offset >= HEAD_BYTES)
    {
      const uint8_t *head = fetch (self, self->offset, HEAD_BYTES, size, &buffer_start, error);
      if (!head)
        return FALSE;
      uint64_t length = tn_read_le64 (head);
      if (tn_read_le32 (head + 8) != tn_crc32c_mask (tn_crc32c (0, head, 8)) || length > MAX_RECORD)
        return bad_length (self, head, error);
      if (size - self->offset - HEAD_BYTES < length + TAIL_BYTES)
        break;
      const uint8_t *data = fetch (self, self->offset + HEAD_BYTES, (size_t) length + TAIL_BYTES, size, &buffer_start, error);
      if (!data)
        return FALSE;
      if (tn_read_le32 (data + length) != tn_crc32c_mask (tn_crc32c (0, data, (size_t) length))
          || !parse_event (data, (size_t) length, rows))
        note_damage (self);
      self->offset += HEAD_BYTES + length + TAIL_BYTES;
    }
  self->waiting = self->offset < size;
  return TRUE;
}

uint64_t
tn_tfevents_reader_offset (TnTfeventsReader *self)
{
  return self->offset;
}

gboolean
tn_tfevents_reader_is_waiting (TnTfeventsReader *self)
{
  return self->waiting;
}

uint64_t
tn_tfevents_reader_n_damaged (TnTfeventsReader *self, uint64_t *first_offset)
{
  if (first_offset)
    *first_offset = self->first_damaged;
  return self->n_damaged;
}

static int
compare_paths (const void *a, const void *b)
{
  return strcmp (*(char *const *) a, *(char *const *) b);
}

char **
tn_tfevents_list (const char *folder, GError **error)
{
  g_autoptr (GError) dir_error = NULL;
  g_autoptr (GDir) dir = g_dir_open (folder, 0, &dir_error);
  g_autoptr (GPtrArray) paths = g_ptr_array_new ();
  const char *name;
  if (!dir)
    {
      g_set_error (error, TN_ERROR, TN_ERROR_IO, _ ("Cannot list “%s”: %s"), folder, dir_error->message);
      return NULL;
    }
  while ((name = g_dir_read_name (dir)))
    if (strstr (name, ".tfevents."))
      g_ptr_array_add (paths, g_build_filename (folder, name, NULL));
  g_ptr_array_sort (paths, compare_paths);
  g_ptr_array_add (paths, NULL);
  return (char **) g_ptr_array_free (g_steal_pointer (&paths), FALSE);
}

static void
add_warning (GString *text, const char *line)
{
  if (text->len > 0)
    g_string_append_c (text, '\n');
  g_string_append (text, line);
}

TnTfeventsRows *
tn_tfevents_read_folder (const char *folder, char **warning, GError **error)
{
  g_auto (GStrv) paths = tn_tfevents_list (folder, error);
  if (!paths)
    return NULL;
  TnTfeventsRows *rows = tn_tfevents_rows_new ();
  g_autoptr (GString) text = g_string_new (NULL);
  for (char **path = paths; *path; path++)
    {
      g_autoptr (GError) why = NULL;
      g_autoptr (TnTfeventsReader) reader = tn_tfevents_reader_new (*path, 0, &why);
      if (!reader || !tn_tfevents_reader_read (reader, rows, &why))
        add_warning (text, why->message);
      if (reader && reader->n_damaged > 0)
        {
          g_autofree char *line = g_strdup_printf (_ ("“%s”: %" PRIu64 " damaged records were left out, the first at byte %" PRIu64 "."),
                                                   *path, reader->n_damaged, reader->first_damaged);
          add_warning (text, line);
        }
      if (reader && reader->waiting)
        {
          g_autofree char *line = g_strdup_printf (_ ("“%s” ends inside a record, at byte %" PRIu64 "."), *path, reader->offset);
          add_warning (text, line);
        }
    }
  tn_tfevents_rows_purge (rows);
  if (warning)
    *warning = text->len > 0 ? g_strdup (text->str) : NULL;
  return rows;
}
