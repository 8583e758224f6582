/* SPDX-License-Identifier: Apache-2.0 */
#include "base/error.h"
#include "device/cpu/kernels.h"

static const TnCpuKernel *const families[] = { tn_cpu_kernels_wide, tn_cpu_kernels_norm, tn_cpu_kernels_blocked, tn_cpu_kernels_lanes,
                                               tn_cpu_kernels_flat, tn_cpu_kernels_optimizer };

static GHashTable *by_op; /* name -> GPtrArray of TnCpuKernel in order of preference */

static void
ensure_table (void)
{
  static gsize ready = 0;
  if (!g_once_init_enter (&ready))
    return;
  by_op = g_hash_table_new (g_str_hash, g_str_equal);
  for (gsize f = 0; f < G_N_ELEMENTS (families); f++)
    for (const TnCpuKernel *kernel = families[f]; kernel->op != NULL; kernel++)
      {
        GPtrArray *list = g_hash_table_lookup (by_op, kernel->op);
        if (list == NULL)
          g_hash_table_insert (by_op, (gpointer) kernel->op, list = g_ptr_array_new ());
        g_ptr_array_add (list, (gpointer) kernel);
      }
  g_once_init_leave (&ready, 1);
}

const TnCpuKernel *
tn_cpu_kernel_find (const TnNode *node, const TnCpuTarget *target)
{
  ensure_table ();
  GPtrArray *list = g_hash_table_lookup (by_op, node->op->name);
  for (guint i = 0; list != NULL && i < list->len; i++)
    {
      const TnCpuKernel *kernel = list->pdata[i];
      if (kernel->match (node, target))
        return kernel->run != NULL ? kernel : NULL;
    }
  return NULL;
}

gboolean
tn_cpu_target_init (TnCpuTarget *target, TnIsa isa, gboolean strict, GError **error)
{
  const TnLanesKernels *lanes = tn_lanes_kernels (isa);
  if (lanes == NULL)
    {
      g_set_error (error, TN_ERROR, TN_ERROR_UNSUPPORTED, _ ("This machine cannot run device.isa = %s; the best it has is %s."),
                   tn_isa_name (isa), tn_isa_name (tn_isa_detect ()));
      return FALSE;
    }
  *target = (TnCpuTarget){ .isa = lanes->isa, .lanes = lanes, .block = lanes->isa == TN_ISA_AVX512 ? 16 : 8, .strict = strict };
  return TRUE;
}
