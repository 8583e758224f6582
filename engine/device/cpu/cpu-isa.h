/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
#include <glib.h>

/* TnIsa: the instruction levels our own CPU kernels are compiled for. Plain values, safe from any thread.
 *
 * Bits are promised equal on the same level only: sse2 has no fused multiply-add, and sums over lanes are cut by the
 * width of a vector. */
typedef enum
{
  TN_ISA_AUTO,   /* the best level this machine runs */
  TN_ISA_SSE2,   /* every x86-64 */
  TN_ISA_AVX2,   /* with FMA */
  TN_ISA_AVX512, /* AVX-512F */
} TnIsa;

/** The best level of this machine; never %TN_ISA_AUTO. */
TnIsa tn_isa_detect (void);
/** Whether this machine can run @isa; %TN_ISA_AUTO always can. */
gboolean tn_isa_available (TnIsa isa);
/** "auto", "sse2", "avx2", "avx512": the values of the setting device.isa. */
const char *tn_isa_name (TnIsa isa);
/** Reads a name as in tn_isa_name(). Errors: an unknown name, or a level this machine cannot run. */
gboolean tn_isa_parse (const char *name, TnIsa *isa, GError **error);
