/* SPDX-License-Identifier: Apache-2.0 */
#include <adwaita.h>
#include <math.h>
#include "plot-legend.h"
#include "plot-table-model.h"
#include "plot-table.h"
#include "plot-view.h"

/* The plot in a window: what the tests of drawing cannot see. */

typedef struct
{
  GtkWidget *window;
  TnPlotView *view;
  TnPlotLine *line;
} Fixture;

static gboolean
deadline_cb (gpointer data)
{
  *(gboolean *) data = TRUE;
  return G_SOURCE_REMOVE;
}

/* Waits until @holds, at most 10 s. */
static void
wait_until (gboolean (*holds) (gpointer data), gpointer data)
{
  gboolean late = FALSE;
  guint timeout = g_timeout_add_seconds (10, deadline_cb, &late);
  while (!holds (data) && !late)
    g_main_context_iteration (NULL, TRUE);
  g_assert_true (holds (data));
  if (!late)
    g_source_remove (timeout);
}

static gboolean
is_drawn (gpointer data)
{
  unsigned nodes, labels;
  double ms;
  tn_plot_view_costs (((Fixture *) data)->view, &nodes, &labels, &ms);
  return nodes > 0;
}

static void
set_up (Fixture *fixture, gconstpointer data)
{
  fixture->view = TN_PLOT_VIEW (tn_plot_view_new ("loss"));
  g_autoptr (TnSeries) series = tn_series_new ("train/loss");
  fixture->line = tn_plot_add (tn_plot_view_plot (fixture->view), series, "training", NULL);
  for (int i = 0; i < 1000; i++)
    tn_plot_view_append (fixture->view, fixture->line, i, 1.0 / (i + 1), INT64_C (1700000000000000) + i * 1000);
  fixture->window = gtk_window_new ();
  gtk_window_set_default_size (GTK_WINDOW (fixture->window), 700, 400);
  gtk_window_set_child (GTK_WINDOW (fixture->window), GTK_WIDGET (fixture->view));
  gtk_window_present (GTK_WINDOW (fixture->window));
  wait_until (is_drawn, fixture);
}

static void
tear_down (Fixture *fixture, gconstpointer data)
{
  gtk_window_destroy (GTK_WINDOW (fixture->window));
}

static void
count_cb (gpointer object, gpointer pspec, int *count)
{
  (*count)++;
}

static void
test_role (Fixture *fixture, gconstpointer data)
{
  g_assert_cmpint (gtk_accessible_get_accessible_role (GTK_ACCESSIBLE (fixture->view)), ==, GTK_ACCESSIBLE_ROLE_IMG);
  g_assert_true (gtk_widget_get_focusable (GTK_WIDGET (fixture->view)));
  if (g_strcmp0 (g_getenv ("GTK_A11Y"), "test") == 0)
    {
      gtk_test_accessible_assert_property (fixture->view, GTK_ACCESSIBLE_PROPERTY_LABEL, "loss");
      gtk_test_accessible_assert_property (fixture->view, GTK_ACCESSIBLE_PROPERTY_DESCRIPTION, "loss, 1 line, 1000 steps, last 0.001000");
    }
}

static void
test_hover_is_shared (Fixture *fixture, gconstpointer data)
{
  g_autoptr (TnPlotView) other = g_object_ref_sink (TN_PLOT_VIEW (tn_plot_view_new ("accuracy")));
  int count = 0;
  g_object_bind_property (fixture->view, "hover-step", other, "hover-step", G_BINDING_BIDIRECTIONAL);
  g_signal_connect (fixture->view, "notify::hover-step", G_CALLBACK (count_cb), &count);
  tn_plot_view_set_hover_step (other, 77);
  g_assert_cmpint (tn_plot_view_hover_step (fixture->view), ==, 77);
  tn_plot_view_set_hover_step (fixture->view, 77);
  g_assert_cmpint (count, ==, 1); /* only on change */
}

static gboolean
is_rested (gpointer data)
{
  return *(int *) data > 0;
}

static void
rested_cb (TnPlotView *view, int *count)
{
  (*count)++;
}

static void
test_zoom (Fixture *fixture, gconstpointer data)
{
  GtkWidget *widget = GTK_WIDGET (fixture->view);
  double low, high, first_low, first_high;
  int rested = 0;
  const TnAxis *x = tn_plot_x_axis (tn_plot_view_plot (fixture->view));
  first_low = x->low;
  first_high = x->high;
  g_signal_connect (fixture->view, "view-rested", G_CALLBACK (rested_cb), &rested);
  for (int i = 0; i < 3; i++)
    gtk_widget_activate_action (widget, "plot.zoom-in", NULL);
  tn_plot_view_get_range (fixture->view, &low, &high);
  g_assert_cmpfloat_with_epsilon (high - low, (first_high - first_low) / pow (1.5, 3), 1e-6);
  wait_until (is_rested, &rested);
  g_assert_cmpint (rested, ==, 1); /* three presses, one entry of the history */
  gtk_widget_activate_action (widget, "plot.fit", NULL);
  tn_plot_view_get_range (fixture->view, &low, &high);
  g_assert_cmpfloat (low, ==, 0);
  g_assert_cmpfloat (high, ==, 0);
}

static void
test_menu_state (Fixture *fixture, gconstpointer data)
{
  gboolean on;
  gtk_widget_activate_action (GTK_WIDGET (fixture->view), "plot.log-y", NULL);
  g_object_get (fixture->view, "log-y", &on, NULL);
  g_assert_true (on);
  g_assert_true (tn_plot_options (tn_plot_view_plot (fixture->view))->y_log);
}

static void
test_events (Fixture *fixture, gconstpointer data)
{
  TnPlot *plot = tn_plot_view_plot (fixture->view);
  tn_plot_add_event (plot, TN_EVENT_SETTING, 300, 0, "lr 0.1");
  tn_plot_add_event (plot, TN_EVENT_CHECKPOINT, 600, 0, NULL);
  gtk_widget_activate_action (GTK_WIDGET (fixture->view), "plot.next-event", NULL);
  g_assert_cmpint (tn_plot_view_hover_step (fixture->view), ==, 300);
  gtk_widget_activate_action (GTK_WIDGET (fixture->view), "plot.next-event", NULL);
  g_assert_cmpint (tn_plot_view_hover_step (fixture->view), ==, 600);
  gtk_widget_activate_action (GTK_WIDGET (fixture->view), "plot.previous-event", NULL);
  g_assert_cmpint (tn_plot_view_hover_step (fixture->view), ==, 300);
}

static void
test_twin_and_legend (Fixture *fixture, gconstpointer data)
{
  GtkWidget *box = gtk_box_new (GTK_ORIENTATION_VERTICAL, 0), *table = tn_plot_table_new (fixture->view), *legend = tn_plot_legend_new (fixture->view);
  GtkWidget *window = gtk_window_new ();
  gtk_widget_set_size_request (table, 400, 200);
  gtk_box_append (GTK_BOX (box), table);
  gtk_box_append (GTK_BOX (box), legend);
  gtk_window_set_child (GTK_WINDOW (window), box);
  gtk_window_present (GTK_WINDOW (window));
  for (int i = 1000; i < 1100; i++)
    {
      tn_plot_view_append (fixture->view, fixture->line, i, i % 7 == 0 ? NAN : 1, 0);
      tn_plot_table_changed (TN_PLOT_TABLE (table));
      tn_plot_legend_changed (TN_PLOT_LEGEND (legend));
      g_main_context_iteration (NULL, FALSE);
    }
  tn_plot_table_show_step (TN_PLOT_TABLE (table), 900);
  gtk_window_destroy (GTK_WINDOW (window));
}

static void
test_finalize (void)
{
  TnPlotView *view = g_object_ref_sink (TN_PLOT_VIEW (tn_plot_view_new ("x")));
  TnPlotLegend *legend = g_object_ref_sink (TN_PLOT_LEGEND (tn_plot_legend_new (view)));
  TnPlotTable *table = g_object_ref_sink (TN_PLOT_TABLE (tn_plot_table_new (view)));
  g_object_run_dispose (G_OBJECT (table));
  g_object_run_dispose (G_OBJECT (legend));
  g_assert_finalize_object (table);
  g_assert_finalize_object (legend);
  g_assert_finalize_object (view);
}

/* --- the model of the table, against a sorted list of all steps --- */

static void
check_model (TnPlotTableModel *model, const int64_t *steps, guint n)
{
  g_assert_cmpuint (g_list_model_get_n_items (G_LIST_MODEL (model)), ==, n);
  for (guint i = 0; i < n; i++)
    {
      g_autoptr (TnPlotTableRow) row = g_list_model_get_item (G_LIST_MODEL (model), i);
      g_assert_cmpint (tn_plot_table_row_step (row), ==, steps[i]);
      g_assert_cmpuint (tn_plot_table_model_find (model, steps[i]), ==, i);
    }
}

static void
test_model_union (void)
{
  guint32 seed = g_test_rand_int ();
  g_test_message ("seed %u", seed);
  g_autoptr (GRand) rand = g_rand_new_with_seed (seed);
  for (int round = 0; round < 40; round++)
    {
      g_autoptr (TnPlot) plot = tn_plot_new ("x");
      g_autoptr (GArray) want = g_array_new (FALSE, FALSE, sizeof (int64_t));
      g_autoptr (TnSeries) one = tn_series_new ("a"), two = tn_series_new ("b"), three = tn_series_new ("c");
      TnSeries *lines[] = { one, two, three };
      for (int l = 0; l < 3; l++)
        tn_plot_add (plot, lines[l], "line", NULL);
      g_autoptr (TnPlotTableModel) model = tn_plot_table_model_new (plot);
      for (int64_t step = 0; step < 300; step++)
        {
          gboolean any = FALSE;
          for (int l = 0; l < 3; l++)
            if (g_rand_int_range (rand, 0, 2 + l) == 0)
              {
                tn_series_append (lines[l], step, (double) step, step);
                any = TRUE;
              }
          if (any)
            g_array_append_val (want, step);
          if (g_rand_int_range (rand, 0, 10) == 0)
            tn_plot_table_model_update (model);
        }
      tn_plot_table_model_update (model);
      check_model (model, (const int64_t *) want->data, want->len);
    }
}

static void
changed_cb (GListModel *model, guint position, guint removed, guint added, GArray *copy)
{
  g_array_remove_range (copy, position, removed);
  for (guint i = 0; i < added; i++)
    {
      g_autoptr (TnPlotTableRow) row = g_list_model_get_item (model, position + i);
      int64_t step = tn_plot_table_row_step (row);
      g_array_insert_val (copy, position + i, step);
    }
}

/* Who follows only the signals has the same rows. */
static void
test_model_signals (void)
{
  g_autoptr (TnPlot) plot = tn_plot_new ("x");
  g_autoptr (TnSeries) train = tn_series_new ("a"), validation = tn_series_new ("b");
  g_autoptr (GArray) copy = g_array_new (FALSE, FALSE, sizeof (int64_t));
  tn_plot_add (plot, train, "train", NULL);
  tn_plot_add (plot, validation, "validation", NULL);
  g_autoptr (TnPlotTableModel) model = tn_plot_table_model_new (plot);
  g_signal_connect (model, "items-changed", G_CALLBACK (changed_cb), copy);
  for (int i = 0; i < 500; i++)
    {
      tn_series_append (train, i, i, i);
      if (i % 50 == 49)
        tn_series_append (validation, i + (i == 249), i, i);
      if (i == 300)
        {
          tn_series_restart (train, 280);
          tn_series_append (train, 280, 1, i);
          tn_series_append (train, 300, 1, i);
        }
      tn_plot_table_model_update (model);
      g_assert_cmpuint (copy->len, ==, g_list_model_get_n_items (G_LIST_MODEL (model)));
    }
  check_model (model, (const int64_t *) copy->data, copy->len);
}

static void
test_model_large (void)
{
  g_autoptr (TnPlot) plot = tn_plot_new ("x");
  g_autoptr (TnSeries) series = tn_series_new ("a");
  for (int i = 0; i < 10000000; i++)
    tn_series_append (series, i, i, i);
  tn_plot_add (plot, series, "line", NULL);
  g_autoptr (TnPlotTableModel) model = tn_plot_table_model_new (plot);
  g_assert_cmpuint (g_list_model_get_n_items (G_LIST_MODEL (model)), ==, 10000000);
  g_autoptr (TnPlotTableRow) row = g_list_model_get_item (G_LIST_MODEL (model), 9999999);
  g_assert_cmpint (tn_plot_table_row_step (row), ==, 9999999);
  g_assert_cmpuint (tn_plot_table_row_in (row, series), ==, 9999999);
}

#define ADD(name, test) g_test_add (name, Fixture, NULL, set_up, test, tear_down)

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/widgets/plot-table-model/rows-are-the-union-of-steps", test_model_union);
  g_test_add_func ("/widgets/plot-table-model/signals-tell-all", test_model_signals);
  g_test_add_func ("/widgets/plot-table-model/ten-million-rows-cost-nothing", test_model_large);
  if (!gtk_init_check ())
    return g_test_run ();
  adw_init ();
  ADD ("/widgets/plot-view/is-a-named-picture", test_role);
  ADD ("/widgets/plot-view/the-crosshair-is-shared", test_hover_is_shared);
  ADD ("/widgets/plot-view/zoom-rests-once", test_zoom);
  ADD ("/widgets/plot-view/menu-items-have-a-state", test_menu_state);
  ADD ("/widgets/plot-view/jumps-from-event-to-event", test_events);
  ADD ("/widgets/plot-view/table-and-legend-keep-up", test_twin_and_legend);
  g_test_add_func ("/widgets/plot-view/leaves-nothing-behind", test_finalize);
  return g_test_run ();
}
