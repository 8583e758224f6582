/* SPDX-License-Identifier: Apache-2.0 */
#include "window-private.h"

#include <glib/gi18n.h>
#include <string.h>

#include "application.h"
#include "base/error.h"
#include "data/dataset.h"
#include "train/run-folder.h"

/* What a path is, found by its content in a worker. */
typedef enum
{
  KIND_PROJECT,
  KIND_RUN,
  KIND_DATA
} Kind;

typedef struct
{
  char *path;
  Kind kind;
  char *project, *page;
  GError *error;
} Found;

static void
found_free (Found *found)
{
  g_free (found->path);
  g_free (found->project);
  g_free (found->page);
  g_clear_error (&found->error);
  g_free (found);
}

static gboolean
is_project_file (const char *path)
{
  g_autofree char *name = g_path_get_basename (path), *inside = g_build_filename (path, "project.json", NULL);
  return g_str_equal (name, "project.json") || g_file_test (inside, G_FILE_TEST_IS_REGULAR);
}

static void
recognise_thread (GTask *task, gpointer source, gpointer data, GCancellable *cancellable)
{
  Found *found = data;
  g_autofree char *run_json = g_build_filename (found->path, "run.json", NULL);
  GError *error = NULL;
  if (is_project_file (found->path))
    {
      found->kind = KIND_PROJECT;
      found->project = g_strdup (found->path);
    }
  else if (g_file_test (run_json, G_FILE_TEST_EXISTS))
    {
      found->kind = KIND_RUN;
      g_autoptr (TnRunFolder) folder = tn_run_folder_open (found->path, &error);
      found->project = folder != NULL ? tn_run_folder_project_path (folder) : NULL;
    }
  else
    {
      found->kind = KIND_DATA;
      g_autoptr (TnDataset) dataset = tn_dataset_open (found->path, NULL, &error);
      if (dataset != NULL)
        found->page = g_strdup (dataset->description);
    }
  if (error != NULL)
    g_task_return_error (task, error);
  else
    g_task_return_boolean (task, TRUE);
}

static void
run_ready_cb (GObject *source, GAsyncResult *result, gpointer data)
{
  g_autoptr (TnWindow) self = data;
  g_autoptr (GError) error = NULL;
  g_autoptr (TnDocument) document = tn_document_open_finish (result, &error);
  if (document == NULL)
    tn_window_show_error (self, error);
  else
    tn_window_set_document (self, document);
}

/* Own data in a new project, or in the open one. */
static void
take_data (TnWindow *self, const Found *found)
{
  if (self->document != NULL)
    {
      g_autoptr (GError) error = NULL;
      if (!tn_document_edit (self->document, "setting", "data.source", found->path, &error))
        tn_window_show_error (self, error);
      else
        tn_window_toast_action (self, found->page, _("Undo"), "win.undo");
      tn_window_show_page (self, "data");
      return;
    }
  g_autoptr (TnSettings) settings = tn_settings_new ();
  g_autofree char *base = g_path_get_basename (found->path), *folder = tn_application_projects_folder ();
  char *dot = strrchr (base, '.');
  if (dot != NULL && dot != base)
    *dot = '\0';
  if (tn_settings_set (settings, "data.source", found->path, NULL))
    tn_document_create_async (folder, base, settings, NULL, NULL, run_ready_cb, g_object_ref (self));
}

static void
recognised_cb (GObject *source, GAsyncResult *result, gpointer data)
{
  TnWindow *self = TN_WINDOW (source);
  Found *found = g_task_get_task_data (G_TASK (result));
  g_autoptr (GError) error = NULL;
  if (!g_task_propagate_boolean (G_TASK (result), &error))
    {
      tn_window_show_error (self, error);
      return;
    }
  if (found->kind == KIND_DATA)
    {
      take_data (self, found);
      return;
    }
  TnWindow *window = self;
  if (self->document != NULL && tn_window_is_busy (self) && g_strcmp0 (tn_document_path (self->document), found->project) != 0)
    {
      window = tn_window_new (gtk_window_get_application (GTK_WINDOW (self)));
      gtk_window_present (GTK_WINDOW (window));
    }
  tn_document_open_async (found->project, NULL, run_ready_cb, g_object_ref (window));
}

/* A window of this process that has @path open already. */
static TnWindow *
window_with (TnWindow *self, const char *path)
{
  for (GList *at = gtk_application_get_windows (gtk_window_get_application (GTK_WINDOW (self))); at != NULL; at = at->next)
    if (TN_IS_WINDOW (at->data) && TN_WINDOW (at->data)->document != NULL
        && g_strcmp0 (tn_document_path (TN_WINDOW (at->data)->document), path) == 0)
      return at->data;
  return NULL;
}

void
tn_window_open (TnWindow *self, const char *path)
{
  g_return_if_fail (TN_IS_WINDOW (self));
  TnWindow *other = window_with (self, path);
  if (other != NULL)
    {
      gtk_window_present (GTK_WINDOW (other));
      tn_window_show_page (other, "train");
      return;
    }
  Found *found = g_new0 (Found, 1);
  found->path = g_strdup (path);
  g_autoptr (GTask) task = g_task_new (self, NULL, recognised_cb, NULL);
  g_task_set_task_data (task, found, (GDestroyNotify) found_free);
  g_task_run_in_thread (task, recognise_thread);
}

/* Choosing. */

static void
chosen_cb (GtkNativeDialog *dialog, int response, TnWindow *self)
{
  if (response == GTK_RESPONSE_ACCEPT)
    {
      g_autoptr (GFile) file = gtk_file_chooser_get_file (GTK_FILE_CHOOSER (dialog));
      g_autofree char *path = g_file_get_path (file);
      if (path != NULL)
        tn_window_open (self, path);
    }
  gtk_native_dialog_destroy (dialog);
  g_object_unref (dialog);
}

static void
add_filter (GtkFileChooser *chooser, const char *name, const char *const *patterns)
{
  g_autoptr (GtkFileFilter) filter = gtk_file_filter_new ();
  gtk_file_filter_set_name (filter, name);
  for (; *patterns != NULL; patterns++)
    gtk_file_filter_add_pattern (filter, *patterns);
  gtk_file_chooser_add_filter (chooser, filter);
}

void
tn_window_choose_file (TnWindow *self, gboolean folder)
{
  GtkFileChooserNative *dialog = gtk_file_chooser_native_new (folder ? _("Open Folder") : _("Open"), GTK_WINDOW (self),
                                                              folder ? GTK_FILE_CHOOSER_ACTION_SELECT_FOLDER : GTK_FILE_CHOOSER_ACTION_OPEN, NULL, NULL);
  if (!folder)
    {
      add_filter (GTK_FILE_CHOOSER (dialog), _("All Supported"),
                  (const char *const[]){ "project.json", "*.npz", "*.npy", "*ubyte*", "*.bin", "*.gz", NULL });
      add_filter (GTK_FILE_CHOOSER (dialog), _("All Files"), (const char *const[]){ "*", NULL });
    }
  g_signal_connect_object (dialog, "response", G_CALLBACK (chosen_cb), self, 0);
  gtk_native_dialog_show (GTK_NATIVE_DIALOG (dialog));
}

/* Save a copy: the project without its runs. */

static void
copied_cb (GObject *source, GAsyncResult *result, gpointer data)
{
  g_autoptr (TnWindow) self = data;
  g_autoptr (GError) error = NULL;
  g_autoptr (TnDocument) document = tn_document_create_finish (result, &error);
  if (document == NULL)
    {
      tn_window_show_error (self, error);
      return;
    }
  tn_window_set_document (self, document);
  tn_window_toast (self, _("This is the copy"));
}

static void
copy_chosen_cb (GtkNativeDialog *dialog, int response, TnWindow *self)
{
  if (response == GTK_RESPONSE_ACCEPT && self->document != NULL)
    {
      g_autoptr (GFile) file = gtk_file_chooser_get_file (GTK_FILE_CHOOSER (dialog));
      g_autofree char *path = g_file_get_path (file);
      g_autofree char *folder = path != NULL ? g_path_get_dirname (path) : NULL, *name = path != NULL ? g_path_get_basename (path) : NULL;
      if (path != NULL)
        tn_document_create_async (folder, name, tn_document_settings (self->document), tn_document_network (self->document), NULL, copied_cb,
                                  g_object_ref (self));
    }
  gtk_native_dialog_destroy (dialog);
  g_object_unref (dialog);
}

void
tn_window_save_copy (TnWindow *self)
{
  GtkFileChooserNative *dialog = gtk_file_chooser_native_new (_("Save a Copy"), GTK_WINDOW (self), GTK_FILE_CHOOSER_ACTION_SAVE, NULL, NULL);
  gtk_file_chooser_set_current_name (GTK_FILE_CHOOSER (dialog), tn_document_name (self->document));
  g_signal_connect_object (dialog, "response", G_CALLBACK (copy_chosen_cb), self, 0);
  gtk_native_dialog_show (GTK_NATIVE_DIALOG (dialog));
}

/* Dropping. */

static GdkDragAction
enter_cb (GtkDropTarget *target, double x, double y, TnWindow *self)
{
  g_autofree char *text = self->document != NULL ? g_strdup_printf (_("Open, or use as data of %s"), tn_document_name (self->document))
                                                 : g_strdup (_("Open here"));
  gtk_label_set_text (GTK_LABEL (self->drop_overlay), text);
  gtk_widget_set_visible (self->drop_overlay, TRUE);
  return GDK_ACTION_COPY;
}

static void
leave_cb (GtkDropTarget *target, TnWindow *self)
{
  gtk_widget_set_visible (self->drop_overlay, FALSE);
}

static gboolean
drop_cb (GtkDropTarget *target, const GValue *value, double x, double y, TnWindow *self)
{
  gtk_widget_set_visible (self->drop_overlay, FALSE);
  GSList *files = g_value_get_boxed (value); /* GdkFileList is a boxed GSList of GFile */
  g_autofree char *path = files != NULL ? g_file_get_path (files->data) : NULL;
  if (path != NULL)
    tn_window_open (self, path);
  return path != NULL;
}

void
tn_window_accept_drops (TnWindow *self)
{
  GtkDropTarget *target = gtk_drop_target_new (GDK_TYPE_FILE_LIST, GDK_ACTION_COPY);
  g_signal_connect (target, "enter", G_CALLBACK (enter_cb), self);
  g_signal_connect (target, "leave", G_CALLBACK (leave_cb), self);
  g_signal_connect (target, "drop", G_CALLBACK (drop_cb), self);
  gtk_widget_add_controller (GTK_WIDGET (self), GTK_EVENT_CONTROLLER (target));
}
