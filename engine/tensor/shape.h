/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
#include <glib.h>
#include <stdint.h>

#define TN_MAX_DIMS 8

/* TnShape: sizes of up to 8 dimensions, outermost first. A plain value: copy it. A scalar has no dimensions and one
 * element; a dimension may be 0. */
typedef struct
{
  int n_dims;
  int64_t dims[TN_MAX_DIMS];
} TnShape;

#define TN_SHAPE(...) tn_shape_make ((int) (sizeof ((int64_t[]){ __VA_ARGS__ }) / sizeof (int64_t)), (int64_t[]){ __VA_ARGS__ })
#define TN_SHAPE_SCALAR ((TnShape){ 0 })

TnShape tn_shape_make (int n_dims, const int64_t *dims);
/** Checks a shape that came from outside: dimensions 0..8, sizes >= 0, bytes of elements of @elem_size fit int64 (and
 * size_t). The only place where products of dimensions are checked. */
gboolean tn_shape_bytes (const TnShape *shape, size_t elem_size, size_t *bytes, GError **error);
/** Number of elements of a shape that has passed tn_shape_bytes(). */
int64_t tn_shape_count (const TnShape *shape);
gboolean tn_shape_equal (const TnShape *a, const TnShape *b);
/** Row-major strides in elements. */
void tn_shape_strides (const TnShape *shape, int64_t strides[TN_MAX_DIMS]);
/** NumPy's broadcasting rule; FALSE if the two do not fit. */
gboolean tn_shape_broadcast (const TnShape *a, const TnShape *b, TnShape *out);
/** Product of dims[from..to). */
int64_t tn_shape_span (const TnShape *shape, int from, int to);
/** "(32, 1, 28, 28)", "(5)" and "()": as in .ir text. Free with g_free. */
char *tn_shape_to_string (const TnShape *shape);
