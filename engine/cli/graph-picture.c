/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/graph-picture.h"
#include "base/durable.h"
#include "base/error.h"
#include <stdio.h>
#include <string.h>
#if TN_HAVE_DRAW
#include "draw/graph-export.h"

static void
apply (TnGraphFolds *folds, const TnCliGraphPicture *options)
{
  folds->show.phases = g_strcmp0 (options->phases, "forward") == 0 ? TN_SHOW_FORWARD : g_strcmp0 (options->phases, "backward") == 0 ? TN_SHOW_BACKWARD : TN_SHOW_ALL;
  folds->show.to_right = options->right;
  folds->show.parameters = options->parameters;
  folds->show.constants = options->constants;
  folds->show.control = options->control;
  tn_graph_folds_reset (folds);
  if (options->expand)
    tn_graph_folds_expand_all (folds);
  for (int i = 0; options->open != NULL && options->open[i] != NULL; i++)
    for (int s = 0; s < folds->document->n_scopes; s++)
      if (strcmp (folds->document->scopes[s].path, options->open[i]) == 0 || strcmp (folds->document->scopes[s].label, options->open[i]) == 0)
        tn_graph_folds_open (folds, s);
}

static TnOverlayKind
overlay_kind (const char *name)
{
  return g_strcmp0 (name, "memory") == 0 ? TN_OVERLAY_MEMORY : g_strcmp0 (name, "flops") == 0 ? TN_OVERLAY_FLOPS : g_strcmp0 (name, "dtype") == 0 ? TN_OVERLAY_DTYPE : TN_OVERLAY_NONE;
}

gboolean
tn_cli_draw_graph (TnGraphDocument *document, const TnCliGraphPicture *options, GError **error)
{
  g_autoptr (TnGraphFolds) folds = tn_graph_folds_new (document);
  apply (folds, options);
  g_autoptr (TnGraphCut) cut = tn_graph_cut_new (folds);
  g_autoptr (TnGraphLayout) layout = tn_graph_layout_make (cut, NULL, NULL, error);
  if (layout == NULL)
    return FALSE;
  g_autoptr (TnGraphOverlay) overlay = tn_graph_overlay_new (document, overlay_kind (options->overlay));
  g_autofree TnBoxValue *values = overlay != NULL ? tn_graph_overlay_sum (overlay, cut) : NULL;
  TnGraphPicture picture = { .cut = cut, .layout = layout, .overlay = overlay, .values = values };
  TnPictureFormat format = strcmp (options->format, "svg") == 0 ? TN_PICTURE_SVG : strcmp (options->format, "pdf") == 0 ? TN_PICTURE_PDF : TN_PICTURE_PNG;
  g_autoptr (GBytes) bytes = tn_graph_export_bytes (&picture, tn_palette_get (options->dark ? TN_PALETTE_DARK : TN_PALETTE_LIGHT), format,
                                                    options->scale > 0 ? options->scale : 1, error);
  if (bytes == NULL)
    return FALSE;
  gsize n;
  const void *data = g_bytes_get_data (bytes, &n);
  if (options->output != NULL && strcmp (options->output, "-") != 0)
    return tn_durable_write (options->output, data, n, error);
  return fwrite (data, 1, n, stdout) == n;
}
#else
gboolean
tn_cli_draw_graph (TnGraphDocument *document, const TnCliGraphPicture *options, GError **error)
{
  g_set_error (error, TN_ERROR, TN_ERROR_UNSUPPORTED, _ ("This build of tenon-cli cannot draw %s. Write --format dot and let Graphviz draw it: dot -T%s -O FILE.dot"),
               options->format, options->format);
  return FALSE;
}
#endif
