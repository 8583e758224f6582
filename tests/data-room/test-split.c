/* SPDX-License-Identifier: Apache-2.0 */
#include "data/split.h"

#include <string.h>

#include "base/error.h"

static const char *const rules[] = { "none",     "last:1",   "last:7",   "last:10%", "last:33.3%",
                                     "last:99%", "hash:10%", "hash:50%", "hash:90%" };

static void
test_disjoint_and_complete (void)
{
  for (gsize k = 0; k < G_N_ELEMENTS (rules); k++)
    for (int64_t n = 100; n <= 1003; n += 301)
      {
        g_autoptr (GError) error = NULL;
        g_autofree uint8_t *seen = g_malloc0 ((gsize)n);
        g_autoptr (TnSplit) split = tn_split_new (rules[k], n, &error);
        g_assert_no_error (error);
        g_assert_cmpint (split->n_train + split->n_held_out, ==, n);
        for (int part = 0; part < 2; part++)
          {
            const int64_t *ids = part ? split->held_out : split->train;
            int64_t n_ids = part ? split->n_held_out : split->n_train;
            for (int64_t i = 0; i < n_ids; i++)
              {
                g_assert_true (ids[i] >= 0 && ids[i] < n && (i == 0 || ids[i] > ids[i - 1]));
                g_assert_cmpint (seen[ids[i]]++, ==, 0);
              }
          }
      }
}

/* By hand from what the rules say. */
static void
test_sizes (void)
{
  static const struct
  {
    const char *rule;
    int64_t n, held_out;
  } cases[] = { { "none", 5, 0 },      { "last:2", 5, 2 },    { "last:10%", 60000, 6000 },
                { "last:10%", 14, 1 }, { "last:10%", 16, 2 }, { "last:0.5%", 1000, 5 } };
  for (gsize k = 0; k < G_N_ELEMENTS (cases); k++)
    {
      g_autoptr (TnSplit) split = tn_split_new (cases[k].rule, cases[k].n, NULL);
      g_assert_cmpint (split->n_held_out, ==, cases[k].held_out);
      for (int64_t i = 0; i < split->n_held_out; i++)
        g_assert_cmpint (split->held_out[i], ==, cases[k].n - cases[k].held_out + i);
    }
}

static void
test_hash_keeps_sides (void)
{
  g_autoptr (TnSplit) small = tn_split_new ("hash:20%", 10000, NULL);
  g_autoptr (TnSplit) large = tn_split_new ("hash:20%", 15000, NULL);
  g_assert_cmpmem (small->held_out, sizeof (int64_t) * (gsize)small->n_held_out, large->held_out,
                   sizeof (int64_t) * (gsize)small->n_held_out);
  g_assert_cmpint (large->held_out[small->n_held_out], >=, 10000);
  /* 2,000 expected, five standard deviations (sqrt (10000 * 0.2 * 0.8) = 40) allowed. */
  g_assert_cmpint (ABS (small->n_held_out - 2000), <, 200);
}

static void
test_nothing_left_is_refused (void)
{
  static const struct
  {
    const char *rule;
    int64_t n;
  } cases[] = { { "last:10", 10 }, { "last:11", 10 }, { "last:99%", 10 }, { "last:1%", 10 }, { "hash:1%", 1 },
                { "last:1", 1 },   { "none", 0 },     { "last:1", 0 },    { "hash:50%", 0 } };
  for (gsize k = 0; k < G_N_ELEMENTS (cases); k++)
    {
      g_autoptr (GError) error = NULL;
      g_assert_null (tn_split_new (cases[k].rule, cases[k].n, &error));
      g_assert_error (error, TN_ERROR, TN_ERROR_INVALID_ARGUMENT);
      g_assert_nonnull (strstr (error->message, cases[k].rule));
    }
}

static void
test_no_rules (void)
{
  static const char *const bad[] = {
    "",          "last",      "last:",       "last:0",   "last:-1",  "last:0%",
    "last:100%", "last:nan%", "last:1e999%", "last:5 %", "last:5%%", "hash:10",
    "hash:",     "none ",     "LAST:5",      "first:5",  "last: 5",  "last:99999999999999999999",
    "hash:-5%",  "last:10%x"
  };
  for (gsize k = 0; k < G_N_ELEMENTS (bad); k++)
    {
      g_autoptr (GError) error = NULL, again = NULL;
      g_assert_false (tn_split_check_rule (bad[k], &error));
      g_assert_error (error, TN_ERROR, TN_ERROR_INVALID_ARGUMENT);
      g_assert_nonnull (strstr (error->message, "last:10%"));
      g_assert_null (tn_split_new (bad[k], 100, &again));
    }
  for (gsize k = 0; k < G_N_ELEMENTS (rules); k++)
    g_assert_true (tn_split_check_rule (rules[k], NULL));
}

/* Random sets against an array of flags; every form of the text reads back as itself. */
static void
test_id_ranges_against_flags (void)
{
  enum { N = 60 };
  guint32 seed = g_test_rand_int ();
  g_test_message ("seed %u", seed);
  g_autoptr (GRand) rand = g_rand_new_with_seed (seed);
  for (int round = 0; round < 200; round++)
    {
      gboolean flags[N] = { FALSE };
      g_autoptr (TnIdRanges) ranges = tn_id_ranges_parse ("", NULL);
      for (int edit = 0; edit < 12; edit++)
        {
          int first = g_rand_int_range (rand, 0, N), last = g_rand_int_range (rand, first, MIN (N, first + 8));
          gboolean add = g_rand_boolean (rand);
          if (add)
            tn_id_ranges_add (ranges, first, last);
          else
            tn_id_ranges_remove (ranges, first, last);
          for (int id = first; id <= last; id++)
            flags[id] = add;
        }
      int64_t count = 0;
      for (int id = 0; id < N; id++)
        {
          g_assert_cmpint (tn_id_ranges_contains (ranges, id), ==, flags[id]);
          count += flags[id];
        }
      g_assert_cmpint (tn_id_ranges_count (ranges), ==, count);
      g_autofree char *text = tn_id_ranges_to_text (ranges);
      g_autoptr (TnIdRanges) again = tn_id_ranges_parse (text, NULL);
      g_autofree char *text_again = tn_id_ranges_to_text (again);
      g_assert_cmpstr (text, ==, text_again);
    }
}

static void
test_id_ranges_text (void)
{
  static const char *const good[][2] = { { "", "" }, { "3", "3" }, { " 5, 3 , 4 ", "3-5" }, { "200-210,3,17,205-220", "3,17,200-220" }, { "7-7", "7" } };
  for (gsize i = 0; i < G_N_ELEMENTS (good); i++)
    {
      g_autoptr (TnIdRanges) ranges = tn_id_ranges_parse (good[i][0], NULL);
      g_autofree char *text = tn_id_ranges_to_text (ranges);
      g_assert_cmpstr (text, ==, good[i][1]);
    }
  for (const char *const *bad = (const char *const[]) { "a", "3,,4", "3,", "-1", "9-3", "1-2-3", "1.5", "99999999999999999999", NULL }; *bad != NULL; bad++)
    {
      g_autoptr (GError) error = NULL;
      g_assert_null (tn_id_ranges_parse (*bad, &error));
      g_assert_error (error, TN_ERROR, TN_ERROR_INVALID_ARGUMENT);
    }
}

static void
test_excluded_samples_leave_others_where_they_are (void)
{
  for (gsize k = 0; k < G_N_ELEMENTS (rules); k++)
    {
      g_autoptr (GError) error = NULL;
      g_autoptr (TnSplit) whole = tn_split_new (rules[k], 500, NULL), split = tn_split_new (rules[k], 500, NULL);
      g_autoptr (TnIdRanges) excluded = tn_id_ranges_parse ("0,17,200-230,480-490,9999", NULL);
      g_assert_true (tn_split_exclude (split, excluded, &error));
      g_assert_no_error (error);
      int64_t at = 0;
      for (int64_t i = 0; i < whole->n_train; i++)
        if (!tn_id_ranges_contains (excluded, whole->train[i]))
          g_assert_cmpint (split->train[at++], ==, whole->train[i]);
      g_assert_cmpint (at, ==, split->n_train);
      at = 0;
      for (int64_t i = 0; i < whole->n_held_out; i++)
        if (!tn_id_ranges_contains (excluded, whole->held_out[i]))
          g_assert_cmpint (split->held_out[at++], ==, whole->held_out[i]);
      g_assert_cmpint (at, ==, split->n_held_out);
    }
}

static void
test_excluding_all_is_refused (void)
{
  static const char *const sets[] = { "0-89", "90-99", "0-99" };
  for (gsize i = 0; i < G_N_ELEMENTS (sets); i++)
    {
      g_autoptr (GError) error = NULL;
      g_autoptr (TnSplit) split = tn_split_new ("last:10%", 100, NULL);
      g_autoptr (TnIdRanges) excluded = tn_id_ranges_parse (sets[i], NULL);
      g_assert_false (tn_split_exclude (split, excluded, &error));
      g_assert_error (error, TN_ERROR, TN_ERROR_INVALID_ARGUMENT);
      g_assert_cmpint (split->n_train, ==, 90);
      g_assert_cmpint (split->n_held_out, ==, 10);
    }
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/data/split/disjoint-and-complete", test_disjoint_and_complete);
  g_test_add_func ("/data/split/sizes", test_sizes);
  g_test_add_func ("/data/split/hash-keeps-sides-when-samples-are-added", test_hash_keeps_sides);
  g_test_add_func ("/data/split/nothing-left-is-refused", test_nothing_left_is_refused);
  g_test_add_func ("/data/split/what-is-no-rule-is-refused", test_no_rules);
  g_test_add_func ("/data/id-ranges/against-flags", test_id_ranges_against_flags);
  g_test_add_func ("/data/id-ranges/text-has-one-form", test_id_ranges_text);
  g_test_add_func ("/data/split/excluded-samples-leave-others-where-they-are", test_excluded_samples_leave_others_where_they_are);
  g_test_add_func ("/data/split/excluding-all-is-refused", test_excluding_all_is_refused);
  return g_test_run ();
}
