/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
#include <glib.h>
#include <stdint.h>

/* TnDnnlConv: one of the three convolutions of a layer as a oneDNN primitive, for versions 2 and 3.
 *
 * Layouts are fixed by the caller's block size b, so that oneDNN takes its direct (or Winograd) kernels and nothing is
 * converted behind our back:
 *
 *   x   [n][C/b][H][W][b], or row-major where C is at most TN_DNNL_FEW_CHANNELS (the first layer)
 *   y   [n][O/b][OH][OW][b]
 *   w   forward and its gradient: [O/b][C/b][KH][KW][b of C][b of O], with few channels [O/b][KH][KW][C][b of O]
 *       backward data: [O/b][C/b][KH][KW][b of O][b of C]
 *
 * A primitive runs on the calling thread alone. Immutable to its users: any number of threads may run one at once, each
 * with its own scratch. */
typedef struct _TnDnnlConv TnDnnlConv;

#define TN_DNNL_FEW_CHANNELS 4

typedef enum
{
  TN_DNNL_FORWARD,          /* x, w -> y */
  TN_DNNL_BACKWARD_DATA,    /* w, y -> x */
  TN_DNNL_BACKWARD_WEIGHTS  /* x, y -> w */
} TnDnnlKind;

typedef struct
{
  TnDnnlKind kind;
  int64_t n, c, h, w, o, oh, ow, kh, kw;
  int64_t stride_h, stride_w, pad_top, pad_left, pad_bottom, pad_right;
  int block;
  gboolean winograd; /* allowed: rounds differently, and is faster where there is one */
} TnDnnlConvShape;

/** Whether oneDNN has a kernel for @shape, not only loops for completeness' sake (which take seconds). Remembered: asking
 * again costs a look into a table. */
gboolean tn_dnnl_conv_is_fast (const TnDnnlConvShape *shape);
/** Errors: %TN_ERROR_UNSUPPORTED with oneDNN's status. Free with tn_dnnl_conv_free(). */
TnDnnlConv *tn_dnnl_conv_new (const TnDnnlConvShape *shape, GError **error);
void tn_dnnl_conv_free (TnDnnlConv *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (TnDnnlConv, tn_dnnl_conv_free)
/** Bytes of scratch a run needs, 64-byte aligned. */
size_t tn_dnnl_conv_scratch (const TnDnnlConv *self);
/** oneDNN's name of the kernel it chose, "jit:avx2" for one. */
const char *tn_dnnl_conv_implementation (const TnDnnlConv *self);
/** The array that the kind computes is written, the others are read. */
void tn_dnnl_conv_run (TnDnnlConv *self, const float *x, const float *w, const float *y, void *scratch);
/** "2.6.3", for the record of a run. */
const char *tn_dnnl_version (void);
