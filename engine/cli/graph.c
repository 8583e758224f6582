/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/cli.h"
#include "base/durable.h"
#include "base/error.h"
#include "base/json.h"
#include "cli/graph-picture.h"
#include "ir/dot-writer.h"
#include "ir/graph-json.h"
#include "ir/ir-writer.h"
#include "train/program.h"
#include "train/project.h"
#include "train/run-folder.h"
#include <stdio.h>
#include <string.h>

/* graph: the graph of a training step, or of a file, as text or picture. */

static const char *const formats[] = { "dot", "ir", "json", "csv", "plan", "svg", "pdf", "png", NULL };

typedef struct
{
  char *format, *stage, *output;
  char **set;
  TnCliGraphPicture picture;
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
is_picture (const char *format)
{
  return strcmp (format, "svg") == 0 || strcmp (format, "pdf") == 0 || strcmp (format, "png") == 0;
}

static gboolean
write_text (const Options *options, const char *text, GError **error)
{
  if (options->output != NULL && strcmp (options->output, "-") != 0)
    return tn_durable_write (options->output, text, strlen (text), error);
  fputs (text, stdout);
  return TRUE;
}

static gboolean
draw (TnGraphDocument *document, Options *options, GError **error)
{
  options->picture.format = options->format;
  options->picture.output = options->output;
  return tn_cli_draw_graph (document, &options->picture, error);
}

/* A file of another program: what can be said of it. */
static gboolean
write_file (const char *path, Options *options, GError **error)
{
  g_autoptr (TnGraphDocument) document = tn_graph_document_load (path, error);
  if (document == NULL)
    return FALSE;
  if (document->note != NULL)
    g_printerr ("tenon-cli: %s: %s\n", path, document->note);
  if (is_picture (options->format))
    return draw (document, options, error);
  g_autofree char *text = NULL;
  if (strcmp (options->format, "dot") == 0)
    text = tn_graph_document_to_dot (document);
  else if (strcmp (options->format, "csv") == 0)
    text = tn_graph_document_to_csv (document);
  else if (strcmp (options->format, "json") == 0)
    text = tn_graph_document_to_json (document);
  else
    {
      g_set_error (error, TN_ERROR, TN_ERROR_UNSUPPORTED, _ ("%s: a file's graph can be written as dot, csv, json, svg, pdf or png; %s is for projects and runs"), path,
                   options->format);
      return FALSE;
    }
  return write_text (options, text, error);
}

static gboolean
write_graph (const char *path, Options *options, GError **error)
{
  g_autoptr (TnModel) model = NULL;
  g_autoptr (TnSettings) settings = NULL;
  if (g_file_test (path, G_FILE_TEST_IS_REGULAR))
    return write_file (path, options, error);
  if (!load (path, options, &model, &settings, error))
    return FALSE;
  g_autoptr (TnProgram) program = tn_program_new (model, settings, error);
  if (program == NULL)
    return FALSE;
  int64_t batch = tn_settings_get_int (settings, "train.batch");
  if (is_picture (options->format) || strcmp (options->format, "csv") == 0)
    {
      g_autoptr (TnGraph) graph = tn_program_graph (program, batch, g_strcmp0 (options->stage, "built") != 0, error);
      if (graph == NULL)
        return FALSE;
      g_autoptr (TnGraphDocument) document = tn_graph_document_from_graph (graph);
      if (is_picture (options->format))
        return draw (document, options, error);
      g_autofree char *csv = tn_graph_document_to_csv (document);
      return write_text (options, csv, error);
    }
  g_autofree char *text = make_text (program, batch, options, error);
  return text != NULL && write_text (options, text, error);
}

static int
check_and_write (const char *path, Options *options)
{
  if (options->format == NULL)
    return tn_cli_usage ("graph", _ ("name a --format: svg, pdf, png, dot, ir, json, csv or plan"));
  if (!g_strv_contains (formats, options->format))
    {
      g_autofree char *suggestion = tn_cli_suggestion (options->format, formats);
      return tn_cli_usage ("graph", _ ("there is no format “%s”%s (there are svg, pdf, png, dot, ir, json, csv, plan)"), options->format, suggestion);
    }
  if (options->stage != NULL && strcmp (options->stage, "built") != 0 && strcmp (options->stage, "optimized") != 0)
    return tn_cli_usage ("graph", _ ("--stage is built or optimized, not “%s”"), options->stage);
  g_autoptr (GError) error = NULL;
  return write_graph (path, options, &error) ? TN_EXIT_DONE : tn_cli_fail (error, FALSE);
}

int
tn_command_graph (int argc, char **argv)
{
  Options options = { 0 };
  const GOptionEntry entries[] = {
    { "format", 'f', 0, G_OPTION_ARG_STRING, &options.format, N_ ("svg, pdf, png, dot, ir, json, csv, plan"), "FORMAT" },
    { "stage", 0, 0, G_OPTION_ARG_STRING, &options.stage, N_ ("built, or optimized by the passes (default)"), "STAGE" },
    { "output", 'o', 0, G_OPTION_ARG_FILENAME, &options.output, N_ ("Where to (standard output if missing)"), "FILE" },
    { "phases", 0, 0, G_OPTION_ARG_STRING, (gpointer) &options.picture.phases, N_ ("Pictures: forward, backward (both), or all"), "PHASES" },
    { "overlay", 0, 0, G_OPTION_ARG_STRING, (gpointer) &options.picture.overlay, N_ ("Pictures: memory, flops or dtype in the boxes"), "OVERLAY" },
    { "open", 0, 0, G_OPTION_ARG_STRING_ARRAY, &options.picture.open, N_ ("Pictures: a scope to be opened too"), "SCOPE" },
    { "expand", 0, 0, G_OPTION_ARG_NONE, &options.picture.expand, N_ ("Pictures: open all scopes (up to 500 boxes)"), NULL },
    { "right", 0, 0, G_OPTION_ARG_NONE, &options.picture.right, N_ ("Pictures: from left to right"), NULL },
    { "dark", 0, 0, G_OPTION_ARG_NONE, &options.picture.dark, N_ ("Pictures: on a dark ground"), NULL },
    { "parameters", 0, 0, G_OPTION_ARG_NONE, &options.picture.parameters, N_ ("Pictures: with parameters"), NULL },
    { "constants", 0, 0, G_OPTION_ARG_NONE, &options.picture.constants, N_ ("Pictures: with constants"), NULL },
    { "control", 0, 0, G_OPTION_ARG_NONE, &options.picture.control, N_ ("Pictures: with links that only keep an order"), NULL },
    { "scale", 0, 0, G_OPTION_ARG_DOUBLE, &options.picture.scale, N_ ("PNG: device pixels a pixel"), "N" },
    { "set", 's', 0, G_OPTION_ARG_STRING_ARRAY, &options.set, N_ ("A setting of the project, such as train.batch"), "NAME=VALUE" },
    { 0 },
  };
  int status = TN_EXIT_USAGE;
  if (tn_cli_parse_arguments ("graph", entries, &argc, &argv, 1, 1, _ ("name a project's or a run's folder, or a file (.ir, .dot, .onnx)")))
    status = check_and_write (argv[1], &options);
  g_free (options.format);
  g_free (options.stage);
  g_free (options.output);
  g_strfreev (options.set);
  g_strfreev (options.picture.open);
  g_free ((char *) options.picture.phases);
  g_free ((char *) options.picture.overlay);
  return status;
}
