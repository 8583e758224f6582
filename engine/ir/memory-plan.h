/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
#include <glib.h>
#include <stddef.h>
#include <stdint.h>

/* Static memory plan: where each buffer lies in one arena, from when it is first written and last read. The largest are
 * placed first, each at the lowest offset that is free for the whole of its life (greedy by size). */
typedef struct
{
  size_t size;     /* bytes; 0 is allowed */
  int first, last; /* life, both ends included */
  size_t offset;   /* (out) */
} TnMemoryBlock;

/** Sets the offsets, multiples of @alignment (a power of two), and returns the bytes of the arena. */
size_t tn_memory_plan (TnMemoryBlock *blocks, int n_blocks, size_t alignment);

/** TRUE if no two blocks whose lives meet share a byte: a law to check the plan by, in tests and debug builds. */
gboolean tn_memory_plan_is_sound (const TnMemoryBlock *blocks, int n_blocks);
