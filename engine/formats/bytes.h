/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
#include <glib.h>
#include <stdint.h>
#include <string.h>

/* What every reader of binary files needs: whole files in memory, integers of either byte order at any address, and a
 * name for what somebody fed us by mistake. */

static inline uint16_t
tn_read_le16 (const void *at)
{
  uint16_t v;
  memcpy (&v, at, sizeof v);
  return GUINT16_FROM_LE (v);
}

static inline uint32_t
tn_read_le32 (const void *at)
{
  uint32_t v;
  memcpy (&v, at, sizeof v);
  return GUINT32_FROM_LE (v);
}

static inline uint64_t
tn_read_le64 (const void *at)
{
  uint64_t v;
  memcpy (&v, at, sizeof v);
  return GUINT64_FROM_LE (v);
}

static inline uint32_t
tn_read_be32 (const void *at)
{
  uint32_t v;
  memcpy (&v, at, sizeof v);
  return GUINT32_FROM_BE (v);
}

static inline void
tn_write_le16 (void *at, uint16_t value)
{
  value = GUINT16_TO_LE (value);
  memcpy (at, &value, sizeof value);
}

static inline void
tn_write_le32 (void *at, uint32_t value)
{
  value = GUINT32_TO_LE (value);
  memcpy (at, &value, sizeof value);
}

static inline void
tn_write_le64 (void *at, uint64_t value)
{
  value = GUINT64_TO_LE (value);
  memcpy (at, &value, sizeof value);
}

static inline void
tn_write_be32 (void *at, uint32_t value)
{
  value = GUINT32_TO_BE (value);
  memcpy (at, &value, sizeof value);
}

/** Reverses the bytes of each of @n elements of @size bytes in place. */
void tn_swap_bytes (void *data, size_t size, size_t n);

/** The whole of a regular file, at most @max_bytes of it (more is an error). The file may change while it is read: what
 * is returned is as long as it says. Errors: TN_ERROR_NOT_FOUND, TN_ERROR_IO, TN_ERROR_MEMORY, TN_ERROR_FORMAT where it
 * is no regular file or too large. */
GBytes *tn_file_read (const char *path, uint64_t max_bytes, GError **error);

/** Opens a regular file for reading and tells its size; -1 with an error. Close with close(). */
int tn_file_open (const char *path, uint64_t *size, GError **error);
/** Reads exactly @n bytes at @offset, across interruptions; a file that ends early is TN_ERROR_FORMAT. */
gboolean tn_file_pread (int fd, void *data, size_t n, uint64_t offset, const char *path, GError **error);

/** What the first bytes of a file say that it is: "a gzip file", "a web page", "a Git LFS pointer (the real file was not
 * downloaded)" ...; NULL if unknown. Constant text, already translated. */
const char *tn_sniff (const void *data, size_t n);

/** Inflates a gzip file (one member or several) of which @n bytes are in memory. @expected: the exact size of the result, which is
 * allocated at once after a check that @n bytes can hold as much; UINT64_MAX where it is not known, with @max_bytes as the
 * bound. The checksum is verified. @path is for messages. */
GBytes *tn_gunzip (const void *data, size_t n, uint64_t expected, uint64_t max_bytes, const char *path, GError **error);
/** The first @want bytes of what a gzip file holds; returns how many there are. */
size_t tn_gunzip_head (const void *data, size_t n, void *out, size_t want);
static inline gboolean
tn_is_gzip (const void *data, size_t n)
{
  const uint8_t *p = data;
  return n >= 2 && p[0] == 0x1f && p[1] == 0x8b;
}
