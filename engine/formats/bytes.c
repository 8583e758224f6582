/* SPDX-License-Identifier: Apache-2.0 */
#include "formats/bytes.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include "base/error.h"
#include "formats/load-limit.h"

/* Deflate cannot do better than 1032:1 (zlib's technical notes), so a small file cannot make us allocate much. */
#define DEFLATE_MAX_RATIO 1032u
#define HUGE_PAGE ((size_t) 2 << 20)

/* Memory for @n bytes, to be given back with free(). Most of the time it takes to read 47 MB of pictures goes into the faults of
 * their 4 KiB pages (47 ms against 10 ms with huge ones). */
static void *
allocate (size_t n)
{
  void *data = NULL;
  if (n < 2 * HUGE_PAGE)
    return malloc (MAX (n, 1));
  if (posix_memalign (&data, HUGE_PAGE, n) != 0)
    return NULL;
  madvise (data, n, MADV_HUGEPAGE);
  return data;
}

void
tn_swap_bytes (void *data, size_t size, size_t n)
{
  uint8_t *p = data;
  for (size_t i = 0; i < n; i++, p += size)
    for (size_t k = 0; k < size / 2; k++)
      {
        uint8_t t = p[k];
        p[k] = p[size - 1 - k];
        p[size - 1 - k] = t;
      }
}

int
tn_file_open (const char *path, uint64_t *size, GError **error)
{
  /* Not blocking: a named pipe in the place of a file must not hang the program. */
  int fd = open (path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  struct stat st;

  if (fd < 0)
    {
      tn_error_set_errno (error, errno, _ ("open"), path);
      return -1;
    }
  if (fstat (fd, &st) != 0)
    {
      tn_error_set_errno (error, errno, _ ("read"), path);
      close (fd);
      return -1;
    }
  if (!S_ISREG (st.st_mode))
    {
      g_set_error (error, TN_ERROR, TN_ERROR_FORMAT, _ ("“%s” is not a regular file. Name a file."), path);
      close (fd);
      return -1;
    }
  *size = (uint64_t) st.st_size;
  return fd;
}

gboolean
tn_file_pread (int fd, void *data, size_t n, uint64_t offset, const char *path, GError **error)
{
  uint8_t *p = data;
  while (n > 0)
    {
      ssize_t got = pread (fd, p, MIN (n, (size_t) 1 << 30), (off_t) offset);
      if (got < 0 && errno == EINTR)
        continue;
      if (got < 0)
        {
          tn_error_set_errno (error, errno, _ ("read"), path);
          return FALSE;
        }
      if (got == 0)
        {
          g_set_error (error, TN_ERROR, TN_ERROR_FORMAT,
                       _ ("“%s” ends at byte %" PRIu64 ", %zu"
                          " bytes too early. It was cut short: copy or download it again."),
                       path, offset, n);
          return FALSE;
        }
      p += got;
      offset += (uint64_t) got;
      n -= (size_t) got;
    }
  return TRUE;
}

GBytes *
tn_file_read (const char *path, uint64_t max_bytes, GError **error)
{
  uint64_t size;
  int fd = tn_file_open (path, &size, error);
  if (fd < 0)
    return NULL;
  if (size > max_bytes)
    {
      g_set_error (error, TN_ERROR, TN_ERROR_FORMAT,
                   _ ("“%s” has %" PRIu64 " bytes; at most %" PRIu64 " are read here."), path, size,
                   max_bytes);
      close (fd);
      return NULL;
    }
  if (!tn_load_check (size, path, error))
    {
      close (fd);
      return NULL;
    }
  void *data = allocate ((size_t) size);
  if (!data)
    {
      g_set_error (error, TN_ERROR, TN_ERROR_MEMORY, _ ("No memory for the %" PRIu64 " bytes of “%s”."), size,
                   path);
      close (fd);
      return NULL;
    }
  gboolean ok = tn_file_pread (fd, data, (size_t) size, 0, path, error);
  close (fd);
  if (!ok)
    {
      free (data);
      return NULL;
    }
  return g_bytes_new_with_free_func (data, (size_t) size, free, data);
}

const char *
tn_sniff (const void *data, size_t n)
{
  const uint8_t *p = data;
  static const struct
  {
    const char *magic;
    size_t length;
    const char *what;
  } known[] = {
    { "\x1f\x8b", 2, N_ ("a gzip file") },
    { "PK\x03\x04", 4, N_ ("a zip archive (.npz, .pt and office files are such)") },
    { "PK\x05\x06", 4, N_ ("an empty zip archive") },
    { "\x93NUMPY", 6, N_ ("a NumPy array (.npy)") },
    { "\x89HDF\r\n", 6, N_ ("an HDF5 file") },
    { "\x89PNG", 4, N_ ("a PNG picture") },
    { "\xff\xd8\xff", 3, N_ ("a JPEG picture") },
    { "GGUF", 4, N_ ("a GGUF model") },
    { "%PDF", 4, N_ ("a PDF document") },
    { "version https://git-lfs", 23, N_ ("a Git LFS pointer (the real file was not downloaded: run “git lfs pull”)") },
    { "BZh", 3, N_ ("a bzip2 file") },
    { "\xfd" "7zXZ", 5, N_ ("an xz file") },
    { "\x28\xb5\x2f\xfd", 4, N_ ("a zstd file") },
    { "7z\xbc\xaf", 4, N_ ("a 7-Zip archive") },
    { "SQLite format 3", 15, N_ ("an SQLite database") },
    { "\x7f" "ELF", 4, N_ ("a program") },
  };

  for (size_t i = 0; i < G_N_ELEMENTS (known); i++)
    if (n >= known[i].length && memcmp (p, known[i].magic, known[i].length) == 0)
      return _ (known[i].what);
  if (n >= 2 && p[0] == 0x80 && p[1] >= 2 && p[1] <= 5)
    return _ ("a Python pickle");
  if (n >= 262 && memcmp (p + 257, "ustar", 5) == 0)
    return _ ("a tar archive");
  while (n > 0 && g_ascii_isspace (*p))
    p++, n--;
  if (n >= 2 && p[0] == '<' && (p[1] == '!' || p[1] == 'h' || p[1] == 'H' || p[1] == '?'))
    return _ ("a web page or XML text (a failed download?)");
  return NULL;
}

/* Several members one after the other are one file (RFC 1952, 2.2). */
static int
next_member (z_stream *z, int status)
{
  if (status == Z_STREAM_END && z->avail_in >= 2 && tn_is_gzip (z->next_in, z->avail_in))
    return inflateReset (z) == Z_OK ? Z_OK : Z_DATA_ERROR;
  return status;
}

size_t
tn_gunzip_head (const void *data, size_t n, void *out, size_t want)
{
  z_stream z = { .next_in = (Bytef *) data, .avail_in = (uInt) MIN (n, 1u << 20), .next_out = out, .avail_out = (uInt) want };

  if (inflateInit2 (&z, 15 + 16) != Z_OK)
    return 0;
  inflate (&z, Z_SYNC_FLUSH);
  inflateEnd (&z);
  return want - z.avail_out;
}

static void
set_gzip_error (GError **error, const char *path, const z_stream *z, int status, uint64_t at)
{
  if (status == Z_BUF_ERROR || status == Z_OK)
    g_set_error (error, TN_ERROR, TN_ERROR_FORMAT,
                 _ ("“%s”: the compressed data ends early, after %" PRIu64
                    " unpacked bytes. The file was cut short: copy or download it again."),
                 path, at);
  else
    g_set_error (error, TN_ERROR, TN_ERROR_FORMAT,
                 _ ("“%s”: damaged gzip data after %" PRIu64 " unpacked bytes (%s). Copy or download it again."), path, at,
                 z->msg ? z->msg : _ ("unknown reason"));
}

GBytes *
tn_gunzip (const void *data, size_t n, uint64_t expected, uint64_t max_bytes, const char *path, GError **error)
{
  gboolean known = expected != UINT64_MAX;
  uint64_t bound = (uint64_t) n * DEFLATE_MAX_RATIO + 1024;

  if (known && expected > MIN (bound, max_bytes))
    {
      g_set_error (error, TN_ERROR, TN_ERROR_FORMAT,
                   _ ("“%s” says that it holds %" PRIu64 " bytes; its %zu"
                      " compressed bytes cannot. The file is damaged or cut short."),
                   path, expected, n);
      return NULL;
    }
  if (known && !tn_load_check (expected, path, error))
    return NULL;
  max_bytes = MIN (max_bytes, tn_load_limit ());
  /* One byte more than expected shows whether there is more. */
  size_t capacity = known ? (size_t) expected + 1 : MIN ((size_t) MIN (bound, max_bytes) + 1, MAX (n * 4, 4096));
  uint8_t *out = allocate (capacity);
  z_stream z = { 0 };
  if (!out || inflateInit2 (&z, 15 + 16) != Z_OK)
    {
      free (out);
      g_set_error (error, TN_ERROR, TN_ERROR_MEMORY, _ ("No memory to unpack “%s”."), path);
      return NULL;
    }

  size_t used = 0, taken = 0;
  int status = Z_OK;
  while (status == Z_OK)
    {
      if (used == capacity && !known && capacity <= max_bytes)
        {
          size_t more = (size_t) MIN ((uint64_t) capacity * 2, max_bytes + 1);
          uint8_t *grown = realloc (out, more);
          if (!grown)
            break;
          out = grown;
          capacity = more;
        }
      z.next_in = (Bytef *) data + taken;
      z.avail_in = (uInt) MIN (n - taken, 1u << 30);
      z.next_out = out + used;
      z.avail_out = (uInt) MIN (capacity - used, 1u << 30);
      uInt in_before = z.avail_in, out_before = z.avail_out;
      status = inflate (&z, Z_NO_FLUSH);
      taken += in_before - z.avail_in;
      used += out_before - z.avail_out;
      status = next_member (&z, status);
      if (used == capacity && (known || capacity > max_bytes))
        break;
    }
  inflateEnd (&z);

  if (used > (known ? expected : max_bytes))
    {
      g_set_error (error, TN_ERROR, TN_ERROR_FORMAT, _ ("“%s” unpacks to more than the %" PRIu64 " bytes that it should hold."),
                   path, known ? expected : max_bytes);
      free (out);
      return NULL;
    }
  if (status != Z_STREAM_END || (known && used != expected))
    {
      if (status == Z_STREAM_END)
        status = Z_BUF_ERROR;
      set_gzip_error (error, path, &z, status, used);
      free (out);
      return NULL;
    }
  /* Zeros may fill up a block, as on tape. */
  for (; taken < n; taken++)
    if (((const uint8_t *) data)[taken] != 0)
      {
        g_set_error (error, TN_ERROR, TN_ERROR_FORMAT,
                     _ ("“%s”: something else follows its compressed data, from byte %zu"
                        " on. It is damaged, or two files were joined: copy or download it again."),
                     path, taken);
        free (out);
        return NULL;
      }
  return g_bytes_new_with_free_func (out, used, free, out);
}
