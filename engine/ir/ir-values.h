/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
#include "ir/graph.h"

/* How values, types and attributes are spelled in graph dumps: MindSpore's .ir text, and the labels of .dot files.
 *
 * Numbers are in the C locale with the fewest digits that read back the same. Text of ours between quotes is
 * percent-encoded where it would end the string or the line, so a reader that knows no escapes still finds its end. */

/** “"conv%221"” of conv"1: quotes, percent signs and control characters become %XX. */
void tn_ir_append_quoted (GString *out, const char *text);
/** The same without the quotes around it. */
void tn_ir_append_escaped (GString *out, const char *text);
/** Undoes both, with or without quotes. Free with g_free. */
char *tn_ir_unquote (const char *text);
/** @text with everything that has a meaning in .ir grammar replaced by “_”: for %para names and graph names. */
void tn_ir_append_label (GString *out, const char *text);

/** The fewest digits that give @value again: as float32 if @single, else as double; “inf”, “-inf”, “nan”. */
void tn_ir_append_number (GString *out, double value, gboolean single);
/** “F32(0.1)”, “I64(3)”, “Bool(1)”; “Tensor(shape=[2], dtype=Float32, value=[1 2])”, shortened in the middle where it has
 * more than 64 elements. With more than one dimension there are line breaks in it, as MindSpore writes them. */
void tn_ir_append_tensor (GString *out, TnTensor *tensor);
/** “I64(1)”, “(2, 2)”, “"same"”, “Float32”. */
void tn_ir_append_attr (GString *out, const TnAttr *attr);
/** “Tensor[Float32], (2, 3)”. */
void tn_ir_append_type (GString *out, TnDType dtype, const TnShape *shape);
/** What @node gives: the type of its output, or “Tuple[…], TupleShape(…)” unless it has exactly one. */
void tn_ir_append_node_type (GString *out, const TnNode *node);
