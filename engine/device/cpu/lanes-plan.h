/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
#include "device/cpu/lanes.h"

/* What the lanes descriptors hold: private to lanes*.c.
 *
 * Forward and backward-data of convolutions and dense layers, and a dense layer's weight gradient, are one gather:
 *
 *   y[output][position][16] = Σ over taps of w[output * w_output_step + tap.w] * x[position's base + tap.x][16]
 *
 * Positions whose taps lie alike (inside, at an edge, a phase of a stride) share a list, so nothing outside the image is
 * ever multiplied. */

/** Offsets of one multiply-add, in bytes. */
typedef struct
{
  int32_t x, w;
} TnLanesTap;

#define TN_LANES_MAX_OUTPUTS 6   /* outputs of a register block */
#define TN_LANES_MAX_POSITIONS 14
#define TN_LANES_MAX_TAPS 16     /* taps of a weight-gradient block */
#define TN_LANES_CHAIN 256       /* taps after which sums go to memory and back, so that inputs stay in L1 */
#define TN_LANES_COVER 24

/** One call of a register block: @n_positions is a multiple of the block's own. Steps are in floats. */
typedef struct
{
  const float *w, *x;
  float *y;
  ptrdiff_t w_output_step, x_position_step, y_output_step, y_position_step;
  const TnLanesTap *taps;
  int n_taps;
  int n_positions;
  gboolean resume;    /* chains go on from y, not from 0 */
  const float *bias;  /* of the first output, or NULL */
  gboolean relu;
  const float *mask;  /* lies like y, or NULL: 0 where not above 0 */
  gboolean half;      /* only the first 8 lanes; below 16 lanes a vector */
} TnLanesCall;

/** One block of a convolution's weight gradient over some rows of some groups. Steps are in floats. */
typedef struct
{
  const float *x, *dy;
  ptrdiff_t x_group_step, x_row_step, x_column_step, dy_group_step, dy_output_step;
  const int32_t *taps; /* offsets into x, floats */
  int n_groups, n_rows, n_columns;
  gboolean half;       /* only the first 8 lanes */
  gboolean resume;     /* sums go on from what is stored */
  float *sums;         /* [outputs][taps] vectors; sums_step: floats from one output to the next */
  ptrdiff_t sums_step;
  float *bias_sums;    /* [outputs] vectors, or NULL */
} TnLanesGradCall;

typedef void (*TnLanesBlock) (const TnLanesCall *call);
typedef void (*TnLanesGradBlock) (const TnLanesGradCall *call);

/** The register blocks of an instruction level. */
typedef struct _TnLanesBlocks
{
  TnLanesBlock run[TN_LANES_MAX_OUTPUTS + 1][TN_LANES_MAX_POSITIONS + 1];  /* [outputs][positions] */
  int positions[TN_LANES_MAX_OUTPUTS + 1];                                /* most positions for so many outputs */
  TnLanesBlock half_run[TN_LANES_MAX_OUTPUTS + 1][TN_LANES_MAX_POSITIONS + 1]; /* the same for calls with half */
  int half_positions[TN_LANES_MAX_OUTPUTS + 1];
  int cover[TN_LANES_COVER + 1]; /* outputs of the next block when so many are left; more: as for the last */
  TnLanesGradBlock grad[TN_LANES_MAX_OUTPUTS + 1][TN_LANES_MAX_TAPS + 1]; /* [outputs][taps], NULL: no such block */
} TnLanesBlocks;

/** Outputs of one axis with the same taps, evenly spaced. */
typedef struct
{
  int list;              /* which tap list of the axis */
  int first, step, count; /* output indices */
  int base, base_step;   /* input index of the first tap */
} TnLanesRun;

typedef struct
{
  int n_rows;
  int *row_list, *row_base;
  int n_runs;
  TnLanesRun *runs; /* of columns */
  int n_row_runs;
  TnLanesRun *row_runs;
  int n_row_lists, n_column_lists;
  int *row_taps, *column_taps;  /* how many taps a list has */
  TnLanesTap **taps;            /* [n_row_lists][n_column_lists]: taps of n_chain contracted channels */
  int n_chain;
  int n_contracted, n_outputs, n_groups; /* channels of one convolution group */
  int in_width, out_width;
  ptrdiff_t in_plane, out_plane;                      /* floats */
  ptrdiff_t w_output_step, w_contracted_step, w_group_step; /* floats */
} TnLanesGather;

struct _TnLanesConv
{
  TnLanesConvShape shape;
  int out_height, out_width;
  TnLanesGather forward, backward;
  /* weight gradient */
  gboolean padded;
  int padded_height, padded_width;
  int n_taps;          /* of one output: C / groups * KH * KW */
  int32_t *taps;       /* floats into the padded image */
  int block_outputs, block_taps;
  int sweep_groups, sweep_rows; /* what is summed before the next taps: their inputs stay in L1 */
};

struct _TnLanesDense
{
  int n_images, n_in, n_out, n_groups;
  TnLanesTap *forward;   /* TN_LANES_CHAIN inputs */
  TnLanesTap *backward;  /* TN_LANES_CHAIN outputs, down the rows of w, or of a packed panel */
  gboolean pack;
  TnLanesTap *images;    /* n_images */
};
