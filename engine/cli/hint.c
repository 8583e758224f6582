/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/cli.h"
#include <string.h>

/* Command lines that messages propose: they must work where they are pasted. */

static char *program; /* as a shell takes it */
static gboolean wants_json;

void
tn_cli_begin (int argc, char **argv)
{
  g_autofree char *found = g_find_program_in_path ("tenon-cli");
  program = found == NULL && strchr (argv[0], '/') != NULL ? tn_cli_quote (argv[0]) : g_strdup ("tenon-cli");
  for (int i = 1; i < argc && strcmp (argv[i], "--") != 0; i++)
    wants_json |= strcmp (argv[i], "--json") == 0;
}

const char *
tn_cli_program (void)
{
  return program != NULL ? program : "tenon-cli";
}

gboolean
tn_cli_wants_json (void)
{
  return wants_json;
}

/* Quotes that nothing asks for only make a line harder to read. */
char *
tn_cli_quote (const char *path)
{
  gboolean plain = *path != '\0';
  for (const char *c = path; *c != '\0'; c++)
    plain = plain && (g_ascii_isalnum (*c) || strchr ("/._-+:,@%=", *c) != NULL || (unsigned char) *c >= 0x80);
  return plain ? g_strdup (path) : g_shell_quote (path);
}
