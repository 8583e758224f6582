/* SPDX-License-Identifier: Apache-2.0 */
#include "banner.h"

#include "style.h"

struct _TnBanner
{
  GtkWidget parent_instance;
  GtkWidget *bar, *icon, *content, *label, *buttons;
};

G_DEFINE_FINAL_TYPE (TnBanner, tn_banner, GTK_TYPE_WIDGET)

static void
response_cb (GtkInfoBar *bar, int response, TnBanner *self)
{
  if (response == GTK_RESPONSE_CLOSE)
    tn_banner_hide (self);
}

/* Out of the layout only when it has slid away, so that the page does not jump. */
static void
revealed_cb (GtkRevealer *revealer, GParamSpec *pspec, TnBanner *self)
{
  if (!gtk_revealer_get_child_revealed (revealer) && !gtk_info_bar_get_revealed (GTK_INFO_BAR (self->bar)))
    gtk_widget_set_visible (GTK_WIDGET (self), FALSE);
}

static void
tn_banner_dispose (GObject *object)
{
  TnBanner *self = TN_BANNER (object);
  g_clear_pointer (&self->bar, gtk_widget_unparent);
  G_OBJECT_CLASS (tn_banner_parent_class)->dispose (object);
}

static void
tn_banner_class_init (TnBannerClass *klass)
{
  G_OBJECT_CLASS (klass)->dispose = tn_banner_dispose;
  gtk_widget_class_set_layout_manager_type (GTK_WIDGET_CLASS (klass), GTK_TYPE_BIN_LAYOUT);
  gtk_widget_class_set_accessible_role (GTK_WIDGET_CLASS (klass), GTK_ACCESSIBLE_ROLE_ALERT);
}

static void
tn_banner_init (TnBanner *self)
{
  tn_style_ensure ();
  gtk_widget_add_css_class (GTK_WIDGET (self), "tn-banner");
  gtk_widget_set_visible (GTK_WIDGET (self), FALSE);
  self->bar = gtk_info_bar_new ();
  gtk_info_bar_set_revealed (GTK_INFO_BAR (self->bar), FALSE);
  gtk_info_bar_set_show_close_button (GTK_INFO_BAR (self->bar), TRUE);
  g_signal_connect (self->bar, "response", G_CALLBACK (response_cb), self);
  gtk_widget_set_parent (self->bar, GTK_WIDGET (self));

  self->icon = gtk_image_new ();
  self->label = gtk_label_new (NULL);
  gtk_label_set_wrap (GTK_LABEL (self->label), TRUE);
  gtk_label_set_wrap_mode (GTK_LABEL (self->label), PANGO_WRAP_WORD_CHAR);
  gtk_label_set_xalign (GTK_LABEL (self->label), 0);
  gtk_label_set_width_chars (GTK_LABEL (self->label), 16);
  gtk_widget_add_css_class (self->label, "tn-message");
  gtk_widget_set_hexpand (self->label, TRUE);
  self->buttons = gtk_flow_box_new ();
  gtk_flow_box_set_selection_mode (GTK_FLOW_BOX (self->buttons), GTK_SELECTION_NONE);
  gtk_flow_box_set_column_spacing (GTK_FLOW_BOX (self->buttons), 3);
  gtk_widget_set_valign (self->buttons, GTK_ALIGN_CENTER);
  gtk_info_bar_add_child (GTK_INFO_BAR (self->bar), self->icon);
  /* One line of text and one button fit beside each other; more buttons stand below. */
  self->content = gtk_box_new (GTK_ORIENTATION_HORIZONTAL, 6);
  gtk_widget_set_hexpand (self->content, TRUE);
  gtk_box_append (GTK_BOX (self->content), self->label);
  gtk_box_append (GTK_BOX (self->content), self->buttons);
  gtk_info_bar_add_child (GTK_INFO_BAR (self->bar), self->content);
  GtkWidget *revealer = gtk_widget_get_first_child (self->bar);
  if (GTK_IS_REVEALER (revealer))
    g_signal_connect (revealer, "notify::child-revealed", G_CALLBACK (revealed_cb), self);
}

GtkWidget *
tn_banner_new (void)
{
  return g_object_new (TN_TYPE_BANNER, NULL);
}

void
tn_banner_show (TnBanner *self, GtkMessageType type, const char *text)
{
  g_return_if_fail (TN_IS_BANNER (self));
  gtk_info_bar_set_message_type (GTK_INFO_BAR (self->bar), type);
  gtk_image_set_from_icon_name (GTK_IMAGE (self->icon), type == GTK_MESSAGE_ERROR     ? "dialog-error-symbolic"
                                                        : type == GTK_MESSAGE_WARNING ? "dialog-warning-symbolic"
                                                                                      : "dialog-information-symbolic");
  gtk_label_set_text (GTK_LABEL (self->label), text);
  gtk_accessible_update_property (GTK_ACCESSIBLE (self), GTK_ACCESSIBLE_PROPERTY_LABEL, text, -1);
  gtk_widget_set_visible (GTK_WIDGET (self), TRUE);
  gtk_info_bar_set_revealed (GTK_INFO_BAR (self->bar), TRUE);
}

void
tn_banner_hide (TnBanner *self)
{
  g_return_if_fail (TN_IS_BANNER (self));
  gtk_info_bar_set_revealed (GTK_INFO_BAR (self->bar), FALSE);
  if (!gtk_widget_get_mapped (GTK_WIDGET (self)))
    gtk_widget_set_visible (GTK_WIDGET (self), FALSE);
}

gboolean
tn_banner_get_revealed (TnBanner *self)
{
  g_return_val_if_fail (TN_IS_BANNER (self), FALSE);
  return gtk_info_bar_get_revealed (GTK_INFO_BAR (self->bar));
}

const char *
tn_banner_get_text (TnBanner *self)
{
  g_return_val_if_fail (TN_IS_BANNER (self), NULL);
  return gtk_label_get_text (GTK_LABEL (self->label));
}

static void
arrange (TnBanner *self)
{
  guint n = 0;
  for (GtkWidget *child = gtk_widget_get_first_child (self->buttons); child != NULL; child = gtk_widget_get_next_sibling (child))
    n++;
  gtk_flow_box_set_max_children_per_line (GTK_FLOW_BOX (self->buttons), MAX (n, 1));
  gtk_flow_box_set_min_children_per_line (GTK_FLOW_BOX (self->buttons), n < 3 ? MAX (n, 1) : 1);
  gtk_orientable_set_orientation (GTK_ORIENTABLE (self->content), n < 3 ? GTK_ORIENTATION_HORIZONTAL : GTK_ORIENTATION_VERTICAL);
  gtk_widget_set_visible (self->buttons, n > 0);
}

GtkWidget *
tn_banner_add_button (TnBanner *self, const char *label, const char *action, GVariant *target)
{
  g_return_val_if_fail (TN_IS_BANNER (self), NULL);
  GtkWidget *button = gtk_button_new_with_mnemonic (label);
  if (target != NULL)
    gtk_actionable_set_action_target_value (GTK_ACTIONABLE (button), target);
  gtk_actionable_set_action_name (GTK_ACTIONABLE (button), action);
  gtk_flow_box_append (GTK_FLOW_BOX (self->buttons), button);
  gtk_widget_set_focusable (gtk_widget_get_parent (button), FALSE);
  arrange (self);
  return button;
}

void
tn_banner_clear_buttons (TnBanner *self)
{
  g_return_if_fail (TN_IS_BANNER (self));
  GtkWidget *button;
  while ((button = gtk_widget_get_first_child (self->buttons)) != NULL)
    gtk_flow_box_remove (GTK_FLOW_BOX (self->buttons), button);
  arrange (self);
}

void
tn_banner_set_closable (TnBanner *self, gboolean closable)
{
  g_return_if_fail (TN_IS_BANNER (self));
  gtk_info_bar_set_show_close_button (GTK_INFO_BAR (self->bar), closable);
}
