/* SPDX-License-Identifier: Apache-2.0 */
#include "support.h"

/* check says beforehand what train says: refused by the one is refused by the other. */

static JsonNode *
facts (const char *more, int *exit_code, char **lines)
{
  g_autofree char *line = g_strdup_printf ("check p --json %s", more);
  g_auto (Result) result = run (line);
  *exit_code = result.exit_code;
  if (lines != NULL)
    *lines = g_strdup (result.out);
  g_test_message ("%s: %s", line, result.out);
  return parse_lines (result.out);
}

static int
count_runs (void)
{
  g_autofree char *path = g_build_filename (scratch, "p", "runs", NULL);
  g_autoptr (GDir) dir = g_dir_open (path, 0, NULL);
  int n = 0;
  while (dir != NULL && g_dir_read_name (dir) != NULL)
    n++;
  return n;
}

static void
test_agrees_with_train (void)
{
  static const char *const settings[] = { "",
                                          "--set data.source=nowhere",
                                          "--set train.loss=mse",
                                          "--set device.memory_limit_mb=1",
                                          "--set train.freeze=nothing*",
                                          "--set train.freeze=conv1*",
                                          "--set init.from=none.safetensors",
                                          "--set schedule.kind=warmup",
                                          "--set train.batch=1000",
                                          "--set train.batch=520",
                                          "--set model.preset=none",
                                          "--set model.preset=resnet18-cifar",
                                          "--set data.pad=7",
                                          "--set optimizer.lr=5",
                                          "--set data.validation=none" };
  for (guint i = 0; i < G_N_ELEMENTS (settings); i++)
    {
      int code;
      int before = count_runs ();
      g_autoptr (JsonNode) end = facts (settings[i], &code, NULL);
      g_assert_cmpint (count_runs (), ==, before); /* nothing was made */
      g_autofree char *line = g_strdup_printf ("train p %s --set train.max_steps=1", settings[i]);
      g_auto (Result) trained = run (line);
      g_test_message ("%s: %s", line, trained.err);
      g_assert_cmpint (code, ==, trained.exit_code);
      g_assert_cmpint (json_object_get_boolean_member (json_node_get_object (end), "ok"), ==, trained.exit_code == 0);
    }
}

static void
test_fix_mends (void)
{
  int code;
  g_autofree char *lines = NULL;
  g_autoptr (JsonNode) end = facts ("--set device.memory_limit_mb=4 --set train.batch=512", &code, &lines);
  g_assert_cmpint (code, ==, 1);
  g_auto (GStrv) rows = g_strsplit (lines, "\n", 2);
  g_autoptr (JsonNode) finding = parse_lines (rows[0]);
  g_assert_cmpstr (text_of (finding, "code"), ==, "memory");
  g_assert_cmpstr (text_of (finding, "setting"), ==, "train.batch");
  g_assert_cmpfloat (number_of (end, "largest_batch"), ==, g_ascii_strtod (text_of (finding, "fix"), NULL));
  g_autofree char *mended = g_strdup_printf ("--set device.memory_limit_mb=4 --set train.batch=%s", text_of (finding, "fix"));
  g_autoptr (JsonNode) good = facts (mended, &code, NULL);
  g_assert_cmpint (code, ==, 0);
}

/* Numbers by hand: 600 samples, 80 held out, batches of 32; LeNet-5 has 61,706 parameters. */
static void
test_facts (void)
{
  int code;
  g_autoptr (JsonNode) end = facts ("--set train.epochs=3", &code, NULL);
  g_assert_cmpint (code, ==, 0);
  g_assert_cmpfloat (number_of (end, "train_samples"), ==, 520);
  g_assert_cmpfloat (number_of (end, "held_out_samples"), ==, 80);
  g_assert_cmpfloat (number_of (end, "steps_per_epoch"), ==, 16);
  g_assert_cmpfloat (number_of (end, "total_steps"), ==, 48);
  g_assert_cmpfloat (number_of (end, "parameters"), ==, 61706);
  g_assert_cmpfloat (number_of (end, "data_bytes"), ==, 600 * (784 + 4));
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  make_scratch ();
  make_project ("p", NULL);
  g_test_add_func ("/cli/check/agrees-with-train", test_agrees_with_train);
  g_test_add_func ("/cli/check/its-fix-mends", test_fix_mends);
  g_test_add_func ("/cli/check/counts-what-there-is", test_facts);
  int status = g_test_run ();
  remove_tree (scratch);
  g_free (scratch);
  return status;
}
