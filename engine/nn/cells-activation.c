/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>
#include "base/error.h"
#include "base/json.h"
#include "nn/cell.h"

/* Activations: each is one operator whose attributes are options under MindSpore's names. */

#define END { NULL }
#define NUMBER(name_, value) { .name = name_, .type = TN_OPTION_FLOAT, .number = value, .min = -1e30, .max = 1e30 }

static const TnOption no_options[] = { END };
static const TnOption gelu_options[] = { { .name = "approximate", .type = TN_OPTION_BOOL, .number = TRUE }, END };
static const TnOption leaky_options[] = { NUMBER ("alpha", 0.2), END };
static const TnOption alpha_options[] = { NUMBER ("alpha", 1), END };
static const TnOption lambd_options[] = { NUMBER ("lambd", 0.5), END };
static const TnOption hardtanh_options[] = { NUMBER ("min_val", -1), NUMBER ("max_val", 1), END };
static const TnOption threshold_options[] = { { .name = "threshold", .type = TN_OPTION_FLOAT, .required = TRUE, .min = -1e30, .max = 1e30 },
                                              { .name = "value", .type = TN_OPTION_FLOAT, .required = TRUE, .min = -1e30, .max = 1e30 }, END };
static const TnOption axis_options[] = { { .name = "axis", .type = TN_OPTION_INT, .number = -1, .min = -TN_MAX_DIMS, .max = TN_MAX_DIMS - 1 }, END };
static const TnOption prelu_options[] = {
  { .name = "channel", .type = TN_OPTION_INT, .number = 1, .min = 1, .max = G_MAXINT32 },
  { .name = "w", .type = TN_OPTION_INIT, .text = "constant(0.25)" },
  END,
};

/* Class, the word in "activation" options, operator, and which option is which attribute. */
typedef struct
{
  const char *cell, *word, *op;
  struct
  {
    const char *option, *attr;
  } map[2];
} Activation;

static const Activation activations[] = {
  { "ReLU", "relu", "ReLU" },
  { "ReLU6", "relu6", "ReLU6" },
  { "Sigmoid", "sigmoid", "Sigmoid" },
  { "Tanh", "tanh", "Tanh" },
  { "GELU", "gelu", "GeLU" },
  { "FastGelu", "fast_gelu", "FastGeLU" },
  { "SiLU", "silu", "SiLU" },
  { "HSwish", "hswish", "HSwish" },
  { "HSigmoid", "hsigmoid", "HSigmoid" },
  { "ELU", "elu", "Elu", { { "alpha", "alpha" } } },
  { "SELU", "selu", "SeLU" },
  { "CELU", "celu", "CeLU", { { "alpha", "alpha" } } },
  { "Mish", "mish", "Mish" },
  { "Softplus", "softplus", "Softplus" },
  { "LogSigmoid", "logsigmoid", "LogSigmoid" },
  { "LeakyReLU", "leakyrelu", "LeakyReLU", { { "alpha", "negative_slope" } } },
  { "Softsign", "softsign", "Softsign" },
  { "HShrink", "hshrink", "HShrink", { { "lambd", "lambd" } } },
  { "SoftShrink", "softshrink", "SoftShrink", { { "lambd", "lambd" } } },
  { "Tanhshrink", "tanhshrink", "Tanhshrink" },
  { "Threshold", NULL, "Threshold", { { "threshold", "threshold" }, { "value", "value" } } },
  { "Hardtanh", "hardtanh", "Hardtanh", { { "min_val", "min_val" }, { "max_val", "max_val" } } },
};

static TnValue *
build_activation (TnCellBuild *build, const TnCell *cell, int n_inputs, TnValue **inputs)
{
  const Activation *row = activations;
  while (strcmp (row->cell, tn_cell_class (cell)->name) != 0)
    row++;
  TnAttr attrs[2];
  int n_attrs = 0;
  for (; n_attrs < 2 && row->map[n_attrs].option != NULL; n_attrs++)
    attrs[n_attrs] = tn_attr_float (row->map[n_attrs].attr, tn_cell_float (cell, row->map[n_attrs].option));
  return tn_op (build->graph, row->op, TN_IN (inputs[0]), n_attrs, attrs);
}

static TnValue *
build_gelu (TnCellBuild *build, const TnCell *cell, int n_inputs, TnValue **inputs)
{
  return tn_op (build->graph, "GeLU", TN_IN (inputs[0]),
                TN_ATTRS (tn_attr_string ("approximate", tn_cell_bool (cell, "approximate") ? "tanh" : "none")));
}

static TnValue *
build_prelu (TnCellBuild *build, const TnCell *cell, int n_inputs, TnValue **inputs)
{
  TnValue *w = tn_cell_parameter (cell, build, "w", TN_SHAPE (tn_cell_int (cell, "channel")), inputs[0]->dtype, TN_ROLE_TRAINED,
                                  tn_cell_text (cell, "w"));
  return tn_op (build->graph, "PReLU", TN_IN (inputs[0], w), TN_NO_ATTRS);
}

static TnValue *
build_glu (TnCellBuild *build, const TnCell *cell, int n_inputs, TnValue **inputs)
{
  return tn_op (build->graph, "GLU", TN_IN (inputs[0]), TN_ATTRS (tn_attr_int ("axis", tn_cell_int (cell, "axis"))));
}

/* Softmin is Softmax of -x. */
static TnValue *
build_softmax (TnCellBuild *build, const TnCell *cell, int n_inputs, TnValue **inputs)
{
  const char *name = tn_cell_class (cell)->name;
  TnValue *x = inputs[0];
  if (strcmp (name, "Softmin") == 0)
    x = tn_op (build->graph, "Neg", TN_IN (x), TN_NO_ATTRS);
  return tn_op (build->graph, strcmp (name, "LogSoftmax") == 0 ? "LogSoftmax" : "Softmax", TN_IN (x),
                TN_ATTRS (tn_attr_int ("axis", tn_cell_int (cell, "axis"))));
}

TnValue *
tn_cell_activation (const TnCell *self, TnCellBuild *build, const char *option, TnValue *x)
{
  const char *name = tn_cell_text (self, option), *known[G_N_ELEMENTS (activations) + 1] = { NULL };
  int n = 0;
  if (name == NULL || *name == '\0' || x == NULL)
    return x;
  for (guint i = 0; i < G_N_ELEMENTS (activations); i++)
    {
      const Activation *row = &activations[i];
      if (row->word == NULL)
        continue;
      known[n++] = row->word;
      if (g_ascii_strcasecmp (name, row->word) != 0 && g_ascii_strcasecmp (name, row->cell) != 0)
        continue;
      TnAttr attr = { 0 };
      if (strcmp (row->op, "GeLU") == 0)
        attr = tn_attr_string ("approximate", "tanh");
      else if (strcmp (row->op, "LeakyReLU") == 0)
        attr = tn_attr_float ("negative_slope", 0.2);
      return tn_op (build->graph, row->op, TN_IN (x), attr.name != NULL ? 1 : 0, &attr);
    }
  const char *near = tn_did_you_mean (name, known);
  g_autofree char *list = g_strjoinv (", ", (char **) known);
  if (near != NULL)
    return tn_cell_fail (self, build, option, _ ("there is no activation “%s”: did you mean “%s”?"), name, near);
  return tn_cell_fail (self, build, option, _ ("there is no activation “%s”: it must be one of %s"), name, list);
}

#define SIMPLE(name, options, doc) { name, doc, 1, 1, options, build_activation }

const TnCellClass tn_cells_activation[] = {
  SIMPLE ("ReLU", no_options, N_ ("max (x, 0)")),
  SIMPLE ("ReLU6", no_options, N_ ("min (max (x, 0), 6)")),
  SIMPLE ("Sigmoid", no_options, N_ ("1 / (1 + e⁻ˣ)")),
  SIMPLE ("Tanh", no_options, N_ ("tanh x")),
  { "GELU", N_ ("x Φ(x), by the tanh formula where approximate"), 1, 1, gelu_options, build_gelu },
  SIMPLE ("FastGelu", no_options, N_ ("x σ(1.702 x)")),
  SIMPLE ("SiLU", no_options, N_ ("x σ(x)")),
  SIMPLE ("HSwish", no_options, N_ ("x min (max (x + 3, 0), 6) / 6")),
  SIMPLE ("HSigmoid", no_options, N_ ("min (max (x + 3, 0), 6) / 6")),
  SIMPLE ("ELU", alpha_options, N_ ("x > 0 ? x : alpha (eˣ - 1)")),
  SIMPLE ("SELU", no_options, N_ ("scaled ELU")),
  SIMPLE ("CELU", alpha_options, N_ ("x > 0 ? x : alpha (exp (x / alpha) - 1)")),
  SIMPLE ("Mish", no_options, N_ ("x tanh (log (1 + eˣ))")),
  SIMPLE ("Softplus", no_options, N_ ("log (1 + eˣ)")),
  SIMPLE ("LogSigmoid", no_options, N_ ("log σ(x)")),
  SIMPLE ("LeakyReLU", leaky_options, N_ ("x > 0 ? x : alpha x")),
  SIMPLE ("Softsign", no_options, N_ ("x / (1 + |x|)")),
  SIMPLE ("HShrink", lambd_options, N_ ("0 where |x| ≤ lambd, else x")),
  SIMPLE ("SoftShrink", lambd_options, N_ ("x moved towards 0 by lambd, not past it")),
  SIMPLE ("Tanhshrink", no_options, N_ ("x - tanh x")),
  SIMPLE ("Threshold", threshold_options, N_ ("x > threshold ? x : value")),
  SIMPLE ("Hardtanh", hardtanh_options, N_ ("x held between min_val and max_val")),
  { "PReLU", N_ ("x > 0 ? x : w x, with w learned"), 1, 1, prelu_options, build_prelu },
  { "GLU", N_ ("first half of axis times σ of the second half"), 1, 1, axis_options, build_glu },
  { "Softmax", N_ ("eˣ divided by its sum over axis"), 1, 1, axis_options, build_softmax },
  { "LogSoftmax", N_ ("logarithm of Softmax"), 1, 1, axis_options, build_softmax },
  { "Softmin", N_ ("Softmax of -x"), 1, 1, axis_options, build_softmax },
  { NULL },
};
