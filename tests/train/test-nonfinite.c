/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>

#include "formats/npy.h"
#include "support.h"

/* Numbers that are not finite: what is named, what is saved, and when a run gives up. */

static char *scratch;

/* One dense layer: with a huge weight decay each update multiplies the weights by -1e12 while loss and gradient stay finite. From
 * 0.1 or less the fourth update is past 3.4e38. */
static const char model[] = "{\"input\": {\"shape\": [1, 28, 28]}, \"cells\": [{\"type\": \"Flatten\"}, "
                            "{\"type\": \"Dense\", \"name\": \"fc\", \"out_channels\": 10, \"has_bias\": false}]}";
#define RUIN "optimizer.lr=1e6", "optimizer.weight_decay=1e6", "optimizer.momentum=0"

static char *
dense_run (const char *name, const char *const *more)
{
  g_autofree char *file = g_build_filename (scratch, "dense.json", NULL);
  g_autofree char *setting = g_strconcat ("model.file=", file, NULL);
  g_autoptr (GPtrArray) all = g_ptr_array_new ();
  g_assert_true (g_file_set_contents (file, model, -1, NULL));
  g_ptr_array_add (all, setting);
  for (int i = 0; more[i] != NULL; i++)
    g_ptr_array_add (all, (gpointer) more[i]);
  g_ptr_array_add (all, NULL);
  return small_run (scratch, name, (const char *const *) all->pdata);
}

static GError *
train_fails (const char *run)
{
  GError *error = NULL;
  g_assert_cmpint (train (run, NULL, NULL, &error), ==, TN_RUN_FAILED);
  g_assert_error (error, TN_ERROR, TN_ERROR_NUMERIC);
  g_test_message ("%s", error->message);
  return error;
}

/* Every checkpoint of the run, read with the reader and looked at one number after the other. */
static int
assert_checkpoints_finite (const char *run)
{
  g_autofree char *folder = g_build_filename (run, "checkpoints", NULL);
  g_autoptr (GArray) steps = tn_checkpoint_list (folder);
  for (guint i = 0; i < steps->len; i++)
    {
      g_autofree char *path = tn_checkpoint_step_path (folder, g_array_index (steps, gint64, i));
      g_autoptr (GError) error = NULL;
      g_autoptr (TnCheckpoint) checkpoint = tn_checkpoint_open (path, &error);
      g_assert_no_error (error);
      for (int t = 0; t < tn_checkpoint_n_tensors (checkpoint); t++)
        {
          TnTensor *tensor = tn_checkpoint_tensor (checkpoint, tn_checkpoint_tensor_name (checkpoint, t));
          for (int64_t k = 0; k < tn_tensor_count (tensor); k++)
            g_assert_true (isfinite (tn_tensor_get (tensor, k)));
        }
    }
  return steps->len == 0 ? -1 : (int) g_array_index (steps, gint64, steps->len - 1);
}

static void
test_ruined_step_is_not_saved (gconstpointer data)
{
  const char *policy = data;
  g_autofree char *setting = g_strconcat ("train.on_nonfinite=", policy, NULL);
  const char *const more[] = { RUIN, "checkpoint.every_steps=1", "checkpoint.keep=100", setting, NULL };
  g_autofree char *run = dense_run (policy, more);
  g_autoptr (GError) error = train_fails (run);
  g_assert_nonnull (strstr (error->message, "fc.weight"));
  g_assert_cmpint (assert_checkpoints_finite (run), >=, 3);
  if (strcmp (policy, "rollback") == 0)
    {
      g_assert_nonnull (strstr (error->message, "10 times"));
      return;
    }
  g_assert_nonnull (strstr (error->message, "Step 4:"));
  g_assert_cmpint (assert_checkpoints_finite (run), ==, 3);
  g_autoptr (TnRunFolder) folder = tn_run_folder_open (run, NULL);
  g_assert_cmpfloat (tn_run_folder_fact_number (folder, "nonfinite_step"), ==, 4);
}

/* The run's last step is the one that ruins: it is no success. */
static void
test_ruined_last_step_fails (gconstpointer data)
{
  const char *policy = data;
  g_autofree char *setting = g_strconcat ("train.on_nonfinite=", policy, NULL), *name = g_strconcat ("last-", policy, NULL);
  const char *const more[] = { RUIN, "train.max_steps=4", setting, NULL };
  g_autofree char *run = dense_run (name, more);
  g_autoptr (GError) error = train_fails (run);
  assert_checkpoints_finite (run);
}

/* Samples of which every @nth has a number of @size, as an .npz; labels 0..9. */
static char *
make_data (const char *name, int n, int nth, float size)
{
  g_autofree char *folder = g_build_filename (scratch, name, NULL), *x_path = g_build_filename (folder, "x.npy", NULL);
  g_autofree char *y_path = g_build_filename (folder, "y.npy", NULL);
  g_autoptr (GError) error = NULL;
  g_autoptr (TnTensor) x = tn_tensor_new (TN_DTYPE_F32, TN_SHAPE (n, 4), &error), y = tn_tensor_new (TN_DTYPE_I32, TN_SHAPE (n), &error);
  float *values = tn_tensor_data (x);
  int32_t *labels = tn_tensor_data (y);
  for (int i = 0; i < n; i++)
    {
      for (int k = 0; k < 4; k++)
        values[i * 4 + k] = (float) ((i * 7 + k * 3) % 11) / 11.0f;
      labels[i] = i % 10;
      if (i % nth == nth - 1)
        values[i * 4] = size;
    }
  g_mkdir (folder, 0755);
  g_assert_true (tn_npy_write (x_path, x, &error));
  g_assert_true (tn_npy_write (y_path, y, &error));
  g_assert_no_error (error);
  return g_steal_pointer (&folder);
}

static const char table_model[] = "{\"input\": {\"shape\": [4]}, \"cells\": ["
                                  "{\"type\": \"Dense\", \"name\": \"fc\", \"out_channels\": 10, \"has_bias\": false}]}";

static char *
table_run (const char *name, const char *data, const char *const *more)
{
  g_autofree char *file = g_build_filename (scratch, "table.json", NULL);
  g_autofree char *setting = g_strconcat ("model.file=", file, NULL), *source = g_strconcat ("data.source=", data, NULL);
  g_autoptr (GPtrArray) all = g_ptr_array_new ();
  g_assert_true (g_file_set_contents (file, table_model, -1, NULL));
  g_ptr_array_add (all, setting);
  g_ptr_array_add (all, source);
  for (int i = 0; more[i] != NULL; i++)
    g_ptr_array_add (all, (gpointer) more[i]);
  g_ptr_array_add (all, NULL);
  return small_run (scratch, name, (const char *const *) all->pdata);
}

/* 1e25 is finite in float32, its square is not: the gradient is what went wrong, and not the norm. */
static void
test_overflow_names_the_gradient (void)
{
  g_autofree char *data = make_data ("overflow-data", 80, 2, 1e25f);
  const char *const more[] = { "data.validation=none", NULL };
  g_autofree char *run = table_run ("overflow", data, more);
  g_autoptr (GError) error = train_fails (run);
  g_assert_nonnull (strstr (error->message, "Step 1:"));
  g_assert_nonnull (strstr (error->message, "gradient of fc.weight"));
  g_assert_null (strstr (error->message, "GlobalNorm"));
}

static void
test_skip_gives_up (void)
{
  g_autofree char *data = make_data ("all-bad", 400, 2, 1e25f);
  const char *const more[] = { "data.validation=none", "train.on_nonfinite=skip", NULL };
  g_autofree char *run = table_run ("skip-all", data, more);
  g_autoptr (GError) error = train_fails (run);
  g_assert_nonnull (strstr (error->message, "10 steps one after the other"));
  g_assert_nonnull (strstr (error->message, "the last one step 10 "));

  /* As many as there are, and fewer than the limit: still nothing was learned. */
  const char *const few[] = { "data.validation=none", "train.on_nonfinite=skip", "train.max_steps=5", NULL };
  g_autofree char *short_run = table_run ("skip-few", data, few);
  g_autoptr (GError) nothing = train_fails (short_run);
  g_assert_nonnull (strstr (nothing->message, "None of the 5 steps"));
}

/* One bad batch in ten: it is left out by either policy, the run ends well and its weights are finite. */
static void
test_single_bad_batch_is_passed (gconstpointer policy)
{
  g_autofree char *data = make_data ("one-bad", 80, 80, 1e25f), *name = g_strconcat ("one-", policy, NULL);
  g_autofree char *setting = g_strconcat ("train.on_nonfinite=", policy, NULL);
  const char *const more[] = { "data.validation=none", "train.epochs=2", "checkpoint.every_steps=1", setting, NULL };
  g_autofree char *run = table_run (name, data, more);
  train_ok (run, NULL, NULL);
  g_assert_cmpint (assert_checkpoints_finite (run), ==, 20);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  scratch = make_scratch ();
  g_test_add_data_func ("/train/nonfinite/stop-does-not-save-the-ruined-step", "stop", test_ruined_step_is_not_saved);
  g_test_add_data_func ("/train/nonfinite/skip-does-not-save-the-ruined-step", "skip", test_ruined_step_is_not_saved);
  g_test_add_data_func ("/train/nonfinite/rollback-does-not-save-the-ruined-step", "rollback", test_ruined_step_is_not_saved);
  g_test_add_data_func ("/train/nonfinite/a-last-step-that-ruins-is-no-success-with-stop", "stop", test_ruined_last_step_fails);
  g_test_add_data_func ("/train/nonfinite/a-last-step-that-ruins-is-no-success-with-skip", "skip", test_ruined_last_step_fails);
  g_test_add_func ("/train/nonfinite/an-overflowing-norm-names-its-gradient", test_overflow_names_the_gradient);
  g_test_add_func ("/train/nonfinite/skipping-gives-up-after-ten", test_skip_gives_up);
  g_test_add_data_func ("/train/nonfinite/skip-passes-a-single-bad-batch", "skip", test_single_bad_batch_is_passed);
  g_test_add_data_func ("/train/nonfinite/rollback-passes-a-single-bad-batch", "rollback", test_single_bad_batch_is_passed);
  int result = g_test_run ();
  remove_tree (scratch);
  g_free (scratch);
  return result;
}
