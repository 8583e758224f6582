/* SPDX-License-Identifier: Apache-2.0 */
#include "base/language.h"
#include <glib.h>
#include <locale.h>
#ifdef ENABLE_NLS
#include <libintl.h>
#endif

#ifdef ENABLE_NLS
/* The first folder that holds a translation; the build folder first, as a program in it is newer than an installed one. */
static char *
find_folder (void)
{
  g_autofree char *self = g_file_read_link ("/proc/self/exe", NULL);
  g_autofree char *folder = g_path_get_dirname (self != NULL ? self : ".");
  static const char *const places[] = { "../po", "../../po", "../share/locale" };
  for (guint i = 0; self != NULL && i < G_N_ELEMENTS (places); i++)
    {
      g_autofree char *path = g_build_filename (folder, places[i], NULL);
      g_autofree char *probe = g_build_filename (path, "de", "LC_MESSAGES", "tenon.mo", NULL);
      if (g_file_test (probe, G_FILE_TEST_EXISTS))
        return g_steal_pointer (&path);
    }
  return g_strdup (TN_LOCALE_DIR);
}
#endif

void
tn_language_begin (void)
{
  setlocale (LC_ALL, "");
#ifdef ENABLE_NLS
  g_autofree char *folder = find_folder ();
  bindtextdomain ("tenon", folder);
  bind_textdomain_codeset ("tenon", "UTF-8");
  textdomain ("tenon");
#endif
}
