/* SPDX-License-Identifier: Apache-2.0 */
#include "samples.h"

#include <errno.h>
#include <glib/gi18n.h>
#include <glib/gstdio.h>
#include <math.h>
#include <string.h>

#include "base/error.h"
#include "base/json.h"
#include "base/philox.h"
#include "data/drawn-digits.h"
#include "formats/npz.h"

#define N_SPIRAL 1000 /* points of each of the two */
#define PICTURE_W 448
#define PICTURE_H 224

const TnSample tn_samples[] = {
  { "digits", N_("Digits"), N_("12,000 drawn digits, read by LeNet-5") },
  { "spirals", N_("Two spirals"), N_("Points in a plane, told apart by a small network") },
  { NULL },
};

/* What the samples train. The lengths let a first training last about a minute on two cores. */
static const struct
{
  const char *id, *name, *value;
} choices[] = {
  { "digits", "data.source", "drawn-digits" }, { "digits", "model.preset", "lenet5" },    { "digits", "train.epochs", "160" },
  { "digits", "train.batch", "64" },           { "digits", "checkpoint.every_epochs", "4" }, { "digits", "device.mode", "graph" },
  { "spirals", "train.epochs", "150" },        { "spirals", "train.batch", "50" },        { "spirals", "optimizer.kind", "adam" },
  { "spirals", "optimizer.lr", "0.005" },      { "spirals", "data.source", "spirals.npz" }, { "spirals", "data.validation", "hash:20%" },
  { "spirals", "checkpoint.every_epochs", "10" }, { "spirals", "device.mode", "graph" },
  { "empty", "device.mode", "graph" },
};

static const char spiral_network[]
  = "{ \"name\": \"MLP\", \"input\": { \"shape\": [2] }, \"cells\": ["
    " { \"type\": \"Dense\", \"name\": \"fc1\", \"out_channels\": 32 }, { \"type\": \"Tanh\" },"
    " { \"type\": \"Dense\", \"name\": \"fc2\", \"out_channels\": 32 }, { \"type\": \"Tanh\" },"
    " { \"type\": \"Dense\", \"name\": \"fc3\", \"out_channels\": 2 } ] }";

/* splitmix64: noise from the point's number alone. */
static double
noise (guint64 key)
{
  key += 0x9e3779b97f4a7c15u;
  key = (key ^ (key >> 30)) * 0xbf58476d1ce4e5b9u;
  key = (key ^ (key >> 27)) * 0x94d049bb133111ebu;
  return (double) ((key ^ (key >> 31)) >> 11) / 9007199254740992.0 - 0.5;
}

void
tn_sample_spiral_point (int i, int n, int label, float *x, float *y)
{
  double t = sqrt ((i + 0.5) / n), angle = t * 3.5 * G_PI + label * G_PI;
  guint64 key = (guint64) i * 4 + (guint64) label * 2;
  *x = (float) (t * cos (angle) + 0.05 * noise (key));
  *y = (float) (t * sin (angle) + 0.05 * noise (key + 1));
}

static gboolean
write_spirals (const char *folder, GError **error)
{
  g_autoptr (TnTensor) x = tn_tensor_new (TN_DTYPE_F32, TN_SHAPE (2 * N_SPIRAL, 2), error);
  g_autoptr (TnTensor) labels = x != NULL ? tn_tensor_new (TN_DTYPE_I32, TN_SHAPE (2 * N_SPIRAL), error) : NULL;
  if (labels == NULL)
    return FALSE;
  float *points = tn_tensor_data (x);
  int32_t *classes = tn_tensor_data (labels);
  for (int i = 0; i < 2 * N_SPIRAL; i++)
    {
      classes[i] = i % 2;
      tn_sample_spiral_point (i / 2, N_SPIRAL, i % 2, &points[2 * i], &points[2 * i + 1]);
    }
  g_autofree char *path = g_build_filename (folder, "spirals.npz", NULL);
  return tn_npz_write (path, (const char *const[]){ "x", "y" }, (TnTensor *const[]){ x, labels }, 2, error);
}

static gboolean
make (const char *id, const char *path, GError **error)
{
  g_autoptr (TnSettings) settings = tn_settings_new ();
  for (guint i = 0; i < G_N_ELEMENTS (choices); i++)
    if (g_str_equal (choices[i].id, id) && !tn_settings_set (settings, choices[i].name, choices[i].value, error))
      return FALSE;
  gboolean spirals = g_str_equal (id, "spirals");
  g_autoptr (JsonNode) network = spirals ? tn_json_parse (spiral_network, -1, error) : NULL;
  if (spirals && network == NULL)
    return FALSE;
  g_autoptr (TnProject) project = tn_project_create (path, settings, network, error);
  return project != NULL && (!spirals || write_spirals (path, error));
}

typedef struct
{
  char *id, *folder, *path;
} Request;

static void
request_free (Request *request)
{
  g_free (request->id);
  g_free (request->folder);
  g_free (request->path);
  g_free (request);
}

static const char *
title_of (const char *id)
{
  for (const TnSample *sample = tn_samples; sample->id != NULL; sample++)
    if (g_str_equal (sample->id, id))
      return _(sample->title);
  return _("Project");
}

static void
create_thread (GTask *task, gpointer source, gpointer data, GCancellable *cancellable)
{
  Request *request = data;
  GError *error = NULL;
  if (g_mkdir_with_parents (request->folder, 0777) != 0)
    tn_error_set_errno (&error, errno, _("make the folder"), request->folder);
  for (int i = 1; error == NULL && request->path == NULL; i++)
    {
      g_autofree char *name = i == 1 ? g_strdup (title_of (request->id)) : g_strdup_printf ("%s %d", title_of (request->id), i);
      g_autofree char *path = g_build_filename (request->folder, name, NULL);
      if (g_file_test (path, G_FILE_TEST_EXISTS))
        continue;
      if (make (request->id, path, &error))
        request->path = g_steal_pointer (&path);
      else if (g_error_matches (error, TN_ERROR, TN_ERROR_EXISTS))
        g_clear_error (&error);
    }
  if (error != NULL)
    g_task_return_error (task, error);
  else
    g_task_return_boolean (task, TRUE);
}

static void
opened_cb (GObject *source, GAsyncResult *result, gpointer data)
{
  g_autoptr (GTask) outer = data;
  GError *error = NULL;
  TnDocument *document = tn_document_open_finish (result, &error);
  if (document != NULL)
    g_task_return_pointer (outer, document, g_object_unref);
  else
    g_task_return_error (outer, error);
}

static void
created_cb (GObject *source, GAsyncResult *result, gpointer data)
{
  g_autoptr (GTask) outer = data;
  GError *error = NULL;
  Request *request = g_task_get_task_data (G_TASK (result));
  if (g_task_propagate_boolean (G_TASK (result), &error))
    tn_document_open_async (request->path, NULL, opened_cb, g_steal_pointer (&outer));
  else
    g_task_return_error (outer, error);
}

void
tn_sample_create_async (const char *id, const char *folder, GAsyncReadyCallback callback, gpointer user_data)
{
  GTask *outer = g_task_new (NULL, NULL, callback, user_data);
  Request *request = g_new0 (Request, 1);
  request->id = g_strdup (id);
  request->folder = g_strdup (folder);
  g_autoptr (GTask) task = g_task_new (NULL, NULL, created_cb, outer);
  g_task_set_task_data (task, request, (GDestroyNotify) request_free);
  g_task_run_in_thread (task, create_thread);
}

TnDocument *
tn_sample_create_finish (GAsyncResult *result, GError **error)
{
  return g_task_propagate_pointer (G_TASK (result), error);
}

/* Pictures. */

static void
put (guint8 *pixels, int x, int y, guint8 r, guint8 g, guint8 b)
{
  if (x < 0 || y < 0 || x >= PICTURE_W || y >= PICTURE_H)
    return;
  guint8 *at = pixels + ((gsize) y * PICTURE_W + (gsize) x) * 3;
  at[0] = r;
  at[1] = g;
  at[2] = b;
}

/* Sixteen digits, two rows of eight, at twice their size. */
static void
draw_digits (guint8 *pixels)
{
  guint8 digit[TN_DRAWN_DIGITS_PIXELS];
  const int side = TN_DRAWN_DIGITS_SIDE, cell = PICTURE_W / 8;
  for (int i = 0; i < 32; i++)
    {
      tn_drawn_digits_draw (0, i * 7 + 3, digit);
      for (int y = 0; y < 2 * side; y++)
        for (int x = 0; x < 2 * side; x++)
          {
            double ink = digit[y / 2 * side + x / 2] / 255.0;
            put (pixels, i % 8 * cell + x, i / 8 * cell + y, (guint8) (26 + ink * 216), (guint8) (38 + ink * 206), (guint8) (66 + ink * 184));
          }
    }
}

static void
draw_spirals (guint8 *pixels)
{
  static const guint8 colors[2][3] = { { 0x78, 0xae, 0xed }, { 0xff, 0xa3, 0x48 } };
  const int n = 260, radius = 3;
  for (int i = 0; i < 2 * n; i++)
    {
      float x, y;
      tn_sample_spiral_point (i / 2, n, i % 2, &x, &y);
      int cx = (int) (PICTURE_W / 2 + x * 100), cy = (int) (PICTURE_H / 2 + y * 100);
      for (int dy = -radius; dy <= radius; dy++)
        for (int dx = -radius; dx <= radius; dx++)
          if (dx * dx + dy * dy <= radius * radius + 1)
            put (pixels, cx + dx, cy + dy, colors[i % 2][0], colors[i % 2][1], colors[i % 2][2]);
    }
}

GdkTexture *
tn_sample_picture (const char *id)
{
  gsize n = (gsize) PICTURE_W * PICTURE_H * 3;
  guint8 *pixels = g_malloc (n);
  for (gsize i = 0; i < n; i += 3)
    {
      pixels[i] = 26;
      pixels[i + 1] = 38;
      pixels[i + 2] = 66;
    }
  if (g_str_equal (id, "digits"))
    draw_digits (pixels);
  else
    draw_spirals (pixels);
  g_autoptr (GBytes) bytes = g_bytes_new_take (pixels, n);
  return gdk_memory_texture_new (PICTURE_W, PICTURE_H, GDK_MEMORY_R8G8B8, bytes, (gsize) PICTURE_W * 3);
}
