/* SPDX-License-Identifier: Apache-2.0 */
#include "train/check.h"

#include <inttypes.h>
#include <stdarg.h>
#include <string.h>

#include "base/error.h"
#include "base/pool.h"
#include "train/input.h"
#include "train/rate.h"

#define HIGH_RATE 1.0
#define MEMORY_WARN_SHARE 0.85

const char *
tn_severity_name (TnSeverity severity)
{
  static const char *const names[] = { "error", "warning", "note" };
  return names[severity];
}

static void
finding_free (TnFinding *finding)
{
  g_free (finding->code);
  g_free (finding->text);
  g_free (finding->setting);
  g_free (finding->fix);
  g_free (finding);
}

void
tn_check_free (TnCheck *check)
{
  if (check == NULL)
    return;
  g_ptr_array_unref (check->findings);
  g_free (check->data);
  g_free (check);
}

gboolean
tn_check_has_errors (const TnCheck *check)
{
  for (guint i = 0; i < check->findings->len; i++)
    if (((TnFinding *) check->findings->pdata[i])->severity == TN_FINDING_ERROR)
      return TRUE;
  return FALSE;
}

/* Takes @fix and @text. */
static void
add (TnCheck *self, TnSeverity severity, const char *code, const char *setting, char *fix, char *text)
{
  TnFinding *finding = g_new (TnFinding, 1);
  *finding = (TnFinding){ severity, g_strdup (code), text, g_strdup (setting), fix };
  g_ptr_array_add (self->findings, finding);
}

/* Takes @error; the message says what to do. */
static void
add_error (TnCheck *self, const char *code, const char *setting, GError *error)
{
  add (self, TN_FINDING_ERROR, code, setting, NULL, g_strdup (error->message));
  g_error_free (error);
}

static void
check_settings (TnCheck *self, const TnSettings *settings)
{
  double rate = tn_settings_get_float (settings, "optimizer.lr");
  gint64 epochs = tn_settings_get_int (settings, "train.epochs"), steps = tn_settings_get_int (settings, "train.max_steps");
  gint64 threads = tn_settings_get_int (settings, "device.threads"), patience = tn_settings_get_int (settings, "train.early_stop");
  GError *error = NULL;
  TnRate *schedule = tn_rate_new (settings, 1, 1, &error);
  if (schedule == NULL)
    add_error (self, "schedule", "schedule.kind", error);
  tn_rate_free (schedule);
  if (rate > HIGH_RATE)
    add (self, TN_FINDING_WARNING, "rate", "optimizer.lr", NULL, g_strdup_printf (_("A learning rate of %g is very high: the loss may run away."), rate));
  if (rate == 0)
    add (self, TN_FINDING_WARNING, "rate", "optimizer.lr", g_strdup ("0.01"), g_strdup (_("With a learning rate of 0 nothing is learned.")));
  if (epochs == 0 && steps == 0)
    add (self, TN_FINDING_WARNING, "length", "train.epochs", g_strdup ("1"), g_strdup (_("With 0 epochs and no number of steps the run ends at once.")));
  if (threads > tn_cpu_count_allowed ())
    add (self, TN_FINDING_WARNING, "threads", "device.threads", g_strdup ("0"),
         g_strdup_printf (_("%" PRId64 " threads on %d processors are slower than one each."), threads, tn_cpu_count_allowed ()));
  if (patience > 0 && epochs > 0 && patience >= epochs)
    add (self, TN_FINDING_WARNING, "early-stop", "train.early_stop", NULL,
         g_strdup_printf (_("%" PRId64 " checks without gain never come in %" PRId64 " epochs: the run never stops early."), patience,
                          epochs));
}

static void
check_split (TnCheck *self, const TnInput *input, const TnSettings *settings)
{
  gint64 batch = tn_settings_get_int (settings, "train.batch"), n = input->split->n_train;
  gint64 epochs = tn_settings_get_int (settings, "train.epochs"), most = tn_settings_get_int (settings, "train.max_steps");
  self->n_train = n;
  self->n_held_out = input->split->n_held_out;
  self->data = g_strdup (input->dataset->description);
  self->data_bytes = tn_input_dataset_bytes (input->dataset);
  self->steps_per_epoch = input->options.drop_last ? n / batch : (n + batch - 1) / batch;
  self->total_steps = epochs > 0 && most > 0 ? MIN (epochs * self->steps_per_epoch, most) : epochs > 0 ? epochs * self->steps_per_epoch : most;
  if (n < batch)
    add (self, input->options.drop_last ? TN_FINDING_ERROR : TN_FINDING_WARNING, "batch", "train.batch", g_strdup_printf ("%" PRId64, MAX (n, 1)),
         g_strdup_printf (_("A batch of %" PRId64 " is more than the %" PRId64 " samples to train on."), batch, n));
  if (self->n_held_out == 0)
    add (self, TN_FINDING_NOTE, "validation", "data.validation", g_strdup ("last:10%"),
         g_strdup (_("No samples are held out: nothing will say how well the model does on new ones.")));
}

static void
check_labels (TnCheck *self, const TnInput *input, TnModel *model, const TnSettings *settings)
{
  const TnDataset *dataset = input->dataset;
  gboolean by_class = tn_settings_enum_is (settings, "train.loss", "softmax_cross_entropy"), has_classes = dataset->labels != NULL;
  gint64 trained, statistics;
  TnShape shape;
  if (by_class != has_classes)
    {
      add (self, TN_FINDING_ERROR, "loss", "train.loss", g_strdup (has_classes ? "softmax_cross_entropy" : "mse"),
           g_strdup (has_classes ? _("The data have classes and no target values: train.loss must be softmax_cross_entropy.")
                                 : _("The data have target values and no classes: train.loss must be mse, l1 or bce.")));
      return;
    }
  if (!tn_model_measure (model, &trained, &statistics, &shape, NULL))
    return;
  self->n_parameters = trained;
  gint64 outputs = tn_shape_count (&shape), needed = has_classes ? dataset->n_classes : dataset->target_width;
  if (has_classes ? needed > outputs : needed != outputs)
    add (self, TN_FINDING_ERROR, "outputs", "model.preset", NULL,
         g_strdup_printf (_("The data need %" PRId64 " outputs, the model's last cell has %" PRId64 "."), needed, outputs));
  else if (has_classes && needed < outputs)
    add (self, TN_FINDING_NOTE, "outputs", NULL, NULL,
         g_strdup_printf (_("The model has %" PRId64 " outputs, the data %" PRId64 " classes: the rest is never the answer."), outputs, needed));
}

static void
check_memory (TnCheck *self)
{
  const TnProgramMeasure *m = &self->memory;
  guint64 needed = m->forecast.total + self->data_bytes;
  g_autofree char *need = g_format_size (needed), *allowed = g_format_size (m->allowed), *data = g_format_size (self->data_bytes);
  gint64 fits = m->largest_batch;
  if (needed > m->allowed)
    add (self, TN_FINDING_ERROR, "memory", "train.batch", fits >= 1 ? g_strdup_printf ("%" PRId64, fits) : NULL,
         fits >= 1 ? g_strdup_printf (_("This run needs %s (data %s); %s are allowed. Largest batch that fits: %" PRId64 "."), need, data, allowed, fits)
                   : g_strdup_printf (_("This run needs %s (data %s); %s are allowed. No batch fits."), need, data, allowed));
  else if ((double) needed > MEMORY_WARN_SHARE * (double) m->allowed)
    add (self, TN_FINDING_WARNING, "memory", "train.batch", NULL, g_strdup_printf (_("This run needs %s of the %s that are allowed."), need, allowed));
}

/* What the trainer only finds with the parameters' names in hand. */
static void
check_freeze (TnCheck *self, TnModel *model, const TnSettings *settings)
{
  g_auto (GStrv) patterns = g_strsplit_set (tn_settings_get_string (settings, "train.freeze"), ", ", -1);
  g_autoptr (TnGraph) graph = tn_graph_new ("check");
  TnValue *x = tn_graph_add_input (graph, "x", tn_model_input (model)->dtype, tn_model_batch_shape (model, 1));
  if (tn_model_build (model, graph, x, TRUE, NULL) == NULL)
    return;
  for (char **pattern = patterns; *pattern != NULL; pattern++)
    {
      gboolean found = **pattern == '\0';
      for (int i = 0; i < tn_graph_n_parameters (graph) && !found; i++)
        found = g_pattern_match_simple (*pattern, tn_graph_parameter (graph, i)->node->name);
      if (!found)
        add (self, TN_FINDING_ERROR, "freeze", "train.freeze", NULL, g_strdup_printf (_("train.freeze: “%s” matches no parameter."), *pattern));
    }
}

static void
check_weights (TnCheck *self, TnProject *project, const TnSettings *settings)
{
  const char *file = tn_settings_get_string (settings, "init.from");
  g_autofree char *path = tn_project_resolve (tn_project_path (project), file);
  if (*file != '\0' && !g_file_test (path, G_FILE_TEST_IS_REGULAR))
    add (self, TN_FINDING_ERROR, "weights", "init.from", g_strdup (""), g_strdup_printf (_("There is no file “%s” to take weights from."), path));
}

static int
compare_findings (gconstpointer a, gconstpointer b)
{
  const TnFinding *x = *(TnFinding *const *) a, *y = *(TnFinding *const *) b;
  return (int) x->severity - (int) y->severity;
}

static void
look (TnCheck *self, TnProject *project, TnSettings *settings, GCancellable *cancellable)
{
  GError *error = NULL;
  check_settings (self, settings);
  check_weights (self, project, settings);
  g_autoptr (TnModel) model = tn_project_load_model (project, settings, &error);
  if (model == NULL)
    {
      add_error (self, "model", "model.preset", error);
      return;
    }
  check_freeze (self, model, settings);
  if (g_cancellable_is_cancelled (cancellable))
    return;
  gboolean own = tn_settings_is_set (settings, "data.normalize_mean") || tn_settings_is_set (settings, "data.normalize_std");
  g_autoptr (TnInput) input = tn_input_open (settings, model, tn_project_path (project), own, &error);
  if (input == NULL)
    add_error (self, g_error_matches (error, TN_ERROR, TN_ERROR_SHAPE) ? "shape" : "data", "data.source", error);
  else
    {
      check_split (self, input, settings);
      check_labels (self, input, model, settings);
    }
  if (g_cancellable_is_cancelled (cancellable))
    return;
  if (tn_program_measure (model, settings, (size_t) self->data_bytes, &self->memory, &error))
    check_memory (self);
  else
    add_error (self, "plan", NULL, error);
}

TnCheck *
tn_check_project (TnProject *project, const TnSettings *settings, GCancellable *cancellable)
{
  TnCheck *self = g_new0 (TnCheck, 1);
  g_autoptr (TnSettings) used = tn_settings_copy (settings != NULL ? settings : tn_project_settings (project));
  self->findings = g_ptr_array_new_with_free_func ((GDestroyNotify) finding_free);
  look (self, project, used, cancellable);
  g_ptr_array_sort (self->findings, compare_findings);
  return self;
}
