/* SPDX-License-Identifier: Apache-2.0 */
#include "support.h"
#include "train/rank-files.h"
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

/* Whole runs of several ranks: exact resume, the same bits on any number of ranks, ranks that are lost. */

static char *scratch;

static char *
ranks_run (const char *name, const char *ranks, const char *more_a, const char *more_b)
{
  const char *mode = strcmp (ranks, "parallel.ranks=1") == 0 ? "parallel.mode=stand_alone" : "parallel.mode=data_parallel";
  const char *const more[] = { ranks, mode, "data.drop_last=false", "data.validation=last:43", "train.batch=16", more_a, more_b, NULL };
  return small_run (scratch, name, more);
}

static void
test_resume_is_exact (void)
{
  g_autofree char *whole = ranks_run ("whole", "parallel.ranks=4", NULL, NULL);
  g_autofree char *cut = ranks_run ("cut", "parallel.ranks=4", NULL, NULL);
  train_ok (whole, NULL, NULL);
  train_ok (cut, "train.max_steps", "7");
  train_ok (cut, "train.max_steps", "0");
  assert_equal_runs (whole, cut, 20); /* 2 epochs of 157 = 9 x 16 + 13 */
}

static void
test_same_bits_on_any_number_of_ranks (void)
{
  static const char *const counts[] = { "parallel.ranks=2", "parallel.ranks=4" };
  g_autofree char *one = ranks_run ("one", "parallel.ranks=1", "parallel.same_bits=4", NULL);
  train_ok (one, NULL, NULL);
  for (gsize i = 0; i < G_N_ELEMENTS (counts); i++)
    {
      g_autofree char *name = g_strdup_printf ("many-%d", (int) i);
      g_autofree char *many = ranks_run (name, counts[i], "parallel.same_bits=4", NULL);
      train_ok (many, NULL, NULL);
      assert_equal_runs (one, many, 20);
    }
}

static void
test_uneven_batch_is_named (void)
{
  g_autofree char *run = ranks_run ("three", "parallel.ranks=3", NULL, NULL);
  g_autoptr (GError) error = NULL;
  g_assert_cmpint (train (run, NULL, NULL, &error), ==, TN_RUN_FAILED);
  g_assert_nonnull (strstr (error->message, "train.batch = 16 cannot be shared equally by 3 ranks"));
}

/* ---- files of ranks ---- */

static void
test_lost_rank_is_named (void)
{
  g_autofree char *folder = g_build_filename (scratch, "lost", NULL);
  g_mkdir (folder, 0755);
  int ready[2];
  g_assert_cmpint (pipe (ready), ==, 0);
  pid_t child = fork (); /* nothing but system calls and these files below: no threads are running here */
  if (child == 0)
    {
      TnRankFiles *lost = tn_rank_files_open (folder, 1, FALSE, NULL);
      if (lost == NULL || write (ready[1], "x", 1) != 1)
        _exit (1);
      for (;;)
        pause ();
    }
  char byte;
  g_autoptr (GError) error = NULL;
  TnRankFiles *well = tn_rank_files_open (folder, 0, TRUE, &error);
  TnRankFiles *told = tn_rank_files_open (folder, 2, TRUE, &error);
  g_assert_no_error (error);
  g_assert_cmpint (read (ready[0], &byte, 1), ==, 1);
  g_autofree char *lock = g_build_filename (folder, "lock", NULL);
  g_assert_true (g_file_set_contents (lock, "", 0, NULL));
  g_assert_null (tn_rank_files_lost (folder)); /* all live */
  tn_rank_files_note_told (told);
  tn_rank_files_close (well, NULL);
  tn_rank_files_close (told, "why not");
  g_assert_null (tn_rank_files_lost (folder));
  kill (child, SIGTERM); /* is noted, and ends nothing */
  g_usleep (50000);
  kill (child, SIGKILL);
  g_assert_cmpint (waitpid (child, NULL, 0), ==, child);
  g_assert_null (tn_rank_files_lost (folder));

  child = fork ();
  if (child == 0)
    {
      TnRankFiles *lost = tn_rank_files_open (folder, 1, FALSE, NULL);
      if (lost == NULL || write (ready[1], "x", 1) != 1)
        _exit (1);
      for (;;)
        pause ();
    }
  g_assert_cmpint (read (ready[0], &byte, 1), ==, 1);
  kill (child, SIGKILL);
  g_assert_cmpint (waitpid (child, NULL, 0), ==, child);
  g_autofree char *text = tn_rank_files_lost (folder);
  g_autofree char *expected = g_strdup_printf ("Rank 1 (process %d on ", (int) child);
  g_assert_true (text != NULL && g_str_has_prefix (text, expected));
  close (ready[0]);
  close (ready[1]);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  scratch = make_scratch ();
  g_test_add_func ("/train/ranks-run/lost-rank-is-named", test_lost_rank_is_named);
  g_test_add_func ("/train/ranks-run/resume-is-exact", test_resume_is_exact);
  g_test_add_func ("/train/ranks-run/same-bits-on-any-number-of-ranks", test_same_bits_on_any_number_of_ranks);
  g_test_add_func ("/train/ranks-run/a-batch-that-does-not-divide-is-named", test_uneven_batch_is_named);
  int status = g_test_run ();
  remove_tree (scratch);
  g_free (scratch);
  return status;
}
