/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/cli.h"
#include "base/error.h"
#include "train/queue.h"
#include "train/run-folder.h"
#include <glib-unix.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* queue: runs that wait for each other. "queue run" is a process of its own, so that it outlives whoever filled the queue; each
 * run is a process of its own again. */

static int
list (const char *project, gboolean json)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (GPtrArray) entries = tn_queue_read (project, &error);
  if (entries == NULL)
    return tn_cli_fail (error, json);
  if (!json && entries->len == 0)
    printf (_ ("Nothing waits.\n"));
  for (guint i = 0; i < entries->len; i++)
    {
      const TnQueueEntry *entry = entries->pdata[i];
      if (json)
        {
          JsonObject *object = json_object_new ();
          json_object_set_string_member (object, "run", entry->run);
          json_object_set_int_member (object, "tries", entry->tries);
          json_object_set_int_member (object, "failed", entry->failed);
          json_object_set_string_member (object, "error", entry->error);
          json_object_set_boolean_member (object, "waits", entry->failed < entry->tries);
          tn_cli_print_json (object);
          continue;
        }
      printf ("%3u  %-32s", i + 1, entry->run);
      if (entry->failed > 0)
        printf (_ ("  failed %d of %d times: %s"), entry->failed, entry->tries, entry->error);
      putchar ('\n');
    }
  return TN_EXIT_DONE;
}

/* Working through it. */

typedef struct
{
  const char *project;
  gboolean json, stopping;
  GSubprocess *process; /* or NULL */
  GMainLoop *loop;
} Worker;

static gboolean
signal_cb (gpointer data)
{
  Worker *self = data;
  self->stopping = TRUE;
  if (self->process != NULL)
    g_subprocess_send_signal (self->process, SIGINT); /* it saves and ends; a second signal ends it at once */
  return G_SOURCE_CONTINUE;
}

static void
ended_cb (GObject *source, GAsyncResult *result, gpointer data)
{
  g_subprocess_wait_finish (G_SUBPROCESS (source), result, NULL);
  g_main_loop_quit (((Worker *) data)->loop);
}

static void
tell (const Worker *self, const char *event, const char *run, const char *reason)
{
  if (!self->json)
    {
      printf ("%s: %s%s%s\n", run, event, *reason != '\0' ? ": " : "", reason);
      fflush (stdout);
      return;
    }
  JsonObject *object = json_object_new ();
  json_object_set_string_member (object, "event", event);
  json_object_set_string_member (object, "run", run);
  json_object_set_string_member (object, "reason", reason);
  tn_cli_print_json (object);
}

/* Its output is the run's log.txt, beside what the run notes there itself. */
static GSubprocess *
start (const char *run_path, GError **error)
{
  g_autoptr (TnRunFolder) folder = tn_run_folder_open (run_path, error);
  if (folder == NULL)
    return NULL;
  gboolean fresh = tn_run_folder_seen_state (folder) == TN_RUN_QUEUED;
  g_autofree char *program = g_file_read_link ("/proc/self/exe", error);
  if (program == NULL)
    return NULL;
  g_autoptr (GSubprocessLauncher) launcher = g_subprocess_launcher_new (G_SUBPROCESS_FLAGS_STDOUT_SILENCE | G_SUBPROCESS_FLAGS_STDERR_SILENCE);
  return g_subprocess_launcher_spawn (launcher, error, program, fresh ? "train" : "resume", run_path, NULL);
}

/* What became of the run, in its own words: NULL where it ended well. */
static char *
find_failure (const char *run_path, gboolean *by_user)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (TnRunFolder) folder = tn_run_folder_open (run_path, &error);
  *by_user = FALSE;
  if (folder == NULL)
    return g_strdup (error->message);
  TnRunState state = tn_run_folder_seen_state (folder);
  *by_user = state == TN_RUN_STOPPED || state == TN_RUN_PARKED;
  if (state == TN_RUN_FINISHED || *by_user)
    return NULL;
  const char *reason = tn_run_folder_reason (folder);
  return g_strdup (*reason != '\0' ? reason : tn_run_state_name (state));
}

static char *
train (Worker *self, const char *run_path, gboolean *by_user)
{
  g_autoptr (GError) error = NULL;
  *by_user = FALSE;
  self->process = start (run_path, &error);
  if (self->process == NULL)
    return g_strdup (error->message);
  g_subprocess_wait_async (self->process, NULL, ended_cb, self);
  g_main_loop_run (self->loop);
  g_clear_object (&self->process);
  return find_failure (run_path, by_user);
}

static gboolean
work_one (Worker *self, const TnQueueEntry *entry, GError **error)
{
  g_autofree char *path = g_build_filename (self->project, "runs", entry->run, NULL);
  gboolean by_user;
  tell (self, "begun", entry->run, "");
  g_autofree char *failure = train (self, path, &by_user);
  tell (self, failure != NULL ? "failed" : by_user ? "stopped" : "finished", entry->run, failure != NULL ? failure : "");
  if (self->stopping) /* the queue was ended, and not the run: it goes on with it next time */
    return TRUE;
  return tn_queue_done (self->project, entry->run, failure, error);
}

static int
work (const char *project, gboolean json)
{
  g_autoptr (GError) error = NULL;
  int lock = tn_queue_take (project, &error);
  if (lock < 0)
    return tn_cli_fail (error, json);
  g_autoptr (GMainLoop) loop = g_main_loop_new (NULL, FALSE);
  Worker self = { .project = project, .json = json, .loop = loop };
  guint sources[] = { g_unix_signal_add (SIGINT, signal_cb, &self), g_unix_signal_add (SIGTERM, signal_cb, &self) };
  for (TnQueueEntry *entry; !self.stopping && error == NULL && (entry = tn_queue_next (project, &error)) != NULL;)
    {
      work_one (&self, entry, &error);
      tn_queue_entry_free (entry);
    }
  for (guint i = 0; i < G_N_ELEMENTS (sources); i++)
    g_source_remove (sources[i]);
  close (lock);
  tn_cli_note_project (project);
  if (error != NULL)
    return tn_cli_fail (error, json);
  return self.stopping ? TN_EXIT_INTERRUPTED : TN_EXIT_DONE;
}

/* add without a run: a new one of the project as it is now. */
static int
add_new (TnProject *project, char **set, int tries)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (TnSettings) settings = tn_settings_copy (tn_project_settings (project));
  int status;
  if (!tn_cli_apply_or_tell ("queue", settings, set, tn_project_path (project), &status))
    return status;
  g_autoptr (TnRunFolder) folder = tn_run_folder_create (project, settings, &error);
  if (folder == NULL || !tn_queue_add (tn_project_path (project), tn_run_folder_name (folder), tries, &error))
    return tn_cli_fail (error, FALSE);
  printf ("%s\n", tn_run_folder_name (folder));
  return TN_EXIT_DONE;
}

static int
change (const char *project, const char *word, const char *run, const char *place, int tries)
{
  g_autoptr (GError) error = NULL;
  gint64 to;
  gboolean ok;
  if (run == NULL)
    return tn_cli_usage ("queue", _ ("which run? For example: queue %s DIR 2026-11-30-lenet5-01"), word);
  if (strcmp (word, "move") == 0)
    {
      if (place == NULL || !g_ascii_string_to_signed (place, 10, 1, 1000000, &to, NULL))
        return tn_cli_usage ("queue", _ ("to which place? For example: queue move DIR %s 1"), run);
      ok = tn_queue_move (project, run, (int) to - 1, &error);
    }
  else if (strcmp (word, "add") == 0)
    ok = tn_queue_add (project, run, tries, &error);
  else
    ok = tn_queue_remove (project, run, &error);
  return ok ? TN_EXIT_DONE : tn_cli_fail (error, FALSE);
}

int
tn_command_queue (int argc, char **argv)
{
  g_auto (GStrv) set = NULL;
  static const char *const words[] = { "run", "list", "add", "move", "remove", NULL };
  gboolean json = FALSE;
  int tries = 1;
  const GOptionEntry entries[] = {
    { "tries", 0, 0, G_OPTION_ARG_INT, &tries, N_ ("add: how often the run is begun where it fails (1)"), "N" },
    { "set", 's', 0, G_OPTION_ARG_STRING_ARRAY, &set, N_ ("add without a run: a setting of the new one"), "NAME=VALUE" },
    { "json", 0, 0, G_OPTION_ARG_NONE, &json, N_ ("run, list: one JSON object a line"), NULL },
    { 0 },
  };
  if (!tn_cli_parse_arguments ("queue", entries, &argc, &argv, 2, 4, _ ("say what and where: run DIR, list DIR, add DIR [RUN], move DIR RUN PLACE, remove DIR RUN")))
    return TN_EXIT_USAGE;
  const char *word = argv[1];
  if (!g_strv_contains (words, word))
    {
      g_autofree char *suggestion = tn_cli_suggestion (word, words);
      return tn_cli_usage ("queue", _ ("a queue cannot “%s”%s"), word, suggestion);
    }
  if (tries < 1 || tries > TN_QUEUE_MAX_TRIES)
    return tn_cli_usage ("queue", _ ("--tries is from 1 to %d"), TN_QUEUE_MAX_TRIES);
  int most = strcmp (word, "move") == 0 ? 5 : strcmp (word, "add") == 0 || strcmp (word, "remove") == 0 ? 4 : 3;
  if (argc > most)
    return tn_cli_usage ("queue", _ ("“%s” is one argument too many"), argv[most]);
  g_autoptr (GError) error = NULL;
  g_autoptr (TnProject) project = tn_project_open (argv[2], &error);
  if (project == NULL)
    return tn_cli_fail (error, json);
  const char *path = tn_project_path (project);
  if (strcmp (word, "list") == 0)
    return list (path, json);
  if (strcmp (word, "run") == 0)
    return work (path, json);
  if (strcmp (word, "add") == 0 && argc == 3)
    return add_new (project, set, tries);
  return change (path, word, argc > 3 ? argv[3] : NULL, argc > 4 ? argv[4] : NULL, tries);
}
