/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
#include <gio/gio.h>

/** Starts tenon-cli with @arguments in a session of its own, without input, its output appended to log.txt of the run in @run_path. It
 * lives on when this process ends. */
GSubprocess *tn_run_process_spawn (const char *const *arguments, const char *run_path, GError **error);
