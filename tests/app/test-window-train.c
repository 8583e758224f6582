/* SPDX-License-Identifier: Apache-2.0 */
#include "harness.h"

#include <signal.h>
#include <string.h>

static TnHarness *
training (void)
{
  TnHarness *h = tn_harness_new (1280, 800);
  if (h == NULL)
    return NULL;
  tn_harness_start (h, NULL);
  tn_harness_click (h, "start_train_button:digits");
  g_assert_true (tn_harness_wait_state (h, "run", "running", 10000));
  g_assert_true (tn_harness_wait_value (h, "train_loss_canvas", "Loss, * steps*", 5000));
  return h;
}

/* T2: Pause holds the step; the same press goes on. */
static void
test_pause (void)
{
  TnHarness *h = training ();
  if (h == NULL)
    return;
  tn_harness_click (h, "header_pause_toggle");
  g_assert_true (tn_harness_wait_state (h, "run", "paused", 5000));
  g_assert_true (tn_harness_wait_value (h, "header_title", "Digits\nPaused at step *", 2000));
  g_assert_true (tn_harness_wait_visible (h, "train_banner", 2000));
  g_usleep (500000); /* a row that was under way may still come */
  gint64 step = tn_harness_steps (h), end = g_get_monotonic_time () + 3 * G_USEC_PER_SEC;
  while (g_get_monotonic_time () < end)
    g_assert_cmpint (tn_harness_steps (h), ==, step);
  tn_harness_click (h, "header_pause_toggle");
  g_assert_true (tn_harness_wait_state (h, "run", "running", 5000));
  end = g_get_monotonic_time () + 5 * G_USEC_PER_SEC;
  while (tn_harness_steps (h) <= step)
    g_assert_cmpint (g_get_monotonic_time (), <, end);
  tn_harness_free (h);
}

/* T3: closed with Keep Training and opened again: the run goes on and the curve is whole. */
static void
test_keep_training (void)
{
  TnHarness *h = training ();
  if (h == NULL)
    return;
  GPid trainer = tn_harness_trainer (h);
  g_assert_cmpint (trainer, >, 0);
  tn_harness_key (h, "ctrl+w");
  g_assert_true (tn_harness_wait_visible (h, "close_dialog", 3000));
  tn_harness_key (h, "alt+k"); /* Keep Training */
  g_assert_cmpint (tn_harness_wait_exit (h, 5000), ==, 0);
  g_assert_cmpint (tn_harness_trainer (h), ==, trainer);
  tn_harness_start (h, NULL);
  g_assert_true (tn_harness_wait_state (h, "run", "running", 8000));
  g_assert_true (tn_harness_wait_value (h, "train_loss_canvas", "Loss, * steps*", 5000));
  g_assert_cmpint (tn_harness_trainer (h), ==, trainer);
  /* No gap: as many rows as steps. The description counts the rows of the loss; a row more or less may be under way. */
  tn_harness_click (h, "header_pause_toggle");
  g_assert_true (tn_harness_wait_state (h, "run", "paused", 5000));
  g_usleep (600000);
  g_autofree char *text = tn_harness_value (h, "train_loss_canvas");
  const char *at = strstr (text, "lines, ");
  g_assert_nonnull (at);
  g_assert_cmpint (g_ascii_strtoll (at + 7, NULL, 10), ==, tn_harness_steps (h));
  tn_harness_free (h);
}

/* T4: a trainer that is killed is told as lost, with the signal; the window lives. */
static void
test_killed_trainer (void)
{
  TnHarness *h = training ();
  if (h == NULL)
    return;
  gint64 killed = g_get_monotonic_time ();
  g_assert_cmpint (kill (tn_harness_trainer (h), SIGKILL), ==, 0);
  g_assert_true (tn_harness_wait_state (h, "run", "lost", 3000));
  g_test_message ("told after %d ms", (int) ((g_get_monotonic_time () - killed) / 1000));
  g_assert_true (tn_harness_wait_value (h, "header_title", "*signal 9*", 2000));
  g_assert_true (tn_harness_wait_visible (h, "train_banner", 2000));
  tn_harness_free (h);
}

/* T7: a learning rate of 1000 ends in NaN, in words. */
static void
test_nan (void)
{
  TnHarness *h = tn_harness_new (1280, 800);
  if (h == NULL)
    return;
  tn_harness_start (h, NULL);
  tn_harness_click (h, "start_empty_button");
  g_assert_true (tn_harness_wait_value (h, "root_stack", "project", 5000));
  tn_harness_activate (h, "win.page", "train");
  g_assert_true (tn_harness_wait_visible (h, "train_lr_entry", 3000));
  tn_harness_activate (h, "win.setting", "optimizer.lr");
  g_usleep (200000);
  tn_harness_key (h, "ctrl+a");
  tn_harness_type (h, "1000");
  tn_harness_key (h, "Return");
  g_assert_true (tn_harness_wait_value (h, "train_lr_entry", "1000*", 3000));
  tn_harness_key (h, "ctrl+r");
  g_assert_true (tn_harness_wait_state (h, "run", "failed", 20000));
  g_assert_true (tn_harness_wait_value (h, "train_banner", "Failed at step *", 3000));
  tn_harness_free (h);
}

/* T9: three steps are three points. */
static void
test_three_steps (void)
{
  TnHarness *h = tn_harness_new (1280, 800);
  if (h == NULL)
    return;
  tn_harness_start (h, NULL);
  tn_harness_click (h, "start_empty_button");
  g_assert_true (tn_harness_wait_value (h, "root_stack", "project", 5000));
  tn_harness_activate (h, "win.setting", "train.max_steps");
  g_usleep (200000);
  tn_harness_key (h, "ctrl+a");
  tn_harness_type (h, "3");
  tn_harness_key (h, "Return");
  tn_harness_key (h, "ctrl+r");
  g_assert_true (tn_harness_wait_state (h, "run", "finished", 15000));
  g_assert_true (tn_harness_wait_value (h, "train_gradient_norm_canvas", "* 3 steps*", 3000));
  tn_harness_free (h);
}

/* W8: a bad value says why, stays in the field, and the last good one stays in force. */
static void
test_bad_value (void)
{
  TnHarness *h = tn_harness_new (1280, 800);
  if (h == NULL)
    return;
  tn_harness_start (h, NULL);
  tn_harness_click (h, "start_empty_button");
  g_assert_true (tn_harness_wait_value (h, "root_stack", "project", 5000));
  tn_harness_activate (h, "win.setting", "optimizer.lr");
  g_usleep (200000);
  tn_harness_key (h, "ctrl+a");
  tn_harness_type (h, "fast");
  tn_harness_key (h, "Return");
  g_assert_true (tn_harness_wait_value (h, "train_lr_entry", "0.01\n*", 3000));
  tn_harness_free (h);
}

/* W11: the window is killed while it trains; the next one has project, page and run, and says so. */
static void
test_killed_window (void)
{
  TnHarness *h = training ();
  if (h == NULL)
    return;
  g_autofree char *session = g_build_filename (tn_harness_home (h), "state", "tenon", "session.gvariant", NULL);
  for (gint64 end = g_get_monotonic_time () + 8 * G_USEC_PER_SEC; !g_file_test (session, G_FILE_TEST_EXISTS); g_usleep (50000))
    g_assert_cmpint (g_get_monotonic_time (), <, end);
  GPid trainer = tn_harness_trainer (h);
  tn_harness_kill_window (h);
  g_assert_cmpint (tn_harness_trainer (h), ==, trainer);
  tn_harness_start (h, NULL);
  g_assert_true (tn_harness_wait_state (h, "run", "running", 8000));
  g_assert_true (tn_harness_wait_value (h, "root_banner", "*unexpectedly*", 3000));
  tn_harness_free (h);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/window/T2/pause-holds-the-step", test_pause);
  g_test_add_func ("/window/T3/keep-training-and-open-again", test_keep_training);
  g_test_add_func ("/window/T4/a-killed-trainer-is-lost-with-its-signal", test_killed_trainer);
  g_test_add_func ("/window/T7/nan-is-told-in-words", test_nan);
  g_test_add_func ("/window/T9/three-steps-are-three-points", test_three_steps);
  g_test_add_func ("/window/W8/a-bad-value-says-why", test_bad_value);
  g_test_add_func ("/window/W11/a-killed-window-comes-back", test_killed_window);
  return g_test_run ();
}
