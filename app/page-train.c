/* SPDX-License-Identifier: Apache-2.0 */
#include "page-train.h"

#include <glib/gi18n.h>

#include "application.h"
#include "base/json.h"
#include "live-view.h"
#include "log-drawer.h"
#include "plan-view.h"
#include "segmented.h"
#include "settings-form.h"

#define SETTINGS_WIDTH 360

struct _TnPageTrain
{
  TnPage parent_instance;
  GtkWidget *views, *settings_pane, *live_pane, *form, *live, *plan, *separator;
};

G_DEFINE_FINAL_TYPE (TnPageTrain, tn_page_train, TN_TYPE_PAGE)

/* In a narrow window settings and live view take turns. */
static void
show_panes (TnPageTrain *self)
{
  gboolean compact = tn_page_width (TN_PAGE (self)) == TN_WIDTH_COMPACT;
  const char *view = tn_segmented_get_active_id (TN_SEGMENTED (self->views));
  gtk_widget_set_visible (self->views, compact);
  gtk_widget_set_visible (self->settings_pane, !compact || g_strcmp0 (view, "settings") == 0);
  gtk_widget_set_visible (self->live_pane, !compact || g_strcmp0 (view, "live") == 0);
  gtk_widget_set_visible (self->separator, !compact);
  gtk_widget_set_size_request (self->settings_pane, compact ? -1 : tn_page_width (TN_PAGE (self)) == TN_WIDTH_MEDIUM ? 300 : SETTINGS_WIDTH, -1);
  gtk_widget_set_hexpand (self->settings_pane, compact);
}

static void
tn_page_train_width_changed (TnPage *page, TnWidthClass width)
{
  TnPageTrain *self = TN_PAGE_TRAIN (page);
  show_panes (self);
  tn_live_view_set_columns (TN_LIVE_VIEW (self->live), width < TN_WIDTH_WIDE ? 1 : 2, width == TN_WIDTH_COMPACT ? 1 : 2);
}

static void
control_changed_cb (TnRunControl *control, TnPageTrain *self)
{
  TnRunWord word = tn_run_control_line (control)->word;
  tn_settings_form_set_running (TN_SETTINGS_FORM (self->form), tn_run_word_is_live (word));
}

static void
show_all_cb (GSettings *settings, const char *key, TnPageTrain *self)
{
  tn_settings_form_set_show_all (TN_SETTINGS_FORM (self->form), g_settings_get_boolean (settings, "show-all-settings"));
}

static void
tn_page_train_document_changed (TnPage *page)
{
  tn_settings_form_set_document (TN_SETTINGS_FORM (TN_PAGE_TRAIN (page)->form), tn_page_document (page));
  tn_plan_view_set_document (TN_PLAN_VIEW (TN_PAGE_TRAIN (page)->plan), tn_page_document (page));
}

static void
tn_page_train_edited (TnPage *page, const char *kind, const char *key)
{
  if (g_str_equal (kind, "setting"))
    tn_settings_form_update (TN_SETTINGS_FORM (TN_PAGE_TRAIN (page)->form), key);
  tn_plan_view_edited (TN_PLAN_VIEW (TN_PAGE_TRAIN (page)->plan));
}

static void
check_cb (TnPageTrain *self)
{
  if (tn_page_width (TN_PAGE (self)) == TN_WIDTH_COMPACT)
    tn_segmented_set_active_id (TN_SEGMENTED (self->views), "settings");
  tn_plan_view_open (TN_PLAN_VIEW (self->plan));
}

static void
show_setting_cb (TnPlanView *plan, const char *name, TnPageTrain *self)
{
  tn_settings_form_show (TN_SETTINGS_FORM (self->form), name);
}

static void
tn_page_train_run_changed (TnPage *page)
{
  control_changed_cb (tn_page_control (page), TN_PAGE_TRAIN (page));
  if (tn_page_width (page) == TN_WIDTH_COMPACT && tn_page_run (page) != NULL)
    tn_segmented_set_active_id (TN_SEGMENTED (TN_PAGE_TRAIN (page)->views), "live");
}

static guint
tn_page_train_verbs (TnPage *page)
{
  guint always = 1u << TN_PAGE_FIND | 1u << TN_PAGE_COPY | 1u << TN_PAGE_NEXT_VIEW | 1u << TN_PAGE_PREVIOUS_VIEW;
  guint with_run = 1u << TN_PAGE_EXPORT | 1u << TN_PAGE_COPY_PICTURE | 1u << TN_PAGE_ZOOM_IN | 1u << TN_PAGE_ZOOM_OUT | 1u << TN_PAGE_ZOOM_FIT;
  return always | (tn_page_run (page) != NULL ? with_run : 0);
}

static void
copy_settings (TnPage *page)
{
  JsonObject *object = tn_settings_to_json (tn_document_settings (tn_page_document (page)), FALSE);
  g_autoptr (JsonNode) node = json_node_init_object (json_node_alloc (), object);
  json_object_unref (object);
  g_autofree char *text = tn_json_to_text (node, 2);
  gdk_clipboard_set_text (gtk_widget_get_clipboard (GTK_WIDGET (page)), text);
  tn_page_toast (page, _("Settings copied"));
}

static gboolean
tn_page_train_perform (TnPage *page, TnPageVerb verb)
{
  TnPageTrain *self = TN_PAGE_TRAIN (page);
  static const struct
  {
    TnPageVerb verb;
    const char *action;
  } plot_actions[] = {
    { TN_PAGE_EXPORT, "plot.export" },   { TN_PAGE_COPY_PICTURE, "plot.copy-picture" }, { TN_PAGE_ZOOM_IN, "plot.zoom-in" },
    { TN_PAGE_ZOOM_OUT, "plot.zoom-out" }, { TN_PAGE_ZOOM_FIT, "plot.fit" },
  };
  for (guint i = 0; i < G_N_ELEMENTS (plot_actions); i++)
    if (plot_actions[i].verb == verb)
      {
        tn_live_view_plot_action (TN_LIVE_VIEW (self->live), plot_actions[i].action);
        return TRUE;
      }
  switch ((int) verb)
    {
    case TN_PAGE_FIND:
      if (tn_page_width (page) == TN_WIDTH_COMPACT)
        tn_segmented_set_active_id (TN_SEGMENTED (self->views), "settings");
      tn_settings_form_find (TN_SETTINGS_FORM (self->form));
      return TRUE;
    case TN_PAGE_COPY:
      copy_settings (page);
      return TRUE;
    case TN_PAGE_NEXT_VIEW:
      return tn_segmented_move (TN_SEGMENTED (self->views), 1);
    case TN_PAGE_PREVIOUS_VIEW:
      return tn_segmented_move (TN_SEGMENTED (self->views), -1);
    default:
      return FALSE;
    }
}

static const char *
tn_page_train_state (TnPage *page)
{
  switch (tn_run_control_line (tn_page_control (page))->word)
    {
    case TN_WORD_NONE:
      return "empty";
    case TN_WORD_STARTING:
      return "loading";
    case TN_WORD_PAUSED:
      return "paused";
    case TN_WORD_FAILED:
    case TN_WORD_LOST:
      return "failed";
    case TN_WORD_RUNNING:
      return "running";
    default:
      return "ready";
    }
}

static GtkWidget *
settings_menu (void)
{
  GtkWidget *button = gtk_menu_button_new ();
  g_autoptr (GMenu) menu = g_menu_new ();
  g_menu_append (menu, _("Show All Settings"), "settings.show-all-settings");
  g_menu_append (menu, _("Copy as JSON"), "win.copy");
  g_menu_append (menu, _("Show Command…"), "win.show-command");
  gtk_menu_button_set_icon_name (GTK_MENU_BUTTON (button), "view-more-symbolic");
  gtk_menu_button_set_menu_model (GTK_MENU_BUTTON (button), G_MENU_MODEL (menu));
  gtk_widget_set_name (button, "train_settings_button");
  gtk_widget_set_tooltip_text (button, _("Settings menu"));
  gtk_accessible_update_property (GTK_ACCESSIBLE (button), GTK_ACCESSIBLE_PROPERTY_LABEL, _("Settings menu"), -1);
  return button;
}

/* Smoothing, axis and scale of all plots. They are settings of the whole application. */
static GtkWidget *
plot_options (void)
{
  GSettings *settings = tn_application_settings ();
  GtkWidget *button = gtk_menu_button_new (), *popover = gtk_popover_new (), *grid = gtk_grid_new ();
  GtkWidget *scale = gtk_scale_new_with_range (GTK_ORIENTATION_HORIZONTAL, 0, 0.999, 0.01), *log = gtk_switch_new ();
  GtkWidget *drop = gtk_drop_down_new_from_strings ((const char *const[]){ _("Step"), _("Epoch"), _("Time since start"), _("Clock time"), NULL });
  GtkWidget *const controls[] = { scale, drop, log };
  static const char *const labels[] = { N_("S_moothing"), N_("_Horizontal axis"), N_("_Logarithmic loss") };
  static const char *const ids[] = { "train_smooth_scale", "train_x_drop", "train_log_toggle" };
  for (int i = 0; i < 3; i++)
    {
      GtkWidget *label = gtk_label_new_with_mnemonic (_(labels[i]));
      gtk_label_set_xalign (GTK_LABEL (label), 0);
      gtk_label_set_mnemonic_widget (GTK_LABEL (label), controls[i]);
      gtk_widget_set_name (controls[i], ids[i]);
      gtk_grid_attach (GTK_GRID (grid), label, 0, i, 1, 1);
      gtk_grid_attach (GTK_GRID (grid), controls[i], 1, i, 1, 1);
    }
  gtk_grid_set_row_spacing (GTK_GRID (grid), 9);
  gtk_grid_set_column_spacing (GTK_GRID (grid), 12);
  gtk_widget_set_margin_top (grid, 6);
  gtk_widget_set_margin_bottom (grid, 6);
  gtk_widget_set_margin_start (grid, 6);
  gtk_widget_set_margin_end (grid, 6);
  gtk_widget_set_size_request (scale, 180, -1);
  gtk_widget_set_halign (log, GTK_ALIGN_START);
  g_settings_bind (settings, "plot-smoothing", gtk_range_get_adjustment (GTK_RANGE (scale)), "value", G_SETTINGS_BIND_DEFAULT);
  g_settings_bind (settings, "plot-log-y", log, "active", G_SETTINGS_BIND_DEFAULT);
  g_object_set_data (G_OBJECT (drop), "tn-settings", settings);
  gtk_drop_down_set_selected (GTK_DROP_DOWN (drop), (guint) g_settings_get_enum (settings, "plot-x"));
  gtk_popover_set_child (GTK_POPOVER (popover), grid);
  gtk_menu_button_set_popover (GTK_MENU_BUTTON (button), popover);
  gtk_menu_button_set_label (GTK_MENU_BUTTON (button), _("Curves"));
  gtk_widget_set_name (button, "train_curves_button");
  return button;
}

static void
x_chosen_cb (GtkDropDown *drop, GParamSpec *spec, gpointer data)
{
  g_settings_set_enum (tn_application_settings (), "plot-x", (int) gtk_drop_down_get_selected (drop));
}

static void
connect_x (GtkWidget *widget)
{
  if (GTK_IS_DROP_DOWN (widget))
    g_signal_connect (widget, "notify::selected", G_CALLBACK (x_chosen_cb), NULL);
  for (GtkWidget *child = gtk_widget_get_first_child (widget); child != NULL; child = gtk_widget_get_next_sibling (child))
    connect_x (child);
}

static void
tn_page_train_build (TnPage *page)
{
  TnPageTrain *self = TN_PAGE_TRAIN (page);
  TnRunControl *control = tn_page_control (page);
  GSettings *settings = tn_application_settings ();
  GtkWidget *content = gtk_box_new (GTK_ORIENTATION_HORIZONTAL, 0);

  self->views = tn_segmented_new (_("View"));
  gtk_widget_set_name (self->views, "train_view_toggle");
  tn_segmented_add (TN_SEGMENTED (self->views), "settings", _("Settings"));
  tn_segmented_add (TN_SEGMENTED (self->views), "live", _("Live"));
  tn_segmented_set_active_id (TN_SEGMENTED (self->views), "live");
  g_signal_connect_swapped (self->views, "notify::active-id", G_CALLBACK (show_panes), self);

  self->form = tn_settings_form_new (control);
  self->settings_pane = self->form;
  self->plan = tn_plan_view_new (control);
  g_signal_connect (self->plan, "show-setting", G_CALLBACK (show_setting_cb), self);
  g_signal_connect (self, "check", G_CALLBACK (check_cb), NULL);
  tn_settings_form_append (TN_SETTINGS_FORM (self->form), self->plan);
  self->live = tn_live_view_new (control, tn_page_selection (page));
  self->live_pane = self->live;
  gtk_widget_set_hexpand (self->live_pane, TRUE);
  self->separator = gtk_separator_new (GTK_ORIENTATION_VERTICAL);
  gtk_box_append (GTK_BOX (content), self->settings_pane);
  gtk_box_append (GTK_BOX (content), self->separator);
  gtk_box_append (GTK_BOX (content), self->live_pane);

  g_autoptr (GSimpleActionGroup) group = g_simple_action_group_new ();
  g_autoptr (GAction) show_all = g_settings_create_action (settings, "show-all-settings");
  g_action_map_add_action (G_ACTION_MAP (group), show_all);
  gtk_widget_insert_action_group (GTK_WIDGET (self), "settings", G_ACTION_GROUP (group));

  GtkWidget *spacer = gtk_box_new (GTK_ORIENTATION_HORIZONTAL, 0), *curves = plot_options ();
  gtk_widget_set_hexpand (spacer, TRUE);
  connect_x (gtk_popover_get_child (GTK_POPOVER (gtk_menu_button_get_popover (GTK_MENU_BUTTON (curves)))));
  tn_page_add_tool (page, settings_menu ());
  tn_page_add_tool (page, self->views);
  tn_page_add_tool (page, spacer);
  tn_page_add_tool (page, curves);
  tn_page_set_content (page, content);
  tn_page_set_drawer (page, tn_log_drawer_new (control));
  g_signal_connect_object (control, "changed", G_CALLBACK (control_changed_cb), self, 0);
  g_signal_connect_object (settings, "changed::show-all-settings", G_CALLBACK (show_all_cb), self, 0);
  show_all_cb (settings, NULL, self);
}

static void
tn_page_train_class_init (TnPageTrainClass *class)
{
  TnPageClass *page_class = TN_PAGE_CLASS (class);
  page_class->build = tn_page_train_build;
  page_class->document_changed = tn_page_train_document_changed;
  page_class->edited = tn_page_train_edited;
  page_class->run_changed = tn_page_train_run_changed;
  page_class->width_changed = tn_page_train_width_changed;
  page_class->verbs = tn_page_train_verbs;
  page_class->perform = tn_page_train_perform;
  page_class->state = tn_page_train_state;
  g_signal_new ("check", G_TYPE_FROM_CLASS (class), G_SIGNAL_RUN_LAST, 0, NULL, NULL, NULL, G_TYPE_NONE, 0);
}

static void
tn_page_train_init (TnPageTrain *self)
{
}

void
tn_page_train_show_setting (TnPageTrain *self, const char *name)
{
  g_return_if_fail (TN_IS_PAGE_TRAIN (self));
  if (self->form == NULL)
    return;
  if (tn_page_width (TN_PAGE (self)) == TN_WIDTH_COMPACT)
    tn_segmented_set_active_id (TN_SEGMENTED (self->views), "settings");
  tn_settings_form_show (TN_SETTINGS_FORM (self->form), name);
}

const char *
tn_page_train_error (TnPageTrain *self)
{
  g_return_val_if_fail (TN_IS_PAGE_TRAIN (self), NULL);
  return self->plan != NULL ? tn_plan_view_error (TN_PLAN_VIEW (self->plan)) : NULL;
}
