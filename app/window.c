/* SPDX-License-Identifier: Apache-2.0 */
#include "window-private.h"

#include <glib/gi18n.h>

#include "accelerators.h"
#include "application.h"
#include "banner.h"
#include "inspector.h"
#include "page-start.h"
#include "samples.h"
#include "selection-bar.h"
#include "session.h"
#include "sidebar.h"
#include "test-interface.h"

#define MAX_HISTORY 200

#define PREPARE_MS 400 /* between two pages that are made ahead */

G_DEFINE_FINAL_TYPE (TnWindow, tn_window, ADW_TYPE_APPLICATION_WINDOW)

/* Pages. */

TnPage *
tn_window_page (TnWindow *self, const char *id)
{
  return id != NULL ? (TnPage *) gtk_stack_get_child_by_name (GTK_STACK (self->page_stack), id) : NULL;
}

TnPage *
tn_window_visible_page (TnWindow *self)
{
  if (g_strcmp0 (gtk_stack_get_visible_child_name (GTK_STACK (self->root_stack)), "project") != 0)
    return NULL;
  return (TnPage *) gtk_stack_get_visible_child (GTK_STACK (self->page_stack));
}

static void
note_history (TnWindow *self, const char *id)
{
  if (self->walking || (self->history->len > 0 && g_ptr_array_index (self->history, self->history_at) == id))
    return;
  if (self->history->len > 0)
    g_ptr_array_set_size (self->history, (int) self->history_at + 1);
  g_ptr_array_add (self->history, (gpointer) id);
  if (self->history->len > MAX_HISTORY)
    g_ptr_array_remove_index (self->history, 0);
  self->history_at = self->history->len - 1;
}

void
tn_window_go (TnWindow *self, int by)
{
  int to = (int) self->history_at + by;
  if (to < 0 || to >= (int) self->history->len)
    return;
  self->history_at = (guint) to;
  self->walking = TRUE;
  tn_window_show_page (self, g_ptr_array_index (self->history, to));
  self->walking = FALSE;
}

void
tn_window_show_page (TnWindow *self, const char *id)
{
  g_return_if_fail (TN_IS_WINDOW (self));
  const TnPageInfo *info = tn_page_info_find (id);
  if (info == NULL || self->document == NULL)
    return;
  gtk_stack_set_visible_child_name (GTK_STACK (self->page_stack), id);
  gtk_stack_set_visible_child_name (GTK_STACK (self->root_stack), "project");
  tn_sidebar_select (TN_SIDEBAR (self->sidebar), id);
  note_history (self, info->id);
  if (adw_flap_get_folded (ADW_FLAP (self->sidebar_flap)))
    adw_flap_set_reveal_flap (ADW_FLAP (self->sidebar_flap), FALSE);
  tn_window_update_header (self);
  tn_window_update_actions (self);
  tn_session_changed (self);
}

void
tn_window_show_start (TnWindow *self)
{
  g_return_if_fail (TN_IS_WINDOW (self));
  tn_page_start_refresh (TN_PAGE_START (self->start));
  gtk_stack_set_visible_child_name (GTK_STACK (self->root_stack), "start");
  tn_window_update_header (self);
  tn_window_update_actions (self);
}

static void
sidebar_chosen_cb (TnSidebar *sidebar, const char *id, TnWindow *self)
{
  tn_window_show_page (self, id);
}

static void
badge_changed_cb (TnPage *page, TnWindow *self)
{
  tn_sidebar_set_badge (TN_SIDEBAR (self->sidebar), tn_page_info (page)->id, tn_page_badge (page), tn_page_badge_explanation (page));
}

static void
page_toast_cb (TnPage *page, const char *text, TnWindow *self)
{
  tn_window_toast (self, text);
}

static void
make_pages (TnWindow *self)
{
  for (const TnPageInfo *info = tn_pages; info->id != NULL; info++)
    {
      TnPage *page = g_object_new (info->get_type (), NULL);
      tn_page_set_context (page, info, self->selection, self->control);
      gtk_stack_add_named (GTK_STACK (self->page_stack), GTK_WIDGET (page), info->id);
      g_ptr_array_add (self->pages, page);
      g_signal_connect_object (page, "verbs-changed", G_CALLBACK (tn_window_update_actions), self, G_CONNECT_SWAPPED);
      g_signal_connect_object (page, "badge-changed", G_CALLBACK (badge_changed_cb), self, 0);
      g_signal_connect_object (page, "toast", G_CALLBACK (page_toast_cb), self, 0);
      tn_sidebar_add (TN_SIDEBAR (self->sidebar), info);
    }
}

/* Width. */

static void
apply_width (TnWindow *self)
{
  TnWidthClass width = tn_adaptive_bin_get_width_class (TN_ADAPTIVE_BIN (self->adaptive));
  gboolean fold_sidebar = width == TN_WIDTH_COMPACT, fold_inspector = !tn_adaptive_bin_is_roomy (TN_ADAPTIVE_BIN (self->adaptive));
  AdwFlap *sidebar = ADW_FLAP (self->sidebar_flap), *inspector = ADW_FLAP (self->inspector_flap);
  if (!adw_flap_get_folded (sidebar) && self->document != NULL)
    self->wish_sidebar = adw_flap_get_reveal_flap (sidebar);
  if (!adw_flap_get_folded (inspector) && self->document != NULL)
    self->wish_inspector = adw_flap_get_reveal_flap (inspector);
  self->width = width;
  adw_flap_set_fold_policy (sidebar, fold_sidebar ? ADW_FLAP_FOLD_POLICY_ALWAYS : ADW_FLAP_FOLD_POLICY_NEVER);
  adw_flap_set_fold_policy (inspector, fold_inspector ? ADW_FLAP_FOLD_POLICY_ALWAYS : ADW_FLAP_FOLD_POLICY_NEVER);
  adw_flap_set_reveal_flap (sidebar, !fold_sidebar && self->wish_sidebar);
  adw_flap_set_reveal_flap (inspector, !fold_inspector && self->wish_inspector);
  for (guint i = 0; i < self->pages->len; i++)
    tn_page_set_width (g_ptr_array_index (self->pages, i), width);
  tn_page_start_set_width (TN_PAGE_START (self->start), width);
  if (width == TN_WIDTH_COMPACT)
    gtk_widget_add_css_class (GTK_WIDGET (self), "compact");
  else
    gtk_widget_remove_css_class (GTK_WIDGET (self), "compact");
  tn_window_place_header (self);
}

/* One folded pane is open at a time. */
static void
revealed_cb (AdwFlap *flap, GParamSpec *spec, TnWindow *self)
{
  AdwFlap *other = ADW_FLAP (flap == ADW_FLAP (self->sidebar_flap) ? self->inspector_flap : self->sidebar_flap);
  if (adw_flap_get_reveal_flap (flap) && adw_flap_get_folded (flap) && adw_flap_get_folded (other))
    adw_flap_set_reveal_flap (other, FALSE);
}

/* Document. */

static void
document_failed_cb (TnDocument *document, GError *error, TnWindow *self)
{
  tn_window_show_error (self, error);
}

static void
changed_elsewhere_cb (TnDocument *document, TnWindow *self)
{
  tn_window_show_banner (self, GTK_MESSAGE_WARNING,
                         _("Another window saved this project with other values. Take them, or save a copy of yours."), _("Take Theirs"), "win.take-theirs");
}

TnDocument *
tn_window_document (TnWindow *self)
{
  return self->document;
}

TnRunControl *
tn_window_control (TnWindow *self)
{
  return self->control;
}

TnSelection *
tn_window_selection (TnWindow *self)
{
  return self->selection;
}

gboolean
tn_window_is_busy (TnWindow *self)
{
  return self->document != NULL && (tn_document_can_undo (self->document) || tn_run_word_is_live (tn_run_control_line (self->control)->word));
}

/* One page at a time is made before it is asked for, with pauses in which input is answered. */
static gboolean
prepare_cb (gpointer data)
{
  TnWindow *self = data;
  for (guint i = 0; i < self->pages->len; i++)
    if (tn_page_prepare (g_ptr_array_index (self->pages, i)))
      return G_SOURCE_CONTINUE;
  self->prepare_timer = 0;
  return G_SOURCE_REMOVE;
}

void
tn_window_set_document (TnWindow *self, TnDocument *document)
{
  g_return_if_fail (TN_IS_WINDOW (self));
  if (self->document == document)
    return;
  if (self->document != NULL)
    {
      g_signal_handlers_disconnect_by_data (self->document, self);
      if (tn_document_is_dirty (self->document))
        tn_document_save_async (self->document, NULL, NULL);
    }
  g_set_object (&self->document, document);
  tn_selection_clear_all (self->selection);
  tn_banner_hide (TN_BANNER (self->banner));
  tn_run_control_set_document (self->control, document);
  for (guint i = 0; i < self->pages->len; i++)
    tn_page_set_document (g_ptr_array_index (self->pages, i), document);
  tn_sidebar_set_document (TN_SIDEBAR (self->sidebar), document);
  g_ptr_array_set_size (self->history, 0);
  self->history_at = 0;
  if (document == NULL)
    {
      tn_window_show_start (self);
      tn_session_changed (self);
      return;
    }
  tn_document_set_autosave (document, g_settings_get_uint (tn_application_settings (), "autosave-seconds"));
  g_signal_connect_object (document, "save-failed", G_CALLBACK (document_failed_cb), self, 0);
  g_signal_connect_object (document, "changed-elsewhere", G_CALLBACK (changed_elsewhere_cb), self, 0);
  g_signal_connect_object (document, "notify", G_CALLBACK (tn_window_update_header), self, G_CONNECT_SWAPPED);
  g_signal_connect_object (document, "notify", G_CALLBACK (tn_window_update_actions), self, G_CONNECT_SWAPPED);
  g_signal_connect_object (document, "edited", G_CALLBACK (tn_window_update_header), self, G_CONNECT_SWAPPED);
  if (tn_document_is_read_only (document))
    tn_window_show_banner (self, GTK_MESSAGE_INFO, _("This project is read-only. Changes go to a copy."), _("Save a Copy…"), "win.save-copy");
  adw_flap_set_reveal_flap (ADW_FLAP (self->sidebar_flap), self->width != TN_WIDTH_COMPACT && self->wish_sidebar);
  adw_flap_set_reveal_flap (ADW_FLAP (self->inspector_flap), tn_adaptive_bin_is_roomy (TN_ADAPTIVE_BIN (self->adaptive)) && self->wish_inspector);
  if (self->train_when_ready)
    tn_run_control_train (self->control, NULL); /* before its page is built: it starts meanwhile */
  tn_window_show_page (self, tn_page_info_find ("data") != NULL && !self->train_when_ready ? "data" : "train");
  self->train_when_ready = FALSE;
  tn_application_note_project (tn_document_path (document));
  if (self->prepare_timer == 0)
    self->prepare_timer = g_timeout_add_full (G_PRIORITY_LOW, PREPARE_MS, prepare_cb, self, NULL);
}

static void
sample_ready_cb (GObject *source, GAsyncResult *result, gpointer data)
{
  g_autoptr (TnWindow) self = data;
  g_autoptr (GError) error = NULL;
  g_autoptr (TnDocument) document = tn_sample_create_finish (result, &error);
  if (document == NULL)
    {
      self->train_when_ready = FALSE;
      tn_window_show_error (self, error);
      return;
    }
  tn_window_set_document (self, document);
}

void
tn_window_start_sample (TnWindow *self, const char *sample, gboolean train)
{
  g_return_if_fail (TN_IS_WINDOW (self));
  if (tn_window_is_busy (self))
    {
      self = tn_window_new (gtk_window_get_application (GTK_WINDOW (self)));
      gtk_window_present (GTK_WINDOW (self));
    }
  self->train_when_ready = train;
  g_autofree char *folder = tn_application_projects_folder ();
  tn_sample_create_async (sample, folder, sample_ready_cb, g_object_ref (self));
}

/* News. */

void
tn_window_toast (TnWindow *self, const char *text)
{
  AdwToast *toast = adw_toast_new (text);
  adw_toast_set_timeout (toast, 4);
  adw_toast_overlay_add_toast (ADW_TOAST_OVERLAY (self->toasts), toast);
}

void
tn_window_toast_action (TnWindow *self, const char *text, const char *button, const char *action)
{
  AdwToast *toast = adw_toast_new (text);
  adw_toast_set_timeout (toast, 10);
  adw_toast_set_button_label (toast, button);
  adw_toast_set_detailed_action_name (toast, action);
  adw_toast_overlay_add_toast (ADW_TOAST_OVERLAY (self->toasts), toast);
}

void
tn_window_show_banner (TnWindow *self, GtkMessageType type, const char *text, const char *button, const char *action)
{
  tn_banner_clear_buttons (TN_BANNER (self->banner));
  if (button != NULL)
    tn_banner_add_button (TN_BANNER (self->banner), button, action, NULL);
  tn_banner_show (TN_BANNER (self->banner), type, text);
}

void
tn_window_show_error (TnWindow *self, const GError *error)
{
  if (error != NULL && !g_error_matches (error, G_IO_ERROR, G_IO_ERROR_CANCELLED))
    tn_window_show_banner (self, GTK_MESSAGE_ERROR, error->message, NULL, NULL);
}

static void
control_failed_cb (TnRunControl *control, GError *error, TnWindow *self)
{
  tn_window_show_error (self, error);
}

static void
control_changed_cb (TnRunControl *control, TnWindow *self)
{
  tn_window_update_header (self);
  tn_window_update_actions (self);
  tn_window_follow_run (self);
}

static void
selection_changed_cb (TnSelection *selection, guint mask, TnWindow *self)
{
  tn_window_update_actions (self);
}

/* Class. */

static gboolean
close_request (GtkWindow *window)
{
  return tn_window_close_request (TN_WINDOW (window)) || GTK_WINDOW_CLASS (tn_window_parent_class)->close_request (window);
}

static void
tn_window_realize (GtkWidget *widget)
{
  GTK_WIDGET_CLASS (tn_window_parent_class)->realize (widget);
  if (tn_application_is_test ())
    tn_test_interface_export (TN_WINDOW (widget));
}

static void
tn_window_dispose (GObject *object)
{
  TnWindow *self = TN_WINDOW (object);
  g_clear_handle_id (&self->status_timer, g_source_remove);
  g_clear_handle_id (&self->prepare_timer, g_source_remove);
  if (self->document != NULL)
    g_signal_handlers_disconnect_by_data (self->document, self);
  if (self->control != NULL)
    {
      g_signal_handlers_disconnect_by_data (self->control, self);
      tn_run_control_set_document (self->control, NULL);
    }
  g_clear_object (&self->control);
  g_clear_object (&self->document);
  g_clear_object (&self->selection);
  g_clear_object (&self->train_menu);
  G_OBJECT_CLASS (tn_window_parent_class)->dispose (object);
}

static void
tn_window_finalize (GObject *object)
{
  TnWindow *self = TN_WINDOW (object);
  g_ptr_array_unref (self->pages);
  g_ptr_array_unref (self->history);
  G_OBJECT_CLASS (tn_window_parent_class)->finalize (object);
}

static void
tn_window_class_init (TnWindowClass *class)
{
  G_OBJECT_CLASS (class)->dispose = tn_window_dispose;
  G_OBJECT_CLASS (class)->finalize = tn_window_finalize;
  GTK_WIDGET_CLASS (class)->realize = tn_window_realize;
  GTK_WINDOW_CLASS (class)->close_request = close_request;
}

static GtkWidget *
make_flap (const char *name, GtkPackType position, GtkWidget *flap, GtkWidget *content)
{
  GtkWidget *widget = adw_flap_new ();
  gtk_widget_set_name (widget, name);
  adw_flap_set_flap_position (ADW_FLAP (widget), position);
  adw_flap_set_locked (ADW_FLAP (widget), TRUE);
  adw_flap_set_swipe_to_open (ADW_FLAP (widget), FALSE);
  adw_flap_set_flap (ADW_FLAP (widget), flap);
  adw_flap_set_content (ADW_FLAP (widget), content);
  adw_flap_set_separator (ADW_FLAP (widget), gtk_separator_new (GTK_ORIENTATION_VERTICAL));
  return widget;
}

static GtkWidget *
make_project (TnWindow *self)
{
  self->sidebar = tn_sidebar_new ();
  gtk_widget_set_size_request (self->sidebar, 200, -1);
  self->inspector = tn_inspector_new (self);
  gtk_widget_set_size_request (self->inspector, 320, -1);
  gtk_widget_set_hexpand (self->sidebar, FALSE); /* what expands inside must not widen the pane */
  gtk_widget_set_hexpand (self->inspector, FALSE);
  self->page_stack = gtk_stack_new ();
  gtk_widget_set_name (self->page_stack, "page_stack");
  self->inspector_flap = make_flap ("inspector_flap", GTK_PACK_END, self->inspector, self->page_stack);
  self->sidebar_flap = make_flap ("sidebar_flap", GTK_PACK_START, self->sidebar, self->inspector_flap);
  g_signal_connect (self->sidebar_flap, "notify::reveal-flap", G_CALLBACK (revealed_cb), self);
  g_signal_connect (self->inspector_flap, "notify::reveal-flap", G_CALLBACK (revealed_cb), self);
  g_signal_connect_object (self->sidebar, "chosen", G_CALLBACK (sidebar_chosen_cb), self, 0);
  return self->sidebar_flap;
}

static void
build (TnWindow *self)
{
  GtkWidget *box = gtk_box_new (GTK_ORIENTATION_VERTICAL, 0);
  self->adaptive = tn_adaptive_bin_new ();
  self->toasts = adw_toast_overlay_new ();
  self->root_stack = gtk_stack_new ();
  gtk_widget_set_name (self->root_stack, "root_stack");
  gtk_widget_set_vexpand (self->root_stack, TRUE);
  self->banner = tn_banner_new ();
  gtk_widget_set_name (self->banner, "root_banner");
  self->status_label = g_object_new (GTK_TYPE_LABEL, "accessible-role", GTK_ACCESSIBLE_ROLE_STATUS, "name", "status_label", "visible", FALSE, NULL);
  self->start = tn_page_start_new ();
  self->selection_bar = tn_selection_bar_new (self->selection);
  self->action_bar = gtk_action_bar_new ();
  gtk_widget_set_name (self->action_bar, "root_action_bar");

  tn_window_build_header (self);
  GtkWidget *project = make_project (self);
  gtk_stack_add_named (GTK_STACK (self->root_stack), self->start, "start");
  gtk_stack_add_named (GTK_STACK (self->root_stack), project, "project");
  GtkWidget *const children[] = { self->header, self->banner, self->status_label, self->root_stack, self->selection_bar, self->action_bar };
  for (guint i = 0; i < G_N_ELEMENTS (children); i++)
    gtk_box_append (GTK_BOX (box), children[i]);
  adw_toast_overlay_set_child (ADW_TOAST_OVERLAY (self->toasts), box);
  GtkWidget *overlay = gtk_overlay_new ();
  gtk_overlay_set_child (GTK_OVERLAY (overlay), self->toasts);
  self->drop_overlay = gtk_label_new (NULL);
  gtk_widget_set_name (self->drop_overlay, "root_drop_label");
  gtk_widget_add_css_class (self->drop_overlay, "drop-overlay");
  gtk_widget_add_css_class (self->drop_overlay, "title-1");
  gtk_widget_set_can_target (self->drop_overlay, FALSE);
  gtk_widget_set_visible (self->drop_overlay, FALSE);
  gtk_label_set_wrap (GTK_LABEL (self->drop_overlay), TRUE);
  gtk_overlay_add_overlay (GTK_OVERLAY (overlay), self->drop_overlay);
  tn_adaptive_bin_set_child (TN_ADAPTIVE_BIN (self->adaptive), overlay);
  adw_application_window_set_content (ADW_APPLICATION_WINDOW (self), self->adaptive);
  g_signal_connect_object (self->adaptive, "notify::width-class", G_CALLBACK (apply_width), self, G_CONNECT_SWAPPED);
}

static void
tn_window_init (TnWindow *self)
{
  self->selection = tn_selection_new ();
  self->control = tn_run_control_new ();
  self->pages = g_ptr_array_new ();
  self->history = g_ptr_array_new ();
  gtk_widget_set_name (GTK_WIDGET (self), "root_window");
  gtk_window_set_title (GTK_WINDOW (self), "Tenon");
  if (tn_application_is_test ())
    gtk_widget_add_css_class (GTK_WIDGET (self), "tenon-test");

  GSettings *settings = tn_application_settings ();
  gtk_window_set_default_size (GTK_WINDOW (self), g_settings_get_int (settings, "window-width"), g_settings_get_int (settings, "window-height"));
  if (g_settings_get_boolean (settings, "window-maximized"))
    gtk_window_maximize (GTK_WINDOW (self));
  self->wish_sidebar = g_settings_get_boolean (settings, "sidebar-visible");
  self->wish_inspector = g_settings_get_boolean (settings, "inspector-visible");
  self->width = TN_WIDTH_WIDE;

  build (self);
  make_pages (self);
  tn_window_install_actions (self);
  tn_accelerators_add_local (GTK_WIDGET (self));
  tn_window_accept_drops (self);
  g_signal_connect_object (self->control, "changed", G_CALLBACK (control_changed_cb), self, 0);
  g_signal_connect_object (self->control, "run-changed", G_CALLBACK (control_changed_cb), self, 0);
  g_signal_connect_object (self->control, "failed", G_CALLBACK (control_failed_cb), self, 0);
  g_signal_connect_object (self->selection, "changed", G_CALLBACK (selection_changed_cb), self, 0);
  apply_width (self);
  tn_window_show_start (self);
}

TnWindow *
tn_window_new (GtkApplication *application)
{
  TnWindow *self = g_object_new (TN_TYPE_WINDOW, "application", application, NULL);
  /* Help overlay after the action group exists, so that Ctrl+? works without building it at start. */
  return self;
}
