/* SPDX-License-Identifier: Apache-2.0 */
#include "project-facts.h"

#include <glib/gi18n.h>
#include <math.h>

#include "base/json.h"
#include "format.h"
#include "graph-source.h"
#include "nn/model.h"
#include "train/project.h"

/* The text of the project's model, as the model page shows it. */
static JsonNode *
model_text (TnProject *project)
{
  const TnSettings *settings = tn_project_settings (project);
  const char *file = tn_settings_get_string (settings, "model.file"), *preset = tn_settings_get_string (settings, "model.preset");
  if (tn_project_network (project) != NULL)
    return json_node_ref (tn_project_network (project));
  if (*file != '\0')
    {
      g_autofree char *path = tn_project_resolve (tn_project_path (project), file);
      return tn_json_load (path, NULL);
    }
  return tn_model_preset (preset) != NULL ? tn_json_parse (tn_model_preset (preset), -1, NULL) : NULL;
}

TnProjectFacts *
tn_project_facts_new (const char *path)
{
  TnProjectFacts *self = g_new0 (TnProjectFacts, 1);
  g_atomic_ref_count_init (&self->ref_count);
  g_autoptr (TnProject) project = tn_project_open (path, NULL);
  g_autoptr (JsonNode) text = project != NULL ? model_text (project) : NULL;
  if (text == NULL)
    return self;
  const TnSettings *settings = tn_project_settings (project);
  self->model = tn_model_report_new (text, tn_settings_is_set (settings, "train.freeze") ? tn_settings_get_string (settings, "train.freeze") : NULL,
                                     tn_settings_is_set (settings, "init.preset") ? tn_settings_get_string (settings, "init.preset") : NULL);
  TnGraphSource *source = tn_graph_source_new (TN_GRAPH_SOURCE_PROJECT, path, TRUE, "");
  TnLoadedGraph *loaded = tn_graph_source_load (source, NULL);
  if (loaded != NULL)
    {
      self->graph = tn_graph_document_ref (loaded->document);
      tn_loaded_graph_free (loaded);
    }
  tn_graph_source_free (source);
  return self;
}

TnProjectFacts *
tn_project_facts_ref (TnProjectFacts *self)
{
  g_atomic_ref_count_inc (&self->ref_count);
  return self;
}

void
tn_project_facts_unref (TnProjectFacts *self)
{
  if (!g_atomic_ref_count_dec (&self->ref_count))
    return;
  g_clear_pointer (&self->model, tn_model_report_unref);
  g_clear_pointer (&self->graph, tn_graph_document_unref);
  g_free (self);
}

static void
facts_thread (GTask *task, gpointer source, gpointer path, GCancellable *cancellable)
{
  g_task_return_pointer (task, tn_project_facts_new (path), (GDestroyNotify) tn_project_facts_unref);
}

void
tn_project_facts_async (const char *path, GCancellable *cancellable, GAsyncReadyCallback callback, gpointer user_data)
{
  g_autoptr (GTask) task = g_task_new (NULL, cancellable, callback, user_data);
  g_task_set_task_data (task, g_strdup (path), g_free);
  g_task_run_in_thread (task, facts_thread);
}

TnProjectFacts *
tn_project_facts_finish (GAsyncResult *result, GError **error)
{
  return g_task_propagate_pointer (G_TASK (result), error);
}

/* ---- facts ---- */

static void
fact_clear (gpointer fact)
{
  g_free (((TnFact *) fact)->value);
}

GArray *
tn_facts_new (void)
{
  GArray *facts = g_array_new (FALSE, FALSE, sizeof (TnFact));
  g_array_set_clear_func (facts, fact_clear);
  return facts;
}

void
tn_facts_take (GArray *facts, const char *name, char *value)
{
  TnFact fact = { name, value };
  if (value != NULL && *value != '\0')
    g_array_append_val (facts, fact);
  else
    g_free (value);
}

static const char *
phase_text (TnPhase phase)
{
  switch (phase)
    {
    case TN_PHASE_FORWARD:
      return _ ("Forward");
    case TN_PHASE_BACKWARD:
      return _ ("Backward");
    case TN_PHASE_OPTIMIZER:
      return _ ("Optimizer");
    default:
      return tn_phase_name (phase);
    }
}

/* Labels of what enters or leaves an item, the first four. */
static char *
neighbours (const TnGraphDocument *graph, int item, gboolean inputs)
{
  const int *first = inputs ? graph->in_first : graph->out_first, *links = inputs ? graph->in_links : graph->out_links;
  g_autoptr (GString) text = g_string_new (NULL);
  for (int i = first[item]; i < first[item + 1]; i++)
    {
      const TnGraphLink *link = &graph->links[links[i]];
      const TnGraphItem *other = &graph->items[inputs ? link->from : link->to];
      if (i - first[item] == 4)
        {
          g_string_append_printf (text, " … +%d", first[item + 1] - i);
          break;
        }
      const char *scope = other->scope >= 0 ? graph->scopes[other->scope].label : NULL;
      g_string_append_printf (text, "%s%s%s%s", text->len > 0 ? ", " : "", scope != NULL ? scope : "", scope != NULL ? "/" : "", other->label);
    }
  return g_strdup (text->str);
}

static void
item_facts (GArray *facts, const TnGraphDocument *graph, int i)
{
  const TnGraphItem *item = &graph->items[i];
  tn_facts_take (facts, _ ("Operator"), g_strdup (item->op));
  tn_facts_take (facts, _ ("Shape"), g_strdup (item->shape));
  tn_facts_take (facts, _ ("Type"), g_strdup (item->dtype));
  tn_facts_take (facts, _ ("Phase"), g_strdup (phase_text (item->phase)));
  tn_facts_take (facts, _ ("Layer"), item->scope >= 0 ? g_strdup (graph->scopes[item->scope].label) : NULL);
  tn_facts_take (facts, _ ("Inputs"), neighbours (graph, i, TRUE));
  tn_facts_take (facts, _ ("Outputs"), neighbours (graph, i, FALSE));
  tn_facts_take (facts, _ ("Output size"), item->output_bytes > 0 ? tn_format_size (item->output_bytes) : NULL);
  tn_facts_take (facts, _ ("Work"), item->flops > 0 ? g_strdup_printf (_ ("%.3g MFLOP"), item->flops / 1e6) : NULL);
  for (int a = 0; a < item->n_attrs && a < 12; a++)
    tn_facts_take (facts, item->attrs[a].name, g_strdup (item->attrs[a].value));
}

static const TnCellReport *
cell_of_scope (const TnProjectFacts *self, const char *scope)
{
  for (guint i = 0; self->model != NULL && i < self->model->cells->len; i++)
    {
      const TnCellReport *cell = g_ptr_array_index (self->model->cells, i);
      if (g_strcmp0 (cell->scope, scope) == 0)
        return cell;
    }
  return NULL;
}

static void
scope_facts (GArray *facts, const TnProjectFacts *self, const char *path)
{
  const TnGraphDocument *graph = self->graph;
  const TnCellReport *cell = cell_of_scope (self, path);
  if (cell != NULL)
    {
      tn_facts_take (facts, _ ("Layer"), g_strdup (cell->name));
      tn_facts_take (facts, _ ("Kind"), g_strdup (cell->type));
      tn_facts_take (facts, _ ("Output of a sample"), cell->built ? tn_model_shape_text (&cell->output) : NULL);
      tn_facts_take (facts, _ ("Parameters"), tn_format_count_exact (cell->parameters));
      tn_facts_take (facts, _ ("Output size of a sample"), tn_format_size ((double) cell->bytes));
      tn_facts_take (facts, _ ("Work of a sample"), g_strdup_printf (_ ("%.3g MFLOP"), cell->flops / 1e6));
      tn_facts_take (facts, _ ("Place"), g_strdup (cell->path));
    }
  for (int i = 0; graph != NULL && i < graph->n_scopes; i++)
    if (g_strcmp0 (graph->scopes[i].path, path) == 0)
      {
        tn_facts_take (facts, _ ("Operators"), tn_format_count_exact (graph->scopes[i].n_items));
        tn_facts_take (facts, _ ("Within"), graph->scopes[i].parent >= 0 ? g_strdup (graph->scopes[graph->scopes[i].parent].label) : NULL);
        if (cell == NULL)
          tn_facts_take (facts, _ ("Kind"), g_strdup (graph->scopes[i].type));
      }
}

GArray *
tn_facts_of_node (const TnProjectFacts *self, const char *node)
{
  GArray *facts = tn_facts_new ();
  int item = self->graph != NULL ? tn_graph_document_find (self->graph, node) : -1;
  if (item >= 0)
    item_facts (facts, self->graph, item);
  else
    scope_facts (facts, self, node);
  return facts;
}

/* Operators that read it, the first four. */
static char *
users_of (const TnGraphDocument *graph, const char *parameter)
{
  int item = graph != NULL ? tn_graph_document_find (graph, parameter) : -1;
  return item >= 0 ? neighbours (graph, item, FALSE) : NULL;
}

GArray *
tn_facts_of_parameter (const TnProjectFacts *self, const char *name)
{
  GArray *facts = tn_facts_new ();
  for (guint i = 0; self->model != NULL && i < self->model->parameters->len; i++)
    {
      const TnParameterReport *parameter = &g_array_index (self->model->parameters, TnParameterReport, i);
      if (g_strcmp0 (parameter->name, name) != 0)
        continue;
      tn_facts_take (facts, _ ("Shape"), tn_model_shape_text (&parameter->shape));
      tn_facts_take (facts, _ ("Type"), g_strdup (tn_dtype_name (parameter->dtype)));
      tn_facts_take (facts, _ ("Values"), tn_format_count_exact (parameter->elements));
      tn_facts_take (facts, _ ("Size"), tn_format_size ((double) parameter->bytes));
      tn_facts_take (facts, _ ("Trained"), g_strdup (parameter->statistic ? _ ("statistic") : parameter->frozen ? _ ("frozen") : _ ("yes")));
      tn_facts_take (facts, _ ("First values"), g_strdup (parameter->init));
      tn_facts_take (facts, _ ("Used by"), users_of (self->graph, name));
    }
  return facts;
}

GArray *
tn_facts_of_sample (TnDataScan *scan, gint64 id)
{
  GArray *facts = tn_facts_new ();
  TnDataset *dataset = scan->dataset;
  if (id < 0 || id >= dataset->n_samples)
    return facts;
  g_autofree void *scratch = g_malloc (dataset->sample_bytes + 1);
  const void *sample = tn_dataset_sample (dataset, id, scratch);
  double least = INFINITY, most = -INFINITY, sum = 0;
  for (size_t i = 0; i < dataset->sample_elements; i++)
    {
      double value = dataset->dtype == TN_DTYPE_U8 ? ((const uint8_t *) sample)[i] : (double) ((const float *) sample)[i];
      least = MIN (least, value);
      most = MAX (most, value);
      sum += value;
    }
  tn_facts_take (facts, _ ("Number"), tn_format_count_exact (id));
  tn_facts_take (facts, dataset->n_classes > 0 ? _ ("Class") : _ ("Target"), tn_data_scan_label (scan, id));
  tn_facts_take (facts, _ ("Set"), g_strdup (tn_sample_side_name (scan->sides[id])));
  tn_facts_take (facts, _ ("Shape"), tn_model_shape_text (&dataset->sample_shape));
  tn_facts_take (facts, _ ("Type"), g_strdup (tn_dtype_name (dataset->dtype)));
  tn_facts_take (facts, _ ("Least"), tn_format_loss (least));
  tn_facts_take (facts, _ ("Greatest"), tn_format_loss (most));
  tn_facts_take (facts, _ ("Mean"), tn_format_loss (sum / (double) MAX (1, dataset->sample_elements)));
  tn_facts_take (facts, _ ("Source"), g_strdup (dataset->source));
  return facts;
}
