/* SPDX-License-Identifier: Apache-2.0 */
#include "data/loader.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"

/* Counting allocations: glibc lets a program's own malloc stand before its own. Not beside a sanitizer, which does the
 * same. */
#if defined(__GLIBC__) && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer) || __has_feature(memory_sanitizer)
#define NO_COUNTING
#endif
#endif
#ifndef NO_COUNTING
#define COUNTS_ALLOCATIONS
static int n_allocations;
extern void *__libc_malloc (size_t n);
extern void *__libc_calloc (size_t n, size_t size);
extern void *__libc_realloc (void *p, size_t n);

void *
malloc (size_t n)
{
  __atomic_fetch_add (&n_allocations, 1, __ATOMIC_RELAXED);
  return __libc_malloc (n);
}

void *
calloc (size_t n, size_t size)
{
  __atomic_fetch_add (&n_allocations, 1, __ATOMIC_RELAXED);
  return __libc_calloc (n, size);
}

void *
realloc (void *p, size_t n)
{
  __atomic_fetch_add (&n_allocations, 1, __ATOMIC_RELAXED);
  return __libc_realloc (p, n);
}
#endif
#endif

#define SIDE 3

/* Pictures (2, 3, 3) that tell who they are: the first two pixels spell the id, the others mix it. */
static TnDataset *
make_pictures (int64_t n)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (TnTensor) x = tn_tensor_new (TN_DTYPE_U8, TN_SHAPE (n, 2, SIDE, SIDE), &error);
  g_autoptr (TnTensor) y = tn_tensor_new (TN_DTYPE_I64, TN_SHAPE (n), &error);
  for (int64_t i = 0; i < n; i++)
    {
      uint8_t *p = (uint8_t *)tn_tensor_data (x) + i * 2 * SIDE * SIDE;
      for (int k = 0; k < 2 * SIDE * SIDE; k++)
        p[k] = (uint8_t)(k == 0 ? i & 255 : k == 1 ? i >> 8 : i * 31 + k * 17);
      ((int64_t *)tn_tensor_data (y))[i] = (i * 7) % 10;
    }
  TnDataset *dataset = tn_dataset_new_from_tensors (x, y, NULL, "test pictures", &error);
  g_assert_no_error (error);
  return dataset;
}

static TnDataset *
make_table (int64_t n)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (TnTensor) x = tn_tensor_new (TN_DTYPE_F32, TN_SHAPE (n, 4), &error);
  g_autoptr (TnTensor) y = tn_tensor_new (TN_DTYPE_F32, TN_SHAPE (n, 2), &error);
  for (int64_t i = 0; i < n * 4; i++)
    ((float *)tn_tensor_data (x))[i] = (float)i * 0.5f;
  for (int64_t i = 0; i < n * 2; i++)
    ((float *)tn_tensor_data (y))[i] = (float)-i;
  TnDataset *dataset = tn_dataset_new_from_tensors (x, y, NULL, "test table", &error);
  g_assert_no_error (error);
  return dataset;
}

static int64_t *
make_ids (int64_t n)
{
  int64_t *ids = g_new (int64_t, n);
  for (int64_t i = 0; i < n; i++)
    ids[i] = i * 3 + 1;
  return ids;
}

static TnLoader *
make_loader (TnDataset *dataset, int64_t n_ids, const TnLoaderOptions *options)
{
  g_autoptr (GError) error = NULL;
  g_autofree int64_t *ids = make_ids (n_ids);
  TnLoader *loader = tn_loader_new (dataset, ids, n_ids, options, &error);
  g_assert_no_error (error);
  return loader;
}

/* One line for each batch: where it stands and all that is in it. */
static GPtrArray *
take (TnLoader *loader, int n_batches)
{
  GPtrArray *lines = g_ptr_array_new_with_free_func (g_free);
  TnShape shape = tn_loader_sample_shape (loader);
  gsize n_x = (gsize)tn_shape_count (&shape);
  for (int i = 0; i < n_batches; i++)
    {
      g_autoptr (GError) error = NULL;
      int64_t epoch, step;
      tn_loader_tell (loader, &epoch, &step);
      TnBatch *batch = tn_loader_next (loader, &error);
      g_assert_no_error (error);
      if (!batch)
        break;
      g_assert_cmpint (batch->epoch, ==, epoch);
      g_assert_cmpint (batch->step_in_epoch, ==, step);
      g_autoptr (GChecksum) sum = g_checksum_new (G_CHECKSUM_MD5);
      g_checksum_update (sum, (guchar *)batch->x, (gssize)(sizeof (float) * n_x * (gsize)batch->n));
      g_checksum_update (sum, (guchar *)batch->ids, (gssize)(sizeof (int64_t) * (gsize)batch->n));
      g_checksum_update (sum, (guchar *)batch->labels, (gssize)(sizeof (int32_t) * (gsize)batch->n));
      g_ptr_array_add (lines,
                       g_strdup_printf ("%d/%d n %d %s %s", (int)batch->epoch, (int)batch->step_in_epoch, batch->n,
                                        batch->last_in_epoch ? "last" : "more", g_checksum_get_string (sum)));
      tn_loader_release (loader, batch);
    }
  return lines;
}

static void
test_same_stream (void)
{
  g_autoptr (TnDataset) dataset = make_pictures (400);
  for (int drop = 0; drop < 2; drop++)
    {
      TnLoaderOptions options = { .batch_size = 8, .shuffle = TRUE, .seed = 11, .drop_last = drop, .pad = 1 };
      g_autoptr (TnLoader) plain = make_loader (dataset, 101, &options); /* 12 batches and 5 samples */
      g_autoptr (GPtrArray) want = take (plain, 40);
      g_assert_cmpint (tn_loader_steps_per_epoch (plain), ==, drop ? 12 : 13);
      g_assert_cmpint (want->len, ==, 40);
      for (options.prefetch = 0; options.prefetch <= 5; options.prefetch += options.prefetch ? 3 : 2)
        {
          g_autoptr (TnLoader) loader = make_loader (dataset, 101, &options);
          g_autoptr (GPtrArray) got = take (loader, 40);
          for (guint i = 0; i < 40; i++)
            g_assert_cmpstr (got->pdata[i], ==, want->pdata[i]);
          /* Resumed at every position, also at an epoch's end as (epoch, steps). */
          int64_t per_epoch = tn_loader_steps_per_epoch (loader);
          for (int64_t at = 0; at < 36; at++)
            for (int end = 0; end < (at > 0 && at % per_epoch == 0 ? 2 : 1); end++)
              {
                tn_loader_seek (loader, at / per_epoch - end, end ? per_epoch : at % per_epoch);
                g_autoptr (GPtrArray) again = take (loader, 4);
                for (guint i = 0; i < 4; i++)
                  g_assert_cmpstr (again->pdata[i], ==, want->pdata[at + i]);
              }
        }
    }
}

/* PyTorch's ToTensor and Normalize give -0.4242129623 for a black and 2.8214867115 for a white pixel of MNIST. */
static void
test_mnist_constants (void)
{
  g_autoptr (GError) error = NULL;
  uint8_t pixels[2] = { 0, 255 };
  g_autoptr (TnTensor) x = tn_tensor_new_from (TN_DTYPE_U8, TN_SHAPE (1, 1, 2), pixels);
  g_autoptr (TnTensor) y = tn_tensor_new_from (TN_DTYPE_U8, TN_SHAPE (1), pixels);
  g_autoptr (TnDataset) dataset = tn_dataset_new_from_tensors (x, y, NULL, "two pixels", &error);
  TnLoaderOptions options = {
    .batch_size = 1, .normalise = TRUE, .n_channels = 1, .mean = { 0.1307f }, .std = { 0.3081f }
  };
  const int64_t id = 0;
  g_autoptr (TnLoader) loader = tn_loader_new (dataset, &id, 1, &options, &error);
  TnBatch *batch = tn_loader_next (loader, &error);
  g_assert_cmpfloat_with_epsilon (batch->x[0], -0.4242129623, 1e-7);
  g_assert_cmpfloat_with_epsilon (batch->x[1], 2.8214867115, 1e-6);
  tn_loader_release (loader, batch);
}

static void
check_picture (const float *x, int64_t id, int pad, const TnLoaderOptions *o)
{
  for (int c = 0; c < 2; c++)
    for (int row = -pad; row < SIDE + pad; row++)
      for (int column = -pad; column < SIDE + pad; column++)
        {
          int k = (c * SIDE + row) * SIDE + column;
          gboolean inside = row >= 0 && row < SIDE && column >= 0 && column < SIDE;
          int v = !inside ? 0 : k == 0 ? (int)id & 255 : k == 1 ? (int)id >> 8 : (uint8_t)(id * 31 + k * 17);
          double want = (double)v / 255;
          if (o->normalise)
            want = (want - (double)o->mean[o->n_channels > 1 ? c : 0]) / (double)o->std[o->n_channels > 1 ? c : 0];
          g_assert_cmpfloat (fabs ((double)*x - want), <=, 1e-6 * (1 + fabs (want)));
          x++;
        }
}

static void
test_pictures (void)
{
  g_autoptr (TnDataset) dataset = make_pictures (1000);
  static const TnLoaderOptions cases[] = {
    { .batch_size = 16, .n_epochs = 2 },
    { .batch_size = 16, .n_epochs = 2, .shuffle = TRUE, .pad = 2, .prefetch = 2 },
    { .batch_size = 1,
      .n_epochs = 1,
      .shuffle = TRUE,
      .normalise = TRUE,
      .n_channels = 1,
      .mean = { .5f },
      .std = { .25f },
      .pad = 1 },
    { .batch_size = 300,
      .n_epochs = 1,
      .shuffle = TRUE,
      .normalise = TRUE,
      .n_channels = 2,
      .mean = { .5f, .1f },
      .std = { .25f, .3f },
      .pad = 3,
      .prefetch = 2 },
  };
  for (gsize k = 0; k < G_N_ELEMENTS (cases); k++)
    {
      g_autoptr (TnLoader) loader = make_loader (dataset, 333, &cases[k]);
      g_autoptr (GError) error = NULL;
      TnShape shape = tn_loader_sample_shape (loader);
      int n_seen = 0, side = SIDE + 2 * cases[k].pad;
      g_assert_cmpint (tn_shape_count (&shape), ==, 2 * side * side);
      for (TnBatch *batch; (batch = tn_loader_next (loader, &error));)
        {
          for (int i = 0; i < batch->n; i++)
            {
              g_assert_cmpint (batch->ids[i] % 3, ==, 1);
              g_assert_cmpint (batch->labels[i], ==, (batch->ids[i] * 7) % 10);
              check_picture (batch->x + i * 2 * side * side, batch->ids[i], cases[k].pad, &cases[k]);
            }
          n_seen += batch->n;
          g_assert_cmpint (batch->n, ==,
                           batch->last_in_epoch ? 333 - (333 - 1) / cases[k].batch_size * cases[k].batch_size
                                                : cases[k].batch_size);
          tn_loader_release (loader, batch);
        }
      g_assert_no_error (error);
      g_assert_cmpint (n_seen, ==, 333 * cases[k].n_epochs);
    }
}

static void
test_tables (void)
{
  g_autoptr (TnDataset) dataset = make_table (100);
  TnLoaderOptions options = { .batch_size = 7,
                              .n_epochs = 1,
                              .shuffle = TRUE,
                              .prefetch = 2,
                              .normalise = TRUE,
                              .n_channels = 1,
                              .mean = { 2 },
                              .std = { 4 } };
  g_autoptr (TnLoader) loader = make_loader (dataset, 30, &options);
  g_autoptr (GError) error = NULL;
  int n_seen = 0;
  for (TnBatch *batch; (batch = tn_loader_next (loader, &error));)
    {
      g_assert_null (batch->labels);
      for (int i = 0; i < batch->n; i++, n_seen++)
        {
          for (int k = 0; k < 4; k++)
            g_assert_cmpfloat (batch->x[i * 4 + k], ==, ((float)(batch->ids[i] * 4 + k) * 0.5f - 2) / 4);
          for (int k = 0; k < 2; k++)
            g_assert_cmpfloat (batch->targets[i * 2 + k], ==, (float)-(batch->ids[i] * 2 + k));
        }
      tn_loader_release (loader, batch);
    }
  g_assert_cmpint (n_seen, ==, 30);
}

/* Drawn digits are drawn by the loader's thread; a second loader may be drawing the same ones. */
static void
test_two_loaders_over_drawn_digits (void)
{
  g_autoptr (TnDataset) dataset = tn_dataset_new_drawn_digits (600, 3);
  g_autoptr (TnDataset) fresh = tn_dataset_new_drawn_digits (600, 3);
  TnLoaderOptions options = { .batch_size = 10, .shuffle = TRUE, .prefetch = 2 };
  g_autoptr (TnLoader) a = make_loader (dataset, 200, &options), b = make_loader (dataset, 200, &options), c = NULL;
  g_autoptr (GPtrArray) from_a = take (a, 20), from_b = take (b, 20);
  options.prefetch = 0;
  c = make_loader (fresh, 200, &options);
  g_autoptr (GPtrArray) from_c = take (c, 20);
  for (guint i = 0; i < 20; i++)
    {
      g_assert_cmpstr (from_a->pdata[i], ==, from_c->pdata[i]);
      g_assert_cmpstr (from_b->pdata[i], ==, from_c->pdata[i]);
    }
}

static gpointer
stop_later (gpointer data)
{
  gpointer *arguments = data;
  g_usleep (GPOINTER_TO_UINT (arguments[1]));
  tn_loader_stop (arguments[0]);
  return NULL;
}

static void
test_stop_any_time (void)
{
  g_autoptr (TnDataset) dataset = make_pictures (1000);
  guint32 seed = g_test_rand_int_range (1, G_MAXINT32);
  g_autoptr (GRand) rand = g_rand_new_with_seed (seed);
  g_test_message ("seed %u", seed);
  for (int i = 0; i < 200; i++)
    {
      TnLoaderOptions options = { .batch_size = 4, .shuffle = TRUE, .prefetch = i % 4 };
      g_autoptr (TnLoader) loader = make_loader (dataset, 333, &options);
      g_autoptr (GError) error = NULL;
      gpointer arguments[] = { loader, GUINT_TO_POINTER (g_rand_int_range (rand, 0, 400)) };
      GThread *thread = g_thread_new ("stopper", stop_later, arguments);
      for (TnBatch *batch; (batch = tn_loader_next (loader, &error));)
        tn_loader_release (loader, batch);
      g_assert_error (error, TN_ERROR, TN_ERROR_CANCELLED);
      g_thread_join (thread);
      g_clear_error (&error);
      g_assert_null (tn_loader_next (loader, &error));
      g_assert_error (error, TN_ERROR, TN_ERROR_CANCELLED);
      /* A seek goes on. */
      tn_loader_seek (loader, 2, 5);
      g_autoptr (GPtrArray) lines = take (loader, 1);
      g_assert_true (g_str_has_prefix (lines->pdata[0], "2/5 n 4 more"));
    }
}

/* Freed with batches ready, half-way, never used: no waiting thread stays behind. */
static void
test_free_any_time (void)
{
  g_autoptr (TnDataset) dataset = make_pictures (1000);
  for (int i = 0; i < 60; i++)
    {
      TnLoaderOptions options = { .batch_size = 4, .prefetch = i % 3, .n_epochs = i % 2 };
      g_autoptr (TnLoader) loader = make_loader (dataset, 50, &options);
      g_autoptr (GPtrArray) lines = take (loader, i / 3);
      g_assert_cmpint (lines->len, ==, i % 2 ? MIN (i / 3, 13) : i / 3);
    }
}

static void
test_end_of_epochs (void)
{
  g_autoptr (TnDataset) dataset = make_pictures (100);
  for (int prefetch = 0; prefetch < 3; prefetch++)
    {
      TnLoaderOptions options = { .batch_size = 10, .prefetch = prefetch, .n_epochs = 2 };
      g_autoptr (TnLoader) loader = make_loader (dataset, 30, &options);
      g_autoptr (GPtrArray) lines = take (loader, 100);
      g_autoptr (GError) error = NULL;
      g_assert_cmpint (lines->len, ==, 6);
      g_assert_null (tn_loader_next (loader, &error));
      g_assert_no_error (error);
      tn_loader_seek (loader, 2, 0);
      g_assert_null (tn_loader_next (loader, &error));
      g_assert_no_error (error);
    }
}

static void
test_one_batch_at_a_time (void)
{
  g_autoptr (TnDataset) dataset = make_pictures (100);
  TnLoaderOptions options = { .batch_size = 10, .prefetch = 2 };
  g_autoptr (TnLoader) loader = make_loader (dataset, 30, &options);
  g_autoptr (GError) error = NULL;
  TnBatch *batch = tn_loader_next (loader, &error);
  g_assert_nonnull (batch);
  g_assert_null (tn_loader_next (loader, &error));
  g_assert_error (error, TN_ERROR, TN_ERROR_STATE);
  tn_loader_release (loader, batch);
}

static void
test_no_allocation_per_step (void)
{
#ifdef COUNTS_ALLOCATIONS
  g_autoptr (TnDataset) pictures = make_pictures (1000), table = make_table (1000),
                        drawn = tn_dataset_new_drawn_digits (1000, 1);
  TnDataset *const sets[] = { pictures, table, drawn };
  for (int k = 0; k < 6; k++)
    {
      TnLoaderOptions options = {
        .batch_size = 16, .shuffle = TRUE, .prefetch = k < 3 ? 2 : 0, .normalise = TRUE, .n_channels = 1, .std = { 1 }
      };
      g_autoptr (TnLoader) loader = make_loader (sets[k % 3], 333, &options);
      tn_loader_release (loader, tn_loader_next (loader, NULL));
      int before = __atomic_load_n (&n_allocations, __ATOMIC_RELAXED);
      for (int i = 0; i < 100; i++) /* into the fifth epoch: orders are shuffled on the way */
        tn_loader_release (loader, tn_loader_next (loader, NULL));
      g_assert_cmpint (__atomic_load_n (&n_allocations, __ATOMIC_RELAXED) - before, ==, 0);
    }
  int before = __atomic_load_n (&n_allocations, __ATOMIC_RELAXED);
  g_free (g_malloc (10));
  g_assert_cmpint (__atomic_load_n (&n_allocations, __ATOMIC_RELAXED) - before, ==, 1);
#else
  g_test_skip ("allocations cannot be counted in this build");
#endif
}

static void
test_options_that_do_not_fit (void)
{
  g_autoptr (TnDataset) pictures = make_pictures (100), table = make_table (100);
  const struct
  {
    TnDataset *dataset;
    TnLoaderOptions options;
    const char *word;
  } cases[] = {
    { pictures, { .batch_size = 0 }, "batch" },
    { pictures, { .batch_size = 1, .prefetch = -1 }, "prefetch" },
    { pictures, { .batch_size = 31, .drop_last = TRUE }, "fewer samples" },
    { table, { .batch_size = 1, .pad = 1 }, "padded" },
    { pictures, { .batch_size = 1, .pad = -1 }, "padded" },
    { pictures, { .batch_size = 1, .normalise = TRUE, .n_channels = 3, .std = { 1, 1, 1 } }, "channel" },
    { pictures, { .batch_size = 1, .normalise = TRUE, .n_channels = 1, .std = { 0 } }, "std" },
    { pictures, { .batch_size = 1, .normalise = TRUE, .n_channels = 1, .mean = { NAN }, .std = { 1 } }, "std" },
  };
  g_autofree int64_t *ids = make_ids (30);
  for (gsize k = 0; k < G_N_ELEMENTS (cases); k++)
    {
      g_autoptr (GError) error = NULL;
      g_assert_null (tn_loader_new (cases[k].dataset, ids, 30, &cases[k].options, &error));
      g_assert_error (error, TN_ERROR, TN_ERROR_INVALID_ARGUMENT);
      g_assert_nonnull (strstr (error->message, cases[k].word));
    }
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/data/loader/same-stream-with-any-prefetch-and-from-any-position", test_same_stream);
  g_test_add_func ("/data/loader/ids-travel-with-pictures-padded-and-normalised", test_pictures);
  g_test_add_func ("/data/loader/normalises-as-pytorch-does", test_mnist_constants);
  g_test_add_func ("/data/loader/tables-and-targets", test_tables);
  g_test_add_func ("/data/loader/two-loaders-over-drawn-digits", test_two_loaders_over_drawn_digits);
  g_test_add_func ("/data/loader/stops-at-any-time", test_stop_any_time);
  g_test_add_func ("/data/loader/freed-at-any-time", test_free_any_time);
  g_test_add_func ("/data/loader/ends-after-its-epochs", test_end_of_epochs);
  g_test_add_func ("/data/loader/one-batch-at-a-time", test_one_batch_at_a_time);
  g_test_add_func ("/data/loader/no-allocation-per-step", test_no_allocation_per_step);
  g_test_add_func ("/data/loader/options-that-do-not-fit-are-refused", test_options_that_do_not_fit);
  return g_test_run ();
}
