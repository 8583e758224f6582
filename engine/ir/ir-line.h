/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
#include "ir/ir-text.h"

/* The single lines of an .ir file, for ir-text.c. Nothing here fails: what cannot be split is left as text. Strings are
 * copied into @arena. @items_left counts down by every operand, attribute and type; where it reaches 0 splitting ends. */
#define TN_IR_MAX_ITEMS (16 << 20)

/* How far brackets outside of quotes are open. */
typedef struct
{
  int depth;
  gboolean quoted;
} TnIrScan;

void tn_ir_scan (TnIrScan *scan, const char *text);
/** A count; -1 if there is none or it does not fit. */
int tn_ir_number (const char *text);
/** "%para2_fc.weight: <...>  :  has_default", "%para1 = x : <...>". */
void tn_ir_line_parameter (TnArena *arena, const char *line, TnIrParameter *parameter);
/** "  %3(CNode_5) = MatMul(%0, %1) primitive_attrs: {...}", "  Return(%3)". */
void tn_ir_line_node (TnArena *arena, const char *line, TnIrNode *node, gint64 *items_left);
/** "<A>, <B>) -> (<C>)". */
void tn_ir_line_node_types (TnArena *arena, const char *text, TnIrNode *node, gint64 *items_left);
/** "<A>, <B>)": adds what is between the angle brackets to @types; returns what follows the closing bracket. */
const char *tn_ir_line_types (TnArena *arena, const char *text, GPtrArray *types, gint64 *items_left);
