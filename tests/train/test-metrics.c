/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>

#include "base/fault.h"
#include "support.h"

static char *scratch;

typedef struct
{
  guint64 n_rows, end;
  gboolean joined; /* every batch began where the last one ended */
  GError *error;
} Seen;

static void
batch_cb (const TnMetricsBatch *batch, gpointer data)
{
  Seen *seen = data;
  seen->joined &= seen->end == 0 || seen->end == batch->begin;
  seen->end = batch->end;
  seen->n_rows += batch->n;
}

static void
error_cb (const GError *error, gpointer data)
{
  ((Seen *) data)->error = g_error_copy (error);
}

static char *
folder (const char *name)
{
  char *path = g_build_filename (scratch, name, NULL);
  g_assert_cmpint (g_mkdir (path, 0755), ==, 0);
  return path;
}

/* More than the ring holds, as fast as it goes: nothing is lost, and batches join. */
static void
test_no_row_is_lost (void)
{
  enum { N_STEPS = 60000 };
  Seen seen = { .joined = TRUE };
  g_autoptr (GError) error = NULL;
  g_autofree char *path = folder ("rows");
  TnMetrics *metrics = tn_metrics_new (path, -1, batch_cb, error_cb, &seen, &error);
  g_assert_no_error (error);
  for (gint64 step = 0; step < N_STEPS; step++)
    {
      tn_metrics_add (metrics, TN_TAG_LOSS, step, 1.0 / (double) (step + 1), 1000 + step);
      tn_metrics_add (metrics, TN_TAG_LEARNING_RATE, step, 0.01, 1000 + step);
    }
  g_assert_true (tn_metrics_flush (metrics, TRUE, &error));
  g_assert_cmpuint (seen.n_rows, ==, 2 * N_STEPS);
  g_assert_true (seen.joined);
  tn_metrics_free (metrics);
  g_autoptr (TnTfeventsRows) rows = tn_tfevents_read_folder (path, NULL, &error);
  g_assert_no_error (error);
  g_assert_cmpuint (rows->rows->len, ==, 2 * N_STEPS);
  for (guint i = 0; i < rows->rows->len; i += 2)
    {
      const TnTfeventsRow *row = &g_array_index (rows->rows, TnTfeventsRow, i);
      g_assert_cmpint (row->step, ==, i / 2);
      g_assert_cmpfloat (row->value, ==, (double) (float) (1.0 / (i / 2 + 1)));
    }
}

static void
test_restart_replaces_rows (void)
{
  g_autofree char *path = folder ("restart");
  for (int part = 0; part < 2; part++)
    {
      TnMetrics *metrics = tn_metrics_new (path, part == 0 ? -1 : 5, NULL, NULL, NULL, NULL);
      for (gint64 step = part * 5; step < 8; step++)
        tn_metrics_add (metrics, TN_TAG_LOSS, step, part * 100 + (double) step, 1);
      tn_metrics_free (metrics);
    }
  g_autoptr (TnTfeventsRows) rows = tn_tfevents_read_folder (path, NULL, NULL);
  int n = 0;
  for (guint i = 0; i < rows->rows->len; i++)
    {
      const TnTfeventsRow *row = &g_array_index (rows->rows, TnTfeventsRow, i);
      if (row->kind != TN_TFEVENTS_SCALAR)
        continue;
      g_assert_cmpint (row->step, ==, n);
      g_assert_cmpfloat (row->value, ==, n < 5 ? n : 100 + n);
      n++;
    }
  g_assert_cmpint (n, ==, 8);
}

static void
test_full_disk_is_told_once (void)
{
  Seen seen = { .joined = TRUE };
  g_autoptr (GError) error = NULL;
  g_autofree char *path = folder ("full");
  TnMetrics *metrics = tn_metrics_new (path, -1, batch_cb, error_cb, &seen, NULL);
  tn_fault_set (TN_FAULT_NO_SPACE, 1, TRUE);
  tn_metrics_add (metrics, TN_TAG_LOSS, 0, 1, 1);
  g_assert_false (tn_metrics_flush (metrics, FALSE, &error));
  g_assert_error (error, TN_ERROR, TN_ERROR_NO_SPACE);
  g_assert_error (seen.error, TN_ERROR, TN_ERROR_NO_SPACE);
  for (gint64 step = 1; step < 200000; step++) /* three rings: must not hang */
    tn_metrics_add (metrics, TN_TAG_LOSS, step, 1, 1);
  tn_metrics_free (metrics);
  tn_fault_set (TN_FAULT_OFF, 0, FALSE);
  g_error_free (seen.error);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  scratch = make_scratch ();
  g_test_add_func ("/train/metrics/no-row-is-lost-past-a-full-ring", test_no_row_is_lost);
  g_test_add_func ("/train/metrics/rows-after-a-restart-replace-earlier-ones", test_restart_replaces_rows);
  g_test_add_func ("/train/metrics/a-full-disk-is-told-once-and-does-not-hang", test_full_disk_is_told_once);
  int result = g_test_run ();
  remove_tree (scratch);
  g_free (scratch);
  return result;
}
