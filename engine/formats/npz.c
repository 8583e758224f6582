/* SPDX-License-Identifier: Apache-2.0 */
#include "formats/npz.h"

#include <stdlib.h>
#include <unistd.h>
#include <zlib.h>

#include "base/durable.h"
#include "base/error.h"
#include "formats/load-limit.h"
#include "formats/bytes.h"
#include "formats/npy.h"

#define END_BYTES 22
#define END64_BYTES 56
#define LOCATOR_BYTES 20
#define CENTRAL_BYTES 46
#define LOCAL_BYTES 30
#define MAX_DIRECTORY (64u << 20)
#define MAX_MEMBERS 100000
#define HEAD_BYTES (12 + 10240)

typedef struct
{
  char *name; /* without .npy */
  uint16_t flags, method;
  uint32_t crc;
  uint64_t packed, unpacked, local_offset;
} Member;

struct _TnNpz
{
  char *path;
  int fd;
  uint64_t size;
  GArray *members;  /* Member */
  GPtrArray *names; /* borrowed from members */
};

static void
member_clear (void *data)
{
  g_free (((Member *) data)->name);
}

void
tn_npz_free (TnNpz *self)
{
  if (self->fd >= 0)
    close (self->fd);
  g_clear_pointer (&self->members, g_array_unref);
  g_clear_pointer (&self->names, g_ptr_array_unref);
  g_free (self->path);
  g_free (self);
}

static gboolean
damaged (TnNpz *self, const char *what, GError **error)
{
  g_set_error (error, TN_ERROR, TN_ERROR_FORMAT, _ ("“%s”: %s. The archive is damaged or was cut short: copy or download it again."), self->path,
               what);
  return FALSE;
}

/* Finds the directory through the record at the end of the file, which a comment of up to 64 KiB may follow. */
static gboolean
find_directory (TnNpz *self, uint64_t *offset, uint64_t *bytes, uint64_t *n_members, GError **error)
{
  size_t n = (size_t) MIN (self->size, END_BYTES + 65535u);
  g_autofree uint8_t *tail = g_malloc (MAX (n, 1));
  if (!tn_file_pread (self->fd, tail, n, self->size - n, self->path, error))
    return FALSE;
  ssize_t at = (ssize_t) n - END_BYTES;
  while (at >= 0 && !(memcmp (tail + at, "PK\5\6", 4) == 0 && (size_t) at + END_BYTES + tail[at + 20] + 256u * tail[at + 21] == n))
    at--;
  if (at < 0)
    {
      uint8_t head[512];
      size_t n_head = (size_t) MIN (self->size, sizeof head);
      const char *what = NULL;
      if (n_head > 0 && tn_file_pread (self->fd, head, n_head, 0, self->path, NULL) && memcmp (head, "PK\3\4", MIN (n_head, 4)) != 0)
        what = tn_sniff (head, n_head);
      if (what)
        g_set_error (error, TN_ERROR, TN_ERROR_FORMAT, _ ("“%s” is not an .npz archive but %s."), self->path, what);
      else
        damaged (self, self->size == 0 ? _ ("the file is empty") : _ ("no zip directory at its end"), error);
      return FALSE;
    }
  const uint8_t *end = tail + at;
  uint64_t end_offset = self->size - n + (uint64_t) at;
  *n_members = end[10] | end[11] << 8;
  *bytes = tn_read_le32 (end + 12);
  *offset = tn_read_le32 (end + 16);
  if ((end[4] | end[5]) != 0 && (end[4] & end[5]) != 0xff)
    return damaged (self, _ ("archives in several parts cannot be read"), error);

  uint8_t locator[LOCATOR_BYTES], end64[END64_BYTES];
  if (end_offset >= LOCATOR_BYTES
      && tn_file_pread (self->fd, locator, sizeof locator, end_offset - LOCATOR_BYTES, self->path, NULL)
      && memcmp (locator, "PK\6\7", 4) == 0)
    {
      uint64_t where = tn_read_le64 (locator + 8);
      if (where > self->size || self->size - where < END64_BYTES
          || !tn_file_pread (self->fd, end64, sizeof end64, where, self->path, NULL) || memcmp (end64, "PK\6\6", 4) != 0)
        return damaged (self, _ ("the zip64 directory record is not where it should be"), error);
      *n_members = tn_read_le64 (end64 + 32);
      *bytes = tn_read_le64 (end64 + 40);
      *offset = tn_read_le64 (end64 + 48);
      end_offset = where;
    }
  if (*offset > end_offset || *bytes > end_offset - *offset || *bytes > MAX_DIRECTORY || *n_members > MAX_MEMBERS
      || *n_members * CENTRAL_BYTES > *bytes)
    return damaged (self, _ ("its directory does not fit the file"), error);
  return TRUE;
}

/* zip64 sizes stand in extra field 1, only those whose 32-bit place holds ffffffff, in this order. */
static gboolean
read_zip64 (const uint8_t *extra, size_t n, Member *m)
{
  uint64_t *wanted[3] = { &m->unpacked, &m->packed, &m->local_offset };
  gboolean any = m->unpacked == UINT32_MAX || m->packed == UINT32_MAX || m->local_offset == UINT32_MAX;
  while (n >= 4)
    {
      size_t id = extra[0] | extra[1] << 8, length = extra[2] | extra[3] << 8;
      extra += 4, n -= 4;
      if (length > n)
        return !any;
      if (id == 1)
        {
          size_t at = 0;
          for (int i = 0; i < 3; i++)
            if (*wanted[i] == UINT32_MAX)
              {
                if (length - at < 8)
                  return FALSE;
                *wanted[i] = tn_read_le64 (extra + at);
                at += 8;
              }
          return TRUE;
        }
      extra += length, n -= length;
    }
  return !any;
}

static int
compare_offsets (const void *a, const void *b)
{
  uint64_t x = (*(const Member *const *) a)->local_offset, y = (*(const Member *const *) b)->local_offset;
  return (x > y) - (x < y);
}

/* Members that share bytes make a small file unpack to any size (D. Fifield, "A better zip bomb", 2019). */
static gboolean
members_lie_apart (TnNpz *self, uint64_t directory, GError **error)
{
  g_autoptr (GPtrArray) sorted = g_ptr_array_new ();
  for (guint i = 0; i < self->members->len; i++)
    g_ptr_array_add (sorted, &g_array_index (self->members, Member, i));
  qsort (sorted->pdata, sorted->len, sizeof (void *), compare_offsets);
  for (guint i = 0; i < sorted->len; i++)
    {
      const Member *m = sorted->pdata[i];
      uint64_t end = i + 1 < sorted->len ? ((const Member *) sorted->pdata[i + 1])->local_offset : directory;
      if (m->local_offset > end || end - m->local_offset < LOCAL_BYTES + m->packed)
        {
          g_autofree char *what = g_strdup_printf (_ ("its member “%s” lies over what follows it"), m->name);
          return damaged (self, what, error);
        }
    }
  return TRUE;
}

static gboolean
read_directory (TnNpz *self, const uint8_t *p, size_t n, uint64_t n_members, GError **error)
{
  for (uint64_t i = 0; i < n_members; i++)
    {
      if (n < CENTRAL_BYTES || memcmp (p, "PK\1\2", 4) != 0)
        return damaged (self, _ ("its directory is damaged"), error);
      size_t n_name = p[28] | p[29] << 8, n_extra = p[30] | p[31] << 8, n_comment = p[32] | p[33] << 8;
      if (n_name + n_extra + n_comment > n - CENTRAL_BYTES)
        return damaged (self, _ ("its directory is damaged"), error);
      Member m = { .flags = (uint16_t) (p[8] | p[9] << 8), .method = (uint16_t) (p[10] | p[11] << 8), .crc = tn_read_le32 (p + 16),
                   .packed = tn_read_le32 (p + 20), .unpacked = tn_read_le32 (p + 24), .local_offset = tn_read_le32 (p + 42) };
      const char *name = (const char *) p + CENTRAL_BYTES;
      if (!read_zip64 (p + CENTRAL_BYTES + n_name, n_extra, &m) || m.local_offset > self->size || m.packed > self->size)
        return damaged (self, _ ("a member lies outside the file"), error);
      if (n_name > 4 && memcmp (name + n_name - 4, ".npy", 4) == 0 && g_utf8_validate (name, (gssize) n_name, NULL))
        {
          m.name = g_strndup (name, n_name - 4);
          g_array_append_val (self->members, m);
        }
      p += CENTRAL_BYTES + n_name + n_extra + n_comment;
      n -= CENTRAL_BYTES + n_name + n_extra + n_comment;
    }
  for (guint i = 0; i < self->members->len; i++)
    g_ptr_array_add (self->names, g_array_index (self->members, Member, i).name);
  g_ptr_array_add (self->names, NULL);
  return TRUE;
}

TnNpz *
tn_npz_open (const char *path, GError **error)
{
  g_autoptr (TnNpz) self = g_new0 (TnNpz, 1);
  uint64_t offset, bytes, n_members;

  self->path = g_strdup (path);
  self->members = g_array_new (FALSE, FALSE, sizeof (Member));
  g_array_set_clear_func (self->members, member_clear);
  self->names = g_ptr_array_new ();
  self->fd = tn_file_open (path, &self->size, error);
  if (self->fd < 0 || !find_directory (self, &offset, &bytes, &n_members, error))
    return NULL;
  g_autofree uint8_t *directory = g_malloc (MAX (bytes, 1));
  if (!tn_file_pread (self->fd, directory, (size_t) bytes, offset, path, error)
      || !read_directory (self, directory, (size_t) bytes, n_members, error) || !members_lie_apart (self, offset, error))
    return NULL;
  return g_steal_pointer (&self);
}

const char *const *
tn_npz_names (TnNpz *self)
{
  return (const char *const *) self->names->pdata;
}

static const Member *
find_member (TnNpz *self, const char *name)
{
  for (guint i = 0; i < self->members->len; i++)
    if (strcmp (g_array_index (self->members, Member, i).name, name) == 0)
      return &g_array_index (self->members, Member, i);
  return NULL;
}

gboolean
tn_npz_has (TnNpz *self, const char *name)
{
  return find_member (self, name) != NULL;
}

/* Raw deflate of the member into at most @n bytes. Returns how many came. */
static size_t
inflate_member (const uint8_t *packed, size_t n_packed, uint8_t *out, size_t n)
{
  z_stream z = { 0 };
  size_t taken = 0, used = 0;
  int status = inflateInit2 (&z, -15);
  while (status == Z_OK && used < n)
    {
      z.next_in = (Bytef *) packed + taken;
      z.avail_in = (uInt) MIN (n_packed - taken, 1u << 30);
      z.next_out = out + used;
      z.avail_out = (uInt) MIN (n - used, 1u << 30);
      uInt in = z.avail_in, room = z.avail_out;
      status = inflate (&z, Z_NO_FLUSH);
      taken += in - z.avail_in;
      used += room - z.avail_out;
    }
  inflateEnd (&z);
  return used;
}

static GBytes *
read_packed (TnNpz *self, const Member *m, GError **error)
{
  uint8_t local[LOCAL_BYTES];
  if (!tn_file_pread (self->fd, local, sizeof local, m->local_offset, self->path, error))
    return NULL;
  /* Sizes in the local header may be missing or ffffffff; only its name and extra lengths count. */
  uint64_t start = m->local_offset + LOCAL_BYTES + (local[26] | local[27] << 8) + (local[28] | local[29] << 8);
  if (memcmp (local, "PK\3\4", 4) != 0 || start > self->size || m->packed > self->size - start)
    {
      damaged (self, _ ("a member is not where the directory says"), error);
      return NULL;
    }
  if (!tn_load_check (MAX (m->packed, m->unpacked), self->path, error))
    return NULL;
  uint8_t *data = malloc (MAX (m->packed, 1));
  if (!data)
    {
      g_set_error (error, TN_ERROR, TN_ERROR_MEMORY, _ ("No memory for “%s” of “%s”."), m->name, self->path);
      return NULL;
    }
  if (!tn_file_pread (self->fd, data, (size_t) m->packed, start, self->path, error))
    {
      free (data);
      return NULL;
    }
  return g_bytes_new_with_free_func (data, (size_t) m->packed, free, data);
}

/* The member's .npy, unpacked. Its header is read first: what is allocated is what the array needs, whatever the directory
 * says, so that a zip bomb stays small. */
static GBytes *
unpack (TnNpz *self, const Member *m, const char *label, GError **error)
{
  g_autoptr (GBytes) packed = read_packed (self, m, error);
  if (!packed)
    return NULL;
  gsize n_packed;
  const uint8_t *p = g_bytes_get_data (packed, &n_packed);
  if (m->method == 0)
    {
      if (m->packed != m->unpacked)
        return damaged (self, _ ("a stored member has two different sizes"), error), NULL;
      return g_steal_pointer (&packed);
    }

  g_autofree uint8_t *head = g_malloc (HEAD_BYTES);
  size_t n_head = inflate_member (p, n_packed, head, HEAD_BYTES), stored, offset;
  TnDType dtype;
  TnShape shape;
  if (!tn_npy_parse_header (head, n_head, label, &dtype, &shape, &stored, &offset, error))
    return NULL;
  uint64_t need = (uint64_t) tn_shape_count (&shape) * stored + offset;
  if (need != m->unpacked || need > (uint64_t) n_packed * 1032 + 1024)
    return damaged (self, _ ("a member's size is not what its array needs"), error), NULL;
  uint8_t *out = malloc ((size_t) need);
  if (!out)
    {
      g_set_error (error, TN_ERROR, TN_ERROR_MEMORY, _ ("No memory for “%s”."), label);
      return NULL;
    }
  if (inflate_member (p, n_packed, out, (size_t) need) != need)
    {
      free (out);
      return damaged (self, _ ("compressed data is damaged"), error), NULL;
    }
  return g_bytes_new_with_free_func (out, (size_t) need, free, out);
}

static uint32_t
crc_of (const uint8_t *data, size_t n)
{
  uLong crc = crc32 (0, NULL, 0);
  for (size_t at = 0; at < n; at += 1u << 30)
    crc = crc32 (crc, data + at, (uInt) MIN (n - at, 1u << 30));
  return (uint32_t) crc;
}

static const Member *
require_member (TnNpz *self, const char *name, GError **error)
{
  const Member *m = find_member (self, name);
  if (!m)
    {
      g_autofree char *list = g_strjoinv (", ", (char **) self->names->pdata);
      g_set_error (error, TN_ERROR, TN_ERROR_NOT_FOUND, _ ("“%s” has no array “%s”; it has: %s."), self->path, name, list);
      return NULL;
    }
  if ((m->flags & 1) || (m->method != 0 && m->method != 8))
    {
      g_set_error (error, TN_ERROR, TN_ERROR_UNSUPPORTED, _ ("“%s/%s” is encrypted or packed by method %d; stored and deflate can be read."),
                   self->path, name, m->method);
      return NULL;
    }
  return m;
}

/* Checksum of the first @n bytes that deflated data unpacks to, through a small buffer; *length: how many there are. */
static uint32_t
crc_of_deflated (const uint8_t *packed, size_t n_packed, uint64_t n, uint64_t *length)
{
  z_stream z = { 0 };
  uint8_t out[1 << 14];
  size_t taken = 0;
  uLong crc = crc32 (0, NULL, 0);
  int status = inflateInit2 (&z, -15);
  *length = 0;
  while (status == Z_OK && *length < n)
    {
      z.next_in = (Bytef *) packed + taken;
      z.avail_in = (uInt) MIN (n_packed - taken, 1u << 30);
      z.next_out = out;
      z.avail_out = (uInt) MIN (sizeof out, n - *length);
      uInt in = z.avail_in, room = z.avail_out;
      status = inflate (&z, Z_NO_FLUSH);
      taken += in - z.avail_in;
      *length += room - z.avail_out;
      crc = crc32 (crc, out, room - z.avail_out);
    }
  inflateEnd (&z);
  return (uint32_t) crc;
}

gboolean
tn_npz_probe (TnNpz *self, const char *name, TnDType *dtype, TnShape *shape, GError **error)
{
  const Member *m = require_member (self, name, error);
  g_autoptr (GBytes) packed = m ? read_packed (self, m, error) : NULL;
  if (!packed)
    return FALSE;
  g_autofree char *label = g_strdup_printf ("%s/%s", self->path, name);
  g_autofree uint8_t *head = g_malloc (HEAD_BYTES);
  gsize n;
  const uint8_t *data = g_bytes_get_data (packed, &n);
  size_t n_head = MIN (n, HEAD_BYTES), stored, offset;
  uint64_t length = n;
  if (m->method == 0)
    memcpy (head, data, n_head);
  else
    n_head = inflate_member (data, n, head, HEAD_BYTES);
  if (!tn_npy_parse_header (head, n_head, label, dtype, shape, &stored, &offset, error))
    return FALSE;
  uint32_t crc = m->method == 0 ? crc_of (data, n) : crc_of_deflated (data, n, m->unpacked, &length);
  if (length != (uint64_t) tn_shape_count (shape) * stored + offset || length != m->unpacked)
    return damaged (self, _ ("a member's size is not what its array needs"), error);
  if (crc != m->crc)
    g_set_error (error, TN_ERROR, TN_ERROR_FORMAT, _ ("“%s”: checksum wrong, the data is damaged. Copy or download the file again."), label);
  return crc == m->crc;
}

TnTensor *
tn_npz_get (TnNpz *self, const char *name, GError **error)
{
  const Member *m = require_member (self, name, error);
  if (!m)
    return NULL;
  g_autofree char *label = g_strdup_printf ("%s/%s", self->path, name);
  g_autoptr (GBytes) bytes = unpack (self, m, label, error);
  if (!bytes)
    return NULL;
  gsize n;
  const uint8_t *data = g_bytes_get_data (bytes, &n);
  if (crc_of (data, n) != m->crc)
    {
      g_set_error (error, TN_ERROR, TN_ERROR_FORMAT, _ ("“%s”: checksum wrong, the data is damaged. Copy or download the file again."), label);
      return NULL;
    }
  return tn_npy_parse (data, n, label, error);
}

/* Sizes and offset go to the zip64 field where they may not fit 32 bits; always, as NumPy does, so that there is one form. */
static void
append_headers (GByteArray *central, GByteArray *local, const char *name, uint32_t crc, uint64_t size, uint64_t offset)
{
  size_t n_name = strlen (name) + 4;
  uint8_t l[LOCAL_BYTES + 20] = { 'P', 'K', 3, 4, 45, 0, 0, 8 }, c[CENTRAL_BYTES] = { 'P', 'K', 1, 2, 45, 3, 45, 0, 0, 8 };
  uint8_t extra[28] = { 1, 0, 24, 0 };

  tn_write_le16 (l + 12, 33); /* 1980-01-01: the same arrays give the same bytes */
  tn_write_le32 (l + 14, crc);
  tn_write_le32 (l + 18, UINT32_MAX);
  tn_write_le32 (l + 22, UINT32_MAX);
  tn_write_le16 (l + 26, (uint16_t) n_name);
  tn_write_le16 (l + 28, 20);
  g_byte_array_append (local, l, LOCAL_BYTES);
  g_byte_array_append (local, (const uint8_t *) name, (guint) n_name - 4);
  g_byte_array_append (local, (const uint8_t *) ".npy", 4);
  tn_write_le64 (extra + 4, size);
  tn_write_le64 (extra + 12, size);
  tn_write_le64 (extra + 20, offset);
  uint8_t local_extra[20] = { 1, 0, 16, 0 };
  memcpy (local_extra + 4, extra + 4, 16);
  g_byte_array_append (local, local_extra, 20);

  tn_write_le16 (c + 14, 33);
  tn_write_le32 (c + 16, crc);
  tn_write_le32 (c + 20, UINT32_MAX);
  tn_write_le32 (c + 24, UINT32_MAX);
  tn_write_le16 (c + 28, (uint16_t) n_name);
  tn_write_le16 (c + 30, sizeof extra);
  tn_write_le32 (c + 38, 0100644u << 16);
  tn_write_le32 (c + 42, UINT32_MAX);
  g_byte_array_append (central, c, CENTRAL_BYTES);
  g_byte_array_append (central, (const uint8_t *) name, (guint) n_name - 4);
  g_byte_array_append (central, (const uint8_t *) ".npy", 4);
  g_byte_array_append (central, extra, sizeof extra);
}

static void
append_end (GByteArray *central, int n, uint64_t offset)
{
  uint64_t bytes = central->len;
  uint8_t end64[END64_BYTES] = { 'P', 'K', 6, 6, 44, 0, 0, 0, 0, 0, 0, 0, 45, 3, 45, 0 }, locator[LOCATOR_BYTES] = { 'P', 'K', 6, 7 };
  uint8_t end[END_BYTES] = { 'P', 'K', 5, 6 };
  tn_write_le64 (end64 + 24, (uint64_t) n);
  tn_write_le64 (end64 + 32, (uint64_t) n);
  tn_write_le64 (end64 + 40, bytes);
  tn_write_le64 (end64 + 48, offset);
  tn_write_le64 (locator + 8, offset + bytes);
  tn_write_le32 (locator + 16, 1);
  tn_write_le16 (end + 8, (uint16_t) MIN (n, 0xffff));
  tn_write_le16 (end + 10, (uint16_t) MIN (n, 0xffff));
  tn_write_le32 (end + 12, (uint32_t) MIN (bytes, UINT32_MAX));
  tn_write_le32 (end + 16, (uint32_t) MIN (offset, UINT32_MAX));
  g_byte_array_append (central, end64, sizeof end64);
  g_byte_array_append (central, locator, sizeof locator);
  g_byte_array_append (central, end, sizeof end);
}

gboolean
tn_npz_write (const char *path, const char *const *names, TnTensor *const *tensors, int n, GError **error)
{
  g_autoptr (GByteArray) central = g_byte_array_new ();
  g_autoptr (TnDurableFile) file = tn_durable_file_new (path, 0, error);
  if (!file)
    return FALSE;
  for (int i = 0; i < n; i++)
    {
      g_autoptr (GByteArray) local = g_byte_array_new ();
      g_autoptr (GBytes) bytes = tn_npy_to_bytes (tensors[i], names[i], error);
      if (!bytes)
        return FALSE;
      if (strlen (names[i]) > 60000)
        {
          g_set_error (error, TN_ERROR, TN_ERROR_INVALID_ARGUMENT, _ ("“%s”: the name of array %d is too long for a zip archive."), path, i);
          return FALSE;
        }
      gsize size;
      const uint8_t *data = g_bytes_get_data (bytes, &size);
      append_headers (central, local, names[i], crc_of (data, size), size, tn_durable_file_size (file));
      if (!tn_durable_file_write (file, local->data, local->len, error) || !tn_durable_file_write (file, data, size, error))
        return FALSE;
    }
  append_end (central, n, tn_durable_file_size (file));
  if (!tn_durable_file_write (file, central->data, central->len, error))
    return FALSE;
  return tn_durable_file_finish (g_steal_pointer (&file), TRUE, error);
}
