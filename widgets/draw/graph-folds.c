/* SPDX-License-Identifier: Apache-2.0 */
#include "draw/graph-cut.h"
#include <string.h>

#define COMFORTABLE 64 /* boxes that one takes in at a glance; max_boxes is what opening may reach unasked */

#define FEW 6

static guint64
mix (guint64 hash, guint64 value)
{
  hash ^= value + 0x9e3779b97f4a7c15u + (hash << 6) + (hash >> 2);
  return hash * 0xff51afd7ed558ccdu;
}

static gboolean
is_operator (const TnGraphItem *item)
{
  return item->kind == TN_ITEM_OPERATOR || item->kind == TN_ITEM_INPUT || item->kind == TN_ITEM_OUTPUT;
}

/* ---- what is found once ---- */

static void
index_tree (TnGraphFolds *self)
{
  const TnGraphDocument *document = self->document;
  int n = document->n_scopes;
  self->first_child = g_new (int, n + 1);
  self->next = g_new (int, n + 1);
  self->first_item = g_new (int, n + 1);
  self->next_item = g_new (int, document->n_items + 1);
  for (int s = 0; s <= n; s++)
    self->first_child[s] = self->first_item[s] = self->next[s] = -1;
  for (int s = n - 1; s >= 0; s--)
    {
      int parent = document->scopes[s].parent >= 0 ? document->scopes[s].parent : n;
      self->next[s] = self->first_child[parent];
      self->first_child[parent] = s;
    }
  for (int i = document->n_items - 1; i >= 0; i--)
    {
      int parent = document->items[i].scope >= 0 ? document->items[i].scope : n;
      self->next_item[i] = self->first_item[parent];
      self->first_item[parent] = i;
    }
}

static int
side_of_phase (TnPhase phase)
{
  return phase == TN_PHASE_OPTIMIZER ? TN_SIDE_OPTIMIZER : phase == TN_PHASE_FORWARD ? TN_SIDE_FORWARD : TN_SIDE_BACKWARD;
}

/* Inputs go where they are read; what the backward side does for no layer (the norm of all gradients) stands with the optimizer. */
static void
find_sides (TnGraphFolds *self)
{
  const TnGraphDocument *document = self->document;
  gboolean has_optimizer = FALSE;
  g_autofree gboolean *forward = g_new0 (gboolean, document->n_scopes + 1);
  self->side = g_new (guint8, document->n_items + 1);
  for (int i = 0; i < document->n_items; i++)
    {
      const TnGraphItem *item = &document->items[i];
      self->side[i] = (guint8) side_of_phase (item->phase);
      has_optimizer |= self->side[i] == TN_SIDE_OPTIMIZER && is_operator (item);
      if (item->kind == TN_ITEM_OPERATOR && self->side[i] == TN_SIDE_FORWARD)
        for (int s = item->scope; s >= 0 && !forward[s]; s = document->scopes[s].parent)
          forward[s] = TRUE;
    }
  for (int i = 0; i < document->n_items && has_optimizer; i++)
    {
      const TnGraphItem *item = &document->items[i];
      if (self->side[i] == TN_SIDE_BACKWARD && item->from < 0 && item->scope >= 0 && !forward[item->scope])
        self->side[i] = TN_SIDE_OPTIMIZER;
    }
  for (int i = 0; i < document->n_items; i++)
    if (document->items[i].kind == TN_ITEM_INPUT)
      {
        int side = 3;
        for (int k = document->out_first[i]; k < document->out_first[i + 1]; k++)
          side = MIN (side, self->side[document->links[document->out_links[k]].to]);
        if (side < 3)
          self->side[i] = (guint8) side;
      }
}

static void
find_order_only (TnGraphFolds *self)
{
  const TnGraphDocument *document = self->document;
  self->order_only = g_new0 (gboolean, document->n_items + 1);
  g_autofree gboolean *data = g_new0 (gboolean, document->n_items + 1);
  for (int i = 0; i < document->n_links; i++)
    if (!document->links[i].control)
      data[document->links[i].from] = data[document->links[i].to] = TRUE;
  for (int i = 0; i < document->n_items; i++)
    {
      int n = document->in_first[i + 1] - document->in_first[i] + document->out_first[i + 1] - document->out_first[i];
      self->order_only[i] = document->items[i].kind == TN_ITEM_OPERATOR && !data[i] && n > 0;
      if (document->items[i].kind == TN_ITEM_INPUT && n == 0)
        self->order_only[i] = TRUE; /* nobody reads it */
    }
}

/* Structure: operators with shapes, those of the scopes in it, and which kinds are linked. The optimizer does the same to each
 * parameter whatever its shape. */
static guint64
hash_item (const TnGraphFolds *self, int i)
{
  const TnGraphItem *item = &self->document->items[i];
  guint64 hash = mix (g_str_hash (item->op), (guint64) item->kind);
  if (item->op[0] == '\0')
    hash = mix (hash, g_str_hash (item->name));
  return self->side[i] == TN_SIDE_OPTIMIZER ? hash : mix (hash, g_str_hash (item->shape));
}

static void
find_structure (TnGraphFolds *self)
{
  const TnGraphDocument *document = self->document;
  int n = document->n_scopes;
  for (int side = 0; side < 3; side++)
    {
      self->hash[side] = g_new0 (guint64, n + 1);
      self->count[side] = g_new0 (int, n + 1);
    }
  for (int i = 0; i < document->n_items; i++)
    {
      int scope = document->items[i].scope >= 0 ? document->items[i].scope : n;
      if (!is_operator (&document->items[i]) || self->order_only[i])
        continue;
      self->hash[self->side[i]][scope] += hash_item (self, i);
      self->count[self->side[i]][scope]++;
    }
  for (int i = 0; i < document->n_links; i++)
    {
      const TnGraphLink *link = &document->links[i];
      int scope = document->items[link->from].scope;
      if (scope >= 0 && scope == document->items[link->to].scope && !link->control)
        self->hash[self->side[link->to]][scope] += mix (hash_item (self, link->from), hash_item (self, link->to));
    }
  for (int s = n - 1; s >= 0; s--)
    for (int side = 0; side < 3; side++)
      {
        int parent = document->scopes[s].parent >= 0 ? document->scopes[s].parent : n;
        self->count[side][parent] += self->count[side][s];
        if (self->count[side][s] > 0)
          self->hash[side][parent] += mix (self->hash[side][s], g_str_hash (document->scopes[s].type));
      }
}

/* "Default" around everything says nothing. Inputs and results stand outside of it at times. */
static void
find_transparent (TnGraphFolds *self)
{
  const TnGraphDocument *document = self->document;
  int n = document->n_scopes;
  g_autofree int *operators = g_new0 (int, n + 1);
  for (int i = 0; i < document->n_items; i++)
    if (document->items[i].kind == TN_ITEM_OPERATOR && !self->order_only[i])
      operators[document->items[i].scope >= 0 ? document->items[i].scope : n]++;
  for (int s = n - 1; s >= 0; s--)
    operators[document->scopes[s].parent >= 0 ? document->scopes[s].parent : n] += operators[s];
  self->transparent = g_new0 (gboolean, n + 1);
  for (int s = 0; s < n; s++)
    {
      int parent = document->scopes[s].parent;
      self->transparent[s] = (parent < 0 || self->transparent[parent]) && operators[s] == operators[n] && !document->scopes[s].made
                             && self->first_child[s] >= 0;
    }
}

TnGraphFolds *
tn_graph_folds_new (TnGraphDocument *document)
{
  TnGraphFolds *self = g_new0 (TnGraphFolds, 1);
  self->document = tn_graph_document_ref (document);
  self->show = (TnGraphShow){ .phases = TN_SHOW_ALL, .tunnels = TRUE, .fold = TRUE, .max_boxes = TN_GRAPH_MAX_BOXES };
  self->open = g_new0 (gboolean, document->n_scopes + 1);
  self->unfolded = g_new0 (gboolean, document->n_scopes + 1);
  self->opened_at = g_new0 (guint32, document->n_scopes + 1);
  self->only = -1;
  index_tree (self);
  find_sides (self);
  find_order_only (self);
  find_structure (self);
  find_transparent (self);
  tn_graph_folds_reset (self);
  return self;
}

void
tn_graph_folds_free (TnGraphFolds *self)
{
  tn_graph_document_unref (self->document);
  g_free (self->open);
  g_free (self->unfolded);
  g_free (self->opened_at);
  g_free (self->first_child);
  g_free (self->next);
  g_free (self->first_item);
  g_free (self->next_item);
  g_free (self->transparent);
  g_free (self->side);
  g_free (self->order_only);
  for (int side = 0; side < 3; side++)
    {
      g_free (self->hash[side]);
      g_free (self->count[side]);
    }
  g_free (self);
}

/* ---- opening and closing ---- */

static int
count_below (const TnGraphFolds *self, int scope, int side)
{
  int n = 0;
  for (int i = self->first_item[scope]; i >= 0; i = self->next_item[i])
    n += is_operator (&self->document->items[i]) && self->side[i] == side && !self->order_only[i];
  for (int s = self->first_child[scope]; s >= 0; s = self->next[s])
    if (self->count[side][s] > 0)
      n += (self->open[s] || self->transparent[s]) && self->count[side][s] > 1 ? count_below (self, s, side) : 1;
  return n;
}

int
tn_graph_folds_count (const TnGraphFolds *self)
{
  int n = 0, top = self->only >= 0 ? self->only : self->document->n_scopes;
  for (int side = 0; side <= (int) self->show.phases; side++)
    n += count_below (self, top, side);
  return n;
}

void
tn_graph_folds_collapse_all (TnGraphFolds *self)
{
  memset (self->open, 0, sizeof (gboolean) * (gsize) (self->document->n_scopes + 1));
}

static gboolean
has_scopes_with_operators (const TnGraphFolds *self, int scope)
{
  for (int s = self->first_child[scope]; s >= 0; s = self->next[s])
    if (self->count[0][s] + self->count[1][s] + self->count[2][s] > 0)
      return TRUE;
  return FALSE;
}

/* One level of the tree after the other; a level that does not fit as a whole is opened as far as it fits. */
static gboolean
open_levels (TnGraphFolds *self, int max, gboolean layers)
{
  const TnGraphDocument *document = self->document;
  for (int depth = 0; depth < TN_GRAPH_DOCUMENT_MAX_DEPTH; depth++)
    {
      gboolean any = FALSE;
      g_autoptr (GArray) level = g_array_new (FALSE, FALSE, sizeof (int));
      for (int s = 0; s < document->n_scopes; s++)
        if (document->scopes[s].depth == depth && !self->open[s] && (layers || has_scopes_with_operators (self, s)))
          {
            int parent = document->scopes[s].parent;
            if (parent < 0 || self->open[parent] || self->transparent[parent])
              {
                self->open[s] = any = TRUE;
                g_array_append_val (level, s);
              }
          }
      if (!any || tn_graph_folds_count (self) <= max)
        continue;
      for (guint k = 0; k < level->len; k++)
        self->open[g_array_index (level, int, k)] = FALSE;
      if (!layers)
        return FALSE;
      for (guint k = 0; k < MIN (level->len, 200); k++)
        {
          int s = g_array_index (level, int, k);
          self->open[s] = TRUE;
          if (tn_graph_folds_count (self) > max)
            self->open[s] = FALSE;
        }
    }
  return TRUE;
}

void
tn_graph_folds_reset (TnGraphFolds *self)
{
  tn_graph_folds_collapse_all (self);
  open_levels (self, MIN (self->show.max_boxes, COMFORTABLE), FALSE);
  if (tn_graph_folds_count (self) <= FEW) /* little to see: the layers too */
    open_levels (self, self->show.max_boxes, TRUE);
}

gboolean
tn_graph_folds_expand_all (TnGraphFolds *self)
{
  open_levels (self, TN_GRAPH_HARD_CAP, TRUE);
  for (int s = 0; s < self->document->n_scopes; s++)
    if (!self->open[s] && self->count[0][s] + self->count[1][s] + self->count[2][s] > 1)
      return FALSE;
  return TRUE;
}

static gboolean
is_above (const TnGraphFolds *self, int above, int scope)
{
  for (; scope >= 0; scope = self->document->scopes[scope].parent)
    if (scope == above)
      return TRUE;
  return FALSE;
}

int
tn_graph_folds_open (TnGraphFolds *self, int scope)
{
  int closed = 0;
  if (scope < 0)
    return 0;
  self->clock++;
  for (int s = scope; s >= 0; s = self->document->scopes[s].parent)
    {
      self->open[s] = TRUE;
      self->opened_at[s] = self->clock;
    }
  while (tn_graph_folds_count (self) > TN_GRAPH_HARD_CAP)
    {
      int oldest = -1;
      for (int s = 0; s < self->document->n_scopes; s++)
        if (self->open[s] && !is_above (self, s, scope)
            && (oldest < 0 || self->opened_at[s] < self->opened_at[oldest]
                || (self->opened_at[s] == self->opened_at[oldest] && self->document->scopes[s].depth > self->document->scopes[oldest].depth)))
          oldest = s;
      if (oldest < 0)
        break;
      self->open[oldest] = FALSE;
      closed++;
    }
  return closed;
}

void
tn_graph_folds_close (TnGraphFolds *self, int scope)
{
  if (scope >= 0)
    self->open[scope] = FALSE;
}

int
tn_graph_folds_reveal (TnGraphFolds *self, int item)
{
  int scope = self->document->items[item].scope;
  if (scope < 0)
    return 0;
  if (self->only >= 0 && !is_above (self, self->only, scope))
    self->only = -1;
  self->show.phases = MAX ((int) self->show.phases, (int) self->side[item]);
  self->unfolded[scope] = TRUE;
  /* The last scope need not be open where the item is all that it has on this side. */
  gboolean single = self->count[self->side[item]][scope] <= 1;
  return tn_graph_folds_open (self, single ? self->document->scopes[scope].parent : scope);
}

char *
tn_graph_folds_to_text (const TnGraphFolds *self)
{
  GString *text = g_string_new (NULL);
  for (int s = 0; s < self->document->n_scopes; s++)
    if (self->open[s])
      g_string_append_printf (text, "%s%s", text->len > 0 ? "\n" : "", self->document->scopes[s].path);
  return g_string_free (text, FALSE);
}

void
tn_graph_folds_from_text (TnGraphFolds *self, const char *text)
{
  g_auto (GStrv) paths = g_strsplit (text, "\n", -1);
  g_autoptr (GHashTable) wanted = g_hash_table_new (g_str_hash, g_str_equal);
  for (int i = 0; paths[i] != NULL; i++)
    g_hash_table_add (wanted, paths[i]);
  for (int s = 0; s < self->document->n_scopes; s++)
    self->open[s] = g_hash_table_contains (wanted, self->document->scopes[s].path);
}
