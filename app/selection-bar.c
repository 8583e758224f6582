/* SPDX-License-Identifier: Apache-2.0 */
#include "selection-bar.h"

#include <glib/gi18n.h>

#include "chip.h"
#include "page.h"

struct _TnSelectionBar
{
  AdwBin parent_instance;
  TnSelection *selection;
  GtkWidget *chips;
};

G_DEFINE_FINAL_TYPE (TnSelectionBar, tn_selection_bar, ADW_TYPE_BIN)

static void
cleared_cb (TnChip *chip, TnSelectionBar *self)
{
  tn_selection_clear (self->selection, GPOINTER_TO_UINT (g_object_get_data (G_OBJECT (chip), "tn-part")));
}

static GMenuModel *
menu_for (TnSelectionPart part)
{
  GMenu *menu = g_menu_new ();
  g_autoptr (GMenu) pages = g_menu_new ();
  for (const TnPageInfo *info = tn_pages; info->id != NULL; info++)
    {
      g_autofree char *action = g_strdup_printf ("win.page('%s')", info->id);
      g_menu_append (pages, _(info->title), action);
    }
  g_menu_append_submenu (menu, _("Show in"), G_MENU_MODEL (pages));
  g_autofree char *copy = g_strdup_printf ("selection.copy(uint32 %u)", part), *clear = g_strdup_printf ("selection.clear(uint32 %u)", part);
  g_menu_append (menu, _("Copy"), copy);
  g_menu_append (menu, _("Clear"), clear);
  return G_MENU_MODEL (menu);
}

static void
copy_action (GtkWidget *widget, const char *name, GVariant *parameter)
{
  TnSelectionBar *self = TN_SELECTION_BAR (widget);
  g_autofree char *text = tn_selection_value (self->selection, (TnSelectionPart) g_variant_get_uint32 (parameter));
  if (text != NULL)
    gdk_clipboard_set_text (gtk_widget_get_clipboard (widget), text);
}

static void
clear_action (GtkWidget *widget, const char *name, GVariant *parameter)
{
  tn_selection_clear (TN_SELECTION_BAR (widget)->selection, g_variant_get_uint32 (parameter));
}

static void
refresh (TnSelectionBar *self)
{
  GtkWidget *child;
  while ((child = gtk_widget_get_first_child (self->chips)) != NULL)
    gtk_box_remove (GTK_BOX (self->chips), child);
  guint parts = tn_selection_parts (self->selection);
  for (int i = 0; i < TN_SELECTION_N_PARTS; i++)
    {
      TnSelectionPart part = (TnSelectionPart) (1u << i);
      if ((parts & part) == 0)
        continue;
      g_autofree char *text = tn_selection_describe (self->selection, part), *id = g_strdup_printf ("selection_chip:%d", i);
      g_autoptr (GMenuModel) menu = menu_for (part);
      GtkWidget *chip = tn_chip_new (text, menu);
      gtk_widget_set_name (chip, id);
      g_object_set_data (G_OBJECT (chip), "tn-part", GUINT_TO_POINTER (part));
      g_signal_connect (chip, "cleared", G_CALLBACK (cleared_cb), self);
      gtk_box_append (GTK_BOX (self->chips), chip);
    }
  gtk_widget_set_visible (GTK_WIDGET (self), parts != 0);
}

static void
changed_cb (TnSelection *selection, guint mask, TnSelectionBar *self)
{
  if (mask & ~(guint) TN_SELECTION_HOVER)
    refresh (self);
}

static void
tn_selection_bar_dispose (GObject *object)
{
  g_clear_object (&TN_SELECTION_BAR (object)->selection);
  G_OBJECT_CLASS (tn_selection_bar_parent_class)->dispose (object);
}

static void
tn_selection_bar_class_init (TnSelectionBarClass *class)
{
  GtkWidgetClass *widget_class = GTK_WIDGET_CLASS (class);
  G_OBJECT_CLASS (class)->dispose = tn_selection_bar_dispose;
  gtk_widget_class_install_action (widget_class, "selection.copy", "u", copy_action);
  gtk_widget_class_install_action (widget_class, "selection.clear", "u", clear_action);
}

static void
tn_selection_bar_init (TnSelectionBar *self)
{
  GtkWidget *box = gtk_box_new (GTK_ORIENTATION_HORIZONTAL, 12), *scroller = gtk_scrolled_window_new ();
  GtkWidget *label = gtk_label_new (_("Selection")), *clear = gtk_button_new_with_label (_("Clear All"));
  self->chips = gtk_box_new (GTK_ORIENTATION_HORIZONTAL, 6);
  gtk_widget_add_css_class (label, "dim-label");
  gtk_scrolled_window_set_policy (GTK_SCROLLED_WINDOW (scroller), GTK_POLICY_EXTERNAL, GTK_POLICY_NEVER);
  gtk_scrolled_window_set_child (GTK_SCROLLED_WINDOW (scroller), self->chips);
  gtk_widget_set_hexpand (scroller, TRUE);
  gtk_actionable_set_action_name (GTK_ACTIONABLE (clear), "win.clear-all");
  gtk_widget_set_name (clear, "selection_clear_button");
  gtk_widget_add_css_class (clear, "flat");
  gtk_box_append (GTK_BOX (box), label);
  gtk_box_append (GTK_BOX (box), scroller);
  gtk_box_append (GTK_BOX (box), clear);
  gtk_widget_add_css_class (box, "selection-bar");
  adw_bin_set_child (ADW_BIN (self), box);
  gtk_widget_set_name (GTK_WIDGET (self), "selection_bar");
  gtk_widget_set_visible (GTK_WIDGET (self), FALSE);
}

GtkWidget *
tn_selection_bar_new (TnSelection *selection)
{
  TnSelectionBar *self = g_object_new (TN_TYPE_SELECTION_BAR, NULL);
  self->selection = g_object_ref (selection);
  g_signal_connect_object (selection, "changed", G_CALLBACK (changed_cb), self, 0);
  refresh (self);
  return GTK_WIDGET (self);
}
