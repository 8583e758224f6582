/* SPDX-License-Identifier: Apache-2.0 */
#include "draw/graph-overlay.h"
#include "base/error.h"
#include <math.h>
#include <string.h>

static TnGraphOverlay *
overlay_new (const TnGraphDocument *document, TnOverlayKind kind, const char *source)
{
  TnGraphOverlay *self = g_new0 (TnGraphOverlay, 1);
  self->kind = kind;
  self->n_items = document->n_items;
  self->values = g_new (double, document->n_items + 1);
  self->source = self->source_text = g_strdup (source);
  return self;
}

static void
add_up (TnGraphOverlay *self)
{
  for (int i = 0; i < self->n_items; i++)
    if (isfinite (self->values[i]))
      self->total += self->values[i];
}

TnGraphOverlay *
tn_graph_overlay_new (const TnGraphDocument *document, TnOverlayKind kind)
{
  if (kind == TN_OVERLAY_NONE || kind == TN_OVERLAY_TIME)
    return NULL;
  TnGraphOverlay *self = overlay_new (document, kind, _ ("planned"));
  for (int i = 0; i < document->n_items; i++)
    {
      const TnGraphItem *item = &document->items[i];
      gboolean counts = item->kind == TN_ITEM_OPERATOR;
      double value = kind == TN_OVERLAY_MEMORY ? item->output_bytes : kind == TN_OVERLAY_FLOPS ? item->flops : 0;
      self->values[i] = counts && (value > 0 || kind == TN_OVERLAY_DTYPE) ? value : NAN;
    }
  add_up (self);
  return self;
}

TnGraphOverlay *
tn_graph_overlay_new_times (const TnGraphDocument *document, const double *nanoseconds, const char *source)
{
  TnGraphOverlay *self = overlay_new (document, TN_OVERLAY_TIME, source);
  memcpy (self->values, nanoseconds, sizeof (double) * (gsize) document->n_items);
  add_up (self);
  return self;
}

void
tn_graph_overlay_free (TnGraphOverlay *self)
{
  g_free (self->values);
  g_free (self->source_text);
  g_free (self);
}

/* The dtype of the box's first operator, or "mixed". */
static void
sum_words (const TnGraphCut *cut, TnBoxValue *sums)
{
  for (int i = 0; i < cut->document->n_items; i++)
    {
      int b = cut->box_of_item[i];
      const char *word = cut->document->items[i].dtype;
      if (b < 0 || word[0] == '\0')
        continue;
      sums[b].value = 0;
      if (sums[b].word == NULL)
        sums[b].word = word;
      else if (strcmp (sums[b].word, word) != 0)
        sums[b].word = _ ("mixed");
    }
}

TnBoxValue *
tn_graph_overlay_sum (const TnGraphOverlay *self, const TnGraphCut *cut)
{
  TnBoxValue *sums = g_new0 (TnBoxValue, cut->n_boxes + 1);
  for (int b = 0; b < cut->n_boxes; b++)
    sums[b].value = NAN;
  if (self->kind == TN_OVERLAY_DTYPE)
    {
      sum_words (cut, sums);
      return sums;
    }
  for (int i = 0; i < MIN (self->n_items, cut->document->n_items); i++)
    {
      int b = cut->box_of_item[i];
      if (b >= 0 && isfinite (self->values[i]))
        sums[b].value = (isfinite (sums[b].value) ? sums[b].value : 0) + self->values[i];
    }
  return sums;
}

static char *
three_digits (double value, const char *const *units, double step, int n_units)
{
  int u = 0;
  for (; value >= step && u < n_units - 1; u++)
    value /= step;
  return g_strdup_printf ("%.*f %s", value >= 100 || (u == 0 && value == floor (value)) ? 0 : value >= 10 ? 1 : 2, value, units[u]);
}

static char *
amount (const TnGraphOverlay *self, double value)
{
  static const char *const times[] = { "ns", "µs", "ms", "s" }, *const bytes[] = { "B", "KiB", "MiB", "GiB", "TiB" },
                    *const flops[] = { "FLOP", "kFLOP", "MFLOP", "GFLOP", "TFLOP" };
  if (self->kind == TN_OVERLAY_TIME)
    return three_digits (value, times, 1000, 4);
  return self->kind == TN_OVERLAY_MEMORY ? three_digits (value, bytes, 1024, 5) : three_digits (value, flops, 1000, 5);
}

char *
tn_graph_overlay_text (const TnGraphOverlay *self, TnBoxValue value)
{
  if (value.word != NULL)
    return g_strdup (value.word);
  if (!isfinite (value.value))
    return g_strdup ("—");
  g_autofree char *text = amount (self, value.value);
  return self->total > 0 ? g_strdup_printf ("%s · %.1f %%", text, 100 * value.value / self->total) : g_steal_pointer (&text);
}

const char *
tn_overlay_kind_title (TnOverlayKind kind)
{
  static const char *const titles[] = { N_ ("None"), N_ ("Time"), N_ ("Memory of results"), N_ ("FLOP"), N_ ("Data type") };
  return _ (titles[kind]);
}

char *
tn_graph_overlay_legend (const TnGraphOverlay *self)
{
  if (self->kind == TN_OVERLAY_DTYPE)
    return g_strdup (tn_overlay_kind_title (self->kind));
  g_autofree char *all = amount (self, self->total);
  /* Translators: "Time, measured at step 1200: 3.2 ms in all" */
  return g_strdup_printf (_ ("%s, %s: %s in all"), tn_overlay_kind_title (self->kind), self->source, all);
}
