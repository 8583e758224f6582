/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "../widgets/support.h"
#include "page-shard.h"
#include "picture-view.h"
#include "segmented.h"
#include "shard-tensors.h"
#include "shard-whatif.h"
#include "table.h"
#include "train/project.h"

/* The Sharding page in a window of its own. */
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

/* @mesh NULL: no project. */
static void
start (Fixture *fixture, const char *mesh, const char *ranks)
{
  static TnPageInfo info = { .id = "shard", .title = "Sharding", .help = "Help" };
  g_autoptr (TnRunControl) control = tn_run_control_new ();
  fixture->document = NULL;
  fixture->page = g_object_ref_sink (g_object_new (TN_TYPE_PAGE_SHARD, NULL));
  fixture->selection = tn_selection_new ();
  tn_page_set_context (fixture->page, &info, fixture->selection, control);
  tn_page_set_width (fixture->page, TN_WIDTH_WIDE);
  fixture->window = widgets_show (GTK_WIDGET (fixture->page));
  gtk_window_set_default_size (GTK_WINDOW (fixture->window), 1000, 800);
  if (mesh == NULL)
    return;
  g_autoptr (GError) error = NULL;
  g_autoptr (TnSettings) settings = tn_settings_new ();
  tn_settings_set (settings, "model.preset", "lenet5", NULL);
  tn_settings_set (settings, "parallel.mesh", mesh, NULL);
  tn_settings_set (settings, "parallel.ranks", ranks, NULL);
  tn_settings_set (settings, "parallel.mode", "semi_auto_parallel", NULL);
  g_autofree char *path = g_strdup_printf ("%s/p-%d", folder, g_random_int_range (0, G_MAXINT));
  g_autoptr (TnProject) project = tn_project_create (path, settings, NULL, &error);
  g_assert_no_error (error);
  tn_document_open_async (path, NULL, opened_cb, &fixture->document);
  widgets_wait (fixture->document != NULL);
  tn_page_set_document (fixture->page, fixture->document);
  widgets_wait (tn_page_shard_plan (TN_PAGE_SHARD (fixture->page)) != NULL && strcmp (tn_page_state (fixture->page), "loading") != 0);
}

static void
finish (Fixture *fixture)
{
  tn_page_set_document (fixture->page, NULL);
  widgets_settle (300);
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

static void
show (Fixture *fixture, const char *view)
{
  tn_segmented_set_active_id (TN_SEGMENTED (named (fixture, "shard_view_box")), view);
  widgets_settle (100);
}

static void
choose (Fixture *fixture, const char *parameter)
{
  tn_selection_set_text (fixture->selection, TN_SELECTION_PARAMETER, parameter);
  TN_PAGE_GET_CLASS (fixture->page)->selection_changed (fixture->page, TN_SELECTION_PARAMETER);
  widgets_settle (100);
}

static const char *
verdict (Fixture *fixture)
{
  return gtk_label_get_text (GTK_LABEL (named (fixture, "shard_verdict_label")));
}

/* A strategy file as MindSpore writes it: the specification's first check. */
static void
a_file_shows_who_holds_what (void)
{
  Fixture fixture;
  static const char *const text = "{\"current_stage\": 0, \"parallel_layout_item\": {\"w\": {\"dev_matrix\": [2, 2, 2], \"field\": 0, \"opt_weight_shard_size\": 0, "
                                  "\"opt_weight_shard_step\": 0, \"tensor_map\": [2, 0], \"tensor_shape\": [8, 16]}}, \"parallel_strategy_item\": {}}";
  g_autofree char *path = g_build_filename (folder, "strategy.json", NULL);
  static const char *const expected[] = { "[0:4, 0:8]", "[0:4, 8:16]", "[0:4, 0:8]", "[0:4, 8:16]", "[4:8, 0:8]" };
  g_assert_true (g_file_set_contents (path, text, -1, NULL));
  start (&fixture, NULL, NULL);
  tn_page_shard_open_file (TN_PAGE_SHARD (fixture.page), path);
  widgets_wait (strcmp (tn_page_state (fixture.page), "ready") == 0);
  choose (&fixture, "w");
  for (int rank = 0; rank < 5; rank++)
    {
      tn_selection_set_range (fixture.selection, TN_SELECTION_RANK, rank, rank);
      TN_PAGE_GET_CLASS (fixture.page)->selection_changed (fixture.page, TN_SELECTION_RANK);
      const char *told = gtk_label_get_text (GTK_LABEL (named (&fixture, "shard_rank_label")));
      g_assert_nonnull (strstr (told, expected[rank]));
    }
  finish (&fixture);
}

static void
an_axis_that_does_not_divide_is_refused (void)
{
  Fixture fixture;
  start (&fixture, "dp=1,tp=4", "4");
  choose (&fixture, "fc3.weight"); /* 10 rows */
  GtkDropDown *drop = GTK_DROP_DOWN (named (&fixture, "shard_map_drop:0")), *columns = GTK_DROP_DOWN (named (&fixture, "shard_map_drop:1"));
  g_assert_cmpuint (gtk_drop_down_get_selected (columns), ==, 2); /* None, dp, tp: the rule chose the 84 columns */
  gtk_drop_down_set_selected (columns, 0);
  gtk_drop_down_set_selected (drop, 2);
  g_assert_nonnull (strstr (verdict (&fixture), "10"));
  g_assert_nonnull (strstr (verdict (&fixture), "1, 2"));
  g_assert_false (gtk_widget_get_sensitive (named (&fixture, "shard_apply_button")));
  gtk_drop_down_set_selected (drop, 0);
  widgets_wait (gtk_widget_get_sensitive (named (&fixture, "shard_apply_button")));
  g_signal_emit_by_name (named (&fixture, "shard_apply_button"), "clicked");
  g_assert_nonnull (strstr (tn_settings_get_text (tn_document_settings (fixture.document), "parallel.strategy"), "\"fc3\""));
  tn_document_undo (fixture.document);
  g_assert_false (tn_settings_is_set (tn_document_settings (fixture.document), "parallel.strategy"));
  widgets_wait (strcmp (tn_page_state (fixture.page), "loading") != 0);
  finish (&fixture);
}

/* Every slice counted once, over all ranks, is the model: 61,706 parameters of LeNet-5. */
static void
weights_without_copies_are_the_model (void)
{
  Fixture fixture;
  start (&fixture, "dp=2,tp=2", "4");
  show (&fixture, "ranks");
  TnTableModel *model = tn_table_get_model (TN_TABLE (gtk_widget_get_ancestor (named (&fixture, "shard_rank_table"), TN_TYPE_TABLE)));
  g_assert_cmpuint (tn_table_model_n_rows (model), ==, 4);
  TnShardPlan *plan = tn_page_shard_plan (TN_PAGE_SHARD (fixture.page));
  g_autofree TnRankBytes *ranks = tn_shard_plan_ranks (plan);
  double all = 0, copies = 0;
  for (int rank = 0; rank < 4; rank++)
    all += ranks[rank].parts[TN_RANK_PARAMETERS];
  for (guint i = 0; i < plan->items->len; i++)
    {
      const TnShardItem *item = tn_shard_plan_item (plan, i);
      if (strcmp (item->kind, "parameter") == 0)
        copies += (double) item->bytes * 4 * (double) (item->replicas - 1) / (double) item->replicas;
    }
  g_assert_cmpfloat (all - copies, ==, 61706 * 4);
  g_autofree char *path = g_build_filename (folder, "ranks.csv", NULL), *text = NULL;
  g_assert_true (tn_page_shard_export (TN_PAGE_SHARD (fixture.page), path, NULL));
  g_assert_true (g_file_get_contents (path, &text, NULL, NULL));
  g_assert_nonnull (strstr (text, "rank,dp,tp,parameters"));
  finish (&fixture);
}

static void
what_if_answers_for_other_devices (void)
{
  Fixture fixture;
  start (&fixture, "dp=1", "1");
  g_assert_cmpstr (tn_page_state (fixture.page), ==, "empty");
  show (&fixture, "whatif");
  g_assert_cmpstr (tn_page_state (fixture.page), ==, "ready");
  TnShardWhatif *view = TN_SHARD_WHATIF (gtk_widget_get_ancestor (named (&fixture, "shard_whatif_spin"), TN_TYPE_SHARD_WHATIF));
  widgets_wait (tn_shard_whatif_is_settled (view) && tn_shard_whatif_answer (view) != NULL);
  GtkSpinButton *devices = GTK_SPIN_BUTTON (named (&fixture, "shard_whatif_spin"));
  gtk_drop_down_set_selected (GTK_DROP_DOWN (named (&fixture, "shard_whatif_level_drop")), 1);
  gtk_spin_button_set_value (devices, 8);
  widgets_wait (tn_shard_whatif_is_settled (view));
  int64_t at_8 = tn_shard_whatif_answer (view)->forecast.total;
  gint64 begun = g_get_monotonic_time ();
  gtk_spin_button_set_value (devices, 16);
  widgets_wait (tn_shard_whatif_is_settled (view));
  g_test_message ("8 to 16 devices: %.1f ms", (double) (g_get_monotonic_time () - begun) / 1000);
  g_assert_cmpint (tn_shard_whatif_answer (view)->mesh->n_ranks, ==, 16);
  g_assert_cmpint (tn_shard_whatif_answer (view)->forecast.total, !=, at_8);
  gtk_spin_button_set_value (devices, 16384);
  widgets_wait (tn_shard_whatif_is_settled (view));
  g_assert_cmpint (tn_shard_whatif_answer (view)->mesh->n_ranks, ==, 16384);
  g_test_message ("to 16,384 devices: %.1f ms", (double) (g_get_monotonic_time () - begun) / 1000);
  g_assert_false (tn_document_can_undo (fixture.document)); /* nothing was changed by asking */
  finish (&fixture);
}

/* 4,096 ranks and 3,000 parameters: opened, and every view inside the drawing budget. */
static void
a_huge_strategy_stays_in_the_budget (void)
{
  Fixture fixture;
  static const char *const views[] = { "tensors", "ranks", "traffic", "mesh" };
  static const char *const canvases[] = { "shard_tensor_canvas", "shard_rank_canvas", "shard_traffic_canvas", "shard_mesh_canvas" };
  g_autoptr (GString) text = g_string_new ("{\"current_stage\": 0, \"parallel_layout_item\": {");
  g_autofree char *path = g_build_filename (folder, "huge.json", NULL);
  for (int i = 0; i < 3000; i++)
    g_string_append_printf (text, "%s\"layer%d.weight\": {\"dev_matrix\": [64, 64], \"field\": 0, \"opt_weight_shard_size\": 0, \"opt_weight_shard_step\": 0, "
                                  "\"tensor_map\": [1, 0], \"tensor_shape\": [4096, 1024]}", i > 0 ? "," : "", i);
  g_string_append (text, "}, \"parallel_strategy_item\": {}}");
  g_assert_true (g_file_set_contents (path, text->str, -1, NULL));
  start (&fixture, NULL, NULL);
  gint64 begun = g_get_monotonic_time ();
  tn_page_shard_open_file (TN_PAGE_SHARD (fixture.page), path);
  widgets_wait (strcmp (tn_page_state (fixture.page), "ready") == 0);
  g_test_message ("opened in %.1f ms", (double) (g_get_monotonic_time () - begun) / 1000);
  g_assert_cmpuint (tn_page_shard_plan (TN_PAGE_SHARD (fixture.page))->items->len, ==, 3000);
  for (gsize i = 0; i < G_N_ELEMENTS (views); i++)
    {
      unsigned nodes, labels;
      double ms;
      show (&fixture, views[i]);
      GtkWidget *canvas = named (&fixture, canvases[i]);
      gtk_widget_queue_draw (canvas);
      gtk_test_widget_wait_for_draw (canvas);
      tn_picture_view_costs (TN_PICTURE_VIEW (canvas), &nodes, &labels, &ms);
      g_test_message ("%s: %u nodes, %u labels, %.1f ms", views[i], nodes, labels, ms);
      g_assert_cmpuint (nodes, >, 0);
      g_assert_cmpuint (nodes, <=, 8000);
      g_assert_cmpuint (labels, <=, 250);
    }
  finish (&fixture);
}

int
main (int argc, char **argv)
{
  if (!widgets_start (&argc, &argv))
    return 0;
  folder = g_dir_make_tmp ("tenon-sharding-XXXXXX", NULL);
  g_test_add_func ("/app/sharding/a-file-shows-who-holds-what", a_file_shows_who_holds_what);
  g_test_add_func ("/app/sharding/an-axis-that-does-not-divide-is-refused", an_axis_that_does_not_divide_is_refused);
  g_test_add_func ("/app/sharding/weights-without-copies-are-the-model", weights_without_copies_are_the_model);
  g_test_add_func ("/app/sharding/what-if-answers-for-other-devices", what_if_answers_for_other_devices);
  g_test_add_func ("/app/sharding/a-huge-strategy-stays-in-the-budget", a_huge_strategy_stays_in_the_budget);
  int status = g_test_run ();
  g_free (folder);
  return status;
}
