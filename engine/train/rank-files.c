/* SPDX-License-Identifier: Apache-2.0 */
#include "train/rank-files.h"

#include <errno.h>
#include <glib/gstdio.h>
#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/error.h"
#include "base/json.h"
#include "train/file-lock.h"

#define FOLDER "ranks"
#define WAIT_MS 2000 /* for the lock: a process of the run before may be ending */
#define MAX_TEXT 65536
#define MAX_RANKS 16384
#define START_S 5 /* ranks come up before the run is locked */

struct _TnRankFiles
{
  int rank, lock, heart, log;
  char *lock_path, *told_text;
  pthread_t thread;
  gboolean has_thread;
  pthread_mutex_t mutex; /* for what follows */
  pthread_cond_t wake;
  gboolean ending;
};

/* What the signal handler writes, and where. */
static volatile sig_atomic_t told_fd = -1;
static const char *told_text;
static size_t told_length;

static char *
file_path (const char *run_path, int rank, const char *ending)
{
  g_autofree char *name = g_strdup_printf ("rank-%04d.%s", rank, ending);
  return g_build_filename (run_path, FOLDER, name, NULL);
}

/* Padded, so that a later text covers all of an earlier one in a single write. */
static char *
lock_text (int rank, const char *end)
{
  g_autoptr (JsonObject) object = json_object_new ();
  json_object_set_int_member (object, "rank", rank);
  json_object_set_int_member (object, "pid", getpid ());
  json_object_set_string_member (object, "host", g_get_host_name ());
  if (end != NULL)
    json_object_set_string_member (object, "end", end);
  g_autoptr (JsonNode) node = json_node_init_object (json_node_alloc (), object);
  g_autofree char *text = tn_json_to_text (node, 0);
  return g_strdup_printf ("%-510s\n", text);
}

static void
told_cb (int signal)
{
  int before = errno;
  if (told_fd >= 0 && pwrite (told_fd, told_text, told_length, 0) < 0)
    errno = before;
  errno = before;
}

static void
catch_signals (void)
{
  static const int signals[] = { SIGINT, SIGTERM, SIGHUP };
  struct sigaction action = { .sa_handler = told_cb, .sa_flags = SA_RESTART };
  for (gsize i = 0; i < G_N_ELEMENTS (signals); i++)
    sigaction (signals[i], &action, NULL);
}

static void *
heart_main (void *data)
{
  TnRankFiles *self = data;
  pthread_setname_np (pthread_self (), "tn-heart");
  pthread_mutex_lock (&self->mutex);
  while (!self->ending)
    {
      char text[32];
      int n = g_snprintf (text, sizeof text, "%-20" PRId64 "\n", g_get_real_time ());
      if (pwrite (self->heart, text, (size_t) n, 0) != n)
        break; /* the folder is gone: whoever misses the run will find that out */
      struct timespec until;
      clock_gettime (CLOCK_REALTIME, &until);
      until.tv_sec++;
      pthread_cond_timedwait (&self->wake, &self->mutex, &until);
    }
  pthread_mutex_unlock (&self->mutex);
  return NULL;
}

static void
start_heart (TnRankFiles *self)
{
  sigset_t all, before;
  sigfillset (&all);
  pthread_sigmask (SIG_SETMASK, &all, &before);
  self->has_thread = pthread_create (&self->thread, NULL, heart_main, self) == 0;
  pthread_sigmask (SIG_SETMASK, &before, NULL);
}

static int
open_file (const char *run_path, int rank, const char *ending, int flags, GError **error)
{
  g_autofree char *path = file_path (run_path, rank, ending);
  int fd = open (path, O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | flags, 0644);
  if (fd < 0)
    tn_error_set_errno (error, errno, _("write"), path);
  return fd;
}

static void
free_files (TnRankFiles *self)
{
  if (self->heart >= 0)
    close (self->heart);
  if (self->log >= 0)
    close (self->log);
  if (self->lock >= 0)
    close (self->lock);
  pthread_mutex_destroy (&self->mutex);
  pthread_cond_destroy (&self->wake);
  g_free (self->lock_path);
  g_free (self->told_text);
  g_free (self);
}

TnRankFiles *
tn_rank_files_open (const char *run_path, int rank, gboolean own_signals, GError **error)
{
  TnRankFiles *self = g_new0 (TnRankFiles, 1);
  g_autofree char *folder = g_build_filename (run_path, FOLDER, NULL);
  *self = (TnRankFiles){ .rank = rank, .lock = -1, .heart = -1, .log = -1 };
  pthread_mutex_init (&self->mutex, NULL);
  pthread_cond_init (&self->wake, NULL);
  if (g_mkdir_with_parents (folder, 0755) != 0)
    tn_error_set_errno (error, errno, _("make"), folder);
  else
    {
      self->lock_path = file_path (run_path, rank, "lock");
      self->lock = tn_file_lock_take (self->lock_path, WAIT_MS, error);
    }
  g_autofree char *text = lock_text (rank, NULL);
  if (self->lock < 0 || !tn_file_lock_set_text (self->lock, self->lock_path, text, error)
      || (self->heart = open_file (run_path, rank, "heartbeat", 0, error)) < 0
      || (self->log = open_file (run_path, rank, "log", O_APPEND, error)) < 0)
    {
      free_files (self);
      return NULL;
    }
  self->told_text = lock_text (rank, "told to end");
  if (!own_signals)
    {
      told_text = self->told_text;
      told_length = strlen (self->told_text);
      told_fd = self->lock;
      catch_signals ();
    }
  start_heart (self);
  return self;
}

void
tn_rank_files_log (TnRankFiles *self, const char *text)
{
  g_autoptr (GDateTime) now = g_date_time_new_now_utc ();
  g_autofree char *time = g_date_time_format (now, "%Y-%m-%dT%H:%M:%SZ");
  g_autofree char *line = g_strdup_printf ("%s %s\n", time, text);
  if (write (self->log, line, strlen (line)) < 0)
    return; /* a log is no reason to end */
}

void
tn_rank_files_note_told (TnRankFiles *self)
{
  tn_file_lock_set_text (self->lock, self->lock_path, self->told_text, NULL);
}

void
tn_rank_files_close (TnRankFiles *self, const char *failure)
{
  if (self == NULL)
    return;
  told_fd = -1;
  pthread_mutex_lock (&self->mutex);
  self->ending = TRUE;
  pthread_cond_signal (&self->wake);
  pthread_mutex_unlock (&self->mutex);
  if (self->has_thread)
    pthread_join (self->thread, NULL);
  g_autofree char *end = failure != NULL ? g_strdup_printf ("failed: %s", failure) : g_strdup ("finished");
  g_autofree char *text = lock_text (self->rank, end);
  tn_rank_files_log (self, end);
  tn_file_lock_set_text (self->lock, self->lock_path, text, NULL);
  free_files (self);
}

/* ---- whoever looks ---- */

/* What a lock says; FALSE if the rank is alive, or has ended with a word. */
static gboolean
is_lost (const char *path, gint64 *pid, char **host)
{
  g_autofree char *text = NULL;
  gsize n;
  if (tn_file_lock_is_held (path) || !g_file_get_contents (path, &text, &n, NULL) || n > MAX_TEXT)
    return FALSE;
  g_autoptr (JsonNode) node = tn_json_parse (text, (gssize) n, NULL);
  if (node == NULL || !JSON_NODE_HOLDS_OBJECT (node) || json_object_has_member (json_node_get_object (node), "end"))
    return FALSE;
  const char *where = "";
  tn_json_opt_int (json_node_get_object (node), "pid", 0, G_MAXINT64, pid, "", NULL);
  tn_json_opt_string (json_node_get_object (node), "host", &where, "", NULL);
  *host = g_strdup (where);
  return TRUE;
}

static char *
last_seen (const char *run_path, int rank)
{
  g_autofree char *path = file_path (run_path, rank, "heartbeat");
  g_autofree char *text = NULL;
  gsize n;
  if (!g_file_test (path, G_FILE_TEST_IS_REGULAR) || !g_file_get_contents (path, &text, &n, NULL))
    return g_strdup ("?");
  g_autoptr (GDateTime) time = g_date_time_new_from_unix_local (g_ascii_strtoll (text, NULL, 10) / G_USEC_PER_SEC);
  return time != NULL ? g_date_time_format (time, "%H:%M:%S") : g_strdup ("?");
}

/* Files of an earlier start with more processes tell nothing: their hearts stopped before this one took the run's lock. */
static gboolean
is_of_last_start (const char *run_path, int rank)
{
  g_autofree char *heart = file_path (run_path, rank, "heartbeat"), *lock = g_build_filename (run_path, "lock", NULL);
  GStatBuf beat, start;
  return g_stat (heart, &beat) == 0 && g_stat (lock, &start) == 0 && beat.st_mtime + START_S >= start.st_mtime;
}

char *
tn_rank_files_lost (const char *run_path)
{
  g_autoptr (GString) text = g_string_new (NULL);
  for (int rank = 0; rank < MAX_RANKS; rank++)
    {
      g_autofree char *path = file_path (run_path, rank, "lock"), *host = NULL;
      gint64 pid = 0;
      if (!g_file_test (path, G_FILE_TEST_IS_REGULAR))
        break;
      if (!is_of_last_start (run_path, rank) || !is_lost (path, &pid, &host))
        continue;
      g_autofree char *seen = last_seen (run_path, rank);
      g_string_append_printf (text, _("%sRank %d (process %" PRId64 " on %s) ended without a word; it was last seen at %s."), text->len > 0 ? " " : "",
                              rank, pid, host, seen);
    }
  return text->len > 0 ? g_strdup (text->str) : NULL;
}
