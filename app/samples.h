/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
#include <gtk/gtk.h>

#include "document.h"

/* The samples of the start page: what is trained, and a picture of the real data. */
typedef struct
{
  const char *id;          /* "digits" */
  const char *title, *text; /* untranslated */
} TnSample;

/** Ends with a row whose id is NULL. */
extern const TnSample tn_samples[];

/** Makes the sample's project in @folder, in a worker thread. Also "empty": a project without choices. */
void tn_sample_create_async (const char *id, const char *folder, GAsyncReadyCallback callback, gpointer user_data);
TnDocument *tn_sample_create_finish (GAsyncResult *result, GError **error);
/** The card's picture, made from the data themselves: sixteen digits, the two spirals. */
GdkTexture *tn_sample_picture (const char *id);
/** Point @i of spiral @label (0 or 1) of @n: x and y in -1 .. 1, with noise that is always the same. */
void tn_sample_spiral_point (int i, int n, int label, float *x, float *y);
