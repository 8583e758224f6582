/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/cli.h"
#include "base/error.h"
#include <stdio.h>
#include <string.h>

/* options: the settings table, whole or by name or group. */

static gboolean
is_wanted (const TnSetting *setting, char **wanted)
{
  if (*wanted == NULL)
    return TRUE;
  for (; *wanted != NULL; wanted++)
    {
      gsize n = strlen (*wanted);
      if (setting == tn_setting_find (*wanted) || (strncmp (setting->name, *wanted, n) == 0 && setting->name[n] == '.'))
        return TRUE;
    }
  return FALSE;
}

static gboolean
names_nothing (const char *name)
{
  char *one[] = { (char *) name, NULL };
  for (const TnSetting *setting = tn_settings; setting->name != NULL; setting++)
    if (is_wanted (setting, one))
      return FALSE;
  return TRUE;
}

/* What was meant may be a setting or a group of them. */
static int
tell_unknown (const char *name)
{
  g_autoptr (GPtrArray) names = g_ptr_array_new_with_free_func (g_free);
  for (const TnSetting *setting = tn_settings; setting->name != NULL; setting++)
    {
      g_autofree char *group = g_strndup (setting->name, strcspn (setting->name, "."));
      if (names->len == 0 || strcmp (names->pdata[names->len - 1], group) != 0)
        g_ptr_array_add (names, g_steal_pointer (&group));
    }
  for (const TnSetting *setting = tn_settings; setting->name != NULL; setting++)
    g_ptr_array_add (names, g_strdup (setting->name));
  g_ptr_array_add (names, NULL);
  g_autofree char *suggestion = tn_cli_suggestion (name, (const char *const *) names->pdata);
  return tn_cli_usage ("options", _ ("there is no setting or group of settings “%s”%s"), name, suggestion);
}

static void
print_row (const TnSetting *setting)
{
  g_autofree char *range = tn_setting_range_text (setting);
  printf ("%s = %s%s%s", setting->name, *setting->default_value != '\0' ? setting->default_value : "\"\"", *setting->unit != '\0' ? " " : "",
          *setting->unit != '\0' ? _ (setting->unit) : "");
  printf ("   (%s%s%s%s)\n", tn_setting_type_name (setting->type), *range != '\0' ? ": " : "", range,
          setting->flags & TN_SETTING_LIVE ? _ ("; may change during a run") : "");
  printf ("    %s\n", _ (setting->help));
  if (setting->aliases != NULL)
    printf (_ ("    also: %s\n"), setting->aliases);
}

static void
print_json (char **wanted)
{
  g_autoptr (JsonNode) table = tn_settings_table_to_json ();
  JsonArray *rows = json_node_get_array (table);
  for (guint i = 0; i < json_array_get_length (rows); i++)
    if (is_wanted (&tn_settings[i], wanted))
      tn_cli_print_json (json_object_ref (json_array_get_object_element (rows, i)));
}

int
tn_command_options (int argc, char **argv)
{
  gboolean json = FALSE;
  const GOptionEntry entries[] = {
    { "json", 0, 0, G_OPTION_ARG_NONE, &json, N_ ("One JSON object a setting"), NULL },
    { 0 },
  };
  if (!tn_cli_parse ("options", entries, &argc, &argv))
    return TN_EXIT_USAGE;
  for (int i = 1; i < argc; i++)
    if (names_nothing (argv[i]))
      return tell_unknown (argv[i]);
  if (json)
    print_json (argv + 1);
  else
    for (const TnSetting *setting = tn_settings; setting->name != NULL; setting++)
      if (is_wanted (setting, argv + 1))
        print_row (setting);
  return TN_EXIT_DONE;
}
