/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>

#include "support.h"
#include "train/run-client.h"
#include "train/service.h"

/* Times of nodes while somebody asks: from the trainer and over its bus. */

static char *scratch;

typedef struct
{
  GHashTable *compute_ns; /* step -> double * */
  GPtrArray *reports;     /* TnNodeTimesReport */
} Seen;

static void
report_cb (TnTrainer *trainer, gpointer report, gpointer data)
{
  Seen *seen = data;
  g_ptr_array_add (seen->reports, tn_node_times_report_copy (report));
  if (seen->reports->len == 3)
    tn_trainer_watch_times (trainer, FALSE);
}

static double
compute_ms (const char *run, gint64 from, gint64 to)
{
  g_autoptr (TnTfeventsRows) rows = tn_tfevents_read_folder (run, NULL, NULL);
  double sum = 0;
  int n = 0;
  for (guint i = 0; i < rows->rows->len; i++)
    {
      const TnTfeventsRow *row = &g_array_index (rows->rows, TnTfeventsRow, i);
      if (row->kind == TN_TFEVENTS_SCALAR && strcmp (row->tag, "speed/compute_ms") == 0 && row->step >= from && row->step < to)
        {
          sum += row->value;
          n++;
        }
    }
  g_assert_cmpint (n, ==, (int) (to - from));
  return sum / n;
}

/* With one thread the nodes' times add up to what the trainer measured around the same steps: no more, and most of it. */
static void
test_sum_is_the_step (void)
{
  const char *const more[] = { "train.epochs=10", NULL };
  g_autofree char *run = small_run (scratch, "sum", more);
  g_autoptr (GError) error = NULL;
  g_autoptr (TnTrainer) trainer = new_trainer (run);
  Seen seen = { .reports = g_ptr_array_new_with_free_func (g_free) };
  g_signal_connect (trainer, "node-times", G_CALLBACK (report_cb), &seen);
  tn_trainer_watch_times (trainer, TRUE);
  g_assert_true (tn_trainer_start (trainer, &error));
  g_assert_true (tn_trainer_run (trainer, &error));
  g_assert_cmpuint (seen.reports->len, >=, 3);
  g_assert_cmpuint (seen.reports->len, <, 10); /* 200 steps: it ended when nobody asked any more */
  for (guint i = 0; i < seen.reports->len; i++)
    {
      const TnNodeTimesReport *report = seen.reports->pdata[i];
      double sum = 0, whole = compute_ms (run, report->step - report->n_steps, report->step) * 1e6;
      g_assert_cmpuint (report->n_steps, ==, 20);
      for (guint k = 0; k < report->n; k++)
        {
          g_assert_cmpfloat (report->mean_ns[k], >=, 0);
          sum += report->mean_ns[k];
        }
      g_test_message ("nodes %.0f ns of %.0f ns", sum, whole);
      g_assert_cmpfloat (sum, <=, whole);
      g_assert_cmpfloat (sum, >=, 0.5 * whole);
    }
  g_ptr_array_unref (seen.reports);
}

/* The same bits with and without. */
static void
test_watching_changes_nothing (void)
{
  g_autofree char *plain = small_run (scratch, "plain", NULL), *watched = small_run (scratch, "watched", NULL);
  g_autoptr (GError) error = NULL;
  train_ok (plain, NULL, NULL);
  g_autoptr (TnTrainer) trainer = new_trainer (watched);
  tn_trainer_watch_times (trainer, TRUE);
  g_assert_true (tn_trainer_start (trainer, &error));
  g_assert_true (tn_trainer_run (trainer, &error));
  assert_equal_runs (plain, watched, 40);
}

/* Over the bus. */

typedef struct
{
  TnRun *run;
  TnTrainer *trainer;
  GVariant *nodes;
  guint n_reports;
  GHashTable *ids;
  gboolean asked;
} Bus;

static void
nodes_cb (GObject *source, GAsyncResult *result, gpointer data)
{
  Bus *bus = data;
  g_autoptr (GError) error = NULL;
  bus->nodes = tn_run_call_finish_reply (TN_RUN (source), result, &error);
  g_assert_no_error (error);
  tn_trainer_stop_now (bus->trainer);
}

static void
bus_report_cb (TnRun *run, gpointer data, gpointer user_data)
{
  Bus *bus = user_data;
  const TnNodeTimesReport *report = data;
  for (guint i = 0; i < report->n; i++)
    g_hash_table_add (bus->ids, GUINT_TO_POINTER (report->ids[i] + 1));
  if (bus->n_reports++ == 0)
    tn_run_call_async (run, "Nodes", NULL, NULL, nodes_cb, bus);
}

static void
watching_cb (GObject *source, GAsyncResult *result, gpointer data)
{
  g_autoptr (GError) error = NULL;
  g_assert_true (tn_run_call_finish (TN_RUN (source), result, &error));
}

static void
connected_cb (GObject *object, GParamSpec *spec, gpointer data)
{
  Bus *bus = data;
  if (tn_run_is_connected (bus->run) && !bus->asked)
    {
      bus->asked = TRUE;
      tn_run_call_async (bus->run, "WatchTimes", g_variant_new ("(b)", TRUE), NULL, watching_cb, bus);
    }
}

static void
test_over_the_bus (void)
{
  const char *const more[] = { "train.epochs=100000", "train.eval_every=0", "checkpoint.every_epochs=0", NULL };
  g_autofree char *path = small_run (scratch, "bus", more);
  g_autoptr (GError) error = NULL;
  g_autoptr (TnTrainer) trainer = new_trainer (path);
  g_assert_true (tn_trainer_start (trainer, &error));
  {
    g_autoptr (TnService) service = tn_service_new (trainer, &error);
    g_assert_no_error (error);
    g_autoptr (TnRun) run = tn_run_new (path, &error);
    Bus bus = { .run = run, .trainer = trainer, .ids = g_hash_table_new (NULL, NULL) };
    g_signal_connect (run, "node-times", G_CALLBACK (bus_report_cb), &bus);
    g_signal_connect (run, "notify::connected", G_CALLBACK (connected_cb), &bus);
    tn_run_follow (run);
    g_assert_true (tn_trainer_run (trainer, &error));
    g_assert_nonnull (bus.nodes);
    g_autoptr (GVariant) table = g_variant_get_child_value (bus.nodes, 0);
    gsize n = g_variant_n_children (table);
    g_assert_cmpuint (n, ==, g_hash_table_size (bus.ids));
    gboolean has_layer = FALSE;
    for (gsize i = 0; i < n; i++)
      {
        guint32 id;
        const char *name, *scope, *phase;
        g_variant_get_child (table, i, "(u&s&s&s)", &id, &name, &scope, &phase);
        g_assert_true (g_hash_table_contains (bus.ids, GUINT_TO_POINTER (id + 1)));
        g_assert_true (*name != '\0' && *phase != '\0');
        has_layer |= strstr (scope, "conv1") != NULL;
      }
    g_assert_true (has_layer);
    g_variant_unref (bus.nodes);
    g_hash_table_unref (bus.ids);
    g_signal_handlers_disconnect_by_data (run, &bus);
  }
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  scratch = make_scratch ();
  g_setenv ("XDG_RUNTIME_DIR", scratch, TRUE);
  g_test_add_func ("/train/node-times/add-up-to-the-step", test_sum_is_the_step);
  g_test_add_func ("/train/node-times/watching-changes-no-bit", test_watching_changes_nothing);
  g_test_add_func ("/train/node-times/over-the-bus-with-scopes", test_over_the_bus);
  int result = g_test_run ();
  remove_tree (scratch);
  g_free (scratch);
  return result;
}
