/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
#include "base/arena.h"
#include "ir/graph.h"
#include "ir/ir-text.h"

/* TnGraphDocument: a graph to look at, wherever it comes from.
 *
 * The graph page, its table and `tenon-cli graph` know only this: our own graphs, .ir and .dot files of MindSpore and of
 * others, ONNX models all become items (operators, inputs, parameters, constants) in a tree of scopes, with links between
 * them. Nothing here can run. Strings are valid UTF-8 and live in the document's arena.
 *
 * Built by one thread (add items, scopes, links, then finish once), then read by any number; references are atomic.
 *
 *   g_autoptr (TnGraphDocument) document = tn_graph_document_load ("24_execute_0816.ir", &error);
 *   for (int i = 0; i < document->n_items; i++) puts (document->items[i].name);
 *
 * A file that is damaged in the middle gives what stands before that place; `note` then says where and what. */

#define TN_GRAPH_DOCUMENT_MAX_ITEMS 2000000
#define TN_GRAPH_DOCUMENT_MAX_LINKS 8000000
#define TN_GRAPH_DOCUMENT_MAX_BYTES (512u << 20) /* of a file */
#define TN_GRAPH_DOCUMENT_MAX_SIDE_BY_SIDE 100   /* in one scope: more are put into made scopes in the order of the data */
#define TN_GRAPH_DOCUMENT_MAX_DEPTH 64           /* of scopes: what is deeper lies in the 64th */

typedef enum
{
  TN_ITEM_OPERATOR,
  TN_ITEM_INPUT,
  TN_ITEM_OUTPUT,
  TN_ITEM_PARAMETER,
  TN_ITEM_STATE, /* of the optimizer */
  TN_ITEM_CONSTANT
} TnItemKind;

typedef struct
{
  const char *name, *value;
} TnItemAttr;

typedef struct
{
  const char *name;  /* the whole name: "Default/network-LeNet5/conv1-Conv2d/Conv2D-op0" */
  const char *label; /* what to call it where its scope is seen: "Conv2D" */
  const char *op;    /* "Conv2D"; "" where there is none */
  const char *shape; /* of the first output: "32×6×28×28"; "" where it is not known */
  const char *dtype; /* "float32"; "" */
  int scope;         /* -1: none */
  TnItemKind kind;
  TnPhase phase;
  int from;  /* the forward item that this backward one belongs to; -1 */
  int order; /* id of the node in the TnGraph, line in a file; -1 */
  double flops, bytes; /* of work; 0 where not known */
  double output_bytes;
  int n_attrs;
  const TnItemAttr *attrs;
} TnGraphItem;

typedef struct
{
  int from, to;         /* items */
  int from_port, to_port;
  gboolean control;     /* order only */
  double bytes;         /* 0: not known */
} TnGraphLink;

typedef struct
{
  const char *path; /* "Default/network-LeNet5/conv1-Conv2d" */
  const char *name; /* "conv1-Conv2d" */
  const char *label; /* "conv1" */
  const char *type;  /* "Conv2d"; "" */
  int parent, depth;
  int n_items; /* with those of the scopes in it, parameters and constants not counted */
  gboolean made; /* by us, as too much lay side by side: "nodes 101–200" */
} TnGraphScope;

typedef struct
{
  gint refs;
  TnArena *arena;
  const char *name;   /* of the graph */
  const char *format; /* "Tenon", "MindSpore .ir", "ONNX", ".dot" */
  const char *note;   /* NULL, or "line 812: unexpected “)”. Graph up to node 431 shown" */
  gboolean has_phases; /* there are backward or optimizer items */
  gboolean undirected;
  int n_items, n_links, n_scopes;
  TnGraphItem *items;
  TnGraphLink *links;
  TnGraphScope *scopes; /* a parent stands before its children */
  /* Made by finish: links by their end and by their start: in_links[in_first[i] .. in_first[i + 1]) enter item i. */
  int *in_first, *in_links, *out_first, *out_links;
  guint64 hash; /* of everything that is drawn */
  /* While building. */
  GArray *item_array, *link_array, *scope_array;
  GHashTable *scope_index, *strings;
} TnGraphDocument;

TnGraphDocument *tn_graph_document_new (const char *name, const char *format);
TnGraphDocument *tn_graph_document_ref (TnGraphDocument *self);
void tn_graph_document_unref (TnGraphDocument *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (TnGraphDocument, tn_graph_document_unref)

/* ---- building ---- */

/** A copy of @text in the document, one for equal texts; "" for NULL. */
const char *tn_graph_document_text (TnGraphDocument *self, const char *text);
/** Number of the scope @path ("a/b/c"), made with all it lies in where it is new; -1 for "" and NULL. */
int tn_graph_document_scope (TnGraphDocument *self, const char *path);
/** Adds a copy of @item, whose strings may be anybody's. Its number; -1 where there are too many. */
int tn_graph_document_add (TnGraphDocument *self, const TnGraphItem *item);
/** Adds an attribute to the item that was added last. */
void tn_graph_document_add_attr (TnGraphDocument *self, const char *name, const char *value);
/** Both ends must have been added; FALSE where there are too many. */
gboolean tn_graph_document_link (TnGraphDocument *self, const TnGraphLink *link);
TnGraphItem *tn_graph_document_item (TnGraphDocument *self, int i);
void tn_graph_document_set_note (TnGraphDocument *self, const char *note);
void tn_graph_document_finish (TnGraphDocument *self);

/* ---- from other things ---- */

/** Our own graph with its phases. */
TnGraphDocument *tn_graph_document_from_graph (const TnGraph *graph);
TnGraphDocument *tn_graph_document_from_ir (const TnIrDocument *ir, const char *name);
/** Reads .ir, .dot and .gv, .onnx, told apart by what is in them. Errors: TN_ERROR_FORMAT where nothing can be shown. */
TnGraphDocument *tn_graph_document_load (const char *path, GError **error);
TnGraphDocument *tn_graph_document_from_bytes (const void *data, gsize n, const char *name, GError **error);

/* ---- reading ---- */

const char *tn_item_kind_name (TnItemKind kind);
const char *tn_item_attr (const TnGraphItem *item, const char *name);
/** First item of this name, or -1. */
int tn_graph_document_find (const TnGraphDocument *self, const char *name);
/** "32×6×28×28"; "scalar" without dimensions; "?" for unknown ones. Free with g_free. */
char *tn_graph_shape_text (const TnShape *shape);
/** One line an item, columns as the header says; numbers in the C locale. Free with g_free. */
char *tn_graph_document_to_csv (const TnGraphDocument *self);
/** One item as a JSON object, with its inputs and outputs by name. Free with g_free. */
char *tn_graph_document_item_json (const TnGraphDocument *self, int item);
char *tn_graph_document_to_json (const TnGraphDocument *self);
/** Graphviz text that tn_graph_document_load() reads back with the same items, links and scopes. Free with g_free. */
char *tn_graph_document_to_dot (const TnGraphDocument *self);
