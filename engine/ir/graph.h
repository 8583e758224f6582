/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
#include "base/arena.h"
#include "tensor/tensor.h"

/* TnGraph: operators and the values between them.
 *
 * A graph is a list of nodes in an order in which they can run. A node applies one row of the operator table (ops/op.h)
 * to values and makes values. Inputs, parameters and constants are nodes too, without inputs. Everything lives in the
 * graph's arena and goes with it; values and nodes are plain pointers. A graph is built by one thread; once built it is
 * read by any number. Passes do not change a graph, they make another one whose nodes say where they come from.
 *
 *   g_autoptr (TnGraph) graph = tn_graph_new ("LeNet5");
 *   TnValue *x = tn_graph_add_input (graph, "x", TN_DTYPE_F32, TN_SHAPE (32, 400));
 *   TnValue *w = tn_graph_add_parameter (graph, "fc.weight", TN_DTYPE_F32, TN_SHAPE (120, 400), &(TnParameterInfo){ .init = "he_uniform" });
 *   TnValue *y = tn_op (graph, "MatMul", TN_IN (x, w), TN_ATTRS (tn_attr_bool ("transpose_b", TRUE)));
 *   tn_graph_add_output (graph, "logits", y);
 *   if (!tn_graph_check (graph, &error)) ...      // the first thing that went wrong while building
 */
typedef struct _TnGraph TnGraph;
typedef struct _TnNode TnNode;
typedef struct _TnValue TnValue;
typedef struct _TnOp TnOp;

typedef enum
{
  TN_PHASE_FORWARD,
  TN_PHASE_BACKWARD,
  TN_PHASE_OPTIMIZER,
  TN_PHASE_COMMUNICATION,
  TN_PHASE_RECOMPUTE
} TnPhase;

const char *tn_phase_name (TnPhase phase);

typedef enum
{
  TN_ATTR_INT,
  TN_ATTR_FLOAT,
  TN_ATTR_BOOL,
  TN_ATTR_STRING,
  TN_ATTR_INTS,
  TN_ATTR_FLOATS,
  TN_ATTR_DTYPE,
  TN_ATTR_TENSOR
} TnAttrType;

/* One attribute of a node. Strings and arrays are copied into the graph's arena when the node is made; tensors are
 * referenced until the graph goes. */
typedef struct
{
  const char *name;
  TnAttrType type;
  int count; /* of ints and floats */
  union
  {
    gint64 i; /* also bool and dtype */
    double f;
    const char *s;
    const int64_t *ints;
    const double *floats;
    TnTensor *tensor;
  };
} TnAttr;

static inline TnAttr tn_attr_int (const char *name, gint64 v) { return (TnAttr){ .name = name, .type = TN_ATTR_INT, .i = v }; }
static inline TnAttr tn_attr_bool (const char *name, gboolean v) { return (TnAttr){ .name = name, .type = TN_ATTR_BOOL, .i = !!v }; }
static inline TnAttr tn_attr_float (const char *name, double v) { return (TnAttr){ .name = name, .type = TN_ATTR_FLOAT, .f = v }; }
static inline TnAttr tn_attr_string (const char *name, const char *v) { return (TnAttr){ .name = name, .type = TN_ATTR_STRING, .s = v }; }
static inline TnAttr tn_attr_dtype (const char *name, TnDType v) { return (TnAttr){ .name = name, .type = TN_ATTR_DTYPE, .i = v }; }
static inline TnAttr tn_attr_ints (const char *name, int n, const int64_t *v) { return (TnAttr){ .name = name, .type = TN_ATTR_INTS, .count = n, .ints = v }; }
static inline TnAttr tn_attr_floats (const char *name, int n, const double *v) { return (TnAttr){ .name = name, .type = TN_ATTR_FLOATS, .count = n, .floats = v }; }
static inline TnAttr tn_attr_tensor (const char *name, TnTensor *v) { return (TnAttr){ .name = name, .type = TN_ATTR_TENSOR, .tensor = v }; }

struct _TnValue
{
  TnNode *node; /* that makes it */
  int index;    /* among the node's outputs */
  TnDType dtype;
  TnShape shape;
};

struct _TnNode
{
  TnGraph *graph;
  const TnOp *op;
  int id;            /* position in the graph's node list */
  const char *name;  /* unique in the graph: "conv1/Conv2D-op0"; of a parameter: its own name */
  const char *scope; /* "Default/network-LeNet5/conv1" */
  TnPhase phase;
  int from; /* id of the node that this one comes from in the graph that a person's model built; -1: made by the compiler */
  int n_attrs, n_inputs, n_outputs, n_subgraphs;
  TnAttr *attrs;
  TnValue **inputs;
  TnValue *outputs;
  TnGraph **subgraphs; /* If: then, else; While: condition, body */
};

typedef enum
{
  TN_ROLE_TRAINED,   /* updated by the optimizer */
  TN_ROLE_STATISTIC, /* running statistics: written by the forward pass, no gradient */
  TN_ROLE_OPTIMIZER  /* momentum and its like */
} TnParameterRole;

/* What is known of a parameter beside its shape. @init is an initializer's text ("zeros", "normal(0.02)"), see
 * nn/initializer.h; the values are made later, from the parameter's name as key (deferred initialisation). */
typedef struct
{
  TnParameterRole role;
  gboolean frozen; /* requires_grad = False */
  const char *init;
} TnParameterInfo;

typedef struct
{
  const char *name;
  TnValue *value;
} TnNamedValue;

/* ---- building ---- */

TnGraph *tn_graph_new (const char *name);
TnGraph *tn_graph_ref (TnGraph *self);
void tn_graph_unref (TnGraph *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (TnGraph, tn_graph_unref)

TnValue *tn_graph_add_input (TnGraph *self, const char *name, TnDType dtype, TnShape shape);
TnValue *tn_graph_add_parameter (TnGraph *self, const char *name, TnDType dtype, TnShape shape, const TnParameterInfo *info);
TnValue *tn_graph_add_constant (TnGraph *self, TnTensor *tensor);
TnValue *tn_graph_add_scalar (TnGraph *self, TnDType dtype, double value);
void tn_graph_add_output (TnGraph *self, const char *name, TnValue *value);

#define TN_IN(...) (int) (sizeof ((TnValue *[]){ __VA_ARGS__ }) / sizeof (TnValue *)), (TnValue *[]){ __VA_ARGS__ }
#define TN_ATTRS(...) (int) (sizeof ((TnAttr[]){ __VA_ARGS__ }) / sizeof (TnAttr)), (TnAttr[]){ __VA_ARGS__ }
#define TN_NO_ATTRS 0, NULL

/**
 * tn_graph_add_node: applies operator @op. A NULL among @inputs (from an earlier failure) or anything that the operator's
 * rule refuses puts the graph into the failed state: this and every later call then return NULL, and tn_graph_check()
 * gives the first error. So rules and layers read straight down without checks.
 */
TnNode *tn_graph_add_node (TnGraph *self, const char *op, int n_inputs, TnValue **inputs, int n_attrs, const TnAttr *attrs);
/** The same with subgraphs (If, While), which the node then owns a reference to. */
TnNode *tn_graph_add_node_full (TnGraph *self, const char *op, int n_inputs, TnValue **inputs, int n_attrs, const TnAttr *attrs,
                                int n_subgraphs, TnGraph **subgraphs);
/** The first output of a new node: most operators have one. */
TnValue *tn_op (TnGraph *self, const char *op, int n_inputs, TnValue **inputs, int n_attrs, const TnAttr *attrs);
/** Output @index of @value's node, or NULL where @value is NULL. */
TnValue *tn_value_sibling (TnValue *value, int index);

/** FALSE with the first error of building. */
gboolean tn_graph_check (TnGraph *self, GError **error);
/** Puts the graph into the failed state, for layers that find something wrong; takes @error. */
void tn_graph_fail (TnGraph *self, GError *error);
gboolean tn_graph_failed (TnGraph *self);

/* Scope and phase of the nodes that follow. Scopes nest with "/". */
void tn_graph_push_scope (TnGraph *self, const char *scope);
void tn_graph_pop_scope (TnGraph *self);
const char *tn_graph_scope (TnGraph *self);
void tn_graph_set_phase (TnGraph *self, TnPhase phase);
/** Nodes that follow come from @node (NULL: nothing). Their scope is @node's. For passes and gradients. */
void tn_graph_set_origin (TnGraph *self, const TnNode *node);

/** Adds a copy of a node of another graph on @inputs: operator, attributes, subgraphs, name, scope and phase stay, and it
 * comes from where @node comes from, or from @node itself. Leaves are copied too (@inputs is then not read). */
TnNode *tn_graph_copy_node (TnGraph *self, const TnNode *node, TnValue **inputs);

/* ---- reading ---- */

const char *tn_graph_name (const TnGraph *self);
TnArena *tn_graph_arena (TnGraph *self);
int tn_graph_n_nodes (const TnGraph *self);
TnNode *tn_graph_node (const TnGraph *self, int id);
int tn_graph_n_outputs (const TnGraph *self);
TnNamedValue tn_graph_output (const TnGraph *self, int i);
TnValue *tn_graph_find_output (const TnGraph *self, const char *name); /* NULL if none */
int tn_graph_n_inputs (const TnGraph *self);
TnValue *tn_graph_input (const TnGraph *self, int i);
int tn_graph_n_parameters (const TnGraph *self);
TnValue *tn_graph_parameter (const TnGraph *self, int i);
TnValue *tn_graph_find_parameter (const TnGraph *self, const char *name);

gboolean tn_node_is (const TnNode *node, const char *op);
gboolean tn_node_is_input (const TnNode *node);
gboolean tn_node_is_parameter (const TnNode *node);
gboolean tn_node_is_constant (const TnNode *node);
const TnParameterInfo *tn_node_parameter_info (const TnNode *node);
/** Constant nodes: the tensor. */
TnTensor *tn_node_constant (const TnNode *node);

const TnAttr *tn_node_attr (const TnNode *node, const char *name); /* NULL if it was not given */
/* Attribute values, or what the operator's row says where they were not given. */
gint64 tn_node_int (const TnNode *node, const char *name);
double tn_node_float (const TnNode *node, const char *name);
gboolean tn_node_bool (const TnNode *node, const char *name);
const char *tn_node_string (const TnNode *node, const char *name);
int tn_node_ints (const TnNode *node, const char *name, const int64_t **values); /* count; 0 if not given */
int tn_node_floats (const TnNode *node, const char *name, const double **values);

/** How often each value is read (outputs of the graph count), indexed [node id][output]: to be freed with g_free of the
 * flat array; @first[id] is the index of node id's first output. */
int *tn_graph_use_counts (const TnGraph *self, int **first);
