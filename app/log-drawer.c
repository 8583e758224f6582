/* SPDX-License-Identifier: Apache-2.0 */
#include "log-drawer.h"

#include <glib/gi18n.h>
#include <math.h>

#include "format.h"
#include "segmented.h"
#include "train/checkpoint.h"

#define MAX_LINES 100000

struct _TnLogDrawer
{
  AdwBin parent_instance;
  TnRunControl *control;
  GtkWidget *stack, *console, *events, *checkpoints, *rank_labels[6];
  TnRunWord last_word;
  GCancellable *reading;
};

G_DEFINE_FINAL_TYPE (TnLogDrawer, tn_log_drawer, ADW_TYPE_BIN)

/* Console. */

static void
add_line (TnLogDrawer *self, const char *text)
{
  GtkTextBuffer *buffer = gtk_text_view_get_buffer (GTK_TEXT_VIEW (self->console));
  GtkTextIter end;
  gtk_text_buffer_get_end_iter (buffer, &end);
  gtk_text_buffer_insert (buffer, &end, text, -1);
  gtk_text_buffer_insert (buffer, &end, "\n", 1);
  if (gtk_text_buffer_get_line_count (buffer) > MAX_LINES)
    {
      GtkTextIter begin, until;
      gtk_text_buffer_get_start_iter (buffer, &begin);
      gtk_text_buffer_get_iter_at_line (buffer, &until, gtk_text_buffer_get_line_count (buffer) - MAX_LINES);
      gtk_text_buffer_delete (buffer, &begin, &until);
    }
  GtkAdjustment *adjustment = gtk_scrollable_get_vadjustment (GTK_SCROLLABLE (self->console));
  /* Follows while the end is in view. */
  if (gtk_adjustment_get_value (adjustment) + gtk_adjustment_get_page_size (adjustment) >= gtk_adjustment_get_upper (adjustment) - 40)
    gtk_text_view_scroll_to_mark (GTK_TEXT_VIEW (self->console), gtk_text_buffer_get_insert (buffer), 0, FALSE, 0, 0);
}

static GtkWidget *
list_row (const char *title, const char *detail)
{
  GtkWidget *row = adw_action_row_new (), *label = gtk_label_new (detail);
  g_autofree char *text = g_markup_escape_text (title, -1);
  adw_preferences_row_set_title (ADW_PREFERENCES_ROW (row), text);
  gtk_widget_add_css_class (label, "dim-label");
  gtk_widget_add_css_class (label, "numeric");
  adw_action_row_add_suffix (ADW_ACTION_ROW (row), label);
  return row;
}

static void
add_event (TnLogDrawer *self, const char *text)
{
  g_autoptr (GDateTime) now = g_date_time_new_now_local ();
  g_autofree char *clock = g_date_time_format (now, "%H:%M:%S"), *line = g_strdup_printf ("%s  %s", clock, text);
  gtk_list_box_prepend (GTK_LIST_BOX (self->events), list_row (text, clock));
  add_line (self, line);
}

static void
message_cb (TnRunControl *control, int level, const char *text, TnLogDrawer *self)
{
  if (level <= G_LOG_LEVEL_WARNING)
    add_event (self, text);
  else
    add_line (self, text);
}

/* What the log of an older run says, read by a worker: its last 256 KiB. */
static void
read_thread (GTask *task, gpointer source, gpointer data, GCancellable *cancellable)
{
  g_autofree char *path = g_build_filename (data, "log.txt", NULL), *text = NULL;
  gsize n = 0;
  const gsize most = 256 * 1024;
  if (!g_file_get_contents (path, &text, &n, NULL))
    text = g_strdup ("");
  g_autofree char *tail = g_strdup (n > most ? text + n - most : text);
  g_task_return_pointer (task, g_utf8_make_valid (tail, -1), g_free);
}

static void
read_cb (GObject *source, GAsyncResult *result, gpointer data)
{
  TnLogDrawer *self = TN_LOG_DRAWER (source);
  g_autofree char *text = g_task_propagate_pointer (G_TASK (result), NULL);
  if (text == NULL)
    return;
  gtk_text_buffer_set_text (gtk_text_view_get_buffer (GTK_TEXT_VIEW (self->console)), text, -1);
}

/* Checkpoints. */

static void
list_thread (GTask *task, gpointer source, gpointer data, GCancellable *cancellable)
{
  g_autofree char *folder = g_build_filename (data, "checkpoints", NULL);
  g_task_return_pointer (task, tn_checkpoint_list (folder), (GDestroyNotify) g_array_unref);
}

static void
list_cb (GObject *source, GAsyncResult *result, gpointer data)
{
  TnLogDrawer *self = TN_LOG_DRAWER (source);
  g_autoptr (GArray) steps = g_task_propagate_pointer (G_TASK (result), NULL);
  GtkListBoxRow *row;
  if (steps == NULL)
    return;
  while ((row = gtk_list_box_get_row_at_index (GTK_LIST_BOX (self->checkpoints), 0)) != NULL)
    gtk_list_box_remove (GTK_LIST_BOX (self->checkpoints), GTK_WIDGET (row));
  for (guint i = steps->len; i > 0; i--)
    {
      g_autofree char *step = tn_format_count_exact (g_array_index (steps, gint64, i - 1)), *title = g_strdup_printf (_("Step %s"), step);
      gtk_list_box_append (GTK_LIST_BOX (self->checkpoints), list_row (title, i == steps->len ? _("newest") : ""));
    }
}

static void
list_checkpoints (TnLogDrawer *self)
{
  const char *path = tn_run_control_path (self->control);
  if (path == NULL)
    return;
  g_autoptr (GTask) task = g_task_new (self, NULL, list_cb, NULL);
  g_task_set_task_data (task, g_strdup (path), g_free);
  g_task_run_in_thread (task, list_thread);
}

static void
checkpointed_cb (TnRunControl *control, gint64 step, TnLogDrawer *self)
{
  g_autofree char *number = tn_format_count_exact (step), *text = g_strdup_printf (_("Checkpoint of step %s"), number);
  add_event (self, text);
  list_checkpoints (self);
}

/* The one rank. */

static void
changed_cb (TnRunControl *control, TnLogDrawer *self)
{
  const TnRunLine *line = tn_run_control_line (control);
  double compute = tn_run_control_last (control, TN_TAG_COMPUTE_MS), data = tn_run_control_last (control, TN_TAG_DATA_MS);
  double memory = tn_run_control_fact (control, "memory_measured");
  char *const texts[] = { g_strdup ("0"), g_strdup (tn_run_word_label (line->word)), tn_format_count_exact (line->step),
                          isfinite (compute) ? tn_format_time_ns ((gint64) ((compute + (isfinite (data) ? data : 0)) * 1e6)) : g_strdup ("—"),
                          isfinite (compute) && isfinite (data) && compute + data > 0 ? tn_format_share (compute / (compute + data)) : g_strdup ("—"),
                          isfinite (memory) ? tn_format_size (memory) : g_strdup ("—") };
  for (guint i = 0; i < G_N_ELEMENTS (texts); i++)
    {
      gtk_label_set_text (GTK_LABEL (self->rank_labels[i]), texts[i]);
      g_free (texts[i]);
    }
  if (line->word != self->last_word)
    {
      self->last_word = line->word;
      g_autofree char *text = tn_run_control_line_text (control);
      if (line->word != TN_WORD_NONE)
        add_event (self, text);
      if (tn_run_word_is_end (line->word))
        list_checkpoints (self);
    }
}

static void
run_changed_cb (TnRunControl *control, TnLogDrawer *self)
{
  GtkListBoxRow *row;
  while ((row = gtk_list_box_get_row_at_index (GTK_LIST_BOX (self->events), 0)) != NULL)
    gtk_list_box_remove (GTK_LIST_BOX (self->events), GTK_WIDGET (row));
  gtk_text_buffer_set_text (gtk_text_view_get_buffer (GTK_TEXT_VIEW (self->console)), "", -1);
  g_cancellable_cancel (self->reading);
  g_clear_object (&self->reading);
  if (tn_run_control_path (control) == NULL)
    return;
  self->reading = g_cancellable_new ();
  g_autoptr (GTask) task = g_task_new (self, self->reading, read_cb, NULL);
  g_task_set_task_data (task, g_strdup (tn_run_control_path (control)), g_free);
  g_task_run_in_thread (task, read_thread);
  list_checkpoints (self);
}

static void
tn_log_drawer_dispose (GObject *object)
{
  TnLogDrawer *self = TN_LOG_DRAWER (object);
  g_cancellable_cancel (self->reading);
  g_clear_object (&self->reading);
  g_clear_object (&self->control);
  G_OBJECT_CLASS (tn_log_drawer_parent_class)->dispose (object);
}

static void
tn_log_drawer_class_init (TnLogDrawerClass *class)
{
  G_OBJECT_CLASS (class)->dispose = tn_log_drawer_dispose;
}

static GtkWidget *
scrolled (GtkWidget *child)
{
  GtkWidget *scroller = gtk_scrolled_window_new ();
  gtk_scrolled_window_set_child (GTK_SCROLLED_WINDOW (scroller), child);
  gtk_widget_set_vexpand (scroller, TRUE);
  return scroller;
}

static GtkWidget *
make_list (const char *id, const char *label, const char *nothing)
{
  GtkWidget *list = gtk_list_box_new (), *empty = gtk_label_new (nothing);
  gtk_widget_set_name (list, id);
  gtk_accessible_update_property (GTK_ACCESSIBLE (list), GTK_ACCESSIBLE_PROPERTY_LABEL, label, -1);
  gtk_widget_add_css_class (empty, "dim-label");
  gtk_widget_set_margin_top (empty, 24);
  gtk_list_box_set_placeholder (GTK_LIST_BOX (list), empty);
  gtk_list_box_set_selection_mode (GTK_LIST_BOX (list), GTK_SELECTION_NONE);
  return list;
}

static GtkWidget *
make_ranks (TnLogDrawer *self)
{
  GtkWidget *grid = gtk_grid_new ();
  static const char *const titles[] = { N_("Rank"), N_("State"), N_("Step"), N_("A step takes"), N_("Computing"), N_("Memory") };
  gtk_widget_set_name (grid, "train_rank_table");
  gtk_grid_set_column_spacing (GTK_GRID (grid), 24);
  gtk_grid_set_row_spacing (GTK_GRID (grid), 6);
  for (int i = 0; i < 6; i++)
    {
      GtkWidget *title = gtk_label_new (_(titles[i]));
      self->rank_labels[i] = gtk_label_new ("—");
      gtk_widget_add_css_class (title, "heading");
      gtk_widget_add_css_class (self->rank_labels[i], "numeric");
      gtk_label_set_xalign (GTK_LABEL (title), 0);
      gtk_label_set_xalign (GTK_LABEL (self->rank_labels[i]), 0);
      gtk_grid_attach (GTK_GRID (grid), title, i, 0, 1, 1);
      gtk_grid_attach (GTK_GRID (grid), self->rank_labels[i], i, 1, 1, 1);
    }
  gtk_widget_set_margin_top (grid, 12);
  gtk_widget_set_margin_start (grid, 12);
  gtk_widget_set_margin_end (grid, 12);
  return grid;
}

static void
tn_log_drawer_init (TnLogDrawer *self)
{
  GtkWidget *box = gtk_box_new (GTK_ORIENTATION_VERTICAL, 6), *tabs = tn_segmented_new (_("Drawer"));
  self->stack = gtk_stack_new ();
  self->console = gtk_text_view_new ();
  gtk_widget_set_name (self->console, "train_console_view");
  gtk_text_view_set_editable (GTK_TEXT_VIEW (self->console), FALSE);
  gtk_text_view_set_monospace (GTK_TEXT_VIEW (self->console), TRUE);
  gtk_text_view_set_left_margin (GTK_TEXT_VIEW (self->console), 12);
  gtk_text_view_set_right_margin (GTK_TEXT_VIEW (self->console), 12);
  gtk_widget_add_css_class (self->console, "console");
  gtk_accessible_update_property (GTK_ACCESSIBLE (self->console), GTK_ACCESSIBLE_PROPERTY_LABEL, _("Console"), -1);
  self->events = make_list ("train_event_list", _("Events"), _("No events yet"));
  self->checkpoints = make_list ("train_checkpoint_list", _("Checkpoints"), _("No checkpoints yet"));
  static const char *const ids[] = { "console", "events", "checkpoints", "ranks" };
  static const char *const names[] = { N_("Console"), N_("Events"), N_("Checkpoints"), N_("Ranks") };
  GtkWidget *const views[] = { self->console, self->events, self->checkpoints, make_ranks (self) };
  for (int i = 0; i < 4; i++)
    {
      gtk_stack_add_named (GTK_STACK (self->stack), scrolled (views[i]), ids[i]);
      tn_segmented_add (TN_SEGMENTED (tabs), ids[i], _(names[i]));
    }
  gtk_widget_set_name (tabs, "train_drawer_toggle");
  gtk_widget_set_halign (tabs, GTK_ALIGN_START);
  gtk_widget_set_margin_top (tabs, 6);
  gtk_widget_set_margin_start (tabs, 12);
  g_object_bind_property (tabs, "active-id", self->stack, "visible-child-name", G_BINDING_SYNC_CREATE);
  gtk_widget_set_vexpand (self->stack, TRUE);
  gtk_box_append (GTK_BOX (box), tabs);
  gtk_box_append (GTK_BOX (box), self->stack);
  adw_bin_set_child (ADW_BIN (self), box);
}

GtkWidget *
tn_log_drawer_new (TnRunControl *control)
{
  TnLogDrawer *self = g_object_new (TN_TYPE_LOG_DRAWER, NULL);
  self->control = g_object_ref (control);
  g_signal_connect_object (control, "message", G_CALLBACK (message_cb), self, 0);
  g_signal_connect_object (control, "checkpointed", G_CALLBACK (checkpointed_cb), self, 0);
  g_signal_connect_object (control, "changed", G_CALLBACK (changed_cb), self, 0);
  g_signal_connect_object (control, "run-changed", G_CALLBACK (run_changed_cb), self, 0);
  run_changed_cb (control, self);
  changed_cb (control, self);
  return GTK_WIDGET (self);
}
