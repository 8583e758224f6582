/* SPDX-License-Identifier: Apache-2.0 */
#include "graph-view-private.h"
#include <glib/gi18n.h>
#include <math.h>
#include "draw-layer.h"

#define MOVE_MS 220
#define BUSY_AFTER_MS 2000
#define MINIMAP_WIDTH 120
#define MINIMAP_HEIGHT 90
#define MAX_CACHED 48

enum
{
  SELECTED,
  SHOWN,
  SAID,
  MENU,
  N_SIGNALS
};

static guint signals[N_SIGNALS];

G_DEFINE_FINAL_TYPE (TnGraphView, tn_graph_view, GTK_TYPE_WIDGET)

/* ---- drawing ---- */

TnGraphPicture
tn_graph_view_picture (TnGraphView *self)
{
  return (TnGraphPicture){ .cut = self->cut, .layout = self->layout, .overlay = self->overlay, .values = self->values, .marks = self->marks,
                           .changes = self->changes, .any_lit = self->lit != NULL };
}

static void
draw_data (TnCanvas *canvas, double width, double height, const TnPalette *palette, gpointer user_data)
{
  TnGraphView *self = user_data;
  tn_canvas_rect (canvas, &(TnRect){ 0, 0, width, height }, palette->background);
  if (self->cut == NULL)
    return;
  TnGraphPicture picture = tn_graph_view_picture (self);
  if (self->moving != NULL)
    picture.layout = self->moving;
  tn_graph_picture_draw (&picture, canvas, palette, &self->transform, width, height);
}

static void
draw_hover (TnCanvas *canvas, double width, double height, const TnPalette *palette, gpointer user_data)
{
  TnGraphView *self = user_data;
  if (self->band.width > 0)
    {
      TnColor fill = tn_color_alpha (palette->selection, 0.14f);
      tn_canvas_round_rect (canvas, &self->band, 2, &fill, &(TnStroke){ .width = 1, .color = palette->selection });
    }
  if (self->cut == NULL || self->moving != NULL || self->hover < 0 || self->hover >= self->cut->n_boxes)
    return;
  TnRect r = tn_graph_view_box_rect (self, self->hover);
  tn_canvas_round_rect (canvas, &r, 5 * self->transform.scale, NULL, &(TnStroke){ .width = 2, .color = tn_color_alpha (palette->accent, 0.7f) });
}

static void
draw_minimap (TnCanvas *canvas, double width, double height, const TnPalette *palette, gpointer user_data)
{
  TnGraphView *self = user_data;
  if (self->cut == NULL)
    return;
  TnGraphPicture picture = tn_graph_view_picture (self);
  tn_graph_picture_draw_minimap (&picture, canvas, palette, &self->transform, gtk_widget_get_width (GTK_WIDGET (self)),
                                 gtk_widget_get_height (GTK_WIDGET (self)), &(TnRect){ 1, 1, width - 2, height - 2 });
}

static void
redraw (TnGraphView *self)
{
  gtk_widget_queue_draw (self->data_layer);
  gtk_widget_queue_draw (self->hover_layer);
  gtk_widget_queue_draw (self->minimap);
}

TnRect
tn_graph_view_box_rect (TnGraphView *self, int b)
{
  const TnRect *box = &self->layout->boxes[b];
  TnPoint at = tn_graph_to_view (&self->transform, box->x, box->y);
  return (TnRect){ at.x, at.y, box->width * self->transform.scale, box->height * self->transform.scale };
}

TnRect
tn_graph_view_minimap_area (TnGraphView *self)
{
  return (TnRect){ 1, 1, gtk_widget_get_width (self->minimap) - 2, gtk_widget_get_height (self->minimap) - 2 };
}

/* ---- marks ---- */

static void
set_marks (TnGraphView *self)
{
  if (self->cut == NULL)
    return;
  g_free (self->marks);
  self->marks = g_new0 (guint8, self->cut->n_boxes + 1);
  for (int i = 0; i < self->document->n_items; i++)
    {
      int b = self->cut->box_of_item[i];
      if (b < 0)
        continue;
      if (self->selected[i])
        self->marks[b] |= TN_MARK_SELECTED;
      if (self->lit != NULL && self->lit[i])
        self->marks[b] |= TN_MARK_LIT;
    }
  for (int b = 0; b < self->cut->n_boxes && self->selected_scope >= 0; b++)
    if (self->cut->boxes[b].kind == TN_BOX_SCOPE && self->cut->boxes[b].scope == self->selected_scope)
      self->marks[b] |= TN_MARK_SELECTED;
  if (self->cursor >= 0 && self->cursor < self->cut->n_boxes && gtk_widget_has_focus (GTK_WIDGET (self)))
    self->marks[self->cursor] |= TN_MARK_CURSOR;
  redraw (self);
}

/* The cursor's box in words, for the screen reader. */
static void
describe (TnGraphView *self)
{
  g_autofree char *text = NULL;
  if (self->cut == NULL)
    text = g_strdup (_ ("No graph"));
  else if (self->cursor >= 0 && self->cursor < self->cut->n_boxes)
    {
      const TnGraphBox *box = &self->cut->boxes[self->cursor];
      static const char *const sides[] = { N_ ("forward"), N_ ("backward"), N_ ("optimizer") };
      text = g_strdup_printf (box->n_ops > 1 ? "%s, %s, %s, %s, %d" : "%s, %s, %s, %s", box->title, box->type, box->shape, _ (sides[box->side]), box->n_ops);
    }
  else
    text = g_strdup_printf (_ ("%s: %d of %d operators shown"), self->document->name, self->cut->n_boxes, self->document->n_items);
  gtk_accessible_update_property (GTK_ACCESSIBLE (self), GTK_ACCESSIBLE_PROPERTY_DESCRIPTION, text, GTK_ACCESSIBLE_PROPERTY_VALUE_TEXT, text, -1);
}

static void
set_badge (TnGraphView *self)
{
  g_autoptr (GString) text = g_string_new (NULL);
  if (self->cut != NULL)
    {
      int shown = 0, all = 0;
      for (int i = 0; i < self->document->n_items; i++)
        all += self->document->items[i].kind == TN_ITEM_OPERATOR;
      for (int b = 0; b < self->cut->n_boxes; b++)
        shown += self->cut->boxes[b].kind <= TN_BOX_SCOPE;
      /* Translators: how many operators a graph has, and how many boxes stand for them now */
      g_string_append_printf (text, _ ("%d operators, %d boxes"), all, shown);
      if (self->layout->why != NULL)
        g_string_append_printf (text, " · %s", _ ("own layout"));
      if (self->document->note != NULL)
        g_string_append_printf (text, " · %s", self->document->note);
    }
  gtk_label_set_text (GTK_LABEL (self->badge), text->str);
  gtk_widget_set_visible (self->badge, text->len > 0);
}

/* ---- transform ---- */

void
tn_graph_view_set_transform (TnGraphView *self, TnGraphTransform transform)
{
  if (self->layout == NULL)
    return;
  tn_graph_transform_limit (&transform, self->layout, gtk_widget_get_width (GTK_WIDGET (self)), gtk_widget_get_height (GTK_WIDGET (self)));
  self->transform = transform;
  redraw (self);
}

void
tn_graph_view_fit (TnGraphView *self)
{
  double width = gtk_widget_get_width (GTK_WIDGET (self)), height = gtk_widget_get_height (GTK_WIDGET (self));
  if (self->layout == NULL)
    return;
  if (width < 10)
    {
      self->wants_fit = TRUE;
      return;
    }
  self->wants_fit = FALSE;
  TnGraphTransform fit = tn_graph_transform_fit (self->layout, width, height, 1);
  self->transform = fit;
  redraw (self);
}

/* At first: readable from the beginning, the whole where that is readable. */
static void
fit_first (TnGraphView *self)
{
  double width = gtk_widget_get_width (GTK_WIDGET (self));
  tn_graph_view_fit (self);
  if (self->wants_fit || self->transform.scale >= 0.62)
    return;
  self->transform.scale = CLAMP (width / (self->layout->width + 40), 0.62, 1);
  self->transform.x = (self->layout->width - width / self->transform.scale) / 2;
  self->transform.y = -16;
  redraw (self);
}

void
tn_graph_view_zoom (TnGraphView *self, double factor)
{
  double x = gtk_widget_get_width (GTK_WIDGET (self)) / 2.0, y = gtk_widget_get_height (GTK_WIDGET (self)) / 2.0;
  if (self->layout == NULL)
    return;
  if (self->cursor >= 0 && self->cursor < self->cut->n_boxes)
    {
      TnRect r = tn_graph_view_box_rect (self, self->cursor);
      if (r.x > 0 && r.y > 0 && r.x < 2 * x && r.y < 2 * y)
        {
          x = r.x + r.width / 2;
          y = r.y + r.height / 2;
        }
    }
  TnGraphTransform t = self->transform;
  tn_graph_transform_zoom (&t, factor > 0 ? factor : 1 / t.scale, x, y);
  tn_graph_view_set_transform (self, t);
}

static void
bring_into_view (TnGraphView *self, int b)
{
  double width = gtk_widget_get_width (GTK_WIDGET (self)), height = gtk_widget_get_height (GTK_WIDGET (self));
  TnRect r = tn_graph_view_box_rect (self, b);
  TnGraphTransform t = self->transform;
  if (t.scale < 0.5)
    {
      tn_graph_transform_zoom (&t, 0.8 / t.scale, r.x + r.width / 2, r.y + r.height / 2);
      TnPoint at = tn_graph_to_view (&t, self->layout->boxes[b].x, self->layout->boxes[b].y);
      r = (TnRect){ at.x, at.y, self->layout->boxes[b].width * t.scale, self->layout->boxes[b].height * t.scale };
    }
  else if (r.x >= 16 && r.y >= 16 && r.x + r.width <= width - 16 && r.y + r.height <= height - 16)
    return;
  t.x += (r.x + r.width / 2 - width / 2) / t.scale;
  t.y += (r.y + r.height / 2 - height / 2) / t.scale;
  tn_graph_view_set_transform (self, t);
}

void
tn_graph_view_fit_selection (TnGraphView *self)
{
  double x0 = G_MAXDOUBLE, y0 = G_MAXDOUBLE, x1 = -G_MAXDOUBLE, y1 = -G_MAXDOUBLE;
  for (int b = 0; self->cut != NULL && b < self->cut->n_boxes; b++)
    if (self->marks[b] & (TN_MARK_SELECTED | TN_MARK_LIT))
      {
        const TnRect *r = &self->layout->boxes[b];
        x0 = MIN (x0, r->x);
        y0 = MIN (y0, r->y);
        x1 = MAX (x1, r->x + r->width);
        y1 = MAX (y1, r->y + r->height);
      }
  if (x0 > x1)
    return;
  double width = gtk_widget_get_width (GTK_WIDGET (self)), height = gtk_widget_get_height (GTK_WIDGET (self));
  double scale = CLAMP (MIN (width / (x1 - x0 + 60), height / (y1 - y0 + 60)), TN_GRAPH_MIN_SCALE, 1.5);
  tn_graph_view_set_transform (self, (TnGraphTransform){ (x0 + x1 - width / scale) / 2, (y0 + y1 - height / scale) / 2, scale });
}

double
tn_graph_view_scale (TnGraphView *self)
{
  return self->transform.scale;
}

/* ---- moving boxes ---- */

static TnRect
between (const TnRect *a, const TnRect *b, double t)
{
  return (TnRect){ a->x + (b->x - a->x) * t, a->y + (b->y - a->y) * t, a->width + (b->width - a->width) * t, a->height + (b->height - a->height) * t };
}

static void
end_move (TnGraphView *self)
{
  if (self->tick != 0)
    gtk_widget_remove_tick_callback (GTK_WIDGET (self), self->tick);
  self->tick = 0;
  g_clear_pointer (&self->moving, tn_graph_layout_unref);
  g_clear_pointer (&self->from_boxes, g_free);
  g_clear_pointer (&self->from_frames, g_free);
  redraw (self);
}

static gboolean
move_cb (GtkWidget *widget, GdkFrameClock *clock, gpointer user_data)
{
  TnGraphView *self = TN_GRAPH_VIEW (widget);
  gint64 now = gdk_frame_clock_get_frame_time (clock);
  if (self->moved_at == 0)
    self->moved_at = now;
  double t = (double) (now - self->moved_at) / (MOVE_MS * 1000.0);
  if (t >= 1)
    {
      self->tick = 0;
      end_move (self);
      return G_SOURCE_REMOVE;
    }
  double eased = 1 - (1 - t) * (1 - t) * (1 - t);
  for (int b = 0; b < self->layout->n_boxes; b++)
    self->moving->boxes[b] = between (&self->from_boxes[b], &self->layout->boxes[b], eased);
  for (int f = 0; f < self->layout->n_frames; f++)
    self->moving->frames[f] = between (&self->from_frames[f], &self->layout->frames[f], eased);
  gtk_widget_queue_draw (self->data_layer);
  return G_SOURCE_CONTINUE;
}

static gboolean
animates (TnGraphView *self)
{
  gboolean enabled = TRUE;
  g_object_get (gtk_widget_get_settings (GTK_WIDGET (self)), "gtk-enable-animations", &enabled, NULL);
  return enabled && gtk_widget_get_mapped (GTK_WIDGET (self));
}

/* Where each box comes from: its own old place, or out of the box that hid it. Edges are drawn again when all stand still. */
static void
begin_move (TnGraphView *self, const TnGraphCut *old_cut, const TnGraphLayout *old)
{
  end_move (self);
  if (old == NULL || !animates (self) || self->layout->n_boxes > TN_GRAPH_HARD_CAP)
    return;
  self->from_boxes = g_memdup2 (self->layout->boxes, sizeof (TnRect) * (gsize) MAX (self->layout->n_boxes, 1));
  self->from_frames = g_memdup2 (self->layout->frames, sizeof (TnRect) * (gsize) MAX (self->layout->n_frames, 1));
  for (int b = 0; b < self->cut->n_boxes; b++)
    {
      int before = tn_graph_cut_find (old_cut, self->cut->boxes[b].key);
      if (before < 0 && self->cut->boxes[b].item >= 0)
        before = old_cut->box_of_item[self->cut->boxes[b].item];
      if (before >= 0)
        self->from_boxes[b] = old->boxes[before];
    }
  for (int f = 0; f < self->cut->n_frames; f++)
    for (int k = 0; k < old_cut->n_frames; k++)
      if (old_cut->frames[k].key == self->cut->frames[f].key)
        self->from_frames[f] = old->frames[k];
  self->moving = g_new0 (TnGraphLayout, 1);
  *self->moving = *self->layout;
  self->moving->refs = 1;
  self->moving->n_edges = 0;
  self->moving->boxes = g_memdup2 (self->from_boxes, sizeof (TnRect) * (gsize) MAX (self->layout->n_boxes, 1));
  self->moving->frames = g_memdup2 (self->from_frames, sizeof (TnRect) * (gsize) MAX (self->layout->n_frames, 1));
  self->moving->first_point = g_new0 (int, 1);
  self->moving->points = NULL;
  self->moved_at = 0;
  self->tick = gtk_widget_add_tick_callback (GTK_WIDGET (self), move_cb, NULL, NULL);
}

/* ---- layout ---- */

static void
set_busy (TnGraphView *self, gboolean busy)
{
  g_clear_handle_id (&self->busy_source, g_source_remove);
  gtk_widget_set_visible (self->busy_box, busy);
}

static gboolean
busy_cb (gpointer user_data)
{
  TnGraphView *self = user_data;
  self->busy_source = 0;
  gtk_widget_set_visible (self->busy_box, TRUE);
  return G_SOURCE_REMOVE;
}

/* What stood at a place stays there: the box that was opened or closed, or the cursor. */
static void
keep_place (TnGraphView *self, const TnGraphCut *old_cut, const TnGraphLayout *old)
{
  for (int k = 0; k < old_cut->n_boxes; k++)
    {
      int anchor = self->cursor >= 0 && self->cursor < old_cut->n_boxes ? (self->cursor + k) % old_cut->n_boxes : k;
      int now = tn_graph_cut_find (self->cut, old_cut->boxes[anchor].key);
      if (now < 0 && old_cut->boxes[anchor].item >= 0)
        now = self->cut->box_of_item[old_cut->boxes[anchor].item];
      if (now < 0)
        continue;
      self->transform.x += self->layout->boxes[now].x - old->boxes[anchor].x;
      self->transform.y += self->layout->boxes[now].y - old->boxes[anchor].y;
      return;
    }
}

static void
show_cut (TnGraphView *self, TnGraphCut *cut, TnGraphLayout *layout)
{
  g_autoptr (TnGraphCut) old_cut = g_steal_pointer (&self->cut);
  g_autoptr (TnGraphLayout) old = g_steal_pointer (&self->layout);
  guint64 cursor_key = old_cut != NULL && self->cursor >= 0 && self->cursor < old_cut->n_boxes ? old_cut->boxes[self->cursor].key : 0;
  int cursor_item = cursor_key != 0 ? old_cut->boxes[self->cursor].item : -1;
  self->cut = tn_graph_cut_ref (cut);
  self->layout = tn_graph_layout_ref (layout);
  self->hover = -1;
  set_busy (self, FALSE);
  if (!self->was_fitted)
    fit_first (self);
  else if (old != NULL)
    keep_place (self, old_cut, old);
  self->was_fitted = TRUE;
  self->cursor = cursor_key != 0 ? tn_graph_cut_find (cut, cursor_key) : -1;
  if (self->cursor < 0 && cursor_item >= 0)
    self->cursor = cut->box_of_item[cursor_item];
  g_clear_pointer (&self->values, g_free);
  if (self->overlay != NULL)
    self->values = tn_graph_overlay_sum (self->overlay, cut);
  begin_move (self, old_cut, old);
  set_marks (self);
  if (self->wants_reveal >= 0 && cut->box_of_item[self->wants_reveal] >= 0)
    {
      tn_graph_view_set_cursor (self, cut->box_of_item[self->wants_reveal]);
      bring_into_view (self, self->cursor);
    }
  self->wants_reveal = -1;
  describe (self);
  set_badge (self);
  g_signal_emit (self, signals[SHOWN], 0);
}

typedef struct
{
  GWeakRef view;
  TnGraphCut *cut;
  GCancellable *cancellable;
} Waiting;

static void
laid_out_cb (GObject *source, GAsyncResult *result, gpointer user_data)
{
  Waiting *waiting = user_data;
  g_autoptr (TnGraphLayout) layout = tn_graph_layout_make_finish (result, NULL);
  g_autoptr (TnGraphView) self = g_weak_ref_get (&waiting->view);
  /* A later update took its place. */
  if (self != NULL && self->cancellable == waiting->cancellable && layout != NULL)
    {
      g_clear_object (&self->cancellable);
      if (g_hash_table_size (self->cache) > MAX_CACHED)
        g_hash_table_remove_all (self->cache);
      g_hash_table_insert (self->cache, g_memdup2 (&waiting->cut->hash, sizeof waiting->cut->hash), tn_graph_layout_ref (layout));
      show_cut (self, waiting->cut, layout);
    }
  g_weak_ref_clear (&waiting->view);
  tn_graph_cut_unref (waiting->cut);
  g_object_unref (waiting->cancellable);
  g_free (waiting);
}

void
tn_graph_view_update (TnGraphView *self)
{
  if (self->folds == NULL)
    return;
  if (self->cancellable != NULL)
    g_cancellable_cancel (self->cancellable);
  g_clear_object (&self->cancellable);
  g_autoptr (TnGraphCut) cut = tn_graph_cut_new (self->folds);
  TnGraphLayout *known = g_hash_table_lookup (self->cache, &cut->hash);
  if (known != NULL)
    {
      show_cut (self, cut, known);
      return;
    }
  Waiting *waiting = g_new0 (Waiting, 1);
  g_weak_ref_init (&waiting->view, self);
  waiting->cut = tn_graph_cut_ref (cut);
  self->cancellable = g_cancellable_new ();
  waiting->cancellable = g_object_ref (self->cancellable);
  if (self->busy_source == 0)
    self->busy_source = g_timeout_add (BUSY_AFTER_MS, busy_cb, self);
  TnGraphLayoutLimits limits = { .seconds = self->seconds };
  tn_graph_layout_make_async (cut, &limits, self->cancellable, laid_out_cb, waiting);
}

gboolean
tn_graph_view_is_busy (TnGraphView *self)
{
  return self->cancellable != NULL;
}

void
tn_graph_view_cancel (TnGraphView *self)
{
  if (self->cancellable != NULL)
    g_cancellable_cancel (self->cancellable);
}

void
tn_graph_view_set_seconds (TnGraphView *self, int seconds)
{
  self->seconds = seconds;
}

/* ---- selection ---- */

void
tn_graph_view_clear_selection (TnGraphView *self)
{
  if (self->document == NULL)
    return;
  memset (self->selected, 0, sizeof (gboolean) * (gsize) self->document->n_items);
  self->selected_scope = self->last = -1;
  set_marks (self);
}

void
tn_graph_view_set_cursor (TnGraphView *self, int box)
{
  self->cursor = box;
  set_marks (self);
  describe (self);
}

static gboolean
lies_in (const TnGraphDocument *document, int scope, int above)
{
  for (; scope >= 0; scope = document->scopes[scope].parent)
    if (scope == above)
      return TRUE;
  return FALSE;
}

void
tn_graph_view_select_box (TnGraphView *self, int box, gboolean add)
{
  if (self->cut == NULL)
    return;
  if (!add)
    tn_graph_view_clear_selection (self);
  if (box >= 0)
    {
      const TnGraphBox *b = &self->cut->boxes[box];
      gboolean was = self->marks[box] & TN_MARK_SELECTED;
      self->selected_scope = -1;
      if (b->kind == TN_BOX_SCOPE)
        self->selected_scope = add && was ? -1 : b->scope;
      else if (b->item >= 0)
        {
          self->selected[b->item] = !(add && was);
          self->last = self->selected[b->item] ? b->item : -1;
        }
      self->cursor = box;
    }
  set_marks (self);
  describe (self);
  g_signal_emit (self, signals[SELECTED], 0);
}

int
tn_graph_view_selected (TnGraphView *self, int *scope)
{
  if (scope != NULL)
    *scope = self->selected_scope;
  return self->last;
}

GArray *
tn_graph_view_selection (TnGraphView *self)
{
  GArray *items = g_array_new (FALSE, FALSE, sizeof (int));
  for (int i = 0; self->document != NULL && i < self->document->n_items; i++)
    if (self->selected[i] || (self->selected_scope >= 0 && lies_in (self->document, self->document->items[i].scope, self->selected_scope)))
      g_array_append_val (items, i);
  return items;
}

static void
say_closed (TnGraphView *self, int closed)
{
  if (closed == 0)
    return;
  g_autofree char *text = g_strdup_printf (g_dngettext ("tenon", "%d scope was closed: at most %d boxes are shown", "%d scopes were closed: at most %d boxes are shown", (gulong) closed),
                                           closed, TN_GRAPH_HARD_CAP);
  g_signal_emit (self, signals[SAID], 0, text);
}

void
tn_graph_view_reveal (TnGraphView *self, int item)
{
  if (self->folds == NULL || item < 0 || item >= self->document->n_items)
    return;
  const TnGraphItem *it = &self->document->items[item];
  if (it->kind == TN_ITEM_PARAMETER || it->kind == TN_ITEM_STATE)
    self->folds->show.parameters = TRUE;
  if (it->kind == TN_ITEM_CONSTANT)
    self->folds->show.constants = TRUE;
  say_closed (self, tn_graph_folds_reveal (self->folds, item));
  memset (self->selected, 0, sizeof (gboolean) * (gsize) self->document->n_items);
  self->selected[item] = TRUE;
  self->selected_scope = -1;
  self->last = item;
  self->wants_reveal = item;
  /* A parameter has no box of its own: the first operator that uses it stands for it. */
  if (it->kind >= TN_ITEM_PARAMETER && self->document->out_first[item + 1] > self->document->out_first[item])
    {
      int user = self->document->links[self->document->out_links[self->document->out_first[item]]].to;
      tn_graph_folds_reveal (self->folds, user);
      self->wants_reveal = user;
    }
  tn_graph_view_update (self);
  g_signal_emit (self, signals[SELECTED], 0);
}

void
tn_graph_view_select_scope (TnGraphView *self, int scope, gboolean reveal)
{
  if (self->folds == NULL)
    return;
  tn_graph_view_clear_selection (self);
  self->selected_scope = scope;
  if (reveal && scope >= 0 && self->document->scopes[scope].parent >= 0)
    {
      say_closed (self, tn_graph_folds_open (self->folds, self->document->scopes[scope].parent));
      for (int i = 0; i < self->document->n_items && self->wants_reveal < 0; i++)
        if (self->document->items[i].kind == TN_ITEM_OPERATOR && lies_in (self->document, self->document->items[i].scope, scope))
          self->wants_reveal = i;
      tn_graph_view_update (self);
    }
  set_marks (self);
  g_signal_emit (self, signals[SELECTED], 0);
}

void
tn_graph_view_toggle_box (TnGraphView *self, int box)
{
  const TnGraphBox *b = &self->cut->boxes[box];
  if (b->n_folded > 1)
    {
      int above = b->frame >= 0 ? self->cut->frames[b->frame].scope : self->document->n_scopes;
      self->folds->unfolded[above] = TRUE;
    }
  else if (b->can_open)
    say_closed (self, tn_graph_folds_open (self->folds, b->scope));
  else
    return;
  tn_graph_view_update (self);
}

void
tn_graph_view_close_scope (TnGraphView *self, int scope)
{
  tn_graph_folds_close (self->folds, scope);
  if (scope >= 0)
    self->folds->unfolded[scope] = FALSE;
  tn_graph_view_update (self);
}

void
tn_graph_view_follow_tunnel (TnGraphView *self, int box, int number)
{
  int end = -1;
  if (tn_graph_cut_tunnel_ends (self->cut, box, number, &end, 1) > 0)
    {
      tn_graph_view_select_box (self, end, FALSE);
      bring_into_view (self, end);
    }
}

/* ---- traces ---- */

gboolean
tn_graph_view_trace (TnGraphView *self, gboolean inputs)
{
  g_autoptr (GArray) items = tn_graph_view_selection (self);
  if (items->len == 0)
    return FALSE;
  g_free (self->lit);
  self->lit = tn_graph_cone (self->document, (const int *) (void *) items->data, (int) items->len, inputs);
  set_marks (self);
  return TRUE;
}

gboolean
tn_graph_view_trace_path (TnGraphView *self)
{
  g_autoptr (GArray) items = tn_graph_view_selection (self);
  gboolean *path = items->len == 2 ? tn_graph_path (self->document, g_array_index (items, int, 0), g_array_index (items, int, 1)) : NULL;
  if (path == NULL)
    return FALSE;
  g_free (self->lit);
  self->lit = path;
  set_marks (self);
  return TRUE;
}

void
tn_graph_view_clear_trace (TnGraphView *self)
{
  g_clear_pointer (&self->lit, g_free);
  set_marks (self);
}

/* ---- document and overlay ---- */

void
tn_graph_view_set_document (TnGraphView *self, TnGraphDocument *document, const guint8 *changes)
{
  end_move (self);
  if (self->cancellable != NULL)
    g_cancellable_cancel (self->cancellable);
  g_clear_object (&self->cancellable);
  set_busy (self, FALSE);
  g_clear_pointer (&self->cut, tn_graph_cut_unref);
  g_clear_pointer (&self->layout, tn_graph_layout_unref);
  g_clear_pointer (&self->folds, tn_graph_folds_free);
  g_clear_pointer (&self->document, tn_graph_document_unref);
  g_clear_pointer (&self->overlay, tn_graph_overlay_free);
  g_clear_pointer (&self->values, g_free);
  g_clear_pointer (&self->marks, g_free);
  g_clear_pointer (&self->lit, g_free);
  g_clear_pointer (&self->selected, g_free);
  g_clear_pointer (&self->changes, g_free);
  g_hash_table_remove_all (self->cache);
  self->selected_scope = self->last = self->cursor = self->hover = self->wants_reveal = -1;
  self->was_fitted = FALSE;
  if (document != NULL)
    {
      self->document = tn_graph_document_ref (document);
      self->folds = tn_graph_folds_new (document);
      self->selected = g_new0 (gboolean, document->n_items + 1);
      self->changes = changes != NULL ? g_memdup2 (changes, (gsize) MAX (document->n_items, 1)) : NULL;
    }
  set_badge (self);
  describe (self);
  redraw (self);
  tn_graph_view_update (self);
}

TnGraphDocument *
tn_graph_view_document (TnGraphView *self)
{
  return self->document;
}

TnGraphFolds *
tn_graph_view_folds (TnGraphView *self)
{
  return self->folds;
}

const TnGraphCut *
tn_graph_view_cut (TnGraphView *self)
{
  return self->cut;
}

const TnGraphLayout *
tn_graph_view_layout (TnGraphView *self)
{
  return self->layout;
}

void
tn_graph_view_set_overlay (TnGraphView *self, TnGraphOverlay *overlay)
{
  g_clear_pointer (&self->overlay, tn_graph_overlay_free);
  g_clear_pointer (&self->values, g_free);
  self->overlay = overlay;
  if (overlay != NULL && self->cut != NULL)
    self->values = tn_graph_overlay_sum (overlay, self->cut);
  gtk_widget_queue_allocate (GTK_WIDGET (self)); /* the badge makes room for the legend */
  redraw (self);
}

const TnGraphOverlay *
tn_graph_view_overlay (TnGraphView *self)
{
  return self->overlay;
}

void
tn_graph_view_set_minimap (TnGraphView *self, gboolean shown)
{
  self->minimap_shown = shown;
  gtk_widget_queue_allocate (GTK_WIDGET (self));
}

/* ---- widget ---- */

static void
tn_graph_view_measure (GtkWidget *widget, GtkOrientation orientation, int for_size, int *minimum, int *natural, int *minimum_baseline, int *natural_baseline)
{
  *minimum = orientation == GTK_ORIENTATION_HORIZONTAL ? 120 : 100;
  *natural = orientation == GTK_ORIENTATION_HORIZONTAL ? 600 : 400;
}

static void
place (GtkWidget *child, int x, int y, int width, int height)
{
  gtk_widget_size_allocate (child, &(GtkAllocation){ x, y, width, height }, -1);
}

static void
tn_graph_view_size_allocate (GtkWidget *widget, int width, int height, int baseline)
{
  TnGraphView *self = TN_GRAPH_VIEW (widget);
  int badge_w, badge_h, busy_w, busy_h;
  place (self->data_layer, 0, 0, width, height);
  place (self->hover_layer, 0, 0, width, height);
  gboolean room = width >= 420 && height >= 260;
  gtk_widget_set_child_visible (self->minimap, self->minimap_shown && room);
  place (self->minimap, MAX (width - MINIMAP_WIDTH - 10, 0), MAX (height - MINIMAP_HEIGHT - 10, 0), MINIMAP_WIDTH, MINIMAP_HEIGHT);
  gtk_widget_measure (self->badge, GTK_ORIENTATION_HORIZONTAL, -1, NULL, &badge_w, NULL, NULL);
  gtk_widget_measure (self->badge, GTK_ORIENTATION_VERTICAL, -1, NULL, &badge_h, NULL, NULL);
  badge_w = MIN (badge_w, MAX (width - 24, 1));
  if (gtk_widget_get_visible (self->badge))
    place (self->badge, 12, MAX (height - badge_h - (self->overlay != NULL ? 44 : 8), 0), MIN (badge_w, MAX (width - MINIMAP_WIDTH - 30, 60)), badge_h);
  gtk_widget_measure (self->busy_box, GTK_ORIENTATION_HORIZONTAL, -1, NULL, &busy_w, NULL, NULL);
  gtk_widget_measure (self->busy_box, GTK_ORIENTATION_VERTICAL, -1, NULL, &busy_h, NULL, NULL);
  if (gtk_widget_get_visible (self->busy_box))
    place (self->busy_box, MAX ((width - busy_w) / 2, 0), 12, busy_w, busy_h);
  if (self->wants_fit && width >= 10)
    fit_first (self);
}

static void
tn_graph_view_snapshot (GtkWidget *widget, GtkSnapshot *snapshot)
{
  GTK_WIDGET_CLASS (tn_graph_view_parent_class)->snapshot (widget, snapshot);
  if (gtk_widget_has_visible_focus (widget))
    gtk_snapshot_render_focus (snapshot, gtk_widget_get_style_context (widget), 0, 0, gtk_widget_get_width (widget), gtk_widget_get_height (widget));
}

static void
tn_graph_view_dispose (GObject *object)
{
  TnGraphView *self = TN_GRAPH_VIEW (object);
  end_move (self);
  if (self->cancellable != NULL)
    g_cancellable_cancel (self->cancellable);
  g_clear_object (&self->cancellable);
  g_clear_handle_id (&self->busy_source, g_source_remove);
  g_clear_pointer (&self->data_layer, gtk_widget_unparent);
  g_clear_pointer (&self->hover_layer, gtk_widget_unparent);
  g_clear_pointer (&self->minimap, gtk_widget_unparent);
  g_clear_pointer (&self->badge, gtk_widget_unparent);
  g_clear_pointer (&self->busy_box, gtk_widget_unparent);
  G_OBJECT_CLASS (tn_graph_view_parent_class)->dispose (object);
}

static void
tn_graph_view_finalize (GObject *object)
{
  TnGraphView *self = TN_GRAPH_VIEW (object);
  g_clear_pointer (&self->cut, tn_graph_cut_unref);
  g_clear_pointer (&self->layout, tn_graph_layout_unref);
  g_clear_pointer (&self->folds, tn_graph_folds_free);
  g_clear_pointer (&self->document, tn_graph_document_unref);
  g_clear_pointer (&self->overlay, tn_graph_overlay_free);
  g_free (self->values);
  g_free (self->marks);
  g_free (self->lit);
  g_free (self->selected);
  g_free (self->changes);
  g_hash_table_unref (self->cache);
  G_OBJECT_CLASS (tn_graph_view_parent_class)->finalize (object);
}

static void
focus_cb (TnGraphView *self)
{
  if (self->cut != NULL && self->cursor < 0 && gtk_widget_has_focus (GTK_WIDGET (self)) && self->cut->n_boxes > 0)
    self->cursor = 0;
  set_marks (self);
  describe (self);
}

static void
tn_graph_view_class_init (TnGraphViewClass *class)
{
  GtkWidgetClass *widget_class = GTK_WIDGET_CLASS (class);
  G_OBJECT_CLASS (class)->dispose = tn_graph_view_dispose;
  G_OBJECT_CLASS (class)->finalize = tn_graph_view_finalize;
  widget_class->measure = tn_graph_view_measure;
  widget_class->size_allocate = tn_graph_view_size_allocate;
  widget_class->snapshot = tn_graph_view_snapshot;
  signals[SELECTED] = g_signal_new ("selected", G_TYPE_FROM_CLASS (class), G_SIGNAL_RUN_LAST, 0, NULL, NULL, NULL, G_TYPE_NONE, 0);
  signals[SHOWN] = g_signal_new ("shown", G_TYPE_FROM_CLASS (class), G_SIGNAL_RUN_LAST, 0, NULL, NULL, NULL, G_TYPE_NONE, 0);
  signals[SAID] = g_signal_new ("said", G_TYPE_FROM_CLASS (class), G_SIGNAL_RUN_LAST, 0, NULL, NULL, NULL, G_TYPE_NONE, 1, G_TYPE_STRING);
  signals[MENU] = g_signal_new ("menu", G_TYPE_FROM_CLASS (class), G_SIGNAL_RUN_LAST, 0, NULL, NULL, NULL, G_TYPE_NONE, 2, G_TYPE_DOUBLE, G_TYPE_DOUBLE);
  gtk_widget_class_set_css_name (widget_class, "graphview");
  gtk_widget_class_set_accessible_role (widget_class, GTK_ACCESSIBLE_ROLE_IMG);
  tn_graph_view_install_actions (widget_class);
}

static GtkWidget *
make_busy_box (TnGraphView *self)
{
  GtkWidget *box = gtk_box_new (GTK_ORIENTATION_HORIZONTAL, 8), *spinner = gtk_spinner_new (), *button = gtk_button_new_with_label (_ ("Cancel"));
  gtk_spinner_start (GTK_SPINNER (spinner));
  gtk_widget_add_css_class (box, "osd");
  gtk_widget_add_css_class (box, "toolbar");
  gtk_box_append (GTK_BOX (box), spinner);
  gtk_box_append (GTK_BOX (box), gtk_label_new (_ ("Laying out…")));
  gtk_box_append (GTK_BOX (box), button);
  g_signal_connect_object (button, "clicked", G_CALLBACK (tn_graph_view_cancel), self, G_CONNECT_SWAPPED);
  gtk_widget_set_visible (box, FALSE);
  return box;
}

static void
tn_graph_view_init (TnGraphView *self)
{
  self->selected_scope = self->last = self->cursor = self->hover = self->wants_reveal = -1;
  self->transform.scale = 1;
  self->minimap_shown = TRUE;
  self->cache = g_hash_table_new_full (g_int64_hash, g_int64_equal, g_free, (GDestroyNotify) tn_graph_layout_unref);
  self->data_layer = tn_draw_layer_new (draw_data, self);
  self->hover_layer = tn_draw_layer_new (draw_hover, self);
  self->minimap = tn_draw_layer_new (draw_minimap, self);
  self->badge = gtk_label_new (NULL);
  gtk_label_set_ellipsize (GTK_LABEL (self->badge), PANGO_ELLIPSIZE_END);
  gtk_widget_add_css_class (self->badge, "dim-label");
  gtk_widget_add_css_class (self->badge, "caption");
  self->busy_box = make_busy_box (self);
  GtkWidget *children[] = { self->data_layer, self->hover_layer, self->minimap, self->badge, self->busy_box };
  for (gsize i = 0; i < G_N_ELEMENTS (children); i++)
    gtk_widget_set_parent (children[i], GTK_WIDGET (self));
  gtk_widget_set_can_target (self->badge, FALSE);
  gtk_widget_set_overflow (GTK_WIDGET (self), GTK_OVERFLOW_HIDDEN);
  gtk_widget_set_focusable (GTK_WIDGET (self), TRUE);
  gtk_widget_set_hexpand (GTK_WIDGET (self), TRUE);
  gtk_widget_set_vexpand (GTK_WIDGET (self), TRUE);
  g_signal_connect (self, "notify::has-focus", G_CALLBACK (focus_cb), NULL);
  tn_graph_view_add_gestures (self);
}

GtkWidget *
tn_graph_view_new (void)
{
  return g_object_new (TN_TYPE_GRAPH_VIEW, NULL);
}
