/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
#include "ir/graph.h"
#include "parallel/layout.h"

/* Sharding rules: which dimensions of an operator's inputs and outputs are one and the same index.
 *
 * A rule gives every dimension a label. Dimensions of one label are split alike; a label that stands in inputs only is
 * reduced, so that the output is partial where it is split; a dimension without a label must be whole. MatMul is
 * [m k] [k n] -> [m n], k reduced by a sum. The order of labels is the order of the axes of MindSpore's device matrix for the
 * operator. Rules stand in one table by the operator's name (rules.c); rows flagged elementwise need none, and an operator
 * without a rule gets whole inputs, which is always right. */
#define TN_RULE_MAX_LABELS 32
#define TN_RULE_MAX_OUTPUTS 8
#define TN_RULE_WHOLE -1

typedef enum
{
  TN_RULE_PLAIN,       /* the operator itself on the slices */
  TN_RULE_BATCH_NORM,  /* statistics over the ranks too */
  TN_RULE_BATCH_NORM_GRAD,
  TN_RULE_GLOBAL_NORM, /* squares added over the ranks */
  TN_RULE_LOOKUP,      /* Gather from a table that is split by rows */
  TN_RULE_LOOKUP_GRAD,
  TN_RULE_CONV         /* windows over rows or columns that are split: edges come from the neighbours */
} TnRuleKind;

/* Conv2D over a split axis (rows, columns): what each rank needs of its neighbours. */
typedef struct
{
  int8_t label;          /* TN_RULE_WHOLE: this one cannot be split */
  int64_t before, after; /* rows of the rank before and after */
} TnRuleHalo;

typedef struct
{
  TnRuleKind kind;
  int n_labels;
  TnPartial reduce[TN_RULE_MAX_LABELS]; /* of labels that the outputs do not have */
  int n_inputs;
  int8_t (*in)[TN_MAX_DIMS]; /* [n_inputs] */
  int8_t out[TN_RULE_MAX_OUTPUTS][TN_MAX_DIMS];
  gboolean partial_through; /* linear in its only input: partial values pass */
  TnRuleHalo halo[2];       /* TN_RULE_CONV: height and width */
  int64_t least[TN_RULE_MAX_LABELS]; /* elements that a slice along the label must have */
  int weight_label;         /* label that an axis for weights splits first; -1 */
  const char *shape_attr;   /* attribute that holds the shape of output 0 */
  const char *size_attr;    /* attribute that holds the size of dimension 0 of output 0 */
} TnRule;

/** Fills @rule for @node. FALSE where there is no rule: everything is whole then. Clear it in either case. */
gboolean tn_rule_for (const TnNode *node, TnRule *rule);
void tn_rule_clear (TnRule *rule);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (TnRule, tn_rule_clear)
/** TRUE if output dimensions of label @label exist. */
gboolean tn_rule_label_in_outputs (const TnRule *rule, const TnNode *node, int label);
