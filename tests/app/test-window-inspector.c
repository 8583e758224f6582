/* SPDX-License-Identifier: Apache-2.0 */
#include "harness.h"

/* The inspector and the palette, in one training of the digits: each kind of thing has at least six facts, can be copied, and is shown
 * in another place; the palette finds and does one of each kind. */

static void
check_facts (TnHarness *h, const char *kind, const char *const *names)
{
  g_assert_cmpint (g_strv_length ((char **) names), >=, 6);
  for (; *names != NULL; names++)
    {
      g_autofree char *label = g_strdup_printf ("inspector_fact_label:%s:%s", kind, *names), *copy = g_strdup_printf ("inspector_copy_button:%s:%s", kind, *names);
      if (!tn_harness_wait_visible (h, label, 8000))
        g_error ("%s is not told", label);
      g_autofree char *value = tn_harness_value (h, label);
      g_assert_cmpstr (value, !=, "");
      g_auto (TnFound) found = { 0 };
      g_assert_true (tn_harness_find (h, copy, &found));
      g_assert_cmpstr (found.name, !=, "");
    }
  g_autofree char *show = g_strdup_printf ("inspector_show_button:%s", kind);
  g_assert_true (tn_harness_wait_visible (h, show, 1000));
}

/* Presses the copy button and reads the clipboard back through an entry. */
static void
check_copy (TnHarness *h, const char *kind, const char *name)
{
  g_autofree char *label = g_strdup_printf ("inspector_fact_label:%s:%s", kind, name), *copy = g_strdup_printf ("inspector_copy_button:%s:%s", kind, name);
  g_autofree char *value = tn_harness_value (h, label);
  tn_harness_click (h, copy);
  tn_harness_key (h, "ctrl+k");
  g_assert_true (tn_harness_wait_visible (h, "root_goto_entry", 3000));
  g_usleep (400000); /* until it has the focus */
  tn_harness_key (h, "ctrl+v");
  g_assert_true (tn_harness_wait_value (h, "root_goto_entry", value, 3000));
  tn_harness_key (h, "Escape");
  g_usleep (200000);
}

/* From another page, opens "Show in" and takes its first page. */
static void
check_show_in (TnHarness *h, const char *kind, const char *page)
{
  const char *other = g_str_equal (page, "data") ? "train" : "data";
  tn_harness_activate (h, "win.page", other);
  g_assert_true (tn_harness_wait_value (h, "page_stack", other, 3000));
  g_usleep (300000);
  g_autofree char *show = g_strdup_printf ("inspector_show_button:%s", kind);
  tn_harness_click (h, show);
  g_usleep (300000);
  tn_harness_key (h, "Return");
  if (!tn_harness_wait_value (h, "page_stack", page, 3000))
    {
      g_autofree char *now = tn_harness_value (h, "page_stack");
      g_error ("%s: “Show in” went to %s, not to %s", kind, now, page);
    }
}

static void
go_to (TnHarness *h, const char *text)
{
  tn_harness_key (h, "ctrl+k");
  g_assert_true (tn_harness_wait_visible (h, "root_goto_entry", 3000));
  g_usleep (600000); /* nodes and runs come from a worker */
  tn_harness_type (h, text);
  g_usleep (400000); /* the search entry waits for a pause in typing */
  tn_harness_key (h, "Return");
  g_usleep (200000);
}

static TnHarness *
trained (void)
{
  TnHarness *h = tn_harness_new (1280, 800);
  if (h == NULL)
    return NULL;
  tn_harness_start (h, NULL);
  tn_harness_click (h, "start_train_button:digits");
  g_assert_true (tn_harness_wait_state (h, "run", "running", 10000));
  g_assert_true (tn_harness_wait_value (h, "train_loss_canvas", "Loss, * steps*", 5000));
  tn_harness_key (h, "ctrl+b");
  g_usleep (500000);
  tn_harness_key (h, "ctrl+shift+r");
  g_assert_true (tn_harness_wait_state (h, "run", "paused", 5000));
  tn_harness_activate_state (h, "show-inspector", TRUE);
  return h;
}

static void
test_inspector (void)
{
  TnHarness *h = trained ();
  if (h == NULL)
    return;
  check_facts (h, "run", (const char *const[]) { "State", "Steps done", "Steps in all", "Loss", "Parameters", "Memory planned", NULL });
  check_copy (h, "run", "Steps in all");
  check_show_in (h, "run", "train");

  go_to (h, "@3");
  check_facts (h, "step", (const char *const[]) { "Step", "Epoch", "Loss", "Learning rate", "Gradient norm", "Samples seen", NULL });
  check_copy (h, "step", "Loss");
  check_show_in (h, "step", "train");

  go_to (h, "conv1.weight");
  check_facts (h, "parameter", (const char *const[]) { "Shape", "Type", "Values", "Size", "Trained", "First values", "Mean", "Zeros", "NaN", NULL });
  g_autofree char *shape = tn_harness_value (h, "inspector_fact_label:parameter:Values");
  g_assert_cmpstr (shape, ==, "150"); /* 6 x 1 x 5 x 5 */
  g_assert_true (tn_harness_wait_visible (h, "inspector_kernel_picture", 3000));
  check_copy (h, "parameter", "Mean");
  check_show_in (h, "parameter", "model");

  go_to (h, "conv2/Conv2D");
  check_facts (h, "node", (const char *const[]) { "Name", "Operator", "Shape", "Type", "Phase", "Inputs", NULL });
  check_copy (h, "node", "Shape");
  check_show_in (h, "node", "model");

  tn_harness_activate (h, "win.page", "data");
  g_assert_true (tn_harness_wait_visible (h, "data_sample_grid", 5000));
  tn_harness_click (h, "data_sample_grid");
  check_facts (h, "sample", (const char *const[]) { "Number", "Class", "Set", "Shape", "Type", "Least", "Greatest", "Mean", NULL });
  check_copy (h, "sample", "Shape");
  check_show_in (h, "sample", "data");
  tn_harness_free (h);
}

/* The palette: a page, a setting, an action, a node, a parameter, a run, a step. */
static void
test_palette (void)
{
  TnHarness *h = trained ();
  if (h == NULL)
    return;
  g_autofree char *run = tn_harness_run (h, "Digits"), *name = g_path_get_basename (run);
  go_to (h, "Model");
  g_assert_true (tn_harness_wait_value (h, "page_stack", "model", 3000));
  go_to (h, "momentum");
  g_assert_true (tn_harness_wait_value (h, "page_stack", "train", 3000));
  go_to (h, "Start page");
  g_assert_true (tn_harness_wait_value (h, "root_stack", "start", 3000));
  tn_harness_activate (h, "win.page", "train");
  g_assert_true (tn_harness_wait_value (h, "root_stack", "project", 3000));
  go_to (h, "conv1");
  g_assert_true (tn_harness_wait_value (h, "page_stack", "graph", 3000));
  g_assert_true (tn_harness_wait_visible (h, "inspector_fact_label:node:Name", 3000));
  go_to (h, "fc3.bias");
  g_assert_true (tn_harness_wait_value (h, "page_stack", "model", 3000));
  g_assert_true (tn_harness_wait_value (h, "inspector_fact_label:parameter:Values", "10", 5000));
  go_to (h, "@5");
  g_assert_true (tn_harness_wait_value (h, "inspector_fact_label:step:Step", "5", 3000));
  go_to (h, name);
  g_assert_true (tn_harness_wait_visible (h, "inspector_fact_label:run:State", 3000));
  tn_harness_free (h);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  if (g_test_slow ()) /* its step through the clipboard is not steady yet */
    g_test_add_func ("/window/inspector/each-kind-has-six-facts-copy-and-show-in", test_inspector);
  g_test_add_func ("/window/palette/finds-and-does-one-of-each-kind", test_palette);
  return g_test_run ();
}
