/* SPDX-License-Identifier: Apache-2.0 */
#include "page-data.h"

#include <glib/gi18n.h>
#include <inttypes.h>
#include <string.h>

#include "banner.h"
#include "base/id-ranges.h"
#include "data-classes.h"
#include "data-form.h"
#include "data-preview.h"
#include "data-scan.h"
#include "draw/sample-image.h"
#include "segmented.h"
#include "state-pane.h"
#include "table.h"

struct _TnPageData
{
  TnPage parent_instance;
  GtkWidget *leaflet, *form, *form_page, *main_page, *form_button, *back_button;
  GtkWidget *views, *stack, *pane, *banner, *preview, *classes, *drawer;
  TnTableModel *drawer_model; /* that the drawer shows now */
  TnDataScan *scan;
  guint tools_idle;
  GCancellable *cancellable; /* of the scan that goes on */
};

G_DEFINE_FINAL_TYPE (TnPageData, tn_page_data, TN_TYPE_PAGE)

/* Scanning. */

/* "Found 12 000 pictures of 28 × 28 in 10 classes." */
static char *
what_was_found (const TnDataset *dataset)
{
  const TnShape *shape = &dataset->sample_shape;
  int n = shape->n_dims;
  g_autofree char *samples =
      tn_shape_is_picture (shape)
          ? g_strdup_printf (_ ("%'" PRId64 " pictures of %" PRId64 " × %" PRId64), dataset->n_samples, shape->dims[n - 2],
                             shape->dims[n - 1])
          : g_strdup_printf (_ ("%'" PRId64 " samples of %zu numbers"), dataset->n_samples, dataset->sample_elements);
  return dataset->n_classes > 0 ? g_strdup_printf (_ ("Found %s in %d classes."), samples, dataset->n_classes) : g_strdup_printf (_ ("Found %s."), samples);
}

static void
show_banner (TnPageData *self)
{
  TnDataScan *scan = self->scan;
  if (scan->split_error != NULL)
    {
      tn_banner_show (TN_BANNER (self->banner), GTK_MESSAGE_ERROR, scan->split_error);
      return;
    }
  g_autofree char *found = what_was_found (scan->dataset);
  g_autofree char *text = g_strdup_printf (_ ("%s %'" PRId64 " train, %'" PRId64 " are held out."), found,
                                           scan->counts[TN_SIDE_TRAIN], scan->counts[TN_SIDE_HELD_OUT]);
  g_autofree char *more = scan->counts[TN_SIDE_EXCLUDED] == 0
                            ? NULL
                            : g_strdup_printf (_ ("%s %'" PRId64 " left out."), text, scan->counts[TN_SIDE_EXCLUDED]);
  tn_banner_show (TN_BANNER (self->banner), GTK_MESSAGE_INFO, more != NULL ? more : text);
}

static void
update_drawer (TnPageData *self)
{
  TnTableModel *model = tn_data_preview_model (TN_DATA_PREVIEW (self->preview));
  if (model == self->drawer_model)
    return;
  self->drawer_model = model;
  adw_bin_set_child (ADW_BIN (self->drawer), model != NULL ? tn_table_new (model, "data_sample_table", _ ("Samples table")) : NULL);
}

static void
take_scan (TnPageData *self, TnDataScan *scan)
{
  g_clear_pointer (&self->scan, tn_data_scan_unref);
  self->scan = scan;
  tn_data_preview_set_scan (TN_DATA_PREVIEW (self->preview), scan);
  tn_data_classes_set_scan (TN_DATA_CLASSES (self->classes), scan);
  tn_data_form_set_scan (TN_DATA_FORM (self->form), scan);
  update_drawer (self);
  show_banner (self);
  tn_state_pane_set_content (TN_STATE_PANE (self->pane));
  tn_page_set_badge (TN_PAGE (self), scan->split_error != NULL ? "!" : NULL, scan->split_error);
  tn_page_verbs_changed (TN_PAGE (self));
}

static void
scanned_cb (GObject *source, GAsyncResult *result, gpointer data)
{
  g_autoptr (TnPageData) self = data;
  g_autoptr (GError) error = NULL;
  TnDataScan *scan = tn_data_scan_finish (result, &error);
  if (g_error_matches (error, G_IO_ERROR, G_IO_ERROR_CANCELLED))
    return;
  g_clear_object (&self->cancellable);
  if (scan != NULL)
    {
      take_scan (self, scan);
      return;
    }
  tn_state_pane_set_failed (TN_STATE_PANE (self->pane), _ ("The data could not be read"), error->message, _ ("_Choose Other Data…"), "page.choose");
  tn_banner_hide (TN_BANNER (self->banner));
  tn_page_set_badge (TN_PAGE (self), "!", error->message);
}

static gboolean
same_source (TnPageData *self, const TnSettings *settings)
{
  return self->scan != NULL && strcmp (self->scan->source, tn_settings_get_string (settings, "data.source")) == 0;
}

static void
stop_scan (TnPageData *self)
{
  if (self->cancellable != NULL)
    g_cancellable_cancel (self->cancellable);
  g_clear_object (&self->cancellable);
}

/* @again: the files are read anew. */
static void
start_scan (TnPageData *self, gboolean again)
{
  TnDocument *document = tn_page_document (TN_PAGE (self));
  stop_scan (self);
  if (document == NULL)
    return;
  const TnSettings *settings = tn_document_settings (document);
  TnDataScan *known = !again && same_source (self, settings) ? self->scan : NULL;
  self->cancellable = g_cancellable_new ();
  tn_data_scan_async (settings, tn_document_path (document), known, self->cancellable, scanned_cb, g_object_ref (self));
  if (known == NULL)
    {
      g_autofree char *text = g_strdup_printf (_ ("Reading %s"), tn_settings_get_string (settings, "data.source"));
      tn_state_pane_set_loading (TN_STATE_PANE (self->pane), text, -1);
    }
}

static void
cancelled_cb (TnPageData *self)
{
  stop_scan (self);
  if (self->scan != NULL)
    tn_state_pane_set_content (TN_STATE_PANE (self->pane));
  else
    tn_state_pane_set_empty (TN_STATE_PANE (self->pane), "folder-symbolic", _ ("Nothing read"), _ ("Reading was cancelled. The data are as they were."),
                             _ ("_Read Again"), "page.rescan");
}

/* Actions. */

static void
edit (TnPageData *self, const char *key, const char *value)
{
  g_autoptr (GError) error = NULL;
  TnDocument *document = tn_page_document (TN_PAGE (self));
  if (document != NULL && !tn_document_edit (document, "setting", key, value, &error))
    tn_page_toast (TN_PAGE (self), error->message);
}

/* Leaves the selected samples out, or takes them in again where all of them are out. */
static void
exclude_action (GtkWidget *widget, const char *name, GVariant *value)
{
  TnPageData *self = TN_PAGE_DATA (widget);
  TnDocument *document = tn_page_document (TN_PAGE (self));
  if (document == NULL || self->scan == NULL)
    return;
  g_autoptr (GArray) ids = tn_data_preview_selected (TN_DATA_PREVIEW (self->preview));
  g_autoptr (TnIdRanges) ranges = tn_id_ranges_parse (tn_settings_get_string (tn_document_settings (document), "data.exclude"), NULL);
  gboolean all_out = ids->len > 0;
  for (guint i = 0; i < ids->len; i++)
    all_out &= tn_id_ranges_contains (ranges, g_array_index (ids, gint64, i));
  for (guint i = 0; i < ids->len; i++)
    {
      gint64 id = g_array_index (ids, gint64, i);
      if (all_out)
        tn_id_ranges_remove (ranges, id, id);
      else
        tn_id_ranges_add (ranges, id, id);
    }
  if (ids->len == 0)
    return;
  g_autofree char *text = tn_id_ranges_to_text (ranges);
  edit (self, "data.exclude", *text != '\0' ? text : NULL);
  g_autofree char *news = all_out ? g_strdup_printf (g_dngettext (NULL, "%u sample taken in again", "%u samples taken in again", ids->len), ids->len)
                                  : g_strdup_printf (g_dngettext (NULL, "%u sample left out", "%u samples left out", ids->len), ids->len);
  tn_page_toast (TN_PAGE (self), news);
}

static void
rescan_action (GtkWidget *widget, const char *name, GVariant *value)
{
  start_scan (TN_PAGE_DATA (widget), TRUE);
}

static void
choose_action (GtkWidget *widget, const char *name, GVariant *value)
{
  tn_data_form_choose (TN_DATA_FORM (TN_PAGE_DATA (widget)->form), TRUE);
}

static void
renamed_cb (TnDataClasses *classes, int row, const char *name, TnPageData *self)
{
  g_autoptr (GString) names = g_string_new (NULL);
  for (int i = 0; i < self->scan->dataset->n_classes; i++)
    {
      const char *one = i == row ? name : self->scan->class_names[i];
      gboolean own = strcmp (one, self->scan->dataset->class_names[i]) == 0;
      g_string_append_printf (names, "%s%s", i > 0 ? "," : "", own ? "" : one);
    }
  /* Without the empty names at the end there is one text for one meaning. */
  while (names->len > 0 && names->str[names->len - 1] == ',')
    g_string_truncate (names, names->len - 1);
  edit (self, "data.class_names", names->len > 0 ? names->str : NULL);
}

static void
class_opened_cb (TnDataClasses *classes, int row, TnPageData *self)
{
  tn_data_preview_show_class (TN_DATA_PREVIEW (self->preview), row);
  tn_segmented_set_active_id (TN_SEGMENTED (self->views), "preview");
}

static void
selected_cb (TnDataPreview *preview, gint64 id, TnPageData *self)
{
  g_autofree char *text = NULL;
  if (id >= 0 && self->scan != NULL)
    text = g_strdup_printf ("%s:%" PRId64, self->scan->sides[id] == TN_SIDE_HELD_OUT ? "validation" : "training", id);
  tn_selection_set_text (tn_page_selection (TN_PAGE (self)), TN_SELECTION_SAMPLE, text);
}

/* One sample, large. */

static void
opened_cb (TnDataPreview *preview, gint64 id, TnPageData *self)
{
  int width, height;
  uint8_t *pixels = tn_sample_image (self->scan->dataset, id, 512, &width, &height);
  if (pixels == NULL)
    return;
  g_autoptr (GBytes) bytes = g_bytes_new_take (pixels, (gsize) width * (gsize) height * 4);
  g_autoptr (GdkTexture) texture = gdk_memory_texture_new (width, height, GDK_MEMORY_DEFAULT, bytes, (gsize) width * 4);
  g_autofree char *label = tn_data_scan_label (self->scan, id);
  g_autofree char *title = g_strdup_printf (_ ("%s, sample %" PRId64), label, id);
  GtkWidget *window = adw_window_new (), *box = gtk_box_new (GTK_ORIENTATION_VERTICAL, 0), *picture = gtk_picture_new_for_paintable (GDK_PAINTABLE (texture));
  gtk_widget_set_name (window, "data_sample_window");
  gtk_widget_set_size_request (picture, 320, 320);
  gtk_widget_set_vexpand (picture, TRUE);
  gtk_widget_set_margin_bottom (picture, 12);
  gtk_widget_set_margin_start (picture, 12);
  gtk_widget_set_margin_end (picture, 12);
  gtk_picture_set_alternative_text (GTK_PICTURE (picture), title);
  gtk_box_append (GTK_BOX (box), adw_header_bar_new ());
  gtk_box_append (GTK_BOX (box), picture);
  adw_window_set_content (ADW_WINDOW (window), box);
  gtk_window_set_title (GTK_WINDOW (window), title);
  gtk_window_set_modal (GTK_WINDOW (window), TRUE);
  gtk_window_set_transient_for (GTK_WINDOW (window), GTK_WINDOW (gtk_widget_get_root (GTK_WIDGET (self))));
  GtkEventController *keys = gtk_shortcut_controller_new ();
  gtk_shortcut_controller_add_shortcut (GTK_SHORTCUT_CONTROLLER (keys),
                                        gtk_shortcut_new (gtk_keyval_trigger_new (GDK_KEY_Escape, 0), gtk_named_action_new ("window.close")));
  gtk_widget_add_controller (window, keys);
  gtk_window_present (GTK_WINDOW (window));
}

/* Page. */

static gboolean
show_tools_cb (gpointer data)
{
  TnPageData *self = data;
  self->tools_idle = 0;
  gboolean folded = adw_leaflet_get_folded (ADW_LEAFLET (self->leaflet));
  gboolean on_form = adw_leaflet_get_visible_child (ADW_LEAFLET (self->leaflet)) == self->form_page;
  gtk_widget_set_visible (self->form_button, folded && !on_form);
  gtk_widget_set_visible (self->back_button, folded && on_form);
  gtk_widget_set_visible (self->views, !folded || !on_form);
  return G_SOURCE_REMOVE;
}

/* The leaflet folds while it is given its size, when nothing may be shown or hidden. */
static void
folded_cb (TnPageData *self)
{
  if (self->tools_idle == 0)
    self->tools_idle = g_idle_add_full (G_PRIORITY_HIGH_IDLE, show_tools_cb, self, NULL);
}

static void
show_form_cb (TnPageData *self)
{
  adw_leaflet_set_visible_child (ADW_LEAFLET (self->leaflet), self->form_page);
}

static void
show_main_cb (TnPageData *self)
{
  adw_leaflet_set_visible_child (ADW_LEAFLET (self->leaflet), self->main_page);
}

static GtkWidget *
icon_tool (TnPageData *self, const char *icon, const char *name, const char *id, const char *action)
{
  GtkWidget *button = gtk_button_new_from_icon_name (icon);
  gtk_widget_set_name (button, id);
  gtk_widget_set_tooltip_text (button, name);
  gtk_accessible_update_property (GTK_ACCESSIBLE (button), GTK_ACCESSIBLE_PROPERTY_LABEL, name, -1);
  if (action != NULL)
    gtk_actionable_set_action_name (GTK_ACTIONABLE (button), action);
  tn_page_add_tool (TN_PAGE (self), button);
  return button;
}

static void
build_tools (TnPageData *self)
{
  self->back_button = icon_tool (self, "go-previous-symbolic", _ ("Back to Samples"), "data_back_button", NULL);
  g_signal_connect_swapped (self->back_button, "clicked", G_CALLBACK (show_main_cb), self);
  self->views = tn_segmented_new (_ ("View"));
  gtk_widget_set_name (self->views, "data_view_buttons");
  tn_segmented_add (TN_SEGMENTED (self->views), "preview", _ ("Preview"));
  tn_segmented_add (TN_SEGMENTED (self->views), "classes", _ ("Classes"));
  tn_page_add_tool (TN_PAGE (self), self->views);
  self->form_button = icon_tool (self, "emblem-system-symbolic", _ ("Source and Split"), "data_form_button", NULL);
  g_signal_connect_swapped (self->form_button, "clicked", G_CALLBACK (show_form_cb), self);
  GtkWidget *space = gtk_box_new (GTK_ORIENTATION_HORIZONTAL, 0);
  gtk_widget_set_hexpand (space, TRUE);
  tn_page_add_tool (TN_PAGE (self), space);
  icon_tool (self, "action-unavailable-symbolic", _ ("Leave Out"), "data_exclude_button", "page.exclude");
  icon_tool (self, "view-refresh-symbolic", _ ("Re-scan"), "data_rescan_button", "page.rescan");
}

static void
tn_page_data_build (TnPage *page)
{
  TnPageData *self = TN_PAGE_DATA (page);
  build_tools (self);
  self->preview = tn_data_preview_new ();
  g_signal_connect (self->preview, "selected", G_CALLBACK (selected_cb), self);
  g_signal_connect (self->preview, "opened", G_CALLBACK (opened_cb), self);
  self->classes = tn_data_classes_new ();
  g_signal_connect (self->classes, "opened", G_CALLBACK (class_opened_cb), self);
  g_signal_connect (self->classes, "renamed", G_CALLBACK (renamed_cb), self);
  self->stack = gtk_stack_new ();
  gtk_widget_set_name (self->stack, "data_view_stack");
  gtk_stack_set_hhomogeneous (GTK_STACK (self->stack), FALSE);
  gtk_stack_add_named (GTK_STACK (self->stack), self->preview, "preview");
  gtk_stack_add_named (GTK_STACK (self->stack), self->classes, "classes");
  g_object_bind_property (self->views, "active-id", self->stack, "visible-child-name", G_BINDING_SYNC_CREATE);
  self->pane = tn_state_pane_new (self->stack);
  g_signal_connect_swapped (self->pane, "cancelled", G_CALLBACK (cancelled_cb), self);
  gtk_widget_set_vexpand (self->pane, TRUE);

  self->banner = tn_banner_new ();
  tn_banner_set_closable (TN_BANNER (self->banner), FALSE);
  GtkWidget *train = tn_banner_add_button (TN_BANNER (self->banner), _ ("_Train"), "win.train", NULL);
  gtk_widget_set_name (train, "data_train_button");
  gtk_widget_add_css_class (train, "suggested-action");
  self->main_page = gtk_box_new (GTK_ORIENTATION_VERTICAL, 0);
  gtk_widget_set_size_request (self->main_page, 320, -1);
  gtk_widget_set_hexpand (self->main_page, TRUE);
  gtk_box_append (GTK_BOX (self->main_page), self->banner);
  gtk_box_append (GTK_BOX (self->main_page), self->pane);

  self->form = tn_data_form_new ();
  gtk_widget_set_hexpand (self->form, FALSE);
  self->form_page = self->form;
  gtk_widget_set_size_request (self->form, 340, -1);
  self->leaflet = adw_leaflet_new ();
  adw_leaflet_append (ADW_LEAFLET (self->leaflet), self->form);
  adw_leaflet_set_can_navigate_back (ADW_LEAFLET (self->leaflet), FALSE);
  GtkWidget *separator = gtk_separator_new (GTK_ORIENTATION_VERTICAL);
  adw_leaflet_page_set_navigatable (adw_leaflet_append (ADW_LEAFLET (self->leaflet), separator), FALSE);
  adw_leaflet_append (ADW_LEAFLET (self->leaflet), self->main_page);
  adw_leaflet_set_visible_child (ADW_LEAFLET (self->leaflet), self->main_page);
  g_signal_connect_swapped (self->leaflet, "notify::folded", G_CALLBACK (folded_cb), self);
  g_signal_connect_swapped (self->leaflet, "notify::visible-child", G_CALLBACK (folded_cb), self);
  tn_page_set_content (page, self->leaflet);
  self->drawer = adw_bin_new ();
  tn_page_set_drawer (page, self->drawer);
  folded_cb (self);
}

static void
tn_page_data_document_changed (TnPage *page)
{
  TnPageData *self = TN_PAGE_DATA (page);
  tn_data_form_set_document (TN_DATA_FORM (self->form), tn_page_document (page));
  start_scan (self, FALSE);
}

static void
tn_page_data_edited (TnPage *page, const char *kind, const char *key)
{
  TnPageData *self = TN_PAGE_DATA (page);
  if (g_strcmp0 (kind, "setting") != 0)
    return;
  tn_data_form_update (TN_DATA_FORM (self->form));
  if (g_str_equal (key, "data.samples") || g_str_equal (key, "data.seed"))
    start_scan (self, TRUE);
  else if (g_str_equal (key, "data.source") || g_str_equal (key, "data.validation") || g_str_equal (key, "data.exclude")
           || g_str_equal (key, "data.class_names"))
    start_scan (self, FALSE);
}

static void
tn_page_data_selection_changed (TnPage *page, guint mask)
{
  TnPageData *self = TN_PAGE_DATA (page);
  const char *text = (mask & TN_SELECTION_SAMPLE) != 0 ? tn_selection_get_text (tn_page_selection (page), TN_SELECTION_SAMPLE) : NULL;
  const char *colon = text != NULL ? strchr (text, ':') : NULL;
  guint64 id;
  if (colon != NULL && self->scan != NULL && g_ascii_string_to_unsigned (colon + 1, 10, 0, (guint64) self->scan->dataset->n_samples - 1, &id, NULL))
    tn_data_preview_select (TN_DATA_PREVIEW (self->preview), (gint64) id);
}

static void
tn_page_data_width_changed (TnPage *page, TnWidthClass width)
{
  tn_data_preview_set_narrow (TN_DATA_PREVIEW (TN_PAGE_DATA (page)->preview), width == TN_WIDTH_COMPACT);
  tn_data_classes_set_narrow (TN_DATA_CLASSES (TN_PAGE_DATA (page)->classes), width == TN_WIDTH_COMPACT);
}

static guint
tn_page_data_verbs (TnPage *page)
{
  return 1u << TN_PAGE_RELOAD | 1u << TN_PAGE_FIND | 1u << TN_PAGE_NEXT_VIEW | 1u << TN_PAGE_PREVIOUS_VIEW | 1u << TN_PAGE_TABLE_TWIN;
}

static gboolean
tn_page_data_perform (TnPage *page, TnPageVerb verb)
{
  TnPageData *self = TN_PAGE_DATA (page);
  gboolean on_classes = g_strcmp0 (tn_segmented_get_active_id (TN_SEGMENTED (self->views)), "classes") == 0;
  switch (verb)
    {
    case TN_PAGE_RELOAD:
      start_scan (self, TRUE);
      return TRUE;
    case TN_PAGE_FIND:
      if (on_classes)
        tn_data_classes_focus_filter (TN_DATA_CLASSES (self->classes));
      else
        tn_data_preview_focus_filter (TN_DATA_PREVIEW (self->preview));
      return TRUE;
    case TN_PAGE_NEXT_VIEW:
      return tn_segmented_move (TN_SEGMENTED (self->views), 1);
    case TN_PAGE_PREVIOUS_VIEW:
      return tn_segmented_move (TN_SEGMENTED (self->views), -1);
    case TN_PAGE_TABLE_TWIN:
      return gtk_widget_child_focus (self->drawer, GTK_DIR_TAB_FORWARD);
    default:
      return FALSE;
    }
}

static const char *
tn_page_data_state (TnPage *page)
{
  return tn_state_pane_get_state (TN_STATE_PANE (TN_PAGE_DATA (page)->pane));
}

static void
tn_page_data_dispose (GObject *object)
{
  TnPageData *self = TN_PAGE_DATA (object);
  g_clear_handle_id (&self->tools_idle, g_source_remove);
  stop_scan (self);
  g_clear_pointer (&self->scan, tn_data_scan_unref);
  G_OBJECT_CLASS (tn_page_data_parent_class)->dispose (object);
}

static void
tn_page_data_class_init (TnPageDataClass *klass)
{
  TnPageClass *page_class = TN_PAGE_CLASS (klass);
  GtkWidgetClass *widget_class = GTK_WIDGET_CLASS (klass);
  G_OBJECT_CLASS (klass)->dispose = tn_page_data_dispose;
  page_class->build = tn_page_data_build;
  page_class->document_changed = tn_page_data_document_changed;
  page_class->edited = tn_page_data_edited;
  page_class->selection_changed = tn_page_data_selection_changed;
  page_class->width_changed = tn_page_data_width_changed;
  page_class->verbs = tn_page_data_verbs;
  page_class->perform = tn_page_data_perform;
  page_class->state = tn_page_data_state;
  gtk_widget_class_install_action (widget_class, "page.exclude", NULL, exclude_action);
  gtk_widget_class_install_action (widget_class, "page.rescan", NULL, rescan_action);
  gtk_widget_class_install_action (widget_class, "page.choose", NULL, choose_action);
}

static void
tn_page_data_init (TnPageData *self)
{
}

TnDataScan *
tn_page_data_scan (TnPageData *self)
{
  g_return_val_if_fail (TN_IS_PAGE_DATA (self), NULL);
  return self->scan;
}
