/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
#include "window.h"

/* io.github.tenon_ml.Tenon.Test1, beside the window's actions on the session bus, where TENON_TEST=1:
 *   Find (s id) -> (s role, s name, (iiii) bounds, b visible, b sensitive, s value)
 *   ListIds () -> as   State (s view) -> s   WaitIdle (u ms) -> b   Selection () -> a{sv}
 *   Nodes (s canvas) -> (u nodes, u labels, d ms)   Activate (s action, av) -> ()
 *   Faults () -> as: what test-faults.h finds in what is shown
 * Read-only but for Activate, which is for setting up. */
void tn_test_interface_export (TnWindow *window);
