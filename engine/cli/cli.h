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
/** "tenon-cli: message" on stderr; returns TN_EXIT_FAILED. With @json also {"error": ..., "code": ...} on stdout. */
int tn_cli_fail (const GError *error, gboolean json);
/** A usage error; returns TN_EXIT_USAGE. */
int tn_cli_usage (const char *command, const char *format, ...) G_GNUC_PRINTF (2, 3);
/** Applies every "name=value" of @assignments (nullable). */
gboolean tn_cli_apply (TnSettings *settings, char **assignments, GError **error);

/** Prints one JSON object as one line. Takes @object. */
void tn_cli_print_json (JsonObject *object);
/** "1.2 MB", "35 KB". Free with g_free. */
char *tn_cli_bytes (double bytes);
/** "1 h 02 min", "12.3 s". Free with g_free. */
char *tn_cli_duration (double seconds);

int tn_command_bench (int argc, char **argv);
