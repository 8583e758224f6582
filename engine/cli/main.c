/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/cli.h"
#include "base/error.h"
#include "base/language.h"
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static const TnCommand commands[] = {
  { "new", "DIR [--preset NAME]", N_ ("Make a project: a model, data and settings in a folder"),
    "tenon-cli new digits --preset lenet5 --data drawn-digits", tn_command_new },
  { "check", "DIR", N_ ("Say what would go wrong in a run, without training"), "tenon-cli check digits --set train.batch=4096", tn_command_check },
  { "train", "DIR | DIR/runs/NAME", N_ ("Begin a run in a project, or one that is queued"),
    "tenon-cli train digits --set train.epochs=3 --set train.batch=64", tn_command_train },
  { "sample", "[DIR]", N_ ("Train LeNet-5 on built-in digits, to see that all works"), "tenon-cli sample", tn_command_sample },
  { "resume", "RUN", N_ ("Go on with a run that was stopped, parked, killed, or extended"),
    "tenon-cli resume digits/runs/2026-11-30-lenet5-01 --set train.epochs=5", tn_command_resume },
  { "runs", "DIR", N_ ("List the runs of a project; remove, restore and rename them"),
    "tenon-cli runs digits --remove 2026-11-30-lenet5-01", tn_command_runs },
  { "queue", "WORD DIR [RUN]", N_ ("Runs that wait for each other: run, list, add, move, remove"),
    "tenon-cli queue add digits && tenon-cli queue run digits", tn_command_queue },
  { "show", "RUN", N_ ("Say what stands in a run folder"), "tenon-cli show digits/runs/2026-11-30-lenet5-01", tn_command_show },
  { "attach", "RUN COMMAND", N_ ("Watch or steer a run: watch, pause, resume, park, stop, set ..."),
    "tenon-cli attach digits/runs/2026-11-30-lenet5-01 set optimizer.lr=0.001\n\nCommands: watch, pause, resume, park, stop, stop-now, checkpoint, extend N,\nset NAME=VALUE", tn_command_attach },
  { "eval", "RUN", N_ ("Measure a trained model on held-out samples or on other data"),
    "tenon-cli eval digits/runs/2026-11-30-lenet5-01 --data ~/data/mnist", tn_command_eval },
  { "predict", "RUN FILE", N_ ("Classify pictures or rows of an .npy or IDX file"),
    "tenon-cli predict digits/runs/2026-11-30-lenet5-01 digits.npy --index 0", tn_command_predict },
  { "export", "RUN", N_ ("Write the weights of a run as safetensors"),
    "tenon-cli export digits/runs/2026-11-30-lenet5-01 -o lenet5.safetensors", tn_command_export },
  { "graph", "DIR | RUN | FILE", N_ ("Draw or write the graph of a training step, or of a file"), "tenon-cli graph digits --format svg -o step.svg", tn_command_graph },
  { "render", "RUN | FILE...", N_ ("Draw curves of runs as PNG, SVG or PDF, or write their rows"),
    "tenon-cli render digits/runs/2026-11-30-lenet5-01 --tag loss -o loss.svg", tn_command_render },
  { "plan", "DIR", N_ ("Say what each of many ranks would hold and send"),
    "tenon-cli plan digits --ranks 8 --mesh dp=4,tp=2", tn_command_plan },
  { "strategy", "show|merge|diff FILES", N_ ("Show, merge or compare MindSpore strategy files"),
    "tenon-cli strategy show strategy_r0.ckpt", tn_command_strategy },
  { "reshard", "CHECKPOINT", N_ ("Make a checkpoint for other ranks and another strategy"),
    "tenon-cli reshard run/checkpoints/step-00000100 --strategy new.ckpt -o out", tn_command_reshard },
  { "inspect", "FILE...", N_ ("Say what files and folders are and what is in them"), "tenon-cli inspect train-images-idx3-ubyte.gz", tn_command_inspect },
  { "layout", "[--seconds N]", N_ ("Place boxes by Graphviz, for graph and the window"), "tenon-cli layout --seconds 5", tn_command_layout },
  { "cells", "[NAME...]", N_ ("List the cells that models are made of, and their options"), "tenon-cli cells Conv2d", tn_command_cells },
  { "options", "[NAME...]", N_ ("List the settings: type, range, default, meaning"), "tenon-cli options optimizer", tn_command_options },
  { "doctor", "", N_ ("Look at this machine: processor, peaks, libraries, gaps"), "tenon-cli doctor", tn_command_doctor },
  { "verify-resume", "DIR | RUN", N_ ("Prove that a stopped and resumed run equals an undisturbed one"),
    "tenon-cli verify-resume digits --steps 100", tn_command_verify_resume },
  { "bench", "WORKLOAD... | peak | comm", N_ ("Time steps, the machine's peaks, or what ranks exchange"), "tenon-cli bench lenet5 --batch 32 --threads 1", tn_command_bench },
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
  fprintf (out, _ ("Usage: tenon-cli COMMAND [OPTION...]\n\nCommands:\n"));
  for (const TnCommand *command = commands; command->name != NULL; command++)
    fprintf (out, "  %-14s %s\n", command->name, _ (command->summary));
  fprintf (out, _ ("\nRUN is DIR/runs/NAME; 'tenon-cli COMMAND --help' tells more of a command.\n"));
}

static int
tell_unknown (const char *name)
{
  const char *names[G_N_ELEMENTS (commands)] = { NULL };
  static const char *const options[] = { "--help", "--version", NULL };
  gboolean is_option = *name == '-';
  for (guint i = 0; commands[i].name != NULL; i++)
    names[i] = commands[i].name;
  g_autofree char *suggestion = tn_cli_suggestion (name, is_option ? options : names);
  fprintf (stderr, is_option ? _ ("tenon-cli: there is no option “%s”%s\n") : _ ("tenon-cli: there is no command “%s”%s\n"), name, suggestion);
  fprintf (stderr, _ ("Try: %s --help\n"), tn_cli_program ());
  return TN_EXIT_USAGE;
}

/* A failed write may lie far back, in a line that was flushed at once, and its errno is gone: the file is asked. */
static gboolean
reader_is_gone (void)
{
  struct pollfd out = { .fd = STDOUT_FILENO, .events = POLLOUT };
  return poll (&out, 1, 0) == 1 && (out.revents & (POLLERR | POLLHUP)) != 0;
}

/* Results that could not be written are no results; a reader that went away has seen what it wanted. */
static int
close_output (int status)
{
  errno = 0;
  if (fflush (stdout) == 0 && !ferror (stdout))
    return status;
  int reason = errno;
  if (reason == EPIPE || reader_is_gone ())
    return status;
  fprintf (stderr, _ ("tenon-cli: Cannot write the output: %s.\n"), reason != 0 ? g_strerror (reason) : _ ("not all of it was taken"));
  return status == TN_EXIT_DONE ? TN_EXIT_FAILED : status;
}

/* The three standard descriptors must be there: a file that got the number of one would be written into. A command without
 * a place for its results does not begin. */
static gboolean
check_descriptors (void)
{
  gboolean has_output = fcntl (STDOUT_FILENO, F_GETFD) >= 0;
  for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
    if (fcntl (fd, F_GETFD) < 0 && open ("/dev/null", fd == STDIN_FILENO ? O_RDONLY : O_WRONLY) != fd)
      return FALSE;
  if (!has_output)
    fprintf (stderr, "tenon-cli: %s\n", _ ("The standard output is closed: there is nowhere to write results to."));
  return has_output;
}

/* "help train" is "train --help". */
static int
help (int argc, char **argv)
{
  const TnCommand *command = argc > 2 && strcmp (argv[1], "help") == 0 ? tn_command_find (argv[2]) : NULL;
  if (command != NULL)
    {
      char *arguments[] = { argv[2], (char *) "--help", NULL };
      return command->run (2, arguments);
    }
  if (argc > 2 && strcmp (argv[1], "help") == 0)
    return tell_unknown (argv[2]);
  print_help (stdout);
  return TN_EXIT_DONE;
}

int
main (int argc, char **argv)
{
  tn_language_begin ();
  signal (SIGPIPE, SIG_IGN); /* close_output() and output.c see to readers that go away */
  signal (SIGXFSZ, SIG_IGN); /* a file that may not grow is an error with a name, as a full disk is */
  if (!check_descriptors ())
    return TN_EXIT_FAILED;
  if (argc > 0)
    tn_cli_begin (argc, argv);
  if (argc < 2)
    {
      print_help (stderr);
      return TN_EXIT_USAGE;
    }
  if (strcmp (argv[1], "--help") == 0 || strcmp (argv[1], "-h") == 0 || strcmp (argv[1], "help") == 0)
    return close_output (help (argc, argv));
  if (strcmp (argv[1], "--version") == 0)
    {
      printf ("tenon-cli %s\n", TN_VERSION);
      return close_output (TN_EXIT_DONE);
    }
  const TnCommand *command = tn_command_find (argv[1]);
  if (command == NULL)
    return tell_unknown (argv[1]);
  return close_output (command->run (argc - 1, argv + 1));
}
