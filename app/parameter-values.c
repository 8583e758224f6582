/* SPDX-License-Identifier: Apache-2.0 */
#include "parameter-values.h"
#include <inttypes.h>

#include <glib/gi18n.h>
#include <math.h>
#include <string.h>

#include "base/error.h"
#include "draw/sample-image.h"
#include "formats/safetensors.h"
#include "train/checkpoint.h"

#define GAP 1         /* pixels between tiles, before they are enlarged */
#define RED 0xffc01c28u

/* Two passes: the mean first, as sums of squares lose what is small beside it. */
static void
count_values (TnParameterValues *self)
{
  gint64 finite = 0;
  double sum = 0, squares = 0;
  self->least = INFINITY;
  self->most = -INFINITY;
  for (gint64 i = 0; i < self->count; i++)
    {
      double value = tn_tensor_get (self->tensor, i);
      self->zeros += value == 0;
      self->nans += isnan (value) != 0;
      self->infinities += isinf (value) != 0;
      if (!isfinite (value))
        continue;
      finite++;
      sum += value;
      self->least = MIN (self->least, value);
      self->most = MAX (self->most, value);
    }
  if (finite == 0)
    {
      self->least = self->most = self->mean = self->deviation = NAN;
      return;
    }
  self->mean = sum / (double) finite;
  self->low = self->least;
  self->high = self->most > self->least ? self->most : self->least + 1;
  for (gint64 i = 0; i < self->count; i++)
    {
      double value = tn_tensor_get (self->tensor, i);
      if (!isfinite (value))
        continue;
      squares += (value - self->mean) * (value - self->mean);
      int bin = (int) ((value - self->low) / (self->high - self->low) * TN_VALUES_BINS);
      self->bins[CLAMP (bin, 0, TN_VALUES_BINS - 1)]++;
    }
  self->deviation = sqrt (squares / (double) finite);
}

TnParameterValues *
tn_parameter_values_new (const char *name, gint64 step, TnTensor *tensor)
{
  g_return_val_if_fail (tn_tensor_is_contiguous (tensor), NULL);
  TnParameterValues *self = g_new0 (TnParameterValues, 1);
  g_atomic_ref_count_init (&self->ref_count);
  self->name = g_strdup (name);
  self->step = step;
  self->tensor = tn_tensor_ref (tensor);
  self->count = tn_tensor_count (tensor);
  count_values (self);
  return self;
}

TnParameterValues *
tn_parameter_values_ref (TnParameterValues *self)
{
  g_atomic_ref_count_inc (&self->ref_count);
  return self;
}

void
tn_parameter_values_unref (TnParameterValues *self)
{
  if (!g_atomic_ref_count_dec (&self->ref_count))
    return;
  g_clear_pointer (&self->tensor, tn_tensor_unref);
  g_clear_pointer (&self->steps, g_array_unref);
  g_free (self->name);
  g_free (self);
}

/* Where one process trained, the one tensor is read; pieces of several need the manifest. */
static TnTensor *
read_tensor (const char *path, const char *name, GError **error)
{
  g_autofree char *second = g_build_filename (path, "rank-0001.safetensors", NULL), *first = g_build_filename (path, "rank-0000.safetensors", NULL);
  if (!g_file_test (second, G_FILE_TEST_EXISTS))
    {
      g_autoptr (TnSafetensors) file = tn_safetensors_open (first, error);
      return file != NULL ? tn_safetensors_load (file, name, error) : NULL;
    }
  g_autoptr (TnCheckpoint) checkpoint = tn_checkpoint_open (path, error);
  TnTensor *tensor = checkpoint != NULL ? tn_checkpoint_tensor (checkpoint, name) : NULL;
  if (tensor == NULL && checkpoint != NULL)
    g_set_error (error, TN_ERROR, TN_ERROR_NOT_FOUND, _ ("The checkpoint has no parameter “%s”."), name);
  return tensor != NULL ? tn_tensor_ref (tensor) : NULL;
}

TnParameterValues *
tn_parameter_values_load (const char *run_path, gint64 step, const char *name, GError **error)
{
  g_return_val_if_fail (run_path != NULL && name != NULL, NULL);
  g_autofree char *folder = g_build_filename (run_path, "checkpoints", NULL);
  g_autoptr (GArray) steps = tn_checkpoint_list (folder);
  if (steps->len == 0)
    {
      g_set_error_literal (error, TN_ERROR, TN_ERROR_NOT_FOUND, _ ("This run has no checkpoint yet: values are read from its checkpoints."));
      return NULL;
    }
  gint64 at = step >= 0 ? step : g_array_index (steps, gint64, steps->len - 1);
  g_autofree char *path = tn_checkpoint_step_path (folder, at);
  g_autoptr (TnTensor) raw = read_tensor (path, name, error);
  g_autoptr (TnTensor) tensor = raw != NULL ? tn_tensor_contiguous (raw, error) : NULL;
  if (tensor == NULL)
    return NULL;
  TnParameterValues *self = tn_parameter_values_new (name, at, tensor);
  self->steps = g_steal_pointer (&steps);
  return self;
}

typedef struct
{
  char *run_path, *name;
  gint64 step;
} Load;

static void
load_free (Load *load)
{
  g_free (load->run_path);
  g_free (load->name);
  g_free (load);
}

static void
load_thread (GTask *task, gpointer source, gpointer data, GCancellable *cancellable)
{
  const Load *load = data;
  GError *error = NULL;
  TnParameterValues *self = tn_parameter_values_load (load->run_path, load->step, load->name, &error);
  if (self != NULL)
    g_task_return_pointer (task, self, (GDestroyNotify) tn_parameter_values_unref);
  else
    g_task_return_error (task, error);
}

void
tn_parameter_values_load_async (const char *run_path, gint64 step, const char *name, GCancellable *cancellable,
                                GAsyncReadyCallback callback, gpointer user_data)
{
  g_autoptr (GTask) task = g_task_new (NULL, cancellable, callback, user_data);
  Load *load = g_new0 (Load, 1);
  *load = (Load){ g_strdup (run_path), g_strdup (name), step };
  g_task_set_task_data (task, load, (GDestroyNotify) load_free);
  g_task_run_in_thread (task, load_thread);
}

TnParameterValues *
tn_parameter_values_load_finish (GAsyncResult *result, GError **error)
{
  return g_task_propagate_pointer (G_TASK (result), error);
}

gboolean
tn_parameter_values_has_kernels (const TnParameterValues *self)
{
  const TnShape *shape = &self->tensor->shape;
  return shape->n_dims == 4 && self->count > 0 && shape->dims[2] * shape->dims[3] > 1 && shape->dims[2] <= TN_VALUES_MAX_SIDE
         && shape->dims[3] <= TN_VALUES_MAX_SIDE;
}

float *
tn_parameter_values_plane (const TnParameterValues *self, int rows, int columns, const int64_t *index, int *n_rows, int *n_columns)
{
  const TnShape *shape = &self->tensor->shape;
  int64_t strides[TN_MAX_DIMS] = { 0 }, base = 0;
  if (rows == columns)
    columns = -1;
  tn_shape_strides (shape, strides);
  for (int i = 0; i < shape->n_dims; i++)
    if (i != rows && i != columns)
      base += CLAMP (index[i], 0, MAX (0, shape->dims[i] - 1)) * strides[i];
  int64_t height = rows >= 0 ? shape->dims[rows] : 1, width = columns >= 0 ? shape->dims[columns] : 1;
  int64_t down = (height + TN_VALUES_MAX_SIDE - 1) / TN_VALUES_MAX_SIDE, right = (width + TN_VALUES_MAX_SIDE - 1) / TN_VALUES_MAX_SIDE;
  *n_rows = self->count > 0 ? (int) ((height + down - 1) / down) : 0;
  *n_columns = self->count > 0 ? (int) ((width + right - 1) / right) : 0;
  float *out = g_new (float, (size_t) *n_rows * (size_t) *n_columns + 1), *to = out;
  for (int y = 0; y < *n_rows; y++)
    for (int x = 0; x < *n_columns; x++)
      *to++ = (float) tn_tensor_get (self->tensor, base + (rows >= 0 ? y * down * strides[rows] : 0)
                                                     + (columns >= 0 ? x * right * strides[columns] : 0));
  return out;
}

/* What is no number has no place between black and white. */
static void
mark_not_finite (uint32_t *pixels, const float *values, int rows, int columns, int factor)
{
  for (int y = 0; y < rows * factor; y++)
    for (int x = 0; x < columns * factor; x++)
      if (!isfinite (values[(y / factor) * columns + x / factor]))
        pixels[y * columns * factor + x] = RED;
}

static float
zero_if_not_finite (float value)
{
  return isfinite (value) ? value : 0;
}

static uint8_t *
picture (const TnParameterValues *self, const float *values, int channels, int rows, int columns, int factor)
{
  size_t n = (size_t) channels * (size_t) rows * (size_t) columns;
  g_autofree float *shown = g_new (float, n + 1);
  for (size_t i = 0; i < n; i++)
    shown[i] = zero_if_not_finite (values[i]);
  uint8_t *pixels = tn_values_image (shown, channels, rows, columns, (float) self->low, (float) self->high, factor);
  for (int c = 0; c < channels; c++)
    mark_not_finite ((uint32_t *) (void *) pixels, values + (size_t) c * (size_t) rows * (size_t) columns, rows, columns, factor);
  return pixels;
}

uint8_t *
tn_parameter_values_heat_map (const TnParameterValues *self, int rows, int columns, const int64_t *index, int size, int *width, int *height)
{
  int n_rows, n_columns;
  g_autofree float *values = tn_parameter_values_plane (self, rows, columns, index, &n_rows, &n_columns);
  if (n_rows == 0 || n_columns == 0)
    return NULL;
  int factor = MAX (1, size / MAX (n_rows, n_columns));
  *width = n_columns * factor;
  *height = n_rows * factor;
  return picture (self, values, 1, n_rows, n_columns, factor);
}

typedef struct
{
  int rows, columns, channels; /* of a tile */
  int down, across;            /* tiles */
  int outputs, inputs;
} Tiling;

static Tiling
tile (const TnParameterValues *self, int size)
{
  const TnShape *shape = &self->tensor->shape;
  Tiling t = { (int) shape->dims[2], (int) shape->dims[3], 1, 0, 0, 0, 0 };
  int fit_down = MAX (1, (size + GAP) / (t.rows + GAP)), fit_across = MAX (1, (size + GAP) / (t.columns + GAP));
  t.channels = shape->dims[1] == 3 ? 3 : 1;
  t.inputs = (int) MIN (shape->dims[1] / t.channels, fit_across);
  if (t.inputs == 1)
    {
      t.across = (int) MIN (fit_across, MAX (1, (int64_t) ceil (sqrt ((double) shape->dims[0] * t.rows / t.columns))));
      t.outputs = (int) MIN (shape->dims[0], (int64_t) t.across * fit_down);
      t.down = (t.outputs + t.across - 1) / t.across;
    }
  else
    {
      t.across = t.inputs;
      t.down = t.outputs = (int) MIN (shape->dims[0], fit_down);
    }
  return t;
}

static void
put_tile (const TnParameterValues *self, const Tiling *t, int output, int input, int factor, uint32_t *pixels, int width)
{
  size_t plane = (size_t) t->rows * (size_t) t->columns;
  g_autofree float *values = g_new (float, plane * (size_t) t->channels);
  int64_t inputs = self->tensor->shape.dims[1];
  for (int c = 0; c < t->channels; c++)
    for (size_t i = 0; i < plane; i++)
      values[(size_t) c * plane + i]
          = (float) tn_tensor_get (self->tensor, ((int64_t) output * inputs + input * t->channels + c) * (int64_t) plane + (int64_t) i);
  g_autofree uint8_t *image = picture (self, values, t->channels, t->rows, t->columns, factor);
  int place = t->inputs == 1 ? output : output * t->across + input;
  int x = place % t->across * (t->columns + GAP) * factor, y = place / t->across * (t->rows + GAP) * factor;
  const uint32_t *from = (const uint32_t *) (const void *) image;
  for (int row = 0; row < t->rows * factor; row++)
    memcpy (pixels + (size_t) (y + row) * (size_t) width + x, from + row * t->columns * factor, sizeof (uint32_t) * (size_t) (t->columns * factor));
}

uint8_t *
tn_parameter_values_kernels (const TnParameterValues *self, int size, int *width, int *height, int *shown)
{
  if (!tn_parameter_values_has_kernels (self))
    return NULL;
  Tiling t = tile (self, size);
  int across = t.across * (t.columns + GAP) - GAP, down = t.down * (t.rows + GAP) - GAP;
  int factor = MAX (1, size / MAX (across, down));
  *width = across * factor;
  *height = down * factor;
  *shown = t.outputs;
  uint32_t *pixels = g_new0 (uint32_t, (size_t) *width * (size_t) *height); /* gaps stay clear */
  for (int output = 0; output < t.outputs; output++)
    for (int input = 0; input < t.inputs; input++)
      put_tile (self, &t, output, input, factor, pixels, *width);
  return (uint8_t *) pixels;
}

char *
tn_parameter_values_index_text (const TnParameterValues *self, gint64 i)
{
  const TnShape *shape = &self->tensor->shape;
  int64_t strides[TN_MAX_DIMS] = { 0 };
  GString *text = g_string_new (NULL);
  tn_shape_strides (shape, strides);
  for (int d = 0; d < shape->n_dims; d++)
    g_string_append_printf (text, "%s%" PRId64, d > 0 ? ", " : "", (gint64) (i / MAX (1, strides[d]) % MAX (1, shape->dims[d])));
  return g_string_free (text, FALSE);
}

char *
tn_parameter_values_to_csv (const TnParameterValues *self)
{
  GString *text = g_string_new ("index,value\r\n");
  for (gint64 i = 0; i < self->count; i++)
    {
      char number[G_ASCII_DTOSTR_BUF_SIZE];
      g_autofree char *index = tn_parameter_values_index_text (self, i);
      g_ascii_formatd (number, sizeof number, "%.9g", tn_tensor_get (self->tensor, i));
      if (self->tensor->dtype == TN_DTYPE_F64)
        g_ascii_dtostr (number, sizeof number, tn_tensor_get (self->tensor, i));
      g_string_append_printf (text, "\"%s\",%s\r\n", index, number);
    }
  return g_string_free (text, FALSE);
}
