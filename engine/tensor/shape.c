/* SPDX-License-Identifier: Apache-2.0 */
#include "tensor/shape.h"

#include <inttypes.h>

#include "base/error.h"

TnShape
tn_shape_make (int n_dims, const int64_t *dims)
{
  TnShape shape = TN_SHAPE_SCALAR;
  g_return_val_if_fail (n_dims >= 0 && n_dims <= TN_MAX_DIMS, shape);
  shape.n_dims = n_dims;
  for (int d = 0; d < n_dims; d++)
    shape.dims[d] = dims[d];
  return shape;
}

/* Safe for any contents, also for n_dims out of range: for messages. */
static char *
to_string (const TnShape *shape)
{
  GString *text = g_string_new ("(");
  for (int d = 0; d < CLAMP (shape->n_dims, 0, TN_MAX_DIMS); d++)
    g_string_append_printf (text, "%s%" PRId64, d ? ", " : "", shape->dims[d]);
  g_string_append_c (text, ')');
  return g_string_free (text, FALSE);
}

gboolean
tn_shape_bytes (const TnShape *shape, size_t elem_size, size_t *bytes, GError **error)
{
  g_return_val_if_fail (shape != NULL && elem_size > 0, FALSE);

  if (shape->n_dims < 0 || shape->n_dims > TN_MAX_DIMS)
    {
      g_set_error (error, TN_ERROR, TN_ERROR_SHAPE, _("A tensor cannot have %d dimensions; 0 to %d are possible"),
                   shape->n_dims, TN_MAX_DIMS);
      return FALSE;
    }

  /* Dimensions of 0 are left out of the product, so that strides cannot overflow either. */
  int64_t product = (int64_t) elem_size;
  gboolean empty = FALSE;
  for (int d = 0; d < shape->n_dims; d++)
    {
      int64_t size = shape->dims[d];
      gboolean overflow = size > 0 && __builtin_mul_overflow (product, size, &product);
      if (size < 0 || overflow || (uint64_t) product > SIZE_MAX)
        {
          g_autofree char *text = to_string (shape);
          if (size < 0)
            g_set_error (error, TN_ERROR, TN_ERROR_SHAPE,
                         _("Dimension %d of shape %s is negative; sizes are 0 or more"), d, text);
          else
            g_set_error (error, TN_ERROR, TN_ERROR_SHAPE,
                         _("A tensor of shape %s with %zu bytes an element is too large to address; make it smaller"),
                         text, elem_size);
          return FALSE;
        }
      empty |= size == 0;
    }
  if (bytes != NULL)
    *bytes = empty ? 0 : (size_t) product;
  return TRUE;
}

int64_t
tn_shape_count (const TnShape *shape)
{
  return tn_shape_span (shape, 0, shape->n_dims);
}

gboolean
tn_shape_equal (const TnShape *a, const TnShape *b)
{
  if (a->n_dims != b->n_dims)
    return FALSE;
  for (int d = 0; d < a->n_dims; d++)
    if (a->dims[d] != b->dims[d])
      return FALSE;
  return TRUE;
}

void
tn_shape_strides (const TnShape *shape, int64_t strides[TN_MAX_DIMS])
{
  int64_t stride = 1;
  for (int d = TN_MAX_DIMS - 1; d >= 0; d--)
    {
      if (d >= shape->n_dims)
        {
          strides[d] = 0;
          continue;
        }
      strides[d] = stride;
      stride *= MAX (shape->dims[d], 1);
    }
}

gboolean
tn_shape_broadcast (const TnShape *a, const TnShape *b, TnShape *out)
{
  TnShape result = { .n_dims = MAX (a->n_dims, b->n_dims) };
  for (int back = 1; back <= result.n_dims; back++)
    {
      int64_t size_a = back <= a->n_dims ? a->dims[a->n_dims - back] : 1;
      int64_t size_b = back <= b->n_dims ? b->dims[b->n_dims - back] : 1;
      if (size_a != size_b && size_a != 1 && size_b != 1)
        return FALSE;
      result.dims[result.n_dims - back] = size_a == 1 ? size_b : size_a;
    }
  if (out != NULL)
    *out = result;
  return TRUE;
}

int64_t
tn_shape_span (const TnShape *shape, int from, int to)
{
  int64_t product = 1;
  for (int d = from; d < to; d++)
    product *= shape->dims[d];
  return product;
}

char *
tn_shape_to_string (const TnShape *shape)
{
  return to_string (shape);
}
