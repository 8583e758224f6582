/* SPDX-License-Identifier: Apache-2.0 */
#include "draw/graph-compare.h"
#include <string.h>

/* "scope\nop\nside\nordinal" of every item. */
static char **
keys_of (const TnGraphDocument *document)
{
  char **keys = g_new0 (char *, document->n_items + 1);
  g_autoptr (GHashTable) ordinals = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, NULL);
  for (int i = 0; i < document->n_items; i++)
    {
      const TnGraphItem *item = &document->items[i];
      gboolean named = item->kind != TN_ITEM_OPERATOR || item->op[0] == '\0';
      g_autofree char *key = g_strdup_printf ("%s\n%s\n%d", named ? item->name : item->scope >= 0 ? document->scopes[item->scope].path : "", item->op, (int) item->phase);
      int ordinal = GPOINTER_TO_INT (g_hash_table_lookup (ordinals, key));
      keys[i] = g_strdup_printf ("%s\n%d", key, ordinal);
      g_hash_table_replace (ordinals, g_steal_pointer (&key), GINT_TO_POINTER (ordinal + 1));
    }
  return keys;
}

static gboolean
is_same (const TnGraphDocument *a, int i, const TnGraphDocument *b, int k)
{
  const TnGraphItem *x = &a->items[i], *y = &b->items[k];
  if (strcmp (x->shape, y->shape) != 0 || strcmp (x->dtype, y->dtype) != 0 || x->n_attrs != y->n_attrs)
    return FALSE;
  if (a->in_first[i + 1] - a->in_first[i] != b->in_first[k + 1] - b->in_first[k])
    return FALSE;
  for (int n = 0; n < x->n_attrs; n++)
    if (strcmp (x->attrs[n].name, "source") != 0 && (strcmp (x->attrs[n].name, y->attrs[n].name) != 0 || strcmp (x->attrs[n].value, y->attrs[n].value) != 0))
      return FALSE;
  return TRUE;
}

static int
copy_item (TnGraphDocument *to, const TnGraphDocument *from, int i)
{
  TnGraphItem item = from->items[i];
  item.scope = item.scope >= 0 ? tn_graph_document_scope (to, from->scopes[item.scope].path) : -1;
  return tn_graph_document_add (to, &item);
}

TnGraphComparison *
tn_graph_compare (TnGraphDocument *shown, TnGraphDocument *other)
{
  TnGraphComparison *self = g_new0 (TnGraphComparison, 1);
  g_auto (GStrv) keys = keys_of (shown), other_keys = keys_of (other);
  g_autoptr (GHashTable) index = g_hash_table_new (g_str_hash, g_str_equal);
  g_autofree int *place = g_new (int, other->n_items + 1);
  g_autoptr (GByteArray) changes = g_byte_array_new ();
  for (int k = 0; k < other->n_items; k++)
    {
      g_hash_table_insert (index, other_keys[k], GINT_TO_POINTER (k + 1));
      place[k] = -1;
    }
  self->document = tn_graph_document_new (shown->name, shown->format);
  for (int i = 0; i < shown->n_items; i++)
    {
      int found = GPOINTER_TO_INT (g_hash_table_lookup (index, keys[i])) - 1;
      guint8 change = found < 0 ? TN_CHANGE_ADDED : is_same (shown, i, other, found) ? TN_CHANGE_NONE : TN_CHANGE_CHANGED;
      copy_item (self->document, shown, i);
      if (found >= 0)
        place[found] = i;
      self->n_added += change == TN_CHANGE_ADDED;
      self->n_changed += change == TN_CHANGE_CHANGED;
      g_byte_array_append (changes, &change, 1);
    }
  for (int k = 0; k < other->n_items; k++)
    if (place[k] < 0)
      {
        guint8 change = TN_CHANGE_REMOVED;
        place[k] = copy_item (self->document, other, k);
        tn_graph_document_item (self->document, place[k])->from = -1;
        self->n_removed++;
        g_byte_array_append (changes, &change, 1);
      }
  for (int l = 0; l < shown->n_links; l++)
    tn_graph_document_link (self->document, &shown->links[l]);
  for (int l = 0; l < other->n_links; l++)
    {
      TnGraphLink link = other->links[l];
      link.from = place[link.from];
      link.to = place[link.to];
      if (link.from >= shown->n_items || link.to >= shown->n_items)
        tn_graph_document_link (self->document, &link);
    }
  tn_graph_document_finish (self->document);
  self->changes = g_byte_array_free (g_steal_pointer (&changes), FALSE);
  return self;
}

void
tn_graph_comparison_free (TnGraphComparison *self)
{
  tn_graph_document_unref (self->document);
  g_free (self->changes);
  g_free (self);
}
