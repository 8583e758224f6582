/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
#include "ir/graph-document.h"

/* The structure of an ONNX model as a document: nodes, values, initializers by name and shape. Weights are not read, external
 * files are not opened, unknown operators and domains are boxes like all others. Bodies of If, Loop and Scan are scopes below
 * their node. Names with "/" or "." in them give the scopes.
 *
 * A damaged end gives what stands before it, with a note. Errors: TN_ERROR_FORMAT where there is no graph in the bytes. */
TnGraphDocument *tn_onnx_graph_read (const void *data, gsize n, const char *name, GError **error);
/** Whether the bytes may be an ONNX model: a message whose first fields are those of a ModelProto. */
gboolean tn_onnx_graph_sniff (const void *data, gsize n);
