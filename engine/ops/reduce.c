/* SPDX-License-Identifier: Apache-2.0 */
#include "base/error.h"
#include "ops/broadcast.h"
#include "ops/families.h"
#include "ops/reduce-groups.h"
#include "ops/scan.h"
#include <math.h>

/* Reductions over any axes. Floats are accumulated in double, in the fixed order of reduce-groups.h, and rounded once. */

/* ---- one group ---- */

typedef struct
{
  const TnGroups *groups;
  TnDType dtype;
  const void *data;
  int64_t start; /* of the group, in elements */
  double p;      /* correction, order of a norm */
} Group;

/* What a pass carries along. */
typedef struct
{
  double sum, shift, p;
  int64_t count;
} Pass;

typedef struct
{
  void (*f32) (Pass *pass, const float *x, int64_t n, int64_t stride);
  void (*f64) (Pass *pass, const double *x, int64_t n, int64_t stride);
} Run;

static void
walk (const Group *group, const Run *run, Pass *pass)
{
  const TnGroups *g = group->groups;
  for (int64_t r = 0; r < g->n_runs; r++)
    {
      int64_t at = group->start + tn_run_start (g, r);
      if (group->dtype == TN_DTYPE_F32)
        run->f32 (pass, (const float *) group->data + at, g->run_length, g->run_stride);
      else
        run->f64 (pass, (const double *) group->data + at, g->run_length, g->run_stride);
    }
}

/* Side by side: eight sums, so that the additions do not wait for each other. */
#define SUM_RUN(name, T)                                                                                                         \
  static void name (Pass *pass, const T *x, int64_t n, int64_t stride)                                                           \
  {                                                                                                                              \
    double lanes[8] = { 0 };                                                                                                     \
    int64_t i = 0;                                                                                                               \
    if (stride == 1)                                                                                                             \
      for (; i + 8 <= n; i += 8)                                                                                                 \
        for (int k = 0; k < 8; k++)                                                                                              \
          lanes[k] += (double) x[i + k];                                                                                         \
    for (; i < n; i++)                                                                                                           \
      lanes[0] += (double) x[i * stride];                                                                                        \
    pass->sum += ((lanes[0] + lanes[4]) + (lanes[2] + lanes[6])) + ((lanes[1] + lanes[5]) + (lanes[3] + lanes[7]));              \
  }
SUM_RUN (sum_f32, float)
SUM_RUN (sum_f64, double)
static const Run sum_run = { sum_f32, sum_f64 };

#define RUN_OF(name, T, ...)                                                                                                     \
  static void name (Pass *pass, const T *x, int64_t n, int64_t stride)                                                           \
  {                                                                                                                              \
    for (int64_t i = 0; i < n; i++)                                                                                              \
      {                                                                                                                          \
        const double v = (double) x[i * stride];                                                                                 \
        __VA_ARGS__                                                                                                              \
      }                                                                                                                          \
  }
#define RUN(name, ...)                                                                                                           \
  RUN_OF (name##_f32, float, __VA_ARGS__)                                                                                        \
  RUN_OF (name##_f64, double, __VA_ARGS__)                                                                                       \
  static const Run name##_run = { name##_f32, name##_f64 };

RUN (square, pass->sum += (v - pass->shift) * (v - pass->shift);)
RUN (absolute, pass->sum += fabs (v);)
RUN (power, pass->sum += pow (fabs (v), pass->p);)
RUN (nonzero, pass->sum += v != 0;)
RUN (product, pass->sum *= v;)
RUN (exponential, pass->sum += exp (v - pass->shift);)
/* A NaN wins and stays. */
RUN (largest, if (v > pass->sum || v != v) pass->sum = pass->sum != pass->sum ? pass->sum : v;)
RUN (smallest, if (v < pass->sum || v != v) pass->sum = pass->sum != pass->sum ? pass->sum : v;)
RUN (largest_absolute, double size = fabs (v); if (size > pass->sum || v != v) pass->sum = pass->sum != pass->sum ? pass->sum : size;)
RUN (smallest_absolute, double size = fabs (v); if (size < pass->sum || v != v) pass->sum = pass->sum != pass->sum ? pass->sum : size;)
/* Product of what is not 0, and how many are. */
RUN (nonzero_product, if (v == 0) pass->count++; else pass->sum *= v;)

static double
run_once (const Group *group, const Run *run, Pass pass)
{
  walk (group, run, &pass);
  return pass.sum;
}

static double
sum_of (const Group *group)
{
  return run_once (group, &sum_run, (Pass){ 0 });
}

static double
mean_of (const Group *group)
{
  return sum_of (group) / (double) group->groups->group_size; /* of nothing: NaN */
}

static double
prod_of (const Group *group)
{
  return run_once (group, &product_run, (Pass){ .sum = 1 });
}

static double
max_of (const Group *group)
{
  return run_once (group, &largest_run, (Pass){ .sum = -INFINITY });
}

static double
min_of (const Group *group)
{
  return run_once (group, &smallest_run, (Pass){ .sum = INFINITY });
}

/* Two passes: no cancellation. */
static double
var_of (const Group *group)
{
  double free_values = (double) group->groups->group_size - group->p;
  return run_once (group, &square_run, (Pass){ .shift = mean_of (group) }) / MAX (free_values, 0);
}

static double
std_of (const Group *group)
{
  return sqrt (var_of (group));
}

static double
logsumexp_of (const Group *group)
{
  double largest = max_of (group), shift = isinf (largest) ? 0 : largest;
  return log (run_once (group, &exponential_run, (Pass){ .shift = shift })) + shift;
}

static double
norm_of (const Group *group)
{
  double p = group->p;
  if (p == 0)
    return run_once (group, &nonzero_run, (Pass){ 0 });
  if (p == 1)
    return run_once (group, &absolute_run, (Pass){ 0 });
  if (p == 2)
    return sqrt (run_once (group, &square_run, (Pass){ 0 }));
  if (isinf (p))
    return p > 0 ? run_once (group, &largest_absolute_run, (Pass){ 0 })
                 : run_once (group, &smallest_absolute_run, (Pass){ .sum = INFINITY });
  return pow (run_once (group, &power_run, (Pass){ .p = p }), 1 / p);
}

/* ---- integers: exact, wrapping around ---- */

typedef int64_t (*Fold) (int64_t so_far, int64_t value);

static int64_t fold_sum (int64_t a, int64_t v) { return (int64_t) ((uint64_t) a + (uint64_t) v); }
static int64_t fold_prod (int64_t a, int64_t v) { return (int64_t) ((uint64_t) a * (uint64_t) v); }
static int64_t fold_max (int64_t a, int64_t v) { return MAX (a, v); }
static int64_t fold_min (int64_t a, int64_t v) { return MIN (a, v); }

static int64_t
fold_group (const Group *group, Fold fold, int64_t so_far)
{
  const TnGroups *g = group->groups;
  for (int64_t r = 0; r < g->n_runs; r++)
    for (int64_t i = 0, at = group->start + tn_run_start (g, r); i < g->run_length; i++, at += g->run_stride)
      so_far = fold (so_far, tn_dtype_load_int (group->dtype, group->data, (size_t) at));
  return so_far;
}

/* ---- kernels ---- */

typedef struct
{
  double (*of) (const Group *group);
  Fold fold; /* NULL: floating only */
  int64_t fold_start;
} Reduction;

static gboolean
reduce (const TnKernelContext *context, const Reduction *reduction, double p, GError **error)
{
  const TnNode *node = context->node;
  gboolean reduced[TN_MAX_DIMS];
  TnGroups groups;
  TnDType dtype = tn_in_dtype (node, 0);
  if (!tn_reduced_axes (node, tn_in_shape (node, 0), reduced, error))
    return FALSE;
  tn_groups_init (&groups, tn_in_shape (node, 0), reduced);
  gboolean is_float = dtype == TN_DTYPE_F32 || dtype == TN_DTYPE_F64;
  if (!is_float && (reduction->fold == NULL || tn_dtype_is_float (dtype)))
    return tn_infer_error (node, error, _ ("no kernel for %s"), tn_dtype_name (dtype));
  for (int64_t i = 0; i < groups.n_groups; i++)
    {
      Group group = { &groups, dtype, context->in[0], tn_group_start (&groups, i), p };
      if (dtype == TN_DTYPE_F32)
        ((float *) context->out[0])[i] = (float) reduction->of (&group);
      else if (dtype == TN_DTYPE_F64)
        ((double *) context->out[0])[i] = reduction->of (&group);
      else
        tn_store_wrapped (dtype, context->out[0], i, fold_group (&group, reduction->fold, reduction->fold_start));
    }
  return TRUE;
}

/* Sums over outer dimensions (bias gradients): the groups lie side by side, so rows are added up, some columns at a time. */
#define COLUMNS 64
#define SUM_COLUMNS(name, T)                                                                                                     \
  static void name (const TnGroups *g, const T *x, T *out, double divisor)                                                       \
  {                                                                                                                              \
    int64_t width = g->kept_dims[g->n_kept - 1];                                                                                 \
    for (int64_t first = 0; first < g->n_groups; first += width)                                                                 \
      for (int64_t column = 0; column < width; column += COLUMNS)                                                                \
        {                                                                                                                        \
          int64_t start = tn_group_start (g, first) + column, n = MIN (COLUMNS, width - column);                                 \
          double sums[COLUMNS] = { 0 };                                                                                          \
          for (int64_t r = 0; r < g->n_runs; r++)                                                                                \
            for (int64_t i = 0, at = start + tn_run_start (g, r); i < g->run_length; i++, at += g->run_stride)                   \
              for (int64_t k = 0; k < n; k++)                                                                                    \
                sums[k] += (double) x[at + k];                                                                                   \
          for (int64_t k = 0; k < n; k++)                                                                                        \
            out[first + column + k] = (T) (sums[k] / divisor);                                                                   \
        }                                                                                                                        \
  }
SUM_COLUMNS (sum_columns_f32, float)
SUM_COLUMNS (sum_columns_f64, double)

static gboolean
sum_or_mean (const TnKernelContext *context, gboolean mean, GError **error)
{
  static const Reduction sum = { sum_of, fold_sum, 0 }, average = { mean_of, NULL, 0 };
  gboolean reduced[TN_MAX_DIMS];
  TnGroups groups;
  TnDType dtype = tn_in_dtype (context->node, 0);
  if (!tn_reduced_axes (context->node, tn_in_shape (context->node, 0), reduced, error))
    return FALSE;
  tn_groups_init (&groups, tn_in_shape (context->node, 0), reduced);
  gboolean columns = groups.n_groups > 0 && groups.n_kept > 0 && groups.kept_strides[groups.n_kept - 1] == 1;
  if (columns && dtype == TN_DTYPE_F32)
    sum_columns_f32 (&groups, context->in[0], context->out[0], mean ? (double) groups.group_size : 1);
  else if (columns && dtype == TN_DTYPE_F64)
    sum_columns_f64 (&groups, context->in[0], context->out[0], mean ? (double) groups.group_size : 1);
  else
    return reduce (context, mean ? &average : &sum, 0, error);
  return TRUE;
}

static gboolean
sum_kernel (const TnKernelContext *context, GError **error)
{
  return sum_or_mean (context, FALSE, error);
}

static gboolean
mean_kernel (const TnKernelContext *context, GError **error)
{
  return sum_or_mean (context, TRUE, error);
}

#define REDUCE_KERNEL(name, fold, fold_start, p)                                                                                 \
  static gboolean name##_kernel (const TnKernelContext *context, GError **error)                                                 \
  {                                                                                                                              \
    static const Reduction reduction = { name##_of, fold, fold_start };                                                          \
    return reduce (context, &reduction, p, error);                                                                               \
  }

REDUCE_KERNEL (prod, fold_prod, 1, 0)
REDUCE_KERNEL (max, fold_max, INT64_MIN, 0)
REDUCE_KERNEL (min, fold_min, INT64_MAX, 0)
REDUCE_KERNEL (logsumexp, NULL, 0, 0)
REDUCE_KERNEL (var, NULL, 0, (double) tn_node_int (context->node, "correction"))
REDUCE_KERNEL (std, NULL, 0, (double) tn_node_int (context->node, "correction"))
REDUCE_KERNEL (norm, NULL, 0, tn_node_float (context->node, "p"))

/* ---- gradient kernels: dx of the input's shape from dy (and y), one element a group ---- */

typedef struct
{
  Group group;
  double dy, y;
  Pass found; /* from a walk over the group before */
} GroupGradient;

/* d (Π x) / dx_i = Π of the others: with one 0 only there, with two nowhere. */
static double
prod_slope (const GroupGradient *g, double x)
{
  if (g->found.count == 0)
    return g->dy * (g->found.sum / x);
  return x == 0 && g->found.count == 1 ? g->dy * g->found.sum : 0;
}

static void
prepare_prod (GroupGradient *g)
{
  g->found = (Pass){ .sum = 1 };
  walk (&g->group, &nonzero_product_run, &g->found);
}

/* Of |x|_p: sign (x) |x|^(p-1) / y^(p-1); where y is 0 the slope is 0; the infinite norm is shared by those that attain it. */
static double
norm_slope (const GroupGradient *g, double x)
{
  double p = g->group.p, sign = (x > 0) - (x < 0);
  if (p == 0)
    return 0;
  if (p == 1)
    return g->dy * sign;
  if (isinf (p))
    return fabs (x) == g->y ? g->dy * sign / (double) g->found.count : 0;
  if (g->y == 0 || (x == 0 && p < 1))
    return 0;
  if (p == 2)
    return g->dy * (x / g->y);
  return g->dy * sign * pow (fabs (x) / g->y, p - 1);
}

RUN (attaining, if (fabs (v) == pass->shift) pass->count++;)

static void
prepare_norm (GroupGradient *g)
{
  g->found = (Pass){ .shift = g->y };
  if (isinf (g->group.p))
    walk (&g->group, &attaining_run, &g->found);
}

typedef void (*Prepare) (GroupGradient *g);
typedef double (*Slope) (const GroupGradient *g, double x);

/* Inputs: dy, x and, where there is one, y. */
static gboolean
reduce_gradient (const TnKernelContext *context, Prepare prepare, Slope slope, double p, GError **error)
{
  const TnNode *node = context->node;
  gboolean reduced[TN_MAX_DIMS];
  TnGroups groups;
  TnDType dtype = tn_in_dtype (node, 0);
  if (!tn_reduced_axes (node, tn_in_shape (node, 1), reduced, error))
    return FALSE;
  tn_groups_init (&groups, tn_in_shape (node, 1), reduced);
  for (int64_t i = 0; i < groups.n_groups; i++)
    {
      GroupGradient g = { .group = { &groups, dtype, context->in[1], tn_group_start (&groups, i), p } };
      g.dy = tn_dtype_load (dtype, context->in[0], (size_t) i);
      g.y = tn_has_input (node, 2) ? tn_dtype_load (dtype, context->in[2], (size_t) i) : 0;
      prepare (&g);
      for (int64_t r = 0; r < groups.n_runs; r++)
        for (int64_t k = 0, at = g.group.start + tn_run_start (&groups, r); k < groups.run_length; k++, at += groups.run_stride)
          tn_dtype_store (dtype, context->out[0], (size_t) at, slope (&g, tn_dtype_load (dtype, context->in[1], (size_t) at)));
    }
  return TRUE;
}

static gboolean
prod_grad_kernel (const TnKernelContext *context, GError **error)
{
  return reduce_gradient (context, prepare_prod, prod_slope, 0, error);
}

static gboolean
norm_grad_kernel (const TnKernelContext *context, GError **error)
{
  return reduce_gradient (context, prepare_norm, norm_slope, tn_node_float (context->node, "p"), error);
}

/* ---- shape rules ---- */

static gboolean
infer_reduce (TnNode *node, GError **error)
{
  gboolean reduced[TN_MAX_DIMS];
  if (tn_in_dtype (node, 0) == TN_DTYPE_BOOL)
    return tn_infer_error (node, error, _ ("works on numbers, not bool: add a Cast"));
  if (!tn_reduced_axes (node, tn_in_shape (node, 0), reduced, error))
    return FALSE;
  tn_set_output (node, 0, tn_in_dtype (node, 0), tn_reduced_shape (tn_in_shape (node, 0), reduced, tn_node_bool (node, "keep_dims")));
  return TRUE;
}

static gboolean
infer_reduce_float (TnNode *node, GError **error)
{
  return tn_infer_same_float (node, error) && infer_reduce (node, error);
}

/* The largest of nothing is nothing. */
static gboolean
infer_extreme (TnNode *node, GError **error)
{
  if (!infer_reduce (node, error))
    return FALSE;
  if (tn_shape_count (tn_in_shape (node, 0)) == 0 && tn_shape_count (&node->outputs[0].shape) > 0)
    return tn_infer_error (node, error, _ ("there is no largest or smallest element of an empty axis"));
  return TRUE;
}

static gboolean
infer_reduce_grad (TnNode *node, GError **error)
{
  gboolean reduced[TN_MAX_DIMS];
  const TnShape *x = tn_in_shape (node, 1);
  if (!tn_infer_same_float (node, error) || !tn_reduced_axes (node, x, reduced, error))
    return FALSE;
  TnShape groups = tn_reduced_shape (x, reduced, FALSE);
  for (int i = 0; i < node->n_inputs; i++)
    if (i != 1 && tn_shape_count (tn_in_shape (node, i)) != tn_shape_count (&groups))
      return tn_infer_error (node, error, _ ("the gradient must have one element for each reduced group"));
  tn_set_output (node, 0, tn_in_dtype (node, 0), *x);
  return TRUE;
}

/* ---- gradients ---- */

/* The axes of the forward node, spelled out. */
typedef struct
{
  int64_t axes[TN_MAX_DIMS];
  int n_axes;
  double group_size;
  TnShape kept; /* of the result with 1 for the reduced dimensions */
} Axes;

static Axes
axes_of (const TnNode *node)
{
  Axes a = { .group_size = 1 };
  gboolean reduced[TN_MAX_DIMS];
  const TnShape *x = tn_in_shape (node, 0);
  tn_reduced_axes (node, x, reduced, NULL); /* the shape rule has checked them */
  for (int d = 0; d < x->n_dims; d++)
    if (reduced[d])
      {
        a.axes[a.n_axes++] = d;
        a.group_size *= (double) x->dims[d];
      }
  a.kept = tn_reduced_shape (x, reduced, TRUE);
  return a;
}

/* A result with the reduced dimensions back as 1, so that it broadcasts against the input. */
static TnValue *
restore (TnGraph *g, const Axes *axes, TnValue *value)
{
  if (value == NULL || tn_shape_equal (&value->shape, &axes->kept))
    return value;
  return tn_op (g, "Reshape", TN_IN (value), TN_ATTRS (tn_attr_ints ("shape", axes->kept.n_dims, axes->kept.dims)));
}

static TnValue *
spread (TnGraph *g, TnValue *value, const TnShape *shape)
{
  if (value == NULL || tn_shape_equal (&value->shape, shape))
    return value;
  return tn_op (g, "BroadcastTo", TN_IN (value), TN_ATTRS (tn_attr_ints ("shape", shape->n_dims, shape->dims)));
}

/* @op over the same axes, dimensions kept. An empty list would mean all of them, but then there is nothing to reduce. */
static TnValue *
reduce_again (TnGraph *g, const char *op, const Axes *axes, TnValue *x)
{
  if (axes->n_axes == 0)
    return x;
  return tn_op (g, op, TN_IN (x), TN_ATTRS (tn_attr_ints ("axis", axes->n_axes, axes->axes), tn_attr_bool ("keep_dims", TRUE)));
}

static void
sum_gradient (TnGradient *d)
{
  Axes axes = axes_of (d->node);
  d->grad_inputs[0] = spread (d->graph, restore (d->graph, &axes, d->grad_outputs[0]), tn_in_shape (d->node, 0));
}

static void
mean_gradient (TnGradient *d)
{
  Axes axes = axes_of (d->node);
  TnValue *dy = tn_apply_number (d->graph, "Div", d->grad_outputs[0], axes.group_size);
  d->grad_inputs[0] = spread (d->graph, restore (d->graph, &axes, dy), tn_in_shape (d->node, 0));
}

static void
prod_gradient (TnGradient *d)
{
  Axes axes = axes_of (d->node);
  d->grad_inputs[0] = tn_op (d->graph, "ReduceProdGrad", TN_IN (d->grad_outputs[0], d->node->inputs[0]),
                             TN_ATTRS (tn_attr_ints ("axis", axes.n_axes, axes.axes)));
}

/* Those that attain the extreme share the gradient evenly. */
static void
extreme_gradient (TnGradient *d)
{
  TnGraph *g = d->graph;
  Axes axes = axes_of (d->node);
  TnValue *x = d->node->inputs[0], *dy = restore (g, &axes, d->grad_outputs[0]);
  TnValue *attains = tn_apply2 (g, "Equal", x, restore (g, &axes, tn_forward_output (d, 0)));
  TnValue *mask = tn_op (g, "Cast", TN_IN (attains), TN_ATTRS (tn_attr_dtype ("dtype", x->dtype)));
  d->grad_inputs[0] = tn_apply2 (g, "Div", tn_apply2 (g, "Mul", mask, dy), reduce_again (g, "ReduceSum", &axes, mask));
}

/* 2 (x - mean) dy / (n - correction) */
static TnValue *
var_slope (TnGradient *d, const Axes *axes, TnValue *dy)
{
  TnGraph *g = d->graph;
  TnValue *x = d->node->inputs[0];
  double free_values = axes->group_size - (double) tn_node_int (d->node, "correction");
  TnValue *centred = tn_apply2 (g, "Sub", x, reduce_again (g, "ReduceMean", axes, x));
  return tn_apply2 (g, "Mul", centred, restore (g, axes, tn_apply_number (g, "Mul", dy, 2 / free_values)));
}

static void
var_gradient (TnGradient *d)
{
  Axes axes = axes_of (d->node);
  d->grad_inputs[0] = var_slope (d, &axes, d->grad_outputs[0]);
}

/* @a / @b, and 0 where @b is. */
static TnValue *
over_nonzero (TnGraph *g, TnValue *a, TnValue *b)
{
  if (b == NULL)
    return NULL;
  TnValue *zero = tn_graph_add_scalar (g, b->dtype, 0);
  return tn_op (g, "Select", TN_IN (tn_apply2 (g, "Equal", b, zero), zero, tn_apply2 (g, "Div", a, b)), TN_NO_ATTRS);
}

static void
std_gradient (TnGradient *d)
{
  Axes axes = axes_of (d->node);
  TnValue *twice = tn_apply_number (d->graph, "Mul", tn_forward_output (d, 0), 2);
  d->grad_inputs[0] = var_slope (d, &axes, over_nonzero (d->graph, d->grad_outputs[0], twice));
}

static void
logsumexp_gradient (TnGradient *d)
{
  TnGraph *g = d->graph;
  Axes axes = axes_of (d->node);
  TnValue *share = tn_apply1 (g, "Exp", tn_apply2 (g, "Sub", d->node->inputs[0], restore (g, &axes, tn_forward_output (d, 0))));
  d->grad_inputs[0] = tn_apply2 (g, "Mul", share, restore (g, &axes, d->grad_outputs[0]));
}

static void
norm_gradient (TnGradient *d)
{
  Axes axes = axes_of (d->node);
  d->grad_inputs[0] = tn_op (d->graph, "LpNormGrad", TN_IN (d->grad_outputs[0], d->node->inputs[0], tn_forward_output (d, 0)),
                             TN_ATTRS (tn_attr_ints ("axis", axes.n_axes, axes.axes), tn_attr_float ("p", tn_node_float (d->node, "p"))));
}

/* ---- GlobalNorm: all inputs as one long vector ---- */

static gboolean
infer_global_norm (TnNode *node, GError **error)
{
  for (int i = 0; i < node->n_inputs; i++)
    if (!tn_dtype_is_float (tn_in_dtype (node, i)))
      return tn_infer_error (node, error, _ ("input %d is %s, not floating"), i, tn_dtype_name (tn_in_dtype (node, i)));
  tn_set_output (node, 0, tn_in_dtype (node, 0) == TN_DTYPE_F64 ? TN_DTYPE_F64 : TN_DTYPE_F32, TN_SHAPE_SCALAR);
  return TRUE;
}

static gboolean
global_norm_kernel (const TnKernelContext *context, GError **error)
{
  const TnNode *node = context->node;
  double sum = 0;
  for (int i = 0; i < node->n_inputs; i++)
    {
      int64_t n = tn_shape_count (tn_in_shape (node, i));
      Pass pass = { 0 };
      TN_FLOAT_CASES (tn_in_dtype (node, i), T, {
        const T *x = context->in[i];
        double lanes[8] = { 0 };
        int64_t k = 0;
        for (; k + 8 <= n; k += 8)
          for (int lane = 0; lane < 8; lane++)
            lanes[lane] += (double) x[k + lane] * (double) x[k + lane];
        for (; k < n; k++)
          lanes[0] += (double) x[k] * (double) x[k];
        pass.sum = ((lanes[0] + lanes[4]) + (lanes[2] + lanes[6])) + ((lanes[1] + lanes[5]) + (lanes[3] + lanes[7]));
      })
      sum += pass.sum;
    }
  tn_dtype_store (node->outputs[0].dtype, context->out[0], 0, sqrt (sum));
  return TRUE;
}

static void
global_norm_gradient (TnGradient *d)
{
  TnGraph *g = d->graph;
  TnValue *scale = over_nonzero (g, d->grad_outputs[0], tn_forward_output (d, 0));
  for (int i = 0; i < d->node->n_inputs; i++)
    if (d->wanted[i])
      {
        TnValue *x = d->node->inputs[i];
        d->grad_inputs[i] = tn_apply2 (g, "Mul", x, tn_op (g, "Cast", TN_IN (scale), TN_ATTRS (tn_attr_dtype ("dtype", x->dtype))));
      }
}

/* ---- costs ---- */

static void
count_inputs (const TnNode *node, TnCost *cost, double each)
{
  cost->flops = 0;
  for (int i = 0; i < node->n_inputs; i++)
    cost->flops += each * (double) tn_shape_count (tn_in_shape (node, i));
}

static void
one_each_cost (const TnNode *node, TnCost *cost)
{
  count_inputs (node, cost, 1);
}

static void
two_each_cost (const TnNode *node, TnCost *cost)
{
  count_inputs (node, cost, 2);
}

/* Mean, difference, square, sum. */
static void
four_each_cost (const TnNode *node, TnCost *cost)
{
  count_inputs (node, cost, 4);
}

/* ---- the rows ---- */

#define AXES { "axis", TN_ATTR_INTS }, { "keep_dims", TN_ATTR_BOOL, .number = FALSE }
static const TnAttrSpec reduce_attrs[] = { AXES, { 0 } };
static const TnAttrSpec var_attrs[] = { AXES, { "correction", TN_ATTR_INT, .number = 1 }, { 0 } };
static const TnAttrSpec norm_attrs[] = { AXES, { "p", TN_ATTR_FLOAT, .number = 2 }, { 0 } };
static const TnAttrSpec scan_attrs[] = {
  { "axis", TN_ATTR_INT, .number = 0 }, { "exclusive", TN_ATTR_BOOL, .number = FALSE }, { "reverse", TN_ATTR_BOOL, .number = FALSE }, { 0 }
};
static const TnAttrSpec indexed_attrs[] = { { "axis", TN_ATTR_INT, .number = 0 }, { "keep_dims", TN_ATTR_BOOL, .number = FALSE }, { 0 } };
static const TnAttrSpec indexed_grad_attrs[] = { { "axis", TN_ATTR_INT, .number = 0 }, { "shape", TN_ATTR_INTS, .required = TRUE }, { 0 } };

#define REDUCE(name_, fn, attrs_, infer_, gradient_, cost_, doc_)                                                                \
  { .name = name_, .doc = doc_, .min_inputs = 1, .max_inputs = 1, .n_outputs = 1, .attrs = attrs_, .infer = infer_,              \
    .gradient = gradient_##_gradient, .cost = cost_##_each_cost, .reference = fn##_kernel }

const TnOp tn_ops_reduce[] = {
  REDUCE ("ReduceSum", sum, reduce_attrs, infer_reduce, sum, one, "sum over the axes (empty: all)"),
  REDUCE ("ReduceMean", mean, reduce_attrs, infer_reduce_float, mean, one, "mean over the axes; NaN of nothing"),
  REDUCE ("ReduceProd", prod, reduce_attrs, infer_reduce, prod, one, "product over the axes"),
  REDUCE ("ReduceMax", max, reduce_attrs, infer_extreme, extreme, one, "largest over the axes; NaN wins; ties share the gradient"),
  REDUCE ("ReduceMin", min, reduce_attrs, infer_extreme, extreme, one, "smallest over the axes; NaN wins; ties share the gradient"),
  REDUCE ("ReduceVar", var, var_attrs, infer_reduce_float, var, four, "Σ (x - mean)² / (n - correction)"),
  REDUCE ("ReduceStd", std, var_attrs, infer_reduce_float, std, four, "square root of ReduceVar"),
  REDUCE ("LogSumExp", logsumexp, reduce_attrs, infer_reduce_float, logsumexp, four, "log Σ exp x, without overflow"),
  REDUCE ("LpNorm", norm, norm_attrs, infer_reduce_float, norm, two, "(Σ |x|^p)^(1/p); p = 0 counts non-zeros, ±infinity: extreme |x|"),
  { .name = "ReduceProdGrad", .doc = "gradient of ReduceProd by x, from dy and x", .min_inputs = 2, .max_inputs = 2, .n_outputs = 1,
    .attrs = reduce_attrs, .infer = infer_reduce_grad, .cost = two_each_cost, .reference = prod_grad_kernel },
  { .name = "LpNormGrad", .doc = "gradient of LpNorm by x, from dy, x and y", .min_inputs = 3, .max_inputs = 3, .n_outputs = 1,
    .attrs = norm_attrs, .infer = infer_reduce_grad, .cost = two_each_cost, .reference = norm_grad_kernel },
  { .name = "GlobalNorm", .doc = "√ Σ x² over all elements of all inputs", .min_inputs = 1, .max_inputs = TN_VARIADIC, .n_outputs = 1,
    .infer = infer_global_norm, .gradient = global_norm_gradient, .cost = two_each_cost, .reference = global_norm_kernel },
  { .name = "CumSum", .doc = "running sum along the axis; exclusive: without the element itself; reverse: from the end", .min_inputs = 1,
    .max_inputs = 1, .n_outputs = 1, .attrs = scan_attrs, .infer = tn_scan_infer, .gradient = tn_cumsum_gradient,
    .reference = tn_cumsum_kernel },
  { .name = "CumProd", .doc = "running product along the axis; exclusive and reverse as in CumSum", .min_inputs = 1, .max_inputs = 1,
    .n_outputs = 1, .attrs = scan_attrs, .infer = tn_scan_infer, .gradient = tn_cumprod_gradient, .reference = tn_cumprod_kernel },
  { .name = "CumProdGrad", .doc = "gradient of CumProd by x, from dy and x", .min_inputs = 2, .max_inputs = 2, .n_outputs = 1,
    .attrs = scan_attrs, .infer = tn_scan_infer_grad, .cost = two_each_cost, .reference = tn_cumprod_grad_kernel },
  { .name = "ReduceMaxWithIndex", .doc = "largest along the axis, and where the first such is (int64)", .min_inputs = 1, .max_inputs = 1,
    .n_outputs = 2, .attrs = indexed_attrs, .infer = tn_indexed_infer, .gradient = tn_indexed_gradient, .cost = one_each_cost,
    .reference = tn_indexed_max_kernel },
  { .name = "ReduceMinWithIndex", .doc = "smallest along the axis, and where the first such is (int64)", .min_inputs = 1, .max_inputs = 1,
    .n_outputs = 2, .attrs = indexed_attrs, .infer = tn_indexed_infer, .gradient = tn_indexed_gradient, .cost = one_each_cost,
    .reference = tn_indexed_min_kernel },
  { .name = "ReduceWithIndexGrad", .doc = "dy put back to its places along the axis", .min_inputs = 2, .max_inputs = 2, .n_outputs = 1,
    .attrs = indexed_grad_attrs, .infer = tn_indexed_infer_grad, .reference = tn_indexed_grad_kernel },
  { 0 },
};
