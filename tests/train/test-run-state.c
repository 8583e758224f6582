/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "support.h"
#include "train/pace.h"
#include "train/rate.h"

/* What a run is called by somebody who looks at it; how its rate goes on when it is extended; how long it will take. */

static char *scratch;

#define S G_USEC_PER_SEC
#define NOW (1000 * (gint64) S)

static void
test_judged (void)
{
  static const struct
  {
    const char *what;
    TnRunEvidence evidence;
    TnRunState state;
    gboolean silent;
  } rows[] = {
    { "queued", { TN_RUN_QUEUED, FALSE, TRUE, NOW, 0, 0, 0 }, TN_RUN_QUEUED, FALSE },
    { "queued and taken up", { TN_RUN_QUEUED, TRUE, TRUE, NOW, NOW, 0, 0 }, TN_RUN_STARTING, FALSE },
    { "running", { TN_RUN_RUNNING, TRUE, TRUE, NOW, NOW - S, NOW, 0 }, TN_RUN_RUNNING, FALSE },
    { "running, lock free", { TN_RUN_RUNNING, FALSE, TRUE, NOW, NOW - S, NOW, 0 }, TN_RUN_LOST, FALSE },
    { "silent after 10 s", { TN_RUN_RUNNING, TRUE, TRUE, NOW, NOW - 11 * S, NOW - 11 * S, 0 }, TN_RUN_RUNNING, TRUE },
    { "not yet at 9 s", { TN_RUN_RUNNING, TRUE, TRUE, NOW, NOW - 9 * S, 0, 0 }, TN_RUN_RUNNING, FALSE },
    { "a row is a sign of life too", { TN_RUN_RUNNING, TRUE, TRUE, NOW, NOW - 60 * S, NOW - S, 0 }, TN_RUN_RUNNING, FALSE },
    { "steps of 2 s have 40 s", { TN_RUN_RUNNING, TRUE, TRUE, NOW, NOW - 39 * S, 0, 2 * S }, TN_RUN_RUNNING, FALSE },
    { "and not 41", { TN_RUN_RUNNING, TRUE, TRUE, NOW, NOW - 41 * S, 0, 2 * S }, TN_RUN_RUNNING, TRUE },
    { "paused and silent", { TN_RUN_PAUSED, TRUE, TRUE, NOW, NOW - 20 * S, 0, 0 }, TN_RUN_PAUSED, TRUE },
    { "another machine's, alive", { TN_RUN_RUNNING, FALSE, FALSE, NOW, NOW - 2 * S, 0, 0 }, TN_RUN_RUNNING, FALSE },
    { "another machine's, gone", { TN_RUN_RUNNING, FALSE, FALSE, NOW, NOW - 60 * S, 0, 0 }, TN_RUN_LOST, FALSE },
    { "finished", { TN_RUN_FINISHED, FALSE, TRUE, NOW, NOW - 500 * S, 0, 0 }, TN_RUN_FINISHED, FALSE },
    { "finished and resumed", { TN_RUN_FINISHED, TRUE, TRUE, NOW, NOW, 0, 0 }, TN_RUN_STARTING, FALSE },
  };
  for (guint i = 0; i < G_N_ELEMENTS (rows); i++)
    {
      gboolean silent;
      g_test_message ("%s", rows[i].what);
      g_assert_cmpstr (tn_run_state_name (tn_run_state_judge (&rows[i].evidence, &silent)), ==, tn_run_state_name (rows[i].state));
      g_assert_cmpint (silent, ==, rows[i].silent);
    }
}

static void
beat_cb (TnTrainer *trainer, gpointer batch, gpointer data)
{
  g_auto (TnRunOwner) owner = { 0 };
  gint64 *last = data;
  g_assert_true (tn_run_folder_owner (tn_run_folder_path (tn_trainer_folder (trainer)), &owner, NULL));
  g_assert_cmpint (owner.pid, ==, getpid ());
  g_assert_true (tn_run_owner_is_alive (&owner));
  g_assert_false (tn_run_owner_is_stopped (&owner));
  if (last[0] == 0)
    last[0] = owner.heartbeat_us;
  last[1] = owner.heartbeat_us;
  last[2] = owner.step;
  if (last[1] - last[0] > 2 * S + S / 2 || g_get_monotonic_time () > last[3])
    tn_trainer_stop_now (trainer);
}

static void
test_heartbeat (void)
{
  const char *const more[] = { "train.epochs=100000", "train.eval_every=0", "checkpoint.every_epochs=0", NULL };
  g_autofree char *run = small_run (scratch, "heart", more);
  g_autoptr (GError) error = NULL;
  g_autoptr (TnTrainer) trainer = new_trainer (run);
  gint64 seen[4] = { 0, 0, 0, g_get_monotonic_time () + 20 * S };
  g_signal_connect (trainer, "metrics", G_CALLBACK (beat_cb), seen);
  g_assert_true (tn_trainer_start (trainer, &error));
  g_assert_true (tn_trainer_run (trainer, &error));
  g_assert_cmpint (seen[1] - seen[0], >, 2 * S);
  g_assert_cmpint (seen[2], >, 0);
}

/* Rates. The cosine's own formula, written anew. */

static TnSettings *
cosine (const char *extend)
{
  TnSettings *settings = tn_settings_new ();
  g_autoptr (GError) error = NULL;
  g_autofree char *choice = g_strconcat ("schedule.extend=", extend, NULL);
  const char *const set[] = { "schedule.kind=cosine", "optimizer.lr=1", "train.epochs=2", choice, NULL };
  for (int i = 0; set[i] != NULL; i++)
    tn_settings_set_assignment (settings, set[i], &error);
  g_assert_no_error (error);
  return settings;
}

static void
extend (TnSettings *settings, const char *epochs)
{
  g_autoptr (GError) error = NULL;
  g_auto (GStrv) pairs = tn_rate_extension (settings, g_ascii_strtoll (epochs, NULL, 10));
  for (char **pair = pairs; *pair != NULL; pair += 2)
    g_assert_true (tn_settings_set (settings, pair[0], pair[1], &error));
  g_assert_true (tn_settings_set (settings, "train.epochs", epochs, &error));
}

static double
cosine_at (double step, double length)
{
  return 0.5 * (1 + cos (G_PI * fmin (step, length) / length));
}

static void
test_extension (void)
{
  static const char *const kinds[] = { "hold", "stretch", "restart" };
  for (guint k = 0; k < G_N_ELEMENTS (kinds); k++)
    {
      g_autoptr (GError) error = NULL;
      g_autoptr (TnSettings) settings = cosine (kinds[k]);
      extend (settings, "4");
      extend (settings, "6");
      TnRate *rate = tn_rate_new (settings, 10, 0, &error);
      g_assert_no_error (error);
      for (int step = 0; step < 60; step++)
        {
          double expected = k == 0 ? cosine_at (step, 20) : k == 1 ? cosine_at (step, 60) : cosine_at (step % 20, 20);
          g_assert_cmpfloat_with_epsilon (tn_rate_at (rate, step), expected, 1e-12);
        }
      tn_rate_free (rate);
    }
}

static double
rate_row (const char *run, gint64 step)
{
  g_autoptr (TnTfeventsRows) rows = tn_tfevents_read_folder (run, NULL, NULL);
  for (guint i = 0; i < rows->rows->len; i++)
    {
      const TnTfeventsRow *row = &g_array_index (rows->rows, TnTfeventsRow, i);
      if (row->kind == TN_TFEVENTS_SCALAR && strcmp (row->tag, "train/learning_rate") == 0 && row->step == step)
        return row->value;
    }
  return NAN;
}

/* Extended after its end, then cut and taken up again from before the extension's end: the same rates and the same bits. */
static void
test_extension_is_replayed (gconstpointer data)
{
  const char *choice = data;
  g_autofree char *setting = g_strconcat ("schedule.extend=", choice, NULL);
  const char *const more[] = { "schedule.kind=cosine", "optimizer.lr=0.05", setting, "checkpoint.keep=10", NULL };
  g_autofree char *a_name = g_strconcat ("a-", choice, NULL), *b_name = g_strconcat ("b-", choice, NULL);
  g_autofree char *a = small_run (scratch, a_name, more), *b = small_run (scratch, b_name, more);
  train_ok (a, NULL, NULL);
  train_ok (a, "train.epochs", "4");
  train_ok (b, NULL, NULL);
  {
    g_autoptr (GError) error = NULL;
    g_autoptr (TnTrainer) trainer = new_trainer (b);
    g_assert_true (tn_trainer_change_at_start (trainer, "train.epochs", "4", &error));
    g_assert_true (tn_trainer_change_at_start (trainer, "train.max_steps", "57", &error));
    g_assert_true (tn_trainer_start (trainer, &error));
    g_assert_true (tn_trainer_run (trainer, &error));
  }
  train_ok (b, "train.max_steps", "0");
  assert_equal_runs (a, b, 80);
  double last = rate_row (b, 79), expected = strcmp (choice, "hold") == 0      ? 0.05 * cosine_at (79, 40)
                                             : strcmp (choice, "stretch") == 0 ? 0.05 * cosine_at (79, 80)
                                                                               : 0.05 * cosine_at (39, 40);
  g_assert_cmpfloat_with_epsilon (last, expected, 1e-7);
}

/* 1 to 100 in a scrambled order, after ten that do not count: quartiles by counting. */
static void
test_pace (void)
{
  TnPace pace = { 0 };
  gint64 left[TN_PACE_N_KINDS] = { 10, 2, 1 };
  double least, most;
  for (int i = 0; i < TN_PACE_WARM_UP; i++)
    {
      tn_pace_add (&pace, TN_PACE_STEP, 1e6);
      g_assert_false (tn_pace_left (&pace, left, &least, &most));
      g_assert_true (isnan (least));
    }
  for (int i = 1; i <= 101; i++)
    tn_pace_add (&pace, TN_PACE_STEP, i * 37 % 101);
  g_assert_cmpfloat (tn_pace_median (&pace, TN_PACE_STEP), ==, 50);
  g_assert_true (tn_pace_left (&pace, left, &least, &most));
  g_assert_cmpfloat (least, ==, 10 * 25);
  g_assert_cmpfloat (most, ==, 10 * 75);
  tn_pace_add (&pace, TN_PACE_VALIDATION, 1000);
  tn_pace_left (&pace, left, &least, &most);
  g_assert_cmpfloat (least, ==, 10 * 25 + 2 * 1000);
  for (int i = 0; i < 1000; i++) /* only what came last counts */
    tn_pace_add (&pace, TN_PACE_STEP, 3);
  g_assert_cmpfloat (tn_pace_median (&pace, TN_PACE_STEP), ==, 3);
}

/* Early ends. */

static const char *
cause_of (const char *run, gint64 *step)
{
  g_autoptr (TnRunFolder) folder = tn_run_folder_open (run, NULL);
  *step = (gint64) tn_run_folder_fact_number (folder, "step");
  return g_intern_string (tn_run_folder_cause (folder));
}

/* With rate 0 nothing ever gets better: the first validation is the best, two more are without gain. */
static void
test_early_stop (void)
{
  const char *const more[] = { "optimizer.lr=0", "train.epochs=50", "train.early_stop=2", NULL };
  g_autofree char *run = small_run (scratch, "early", more), *cut = small_run (scratch, "early-cut", more);
  gint64 step;
  train_ok (run, NULL, NULL);
  g_assert_cmpstr (cause_of (run, &step), ==, "early-stop");
  g_assert_cmpint (step, ==, 60); /* 3 epochs of 20 */
  train_ok (cut, "train.max_steps", "50");
  train_ok (cut, "train.max_steps", "0");
  g_assert_cmpstr (cause_of (cut, &step), ==, "early-stop");
  assert_equal_runs (run, cut, 60);
}

static void
test_target (void)
{
  const char *const more[] = { "train.epochs=50", "train.target_accuracy=0.001", NULL };
  g_autofree char *run = small_run (scratch, "target", more);
  gint64 step;
  train_ok (run, NULL, NULL);
  g_assert_cmpstr (cause_of (run, &step), ==, "target");
  g_assert_cmpint (step % 20, ==, 0);
  g_assert_cmpint (step, <, 1000);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  scratch = make_scratch ();
  g_test_add_func ("/train/run-state/judged-from-lock-process-and-signs-of-life", test_judged);
  g_test_add_func ("/train/run-state/heartbeat-every-second", test_heartbeat);
  g_test_add_func ("/train/rate/extended-schedules-hold-stretch-or-restart", test_extension);
  g_test_add_data_func ("/train/rate/held-extension-is-replayed", "hold", test_extension_is_replayed);
  g_test_add_data_func ("/train/rate/stretched-extension-is-replayed", "stretch", test_extension_is_replayed);
  g_test_add_data_func ("/train/rate/restarted-extension-is-replayed", "restart", test_extension_is_replayed);
  g_test_add_func ("/train/pace/quartiles-of-each-kind", test_pace);
  g_test_add_func ("/train/early/no-gain-ends-the-run", test_early_stop);
  g_test_add_func ("/train/early/target-ends-the-run", test_target);
  int result = g_test_run ();
  remove_tree (scratch);
  g_free (scratch);
  return result;
}
