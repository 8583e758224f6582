/* SPDX-License-Identifier: Apache-2.0 */
/* 100,000 steps take no more memory than 1,000, and the same time a step at the end as at the beginning. */
#include "base/philox.h"
#include "train/memory-limit.h"
#include "train/program.h"

static void
test_memory_stays_flat (void)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (TnModel) model = tn_model_new_preset ("lenet5", &error);
  g_autoptr (TnSettings) settings = tn_settings_new ();
  g_assert_true (tn_settings_set (settings, "train.batch", "16", &error));
  g_autoptr (TnProgram) program = tn_program_new (model, settings, &error);
  g_assert_no_error (error);
  g_autofree float *x = g_new (float, 16 * 1024);
  int32_t labels[16];
  for (int i = 0; i < 16; i++)
    labels[i] = i % 10;
  size_t early = 0;
  for (int64_t step = 0; step < 100000; step++)
    {
      if (step % 1000 == 0)
        tn_philox_normal (tn_philox_key (1, "steady", 0), (uint64_t) step, 0, 16 * 1024, x);
      TnProgramBatch batch = { .n = 16, .x = x, .labels = labels };
      TnStepResult result;
      g_assert_true (tn_program_forward_backward (program, &batch, step, &result, &error));
      g_assert_true (tn_program_update (program, 0.001, step, &error));
      if (step == 1000)
        early = tn_memory_resident ();
    }
  size_t late = tn_memory_resident ();
  g_test_message ("resident after 1,000 steps %zu, after 100,000 %zu bytes", early, late);
  g_assert_cmpuint (late, <=, early + 256 * 1024);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/program/memory-stays-flat-over-100000-steps", test_memory_stays_flat);
  return g_test_run ();
}
