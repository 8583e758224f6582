/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
#include <glib.h>

/* TnArena: many small allocations that are freed at once.
 *
 * Graphs and plans live in one: their pieces point at each other freely and go together. Memory is zeroed and aligned to
 * 16 bytes. Not thread safe: an arena belongs to whoever builds, and is only read afterwards. */
typedef struct _TnArena TnArena;

TnArena *tn_arena_new (void);
void tn_arena_free (TnArena *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (TnArena, tn_arena_free)

/** @size zeroed bytes; aborts like g_malloc where memory is out (small things only). */
void *tn_arena_alloc (TnArena *self, size_t size);
char *tn_arena_strdup (TnArena *self, const char *text);
void *tn_arena_memdup (TnArena *self, const void *data, size_t size);

#define tn_arena_new0(arena, T, n) ((T *) tn_arena_alloc ((arena), sizeof (T) * (size_t) (n)))
