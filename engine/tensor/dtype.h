/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
#include <glib.h>
#include <stdint.h>

/* TnDType: what one element of a tensor is.
 *
 * The order is part of no file format: files carry names ("float32" in project files, "F32" in safetensors). float16 and
 * bfloat16 are storage types: arithmetic on them is done in float32 and rounded to nearest even on the way back. */
typedef enum
{
  TN_DTYPE_F32,
  TN_DTYPE_F64,
  TN_DTYPE_F16,
  TN_DTYPE_BF16,
  TN_DTYPE_I8,
  TN_DTYPE_I16,
  TN_DTYPE_I32,
  TN_DTYPE_I64,
  TN_DTYPE_U8,
  TN_DTYPE_BOOL,
  TN_DTYPE_COUNT
} TnDType;

/** Bytes of one element. */
size_t tn_dtype_size (TnDType dtype);
/** "float32", "bfloat16", "int8", "bool" ... as in project files. */
const char *tn_dtype_name (TnDType dtype);
/** "Float32", "BFloat16", "Int8", "Bool" ... as MindSpore's .ir text spells them. */
const char *tn_dtype_ir_name (TnDType dtype);
/** Reads either spelling, and safetensors' ("F32"); FALSE if the name is none of them. */
gboolean tn_dtype_parse (const char *name, TnDType *dtype);
gboolean tn_dtype_is_float (TnDType dtype);
gboolean tn_dtype_is_integer (TnDType dtype);

/* Conversions of single values, IEEE 754, round to nearest even; NaN stays NaN, overflow becomes infinity. */
float tn_f16_to_f32 (uint16_t bits);
uint16_t tn_f16_from_f32 (float value);
float tn_bf16_to_f32 (uint16_t bits);
uint16_t tn_bf16_from_f32 (float value);
/** From double directly, so that nothing is rounded twice. */
uint16_t tn_f16_from_f64 (double value);
uint16_t tn_bf16_from_f64 (double value);

/** Element @i of an array of @dtype as double (int64 beyond 2^53 is rounded), and back. Float to integer truncates
 * towards zero and saturates; NaN becomes 0; to bool: non-zero is true. */
double tn_dtype_load (TnDType dtype, const void *data, size_t i);
void tn_dtype_store (TnDType dtype, void *data, size_t i, double value);
/** The same for integers without the detour through double. */
int64_t tn_dtype_load_int (TnDType dtype, const void *data, size_t i);
void tn_dtype_store_int (TnDType dtype, void *data, size_t i, int64_t value);
/** Converts @n elements; @from and @to may not overlap unless they are equal with equal sizes. */
void tn_dtype_convert (TnDType from_dtype, const void *from, TnDType to_dtype, void *to, size_t n);
