/* SPDX-License-Identifier: Apache-2.0 */
#include "row.h"

#include <glib/gi18n.h>

#include "style.h"

/* Kept beside the row, since rows have different parents and share no struct. */
typedef struct
{
  char *line, *api_name, *note, *error;
  gboolean changed;
  GtkWidget *dot, *reset, *help; /* belong to the row; reset and dot are made when first needed */
} Parts;

enum
{
  EDITED,
  RESET,
  N_SIGNALS
};

static guint signals[N_SIGNALS];
static GQuark parts_quark;

G_DEFINE_INTERFACE (TnRow, tn_row, ADW_TYPE_ACTION_ROW)

static void
parts_free (Parts *parts)
{
  g_free (parts->line);
  g_free (parts->api_name);
  g_free (parts->note);
  g_free (parts->error);
  g_free (parts);
}

static Parts *
parts_of (TnRow *self)
{
  Parts *parts = g_object_get_qdata (G_OBJECT (self), parts_quark);
  if (parts == NULL)
    {
      parts = g_new0 (Parts, 1);
      g_object_set_qdata_full (G_OBJECT (self), parts_quark, parts, (GDestroyNotify) parts_free);
    }
  return parts;
}

static void
tn_row_default_init (TnRowInterface *iface)
{
  parts_quark = g_quark_from_static_string ("tn-row-parts");
  signals[EDITED] = g_signal_new ("edited", TN_TYPE_ROW, G_SIGNAL_RUN_LAST, 0, NULL, NULL, NULL, G_TYPE_NONE, 0);
  signals[RESET] = g_signal_new ("reset", TN_TYPE_ROW, G_SIGNAL_RUN_LAST, 0, NULL, NULL, NULL, G_TYPE_NONE, 0);
}

static GtkWidget *
control_of (TnRow *self)
{
  return TN_ROW_GET_IFACE (self)->get_control (self);
}

static void
set_class (TnRow *self, const char *name, gboolean on)
{
  if (on)
    gtk_widget_add_css_class (GTK_WIDGET (self), name);
  else
    gtk_widget_remove_css_class (GTK_WIDGET (self), name);
}

/* A description has no markup; it carries what stands under the title, so that a screen reader says the error too. */
static void
update_subtitle (TnRow *self)
{
  Parts *parts = parts_of (self);
  const char *line = parts->error != NULL ? parts->error : parts->note != NULL ? parts->note : parts->line;
  g_autoptr (GString) markup = g_string_new (NULL);
  if (line != NULL && *line != '\0')
    {
      g_autofree char *escaped = g_markup_escape_text (line, -1);
      g_string_append (markup, escaped);
    }
  if (parts->api_name != NULL)
    {
      g_autofree char *small = g_markup_printf_escaped ("%s<span size='smaller' alpha='75%%'>%s</span>", markup->len > 0 ? "\n" : "",
                                                        parts->api_name);
      g_string_append (markup, small);
    }
  /* AdwComboRow switches markup off in its own init. */
  adw_preferences_row_set_use_markup (ADW_PREFERENCES_ROW (self), TRUE);
  adw_action_row_set_subtitle (ADW_ACTION_ROW (self), markup->str);
  gtk_accessible_update_property (GTK_ACCESSIBLE (control_of (self)), GTK_ACCESSIBLE_PROPERTY_DESCRIPTION, line != NULL ? line : "", -1);
}

void
tn_row_set_line (TnRow *self, const char *text)
{
  g_return_if_fail (TN_IS_ROW (self));
  Parts *parts = parts_of (self);
  g_free (parts->line);
  parts->line = g_strdup (text);
  update_subtitle (self);
}

void
tn_row_set_api_name (TnRow *self, const char *name)
{
  g_return_if_fail (TN_IS_ROW (self));
  Parts *parts = parts_of (self);
  g_free (parts->api_name);
  parts->api_name = g_strdup (name);
  update_subtitle (self);
}

void
tn_row_set_note (TnRow *self, const char *text)
{
  g_return_if_fail (TN_IS_ROW (self));
  Parts *parts = parts_of (self);
  if (g_strcmp0 (parts->note, text) == 0)
    return;
  g_free (parts->note);
  parts->note = g_strdup (text);
  set_class (self, "warning", parts->note != NULL);
  update_subtitle (self);
}

void
tn_row_set_error (TnRow *self, const char *text)
{
  g_return_if_fail (TN_IS_ROW (self));
  Parts *parts = parts_of (self);
  if (g_strcmp0 (parts->error, text) == 0)
    return;
  g_free (parts->error);
  parts->error = g_strdup (text);
  set_class (self, "error", text != NULL);
  GtkAccessible *control = GTK_ACCESSIBLE (control_of (self));
  gtk_accessible_update_state (control, GTK_ACCESSIBLE_STATE_INVALID,
                               text != NULL ? GTK_ACCESSIBLE_INVALID_TRUE : GTK_ACCESSIBLE_INVALID_FALSE, -1);
  update_subtitle (self);
}

const char *
tn_row_get_error (TnRow *self)
{
  g_return_val_if_fail (TN_IS_ROW (self), NULL);
  return parts_of (self)->error;
}

static void
reset_clicked_cb (GtkButton *button, TnRow *self)
{
  g_signal_emit (self, signals[RESET], 0);
}

static void
make_reset (TnRow *self, Parts *parts)
{
  parts->dot = gtk_box_new (GTK_ORIENTATION_HORIZONTAL, 0);
  gtk_widget_add_css_class (parts->dot, "tn-changed-dot");
  gtk_widget_set_valign (parts->dot, GTK_ALIGN_CENTER);
  adw_action_row_add_prefix (ADW_ACTION_ROW (self), parts->dot);

  parts->reset = gtk_button_new_from_icon_name ("edit-undo-symbolic");
  gtk_widget_add_css_class (parts->reset, "flat");
  gtk_widget_set_valign (parts->reset, GTK_ALIGN_CENTER);
  g_signal_connect (parts->reset, "clicked", G_CALLBACK (reset_clicked_cb), self);
  adw_action_row_add_suffix (ADW_ACTION_ROW (self), parts->reset);
}

void
tn_row_set_changed (TnRow *self, gboolean changed, const char *default_text)
{
  g_return_if_fail (TN_IS_ROW (self));
  Parts *parts = parts_of (self);
  parts->changed = changed;
  if (parts->reset == NULL && !changed)
    return;
  if (parts->reset == NULL)
    make_reset (self, parts);
  gtk_widget_set_visible (parts->dot, changed);
  gtk_widget_set_visible (parts->reset, changed);
  const char *title = adw_preferences_row_get_title (ADW_PREFERENCES_ROW (self));
  g_autofree char *label = g_strdup_printf (_ ("Reset %s"), title);
  g_autofree char *tooltip = default_text == NULL ? g_strdup (label) : g_strdup_printf (_ ("Reset %s to %s"), title, default_text);
  gtk_widget_set_tooltip_text (parts->reset, tooltip);
  gtk_widget_set_tooltip_text (parts->dot, _ ("Differs from the default"));
  gtk_accessible_update_property (GTK_ACCESSIBLE (parts->reset), GTK_ACCESSIBLE_PROPERTY_LABEL, label, -1);
}

gboolean
tn_row_get_changed (TnRow *self)
{
  g_return_val_if_fail (TN_IS_ROW (self), FALSE);
  return parts_of (self)->changed;
}

static GtkWidget *
make_help (const char *markup, const char *title)
{
  GtkWidget *text = gtk_label_new (NULL);
  gtk_label_set_markup (GTK_LABEL (text), markup);
  gtk_label_set_wrap (GTK_LABEL (text), TRUE);
  gtk_label_set_max_width_chars (GTK_LABEL (text), 44);
  gtk_label_set_xalign (GTK_LABEL (text), 0);
  gtk_label_set_selectable (GTK_LABEL (text), TRUE);
  gtk_widget_set_margin_start (text, 12);
  gtk_widget_set_margin_end (text, 12);
  gtk_widget_set_margin_top (text, 12);
  gtk_widget_set_margin_bottom (text, 12);
  GtkWidget *popover = gtk_popover_new ();
  gtk_popover_set_child (GTK_POPOVER (popover), text);

  GtkWidget *button = gtk_menu_button_new ();
  gtk_menu_button_set_icon_name (GTK_MENU_BUTTON (button), "help-about-symbolic");
  gtk_menu_button_set_popover (GTK_MENU_BUTTON (button), popover);
  gtk_widget_add_css_class (button, "flat");
  gtk_widget_set_valign (button, GTK_ALIGN_CENTER);
  g_autofree char *label = g_strdup_printf (_ ("About %s"), title);
  gtk_widget_set_tooltip_text (button, label);
  gtk_accessible_update_property (GTK_ACCESSIBLE (button), GTK_ACCESSIBLE_PROPERTY_LABEL, label, -1);
  return button;
}

void
tn_row_set_help (TnRow *self, const char *markup)
{
  g_return_if_fail (TN_IS_ROW (self));
  Parts *parts = parts_of (self);
  if (parts->help != NULL)
    adw_action_row_remove (ADW_ACTION_ROW (self), parts->help);
  parts->help = NULL;
  if (markup == NULL)
    return;
  parts->help = make_help (markup, adw_preferences_row_get_title (ADW_PREFERENCES_ROW (self)));
  adw_action_row_add_suffix (ADW_ACTION_ROW (self), parts->help);
}

char *
tn_row_get_text (TnRow *self)
{
  g_return_val_if_fail (TN_IS_ROW (self), NULL);
  return TN_ROW_GET_IFACE (self)->get_text (self);
}

void
tn_row_set_text (TnRow *self, const char *text)
{
  g_return_if_fail (TN_IS_ROW (self));
  tn_row_set_error (self, NULL);
  TN_ROW_GET_IFACE (self)->set_text (self, text);
}

static void
title_cb (TnRow *self, GParamSpec *pspec, gpointer data)
{
  const char *title = adw_preferences_row_get_title (ADW_PREFERENCES_ROW (self));
  gtk_accessible_update_property (GTK_ACCESSIBLE (control_of (self)), GTK_ACCESSIBLE_PROPERTY_LABEL, title, -1);
  gtk_accessible_update_property (GTK_ACCESSIBLE (self), GTK_ACCESSIBLE_PROPERTY_LABEL, title, -1);
}

void
tn_row_setup (TnRow *self, GtkWidget *control, gboolean activatable)
{
  g_return_if_fail (TN_IS_ROW (self));
  tn_style_ensure ();
  gtk_widget_add_css_class (GTK_WIDGET (self), "tn-row");
  adw_action_row_set_subtitle_lines (ADW_ACTION_ROW (self), 0);
  adw_action_row_set_title_lines (ADW_ACTION_ROW (self), 0);
  if (control != NULL)
    {
      gtk_widget_set_valign (control, GTK_ALIGN_CENTER);
      adw_action_row_add_suffix (ADW_ACTION_ROW (self), control);
      adw_action_row_set_activatable_widget (ADW_ACTION_ROW (self), activatable ? control : NULL);
    }
  g_signal_connect (self, "notify::title", G_CALLBACK (title_cb), NULL);
}

void
tn_row_emit_edited (TnRow *self)
{
  g_signal_emit (self, signals[EDITED], 0);
}
