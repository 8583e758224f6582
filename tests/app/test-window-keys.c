/* SPDX-License-Identifier: Apache-2.0 */
#include "harness.h"

#include <string.h>

static TnHarness *
empty_project (void)
{
  TnHarness *h = tn_harness_new (1280, 800);
  if (h == NULL)
    return NULL;
  tn_harness_start (h, NULL);
  tn_harness_click (h, "start_empty_button");
  g_assert_true (tn_harness_wait_value (h, "root_stack", "project", 5000));
  return h;
}

/* W15: keys do what their rows say. */
static void
test_keys (void)
{
  TnHarness *h = empty_project ();
  if (h == NULL)
    return;
  tn_harness_key (h, "ctrl+k");
  g_assert_true (tn_harness_wait_visible (h, "root_goto_entry", 3000));
  tn_harness_key (h, "Escape");
  for (gint64 end = g_get_monotonic_time () + 3 * G_USEC_PER_SEC;;)
    {
      g_auto (TnFound) found = { 0 };
      if (!tn_harness_find (h, "root_goto_entry", &found) || !found.visible)
        break;
      g_assert_cmpint (g_get_monotonic_time (), <, end);
    }
  static const struct
  {
    const char *keys, *id;
  } windows[] = { { "ctrl+comma", "prefs_window" }, { "ctrl+question", "shortcuts_window" } };
  for (guint i = 0; i < G_N_ELEMENTS (windows); i++)
    {
      tn_harness_key (h, windows[i].keys);
      g_assert_true (tn_harness_wait_visible (h, windows[i].id, 5000));
      tn_harness_key (h, "Escape");
      for (gint64 end = g_get_monotonic_time () + 3 * G_USEC_PER_SEC;;)
        {
          g_auto (TnFound) found = { 0 };
          if (!tn_harness_find (h, windows[i].id, &found) || !found.visible)
            break;
          g_assert_cmpint (g_get_monotonic_time (), <, end);
        }
    }
  tn_harness_key (h, "alt+Home");
  g_assert_true (tn_harness_wait_value (h, "root_stack", "start", 3000));
  tn_harness_activate (h, "win.page", "train");
  g_assert_true (tn_harness_wait_value (h, "root_stack", "project", 3000));
  tn_harness_key (h, "ctrl+f");
  tn_harness_type (h, "momentum");
  g_assert_true (tn_harness_wait_value (h, "train_find_entry", "momentum", 3000));
  tn_harness_key (h, "F12");
  g_assert_true (tn_harness_wait_visible (h, "train_console_view", 3000));
  tn_harness_free (h);
}

/* W15, the other half: what cannot be done now is off. */
static void
test_disabled (void)
{
  TnHarness *h = empty_project ();
  if (h == NULL)
    return;
  static const char *const off[] = { "stop", "stop-now", "park", "checkpoint", "pause", "undo", "redo", "resume", "train-more", "clear-all" };
  static const char *const on[] = { "train", "train-again", "open", "goto", "save", "help", "home", "show-command" };
  for (guint i = 0; i < G_N_ELEMENTS (off); i++)
    {
      g_test_message ("%s", off[i]);
      g_assert_false (tn_harness_enabled (h, off[i]));
    }
  for (guint i = 0; i < G_N_ELEMENTS (on); i++)
    {
      g_test_message ("%s", on[i]);
      g_assert_true (tn_harness_enabled (h, on[i]));
    }
  tn_harness_free (h);
}

/* Plain keys in a text field are text. */
static void
test_letters_are_text (void)
{
  TnHarness *h = empty_project ();
  if (h == NULL)
    return;
  tn_harness_activate (h, "win.page", "train");
  tn_harness_key (h, "ctrl+f");
  tn_harness_type (h, "f/.,");
  g_assert_true (tn_harness_wait_value (h, "train_find_entry", "f/.,", 3000));
  tn_harness_free (h);
}

/* An edit is undone and done again by keys. */
static void
test_undo (void)
{
  TnHarness *h = empty_project ();
  if (h == NULL)
    return;
  tn_harness_activate (h, "win.setting", "optimizer.lr");
  g_usleep (200000);
  tn_harness_key (h, "ctrl+a");
  tn_harness_type (h, "0.25");
  tn_harness_key (h, "Return");
  g_assert_true (tn_harness_wait_value (h, "train_lr_entry", "0.25", 3000));
  g_assert_true (tn_harness_enabled (h, "undo"));
  tn_harness_activate (h, "win.undo", NULL);
  g_assert_true (tn_harness_wait_value (h, "train_lr_entry", "0.01", 3000));
  tn_harness_activate (h, "win.redo", NULL);
  g_assert_true (tn_harness_wait_value (h, "train_lr_entry", "0.25", 3000));
  tn_harness_free (h);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/window/W15/keys-act", test_keys);
  g_test_add_func ("/window/W15/what-cannot-be-done-is-off", test_disabled);
  g_test_add_func ("/window/W15/letters-in-a-field-are-text", test_letters_are_text);
  g_test_add_func ("/window/undo/an-edit-comes-and-goes", test_undo);
  return g_test_run ();
}
