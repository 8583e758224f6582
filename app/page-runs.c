/* SPDX-License-Identifier: Apache-2.0 */
#include "page-runs.h"

#include <glib/gi18n.h>
#include <math.h>

#include "format.h"
#include "plot-view.h"
#include "runs-scan.h"
#include "segmented.h"
#include "state-pane.h"
#include "table.h"
#include "train/run-removal.h"
#include "window.h"

#define MAX_CURVES 12

struct _TnPageRuns
{
  TnPage parent_instance;
  GtkWidget *views, *stack, *pane, *table, *compare_pane, *plot, *removed_toggle;
  TnTableModel *model;
  TnRunScan *scan;
  GCancellable *scanning, *reading;
  GPtrArray *moved; /* paths in runs/.removed that Undo brings back */
  GSimpleActionGroup *actions;
};

G_DEFINE_FINAL_TYPE (TnPageRuns, tn_page_runs, TN_TYPE_PAGE)

enum
{
  STATE,
  NAME,
  SETTINGS,
  STEP,
  LOSS,
  ACCURACY,
  BEST,
  DURATION,
  SIZE,
  STARTED
};

static void look (TnPageRuns *self);

static guint
n_runs (gpointer data)
{
  TnPageRuns *self = data;
  return self->scan != NULL ? self->scan->entries->len : 0;
}

static double
number_of (gpointer data, guint row, guint column)
{
  const TnRunEntry *entry = ((TnPageRuns *) data)->scan->entries->pdata[row];
  const double numbers[] = { entry->step, entry->loss, entry->accuracy, entry->best, entry->seconds, entry->bytes, entry->started };
  return column >= STEP ? numbers[column - STEP] : NAN;
}

static const char *
state_text (const TnRunEntry *entry)
{
  static const char *const words[TN_RUN_N_STATES] = { N_ ("Queued"), N_ ("Starting"), N_ ("Running"), N_ ("Paused"), N_ ("Parked"),
                                                      N_ ("Stopping"), N_ ("Stopped"), N_ ("Finished"), N_ ("Failed"), N_ ("Lost") };
  return entry->problem != NULL ? _ ("Damaged") : _ (words[entry->state]);
}

static char *
text_of (gpointer data, guint row, guint column)
{
  const TnRunEntry *entry = ((TnPageRuns *) data)->scan->entries->pdata[row];
  double value = number_of (data, row, column);
  if (column == STATE)
    return g_strdup (state_text (entry));
  if (column == NAME)
    return g_strdup (entry->name);
  if (column == SETTINGS)
    return g_strdup (entry->problem != NULL ? entry->problem : entry->differing);
  if (isnan (value))
    return g_strdup ("–");
  switch (column)
    {
    case STEP:
      return tn_format_count ((gint64) value);
    case LOSS:
      return tn_format_loss (value);
    case DURATION:
      return tn_format_duration (value);
    case SIZE:
      return tn_format_size (value);
    case STARTED:
      return tn_format_moment ((gint64) (value * G_USEC_PER_SEC));
    default:
      return tn_format_share (value);
    }
}

static gboolean
shows_removed (TnPageRuns *self)
{
  return gtk_toggle_button_get_active (GTK_TOGGLE_BUTTON (self->removed_toggle));
}

/* Paths of the selected rows, in the order shown. */
static GPtrArray *
selected_paths (TnPageRuns *self)
{
  GPtrArray *paths = g_ptr_array_new_with_free_func (g_free);
  g_autoptr (GArray) rows = tn_table_get_selected (TN_TABLE (self->table));
  for (guint i = 0; i < rows->len && self->scan != NULL; i++)
    {
      guint row = g_array_index (rows, guint, i);
      if (row < self->scan->entries->len)
        g_ptr_array_add (paths, g_strdup (((TnRunEntry *) self->scan->entries->pdata[row])->path));
    }
  return paths;
}

static void
update_actions (TnPageRuns *self)
{
  g_autoptr (GPtrArray) paths = selected_paths (self);
  gboolean removed = shows_removed (self);
  const gboolean can[] = { paths->len > 0 && !removed, paths->len > 0 && removed, paths->len == 1 && !removed, paths->len == 1 && !removed };
  static const char *const names[] = { "remove", "restore", "resume", "open" };
  for (guint i = 0; i < G_N_ELEMENTS (names); i++)
    g_simple_action_set_enabled (G_SIMPLE_ACTION (g_action_map_lookup_action (G_ACTION_MAP (self->actions), names[i])), can[i]);
}

/* Compare. */

static void
curves_cb (GObject *source, GAsyncResult *result, gpointer data)
{
  g_autoptr (TnPageRuns) self = data;
  g_autoptr (GPtrArray) curves = tn_run_curves_finish (result, NULL);
  if (curves == NULL || self->plot == NULL) /* cancelled: another choice is being read */
    return;
  char **names = g_object_get_data (G_OBJECT (g_task_get_cancellable (G_TASK (result))), "names");
  TnPlot *plot = tn_plot_view_plot (TN_PLOT_VIEW (self->plot));
  tn_plot_remove_all (plot);
  for (guint i = 0; i < curves->len; i++)
    tn_plot_add (plot, curves->pdata[i], names[i], names[i])->color = i;
  tn_plot_view_changed (TN_PLOT_VIEW (self->plot));
  tn_state_pane_set_content (TN_STATE_PANE (self->compare_pane));
}

static void
compare (TnPageRuns *self)
{
  update_actions (self);
  if (g_strcmp0 (tn_segmented_get_active_id (TN_SEGMENTED (self->views)), "compare") != 0)
    return;
  if (self->reading != NULL)
    g_cancellable_cancel (self->reading);
  g_clear_object (&self->reading);
  g_autoptr (GPtrArray) paths = selected_paths (self);
  if (paths->len == 0)
    {
      tn_state_pane_set_empty (TN_STATE_PANE (self->compare_pane), "tn-train-symbolic", _ ("No Runs Selected"),
                               _ ("Select runs in the list: their losses are drawn over each other here."), _ ("Show List"), "runs.show-list");
      return;
    }
  g_ptr_array_set_size (paths, (int) MIN (paths->len, MAX_CURVES));
  GStrv names = g_new0 (char *, paths->len + 1);
  for (guint i = 0; i < paths->len; i++)
    names[i] = g_path_get_basename (paths->pdata[i]);
  g_ptr_array_add (paths, NULL);
  self->reading = g_cancellable_new ();
  g_object_set_data_full (G_OBJECT (self->reading), "names", names, (GDestroyNotify) g_strfreev);
  tn_state_pane_set_loading (TN_STATE_PANE (self->compare_pane), _ ("Reading the curves"), -1);
  tn_run_curves_async ((const char *const *) paths->pdata, self->reading, curves_cb, g_object_ref (self));
}

static void
view_cb (TnPageRuns *self)
{
  gtk_stack_set_visible_child_name (GTK_STACK (self->stack), tn_segmented_get_active_id (TN_SEGMENTED (self->views)));
  compare (self);
}

/* List. */

static void
scanned_cb (GObject *source, GAsyncResult *result, gpointer data)
{
  g_autoptr (TnPageRuns) self = data;
  g_autoptr (GError) error = NULL;
  TnRunScan *scan = tn_run_scan_finish (result, &error);
  if (g_error_matches (error, G_IO_ERROR, G_IO_ERROR_CANCELLED) || self->pane == NULL)
    {
      tn_run_scan_free (scan);
      return;
    }
  g_clear_pointer (&self->scan, tn_run_scan_free);
  self->scan = scan;
  tn_table_model_changed (self->model);
  if (scan == NULL)
    tn_state_pane_set_failed (TN_STATE_PANE (self->pane), _ ("The Runs Cannot Be Read"), error->message, _ ("Try Again"), "runs.reload");
  else if (scan->entries->len > 0)
    tn_state_pane_set_content (TN_STATE_PANE (self->pane));
  else if (shows_removed (self))
    tn_state_pane_set_empty (TN_STATE_PANE (self->pane), "user-trash-symbolic", _ ("No Removed Runs"),
                             _ ("Runs that are removed wait here and can be brought back."), NULL, NULL);
  else
    tn_state_pane_set_empty (TN_STATE_PANE (self->pane), "tn-train-symbolic", _ ("No Runs Yet"),
                             _ ("Each training is kept here with its settings and curves."), _ ("Train"), "win.train");
  compare (self);
}

static void
look (TnPageRuns *self)
{
  TnDocument *document = tn_page_document (TN_PAGE (self));
  if (self->pane == NULL || document == NULL)
    return;
  if (self->scanning != NULL)
    g_cancellable_cancel (self->scanning);
  g_clear_object (&self->scanning);
  self->scanning = g_cancellable_new ();
  if (self->scan == NULL)
    tn_state_pane_set_loading (TN_STATE_PANE (self->pane), _ ("Reading the runs"), -1);
  tn_run_scan_async (tn_document_path (document), shows_removed (self), self->scanning, scanned_cb, g_object_ref (self));
}

/* Moving runs out of the project and back, in a worker. */

typedef struct
{
  GPtrArray *paths;
  gboolean restore;
} Move;

static void
move_free (Move *move)
{
  g_ptr_array_unref (move->paths);
  g_free (move);
}

static void
move_thread (GTask *task, gpointer source, gpointer data, GCancellable *cancellable)
{
  Move *move = data;
  GError *error = NULL;
  GPtrArray *moved = g_ptr_array_new_with_free_func (g_free);
  for (guint i = 0; i < move->paths->len && error == NULL; i++)
    {
      char *to = move->restore ? tn_run_restore (move->paths->pdata[i], &error) : tn_run_remove (move->paths->pdata[i], &error);
      if (to != NULL)
        g_ptr_array_add (moved, to);
    }
  /* Those before a refused one have moved: the error rides along. */
  g_object_set_data_full (G_OBJECT (task), "error", error, error != NULL ? (GDestroyNotify) g_error_free : NULL);
  g_task_return_pointer (task, moved, (GDestroyNotify) g_ptr_array_unref);
}

static void
moved_cb (GObject *source, GAsyncResult *result, gpointer data)
{
  TnPageRuns *self = TN_PAGE_RUNS (source);
  Move *move = g_task_get_task_data (G_TASK (result));
  GError *error = g_object_get_data (G_OBJECT (result), "error");
  g_autoptr (GPtrArray) moved = g_task_propagate_pointer (G_TASK (result), NULL);
  GtkRoot *root = gtk_widget_get_root (GTK_WIDGET (self));
  if (root != NULL && error != NULL)
    tn_window_show_error (TN_WINDOW (root), error);
  if (root != NULL && moved->len > 0 && !move->restore)
    {
      g_clear_pointer (&self->moved, g_ptr_array_unref);
      self->moved = g_ptr_array_ref (moved);
      g_autofree char *text = g_strdup_printf (g_dngettext (NULL, "%u run removed", "%u runs removed", moved->len), moved->len);
      gtk_widget_insert_action_group (GTK_WIDGET (root), "runs", G_ACTION_GROUP (self->actions)); /* the toast is outside the page */
      tn_window_toast_action (TN_WINDOW (root), text, _ ("Undo"), "runs.undo-remove");
    }
  look (self);
}

static void
start_move (TnPageRuns *self, GPtrArray *paths, gboolean restore)
{
  Move *move = g_new0 (Move, 1);
  move->paths = g_ptr_array_ref (paths);
  move->restore = restore;
  g_autoptr (GTask) task = g_task_new (self, NULL, moved_cb, NULL);
  g_task_set_task_data (task, move, (GDestroyNotify) move_free);
  g_task_run_in_thread (task, move_thread);
}

static void
remove_action (GSimpleAction *action, GVariant *parameter, gpointer data)
{
  g_autoptr (GPtrArray) paths = selected_paths (data);
  start_move (data, paths, FALSE);
}

static void
restore_action (GSimpleAction *action, GVariant *parameter, gpointer data)
{
  g_autoptr (GPtrArray) paths = selected_paths (data);
  start_move (data, paths, TRUE);
}

static void
undo_action (GSimpleAction *action, GVariant *parameter, gpointer data)
{
  TnPageRuns *self = data;
  g_autoptr (GPtrArray) paths = g_steal_pointer (&self->moved);
  if (paths != NULL)
    start_move (self, paths, TRUE);
}

static void
open_selected (TnPageRuns *self, gboolean resume)
{
  g_autoptr (GPtrArray) paths = selected_paths (self);
  GtkRoot *root = gtk_widget_get_root (GTK_WIDGET (self));
  if (paths->len != 1 || root == NULL || shows_removed (self))
    return;
  TnRunControl *control = tn_page_control (TN_PAGE (self));
  tn_run_control_select (control, paths->pdata[0]);
  if (resume)
    tn_run_control_resume (control);
  tn_window_show_page (TN_WINDOW (root), "train");
}

static void
open_action (GSimpleAction *action, GVariant *parameter, gpointer data)
{
  open_selected (data, FALSE);
}

static void
resume_action (GSimpleAction *action, GVariant *parameter, gpointer data)
{
  open_selected (data, TRUE);
}

static void
reload_action (GSimpleAction *action, GVariant *parameter, gpointer data)
{
  look (data);
}

static void
show_list_action (GSimpleAction *action, GVariant *parameter, gpointer data)
{
  tn_segmented_set_active_id (TN_SEGMENTED (((TnPageRuns *) data)->views), "list");
}

static void
activated_cb (TnTable *table, guint row, TnPageRuns *self)
{
  open_selected (self, FALSE);
}

static void
removed_toggled_cb (TnPageRuns *self)
{
  g_clear_pointer (&self->scan, tn_run_scan_free);
  tn_table_model_changed (self->model);
  look (self);
}

static void
add_button (TnPageRuns *self, const char *icon, const char *id, const char *title, const char *action)
{
  GtkWidget *button = gtk_button_new_from_icon_name (icon);
  gtk_widget_set_name (button, id);
  gtk_widget_add_css_class (button, "flat");
  gtk_widget_set_tooltip_text (button, title);
  gtk_accessible_update_property (GTK_ACCESSIBLE (button), GTK_ACCESSIBLE_PROPERTY_LABEL, title, -1);
  gtk_actionable_set_action_name (GTK_ACTIONABLE (button), action);
  tn_page_add_tool (TN_PAGE (self), button);
}

static void
tn_page_runs_build (TnPage *page)
{
  TnPageRuns *self = TN_PAGE_RUNS (page);
  static const TnTableFuncs funcs = { n_runs, text_of, number_of };
  const TnTableColumn columns[] = {
    { "state", _ ("State"), TN_COLUMN_TEXT },     { "name", _ ("Run"), TN_COLUMN_TEXT, .expand = TRUE },
    { "settings", _ ("Differs In"), TN_COLUMN_TEXT }, { "step", _ ("Step"), TN_COLUMN_NUMBER },
    { "loss", _ ("Loss"), TN_COLUMN_NUMBER },     { "accuracy", _ ("Accuracy"), TN_COLUMN_SHARE },
    { "best", _ ("Best"), TN_COLUMN_SHARE },      { "duration", _ ("Duration"), TN_COLUMN_TIME },
    { "size", _ ("Size"), TN_COLUMN_BYTES },      { "started", _ ("Started"), TN_COLUMN_NUMBER },
  };
  static const GActionEntry entries[] = {
    { .name = "remove", .activate = remove_action },   { .name = "restore", .activate = restore_action },
    { .name = "undo-remove", .activate = undo_action }, { .name = "open", .activate = open_action },
    { .name = "resume", .activate = resume_action },   { .name = "reload", .activate = reload_action },
    { .name = "show-list", .activate = show_list_action },
  };
  self->actions = g_simple_action_group_new ();
  g_action_map_add_action_entries (G_ACTION_MAP (self->actions), entries, G_N_ELEMENTS (entries), self);
  gtk_widget_insert_action_group (GTK_WIDGET (self), "runs", G_ACTION_GROUP (self->actions));

  self->model = tn_table_model_new (columns, G_N_ELEMENTS (columns), &funcs, self, NULL);
  self->table = tn_table_new (self->model, "runs_table", _ ("Runs table"));
  g_autoptr (GMenu) menu = g_menu_new ();
  g_menu_append (menu, _ ("Open"), "runs.open");
  g_menu_append (menu, _ ("Resume"), "runs.resume");
  g_menu_append (menu, _ ("Remove"), "runs.remove");
  g_menu_append (menu, _ ("Bring Back"), "runs.restore");
  tn_table_set_row_menu (TN_TABLE (self->table), G_MENU_MODEL (menu));
  gtk_widget_set_vexpand (self->table, TRUE);
  self->pane = tn_state_pane_new (self->table);
  self->plot = tn_plot_view_new (_ ("Loss"));
  gtk_widget_set_name (self->plot, "runs_compare_canvas");
  self->compare_pane = tn_state_pane_new (self->plot);
  self->stack = gtk_stack_new ();
  gtk_widget_set_name (self->stack, "runs_compare_stack");
  gtk_stack_add_named (GTK_STACK (self->stack), self->pane, "list");
  gtk_stack_add_named (GTK_STACK (self->stack), self->compare_pane, "compare");
  self->views = tn_segmented_new (_ ("View"));
  tn_segmented_add (TN_SEGMENTED (self->views), "list", _ ("List"));
  tn_segmented_add (TN_SEGMENTED (self->views), "compare", _ ("Compare"));
  self->removed_toggle = gtk_toggle_button_new_with_label (_ ("Removed"));
  gtk_widget_set_name (self->removed_toggle, "runs_removed_toggle");
  GtkWidget *spacer = gtk_box_new (GTK_ORIENTATION_HORIZONTAL, 0);
  gtk_widget_set_hexpand (spacer, TRUE);
  tn_page_add_tool (page, self->views);
  tn_page_add_tool (page, spacer);
  tn_page_add_tool (page, self->removed_toggle);
  add_button (self, "media-playback-start-symbolic", "runs_resume_button", _ ("Resume"), "runs.resume");
  add_button (self, "user-trash-symbolic", "runs_remove_button", _ ("Remove"), "runs.remove");
  tn_page_set_content (page, self->stack);

  g_signal_connect (self->table, "row-activated", G_CALLBACK (activated_cb), self);
  g_signal_connect_swapped (self->table, "selection-changed", G_CALLBACK (compare), self);
  g_signal_connect_swapped (self->views, "notify::active-id", G_CALLBACK (view_cb), self);
  g_signal_connect_swapped (self->removed_toggle, "toggled", G_CALLBACK (removed_toggled_cb), self);
  g_signal_connect_object (tn_page_control (page), "runs-changed", G_CALLBACK (look), self, G_CONNECT_SWAPPED);
  update_actions (self);
}

static void
tn_page_runs_document_changed (TnPage *page)
{
  TnPageRuns *self = TN_PAGE_RUNS (page);
  g_clear_pointer (&self->scan, tn_run_scan_free);
  g_clear_pointer (&self->moved, g_ptr_array_unref);
  tn_table_model_changed (self->model);
  look (self);
}

static void
tn_page_runs_width_changed (TnPage *page, TnWidthClass width)
{
  tn_table_set_narrow (TN_TABLE (TN_PAGE_RUNS (page)->table), width == TN_WIDTH_COMPACT);
}

static guint
tn_page_runs_verbs (TnPage *page)
{
  return 1u << TN_PAGE_FIND | 1u << TN_PAGE_RELOAD | 1u << TN_PAGE_NEXT_VIEW | 1u << TN_PAGE_PREVIOUS_VIEW;
}

static gboolean
tn_page_runs_perform (TnPage *page, TnPageVerb verb)
{
  TnPageRuns *self = TN_PAGE_RUNS (page);
  switch ((int) verb)
    {
    case TN_PAGE_FIND:
      tn_segmented_set_active_id (TN_SEGMENTED (self->views), "list");
      tn_table_focus_filter (TN_TABLE (self->table));
      return TRUE;
    case TN_PAGE_RELOAD:
      look (self);
      return TRUE;
    case TN_PAGE_NEXT_VIEW:
      return tn_segmented_move (TN_SEGMENTED (self->views), 1);
    case TN_PAGE_PREVIOUS_VIEW:
      return tn_segmented_move (TN_SEGMENTED (self->views), -1);
    default:
      return FALSE;
    }
}

static const char *
tn_page_runs_state (TnPage *page)
{
  TnPageRuns *self = TN_PAGE_RUNS (page);
  return self->pane != NULL ? tn_state_pane_get_state (TN_STATE_PANE (self->pane)) : "empty";
}

static void
tn_page_runs_dispose (GObject *object)
{
  TnPageRuns *self = TN_PAGE_RUNS (object);
  if (self->scanning != NULL)
    g_cancellable_cancel (self->scanning);
  if (self->reading != NULL)
    g_cancellable_cancel (self->reading);
  g_clear_object (&self->scanning);
  g_clear_object (&self->reading);
  self->pane = self->plot = NULL;
  g_clear_pointer (&self->moved, g_ptr_array_unref);
  G_OBJECT_CLASS (tn_page_runs_parent_class)->dispose (object);
}

static void
tn_page_runs_finalize (GObject *object)
{
  TnPageRuns *self = TN_PAGE_RUNS (object);
  g_clear_pointer (&self->scan, tn_run_scan_free);
  g_clear_object (&self->model);
  g_clear_object (&self->actions);
  G_OBJECT_CLASS (tn_page_runs_parent_class)->finalize (object);
}

static void
tn_page_runs_class_init (TnPageRunsClass *class)
{
  TnPageClass *page_class = TN_PAGE_CLASS (class);
  G_OBJECT_CLASS (class)->dispose = tn_page_runs_dispose;
  G_OBJECT_CLASS (class)->finalize = tn_page_runs_finalize;
  page_class->build = tn_page_runs_build;
  page_class->document_changed = tn_page_runs_document_changed;
  page_class->width_changed = tn_page_runs_width_changed;
  page_class->verbs = tn_page_runs_verbs;
  page_class->perform = tn_page_runs_perform;
  page_class->state = tn_page_runs_state;
}

static void
tn_page_runs_init (TnPageRuns *self)
{
}
