/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/cli.h"
#include "base/error.h"
#if TN_HAVE_DRAW
#include "draw/graph-layout.h"
#endif
#include <stdio.h>

/* layout: places of the boxes of a graph, by Graphviz. Started by the window and by graph, for themselves: see widgets/draw/graph-layout-child.c. */
int
tn_command_layout (int argc, char **argv)
{
  int seconds = 10, memory = 1024;
  const GOptionEntry entries[] = {
    { "seconds", 0, 0, G_OPTION_ARG_INT, &seconds, N_ ("Give up after so many seconds"), "N" },
    { "memory-mib", 0, 0, G_OPTION_ARG_INT, &memory, N_ ("Use at most so much memory"), "N" },
    { 0 },
  };
  if (!tn_cli_parse_arguments ("layout", entries, &argc, &argv, 0, 0, _ ("layout takes no names: it reads standard input")))
    return TN_EXIT_USAGE;
#if TN_HAVE_DRAW
  return tn_graph_layout_child (stdin, stdout, CLAMP (seconds, 1, 600), CLAMP (memory, 64, 1 << 20));
#else
  return TN_EXIT_FAILED;
#endif
}
