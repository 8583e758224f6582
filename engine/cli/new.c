/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/cli.h"
#include "base/error.h"
#include "base/json.h"
#include "train/input.h"
#include "train/project.h"
#include <stdio.h>
#include <string.h>

typedef struct
{
  char *preset, *data, *model;
  char **set;
} Options;

static gboolean
set_path (TnSettings *settings, const char *name, const char *path, GError **error)
{
  g_autofree char *assignment = g_strdup_printf ("%s=%s", name, path);
  char *assignments[] = { assignment, NULL };
  return tn_cli_apply (settings, assignments, error);
}

static gboolean
check_preset (const char *preset, GError **error)
{
  if (tn_model_preset (preset) != NULL)
    return TRUE;
  g_autofree char *names = g_strjoinv (", ", (char **) tn_model_preset_names ());
  g_autofree char *near = tn_cli_suggestion (preset, tn_model_preset_names ());
  g_set_error (error, TN_ERROR, TN_ERROR_NOT_FOUND, _ ("There is no preset “%s”%s (there are: %s)"), preset, near, names);
  return FALSE;
}

static gboolean
apply_options (TnSettings *settings, const Options *options, GError **error)
{
  return (options->preset == NULL
          || (check_preset (options->preset, error) && tn_settings_set (settings, "model.preset", options->preset, error)))
         && (options->data == NULL || set_path (settings, "data.source", options->data, error))
         && tn_cli_apply (settings, options->set, error);
}

/* Data that cannot be read, or does not fit the model, is better told now than when training begins. A model that cannot be made is
 * told where the project is. */
static gboolean
check_data (const TnSettings *settings, JsonNode *network, GError **error)
{
  g_autofree char *text = network != NULL ? tn_json_to_text (network, 0) : NULL, *here = g_get_current_dir ();
  if (text == NULL && *tn_settings_get_string (settings, "model.file") != '\0')
    return TRUE;
  g_autoptr (TnModel) model = text != NULL ? tn_model_from_json (text, -1, NULL)
                                           : tn_model_new_preset (tn_settings_get_string (settings, "model.preset"), NULL);
  g_autoptr (TnInput) input = model != NULL ? tn_input_open (settings, model, here, FALSE, error) : NULL;
  return model == NULL || input != NULL;
}

static int
make_project (const char *path, const Options *options)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (TnSettings) settings = tn_settings_new ();
  if (!apply_options (settings, options, &error))
    return tn_cli_usage ("new", "%s", error->message);
  const char *source = tn_settings_get_string (settings, "data.source");
  if (options->data != NULL && !g_path_is_absolute (source) && !g_str_has_prefix (source, "drawn-digits"))
    return tn_cli_usage ("new", _ ("there is no “%s”: --data takes drawn-digits, a file or a folder"), options->data);
  g_autoptr (JsonNode) network = options->model != NULL ? tn_json_load (options->model, &error) : NULL;
  if (options->model != NULL && network == NULL)
    return tn_cli_fail (error, FALSE);
  if (options->data != NULL && !check_data (settings, network, &error))
    return tn_cli_fail (error, FALSE);
  g_autoptr (TnProject) project = tn_project_create (path, settings, network, &error);
  if (project == NULL)
    return tn_cli_fail (error, FALSE);
  tn_cli_note_project (tn_project_path (project));
  g_autofree char *quoted = tn_cli_quote (path);
  printf (_ ("Made project %s.\nNext: %s train %s\n"), tn_project_path (project), tn_cli_program (), quoted);
  return TN_EXIT_DONE;
}

int
tn_command_new (int argc, char **argv)
{
  Options options = { 0 };
  const GOptionEntry entries[] = {
    { "preset", 'p', 0, G_OPTION_ARG_STRING, &options.preset, N_ ("lenet5, mlp, small-cnn or resnet18-cifar"), "NAME" },
    { "model", 'm', 0, G_OPTION_ARG_FILENAME, &options.model, N_ ("Your own model in JSON; see tenon-cli cells"), "FILE" },
    { "data", 'd', 0, G_OPTION_ARG_FILENAME, &options.data, N_ ("drawn-digits, or IDX, CIFAR, NPY, NPZ files"), "SOURCE" },
    { "set", 's', 0, G_OPTION_ARG_STRING_ARRAY, &options.set, N_ ("A setting; see tenon-cli options"), "NAME=VALUE" },
    { 0 },
  };
  int status = TN_EXIT_USAGE;
  if (tn_cli_parse_arguments ("new", entries, &argc, &argv, 1, 1, _ ("name the folder to make")))
    status = make_project (argv[1], &options);
  g_free (options.preset);
  g_free (options.data);
  g_free (options.model);
  g_strfreev (options.set);
  return status;
}
