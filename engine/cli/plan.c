/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/cli.h"
#include "base/error.h"
#include "parallel/context.h"
#include "parallel/forecast.h"
#include "parallel/strategy-export.h"
#include "train/program-graph.h"
#include "train/project.h"
#include <inttypes.h>
#include <stdio.h>

/* plan: what each rank would hold and send, without any of them. */

typedef struct
{
  gint64 ranks;
  char *mesh, *save;
  char **set;
  gboolean json;
} Options;

typedef struct
{
  TnGraph *source;
  TnSharded *sharded;
  TnShardForecast forecast;
  GArray *entries, *traffic;
} Plan;

static void
plan_clear (Plan *plan)
{
  g_clear_pointer (&plan->entries, g_array_unref);
  g_clear_pointer (&plan->traffic, g_array_unref);
  g_clear_pointer (&plan->sharded, tn_sharded_free);
  g_clear_pointer (&plan->source, tn_graph_unref);
}

static const char *
role_name (const TnShardEntry *entry)
{
  static const char *const names[] = { [TN_ROLE_TRAINED] = "parameter", [TN_ROLE_STATISTIC] = "statistic", [TN_ROLE_OPTIMIZER] = "optimizer" };
  return entry->frozen ? "frozen" : names[entry->role];
}

static gboolean
make_plan (const char *path, const Options *options, Plan *plan, GError **error)
{
  g_autoptr (TnProject) project = tn_project_open (path, error);
  if (project == NULL)
    return FALSE;
  g_autoptr (TnSettings) settings = tn_settings_copy (tn_project_settings (project));
  if (!tn_cli_apply (settings, options->set, error) || (options->mesh != NULL && !tn_settings_set (settings, "parallel.mesh", options->mesh, error)))
    return FALSE;
  g_autoptr (TnModel) model = tn_project_load_model (project, settings, error);
  g_autoptr (TnParallelContext) context = model != NULL ? tn_parallel_context_new (settings, options->ranks > 0 ? options->ranks : -1, error) : NULL;
  TnProgramRecipe recipe;
  if (context == NULL || !tn_program_recipe_init (&recipe, model, settings, error))
    return FALSE;
  plan->source = tn_program_training_graph (&recipe, tn_settings_get_int (settings, "train.batch"), error);
  plan->sharded = plan->source != NULL ? tn_shard_graph (plan->source, &context->options, error) : NULL;
  if (plan->sharded == NULL)
    {
      g_prefix_error (error, _ ("With train.batch = %" PRId64 ": "), tn_settings_get_int (settings, "train.batch"));
      return FALSE;
    }
  tn_shard_forecast (plan->sharded, &plan->forecast);
  plan->entries = tn_shard_entries (plan->sharded, plan->source);
  plan->traffic = tn_shard_traffic_sums (plan->sharded);
  g_autoptr (TnStrategyFile) file = options->save != NULL ? tn_sharded_to_strategy_file (plan->sharded) : NULL;
  return file == NULL || tn_strategy_file_save (file, options->save, error);
}

static JsonObject *
bytes_json (const TnShardForecast *f)
{
  JsonObject *object = json_object_new ();
  json_object_set_int_member (object, "parameters", f->parameters);
  json_object_set_int_member (object, "gradients", f->gradients);
  json_object_set_int_member (object, "optimizer", f->optimizer);
  json_object_set_int_member (object, "activations", f->activations);
  json_object_set_int_member (object, "buffers", f->buffers);
  json_object_set_int_member (object, "total", f->total);
  return object;
}

static void
set_shape (JsonObject *object, const char *key, const TnShape *shape)
{
  JsonArray *array = json_array_new ();
  for (int d = 0; d < shape->n_dims; d++)
    json_array_add_int_element (array, shape->dims[d]);
  json_object_set_array_member (object, key, array);
}

static void
print_json (const Plan *plan)
{
  TnMesh *mesh = tn_sharded_mesh (plan->sharded);
  for (guint i = 0; i < plan->entries->len; i++)
    {
      const TnShardEntry *entry = &g_array_index (plan->entries, TnShardEntry, i);
      g_autofree char *layout = tn_layout_to_string (entry->layout);
      JsonObject *object = json_object_new ();
      json_object_set_string_member (object, "event", "parameter");
      json_object_set_string_member (object, "name", entry->name);
      json_object_set_string_member (object, "kind", role_name (entry));
      json_object_set_string_member (object, "dtype", tn_dtype_name (entry->dtype));
      set_shape (object, "shape", &entry->shape);
      set_shape (object, "slice", &entry->local);
      json_object_set_string_member (object, "layout", layout);
      json_object_set_int_member (object, "bytes", entry->bytes);
      json_object_set_int_member (object, "replicas", entry->replicas);
      tn_cli_print_json (object);
    }
  for (guint i = 0; i < plan->traffic->len; i++)
    {
      const TnTrafficSum *sum = &g_array_index (plan->traffic, TnTrafficSum, i);
      JsonObject *object = json_object_new ();
      json_object_set_string_member (object, "event", "traffic");
      json_object_set_string_member (object, "kind", tn_move_kind_name (sum->kind));
      json_object_set_string_member (object, "phase", tn_phase_name (sum->phase));
      json_object_set_string_member (object, "axes", sum->axes);
      json_object_set_int_member (object, "group", sum->group);
      json_object_set_int_member (object, "groups", sum->groups);
      json_object_set_int_member (object, "count", sum->count);
      json_object_set_double_member (object, "bytes", sum->bytes);
      tn_cli_print_json (object);
    }
  g_autofree char *text = tn_mesh_to_string (mesh);
  JsonObject *object = json_object_new ();
  json_object_set_string_member (object, "event", "plan");
  json_object_set_int_member (object, "ranks", mesh->n_ranks);
  json_object_set_string_member (object, "mesh", text);
  json_object_set_object_member (object, "bytes_per_rank", bytes_json (&plan->forecast));
  json_object_set_int_member (object, "fullest_rank", mesh->ranks[0]);
  json_object_set_boolean_member (object, "ranks_equal", TRUE);
  tn_cli_print_json (object);
}

static void
print_line (const char *what, int64_t bytes)
{
  g_autofree char *text = tn_cli_bytes ((double) bytes);
  printf ("  %-14s %12s  %" G_GINT64_FORMAT "\n", what, text, bytes);
}

static void
print_text (const Plan *plan)
{
  TnMesh *mesh = tn_sharded_mesh (plan->sharded);
  g_autofree char *axes = tn_mesh_to_string (mesh);
  const TnShardForecast *f = &plan->forecast;
  printf (_ ("%" PRId64 " ranks, mesh %s\n\n"), mesh->n_ranks, axes);
  printf (_ ("%-36s %-18s %-18s %-22s %10s %8s\n"), _ ("parameter"), _ ("shape"), _ ("a rank's slice"), _ ("split by"), _ ("bytes"), _ ("copies"));
  for (guint i = 0; i < plan->entries->len; i++)
    {
      const TnShardEntry *entry = &g_array_index (plan->entries, TnShardEntry, i);
      g_autofree char *shape = tn_shape_to_string (&entry->shape), *local = tn_shape_to_string (&entry->local), *layout = tn_layout_to_string (entry->layout);
      printf ("%-36s %-18s %-18s %-22s %10" G_GINT64_FORMAT " %8" G_GINT64_FORMAT "\n", entry->name, shape, local, layout, entry->bytes, entry->replicas);
    }
  printf (_ ("\nEach rank holds:\n"));
  print_line (_ ("parameters"), f->parameters);
  print_line (_ ("gradients"), f->gradients);
  print_line (_ ("optimizer"), f->optimizer);
  print_line (_ ("activations"), f->activations);
  print_line (_ ("buffers"), f->buffers);
  print_line (_ ("total"), f->total);
  printf ("%s", plan->traffic->len > 0 ? _ ("\nEach step, a rank receives:\n") : _ ("\nNothing is sent.\n"));
  for (guint i = 0; i < plan->traffic->len; i++)
    {
      const TnTrafficSum *sum = &g_array_index (plan->traffic, TnTrafficSum, i);
      g_autofree char *bytes = tn_cli_bytes (sum->bytes);
      printf (_ ("  %-14s %-10s over %-8s groups of %-6" PRId64 " %5d times %12s\n"), tn_move_kind_name (sum->kind), tn_phase_name (sum->phase), sum->axes,
              sum->group, sum->count, bytes);
    }
}

static int
run_plan (const char *path, const Options *options)
{
  g_autoptr (GError) error = NULL;
  Plan plan = { 0 };
  gboolean ok = make_plan (path, options, &plan, &error);
  if (ok && options->json)
    print_json (&plan);
  else if (ok)
    print_text (&plan);
  plan_clear (&plan);
  return ok ? TN_EXIT_DONE : tn_cli_fail (error, options->json);
}

int
tn_command_plan (int argc, char **argv)
{
  Options options = { 0 };
  const GOptionEntry entries[] = {
    { "ranks", 'n', 0, G_OPTION_ARG_INT64, &options.ranks, N_ ("How many ranks"), "N" },
    { "mesh", 'm', 0, G_OPTION_ARG_STRING, &options.mesh, N_ ("Named axes, such as dp=4,tp=2"), "AXES" },
    { "set", 's', 0, G_OPTION_ARG_STRING_ARRAY, &options.set, N_ ("A setting of the project, such as train.batch"), "NAME=VALUE" },
    { "save", 0, 0, G_OPTION_ARG_FILENAME, &options.save, N_ ("Write MindSpore's strategy file of it"), "FILE" },
    { "json", 0, 0, G_OPTION_ARG_NONE, &options.json, N_ ("One JSON object a line"), NULL },
    { 0 },
  };
  int status = TN_EXIT_USAGE;
  if (tn_cli_parse_arguments ("plan", entries, &argc, &argv, 1, 1, _ ("name a project's folder")))
    {
      if (options.ranks < 0 || options.ranks > 16384)
        status = tn_cli_usage ("plan", _ ("--ranks is 1 to 16384"));
      else
        status = run_plan (argv[1], &options);
    }
  g_free (options.mesh);
  g_free (options.save);
  g_strfreev (options.set);
  return status;
}
