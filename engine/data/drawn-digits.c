/* SPDX-License-Identifier: Apache-2.0 */
#include "data/drawn-digits.h"

#include <math.h>
#include <string.h>

#include "base/philox.h"

/* A stroke is a Catmull-Rom spline through its points; a point that is written twice is a corner. Coordinates are those of
 * a sheet of paper: x to the right, y down, the digit about 1 high. */
typedef struct
{
  int n_points;
  float points[14][2];
} Stroke;

typedef struct
{
  int weight; /* how often this way of writing is met, in relation to the others of the digit */
  int n_strokes;
  Stroke strokes[3];
} Style;

#define N_STYLES 6

static const Style styles[10][N_STYLES] = {
  /* 0 */
  {
    { 4, 1, { { 9, { { .52, .0 }, { .2, .12 }, { .04, .5 }, { .18, .88 }, { .46, 1. }, { .76, .86 }, { .9, .48 }, { .76, .1 }, { .5, .0 } } } } },
    { 3, 1, { { 9, { { .62, .04 }, { .34, .1 }, { .16, .46 }, { .18, .84 }, { .38, 1. }, { .62, .88 }, { .78, .5 }, { .72, .12 }, { .46, .02 } } } } },
    { 2, 1, { { 10, { { .3, .08 }, { .1, .34 }, { .06, .7 }, { .28, .98 }, { .62, .94 }, { .88, .62 }, { .86, .26 }, { .62, .02 }, { .36, .06 }, { .22, .2 } } } } },
    { 2, 1, { { 10, { { .72, .1 }, { .42, .0 }, { .12, .24 }, { .04, .64 }, { .24, .96 }, { .56, .98 }, { .82, .7 }, { .86, .34 }, { .68, .08 }, { .44, .12 } } } } },
  },
  /* 1 */
  {
    { 7, 1, { { 3, { { .5, .0 }, { .5, .5 }, { .5, 1. } } } } },
    { 3, 1, { { 3, { { .62, .0 }, { .5, .5 }, { .4, 1. } } } } },
    { 2, 1, { { 5, { { .3, .22 }, { .54, .0 }, { .54, .0 }, { .52, .5 }, { .52, 1. } } } } },
    { 1, 2, { { 5, { { .28, .2 }, { .5, .0 }, { .5, .0 }, { .5, .5 }, { .5, .98 } } }, { 2, { { .2, 1. }, { .82, .98 } } } } },
  },
  /* 2 */
  {
    { 4, 1, { { 9, { { .12, .24 }, { .32, .02 }, { .66, .04 }, { .74, .3 }, { .5, .62 }, { .08, .96 }, { .08, .96 }, { .46, .94 }, { .94, .92 } } } } },
    { 4, 1, { { 12, { { .14, .2 }, { .36, .0 }, { .68, .06 }, { .72, .34 }, { .5, .66 }, { .22, .94 }, { .04, .94 }, { .08, .78 }, { .26, .74 }, { .5, .88 }, { .76, 1. }, { .98, .9 } } } } },
    { 2, 1, { { 10, { { .06, .34 }, { .14, .1 }, { .42, .0 }, { .7, .1 }, { .7, .34 }, { .46, .64 }, { .14, .98 }, { .14, .98 }, { .5, .9 }, { .9, 1. } } } } },
    { 1, 1, { { 8, { { .2, .08 }, { .6, .0 }, { .82, .2 }, { .6, .54 }, { .06, 1. }, { .06, 1. }, { .5, 1. }, { .86, 1. } } } } },
    { 2, 1, { { 11, { { .2, .16 }, { .5, .0 }, { .78, .14 }, { .7, .44 }, { .42, .74 }, { .14, .9 }, { .12, .76 }, { .3, .72 }, { .56, .84 }, { .84, .86 }, { 1.06, .76 } } } } },
  },
  /* 3 */
  {
    { 4, 1, { { 11, { { .14, .12 }, { .4, .0 }, { .72, .1 }, { .7, .32 }, { .36, .46 }, { .36, .46 }, { .74, .56 }, { .82, .8 }, { .58, .98 }, { .26, .98 }, { .06, .86 } } } } },
    { 3, 1, { { 11, { { .1, .06 }, { .46, .02 }, { .76, .14 }, { .64, .36 }, { .4, .48 }, { .64, .5 }, { .8, .66 }, { .74, .88 }, { .46, 1. }, { .18, .98 }, { .04, .88 } } } } },
    { 1, 1, { { 10, { { .1, .04 }, { .76, .02 }, { .76, .02 }, { .4, .38 }, { .4, .38 }, { .74, .5 }, { .82, .76 }, { .6, .96 }, { .3, 1. }, { .06, .88 } } } } },
    { 2, 1, { { 12, { { .2, .18 }, { .42, .0 }, { .7, .06 }, { .74, .26 }, { .5, .44 }, { .32, .5 }, { .34, .44 }, { .56, .48 }, { .72, .66 }, { .62, .9 }, { .34, 1. }, { .06, .94 } } } } },
  },
  /* 4 */
  {
    { 4, 2, { { 6, { { .16, .04 }, { .1, .3 }, { .08, .52 }, { .08, .52 }, { .44, .54 }, { .84, .46 } } }, { 3, { { .78, .0 }, { .74, .5 }, { .7, 1. } } } } },
    { 3, 2, { { 6, { { .24, .04 }, { .1, .28 }, { .14, .5 }, { .36, .54 }, { .62, .44 }, { .78, .3 } } }, { 3, { { .82, .02 }, { .74, .5 }, { .66, 1. } } } } },
    { 2, 1, { { 7, { { .62, .62 }, { .06, .64 }, { .06, .64 }, { .66, .0 }, { .66, .0 }, { .64, .5 }, { .6, 1. } } } } },
    { 2, 2, { { 5, { { .5, .0 }, { .26, .34 }, { .04, .62 }, { .04, .62 }, { .94, .58 } } }, { 3, { { .66, .3 }, { .64, .66 }, { .6, 1. } } } } },
    { 2, 1, { { 9, { { .2, .02 }, { .06, .32 }, { .2, .52 }, { .5, .46 }, { .78, .24 }, { .84, .02 }, { .84, .02 }, { .74, .5 }, { .68, 1. } } } } },
    { 1, 1, { { 8, { { .78, .04 }, { .4, .22 }, { .1, .52 }, { .4, .52 }, { .86, .4 }, { .86, .4 }, { .7, .68 }, { .56, 1. } } } } },
  },
  /* 5 */
  {
    { 4, 2, { { 8, { { .26, .06 }, { .2, .44 }, { .2, .44 }, { .5, .38 }, { .78, .56 }, { .74, .84 }, { .42, 1. }, { .06, .92 } } }, { 2, { { .26, .06 }, { .86, .02 } } } } },
    { 3, 1, { { 10, { { .84, .02 }, { .34, .06 }, { .34, .06 }, { .22, .42 }, { .22, .42 }, { .54, .42 }, { .74, .62 }, { .64, .88 }, { .34, 1. }, { .04, .9 } } } } },
    { 3, 1, { { 9, { { .92, .0 }, { .6, .06 }, { .34, .16 }, { .26, .36 }, { .5, .48 }, { .68, .68 }, { .56, .92 }, { .26, 1. }, { .02, .9 } } } } },
    { 2, 2, { { 7, { { .3, .1 }, { .26, .46 }, { .54, .46 }, { .76, .64 }, { .64, .9 }, { .32, 1. }, { .06, .94 } } }, { 2, { { .34, .08 }, { 1., .0 } } } } },
  },
  /* 6 */
  {
    { 4, 1, { { 10, { { .66, .0 }, { .36, .22 }, { .16, .54 }, { .14, .84 }, { .38, 1. }, { .66, .9 }, { .74, .68 }, { .54, .54 }, { .3, .64 }, { .18, .84 } } } } },
    { 3, 1, { { 10, { { .4, .0 }, { .22, .3 }, { .12, .64 }, { .22, .92 }, { .5, 1. }, { .76, .86 }, { .74, .64 }, { .5, .56 }, { .26, .68 }, { .16, .8 } } } } },
    { 2, 1, { { 11, { { .78, .08 }, { .56, .0 }, { .28, .18 }, { .12, .52 }, { .16, .86 }, { .42, 1. }, { .7, .88 }, { .74, .64 }, { .52, .52 }, { .28, .6 }, { .14, .74 } } } } },
    { 2, 1, { { 9, { { .6, .0 }, { .26, .4 }, { .1, .76 }, { .26, .98 }, { .54, .94 }, { .64, .78 }, { .52, .66 }, { .32, .74 }, { .22, .9 } } } } },
  },
  /* 7 */
  {
    { 5, 1, { { 6, { { .06, .08 }, { .44, .06 }, { .84, .02 }, { .84, .02 }, { .6, .48 }, { .42, 1. } } } } },
    { 3, 1, { { 7, { { .08, .14 }, { .3, .04 }, { .56, .08 }, { .82, .04 }, { .82, .2 }, { .62, .58 }, { .48, 1. } } } } },
    { 2, 2, { { 6, { { .08, .06 }, { .46, .06 }, { .84, .04 }, { .84, .04 }, { .58, .5 }, { .4, 1. } } }, { 2, { { .32, .52 }, { .82, .5 } } } } },
    { 2, 1, { { 8, { { .08, .26 }, { .1, .08 }, { .1, .08 }, { .46, .08 }, { .82, .06 }, { .82, .06 }, { .64, .5 }, { .52, 1. } } } } },
    { 2, 1, { { 7, { { .04, .18 }, { .22, .02 }, { .56, .04 }, { .8, .16 }, { .76, .42 }, { .64, .7 }, { .58, 1. } } } } },
  },
  /* 8 */
  {
    { 4, 1, { { 12, { { .72, .12 }, { .46, .0 }, { .2, .12 }, { .26, .36 }, { .54, .54 }, { .7, .76 }, { .56, .98 }, { .28, .98 }, { .16, .78 }, { .38, .54 }, { .68, .32 }, { .74, .1 } } } } },
    { 3, 1, { { 13, { { .5, .0 }, { .24, .08 }, { .24, .3 }, { .48, .46 }, { .74, .64 }, { .76, .88 }, { .5, 1. }, { .24, .88 }, { .26, .66 }, { .5, .46 }, { .76, .3 }, { .74, .08 }, { .48, .0 } } } } },
    { 1, 2, { { 7, { { .5, .0 }, { .24, .12 }, { .28, .36 }, { .54, .44 }, { .76, .3 }, { .72, .08 }, { .46, .0 } } }, { 7, { { .5, .44 }, { .2, .6 }, { .2, .86 }, { .5, 1. }, { .8, .86 }, { .78, .6 }, { .46, .44 } } } } },
    { 3, 1, { { 12, { { .84, .08 }, { .56, .0 }, { .3, .14 }, { .34, .36 }, { .54, .52 }, { .6, .76 }, { .44, .98 }, { .2, .98 }, { .14, .8 }, { .34, .58 }, { .66, .38 }, { .88, .12 } } } } },
  },
  /* 9 */
  {
    { 4, 1, { { 10, { { .74, .16 }, { .48, .0 }, { .2, .14 }, { .16, .38 }, { .4, .48 }, { .68, .34 }, { .76, .12 }, { .76, .12 }, { .7, .56 }, { .64, 1. } } } } },
    { 3, 1, { { 10, { { .78, .12 }, { .5, .0 }, { .22, .16 }, { .2, .4 }, { .46, .46 }, { .72, .28 }, { .8, .1 }, { .74, .44 }, { .58, .76 }, { .4, 1. } } } } },
    { 2, 1, { { 11, { { .76, .18 }, { .54, .0 }, { .26, .1 }, { .16, .32 }, { .34, .46 }, { .62, .38 }, { .76, .14 }, { .76, .5 }, { .68, .86 }, { .42, 1. }, { .16, .9 } } } } },
    { 2, 2, { { 7, { { .66, .06 }, { .36, .02 }, { .12, .24 }, { .22, .46 }, { .5, .42 }, { .68, .2 }, { .62, .04 } } }, { 3, { { .7, .1 }, { .68, .56 }, { .66, 1. } } } } },
    { 2, 1, { { 9, { { .62, .06 }, { .4, .06 }, { .26, .2 }, { .3, .36 }, { .5, .34 }, { .66, .14 }, { .66, .14 }, { .52, .56 }, { .34, 1. } } } } },
  },
};

/* What varies, as standard deviations unless said otherwise; lengths in units of the digit's height. */
#define POINT_JITTER 0.046f
#define SLANT_MEAN 0.12f
#define SLANT_SPREAD 0.28f
#define ROTATION 0.16f /* radians */
#define WIDTH_SPREAD 0.22f
#define BEND 0.065f
#define TRIM 0.06f /* up to this share of a stroke's first and last piece is left out or added */
#define PEN_MEAN 1.12f /* radius in pixels */
#define PEN_SPREAD 0.24f
#define PEN_WAVE 0.12f
#define EDGE_MIN 0.9f /* width of the grey edge in pixels */
#define EDGE_MAX 1.7f
#define INK_MIN 0.88f
#define GRAIN 0.10f
#define BOX_MIN 16.8f /* pixels; the longer side of the digit with its pen */
#define BOX_MAX 20.6f
#define SHIFT 0.7f /* pixels */

#define PIECES 4 /* straight pieces between two control points */
#define MAX_PIECES (3 * 13 * PIECES)

/* The random numbers of one sample, handed out in order. */
typedef struct
{
  uint64_t key;
  uint64_t index;
  uint64_t block;
  int n_left;
  uint32_t words[4];
} Dice;

static uint32_t
dice_word (Dice *self)
{
  if (self->n_left == 0)
    {
      tn_philox_block (self->key, self->index, self->block++, self->words);
      self->n_left = 4;
    }
  return self->words[--self->n_left];
}

/* [0, 1) */
static float
dice_uniform (Dice *self)
{
  return (float) (dice_word (self) >> 8) * 0x1p-24f;
}

/* Mean 0, deviation 1, never beyond 3.5: the sum of four bytes. Close enough to a bell for handwriting, without the
 * outliers that would leave the picture and without a call whose last bit depends on the C library. */
static float
dice_bell (Dice *self)
{
  uint32_t w = dice_word (self);
  int sum = (int) (w & 255) + (int) (w >> 8 & 255) + (int) (w >> 16 & 255) + (int) (w >> 24);

  return (float) (sum - 510) * (1.f / 147.8f);
}

typedef struct
{
  float x0, y0, x1, y1;
  float radius0, radius1;
} Piece;

static const Style *
pick_style (Dice *dice, int digit)
{
  const Style *all = styles[digit];
  int total = 0;
  for (int i = 0; i < N_STYLES; i++)
    total += all[i].weight;
  int draw = (int) (dice_uniform (dice) * (float) total);
  int i = 0;
  while (draw >= all[i].weight)
    draw -= all[i++].weight;
  return &all[i];
}

static void
jitter_points (Dice *dice, const Stroke *stroke, float points[14][2])
{
  for (int i = 0; i < stroke->n_points; i++)
    {
      gboolean corner = i > 0 && stroke->points[i][0] == stroke->points[i - 1][0]
                        && stroke->points[i][1] == stroke->points[i - 1][1];
      for (int k = 0; k < 2; k++)
        points[i][k] = corner ? points[i - 1][k] : stroke->points[i][k] + POINT_JITTER * dice_bell (dice);
    }
}

/* Catmull-Rom between points[i] and points[i + 1] at t in 0..1 (a little outside at the stroke's ends). */
static void
spline_at (float points[14][2], int n, int i, float t, float out[2])
{
  const float *b = points[i], *c = points[i + 1];
  const float *a = i > 0 ? points[i - 1] : b;
  const float *d = i + 2 < n ? points[i + 2] : c;
  for (int k = 0; k < 2; k++)
    {
      float m0 = 0.5f * (c[k] - a[k]), m1 = 0.5f * (d[k] - b[k]);
      float dx = c[k] - b[k];
      out[k] = b[k] + t * (m0 + t * (3.f * dx - 2.f * m0 - m1 + t * (m0 + m1 - 2.f * dx)));
    }
}

/* The stroke as straight pieces, in paper coordinates. Returns how many. */
static int
flatten_stroke (Dice *dice, const Stroke *stroke, Piece *pieces)
{
  float points[14][2];
  int n = stroke->n_points, n_pieces = 0;
  float start = TRIM * 2.f * (dice_uniform (dice) - 0.5f), end = 1.f + TRIM * 2.f * (dice_uniform (dice) - 0.5f);
  float last[2], next[2];

  jitter_points (dice, stroke, points);
  spline_at (points, n, 0, start, last);
  for (int i = 0; i + 1 < n; i++)
    {
      if (points[i][0] == points[i + 1][0] && points[i][1] == points[i + 1][1])
        continue;
      for (int j = 1; j <= PIECES; j++)
        {
          float t = (float) j / PIECES;
          if (i + 2 == n && j == PIECES)
            t = end;
          spline_at (points, n, i, t, next);
          pieces[n_pieces++] = (Piece){ last[0], last[1], next[0], next[1], 0, 0 };
          memcpy (last, next, sizeof last);
        }
    }
  return n_pieces;
}

/* A parabola instead of a sine: smooth, periodic, -1..1. */
static float
wave (float phase)
{
  float p = phase - floorf (phase);
  return p < 0.5f ? 16.f * p * (0.5f - p) : -16.f * (p - 0.5f) * (1.f - p);
}

typedef struct
{
  float xx, xy, yy, yx, bend, bend_phase;
} Warp;

static void
warp_point (const Warp *w, float *x, float *y)
{
  float px = *x - 0.5f, py = *y - 0.5f;

  px += w->bend * wave (0.8f * py + w->bend_phase);
  *x = w->xx * px + w->xy * py;
  *y = w->yx * px + w->yy * py;
}

static Warp
roll_warp (Dice *dice)
{
  float angle = ROTATION * dice_bell (dice);
  float sine = angle * (1.f - angle * angle / 6.f), cosine = 1.f - angle * angle * 0.5f;
  float slant = SLANT_MEAN + SLANT_SPREAD * dice_bell (dice);
  float stretch = 1.f + WIDTH_SPREAD * dice_bell (dice);
  Warp w = { .bend = BEND * dice_bell (dice), .bend_phase = dice_uniform (dice) };

  /* rotation after (x' = stretch x - slant y) */
  w.xx = cosine * stretch;
  w.xy = -cosine * slant - sine;
  w.yx = sine * stretch;
  w.yy = cosine - sine * slant;
  return w;
}

/* Paper to pixels: the longer side of the inked box becomes @box, the centre of mass the middle of the picture. */
static void
fit_to_picture (Piece *pieces, int n, float box, float pen, float shift_x, float shift_y)
{
  float x_min = 1e9f, x_max = -1e9f, y_min = 1e9f, y_max = -1e9f, mass = 0, mass_x = 0, mass_y = 0;
  for (int i = 0; i < n; i++)
    {
      Piece *p = &pieces[i];
      float dx = p->x1 - p->x0, dy = p->y1 - p->y0;
      float length = sqrtf (dx * dx + dy * dy);
      x_min = MIN (x_min, MIN (p->x0, p->x1));
      x_max = MAX (x_max, MAX (p->x0, p->x1));
      y_min = MIN (y_min, MIN (p->y0, p->y1));
      y_max = MAX (y_max, MAX (p->y0, p->y1));
      mass += length;
      mass_x += length * 0.5f * (p->x0 + p->x1);
      mass_y += length * 0.5f * (p->y0 + p->y1);
    }

  float scale = (box - 2.f * pen) / MAX (MAX (x_max - x_min, y_max - y_min), 0.1f);
  float x_offset = 13.5f + shift_x - scale * mass_x / MAX (mass, 1e-6f);
  float y_offset = 13.5f + shift_y - scale * mass_y / MAX (mass, 1e-6f);
  for (int i = 0; i < n; i++)
    {
      Piece *p = &pieces[i];
      p->x0 = scale * p->x0 + x_offset;
      p->x1 = scale * p->x1 + x_offset;
      p->y0 = scale * p->y0 + y_offset;
      p->y1 = scale * p->y1 + y_offset;
    }
}

/* Adds one piece to the coverage: 1 inside the pen, falling to 0 over @edge pixels around its border. */
static void
ink_piece (const Piece *p, float edge, float cover[TN_DRAWN_DIGITS_PIXELS])
{
  float reach = MAX (p->radius0, p->radius1) + 0.5f * edge;
  int x_from = MAX ((int) ceilf (MIN (p->x0, p->x1) - reach), 0), x_to = MIN ((int) floorf (MAX (p->x0, p->x1) + reach), 27);
  int y_from = MAX ((int) ceilf (MIN (p->y0, p->y1) - reach), 0), y_to = MIN ((int) floorf (MAX (p->y0, p->y1) + reach), 27);
  float dx = p->x1 - p->x0, dy = p->y1 - p->y0;
  float inv_length2 = 1.f / MAX (dx * dx + dy * dy, 1e-12f), inv_edge = 1.f / edge;

  for (int y = y_from; y <= y_to; y++)
    for (int x = x_from; x <= x_to; x++)
      {
        float ex = (float) x - p->x0, ey = (float) y - p->y0;
        float t = CLAMP ((ex * dx + ey * dy) * inv_length2, 0.f, 1.f);
        float fx = ex - t * dx, fy = ey - t * dy;
        float distance2 = fx * fx + fy * fy;
        if (distance2 >= reach * reach)
          continue;
        float radius = p->radius0 + t * (p->radius1 - p->radius0);
        float c = (radius - sqrtf (distance2)) * inv_edge + 0.5f;
        float *at = &cover[y * 28 + x];
        *at = MAX (*at, MIN (c, 1.f));
      }
}

int
tn_drawn_digits_draw (uint64_t seed, int64_t index, uint8_t pixels[TN_DRAWN_DIGITS_PIXELS])
{
  Dice dice = { .key = tn_philox_key (seed, "drawn-digits", 0), .index = (uint64_t) index };
  int digit = (int) ((uint64_t) index % TN_DRAWN_DIGITS_CLASSES);
  Piece pieces[MAX_PIECES];
  float cover[TN_DRAWN_DIGITS_PIXELS] = { 0 };
  int n_pieces = 0;

  const Style *style = pick_style (&dice, digit);
  Warp warp = roll_warp (&dice);
  for (int i = 0; i < style->n_strokes; i++)
    n_pieces += flatten_stroke (&dice, &style->strokes[i], pieces + n_pieces);

  float pen = CLAMP (PEN_MEAN + PEN_SPREAD * dice_bell (&dice), 0.55f, 2.2f);
  float pen_wave = PEN_WAVE * dice_bell (&dice), pen_phase = dice_uniform (&dice), pen_step = 0.02f + 0.04f * dice_uniform (&dice);
  for (int i = 0; i < n_pieces; i++)
    {
      Piece *p = &pieces[i];
      warp_point (&warp, &p->x0, &p->y0);
      warp_point (&warp, &p->x1, &p->y1);
      p->radius0 = pen * (1.f + pen_wave * wave (pen_phase + pen_step * (float) i));
      p->radius1 = pen * (1.f + pen_wave * wave (pen_phase + pen_step * (float) (i + 1)));
    }
  float box = BOX_MIN + (BOX_MAX - BOX_MIN) * dice_uniform (&dice);
  float shift_x = SHIFT * dice_bell (&dice), shift_y = SHIFT * dice_bell (&dice);
  fit_to_picture (pieces, n_pieces, box, pen, shift_x, shift_y);

  float edge = EDGE_MIN + (EDGE_MAX - EDGE_MIN) * dice_uniform (&dice);
  for (int i = 0; i < n_pieces; i++)
    ink_piece (&pieces[i], edge, cover);

  float ink = 255.f * (INK_MIN + (1.2f - INK_MIN) * dice_uniform (&dice));
  for (int i = 0; i < TN_DRAWN_DIGITS_PIXELS; i++)
    {
      float v = cover[i];
      if (v > 0.f)
        v = ink * v * (1.f + GRAIN * dice_bell (&dice)) + 0.5f;
      pixels[i] = (uint8_t) CLAMP (v, 0.f, 255.f);
    }
  return digit;
}

void
tn_drawn_digits_fill (uint64_t seed, int64_t first, int64_t n, uint8_t *pixels, int32_t *labels)
{
  for (int64_t i = 0; i < n; i++)
    {
      int digit = tn_drawn_digits_draw (seed, first + i, pixels + (size_t) i * TN_DRAWN_DIGITS_PIXELS);
      if (labels)
        labels[i] = digit;
    }
}
