/* SPDX-License-Identifier: Apache-2.0 */
#include "formats/npy.h"

#include <inttypes.h>
#include <stdlib.h>

#include "base/durable.h"
#include "base/error.h"
#include "formats/bytes.h"

#define MAX_FILE_BYTES ((uint64_t) 1 << 38)
#define MAX_HEADER 10240 /* NumPy's own max_header_size is 10000 */

typedef struct
{
  TnDType dtype;      /* what reading gives */
  char kind;          /* i u f b V */
  size_t stored_size; /* bytes of an element in the file */
  gboolean swapped;
  gboolean fortran;
  TnShape shape;
  size_t data_offset;
} Header;

/* The header is a Python dict literal. This reads just that: strings, True/False, tuples of integers. */
typedef struct
{
  const char *at, *end;
  const char *name; /* of the file */
} Text;

static void
skip_space (Text *t)
{
  while (t->at < t->end && g_ascii_isspace (*t->at))
    t->at++;
}

static gboolean
eat (Text *t, char c)
{
  skip_space (t);
  if (t->at >= t->end || *t->at != c)
    return FALSE;
  t->at++;
  return TRUE;
}

static gboolean
eat_word (Text *t, const char *word)
{
  size_t n = strlen (word);
  skip_space (t);
  if ((size_t) (t->end - t->at) < n || memcmp (t->at, word, n) != 0)
    return FALSE;
  t->at += n;
  return TRUE;
}

static gboolean
eat_string (Text *t, char *out, size_t size)
{
  skip_space (t);
  if (t->at >= t->end || (*t->at != '\'' && *t->at != '"'))
    return FALSE;
  char quote = *t->at++;
  size_t n = 0;
  while (t->at < t->end && *t->at != quote)
    {
      if (*t->at == '\\' || n + 1 >= size)
        return FALSE;
      out[n++] = *t->at++;
    }
  out[n] = '\0';
  return eat (t, quote);
}

static gboolean
eat_shape (Text *t, TnShape *shape)
{
  *shape = TN_SHAPE_SCALAR;
  if (!eat (t, '('))
    return FALSE;
  while (!eat (t, ')'))
    {
      skip_space (t);
      if (shape->n_dims == TN_MAX_DIMS || t->at >= t->end || !g_ascii_isdigit (*t->at))
        return FALSE;
      int64_t value = 0;
      while (t->at < t->end && g_ascii_isdigit (*t->at))
        {
          if (value > (INT64_MAX - 9) / 10)
            return FALSE;
          value = value * 10 + (*t->at++ - '0');
        }
      if (t->at < t->end && *t->at == 'L') /* Python 2 */
        t->at++;
      shape->dims[shape->n_dims++] = value;
      if (!eat (t, ',') && !(t->at < t->end && *t->at == ')'))
        return FALSE;
    }
  return TRUE;
}

static gboolean
parse_descr (const char *descr, const char *name, Header *h, GError **error)
{
  static const struct
  {
    const char *code;
    TnDType dtype;
    size_t size;
  } known[] = {
    { "f2", TN_DTYPE_F16, 2 }, { "f4", TN_DTYPE_F32, 4 }, { "f8", TN_DTYPE_F64, 8 }, { "i1", TN_DTYPE_I8, 1 },
    { "i2", TN_DTYPE_I16, 2 }, { "i4", TN_DTYPE_I32, 4 }, { "i8", TN_DTYPE_I64, 8 }, { "u1", TN_DTYPE_U8, 1 },
    { "u2", TN_DTYPE_I32, 2 }, { "u4", TN_DTYPE_I64, 4 }, { "b1", TN_DTYPE_BOOL, 1 }, { "V2", TN_DTYPE_BF16, 2 },
  };
  const char *code = descr;
  char order = '|';
  if (*code && strchr ("<>|=", *code))
    order = *code++;
  for (size_t i = 0; i < G_N_ELEMENTS (known); i++)
    if (strcmp (code, known[i].code) == 0)
      {
        h->dtype = known[i].dtype;
        h->stored_size = known[i].size;
        h->kind = *code;
        h->swapped = order == (G_BYTE_ORDER == G_LITTLE_ENDIAN ? '>' : '<');
        return TRUE;
      }
  if (*code == 'O')
    g_set_error (error, TN_ERROR, TN_ERROR_DTYPE,
                 _ ("“%s” holds Python objects (a pickle, which is a program and is never run). Save it as an array of numbers."), name);
  else
    g_set_error (error, TN_ERROR, TN_ERROR_DTYPE,
                 _ ("“%s” has elements of type “%s”. Float, signed integer, uint8, uint16, uint32 and bool arrays can be read."), name, descr);
  return FALSE;
}

static gboolean
parse_dict (Text *t, Header *h, GError **error)
{
  char key[32], descr[64];
  int seen = 0;
  gboolean ok = eat (t, '{');

  while (ok && !eat (t, '}'))
    {
      ok = eat_string (t, key, sizeof key) && eat (t, ':');
      if (ok && strcmp (key, "descr") == 0 && !(seen & 1))
        {
          skip_space (t);
          if (t->at < t->end && *t->at == '[')
            {
              g_set_error (error, TN_ERROR, TN_ERROR_DTYPE,
                           _ ("“%s” holds a structured array (columns of different types). Save each column by itself."), t->name);
              return FALSE;
            }
          ok = eat_string (t, descr, sizeof descr);
          if (ok && !parse_descr (descr, t->name, h, error))
            return FALSE;
          seen |= 1;
        }
      else if (ok && strcmp (key, "fortran_order") == 0 && !(seen & 2))
        {
          h->fortran = eat_word (t, "True");
          ok = h->fortran || eat_word (t, "False");
          seen |= 2;
        }
      else if (ok && strcmp (key, "shape") == 0 && !(seen & 4))
        {
          ok = eat_shape (t, &h->shape);
          seen |= 4;
        }
      else
        ok = FALSE;
      if (ok && !eat (t, ','))
        {
          ok = eat (t, '}');
          break;
        }
    }
  skip_space (t);
  if (!ok || seen != 7 || t->at != t->end)
    {
      g_set_error (error, TN_ERROR, TN_ERROR_FORMAT,
                   _ ("“%s”: the header is not the description of an array (descr, fortran_order, shape). The file is damaged."), t->name);
      return FALSE;
    }
  return TRUE;
}

static gboolean
parse_header (const uint8_t *data, size_t n, const char *name, Header *h, GError **error)
{
  memset (h, 0, sizeof *h);
  if (n < 10 || memcmp (data, "\x93NUMPY", 6) != 0)
    {
      const char *what = n == 0 ? _ ("empty") : tn_sniff (data, n);
      g_set_error (error, TN_ERROR, TN_ERROR_FORMAT, _ ("“%s” is not a NumPy array (.npy)%s%s."), name, what ? _ (" but ") : "",
                   what ? what : "");
      return FALSE;
    }
  int major = data[6];
  if (major < 1 || major > 3)
    {
      g_set_error (error, TN_ERROR, TN_ERROR_FORMAT, _ ("“%s” is of .npy version %d.%d; 1 to 3 can be read."), name, major, data[7]);
      return FALSE;
    }
  size_t prefix = major == 1 ? 10 : 12;
  uint64_t length = n < prefix ? 0 : major == 1 ? (uint64_t) data[8] | (uint64_t) data[9] << 8 : tn_read_le32 (data + 8);
  if (n < prefix || length > MAX_HEADER || length > n - prefix)
    {
      g_set_error (error, TN_ERROR, TN_ERROR_FORMAT,
                   _ ("“%s”: a header of %" PRIu64 " bytes does not fit the file. It is damaged or cut short."), name, length);
      return FALSE;
    }
  h->data_offset = prefix + (size_t) length;
  Text text = { (const char *) data + prefix, (const char *) data + h->data_offset, name };
  if (!parse_dict (&text, h, error))
    return FALSE;

  size_t bytes;
  g_autoptr (GError) too_large = NULL;
  if (!tn_shape_bytes (&h->shape, MAX (h->stored_size, tn_dtype_size (h->dtype)), &bytes, &too_large))
    {
      g_set_error (error, TN_ERROR, TN_ERROR_FORMAT, _ ("“%s”: %s"), name, too_large->message);
      return FALSE;
    }
  return TRUE;
}

gboolean
tn_npy_parse_header (const void *data, size_t n, const char *name, TnDType *dtype, TnShape *shape, size_t *stored_size,
                     size_t *data_offset, GError **error)
{
  Header h;
  if (!parse_header (data, n, name, &h, error))
    return FALSE;
  *dtype = h.dtype;
  *shape = h.shape;
  *stored_size = h.stored_size;
  *data_offset = h.data_offset;
  return TRUE;
}

/* One element to the dtype it is read as. */
static void
store_element (const Header *h, const uint8_t *from, uint8_t *to)
{
  uint8_t e[8];
  memcpy (e, from, h->stored_size);
  if (h->swapped)
    tn_swap_bytes (e, h->stored_size, 1);
  if (h->kind == 'u' && h->stored_size == 2)
    {
      uint16_t v;
      memcpy (&v, e, sizeof v);
      int32_t wide = v;
      memcpy (to, &wide, sizeof wide);
    }
  else if (h->kind == 'u' && h->stored_size == 4)
    {
      uint32_t v;
      memcpy (&v, e, sizeof v);
      int64_t wide = v;
      memcpy (to, &wide, sizeof wide);
    }
  else if (h->kind == 'b')
    *to = e[0] != 0;
  else
    memcpy (to, e, h->stored_size);
}

static void
load_elements (const Header *h, const uint8_t *from, TnTensor *tensor)
{
  size_t size = tn_dtype_size (h->dtype);
  int64_t count = tn_tensor_count (tensor);
  uint8_t *to = tn_tensor_data (tensor);

  if (!h->fortran && !h->swapped && size == h->stored_size && h->kind != 'b')
    {
      memcpy (to, from, (size_t) count * size);
      return;
    }
  /* Row-major walk over the result; @at is the same element in the file. */
  int64_t steps[TN_MAX_DIMS], index[TN_MAX_DIMS] = { 0 }, at = 0;
  int n = h->shape.n_dims;
  tn_shape_strides (&h->shape, steps);
  if (h->fortran)
    for (int d = 0; d < n; d++)
      steps[d] = d == 0 ? 1 : steps[d - 1] * h->shape.dims[d - 1];
  for (int64_t i = 0; i < count; i++)
    {
      store_element (h, from + (size_t) at * h->stored_size, to + (size_t) i * size);
      for (int d = n - 1; d >= 0; d--)
        {
          at += steps[d];
          if (++index[d] < h->shape.dims[d])
            break;
          at -= steps[d] * index[d];
          index[d] = 0;
        }
    }
}

TnTensor *
tn_npy_parse (const void *data, size_t n, const char *name, GError **error)
{
  Header h;
  if (!parse_header (data, n, name, &h, error))
    return NULL;
  uint64_t want = (uint64_t) tn_shape_count (&h.shape) * h.stored_size, have = n - h.data_offset;
  if (have != want)
    {
      g_autofree char *text = tn_shape_to_string (&h.shape);
      g_set_error (error, TN_ERROR, TN_ERROR_FORMAT,
                   _ ("“%s”: the header says %s elements, so %" PRIu64 " bytes of data; the file has %" PRIu64
                      ". It is damaged or was cut short."),
                   name, text, want, have);
      return NULL;
    }
  TnTensor *tensor = tn_tensor_new (h.dtype, h.shape, error);
  if (tensor)
    load_elements (&h, (const uint8_t *) data + h.data_offset, tensor);
  return tensor;
}

TnTensor *
tn_npy_read (const char *path, GError **error)
{
  g_autoptr (GBytes) bytes = tn_file_read (path, MAX_FILE_BYTES, error);
  if (!bytes)
    return NULL;
  gsize n;
  const void *data = g_bytes_get_data (bytes, &n);
  return tn_npy_parse (data, n, path, error);
}

static char *
header_text (TnTensor *tensor)
{
  static const char *const descr[TN_DTYPE_COUNT] = {
    [TN_DTYPE_F32] = "<f4", [TN_DTYPE_F64] = "<f8", [TN_DTYPE_F16] = "<f2", [TN_DTYPE_BF16] = "|V2", [TN_DTYPE_I8] = "|i1",
    [TN_DTYPE_I16] = "<i2", [TN_DTYPE_I32] = "<i4", [TN_DTYPE_I64] = "<i8", [TN_DTYPE_U8] = "|u1",  [TN_DTYPE_BOOL] = "|b1",
  };
  GString *text = g_string_new (NULL);
  g_string_append_printf (text, "{'descr': '%s', 'fortran_order': False, 'shape': (", descr[tensor->dtype]);
  for (int i = 0; i < tensor->shape.n_dims; i++)
    g_string_append_printf (text, "%s%" PRId64, i ? ", " : "", tensor->shape.dims[i]);
  g_string_append (text, tensor->shape.n_dims == 1 ? ",), }" : "), }");
  /* The elements start at a multiple of 64; the header ends in a line feed. */
  while ((10 + text->len + 1) % 64 != 0)
    g_string_append_c (text, ' ');
  g_string_append_c (text, '\n');
  return g_string_free (text, FALSE);
}

GBytes *
tn_npy_to_bytes (TnTensor *tensor, const char *name, GError **error)
{
  g_autoptr (TnTensor) whole = tn_tensor_contiguous (tensor, error);
  if (!whole)
    return NULL;
  g_autofree char *text = header_text (whole);
  size_t length = strlen (text), bytes = tn_tensor_bytes (whole);
  uint8_t *out = malloc (10 + length + bytes);
  if (!out)
    {
      g_set_error (error, TN_ERROR, TN_ERROR_MEMORY, _ ("No memory to write “%s”."), name);
      return NULL;
    }
  memcpy (out, "\x93NUMPY\x01\x00", 8);
  tn_write_le16 (out + 8, (uint16_t) length);
  memcpy (out + 10, text, length);
  memcpy (out + 10 + length, tn_tensor_data (whole), bytes);
  if (G_BYTE_ORDER == G_BIG_ENDIAN)
    tn_swap_bytes (out + 10 + length, tn_dtype_size (whole->dtype), (size_t) tn_tensor_count (whole));
  return g_bytes_new_with_free_func (out, 10 + length + bytes, free, out);
}

gboolean
tn_npy_write (const char *path, TnTensor *tensor, GError **error)
{
  g_autoptr (GBytes) bytes = tn_npy_to_bytes (tensor, path, error);
  return bytes && tn_durable_write (path, g_bytes_get_data (bytes, NULL), g_bytes_get_size (bytes), error);
}
