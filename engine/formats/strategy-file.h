/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
#include "parallel/layout.h"

/* TnStrategyFile: MindSpore's parallel strategy of one rank (or of all pipeline stages, merged), as protobuf
 * (straspb.ParallelStrategyMap) or JSON.
 *
 * Everything that stands in a file is kept, in its order, so that what was read is written back as the same bytes. Layouts
 * of parameters are made from it when asked for. */
typedef struct
{
  char *node;            /* "MatMul_w1" */
  gint64 stage;
  GPtrArray *strategies; /* of GArray of int64: one tuple an input; empty where the operator has layouts */
} TnStrategyNode;

typedef struct
{
  char *name;            /* as in the file: "1-fc.weight" in merged ones */
  GArray *dev_matrix;    /* int64 */
  GPtrArray *maps;       /* of GArray: one flat map, or one list a dimension (then @per_dim) */
  gboolean per_dim;
  GArray *tensor_shape;  /* of the slice's owner, JSON only; NULL */
  GArray *split_shape, *offsets; /* manual split; NULL where the file has none, empty where it has an empty one */
  gint64 field, opt_step, opt_size;
} TnStrategyParameter;

typedef struct
{
  gint64 current_stage;
  GPtrArray *nodes;      /* TnStrategyNode */
  GPtrArray *parameters; /* TnStrategyParameter */
  GPtrArray *notes;      /* texts on what was missing (older versions); for people */
} TnStrategyFile;

/** By content: JSON where the first byte that is no space is "{" (also MindInsight's parallel_strategy_<rank>.json, which
 * has operators only), else protobuf. @n: bytes. Errors: TN_ERROR_FORMAT or TN_ERROR_PARSE. */
TnStrategyFile *tn_strategy_file_parse (const void *data, size_t n, GError **error);
/** Errors as above with the path; TN_ERROR_NOT_FOUND; an empty file is TN_ERROR_FORMAT. */
TnStrategyFile *tn_strategy_file_load (const char *path, GError **error);
TnStrategyFile *tn_strategy_file_new (void);
void tn_strategy_file_free (TnStrategyFile *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (TnStrategyFile, tn_strategy_file_free)
/** Adds one; members are then filled in. Takes nothing. */
TnStrategyNode *tn_strategy_file_add_node (TnStrategyFile *self, const char *node, gint64 stage);
TnStrategyParameter *tn_strategy_file_add_parameter (TnStrategyFile *self, const char *name);
/** The parameter's layout as @layout, in the form that MindSpore reads: a flat map where no dimension is split twice. */
void tn_strategy_parameter_set_layout (TnStrategyParameter *self, const TnLayout *layout);

GByteArray *tn_strategy_file_to_protobuf (const TnStrategyFile *self);
/** Free with g_free. */
char *tn_strategy_file_to_json (const TnStrategyFile *self);
/** By the suffix: .json or protobuf; mode 0600, durable. */
gboolean tn_strategy_file_save (const TnStrategyFile *self, const char *path, GError **error);

/** "1-fc.weight": 1 and "fc.weight"; -1 and the name itself where there is no number before the first dash. */
gint64 tn_strategy_parameter_stage (const TnStrategyParameter *self, const char **name);
/**
 * tn_strategy_parameter_layout: over ranks @first_rank .. of the device matrix
 *
 * Errors of layouts; TN_ERROR_UNSUPPORTED for a manual split, which is no even one.
 */
TnLayout *tn_strategy_parameter_layout (const TnStrategyParameter *self, int64_t first_rank, GError **error);
/** The same with the optimizer's cut folded in. */
TnLayout *tn_strategy_parameter_kept_layout (const TnStrategyParameter *self, int64_t first_rank, GError **error);

/**
 * tn_strategy_files_merge: files of pipeline stages as one: parameters get "<stage>-" before their names, strategies are
 * put one after the other, current_stage is 1. A file whose stage was there already is left out.
 */
TnStrategyFile *tn_strategy_files_merge (TnStrategyFile *const *files, int n, GError **error);
/** Differences, one line each ("fc.weight: dev [2, 4] map [0, -1], was [8] [-1, -1]"); empty if they say the same. Order does not count. */
GPtrArray *tn_strategy_files_diff (const TnStrategyFile *a, const TnStrategyFile *b);

/* Group-info files (straspb.ParallelGroupMap): which ranks hold the same parameters. */
typedef struct
{
  GPtrArray *names;   /* of char: "4-6301172352641561019" */
  GPtrArray *groups;  /* of GArray of int64, beside @names */
  GArray *restore;    /* int64: ckpt_restore_rank_list */
} TnGroupFile;
TnGroupFile *tn_group_file_parse (const void *data, size_t n, GError **error);
GByteArray *tn_group_file_to_protobuf (const TnGroupFile *self);
void tn_group_file_free (TnGroupFile *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (TnGroupFile, tn_group_file_free)
