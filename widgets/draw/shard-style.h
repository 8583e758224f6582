/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
#include "draw/canvas.h"
#include "draw/palette.h"

/* What the sharding pictures have in common: a rank's colour and hatch, so that it looks alike in all of them, and short words. */

typedef enum
{
  TN_HATCH_NONE,
  TN_HATCH_RISING,
  TN_HATCH_FALLING,
  TN_HATCH_LEVEL,
  TN_N_HATCHES
} TnHatch;

/** Series 1 to 8 in turn. */
TnColor tn_rank_color (const TnPalette *palette, int64_t rank);
/** None for ranks 0 to 7, then another one for every eight. */
TnHatch tn_rank_hatch (int64_t rank);
/** Parallel lines @step pixels apart inside @rect, as one polyline. */
void tn_draw_hatch (TnCanvas *canvas, const TnRect *rect, TnHatch hatch, double step, const TnStroke *stroke);
/** A frame of @width pixels inside the edge of @rect. */
void tn_draw_frame (TnCanvas *canvas, const TnRect *rect, double width, TnColor color);
gboolean tn_rect_meets (const TnRect *a, const TnRect *b);
/** "46.9 KiB", "600 B": C locale, for pictures. Free with g_free. */
char *tn_short_bytes (double bytes);
