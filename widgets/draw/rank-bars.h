/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
#include "draw/canvas.h"
#include "draw/palette.h"

/* TnRankBars: bytes of every rank as bars of parts that differ by colour and hatch, with a line for the limit.
 *
 * Up to 64 ranks are a bar each; more become a strip (least, quartiles, most) and the ten fullest by name. */
#define TN_RANK_BARS_MAX 64

typedef enum
{
  TN_RANK_PARAMETERS,
  TN_RANK_GRADIENTS,
  TN_RANK_OPTIMIZER,
  TN_RANK_ACTIVATIONS,
  TN_RANK_BUFFERS,
  TN_N_RANK_PARTS
} TnRankPart;

/** Translated. */
const char *tn_rank_part_name (TnRankPart part);

typedef struct
{
  int64_t rank;
  double parts[TN_N_RANK_PARTS]; /* bytes */
} TnRankBytes;

typedef struct
{
  const TnRankBytes *ranks; /* not owned */
  int64_t n;
  double limit;             /* bytes a device has; 0: not known */
  TnRect area;
  int n_bars;
  int64_t *bars;            /* [n_bars] places in @ranks */
  double most, quartiles[3], least;
  double row;               /* height of a bar with its gap */
} TnRankBars;

double tn_rank_bytes_total (const TnRankBytes *rank);
/** Clear it with tn_rank_bars_clear(). */
void tn_rank_bars_init (TnRankBars *self, const TnRankBytes *ranks, int64_t n, double limit);
void tn_rank_bars_clear (TnRankBars *self);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (TnRankBars, tn_rank_bars_clear)
void tn_rank_bars_place (TnRankBars *self, const TnRect *area);
/** Height in which bars are easy to read. */
double tn_rank_bars_height (const TnRankBars *self);
/** Place in @ranks of the bar at a point; -1. */
int64_t tn_rank_bars_hit (const TnRankBars *self, double x, double y);
TnRect tn_rank_bars_row (const TnRankBars *self, int bar);
void tn_rank_bars_draw (const TnRankBars *self, TnCanvas *canvas, const TnRect *clip, const TnPalette *palette, int64_t rank);
