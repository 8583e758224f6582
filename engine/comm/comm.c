/* SPDX-License-Identifier: Apache-2.0 */
#include "comm/comm.h"

#include <pthread.h>
#include <string.h>
#include <time.h>

#include "base/error.h"
#include "comm/lane.h"
#include "comm/reduce.h"

static gboolean
refuse (GError **error, const char *message)
{
  g_set_error_literal (error, TN_ERROR, TN_ERROR_INVALID_ARGUMENT, message);
  return FALSE;
}

static gboolean
check_size (const TnComm *self, size_t n, TnDType dtype, size_t *bytes, GError **error)
{
  size_t all;
  if (dtype < 0 || dtype >= TN_DTYPE_COUNT)
    return refuse (error, _("No such element type."));
  if (__builtin_mul_overflow (n, tn_dtype_size (dtype), bytes) || __builtin_mul_overflow (*bytes, (size_t) self->size, &all))
    return refuse (error, _("More elements than memory can hold."));
  return TRUE;
}

static gboolean
check_reduce (const TnComm *self, size_t n, TnDType dtype, TnReduce op, GError **error)
{
  size_t bytes;
  if (!check_size (self, n, dtype, &bytes, error))
    return FALSE;
  if (tn_reduce_takes (dtype, op))
    return TRUE;
  g_set_error (error, TN_ERROR, TN_ERROR_DTYPE, op == TN_REDUCE_MEAN ? _("Ranks take the mean of floating numbers, not of %s.") : _("Ranks do not reduce %s."),
               tn_dtype_name (dtype));
  return FALSE;
}

static gboolean
check_member (const TnComm *self, int rank, gboolean other, GError **error)
{
  if (rank >= 0 && rank < self->size && !(other && rank == self->rank))
    return TRUE;
  g_set_error (error, TN_ERROR, TN_ERROR_INVALID_ARGUMENT, _("Rank %d of %d names rank %d as its peer."), self->rank, self->size, rank);
  return FALSE;
}

gboolean
tn_comm_all_reduce (TnComm *self, const void *in, void *out, size_t n, TnDType dtype, TnReduce op, GError **error)
{
  if (!check_reduce (self, n, dtype, op, error))
    return FALSE;
  tn_comm_lane_drain (self);
  return self->table->all_reduce (self, in, out, n, dtype, op, error);
}

gboolean
tn_comm_all_gather (TnComm *self, const void *in, void *out, size_t n, TnDType dtype, GError **error)
{
  size_t bytes;
  if (!check_size (self, n, dtype, &bytes, error))
    return FALSE;
  tn_comm_lane_drain (self);
  return self->table->all_gather (self, in, out, bytes, error);
}

gboolean
tn_comm_reduce_scatter (TnComm *self, const void *in, void *out, size_t n, TnDType dtype, TnReduce op, GError **error)
{
  if (!check_reduce (self, n, dtype, op, error))
    return FALSE;
  tn_comm_lane_drain (self);
  return self->table->reduce_scatter (self, in, out, n, dtype, op, error);
}

gboolean
tn_comm_all_to_all (TnComm *self, const void *in, void *out, size_t n, TnDType dtype, GError **error)
{
  size_t bytes;
  if (!check_size (self, n, dtype, &bytes, error))
    return FALSE;
  tn_comm_lane_drain (self);
  return self->table->all_to_all (self, in, out, bytes, error);
}

gboolean
tn_comm_broadcast (TnComm *self, void *data, size_t n, TnDType dtype, int root, GError **error)
{
  size_t bytes;
  if (!check_size (self, n, dtype, &bytes, error) || !check_member (self, root, FALSE, error))
    return FALSE;
  tn_comm_lane_drain (self);
  return self->table->broadcast (self, data, bytes, root, error);
}

gboolean
tn_comm_exchange (TnComm *self, int to, const void *out, size_t n_out, int from, void *in, size_t n_in, TnDType dtype, GError **error)
{
  size_t bytes_out, bytes_in;
  if (!check_size (self, n_out, dtype, &bytes_out, error) || !check_size (self, n_in, dtype, &bytes_in, error)
      || (to >= 0 && !check_member (self, to, TRUE, error)) || (from >= 0 && !check_member (self, from, TRUE, error)))
    return FALSE;
  tn_comm_lane_drain (self);
  return self->table->exchange (self, to, out, bytes_out, from, in, bytes_in, error);
}

gboolean
tn_comm_send (TnComm *self, int to, const void *data, size_t n, TnDType dtype, GError **error)
{
  return check_member (self, to, TRUE, error) && tn_comm_exchange (self, to, data, n, -1, NULL, 0, dtype, error);
}

gboolean
tn_comm_recv (TnComm *self, int from, void *data, size_t n, TnDType dtype, GError **error)
{
  return check_member (self, from, TRUE, error) && tn_comm_exchange (self, -1, NULL, 0, from, data, n, dtype, error);
}

gboolean
tn_comm_barrier (TnComm *self, GError **error)
{
  tn_comm_lane_drain (self);
  return self->table->barrier (self, error);
}

TnComm *
tn_comm_split (TnComm *self, int color, int key, GError **error)
{
  tn_comm_lane_drain (self);
  return self->table->split (self, MAX (color, -1), key, error);
}

void
tn_comm_fail (TnComm *self, const char *reason)
{
  self->table->fail (self, reason);
}

void
tn_comm_free (TnComm *self)
{
  if (self == NULL)
    return;
  tn_comm_lane_free (self);
  self->table->free (self);
}
