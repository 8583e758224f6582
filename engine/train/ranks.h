/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
#include "comm/comm.h"
#include "train/program.h"

/* TnRanks: the other ranks of a program.
 *
 * Rank 0 is the program that the trainer drives. Each further rank has a program of its own, in a thread of this process or,
 * where the process was started by mpirun, in a process; it waits for orders (one broadcast each) and takes its rows of every
 * batch. Where weights are whole, all ranks have, before the update, the same gradients, running statistics and loss, so that their states stay equal to the bit: one checkpoint serves all.
 *
 *   rows      the batch is cut into blocks [b n / S, (b + 1) n / S); S is parallel.same_bits, else the number of ranks; a rank
 *             has S / ranks blocks that follow each other. A block's gradients, loss and running statistics are weighted with
 *             its share of the rows and added in one balanced tree by block number (comm/reduce.h goes on with that tree
 *             where a rank ends), so the bits depend on S and not on the number of ranks.
 *   buckets   with one block a rank, gradients are brought together in buckets in the order in which the plan makes them,
 *             each as soon as its last gradient is there (reducer.h).
 *   norms     batch norm uses the statistics of its block; the running ones are the blocks' mean. With parallel.batch_norm=global
 *             it uses those of the whole batch: then the plan of every rank is that of the sharded graph, which reduces
 *             gradients as it goes, and a batch must divide by the ranks.
 *
 *   split     where parallel.* cut weights (semi_auto_parallel, auto_parallel, hybrid_parallel, or data_parallel with
 *             parallel.optimizer) all ranks are threads; each makes and keeps its own slices only, takes its part of the batch by
 *             the layouts of the inputs, and its plan calls the others (program-split.c).
 *
 * An error on any rank stops all; the error that the caller gets names the rank. */
typedef struct _TnRanks TnRanks;

/* How settings share the work out. */
typedef struct
{
  int n_ranks, n_threads; /* n_threads: of these in this process */
  int n_blocks;           /* S; 1: nothing is shared */
  gboolean split;         /* weights are cut over the ranks: each has its slices, and the plan of its part of the graph */
  gboolean joined;        /* split, or batch norm over all ranks: their plans call each other in the middle (parallel/shard-graph.h) */
  int rank;               /* of this process; 0 where ranks are threads */
} TnRanksCut;

/** Reads parallel.* and the process' place among its peers. Errors name the setting to change: a batch that does not divide, a
 * number of ranks that does not divide parallel.same_bits. */
gboolean tn_ranks_cut (const TnSettings *settings, TnRanksCut *cut, GError **error);
/** What the program of one rank is made from: its batch, its threads. */
TnSettings *tn_ranks_own_settings (const TnSettings *settings, const TnRanksCut *cut, GError **error);

/** Makes the replicas and starts their threads; brings every rank to @program's state. @program must live longer. */
TnRanks *tn_ranks_new (TnProgram *program, const TnSettings *settings, const TnRanksCut *cut, GError **error);
/** Ends the other ranks' work. */
void tn_ranks_free (TnRanks *self);

gboolean tn_ranks_prepare (TnRanks *self, int64_t batch, GError **error);
gboolean tn_ranks_forward_backward (TnRanks *self, const TnProgramBatch *batch, int64_t step, TnStepResult *result, GError **error);
gboolean tn_ranks_update (TnRanks *self, double lr, int64_t step, GError **error);
gboolean tn_ranks_evaluate (TnRanks *self, const TnProgramBatch *batch, TnEvalResult *result, GError **error);
gboolean tn_ranks_share_state (TnRanks *self, GError **error);
int tn_ranks_n (const TnRanks *self);
/** The program of a rank of this process; between orders it rests. */
TnProgram *tn_ranks_program (const TnRanks *self, int place);

/** In a process that is not rank 0: does what rank 0 orders until it ends (TRUE) or fails. */
gboolean tn_ranks_serve (TnRanks *self, GError **error);

/** The process' end of its peers under mpirun, set once at start (borrowed); NULL: ranks are threads. */
void tn_ranks_set_process (TnComm *comm);
TnComm *tn_ranks_process (void);
/** Whether rank 0 has told the other processes that the work is done. */
gboolean tn_ranks_process_is_over (void);

/* What rank 0's last step did when; monotonic ns. */
typedef struct
{
  int n_buckets;
  const TnCommSpan *buckets; /* in the order of their start */
  gint64 begun_ns, backward_ended_ns, ended_ns;
} TnRanksTimes;

void tn_ranks_times (const TnRanks *self, TnRanksTimes *times);
/** For tests: ranks that are made from now on work through @table, whose rows may call those of the transport's own, which is
 * put into *@own. NULL ends it. */
void tn_ranks_set_test_table (const TnCommTable *table, const TnCommTable **own);
