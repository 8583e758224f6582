/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
#include "parameter-values.h"
#include "window.h"

/* TnValuesWindow: the values of one parameter at a checkpoint of the window's run: how they are distributed, as a picture of any two
 * dimensions, convolution kernels as tiles, a table. With the newest checkpoint chosen it follows the training. */
#define TN_TYPE_VALUES_WINDOW (tn_values_window_get_type ())
G_DECLARE_FINAL_TYPE (TnValuesWindow, tn_values_window, TN, VALUES_WINDOW, AdwWindow)

/** Opens one over @window. */
void tn_values_present (TnWindow *window, const char *parameter);
/** A texture of pixels as parameter-values.h makes them (taken); NULL for NULL. */
GdkTexture *tn_values_texture (uint8_t *pixels, int width, int height);
