/* SPDX-License-Identifier: Apache-2.0 */
#include "device/cpu/cpu-isa.h"
#include "base/error.h"

static const char *const names[] = { "auto", "sse2", "avx2", "avx512" };

gboolean
tn_isa_available (TnIsa isa)
{
  switch (isa)
    {
    case TN_ISA_AUTO:
    case TN_ISA_SSE2:
      return TRUE;
    case TN_ISA_AVX2:
      return __builtin_cpu_supports ("avx2") && __builtin_cpu_supports ("fma");
    case TN_ISA_AVX512:
      return __builtin_cpu_supports ("avx512f") && __builtin_cpu_supports ("fma");
    }
  return FALSE;
}

TnIsa
tn_isa_detect (void)
{
  for (TnIsa isa = TN_ISA_AVX512; isa > TN_ISA_SSE2; isa--)
    if (tn_isa_available (isa))
      return isa;
  return TN_ISA_SSE2;
}

const char *
tn_isa_name (TnIsa isa)
{
  g_return_val_if_fail ((unsigned) isa < G_N_ELEMENTS (names), NULL);
  return names[isa];
}

gboolean
tn_isa_parse (const char *name, TnIsa *isa, GError **error)
{
  for (guint i = 0; i < G_N_ELEMENTS (names); i++)
    if (g_strcmp0 (name, names[i]) == 0)
      {
        if (!tn_isa_available (i))
          {
            g_set_error (error, TN_ERROR, TN_ERROR_UNSUPPORTED,
                         _ ("Instruction level “%s” is not available on this machine, whose best is “%s”; choose that or “auto”"),
                         name, names[tn_isa_detect ()]);
            return FALSE;
          }
        *isa = i;
        return TRUE;
      }
  g_set_error (error, TN_ERROR, TN_ERROR_INVALID_ARGUMENT,
               _ ("Unknown instruction level “%s”; use auto, sse2, avx2 or avx512"), name ? name : "");
  return FALSE;
}
