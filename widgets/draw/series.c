/* SPDX-License-Identifier: Apache-2.0 */
#include "draw/series.h"
#include <math.h>
#include <string.h>

typedef struct
{
  int64_t begin, end;
} Pause;

/* The running state of the average; kept so that an append costs one step of it. */
typedef struct
{
  double average, left; /* left = w^n: the share that the start still has */
  double first;
  gboolean any, constant;
} Smoother;

struct _TnSeries
{
  gatomicrefcount references;
  char *name;
  size_t n, room, n_smoothed;
  int64_t *steps, *times;
  int64_t *sparse_steps, *sparse_times; /* of rows 0, 64, 128 ... */
  double *values, *smooth; /* smooth: NULL while the weight is 0 */
  TnPyramid raw_pyramid, smooth_pyramid;
  GArray *segments; /* TnSegment */
  GArray *pauses;   /* Pause */
  gboolean restart_waits;
  double weight, steps_per_epoch;
  Smoother smoother;
  uint64_t generation;
  size_t at_min, at_max; /* G_MAXSIZE: none, or to be looked for again */
};

TnSeries *
tn_series_new (const char *name)
{
  TnSeries *self = g_new0 (TnSeries, 1);
  g_atomic_ref_count_init (&self->references);
  self->name = g_strdup (name);
  self->segments = g_array_new (FALSE, FALSE, sizeof (TnSegment));
  self->pauses = g_array_new (FALSE, FALSE, sizeof (Pause));
  self->at_min = self->at_max = G_MAXSIZE;
  return self;
}

TnSeries *
tn_series_ref (TnSeries *self)
{
  g_atomic_ref_count_inc (&self->references);
  return self;
}

void
tn_series_unref (TnSeries *self)
{
  if (self == NULL || !g_atomic_ref_count_dec (&self->references))
    return;
  tn_pyramid_clear (&self->raw_pyramid);
  tn_pyramid_clear (&self->smooth_pyramid);
  g_array_unref (self->segments);
  g_array_unref (self->pauses);
  g_free (self->steps);
  g_free (self->sparse_steps);
  g_free (self->sparse_times);
  g_free (self->times);
  g_free (self->values);
  g_free (self->smooth);
  g_free (self->name);
  g_free (self);
}

const char *
tn_series_name (const TnSeries *self)
{
  return self->name;
}

static void
reset_smoother (TnSeries *self)
{
  self->n_smoothed = 0;
  self->smoother = (Smoother) { .left = 1, .constant = TRUE };
  tn_pyramid_truncate (&self->smooth_pyramid, 0);
}

static inline double
smooth_next (Smoother *state, double weight, double value)
{
  if (!isfinite (value))
    return value;
  if (!state->any)
    {
      state->any = TRUE;
      state->first = value;
    }
  state->constant = state->constant && value == state->first;
  state->average = weight * state->average + (1 - weight) * value;
  state->left *= weight;
  return state->constant ? value : state->average / (1 - state->left);
}

gboolean
tn_series_smooth_some (TnSeries *self, size_t budget)
{
  if (self->weight <= 0)
    return FALSE;
  size_t end = MIN (self->n, self->n_smoothed + budget);
  for (size_t i = self->n_smoothed; i < end; i++)
    self->smooth[i] = smooth_next (&self->smoother, self->weight, self->values[i]);
  self->n_smoothed = end;
  tn_pyramid_extend (&self->smooth_pyramid, self->smooth, end);
  return end < self->n;
}

void
tn_series_set_smoothing (TnSeries *self, double weight)
{
  weight = CLAMP (weight, 0, 0.999);
  if (weight == self->weight)
    return;
  self->weight = weight;
  reset_smoother (self);
  if (weight > 0 && self->smooth == NULL)
    self->smooth = g_new (double, MAX (1, self->room));
  if (weight == 0)
    g_clear_pointer (&self->smooth, g_free);
  self->generation++;
}

double
tn_series_smoothing (const TnSeries *self)
{
  return self->weight;
}

size_t
tn_series_n_smoothed (const TnSeries *self)
{
  return self->weight > 0 ? self->n_smoothed : self->n;
}

static void
make_room (TnSeries *self)
{
  if (self->n < self->room)
    return;
  self->room = MAX (256, self->room + self->room / 2);
  self->steps = g_renew (int64_t, self->steps, self->room);
  self->times = g_renew (int64_t, self->times, self->room);
  self->values = g_renew (double, self->values, self->room);
  self->sparse_steps = g_renew (int64_t, self->sparse_steps, self->room / TN_SERIES_SPARSE + 1);
  self->sparse_times = g_renew (int64_t, self->sparse_times, self->room / TN_SERIES_SPARSE + 1);
  if (self->smooth != NULL)
    self->smooth = g_renew (double, self->smooth, self->room);
}

void
tn_series_append (TnSeries *self, int64_t step, double value, int64_t time_us)
{
  make_room (self);
  size_t i = self->n;
  gboolean first = i == 0, backward = !first && step <= self->steps[i - 1];
  if (first || backward || self->restart_waits)
    {
      TnSegment segment = { i, self->restart_waits && !first };
      g_array_append_val (self->segments, segment);
      self->restart_waits = FALSE;
    }
  else
    time_us = MAX (time_us, self->times[i - 1]);
  self->steps[i] = step;
  self->times[i] = time_us;
  self->values[i] = value;
  if (i % TN_SERIES_SPARSE == 0)
    {
      self->sparse_steps[i / TN_SERIES_SPARSE] = step;
      self->sparse_times[i / TN_SERIES_SPARSE] = time_us;
    }
  if (isfinite (value))
    {
      self->at_min = self->at_min == G_MAXSIZE || value < self->values[self->at_min] ? i : self->at_min;
      self->at_max = self->at_max == G_MAXSIZE || value > self->values[self->at_max] ? i : self->at_max;
    }
  self->n++;
  self->generation++;
  tn_pyramid_extend (&self->raw_pyramid, self->values, self->n);
  if (self->weight > 0 && self->n_smoothed + 1 == self->n)
    tn_series_smooth_some (self, 1);
}

static void
find_extremes (TnSeries *self)
{
  self->at_min = self->at_max = G_MAXSIZE;
  for (size_t i = 0; i < self->n; i++)
    if (isfinite (self->values[i]))
      {
        self->at_min = self->at_min == G_MAXSIZE || self->values[i] < self->values[self->at_min] ? i : self->at_min;
        self->at_max = self->at_max == G_MAXSIZE || self->values[i] > self->values[self->at_max] ? i : self->at_max;
      }
}

static void
cut (TnSeries *self, size_t n)
{
  self->n = n;
  while (self->segments->len > 0 && g_array_index (self->segments, TnSegment, self->segments->len - 1).begin >= n)
    g_array_set_size (self->segments, self->segments->len - 1);
  tn_pyramid_truncate (&self->raw_pyramid, n);
  reset_smoother (self);
  find_extremes (self);
  self->generation++;
}

void
tn_series_restart (TnSeries *self, int64_t step)
{
  size_t n = self->n;
  while (n > 0 && self->steps[n - 1] >= step)
    n--;
  if (n < self->n)
    cut (self, n);
  self->restart_waits = self->n > 0;
}

void
tn_series_clear (TnSeries *self)
{
  cut (self, 0);
  self->restart_waits = FALSE;
}

uint64_t
tn_series_generation (const TnSeries *self)
{
  return self->generation;
}

size_t
tn_series_n (const TnSeries *self)
{
  return self->n;
}

const int64_t *
tn_series_steps (const TnSeries *self)
{
  return self->steps;
}

const int64_t *
tn_series_times (const TnSeries *self)
{
  return self->times;
}

const double *
tn_series_values (const TnSeries *self, gboolean smoothed)
{
  return smoothed && self->weight > 0 ? self->smooth : self->values;
}

const TnPyramid *
tn_series_pyramid (const TnSeries *self, gboolean smoothed)
{
  return smoothed && self->weight > 0 ? &self->smooth_pyramid : &self->raw_pyramid;
}

const TnSegment *
tn_series_segments (const TnSeries *self, size_t *n)
{
  *n = self->segments->len;
  return (const TnSegment *) self->segments->data;
}

size_t
tn_series_segment_of (const TnSeries *self, size_t i)
{
  size_t low = 0, high = self->segments->len;
  while (high - low > 1)
    {
      size_t middle = (low + high) / 2;
      if (g_array_index (self->segments, TnSegment, middle).begin <= i)
        low = middle;
      else
        high = middle;
    }
  return low;
}

void
tn_series_set_steps_per_epoch (TnSeries *self, double steps)
{
  self->steps_per_epoch = steps > 0 && isfinite (steps) ? steps : 0;
  self->generation++;
}

double
tn_series_steps_per_epoch (const TnSeries *self)
{
  return self->steps_per_epoch;
}

void
tn_series_add_pause (TnSeries *self, int64_t begin_us, int64_t end_us)
{
  if (end_us <= begin_us)
    return;
  Pause pause = { begin_us, end_us };
  if (self->pauses->len > 0)
    {
      Pause *last = &g_array_index (self->pauses, Pause, self->pauses->len - 1);
      if (begin_us <= last->end)
        {
          last->end = MAX (last->end, end_us);
          self->generation++;
          return;
        }
    }
  g_array_append_val (self->pauses, pause);
  self->generation++;
}

/* Microseconds of work from the first row to @time. */
static double
work_until (const TnSeries *self, int64_t time)
{
  int64_t start = self->times[0], idle = 0;
  for (guint i = 0; i < self->pauses->len; i++)
    {
      const Pause *pause = &g_array_index (self->pauses, Pause, i);
      int64_t begin = MAX (pause->begin, start), end = MIN (pause->end, time);
      if (begin >= time)
        break;
      idle += MAX (0, end - begin);
    }
  return (double) (time - start - idle);
}

double
tn_series_x (const TnSeries *self, TnXKind kind, int64_t origin, size_t i)
{
  switch (kind)
    {
    case TN_X_EPOCH:
      return self->steps_per_epoch > 0 ? self->steps[i] / self->steps_per_epoch : (double) self->steps[i];
    case TN_X_RELATIVE:
      return work_until (self, self->times[i]);
    case TN_X_WALL:
      return (double) (self->times[i] - origin);
    case TN_X_STEP:
    default:
      return (double) (self->steps[i] - origin);
    }
}

static int64_t
ceil_to_int64 (double x)
{
  x = ceil (x);
  return x >= 9.2e18 ? G_MAXINT64 : x <= -9.2e18 ? G_MININT64 : (int64_t) x;
}

static int64_t
add_clamped (int64_t a, int64_t b)
{
  int64_t sum;
  return __builtin_add_overflow (a, b, &sum) ? (b > 0 ? G_MAXINT64 : G_MININT64) : sum;
}

int64_t
tn_series_key (const TnSeries *self, TnXKind kind, int64_t origin, double x)
{
  if (kind == TN_X_EPOCH)
    return ceil_to_int64 (self->steps_per_epoch > 0 ? x * self->steps_per_epoch : x);
  if (kind != TN_X_RELATIVE)
    return add_clamped (origin, ceil_to_int64 (x));
  if (self->n == 0)
    return 0;
  int64_t time = add_clamped (self->times[0], ceil_to_int64 (x));
  for (guint i = 0; i < self->pauses->len; i++)
    {
      const Pause *pause = &g_array_index (self->pauses, Pause, i);
      int64_t begin = MAX (pause->begin, self->times[0]);
      if (begin >= time)
        break;
      time = add_clamped (time, MAX (0, pause->end - begin));
    }
  return time;
}

const int64_t *
tn_series_keys (const TnSeries *self, TnXKind kind)
{
  return kind == TN_X_STEP || kind == TN_X_EPOCH ? self->steps : self->times;
}

const int64_t *
tn_series_sparse_keys (const TnSeries *self, TnXKind kind)
{
  return kind == TN_X_STEP || kind == TN_X_EPOCH ? self->sparse_steps : self->sparse_times;
}

size_t
tn_series_find (const int64_t *keys, size_t begin, size_t end, size_t hint, int64_t key)
{
  size_t low = begin, high = end; /* keys before low are below, those from high on are not */
  hint = CLAMP (hint, begin, end);
  /* From the hint in steps that double, as rows are nearly even. */
  if (hint < end && keys[hint] < key)
    {
      size_t stride = 1;
      low = hint + 1;
      while (low < end && keys[MIN (low + stride, end) - 1] < key)
        {
          low = MIN (low + stride, end);
          stride *= 2;
        }
      high = MIN (low + stride, end);
    }
  else
    {
      size_t stride = 1;
      high = hint;
      while (high > begin && keys[high - MIN (stride, high - begin)] >= key)
        {
          high -= MIN (stride, high - begin);
          stride *= 2;
        }
      low = high - MIN (stride, high - begin);
    }
  while (low < high)
    {
      size_t middle = low + (high - low) / 2;
      if (keys[middle] < key)
        low = middle + 1;
      else
        high = middle;
    }
  return low;
}

size_t
tn_series_nearest (const TnSeries *self, TnXKind kind, int64_t origin, double x)
{
  const int64_t *keys = tn_series_keys (self, kind);
  int64_t key = tn_series_key (self, kind, origin, x);
  size_t best = G_MAXSIZE;
  double best_distance = INFINITY;
  for (guint s = 0; s < self->segments->len; s++)
    {
      size_t begin = g_array_index (self->segments, TnSegment, s).begin;
      size_t end = s + 1 < self->segments->len ? g_array_index (self->segments, TnSegment, s + 1).begin : self->n;
      size_t at = tn_series_find (keys, begin, end, begin, key);
      for (size_t i = at > begin ? at - 1 : at; i < MIN (at + 1, end); i++)
        {
          double distance = fabs (tn_series_x (self, kind, origin, i) - x);
          if (distance < best_distance || (distance == best_distance && i > best && s == self->segments->len - 1))
            {
              best = i;
              best_distance = distance;
            }
        }
    }
  return best;
}

size_t
tn_series_extreme (const TnSeries *self, gboolean largest)
{
  return largest ? self->at_max : self->at_min;
}
