/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
#include <adwaita.h>

/** The About window, with what a bug report needs. @parent may be NULL. */
void tn_about_present (GtkWindow *parent);
/** Versions, processor, renderer: as text. Free with g_free. */
char *tn_about_debug_info (GtkWindow *parent);
