/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
#include <gio/gio.h>
#include "formats/strategy-file.h"
#include "parallel/forecast.h"
#include "draw/rank-bars.h"
#include "draw/traffic-matrix.h"

/* TnShardPlan: which rank holds and sends what, as the Sharding page shows it: planned from a project's settings, or read from
 * strategy files. Immutable once made; share by reference, from any thread. */
typedef struct
{
  char *name;
  const char *kind;    /* "parameter", "statistic", "frozen", "optimizer"; static, untranslated */
  const char *dtype;   /* "float32"; "" where a file does not say */
  int64_t element;     /* bytes; 0: not known */
  gboolean has_shape;  /* strategy files may not say */
  TnShape shape, local;
  TnLayout *layout;    /* computed with; NULL where the file has none that is even */
  TnLayout *kept;      /* with the optimizer's cut */
  int64_t bytes;       /* a rank; -1: not known */
  int64_t replicas;    /* ranks that hold the same slice */
  int64_t first_rank;  /* of its pipeline stage */
  int stage;           /* -1: none */
  char *cell;          /* "block0/fc1": for parallel.strategy; NULL where its layout follows from others */
  int node, input;     /* the cell's operator in @source, and which of its inputs it is */
  char *problem;       /* why it cannot be shown; NULL */
} TnShardItem;

typedef struct
{
  TnMoveKind kind;
  TnPhase phase;
  char *value;         /* what is moved */
  TnMesh *mesh;        /* owned */
  uint32_t axes;
  int64_t group;
  double bytes;        /* that a rank receives a step */
} TnShardMove;

typedef struct _TnShardPlan TnShardPlan;
struct _TnShardPlan
{
  int ref_count;
  char *title;
  TnMesh *mesh;        /* of all ranks */
  int64_t stage_ranks; /* ranks in a pipeline stage; all where there is one */
  gboolean planned;    /* from a project: bytes of all parts, traffic and a strategy to change */
  GArray *items;       /* TnShardItem */
  GArray *moves;       /* TnShardMove */
  TnShardForecast forecast; /* of any rank; planned only */
  int64_t rows;        /* samples of a step; 0 */
  double traffic;      /* bytes that a rank receives a step */
  GPtrArray *notes;    /* what was missing in files */
  TnStrategyFile *file; /* to be saved or compared */
  TnGraph *source;     /* planned only: keeps @sharded's parts */
  TnSharded *sharded;
};

TnShardPlan *tn_shard_plan_ref (TnShardPlan *self);
void tn_shard_plan_unref (TnShardPlan *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (TnShardPlan, tn_shard_plan_unref)

const TnShardItem *tn_shard_plan_item (const TnShardPlan *self, guint i);
/** -1 if there is none of that name. */
int tn_shard_plan_find (const TnShardPlan *self, const char *name);
/** What place @place of the mesh holds, by part. */
void tn_shard_plan_rank (const TnShardPlan *self, int64_t place, TnRankBytes *out);
/** One a place; g_free. */
TnRankBytes *tn_shard_plan_ranks (const TnShardPlan *self);
/** Bytes of parameters (not optimizer states) over all ranks, every slice once. */
double tn_shard_plan_model_bytes (const TnShardPlan *self);
/** "2·2", "—": into how many pieces each dimension is cut. Free with g_free. */
char *tn_shard_item_split (const TnShardItem *item);
/** Links for the matrix; @kind -1: all, @phase -1: all. They point into @self. GArray of TnTrafficLinks, alike ones added up. */
GArray *tn_shard_plan_links (const TnShardPlan *self, int kind, int phase);

/* What to plan: copies, so that a worker can have them. */
typedef struct
{
  char *path;          /* the project's folder, or a strategy file or folder of them */
  gboolean is_file;
  char *settings;      /* JSON */
  char *network;       /* JSON or NULL */
  int64_t ranks;       /* -1: as the settings say */
  char *mesh;          /* in place of parallel.mesh; NULL */
  char *strategy;      /* in place of parallel.strategy; NULL */
  int optimizer_level; /* -1: as the settings say */
  gboolean fit_batch;  /* more samples where the batch has fewer than the axes for samples need */
  TnShardPlan *shapes; /* owned, or NULL: shapes and dtypes for files that do not say */
} TnShardRequest;

TnShardRequest *tn_shard_request_new (void);
void tn_shard_request_free (TnShardRequest *self);

/** In the calling thread: a worker's. Models and graphs are kept between calls as long as what they are made of stays the same. */
TnShardPlan *tn_shard_plan_make (const TnShardRequest *request, GError **error);
/** In a worker thread; takes @request. One runs at a time. */
void tn_shard_plan_async (TnShardRequest *request, GCancellable *cancellable, GAsyncReadyCallback callback, gpointer user_data);
TnShardPlan *tn_shard_plan_finish (GAsyncResult *result, GError **error);

/**
 * tn_shard_plan_strategy: parallel.strategy with item @i laid out as @layout, which is on a mesh of any names.
 * @current: what stands there now
 *
 * The other inputs of its operator keep their axes as far as the new ones leave them. Free with g_free; NULL where @current is no object.
 */
char *tn_shard_plan_strategy (const TnShardPlan *self, guint i, const TnLayout *layout, const char *current, GError **error);
