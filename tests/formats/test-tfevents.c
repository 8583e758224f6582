/* SPDX-License-Identifier: Apache-2.0 */
#include "formats/tfevents.h"

#include <math.h>

#include "base/error.h"
#include "base/fault.h"
#include "base/json.h"
#include "support.h"

static char *
truth_file (const char *first, const char *second)
{
  g_autofree char *truth = shared_folder ("TENON_TRUTH", "truth");
  char *path = truth ? g_build_filename (truth, "torch", "tfevents", first, second, NULL) : NULL;
  if (path && !g_file_test (path, G_FILE_TEST_EXISTS))
    {
      g_clear_pointer (&path, g_free);
      g_test_skip ("no event files there");
    }
  return path;
}

static const TnTfeventsRow *
row_at (TnTfeventsRows *rows, guint i)
{
  return &g_array_index (rows->rows, TnTfeventsRow, i);
}

static double
json_number (JsonNode *node)
{
  if (json_node_get_value_type (node) != G_TYPE_STRING)
    return json_node_get_double (node);
  return g_ascii_strtod (json_node_get_string (node), NULL);
}

/* Rows of a file by torch.utils.tensorboard, read back by TensorBoard. */
static void
test_scalars_of_torch (void)
{
  g_autofree char *folder = truth_file ("scalars", NULL);
  if (!folder)
    return;
  g_autofree char *json = truth_file ("scalars.expected.json", NULL), *warning = NULL;
  g_autoptr (GError) error = NULL;
  g_autoptr (JsonNode) root = tn_json_load (json, &error);
  g_assert_no_error (error);
  JsonArray *want = json_object_get_array_member (json_node_get_object (root), "rows");
  g_autoptr (TnTfeventsRows) rows = tn_tfevents_read_folder (folder, &warning, &error);
  g_assert_no_error (error);
  g_assert_null (warning);
  g_assert_cmpint (rows->rows->len, ==, json_array_get_length (want));
  for (guint i = 0; i < rows->rows->len; i++)
    {
      JsonArray *r = json_array_get_array_element (want, i);
      const TnTfeventsRow *row = row_at (rows, i);
      double value = json_number (json_array_get_element (r, 2));
      g_assert_cmpstr (row->tag, ==, json_array_get_string_element (r, 0));
      g_assert_cmpint (row->step, ==, json_array_get_int_element (r, 1));
      g_assert_true (row->value == value || (isnan (row->value) && isnan (value)));
      g_assert_cmpfloat (row->wall_time, ==, json_array_get_double_element (r, 3));
    }
  g_test_message ("%u rows compared", rows->rows->len);
}

static void
test_histograms_of_torch (void)
{
  g_autofree char *folder = truth_file ("rich", NULL);
  if (!folder)
    return;
  g_autofree char *json = truth_file ("tensorboard_reads.json", NULL);
  g_autoptr (JsonNode) root = tn_json_load (json, NULL);
  JsonObject *rich = json_object_get_object_member (json_object_get_object_member (json_node_get_object (root), "folders"), "rich");
  JsonObject *want = json_object_get_object_member (rich, "histogram_buckets");
  g_autoptr (TnTfeventsRows) rows = tn_tfevents_read_folder (folder, NULL, NULL);
  int compared = 0;
  for (guint i = 0; i < rows->rows->len; i++)
    {
      const TnTfeventsRow *row = row_at (rows, i);
      if (row->kind != TN_TFEVENTS_HISTOGRAM)
        continue;
      JsonArray *steps = json_object_get_array_member (want, row->tag);
      for (guint k = 0; k < json_array_get_length (steps); k++)
        {
          JsonArray *h = json_array_get_array_element (steps, k); /* step, min, max, num, sum, sum_squares, limits, buckets */
          if (json_array_get_int_element (h, 0) != row->step)
            continue;
          const double facts[] = { row->histogram->min, row->histogram->max, row->histogram->count, row->histogram->sum, row->histogram->sum_squares };
          for (guint f = 0; f < 5; f++)
            g_assert_cmpfloat (facts[f], ==, json_array_get_double_element (h, f + 1));
          JsonArray *limits = json_array_get_array_element (h, 6);
          g_assert_cmpint (row->histogram->n_buckets, ==, json_array_get_length (limits));
          for (int b = 0; b < row->histogram->n_buckets; b++)
            g_assert_cmpfloat (row->histogram->limits[b], ==, json_array_get_double_element (limits, b));
          compared++;
        }
    }
  g_assert_cmpint (compared, >=, 2);
}

/* damage.json: TensorBoard keeps 10 and 7 points of 20. */
static void
test_damaged_files_of_torch (void)
{
  g_autofree char *cut = truth_file ("bad_truncated_mid_record", NULL), *crc = truth_file ("bad_crc", NULL);
  if (!cut || !crc)
    return;
  g_autofree char *warning = NULL, *warning2 = NULL;
  g_autoptr (TnTfeventsRows) rows = tn_tfevents_read_folder (cut, &warning, NULL);
  g_assert_cmpint (rows->rows->len, ==, 10);
  g_assert_nonnull (strstr (warning, "506"));
  g_autoptr (TnTfeventsRows) more = tn_tfevents_read_folder (crc, &warning2, NULL);
  g_assert_cmpint (more->rows->len, ==, 19);
  g_assert_nonnull (strstr (warning2, "1 damaged records"));
}

static void
write_steps (TnTfeventsWriter *writer, int from, int to)
{
  for (int step = from; step < to; step++)
    tn_tfevents_writer_scalars (writer, step, 1000 + step, 2, (const char *[]){ "loss", "lr" }, (float[]){ step * 0.5f, 0.1f });
}

static void
test_reader_follows_writer (void)
{
  g_autofree char *folder = temporary_folder ();
  g_autoptr (GError) error = NULL;
  g_autoptr (TnTfeventsWriter) writer = tn_tfevents_writer_new (folder, -1, 1700000000, &error);
  g_assert_no_error (error);
  g_autoptr (TnTfeventsReader) reader = tn_tfevents_reader_new (tn_tfevents_writer_path (writer), 0, &error);
  g_autoptr (TnTfeventsRows) rows = tn_tfevents_rows_new ();
  for (int i = 0; i < 5; i++)
    {
      write_steps (writer, i * 10, i * 10 + 10);
      g_assert_true (tn_tfevents_reader_read (reader, rows, &error));
      g_assert_cmpint (rows->rows->len, ==, i * 20);
      g_assert_true (i % 2 ? tn_tfevents_writer_sync (writer, &error) : tn_tfevents_writer_flush (writer, &error));
      g_assert_true (tn_tfevents_reader_read (reader, rows, &error));
      g_assert_cmpint (rows->rows->len, ==, (i + 1) * 20);
      g_assert_cmpint (tn_tfevents_reader_offset (reader), ==, tn_tfevents_writer_end (writer, FALSE));
      g_assert_false (tn_tfevents_reader_is_waiting (reader));
    }
  g_assert_cmpstr (row_at (rows, 99)->tag, ==, "lr");
  g_assert_cmpfloat (row_at (rows, 98)->value, ==, 24.5);
  remove_folder (folder);
}

/* A full disk leaves half a record; when there is room again nothing is missing and nothing is there twice. */
static void
test_full_disk_loses_nothing (void)
{
  g_autofree char *folder = temporary_folder ();
  g_autofree char *warning = NULL;
  g_autoptr (GError) error = NULL;
  g_autoptr (TnTfeventsWriter) writer = tn_tfevents_writer_new (folder, -1, 0, &error);
  write_steps (writer, 0, 10);
  tn_fault_set (TN_FAULT_NO_SPACE, 1, TRUE);
  g_assert_false (tn_tfevents_writer_flush (writer, &error));
  g_assert_error (error, TN_ERROR, TN_ERROR_NO_SPACE);
  tn_fault_set (TN_FAULT_OFF, 0, FALSE);
  write_steps (writer, 10, 12);
  g_clear_error (&error);
  g_assert_true (tn_tfevents_writer_flush (writer, &error));
  g_autoptr (TnTfeventsRows) rows = tn_tfevents_read_folder (folder, &warning, &error);
  g_assert_null (warning);
  g_assert_cmpint (rows->rows->len, ==, 24);
  for (guint i = 0; i < 24; i++)
    g_assert_cmpint (row_at (rows, i)->step, ==, i / 2);
  remove_folder (folder);
}

static void
test_resume_drops_repeated_steps (void)
{
  g_autofree char *folder = temporary_folder ();
  g_autoptr (GError) error = NULL;
  /* The second has the same wall time, so its name must be made to sort behind the first's. */
  for (int run = 0; run < 2; run++)
    {
      g_autoptr (TnTfeventsWriter) writer = tn_tfevents_writer_new (folder, run ? 6 : -1, 1700000000, &error);
      g_assert_no_error (error);
      write_steps (writer, run ? 6 : 0, run ? 12 : 10);
      g_assert_true (tn_tfevents_writer_sync (writer, &error));
    }
  g_autoptr (TnTfeventsRows) rows = tn_tfevents_read_folder (folder, NULL, &error);
  int scalars = 0, starts = 0, next = 0;
  for (guint i = 0; i < rows->rows->len; i++)
    {
      const TnTfeventsRow *row = row_at (rows, i);
      starts += row->kind == TN_TFEVENTS_START && row->step == 6;
      if (row->kind != TN_TFEVENTS_SCALAR)
        continue;
      scalars++;
      if (strcmp (row->tag, "loss") == 0)
        g_assert_cmpint (row->step, ==, next++);
    }
  g_assert_cmpint (scalars, ==, 24);
  g_assert_cmpint (starts, ==, 1);
  remove_folder (folder);
}

static void
test_histogram_counts (void)
{
  const float values[] = { -1, 0, 0, 2, 2, 2, INFINITY, NAN };
  int64_t not_finite;
  g_autoptr (TnHistogram) h = tn_histogram_new_from_floats (values, G_N_ELEMENTS (values), &not_finite);
  g_assert_cmpint (not_finite, ==, 2);
  g_assert_cmpfloat (h->count, ==, 6);
  g_assert_cmpfloat (h->min, ==, -1);
  g_assert_cmpfloat (h->max, ==, 2);
  g_assert_cmpfloat (h->sum, ==, 5);
  g_assert_cmpfloat (h->sum_squares, ==, 13);
  double total = 0;
  for (int i = 0; i < h->n_buckets; i++)
    {
      total += h->buckets[i];
      if (i > 0)
        g_assert_cmpfloat (h->limits[i], >, h->limits[i - 1]);
      if (h->buckets[i] == 3)
        g_assert_true (h->limits[i - 1] <= 2 && 2 <= h->limits[i] && h->limits[i] < 2.3);
    }
  g_assert_cmpfloat (total, ==, 6);
}

static gboolean
read_damaged (const char *path, gint64 flipped_byte, gpointer data, GError **error)
{
  g_autoptr (TnTfeventsReader) reader = tn_tfevents_reader_new (path, 0, error);
  g_autoptr (TnTfeventsRows) rows = tn_tfevents_rows_new ();
  if (!reader)
    return FALSE;
  gboolean ok = tn_tfevents_reader_read (reader, rows, error);
  guint64 n_damaged = tn_tfevents_reader_n_damaged (reader, NULL);
  /* Checksums cover everything: whatever comes through is a row that was written, and what is missing is said. */
  for (guint i = 0; i < rows->rows->len; i++)
    {
      const TnTfeventsRow *row = row_at (rows, i);
      if (row->kind == TN_TFEVENTS_SCALAR)
        g_assert_cmpfloat (row->value, ==, strcmp (row->tag, "loss") == 0 ? row->step * 0.5 : (double) 0.1f);
    }
  if (flipped_byte >= 0)
    g_assert_true (!ok || n_damaged == 1 || tn_tfevents_reader_is_waiting (reader));
  return ok;
}

static void
test_damage (void)
{
  g_autofree char *folder = temporary_folder ();
  g_autoptr (TnTfeventsWriter) writer = tn_tfevents_writer_new (folder, 0, 0, NULL);
  g_autoptr (TnHistogram) h = tn_histogram_new_from_floats ((float[]){ 1, 2, 3 }, 3, NULL);
  write_steps (writer, 0, 20);
  tn_tfevents_writer_histogram (writer, 20, 5, "weights", h);
  g_assert_true (tn_tfevents_writer_flush (writer, NULL));
  damage_file (tn_tfevents_writer_path (writer), FALSE, read_damaged, NULL);
  remove_folder (folder);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/formats/tfevents/scalars-of-torch", test_scalars_of_torch);
  g_test_add_func ("/formats/tfevents/histograms-of-torch", test_histograms_of_torch);
  g_test_add_func ("/formats/tfevents/damaged-files-keep-what-is-sound", test_damaged_files_of_torch);
  g_test_add_func ("/formats/tfevents/reader-follows-writer", test_reader_follows_writer);
  g_test_add_func ("/formats/tfevents/full-disk-loses-nothing", test_full_disk_loses_nothing);
  g_test_add_func ("/formats/tfevents/resume-drops-repeated-steps", test_resume_drops_repeated_steps);
  g_test_add_func ("/formats/tfevents/histogram-counts", test_histogram_counts);
  g_test_add_func ("/formats/tfevents/damage-is-never-a-wrong-row", test_damage);
  return g_test_run ();
}
