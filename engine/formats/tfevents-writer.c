/* SPDX-License-Identifier: Apache-2.0 */
#include "formats/tfevents.h"
#include <inttypes.h>

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "base/crc32c.h"
#include "base/durable.h"
#include "base/error.h"
#include "base/fault.h"
#include "formats/bytes.h"
#include "formats/protobuf.h"

#define PREFIX "events.out.tfevents."

struct _TnTfeventsWriter
{
  char *path, *folder;
  int fd;
  uint64_t end;       /* of what was written whole */
  gboolean torn;      /* a write failed: the file may go on behind @end */
  gboolean dir_synced;
  GByteArray *buffer; /* whole records */
  GByteArray *event, *summary, *value, *histogram; /* kept, so that a steady run allocates nothing */
};

static void
append_record (TnTfeventsWriter *self)
{
  uint8_t head[12], tail[4];
  tn_write_le64 (head, self->event->len);
  tn_write_le32 (head + 8, tn_crc32c_mask (tn_crc32c (0, head, 8)));
  tn_write_le32 (tail, tn_crc32c_mask (tn_crc32c (0, self->event->data, self->event->len)));
  g_byte_array_append (self->buffer, head, sizeof head);
  g_byte_array_append (self->buffer, self->event->data, self->event->len);
  g_byte_array_append (self->buffer, tail, sizeof tail);
}

static void
begin_event (TnTfeventsWriter *self, int64_t step, double wall_time)
{
  g_byte_array_set_size (self->event, 0);
  g_byte_array_set_size (self->summary, 0);
  tn_pb_put_double (self->event, 1, wall_time);
  if (step != 0)
    tn_pb_put_uint (self->event, 2, (uint64_t) step);
}

/* The largest number of seconds in the names of the event files of @folder; -1 if there is none. */
static int64_t
newest_seconds (const char *folder)
{
  g_autoptr (GDir) dir = g_dir_open (folder, 0, NULL);
  const char *name;
  int64_t newest = -1;
  while (dir && (name = g_dir_read_name (dir)))
    if (g_str_has_prefix (name, PREFIX))
      newest = MAX (newest, (int64_t) g_ascii_strtoull (name + strlen (PREFIX), NULL, 10));
  return newest;
}

static gboolean
create_file (TnTfeventsWriter *self, int64_t seconds, GError **error)
{
  static int counter;
  int64_t newest = newest_seconds (self->folder);
  if (newest >= seconds && newest < G_MAXINT32)
    seconds = newest + 1;
  g_autofree char *host = g_strdup (g_get_host_name ());
  g_strdelimit (host, "/", '_');
  g_autofree char *name = g_strdup_printf (PREFIX "%010" PRId64 ".%s.%d.%d", seconds, host, (int) getpid (),
                                           g_atomic_int_add (&counter, 1));
  self->path = g_build_filename (self->folder, name, NULL);
  self->fd = tn_fault_create (self->path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
  if (self->fd >= 0)
    return TRUE;
  tn_error_set_errno (error, errno, _ ("create"), self->path);
  return FALSE;
}

TnTfeventsWriter *
tn_tfevents_writer_new (const char *folder, int64_t resume_step, double wall_time, GError **error)
{
  g_autoptr (TnTfeventsWriter) self = g_new0 (TnTfeventsWriter, 1);

  self->fd = -1;
  self->folder = g_strdup (folder);
  self->buffer = g_byte_array_new ();
  self->event = g_byte_array_new ();
  self->summary = g_byte_array_new ();
  self->value = g_byte_array_new ();
  self->histogram = g_byte_array_new ();
  if (wall_time == 0)
    wall_time = (double) g_get_real_time () / 1e6;
  if (!create_file (self, (int64_t) wall_time, error))
    return NULL;

  begin_event (self, 0, wall_time);
  tn_pb_put_bytes (self->event, 3, "brain.Event:2", strlen ("brain.Event:2"));
  append_record (self);
  if (resume_step >= 0)
    {
      static const uint8_t session_start[] = { 1 << 3 | TN_PB_VARINT, 1 }; /* SessionLog.status = START */
      begin_event (self, resume_step, wall_time);
      tn_pb_put_bytes (self->event, 7, session_start, sizeof session_start);
      append_record (self);
    }
  if (!tn_tfevents_writer_flush (self, error))
    return NULL;
  return g_steal_pointer (&self);
}

void
tn_tfevents_writer_free (TnTfeventsWriter *self)
{
  if (self->fd >= 0)
    close (self->fd);
  g_byte_array_unref (self->buffer);
  g_byte_array_unref (self->event);
  g_byte_array_unref (self->summary);
  g_byte_array_unref (self->value);
  g_byte_array_unref (self->histogram);
  g_free (self->path);
  g_free (self->folder);
  g_free (self);
}

const char *
tn_tfevents_writer_path (TnTfeventsWriter *self)
{
  return self->path;
}

void
tn_tfevents_writer_scalars (TnTfeventsWriter *self, int64_t step, double wall_time, int n, const char *const *tags,
                            const float *values)
{
  begin_event (self, step, wall_time);
  for (int i = 0; i < n; i++)
    {
      g_byte_array_set_size (self->value, 0);
      tn_pb_put_bytes (self->value, 1, tags[i], strlen (tags[i]));
      tn_pb_put_float (self->value, 2, values[i]);
      tn_pb_put_bytes (self->summary, 1, self->value->data, self->value->len);
    }
  tn_pb_put_bytes (self->event, 5, self->summary->data, self->summary->len);
  append_record (self);
}

void
tn_tfevents_writer_histogram (TnTfeventsWriter *self, int64_t step, double wall_time, const char *tag,
                              const TnHistogram *histogram)
{
  begin_event (self, step, wall_time);
  g_byte_array_set_size (self->histogram, 0);
  tn_pb_put_double (self->histogram, 1, histogram->min);
  tn_pb_put_double (self->histogram, 2, histogram->max);
  tn_pb_put_double (self->histogram, 3, histogram->count);
  tn_pb_put_double (self->histogram, 4, histogram->sum);
  tn_pb_put_double (self->histogram, 5, histogram->sum_squares);
  tn_pb_put_doubles (self->histogram, 6, histogram->limits, (size_t) histogram->n_buckets);
  tn_pb_put_doubles (self->histogram, 7, histogram->buckets, (size_t) histogram->n_buckets);
  g_byte_array_set_size (self->value, 0);
  tn_pb_put_bytes (self->value, 1, tag, strlen (tag));
  tn_pb_put_bytes (self->value, 5, self->histogram->data, self->histogram->len);
  tn_pb_put_bytes (self->summary, 1, self->value->data, self->value->len);
  tn_pb_put_bytes (self->event, 5, self->summary->data, self->summary->len);
  append_record (self);
}

gboolean
tn_tfevents_writer_flush (TnTfeventsWriter *self, GError **error)
{
  if (self->buffer->len == 0)
    return TRUE;
  if (self->torn)
    {
      /* Back to the end of the last whole record: what stands behind it is written again. */
      if (tn_fault_ftruncate (self->fd, (int64_t) self->end, self->path) != 0
          || lseek (self->fd, (off_t) self->end, SEEK_SET) < 0)
        {
          tn_error_set_errno (error, errno, _ ("write"), self->path);
          return FALSE;
        }
      self->torn = FALSE;
    }
  if (tn_fault_write (self->fd, self->buffer->data, self->buffer->len, self->path) != (ssize_t) self->buffer->len)
    {
      self->torn = TRUE;
      tn_error_set_errno (error, errno, _ ("write"), self->path);
      return FALSE;
    }
  self->end += self->buffer->len;
  g_byte_array_set_size (self->buffer, 0);
  return TRUE;
}

gboolean
tn_tfevents_writer_sync (TnTfeventsWriter *self, GError **error)
{
  if (!tn_tfevents_writer_flush (self, error))
    return FALSE;
  if (tn_fault_fsync (self->fd, self->path) != 0)
    {
      tn_error_set_errno (error, errno, _ ("write"), self->path);
      return FALSE;
    }
  if (!self->dir_synced && !tn_durable_sync_dir (self->folder, error))
    return FALSE;
  self->dir_synced = TRUE;
  return TRUE;
}

uint64_t
tn_tfevents_writer_end (TnTfeventsWriter *self, gboolean with_buffer)
{
  return self->end + (with_buffer ? self->buffer->len : 0);
}
