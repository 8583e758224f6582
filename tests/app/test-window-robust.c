/* SPDX-License-Identifier: Apache-2.0 */
#include "harness.h"

#include <glib/gstdio.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

/* What kills leave: the curves are those of the event file, the state is that of the process table. */

#define STEPS_AN_EPOCH 168 /* of Digits, which writes a checkpoint an epoch */

static TnHarness *
training (void)
{
  TnHarness *h = tn_harness_new (1280, 800);
  if (h == NULL)
    return NULL;
  tn_harness_start (h, NULL);
  tn_harness_click (h, "start_train_button:digits");
  g_assert_true (tn_harness_wait_state (h, "run", "running", 20000));
  g_assert_true (tn_harness_wait_value (h, "train_loss_canvas", "Loss, * steps*", 20000));
  return h;
}

/* ---- the event file, read by hand: records of length, its checksum, data and its checksum; an event's field 2 is the step, field 5 a
 * summary of values, whose field 1 is the tag and field 2 the number ---- */

typedef struct
{
  const guint8 *at, *end;
} Bytes;

static guint64
varint (Bytes *b)
{
  guint64 value = 0;
  for (int shift = 0; b->at < b->end && shift < 64; shift += 7)
    {
      guint8 byte = *b->at++;
      value |= (guint64) (byte & 127) << shift;
      if ((byte & 128) == 0)
        break;
    }
  return value;
}

/* The next field's number; its bytes or its number in @inside and @value. 0 at the end. */
static guint
field (Bytes *b, Bytes *inside, guint64 *value)
{
  if (b->at >= b->end)
    return 0;
  guint64 key = varint (b), n = 0;
  *value = 0;
  switch (key & 7)
    {
    case 0:
      *value = varint (b);
      return (guint) (key >> 3);
    case 1:
      n = 8;
      break;
    case 5:
      n = 4;
      break;
    default:
      n = varint (b);
    }
  g_assert_cmpuint (n, <=, (guint64) (b->end - b->at));
  *inside = (Bytes){ b->at, b->at + n };
  if ((key & 7) != 2)
    memcpy (value, b->at, n);
  b->at += n;
  return (guint) (key >> 3);
}

static void
read_event (Bytes event, const char *tag, GArray *steps)
{
  Bytes inside = { 0 }, summary = { 0 };
  guint64 value, step = 0;
  guint number;
  while ((number = field (&event, &inside, &value)) != 0)
    if (number == 2)
      step = value;
    else if (number == 5)
      summary = inside;
  while (field (&summary, &inside, &value) == 1)
    {
      Bytes text = { 0 };
      gboolean wanted = FALSE, simple = FALSE;
      while ((number = field (&inside, &text, &value)) != 0)
        {
          wanted |= number == 1 && (gsize) (text.end - text.at) == strlen (tag) && memcmp (text.at, tag, strlen (tag)) == 0;
          simple |= number == 2;
        }
      if (wanted && simple)
        g_array_append_val (steps, step);
    }
}

static char *
event_file (TnHarness *h)
{
  g_autofree char *run = tn_harness_run (h, "Digits"), *found = NULL;
  GDir *dir = g_dir_open (run, 0, NULL);
  const char *name;
  while (dir != NULL && found == NULL && (name = g_dir_read_name (dir)) != NULL)
    if (strstr (name, "tfevents") != NULL)
      found = g_build_filename (run, name, NULL);
  if (dir != NULL)
    g_dir_close (dir);
  g_assert_nonnull (found);
  return g_steal_pointer (&found);
}

static GArray *
steps_in_file (const char *path, const char *tag)
{
  g_autofree char *data = NULL;
  gsize size;
  GArray *steps = g_array_new (FALSE, FALSE, sizeof (guint64));
  g_assert_true (g_file_get_contents (path, &data, &size, NULL));
  for (gsize at = 0; at + 16 <= size;)
    {
      guint64 n;
      memcpy (&n, data + at, sizeof n);
      if (n > size - at - 16)
        break;
      read_event ((Bytes){ (const guint8 *) data + at + 12, (const guint8 *) data + at + 12 + n }, tag, steps);
      at += 16 + n;
    }
  return steps;
}

/* Steps of the line of series @tag. */
static GArray *
steps_in_plot (TnHarness *h, const char *canvas, const char *tag)
{
  g_autoptr (GVariant) reply = tn_harness_call (h, "Rows", g_variant_new ("(s)", canvas));
  g_autoptr (GVariant) lines = g_variant_get_child_value (reply, 0);
  GArray *steps = g_array_new (FALSE, FALSE, sizeof (guint64));
  for (gsize i = 0; i < g_variant_n_children (lines); i++)
    {
      g_autoptr (GVariant) line = g_variant_get_child_value (lines, i), name = g_variant_get_child_value (line, 0), at = g_variant_get_child_value (line, 1);
      gsize n;
      gconstpointer data = g_variant_get_fixed_array (at, &n, sizeof (gint64));
      if (g_str_equal (g_variant_get_string (name, NULL), tag))
        g_array_append_vals (steps, data, (guint) n);
    }
  return steps;
}

static guint64
bytes_read (GPid pid)
{
  g_autofree char *path = g_strdup_printf ("/proc/%d/io", pid), *text = NULL;
  g_assert_true (g_file_get_contents (path, &text, NULL, NULL));
  return g_ascii_strtoull (strstr (text, "rchar: ") + 7, NULL, 10);
}

static guint64
size_of (const char *path)
{
  GStatBuf info;
  return g_stat (path, &info) == 0 ? (guint64) info.st_size : 0;
}

/* Bytes of the newest checkpoint's tensors; how many checkpoints there were until now, by the name of the newest, in @step. */
static gint64
newest_checkpoint (TnHarness *h, gint64 *step)
{
  g_autofree char *run = tn_harness_run (h, "Digits"), *folder = g_build_filename (run, "checkpoints", NULL), *newest = NULL;
  GDir *dir = g_dir_open (folder, 0, NULL);
  const char *name;
  while (dir != NULL && (name = g_dir_read_name (dir)) != NULL)
    if (g_str_has_prefix (name, "step-") && (newest == NULL || strcmp (name, newest) > 0))
      {
        g_free (newest);
        newest = g_strdup (name);
      }
  if (dir != NULL)
    g_dir_close (dir);
  g_autofree char *file = newest != NULL ? g_build_filename (folder, newest, "rank-0000.safetensors", NULL) : NULL;
  *step = newest != NULL ? g_ascii_strtoll (newest + 5, NULL, 10) : 0;
  return file != NULL ? (gint64) size_of (file) : 0;
}

/* Bytes read in 3 s beyond what the events grew by, 64 KiB a second and new checkpoints, of which each is checked and then loaded for
 * the answers; at most 0 as it should be. */
static gint64
read_too_much (TnHarness *h, const char *path)
{
  GPid window = tn_harness_window (h);
  gint64 first, last;
  newest_checkpoint (h, &first);
  gint64 read = (gint64) bytes_read (window), size = (gint64) size_of (path), begun = g_get_monotonic_time ();
  while (g_get_monotonic_time () < begun + 3 * G_USEC_PER_SEC)
    g_usleep (50000);
  double seconds = (double) (g_get_monotonic_time () - begun) / G_USEC_PER_SEC;
  read = (gint64) bytes_read (window) - read;
  size = (gint64) size_of (path) - size;
  gint64 tensors = newest_checkpoint (h, &last), made = (last - first) / STEPS_AN_EPOCH + 1;
  g_test_message ("%.1f s: the events grew by %" G_GINT64_FORMAT " bytes, at most %" G_GINT64_FORMAT " checkpoints of %" G_GINT64_FORMAT
                  " bytes were made, %" G_GINT64_FORMAT " bytes were read",
                  seconds, size, made, tensors, read);
  return read - size - (gint64) (seconds * 65536) - made * 2 * tensors;
}

/* Soon after its start a window still reads icons, the catalogue and old rows; then it reads what the file grows by, and not the
 * file again. */
static void
check_reading (TnHarness *h, const char *path)
{
  gint64 too_much = 1;
  for (int i = 0; i < 5 && too_much > 0; i++)
    too_much = read_too_much (h, path);
  g_assert_cmpint (too_much, <=, 0);
}

static void
test_rows_after_kills (void)
{
  static const char *const tags[][2] = { { "train_loss_canvas", "train/loss" }, { "train_gradient_norm_canvas", "train/gradient_norm" },
                                         { "train_learning_rate_canvas", "train/learning_rate" } };
  TnHarness *h = training ();
  if (h == NULL)
    return;
  for (int k = 0; k < 3; k++)
    {
      g_usleep ((gulong) g_test_rand_int_range (0, 1000000));
      tn_harness_kill_window (h);
      tn_harness_start (h, NULL);
      g_assert_true (tn_harness_wait_state (h, "run", "running", 20000));
    }
  g_assert_true (tn_harness_wait_value (h, "train_loss_canvas", "Loss, * steps*", 20000));
  g_autofree char *path = event_file (h);
  check_reading (h, path);
  tn_harness_click (h, "header_pause_toggle");
  g_assert_true (tn_harness_wait_state (h, "run", "paused", 20000));
  for (guint i = 0; i < G_N_ELEMENTS (tags); i++)
    {
      gboolean equal = FALSE;
      guint n = 0, plotted = 0;
      /* What stands in the file when the step is held comes to the window in time. */
      for (gint64 end = g_get_monotonic_time () + 10 * G_USEC_PER_SEC; !equal && g_get_monotonic_time () < end; g_usleep (50000))
        {
          g_autoptr (GArray) wanted = steps_in_file (path, tags[i][1]), drawn = steps_in_plot (h, tags[i][0], tags[i][1]);
          n = wanted->len;
          plotted = drawn->len;
          equal = n == plotted && memcmp (wanted->data, drawn->data, n * sizeof (guint64)) == 0;
        }
      g_test_message ("%s: %u rows, %u plotted", tags[i][1], n, plotted);
      g_assert_cmpuint (n, >, 10);
      g_assert_true (equal);
    }
  tn_harness_free (h);
}

/* ---- states ---- */

static gboolean
is_alive (GPid pid)
{
  g_autofree char *path = g_strdup_printf ("/proc/%d/stat", pid), *text = NULL;
  if (!g_file_get_contents (path, &text, NULL, NULL))
    return FALSE;
  const char *at = strrchr (text, ')');
  return at != NULL && at[2] != 'Z' && at[2] != 'X';
}

static void
end_trainer (GPid pid)
{
  kill (pid, SIGKILL);
  while (is_alive (pid))
    g_usleep (1000);
}

/* Kills @n times the trainer, the window or both: the window's word is what the process table says. */
static void
kill_at_random (int n)
{
  static const char *const words[] = { "trainer", "window", "both" };
  TnHarness *h = training ();
  if (h == NULL)
    return;
  for (int i = 0; i < n; i++)
    {
      int kind = i < 3 ? i : g_test_rand_int_range (0, 3);
      GPid trainer = tn_harness_trainer (h);
      g_assert_cmpint (trainer, >, 0);
      g_usleep ((gulong) g_test_rand_int_range (0, 700000));
      if (kind != 0)
        tn_harness_kill_window (h);
      if (kind != 1)
        end_trainer (trainer);
      gint64 begun = g_get_monotonic_time ();
      if (kind != 0)
        tn_harness_start (h, NULL);
      gint64 started = g_get_monotonic_time ();
      gboolean alive = is_alive (trainer);
      g_assert_true (tn_harness_wait_state (h, "run", alive ? "running" : "lost", 15000));
      gint64 told = g_get_monotonic_time ();
      g_test_message ("%s: %s, told after %d ms, of which the window's start took %d", words[kind], alive ? "running" : "lost", (int) ((told - begun) / 1000),
                      (int) ((started - begun) / 1000));
      if (alive)
        continue;
      g_assert_true (tn_harness_wait_value (h, "train_banner", "*step*", 5000));
      tn_harness_activate (h, "win.resume", NULL);
      g_assert_true (tn_harness_wait_state (h, "run", "running", 20000));
    }
  tn_harness_free (h);
}

static void
test_states_after_kills (void)
{
  kill_at_random (g_test_slow () ? 20 : 3);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  if (!g_test_slow ())
    g_test_add_func ("/window/robust/rows-are-the-event-file-after-three-kills", test_rows_after_kills);
  g_test_add_func ("/window/robust/state-is-the-process-table-after-kills", test_states_after_kills);
  return g_test_run ();
}
