/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/progress.h"
#include "cli/cli.h"
#include "base/error.h"
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#define BAR_PERIOD_US 100000
#define LINE_PERIOD_US 1000000
#define LEAST_BAR 10
#define MOST_BAR 40
#define LEAST_WIDTH 60 /* of a line that keeps room for a bar */
#define SLOW_PERIOD_US 500000 /* of numbers that nobody can read faster */

struct _TnProgressView
{
  gboolean json, terminal;
  gboolean drawn;  /* the bar stands on the line */
  gint64 shown_us; /* monotonic; 0: not yet */
  gint64 shown_step;
  gint64 slow_us; /* when the two below were taken */
  double samples_per_second, seconds_left;
  gint64 loss_step; /* of the last row with a loss; -2: none yet */
};

TnProgressView *
tn_progress_view_new (gboolean json)
{
  TnProgressView *self = g_new0 (TnProgressView, 1);
  const char *kind = g_getenv ("TERM");
  self->json = json;
  self->terminal = !json && isatty (STDERR_FILENO) && (kind == NULL || strcmp (kind, "dumb") != 0);
  self->shown_step = -1;
  self->samples_per_second = self->seconds_left = NAN;
  self->loss_step = -2;
  return self;
}

void
tn_progress_view_free (TnProgressView *self)
{
  tn_progress_view_clear (self);
  g_free (self);
}

gboolean
tn_progress_view_is_json (const TnProgressView *self)
{
  return self->json;
}

void
tn_progress_view_clear (TnProgressView *self)
{
  if (!self->drawn)
    return;
  fputs ("\r\033[K", stderr);
  fflush (stderr);
  self->drawn = FALSE;
}

/* The bar. */

static int
terminal_width (void)
{
  struct winsize size;
  return ioctl (STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : 80;
}

static char *
short_duration (double seconds)
{
  gint64 s = (gint64) (seconds + 0.5);
  return s < 3600 ? g_strdup_printf ("%d:%02d", (int) (s / 60), (int) (s % 60))
                  : g_strdup_printf ("%d:%02d:%02d", (int) (s / 3600), (int) (s / 60 % 60), (int) (s % 60));
}

static double
share_done (const TnTrainerProgress *p)
{
  return p->total_steps > 0 ? CLAMP ((double) p->step / (double) p->total_steps, 0, 1) : 0;
}

/* What stands around the bar, the most wanted first: as much of it as fits is taken. @steady: a loss takes the same room always, so
 * that what stands beside it does not jump. */
static GPtrArray *
bar_parts (const TnTrainerProgress *p, gboolean steady)
{
  GPtrArray *parts = g_ptr_array_new_with_free_func (g_free);
  g_ptr_array_add (parts, p->total_steps > 0 ? g_strdup_printf (_ ("step %" PRId64 "/%" PRId64), p->step, p->total_steps)
                                             : g_strdup_printf (_ ("step %" PRId64), p->step));
  if (isfinite (p->loss))
    {
      g_autofree char *loss = tn_cli_number (p->loss);
      g_ptr_array_add (parts, g_strdup_printf (steady ? _ ("loss %-9s") : _ ("loss %s"), loss));
    }
  if (isfinite (p->seconds_left) && p->state == TN_RUN_RUNNING)
    {
      g_autofree char *left = short_duration (p->seconds_left);
      g_ptr_array_add (parts, g_strdup_printf (_ ("%s left"), left));
    }
  if (p->epochs > 0)
    g_ptr_array_add (parts, g_strdup_printf (_ ("epoch %" PRId64 "/%" PRId64), MIN (p->epoch + 1, p->epochs), p->epochs));
  if (isfinite (p->accuracy))
    g_ptr_array_add (parts, g_strdup_printf (_ ("accuracy %.1f %%"), p->accuracy * 100));
  if (isfinite (p->samples_per_second))
    g_ptr_array_add (parts, g_strdup_printf (_ ("%.0f samples/s"), p->samples_per_second));
  if (p->state != TN_RUN_RUNNING)
    g_ptr_array_insert (parts, 1, g_strdup (tn_run_state_name (p->state)));
  return parts;
}

static char *
render_bar (const TnTrainerProgress *p, int width)
{
  g_autoptr (GPtrArray) parts = bar_parts (p, TRUE);
  g_autoptr (GString) text = g_string_new (NULL);
  const int all = width - 1; /* the last column is left alone: some terminals wrap there */
  const int room = p->total_steps > 0 && width >= LEAST_WIDTH ? all - LEAST_BAR - 4 : all;
  for (guint i = 0; i < parts->len; i++)
    {
      const char *part = parts->pdata[i];
      int used = (int) g_utf8_strlen (text->str, -1), more = (int) g_utf8_strlen (part, -1) + (used > 0 ? 2 : 0);
      if (used + more > room)
        continue;
      g_string_append_printf (text, "%s%s", used > 0 ? "  " : "", part);
    }
  int left = all - (int) g_utf8_strlen (text->str, -1) - 4;
  if (p->total_steps > 0 && left >= LEAST_BAR)
    {
      int n = MIN (left, MOST_BAR), full = (int) (share_done (p) * n);
      g_autoptr (GString) bar = g_string_new ("[");
      for (int i = 0; i < n; i++)
        g_string_append_c (bar, i < full ? '=' : i == full ? '>' : ' ');
      g_string_append (bar, "]  ");
      g_string_prepend (text, bar->str);
    }
  return g_string_free (g_steal_pointer (&text), FALSE);
}

/* The rate and what follows from it swing: they stand still for half a second. */
static TnTrainerProgress
calm (TnProgressView *self, const TnTrainerProgress *progress, gint64 now)
{
  TnTrainerProgress calmed = *progress;
  if (now - self->slow_us >= SLOW_PERIOD_US || !isfinite (self->seconds_left))
    {
      self->slow_us = now;
      self->samples_per_second = progress->samples_per_second;
      self->seconds_left = progress->seconds_left;
    }
  calmed.samples_per_second = self->samples_per_second;
  calmed.seconds_left = self->seconds_left;
  return calmed;
}

static void
draw_bar (TnProgressView *self, const TnTrainerProgress *progress)
{
  TnTrainerProgress calmed = calm (self, progress, self->shown_us);
  g_autofree char *text = render_bar (&calmed, terminal_width ());
  fprintf (stderr, "\r%s\033[K", text);
  fflush (stderr);
  self->drawn = TRUE;
}

/* Lines. */

static void
print_line (const TnTrainerProgress *progress)
{
  g_autoptr (GPtrArray) parts = bar_parts (progress, FALSE);
  for (guint i = 0; i < parts->len; i++)
    printf ("%s%s", i > 0 ? "  " : "", (const char *) parts->pdata[i]);
  putchar ('\n');
  fflush (stdout);
}

static void
print_object (const TnTrainerProgress *p)
{
  JsonObject *object = json_object_new ();
  json_object_set_string_member (object, "event", "progress");
  json_object_set_string_member (object, "state", tn_run_state_name (p->state));
  json_object_set_int_member (object, "step", p->step);
  json_object_set_int_member (object, "total_steps", p->total_steps);
  json_object_set_int_member (object, "epoch", p->epoch);
  json_object_set_int_member (object, "epochs", p->epochs);
  tn_cli_set_number (object, "loss", p->loss);
  tn_cli_set_number (object, "accuracy", p->accuracy);
  tn_cli_set_number (object, "learning_rate", p->learning_rate);
  tn_cli_set_number (object, "samples_per_second", p->samples_per_second);
  tn_cli_set_number (object, "seconds", p->seconds);
  tn_cli_set_number (object, "seconds_left", p->seconds_left);
  tn_cli_print_json (object);
}

void
tn_progress_view_update (TnProgressView *self, const TnTrainerProgress *progress)
{
  gint64 now = g_get_monotonic_time ();
  if (self->shown_us == 0 && !self->terminal) /* the first line comes after a second: many runs are shorter */
    self->shown_us = now;
  if (now - self->shown_us < (self->terminal ? BAR_PERIOD_US : LINE_PERIOD_US))
    return;
  if (!self->terminal && progress->step == self->shown_step)
    return;
  self->shown_us = now;
  self->shown_step = progress->step;
  if (self->terminal)
    draw_bar (self, progress);
  else if (self->json)
    print_object (progress);
  else
    print_line (progress);
}

static void
show_validation (TnProgressView *self, gint64 step, double loss, double accuracy)
{
  if (self->json)
    {
      JsonObject *object = json_object_new ();
      json_object_set_string_member (object, "event", "validation");
      json_object_set_int_member (object, "step", step);
      tn_cli_set_number (object, "loss", loss);
      tn_cli_set_number (object, "accuracy", accuracy);
      tn_cli_print_json (object);
      return;
    }
  g_autofree char *number = tn_cli_number (loss);
  g_autofree char *text = isfinite (accuracy) ? g_strdup_printf (_ ("After step %" PRId64 ": accuracy %.2f %%, loss %s on the held-out samples"), step, accuracy * 100, number)
                                              : g_strdup_printf (_ ("After step %" PRId64 ": loss %s on the held-out samples"), step, number);
  tn_progress_view_message (self, FALSE, text);
}

/* Steps that were done when row @step of a validation was made: an epoch's stands at its last step, counted from 0, that of a run which
 * ends inside an epoch at the step that would have come next. */
static gint64
steps_done (const TnProgressView *self, gint64 step)
{
  return step == self->loss_step + 1 ? step : step + 1;
}

/* The loss of a validation comes before its accuracy; sets without classes have no accuracy. */
void
tn_progress_view_batch (TnProgressView *self, const TnMetricsBatch *batch)
{
  for (guint i = 0; i < batch->n; i++)
    if (batch->tags[i] == TN_TAG_LOSS)
      self->loss_step = batch->steps[i];
    else if (batch->tags[i] == TN_TAG_VALIDATION_LOSS)
      {
        double accuracy = NAN;
        for (guint k = i + 1; k < batch->n && batch->steps[k] == batch->steps[i]; k++)
          if (batch->tags[k] == TN_TAG_VALIDATION_ACCURACY)
            accuracy = (double) batch->values[k];
        show_validation (self, steps_done (self, batch->steps[i]), (double) batch->values[i], accuracy);
      }
}

void
tn_progress_view_message (TnProgressView *self, gboolean is_warning, const char *text)
{
  if (self->json)
    {
      JsonObject *object = json_object_new ();
      json_object_set_string_member (object, "event", "message");
      json_object_set_string_member (object, "level", is_warning ? "warning" : "info");
      json_object_set_string_member (object, "text", text);
      tn_cli_print_json (object);
      return;
    }
  tn_progress_view_clear (self);
  FILE *out = is_warning ? stderr : stdout;
  fprintf (out, "%s\n", text);
  fflush (out);
}

void
tn_progress_view_object (TnProgressView *self, JsonObject *object)
{
  if (self->json)
    tn_cli_print_json (object);
  else
    json_object_unref (object);
}
