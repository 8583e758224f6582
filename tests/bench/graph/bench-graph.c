/* SPDX-License-Identifier: Apache-2.0 */
#include <json-glib/json-glib.h>
#include <stdio.h>
#include "draw/graph-export.h"
#include "ir/autodiff.h"
#include "nn/model.h"
#include "train/program-graph.h"

/* How long it takes until a graph is on the screen: document, folds, cut, own layout, one frame. One JSON line a graph.
 *
 * ResNet-50 is written with the cells that models are made of, as a person would: 16 bottleneck blocks. */

static void
append_conv (GString *json, const char *name, int channels, int kernel, int stride, gboolean relu)
{
  g_string_append_printf (json, "{\"type\":\"Conv2d\",\"name\":\"%s\",\"out_channels\":%d,\"kernel\":%d,\"stride\":%d,\"pad_mode\":\"same\"},"
                                "{\"type\":\"BatchNorm2d\",\"name\":\"%s_bn\"}%s",
                          name, channels, kernel, stride, name, relu ? ",{\"type\":\"ReLU\"}" : "");
}

static char *
resnet50 (void)
{
  static const int depths[] = { 3, 4, 6, 3 };
  GString *json = g_string_new ("{\"name\":\"ResNet50\",\"input\":{\"shape\":[3,224,224]},\"cells\":[");
  append_conv (json, "conv1", 64, 7, 2, TRUE);
  g_string_append (json, ",{\"type\":\"MaxPool2d\",\"name\":\"pool1\",\"kernel\":3,\"stride\":2,\"pad_mode\":\"same\"}");
  for (int stage = 0; stage < 4; stage++)
    for (int block = 0; block < depths[stage]; block++)
      {
        int width = 64 << stage, stride = stage > 0 && block == 0 ? 2 : 1;
        g_string_append_printf (json, ",{\"type\":\"Residual\",\"name\":\"layer%d_%d\",\"activation\":\"relu\",\"body\":[", stage + 1, block);
        append_conv (json, "conv1", width, 1, 1, TRUE);
        g_string_append_c (json, ',');
        append_conv (json, "conv2", width, 3, stride, TRUE);
        g_string_append_c (json, ',');
        append_conv (json, "conv3", width * 4, 1, 1, FALSE);
        g_string_append (json, "]");
        if (block == 0)
          {
            g_string_append (json, ",\"shortcut\":[");
            append_conv (json, "down", width * 4, 1, stride, FALSE);
            g_string_append (json, "]");
          }
        g_string_append (json, "}");
      }
  g_string_append (json, ",{\"type\":\"GlobalAvgPool\",\"name\":\"avgpool\"},{\"type\":\"Dense\",\"name\":\"fc\",\"out_channels\":1000}]}");
  return g_string_free (json, FALSE);
}

static void
paint (TnCanvas *canvas, double width, double height, gpointer data)
{
  tn_graph_picture_draw (data, canvas, tn_palette_get (TN_PALETTE_LIGHT), &(TnGraphTransform){ 0, 0, 0.8 }, width, height);
}

static void
measure (const char *name, TnGraphDocument *document, gint64 begin)
{
  gint64 built = g_get_monotonic_time ();
  g_autoptr (TnGraphFolds) folds = tn_graph_folds_new (document);
  g_autoptr (TnGraphCut) cut = tn_graph_cut_new (folds);
  g_autoptr (TnGraphLayout) layout = tn_graph_layout_layered (cut);
  gint64 laid = g_get_monotonic_time ();
  TnGraphPicture picture = { .cut = cut, .layout = layout };
  g_autoptr (GBytes) bytes = tn_picture_bytes (TN_PICTURE_PNG, &(TnPictureSize){ 1200, 800, 1 }, paint, &picture, NULL);
  printf ("{\"graph\":\"%s\",\"items\":%d,\"boxes\":%d,\"document_ms\":%.1f,\"open_ms\":%.1f,\"first_frame_png_ms\":%.1f}\n", name, document->n_items, cut->n_boxes,
          (double) (built - begin) / 1000, (double) (laid - built) / 1000, (double) (g_get_monotonic_time () - laid) / 1000);
}

static TnGraphDocument *
chain (int n)
{
  TnGraphDocument *document = tn_graph_document_new ("chain", "bench");
  for (int i = 0; i < n; i++)
    {
      g_autofree char *name = g_strdup_printf ("n%d", i);
      tn_graph_document_add (document, &(TnGraphItem){ .name = name, .op = "ReLU", .shape = "8×8", .scope = -1, .from = -1 });
      if (i > 0)
        tn_graph_document_link (document, &(TnGraphLink){ .from = i - 1, .to = i });
      if (i > 10)
        tn_graph_document_link (document, &(TnGraphLink){ .from = i - 10, .to = i });
    }
  tn_graph_document_finish (document);
  return document;
}

int
main (void)
{
  g_autoptr (GError) error = NULL;
  g_autofree char *json = resnet50 ();
  g_autoptr (TnModel) model = tn_model_from_json (json, -1, &error);
  g_autoptr (TnSettings) settings = tn_settings_new ();
  TnProgramRecipe recipe;
  g_autoptr (TnGraph) graph = model != NULL && tn_program_recipe_init (&recipe, model, settings, &error) ? tn_program_training_graph (&recipe, 8, &error) : NULL;
  if (graph == NULL)
    {
      fprintf (stderr, "%s\n", error->message);
      return 1;
    }
  gint64 begin = g_get_monotonic_time ();
  g_autoptr (TnGraphDocument) resnet = tn_graph_document_from_graph (graph);
  measure ("resnet50-training", resnet, begin);
  begin = g_get_monotonic_time ();
  g_autoptr (TnGraphDocument) ten = chain (10000);
  measure ("chain-10000", ten, begin);
  begin = g_get_monotonic_time ();
  g_autoptr (TnGraphDocument) hundred = chain (100000);
  measure ("chain-100000", hundred, begin);
  return 0;
}
