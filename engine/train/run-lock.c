/* SPDX-License-Identifier: Apache-2.0 */
#include "train/run-lock.h"

#include <inttypes.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "base/json.h"
#include "train/file-lock.h"

#define LOCK_FILE "lock"
#define LOCK_WAIT_MS 100
#define READ_TRIES 3
#define MAX_LOCK_BYTES 65536

static char *
lock_path (const char *run_path)
{
  return g_build_filename (run_path, LOCK_FILE, NULL);
}

static char *
boot_id (void)
{
  char *text = NULL;
  if (!g_file_get_contents ("/proc/sys/kernel/random/boot_id", &text, NULL, NULL))
    return g_strdup ("");
  return g_strstrip (text);
}

/* State (field 3) and start time (field 22) in /proc/PID/stat; the name in field 2 may hold spaces and parentheses, so count from
 * the last ')'. 0 where there is no such process. */
static gint64
read_process (gint64 pid, char *state)
{
  g_autofree char *path = g_strdup_printf ("/proc/%" PRId64 "/stat", pid);
  g_autofree char *text = NULL;
  *state = '\0';
  if (!g_file_get_contents (path, &text, NULL, NULL))
    return 0;
  const char *at = strrchr (text, ')');
  if (at == NULL || at[1] == '\0')
    return 0;
  *state = at[2];
  for (int field = 2; at != NULL && field < 22; field++)
    {
      at = strchr (at, ' ');
      at = at != NULL ? at + 1 : NULL;
    }
  return at != NULL ? g_ascii_strtoll (at, NULL, 10) : 0;
}

static gint64
own_start_ticks (void)
{
  char state;
  return read_process (getpid (), &state);
}

/* Its state letter, or 0 where the process is another one, gone, or on another machine. */
static char
owner_process (const TnRunOwner *owner)
{
  g_autofree char *boot = boot_id ();
  char state;
  if (owner->pid <= 0 || owner->boot_id == NULL || strcmp (boot, owner->boot_id) != 0)
    return '\0';
  gint64 ticks = read_process (owner->pid, &state);
  return ticks != 0 && ticks == owner->start_ticks ? state : '\0';
}

gboolean
tn_run_owner_is_stopped (const TnRunOwner *owner)
{
  return owner_process (owner) == 'T';
}

gboolean
tn_run_owner_is_local (const TnRunOwner *owner)
{
  g_autofree char *boot = boot_id ();
  return owner->boot_id == NULL || *owner->boot_id == '\0' || strcmp (boot, owner->boot_id) == 0 || strcmp (owner->host, g_get_host_name ()) == 0;
}

gboolean
tn_run_owner_is_alive (const TnRunOwner *owner)
{
  char state = owner_process (owner);
  return state != '\0' && state != 'Z' && state != 'X';
}

int
tn_run_lock_take (const char *run_path, GError **error)
{
  g_autofree char *path = lock_path (run_path);
  g_autoptr (GError) failure = NULL;
  int fd = tn_file_lock_take (path, LOCK_WAIT_MS, &failure);
  if (fd >= 0)
    return fd;
  g_auto (TnRunOwner) owner = { 0 };
  if (g_error_matches (failure, TN_ERROR, TN_ERROR_BUSY) && tn_run_folder_owner (run_path, &owner, NULL) && owner.pid > 0)
    g_set_error (error, TN_ERROR, TN_ERROR_BUSY,
                 _("“%s” is being trained by process %" PRId64
                   " on %s. Attach to it, or stop it first (tenon-cli attach %s watch|stop)."),
                 run_path, owner.pid, owner.host, run_path);
  else if (g_error_matches (failure, TN_ERROR, TN_ERROR_BUSY))
    g_set_error (error, TN_ERROR, TN_ERROR_BUSY, _("“%s” is being trained by another process."), run_path);
  else
    g_propagate_error (error, g_steal_pointer (&failure));
  return -1;
}

gboolean
tn_run_lock_describe (int fd, const char *run_path, const char *address, gint64 step, gint64 median_step_us, GError **error)
{
  g_autofree char *path = lock_path (run_path);
  g_autofree char *boot = boot_id ();
  g_autoptr (JsonObject) object = json_object_new ();
  json_object_set_int_member (object, "pid", getpid ());
  json_object_set_string_member (object, "host", g_get_host_name ());
  json_object_set_string_member (object, "boot_id", boot);
  tn_json_set_int64_string (object, "start_ticks", own_start_ticks ());
  tn_json_set_int64_string (object, "time_us", g_get_real_time ());
  tn_json_set_int64_string (object, "step", step);
  tn_json_set_int64_string (object, "median_step_us", median_step_us);
  if (address != NULL)
    json_object_set_string_member (object, "address", address);
  g_autoptr (JsonNode) node = json_node_init_object (json_node_alloc (), object);
  g_autofree char *text = tn_json_to_text (node, 2);
  return tn_file_lock_set_text (fd, path, text, error);
}

void
tn_run_owner_clear (TnRunOwner *owner)
{
  g_free (owner->host);
  g_free (owner->boot_id);
  g_free (owner->address);
  *owner = (TnRunOwner){ 0 };
}

/* A text that is not whole (its writer is at it right now) tells nothing, and is no error. */
static void
parse_owner (const char *text, gsize n, TnRunOwner *owner)
{
  g_autoptr (JsonNode) node = n < MAX_LOCK_BYTES ? tn_json_parse (text, (gssize) n, NULL) : NULL;
  if (node == NULL || !JSON_NODE_HOLDS_OBJECT (node))
    return;
  JsonObject *object = json_node_get_object (node);
  const char *host = "", *boot = "", *address = NULL;
  int64_t ticks = 0, heartbeat = 0, step = 0, median = 0;
  tn_json_opt_int (object, "pid", 0, G_MAXINT64, &owner->pid, "", NULL);
  tn_json_opt_string (object, "host", &host, "", NULL);
  tn_json_opt_string (object, "boot_id", &boot, "", NULL);
  tn_json_opt_string (object, "address", &address, "", NULL);
  if (json_object_has_member (object, "start_ticks"))
    tn_json_get_int64_string (object, "start_ticks", &ticks, "", NULL);
  if (json_object_has_member (object, "time_us"))
    tn_json_get_int64_string (object, "time_us", &heartbeat, "", NULL);
  if (json_object_has_member (object, "step"))
    tn_json_get_int64_string (object, "step", &step, "", NULL);
  if (json_object_has_member (object, "median_step_us"))
    tn_json_get_int64_string (object, "median_step_us", &median, "", NULL);
  owner->heartbeat_us = heartbeat;
  owner->step = step;
  owner->median_step_us = median;
  owner->host = g_strdup (host);
  owner->boot_id = g_strdup (boot);
  owner->address = g_strdup (address);
  owner->start_ticks = ticks;
}

gboolean
tn_run_folder_owner (const char *path, TnRunOwner *owner, GError **error)
{
  *owner = (TnRunOwner){ 0 };
  if (!g_file_test (path, G_FILE_TEST_IS_DIR))
    {
      g_set_error (error, TN_ERROR, TN_ERROR_NOT_FOUND, _("There is no run “%s”."), path);
      return FALSE;
    }
  g_autofree char *file = lock_path (path);
  owner->held = tn_file_lock_is_held (file);
  /* Its writer may be at it right now: what is not whole is read again. */
  for (int i = 0; i < READ_TRIES && owner->pid == 0 && g_file_test (file, G_FILE_TEST_IS_REGULAR); i++)
    {
      g_autofree char *text = NULL;
      gsize n;
      if (i > 0)
        g_usleep (1000);
      if (g_file_get_contents (file, &text, &n, NULL))
        parse_owner (text, n, owner);
    }
  if (owner->host == NULL)
    owner->host = g_strdup ("");
  if (owner->boot_id == NULL)
    owner->boot_id = g_strdup ("");
  return TRUE;
}
