/* SPDX-License-Identifier: Apache-2.0 */
#include "train/collectives.h"
#include <inttypes.h>

#include <string.h>

#include "base/error.h"
#include "ops/op.h"
#include "parallel/mesh.h"

typedef struct
{
  char *key; /* sizes of the mesh and the axes */
  TnComm *comm;
} Group;

struct _TnCollectives
{
  TnComm *world;
  GArray *groups; /* Group */
  char *packed[2]; /* messages on their way out and in */
  size_t packed_bytes[2];
};

/* A tensor as [outer][n pieces of the dimension][inner bytes]. */
typedef struct
{
  size_t outer, pieces, inner;
} Cut;

TnCollectives *
tn_collectives_new (TnComm *world)
{
  TnCollectives *self = g_new0 (TnCollectives, 1);
  self->world = world;
  self->groups = g_array_new (FALSE, TRUE, sizeof (Group));
  return self;
}

void
tn_collectives_free (TnCollectives *self)
{
  if (self == NULL)
    return;
  for (guint i = 0; i < self->groups->len; i++)
    {
      Group *group = &g_array_index (self->groups, Group, i);
      g_free (group->key);
      tn_comm_free (group->comm);
    }
  g_array_unref (self->groups);
  g_free (self->packed[0]);
  g_free (self->packed[1]);
  g_free (self);
}

/* ---- groups ---- */

static char *
group_key (const int64_t *sizes, int n_sizes, const int64_t *axes, int n_axes)
{
  g_autoptr (GString) key = g_string_new (NULL);
  for (int i = 0; i < n_sizes; i++)
    g_string_append_printf (key, "%" PRId64 ",", sizes[i]);
  for (int i = 0; i < n_axes; i++)
    g_string_append_printf (key, "/%" PRId64, axes[i]);
  return g_strdup (key->str);
}

static TnComm *
make_group (TnCollectives *self, const TnNode *node, const int64_t *sizes, int n_sizes, const int64_t *axes, int n_axes, GError **error)
{
  g_autoptr (TnMesh) mesh = tn_mesh_new (n_sizes, sizes, NULL, -1, NULL, error);
  if (mesh == NULL)
    return NULL;
  uint32_t bits = 0;
  for (int i = 0; i < n_axes; i++)
    bits |= 1u << axes[i];
  int64_t index;
  g_autofree int64_t *places = tn_mesh_group (mesh, bits, tn_comm_rank (self->world), &index);
  if (places == NULL || mesh->n_ranks != tn_comm_size (self->world))
    {
      g_set_error (error, TN_ERROR, TN_ERROR_STATE, _("%s is for %d ranks, there are %d."), node->name, (int) mesh->n_ranks, tn_comm_size (self->world));
      return NULL;
    }
  return tn_comm_split (self->world, (int) places[0], (int) index, error);
}

static TnComm *
group_of (TnCollectives *self, const TnNode *node, GError **error)
{
  const int64_t *sizes, *axes;
  int n_axes = tn_node_ints (node, "axes", &axes), n_sizes = tn_node_ints (node, "mesh", &sizes);
  g_autofree char *key = group_key (sizes, n_sizes, axes, n_axes);
  for (guint i = 0; i < self->groups->len; i++)
    if (strcmp (g_array_index (self->groups, Group, i).key, key) == 0)
      return g_array_index (self->groups, Group, i).comm;
  Group group = { .comm = make_group (self, node, sizes, n_sizes, axes, n_axes, error) };
  if (group.comm == NULL)
    return NULL;
  group.key = g_steal_pointer (&key);
  g_array_append_val (self->groups, group);
  return group.comm;
}

/* ---- messages ---- */

static Cut
cut_of (const TnValue *value, int dim, size_t pieces)
{
  Cut cut = { .outer = 1, .pieces = pieces, .inner = tn_dtype_size (value->dtype) };
  for (int d = 0; d < dim; d++)
    cut.outer *= (size_t) value->shape.dims[d];
  for (int d = dim; d < value->shape.n_dims; d++)
    cut.inner *= (size_t) value->shape.dims[d];
  cut.inner /= pieces;
  return cut;
}

/* [outer][pieces][inner] to [pieces][outer][inner] */
static void
pack (const char *from, char *to, Cut cut)
{
  for (size_t k = 0; k < cut.pieces; k++)
    for (size_t o = 0; o < cut.outer; o++, to += cut.inner)
      memcpy (to, from + (o * cut.pieces + k) * cut.inner, cut.inner);
}

static void
unpack (const char *from, char *to, Cut cut)
{
  for (size_t k = 0; k < cut.pieces; k++)
    for (size_t o = 0; o < cut.outer; o++, from += cut.inner)
      memcpy (to + (o * cut.pieces + k) * cut.inner, from, cut.inner);
}

/* Grows at the first steps only. */
static char *
message (TnCollectives *self, int which, size_t bytes, GError **error)
{
  if (self->packed_bytes[which] >= bytes && self->packed[which] != NULL)
    return self->packed[which];
  g_free (self->packed[which]);
  self->packed[which] = g_try_malloc (bytes + 1);
  self->packed_bytes[which] = self->packed[which] != NULL ? bytes : 0;
  if (self->packed[which] == NULL)
    g_set_error (error, TN_ERROR, TN_ERROR_MEMORY, _("No memory for a message of %.1f MB between ranks."), (double) bytes / 1e6);
  return self->packed[which];
}

static size_t
value_bytes (const TnValue *value)
{
  return (size_t) tn_shape_count (&value->shape) * tn_dtype_size (value->dtype);
}

static gboolean
reduce_op (const TnNode *node, TnReduce *op, GError **error)
{
  static const char *const names[] = { "sum", "mean", "max", "min" };
  const char *name = tn_node_string (node, "op");
  for (gsize i = 0; i < G_N_ELEMENTS (names); i++)
    if (strcmp (names[i], name) == 0)
      {
        *op = (TnReduce) i;
        return TRUE;
      }
  g_set_error (error, TN_ERROR, TN_ERROR_UNSUPPORTED, _("%s: ranks do not reduce by “%s”."), node->name, name);
  return FALSE;
}

/* ---- nodes ---- */

static gboolean
all_reduce (TnComm *group, const TnNode *node, const void *in, void *out, GError **error)
{
  TnReduce op = TN_REDUCE_SUM;
  return reduce_op (node, &op, error)
         && tn_comm_all_reduce (group, in, out, (size_t) tn_shape_count (&node->inputs[0]->shape), node->inputs[0]->dtype, op, error);
}

static gboolean
all_gather (TnCollectives *self, TnComm *group, const TnNode *node, const void *in, char *out, GError **error)
{
  size_t bytes = value_bytes (node->inputs[0]);
  Cut cut = cut_of (&node->outputs[0], (int) tn_node_int (node, "dim"), (size_t) tn_comm_size (group));
  char *all = cut.outer == 1 ? out : message (self, 1, bytes * cut.pieces, error);
  if (all == NULL || !tn_comm_all_gather (group, in, all, bytes, TN_DTYPE_U8, error))
    return FALSE;
  if (all != out)
    unpack (all, out, cut);
  return TRUE;
}

static gboolean
reduce_scatter (TnCollectives *self, TnComm *group, const TnNode *node, const char *in, void *out, GError **error)
{
  TnReduce op = TN_REDUCE_SUM;
  Cut cut = cut_of (node->inputs[0], (int) tn_node_int (node, "dim"), (size_t) tn_comm_size (group));
  const char *pieces = in;
  if (!reduce_op (node, &op, error))
    return FALSE;
  if (cut.outer > 1)
    {
      char *packed = message (self, 0, value_bytes (node->inputs[0]), error);
      if (packed == NULL)
        return FALSE;
      pack (in, packed, cut);
      pieces = packed;
    }
  return tn_comm_reduce_scatter (group, pieces, out, (size_t) tn_shape_count (&node->outputs[0].shape), node->inputs[0]->dtype, op, error);
}

static gboolean
all_to_all (TnCollectives *self, TnComm *group, const TnNode *node, const char *in, char *out, GError **error)
{
  size_t n = (size_t) tn_comm_size (group), bytes = value_bytes (node->inputs[0]);
  char *going = message (self, 0, bytes, error), *coming = going != NULL ? message (self, 1, bytes, error) : NULL;
  if (coming == NULL)
    return FALSE;
  pack (in, going, cut_of (node->inputs[0], (int) tn_node_int (node, "dim"), n));
  if (!tn_comm_all_to_all (group, going, coming, bytes / n, TN_DTYPE_U8, error))
    return FALSE;
  unpack (coming, out, cut_of (&node->outputs[0], (int) tn_node_int (node, "concat_dim"), n));
  return TRUE;
}

static void
own_piece (TnComm *group, const TnNode *node, const char *in, char *out)
{
  Cut cut = cut_of (node->inputs[0], (int) tn_node_int (node, "dim"), (size_t) tn_comm_size (group));
  for (size_t o = 0; o < cut.outer; o++)
    memcpy (out + o * cut.inner, in + (o * cut.pieces + (size_t) tn_comm_rank (group)) * cut.inner, cut.inner);
}

gboolean
tn_collectives_run (void *data, const TnNode *node, void *const *in, void *const *out, GError **error)
{
  TnCollectives *self = data;
  TnComm *group = group_of (self, node, error);
  if (group == NULL)
    return FALSE;
  const char *name = node->op->name;
  if (strcmp (name, "AllReduce") == 0)
    return all_reduce (group, node, in[0], out[0], error);
  if (strcmp (name, "AllGather") == 0)
    return all_gather (self, group, node, in[0], out[0], error);
  if (strcmp (name, "ReduceScatter") == 0)
    return reduce_scatter (self, group, node, in[0], out[0], error);
  if (strcmp (name, "AllToAll") == 0)
    return all_to_all (self, group, node, in[0], out[0], error);
  if (strcmp (name, "ShardSlice") == 0)
    own_piece (group, node, in[0], out[0]);
  else
    tn_dtype_store_int (node->outputs[0].dtype, out[0], 0, tn_comm_rank (group));
  return TRUE;
}
