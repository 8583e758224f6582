/* SPDX-License-Identifier: Apache-2.0 */
#include "harness.h"

#include <glib/gstdio.h>
#include <string.h>

static int
series_pixels (TnHarness *h)
{
  g_auto (TnFound) canvas = { 0 };
  int width, height, n = 0;
  g_assert_true (tn_harness_find (h, "train_loss_canvas", &canvas));
  g_autofree guint8 *pixels = tn_harness_picture (h, &width, &height);
  /* A series colour is what is neither grey nor nearly so: axes, text and grid are. */
  for (int y = MAX (0, canvas.y); y < MIN (height, canvas.y + canvas.height); y++)
    for (int x = MAX (0, canvas.x); x < MIN (width, canvas.x + canvas.width); x++)
      {
        const guint8 *p = pixels + ((gsize) y * (gsize) width + (gsize) x) * 3;
        int low = MIN (p[0], MIN (p[1], p[2])), high = MAX (p[0], MAX (p[1], p[2]));
        n += high - low > 40;
      }
  return n;
}

/* S1: one press from the start page to a live curve. */
static void
test_sample_to_curve (void)
{
  TnHarness *h = tn_harness_new (1280, 800);
  if (h == NULL)
    return;
  tn_harness_start (h, NULL);
  gint64 pressed = g_get_monotonic_time ();
  tn_harness_click (h, "start_train_button:digits");
  g_assert_true (tn_harness_wait_value (h, "train_loss_canvas", "Loss, * steps*", 10000));
  g_test_message ("first point %d ms after the press", (int) ((g_get_monotonic_time () - pressed) / 1000));
  g_assert_true (tn_harness_wait_state (h, "run", "running", 3000));
  g_assert_true (tn_harness_wait_value (h, "header_title", "Digits\nTraining*", 3000));
  gint64 end = g_get_monotonic_time () + 5 * G_USEC_PER_SEC;
  int n = 0;
  while ((n = series_pixels (h)) < 200)
    g_assert_cmpint (g_get_monotonic_time (), <, end);
  /* T1: it goes on growing. */
  gint64 before = tn_harness_steps (h);
  end = g_get_monotonic_time () + 3 * G_USEC_PER_SEC;
  while (tn_harness_steps (h) <= before)
    g_assert_cmpint (g_get_monotonic_time (), <, end);
  tn_harness_free (h);
}

/* S2: a project file cut short is named, and the window lives. */
static void
test_truncated_project (void)
{
  TnHarness *h = tn_harness_new (1280, 800);
  if (h == NULL)
    return;
  g_autofree char *folder = g_build_filename (tn_harness_home (h), "broken", NULL), *file = g_build_filename (folder, "project.json", NULL);
  g_mkdir (folder, 0700);
  g_assert_true (g_file_set_contents (file, "{ \"format\": \"tenon-project\", \"version\": 1, \"na", -1, NULL));
  tn_harness_start (h, NULL);
  tn_harness_activate (h, "win.open-path", folder);
  g_assert_true (tn_harness_wait_value (h, "root_banner", "*project.json*", 5000));
  g_autofree char *stack = tn_harness_value (h, "root_stack");
  g_assert_cmpstr (stack, ==, "start");
  tn_harness_free (h);
}

/* S3: nothing but unix sockets is opened. */
static void
test_no_network (void)
{
  TnHarness *h = tn_harness_new (1280, 800);
  if (h == NULL)
    return;
  tn_harness_start (h, NULL);
  tn_harness_click (h, "start_train_button:digits");
  g_assert_true (tn_harness_wait_state (h, "run", "running", 10000));
  GPid trainer = tn_harness_trainer (h);
  g_assert_cmpint (trainer, >, 0);
  /* Sockets of the trainer (child of the window) that stand in the tables of TCP and UDP. */
  static const char *const tables[] = { "tcp", "tcp6", "udp", "udp6" };
  g_autoptr (GString) inodes = g_string_new (NULL);
  for (guint i = 0; i < G_N_ELEMENTS (tables); i++)
    {
      g_autofree char *path = g_strdup_printf ("/proc/net/%s", tables[i]), *text = NULL;
      if (g_file_get_contents (path, &text, NULL, NULL))
        g_string_append (inodes, text);
    }
  g_autofree char *fds = g_strdup_printf ("/proc/%d/fd", trainer);
  GDir *dir = g_dir_open (fds, 0, NULL);
  const char *name;
  while (dir != NULL && (name = g_dir_read_name (dir)) != NULL)
    {
      g_autofree char *path = g_build_filename (fds, name, NULL), *target = g_file_read_link (path, NULL);
      if (target == NULL || !g_str_has_prefix (target, "socket:["))
        continue;
      g_autofree char *inode = g_strndup (target + 8, strlen (target) - 9), *padded = g_strdup_printf (" %s ", inode);
      g_assert_null (strstr (inodes->str, padded));
    }
  if (dir != NULL)
    g_dir_close (dir);
  tn_harness_free (h);
}

/* S5: in 360 pixels every button of the start page lies within the window. */
static void
test_narrow (void)
{
  TnHarness *h = tn_harness_new (360, 640);
  if (h == NULL)
    return;
  g_autofree char *config = g_build_filename (tn_harness_home (h), "config", "glib-2.0", "settings", NULL), *file = g_build_filename (config, "keyfile", NULL);
  g_mkdir_with_parents (config, 0700);
  g_assert_true (g_file_set_contents (file, "[io/github/tenon_ml/Tenon]\nwindow-width=360\nwindow-height=640\n", -1, NULL));
  tn_harness_start (h, NULL);
  static const char *const ids[] = { "start_train_button:digits", "start_train_button:spirals", "start_open_button", "start_open_folder_button",
                                     "start_empty_button", "header_menu_button" };
  for (guint i = 0; i < G_N_ELEMENTS (ids); i++)
    {
      int right = 0;
      for (gint64 end = g_get_monotonic_time () + 5 * G_USEC_PER_SEC; (right <= 0 || right > 360) && g_get_monotonic_time () < end;)
        {
          g_auto (TnFound) found = { 0 };
          g_assert_true (tn_harness_find (h, ids[i], &found));
          right = found.x >= 0 ? found.x + found.width : 0;
        }
      g_assert_cmpint (right, >, 0);
      g_assert_cmpint (right, <=, 360);
    }
  tn_harness_free (h);
}

/* W16: each sample trains, then the window quits cleanly with the training kept. */
static void
test_samples_and_quit (void)
{
  static const char *const samples[] = { "digits", "spirals" };
  for (guint i = 0; i < G_N_ELEMENTS (samples); i++)
    {
      TnHarness *h = tn_harness_new (1280, 800);
      if (h == NULL)
        return;
      g_autofree char *id = g_strconcat ("start_train_button:", samples[i], NULL);
      tn_harness_start (h, NULL);
      tn_harness_click (h, id);
      g_assert_true (tn_harness_wait_value (h, "train_loss_canvas", "Loss, * steps*", 10000));
      tn_harness_activate (h, "win.stop-now", NULL);
      g_assert_true (tn_harness_wait_state (h, "run", "stopped", 6000) );
      tn_harness_key (h, "ctrl+q");
      g_assert_cmpint (tn_harness_wait_exit (h, 5000), ==, 0);
      tn_harness_free (h);
    }
}

/* A stroke from top to bottom, drawn with the mouse beside the running training, is answered: it is a one. */
static void
test_draw_a_digit (void)
{
  TnHarness *h = tn_harness_new (1280, 1100);
  if (h == NULL)
    return;
  tn_harness_start (h, NULL);
  tn_harness_click (h, "start_train_button:digits");
  g_assert_true (tn_harness_wait_value (h, "train_watch_label", "Watch · step *", 20000)); /* a checkpoint has answered */
  /* Again where the page was still moving: it is the same stroke. */
  gboolean answered = FALSE;
  for (int try = 0; try < 4 && !answered; try++)
    {
      g_auto (TnFound) pad = { 0 };
      g_assert_true (tn_harness_find (h, "train_draw_area", &pad));
      g_assert_cmpint (pad.y + pad.height, <, 1100);
      g_autoptr (GString) command = g_string_new ("xdotool");
      g_string_append_printf (command, " mousemove %d %d mousedown 1", pad.x + pad.width / 2, pad.y + pad.height / 5);
      for (int i = 1; i <= 10; i++)
        g_string_append_printf (command, " mousemove %d %d", pad.x + pad.width / 2, pad.y + pad.height / 5 + i * pad.height * 6 / 100);
      g_string_append (command, " mouseup 1");
      int status = -1;
      g_assert_true (g_spawn_command_line_sync (command->str, NULL, NULL, &status, NULL));
      g_assert_cmpint (status, ==, 0);
      answered = tn_harness_wait_value (h, "train_draw_label", "1", 15000);
    }
  g_assert_true (answered);
  tn_harness_free (h);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/window/S1-T1/one-press-from-the-sample-to-a-live-curve", test_sample_to_curve);
  g_test_add_func ("/window/S2/a-truncated-project-is-named", test_truncated_project);
  g_test_add_func ("/window/S3/no-network-socket", test_no_network);
  g_test_add_func ("/window/S5/start-fits-360-pixels", test_narrow);
  g_test_add_func ("/window/W16/samples-then-quit", test_samples_and_quit);
  g_test_add_func ("/window/a-drawn-digit-is-answered", test_draw_a_digit);
  return g_test_run ();
}
