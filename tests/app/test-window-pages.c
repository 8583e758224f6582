/* SPDX-License-Identifier: Apache-2.0 */
#include "harness.h"

#include <string.h>

/* Every page, walked: what test-faults.h of the window finds, and the ids that testers hold on to. */

static const char *const pages[] = { "data", "model", "train", "graph", "runs", "shard" };

static TnHarness *
open_sample (int width, int height)
{
  TnHarness *h = tn_harness_new (width, height);
  if (h == NULL)
    return NULL;
  g_setenv ("GTK_A11Y", "test", TRUE); /* names are kept, also without a reader */
  g_autofree char *folder = g_build_filename (tn_harness_home (h), "config", "glib-2.0", "settings", NULL), *path = g_build_filename (folder, "keyfile", NULL);
  g_autofree char *text = g_strdup_printf ("[io/github/tenon_ml/Tenon]\nwindow-width=%d\nwindow-height=%d\n", width, height);
  g_mkdir_with_parents (folder, 0700);
  g_assert_true (g_file_set_contents (path, text, -1, NULL));
  tn_harness_start (h, NULL);
  return h;
}

static guint
tell_faults (TnHarness *h, const char *page)
{
  g_variant_unref (tn_harness_call (h, "WaitIdle", g_variant_new ("(u)", 3000)));
  g_autoptr (GVariant) reply = tn_harness_call (h, "Faults", NULL);
  g_autofree const char **faults = NULL;
  g_variant_get (reply, "(^a&s)", &faults);
  for (guint i = 0; faults[i] != NULL; i++)
    g_test_message ("%s: %s", page, faults[i]);
  return g_strv_length ((char **) faults);
}

static void
start_sample (TnHarness *h)
{
  tn_harness_activate (h, "win.start-sample", "digits");
  g_assert_true (tn_harness_wait_state (h, "run", "running", 15000));
}

static void
walk (int width, int height)
{
  TnHarness *h = open_sample (width, height);
  if (h == NULL)
    return;
  guint faults = tell_faults (h, "start");
  start_sample (h);
  for (guint i = 0; i < G_N_ELEMENTS (pages); i++)
    {
      g_autofree char *state = tn_harness_state (h, pages[i]);
      if (g_str_equal (state, "absent"))
        continue;
      tn_harness_activate (h, "win.page", pages[i]);
      g_usleep (400 * 1000); /* what slides in has slid */
      faults += tell_faults (h, pages[i]);
    }
  g_assert_cmpuint (faults, ==, 0);
  tn_harness_free (h);
}

/* W1, W13: every focusable thing has a name, nothing is shortened, cut off or at the edge. */
static void
test_compact (void)
{
  walk (360, 640);
}

static void
test_wide (void)
{
  walk (1280, 800);
}

static int
compare (const void *a, const void *b)
{
  return strcmp (*(char *const *) a, *(char *const *) b);
}

/* W2. Keys of dynamic rows (after the colon) are left out. TENON_UPDATE_IDS=1 writes the list. */
static void
test_ids (void)
{
  TnHarness *h = open_sample (1280, 800);
  if (h == NULL)
    return;
  start_sample (h);
  for (guint i = 0; i < G_N_ELEMENTS (pages); i++)
    tn_harness_activate (h, "win.page", pages[i]);
  g_variant_unref (tn_harness_call (h, "WaitIdle", g_variant_new ("(u)", 5000)));
  g_autoptr (GVariant) reply = tn_harness_call (h, "ListIds", NULL);
  g_auto (GStrv) ids = NULL;
  g_variant_get (reply, "(^as)", &ids);
  guint n = g_strv_length (ids);
  g_autoptr (GString) text = g_string_new (NULL);
  for (guint i = 0; i < n; i++)
    if (strchr (ids[i], ':') != NULL)
      strchr (ids[i], ':')[1] = '\0';
  qsort (ids, n, sizeof *ids, compare);
  for (guint i = 0; i < n; i++)
    if (i == 0 || !g_str_equal (ids[i], ids[i - 1]))
      g_string_append_printf (text, "%s\n", ids[i]);
  g_autofree char *path = g_build_filename (g_getenv ("G_TEST_SRCDIR"), "..", "data", "ids.txt", NULL), *listed = NULL;
  if (g_strcmp0 (g_getenv ("TENON_UPDATE_IDS"), "1") == 0)
    g_assert_true (g_file_set_contents (path, text->str, -1, NULL));
  g_assert_true (g_file_get_contents (path, &listed, NULL, NULL));
  g_auto (GStrv) now = g_strsplit (text->str, "\n", -1), wanted = g_strsplit (listed, "\n", -1);
  for (char **id = now; *id != NULL; id++)
    if (!g_strv_contains ((const char *const *) wanted, *id))
      g_test_message ("new: %s", *id);
  for (char **id = wanted; *id != NULL; id++)
    if (!g_strv_contains ((const char *const *) now, *id))
      g_test_message ("gone: %s", *id);
  g_assert_cmpstr (text->str, ==, listed);
  tn_harness_free (h);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/window/pages/360x640-no-faults", test_compact);
  g_test_add_func ("/window/pages/1280x800-no-faults", test_wide);
  g_test_add_func ("/window/pages/ids-as-listed", test_ids);
  return g_test_run ();
}
