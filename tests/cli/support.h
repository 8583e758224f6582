/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
#include <gio/gio.h>
#include <glib/gstdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/json.h"

/* Runs the built tenon-cli in a scratch folder of its own. */

static char *scratch; /* the working folder of every command */
static G_GNUC_UNUSED const char *environment[3][2]; /* names and values that commands get beside their own */

/* What a command did. */
typedef struct
{
  int exit_code; /* 128 + signal where one ended it */
  char *out, *err;
} Result;

static inline void
result_clear (Result *result)
{
  g_free (result->out);
  g_free (result->err);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (Result, result_clear)

static inline void
remove_tree (const char *path)
{
  g_chmod (path, 0755);
  g_autoptr (GDir) dir = g_file_test (path, G_FILE_TEST_IS_SYMLINK) ? NULL : g_dir_open (path, 0, NULL);
  for (const char *name; dir != NULL && (name = g_dir_read_name (dir)) != NULL;)
    {
      g_autofree char *child = g_build_filename (path, name, NULL);
      remove_tree (child);
    }
  g_remove (path);
}

static inline char *
program_path (void)
{
  const char *root = g_getenv ("TENON_BUILD_ROOT");
  return g_build_filename (root != NULL ? root : "build", "engine", "cli", "tenon-cli", NULL);
}

/* @line: "train d --set train.epochs=1", split as a shell does. */
static inline GSubprocess *
start (const char *line, GSubprocessFlags flags)
{
  g_autoptr (GError) error = NULL;
  g_auto (GStrv) words = NULL;
  g_autofree char *program = program_path (), *data = g_build_filename (scratch, "data", NULL);
  g_assert_true (g_shell_parse_argv (line, NULL, &words, &error));
  g_autoptr (GPtrArray) argv = g_ptr_array_new ();
  g_ptr_array_add (argv, program);
  for (char **word = words; *word != NULL; word++)
    g_ptr_array_add (argv, *word);
  g_ptr_array_add (argv, NULL);
  g_autoptr (GSubprocessLauncher) launcher = g_subprocess_launcher_new (flags);
  g_subprocess_launcher_set_cwd (launcher, scratch);
  g_subprocess_launcher_setenv (launcher, "XDG_DATA_HOME", data, TRUE);
  g_subprocess_launcher_setenv (launcher, "XDG_RUNTIME_DIR", scratch, TRUE);
  for (guint i = 0; i < G_N_ELEMENTS (environment); i++)
    if (environment[i][0] != NULL)
      g_subprocess_launcher_setenv (launcher, environment[i][0], environment[i][1], TRUE);
  GSubprocess *process = g_subprocess_launcher_spawnv (launcher, (const char *const *) argv->pdata, &error);
  g_assert_no_error (error);
  return process;
}

static inline int
exit_code (GSubprocess *process)
{
  return g_subprocess_get_if_signaled (process) ? 128 + g_subprocess_get_term_sig (process) : g_subprocess_get_exit_status (process);
}

static inline Result
finish (GSubprocess *process)
{
  g_autoptr (GError) error = NULL;
  Result result = { 0 };
  g_subprocess_communicate_utf8 (process, NULL, NULL, &result.out, &result.err, &error);
  g_assert_no_error (error);
  result.exit_code = exit_code (process);
  return result;
}

static inline Result
run (const char *line)
{
  g_autoptr (GSubprocess) process = start (line, G_SUBPROCESS_FLAGS_STDOUT_PIPE | G_SUBPROCESS_FLAGS_STDERR_PIPE);
  return finish (process);
}

static inline char *
run_ok (const char *line)
{
  g_auto (Result) result = run (line);
  if (result.exit_code != 0)
    g_test_message ("%s: %s%s", line, result.out, result.err);
  g_assert_cmpint (result.exit_code, ==, 0);
  return g_steal_pointer (&result.out);
}

/* For what it leaves behind. */
static inline void
run_quiet (const char *line)
{
  g_free (run_ok (line));
}

/* The command ends with @code, and stderr has every one of NULL-terminated @texts. */
static inline void
assert_fails (const char *line, int code, ...)
{
  g_auto (Result) result = run (line);
  g_test_message ("%s: %s", line, result.err);
  g_assert_cmpint (result.exit_code, ==, code);
  va_list texts;
  va_start (texts, code);
  for (const char *text; (text = va_arg (texts, const char *)) != NULL;)
    g_assert_nonnull (strstr (result.err, text));
  va_end (texts);
}

/* Every line of @text is a JSON object; the last one is returned. */
static inline JsonNode *
parse_lines (const char *text)
{
  g_auto (GStrv) lines = g_strsplit (text, "\n", -1);
  JsonNode *last = NULL;
  for (char **line = lines; *line != NULL; line++)
    {
      g_autoptr (GError) error = NULL;
      if (**line == '\0')
        continue;
      g_clear_pointer (&last, json_node_unref);
      last = tn_json_parse (*line, -1, &error);
      g_assert_no_error (error);
      g_assert_true (JSON_NODE_HOLDS_OBJECT (last));
    }
  g_assert_nonnull (last);
  return last;
}

static inline double
number_of (JsonNode *node, const char *name)
{
  g_assert_true (json_object_has_member (json_node_get_object (node), name));
  return json_object_get_double_member (json_node_get_object (node), name);
}

static inline const char *
text_of (JsonNode *node, const char *name)
{
  g_assert_true (json_object_has_member (json_node_get_object (node), name));
  return json_object_get_string_member (json_node_get_object (node), name);
}

/* A project of few digits: 16 steps of 32 an epoch. */
#define SMALL "--set data.samples=600 --set data.validation=last:80 --set device.threads=1"

static inline void
make_project (const char *name, const char *more)
{
  g_autofree char *line = g_strdup_printf ("new %s --preset lenet5 " SMALL " %s", name, more != NULL ? more : "");
  run_quiet (line);
}

/* The only run of a project, as a path from the scratch folder. */
static inline char *
only_run (const char *project)
{
  g_autofree char *runs = g_build_filename (scratch, project, "runs", NULL);
  g_autoptr (GDir) dir = g_dir_open (runs, 0, NULL);
  g_assert_nonnull (dir);
  g_autofree char *name = g_strdup (g_dir_read_name (dir));
  g_assert_nonnull (name);
  g_assert_null (g_dir_read_name (dir));
  return g_build_filename (project, "runs", name, NULL);
}

static inline JsonNode *
show (const char *path)
{
  g_autofree char *line = g_strdup_printf ("show %s --json", path), *out = run_ok (line);
  return parse_lines (out);
}

static inline void
make_scratch (void)
{
  g_autoptr (GError) error = NULL;
  scratch = g_dir_make_tmp ("tenon-cli-XXXXXX", &error);
  g_assert_no_error (error);
}

static inline int
run_tests (void)
{
  make_scratch ();
  int status = g_test_run ();
  remove_tree (scratch);
  g_free (scratch);
  return status;
}
