/* SPDX-License-Identifier: Apache-2.0 */
#include "train/run-client.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/error.h"
#include "formats/tfevents.h"
#include "train/service.h"

#define TICK_MS 500
#define EXPECT_TICK_MS 25
#define EXPECT_US (5 * G_USEC_PER_SEC)
#define LIVE_US 1500000 /* files are left alone while live batches come */
#define CALL_TIMEOUT_MS 5000

struct _TnRun
{
  GObject parent_instance;
  char *path;
  GMainContext *context;
  GCancellable *cancellable;
  GSource *timer, *expect_timer;
  gint64 expect_until_us;
  TnRunState state;
  char *cause, *reason;

  /* What has been told: bytes [0, offset) of file, and all of the files before it. */
  char *file; /* NULL: nothing yet */
  guint64 offset;
  gboolean looking, caught_up;
  char *wanted_file; /* a live batch that did not join on */
  guint64 wanted_end;
  gint64 last_live_us;

  GDBusConnection *connection;
  gboolean connecting, synced, silent;
  guint subscription;
};

enum
{
  SIGNAL_METRICS,
  SIGNAL_RESTARTED,
  SIGNAL_STATE_CHANGED,
  SIGNAL_MESSAGE,
  SIGNAL_CHECKPOINTED,
  SIGNAL_CAUGHT_UP,
  SIGNAL_NODE_TIMES,
  N_SIGNALS
};

enum
{
  PROP_STATE = 1,
  PROP_CONNECTED,
  PROP_SILENT,
  N_PROPERTIES
};

static guint signals[N_SIGNALS];
static GParamSpec *properties[N_PROPERTIES];

G_DEFINE_FINAL_TYPE (TnRun, tn_run, G_TYPE_OBJECT)

static void look (TnRun *self);

/* A look at the files, in a worker thread. */

typedef struct
{
  char *path, *file; /* where the last look ended */
  guint64 offset;
  /* Found: */
  GPtrArray *pieces; /* Piece */
  TnRunState state;
  gboolean silent;
  char *cause, *reason, *address;
} Look;

/* Rows of one file, in order; with restarts between them. */
typedef struct
{
  TnTfeventsRows *rows;
  char *file;
  guint64 begin, end;
} Piece;

static void
piece_free (Piece *piece)
{
  tn_tfevents_rows_free (piece->rows);
  g_free (piece->file);
  g_free (piece);
}

static void
look_free (Look *self)
{
  g_free (self->path);
  g_free (self->file);
  g_ptr_array_unref (self->pieces);
  g_free (self->cause);
  g_free (self->reason);
  g_free (self->address);
  g_free (self);
}

static void
read_file (Look *self, const char *path, guint64 offset)
{
  g_autoptr (TnTfeventsReader) reader = tn_tfevents_reader_new (path, offset, NULL);
  if (reader == NULL)
    return;
  Piece *piece = g_new0 (Piece, 1);
  piece->rows = tn_tfevents_rows_new ();
  piece->file = g_path_get_basename (path);
  piece->begin = offset;
  tn_tfevents_reader_read (reader, piece->rows, NULL); /* what stands before damage is told, more there is not */
  piece->end = tn_tfevents_reader_offset (reader);
  g_ptr_array_add (self->pieces, piece);
}

/* From where the last look ended through all later files. */
static void
read_events (Look *self)
{
  g_auto (GStrv) files = tn_tfevents_list (self->path, NULL);
  gboolean begun = self->file == NULL;
  for (char **path = files; path != NULL && *path != NULL; path++)
    {
      g_autofree char *name = g_path_get_basename (*path);
      if (!begun && strcmp (name, self->file) == 0)
        {
          begun = TRUE;
          read_file (self, *path, self->offset);
        }
      else if (begun)
        read_file (self, *path, 0);
    }
}

static void
look_thread (GTask *task, gpointer source, gpointer data, GCancellable *cancellable)
{
  Look *self = data;
  g_auto (TnRunOwner) owner = { 0 };
  g_autoptr (GError) error = NULL;
  g_autoptr (TnRunFolder) folder = tn_run_folder_open (self->path, &error);
  if (folder != NULL)
    {
      self->state = tn_run_folder_look (folder, &self->silent);
      self->cause = g_strdup (tn_run_folder_cause (folder));
      self->reason = g_strdup (tn_run_folder_reason (folder));
    }
  else
    {
      self->state = TN_RUN_LOST;
      self->cause = g_strdup ("gone");
      self->reason = g_strdup (error->message);
    }
  if (tn_run_folder_owner (self->path, &owner, NULL) && owner.held)
    self->address = g_strdup (owner.address);
  read_events (self); /* after the state: an end state is told with all of its rows */
  g_task_return_boolean (task, TRUE);
}

/* Telling. */

static void
set_state (TnRun *self, TnRunState state, const char *cause, const char *reason)
{
  if (state == self->state && g_strcmp0 (reason, self->reason) == 0)
    return;
  self->state = state;
  g_free (self->cause);
  g_free (self->reason);
  self->cause = g_strdup (cause != NULL ? cause : "");
  self->reason = g_strdup (reason != NULL ? reason : "");
  g_object_notify_by_pspec (G_OBJECT (self), properties[PROP_STATE]);
  g_signal_emit (self, signals[SIGNAL_STATE_CHANGED], 0, (int) state, self->cause, self->reason);
}

typedef struct
{
  GArray *tags, *steps, *values, *times;
} Columns;

static void
tell_columns (TnRun *self, Columns *columns, const Piece *piece)
{
  TnMetricsBatch batch = { .n = columns->tags->len, .tags = (guint32 *) columns->tags->data,
                           .steps = (gint64 *) columns->steps->data, .values = (float *) columns->values->data,
                           .times_us = (gint64 *) columns->times->data, .file = piece->file, .begin = piece->begin,
                           .end = piece->end };
  if (batch.n > 0)
    g_signal_emit (self, signals[SIGNAL_METRICS], 0, &batch);
  g_array_set_size (columns->tags, 0);
  g_array_set_size (columns->steps, 0);
  g_array_set_size (columns->values, 0);
  g_array_set_size (columns->times, 0);
}

static void
tell_piece (TnRun *self, const Piece *piece)
{
  Columns columns = { g_array_new (FALSE, FALSE, sizeof (guint32)), g_array_new (FALSE, FALSE, sizeof (gint64)),
                      g_array_new (FALSE, FALSE, sizeof (float)), g_array_new (FALSE, FALSE, sizeof (gint64)) };
  const TnTfeventsRow *rows = (const TnTfeventsRow *) piece->rows->rows->data;
  for (guint i = 0; i < piece->rows->rows->len; i++)
    {
      const TnTfeventsRow *row = &rows[i];
      if (row->kind == TN_TFEVENTS_START)
        {
          tell_columns (self, &columns, piece);
          g_signal_emit (self, signals[SIGNAL_RESTARTED], 0, row->step);
          continue;
        }
      int found = row->kind == TN_TFEVENTS_SCALAR ? tn_tag_find (row->tag) : -1;
      if (found < 0)
        continue;
      guint32 tag = (guint32) found;
      float value = (float) row->value;
      gint64 time_us = (gint64) llround (row->wall_time * 1e6);
      g_array_append_val (columns.tags, tag);
      g_array_append_val (columns.steps, row->step);
      g_array_append_val (columns.values, value);
      g_array_append_val (columns.times, time_us);
    }
  tell_columns (self, &columns, piece);
  g_array_unref (columns.tags);
  g_array_unref (columns.steps);
  g_array_unref (columns.values);
  g_array_unref (columns.times);
}

static void
set_position (TnRun *self, const char *file, guint64 offset)
{
  if (g_strcmp0 (self->file, file) != 0)
    {
      char *copy = g_strdup (file);
      g_free (self->file);
      self->file = copy;
    }
  self->offset = offset;
}

/* The connection. */

static void
disconnect (TnRun *self)
{
  self->synced = FALSE;
  if (self->connection == NULL)
    return;
  g_signal_handlers_disconnect_by_data (self->connection, self);
  g_dbus_connection_signal_unsubscribe (self->connection, self->subscription);
  g_dbus_connection_close (self->connection, NULL, NULL, NULL);
  g_clear_object (&self->connection);
  g_object_notify_by_pspec (G_OBJECT (self), properties[PROP_CONNECTED]);
}

static void
closed_cb (GDBusConnection *connection, gboolean remote, GError *error, gpointer data)
{
  TnRun *self = data;
  disconnect (self);
  look (self);
}

/* A batch that goes on from what was told is told; any other makes a look at the files. */
static void
take_batch (TnRun *self, GVariant *parameters)
{
  const char *file;
  guint64 begin, end;
  gsize n, n_steps, n_values, n_times;
  g_autoptr (GVariant) tags = g_variant_get_child_value (parameters, 3);
  g_autoptr (GVariant) steps = g_variant_get_child_value (parameters, 4);
  g_autoptr (GVariant) values = g_variant_get_child_value (parameters, 5);
  g_autoptr (GVariant) times = g_variant_get_child_value (parameters, 6);
  g_variant_get_child (parameters, 0, "&s", &file);
  g_variant_get_child (parameters, 1, "t", &begin);
  g_variant_get_child (parameters, 2, "t", &end);
  gboolean same = g_strcmp0 (file, self->file) == 0;
  self->last_live_us = g_get_monotonic_time ();
  if (same && end <= self->offset)
    return;
  if (self->looking || !same || begin != self->offset)
    {
      g_free (self->wanted_file);
      self->wanted_file = g_strdup (file);
      self->wanted_end = end;
      look (self);
      return;
    }
  const guint32 *tag_data = g_variant_get_fixed_array (tags, &n, sizeof (guint32));
  const gint64 *step_data = g_variant_get_fixed_array (steps, &n_steps, sizeof (gint64));
  const double *value_data = g_variant_get_fixed_array (values, &n_values, sizeof (double));
  const gint64 *time_data = g_variant_get_fixed_array (times, &n_times, sizeof (gint64));
  if (n_steps != n || n_values != n || n_times != n)
    return;
  g_autofree float *floats = g_new (float, MAX (n, 1));
  for (gsize i = 0; i < n; i++)
    floats[i] = (float) value_data[i];
  TnMetricsBatch batch = { .n = (guint) n, .tags = tag_data, .steps = step_data, .values = floats, .times_us = time_data,
                           .file = file, .begin = begin, .end = end };
  set_position (self, file, end);
  if (n > 0)
    g_signal_emit (self, signals[SIGNAL_METRICS], 0, &batch);
}

static void
take_times (TnRun *self, GVariant *parameters)
{
  gsize n, n_means;
  TnNodeTimesReport report = { 0 };
  g_autoptr (GVariant) ids = g_variant_get_child_value (parameters, 2);
  g_autoptr (GVariant) means = g_variant_get_child_value (parameters, 3);
  g_variant_get_child (parameters, 0, "x", &report.step);
  g_variant_get_child (parameters, 1, "u", &report.n_steps);
  report.ids = g_variant_get_fixed_array (ids, &n, sizeof (guint32));
  report.mean_ns = g_variant_get_fixed_array (means, &n_means, sizeof (double));
  report.n = (guint) MIN (n, n_means);
  g_signal_emit (self, signals[SIGNAL_NODE_TIMES], 0, &report);
}

static void
signal_cb (GDBusConnection *connection, const char *sender, const char *path, const char *interface, const char *name,
           GVariant *parameters, gpointer data)
{
  g_autoptr (TnRun) self = g_object_ref (TN_RUN (data));
  const char *text, *cause, *reason;
  gint64 step;
  int level;
  TnRunState state;
  if (strcmp (name, "Metrics") == 0 && g_variant_is_of_type (parameters, G_VARIANT_TYPE ("(sttauaxadax)")))
    take_batch (self, parameters);
  else if (strcmp (name, "State") == 0 && g_variant_is_of_type (parameters, G_VARIANT_TYPE ("(sss)")))
    {
      g_variant_get (parameters, "(&s&s&s)", &text, &cause, &reason);
      /* An end is told by the look that follows, after the last rows. */
      if (tn_run_state_parse (text, &state) && !tn_run_state_is_end (state))
        set_state (self, state, cause, reason);
      else
        look (self);
    }
  else if (strcmp (name, "Message") == 0 && g_variant_is_of_type (parameters, G_VARIANT_TYPE ("(is)")))
    {
      g_variant_get (parameters, "(i&s)", &level, &text);
      g_signal_emit (self, signals[SIGNAL_MESSAGE], 0, level, text);
    }
  else if (strcmp (name, "NodeTimes") == 0 && g_variant_is_of_type (parameters, G_VARIANT_TYPE ("(xuauad)")))
    take_times (self, parameters);
  else if (strcmp (name, "Checkpointed") == 0 && g_variant_is_of_type (parameters, G_VARIANT_TYPE ("(xs)")))
    {
      g_variant_get (parameters, "(x&s)", &step, &text);
      g_signal_emit (self, signals[SIGNAL_CHECKPOINTED], 0, step, text);
    }
}

static void
resync_cb (GObject *source, GAsyncResult *result, gpointer data)
{
  g_autoptr (TnRun) self = data;
  g_autoptr (GVariant) reply = g_dbus_connection_call_finish (G_DBUS_CONNECTION (source), result, NULL);
  if (reply == NULL || self->connection == NULL)
    return;
  const char *file;
  guint64 end;
  g_variant_get (reply, "(&st)", &file, &end);
  self->synced = TRUE;
  if (g_strcmp0 (file, self->file) != 0 || end > self->offset)
    look (self);
}

/* Tells the trainer how far we are, so that it sends what comes next. */
static void
resync (TnRun *self)
{
  g_dbus_connection_call (self->connection, NULL, TN_SERVICE_PATH, TN_SERVICE_INTERFACE, "Resync",
                          g_variant_new ("(st)", self->file != NULL ? self->file : "", self->offset), G_VARIANT_TYPE ("(st)"),
                          G_DBUS_CALL_FLAGS_NONE, CALL_TIMEOUT_MS, self->cancellable, resync_cb, g_object_ref (self));
}

static void
connected_cb (GObject *source, GAsyncResult *result, gpointer data)
{
  g_autoptr (TnRun) self = data;
  g_autoptr (GDBusConnection) connection = g_dbus_connection_new_for_address_finish (result, NULL);
  self->connecting = FALSE;
  if (connection == NULL || g_cancellable_is_cancelled (self->cancellable))
    return;
  self->connection = g_steal_pointer (&connection);
  self->subscription = g_dbus_connection_signal_subscribe (self->connection, NULL, TN_SERVICE_INTERFACE, NULL, TN_SERVICE_PATH, NULL,
                                                           G_DBUS_SIGNAL_FLAGS_NONE, signal_cb, self, NULL);
  g_signal_connect (self->connection, "closed", G_CALLBACK (closed_cb), self);
  g_object_notify_by_pspec (G_OBJECT (self), properties[PROP_CONNECTED]);
  resync (self);
}

static void
connect_to (TnRun *self, const char *address)
{
  if (address == NULL || self->connection != NULL || self->connecting)
    return;
  self->connecting = TRUE;
  g_dbus_connection_new_for_address (address, G_DBUS_CONNECTION_FLAGS_AUTHENTICATION_CLIENT, NULL, self->cancellable,
                                     connected_cb, g_object_ref (self));
}

/* Looking. */

static void
looked_cb (GObject *source, GAsyncResult *result, gpointer data)
{
  TnRun *self = TN_RUN (source);
  Look *found = g_task_get_task_data (G_TASK (result));
  self->looking = FALSE;
  if (!g_task_propagate_boolean (G_TASK (result), NULL))
    return;
  gboolean grew = FALSE;
  for (guint i = 0; i < found->pieces->len; i++)
    {
      const Piece *piece = g_ptr_array_index (found->pieces, i);
      grew |= piece->end > piece->begin;
      set_position (self, piece->file, piece->end);
      tell_piece (self, piece);
    }
  set_state (self, found->state, found->cause, found->reason);
  if (found->silent != self->silent)
    {
      self->silent = found->silent;
      g_object_notify_by_pspec (G_OBJECT (self), properties[PROP_SILENT]);
    }
  if (!self->caught_up)
    {
      self->caught_up = TRUE;
      g_signal_emit (self, signals[SIGNAL_CAUGHT_UP], 0);
    }
  if (self->connection != NULL && self->synced && grew)
    resync (self); /* rows came by file and not live: we had fallen behind */
  connect_to (self, found->address);

  gboolean more = self->wanted_file != NULL && (g_strcmp0 (self->wanted_file, self->file) != 0 || self->wanted_end > self->offset);
  g_clear_pointer (&self->wanted_file, g_free);
  if (more)
    look (self);
}

static void
look (TnRun *self)
{
  if (self->looking || g_cancellable_is_cancelled (self->cancellable))
    return;
  self->looking = TRUE;
  Look *look = g_new0 (Look, 1);
  look->path = g_strdup (self->path);
  look->file = g_strdup (self->file);
  look->offset = self->offset;
  look->pieces = g_ptr_array_new_with_free_func ((GDestroyNotify) piece_free);
  g_autoptr (GTask) task = g_task_new (self, self->cancellable, looked_cb, NULL);
  g_task_set_task_data (task, look, (GDestroyNotify) look_free);
  g_task_run_in_thread (task, look_thread);
}

static gboolean
tick_cb (gpointer data)
{
  TnRun *self = data;
  if (self->connection == NULL || g_get_monotonic_time () - self->last_live_us > LIVE_US)
    look (self);
  return G_SOURCE_CONTINUE;
}

/* Class. */

static void
tn_run_dispose (GObject *object)
{
  TnRun *self = TN_RUN (object);
  g_cancellable_cancel (self->cancellable);
  disconnect (self);
  GSource **timers[] = { &self->timer, &self->expect_timer };
  for (guint i = 0; i < G_N_ELEMENTS (timers); i++)
    if (*timers[i] != NULL)
      {
        g_source_destroy (*timers[i]);
        g_clear_pointer (timers[i], g_source_unref);
      }
  G_OBJECT_CLASS (tn_run_parent_class)->dispose (object);
}

static void
tn_run_finalize (GObject *object)
{
  TnRun *self = TN_RUN (object);
  g_free (self->path);
  g_free (self->cause);
  g_free (self->reason);
  g_free (self->file);
  g_free (self->wanted_file);
  g_object_unref (self->cancellable);
  g_main_context_unref (self->context);
  G_OBJECT_CLASS (tn_run_parent_class)->finalize (object);
}

static void
tn_run_get_property (GObject *object, guint id, GValue *value, GParamSpec *spec)
{
  TnRun *self = TN_RUN (object);
  if (id == PROP_STATE)
    g_value_set_int (value, (int) self->state);
  else if (id == PROP_CONNECTED)
    g_value_set_boolean (value, self->connection != NULL);
  else if (id == PROP_SILENT)
    g_value_set_boolean (value, self->silent);
  else
    G_OBJECT_WARN_INVALID_PROPERTY_ID (object, id, spec);
}

static void
tn_run_class_init (TnRunClass *class)
{
  GObjectClass *object_class = G_OBJECT_CLASS (class);
  object_class->dispose = tn_run_dispose;
  object_class->finalize = tn_run_finalize;
  object_class->get_property = tn_run_get_property;
  GParamFlags flags = G_PARAM_READABLE | G_PARAM_STATIC_STRINGS | G_PARAM_EXPLICIT_NOTIFY;
  properties[PROP_STATE] = g_param_spec_int ("state", NULL, NULL, 0, TN_RUN_N_STATES - 1, 0, flags);
  properties[PROP_CONNECTED] = g_param_spec_boolean ("connected", NULL, NULL, FALSE, flags);
  properties[PROP_SILENT] = g_param_spec_boolean ("silent", NULL, NULL, FALSE, flags);
  g_object_class_install_properties (object_class, N_PROPERTIES, properties);

  GType type = G_TYPE_FROM_CLASS (class);
  signals[SIGNAL_METRICS] = g_signal_new ("metrics", type, G_SIGNAL_RUN_LAST, 0, NULL, NULL, NULL, G_TYPE_NONE, 1, G_TYPE_POINTER);
  signals[SIGNAL_RESTARTED] = g_signal_new ("restarted", type, G_SIGNAL_RUN_LAST, 0, NULL, NULL, NULL, G_TYPE_NONE, 1, G_TYPE_INT64);
  signals[SIGNAL_STATE_CHANGED] = g_signal_new ("state-changed", type, G_SIGNAL_RUN_LAST, 0, NULL, NULL, NULL, G_TYPE_NONE, 3,
                                                G_TYPE_INT, G_TYPE_STRING, G_TYPE_STRING);
  signals[SIGNAL_MESSAGE] = g_signal_new ("message", type, G_SIGNAL_RUN_LAST, 0, NULL, NULL, NULL, G_TYPE_NONE, 2, G_TYPE_INT,
                                          G_TYPE_STRING);
  signals[SIGNAL_CHECKPOINTED] = g_signal_new ("checkpointed", type, G_SIGNAL_RUN_LAST, 0, NULL, NULL, NULL, G_TYPE_NONE, 2,
                                               G_TYPE_INT64, G_TYPE_STRING);
  signals[SIGNAL_NODE_TIMES] = g_signal_new ("node-times", type, G_SIGNAL_RUN_LAST, 0, NULL, NULL, NULL, G_TYPE_NONE, 1, G_TYPE_POINTER);
  signals[SIGNAL_CAUGHT_UP] = g_signal_new ("caught-up", type, G_SIGNAL_RUN_LAST, 0, NULL, NULL, NULL, G_TYPE_NONE, 0);
}

static void
tn_run_init (TnRun *self)
{
  tn_service_register_errors ();
  self->context = g_main_context_ref_thread_default ();
  self->cancellable = g_cancellable_new ();
}

TnRun *
tn_run_new (const char *path, GError **error)
{
  g_autoptr (TnRunFolder) folder = tn_run_folder_open (path, error);
  if (folder == NULL)
    return NULL;
  TnRun *self = g_object_new (TN_TYPE_RUN, NULL);
  self->path = g_strdup (tn_run_folder_path (folder));
  self->state = tn_run_folder_seen_state (folder);
  self->reason = g_strdup (tn_run_folder_reason (folder));
  return self;
}

void
tn_run_follow (TnRun *self)
{
  g_return_if_fail (TN_IS_RUN (self) && self->timer == NULL);
  self->timer = g_timeout_source_new (TICK_MS);
  g_source_set_callback (self->timer, tick_cb, self, NULL);
  g_source_attach (self->timer, self->context);
  look (self);
}

static gboolean
expect_cb (gpointer data)
{
  TnRun *self = data;
  if (self->connection == NULL && g_get_monotonic_time () < self->expect_until_us)
    {
      look (self);
      return G_SOURCE_CONTINUE;
    }
  g_clear_pointer (&self->expect_timer, g_source_unref);
  return G_SOURCE_REMOVE;
}

void
tn_run_expect (TnRun *self)
{
  g_return_if_fail (TN_IS_RUN (self));
  self->expect_until_us = g_get_monotonic_time () + EXPECT_US;
  if (self->expect_timer != NULL)
    return;
  self->expect_timer = g_timeout_source_new (EXPECT_TICK_MS);
  g_source_set_callback (self->expect_timer, expect_cb, self, NULL);
  g_source_attach (self->expect_timer, self->context);
}

const char *
tn_run_path (TnRun *self)
{
  return self->path;
}

TnRunState
tn_run_state (TnRun *self)
{
  return self->state;
}

gboolean
tn_run_is_silent (TnRun *self)
{
  return self->silent;
}

gboolean
tn_run_is_connected (TnRun *self)
{
  return self->connection != NULL;
}

/* Calls. */

static void
set_error_no_process (const char *path, TnRunState state, GError **error)
{
  g_set_error (error, TN_ERROR, TN_ERROR_STATE, _("No process trains “%s”: it is %s. “tenon-cli resume” goes on with it."), path,
               tn_run_state_name (state));
}

static void
called_cb (GObject *source, GAsyncResult *result, gpointer data)
{
  g_autoptr (GTask) task = data;
  GError *error = NULL;
  g_autoptr (GVariant) reply = g_dbus_connection_call_finish (G_DBUS_CONNECTION (source), result, &error);
  if (reply != NULL)
    {
      g_task_return_pointer (task, g_steal_pointer (&reply), (GDestroyNotify) g_variant_unref);
      return;
    }
  g_dbus_error_strip_remote_error (error);
  g_task_return_error (task, error);
}

void
tn_run_call_async (TnRun *self, const char *method, GVariant *parameters, GCancellable *cancellable,
                   GAsyncReadyCallback callback, gpointer user_data)
{
  GTask *task = g_task_new (self, cancellable, callback, user_data);
  if (self->connection == NULL)
    {
      GError *error = NULL;
      set_error_no_process (self->path, self->state, &error);
      if (parameters != NULL)
        g_variant_unref (g_variant_ref_sink (parameters));
      g_task_return_error (task, error);
      g_object_unref (task);
      return;
    }
  g_dbus_connection_call (self->connection, NULL, TN_SERVICE_PATH, TN_SERVICE_INTERFACE, method, parameters, NULL,
                          G_DBUS_CALL_FLAGS_NONE, CALL_TIMEOUT_MS, cancellable, called_cb, task);
}

gboolean
tn_run_call_finish (TnRun *self, GAsyncResult *result, GError **error)
{
  g_autoptr (GVariant) reply = tn_run_call_finish_reply (self, result, error);
  return reply != NULL;
}

GVariant *
tn_run_call_finish_reply (TnRun *self, GAsyncResult *result, GError **error)
{
  return g_task_propagate_pointer (G_TASK (result), error);
}

char *
tn_run_silence_text (const char *run_path, const TnRunOwner *owner)
{
  if (tn_run_owner_is_stopped (owner))
    return g_strdup_printf (_("Process %" PRId64 ", which trains “%s”, is stopped and cannot answer: “kill -CONT %" PRId64
                              "” lets it go on."),
                            owner->pid, run_path, owner->pid);
  return g_strdup_printf (_("Process %" PRId64 " on %s, which trains “%s”, does not answer. Wait for it, or end it with “kill %" PRId64
                            "”: the run goes on from its last checkpoint with “tenon-cli resume”."),
                          owner->pid, owner->host, run_path, owner->pid);
}

/* Blocking with a limit over all: GDBus has none for making a connection. */
typedef struct
{
  GAsyncResult *result;
  gboolean late;
} Waiting;

static void
came_cb (GObject *source, GAsyncResult *result, gpointer data)
{
  ((Waiting *) data)->result = g_object_ref (result);
}

static gboolean
late_cb (gpointer data)
{
  g_cancellable_cancel (data);
  return G_SOURCE_REMOVE;
}

static GAsyncResult *
wait_for (GMainContext *context, Waiting *waiting)
{
  while (waiting->result == NULL)
    g_main_context_iteration (context, TRUE);
  return g_steal_pointer (&waiting->result);
}

static gboolean
call_in_context (GMainContext *context, GCancellable *cancellable, const char *address, const char *method, GVariant *parameters,
                 gboolean *reached, GError **error)
{
  Waiting waiting = { 0 };
  g_dbus_connection_new_for_address (address, G_DBUS_CONNECTION_FLAGS_AUTHENTICATION_CLIENT, NULL, cancellable, came_cb, &waiting);
  g_autoptr (GAsyncResult) made = wait_for (context, &waiting);
  g_autoptr (GDBusConnection) connection = g_dbus_connection_new_for_address_finish (made, error);
  *reached = connection != NULL;
  if (connection == NULL)
    return FALSE;
  g_dbus_connection_call (connection, NULL, TN_SERVICE_PATH, TN_SERVICE_INTERFACE, method, parameters, NULL, G_DBUS_CALL_FLAGS_NONE, CALL_TIMEOUT_MS,
                          cancellable, came_cb, &waiting);
  g_autoptr (GAsyncResult) answered = wait_for (context, &waiting);
  g_autoptr (GVariant) reply = g_dbus_connection_call_finish (connection, answered, error);
  return reply != NULL;
}

static gboolean
call_owner (const char *run_path, const TnRunOwner *owner, const char *method, GVariant *parameters, GError **error)
{
  g_autoptr (GMainContext) context = g_main_context_new ();
  g_autoptr (GCancellable) cancellable = g_cancellable_new ();
  g_autoptr (GSource) limit = g_timeout_source_new (CALL_TIMEOUT_MS);
  g_autoptr (GError) failure = NULL;
  gboolean reached;
  g_main_context_push_thread_default (context);
  g_source_set_callback (limit, late_cb, cancellable, NULL);
  g_source_attach (limit, context);
  gboolean ok = call_in_context (context, cancellable, owner->address, method, parameters, &reached, &failure);
  g_source_destroy (limit);
  g_main_context_pop_thread_default (context);
  if (ok)
    return TRUE;
  gboolean late = g_error_matches (failure, G_IO_ERROR, G_IO_ERROR_CANCELLED) || g_error_matches (failure, G_IO_ERROR, G_IO_ERROR_TIMED_OUT)
                  || g_error_matches (failure, G_DBUS_ERROR, G_DBUS_ERROR_NO_REPLY);
  if (late)
    {
      g_autofree char *text = tn_run_silence_text (run_path, owner);
      g_set_error (error, TN_ERROR, TN_ERROR_BUSY, "%s", text);
    }
  else if (!reached)
    g_set_error (error, TN_ERROR, TN_ERROR_IO, _("Cannot reach process %" PRId64 ", which trains “%s”: %s."), owner->pid, run_path,
                 failure->message);
  else
    {
      g_dbus_error_strip_remote_error (failure);
      g_propagate_error (error, g_steal_pointer (&failure));
    }
  return FALSE;
}

gboolean
tn_run_call_sync (const char *run_path, const char *method, GVariant *parameters, GError **error)
{
  g_autoptr (GVariant) sunk = parameters != NULL ? g_variant_ref_sink (parameters) : NULL;
  g_autoptr (TnRunFolder) folder = tn_run_folder_open (run_path, error);
  g_auto (TnRunOwner) owner = { 0 };
  tn_service_register_errors ();
  if (folder == NULL || !tn_run_folder_owner (run_path, &owner, error))
    return FALSE;
  if (!owner.held || owner.address == NULL)
    {
      set_error_no_process (run_path, tn_run_folder_seen_state (folder), error);
      return FALSE;
    }
  return call_owner (run_path, &owner, method, sunk, error);
}
