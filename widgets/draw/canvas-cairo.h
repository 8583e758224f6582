/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
#include <cairo.h>
#include "draw/canvas.h"

/* TnCairoCanvas: the TnCanvas that paints through cairo and pango, for PNG, SVG, PDF, print and tests. Needs no display.
 *
 *   tn_picture_write ("loss.svg", TN_PICTURE_SVG, &(TnPictureSize) { 1200, 600, 1 }, paint, plot, &error);
 */
#define TN_PICTURE_MAX_SIDE 32767 /* device pixels: what a cairo image can hold */

typedef enum
{
  TN_PICTURE_PNG,
  TN_PICTURE_SVG,
  TN_PICTURE_PDF
} TnPictureFormat;

typedef struct
{
  double width, height; /* logical pixels */
  double scale;         /* device pixels a logical one; PNG only, 1 elsewhere */
} TnPictureSize;

typedef void (*TnPaintFunc) (TnCanvas *canvas, double width, double height, gpointer user_data);

/** A canvas that paints on @cr, whose user space is logical pixels. Keeps a reference. */
TnCanvas *tn_cairo_canvas_new (cairo_t *cr, double scale, gboolean is_vector);
void tn_cairo_canvas_free (TnCanvas *self);

/** Format by the ending of @path: .png, .svg, .pdf. FALSE with TN_ERROR_UNSUPPORTED for others. */
gboolean tn_picture_format_from_path (const char *path, TnPictureFormat *format, GError **error);
/** Paints a picture and puts it at @path durably: the old file stays whole until the new one is. Errors: TN_ERROR_INVALID_ARGUMENT for a
 * size that no picture can have, TN_ERROR_IO, TN_ERROR_NO_SPACE, TN_ERROR_MEMORY. */
gboolean tn_picture_write (const char *path, TnPictureFormat format, const TnPictureSize *size, TnPaintFunc paint, gpointer user_data,
                           GError **error);
/** The same into memory. */
GBytes *tn_picture_bytes (TnPictureFormat format, const TnPictureSize *size, TnPaintFunc paint, gpointer user_data, GError **error);
/** Puts what tn_picture_bytes() made at @path, durably. */
gboolean tn_picture_write_bytes (const char *path, GBytes *bytes, GError **error);
