/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
#include "window.h"

/** The palette (Ctrl+K): pages, settings, actions, runs, nodes, parameters, steps (@1200), ranks (r0). */
void tn_goto_present (TnWindow *window);
