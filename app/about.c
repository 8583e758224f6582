/* SPDX-License-Identifier: Apache-2.0 */
#include "about.h"

#include <glib/gi18n.h>

#include "application.h"
#include "run-control.h"

static char *
processor (void)
{
  g_autofree char *text = NULL;
  if (!g_file_get_contents ("/proc/cpuinfo", &text, NULL, NULL))
    return g_strdup ("?");
  const char *at = strstr (text, "model name");
  at = at != NULL ? strchr (at, ':') : NULL;
  return at != NULL ? g_strndup (at + 2, strcspn (at + 2, "\n")) : g_strdup ("?");
}

char *
tn_about_debug_info (GtkWindow *parent)
{
  g_autofree char *cpu = processor (), *os = g_get_os_info (G_OS_INFO_KEY_PRETTY_NAME);
  GtkNative *native = parent != NULL ? GTK_NATIVE (parent) : NULL;
  GskRenderer *renderer = native != NULL ? gtk_native_get_renderer (native) : NULL;
  const char *isa = __builtin_cpu_supports ("avx512f") ? "AVX-512" : __builtin_cpu_supports ("avx2") ? "AVX2" : "SSE2";
  return g_strdup_printf ("Tenon %s\nGTK %u.%u.%u\nlibadwaita %u.%u.%u\nGLib %u.%u.%u\nRenderer: %s\nProcessor: %s\nProcessors: %u\n"
                          "Instruction level: %s\nSystem: %s\ntenon-cli: %s\n",
                          TN_VERSION, gtk_get_major_version (), gtk_get_minor_version (), gtk_get_micro_version (), adw_get_major_version (),
                          adw_get_minor_version (), adw_get_micro_version (), glib_major_version, glib_minor_version, glib_micro_version,
                          renderer != NULL ? G_OBJECT_TYPE_NAME (renderer) : "none", cpu, g_get_num_processors (), isa, os != NULL ? os : "?",
                          tn_cli_path () != NULL ? tn_cli_path () : "not found");
}

void
tn_about_present (GtkWindow *parent)
{
  g_autofree char *info = tn_about_debug_info (parent);
  GtkWidget *window = adw_about_window_new ();
  g_object_set (window, "application-name", "Tenon", "application-icon", TN_APP_ID, "version", TN_VERSION, "developer-name", _("The Tenon developers"),
                "comments", _("Train neural networks by pointing and clicking, and see what they hold, compute and wait for."), "license-type",
                GTK_LICENSE_APACHE_2_0, "website", "https://github.com/tenon-ml/tenon", "issue-url", "https://github.com/tenon-ml/tenon/issues",
                "debug-info", info, "debug-info-filename", "tenon-debug-info.txt", "transient-for", parent, "modal", TRUE, "name", "about_window", NULL);
  gtk_window_present (GTK_WINDOW (window));
}
