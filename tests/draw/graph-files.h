/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
#include <string.h>
#include "ir/graph-document.h"
#include "train/program.h"

/* The graphs that tests of drawing use: our presets, and every file of the shared folders. */

static inline void
collect_graph_files (const char *folder, GPtrArray *files)
{
  g_autoptr (GDir) dir = g_dir_open (folder, 0, NULL);
  for (const char *name; dir != NULL && (name = g_dir_read_name (dir)) != NULL;)
    {
      g_autofree char *path = g_build_filename (folder, name, NULL);
      if (g_file_test (path, G_FILE_TEST_IS_DIR))
        collect_graph_files (path, files);
      else if ((g_str_has_suffix (name, ".ir") || g_str_has_suffix (name, ".dot") || g_str_has_suffix (name, ".gv") || g_str_has_suffix (name, ".onnx"))
               && !g_str_has_prefix (name, "bad_") && strstr (folder, "actor_set") == NULL)
        g_ptr_array_add (files, g_steal_pointer (&path));
    }
}

static inline GPtrArray *
all_graph_files (void)
{
  static const char *const places[] = { "data/graphs", "data/models", "truth/mindspore/graphs", "truth/torch/models" };
  const char *root = g_getenv ("TENON_SOURCE_ROOT");
  GPtrArray *files = g_ptr_array_new_with_free_func (g_free);
  for (gsize i = 0; i < G_N_ELEMENTS (places); i++)
    {
      g_autofree char *folder = g_build_filename (root != NULL ? root : ".", "..", "shared", places[i], NULL);
      collect_graph_files (folder, files);
    }
  return files;
}

static inline TnGraphDocument *
preset_document (const char *preset)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (TnModel) model = tn_model_new_preset (preset, &error);
  g_assert_no_error (error);
  g_autoptr (TnSettings) settings = tn_settings_new ();
  g_autoptr (TnProgram) program = tn_program_new (model, settings, &error);
  g_assert_no_error (error);
  g_autoptr (TnGraph) graph = tn_program_graph (program, 8, TRUE, &error);
  g_assert_no_error (error);
  return tn_graph_document_from_graph (graph);
}

/* @n operators in a chain with links over 7 and 31 back, in @n / 50 scopes (0: in none). */
static inline TnGraphDocument *
large_document (int n, gboolean scopes)
{
  TnGraphDocument *document = tn_graph_document_new ("large", "test");
  for (int i = 0; i < n; i++)
    {
      g_autofree char *name = g_strdup_printf ("node%d", i), *scope = g_strdup_printf ("block%d/part%d", i / 500, i / 50);
      TnGraphItem item = { .name = name, .op = i % 3 == 0 ? "Conv2D" : "ReLU", .shape = "8×16×32×32", .dtype = "float32", .scope = -1, .from = -1, .output_bytes = 524288 };
      item.scope = scopes ? tn_graph_document_scope (document, scope) : -1;
      tn_graph_document_add (document, &item);
    }
  for (int i = 1; i < n; i++)
    for (int back = 1; back <= 31; back = back == 1 ? 7 : back == 7 ? 31 : 32)
      if (i >= back)
        tn_graph_document_link (document, &(TnGraphLink){ .from = i - back, .to = i, .bytes = 524288 });
  tn_graph_document_finish (document);
  return document;
}
