/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
#include <math.h>
#include <stdio.h>
#include <string.h>
#include "ops/truth.h"

/* Truth files whose cases are layers, losses, optimizers and schedules (shared/truth/mindspore/README.md and
 * shared/truth/torch/numbers/README.md give the forms). Cases are found by their keys. */

typedef struct
{
  int compared, failed, without; /* without: nothing here implements what the case asks for */
  GString *failures, *missing;
} Numbers;

typedef void (*NumbersFunc) (Numbers *self, JsonObject *object);

static inline JsonObject *
numbers_object (JsonObject *object, const char *key)
{
  JsonNode *node = json_object_has_member (object, key) ? json_object_get_member (object, key) : NULL;
  return node != NULL && JSON_NODE_HOLDS_OBJECT (node) ? json_node_get_object (node) : NULL;
}

static inline JsonArray *
numbers_array (JsonObject *object, const char *key)
{
  JsonNode *node = json_object_has_member (object, key) ? json_object_get_member (object, key) : NULL;
  return node != NULL && JSON_NODE_HOLDS_ARRAY (node) ? json_node_get_array (node) : NULL;
}

static inline const char *
numbers_text (JsonObject *object, const char *key)
{
  JsonNode *node = json_object_has_member (object, key) ? json_object_get_member (object, key) : NULL;
  return node != NULL && JSON_NODE_HOLDS_VALUE (node) && json_node_get_value_type (node) == G_TYPE_STRING ? json_node_get_string (node) : NULL;
}

static inline double
numbers_double (JsonObject *object, const char *key, double missing)
{
  JsonNode *node = json_object_has_member (object, key) ? json_object_get_member (object, key) : NULL;
  if (node == NULL || !JSON_NODE_HOLDS_VALUE (node))
    return missing;
  return json_node_get_value_type (node) == G_TYPE_BOOLEAN ? json_node_get_boolean (node) : json_node_get_double (node);
}

static inline void
numbers_fail (Numbers *self, const char *name, const char *message)
{
  self->failed++;
  if (self->failed <= 30)
    g_string_append_printf (self->failures, "\n  %s: %s", name, message);
}

static inline void
numbers_without (Numbers *self, const char *name)
{
  self->without++;
  g_string_append_printf (self->missing, "%s%s", self->missing->len > 0 ? ", " : "", name);
}

/** Elementwise |got - want| <= rel |want| + abs. */
static inline gboolean
numbers_close (TnTensor *got, TnTensor *want, double rel, double abs, char **message)
{
  if (!tn_shape_equal (&got->shape, &want->shape))
    {
      g_autofree char *a = tn_shape_to_string (&got->shape), *b = tn_shape_to_string (&want->shape);
      *message = g_strdup_printf ("shape %s, want %s", a, b);
      return FALSE;
    }
  for (int64_t i = 0; i < tn_tensor_count (want); i++)
    {
      double g = tn_tensor_get (got, i), w = tn_tensor_get (want, i);
      if (g == w || (isnan (g) && isnan (w)) || fabs (g - w) <= rel * fabs (w) + abs)
        continue;
      *message = g_strdup_printf ("element %d is %.9g, want %.9g", (int) i, g, w);
      return FALSE;
    }
  return TRUE;
}

static inline void
numbers_file (Numbers *self, const char *path, NumbersFunc func)
{
  g_autoptr (JsonNode) root = truth_load (path);
  JsonObject *object = root != NULL ? json_node_get_object (root) : NULL;
  static const char *const lists[] = { "cases", "entries" };
  for (int k = 0; object != NULL && k < 2; k++)
    {
      JsonArray *array = numbers_array (object, lists[k]);
      for (guint i = 0; array != NULL && i < json_array_get_length (array); i++)
        if (JSON_NODE_HOLDS_OBJECT (json_array_get_element (array, i)))
          func (self, json_array_get_object_element (array, i));
    }
}

static inline void
numbers_folder (const char *folder, const char *what, gboolean must_have, NumbersFunc func)
{
  Numbers self = { .failures = g_string_new (NULL), .missing = g_string_new (NULL) };
  g_autoptr (GPtrArray) files = truth_files (folder);
  for (guint i = 0; i < files->len; i++)
    numbers_file (&self, files->pdata[i], func);
  g_test_message ("%s: %d %s compared, %d differ, %d without implementation%s%s", folder, self.compared, what, self.failed, self.without,
                  self.missing->len > 0 ? ": " : "", self.missing->str);
  if (self.failed > 0)
    {
      g_test_message ("%s", self.failures->str);
      g_test_fail ();
    }
  if (must_have && self.compared == 0)
    {
      g_test_message ("%s holds no %s", folder, what);
      g_test_fail ();
    }
  g_string_free (self.failures, TRUE);
  g_string_free (self.missing, TRUE);
}

/** Runs @func over every case below the truth folder and below tests/data/@own. */
static inline void
numbers_shared (const char *what, NumbersFunc func)
{
  g_autofree char *folder = truth_folder ();
  if (folder == NULL)
    g_test_skip ("there is no truth folder: set TENON_TRUTH");
  else
    numbers_folder (folder, what, TRUE, func);
}

static inline void
numbers_own (const char *own, const char *what, NumbersFunc func)
{
  const char *root = g_getenv ("TENON_SOURCE_ROOT");
  g_autofree char *folder = g_build_filename (root != NULL ? root : ".", "tests", "data", own, NULL);
  numbers_folder (folder, what, TRUE, func);
}
