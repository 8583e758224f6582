/* SPDX-License-Identifier: Apache-2.0 */
#include "state-pane.h"

#include <adwaita.h>
#include <glib/gi18n.h>

#include "style.h"

struct _TnStatePane
{
  GtkWidget parent_instance;
  GtkWidget *stack;
  GtkWidget *status, *status_button; /* empty and failed: the same page with other words */
  GtkWidget *loading, *loading_label, *progress, *spinner, *cancel; /* made when first needed */
  const char *state;
  guint pulse; /* source, while the fraction is not known and the pane is mapped */
};

enum
{
  PROP_0,
  PROP_STATE,
  N_PROPS
};

static GParamSpec *properties[N_PROPS];
static guint cancelled_signal;

G_DEFINE_FINAL_TYPE (TnStatePane, tn_state_pane, GTK_TYPE_WIDGET)

static gboolean
pulse_cb (gpointer data)
{
  gtk_progress_bar_pulse (GTK_PROGRESS_BAR (TN_STATE_PANE (data)->progress));
  return G_SOURCE_CONTINUE;
}

static void
set_pulsing (TnStatePane *self, gboolean pulsing)
{
  if (pulsing == (self->pulse != 0))
    return;
  if (pulsing)
    self->pulse = g_timeout_add (100, pulse_cb, self);
  else
    g_clear_handle_id (&self->pulse, g_source_remove);
}

static void
set_state (TnStatePane *self, const char *state)
{
  if (g_strcmp0 (state, "loading") != 0)
    {
      set_pulsing (self, FALSE);
      if (self->spinner != NULL)
        gtk_spinner_stop (GTK_SPINNER (self->spinner));
    }
  if (g_strcmp0 (self->state, state) == 0)
    return;
  self->state = state;
  g_object_notify_by_pspec (G_OBJECT (self), properties[PROP_STATE]);
}

static void
cancel_cb (TnStatePane *self)
{
  g_signal_emit (self, cancelled_signal, 0);
}

static void
make_loading (TnStatePane *self)
{
  self->loading = gtk_box_new (GTK_ORIENTATION_VERTICAL, 12);
  gtk_widget_set_valign (self->loading, GTK_ALIGN_CENTER);
  gtk_widget_set_halign (self->loading, GTK_ALIGN_CENTER);
  self->spinner = gtk_spinner_new ();
  gtk_widget_set_size_request (self->spinner, 32, 32);
  self->loading_label = gtk_label_new (NULL);
  gtk_label_set_wrap (GTK_LABEL (self->loading_label), TRUE);
  gtk_label_set_justify (GTK_LABEL (self->loading_label), GTK_JUSTIFY_CENTER);
  gtk_widget_add_css_class (self->loading_label, "tn-tabular");
  self->progress = gtk_progress_bar_new ();
  gtk_widget_set_size_request (self->progress, 240, -1);
  gtk_accessible_update_property (GTK_ACCESSIBLE (self->progress), GTK_ACCESSIBLE_PROPERTY_LABEL, _ ("Progress"), -1);
  self->cancel = gtk_button_new_with_mnemonic (_ ("_Cancel"));
  gtk_widget_add_css_class (self->cancel, "pill");
  gtk_widget_set_halign (self->cancel, GTK_ALIGN_CENTER);
  g_signal_connect_swapped (self->cancel, "clicked", G_CALLBACK (cancel_cb), self);
  gtk_box_append (GTK_BOX (self->loading), self->spinner);
  gtk_box_append (GTK_BOX (self->loading), self->loading_label);
  gtk_box_append (GTK_BOX (self->loading), self->progress);
  gtk_box_append (GTK_BOX (self->loading), self->cancel);
  gtk_stack_add_named (GTK_STACK (self->stack), self->loading, "loading");
}

static void
make_status (TnStatePane *self)
{
  self->status = adw_status_page_new ();
  self->status_button = gtk_button_new ();
  gtk_widget_add_css_class (self->status_button, "pill");
  gtk_widget_add_css_class (self->status_button, "suggested-action");
  gtk_widget_set_halign (self->status_button, GTK_ALIGN_CENTER);
  adw_status_page_set_child (ADW_STATUS_PAGE (self->status), self->status_button);
  gtk_stack_add_named (GTK_STACK (self->stack), self->status, "status");
}

static void
show_status (TnStatePane *self, const char *state, const char *icon, const char *title, const char *text, const char *button,
             const char *action)
{
  if (self->status == NULL)
    make_status (self);
  g_autofree char *plain = g_markup_escape_text (text != NULL ? text : "", -1);
  g_autofree char *plain_title = g_markup_escape_text (title, -1);
  adw_status_page_set_icon_name (ADW_STATUS_PAGE (self->status), icon);
  adw_status_page_set_title (ADW_STATUS_PAGE (self->status), plain_title);
  adw_status_page_set_description (ADW_STATUS_PAGE (self->status), plain);
  gtk_widget_set_visible (self->status_button, button != NULL);
  if (button != NULL)
    {
      gtk_button_set_label (GTK_BUTTON (self->status_button), button);
      gtk_button_set_use_underline (GTK_BUTTON (self->status_button), TRUE);
      gtk_actionable_set_action_name (GTK_ACTIONABLE (self->status_button), action);
    }
  gtk_stack_set_visible_child (GTK_STACK (self->stack), self->status);
  set_state (self, state);
}

static void
tn_state_pane_map (GtkWidget *widget)
{
  TnStatePane *self = TN_STATE_PANE (widget);
  GTK_WIDGET_CLASS (tn_state_pane_parent_class)->map (widget);
  if (g_strcmp0 (self->state, "loading") == 0)
    set_pulsing (self, gtk_progress_bar_get_fraction (GTK_PROGRESS_BAR (self->progress)) <= 0);
}

static void
tn_state_pane_unmap (GtkWidget *widget)
{
  set_pulsing (TN_STATE_PANE (widget), FALSE);
  GTK_WIDGET_CLASS (tn_state_pane_parent_class)->unmap (widget);
}

static void
tn_state_pane_get_property (GObject *object, guint id, GValue *value, GParamSpec *pspec)
{
  if (id == PROP_STATE)
    g_value_set_string (value, TN_STATE_PANE (object)->state);
  else
    G_OBJECT_WARN_INVALID_PROPERTY_ID (object, id, pspec);
}

static void
tn_state_pane_dispose (GObject *object)
{
  TnStatePane *self = TN_STATE_PANE (object);
  set_pulsing (self, FALSE);
  g_clear_pointer (&self->stack, gtk_widget_unparent);
  G_OBJECT_CLASS (tn_state_pane_parent_class)->dispose (object);
}

static void
tn_state_pane_class_init (TnStatePaneClass *klass)
{
  GObjectClass *object_class = G_OBJECT_CLASS (klass);
  GtkWidgetClass *widget_class = GTK_WIDGET_CLASS (klass);
  object_class->get_property = tn_state_pane_get_property;
  object_class->dispose = tn_state_pane_dispose;
  widget_class->map = tn_state_pane_map;
  widget_class->unmap = tn_state_pane_unmap;
  properties[PROP_STATE] = g_param_spec_string ("state", NULL, NULL, NULL, G_PARAM_READABLE | G_PARAM_STATIC_STRINGS);
  g_object_class_install_properties (object_class, N_PROPS, properties);
  cancelled_signal = g_signal_new ("cancelled", TN_TYPE_STATE_PANE, G_SIGNAL_RUN_LAST, 0, NULL, NULL, NULL, G_TYPE_NONE, 0);
  gtk_widget_class_set_layout_manager_type (widget_class, GTK_TYPE_BIN_LAYOUT);
}

static void
tn_state_pane_init (TnStatePane *self)
{
  tn_style_ensure ();
  self->state = "ready";
  self->stack = gtk_stack_new ();
  gtk_stack_set_vhomogeneous (GTK_STACK (self->stack), FALSE);
  gtk_stack_set_hhomogeneous (GTK_STACK (self->stack), FALSE);
  gtk_widget_set_parent (self->stack, GTK_WIDGET (self));
}

GtkWidget *
tn_state_pane_new (GtkWidget *content)
{
  TnStatePane *self = g_object_new (TN_TYPE_STATE_PANE, NULL);
  gtk_stack_add_named (GTK_STACK (self->stack), content, "content");
  return GTK_WIDGET (self);
}

void
tn_state_pane_set_empty (TnStatePane *self, const char *icon, const char *title, const char *text, const char *button,
                         const char *action)
{
  g_return_if_fail (TN_IS_STATE_PANE (self));
  show_status (self, "empty", icon, title, text, button, action);
}

void
tn_state_pane_set_failed (TnStatePane *self, const char *title, const char *text, const char *button, const char *action)
{
  g_return_if_fail (TN_IS_STATE_PANE (self));
  show_status (self, "failed", "dialog-error-symbolic", title, text, button, action);
}

void
tn_state_pane_set_loading (TnStatePane *self, const char *text, double fraction)
{
  g_return_if_fail (TN_IS_STATE_PANE (self));
  if (self->loading == NULL)
    make_loading (self);
  gtk_label_set_text (GTK_LABEL (self->loading_label), text);
  gtk_widget_set_visible (self->cancel, g_signal_has_handler_pending (self, cancelled_signal, 0, TRUE));
  gtk_progress_bar_set_fraction (GTK_PROGRESS_BAR (self->progress), MAX (fraction, 0));
  gtk_spinner_start (GTK_SPINNER (self->spinner));
  gtk_stack_set_visible_child (GTK_STACK (self->stack), self->loading);
  set_state (self, "loading");
  set_pulsing (self, fraction < 0 && gtk_widget_get_mapped (GTK_WIDGET (self)));
}

void
tn_state_pane_set_content (TnStatePane *self)
{
  g_return_if_fail (TN_IS_STATE_PANE (self));
  gtk_stack_set_visible_child_name (GTK_STACK (self->stack), "content");
  set_state (self, "ready");
}

const char *
tn_state_pane_get_state (TnStatePane *self)
{
  g_return_val_if_fail (TN_IS_STATE_PANE (self), NULL);
  return self->state;
}
