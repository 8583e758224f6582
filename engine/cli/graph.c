/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/cli.h"
#include "base/durable.h"
#include "base/error.h"
#include "base/json.h"
#include "ir/dot-writer.h"
#include "ir/graph-json.h"
#include "ir/ir-writer.h"
#include "train/program.h"
#include "train/project.h"
#include "train/run-folder.h"
#include <stdio.h>
#include <string.h>

/* graph: the graph of a training step, as text. */

static const char *const formats[] = { "dot", "ir", "json", "plan", "svg", "pdf", "png", NULL };

typedef struct
{
  char *format, *stage, *output;
  char **set;
} Options;

/* Weights are not needed: what init.from names may be gone. */
static gboolean
load (const char *path, const Options *options, TnModel **model, TnSettings **settings, GError **error)
{
  if (tn_cli_is_run (path))
    {
      g_autoptr (TnRunFolder) run = tn_run_folder_open (path, error);
      *model = run != NULL ? tn_run_folder_load_model (run, error) : NULL;
      *settings = run != NULL ? tn_settings_copy (tn_run_folder_settings (run)) : NULL;
    }
  else
    {
      g_autoptr (TnProject) project = tn_project_open (path, error);
      *settings = project != NULL ? tn_settings_copy (tn_project_settings (project)) : NULL;
      *model = project != NULL && tn_cli_apply_in (*settings, options->set, tn_project_path (project), error) ? tn_project_load_model (project, *settings, error) : NULL;
    }
  if (*model == NULL)
    return FALSE;
  tn_settings_reset (*settings, "init.from");
  return TRUE;
}

static char *
make_text (TnProgram *program, int64_t batch, const Options *options, GError **error)
{
  if (strcmp (options->format, "plan") == 0)
    {
      TnPlan *plan = tn_program_plan (program, batch, error);
      return plan != NULL ? tn_plan_describe (plan) : NULL;
    }
  gboolean optimized = g_strcmp0 (options->stage, "built") != 0;
  g_autoptr (TnGraph) graph = tn_program_graph (program, batch, optimized, error);
  if (graph == NULL)
    return NULL;
  if (strcmp (options->format, "dot") == 0)
    return tn_dot_text (graph);
  if (strcmp (options->format, "ir") == 0)
    return tn_ir_text (graph);
  g_autoptr (JsonNode) node = tn_graph_to_json (graph);
  char *text = tn_json_to_text (node, 0);
  char *line = g_strconcat (text, "\n", NULL);
  g_free (text);
  return line;
}

static gboolean
write_graph (const char *path, const Options *options, GError **error)
{
  g_autoptr (TnModel) model = NULL;
  g_autoptr (TnSettings) settings = NULL;
  if (!load (path, options, &model, &settings, error))
    return FALSE;
  g_autoptr (TnProgram) program = tn_program_new (model, settings, error);
  g_autofree char *text = program != NULL ? make_text (program, tn_settings_get_int (settings, "train.batch"), options, error) : NULL;
  if (text == NULL)
    return FALSE;
  if (options->output != NULL && strcmp (options->output, "-") != 0)
    return tn_durable_write (options->output, text, strlen (text), error);
  fputs (text, stdout);
  return TRUE;
}

static int
check_and_write (const char *path, Options *options)
{
  if (options->format == NULL)
    return tn_cli_usage ("graph", _ ("name a --format: dot, ir, json or plan"));
  if (!g_strv_contains (formats, options->format))
    {
      g_autofree char *suggestion = tn_cli_suggestion (options->format, formats);
      return tn_cli_usage ("graph", _ ("there is no format “%s”%s (there are dot, ir, json, plan)"), options->format, suggestion);
    }
  if (options->stage != NULL && strcmp (options->stage, "built") != 0 && strcmp (options->stage, "optimized") != 0)
    return tn_cli_usage ("graph", _ ("--stage is built or optimized, not “%s”"), options->stage);
  g_autoptr (GError) error = NULL;
  if (strcmp (options->format, "svg") == 0 || strcmp (options->format, "pdf") == 0 || strcmp (options->format, "png") == 0)
    {
      g_set_error (&error, TN_ERROR, TN_ERROR_UNSUPPORTED, _ ("This build of tenon-cli cannot draw %s yet. Write --format dot and let Graphviz draw it: dot -T%s -O FILE.dot"),
                   options->format, options->format);
      return tn_cli_fail (error, FALSE);
    }
  return write_graph (path, options, &error) ? TN_EXIT_DONE : tn_cli_fail (error, FALSE);
}

int
tn_command_graph (int argc, char **argv)
{
  Options options = { 0 };
  const GOptionEntry entries[] = {
    { "format", 'f', 0, G_OPTION_ARG_STRING, &options.format, N_ ("dot, ir, json, or plan (the compiled step)"), "FORMAT" },
    { "stage", 0, 0, G_OPTION_ARG_STRING, &options.stage, N_ ("built, or optimized by the passes (default)"), "STAGE" },
    { "output", 'o', 0, G_OPTION_ARG_FILENAME, &options.output, N_ ("Where to (standard output if missing)"), "FILE" },
    { "set", 's', 0, G_OPTION_ARG_STRING_ARRAY, &options.set, N_ ("A setting of the project, such as train.batch"), "NAME=VALUE" },
    { 0 },
  };
  int status = TN_EXIT_USAGE;
  if (tn_cli_parse_arguments ("graph", entries, &argc, &argv, 1, 1, _ ("name a project's or a run's folder")))
    status = check_and_write (argv[1], &options);
  g_free (options.format);
  g_free (options.stage);
  g_free (options.output);
  g_strfreev (options.set);
  return status;
}
