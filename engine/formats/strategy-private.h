/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
#include "formats/strategy-file.h"

gboolean tn_strategy_file_read_protobuf (TnStrategyFile *self, const void *data, size_t n, GError **error);
gboolean tn_strategy_file_read_json (TnStrategyFile *self, const void *data, size_t n, GError **error);
