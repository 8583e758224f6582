/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
#include <adwaita.h>

#include "adaptive-bin.h"
#include "document.h"
#include "draw/canvas-cairo.h"
#include "selection.h"
#include "shard-plan.h"

/* TnShardView: one of the views of the Sharding page: a picture and its table on one plan. The page gives all of them the plan, the
 * other strategy to compare with, and what is selected; a view tells the window's selection what was picked in it. */
#define TN_TYPE_SHARD_VIEW (tn_shard_view_get_type ())
G_DECLARE_DERIVABLE_TYPE (TnShardView, tn_shard_view, TN, SHARD_VIEW, AdwBin)

struct _TnShardViewClass
{
  AdwBinClass parent_class;
  void (*plan_changed) (TnShardView *self);
  void (*selected) (TnShardView *self); /* another item or rank */
  void (*width_changed) (TnShardView *self, TnWidthClass width);
  /** Paints the picture in light colours, for export; optional. */
  void (*paint) (TnShardView *self, TnCanvas *canvas, double width, double height);
  GtkWidget *(*canvas) (TnShardView *self); /* NULL: none */
  GtkWidget *(*table) (TnShardView *self);
  gpointer padding[4];
};

void tn_shard_view_set_selection (TnShardView *self, TnSelection *selection);
/** Both may be NULL. */
void tn_shard_view_set_plan (TnShardView *self, TnShardPlan *plan, TnShardPlan *other);
/** @item -1: stays as it is; @rank -1: none. */
void tn_shard_view_set_selected (TnShardView *self, int item, gint64 rank);
void tn_shard_view_set_width (TnShardView *self, TnWidthClass width);
gboolean tn_shard_view_can_paint (TnShardView *self);
void tn_shard_view_paint (TnShardView *self, TnCanvas *canvas, double width, double height);
GtkWidget *tn_shard_view_canvas (TnShardView *self);
GtkWidget *tn_shard_view_table (TnShardView *self);

/* For the views. */
TnShardPlan *tn_shard_view_plan (TnShardView *self);
TnShardPlan *tn_shard_view_other (TnShardView *self);
int tn_shard_view_item (TnShardView *self);
gint64 tn_shard_view_rank (TnShardView *self);
void tn_shard_view_pick_item (TnShardView *self, int item);
void tn_shard_view_pick_rank (TnShardView *self, gint64 rank);
/** Name and accessible label, which is the tooltip too. Returns @widget. */
GtkWidget *tn_shard_named (GtkWidget *widget, const char *id, const char *label);

/** A wrapping label shows @text; an empty one takes no room. */
void tn_shard_say (GtkWidget *label, const char *text);

GtkWidget *tn_shard_tensors_new (void);
GtkWidget *tn_shard_ranks_new (void);
GtkWidget *tn_shard_traffic_new (void);
GtkWidget *tn_shard_mesh_new (void);
