/* SPDX-License-Identifier: Apache-2.0 */
#include <sqlite3.h>

#include "../train/support.h"
#include "library/catalogue.h"

static char *scratch;

static TnCatalogue *
open_at (const char *path)
{
  g_autoptr (GError) error = NULL;
  TnCatalogue *catalogue = tn_catalogue_open (path, &error);
  g_assert_no_error (error);
  return catalogue;
}

static void
set_state (const char *run, TnRunState state, double loss)
{
  g_autoptr (TnRunFolder) folder = tn_run_folder_open (run, NULL);
  g_assert_true (tn_run_folder_lock (folder, NULL));
  tn_run_folder_set_state (folder, state, "epochs", "");
  tn_run_folder_set_fact_number (folder, "loss", loss);
  g_assert_true (tn_run_folder_save (folder, NULL));
}

static void
test_lists_what_lies_there (void)
{
  g_autofree char *path = g_build_filename (scratch, "sub", "a.sqlite", NULL);
  g_autoptr (TnProject) project = small_project (scratch, "it's \"odd\"; DROP TABLE run", NULL);
  g_autofree char *first = new_run (project);
  g_autofree char *second = new_run (project);
  set_state (second, TN_RUN_FINISHED, 0.25);
  g_autoptr (TnCatalogue) catalogue = open_at (path);
  g_autoptr (GError) error = NULL;
  g_assert_true (tn_catalogue_scan_project (catalogue, tn_project_path (project), &error));
  g_autoptr (GPtrArray) runs = tn_catalogue_runs (catalogue, tn_project_path (project), NULL, &error);
  g_assert_no_error (error);
  g_assert_cmpuint (runs->len, ==, 2);
  const TnCatalogueRun *newest = g_ptr_array_index (runs, 0);
  g_assert_cmpstr (newest->path, ==, second);
  g_assert_cmpstr (newest->state, ==, "finished");
  g_assert_cmpfloat (newest->loss, ==, 0.25);
  g_autoptr (GPtrArray) finished = tn_catalogue_runs (catalogue, NULL, "finished", NULL);
  g_assert_cmpuint (finished->len, ==, 1);

  remove_tree (second);
  g_assert_true (tn_catalogue_scan_project (catalogue, tn_project_path (project), NULL));
  g_autoptr (GPtrArray) left = tn_catalogue_runs (catalogue, NULL, NULL, NULL);
  g_assert_cmpuint (left->len, ==, 1);
  g_autoptr (GPtrArray) projects = tn_catalogue_projects (catalogue, NULL);
  g_assert_cmpuint (projects->len, ==, 1);
  g_assert_true (((TnCatalogueProject *) g_ptr_array_index (projects, 0))->exists);
}

static void
test_damaged_file_is_set_aside (void)
{
  g_autofree char *path = g_build_filename (scratch, "damaged.sqlite", NULL);
  g_autofree char *aside = g_strconcat (path, ".damaged", NULL);
  g_assert_true (g_file_set_contents (path, "this is no database, but long enough to look at", -1, NULL));
  g_autoptr (TnCatalogue) catalogue = open_at (path);
  g_assert_true (tn_catalogue_was_damaged (catalogue));
  g_assert_true (g_file_test (aside, G_FILE_TEST_EXISTS));
  g_autoptr (GPtrArray) runs = tn_catalogue_runs (catalogue, NULL, NULL, NULL);
  g_assert_cmpuint (runs->len, ==, 0);
}

static void
test_locked_file_is_an_error (void)
{
  g_autofree char *path = g_build_filename (scratch, "locked.sqlite", NULL);
  g_autoptr (TnProject) project = small_project (scratch, "locked", NULL);
  g_autoptr (TnCatalogue) catalogue = open_at (path);
  sqlite3 *other;
  g_assert_cmpint (sqlite3_open (path, &other), ==, SQLITE_OK);
  g_assert_cmpint (sqlite3_exec (other, "BEGIN EXCLUSIVE", NULL, NULL, NULL), ==, SQLITE_OK);
  g_autoptr (GError) error = NULL;
  g_assert_false (tn_catalogue_scan_project (catalogue, tn_project_path (project), &error));
  g_assert_error (error, TN_ERROR, TN_ERROR_BUSY);
  sqlite3_exec (other, "ROLLBACK", NULL, NULL, NULL);
  sqlite3_close (other);
  g_assert_true (tn_catalogue_scan_project (catalogue, tn_project_path (project), NULL));
}

static void
test_rebuild (void)
{
  g_autofree char *path = g_build_filename (scratch, "rebuild.sqlite", NULL);
  g_autoptr (TnProject) project = small_project (scratch, "rebuild", NULL);
  g_autoptr (TnCatalogue) catalogue = open_at (path);
  g_assert_true (tn_catalogue_scan_project (catalogue, tn_project_path (project), NULL));
  g_autofree char *run = new_run (project);
  g_autoptr (GError) error = NULL;
  g_assert_true (tn_catalogue_rebuild (catalogue, &error));
  g_assert_no_error (error);
  g_autoptr (GPtrArray) runs = tn_catalogue_runs (catalogue, NULL, NULL, NULL);
  g_assert_cmpuint (runs->len, ==, 1);
  g_assert_true (tn_catalogue_forget_project (catalogue, tn_project_path (project), NULL));
  g_autoptr (GPtrArray) none = tn_catalogue_runs (catalogue, NULL, NULL, NULL);
  g_assert_cmpuint (none->len, ==, 0);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  scratch = make_scratch ();
  g_test_add_func ("/library/catalogue/lists-what-lies-there", test_lists_what_lies_there);
  g_test_add_func ("/library/catalogue/damaged-file-is-set-aside", test_damaged_file_is_set_aside);
  g_test_add_func ("/library/catalogue/locked-file-is-an-error-and-not-a-loss", test_locked_file_is_an_error);
  g_test_add_func ("/library/catalogue/rebuild-and-forget", test_rebuild);
  int result = g_test_run ();
  remove_tree (scratch);
  g_free (scratch);
  return result;
}
