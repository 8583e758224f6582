/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "device/cpu/lanes.h"

/* The lanes kernels against plain loops in double over row-major arrays, on every level this machine runs, over random
 * shapes. Set TENON_SEED to run a printed seed again. */

static const TnLanesKernels *levels[3];
static int n_levels;
static GRand *rng;

static float *
floats (size_t n)
{
  float *p = aligned_alloc (64, (n * sizeof (float) + 127) / 64 * 64);
  for (size_t i = 0; i < n; i++)
    p[i] = NAN; /* what is not written shows */
  return p;
}

static float *
random_floats (size_t n)
{
  float *p = floats (n);
  for (size_t i = 0; i < n; i++)
    p[i] = g_rand_double_range (rng, -1, 1);
  return p;
}

static int
pick (int lo, int hi)
{
  return g_rand_int_range (rng, lo, hi + 1);
}

/** Lanes of row-major @rows by definition, not by the kernel. */
static float *
to_lanes (const float *rows, int n, int features)
{
  int groups = tn_lanes_groups (n);
  float *lanes = floats ((size_t) groups * features * 16);
  for (int g = 0; g < groups; g++)
    for (int f = 0; f < features; f++)
      for (int l = 0; l < 16; l++)
        lanes[((size_t) g * features + f) * 16 + l] = g * 16 + l < n ? rows[(size_t) (g * 16 + l) * features + f] : 0;
  return lanes;
}

static float
lane_at (const float *lanes, int features, int n, int f)
{
  return lanes[((size_t) (n / 16) * features + f) * 16 + n % 16];
}

static void
assert_near (double got, double expected, double tolerance, const char *what)
{
  if (!(fabs (got - expected) <= tolerance * (1 + fabs (expected))))
    g_error ("%s: got %.9g, expected %.9g", what, got, expected);
}

static void
assert_lanes (const float *lanes, const double *rows, int n, int features, const char *what)
{
  for (int i = 0; i < n; i++)
    for (int f = 0; f < features; f++)
      assert_near (lane_at (lanes, features, i, f), rows[(size_t) i * features + f], 2e-5, what);
}

static void
assert_rest_is_finite (const float *lanes, int n, int features)
{
  for (int i = n; i < tn_lanes_groups (n) * 16; i++)
    for (int f = 0; f < features; f++)
      g_assert_true (isfinite (lane_at (lanes, features, i, f)));
}

/* --- convolution --- */

typedef struct
{
  TnLanesConvShape s;
  int n, oh, ow;
} Case;

static Case
random_case (void)
{
  Case c;
  do
    {
      int groups = pick (0, 3) ? 1 : pick (1, 4);
      TnLanesConvShape s = { .groups = groups, .channels = groups * pick (1, 9), .outputs = groups * pick (1, 14),
                             .height = pick (1, 13), .width = pick (1, 13), .kernel_h = pick (1, 5), .kernel_w = pick (1, 5),
                             .stride_h = pick (1, 3), .stride_w = pick (1, 3), .pad_top = pick (0, 3),
                             .pad_bottom = pick (0, 3), .pad_left = pick (0, 3), .pad_right = pick (0, 3),
                             .dilation_h = pick (1, 2), .dilation_w = pick (1, 2) };
      if (pick (0, 3) == 0)
        s.channels = groups * pick (20, 40), s.outputs = groups * pick (10, 40);
      c.s = s;
      c.n = pick (1, 40);
      c.oh = s.height + s.pad_top + s.pad_bottom - s.dilation_h * (s.kernel_h - 1) - 1;
      c.ow = s.width + s.pad_left + s.pad_right - s.dilation_w * (s.kernel_w - 1) - 1;
    }
  while (c.oh < 0 || c.ow < 0);
  c.oh = c.oh / c.s.stride_h + 1;
  c.ow = c.ow / c.s.stride_w + 1;
  return c;
}

/** Calls back for each multiply-add of a convolution: indices into row-major x, w, y. */
typedef void (*TapFunc) (size_t x, size_t w, size_t y, gpointer data);

static void
each_tap (const Case *c, TapFunc func, gpointer data)
{
  const TnLanesConvShape *s = &c->s;
  int cg = s->channels / s->groups, og = s->outputs / s->groups;
  for (int n = 0; n < c->n; n++)
    for (int o = 0; o < s->outputs; o++)
      for (int y = 0; y < c->oh; y++)
        for (int x = 0; x < c->ow; x++)
          for (int i = 0; i < cg; i++)
            for (int ky = 0; ky < s->kernel_h; ky++)
              for (int kx = 0; kx < s->kernel_w; kx++)
                {
                  int iy = y * s->stride_h - s->pad_top + ky * s->dilation_h;
                  int ix = x * s->stride_w - s->pad_left + kx * s->dilation_w;
                  if (iy < 0 || iy >= s->height || ix < 0 || ix >= s->width)
                    continue;
                  func ((((size_t) n * s->channels + o / og * cg + i) * s->height + iy) * s->width + ix,
                        (((size_t) o * cg + i) * s->kernel_h + ky) * s->kernel_w + kx,
                        (((size_t) n * s->outputs + o) * c->oh + y) * c->ow + x, data);
                }
}

typedef struct
{
  const float *x, *w, *dy;
  double *y, *dx, *dw;
} Arrays;

static void
tap_cb (size_t x, size_t w, size_t y, gpointer data)
{
  Arrays *a = data;
  a->y[y] += (double) a->w[w] * a->x[x];
  a->dx[x] += (double) a->w[w] * a->dy[y];
  a->dw[w] += (double) a->x[x] * a->dy[y];
}

static void
check_conv (const TnLanesKernels *k, const Case *c)
{
  const TnLanesConvShape *s = &c->s;
  int fx = s->channels * s->height * s->width, fy = s->outputs * c->oh * c->ow, groups = tn_lanes_groups (c->n);
  size_t nw = (size_t) s->outputs * (s->channels / s->groups) * s->kernel_h * s->kernel_w;
  float *x = random_floats ((size_t) c->n * fx), *dy = random_floats ((size_t) c->n * fy), *w = random_floats (nw);
  float *bias = random_floats (s->outputs), *lx = to_lanes (x, c->n, fx), *ldy = to_lanes (dy, c->n, fy);
  float *ly = floats ((size_t) groups * 16 * fy), *ldx = floats ((size_t) groups * 16 * fx), *dw = floats (nw);
  float *db = floats (s->outputs), *dw2 = floats (nw);
  double *y = g_new0 (double, (size_t) c->n *fy), *dx = g_new0 (double, (size_t) c->n *fx), *edw = g_new0 (double, nw);
  double *edb = g_new0 (double, s->outputs);
  gboolean relu = pick (0, 1);
  each_tap (c, tap_cb, &(Arrays){ x, w, dy, y, dx, edw });
  for (size_t i = 0; i < (size_t) c->n * fy; i++)
    {
      int o = i / (c->oh * c->ow) % s->outputs;
      y[i] += bias[o];
      edb[o] += dy[i];
      if (relu)
        y[i] = MAX (y[i], 0);
    }
  if (relu)
    for (size_t i = 0; i < (size_t) c->n * fx; i++)
      dx[i] = x[i] > 0 ? dx[i] : 0;

  g_autoptr (TnLanesConv) conv = tn_lanes_conv_new (k, s, NULL);
  g_assert_nonnull (conv);
  g_assert_cmpint (tn_lanes_conv_out_height (conv), ==, c->oh);
  g_assert_cmpint (tn_lanes_conv_out_width (conv), ==, c->ow);
  int cut = pick (0, groups), last = c->n - (groups - 1) * 16;
  k->conv_forward (conv, lx, w, bias, relu, ly, cut, groups, last);
  k->conv_forward (conv, lx, w, bias, relu, ly, 0, cut, cut == groups ? last : 16);
  assert_lanes (ly, y, c->n, fy, "conv forward");
  k->conv_backward_data (conv, ldy, w, relu ? lx : NULL, ldx, cut, groups, last);
  k->conv_backward_data (conv, ldy, w, relu ? lx : NULL, ldx, 0, cut, cut == groups ? last : 16);
  assert_lanes (ldx, dx, c->n, fx, "conv backward data");
  assert_rest_is_finite (ly, c->n, fy);
  assert_rest_is_finite (ldx, c->n, fx);
  size_t scratch_bytes = tn_lanes_conv_scratch (conv, groups);
  float *scratch = floats (scratch_bytes / sizeof (float));
  cut = pick (0, groups - 1);
  k->conv_backward_weights (conv, lx, ldy, FALSE, dw, db, scratch, cut, groups, last);
  k->conv_backward_weights (conv, lx, ldy, TRUE, dw, db, scratch, 0, cut, 16);
  for (size_t i = 0; i < nw; i++)
    assert_near (dw[i], edw[i], 1e-4, "conv backward weights");
  for (int o = 0; o < s->outputs; o++)
    assert_near (db[o], edb[o], 1e-4, "conv bias gradient");
  k->conv_backward_weights (conv, lx, ldy, FALSE, dw2, NULL, scratch, cut, groups, last);
  k->conv_backward_weights (conv, lx, ldy, TRUE, dw2, NULL, scratch, 0, cut, 16);
  g_assert_cmpmem (dw, nw * sizeof *dw, dw2, nw * sizeof *dw2);
  float *db2 = floats (s->outputs);
  k->bias_gradient (ldy, s->outputs, c->oh * c->ow, FALSE, db2, cut, groups);
  k->bias_gradient (ldy, s->outputs, c->oh * c->ow, TRUE, db2, 0, cut);
  for (int o = 0; o < s->outputs; o++)
    g_assert_cmpfloat (db[o], ==, db2[o]);
  free (db2);
  float *all[] = { x, dy, w, bias, lx, ldy, ly, ldx, dw, db, dw2, scratch };
  for (guint i = 0; i < G_N_ELEMENTS (all); i++)
    free (all[i]);
  g_free (y);
  g_free (dx);
  g_free (edw);
  g_free (edb);
}

static void
test_conv (void)
{
  for (int i = 0; i < 60; i++)
    {
      Case c = random_case ();
      for (int l = 0; l < n_levels; l++)
        check_conv (levels[l], &c);
    }
}

/** The chain that lanes.h promises, in scalar fused multiply-adds: forward and backward-data have these very bits. */
static void
test_conv_chain (void)
{
  for (int i = 0; i < 20; i++)
    {
      Case c = random_case ();
      const TnLanesConvShape *s = &c.s;
      int fx = s->channels * s->height * s->width, fy = s->outputs * c.oh * c.ow, groups = tn_lanes_groups (c.n);
      int cg = s->channels / s->groups, og = s->outputs / s->groups;
      float *x = random_floats ((size_t) c.n * fx), *lx = to_lanes (x, c.n, fx);
      float *w = random_floats ((size_t) s->outputs * cg * s->kernel_h * s->kernel_w), *ly = floats ((size_t) groups * 16 * fy);
      for (int l = 0; l < n_levels; l++)
        {
          if (levels[l]->isa == TN_ISA_SSE2)
            continue;
          g_autoptr (TnLanesConv) conv = tn_lanes_conv_new (levels[l], s, NULL);
          levels[l]->conv_forward (conv, lx, w, NULL, FALSE, ly, 0, groups, c.n - (groups - 1) * 16);
          for (int check = 0; check < 200; check++)
            {
              int n = pick (0, c.n - 1), o = pick (0, s->outputs - 1), oy = pick (0, c.oh - 1), ox = pick (0, c.ow - 1);
              float sum = 0;
              for (int ch = 0; ch < cg; ch++)
                for (int ky = 0; ky < s->kernel_h; ky++)
                  for (int kx = 0; kx < s->kernel_w; kx++)
                    {
                      int iy = oy * s->stride_h - s->pad_top + ky * s->dilation_h;
                      int ix = ox * s->stride_w - s->pad_left + kx * s->dilation_w;
                      if (iy >= 0 && iy < s->height && ix >= 0 && ix < s->width)
                        sum = fmaf (w[((o * cg + ch) * s->kernel_h + ky) * s->kernel_w + kx],
                                    x[((n * s->channels + o / og * cg + ch) * s->height + iy) * s->width + ix], sum);
                    }
              float got = lane_at (ly, fy, n, (o * c.oh + oy) * c.ow + ox);
              g_assert_cmpmem (&got, sizeof got, &sum, sizeof sum);
            }
        }
      free (x);
      free (lx);
      free (w);
      free (ly);
    }
}

static void
test_conv_refuses (void)
{
  TnLanesConvShape good = { 3, 8, 8, 4, 3, 3, 1, 1, 0, 0, 0, 0, 1, 1, 1 }, bad[] = { good, good, good, good, good };
  bad[0].groups = 2;
  bad[1].kernel_h = 9;
  bad[2].pad_left = -1;
  bad[3].stride_w = 0;
  bad[4].width = 1 << 30;
  for (guint i = 0; i < G_N_ELEMENTS (bad); i++)
    {
      g_autoptr (GError) error = NULL;
      g_assert_null (tn_lanes_conv_new (levels[0], &bad[i], &error));
      g_assert_nonnull (error);
    }
}

/* --- dense --- */

static void
check_dense (const TnLanesKernels *k, int n, int in, int out)
{
  int groups = tn_lanes_groups (n);
  float *x = random_floats ((size_t) n * in), *dy = random_floats ((size_t) n * out), *w = random_floats ((size_t) in * out);
  float *bias = random_floats (out), *lx = to_lanes (x, n, in), *ldy = to_lanes (dy, n, out);
  float *ly = floats ((size_t) groups * 16 * out), *ldx = floats ((size_t) groups * 16 * in);
  float *dw = floats ((size_t) in * out), *db = floats (out);
  double *y = g_new0 (double, (size_t) n *out), *dx = g_new0 (double, (size_t) n *in);
  gboolean relu = pick (0, 1), accumulate = pick (0, 1);
  for (int i = 0; i < n; i++)
    for (int o = 0; o < out; o++)
      {
        for (int f = 0; f < in; f++)
          {
            y[i * out + o] += (double) w[o * in + f] * x[i * in + f];
            dx[i * in + f] += (double) w[o * in + f] * dy[i * out + o];
          }
        y[i * out + o] += bias[o];
        if (relu)
          y[i * out + o] = MAX (y[i * out + o], 0);
      }
  for (int i = 0; relu && i < n * in; i++)
    dx[i] = x[i] > 0 ? dx[i] : 0;
  g_autoptr (TnLanesDense) dense = tn_lanes_dense_new (k, n, in, out, NULL);
  float *xt = floats (tn_lanes_dense_scratch (dense) / sizeof (float));
  int r = pick (0, out), g = pick (0, groups);
  k->dense_forward (dense, lx, w, bias, relu, ly, 0, r, 0, groups);
  k->dense_forward (dense, lx, w, bias, relu, ly, r, out, g, groups);
  k->dense_forward (dense, lx, w, bias, relu, ly, r, out, 0, g);
  assert_lanes (ly, y, n, out, "dense forward");
  r = pick (0, in);
  k->dense_backward_data (dense, ldy, w, relu ? lx : NULL, ldx, r, in, 0, groups);
  k->dense_backward_data (dense, ldy, w, relu ? lx : NULL, ldx, 0, r, g, groups);
  k->dense_backward_data (dense, ldy, w, relu ? lx : NULL, ldx, 0, r, 0, g);
  assert_lanes (ldx, dx, n, in, "dense backward data");
  int panels = tn_lanes_dense_panels (dense), p = pick (0, panels);
  k->dense_transpose (dense, lx, xt, p, panels);
  k->dense_transpose (dense, lx, xt, 0, p);
  float *start = random_floats ((size_t) in * out), *start_bias = random_floats (out);
  memcpy (dw, start, (size_t) in * out * sizeof *dw);
  memcpy (db, start_bias, out * sizeof *db);
  r = pick (0, out);
  k->dense_backward_weights (dense, xt, ldy, accumulate, dw, db, r, out);
  k->dense_backward_weights (dense, xt, ldy, accumulate, dw, db, 0, r);
  for (int o = 0; o < out; o++)
    {
      double sum = accumulate ? start_bias[o] : 0;
      for (int i = 0; i < n; i++)
        sum += dy[i * out + o];
      assert_near (db[o], sum, 2e-5, "dense bias gradient");
      for (int f = 0; f < in; f++)
        {
          /* The promised chain itself, bit for bit where there is a fused multiply-add. */
          float chain = accumulate ? start[o * in + f] : 0;
          for (int i = 0; i < n; i++)
            chain = fmaf (dy[i * out + o], x[i * in + f], chain);
          if (k->isa == TN_ISA_SSE2)
            assert_near (dw[o * in + f], chain, 2e-5, "dense backward weights");
          else
            g_assert_cmpmem (&dw[o * in + f], sizeof chain, &chain, sizeof chain);
        }
    }
  float *all[] = { x, dy, w, bias, lx, ldy, ly, ldx, dw, db, xt, start, start_bias };
  for (guint i = 0; i < G_N_ELEMENTS (all); i++)
    free (all[i]);
  g_free (y);
  g_free (dx);
}

static void
test_dense (void)
{
  for (int i = 0; i < 40; i++)
    {
      int n = pick (1, 70), in = pick (1, i % 8 ? 90 : 600), out = pick (1, i % 8 ? 60 : 300);
      for (int l = 0; l < n_levels; l++)
        check_dense (levels[l], n, in, out);
    }
  for (int l = 0; l < n_levels; l++)
    check_dense (levels[l], 300, 20, 13); /* more images than one chain holds */
}

/* --- pools --- */

static void
check_pool (const TnLanesKernels *k, const TnLanesPool *p, int n)
{
  int fx = p->channels * p->height * p->width, fy = p->channels * p->out_height * p->out_width, groups = tn_lanes_groups (n);
  float *x = random_floats ((size_t) n * fx), *dy = random_floats ((size_t) n * fy);
  for (size_t i = 0; i < (size_t) n * fx; i++)
    x[i] = pick (0, 40) == 0 ? NAN : MAX (roundf (x[i] * 3), 0); /* ties, zeros, NaN */
  float *lx = to_lanes (x, n, fx), *ldy = to_lanes (dy, n, fy), *ly = floats ((size_t) groups * 16 * fy);
  float *ldx = floats ((size_t) groups * 16 * fx), *ay = floats ((size_t) groups * 16 * fy), *adx = floats ((size_t) groups * 16 * fx);
  double *dx = g_new0 (double, (size_t) n *fx), *edx = g_new0 (double, (size_t) n *fx);
  gboolean relu = pick (0, 1);
  g_assert_true (tn_lanes_pool_check (p, NULL));
  int cut = pick (0, groups);
  k->max_pool_forward (p, lx, ly, 0, cut);
  k->max_pool_forward (p, lx, ly, cut, groups);
  k->max_pool_backward (p, lx, ly, ldy, relu, ldx, 0, groups);
  k->avg_pool_forward (p, lx, ay, 0, groups);
  k->avg_pool_backward (p, ldy, adx, 0, groups);
  for (size_t i = 0; i < (size_t) n * fy; i++)
    {
      int c = i % p->out_width, r = i / p->out_width % p->out_height;
      size_t plane = i / (p->out_width * p->out_height) * p->height * p->width, winner = G_MAXSIZE;
      int met = 0;
      double sum = 0;
      for (int pass = 0; pass < 2; pass++)
        for (int ky = 0; ky < p->kernel_h; ky++)
          for (int kx = 0; kx < p->kernel_w; kx++)
            {
              int y = r * p->stride_h - p->pad_top + ky, xx = c * p->stride_w - p->pad_left + kx;
              if (y < 0 || y >= p->height || xx < 0 || xx >= p->width)
                continue;
              size_t at = plane + (size_t) y * p->width + xx;
              if (pass == 1)
                {
                  edx[at] += dy[i] / (p->count_padding ? p->kernel_h * p->kernel_w : met);
                  continue;
                }
              met++;
              sum += x[at];
              if (winner == G_MAXSIZE || (!isnan (x[winner]) && (isnan (x[at]) || x[at] > x[winner])))
                winner = at;
            }
      float got = lane_at (ly, fy, i / fy, i % fy), average = lane_at (ay, fy, i / fy, i % fy);
      g_assert_true (got == x[winner] || (isnan (got) && isnan (x[winner])));
      if (!isnan (sum))
        assert_near (average, sum / (p->count_padding ? p->kernel_h * p->kernel_w : met), 1e-5, "average pool");
      else
        g_assert_true (isnan (average));
      if (!relu || x[winner] > 0)
        dx[winner] += dy[i];
    }
  assert_lanes (ldx, dx, n, fx, "max pool backward");
  assert_lanes (adx, edx, n, fx, "average pool backward");
  float *all[] = { x, dy, lx, ldy, ly, ldx, ay, adx };
  for (guint i = 0; i < G_N_ELEMENTS (all); i++)
    free (all[i]);
  g_free (dx);
  g_free (edx);
}

static void
test_pool (void)
{
  for (int i = 0; i < 60; i++)
    {
      TnLanesPool p = { .channels = pick (1, 4), .height = pick (2, 12), .width = pick (2, 12), .count_padding = pick (0, 1) };
      if (i % 3 == 0)
        {
          p.kernel_h = p.kernel_w = p.stride_h = p.stride_w = 2;
          p.out_height = p.height / 2;
          p.out_width = p.width / 2;
        }
      else
        {
          p.kernel_h = pick (1, p.height);
          p.kernel_w = pick (1, p.width);
          p.stride_h = pick (1, 4);
          p.stride_w = pick (1, 4);
          p.pad_top = pick (0, p.kernel_h - 1);
          p.pad_left = pick (0, p.kernel_w - 1);
          p.out_height = pick (1, (p.height + p.pad_top - 1) / p.stride_h + 1);
          p.out_width = pick (1, (p.width + p.pad_left - 1) / p.stride_w + 1);
        }
      for (int l = 0; l < n_levels; l++)
        check_pool (levels[l], &p, pick (1, 35));
    }
}

/* --- layout, loss, flat --- */

static void
test_pack (void)
{
  for (int i = 0; i < 30; i++)
    {
      int n = pick (1, 50), f = pick (1, 70), groups = tn_lanes_groups (n);
      float *rows = random_floats ((size_t) n * f), *expected = to_lanes (rows, n, f);
      for (int l = 0; l < n_levels; l++)
        {
          float *lanes = floats ((size_t) groups * 16 * f), *back = floats ((size_t) n * f);
          levels[l]->pack (rows, n, f, lanes, 0, groups);
          g_assert_cmpmem (lanes, (size_t) groups * 64 * f, expected, (size_t) groups * 64 * f);
          levels[l]->unpack (lanes, n, f, back, 0, groups);
          g_assert_cmpmem (back, (size_t) n * f * 4, rows, (size_t) n * f * 4);
          free (lanes);
          free (back);
        }
      free (rows);
      free (expected);
    }
}

static void
test_loss (void)
{
  for (int i = 0; i < 30; i++)
    {
      int n = pick (1, 50), classes = pick (1, 30), groups = tn_lanes_groups (n);
      float *rows = random_floats ((size_t) n * classes), *lanes;
      int32_t labels[50], best[50];
      for (int j = 0; j < n * classes; j++)
        rows[j] *= 20;
      for (int j = 0; j < n; j++)
        labels[j] = pick (0, 9) ? pick (0, classes - 1) : pick (0, 1) ? -1 : classes;
      lanes = to_lanes (rows, n, classes);
      for (int l = 0; l < n_levels; l++)
        {
          float *d = floats ((size_t) groups * 16 * classes), *soft = floats ((size_t) groups * 16 * classes), loss[50];
          levels[l]->softmax_cross_entropy (lanes, labels, n, classes, 0.5f, loss, d, 0, groups);
          levels[l]->softmax (lanes, n, classes, soft, 0, groups);
          levels[l]->argmax (lanes, n, classes, best, 0, groups);
          for (int j = 0; j < groups * 16; j++)
            {
              double sum = 0, max = -INFINITY;
              int first = 0;
              for (int c = 0; j < n && c < classes; c++)
                if (rows[j * classes + c] > max)
                  {
                    max = rows[j * classes + c];
                    first = c;
                  }
              for (int c = 0; j < n && c < classes; c++)
                sum += exp (rows[j * classes + c] - max);
              gboolean known = j < n && labels[j] >= 0 && labels[j] < classes;
              for (int c = 0; c < classes; c++)
                {
                  double p = j < n ? exp (rows[j * classes + c] - max) / sum : 0;
                  assert_near (lane_at (soft, classes, j, c), p, 1e-6, "softmax");
                  assert_near (lane_at (d, classes, j, c), known ? (p - (labels[j] == c)) * 0.5 : 0, 1e-6, "dlogits");
                  if (!known)
                    g_assert_cmpfloat (lane_at (d, classes, j, c), ==, 0);
                }
              if (j < n)
                {
                  assert_near (loss[j], known ? log (sum) + max - rows[j * classes + labels[j]] : 0, 2e-6, "loss");
                  g_assert_cmpint (best[j], ==, first);
                }
            }
          free (d);
          free (soft);
        }
      free (rows);
      free (lanes);
    }
}

/** Within 2 ulp of libm's double result, and the same bits on every level with fused multiply-add and at any place. */
static void
test_exp (void)
{
  enum
  {
    N = 20001
  };
  float *x = floats (N), *y = floats (N), one[1];
  for (int i = 0; i < N; i++)
    x[i] = g_rand_double_range (rng, -87.3, 88.7);
  x[0] = 88.72283f;
  x[1] = -87.33654f;
  for (int l = 0; l < n_levels; l++)
    {
      levels[l]->exp (x, y, N);
      for (int i = 0; i < N; i++)
        {
          double e = exp ((double) x[i]);
          float ulp = nextafterf ((float) e, INFINITY) - (float) e;
          if (isfinite (ulp) && fabs (y[i] - e) > 2 * ulp)
            g_error ("exp (%.9g): got %.9g, expected %.9g", x[i], y[i], e);
        }
      for (int i = 0; i < 50; i++)
        {
          levels[l]->exp (x + i, one, 1);
          g_assert_cmpmem (one, 4, y + i, 4);
        }
      float special[4] = { -INFINITY, -100, INFINITY, NAN };
      levels[l]->exp (special, special, 4);
      g_assert_true (special[0] == 0 && special[1] == 0 && isinf (special[2]) && isnan (special[3]));
    }
  free (x);
  free (y);
}

static void
test_sum_of_squares (void)
{
  for (int i = 0; i < 20; i++)
    {
      size_t n = pick (1, 5000); /* stretches of 1024 */
      float *x = random_floats (n);
      double sum = 0;
      for (size_t j = 0; j < n; j++)
        sum += (double) x[j] * x[j];
      for (int l = 0; l < n_levels; l++)
        assert_near (levels[l]->sum_of_squares (x, n), sum, 1e-6, "sum of squares");
      free (x);
    }
}

static void
test_flat (void)
{
  for (int i = 0; i < 20; i++)
    {
      size_t n = pick (1, 100);
      float *w = random_floats (n), *v = random_floats (n), *m = random_floats (n), *g = random_floats (n), *out = floats (n);
      for (size_t j = 0; j < n; j++)
        v[j] = fabsf (v[j]);
      for (int l = 0; l < n_levels; l++)
        {
          const TnLanesKernels *k = levels[l];
          float *w1 = g_memdup2 (w, n * 4), *v1 = g_memdup2 (v, n * 4), *m1 = g_memdup2 (m, n * 4);
          TnLanesMomentum sgd = { 0.1f, 0.9f, 0.01f, i % 2 };
          k->momentum (&sgd, w1, v1, g, n);
          for (size_t j = 0; j < n; j++)
            {
              double d = g[j] + 0.01 * w[j], vel = 0.9 * v[j] + d;
              assert_near (v1[j], vel, 1e-6, "velocity");
              assert_near (w1[j], w[j] - 0.1 * (i % 2 ? d + 0.9 * vel : vel), 1e-6, "momentum");
            }
          memcpy (w1, w, n * 4);
          memcpy (v1, v, n * 4);
          TnLanesAdam adam = { 0.1f, 0.9f, 0.99f, 1e-3f, 0.01f, i % 2, 0.19f, 0.0199f };
          k->adam (&adam, w1, m1, v1, g, n);
          for (size_t j = 0; j < n; j++)
            {
              double d = g[j] + (i % 2 ? 0 : 0.01 * w[j]), m2 = 0.9 * m[j] + 0.1 * d, v2 = 0.99 * v[j] + 0.01 * d * d;
              assert_near (w1[j], w[j] * (i % 2 ? 1 - 0.001 : 1) - 0.1 / 0.19 * m2 / (sqrt (v2 / 0.0199) + 1e-3), 3e-5, "adam");
              assert_near (m1[j], m2, 1e-6, "adam m");
              assert_near (v1[j], v2, 1e-5, "adam v");
            }
          memcpy (w1, w, n * 4);
          k->sgd (0.1f, 0.01f, w1, g, n);
          for (size_t j = 0; j < n; j++)
            assert_near (w1[j], w[j] - 0.1 * (g[j] + 0.01 * w[j]), 1e-6, "sgd");
          k->relu_forward (m, out, n);
          for (size_t j = 0; j < n; j++)
            g_assert_cmpfloat (out[j], ==, MAX (m[j], 0));
          k->relu_backward (m, g, out, n);
          for (size_t j = 0; j < n; j++)
            g_assert_cmpfloat (out[j], ==, m[j] > 0 ? g[j] : 0);
          k->add (w, g, out, n);
          for (size_t j = 0; j < n; j++)
            g_assert_cmpfloat (out[j], ==, w[j] + g[j]);
          k->multiply (w, g, out, n);
          for (size_t j = 0; j < n; j++)
            g_assert_cmpfloat (out[j], ==, w[j] * g[j]);
          k->scale (3, w, out, n);
          for (size_t j = 0; j < n; j++)
            g_assert_cmpfloat (out[j], ==, w[j] * 3);
          double sum = 0;
          for (size_t j = 0; j < n; j++)
            sum += w[j];
          assert_near (k->sum (w, n), sum, 1e-5, "sum");
          g_free (w1);
          g_free (v1);
          g_free (m1);
        }
      float *all[] = { w, v, m, g, out };
      for (guint j = 0; j < G_N_ELEMENTS (all); j++)
        free (all[j]);
    }
}

static void
test_bias_add (void)
{
  float *x = random_floats (2 * 3 * 5 * 16), *y = floats (2 * 3 * 5 * 16), bias[3] = { 1, -2, 3 };
  for (int l = 0; l < n_levels; l++)
    {
      levels[l]->bias_add (x, bias, y, 3, 5, 0, 2);
      for (int i = 0; i < 2 * 3 * 5 * 16; i++)
        g_assert_cmpfloat (y[i], ==, x[i] + bias[i / 80 % 3]);
    }
  free (x);
  free (y);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  const char *given = g_getenv ("TENON_SEED");
  guint32 seed = given ? (guint32) g_ascii_strtoull (given, NULL, 10) : g_random_int ();
  g_test_message ("seed %u", seed);
  rng = g_rand_new_with_seed (seed);
  for (TnIsa isa = TN_ISA_SSE2; isa <= TN_ISA_AVX512; isa++)
    if (tn_isa_available (isa))
      levels[n_levels++] = tn_lanes_kernels (isa);
  g_test_add_func ("/device/lanes/conv-equals-plain-loops", test_conv);
  g_test_add_func ("/device/lanes/conv-is-one-chain", test_conv_chain);
  g_test_add_func ("/device/lanes/conv-refuses-bad-shapes", test_conv_refuses);
  g_test_add_func ("/device/lanes/dense-equals-plain-loops", test_dense);
  g_test_add_func ("/device/lanes/pools-equal-plain-loops", test_pool);
  g_test_add_func ("/device/lanes/pack-and-unpack", test_pack);
  g_test_add_func ("/device/lanes/softmax-cross-entropy-equals-double", test_loss);
  g_test_add_func ("/device/lanes/exp-within-2-ulp", test_exp);
  g_test_add_func ("/device/lanes/flat-operations-equal-double", test_flat);
  g_test_add_func ("/device/lanes/sum-of-squares-equals-double", test_sum_of_squares);
  g_test_add_func ("/device/lanes/bias-by-channel", test_bias_add);
  int result = g_test_run ();
  g_rand_free (rng);
  return result;
}
