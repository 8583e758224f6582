/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
#include "comm/comm.h"

/* The one place where ranks' numbers are added. */

gboolean tn_reduce_takes (TnDType dtype, TnReduce op);
/** @out[i] = @op over @in[0..n_in) at elements [@from, @from + @n), in a balanced tree in the order of @in. @out[0] is element
 * @from; it may be one of the inputs at that place. */
void tn_reduce_tree (void *out, const void *const *in, int n_in, size_t from, size_t n, TnDType dtype, TnReduce op);
