/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
#include <pthread.h>
#include <stdatomic.h>

#include "train/trainer.h"

/* What the two halves of a trainer share: trainer.c for the thread that made it (signals, commands), training.c for the thread
 * that steps. The run folder belongs to the stepping thread from start to end. */

/* Bits that the stepping thread looks at between steps: one relaxed load where there is none. */
typedef enum
{
  TN_COMMAND_PAUSE = 1 << 0,
  TN_COMMAND_RESUME = 1 << 1,
  TN_COMMAND_PARK = 1 << 2,
  TN_COMMAND_STOP = 1 << 3,
  TN_COMMAND_STOP_NOW = 1 << 4,
  TN_COMMAND_CHECKPOINT = 1 << 5,
  TN_COMMAND_CHANGE = 1 << 6,       /* settings wait in changes */
  TN_COMMAND_WRITE_FAILED = 1 << 7  /* write_failure says what */
} TnCommand;

struct _TnTrainer
{
  GObject parent_instance;
  TnRunFolder *folder;
  GPtrArray *start_changes; /* TnRunChange; until start */
  gboolean restart; /* at step 0, though its checkpoints are gone */
  GMainContext *context;
  GSource *source; /* delivers what waits in events */
  GSource *heartbeat; /* while the thread runs */
  GSource *signal_sources[3];
  guint n_interrupts;
  pthread_t thread;
  gboolean has_thread;
  GError *error;
  TnRunState told_state; /* last one signalled */

  _Atomic guint commands; /* TnCommand */
  _Atomic int n_watchers; /* of node times */

  pthread_mutex_t mutex; /* for what follows */
  pthread_cond_t wake;   /* a command came */
  TnTrainerProgress progress;
  GQueue events;         /* Event: trainer.c */
  guint n_batches;       /* of metrics among them */
  GPtrArray *changes;    /* TnRunChange; name "+epochs" adds to train.epochs */
  GError *write_failure;
  GVariant *node_table;
  char *stop_cause, *stop_reason; /* of a stop that was not the user's */
};

/** The stepping thread's work, from locked folder to end state. Returns why it failed, or NULL. */
GError *tn_training_run (TnTrainer *trainer);

/* To the main context; any thread. */
void tn_trainer_post_state (TnTrainer *self, TnRunState state, const char *cause, const char *reason);
void tn_trainer_post_message (TnTrainer *self, GLogLevelFlags level, const char *format, ...) G_GNUC_PRINTF (3, 4);
void tn_trainer_post_checkpoint (TnTrainer *self, gint64 step, const char *path);
/** Copies the batch; where 4 wait already it is left out, and the gap in the offsets tells. */
void tn_trainer_post_metrics (TnTrainer *self, const TnMetricsBatch *batch);
/** Takes @report. */
void tn_trainer_post_times (TnTrainer *self, TnNodeTimesReport *report);
/** What the reports that follow name; takes @table. */
void tn_trainer_set_node_table (TnTrainer *self, GVariant *table);
/** A file could not be written: the run will end. The first one counts. */
void tn_trainer_write_failed (TnTrainer *self, const GError *error);
