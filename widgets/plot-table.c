/* SPDX-License-Identifier: Apache-2.0 */
#include "plot-table.h"
#include <inttypes.h>
#include <glib/gi18n.h>
#include <math.h>
#include "plot-table-model.h"

struct _TnPlotTable
{
  GtkWidget parent_instance;
  TnPlotView *view;
  TnPlotTableModel *model;
  GtkSingleSelection *selection;
  GtkWidget *scroller, *columns;
  GPtrArray *shown; /* TnSeries of the value columns */
  gboolean quiet;   /* a selection that the user did not make */
  guint tick;
};

G_DEFINE_FINAL_TYPE (TnPlotTable, tn_plot_table, GTK_TYPE_WIDGET)

enum
{
  ROW_CHOSEN,
  N_SIGNALS
};
static guint signals[N_SIGNALS];

/* --- cells --- */

typedef enum
{
  CELL_STEP,
  CELL_EPOCH,
  CELL_TIME,
  CELL_VALUE
} CellKind;

typedef struct
{
  TnPlotTable *table; /* outlives its columns */
  CellKind kind;
  TnSeries *series; /* of CELL_VALUE */
  char *title;
} Cell;

static void
cell_free (gpointer data, GClosure *closure)
{
  Cell *cell = data;
  tn_series_unref (cell->series);
  g_free (cell->title);
  g_free (cell);
}

/* The first shown series that has @row's step, and its place there. */
static TnSeries *
series_of (TnPlotTable *self, TnPlotTableRow *row, size_t *at)
{
  for (guint i = 0; i < self->shown->len; i++)
    {
      TnSeries *series = g_ptr_array_index (self->shown, i);
      *at = tn_plot_table_row_in (row, series);
      if (*at != G_MAXSIZE)
        return series;
    }
  return NULL;
}

static char *
value_text (const TnSeries *series, TnPlotTableRow *row)
{
  size_t at = tn_plot_table_row_in (row, series);
  char text[TN_TICK_LABEL];
  return g_strdup (at == G_MAXSIZE ? "—" : tn_format_si (tn_series_values (series, FALSE)[at], 6, TRUE, text));
}

static char *
cell_text (const Cell *cell, TnPlotTableRow *row)
{
  size_t at;
  if (cell->kind == CELL_STEP)
    return g_strdup_printf ("%" PRId64, tn_plot_table_row_step (row));
  if (cell->kind == CELL_VALUE)
    return value_text (cell->series, row);
  TnSeries *series = series_of (cell->table, row, &at);
  if (series == NULL)
    return g_strdup ("—");
  if (cell->kind == CELL_EPOCH)
    {
      double epoch = tn_series_steps_per_epoch (series) > 0 ? tn_series_x (series, TN_X_EPOCH, 0, at) : NAN;
      return isfinite (epoch) ? g_strdup_printf ("%.2f", epoch) : g_strdup ("—");
    }
  g_autoptr (GDateTime) time = g_date_time_new_from_unix_local (tn_series_times (series)[at] / G_USEC_PER_SEC);
  return time != NULL ? g_date_time_format (time, "%H:%M:%S") : g_strdup ("—");
}

static void
setup_cb (GtkSignalListItemFactory *factory, GtkListItem *item, Cell *cell)
{
  GtkWidget *label = gtk_label_new (NULL);
  gtk_label_set_xalign (GTK_LABEL (label), 1);
  gtk_label_set_single_line_mode (GTK_LABEL (label), TRUE);
  gtk_widget_add_css_class (label, "numeric");
  gtk_list_item_set_child (item, label);
}

static void
bind_cb (GtkSignalListItemFactory *factory, GtkListItem *item, Cell *cell)
{
  GtkWidget *label = gtk_list_item_get_child (item), *parent = gtk_widget_get_parent (label);
  g_autofree char *text = cell_text (cell, gtk_list_item_get_item (item));
  g_autofree char *name = g_strdup_printf ("%s: %s", cell->title, text);
  gtk_label_set_text (GTK_LABEL (label), text);
  if (parent != NULL) /* 4.8 would call cell and row by their types */
    gtk_accessible_update_property (GTK_ACCESSIBLE (parent), GTK_ACCESSIBLE_PROPERTY_LABEL, name, -1);
  GtkWidget *row = parent != NULL ? gtk_widget_get_parent (parent) : NULL;
  if (row != NULL && cell->kind == CELL_STEP)
    gtk_accessible_update_property (GTK_ACCESSIBLE (row), GTK_ACCESSIBLE_PROPERTY_LABEL, name, -1);
}

static void
add_column (TnPlotTable *self, CellKind kind, const char *title, TnSeries *series)
{
  Cell *cell = g_new0 (Cell, 1);
  cell->table = self;
  cell->kind = kind;
  cell->title = g_strdup (title);
  cell->series = series != NULL ? tn_series_ref (series) : NULL;
  GtkListItemFactory *factory = gtk_signal_list_item_factory_new ();
  g_signal_connect_data (factory, "setup", G_CALLBACK (setup_cb), cell, NULL, 0);
  g_signal_connect_data (factory, "bind", G_CALLBACK (bind_cb), cell, cell_free, 0);
  g_autoptr (GtkColumnViewColumn) column = gtk_column_view_column_new (title, factory);
  gtk_column_view_column_set_resizable (column, TRUE);
  gtk_column_view_column_set_expand (column, kind == CELL_VALUE);
  gtk_column_view_append_column (GTK_COLUMN_VIEW (self->columns), column);
}

/* --- keeping up --- */

static gboolean
columns_fit (TnPlotTable *self)
{
  TnPlot *plot = tn_plot_view_plot (self->view);
  guint n = 0;
  for (unsigned i = 0; i < tn_plot_n_lines (plot); i++)
    {
      const TnPlotLine *line = tn_plot_line (plot, i);
      if (!tn_plot_line_is_shown (plot, line))
        continue;
      if (n >= self->shown->len || g_ptr_array_index (self->shown, n) != line->series)
        return FALSE;
      n++;
    }
  return n == self->shown->len;
}

static void
make_columns (TnPlotTable *self)
{
  TnPlot *plot = tn_plot_view_plot (self->view);
  GListModel *old = gtk_column_view_get_columns (GTK_COLUMN_VIEW (self->columns));
  while (g_list_model_get_n_items (old) > 0)
    {
      g_autoptr (GtkColumnViewColumn) column = g_list_model_get_item (old, 0);
      gtk_column_view_remove_column (GTK_COLUMN_VIEW (self->columns), column);
    }
  g_ptr_array_set_size (self->shown, 0);
  add_column (self, CELL_STEP, _ ("Step"), NULL);
  add_column (self, CELL_EPOCH, _ ("Epoch"), NULL);
  add_column (self, CELL_TIME, _ ("Time"), NULL);
  for (unsigned i = 0; i < tn_plot_n_lines (plot); i++)
    {
      const TnPlotLine *line = tn_plot_line (plot, i);
      if (!tn_plot_line_is_shown (plot, line))
        continue;
      g_ptr_array_add (self->shown, tn_series_ref (line->series));
      add_column (self, CELL_VALUE, line->label, line->series);
    }
}

static gboolean
tick_cb (GtkWidget *widget, GdkFrameClock *clock, gpointer user_data)
{
  TnPlotTable *self = TN_PLOT_TABLE (widget);
  self->tick = 0;
  self->quiet = TRUE;
  if (!columns_fit (self))
    make_columns (self);
  tn_plot_table_model_update (self->model);
  self->quiet = FALSE;
  return G_SOURCE_REMOVE;
}

void
tn_plot_table_changed (TnPlotTable *self)
{
  g_return_if_fail (TN_IS_PLOT_TABLE (self));
  if (self->tick == 0 && gtk_widget_get_mapped (GTK_WIDGET (self)))
    self->tick = gtk_widget_add_tick_callback (GTK_WIDGET (self), tick_cb, NULL, NULL);
}

void
tn_plot_table_set_only_events (TnPlotTable *self, gboolean only)
{
  self->quiet = TRUE;
  tn_plot_table_model_set_only_events (self->model, only);
  self->quiet = FALSE;
}

void
tn_plot_table_show_step (TnPlotTable *self, int64_t step)
{
  guint n = g_list_model_get_n_items (G_LIST_MODEL (self->model));
  if (n == 0)
    return;
  guint position = MIN (tn_plot_table_model_find (self->model, step), n - 1);
  self->quiet = TRUE;
  gtk_single_selection_set_selected (self->selection, position);
  self->quiet = FALSE;
  /* The list itself is the column view's last child; 4.8 has no call for this. */
  GtkWidget *list = gtk_widget_get_last_child (self->columns);
  if (list != NULL)
    gtk_widget_activate_action (list, "list.scroll-to-item", "u", position);
}

static void
selected_cb (GtkSingleSelection *selection, GParamSpec *pspec, TnPlotTable *self)
{
  TnPlotTableRow *row = gtk_single_selection_get_selected_item (selection);
  if (self->quiet || row == NULL)
    return;
  tn_plot_view_set_hover_step (self->view, tn_plot_table_row_step (row));
  g_signal_emit (self, signals[ROW_CHOSEN], 0, tn_plot_table_row_step (row));
}

/* --- widget --- */

static void
tn_plot_table_map (GtkWidget *widget)
{
  GTK_WIDGET_CLASS (tn_plot_table_parent_class)->map (widget);
  tn_plot_table_changed (TN_PLOT_TABLE (widget));
}

static void
tn_plot_table_unmap (GtkWidget *widget)
{
  TnPlotTable *self = TN_PLOT_TABLE (widget);
  if (self->tick != 0)
    gtk_widget_remove_tick_callback (widget, self->tick);
  self->tick = 0;
  GTK_WIDGET_CLASS (tn_plot_table_parent_class)->unmap (widget);
}

static void
tn_plot_table_dispose (GObject *object)
{
  TnPlotTable *self = TN_PLOT_TABLE (object);
  g_clear_pointer (&self->scroller, gtk_widget_unparent);
  g_clear_object (&self->selection);
  g_clear_object (&self->model);
  g_clear_object (&self->view);
  G_OBJECT_CLASS (tn_plot_table_parent_class)->dispose (object);
}

static void
tn_plot_table_finalize (GObject *object)
{
  g_ptr_array_unref (TN_PLOT_TABLE (object)->shown);
  G_OBJECT_CLASS (tn_plot_table_parent_class)->finalize (object);
}

static gboolean
tn_plot_table_grab_focus (GtkWidget *widget)
{
  return gtk_widget_grab_focus (TN_PLOT_TABLE (widget)->columns);
}

static void
tn_plot_table_class_init (TnPlotTableClass *klass)
{
  GtkWidgetClass *widget_class = GTK_WIDGET_CLASS (klass);
  G_OBJECT_CLASS (klass)->dispose = tn_plot_table_dispose;
  G_OBJECT_CLASS (klass)->finalize = tn_plot_table_finalize;
  widget_class->map = tn_plot_table_map;
  widget_class->unmap = tn_plot_table_unmap;
  widget_class->grab_focus = tn_plot_table_grab_focus;
  gtk_widget_class_set_layout_manager_type (widget_class, GTK_TYPE_BIN_LAYOUT);
  signals[ROW_CHOSEN] = g_signal_new ("row-chosen", G_TYPE_FROM_CLASS (klass), G_SIGNAL_RUN_LAST, 0, NULL, NULL, NULL, G_TYPE_NONE, 1, G_TYPE_INT64);
}

static void
tn_plot_table_init (TnPlotTable *self)
{
  self->shown = g_ptr_array_new_with_free_func ((GDestroyNotify) tn_series_unref);
  self->columns = gtk_column_view_new (NULL);
  gtk_column_view_set_show_column_separators (GTK_COLUMN_VIEW (self->columns), TRUE);
  gtk_widget_add_css_class (self->columns, "data-table");
  self->scroller = gtk_scrolled_window_new ();
  gtk_scrolled_window_set_child (GTK_SCROLLED_WINDOW (self->scroller), self->columns);
  gtk_widget_set_parent (self->scroller, GTK_WIDGET (self));
}

GtkWidget *
tn_plot_table_new (TnPlotView *view)
{
  g_return_val_if_fail (TN_IS_PLOT_VIEW (view), NULL);
  TnPlotTable *self = g_object_new (TN_TYPE_PLOT_TABLE, NULL);
  g_autofree char *name = g_strdup_printf (_ ("%s table"), tn_plot_title (tn_plot_view_plot (view)));
  self->view = g_object_ref (view);
  self->model = tn_plot_table_model_new (tn_plot_view_plot (view));
  self->selection = gtk_single_selection_new (g_object_ref (G_LIST_MODEL (self->model)));
  gtk_single_selection_set_autoselect (self->selection, FALSE);
  gtk_single_selection_set_can_unselect (self->selection, TRUE);
  gtk_single_selection_set_selected (self->selection, GTK_INVALID_LIST_POSITION);
  g_signal_connect_object (self->selection, "notify::selected", G_CALLBACK (selected_cb), self, 0);
  gtk_column_view_set_model (GTK_COLUMN_VIEW (self->columns), GTK_SELECTION_MODEL (self->selection));
  gtk_accessible_update_property (GTK_ACCESSIBLE (self->columns), GTK_ACCESSIBLE_PROPERTY_LABEL, name, -1);
  make_columns (self);
  return GTK_WIDGET (self);
}
