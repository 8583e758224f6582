/* SPDX-License-Identifier: Apache-2.0 */
#include "formats/protobuf.h"

#include <string.h>

#include "formats/bytes.h"

gboolean
tn_pb_read_varint (TnPbReader *self, uint64_t *value)
{
  *value = 0;
  for (int shift = 0; shift < 70 && self->at < self->end; shift += 7)
    {
      uint8_t byte = *self->at++;
      /* The tenth byte holds one bit only. */
      if (shift == 63 && byte > 1)
        break;
      *value |= (uint64_t) (byte & 0x7f) << shift;
      if (!(byte & 0x80))
        return TRUE;
    }
  self->bad = TRUE;
  return FALSE;
}

gboolean
tn_pb_next (TnPbReader *self, TnPbField *field)
{
  uint64_t key, length;
  if (self->bad || self->at >= self->end || !tn_pb_read_varint (self, &key))
    return FALSE;
  size_t left = (size_t) (self->end - self->at);
  memset (field, 0, sizeof *field);
  field->number = (uint32_t) (key >> 3);
  field->wire = key & 7;
  self->bad = field->number == 0 || key >> 32 != 0;
  switch (field->wire)
    {
    case TN_PB_VARINT:
      tn_pb_read_varint (self, &field->value);
      break;
    case TN_PB_FIXED64:
      if (left < 8)
        return self->bad = TRUE, FALSE;
      field->value = tn_read_le64 (self->at);
      self->at += 8;
      break;
    case TN_PB_FIXED32:
      if (left < 4)
        return self->bad = TRUE, FALSE;
      field->value = tn_read_le32 (self->at);
      self->at += 4;
      break;
    case TN_PB_BYTES:
      if (!tn_pb_read_varint (self, &length) || length > (uint64_t) (self->end - self->at))
        return self->bad = TRUE, FALSE;
      field->bytes = self->at;
      field->n = (size_t) length;
      self->at += length;
      break;
    default:
      self->bad = TRUE;
    }
  return !self->bad;
}

double
tn_pb_double (const TnPbField *field)
{
  double value;
  memcpy (&value, &field->value, sizeof value);
  return value;
}

float
tn_pb_float (const TnPbField *field)
{
  uint32_t bits = (uint32_t) field->value;
  float value;
  memcpy (&value, &bits, sizeof value);
  return value;
}

gboolean
tn_pb_append_doubles (const TnPbField *field, GArray *out)
{
  if (field->wire == TN_PB_FIXED64)
    {
      double value = tn_pb_double (field);
      g_array_append_val (out, value);
      return TRUE;
    }
  if (field->wire != TN_PB_BYTES || field->n % 8 != 0)
    return FALSE;
  for (size_t i = 0; i < field->n; i += 8)
    {
      TnPbField one = { .value = tn_read_le64 (field->bytes + i) };
      double value = tn_pb_double (&one);
      g_array_append_val (out, value);
    }
  return TRUE;
}

void
tn_pb_put_varint (GByteArray *out, uint64_t value)
{
  uint8_t bytes[10];
  guint n = 0;
  do
    {
      bytes[n++] = (uint8_t) (value & 0x7f) | (value > 0x7f ? 0x80 : 0);
      value >>= 7;
    }
  while (value);
  g_byte_array_append (out, bytes, n);
}

void
tn_pb_put_uint (GByteArray *out, uint32_t number, uint64_t value)
{
  tn_pb_put_varint (out, (uint64_t) number << 3 | TN_PB_VARINT);
  tn_pb_put_varint (out, value);
}

void
tn_pb_put_double (GByteArray *out, uint32_t number, double value)
{
  uint8_t bytes[8];
  uint64_t bits;
  memcpy (&bits, &value, sizeof bits);
  tn_write_le64 (bytes, bits);
  tn_pb_put_varint (out, (uint64_t) number << 3 | TN_PB_FIXED64);
  g_byte_array_append (out, bytes, sizeof bytes);
}

void
tn_pb_put_float (GByteArray *out, uint32_t number, float value)
{
  uint8_t bytes[4];
  uint32_t bits;
  memcpy (&bits, &value, sizeof bits);
  tn_write_le32 (bytes, bits);
  tn_pb_put_varint (out, (uint64_t) number << 3 | TN_PB_FIXED32);
  g_byte_array_append (out, bytes, sizeof bytes);
}

void
tn_pb_put_bytes (GByteArray *out, uint32_t number, const void *data, size_t n)
{
  tn_pb_put_varint (out, (uint64_t) number << 3 | TN_PB_BYTES);
  tn_pb_put_varint (out, n);
  if (n > 0)
    g_byte_array_append (out, data, (guint) n);
}

void
tn_pb_put_doubles (GByteArray *out, uint32_t number, const double *values, size_t n)
{
  tn_pb_put_varint (out, (uint64_t) number << 3 | TN_PB_BYTES);
  tn_pb_put_varint (out, n * 8);
  for (size_t i = 0; i < n; i++)
    {
      uint8_t bytes[8];
      uint64_t bits;
      memcpy (&bits, &values[i], sizeof bits);
      tn_write_le64 (bytes, bits);
      g_byte_array_append (out, bytes, sizeof bytes);
    }
}
