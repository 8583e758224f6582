/* SPDX-License-Identifier: Apache-2.0 */
#include "harness.h"

#include <errno.h>
#include <fcntl.h>
#include <glib/gstdio.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#define BUS_NAME "io.github.tenon_ml.Tenon"
#define PATH "/io/github/tenon_ml/Tenon/window/1"
#define TICK_US 20000

struct _TnHarness
{
  GTestDBus *bus;
  GDBusConnection *connection;
  GPid server, window;
  char *home, *display;
};

void
tn_found_clear (TnFound *found)
{
  g_free (found->role);
  g_free (found->name);
  g_free (found->value);
  memset (found, 0, sizeof *found);
}

static void
spin (int ms)
{
  gint64 end = g_get_monotonic_time () + ms * 1000;
  do
    {
      while (g_main_context_iteration (NULL, FALSE))
        ;
      g_usleep (MIN (TICK_US, (gulong) ms * 1000));
    }
  while (g_get_monotonic_time () < end);
}

/* What a test started ends with it, also where an assertion aborts it. */
static void
end_with_parent (gpointer data)
{
  prctl (PR_SET_PDEATHSIG, SIGKILL);
}

static gboolean
have_tools (void)
{
  static const char *const tools[] = { "Xvfb", "xdotool", "dbus-daemon", "import" };
  for (guint i = 0; i < G_N_ELEMENTS (tools); i++)
    {
      g_autofree char *path = g_find_program_in_path (tools[i]);
      if (path == NULL)
        {
          g_autofree char *text = g_strdup_printf ("%s is not installed", tools[i]);
          g_test_skip (text);
          return FALSE;
        }
    }
  return TRUE;
}

/* Xvfb writes the number of the free display that it took to a pipe. */
static gboolean
start_server (TnHarness *self, int width, int height)
{
  int ends[2];
  char number[16] = { 0 };
  g_assert_cmpint (pipe (ends), ==, 0);
  fcntl (ends[0], F_SETFD, FD_CLOEXEC);
  g_autofree char *size = g_strdup_printf ("%dx%dx24", width, height), *fd = g_strdup_printf ("%d", ends[1]);
  char *argv[] = { (char *) "Xvfb", (char *) "-displayfd", fd, (char *) "-screen", (char *) "0", size, (char *) "-noreset", (char *) "-nolisten", (char *) "tcp", NULL };
  gboolean ok = g_spawn_async_with_fds (NULL, argv, NULL, G_SPAWN_SEARCH_PATH | G_SPAWN_DO_NOT_REAP_CHILD | G_SPAWN_LEAVE_DESCRIPTORS_OPEN
                                        | G_SPAWN_STDOUT_TO_DEV_NULL | G_SPAWN_STDERR_TO_DEV_NULL, end_with_parent, NULL, &self->server, -1, -1, -1, NULL);
  close (ends[1]);
  /* To the end of the line: a pipe that closed before it wrote all would kill it. */
  for (gsize n = 0; ok && n + 1 < sizeof number && strchr (number, '\n') == NULL; n++)
    ok = read (ends[0], number + n, 1) == 1;
  close (ends[0]);
  self->display = g_strdup_printf (":%s", g_strstrip (number));
  return ok;
}

static TnHarness *current;

/* An assertion that fails leaves no trainer behind, which goes on without the window that began it, nor the bus. */
static void
end_on_abort (int number)
{
  TnHarness *self = current;
  current = NULL;
  signal (SIGABRT, SIG_DFL);
  GPid trainer = self != NULL ? tn_harness_trainer (self) : 0;
  if (trainer > 0)
    kill (trainer, SIGKILL);
  if (self != NULL)
    g_test_dbus_down (self->bus);
  raise (SIGABRT);
}

TnHarness *
tn_harness_new (int width, int height)
{
  if (!have_tools ())
    return NULL;
  TnHarness *self = g_new0 (TnHarness, 1);
  current = self;
  signal (SIGABRT, end_on_abort);
  self->home = g_dir_make_tmp ("tenon-window-XXXXXX", NULL);
  g_assert_true (start_server (self, width, height));
  static const char *const folders[][2] = { { "HOME", "" }, { "XDG_CONFIG_HOME", "config" }, { "XDG_DATA_HOME", "data" }, { "XDG_STATE_HOME", "state" },
                                            { "XDG_CACHE_HOME", "cache" }, { "XDG_RUNTIME_DIR", "run" } };
  for (guint i = 0; i < G_N_ELEMENTS (folders); i++)
    {
      g_autofree char *path = g_build_filename (self->home, folders[i][1], NULL);
      g_mkdir_with_parents (path, 0700);
      g_setenv (folders[i][0], path, TRUE);
    }
  static const char *const variables[][2]
    = { { "GDK_BACKEND", "x11" }, { "GSK_RENDERER", "cairo" }, { "GSETTINGS_BACKEND", "keyfile" }, { "GTK_A11Y", "none" }, { "ADW_DISABLE_PORTAL", "1" },
        { "TENON_TEST", "1" },    { "LC_ALL", "C.UTF-8" },     { "TZ", "UTC" },                   { "GIO_USE_VFS", "local" }, { "GTK_THEME", "" } };
  for (guint i = 0; i < G_N_ELEMENTS (variables); i++)
    if (*variables[i][1] != '\0')
      g_setenv (variables[i][0], variables[i][1], TRUE);
    else
      g_unsetenv (variables[i][0]);
  g_unsetenv ("WAYLAND_DISPLAY");
  self->bus = g_test_dbus_new (G_TEST_DBUS_NONE);
  g_test_dbus_up (self->bus);
  g_setenv ("DISPLAY", self->display, TRUE); /* which GTestDBus unsets */
  self->connection = g_dbus_connection_new_for_address_sync (g_test_dbus_get_bus_address (self->bus),
                                                             G_DBUS_CONNECTION_FLAGS_AUTHENTICATION_CLIENT | G_DBUS_CONNECTION_FLAGS_MESSAGE_BUS_CONNECTION,
                                                             NULL, NULL, NULL);
  g_assert_nonnull (self->connection);
  g_dbus_connection_set_exit_on_close (self->connection, FALSE);
  return self;
}

static void
end_process (GPid *pid, int signal_number)
{
  if (*pid <= 0)
    return;
  kill (*pid, signal_number);
  waitpid (*pid, NULL, 0);
  *pid = 0;
}

void
tn_harness_kill_window (TnHarness *self)
{
  end_process (&self->window, SIGKILL);
}

static void
remove_tree (const char *path)
{
  GDir *dir = g_dir_open (path, 0, NULL);
  const char *name;
  while (dir != NULL && (name = g_dir_read_name (dir)) != NULL)
    {
      g_autofree char *child = g_build_filename (path, name, NULL);
      remove_tree (child);
    }
  if (dir != NULL)
    g_dir_close (dir);
  g_remove (path);
}

void
tn_harness_free (TnHarness *self)
{
  current = NULL;
  GPid trainer = tn_harness_trainer (self);
  if (trainer > 0)
    kill (trainer, SIGKILL);
  end_process (&self->window, SIGKILL);
  g_clear_object (&self->connection);
  g_test_dbus_down (self->bus);
  g_object_unref (self->bus);
  end_process (&self->server, SIGTERM);
  remove_tree (self->home);
  g_free (self->home);
  g_free (self->display);
  g_free (self);
}

const char *
tn_harness_home (TnHarness *self)
{
  return self->home;
}

GVariant *
tn_harness_call (TnHarness *self, const char *method, GVariant *parameters)
{
  g_autoptr (GError) error = NULL;
  GVariant *reply = g_dbus_connection_call_sync (self->connection, BUS_NAME, PATH, BUS_NAME ".Test1", method, parameters, NULL, G_DBUS_CALL_FLAGS_NONE,
                                                 20000, NULL, &error); /* a machine may be busy with other things */
  if (reply == NULL)
    g_error ("%s: %s", method, error->message);
  return reply;
}

static gboolean
is_up (TnHarness *self)
{
  g_autoptr (GVariant) reply = g_dbus_connection_call_sync (self->connection, BUS_NAME, PATH, BUS_NAME ".Test1", "WaitIdle", g_variant_new ("(u)", 2000), NULL,
                                                            G_DBUS_CALL_FLAGS_NO_AUTO_START, 4000, NULL, NULL);
  return reply != NULL;
}

void
tn_harness_start (TnHarness *self, const char *argument)
{
  char *argv[] = { (char *) g_getenv ("TENON_WINDOW"), (char *) argument, NULL };
  g_auto (GStrv) environment = g_environ_setenv (g_get_environ (), "G_DEBUG", "fatal-criticals", TRUE);
  g_autoptr (GError) error = NULL;
  g_spawn_async (NULL, argv, environment, G_SPAWN_DO_NOT_REAP_CHILD, end_with_parent, NULL, &self->window, &error);
  g_assert_no_error (error);
  gint64 end = g_get_monotonic_time () + 15 * G_USEC_PER_SEC;
  while (!is_up (self))
    {
      g_assert_cmpint (g_get_monotonic_time (), <, end);
      spin (20);
    }
}

int
tn_harness_wait_exit (TnHarness *self, int ms)
{
  gint64 end = g_get_monotonic_time () + (gint64) ms * 1000;
  int status;
  while (g_get_monotonic_time () < end)
    {
      if (waitpid (self->window, &status, WNOHANG) == self->window)
        {
          self->window = 0;
          return WIFEXITED (status) ? WEXITSTATUS (status) : 128 + WTERMSIG (status);
        }
      spin (20);
    }
  return -1;
}

/* Reading. */

gboolean
tn_harness_find (TnHarness *self, const char *id, TnFound *found)
{
  g_autoptr (GVariant) reply = tn_harness_call (self, "Find", g_variant_new ("(s)", id));
  tn_found_clear (found);
  g_variant_get (reply, "(ss(iiii)bbs)", &found->role, &found->name, &found->x, &found->y, &found->width, &found->height, &found->visible,
                 &found->sensitive, &found->value);
  return *found->role != '\0';
}

char *
tn_harness_value (TnHarness *self, const char *id)
{
  g_auto (TnFound) found = { 0 };
  tn_harness_find (self, id, &found);
  return g_steal_pointer (&found.value);
}

char *
tn_harness_state (TnHarness *self, const char *view)
{
  g_autoptr (GVariant) reply = tn_harness_call (self, "State", g_variant_new ("(s)", view));
  char *state;
  g_variant_get (reply, "(s)", &state);
  return state;
}

gboolean
tn_harness_wait_visible (TnHarness *self, const char *id, int ms)
{
  for (gint64 end = g_get_monotonic_time () + (gint64) ms * 1000; g_get_monotonic_time () < end; spin (20))
    {
      g_auto (TnFound) found = { 0 };
      if (tn_harness_find (self, id, &found) && found.visible)
        return TRUE;
    }
  return FALSE;
}

gboolean
tn_harness_wait_state (TnHarness *self, const char *view, const char *state, int ms)
{
  for (gint64 end = g_get_monotonic_time () + (gint64) ms * 1000; g_get_monotonic_time () < end; spin (20))
    {
      g_autofree char *now = tn_harness_state (self, view);
      if (g_str_equal (now, state))
        return TRUE;
    }
  g_autofree char *last = tn_harness_state (self, view), *title = tn_harness_value (self, "header_title"), *banner = tn_harness_value (self, "root_banner");
  g_test_message ("%s stayed %s; %s; %s", view, last, title, banner);
  return FALSE;
}

gboolean
tn_harness_wait_value (TnHarness *self, const char *id, const char *pattern, int ms)
{
  g_autofree char *value = NULL;
  for (gint64 end = g_get_monotonic_time () + (gint64) ms * 1000; g_get_monotonic_time () < end; spin (20))
    {
      g_free (value);
      value = tn_harness_value (self, id);
      if (g_pattern_match_simple (pattern, value))
        return TRUE;
    }
  g_test_message ("%s stayed “%s”, not %s", id, value, pattern);
  return FALSE;
}

gint64
tn_harness_steps (TnHarness *self)
{
  g_autofree char *value = tn_harness_value (self, "header_title");
  const char *at = strstr (value, "step ");
  return at != NULL ? g_ascii_strtoll (at + 5, NULL, 10) : 0;
}

/* Pressing. */

static void
xdotool (const char *a, const char *b, const char *c, const char *d, const char *e)
{
  char *argv[] = { (char *) "xdotool", (char *) a, (char *) b, (char *) c, (char *) d, (char *) e, NULL };
  int status = 1;
  g_autoptr (GError) error = NULL;
  g_spawn_sync (NULL, argv, NULL, G_SPAWN_SEARCH_PATH | G_SPAWN_STDERR_TO_DEV_NULL, NULL, NULL, NULL, NULL, &status, &error);
  g_assert_no_error (error);
  g_assert_cmpint (status, ==, 0);
}

void
tn_harness_click (TnHarness *self, const char *id)
{
  g_auto (TnFound) found = { 0 };
  if (!tn_harness_find (self, id, &found) || !found.visible)
    g_error ("%s is not on the screen", id);
  g_autofree char *x = g_strdup_printf ("%d", found.x + found.width / 2), *y = g_strdup_printf ("%d", found.y + found.height / 2);
  xdotool ("mousemove", x, y, NULL, NULL);
  xdotool ("click", "1", NULL, NULL, NULL);
}

/* Without a window manager keys go to the window under the pointer; dialogs open at the top left, over the window. */
void
tn_harness_key (TnHarness *self, const char *keys)
{
  xdotool ("mousemove", "60", "60", NULL, NULL);
  xdotool ("key", "--clearmodifiers", keys, NULL, NULL);
}

void
tn_harness_type (TnHarness *self, const char *text)
{
  xdotool ("mousemove", "60", "60", NULL, NULL);
  xdotool ("type", "--delay", "5", text, NULL);
}

void
tn_harness_activate (TnHarness *self, const char *action, const char *text)
{
  GVariantBuilder targets;
  g_variant_builder_init (&targets, G_VARIANT_TYPE ("av"));
  if (text != NULL)
    g_variant_builder_add (&targets, "v", g_variant_new_string (text));
  g_variant_unref (tn_harness_call (self, "Activate", g_variant_new ("(sav)", action, &targets)));
}

void
tn_harness_activate_state (TnHarness *self, const char *action, gboolean state)
{
  g_autoptr (GVariant) reply
    = g_dbus_connection_call_sync (self->connection, BUS_NAME, PATH, "org.gtk.Actions", "SetState",
                                   g_variant_new ("(sv@a{sv})", action, g_variant_new_boolean (state), g_variant_new_array (G_VARIANT_TYPE ("{sv}"), NULL, 0)),
                                   NULL, G_DBUS_CALL_FLAGS_NONE, 5000, NULL, NULL);
  g_assert_nonnull (reply);
}

gboolean
tn_harness_enabled (TnHarness *self, const char *action)
{
  g_autoptr (GVariant) reply = g_dbus_connection_call_sync (self->connection, BUS_NAME, PATH, "org.gtk.Actions", "Describe", g_variant_new ("(s)", action),
                                                            NULL, G_DBUS_CALL_FLAGS_NONE, 5000, NULL, NULL);
  gboolean enabled = FALSE;
  if (reply != NULL)
    g_variant_get (reply, "((bgav))", &enabled, NULL, NULL);
  return enabled;
}

guint8 *
tn_harness_picture (TnHarness *self, int *width, int *height)
{
  char *argv[] = { (char *) "import", (char *) "-window", (char *) "root", (char *) "-depth", (char *) "8", (char *) "ppm:-", NULL };
  g_autoptr (GSubprocess) process = g_subprocess_newv ((const char *const *) argv, G_SUBPROCESS_FLAGS_STDOUT_PIPE, NULL);
  g_autoptr (GBytes) out = NULL;
  g_assert_true (g_subprocess_communicate (process, NULL, NULL, &out, NULL, NULL));
  gsize n;
  const char *text = g_bytes_get_data (out, &n);
  int depth, used = 0;
  g_assert_cmpint (sscanf (text, "P6 %d %d %d%n", width, height, &depth, &used), ==, 3);
  gsize pixels = (gsize) *width * (gsize) *height * 3;
  g_assert_cmpuint (n, >=, (gsize) used + 1 + pixels);
  return g_memdup2 (text + used + 1, pixels);
}

GPid
tn_harness_window (TnHarness *self)
{
  return self->window;
}

char *
tn_harness_run (TnHarness *self, const char *name)
{
  g_autofree char *runs = g_build_filename (self->home, "Tenon", name, "runs", NULL);
  GDir *dir = g_dir_open (runs, 0, NULL);
  g_autofree char *newest = NULL;
  const char *entry;
  while (dir != NULL && (entry = g_dir_read_name (dir)) != NULL)
    if (newest == NULL || strcmp (entry, newest) > 0)
      {
        g_free (newest);
        newest = g_strdup (entry);
      }
  if (dir != NULL)
    g_dir_close (dir);
  return newest != NULL ? g_build_filename (runs, newest, NULL) : NULL;
}

GPid
tn_harness_trainer (TnHarness *self)
{
  static const char *const projects[] = { "Digits", "Two spirals", "Project" };
  for (guint i = 0; i < G_N_ELEMENTS (projects); i++)
    {
      g_autofree char *run = tn_harness_run (self, projects[i]), *path = run != NULL ? g_build_filename (run, "lock", NULL) : NULL, *text = NULL;
      if (path == NULL || !g_file_get_contents (path, &text, NULL, NULL))
        continue;
      const char *at = strstr (text, "pid");
      at = at != NULL ? strpbrk (at, "0123456789") : NULL;
      GPid pid = at != NULL ? (GPid) g_ascii_strtoll (at, NULL, 10) : 0;
      g_autofree char *comm_path = g_strdup_printf ("/proc/%d/cmdline", pid), *comm = NULL;
      if (pid > 0 && g_file_get_contents (comm_path, &comm, NULL, NULL) && strstr (comm, "tenon-cli") != NULL)
        return pid;
    }
  return 0;
}
