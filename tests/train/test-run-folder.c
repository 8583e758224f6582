/* SPDX-License-Identifier: Apache-2.0 */
#include <sys/stat.h>
#include <unistd.h>

#include "support.h"

static char *scratch;

static void
write_project (const char *name, const char *text, char **path)
{
  *path = g_build_filename (scratch, name, NULL);
  g_assert_cmpint (g_mkdir (*path, 0755), ==, 0);
  g_autofree char *file = g_build_filename (*path, "project.json", NULL);
  g_assert_true (g_file_set_contents (file, text, -1, NULL));
}

static void
test_project_round_trip (void)
{
  const char *const more[] = { "optimizer.lr=0.1", NULL };
  g_autoptr (GError) error = NULL;
  g_autoptr (TnProject) made = small_project (scratch, "round", more);
  g_autoptr (TnProject) read = tn_project_open (tn_project_path (made), &error);
  g_assert_no_error (error);
  g_assert_cmpstr (tn_project_name (read), ==, "round");
  g_assert_cmpfloat (tn_settings_get_float (tn_project_settings (read), "optimizer.lr"), ==, 0.1);
  g_assert_false (tn_settings_is_set (tn_project_settings (read), "optimizer.momentum"));
}

static void
test_project_errors (void)
{
  g_autoptr (GError) error = NULL;
  g_autofree char *newer = NULL, *other = NULL, *empty = NULL;
  write_project ("newer", "{\"format\": \"tenon-project\", \"version\": 99}", &newer);
  write_project ("other", "{\"name\": \"npm\"}", &other);
  g_assert_null (tn_project_open (newer, &error));
  g_assert_error (error, TN_ERROR, TN_ERROR_FORMAT);
  g_assert_nonnull (strstr (error->message, "99"));
  g_clear_error (&error);
  g_assert_null (tn_project_open (other, &error));
  g_assert_error (error, TN_ERROR, TN_ERROR_FORMAT);
  g_clear_error (&error);
  empty = g_build_filename (scratch, "nothing", NULL);
  g_assert_null (tn_project_open (empty, &error));
  g_assert_error (error, TN_ERROR, TN_ERROR_NOT_FOUND);
  g_clear_error (&error);
  g_assert_null (tn_project_create (other, NULL, NULL, &error));
  g_assert_error (error, TN_ERROR, TN_ERROR_EXISTS);
}

/* Two windows: the second save of the same state is refused, nothing is overwritten unseen. */
static void
test_two_windows (void)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (TnProject) made = small_project (scratch, "windows", NULL);
  g_autoptr (TnProject) first = tn_project_open (tn_project_path (made), NULL);
  g_autoptr (TnProject) second = tn_project_open (tn_project_path (made), NULL);
  tn_project_set_name (first, "a");
  g_assert_true (tn_project_save (first, &error));
  g_assert_cmpuint (tn_project_generation (first), >, tn_project_generation (second));
  tn_project_set_name (second, "b");
  g_assert_false (tn_project_save (second, &error));
  g_assert_error (error, TN_ERROR, TN_ERROR_STATE);
  g_assert_true (tn_project_save (first, NULL));
}

static void
test_names_are_taken_once (void)
{
  g_autoptr (TnProject) project = small_project (scratch, "names", NULL);
  g_autoptr (GHashTable) seen = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, NULL);
  for (int i = 0; i < 12; i++)
    {
      char *path = new_run (project);
      g_assert_nonnull (strstr (path, "-lenet5-"));
      g_assert_true (g_hash_table_add (seen, path));
    }
  g_autoptr (GPtrArray) runs = tn_run_folder_list (tn_project_path (project), NULL);
  g_assert_cmpuint (runs->len, ==, 12);
  g_assert_true (g_str_has_suffix (g_ptr_array_index (runs, 0), "-01"));
  g_assert_true (g_str_has_suffix (g_ptr_array_index (runs, 11), "-12"));
}

static void
test_run_round_trip (void)
{
  const char *const more[] = { "optimizer.lr=0.25", NULL };
  g_autoptr (GError) error = NULL;
  g_autofree char *path = small_run (scratch, "run-round", more);
  g_autoptr (TnRunFolder) run = tn_run_folder_open (path, &error);
  g_assert_true (tn_run_folder_lock (run, &error));
  tn_run_folder_add_change (run, G_GINT64_CONSTANT (9007199254740993), "optimizer.lr", "0.5");
  tn_run_folder_set_fact_number (run, "loss", 0.1);
  tn_run_folder_set_state (run, TN_RUN_FAILED, "no-space", "disk “x” full");
  g_assert_true (tn_run_folder_save (run, &error));
  g_assert_no_error (error);
  g_autoptr (TnRunFolder) read = tn_run_folder_open (path, &error);
  g_assert_no_error (error);
  g_assert_cmpint (tn_run_folder_state (read), ==, TN_RUN_FAILED);
  g_assert_cmpstr (tn_run_folder_reason (read), ==, "disk “x” full");
  g_assert_cmpint (tn_run_folder_change (read, 0)->step, ==, G_GINT64_CONSTANT (9007199254740993));
  g_assert_cmpfloat (tn_run_folder_fact_number (read, "loss"), ==, 0.1);
  g_assert_true (tn_run_folder_is_chosen (read, "optimizer.lr"));
  g_assert_false (tn_run_folder_is_chosen (read, "optimizer.momentum"));
  g_autoptr (TnSettings) before = tn_run_folder_settings_at (read, 1000);
  g_autoptr (TnSettings) after = tn_run_folder_settings_at (read, G_MAXINT64);
  g_assert_cmpfloat (tn_settings_get_float (before, "optimizer.lr"), ==, 0.25);
  g_assert_cmpfloat (tn_settings_get_float (after, "optimizer.lr"), ==, 0.5);
}

static void
test_lock (void)
{
  g_autoptr (GError) error = NULL;
  g_autofree char *path = small_run (scratch, "lock", NULL);
  g_autoptr (TnRunFolder) first = tn_run_folder_open (path, NULL);
  g_autoptr (TnRunFolder) second = tn_run_folder_open (path, NULL);
  g_assert_true (tn_run_folder_lock (first, &error));
  g_assert_false (tn_run_folder_lock (second, &error));
  g_assert_error (error, TN_ERROR, TN_ERROR_BUSY);
  g_auto (TnRunOwner) owner = { 0 };
  g_assert_true (tn_run_folder_owner (path, &owner, NULL));
  g_assert_true (owner.held);
  g_assert_cmpint (owner.pid, ==, getpid ());
  g_assert_cmpint (owner.start_ticks, >, 0);
  tn_run_folder_unlock (first);
  g_assert_true (tn_run_folder_lock (second, NULL));
}

/* A living state beside a free lock. */
static void
test_lost (void)
{
  g_autofree char *path = small_run (scratch, "lost", NULL);
  g_autoptr (TnRunFolder) run = tn_run_folder_open (path, NULL);
  g_assert_cmpint (tn_run_folder_seen_state (run), ==, TN_RUN_QUEUED);
  g_assert_true (tn_run_folder_lock (run, NULL));
  tn_run_folder_set_state (run, TN_RUN_RUNNING, "", "");
  g_assert_true (tn_run_folder_save (run, NULL));
  g_autoptr (TnRunFolder) outside = tn_run_folder_open (path, NULL);
  g_assert_cmpint (tn_run_folder_seen_state (outside), ==, TN_RUN_RUNNING);
  tn_run_folder_unlock (run);
  g_assert_cmpint (tn_run_folder_seen_state (outside), ==, TN_RUN_LOST);
}

static void
test_vanished_folder (void)
{
  g_autoptr (GError) error = NULL;
  g_autofree char *path = small_run (scratch, "vanished", NULL);
  g_autoptr (TnTrainer) trainer = new_trainer (path);
  remove_tree (path);
  g_assert_false (tn_trainer_start (trainer, &error));
  g_assert_nonnull (error);
  g_assert_nonnull (strstr (error->message, path));
}

/* Every cut and 1,000 flipped bits: an error or a run, never a crash. */
static void
test_damaged_run_json (void)
{
  g_autofree char *path = small_run (scratch, "damaged-json", NULL);
  g_autofree char *file = g_build_filename (path, "run.json", NULL);
  g_autofree char *whole = NULL;
  gsize n;
  g_assert_true (g_file_get_contents (file, &whole, &n, NULL));
  for (gsize cut = 0; cut < n - 2; cut += 64)
    {
      g_autoptr (GError) error = NULL;
      g_assert_true (g_file_set_contents (file, whole, (gssize) cut, NULL));
      g_assert_null (tn_run_folder_open (path, &error));
      g_assert_nonnull (error);
    }
  for (int i = 0; i < 1000; i++)
    {
      gsize at = (gsize) g_test_rand_int_range (0, (gint32) n);
      char bit = (char) (1 << g_test_rand_int_range (0, 8));
      whole[at] ^= bit;
      g_remove (file); /* the cuts above may have left another length */
      g_file_set_contents_full (file, whole, (gssize) n, G_FILE_SET_CONTENTS_NONE, 0644, NULL);
      g_autoptr (GError) error = NULL;
      g_autoptr (TnRunFolder) run = tn_run_folder_open (path, &error);
      g_assert_true ((run != NULL) != (error != NULL));
      whole[at] ^= bit;
    }
}

/* A named pipe in the place of a file would hang whoever opens it. Each kind of file of a project and a run in turn. */
static void
test_pipes_do_not_hang (void)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (TnProject) project = small_project (scratch, "pipes", NULL);
  g_autoptr (TnRunFolder) run = tn_run_folder_create (project, NULL, &error);
  g_assert_no_error (error);
  static const char *const names[] = { "log.txt", "lock", "run.json" };
  alarm (20); /* a hang ends the program and so fails */
  for (gsize i = 0; i < G_N_ELEMENTS (names); i++)
    {
      g_autofree char *file = g_build_filename (tn_run_folder_path (run), names[i], NULL);
      g_unlink (file);
      g_assert_cmpint (mkfifo (file, 0600), ==, 0);
      g_auto (TnRunOwner) owner = { 0 };
      tn_run_folder_log (run, "to %s", names[i]);
      tn_run_folder_owner (tn_run_folder_path (run), &owner, NULL);
      g_assert_false (owner.held);
    }
  g_assert_false (tn_run_folder_reload (run, &error));
  g_assert_nonnull (error);
  alarm (0);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  scratch = make_scratch ();
  g_test_add_func ("/train/project/round-trip", test_project_round_trip);
  g_test_add_func ("/train/project/newer-other-missing-and-full-are-refused", test_project_errors);
  g_test_add_func ("/train/project/a-save-over-another-window-is-refused", test_two_windows);
  g_test_add_func ("/train/run-folder/names-are-taken-once", test_names_are_taken_once);
  g_test_add_func ("/train/run-folder/round-trip", test_run_round_trip);
  g_test_add_func ("/train/run-folder/the-lock-is-for-one", test_lock);
  g_test_add_func ("/train/run-folder/living-state-without-lock-is-lost", test_lost);
  g_test_add_func ("/train/run-folder/vanished-folder-is-an-error", test_vanished_folder);
  g_test_add_func ("/train/run-folder/pipes-do-not-hang", test_pipes_do_not_hang);
  g_test_add_func ("/train/run-folder/damaged-run-json-is-an-error", test_damaged_run_json);
  int result = g_test_run ();
  remove_tree (scratch);
  g_free (scratch);
  return result;
}
