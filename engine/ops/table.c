/* SPDX-License-Identifier: Apache-2.0 */
#include "base/error.h"
#include "ops/families.h"
#include "ops/op.h"

static const TnOp *const families[] = {
  tn_ops_leaf,   tn_ops_control, tn_ops_elementwise, tn_ops_compare, tn_ops_activation, tn_ops_reduce, tn_ops_random, tn_ops_shape,
  tn_ops_matmul, tn_ops_conv,    tn_ops_pool,        tn_ops_norm,    tn_ops_softmax,    tn_ops_loss,   tn_ops_index,  tn_ops_optimizer,
  tn_ops_fused,  tn_ops_collective,
};

static GPtrArray *rows;       /* TnOp, in the families' order */
static GHashTable *by_name;

static void
ensure_table (void)
{
  static gsize ready = 0;
  if (!g_once_init_enter (&ready))
    return;
  rows = g_ptr_array_new ();
  by_name = g_hash_table_new (g_str_hash, g_str_equal);
  for (gsize f = 0; f < G_N_ELEMENTS (families); f++)
    for (const TnOp *op = families[f]; op->name != NULL; op++)
      {
        g_ptr_array_add (rows, (gpointer) op);
        if (!g_hash_table_insert (by_name, (gpointer) op->name, (gpointer) op))
          g_error ("two operators are named %s", op->name);
      }
  g_once_init_leave (&ready, 1);
}

const TnOp *
tn_op_find (const char *name)
{
  ensure_table ();
  return g_hash_table_lookup (by_name, name);
}

int
tn_op_count (void)
{
  ensure_table ();
  return (int) rows->len;
}

const TnOp *
tn_op_at (int i)
{
  ensure_table ();
  return rows->pdata[i];
}
