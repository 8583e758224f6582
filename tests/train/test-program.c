/* SPDX-License-Identifier: Apache-2.0 */
/* What a program refuses, what freezing leaves alone, and what it starts from. */
#include "formats/safetensors.h"
#include "train/program.h"
#include "train/rate.h"
#include <glib/gstdio.h>
#include <string.h>

static TnProgram *
new_program (const char *const *assignments, GError **error)
{
  g_autoptr (TnModel) model = tn_model_new_preset ("lenet5", NULL);
  g_autoptr (TnSettings) settings = tn_settings_new ();
  for (; *assignments != NULL; assignments++)
    g_assert_true (tn_settings_set_assignment (settings, *assignments, NULL));
  return tn_program_new (model, settings, error);
}

#define PROGRAM(error, ...) new_program ((const char *const[]){ "train.batch=4", "device.threads=1", __VA_ARGS__ __VA_OPT__ (, ) NULL }, error)

static float x[4 * 1024];
static int32_t labels[] = { 1, 2, 3, 4 };

static void
take_step (TnProgram *program)
{
  g_autoptr (GError) error = NULL;
  for (int i = 0; i < 4 * 1024; i++)
    x[i] = (float) (i % 17) / 17;
  TnProgramBatch batch = { .n = 4, .x = x, .labels = labels };
  TnStepResult result;
  g_assert_true (tn_program_forward_backward (program, &batch, 0, &result, &error));
  g_assert_true (tn_program_update (program, 0.1, 0, &error));
}

static void
test_a_freeze_that_matches_nothing_is_refused (void)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (TnProgram) program = PROGRAM (&error, "train.freeze=conv*,nope*");
  g_assert_null (program);
  g_assert_nonnull (strstr (error->message, "nope*"));
  g_assert_nonnull (strstr (error->message, "fc3.bias"));
}

static void
test_frozen_parameters_keep_their_bits (void)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (TnProgram) program = PROGRAM (&error, "train.freeze=conv*");
  g_autoptr (TnProgram) untouched = PROGRAM (&error);
  g_assert_no_error (error);
  take_step (program);
  for (int i = 0; i < tn_program_n_state (program); i++)
    {
      const TnStateEntry *entry = tn_program_state (program, i);
      if (entry->role != TN_ROLE_TRAINED)
        continue;
      const TnStateEntry *start = tn_program_find_state (untouched, entry->name);
      gboolean same = memcmp (tn_tensor_data (entry->tensor), tn_tensor_data (start->tensor), tn_tensor_bytes (entry->tensor)) == 0;
      g_assert_cmpint (same, ==, g_str_has_prefix (entry->name, "conv"));
      g_assert_cmpint (entry->frozen, ==, g_str_has_prefix (entry->name, "conv"));
    }
  g_assert_null (tn_program_find_state (program, "moments.conv1.weight")); /* no state is kept for them either */
}

static void
test_labels_must_be_of_the_losss_kind (void)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (TnProgram) values = PROGRAM (&error, "train.loss=mse");
  g_assert_no_error (error);
  TnProgramBatch classes = { .n = 4, .x = x, .labels = labels };
  TnStepResult result;
  g_assert_false (tn_program_forward_backward (values, &classes, 0, &result, &error));
  g_assert_nonnull (strstr (error->message, "softmax_cross_entropy"));
  g_clear_error (&error);

  g_autoptr (TnProgram) by_class = PROGRAM (&error);
  float targets[40] = { 0 };
  TnProgramBatch numbers = { .n = 4, .x = x, .targets = targets };
  g_assert_false (tn_program_forward_backward (by_class, &numbers, 0, &result, &error));
  g_assert_nonnull (strstr (error->message, "mse"));
}

static void
test_warmup_needs_steps (void)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (TnSettings) settings = tn_settings_new ();
  g_assert_true (tn_settings_set_assignment (settings, "schedule.kind=warmup", &error));
  g_assert_null (tn_rate_schedule_new (settings, 100, &error));
  g_assert_nonnull (strstr (error->message, "schedule.warmup_steps"));
}

static void
test_init_from_takes_what_matches_and_lists_the_rest (void)
{
  g_autoptr (GError) error = NULL;
  g_autofree char *folder = g_dir_make_tmp ("tenon-program-XXXXXX", &error), *path = g_build_filename (folder, "start.safetensors", NULL);
  g_autoptr (TnTensor) weight = tn_tensor_new (TN_DTYPE_F32, TN_SHAPE (6, 1, 5, 5), &error);
  g_autoptr (TnTensor) other = tn_tensor_new (TN_DTYPE_F32, TN_SHAPE (3), &error);
  for (int i = 0; i < 150; i++)
    tn_tensor_set (weight, i, i * 0.001);
  const char *names[] = { "conv1.weight", "conv1.bias", "stranger" };
  TnTensor *tensors[] = { weight, other, other };
  g_assert_true (tn_safetensors_write (path, names, tensors, 3, NULL, &error));
  g_autofree char *assignment = g_strconcat ("init.from=", path, NULL);
  g_autoptr (TnProgram) program = PROGRAM (&error, assignment);
  g_assert_no_error (error);
  g_assert_cmpmem (tn_tensor_data (tn_program_find_state (program, "conv1.weight")->tensor), 600, tn_tensor_data (weight), 600);
  const char *report = tn_program_weights_report (program);
  g_assert_nonnull (strstr (report, "conv1.bias")); /* another shape */
  g_assert_nonnull (strstr (report, "fc1.weight")); /* not in the file */
  g_assert_nonnull (strstr (report, "stranger"));   /* not in the model */
  g_unlink (path);
  g_rmdir (folder);
}

static void
test_memory_limit_names_a_batch_that_fits (void)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (TnProgram) program = PROGRAM (&error, "train.batch=4096", "device.memory_limit_mb=20");
  g_assert_null (program);
  g_assert_nonnull (strstr (error->message, "would fit"));
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/program/a-freeze-that-matches-nothing-is-refused", test_a_freeze_that_matches_nothing_is_refused);
  g_test_add_func ("/program/frozen-parameters-keep-their-bits", test_frozen_parameters_keep_their_bits);
  g_test_add_func ("/program/labels-must-be-of-the-losss-kind", test_labels_must_be_of_the_losss_kind);
  g_test_add_func ("/program/warmup-needs-steps", test_warmup_needs_steps);
  g_test_add_func ("/program/init-from-takes-what-matches-and-lists-the-rest", test_init_from_takes_what_matches_and_lists_the_rest);
  g_test_add_func ("/program/memory-limit-names-a-batch-that-fits", test_memory_limit_names_a_batch_that_fits);
  return g_test_run ();
}
