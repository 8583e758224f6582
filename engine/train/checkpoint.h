/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
#include <glib.h>
#include "parallel/layout.h"
#include "tensor/tensor.h"

/* Checkpoints: the state of a run on disk, so that it can go on with the same bits.
 *
 *   checkpoints/step-00001875/
 *     rank-0000.safetensors   tensors (and the format version); where weights are split, each rank has a file of its slices,
 *                             and what several have alike stands in the first one's
 *     state.json              TnCheckpointState: 64-bit numbers as strings, floats as hex
 *     manifest.json           last: tensor -> [(file, box)], sizes, CRC-32C, time, host
 *
 * Files are written to temporary names, synced and renamed, then the folders are synced, then the manifest follows in the
 * same way: after a power cut the checkpoint is there whole, or has no manifest and counts as not there. Only then are older
 * ones removed, their manifest first. A reader checks sizes and checksums of what the manifest names, takes the newest
 * step that holds, and says which it had to pass over. */
#define TN_CHECKPOINT_VERSION 1

/* What else than tensors a run goes on from. */
typedef struct
{
  gint64 step;          /* steps done */
  gint64 epoch;         /* epoch that the next step belongs to */
  gint64 position;      /* batches of that epoch already used */
  gint64 samples;       /* samples seen in all */
  guint64 seed;         /* Philox key: counters follow from step and position */
  double learning_rate; /* of the last step */
  double loss;          /* of the last step */
  double best;          /* best validation score so far; NaN before the first */
  gint64 best_step;     /* its step, or -1 */
  gint64 bad_steps;     /* steps skipped for a non-finite loss or gradient */
  double early_best;    /* the score that early stopping compares with; NaN before the first */
  gint64 stall;         /* validations in a row that were no better */
  char isa[64];         /* instruction level and libraries that made the bits */
} TnCheckpointState;

/** A tensor and its name, or a slice of it; all belongs to the caller. */
typedef struct
{
  const char *name;
  TnTensor *tensor;     /* contiguous */
  int rank;             /* whose file it goes to */
  const TnShape *whole; /* NULL: the tensor is all of it */
  const TnBox *box;     /* with @whole: what of it */
  gboolean copy;        /* is read, and not written, as another rank writes the same */
} TnCheckpointTensor;

/* Writer: one thread, one checkpoint in flight. */
typedef struct _TnCheckpointWriter TnCheckpointWriter;

/** Told from the writer's thread when a checkpoint is on disk (@error NULL) or failed. */
typedef void (*TnCheckpointFunc) (gint64 step, const char *path, const GError *error, gpointer user_data);

/** Called from the writer's thread when the tensors are on disk and before the manifest: what must not be older than the
 * checkpoint is made durable here. FALSE with an error makes the checkpoint fail. */
typedef gboolean (*TnCheckpointBarrier) (gpointer user_data, GError **error);

/**
 * tn_checkpoint_writer_new:
 * @folder: .../checkpoints, made if missing; left-overs of a killed writer in it are removed
 * @tensors: names, dtypes and shapes of everything that will be saved; buffers of that size are taken now
 * @keep: newest ones that stay; the best and pinned ones stay too
 * @barrier, @func: may be NULL
 */
TnCheckpointWriter *tn_checkpoint_writer_new (const char *folder, const TnCheckpointTensor *tensors, int n_tensors,
                                              int keep, TnCheckpointBarrier barrier, TnCheckpointFunc func,
                                              gpointer user_data, GError **error);
/** Waits for the one in flight. */
void tn_checkpoint_writer_free (TnCheckpointWriter *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (TnCheckpointWriter, tn_checkpoint_writer_free)
/** Copies the tensors (same order and shapes as in _new) and returns; waits first if one is in flight. FALSE with the error
 * of that one if it failed. Nothing is done, and TRUE returned, where this step is the one saved or loaded last. */
gboolean tn_checkpoint_writer_save (TnCheckpointWriter *self, const TnCheckpointTensor *tensors, int n_tensors,
                                    const TnCheckpointState *state, GError **error);
/** Until nothing is in flight; FALSE with the error of the last one if it failed. */
gboolean tn_checkpoint_writer_wait (TnCheckpointWriter *self, GError **error);
gboolean tn_checkpoint_writer_busy (TnCheckpointWriter *self);
/** The one in flight gives up at its next chunk and leaves nothing. */
void tn_checkpoint_writer_cancel (TnCheckpointWriter *self);
/** The step of the best score, which retention never removes; -1 for none. */
void tn_checkpoint_writer_set_best (TnCheckpointWriter *self, gint64 step);
void tn_checkpoint_writer_set_keep (TnCheckpointWriter *self, int keep);
/** The run goes on from the checkpoint of @step: it need not be saved again, and later ones are of a past that did not
 * hold; they are removed when the next one is written. */
void tn_checkpoint_writer_set_loaded (TnCheckpointWriter *self, gint64 step);

/* Reader. */
typedef struct _TnCheckpoint TnCheckpoint;

/**
 * tn_checkpoint_open_newest: the newest one whose files agree with its manifest.
 * @passed_over: (out) (optional): text that names newer ones which do not hold and why, or NULL; free with g_free
 *
 * Returns NULL without an error where there is none at all. Where some exist but none holds: TN_ERROR_FORMAT.
 */
TnCheckpoint *tn_checkpoint_open_newest (const char *folder, char **passed_over, GError **error);
/** The same with tensors left in their files, for tn_checkpoint_restore(): then no more is in memory than what is
 * restored and one piece of a file. tn_checkpoint_tensor() has none. */
TnCheckpoint *tn_checkpoint_open_newest_unread (const char *folder, char **passed_over, GError **error);
/** One checkpoint, by its folder. Every file's size and CRC is compared. */
TnCheckpoint *tn_checkpoint_open (const char *path, GError **error);
void tn_checkpoint_free (TnCheckpoint *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (TnCheckpoint, tn_checkpoint_free)
const char *tn_checkpoint_path (const TnCheckpoint *self);
const TnCheckpointState *tn_checkpoint_state (const TnCheckpoint *self);
int tn_checkpoint_n_tensors (const TnCheckpoint *self);
const char *tn_checkpoint_tensor_name (const TnCheckpoint *self, int i);
/** (transfer none) NULL if there is none of that name. */
TnTensor *tn_checkpoint_tensor (const TnCheckpoint *self, const char *name);
/** Copies every tensor, or the slices that are asked for, however they were cut when they were written, into the one of the same name; names, shapes and dtypes must agree in both directions, and the
 * error names the first that does not. Nothing is written unless all agree. */
gboolean tn_checkpoint_restore (const TnCheckpoint *self, const TnCheckpointTensor *tensors, int n_tensors, GError **error);

/** Steps of the checkpoints in @folder that have a manifest, ascending (GArray of gint64); empty where there is none. */
GArray *tn_checkpoint_list (const char *folder);
/** What the newest checkpoint with a manifest says where it stands; its tensors are not looked at. FALSE where there is none. */
gboolean tn_checkpoint_newest_state (const char *folder, TnCheckpointState *state);
/** .../step-00001875; free with g_free. */
char *tn_checkpoint_step_path (const char *folder, gint64 step);
/** A pinned checkpoint stays until it is unpinned (a file "pinned" in its folder). */
gboolean tn_checkpoint_set_pinned (const char *path, gboolean pinned, GError **error);
gboolean tn_checkpoint_is_pinned (const char *path);
