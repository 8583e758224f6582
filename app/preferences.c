/* SPDX-License-Identifier: Apache-2.0 */
#include "preferences.h"

#include <glib/gi18n.h>

#include "application.h"
#include "combo-row.h"
#include "path-row.h"
#include "row.h"
#include "spin-row.h"
#include "switch-row.h"

/* Which keys, in which order; what they may hold is the schema's. */
typedef struct
{
  const char *page, *icon, *group, *key, *title;
} Row;

static const Row rows[] = {
  { N_("General"), "preferences-system-symbolic", N_("Look"), "color-scheme", N_("Colour scheme") },
  { N_("General"), NULL, N_("Look"), "byte-units", N_("Byte units") },
  { N_("General"), NULL, N_("Projects"), "projects-folder", N_("Folder of new projects") },
  { N_("General"), NULL, N_("Projects"), "restore-session", N_("Open the last project at start") },
  { N_("General"), NULL, N_("Projects"), "autosave-seconds", N_("Save after (seconds)") },
  { N_("General"), NULL, N_("Projects"), "recent-max", N_("Recent projects listed") },
  { N_("General"), NULL, N_("Settings"), "show-all-settings", N_("Show all settings") },
  { N_("Training"), "tn-train-symbolic", N_("While training"), "on-close", N_("When the window is closed") },
  { N_("Training"), NULL, N_("While training"), "inhibit-suspend", N_("Keep the computer awake") },
  { N_("Training"), NULL, N_("While training"), "notify-on-end", N_("Notify at the end") },
  { N_("Training"), NULL, N_("While training"), "notify-min-seconds", N_("Only after (seconds)") },
  { N_("Training"), NULL, N_("Limits"), "threads", N_("Threads for checks and layout") },
  { N_("Training"), NULL, N_("Limits"), "memory-warn-percent", N_("Warn above this share of memory (%)") },
  { N_("Training"), NULL, N_("Limits"), "disk-reserve-mb", N_("Keep free on disk (MB)") },
  { N_("Plots"), "tn-train-symbolic", N_("Curves"), "plot-smoothing", N_("Smoothing") },
  { N_("Plots"), NULL, N_("Curves"), "plot-raw-behind", N_("Raw values behind") },
  { N_("Plots"), NULL, N_("Curves"), "plot-x", N_("Horizontal axis") },
  { N_("Plots"), NULL, N_("Curves"), "plot-log-y", N_("Logarithmic losses") },
  { N_("Plots"), NULL, N_("Curves"), "plot-outliers", N_("Outliers") },
  { N_("Plots"), NULL, N_("Curves"), "plot-max-lines", N_("Most curves at once") },
  { N_("Plots"), NULL, N_("Curves"), "palette", N_("Palette") },
  { N_("Graph"), "tn-graph-symbolic", N_("Layout"), "graph-direction", N_("Direction") },
  { N_("Graph"), NULL, N_("Layout"), "graph-max-boxes", N_("Most boxes") },
  { N_("Graph"), NULL, N_("Layout"), "graph-layout-seconds", N_("Give up after (seconds)") },
  { N_("Graph"), NULL, N_("Layout"), "graph-show-parameters", N_("Show parameters") },
  { N_("Export"), "document-save-symbolic", N_("Pictures"), "image-export-theme", N_("Theme") },
  { N_("Export"), NULL, N_("Pictures"), "image-export-scale", N_("Scale") },
  { N_("Export"), NULL, N_("Tables"), "csv-separator", N_("Separator") },
  { N_("Export"), NULL, N_("Tables"), "csv-decimal", N_("Decimal sign") },
  { N_("Export"), NULL, N_("Commands"), "links-show-command", N_("Offer “Show Command”") },
};

/* Words for the nicks of enums. */
static const struct
{
  const char *nick, *name;
} words[] = {
  { "system", N_("As the system") }, { "light", N_("Light") }, { "dark", N_("Dark") }, { "ask", N_("Ask") },
  { "keep-running", N_("Keep training") }, { "stop-and-save", N_("Stop and save") }, { "iec", N_("KiB, MiB (1024)") },
  { "si", N_("kB, MB (1000)") }, { "step", N_("Step") }, { "epoch", N_("Epoch") }, { "relative", N_("Time since start") },
  { "wall", N_("Clock time") }, { "keep", N_("Show") }, { "clip", N_("Leave out") }, { "default", N_("Default") },
  { "wide-gamut", N_("Strong") }, { "grey-patterns", N_("Grey with patterns") }, { "down", N_("Downwards") },
  { "right", N_("To the right") }, { "as-shown", N_("As shown") }, { "comma", N_("Comma") }, { "semicolon", N_("Semicolon") },
  { "tab", N_("Tab") }, { "point", N_("Point") }, { "locale", N_("As the locale") },
};

static const char *
word_of (const char *nick)
{
  for (guint i = 0; i < G_N_ELEMENTS (words); i++)
    if (g_str_equal (words[i].nick, nick))
      return _(words[i].name);
  return nick;
}

/* A value as the rows write it. */
static char *
value_text (GSettings *settings, const char *key)
{
  g_autoptr (GVariant) value = g_settings_get_value (settings, key);
  if (g_variant_is_of_type (value, G_VARIANT_TYPE_STRING))
    return g_variant_dup_string (value, NULL);
  if (g_variant_is_of_type (value, G_VARIANT_TYPE_BOOLEAN))
    return g_strdup (g_variant_get_boolean (value) ? "true" : "false");
  if (g_variant_is_of_type (value, G_VARIANT_TYPE_UINT32))
    return g_strdup_printf ("%u", g_variant_get_uint32 (value));
  char buffer[G_ASCII_DTOSTR_BUF_SIZE];
  return g_strdup (g_ascii_dtostr (buffer, sizeof buffer, g_variant_get_double (value)));
}

static void
edited_cb (TnRow *row, const char *key)
{
  GSettings *settings = tn_application_settings ();
  g_autoptr (GVariant) old = g_settings_get_value (settings, key);
  g_autofree char *text = tn_row_get_text (row);
  if (g_variant_is_of_type (old, G_VARIANT_TYPE_STRING))
    g_settings_set_string (settings, key, text);
  else if (g_variant_is_of_type (old, G_VARIANT_TYPE_BOOLEAN))
    g_settings_set_boolean (settings, key, g_str_equal (text, "true"));
  else if (g_variant_is_of_type (old, G_VARIANT_TYPE_UINT32))
    g_settings_set_uint (settings, key, (guint) g_ascii_strtod (text, NULL));
  else
    g_settings_set_double (settings, key, g_ascii_strtod (text, NULL));
}

static void
changed_cb (GSettings *settings, const char *key, TnRow *row)
{
  g_autofree char *text = value_text (settings, key);
  tn_row_set_text (row, text);
  g_autoptr (GVariant) user = g_settings_get_user_value (settings, key);
  tn_row_set_changed (row, user != NULL, NULL);
}

static void
reset_cb (TnRow *row, const char *key)
{
  g_settings_reset (tn_application_settings (), key);
}

static GtkWidget *
control_for (GSettingsSchemaKey *key)
{
  g_autoptr (GVariant) range = g_settings_schema_key_get_range (key);
  const char *kind;
  g_autoptr (GVariant) detail = NULL;
  g_variant_get (range, "(&sv)", &kind, &detail);
  const GVariantType *type = g_settings_schema_key_get_value_type (key);
  if (g_str_equal (kind, "enum"))
    {
      GtkWidget *row = tn_combo_row_new ();
      gsize n;
      g_autofree const char **nicks = g_variant_get_strv (detail, &n);
      for (gsize i = 0; i < n; i++)
        tn_combo_row_add (TN_COMBO_ROW (row), nicks[i], word_of (nicks[i]));
      return row;
    }
  if (g_variant_type_equal (type, G_VARIANT_TYPE_BOOLEAN))
    return tn_switch_row_new ();
  if (g_variant_type_equal (type, G_VARIANT_TYPE_STRING))
    return tn_path_row_new (GTK_FILE_CHOOSER_ACTION_SELECT_FOLDER);
  double low = 0, high = 1e9;
  if (g_str_equal (kind, "range") && g_variant_type_equal (type, G_VARIANT_TYPE_UINT32))
    {
      guint32 a, b;
      g_variant_get (detail, "(uu)", &a, &b);
      low = a, high = b;
    }
  else if (g_str_equal (kind, "range"))
    g_variant_get (detail, "(dd)", &low, &high);
  gboolean whole = g_variant_type_equal (type, G_VARIANT_TYPE_UINT32);
  GtkWidget *row = tn_spin_row_new (low, high, whole ? 0 : 3);
  if (!whole)
    tn_spin_row_set_increments (TN_SPIN_ROW (row), 0.05, 0.1);
  return row;
}

static GtkWidget *
make_row (const Row *spec)
{
  GSettings *settings = tn_application_settings ();
  g_autoptr (GSettingsSchema) schema = NULL;
  g_object_get (settings, "settings-schema", &schema, NULL);
  g_autoptr (GSettingsSchemaKey) key = g_settings_schema_get_key (schema, spec->key);
  GtkWidget *row = control_for (key);
  g_autofree char *id = g_strdup_printf ("prefs_%s_row", spec->key), *detailed = g_strconcat ("changed::", spec->key, NULL);
  g_strdelimit (id, "-", '_');
  gtk_widget_set_name (row, id);
  adw_preferences_row_set_title (ADW_PREFERENCES_ROW (row), _(spec->title));
  tn_row_set_line (TN_ROW (row), g_settings_schema_key_get_description (key));
  changed_cb (settings, spec->key, TN_ROW (row));
  g_signal_connect (row, "edited", G_CALLBACK (edited_cb), (gpointer) spec->key);
  g_signal_connect (row, "reset", G_CALLBACK (reset_cb), (gpointer) spec->key);
  g_signal_connect_object (settings, detailed, G_CALLBACK (changed_cb), row, 0);
  return row;
}

/* Reset of a page, with undo. */

typedef struct
{
  const char *page;
  GVariant *values[G_N_ELEMENTS (rows)];
} Saved;

static void
saved_free (gpointer data, GClosure *closure)
{
  Saved *saved = data;
  for (guint i = 0; i < G_N_ELEMENTS (rows); i++)
    g_clear_pointer (&saved->values[i], g_variant_unref);
  g_free (saved);
}

static void
undo_cb (AdwToast *toast, Saved *saved)
{
  for (guint i = 0; i < G_N_ELEMENTS (rows); i++)
    if (saved->values[i] != NULL)
      g_settings_set_value (tn_application_settings (), rows[i].key, saved->values[i]);
}

static void
reset_page_cb (GtkButton *button, const char *page)
{
  Saved *saved = g_new0 (Saved, 1);
  GSettings *settings = tn_application_settings ();
  for (guint i = 0; i < G_N_ELEMENTS (rows); i++)
    if (g_str_equal (rows[i].page, page))
      {
        saved->values[i] = g_settings_get_user_value (settings, rows[i].key);
        g_settings_reset (settings, rows[i].key);
      }
  AdwToast *toast = adw_toast_new (_("Reset to defaults"));
  adw_toast_set_button_label (toast, _("Undo"));
  g_signal_connect_data (toast, "button-clicked", G_CALLBACK (undo_cb), saved, saved_free, 0);
  adw_preferences_window_add_toast (ADW_PREFERENCES_WINDOW (gtk_widget_get_root (GTK_WIDGET (button))), toast);
}

static void
finish_page (AdwPreferencesPage *page, const char *name)
{
  GtkWidget *group = adw_preferences_group_new (), *button = gtk_button_new_with_mnemonic (_("_Reset to Defaults"));
  g_signal_connect (button, "clicked", G_CALLBACK (reset_page_cb), (gpointer) name);
  gtk_widget_set_halign (button, GTK_ALIGN_CENTER);
  adw_preferences_group_add (ADW_PREFERENCES_GROUP (group), button);
  adw_preferences_page_add (page, ADW_PREFERENCES_GROUP (group));
}

void
tn_preferences_present (GtkWindow *parent)
{
  GtkWidget *window = adw_preferences_window_new ();
  AdwPreferencesPage *page = NULL;
  AdwPreferencesGroup *group = NULL;
  const Row *last = NULL;
  gtk_widget_set_name (window, "prefs_window");
  for (guint i = 0; i < G_N_ELEMENTS (rows); last = &rows[i], i++)
    {
      gboolean other_page = last == NULL || !g_str_equal (last->page, rows[i].page);
      if (other_page)
        {
          if (page != NULL)
            finish_page (page, last->page);
          page = ADW_PREFERENCES_PAGE (adw_preferences_page_new ());
          adw_preferences_page_set_title (page, _(rows[i].page));
          adw_preferences_page_set_icon_name (page, rows[i].icon);
          adw_preferences_window_add (ADW_PREFERENCES_WINDOW (window), page);
        }
      if (other_page || !g_str_equal (last->group, rows[i].group))
        {
          group = ADW_PREFERENCES_GROUP (adw_preferences_group_new ());
          adw_preferences_group_set_title (group, _(rows[i].group));
          adw_preferences_page_add (page, group);
        }
      adw_preferences_group_add (group, make_row (&rows[i]));
    }
  finish_page (page, last->page);
  gtk_window_set_transient_for (GTK_WINDOW (window), parent);
  gtk_window_set_modal (GTK_WINDOW (window), TRUE);
  gtk_window_present (GTK_WINDOW (window));
}
