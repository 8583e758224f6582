/* SPDX-License-Identifier: Apache-2.0 */
#include "support.h"

#include <math.h>

#include "formats/safetensors.h"
#include "formats/strategy-file.h"
#include "parallel/strategy-metadata.h"

/* Whole runs of ranks that split weights: near one rank, exact resume, other cuts, what stands in the folder. */

#define STEPS 20 /* 2 epochs of 157 = 9 x 16 + 13 */

static char *scratch;

static char *
split_run (const char *name, const char *mode, const char *a, const char *b)
{
  const char *const more[] = { "data.drop_last=false", "data.validation=last:43", "train.batch=16", "device.strict=true", "optimizer.lr=0.01", "parallel.optimizer_threshold=0", mode, a, b, NULL };
  return small_run (scratch, name, more);
}

static TnCheckpoint *
open_step (const char *run_path, gint64 step)
{
  g_autofree char *folder = g_build_filename (run_path, "checkpoints", NULL);
  g_autofree char *path = tn_checkpoint_step_path (folder, step);
  g_autoptr (GError) error = NULL;
  TnCheckpoint *checkpoint = tn_checkpoint_open (path, &error);
  g_assert_no_error (error);
  return checkpoint;
}

/* ‖a - b‖ / ‖b‖ of every tensor. */
static void
compare_checkpoints (const char *run_a, const char *run_b, gint64 step, double limit)
{
  g_autoptr (TnCheckpoint) a = open_step (run_a, step), b = open_step (run_b, step);
  g_assert_cmpint (tn_checkpoint_n_tensors (a), ==, tn_checkpoint_n_tensors (b));
  for (int i = 0; i < tn_checkpoint_n_tensors (b); i++)
    {
      const char *name = tn_checkpoint_tensor_name (b, i);
      TnTensor *x = tn_checkpoint_tensor (a, name), *y = tn_checkpoint_tensor (b, name);
      g_assert_nonnull (x);
      g_assert_true (tn_shape_equal (&x->shape, &y->shape));
      double difference = 0, norm = 0;
      for (int64_t k = 0; k < tn_tensor_count (x); k++)
        {
          difference += pow (tn_tensor_get (x, k) - tn_tensor_get (y, k), 2);
          norm += pow (tn_tensor_get (y, k), 2);
        }
      if (!(sqrt (difference) <= limit * sqrt (norm)))
        g_error ("%s differs by %g of %g", name, sqrt (difference), sqrt (norm));
    }
}

/* Loss, accuracy and the like, row by row. */
static void
compare_rows (const char *run_a, const char *run_b, double limit)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (TnTfeventsRows) a = tn_tfevents_read_folder (run_a, NULL, &error), b = tn_tfevents_read_folder (run_b, NULL, &error);
  g_assert_no_error (error);
  guint n = 0;
  for (guint i = 0; i < b->rows->len; i++)
    {
      const TnTfeventsRow *row = &g_array_index (b->rows, TnTfeventsRow, i), *same = NULL;
      int tag = row->kind == TN_TFEVENTS_SCALAR ? tn_tag_find (row->tag) : -1;
      if (tag < 0 || !tn_tags[tag].deterministic)
        continue;
      for (guint k = 0; k < a->rows->len && same == NULL; k++)
        {
          const TnTfeventsRow *other = &g_array_index (a->rows, TnTfeventsRow, k);
          same = other->step == row->step && other->kind == row->kind && strcmp (other->tag, row->tag) == 0 ? other : NULL;
        }
      g_assert_nonnull (same);
      if (!(fabs (same->value - row->value) <= limit * fabs (row->value) + 1e-12))
        g_error ("%s of step %d is %.9g, of one rank %.9g", row->tag, (int) row->step, same->value, row->value);
      n++;
    }
  g_assert_cmpuint (n, >, 2 * STEPS);
}

static const char *const ways[][3] = {
  { "parallel.mode=semi_auto_parallel", "parallel.mesh=dp=4", NULL },
  { "parallel.mode=semi_auto_parallel", "parallel.mesh=tp=2", NULL },
  { "parallel.mode=semi_auto_parallel", "parallel.mesh=dp=2,tp=2", "parallel.optimizer=true" },
  { "parallel.mode=data_parallel", "parallel.ranks=4", "parallel.optimizer=true" },
};

static void
test_equals_one_rank (void)
{
  g_autofree char *one = split_run ("one", "parallel.mode=stand_alone", NULL, NULL);
  train_ok (one, NULL, NULL);
  for (gsize i = 0; i < G_N_ELEMENTS (ways); i++)
    {
      g_autofree char *name = g_strdup_printf ("way-%d", (int) i);
      g_autofree char *many = split_run (name, ways[i][0], ways[i][1], ways[i][2]);
      g_test_message ("%s %s", ways[i][0], ways[i][1]);
      train_ok (many, NULL, NULL);
      compare_rows (many, one, 1e-5);
      compare_checkpoints (many, one, STEPS, 1e-5);
    }
}

static void
compare_all_files (const char *a, const char *b, int n_ranks)
{
  assert_equal_runs (a, b, STEPS);
  for (int rank = 1; rank < n_ranks; rank++)
    {
      gsize n_a, n_b;
      g_autofree char *name = g_strdup_printf ("rank-%04d.safetensors", rank);
      g_autofree char *text_a = read_checkpoint_file (a, STEPS, name, &n_a), *text_b = read_checkpoint_file (b, STEPS, name, &n_b);
      g_assert_cmpmem (text_a, n_a, text_b, n_b);
    }
}

static void
test_resume_is_exact (void)
{
  g_autofree char *whole = split_run ("whole", ways[2][0], ways[2][1], ways[2][2]), *cut = split_run ("cut", ways[2][0], ways[2][1], ways[2][2]);
  train_ok (whole, NULL, NULL);
  train_ok (cut, "train.max_steps", "7");
  train_ok (cut, "train.max_steps", "0");
  compare_all_files (whole, cut, 4);
}

/* No element stands in two files, and none is missing. */
static void
test_slices_are_written_once (void)
{
  g_autofree char *run = split_run ("once", ways[2][0], ways[2][1], ways[2][2]), *one = split_run ("plain", "parallel.mode=stand_alone", NULL, NULL);
  train_ok (run, "train.max_steps", "2");
  train_ok (one, "train.max_steps", "2");
  g_autoptr (TnCheckpoint) whole = open_step (one, 2);
  int64_t expected = 0, found = 0, most = 0;
  for (int i = 0; i < tn_checkpoint_n_tensors (whole); i++)
    expected += tn_tensor_count (tn_checkpoint_tensor (whole, tn_checkpoint_tensor_name (whole, i)));
  for (int rank = 0; rank < 4; rank++)
    {
      g_autoptr (GError) error = NULL;
      g_autofree char *path = g_strdup_printf ("%s/checkpoints/step-00000002/rank-%04d.safetensors", run, rank);
      g_autoptr (TnSafetensors) file = tn_safetensors_open (path, &error);
      g_assert_no_error (error);
      int64_t own = 0;
      for (guint i = 0; i < tn_safetensors_n (file); i++)
        own += tn_shape_count (&tn_safetensors_entry (file, i)->shape);
      found += own;
      most = MAX (most, own);
    }
  g_assert_cmpint (found, ==, expected);
  g_assert_cmpint (most * 2, <, expected);
}

/* ---- other cuts ---- */

static void
note_message (TnTrainer *trainer, int level, const char *text, gpointer said)
{
  *(gboolean *) said |= strstr (text, "bits may differ") != NULL;
}

static void
go_on_with (const char *run_path, const char *const *changes)
{
  g_autoptr (TnTrainer) trainer = new_trainer (run_path);
  g_autoptr (GError) error = NULL;
  gboolean said = FALSE;
  g_signal_connect (trainer, "message", G_CALLBACK (note_message), &said);
  for (; changes[0] != NULL && error == NULL; changes += 2)
    tn_trainer_change_at_start (trainer, changes[0], changes[1], &error);
  g_assert_no_error (error);
  g_assert_true (tn_trainer_start (trainer, &error));
  g_assert_true (tn_trainer_run (trainer, &error));
  g_assert_no_error (error);
  g_assert_true (said);
}

static void
test_resume_on_other_ranks (void)
{
  static const char *const others[][7] = {
    { "train.max_steps", "0", "parallel.mesh", "tp=2", "parallel.optimizer", "false", NULL },
    { "train.max_steps", "0", "parallel.mesh", "dp=8", "parallel.optimizer_level", "3", NULL },
    { "train.max_steps", "0", "parallel.mode", "stand_alone", "parallel.optimizer", "false", NULL },
  };
  g_autofree char *one = split_run ("other-one", "parallel.mode=stand_alone", NULL, NULL);
  train_ok (one, NULL, NULL);
  for (gsize i = 0; i < G_N_ELEMENTS (others); i++)
    {
      g_autofree char *name = g_strdup_printf ("other-%d", (int) i);
      g_autofree char *run = split_run (name, ways[2][0], ways[2][1], ways[2][2]);
      train_ok (run, "train.max_steps", "7");
      go_on_with (run, others[i]);
      compare_checkpoints (run, one, STEPS, 1e-5);
      compare_rows (run, one, 1e-5);
    }
}

/* ---- what stands beside ---- */

static void
test_strategies_are_written (void)
{
  g_autoptr (GError) error = NULL;
  tn_clear_strategy_metadata ();
  tn_enable_save_strategy_online ();
  g_autofree char *run = split_run ("strategy", "parallel.mode=semi_auto_parallel", "parallel.mesh=dp=2,tp=2", NULL);
  train_ok (run, "train.max_steps", "1");
  for (int rank = 0; rank < 4; rank++)
    {
      g_autofree char *path = g_strdup_printf ("%s/strategy/rank_%d.json", run, rank);
      g_autoptr (TnStrategyFile) file = tn_strategy_file_load (path, &error);
      g_assert_no_error (error);
      g_assert_cmpuint (file->parameters->len, >, 10);
    }
  TnNetwork network = { "train" };
  g_autoptr (TnStrategyMetadata) metadata = tn_get_strategy_metadata (&network, -1, &error);
  g_assert_no_error (error);
  g_assert_nonnull (metadata);
  g_assert_cmpint (tn_strategy_metadata_n_ranks (metadata), ==, 4);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  scratch = make_scratch ();
  g_test_add_func ("/train/split-run/equals-one-rank", test_equals_one_rank);
  g_test_add_func ("/train/split-run/resume-is-exact", test_resume_is_exact);
  g_test_add_func ("/train/split-run/slices-are-written-once", test_slices_are_written_once);
  g_test_add_func ("/train/split-run/resume-on-other-ranks", test_resume_on_other_ranks);
  g_test_add_func ("/train/split-run/strategies-are-written", test_strategies_are_written);
  int status = g_test_run ();
  remove_tree (scratch);
  g_free (scratch);
  return status;
}
