/* SPDX-License-Identifier: Apache-2.0 */
#include "number-row.h"

#include <glib/gi18n.h>
#include <math.h>
#include <string.h>

#include "number.h"

struct _TnNumberRow
{
  AdwActionRow parent_instance;
  GtkWidget *entry;
  double value, min, max;
  gboolean whole;
};

static void row_iface_init (TnRowInterface *iface);

G_DEFINE_FINAL_TYPE_WITH_CODE (TnNumberRow, tn_number_row, ADW_TYPE_ACTION_ROW,
                               G_IMPLEMENT_INTERFACE (TN_TYPE_ROW, row_iface_init))

static void
show_value (TnNumberRow *self)
{
  g_autofree char *text = tn_number_text (self->value);
  gtk_editable_set_text (GTK_EDITABLE (self->entry), text);
}

static char *
check (TnNumberRow *self, const char *text, double *value)
{
  if (!tn_number_parse (text, value))
    return *text == '\0' ? g_strdup (_ ("A number is needed here, for example 0.001 or 1e-3."))
                         : g_strdup_printf (_ ("“%s” is not a number. Write it like 0.001 or 1e-3."), text);
  if (*value < self->min || *value > self->max)
    {
      g_autofree char *low = tn_number_text (self->min), *high = tn_number_text (self->max);
      return g_strdup_printf (_ ("%s is outside %s to %s."), text, low, high);
    }
  if (self->whole && *value != trunc (*value))
    return g_strdup_printf (_ ("%s is not a whole number."), text);
  return NULL;
}

static void
commit (TnNumberRow *self)
{
  double value;
  g_autofree char *shown = tn_number_text (self->value);
  const char *text = gtk_editable_get_text (GTK_EDITABLE (self->entry));
  g_autofree char *error = strcmp (text, shown) == 0 ? NULL : check (self, text, &value);
  tn_row_set_error (TN_ROW (self), error);
  if (error != NULL || strcmp (text, shown) == 0)
    return;
  gboolean is_new = value != self->value;
  self->value = value;
  show_value (self);
  if (is_new)
    tn_row_emit_edited (TN_ROW (self));
}

static void
changed_cb (TnNumberRow *self)
{
  double value;
  if (tn_row_get_error (TN_ROW (self)) == NULL)
    return;
  g_autofree char *error = check (self, gtk_editable_get_text (GTK_EDITABLE (self->entry)), &value);
  if (error == NULL)
    tn_row_set_error (TN_ROW (self), NULL);
}

static char *
get_text (TnRow *row)
{
  return tn_number_text_c (TN_NUMBER_ROW (row)->value);
}

static void
set_text (TnRow *row, const char *text)
{
  double value;
  if (tn_number_parse (text, &value))
    tn_number_row_set_value (TN_NUMBER_ROW (row), value);
}

static GtkWidget *
get_control (TnRow *row)
{
  return TN_NUMBER_ROW (row)->entry;
}

static void
row_iface_init (TnRowInterface *iface)
{
  iface->get_text = get_text;
  iface->set_text = set_text;
  iface->get_control = get_control;
}

static void
tn_number_row_class_init (TnNumberRowClass *klass)
{
}

static void
tn_number_row_init (TnNumberRow *self)
{
  self->max = 1e30;
  self->min = -1e30;
  self->entry = gtk_entry_new ();
  gtk_editable_set_width_chars (GTK_EDITABLE (self->entry), 8);
  gtk_editable_set_max_width_chars (GTK_EDITABLE (self->entry), 12);
  gtk_editable_set_alignment (GTK_EDITABLE (self->entry), 1);
  gtk_entry_set_input_purpose (GTK_ENTRY (self->entry), GTK_INPUT_PURPOSE_NUMBER);
  show_value (self);
  g_signal_connect_swapped (self->entry, "activate", G_CALLBACK (commit), self);
  g_signal_connect_swapped (self->entry, "changed", G_CALLBACK (changed_cb), self);
  GtkEventController *focus = gtk_event_controller_focus_new ();
  g_signal_connect_swapped (focus, "leave", G_CALLBACK (commit), self);
  gtk_widget_add_controller (self->entry, focus);
  tn_row_setup (TN_ROW (self), self->entry, TRUE);
}

GtkWidget *
tn_number_row_new (double min, double max)
{
  TnNumberRow *self = g_object_new (TN_TYPE_NUMBER_ROW, NULL);
  tn_number_row_set_range (self, min, max);
  return GTK_WIDGET (self);
}

void
tn_number_row_set_range (TnNumberRow *self, double min, double max)
{
  g_return_if_fail (TN_IS_NUMBER_ROW (self) && min <= max);
  self->min = min;
  self->max = max;
}

void
tn_number_row_set_whole (TnNumberRow *self, gboolean whole)
{
  g_return_if_fail (TN_IS_NUMBER_ROW (self));
  self->whole = whole;
}

double
tn_number_row_get_value (TnNumberRow *self)
{
  g_return_val_if_fail (TN_IS_NUMBER_ROW (self), 0);
  return self->value;
}

void
tn_number_row_set_value (TnNumberRow *self, double value)
{
  g_return_if_fail (TN_IS_NUMBER_ROW (self));
  tn_row_set_error (TN_ROW (self), NULL);
  self->value = value;
  show_value (self);
}
