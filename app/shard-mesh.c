/* SPDX-License-Identifier: Apache-2.0 */
#include <glib/gi18n.h>

#include "draw/mesh-picture.h"
#include <inttypes.h>
#include "picture-view.h"
#include "shard-view.h"
#include "table.h"

/* The Mesh view: ranks by their coordinates, and who talks with whom along an axis. */
#define TN_TYPE_SHARD_MESH (tn_shard_mesh_get_type ())
G_DECLARE_FINAL_TYPE (TnShardMesh, tn_shard_mesh, TN, SHARD_MESH, TnShardView)

struct _TnShardMesh
{
  TnShardView parent_instance;
  GtkWidget *canvas, *table, *axis_drop, *paned;
  GtkStringList *axes;
  TnTableModel *model;
};

G_DEFINE_FINAL_TYPE (TnShardMesh, tn_shard_mesh, TN_TYPE_SHARD_VIEW)

static TnShardPlan *
plan_of (gpointer self)
{
  return tn_shard_view_plan (TN_SHARD_VIEW (self));
}

static int
chosen_axis (TnShardMesh *self)
{
  guint at = gtk_drop_down_get_selected (GTK_DROP_DOWN (self->axis_drop));
  return plan_of (self) != NULL && at >= 1 && at <= (guint) plan_of (self)->mesh->n_axes ? (int) at - 1 : -1;
}

static void
draw (TnCanvas *canvas, const TnRect *area, const TnRect *clip, const TnPalette *palette, gpointer data)
{
  TnMeshPicture picture;
  TnShardPlan *plan = plan_of (data);
  if (plan == NULL)
    return;
  tn_mesh_picture_init (&picture, plan->mesh, area);
  tn_mesh_picture_draw (&picture, canvas, clip, palette, tn_shard_view_rank (data), chosen_axis (data), plan->stage_ranks < plan->mesh->n_ranks ? plan->stage_ranks : 0);
}

static gint64
hit (const TnRect *area, double x, double y, gpointer data)
{
  TnMeshPicture picture;
  if (plan_of (data) == NULL)
    return -1;
  tn_mesh_picture_init (&picture, plan_of (data)->mesh, area);
  return tn_mesh_picture_hit (&picture, x, y);
}

static gint64
move (const TnRect *area, int dx, int dy, gpointer data)
{
  TnMeshPicture picture;
  gint64 rank = tn_shard_view_rank (data);
  if (plan_of (data) == NULL)
    return -1;
  tn_mesh_picture_init (&picture, plan_of (data)->mesh, area);
  gint64 place = rank >= 0 ? tn_mesh_place (plan_of (data)->mesh, rank) : -1;
  return place >= 0 ? tn_mesh_picture_move (&picture, place, dx, dy) : 0;
}

static char *
coordinates (const TnMesh *mesh, gint64 place)
{
  GString *text = g_string_new (NULL);
  for (int i = 0; i < mesh->n_axes; i++)
    g_string_append_printf (text, "%s%s %" PRId64, i > 0 ? ", " : "", mesh->names[i], tn_mesh_coordinate (mesh, place, i));
  return g_string_free (text, FALSE);
}

static char *
describe (gint64 item, gpointer data)
{
  TnShardPlan *plan = plan_of (data);
  if (plan == NULL)
    return NULL;
  g_autofree char *mesh = tn_mesh_to_string (plan->mesh);
  if (item < 0 || item >= plan->mesh->n_ranks)
    return g_strdup_printf (_("%" PRId64 " ranks, %s"), plan->mesh->n_ranks, mesh);
  g_autofree char *at = coordinates (plan->mesh, item);
  return g_strdup_printf (_("rank %" PRId64 ": %s"), plan->mesh->ranks[item], at);
}

static const TnPictureFuncs funcs = { draw, hit, move, describe };

/* ---- table ---- */

static guint
n_rows (gpointer data)
{
  return plan_of (data) != NULL ? (guint) plan_of (data)->mesh->n_ranks : 0;
}

static char *
cell_text (gpointer data, guint row, guint column)
{
  const TnMesh *mesh = plan_of (data)->mesh;
  if (column == 0)
    return g_strdup_printf ("%" PRId64, mesh->ranks[row]);
  if (column == 1)
    return coordinates (mesh, row);
  int axis = chosen_axis (data);
  if (axis < 0)
    return g_strdup ("—");
  gint64 index, shown = MIN (mesh->sizes[axis], 8);
  g_autofree int64_t *group = tn_mesh_group (mesh, 1u << axis, mesh->ranks[row], &index);
  GString *text = g_string_new (NULL);
  for (gint64 i = 0; i < shown; i++)
    g_string_append_printf (text, "%s%" PRId64, i > 0 ? ", " : "", group[i]);
  if (shown < mesh->sizes[axis])
    g_string_append_printf (text, " +%" PRId64, mesh->sizes[axis] - shown);
  return g_string_free (text, FALSE);
}

static double
cell_number (gpointer data, guint row, guint column)
{
  return (double) plan_of (data)->mesh->ranks[row];
}

static void
picked_cb (TnShardMesh *self, gint64 place)
{
  if (place >= 0)
    tn_shard_view_pick_rank (TN_SHARD_VIEW (self), plan_of (self)->mesh->ranks[place]);
}

static void
rows_cb (TnShardMesh *self)
{
  g_autoptr (GArray) rows = tn_table_get_selected (TN_TABLE (self->table));
  if (rows->len == 1 && plan_of (self) != NULL)
    picked_cb (self, g_array_index (rows, guint, 0));
}

static void
axis_cb (TnShardMesh *self)
{
  tn_table_model_changed (self->model);
  tn_picture_view_update (TN_PICTURE_VIEW (self->canvas), -1);
}

static void
tn_shard_mesh_selected (TnShardView *view)
{
  TnShardMesh *self = TN_SHARD_MESH (view);
  gint64 place = tn_shard_view_rank (view) >= 0 ? tn_mesh_place (plan_of (self)->mesh, tn_shard_view_rank (view)) : -1;
  tn_picture_view_update (TN_PICTURE_VIEW (self->canvas), place);
  if (place >= 0)
    tn_table_select_row (TN_TABLE (self->table), (guint) place);
}

static void
tn_shard_mesh_plan_changed (TnShardView *view)
{
  TnShardMesh *self = TN_SHARD_MESH (view);
  guint at = gtk_drop_down_get_selected (GTK_DROP_DOWN (self->axis_drop));
  gtk_string_list_splice (self->axes, 0, g_list_model_get_n_items (G_LIST_MODEL (self->axes)), NULL);
  gtk_string_list_append (self->axes, _("No group"));
  for (int i = 0; plan_of (self) != NULL && i < plan_of (self)->mesh->n_axes; i++)
    {
      g_autofree char *text = g_strdup_printf (_("Group along %s"), plan_of (self)->mesh->names[i]);
      gtk_string_list_append (self->axes, text);
    }
  gtk_drop_down_set_selected (GTK_DROP_DOWN (self->axis_drop), at != GTK_INVALID_LIST_POSITION && at < g_list_model_get_n_items (G_LIST_MODEL (self->axes)) ? MAX (at, 1) : 1);
  axis_cb (self);
}

static void
tn_shard_mesh_paint (TnShardView *view, TnCanvas *canvas, double width, double height)
{
  draw (canvas, &(TnRect){ 8, 8, width - 16, height - 16 }, &(TnRect){ 0, 0, width, height }, tn_palette_get (TN_PALETTE_LIGHT), view);
}

static GtkWidget *
tn_shard_mesh_canvas (TnShardView *view)
{
  return TN_SHARD_MESH (view)->canvas;
}

static GtkWidget *
tn_shard_mesh_table (TnShardView *view)
{
  return TN_SHARD_MESH (view)->table;
}

static void
tn_shard_mesh_dispose (GObject *object)
{
  g_clear_object (&TN_SHARD_MESH (object)->model);
  G_OBJECT_CLASS (tn_shard_mesh_parent_class)->dispose (object);
}

static void
tn_shard_mesh_class_init (TnShardMeshClass *klass)
{
  TnShardViewClass *view_class = TN_SHARD_VIEW_CLASS (klass);
  G_OBJECT_CLASS (klass)->dispose = tn_shard_mesh_dispose;
  view_class->plan_changed = tn_shard_mesh_plan_changed;
  view_class->selected = tn_shard_mesh_selected;
  view_class->paint = tn_shard_mesh_paint;
  view_class->canvas = tn_shard_mesh_canvas;
  view_class->table = tn_shard_mesh_table;
}

static void
tn_shard_mesh_init (TnShardMesh *self)
{
  const TnTableColumn columns[] = {
    { "rank", _("Rank"), TN_COLUMN_NUMBER, .width = 70 },
    { "at", _("Coordinates"), TN_COLUMN_TEXT, .expand = TRUE },
    { "group", _("Group"), TN_COLUMN_TEXT, .expand = TRUE },
  };
  const TnTableFuncs table_funcs = { n_rows, cell_text, cell_number };
  GtkWidget *tools = gtk_box_new (GTK_ORIENTATION_HORIZONTAL, 6), *box = gtk_box_new (GTK_ORIENTATION_VERTICAL, 0);
  self->model = tn_table_model_new (columns, G_N_ELEMENTS (columns), &table_funcs, self, NULL);
  self->axes = gtk_string_list_new (NULL);
  self->axis_drop = tn_shard_named (gtk_drop_down_new (G_LIST_MODEL (self->axes), NULL), "shard_axis_drop", _("Communication group"));
  self->canvas = tn_picture_view_new (&funcs, self, "shard_mesh_canvas", _("Mesh canvas"));
  self->table = tn_table_new (self->model, "shard_mesh_table", _("Mesh table"));
  gtk_widget_set_margin_start (tools, 8);
  gtk_widget_set_margin_top (tools, 6);
  gtk_box_append (GTK_BOX (tools), self->axis_drop);
  gtk_widget_set_vexpand (self->canvas, TRUE);
  gtk_widget_set_size_request (self->canvas, -1, 160);
  gtk_box_append (GTK_BOX (box), tools);
  gtk_box_append (GTK_BOX (box), self->canvas);
  self->paned = gtk_paned_new (GTK_ORIENTATION_VERTICAL);
  gtk_paned_set_start_child (GTK_PANED (self->paned), box);
  gtk_paned_set_end_child (GTK_PANED (self->paned), self->table);
  gtk_paned_set_resize_end_child (GTK_PANED (self->paned), TRUE);
  gtk_paned_set_shrink_start_child (GTK_PANED (self->paned), FALSE);
  gtk_paned_set_shrink_end_child (GTK_PANED (self->paned), FALSE);
  gtk_widget_set_size_request (self->table, -1, 150);
  adw_bin_set_child (ADW_BIN (self), self->paned);
  g_signal_connect_swapped (self->canvas, "picked", G_CALLBACK (picked_cb), self);
  g_signal_connect_object (self->axis_drop, "notify::selected", G_CALLBACK (axis_cb), self, G_CONNECT_SWAPPED);
  g_signal_connect_object (self->table, "selection-changed", G_CALLBACK (rows_cb), self, G_CONNECT_SWAPPED);
}

GtkWidget *
tn_shard_mesh_new (void)
{
  return g_object_new (TN_TYPE_SHARD_MESH, NULL);
}
