/* SPDX-License-Identifier: Apache-2.0 */
#include "model-edit.h"

#include <glib/gi18n.h>
#include <math.h>
#include <string.h>

#include "base/error.h"
#include "base/json.h"
#include "nn/cell.h"

/* The list that a cell stands in, and its place there. */
typedef struct
{
  JsonObject *owner; /* of the list */
  char *member;      /* its name there */
  JsonArray *array;
  guint index;
  char *prefix;      /* path of the list: "cells[3].body" */
} Place;

static void
place_clear (Place *place)
{
  g_free (place->member);
  g_free (place->prefix);
}

G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (Place, place_clear)

static gboolean
find_place (JsonNode *root, const char *path, Place *place)
{
  JsonObject *object = JSON_NODE_HOLDS_OBJECT (root) ? json_node_get_object (root) : NULL;
  for (const char *p = path; object != NULL;)
    {
      size_t n = strcspn (p, "[");
      if (p[n] != '[')
        return FALSE;
      g_autofree char *member = g_strndup (p, n);
      JsonNode *list = json_object_get_member (object, member);
      char *end;
      guint64 index = g_ascii_strtoull (p + n + 1, &end, 10);
      if (list == NULL || !JSON_NODE_HOLDS_ARRAY (list) || *end != ']' || index >= json_array_get_length (json_node_get_array (list)))
        return FALSE;
      JsonArray *array = json_node_get_array (list);
      if (end[1] == '\0')
        {
          *place = (Place) { object, g_steal_pointer (&member), array, (guint) index, g_strndup (path, (gsize) (p + n - path)) };
          return TRUE;
        }
      JsonNode *cell = json_array_get_element (array, (guint) index);
      object = JSON_NODE_HOLDS_OBJECT (cell) ? json_node_get_object (cell) : NULL;
      p = end + 2;
    }
  return FALSE;
}

JsonObject *
tn_model_edit_find (JsonNode *root, const char *path)
{
  g_auto (Place) place = { 0 };
  if (!find_place (root, path, &place))
    return NULL;
  JsonNode *node = json_array_get_element (place.array, place.index);
  return JSON_NODE_HOLDS_OBJECT (node) ? json_node_get_object (node) : NULL;
}

static char *
path_in (const Place *place, guint index)
{
  return g_strdup_printf ("%s[%u]", place->prefix, index);
}

/* json-glib can only append: the list is made anew with @node at @index, and without element @without. */
static void
put (Place *place, guint index, JsonNode *node, gint64 without)
{
  JsonArray *list = json_array_new ();
  guint n = json_array_get_length (place->array);
  for (guint i = 0; i <= n; i++)
    {
      if (i == index && node != NULL)
        json_array_add_element (list, node);
      if (i < n && i != without)
        json_array_add_element (list, json_array_dup_element (place->array, i));
    }
  json_object_set_array_member (place->owner, place->member, list);
  place->array = list;
}

static gboolean
name_taken (JsonArray *array, const char *name)
{
  for (guint i = 0; i < json_array_get_length (array); i++)
    {
      JsonNode *node = json_array_get_element (array, i);
      if (JSON_NODE_HOLDS_OBJECT (node)
          && g_strcmp0 (json_object_get_string_member_with_default (json_node_get_object (node), "name", NULL), name) == 0)
        return TRUE;
    }
  return FALSE;
}

/* "conv2" for a Conv2d, "relu5": short, as the presets name theirs. */
static char *
new_name (JsonArray *array, const char *stem)
{
  for (guint i = 1;; i++)
    {
      g_autofree char *name = g_strdup_printf ("%s%u", stem, i);
      if (!name_taken (array, name))
        return g_steal_pointer (&name);
    }
}

static char *
stem_of (const char *type)
{
  static const char *const known[][2] = { { "Conv2d", "conv" },    { "MaxPool2d", "pool" },  { "AvgPool2d", "pool" }, { "Dense", "fc" },
                                          { "BatchNorm2d", "bn" }, { "BatchNorm1d", "bn" }, { "GlobalAvgPool", "pool" } };
  for (size_t i = 0; i < G_N_ELEMENTS (known); i++)
    if (strcmp (known[i][0], type) == 0)
      return g_strdup (known[i][1]);
  return g_ascii_strdown (type, -1);
}

static void
set_required (JsonObject *object, const TnOption *option, const char *type)
{
  switch (option->type)
    {
    case TN_OPTION_INT:
      json_object_set_int_member (object, option->name, MAX (strcmp (option->name, "out_channels") == 0 ? 16 : 1, (gint64) option->min));
      break;
    case TN_OPTION_INTS:
      if (option->count > 0)
        json_object_set_int_member (object, option->name, strcmp (type, "Conv2d") == 0 ? 3 : 1);
      else
        {
          JsonArray *list = json_array_new ();
          json_array_add_int_element (list, strcmp (option->name, "perm") == 0 ? 0 : -1);
          json_object_set_array_member (object, option->name, list);
        }
      break;
    case TN_OPTION_CELLS:
      {
        JsonArray *list = json_array_new ();
        JsonObject *inner = json_object_new ();
        json_object_set_string_member (inner, "type", "ReLU");
        json_object_set_string_member (inner, "name", "relu1");
        json_array_add_object_element (list, inner);
        json_object_set_array_member (object, option->name, list);
        break;
      }
    case TN_OPTION_FLOAT:
      json_object_set_double_member (object, option->name, isnan (option->number) ? option->min : option->number);
      break;
    case TN_OPTION_BOOL:
      json_object_set_boolean_member (object, option->name, option->number != 0);
      break;
    case TN_OPTION_TEXT:
    case TN_OPTION_CHOICE:
    case TN_OPTION_INIT:
      json_object_set_string_member (object, option->name, option->text != NULL ? option->text : "zeros");
      break;
    }
}

/* Where a new cell goes: after cell @after, else at the end. */
static gboolean
find_end (JsonNode *root, const char *after, Place *place, guint *index)
{
  JsonObject *model = JSON_NODE_HOLDS_OBJECT (root) ? json_node_get_object (root) : NULL;
  if (model == NULL)
    return FALSE;
  if (after != NULL && find_place (root, after, place))
    {
      *index = place->index + 1;
      return TRUE;
    }
  JsonNode *cells = json_object_get_member (model, "cells");
  if (cells == NULL || !JSON_NODE_HOLDS_ARRAY (cells))
    return FALSE;
  *place = (Place) { model, g_strdup ("cells"), json_node_get_array (cells), 0, g_strdup ("cells") };
  *index = json_array_get_length (place->array);
  return TRUE;
}

char *
tn_model_edit_add (JsonNode *root, const char *after, const char *type)
{
  g_auto (Place) place = { 0 };
  const TnCellClass *klass = tn_cell_class_find (type);
  guint index = 0;
  if (klass == NULL || !find_end (root, after, &place, &index))
    return NULL;
  JsonObject *object = json_object_new ();
  g_autofree char *stem = stem_of (type), *name = new_name (place.array, stem);
  json_object_set_string_member (object, "type", type);
  json_object_set_string_member (object, "name", name);
  for (const TnOption *option = klass->options; option->name != NULL; option++)
    if (option->required)
      set_required (object, option, type);
  if (strcmp (type, "MaxPool2d") == 0 || strcmp (type, "AvgPool2d") == 0)
    {
      json_object_set_int_member (object, "kernel", 2);
      json_object_set_int_member (object, "stride", 2);
    }
  JsonNode *node = json_node_new (JSON_NODE_OBJECT);
  json_node_take_object (node, object);
  put (&place, index, node, -1);
  return path_in (&place, index);
}

char *
tn_model_edit_remove (JsonNode *root, const char *path)
{
  g_auto (Place) place = { 0 };
  if (!find_place (root, path, &place))
    return NULL;
  put (&place, G_MAXUINT, NULL, place.index);
  guint n = json_array_get_length (place.array);
  return n == 0 ? g_strdup ("") : path_in (&place, MIN (place.index, n - 1));
}

char *
tn_model_edit_move (JsonNode *root, const char *path, int by)
{
  g_auto (Place) place = { 0 };
  if (!find_place (root, path, &place))
    return NULL;
  int n = (int) json_array_get_length (place.array), to = CLAMP ((int) place.index + by, 0, n - 1);
  if (to == (int) place.index)
    return NULL;
  JsonNode *node = json_array_dup_element (place.array, place.index);
  /* put() counts places before the element is taken out. */
  put (&place, (guint) (to > (int) place.index ? to + 1 : to), node, place.index);
  return path_in (&place, (guint) to);
}

/* A name that nobody in @array has: its own where it is free, else its stem with a number. */
static void
name_anew (JsonArray *array, JsonObject *object)
{
  const char *type = json_object_get_string_member_with_default (object, "type", "cell");
  g_autofree char *stem = NULL;
  if (json_object_has_member (object, "name"))
    stem = g_strdup (json_object_get_string_member_with_default (object, "name", "cell"));
  else
    stem = stem_of (type);
  if (json_object_has_member (object, "name") && !name_taken (array, stem))
    return;
  size_t n = strlen (stem);
  while (n > 1 && g_ascii_isdigit (stem[n - 1]))
    stem[--n] = '\0';
  g_autofree char *name = new_name (array, stem);
  json_object_set_string_member (object, "name", name);
}

char *
tn_model_edit_copy (JsonNode *root, const char *path)
{
  g_auto (Place) place = { 0 };
  return find_place (root, path, &place) ? tn_json_to_text (json_array_get_element (place.array, place.index), 2) : NULL;
}

/* A cell as far as it can be told before the model is built: an object of a known type. */
static gboolean
check_cell (JsonNode *node, GError **error)
{
  const char *type = JSON_NODE_HOLDS_OBJECT (node) ? json_object_get_string_member_with_default (json_node_get_object (node), "type", NULL) : NULL;
  if (type != NULL && tn_cell_class_find (type) != NULL)
    return TRUE;
  if (type != NULL)
    g_set_error (error, TN_ERROR, TN_ERROR_INVALID_ARGUMENT, _ ("What was copied is no layer: there is no kind “%s”."), type);
  else
    g_set_error_literal (error, TN_ERROR, TN_ERROR_INVALID_ARGUMENT, _ ("What was copied is no layer: it has no “type”."));
  return FALSE;
}

static JsonArray *
parse_cells (const char *text, GError **error)
{
  g_autoptr (JsonNode) node = tn_json_parse (text, -1, error);
  if (node == NULL)
    return NULL;
  g_autoptr (JsonArray) cells = JSON_NODE_HOLDS_ARRAY (node) ? json_array_ref (json_node_get_array (node)) : json_array_new ();
  if (!JSON_NODE_HOLDS_ARRAY (node))
    json_array_add_element (cells, json_node_ref (node));
  for (guint i = 0; i < json_array_get_length (cells); i++)
    if (!check_cell (json_array_get_element (cells, i), error))
      return NULL;
  return g_steal_pointer (&cells);
}

char *
tn_model_edit_paste (JsonNode *root, const char *after, const char *text, GError **error)
{
  g_auto (Place) place = { 0 };
  g_autoptr (JsonArray) cells = parse_cells (text, error);
  guint index = 0;
  if (cells == NULL || !find_end (root, after, &place, &index))
    {
      if (cells != NULL)
        g_set_error_literal (error, TN_ERROR, TN_ERROR_INVALID_ARGUMENT, _ ("The model has no list of layers to put them in."));
      return NULL;
    }
  for (guint i = 0; i < json_array_get_length (cells); i++)
    {
      JsonNode *node = json_array_dup_element (cells, i);
      name_anew (place.array, json_node_get_object (node));
      put (&place, index + i, node, -1);
    }
  return path_in (&place, index);
}

char *
tn_model_edit_duplicate (JsonNode *root, const char *path)
{
  g_auto (Place) place = { 0 };
  if (!find_place (root, path, &place))
    return NULL;
  /* json-glib's copy would share what is in the cell. */
  g_autofree char *text = tn_json_to_text (json_array_get_element (place.array, place.index), 0);
  JsonNode *node = tn_json_parse (text, -1, NULL);
  if (node == NULL)
    return NULL;
  name_anew (place.array, json_node_get_object (node));
  put (&place, place.index + 1, node, -1);
  return path_in (&place, place.index + 1);
}

char *
tn_model_edit_rename (JsonNode *root, const char *path, const char *name)
{
  g_auto (Place) place = { 0 };
  if (!find_place (root, path, &place))
    return NULL;
  JsonObject *object = json_node_get_object (json_array_get_element (place.array, place.index));
  g_autofree char *old = g_strdup (json_object_get_string_member_with_default (object, "name", NULL));
  json_object_set_string_member (object, "name", name);
  for (guint i = place.index + 1; old != NULL && i < json_array_get_length (place.array); i++)
    {
      JsonNode *later = json_array_get_element (place.array, i);
      JsonNode *inputs = JSON_NODE_HOLDS_OBJECT (later) ? json_object_get_member (json_node_get_object (later), "inputs") : NULL;
      if (inputs == NULL || !JSON_NODE_HOLDS_ARRAY (inputs))
        continue;
      JsonArray *renamed = json_array_new (), *list = json_node_get_array (inputs);
      for (guint k = 0; k < json_array_get_length (list); k++)
        {
          const char *input = json_array_get_string_element (list, k);
          json_array_add_string_element (renamed, g_strcmp0 (input, old) == 0 ? name : input);
        }
      json_object_set_array_member (json_node_get_object (later), "inputs", renamed);
    }
  return g_strdup (path);
}

char *
tn_model_edit_set_option (JsonNode *root, const char *path, const char *option, JsonNode *value)
{
  JsonObject *object = tn_model_edit_find (root, path);
  if (object == NULL)
    {
      g_clear_pointer (&value, json_node_unref);
      return NULL;
    }
  if (value == NULL)
    json_object_remove_member (object, option);
  else
    json_object_set_member (object, option, value);
  return g_strdup (path);
}

static const TnParameterReport *
weight_of (const TnModelReport *report, const char *cell_name)
{
  static const char *const suffixes[] = { "weight", "gamma" };
  for (size_t s = 0; s < G_N_ELEMENTS (suffixes); s++)
    {
      g_autofree char *name = g_strdup_printf ("%s.%s", cell_name, suffixes[s]);
      for (guint i = 0; i < report->parameters->len; i++)
        if (strcmp (g_array_index (report->parameters, TnParameterReport, i).name, name) == 0)
          return &g_array_index (report->parameters, TnParameterReport, i);
    }
  return NULL;
}

/* Cells at the top only: those in containers have longer parameter names and their inputs inside. */
void
tn_model_edit_state_sizes (JsonNode *root, const TnModelReport *report)
{
  for (guint i = 0; i < report->cells->len; i++)
    {
      const TnCellReport *cell = report->cells->pdata[i];
      gboolean norm = g_str_has_prefix (cell->type, "BatchNorm");
      const char *option = norm ? "num_features" : "in_channels";
      const TnParameterReport *weight = weight_of (report, cell->name);
      JsonObject *object = tn_model_edit_find (root, cell->path);
      if (weight == NULL || object == NULL || strchr (cell->path, '.') != NULL || json_object_has_member (object, option))
        continue;
      if (!norm && strcmp (cell->type, "Dense") != 0 && strcmp (cell->type, "Conv2d") != 0)
        continue;
      gint64 group = json_object_get_int_member_with_default (object, "group", 1);
      json_object_set_int_member (object, option, norm ? weight->shape.dims[0] : weight->shape.dims[1] * MAX (group, 1));
    }
}

char *
tn_model_freeze_text (const char *old, const char *const *all, const char *const *frozen)
{
  g_autoptr (GString) text = g_string_new (NULL);
  g_autoptr (GHashTable) covered = g_hash_table_new (g_str_hash, g_str_equal);
  g_auto (GStrv) patterns = g_strsplit (old != NULL ? old : "", ",", -1);
  for (char **pattern = patterns; *pattern != NULL; pattern++)
    {
      g_strstrip (*pattern);
      gboolean holds = **pattern != '\0', matches = FALSE;
      for (const char *const *name = all; *name != NULL && holds; name++)
        if (g_pattern_match_simple (*pattern, *name))
          {
            matches = TRUE;
            holds = g_strv_contains (frozen, *name);
          }
      if (!holds || !matches)
        continue;
      g_string_append_printf (text, "%s%s", text->len > 0 ? "," : "", *pattern);
      for (const char *const *name = frozen; *name != NULL; name++)
        if (g_pattern_match_simple (*pattern, *name))
          g_hash_table_add (covered, (gpointer) *name);
    }
  for (const char *const *name = frozen; *name != NULL; name++)
    if (!g_hash_table_contains (covered, *name))
      g_string_append_printf (text, "%s%s", text->len > 0 ? "," : "", *name);
  return g_string_free (g_steal_pointer (&text), FALSE);
}
