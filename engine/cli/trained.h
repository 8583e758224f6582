/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
#include "train/checkpoint.h"
#include "train/program.h"
#include "train/run-folder.h"

/* TnTrained: the model of a run as a checkpoint holds it, ready to be asked. */
typedef struct
{
  TnRunFolder *folder;
  TnSettings *settings; /* as they were at the checkpoint's step */
  TnModel *model;
  TnProgram *program; /* NULL after tn_trained_open_files() */
  TnCheckpoint *checkpoint;
  gboolean own_normalisation; /* as in train/input.h */
  char *passed_over; /* newer checkpoints that are damaged and why; NULL: none */
} TnTrained;

/** @which: "newest", "best" or a step. Errors: those of run-folder.h and checkpoint.h; TN_ERROR_NOT_FOUND where there is no such
 * checkpoint (lists the steps there are), TN_ERROR_INVALID_ARGUMENT for what is none of the three. */
TnTrained *tn_trained_open (const char *run_path, const char *which, GError **error);
/** The same without a program: the tensors are still in the checkpoint's files. */
TnTrained *tn_trained_open_files (const char *run_path, const char *which, GError **error);
void tn_trained_free (TnTrained *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (TnTrained, tn_trained_free)

gint64 tn_trained_step (const TnTrained *self);
/** Says on stderr that a newer checkpoint was passed over, and puts "passed_over" (text or null) into @object where that is not NULL. */
void tn_trained_tell_passed_over (const TnTrained *self, JsonObject *object);
