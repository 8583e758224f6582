/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <string.h>

#include "base/error.h"
#include "ops/matmul-rows.h"
#include "ops/move.h"

/* Einsum: every input dimension has a letter; out[letters after ->] = Σ over the other letters of the product of the
 * inputs. A letter twice in one input takes its diagonal. "..." stands for any number of dimensions that broadcast.
 * Without "->" the output has the letters that occur once, in alphabetical order, after "...".
 *
 * For gradients the output may have more than its inputs determine, with output_shape: a letter twice puts values on the
 * diagonal, a letter of no input repeats, and a size of 1 where the inputs have n sums over it. The gradient of one
 * operand is then Einsum of the others and dy.
 */
#define LETTERS 52
#define LABELS (LETTERS + TN_MAX_DIMS) /* dimensions under "..." are numbered from the right */

typedef struct
{
  int n;
  int labels[TN_MAX_DIMS];
} Term;

typedef struct
{
  int n_inputs;
  Term *inputs; /* with the output behind them */
  Term output;
  int n_dots;              /* dimensions under "..." */
  int64_t sizes[LABELS];   /* -1: not used */
  int order[LABELS], n_order; /* the output's letters, then the summed ones */
} Equation;

static int
letter (char c)
{
  return c >= 'a' && c <= 'z' ? c - 'a' : c >= 'A' && c <= 'Z' ? c - 'A' + 26 : -1;
}

/* One term up to ',', '-' or the end; @n_dims -1: as many as are written (the output). */
static const char *
parse_term (const TnNode *node, const char *text, int n_dims, int n_dots, Term *term, GError **error)
{
  const char *start = text;
  int written = 0, dots = -1;
  for (; *text != '\0' && *text != ',' && *text != '-'; text++)
    {
      if (strncmp (text, "...", 3) == 0 && dots < 0)
        {
          dots = written;
          text += 2;
        }
      else if (letter (*text) >= 0 && written < TN_MAX_DIMS)
        term->labels[written++] = letter (*text);
      else if (*text != ' ')
        {
          tn_infer_error (node, error, _ ("“%s” is not a term of letters and at most one “...”, at “%s”"),
                          tn_node_string (node, "equation"), start);
          return NULL;
        }
    }
  int extra = dots < 0 ? 0 : n_dims >= 0 ? n_dims - written : n_dots;
  if (extra < 0 || written + extra > TN_MAX_DIMS || (n_dims >= 0 && written + extra != n_dims))
    {
      tn_infer_error (node, error, _ ("term “%s” of “%s” does not name as many dimensions as its tensor has"), start,
                      tn_node_string (node, "equation"));
      return NULL;
    }
  term->n = written + extra;
  if (extra > 0)
    {
      memmove (term->labels + dots + extra, term->labels + dots, (size_t) (written - dots) * sizeof (int));
      for (int i = 0; i < extra; i++)
        term->labels[dots + i] = LETTERS + extra - 1 - i;
    }
  return text;
}

/* The output of an equation without "->". */
static gboolean
implicit_output (Equation *self, const TnNode *node, GError **error)
{
  int counts[LABELS] = { 0 };
  for (int i = 0; i < self->n_inputs; i++)
    for (int d = 0; d < self->inputs[i].n; d++)
      counts[self->inputs[i].labels[d]]++;
  self->output.n = 0;
  for (int i = self->n_dots - 1; i >= 0; i--)
    self->output.labels[self->output.n++] = LETTERS + i;
  static const char sorted[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
  for (const char *c = sorted; *c != '\0'; c++)
    if (counts[letter (*c)] == 1)
      {
        if (self->output.n == TN_MAX_DIMS)
          return tn_infer_error (node, error, _ ("the output has more than %d dimensions"), TN_MAX_DIMS);
        self->output.labels[self->output.n++] = letter (*c);
      }
  return TRUE;
}

static gboolean
take_sizes (Equation *self, const TnNode *node, GError **error)
{
  for (int l = 0; l < LABELS; l++)
    self->sizes[l] = -1;
  for (int i = 0; i < self->n_inputs; i++)
    for (int d = 0; d < self->inputs[i].n; d++)
      {
        int64_t *size = &self->sizes[self->inputs[i].labels[d]], own = tn_in_shape (node, i)->dims[d];
        if (*size >= 0 && *size != own && *size != 1 && own != 1)
          return tn_infer_error (node, error,
                                 _ ("one letter stands for sizes %" PRId64 " and %" PRId64),
                                 (gint64) *size, (gint64) own);
        *size = *size < 0 || *size == 1 ? own : *size;
      }
  return TRUE;
}

/* Letters of the output first, outermost first, so that results come out in rows. */
static gboolean
put_in_order (Equation *self, const TnNode *node, GError **error)
{
  const int64_t *shape;
  int n = tn_node_ints (node, "output_shape", &shape);
  gboolean done[LABELS] = { FALSE };
  if (shape != NULL && n != self->output.n)
    return tn_infer_error (node, error, _ ("output_shape must name %d sizes"), self->output.n);
  for (int d = 0; d < self->output.n; d++)
    {
      int l = self->output.labels[d];
      if (shape == NULL && (done[l] || self->sizes[l] < 0))
        return tn_infer_error (node, error,
                               _ ("a letter of the output must occur in an input, and once in the output: “%s”"),
                               tn_node_string (node, "equation"));
      if (shape != NULL
          && (shape[d] < 0
              || (self->sizes[l] >= 0 && shape[d] != self->sizes[l] && shape[d] != 1 && self->sizes[l] != 1)))
        return tn_infer_error (node, error, _ ("output_shape does not fit the inputs"));
      if (shape != NULL && (self->sizes[l] < 0 || self->sizes[l] == 1))
        self->sizes[l] = shape[d];
      if (!done[l])
        self->order[self->n_order++] = l;
      done[l] = TRUE;
    }
  for (int l = 0; l < LABELS; l++)
    if (!done[l] && self->sizes[l] >= 0)
      self->order[self->n_order++] = l;
  return TRUE;
}

static void
equation_clear (Equation *self)
{
  g_free (self->inputs);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (Equation, equation_clear)

static gboolean
equation_parse (Equation *self, const TnNode *node, GError **error)
{
  const char *text = tn_node_string (node, "equation");
  *self = (Equation){ .n_inputs = node->n_inputs, .inputs = g_new0 (Term, node->n_inputs) };
  for (int i = 0; i < node->n_inputs; i++)
    {
      text = parse_term (node, text, tn_in_shape (node, i)->n_dims, 0, &self->inputs[i], error);
      if (text == NULL)
        return FALSE;
      for (int d = 0; d < self->inputs[i].n; d++)
        self->n_dots = MAX (self->n_dots, self->inputs[i].labels[d] - LETTERS + 1);
      if (i + 1 < node->n_inputs && *text++ != ',')
        return tn_infer_error (node, error, _ ("“%s” has fewer terms than there are inputs"),
                               tn_node_string (node, "equation"));
    }
  if (strncmp (text, "->", 2) == 0)
    {
      text = parse_term (node, text + 2, -1, self->n_dots, &self->output, error);
      if (text == NULL)
        return FALSE;
    }
  else if (!implicit_output (self, node, error))
    return FALSE;
  if (*text != '\0')
    return tn_infer_error (node, error, _ ("“%s” has more terms than there are inputs"),
                           tn_node_string (node, "equation"));
  return take_sizes (self, node, error) && put_in_order (self, node, error);
}

gboolean
tn_einsum_infer (TnNode *node, GError **error)
{
  g_auto (Equation) e = { 0 };
  const int64_t *wanted;
  if (!tn_infer_same_float (node, error) || !equation_parse (&e, node, error))
    return FALSE;
  TnShape shape = { .n_dims = e.output.n };
  tn_node_ints (node, "output_shape", &wanted);
  for (int d = 0; d < shape.n_dims; d++)
    shape.dims[d] = wanted != NULL ? wanted[d] : e.sizes[e.output.labels[d]];
  tn_set_output (node, 0, tn_in_dtype (node, 0), shape);
  return TRUE;
}

void
tn_einsum_cost (const TnNode *node, TnCost *cost)
{
  g_auto (Equation) e = { 0 };
  if (!equation_parse (&e, node, NULL))
    return;
  double points = 1;
  for (int i = 0; i < e.n_order; i++)
    points *= (double) e.sizes[e.order[i]];
  cost->flops = points * node->n_inputs;
}

/* How far one step of each letter (in e->order) goes in a tensor of @shape. */
static void
label_strides (const Equation *e, const Term *term, const TnShape *shape, int64_t *out)
{
  int64_t strides[TN_MAX_DIMS];
  tn_shape_strides (shape, strides);
  for (int i = 0; i < e->n_order; i++)
    {
      out[i] = 0;
      for (int d = 0; d < term->n; d++)
        if (term->labels[d] == e->order[i] && shape->dims[d] != 1)
          out[i] += strides[d];
    }
}

typedef struct
{
  int64_t at;
  int64_t strides[LABELS];
} Cursor;

/* Goes over all points in order; the innermost letter is a plain loop. */
#define SUM_PRODUCTS(T)                                                                                                \
  for (int64_t i = 0; i < inner; i++)                                                                                  \
    {                                                                                                                  \
      double product = 1;                                                                                              \
      for (int k = 0; k < n; k++)                                                                                      \
        product *= ((const T *) context->in[k])[cursors[k].at + i * cursors[k].strides[last]];                         \
      sums[cursors[n].at + i * cursors[n].strides[last]] += product;                                                   \
    }

static void
sum_products (const TnKernelContext *context, const Equation *e, Cursor *cursors, double *sums)
{
  int n = e->n_inputs, last = MAX (e->n_order - 1, 0);
  int64_t inner = e->n_order > 0 ? e->sizes[e->order[last]] : 1, place[LABELS] = { 0 };
  for (int i = 0; i < e->n_order; i++)
    if (e->sizes[e->order[i]] == 0)
      return;
  while (TRUE)
    {
      if (tn_in_dtype (context->node, 0) == TN_DTYPE_F64)
        SUM_PRODUCTS (double)
      else
        SUM_PRODUCTS (float)
      int i = last - 1;
      for (; i >= 0; i--)
        {
          int64_t size = e->sizes[e->order[i]];
          gboolean wraps = ++place[i] == size;
          for (int k = 0; k <= n; k++)
            cursors[k].at += cursors[k].strides[i] * (wraps ? 1 - size : 1);
          if (!wraps)
            break;
          place[i] = 0;
        }
      if (i < 0)
        return;
    }
}

gboolean
tn_einsum_kernel (const TnKernelContext *context, GError **error)
{
  const TnNode *node = context->node;
  const TnShape *y = &node->outputs[0].shape;
  TnDType dtype = tn_in_dtype (node, 0);
  g_auto (Equation) e = { 0 };
  if (dtype != TN_DTYPE_F32 && dtype != TN_DTYPE_F64)
    return tn_infer_error (node, error, _ ("no kernel for %s"), tn_dtype_name (dtype));
  g_autofree double *sums = tn_kernel_sums (context, tn_shape_count (y), error);
  if (sums == NULL || !equation_parse (&e, node, error))
    return FALSE;
  g_autofree Cursor *cursors = g_new0 (Cursor, e.n_inputs + 1);
  for (int i = 0; i < e.n_inputs; i++)
    label_strides (&e, &e.inputs[i], tn_in_shape (node, i), cursors[i].strides);
  label_strides (&e, &e.output, y, cursors[e.n_inputs].strides);
  sum_products (context, &e, cursors, sums);
  tn_dtype_convert (TN_DTYPE_F64, sums, dtype, context->out[0], (size_t) tn_shape_count (y));
  return TRUE;
}

/* ---- gradient ---- */

/* Letters for every label that the equation uses, those under "..." getting free ones; FALSE where the alphabet ends. */
static gboolean
name_labels (const Equation *e, char names[LABELS])
{
  static const char alphabet[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";
  int next = 0;
  for (int l = 0; l < LETTERS; l++)
    names[l] = alphabet[l];
  for (int l = LETTERS; l < LABELS; l++)
    {
      if (l - LETTERS >= e->n_dots)
        continue;
      while (next < LETTERS && e->sizes[next] >= 0)
        next++;
      if (next == LETTERS)
        return FALSE;
      names[l] = alphabet[next++];
    }
  return TRUE;
}

static void
write_term (GString *text, const Term *term, const char names[LABELS])
{
  for (int d = 0; d < term->n; d++)
    g_string_append_c (text, names[term->labels[d]]);
}

void
tn_einsum_gradient (TnGradient *gradient)
{
  const TnNode *node = gradient->node;
  g_auto (Equation) e = { 0 };
  char names[LABELS];
  GError *error = NULL;
  if (!equation_parse (&e, node, &error)
      || (!name_labels (&e, names)
          && !tn_infer_error (node, &error, _ ("the equation uses too many letters for a gradient"))))
    {
      tn_graph_fail (gradient->graph, error);
      return;
    }
  g_autofree TnValue **operands = g_new (TnValue *, node->n_inputs);
  for (int i = 0; i < node->n_inputs; i++)
    {
      if (!gradient->wanted[i])
        continue;
      g_autoptr (GString) equation = g_string_new (NULL);
      int n = 0;
      operands[n++] = gradient->grad_outputs[0];
      write_term (equation, &e.output, names);
      for (int k = 0; k < node->n_inputs; k++)
        if (k != i)
          {
            operands[n++] = node->inputs[k];
            g_string_append_c (equation, ',');
            write_term (equation, &e.inputs[k], names);
          }
      g_string_append (equation, "->");
      write_term (equation, &e.inputs[i], names);
      const TnShape *x = tn_in_shape (node, i);
      gradient->grad_inputs[i] = tn_op (
          gradient->graph, "Einsum", n, operands,
          TN_ATTRS (tn_attr_string ("equation", equation->str), tn_attr_ints ("output_shape", x->n_dims, x->dims)));
    }
}
