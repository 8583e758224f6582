/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/cli.h"
#include "base/error.h"
#include "formats/dcp.h"
#include "formats/strategy-file.h"
#include <stdio.h>
#include <string.h>

/* strategy: MindSpore's strategy files: what is in them, merged, compared. */

typedef struct
{
  char *output;
  gboolean json;
} Options;

static void
print_parameter (const TnStrategyParameter *p, gboolean json)
{
  const char *name;
  gint64 stage = tn_strategy_parameter_stage (p, &name);
  g_autoptr (GError) error = NULL;
  g_autoptr (TnLayout) layout = tn_strategy_parameter_layout (p, 0, &error);
  g_autofree char *mesh = layout != NULL ? tn_mesh_to_string (layout->mesh) : NULL, *text = layout != NULL ? tn_layout_to_string (layout) : g_strdup (error->message);
  if (!json)
    {
      if (p->opt_size != 0)
        printf ("  %-40s %-24s %-20s optimizer %" G_GINT64_FORMAT "\n", p->name, text, mesh != NULL ? mesh : "", p->opt_size);
      else
        printf ("  %-40s %-24s %s\n", p->name, text, mesh != NULL ? mesh : "");
      return;
    }
  JsonObject *object = json_object_new ();
  json_object_set_string_member (object, "event", "parameter");
  json_object_set_string_member (object, "name", name);
  json_object_set_int_member (object, "stage", MAX (stage, 0));
  if (layout != NULL)
    json_object_set_object_member (object, "layout", tn_layout_to_dict (layout));
  else
    json_object_set_string_member (object, "problem", text);
  json_object_set_int_member (object, "optimizer_shard_size", p->opt_size);
  json_object_set_int_member (object, "optimizer_shard_step", p->opt_step);
  tn_cli_print_json (object);
}

static char *
tuples_text (const TnStrategyNode *node)
{
  GString *text = g_string_new (NULL);
  for (guint i = 0; i < node->strategies->len; i++)
    {
      const GArray *tuple = node->strategies->pdata[i];
      g_string_append (text, i > 0 ? " (" : "(");
      for (guint d = 0; d < tuple->len; d++)
        g_string_append_printf (text, "%s%" G_GINT64_FORMAT, d > 0 ? ", " : "", g_array_index (tuple, int64_t, d));
      g_string_append_c (text, ')');
    }
  return g_string_free (text, FALSE);
}

static void
print_node (const TnStrategyNode *node, gboolean json)
{
  g_autofree char *tuples = tuples_text (node);
  if (!json)
    {
      printf ("  %-40s %s\n", node->node, node->strategies->len > 0 ? tuples : _ ("by layouts"));
      return;
    }
  JsonObject *object = json_object_new ();
  json_object_set_string_member (object, "event", "operator");
  json_object_set_string_member (object, "name", node->node);
  json_object_set_int_member (object, "stage", node->stage);
  json_object_set_string_member (object, "strategy", tuples);
  tn_cli_print_json (object);
}

static void
show (const char *path, const TnStrategyFile *file, gboolean json)
{
  if (!json)
    printf (_ ("%s: %u parameters, %u operators\n"), path, file->parameters->len, file->nodes->len);
  for (guint i = 0; i < file->notes->len && !json; i++)
    printf ("  %s\n", (char *) file->notes->pdata[i]);
  for (guint i = 0; i < file->parameters->len; i++)
    print_parameter (file->parameters->pdata[i], json);
  for (guint i = 0; i < file->nodes->len; i++)
    print_node (file->nodes->pdata[i], json);
}

/* A folder of torch.distributed.checkpoint. */
static void
show_dcp (const char *path, const TnDcp *dcp, gboolean json)
{
  if (!json)
    printf (_ ("%s: %u tensors, %u other values (PyTorch distributed checkpoint)\n"), path, dcp->tensors->len, dcp->others->len);
  for (guint i = 0; i < dcp->tensors->len; i++)
    {
      const TnDcpTensor *tensor = dcp->tensors->pdata[i];
      g_autofree char *shape = tn_shape_to_string (&tensor->shape), *cut = tn_dcp_tensor_cut (tensor);
      if (!json)
        {
          printf ("  %-40s %-10s %-16s %s\n", tensor->name, tensor->dtype_name, shape, cut);
          continue;
        }
      JsonObject *object = json_object_new ();
      JsonArray *pieces = json_array_new ();
      for (guint k = 0; k < tensor->pieces->len; k++)
        {
          const TnDcpPiece *piece = &g_array_index (tensor->pieces, TnDcpPiece, k);
          JsonObject *entry = json_object_new ();
          JsonArray *box = json_array_new ();
          for (int d = 0; d < tensor->shape.n_dims; d++)
            {
              JsonArray *range = json_array_new ();
              json_array_add_int_element (range, piece->lo[d]);
              json_array_add_int_element (range, piece->lo[d] + piece->sizes[d]);
              json_array_add_array_element (box, range);
            }
          json_object_set_array_member (entry, "box", box);
          if (piece->file != NULL)
            json_object_set_string_member (entry, "file", piece->file);
          json_object_set_int_member (entry, "written_by", piece->rank);
          json_array_add_object_element (pieces, entry);
        }
      json_object_set_string_member (object, "event", "tensor");
      json_object_set_string_member (object, "name", tensor->name);
      json_object_set_string_member (object, "dtype", tensor->dtype_name);
      json_object_set_string_member (object, "shape", shape);
      json_object_set_array_member (object, "pieces", pieces);
      tn_cli_print_json (object);
    }
}

static gboolean
is_dcp (const char *path)
{
  g_autofree char *base = g_path_get_basename (path), *inside = g_build_filename (path, ".metadata", NULL);
  return strcmp (base, ".metadata") == 0 || g_file_test (inside, G_FILE_TEST_EXISTS);
}

static gboolean
show_dcps (char **paths, gboolean json, GError **error)
{
  for (int i = 0; paths[i] != NULL; i++)
    {
      g_autoptr (TnDcp) dcp = tn_dcp_load (paths[i], error);
      if (dcp == NULL)
        return FALSE;
      show_dcp (paths[i], dcp, json);
    }
  return TRUE;
}

static void
print_differences (const TnStrategyFile *a, const TnStrategyFile *b, gboolean json)
{
  g_autoptr (GPtrArray) lines = tn_strategy_files_diff (a, b);
  for (guint i = 0; i < lines->len; i++)
    {
      if (!json)
        {
          printf ("%s\n", (char *) lines->pdata[i]);
          continue;
        }
      JsonObject *object = json_object_new ();
      json_object_set_string_member (object, "event", "difference");
      json_object_set_string_member (object, "text", lines->pdata[i]);
      tn_cli_print_json (object);
    }
  if (json)
    {
      JsonObject *object = json_object_new ();
      json_object_set_string_member (object, "event", "diff");
      json_object_set_int_member (object, "differences", lines->len);
      tn_cli_print_json (object);
    }
  else if (lines->len == 0)
    printf (_ ("No difference.\n"));
}

static gboolean
run (const char *verb, char **paths, const Options *options, GError **error)
{
  if (strcmp (verb, "show") == 0 && paths[0] != NULL && is_dcp (paths[0]))
    return show_dcps (paths, options->json, error);
  g_autoptr (GPtrArray) files = g_ptr_array_new_with_free_func ((GDestroyNotify) tn_strategy_file_free);
  for (int i = 0; paths[i] != NULL; i++)
    {
      TnStrategyFile *file = tn_strategy_file_load (paths[i], error);
      if (file == NULL)
        return FALSE;
      g_ptr_array_add (files, file);
    }
  if (strcmp (verb, "show") == 0)
    for (guint i = 0; i < files->len; i++)
      show (paths[i], files->pdata[i], options->json);
  else if (strcmp (verb, "diff") == 0)
    print_differences (files->pdata[0], files->pdata[1], options->json);
  else
    {
      g_autoptr (TnStrategyFile) merged = tn_strategy_files_merge ((TnStrategyFile *const *) files->pdata, (int) files->len, error);
      return merged != NULL && tn_strategy_file_save (merged, options->output, error);
    }
  return TRUE;
}

static int
check_and_run (int argc, char **argv, const Options *options)
{
  const char *const verbs[] = { "show", "merge", "diff", NULL };
  g_autoptr (GError) error = NULL;
  if (!g_strv_contains (verbs, argv[1]))
    {
      g_autofree char *suggestion = tn_cli_suggestion (argv[1], verbs);
      return tn_cli_usage ("strategy", _ ("“%s” is not one of show, merge, diff%s"), argv[1], suggestion);
    }
  if (strcmp (argv[1], "diff") == 0 && argc != 4)
    return tn_cli_usage ("strategy", _ ("diff takes two files"));
  if (strcmp (argv[1], "merge") == 0 && options->output == NULL)
    return tn_cli_usage ("strategy", _ ("name the merged file with -o"));
  return run (argv[1], argv + 2, options, &error) ? TN_EXIT_DONE : tn_cli_fail (error, options->json);
}

int
tn_command_strategy (int argc, char **argv)
{
  Options options = { 0 };
  const GOptionEntry entries[] = {
    { "output", 'o', 0, G_OPTION_ARG_FILENAME, &options.output, N_ ("Where the merged file goes"), "FILE" },
    { "json", 0, 0, G_OPTION_ARG_NONE, &options.json, N_ ("One JSON object a line"), NULL },
    { 0 },
  };
  int status = TN_EXIT_USAGE;
  if (tn_cli_parse_arguments ("strategy", entries, &argc, &argv, 2, 10000, _ ("say show, merge or diff, and name files")))
    status = check_and_run (argc, argv, &options);
  g_free (options.output);
  return status;
}
