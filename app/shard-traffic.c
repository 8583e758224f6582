/* SPDX-License-Identifier: Apache-2.0 */
#include <glib/gi18n.h>
#include <math.h>
#include <string.h>

#include "draw/traffic-matrix.h"
#include <inttypes.h>
#include "format.h"
#include "picture-view.h"
#include "shard-view.h"
#include "table.h"

/* The Traffic view: bytes from rank to rank, and every communication of a step. */
#define TN_TYPE_SHARD_TRAFFIC (tn_shard_traffic_get_type ())
G_DECLARE_FINAL_TYPE (TnShardTraffic, tn_shard_traffic, TN, SHARD_TRAFFIC, TnShardView)

struct _TnShardTraffic
{
  TnShardView parent_instance;
  GtkWidget *canvas, *table, *kind_drop, *phase_drop, *sum;
  TnTableModel *model;
  TnTrafficMatrix *matrix;
  gint64 cell;
};

G_DEFINE_FINAL_TYPE (TnShardTraffic, tn_shard_traffic, TN_TYPE_SHARD_VIEW)

static TnShardPlan *
plan_of (gpointer self)
{
  return tn_shard_view_plan (TN_SHARD_VIEW (self));
}

static void
draw (TnCanvas *canvas, const TnRect *area, const TnRect *clip, const TnPalette *palette, gpointer data)
{
  TnShardTraffic *self = data;
  if (self->matrix == NULL)
    return;
  tn_traffic_matrix_place (self->matrix, area);
  tn_traffic_matrix_draw (self->matrix, canvas, clip, palette, tn_shard_view_rank (data));
}

static gint64
hit (const TnRect *area, double x, double y, gpointer data)
{
  TnShardTraffic *self = data;
  if (self->matrix == NULL)
    return -1;
  tn_traffic_matrix_place (self->matrix, area);
  return tn_traffic_matrix_hit (self->matrix, x, y);
}

static gint64
move (const TnRect *area, int dx, int dy, gpointer data)
{
  TnShardTraffic *self = data;
  if (self->matrix == NULL)
    return -1;
  int n = self->matrix->n, row = (int) (MAX (self->cell, 0) / n) + dy, column = (int) (MAX (self->cell, 0) % n) + dx;
  return (gint64) CLAMP (row, 0, n - 1) * n + CLAMP (column, 0, n - 1);
}

static char *
describe (gint64 item, gpointer data)
{
  TnShardTraffic *self = data;
  if (self->matrix == NULL)
    return NULL;
  if (item < 0 || item >= (gint64) self->matrix->n * self->matrix->n)
    return g_strdup (gtk_label_get_text (GTK_LABEL (self->sum)));
  g_autofree char *from = tn_traffic_matrix_name (self->matrix, (int) (item / self->matrix->n)), *to = tn_traffic_matrix_name (self->matrix, (int) (item % self->matrix->n));
  g_autofree char *bytes = tn_format_size (self->matrix->bytes[item]);
  return g_strdup_printf (_("%s to %s: %s a step"), from, to, bytes);
}

static const TnPictureFuncs funcs = { draw, hit, move, describe };

/* ---- table ---- */

static const TnShardMove *
move_at (gpointer data, guint row)
{
  return &g_array_index (plan_of (data)->moves, TnShardMove, row);
}

static guint
n_rows (gpointer data)
{
  return plan_of (data) != NULL ? plan_of (data)->moves->len : 0;
}

static double
cell_number (gpointer data, guint row, guint column)
{
  const TnShardMove *m = move_at (data, row);
  return column == 4 ? (double) m->group : column == 5 ? m->bytes : NAN;
}

/* Without "Default/network-Net/", which all names begin with. */
static const char *
short_name (const char *name)
{
  const char *at = g_str_has_prefix (name, "Default/network-") ? strchr (name + strlen ("Default/"), '/') : NULL;
  return at != NULL ? at + 1 : name;
}

static char *
cell_text (gpointer data, guint row, guint column)
{
  const TnShardMove *m = move_at (data, row);
  switch (column)
    {
    case 0:
      return g_strdup (tn_move_kind_name (m->kind));
    case 1:
      return g_strdup (short_name (m->value));
    case 2:
      return g_strdup (tn_phase_name (m->phase));
    case 3:
      {
        GString *text = g_string_new (NULL);
        for (int i = 0; i < m->mesh->n_axes; i++)
          if (m->axes >> i & 1)
            g_string_append_printf (text, "%s%s", text->len > 0 ? "+" : "", m->mesh->names[i]);
        return g_string_free (text, FALSE);
      }
    case 4:
      return g_strdup_printf ("%" PRId64, m->group);
    default:
      return tn_format_size (m->bytes);
    }
}

static int
chosen (GtkWidget *drop)
{
  guint at = gtk_drop_down_get_selected (GTK_DROP_DOWN (drop));
  return at == GTK_INVALID_LIST_POSITION ? -1 : (int) at - 1;
}

static void
rebuild (TnShardTraffic *self)
{
  /* In the order of the drop-downs. */
  static const int kinds[] = { TN_MOVE_ALL_REDUCE, TN_MOVE_ALL_GATHER, TN_MOVE_REDUCE_SCATTER, TN_MOVE_ALL_TO_ALL };
  static const int phases[] = { TN_PHASE_FORWARD, TN_PHASE_BACKWARD, TN_PHASE_OPTIMIZER };
  TnShardPlan *plan = plan_of (self);
  int kind = chosen (self->kind_drop), phase = chosen (self->phase_drop);
  g_clear_pointer (&self->matrix, tn_traffic_matrix_free);
  self->cell = -1;
  if (plan != NULL)
    {
      g_autoptr (GArray) links = tn_shard_plan_links (plan, kind >= 0 ? kinds[kind] : -1, phase >= 0 ? phases[phase] : -1);
      double bytes = 0;
      for (guint i = 0; i < links->len; i++)
        bytes += g_array_index (links, TnTrafficLinks, i).bytes;
      self->matrix = tn_traffic_matrix_new (plan->mesh, (const TnTrafficLinks *) links->data, (int) links->len);
      g_autofree char *size = tn_format_size (bytes), *block = g_strdup_printf ("%" PRId64, self->matrix->block);
      g_autofree char *text = !plan->planned ? g_strdup (_("A strategy file says where tensors lie, not what is sent."))
                              : bytes <= 0   ? g_strdup (_("Nothing is sent."))
                              : self->matrix->block > 1
                                ? g_strdup_printf (_("Each rank receives %s a step, by rings. A cell is %s × %s ranks."), size, block, block)
                                : g_strdup_printf (_("Each rank receives %s a step, by rings."), size);
      tn_shard_say (self->sum, text);
    }
  tn_picture_view_update (TN_PICTURE_VIEW (self->canvas), -1);
}

static void
picked_cb (TnShardTraffic *self, gint64 cell)
{
  if (cell < 0)
    return;
  self->cell = cell;
  gint64 place = cell / self->matrix->n * self->matrix->block;
  tn_shard_view_pick_rank (TN_SHARD_VIEW (self), self->matrix->mesh->ranks[place]);
  tn_picture_view_update (TN_PICTURE_VIEW (self->canvas), cell);
}

static void
tn_shard_traffic_selected (TnShardView *view)
{
  tn_picture_view_update (TN_PICTURE_VIEW (TN_SHARD_TRAFFIC (view)->canvas), TN_SHARD_TRAFFIC (view)->cell);
}

static void
tn_shard_traffic_plan_changed (TnShardView *view)
{
  rebuild (TN_SHARD_TRAFFIC (view));
  tn_table_model_changed (TN_SHARD_TRAFFIC (view)->model);
}

static void
tn_shard_traffic_paint (TnShardView *view, TnCanvas *canvas, double width, double height)
{
  draw (canvas, &(TnRect){ 8, 8, width - 16, height - 16 }, &(TnRect){ 0, 0, width, height }, tn_palette_get (TN_PALETTE_LIGHT), view);
}

static GtkWidget *
tn_shard_traffic_canvas (TnShardView *view)
{
  return TN_SHARD_TRAFFIC (view)->canvas;
}

static GtkWidget *
tn_shard_traffic_table (TnShardView *view)
{
  return TN_SHARD_TRAFFIC (view)->table;
}

static void
tn_shard_traffic_dispose (GObject *object)
{
  g_clear_object (&TN_SHARD_TRAFFIC (object)->model);
  G_OBJECT_CLASS (tn_shard_traffic_parent_class)->dispose (object);
}

static void
tn_shard_traffic_finalize (GObject *object)
{
  g_clear_pointer (&TN_SHARD_TRAFFIC (object)->matrix, tn_traffic_matrix_free);
  G_OBJECT_CLASS (tn_shard_traffic_parent_class)->finalize (object);
}

static void
tn_shard_traffic_class_init (TnShardTrafficClass *klass)
{
  TnShardViewClass *view_class = TN_SHARD_VIEW_CLASS (klass);
  G_OBJECT_CLASS (klass)->dispose = tn_shard_traffic_dispose;
  G_OBJECT_CLASS (klass)->finalize = tn_shard_traffic_finalize;
  view_class->plan_changed = tn_shard_traffic_plan_changed;
  view_class->selected = tn_shard_traffic_selected;
  view_class->paint = tn_shard_traffic_paint;
  view_class->canvas = tn_shard_traffic_canvas;
  view_class->table = tn_shard_traffic_table;
}

static void
tn_shard_traffic_init (TnShardTraffic *self)
{
  const TnTableColumn columns[] = {
    { "kind", _("Kind"), TN_COLUMN_TEXT, .width = 110 },
    { "value", _("What"), TN_COLUMN_TEXT, .expand = TRUE },
    { "phase", _("Phase"), TN_COLUMN_TEXT },
    { "axes", _("Over"), TN_COLUMN_TEXT },
    { "group", _("Group"), TN_COLUMN_NUMBER },
    { "bytes", _("Bytes a rank"), TN_COLUMN_BYTES },
  };
  const char *kinds[] = { _("All kinds"), "AllReduce", "AllGather", "ReduceScatter", "AllToAll", NULL };
  const char *phases[] = { _("All phases"), _("Forward"), _("Backward"), _("Optimizer"), NULL };
  const TnTableFuncs table_funcs = { n_rows, cell_text, cell_number };
  GtkWidget *box = gtk_box_new (GTK_ORIENTATION_VERTICAL, 0), *tools = gtk_box_new (GTK_ORIENTATION_HORIZONTAL, 6), *paned = gtk_paned_new (GTK_ORIENTATION_VERTICAL);
  self->cell = -1;
  self->model = tn_table_model_new (columns, G_N_ELEMENTS (columns), &table_funcs, self, NULL);
  self->kind_drop = tn_shard_named (gtk_drop_down_new_from_strings (kinds), "shard_kind_drop", _("Kind of communication"));
  self->phase_drop = tn_shard_named (gtk_drop_down_new_from_strings (phases), "shard_phase_drop", _("Phase of the step"));
  self->sum = gtk_label_new (NULL);
  gtk_widget_set_visible (self->sum, FALSE);
  gtk_label_set_wrap (GTK_LABEL (self->sum), TRUE);
  gtk_label_set_xalign (GTK_LABEL (self->sum), 0);
  g_object_set (self->sum, "margin-start", 12, "margin-end", 12, "margin-top", 6, NULL);
  g_object_set (tools, "margin-start", 8, "margin-top", 6, NULL);
  self->canvas = tn_picture_view_new (&funcs, self, "shard_traffic_canvas", _("Traffic canvas"));
  self->table = tn_table_new (self->model, "shard_traffic_table", _("Traffic table"));
  gtk_widget_set_vexpand (self->canvas, TRUE);
  gtk_widget_set_size_request (self->canvas, -1, 180);
  gtk_widget_set_size_request (self->table, -1, 150);
  gtk_box_append (GTK_BOX (tools), self->kind_drop);
  gtk_box_append (GTK_BOX (tools), self->phase_drop);
  gtk_box_append (GTK_BOX (box), tools);
  gtk_box_append (GTK_BOX (box), self->sum);
  gtk_box_append (GTK_BOX (box), self->canvas);
  gtk_paned_set_start_child (GTK_PANED (paned), box);
  gtk_paned_set_end_child (GTK_PANED (paned), self->table);
  gtk_paned_set_shrink_start_child (GTK_PANED (paned), FALSE);
  gtk_paned_set_shrink_end_child (GTK_PANED (paned), FALSE);
  adw_bin_set_child (ADW_BIN (self), paned);
  g_signal_connect_swapped (self->canvas, "picked", G_CALLBACK (picked_cb), self);
  g_signal_connect_object (self->kind_drop, "notify::selected", G_CALLBACK (rebuild), self, G_CONNECT_SWAPPED);
  g_signal_connect_object (self->phase_drop, "notify::selected", G_CALLBACK (rebuild), self, G_CONNECT_SWAPPED);
}

GtkWidget *
tn_shard_traffic_new (void)
{
  return g_object_new (TN_TYPE_SHARD_TRAFFIC, NULL);
}
