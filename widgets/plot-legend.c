/* SPDX-License-Identifier: Apache-2.0 */
#include "plot-legend.h"
#include <inttypes.h>
#include <glib/gi18n.h>
#include <math.h>
#include "draw-layer.h"
#include "style.h"

#define UPDATE_MS 100

struct _TnPlotLegend
{
  GtkWidget parent_instance;
  TnPlotView *view;
  GtkWidget *box, *list, *note;
  GPtrArray *lines; /* TnPlotLine of the rows; only compared, never followed */
  guint update;
};

G_DEFINE_FINAL_TYPE (TnPlotLegend, tn_plot_legend, GTK_TYPE_WIDGET)

enum
{
  COLOR_CHOSEN,
  CHANGED,
  N_SIGNALS
};
static guint signals[N_SIGNALS];

/* What a row is made of. */
typedef struct
{
  TnPlotLegend *legend;
  GtkWidget *check, *color, *name, *value, *detail;
  gboolean quiet;
} Parts;

static Parts *
parts_of (GtkListBoxRow *row)
{
  return g_object_get_data (G_OBJECT (row), "tn-parts");
}

static TnPlotLine *
line_of (TnPlotLegend *self, GtkListBoxRow *row)
{
  TnPlot *plot = tn_plot_view_plot (self->view);
  int i = gtk_list_box_row_get_index (row);
  return i >= 0 && i < (int) tn_plot_n_lines (plot) ? tn_plot_line (plot, i) : NULL;
}

static GtkListBoxRow *
row_around (GtkWidget *widget)
{
  return GTK_LIST_BOX_ROW (gtk_widget_get_ancestor (widget, GTK_TYPE_LIST_BOX_ROW));
}

static void
tell (TnPlotLegend *self)
{
  tn_plot_view_changed (self->view);
  tn_plot_legend_changed (self);
  g_signal_emit (self, signals[CHANGED], 0);
}

/* --- texts --- */

static double
value_at_cursor (TnPlotLegend *self, const TnPlotLine *line)
{
  int64_t step = tn_plot_view_hover_step (self->view);
  const TnSeries *series = line->series;
  size_t n_segments, n = tn_series_n (series);
  const TnSegment *segments = tn_series_segments (series, &n_segments);
  if (n == 0)
    return NAN;
  if (step < 0)
    return tn_series_values (series, FALSE)[n - 1];
  size_t begin = segments[n_segments - 1].begin;
  size_t at = tn_series_find (tn_series_steps (series), begin, n, begin, step);
  return tn_series_values (series, FALSE)[MIN (at, n - 1)];
}

static gboolean
more_is_better (const TnPlotLine *line)
{
  const char *name = tn_series_name (line->series);
  return strstr (name, "accuracy") != NULL || strstr (name, "per_second") != NULL;
}

static void
fill_numbers (TnPlotLegend *self, Parts *parts, const TnPlotLine *line)
{
  char value[TN_TICK_LABEL], least[TN_TICK_LABEL], most[TN_TICK_LABEL];
  size_t low = tn_series_extreme (line->series, FALSE), high = tn_series_extreme (line->series, TRUE);
  if (tn_series_n (line->series) == 0)
    {
      gtk_label_set_text (GTK_LABEL (parts->value), "—");
      gtk_label_set_text (GTK_LABEL (parts->detail), _ ("no points yet"));
      return;
    }
  if (low == G_MAXSIZE)
    {
      gtk_label_set_text (GTK_LABEL (parts->value), "NaN");
      gtk_label_set_text (GTK_LABEL (parts->detail), _ ("all NaN"));
      return;
    }
  const double *values = tn_series_values (line->series, FALSE);
  size_t best = more_is_better (line) ? high : low;
  g_autofree char *step = g_strdup_printf ("%" PRId64, tn_series_steps (line->series)[best]);
  gtk_label_set_text (GTK_LABEL (parts->value), tn_format_si (value_at_cursor (self, line), 4, TRUE, value));
  tn_format_si (values[low], 4, TRUE, least);
  tn_format_si (values[high], 4, TRUE, most);
  /* Translators: the best value and its step, then the smallest or largest one */
  g_autofree char *detail = g_strdup_printf (more_is_better (line) ? _ ("best %s at %s · min %s") : _ ("best %s at %s · max %s"),
                                             more_is_better (line) ? most : least, step, more_is_better (line) ? least : most);
  gtk_label_set_text (GTK_LABEL (parts->detail), detail);
}

static void
fill_row (TnPlotLegend *self, GtkListBoxRow *row, const TnPlotLine *line)
{
  Parts *parts = parts_of (row);
  TnColor color = tn_plot_line_color (line, tn_palette_current ());
  GdkRGBA rgba = { color.red, color.green, color.blue, 1 };
  parts->quiet = TRUE;
  gtk_check_button_set_active (GTK_CHECK_BUTTON (parts->check), !line->hidden);
  gtk_color_chooser_set_rgba (GTK_COLOR_CHOOSER (parts->color), &rgba);
  gtk_label_set_text (GTK_LABEL (parts->name), line->label);
  gtk_widget_set_tooltip_text (parts->name, line->label);
  g_autofree char *show = g_strdup_printf (_ ("Show %s"), line->label), *choose = g_strdup_printf (_ ("Color of %s"), line->label);
  gtk_accessible_update_property (GTK_ACCESSIBLE (parts->check), GTK_ACCESSIBLE_PROPERTY_LABEL, show, -1);
  gtk_accessible_update_property (GTK_ACCESSIBLE (parts->color), GTK_ACCESSIBLE_PROPERTY_LABEL, choose, -1);
  gtk_widget_set_tooltip_text (parts->color, choose);
  fill_numbers (self, parts, line);
  g_autofree char *name = g_strdup_printf ("%s, %s, %s", line->label, gtk_label_get_text (GTK_LABEL (parts->value)),
                                           gtk_label_get_text (GTK_LABEL (parts->detail)));
  gtk_accessible_update_property (GTK_ACCESSIBLE (row), GTK_ACCESSIBLE_PROPERTY_LABEL, name, -1);
  parts->quiet = FALSE;
}

/* --- what the user does --- */

static void
toggled_cb (GtkCheckButton *check, Parts *parts)
{
  TnPlotLine *line = line_of (parts->legend, row_around (GTK_WIDGET (check)));
  if (parts->quiet || line == NULL)
    return;
  line->hidden = !gtk_check_button_get_active (check);
  tell (parts->legend);
}

static void
color_set_cb (GtkColorButton *button, Parts *parts)
{
  TnPlotLine *line = line_of (parts->legend, row_around (GTK_WIDGET (button)));
  GdkRGBA rgba;
  if (parts->quiet || line == NULL)
    return;
  gtk_color_chooser_get_rgba (GTK_COLOR_CHOOSER (button), &rgba);
  line->own_color = TRUE;
  line->chosen = (TnColor) { rgba.red, rgba.green, rgba.blue, 1 };
  g_signal_emit (parts->legend, signals[COLOR_CHOSEN], 0, line->run, &rgba);
  tell (parts->legend);
}

/* Only this one; all, if it was the only one. */
static void
show_only (TnPlotLegend *self, const TnPlotLine *only)
{
  TnPlot *plot = tn_plot_view_plot (self->view);
  gboolean alone = !only->hidden;
  for (unsigned i = 0; i < tn_plot_n_lines (plot); i++)
    alone = alone && (tn_plot_line (plot, i) == only || tn_plot_line (plot, i)->hidden);
  for (unsigned i = 0; i < tn_plot_n_lines (plot); i++)
    tn_plot_line (plot, i)->hidden = !alone && tn_plot_line (plot, i) != only;
  tell (self);
}

static void
pressed_cb (GtkGestureClick *click, int n_press, double x, double y, Parts *parts)
{
  GtkListBoxRow *row = row_around (gtk_event_controller_get_widget (GTK_EVENT_CONTROLLER (click)));
  TnPlotLine *line = row != NULL ? line_of (parts->legend, row) : NULL;
  if (n_press == 2 && line != NULL)
    show_only (parts->legend, line);
}

static void
move_row (TnPlotLegend *self, int from, int to)
{
  TnPlot *plot = tn_plot_view_plot (self->view);
  if (to < 0 || to >= (int) tn_plot_n_lines (plot))
    return;
  tn_plot_move_line (plot, from, to);
  tell (self);
}

static gboolean
move_cb (GtkWidget *widget, GVariant *args, gpointer user_data)
{
  TnPlotLegend *self = TN_PLOT_LEGEND (widget);
  GtkWidget *focus = gtk_root_get_focus (gtk_widget_get_root (widget));
  GtkWidget *row = focus == NULL ? NULL : GTK_IS_LIST_BOX_ROW (focus) ? focus : gtk_widget_get_ancestor (focus, GTK_TYPE_LIST_BOX_ROW);
  if (row == NULL || !gtk_widget_is_ancestor (row, self->list))
    return GDK_EVENT_PROPAGATE;
  int from = gtk_list_box_row_get_index (GTK_LIST_BOX_ROW (row)), to = from + g_variant_get_int32 (args);
  move_row (self, from, to);
  GtkListBoxRow *target = gtk_list_box_get_row_at_index (GTK_LIST_BOX (self->list), to);
  if (target != NULL)
    gtk_widget_grab_focus (GTK_WIDGET (target));
  return GDK_EVENT_STOP;
}

static GdkContentProvider *
prepare_cb (GtkDragSource *source, double x, double y, Parts *parts)
{
  GtkListBoxRow *row = row_around (gtk_event_controller_get_widget (GTK_EVENT_CONTROLLER (source)));
  return gdk_content_provider_new_typed (GTK_TYPE_LIST_BOX_ROW, row);
}

static gboolean
drop_cb (GtkDropTarget *target, const GValue *value, double x, double y, Parts *parts)
{
  GtkListBoxRow *from = g_value_get_object (value), *to = row_around (gtk_event_controller_get_widget (GTK_EVENT_CONTROLLER (target)));
  if (from == NULL || to == NULL || gtk_widget_get_parent (GTK_WIDGET (from)) != parts->legend->list)
    return FALSE;
  move_row (parts->legend, gtk_list_box_row_get_index (from), gtk_list_box_row_get_index (to));
  return TRUE;
}

/* --- rows --- */

static GtkWidget *
label_new (const char *css_class, double xalign)
{
  GtkWidget *label = gtk_label_new (NULL);
  gtk_label_set_xalign (GTK_LABEL (label), (float) xalign);
  if (css_class != NULL)
    gtk_widget_add_css_class (label, css_class);
  return label;
}

static void
add_controllers (GtkWidget *row, Parts *parts)
{
  GtkGesture *click = gtk_gesture_click_new ();
  g_signal_connect (click, "pressed", G_CALLBACK (pressed_cb), parts);
  gtk_widget_add_controller (row, GTK_EVENT_CONTROLLER (click));
  GtkDragSource *source = gtk_drag_source_new ();
  g_signal_connect (source, "prepare", G_CALLBACK (prepare_cb), parts);
  gtk_widget_add_controller (row, GTK_EVENT_CONTROLLER (source));
  GtkDropTarget *target = gtk_drop_target_new (GTK_TYPE_LIST_BOX_ROW, GDK_ACTION_COPY);
  g_signal_connect (target, "drop", G_CALLBACK (drop_cb), parts);
  gtk_widget_add_controller (row, GTK_EVENT_CONTROLLER (target));
}

static GtkWidget *
row_new (TnPlotLegend *self)
{
  Parts *parts = g_new0 (Parts, 1);
  GtkWidget *row = gtk_list_box_row_new (), *grid = gtk_grid_new ();
  parts->legend = self;
  parts->check = gtk_check_button_new ();
  parts->color = gtk_color_button_new ();
  parts->name = label_new (NULL, 0);
  parts->value = label_new ("numeric", 1);
  parts->detail = label_new ("dim-label", 0);
  gtk_widget_add_css_class (parts->detail, "caption");
  gtk_widget_add_css_class (parts->detail, "numeric");
  gtk_label_set_ellipsize (GTK_LABEL (parts->name), PANGO_ELLIPSIZE_MIDDLE);
  gtk_label_set_ellipsize (GTK_LABEL (parts->detail), PANGO_ELLIPSIZE_END);
  gtk_widget_set_hexpand (parts->name, TRUE);
  gtk_widget_set_valign (parts->color, GTK_ALIGN_CENTER);
  gtk_widget_add_css_class (parts->color, "tn-swatch");
  gtk_grid_set_column_spacing (GTK_GRID (grid), 6);
  gtk_grid_attach (GTK_GRID (grid), parts->check, 0, 0, 1, 2);
  gtk_grid_attach (GTK_GRID (grid), parts->color, 1, 0, 1, 2);
  gtk_grid_attach (GTK_GRID (grid), parts->name, 2, 0, 1, 1);
  gtk_grid_attach (GTK_GRID (grid), parts->value, 3, 0, 1, 1);
  gtk_grid_attach (GTK_GRID (grid), parts->detail, 2, 1, 2, 1);
  gtk_list_box_row_set_child (GTK_LIST_BOX_ROW (row), grid);
  g_object_set_data_full (G_OBJECT (row), "tn-parts", parts, g_free);
  g_signal_connect (parts->check, "toggled", G_CALLBACK (toggled_cb), parts);
  g_signal_connect (parts->color, "color-set", G_CALLBACK (color_set_cb), parts);
  add_controllers (row, parts);
  return row;
}

static void
fill_note (TnPlotLegend *self)
{
  TnPlot *plot = tn_plot_view_plot (self->view);
  unsigned shown = 0, wanted = 0;
  for (unsigned i = 0; i < tn_plot_n_lines (plot); i++)
    {
      shown += tn_plot_line_is_shown (plot, tn_plot_line (plot, i));
      wanted += !tn_plot_line (plot, i)->hidden;
    }
  g_autofree char *text = g_strdup_printf (_ ("Showing %u of %u lines. Choose with the boxes"), shown, wanted);
  gtk_label_set_text (GTK_LABEL (self->note), text);
  gtk_widget_set_visible (self->note, shown < wanted);
}

static void
refresh (TnPlotLegend *self)
{
  TnPlot *plot = tn_plot_view_plot (self->view);
  unsigned n = tn_plot_n_lines (plot);
  while (self->lines->len < n)
    {
      gtk_list_box_append (GTK_LIST_BOX (self->list), row_new (self));
      g_ptr_array_add (self->lines, NULL);
    }
  while (self->lines->len > n)
    {
      gtk_list_box_remove (GTK_LIST_BOX (self->list), GTK_WIDGET (gtk_list_box_get_row_at_index (GTK_LIST_BOX (self->list), (int) n)));
      g_ptr_array_set_size (self->lines, (int) self->lines->len - 1);
    }
  for (unsigned i = 0; i < n; i++)
    fill_row (self, gtk_list_box_get_row_at_index (GTK_LIST_BOX (self->list), (int) i), tn_plot_line (plot, i));
  fill_note (self);
}

static gboolean
update_cb (gpointer data)
{
  TnPlotLegend *self = data;
  self->update = 0;
  refresh (self);
  return G_SOURCE_REMOVE;
}

void
tn_plot_legend_changed (TnPlotLegend *self)
{
  g_return_if_fail (TN_IS_PLOT_LEGEND (self));
  if (self->update == 0 && gtk_widget_get_mapped (GTK_WIDGET (self)))
    self->update = g_timeout_add (UPDATE_MS, update_cb, self);
}

/* --- widget --- */

static void
tn_plot_legend_map (GtkWidget *widget)
{
  refresh (TN_PLOT_LEGEND (widget));
  GTK_WIDGET_CLASS (tn_plot_legend_parent_class)->map (widget);
}

static void
tn_plot_legend_dispose (GObject *object)
{
  TnPlotLegend *self = TN_PLOT_LEGEND (object);
  g_clear_handle_id (&self->update, g_source_remove);
  g_clear_pointer (&self->box, gtk_widget_unparent);
  g_clear_object (&self->view);
  G_OBJECT_CLASS (tn_plot_legend_parent_class)->dispose (object);
}

static void
tn_plot_legend_finalize (GObject *object)
{
  g_ptr_array_unref (TN_PLOT_LEGEND (object)->lines);
  G_OBJECT_CLASS (tn_plot_legend_parent_class)->finalize (object);
}

static void
tn_plot_legend_class_init (TnPlotLegendClass *klass)
{
  GtkWidgetClass *widget_class = GTK_WIDGET_CLASS (klass);
  GType type = G_TYPE_FROM_CLASS (klass);
  G_OBJECT_CLASS (klass)->dispose = tn_plot_legend_dispose;
  G_OBJECT_CLASS (klass)->finalize = tn_plot_legend_finalize;
  widget_class->map = tn_plot_legend_map;
  gtk_widget_class_set_layout_manager_type (widget_class, GTK_TYPE_BIN_LAYOUT);
  gtk_widget_class_add_binding (widget_class, GDK_KEY_Up, GDK_ALT_MASK, move_cb, "i", -1);
  gtk_widget_class_add_binding (widget_class, GDK_KEY_Down, GDK_ALT_MASK, move_cb, "i", 1);
  signals[COLOR_CHOSEN] = g_signal_new ("color-chosen", type, G_SIGNAL_RUN_LAST, 0, NULL, NULL, NULL, G_TYPE_NONE, 2, G_TYPE_STRING, GDK_TYPE_RGBA);
  signals[CHANGED] = g_signal_new ("changed", type, G_SIGNAL_RUN_LAST, 0, NULL, NULL, NULL, G_TYPE_NONE, 0);
}

static void
tn_plot_legend_init (TnPlotLegend *self)
{
  tn_style_ensure ();
  self->lines = g_ptr_array_new ();
  self->box = gtk_box_new (GTK_ORIENTATION_VERTICAL, 6);
  self->list = gtk_list_box_new ();
  self->note = gtk_label_new (NULL);
  gtk_list_box_set_selection_mode (GTK_LIST_BOX (self->list), GTK_SELECTION_NONE);
  gtk_widget_add_css_class (self->list, "background");
  gtk_widget_add_css_class (self->note, "dim-label");
  gtk_widget_add_css_class (self->note, "caption");
  gtk_label_set_wrap (GTK_LABEL (self->note), TRUE);
  gtk_accessible_update_property (GTK_ACCESSIBLE (self->list), GTK_ACCESSIBLE_PROPERTY_LABEL, _ ("Legend"), -1);
  gtk_box_append (GTK_BOX (self->box), self->list);
  gtk_box_append (GTK_BOX (self->box), self->note);
  gtk_widget_set_parent (self->box, GTK_WIDGET (self));
}

GtkWidget *
tn_plot_legend_new (TnPlotView *view)
{
  g_return_val_if_fail (TN_IS_PLOT_VIEW (view), NULL);
  TnPlotLegend *self = g_object_new (TN_TYPE_PLOT_LEGEND, NULL);
  self->view = g_object_ref (view);
  g_signal_connect_object (view, "notify::hover-step", G_CALLBACK (tn_plot_legend_changed), self, G_CONNECT_SWAPPED);
  return GTK_WIDGET (self);
}
