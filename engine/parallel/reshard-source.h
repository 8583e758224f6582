/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
#include "parallel/reshard.h"
#include "tensor/tensor.h"

/* What a checkpoint of any form holds: for every tensor which box of it lies in which file. */
typedef struct
{
  char *file; /* below the folder */
  TnBox box;
} TnReshardPart;

typedef struct
{
  char *name;
  TnDType dtype;
  TnShape shape;
  GArray *parts; /* TnReshardPart: together they tile the tensor */
} TnReshardTensor;

typedef struct
{
  char *folder;
  GPtrArray *tensors;    /* TnReshardTensor */
  GHashTable *files;     /* name -> open file */
  char *state;           /* path of state.json, or NULL */
  size_t in_memory, peak;
} TnReshardSource;

/** @strategy: (nullable): layouts of a folder of ranks (rank_0, rank_1 ...), whose files hold slices. */
gboolean tn_reshard_source_open (TnReshardSource *self, const char *path, const TnStrategyFile *strategy, GError **error);
void tn_reshard_source_clear (TnReshardSource *self);
/** The elements of @part that lie in @want, to their place in @out; adds their number to @filled. */
gboolean tn_reshard_source_add (TnReshardSource *self, const TnReshardTensor *tensor, const TnReshardPart *part, const TnBox *want, char *out,
                                int64_t *filled, GError **error);
void tn_reshard_source_note_memory (TnReshardSource *self, size_t more);
/** "The checkpoint is damaged at ..."; FALSE. */
gboolean tn_reshard_damaged (const char *what, const char *name, GError **error);
TnBox tn_reshard_whole_box (const TnShape *shape);
