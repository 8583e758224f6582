/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
#include <glib.h>

/* TnRunLine: what is known of the current run, put into words: the sentence under the window's title. No GTK. */
typedef enum
{
  TN_WORD_NONE,
  TN_WORD_QUEUED,
  TN_WORD_STARTING,
  TN_WORD_RUNNING,
  TN_WORD_SILENT,
  TN_WORD_PAUSING,
  TN_WORD_PAUSED,
  TN_WORD_PARKED,
  TN_WORD_STOPPING,
  TN_WORD_STOPPED,
  TN_WORD_FINISHED,
  TN_WORD_FAILED,
  TN_WORD_LOST,
  TN_N_WORDS
} TnRunWord;

typedef struct
{
  TnRunWord word;
  gint64 step, total_steps;    /* steps done; 0 where not known */
  gint64 epoch, epochs;        /* epochs done and wanted */
  double accuracy, seconds;    /* NaN where not known */
  double left_low, left_high;  /* seconds; NaN while estimating */
  double silent_seconds;
  int signal;                  /* that ended the trainer; 0 where not known */
  int ahead;                   /* waiting runs before this one */
  const char *cause, *reason;  /* as the trainer left them; may be NULL */
  const char *phase;           /* what it does while starting, or NULL */
} TnRunLine;

/** "Training · step 1 240 of 9 380 · 35–40 s left". Free with g_free. */
char *tn_run_line_text (const TnRunLine *line);
/** One word: "Running". Translated, static. */
const char *tn_run_word_label (TnRunWord word);
/** Stable and untranslated: "running". */
const char *tn_run_word_name (TnRunWord word);
/** A symbolic icon. */
const char *tn_run_word_icon (TnRunWord word);
/** A process works on the run. */
gboolean tn_run_word_is_live (TnRunWord word);
/** It ended and can go on. */
gboolean tn_run_word_is_end (TnRunWord word);
