/* SPDX-License-Identifier: Apache-2.0 */
#include "plot-table-model.h"

/* A step that the base line does not have. */
typedef struct
{
  int64_t step;
  size_t before; /* rows of the base that come first */
} Extra;

struct _TnPlotTableModel
{
  GObject parent_instance;
  TnPlot *plot;
  TnSeries *base;
  GArray *extras; /* Extra, by step */
  GArray *events; /* int64_t: the rows where only_events */
  gboolean only_events;
  guint n;
  GArray *known; /* Known, of each shown line at the last update */
};

typedef struct
{
  TnSeries *series; /* only compared */
  size_t n;
  uint64_t generation;
} Known;

struct _TnPlotTableRow
{
  GObject parent_instance;
  int64_t step;
  TnSeries *base;
  size_t row; /* in the base; G_MAXSIZE for an extra */
};

G_DEFINE_FINAL_TYPE (TnPlotTableRow, tn_plot_table_row, G_TYPE_OBJECT)

static void
tn_plot_table_row_finalize (GObject *object)
{
  tn_series_unref (TN_PLOT_TABLE_ROW (object)->base);
  G_OBJECT_CLASS (tn_plot_table_row_parent_class)->finalize (object);
}

static void
tn_plot_table_row_class_init (TnPlotTableRowClass *klass)
{
  G_OBJECT_CLASS (klass)->finalize = tn_plot_table_row_finalize;
}

static void
tn_plot_table_row_init (TnPlotTableRow *self)
{
}

int64_t
tn_plot_table_row_step (TnPlotTableRow *row)
{
  return row->step;
}

/* The last row of @series with @step; @hint: where it may be. */
static size_t
find_step (const TnSeries *series, int64_t step, size_t hint)
{
  size_t n_segments, end = tn_series_n (series);
  const TnSegment *segments = tn_series_segments (series, &n_segments);
  const int64_t *steps = tn_series_steps (series);
  for (size_t i = n_segments; i-- > 0; end = segments[i].begin)
    {
      size_t at = tn_series_find (steps, segments[i].begin, end, hint, step);
      if (at < end && steps[at] == step)
        return at;
    }
  return G_MAXSIZE;
}

size_t
tn_plot_table_row_in (TnPlotTableRow *row, const TnSeries *series)
{
  if (series == row->base && row->row < tn_series_n (series) && tn_series_steps (series)[row->row] == row->step)
    return row->row;
  return find_step (series, row->step, row->row);
}

/* --- list model --- */

static void list_model_init (GListModelInterface *iface);
G_DEFINE_FINAL_TYPE_WITH_CODE (TnPlotTableModel, tn_plot_table_model, G_TYPE_OBJECT, G_IMPLEMENT_INTERFACE (G_TYPE_LIST_MODEL, list_model_init))

static GType
get_item_type (GListModel *model)
{
  return TN_TYPE_PLOT_TABLE_ROW;
}

static guint
get_n_items (GListModel *model)
{
  return TN_PLOT_TABLE_MODEL (model)->n;
}

/* Extras whose place is before @position: extra k stands at its `before` + k. */
static guint
extras_before (TnPlotTableModel *self, guint position)
{
  guint low = 0, high = self->extras->len;
  while (low < high)
    {
      guint middle = low + (high - low) / 2;
      if (g_array_index (self->extras, Extra, middle).before + middle < position)
        low = middle + 1;
      else
        high = middle;
    }
  return low;
}

static gpointer
get_item (GListModel *model, guint position)
{
  TnPlotTableModel *self = TN_PLOT_TABLE_MODEL (model);
  if (position >= self->n)
    return NULL;
  TnPlotTableRow *row = g_object_new (TN_TYPE_PLOT_TABLE_ROW, NULL);
  row->row = G_MAXSIZE;
  if (self->only_events)
    {
      row->step = g_array_index (self->events, int64_t, position);
      return row;
    }
  guint k = extras_before (self, position);
  if (k < self->extras->len && g_array_index (self->extras, Extra, k).before + k == position)
    row->step = g_array_index (self->extras, Extra, k).step;
  else
    {
      row->base = tn_series_ref (self->base);
      row->row = position - k;
      row->step = row->row < tn_series_n (self->base) ? tn_series_steps (self->base)[row->row] : 0;
    }
  return row;
}

static void
list_model_init (GListModelInterface *iface)
{
  iface->get_item_type = get_item_type;
  iface->get_n_items = get_n_items;
  iface->get_item = get_item;
}

static TnSeries *
longest (TnPlotTableModel *self)
{
  TnSeries *best = NULL;
  for (unsigned i = 0; i < tn_plot_n_lines (self->plot); i++)
    {
      const TnPlotLine *line = tn_plot_line (self->plot, i);
      if (tn_plot_line_is_shown (self->plot, line) && (best == NULL || tn_series_n (line->series) > tn_series_n (best)))
        best = line->series;
    }
  return best;
}

static int
compare_steps (gconstpointer a, gconstpointer b)
{
  int64_t left = ((const Extra *) a)->step, right = ((const Extra *) b)->step;
  return left < right ? -1 : left > right;
}

/* Rows of the base in front of @step: in its last segment, so that the order of arrival stays. */
static size_t
place_of (const TnSeries *base, int64_t step)
{
  size_t n_segments, n = tn_series_n (base);
  const TnSegment *segments = tn_series_segments (base, &n_segments);
  return n == 0 ? 0 : tn_series_find (tn_series_steps (base), segments[n_segments - 1].begin, n, n, step);
}

static void
find_extras (TnPlotTableModel *self)
{
  g_array_set_size (self->extras, 0);
  for (unsigned i = 0; i < tn_plot_n_lines (self->plot); i++)
    {
      const TnPlotLine *line = tn_plot_line (self->plot, i);
      const int64_t *steps = tn_series_steps (line->series);
      if (line->series == self->base || !tn_plot_line_is_shown (self->plot, line))
        continue;
      for (size_t row = 0; row < tn_series_n (line->series); row++)
        if (find_step (self->base, steps[row], row) == G_MAXSIZE)
          {
            Extra extra = { steps[row], place_of (self->base, steps[row]) };
            g_array_append_val (self->extras, extra);
          }
    }
  g_array_sort (self->extras, compare_steps);
  guint kept = 0;
  for (guint i = 0; i < self->extras->len; i++)
    if (kept == 0 || g_array_index (self->extras, Extra, i).step != g_array_index (self->extras, Extra, kept - 1).step)
      g_array_index (self->extras, Extra, kept++) = g_array_index (self->extras, Extra, i);
  g_array_set_size (self->extras, kept);
}

static void
find_events (TnPlotTableModel *self)
{
  g_array_set_size (self->events, 0);
  for (unsigned i = 0; i < tn_plot_n_events (self->plot); i++)
    {
      int64_t step = tn_plot_event (self->plot, i)->step;
      guint n = self->events->len;
      if (n == 0 || g_array_index (self->events, int64_t, n - 1) != step)
        g_array_append_val (self->events, step);
    }
}

static void
list_known (TnPlotTableModel *self, GArray *known)
{
  for (unsigned i = 0; i < tn_plot_n_lines (self->plot); i++)
    {
      const TnPlotLine *line = tn_plot_line (self->plot, i);
      Known entry = { line->series, tn_series_n (line->series), tn_series_generation (line->series) };
      if (tn_plot_line_is_shown (self->plot, line))
        g_array_append_val (known, entry);
    }
}

static guint
count_rows (TnPlotTableModel *self)
{
  size_t n = self->only_events ? self->events->len : self->base != NULL ? tn_series_n (self->base) + self->extras->len : 0;
  return (guint) MIN (n, G_MAXUINT - 1);
}

static void
replace_from (TnPlotTableModel *self, guint first)
{
  guint old = self->n;
  self->n = count_rows (self);
  first = MIN (first, MIN (old, self->n));
  if (first < old || first < self->n)
    g_list_model_items_changed (G_LIST_MODEL (self), first, old - first, self->n - first);
}

static void
replace_all (TnPlotTableModel *self)
{
  if (self->only_events)
    find_events (self);
  else if (self->base != NULL)
    find_extras (self);
  replace_from (self, 0);
}

/* Smallest step that came new to any line; FALSE where more than that happened: lines came or went, rows were taken out. */
static gboolean
only_appended (const GArray *before, const GArray *now, int64_t *first)
{
  *first = G_MAXINT64;
  if (before->len != now->len)
    return FALSE;
  for (guint i = 0; i < now->len; i++)
    {
      const Known *old = &g_array_index (before, Known, i), *new = &g_array_index (now, Known, i);
      if (old->series != new->series || new->n < old->n || new->generation - old->generation != new->n - old->n)
        return FALSE;
      for (size_t row = old->n; row < new->n; row++)
        *first = MIN (*first, tn_series_steps (new->series)[row]);
    }
  return TRUE;
}

static gboolean
has_extra_from (TnPlotTableModel *self, int64_t step)
{
  guint n = self->extras->len;
  return n > 0 && g_array_index (self->extras, Extra, n - 1).step >= step;
}

void
tn_plot_table_model_update (TnPlotTableModel *self)
{
  g_return_if_fail (TN_IS_PLOT_TABLE_MODEL (self));
  g_autoptr (GArray) known = g_array_new (FALSE, FALSE, sizeof (Known));
  int64_t first;
  TnSeries *base = longest (self);
  gboolean same = base == self->base;
  if (!same)
    {
      g_clear_pointer (&self->base, tn_series_unref);
      self->base = base != NULL ? tn_series_ref (base) : NULL;
    }
  list_known (self, known);
  gboolean appended = only_appended (self->known, known, &first) && same && base != NULL && !self->only_events;
  guint n_extras = self->extras->len;
  g_array_unref (self->known);
  self->known = g_array_ref (known);
  if (!appended || has_extra_from (self, first))
    {
      replace_all (self);
      return;
    }
  if (first == G_MAXINT64)
    return;
  guint position = MIN (tn_plot_table_model_find (self, first), self->n);
  find_extras (self);
  replace_from (self, self->extras->len == n_extras ? position : 0);
}

void
tn_plot_table_model_set_only_events (TnPlotTableModel *self, gboolean only)
{
  if (self->only_events == only)
    return;
  self->only_events = only;
  replace_all (self);
}

guint
tn_plot_table_model_find (TnPlotTableModel *self, int64_t step)
{
  guint low = 0, high = self->n;
  if (self->only_events)
    {
      while (low < high)
        {
          guint middle = low + (high - low) / 2;
          if (g_array_index (self->events, int64_t, middle) < step)
            low = middle + 1;
          else
            high = middle;
        }
      return low;
    }
  if (self->base == NULL)
    return 0;
  size_t row = find_step (self->base, step, 0);
  Extra key = { step, 0 };
  guint at = 0;
  if (row == G_MAXSIZE && g_array_binary_search (self->extras, &key, compare_steps, &at))
    return (guint) (g_array_index (self->extras, Extra, at).before + at);
  row = row == G_MAXSIZE ? place_of (self->base, step) : row;
  guint before = 0;
  while (before < self->extras->len && g_array_index (self->extras, Extra, before).before <= row)
    before++;
  return (guint) row + before;
}

static void
tn_plot_table_model_finalize (GObject *object)
{
  TnPlotTableModel *self = TN_PLOT_TABLE_MODEL (object);
  tn_series_unref (self->base);
  g_array_unref (self->extras);
  g_array_unref (self->events);
  g_array_unref (self->known);
  G_OBJECT_CLASS (tn_plot_table_model_parent_class)->finalize (object);
}

static void
tn_plot_table_model_class_init (TnPlotTableModelClass *klass)
{
  G_OBJECT_CLASS (klass)->finalize = tn_plot_table_model_finalize;
}

static void
tn_plot_table_model_init (TnPlotTableModel *self)
{
  self->extras = g_array_new (FALSE, FALSE, sizeof (Extra));
  self->events = g_array_new (FALSE, FALSE, sizeof (int64_t));
  self->known = g_array_new (FALSE, FALSE, sizeof (Known));
}

TnPlotTableModel *
tn_plot_table_model_new (TnPlot *plot)
{
  TnPlotTableModel *self = g_object_new (TN_TYPE_PLOT_TABLE_MODEL, NULL);
  self->plot = plot;
  tn_plot_table_model_update (self);
  return self;
}
