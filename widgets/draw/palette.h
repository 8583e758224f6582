/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
#include "draw/canvas.h"

/* TnPalette: every colour of Tenon's pictures, for light, dark and high contrast. Canvases, legends, exports and the
 * style sheet take theirs from here. Colour is never the only carrier: series differ by dash and marker too. */
#define TN_PALETTE_N_SERIES 10
#define TN_PALETTE_N_DASHES 4

typedef enum
{
  TN_PALETTE_LIGHT,
  TN_PALETTE_DARK,
  TN_PALETTE_LIGHT_CONTRAST,
  TN_PALETTE_DARK_CONTRAST
} TnPaletteKind;

typedef struct
{
  const char *name;
  TnColor background; /* of a view */
  TnColor box;        /* of a card or graph box on it */
  TnColor border, grid;
  TnColor text, dim_text;
  TnColor accent, selection;
  TnColor error, warning, success;
  TnColor series[TN_PALETTE_N_SERIES];
  TnColor compute, communication, wait, data, optimizer, checkpoint; /* fixed meanings */
  TnColor forward, backward;                                         /* phases of a graph */
  double line_width; /* 1.5; doubled in high contrast */
  gboolean high_contrast;
} TnPalette;

const TnPalette *tn_palette_get (TnPaletteKind kind);
/** Dash of series @i: solid, 6-3, 2-2, 8-2-2-2 in turn; NULL and 0 for solid. */
const double *tn_palette_dash (unsigned i, int *n);
/** Place in series[] that a run keeps for life: a hash of its id. */
unsigned tn_palette_series_of (const char *run_id);
/** Ratio of luminances as WCAG 2 defines it: 1 to 21. */
double tn_color_contrast (TnColor a, TnColor b);
/** "#1a5fb4". Free with g_free. */
char *tn_color_hex (TnColor color);
