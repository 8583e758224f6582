/* SPDX-License-Identifier: Apache-2.0 */
#include "ir/graph-document.h"
#include <string.h>

TnGraphDocument *
tn_graph_document_new (const char *name, const char *format)
{
  TnGraphDocument *self = g_new0 (TnGraphDocument, 1);
  self->refs = 1;
  self->arena = tn_arena_new ();
  self->strings = g_hash_table_new (g_str_hash, g_str_equal);
  self->scope_index = g_hash_table_new (g_str_hash, g_str_equal);
  self->item_array = g_array_new (FALSE, FALSE, sizeof (TnGraphItem));
  self->link_array = g_array_new (FALSE, FALSE, sizeof (TnGraphLink));
  self->scope_array = g_array_new (FALSE, FALSE, sizeof (TnGraphScope));
  self->name = tn_graph_document_text (self, name);
  self->format = tn_graph_document_text (self, format);
  return self;
}

TnGraphDocument *
tn_graph_document_ref (TnGraphDocument *self)
{
  g_atomic_int_inc (&self->refs);
  return self;
}

static void
drop_builders (TnGraphDocument *self)
{
  g_clear_pointer (&self->strings, g_hash_table_unref);
  g_clear_pointer (&self->scope_index, g_hash_table_unref);
  g_clear_pointer (&self->item_array, g_array_unref);
  g_clear_pointer (&self->link_array, g_array_unref);
  g_clear_pointer (&self->scope_array, g_array_unref);
}

void
tn_graph_document_unref (TnGraphDocument *self)
{
  if (!g_atomic_int_dec_and_test (&self->refs))
    return;
  drop_builders (self);
  g_free (self->items);
  g_free (self->links);
  g_free (self->scopes);
  g_free (self->in_first);
  g_free (self->in_links);
  g_free (self->out_first);
  g_free (self->out_links);
  tn_arena_free (self->arena);
  g_free (self);
}

/* ---- building ---- */

const char *
tn_graph_document_text (TnGraphDocument *self, const char *text)
{
  if (text == NULL || text[0] == '\0')
    return "";
  const char *found = g_hash_table_lookup (self->strings, text);
  if (found != NULL)
    return found;
  g_autofree char *valid = g_utf8_validate (text, -1, NULL) ? NULL : g_utf8_make_valid (text, -1);
  if (valid != NULL)
    return tn_graph_document_text (self, valid);
  found = tn_arena_strdup (self->arena, text);
  g_hash_table_add (self->strings, (gpointer) found);
  return found;
}

/* "conv1-Conv2d" is the layer conv1 of type Conv2d. */
static void
name_scope (TnGraphDocument *self, TnGraphScope *scope)
{
  const char *slash = strrchr (scope->path, '/');
  scope->name = slash != NULL ? slash + 1 : scope->path;
  const char *dash = strrchr (scope->name, '-');
  scope->label = scope->name;
  scope->type = "";
  if (dash == NULL || dash == scope->name || !g_ascii_isalpha (dash[1]))
    return;
  g_autofree char *label = g_strndup (scope->name, (gsize) (dash - scope->name));
  scope->label = tn_graph_document_text (self, label);
  scope->type = dash + 1;
}

static int
make_scope (TnGraphDocument *self, const char *path, int parent, int depth)
{
  TnGraphScope scope = { .path = path, .parent = parent, .depth = depth };
  name_scope (self, &scope);
  g_array_append_val (self->scope_array, scope);
  g_hash_table_insert (self->scope_index, (gpointer) path, GINT_TO_POINTER ((int) self->scope_array->len));
  return (int) self->scope_array->len - 1;
}

int
tn_graph_document_scope (TnGraphDocument *self, const char *path)
{
  if (path == NULL || path[0] == '\0')
    return -1;
  int found = GPOINTER_TO_INT (g_hash_table_lookup (self->scope_index, path));
  if (found > 0)
    return found - 1;
  g_autofree char *valid = g_utf8_make_valid (path, -1);
  int parent = -1, depth = 0;
  for (char *at = valid; at != NULL && depth < TN_GRAPH_DOCUMENT_MAX_DEPTH; depth++)
    {
      char *slash = strchr (at, '/');
      if (slash != NULL && slash[1] == '\0')
        slash = NULL;
      if (slash != NULL)
        *slash = '\0';
      found = GPOINTER_TO_INT (g_hash_table_lookup (self->scope_index, valid));
      parent = found > 0 ? found - 1 : make_scope (self, tn_graph_document_text (self, valid), parent, depth);
      at = NULL;
      if (slash != NULL)
        {
          *slash = '/';
          at = slash + 1;
        }
    }
  return parent;
}

int
tn_graph_document_add (TnGraphDocument *self, const TnGraphItem *item)
{
  if (self->item_array->len >= TN_GRAPH_DOCUMENT_MAX_ITEMS)
    return -1;
  TnGraphItem copy = *item;
  copy.name = tn_graph_document_text (self, item->name);
  copy.label = tn_graph_document_text (self, item->label != NULL ? item->label : item->name);
  copy.op = tn_graph_document_text (self, item->op);
  copy.shape = tn_graph_document_text (self, item->shape);
  copy.dtype = tn_graph_document_text (self, item->dtype);
  copy.n_attrs = 0;
  copy.attrs = NULL;
  g_array_append_val (self->item_array, copy);
  for (int i = 0; i < item->n_attrs; i++)
    tn_graph_document_add_attr (self, item->attrs[i].name, item->attrs[i].value);
  return (int) self->item_array->len - 1;
}

/* Attributes of one item lie together: grown by copying at powers of two. */
void
tn_graph_document_add_attr (TnGraphDocument *self, const char *name, const char *value)
{
  g_return_if_fail (self->item_array->len > 0);
  TnGraphItem *item = &g_array_index (self->item_array, TnGraphItem, self->item_array->len - 1);
  int n = item->n_attrs;
  if ((n & (n - 1)) == 0)
    {
      TnItemAttr *grown = tn_arena_new0 (self->arena, TnItemAttr, MAX (2 * n, 1));
      if (n > 0)
        memcpy (grown, item->attrs, sizeof *grown * (size_t) n);
      item->attrs = grown;
    }
  TnItemAttr *attr = (TnItemAttr *) &item->attrs[n];
  attr->name = tn_graph_document_text (self, name);
  attr->value = tn_graph_document_text (self, value);
  item->n_attrs++;
}

gboolean
tn_graph_document_link (TnGraphDocument *self, const TnGraphLink *link)
{
  g_return_val_if_fail (link->from >= 0 && link->from < (int) self->item_array->len, FALSE);
  g_return_val_if_fail (link->to >= 0 && link->to < (int) self->item_array->len, FALSE);
  if (self->link_array->len >= TN_GRAPH_DOCUMENT_MAX_LINKS)
    return FALSE;
  g_array_append_val (self->link_array, *link);
  return TRUE;
}

TnGraphItem *
tn_graph_document_item (TnGraphDocument *self, int i)
{
  return self->item_array != NULL ? &g_array_index (self->item_array, TnGraphItem, i) : &self->items[i];
}

void
tn_graph_document_set_note (TnGraphDocument *self, const char *note)
{
  self->note = note != NULL ? tn_arena_strdup (self->arena, note) : NULL;
}

/* Links sorted by one end, by counting. */
static void
index_links (const TnGraphDocument *self, gboolean by_end, int **first, int **links)
{
  *first = g_new0 (int, self->n_items + 1);
  *links = g_new (int, MAX (self->n_links, 1));
  for (int i = 0; i < self->n_links; i++)
    (*first)[(by_end ? self->links[i].to : self->links[i].from) + 1]++;
  for (int i = 0; i < self->n_items; i++)
    (*first)[i + 1] += (*first)[i];
  g_autofree int *at = g_memdup2 (*first, sizeof (int) * (gsize) (self->n_items + 1));
  for (int i = 0; i < self->n_links; i++)
    (*links)[at[by_end ? self->links[i].to : self->links[i].from]++] = i;
}

static guint64
mix (guint64 hash, guint64 value)
{
  hash ^= value + 0x9e3779b97f4a7c15u + (hash << 6) + (hash >> 2);
  return hash * 0xff51afd7ed558ccdu;
}

static guint64
hash_document (const TnGraphDocument *self)
{
  guint64 hash = mix ((guint64) self->n_items, (guint64) self->n_links);
  for (int i = 0; i < self->n_items; i++)
    {
      const TnGraphItem *item = &self->items[i];
      hash = mix (hash, g_str_hash (item->name));
      hash = mix (hash, g_str_hash (item->op) ^ (guint64) g_str_hash (item->shape) << 32);
      hash = mix (hash, (guint64) item->scope << 8 | (guint64) item->phase << 4 | (guint64) item->kind);
    }
  for (int i = 0; i < self->n_links; i++)
    hash = mix (hash, (guint64) self->links[i].from << 32 | (guint64) self->links[i].to);
  return hash;
}

/* ---- too much side by side ---- */

#define GROUP 100 /* at most; twelve groups where that makes them smaller */

/* Items in an order in which no link goes back, where there is one; else by number. Free with g_free. */
static int *
topological_order (TnGraphDocument *self)
{
  int n = (int) self->item_array->len, n_links = (int) self->link_array->len, done = 0;
  const TnGraphLink *links = (const TnGraphLink *) (void *) self->link_array->data;
  g_autofree int *waits = g_new0 (int, n + 1);
  g_autofree int *first = g_new0 (int, n + 2);
  g_autofree int *next = g_new (int, MAX (n_links, 1));
  int *order = g_new (int, n + 1);
  memset (first, -1, sizeof (int) * (gsize) (n + 1));
  for (int i = n_links - 1; i >= 0; i--)
    {
      waits[links[i].to]++;
      next[i] = first[links[i].from];
      first[links[i].from] = i;
    }
  g_autofree gboolean *placed = g_new0 (gboolean, n + 1);
  int scan = 0;
  for (int i = 0; i < n; i++)
    if (waits[i] == 0)
      {
        placed[i] = TRUE;
        order[done++] = i;
      }
  for (int at = 0; at < n; at++)
    {
      for (; at == done && scan < n; scan++) /* a circle: begin it anywhere */
        if (!placed[scan])
          {
            placed[scan] = TRUE;
            order[done++] = scan;
          }
      for (int l = first[order[at]]; l >= 0; l = next[l])
        if (--waits[links[l].to] == 0 && !placed[links[l].to])
          {
            placed[links[l].to] = TRUE;
            order[done++] = links[l].to;
          }
    }
  return order;
}

static gboolean
is_counted (const TnGraphItem *item)
{
  return item->kind != TN_ITEM_PARAMETER && item->kind != TN_ITEM_CONSTANT && item->kind != TN_ITEM_STATE;
}

/* "nodes 101–200" in @scope, in "nodes 1–10000" where there are very many. */
static int
made_scope (TnGraphDocument *self, int scope, int k, int n)
{
  const char *base = scope >= 0 ? g_array_index (self->scope_array, TnGraphScope, scope).path : NULL;
  g_autoptr (GString) path = g_string_new (base);
  int from = (int) self->scope_array->len;
  int least = n > GROUP * 12 ? GROUP : (n + 11) / 12;
  for (int size = n > GROUP * GROUP ? GROUP * GROUP : least; size >= least; size /= GROUP)
    g_string_append_printf (path, "%snodes %d–%d", path->len > 0 ? "/" : "", k / size * size + 1, MIN (k / size * size + size, n));
  int made = tn_graph_document_scope (self, path->str);
  for (int s = from; s < (int) self->scope_array->len; s++)
    g_array_index (self->scope_array, TnGraphScope, s).made = TRUE;
  return made;
}

static void
group_wide_scopes (TnGraphDocument *self)
{
  int n = (int) self->item_array->len, n_scopes = (int) self->scope_array->len;
  g_autofree int *counts = g_new0 (int, n_scopes + 1);
  g_autofree int *placed = g_new0 (int, n_scopes + 1);
  gboolean any = FALSE;
  for (int i = 0; i < n; i++)
    {
      const TnGraphItem *item = tn_graph_document_item (self, i);
      int scope = item->scope >= 0 ? item->scope : n_scopes;
      counts[scope] += is_counted (item);
      any |= counts[scope] > TN_GRAPH_DOCUMENT_MAX_SIDE_BY_SIDE;
    }
  if (!any)
    return;
  g_autofree int *order = topological_order (self);
  for (int k = 0; k < n; k++)
    {
      TnGraphItem *item = tn_graph_document_item (self, order[k]);
      int scope = item->scope >= 0 ? item->scope : n_scopes;
      if (scope > n_scopes || counts[scope] <= TN_GRAPH_DOCUMENT_MAX_SIDE_BY_SIDE || !is_counted (item))
        continue;
      int made = made_scope (self, item->scope, placed[scope]++, counts[scope]);
      tn_graph_document_item (self, order[k])->scope = made;
    }
}

void
tn_graph_document_finish (TnGraphDocument *self)
{
  group_wide_scopes (self);
  self->n_items = (int) self->item_array->len;
  self->n_links = (int) self->link_array->len;
  self->n_scopes = (int) self->scope_array->len;
  self->items = (TnGraphItem *) (void *) g_array_free (g_steal_pointer (&self->item_array), FALSE);
  self->links = (TnGraphLink *) (void *) g_array_free (g_steal_pointer (&self->link_array), FALSE);
  self->scopes = (TnGraphScope *) (void *) g_array_free (g_steal_pointer (&self->scope_array), FALSE);
  drop_builders (self);
  for (int i = 0; i < self->n_items; i++)
    {
      const TnGraphItem *item = &self->items[i];
      self->has_phases |= item->phase != TN_PHASE_FORWARD;
      if (item->kind != TN_ITEM_PARAMETER && item->kind != TN_ITEM_CONSTANT && item->kind != TN_ITEM_STATE)
        for (int s = item->scope; s >= 0; s = self->scopes[s].parent)
          self->scopes[s].n_items++;
    }
  index_links (self, TRUE, &self->in_first, &self->in_links);
  index_links (self, FALSE, &self->out_first, &self->out_links);
  self->hash = hash_document (self);
}

/* ---- reading ---- */

const char *
tn_item_kind_name (TnItemKind kind)
{
  static const char *const names[] = { "operator", "input", "output", "parameter", "state", "constant" };
  return names[kind];
}

const char *
tn_item_attr (const TnGraphItem *item, const char *name)
{
  for (int i = 0; i < item->n_attrs; i++)
    if (strcmp (item->attrs[i].name, name) == 0)
      return item->attrs[i].value;
  return NULL;
}

int
tn_graph_document_find (const TnGraphDocument *self, const char *name)
{
  for (int i = 0; i < self->n_items; i++)
    if (strcmp (self->items[i].name, name) == 0)
      return i;
  return -1;
}

char *
tn_graph_shape_text (const TnShape *shape)
{
  if (shape->n_dims == 0)
    return g_strdup ("scalar");
  GString *text = g_string_new (NULL);
  for (int i = 0; i < shape->n_dims; i++)
    {
      if (i > 0)
        g_string_append (text, "×");
      if (shape->dims[i] < 0)
        g_string_append_c (text, '?');
      else
        g_string_append_printf (text, "%" G_GINT64_FORMAT, (gint64) shape->dims[i]);
    }
  return g_string_free (text, FALSE);
}
