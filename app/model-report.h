/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
#include <gio/gio.h>
#include <json-glib/json-glib.h>

#include "tensor/dtype.h"
#include "tensor/shape.h"

/* TnModelReport: what a model's text comes to when it is built: shapes, parameters, bytes, and the first thing that does not fit.
 *
 * Built in a worker thread, from the same code as training uses; the result is immutable. Cells are named by their place in the
 * text, "cells[3]" or "cells[3].body[0]", as the engine's messages name them.
 *
 *   tn_model_report_async (network, "conv1.*", "mindspore2", cancellable, done_cb, self);
 */
typedef struct
{
  char *path, *name, *type;
  char *scope;           /* of its operators in the graph: "Default/network-LeNet5/conv1-Conv2d" */
  TnShape output;        /* of one sample */
  gboolean built;        /* output is known: no error before it */
  int64_t parameters;    /* elements, trained and frozen, of the cell and what is in it */
  int64_t bytes;         /* of what it gives on for one sample; 0 for a view of its input and for containers */
  double flops;          /* forward, one sample */
} TnCellReport;

typedef struct
{
  char *name;
  TnShape shape;
  TnDType dtype;
  int64_t elements, bytes;
  gboolean statistic; /* running statistics: not trained at all */
  gboolean frozen;
  char *init;
} TnParameterReport;

typedef struct
{
  gatomicrefcount ref_count;
  char *name;
  TnShape input;
  GPtrArray *cells;      /* TnCellReport, as they stand in the text */
  GHashTable *by_path;   /* path -> TnCellReport */
  GArray *parameters;    /* TnParameterReport */
  int64_t trained, bytes;
  double flops;

  /* The first error; error is NULL where there is none. */
  char *error;           /* in words */
  char *error_path;      /* of its cell; NULL where it is not one cell's */
  char *fix_option;      /* an option of that cell that would mend it, or NULL */
  int64_t fix_value;
} TnModelReport;

/** @network: the model's JSON (copied). @freeze, @init: settings train.freeze (NULL: the model's own) and init.preset. */
void tn_model_report_async (JsonNode *network, const char *freeze, const char *init, GCancellable *cancellable,
                            GAsyncReadyCallback callback, gpointer user_data);
/** NULL only where it was cancelled. */
TnModelReport *tn_model_report_finish (GAsyncResult *result, GError **error);
/** The same at once, for tests and tools. */
TnModelReport *tn_model_report_new (JsonNode *network, const char *freeze, const char *init);
TnModelReport *tn_model_report_ref (TnModelReport *self);
void tn_model_report_unref (TnModelReport *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (TnModelReport, tn_model_report_unref)

const TnCellReport *tn_model_report_cell (const TnModelReport *self, const char *path);
/** "6×28×28"; "scalar" for none. Free with g_free. */
char *tn_model_shape_text (const TnShape *shape);
