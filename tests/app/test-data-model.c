/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "../widgets/support.h"
#include "page-data.h"
#include "page-model.h"
#include "row.h"
#include "state-pane.h"
#include "table.h"
#include "train/project.h"

/* The Data and Model pages in a window of their own, on a project in a folder of the test's. */
typedef struct
{
  TnDocument *document;
  TnPage *page;
  GtkWidget *window;
  TnSelection *selection;
} Fixture;

static char *folder;

static void
opened_cb (GObject *source, GAsyncResult *result, gpointer data)
{
  g_autoptr (GError) error = NULL;
  *(TnDocument **) data = tn_document_open_finish (result, &error);
  g_assert_no_error (error);
}

static void
start (Fixture *fixture, GType type, const char *id, const char *preset)
{
  static TnPageInfo info = { .title = "Page", .help = "Help" };
  g_autoptr (GError) error = NULL;
  g_autoptr (TnSettings) settings = tn_settings_new ();
  tn_settings_set (settings, "model.preset", preset, NULL);
  tn_settings_set (settings, "data.samples", "300", NULL);
  g_autofree char *path = g_strdup_printf ("%s/%s-%d", folder, id, g_random_int_range (0, G_MAXINT));
  g_autoptr (TnProject) project = tn_project_create (path, settings, NULL, &error);
  g_assert_no_error (error);
  info.id = id;
  fixture->page = g_object_ref_sink (g_object_new (type, NULL));
  fixture->selection = tn_selection_new ();
  g_autoptr (TnRunControl) control = tn_run_control_new ();
  tn_page_set_context (fixture->page, &info, fixture->selection, control);
  tn_page_set_width (fixture->page, TN_WIDTH_WIDE);
  fixture->window = widgets_show (GTK_WIDGET (fixture->page));
  gtk_window_set_default_size (GTK_WINDOW (fixture->window), 1200, 800);
  fixture->document = NULL;
  tn_document_open_async (path, NULL, opened_cb, &fixture->document);
  widgets_wait (fixture->document != NULL);
  tn_page_set_document (fixture->page, fixture->document);
  widgets_wait (g_strcmp0 (tn_page_state (fixture->page), "ready") == 0);
}

static void
finish (Fixture *fixture)
{
  tn_page_set_document (fixture->page, NULL);
  widgets_settle (200);
  widgets_assert_gone (fixture->window, fixture->page);
  g_clear_object (&fixture->document);
  g_clear_object (&fixture->selection);
}

static GtkWidget *
find_named (GtkWidget *widget, const char *name)
{
  if (strcmp (gtk_widget_get_name (widget), name) == 0)
    return widget;
  for (GtkWidget *child = gtk_widget_get_first_child (widget); child != NULL; child = gtk_widget_get_next_sibling (child))
    {
      GtkWidget *found = find_named (child, name);
      if (found != NULL)
        return found;
    }
  return NULL;
}

static GtkWidget *
named (Fixture *fixture, const char *name)
{
  GtkWidget *widget = find_named (GTK_WIDGET (fixture->page), name);
  if (widget == NULL)
    g_error ("no %s", name);
  return widget;
}

static const char *
setting (Fixture *fixture, const char *name)
{
  return tn_settings_get_text (tn_document_settings (fixture->document), name);
}

static void
excluded_samples_come_back_with_undo (void)
{
  Fixture fixture;
  start (&fixture, TN_TYPE_PAGE_DATA, "data", "lenet5");
  GtkSelectionModel *selection = gtk_grid_view_get_model (GTK_GRID_VIEW (named (&fixture, "data_sample_grid")));
  gtk_selection_model_select_item (selection, 3, TRUE);
  gtk_selection_model_select_item (selection, 4, FALSE);
  gtk_widget_activate_action (GTK_WIDGET (fixture.page), "page.exclude", NULL);
  g_assert_cmpstr (setting (&fixture, "data.exclude"), ==, "3-4");
  g_assert_true (gtk_selection_model_is_selected (selection, 3));
  tn_document_undo (fixture.document);
  g_assert_cmpstr (setting (&fixture, "data.exclude"), ==, "");
  g_assert_false (tn_settings_is_set (tn_document_settings (fixture.document), "data.exclude"));
  tn_document_redo (fixture.document);
  g_assert_cmpstr (setting (&fixture, "data.exclude"), ==, "3-4");
  /* All of the selected ones are out: the same key takes them in. */
  widgets_settle (300);
  gtk_widget_activate_action (GTK_WIDGET (fixture.page), "page.exclude", NULL);
  g_assert_cmpstr (setting (&fixture, "data.exclude"), ==, "");
  finish (&fixture);
}

static void
a_bad_split_keeps_the_last_good_one (void)
{
  Fixture fixture;
  start (&fixture, TN_TYPE_PAGE_DATA, "data", "lenet5");
  GtkWidget *row = named (&fixture, "data_val_spin"), *spin = widgets_find (row, GTK_TYPE_SPIN_BUTTON);
  gtk_editable_set_text (GTK_EDITABLE (spin), "105");
  g_signal_emit_by_name (widgets_find (spin, GTK_TYPE_TEXT), "activate");
  g_assert_nonnull (tn_row_get_error (TN_ROW (row)));
  gtk_test_accessible_assert_state (spin, GTK_ACCESSIBLE_STATE_INVALID, GTK_ACCESSIBLE_INVALID_TRUE);
  g_assert_cmpstr (setting (&fixture, "data.validation"), ==, "last:10%");
  gtk_editable_set_text (GTK_EDITABLE (spin), "20");
  g_signal_emit_by_name (widgets_find (spin, GTK_TYPE_TEXT), "activate");
  g_assert_cmpstr (setting (&fixture, "data.validation"), ==, "last:20%");
  finish (&fixture);
}

static void
missing_data_say_where_and_offer_others (void)
{
  Fixture fixture;
  start (&fixture, TN_TYPE_PAGE_DATA, "data", "lenet5");
  g_assert_true (tn_document_edit (fixture.document, "setting", "data.source", "/nowhere/at/all", NULL));
  widgets_wait (g_strcmp0 (tn_page_state (fixture.page), "failed") == 0);
  tn_document_undo (fixture.document);
  widgets_wait (g_strcmp0 (tn_page_state (fixture.page), "ready") == 0);
  finish (&fixture);
}

static void
select_layer (Fixture *fixture, guint position)
{
  GtkSelectionModel *selection = gtk_column_view_get_model (GTK_COLUMN_VIEW (named (fixture, "model_layer_tree")));
  gtk_selection_model_select_item (selection, position, TRUE);
}

static const char *
totals (Fixture *fixture)
{
  return gtk_label_get_text (GTK_LABEL (named (fixture, "model_totals_label")));
}

/* 61,706 and, without the two biases of the convolutions, 61,684: LeNet-5 by hand. */
static void
lenet5_shows_61706 (void)
{
  Fixture fixture;
  start (&fixture, TN_TYPE_PAGE_MODEL, "model", "lenet5");
  widgets_wait (g_str_has_prefix (totals (&fixture), "61706 "));
  for (guint layer = 0; layer <= 3; layer += 3)
    {
      select_layer (&fixture, layer);
      widgets_settle (100);
      g_signal_emit_by_name (widgets_find (named (&fixture, "model_option_row:has_bias"), GTK_TYPE_SWITCH), "activate");
      widgets_settle (300);
    }
  widgets_wait (g_str_has_prefix (totals (&fixture), "61684 "));
  tn_document_undo (fixture.document);
  tn_document_undo (fixture.document);
  widgets_wait (g_str_has_prefix (totals (&fixture), "61706 "));
  g_assert_null (tn_document_network (fixture.document));
  finish (&fixture);
}

static void
a_kernel_that_does_not_fit_can_be_mended (void)
{
  Fixture fixture;
  start (&fixture, TN_TYPE_PAGE_MODEL, "model", "lenet5");
  widgets_wait (g_str_has_prefix (totals (&fixture), "61706 "));
  select_layer (&fixture, 3);
  GtkWidget *entry = widgets_find (named (&fixture, "model_option_row:kernel"), GTK_TYPE_TEXT);
  gtk_editable_set_text (GTK_EDITABLE (entry), "9");
  g_signal_emit_by_name (entry, "activate");
  GtkWidget *checks = named (&fixture, "model_check_list");
  GtkWidget *first;
  widgets_wait ((first = GTK_WIDGET (gtk_list_box_get_row_at_index (GTK_LIST_BOX (checks), 0))) != NULL
                && g_strcmp0 (adw_action_row_get_subtitle (ADW_ACTION_ROW (first)), "fc1 expects 400 inputs, pool2 gives 144.") == 0);
  g_assert_cmpstr (tn_page_badge (fixture.page), ==, "!");
  /* The button at the row of fc1: the only one that is seen. */
  GtkWidget *fix = NULL, *tree = named (&fixture, "model_layer_tree");
  g_autoptr (GPtrArray) todo = g_ptr_array_new ();
  g_ptr_array_add (todo, tree);
  while (todo->len > 0 && fix == NULL)
    {
      GtkWidget *widget = g_ptr_array_remove_index (todo, todo->len - 1);
      if (strcmp (gtk_widget_get_name (widget), "model_fix_button") == 0 && gtk_widget_get_mapped (widget))
        fix = widget;
      for (GtkWidget *child = gtk_widget_get_first_child (widget); child != NULL; child = gtk_widget_get_next_sibling (child))
        g_ptr_array_add (todo, child);
    }
  g_assert_nonnull (fix);
  g_assert_cmpstr (gtk_button_get_label (GTK_BUTTON (fix)), ==, "Make fc1 144");
  g_signal_emit_by_name (fix, "clicked");
  widgets_wait (tn_page_badge (fixture.page) == NULL);
  finish (&fixture);
}

static void
three_parameters_freeze_with_one_switch (void)
{
  Fixture fixture;
  start (&fixture, TN_TYPE_PAGE_MODEL, "model", "lenet5");
  widgets_wait (g_str_has_prefix (totals (&fixture), "61706 "));
  GtkSelectionModel *selection = gtk_column_view_get_model (GTK_COLUMN_VIEW (named (&fixture, "model_param_table")));
  for (guint i = 0; i < 3; i++)
    gtk_selection_model_select_item (selection, i, i == 0);
  g_signal_emit_by_name (widgets_find (named (&fixture, "model_param_grad_switch"), GTK_TYPE_SWITCH), "activate");
  widgets_wait (strcmp (setting (&fixture, "train.freeze"), "conv1.weight,conv1.bias,conv2.weight") == 0);
  widgets_settle (300);
  for (guint i = 0; i < 3; i++)
    g_assert_true (gtk_selection_model_is_selected (selection, i));
  tn_document_undo (fixture.document);
  g_assert_cmpstr (setting (&fixture, "train.freeze"), ==, "");
  finish (&fixture);
}

/* Tab from the first to the last, as the key does. */
static void
tab_reaches_every_option (void)
{
  Fixture fixture;
  start (&fixture, TN_TYPE_PAGE_MODEL, "model", "lenet5");
  select_layer (&fixture, 0);
  widgets_settle (300);
  static const char *const options[] = { "in_channels", "out_channels", "kernel", "stride", "pad_mode", "padding",
                                         "dilation",    "group",        "has_bias", "weight_init", "bias_init" };
  gboolean reached[G_N_ELEMENTS (options)] = { FALSE };
  gtk_window_set_focus (GTK_WINDOW (fixture.window), NULL);
  for (int i = 0; i < 200; i++)
    {
      if (!gtk_widget_child_focus (fixture.window, GTK_DIR_TAB_FORWARD))
        break;
      GtkWidget *focus = gtk_window_get_focus (GTK_WINDOW (fixture.window));
      for (GtkWidget *widget = focus; widget != NULL; widget = gtk_widget_get_parent (widget))
        for (size_t k = 0; k < G_N_ELEMENTS (options); k++)
          {
            g_autofree char *name = g_strdup_printf ("model_option_row:%s", options[k]);
            reached[k] |= strcmp (gtk_widget_get_name (widget), name) == 0;
          }
    }
  for (size_t k = 0; k < G_N_ELEMENTS (options); k++)
    {
      g_test_message ("%s", options[k]);
      g_assert_true (reached[k]);
    }
  finish (&fixture);
}

int
main (int argc, char **argv)
{
  if (!widgets_start (&argc, &argv))
    return 0;
  folder = g_dir_make_tmp ("tenon-pages-XXXXXX", NULL);
  g_test_add_func ("/app/data/D7-excluded-samples-come-back-with-undo", excluded_samples_come_back_with_undo);
  g_test_add_func ("/app/data/a-bad-split-keeps-the-last-good-one", a_bad_split_keeps_the_last_good_one);
  g_test_add_func ("/app/data/missing-data-say-where-and-offer-others", missing_data_say_where_and_offer_others);
  g_test_add_func ("/app/model/M1-a-kernel-that-does-not-fit-can-be-mended", a_kernel_that_does_not_fit_can_be_mended);
  g_test_add_func ("/app/model/M2-lenet5-shows-61706", lenet5_shows_61706);
  g_test_add_func ("/app/model/M3-three-parameters-freeze-with-one-switch", three_parameters_freeze_with_one_switch);
  g_test_add_func ("/app/model/M6-tab-reaches-every-option", tab_reaches_every_option);
  int result = g_test_run ();
  g_autofree char *remove = g_strdup_printf ("rm -rf '%s'", folder);
  return system (remove) == 0 ? result : 1;
}
