/* SPDX-License-Identifier: Apache-2.0 */
#include "ops/window.h"

#include "base/error.h"
#include "ops/move.h"
#include <inttypes.h>

/* Larger numbers mean nothing and would overflow the products below. */
#define MOST (G_GINT64_CONSTANT (1) << 40)

static gboolean
resolve_axis (const TnNode *node, const char *pad_mode, gboolean ceil, int i, TnWindowAxis *a, GError **error)
{
  int64_t extent = (a->kernel - 1) * a->dilation + 1;
  if (g_ascii_strcasecmp (pad_mode, "same") == 0)
    {
      a->out = (a->in + a->stride - 1) / a->stride;
      int64_t total = a->out > 0 ? MAX ((a->out - 1) * a->stride + extent - a->in, 0) : 0;
      a->before = total / 2;
      a->after = total - a->before;
      return TRUE;
    }
  int64_t room = a->in + a->before + a->after - extent;
  if (room < 0)
    return tn_infer_error (node, error,
                           _ ("the window spans %" PRId64
                              " places of spatial axis %d, which with padding has only %" PRId64),
                           (gint64) extent, i, (gint64) (a->in + a->before + a->after));
  a->out = (ceil ? room + a->stride - 1 : room) / a->stride + 1;
  /* The last window must begin inside the input or the padding before it. */
  if (ceil && (a->out - 1) * a->stride >= a->in + a->before)
    a->out--;
  return TRUE;
}

gboolean
tn_window_resolve (const TnNode *node, const char *stride_name, gboolean ceil, int n_axes, const int64_t *in,
                   const int64_t *kernel, TnWindow *window, GError **error)
{
  const int64_t *stride, *dilation, *pad;
  const char *pad_mode = tn_node_string (node, "pad_mode");
  gboolean explicit_pad = g_ascii_strcasecmp (pad_mode, "pad") == 0;
  if (!explicit_pad && g_ascii_strcasecmp (pad_mode, "same") != 0 && g_ascii_strcasecmp (pad_mode, "valid") != 0)
    return tn_infer_error (node, error, _ ("pad_mode must be pad, same or valid, not “%s”"), pad_mode);
  if (!tn_infer_ints (node, stride_name, n_axes, 1, error) || !tn_infer_ints (node, "dilation", n_axes, 1, error)
      || !tn_infer_ints (node, "pad", 2 * n_axes, 0, error))
    return FALSE;
  tn_node_ints (node, stride_name, &stride);
  tn_node_ints (node, "dilation", &dilation);
  tn_node_ints (node, "pad", &pad);
  *window = (TnWindow){ .n_axes = n_axes };
  for (int i = 0; i < n_axes; i++)
    {
      TnWindowAxis *a = &window->axis[i];
      *a = (TnWindowAxis){
        .in = in[i], .kernel = kernel[i], .stride = stride ? stride[i] : 1, .dilation = dilation ? dilation[i] : 1
      };
      if (pad != NULL && explicit_pad)
        {
          a->before = pad[2 * i];
          a->after = pad[2 * i + 1];
        }
      if (a->kernel < 1 || MAX (a->kernel, a->in) > MOST || MAX (a->stride, a->before) > MOST || a->after > MOST
          || a->dilation > MOST / a->kernel)
        return tn_infer_error (node, error, _ ("kernel, stride, dilation or padding is out of range"));
      if (!resolve_axis (node, pad_mode, ceil, i, a, error))
        return FALSE;
    }
  return TRUE;
}
