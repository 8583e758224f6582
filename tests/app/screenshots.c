/* SPDX-License-Identifier: Apache-2.0 */
#include <glib/gstdio.h>

#include "harness.h"

/* Pictures of every page at three sizes, light and dark, in every language, for people to look at:
 *   screenshots FOLDER [PATTERN]     a glob over "SIZE-SCHEME-LANGUAGE", "360x640-dark-de"
 * Ends with 1 if the window finds a fault in itself: a shortened title or button, a control without a name. */

static const struct
{
  int width, height;
} sizes[] = { { 360, 640 }, { 1280, 800 }, { 3840, 2160 } };
static const char *const schemes[] = { "light", "dark" };
static const char *const languages[] = { "C", "de", "zh_CN" }, *const locales[] = { "C", "de_DE", "zh_CN" };

static void
write_settings (TnHarness *window, int width, int height, const char *scheme)
{
  g_autofree char *folder = g_build_filename (tn_harness_home (window), "config", "glib-2.0", "settings", NULL), *path = g_build_filename (folder, "keyfile", NULL);
  g_autofree char *text = g_strdup_printf ("[io/github/tenon_ml/Tenon]\nwindow-width=%d\nwindow-height=%d\ncolor-scheme='%s'\n", width, height, scheme);
  g_mkdir_with_parents (folder, 0700);
  g_assert_true (g_file_set_contents (path, text, -1, NULL));
}

static void
save (TnHarness *window, const char *folder, const char *variant, const char *page)
{
  g_autofree char *name = g_strdup_printf ("%s-%s.png", variant, page), *path = g_build_filename (folder, name, NULL);
  const char *argv[] = { "import", "-window", "root", path, NULL };
  g_variant_unref (tn_harness_call (window, "WaitIdle", g_variant_new ("(u)", 3000)));
  g_usleep (300 * 1000); /* what fades has faded */
  g_autoptr (GSubprocess) process = g_subprocess_newv (argv, G_SUBPROCESS_FLAGS_NONE, NULL);
  g_assert_true (g_subprocess_wait_check (process, NULL, NULL));
}

static guint
tell_faults (TnHarness *window, const char *variant, const char *page)
{
  g_autoptr (GVariant) reply = tn_harness_call (window, "Faults", NULL);
  g_autofree const char **faults = NULL;
  g_variant_get (reply, "(^a&s)", &faults);
  for (guint i = 0; faults[i] != NULL; i++)
    g_print ("%s %s: %s\n", variant, page, faults[i]);
  return g_strv_length ((char **) faults);
}

/* The machine may have no other locale than C: a language's is then compiled beside the pictures. */
static void
choose_language (const char *folder, guint language)
{
  g_autofree char *all = g_build_filename (folder, "locales", NULL), *name = g_strconcat (locales[language], ".UTF-8", NULL);
  g_autofree char *path = g_build_filename (all, name, NULL);
  g_setenv ("LC_ALL", name, TRUE);
  g_setenv ("LANGUAGE", languages[language], TRUE);
  if (language == 0)
    return;
  g_mkdir_with_parents (all, 0777);
  const char *argv[] = { "localedef", "-i", locales[language], "-f", "UTF-8", path, NULL };
  g_autoptr (GSubprocess) process = g_file_test (path, G_FILE_TEST_IS_DIR) ? NULL : g_subprocess_newv (argv, G_SUBPROCESS_FLAGS_STDERR_SILENCE, NULL);
  if (process != NULL)
    g_subprocess_wait (process, NULL, NULL);
  g_setenv ("LOCPATH", all, TRUE);
}

static guint
take (const char *folder, const char *variant, int width, int height, const char *scheme, guint language)
{
  static const char *const pages[] = { "data", "model", "train", "graph", "runs" };
  guint faults = 0;
  TnHarness *window = tn_harness_new (width, height);
  if (window == NULL)
    return 1;
  g_setenv ("GTK_A11Y", "test", TRUE); /* names are kept, also without a reader */
  write_settings (window, width, height, scheme);
  choose_language (folder, language);
  tn_harness_start (window, NULL);
  save (window, folder, variant, "start");
  faults += tell_faults (window, variant, "start");
  tn_harness_activate (window, "win.start-sample", "digits");
  tn_harness_wait_state (window, "run", "running", 15000);
  g_usleep (2 * G_USEC_PER_SEC); /* some of the curves */
  for (guint i = 0; i < G_N_ELEMENTS (pages); i++)
    {
      g_autofree char *state = tn_harness_state (window, pages[i]);
      if (g_str_equal (state, "absent"))
        continue;
      tn_harness_activate (window, "win.page", pages[i]);
      save (window, folder, variant, pages[i]);
      faults += tell_faults (window, variant, pages[i]);
    }
  tn_harness_activate (window, "win.stop", NULL);
  tn_harness_free (window);
  return faults;
}

int
main (int argc, char **argv)
{
  const char *folder = argc > 1 ? argv[1] : NULL, *pattern = argc > 2 ? argv[2] : "*";
  guint faults = 0;
  if (folder == NULL || g_mkdir_with_parents (folder, 0777) != 0)
    {
      g_printerr ("Usage: screenshots FOLDER [PATTERN]\n");
      return 2;
    }
  for (guint i = 0; i < G_N_ELEMENTS (sizes); i++)
    for (guint s = 0; s < G_N_ELEMENTS (schemes); s++)
      for (guint l = 0; l < G_N_ELEMENTS (languages); l++)
        {
          g_autofree char *variant = g_strdup_printf ("%dx%d-%s-%s", sizes[i].width, sizes[i].height, schemes[s], languages[l]);
          if (!g_pattern_match_simple (pattern, variant))
            continue;
          faults += take (folder, variant, sizes[i].width, sizes[i].height, schemes[s], l);
        }
  g_print ("%u faults\n", faults);
  return faults == 0 ? 0 : 1;
}
