/* SPDX-License-Identifier: Apache-2.0 */
#include "train/service.h"

#include <errno.h>
#include <glib/gstdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"

#define MAX_UNSENT_BATCHES 4
#define MAX_UNSENT_SIGNALS 64
#define DRAIN_US 300000
#define ERROR_PREFIX "io.github.tenon_ml.Tenon.Error."

static const char introspection[] =
  "<node><interface name='" TN_SERVICE_INTERFACE "'>"
  "<method name='Pause'/><method name='Resume'/><method name='Park'/><method name='Stop'/><method name='StopNow'/>"
  "<method name='Checkpoint'/>"
  "<method name='Extend'><arg name='epochs' type='x' direction='in'/></method>"
  "<method name='SetValue'><arg name='name' type='s' direction='in'/><arg name='value' type='s' direction='in'/></method>"
  "<method name='Resync'><arg name='file' type='s' direction='in'/><arg name='offset' type='t' direction='in'/>"
  "<arg name='file' type='s' direction='out'/><arg name='end' type='t' direction='out'/></method>"
  "<method name='WatchTimes'><arg name='on' type='b' direction='in'/></method>"
  "<method name='Nodes'><arg name='nodes' type='a(usss)' direction='out'/></method>"
  "<signal name='NodeTimes'><arg name='step' type='x'/><arg name='steps' type='u'/><arg name='ids' type='au'/>"
  "<arg name='mean_ns' type='ad'/></signal>"
  "<property name='SecondsLeft' type='(dd)' access='read'/><property name='ChecksWithoutGain' type='x' access='read'/>"
  "<signal name='State'><arg name='state' type='s'/><arg name='cause' type='s'/><arg name='reason' type='s'/></signal>"
  "<signal name='Metrics'><arg name='file' type='s'/><arg name='begin' type='t'/><arg name='end' type='t'/>"
  "<arg name='tags' type='au'/><arg name='steps' type='ax'/><arg name='values' type='ad'/><arg name='times_us' type='ax'/></signal>"
  "<signal name='Message'><arg name='level' type='i'/><arg name='text' type='s'/></signal>"
  "<signal name='Checkpointed'><arg name='step' type='x'/><arg name='path' type='s'/></signal>"
  "<property name='State' type='s' access='read'/><property name='Reason' type='s' access='read'/>"
  "<property name='Step' type='x' access='read'/><property name='TotalSteps' type='x' access='read'/>"
  "<property name='Epoch' type='x' access='read'/><property name='Tags' type='a(ss)' access='read'/>"
  "</interface></node>";

struct _TnService
{
  TnTrainer *trainer;
  GDBusServer *server;
  GDBusNodeInfo *node;
  char *socket_path, *address;
  GPtrArray *clients; /* Client */
  gulong handlers[5];
  char *file;  /* of the last batch seen */
  guint64 end; /* and how far it went */
  char *reason;
};

/* Signals to a client count as unsent until a flush that was begun after them is done. */
typedef struct
{
  gatomicrefcount ref_count;
  TnService *service; /* NULL once that is gone */
  GDBusConnection *connection;
  guint registration;
  gulong closed_handler;
  gboolean behind; /* gets nothing before it calls Resync */
  gboolean flushing;
  gboolean watches_times;
  guint unsent_batches, unsent_signals; /* in all */
  guint flushing_batches, flushing_signals; /* of these, covered by the flush that is going on */
} Client;

static void
client_unref (Client *client)
{
  if (!g_atomic_ref_count_dec (&client->ref_count))
    return;
  g_object_unref (client->connection);
  g_free (client);
}

/* The service lets go of a client. */
static void
client_drop (Client *client)
{
  if (client->watches_times)
    tn_trainer_watch_times (client->service->trainer, FALSE);
  client->watches_times = FALSE;
  client->service = NULL;
  g_signal_handler_disconnect (client->connection, client->closed_handler);
  g_dbus_connection_unregister_object (client->connection, client->registration);
  g_dbus_connection_close (client->connection, NULL, NULL, NULL);
  client_unref (client);
}

/* Errors. */

void
tn_service_register_errors (void)
{
  static gsize done;
  if (!g_once_init_enter (&done))
    return;
  for (int code = TN_ERROR_INVALID_ARGUMENT; code <= TN_ERROR_INTERNAL; code++)
    {
      /* "no-space" -> "NoSpace" */
      g_autoptr (GString) name = g_string_new (ERROR_PREFIX);
      gboolean upper = TRUE;
      for (const char *c = tn_error_code_name (code); *c != '\0'; c++)
        {
          if (*c != '-')
            g_string_append_c (name, upper ? g_ascii_toupper (*c) : *c);
          upper = *c == '-';
        }
      g_dbus_error_register_error (TN_ERROR, code, name->str);
    }
  g_once_init_leave (&done, 1);
}

/* Sending. */

static void flush_client (Client *client);

static void
flushed_cb (GObject *source, GAsyncResult *result, gpointer data)
{
  Client *client = data;
  gboolean ok = g_dbus_connection_flush_finish (G_DBUS_CONNECTION (source), result, NULL);
  client->flushing = FALSE;
  client->unsent_batches -= client->flushing_batches;
  client->unsent_signals -= client->flushing_signals;
  if (ok && client->service != NULL && client->unsent_signals > 0)
    flush_client (client);
  client_unref (client);
}

static void
flush_client (Client *client)
{
  if (client->flushing)
    return;
  client->flushing = TRUE;
  client->flushing_batches = client->unsent_batches;
  client->flushing_signals = client->unsent_signals;
  g_atomic_ref_count_inc (&client->ref_count);
  g_dbus_connection_flush (client->connection, NULL, flushed_cb, client);
}

static void
send (Client *client, const char *name, GVariant *parameters)
{
  g_autoptr (GVariant) sunk = g_variant_ref_sink (parameters);
  gboolean is_batch = strcmp (name, "Metrics") == 0;
  if (client->behind && is_batch)
    return;
  if ((is_batch && client->unsent_batches >= MAX_UNSENT_BATCHES) || client->unsent_signals >= MAX_UNSENT_SIGNALS)
    {
      client->behind = TRUE;
      return;
    }
  if (!g_dbus_connection_emit_signal (client->connection, NULL, TN_SERVICE_PATH, TN_SERVICE_INTERFACE, name, sunk, NULL))
    return;
  client->unsent_signals++;
  client->unsent_batches += is_batch;
  flush_client (client);
}

static void
send_all (TnService *self, const char *name, GVariant *parameters)
{
  g_autoptr (GVariant) sunk = g_variant_ref_sink (parameters);
  for (guint i = 0; i < self->clients->len; i++)
    send (g_ptr_array_index (self->clients, i), name, sunk);
}

/* From the trainer. */

static void
state_changed_cb (TnTrainer *trainer, int state, const char *cause, const char *reason, gpointer data)
{
  TnService *self = data;
  g_free (self->reason);
  self->reason = g_strdup (reason);
  send_all (self, "State", g_variant_new ("(sss)", tn_run_state_name ((TnRunState) state), cause, reason));
}

static gboolean
somebody_listens (TnService *self)
{
  for (guint i = 0; i < self->clients->len; i++)
    if (!((Client *) g_ptr_array_index (self->clients, i))->behind)
      return TRUE;
  return FALSE;
}

static void
metrics_cb (TnTrainer *trainer, gpointer data, gpointer user_data)
{
  TnService *self = user_data;
  const TnMetricsBatch *batch = data;
  if (g_strcmp0 (self->file, batch->file) != 0)
    {
      g_free (self->file);
      self->file = g_strdup (batch->file);
    }
  self->end = batch->end;
  if (!somebody_listens (self))
    return;
  g_autofree double *values = g_new (double, MAX (batch->n, 1));
  for (guint i = 0; i < batch->n; i++)
    values[i] = (double) batch->values[i];
  GVariant *parts[] = {
    g_variant_new_string (batch->file),
    g_variant_new_uint64 (batch->begin),
    g_variant_new_uint64 (batch->end),
    g_variant_new_fixed_array (G_VARIANT_TYPE_UINT32, batch->tags, batch->n, sizeof (guint32)),
    g_variant_new_fixed_array (G_VARIANT_TYPE_INT64, batch->steps, batch->n, sizeof (gint64)),
    g_variant_new_fixed_array (G_VARIANT_TYPE_DOUBLE, values, batch->n, sizeof (double)),
    g_variant_new_fixed_array (G_VARIANT_TYPE_INT64, batch->times_us, batch->n, sizeof (gint64)),
  };
  send_all (self, "Metrics", g_variant_new_tuple (parts, G_N_ELEMENTS (parts)));
}

static void
message_cb (TnTrainer *trainer, int level, const char *text, gpointer data)
{
  send_all (data, "Message", g_variant_new ("(is)", level, text));
}

static void
checkpointed_cb (TnTrainer *trainer, gint64 step, const char *path, gpointer data)
{
  send_all (data, "Checkpointed", g_variant_new ("(xs)", step, path));
}

static void
node_times_cb (TnTrainer *trainer, gpointer data, gpointer user_data)
{
  TnService *self = user_data;
  const TnNodeTimesReport *report = data;
  GVariant *parts[] = {
    g_variant_new_int64 (report->step),
    g_variant_new_uint32 (report->n_steps),
    g_variant_new_fixed_array (G_VARIANT_TYPE_UINT32, report->ids, report->n, sizeof (guint32)),
    g_variant_new_fixed_array (G_VARIANT_TYPE_DOUBLE, report->mean_ns, report->n, sizeof (double)),
  };
  g_autoptr (GVariant) parameters = g_variant_ref_sink (g_variant_new_tuple (parts, G_N_ELEMENTS (parts)));
  for (guint i = 0; i < self->clients->len; i++)
    if (((Client *) g_ptr_array_index (self->clients, i))->watches_times)
      send (g_ptr_array_index (self->clients, i), "NodeTimes", parameters);
}

/* From a client. */

static void
watch_times (Client *client, gboolean on)
{
  if (on != client->watches_times)
    tn_trainer_watch_times (client->service->trainer, on);
  client->watches_times = on;
}

static GVariant *
node_table (TnTrainer *trainer)
{
  g_autoptr (GVariant) table = tn_trainer_node_table (trainer);
  return g_variant_new ("(@a(usss))", table != NULL ? table : g_variant_new_array (G_VARIANT_TYPE ("(usss)"), NULL, 0));
}

static gboolean
call_trainer (TnTrainer *trainer, const char *method, GVariant *parameters, GError **error)
{
  static const struct
  {
    const char *name;
    void (*call) (TnTrainer *trainer);
  } simple[] = { { "Pause", tn_trainer_pause },       { "Resume", tn_trainer_resume },     { "Park", tn_trainer_park },
                 { "Stop", tn_trainer_stop },         { "StopNow", tn_trainer_stop_now },  { "Checkpoint", tn_trainer_checkpoint } };
  for (guint i = 0; i < G_N_ELEMENTS (simple); i++)
    if (strcmp (method, simple[i].name) == 0)
      {
        simple[i].call (trainer);
        return TRUE;
      }
  if (strcmp (method, "Extend") == 0)
    {
      gint64 epochs;
      g_variant_get (parameters, "(x)", &epochs);
      return tn_trainer_extend (trainer, epochs, error);
    }
  const char *name, *value;
  g_variant_get (parameters, "(&s&s)", &name, &value);
  return tn_trainer_set_value (trainer, name, value, error);
}

static void
method_cb (GDBusConnection *connection, const char *sender, const char *path, const char *interface, const char *method,
           GVariant *parameters, GDBusMethodInvocation *invocation, gpointer data)
{
  Client *client = data;
  TnService *self = client->service;
  if (strcmp (method, "Resync") == 0)
    {
      client->behind = FALSE;
      g_dbus_method_invocation_return_value (invocation,
                                             g_variant_new ("(st)", self->file != NULL ? self->file : "", self->end));
      return;
    }
  if (strcmp (method, "WatchTimes") == 0)
    {
      gboolean on;
      g_variant_get (parameters, "(b)", &on);
      watch_times (client, on);
      g_dbus_method_invocation_return_value (invocation, NULL);
      return;
    }
  if (strcmp (method, "Nodes") == 0)
    {
      g_dbus_method_invocation_return_value (invocation, node_table (self->trainer));
      return;
    }
  GError *error = NULL;
  if (call_trainer (self->trainer, method, parameters, &error))
    g_dbus_method_invocation_return_value (invocation, NULL);
  else
    g_dbus_method_invocation_take_error (invocation, error);
}

static GVariant *
tag_table (void)
{
  GVariantBuilder builder;
  g_variant_builder_init (&builder, G_VARIANT_TYPE ("a(ss)"));
  for (int i = 0; i < TN_N_TAGS; i++)
    g_variant_builder_add (&builder, "(ss)", tn_tags[i].name, tn_tags[i].unit);
  return g_variant_builder_end (&builder);
}

static GVariant *
property_cb (GDBusConnection *connection, const char *sender, const char *path, const char *interface, const char *name,
             GError **error, gpointer data)
{
  TnService *self = ((Client *) data)->service;
  TnTrainerProgress progress;
  tn_trainer_get_progress (self->trainer, &progress);
  if (strcmp (name, "State") == 0)
    return g_variant_new_string (tn_run_state_name (progress.state));
  if (strcmp (name, "Reason") == 0)
    return g_variant_new_string (self->reason != NULL ? self->reason : "");
  if (strcmp (name, "Tags") == 0)
    return tag_table ();
  if (strcmp (name, "SecondsLeft") == 0)
    return g_variant_new ("(dd)", progress.seconds_left_least, progress.seconds_left_most);
  if (strcmp (name, "ChecksWithoutGain") == 0)
    return g_variant_new_int64 (progress.checks_without_gain);
  return g_variant_new_int64 (strcmp (name, "Step") == 0         ? progress.step
                              : strcmp (name, "TotalSteps") == 0 ? progress.total_steps
                                                                 : progress.epoch);
}

static const GDBusInterfaceVTable vtable = { .method_call = method_cb, .get_property = property_cb };

static void
closed_cb (GDBusConnection *connection, gboolean remote, GError *error, gpointer data)
{
  Client *client = data;
  if (client->service != NULL)
    g_ptr_array_remove_fast (client->service->clients, client);
}

static gboolean
new_connection_cb (GDBusServer *server, GDBusConnection *connection, gpointer data)
{
  TnService *self = data;
  Client *client = g_new0 (Client, 1);
  g_atomic_ref_count_init (&client->ref_count);
  client->service = self;
  client->behind = TRUE;
  client->registration = g_dbus_connection_register_object (connection, TN_SERVICE_PATH, self->node->interfaces[0], &vtable, client,
                                                            NULL, NULL);
  if (client->registration == 0)
    {
      g_free (client);
      return FALSE;
    }
  client->connection = g_object_ref (connection);
  client->closed_handler = g_signal_connect (connection, "closed", G_CALLBACK (closed_cb), client);
  g_ptr_array_add (self->clients, client);
  return TRUE;
}

/* Twice held: GLib's own flag is the first. */
static gboolean
authorize_cb (GDBusAuthObserver *observer, GIOStream *stream, GCredentials *credentials, gpointer data)
{
  return credentials != NULL && g_credentials_get_unix_user (credentials, NULL) == getuid ();
}

/* The socket. */

static gboolean
is_private_folder (const char *path)
{
  struct stat info;
  return lstat (path, &info) == 0 && S_ISDIR (info.st_mode) && info.st_uid == getuid () && (info.st_mode & 077) == 0;
}

/* $XDG_RUNTIME_DIR/tenon, or /tmp/tenon-UID. Somebody else may have made a folder of that name: then it is not used. */
static char *
socket_folder (GError **error)
{
  const char *runtime = g_getenv ("XDG_RUNTIME_DIR");
  g_autofree char *inside = runtime != NULL && strlen (runtime) < 60 ? g_build_filename (runtime, "tenon", NULL) : NULL;
  g_autofree char *fallback = g_strdup_printf ("/tmp/tenon-%u", (unsigned) getuid ());
  const char *candidates[] = { inside, fallback };
  for (guint i = 0; i < G_N_ELEMENTS (candidates); i++)
    if (candidates[i] != NULL && (g_mkdir (candidates[i], 0700) == 0 || errno == EEXIST) && is_private_folder (candidates[i]))
      return g_strdup (candidates[i]);
  g_set_error (error, TN_ERROR, TN_ERROR_IO,
               _("There is no folder of mode 0700 for the run's socket: neither $XDG_RUNTIME_DIR/tenon nor %s can be used."),
               fallback);
  return NULL;
}

static gboolean
start_server (TnService *self, GError **error)
{
  g_autofree char *folder = socket_folder (error);
  if (folder == NULL)
    return FALSE;
  g_autofree char *hash = g_compute_checksum_for_string (G_CHECKSUM_SHA256,
                                                         tn_run_folder_path (tn_trainer_folder (self->trainer)), -1);
  g_autofree char *name = g_strdup_printf ("%.12s", hash);
  self->socket_path = g_build_filename (folder, name, NULL);
  unlink (self->socket_path); /* of a killed process: the run's lock is ours */
  g_autofree char *escaped = g_dbus_address_escape_value (self->socket_path);
  g_autofree char *address = g_strdup_printf ("unix:path=%s", escaped);
  g_autofree char *guid = g_dbus_generate_guid ();
  g_autoptr (GDBusAuthObserver) observer = g_dbus_auth_observer_new ();
  g_signal_connect (observer, "authorize-authenticated-peer", G_CALLBACK (authorize_cb), NULL);
  g_autoptr (GError) failure = NULL;
  self->server = g_dbus_server_new_sync (address, G_DBUS_SERVER_FLAGS_AUTHENTICATION_REQUIRE_SAME_USER, guid, observer, NULL,
                                         &failure);
  if (self->server == NULL || chmod (self->socket_path, 0600) != 0)
    {
      g_set_error (error, TN_ERROR, TN_ERROR_IO, _("Cannot listen on “%s”: %s."), self->socket_path,
                   failure != NULL ? failure->message : g_strerror (errno));
      return FALSE;
    }
  self->address = g_strdup (g_dbus_server_get_client_address (self->server));
  g_signal_connect (self->server, "new-connection", G_CALLBACK (new_connection_cb), self);
  g_dbus_server_start (self->server);
  return tn_run_folder_set_address (tn_trainer_folder (self->trainer), self->address, error);
}

TnService *
tn_service_new (TnTrainer *trainer, GError **error)
{
  g_return_val_if_fail (TN_IS_TRAINER (trainer), NULL);
  tn_service_register_errors ();
  g_autoptr (TnService) self = g_new0 (TnService, 1);
  self->trainer = g_object_ref (trainer);
  self->clients = g_ptr_array_new_with_free_func ((GDestroyNotify) client_drop);
  self->node = g_dbus_node_info_new_for_xml (introspection, NULL);
  self->handlers[0] = g_signal_connect (trainer, "state-changed", G_CALLBACK (state_changed_cb), self);
  self->handlers[1] = g_signal_connect (trainer, "metrics", G_CALLBACK (metrics_cb), self);
  self->handlers[2] = g_signal_connect (trainer, "message", G_CALLBACK (message_cb), self);
  self->handlers[3] = g_signal_connect (trainer, "checkpointed", G_CALLBACK (checkpointed_cb), self);
  self->handlers[4] = g_signal_connect (trainer, "node-times", G_CALLBACK (node_times_cb), self);
  return start_server (self, error) ? g_steal_pointer (&self) : NULL;
}

static gboolean
is_sending (TnService *self)
{
  for (guint i = 0; i < self->clients->len; i++)
    if (((Client *) g_ptr_array_index (self->clients, i))->flushing)
      return TRUE;
  return FALSE;
}

/* The last signals get a moment to leave; a stopped client does not hold the process longer. */
static void
drain (TnService *self)
{
  g_autoptr (GMainContext) context = g_main_context_ref_thread_default ();
  gint64 until = g_get_monotonic_time () + DRAIN_US;
  while (is_sending (self) && g_get_monotonic_time () < until)
    if (!g_main_context_iteration (context, FALSE))
      g_usleep (1000);
}

void
tn_service_free (TnService *self)
{
  if (self == NULL)
    return;
  for (guint i = 0; i < G_N_ELEMENTS (self->handlers); i++)
    g_signal_handler_disconnect (self->trainer, self->handlers[i]);
  if (self->server != NULL)
    {
      g_signal_handlers_disconnect_by_data (self->server, self);
      g_dbus_server_stop (self->server);
      g_object_unref (self->server);
    }
  if (self->socket_path != NULL)
    unlink (self->socket_path);
  drain (self);
  g_ptr_array_unref (self->clients);
  g_dbus_node_info_unref (self->node);
  g_object_unref (self->trainer);
  g_free (self->socket_path);
  g_free (self->address);
  g_free (self->file);
  g_free (self->reason);
  g_free (self);
}

const char *
tn_service_address (const TnService *self)
{
  return self->address;
}

guint
tn_service_n_clients (const TnService *self)
{
  return self->clients->len;
}
