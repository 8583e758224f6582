/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
#include <adwaita.h>

/** The preferences window: one row a key of the schema, made from its ranges; changes act at once. @parent may be NULL. */
void tn_preferences_present (GtkWindow *parent);
