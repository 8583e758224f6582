/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
#include "ir/graph.h"
#include <json-glib/json-glib.h>

/* A graph as JSON, for programs that want to read it (`tenon-cli graph --format json`).
 *
 *   { "format": "tenon-graph", "version": 1, "name": "LeNet5",
 *     "totals": { "nodes": 51, "parameters": 61706, "parameter_bytes": 246824, "flops": 1.2e7, "bytes": 3.4e6 },
 *     "inputs": [ 0 ], "parameters": [ { "node": 1, "name": "conv1.weight", "role": "trained", "frozen": false,
 *                                        "init": "he_uniform" } ],
 *     "outputs": [ { "name": "loss", "node": 50, "output": 0 } ],
 *     "nodes": [ { "id": 3, "name": "Default/conv1/Conv2D-op0", "op": "Conv2D", "scope": "Default/conv1", "phase": "forward",
 *                  "from": -1, "attributes": { "stride": [ 1, 1 ] }, "inputs": [ { "node": 0, "output": 0 } ],
 *                  "outputs": [ { "dtype": "float32", "shape": [ 32, 6, 28, 28 ] } ], "flops": 100.0, "bytes": 10.0,
 *                  "subgraphs": [ ... ] } ],
 *     "scopes": [ { "name": "Default", "parent": -1, "nodes": 0, "flops": 0.0 } ] }
 *
 * Node references are ids; subgraphs are objects of the same form without "format" and "version". "parameters" of the totals
 * counts elements. "nodes" and "flops" of a scope include the scopes in it. Constants have "value" where they have at most
 * 64 elements. */

/** Free with json_node_unref; tn_json_to_text() makes text of it. */
JsonNode *tn_graph_to_json (const TnGraph *graph);
