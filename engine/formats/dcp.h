/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
#include <glib.h>
#include "tensor/tensor.h"

/* TnDcp: what a folder of torch.distributed.checkpoint says it holds (its file .metadata, a pickle that is read as data).
 *
 * Copies were removed when it was written: the rank in a file's name (__2_0.distcp) is who wrote a piece and not all who held
 * it. Read only; the pieces themselves are not opened. */
typedef struct
{
  int64_t lo[TN_MAX_DIMS], sizes[TN_MAX_DIMS];
  char *file;             /* NULL where the metadata names none */
  uint64_t offset, length; /* in it */
  int64_t rank;           /* that wrote it; -1 if the name does not say */
} TnDcpPiece;

typedef struct
{
  char *name;
  char *dtype_name; /* "float32" */
  TnDType dtype;    /* TN_DTYPE_COUNT if we have no such type */
  TnShape shape;
  GArray *pieces;   /* TnDcpPiece */
} TnDcpTensor;

typedef struct
{
  GPtrArray *tensors; /* TnDcpTensor, in the file's order */
  GPtrArray *others;  /* names of what is no tensor */
} TnDcp;

/** @path: the folder or its .metadata. Errors: TN_ERROR_FORMAT; TN_ERROR_IO and kin. */
TnDcp *tn_dcp_load (const char *path, GError **error);
TnDcp *tn_dcp_parse (const void *data, size_t n, GError **error);
void tn_dcp_free (TnDcp *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (TnDcp, tn_dcp_free)

/** "2 x 2 pieces of (11, 12)", or "4 pieces of uneven size"; free with g_free. */
char *tn_dcp_tensor_cut (const TnDcpTensor *tensor);
