/* SPDX-License-Identifier: Apache-2.0 */
#include "base/id-ranges.h"

#include <string.h>

#include "base/error.h"

static TnIdRange *
range_at (const TnIdRanges *self, guint i)
{
  return &g_array_index (self->ranges, TnIdRange, i);
}

/* The first range that ends at @id or later. */
static guint
find (const TnIdRanges *self, int64_t id)
{
  guint low = 0, high = self->ranges->len;
  while (low < high)
    {
      guint middle = low + (high - low) / 2;
      if (range_at (self, middle)->last < id)
        low = middle + 1;
      else
        high = middle;
    }
  return low;
}

static TnIdRanges *
ranges_new (void)
{
  TnIdRanges *self = g_new0 (TnIdRanges, 1);
  self->ranges = g_array_new (FALSE, FALSE, sizeof (TnIdRange));
  return self;
}

static gboolean
parse_part (const char *part, TnIdRange *range)
{
  g_auto (GStrv) ends = g_strsplit (part, "-", 3);
  guint n = g_strv_length (ends);
  guint64 first, last;
  /* One less than the largest, so that "the id after" always exists. */
  if (n < 1 || n > 2 || !g_ascii_string_to_unsigned (g_strstrip (ends[0]), 10, 0, G_MAXINT64 - 1, &first, NULL))
    return FALSE;
  last = first;
  if (n == 2 && !g_ascii_string_to_unsigned (g_strstrip (ends[1]), 10, first, G_MAXINT64 - 1, &last, NULL))
    return FALSE;
  *range = (TnIdRange) { (int64_t) first, (int64_t) last };
  return TRUE;
}

static int
compare_ranges (gconstpointer a_pointer, gconstpointer b_pointer)
{
  const TnIdRange *a = a_pointer, *b = b_pointer;
  return (a->first > b->first) - (a->first < b->first);
}

/* Ascending, and merged where they touch: one pass, however long the text. */
static void
normalise (TnIdRanges *self)
{
  g_array_sort (self->ranges, compare_ranges);
  guint n = 0;
  for (guint i = 0; i < self->ranges->len; i++)
    {
      TnIdRange next = *range_at (self, i);
      if (n > 0 && next.first <= range_at (self, n - 1)->last + 1)
        range_at (self, n - 1)->last = MAX (range_at (self, n - 1)->last, next.last);
      else
        *range_at (self, n++) = next;
    }
  g_array_set_size (self->ranges, n);
}

TnIdRanges *
tn_id_ranges_parse (const char *text, GError **error)
{
  g_autoptr (TnIdRanges) self = ranges_new ();
  g_auto (GStrv) parts = g_strsplit (text, ",", -1);
  for (char **part = parts; *part != NULL; part++)
    {
      TnIdRange range;
      if (*g_strstrip (*part) == '\0' && parts[1] == NULL)
        break;
      if (!parse_part (*part, &range))
        {
          g_set_error (error, TN_ERROR, TN_ERROR_INVALID_ARGUMENT, _ ("“%s” is no list of sample ids. Write it like “3,17,200-210”."),
                       strlen (text) > 60 ? *part : text);
          return NULL;
        }
      g_array_append_val (self->ranges, range);
    }
  normalise (self);
  return g_steal_pointer (&self);
}

void
tn_id_ranges_free (TnIdRanges *self)
{
  g_array_unref (self->ranges);
  g_free (self);
}

gboolean
tn_id_ranges_contains (const TnIdRanges *self, int64_t id)
{
  guint i = find (self, id);
  return i < self->ranges->len && range_at (self, i)->first <= id;
}

void
tn_id_ranges_add (TnIdRanges *self, int64_t first, int64_t last)
{
  g_return_if_fail (first >= 0 && last >= first && last < G_MAXINT64);
  TnIdRange range = { first, last };
  g_array_append_val (self->ranges, range);
  normalise (self);
}

void
tn_id_ranges_remove (TnIdRanges *self, int64_t first, int64_t last)
{
  g_return_if_fail (first >= 0 && last >= first);
  guint i = find (self, first);
  while (i < self->ranges->len && range_at (self, i)->first <= last)
    {
      TnIdRange old = *range_at (self, i);
      g_array_remove_index (self->ranges, i);
      if (old.first < first)
        {
          TnIdRange before = { old.first, first - 1 };
          g_array_insert_val (self->ranges, i, before);
          i++;
        }
      if (old.last > last)
        {
          TnIdRange after = { last + 1, old.last };
          g_array_insert_val (self->ranges, i, after);
          i++;
        }
    }
}

int64_t
tn_id_ranges_count (const TnIdRanges *self)
{
  int64_t count = 0;
  for (guint i = 0; i < self->ranges->len; i++)
    count += range_at (self, i)->last - range_at (self, i)->first + 1;
  return count;
}

char *
tn_id_ranges_to_text (const TnIdRanges *self)
{
  g_autoptr (GString) text = g_string_new (NULL);
  for (guint i = 0; i < self->ranges->len; i++)
    {
      const TnIdRange *range = range_at (self, i);
      g_string_append_printf (text, "%s%" G_GINT64_FORMAT, i > 0 ? "," : "", range->first);
      if (range->last > range->first)
        g_string_append_printf (text, "-%" G_GINT64_FORMAT, range->last);
    }
  return g_string_free (g_steal_pointer (&text), FALSE);
}
