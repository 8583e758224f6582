/* SPDX-License-Identifier: Apache-2.0 */
#include "selection.h"

static int n_signals;
static guint last_mask;

static void
changed_cb (TnSelection *selection, guint mask, gpointer data)
{
  n_signals++;
  last_mask = mask;
}

static void
flush (void)
{
  while (g_main_context_iteration (NULL, FALSE))
    ;
}

static void
test_coalesced (void)
{
  g_autoptr (TnSelection) selection = tn_selection_new ();
  n_signals = 0;
  g_signal_connect (selection, "changed", G_CALLBACK (changed_cb), NULL);
  tn_selection_set_range (selection, TN_SELECTION_STEPS, 40, 12);
  tn_selection_set_text (selection, TN_SELECTION_PARAMETER, "conv2.weight");
  tn_selection_set_range (selection, TN_SELECTION_RANK, 3, 3);
  g_assert_cmpint (n_signals, ==, 0);
  flush ();
  g_assert_cmpint (n_signals, ==, 1);
  g_assert_cmpuint (last_mask, ==, TN_SELECTION_STEPS | TN_SELECTION_PARAMETER | TN_SELECTION_RANK);
  tn_selection_set_range (selection, TN_SELECTION_RANK, 3, 3); /* nothing new */
  flush ();
  g_assert_cmpint (n_signals, ==, 1);
  gint64 first, last;
  g_assert_true (tn_selection_get_range (selection, TN_SELECTION_STEPS, &first, &last));
  g_assert_cmpint (first, ==, 12);
  g_assert_cmpint (last, ==, 40);
}

/* Esc takes the most recent part first. */
static void
test_latest (void)
{
  g_autoptr (TnSelection) selection = tn_selection_new ();
  tn_selection_set_text (selection, TN_SELECTION_RUN, "/a/runs/x");
  tn_selection_set_range (selection, TN_SELECTION_STEPS, 5, 5);
  g_assert_cmpint (tn_selection_latest (selection), ==, TN_SELECTION_STEPS);
  tn_selection_set_text (selection, TN_SELECTION_RUN, "/a/runs/y");
  g_assert_cmpint (tn_selection_latest (selection), ==, TN_SELECTION_RUN);
  tn_selection_clear (selection, tn_selection_latest (selection));
  g_assert_cmpint (tn_selection_latest (selection), ==, TN_SELECTION_STEPS);
  tn_selection_clear_all (selection);
  g_assert_cmpuint (tn_selection_parts (selection), ==, 0);
}

static void
test_round_trip (void)
{
  g_autoptr (TnSelection) a = tn_selection_new (), b = tn_selection_new ();
  tn_selection_set_text (a, TN_SELECTION_SAMPLE, "validation:17");
  tn_selection_set_range (a, TN_SELECTION_TIME, 5, 900);
  tn_selection_set_runs (a, (const char *const[]){ "/r/1", "/r/2", NULL });
  g_autoptr (GVariant) kept = g_variant_ref_sink (tn_selection_to_variant (a));
  tn_selection_from_variant (b, kept);
  g_autoptr (GVariant) again = g_variant_ref_sink (tn_selection_to_variant (b));
  g_assert_true (g_variant_equal (kept, again));
  g_autofree char *text = tn_selection_describe (b, TN_SELECTION_SAMPLE);
  g_assert_cmpstr (text, ==, "sample validation:17");
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/selection/changes-of-one-frame-are-one-signal", test_coalesced);
  g_test_add_func ("/selection/the-latest-part-goes-first", test_latest);
  g_test_add_func ("/selection/kept-and-read-again", test_round_trip);
  return g_test_run ();
}
