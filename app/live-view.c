/* SPDX-License-Identifier: Apache-2.0 */
#include "live-view.h"

#include <glib/gi18n.h>
#include <math.h>

#include "application.h"
#include "banner.h"
#include "format.h"
#include "plot-view.h"
#include "setting-titles.h"
#include "watch-view.h"

/* One card. The second line, where there is one, is the validation's. */
static const struct
{
  const char *id, *title, *heading;
  int tag, validation;
  gboolean unit_interval, ghost;
} cards[] = {
  { "train_loss_canvas", N_("Loss"), N_("Loss"), TN_TAG_LOSS, TN_TAG_VALIDATION_LOSS, FALSE, TRUE },
  { "train_accuracy_canvas", N_("Validation accuracy"), N_("Accuracy"), -1, TN_TAG_VALIDATION_ACCURACY, TRUE, TRUE },
  { "train_learning_rate_canvas", N_("Learning rate"), N_("Learning rate"), TN_TAG_LEARNING_RATE, -1, FALSE, FALSE },
  { "train_gradient_norm_canvas", N_("Gradient norm"), N_("Gradient norm"), TN_TAG_GRADIENT_NORM, -1, FALSE, FALSE },
};
#define N_CARDS ((int) G_N_ELEMENTS (cards))
#define N_FIRST 2 /* that stand above what the run has learned */

struct _TnLiveView
{
  AdwBin parent_instance;
  TnRunControl *control;
  TnSelection *selection;
  GtkWidget *banner, *progress, *numbers[4], *position, *flows[2], *box, *watch, *plots[N_CARDS];
  TnRun *ghost; /* being read */
  TnSettings *ghost_settings;
  GCancellable *ghost_opening;
  char *ghost_path;
  TnSeries *ghost_series[TN_N_TAGS];
  double smoothing;
  gboolean selecting, banner_draws;
  TnRunWord banner_word;
};

G_DEFINE_FINAL_TYPE (TnLiveView, tn_live_view, ADW_TYPE_BIN)

static const char *const number_ids[] = { "train_loss_label", "train_accuracy_label", "train_speed_label", "train_memory_label" };
static const char *const number_titles[] = { N_("loss"), N_("accuracy"), N_("samples/s"), N_("memory") };

static TnPlotView *
plot (TnLiveView *self, int i)
{
  return TN_PLOT_VIEW (self->plots[i]);
}

/* Lines. */

static void
fill_plots (TnLiveView *self)
{
  const char *path = tn_run_control_path (self->control);
  g_autofree char *name = path != NULL ? g_path_get_basename (path) : NULL;
  for (int i = 0; i < N_CARDS; i++)
    {
      TnPlot *drawn = tn_plot_view_plot (plot (self, i));
      tn_plot_remove_all (drawn);
      tn_plot_clear_events (drawn);
      if (path != NULL && cards[i].tag >= 0)
        tn_plot_add (drawn, tn_run_control_series (self->control, (TnTag) cards[i].tag), cards[i].validation >= 0 ? _("training") : name, name);
      if (path != NULL && cards[i].validation >= 0)
        tn_plot_add (drawn, tn_run_control_series (self->control, (TnTag) cards[i].validation), _("validation"), name)->emphasis = TRUE;
      tn_plot_fit (drawn);
      tn_plot_view_changed (plot (self, i));
    }
}

static void
rows_cb (TnRunControl *control, const TnMetricsBatch *batch, TnLiveView *self)
{
  for (int i = 0; i < N_CARDS; i++)
    tn_plot_view_changed (plot (self, i));
}

static void
restarted_cb (TnRunControl *control, gint64 step, TnLiveView *self)
{
  for (int i = 0; i < N_CARDS; i++)
    {
      tn_plot_drop_events (tn_plot_view_plot (plot (self, i)), step);
      tn_plot_add_event (tn_plot_view_plot (plot (self, i)), TN_EVENT_RESUME, step, g_get_real_time (), _("Resumed"));
      tn_plot_view_changed (plot (self, i));
    }
}

static void
checkpointed_cb (TnRunControl *control, gint64 step, TnLiveView *self)
{
  for (int i = 0; i < N_CARDS; i++)
    {
      tn_plot_add_event (tn_plot_view_plot (plot (self, i)), TN_EVENT_CHECKPOINT, step, g_get_real_time (), _("Checkpoint"));
      tn_plot_view_changed (plot (self, i));
    }
}

/* The ghost: the run before, faint; its label says only what changed. */

static char *
difference (TnRunControl *control, const TnSettings *old)
{
  const TnSettings *now = tn_run_control_settings (control);
  g_autofree const char **names = now != NULL && old != NULL ? tn_settings_diff (old, now) : NULL;
  if (names == NULL || names[0] == NULL)
    return g_strdup (_("the run before"));
  g_autofree char *before = g_strdup (tn_settings_get_text (old, names[0]));
  g_autofree char *one = g_strdup_printf ("%s %s → %s", tn_setting_title (names[0]), before, tn_settings_get_text (now, names[0]));
  int more = 0;
  while (names[more + 1] != NULL)
    more++;
  return more > 0 ? g_strdup_printf (ngettext ("%s and %d more", "%s and %d more", (gulong) more), one, more) : g_strdup (one);
}

static void
drop_ghost (TnLiveView *self)
{
  if (self->ghost != NULL)
    {
      g_signal_handlers_disconnect_by_data (self->ghost, self);
      g_object_run_dispose (G_OBJECT (self->ghost));
      g_clear_object (&self->ghost);
    }
  g_cancellable_cancel (self->ghost_opening);
  g_clear_object (&self->ghost_opening);
  g_clear_pointer (&self->ghost_settings, tn_settings_free);
  for (int tag = 0; tag < TN_N_TAGS; tag++)
    g_clear_pointer (&self->ghost_series[tag], tn_series_unref);
}

static void
ghost_rows_cb (TnRun *run, const TnMetricsBatch *batch, TnLiveView *self)
{
  for (guint i = 0; i < batch->n; i++)
    if (batch->tags[i] < TN_N_TAGS && self->ghost_series[batch->tags[i]] != NULL)
      tn_series_append (self->ghost_series[batch->tags[i]], batch->steps[i], (double) batch->values[i], batch->times_us[i]);
}

static void
ghost_restarted_cb (TnRun *run, gint64 step, TnLiveView *self)
{
  for (int tag = 0; tag < TN_N_TAGS; tag++)
    if (self->ghost_series[tag] != NULL)
      tn_series_restart (self->ghost_series[tag], step);
}

static void
ghost_ready_cb (TnRun *run, TnLiveView *self)
{
  g_autofree char *label = difference (self->control, self->ghost_settings);
  g_autofree char *name = g_path_get_basename (tn_run_path (run));
  for (int i = 0; i < N_CARDS; i++)
    {
      int tag = cards[i].tag >= 0 ? cards[i].tag : cards[i].validation;
      if (cards[i].ghost && tn_series_n (self->ghost_series[tag]) > 0)
        {
          tn_plot_view_add_ghost (plot (self, i), self->ghost_series[tag], label, name);
          tn_plot_view_changed (plot (self, i));
        }
    }
  drop_ghost (self);
}

typedef struct
{
  char *path;
  TnSettings *settings;
} Opening;

static void
opening_free (Opening *opening)
{
  g_free (opening->path);
  g_clear_pointer (&opening->settings, tn_settings_free);
  g_free (opening);
}

static void
open_ghost_thread (GTask *task, gpointer source, gpointer data, GCancellable *cancellable)
{
  Opening *opening = data;
  GError *error = NULL;
  g_autoptr (TnRunFolder) folder = tn_run_folder_open (opening->path, &error);
  TnRun *run = folder != NULL ? tn_run_new (opening->path, &error) : NULL; /* signals in the main context: a worker has none of its own */
  if (run == NULL)
    {
      g_task_return_error (task, error);
      return;
    }
  opening->settings = tn_settings_copy (tn_run_folder_settings (folder));
  g_task_return_pointer (task, run, g_object_unref);
}

static void
ghost_opened_cb (GObject *source, GAsyncResult *result, gpointer data)
{
  TnLiveView *self = TN_LIVE_VIEW (source);
  TnRun *run = g_task_propagate_pointer (G_TASK (result), NULL);
  if (run == NULL) /* cancelled, or its folder is gone: there is no ghost */
    return;
  Opening *opening = g_task_get_task_data (G_TASK (result));
  self->ghost = run;
  self->ghost_settings = g_steal_pointer (&opening->settings);
  for (int i = 0; i < N_CARDS; i++)
    for (int k = 0; k < 2; k++)
      {
        int tag = k == 0 ? cards[i].tag : cards[i].validation;
        if (cards[i].ghost && tag >= 0)
          self->ghost_series[tag] = tn_series_new (tn_tags[tag].name);
      }
  g_signal_connect (self->ghost, "metrics", G_CALLBACK (ghost_rows_cb), self);
  g_signal_connect (self->ghost, "restarted", G_CALLBACK (ghost_restarted_cb), self);
  g_signal_connect (self->ghost, "caught-up", G_CALLBACK (ghost_ready_cb), self);
  tn_run_follow (self->ghost);
}

static void
follow_ghost (TnLiveView *self)
{
  const char *path = tn_run_control_previous_path (self->control);
  if (g_strcmp0 (path, self->ghost_path) == 0)
    return;
  g_free (self->ghost_path);
  self->ghost_path = g_strdup (path);
  drop_ghost (self);
  if (path == NULL)
    return;
  Opening *opening = g_new0 (Opening, 1);
  opening->path = g_strdup (path);
  self->ghost_opening = g_cancellable_new ();
  g_autoptr (GTask) task = g_task_new (self, self->ghost_opening, ghost_opened_cb, NULL);
  g_task_set_task_data (task, opening, (GDestroyNotify) opening_free);
  g_task_run_in_thread (task, open_ghost_thread);
}

/* Status. */

static void
set_number (TnLiveView *self, int i, char *text)
{
  gtk_label_set_text (GTK_LABEL (self->numbers[i]), text);
  g_free (text);
}

/* "98.7 % in 52 s. Most often 4 is taken for 9." */
static char *
finished_text (TnLiveView *self)
{
  const TnRunLine *line = tn_run_control_line (self->control);
  const char *confusion = tn_watch_view_confusion (TN_WATCH_VIEW (self->watch));
  g_autofree char *text = NULL;
  if (isfinite (line->accuracy) && isfinite (line->seconds))
    {
      g_autofree char *share = tn_format_share (line->accuracy), *time = tn_format_duration (line->seconds);
      text = g_strdup_printf (_("%s right after %s."), share, time);
    }
  else
    text = tn_run_line_text (line);
  return confusion != NULL ? g_strdup_printf ("%s %s", text, confusion) : g_steal_pointer (&text);
}

static void
update_banner (TnLiveView *self)
{
  const TnRunLine *line = tn_run_control_line (self->control);
  TnBanner *banner = TN_BANNER (self->banner);
  gboolean finished = line->word == TN_WORD_FINISHED, can_draw = tn_watch_view_can_draw (TN_WATCH_VIEW (self->watch));
  g_autofree char *text = finished ? finished_text (self) : tn_run_control_line_text (self->control);
  if (!finished && line->word != TN_WORD_PAUSED && line->word != TN_WORD_FAILED && line->word != TN_WORD_LOST)
    {
      self->banner_word = line->word;
      tn_banner_hide (banner);
      return;
    }
  if (self->banner_word == line->word && self->banner_draws == can_draw && g_strcmp0 (tn_banner_get_text (banner), text) == 0)
    return; /* shown, or closed by the user */
  self->banner_word = line->word;
  self->banner_draws = can_draw;
  tn_banner_clear_buttons (banner);
  if (line->word == TN_WORD_PAUSED)
    tn_banner_add_button (banner, _("Go On"), "win.pause", NULL);
  else if (finished)
    {
      if (can_draw)
        tn_banner_add_button (banner, _("Try It"), "live.try", NULL);
      tn_banner_add_button (banner, _("See the Graph"), "win.page", g_variant_new_string ("graph"));
      tn_banner_add_button (banner, _("Train 10 More"), "win.train-more", NULL);
    }
  else
    {
      tn_banner_add_button (banner, _("Resume"), "win.resume", NULL);
      tn_banner_add_button (banner, _("Train Again"), "win.train-again", NULL);
    }
  tn_banner_show (banner, line->word == TN_WORD_PAUSED || finished ? GTK_MESSAGE_INFO : line->word == TN_WORD_FAILED ? GTK_MESSAGE_ERROR : GTK_MESSAGE_WARNING,
                  text);
}

static void
try_action (GtkWidget *widget, const char *name, GVariant *parameter)
{
  tn_watch_view_grab_pad (TN_WATCH_VIEW (TN_LIVE_VIEW (widget)->watch));
}

static void
changed_cb (TnRunControl *control, TnLiveView *self)
{
  const TnRunLine *line = tn_run_control_line (control);
  double loss = tn_run_control_last (control, TN_TAG_LOSS), accuracy = tn_run_control_last (control, TN_TAG_VALIDATION_ACCURACY);
  double speed = tn_run_control_speed (control), memory = tn_run_control_fact (control, "memory_measured");
  if (!isfinite (memory))
    memory = tn_run_control_fact (control, "memory_forecast");
  set_number (self, 0, tn_series_n (tn_run_control_series (control, TN_TAG_LOSS)) > 0 ? tn_format_loss (loss) : g_strdup ("—"));
  set_number (self, 1, isfinite (accuracy) ? tn_format_share (accuracy) : g_strdup ("—"));
  set_number (self, 2, isfinite (speed) ? tn_format_count ((gint64) speed) : g_strdup ("—"));
  set_number (self, 3, isfinite (memory) ? tn_format_size (memory) : g_strdup ("—"));
  double fraction = line->total_steps > 0 ? CLAMP ((double) line->step / (double) line->total_steps, 0, 1) : 0;
  gtk_progress_bar_set_fraction (GTK_PROGRESS_BAR (self->progress), fraction);
  g_autofree char *step = tn_format_count_exact (line->step), *total = tn_format_count_exact (line->total_steps);
  g_autofree char *text = line->word == TN_WORD_NONE     ? g_strdup (_("Press Train to begin"))
                          : line->word == TN_WORD_STARTING ? g_strdup (_("Starting: compiling the graph"))
                          : line->total_steps > 0          ? g_strdup_printf (_("%s · step %s of %s"), tn_run_word_label (line->word), step, total)
                                                           : g_strdup_printf (_("%s · step %s"), tn_run_word_label (line->word), step);
  gtk_label_set_text (GTK_LABEL (self->position), text);
  double per_epoch = tn_run_control_fact (control, "steps_per_epoch");
  if (per_epoch > 0)
    for (int tag = 0; tag < TN_N_TAGS; tag++)
      tn_series_set_steps_per_epoch (tn_run_control_series (control, (TnTag) tag), per_epoch);
  update_banner (self);
  follow_ghost (self);
}

static void
run_changed_cb (TnRunControl *control, TnLiveView *self)
{
  g_clear_pointer (&self->ghost_path, g_free);
  drop_ghost (self);
  fill_plots (self);
  changed_cb (control, self);
}

/* Selection and crosshair. */

static void
plot_selected_cb (TnPlotView *view, gint64 begin, gint64 end, TnLiveView *self)
{
  self->selecting = TRUE;
  if (end < begin)
    tn_selection_clear (self->selection, TN_SELECTION_STEPS);
  else
    tn_selection_set_range (self->selection, TN_SELECTION_STEPS, begin, end);
  self->selecting = FALSE;
}

static void
selection_cb (TnSelection *selection, guint mask, TnLiveView *self)
{
  if ((mask & TN_SELECTION_STEPS) == 0)
    return;
  gint64 first = 1, last = 0;
  tn_selection_get_range (selection, TN_SELECTION_STEPS, &first, &last);
  for (int i = 0; i < N_CARDS; i++)
    tn_plot_view_set_selection (plot (self, i), first, last);
}

/* Options. */

static void
options_cb (GSettings *settings, const char *key, TnLiveView *self)
{
  static const TnXKind kinds[] = { TN_X_STEP, TN_X_EPOCH, TN_X_RELATIVE, TN_X_WALL };
  double smoothing = g_settings_get_double (settings, "plot-smoothing");
  for (int i = 0; i < N_CARDS; i++)
    {
      tn_plot_view_set_x (plot (self, i), kinds[CLAMP (g_settings_get_enum (settings, "plot-x"), 0, 3)], FALSE);
      tn_plot_view_set_log_y (plot (self, i), cards[i].tag == TN_TAG_LOSS && g_settings_get_boolean (settings, "plot-log-y"));
      tn_plot_view_set_smoothing (plot (self, i), cards[i].tag == TN_TAG_LEARNING_RATE ? 0 : smoothing);
    }
}

void
tn_live_view_set_columns (TnLiveView *self, guint least, guint columns)
{
  for (guint i = 0; i < G_N_ELEMENTS (self->flows); i++)
    {
      gtk_flow_box_set_max_children_per_line (GTK_FLOW_BOX (self->flows[i]), columns);
      gtk_flow_box_set_min_children_per_line (GTK_FLOW_BOX (self->flows[i]), least);
    }
  GtkWidget *line = gtk_widget_get_ancestor (self->numbers[0], GTK_TYPE_FLOW_BOX);
  gtk_flow_box_set_max_children_per_line (GTK_FLOW_BOX (line), columns == 1 ? 2 : 4); /* two and two, not three and one */
}

void
tn_live_view_plot_action (TnLiveView *self, const char *action)
{
  GtkWidget *target = self->plots[0], *focus = gtk_root_get_focus (gtk_widget_get_root (GTK_WIDGET (self)));
  for (int i = 0; i < N_CARDS; i++)
    if (focus != NULL && (focus == self->plots[i] || gtk_widget_is_ancestor (focus, self->plots[i])))
      target = self->plots[i];
  gtk_widget_activate_action (target, action, NULL);
}

static void
tn_live_view_dispose (GObject *object)
{
  TnLiveView *self = TN_LIVE_VIEW (object);
  drop_ghost (self);
  g_clear_pointer (&self->ghost_path, g_free);
  g_clear_object (&self->control);
  g_clear_object (&self->selection);
  G_OBJECT_CLASS (tn_live_view_parent_class)->dispose (object);
}

static void
tn_live_view_class_init (TnLiveViewClass *class)
{
  G_OBJECT_CLASS (class)->dispose = tn_live_view_dispose;
  gtk_widget_class_install_action (GTK_WIDGET_CLASS (class), "live.try", NULL, try_action);
}

static GtkWidget *
make_status (TnLiveView *self)
{
  GtkWidget *box = gtk_box_new (GTK_ORIENTATION_VERTICAL, 9), *line = gtk_flow_box_new ();
  gtk_widget_set_name (box, "train_status_box");
  gtk_widget_add_css_class (box, "status-box");
  gtk_widget_add_css_class (box, "card");
  self->position = gtk_label_new (NULL);
  gtk_label_set_xalign (GTK_LABEL (self->position), 0);
  gtk_widget_add_css_class (self->position, "status-number");
  gtk_widget_set_name (self->position, "train_position_label");
  self->progress = gtk_progress_bar_new ();
  gtk_widget_set_name (self->progress, "train_progress_bar");
  gtk_accessible_update_property (GTK_ACCESSIBLE (self->progress), GTK_ACCESSIBLE_PROPERTY_LABEL, _("Progress of the training"), -1);
  gtk_flow_box_set_selection_mode (GTK_FLOW_BOX (line), GTK_SELECTION_NONE);
  gtk_flow_box_set_max_children_per_line (GTK_FLOW_BOX (line), 4);
  gtk_flow_box_set_min_children_per_line (GTK_FLOW_BOX (line), 2);
  gtk_flow_box_set_homogeneous (GTK_FLOW_BOX (line), TRUE);
  for (guint i = 0; i < G_N_ELEMENTS (number_ids); i++)
    {
      GtkWidget *pair = gtk_box_new (GTK_ORIENTATION_VERTICAL, 0), *title = gtk_label_new (_(number_titles[i]));
      self->numbers[i] = gtk_label_new ("—");
      gtk_widget_set_name (self->numbers[i], number_ids[i]);
      gtk_widget_add_css_class (self->numbers[i], "status-value");
      gtk_widget_add_css_class (title, "caption");
      gtk_widget_add_css_class (title, "dim-label");
      gtk_label_set_xalign (GTK_LABEL (self->numbers[i]), 0);
      gtk_label_set_xalign (GTK_LABEL (title), 0);
      gtk_box_append (GTK_BOX (pair), self->numbers[i]);
      gtk_box_append (GTK_BOX (pair), title);
      gtk_flow_box_append (GTK_FLOW_BOX (line), pair);
      gtk_widget_set_focusable (gtk_widget_get_parent (pair), FALSE);
    }
  gtk_box_append (GTK_BOX (box), self->position);
  gtk_box_append (GTK_BOX (box), self->progress);
  gtk_box_append (GTK_BOX (box), line);
  return box;
}

static GtkWidget *
make_plots (TnLiveView *self, int first, int end)
{
  GtkWidget *flow = gtk_flow_box_new ();
  gtk_flow_box_set_selection_mode (GTK_FLOW_BOX (flow), GTK_SELECTION_NONE);
  gtk_flow_box_set_min_children_per_line (GTK_FLOW_BOX (flow), 1);
  gtk_flow_box_set_homogeneous (GTK_FLOW_BOX (flow), TRUE);
  gtk_flow_box_set_column_spacing (GTK_FLOW_BOX (flow), 12);
  gtk_flow_box_set_row_spacing (GTK_FLOW_BOX (flow), 12);
  for (int i = first; i < end; i++)
    {
      GtkWidget *card = gtk_box_new (GTK_ORIENTATION_VERTICAL, 6), *title = gtk_label_new (_(cards[i].heading));
      self->plots[i] = tn_plot_view_new (_(cards[i].title));
      TnPlot *drawn = tn_plot_view_plot (plot (self, i));
      TnPlotOptions options = *tn_plot_options (drawn);
      options.unit_interval = cards[i].unit_interval;
      options.localized = TRUE;
      tn_plot_set_options (drawn, &options);
      gtk_widget_set_name (self->plots[i], cards[i].id);
      gtk_widget_set_size_request (self->plots[i], 160, 180);
      gtk_widget_set_hexpand (self->plots[i], TRUE);
      gtk_widget_set_vexpand (self->plots[i], TRUE);
      gtk_widget_add_css_class (title, "heading");
      gtk_label_set_xalign (GTK_LABEL (title), 0);
      gtk_widget_set_margin_start (title, 6);
      gtk_widget_add_css_class (card, "card");
      gtk_widget_add_css_class (card, "plot-card");
      gtk_box_append (GTK_BOX (card), title);
      gtk_box_append (GTK_BOX (card), self->plots[i]);
      gtk_flow_box_append (GTK_FLOW_BOX (flow), card);
      gtk_widget_set_focusable (gtk_widget_get_parent (card), FALSE);
      g_signal_connect (self->plots[i], "selection-changed", G_CALLBACK (plot_selected_cb), self);
      if (i > 0)
        g_object_bind_property (self->plots[0], "hover-step", self->plots[i], "hover-step", G_BINDING_BIDIRECTIONAL);
    }
  return flow;
}

static void
tn_live_view_init (TnLiveView *self)
{
  GtkWidget *outer = gtk_box_new (GTK_ORIENTATION_VERTICAL, 0), *scroller = gtk_scrolled_window_new ();
  self->banner = tn_banner_new ();
  gtk_widget_set_name (self->banner, "train_banner");
  self->box = gtk_box_new (GTK_ORIENTATION_VERTICAL, 12);
  gtk_widget_set_margin_top (self->box, 12);
  gtk_widget_set_margin_bottom (self->box, 12);
  gtk_widget_set_margin_start (self->box, 12);
  gtk_widget_set_margin_end (self->box, 12);
  gtk_box_append (GTK_BOX (self->box), make_status (self));
  self->flows[0] = make_plots (self, 0, N_FIRST);
  self->flows[1] = make_plots (self, N_FIRST, N_CARDS);
  gtk_box_append (GTK_BOX (self->box), self->flows[0]);
  gtk_box_append (GTK_BOX (self->box), self->flows[1]);
  gtk_scrolled_window_set_child (GTK_SCROLLED_WINDOW (scroller), self->box);
  gtk_scrolled_window_set_policy (GTK_SCROLLED_WINDOW (scroller), GTK_POLICY_NEVER, GTK_POLICY_AUTOMATIC);
  gtk_widget_set_vexpand (scroller, TRUE);
  gtk_box_append (GTK_BOX (outer), self->banner);
  gtk_box_append (GTK_BOX (outer), scroller);
  adw_bin_set_child (ADW_BIN (self), outer);
}

GtkWidget *
tn_live_view_new (TnRunControl *control, TnSelection *selection)
{
  TnLiveView *self = g_object_new (TN_TYPE_LIVE_VIEW, NULL);
  self->control = g_object_ref (control);
  self->selection = g_object_ref (selection);
  self->watch = tn_watch_view_new (control);
  gtk_box_insert_child_after (GTK_BOX (self->box), self->watch, self->flows[0]);
  g_signal_connect_object (self->watch, "told", G_CALLBACK (update_banner), self, G_CONNECT_SWAPPED);
  g_signal_connect_object (control, "rows", G_CALLBACK (rows_cb), self, 0);
  g_signal_connect_object (control, "restarted", G_CALLBACK (restarted_cb), self, 0);
  g_signal_connect_object (control, "checkpointed", G_CALLBACK (checkpointed_cb), self, 0);
  g_signal_connect_object (control, "changed", G_CALLBACK (changed_cb), self, 0);
  g_signal_connect_object (control, "run-changed", G_CALLBACK (run_changed_cb), self, 0);
  g_signal_connect_object (selection, "changed", G_CALLBACK (selection_cb), self, 0);
  GSettings *settings = tn_application_settings ();
  g_signal_connect_object (settings, "changed", G_CALLBACK (options_cb), self, 0);
  options_cb (settings, NULL, self);
  run_changed_cb (control, self);
  return GTK_WIDGET (self);
}
