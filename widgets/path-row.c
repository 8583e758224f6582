/* SPDX-License-Identifier: Apache-2.0 */
#include "path-row.h"

#include <glib/gi18n.h>
#include <string.h>

struct _TnPathRow
{
  AdwActionRow parent_instance;
  GtkWidget *box, *entry, *button;
  GtkFileChooserAction action;
  GtkFileChooserNative *dialog; /* while open */
  GtkFileFilter *filter;
  GCancellable *check; /* of the look that goes on */
  char *path;          /* in force */
  char *folder;
};

static void row_iface_init (TnRowInterface *iface);

G_DEFINE_FINAL_TYPE_WITH_CODE (TnPathRow, tn_path_row, ADW_TYPE_ACTION_ROW, G_IMPLEMENT_INTERFACE (TN_TYPE_ROW, row_iface_init))

static void
accept (TnPathRow *self, const char *path)
{
  tn_row_set_error (TN_ROW (self), NULL);
  if (strcmp (path, self->path) == 0)
    return;
  g_free (self->path);
  self->path = g_strdup (path);
  tn_row_emit_edited (TN_ROW (self));
}

static char *
what_is_wrong (TnPathRow *self, GFileInfo *info, const char *path, const GError *error)
{
  if (info == NULL && g_error_matches (error, G_IO_ERROR, G_IO_ERROR_NOT_FOUND))
    return self->action == GTK_FILE_CHOOSER_ACTION_SAVE ? g_strdup_printf (_ ("The folder of “%s” does not exist. Choose another."), path)
                                                        : g_strdup_printf (_ ("“%s” does not exist. Choose another."), path);
  if (info == NULL)
    return g_strdup_printf (_ ("“%s” cannot be read: %s"), path, error->message);
  gboolean is_folder = g_file_info_get_file_type (info) == G_FILE_TYPE_DIRECTORY;
  if (self->action == GTK_FILE_CHOOSER_ACTION_SELECT_FOLDER && !is_folder)
    return g_strdup_printf (_ ("“%s” is a file. A folder is needed here."), path);
  if (self->action == GTK_FILE_CHOOSER_ACTION_OPEN && is_folder)
    return g_strdup_printf (_ ("“%s” is a folder. A file is needed here."), path);
  return NULL;
}

static void
info_cb (GObject *file, GAsyncResult *result, gpointer data)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (GFileInfo) info = g_file_query_info_finish (G_FILE (file), result, &error);
  if (g_error_matches (error, G_IO_ERROR, G_IO_ERROR_CANCELLED))
    return; /* perhaps the row is gone */
  TnPathRow *self = TN_PATH_ROW (data);
  g_clear_object (&self->check);
  const char *path = gtk_editable_get_text (GTK_EDITABLE (self->entry));
  g_autofree char *wrong = what_is_wrong (self, info, path, error);
  if (wrong != NULL)
    tn_row_set_error (TN_ROW (self), wrong);
  else
    accept (self, path);
}

static GFile *
file_of (TnPathRow *self, const char *path)
{
  if (g_path_is_absolute (path) || self->folder == NULL)
    return g_file_new_for_path (path);
  g_autofree char *full = g_build_filename (self->folder, path, NULL);
  return g_file_new_for_path (full);
}

static void
stop_check (TnPathRow *self)
{
  if (self->check != NULL)
    g_cancellable_cancel (self->check);
  g_clear_object (&self->check);
}

static void
commit (TnPathRow *self)
{
  const char *path = gtk_editable_get_text (GTK_EDITABLE (self->entry));
  if (*path == '\0' || strcmp (path, self->path) == 0)
    {
      stop_check (self);
      accept (self, path);
      return;
    }
  stop_check (self);
  self->check = g_cancellable_new ();
  g_autoptr (GFile) file = file_of (self, path);
  if (self->action == GTK_FILE_CHOOSER_ACTION_SAVE)
    {
      GFile *parent = g_file_get_parent (file);
      if (parent != NULL)
        {
          g_object_unref (file);
          file = parent;
        }
    }
  g_file_query_info_async (file, G_FILE_ATTRIBUTE_STANDARD_TYPE, G_FILE_QUERY_INFO_NONE, G_PRIORITY_DEFAULT, self->check, info_cb,
                           self);
}

static void
take_file (TnPathRow *self, GFile *file)
{
  g_autofree char *path = g_file_get_path (file);
  if (path == NULL)
    {
      tn_row_set_error (TN_ROW (self), _ ("Only files of this computer can be used here."));
      return;
    }
  gtk_editable_set_text (GTK_EDITABLE (self->entry), path);
  commit (self);
}

static void
response_cb (GtkNativeDialog *dialog, int response, TnPathRow *self)
{
  g_autoptr (GFile) file = response == GTK_RESPONSE_ACCEPT ? gtk_file_chooser_get_file (GTK_FILE_CHOOSER (dialog)) : NULL;
  g_clear_object (&self->dialog);
  if (file != NULL)
    take_file (self, file);
}

void
tn_path_row_choose (TnPathRow *self)
{
  g_return_if_fail (TN_IS_PATH_ROW (self));
  if (self->dialog != NULL)
    return;
  GtkRoot *root = gtk_widget_get_root (GTK_WIDGET (self));
  self->dialog = gtk_file_chooser_native_new (adw_preferences_row_get_title (ADW_PREFERENCES_ROW (self)),
                                              GTK_IS_WINDOW (root) ? GTK_WINDOW (root) : NULL, self->action, NULL, NULL);
  if (self->filter != NULL)
    {
      g_autoptr (GtkFileFilter) all = gtk_file_filter_new ();
      gtk_file_filter_set_name (all, _ ("All Files"));
      gtk_file_filter_add_pattern (all, "*");
      gtk_file_chooser_add_filter (GTK_FILE_CHOOSER (self->dialog), self->filter);
      gtk_file_chooser_add_filter (GTK_FILE_CHOOSER (self->dialog), all);
    }
  if (self->folder != NULL)
    {
      g_autoptr (GFile) folder = g_file_new_for_path (self->folder);
      gtk_file_chooser_set_current_folder (GTK_FILE_CHOOSER (self->dialog), folder, NULL);
    }
  g_signal_connect_object (self->dialog, "response", G_CALLBACK (response_cb), self, 0);
  gtk_native_dialog_show (GTK_NATIVE_DIALOG (self->dialog));
}

static gboolean
drop_cb (GtkDropTarget *target, const GValue *value, double x, double y, TnPathRow *self)
{
  if (!G_VALUE_HOLDS (value, GDK_TYPE_FILE_LIST))
    return FALSE;
  GSList *files = g_value_get_boxed (value);
  if (files == NULL)
    return FALSE;
  take_file (self, files->data);
  return TRUE;
}

static void
changed_cb (TnPathRow *self)
{
  tn_row_set_error (TN_ROW (self), NULL);
}

static char *
get_text (TnRow *row)
{
  return g_strdup (TN_PATH_ROW (row)->path);
}

static void
set_text (TnRow *row, const char *text)
{
  TnPathRow *self = TN_PATH_ROW (row);
  stop_check (self);
  char *copy = g_strdup (text != NULL ? text : "");
  g_free (self->path);
  self->path = copy;
  gtk_editable_set_text (GTK_EDITABLE (self->entry), copy);
}

static GtkWidget *
get_control (TnRow *row)
{
  return TN_PATH_ROW (row)->entry;
}

static void
row_iface_init (TnRowInterface *iface)
{
  iface->get_text = get_text;
  iface->set_text = set_text;
  iface->get_control = get_control;
}

static void
tn_path_row_dispose (GObject *object)
{
  TnPathRow *self = TN_PATH_ROW (object);
  stop_check (self);
  if (self->dialog != NULL)
    gtk_native_dialog_destroy (GTK_NATIVE_DIALOG (self->dialog));
  g_clear_object (&self->dialog);
  g_clear_object (&self->filter);
  G_OBJECT_CLASS (tn_path_row_parent_class)->dispose (object);
}

static void
tn_path_row_finalize (GObject *object)
{
  TnPathRow *self = TN_PATH_ROW (object);
  g_free (self->path);
  g_free (self->folder);
  G_OBJECT_CLASS (tn_path_row_parent_class)->finalize (object);
}

static void
tn_path_row_class_init (TnPathRowClass *klass)
{
  G_OBJECT_CLASS (klass)->dispose = tn_path_row_dispose;
  G_OBJECT_CLASS (klass)->finalize = tn_path_row_finalize;
}

static void
title_cb (TnPathRow *self)
{
  g_autofree char *label = g_strdup_printf (_ ("Choose %s"), adw_preferences_row_get_title (ADW_PREFERENCES_ROW (self)));
  gtk_widget_set_tooltip_text (self->button, label);
  gtk_accessible_update_property (GTK_ACCESSIBLE (self->button), GTK_ACCESSIBLE_PROPERTY_LABEL, label, -1);
}

static void
tn_path_row_init (TnPathRow *self)
{
  self->path = g_strdup ("");
  self->entry = gtk_entry_new ();
  gtk_editable_set_width_chars (GTK_EDITABLE (self->entry), 8);
  gtk_editable_set_max_width_chars (GTK_EDITABLE (self->entry), 22);
  g_signal_connect_swapped (self->entry, "activate", G_CALLBACK (commit), self);
  g_signal_connect_swapped (self->entry, "changed", G_CALLBACK (changed_cb), self);
  GtkEventController *focus = gtk_event_controller_focus_new ();
  g_signal_connect_swapped (focus, "leave", G_CALLBACK (commit), self);
  gtk_widget_add_controller (self->entry, focus);
  self->button = gtk_button_new_from_icon_name ("document-open-symbolic");
  g_signal_connect_swapped (self->button, "clicked", G_CALLBACK (tn_path_row_choose), self);
  self->box = gtk_box_new (GTK_ORIENTATION_HORIZONTAL, 0);
  gtk_widget_add_css_class (self->box, "linked");
  gtk_box_append (GTK_BOX (self->box), self->entry);
  gtk_box_append (GTK_BOX (self->box), self->button);
  tn_row_setup (TN_ROW (self), self->box, FALSE);
  adw_action_row_set_activatable_widget (ADW_ACTION_ROW (self), self->button);
  g_signal_connect (self, "notify::title", G_CALLBACK (title_cb), NULL);
  GtkDropTarget *drop = gtk_drop_target_new (GDK_TYPE_FILE_LIST, GDK_ACTION_COPY);
  g_signal_connect (drop, "drop", G_CALLBACK (drop_cb), self);
  gtk_widget_add_controller (GTK_WIDGET (self), GTK_EVENT_CONTROLLER (drop));
}

GtkWidget *
tn_path_row_new (GtkFileChooserAction action)
{
  TnPathRow *self = g_object_new (TN_TYPE_PATH_ROW, NULL);
  self->action = action;
  if (action == GTK_FILE_CHOOSER_ACTION_SELECT_FOLDER)
    gtk_button_set_icon_name (GTK_BUTTON (self->button), "folder-open-symbolic");
  return GTK_WIDGET (self);
}

void
tn_path_row_set_filter (TnPathRow *self, const char *name, ...)
{
  g_return_if_fail (TN_IS_PATH_ROW (self));
  g_clear_object (&self->filter);
  self->filter = gtk_file_filter_new ();
  gtk_file_filter_set_name (self->filter, name);
  va_list globs;
  va_start (globs, name);
  for (const char *glob = va_arg (globs, const char *); glob != NULL; glob = va_arg (globs, const char *))
    gtk_file_filter_add_pattern (self->filter, glob);
  va_end (globs);
}

void
tn_path_row_set_folder (TnPathRow *self, const char *folder)
{
  g_return_if_fail (TN_IS_PATH_ROW (self));
  g_free (self->folder);
  self->folder = g_strdup (folder);
}
