/* SPDX-License-Identifier: Apache-2.0 */
#include "spin-row.h"

#include <glib/gi18n.h>
#include <math.h>
#include <string.h>

#include "number.h"

struct _TnSpinRow
{
  AdwActionRow parent_instance;
  GtkWidget *box, *spin, *unit;
  GtkAdjustment *adjustment; /* belongs to the spin button */
  gulong value_handler;
  gboolean whole;
};

static void row_iface_init (TnRowInterface *iface);

G_DEFINE_FINAL_TYPE_WITH_CODE (TnSpinRow, tn_spin_row, ADW_TYPE_ACTION_ROW, G_IMPLEMENT_INTERFACE (TN_TYPE_ROW, row_iface_init))

/* What is wrong with @text, or NULL with its value. */
static char *
check (TnSpinRow *self, const char *text, double *value)
{
  double lower = gtk_adjustment_get_lower (self->adjustment), upper = gtk_adjustment_get_upper (self->adjustment);
  g_autofree char *low = tn_number_text (lower), *high = tn_number_text (upper);
  if (!tn_number_parse (text, value))
    return g_strdup_printf (_ ("“%s” is not a number. Between %s and %s."), text, low, high);
  if (*value < lower || *value > upper)
    return g_strdup_printf (_ ("%s is outside %s to %s."), text, low, high);
  if (self->whole && *value != trunc (*value))
    return g_strdup_printf (_ ("%s is not a whole number."), text);
  return NULL;
}

static int
input_cb (GtkSpinButton *spin, double *value, TnSpinRow *self)
{
  const char *text = gtk_editable_get_text (GTK_EDITABLE (spin));
  double number;
  g_autofree char *error = check (self, text, &number);
  tn_row_set_error (TN_ROW (self), error);
  if (error != NULL)
    return GTK_INPUT_ERROR;
  *value = number;
  return TRUE;
}

/* The spin button would write the last good value over what cannot be read, and "10.0" for 10. */
static gboolean
output_cb (GtkSpinButton *spin, TnSpinRow *self)
{
  if (tn_row_get_error (TN_ROW (self)) != NULL)
    return TRUE;
  double scale = pow (10, gtk_spin_button_get_digits (spin));
  g_autofree char *text = tn_number_text (round (gtk_adjustment_get_value (self->adjustment) * scale) / scale);
  if (strcmp (text, gtk_editable_get_text (GTK_EDITABLE (spin))) != 0)
    gtk_editable_set_text (GTK_EDITABLE (spin), text);
  return TRUE;
}

static void
value_cb (TnSpinRow *self)
{
  tn_row_set_error (TN_ROW (self), NULL);
  tn_row_emit_edited (TN_ROW (self));
}

/* Good again while it is being repaired: no need to leave the field first. */
static void
changed_cb (TnSpinRow *self)
{
  if (tn_row_get_error (TN_ROW (self)) == NULL)
    return;
  double value;
  g_autofree char *error = check (self, gtk_editable_get_text (GTK_EDITABLE (self->spin)), &value);
  if (error == NULL)
    tn_row_set_error (TN_ROW (self), NULL);
}

static char *
get_text (TnRow *row)
{
  return tn_number_text_c (tn_spin_row_get_value (TN_SPIN_ROW (row)));
}

static void
set_text (TnRow *row, const char *text)
{
  double value;
  if (tn_number_parse (text, &value))
    tn_spin_row_set_value (TN_SPIN_ROW (row), value);
}

static GtkWidget *
get_control (TnRow *row)
{
  return TN_SPIN_ROW (row)->spin;
}

static void
row_iface_init (TnRowInterface *iface)
{
  iface->get_text = get_text;
  iface->set_text = set_text;
  iface->get_control = get_control;
}

static void
tn_spin_row_class_init (TnSpinRowClass *klass)
{
}

static void
tn_spin_row_init (TnSpinRow *self)
{
  self->adjustment = gtk_adjustment_new (0, 0, 1, 1, 10, 0);
  self->spin = gtk_spin_button_new (self->adjustment, 1, 0);
  gtk_spin_button_set_update_policy (GTK_SPIN_BUTTON (self->spin), GTK_UPDATE_IF_VALID);
  gtk_editable_set_width_chars (GTK_EDITABLE (self->spin), 6);
  gtk_editable_set_max_width_chars (GTK_EDITABLE (self->spin), 8);
  gtk_editable_set_alignment (GTK_EDITABLE (self->spin), 1);
  g_signal_connect (self->spin, "input", G_CALLBACK (input_cb), self);
  g_signal_connect (self->spin, "output", G_CALLBACK (output_cb), self);
  g_signal_connect_swapped (self->spin, "changed", G_CALLBACK (changed_cb), self);
  self->value_handler = g_signal_connect_object (self->adjustment, "value-changed", G_CALLBACK (value_cb), self, G_CONNECT_SWAPPED);
  self->unit = gtk_label_new (NULL);
  gtk_widget_add_css_class (self->unit, "dim-label");
  gtk_widget_set_visible (self->unit, FALSE);
  self->box = gtk_box_new (GTK_ORIENTATION_HORIZONTAL, 6);
  gtk_widget_set_valign (self->spin, GTK_ALIGN_CENTER);
  gtk_box_append (GTK_BOX (self->box), self->spin);
  gtk_box_append (GTK_BOX (self->box), self->unit);
  tn_row_setup (TN_ROW (self), self->box, FALSE);
  adw_action_row_set_activatable_widget (ADW_ACTION_ROW (self), self->spin);
}

GtkWidget *
tn_spin_row_new (double min, double max, int digits)
{
  TnSpinRow *self = g_object_new (TN_TYPE_SPIN_ROW, NULL);
  tn_spin_row_set_digits (self, digits);
  tn_spin_row_set_range (self, min, max);
  return GTK_WIDGET (self);
}

void
tn_spin_row_set_range (TnSpinRow *self, double min, double max)
{
  g_return_if_fail (TN_IS_SPIN_ROW (self) && min <= max);
  g_signal_handler_block (self->adjustment, self->value_handler);
  gtk_spin_button_set_range (GTK_SPIN_BUTTON (self->spin), min, max);
  g_signal_handler_unblock (self->adjustment, self->value_handler);
}

void
tn_spin_row_set_digits (TnSpinRow *self, int digits)
{
  g_return_if_fail (TN_IS_SPIN_ROW (self));
  self->whole = digits == 0;
  gtk_spin_button_set_digits (GTK_SPIN_BUTTON (self->spin), (guint) digits);
}

void
tn_spin_row_set_increments (TnSpinRow *self, double step, double page)
{
  g_return_if_fail (TN_IS_SPIN_ROW (self));
  gtk_spin_button_set_increments (GTK_SPIN_BUTTON (self->spin), step, page);
}

void
tn_spin_row_set_unit (TnSpinRow *self, const char *unit)
{
  g_return_if_fail (TN_IS_SPIN_ROW (self));
  gtk_label_set_text (GTK_LABEL (self->unit), unit != NULL ? unit : "");
  gtk_widget_set_visible (self->unit, unit != NULL && *unit != '\0');
}

double
tn_spin_row_get_value (TnSpinRow *self)
{
  g_return_val_if_fail (TN_IS_SPIN_ROW (self), 0);
  return gtk_adjustment_get_value (self->adjustment);
}

void
tn_spin_row_set_value (TnSpinRow *self, double value)
{
  g_return_if_fail (TN_IS_SPIN_ROW (self));
  tn_row_set_error (TN_ROW (self), NULL);
  g_signal_handler_block (self->adjustment, self->value_handler);
  gtk_spin_button_set_value (GTK_SPIN_BUTTON (self->spin), value);
  /* Bad text may have stood there while the value stayed the same. */
  g_signal_emit_by_name (self->adjustment, "value-changed");
  g_signal_handler_unblock (self->adjustment, self->value_handler);
}
