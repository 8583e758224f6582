/* SPDX-License-Identifier: Apache-2.0 */
#include <glib/gi18n.h>
#include <math.h>
#include <string.h>

#include "draw/tensor-picture.h"
#include <inttypes.h>
#include "format.h"
#include "picture-view.h"
#include "shard-tensors.h"
#include "table.h"

/* The Tensors view: parameters with their cut, the chosen one as a picture, and the editor of its layout. */
struct _TnShardTensors
{
  TnShardView parent_instance;
  GtkWidget *box, *centre, *table, *canvas, *title, *drops, *rows_drop, *columns_drop, *slices, *rank_label, *count;
  GtkWidget *side, *editor;
  GtkStringList *dims;
  TnTableModel *model;
  TnTensorPicture *picture;
  gboolean filling, selecting;
};

G_DEFINE_FINAL_TYPE (TnShardTensors, tn_shard_tensors, TN_TYPE_SHARD_VIEW)

enum
{
  COLUMN_NAME,
  COLUMN_SPLIT,
  COLUMN_BYTES,
  COLUMN_SHAPE,
  COLUMN_DTYPE,
  COLUMN_KIND,
  COLUMN_COPIES,
  COLUMN_STAGE,
  COLUMN_CHANGE,
  N_COLUMNS
};

static TnShardPlan *
plan_of (gpointer self)
{
  return tn_shard_view_plan (TN_SHARD_VIEW (self));
}

static const TnShardItem *
item_of (gpointer self)
{
  int item = tn_shard_view_item (self);
  return plan_of (self) != NULL && item >= 0 ? tn_shard_plan_item (plan_of (self), (guint) item) : NULL;
}

/* ---- picture ---- */

static void
draw (TnCanvas *canvas, const TnRect *area, const TnRect *clip, const TnPalette *palette, gpointer data)
{
  TnShardTensors *self = data;
  if (self->picture == NULL)
    return;
  tn_tensor_picture_place (self->picture, area);
  tn_tensor_picture_draw (self->picture, canvas, clip, palette, tn_shard_view_rank (data));
}

static gint64
hit (const TnRect *area, double x, double y, gpointer data)
{
  TnShardTensors *self = data;
  if (self->picture == NULL)
    return -1;
  tn_tensor_picture_place (self->picture, area);
  return tn_tensor_picture_hit (self->picture, x, y);
}

static gint64
move (const TnRect *area, int dx, int dy, gpointer data)
{
  TnTensorPicture *p = TN_SHARD_TENSORS (data)->picture;
  if (p == NULL)
    return -1;
  gint64 tile = tn_tensor_picture_tile_of (p, tn_shard_view_rank (data));
  if (tile < 0)
    return 0;
  return CLAMP (tile / p->n_columns + dy, 0, p->n_rows - 1) * p->n_columns + CLAMP (tile % p->n_columns + dx, 0, p->n_columns - 1);
}

static char *
describe (gint64 tile, gpointer data)
{
  TnTensorPicture *p = TN_SHARD_TENSORS (data)->picture;
  const TnShardItem *item = item_of (data);
  if (p == NULL || item == NULL)
    return NULL;
  if (tile < 0 || tile >= tn_tensor_picture_n_tiles (p))
    return g_strdup_printf (_("%s, %" PRId64 " slices, %" PRId64 " copies of each"), item->name, tn_layout_n_slices (item->layout), p->n_replicas);
  g_autofree char *range = tn_tensor_picture_range (p, tile), *owners = tn_tensor_picture_owners_text (p, tile);
  g_autofree char *bytes = tn_format_size ((double) tn_tensor_picture_tile_bytes (p));
  if (!item->has_shape)
    return g_strdup_printf (_("%s\npiece %s"), owners, range);
  if (p->cuts > 1)
    return g_strdup_printf (_("%s\n%s, %s\nupdated in %" PRId64 " parts, one a rank"), owners, range, bytes, p->cuts);
  return g_strdup_printf (_("%s\n%s, %s"), owners, range, bytes);
}

static const TnPictureFuncs funcs = { draw, hit, move, describe };

/* ---- table ---- */

static guint
n_rows (gpointer data)
{
  return plan_of (data) != NULL ? plan_of (data)->items->len : 0;
}

static const TnShardItem *
other_item (gpointer data, const TnShardItem *item)
{
  TnShardPlan *other = tn_shard_view_other (data);
  int at = other != NULL ? tn_shard_plan_find (other, item->name) : -1;
  return at >= 0 ? tn_shard_plan_item (other, (guint) at) : NULL;
}

static double
cell_number (gpointer data, guint row, guint column)
{
  const TnShardItem *item = tn_shard_plan_item (plan_of (data), row), *other;
  switch (column)
    {
    case COLUMN_BYTES:
      return item->bytes >= 0 ? (double) item->bytes : NAN;
    case COLUMN_COPIES:
      return (double) item->replicas;
    case COLUMN_STAGE:
      return item->stage >= 0 ? item->stage : NAN;
    case COLUMN_CHANGE:
      other = other_item (data, item);
      return other != NULL && other->bytes >= 0 && item->bytes >= 0 ? (double) (other->bytes - item->bytes) : NAN;
    default:
      return NAN;
    }
}

static char *
change_text (gpointer data, const TnShardItem *item)
{
  const TnShardItem *other = other_item (data, item);
  if (tn_shard_view_other (data) == NULL)
    return g_strdup ("—");
  if (other == NULL)
    return g_strdup (_("not there"));
  g_autofree char *here = tn_shard_item_split (item), *there = tn_shard_item_split (other);
  if (strcmp (here, there) == 0 && item->bytes == other->bytes)
    return g_strdup (_("same"));
  g_autofree char *size = item->bytes >= 0 && other->bytes >= 0 ? tn_format_size (fabs ((double) (other->bytes - item->bytes))) : NULL;
  return size != NULL ? g_strdup_printf ("%s %s%s", there, other->bytes < item->bytes ? "−" : "+", size) : g_strdup (there);
}

static char *
cell_text (gpointer data, guint row, guint column)
{
  const TnShardItem *item = tn_shard_plan_item (plan_of (data), row);
  switch (column)
    {
    case COLUMN_NAME:
      return g_strdup (item->name);
    case COLUMN_SPLIT:
      return tn_shard_item_split (item);
    case COLUMN_BYTES:
      return item->bytes >= 0 ? tn_format_size ((double) item->bytes) : g_strdup ("—");
    case COLUMN_SHAPE:
      return item->has_shape ? tn_shape_to_string (&item->shape) : g_strdup ("—");
    case COLUMN_DTYPE:
      return g_strdup (*item->dtype != '\0' ? item->dtype : "—");
    case COLUMN_KIND:
      return g_strdup (_(item->kind));
    case COLUMN_COPIES:
      return g_strdup_printf ("%" PRId64, item->replicas);
    case COLUMN_STAGE:
      return item->stage >= 0 ? g_strdup_printf ("%d", item->stage) : g_strdup ("—");
    default:
      return change_text (data, item);
    }
}

/* ---- showing ---- */

static void
show_title (TnShardTensors *self)
{
  const TnShardItem *item = item_of (self);
  gint64 rank = tn_shard_view_rank (TN_SHARD_VIEW (self));
  if (item == NULL)
    {
      tn_shard_say (self->title, plan_of (self) != NULL ? _("Choose a parameter") : "");
      tn_shard_say (self->rank_label, "");
      return;
    }
  g_autofree char *shape = tn_shape_to_string (&item->shape), *whole = tn_format_size ((double) tn_shape_count (&item->shape) * (double) item->element);
  g_autofree char *text = item->has_shape ? g_strdup_printf ("%s  %s  %s  %s", item->name, shape, item->dtype, whole) : g_strdup (item->name);
  tn_shard_say (self->title, text);
  TnBox box;
  g_autofree char *slice = NULL, *size = item->bytes >= 0 ? tn_format_size ((double) item->bytes) : g_strdup ("—");
  if (item->problem != NULL)
    slice = g_strdup (item->problem);
  else if (item->kept != NULL && rank >= 0 && tn_layout_slice (item->kept, &item->shape, rank, &box, NULL))
    {
      g_autofree char *range = tn_box_to_string (&box);
      slice = g_strdup_printf (_("Rank %" PRId64 " keeps %s, %s."), rank, range, size);
    }
  else
    slice = g_strdup_printf (_("A rank keeps %s. Press a tile to choose a rank."), size);
  tn_shard_say (self->rank_label, slice);
}

static void
slice_cb (TnShardTensors *self, GtkScale *scale)
{
  if (self->picture == NULL || self->filling)
    return;
  int dim = GPOINTER_TO_INT (g_object_get_data (G_OBJECT (scale), "dim"));
  tn_tensor_picture_set_slice (self->picture, dim, (gint64) gtk_range_get_value (GTK_RANGE (scale)));
  tn_picture_view_update (TN_PICTURE_VIEW (self->canvas), -1);
}

/* A scale for every split dimension that is not on the screen. */
static void
fill_slices (TnShardTensors *self)
{
  for (GtkWidget *child; (child = gtk_widget_get_first_child (self->slices)) != NULL;)
    gtk_box_remove (GTK_BOX (self->slices), child);
  for (int d = 0; self->picture != NULL && d < self->picture->shape.n_dims; d++)
    {
      gint64 n = tn_layout_shards (self->picture->layout, d);
      if (n < 2 || d == self->picture->rows || d == self->picture->columns)
        continue;
      g_autofree char *label = g_strdup_printf (_("Piece of dimension %d"), d), *id = g_strdup_printf ("shard_slice_scale:%d", d);
      GtkWidget *scale = gtk_scale_new_with_range (GTK_ORIENTATION_HORIZONTAL, 0, (double) (n - 1), 1);
      tn_shard_named (scale, id, label);
      gtk_scale_set_draw_value (GTK_SCALE (scale), TRUE);
      gtk_scale_set_digits (GTK_SCALE (scale), 0);
      gtk_widget_set_size_request (scale, 120, -1);
      gtk_range_set_value (GTK_RANGE (scale), (double) self->picture->at[d]);
      g_object_set_data (G_OBJECT (scale), "dim", GINT_TO_POINTER (d));
      g_signal_connect_object (scale, "value-changed", G_CALLBACK (slice_cb), self, G_CONNECT_SWAPPED);
      gtk_box_append (GTK_BOX (self->slices), scale);
    }
}

static void
show_item (TnShardTensors *self)
{
  const TnShardItem *item = item_of (self);
  g_clear_pointer (&self->picture, tn_tensor_picture_free);
  if (item != NULL && item->layout != NULL)
    self->picture = tn_tensor_picture_new (item->layout, item->problem == NULL ? item->kept : NULL, &item->shape, item->element, NULL);
  self->filling = TRUE;
  int n = self->picture != NULL ? self->picture->shape.n_dims : 0;
  gtk_string_list_splice (self->dims, 0, g_list_model_get_n_items (G_LIST_MODEL (self->dims)), NULL);
  for (int d = 0; d < n; d++)
    {
      g_autofree char *text = g_strdup_printf (_("dim %d"), d);
      gtk_string_list_append (self->dims, text);
    }
  gtk_widget_set_visible (self->drops, n > 2);
  if (n > 2)
    {
      gtk_drop_down_set_selected (GTK_DROP_DOWN (self->rows_drop), (guint) self->picture->rows);
      gtk_drop_down_set_selected (GTK_DROP_DOWN (self->columns_drop), (guint) self->picture->columns);
    }
  fill_slices (self);
  self->filling = FALSE;
  tn_shard_layout_set_item (TN_SHARD_LAYOUT (self->editor), plan_of (self), tn_shard_view_item (TN_SHARD_VIEW (self)));
  show_title (self);
}

static void
dims_cb (TnShardTensors *self)
{
  if (self->filling || self->picture == NULL)
    return;
  guint rows = gtk_drop_down_get_selected (GTK_DROP_DOWN (self->rows_drop)), columns = gtk_drop_down_get_selected (GTK_DROP_DOWN (self->columns_drop));
  if (rows < 8 && columns < 8 && rows != columns)
    {
      tn_tensor_picture_show (self->picture, (int) rows, (int) columns);
      fill_slices (self);
      tn_picture_view_update (TN_PICTURE_VIEW (self->canvas), -1);
    }
}

static void
picked_cb (TnShardTensors *self, gint64 tile)
{
  gint64 n;
  if (tile < 0 || self->picture == NULL)
    return;
  g_autofree gint64 *owners = tn_tensor_picture_owners (self->picture, tile, &n);
  gint64 rank = tn_shard_view_rank (TN_SHARD_VIEW (self)), next = n > 0 ? owners[0] : -1;
  for (gint64 i = 0; i + 1 < n; i++) /* pressing again walks through those that hold it */
    if (owners[i] == rank)
      next = owners[i + 1];
  tn_shard_view_pick_rank (TN_SHARD_VIEW (self), next);
}

static void
rows_cb (TnShardTensors *self)
{
  g_autoptr (GArray) rows = tn_table_get_selected (TN_TABLE (self->table));
  if (rows->len == 1 && !self->selecting)
    tn_shard_view_pick_item (TN_SHARD_VIEW (self), (int) g_array_index (rows, guint, 0));
}

static void
tn_shard_tensors_selected (TnShardView *view)
{
  TnShardTensors *self = TN_SHARD_TENSORS (view);
  int item = tn_shard_view_item (view);
  if (self->picture != NULL && item_of (self) != NULL && item_of (self)->layout == self->picture->layout)
    show_title (self); /* keeps what was chosen of the picture and begun in the editor */
  else
    show_item (self);
  if (item >= 0)
    {
      g_autoptr (GArray) rows = tn_table_get_selected (TN_TABLE (self->table));
      if (rows->len != 1 || g_array_index (rows, guint, 0) != (guint) item)
        {
          self->selecting = TRUE; /* what was selected before is no choice */
          tn_table_select_row (TN_TABLE (self->table), (guint) item);
          self->selecting = FALSE;
        }
    }
  tn_picture_view_update (TN_PICTURE_VIEW (self->canvas), self->picture != NULL ? tn_tensor_picture_tile_of (self->picture, tn_shard_view_rank (view)) : -1);
}

/* The most split parameter is the first to look at. */
static int
first_look (const TnShardPlan *plan)
{
  int best = -1;
  gint64 most = 0;
  for (guint i = 0; i < plan->items->len; i++)
    {
      const TnShardItem *item = tn_shard_plan_item (plan, i);
      gint64 n = item->layout != NULL && strcmp (item->kind, "optimizer") != 0 ? tn_layout_n_slices (item->layout) * 8 + item->shape.n_dims : 0;
      if (n > most)
        {
          best = (int) i;
          most = n;
        }
    }
  return best;
}

static void
tn_shard_tensors_plan_changed (TnShardView *view)
{
  TnShardTensors *self = TN_SHARD_TENSORS (view);
  TnShardPlan *plan = plan_of (self);
  guint split = 0;
  for (guint i = 0; plan != NULL && i < plan->items->len; i++)
    split += tn_shard_plan_item (plan, i)->layout != NULL && tn_layout_n_slices (tn_shard_plan_item (plan, i)->layout) > 1;
  g_autofree char *text = plan != NULL ? g_strdup_printf (_("%u of %u split"), split, plan->items->len) : g_strdup ("");
  gtk_label_set_text (GTK_LABEL (self->count), text);
  tn_table_model_changed (self->model);
  g_clear_pointer (&self->picture, tn_tensor_picture_free);
  if (plan != NULL && tn_shard_view_item (view) < 0)
    tn_shard_view_set_selected (view, first_look (plan), tn_shard_view_rank (view));
  else
    tn_shard_tensors_selected (view);
}

static void
tn_shard_tensors_width_changed (TnShardView *view, TnWidthClass width)
{
  TnShardTensors *self = TN_SHARD_TENSORS (view);
  gboolean compact = width == TN_WIDTH_COMPACT;
  gtk_orientable_set_orientation (GTK_ORIENTABLE (self->box), compact ? GTK_ORIENTATION_VERTICAL : GTK_ORIENTATION_HORIZONTAL);
  gtk_orientable_set_orientation (GTK_ORIENTABLE (self->centre), width == TN_WIDTH_HUGE ? GTK_ORIENTATION_HORIZONTAL : GTK_ORIENTATION_VERTICAL);
  gtk_widget_set_size_request (self->side, compact ? -1 : 250, compact ? 170 : -1);
  gtk_widget_set_vexpand (self->side, !compact);
  tn_table_set_narrow (TN_TABLE (self->table), TRUE);
}

static void
tn_shard_tensors_paint (TnShardView *view, TnCanvas *canvas, double width, double height)
{
  draw (canvas, &(TnRect){ 8, 8, width - 16, height - 16 }, &(TnRect){ 0, 0, width, height }, tn_palette_get (TN_PALETTE_LIGHT), view);
}

static GtkWidget *
tn_shard_tensors_canvas (TnShardView *view)
{
  return TN_SHARD_TENSORS (view)->canvas;
}

static GtkWidget *
tn_shard_tensors_table (TnShardView *view)
{
  return TN_SHARD_TENSORS (view)->table;
}

static void
tn_shard_tensors_dispose (GObject *object)
{
  g_clear_object (&TN_SHARD_TENSORS (object)->model);
  G_OBJECT_CLASS (tn_shard_tensors_parent_class)->dispose (object);
}

static void
tn_shard_tensors_finalize (GObject *object)
{
  g_clear_pointer (&TN_SHARD_TENSORS (object)->picture, tn_tensor_picture_free);
  G_OBJECT_CLASS (tn_shard_tensors_parent_class)->finalize (object);
}

static void
tn_shard_tensors_class_init (TnShardTensorsClass *klass)
{
  TnShardViewClass *view_class = TN_SHARD_VIEW_CLASS (klass);
  G_OBJECT_CLASS (klass)->dispose = tn_shard_tensors_dispose;
  G_OBJECT_CLASS (klass)->finalize = tn_shard_tensors_finalize;
  view_class->plan_changed = tn_shard_tensors_plan_changed;
  view_class->selected = tn_shard_tensors_selected;
  view_class->width_changed = tn_shard_tensors_width_changed;
  view_class->paint = tn_shard_tensors_paint;
  view_class->canvas = tn_shard_tensors_canvas;
  view_class->table = tn_shard_tensors_table;
}

static GtkWidget *
line_label (const char *id, const char *class)
{
  GtkWidget *label = gtk_label_new (NULL);
  gtk_widget_set_name (label, id);
  gtk_label_set_xalign (GTK_LABEL (label), 0);
  gtk_label_set_wrap (GTK_LABEL (label), TRUE);
  gtk_label_set_wrap_mode (GTK_LABEL (label), PANGO_WRAP_WORD_CHAR);
  gtk_widget_add_css_class (label, class);
  gtk_widget_set_visible (label, FALSE);
  g_object_set (label, "margin-start", 12, "margin-end", 12, "margin-top", 6, NULL);
  return label;
}

static void
build_picture (TnShardTensors *self, GtkWidget *box)
{
  self->title = line_label ("shard_tensor_label", "heading");
  self->rank_label = line_label ("shard_rank_label", "dim-label");
  self->dims = gtk_string_list_new (NULL);
  self->rows_drop = tn_shard_named (gtk_drop_down_new (g_object_ref (G_LIST_MODEL (self->dims)), NULL), "shard_rows_drop", _("Dimension shown as rows"));
  self->columns_drop = tn_shard_named (gtk_drop_down_new (G_LIST_MODEL (self->dims), NULL), "shard_columns_drop", _("Dimension shown as columns"));
  self->drops = gtk_box_new (GTK_ORIENTATION_HORIZONTAL, 6);
  g_object_set (self->drops, "margin-start", 12, "margin-top", 6, NULL);
  gtk_box_append (GTK_BOX (self->drops), gtk_label_new (_("Rows")));
  gtk_box_append (GTK_BOX (self->drops), self->rows_drop);
  gtk_box_append (GTK_BOX (self->drops), gtk_label_new (_("Columns")));
  gtk_box_append (GTK_BOX (self->drops), self->columns_drop);
  self->slices = gtk_box_new (GTK_ORIENTATION_HORIZONTAL, 6);
  self->canvas = tn_picture_view_new (&funcs, self, "shard_tensor_canvas", _("Tensors canvas"));
  gtk_widget_set_vexpand (self->canvas, TRUE);
  gtk_widget_set_hexpand (self->canvas, TRUE);
  gtk_widget_set_size_request (self->canvas, 200, 170);
  gtk_box_append (GTK_BOX (box), self->title);
  gtk_box_append (GTK_BOX (box), self->drops);
  gtk_box_append (GTK_BOX (box), self->slices);
  gtk_box_append (GTK_BOX (box), self->canvas);
  gtk_box_append (GTK_BOX (box), self->rank_label);
}

static void
tn_shard_tensors_init (TnShardTensors *self)
{
  const TnTableColumn columns[N_COLUMNS] = {
    { "name", _("Name"), TN_COLUMN_TEXT, .expand = TRUE },
    { "split", _("Split"), TN_COLUMN_TEXT },
    { "bytes", _("A rank"), TN_COLUMN_BYTES },
    { "shape", _("Shape"), TN_COLUMN_TEXT, .hidden = TRUE },
    { "dtype", _("Type"), TN_COLUMN_TEXT, .hidden = TRUE },
    { "kind", _("Kind"), TN_COLUMN_TEXT, .hidden = TRUE },
    { "copies", _("Copies"), TN_COLUMN_NUMBER, .hidden = TRUE },
    { "stage", _("Stage"), TN_COLUMN_NUMBER, .hidden = TRUE },
    { "change", _("Other"), TN_COLUMN_TEXT, .hidden = TRUE },
  };
  const TnTableFuncs table_funcs = { n_rows, cell_text, cell_number };
  GtkWidget *picture = gtk_box_new (GTK_ORIENTATION_VERTICAL, 0);
  self->model = tn_table_model_new (columns, G_N_ELEMENTS (columns), &table_funcs, self, NULL);
  self->table = tn_table_new (self->model, "shard_param_table", _("Tensors table"));
  gtk_widget_set_vexpand (self->table, TRUE);
  self->count = gtk_label_new (NULL);
  gtk_widget_add_css_class (self->count, "dim-label");
  gtk_widget_add_css_class (self->count, "caption");
  g_object_set (self->count, "margin-top", 4, "margin-bottom", 4, NULL);
  self->side = gtk_box_new (GTK_ORIENTATION_VERTICAL, 0);
  gtk_box_append (GTK_BOX (self->side), self->table);
  gtk_box_append (GTK_BOX (self->side), self->count);
  build_picture (self, picture);
  self->editor = tn_shard_layout_new ();
  self->centre = gtk_box_new (GTK_ORIENTATION_VERTICAL, 0);
  gtk_box_append (GTK_BOX (self->centre), picture);
  gtk_box_append (GTK_BOX (self->centre), self->editor);
  self->box = gtk_box_new (GTK_ORIENTATION_HORIZONTAL, 0);
  gtk_box_append (GTK_BOX (self->box), self->side);
  gtk_box_append (GTK_BOX (self->box), gtk_separator_new (GTK_ORIENTATION_VERTICAL));
  gtk_box_append (GTK_BOX (self->box), self->centre);
  gtk_widget_set_hexpand (self->centre, TRUE);
  adw_bin_set_child (ADW_BIN (self), self->box);
  g_signal_connect_swapped (self->canvas, "picked", G_CALLBACK (picked_cb), self);
  g_signal_connect_object (self->table, "selection-changed", G_CALLBACK (rows_cb), self, G_CONNECT_SWAPPED);
  g_signal_connect_object (self->rows_drop, "notify::selected", G_CALLBACK (dims_cb), self, G_CONNECT_SWAPPED);
  g_signal_connect_object (self->columns_drop, "notify::selected", G_CALLBACK (dims_cb), self, G_CONNECT_SWAPPED);
}

GtkWidget *
tn_shard_tensors_new (void)
{
  return g_object_new (TN_TYPE_SHARD_TENSORS, NULL);
}

TnShardLayout *
tn_shard_tensors_editor (TnShardTensors *self)
{
  return TN_SHARD_LAYOUT (self->editor);
}
