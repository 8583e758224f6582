/* SPDX-License-Identifier: Apache-2.0 */
#include "page.h"

#include <glib/gi18n.h>

typedef struct
{
  const TnPageInfo *info;
  TnSelection *selection;
  TnRunControl *control;
  TnDocument *document;
  TnWidthClass width;
  gboolean built, mapped, stale_document, stale_run;
  guint stale_selection;
  char *badge, *explanation;

  GtkWidget *toolbar, *help_button, *help_label;
  GtkWidget *paned, *drawer;
  gboolean drawer_shown, drawer_placed;
} TnPagePrivate;

G_DEFINE_TYPE_WITH_PRIVATE (TnPage, tn_page, ADW_TYPE_BIN)

enum
{
  SIGNAL_VERBS_CHANGED,
  SIGNAL_BADGE_CHANGED,
  SIGNAL_TOAST,
  N_SIGNALS
};

static guint signals[N_SIGNALS];

static TnPagePrivate *
private_of (TnPage *self)
{
  return tn_page_get_instance_private (self);
}

/* Changes reach a page while it is shown; a hidden one is told once, when it is shown again. */

static void
tell (TnPage *self)
{
  TnPagePrivate *priv = private_of (self);
  TnPageClass *class = TN_PAGE_GET_CLASS (self);
  if (!priv->built || !priv->mapped)
    return;
  gboolean document = priv->stale_document, run = priv->stale_run;
  guint mask = priv->stale_selection;
  priv->stale_document = priv->stale_run = FALSE;
  priv->stale_selection = 0;
  if (document && class->document_changed != NULL)
    class->document_changed (self);
  if (run && class->run_changed != NULL)
    class->run_changed (self);
  if (mask != 0 && class->selection_changed != NULL)
    class->selection_changed (self, mask);
}

static void
edited_cb (TnDocument *document, const char *kind, const char *key, TnPage *self)
{
  TnPagePrivate *priv = private_of (self);
  if (!priv->built || !priv->mapped)
    priv->stale_document = TRUE;
  else if (TN_PAGE_GET_CLASS (self)->edited != NULL)
    TN_PAGE_GET_CLASS (self)->edited (self, kind, key);
}

static void
run_changed_cb (TnRunControl *control, TnPage *self)
{
  private_of (self)->stale_run = TRUE;
  tell (self);
}

static void
selection_changed_cb (TnSelection *selection, guint mask, TnPage *self)
{
  private_of (self)->stale_selection |= mask;
  tell (self);
}

static void
ensure_built (TnPage *self)
{
  TnPagePrivate *priv = private_of (self);
  if (priv->built || priv->info == NULL)
    return;
  if (TN_PAGE_GET_CLASS (self)->build != NULL)
    TN_PAGE_GET_CLASS (self)->build (self);
  priv->built = TRUE;
  priv->stale_document = priv->stale_run = TRUE;
  priv->stale_selection = G_MAXUINT;
  if (TN_PAGE_GET_CLASS (self)->width_changed != NULL)
    TN_PAGE_GET_CLASS (self)->width_changed (self, priv->width);
}

gboolean
tn_page_prepare (TnPage *self)
{
  g_return_val_if_fail (TN_IS_PAGE (self), FALSE);
  if (private_of (self)->built)
    return FALSE;
  ensure_built (self);
  int least, natural;
  gtk_widget_measure (GTK_WIDGET (self), GTK_ORIENTATION_HORIZONTAL, -1, &least, &natural, NULL, NULL);
  gtk_widget_measure (GTK_WIDGET (self), GTK_ORIENTATION_VERTICAL, natural, NULL, NULL, NULL, NULL);
  return TRUE;
}

static void
tn_page_map (GtkWidget *widget)
{
  TnPage *self = TN_PAGE (widget);
  TnPagePrivate *priv = private_of (self);
  ensure_built (self);
  GTK_WIDGET_CLASS (tn_page_parent_class)->map (widget);
  priv->mapped = TRUE;
  tell (self);
  tn_page_verbs_changed (self);
}

static void
tn_page_unmap (GtkWidget *widget)
{
  private_of (TN_PAGE (widget))->mapped = FALSE;
  GTK_WIDGET_CLASS (tn_page_parent_class)->unmap (widget);
}

static void
tn_page_dispose (GObject *object)
{
  TnPagePrivate *priv = private_of (TN_PAGE (object));
  if (!priv->drawer_placed)
    g_clear_object (&priv->drawer);
  g_clear_object (&priv->selection);
  g_clear_object (&priv->control);
  g_clear_object (&priv->document);
  G_OBJECT_CLASS (tn_page_parent_class)->dispose (object);
}

static void
tn_page_finalize (GObject *object)
{
  TnPagePrivate *priv = private_of (TN_PAGE (object));
  g_free (priv->badge);
  g_free (priv->explanation);
  G_OBJECT_CLASS (tn_page_parent_class)->finalize (object);
}

static void
tn_page_class_init (TnPageClass *class)
{
  G_OBJECT_CLASS (class)->dispose = tn_page_dispose;
  G_OBJECT_CLASS (class)->finalize = tn_page_finalize;
  GTK_WIDGET_CLASS (class)->map = tn_page_map;
  GTK_WIDGET_CLASS (class)->unmap = tn_page_unmap;
  GType type = G_TYPE_FROM_CLASS (class);
  signals[SIGNAL_VERBS_CHANGED] = g_signal_new ("verbs-changed", type, G_SIGNAL_RUN_LAST, 0, NULL, NULL, NULL, G_TYPE_NONE, 0);
  signals[SIGNAL_BADGE_CHANGED] = g_signal_new ("badge-changed", type, G_SIGNAL_RUN_LAST, 0, NULL, NULL, NULL, G_TYPE_NONE, 0);
  signals[SIGNAL_TOAST] = g_signal_new ("toast", type, G_SIGNAL_RUN_LAST, 0, NULL, NULL, NULL, G_TYPE_NONE, 1, G_TYPE_STRING);
}

static void
tn_page_init (TnPage *self)
{
  TnPagePrivate *priv = private_of (self);
  GtkWidget *box = gtk_box_new (GTK_ORIENTATION_VERTICAL, 0);
  /* Where the window is narrower than the tools, they move under the pointer and with the focus, and force nothing. */
  GtkWidget *scroller = gtk_scrolled_window_new ();
  gtk_scrolled_window_set_policy (GTK_SCROLLED_WINDOW (scroller), GTK_POLICY_EXTERNAL, GTK_POLICY_NEVER);
  gtk_widget_set_focusable (scroller, FALSE);
  priv->toolbar = gtk_box_new (GTK_ORIENTATION_HORIZONTAL, 6);
  gtk_widget_add_css_class (priv->toolbar, "toolbar");
  gtk_widget_add_css_class (priv->toolbar, "page-toolbar");
  priv->help_button = gtk_menu_button_new ();
  gtk_menu_button_set_icon_name (GTK_MENU_BUTTON (priv->help_button), "help-about-symbolic");
  gtk_widget_set_tooltip_text (priv->help_button, _("About this page"));
  gtk_accessible_update_property (GTK_ACCESSIBLE (priv->help_button), GTK_ACCESSIBLE_PROPERTY_LABEL, _("About this page"), -1);
  gtk_widget_set_halign (priv->help_button, GTK_ALIGN_END);
  gtk_box_append (GTK_BOX (priv->toolbar), priv->help_button);
  priv->paned = gtk_paned_new (GTK_ORIENTATION_VERTICAL);
  gtk_paned_set_shrink_start_child (GTK_PANED (priv->paned), FALSE);
  gtk_paned_set_resize_end_child (GTK_PANED (priv->paned), FALSE);
  gtk_paned_set_shrink_end_child (GTK_PANED (priv->paned), FALSE);
  gtk_widget_set_vexpand (priv->paned, TRUE);
  gtk_accessible_update_property (GTK_ACCESSIBLE (priv->paned), GTK_ACCESSIBLE_PROPERTY_LABEL, _("Page and drawer"), -1);
  gtk_scrolled_window_set_child (GTK_SCROLLED_WINDOW (scroller), priv->toolbar);
  gtk_box_append (GTK_BOX (box), scroller);
  gtk_box_append (GTK_BOX (box), priv->paned);
  adw_bin_set_child (ADW_BIN (self), box);
}

/* Context. */

void
tn_page_set_context (TnPage *self, const TnPageInfo *info, TnSelection *selection, TnRunControl *control)
{
  TnPagePrivate *priv = private_of (self);
  priv->info = info;
  priv->selection = g_object_ref (selection);
  priv->control = g_object_ref (control);
  g_signal_connect_object (selection, "changed", G_CALLBACK (selection_changed_cb), self, 0);
  g_signal_connect_object (control, "run-changed", G_CALLBACK (run_changed_cb), self, 0);

  g_autofree char *name = g_strconcat (info->id, "_page", NULL), *help = g_strconcat (info->id, "_help_button", NULL);
  gtk_widget_set_name (GTK_WIDGET (self), name);
  gtk_widget_set_name (priv->help_button, help);
  priv->help_label = gtk_label_new (_(info->help));
  gtk_label_set_wrap (GTK_LABEL (priv->help_label), TRUE);
  gtk_label_set_max_width_chars (GTK_LABEL (priv->help_label), 44);
  gtk_label_set_xalign (GTK_LABEL (priv->help_label), 0);
  gtk_widget_set_margin_top (priv->help_label, 6);
  gtk_widget_set_margin_bottom (priv->help_label, 6);
  gtk_widget_set_margin_start (priv->help_label, 6);
  gtk_widget_set_margin_end (priv->help_label, 6);
  GtkWidget *popover = gtk_popover_new ();
  gtk_popover_set_child (GTK_POPOVER (popover), priv->help_label);
  gtk_menu_button_set_popover (GTK_MENU_BUTTON (priv->help_button), popover);
}

void
tn_page_set_document (TnPage *self, TnDocument *document)
{
  TnPagePrivate *priv = private_of (self);
  if (priv->document == document)
    return;
  if (priv->document != NULL)
    g_signal_handlers_disconnect_by_func (priv->document, edited_cb, self);
  g_set_object (&priv->document, document);
  if (document != NULL)
    g_signal_connect_object (document, "edited", G_CALLBACK (edited_cb), self, 0);
  priv->stale_document = TRUE;
  tell (self);
}

void
tn_page_set_width (TnPage *self, TnWidthClass width)
{
  TnPagePrivate *priv = private_of (self);
  if (priv->width == width)
    return;
  priv->width = width;
  if (priv->built && TN_PAGE_GET_CLASS (self)->width_changed != NULL)
    TN_PAGE_GET_CLASS (self)->width_changed (self, width);
}

const TnPageInfo *
tn_page_info (TnPage *self)
{
  return private_of (self)->info;
}

TnSelection *
tn_page_selection (TnPage *self)
{
  return private_of (self)->selection;
}

TnRunControl *
tn_page_control (TnPage *self)
{
  return private_of (self)->control;
}

TnDocument *
tn_page_document (TnPage *self)
{
  return private_of (self)->document;
}

TnRun *
tn_page_run (TnPage *self)
{
  return tn_run_control_run (private_of (self)->control);
}

TnWidthClass
tn_page_width (TnPage *self)
{
  return private_of (self)->width;
}

/* Parts. */

void
tn_page_add_tool (TnPage *self, GtkWidget *tool)
{
  TnPagePrivate *priv = private_of (self);
  gtk_box_insert_child_after (GTK_BOX (priv->toolbar), tool, gtk_widget_get_prev_sibling (priv->help_button));
}

void
tn_page_set_content (TnPage *self, GtkWidget *content)
{
  gtk_widget_set_vexpand (content, TRUE);
  gtk_widget_set_hexpand (content, TRUE);
  gtk_paned_set_start_child (GTK_PANED (private_of (self)->paned), content);
}

static void
place_drawer (TnPage *self)
{
  TnPagePrivate *priv = private_of (self);
  if (priv->drawer == NULL || priv->drawer_shown == priv->drawer_placed)
    return;
  priv->drawer_placed = priv->drawer_shown;
  if (priv->drawer_shown)
    {
      gtk_paned_set_end_child (GTK_PANED (priv->paned), priv->drawer);
      g_object_unref (priv->drawer);
    }
  else
    {
      g_object_ref (priv->drawer);
      gtk_paned_set_end_child (GTK_PANED (priv->paned), NULL);
    }
}

void
tn_page_set_drawer (TnPage *self, GtkWidget *drawer)
{
  TnPagePrivate *priv = private_of (self);
  g_return_if_fail (priv->drawer == NULL);
  priv->drawer = g_object_ref_sink (drawer);
  gtk_widget_set_size_request (drawer, -1, 180);
  gtk_widget_add_css_class (drawer, "drawer");
  place_drawer (self);
}

void
tn_page_set_drawer_shown (TnPage *self, gboolean shown)
{
  private_of (self)->drawer_shown = shown;
  place_drawer (self);
}

gboolean
tn_page_has_drawer (TnPage *self)
{
  return private_of (self)->drawer != NULL;
}

void
tn_page_set_badge (TnPage *self, const char *text, const char *explanation)
{
  TnPagePrivate *priv = private_of (self);
  if (g_strcmp0 (text, priv->badge) == 0 && g_strcmp0 (explanation, priv->explanation) == 0)
    return;
  g_free (priv->badge);
  g_free (priv->explanation);
  priv->badge = g_strdup (text);
  priv->explanation = g_strdup (explanation);
  g_signal_emit (self, signals[SIGNAL_BADGE_CHANGED], 0);
}

const char *
tn_page_badge (TnPage *self)
{
  return private_of (self)->badge;
}

const char *
tn_page_badge_explanation (TnPage *self)
{
  return private_of (self)->explanation;
}

void
tn_page_verbs_changed (TnPage *self)
{
  g_signal_emit (self, signals[SIGNAL_VERBS_CHANGED], 0);
}

void
tn_page_toast (TnPage *self, const char *text)
{
  g_signal_emit (self, signals[SIGNAL_TOAST], 0, text);
}

guint
tn_page_verbs (TnPage *self)
{
  TnPageClass *class = TN_PAGE_GET_CLASS (self);
  return private_of (self)->built && class->verbs != NULL ? class->verbs (self) : 0;
}

gboolean
tn_page_perform (TnPage *self, TnPageVerb verb)
{
  TnPageClass *class = TN_PAGE_GET_CLASS (self);
  return (tn_page_verbs (self) & (1u << verb)) != 0 && class->perform != NULL && class->perform (self, verb);
}

const char *
tn_page_state (TnPage *self)
{
  TnPageClass *class = TN_PAGE_GET_CLASS (self);
  if (!private_of (self)->built)
    return "unbuilt";
  return class->state != NULL ? class->state (self) : "ready";
}

void
tn_page_show_help (TnPage *self)
{
  gtk_menu_button_popup (GTK_MENU_BUTTON (private_of (self)->help_button));
}
