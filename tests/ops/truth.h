/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
#include "ir/graph.h"
#include <json-glib/json-glib.h>

/* Truth cases: what another framework computed, replayed on our operators.
 *
 * A case is one object of a truth file's "cases" that has "op" and "inputs" (shared/truth/torch/numbers/README.md gives the
 * form). For each case the harness (truth-case.c) makes a graph whose inputs are the case's inputs, asks the mapping of the
 * case's operator to build the outputs, adds the gradients that the case knows, runs it in float64 and in float32, and
 * compares. A mapping is a row of truth-map-a.c or truth-map-b.c:
 *
 *   static gboolean
 *   build_transpose (TruthCase *c, TnGraph *graph)
 *   {
 *     TnValue *x = truth_input (c, "x");
 *     ...
 *     truth_output (c, tn_op (graph, "Transpose", TN_IN (x), TN_ATTRS (tn_attr_ints ("perm", n, perm))));
 *     return TRUE;
 *   }
 *
 * Outputs are given in the order of the case's "outputs". Attributes take other values in cases that are not here: a
 * mapping reads all of them, with torch's defaults where one is missing or null.
 */
#define TRUTH_MAX_INTS 64

typedef struct
{
  JsonObject *json; /* the case */
  JsonObject *attrs; /* never NULL */
  const char *id, *op, *note; /* note: "" if there is none */
  TnDType dtype;     /* float dtype of this run: float64 or float32 */
  TnGraph *graph;
  GPtrArray *outputs; /* TnValue; filled by truth_output() */
} TruthCase;

typedef struct
{
  const char *op; /* torch's name, as in the file */
  /* Returns FALSE where the case asks for something that no operator does: it then counts as "no operator yet". */
  gboolean (*build) (TruthCase *c, TnGraph *graph);
} TruthMapping;

extern const TruthMapping truth_map_a[]; /* each ends with a row without op */
extern const TruthMapping truth_map_b[];

/** Input @name as graph input, of the run's dtype if it is a float; NULL if the case has none of that name. */
TnValue *truth_input (TruthCase *c, const char *name);
/** Inputs by place, in the order of the arguments, for operators with any number of them. */
int truth_n_inputs (TruthCase *c);
TnValue *truth_input_at (TruthCase *c, int i);
/** The values of an input, for operators that take as attribute what torch takes as tensor. New reference; NULL if none. */
TnTensor *truth_input_tensor (TruthCase *c, const char *name);

/** Appends an output. NULL (after a failure to build) is fine: the case then fails with the graph's error. */
void truth_output (TruthCase *c, TnValue *value);

/** TRUE if the attribute is there and not null. */
gboolean truth_has (TruthCase *c, const char *attr);
double truth_float (TruthCase *c, const char *attr, double missing);
gint64 truth_int (TruthCase *c, const char *attr, gint64 missing);
gboolean truth_bool (TruthCase *c, const char *attr, gboolean missing);
const char *truth_string (TruthCase *c, const char *attr, const char *missing);
/** One number or a list: its length, 0 if missing, null or an empty list. @values has room for TRUTH_MAX_INTS. */
int truth_ints (TruthCase *c, const char *attr, int64_t *values);

/* For tests that read truth files of other forms (tests/nn). */
/** The folders to read: those below $TENON_TRUTH (default: ../shared/truth beside the source root) and tests/data/truth, as
 * full paths of the .json files, sorted. Elements are freed with the array. */
GPtrArray *truth_files (const char *folder);
/** $TENON_TRUTH or the default; NULL if there is no such folder. Free with g_free. */
char *truth_folder (void);
/** tests/data/truth of the source tree. Free with g_free. */
char *truth_own_folder (void);
/** A file's top object, with -0 kept apart from 0; NULL if it is not JSON or not an object. Free with json_node_unref. */
JsonNode *truth_load (const char *path);
/** {dtype, shape, data} (dtype may be missing: float64) as tensor; floats become @float_dtype. New reference. */
TnTensor *truth_tensor (JsonObject *object, TnDType float_dtype);
/** Same shape, and every element |got - want| <= tolerance · max |want| + absolute (non-finite values exactly alike).
 * TRUE, or FALSE with *message = what differs most (free with g_free). */
gboolean truth_compare (TnTensor *got, TnTensor *want, double tolerance, double absolute, char **message);
