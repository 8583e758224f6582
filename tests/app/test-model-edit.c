/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "base/json.h"
#include "model-edit.h"
#include "nn/cell.h"
#include "nn/model.h"

static JsonNode *
preset (const char *name)
{
  return tn_json_parse (tn_model_preset (name), -1, NULL);
}

static TnModelReport *
report_of (JsonNode *root)
{
  return tn_model_report_new (root, NULL, NULL);
}

/* 61,706 and 150 + 6: LeCun et al. 1998 with full connections, by hand. */
static void
lenet5_has_61706_parameters (void)
{
  g_autoptr (JsonNode) root = preset ("lenet5");
  g_autoptr (TnModelReport) report = report_of (root);
  g_assert_null (report->error);
  g_assert_cmpint (report->trained, ==, 61706);
  g_assert_cmpint (report->bytes, ==, 61706 * 4);
  const TnCellReport *conv1 = tn_model_report_cell (report, "cells[0]"), *fc3 = tn_model_report_cell (report, "cells[11]");
  g_assert_cmpint (conv1->parameters, ==, 156);
  g_assert_cmpint (conv1->bytes, ==, 6 * 28 * 28 * 4);
  g_autofree char *shape = tn_model_shape_text (&conv1->output);
  g_assert_cmpstr (shape, ==, "6×28×28");
  g_assert_cmpint (fc3->parameters, ==, 850);
  for (int cell = 0; cell <= 3; cell += 3)
    {
      g_autofree char *path = g_strdup_printf ("cells[%d]", cell);
      g_free (tn_model_edit_set_option (root, path, "has_bias", json_node_init_boolean (json_node_alloc (), FALSE)));
    }
  g_autoptr (TnModelReport) bare = report_of (root);
  g_assert_cmpint (bare->trained, ==, 61684);
}

static void
a_kernel_that_does_not_fit_names_both_and_mends (void)
{
  g_autoptr (JsonNode) root = preset ("lenet5");
  g_autoptr (TnModelReport) before = report_of (root);
  tn_model_edit_state_sizes (root, before);
  g_autoptr (TnModelReport) stated = report_of (root);
  g_assert_null (stated->error);
  g_free (tn_model_edit_set_option (root, "cells[3]", "kernel", json_node_init_int (json_node_alloc (), 9)));
  g_autoptr (TnModelReport) broken = report_of (root);
  /* 14 - 9 + 1 = 6, pooled 3: 16 x 3 x 3 = 144. */
  g_assert_cmpstr (broken->error, ==, "fc1 expects 400 inputs, pool2 gives 144.");
  g_assert_cmpstr (broken->error_path, ==, "cells[7]");
  g_assert_cmpstr (broken->fix_option, ==, "in_channels");
  g_assert_cmpint (broken->fix_value, ==, 144);
  g_free (tn_model_edit_set_option (root, broken->error_path, broken->fix_option, json_node_init_int (json_node_alloc (), broken->fix_value)));
  g_autoptr (TnModelReport) mended = report_of (root);
  g_assert_null (mended->error);
}

static char *
names_of (JsonNode *root)
{
  JsonArray *cells = json_object_get_array_member (json_node_get_object (root), "cells");
  g_autoptr (GString) names = g_string_new (NULL);
  for (guint i = 0; i < json_array_get_length (cells); i++)
    g_string_append_printf (names, "%s ", json_object_get_string_member (json_array_get_object_element (cells, i), "name"));
  return g_string_free (g_steal_pointer (&names), FALSE);
}

static void
cells_are_added_moved_and_removed (void)
{
  g_autoptr (JsonNode) root = preset ("mlp");
  g_autofree char *added = tn_model_edit_add (root, "cells[0]", "ReLU");
  g_assert_cmpstr (added, ==, "cells[1]");
  g_autofree char *names = names_of (root);
  g_assert_cmpstr (names, ==, "flatten relu3 fc1 relu1 fc2 relu2 fc3 ");
  g_autofree char *down = tn_model_edit_move (root, added, 2);
  g_assert_cmpstr (down, ==, "cells[3]");
  g_autofree char *moved = names_of (root);
  g_assert_cmpstr (moved, ==, "flatten fc1 relu1 relu3 fc2 relu2 fc3 ");
  g_autofree char *up = tn_model_edit_move (root, down, -1);
  g_assert_cmpstr (up, ==, "cells[2]");
  g_assert_null (tn_model_edit_move (root, "cells[0]", -1));
  g_autofree char *copy = tn_model_edit_duplicate (root, "cells[1]");
  g_autofree char *copied = names_of (root);
  g_assert_cmpstr (copied, ==, "flatten fc1 fc4 relu3 relu1 fc2 relu2 fc3 ");
  g_free (tn_model_edit_remove (root, copy));
  g_free (tn_model_edit_remove (root, "cells[2]"));
  g_autofree char *last = names_of (root);
  g_assert_cmpstr (last, ==, "flatten fc1 relu1 fc2 relu2 fc3 ");
  g_assert_null (tn_model_edit_remove (root, "cells[99]"));
  g_assert_null (tn_model_edit_remove (root, "cells[0].body[0]"));
}

/* Every class of the table can be put behind every preset's first cell: it builds or says why. */
static void
every_kind_of_cell_can_be_added (void)
{
  for (int i = 0; tn_cell_class_at (i) != NULL; i++)
    {
      g_autoptr (JsonNode) root = preset ("resnet18-cifar");
      g_autofree char *path = tn_model_edit_add (root, "cells[0]", tn_cell_class_at (i)->name);
      g_assert_cmpstr (path, ==, "cells[1]");
      g_autoptr (TnModelReport) report = report_of (root);
      g_assert_true (report->error == NULL || *report->error != '\0');
      g_assert_nonnull (tn_model_report_cell (report, path));
    }
}

static void
freeze_says_exactly_what_is_frozen (void)
{
  const char *const all[] = { "conv1.weight", "conv1.bias", "conv2.weight", "fc1.weight", NULL };
  static const struct
  {
    const char *old, *frozen, *expected;
  } cases[] = { { "", "", "" },
                { "conv1.*", "conv1.weight conv1.bias", "conv1.*" },
                { "conv1.*", "conv1.weight conv1.bias fc1.weight", "conv1.*,fc1.weight" },
                { "conv1.*", "conv1.bias", "conv1.bias" },
                { "*", "conv1.weight conv2.weight", "conv1.weight,conv2.weight" },
                { " gone.* , conv2.weight", "conv2.weight", "conv2.weight" } };
  for (size_t i = 0; i < G_N_ELEMENTS (cases); i++)
    {
      g_auto (GStrv) frozen = *cases[i].frozen != '\0' ? g_strsplit (cases[i].frozen, " ", -1) : g_new0 (char *, 1);
      g_autofree char *text = tn_model_freeze_text (cases[i].old, all, (const char *const *) frozen);
      g_assert_cmpstr (text, ==, cases[i].expected);
    }
}

/* The text that was copied is the cell as the model's text has it; pasted it stands after the cursor under a name of its own. */
static void
a_copied_layer_can_be_pasted (void)
{
  g_autoptr (JsonNode) root = preset ("lenet5");
  g_autoptr (GError) error = NULL;
  g_autofree char *text = tn_model_edit_copy (root, "cells[3]");
  g_autofree char *path = tn_model_edit_paste (root, "cells[4]", text, &error);
  g_assert_no_error (error);
  g_assert_cmpstr (path, ==, "cells[5]");
  JsonObject *pasted = tn_model_edit_find (root, "cells[5]"), *original = tn_model_edit_find (root, "cells[3]");
  g_assert_cmpstr (json_object_get_string_member (pasted, "type"), ==, "Conv2d");
  g_assert_cmpstr (json_object_get_string_member (pasted, "name"), ==, "conv3");
  g_assert_cmpint (json_object_get_int_member (pasted, "out_channels"), ==, json_object_get_int_member (original, "out_channels"));
  json_object_set_int_member (pasted, "out_channels", 99); /* the two share nothing */
  g_assert_cmpint (json_object_get_int_member (original, "out_channels"), ==, 16);
  g_autofree char *list = tn_model_edit_paste (root, NULL, "[{\"type\": \"ReLU\"}, {\"type\": \"ReLU\"}]", &error);
  g_assert_no_error (error);
  g_autofree char *second = g_strdup (list);
  g_assert_nonnull (tn_model_edit_find (root, list));
  g_assert_cmpstr (json_object_get_string_member (tn_model_edit_find (root, second), "type"), ==, "ReLU");
}

static void
what_is_no_layer_is_not_pasted (void)
{
  static const char *const texts[] = { "hello", "3", "{}", "{\"type\": \"Convolution9d\"}", "[{\"type\": \"ReLU\"}, 4]", "{\"type\": 5}" };
  g_autoptr (JsonNode) root = preset ("lenet5");
  g_autofree char *before = tn_json_to_text (root, 0);
  for (guint i = 0; i < G_N_ELEMENTS (texts); i++)
    {
      g_autoptr (GError) error = NULL;
      g_assert_null (tn_model_edit_paste (root, NULL, texts[i], &error));
      g_assert_nonnull (error);
      g_autofree char *after = tn_json_to_text (root, 0);
      g_assert_cmpstr (after, ==, before);
    }
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/app/model/lenet5-has-61706-parameters", lenet5_has_61706_parameters);
  g_test_add_func ("/app/model/a-kernel-that-does-not-fit-names-both-and-mends", a_kernel_that_does_not_fit_names_both_and_mends);
  g_test_add_func ("/app/model/cells-are-added-moved-and-removed", cells_are_added_moved_and_removed);
  g_test_add_func ("/app/model/every-kind-of-cell-can-be-added", every_kind_of_cell_can_be_added);
  g_test_add_func ("/app/model/freeze-says-exactly-what-is-frozen", freeze_says_exactly_what_is_frozen);
  g_test_add_func ("/app/model/copied-layer-can-be-pasted", a_copied_layer_can_be_pasted);
  g_test_add_func ("/app/model/what-is-no-layer-is-not-pasted", what_is_no_layer_is_not_pasted);
  return g_test_run ();
}
