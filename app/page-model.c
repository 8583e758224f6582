/* SPDX-License-Identifier: Apache-2.0 */
#include "page-model.h"

#include <glib/gi18n.h>
#include <string.h>

#include "base/json.h"
#include "format.h"
#include "model-edit.h"
#include "model-form.h"
#include "model-parameters.h"
#include "model-tree.h"
#include "nn/cell.h"
#include "nn/model.h"
#include "segmented.h"
#include "state-pane.h"

struct _TnPageModel
{
  TnPage parent_instance;
  GtkWidget *leaflet, *main_page, *form_page, *form_stack, *back_button, *form_button;
  GtkWidget *views, *stack, *pane, *template_drop, *tree, *form, *parameters, *checks, *totals, *add_list, *add_popover, *add_button;
  JsonNode *root;        /* the model's text that is shown */
  gboolean own;          /* it stands in the project, not a preset */
  TnModelReport *report; /* of root, or of the last text that was reported */
  guint tools_idle;
  guint pending; /* parts of the selection that wait for the report */
  GCancellable *cancellable;
  gboolean filling, following;
};

G_DEFINE_FINAL_TYPE (TnPageModel, tn_page_model, TN_TYPE_PAGE)

/* Report. */

static void
show_totals (TnPageModel *self)
{
  g_autofree char *count = tn_format_count (self->report->trained), *size = tn_format_size ((double) self->report->bytes);
  g_autofree char *text = g_strdup_printf (_ ("%s parameters · %s · %.2f MFLOP a sample forward"), count, size, self->report->flops / 1e6);
  g_autofree char *wrong = self->report->error != NULL ? g_strdup_printf (_ ("%s so far"), text) : NULL;
  gtk_label_set_text (GTK_LABEL (self->totals), wrong != NULL ? wrong : text);
}

static GtkWidget *
check_row (const char *title, const char *text, const char *icon, const char *class)
{
  GtkWidget *row = adw_action_row_new (), *image = gtk_image_new_from_icon_name (icon);
  adw_preferences_row_set_use_markup (ADW_PREFERENCES_ROW (row), FALSE);
  adw_preferences_row_set_title (ADW_PREFERENCES_ROW (row), title);
  adw_action_row_set_subtitle (ADW_ACTION_ROW (row), text);
  adw_action_row_set_subtitle_lines (ADW_ACTION_ROW (row), 0);
  gtk_widget_add_css_class (image, class);
  adw_action_row_add_prefix (ADW_ACTION_ROW (row), image);
  return row;
}

static void
add_check (TnPageModel *self, gboolean good, const char *title, const char *text)
{
  GtkWidget *row = check_row (title, text, good ? "object-select-symbolic" : "dialog-warning-symbolic", good ? "success" : "error");
  gtk_list_box_append (GTK_LIST_BOX (self->checks), row);
}

static void
fix_cb (TnPageModel *self);

static void
show_checks (TnPageModel *self)
{
  const TnModelReport *report = self->report;
  GtkListBoxRow *old;
  while ((old = gtk_list_box_get_row_at_index (GTK_LIST_BOX (self->checks), 0)) != NULL)
    gtk_list_box_remove (GTK_LIST_BOX (self->checks), GTK_WIDGET (old));
  add_check (self, report->error == NULL, _ ("Shapes"), report->error != NULL ? report->error : _ ("Every layer takes what the one before gives."));
  if (report->fix_option != NULL)
    {
      GtkWidget *row = GTK_WIDGET (gtk_list_box_get_row_at_index (GTK_LIST_BOX (self->checks), 0)), *fix = gtk_button_new_with_mnemonic (_ ("_Fix"));
      gtk_widget_set_name (fix, "model_check_fix_button");
      gtk_widget_set_valign (fix, GTK_ALIGN_CENTER);
      g_signal_connect_swapped (fix, "clicked", G_CALLBACK (fix_cb), self);
      adw_action_row_add_suffix (ADW_ACTION_ROW (row), fix);
    }
  guint frozen = 0, statistics = 0;
  for (guint i = 0; i < report->parameters->len; i++)
    {
      frozen += g_array_index (report->parameters, TnParameterReport, i).frozen;
      statistics += g_array_index (report->parameters, TnParameterReport, i).statistic;
    }
  gboolean nothing = frozen + statistics == report->parameters->len && report->parameters->len > 0;
  g_autofree char *trained = g_strdup_printf (_ ("%u are trained, %u are frozen, %u are running statistics."),
                                              report->parameters->len - frozen - statistics, frozen, statistics);
  add_check (self, !nothing, _ ("Gradients"), nothing ? _ ("No parameter is trained: training would change nothing.") : trained);
  int64_t activations = 0;
  for (guint i = 0; i < report->cells->len; i++)
    activations += ((TnCellReport *) report->cells->pdata[i])->bytes;
  g_autofree char *weights = tn_format_size ((double) report->bytes), *sample = tn_format_size ((double) activations);
  g_autofree char *memory = g_strdup_printf (_ ("%s of parameters, the same again for gradients, %s of layer outputs a sample."), weights, sample);
  add_check (self, TRUE, _ ("Memory"), memory);
}

static void
update_form (TnPageModel *self)
{
  const char *path = tn_model_tree_get_selected (TN_MODEL_TREE (self->tree));
  JsonObject *object = path != NULL && self->root != NULL ? tn_model_edit_find (self->root, path) : NULL;
  const TnCellReport *cell = path != NULL && self->report != NULL ? tn_model_report_cell (self->report, path) : NULL;
  tn_model_form_set_cell (TN_MODEL_FORM (self->form), path, object, cell);
  if (self->report != NULL && path != NULL && g_strcmp0 (self->report->error_path, path) == 0)
    tn_model_form_set_error (TN_MODEL_FORM (self->form), self->report->fix_option, self->report->error);
  gboolean on_parameters = g_strcmp0 (tn_segmented_get_active_id (TN_SEGMENTED (self->views)), "parameters") == 0;
  g_auto (GStrv) names = tn_model_parameters_selected (TN_MODEL_PARAMETERS (self->parameters));
  gtk_stack_set_visible_child_name (GTK_STACK (self->form_stack), on_parameters ? (*names != NULL ? "parameter" : "none")
                                                                  : object != NULL ? "layer"
                                                                                   : "none");
}

static void show_selection (TnPageModel *self, guint mask);

static void
reported_cb (GObject *source, GAsyncResult *result, gpointer data)
{
  g_autoptr (TnPageModel) self = data;
  g_autoptr (GError) error = NULL;
  TnModelReport *report = tn_model_report_finish (result, &error);
  if (g_error_matches (error, G_IO_ERROR, G_IO_ERROR_CANCELLED))
    return;
  g_clear_object (&self->cancellable);
  if (report == NULL)
    {
      tn_state_pane_set_failed (TN_STATE_PANE (self->pane), _ ("The model could not be read"), error->message, NULL, NULL);
      return;
    }
  g_clear_pointer (&self->report, tn_model_report_unref);
  self->report = report;
  tn_model_tree_set_report (TN_MODEL_TREE (self->tree), report);
  tn_model_parameters_set_report (TN_MODEL_PARAMETERS (self->parameters), report);
  show_totals (self);
  show_checks (self);
  update_form (self);
  show_selection (self, self->pending);
  self->pending = 0;
  tn_page_set_badge (TN_PAGE (self), report->error != NULL ? "!" : NULL, report->error);
}

static void
stop_report (TnPageModel *self)
{
  if (self->cancellable != NULL)
    g_cancellable_cancel (self->cancellable);
  g_clear_object (&self->cancellable);
}

static void
start_report (TnPageModel *self)
{
  TnDocument *document = tn_page_document (TN_PAGE (self));
  stop_report (self);
  if (document == NULL || self->root == NULL)
    return;
  const TnSettings *settings = tn_document_settings (document);
  const char *freeze = tn_settings_is_set (settings, "train.freeze") ? tn_settings_get_string (settings, "train.freeze") : NULL;
  const char *init = tn_settings_is_set (settings, "init.preset") ? tn_settings_get_string (settings, "init.preset") : NULL;
  self->cancellable = g_cancellable_new ();
  tn_model_report_async (self->root, freeze, init, self->cancellable, reported_cb, g_object_ref (self));
}

/* The model's text. */

static void
show_template (TnPageModel *self, const char *name)
{
  const char *const *names = tn_model_preset_names ();
  guint place = GTK_INVALID_LIST_POSITION;
  for (guint i = 0; names[i] != NULL; i++)
    if (g_strcmp0 (names[i], name) == 0)
      place = i;
  self->filling = TRUE;
  gtk_drop_down_set_selected (GTK_DROP_DOWN (self->template_drop), place);
  self->filling = FALSE;
}

static void
take_root (TnPageModel *self, JsonNode *root, gboolean own)
{
  g_clear_pointer (&self->root, json_node_unref);
  self->root = root;
  self->own = own;
  JsonNode *cells = root != NULL && JSON_NODE_HOLDS_OBJECT (root) ? json_object_get_member (json_node_get_object (root), "cells") : NULL;
  tn_model_tree_set_model (TN_MODEL_TREE (self->tree), root);
  if (cells == NULL || !JSON_NODE_HOLDS_ARRAY (cells) || json_array_get_length (json_node_get_array (cells)) == 0)
    tn_state_pane_set_empty (TN_STATE_PANE (self->pane), "view-list-symbolic", _ ("No layers"), _ ("Choose a template above, or add a layer."), NULL, NULL);
  else
    tn_state_pane_set_content (TN_STATE_PANE (self->pane));
  update_form (self);
  start_report (self);
  tn_page_verbs_changed (TN_PAGE (self));
}

static void
file_read_cb (GObject *file, GAsyncResult *result, gpointer data)
{
  g_autoptr (TnPageModel) self = data;
  g_autoptr (GError) error = NULL;
  g_autofree char *text = NULL;
  gsize n;
  JsonNode *root = NULL;
  if (g_file_load_contents_finish (G_FILE (file), result, &text, &n, NULL, &error))
    root = tn_json_parse (text, (gssize) n, &error);
  if (root != NULL)
    take_root (self, root, FALSE);
  else
    tn_state_pane_set_failed (TN_STATE_PANE (self->pane), _ ("The model file could not be read"), error->message, NULL, NULL);
}

static void
load (TnPageModel *self)
{
  TnDocument *document = tn_page_document (TN_PAGE (self));
  if (document == NULL)
    return;
  const TnSettings *settings = tn_document_settings (document);
  const char *file = tn_settings_get_string (settings, "model.file"), *preset = tn_settings_get_string (settings, "model.preset");
  JsonNode *network = tn_document_network (document);
  show_template (self, network == NULL && *file == '\0' ? preset : NULL);
  if (network != NULL)
    {
      g_autofree char *text = tn_json_to_text (network, 0);
      take_root (self, tn_json_parse (text, -1, NULL), TRUE);
    }
  else if (*file != '\0')
    {
      g_autofree char *path = g_canonicalize_filename (file, tn_document_path (document));
      g_autoptr (GFile) source = g_file_new_for_path (path);
      g_file_load_contents_async (source, NULL, file_read_cb, g_object_ref (self));
    }
  else if (tn_model_preset (preset) != NULL)
    take_root (self, tn_json_parse (tn_model_preset (preset), -1, NULL), FALSE);
  else
    take_root (self, NULL, FALSE);
}

/* Every change of a layer is an edit of the whole text, so that undo has one kind to know. */
static JsonNode *
begin_edit (TnPageModel *self)
{
  if (self->root == NULL)
    return NULL;
  g_autofree char *text = tn_json_to_text (self->root, 0);
  JsonNode *root = tn_json_parse (text, -1, NULL);
  if (!self->own && self->report != NULL && self->report->error == NULL)
    tn_model_edit_state_sizes (root, self->report);
  return root;
}

/* Takes @root and @path: the cell to select afterwards; NULL path: nothing was done. */
static void
end_edit (TnPageModel *self, JsonNode *root, char *path)
{
  g_autoptr (JsonNode) edited = root;
  g_autofree char *selected = path;
  g_autoptr (GError) error = NULL;
  if (edited == NULL || selected == NULL)
    return;
  g_autofree char *text = tn_json_to_text (edited, 0);
  if (!tn_document_edit (tn_page_document (TN_PAGE (self)), "network", "", text, &error))
    {
      tn_page_toast (TN_PAGE (self), error->message);
      update_form (self);
      return;
    }
  tn_model_tree_select (TN_MODEL_TREE (self->tree), selected);
}

static void
fix_cb (TnPageModel *self)
{
  if (self->report == NULL || self->report->fix_option == NULL)
    return;
  JsonNode *root = begin_edit (self);
  end_edit (self, root,
            tn_model_edit_set_option (root, self->report->error_path, self->report->fix_option,
                                      json_node_init_int (json_node_alloc (), self->report->fix_value)));
}

static void
option_edited_cb (TnModelForm *form, const char *option, const char *json, TnPageModel *self)
{
  const char *path = tn_model_tree_get_selected (TN_MODEL_TREE (self->tree));
  JsonNode *root = path != NULL ? begin_edit (self) : NULL;
  if (root == NULL)
    return;
  if (strcmp (option, "name") == 0)
    end_edit (self, root, tn_model_edit_rename (root, path, json));
  else
    end_edit (self, root, tn_model_edit_set_option (root, path, option, json != NULL ? tn_json_parse (json, -1, NULL) : NULL));
}

static void
template_cb (TnPageModel *self)
{
  TnDocument *document = tn_page_document (TN_PAGE (self));
  guint place = gtk_drop_down_get_selected (GTK_DROP_DOWN (self->template_drop));
  g_autoptr (GError) error = NULL;
  if (self->filling || document == NULL || place == GTK_INVALID_LIST_POSITION)
    return;
  const char *name = tn_model_preset_names ()[place];
  gboolean plain = tn_document_network (document) == NULL && *tn_settings_get_string (tn_document_settings (document), "model.file") == '\0';
  gboolean done = plain ? tn_document_edit (document, "setting", "model.preset", name, &error)
                        : tn_document_edit (document, "network", "", tn_model_preset (name), &error);
  if (!done)
    tn_page_toast (TN_PAGE (self), error->message);
}

static const char *
selected_path (TnPageModel *self)
{
  return tn_model_tree_get_selected (TN_MODEL_TREE (self->tree));
}

static void
remove_action (GtkWidget *widget, const char *name, GVariant *value)
{
  TnPageModel *self = TN_PAGE_MODEL (widget);
  JsonNode *root = selected_path (self) != NULL ? begin_edit (self) : NULL;
  end_edit (self, root, root != NULL ? tn_model_edit_remove (root, selected_path (self)) : NULL);
}

static void
duplicate_action (GtkWidget *widget, const char *name, GVariant *value)
{
  TnPageModel *self = TN_PAGE_MODEL (widget);
  JsonNode *root = selected_path (self) != NULL ? begin_edit (self) : NULL;
  end_edit (self, root, root != NULL ? tn_model_edit_duplicate (root, selected_path (self)) : NULL);
}

static void
move_action (GtkWidget *widget, const char *name, GVariant *value)
{
  TnPageModel *self = TN_PAGE_MODEL (widget);
  JsonNode *root = selected_path (self) != NULL ? begin_edit (self) : NULL;
  end_edit (self, root, root != NULL ? tn_model_edit_move (root, selected_path (self), g_variant_get_int32 (value)) : NULL);
}

static void
add_action (GtkWidget *widget, const char *name, GVariant *value)
{
  TnPageModel *self = TN_PAGE_MODEL (widget);
  JsonNode *root = begin_edit (self);
  end_edit (self, root, root != NULL ? tn_model_edit_add (root, selected_path (self), g_variant_get_string (value, NULL)) : NULL);
}

static void
choose_action (GtkWidget *widget, const char *name, GVariant *value)
{
  gtk_menu_button_popup (GTK_MENU_BUTTON (TN_PAGE_MODEL (widget)->add_button));
}

static void
copy_layer (TnPageModel *self)
{
  g_autofree char *text = self->root != NULL && selected_path (self) != NULL ? tn_model_edit_copy (self->root, selected_path (self)) : NULL;
  if (text != NULL)
    gdk_clipboard_set_text (gtk_widget_get_clipboard (GTK_WIDGET (self)), text);
}

static void
pasted_cb (GObject *clipboard, GAsyncResult *result, gpointer data)
{
  g_autoptr (TnPageModel) self = data;
  g_autoptr (GError) error = NULL;
  g_autofree char *text = gdk_clipboard_read_text_finish (GDK_CLIPBOARD (clipboard), result, &error);
  JsonNode *root = text != NULL ? begin_edit (self) : NULL;
  char *path = root != NULL ? tn_model_edit_paste (root, selected_path (self), text, &error) : NULL;
  if (error != NULL)
    tn_page_toast (TN_PAGE (self), error->message);
  end_edit (self, root, path);
}

static void
rename_action (GtkWidget *widget, const char *name, GVariant *value)
{
  TnPageModel *self = TN_PAGE_MODEL (widget);
  adw_leaflet_set_visible_child (ADW_LEAFLET (self->leaflet), self->form_page);
  gtk_widget_child_focus (self->form, GTK_DIR_TAB_FORWARD);
}

/* Parameters. */

static void
trained_cb (TnModelParameters *parameters, gboolean trained, TnPageModel *self)
{
  TnDocument *document = tn_page_document (TN_PAGE (self));
  g_auto (GStrv) selected = tn_model_parameters_selected (parameters);
  g_autoptr (GPtrArray) all = g_ptr_array_new (), frozen = g_ptr_array_new ();
  if (self->report == NULL || document == NULL)
    return;
  for (guint i = 0; i < self->report->parameters->len; i++)
    {
      const TnParameterReport *parameter = &g_array_index (self->report->parameters, TnParameterReport, i);
      gboolean is_selected = g_strv_contains ((const char *const *) selected, parameter->name);
      if (parameter->statistic)
        continue;
      g_ptr_array_add (all, parameter->name);
      if (is_selected ? !trained : parameter->frozen)
        g_ptr_array_add (frozen, parameter->name);
    }
  g_ptr_array_add (all, NULL);
  g_ptr_array_add (frozen, NULL);
  g_autoptr (GError) error = NULL;
  g_autofree char *text = tn_model_freeze_text (tn_settings_get_string (tn_document_settings (document), "train.freeze"),
                                                (const char *const *) all->pdata, (const char *const *) frozen->pdata);
  if (!tn_document_edit (document, "setting", "train.freeze", *text != '\0' ? text : NULL, &error))
    tn_model_parameters_set_error (parameters, error->message);
}

static void
parameter_selected_cb (TnPageModel *self)
{
  g_auto (GStrv) names = tn_model_parameters_selected (TN_MODEL_PARAMETERS (self->parameters));
  tn_selection_set_text (tn_page_selection (TN_PAGE (self)), TN_SELECTION_PARAMETER, names[0] != NULL && names[1] == NULL ? names[0] : NULL);
  update_form (self);
}

static void
layer_selected_cb (TnModelTree *tree, const char *path, TnPageModel *self)
{
  const TnCellReport *cell = path != NULL && self->report != NULL ? tn_model_report_cell (self->report, path) : NULL;
  if (cell != NULL && !self->following)
    tn_selection_set_text (tn_page_selection (TN_PAGE (self)), TN_SELECTION_NODE, cell->scope);
  update_form (self);
}

static void
layer_opened_cb (TnModelTree *tree, const char *path, TnPageModel *self)
{
  adw_leaflet_set_visible_child (ADW_LEAFLET (self->leaflet), self->form_page);
}

/* Building. */

static gboolean
show_tools_cb (gpointer data)
{
  TnPageModel *self = data;
  self->tools_idle = 0;
  gboolean folded = adw_leaflet_get_folded (ADW_LEAFLET (self->leaflet));
  gboolean on_form = adw_leaflet_get_visible_child (ADW_LEAFLET (self->leaflet)) == self->form_page;
  gtk_widget_set_visible (self->back_button, folded && on_form);
  gtk_widget_set_visible (self->form_button, folded && !on_form);
  gtk_widget_set_visible (self->views, !folded || !on_form);
  return G_SOURCE_REMOVE;
}

/* The leaflet folds while it is given its size, when nothing may be shown or hidden. */
static void
folded_cb (TnPageModel *self)
{
  if (self->tools_idle == 0)
    self->tools_idle = g_idle_add_full (G_PRIORITY_HIGH_IDLE, show_tools_cb, self, NULL);
}

static void
show_form_cb (TnPageModel *self)
{
  adw_leaflet_set_visible_child (ADW_LEAFLET (self->leaflet), self->form_page);
}

static void
show_main_cb (TnPageModel *self)
{
  adw_leaflet_set_visible_child (ADW_LEAFLET (self->leaflet), self->main_page);
}

static GtkWidget *
icon_button (const char *icon, const char *name, const char *id, const char *action)
{
  GtkWidget *button = gtk_button_new_from_icon_name (icon);
  gtk_widget_set_name (button, id);
  gtk_widget_set_tooltip_text (button, name);
  gtk_accessible_update_property (GTK_ACCESSIBLE (button), GTK_ACCESSIBLE_PROPERTY_LABEL, name, -1);
  if (action != NULL)
    gtk_actionable_set_detailed_action_name (GTK_ACTIONABLE (button), action);
  gtk_widget_add_css_class (button, "flat");
  return button;
}

static gboolean
kind_filter (GtkListBoxRow *row, gpointer data)
{
  const char *name = adw_preferences_row_get_title (ADW_PREFERENCES_ROW (row)), *doc = adw_action_row_get_subtitle (ADW_ACTION_ROW (row));
  const char *text = gtk_editable_get_text (GTK_EDITABLE (data));
  g_autofree char *folded = g_utf8_casefold (text, -1), *in_name = g_utf8_casefold (name, -1), *in_doc = g_utf8_casefold (doc, -1);
  return *text == '\0' || strstr (in_name, folded) != NULL || strstr (in_doc, folded) != NULL;
}

static void
kind_cb (GtkListBox *list, GtkListBoxRow *row, TnPageModel *self)
{
  gtk_popover_popdown (GTK_POPOVER (self->add_popover));
  gtk_widget_activate_action (GTK_WIDGET (self), "page.add", "s", adw_preferences_row_get_title (ADW_PREFERENCES_ROW (row)));
}

static GtkWidget *
make_add_button (TnPageModel *self)
{
  GtkWidget *button = gtk_menu_button_new (), *box = gtk_box_new (GTK_ORIENTATION_VERTICAL, 6), *search = gtk_search_entry_new ();
  GtkWidget *scroller = gtk_scrolled_window_new ();
  self->add_list = gtk_list_box_new ();
  gtk_widget_set_name (self->add_list, "model_kind_list");
  gtk_widget_add_css_class (self->add_list, "boxed-list");
  gtk_list_box_set_selection_mode (GTK_LIST_BOX (self->add_list), GTK_SELECTION_NONE);
  for (int i = 0; tn_cell_class_at (i) != NULL; i++)
    {
      const TnCellClass *klass = tn_cell_class_at (i);
      GtkWidget *row = adw_action_row_new ();
      adw_preferences_row_set_use_markup (ADW_PREFERENCES_ROW (row), FALSE);
      adw_preferences_row_set_title (ADW_PREFERENCES_ROW (row), klass->name);
      adw_action_row_set_subtitle (ADW_ACTION_ROW (row), klass->doc);
      adw_action_row_set_subtitle_lines (ADW_ACTION_ROW (row), 2);
      gtk_list_box_row_set_activatable (GTK_LIST_BOX_ROW (row), TRUE);
      gtk_list_box_append (GTK_LIST_BOX (self->add_list), row);
    }
  gtk_list_box_set_filter_func (GTK_LIST_BOX (self->add_list), kind_filter, search, NULL);
  g_signal_connect_swapped (search, "search-changed", G_CALLBACK (gtk_list_box_invalidate_filter), self->add_list);
  g_signal_connect (self->add_list, "row-activated", G_CALLBACK (kind_cb), self);
  gtk_accessible_update_property (GTK_ACCESSIBLE (search), GTK_ACCESSIBLE_PROPERTY_LABEL, _ ("Search kinds of layer"), -1);
  gtk_scrolled_window_set_policy (GTK_SCROLLED_WINDOW (scroller), GTK_POLICY_NEVER, GTK_POLICY_AUTOMATIC);
  gtk_scrolled_window_set_child (GTK_SCROLLED_WINDOW (scroller), self->add_list);
  gtk_widget_set_size_request (scroller, 320, 340);
  gtk_box_append (GTK_BOX (box), search);
  gtk_box_append (GTK_BOX (box), scroller);
  self->add_popover = gtk_popover_new ();
  gtk_popover_set_child (GTK_POPOVER (self->add_popover), box);
  gtk_menu_button_set_popover (GTK_MENU_BUTTON (button), self->add_popover);
  self->add_button = button;
  gtk_menu_button_set_icon_name (GTK_MENU_BUTTON (button), "list-add-symbolic");
  gtk_widget_set_name (button, "model_add_button");
  gtk_widget_set_tooltip_text (button, _ ("Add Layer"));
  gtk_accessible_update_property (GTK_ACCESSIBLE (button), GTK_ACCESSIBLE_PROPERTY_LABEL, _ ("Add Layer"), -1);
  gtk_widget_add_css_class (button, "flat");
  return button;
}

static GtkWidget *
make_layer_bar (TnPageModel *self)
{
  GtkWidget *bar = gtk_box_new (GTK_ORIENTATION_HORIZONTAL, 6), *space = gtk_box_new (GTK_ORIENTATION_HORIZONTAL, 0);
  gtk_widget_add_css_class (bar, "tn-table-bar");
  self->template_drop = gtk_drop_down_new_from_strings (tn_model_preset_names ());
  gtk_widget_set_name (self->template_drop, "model_template_drop");
  gtk_widget_set_tooltip_text (self->template_drop, _ ("Template"));
  gtk_accessible_update_property (GTK_ACCESSIBLE (self->template_drop), GTK_ACCESSIBLE_PROPERTY_LABEL, _ ("Template"), -1);
  g_signal_connect_swapped (self->template_drop, "notify::selected", G_CALLBACK (template_cb), self);
  gtk_widget_set_hexpand (space, TRUE);
  gtk_box_append (GTK_BOX (bar), self->template_drop);
  gtk_box_append (GTK_BOX (bar), space);
  gtk_box_append (GTK_BOX (bar), make_add_button (self));
  gtk_box_append (GTK_BOX (bar), icon_button ("edit-copy-symbolic", _ ("Duplicate Layer"), "model_duplicate_button", "page.duplicate"));
  gtk_box_append (GTK_BOX (bar), icon_button ("go-up-symbolic", _ ("Move Layer Up"), "model_up_button", "page.move(-1)"));
  gtk_box_append (GTK_BOX (bar), icon_button ("go-down-symbolic", _ ("Move Layer Down"), "model_down_button", "page.move(1)"));
  gtk_box_append (GTK_BOX (bar), icon_button ("user-trash-symbolic", _ ("Remove Layer"), "model_remove_button", "page.remove"));
  return bar;
}

static GtkWidget *
make_layers (TnPageModel *self)
{
  GtkWidget *box = gtk_box_new (GTK_ORIENTATION_VERTICAL, 0);
  self->tree = tn_model_tree_new ();
  gtk_widget_set_vexpand (self->tree, TRUE);
  g_signal_connect (self->tree, "selected", G_CALLBACK (layer_selected_cb), self);
  g_signal_connect (self->tree, "opened", G_CALLBACK (layer_opened_cb), self);
  g_signal_connect_swapped (self->tree, "fix", G_CALLBACK (fix_cb), self);
  self->pane = tn_state_pane_new (self->tree);
  gtk_widget_set_vexpand (self->pane, TRUE);
  gtk_box_append (GTK_BOX (box), make_layer_bar (self));
  gtk_box_append (GTK_BOX (box), self->pane);
  return box;
}

static GtkWidget *
make_checks (TnPageModel *self)
{
  GtkWidget *scroller = gtk_scrolled_window_new (), *clamp = adw_clamp_new ();
  self->checks = gtk_list_box_new ();
  gtk_widget_set_name (self->checks, "model_check_list");
  gtk_widget_add_css_class (self->checks, "boxed-list");
  gtk_widget_set_valign (self->checks, GTK_ALIGN_START);
  gtk_list_box_set_selection_mode (GTK_LIST_BOX (self->checks), GTK_SELECTION_NONE);
  gtk_accessible_update_property (GTK_ACCESSIBLE (self->checks), GTK_ACCESSIBLE_PROPERTY_LABEL, _ ("Checks"), -1);
  adw_clamp_set_maximum_size (ADW_CLAMP (clamp), 720);
  adw_clamp_set_child (ADW_CLAMP (clamp), self->checks);
  gtk_widget_set_margin_start (clamp, 12);
  gtk_widget_set_margin_end (clamp, 12);
  gtk_widget_set_margin_top (clamp, 12);
  gtk_widget_set_margin_bottom (clamp, 12);
  gtk_scrolled_window_set_policy (GTK_SCROLLED_WINDOW (scroller), GTK_POLICY_NEVER, GTK_POLICY_AUTOMATIC);
  gtk_scrolled_window_set_child (GTK_SCROLLED_WINDOW (scroller), clamp);
  return scroller;
}

static GtkWidget *
make_form_page (TnPageModel *self)
{
  GtkWidget *scroller = gtk_scrolled_window_new (), *clamp = adw_clamp_new (), *nothing = gtk_label_new (_ ("Select a layer or a parameter to see its options."));
  self->form = tn_model_form_new ();
  g_signal_connect (self->form, "option-edited", G_CALLBACK (option_edited_cb), self);
  gtk_label_set_wrap (GTK_LABEL (nothing), TRUE);
  gtk_label_set_justify (GTK_LABEL (nothing), GTK_JUSTIFY_CENTER);
  gtk_label_set_max_width_chars (GTK_LABEL (nothing), 28);
  gtk_widget_add_css_class (nothing, "dim-label");
  self->form_stack = gtk_stack_new ();
  gtk_stack_set_vhomogeneous (GTK_STACK (self->form_stack), FALSE);
  gtk_stack_add_named (GTK_STACK (self->form_stack), nothing, "none");
  gtk_stack_add_named (GTK_STACK (self->form_stack), self->form, "layer");
  gtk_stack_add_named (GTK_STACK (self->form_stack), tn_model_parameters_form (TN_MODEL_PARAMETERS (self->parameters)), "parameter");
  adw_clamp_set_maximum_size (ADW_CLAMP (clamp), 720);
  adw_clamp_set_child (ADW_CLAMP (clamp), self->form_stack);
  gtk_widget_set_margin_start (self->form_stack, 12);
  gtk_widget_set_margin_end (self->form_stack, 12);
  gtk_widget_set_margin_top (self->form_stack, 12);
  gtk_widget_set_margin_bottom (self->form_stack, 18);
  gtk_scrolled_window_set_policy (GTK_SCROLLED_WINDOW (scroller), GTK_POLICY_NEVER, GTK_POLICY_AUTOMATIC);
  gtk_scrolled_window_set_child (GTK_SCROLLED_WINDOW (scroller), clamp);
  gtk_widget_set_size_request (scroller, 340, -1);
  gtk_widget_set_hexpand (scroller, FALSE);
  return scroller;
}

static void
view_cb (TnPageModel *self)
{
  update_form (self);
  tn_page_verbs_changed (TN_PAGE (self));
}

static void
tn_page_model_build (TnPage *page)
{
  TnPageModel *self = TN_PAGE_MODEL (page);
  self->back_button = icon_button ("go-previous-symbolic", _ ("Back to Layers"), "model_back_button", NULL);
  g_signal_connect_swapped (self->back_button, "clicked", G_CALLBACK (show_main_cb), self);
  self->views = tn_segmented_new (_ ("View"));
  gtk_widget_set_name (self->views, "model_view_buttons");
  tn_segmented_add (TN_SEGMENTED (self->views), "layers", _ ("Layers"));
  tn_segmented_add (TN_SEGMENTED (self->views), "parameters", _ ("Parameters"));
  tn_segmented_add (TN_SEGMENTED (self->views), "checks", _ ("Checks"));
  GtkWidget *space = gtk_box_new (GTK_ORIENTATION_HORIZONTAL, 0);
  gtk_widget_set_hexpand (space, TRUE);
  tn_page_add_tool (page, self->back_button);
  self->form_button = icon_button ("document-edit-symbolic", _ ("Options of the Selected"), "model_form_button", NULL);
  g_signal_connect_swapped (self->form_button, "clicked", G_CALLBACK (show_form_cb), self);
  tn_page_add_tool (page, self->views);
  tn_page_add_tool (page, space);
  tn_page_add_tool (page, self->form_button);

  self->parameters = tn_model_parameters_new ();
  g_signal_connect_swapped (self->parameters, "selection-changed", G_CALLBACK (parameter_selected_cb), self);
  g_signal_connect (self->parameters, "trained-edited", G_CALLBACK (trained_cb), self);
  self->stack = gtk_stack_new ();
  gtk_widget_set_name (self->stack, "model_view_stack");
  gtk_stack_set_hhomogeneous (GTK_STACK (self->stack), FALSE);
  gtk_stack_add_named (GTK_STACK (self->stack), make_layers (self), "layers");
  gtk_stack_add_named (GTK_STACK (self->stack), self->parameters, "parameters");
  gtk_stack_add_named (GTK_STACK (self->stack), make_checks (self), "checks");
  gtk_widget_set_vexpand (self->stack, TRUE);
  self->totals = gtk_label_new (NULL);
  gtk_widget_set_name (self->totals, "model_totals_label");
  gtk_widget_add_css_class (self->totals, "tn-tabular");
  gtk_label_set_wrap (GTK_LABEL (self->totals), TRUE);
  gtk_label_set_xalign (GTK_LABEL (self->totals), 0);
  gtk_widget_set_margin_start (self->totals, 12);
  gtk_widget_set_margin_end (self->totals, 12);
  gtk_widget_set_margin_top (self->totals, 8);
  gtk_widget_set_margin_bottom (self->totals, 8);
  self->main_page = gtk_box_new (GTK_ORIENTATION_VERTICAL, 0);
  gtk_widget_set_hexpand (self->main_page, TRUE);
  gtk_widget_set_size_request (self->main_page, 320, -1);
  gtk_box_append (GTK_BOX (self->main_page), self->stack);
  gtk_box_append (GTK_BOX (self->main_page), gtk_separator_new (GTK_ORIENTATION_HORIZONTAL));
  gtk_box_append (GTK_BOX (self->main_page), self->totals);

  self->form_page = make_form_page (self);
  self->leaflet = adw_leaflet_new ();
  adw_leaflet_append (ADW_LEAFLET (self->leaflet), self->main_page);
  adw_leaflet_page_set_navigatable (adw_leaflet_append (ADW_LEAFLET (self->leaflet), gtk_separator_new (GTK_ORIENTATION_VERTICAL)), FALSE);
  adw_leaflet_append (ADW_LEAFLET (self->leaflet), self->form_page);
  g_signal_connect_swapped (self->leaflet, "notify::folded", G_CALLBACK (folded_cb), self);
  g_signal_connect_swapped (self->leaflet, "notify::visible-child", G_CALLBACK (folded_cb), self);
  g_object_bind_property (self->views, "active-id", self->stack, "visible-child-name", G_BINDING_SYNC_CREATE);
  g_signal_connect_swapped (self->views, "notify::active-id", G_CALLBACK (view_cb), self);
  tn_page_set_content (page, self->leaflet);
  folded_cb (self);
}

static void
tn_page_model_document_changed (TnPage *page)
{
  load (TN_PAGE_MODEL (page));
}

static void
tn_page_model_edited (TnPage *page, const char *kind, const char *key)
{
  TnPageModel *self = TN_PAGE_MODEL (page);
  if (g_strcmp0 (kind, "network") == 0 || g_strcmp0 (key, "model.preset") == 0 || g_strcmp0 (key, "model.file") == 0)
    load (self);
  else if (g_strcmp0 (key, "train.freeze") == 0 || g_strcmp0 (key, "init.preset") == 0)
    start_report (self);
}

/* A cell whose operators hold the node. */
static const TnCellReport *
cell_of_node (TnPageModel *self, const char *node)
{
  const TnCellReport *found = NULL;
  for (guint i = 0; i < self->report->cells->len; i++)
    {
      const TnCellReport *cell = g_ptr_array_index (self->report->cells, i);
      size_t n = cell->scope != NULL ? strlen (cell->scope) : 0;
      if (n > 0 && strncmp (node, cell->scope, n) == 0 && (node[n] == '\0' || node[n] == '/'))
        found = cell; /* inner cells come later */
    }
  return found;
}

static void
show_selection (TnPageModel *self, guint mask)
{
  TnSelection *selection = tn_page_selection (TN_PAGE (self));
  const char *parameter = tn_selection_get_text (selection, TN_SELECTION_PARAMETER), *node = tn_selection_get_text (selection, TN_SELECTION_NODE);
  TnSelectionPart latest = tn_selection_latest (selection);
  if (self->report == NULL)
    return;
  if (mask & TN_SELECTION_PARAMETER && latest == TN_SELECTION_PARAMETER && parameter != NULL)
    {
      g_auto (GStrv) names = tn_model_parameters_selected (TN_MODEL_PARAMETERS (self->parameters));
      if (names[0] != NULL && names[1] == NULL && g_str_equal (names[0], parameter))
        return;
      if (tn_model_parameters_select (TN_MODEL_PARAMETERS (self->parameters), parameter))
        tn_segmented_set_active_id (TN_SEGMENTED (self->views), "parameters");
    }
  const TnCellReport *cell = mask & TN_SELECTION_NODE && latest == TN_SELECTION_NODE && node != NULL ? cell_of_node (self, node) : NULL;
  if (cell != NULL && g_strcmp0 (selected_path (self), cell->path) != 0)
    {
      tn_segmented_set_active_id (TN_SEGMENTED (self->views), "layers");
      self->following = TRUE; /* an operator stays selected where its layer is shown */
      tn_model_tree_select (TN_MODEL_TREE (self->tree), cell->path);
      self->following = FALSE;
    }
}

static void
tn_page_model_selection_changed (TnPage *page, guint mask)
{
  TnPageModel *self = TN_PAGE_MODEL (page);
  if (self->report == NULL)
    self->pending |= mask;
  else
    show_selection (self, mask);
}

static void
tn_page_model_width_changed (TnPage *page, TnWidthClass width)
{
  tn_model_tree_set_narrow (TN_MODEL_TREE (TN_PAGE_MODEL (page)->tree), width == TN_WIDTH_COMPACT);
  tn_model_parameters_set_narrow (TN_MODEL_PARAMETERS (TN_PAGE_MODEL (page)->parameters), width == TN_WIDTH_COMPACT);
}

static guint
tn_page_model_verbs (TnPage *page)
{
  TnPageModel *self = TN_PAGE_MODEL (page);
  guint verbs = 1u << TN_PAGE_NEXT_VIEW | 1u << TN_PAGE_PREVIOUS_VIEW;
  const char *view = tn_segmented_get_active_id (TN_SEGMENTED (self->views));
  if (g_strcmp0 (view, "layers") == 0 && self->root != NULL)
    verbs |= 1u << TN_PAGE_COPY | 1u << TN_PAGE_PASTE;
  return g_strcmp0 (view, "parameters") == 0 ? verbs | 1u << TN_PAGE_FIND : verbs;
}

static gboolean
tn_page_model_perform (TnPage *page, TnPageVerb verb)
{
  TnPageModel *self = TN_PAGE_MODEL (page);
  if (verb == TN_PAGE_NEXT_VIEW || verb == TN_PAGE_PREVIOUS_VIEW)
    return tn_segmented_move (TN_SEGMENTED (self->views), verb == TN_PAGE_NEXT_VIEW ? 1 : -1);
  if (verb == TN_PAGE_COPY)
    copy_layer (self);
  if (verb == TN_PAGE_PASTE)
    gdk_clipboard_read_text_async (gtk_widget_get_clipboard (GTK_WIDGET (self)), NULL, pasted_cb, g_object_ref (self));
  if (verb == TN_PAGE_FIND)
    tn_model_parameters_focus_filter (TN_MODEL_PARAMETERS (self->parameters));
  return verb == TN_PAGE_FIND || verb == TN_PAGE_COPY || verb == TN_PAGE_PASTE;
}

static const char *
tn_page_model_state (TnPage *page)
{
  return tn_state_pane_get_state (TN_STATE_PANE (TN_PAGE_MODEL (page)->pane));
}

static void
tn_page_model_dispose (GObject *object)
{
  TnPageModel *self = TN_PAGE_MODEL (object);
  g_clear_handle_id (&self->tools_idle, g_source_remove);
  stop_report (self);
  g_clear_pointer (&self->report, tn_model_report_unref);
  g_clear_pointer (&self->root, json_node_unref);
  G_OBJECT_CLASS (tn_page_model_parent_class)->dispose (object);
}

static void
tn_page_model_class_init (TnPageModelClass *klass)
{
  TnPageClass *page_class = TN_PAGE_CLASS (klass);
  GtkWidgetClass *widget_class = GTK_WIDGET_CLASS (klass);
  G_OBJECT_CLASS (klass)->dispose = tn_page_model_dispose;
  page_class->build = tn_page_model_build;
  page_class->document_changed = tn_page_model_document_changed;
  page_class->edited = tn_page_model_edited;
  page_class->selection_changed = tn_page_model_selection_changed;
  page_class->width_changed = tn_page_model_width_changed;
  page_class->verbs = tn_page_model_verbs;
  page_class->perform = tn_page_model_perform;
  page_class->state = tn_page_model_state;
  gtk_widget_class_install_action (widget_class, "page.add", "s", add_action);
  gtk_widget_class_install_action (widget_class, "page.remove", NULL, remove_action);
  gtk_widget_class_install_action (widget_class, "page.duplicate", NULL, duplicate_action);
  gtk_widget_class_install_action (widget_class, "page.move", "i", move_action);
  gtk_widget_class_install_action (widget_class, "page.rename", NULL, rename_action);
  gtk_widget_class_install_action (widget_class, "page.choose", NULL, choose_action);
}

static void
tn_page_model_init (TnPageModel *self)
{
}
