/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
#include <adwaita.h>

#include "document.h"

/** What the window does, as one line for a shell and as a settings file. @run_path may be NULL. */
void tn_command_present (GtkWindow *parent, TnDocument *document, const char *run_path);
