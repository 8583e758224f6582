/* SPDX-License-Identifier: Apache-2.0 */
#include <glib/gi18n.h>
#include <math.h>

#include "draw/rank-bars.h"
#include <inttypes.h>
#include "format.h"
#include "picture-view.h"
#include "shard-view.h"
#include "table.h"

/* The Ranks view: bytes of every rank as bars and, to the byte, as a table. */
#define TN_TYPE_SHARD_RANKS (tn_shard_ranks_get_type ())
G_DECLARE_FINAL_TYPE (TnShardRanks, tn_shard_ranks, TN, SHARD_RANKS, TnShardView)

struct _TnShardRanks
{
  TnShardView parent_instance;
  GtkWidget *canvas, *table, *sums, *exact;
  TnTableModel *model;
  TnRankBytes *ranks; /* by place */
  TnRankBars bars;
};

G_DEFINE_FINAL_TYPE (TnShardRanks, tn_shard_ranks, TN_TYPE_SHARD_VIEW)

enum
{
  COLUMN_RANK,
  COLUMN_AT,
  COLUMN_PARTS,
  COLUMN_TOTAL = COLUMN_PARTS + TN_N_RANK_PARTS,
  N_COLUMNS
};

static TnShardPlan *
plan_of (gpointer self)
{
  return tn_shard_view_plan (TN_SHARD_VIEW (self));
}

static void
draw (TnCanvas *canvas, const TnRect *area, const TnRect *clip, const TnPalette *palette, gpointer data)
{
  TnShardRanks *self = data;
  if (self->ranks == NULL)
    return;
  tn_rank_bars_place (&self->bars, area);
  tn_rank_bars_draw (&self->bars, canvas, clip, palette, tn_shard_view_rank (data));
}

static gint64
hit (const TnRect *area, double x, double y, gpointer data)
{
  TnShardRanks *self = data;
  if (self->ranks == NULL)
    return -1;
  tn_rank_bars_place (&self->bars, area);
  return tn_rank_bars_hit (&self->bars, x, y);
}

static gint64
move (const TnRect *area, int dx, int dy, gpointer data)
{
  TnShardRanks *self = data;
  gint64 rank = tn_shard_view_rank (data), place = self->ranks != NULL && rank >= 0 ? tn_mesh_place (plan_of (self)->mesh, rank) : -1;
  if (self->ranks == NULL || self->bars.n_bars == 0)
    return -1;
  for (int bar = 0; bar < self->bars.n_bars; bar++)
    if (self->bars.bars[bar] == place)
      return self->bars.bars[CLAMP (bar + dx + dy, 0, self->bars.n_bars - 1)];
  return self->bars.bars[0];
}

static char *
describe (gint64 item, gpointer data)
{
  TnShardRanks *self = data;
  if (self->ranks == NULL)
    return NULL;
  if (item < 0 || item >= plan_of (self)->mesh->n_ranks)
    return g_strdup (gtk_label_get_text (GTK_LABEL (self->sums)));
  GString *text = g_string_new (NULL);
  g_string_append_printf (text, _("rank %" PRId64), self->ranks[item].rank);
  for (int part = 0; part < TN_N_RANK_PARTS; part++)
    if (self->ranks[item].parts[part] > 0)
      {
        g_autofree char *size = tn_format_size (self->ranks[item].parts[part]);
        g_string_append_printf (text, "\n%s %s", tn_rank_part_name (part), size);
      }
  return g_string_free (text, FALSE);
}

static const TnPictureFuncs funcs = { draw, hit, move, describe };

/* ---- table ---- */

static guint
n_rows (gpointer data)
{
  return TN_SHARD_RANKS (data)->ranks != NULL ? (guint) plan_of (data)->mesh->n_ranks : 0;
}

static double
cell_number (gpointer data, guint row, guint column)
{
  const TnRankBytes *rank = &TN_SHARD_RANKS (data)->ranks[row];
  if (column == COLUMN_RANK)
    return (double) rank->rank;
  if (column == COLUMN_AT)
    return NAN;
  return column == COLUMN_TOTAL ? tn_rank_bytes_total (rank) : rank->parts[column - COLUMN_PARTS];
}

static char *
cell_text (gpointer data, guint row, guint column)
{
  TnShardRanks *self = data;
  const TnMesh *mesh = plan_of (self)->mesh;
  if (column == COLUMN_RANK)
    return g_strdup_printf ("%" PRId64, self->ranks[row].rank);
  if (column == COLUMN_AT)
    {
      GString *text = g_string_new (NULL);
      for (int i = 0; i < mesh->n_axes; i++)
        g_string_append_printf (text, "%s%s %" PRId64, i > 0 ? " " : "", mesh->names[i], tn_mesh_coordinate (mesh, row, i));
      return g_string_free (text, FALSE);
    }
  double bytes = cell_number (data, row, column);
  gboolean measured = plan_of (self)->planned || column < COLUMN_PARTS + TN_RANK_GRADIENTS || column == COLUMN_PARTS + TN_RANK_OPTIMIZER || column == COLUMN_TOTAL;
  if (!measured)
    return g_strdup ("—");
  if (gtk_switch_get_active (GTK_SWITCH (self->exact)))
    {
      g_autofree char *count = tn_format_count_exact ((gint64) bytes);
      return g_strdup_printf (_("%s B"), count);
    }
  return tn_format_size (bytes);
}

static void
picked_cb (TnShardRanks *self, gint64 place)
{
  if (place >= 0 && self->ranks != NULL)
    tn_shard_view_pick_rank (TN_SHARD_VIEW (self), self->ranks[place].rank);
}

static void
rows_cb (TnShardRanks *self)
{
  g_autoptr (GArray) rows = tn_table_get_selected (TN_TABLE (self->table));
  if (rows->len == 1)
    picked_cb (self, g_array_index (rows, guint, 0));
}

/* Sums, the fullest and the emptiest rank. */
static void
show_sums (TnShardRanks *self)
{
  gint64 n = plan_of (self)->mesh->n_ranks, fullest = 0, emptiest = 0;
  double sum = 0;
  for (gint64 i = 0; i < n; i++)
    {
      double total = tn_rank_bytes_total (&self->ranks[i]);
      sum += total;
      fullest = total > tn_rank_bytes_total (&self->ranks[fullest]) ? i : fullest;
      emptiest = total < tn_rank_bytes_total (&self->ranks[emptiest]) ? i : emptiest;
    }
  double most = tn_rank_bytes_total (&self->ranks[fullest]), least = tn_rank_bytes_total (&self->ranks[emptiest]);
  g_autofree char *all = tn_format_size (sum), *full = tn_format_size (most), *empty = tn_format_size (least), *model = tn_format_size (tn_shard_plan_model_bytes (plan_of (self)));
  g_autofree char *text = most == least
    ? g_strdup_printf (_("All %" PRId64 " ranks hold %s each, %s in all. The weights alone, each once, are %s."), n, full, all, model)
    : g_strdup_printf (_("Fullest: rank %" PRId64 ", %s. Emptiest: rank %" PRId64 ", %s. In all %s; the weights alone, each once, are %s."),
                       self->ranks[fullest].rank, full, self->ranks[emptiest].rank, empty, all, model);
  tn_shard_say (self->sums, text);
}

static void
tn_shard_ranks_selected (TnShardView *view)
{
  TnShardRanks *self = TN_SHARD_RANKS (view);
  gint64 place = tn_shard_view_rank (view) >= 0 ? tn_mesh_place (plan_of (self)->mesh, tn_shard_view_rank (view)) : -1;
  tn_picture_view_update (TN_PICTURE_VIEW (self->canvas), place);
  if (place >= 0)
    tn_table_select_row (TN_TABLE (self->table), (guint) place);
}

static void
tn_shard_ranks_plan_changed (TnShardView *view)
{
  TnShardRanks *self = TN_SHARD_RANKS (view);
  TnShardPlan *plan = plan_of (self);
  tn_rank_bars_clear (&self->bars);
  g_clear_pointer (&self->ranks, g_free);
  if (plan != NULL)
    {
      self->ranks = tn_shard_plan_ranks (plan);
      tn_rank_bars_init (&self->bars, self->ranks, plan->mesh->n_ranks, 0);
      gtk_widget_set_size_request (self->canvas, -1, (int) CLAMP (tn_rank_bars_height (&self->bars) + 16, 90, 260));
      show_sums (self);
    }
  tn_table_model_changed (self->model);
  tn_picture_view_update (TN_PICTURE_VIEW (self->canvas), -1);
}

static void
tn_shard_ranks_paint (TnShardView *view, TnCanvas *canvas, double width, double height)
{
  draw (canvas, &(TnRect){ 8, 8, width - 16, height - 16 }, &(TnRect){ 0, 0, width, height }, tn_palette_get (TN_PALETTE_LIGHT), view);
}

static GtkWidget *
tn_shard_ranks_canvas (TnShardView *view)
{
  return TN_SHARD_RANKS (view)->canvas;
}

static GtkWidget *
tn_shard_ranks_table (TnShardView *view)
{
  return TN_SHARD_RANKS (view)->table;
}

static void
tn_shard_ranks_dispose (GObject *object)
{
  g_clear_object (&TN_SHARD_RANKS (object)->model);
  G_OBJECT_CLASS (tn_shard_ranks_parent_class)->dispose (object);
}

static void
tn_shard_ranks_finalize (GObject *object)
{
  tn_rank_bars_clear (&TN_SHARD_RANKS (object)->bars);
  g_free (TN_SHARD_RANKS (object)->ranks);
  G_OBJECT_CLASS (tn_shard_ranks_parent_class)->finalize (object);
}

static void
tn_shard_ranks_class_init (TnShardRanksClass *klass)
{
  TnShardViewClass *view_class = TN_SHARD_VIEW_CLASS (klass);
  G_OBJECT_CLASS (klass)->dispose = tn_shard_ranks_dispose;
  G_OBJECT_CLASS (klass)->finalize = tn_shard_ranks_finalize;
  view_class->plan_changed = tn_shard_ranks_plan_changed;
  view_class->selected = tn_shard_ranks_selected;
  view_class->paint = tn_shard_ranks_paint;
  view_class->canvas = tn_shard_ranks_canvas;
  view_class->table = tn_shard_ranks_table;
}

static void
tn_shard_ranks_init (TnShardRanks *self)
{
  const TnTableColumn columns[N_COLUMNS] = {
    { "rank", _("Rank"), TN_COLUMN_NUMBER, .width = 60 },
    { "at", _("Coordinates"), TN_COLUMN_TEXT, .width = 110 },
    { "parameters", _("Weights"), TN_COLUMN_BYTES, .expand = TRUE },
    { "gradients", _("Gradients"), TN_COLUMN_BYTES, .expand = TRUE },
    { "optimizer", _("Optimizer"), TN_COLUMN_BYTES, .expand = TRUE },
    { "activations", _("Activations"), TN_COLUMN_BYTES, .expand = TRUE },
    { "buffers", _("Buffers"), TN_COLUMN_BYTES, .expand = TRUE },
    { "total", _("Total"), TN_COLUMN_BYTES, .expand = TRUE },
  };
  const TnTableFuncs table_funcs = { n_rows, cell_text, cell_number };
  GtkWidget *box = gtk_box_new (GTK_ORIENTATION_VERTICAL, 0), *tool = gtk_box_new (GTK_ORIENTATION_HORIZONTAL, 6), *label = gtk_label_new (_("Exact"));
  self->exact = tn_shard_named (gtk_switch_new (), "shard_exact_switch", _("Exact bytes"));
  gtk_widget_set_valign (self->exact, GTK_ALIGN_CENTER);
  gtk_box_append (GTK_BOX (tool), label);
  gtk_box_append (GTK_BOX (tool), self->exact);
  self->model = tn_table_model_new (columns, G_N_ELEMENTS (columns), &table_funcs, self, NULL);
  self->canvas = tn_picture_view_new (&funcs, self, "shard_rank_canvas", _("Ranks canvas"));
  self->table = tn_table_new (self->model, "shard_rank_table", _("Ranks table"));
  tn_table_add_tool (TN_TABLE (self->table), tool);
  self->sums = gtk_label_new (NULL);
  gtk_widget_set_visible (self->sums, FALSE);
  gtk_widget_set_name (self->sums, "shard_rank_sum_label");
  gtk_label_set_wrap (GTK_LABEL (self->sums), TRUE);
  gtk_label_set_xalign (GTK_LABEL (self->sums), 0);
  gtk_label_set_selectable (GTK_LABEL (self->sums), TRUE);
  g_object_set (self->sums, "margin-start", 12, "margin-end", 12, "margin-top", 8, "margin-bottom", 4, NULL);
  gtk_widget_set_vexpand (self->table, TRUE);
  gtk_box_append (GTK_BOX (box), self->sums);
  gtk_box_append (GTK_BOX (box), self->canvas);
  gtk_box_append (GTK_BOX (box), gtk_separator_new (GTK_ORIENTATION_HORIZONTAL));
  gtk_box_append (GTK_BOX (box), self->table);
  adw_bin_set_child (ADW_BIN (self), box);
  g_signal_connect_swapped (self->canvas, "picked", G_CALLBACK (picked_cb), self);
  g_signal_connect_object (self->table, "selection-changed", G_CALLBACK (rows_cb), self, G_CONNECT_SWAPPED);
  g_signal_connect_object (self->exact, "notify::active", G_CALLBACK (tn_table_model_changed), self->model, G_CONNECT_SWAPPED);
}

GtkWidget *
tn_shard_ranks_new (void)
{
  return g_object_new (TN_TYPE_SHARD_RANKS, NULL);
}
