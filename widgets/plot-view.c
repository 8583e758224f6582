/* SPDX-License-Identifier: Apache-2.0 */
#include "plot-view.h"
#include <inttypes.h>
#include <glib/gi18n.h>
#include <math.h>
#include "draw/canvas-cairo.h"
#include "plot-view-private.h"

#define REST_MS 400
#define SMOOTH_ROWS 200000 /* a frame: about 3 ms */

enum
{
  PROP_HOVER_STEP = 1,
  PROP_FOLLOWING,
  PROP_LOG_Y,
  PROP_CLIP_OUTLIERS,
  PROP_LOCK_Y,
  N_PROPERTIES
};
enum
{
  SELECTION_CHANGED,
  VIEW_RESTED,
  OPTIONS_CHANGED,
  EXPORT_REQUESTED,
  ACTIVATED,
  N_SIGNALS
};
static GParamSpec *properties[N_PROPERTIES];
static guint signals[N_SIGNALS];

G_DEFINE_FINAL_TYPE (TnPlotView, tn_plot_view, GTK_TYPE_WIDGET)

/* --- drawing --- */

static void
draw_data (TnCanvas *canvas, double width, double height, const TnPalette *palette, gpointer user_data)
{
  tn_plot_draw (TN_PLOT_VIEW (user_data)->plot, canvas, width, height, palette);
}

static void
set_text (GtkWidget *widget, GtkAccessibleProperty property, const char *text)
{
  gtk_accessible_update_property (GTK_ACCESSIBLE (widget), property, text, -1);
}

/* What lies under the cursor; without one, what the plot shows. */
static char *
describe (TnPlotView *self)
{
  char value[TN_TICK_LABEL];
  double pixel;
  if (self->hover_step < 0 || !tn_plot_pixel_of_step (self->plot, self->hover_step, &pixel))
    return tn_plot_description (self->plot);
  g_autoptr (GArray) hits = tn_plot_hits (self->plot, pixel, self->pointer_y);
  g_autofree char *step = g_strdup_printf ("%" PRId64, self->hover_step);
  if (hits->len == 0)
    return tn_plot_description (self->plot);
  const TnPlotHit *hit = &g_array_index (hits, TnPlotHit, 0);
  /* Translators: "step 812, loss 0.213" */
  return g_strdup_printf (_ ("step %s, %s %s"), step, hit->line->label, tn_format_si (hit->raw, 4, TRUE, value));
}

static gboolean
tick_cb (GtkWidget *widget, GdkFrameClock *clock, gpointer user_data)
{
  TnPlotView *self = TN_PLOT_VIEW (widget);
  gboolean more = tn_plot_smooth_some (self->plot, SMOOTH_ROWS);
  if (self->needs_description)
    {
      g_autofree char *text = describe (self);
      set_text (widget, GTK_ACCESSIBLE_PROPERTY_DESCRIPTION, text);
      set_text (widget, GTK_ACCESSIBLE_PROPERTY_VALUE_TEXT, text);
      self->needs_description = FALSE;
    }
  gboolean follows = tn_plot_is_following (self->plot);
  if (gtk_widget_get_visible (self->follow_button) == follows)
    {
      gtk_widget_set_visible (self->follow_button, !follows);
      g_object_notify_by_pspec (G_OBJECT (self), properties[PROP_FOLLOWING]);
    }
  gtk_widget_queue_draw (GTK_WIDGET (self->data));
  gtk_widget_queue_draw (GTK_WIDGET (self->hover));
  if (more)
    return G_SOURCE_CONTINUE;
  self->tick = 0;
  return G_SOURCE_REMOVE;
}

void
tn_plot_view_changed (TnPlotView *self)
{
  g_return_if_fail (TN_IS_PLOT_VIEW (self));
  self->needs_description = TRUE;
  if (self->tick == 0 && gtk_widget_get_mapped (GTK_WIDGET (self)))
    self->tick = gtk_widget_add_tick_callback (GTK_WIDGET (self), tick_cb, NULL, NULL);
}

static gboolean
rested_cb (gpointer data)
{
  TnPlotView *self = data;
  self->rest_timeout = 0;
  g_signal_emit (self, signals[VIEW_RESTED], 0);
  return G_SOURCE_REMOVE;
}

void
tn_plot_view_moved (TnPlotView *self)
{
  g_clear_handle_id (&self->rest_timeout, g_source_remove);
  self->rest_timeout = g_timeout_add (REST_MS, rested_cb, self);
  tn_plot_view_changed (self);
}

void
tn_plot_view_select (TnPlotView *self, int64_t begin, int64_t end)
{
  int64_t old_begin, old_end;
  tn_plot_selection (self->plot, &old_begin, &old_end);
  if (old_begin == begin && old_end == end)
    return;
  tn_plot_set_selection (self->plot, begin, end);
  tn_plot_view_changed (self);
  g_signal_emit (self, signals[SELECTION_CHANGED], 0, begin, end);
}

/* --- actions --- */

static double
middle (TnPlotView *self)
{
  TnRect inner = tn_plot_inner (self->plot);
  return inner.x + inner.width / 2;
}

static void
zoom_action (GtkWidget *widget, const char *name, GVariant *parameter)
{
  TnPlotView *self = TN_PLOT_VIEW (widget);
  tn_plot_zoom_x (self->plot, middle (self), g_str_equal (name, "plot.zoom-in") ? 1.5 : 1 / 1.5);
  tn_plot_view_moved (self);
}

static void
fit_action (GtkWidget *widget, const char *name, GVariant *parameter)
{
  TnPlotView *self = TN_PLOT_VIEW (widget);
  (g_str_equal (name, "plot.fit") ? tn_plot_fit : tn_plot_follow) (self->plot);
  tn_plot_view_moved (self);
}

static void
event_action (GtkWidget *widget, const char *name, GVariant *parameter)
{
  TnPlotView *self = TN_PLOT_VIEW (widget);
  gboolean next = g_str_equal (name, "plot.next-event");
  int64_t from = self->hover_step >= 0 ? self->hover_step : next ? -1 : G_MAXINT64, found;
  g_autofree char *text = NULL;
  double pixel;
  TnRect inner = tn_plot_inner (self->plot);
  if (!tn_plot_next_event (self->plot, from, next ? 1 : -1, &found, &text))
    return;
  if (tn_plot_pixel_of_step (self->plot, found, &pixel) && (pixel < inner.x || pixel > inner.x + inner.width))
    {
      tn_plot_pan_x (self->plot, pixel - middle (self));
      tn_plot_view_moved (self);
    }
  tn_plot_view_set_hover_step (self, found);
  g_autofree char *where = describe (self);
  g_autofree char *all = g_strdup_printf ("%s: %s", text, where);
  set_text (widget, GTK_ACCESSIBLE_PROPERTY_DESCRIPTION, all);
  self->needs_description = FALSE;
}

static void
export_action (GtkWidget *widget, const char *name, GVariant *parameter)
{
  g_signal_emit (widget, signals[EXPORT_REQUESTED], 0);
}

/* CSV of the visible range. */
static void
copy_data_action (GtkWidget *widget, const char *name, GVariant *parameter)
{
  TnPlotView *self = TN_PLOT_VIEW (widget);
  const TnAxis *x = tn_plot_x_axis (self->plot);
  int64_t begin = 0, end = -1;
  if (!tn_plot_is_fit (self->plot) && (!tn_plot_step_at (self->plot, x->from, &begin) || !tn_plot_step_at (self->plot, x->to, &end)))
    return;
  g_autofree char *text = tn_plot_export_text (self->plot, TN_TABLE_CSV, begin, end);
  gdk_clipboard_set_text (gtk_widget_get_clipboard (widget), text);
}

static void
paint_plot (TnCanvas *canvas, double width, double height, gpointer user_data)
{
  const struct { TnPlotView *view; const TnPalette *palette; } *job = user_data;
  tn_plot_draw (job->view->plot, canvas, width, height, job->palette);
}

static GBytes *
picture (TnPlotView *self, TnPictureFormat format, const TnPictureSize *size, const TnPalette *palette, gboolean legend, GError **error)
{
  struct { TnPlotView *view; const TnPalette *palette; } job = { self, palette };
  TnPlotOptions options = *tn_plot_options (self->plot), as_file = options;
  as_file.show_title = TRUE;
  as_file.localized = FALSE;
  as_file.corner = 0;
  as_file.show_legend = legend;
  while (tn_plot_smooth_some (self->plot, 1 << 22))
    ;
  tn_plot_set_options (self->plot, &as_file);
  GBytes *bytes = tn_picture_bytes (format, size, paint_plot, &job, error);
  tn_plot_set_options (self->plot, &options);
  tn_plot_layout (self->plot, tn_draw_layer_canvas (self->data), gtk_widget_get_width (GTK_WIDGET (self)), gtk_widget_get_height (GTK_WIDGET (self)));
  return bytes;
}

static void
copy_picture_action (GtkWidget *widget, const char *name, GVariant *parameter)
{
  TnPlotView *self = TN_PLOT_VIEW (widget);
  TnPictureSize size = { gtk_widget_get_width (widget), gtk_widget_get_height (widget), 2 };
  g_autoptr (GBytes) png = picture (self, TN_PICTURE_PNG, &size, tn_palette_current (), FALSE, NULL);
  g_autoptr (GBytes) svg = picture (self, TN_PICTURE_SVG, &size, tn_palette_current (), FALSE, NULL);
  g_autoptr (GdkTexture) texture = png != NULL ? gdk_texture_new_from_bytes (png, NULL) : NULL;
  if (texture == NULL || svg == NULL)
    return;
  GdkContentProvider *providers[] = { gdk_content_provider_new_typed (GDK_TYPE_TEXTURE, texture), gdk_content_provider_new_for_bytes ("image/svg+xml", svg) };
  g_autoptr (GdkContentProvider) all = gdk_content_provider_new_union (providers, 2);
  gdk_clipboard_set_content (gtk_widget_get_clipboard (widget), all);
}

/* A limit is laid through the pointer, or through the last value. */
static void
limit_action (GtkWidget *widget, const char *name, GVariant *parameter)
{
  TnPlotView *self = TN_PLOT_VIEW (widget);
  if (g_str_equal (name, "plot.clear-limits"))
    tn_plot_clear_thresholds (self->plot);
  else
    tn_plot_add_threshold (self->plot, tn_axis_value (tn_plot_y_axis (self->plot), self->pointer_y));
  gtk_widget_action_set_enabled (widget, "plot.clear-limits", tn_plot_n_thresholds (self->plot) > 0);
  tn_plot_view_changed (self);
}

/* --- menu --- */

static GMenuModel *
make_menu (void)
{
  GMenu *menu = g_menu_new ();
  g_autoptr (GMenu) view = g_menu_new (), axis = g_menu_new (), file = g_menu_new ();
  g_menu_append (view, _ ("Reset View"), "plot.fit");
  g_menu_append (view, _ ("Follow"), "plot.follow");
  g_menu_append (axis, _ ("Logarithmic y Axis"), "plot.log-y");
  g_menu_append (axis, _ ("Clip Outliers"), "plot.clip-outliers");
  g_menu_append (axis, _ ("Lock y Axis"), "plot.lock-y");
  g_menu_append (axis, _ ("Add Limit Here"), "plot.add-limit");
  g_menu_append (axis, _ ("Remove Limits"), "plot.clear-limits");
  g_menu_append (file, _ ("Copy Picture"), "plot.copy-picture");
  g_menu_append (file, _ ("Copy Data"), "plot.copy-data");
  g_menu_append (file, _ ("Export…"), "plot.export");
  g_menu_append_section (menu, NULL, G_MENU_MODEL (view));
  g_menu_append_section (menu, NULL, G_MENU_MODEL (axis));
  g_menu_append_section (menu, NULL, G_MENU_MODEL (file));
  return G_MENU_MODEL (menu);
}

void
tn_plot_view_popup (TnPlotView *self, double x, double y)
{
  self->pointer_x = x;
  self->pointer_y = y;
  gtk_popover_set_pointing_to (GTK_POPOVER (self->popover), &(GdkRectangle) { (int) x, (int) y, 1, 1 });
  gtk_popover_popup (GTK_POPOVER (self->popover));
}

/* --- widget --- */

static void
tn_plot_view_measure (GtkWidget *widget, GtkOrientation orientation, int for_size, int *minimum, int *natural, int *minimum_baseline,
                      int *natural_baseline)
{
  *minimum = orientation == GTK_ORIENTATION_HORIZONTAL ? 160 : 120;
  *natural = orientation == GTK_ORIENTATION_HORIZONTAL ? 160 : 240;
}

/* @widget at its natural size with its right or left edge at @x. */
static void
place (GtkWidget *widget, double x, double y, gboolean right)
{
  GtkRequisition size;
  if (!gtk_widget_should_layout (widget))
    return;
  gtk_widget_get_preferred_size (widget, NULL, &size);
  gtk_widget_size_allocate (widget, &(GtkAllocation) { (int) (right ? x - size.width : x), (int) y, size.width, size.height }, -1);
}

static void
tn_plot_view_size_allocate (GtkWidget *widget, int width, int height, int baseline)
{
  TnPlotView *self = TN_PLOT_VIEW (widget);
  GtkAllocation all = { 0, 0, width, height };
  gtk_widget_size_allocate (GTK_WIDGET (self->data), &all, -1);
  gtk_widget_size_allocate (GTK_WIDGET (self->hover), &all, -1);
  place (self->menu_button, width - 2, 0, TRUE);
  place (self->follow_button, width - 20, height - 80, TRUE);
  gtk_popover_present (GTK_POPOVER (self->popover));
}

static void
tn_plot_view_map (GtkWidget *widget)
{
  GTK_WIDGET_CLASS (tn_plot_view_parent_class)->map (widget);
  tn_plot_view_changed (TN_PLOT_VIEW (widget));
}

static void
tn_plot_view_unmap (GtkWidget *widget)
{
  TnPlotView *self = TN_PLOT_VIEW (widget);
  if (self->tick != 0)
    gtk_widget_remove_tick_callback (widget, self->tick);
  self->tick = 0;
  GTK_WIDGET_CLASS (tn_plot_view_parent_class)->unmap (widget);
}

static void
focus_changed_cb (GtkWidget *widget, GParamSpec *pspec, gpointer user_data)
{
  gtk_widget_queue_draw (GTK_WIDGET (TN_PLOT_VIEW (widget)->hover));
}

static void
tn_plot_view_state_flags_changed (GtkWidget *widget, GtkStateFlags flags)
{
  GTK_WIDGET_CLASS (tn_plot_view_parent_class)->state_flags_changed (widget, flags);
  if (TN_PLOT_VIEW (widget)->hover != NULL)
    gtk_widget_queue_draw (GTK_WIDGET (TN_PLOT_VIEW (widget)->hover));
}

static void
tn_plot_view_get_property (GObject *object, guint id, GValue *value, GParamSpec *pspec)
{
  TnPlotView *self = TN_PLOT_VIEW (object);
  if (id == PROP_HOVER_STEP)
    g_value_set_int64 (value, self->hover_step);
  else if (id == PROP_FOLLOWING)
    g_value_set_boolean (value, tn_plot_is_following (self->plot));
  else if (id == PROP_LOG_Y)
    g_value_set_boolean (value, tn_plot_options (self->plot)->y_log);
  else if (id == PROP_CLIP_OUTLIERS)
    g_value_set_boolean (value, tn_plot_options (self->plot)->clip_outliers);
  else if (id == PROP_LOCK_Y)
    g_value_set_boolean (value, tn_plot_options (self->plot)->y_locked);
  else
    G_OBJECT_WARN_INVALID_PROPERTY_ID (object, id, pspec);
}

static void
set_option (TnPlotView *self, guint id, gboolean on)
{
  TnPlotOptions options = *tn_plot_options (self->plot);
  gboolean *option = id == PROP_LOG_Y ? &options.y_log : id == PROP_CLIP_OUTLIERS ? &options.clip_outliers : &options.y_locked;
  if (*option == on)
    return;
  *option = on;
  tn_plot_set_options (self->plot, &options);
  tn_plot_view_changed (self);
  for (guint i = PROP_LOG_Y; i <= PROP_LOCK_Y; i++) /* one may have switched off another */
    g_object_notify_by_pspec (G_OBJECT (self), properties[i]);
  g_signal_emit (self, signals[OPTIONS_CHANGED], 0);
}

static void
tn_plot_view_set_property (GObject *object, guint id, const GValue *value, GParamSpec *pspec)
{
  if (id == PROP_HOVER_STEP)
    tn_plot_view_set_hover_step (TN_PLOT_VIEW (object), g_value_get_int64 (value));
  else if (id == PROP_LOG_Y || id == PROP_CLIP_OUTLIERS || id == PROP_LOCK_Y)
    set_option (TN_PLOT_VIEW (object), id, g_value_get_boolean (value));
  else
    G_OBJECT_WARN_INVALID_PROPERTY_ID (object, id, pspec);
}

static void
tn_plot_view_dispose (GObject *object)
{
  TnPlotView *self = TN_PLOT_VIEW (object);
  GtkWidget *child;
  g_clear_handle_id (&self->rest_timeout, g_source_remove);
  while ((child = gtk_widget_get_first_child (GTK_WIDGET (self))) != NULL)
    gtk_widget_unparent (child);
  self->data = self->hover = NULL;
  G_OBJECT_CLASS (tn_plot_view_parent_class)->dispose (object);
}

static void
tn_plot_view_finalize (GObject *object)
{
  tn_plot_free (TN_PLOT_VIEW (object)->plot);
  G_OBJECT_CLASS (tn_plot_view_parent_class)->finalize (object);
}

static void
install_actions (GtkWidgetClass *klass)
{
  static const struct { const char *name; GtkWidgetActionActivateFunc func; } actions[] = {
    { "plot.zoom-in", zoom_action }, { "plot.zoom-out", zoom_action }, { "plot.fit", fit_action }, { "plot.follow", fit_action },
    { "plot.previous-event", event_action }, { "plot.next-event", event_action }, { "plot.export", export_action },
    { "plot.copy-data", copy_data_action }, { "plot.copy-picture", copy_picture_action }, { "plot.add-limit", limit_action },
    { "plot.clear-limits", limit_action },
  };
  for (int i = 0; i < G_N_ELEMENTS (actions); i++)
    gtk_widget_class_install_action (klass, actions[i].name, NULL, actions[i].func);
  gtk_widget_class_install_property_action (klass, "plot.log-y", "log-y");
  gtk_widget_class_install_property_action (klass, "plot.clip-outliers", "clip-outliers");
  gtk_widget_class_install_property_action (klass, "plot.lock-y", "lock-y");
}

static void
tn_plot_view_class_init (TnPlotViewClass *klass)
{
  GObjectClass *object_class = G_OBJECT_CLASS (klass);
  GtkWidgetClass *widget_class = GTK_WIDGET_CLASS (klass);
  object_class->get_property = tn_plot_view_get_property;
  object_class->set_property = tn_plot_view_set_property;
  object_class->dispose = tn_plot_view_dispose;
  object_class->finalize = tn_plot_view_finalize;
  widget_class->measure = tn_plot_view_measure;
  widget_class->size_allocate = tn_plot_view_size_allocate;
  widget_class->map = tn_plot_view_map;
  widget_class->unmap = tn_plot_view_unmap;
  widget_class->state_flags_changed = tn_plot_view_state_flags_changed;
  properties[PROP_HOVER_STEP] = g_param_spec_int64 ("hover-step", NULL, NULL, -1, G_MAXINT64, -1,
                                                    G_PARAM_READWRITE | G_PARAM_EXPLICIT_NOTIFY | G_PARAM_STATIC_STRINGS);
  properties[PROP_FOLLOWING] = g_param_spec_boolean ("following", NULL, NULL, TRUE, G_PARAM_READABLE | G_PARAM_STATIC_STRINGS);
  static const char *const toggles[] = { "log-y", "clip-outliers", "lock-y" };
  for (int i = 0; i < G_N_ELEMENTS (toggles); i++)
    properties[PROP_LOG_Y + i] = g_param_spec_boolean (toggles[i], NULL, NULL, FALSE, G_PARAM_READWRITE | G_PARAM_EXPLICIT_NOTIFY | G_PARAM_STATIC_STRINGS);
  g_object_class_install_properties (object_class, N_PROPERTIES, properties);
  GType type = G_TYPE_FROM_CLASS (klass);
  signals[SELECTION_CHANGED] = g_signal_new ("selection-changed", type, G_SIGNAL_RUN_LAST, 0, NULL, NULL, NULL, G_TYPE_NONE, 2, G_TYPE_INT64, G_TYPE_INT64);
  signals[VIEW_RESTED] = g_signal_new ("view-rested", type, G_SIGNAL_RUN_LAST, 0, NULL, NULL, NULL, G_TYPE_NONE, 0);
  signals[OPTIONS_CHANGED] = g_signal_new ("options-changed", type, G_SIGNAL_RUN_LAST, 0, NULL, NULL, NULL, G_TYPE_NONE, 0);
  signals[EXPORT_REQUESTED] = g_signal_new ("export-requested", type, G_SIGNAL_RUN_LAST, 0, NULL, NULL, NULL, G_TYPE_NONE, 0);
  signals[ACTIVATED] = g_signal_new ("activated", type, G_SIGNAL_RUN_LAST, 0, NULL, NULL, NULL, G_TYPE_NONE, 0);
  gtk_widget_class_set_accessible_role (widget_class, GTK_ACCESSIBLE_ROLE_IMG);
  gtk_widget_class_set_css_name (widget_class, "plot");
  install_actions (widget_class);
  tn_plot_view_class_init_keys (widget_class);
}

static void
add_buttons (TnPlotView *self)
{
  g_autoptr (GMenuModel) menu = make_menu ();
  self->menu_button = gtk_menu_button_new ();
  gtk_menu_button_set_icon_name (GTK_MENU_BUTTON (self->menu_button), "view-more-symbolic");
  gtk_menu_button_set_menu_model (GTK_MENU_BUTTON (self->menu_button), menu);
  gtk_widget_add_css_class (self->menu_button, "flat");
  gtk_widget_add_css_class (self->menu_button, "circular");
  gtk_widget_set_tooltip_text (self->menu_button, _ ("Plot menu"));
  set_text (self->menu_button, GTK_ACCESSIBLE_PROPERTY_LABEL, _ ("Plot menu"));
  gtk_widget_set_parent (self->menu_button, GTK_WIDGET (self));

  self->follow_button = gtk_button_new_with_label (_ ("Follow"));
  gtk_widget_add_css_class (self->follow_button, "osd");
  gtk_actionable_set_action_name (GTK_ACTIONABLE (self->follow_button), "plot.follow");
  gtk_widget_set_tooltip_text (self->follow_button, _ ("Show the newest steps (End)"));
  gtk_widget_set_visible (self->follow_button, FALSE);
  gtk_widget_set_parent (self->follow_button, GTK_WIDGET (self));

  self->popover = gtk_popover_menu_new_from_model (menu);
  gtk_popover_set_has_arrow (GTK_POPOVER (self->popover), FALSE);
  gtk_widget_set_halign (self->popover, GTK_ALIGN_START);
  gtk_widget_set_parent (self->popover, GTK_WIDGET (self));
}

static void
tn_plot_view_init (TnPlotView *self)
{
  self->hover_step = self->anchor_step = -1;
  self->plot = tn_plot_new ("");
  TnPlotOptions options = *tn_plot_options (self->plot);
  options.localized = TRUE;
  options.corner = 30;
  tn_plot_set_options (self->plot, &options);
  gtk_widget_set_focusable (GTK_WIDGET (self), TRUE);
  gtk_widget_set_overflow (GTK_WIDGET (self), GTK_OVERFLOW_HIDDEN);
  self->data = TN_DRAW_LAYER (tn_draw_layer_new (draw_data, self));
  self->hover = TN_DRAW_LAYER (tn_draw_layer_new (tn_plot_view_draw_hover, self));
  gtk_widget_set_parent (GTK_WIDGET (self->data), GTK_WIDGET (self));
  gtk_widget_set_parent (GTK_WIDGET (self->hover), GTK_WIDGET (self));
  add_buttons (self);
  gtk_widget_action_set_enabled (GTK_WIDGET (self), "plot.clear-limits", FALSE);
  g_signal_connect (self, "notify::has-focus", G_CALLBACK (focus_changed_cb), NULL);
  tn_plot_view_init_gestures (self);
}

/* --- public --- */

GtkWidget *
tn_plot_view_new (const char *title)
{
  TnPlotView *self = g_object_new (TN_TYPE_PLOT_VIEW, NULL);
  tn_plot_set_title (self->plot, title);
  set_text (GTK_WIDGET (self), GTK_ACCESSIBLE_PROPERTY_LABEL, title != NULL ? title : "");
  return GTK_WIDGET (self);
}

TnPlot *
tn_plot_view_plot (TnPlotView *self)
{
  g_return_val_if_fail (TN_IS_PLOT_VIEW (self), NULL);
  return self->plot;
}

void
tn_plot_view_append (TnPlotView *self, TnPlotLine *line, int64_t step, double value, int64_t time_us)
{
  tn_plot_append (self->plot, line, step, value, time_us);
  tn_plot_view_changed (self);
}

TnPlotLine *
tn_plot_view_add_ghost (TnPlotView *self, TnSeries *series, const char *difference, const char *run)
{
  TnPlotLine *line = tn_plot_add (self->plot, series, difference, run);
  line->ghost = TRUE;
  tn_plot_view_changed (self);
  return line;
}

void
tn_plot_view_set_x (TnPlotView *self, TnXKind x, gboolean log)
{
  TnPlotOptions options = *tn_plot_options (self->plot);
  options.x = x;
  options.x_log = log;
  tn_plot_set_options (self->plot, &options);
  tn_plot_view_changed (self);
}

void
tn_plot_view_set_log_y (TnPlotView *self, gboolean log)
{
  set_option (self, PROP_LOG_Y, log);
}

void
tn_plot_view_set_smoothing (TnPlotView *self, double weight)
{
  TnPlotOptions options = *tn_plot_options (self->plot);
  options.smoothing = weight;
  tn_plot_set_options (self->plot, &options);
  tn_plot_view_changed (self);
}

void
tn_plot_view_set_selection (TnPlotView *self, int64_t begin, int64_t end)
{
  tn_plot_set_selection (self->plot, begin, end);
  tn_plot_view_changed (self);
}

int64_t
tn_plot_view_hover_step (TnPlotView *self)
{
  return self->hover_step;
}

void
tn_plot_view_set_hover_step (TnPlotView *self, int64_t step)
{
  step = MAX (step, -1);
  if (step == self->hover_step)
    return;
  self->hover_step = step;
  self->needs_description = TRUE;
  if (self->hover != NULL)
    gtk_widget_queue_draw (GTK_WIDGET (self->hover));
  if (gtk_widget_has_focus (GTK_WIDGET (self)))
    {
      g_autofree char *text = describe (self);
      set_text (GTK_WIDGET (self), GTK_ACCESSIBLE_PROPERTY_DESCRIPTION, text);
      set_text (GTK_WIDGET (self), GTK_ACCESSIBLE_PROPERTY_VALUE_TEXT, text);
    }
  g_object_notify_by_pspec (G_OBJECT (self), properties[PROP_HOVER_STEP]);
}

void
tn_plot_view_get_range (TnPlotView *self, double *low, double *high)
{
  const TnAxis *x = tn_plot_x_axis (self->plot);
  gboolean fit = tn_plot_is_fit (self->plot);
  *low = fit ? 0 : x->low;
  *high = fit ? 0 : x->high;
}

void
tn_plot_view_set_range (TnPlotView *self, double low, double high)
{
  if (low == 0 && high == 0)
    tn_plot_fit (self->plot);
  else
    tn_plot_set_x_range (self->plot, low, high);
  tn_plot_view_changed (self);
}

void
tn_plot_view_costs (TnPlotView *self, unsigned *nodes, unsigned *labels, double *ms)
{
  tn_draw_layer_costs (self->data, nodes, labels, ms);
}

gboolean
tn_plot_view_save (TnPlotView *self, const char *path, double width, double height, double scale, const TnPalette *palette, gboolean legend,
                   GError **error)
{
  TnPictureFormat format;
  if (!tn_picture_format_from_path (path, &format, error))
    return FALSE;
  g_autoptr (GBytes) bytes = picture (self, format, &(TnPictureSize) { width, height, scale }, palette, legend, error);
  return bytes != NULL && tn_picture_write_bytes (path, bytes, error);
}
