/* SPDX-License-Identifier: Apache-2.0 */
#include "nn/cell.h"

#include <math.h>
#include <string.h>
#include "base/error.h"
#include "base/json.h"
#include "nn/cell-private.h"
#include "nn/initializer.h"

/* ---- the table ---- */

static const TnCellClass *const families[] = {
  tn_cells_dense, tn_cells_conv, tn_cells_norm, tn_cells_activation, tn_cells_container,
};

const TnCellClass *
tn_cell_class_at (int i)
{
  for (guint f = 0; f < G_N_ELEMENTS (families); f++)
    for (const TnCellClass *klass = families[f]; klass->name != NULL; klass++)
      if (i-- == 0)
        return klass;
  return NULL;
}

const TnCellClass *
tn_cell_class_find (const char *name)
{
  const TnCellClass *klass;
  for (int i = 0; (klass = tn_cell_class_at (i)) != NULL; i++)
    if (strcmp (klass->name, name) == 0)
      return klass;
  return NULL;
}

/* ---- options ---- */

const char *
tn_cell_name (const TnCell *self)
{
  return self->name;
}

const char *
tn_cell_path (const TnCell *self)
{
  return self->path;
}

const TnCellClass *
tn_cell_class (const TnCell *self)
{
  return self->klass;
}

static const TnOptionValue *
find_value (const TnCell *self, const char *option)
{
  for (int i = 0; i < self->n_options; i++)
    if (strcmp (self->klass->options[i].name, option) == 0)
      return &self->values[i];
  g_critical ("cell class %s has no option %s", self->klass->name, option);
  static const TnOptionValue none;
  return &none;
}

gboolean
tn_cell_has (const TnCell *self, const char *option)
{
  return find_value (self, option)->given;
}

gint64
tn_cell_int (const TnCell *self, const char *option)
{
  return (gint64) find_value (self, option)->number;
}

double
tn_cell_float (const TnCell *self, const char *option)
{
  return find_value (self, option)->number;
}

gboolean
tn_cell_bool (const TnCell *self, const char *option)
{
  return find_value (self, option)->number != 0;
}

const char *
tn_cell_text (const TnCell *self, const char *option)
{
  return find_value (self, option)->text;
}

int
tn_cell_ints (const TnCell *self, const char *option, const int64_t **values)
{
  const TnOptionValue *value = find_value (self, option);
  *values = value->ints;
  return value->n_ints;
}

GPtrArray *
tn_cell_cells (const TnCell *self, const char *option)
{
  return find_value (self, option)->cells;
}

/* ---- parameters ---- */

TnValue *
tn_cell_fail (const TnCell *self, TnCellBuild *build, const char *option, const char *format, ...)
{
  va_list args;
  va_start (args, format);
  g_autofree char *message = g_strdup_vprintf (format, args);
  va_end (args);
  if (!tn_graph_failed (build->graph))
    {
      build->failed = self;
      build->located = TRUE;
    }
  tn_graph_fail (build->graph, g_error_new (TN_ERROR, TN_ERROR_SHAPE, "%s%s%s: %s", self->path, option != NULL ? "." : "",
                                            option != NULL ? option : "", message));
  return NULL;
}

static gboolean
is_frozen (const TnCellBuild *build, const char *name)
{
  for (const char *const *pattern = build->freeze; pattern != NULL && *pattern != NULL; pattern++)
    if (g_pattern_match_simple (*pattern, name))
      return TRUE;
  return FALSE;
}

TnValue *
tn_cell_parameter (const TnCell *self, TnCellBuild *build, const char *name, TnShape shape, TnDType dtype, TnParameterRole role,
                   const char *init)
{
  if (tn_graph_failed (build->graph))
    return NULL;
  g_autofree char *full = g_strdup_printf ("%s%s.%s", build->prefix->str, self->name, name);
  TnValue *known = tn_graph_find_parameter (build->graph, full);
  if (known != NULL)
    {
      if (known->dtype == dtype && tn_shape_equal (&known->shape, &shape))
        return known;
      return tn_cell_fail (self, build, NULL, _ ("parameter %s is in the graph already, with another dtype or shape"), full);
    }
  g_autoptr (GError) error = NULL;
  if (!tn_initializer_check_shape (init, &shape, &error))
    return tn_cell_fail (self, build, NULL, "%s: %s", full, error->message);
  TnParameterInfo info = { .role = role, .frozen = role == TN_ROLE_TRAINED && is_frozen (build, full), .init = init };
  return tn_graph_add_parameter (build->graph, full, dtype, shape, &info);
}

static gboolean
is_mindspore1 (const TnCellBuild *build)
{
  return g_strcmp0 (build->init_preset, "mindspore1") == 0;
}

const char *
tn_cell_weight_init (const TnCell *self, const TnCellBuild *build, const char *option)
{
  if (tn_cell_has (self, option))
    return tn_cell_text (self, option);
  return is_mindspore1 (build) ? "normal(0.01)" : "he_uniform(sqrt5)";
}

const char *
tn_cell_bias_init (const TnCell *self, const TnCellBuild *build, const char *option, double fan_in)
{
  if (tn_cell_has (self, option))
    return tn_cell_text (self, option);
  if (is_mindspore1 (build))
    return "zeros";
  char number[G_ASCII_DTOSTR_BUF_SIZE];
  g_autofree char *text = g_strdup_printf ("uniform(%s)", g_ascii_dtostr (number, sizeof number, 1 / sqrt (MAX (fan_in, 1))));
  return tn_arena_strdup (tn_graph_arena (build->graph), text);
}

/* ---- building ---- */

TnValue *
tn_cell_build (const TnCell *self, TnCellBuild *build, int n_inputs, TnValue **inputs)
{
  if (tn_graph_failed (build->graph))
    return NULL;
  if (n_inputs < self->klass->min_inputs)
    return tn_cell_fail (self, build, "inputs", _ ("%s takes at least %d inputs: name them"), self->klass->name, self->klass->min_inputs);
  g_autofree char *scope = g_strdup_printf ("%s-%s", self->name, self->klass->name);
  tn_graph_push_scope (build->graph, scope);
  TnValue *output = self->klass->build (build, self, n_inputs, inputs);
  tn_graph_pop_scope (build->graph);
  if (tn_graph_failed (build->graph) && build->failed == NULL)
    build->failed = self;
  return tn_graph_failed (build->graph) ? NULL : output;
}

/* The value that name @i of the cell's "inputs" stands for: the innermost of that name. */
static TnValue *
find_input (const TnCell *cell, TnCellBuild *build, int i)
{
  const char *name = cell->inputs[i];
  for (guint k = build->names->len; k-- > 0;)
    if (strcmp (build->names->pdata[k], name) == 0)
      return build->values->pdata[k];
  g_autoptr (GPtrArray) known = g_ptr_array_copy (build->names, NULL, NULL);
  g_ptr_array_add (known, NULL);
  const char *near = tn_did_you_mean (name, (const char *const *) known->pdata);
  g_autofree char *option = g_strdup_printf ("inputs[%d]", i);
  if (near != NULL)
    return tn_cell_fail (cell, build, option, _ ("there is no cell “%s” before this one: did you mean “%s”?"), name, near);
  return tn_cell_fail (cell, build, option, _ ("there is no cell “%s” before this one"), name);
}

static TnValue *
build_wired (const TnCell *cell, TnCellBuild *build, TnValue *before)
{
  if (cell->inputs == NULL)
    return tn_cell_build (cell, build, 1, &before);
  int n = (int) g_strv_length (cell->inputs);
  g_autofree TnValue **inputs = g_new0 (TnValue *, n + 1);
  for (int i = 0; i < n; i++)
    if ((inputs[i] = find_input (cell, build, i)) == NULL)
      return NULL;
  return tn_cell_build (cell, build, n, inputs);
}

TnValue *
tn_cells_build (GPtrArray *cells, TnCellBuild *build, TnValue *input)
{
  guint mark = build->names->len;
  TnValue *value = input;
  g_ptr_array_add (build->names, (gpointer) "input");
  g_ptr_array_add (build->values, input);
  for (guint i = 0; i < cells->len && value != NULL; i++)
    {
      const TnCell *cell = cells->pdata[i];
      value = build_wired (cell, build, value);
      g_ptr_array_add (build->names, cell->name);
      g_ptr_array_add (build->values, value);
    }
  g_ptr_array_set_size (build->names, (int) mark);
  g_ptr_array_set_size (build->values, (int) mark);
  return value;
}
