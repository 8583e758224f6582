/* SPDX-License-Identifier: Apache-2.0 */
#include "parallel/shard-private.h"

#include <string.h>
#include "ops/op.h"

/* Communication fusion: all-reduces of gradients over the same ranks become one over their elements behind each other. Buckets
 * are filled in the order in which gradients get ready, so that the first is on its way while others are still computed; a
 * bucket ends where it is full, or before one of its gradients is read. */

typedef struct
{
  GArray *members; /* int: index into the traffic, by node id */
  const TnNode *first, *last;
  int64_t bytes;
  int read_at;     /* id of the first node that reads a member */
} Bucket;

typedef struct
{
  TnSharded *self;
  GPtrArray *buckets;
  const TnNode **nodes; /* [traffic] */
  int *bucket_of;       /* [traffic]; -1 */
  int *traffic_of;      /* node id -> traffic, -1 */
  TnValue **made;       /* [traffic]: in the new graph */
} Fusion;

static void
free_bucket (gpointer data)
{
  Bucket *bucket = data;
  g_array_unref (bucket->members);
  g_free (bucket);
}

/* Id of the first node that reads each node; G_MAXINT: none. */
static int *
first_readers (const TnGraph *graph)
{
  int n = tn_graph_n_nodes (graph), *readers = g_new (int, n + 1);
  for (int id = n - 1; id >= 0; id--)
    readers[id] = G_MAXINT;
  for (int id = n - 1; id >= 0; id--)
    for (int k = 0; k < tn_graph_node (graph, id)->n_inputs; k++)
      readers[tn_graph_node (graph, id)->inputs[k]->node->id] = id;
  return readers;
}

static gboolean
fits (const Fusion *f, const Bucket *bucket, int t)
{
  const TnTraffic *a = &g_array_index (f->self->traffic, TnTraffic, g_array_index (bucket->members, int, 0)), *b = &g_array_index (f->self->traffic, TnTraffic, t);
  const TnNode *one = bucket->first, *two = f->nodes[t];
  return a->axes == b->axes && tn_mesh_equal (a->mesh, b->mesh) && one->outputs[0].dtype == two->outputs[0].dtype
         && strcmp (tn_node_string (one, "op"), tn_node_string (two, "op")) == 0 && two->id < bucket->read_at;
}

static void
fill_buckets (Fusion *f)
{
  const TnShardOptions *options = &f->self->options;
  g_autofree int *readers = first_readers (f->self->graph);
  g_autoptr (GPtrArray) open = g_ptr_array_new (); /* one a group of ranks */
  int ordinal = 0, next_end = 0;
  for (int id = 0; id < tn_graph_n_nodes (f->self->graph); id++)
    {
      int t = f->traffic_of[id];
      const TnTraffic *traffic = t >= 0 ? &g_array_index (f->self->traffic, TnTraffic, t) : NULL;
      if (t < 0 || traffic->kind != TN_MOVE_ALL_REDUCE || traffic->phase != TN_PHASE_BACKWARD)
        continue;
      Bucket *bucket = NULL;
      for (guint i = 0; i < open->len && bucket == NULL; i++)
        {
          Bucket *b = open->pdata[i];
          if (fits (f, b, t) && (options->n_bucket_ends > 0 || b->bytes + traffic->bytes_in <= options->bucket_bytes))
            bucket = b;
        }
      if (bucket == NULL)
        {
          bucket = g_new0 (Bucket, 1);
          bucket->members = g_array_new (FALSE, FALSE, sizeof (int));
          bucket->first = f->nodes[t];
          bucket->read_at = G_MAXINT;
          g_ptr_array_add (f->buckets, bucket);
          g_ptr_array_add (open, bucket);
        }
      g_array_append_val (bucket->members, t);
      bucket->last = f->nodes[t];
      bucket->bytes += traffic->bytes_in;
      bucket->read_at = MIN (bucket->read_at, readers[f->nodes[t]->id]);
      for (guint i = 0; i < f->buckets->len; i++)
        if (f->buckets->pdata[i] == bucket)
          f->bucket_of[t] = (int) i;
      if (next_end < options->n_bucket_ends && ordinal >= options->bucket_ends[next_end])
        {
          g_ptr_array_set_size (open, 0);
          next_end++;
        }
      ordinal++;
    }
}

static TnValue *
as_shape (TnGraph *graph, TnValue *x, int n, const int64_t *dims)
{
  return x != NULL ? tn_op (graph, "Reshape", TN_IN (x), TN_ATTRS (tn_attr_ints ("shape", n, dims))) : NULL;
}

/* Flat pieces behind each other, one all-reduce, and the pieces again. */
static void
write_bucket (Fusion *f, TnRewrite *rewrite, const Bucket *bucket)
{
  int n = (int) bucket->members->len;
  g_autofree TnValue **flat = g_new0 (TnValue *, n);
  TnGraph *to = rewrite->to;
  tn_graph_set_origin (to, bucket->last);
  tn_graph_set_phase (to, TN_PHASE_COMMUNICATION);
  for (int i = 0; i < n; i++)
    {
      const TnNode *node = f->nodes[g_array_index (bucket->members, int, i)];
      int64_t count = tn_shape_count (&node->outputs[0].shape);
      flat[i] = as_shape (to, tn_rewrite_get (rewrite, node->inputs[0]), 1, &count);
      if (flat[i] == NULL)
        return;
    }
  TnValue *joined = tn_op (to, "Concat", n, flat, TN_ATTRS (tn_attr_int ("axis", 0)));
  TnValue *sum = joined != NULL ? tn_op (to, "AllReduce", TN_IN (joined), bucket->last->n_attrs, bucket->last->attrs) : NULL;
  int64_t at = 0;
  for (int i = 0; i < n && sum != NULL; i++)
    {
      const TnNode *node = f->nodes[g_array_index (bucket->members, int, i)];
      const TnShape *shape = &node->outputs[0].shape;
      int64_t end = at + tn_shape_count (shape);
      TnValue *piece = tn_op (to, "StridedSlice", TN_IN (sum), TN_ATTRS (tn_attr_ints ("begin", 1, &at), tn_attr_ints ("end", 1, &end)));
      tn_rewrite_set (rewrite, &node->outputs[0], as_shape (to, piece, shape->n_dims, shape->dims));
      f->made[g_array_index (bucket->members, int, i)] = sum;
      at = end;
    }
  tn_graph_set_origin (to, NULL);
  tn_graph_set_phase (to, TN_PHASE_FORWARD);
}

static gboolean
visit (TnRewrite *rewrite, const TnNode *node, gpointer data)
{
  Fusion *f = data;
  int t = f->traffic_of[node->id];
  if (t < 0)
    return FALSE;
  const Bucket *bucket = f->bucket_of[t] >= 0 ? f->buckets->pdata[f->bucket_of[t]] : NULL;
  if (bucket == NULL || bucket->members->len < 2)
    {
      TnNode *copy = tn_rewrite_copy (rewrite, node);
      f->made[t] = copy != NULL ? &copy->outputs[0] : NULL;
    }
  else if (node == bucket->last)
    write_bucket (f, rewrite, bucket);
  return TRUE;
}

/* One entry a bucket, where its first member stood. */
static void
join_traffic (Fusion *f)
{
  GArray *traffic = f->self->traffic, *joined = g_array_new (FALSE, TRUE, sizeof (TnTraffic));
  for (guint t = 0; t < traffic->len; t++)
    {
      TnTraffic entry = g_array_index (traffic, TnTraffic, t);
      const Bucket *bucket = f->bucket_of[t] >= 0 ? f->buckets->pdata[f->bucket_of[t]] : NULL;
      if (bucket != NULL && bucket->members->len > 1)
        {
          if (g_array_index (bucket->members, int, 0) != (int) t)
            continue;
          entry.bytes_in = bucket->bytes;
          entry.bytes = 0;
          for (guint i = 0; i < bucket->members->len; i++)
            entry.bytes += g_array_index (traffic, TnTraffic, g_array_index (bucket->members, int, i)).bytes;
        }
      entry.node = f->made[t]->node->name;
      tn_mesh_ref (entry.mesh);
      g_array_append_val (joined, entry);
    }
  g_array_set_clear_func (joined, tn_shard_clear_traffic);
  g_array_unref (traffic);
  f->self->traffic = joined;
}

gboolean
tn_shard_fuse (TnSharded *self, GError **error)
{
  guint n = self->traffic->len;
  int n_nodes = tn_graph_n_nodes (self->graph);
  g_autoptr (GPtrArray) buckets = g_ptr_array_new_with_free_func (free_bucket);
  g_autofree const TnNode **nodes = g_new0 (const TnNode *, n + 1);
  g_autofree int *bucket_of = g_new (int, n + 1), *traffic_of = g_new (int, n_nodes + 1);
  g_autofree TnValue **made = g_new0 (TnValue *, n + 1);
  Fusion f = { self, buckets, nodes, bucket_of, traffic_of, made };
  g_autoptr (GHashTable) by_name = g_hash_table_new (g_str_hash, g_str_equal);
  for (int id = 0; id < n_nodes; id++)
    {
      traffic_of[id] = -1;
      g_hash_table_insert (by_name, (char *) tn_graph_node (self->graph, id)->name, (gpointer) tn_graph_node (self->graph, id));
    }
  for (guint t = 0; t < n; t++)
    {
      bucket_of[t] = -1;
      nodes[t] = g_hash_table_lookup (by_name, g_array_index (self->traffic, TnTraffic, t).node);
      traffic_of[nodes[t]->id] = (int) t;
    }
  fill_buckets (&f);
  g_autoptr (TnGraph) fused = tn_graph_rewrite (self->graph, visit, &f, error);
  if (fused == NULL || !tn_graph_check (fused, error))
    return FALSE;
  join_traffic (&f);
  tn_graph_unref (self->graph);
  self->graph = g_steal_pointer (&fused);
  return TRUE;
}
