/* SPDX-License-Identifier: Apache-2.0 */
#include "session.h"

#include <glib/gi18n.h>

#include "application.h"

#define SAVE_MS 3000
#define SOON_MS 100

static guint save_timer;
static gboolean ended;      /* the last window closed as it should */
static gboolean soon;       /* the timer is the short one */
static char *known_project; /* as last written */
static guint n_writes;      /* begun */

static char *
session_path (void)
{
  return g_build_filename (g_get_user_state_dir (), "tenon", "session.gvariant", NULL);
}

typedef struct
{
  guint number;
  char *text;
} Write;

static void
write_free (Write *write)
{
  g_free (write->text);
  g_free (write);
}

/* The newest one wins, whichever thread comes first. */
static void
write_file (const Write *write)
{
  static GMutex lock;
  static guint written;
  g_autofree char *path = session_path (), *folder = g_path_get_dirname (path);
  g_mutex_lock (&lock);
  if (write->number > written && g_mkdir_with_parents (folder, 0700) == 0 && g_file_set_contents (path, write->text, -1, NULL))
    written = write->number;
  g_mutex_unlock (&lock);
}

static void
write_thread (GTask *task, gpointer source, gpointer data, GCancellable *cancellable)
{
  write_file (data);
}

static char *
describe (TnWindow *window, gboolean clean)
{
  TnDocument *document = tn_window_document (window);
  TnPage *page = tn_window_visible_page (window);
  GVariantDict dict;
  g_variant_dict_init (&dict, NULL);
  g_variant_dict_insert (&dict, "clean", "b", clean);
  g_variant_dict_insert (&dict, "project", "s", document != NULL ? tn_document_path (document) : "");
  g_variant_dict_insert (&dict, "page", "s", page != NULL ? tn_page_info (page)->id : "");
  g_variant_dict_insert_value (&dict, "selection", tn_selection_to_variant (tn_window_selection (window)));
  g_autoptr (GVariant) variant = g_variant_ref_sink (g_variant_dict_end (&dict));
  return g_variant_print (variant, TRUE);
}

static gboolean
timer_cb (gpointer data)
{
  Write *write = g_new (Write, 1);
  save_timer = 0;
  *write = (Write){ ++n_writes, describe (data, FALSE) };
  g_autoptr (GTask) task = g_task_new (NULL, NULL, NULL, NULL);
  g_task_set_task_data (task, write, (GDestroyNotify) write_free);
  g_task_run_in_thread (task, write_thread);
  return G_SOURCE_REMOVE;
}

/* Which project is open waits only until its page is chosen too: a crash in the first seconds would lose it. */
void
tn_session_changed (TnWindow *window)
{
  TnDocument *document = tn_window_document (window);
  const char *project = document != NULL ? tn_document_path (document) : "";
  gboolean other = g_strcmp0 (project, known_project) != 0;
  ended = FALSE;
  if (save_timer != 0 && soon && !other)
    return;
  if (other)
    {
      g_free (known_project);
      known_project = g_strdup (project);
    }
  soon = other;
  g_clear_handle_id (&save_timer, g_source_remove);
  save_timer = g_timeout_add_full (G_PRIORITY_LOW, soon ? SOON_MS : SAVE_MS, timer_cb, g_object_ref (window), g_object_unref);
}

void
tn_session_save (TnWindow *window)
{
  if (ended)
    return;
  ended = TRUE;
  g_clear_handle_id (&save_timer, g_source_remove);
  g_autofree char *text = describe (window, TRUE);
  write_file (&(Write){ ++n_writes, text }); /* the process ends: no worker would live to do it */
}

typedef struct
{
  TnWindow *window;
  char *page;
  GVariant *selection;
  gboolean clean;
} Restore;

static void
restore_free (Restore *restore)
{
  g_object_unref (restore->window);
  g_free (restore->page);
  g_clear_pointer (&restore->selection, g_variant_unref);
  g_free (restore);
}

static void
opened_cb (GObject *source, GAsyncResult *result, gpointer data)
{
  Restore *restore = data;
  g_autoptr (GError) error = NULL;
  g_autoptr (TnDocument) document = tn_document_open_finish (result, &error);
  if (document != NULL && tn_window_document (restore->window) == NULL)
    {
      tn_window_set_document (restore->window, document);
      tn_window_show_page (restore->window, restore->page);
      tn_selection_from_variant (tn_window_selection (restore->window), restore->selection);
      if (!restore->clean)
        tn_window_show_banner (restore->window, GTK_MESSAGE_INFO, _("Tenon closed unexpectedly. Nothing was lost."), NULL, NULL);
    }
  restore_free (restore);
}

void
tn_session_restore (TnWindow *window)
{
  if (!g_settings_get_boolean (tn_application_settings (), "restore-session"))
    return;
  g_autofree char *path = session_path (), *text = NULL;
  if (!g_file_get_contents (path, &text, NULL, NULL)) /* some hundred bytes, before the first frame */
    return;
  g_autoptr (GVariant) variant = g_variant_parse (G_VARIANT_TYPE_VARDICT, text, NULL, NULL, NULL);
  const char *project, *page = "";
  gboolean clean = TRUE;
  if (variant == NULL || !g_variant_lookup (variant, "project", "&s", &project) || *project == '\0')
    return;
  g_variant_lookup (variant, "page", "&s", &page);
  g_variant_lookup (variant, "clean", "b", &clean);
  Restore *restore = g_new0 (Restore, 1);
  restore->window = g_object_ref (window);
  restore->page = g_strdup (page);
  restore->clean = clean;
  restore->selection = g_variant_lookup_value (variant, "selection", G_VARIANT_TYPE_VARDICT);
  tn_document_open_async (project, NULL, opened_cb, restore);
}
