/* SPDX-License-Identifier: Apache-2.0 */
#include <float.h>
#include <locale.h>
#include <math.h>
#include <string.h>

#include "base/error.h"
#include "base/json.h"

static void
assert_refused (const char *text, gssize n, const char *where)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (JsonNode) node = tn_json_parse (text, n, &error);
  if (node != NULL)
    g_test_message ("accepted: %s", text);
  g_assert_null (node);
  g_assert_error (error, TN_ERROR, TN_ERROR_PARSE);
  if (!g_str_has_prefix (error->message, where))
    g_test_message ("%s -> %s", text, error->message);
  g_assert_true (g_str_has_prefix (error->message, where));
}

static void
test_errors_have_line_and_column (void)
{
  assert_refused ("", -1, "line 1, column 1:");
  assert_refused ("{\n  \"a\": 1,\n  \"b\": tru\n}", -1, "line 3, column 8:");
  assert_refused ("{\"ä\": ä}", -1, "line 1, column 7:"); /* characters, not bytes */
  assert_refused ("{\"a\": 1} x", -1, "line 1, column 10:");
  assert_refused ("[1, 2] [3]", -1, "line 1, column 8:");
  assert_refused ("{\"a\": 1, \"a\": 2}", -1, "line 1, column 10:");
  assert_refused ("{\"a\": 1, \"\\u0061\": 2}", -1, "line 1, column 10:");
  assert_refused ("[1,]", -1, "line 1, column 4:");
  assert_refused ("{\"a\": 1,}", -1, "line 1, column 9:");
  assert_refused ("{'a': 1}", -1, "line 1, column 2:");
  assert_refused ("[1 2]", -1, "line 1, column 4:");
  assert_refused ("[01]", -1, "line 1, column 2:");
  assert_refused ("[1.]", -1, "line 1, column 4:");
  assert_refused ("[.5]", -1, "line 1, column 2:");
  assert_refused ("[+5]", -1, "line 1, column 2:");
  assert_refused ("[NaN]", -1, "line 1, column 2:");
  assert_refused ("[Infinity]", -1, "line 1, column 2:");
  assert_refused ("[1e999]", -1, "line 1, column 2:");
  assert_refused ("[0x10]", -1, "line 1, column 3:");
  assert_refused ("// x\n1", -1, "line 1, column 1:");
  assert_refused ("/* x */ 1", -1, "line 1, column 1:");
  assert_refused ("\"abc", -1, "line 1, column 1:");
  assert_refused ("\"a\nb\"", -1, "line 1, column 1:");
  assert_refused ("\"a\tb\"", -1, "line 1, column 3:");
  assert_refused ("\"\\x\"", -1, "line 1, column 2:");
  assert_refused ("\"\\u12g4\"", -1, "line 1, column 6:");
  assert_refused ("\"\\ud800\"", -1, "line 1, column 2:");
  assert_refused ("\"\\ud800\\u0041\"", -1, "line 1, column 2:");
  assert_refused ("\"\\udc00\"", -1, "line 1, column 2:");
  assert_refused ("\"\\u0000\"", -1, "line 1, column 2:");
  assert_refused ("[1, \"\xff\"]", -1, "line 1, column 6:");
  assert_refused ("[1,\0 2]", 7, "line 1, column 4:");
  assert_refused ("[nul", -1, "line 1, column 2:");
  assert_refused ("{", -1, "line 1, column 2:");
  assert_refused ("[", -1, "line 1, column 2:");
  assert_refused ("{\"a\"", -1, "line 1, column 5:");
  assert_refused ("-", -1, "line 1, column 2:");
}

static void
test_nesting (void)
{
  for (int open = 0; open < 2; open++)
    {
      const char *begin = open ? "{\"a\":" : "[";
      for (int depth = 200; depth <= 201; depth++)
        {
          g_autoptr (GString) text = g_string_new (NULL);
          for (int i = 0; i < depth; i++)
            g_string_append (text, begin);
          g_string_append_c (text, '1');
          for (int i = 0; i < depth; i++)
            g_string_append_c (text, open ? '}' : ']');
          g_autoptr (GError) error = NULL;
          g_autoptr (JsonNode) node = tn_json_parse (text->str, -1, &error);
          g_assert_true ((node != NULL) == (depth == 200));
        }
    }
  g_autofree char *deep = g_strnfill (5000000, '[');
  assert_refused (deep, -1, "line 1, column 201:");
}

static void
test_values (void)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (JsonNode) node = tn_json_parse ("\xef\xbb\xbf {\"i\": -9223372036854775808, \"big\": 18446744073709551616, \"d\": 1e3, "
                                             "\"z\": -0, \"s\": \"\\u00e4\\ud83d\\ude00\\n\\/\", \"t\": true, \"n\": null, \"l\": [1, 2, 3]} ",
                                             -1, &error);
  g_assert_no_error (error);
  JsonObject *o = json_node_get_object (node);
  gint64 i = 0;
  double d = 0;
  gboolean b = FALSE;
  const char *s = NULL;
  g_assert_true (tn_json_get_int (o, "i", G_MININT64, G_MAXINT64, &i, "", &error));
  g_assert_cmpint (i, ==, G_MININT64);
  g_assert_true (tn_json_get_double (o, "big", 0, DBL_MAX, &d, "", &error));
  g_assert_cmpfloat (d, ==, 0x1p64);
  g_assert_true (tn_json_get_int (o, "d", 0, 2000, &i, "", &error));
  g_assert_cmpint (i, ==, 1000);
  g_assert_true (tn_json_get_double (o, "z", -1, 1, &d, "", &error));
  g_assert_true (d == 0 && signbit (d));
  g_assert_true (tn_json_get_string (o, "s", &s, "", &error));
  g_assert_cmpstr (s, ==, "ä😀\n/");
  g_assert_true (tn_json_get_bool (o, "t", &b, "", &error) && b);
  i = 77;
  g_assert_true (tn_json_opt_int (o, "n", 0, 1, &i, "", &error));
  g_assert_true (tn_json_opt_int (o, "absent", 0, 1, &i, "", &error));
  g_assert_cmpint (i, ==, 77);
  gint64 list[4];
  int n;
  g_assert_true (tn_json_get_ints (o, "l", 0, 9, list, 4, &n, "", &error));
  g_assert_cmpint (n, ==, 3);
  g_assert_false (tn_json_get_ints (o, "l", 0, 9, list, 2, &n, "", NULL));
}

static void
assert_message (GError **error, int code, const char *prefix)
{
  g_assert_error (*error, TN_ERROR, code);
  if (!g_str_has_prefix ((*error)->message, prefix))
    g_test_message ("%s", (*error)->message);
  g_assert_true (g_str_has_prefix ((*error)->message, prefix));
  g_clear_error (error);
}

static void
test_getters_name_path_and_value (void)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (JsonNode) node = tn_json_parse ("{\"kernel\": 0, \"name\": 5, \"pad\": \"same\", \"x\": 1.5, \"sizes\": [3, true]}", -1, NULL);
  JsonObject *o = json_node_get_object (node);
  gint64 i = 42;
  const char *s;
  int n;
  g_assert_false (tn_json_get_int (o, "kernel", 1, 11, &i, "cells[3]", &error));
  g_assert_cmpint (i, ==, 42);
  assert_message (&error, TN_ERROR_INVALID_ARGUMENT, "cells[3].kernel: 0 is out of range; 1 to 11");
  g_assert_false (tn_json_get_int (o, "pad", 1, 11, &i, "", &error));
  assert_message (&error, TN_ERROR_INVALID_ARGUMENT, "pad: \"same\" is not a whole number");
  g_assert_false (tn_json_get_int (o, "x", 1, 11, &i, "", &error));
  assert_message (&error, TN_ERROR_INVALID_ARGUMENT, "x: 1.5 is not a whole number");
  g_assert_false (tn_json_get_string (o, "name", &s, NULL, &error));
  assert_message (&error, TN_ERROR_INVALID_ARGUMENT, "name: 5 is not a text");
  g_assert_false (tn_json_get_int (o, "stride", 1, 11, &i, "a.b", &error));
  assert_message (&error, TN_ERROR_NOT_FOUND, "a.b.stride: missing");
  g_assert_false (tn_json_get_ints (o, "sizes", 0, 9, (gint64[4]){ 0 }, 4, &n, "c", &error));
  assert_message (&error, TN_ERROR_INVALID_ARGUMENT, "c.sizes[1]: true is not");
  static const char *const known[] = { "kernel_size", "name", "pad", "x", "sizes", NULL };
  g_assert_false (tn_json_check_members (o, known, "cells[3]", &error));
  g_assert_nonnull (strstr (error->message, "kernel_size"));
  assert_message (&error, TN_ERROR_INVALID_ARGUMENT, "cells[3].kernel: unknown name; did you mean");
}

static void
test_text_round_trips (void)
{
  static const char text[] = "{\n  \"b\": 1,\n  \"a\": [1, 2.5, true],\n  \"s\": [\n    \"q\\\"\\\\\\n\\u0001\",\n    {}\n  ],\n"
                             "  \"d\": 1.0,\n  \"t\": 0.1,\n  \"n\": null,\n  \"e\": [],\n  \"m\": 1e+300\n}\n";
  g_autoptr (JsonNode) node = tn_json_parse (text, -1, NULL);
  g_autofree char *again = tn_json_to_text (node, 2);
  g_assert_cmpstr (again, ==, text);
  g_autofree char *line = tn_json_to_text (node, 0);
  g_assert_null (strchr (line, '\n'));
  g_autoptr (JsonNode) reread = tn_json_parse (line, -1, NULL);
  g_autofree char *third = tn_json_to_text (reread, 2);
  g_assert_cmpstr (third, ==, text);
}

static void
test_doubles_are_exact (void)
{
  guint32 seed = g_test_rand_int ();
  g_test_message ("seed %u", seed);
  g_autoptr (GRand) rand = g_rand_new_with_seed (seed);
  for (int locale = 0; locale < 2; locale++)
    {
      if (locale == 1 && setlocale (LC_ALL, "de_DE.UTF-8") == NULL)
        break; /* not installed here: the C locale was checked */
      for (int round = 0; round < 20000; round++)
        {
          uint64_t bits = (uint64_t) g_rand_int (rand) << 32 | g_rand_int (rand);
          double value, back;
          memcpy (&value, &bits, 8);
          g_autofree char *hex = tn_hex_double (value);
          g_assert_true (tn_hex_double_parse (hex, &back));
          if (isnan (value))
            g_assert_true (isnan (back));
          else
            g_assert_cmpmem (&back, 8, &value, 8);
          g_assert_null (strchr (hex, ','));
          if (isfinite (value))
            {
              char text[G_ASCII_DTOSTR_BUF_SIZE];
              back = g_ascii_strtod (tn_double_to_text (value, text), NULL);
              g_assert_cmpmem (&back, 8, &value, 8);
              g_assert_null (strchr (text, ','));
            }
        }
    }
  setlocale (LC_ALL, "C");
  g_autofree char *half = tn_hex_double (3);
  g_assert_cmpstr (half, ==, "0x1.8p+1");
  double out;
  g_assert_false (tn_hex_double_parse ("", &out));
  g_assert_false (tn_hex_double_parse (" 1", &out));
  g_assert_false (tn_hex_double_parse ("1 ", &out));
  g_assert_false (tn_hex_double_parse ("1,5", &out));
}

static void
test_int64_strings (void)
{
  g_autoptr (JsonObject) o = json_object_new ();
  int64_t back = 0;
  double d = 0;
  tn_json_set_int64_string (o, "step", G_MAXINT64);
  tn_json_set_hex_double (o, "scale", 0x1.23456789abcdep-7);
  g_assert_cmpstr (json_object_get_string_member (o, "step"), ==, "9223372036854775807");
  g_assert_true (tn_json_get_int64_string (o, "step", &back, "", NULL));
  g_assert_cmpint (back, ==, G_MAXINT64);
  g_assert_true (tn_json_get_hex_double (o, "scale", &d, "", NULL));
  g_assert_cmpfloat (d, ==, 0x1.23456789abcdep-7);
  json_object_set_string_member (o, "step", "12x");
  g_assert_false (tn_json_get_int64_string (o, "step", &back, "", NULL));
}

static void
test_did_you_mean (void)
{
  static const char *const names[] = { "train.batch", "train.epochs", "optimizer.lr", "momentum", NULL };
  g_assert_cmpuint (tn_levenshtein ("kitten", "sitting"), ==, 3);
  g_assert_cmpuint (tn_levenshtein ("", "abc"), ==, 3);
  g_assert_cmpuint (tn_levenshtein ("ä", "a"), ==, 1);
  g_assert_cmpstr (tn_did_you_mean ("train.bacth", names), ==, "train.batch");
  g_assert_cmpstr (tn_did_you_mean ("Batch", names), ==, "train.batch");
  g_assert_cmpstr (tn_did_you_mean ("mom", names), ==, "momentum");
  g_assert_null (tn_did_you_mean ("something.else", names));
  g_assert_null (tn_did_you_mean ("\xff\xfe", names));
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/base/json/errors-have-line-and-column", test_errors_have_line_and_column);
  g_test_add_func ("/base/json/nesting-over-200-is-refused", test_nesting);
  g_test_add_func ("/base/json/values", test_values);
  g_test_add_func ("/base/json/getters-name-path-and-value", test_getters_name_path_and_value);
  g_test_add_func ("/base/json/text-round-trips", test_text_round_trips);
  g_test_add_func ("/base/json/doubles-are-exact", test_doubles_are_exact);
  g_test_add_func ("/base/json/int64-as-strings", test_int64_strings);
  g_test_add_func ("/base/json/did-you-mean", test_did_you_mean);
  return g_test_run ();
}
