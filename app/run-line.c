/* SPDX-License-Identifier: Apache-2.0 */
#include "run-line.h"

#include <glib/gi18n.h>
#include <math.h>

#include "format.h"

static const struct
{
  const char *name, *label, *icon;
} words[TN_N_WORDS] = {
  [TN_WORD_NONE] = { "none", N_("Not trained yet"), "tn-run-none-symbolic" },
  [TN_WORD_QUEUED] = { "queued", N_("Queued"), "tn-run-queued-symbolic" },
  [TN_WORD_STARTING] = { "starting", N_("Starting"), "tn-run-starting-symbolic" },
  [TN_WORD_RUNNING] = { "running", N_("Running"), "tn-run-running-symbolic" },
  [TN_WORD_SILENT] = { "silent", N_("No sign of life"), "dialog-warning-symbolic" },
  [TN_WORD_PAUSING] = { "pausing", N_("Pausing"), "media-playback-pause-symbolic" },
  [TN_WORD_PAUSED] = { "paused", N_("Paused"), "media-playback-pause-symbolic" },
  [TN_WORD_PARKED] = { "parked", N_("Parked"), "media-playback-pause-symbolic" },
  [TN_WORD_STOPPING] = { "stopping", N_("Stopping"), "tn-run-starting-symbolic" },
  [TN_WORD_STOPPED] = { "stopped", N_("Stopped"), "media-playback-stop-symbolic" },
  [TN_WORD_FINISHED] = { "finished", N_("Finished"), "object-select-symbolic" },
  [TN_WORD_FAILED] = { "failed", N_("Failed"), "dialog-error-symbolic" },
  [TN_WORD_LOST] = { "lost", N_("Lost"), "dialog-question-symbolic" },
};

const char *
tn_run_word_label (TnRunWord word)
{
  return _(words[word].label);
}

const char *
tn_run_word_name (TnRunWord word)
{
  return words[word].name;
}

const char *
tn_run_word_icon (TnRunWord word)
{
  return words[word].icon;
}

gboolean
tn_run_word_is_live (TnRunWord word)
{
  return word >= TN_WORD_STARTING && word <= TN_WORD_STOPPING && word != TN_WORD_PARKED;
}

gboolean
tn_run_word_is_end (TnRunWord word)
{
  return word == TN_WORD_PARKED || word >= TN_WORD_STOPPED;
}

/* Optional facts are joined by a pattern that translators may change. */
static char *
join (char *head, char *tail)
{
  g_autofree char *a = head, *b = tail;
  /* Translators: joins a sentence and a further fact, "Training · step 12". */
  return b != NULL ? g_strdup_printf (C_("run line", "%s · %s"), a, b) : g_steal_pointer (&a);
}

static char *
step_text (const TnRunLine *line)
{
  g_autofree char *step = tn_format_count_exact (line->step), *total = tn_format_count_exact (line->total_steps);
  return line->total_steps > 0 ? g_strdup_printf (_("step %s of %s"), step, total) : g_strdup_printf (_("step %s"), step);
}

static char *
left_text (const TnRunLine *line)
{
  if (line->total_steps <= 0)
    return NULL;
  if (!isfinite (line->left_high))
    return g_strdup (_("estimating the time left"));
  g_autofree char *range = tn_format_duration_range (line->left_low, line->left_high);
  /* Translators: "35–40 s left" */
  return g_strdup_printf (_("%s left"), range);
}

static char *
finished_text (const TnRunLine *line)
{
  char *text = g_strdup (_("Finished"));
  if (line->epochs > 0)
    {
      g_autofree char *done = tn_format_count_exact (line->epoch), *wanted = tn_format_count_exact (line->epochs);
      text = join (text, g_strdup_printf (ngettext ("%s of %s epoch", "%s of %s epochs", (gulong) line->epochs), done, wanted));
    }
  if (isfinite (line->accuracy))
    {
      g_autofree char *share = tn_format_share (line->accuracy);
      text = join (text, g_strdup_printf (_("accuracy %s"), share));
    }
  return isfinite (line->seconds) ? join (text, tn_format_duration (line->seconds)) : text;
}

char *
tn_run_line_text (const TnRunLine *line)
{
  g_autofree char *step = tn_format_count_exact (line->step);
  switch (line->word)
    {
    case TN_WORD_QUEUED:
      return line->ahead > 0 ? g_strdup_printf (_("Queued, %d ahead"), line->ahead) : g_strdup (_("Queued"));
    case TN_WORD_STARTING:
      return line->phase != NULL ? g_strdup_printf (_("Starting: %s"), line->phase) : g_strdup (_("Starting…"));
    case TN_WORD_RUNNING:
      return join (join (g_strdup (_("Training")), step_text (line)), left_text (line));
    case TN_WORD_SILENT:
      {
        g_autofree char *time = tn_format_duration (line->silent_seconds);
        return g_strdup_printf (_("No sign of life for %s, last step %s"), time, step);
      }
    case TN_WORD_PAUSING:
      return g_strdup_printf (_("Pausing after step %s"), step);
    case TN_WORD_PAUSED:
      return g_strdup_printf (_("Paused at step %s"), step);
    case TN_WORD_PARKED:
      return g_strdup_printf (_("Parked at step %s: saved, memory free"), step);
    case TN_WORD_STOPPING:
      return g_strdup (_("Stopping: writing a checkpoint"));
    case TN_WORD_STOPPED:
      return g_strdup_printf (_("Stopped by you at step %s, saved"), step);
    case TN_WORD_FINISHED:
      return finished_text (line);
    case TN_WORD_FAILED:
      return line->reason != NULL && *line->reason != '\0' ? g_strdup_printf (_("Failed at step %s: %s"), step, line->reason)
                                                          : g_strdup_printf (_("Failed at step %s"), step);
    case TN_WORD_LOST:
      return line->signal > 0 ? g_strdup_printf (_("Trainer gone (killed, signal %d) after step %s"), line->signal, step)
                              : g_strdup_printf (_("Trainer gone after step %s"), step);
    case TN_WORD_NONE:
    case TN_N_WORDS:
    default:
      return g_strdup (_("Not trained yet"));
    }
}
