/* SPDX-License-Identifier: Apache-2.0 */
#include "data/shuffle.h"

#include "base/philox.h"

struct _TnShuffle
{
  int64_t *ids, *order;
  int64_t n, epoch; /* -1: none yet */
  gboolean shuffled;
  uint64_t key;
};

TnShuffle *
tn_shuffle_new (const int64_t *ids, int64_t n, gboolean shuffled, uint64_t seed)
{
  TnShuffle *self = g_new0 (TnShuffle, 1);
  self->ids = g_memdup2 (ids, sizeof *ids * (gsize) n);
  self->order = shuffled ? g_new (int64_t, MAX (n, 1)) : NULL;
  self->n = n;
  self->epoch = -1;
  self->shuffled = shuffled;
  self->key = tn_philox_key (seed, "data/shuffle", 0);
  return self;
}

void
tn_shuffle_free (TnShuffle *self)
{
  g_free (self->ids);
  g_free (self->order);
  g_free (self);
}

int64_t
tn_shuffle_n (const TnShuffle *self)
{
  return self->n;
}

const int64_t *
tn_shuffle_order (TnShuffle *self, int64_t epoch)
{
  if (!self->shuffled)
    return self->ids;
  if (epoch != self->epoch)
    {
      tn_philox_shuffle (self->key, (uint64_t) epoch, self->n, self->order);
      for (int64_t i = 0; i < self->n; i++)
        self->order[i] = self->ids[self->order[i]];
      self->epoch = epoch;
    }
  return self->order;
}
