/* SPDX-License-Identifier: Apache-2.0 */
#include "shard-view.h"

typedef struct
{
  TnShardPlan *plan, *other;
  TnSelection *selection;
  int item;
  gint64 rank;
} TnShardViewPrivate;

G_DEFINE_ABSTRACT_TYPE_WITH_PRIVATE (TnShardView, tn_shard_view, ADW_TYPE_BIN)

static TnShardViewPrivate *
private_of (TnShardView *self)
{
  return tn_shard_view_get_instance_private (self);
}

static void
tn_shard_view_finalize (GObject *object)
{
  TnShardViewPrivate *p = private_of (TN_SHARD_VIEW (object));
  g_clear_pointer (&p->plan, tn_shard_plan_unref);
  g_clear_pointer (&p->other, tn_shard_plan_unref);
  g_clear_object (&p->selection);
  G_OBJECT_CLASS (tn_shard_view_parent_class)->finalize (object);
}

static void
tn_shard_view_class_init (TnShardViewClass *klass)
{
  G_OBJECT_CLASS (klass)->finalize = tn_shard_view_finalize;
}

static void
tn_shard_view_init (TnShardView *self)
{
  private_of (self)->item = -1;
  private_of (self)->rank = -1;
}

void
tn_shard_view_set_selection (TnShardView *self, TnSelection *selection)
{
  g_set_object (&private_of (self)->selection, selection);
}

void
tn_shard_view_set_plan (TnShardView *self, TnShardPlan *plan, TnShardPlan *other)
{
  TnShardViewPrivate *p = private_of (self);
  TnShardPlan *old = p->plan, *old_other = p->other;
  p->plan = plan != NULL ? tn_shard_plan_ref (plan) : NULL;
  p->other = other != NULL ? tn_shard_plan_ref (other) : NULL;
  if (p->plan == NULL || (guint) p->item >= p->plan->items->len)
    p->item = -1;
  TN_SHARD_VIEW_GET_CLASS (self)->plan_changed (self);
  tn_shard_plan_unref (old);
  tn_shard_plan_unref (old_other);
}

void
tn_shard_view_set_selected (TnShardView *self, int item, gint64 rank)
{
  TnShardViewPrivate *p = private_of (self);
  if (item < 0)
    item = p->item;
  if (p->item == item && p->rank == rank)
    return;
  p->item = item;
  p->rank = rank;
  if (p->plan != NULL)
    TN_SHARD_VIEW_GET_CLASS (self)->selected (self);
}

void
tn_shard_view_set_width (TnShardView *self, TnWidthClass width)
{
  if (TN_SHARD_VIEW_GET_CLASS (self)->width_changed != NULL)
    TN_SHARD_VIEW_GET_CLASS (self)->width_changed (self, width);
}

gboolean
tn_shard_view_can_paint (TnShardView *self)
{
  return TN_SHARD_VIEW_GET_CLASS (self)->paint != NULL && private_of (self)->plan != NULL;
}

void
tn_shard_view_paint (TnShardView *self, TnCanvas *canvas, double width, double height)
{
  TN_SHARD_VIEW_GET_CLASS (self)->paint (self, canvas, width, height);
}

GtkWidget *
tn_shard_view_canvas (TnShardView *self)
{
  return TN_SHARD_VIEW_GET_CLASS (self)->canvas != NULL ? TN_SHARD_VIEW_GET_CLASS (self)->canvas (self) : NULL;
}

GtkWidget *
tn_shard_view_table (TnShardView *self)
{
  return TN_SHARD_VIEW_GET_CLASS (self)->table != NULL ? TN_SHARD_VIEW_GET_CLASS (self)->table (self) : NULL;
}

TnShardPlan *
tn_shard_view_plan (TnShardView *self)
{
  return private_of (self)->plan;
}

TnShardPlan *
tn_shard_view_other (TnShardView *self)
{
  return private_of (self)->other;
}

int
tn_shard_view_item (TnShardView *self)
{
  return private_of (self)->item;
}

gint64
tn_shard_view_rank (TnShardView *self)
{
  return private_of (self)->rank;
}

void
tn_shard_view_pick_item (TnShardView *self, int item)
{
  TnShardViewPrivate *p = private_of (self);
  const TnShardItem *it = p->plan != NULL && item >= 0 ? tn_shard_plan_item (p->plan, (guint) item) : NULL;
  if (it == NULL || p->item == item)
    return;
  tn_selection_set_text (p->selection, TN_SELECTION_PARAMETER, it->name);
  tn_shard_view_set_selected (self, item, p->rank);
}

void
tn_shard_view_pick_rank (TnShardView *self, gint64 rank)
{
  TnShardViewPrivate *p = private_of (self);
  if (rank < 0 || p->rank == rank)
    return;
  tn_selection_set_range (p->selection, TN_SELECTION_RANK, rank, rank);
  tn_shard_view_set_selected (self, p->item, rank);
}

GtkWidget *
tn_shard_named (GtkWidget *widget, const char *id, const char *label)
{
  gtk_widget_set_name (widget, id);
  gtk_widget_set_tooltip_text (widget, label);
  gtk_accessible_update_property (GTK_ACCESSIBLE (widget), GTK_ACCESSIBLE_PROPERTY_LABEL, label, -1);
  return widget;
}

void
tn_shard_say (GtkWidget *label, const char *text)
{
  gtk_label_set_text (GTK_LABEL (label), text);
  gtk_widget_set_visible (label, *text != '\0');
}
