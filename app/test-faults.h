/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
#include <gtk/gtk.h>

/** What is wrong to see or to hear in @window as it is now shown, one line each, "kind: place: text": a button or title
 * that is shortened, a widget that is cut off by the window's edge, a text nearer than 12 px to it, a focusable widget
 * without an accessible name. For tests. Free with g_strfreev. */
char **tn_test_faults (GtkWidget *window);
