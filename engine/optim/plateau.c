/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include "optim/schedule.h"

void
tn_plateau_init (TnPlateau *self, double lr)
{
  *self = (TnPlateau){ .factor = 0.1, .patience = 10, .threshold = 1e-4, .eps = 1e-8, .lr = lr };
  tn_plateau_reset (self);
}

void
tn_plateau_reset (TnPlateau *self)
{
  self->best = self->maximize ? -INFINITY : INFINITY;
  self->bad = self->cooling = 0;
}

static gboolean
is_better (const TnPlateau *self, double metric)
{
  double step = self->absolute ? self->threshold : self->threshold * self->best;
  /* A relative threshold of an infinite best is not a number; anything finite is better than it. */
  if (!isfinite (self->best))
    return isfinite (metric);
  return self->maximize ? metric > self->best + step : metric < self->best - step;
}

double
tn_plateau_step (TnPlateau *self, double metric)
{
  if (is_better (self, metric))
    {
      self->best = metric;
      self->bad = 0;
    }
  else
    self->bad++;
  if (self->cooling > 0)
    {
      self->cooling--;
      self->bad = 0;
    }
  if (self->bad > self->patience)
    {
      double lower = MAX (self->lr * self->factor, self->min_lr);
      if (self->lr - lower > self->eps)
        self->lr = lower;
      self->cooling = self->cooldown;
      self->bad = 0;
    }
  return self->lr;
}
