/* SPDX-License-Identifier: Apache-2.0 */
#include "tensor/dtype.h"

#include <string.h>

typedef struct
{
  size_t size;
  const char *name;
  const char *ir_name;
  const char *safetensors_name;
} DTypeInfo;

static const DTypeInfo infos[TN_DTYPE_COUNT] = {
  [TN_DTYPE_F32] = { 4, "float32", "Float32", "F32" },    [TN_DTYPE_F64] = { 8, "float64", "Float64", "F64" },
  [TN_DTYPE_F16] = { 2, "float16", "Float16", "F16" },    [TN_DTYPE_BF16] = { 2, "bfloat16", "BFloat16", "BF16" },
  [TN_DTYPE_I8] = { 1, "int8", "Int8", "I8" },            [TN_DTYPE_I16] = { 2, "int16", "Int16", "I16" },
  [TN_DTYPE_I32] = { 4, "int32", "Int32", "I32" },        [TN_DTYPE_I64] = { 8, "int64", "Int64", "I64" },
  [TN_DTYPE_U8] = { 1, "uint8", "UInt8", "U8" },          [TN_DTYPE_BOOL] = { 1, "bool", "Bool", "BOOL" },
};

static inline gboolean
is_dtype (TnDType dtype)
{
  return (unsigned) dtype < TN_DTYPE_COUNT;
}

size_t
tn_dtype_size (TnDType dtype)
{
  g_return_val_if_fail (is_dtype (dtype), 0);
  return infos[dtype].size;
}

const char *
tn_dtype_name (TnDType dtype)
{
  g_return_val_if_fail (is_dtype (dtype), "?");
  return infos[dtype].name;
}

const char *
tn_dtype_ir_name (TnDType dtype)
{
  g_return_val_if_fail (is_dtype (dtype), "?");
  return infos[dtype].ir_name;
}

gboolean
tn_dtype_parse (const char *name, TnDType *dtype)
{
  g_return_val_if_fail (dtype != NULL, FALSE);
  for (int i = 0; name != NULL && i < TN_DTYPE_COUNT; i++)
    if (strcmp (name, infos[i].name) == 0 || strcmp (name, infos[i].ir_name) == 0
        || strcmp (name, infos[i].safetensors_name) == 0)
      {
        *dtype = (TnDType) i;
        return TRUE;
      }
  return FALSE;
}

gboolean
tn_dtype_is_float (TnDType dtype)
{
  return dtype == TN_DTYPE_F32 || dtype == TN_DTYPE_F64 || dtype == TN_DTYPE_F16 || dtype == TN_DTYPE_BF16;
}

gboolean
tn_dtype_is_integer (TnDType dtype)
{
  return dtype == TN_DTYPE_I8 || dtype == TN_DTYPE_I16 || dtype == TN_DTYPE_I32 || dtype == TN_DTYPE_I64
         || dtype == TN_DTYPE_U8;
}

/* Half formats. All on bits: float instructions would lose denormals in threads that flush them to zero. */

static inline uint32_t
bits_of_float (float value)
{
  uint32_t bits;
  memcpy (&bits, &value, sizeof bits);
  return bits;
}

static inline float
float_of_bits (uint32_t bits)
{
  float value;
  memcpy (&value, &bits, sizeof value);
  return value;
}

/* Rounds a double to a format of @exp_bits and @mant_bits, nearest even. */
static inline uint16_t
narrow (double value, int exp_bits, int mant_bits)
{
  uint64_t bits;
  memcpy (&bits, &value, sizeof bits);

  const int bias = (1 << (exp_bits - 1)) - 1;
  const uint32_t infinity = ((1u << exp_bits) - 1) << mant_bits;
  uint32_t sign = (uint32_t) (bits >> 63) << 15;
  int exponent = (int) ((bits >> 52) & 0x7ff);
  uint64_t mantissa = bits & ((1ull << 52) - 1);

  if (exponent == 0x7ff)
    return (uint16_t) (sign | infinity
                       | (mantissa ? (1u << (mant_bits - 1)) | (uint32_t) (mantissa >> (52 - mant_bits)) : 0));
  if (exponent == 0) /* below half of the smallest number of either format */
    return (uint16_t) sign;

  exponent += bias - 1023;
  if (exponent >= (1 << exp_bits) - 1)
    return (uint16_t) (sign | infinity);

  int shift = 52 - mant_bits;
  if (exponent <= 0) /* subnormal: fewer bits stay */
    {
      shift += 1 - exponent;
      exponent = 1;
    }
  if (shift >= 54)
    return (uint16_t) sign;

  mantissa |= 1ull << 52;
  uint64_t quotient = mantissa >> shift;
  uint64_t rest = mantissa & ((1ull << shift) - 1);
  uint64_t half = 1ull << (shift - 1);
  quotient += rest > half || (rest == half && (quotient & 1));
  /* The leading 1 of a normal number adds the exponent's last unit; a carry goes on into the exponent, up to infinity. */
  return (uint16_t) (sign | (((uint32_t) (exponent - 1) << mant_bits) + (uint32_t) quotient));
}

uint16_t
tn_f16_from_f64 (double value)
{
  return narrow (value, 5, 10);
}

uint16_t
tn_bf16_from_f64 (double value)
{
  return narrow (value, 8, 7);
}

uint16_t
tn_f16_from_f32 (float value)
{
  return narrow (value, 5, 10); /* float to double is exact, so rounded once */
}

static inline uint16_t
bf16_from_f32 (float value)
{
  uint32_t bits = bits_of_float (value);
  if ((bits & 0x7fffffffu) > 0x7f800000u)
    return (uint16_t) ((bits >> 16) | 0x40); /* a NaN whose payload is in the lost bits must not become infinity */
  return (uint16_t) ((bits + 0x7fffu + ((bits >> 16) & 1)) >> 16);
}

uint16_t
tn_bf16_from_f32 (float value)
{
  return bf16_from_f32 (value);
}

static inline float
bf16_to_f32 (uint16_t bits)
{
  return float_of_bits ((uint32_t) bits << 16);
}

float
tn_bf16_to_f32 (uint16_t bits)
{
  return bf16_to_f32 (bits);
}

static inline float
f16_to_f32 (uint16_t bits)
{
  uint32_t sign = (uint32_t) (bits & 0x8000) << 16;
  uint32_t exponent = (bits >> 10) & 0x1f;
  uint32_t mantissa = bits & 0x3ff;

  if (exponent == 0x1f)
    return float_of_bits (sign | 0x7f800000u | (mantissa ? 0x400000u : 0) | (mantissa << 13));
  if (exponent != 0)
    return float_of_bits (sign | ((exponent + 112) << 23) | (mantissa << 13));
  if (mantissa == 0)
    return float_of_bits (sign);
  float magnitude = (float) mantissa * 0x1p-24f; /* exact, and normal as a float */
  return float_of_bits (sign | bits_of_float (magnitude));
}

float
tn_f16_to_f32 (uint16_t bits)
{
  return f16_to_f32 (bits);
}

/* One value in and out of a type, carried as double (floats) or int64 (integers). */

static inline int64_t
clamp_int (int64_t value, int64_t min, int64_t max)
{
  return value < min ? min : value > max ? max : value;
}

static inline int64_t
int_from_double (double value, int64_t min, int64_t max)
{
  if (value != value)
    return 0;
  if (value >= 0x1p63)
    return max;
  if (value < -0x1p63)
    return min;
  return clamp_int ((int64_t) value, min, max);
}

/* An int64 as double whose last bit is 1 if anything was cut off ("round to odd"): rounding that to 11 bits or fewer gives
 * the same as rounding the integer itself. */
static inline double
double_for_narrowing (int64_t value)
{
  uint64_t magnitude = value < 0 ? 0 - (uint64_t) value : (uint64_t) value;
  if (magnitude >> 53)
    {
      int cut = 11 - __builtin_clzll (magnitude);
      uint64_t lost = magnitude & ((1ull << cut) - 1);
      magnitude = (magnitude >> cut | (lost != 0)) << cut;
    }
  double result = (double) magnitude;
  return value < 0 ? -result : result;
}

#define LOAD_F32(p, i) ((double) ((const float *) (p))[i])
#define LOAD_F64(p, i) (((const double *) (p))[i])
#define LOAD_F16(p, i) ((double) f16_to_f32 (((const uint16_t *) (p))[i]))
#define LOAD_BF16(p, i) ((double) bf16_to_f32 (((const uint16_t *) (p))[i]))
#define LOAD_I8(p, i) ((int64_t) ((const int8_t *) (p))[i])
#define LOAD_I16(p, i) ((int64_t) ((const int16_t *) (p))[i])
#define LOAD_I32(p, i) ((int64_t) ((const int32_t *) (p))[i])
#define LOAD_I64(p, i) (((const int64_t *) (p))[i])
#define LOAD_U8(p, i) ((int64_t) ((const uint8_t *) (p))[i])
#define LOAD_BOOL(p, i) ((int64_t) (((const uint8_t *) (p))[i] != 0))

#define STORE_F32_FLOAT(p, i, v) ((float *) (p))[i] = (float) (v)
#define STORE_F64_FLOAT(p, i, v) ((double *) (p))[i] = (v)
#define STORE_F16_FLOAT(p, i, v) ((uint16_t *) (p))[i] = narrow ((v), 5, 10)
#define STORE_BF16_FLOAT(p, i, v) ((uint16_t *) (p))[i] = narrow ((v), 8, 7)
#define STORE_I8_FLOAT(p, i, v) ((int8_t *) (p))[i] = (int8_t) int_from_double ((v), INT8_MIN, INT8_MAX)
#define STORE_I16_FLOAT(p, i, v) ((int16_t *) (p))[i] = (int16_t) int_from_double ((v), INT16_MIN, INT16_MAX)
#define STORE_I32_FLOAT(p, i, v) ((int32_t *) (p))[i] = (int32_t) int_from_double ((v), INT32_MIN, INT32_MAX)
#define STORE_I64_FLOAT(p, i, v) ((int64_t *) (p))[i] = int_from_double ((v), INT64_MIN, INT64_MAX)
#define STORE_U8_FLOAT(p, i, v) ((uint8_t *) (p))[i] = (uint8_t) int_from_double ((v), 0, UINT8_MAX)
#define STORE_BOOL_FLOAT(p, i, v) ((uint8_t *) (p))[i] = (v) != 0

#define STORE_F32_INT(p, i, v) ((float *) (p))[i] = (float) (v)
#define STORE_F64_INT(p, i, v) ((double *) (p))[i] = (double) (v)
#define STORE_F16_INT(p, i, v) ((uint16_t *) (p))[i] = narrow (double_for_narrowing (v), 5, 10)
#define STORE_BF16_INT(p, i, v) ((uint16_t *) (p))[i] = narrow (double_for_narrowing (v), 8, 7)
#define STORE_I8_INT(p, i, v) ((int8_t *) (p))[i] = (int8_t) clamp_int ((v), INT8_MIN, INT8_MAX)
#define STORE_I16_INT(p, i, v) ((int16_t *) (p))[i] = (int16_t) clamp_int ((v), INT16_MIN, INT16_MAX)
#define STORE_I32_INT(p, i, v) ((int32_t *) (p))[i] = (int32_t) clamp_int ((v), INT32_MIN, INT32_MAX)
#define STORE_I64_INT(p, i, v) ((int64_t *) (p))[i] = (v)
#define STORE_U8_INT(p, i, v) ((uint8_t *) (p))[i] = (uint8_t) clamp_int ((v), 0, UINT8_MAX)
#define STORE_BOOL_INT(p, i, v) ((uint8_t *) (p))[i] = (v) != 0

#define FOR_FLOATS(X) X (F32) X (F64) X (F16) X (BF16)
#define FOR_INTEGERS(X) X (I8) X (I16) X (I32) X (I64) X (U8) X (BOOL)

double
tn_dtype_load (TnDType dtype, const void *data, size_t i)
{
  switch (dtype)
    {
#define X(D) case TN_DTYPE_##D: return (double) LOAD_##D (data, i);
      FOR_FLOATS (X)
      FOR_INTEGERS (X)
#undef X
    case TN_DTYPE_COUNT:
      break;
    }
  g_return_val_if_reached (0);
}

int64_t
tn_dtype_load_int (TnDType dtype, const void *data, size_t i)
{
  switch (dtype)
    {
#define X(D) case TN_DTYPE_##D: return int_from_double (LOAD_##D (data, i), INT64_MIN, INT64_MAX);
      FOR_FLOATS (X)
#undef X
#define X(D) case TN_DTYPE_##D: return LOAD_##D (data, i);
      FOR_INTEGERS (X)
#undef X
    case TN_DTYPE_COUNT:
      break;
    }
  g_return_val_if_reached (0);
}

void
tn_dtype_store (TnDType dtype, void *data, size_t i, double value)
{
  switch (dtype)
    {
#define X(D) case TN_DTYPE_##D: STORE_##D##_FLOAT (data, i, value); return;
      FOR_FLOATS (X)
      FOR_INTEGERS (X)
#undef X
    case TN_DTYPE_COUNT:
      break;
    }
  g_return_if_reached ();
}

void
tn_dtype_store_int (TnDType dtype, void *data, size_t i, int64_t value)
{
  switch (dtype)
    {
#define X(D) case TN_DTYPE_##D: STORE_##D##_INT (data, i, value); return;
      FOR_FLOATS (X)
      FOR_INTEGERS (X)
#undef X
    case TN_DTYPE_COUNT:
      break;
    }
  g_return_if_reached ();
}

/* Arrays: one loop a pair of types, made by a function a source type. */

#define LOOP_FLOAT(FROM, TO) case TN_DTYPE_##TO: for (size_t i = 0; i < n; i++) { STORE_##TO##_FLOAT (to, i, LOAD_##FROM (from, i)); } break;
#define LOOP_INT(FROM, TO) case TN_DTYPE_##TO: for (size_t i = 0; i < n; i++) { STORE_##TO##_INT (to, i, LOAD_##FROM (from, i)); } break;

#define DEFINE_CONVERT(FROM, LOOP)                                                                                       \
  static void convert_##FROM (const void *from, TnDType to_dtype, void *to, size_t n)                                    \
  {                                                                                                                      \
    switch (to_dtype)                                                                                                    \
      {                                                                                                                  \
        LOOP (FROM, F32) LOOP (FROM, F64) LOOP (FROM, F16) LOOP (FROM, BF16) LOOP (FROM, I8) LOOP (FROM, I16)            \
        LOOP (FROM, I32) LOOP (FROM, I64) LOOP (FROM, U8) LOOP (FROM, BOOL)                                              \
      case TN_DTYPE_COUNT:                                                                                               \
        break;                                                                                                           \
      }                                                                                                                  \
  }

#define X(D) DEFINE_CONVERT (D, LOOP_FLOAT)
FOR_FLOATS (X)
#undef X
#define X(D) DEFINE_CONVERT (D, LOOP_INT)
FOR_INTEGERS (X)
#undef X

/* The pairs of mixed precision and of image data, in a form that compilers vectorize. */
static gboolean
convert_fast (TnDType from_dtype, const void *from, TnDType to_dtype, void *to, size_t n)
{
  if (from_dtype == TN_DTYPE_F32 && to_dtype == TN_DTYPE_BF16)
    for (size_t i = 0; i < n; i++)
      ((uint16_t *) to)[i] = bf16_from_f32 (((const float *) from)[i]);
  else if (from_dtype == TN_DTYPE_BF16 && to_dtype == TN_DTYPE_F32)
    for (size_t i = 0; i < n; i++)
      ((uint32_t *) to)[i] = (uint32_t) ((const uint16_t *) from)[i] << 16;
  else if (from_dtype == TN_DTYPE_U8 && to_dtype == TN_DTYPE_F32)
    for (size_t i = 0; i < n; i++)
      ((float *) to)[i] = (float) ((const uint8_t *) from)[i];
  else
    return FALSE;
  return TRUE;
}

void
tn_dtype_convert (TnDType from_dtype, const void *from, TnDType to_dtype, void *to, size_t n)
{
  g_return_if_fail (is_dtype (from_dtype) && is_dtype (to_dtype));
  if (n == 0)
    return;
  if (from_dtype == to_dtype && from_dtype != TN_DTYPE_BOOL)
    {
      memmove (to, from, n * infos[to_dtype].size);
      return;
    }
  if (convert_fast (from_dtype, from, to_dtype, to, n))
    return;

  switch (from_dtype)
    {
#define X(D) case TN_DTYPE_##D: convert_##D (from, to_dtype, to, n); break;
      FOR_FLOATS (X)
      FOR_INTEGERS (X)
#undef X
    case TN_DTYPE_COUNT:
      break;
    }
}
