/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "base/error.h"
#include "base/json.h"
#include "base/settings.h"

/* Each row's default is legal and in its normal form, names and aliases are unique, help is one sentence. */
static void
test_table_is_consistent (void)
{
  g_autoptr (GHashTable) names = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, NULL);
  g_autoptr (TnSettings) settings = tn_settings_new ();
  int n = 0;
  for (const TnSetting *row = tn_settings; row->name != NULL; row++, n++)
    {
      g_autoptr (GError) error = NULL;
      g_test_message ("%s", row->name);
      g_assert_true (g_hash_table_add (names, g_strdup (row->name)));
      g_auto (GStrv) aliases = g_strsplit (row->aliases != NULL ? row->aliases : "", " ", -1);
      for (int i = 0; aliases[i] != NULL && *aliases[i] != '\0'; i++)
        g_assert_true (g_hash_table_add (names, g_strdup (aliases[i])));
      g_assert_true (tn_settings_set (settings, row->name, row->default_value, &error));
      g_assert_no_error (error);
      g_assert_cmpstr (tn_settings_get_text (settings, row->name), ==, row->default_value);
      g_assert_true (g_str_has_suffix (row->help, "."));
      g_assert_nonnull (row->unit);
      g_assert_nonnull (strchr (row->name, '.'));
    }
  g_assert_cmpint (n, >=, 40); /* the loop did not end early */
}

static void
test_defaults (void)
{
  g_autoptr (TnSettings) s = tn_settings_new ();
  g_assert_cmpint (tn_settings_get_int (s, "train.batch"), ==, 32);
  g_assert_cmpint (tn_settings_get_int (s, "train.epochs"), ==, 1);
  g_assert_cmpint (tn_settings_get_int (s, "data.pad"), ==, -1);
  g_assert_cmpfloat (tn_settings_get_float (s, "optimizer.lr"), ==, 0.01);
  g_assert_cmpfloat (tn_settings_get_float (s, "data.normalize_std"), ==, 0.3081);
  g_assert_true (tn_settings_get_bool (s, "data.drop_last"));
  g_assert_false (tn_settings_get_bool (s, "optimizer.nesterov"));
  g_assert_true (tn_settings_enum_is (s, "init.preset", "mindspore2"));
  g_assert_cmpint (tn_settings_get_enum (s, "optimizer.kind"), ==, 0);
  g_assert_cmpstr (tn_settings_get_string (s, "data.validation"), ==, "last:10%");
  g_assert_false (tn_settings_is_set (s, "train.batch"));
}

static void
test_values_are_normalized (void)
{
  g_autoptr (TnSettings) s = tn_settings_new ();
  g_assert_true (tn_settings_set (s, "train.batch", "064", NULL));
  g_assert_cmpstr (tn_settings_get_text (s, "train.batch"), ==, "64");
  g_assert_true (tn_settings_set (s, "optimizer.lr", "1E-2", NULL));
  g_assert_cmpstr (tn_settings_get_text (s, "optimizer.lr"), ==, "0.01");
  g_assert_true (tn_settings_set (s, "data.shuffle", "OFF", NULL));
  g_assert_cmpstr (tn_settings_get_text (s, "data.shuffle"), ==, "false");
  g_assert_true (tn_settings_set (s, "optimizer.kind", "Adam", NULL));
  g_assert_cmpstr (tn_settings_get_text (s, "optimizer.kind"), ==, "adam");
  g_assert_true (tn_settings_set (s, "batch_size", "8", NULL)); /* MindSpore's name */
  g_assert_cmpint (tn_settings_get_int (s, "train.batch"), ==, 8);
  g_assert_true (tn_settings_set_assignment (s, "init.from=a=b.safetensors", NULL));
  g_assert_cmpstr (tn_settings_get_string (s, "init.from"), ==, "a=b.safetensors");
  tn_settings_reset (s, "train.batch");
  g_assert_cmpint (tn_settings_get_int (s, "train.batch"), ==, 32);
}

static void
assert_refused (const char *name, const char *value, int code, const char *part)
{
  g_autoptr (TnSettings) s = tn_settings_new ();
  g_autoptr (GError) error = NULL;
  g_assert_false (tn_settings_set (s, name, value, &error));
  g_assert_error (error, TN_ERROR, code);
  if (strstr (error->message, part) == NULL)
    g_test_message ("%s", error->message);
  g_assert_nonnull (strstr (error->message, part));
}

static void
test_bad_values_are_refused (void)
{
  assert_refused ("train.batch", "0", TN_ERROR_INVALID_ARGUMENT, "1 .. 1048576");
  assert_refused ("train.batch", "-3", TN_ERROR_INVALID_ARGUMENT, "train.batch");
  assert_refused ("train.batch", "3.5", TN_ERROR_INVALID_ARGUMENT, "3.5");
  assert_refused ("train.batch", "", TN_ERROR_INVALID_ARGUMENT, "train.batch");
  assert_refused ("train.batch", "99999999999999999999", TN_ERROR_INVALID_ARGUMENT, "train.batch");
  assert_refused ("optimizer.lr", "nan", TN_ERROR_INVALID_ARGUMENT, "optimizer.lr");
  assert_refused ("optimizer.lr", "inf", TN_ERROR_INVALID_ARGUMENT, "optimizer.lr");
  assert_refused ("optimizer.lr", "0,1", TN_ERROR_INVALID_ARGUMENT, "0,1");
  assert_refused ("optimizer.kind", "adm", TN_ERROR_INVALID_ARGUMENT, "did you mean “adam”");
  assert_refused ("data.shuffle", "maybe", TN_ERROR_INVALID_ARGUMENT, "true or false");
  assert_refused ("data.validation", "first:5", TN_ERROR_INVALID_ARGUMENT, "last:10000");
  assert_refused ("init.from", "a\nb", TN_ERROR_INVALID_ARGUMENT, "init.from");
  assert_refused ("init.from", "\xff", TN_ERROR_INVALID_ARGUMENT, "UTF-8");
  assert_refused ("train.bacth", "5", TN_ERROR_NOT_FOUND, "did you mean “train.batch”");
  assert_refused ("batch", "5", TN_ERROR_NOT_FOUND, "did you mean “train.batch”");
}

static void
test_json_nested_and_dotted (void)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (TnSettings) s = tn_settings_new ();
  g_autoptr (JsonNode) node = tn_json_parse ("{\"train\": {\"batch\": 64}, \"optimizer.lr\": 0.1, \"data\": {\"shuffle\": false},"
                                             " \"model\": {\"cells\": []}, \"optimizer\": {\"momentum\": 1}}", -1, &error);
  static const char *const skip[] = { "model", NULL };
  g_assert_true (tn_settings_from_json (s, json_node_get_object (node), skip, &error));
  g_assert_no_error (error);
  g_assert_cmpint (tn_settings_get_int (s, "train.batch"), ==, 64);
  g_assert_cmpfloat (tn_settings_get_float (s, "optimizer.lr"), ==, 0.1);
  g_assert_false (tn_settings_get_bool (s, "data.shuffle"));

  /* All or nothing. */
  g_autoptr (JsonNode) bad = tn_json_parse ("{\"train\": {\"batch\": 16, \"epochs\": \"two\"}}", -1, NULL);
  g_assert_false (tn_settings_from_json (s, json_node_get_object (bad), NULL, &error));
  g_assert_error (error, TN_ERROR, TN_ERROR_INVALID_ARGUMENT);
  g_assert_nonnull (strstr (error->message, "train.epochs: \"two\""));
  g_assert_cmpint (tn_settings_get_int (s, "train.batch"), ==, 64);
}

static void
test_json_round_trip (void)
{
  g_autoptr (TnSettings) s = tn_settings_new ();
  g_autoptr (TnSettings) back = tn_settings_new ();
  g_assert_true (tn_settings_set (s, "optimizer.lr", "0.1", NULL));
  g_assert_true (tn_settings_set (s, "train.seed", "9007199254740991", NULL) == FALSE); /* out of its range */
  g_assert_true (tn_settings_set (s, "train.seed", "8999999999999999", NULL));
  g_assert_true (tn_settings_set (s, "train.batch", "32", NULL)); /* the default: not written */
  g_assert_true (tn_settings_set (s, "data.source", "/data/ä \"q\"", NULL));
  g_autoptr (JsonNode) node = json_node_new (JSON_NODE_OBJECT);
  json_node_take_object (node, tn_settings_to_json (s, FALSE));
  g_autofree char *text = tn_json_to_text (node, 0);
  g_assert_cmpstr (text, ==, "{\"data\": {\"source\": \"/data/ä \\\"q\\\"\"}, \"train\": {\"seed\": 8999999999999999}, \"optimizer\": {\"lr\": 0.1}}");
  g_autoptr (JsonNode) read = tn_json_parse (text, -1, NULL);
  g_assert_true (tn_settings_from_json (back, json_node_get_object (read), NULL, NULL));
  g_autofree const char **names = tn_settings_diff (s, back);
  g_assert_null (names[0]);

  g_autoptr (JsonNode) all = json_node_new (JSON_NODE_OBJECT);
  json_node_take_object (all, tn_settings_to_json (s, TRUE));
  g_autoptr (TnSettings) full = tn_settings_new ();
  g_autoptr (GError) error = NULL;
  g_assert_true (tn_settings_from_json (full, json_node_get_object (all), NULL, &error));
  g_assert_no_error (error);
  g_autofree const char **none = tn_settings_diff (s, full);
  g_assert_null (none[0]);
}

static void
test_diff_and_copy (void)
{
  g_autoptr (TnSettings) a = tn_settings_new ();
  g_assert_true (tn_settings_set (a, "train.batch", "64", NULL));
  g_autoptr (TnSettings) b = tn_settings_copy (a);
  g_assert_true (tn_settings_set (b, "train.batch", "32", NULL));
  g_assert_true (tn_settings_set (b, "data.seed", "5", NULL));
  g_assert_cmpint (tn_settings_get_int (a, "train.batch"), ==, 64);
  g_autofree const char **names = tn_settings_diff (a, b);
  g_assert_cmpstr (names[0], ==, "data.seed");
  g_assert_cmpstr (names[1], ==, "train.batch");
  g_assert_null (names[2]);
}

static void
test_validation_rules (void)
{
  TnValidationRule rule;
  g_assert_true (tn_validation_rule_parse ("none", &rule, NULL) && rule.kind == TN_VALIDATION_NONE);
  g_assert_true (tn_validation_rule_parse ("last:10000", &rule, NULL));
  g_assert_true (rule.kind == TN_VALIDATION_LAST_COUNT && rule.count == 10000);
  g_assert_true (tn_validation_rule_parse ("last:12.5%", &rule, NULL));
  g_assert_true (rule.kind == TN_VALIDATION_LAST_PERCENT && rule.percent == 12.5);
  g_assert_true (tn_validation_rule_parse ("hash:10%", &rule, NULL) && rule.kind == TN_VALIDATION_HASH_PERCENT);
  static const char *const bad[] = { "", "last", "last:", "last:0", "last:-5", "last:0%", "last:100%", "last:5%%", "hash:10", "hash:nan%", "last: 5", "LAST:5" };
  for (gsize i = 0; i < G_N_ELEMENTS (bad); i++)
    g_assert_false (tn_validation_rule_parse (bad[i], &rule, NULL));
}

static void
test_table_as_text_and_json (void)
{
  g_autofree char *text = tn_settings_to_text ();
  g_autoptr (JsonNode) json = tn_settings_table_to_json ();
  JsonArray *rows = json_node_get_array (json);
  for (guint i = 0; i < json_array_get_length (rows); i++)
    {
      const char *name = json_object_get_string_member (json_array_get_object_element (rows, i), "name");
      g_assert_cmpstr (name, ==, tn_settings[i].name);
      g_assert_nonnull (strstr (text, name));
    }
  g_assert_null (tn_settings[json_array_get_length (rows)].name);
  g_assert_nonnull (strstr (text, "may change during a run"));
}

static void
test_group_is_an_object (void)
{
  static const char *const texts[] = { "{\"train\": []}", "{\"train\": 3}", "{\"checkpoint\": null}" };
  for (gsize i = 0; i < G_N_ELEMENTS (texts); i++)
    {
      g_autoptr (GError) error = NULL;
      g_autoptr (JsonNode) node = tn_json_parse (texts[i], -1, &error);
      g_autoptr (TnSettings) settings = tn_settings_new ();
      g_assert_false (tn_settings_from_json (settings, json_node_get_object (node), NULL, &error));
      g_assert_error (error, TN_ERROR, TN_ERROR_INVALID_ARGUMENT);
      g_assert_nonnull (strstr (error->message, "an object of settings"));
    }
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/base/settings/table-is-consistent", test_table_is_consistent);
  g_test_add_func ("/base/settings/defaults", test_defaults);
  g_test_add_func ("/base/settings/values-are-normalized", test_values_are_normalized);
  g_test_add_func ("/base/settings/bad-values-are-refused", test_bad_values_are_refused);
  g_test_add_func ("/base/settings/json-nested-and-dotted", test_json_nested_and_dotted);
  g_test_add_func ("/base/settings/json-round-trip", test_json_round_trip);
  g_test_add_func ("/base/settings/diff-and-copy", test_diff_and_copy);
  g_test_add_func ("/base/settings/group-is-an-object", test_group_is_an_object);
  g_test_add_func ("/base/settings/validation-rules", test_validation_rules);
  g_test_add_func ("/base/settings/table-as-text-and-json", test_table_as_text_and_json);
  return g_test_run ();
}
