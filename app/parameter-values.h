/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
#include <gio/gio.h>
#include "tensor/tensor.h"

/* TnParameterValues: the values of one parameter as a checkpoint holds them, and what they come to.
 *
 * Read and counted in a worker thread; immutable afterwards, so that any thread may draw from it. No GTK here.
 *
 *   tn_parameter_values_load_async (run_path, -1, "conv1.weight", cancellable, loaded_cb, self);
 */
#define TN_VALUES_BINS 48
#define TN_VALUES_MAX_SIDE 512 /* of a heat map: more rows or columns are thinned */

typedef struct
{
  gatomicrefcount ref_count;
  char *name;
  gint64 step;      /* of the checkpoint */
  GArray *steps;    /* gint64: checkpoints that the run has, ascending; NULL for values that come from elsewhere */
  TnTensor *tensor; /* contiguous */
  gint64 count, zeros, nans, infinities;
  /* Over the finite values; NaN where there is none. */
  double least, most, mean, deviation;
  double bins[TN_VALUES_BINS]; /* how many values lie in each of the equal parts of [low, high] */
  double low, high;
} TnParameterValues;

/** @step: of a checkpoint of the run in folder @run_path, -1 for the newest. TN_ERROR_NOT_FOUND where the run has no checkpoint or the
 * checkpoint no such parameter. */
void tn_parameter_values_load_async (const char *run_path, gint64 step, const char *name, GCancellable *cancellable,
                                     GAsyncReadyCallback callback, gpointer user_data);
TnParameterValues *tn_parameter_values_load_finish (GAsyncResult *result, GError **error);
/** The same, blocking: for a thread and for tests. */
TnParameterValues *tn_parameter_values_load (const char *run_path, gint64 step, const char *name, GError **error);
/** Of @tensor, which must be contiguous and is referenced. */
TnParameterValues *tn_parameter_values_new (const char *name, gint64 step, TnTensor *tensor);
TnParameterValues *tn_parameter_values_ref (TnParameterValues *self);
void tn_parameter_values_unref (TnParameterValues *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (TnParameterValues, tn_parameter_values_unref)

/** Whether it is the weight of a convolution: (out, in, rows, columns) with more than one pixel. */
gboolean tn_parameter_values_has_kernels (const TnParameterValues *self);
/** Values with dimension @rows downwards and @columns to the right (equal ones: a single column; -1: one row), the others at @index[n_dims]. At most
 * TN_VALUES_MAX_SIDE a side, every n-th beyond. Free with g_free. */
float *tn_parameter_values_plane (const TnParameterValues *self, int rows, int columns, const int64_t *index, int *n_rows, int *n_columns);
/** That plane as a picture of at most @size pixels a side where its values allow it: black is the parameter's least value, white its
 * greatest, red what is no finite number. Premultiplied ARGB32, stride width * 4; free with g_free. */
uint8_t *tn_parameter_values_heat_map (const TnParameterValues *self, int rows, int columns, const int64_t *index, int size, int *width,
                                       int *height);
/** The kernels as tiles: a row for each output and a column for each input channel; where there is one input channel, or three (then in
 * colour), a tile for each output, several in a row. Those that do not fit into @size pixels at one pixel a value are left out: @shown says
 * how many outputs are there. NULL where there are none. */
uint8_t *tn_parameter_values_kernels (const TnParameterValues *self, int size, int *width, int *height, int *shown);
/** "index,value" and a line an element, C locale, exact. Free with g_free. */
char *tn_parameter_values_to_csv (const TnParameterValues *self);
/** "2, 0, 4, 1": where element @i stands. Free with g_free. */
char *tn_parameter_values_index_text (const TnParameterValues *self, gint64 i);
