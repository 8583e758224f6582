/* SPDX-License-Identifier: Apache-2.0 */
#include "train/answers.h"

#include <glib/gstdio.h>
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/error.h"
#include "base/json.h"

#define VALIDATION_FILE "validation.json"
#define VALIDATION_FORMAT "tenon-validation"
#define MAX_CLASSES 1000000

static TnValidation *
new_validation (int n_classes)
{
  TnValidation *self = g_new0 (TnValidation, 1);
  self->step = -1;
  self->n_classes = n_classes;
  self->class_names = g_new0 (char *, (gsize) n_classes + 1);
  self->counts = g_new0 (gint64, (gsize) MAX (n_classes, 1));
  self->correct = g_new0 (gint64, (gsize) MAX (n_classes, 1));
  if (n_classes <= TN_VALIDATION_MAX_CONFUSION)
    self->confusion = g_new0 (gint64, (gsize) MAX (n_classes * n_classes, 1));
  return self;
}

TnValidation *
tn_validation_new (const TnDataset *dataset)
{
  TnValidation *self = new_validation (dataset->n_classes);
  for (int i = 0; i < dataset->n_classes; i++)
    self->class_names[i] = g_strdup (dataset->class_names[i]);
  return self;
}

void
tn_validation_free (TnValidation *self)
{
  if (self == NULL)
    return;
  g_strfreev (self->class_names);
  g_free (self->counts);
  g_free (self->correct);
  g_free (self->confusion);
  g_free (self);
}

/* -log softmax (row)[label]. */
static double
cross_entropy (const float *row, gint64 width, gint32 label)
{
  double most = -INFINITY, sum = 0;
  for (gint64 k = 0; k < width; k++)
    most = fmax (most, (double) row[k]);
  for (gint64 k = 0; k < width; k++)
    sum += exp ((double) row[k] - most);
  return most + log (sum) - (double) row[label];
}

static void
note_worst (TnValidation *self, gint64 id, double loss)
{
  int at = self->n_worst;
  while (at > 0 && !(self->worst_loss[at - 1] >= loss))
    at--;
  if (at >= TN_VALIDATION_WORST)
    return;
  self->n_worst = MIN (self->n_worst + 1, TN_VALIDATION_WORST);
  for (int i = self->n_worst - 1; i > at; i--)
    {
      self->worst[i] = self->worst[i - 1];
      self->worst_loss[i] = self->worst_loss[i - 1];
    }
  self->worst[at] = id;
  self->worst_loss[at] = loss;
}

void
tn_validation_add (TnValidation *self, const float *logits, gint64 width, const gint64 *ids, const gint32 *labels, gint64 n)
{
  for (gint64 i = 0; i < n; i++)
    {
      const float *row = logits + i * width;
      gint64 answer = 0;
      for (gint64 k = 1; k < width; k++)
        if (row[k] > row[answer])
          answer = k;
      if (labels[i] < 0 || labels[i] >= self->n_classes || labels[i] >= width)
        continue;
      self->counts[labels[i]]++;
      self->correct[labels[i]] += answer == labels[i];
      if (self->confusion != NULL && answer < self->n_classes)
        self->confusion[labels[i] * self->n_classes + answer]++;
      note_worst (self, ids[i], cross_entropy (row, width, labels[i]));
    }
}

/* The file. */

static JsonArray *
to_array (const gint64 *values, gint64 n)
{
  JsonArray *array = json_array_new ();
  for (gint64 i = 0; i < n; i++)
    json_array_add_int_element (array, values[i]);
  return array;
}

gboolean
tn_validation_write (const TnValidation *self, const char *run_path, GError **error)
{
  g_autoptr (JsonObject) object = json_object_new ();
  JsonArray *names = json_array_new (), *losses = json_array_new ();
  for (int i = 0; i < self->n_classes; i++)
    json_array_add_string_element (names, self->class_names[i]);
  for (int i = 0; i < self->n_worst; i++)
    json_array_add_double_element (losses, isfinite (self->worst_loss[i]) ? self->worst_loss[i] : G_MAXDOUBLE);
  json_object_set_string_member (object, "format", VALIDATION_FORMAT);
  json_object_set_int_member (object, "version", 1);
  json_object_set_int_member (object, "step", self->step);
  tn_json_set_hex_double (object, "loss", self->loss);
  tn_json_set_hex_double (object, "accuracy", self->accuracy);
  json_object_set_array_member (object, "classes", names);
  json_object_set_array_member (object, "counts", to_array (self->counts, self->n_classes));
  json_object_set_array_member (object, "correct", to_array (self->correct, self->n_classes));
  if (self->confusion != NULL)
    json_object_set_array_member (object, "confusion", to_array (self->confusion, (gint64) self->n_classes * self->n_classes));
  json_object_set_array_member (object, "worst", to_array (self->worst, self->n_worst));
  json_object_set_array_member (object, "worst_loss", losses);
  g_autoptr (JsonNode) node = json_node_init_object (json_node_alloc (), object);
  g_autofree char *text = tn_json_to_text (node, 0);
  g_autofree char *path = g_build_filename (run_path, VALIDATION_FILE, NULL);
  g_autoptr (GError) failure = NULL;
  /* Whole or not there; what a power cut takes comes again with the next validation. */
  if (g_file_set_contents_full (path, text, -1, G_FILE_SET_CONTENTS_CONSISTENT, 0644, &failure))
    return TRUE;
  g_set_error (error, TN_ERROR, TN_ERROR_IO, _("Cannot write “%s”: %s."), path, failure->message);
  return FALSE;
}

static gboolean
take_array (JsonObject *object, const char *name, gint64 *values, gint64 n, GError **error)
{
  JsonArray *array;
  if (!tn_json_get_array (object, name, &array, "", error))
    return FALSE;
  if (json_array_get_length (array) != n)
    {
      g_set_error (error, TN_ERROR, TN_ERROR_FORMAT, _("“%s” has %u numbers and should have %" PRId64), name, json_array_get_length (array), n);
      return FALSE;
    }
  for (gint64 i = 0; i < n; i++)
    values[i] = json_array_get_int_element (array, (guint) i);
  return TRUE;
}

static TnValidation *
from_object (JsonObject *object, GError **error)
{
  JsonArray *names, *worst, *losses;
  if (!tn_json_get_array (object, "classes", &names, "", error) || !tn_json_get_array (object, "worst", &worst, "", error)
      || !tn_json_get_array (object, "worst_loss", &losses, "", error))
    return NULL;
  guint n_classes = json_array_get_length (names), n_worst = json_array_get_length (worst);
  if (n_classes > MAX_CLASSES || n_worst > TN_VALIDATION_WORST || json_array_get_length (losses) != n_worst)
    {
      g_set_error (error, TN_ERROR, TN_ERROR_FORMAT, _("it has too many classes or samples"));
      return NULL;
    }
  g_autoptr (TnValidation) self = new_validation ((int) n_classes);
  for (guint i = 0; i < n_classes; i++)
    {
      const char *name = json_array_get_string_element (names, i);
      self->class_names[i] = g_strdup (name != NULL ? name : "");
    }
  if (!tn_json_get_int (object, "step", 0, G_MAXINT64, &self->step, "", error) || !tn_json_get_hex_double (object, "loss", &self->loss, "", error)
      || !tn_json_get_hex_double (object, "accuracy", &self->accuracy, "", error)
      || !take_array (object, "counts", self->counts, (gint64) n_classes, error)
      || !take_array (object, "correct", self->correct, (gint64) n_classes, error)
      || !take_array (object, "worst", self->worst, (gint64) n_worst, error)
      || (self->confusion != NULL && !take_array (object, "confusion", self->confusion, (gint64) n_classes * (gint64) n_classes, error)))
    return NULL;
  self->n_worst = (int) n_worst;
  for (guint i = 0; i < n_worst; i++)
    self->worst_loss[i] = json_array_get_double_element (losses, i);
  return g_steal_pointer (&self);
}

TnValidation *
tn_validation_read (const char *run_path, GError **error)
{
  g_autofree char *path = g_build_filename (run_path, VALIDATION_FILE, NULL);
  g_autoptr (JsonNode) node = tn_json_load (path, error);
  if (node == NULL)
    return NULL;
  if (!JSON_NODE_HOLDS_OBJECT (node))
    {
      g_set_error (error, TN_ERROR, TN_ERROR_FORMAT, _("“%s” is no validation of a run."), path);
      return NULL;
    }
  TnValidation *self = from_object (json_node_get_object (node), error);
  if (self == NULL)
    g_prefix_error (error, "“%s”: ", path);
  return self;
}
