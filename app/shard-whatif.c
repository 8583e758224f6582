/* SPDX-License-Identifier: Apache-2.0 */
#include "shard-whatif.h"

#include <glib/gi18n.h>
#include <math.h>
#include <string.h>

#include "draw/rank-bars.h"
#include "format.h"
#include "parallel/context.h"
#include "picture-view.h"
#include "shard-layout.h"
#include "table.h"
#include "table-filter.h"

#define MAX_DEVICES 16384

static const char *const axis_names[] = { "dp", "tp", "sp" };
#define N_AXES G_N_ELEMENTS (axis_names)

typedef struct
{
  char *mesh, *verdict;
  int level;
  gint64 rows;
  TnShardForecast forecast;
  double traffic;
  gboolean over;
} Candidate;

struct _TnShardWhatif
{
  TnShardView parent_instance;
  GtkWidget *scale, *devices, *axes[N_AXES], *level_drop, *limit_entry, *verdict, *details, *canvas, *table, *use, *pin;
  TnTableModel *model;
  TnDocument *document;
  TnShardPlan *answer;
  TnRankBytes bytes;
  GArray *candidates; /* Candidate */
  GCancellable *running;
  gboolean waiting, filling, started;
  double limit;       /* bytes; 0: none */
};

G_DEFINE_FINAL_TYPE (TnShardWhatif, tn_shard_whatif, TN_TYPE_SHARD_VIEW)

static void
clear_candidate (gpointer data)
{
  g_free (((Candidate *) data)->mesh);
  g_free (((Candidate *) data)->verdict);
}

/* ---- picture: one bar, as all ranks hold the same ---- */

static void
draw (TnCanvas *canvas, const TnRect *area, const TnRect *clip, const TnPalette *palette, gpointer data)
{
  TnShardWhatif *self = data;
  g_auto (TnRankBars) bars = { 0 };
  if (self->answer == NULL)
    return;
  tn_rank_bars_init (&bars, &self->bytes, 1, self->limit);
  tn_rank_bars_place (&bars, area);
  tn_rank_bars_draw (&bars, canvas, clip, palette, -1);
}

static gint64
hit (const TnRect *area, double x, double y, gpointer data)
{
  return TN_SHARD_WHATIF (data)->answer != NULL ? 0 : -1;
}

static gint64
move (const TnRect *area, int dx, int dy, gpointer data)
{
  return 0;
}

static char *
describe (gint64 item, gpointer data)
{
  TnShardWhatif *self = data;
  GString *text = g_string_new (gtk_label_get_text (GTK_LABEL (self->verdict)));
  for (int part = 0; part < TN_N_RANK_PARTS && self->answer != NULL; part++)
    {
      g_autofree char *size = tn_format_size (self->bytes.parts[part]);
      g_string_append_printf (text, "\n%s %s", tn_rank_part_name (part), size);
    }
  return g_string_free (text, FALSE);
}

static const TnPictureFuncs funcs = { draw, hit, move, describe };

/* ---- numbers ---- */

static int
devices_of (TnShardWhatif *self)
{
  return gtk_spin_button_get_value_as_int (GTK_SPIN_BUTTON (self->devices));
}

static int
axis_of (TnShardWhatif *self, gsize i)
{
  return gtk_spin_button_get_value_as_int (GTK_SPIN_BUTTON (self->axes[i]));
}

static char *
mesh_text (TnShardWhatif *self)
{
  GString *text = g_string_new (NULL);
  for (gsize i = 0; i < N_AXES; i++)
    if (axis_of (self, i) > 1 || i == 0)
      g_string_append_printf (text, "%s%s=%d", text->len > 0 ? "," : "", axis_names[i], axis_of (self, i));
  return g_string_free (text, FALSE);
}

static void
say (TnShardWhatif *self, const char *text, gboolean wrong)
{
  tn_shard_say (self->verdict, text);
  if (wrong)
    gtk_widget_add_css_class (self->verdict, "error");
  else
    gtk_widget_remove_css_class (self->verdict, "error");
}

static void
show_answer (TnShardWhatif *self)
{
  const TnShardPlan *plan = self->answer;
  tn_shard_plan_rank (plan, 0, &self->bytes);
  double total = tn_rank_bytes_total (&self->bytes);
  gboolean over = self->limit > 0 && total > self->limit;
  g_autofree char *size = tn_format_size (total), *limit = tn_format_size (self->limit), *too_much = tn_format_size (total - self->limit);
  g_autofree char *sent = tn_format_size (plan->traffic);
  g_autofree char *text = over               ? g_strdup_printf (_("A rank needs %s: %s too much on every rank."), size, too_much)
                          : self->limit > 0 ? g_strdup_printf (_("A rank needs %s of %s: fits ✔"), size, limit)
                                            : g_strdup_printf (_("A rank needs %s."), size);
  say (self, text, over);
  gint64 pieces = 1;
  for (int i = 0; i < plan->mesh->n_axes; i++)
    if (tn_axis_role (plan->mesh->names[i]) == TN_AXIS_BATCH)
      pieces *= plan->mesh->sizes[i];
  g_autofree char *rows = tn_format_count (plan->rows), *each = tn_format_count (plan->rows / MAX (pieces, 1));
  g_autofree char *details = g_strdup_printf (_("Each rank receives %s a step (planned). A step is %s samples, %s a rank."), sent, rows, each);
  tn_shard_say (self->details, details);
  gtk_widget_set_sensitive (self->pin, TRUE);
  gtk_widget_set_sensitive (self->use, self->document != NULL && !tn_document_is_read_only (self->document));
  tn_picture_view_update (TN_PICTURE_VIEW (self->canvas), 0);
}

/* ---- planning ---- */

static void ask (TnShardWhatif *self);

typedef struct
{
  GWeakRef self;
  GCancellable *cancellable;
} Asked;

static void
answered_cb (GObject *source, GAsyncResult *result, gpointer data)
{
  Asked *asked = data;
  g_autoptr (GError) error = NULL;
  g_autoptr (TnShardPlan) plan = tn_shard_plan_finish (result, &error);
  g_autoptr (TnShardWhatif) self = g_weak_ref_get (&asked->self);
  if (self != NULL && self->running == asked->cancellable)
    {
      g_clear_object (&self->running);
      if (plan != NULL)
        {
          g_clear_pointer (&self->answer, tn_shard_plan_unref);
          self->answer = g_steal_pointer (&plan);
          show_answer (self);
        }
      else
        {
          say (self, error->message, TRUE);
          tn_shard_say (self->details, "");
          gtk_widget_set_sensitive (self->pin, FALSE);
          gtk_widget_set_sensitive (self->use, FALSE);
        }
      if (self->waiting)
        ask (self);
    }
  g_weak_ref_clear (&asked->self);
  g_object_unref (asked->cancellable);
  g_free (asked);
}

static void
ask (TnShardWhatif *self)
{
  if (self->document == NULL)
    {
      say (self, _("Open a project to plan it on other devices."), FALSE);
      return;
    }
  self->waiting = self->running != NULL;
  if (self->waiting)
    return;
  TnShardRequest *request = tn_shard_request_for (self->document);
  request->mesh = mesh_text (self);
  request->ranks = devices_of (self);
  request->optimizer_level = (int) gtk_drop_down_get_selected (GTK_DROP_DOWN (self->level_drop));
  request->fit_batch = TRUE;
  /* Strategies name axes that these may not be. */
  g_autoptr (TnMesh) mesh = tn_mesh_parse (request->mesh, -1, NULL);
  g_autoptr (GArray) strategies = mesh != NULL ? tn_shard_strategies_parse (tn_settings_get_string (tn_document_settings (self->document), "parallel.strategy"), mesh, NULL) : NULL;
  if (strategies == NULL)
    request->strategy = g_strdup ("");
  Asked *asked = g_new0 (Asked, 1);
  g_weak_ref_init (&asked->self, self);
  self->running = g_cancellable_new ();
  asked->cancellable = g_object_ref (self->running);
  tn_shard_plan_async (request, self->running, answered_cb, asked);
}

gboolean
tn_shard_whatif_is_settled (TnShardWhatif *self)
{
  return self->running == NULL && !self->waiting;
}

TnShardPlan *
tn_shard_whatif_answer (TnShardWhatif *self)
{
  return self->answer;
}

/* ---- controls ---- */

static int
others (TnShardWhatif *self)
{
  int product = 1;
  for (gsize i = 1; i < N_AXES; i++)
    product *= axis_of (self, i);
  return product;
}

/* The product of the axes stays the number of devices: dp takes what the others leave; what cannot be is said. */
static void
axes_cb (TnShardWhatif *self)
{
  int n = devices_of (self), rest = others (self);
  if (self->filling)
    return;
  if (n % rest != 0)
    {
      g_autofree char *text = g_strdup_printf (_("TP × SP = %d does not divide %d devices."), rest, n);
      say (self, text, TRUE);
      gtk_widget_set_sensitive (self->use, FALSE);
      gtk_widget_set_sensitive (self->pin, FALSE);
      return;
    }
  self->filling = TRUE;
  gtk_spin_button_set_value (GTK_SPIN_BUTTON (self->axes[0]), n / rest);
  self->filling = FALSE;
  ask (self);
}

/* dp itself changes the number of devices. */
static void
dp_cb (TnShardWhatif *self)
{
  if (self->filling)
    return;
  gint64 n = (gint64) axis_of (self, 0) * others (self);
  if (n > MAX_DEVICES)
    {
      say (self, _("More than 16,384 devices."), TRUE);
      return;
    }
  self->filling = TRUE;
  gtk_spin_button_set_value (GTK_SPIN_BUTTON (self->devices), (double) n);
  gtk_range_set_value (GTK_RANGE (self->scale), log2 ((double) n));
  self->filling = FALSE;
  ask (self);
}

static void
devices_cb (TnShardWhatif *self)
{
  if (self->filling)
    return;
  self->filling = TRUE;
  gtk_range_set_value (GTK_RANGE (self->scale), log2 (devices_of (self)));
  if (devices_of (self) % others (self) != 0) /* back to what always goes */
    for (gsize i = 1; i < N_AXES; i++)
      gtk_spin_button_set_value (GTK_SPIN_BUTTON (self->axes[i]), 1);
  self->filling = FALSE;
  axes_cb (self);
}

static void
scale_cb (TnShardWhatif *self)
{
  if (!self->filling)
    gtk_spin_button_set_value (GTK_SPIN_BUTTON (self->devices), round (exp2 (gtk_range_get_value (GTK_RANGE (self->scale)))));
}

static void
limit_cb (TnShardWhatif *self)
{
  const char *text = gtk_editable_get_text (GTK_EDITABLE (self->limit_entry));
  double value = 0;
  g_autofree char *compact = g_strdup (text);
  char *to = compact;
  for (const char *from = text; *from != '\0'; from++)
    if (*from != ' ')
      *to++ = *from;
  *to = '\0';
  gboolean good = *compact == '\0' || (tn_table_filter_number (compact, TN_COLUMN_BYTES, &value) && value > 0);
  if (good)
    gtk_widget_remove_css_class (self->limit_entry, "error");
  else
    gtk_widget_add_css_class (self->limit_entry, "error");
  gtk_accessible_update_state (GTK_ACCESSIBLE (self->limit_entry), GTK_ACCESSIBLE_STATE_INVALID, good ? GTK_ACCESSIBLE_INVALID_FALSE : GTK_ACCESSIBLE_INVALID_TRUE, -1);
  if (!good)
    return;
  self->limit = *compact == '\0' ? 0 : value;
  if (self->answer != NULL)
    show_answer (self);
}

static void
pin_cb (TnShardWhatif *self)
{
  if (self->answer == NULL)
    return;
  Candidate c = { .mesh = mesh_text (self), .level = (int) gtk_drop_down_get_selected (GTK_DROP_DOWN (self->level_drop)), .rows = self->answer->rows,
                  .forecast = self->answer->forecast, .traffic = self->answer->traffic };
  c.over = self->limit > 0 && (double) c.forecast.total > self->limit;
  c.verdict = g_strdup (self->limit <= 0 ? "—" : c.over ? _("too much") : _("fits"));
  g_array_append_val (self->candidates, c);
  tn_table_model_changed (self->model);
}

static void
use_cb (TnShardWhatif *self)
{
  g_autoptr (GError) error = NULL;
  g_autofree char *mesh = mesh_text (self), *ranks = g_strdup_printf ("%d", devices_of (self));
  guint level = gtk_drop_down_get_selected (GTK_DROP_DOWN (self->level_drop));
  g_autofree char *level_text = g_strdup_printf ("%u", MAX (level, 1));
  const TnSettings *settings = tn_document_settings (self->document);
  const char *mode = others (self) > 1 ? "semi_auto_parallel" : "data_parallel";
  gboolean alone = tn_settings_enum_is (settings, "parallel.mode", "stand_alone");
  const char *const edits[][2] = { { "parallel.mode", alone && devices_of (self) > 1 ? mode : NULL }, { "parallel.ranks", ranks }, { "parallel.mesh", mesh },
                                   { "parallel.optimizer", level > 0 ? "true" : "false" }, { "parallel.optimizer_level", level > 0 ? level_text : NULL } };
  for (gsize i = 0; i < G_N_ELEMENTS (edits); i++)
    if (edits[i][1] != NULL && g_strcmp0 (tn_settings_get_text (settings, edits[i][0]), edits[i][1]) != 0
        && !tn_document_edit (self->document, "setting", edits[i][0], edits[i][1], &error))
      {
        say (self, error->message, TRUE);
        return;
      }
}

/* ---- candidates ---- */

static guint
n_rows (gpointer data)
{
  return TN_SHARD_WHATIF (data)->candidates->len;
}

static double
cell_number (gpointer data, guint row, guint column)
{
  const Candidate *c = &g_array_index (TN_SHARD_WHATIF (data)->candidates, Candidate, row);
  const double numbers[] = { NAN, c->level, (double) c->forecast.total, c->traffic, (double) c->rows, NAN };
  return numbers[column];
}

static char *
cell_text (gpointer data, guint row, guint column)
{
  const Candidate *c = &g_array_index (TN_SHARD_WHATIF (data)->candidates, Candidate, row);
  switch (column)
    {
    case 0:
      return g_strdup (c->mesh);
    case 1:
      return g_strdup_printf ("%d", c->level);
    case 2:
      return tn_format_size ((double) c->forecast.total);
    case 3:
      return tn_format_size (c->traffic);
    case 4:
      return tn_format_count (c->rows);
    default:
      return g_strdup (c->verdict);
    }
}

/* ---- class ---- */

/* Starts at what the project has. */
static void
start (TnShardWhatif *self)
{
  const TnShardPlan *plan = tn_shard_view_plan (TN_SHARD_VIEW (self));
  if (self->started || plan == NULL || !plan->planned)
    return;
  self->started = TRUE;
  self->filling = TRUE;
  gtk_spin_button_set_value (GTK_SPIN_BUTTON (self->devices), (double) plan->mesh->n_ranks);
  gtk_range_set_value (GTK_RANGE (self->scale), log2 ((double) plan->mesh->n_ranks));
  int product = 1;
  for (gsize i = 1; i < N_AXES; i++)
    {
      int axis = tn_mesh_axis (plan->mesh, axis_names[i]);
      gtk_spin_button_set_value (GTK_SPIN_BUTTON (self->axes[i]), axis >= 0 ? (double) plan->mesh->sizes[axis] : 1);
      product *= axis_of (self, i);
    }
  gtk_spin_button_set_value (GTK_SPIN_BUTTON (self->axes[0]), (double) plan->mesh->n_ranks / product);
  const TnSettings *settings = self->document != NULL ? tn_document_settings (self->document) : NULL;
  if (settings != NULL && tn_settings_get_bool (settings, "parallel.optimizer"))
    gtk_drop_down_set_selected (GTK_DROP_DOWN (self->level_drop), (guint) tn_settings_get_int (settings, "parallel.optimizer_level"));
  self->filling = FALSE;
}

static void
tn_shard_whatif_plan_changed (TnShardView *view)
{
  start (TN_SHARD_WHATIF (view));
  ask (TN_SHARD_WHATIF (view));
}

static void
tn_shard_whatif_selected (TnShardView *view)
{
}

static GtkWidget *
tn_shard_whatif_table (TnShardView *view)
{
  return TN_SHARD_WHATIF (view)->table;
}

static GtkWidget *
tn_shard_whatif_canvas (TnShardView *view)
{
  return TN_SHARD_WHATIF (view)->canvas;
}

static void
tn_shard_whatif_paint (TnShardView *view, TnCanvas *canvas, double width, double height)
{
  draw (canvas, &(TnRect){ 8, 8, width - 16, height - 16 }, &(TnRect){ 0, 0, width, height }, tn_palette_get (TN_PALETTE_LIGHT), view);
}

static void
tn_shard_whatif_dispose (GObject *object)
{
  TnShardWhatif *self = TN_SHARD_WHATIF (object);
  if (self->running != NULL)
    g_cancellable_cancel (self->running);
  g_clear_object (&self->running);
  g_clear_object (&self->model);
  g_clear_object (&self->document);
  G_OBJECT_CLASS (tn_shard_whatif_parent_class)->dispose (object);
}

static void
tn_shard_whatif_finalize (GObject *object)
{
  TnShardWhatif *self = TN_SHARD_WHATIF (object);
  g_clear_pointer (&self->answer, tn_shard_plan_unref);
  g_array_unref (self->candidates);
  G_OBJECT_CLASS (tn_shard_whatif_parent_class)->finalize (object);
}

static void
tn_shard_whatif_class_init (TnShardWhatifClass *klass)
{
  TnShardViewClass *view_class = TN_SHARD_VIEW_CLASS (klass);
  G_OBJECT_CLASS (klass)->dispose = tn_shard_whatif_dispose;
  G_OBJECT_CLASS (klass)->finalize = tn_shard_whatif_finalize;
  view_class->plan_changed = tn_shard_whatif_plan_changed;
  view_class->selected = tn_shard_whatif_selected;
  view_class->table = tn_shard_whatif_table;
  view_class->canvas = tn_shard_whatif_canvas;
  view_class->paint = tn_shard_whatif_paint;
}

static GtkWidget *
labelled (const char *text, GtkWidget *widget)
{
  GtkWidget *box = gtk_box_new (GTK_ORIENTATION_HORIZONTAL, 6), *label = gtk_label_new (text);
  gtk_box_append (GTK_BOX (box), label);
  gtk_box_append (GTK_BOX (box), widget);
  return box;
}

static GtkWidget *
text_label (const char *id)
{
  GtkWidget *label = gtk_label_new (NULL);
  gtk_widget_set_name (label, id);
  gtk_widget_set_visible (label, FALSE);
  gtk_label_set_wrap (GTK_LABEL (label), TRUE);
  gtk_label_set_wrap_mode (GTK_LABEL (label), PANGO_WRAP_WORD_CHAR);
  gtk_label_set_xalign (GTK_LABEL (label), 0);
  return label;
}

static void
build_controls (TnShardWhatif *self, GtkWidget *box)
{
  const char *levels[] = { _("Optimizer whole"), _("Level 1"), _("Level 2"), _("Level 3"), NULL };
  GtkWidget *line = gtk_box_new (GTK_ORIENTATION_HORIZONTAL, 6), *axes = gtk_flow_box_new ();
  self->scale = tn_shard_named (gtk_scale_new_with_range (GTK_ORIENTATION_HORIZONTAL, 0, log2 (MAX_DEVICES), 1), "shard_whatif_scale", _("Devices, by powers of two"));
  gtk_scale_set_draw_value (GTK_SCALE (self->scale), FALSE);
  for (int i = 0; i <= 14; i += 2)
    {
      g_autofree char *text = tn_format_count (1 << i);
      gtk_scale_add_mark (GTK_SCALE (self->scale), i, GTK_POS_BOTTOM, text);
    }
  gtk_widget_set_hexpand (self->scale, TRUE);
  self->devices = tn_shard_named (gtk_spin_button_new_with_range (1, MAX_DEVICES, 1), "shard_whatif_spin", _("Devices"));
  gtk_widget_set_valign (self->devices, GTK_ALIGN_START);
  gtk_box_append (GTK_BOX (line), gtk_label_new (_("Devices")));
  gtk_box_append (GTK_BOX (line), self->scale);
  gtk_box_append (GTK_BOX (line), self->devices);
  gtk_flow_box_set_selection_mode (GTK_FLOW_BOX (axes), GTK_SELECTION_NONE);
  gtk_flow_box_set_max_children_per_line (GTK_FLOW_BOX (axes), 6);
  gtk_flow_box_set_column_spacing (GTK_FLOW_BOX (axes), 10);
  const char *titles[] = { _("DP"), _("TP"), _("SP") }, *labels[] = { _("Ranks that split the batch"), _("Ranks that split weights"), _("Ranks that split the sequence") };
  for (gsize i = 0; i < N_AXES; i++)
    {
      g_autofree char *id = g_strdup_printf ("shard_whatif_spin:%s", axis_names[i]);
      self->axes[i] = tn_shard_named (gtk_spin_button_new_with_range (1, MAX_DEVICES, 1), id, labels[i]);
      gtk_editable_set_width_chars (GTK_EDITABLE (self->axes[i]), 4);
      gtk_flow_box_append (GTK_FLOW_BOX (axes), labelled (titles[i], self->axes[i]));
      g_signal_connect_object (self->axes[i], "value-changed", G_CALLBACK (i == 0 ? dp_cb : axes_cb), self, G_CONNECT_SWAPPED);
    }
  self->level_drop = tn_shard_named (gtk_drop_down_new_from_strings (levels), "shard_whatif_level_drop", _("Optimizer cut over copies"));
  gtk_flow_box_append (GTK_FLOW_BOX (axes), self->level_drop);
  self->limit_entry = tn_shard_named (gtk_entry_new (), "shard_limit_entry", _("Memory of a device, such as 16 GiB"));
  gtk_entry_set_placeholder_text (GTK_ENTRY (self->limit_entry), _("16 GiB"));
  gtk_editable_set_width_chars (GTK_EDITABLE (self->limit_entry), 8);
  gtk_editable_set_max_width_chars (GTK_EDITABLE (self->limit_entry), 8);
  gtk_flow_box_append (GTK_FLOW_BOX (axes), labelled (_("Limit"), self->limit_entry));
  for (GtkWidget *child = gtk_widget_get_first_child (axes); child != NULL; child = gtk_widget_get_next_sibling (child))
    gtk_widget_set_focusable (child, FALSE);
  gtk_box_append (GTK_BOX (box), line);
  gtk_box_append (GTK_BOX (box), axes);
  g_signal_connect_object (self->scale, "value-changed", G_CALLBACK (scale_cb), self, G_CONNECT_SWAPPED);
  g_signal_connect_object (self->devices, "value-changed", G_CALLBACK (devices_cb), self, G_CONNECT_SWAPPED);
  g_signal_connect_object (self->level_drop, "notify::selected", G_CALLBACK (axes_cb), self, G_CONNECT_SWAPPED);
  g_signal_connect_object (self->limit_entry, "changed", G_CALLBACK (limit_cb), self, G_CONNECT_SWAPPED);
}

static void
tn_shard_whatif_init (TnShardWhatif *self)
{
  const TnTableColumn columns[] = {
    { "mesh", _("Mesh"), TN_COLUMN_TEXT, .expand = TRUE },      { "level", _("Level"), TN_COLUMN_NUMBER }, { "bytes", _("A rank"), TN_COLUMN_BYTES },
    { "traffic", _("Receives a step"), TN_COLUMN_BYTES }, { "rows", _("Samples"), TN_COLUMN_NUMBER }, { "verdict", _("Verdict"), TN_COLUMN_TEXT },
  };
  const TnTableFuncs table_funcs = { n_rows, cell_text, cell_number };
  GtkWidget *box = gtk_box_new (GTK_ORIENTATION_VERTICAL, 8), *buttons = gtk_box_new (GTK_ORIENTATION_HORIZONTAL, 6);
  self->candidates = g_array_new (FALSE, TRUE, sizeof (Candidate));
  g_array_set_clear_func (self->candidates, clear_candidate);
  g_object_set (box, "margin-start", 12, "margin-end", 12, "margin-top", 10, "margin-bottom", 6, NULL);
  build_controls (self, box);
  self->verdict = text_label ("shard_whatif_label");
  gtk_widget_add_css_class (self->verdict, "title-4");
  self->details = text_label ("shard_whatif_details_label");
  self->canvas = tn_picture_view_new (&funcs, self, "shard_whatif_canvas", _("What-if canvas"));
  gtk_widget_set_size_request (self->canvas, -1, 76);
  self->pin = gtk_button_new_with_mnemonic (_("_Pin Candidate"));
  gtk_widget_set_name (self->pin, "shard_pin_button");
  self->use = gtk_button_new_with_mnemonic (_("_Use"));
  gtk_widget_set_name (self->use, "shard_use_button");
  gtk_widget_set_tooltip_text (self->use, _("Writes these axes into the project; undo takes them back"));
  gtk_widget_add_css_class (self->use, "suggested-action");
  gtk_widget_set_sensitive (self->pin, FALSE);
  gtk_widget_set_sensitive (self->use, FALSE);
  gtk_box_append (GTK_BOX (buttons), self->use);
  gtk_box_append (GTK_BOX (buttons), self->pin);
  self->model = tn_table_model_new (columns, G_N_ELEMENTS (columns), &table_funcs, self, NULL);
  self->table = tn_table_new (self->model, "shard_candidate_table", _("Candidates table"));
  gtk_widget_set_vexpand (self->table, TRUE);
  gtk_widget_set_size_request (self->table, -1, 150);
  gtk_box_append (GTK_BOX (box), self->verdict);
  gtk_box_append (GTK_BOX (box), self->canvas);
  gtk_box_append (GTK_BOX (box), self->details);
  gtk_box_append (GTK_BOX (box), buttons);
  gtk_box_append (GTK_BOX (box), self->table);
  adw_bin_set_child (ADW_BIN (self), box);
  g_signal_connect_object (self->pin, "clicked", G_CALLBACK (pin_cb), self, G_CONNECT_SWAPPED);
  g_signal_connect_object (self->use, "clicked", G_CALLBACK (use_cb), self, G_CONNECT_SWAPPED);
}

GtkWidget *
tn_shard_whatif_new (void)
{
  return g_object_new (TN_TYPE_SHARD_WHATIF, NULL);
}

void
tn_shard_whatif_set_document (TnShardWhatif *self, TnDocument *document)
{
  if (!g_set_object (&self->document, document))
    return;
  self->started = FALSE;
  g_array_set_size (self->candidates, 0);
  tn_table_model_changed (self->model);
}
