/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
#include "ir/graph-document.h"

typedef struct
{
  const char *format;  /* "svg", "pdf", "png" */
  const char *output;  /* NULL and "-": standard output */
  const char *phases;  /* "forward", "backward", "all"; NULL: all */
  const char *overlay; /* "memory", "flops", "dtype"; NULL: none */
  char **open;         /* scopes to open beside those that fit; NULL */
  gboolean expand, right, dark, parameters, constants, control;
  double scale;
} TnCliGraphPicture;

/** Draws @document as `graph --format svg` and its like do. */
gboolean tn_cli_draw_graph (TnGraphDocument *document, const TnCliGraphPicture *options, GError **error);
