/* SPDX-License-Identifier: Apache-2.0 */
/* LeNet-5's first ten losses from PyTorch's initial weights and batches (tests/data/lenet5-ten-losses): they agree to 1e-5
 * relative, in both modes, and the fixture's weights make a difference. */
#include "base/json.h"
#include "formats/npz.h"
#include "train/program.h"
#include <math.h>
#include <string.h>

static char *
fixture (const char *name)
{
  return g_build_filename (g_getenv ("TENON_SOURCE_ROOT"), "tests/data/lenet5-ten-losses", name, NULL);
}

static void
test_losses (gconstpointer mode)
{
  g_autoptr (GError) error = NULL;
  g_autofree char *start_path = fixture ("start.npz"), *losses_path = fixture ("losses.json");
  g_autoptr (TnNpz) start = tn_npz_open (start_path, &error);
  g_assert_no_error (error);
  g_autoptr (JsonNode) truth = tn_json_load (losses_path, &error);
  g_assert_no_error (error);
  JsonArray *losses = json_object_get_array_member (json_node_get_object (truth), "losses");
  g_assert_cmpint (json_array_get_length (losses), ==, 10);

  g_autoptr (TnModel) model = tn_model_new_preset ("lenet5", &error);
  g_autoptr (TnSettings) settings = tn_settings_new ();
  g_assert_true (tn_settings_set (settings, "train.batch", "16", &error) && tn_settings_set (settings, "device.mode", mode, &error));
  g_autoptr (TnProgram) program = tn_program_new (model, settings, &error);
  g_assert_no_error (error);
  int n_set = 0;
  for (int i = 0; i < tn_program_n_state (program); i++)
    {
      const TnStateEntry *entry = tn_program_state (program, i);
      if (entry->role != TN_ROLE_TRAINED)
        continue;
      g_autoptr (TnTensor) weight = tn_npz_get (start, entry->name, &error);
      g_assert_no_error (error);
      g_assert_true (tn_tensor_copy (entry->tensor, weight, &error));
      n_set++;
    }
  g_assert_cmpint (n_set, ==, 10);

  g_autoptr (TnTensor) pixels = tn_npz_get (start, "pixels", &error);
  g_autoptr (TnTensor) labels = tn_npz_get (start, "labels", &error);
  g_assert_no_error (error);
  g_autofree float *x = g_new (float, 16 * 1024);
  double worst = 0;
  for (int i = 0; i < 10; i++)
    {
      const uint8_t *p = (const uint8_t *) tn_tensor_data (pixels) + i * 16 * 1024;
      for (int k = 0; k < 16 * 1024; k++)
        x[k] = ((float) p[k] / 255.0f - 0.1307f) / 0.3081f;
      TnProgramBatch batch = { .n = 16, .x = x, .labels = (const int32_t *) tn_tensor_data (labels) + i * 16 };
      TnStepResult result;
      g_assert_true (tn_program_forward_backward (program, &batch, i, &result, &error));
      g_assert_true (tn_program_update (program, 0.05, i, &error));
      double want = json_array_get_double_element (losses, (guint) i), off = fabs (result.loss - want) / want;
      worst = MAX (worst, off);
      g_assert_cmpfloat (off, <, 1e-5);
    }
  g_test_message ("worst relative difference %.2g", worst);
  g_assert_cmpfloat (json_array_get_double_element (losses, 9), <, json_array_get_double_element (losses, 0) - 0.01); /* they learn */
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_data_func ("/program/ten-losses-as-pytorch/graph", "graph", test_losses);
  g_test_add_data_func ("/program/ten-losses-as-pytorch/pynative", "pynative", test_losses);
  return g_test_run ();
}
