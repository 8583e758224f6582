/* SPDX-License-Identifier: Apache-2.0 */
#include "data/shuffle.h"

#include <string.h>

/* Every id exactly once: sorted, they are the ids again. */
static int
compare_ids (const void *a, const void *b)
{
  int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
  return (x > y) - (x < y);
}

static void
test_is_a_bijection (void)
{
  static const int64_t sizes[] = { 1, 2, 3, 10, 31, 1000, 4097 };
  guint32 seed = g_test_rand_int_range (1, G_MAXINT32);
  g_test_message ("seed %u", seed);
  for (gsize k = 0; k < G_N_ELEMENTS (sizes); k++)
    {
      int64_t n = sizes[k];
      g_autofree int64_t *ids = g_new (int64_t, n), *sorted = g_new (int64_t, n);
      for (int64_t i = 0; i < n; i++)
        ids[i] = 7 + 3 * i; /* not 0..n-1: the held-out ids are missing */
      g_autoptr (TnShuffle) shuffle = tn_shuffle_new (ids, n, TRUE, seed);
      g_assert_cmpint (tn_shuffle_n (shuffle), ==, n);
      for (int64_t epoch = 0; epoch < 20; epoch++)
        {
          memcpy (sorted, tn_shuffle_order (shuffle, epoch), sizeof *ids * (gsize)n);
          qsort (sorted, (size_t)n, sizeof *sorted, compare_ids);
          g_assert_cmpmem (sorted, sizeof *ids * (gsize)n, ids, sizeof *ids * (gsize)n);
        }
    }
}

static void
test_depends_on_seed_and_epoch_only (void)
{
  int64_t ids[500];
  for (int i = 0; i < 500; i++)
    ids[i] = i;
  g_autoptr (TnShuffle) one = tn_shuffle_new (ids, 500, TRUE, 42);
  g_autoptr (TnShuffle) same = tn_shuffle_new (ids, 500, TRUE, 42);
  g_autoptr (TnShuffle) other = tn_shuffle_new (ids, 500, TRUE, 43);
  int64_t first[500];
  memcpy (first, tn_shuffle_order (one, 5), sizeof first);

  /* Asked for in another order, after other epochs. */
  tn_shuffle_order (same, 9);
  tn_shuffle_order (same, 0);
  g_assert_cmpmem (tn_shuffle_order (same, 5), sizeof first, first, sizeof first);
  tn_shuffle_order (one, 6);
  g_assert_cmpmem (tn_shuffle_order (one, 5), sizeof first, first, sizeof first);
  g_assert_cmpint (memcmp (tn_shuffle_order (one, 6), first, sizeof first), !=, 0);
  g_assert_cmpint (memcmp (tn_shuffle_order (other, 5), first, sizeof first), !=, 0);
}

/* Where sample 0 goes is uniform over 10 places: chi-square with 9 degrees of freedom is over 33.7 once in 10,000
 * times; the seed is fixed, so this passes always or never. */
static void
test_places_are_uniform (void)
{
  int64_t ids[10];
  int counts[10] = { 0 };
  double chi2 = 0;
  for (int i = 0; i < 10; i++)
    ids[i] = i;
  g_autoptr (TnShuffle) shuffle = tn_shuffle_new (ids, 10, TRUE, 1);
  for (int64_t epoch = 0; epoch < 10000; epoch++)
    {
      const int64_t *order = tn_shuffle_order (shuffle, epoch);
      for (int i = 0; i < 10; i++)
        counts[i] += order[i] == 0;
    }
  for (int i = 0; i < 10; i++)
    chi2 += (counts[i] - 1000.) * (counts[i] - 1000.) / 1000.;
  g_test_message ("chi-square %.1f", chi2);
  g_assert_cmpfloat (chi2, <, 33.7);
}

static void
test_unshuffled_keeps_order (void)
{
  const int64_t ids[] = { 5, 3, 9 };
  g_autoptr (TnShuffle) shuffle = tn_shuffle_new (ids, 3, FALSE, 42);
  for (int64_t epoch = 0; epoch < 3; epoch++)
    g_assert_cmpmem (tn_shuffle_order (shuffle, epoch), sizeof ids, ids, sizeof ids);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/data/shuffle/every-epoch-is-a-bijection", test_is_a_bijection);
  g_test_add_func ("/data/shuffle/order-depends-on-seed-and-epoch-only", test_depends_on_seed_and_epoch_only);
  g_test_add_func ("/data/shuffle/places-are-uniform", test_places_are_uniform);
  g_test_add_func ("/data/shuffle/unshuffled-keeps-order", test_unshuffled_keeps_order);
  return g_test_run ();
}
