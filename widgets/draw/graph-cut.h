/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
#include "ir/graph-document.h"

/* TnGraphFolds: which scopes of a document are open, and what is shown of it. TnGraphCut: what that leaves to be drawn.
 *
 * The document never changes; opening a scope makes a new cut. Each scope stands once on every side that it has operators on
 * (forward, backward, optimizer). A closed scope is one box; an open one is a frame around its boxes. Five or more equal
 * boxes beside each other become one, "×12". Parameters, constants and order-only links are counted in the boxes that use
 * them, unless they are asked for.
 *
 *   TnGraphFolds *folds = tn_graph_folds_new (document);
 *   g_autoptr (TnGraphCut) cut = tn_graph_cut_new (folds);
 *
 * Folds belong to one thread; a cut is read only once made and may go to another. */
#define TN_GRAPH_MAX_BOXES 150
#define TN_GRAPH_HARD_CAP 500
#define TN_GRAPH_FAN_LIMIT 8

typedef enum
{
  TN_SHOW_FORWARD,
  TN_SHOW_BACKWARD, /* and forward */
  TN_SHOW_ALL
} TnGraphPhases;

typedef struct
{
  TnGraphPhases phases;
  gboolean parameters, constants, control, tunnels, fold, to_right;
  int max_boxes;
} TnGraphShow;

typedef struct
{
  TnGraphDocument *document;
  TnGraphShow show;
  gboolean *open;     /* by scope */
  gboolean *unfolded; /* by scope; the last one for what lies in none */
  guint32 *opened_at; /* by scope: the order of opening */
  guint32 clock;
  int only; /* scope that alone is shown; -1 */
  int *first_child, *next, *first_item, *next_item; /* the tree; place n_scopes is above all */
  gboolean *transparent; /* scopes that hold everything: no frame */
  guint64 *hash[3];      /* structure of a scope on a side */
  int *count[3];         /* operators of a scope on a side */
  guint8 *side;          /* of an item */
  gboolean *order_only;  /* items that have only control links */
} TnGraphFolds;

TnGraphFolds *tn_graph_folds_new (TnGraphDocument *document);
void tn_graph_folds_free (TnGraphFolds *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (TnGraphFolds, tn_graph_folds_free)

/** Opens scopes from above while the boxes fit into show.max_boxes; layers stay closed. */
void tn_graph_folds_reset (TnGraphFolds *self);
/** Opens all, as far as TN_GRAPH_HARD_CAP boxes allow; FALSE if some stayed closed. */
gboolean tn_graph_folds_expand_all (TnGraphFolds *self);
void tn_graph_folds_collapse_all (TnGraphFolds *self);
/** Opens @scope and all it lies in. Where that passes the hard cap, scopes opened longest ago are closed: returns how many. */
int tn_graph_folds_open (TnGraphFolds *self, int scope);
void tn_graph_folds_close (TnGraphFolds *self, int scope);
/** Opens what hides @item. */
int tn_graph_folds_reveal (TnGraphFolds *self, int item);
/** How many boxes a cut would have. */
int tn_graph_folds_count (const TnGraphFolds *self);
/** The open scopes as text, to be kept and set again ("Default/a\nDefault/b"). Free with g_free. */
char *tn_graph_folds_to_text (const TnGraphFolds *self);
void tn_graph_folds_from_text (TnGraphFolds *self, const char *text);

typedef enum
{
  TN_SIDE_FORWARD,
  TN_SIDE_BACKWARD,
  TN_SIDE_OPTIMIZER
} TnGraphSide;

typedef enum
{
  TN_BOX_ITEM,
  TN_BOX_SCOPE,
  TN_BOX_TAG,   /* a parameter or constant, or one end's name of a link that is not drawn */
  TN_BOX_BUNDLE /* "… 214 more" */
} TnGraphBoxKind;

typedef struct
{
  TnGraphBoxKind kind;
  TnGraphSide side;
  int item;   /* the operator; of a scope with one operator, that one; of a folded box the first; -1 */
  int scope;  /* the scope that it stands for, or lies in; -1 */
  int frame;  /* it stands in; -1 */
  int match;  /* box of the forward side that belongs to this backward one; -1 */
  int n_ops, n_folded; /* n_folded 1: is no fold */
  int n_parameters, n_constants, n_control; /* not drawn */
  int n_bundled; /* links that a bundle stands for */
  gboolean can_open, is_input;
  const char *title, *type, *shape; /* "conv1", "Conv2d", "32×6×28×28" */
  guint64 key; /* the same in every cut */
  double width, height;
} TnGraphBox;

typedef struct
{
  int scope, frame; /* frame: that it stands in; -1 */
  TnGraphSide side;
  int match; /* the frame of the same scope on the forward side; -1 */
  const char *title;
  guint64 key;
} TnGraphFrame;

typedef enum
{
  TN_EDGE_DATA,
  TN_EDGE_CONTROL,
  TN_EDGE_COMMUNICATION,
  TN_EDGE_TUNNEL,   /* a numbered tag at each end */
  TN_EDGE_GRADIENT, /* from the backward side to the optimizer, on the common line */
  TN_EDGE_TURN      /* from the loss into the backward side */
} TnGraphEdgeKind;

typedef struct
{
  int from, to; /* boxes */
  TnGraphEdgeKind kind;
  int n_links, number; /* number: of the tunnel */
  double bytes;
} TnGraphEdge;

typedef struct
{
  gint refs;
  TnGraphDocument *document;
  TnGraphShow show;
  int n_boxes, n_frames, n_edges, n_tunnels;
  TnGraphBox *boxes;
  TnGraphFrame *frames; /* a frame stands before those in it */
  TnGraphEdge *edges;
  int *box_of_item; /* -1: not shown */
  int n_hidden;     /* operators of sides that are not shown */
  guint64 hash;     /* equal cuts of one graph have equal hashes */
  gboolean has_columns; /* forward and backward side by side */
} TnGraphCut;

TnGraphCut *tn_graph_cut_new (const TnGraphFolds *folds);
TnGraphCut *tn_graph_cut_ref (TnGraphCut *self);
void tn_graph_cut_unref (TnGraphCut *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (TnGraphCut, tn_graph_cut_unref)

/** Number of the box with this key, or -1. */
int tn_graph_cut_find (const TnGraphCut *self, guint64 key);
/** The other ends of a tunnel's tag at @box: boxes, up to @max; returns how many there are. */
int tn_graph_cut_tunnel_ends (const TnGraphCut *self, int box, int number, int *ends, int max);
/** Width of @text at @size pixels, the same on every machine and never less than what is drawn by much. */
double tn_graph_text_width (const char *text, double size, gboolean bold);
