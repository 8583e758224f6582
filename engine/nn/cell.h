/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
#include <json-glib/json-glib.h>
#include "ir/graph.h"

/* TnCell: one layer of a model, or a container of layers.
 *
 * A cell is made from a JSON object: "type" says its class (a row of the cell table), "name" its place in scopes and
 * parameter names, "inputs" which earlier cells it reads (without it: the one before), all other members are the options
 * of its class with MindSpore's names and defaults. Building a cell adds its operators and parameters to a graph:
 *
 *   {"type": "Conv2d", "name": "conv1", "out_channels": 6, "kernel": 5, "pad_mode": "valid", "has_bias": true}
 *   -> nodes under scope ".../conv1-Conv2d", parameters "conv1.weight" and "conv1.bias"
 *
 * in_channels and the like are taken from the input's shape where they are not given, and checked where they are. A cell is
 * immutable once made and belongs to its model. A new class is a new row in one of the files cells-*.c.
 */
typedef struct _TnCell TnCell;
typedef struct _TnCellClass TnCellClass;
typedef struct _TnCellBuild TnCellBuild;

typedef enum
{
  TN_OPTION_INT,
  TN_OPTION_FLOAT,
  TN_OPTION_BOOL,
  TN_OPTION_TEXT,
  TN_OPTION_CHOICE, /* one of the words in "choices" */
  TN_OPTION_INIT,   /* an initializer's text, or a number */
  TN_OPTION_INTS,   /* a list; one number stands for all of it */
  TN_OPTION_CELLS   /* a list of cells */
} TnOptionType;

typedef struct
{
  const char *name;
  TnOptionType type;
  gboolean required;
  double number;       /* default; NAN: none */
  const char *text;    /* default; of CHOICE: the first word is the default */
  double min, max;     /* of numbers and elements; both 0: any */
  int count;           /* INTS: how many numbers one number is spread to; 0: any list */
  const char *choices; /* "same|valid|pad" */
} TnOption;

struct _TnCellClass
{
  const char *name; /* "Conv2d" */
  const char *doc;
  int min_inputs, max_inputs; /* -1: any number */
  const TnOption *options;    /* ends with a NULL name */
  /** Returns the output, or NULL with the graph in the failed state. */
  TnValue *(*build) (TnCellBuild *build, const TnCell *cell, int n_inputs, TnValue **inputs);
};

/* What one build carries down the tree. */
struct _TnCellBuild
{
  TnGraph *graph;
  gboolean training;
  const char *init_preset;     /* "mindspore1", "mindspore2" */
  const char *const *freeze;   /* name patterns (globs), NULL-terminated, or NULL */
  GString *prefix;             /* of parameter names: "layer1.0." */
  GPtrArray *names, *values;   /* outputs by name, innermost last */
  const TnCell *failed;        /* the innermost cell in which the graph failed */
  gboolean located;            /* and the message has its path already */
};

/** Reads one cell at @path ("cells[3]"). Errors carry the path of the member, the value and what is allowed. */
TnCell *tn_cell_from_json (JsonNode *node, const char *path, int index, GError **error);
/** Reads a list of cells (also the model's own) into a new array that owns them. */
GPtrArray *tn_cells_from_json (JsonNode *node, const char *path, GError **error);
void tn_cell_free (TnCell *self);

/** Builds @self under its scope. */
TnValue *tn_cell_build (const TnCell *self, TnCellBuild *build, int n_inputs, TnValue **inputs);
/** Builds a list of cells, wired one after the other or by their "inputs" ("input" is what comes in). */
TnValue *tn_cells_build (GPtrArray *cells, TnCellBuild *build, TnValue *input);

const char *tn_cell_name (const TnCell *self);
const char *tn_cell_path (const TnCell *self);
const TnCellClass *tn_cell_class (const TnCell *self);

/* Classes in the order of the table; NULL past the end. */
const TnCellClass *tn_cell_class_at (int i);
const TnCellClass *tn_cell_class_find (const char *name);

/* ---- for rows of the table ---- */

gboolean tn_cell_has (const TnCell *self, const char *option); /* given in the JSON */
gint64 tn_cell_int (const TnCell *self, const char *option);
double tn_cell_float (const TnCell *self, const char *option);
gboolean tn_cell_bool (const TnCell *self, const char *option);
const char *tn_cell_text (const TnCell *self, const char *option); /* NULL if neither given nor defaulted */
int tn_cell_ints (const TnCell *self, const char *option, const int64_t **values);
GPtrArray *tn_cell_cells (const TnCell *self, const char *option); /* NULL if not given */

/** Puts the graph into the failed state: "cells[3].kernel: <message>"; @option may be NULL. Returns NULL. */
TnValue *tn_cell_fail (const TnCell *self, TnCellBuild *build, const char *option, const char *format, ...)
    G_GNUC_PRINTF (4, 5);

/** Parameter "<prefix><cell>.<name>" of the graph: the one that is there (training and evaluation graphs in one), or a new one
 * with @init, frozen if a pattern says so. NULL where the graph failed. */
TnValue *tn_cell_parameter (const TnCell *self, TnCellBuild *build, const char *name, TnShape shape, TnDType dtype,
                            TnParameterRole role, const char *init);
/** What the cell's option says, or the preset's initializer of a weight (he_uniform(sqrt5) / normal(0.01)). */
const char *tn_cell_weight_init (const TnCell *self, const TnCellBuild *build, const char *option);
/** The same for a bias beside a weight with @fan_in: uniform(1/sqrt(fan_in)) / zeros. In the graph's arena. */
const char *tn_cell_bias_init (const TnCell *self, const TnCellBuild *build, const char *option, double fan_in);
/** Applies an activation with its defaults by MindSpore's name of it ("relu", "gelu", "LeakyReLU"); NULL or "" is the identity.
 * For option @option of @self; NULL with the graph in the failed state. */
TnValue *tn_cell_activation (const TnCell *self, TnCellBuild *build, const char *option, TnValue *x);

/* The rows of each family, ended by a row without a name. */
extern const TnCellClass tn_cells_dense[];      /* cells-dense.c: Dense, Embedding, Flatten, Reshape, Dropout */
extern const TnCellClass tn_cells_conv[];       /* cells-conv.c: Conv2d, pools */
extern const TnCellClass tn_cells_norm[];       /* cells-norm.c: BatchNorm1d, BatchNorm2d, LayerNorm */
extern const TnCellClass tn_cells_activation[]; /* cells-activation.c */
extern const TnCellClass tn_cells_container[];  /* cells-container.c: SequentialCell, Residual, Add, Mul, Concat */
