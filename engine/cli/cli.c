/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/cli.h"
#include "base/error.h"
#include "base/json.h"
#include "library/catalogue.h"
#include "train/project.h"
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What people type is short: two letters in the wrong place are as good as one. */
static const char *
find_near (const char *name, const char *const *candidates)
{
  const char *near = tn_did_you_mean (name, candidates);
  guint least = MIN (2, (guint) strlen (name) / 2) + 1;
  for (const char *const *candidate = candidates; near == NULL && *candidate != NULL; candidate++)
    if (tn_levenshtein (name, *candidate) < least)
      near = *candidate;
  return near;
}

/* The name of the first option in @argv that is none of @entries; NULL if all are known. */
static char *
find_unknown_option (const GOptionEntry *entries, int argc, char **argv)
{
  for (int i = 1; i < argc; i++)
    {
      if (strcmp (argv[i], "--") == 0)
        return NULL;
      if (!g_str_has_prefix (argv[i], "--"))
        continue;
      g_autofree char *name = g_strndup (argv[i] + 2, strcspn (argv[i] + 2, "="));
      gboolean known = strcmp (name, "help") == 0;
      for (const GOptionEntry *entry = entries; entry->long_name != NULL && !known; entry++)
        known = strcmp (entry->long_name, name) == 0;
      if (!known)
        return g_steal_pointer (&name);
    }
  return NULL;
}

static void
tell_option_error (const char *command, const GOptionEntry *entries, int argc, char **argv, const GError *error)
{
  g_autofree char *unknown = NULL;
  if (g_error_matches (error, G_OPTION_ERROR, G_OPTION_ERROR_UNKNOWN_OPTION))
    unknown = find_unknown_option (entries, argc, argv);
  if (unknown == NULL)
    {
      tn_cli_usage (command, "%s", error->message);
      return;
    }
  g_autoptr (GPtrArray) names = g_ptr_array_new ();
  for (const GOptionEntry *entry = entries; entry->long_name != NULL; entry++)
    g_ptr_array_add (names, (gpointer) entry->long_name);
  g_ptr_array_add (names, (gpointer) "help");
  g_ptr_array_add (names, NULL);
  const char *near = find_near (unknown, (const char *const *) names->pdata);
  if (near != NULL)
    tn_cli_usage (command, _ ("there is no option “--%s”; did you mean “--%s”?"), unknown, near);
  else
    tn_cli_usage (command, _ ("there is no option “--%s”"), unknown);
}

static gboolean
wants_help (int argc, char **argv)
{
  for (int i = 1; i < argc && strcmp (argv[i], "--") != 0; i++)
    if (strcmp (argv[i], "--help") == 0 || strcmp (argv[i], "-h") == 0 || strcmp (argv[i], "-?") == 0)
      return TRUE;
  return FALSE;
}

gboolean
tn_cli_parse (const char *name, const GOptionEntry *entries, int *argc, char ***argv)
{
  const TnCommand *command = tn_command_find (name);
  g_autoptr (GOptionContext) context = g_option_context_new (command->arguments);
  g_autofree char *program = g_strdup_printf ("tenon-cli %s", name);
  g_autofree char *example = g_strdup_printf (_ ("Example:\n  %s"), command->example);
  g_autoptr (GError) error = NULL;
  g_set_prgname (program);
  g_option_context_set_summary (context, _ (command->summary));
  g_option_context_set_description (context, example);
  g_option_context_add_main_entries (context, entries, NULL);
  /* GLib's own --help spends three lines on itself, and a screen has 24. */
  g_option_context_set_help_enabled (context, FALSE);
  if (wants_help (*argc, *argv))
    {
      g_autofree char *help = g_option_context_get_help (context, TRUE, NULL);
      fputs (help, stdout);
      exit (fflush (stdout) == 0 ? TN_EXIT_DONE : TN_EXIT_FAILED);
    }
  int n = *argc;
  g_autofree char **given = g_memdup2 (*argv, sizeof (char *) * (gsize) (n + 1));
  if (g_option_context_parse (context, argc, argv, &error))
    {
      if (*argc > 1 && strcmp ((*argv)[1], "--") == 0) /* what is behind it are arguments */
        memmove (*argv + 1, *argv + 2, sizeof (char *) * (gsize) (--*argc));
      return TRUE;
    }
  tell_option_error (name, entries, n, given, error);
  return FALSE;
}

gboolean
tn_cli_parse_arguments (const char *command, const GOptionEntry *entries, int *argc, char ***argv, int least, int most,
                        const char *missing)
{
  if (!tn_cli_parse (command, entries, argc, argv))
    return FALSE;
  int n = *argc - 1;
  if (n < least)
    tn_cli_usage (command, "%s", missing);
  else if (n > most)
    tn_cli_usage (command, _ ("“%s” is one argument too many"), (*argv)[most + 1]);
  return n >= least && n <= most;
}

static void
print_error_object (const char *message, const char *code)
{
  JsonObject *line = json_object_new ();
  json_object_set_string_member (line, "error", message);
  json_object_set_string_member (line, "code", code);
  tn_cli_print_json (line);
}

int
tn_cli_fail (const GError *error, gboolean json)
{
  fprintf (stderr, "tenon-cli: %s\n", error != NULL ? error->message : _ ("failed without a reason"));
  if (json || tn_cli_wants_json ())
    print_error_object (error != NULL ? error->message : "",
                        error != NULL && error->domain == TN_ERROR ? tn_error_code_name (error->code) : "other");
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
  fprintf (stderr, _ ("Try: %s %s --help\n"), tn_cli_program (), command);
  if (tn_cli_wants_json ())
    print_error_object (message, tn_error_code_name (TN_ERROR_INVALID_ARGUMENT));
  return TN_EXIT_USAGE;
}

gboolean
tn_cli_split_assignment (const char *assignment, char **name, char **value, GError **error)
{
  const char *equals = strchr (assignment, '=');
  if (equals == NULL || equals == assignment)
    {
      g_set_error (error, TN_ERROR, TN_ERROR_INVALID_ARGUMENT, _ ("“%s” is not of the form NAME=VALUE."), assignment);
      return FALSE;
    }
  *name = g_strndup (assignment, (gsize) (equals - assignment));
  *value = g_strdup (equals + 1);
  return TRUE;
}

static gboolean
apply_one (TnSettings *settings, const char *assignment, const char *folder, GError **error)
{
  g_autofree char *name = NULL, *value = NULL;
  if (!tn_cli_split_assignment (assignment, &name, &value, error))
    return FALSE;
  const TnSetting *setting = tn_setting_find (name);
  if (setting != NULL && setting->type == TN_SETTING_PATH && *value != '\0' && !g_path_is_absolute (value)
      && g_file_test (value, G_FILE_TEST_EXISTS))
    {
      g_autofree char *path = folder != NULL ? tn_project_resolve (folder, value) : g_canonicalize_filename (value, NULL);
      return tn_settings_set (settings, name, path, error);
    }
  return tn_settings_set (settings, name, value, error);
}

gboolean
tn_cli_apply_in (TnSettings *settings, char **assignments, const char *folder, GError **error)
{
  for (char **a = assignments; a != NULL && *a != NULL; a++)
    if (!apply_one (settings, *a, folder, error))
      return FALSE;
  return TRUE;
}

gboolean
tn_cli_apply (TnSettings *settings, char **assignments, GError **error)
{
  return tn_cli_apply_in (settings, assignments, NULL, error);
}

gboolean
tn_cli_apply_or_tell (const char *command, TnSettings *settings, char **assignments, const char *folder, int *exit_code)
{
  g_autoptr (GError) error = NULL;
  if (tn_cli_apply_in (settings, assignments, folder, &error))
    return TRUE;
  *exit_code = tn_cli_usage (command, "%s", error->message);
  return FALSE;
}

char *
tn_cli_suggestion (const char *name, const char *const *candidates)
{
  const char *near = find_near (name, candidates);
  return near != NULL ? g_strdup_printf (_ ("; did you mean “%s”?"), near) : g_strdup ("");
}

void
tn_cli_print_json (JsonObject *object)
{
  g_autoptr (JsonNode) node = json_node_init_object (json_node_alloc (), object);
  json_object_unref (object);
  g_autofree char *text = tn_json_to_text (node, 0);
  fputs (text, stdout);
  fputc ('\n', stdout);
  fflush (stdout);
}

void
tn_cli_set_number (JsonObject *object, const char *name, double value)
{
  if (value - value == 0)
    json_object_set_double_member (object, name, value);
  else
    json_object_set_null_member (object, name);
}

char *
tn_cli_number (double value)
{
  double size = value < 0 ? -value : value;
  if (size == 0)
    return g_strdup ("0");
  return g_strdup_printf (size >= 999.95 && size < 1e6 ? "%.1f" : "%#.4g", value);
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
  return g_strdup_printf (_ ("%" PRId64 " h %02d min"), s / 3600, (int) (s / 60 % 60));
}

void
tn_cli_note_project (const char *project_path)
{
  g_autoptr (TnCatalogue) catalogue = tn_catalogue_open (NULL, NULL);
  if (catalogue != NULL)
    tn_catalogue_scan_project (catalogue, project_path, NULL);
}

gboolean
tn_cli_is_run (const char *path)
{
  g_autofree char *file = g_build_filename (path, "run.json", NULL);
  return g_file_test (file, G_FILE_TEST_EXISTS);
}

char *
tn_cli_printable (const char *text)
{
  char *copy = g_utf8_make_valid (text, -1);
  for (char *c = copy; *c != '\0'; c++)
    if ((unsigned char) *c < 0x20 || *c == 0x7f)
      *c = '?';
  return copy;
}
