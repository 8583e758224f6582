/* SPDX-License-Identifier: Apache-2.0 */
#include "document.h"

#include <glib/gstdio.h>
#include <string.h>

typedef struct
{
  gboolean done;
  TnDocument *document;
  char *run;
} Wait;

static void
created_cb (GObject *source, GAsyncResult *result, gpointer data)
{
  Wait *wait = data;
  g_autoptr (GError) error = NULL;
  wait->document = tn_document_create_finish (result, &error);
  g_assert_no_error (error);
  wait->done = TRUE;
}

static void
saved_cb (GObject *source, GAsyncResult *result, gpointer data)
{
  g_autoptr (GError) error = NULL;
  tn_document_save_finish (TN_DOCUMENT (source), result, &error);
  g_assert_no_error (error);
  ((Wait *) data)->done = TRUE;
}

static void
run_cb (GObject *source, GAsyncResult *result, gpointer data)
{
  Wait *wait = data;
  g_autoptr (GError) error = NULL;
  wait->run = tn_document_new_run_finish (TN_DOCUMENT (source), result, &error);
  g_assert_no_error (error);
  wait->done = TRUE;
}

static void
wait_for (Wait *wait)
{
  while (!wait->done)
    g_main_context_iteration (NULL, TRUE);
  wait->done = FALSE;
}

static TnDocument *
make (char **folder)
{
  Wait wait = { 0 };
  *folder = g_dir_make_tmp ("tenon-document-XXXXXX", NULL);
  tn_document_create_async (*folder, "Digits", NULL, NULL, NULL, created_cb, &wait);
  wait_for (&wait);
  return wait.document;
}

static char *
contents (TnDocument *document)
{
  Wait wait = { 0 };
  tn_document_save_async (document, saved_cb, &wait);
  wait_for (&wait);
  g_autofree char *path = g_build_filename (tn_document_path (document), "project.json", NULL);
  char *text = NULL;
  g_assert_true (g_file_get_contents (path, &text, NULL, NULL));
  return text;
}

/* W6: random edits of every kind, undone one by one, lead back byte for byte; done again, forward. */
static void
test_undo_all (void)
{
  static const char *const names[] = { "optimizer.lr", "train.batch", "train.epochs", "device.mode", "data.shuffle", "optimizer.kind" };
  static const char *const values[][3] = { { "0.1", "0.5", NULL }, { "16", "128", NULL },       { "2", "7", NULL },
                                           { "pynative", "graph", NULL }, { "false", "true", NULL }, { "adam", "sgd", NULL } };
  g_autofree char *folder = NULL;
  g_autoptr (TnDocument) document = make (&folder);
  tn_document_edit (document, "setting", "train.seed", "9", NULL); /* so that the file is written by us before and after */
  g_autofree char *before = contents (document);
  guint32 seed = g_test_rand_int ();
  g_autoptr (GRand) random = g_rand_new_with_seed (seed);
  g_test_message ("seed %u", seed);
  int n = 0;
  for (int i = 0; i < 150; i++)
    {
      int kind = g_rand_int_range (random, 0, 8), place = g_rand_int_range (random, 0, 6);
      g_autofree char *name = g_strdup_printf ("Name %d", i);
      gboolean could = tn_document_can_undo (document);
      g_autofree char *title = tn_document_undo_title (document);
      g_assert_true (could);
      g_assert_nonnull (title);
      if (kind == 0)
        g_assert_true (tn_document_edit (document, "name", "", name, NULL));
      else if (kind == 1)
        g_assert_true (tn_document_edit (document, "network", "", i % 2 == 0 ? "{\"input\": {\"shape\": [2]}, \"cells\": []}" : NULL, NULL));
      else
        g_assert_true (tn_document_edit (document, "setting", names[place], values[place][g_rand_int_range (random, 0, 3)], NULL));
    }
  g_autofree char *after_settings = NULL;
  g_autoptr (TnSettings) after = tn_settings_copy (tn_document_settings (document));
  while (tn_document_can_undo (document) && n < 1000)
    {
      g_autofree char *title = tn_document_undo_title (document);
      tn_document_undo (document);
      n++;
    }
  g_assert_cmpint (n, >, 10);
  while (n-- > 0)
    tn_document_redo (document);
  g_autofree const char **differ = tn_settings_diff (after, tn_document_settings (document));
  g_assert_null (differ[0]);
  while (tn_document_can_undo (document))
    tn_document_undo (document);
  tn_document_redo (document); /* the seed, which stands in the file that is compared */
  g_autofree char *end = contents (document);
  /* The generation may stand in the file; everything else must not differ. */
  g_assert_cmpstr (before, ==, end);
}

static void
test_bad_value_changes_nothing (void)
{
  g_autofree char *folder = NULL;
  g_autoptr (TnDocument) document = make (&folder);
  g_autoptr (GError) error = NULL;
  g_assert_false (tn_document_edit (document, "setting", "train.batch", "-3", &error));
  g_assert_nonnull (error);
  g_assert_false (tn_document_can_undo (document));
  g_assert_false (tn_document_is_dirty (document));
  g_assert_cmpint (tn_settings_get_int (tn_document_settings (document), "train.batch"), ==, 32);
}

/* Another window's save is refused to be written over, and can be taken. */
static void
test_two_windows (void)
{
  g_autofree char *folder = NULL;
  g_autoptr (TnDocument) document = make (&folder);
  g_autoptr (TnProject) other = tn_project_open (tn_document_path (document), NULL);
  g_assert_true (tn_settings_set (tn_project_settings (other), "train.batch", "77", NULL));
  g_assert_true (tn_project_save (other, NULL));
  for (gint64 end = g_get_monotonic_time () + 5 * G_USEC_PER_SEC; tn_settings_get_int (tn_document_settings (document), "train.batch") != 77;)
    {
      g_main_context_iteration (NULL, FALSE);
      g_usleep (5000);
      g_assert_cmpint (g_get_monotonic_time (), <, end);
    }
  g_assert_false (tn_document_is_dirty (document));
}

static void
test_new_run (void)
{
  g_autofree char *folder = NULL;
  g_autoptr (TnDocument) document = make (&folder);
  Wait wait = { 0 };
  tn_document_edit (document, "setting", "train.batch", "48", NULL);
  tn_document_new_run_async (document, NULL, NULL, run_cb, &wait);
  wait_for (&wait);
  g_autofree char *file = g_build_filename (wait.run, "run.json", NULL), *text = NULL;
  g_assert_true (g_file_get_contents (file, &text, NULL, NULL));
  g_assert_nonnull (strstr (text, "48"));
  g_assert_false (tn_document_is_dirty (document)); /* saved with it */
  g_free (wait.run);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/document/W6/undo-leads-back-byte-for-byte", test_undo_all);
  g_test_add_func ("/document/a-bad-value-changes-nothing", test_bad_value_changes_nothing);
  g_test_add_func ("/document/W12/another-windows-save-is-taken", test_two_windows);
  g_test_add_func ("/document/a-new-run-has-the-edited-settings", test_new_run);
  return g_test_run ();
}
