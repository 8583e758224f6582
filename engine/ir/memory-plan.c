/* SPDX-License-Identifier: Apache-2.0 */
#include "ir/memory-plan.h"
#include <stdlib.h>

static int
compare_sizes (const void *a, const void *b)
{
  const TnMemoryBlock *x = *(TnMemoryBlock *const *) a, *y = *(TnMemoryBlock *const *) b;
  if (x->size != y->size)
    return x->size < y->size ? 1 : -1;
  return x->first != y->first ? x->first - y->first : (x > y) - (x < y); /* a total order: the same plan each time */
}

static int
compare_offsets (const void *a, const void *b)
{
  const TnMemoryBlock *x = *(TnMemoryBlock *const *) a, *y = *(TnMemoryBlock *const *) b;
  return (x->offset > y->offset) - (x->offset < y->offset);
}

static gboolean
lives_meet (const TnMemoryBlock *a, const TnMemoryBlock *b)
{
  return a->first <= b->last && b->first <= a->last;
}

/* The smallest gap between the @n blocks (sorted by offset) whose life meets @block's that holds it; else after them. */
static size_t
best_offset (TnMemoryBlock **placed, int n, const TnMemoryBlock *block, size_t alignment)
{
  size_t end = 0, best = SIZE_MAX, best_gap = SIZE_MAX;
  for (int i = 0; i < n; i++)
    {
      if (!lives_meet (placed[i], block))
        continue;
      size_t at = (end + alignment - 1) & ~(alignment - 1);
      if (placed[i]->offset >= at && placed[i]->offset - at >= block->size && placed[i]->offset - at < best_gap)
        {
          best = at;
          best_gap = placed[i]->offset - at;
        }
      end = MAX (end, placed[i]->offset + placed[i]->size);
    }
  return best != SIZE_MAX ? best : (end + alignment - 1) & ~(alignment - 1);
}

size_t
tn_memory_plan (TnMemoryBlock *blocks, int n_blocks, size_t alignment)
{
  g_autofree TnMemoryBlock **order = g_new (TnMemoryBlock *, n_blocks + 1);
  g_autofree TnMemoryBlock **placed = g_new (TnMemoryBlock *, n_blocks + 1);
  size_t total = 0;
  for (int i = 0; i < n_blocks; i++)
    order[i] = &blocks[i];
  qsort (order, (size_t) n_blocks, sizeof *order, compare_sizes);
  for (int i = 0; i < n_blocks; i++)
    {
      order[i]->offset = best_offset (placed, i, order[i], alignment);
      total = MAX (total, order[i]->offset + order[i]->size);
      placed[i] = order[i];
      qsort (placed, (size_t) i + 1, sizeof *placed, compare_offsets);
    }
  return (total + alignment - 1) & ~(alignment - 1);
}

gboolean
tn_memory_plan_is_sound (const TnMemoryBlock *blocks, int n_blocks)
{
  for (int i = 0; i < n_blocks; i++)
    for (int k = 0; k < i; k++)
      if (lives_meet (&blocks[i], &blocks[k]) && blocks[i].offset < blocks[k].offset + blocks[k].size
          && blocks[k].offset < blocks[i].offset + blocks[i].size)
        return FALSE;
  return TRUE;
}
