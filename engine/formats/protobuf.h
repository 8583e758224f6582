/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
#include <glib.h>
#include <stdint.h>

/* Protocol Buffers' wire format, by hand: enough for event files and models, without a generator.
 *
 * A message is a row of fields: key (number << 3 | wire type), then a varint, 8 bytes, 4 bytes, or a length and bytes. The
 * reader walks over memory and copies nothing; nested messages are read by a reader over the field's bytes, so depth is
 * bounded by the code that calls, not by the file. */
typedef enum
{
  TN_PB_VARINT = 0,
  TN_PB_FIXED64 = 1,
  TN_PB_BYTES = 2,
  TN_PB_FIXED32 = 5
} TnPbWire;

typedef struct
{
  const uint8_t *at, *end;
  gboolean bad; /* the bytes are no message; set once, stays */
} TnPbReader;

typedef struct
{
  uint32_t number;
  TnPbWire wire;
  uint64_t value;       /* VARINT, FIXED64 and FIXED32: the bits */
  const uint8_t *bytes; /* BYTES: @n of them */
  size_t n;
} TnPbField;

static inline TnPbReader
tn_pb_reader (const void *data, size_t n)
{
  return (TnPbReader){ data, (const uint8_t *) data + n, FALSE };
}

/** The next field, or FALSE at the end and at the first wrong byte (then @self->bad is set). Groups are refused. */
gboolean tn_pb_next (TnPbReader *self, TnPbField *field);
/** A bare varint, as in packed fields. */
gboolean tn_pb_read_varint (TnPbReader *self, uint64_t *value);
double tn_pb_double (const TnPbField *field);
float tn_pb_float (const TnPbField *field);
/** Appends the numbers of a repeated double (packed or single) to @out; FALSE if the field is neither. */
gboolean tn_pb_append_doubles (const TnPbField *field, GArray *out);

/* Writing: appended to @out. */
void tn_pb_put_varint (GByteArray *out, uint64_t value);
void tn_pb_put_uint (GByteArray *out, uint32_t number, uint64_t value);
void tn_pb_put_double (GByteArray *out, uint32_t number, double value);
void tn_pb_put_float (GByteArray *out, uint32_t number, float value);
void tn_pb_put_bytes (GByteArray *out, uint32_t number, const void *data, size_t n);
void tn_pb_put_doubles (GByteArray *out, uint32_t number, const double *values, size_t n);
