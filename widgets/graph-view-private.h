/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
#include "graph-view.h"

/* What graph-view.c and graph-gestures.c share. */
struct _TnGraphView
{
  GtkWidget parent_instance;
  GtkWidget *data_layer, *hover_layer, *minimap, *badge, *busy_box;
  TnGraphDocument *document;
  TnGraphFolds *folds;
  guint8 *changes;   /* by item */
  TnGraphCut *cut;
  TnGraphLayout *layout;
  TnGraphLayout *moving; /* between the old places and the new ones; NULL: at rest */
  TnRect *from_boxes, *from_frames;
  TnGraphOverlay *overlay;
  TnBoxValue *values;
  guint8 *marks;     /* by box */
  gboolean *lit;     /* by item; NULL: no trace */
  gboolean *selected; /* by item */
  int selected_scope; /* -1 */
  int last;          /* item selected last; -1 */
  int cursor;        /* box; -1 */
  int hover;         /* box under the pointer; -1 */
  TnGraphTransform transform;
  gboolean was_fitted, wants_fit;
  int wants_reveal; /* item to be brought into view after the layout; -1 */
  GHashTable *cache; /* hash of a cut -> layout */
  GCancellable *cancellable;
  guint busy_source, tick;
  gint64 moved_at;
  int seconds;
  gboolean minimap_shown;
  double pointer_x, pointer_y;
  TnRect band;      /* rubber band in the view; width 0: none */
  TnGraphTransform drag_start;
  double pinch_scale;
};

void tn_graph_view_add_gestures (TnGraphView *self);
void tn_graph_view_install_actions (GtkWidgetClass *class);
TnRect tn_graph_view_minimap_area (TnGraphView *self);
/** The place of box @b in the view. */
TnRect tn_graph_view_box_rect (TnGraphView *self, int b);
void tn_graph_view_set_transform (TnGraphView *self, TnGraphTransform transform);
void tn_graph_view_set_cursor (TnGraphView *self, int box);
void tn_graph_view_select_box (TnGraphView *self, int box, gboolean add);
void tn_graph_view_clear_selection (TnGraphView *self);
void tn_graph_view_toggle_box (TnGraphView *self, int box);
void tn_graph_view_close_scope (TnGraphView *self, int scope);
void tn_graph_view_follow_tunnel (TnGraphView *self, int box, int number);
