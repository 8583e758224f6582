/* SPDX-License-Identifier: Apache-2.0 */
#include "ladder.h"

/* The ladder of the lanes kernels. Variant 0 is a plain loop over row-major arrays; 1, 2, 3 are the lanes kernels on sse2,
 * avx2 and avx512. Each variant is checked against variant 0 before it is timed; times are the least of many short runs.
 *
 *   ladder-lanes                      everything on the best level
 *   ladder-lanes --variant 1 conv2    lines whose name contains conv2, on sse2
 *   ladder-lanes --plain              times variant 0 too */

/* --- convolution --- */

typedef struct
{
  TnLanesConvShape s;
  int n, groups, oh, ow, fx, fy;
  size_t nw;
  TnLanesConv *conv;
  float *x, *dy, *w, *bias, *y, *dx, *dw, *db, *scratch;        /* lanes */
  float *px, *pdy, *py, *pdx, *pdw, *pdb;                       /* plain, row-major */
} Conv;

static void
conv_forward_plain (void *data)
{
  Conv *c = data;
  const TnLanesConvShape *s = &c->s;
  float *out = c->py;
  for (int n = 0; n < c->n; n++)
    for (int o = 0; o < s->outputs; o++)
      for (int y = 0; y < c->oh; y++)
        for (int x = 0; x < c->ow; x++)
          {
            double sum = c->bias[o];
            for (int i = 0; i < s->channels; i++)
              for (int ky = 0; ky < s->kernel_h; ky++)
                for (int kx = 0; kx < s->kernel_w; kx++)
                  {
                    int iy = y * s->stride_h - s->pad_top + ky, ix = x * s->stride_w - s->pad_left + kx;
                    if (iy >= 0 && iy < s->height && ix >= 0 && ix < s->width)
                      sum += c->w[((o * s->channels + i) * s->kernel_h + ky) * s->kernel_w + kx]
                             * c->px[((n * s->channels + i) * s->height + iy) * s->width + ix];
                  }
            *out++ = sum;
          }
}

static void
conv_backward_plain (void *data)
{
  Conv *c = data;
  const TnLanesConvShape *s = &c->s;
  double *dw = g_new0 (double, c->nw), *db = g_new0 (double, s->outputs);
  memset (c->pdx, 0, (size_t) c->n * c->fx * sizeof (float));
  const float *dy = c->pdy;
  for (int n = 0; n < c->n; n++)
    for (int o = 0; o < s->outputs; o++)
      for (int y = 0; y < c->oh; y++)
        for (int x = 0; x < c->ow; x++, dy++)
          {
            db[o] += *dy;
            for (int i = 0; i < s->channels; i++)
              for (int ky = 0; ky < s->kernel_h; ky++)
                for (int kx = 0; kx < s->kernel_w; kx++)
                  {
                    int iy = y * s->stride_h - s->pad_top + ky, ix = x * s->stride_w - s->pad_left + kx;
                    if (iy < 0 || iy >= s->height || ix < 0 || ix >= s->width)
                      continue;
                    size_t xi = ((size_t) (n * s->channels + i) * s->height + iy) * s->width + ix;
                    size_t wi = ((size_t) (o * s->channels + i) * s->kernel_h + ky) * s->kernel_w + kx;
                    dw[wi] += *dy * c->px[xi];
                    c->pdx[xi] += *dy * c->w[wi];
                  }
          }
  for (size_t i = 0; i < c->nw; i++)
    c->pdw[i] = dw[i];
  for (int o = 0; o < s->outputs; o++)
    c->pdb[o] = db[o];
  g_free (dw);
  g_free (db);
}

static int
last_lanes (const Conv *c)
{
  return c->n - (c->groups - 1) * 16;
}

static void
conv_forward (void *data)
{
  Conv *c = data;
  kernels->conv_forward (c->conv, c->x, c->w, c->bias, FALSE, c->y, 0, c->groups, last_lanes (c));
}

static void
conv_backward_data (void *data)
{
  Conv *c = data;
  kernels->conv_backward_data (c->conv, c->dy, c->w, NULL, c->dx, 0, c->groups, last_lanes (c));
}

/** Group by group, as a plan runs it: one call of two groups would only differ in the bits. */
static void
conv_backward_weights (void *data)
{
  Conv *c = data;
  for (int g = 0; g < c->groups; g++)
    kernels->conv_backward_weights (c->conv, c->x, c->dy, g > 0, c->dw, c->db, c->scratch, g, g + 1, g + 1 < c->groups ? 16 : last_lanes (c));
}

static Conv
conv_make (int n, TnLanesConvShape s)
{
  Conv c = { .s = s, .n = n, .groups = tn_lanes_groups (n) };
  c.conv = tn_lanes_conv_new (kernels, &s, NULL);
  c.oh = tn_lanes_conv_out_height (c.conv);
  c.ow = tn_lanes_conv_out_width (c.conv);
  c.fx = s.channels * s.height * s.width;
  c.fy = s.outputs * c.oh * c.ow;
  c.nw = (size_t) s.outputs * s.channels * s.kernel_h * s.kernel_w;
  c.px = random_floats ((size_t) n * c.fx);
  c.pdy = random_floats ((size_t) n * c.fy);
  c.py = floats ((size_t) n * c.fy);
  c.pdx = floats ((size_t) n * c.fx);
  c.pdw = floats (c.nw);
  c.pdb = floats (s.outputs);
  c.w = random_floats (c.nw);
  c.bias = random_floats (s.outputs);
  c.x = floats ((size_t) c.groups * 16 * c.fx);
  c.dy = floats ((size_t) c.groups * 16 * c.fy);
  c.y = floats ((size_t) c.groups * 16 * c.fy);
  c.dx = floats ((size_t) c.groups * 16 * c.fx);
  c.dw = floats (c.nw);
  c.db = floats (s.outputs);
  c.scratch = floats (tn_lanes_conv_scratch (c.conv, c.groups) / sizeof (float) + 1);
  kernels->pack (c.px, n, c.fx, c.x, 0, c.groups);
  kernels->pack (c.pdy, n, c.fy, c.dy, 0, c.groups);
  return c;
}

static void
conv_free (Conv *c)
{
  float *all[] = { c->x, c->dy, c->w, c->bias, c->y, c->dx, c->dw, c->db, c->scratch, c->px, c->pdy, c->py, c->pdx, c->pdw, c->pdb };
  for (guint i = 0; i < G_N_ELEMENTS (all); i++)
    free (all[i]);
  tn_lanes_conv_free (c->conv);
}

/** Multiply-adds of a forward pass, taps in the padding left out, times two. */
static double
conv_flops (const Conv *c)
{
  const TnLanesConvShape *s = &c->s;
  double rows = 0, columns = 0;
  for (int y = 0; y < c->oh; y++)
    for (int k = 0; k < s->kernel_h; k++)
      rows += y * s->stride_h - s->pad_top + k >= 0 && y * s->stride_h - s->pad_top + k < s->height;
  for (int x = 0; x < c->ow; x++)
    for (int k = 0; k < s->kernel_w; k++)
      columns += x * s->stride_w - s->pad_left + k >= 0 && x * s->stride_w - s->pad_left + k < s->width;
  return 2.0 * c->n * s->outputs * s->channels * rows * columns;
}

static void
bench_conv (const char *name, int n, TnLanesConvShape s, gboolean with_data)
{
  if (!strstr (name, wanted))
    return;
  Conv c = conv_make (n, s);
  double flops = conv_flops (&c);
  g_autofree char *names[3] = { g_strconcat (name, " fwd", NULL), g_strconcat (name, " bwd-weights", NULL),
                                g_strconcat (name, " bwd-data", NULL) };
  float *rows = floats ((size_t) n * MAX (c.fx, c.fy));
  conv_forward_plain (&c);
  conv_backward_plain (&c);
  if (time_plain)
    report (names[0], 0, time_us (conv_forward_plain, &c, 1), flops, 0);
  conv_forward (&c);
  kernels->unpack (c.y, n, c.fy, rows, 0, c.groups);
  if (is_near (rows, c.py, (size_t) n * c.fy, names[0]))
    report (names[0], variant_of (kernels), time_us (conv_forward, &c, 60e3), flops, 0);
  conv_backward_weights (&c);
  if (is_near (c.dw, c.pdw, c.nw, names[1]) && is_near (c.db, c.pdb, s.outputs, names[1]))
    report (names[1], variant_of (kernels), time_us (conv_backward_weights, &c, 60e3), flops, 0);
  conv_backward_data (&c);
  kernels->unpack (c.dx, n, c.fx, rows, 0, c.groups);
  if (with_data && is_near (rows, c.pdx, (size_t) n * c.fx, names[2]))
    report (names[2], variant_of (kernels), time_us (conv_backward_data, &c, 60e3), flops, 0);
  free (rows);
  conv_free (&c);
  g_free (g_steal_pointer (&names[1]));
  g_free (g_steal_pointer (&names[2]));
}

/* --- dense --- */

typedef struct
{
  int n, groups, in, out;
  TnLanesDense *dense;
  float *x, *dy, *w, *bias, *y, *dx, *dw, *db, *xt;
} Dense;

static void
dense_forward (void *data)
{
  Dense *d = data;
  kernels->dense_forward (d->dense, d->x, d->w, d->bias, FALSE, d->y, 0, d->out, 0, d->groups);
}

static void
dense_backward_data (void *data)
{
  Dense *d = data;
  kernels->dense_backward_data (d->dense, d->dy, d->w, NULL, d->dx, 0, d->in, 0, d->groups);
}

static void
dense_backward_weights (void *data)
{
  Dense *d = data;
  kernels->dense_transpose (d->dense, d->x, d->xt, 0, tn_lanes_dense_panels (d->dense));
  kernels->dense_backward_weights (d->dense, d->xt, d->dy, FALSE, d->dw, d->db, 0, d->out);
}

static Dense
dense_make (int n, int in, int out)
{
  Dense d = { .n = n, .groups = tn_lanes_groups (n), .in = in, .out = out };
  float *px = random_floats ((size_t) n * in), *pdy = random_floats ((size_t) n * out);
  d.dense = tn_lanes_dense_new (kernels, n, in, out, NULL);
  d.x = floats ((size_t) d.groups * 16 * in);
  d.dy = floats ((size_t) d.groups * 16 * out);
  d.w = random_floats ((size_t) in * out);
  d.bias = random_floats (out);
  d.y = floats ((size_t) d.groups * 16 * out);
  d.dx = floats ((size_t) d.groups * 16 * in);
  d.dw = floats ((size_t) in * out);
  d.db = floats (out);
  d.xt = floats (tn_lanes_dense_scratch (d.dense) / sizeof (float));
  kernels->pack (px, n, in, d.x, 0, d.groups);
  kernels->pack (pdy, n, out, d.dy, 0, d.groups);
  free (px);
  free (pdy);
  return d;
}

static void
dense_free (Dense *d)
{
  float *all[] = { d->x, d->dy, d->w, d->bias, d->y, d->dx, d->dw, d->db, d->xt };
  for (guint i = 0; i < G_N_ELEMENTS (all); i++)
    free (all[i]);
  tn_lanes_dense_free (d->dense);
}

static float
lane_at (const float *lanes, int features, int n, int f)
{
  return lanes[((size_t) (n / 16) * features + f) * 16 + n % 16];
}

static gboolean
dense_is_right (const Dense *d, const char *name)
{
  float *y = floats ((size_t) d->n * d->out), *dx = floats ((size_t) d->n * d->in), *dw = floats ((size_t) d->in * d->out);
  float *rows = floats ((size_t) d->n * MAX (d->in, d->out)), *x = floats ((size_t) d->n * d->in);
  kernels->unpack (d->x, d->n, d->in, x, 0, d->groups);
  for (int n = 0; n < d->n; n++)
    for (int o = 0; o < d->out; o++)
      {
        float dy = lane_at (d->dy, d->out, n, o);
        double sum = d->bias[o];
        for (int i = 0; i < d->in; i++)
          {
            sum += (double) d->w[(size_t) o * d->in + i] * x[(size_t) n * d->in + i];
            dx[(size_t) n * d->in + i] += dy * d->w[(size_t) o * d->in + i];
            dw[(size_t) o * d->in + i] += dy * x[(size_t) n * d->in + i];
          }
        y[(size_t) n * d->out + o] = sum;
      }
  kernels->unpack (d->y, d->n, d->out, rows, 0, d->groups);
  gboolean right = is_near (rows, y, (size_t) d->n * d->out, name);
  kernels->unpack (d->dx, d->n, d->in, rows, 0, d->groups);
  right = is_near (rows, dx, (size_t) d->n * d->in, name) && is_near (d->dw, dw, (size_t) d->in * d->out, name) && right;
  free (y);
  free (dx);
  free (dw);
  free (rows);
  free (x);
  return right;
}

static void
bench_dense (const char *name, int n, int in, int out)
{
  if (!strstr (name, wanted))
    return;
  Dense d = dense_make (n, in, out);
  dense_forward (&d);
  dense_backward_data (&d);
  dense_backward_weights (&d);
  if (dense_is_right (&d, name))
    {
      const Work work[3] = { dense_forward, dense_backward_weights, dense_backward_data };
      const char *what[3] = { "fwd", "bwd-weights", "bwd-data" };
      for (int i = 0; i < 3; i++)
        {
          g_autofree char *full = g_strdup_printf ("%s %s", name, what[i]);
          report (full, variant_of (kernels), time_us (work[i], &d, 60e3), 2.0 * n * in * out, 0);
        }
    }
  dense_free (&d);
}

/* --- a whole LeNet-5 training step, batch 32 --- */

enum
{
  N = 32,
  GROUPS = 2,
  N_WEIGHTS = 150 + 2400 + 48000 + 10080 + 840,
  N_PARAMS = N_WEIGHTS + 6 + 16 + 120 + 84 + 10
};

typedef struct
{
  TnLanesConv *conv[2];
  TnLanesPool pool[2];
  TnLanesDense *dense[3];
  float *images; /* [N][1][32][32] */
  int32_t labels[N];
  float loss[N];
  float *params, *grads, *velocity;
  float *w[5], *b[5], *dw[5], *db[5];
  float *x, *c1, *p1, *c2, *p2, *f1, *f2, *logits;              /* lanes */
  float *dc1, *dp1, *dc2, *dp2, *df1, *df2, *dlogits, *xt[3], *scratch;
  double part_us[8];
} Step;

static const char *const part_names[8] = { "pack", "conv fwd", "pool fwd", "dense fwd", "loss", "dense bwd", "pool+conv bwd", "update" };

static Step *
step_make (void)
{
  Step *s = g_new0 (Step, 1);
  const TnLanesConvShape shapes[2] = { { 1, 32, 32, 6, 5, 5, 1, 1, 0, 0, 0, 0, 1, 1, 1 }, { 6, 14, 14, 16, 5, 5, 1, 1, 0, 0, 0, 0, 1, 1, 1 } };
  const int counts[5] = { 150, 2400, 48000, 10080, 840 }, outs[5] = { 6, 16, 120, 84, 10 }, ins[3] = { 400, 120, 84 };
  for (int i = 0; i < 2; i++)
    s->conv[i] = tn_lanes_conv_new (kernels, &shapes[i], NULL);
  s->pool[0] = (TnLanesPool){ 6, 28, 28, 2, 2, 2, 2, 0, 0, 14, 14, FALSE };
  s->pool[1] = (TnLanesPool){ 16, 10, 10, 2, 2, 2, 2, 0, 0, 5, 5, FALSE };
  s->images = random_floats (N * 1024);
  s->params = random_floats (N_PARAMS);
  s->grads = floats (N_PARAMS);
  s->velocity = floats (N_PARAMS);
  for (int i = 0; i < N; i++)
    s->labels[i] = i % 10;
  size_t at = 0;
  for (int i = 0; i < 5; i++, at += counts[i - 1] + outs[i - 1])
    {
      s->w[i] = s->params + at;
      s->b[i] = s->w[i] + counts[i];
      s->dw[i] = s->grads + at;
      s->db[i] = s->dw[i] + counts[i];
      for (int j = 0; j < counts[i]; j++)
        s->w[i][j] *= 2 / sqrtf (counts[i] / outs[i]);
    }
  for (int i = 0; i < 3; i++)
    {
      s->dense[i] = tn_lanes_dense_new (kernels, N, ins[i], outs[i + 2], NULL);
      s->xt[i] = floats (tn_lanes_dense_scratch (s->dense[i]) / 4);
    }
  s->scratch = floats (MAX (tn_lanes_conv_scratch (s->conv[0], 1), tn_lanes_conv_scratch (s->conv[1], 1)) / 4);
  float **lanes[] = { &s->x, &s->c1, &s->p1, &s->c2, &s->p2, &s->f1, &s->f2, &s->logits, &s->dc1, &s->dp1, &s->dc2, &s->dp2,
                      &s->df1, &s->df2, &s->dlogits };
  const int sizes[] = { 1024, 4704, 1176, 1600, 400, 120, 84, 10, 4704, 1176, 1600, 400, 120, 84, 10 };
  for (guint i = 0; i < G_N_ELEMENTS (lanes); i++)
    *lanes[i] = floats ((size_t) sizes[i] * N);
  return s;
}

/** Convolutions group by group, so that a group's activations stay in L2; dense layers over the batch. */
static void
step (void *data)
{
  Step *s = data;
  const TnLanesKernels *k = kernels;
  double part[8] = { 0 }, t = now_us (), t1;
#define MARK(i) (t1 = now_us (), part[i] += t1 - t, t = t1)
  for (int g = 0; g < GROUPS; g++)
    {
      k->pack (s->images, N, 1024, s->x, g, g + 1);
      MARK (0);
      k->conv_forward (s->conv[0], s->x, s->w[0], s->b[0], TRUE, s->c1, g, g + 1, 16);
      MARK (1);
      k->max_pool_forward (&s->pool[0], s->c1, s->p1, g, g + 1);
      MARK (2);
      k->conv_forward (s->conv[1], s->p1, s->w[1], s->b[1], TRUE, s->c2, g, g + 1, 16);
      MARK (1);
      k->max_pool_forward (&s->pool[1], s->c2, s->p2, g, g + 1);
      MARK (2);
    }
  k->dense_forward (s->dense[0], s->p2, s->w[2], s->b[2], TRUE, s->f1, 0, 120, 0, GROUPS);
  k->dense_forward (s->dense[1], s->f1, s->w[3], s->b[3], TRUE, s->f2, 0, 84, 0, GROUPS);
  k->dense_forward (s->dense[2], s->f2, s->w[4], s->b[4], FALSE, s->logits, 0, 10, 0, GROUPS);
  MARK (3);
  k->softmax_cross_entropy (s->logits, s->labels, N, 10, 1.0f / N, s->loss, s->dlogits, 0, GROUPS);
  MARK (4);
  const float *x[3] = { s->p2, s->f1, s->f2 }, *dy[3] = { s->df1, s->df2, s->dlogits };
  float *dx[3] = { s->dp2, s->df1, s->df2 };
  const int outs[3] = { 120, 84, 10 }, ins[3] = { 400, 120, 84 };
  for (int i = 2; i >= 0; i--)
    {
      k->dense_transpose (s->dense[i], x[i], s->xt[i], 0, tn_lanes_dense_panels (s->dense[i]));
      k->dense_backward_weights (s->dense[i], s->xt[i], dy[i], FALSE, s->dw[i + 2], s->db[i + 2], 0, outs[i]);
      k->dense_backward_data (s->dense[i], dy[i], s->w[i + 2], i > 0 ? x[i] : NULL, dx[i], 0, ins[i], 0, GROUPS);
    }
  MARK (5);
  for (int g = 0; g < GROUPS; g++)
    {
      k->max_pool_backward (&s->pool[1], s->c2, s->p2, s->dp2, TRUE, s->dc2, g, g + 1);
      k->conv_backward_weights (s->conv[1], s->p1, s->dc2, g > 0, s->dw[1], s->db[1], s->scratch, g, g + 1, 16);
      k->conv_backward_data (s->conv[1], s->dc2, s->w[1], NULL, s->dp1, g, g + 1, 16);
      k->max_pool_backward (&s->pool[0], s->c1, s->p1, s->dp1, TRUE, s->dc1, g, g + 1);
      k->conv_backward_weights (s->conv[0], s->x, s->dc1, g > 0, s->dw[0], s->db[0], s->scratch, g, g + 1, 16);
    }
  MARK (6);
  k->momentum (&(TnLanesMomentum){ 0.01f, 0.9f, 0, FALSE }, s->params, s->velocity, s->grads, N_PARAMS);
  MARK (7);
#undef MARK
  for (int i = 0; i < 8; i++)
    s->part_us[i] = MIN (s->part_us[i], part[i]);
}

static double
step_loss (Step *s)
{
  double sum = 0;
  for (int i = 0; i < N; i++)
    sum += s->loss[i];
  return sum / N;
}

/** Central differences of some parameters against the gradients of the step: the check before the time. */
static gboolean
step_is_right (Step *s)
{
  float *saved = g_memdup2 (s->params, N_PARAMS * 4), *grads;
  step (s);
  grads = g_memdup2 (s->grads, N_PARAMS * 4);
  gboolean right = TRUE;
  double worst = 0, scale = 0;
  for (int i = 0; i < N_PARAMS; i += 997)
    {
      double loss[2];
      for (int side = 0; side < 2; side++)
        {
          memcpy (s->params, saved, N_PARAMS * 4);
          s->params[i] += side ? 1e-2f : -1e-2f;
          step (s);
          loss[side] = step_loss (s);
        }
      worst = MAX (worst, fabs ((loss[1] - loss[0]) / 2e-2 - grads[i]));
      scale = MAX (scale, fabs (grads[i]));
    }
  if (worst > 0.05 * scale)
    {
      printf ("whole step WRONG: gradients differ by %g from differences (largest %g)\n", worst, scale);
      n_wrong++;
      right = FALSE;
    }
  memcpy (s->params, saved, N_PARAMS * 4);
  memset (s->velocity, 0, N_PARAMS * 4);
  g_free (saved);
  g_free (grads);
  return right;
}

static void
bench_step (void)
{
  if (!strstr ("lenet5 step", wanted))
    return;
  Step *s = step_make ();
  if (step_is_right (s))
    {
      double first = 0;
      for (int i = 0; i < 8; i++)
        s->part_us[i] = 1e30;
      step (s);
      first = step_loss (s);
      double us = time_us (step, s, 600e3);
      report ("lenet5 step N=32", variant_of (kernels), us, 2.0 * 1131960 * N, 0);
      for (int i = 0; i < 8; i++)
        printf ("    %-14s %8.2f us\n", part_names[i], s->part_us[i]);
      printf ("    loss %.4f -> %.4f\n", first, step_loss (s));
    }
  /* The program ends after this: what the step holds goes with it. */
}

/* --- passes over memory --- */

typedef struct
{
  TnLanesPool pool;
  float *x, *y, *dy, *dx;
  int groups;
} Pool;

static void
pool_forward (void *data)
{
  Pool *p = data;
  kernels->max_pool_forward (&p->pool, p->x, p->y, 0, p->groups);
}

static void
pool_backward (void *data)
{
  Pool *p = data;
  kernels->max_pool_backward (&p->pool, p->x, p->y, p->dy, TRUE, p->dx, 0, p->groups);
}

static void
pack_images (void *data)
{
  Pool *p = data;
  kernels->pack (p->x, 32, 1024, p->dx, 0, 2);
}

static void
update (void *data)
{
  Pool *p = data;
  kernels->momentum (&(TnLanesMomentum){ 0, 0.9f, 0, FALSE }, p->x, p->y, p->dx, 36000);
}

static void
bench_passes (void)
{
  if (!strstr ("passes", wanted))
    return;
  Pool p = { { 6, 28, 28, 2, 2, 2, 2, 0, 0, 14, 14, FALSE }, random_floats (4704 * 32), floats (1176 * 32), random_floats (1176 * 32),
             floats (4704 * 32), 2 };
  int v = variant_of (kernels);
  report ("pool1 fwd N=32", v, time_us (pool_forward, &p, 20e3), 0, 5880 * 128.0);
  report ("pool1 bwd N=32", v, time_us (pool_backward, &p, 20e3), 0, 11760 * 128.0);
  report ("pack 32 x 1024", v, time_us (pack_images, &p, 20e3), 0, 2048 * 128.0);
  report ("momentum 36000", v, time_us (update, &p, 20e3), 0, 36000 * 20.0);
  float *all[] = { p.x, p.y, p.dy, p.dx };
  for (guint i = 0; i < G_N_ELEMENTS (all); i++)
    free (all[i]);
}

static TnLanesConvShape
square (int channels, int size, int outputs, int kernel, int stride, int pad)
{
  return (TnLanesConvShape){ channels, size, size, outputs, kernel, kernel, stride, stride, pad, pad, pad, pad, 1, 1, 1 };
}

static void
bench_random (int n_shapes, guint32 seed)
{
  g_autoptr (GRand) rng = g_rand_new_with_seed (seed);
  for (int i = 0; i < n_shapes; i++)
    {
      int channels = g_rand_int_range (rng, 1, 33), outputs = g_rand_int_range (rng, 1, 33);
      int kernel = 3 + 2 * g_rand_int_range (rng, 0, 3), stride = g_rand_int_range (rng, 1, 3);
      int size = g_rand_int_range (rng, kernel, 29), pad = g_rand_boolean (rng) ? kernel / 2 : 0;
      int n = g_rand_int_range (rng, 16, 97);
      g_autofree char *name = g_strdup_printf ("random %d>%d k%d s%d p%d %d^2 N%d", channels, outputs, kernel, stride, pad, size, n);
      bench_conv (name, n, square (channels, size, outputs, kernel, stride, pad), TRUE);
    }
}

int
main (int argc, char **argv)
{
  TnIsa isa = TN_ISA_AUTO;
  int n_random = 8;
  guint32 seed = 1;
  for (int i = 1; i < argc; i++)
    if (g_str_equal (argv[i], "--variant") && i + 1 < argc)
      isa = TN_ISA_AUTO + atoi (argv[++i]);
    else if (g_str_equal (argv[i], "--random") && i + 1 < argc)
      n_random = atoi (argv[++i]);
    else if (g_str_equal (argv[i], "--seed") && i + 1 < argc)
      seed = strtoul (argv[++i], NULL, 10);
    else if (g_str_equal (argv[i], "--plain"))
      time_plain = TRUE;
    else
      wanted = argv[i];
  kernels = tn_lanes_kernels (isa);
  if (!kernels)
    {
      fprintf (stderr, "ladder-lanes: this machine has no %s\n", tn_isa_name (isa));
      return 2;
    }
  peak = tn_peak_flops (isa, 0.3);
  printf ("%s: peak of one thread %.1f GF/s\n", tn_isa_name (kernels->isa), peak * 1e-9);
  bench_conv ("conv1 1>6 5x5 32^2 N32", 32, square (1, 32, 6, 5, 1, 0), FALSE);
  bench_conv ("conv2 6>16 5x5 14^2 N32", 32, square (6, 14, 16, 5, 1, 0), TRUE);
  bench_dense ("dense 400>120 N32", 32, 400, 120);
  bench_dense ("dense 120>84 N32", 32, 120, 84);
  bench_dense ("dense 84>10 N32", 32, 84, 10);
  bench_dense ("mlp 784>512 N128", 128, 784, 512);
  bench_dense ("mlp 512>512 N128", 128, 512, 512);
  bench_dense ("mlp 512>10 N128", 128, 512, 10);
  bench_passes ();
  bench_random (n_random, seed);
  bench_step ();
  printf ("peak again %.1f GF/s\n", tn_peak_flops (isa, 0.2) * 1e-9);
  return n_wrong > 0;
}
