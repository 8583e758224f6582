/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
#include "draw/canvas-cairo.h"
#include "draw/graph-picture.h"

/* Graphs as files: pictures by the picture code, text by the document. */

/** The picture of a cut, as large as its layout at @scale (vector formats: 1). Errors: TN_ERROR_INVALID_ARGUMENT where it is larger than a PNG
 * can be, and those of tn_picture_write(). */
gboolean tn_graph_export_picture (const TnGraphPicture *picture, const TnPalette *palette, TnPictureFormat format, double scale, const char *path, GError **error);
/** The same into memory. */
GBytes *tn_graph_export_bytes (const TnGraphPicture *picture, const TnPalette *palette, TnPictureFormat format, double scale, GError **error);
