/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/** Loads the style sheet of the widgets in this folder for the default display, once. Each class calls it when it is first
 * used, so nobody else needs to. */
void tn_style_ensure (void);
