/* SPDX-License-Identifier: Apache-2.0 */
#include "window-private.h"

#include <glib/gi18n.h>

#include "application.h"
#include "session.h"

/* Closing, and what the desktop is told about the run. */

typedef enum
{
  CLOSE_ASK,
  CLOSE_KEEP,
  CLOSE_STOP
} OnClose;

static void
close_now (TnWindow *self)
{
  self->closing = TRUE;
  gtk_window_close (GTK_WINDOW (self));
}

static void
saved_cb (GObject *source, GAsyncResult *result, gpointer data)
{
  g_autoptr (TnWindow) self = data;
  g_autoptr (GError) error = NULL;
  if (tn_document_save_finish (TN_DOCUMENT (source), result, &error))
    close_now (self);
  else
    tn_window_show_error (self, error); /* stays open: nothing is lost unseen */
}

/* TRUE where closing waits for the save. */
static gboolean
save_first (TnWindow *self)
{
  if (self->document == NULL || !tn_document_is_dirty (self->document))
    return FALSE;
  tn_document_save_async (self->document, saved_cb, g_object_ref (self));
  return TRUE;
}

/* Not from within the dialog's answer: it is over the window until that is done. */
static gboolean
close_idle (gpointer data)
{
  TnWindow *self = data;
  if (!save_first (self))
    close_now (self);
  return G_SOURCE_REMOVE;
}

static void
response_cb (AdwMessageDialog *dialog, const char *response, TnWindow *self)
{
  GtkWidget *always = adw_message_dialog_get_extra_child (dialog);
  if (g_str_equal (response, "cancel"))
    return;
  gboolean keep = g_str_equal (response, "keep");
  if (gtk_check_button_get_active (GTK_CHECK_BUTTON (always)))
    g_settings_set_enum (tn_application_settings (), "on-close", keep ? CLOSE_KEEP : CLOSE_STOP);
  if (!keep)
    tn_run_control_stop (self->control);
  g_timeout_add_full (G_PRIORITY_DEFAULT, 200, close_idle, g_object_ref (self), g_object_unref);
}

static void
ask (TnWindow *self)
{
  GtkWidget *dialog = adw_message_dialog_new (GTK_WINDOW (self), _("Keep Training?"),
                                              _("The training can go on without this window. Open the project again to see its whole curve."));
  GtkWidget *always = gtk_check_button_new_with_mnemonic (_("_Always do this"));
  gtk_widget_set_name (dialog, "close_dialog");
  gtk_widget_set_name (always, "close_always_toggle");
  gtk_widget_set_halign (always, GTK_ALIGN_CENTER);
  adw_message_dialog_set_extra_child (ADW_MESSAGE_DIALOG (dialog), always);
  adw_message_dialog_add_responses (ADW_MESSAGE_DIALOG (dialog), "cancel", _("_Cancel"), "stop", _("_Stop and Save"), "keep", _("_Keep Training"), NULL);
  adw_message_dialog_set_response_appearance (ADW_MESSAGE_DIALOG (dialog), "keep", ADW_RESPONSE_SUGGESTED);
  adw_message_dialog_set_default_response (ADW_MESSAGE_DIALOG (dialog), "keep");
  adw_message_dialog_set_close_response (ADW_MESSAGE_DIALOG (dialog), "cancel");
  g_signal_connect_object (dialog, "response", G_CALLBACK (response_cb), self, 0);
  gtk_window_present (GTK_WINDOW (dialog));
}

static void
remember_size (TnWindow *self)
{
  GSettings *settings = tn_application_settings ();
  int width, height;
  gtk_window_get_default_size (GTK_WINDOW (self), &width, &height);
  gboolean maximized = gtk_window_is_maximized (GTK_WINDOW (self));
  g_settings_set_boolean (settings, "window-maximized", maximized);
  if (maximized)
    return;
  g_settings_set_int (settings, "window-width", CLAMP (width, TN_ADAPTIVE_MIN_WIDTH, 16384));
  g_settings_set_int (settings, "window-height", CLAMP (height, TN_ADAPTIVE_MIN_HEIGHT, 16384));
}

gboolean
tn_window_close_request (TnWindow *self)
{
  gboolean live = tn_run_word_is_live (tn_run_control_line (self->control)->word);
  int on_close = g_settings_get_enum (tn_application_settings (), "on-close");
  if (!self->closing && live && on_close == CLOSE_ASK)
    {
      ask (self);
      return TRUE;
    }
  if (!self->closing && live && on_close == CLOSE_STOP)
    tn_run_control_stop (self->control);
  if (!self->closing && save_first (self))
    return TRUE;
  remember_size (self);
  tn_session_save (self);
  return FALSE;
}

/* Notifications and sleep. */

static void
notify_end (TnWindow *self, TnRunWord word)
{
  GSettings *settings = tn_application_settings ();
  double seconds = (double) (g_get_monotonic_time () - self->run_started_us) / G_USEC_PER_SEC;
  if (gtk_window_is_active (GTK_WINDOW (self)) || !g_settings_get_boolean (settings, "notify-on-end") || self->document == NULL
      || (word == TN_WORD_FINISHED && seconds < g_settings_get_uint (settings, "notify-min-seconds")))
    return;
  g_autofree char *title = g_strdup_printf ("%s: %s", tn_document_name (self->document), tn_run_word_label (word));
  g_autofree char *body = tn_run_control_line_text (self->control);
  g_autoptr (GNotification) notification = g_notification_new (title);
  g_notification_set_body (notification, body);
  g_notification_set_default_action_and_target (notification, "app.show-run", "s", tn_document_path (self->document));
  g_application_send_notification (G_APPLICATION (gtk_window_get_application (GTK_WINDOW (self))), tn_document_path (self->document), notification);
}

static void
inhibit (TnWindow *self, gboolean live)
{
  GtkApplication *application = gtk_window_get_application (GTK_WINDOW (self));
  if (application == NULL)
    return;
  gboolean wanted = live && g_settings_get_boolean (tn_application_settings (), "inhibit-suspend") && !tn_application_is_test ();
  if (wanted && self->inhibit_cookie == 0)
    {
      self->inhibit_cookie = gtk_application_inhibit (application, GTK_WINDOW (self), GTK_APPLICATION_INHIBIT_SUSPEND, _("A network is being trained"));
      if (self->inhibit_cookie == 0)
        tn_window_toast (self, _("The computer may go to sleep while training"));
    }
  else if (!wanted && self->inhibit_cookie != 0)
    {
      gtk_application_uninhibit (application, self->inhibit_cookie);
      self->inhibit_cookie = 0;
    }
}

void
tn_window_follow_run (TnWindow *self)
{
  TnRunWord word = tn_run_control_line (self->control)->word;
  if (word == self->last_word)
    return;
  gboolean was_live = tn_run_word_is_live (self->last_word), live = tn_run_word_is_live (word);
  if (live && !was_live)
    self->run_started_us = g_get_monotonic_time ();
  if (word == TN_WORD_SILENT || (was_live && (word == TN_WORD_FINISHED || word == TN_WORD_FAILED || word == TN_WORD_LOST)))
    notify_end (self, word);
  if (live != was_live)
    inhibit (self, live);
  self->last_word = word;
}
