/* SPDX-License-Identifier: Apache-2.0 */
#include "draw/graph-export.h"
#include "draw/graph-search.h"
#include "graph-files.h"

/* ---- what every picture must hold ---- */

static int
count_kind (const TnGraphDocument *document, TnItemKind kind)
{
  int n = 0;
  for (int i = 0; i < document->n_items; i++)
    n += document->items[i].kind == kind;
  return n;
}

static void
check_cut (const TnGraphFolds *folds, const TnGraphCut *cut)
{
  g_assert_cmpint (tn_graph_folds_count (folds), <=, TN_GRAPH_HARD_CAP);
  for (int e = 0; e < cut->n_edges; e++)
    {
      const TnGraphEdge *edge = &cut->edges[e];
      g_assert_cmpint (edge->from, !=, edge->to);
      if (edge->kind != TN_EDGE_TUNNEL)
        continue;
      int ends[64], n = tn_graph_cut_tunnel_ends (cut, edge->from, edge->number, ends, 64);
      gboolean found = FALSE;
      for (int k = 0; k < MIN (n, 64); k++)
        found |= ends[k] == edge->to;
      g_assert_true (found || n > 64);
      g_assert_cmpint (tn_graph_cut_tunnel_ends (cut, edge->to, edge->number, ends, 64), ==, 1);
      g_assert_cmpint (ends[0], ==, edge->from);
    }
  /* No fan over the limit is drawn. */
  g_autofree int *in = g_new0 (int, cut->n_boxes + 1);
  for (int e = 0; e < cut->n_edges; e++)
    if (cut->edges[e].kind <= TN_EDGE_COMMUNICATION)
      g_assert_cmpint (++in[cut->edges[e].to], <=, TN_GRAPH_FAN_LIMIT);
}

static void
check_layout (const TnGraphFolds *folds, const char *what)
{
  g_autoptr (TnGraphCut) cut = tn_graph_cut_new (folds);
  g_autoptr (TnGraphLayout) layout = tn_graph_layout_layered (cut);
  g_autofree char *reason = NULL;
  check_cut (folds, cut);
  if (!tn_graph_layout_check (layout, cut, &reason))
    g_error ("%s: %s", what, reason);
}

static void
walk (TnGraphDocument *document, const char *what, GRand *rand)
{
  g_autoptr (TnGraphFolds) folds = tn_graph_folds_new (document);
  if (tn_graph_folds_count (folds) > folds->show.max_boxes)
    g_error ("%s: %d boxes at first", what, tn_graph_folds_count (folds));
  check_layout (folds, what);
  for (int k = 0; k < 20 && document->n_scopes > 0; k++)
    {
      int scope = g_rand_int_range (rand, 0, document->n_scopes);
      if (folds->open[scope])
        tn_graph_folds_close (folds, scope);
      else
        tn_graph_folds_open (folds, scope);
      folds->show.to_right = g_rand_boolean (rand);
      folds->show.parameters = g_rand_int_range (rand, 0, 4) == 0;
      folds->show.control = g_rand_int_range (rand, 0, 4) == 0;
      folds->show.phases = (TnGraphPhases) g_rand_int_range (rand, 0, 3);
      check_layout (folds, what);
    }
}

static void
test_presets (gconstpointer preset)
{
  guint32 seed = (guint32) g_test_rand_int ();
  g_test_message ("seed %u", seed);
  g_autoptr (GRand) rand = g_rand_new_with_seed (seed);
  g_autoptr (TnGraphDocument) document = preset_document (preset);
  walk (document, preset, rand);
}

static void
test_files (void)
{
  g_autoptr (GPtrArray) files = all_graph_files ();
  guint32 seed = (guint32) g_test_rand_int ();
  g_autoptr (GRand) rand = g_rand_new_with_seed (seed);
  if (files->len == 0)
    {
      g_test_skip ("no data folder");
      return;
    }
  for (guint i = 0; i < files->len; i++)
    {
      g_autoptr (GError) error = NULL;
      g_autoptr (TnGraphDocument) document = tn_graph_document_load (files->pdata[i], &error);
      g_assert_no_error (error);
      walk (document, files->pdata[i], rand);
    }
  g_test_message ("seed %u, %u files", seed, files->len);
}

/* ---- the cut ---- */

static void
test_every_operator_is_somewhere (void)
{
  g_autoptr (TnGraphDocument) document = preset_document ("resnet18-cifar");
  g_autoptr (TnGraphFolds) folds = tn_graph_folds_new (document);
  g_autoptr (TnGraphCut) cut = tn_graph_cut_new (folds);
  int shown = 0, sum = 0;
  for (int i = 0; i < document->n_items; i++)
    if (document->items[i].kind == TN_ITEM_OPERATOR)
      shown += cut->box_of_item[i] >= 0;
  for (int b = 0; b < cut->n_boxes; b++)
    if (!cut->boxes[b].is_input)
      sum += cut->boxes[b].n_ops;
  g_assert_cmpint (shown, ==, count_kind (document, TN_ITEM_OPERATOR));
  g_assert_cmpint (sum, ==, shown); /* the counts in the boxes add up */
}

static void
test_lenet_columns (void)
{
  g_autoptr (TnGraphDocument) document = preset_document ("lenet5");
  g_autoptr (TnGraphFolds) folds = tn_graph_folds_new (document);
  g_autoptr (TnGraphCut) cut = tn_graph_cut_new (folds);
  g_autoptr (TnGraphLayout) layout = tn_graph_layout_layered (cut);
  static const char *const layers[] = { "conv1", "conv2", "fc1", "fc2", "fc3" };
  for (gsize k = 0; k < G_N_ELEMENTS (layers); k++)
    {
      int sides[2] = { -1, -1 };
      for (int b = 0; b < cut->n_boxes; b++)
        if (strcmp (cut->boxes[b].title, layers[k]) == 0 && cut->boxes[b].side <= TN_SIDE_BACKWARD)
          sides[cut->boxes[b].side] = b;
      g_assert_cmpint (sides[0], >=, 0);
      g_assert_cmpint (sides[1], >=, 0);
      const TnRect *forward = &layout->boxes[sides[0]], *backward = &layout->boxes[sides[1]];
      g_assert_cmpfloat_with_epsilon (forward->y + forward->height / 2, backward->y + backward->height / 2, 0.5);
      g_assert_cmpfloat (backward->x, >, forward->x + forward->width);
    }
}

static void
test_hard_cap (void)
{
  g_autoptr (TnGraphDocument) document = large_document (10000, TRUE);
  g_autoptr (TnGraphFolds) folds = tn_graph_folds_new (document);
  g_assert_cmpint (tn_graph_folds_count (folds), <=, 150);
  g_assert_false (tn_graph_folds_expand_all (folds));
  g_assert_cmpint (tn_graph_folds_count (folds), <=, TN_GRAPH_HARD_CAP);
  int closed = 0;
  for (int s = 0; s < document->n_scopes; s++)
    {
      closed += tn_graph_folds_open (folds, s);
      g_assert_cmpint (tn_graph_folds_count (folds), <=, TN_GRAPH_HARD_CAP);
      g_assert_true (folds->open[s]);
    }
  g_assert_cmpint (closed, >, 0);
}

static void
test_flat_graph_is_grouped (void)
{
  g_autoptr (TnGraphDocument) document = large_document (10000, FALSE);
  g_autoptr (TnGraphFolds) folds = tn_graph_folds_new (document);
  g_assert_cmpint (tn_graph_folds_count (folds), <=, 150);
  g_assert_cmpint (document->n_scopes, ==, 100);
  /* A chain in the order of the data: no link goes back to an earlier group. */
  for (int l = 0; l < document->n_links; l++)
    g_assert_cmpint (document->items[document->links[l].from].scope, <=, document->items[document->links[l].to].scope);
}

static void
test_reveal (void)
{
  g_autoptr (TnGraphDocument) document = preset_document ("resnet18-cifar");
  for (int i = 0; i < document->n_items; i += 7)
    {
      if (document->items[i].kind != TN_ITEM_OPERATOR)
        continue;
      g_autoptr (TnGraphFolds) folds = tn_graph_folds_new (document);
      tn_graph_folds_collapse_all (folds);
      tn_graph_folds_reveal (folds, i);
      g_autoptr (TnGraphCut) cut = tn_graph_cut_new (folds);
      g_assert_cmpint (cut->box_of_item[i], >=, 0);
      g_assert_cmpint (cut->boxes[cut->box_of_item[i]].item, ==, i);
    }
}

/* Twelve equal blocks in a row are one box; a block that is different stands alone. */
static void
test_equal_blocks_fold (void)
{
  g_autoptr (TnGraphDocument) document = tn_graph_document_new ("blocks", "test");
  int last = -1;
  for (int block = 0; block < 13; block++)
    for (int k = 0; k < 3; k++)
      {
        g_autofree char *scope = g_strdup_printf ("net/%d-Block", block), *name = g_strdup_printf ("b%d_%d", block, k);
        TnGraphItem item = { .name = name, .op = k == 1 && block == 12 ? "Tanh" : k == 1 ? "ReLU" : "MatMul", .shape = "4×4", .from = -1 };
        item.scope = tn_graph_document_scope (document, scope);
        int id = tn_graph_document_add (document, &item);
        if (last >= 0)
          tn_graph_document_link (document, &(TnGraphLink){ .from = last, .to = id });
        last = id;
      }
  tn_graph_document_finish (document);
  g_autoptr (TnGraphFolds) folds = tn_graph_folds_new (document);
  g_autoptr (TnGraphCut) cut = tn_graph_cut_new (folds);
  g_assert_cmpint (cut->n_boxes, ==, 2);
  g_assert_cmpint (MAX (cut->boxes[0].n_folded, cut->boxes[1].n_folded), ==, 12);
  g_assert_cmpint (MIN (cut->boxes[0].n_folded, cut->boxes[1].n_folded), ==, 1);
}

/* ---- hits ---- */

static void
test_hit_is_inverse_of_drawing (void)
{
  g_autoptr (TnGraphDocument) document = preset_document ("resnet18-cifar");
  g_autoptr (TnGraphFolds) folds = tn_graph_folds_new (document);
  g_autoptr (TnGraphCut) cut = tn_graph_cut_new (folds);
  g_autoptr (TnGraphLayout) layout = tn_graph_layout_layered (cut);
  TnGraphPicture picture = { .cut = cut, .layout = layout };
  static const double scales[] = { 0.06, 0.3, 1, 3.7 };
  for (gsize s = 0; s < G_N_ELEMENTS (scales); s++)
    {
      TnGraphTransform t = { 123, -45, scales[s] };
      for (int b = 0; b < cut->n_boxes; b++)
        {
          const TnRect *r = &layout->boxes[b];
          TnPoint at = tn_graph_to_view (&t, r->x + 6, r->y + r->height - 6);
          TnGraphHit hit = tn_graph_picture_hit (&picture, &t, at.x, at.y);
          g_assert_cmpint (hit.box, ==, b);
          TnPoint above = tn_graph_to_view (&t, r->x + 6, r->y - 0.5);
          g_assert_cmpint (tn_graph_picture_hit (&picture, &t, above.x, above.y).box, !=, b);
        }
      for (int f = 0; f < cut->n_frames; f++)
        {
          TnPoint at = tn_graph_to_view (&t, layout->frames[f].x + 12, layout->frames[f].y + 10);
          TnGraphHit hit = tn_graph_picture_hit (&picture, &t, at.x, at.y);
          g_assert_true (hit.frame == f || hit.kind == TN_HIT_EDGE);
        }
    }
}

static void
test_zoom_keeps_the_point (void)
{
  TnGraphTransform t = { 10, 20, 0.7 };
  TnPoint before = tn_graph_from_view (&t, 300, 200);
  for (int k = 0; k < 40; k++)
    {
      tn_graph_transform_zoom (&t, 1.15, 300, 200);
      TnPoint after = tn_graph_from_view (&t, 300, 200);
      g_assert_cmpfloat_with_epsilon (after.x, before.x, 1e-6);
      g_assert_cmpfloat_with_epsilon (after.y, before.y, 1e-6);
    }
  g_assert_cmpfloat (t.scale, ==, TN_GRAPH_MAX_SCALE);
}

/* ---- drawing ---- */

static void
paint_count (TnCanvas *canvas, double width, double height, gpointer data)
{
  const TnGraphPicture *picture = ((gpointer *) data)[0];
  const TnGraphTransform *t = ((gpointer *) data)[1];
  unsigned nodes = canvas->nodes, labels = canvas->labels;
  tn_graph_picture_draw (picture, canvas, tn_palette_get (TN_PALETTE_LIGHT), t, width, height);
  g_assert_cmpuint (canvas->nodes - nodes, <=, 8000);
  g_assert_cmpuint (canvas->labels - labels, <=, 250);
  g_assert_cmpuint (canvas->nodes - nodes, >, 0);
}

static void
test_budgets (void)
{
  g_autoptr (TnGraphDocument) document = large_document (10000, TRUE);
  g_autoptr (TnGraphFolds) folds = tn_graph_folds_new (document);
  tn_graph_folds_expand_all (folds);
  g_autoptr (TnGraphCut) cut = tn_graph_cut_new (folds);
  g_autoptr (TnGraphLayout) layout = tn_graph_layout_layered (cut);
  TnGraphPicture picture = { .cut = cut, .layout = layout };
  static const double scales[] = { 0.05, 0.12, 0.26, 0.5, 1, 2 };
  for (gsize s = 0; s < G_N_ELEMENTS (scales); s++)
    {
      TnGraphTransform t = { 0, 0, scales[s] };
      gpointer data[] = { &picture, &t };
      g_autoptr (GError) error = NULL;
      g_autoptr (GBytes) bytes = tn_picture_bytes (TN_PICTURE_PNG, &(TnPictureSize){ 1600, 900, 1 }, paint_count, data, &error);
      g_assert_no_error (error);
    }
}

/* Every label lies in its box: what is measured of each is never wider than what it is drawn into. */
typedef struct
{
  TnCanvas base;
  int texts;
} Measurer;

static void no_rect (TnCanvas *c, const TnRect *r, TnColor f) {}
static void no_round (TnCanvas *c, const TnRect *r, double radius, const TnColor *f, const TnStroke *s) {}
static void no_line (TnCanvas *c, const TnPoint *p, size_t n, const TnStroke *s)
{
  for (size_t i = 0; i < n; i++)
    g_assert_true (p[i].x == p[i].x && p[i].y == p[i].y);
}
static void no_polygon (TnCanvas *c, const TnPoint *p, size_t n, TnColor f) {}
static void no_clip (TnCanvas *c, const TnRect *r) {}
static void no_pop (TnCanvas *c) {}

static const TnGraphLayout *measured_layout;

static void
text_in_box (TnCanvas *canvas, const char *text, double x, double y, const TnTextStyle *style)
{
  Measurer *self = (Measurer *) canvas;
  g_assert_cmpfloat (style->max_width, >, 0); /* nothing is drawn without a limit */
  double left = style->anchor == TN_ANCHOR_START ? x : style->anchor == TN_ANCHOR_END ? x - style->max_width : x - style->max_width / 2;
  if (style->anchor == TN_ANCHOR_END || style->anchor == TN_ANCHOR_MIDDLE)
    left = MAX (left, x - tn_graph_text_width (text, style->size, style->bold));
  double right = style->anchor == TN_ANCHOR_END ? x : left + style->max_width;
  gboolean inside = FALSE;
  for (int b = 0; b < measured_layout->n_boxes && !inside; b++)
    {
      const TnRect *r = &measured_layout->boxes[b];
      inside = left >= r->x - 0.5 && right <= r->x + r->width + 0.5 && y > r->y && y < r->y + r->height;
    }
  for (int f = 0; f < measured_layout->n_frames && !inside; f++)
    inside = left >= measured_layout->frames[f].x && right <= measured_layout->frames[f].x + measured_layout->frames[f].width + 0.5;
  for (int k = 0; k < 3 && !inside; k++)
    inside = left >= measured_layout->columns[k].x && right <= measured_layout->columns[k].x + measured_layout->columns[k].width + 0.5;
  self->texts++;
  if (!inside)
    g_error ("“%s” leaves its box: %.1f to %.1f", text, left, right);
}

static void
no_measure (TnCanvas *c, const char *text, const TnTextStyle *style, double *w, double *a, double *d)
{
  *w = *a = *d = 1;
}

static void
test_labels_lie_in_their_boxes (void)
{
  static const TnCanvasTable table = { .rect = no_rect, .round_rect = no_round, .polyline = no_line, .polygon = no_polygon, .text = text_in_box,
                                       .measure = no_measure, .push_clip = no_clip, .pop_clip = no_pop };
  static const char *const presets[] = { "lenet5", "resnet18-cifar" };
  for (gsize p = 0; p < G_N_ELEMENTS (presets); p++)
    {
      g_autoptr (TnGraphDocument) document = preset_document (presets[p]);
      g_autoptr (TnGraphFolds) folds = tn_graph_folds_new (document);
      tn_graph_folds_expand_all (folds);
      g_autoptr (TnGraphCut) cut = tn_graph_cut_new (folds);
      g_autoptr (TnGraphLayout) layout = tn_graph_layout_layered (cut);
      measured_layout = layout;
      Measurer measurer = { .base = { .table = &table, .scale = 1 } };
      TnGraphPicture picture = { .cut = cut, .layout = layout, .unlimited = TRUE };
      tn_graph_picture_draw (&picture, &measurer.base, tn_palette_get (TN_PALETTE_DARK), &(TnGraphTransform){ 0, 0, 1 }, layout->width, layout->height);
      g_assert_cmpint (measurer.texts, >, cut->n_boxes);
    }
}

/* ---- search, cones, comparison ---- */

static void
test_search (void)
{
  g_autoptr (TnGraphDocument) document = preset_document ("lenet5");
  int all = 0;
  g_autoptr (GArray) hits = tn_graph_search (document, "backpropFILTER conv2-", 10, &all); /* "conv2" alone is in "Conv2D" too */
  g_assert_cmpint (all, ==, 1);
  for (guint i = 0; i < hits->len; i++)
    {
      const TnGraphItem *item = &document->items[g_array_index (hits, int, i)];
      g_assert_nonnull (strstr (item->name, "conv2"));
    }
  g_autoptr (GArray) shape = tn_graph_search (document, "8x6x28x28", 10, &all);
  g_assert_cmpint (all, >=, 1);
  g_autoptr (GArray) none = tn_graph_search (document, "conv2 nothing", 10, &all);
  g_assert_cmpint (all, ==, 0);
}

/* The loss depends on every parameter; all that a way holds lies in both cones: by a plain search through the links. */
static void
test_cone_and_path (void)
{
  g_autoptr (TnGraphDocument) document = preset_document ("lenet5");
  int x = tn_graph_document_find (document, "x"), loss = -1;
  for (int i = 0; i < document->n_items; i++)
    if (strcmp (document->items[i].op, "ReduceMean") == 0)
      loss = i;
  g_assert_cmpint (loss, >=, 0);
  g_autofree gboolean *cone = tn_graph_cone (document, &loss, 1, TRUE);
  for (int i = 0; i < document->n_items; i++)
    if (document->items[i].kind == TN_ITEM_PARAMETER)
      g_assert_true (cone[i]);
  g_autofree gboolean *path = tn_graph_path (document, loss, x);
  g_assert_nonnull (path);
  g_autofree gboolean *reached = g_new0 (gboolean, document->n_items);
  reached[x] = TRUE;
  for (gboolean more = TRUE; more;)
    {
      more = FALSE;
      for (int l = 0; l < document->n_links; l++)
        if (reached[document->links[l].from] && !reached[document->links[l].to])
          more = reached[document->links[l].to] = TRUE;
    }
  for (int i = 0; i < document->n_items; i++)
    g_assert_cmpint (path[i], ==, reached[i] && cone[i]);
}

static void
test_compare (void)
{
  g_autoptr (TnGraphDocument) a = preset_document ("lenet5"), b = preset_document ("resnet18-cifar");
  g_autoptr (TnGraphComparison) same = tn_graph_compare (a, a);
  g_assert_cmpint (same->n_added + same->n_removed + same->n_changed, ==, 0);
  g_autoptr (TnGraphComparison) other = tn_graph_compare (a, b);
  g_assert_cmpint (other->document->n_items, ==, a->n_items + other->n_removed);
  g_assert_cmpint (b->n_items - other->n_removed, ==, a->n_items - other->n_added);
  g_assert_cmpint (other->n_added, >, 0);
}

/* ---- the child ---- */

static void
test_child (void)
{
  g_autofree char *program = tn_graph_layout_program ();
  if (program == NULL)
    {
      g_test_skip ("tenon-cli is not built");
      return;
    }
  if (g_getenv ("TENON_SANITIZED") != NULL)
    {
      g_test_skip ("a sanitizer needs more address space than the child may have");
      return;
    }
  g_autoptr (TnGraphDocument) document = preset_document ("resnet18-cifar");
  g_autoptr (TnGraphFolds) folds = tn_graph_folds_new (document);
  folds->show.phases = TN_SHOW_FORWARD;
  g_autoptr (TnGraphCut) cut = tn_graph_cut_new (folds);
  g_autoptr (TnGraphLayout) layout = tn_graph_layout_make (cut, NULL, NULL, NULL);
  g_autofree char *reason = NULL;
  g_test_message ("%s %s", layout->maker, layout->why);
  g_assert_true (tn_graph_layout_check (layout, cut, &reason));
  g_assert_cmpstr (layout->maker, ==, "dot");
  /* A program that is none, one that says nothing, and one that was cancelled: the own layout with its reason. */
  g_autoptr (TnGraphLayout) missing = tn_graph_layout_make (cut, &(TnGraphLayoutLimits){ .program = "/nonexistent/tenon-cli" }, NULL, NULL);
  g_assert_cmpstr (missing->why, ==, "missing");
  g_autoptr (TnGraphLayout) silent = tn_graph_layout_make (cut, &(TnGraphLayoutLimits){ .program = "/bin/true" }, NULL, NULL);
  g_assert_cmpstr (silent->maker, ==, "layered");
  g_autoptr (GCancellable) cancellable = g_cancellable_new ();
  g_cancellable_cancel (cancellable);
  g_autoptr (TnGraphLayout) cancelled = tn_graph_layout_make (cut, NULL, cancellable, NULL);
  g_assert_cmpstr (cancelled->why, ==, "cancelled");
  g_assert_true (tn_graph_layout_check (cancelled, cut, &reason));
}

/* ---- speed ---- */

static void
test_ten_thousand (void)
{
  gint64 begin = g_get_monotonic_time ();
  g_autoptr (TnGraphDocument) document = large_document (10000, FALSE);
  g_autoptr (TnGraphFolds) folds = tn_graph_folds_new (document);
  g_autoptr (TnGraphCut) cut = tn_graph_cut_new (folds);
  g_autoptr (TnGraphLayout) layout = tn_graph_layout_layered (cut);
  double ms = (double) (g_get_monotonic_time () - begin) / 1000;
  g_test_message ("10,000 nodes: %.0f ms, %d boxes", ms, cut->n_boxes);
  g_assert_cmpfloat (ms, <, 2000);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_data_func ("/draw/graph/layout-holds/lenet5", "lenet5", test_presets);
  g_test_add_data_func ("/draw/graph/layout-holds/resnet18", "resnet18-cifar", test_presets);
  g_test_add_func ("/draw/graph/layout-holds/all-files", test_files);
  g_test_add_func ("/draw/graph/every-operator-is-in-a-box", test_every_operator_is_somewhere);
  g_test_add_func ("/draw/graph/matched-layers-share-a-row", test_lenet_columns);
  g_test_add_func ("/draw/graph/never-over-500-boxes", test_hard_cap);
  g_test_add_func ("/draw/graph/flat-graph-is-grouped", test_flat_graph_is_grouped);
  g_test_add_func ("/draw/graph/reveal-shows-the-operator", test_reveal);
  g_test_add_func ("/draw/graph/equal-blocks-fold", test_equal_blocks_fold);
  g_test_add_func ("/draw/graph/hit-is-inverse-of-drawing", test_hit_is_inverse_of_drawing);
  g_test_add_func ("/draw/graph/zoom-keeps-the-point", test_zoom_keeps_the_point);
  g_test_add_func ("/draw/graph/node-and-label-budgets", test_budgets);
  g_test_add_func ("/draw/graph/labels-lie-in-their-boxes", test_labels_lie_in_their_boxes);
  g_test_add_func ("/draw/graph/search-in-any-order", test_search);
  g_test_add_func ("/draw/graph/cone-and-path", test_cone_and_path);
  g_test_add_func ("/draw/graph/comparison", test_compare);
  g_test_add_func ("/draw/graph/child-or-own-layout", test_child);
  g_test_add_func ("/draw/graph/ten-thousand-nodes", test_ten_thousand);
  return g_test_run ();
}
