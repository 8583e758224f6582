/* SPDX-License-Identifier: Apache-2.0 */
#include "application.h"

#include <glib/gi18n.h>

#include "about.h"
#include "accelerators.h"
#include "format.h"
#include "library/catalogue.h"
#include "preferences.h"
#include "session.h"
#include "window.h"

struct _TnApplication
{
  AdwApplication parent_instance;
};

G_DEFINE_FINAL_TYPE (TnApplication, tn_application, ADW_TYPE_APPLICATION)

static GSettings *settings;

gboolean
tn_application_is_test (void)
{
  return g_strcmp0 (g_getenv ("TENON_TEST"), "1") == 0;
}

/* The installed schema, or that of the build folder where the program was not installed. */
static GSettings *
open_settings (void)
{
  GSettingsSchemaSource *source = g_settings_schema_source_get_default ();
  g_autoptr (GSettingsSchema) schema = source != NULL ? g_settings_schema_source_lookup (source, TN_APP_ID, TRUE) : NULL;
  g_autofree char *self = g_file_read_link ("/proc/self/exe", NULL);
  g_autofree char *folder = self != NULL ? g_path_get_dirname (self) : NULL;
  g_autofree char *beside = folder != NULL ? g_build_filename (folder, "..", "resources", NULL) : NULL;
  g_autofree char *share = folder != NULL ? g_build_filename (folder, "..", "share", "glib-2.0", "schemas", NULL) : NULL;
  const char *places[] = { beside, share, TN_SCHEMA_BUILD_DIR };
  for (guint i = 0; schema == NULL && i < G_N_ELEMENTS (places); i++)
    {
      g_autoptr (GSettingsSchemaSource) own = places[i] != NULL ? g_settings_schema_source_new_from_directory (places[i], source, TRUE, NULL) : NULL;
      schema = own != NULL ? g_settings_schema_source_lookup (own, TN_APP_ID, FALSE) : NULL;
    }
  if (schema == NULL)
    g_error ("The settings schema %s is not installed", TN_APP_ID);
  return g_settings_new_full (schema, NULL, NULL);
}

GSettings *
tn_application_settings (void)
{
  if (settings == NULL)
    settings = open_settings ();
  return settings;
}

char *
tn_application_projects_folder (void)
{
  g_autofree char *chosen = g_settings_get_string (tn_application_settings (), "projects-folder");
  if (*chosen != '\0')
    return g_steal_pointer (&chosen);
  const char *documents = g_get_user_special_dir (G_USER_DIRECTORY_DOCUMENTS);
  return g_build_filename (documents != NULL ? documents : g_get_home_dir (), "Tenon", NULL);
}

static void
note_thread (GTask *task, gpointer source, gpointer data, GCancellable *cancellable)
{
  g_autoptr (TnCatalogue) catalogue = tn_catalogue_open (NULL, NULL);
  if (catalogue != NULL)
    tn_catalogue_scan_project (catalogue, data, NULL);
}

void
tn_application_note_project (const char *path)
{
  g_autoptr (GTask) task = g_task_new (NULL, NULL, NULL, NULL);
  g_task_set_task_data (task, g_strdup (path), g_free);
  g_task_run_in_thread (task, note_thread);
}

/* Settings that hold for the whole process. */

static void
color_scheme_cb (GSettings *source, const char *key, gpointer data)
{
  static const AdwColorScheme schemes[] = { ADW_COLOR_SCHEME_DEFAULT, ADW_COLOR_SCHEME_FORCE_LIGHT, ADW_COLOR_SCHEME_FORCE_DARK };
  int scheme = g_settings_get_enum (source, "color-scheme");
  adw_style_manager_set_color_scheme (adw_style_manager_get_default (), schemes[CLAMP (scheme, 0, 2)]);
}

static void
byte_units_cb (GSettings *source, const char *key, gpointer data)
{
  tn_format_use_si (g_settings_get_enum (source, "byte-units") == 1);
}

/* Actions. */

static TnWindow *
active_window (TnApplication *self)
{
  GtkWindow *window = gtk_application_get_active_window (GTK_APPLICATION (self));
  return window != NULL && TN_IS_WINDOW (window) ? TN_WINDOW (window) : NULL;
}

static void
new_window_action (GSimpleAction *action, GVariant *parameter, gpointer data)
{
  gtk_window_present (GTK_WINDOW (tn_window_new (GTK_APPLICATION (data))));
}

static void
new_project_action (GSimpleAction *action, GVariant *parameter, gpointer data)
{
  TnWindow *window = active_window (data);
  if (window != NULL)
    tn_window_start_sample (window, "empty", FALSE);
}

static void
preferences_action (GSimpleAction *action, GVariant *parameter, gpointer data)
{
  tn_preferences_present (GTK_WINDOW (active_window (data)));
}

static void
about_action (GSimpleAction *action, GVariant *parameter, gpointer data)
{
  tn_about_present (GTK_WINDOW (active_window (data)));
}

static void
show_run_action (GSimpleAction *action, GVariant *parameter, gpointer data)
{
  TnWindow *window = active_window (data);
  if (window == NULL)
    window = tn_window_new (GTK_APPLICATION (data));
  gtk_window_present (GTK_WINDOW (window));
  tn_window_open (window, g_variant_get_string (parameter, NULL));
}

static void
quit_action (GSimpleAction *action, GVariant *parameter, gpointer data)
{
  g_autoptr (GList) windows = g_list_copy (gtk_application_get_windows (data));
  for (GList *at = windows; at != NULL; at = at->next)
    if (TN_IS_WINDOW (at->data))
      gtk_window_close (GTK_WINDOW (at->data));
}

static const GActionEntry actions[] = {
  { .name = "new-window", .activate = new_window_action },
  { .name = "new-project", .activate = new_project_action },
  { .name = "preferences", .activate = preferences_action },
  { .name = "about", .activate = about_action },
  { .name = "show-run", .activate = show_run_action, .parameter_type = "s" },
  { .name = "quit", .activate = quit_action },
};

/* Start. */

static void
tn_application_startup (GApplication *application)
{
  G_APPLICATION_CLASS (tn_application_parent_class)->startup (application);
  GSettings *own = tn_application_settings ();
  g_signal_connect (own, "changed::color-scheme", G_CALLBACK (color_scheme_cb), NULL);
  g_signal_connect (own, "changed::byte-units", G_CALLBACK (byte_units_cb), NULL);
  color_scheme_cb (own, NULL, NULL);
  byte_units_cb (own, NULL, NULL);
  g_action_map_add_action_entries (G_ACTION_MAP (application), actions, G_N_ELEMENTS (actions), application);
  tn_accelerators_set (GTK_APPLICATION (application));
  gtk_window_set_default_icon_name (TN_APP_ID);
}

static void
tn_application_activate (GApplication *application)
{
  TnWindow *window = active_window (TN_APPLICATION (application));
  if (window == NULL)
    {
      window = tn_window_new (GTK_APPLICATION (application));
      tn_session_restore (window);
    }
  gtk_window_present (GTK_WINDOW (window));
}

static void
tn_application_open (GApplication *application, GFile **files, int n, const char *hint)
{
  for (int i = 0; i < n; i++)
    {
      g_autofree char *path = g_file_get_path (files[i]);
      TnWindow *window = i == 0 ? active_window (TN_APPLICATION (application)) : NULL;
      if (window == NULL || tn_window_is_busy (window))
        window = tn_window_new (GTK_APPLICATION (application));
      gtk_window_present (GTK_WINDOW (window));
      if (path != NULL)
        tn_window_open (window, path);
    }
}

static int
tn_application_handle_local_options (GApplication *application, GVariantDict *options)
{
  if (!g_variant_dict_contains (options, "version"))
    return -1;
  g_print ("Tenon %s\n", TN_VERSION);
  return 0;
}

static void
tn_application_class_init (TnApplicationClass *class)
{
  GApplicationClass *application_class = G_APPLICATION_CLASS (class);
  application_class->startup = tn_application_startup;
  application_class->activate = tn_application_activate;
  application_class->open = tn_application_open;
  application_class->handle_local_options = tn_application_handle_local_options;
}

static void
tn_application_init (TnApplication *self)
{
  const GOptionEntry entries[] = {
    { "version", 0, 0, G_OPTION_ARG_NONE, NULL, N_("Print the version"), NULL },
    { NULL },
  };
  g_application_add_main_option_entries (G_APPLICATION (self), entries);
}

GApplication *
tn_application_new (void)
{
  g_set_prgname (TN_APP_ID);
  g_set_application_name ("Tenon");
  return g_object_new (TN_TYPE_APPLICATION, "application-id", TN_APP_ID, "flags", G_APPLICATION_HANDLES_OPEN, NULL);
}
