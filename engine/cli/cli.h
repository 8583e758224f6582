/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
#include <gio/gio.h>
#include <json-glib/json-glib.h>
#include "base/settings.h"

/* What the commands of tenon-cli share. Each command is one file with one function and one row in main.c. */

/* Exit codes that scripts may rely on. */
enum
{
  TN_EXIT_DONE = 0,
  TN_EXIT_FAILED = 1, /* the reason is on stderr */
  TN_EXIT_USAGE = 2,
  TN_EXIT_INTERRUPTED = 130
};

typedef struct
{
  const char *name;
  const char *arguments; /* "DIR --preset NAME [--data SOURCE]": after the name in usage lines */
  const char *summary;   /* one line */
  const char *example;   /* a whole command line */
  int (*run) (int argc, char **argv);
} TnCommand;

const TnCommand *tn_command_find (const char *name);

/** Parses options of @command by GOption with its summary and example as help; remaining arguments stay in argv. FALSE: usage error,
 * already told. */
gboolean tn_cli_parse (const char *command, const GOptionEntry *entries, int *argc, char ***argv);
/** The same, and there must be @least to @most arguments behind the options; @missing says what is wanted: "name a run". */
gboolean tn_cli_parse_arguments (const char *command, const GOptionEntry *entries, int *argc, char ***argv, int least, int most,
                                 const char *missing);
/** "tenon-cli: message" on stderr; returns TN_EXIT_FAILED. With @json also {"error": ..., "code": ...} on stdout. */
int tn_cli_fail (const GError *error, gboolean json);
/** A usage error; returns TN_EXIT_USAGE. With --json on the command line also {"error": ..., "code": ...} on stdout. */
int tn_cli_usage (const char *command, const char *format, ...) G_GNUC_PRINTF (2, 3);
/** Applies every "name=value" of @assignments (nullable). Relative paths that exist are meant from the working folder, and are
 * made absolute. */
gboolean tn_cli_apply (TnSettings *settings, char **assignments, GError **error);
/** The same for a project in @folder: a relative path is looked for there first, then in the working folder. */
gboolean tn_cli_apply_in (TnSettings *settings, char **assignments, const char *folder, GError **error);
/** tn_cli_apply_in() for a command: an unknown or wrong setting is a usage error. TRUE, or FALSE with *exit_code, already told. */
gboolean tn_cli_apply_or_tell (const char *command, TnSettings *settings, char **assignments, const char *folder, int *exit_code);
/** Cuts "name=value"; FALSE with TN_ERROR_INVALID_ARGUMENT where there is no "=". Free both with g_free. */
gboolean tn_cli_split_assignment (const char *assignment, char **name, char **value, GError **error);
/** "; did you mean “train”?" or "". Free with g_free. */
char *tn_cli_suggestion (const char *name, const char *const *candidates);

/** Prints one JSON object as one line. Takes @object. */
void tn_cli_print_json (JsonObject *object);
/** A number, or null where @value is not finite. */
void tn_cli_set_number (JsonObject *object, const char *name, double value);
/** "1.2 MB", "35 KB". Free with g_free. */
char *tn_cli_bytes (double bytes);
/** "1 h 02 min", "12.3 s". Free with g_free. */
char *tn_cli_duration (double seconds);

/** A loss or the like in four digits: "2.303", "1.235e-05", "1234.5". Free with g_free. */
char *tn_cli_number (double value);

/** Brings the catalogue, from which the window makes its lists, up to date. That it cannot be written is no failure. */
void tn_cli_note_project (const char *project_path);
/** Whether @path is a run folder: has a run.json, of whatever kind. */
gboolean tn_cli_is_run (const char *path);
/** Nothing of @text may move the terminal's cursor: control characters become "?". Free with g_free. */
char *tn_cli_printable (const char *text);

/** Notes how the program was started, before any command runs. */
void tn_cli_begin (int argc, char **argv);
/** How hints should call the program: "tenon-cli" where PATH has it, else the (quoted) path that it was started with. */
const char *tn_cli_program (void);
/** Whether --json stands on the command line: mistakes in the line itself are then told as JSON too. */
gboolean tn_cli_wants_json (void);
/** @path as a shell takes it: in quotes if it needs them. Free with g_free. */
char *tn_cli_quote (const char *path);

/** Calls @gone once, from the main loop, when stdout is a pipe or socket whose reader went away. Returns a source, which is
 * gone after the call, or 0 where that cannot happen. Commands that print as time goes by end then; others find out when they write. */
guint tn_cli_watch_output (GDestroyNotify gone, gpointer data);

int tn_command_attach (int argc, char **argv);
int tn_command_bench (int argc, char **argv);
/** The workload comm of bench: every collective, over threads, or over MPI under mpirun. */
int tn_bench_comm (int ranks, size_t bytes, double seconds, gboolean for_people);
int tn_command_cells (int argc, char **argv);
int tn_command_check (int argc, char **argv);
int tn_command_doctor (int argc, char **argv);
int tn_command_eval (int argc, char **argv);
int tn_command_export (int argc, char **argv);
int tn_command_graph (int argc, char **argv);
int tn_command_inspect (int argc, char **argv);
int tn_command_layout (int argc, char **argv);
int tn_command_new (int argc, char **argv);
int tn_command_options (int argc, char **argv);
int tn_command_plan (int argc, char **argv);
int tn_command_strategy (int argc, char **argv);
int tn_command_reshard (int argc, char **argv);
int tn_command_predict (int argc, char **argv);
int tn_command_render (int argc, char **argv);
int tn_command_queue (int argc, char **argv);
int tn_command_resume (int argc, char **argv);
int tn_command_runs (int argc, char **argv);
int tn_command_sample (int argc, char **argv);
int tn_command_show (int argc, char **argv);
int tn_command_train (int argc, char **argv);
int tn_command_verify_resume (int argc, char **argv);
