/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>

#include "support.h"
#include "train/answers.h"

/* What a run answers while it learns. The held-out samples of the small project are 160 to 199. */

static char *scratch;

static char *
watching_run (const char *name)
{
  g_autoptr (GString) list = g_string_new ("watch.samples=1000000");
  for (int id = 160; id < 200; id++)
    g_string_append_printf (list, ",%d", id);
  const char *const more[] = { list->str, "optimizer.lr=0.05", "train.epochs=4", NULL };
  return small_run (scratch, name, more);
}

/* The share of right answers is the accuracy that the validation of the same step found, by another way. */
static void
test_agree_with_validation (void)
{
  g_autofree char *run = watching_run ("agree");
  g_autoptr (GError) error = NULL;
  train_ok (run, NULL, NULL);
  g_autoptr (GPtrArray) all = tn_answers_read (run, &error);
  g_assert_no_error (error);
  g_assert_cmpuint (all->len, ==, 4);
  g_autoptr (TnTfeventsRows) rows = tn_tfevents_read_folder (run, NULL, NULL);
  for (guint a = 0; a < all->len; a++)
    {
      const TnAnswers *answers = all->pdata[a];
      int correct = 0, n_rows = 0;
      g_assert_cmpint (answers->step, ==, 20 * (a + 1));
      g_assert_cmpuint (answers->n, ==, 40); /* sample 1000000 does not exist */
      g_assert_cmpuint (answers->width, ==, 10);
      g_assert_true (answers->classes);
      for (guint i = 0; i < answers->n; i++)
        {
          const float *row = answers->values + i * answers->width;
          double sum = 0;
          guint best = 0;
          for (guint k = 0; k < answers->width; k++)
            {
              sum += (double) row[k];
              best = row[k] > row[best] ? k : best;
            }
          g_assert_cmpfloat_with_epsilon (sum, 1, 1e-5);
          g_assert_cmpint (answers->ids[i], ==, 160 + i);
          correct += (gint32) best == answers->labels[i];
        }
      for (guint i = 0; i < rows->rows->len; i++)
        {
          const TnTfeventsRow *row = &g_array_index (rows->rows, TnTfeventsRow, i);
          if (row->kind == TN_TFEVENTS_SCALAR && strcmp (row->tag, "validation/accuracy") == 0 && row->step == answers->step - 1)
            {
              g_assert_cmpfloat_with_epsilon (row->value, correct / 40.0, 1e-6);
              n_rows++;
            }
        }
      g_assert_cmpint (n_rows, ==, 1);
    }
}

static void
test_resumed_answers_equal (void)
{
  g_autofree char *whole = watching_run ("whole"), *cut = watching_run ("cut");
  train_ok (whole, NULL, NULL);
  train_ok (cut, "train.max_steps", "50"); /* a checkpoint at 50 of its own */
  g_autofree char *folder = g_build_filename (cut, "checkpoints", NULL), *last = tn_checkpoint_step_path (folder, 50);
  remove_tree (last); /* back to 40: the answers of 50 are of a past that did not hold */
  train_ok (cut, "train.max_steps", "0");
  g_autoptr (GPtrArray) a = tn_answers_read (whole, NULL), b = tn_answers_read (cut, NULL);
  g_assert_cmpuint (a->len, ==, b->len);
  for (guint i = 0; i < a->len; i++)
    {
      const TnAnswers *x = a->pdata[i], *y = b->pdata[i];
      g_assert_cmpint (x->step, ==, y->step);
      g_assert_cmpmem (x->values, x->n * x->width * sizeof (float), y->values, y->n * y->width * sizeof (float));
    }
}

static void
test_damaged_lines_are_passed (void)
{
  g_autofree char *run = watching_run ("damaged"), *file = g_build_filename (run, "answers.jsonl", NULL), *text = NULL;
  g_autoptr (GError) error = NULL;
  gsize n;
  train_ok (run, NULL, NULL);
  g_assert_true (g_file_get_contents (file, &text, &n, &error));
  g_autoptr (GRand) random = g_rand_new_with_seed (7);
  for (int i = 0; i < 300; i++)
    {
      g_autofree char *copy = g_memdup2 (text, n);
      copy[g_rand_int_range (random, 0, (gint32) n)] ^= (char) (1 << g_rand_int_range (random, 0, 8));
      gsize cut = i % 2 == 0 ? n : (gsize) g_rand_int_range (random, 0, (gint32) n);
      g_assert_true (g_file_set_contents (file, copy, (gssize) cut, &error));
      g_autoptr (GPtrArray) all = tn_answers_read (run, &error);
      g_assert_no_error (error);
      g_assert_cmpuint (all->len, <=, 5);
    }
}

static void
test_validation_adds_up (void)
{
  g_autofree char *run = watching_run ("validation");
  g_autoptr (GError) error = NULL;
  train_ok (run, NULL, NULL);
  g_autoptr (TnValidation) found = tn_validation_read (run, &error);
  g_assert_no_error (error);
  g_assert_cmpint (found->step, ==, 80);
  g_assert_cmpint (found->n_classes, ==, 10);
  gint64 n = 0, correct = 0;
  for (int c = 0; c < 10; c++)
    {
      gint64 row = 0;
      for (int k = 0; k < 10; k++)
        row += found->confusion[c * 10 + k];
      g_assert_cmpint (row, ==, found->counts[c]);
      g_assert_cmpint (found->confusion[c * 10 + c], ==, found->correct[c]);
      n += found->counts[c];
      correct += found->correct[c];
    }
  g_assert_cmpint (n, ==, 40);
  g_assert_cmpfloat_with_epsilon (found->accuracy, (double) correct / 40, 1e-12);

  /* The worst by the answers' own probabilities. */
  g_autoptr (GPtrArray) all = tn_answers_read (run, NULL);
  const TnAnswers *answers = all->pdata[all->len - 1];
  double losses[40], sum = 0;
  for (guint i = 0; i < 40; i++)
    sum += losses[i] = -log ((double) answers->values[i * 10 + (guint) answers->labels[i]]);
  g_assert_cmpfloat_with_epsilon (found->loss, sum / 40, 1e-4);
  g_assert_cmpint (found->n_worst, ==, TN_VALIDATION_WORST);
  for (int w = 0; w < found->n_worst; w++)
    {
      int n_worse = 0;
      double loss = losses[found->worst[w] - 160];
      for (guint i = 0; i < 40; i++)
        n_worse += losses[i] > loss + 1e-6;
      g_assert_cmpint (n_worse, <=, w);
      g_assert_cmpfloat_with_epsilon (found->worst_loss[w], loss, 1e-3 * (1 + loss));
    }
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  scratch = make_scratch ();
  g_test_add_func ("/train/answers/agree-with-the-validation", test_agree_with_validation);
  g_test_add_func ("/train/answers/of-a-resumed-run-are-the-same", test_resumed_answers_equal);
  g_test_add_func ("/train/answers/damaged-lines-are-passed-over", test_damaged_lines_are_passed);
  g_test_add_func ("/train/validation/classes-confusion-and-worst-add-up", test_validation_adds_up);
  int result = g_test_run ();
  remove_tree (scratch);
  g_free (scratch);
  return result;
}
