/* SPDX-License-Identifier: Apache-2.0 */
#include "tensor/tensor.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"

#define ALIGNMENT 64

/* The memory behind one tensor and its views. The counts here and in TnTensor are changed with the compiler's atomics and
 * not with GLib's functions: thread sanitizer sees the former only. */
struct _TnStorage
{
  int ref_count;
  char *data; /* aligned */
  GDestroyNotify free_func;
  void *owner;
};
typedef struct _TnStorage TnStorage;

static void
storage_unref (TnStorage *storage)
{
  if (__atomic_sub_fetch (&storage->ref_count, 1, __ATOMIC_ACQ_REL) != 0)
    return;
  if (storage->free_func != NULL)
    storage->free_func (storage->owner);
  g_free (storage);
}

static TnStorage *
storage_new (char *data, GDestroyNotify free_func, void *owner)
{
  TnStorage *storage = g_new (TnStorage, 1);
  *storage = (TnStorage){ .ref_count = 1, .data = data, .free_func = free_func, .owner = owner };
  return storage;
}

/* calloc leaves large memory to the system's zero pages: it costs nothing until it is touched. */
static TnStorage *
storage_alloc (size_t bytes)
{
  if (bytes > SIZE_MAX - ALIGNMENT)
    return NULL;
  char *block = calloc (1, bytes + ALIGNMENT);
  if (block == NULL)
    return NULL;
  char *aligned = (char *) (((uintptr_t) block + ALIGNMENT - 1) & ~(uintptr_t) (ALIGNMENT - 1));
  return storage_new (aligned, free, block);
}

/* Takes the reference to @storage. */
static TnTensor *
tensor_on (TnStorage *storage, TnDType dtype, const TnShape *shape)
{
  TnTensor *self = g_new0 (TnTensor, 1);
  self->dtype = dtype;
  self->shape = *shape;
  self->ref_count = 1;
  self->storage = storage;
  tn_shape_strides (shape, self->strides);
  return self;
}

static TnTensor *
view_of (TnTensor *self)
{
  TnTensor *view = g_new (TnTensor, 1);
  *view = *self;
  view->ref_count = 1;
  __atomic_add_fetch (&self->storage->ref_count, 1, __ATOMIC_RELAXED);
  return view;
}

TnTensor *
tn_tensor_new (TnDType dtype, TnShape shape, GError **error)
{
  size_t bytes;
  if (!tn_shape_bytes (&shape, tn_dtype_size (dtype), &bytes, error))
    return NULL;
  TnStorage *storage = storage_alloc (bytes);
  if (storage == NULL)
    {
      g_autofree char *text = tn_shape_to_string (&shape);
      g_autofree char *size = g_format_size_full (bytes, G_FORMAT_SIZE_IEC_UNITS | G_FORMAT_SIZE_LONG_FORMAT);
      g_set_error (error, TN_ERROR, TN_ERROR_MEMORY,
                   _("No memory for a %s tensor of shape %s: it needs %s. Use a smaller batch or model, or close other "
                     "programs"),
                   tn_dtype_name (dtype), text, size);
      return NULL;
    }
  return tensor_on (storage, dtype, &shape);
}

TnTensor *
tn_tensor_new_from (TnDType dtype, TnShape shape, const void *data)
{
  g_autoptr (GError) error = NULL;
  TnTensor *self = tn_tensor_new (dtype, shape, &error);
  if (self == NULL)
    g_error ("%s", error->message);
  size_t bytes = tn_tensor_bytes (self);
  if (bytes > 0)
    memcpy (self->storage->data, data, bytes);
  return self;
}

TnTensor *
tn_tensor_new_external (TnDType dtype, TnShape shape, void *data, GDestroyNotify free_func, void *owner)
{
  g_return_val_if_fail (tn_shape_bytes (&shape, tn_dtype_size (dtype), NULL, NULL), NULL);
  return tensor_on (storage_new (data, free_func, owner), dtype, &shape);
}

TnTensor *
tn_tensor_ref (TnTensor *self)
{
  g_return_val_if_fail (self != NULL, NULL);
  __atomic_add_fetch (&self->ref_count, 1, __ATOMIC_RELAXED);
  return self;
}

void
tn_tensor_unref (TnTensor *self)
{
  g_return_if_fail (self != NULL);
  if (__atomic_sub_fetch (&self->ref_count, 1, __ATOMIC_ACQ_REL) != 0)
    return;
  storage_unref (self->storage);
  g_free (self);
}

void *
tn_tensor_data (const TnTensor *self)
{
  return self->storage->data == NULL ? NULL : self->storage->data + self->offset;
}

int64_t
tn_tensor_count (const TnTensor *self)
{
  return tn_shape_count (&self->shape);
}

size_t
tn_tensor_bytes (const TnTensor *self)
{
  return (size_t) tn_shape_count (&self->shape) * tn_dtype_size (self->dtype);
}

gboolean
tn_tensor_is_contiguous (const TnTensor *self)
{
  if (tn_shape_count (&self->shape) == 0)
    return TRUE;
  int64_t expected = 1;
  for (int d = self->shape.n_dims - 1; d >= 0; d--)
    {
      if (self->shape.dims[d] != 1 && self->strides[d] != expected)
        return FALSE;
      expected *= self->shape.dims[d];
    }
  return TRUE;
}

/* Views. */

static void
set_view_error (GError **error, const TnTensor *self, const TnShape *wanted, const char *what)
{
  g_autofree char *have = tn_shape_to_string (&self->shape);
  g_autofree char *want = tn_shape_to_string (wanted);
  g_set_error (error, TN_ERROR, TN_ERROR_SHAPE, _("A tensor of shape %s cannot be seen as %s: %s"), have, want, what);
}

/* Puts in the size that -1 stands for. */
static gboolean
resolve_inferred (const TnTensor *self, const TnShape *wanted, TnShape *out, GError **error)
{
  int inferred = -1;
  *out = *wanted;
  for (int d = 0; d < CLAMP (wanted->n_dims, 0, TN_MAX_DIMS); d++)
    if (wanted->dims[d] == -1)
      {
        if (inferred >= 0)
          {
            set_view_error (error, self, wanted, _("only one dimension may be -1"));
            return FALSE;
          }
        inferred = d;
        out->dims[d] = 1;
      }
  if (!tn_shape_bytes (out, tn_dtype_size (self->dtype), NULL, error))
    return FALSE;
  if (inferred < 0)
    return TRUE;

  int64_t others = tn_shape_count (out);
  if (others == 0 || tn_tensor_count (self) % others != 0)
    {
      set_view_error (error, self, wanted, _("no size in place of -1 gives the same number of elements"));
      return FALSE;
    }
  out->dims[inferred] = tn_tensor_count (self) / others;
  return TRUE;
}

TnTensor *
tn_tensor_reshape (TnTensor *self, TnShape shape, GError **error)
{
  g_return_val_if_fail (self != NULL, NULL);
  TnShape resolved;
  if (!resolve_inferred (self, &shape, &resolved, error))
    return NULL;
  if (tn_shape_count (&resolved) != tn_tensor_count (self))
    {
      set_view_error (error, self, &shape, _("the numbers of elements differ"));
      return NULL;
    }
  if (!tn_tensor_is_contiguous (self))
    {
      set_view_error (error, self, &shape, _("its elements are not in row-major order; make it contiguous first"));
      return NULL;
    }
  TnTensor *view = view_of (self);
  view->shape = resolved;
  tn_shape_strides (&resolved, view->strides);
  return view;
}

TnTensor *
tn_tensor_permute (TnTensor *self, const int *order, GError **error)
{
  g_return_val_if_fail (self != NULL && (order != NULL || self->shape.n_dims == 0), NULL);
  unsigned seen = 0;
  for (int d = 0; d < self->shape.n_dims; d++)
    {
      if (order[d] < 0 || order[d] >= self->shape.n_dims || (seen & (1u << order[d])))
        {
          g_autofree char *have = tn_shape_to_string (&self->shape);
          g_set_error (error, TN_ERROR, TN_ERROR_SHAPE,
                       _("Cannot permute a tensor of shape %s: entry %d of the order is %d; each of 0..%d must stand "
                         "there once"),
                       have, d, order[d], self->shape.n_dims - 1);
          return NULL;
        }
      seen |= 1u << order[d];
    }
  TnTensor *view = view_of (self);
  for (int d = 0; d < self->shape.n_dims; d++)
    {
      view->shape.dims[d] = self->shape.dims[order[d]];
      view->strides[d] = self->strides[order[d]];
    }
  return view;
}

TnTensor *
tn_tensor_slice (TnTensor *self, int dim, int64_t start, int64_t length, GError **error)
{
  g_return_val_if_fail (self != NULL, NULL);
  if (dim < 0 || dim >= self->shape.n_dims || start < 0 || length < 0 || start > self->shape.dims[dim]
      || length > self->shape.dims[dim] - start)
    {
      g_autofree char *have = tn_shape_to_string (&self->shape);
      g_set_error (error, TN_ERROR, TN_ERROR_SHAPE,
                   _("Cannot take %" PRId64 " from %" PRId64 " on along dimension %d of a tensor of shape %s"), length,
                   start, dim, have);
      return NULL;
    }
  TnTensor *view = view_of (self);
  view->shape.dims[dim] = length;
  if (tn_shape_count (&view->shape) > 0) /* an empty view stays at the start: nothing points past the end */
    view->offset += (size_t) (start * self->strides[dim]) * tn_dtype_size (self->dtype);
  return view;
}

TnTensor *
tn_tensor_expand (TnTensor *self, TnShape shape, GError **error)
{
  g_return_val_if_fail (self != NULL, NULL);
  if (!tn_shape_bytes (&shape, tn_dtype_size (self->dtype), NULL, error))
    return NULL;
  int added = shape.n_dims - self->shape.n_dims;
  if (added < 0)
    {
      set_view_error (error, self, &shape, _("there are fewer dimensions"));
      return NULL;
    }
  int64_t strides[TN_MAX_DIMS] = { 0 };
  for (int d = added; d < shape.n_dims; d++)
    {
      if (self->shape.dims[d - added] == shape.dims[d])
        strides[d] = self->strides[d - added];
      else if (self->shape.dims[d - added] != 1)
        {
          set_view_error (error, self, &shape, _("only dimensions of size 1 can be repeated"));
          return NULL;
        }
    }
  TnTensor *view = view_of (self);
  view->shape = shape;
  memcpy (view->strides, strides, sizeof strides);
  return view;
}

/* Copies. */

#define CHUNK 256

static void
gather (size_t size, char *to, const char *from, int64_t stride, int64_t n)
{
  for (int64_t i = 0; i < n; i++)
    memcpy (to + (size_t) i * size, from + i * stride * (int64_t) size, size);
}

static void
scatter (size_t size, char *to, int64_t stride, const char *from, int64_t n)
{
  for (int64_t i = 0; i < n; i++)
    memcpy (to + i * stride * (int64_t) size, from + (size_t) i * size, size);
}

/* One row along the last dimension. */
static void
copy_row (TnDType to_dtype, char *to, int64_t to_stride, TnDType from_dtype, const char *from, int64_t from_stride,
          int64_t n)
{
  if (n == 1 || (to_stride == 1 && from_stride == 1))
    {
      tn_dtype_convert (from_dtype, from, to_dtype, to, (size_t) n);
      return;
    }
  size_t to_size = tn_dtype_size (to_dtype), from_size = tn_dtype_size (from_dtype);
  _Alignas (8) char in[CHUNK * 8];
  _Alignas (8) char out[CHUNK * 8];
  for (int64_t i = 0; i < n; i += CHUNK)
    {
      int64_t part = MIN (n - i, CHUNK);
      gather (from_size, in, from + i * from_stride * (int64_t) from_size, from_stride, part);
      tn_dtype_convert (from_dtype, in, to_dtype, out, (size_t) part);
      scatter (to_size, to + i * to_stride * (int64_t) to_size, to_stride, out, part);
    }
}

static void
copy_dims (const TnTensor *to, char *to_data, const TnTensor *from, const char *from_data, int dim)
{
  int64_t to_size = (int64_t) tn_dtype_size (to->dtype), from_size = (int64_t) tn_dtype_size (from->dtype);
  if (dim >= to->shape.n_dims - 1)
    {
      gboolean scalar = to->shape.n_dims == 0;
      copy_row (to->dtype, to_data, scalar ? 1 : to->strides[dim], from->dtype, from_data,
                scalar ? 1 : from->strides[dim], scalar ? 1 : to->shape.dims[dim]);
      return;
    }
  for (int64_t i = 0; i < to->shape.dims[dim]; i++)
    copy_dims (to, to_data + i * to->strides[dim] * to_size, from, from_data + i * from->strides[dim] * from_size,
               dim + 1);
}

gboolean
tn_tensor_copy (TnTensor *to, TnTensor *from, GError **error)
{
  g_return_val_if_fail (to != NULL && from != NULL, FALSE);
  if (!tn_shape_equal (&to->shape, &from->shape))
    {
      g_autofree char *have = tn_shape_to_string (&from->shape);
      g_autofree char *want = tn_shape_to_string (&to->shape);
      g_set_error (error, TN_ERROR, TN_ERROR_SHAPE, _("Cannot copy a tensor of shape %s into one of shape %s"), have,
                   want);
      return FALSE;
    }
  if (tn_tensor_count (to) == 0)
    return TRUE;

  g_autoptr (TnTensor) apart = NULL;
  if (to->storage == from->storage && to != from)
    {
      /* The two may overlap in any way. */
      apart = tn_tensor_cast (from, from->dtype, error);
      if (apart == NULL)
        return FALSE;
      from = apart;
    }
  if (tn_tensor_is_contiguous (to) && tn_tensor_is_contiguous (from))
    tn_dtype_convert (from->dtype, tn_tensor_data (from), to->dtype, tn_tensor_data (to), (size_t) tn_tensor_count (to));
  else
    copy_dims (to, tn_tensor_data (to), from, tn_tensor_data (from), 0);
  return TRUE;
}

TnTensor *
tn_tensor_contiguous (TnTensor *self, GError **error)
{
  g_return_val_if_fail (self != NULL, NULL);
  return tn_tensor_is_contiguous (self) ? tn_tensor_ref (self) : tn_tensor_cast (self, self->dtype, error);
}

TnTensor *
tn_tensor_cast (TnTensor *self, TnDType dtype, GError **error)
{
  g_return_val_if_fail (self != NULL, NULL);
  g_autoptr (TnTensor) result = tn_tensor_new (dtype, self->shape, error);
  if (result == NULL || !tn_tensor_copy (result, self, error))
    return NULL;
  return g_steal_pointer (&result);
}

/* Single elements. */

static int64_t
element_offset (const TnTensor *self, int64_t index)
{
  int64_t offset = 0;
  for (int d = self->shape.n_dims - 1; d >= 0; d--)
    {
      offset += index % self->shape.dims[d] * self->strides[d];
      index /= self->shape.dims[d];
    }
  return offset;
}

double
tn_tensor_get (const TnTensor *self, int64_t index)
{
  g_return_val_if_fail (index >= 0 && index < tn_tensor_count (self), 0);
  return tn_dtype_load (self->dtype, tn_tensor_data (self), (size_t) element_offset (self, index));
}

void
tn_tensor_set (TnTensor *self, int64_t index, double value)
{
  g_return_if_fail (index >= 0 && index < tn_tensor_count (self));
  tn_dtype_store (self->dtype, tn_tensor_data (self), (size_t) element_offset (self, index), value);
}

static void
append_element (GString *text, const TnTensor *self, int64_t index)
{
  size_t offset = (size_t) element_offset (self, index);
  if (self->dtype == TN_DTYPE_BOOL)
    g_string_append (text, tn_dtype_load_int (self->dtype, tn_tensor_data (self), offset) ? "true" : "false");
  else if (tn_dtype_is_float (self->dtype))
    {
      char number[G_ASCII_DTOSTR_BUF_SIZE];
      double value = tn_dtype_load (self->dtype, tn_tensor_data (self), offset);
      g_string_append (text, g_ascii_formatd (number, sizeof number, "%.6g", value));
    }
  else
    g_string_append_printf (text, "%" PRId64, tn_dtype_load_int (self->dtype, tn_tensor_data (self), offset));
}

char *
tn_tensor_to_string (const TnTensor *self, int max_elements)
{
  g_autofree char *shape = tn_shape_to_string (&self->shape);
  GString *text = g_string_new (NULL);
  g_string_append_printf (text, "Tensor[%s], %s", tn_dtype_ir_name (self->dtype), shape);
  if (max_elements > 0)
    {
      int64_t count = tn_tensor_count (self), shown = MIN (count, max_elements);
      g_string_append (text, " [");
      for (int64_t i = 0; i < shown; i++)
        {
          g_string_append (text, i ? ", " : "");
          append_element (text, self, i);
        }
      g_string_append (text, shown < count ? ", ...]" : "]");
    }
  return g_string_free (text, FALSE);
}
