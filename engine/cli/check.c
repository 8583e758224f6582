/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/cli.h"
#include "base/error.h"
#include "train/check.h"
#include <inttypes.h>
#include <stdio.h>

/* check: what would go wrong in a run of a project, found without training. */

static void
set_text (JsonObject *object, const char *name, const char *text)
{
  if (text != NULL)
    json_object_set_string_member (object, name, text);
  else
    json_object_set_null_member (object, name);
}

static void
print_objects (const TnCheck *check)
{
  for (guint i = 0; i < check->findings->len; i++)
    {
      const TnFinding *finding = check->findings->pdata[i];
      JsonObject *object = json_object_new ();
      json_object_set_string_member (object, "severity", tn_severity_name (finding->severity));
      json_object_set_string_member (object, "code", finding->code);
      json_object_set_string_member (object, "text", finding->text);
      set_text (object, "setting", finding->setting);
      set_text (object, "fix", finding->fix);
      tn_cli_print_json (object);
    }
  JsonObject *object = json_object_new ();
  json_object_set_boolean_member (object, "ok", !tn_check_has_errors (check));
  json_object_set_int_member (object, "findings", check->findings->len);
  set_text (object, "data", check->data);
  json_object_set_int_member (object, "train_samples", check->n_train);
  json_object_set_int_member (object, "held_out_samples", check->n_held_out);
  json_object_set_int_member (object, "steps_per_epoch", check->steps_per_epoch);
  json_object_set_int_member (object, "total_steps", check->total_steps);
  json_object_set_int_member (object, "parameters", check->n_parameters);
  json_object_set_int_member (object, "memory_bytes", (gint64) check->memory.forecast.total);
  json_object_set_int_member (object, "data_bytes", (gint64) check->data_bytes);
  json_object_set_int_member (object, "allowed_bytes", (gint64) check->memory.allowed);
  json_object_set_int_member (object, "largest_batch", check->memory.largest_batch);
  tn_cli_print_json (object);
}

static void
print_text (const TnCheck *check)
{
  static const char *const words[] = { N_ ("error"), N_ ("warning"), N_ ("note") };
  for (guint i = 0; i < check->findings->len; i++)
    {
      const TnFinding *finding = check->findings->pdata[i];
      printf ("%s: %s", _ (words[finding->severity]), finding->text);
      if (finding->fix != NULL)
        printf (_ (" Mended by --set %s=%s."), finding->setting, finding->fix);
      putchar ('\n');
    }
  if (check->data != NULL)
    printf (_ ("%s; %" PRId64 " to train on, %" PRId64 " held out, %" PRId64 " steps an epoch.\n"), check->data, check->n_train,
            check->n_held_out, check->steps_per_epoch);
  if (check->memory.forecast.total > 0)
    {
      g_autofree char *program = tn_cli_bytes ((double) check->memory.forecast.total), *data = tn_cli_bytes ((double) check->data_bytes);
      printf (_ ("%" PRId64 " parameters; %s of memory for them and a step, %s for the data.\n"), check->n_parameters, program, data);
    }
  printf ("%s\n", tn_check_has_errors (check) ? _ ("A run would be refused.") : _ ("A run would begin."));
}

int
tn_command_check (int argc, char **argv)
{
  g_auto (GStrv) set = NULL;
  gboolean json = FALSE;
  const GOptionEntry entries[] = {
    { "set", 's', 0, G_OPTION_ARG_STRING_ARRAY, &set, N_ ("A setting to check with"), "NAME=VALUE" },
    { "json", 0, 0, G_OPTION_ARG_NONE, &json, N_ ("One JSON object a finding, then the facts"), NULL },
    { 0 },
  };
  if (!tn_cli_parse_arguments ("check", entries, &argc, &argv, 1, 1, _ ("name a project's folder")))
    return TN_EXIT_USAGE;
  g_autoptr (GError) error = NULL;
  g_autoptr (TnProject) project = tn_project_open (argv[1], &error);
  if (project == NULL)
    return tn_cli_fail (error, json);
  g_autoptr (TnSettings) settings = tn_settings_copy (tn_project_settings (project));
  int status;
  if (!tn_cli_apply_or_tell ("check", settings, set, tn_project_path (project), &status))
    return status;
  g_autoptr (TnCheck) check = tn_check_project (project, settings, NULL);
  (json ? print_objects : print_text) (check);
  return tn_check_has_errors (check) ? TN_EXIT_FAILED : TN_EXIT_DONE;
}
