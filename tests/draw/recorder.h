/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
#include "draw/canvas-cairo.h"

/* A canvas that notes every label and what it takes up, counts points, and paints on another one. Labels are boxes of a fixed width a
 * letter: what is tested depends on no font. */
typedef struct
{
  TnRect box;
  char *text;
} TnRecordedLabel;

typedef struct
{
  TnCanvas canvas;
  TnCanvas *below;     /* may be NULL: only notes */
  GArray *labels;      /* TnRecordedLabel */
  GArray *points;      /* TnPoint, of polylines with more than two; NaN behind each */
  GArray *rects;       /* TnRect */
  size_t longest;      /* polyline */
  unsigned images, polygons;
  uint8_t *pixels;     /* copy of the last image */
  int image_width, image_height;
  TnRect image_rect;
} TnRecorder;

TnRecorder *tn_recorder_new (TnCanvas *below, double scale, gboolean is_vector);
void tn_recorder_free (TnRecorder *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (TnRecorder, tn_recorder_free)
