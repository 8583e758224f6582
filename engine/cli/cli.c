/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/cli.h"
#include "base/error.h"
#include "base/json.h"
#include <stdio.h>

gboolean
tn_cli_parse (const char *name, const GOptionEntry *entries, int *argc, char ***argv)
{
  const TnCommand *command = tn_command_find (name);
  g_autofree char *usage = g_strdup_printf ("%s", command->arguments);
  g_autoptr (GOptionContext) context = g_option_context_new (usage);
  g_autofree char *program = g_strdup_printf ("tenon-cli %s", name);
  g_autofree char *example = g_strdup_printf (_ ("Example:\n  %s"), command->example);
  g_autoptr (GError) error = NULL;
  g_set_prgname (program);
  g_option_context_set_summary (context, _ (command->summary));
  g_option_context_set_description (context, example);
  g_option_context_add_main_entries (context, entries, NULL);
  if (g_option_context_parse (context, argc, argv, &error))
    return TRUE;
  tn_cli_usage (name, "%s", error->message);
  return FALSE;
}

int
tn_cli_fail (const GError *error, gboolean json)
{
  fprintf (stderr, "tenon-cli: %s\n", error != NULL ? error->message : _ ("failed without a reason"));
  if (json)
    {
      JsonObject *line = json_object_new ();
      json_object_set_string_member (line, "error", error != NULL ? error->message : "");
      json_object_set_string_member (line, "code", error != NULL && error->domain == TN_ERROR ? tn_error_code_name (error->code) : "other");
      tn_cli_print_json (line);
    }
  return TN_EXIT_FAILED;
}

int
tn_cli_usage (const char *command, const char *format, ...)
{
  va_list args;
  va_start (args, format);
  g_autofree char *message = g_strdup_vprintf (format, args);
  va_end (args);
  fprintf (stderr, "tenon-cli %s: %s\n", command, message);
  fprintf (stderr, _ ("Try: tenon-cli %s --help\n"), command);
  return TN_EXIT_USAGE;
}

gboolean
tn_cli_apply (TnSettings *settings, char **assignments, GError **error)
{
  for (char **a = assignments; a != NULL && *a != NULL; a++)
    if (!tn_settings_set_assignment (settings, *a, error))
      return FALSE;
  return TRUE;
}

void
tn_cli_print_json (JsonObject *object)
{
  g_autoptr (JsonNode) node = json_node_init_object (json_node_alloc (), object);
  json_object_unref (object);
  g_autoptr (JsonGenerator) generator = json_generator_new ();
  json_generator_set_root (generator, node);
  g_autofree char *text = json_generator_to_data (generator, NULL);
  fputs (text, stdout);
  fputc ('\n', stdout);
  fflush (stdout);
}

char *
tn_cli_bytes (double bytes)
{
  static const char *const units[] = { "B", "KB", "MB", "GB", "TB" };
  guint unit = 0;
  while (bytes >= 999.5 && unit + 1 < G_N_ELEMENTS (units))
    {
      bytes /= 1000;
      unit++;
    }
  return g_strdup_printf (unit == 0 || bytes >= 99.95 ? "%.0f %s" : "%.1f %s", bytes, units[unit]);
}

char *
tn_cli_duration (double seconds)
{
  if (seconds < 59.95)
    return g_strdup_printf (_ ("%.1f s"), seconds);
  int64_t s = (int64_t) (seconds + 0.5);
  if (s < 3600)
    return g_strdup_printf (_ ("%d min %02d s"), (int) (s / 60), (int) (s % 60));
  return g_strdup_printf (_ ("%" G_GINT64_FORMAT " h %02d min"), s / 3600, (int) (s / 60 % 60));
}
