/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
#include "draw/canvas.h"
#include "draw/palette.h"

/* TnBars: named lengths side by side: classes and their samples, bins of a histogram. Drawing only. */
typedef struct
{
  const char *name;  /* NULL in a histogram */
  double value;      /* the whole bar */
  double part;       /* the end of it drawn lighter: held out; 0 for none */
} TnBar;

/** Level bars under each other with name and number, as many as fit in @height at 24 pixels each; returns how many were drawn. */
int tn_bars_draw (TnCanvas *canvas, double width, double height, const TnPalette *palette, const TnBar *bars, int n);
/** Upright bars without gaps, @low and @high written under the ends. */
void tn_histogram_draw (TnCanvas *canvas, double width, double height, const TnPalette *palette, const double *counts, int n, double low,
                        double high);
