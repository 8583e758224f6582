/* SPDX-License-Identifier: Apache-2.0 */
#include "draw/graph-cut.h"
#include <math.h>
#include <string.h>

#define MIN_WIDTH 84
#define MAX_WIDTH 260
#define BOX_HEIGHT 40
#define TAG_HEIGHT 20

typedef struct
{
  const TnGraphFolds *folds;
  const TnGraphDocument *document;
  TnGraphCut *cut;
  GArray *boxes, *frames, *edges;
  int *owner[3]; /* box that stands for a scope on a side; -1: it is open or not reached */
  GHashTable *tags;
} Maker;

static guint64
mix (guint64 hash, guint64 value)
{
  hash ^= value + 0x9e3779b97f4a7c15u + (hash << 6) + (hash >> 2);
  return hash * 0xff51afd7ed558ccdu;
}

/* Widths of common sans-serif letters in thousandths of an em, rounded up: wide enough for Cantarell, DejaVu and Noto. */
double
tn_graph_text_width (const char *text, double size, gboolean bold)
{
  double em = 0;
  for (; *text != '\0'; text = g_utf8_next_char (text))
    {
      gunichar c = g_utf8_get_char (text);
      if (c < 0x80 && strchr ("iljft.,:;|!'()[]Ir1 /-", (int) c) != NULL)
        em += c == 'r' || c == '1' || c == 't' || c == 'f' || c == '-' ? 0.48 : 0.37;
      else if (c < 0x80 && strchr ("mwMWGOQ%@", (int) c) != NULL)
        em += 0.95;
      else if (g_unichar_iswide (c))
        em += 1.1;
      else if (c == 0xd7) /* × */
        em += 0.85;
      else if (g_unichar_isupper (c))
        em += 0.74;
      else
        em += 0.64;
    }
  return em * size * (bold ? 1.08 : 1);
}

static TnGraphBox *
box_at (Maker *self, int i)
{
  return &g_array_index (self->boxes, TnGraphBox, i);
}

static gboolean
is_quiet (const TnGraphItem *item)
{
  return item->kind == TN_ITEM_PARAMETER || item->kind == TN_ITEM_STATE || item->kind == TN_ITEM_CONSTANT;
}

static gboolean
is_shown (Maker *self, int i, int side)
{
  const TnGraphItem *item = &self->document->items[i];
  if (is_quiet (item) || self->folds->side[i] != side)
    return FALSE;
  return !self->folds->order_only[i] || (self->cut->show.control && item->kind != TN_ITEM_INPUT);
}

/* ---- boxes ---- */

/* "Conv2D-op0" is Conv2D: the number only tells two of them apart, which their place does already. */
static const char *
item_title (Maker *self, const TnGraphItem *item)
{
  const char *mark = g_strrstr (item->label, "-op");
  if (mark != NULL && g_ascii_isdigit (mark[3]) && item->op[0] != '\0' && strncmp (item->label, item->op, (gsize) (mark - item->label)) == 0)
    return item->op;
  return item->label[0] != '\0' ? item->label : item->name;
}

static int
add_item_box (Maker *self, int i, int side, int frame)
{
  const TnGraphItem *item = &self->document->items[i];
  TnGraphBox box = { .kind = TN_BOX_ITEM, .side = side, .item = i, .scope = item->scope, .frame = frame, .match = -1, .n_ops = 1, .n_folded = 1,
                     .title = item_title (self, item), .shape = item->shape, .is_input = item->kind != TN_ITEM_OPERATOR };
  box.type = strcmp (box.title, item->op) == 0 ? "" : item->op;
  box.key = mix (mix (1, (guint64) i), (guint64) side);
  self->cut->box_of_item[i] = (int) self->boxes->len;
  g_array_append_val (self->boxes, box);
  return (int) self->boxes->len - 1;
}

/* The only operator of a scope on a side. */
static int
find_single (Maker *self, int scope, int side)
{
  for (int i = self->folds->first_item[scope]; i >= 0; i = self->folds->next_item[i])
    if (is_shown (self, i, side))
      return i;
  for (int s = self->folds->first_child[scope]; s >= 0; s = self->folds->next[s])
    if (self->folds->count[side][s] > 0)
      return find_single (self, s, side);
  return -1;
}

/* The operator of a closed scope whose result leaves it last: its shape is the scope's. */
static int
find_last (Maker *self, int scope, int side)
{
  int last = -1;
  for (int i = self->folds->first_item[scope]; i >= 0; i = self->folds->next_item[i])
    if (is_shown (self, i, side) && self->document->items[i].shape[0] != '\0')
      last = i;
  for (int s = self->folds->first_child[scope]; s >= 0; s = self->folds->next[s])
    if (self->folds->count[side][s] > 0)
      {
        int below = find_last (self, s, side);
        if (below > last)
          last = below;
      }
  return last;
}

static int
add_scope_box (Maker *self, int scope, int side, int frame)
{
  const TnGraphScope *s = &self->document->scopes[scope];
  int n = self->folds->count[side][scope], single = n == 1 ? find_single (self, scope, side) : -1;
  int shaped = single >= 0 ? single : find_last (self, scope, side);
  TnGraphBox box = { .kind = TN_BOX_SCOPE, .side = side, .item = single, .scope = scope, .frame = frame, .match = -1, .n_ops = n, .n_folded = 1,
                     .title = s->label, .can_open = n > 1 };
  box.shape = shaped >= 0 && (side != TN_SIDE_OPTIMIZER || single >= 0) ? self->document->items[shaped].shape : "";
  box.type = single >= 0 ? self->document->items[single].op : s->type;
  box.key = mix (mix (2, (guint64) scope), (guint64) side);
  if (single >= 0)
    {
      box.kind = TN_BOX_ITEM;
      box.is_input = self->document->items[single].kind != TN_ITEM_OPERATOR;
      self->cut->box_of_item[single] = (int) self->boxes->len;
    }
  self->owner[side][scope] = (int) self->boxes->len;
  g_array_append_val (self->boxes, box);
  return (int) self->boxes->len - 1;
}

static int
add_frame (Maker *self, int scope, int side, int frame)
{
  TnGraphFrame f = { .scope = scope, .side = side, .frame = frame, .match = -1, .title = self->document->scopes[scope].label };
  f.key = mix (mix (3, (guint64) scope), (guint64) side);
  for (guint k = 0; k < self->frames->len && side == TN_SIDE_BACKWARD; k++)
    if (g_array_index (self->frames, TnGraphFrame, k).scope == scope && g_array_index (self->frames, TnGraphFrame, k).side == TN_SIDE_FORWARD)
      f.match = (int) k;
  g_array_append_val (self->frames, f);
  return (int) self->frames->len - 1;
}

static void
emit (Maker *self, int scope, int side, int frame)
{
  for (int i = self->folds->first_item[scope]; i >= 0; i = self->folds->next_item[i])
    if (is_shown (self, i, side))
      add_item_box (self, i, side, frame);
  for (int s = self->folds->first_child[scope]; s >= 0; s = self->folds->next[s])
    {
      if (self->folds->count[side][s] == 0)
        continue;
      if (self->folds->transparent[s])
        emit (self, s, side, frame);
      else if (self->folds->open[s] && self->folds->count[side][s] > 1)
        emit (self, s, side, add_frame (self, s, side, frame));
      else
        add_scope_box (self, s, side, frame);
    }
}

/* Every operator's box: its own, or that of the scope that hides it. */
static void
place_items (Maker *self)
{
  const TnGraphDocument *document = self->document;
  for (int s = 0; s < document->n_scopes; s++)
    for (int side = 0; side < 3; side++)
      if (self->owner[side][s] < 0 && document->scopes[s].parent >= 0)
        self->owner[side][s] = self->owner[side][document->scopes[s].parent];
  for (int i = 0; i < document->n_items; i++)
    {
      const TnGraphItem *item = &document->items[i];
      if (self->cut->box_of_item[i] < 0 && item->scope >= 0 && is_shown (self, i, self->folds->side[i]))
        self->cut->box_of_item[i] = self->owner[self->folds->side[i]][item->scope];
    }
}

/* ---- edges ---- */

static guint
edge_hash (gconstpointer data)
{
  const TnGraphEdge *edge = data;
  return (guint) mix (mix ((guint64) edge->from, (guint64) edge->to), (guint64) edge->kind);
}

static gboolean
edge_equal (gconstpointer a, gconstpointer b)
{
  const TnGraphEdge *x = a, *y = b;
  return x->from == y->from && x->to == y->to && x->kind == y->kind;
}

static int
tag_box (Maker *self, int item, int user)
{
  TnGraphBox *at = box_at (self, user);
  guint64 key = mix (mix (mix (4, (guint64) item), (guint64) (at->frame + 1)), (guint64) at->side);
  gpointer found = g_hash_table_lookup (self->tags, &key);
  if (found != NULL)
    return GPOINTER_TO_INT (found) - 1;
  const TnGraphItem *source = &self->document->items[item];
  TnGraphBox box = { .kind = TN_BOX_TAG, .side = at->side, .item = item, .scope = source->scope, .frame = at->frame, .match = -1, .n_folded = 1,
                     .title = source->label, .type = "", .shape = source->shape, .key = key };
  g_array_append_val (self->boxes, box);
  g_hash_table_insert (self->tags, g_memdup2 (&key, sizeof key), GINT_TO_POINTER ((int) self->boxes->len));
  return (int) self->boxes->len - 1;
}

static gboolean
is_communication (const char *op)
{
  static const char *const names[] = { "AllReduce", "AllGather", "ReduceScatter", "Broadcast", "AllToAll", "Send", "Receive", NULL };
  return g_strv_contains (names, op);
}

static void
add_links (Maker *self)
{
  const TnGraphDocument *document = self->document;
  g_autoptr (GHashTable) seen = g_hash_table_new_full (edge_hash, edge_equal, g_free, NULL);
  for (int i = 0; i < document->n_links; i++)
    {
      const TnGraphLink *link = &document->links[i];
      const TnGraphItem *source = &document->items[link->from];
      int from = self->cut->box_of_item[link->from], to = self->cut->box_of_item[link->to];
      if (to < 0)
        continue;
      if (is_quiet (source))
        {
          gboolean constant = source->kind == TN_ITEM_CONSTANT;
          if (link->control)
            continue;
          if (constant)
            box_at (self, to)->n_constants++;
          else
            box_at (self, to)->n_parameters++;
          if (constant ? !self->cut->show.constants : !self->cut->show.parameters)
            continue;
          from = tag_box (self, link->from, to);
        }
      if (from < 0 || from == to)
        continue;
      if (link->control && !self->cut->show.control)
        {
          box_at (self, to)->n_control++;
          continue;
        }
      TnGraphEdge edge = { .from = from, .to = to, .n_links = 1, .bytes = link->bytes,
                           .kind = link->control ? TN_EDGE_CONTROL : is_communication (source->op) ? TN_EDGE_COMMUNICATION : TN_EDGE_DATA };
      gpointer found = g_hash_table_lookup (seen, &edge);
      if (found != NULL)
        {
          TnGraphEdge *known = &g_array_index (self->edges, TnGraphEdge, GPOINTER_TO_INT (found) - 1);
          known->n_links++;
          known->bytes += link->bytes;
          continue;
        }
      g_array_append_val (self->edges, edge);
      g_hash_table_insert (seen, g_memdup2 (&edge, sizeof edge), GINT_TO_POINTER ((int) self->edges->len));
    }
}

/* ---- equal ones ---- */

typedef struct
{
  int frame;
  TnGraphSide side;
  guint64 hash;
  int first, n;
} Equal;

static guint64
box_structure (Maker *self, const TnGraphBox *box)
{
  if (box->kind == TN_BOX_SCOPE)
    return mix (self->folds->hash[box->side][box->scope], g_str_hash (box->type));
  const TnGraphItem *item = &self->document->items[box->item];
  guint64 hash = mix (mix (5, g_str_hash (item->op)), box->side == TN_SIDE_OPTIMIZER ? 0 : g_str_hash (item->shape));
  return mix (hash, item->op[0] == '\0' ? g_str_hash (item->name) : 0);
}

/* Whether a way leads from the group out and back into it: as one box it would then stand before and behind the same other. */
static gboolean
is_left_and_entered (Maker *self, const int *group, int which, const int *first, const int *next)
{
  g_autofree gboolean *seen = g_new0 (gboolean, self->boxes->len);
  g_autoptr (GArray) stack = g_array_new (FALSE, FALSE, sizeof (int));
  for (guint b = 0; b < self->boxes->len; b++)
    if (group[b] == which)
      for (int e = first[b]; e >= 0; e = next[e])
        {
          int to = g_array_index (self->edges, TnGraphEdge, e).to;
          if (group[to] != which && !seen[to] && box_at (self, to)->side == box_at (self, (int) b)->side)
            {
              seen[to] = TRUE;
              g_array_append_val (stack, to);
            }
        }
  while (stack->len > 0)
    {
      int b = g_array_index (stack, int, stack->len - 1);
      g_array_set_size (stack, stack->len - 1);
      for (int e = first[b]; e >= 0; e = next[e])
        {
          int to = g_array_index (self->edges, TnGraphEdge, e).to;
          if (group[to] == which)
            return TRUE;
          if (!seen[to] && box_at (self, to)->side == box_at (self, b)->side)
            {
              seen[to] = TRUE;
              g_array_append_val (stack, to);
            }
        }
    }
  return FALSE;
}

static void
merge_equal (Maker *self)
{
  guint n = self->boxes->len;
  g_autofree int *group = g_new (int, n + 1);
  g_autofree int *first = g_new (int, n + 1);
  g_autofree int *next = g_new (int, self->edges->len + 1);
  g_autoptr (GArray) equal = g_array_new (FALSE, FALSE, sizeof (Equal));
  g_autoptr (GHashTable) index = g_hash_table_new_full (g_int64_hash, g_int64_equal, g_free, NULL);
  memset (first, -1, sizeof (int) * (n + 1));
  for (guint e = 0; e < self->edges->len; e++)
    {
      int from = g_array_index (self->edges, TnGraphEdge, e).from;
      next[e] = first[from];
      first[from] = (int) e;
    }
  for (guint b = 0; b < n; b++)
    {
      const TnGraphBox *box = box_at (self, (int) b);
      group[b] = -1;
      int above = box->frame >= 0 ? g_array_index (self->frames, TnGraphFrame, box->frame).scope : self->document->n_scopes;
      gboolean made = box->kind == TN_BOX_SCOPE && self->document->scopes[box->scope].made; /* they say where one is: never folded */
      if (box->kind > TN_BOX_SCOPE || box->is_input || made || self->folds->unfolded[above])
        continue;
      guint64 hash = mix (mix (box_structure (self, box), (guint64) (box->frame + 1)), (guint64) box->side);
      int found = GPOINTER_TO_INT (g_hash_table_lookup (index, &hash)) - 1;
      if (found < 0)
        {
          Equal one = { .frame = box->frame, .side = box->side, .hash = hash, .first = (int) b };
          g_array_append_val (equal, one);
          found = (int) equal->len - 1;
          g_hash_table_insert (index, g_memdup2 (&hash, sizeof hash), GINT_TO_POINTER (found + 1));
        }
      g_array_index (equal, Equal, found).n++;
      group[b] = found;
    }
  g_autofree int *becomes = g_new (int, n + 1);
  gboolean any = FALSE;
  for (guint b = 0; b < n; b++)
    becomes[b] = (int) b;
  for (guint k = 0; k < equal->len; k++)
    {
      const Equal *one = &g_array_index (equal, Equal, k);
      if (one->n < 5 || is_left_and_entered (self, group, (int) k, first, next))
        continue;
      any = TRUE;
      for (guint b = 0; b < n; b++)
        if (group[b] == (int) k && (int) b != one->first)
          {
            TnGraphBox *box = box_at (self, (int) b), *head = box_at (self, one->first);
            becomes[b] = one->first;
            head->n_ops += box->n_ops;
            head->n_folded++;
            head->can_open = TRUE;
            head->n_parameters += box->n_parameters;
            head->n_constants += box->n_constants;
            head->n_control += box->n_control;
          }
      TnGraphBox *head = box_at (self, one->first);
      head->key = mix (head->key, 12);
      if (head->type[0] != '\0' && (head->kind == TN_BOX_SCOPE || strcmp (head->title, head->type) != 0))
        head->title = head->type;
    }
  if (!any)
    return;
  /* Close the gaps. */
  g_autofree int *place = g_new (int, n + 1);
  guint kept = 0;
  for (guint b = 0; b < n; b++)
    if (becomes[b] == (int) b)
      {
        place[b] = (int) kept;
        *box_at (self, (int) kept++) = *box_at (self, (int) b);
      }
  for (guint b = 0; b < n; b++)
    becomes[b] = place[becomes[b]];
  g_array_set_size (self->boxes, kept);
  for (int i = 0; i < self->document->n_items; i++)
    if (self->cut->box_of_item[i] >= 0)
      self->cut->box_of_item[i] = becomes[self->cut->box_of_item[i]];
  g_autoptr (GHashTable) seen = g_hash_table_new_full (edge_hash, edge_equal, g_free, NULL);
  guint kept_edges = 0;
  for (guint e = 0; e < self->edges->len; e++)
    {
      TnGraphEdge edge = g_array_index (self->edges, TnGraphEdge, e);
      edge.from = becomes[edge.from];
      edge.to = becomes[edge.to];
      gpointer found = edge.from != edge.to ? g_hash_table_lookup (seen, &edge) : NULL;
      if (found != NULL)
        {
          TnGraphEdge *known = &g_array_index (self->edges, TnGraphEdge, GPOINTER_TO_INT (found) - 1);
          known->n_links += edge.n_links;
          known->bytes += edge.bytes;
        }
      else if (edge.from != edge.to)
        {
          g_array_index (self->edges, TnGraphEdge, kept_edges++) = edge;
          g_hash_table_insert (seen, g_memdup2 (&edge, sizeof edge), GINT_TO_POINTER ((int) kept_edges));
        }
    }
  g_array_set_size (self->edges, kept_edges);
}

/* ---- kinds of edges ---- */

static int
last_item (Maker *self, int b)
{
  const TnGraphBox *box = box_at (self, b);
  return box->kind == TN_BOX_SCOPE ? find_last (self, box->scope, box->side) : box->item;
}

static void
set_tunnel_kinds (Maker *self)
{
  g_autofree gboolean *is_fed = g_new0 (gboolean, self->boxes->len + 1);
  for (guint e = 0; e < self->edges->len; e++)
    {
      const TnGraphEdge *edge = &g_array_index (self->edges, TnGraphEdge, e);
      if (box_at (self, edge->from)->side == TN_SIDE_BACKWARD && box_at (self, edge->to)->side == TN_SIDE_BACKWARD)
        is_fed[edge->to] = TRUE;
    }
  /* The backward side begins with what comes last on the forward one: that line alone is drawn over. */
  g_autofree int *turn = g_new0 (int, self->boxes->len + 1);
  for (guint e = 0; e < self->edges->len; e++)
    {
      const TnGraphEdge *edge = &g_array_index (self->edges, TnGraphEdge, e);
      if (box_at (self, edge->from)->side == TN_SIDE_FORWARD && box_at (self, edge->to)->side == TN_SIDE_BACKWARD && !is_fed[edge->to])
        turn[edge->to] = turn[edge->to] == 0 || last_item (self, edge->from) > last_item (self, turn[edge->to] - 1) ? edge->from + 1 : turn[edge->to];
    }
  for (guint e = 0; e < self->edges->len; e++)
    {
      TnGraphEdge *edge = &g_array_index (self->edges, TnGraphEdge, e);
      TnGraphSide from = box_at (self, edge->from)->side, to = box_at (self, edge->to)->side;
      if (from == to || edge->kind == TN_EDGE_CONTROL)
        continue;
      if (from == TN_SIDE_BACKWARD && to == TN_SIDE_OPTIMIZER)
        edge->kind = TN_EDGE_GRADIENT;
      else if (from == TN_SIDE_FORWARD && to == TN_SIDE_BACKWARD && turn[edge->to] == edge->from + 1)
        edge->kind = TN_EDGE_TURN;
      else
        edge->kind = TN_EDGE_TUNNEL;
    }
}

static int
compare_ints (gconstpointer a, gconstpointer b)
{
  return *(const int *) a - *(const int *) b;
}

/* Boxes that very many others read (a mask, a learning rate) would draw lines all over the place: numbered tags instead. */
static void
tag_wide_fans (Maker *self)
{
  guint n = self->boxes->len;
  g_autofree int *out = g_new0 (int, n + 1);
  g_autoptr (GArray) counts = g_array_new (FALSE, FALSE, sizeof (int));
  for (guint e = 0; e < self->edges->len; e++)
    if (g_array_index (self->edges, TnGraphEdge, e).kind == TN_EDGE_DATA)
      out[g_array_index (self->edges, TnGraphEdge, e).from]++;
  for (guint b = 0; b < n; b++)
    if (out[b] > 0)
      g_array_append_val (counts, out[b]);
  if (counts->len < 15)
    return;
  g_array_sort (counts, compare_ints);
  int q1 = g_array_index (counts, int, counts->len / 4), q3 = g_array_index (counts, int, counts->len * 3 / 4), limit = q3 + 4 * (q3 - q1);
  for (guint e = 0; e < self->edges->len; e++)
    {
      TnGraphEdge *edge = &g_array_index (self->edges, TnGraphEdge, e);
      if (edge->kind == TN_EDGE_DATA && out[edge->from] >= 5 && out[edge->from] > limit)
        edge->kind = TN_EDGE_TUNNEL;
    }
}

/* More than eight drawn lines at one end of a box: the thinnest become one bundle. */
static void
bundle_fans (Maker *self, gboolean inputs)
{
  guint n = self->boxes->len, n_edges = self->edges->len;
  g_autofree int *fan = g_new0 (int, n + 1);
  g_autofree int *kept = g_new0 (int, n + 1);
  g_autofree int *bundle = g_new0 (int, n + 1);
  for (guint e = 0; e < n_edges; e++)
    {
      const TnGraphEdge *edge = &g_array_index (self->edges, TnGraphEdge, e);
      if (edge->kind <= TN_EDGE_COMMUNICATION)
        fan[inputs ? edge->to : edge->from]++;
    }
  guint left = 0;
  for (guint e = 0; e < n_edges; e++)
    {
      TnGraphEdge edge = g_array_index (self->edges, TnGraphEdge, e);
      int at = inputs ? edge.to : edge.from;
      if (edge.kind <= TN_EDGE_COMMUNICATION && fan[at] > TN_GRAPH_FAN_LIMIT && kept[at]++ >= TN_GRAPH_FAN_LIMIT - 1)
        {
          if (bundle[at] == 0)
            {
              const TnGraphBox *owner = box_at (self, at);
              TnGraphBox box = { .kind = TN_BOX_BUNDLE, .side = owner->side, .item = owner->item, .scope = owner->scope, .frame = owner->frame,
                                 .match = -1, .n_folded = 1, .title = "", .type = "", .shape = "", .key = mix (owner->key, inputs ? 6 : 7) };
              g_array_append_val (self->boxes, box);
              bundle[at] = (int) self->boxes->len;
            }
          box_at (self, bundle[at] - 1)->n_bundled += edge.n_links;
          continue;
        }
      g_array_index (self->edges, TnGraphEdge, left++) = edge;
    }
  g_array_set_size (self->edges, left);
  for (guint b = 0; b < n; b++)
    if (bundle[b] > 0)
      {
        TnGraphBox *box = box_at (self, bundle[b] - 1);
        g_autofree char *title = g_strdup_printf ("… %d more", box->n_bundled);
        box->title = g_intern_string (title);
        TnGraphEdge edge = { .from = inputs ? bundle[b] - 1 : (int) b, .to = inputs ? (int) b : bundle[b] - 1, .kind = TN_EDGE_DATA, .n_links = box->n_bundled };
        g_array_append_val (self->edges, edge);
      }
}

static void
number_tunnels (Maker *self)
{
  g_autofree int *numbers = g_new0 (int, self->boxes->len + 1);
  for (guint e = 0; e < self->edges->len; e++)
    {
      TnGraphEdge *edge = &g_array_index (self->edges, TnGraphEdge, e);
      if (edge->kind != TN_EDGE_TUNNEL)
        continue;
      if (numbers[edge->from] == 0)
        numbers[edge->from] = ++self->cut->n_tunnels;
      edge->number = numbers[edge->from];
    }
}

/* ---- the rest ---- */

/* A backward box belongs to the forward box of the same scope, or that of the item its operator came from. */
static void
match_boxes (Maker *self)
{
  g_autoptr (GHashTable) forward = g_hash_table_new (NULL, NULL);
  for (guint b = 0; b < self->boxes->len; b++)
    {
      const TnGraphBox *box = box_at (self, (int) b);
      if (box->side == TN_SIDE_FORWARD && self->owner[TN_SIDE_FORWARD][MAX (box->scope, 0)] >= 0 && box->scope >= 0 && box->kind <= TN_BOX_SCOPE)
        g_hash_table_insert (forward, GINT_TO_POINTER (box->scope), GINT_TO_POINTER ((int) b + 1));
    }
  for (guint b = 0; b < self->boxes->len; b++)
    {
      TnGraphBox *box = box_at (self, (int) b);
      if (box->side != TN_SIDE_BACKWARD || box->kind > TN_BOX_SCOPE)
        continue;
      int from = box->item >= 0 ? self->document->items[box->item].from : -1;
      if (from >= 0 && self->cut->box_of_item[from] >= 0)
        box->match = self->cut->box_of_item[from];
      else if (box->scope >= 0)
        box->match = GPOINTER_TO_INT (g_hash_table_lookup (forward, GINT_TO_POINTER (box->scope))) - 1;
    }
}

static void
size_boxes (Maker *self)
{
  for (guint b = 0; b < self->boxes->len; b++)
    {
      TnGraphBox *box = box_at (self, (int) b);
      double title = tn_graph_text_width (box->title, 12, box->kind <= TN_BOX_SCOPE), type = tn_graph_text_width (box->type, 10.5, FALSE);
      if (box->kind >= TN_BOX_TAG)
        {
          box->width = CLAMP (title + 16, 40, 180);
          box->height = TAG_HEIGHT;
          continue;
        }
      double first = title + (box->shape[0] != '\0' ? 12 + tn_graph_text_width (box->shape, 10.5, FALSE) : 0) + (box->n_folded > 1 ? 34 : 0);
      double second = type + (box->n_ops > 1 ? 58 : 0) + (box->n_parameters > 0 ? 64 : 0);
      box->width = CLAMP (ceil (MAX (first, second)) + 26 + (box->can_open ? 16 : 0), MIN_WIDTH, MAX_WIDTH);
      box->height = BOX_HEIGHT;
    }
}

static guint64
hash_cut (const TnGraphCut *self)
{
  guint64 hash = mix (self->document->hash, (guint64) self->show.to_right);
  for (int b = 0; b < self->n_boxes; b++)
    hash = mix (hash, self->boxes[b].key);
  for (int f = 0; f < self->n_frames; f++)
    hash = mix (hash, self->frames[f].key);
  for (int e = 0; e < self->n_edges; e++)
    hash = mix (hash, (guint64) self->edges[e].from << 34 | (guint64) self->edges[e].to << 4 | (guint64) self->edges[e].kind);
  return hash;
}

TnGraphCut *
tn_graph_cut_new (const TnGraphFolds *folds)
{
  const TnGraphDocument *document = folds->document;
  TnGraphCut *cut = g_new0 (TnGraphCut, 1);
  Maker self = { .folds = folds, .document = document, .cut = cut };
  cut->refs = 1;
  cut->document = tn_graph_document_ref (folds->document);
  cut->show = folds->show;
  cut->box_of_item = g_new (int, document->n_items + 1);
  memset (cut->box_of_item, -1, sizeof (int) * (gsize) (document->n_items + 1));
  self.boxes = g_array_new (FALSE, FALSE, sizeof (TnGraphBox));
  self.frames = g_array_new (FALSE, FALSE, sizeof (TnGraphFrame));
  self.edges = g_array_new (FALSE, FALSE, sizeof (TnGraphEdge));
  self.tags = g_hash_table_new_full (g_int64_hash, g_int64_equal, g_free, NULL);
  for (int side = 0; side < 3; side++)
    {
      self.owner[side] = g_new (int, document->n_scopes + 1);
      memset (self.owner[side], -1, sizeof (int) * (gsize) (document->n_scopes + 1));
      if (side > (int) cut->show.phases)
        cut->n_hidden += folds->count[side][document->n_scopes];
      else
        emit (&self, folds->only >= 0 ? folds->only : document->n_scopes, side, -1);
    }
  place_items (&self);
  add_links (&self);
  if (cut->show.fold)
    merge_equal (&self);
  match_boxes (&self);
  if (cut->show.tunnels)
    {
      set_tunnel_kinds (&self);
      tag_wide_fans (&self);
    }
  bundle_fans (&self, TRUE);
  bundle_fans (&self, FALSE);
  number_tunnels (&self);
  size_boxes (&self);
  for (int side = 0; side < 3; side++)
    g_free (self.owner[side]);
  g_hash_table_unref (self.tags);
  cut->n_boxes = (int) self.boxes->len;
  cut->n_frames = (int) self.frames->len;
  cut->n_edges = (int) self.edges->len;
  cut->boxes = (TnGraphBox *) (void *) g_array_free (self.boxes, FALSE);
  cut->frames = (TnGraphFrame *) (void *) g_array_free (self.frames, FALSE);
  cut->edges = (TnGraphEdge *) (void *) g_array_free (self.edges, FALSE);
  for (int b = 0; b < cut->n_boxes; b++)
    cut->has_columns |= cut->boxes[b].side != TN_SIDE_FORWARD;
  cut->hash = hash_cut (cut);
  return cut;
}

TnGraphCut *
tn_graph_cut_ref (TnGraphCut *self)
{
  g_atomic_int_inc (&self->refs);
  return self;
}

void
tn_graph_cut_unref (TnGraphCut *self)
{
  if (!g_atomic_int_dec_and_test (&self->refs))
    return;
  tn_graph_document_unref (self->document);
  g_free (self->boxes);
  g_free (self->frames);
  g_free (self->edges);
  g_free (self->box_of_item);
  g_free (self);
}

int
tn_graph_cut_find (const TnGraphCut *self, guint64 key)
{
  for (int b = 0; b < self->n_boxes; b++)
    if (self->boxes[b].key == key)
      return b;
  return -1;
}

int
tn_graph_cut_tunnel_ends (const TnGraphCut *self, int box, int number, int *ends, int max)
{
  int n = 0;
  for (int e = 0; e < self->n_edges; e++)
    {
      const TnGraphEdge *edge = &self->edges[e];
      if (edge->kind != TN_EDGE_TUNNEL || edge->number != number || (edge->from != box && edge->to != box))
        continue;
      if (n < max)
        ends[n] = edge->from == box ? edge->to : edge->from;
      n++;
    }
  return n;
}
