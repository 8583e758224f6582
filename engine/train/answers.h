/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
#include "train/input.h"
#include "train/program.h"

/* What a run answers while it learns, as files of its folder:
 *
 *   answers.jsonl     a line at every checkpoint: answers for the samples in setting watch.samples
 *   validation.json   the last validation: per class, confusion, and the samples that were worst
 *
 * Classes are answered with probabilities (softmax), anything else with the outputs as they are. A run that goes on from a checkpoint
 * cuts off what was answered after it: that is of a past that did not hold. */

/** One checkpoint's answers. */
typedef struct
{
  gint64 step;
  guint n, width;   /* samples, numbers each */
  gboolean classes; /* values are probabilities */
  gint64 *ids;      /* [n] */
  gint32 *labels;   /* [n], -1 where there are none */
  float *values;    /* [n][width] */
} TnAnswers;

void tn_answers_free (TnAnswers *answers);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (TnAnswers, tn_answers_free)
/** Asks @program for @ids of the data set (those that are not in it are left out). NULL with an error. */
TnAnswers *tn_answers_new (TnProgram *program, TnInput *input, gboolean classes, const gint64 *ids, int n_ids, gint64 step, GError **error);
gboolean tn_answers_append (const TnAnswers *answers, const char *run_path, GError **error);
/** Cuts the lines of steps after @step off the file, by the run's own process; a last line that is not whole goes too. */
void tn_answers_cut (const char *run_path, gint64 step);
/** TnAnswers by rising step; empty where there are none. Lines that are damaged are passed over. */
GPtrArray *tn_answers_read (const char *run_path, GError **error);

#define TN_VALIDATION_WORST 8
#define TN_VALIDATION_MAX_CONFUSION 100 /* classes up to which there is a confusion matrix */

/** One validation of a set with classes. */
typedef struct
{
  gint64 step;
  double loss, accuracy;
  int n_classes;
  char **class_names;             /* [n_classes + 1], NULL-terminated */
  gint64 *counts, *correct;       /* [n_classes] */
  gint64 *confusion;              /* [n_classes][n_classes]: label, answer; or NULL */
  int n_worst;
  gint64 worst[TN_VALIDATION_WORST]; /* samples with the largest losses, worst first */
  double worst_loss[TN_VALIDATION_WORST];
} TnValidation;

TnValidation *tn_validation_new (const TnDataset *dataset);
void tn_validation_free (TnValidation *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (TnValidation, tn_validation_free)
/** @logits: [n][width] of samples @ids. */
void tn_validation_add (TnValidation *self, const float *logits, gint64 width, const gint64 *ids, const gint32 *labels, gint64 n);
gboolean tn_validation_write (const TnValidation *self, const char *run_path, GError **error);
/** The last one; NULL with TN_ERROR_NOT_FOUND where there is none yet. */
TnValidation *tn_validation_read (const char *run_path, GError **error);
