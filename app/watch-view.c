/* SPDX-License-Identifier: Apache-2.0 */
#include "watch-view.h"

#include <glib/gi18n.h>
#include <inttypes.h>
#include <math.h>

#include "asker.h"
#include "draw-pad.h"
#include "format.h"

#define N_TILES 8
#define TILE 56
#define N_CLASSES_SHOWN 10
#define FIRST_ASK_MS 600 /* after the first point: the trainer has the processor until then */

typedef struct
{
  GtkWidget *box, *picture, *label;
} Tile;

struct _TnWatchView
{
  AdwBin parent_instance;
  TnRunControl *control;
  TnAsker *asker;
  GCancellable *cancellable; /* of everything asked about the current run */
  gboolean asking, ask_again, reading, read_again, known, drawable, ended;
  guint timer;
  int width, height; /* of a picture to draw */
  char *confusion;
  GtkWidget *flow, *watch_card, *watch_title, *draw_card, *class_card, *class_grid, *pad, *answer, *more, *clear;
  Tile tiles[N_TILES];
};

G_DEFINE_FINAL_TYPE (TnWatchView, tn_watch_view, ADW_TYPE_BIN)

static guint told_signal;

static void ask (TnWatchView *self);

/* The child of a flow box takes its room even where its card is hidden. */
static void
show_card (GtkWidget *card, gboolean shown)
{
  gtk_widget_set_visible (gtk_widget_get_parent (card), shown);
}

/* Watch. */

static void
set_tone (GtkWidget *label, const char *tone)
{
  static const char *const tones[] = { "success", "error", "dim-label" };
  for (guint i = 0; i < G_N_ELEMENTS (tones); i++)
    if (g_strcmp0 (tones[i], tone) == 0)
      gtk_widget_add_css_class (label, tones[i]);
    else
      gtk_widget_remove_css_class (label, tones[i]);
}

static void
show_tile (TnWatchView *self, const TnAsked *asked, int i)
{
  Tile *tile = &self->tiles[i];
  gtk_widget_set_visible (gtk_widget_get_parent (tile->box), i < asked->n);
  if (i >= asked->n)
    return;
  double share;
  int best = tn_asked_best (asked, i, &share);
  const char *right = asked->labels[i] >= 0 && asked->labels[i] < asked->n_classes ? asked->class_names[asked->labels[i]] : "";
  gboolean correct = best == asked->labels[i];
  g_autofree char *share_text = best >= 0 ? g_strdup_printf (_("%.0f %%"), share * 100) : NULL;
  /* Translators: a sign for right or wrong, the class that was answered, and how sure the answer is */
  g_autofree char *text = best >= 0 ? g_strdup_printf (_("%s %s · %s"), correct ? "✔" : "✖", asked->class_names[best], share_text) : g_strdup ("…");
  g_autofree char *hint = best < 0 ? g_strdup_printf (_("This is %s. It is answered at the first checkpoint."), right)
                          : correct ? g_strdup_printf (_("Sample %" PRId64 " is %s, and is taken for %s (%s)"), asked->ids[i], right, right, share_text)
                                    : g_strdup_printf (_("Sample %" PRId64 " is %s, but is taken for %s (%s)"), asked->ids[i], right,
                                                       asked->class_names[best], share_text);
  gtk_label_set_text (GTK_LABEL (tile->label), text);
  gtk_widget_set_tooltip_text (tile->box, hint);
  gtk_accessible_update_property (GTK_ACCESSIBLE (tile->picture), GTK_ACCESSIBLE_PROPERTY_LABEL, hint, -1);
  set_tone (tile->label, best < 0 ? "dim-label" : correct ? "success" : "error");
  if (asked->images[i] != NULL && gtk_picture_get_paintable (GTK_PICTURE (tile->picture)) == NULL)
    {
      g_autoptr (GdkTexture) texture = gdk_memory_texture_new (asked->image_width, asked->image_height, GDK_MEMORY_DEFAULT, asked->images[i],
                                                               (gsize) asked->image_width * 4);
      gtk_picture_set_paintable (GTK_PICTURE (tile->picture), GDK_PAINTABLE (texture));
    }
}

static void
show_watched (TnWatchView *self, const TnAsked *asked)
{
  self->known = TRUE;
  self->drawable = asked->pictures;
  self->width = asked->width;
  self->height = asked->height;
  gboolean has_pictures = asked->n > 0 && asked->images[0] != NULL;
  show_card (self->watch_card, has_pictures);
  show_card (self->draw_card, self->drawable);
  if (asked->step >= 0)
    {
      g_autofree char *step = tn_format_count_exact (asked->step);
      g_autofree char *title = g_strdup_printf (_("Watch · step %s"), step);
      gtk_label_set_text (GTK_LABEL (self->watch_title), title);
    }
  else
    gtk_label_set_text (GTK_LABEL (self->watch_title), _("Watch"));
  for (int i = 0; has_pictures && i < N_TILES; i++)
    show_tile (self, asked, i);
  g_signal_emit (self, told_signal, 0);
}

/* Per class. */

typedef struct
{
  int index;
  double share;
} ClassShare;

static int
compare_shares (const void *a, const void *b)
{
  const ClassShare *x = a, *y = b;
  if (x->share != y->share)
    return x->share < y->share ? -1 : 1;
  return x->index - y->index;
}

/* The pair of classes that is confused most. */
static char *
confusion_text (const TnValidation *validation)
{
  int n = validation->n_classes, label = -1, answer = -1;
  gint64 most = 0;
  for (int i = 0; validation->confusion != NULL && i < n; i++)
    for (int k = 0; k < n; k++)
      if (i != k && validation->confusion[i * n + k] > most)
        {
          most = validation->confusion[i * n + k];
          label = i;
          answer = k;
        }
  return most > 0 ? g_strdup_printf (_("Most often %s is taken for %s."), validation->class_names[label], validation->class_names[answer]) : NULL;
}

static void
show_classes (TnWatchView *self, const TnValidation *validation)
{
  g_free (self->confusion);
  self->confusion = confusion_text (validation);
  GtkWidget *child;
  while ((child = gtk_widget_get_first_child (self->class_grid)) != NULL)
    gtk_grid_remove (GTK_GRID (self->class_grid), child);
  g_autofree ClassShare *rows = g_new (ClassShare, validation->n_classes + 1);
  int n = 0;
  for (int i = 0; i < validation->n_classes; i++)
    if (validation->counts[i] > 0)
      rows[n++] = (ClassShare){ i, (double) validation->correct[i] / (double) validation->counts[i] };
  qsort (rows, (size_t) n, sizeof *rows, compare_shares);
  for (int i = 0; i < MIN (n, N_CLASSES_SHOWN); i++)
    {
      GtkWidget *name = gtk_label_new (validation->class_names[rows[i].index]), *bar = gtk_level_bar_new (), *number;
      g_autofree char *share = tn_format_share (rows[i].share);
      number = gtk_label_new (share);
      gtk_label_set_xalign (GTK_LABEL (name), 0);
      gtk_label_set_ellipsize (GTK_LABEL (name), PANGO_ELLIPSIZE_END);
      gtk_label_set_width_chars (GTK_LABEL (name), 3);
      gtk_label_set_xalign (GTK_LABEL (number), 1);
      gtk_widget_add_css_class (number, "numeric");
      gtk_level_bar_set_value (GTK_LEVEL_BAR (bar), rows[i].share);
      gtk_level_bar_remove_offset_value (GTK_LEVEL_BAR (bar), NULL); /* one colour: a share is not a charge */
      gtk_widget_set_hexpand (bar, TRUE);
      gtk_widget_set_valign (bar, GTK_ALIGN_CENTER);
      gtk_accessible_update_relation (GTK_ACCESSIBLE (bar), GTK_ACCESSIBLE_RELATION_LABELLED_BY, name, NULL, -1);
      gtk_grid_attach (GTK_GRID (self->class_grid), name, 0, i, 1, 1);
      gtk_grid_attach (GTK_GRID (self->class_grid), bar, 1, i, 1, 1);
      gtk_grid_attach (GTK_GRID (self->class_grid), number, 2, i, 1, 1);
    }
  show_card (self->class_card, n > 0);
  g_signal_emit (self, told_signal, 0);
}

static void
validation_thread (GTask *task, gpointer source, gpointer data, GCancellable *cancellable)
{
  GError *error = NULL;
  TnValidation *validation = tn_validation_read (data, &error);
  if (validation != NULL)
    g_task_return_pointer (task, validation, (GDestroyNotify) tn_validation_free);
  else
    g_task_return_error (task, error);
}

static void
validation_cb (GObject *source, GAsyncResult *result, gpointer data)
{
  g_autoptr (TnValidation) validation = g_task_propagate_pointer (G_TASK (result), NULL);
  if (validation != NULL) /* none yet, or of targets: nothing to show */
    show_classes (TN_WATCH_VIEW (source), validation);
}

/* Draw. */

static void
show_read (TnWatchView *self, const TnAsked *asked)
{
  double share, second_share = 0;
  int best = tn_asked_best (asked, 0, &share), second = -1;
  for (int k = 0; best >= 0 && k < asked->n_classes; k++)
    if (k != best && (second < 0 || (double) asked->values[k] > second_share))
      {
        second = k;
        second_share = (double) asked->values[k];
      }
  if (best < 0)
    return;
  g_autofree char *sure = tn_format_share (share), *other = tn_format_share (second_share);
  g_autofree char *text = g_strdup_printf (_("%s sure"), sure);
  g_autofree char *more = second >= 0 ? g_strdup_printf (_("%s\nor %s (%s)"), text, asked->class_names[second], other) : g_strdup (text);
  gtk_label_set_text (GTK_LABEL (self->answer), asked->class_names[best]);
  gtk_label_set_text (GTK_LABEL (self->more), more);
}

static void read_pad (TnWatchView *self);

static void
read_cb (GObject *source, GAsyncResult *result, gpointer data)
{
  g_autoptr (TnWatchView) self = data;
  g_autoptr (GError) error = NULL;
  g_autoptr (TnAsked) asked = tn_asker_finish (result, &error);
  self->reading = FALSE;
  if (g_error_matches (error, G_IO_ERROR, G_IO_ERROR_CANCELLED))
    return;
  if (asked != NULL && !tn_draw_pad_is_empty (TN_DRAW_PAD (self->pad)))
    show_read (self, asked);
  else if (error != NULL)
    gtk_label_set_text (GTK_LABEL (self->more), error->message);
  if (self->read_again)
    read_pad (self);
}

/* One question at a time; what is drawn meanwhile is asked about when it is answered. */
static void
read_pad (TnWatchView *self)
{
  gboolean empty = tn_draw_pad_is_empty (TN_DRAW_PAD (self->pad));
  self->read_again = self->reading && !empty;
  gtk_widget_set_sensitive (self->clear, !empty);
  if (empty)
    {
      gtk_label_set_text (GTK_LABEL (self->answer), "");
      gtk_label_set_text (GTK_LABEL (self->more), _("Draw with the mouse, or with the arrow keys and Space."));
      return;
    }
  if (self->reading || self->asker == NULL || !self->drawable)
    return;
  g_autofree guint8 *pixels = g_malloc0 ((gsize) self->width * (gsize) self->height);
  tn_draw_pad_picture (TN_DRAW_PAD (self->pad), self->width, self->height, pixels);
  self->reading = TRUE;
  tn_asker_read_async (self->asker, pixels, self->width, self->height, self->cancellable, read_cb, g_object_ref (self));
}

/* Asking. */

static void
watched_cb (GObject *source, GAsyncResult *result, gpointer data)
{
  g_autoptr (TnWatchView) self = data;
  g_autoptr (GError) error = NULL;
  g_autoptr (TnAsked) asked = tn_asker_finish (result, &error);
  if (g_error_matches (error, G_IO_ERROR, G_IO_ERROR_CANCELLED))
    return; /* another run is asked about by now */
  self->asking = FALSE;
  if (asked != NULL)
    show_watched (self, asked);
  if (asked != NULL && asked->step >= 0)
    read_pad (self);
  if (self->ask_again)
    ask (self);
}

static void
ask (TnWatchView *self)
{
  self->ask_again = self->asking || !gtk_widget_get_mapped (GTK_WIDGET (self));
  if (self->ask_again || self->asker == NULL)
    return;
  self->asking = TRUE;
  tn_asker_watch_async (self->asker, self->cancellable, watched_cb, g_object_ref (self));
  g_autoptr (GTask) task = g_task_new (self, self->cancellable, validation_cb, NULL);
  g_task_set_task_data (task, g_strdup (tn_run_control_path (self->control)), g_free);
  g_task_run_in_thread (task, validation_thread);
}

static gboolean
timer_cb (gpointer data)
{
  TnWatchView *self = data;
  self->timer = 0;
  ask (self);
  return G_SOURCE_REMOVE;
}

static void
ask_soon (TnWatchView *self)
{
  if (self->timer == 0)
    self->timer = g_timeout_add (FIRST_ASK_MS, timer_cb, self);
}

static void
changed_cb (TnRunControl *control, TnWatchView *self)
{
  const TnRunLine *line = tn_run_control_line (control);
  gboolean ended = tn_run_word_is_end (line->word);
  if (!self->known && line->step > 0)
    ask_soon (self);
  else if (ended && !self->ended)
    ask_soon (self); /* its last checkpoint */
  self->ended = ended;
}

static void
mapped_cb (TnWatchView *self)
{
  if (self->ask_again)
    ask_soon (self);
}

static void
run_changed_cb (TnRunControl *control, TnWatchView *self)
{
  const char *path = tn_run_control_path (control);
  g_cancellable_cancel (self->cancellable);
  g_clear_object (&self->cancellable);
  g_clear_pointer (&self->asker, tn_asker_unref);
  g_clear_handle_id (&self->timer, g_source_remove);
  self->cancellable = g_cancellable_new ();
  self->asker = path != NULL ? tn_asker_new (path) : NULL;
  g_clear_pointer (&self->confusion, g_free);
  self->asking = self->ask_again = self->known = self->drawable = self->ended = FALSE;
  for (int i = 0; i < N_TILES; i++)
    gtk_picture_set_paintable (GTK_PICTURE (self->tiles[i].picture), NULL);
  show_card (self->watch_card, FALSE);
  show_card (self->draw_card, FALSE);
  show_card (self->class_card, FALSE);
  changed_cb (control, self);
}

static void
checkpointed_cb (TnRunControl *control, gint64 step, TnWatchView *self)
{
  ask (self);
}

/* Building. */

static GtkWidget *
make_card (TnWatchView *self, const char *title, GtkWidget **title_label)
{
  GtkWidget *card = gtk_box_new (GTK_ORIENTATION_VERTICAL, 6), *label = gtk_label_new (title);
  gtk_widget_add_css_class (card, "card");
  gtk_widget_add_css_class (card, "watch-card");
  gtk_widget_add_css_class (label, "heading");
  gtk_label_set_xalign (GTK_LABEL (label), 0);
  gtk_box_append (GTK_BOX (card), label);
  gtk_flow_box_append (GTK_FLOW_BOX (self->flow), card);
  gtk_widget_set_focusable (gtk_widget_get_parent (card), FALSE);
  if (title_label != NULL)
    *title_label = label;
  return card;
}

static void
make_watch (TnWatchView *self)
{
  GtkWidget *grid = gtk_flow_box_new ();
  self->watch_card = make_card (self, _("Watch"), &self->watch_title);
  gtk_widget_set_name (self->watch_title, "train_watch_label");
  gtk_widget_set_name (grid, "train_watch_grid");
  gtk_flow_box_set_selection_mode (GTK_FLOW_BOX (grid), GTK_SELECTION_NONE);
  gtk_flow_box_set_homogeneous (GTK_FLOW_BOX (grid), TRUE);
  gtk_flow_box_set_min_children_per_line (GTK_FLOW_BOX (grid), 2);
  gtk_flow_box_set_max_children_per_line (GTK_FLOW_BOX (grid), 4);
  gtk_flow_box_set_row_spacing (GTK_FLOW_BOX (grid), 6);
  for (int i = 0; i < N_TILES; i++)
    {
      Tile *tile = &self->tiles[i];
      g_autofree char *id = g_strdup_printf ("train_watch_label:%d", i);
      tile->box = gtk_box_new (GTK_ORIENTATION_VERTICAL, 3);
      tile->picture = gtk_picture_new ();
      tile->label = gtk_label_new ("…");
      gtk_widget_set_size_request (tile->picture, TILE, TILE);
      gtk_widget_set_halign (tile->picture, GTK_ALIGN_CENTER);
      gtk_picture_set_can_shrink (GTK_PICTURE (tile->picture), TRUE);
      gtk_widget_add_css_class (tile->picture, "watch-tile");
      gtk_widget_set_overflow (tile->picture, GTK_OVERFLOW_HIDDEN);
      gtk_widget_add_css_class (tile->label, "caption");
      gtk_widget_add_css_class (tile->label, "numeric");
      gtk_widget_set_name (tile->label, id);
      gtk_box_append (GTK_BOX (tile->box), tile->picture);
      gtk_box_append (GTK_BOX (tile->box), tile->label);
      gtk_flow_box_append (GTK_FLOW_BOX (grid), tile->box);
      gtk_widget_set_focusable (gtk_widget_get_parent (tile->box), FALSE);
    }
  gtk_box_append (GTK_BOX (self->watch_card), grid);
}

static void
make_draw (TnWatchView *self)
{
  GtkWidget *line = gtk_box_new (GTK_ORIENTATION_HORIZONTAL, 12), *side = gtk_box_new (GTK_ORIENTATION_VERTICAL, 6);
  self->draw_card = make_card (self, _("Draw a Digit"), NULL);
  self->pad = tn_draw_pad_new ();
  self->answer = gtk_label_new ("");
  self->more = gtk_label_new ("");
  self->clear = gtk_button_new_with_mnemonic (_("C_lear"));
  gtk_widget_set_name (self->pad, "train_draw_area");
  gtk_widget_set_name (self->answer, "train_draw_label");
  gtk_widget_set_name (self->more, "train_draw_more_label");
  gtk_widget_set_name (self->clear, "train_draw_clear_button");
  gtk_accessible_update_property (GTK_ACCESSIBLE (self->pad), GTK_ACCESSIBLE_PROPERTY_LABEL, _("Area to draw a digit on"), GTK_ACCESSIBLE_PROPERTY_DESCRIPTION,
                                  _("Arrow keys move the pen, Space puts it down and lifts it, Delete clears."), -1);
  g_object_set_data_full (G_OBJECT (self->pad), "tn-label", g_strdup (_("Area to draw a digit on")), g_free);
  gtk_widget_add_css_class (self->answer, "draw-answer");
  gtk_label_set_xalign (GTK_LABEL (self->answer), 0);
  gtk_label_set_xalign (GTK_LABEL (self->more), 0);
  gtk_label_set_wrap (GTK_LABEL (self->more), TRUE);
  gtk_label_set_width_chars (GTK_LABEL (self->more), 12);
  gtk_label_set_max_width_chars (GTK_LABEL (self->more), 16);
  gtk_widget_add_css_class (self->more, "dim-label");
  gtk_widget_set_valign (self->clear, GTK_ALIGN_END);
  gtk_widget_set_halign (self->clear, GTK_ALIGN_START);
  gtk_widget_set_vexpand (self->clear, TRUE);
  gtk_widget_set_valign (self->pad, GTK_ALIGN_START);
  g_signal_connect_swapped (self->pad, "drawn", G_CALLBACK (read_pad), self);
  g_signal_connect_swapped (self->clear, "clicked", G_CALLBACK (tn_draw_pad_clear), self->pad);
  gtk_box_append (GTK_BOX (side), self->answer);
  gtk_box_append (GTK_BOX (side), self->more);
  gtk_box_append (GTK_BOX (side), self->clear);
  gtk_widget_set_hexpand (side, TRUE);
  gtk_box_append (GTK_BOX (line), self->pad);
  gtk_box_append (GTK_BOX (line), side);
  gtk_box_append (GTK_BOX (self->draw_card), line);
  read_pad (self);
}

static void
make_classes (TnWatchView *self)
{
  self->class_card = make_card (self, _("Right Answers per Class, Worst First"), NULL);
  self->class_grid = gtk_grid_new ();
  gtk_widget_set_name (self->class_grid, "train_class_table");
  gtk_grid_set_column_spacing (GTK_GRID (self->class_grid), 9);
  gtk_grid_set_row_spacing (GTK_GRID (self->class_grid), 3);
  gtk_box_append (GTK_BOX (self->class_card), self->class_grid);
}

static void
tn_watch_view_dispose (GObject *object)
{
  TnWatchView *self = TN_WATCH_VIEW (object);
  g_cancellable_cancel (self->cancellable);
  g_clear_object (&self->cancellable);
  g_clear_handle_id (&self->timer, g_source_remove);
  g_clear_pointer (&self->asker, tn_asker_unref);
  g_clear_object (&self->control);
  g_clear_pointer (&self->confusion, g_free);
  G_OBJECT_CLASS (tn_watch_view_parent_class)->dispose (object);
}

static void
tn_watch_view_class_init (TnWatchViewClass *class)
{
  G_OBJECT_CLASS (class)->dispose = tn_watch_view_dispose;
  told_signal = g_signal_new ("told", G_TYPE_FROM_CLASS (class), G_SIGNAL_RUN_LAST, 0, NULL, NULL, NULL, G_TYPE_NONE, 0);
}

static void
tn_watch_view_init (TnWatchView *self)
{
  self->flow = gtk_flow_box_new ();
  gtk_flow_box_set_selection_mode (GTK_FLOW_BOX (self->flow), GTK_SELECTION_NONE);
  gtk_flow_box_set_max_children_per_line (GTK_FLOW_BOX (self->flow), 2);
  gtk_flow_box_set_homogeneous (GTK_FLOW_BOX (self->flow), TRUE);
  gtk_flow_box_set_column_spacing (GTK_FLOW_BOX (self->flow), 12);
  gtk_flow_box_set_row_spacing (GTK_FLOW_BOX (self->flow), 12);
  make_watch (self);
  make_draw (self);
  make_classes (self);
  adw_bin_set_child (ADW_BIN (self), self->flow);
  g_signal_connect (self, "map", G_CALLBACK (mapped_cb), NULL);
}

GtkWidget *
tn_watch_view_new (TnRunControl *control)
{
  TnWatchView *self = g_object_new (TN_TYPE_WATCH_VIEW, NULL);
  self->control = g_object_ref (control);
  g_signal_connect_object (control, "changed", G_CALLBACK (changed_cb), self, 0);
  g_signal_connect_object (control, "run-changed", G_CALLBACK (run_changed_cb), self, 0);
  g_signal_connect_object (control, "checkpointed", G_CALLBACK (checkpointed_cb), self, 0);
  run_changed_cb (control, self);
  return GTK_WIDGET (self);
}

const char *
tn_watch_view_confusion (TnWatchView *self)
{
  g_return_val_if_fail (TN_IS_WATCH_VIEW (self), NULL);
  return self->confusion;
}

gboolean
tn_watch_view_can_draw (TnWatchView *self)
{
  g_return_val_if_fail (TN_IS_WATCH_VIEW (self), FALSE);
  return self->drawable;
}

void
tn_watch_view_grab_pad (TnWatchView *self)
{
  g_return_if_fail (TN_IS_WATCH_VIEW (self));
  gtk_widget_grab_focus (self->pad);
}
