/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/cli.h"
#include "base/error.h"
#include "parallel/reshard.h"
#include <inttypes.h>
#include <stdio.h>

/* reshard: a checkpoint for other ranks. */

typedef struct
{
  char *strategy, *output;
  gboolean json;
} Options;

static int
run (const char *path, const Options *options)
{
  g_autoptr (GError) error = NULL;
  TnReshardReport report;
  g_autoptr (TnStrategyFile) strategy = options->strategy != NULL ? tn_strategy_file_load (options->strategy, &error) : NULL;
  if (error != NULL || !tn_reshard (path, strategy, options->output, &report, &error))
    return tn_cli_fail (error, options->json);
  if (options->json)
    {
      JsonObject *object = json_object_new ();
      json_object_set_string_member (object, "event", "reshard");
      json_object_set_int_member (object, "ranks", report.ranks);
      json_object_set_int_member (object, "tensors", report.tensors);
      json_object_set_int_member (object, "slices", report.slices);
      json_object_set_int_member (object, "bytes", report.bytes);
      json_object_set_int_member (object, "peak_bytes", (gint64) report.peak_bytes);
      tn_cli_print_json (object);
      return TN_EXIT_DONE;
    }
  g_autofree char *bytes = tn_cli_bytes ((double) report.bytes), *peak = tn_cli_bytes ((double) report.peak_bytes);
  printf (_ ("%s: %" PRId64 " tensors in %" PRId64 " slices for %" PRId64 " ranks, %s; at most %s in memory\n"), options->output, report.tensors,
          report.slices, report.ranks, bytes, peak);
  return TN_EXIT_DONE;
}

int
tn_command_reshard (int argc, char **argv)
{
  Options options = { 0 };
  const GOptionEntry entries[] = {
    { "strategy", 's', 0, G_OPTION_ARG_FILENAME, &options.strategy, N_ ("The strategy file to cut by"), "FILE" },
    { "output", 'o', 0, G_OPTION_ARG_FILENAME, &options.output, N_ ("The folder of the new checkpoint"), "DIR" },
    { "json", 0, 0, G_OPTION_ARG_NONE, &options.json, N_ ("One JSON object a line"), NULL },
    { 0 },
  };
  int status = TN_EXIT_USAGE;
  if (tn_cli_parse_arguments ("reshard", entries, &argc, &argv, 1, 1, _ ("name a checkpoint's folder or a safetensors file")))
    status = options.output != NULL ? run (argv[1], &options) : tn_cli_usage ("reshard", _ ("name the new folder with -o"));
  g_free (options.strategy);
  g_free (options.output);
  return status;
}
