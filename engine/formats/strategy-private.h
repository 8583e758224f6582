/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
#include <json-glib/json-glib.h>
#include "formats/strategy-file.h"

gboolean tn_strategy_file_read_protobuf (TnStrategyFile *self, const void *data, size_t n, GError **error);
gboolean tn_strategy_file_read_json (TnStrategyFile *self, const void *data, size_t n, GError **error);
/** MindInsight's parallel_strategy_<rank>.json (strategy-profile.c). */
gboolean tn_strategy_file_is_profiled (JsonObject *top);
gboolean tn_strategy_file_read_profiled (TnStrategyFile *self, JsonObject *top, GError **error);
