/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/cli.h"
#include "base/error.h"
#include <locale.h>
#include <stdio.h>
#include <string.h>

static const TnCommand commands[] = {
  { "bench", "WORKLOAD... | peak", N_ ("Time training steps, or measure the machine's peaks"), "tenon-cli bench lenet5 --batch 32 --threads 1", tn_command_bench },
  { 0 },
};

const TnCommand *
tn_command_find (const char *name)
{
  for (const TnCommand *command = commands; command->name != NULL; command++)
    if (strcmp (command->name, name) == 0)
      return command;
  return NULL;
}

static void
print_help (FILE *out)
{
  fprintf (out, _ ("Usage: tenon-cli COMMAND [OPTION...]\n\nTrains neural networks and shows what they do.\n\nCommands:\n"));
  for (const TnCommand *command = commands; command->name != NULL; command++)
    fprintf (out, "  %-14s %s\n", command->name, _ (command->summary));
  fprintf (out, _ ("\n'tenon-cli COMMAND --help' tells more of a command.\n"));
}

int
main (int argc, char **argv)
{
  setlocale (LC_ALL, "");
  if (argc < 2)
    {
      print_help (stderr);
      return TN_EXIT_USAGE;
    }
  if (strcmp (argv[1], "--help") == 0 || strcmp (argv[1], "-h") == 0 || strcmp (argv[1], "help") == 0)
    {
      print_help (stdout);
      return TN_EXIT_DONE;
    }
  if (strcmp (argv[1], "--version") == 0)
    {
      printf ("tenon-cli %s\n", TN_VERSION);
      return TN_EXIT_DONE;
    }
  const TnCommand *command = tn_command_find (argv[1]);
  if (command == NULL)
    {
      fprintf (stderr, _ ("tenon-cli: there is no command “%s”.\n"), argv[1]);
      print_help (stderr);
      return TN_EXIT_USAGE;
    }
  return command->run (argc - 1, argv + 1);
}
