/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
#include "base/arena.h"
#include "tensor/dtype.h"
#include "tensor/shape.h"

/* TnIrDocument: what stands in an .ir file, whoever wrote it.
 *
 * Reads the text dumps of MindSpore 2.1 and later (and ours) into plain structures; most of what older releases write is
 * understood as well. Files are taken as they are: unknown lines stay as notes with what they follow, a node that cannot
 * be split is kept as text with @unparsed set, a file that ends early gives what came before. Nothing is resolved:
 * operands are references by number or name. To make a TnGraph again, see ir/ir-reader.h.
 *
 * All strings are valid UTF-8 and live in the document. Built by one thread, then read by any number.
 *
 *   g_autoptr (TnIrDocument) document = tn_ir_document_load (path, &error);
 *   const TnIrGraph *entry = tn_ir_document_entry (document);
 *   for (guint i = 0; i < entry->nodes->len; i++) ...
 */
#define TN_IR_MAX_BYTES (256u << 20)

typedef enum
{
  TN_IR_OPERAND_NODE,      /* %3 */
  TN_IR_OPERAND_PARAMETER, /* %para2_fc.weight */
  TN_IR_OPERAND_GRAPH,     /* @4_body */
  TN_IR_OPERAND_FREE,      /* $(@4_body:para2_x), $(@4_body:CNode_3): a value of another graph */
  TN_IR_OPERAND_VALUE      /* F32(0.1), Tensor(shape=...), "text", None, ... */
} TnIrOperandKind;

typedef struct
{
  TnIrOperandKind kind;
  int number;       /* k of %k, N of %paraN (also of a free parameter); -1 else */
  const char *text; /* as it stands there; of a graph: its name without @ */
} TnIrOperand;

typedef struct
{
  const char *name;
  const char *value;
} TnIrAttr;

/* What stands between < and >. A tensor or Ref of one has dtype and shape; a dimension of -1 is not known. */
typedef struct
{
  gboolean is_tensor, is_ref, has_dtype, has_shape;
  TnDType dtype;
  TnShape shape;
} TnIrType;

typedef struct
{
  int number; /* N of %paraN */
  const char *name;
  const char *type;    /* "Ref[Tensor[Float32]], (5, 3), ref_key=fc.weight"; NULL where none stands there */
  const char *ref_key; /* NULL: not a parameter of the model but an input */
  gboolean has_default;
} TnIrParameter;

typedef struct
{
  int number;           /* k of %k; -1: Return */
  const char *name;     /* "CNode_310" */
  const char *op;       /* "Conv2D", "PrimFunc_MatMul", "call @4_body", "%5", "Return" */
  const char *instance; /* {instance name: ...}; NULL if none */
  int n_operands, n_attrs, n_inputs, n_outputs, n_notes;
  TnIrOperand *operands;
  TnIrAttr *attrs;          /* primitive_attrs, then cnode_attrs and cnode_primal_attrs, strategies */
  const char **inputs;      /* types; "null" where nothing was inferred */
  const char **outputs;     /* types */
  const char *device_types; /* the further ": (...)" line of the kernels; NULL if none */
  const char *fullname;     /* "Default/fc-Dense/MatMul-op0"; NULL if none */
  const char *scope;        /* "Default/fc-Dense"; NULL if none */
  const char **notes;       /* comment lines without blanks and "# " before them, in order */
  int line;                 /* in the file, from 1 */
  int stopped_at;           /* number after #------------------------>; -1 if there is none */
  gboolean unparsed;        /* @op is the whole line */
} TnIrNode;

typedef struct
{
  const char *name;      /* without @ */
  const char *parent;    /* NULL: none */
  GPtrArray *parameters; /* TnIrParameter; of the entry they stand in the document */
  GPtrArray *nodes;      /* TnIrNode, in the file's order, without Return */
  TnIrNode *result;      /* Return; NULL if there is none */
  GPtrArray *attrs;      /* TnIrAttr of "subgraph attr:" */
  GPtrArray *notes;      /* comment lines before it */
  GPtrArray *order;      /* names of nodes under "# Order:" */
  int line;
} TnIrGraph;

typedef struct
{
  TnArena *arena;
  const char *entry; /* name without @; NULL if the file does not say */
  /* what the header says; -1 if it does not. The lists may have other numbers in optimised files. */
  int total_subgraphs, total_params, total_nodes, total_cnodes;
  GPtrArray *attrs;      /* TnIrAttr of "# Attrs:" */
  GPtrArray *jit_config; /* TnIrAttr of "jit config {" */
  GPtrArray *parameters; /* TnIrParameter of the entry */
  GPtrArray *graphs;     /* TnIrGraph, in the file's order */
  gboolean truncated;    /* the text ends inside a graph */
} TnIrDocument;

/** @n: bytes, or -1 for a string that ends in 0. Errors: TN_ERROR_FORMAT where it is no .ir text at all or too large. */
TnIrDocument *tn_ir_document_parse (const char *text, gssize n, GError **error);
TnIrDocument *tn_ir_document_load (const char *path, GError **error);
void tn_ir_document_free (TnIrDocument *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (TnIrDocument, tn_ir_document_free)

/** The graph that "# IR entry" names; else the last one; NULL where the file has none. */
const TnIrGraph *tn_ir_document_entry (const TnIrDocument *self);
const TnIrGraph *tn_ir_document_find (const TnIrDocument *self, const char *name);
/** Value of the attribute, or NULL. */
const char *tn_ir_node_attr (const TnIrNode *node, const char *name);
/** Splits a type's text. Never fails: what is not there is not set. */
TnIrType tn_ir_type_parse (const char *text);
