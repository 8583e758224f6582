/* SPDX-License-Identifier: Apache-2.0 */
#include "ops/truth-map-b.h"
#include <math.h>
#include <string.h>

/* torch's attention, recurrent cells and resizing, put together from our rows. */

/* ---- attention ---- */

static TnValue *
softmax (TnGraph *graph, TnValue *x)
{
  return tn_op (graph, "Softmax", TN_IN (x), TN_ATTRS (tn_attr_int ("axis", -1)));
}

/* 0 where key <= query, else -inf: [queries][keys], aligned at the top left. */
static TnValue *
causal_mask (TruthCase *c, TnGraph *graph, int64_t queries, int64_t keys)
{
  g_autoptr (TnTensor) mask = tn_tensor_new (c->dtype, TN_SHAPE (queries, keys), NULL);
  for (int64_t q = 0; q < queries; q++)
    for (int64_t k = q + 1; k < keys; k++)
      tn_tensor_set (mask, q * keys + k, -INFINITY);
  return tn_graph_add_constant (graph, mask);
}

gboolean
truth_build_attention (TruthCase *c, TnGraph *graph)
{
  TnValue *q = truth_input (c, "q"), *k = truth_input (c, "k"), *v = truth_input (c, "v"),
          *mask = truth_input (c, "mask");
  int n = q->shape.n_dims;
  if (truth_bool (c, "enable_gqa", FALSE))
    {
      TnAttr attrs[] = { tn_attr_int ("repeats", q->shape.dims[n - 3] / k->shape.dims[n - 3]),
                         tn_attr_int ("axis", -3) };
      k = tn_op (graph, "RepeatElements", TN_IN (k), 2, attrs);
      v = tn_op (graph, "RepeatElements", TN_IN (v), 2, attrs);
    }
  double scale = truth_float (c, "scale", 1 / sqrt ((double) q->shape.dims[n - 1]));
  TnValue *scores = truth_times (
      graph, tn_op (graph, "BatchMatMul", TN_IN (q, k), TN_ATTRS (tn_attr_bool ("transpose_b", TRUE))), scale);
  if (truth_bool (c, "is_causal", FALSE))
    scores = truth_apply (graph, "Add", scores, causal_mask (c, graph, q->shape.dims[n - 2], k->shape.dims[n - 2]));
  if (mask != NULL && mask->dtype == TN_DTYPE_BOOL)
    scores = tn_op (graph, "MaskedFill", TN_IN (scores, truth_apply (graph, "LogicalNot", mask, NULL)),
                    TN_ATTRS (tn_attr_float ("value", -INFINITY)));
  else if (mask != NULL)
    scores = truth_apply (graph, "Add", scores, mask);
  truth_output (c, truth_apply (graph, "BatchMatMul", softmax (graph, scores), v));
  return TRUE;
}

/* [T,N,E] -> [N·heads][T][E/heads] */
static TnValue *
to_heads (TnGraph *graph, TnValue *x, int64_t heads)
{
  const int64_t *d = x->shape.dims;
  return truth_swap (graph, truth_reshape (graph, x, TN_SHAPE (d[0], d[1] * heads, d[2] / heads)), 0, 1);
}

gboolean
truth_build_multi_head_attention (TruthCase *c, TnGraph *graph)
{
  TnValue *x = truth_input (c, "x"), *parts[3];
  int64_t heads = truth_int (c, "heads", 1), steps = x->shape.dims[0], batch = x->shape.dims[1],
          width = x->shape.dims[2];
  TnValue *all = truth_linear (graph, x, truth_input (c, "w_in"), truth_input (c, "b_in"));
  TnValue *split =
      tn_op (graph, "Split", TN_IN (all), TN_ATTRS (tn_attr_int ("axis", 2), tn_attr_int ("output_num", 3)));
  for (int i = 0; i < 3; i++)
    parts[i] = to_heads (graph, tn_value_sibling (split, i), heads);
  TnValue *scores =
      tn_op (graph, "BatchMatMul", TN_IN (parts[0], parts[1]), TN_ATTRS (tn_attr_bool ("transpose_b", TRUE)));
  TnValue *weights = softmax (graph, truth_times (graph, scores, 1 / sqrt ((double) width / (double) heads)));
  TnValue *y = truth_swap (graph, truth_apply (graph, "BatchMatMul", weights, parts[2]), 0, 1);
  y = truth_linear (graph, truth_reshape (graph, y, TN_SHAPE (steps, batch, width)), truth_input (c, "w_out"),
                    truth_input (c, "b_out"));
  weights = truth_reshape (graph, weights, TN_SHAPE (batch, heads, steps, steps));
  truth_output (c, y);
  truth_output (c, tn_op (graph, "ReduceMean", TN_IN (weights), TN_ATTRS (tn_attr_ints ("axis", 1, (int64_t[]){ 1 }))));
  return TRUE;
}

/* ---- recurrent cells ---- */

typedef struct
{
  TnValue *h, *c;
} State;

static TnValue *
gate (TnGraph *graph, const char *activation, TnValue *x)
{
  return truth_apply (graph, activation, x, NULL);
}

static TnValue *
sum (TnGraph *graph, TnValue *a, TnValue *b)
{
  return truth_apply (graph, "Add", a, b);
}

static TnValue *
times (TnGraph *graph, TnValue *a, TnValue *b)
{
  return truth_apply (graph, "Mul", a, b);
}

/* Gates i, f, g, o: c' = f c + i g, h' = o tanh (c'). */
static State
lstm (TnGraph *graph, TnValue *from_x, TnValue *from_h, State s)
{
  TnValue *gates = tn_op (graph, "Split", TN_IN (sum (graph, from_x, from_h)),
                          TN_ATTRS (tn_attr_int ("axis", 1), tn_attr_int ("output_num", 4)));
  TnValue *i = gate (graph, "Sigmoid", gates), *f = gate (graph, "Sigmoid", tn_value_sibling (gates, 1));
  TnValue *g = gate (graph, "Tanh", tn_value_sibling (gates, 2)),
          *o = gate (graph, "Sigmoid", tn_value_sibling (gates, 3));
  TnValue *cell = sum (graph, times (graph, f, s.c), times (graph, i, g));
  return (State){ times (graph, o, gate (graph, "Tanh", cell)), cell };
}

/* Gates r, z, n: n = tanh (x_n + r h_n), h' = n + z (h - n). */
static State
gru (TnGraph *graph, TnValue *from_x, TnValue *from_h, State s)
{
  TnAttr attrs[] = { tn_attr_int ("axis", 1), tn_attr_int ("output_num", 3) };
  TnValue *x = tn_op (graph, "Split", TN_IN (from_x), 2, attrs), *h = tn_op (graph, "Split", TN_IN (from_h), 2, attrs);
  TnValue *r = gate (graph, "Sigmoid", sum (graph, x, h)),
          *z = gate (graph, "Sigmoid", sum (graph, tn_value_sibling (x, 1), tn_value_sibling (h, 1)));
  TnValue *n = gate (graph, "Tanh", sum (graph, tn_value_sibling (x, 2), times (graph, r, tn_value_sibling (h, 2))));
  return (State){ sum (graph, n, times (graph, z, truth_apply (graph, "Sub", s.h, n))), NULL };
}

static State
cell (TruthCase *c, TnGraph *graph, TnValue *x, State s)
{
  TnValue *from_x = truth_linear (graph, x, truth_input (c, "w_ih"), truth_input (c, "b_ih"));
  TnValue *from_h = truth_linear (graph, s.h, truth_input (c, "w_hh"), truth_input (c, "b_hh"));
  if (g_str_has_prefix (c->op, "lstm"))
    return lstm (graph, from_x, from_h, s);
  if (g_str_has_prefix (c->op, "gru"))
    return gru (graph, from_x, from_h, s);
  return (State){ gate (graph, strstr (c->op, "relu") != NULL ? "ReLU" : "Tanh", sum (graph, from_x, from_h)), NULL };
}

/* A cell gives h (and c), a sequence its outputs before them. */
gboolean
truth_build_recurrent (TruthCase *c, TnGraph *graph)
{
  State s = { truth_input (c, "h"), truth_input (c, "c") };
  TnValue *x = truth_input (c, "x");
  if (strstr (c->op, "sequence") != NULL)
    {
      int64_t steps = x->shape.dims[0];
      g_autofree TnValue **outputs = g_new0 (TnValue *, steps);
      TnValue *parts = tn_op (graph, "Unstack", TN_IN (x), TN_ATTRS (tn_attr_int ("axis", 0)));
      for (int64_t t = 0; t < steps; t++)
        {
          s = cell (c, graph, tn_value_sibling (parts, (int) t), s);
          outputs[t] = s.h;
        }
      truth_output (c, tn_op (graph, "Stack", (int) steps, outputs, TN_ATTRS (tn_attr_int ("axis", 0))));
    }
  else
    s = cell (c, graph, x, s);
  truth_output (c, s.h);
  if (s.c != NULL)
    truth_output (c, s.c);
  return TRUE;
}

/* ---- resize ---- */

gboolean
truth_build_interpolate (TruthCase *c, TnGraph *graph)
{
  int64_t size[TRUTH_MAX_INTS];
  const char *mode = truth_string (c, "mode", "nearest");
  TnValue *x = truth_input (c, "x");
  int n = truth_ints (c, "size", size);
  if (n == 0 || strstr (mode, "cubic") != NULL || strcmp (mode, "area") == 0)
    return FALSE;
  for (; n < x->shape.n_dims - 2; n++)
    size[n] = size[0];
  truth_output (c, tn_op (graph, "Resize", TN_IN (x),
                          TN_ATTRS (tn_attr_ints ("size", n, size), tn_attr_string ("mode", mode),
                                    tn_attr_bool ("align_corners", truth_bool (c, "align_corners", FALSE)),
                                    tn_attr_bool ("antialias", truth_bool (c, "antialias", FALSE)))));
  return TRUE;
}
