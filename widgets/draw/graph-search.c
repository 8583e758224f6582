/* SPDX-License-Identifier: Apache-2.0 */
#include "draw/graph-search.h"
#include <string.h>

typedef struct
{
  int item, score;
} Hit;

static int
compare_hits (gconstpointer a, gconstpointer b)
{
  const Hit *x = a, *y = b;
  return x->score != y->score ? x->score - y->score : x->item - y->item;
}

/* Lower is better: the label itself, its beginning, in it; operators before inputs, parameters and constants. */
static int
score_of (const TnGraphItem *item, const char *folded_label, char **words)
{
  int score = item->kind == TN_ITEM_OPERATOR ? 0 : item->kind <= TN_ITEM_OUTPUT ? 4 : 8;
  if (strcmp (folded_label, words[0]) == 0)
    return score;
  return score + (g_str_has_prefix (folded_label, words[0]) ? 1 : strstr (folded_label, words[0]) != NULL ? 2 : 3);
}

GArray *
tn_graph_search (const TnGraphDocument *document, const char *text, int max, int *n_all)
{
  GArray *found = g_array_new (FALSE, FALSE, sizeof (int));
  g_autofree char *folded = g_utf8_casefold (text, -1);
  g_auto (GStrv) words = g_strsplit_set (folded, " \t\n", -1);
  g_autoptr (GPtrArray) wanted = g_ptr_array_new ();
  for (int i = 0; words[i] != NULL; i++)
    if (words[i][0] != '\0')
      g_ptr_array_add (wanted, words[i]);
  g_ptr_array_add (wanted, NULL);
  g_autoptr (GArray) hits = g_array_new (FALSE, FALSE, sizeof (Hit));
  for (int i = 0; wanted->len > 1 && i < document->n_items; i++)
    {
      const TnGraphItem *item = &document->items[i];
      g_autofree char *all = g_strjoin ("\n", item->name, item->op, item->shape, item->dtype, item->scope >= 0 ? document->scopes[item->scope].path : "", NULL);
      g_autofree char *folded_all = g_utf8_casefold (all, -1);
      gboolean every = TRUE;
      for (guint w = 0; w + 1 < wanted->len && every; w++)
        {
          /* "32x6x28x28" is what people can type. */
          const char *word = wanted->pdata[w];
          every = strstr (folded_all, word) != NULL;
          if (!every && strchr (word, 'x') != NULL)
            {
              g_auto (GStrv) parts = g_strsplit (word, "x", -1);
              g_autofree char *shape = g_strjoinv ("×", parts);
              every = strstr (folded_all, shape) != NULL;
            }
        }
      if (!every)
        continue;
      g_autofree char *label = g_utf8_casefold (item->label, -1);
      Hit hit = { i, score_of (item, label, (char **) wanted->pdata) };
      g_array_append_val (hits, hit);
    }
  g_array_sort (hits, compare_hits);
  if (n_all != NULL)
    *n_all = (int) hits->len;
  for (guint i = 0; i < hits->len && (int) i < max; i++)
    g_array_append_val (found, g_array_index (hits, Hit, i).item);
  return found;
}

gboolean *
tn_graph_cone (const TnGraphDocument *document, const int *items, int n, gboolean inputs)
{
  gboolean *in = g_new0 (gboolean, document->n_items + 1);
  g_autoptr (GArray) stack = g_array_new (FALSE, FALSE, sizeof (int));
  const int *first = inputs ? document->in_first : document->out_first, *links = inputs ? document->in_links : document->out_links;
  for (int i = 0; i < n; i++)
    {
      in[items[i]] = TRUE;
      g_array_append_val (stack, items[i]);
    }
  while (stack->len > 0)
    {
      int at = g_array_index (stack, int, stack->len - 1);
      g_array_set_size (stack, stack->len - 1);
      for (int k = first[at]; k < first[at + 1]; k++)
        {
          int to = inputs ? document->links[links[k]].from : document->links[links[k]].to;
          if (!in[to])
            {
              in[to] = TRUE;
              g_array_append_val (stack, to);
            }
        }
    }
  return in;
}

gboolean *
tn_graph_path (const TnGraphDocument *document, int from, int to)
{
  g_autofree gboolean *after = tn_graph_cone (document, &from, 1, FALSE);
  if (!after[to])
    {
      int swap = from;
      from = to;
      to = swap;
      g_free (after);
      after = tn_graph_cone (document, &from, 1, FALSE);
      if (!after[to])
        return NULL;
    }
  gboolean *before = tn_graph_cone (document, &to, 1, TRUE);
  for (int i = 0; i < document->n_items; i++)
    before[i] = before[i] && after[i];
  return before;
}
