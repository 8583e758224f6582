/* SPDX-License-Identifier: Apache-2.0 */
#include "base/arena.h"
#include <string.h>

#define BLOCK_BYTES 16384
#define ALIGNMENT 16

typedef struct _Block Block;
struct _Block
{
  Block *next;
  size_t used, size;
  _Alignas (ALIGNMENT) char bytes[];
};

struct _TnArena
{
  Block *blocks; /* the newest first: the only one with room */
};

TnArena *
tn_arena_new (void)
{
  return g_new0 (TnArena, 1);
}

void
tn_arena_free (TnArena *self)
{
  if (self == NULL)
    return;
  for (Block *block = self->blocks, *next; block != NULL; block = next)
    {
      next = block->next;
      g_free (block);
    }
  g_free (self);
}

void *
tn_arena_alloc (TnArena *self, size_t size)
{
  size = (size + ALIGNMENT - 1) & ~(size_t) (ALIGNMENT - 1);
  Block *block = self->blocks;
  if (block == NULL || block->size - block->used < size)
    {
      size_t room = MAX (size, BLOCK_BYTES);
      block = g_malloc0 (sizeof (Block) + room);
      block->size = room;
      block->next = self->blocks;
      self->blocks = block;
    }
  void *result = block->bytes + block->used;
  block->used += size;
  return result;
}

void *
tn_arena_memdup (TnArena *self, const void *data, size_t size)
{
  void *copy = tn_arena_alloc (self, size);
  if (size > 0)
    memcpy (copy, data, size);
  return copy;
}

char *
tn_arena_strdup (TnArena *self, const char *text)
{
  return text == NULL ? NULL : tn_arena_memdup (self, text, strlen (text) + 1);
}
