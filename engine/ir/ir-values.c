/* SPDX-License-Identifier: Apache-2.0 */
#include "ir/ir-values.h"
#include <math.h>
#include <string.h>

#define MAX_WHOLE 64 /* elements; larger tensors are shown by their edges */
#define EDGE 3

/* ---- text ---- */

void
tn_ir_append_escaped (GString *out, const char *text)
{
  for (const char *c = text; *c != '\0'; c++)
    if (*c == '"' || *c == '%' || (unsigned char) *c < 0x20 || *c == 0x7f)
      g_string_append_printf (out, "%%%02X", (unsigned) (unsigned char) *c);
    else
      g_string_append_c (out, *c);
}

void
tn_ir_append_quoted (GString *out, const char *text)
{
  g_string_append_c (out, '"');
  tn_ir_append_escaped (out, text);
  g_string_append_c (out, '"');
}

char *
tn_ir_unquote (const char *text)
{
  size_t n = strlen (text);
  if (n >= 2 && text[0] == '"' && text[n - 1] == '"')
    {
      text++;
      n -= 2;
    }
  GString *out = g_string_sized_new (n);
  for (size_t i = 0; i < n; i++)
    if (text[i] == '%' && i + 2 < n && g_ascii_isxdigit (text[i + 1]) && g_ascii_isxdigit (text[i + 2]))
      {
        char c = (char) (g_ascii_xdigit_value (text[i + 1]) * 16 + g_ascii_xdigit_value (text[i + 2]));
        if (c != '\0')
          g_string_append_c (out, c);
        i += 2;
      }
    else
      g_string_append_c (out, text[i]);
  return g_string_free (out, FALSE);
}

void
tn_ir_append_label (GString *out, const char *text)
{
  for (const char *c = text; *c != '\0'; c++)
    g_string_append_c (out, (unsigned char) *c <= 0x20 || *c == 0x7f || strchr ("()[]{}<>\"',:;@$%\\=", *c) != NULL ? '_' : *c);
}

/* ---- numbers ---- */

void
tn_ir_append_number (GString *out, double value, gboolean single)
{
  char text[G_ASCII_DTOSTR_BUF_SIZE];
  if (!isfinite (value))
    {
      g_string_append (out, isnan (value) ? "nan" : value > 0 ? "inf" : "-inf");
      return;
    }
  for (int digits = single ? 6 : 15; digits <= 17; digits++)
    {
      char format[8];
      g_snprintf (format, sizeof format, "%%.%dg", digits);
      g_ascii_formatd (text, sizeof text, format, value);
      double back = g_ascii_strtod (text, NULL);
      if (single ? (float) back == (float) value : back == value)
        break;
    }
  g_string_append (out, text);
}

static void
append_element (GString *out, TnDType dtype, const void *data, size_t i)
{
  if (dtype == TN_DTYPE_F64)
    tn_ir_append_number (out, tn_dtype_load (dtype, data, i), FALSE);
  else if (tn_dtype_is_float (dtype))
    tn_ir_append_number (out, tn_dtype_load (dtype, data, i), TRUE);
  else
    g_string_append_printf (out, "%" G_GINT64_FORMAT, (gint64) tn_dtype_load_int (dtype, data, i));
}

static const char *
scalar_prefix (TnDType dtype)
{
  switch (dtype)
    {
    case TN_DTYPE_F32: return "F32";
    case TN_DTYPE_F64: return "F64";
    case TN_DTYPE_F16: return "F16";
    case TN_DTYPE_BF16: return "BF16";
    case TN_DTYPE_I8: return "I8";
    case TN_DTYPE_I16: return "I16";
    case TN_DTYPE_I32: return "I32";
    case TN_DTYPE_I64: return "I64";
    case TN_DTYPE_U8: return "U8";
    default: return "Bool";
    }
}

/* As NumPy prints: "[[1 2]\n [3 4]]", long dimensions as "1 2 3 ... 7 8 9". @at: index of the first element. */
static void
append_values (GString *out, const TnTensor *tensor, int dim, int64_t at, gboolean whole)
{
  const TnShape *shape = &tensor->shape;
  if (dim == shape->n_dims)
    {
      append_element (out, tensor->dtype, tn_tensor_data (tensor), (size_t) at);
      return;
    }
  int64_t n = shape->dims[dim], step = tn_shape_span (shape, dim + 1, shape->n_dims);
  g_string_append_c (out, '[');
  for (int64_t i = 0; i < n; i++)
    {
      if (i > 0 && dim + 1 < shape->n_dims)
        {
          g_string_append_c (out, '\n');
          for (int k = 0; k <= dim; k++)
            g_string_append_c (out, ' ');
        }
      else if (i > 0)
        g_string_append_c (out, ' ');
      if (!whole && n > 2 * EDGE && i == EDGE)
        {
          g_string_append (out, "...");
          i = n - EDGE - 1;
        }
      else
        append_values (out, tensor, dim + 1, at + i * step, whole);
    }
  g_string_append_c (out, ']');
}

void
tn_ir_append_tensor (GString *out, TnTensor *tensor)
{
  g_autoptr (TnTensor) dense = tn_tensor_contiguous (tensor, NULL);
  const TnShape *shape = &tensor->shape;
  if (dense != NULL && shape->n_dims == 0)
    {
      g_string_append_printf (out, "%s(", scalar_prefix (tensor->dtype));
      append_element (out, tensor->dtype, tn_tensor_data (dense), 0);
      g_string_append_c (out, ')');
      return;
    }
  g_string_append (out, "Tensor(shape=[");
  for (int i = 0; i < shape->n_dims; i++)
    g_string_append_printf (out, "%s%" G_GINT64_FORMAT, i > 0 ? ", " : "", (gint64) shape->dims[i]);
  g_string_append_printf (out, "], dtype=%s, value=", tn_dtype_ir_name (tensor->dtype));
  if (dense == NULL || tn_tensor_count (dense) == 0)
    g_string_append (out, "[]");
  else
    {
      if (shape->n_dims > 1)
        g_string_append_c (out, '\n');
      append_values (out, dense, 0, 0, tn_tensor_count (dense) <= MAX_WHOLE);
    }
  g_string_append_c (out, ')');
}

/* ---- types and attributes ---- */

void
tn_ir_append_attr (GString *out, const TnAttr *attr)
{
  switch (attr->type)
    {
    case TN_ATTR_INT:
      g_string_append_printf (out, "I64(%" G_GINT64_FORMAT ")", attr->i);
      break;
    case TN_ATTR_BOOL:
      g_string_append (out, attr->i ? "Bool(1)" : "Bool(0)");
      break;
    case TN_ATTR_FLOAT:
      /* an attribute is a double: F32 only where that loses nothing */
      g_string_append (out, (double) (float) attr->f == attr->f ? "F32(" : "F64(");
      tn_ir_append_number (out, attr->f, FALSE);
      g_string_append_c (out, ')');
      break;
    case TN_ATTR_STRING:
      if (attr->s == NULL)
        g_string_append (out, "None");
      else
        tn_ir_append_quoted (out, attr->s);
      break;
    case TN_ATTR_INTS:
    case TN_ATTR_FLOATS:
      g_string_append_c (out, '(');
      for (int i = 0; i < attr->count; i++)
        {
          if (i > 0)
            g_string_append (out, ", ");
          if (attr->type == TN_ATTR_INTS)
            g_string_append_printf (out, "%" G_GINT64_FORMAT, (gint64) attr->ints[i]);
          else
            tn_ir_append_number (out, attr->floats[i], FALSE);
        }
      g_string_append_c (out, ')');
      break;
    case TN_ATTR_DTYPE:
      g_string_append (out, attr->i >= 0 && attr->i < TN_DTYPE_COUNT ? tn_dtype_ir_name ((TnDType) attr->i) : "None");
      break;
    case TN_ATTR_TENSOR:
      tn_ir_append_tensor (out, attr->tensor);
      break;
    }
}

void
tn_ir_append_type (GString *out, TnDType dtype, const TnShape *shape)
{
  g_autofree char *dims = tn_shape_to_string (shape);
  g_string_append_printf (out, "Tensor[%s], %s", tn_dtype_ir_name (dtype), dims);
}

void
tn_ir_append_node_type (GString *out, const TnNode *node)
{
  if (node->n_outputs == 1)
    {
      tn_ir_append_type (out, node->outputs[0].dtype, &node->outputs[0].shape);
      return;
    }
  gboolean same = node->n_outputs > 1;
  for (int i = 1; i < node->n_outputs; i++)
    same = same && node->outputs[i].dtype == node->outputs[0].dtype;
  g_string_append (out, "Tuple[");
  if (same)
    g_string_append_printf (out, "Tensor[%s]*%d", tn_dtype_ir_name (node->outputs[0].dtype), node->n_outputs);
  else
    for (int i = 0; i < node->n_outputs; i++)
      g_string_append_printf (out, "%sTensor[%s]", i > 0 ? ", " : "", tn_dtype_ir_name (node->outputs[i].dtype));
  g_string_append (out, "], TupleShape(");
  for (int i = 0; i < node->n_outputs; i++)
    {
      g_autofree char *dims = tn_shape_to_string (&node->outputs[i].shape);
      g_string_append_printf (out, "%s%s", i > 0 ? ", " : "", dims);
    }
  g_string_append_c (out, ')');
}
