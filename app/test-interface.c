/* SPDX-License-Identifier: Apache-2.0 */
#include "test-interface.h"

#include <string.h>

#include "banner.h"
#include "chip.h"
#include "combo-row.h"
#include "picture-view.h"
#include "plot-view.h"
#include "row.h"
#include "segmented.h"
#include "test-faults.h"

static const char xml[]
  = "<node><interface name='io.github.tenon_ml.Tenon.Test1'>"
    "<method name='Find'><arg type='s' name='id' direction='in'/><arg type='s' name='role' direction='out'/><arg type='s' name='name' "
    "direction='out'/><arg type='(iiii)' name='bounds' direction='out'/><arg type='b' name='visible' direction='out'/>"
    "<arg type='b' name='sensitive' direction='out'/><arg type='s' name='value' direction='out'/></method>"
    "<method name='ListIds'><arg type='as' direction='out'/></method>"
    "<method name='Faults'><arg type='as' direction='out'/></method>"
    "<method name='State'><arg type='s' name='view' direction='in'/><arg type='s' direction='out'/></method>"
    "<method name='WaitIdle'><arg type='u' name='ms' direction='in'/><arg type='b' direction='out'/></method>"
    "<method name='Selection'><arg type='a{sv}' direction='out'/></method>"
    "<method name='Nodes'><arg type='s' name='canvas' direction='in'/><arg type='u' direction='out'/><arg type='u' direction='out'/>"
    "<arg type='d' direction='out'/></method>"
    "<method name='Rows'><arg type='s' name='canvas' direction='in'/><arg type='a(saxad)' direction='out'/></method>"
    "<method name='Activate'><arg type='s' name='action' direction='in'/><arg type='av' direction='in'/></method>"
    "</interface></node>";

/* Our ids are lower case with an underscore; names that nobody set are the type's. */
static gboolean
has_id (GtkWidget *widget)
{
  const char *name = gtk_widget_get_name (widget);
  return name != NULL && g_ascii_islower (name[0]) && strchr (name, '_') != NULL;
}

typedef struct
{
  const char *wanted; /* NULL: all */
  GtkWidget *found;
  GVariantBuilder *ids;
} Walk;

static void
walk (GtkWidget *widget, Walk *state)
{
  if (has_id (widget))
    {
      if (state->ids != NULL)
        g_variant_builder_add (state->ids, "s", gtk_widget_get_name (widget));
      else if (state->found == NULL && g_str_equal (gtk_widget_get_name (widget), state->wanted))
        state->found = widget;
    }
  for (GtkWidget *child = gtk_widget_get_first_child (widget); child != NULL && state->found == NULL; child = gtk_widget_get_next_sibling (child))
    walk (child, state);
}

/* The window first, then dialogs over it. */
static void
walk_all (TnWindow *self, Walk *state)
{
  walk (GTK_WIDGET (self), state);
  g_autoptr (GList) tops = gtk_window_list_toplevels ();
  for (GList *at = tops; at != NULL && state->found == NULL; at = at->next)
    if (at->data != self && !TN_IS_WINDOW (at->data) && gtk_widget_get_visible (at->data))
      walk (at->data, state);
}

static GtkWidget *
find (TnWindow *self, const char *id)
{
  Walk state = { .wanted = id };
  walk_all (self, &state);
  return state.found;
}

static char *
name_of (GtkWidget *widget)
{
  const char *own = g_object_get_data (G_OBJECT (widget), "tn-label");
  if (own != NULL)
    return g_strdup (own);
  if (ADW_IS_PREFERENCES_ROW (widget))
    return g_strdup (adw_preferences_row_get_title (ADW_PREFERENCES_ROW (widget)));
  if (GTK_IS_LABEL (widget))
    return g_strdup (gtk_label_get_text (GTK_LABEL (widget)));
  if (GTK_IS_BUTTON (widget) && gtk_button_get_label (GTK_BUTTON (widget)) != NULL)
    return g_strdup (gtk_button_get_label (GTK_BUTTON (widget)));
  if (ADW_IS_SPLIT_BUTTON (widget))
    return g_strdup (adw_split_button_get_label (ADW_SPLIT_BUTTON (widget)));
  if (TN_IS_PLOT_VIEW (widget))
    return g_strdup (tn_plot_title (tn_plot_view_plot (TN_PLOT_VIEW (widget))));
  return g_strdup (gtk_widget_get_tooltip_text (widget));
}

static char *
value_of (GtkWidget *widget)
{
  if (TN_IS_ROW (widget))
    {
      g_autofree char *text = tn_row_get_text (TN_ROW (widget));
      const char *error = tn_row_get_error (TN_ROW (widget));
      return error != NULL ? g_strdup_printf ("%s\n%s", text, error) : g_steal_pointer (&text);
    }
  if (TN_IS_PLOT_VIEW (widget))
    return tn_plot_description (tn_plot_view_plot (TN_PLOT_VIEW (widget)));
  if (TN_IS_BANNER (widget))
    return g_strdup (tn_banner_get_text (TN_BANNER (widget)));
  if (TN_IS_CHIP (widget))
    return g_strdup (tn_chip_get_text (TN_CHIP (widget)));
  if (TN_IS_SEGMENTED (widget))
    return g_strdup (tn_segmented_get_active_id (TN_SEGMENTED (widget)));
  if (ADW_IS_WINDOW_TITLE (widget))
    return g_strdup_printf ("%s\n%s", adw_window_title_get_title (ADW_WINDOW_TITLE (widget)), adw_window_title_get_subtitle (ADW_WINDOW_TITLE (widget)));
  if (GTK_IS_EDITABLE (widget))
    return g_strdup (gtk_editable_get_text (GTK_EDITABLE (widget)));
  if (GTK_IS_LABEL (widget))
    return g_strdup (gtk_label_get_text (GTK_LABEL (widget)));
  if (GTK_IS_SWITCH (widget))
    return g_strdup (gtk_switch_get_active (GTK_SWITCH (widget)) ? "true" : "false");
  if (GTK_IS_TOGGLE_BUTTON (widget))
    return g_strdup (gtk_toggle_button_get_active (GTK_TOGGLE_BUTTON (widget)) ? "true" : "false");
  if (GTK_IS_STACK (widget))
    return g_strdup (gtk_stack_get_visible_child_name (GTK_STACK (widget)));
  if (GTK_IS_PROGRESS_BAR (widget))
    return g_strdup_printf ("%.4f", gtk_progress_bar_get_fraction (GTK_PROGRESS_BAR (widget)));
  if (GTK_IS_RANGE (widget))
    return g_strdup_printf ("%g", gtk_range_get_value (GTK_RANGE (widget)));
  if (GTK_IS_TEXT_VIEW (widget))
    {
      GtkTextIter begin, end;
      GtkTextBuffer *buffer = gtk_text_view_get_buffer (GTK_TEXT_VIEW (widget));
      gtk_text_buffer_get_bounds (buffer, &begin, &end);
      return gtk_text_buffer_get_text (buffer, &begin, &end, FALSE);
    }
  return g_strdup ("");
}

/* In the widget's own window, whose content begins at its surface's transform. */
static graphene_rect_t
bounds_of (GtkWidget *widget)
{
  graphene_rect_t bounds = GRAPHENE_RECT_INIT (0, 0, 0, 0);
  GtkNative *native = gtk_widget_get_native (widget);
  double dx = 0, dy = 0;
  if (native == NULL || !gtk_widget_compute_bounds (widget, GTK_WIDGET (native), &bounds))
    return bounds;
  gtk_native_get_surface_transform (native, &dx, &dy);
  bounds.origin.x += (float) dx;
  bounds.origin.y += (float) dy;
  return bounds;
}

static GVariant *
answer_find (TnWindow *self, const char *id)
{
  GtkWidget *widget = find (self, id);
  if (widget == NULL)
    return g_variant_new ("(ss(iiii)bbs)", "", "", 0, 0, 0, 0, FALSE, FALSE, "");
  g_autoptr (GEnumClass) roles = g_type_class_ref (GTK_TYPE_ACCESSIBLE_ROLE);
  const GEnumValue *role = g_enum_get_value (roles, (int) gtk_accessible_get_accessible_role (GTK_ACCESSIBLE (widget)));
  graphene_rect_t bounds = bounds_of (widget);
  g_autofree char *name = name_of (widget), *value = value_of (widget);
  return g_variant_new ("(ss(iiii)bbs)", role != NULL ? role->value_nick : "", name != NULL ? name : "", (int) bounds.origin.x, (int) bounds.origin.y,
                        (int) bounds.size.width, (int) bounds.size.height, gtk_widget_get_mapped (widget), gtk_widget_is_sensitive (widget),
                        value != NULL ? value : "");
}

static const char *
answer_state (TnWindow *self, const char *view)
{
  if (g_str_equal (view, "run"))
    return tn_run_word_name (tn_run_control_line (tn_window_control (self))->word);
  TnPage *page = tn_window_page (self, view);
  return page != NULL ? tn_page_state (page) : "absent";
}

/* Lines of a plot: name of the series, steps, values. */
static GVariant *
answer_rows (GtkWidget *canvas)
{
  GVariantBuilder lines;
  g_variant_builder_init (&lines, G_VARIANT_TYPE ("a(saxad)"));
  TnPlot *plot = TN_IS_PLOT_VIEW (canvas) ? tn_plot_view_plot (TN_PLOT_VIEW (canvas)) : NULL;
  for (unsigned i = 0; plot != NULL && i < tn_plot_n_lines (plot); i++)
    {
      const TnSeries *series = tn_plot_line (plot, i)->series;
      gsize n = tn_series_n (series);
      g_variant_builder_add (&lines, "(s@ax@ad)", tn_series_name (series),
                             g_variant_new_fixed_array (G_VARIANT_TYPE_INT64, tn_series_steps (series), n, sizeof (gint64)),
                             g_variant_new_fixed_array (G_VARIANT_TYPE_DOUBLE, tn_series_values (series, FALSE), n, sizeof (double)));
    }
  return g_variant_new ("(a(saxad))", &lines);
}

/* Idle: no source of a priority above the lowest is waiting. */

typedef struct
{
  GDBusMethodInvocation *invocation;
  guint idle, timeout;
} Wait;

static void
wait_end (Wait *wait, gboolean idle)
{
  g_clear_handle_id (&wait->idle, g_source_remove);
  g_clear_handle_id (&wait->timeout, g_source_remove);
  g_dbus_method_invocation_return_value (wait->invocation, g_variant_new ("(b)", idle));
  g_free (wait);
}

static gboolean
idle_cb (gpointer data)
{
  ((Wait *) data)->idle = 0;
  wait_end (data, TRUE);
  return G_SOURCE_REMOVE;
}

static gboolean
timeout_cb (gpointer data)
{
  ((Wait *) data)->timeout = 0;
  wait_end (data, FALSE);
  return G_SOURCE_REMOVE;
}

static void
activate (TnWindow *self, const char *name, GVariant *parameters)
{
  g_autoptr (GVariant) boxed = g_variant_n_children (parameters) > 0 ? g_variant_get_child_value (parameters, 0) : NULL;
  g_autoptr (GVariant) target = boxed != NULL ? g_variant_get_variant (boxed) : NULL;
  gtk_widget_activate_action_variant (GTK_WIDGET (self), name, target);
}

static void
method_cb (GDBusConnection *connection, const char *sender, const char *path, const char *interface, const char *method, GVariant *parameters,
           GDBusMethodInvocation *invocation, gpointer data)
{
  TnWindow *self = data;
  const char *text = NULL;
  GVariant *reply = NULL;
  if (g_str_equal (method, "Find"))
    {
      g_variant_get (parameters, "(&s)", &text);
      reply = answer_find (self, text);
    }
  else if (g_str_equal (method, "ListIds"))
    {
      GVariantBuilder ids;
      g_variant_builder_init (&ids, G_VARIANT_TYPE ("as"));
      Walk state = { .ids = &ids };
      walk_all (self, &state);
      reply = g_variant_new ("(as)", &ids);
    }
  else if (g_str_equal (method, "Faults"))
    {
      g_auto (GStrv) faults = tn_test_faults (GTK_WIDGET (self));
      reply = g_variant_new ("(^as)", faults);
    }
  else if (g_str_equal (method, "State"))
    {
      g_variant_get (parameters, "(&s)", &text);
      reply = g_variant_new ("(s)", answer_state (self, text));
    }
  else if (g_str_equal (method, "Selection"))
    reply = g_variant_new ("(@a{sv})", tn_selection_to_variant (tn_window_selection (self)));
  else if (g_str_equal (method, "Nodes"))
    {
      unsigned nodes = 0, labels = 0;
      double ms = 0;
      g_variant_get (parameters, "(&s)", &text);
      GtkWidget *canvas = find (self, text);
      if (TN_IS_PLOT_VIEW (canvas))
        tn_plot_view_costs (TN_PLOT_VIEW (canvas), &nodes, &labels, &ms);
      else if (TN_IS_PICTURE_VIEW (canvas))
        tn_picture_view_costs (TN_PICTURE_VIEW (canvas), &nodes, &labels, &ms);
      reply = g_variant_new ("(uud)", nodes, labels, ms);
    }
  else if (g_str_equal (method, "Rows"))
    {
      g_variant_get (parameters, "(&s)", &text);
      reply = answer_rows (find (self, text));
    }
  else if (g_str_equal (method, "Activate"))
    {
      g_autoptr (GVariant) values = NULL;
      g_variant_get (parameters, "(&s@av)", &text, &values);
      activate (self, text, values);
    }
  else if (g_str_equal (method, "WaitIdle"))
    {
      Wait *wait = g_new0 (Wait, 1);
      guint ms;
      g_variant_get (parameters, "(u)", &ms);
      wait->invocation = invocation;
      wait->idle = g_idle_add_full (G_PRIORITY_LOW + 100, idle_cb, wait, NULL);
      wait->timeout = g_timeout_add (ms, timeout_cb, wait);
      return;
    }
  g_dbus_method_invocation_return_value (invocation, reply);
}

static void
unregister (gpointer data, GObject *window)
{
  GDBusConnection *connection = g_application_get_dbus_connection (g_application_get_default ());
  if (connection != NULL)
    g_dbus_connection_unregister_object (connection, GPOINTER_TO_UINT (data));
}

void
tn_test_interface_export (TnWindow *window)
{
  static const GDBusInterfaceVTable table = { .method_call = method_cb };
  GDBusConnection *connection = g_application_get_dbus_connection (G_APPLICATION (gtk_window_get_application (GTK_WINDOW (window))));
  if (connection == NULL)
    return;
  g_autoptr (GDBusNodeInfo) info = g_dbus_node_info_new_for_xml (xml, NULL);
  g_autofree char *path = g_strdup_printf ("/io/github/tenon_ml/Tenon/window/%u", gtk_application_window_get_id (GTK_APPLICATION_WINDOW (window)));
  guint id = g_dbus_connection_register_object (connection, path, info->interfaces[0], &table, window, NULL, NULL);
  g_object_weak_ref (G_OBJECT (window), unregister, GUINT_TO_POINTER (id));
}
