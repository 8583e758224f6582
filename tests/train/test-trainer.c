/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <unistd.h>

#include "base/fault.h"
#include "support.h"

/* Exact resume: one run in one go is what the others are compared with. */

static char *scratch;
static char *undisturbed; /* 2 epochs, 40 steps */

static const char *
reference_run (void)
{
  if (undisturbed == NULL)
    {
      undisturbed = small_run (scratch, "reference", NULL);
      train_ok (undisturbed, NULL, NULL);
    }
  return undisturbed;
}

static void
test_finishes (void)
{
  const char *run = reference_run ();
  g_autoptr (GError) error = NULL;
  g_autoptr (TnRunFolder) folder = tn_run_folder_open (run, &error);
  g_assert_no_error (error);
  g_assert_cmpint (tn_run_folder_state (folder), ==, TN_RUN_FINISHED);
  g_assert_cmpstr (tn_run_folder_cause (folder), ==, "epochs");
  g_assert_cmpfloat (tn_run_folder_fact_number (folder, "step"), ==, 40); /* 2 epochs of 160 / 8 */
  g_assert_nonnull (tn_run_folder_fact (folder, "data_fingerprint"));
  g_autoptr (GPtrArray) rows = deterministic_rows (run);
  guint n_losses = 0, n_validations = 0;
  for (guint i = 0; i < rows->len; i++)
    {
      n_losses += g_str_has_prefix (g_ptr_array_index (rows, i), "train/loss ");
      n_validations += g_str_has_prefix (g_ptr_array_index (rows, i), "validation/accuracy ");
    }
  g_assert_cmpuint (n_losses, ==, 40);
  g_assert_cmpuint (n_validations, ==, 2);
}

static void
test_same_seed_same_bits (void)
{
  g_autofree char *run = small_run (scratch, "again", NULL);
  train_ok (run, NULL, NULL);
  assert_equal_runs (reference_run (), run, 40);
}

/* In the middle of an epoch, and at its end. */
static void
test_resume_is_exact (gconstpointer data)
{
  const char *cut = data;
  g_autofree char *name = g_strconcat ("resume-", cut, NULL);
  g_autofree char *run = small_run (scratch, name, NULL);
  train_ok (run, "train.max_steps", cut);
  train_ok (run, "train.max_steps", "0");
  assert_equal_runs (reference_run (), run, 40);
}

static void
stop_at_step_cb (TnTrainer *trainer, gpointer batch, gpointer data)
{
  tn_trainer_stop_now (trainer);
}

/* Stopped without a checkpoint: what was done since the last one is done again. */
static void
test_stop_now_and_resume_is_exact (void)
{
  const char *const more[] = { "checkpoint.every_steps=7", NULL };
  g_autofree char *whole = small_run (scratch, "stop-now-whole", more);
  g_autofree char *run = small_run (scratch, "stop-now", more);
  train_ok (whole, NULL, NULL);
  g_autoptr (TnTrainer) trainer = new_trainer (run);
  g_autoptr (GError) error = NULL;
  g_signal_connect (trainer, "metrics", G_CALLBACK (stop_at_step_cb), NULL);
  tn_trainer_start (trainer, &error);
  tn_trainer_run (trainer, &error);
  g_assert_no_error (error);
  train_ok (run, NULL, NULL);
  assert_equal_runs (whole, run, 40);
}

static void
park_cb (TnTrainer *trainer, int state, const char *cause, const char *reason, gpointer data)
{
  if (state == TN_RUN_RUNNING)
    tn_trainer_park (trainer);
}

static void
test_parked_before_first_step_goes_on (void)
{
  g_autofree char *run = small_run (scratch, "park", NULL);
  g_autoptr (GError) error = NULL;
  g_autoptr (TnTrainer) trainer = new_trainer (run);
  g_signal_connect (trainer, "state-changed", G_CALLBACK (park_cb), NULL);
  tn_trainer_start (trainer, &error);
  tn_trainer_run (trainer, &error);
  g_assert_no_error (error);
  g_assert_cmpint (tn_trainer_state (trainer), ==, TN_RUN_PARKED);
  train_ok (run, NULL, NULL);
  assert_equal_runs (reference_run (), run, 40);
}

/* A change of the learning rate, recorded with its step: the same when the run is cut after it and goes back before it. */
static void
test_change_is_replayed (void)
{
  const char *const more[] = { "checkpoint.every_epochs=0", "checkpoint.every_steps=16", NULL };
  g_autofree char *run = small_run (scratch, "replay-a", more);
  g_autofree char *other = small_run (scratch, "replay-b", more);
  const char *paths[] = { run, other };
  g_autoptr (GError) error = NULL;
  for (int i = 0; i < 2; i++)
    {
      g_autoptr (TnRunFolder) folder = tn_run_folder_open (paths[i], &error);
      tn_run_folder_lock (folder, &error);
      tn_run_folder_add_change (folder, 20, "optimizer.lr", "0.003");
      tn_run_folder_save (folder, &error);
      g_assert_no_error (error);
    }
  train_ok (run, NULL, NULL);
  train_ok (other, "train.max_steps", "27");
  /* As if killed at 27: the newest checkpoint is the one before the change. */
  g_autofree char *checkpoints = g_build_filename (other, "checkpoints", NULL);
  g_autofree char *last = tn_checkpoint_step_path (checkpoints, 27);
  remove_tree (last);
  g_autoptr (TnRunFolder) folder = tn_run_folder_open (other, &error);
  g_assert_cmpint (tn_run_folder_n_changes (folder), ==, 2);
  train_ok (other, "train.max_steps", "0");
  assert_equal_runs (run, other, 40);
  g_autoptr (GPtrArray) rows = deterministic_rows (run);
  gboolean found = FALSE;
  for (guint i = 0; i < rows->len; i++)
    found |= g_str_has_prefix (g_ptr_array_index (rows, i), "train/learning_rate 20 0.003");
  g_assert_true (found);
}

static void
extend_cb (TnTrainer *trainer, int state, const char *cause, const char *reason, gpointer data)
{
  g_autoptr (GError) error = NULL;
  if (state != TN_RUN_RUNNING)
    return;
  tn_trainer_extend (trainer, 1, &error);
  g_assert_no_error (error);
  g_assert_false (tn_trainer_set_value (trainer, "train.batch", "4", &error));
  g_assert_error (error, TN_ERROR, TN_ERROR_STATE);
}

static void
test_extend_adds_epochs (void)
{
  g_autofree char *run = small_run (scratch, "extend", NULL);
  g_autoptr (GError) error = NULL;
  g_autoptr (TnTrainer) trainer = new_trainer (run);
  g_signal_connect (trainer, "state-changed", G_CALLBACK (extend_cb), NULL);
  tn_trainer_start (trainer, &error);
  tn_trainer_run (trainer, &error);
  g_assert_no_error (error);
  TnTrainerProgress progress;
  tn_trainer_get_progress (trainer, &progress);
  g_assert_cmpint (progress.step, ==, 60);
  g_assert_cmpint (progress.epochs, ==, 3);
}

static void
pause_cb (TnTrainer *trainer, int state, const char *cause, const char *reason, gpointer data)
{
  guint *seen = data;
  *seen |= 1u << state;
  if (state == TN_RUN_RUNNING && !(*seen & 1u << TN_RUN_PAUSED))
    tn_trainer_pause (trainer);
  if (state == TN_RUN_PAUSED)
    {
      tn_trainer_checkpoint (trainer);
      tn_trainer_resume (trainer);
    }
}

static void
test_pause_changes_nothing (void)
{
  g_autofree char *run = small_run (scratch, "pause", NULL);
  guint seen = 0;
  g_autoptr (GError) error = NULL;
  g_autoptr (TnTrainer) trainer = new_trainer (run);
  g_signal_connect (trainer, "state-changed", G_CALLBACK (pause_cb), &seen);
  tn_trainer_start (trainer, &error);
  tn_trainer_run (trainer, &error);
  g_assert_no_error (error);
  g_assert_true (seen & 1u << TN_RUN_PAUSED);
  g_assert_cmpint (tn_trainer_state (trainer), ==, TN_RUN_FINISHED);
  assert_equal_runs (reference_run (), run, 40);
}

/* What goes wrong. */

static void
test_second_trainer_is_refused (void)
{
  g_autofree char *run = small_run (scratch, "second", NULL);
  g_autoptr (GError) error = NULL;
  g_autoptr (TnTrainer) first = new_trainer (run);
  g_autoptr (TnTrainer) second = new_trainer (run);
  g_assert_true (tn_trainer_start (first, &error));
  g_assert_false (tn_trainer_start (second, &error));
  g_assert_error (error, TN_ERROR, TN_ERROR_BUSY);
  g_autofree char *pid = g_strdup_printf ("%d", (int) getpid ());
  g_assert_nonnull (strstr (error->message, pid));
  g_clear_error (&error);
  g_assert_true (tn_trainer_run (first, &error));
  g_assert_true (tn_trainer_start (second, &error)); /* the lock is free after the end */
  g_assert_true (tn_trainer_run (second, &error));
}

static void
test_nonfinite_stops_with_its_step (void)
{
  const char *const more[] = { "optimizer.lr=1e6", "train.epochs=20", NULL };
  g_autofree char *run = small_run (scratch, "nonfinite", more);
  g_autoptr (GError) error = NULL;
  g_assert_cmpint (train (run, NULL, NULL, &error), ==, TN_RUN_FAILED);
  g_assert_error (error, TN_ERROR, TN_ERROR_NUMERIC);
  g_assert_nonnull (strstr (error->message, "Step "));
  g_autoptr (TnRunFolder) folder = tn_run_folder_open (run, NULL);
  g_assert_cmpstr (tn_run_folder_cause (folder), ==, "numeric");
  g_assert_cmpstr (tn_run_folder_reason (folder), ==, error->message);
}

static void
test_missing_data_fails_with_its_path (void)
{
  const char *const more[] = { "data.source=/nowhere/at/all", NULL };
  g_autofree char *run = small_run (scratch, "no-data", more);
  g_autoptr (GError) error = NULL;
  g_assert_cmpint (train (run, NULL, NULL, &error), ==, TN_RUN_FAILED);
  g_assert_nonnull (strstr (error->message, "/nowhere/at/all"));
  g_autoptr (TnRunFolder) folder = tn_run_folder_open (run, NULL);
  g_assert_cmpint (tn_run_folder_state (folder), ==, TN_RUN_FAILED);
}

/* Every operation from the N-th on meets a full disk: the run fails saying so, and what was saved before goes on. */
static void
test_full_disk_loses_nothing (void)
{
  const char *const more[] = { "checkpoint.every_steps=8", NULL };
  g_autofree char *whole = small_run (scratch, "full-whole", more);
  train_ok (whole, NULL, NULL);
  int n_failed = 0;
  for (guint64 nth = 8; nth <= 80; nth += 12)
    {
      g_autofree char *name = g_strdup_printf ("full-%d", (int) nth);
      g_autofree char *run = small_run (scratch, name, more);
      g_autoptr (GError) error = NULL;
      tn_fault_set (TN_FAULT_NO_SPACE, nth, TRUE);
      TnRunState state = train (run, NULL, NULL, &error);
      tn_fault_set (TN_FAULT_OFF, 0, FALSE);
      g_assert_true ((state == TN_RUN_FAILED) == (error != NULL));
      if (error != NULL)
        g_assert_error (error, TN_ERROR, TN_ERROR_NO_SPACE);
      n_failed += error != NULL;
      train_ok (run, NULL, NULL);
      assert_equal_runs (whole, run, 40);
    }
  g_assert_cmpint (n_failed, >, 3);
}

static void
test_damaged_checkpoint_goes_back_one (void)
{
  const char *const more[] = { "checkpoint.every_steps=8", "checkpoint.keep=5", NULL };
  g_autofree char *run = small_run (scratch, "damaged", more);
  g_autofree char *whole = small_run (scratch, "damaged-whole", more);
  train_ok (whole, NULL, NULL);
  train_ok (run, "train.max_steps", "24");
  g_autofree char *checkpoints = g_build_filename (run, "checkpoints", NULL);
  g_autofree char *newest = tn_checkpoint_step_path (checkpoints, 24);
  g_autofree char *file = g_build_filename (newest, "rank-0000.safetensors", NULL);
  g_assert_cmpint (truncate (file, 1000), ==, 0);
  train_ok (run, "train.max_steps", "0");
  assert_equal_runs (whole, run, 40);
  g_autofree char *log_path = g_build_filename (run, "log.txt", NULL);
  g_autofree char *log = NULL;
  g_assert_true (g_file_get_contents (log_path, &log, NULL, NULL));
  g_assert_nonnull (strstr (log, "Went back to the checkpoint of step 20")); /* 20: the end of epoch 1 */
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  scratch = make_scratch ();
  g_test_add_func ("/train/trainer/finishes-with-rows-and-facts", test_finishes);
  g_test_add_func ("/train/trainer/same-seed-gives-same-bits", test_same_seed_same_bits);
  g_test_add_data_func ("/train/trainer/resume-inside-an-epoch-is-exact", "13", test_resume_is_exact);
  g_test_add_data_func ("/train/trainer/resume-at-an-epochs-end-is-exact", "20", test_resume_is_exact);
  g_test_add_func ("/train/trainer/stop-now-and-resume-is-exact", test_stop_now_and_resume_is_exact);
  g_test_add_func ("/train/trainer/parked-before-the-first-step-goes-on", test_parked_before_first_step_goes_on);
  g_test_add_func ("/train/trainer/a-changed-setting-is-replayed", test_change_is_replayed);
  g_test_add_func ("/train/trainer/extend-adds-epochs", test_extend_adds_epochs);
  g_test_add_func ("/train/trainer/a-pause-changes-nothing", test_pause_changes_nothing);
  g_test_add_func ("/train/trainer/a-second-trainer-is-refused", test_second_trainer_is_refused);
  g_test_add_func ("/train/trainer/nonfinite-loss-stops-with-its-step", test_nonfinite_stops_with_its_step);
  g_test_add_func ("/train/trainer/missing-data-fail-with-their-path", test_missing_data_fails_with_its_path);
  g_test_add_func ("/train/trainer/damaged-checkpoint-goes-back-one", test_damaged_checkpoint_goes_back_one);
  g_test_add_func ("/train/trainer/a-full-disk-loses-nothing", test_full_disk_loses_nothing);
  int result = g_test_run ();
  remove_tree (scratch);
  g_free (undisturbed);
  g_free (scratch);
  return result;
}
