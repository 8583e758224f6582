/* SPDX-License-Identifier: Apache-2.0 */
#include "parallel/layout.h"

#include <inttypes.h>
#include <string.h>
#include "base/error.h"

/* MindSpore's dictionary of a layout, and the Python text of one. */

static void
type_error (GError **error, const char *what, const char *wanted)
{
  g_set_error (error, TN_LAYOUT_ERROR, TN_LAYOUT_ERROR_TYPE, _ ("%s must be %s."), what, wanted);
}

/* ---- dictionary ---- */

static JsonNode *
map_entry (const TnLayout *self, int d)
{
  const TnDimMap *dim = &self->dims[d];
  int last = self->mesh->n_axes - 1;
  if (dim->n == 0 && !dim->tuple)
    return json_node_init_int (json_node_alloc (), -1);
  if (dim->n == 1 && !dim->tuple)
    return json_node_init_int (json_node_alloc (), last - dim->axes[0]);
  JsonArray *list = json_array_new ();
  for (int k = 0; k < dim->n; k++)
    json_array_add_int_element (list, dim->axes[k] < 0 ? -1 : last - dim->axes[k]);
  JsonNode *node = json_node_init_array (json_node_alloc (), list);
  json_array_unref (list);
  return node;
}

JsonObject *
tn_layout_to_dict (const TnLayout *self)
{
  JsonObject *dict = json_object_new ();
  JsonArray *sizes = json_array_new (), *map = json_array_new (), *names = json_array_new (), *ranks = json_array_new ();
  for (int i = 0; i < self->mesh->n_axes; i++)
    {
      json_array_add_int_element (sizes, self->mesh->sizes[i]);
      json_array_add_string_element (names, self->mesh->names[i]);
    }
  for (int d = 0; d < self->n_dims; d++)
    json_array_add_element (map, map_entry (self, d));
  for (int64_t i = 0; i < self->mesh->n_ranks; i++)
    json_array_add_int_element (ranks, self->mesh->ranks[i]);
  json_object_set_array_member (dict, "device_matrix", sizes);
  json_object_set_array_member (dict, "tensor_map", map);
  json_object_set_boolean_member (dict, "interleaved_parallel", self->mesh->interleaved);
  json_object_set_array_member (dict, "alias_name", names);
  json_object_set_array_member (dict, "rank_list", ranks);
  return dict;
}

static JsonArray *
array_member (JsonObject *dict, const char *key, gboolean required, GError **error)
{
  JsonNode *node = json_object_get_member (dict, key);
  if (node != NULL && JSON_NODE_HOLDS_ARRAY (node))
    return json_node_get_array (node);
  if (node != NULL || required)
    type_error (error, key, _ ("a list"));
  return NULL;
}

static gboolean
read_ints (JsonArray *array, const char *what, GArray *out, GError **error)
{
  for (guint i = 0; i < json_array_get_length (array); i++)
    {
      JsonNode *node = json_array_get_element (array, i);
      if (!JSON_NODE_HOLDS_VALUE (node) || json_node_get_value_type (node) != G_TYPE_INT64)
        {
          type_error (error, what, _ ("a list of whole numbers"));
          return FALSE;
        }
      int64_t value = json_node_get_int (node);
      g_array_append_val (out, value);
    }
  return TRUE;
}

static TnMesh *
mesh_from_dict (JsonObject *dict, GError **error)
{
  g_autoptr (GArray) sizes = g_array_new (FALSE, FALSE, sizeof (int64_t)), ranks = g_array_sized_new (FALSE, FALSE, sizeof (int64_t), 8);
  g_autoptr (GPtrArray) names = g_ptr_array_new ();
  g_autoptr (GError) failure = NULL;
  JsonArray *matrix = array_member (dict, "device_matrix", TRUE, error);
  if (matrix == NULL || !read_ints (matrix, "device_matrix", sizes, error))
    return NULL;
  JsonArray *alias = array_member (dict, "alias_name", FALSE, &failure);
  JsonArray *list = failure == NULL ? array_member (dict, "rank_list", FALSE, &failure) : NULL;
  if (failure != NULL)
    {
      g_propagate_error (error, g_steal_pointer (&failure));
      return NULL;
    }
  for (guint i = 0; alias != NULL && i < json_array_get_length (alias); i++)
    {
      JsonNode *node = json_array_get_element (alias, i);
      if (!JSON_NODE_HOLDS_VALUE (node) || json_node_get_value_type (node) != G_TYPE_STRING)
        {
          type_error (error, "alias_name", _ ("a list of names"));
          return NULL;
        }
      g_ptr_array_add (names, (char *) json_node_get_string (node));
    }
  if (alias != NULL && names->len != sizes->len)
    {
      g_set_error (error, TN_LAYOUT_ERROR, TN_LAYOUT_ERROR_LENGTHS, _ ("There are %u axes and %u names."), sizes->len, names->len);
      return NULL;
    }
  if (list != NULL && !read_ints (list, "rank_list", ranks, error))
    return NULL;
  return tn_mesh_new ((int) MIN (sizes->len, G_MAXINT), (const int64_t *) sizes->data, alias != NULL ? (const char *const *) names->pdata : NULL,
                      list != NULL ? ranks->len : -1, list != NULL ? (const int64_t *) ranks->data : NULL, error);
}

static gboolean
read_map_entry (const TnMesh *mesh, JsonNode *node, TnDimMap *dim, GError **error)
{
  g_autoptr (GArray) values = g_array_new (FALSE, FALSE, sizeof (int64_t));
  *dim = (TnDimMap){ .tuple = JSON_NODE_HOLDS_ARRAY (node) };
  if (dim->tuple && !read_ints (json_node_get_array (node), "tensor_map", values, error))
    return FALSE;
  if (!dim->tuple && (!JSON_NODE_HOLDS_VALUE (node) || json_node_get_value_type (node) != G_TYPE_INT64))
    {
      type_error (error, "tensor_map", _ ("a list of whole numbers or lists of them"));
      return FALSE;
    }
  int64_t single = dim->tuple ? 0 : json_node_get_int (node);
  if (!dim->tuple && single != -1)
    g_array_append_val (values, single);
  for (guint k = 0; k < values->len; k++)
    {
      int64_t value = g_array_index (values, int64_t, k);
      if (value < -1 || value >= mesh->n_axes || k >= TN_MESH_MAX_AXES)
        {
          g_set_error (error, TN_LAYOUT_ERROR, TN_LAYOUT_ERROR_AXIS, _ ("tensor_map has %" PRId64 ", the mesh has %d axes."), value, mesh->n_axes);
          return FALSE;
        }
      dim->axes[dim->n++] = (int8_t) (value < 0 ? -1 : mesh->n_axes - 1 - value);
    }
  return TRUE;
}

TnLayout *
tn_layout_from_dict (JsonObject *dict, GError **error)
{
  TnDimMap dims[TN_MAX_DIMS];
  g_autoptr (TnMesh) mesh = mesh_from_dict (dict, error);
  JsonArray *map = mesh != NULL ? array_member (dict, "tensor_map", TRUE, error) : NULL;
  if (map == NULL)
    return NULL;
  guint n = json_array_get_length (map);
  for (guint d = 0; d < MIN (n, TN_MAX_DIMS); d++)
    if (!read_map_entry (mesh, json_array_get_element (map, d), &dims[d], error))
      return NULL;
  return tn_layout_new (mesh, (int) MIN (n, G_MAXINT), dims, 0, TN_PARTIAL_NONE, error);
}

/* ---- Python text ---- */

/* A Python literal. Parsed with a bound on depth; anything that is no literal is refused. */
typedef struct _Literal Literal;
struct _Literal
{
  enum { TUPLE, LIST, INT, FLOAT, STRING, NONE } kind;
  int64_t number;
  char *text;
  GPtrArray *items; /* of Literal */
};

#define MAX_LITERAL_DEPTH 8

static void
literal_free (gpointer data)
{
  Literal *self = data;
  if (self == NULL)
    return;
  g_free (self->text);
  g_clear_pointer (&self->items, g_ptr_array_unref);
  g_free (self);
}
G_DEFINE_AUTOPTR_CLEANUP_FUNC (Literal, literal_free)

static const char *
skip_space (const char *at)
{
  while (g_ascii_isspace (*at))
    at++;
  return at;
}

static Literal *parse_literal (const char **at, int depth);

/* Up to @close; *commas counts them. NULL where the text is wrong. */
static GPtrArray *
parse_items (const char **at, char close, int depth, int *commas)
{
  g_autoptr (GPtrArray) items = g_ptr_array_new_with_free_func (literal_free);
  *commas = 0;
  for (*at = skip_space (*at); **at != close; *at = skip_space (*at))
    {
      Literal *item = parse_literal (at, depth + 1);
      if (item == NULL)
        return NULL;
      g_ptr_array_add (items, item);
      *at = skip_space (*at);
      if (**at == ',')
        {
          (*at)++;
          (*commas)++;
        }
      else if (**at != close)
        return NULL;
    }
  (*at)++;
  return g_steal_pointer (&items);
}

static Literal *
parse_number (const char **at)
{
  gint64 whole;
  size_t n = strspn (*at, "+-0123456789.eE_");
  g_autofree char *text = g_strndup (*at, n);
  Literal *self = g_new0 (Literal, 1);
  self->kind = g_ascii_string_to_signed (text, 10, G_MININT64, G_MAXINT64, &whole, NULL) ? INT : FLOAT;
  self->number = self->kind == INT ? whole : 0;
  *at += n;
  return self;
}

static Literal *
parse_word (const char **at)
{
  static const char *const words[] = { "None", "True", "False" };
  for (int i = 0; i < 3; i++)
    if (g_str_has_prefix (*at, words[i]))
      {
        Literal *self = g_new0 (Literal, 1);
        self->kind = i == 0 ? NONE : INT; /* a bool is an int in Python */
        self->number = i == 1;
        *at += strlen (words[i]);
        return self;
      }
  return NULL;
}

static Literal *
parse_literal (const char **at, int depth)
{
  *at = skip_space (*at);
  char first = **at;
  if (depth > MAX_LITERAL_DEPTH || first == '\0')
    return NULL;
  if (first == '\'' || first == '"')
    {
      const char *end = strchr (*at + 1, first);
      if (end == NULL)
        return NULL;
      Literal *self = g_new0 (Literal, 1);
      self->kind = STRING;
      self->text = g_strndup (*at + 1, (gsize) (end - *at - 1));
      *at = end + 1;
      return self;
    }
  if (g_ascii_isdigit (first) || first == '-' || first == '+' || first == '.')
    return parse_number (at);
  if (first != '(' && first != '[')
    return parse_word (at);
  int commas;
  (*at)++;
  GPtrArray *items = parse_items (at, first == '(' ? ')' : ']', depth, &commas);
  if (items == NULL)
    return NULL;
  if (first == '(' && items->len == 1 && commas == 0) /* parentheses only */
    {
      Literal *inner = g_ptr_array_steal_index (items, 0);
      g_ptr_array_unref (items);
      return inner;
    }
  Literal *self = g_new0 (Literal, 1);
  self->kind = first == '(' ? TUPLE : LIST;
  self->items = items;
  return self;
}

/* The constructor's rules 1 to 13, in their order. */
static TnMesh *
mesh_from_literals (const Literal *matrix, const Literal *alias, const Literal *list, GError **error)
{
  g_autoptr (GArray) sizes = g_array_new (FALSE, FALSE, sizeof (int64_t)), ranks = g_array_sized_new (FALSE, FALSE, sizeof (int64_t), 8);
  g_autoptr (GPtrArray) names = g_ptr_array_new ();
  const char *wrong = matrix->kind != TUPLE ? "device_matrix" : alias->kind != TUPLE ? "alias_name" : NULL;
  if (wrong != NULL)
    {
      type_error (error, wrong, _ ("a tuple"));
      return NULL;
    }
  if (matrix->items->len != alias->items->len)
    {
      g_set_error (error, TN_LAYOUT_ERROR, TN_LAYOUT_ERROR_LENGTHS, _ ("There are %u axes and %u names."), matrix->items->len, alias->items->len);
      return NULL;
    }
  for (guint i = 0; i < matrix->items->len && wrong == NULL; i++)
    {
      const Literal *size = matrix->items->pdata[i];
      wrong = size->kind != INT ? "device_matrix" : NULL;
      g_array_append_val (sizes, size->number);
    }
  for (guint i = 0; i < alias->items->len && wrong == NULL; i++)
    {
      const Literal *name = alias->items->pdata[i];
      wrong = name->kind != STRING ? "alias_name" : NULL;
      g_ptr_array_add (names, name->text);
    }
  gboolean has_list = list != NULL && list->kind != NONE;
  if (wrong == NULL && has_list && list->kind != LIST)
    wrong = "rank_list";
  for (guint i = 0; wrong == NULL && has_list && i < list->items->len; i++)
    {
      const Literal *rank = list->items->pdata[i];
      wrong = rank->kind != INT ? "rank_list" : NULL;
      g_array_append_val (ranks, rank->number);
    }
  if (wrong != NULL)
    {
      type_error (error, wrong, _ ("of whole numbers (names in alias_name, a list for rank_list)"));
      return NULL;
    }
  return tn_mesh_new ((int) sizes->len, (const int64_t *) sizes->data, (const char *const *) names->pdata, has_list ? ranks->len : -1,
                      has_list ? (const int64_t *) ranks->data : NULL, error);
}

static gboolean
add_axis (const TnMesh *mesh, const Literal *name, int d, TnDimMap *dim, GError **error)
{
  int axis = name->kind == STRING ? tn_mesh_axis (mesh, name->text) : -1;
  gboolean none = name->kind == STRING && strcmp (name->text, "None") == 0;
  if ((axis < 0 && !none) || dim->n == TN_MESH_MAX_AXES)
    {
      g_set_error (error, TN_LAYOUT_ERROR, TN_LAYOUT_ERROR_AXIS, _ ("Dimension %d names “%s”, which is no axis of the mesh."), d, name->kind == STRING ? name->text : "?");
      return FALSE;
    }
  if (axis >= 0 || dim->tuple)
    dim->axes[dim->n++] = (int8_t) axis;
  return TRUE;
}

static TnLayout *
layout_from_call (TnMesh *mesh, const GPtrArray *call, GError **error)
{
  TnDimMap dims[TN_MAX_DIMS] = { 0 };
  for (guint d = 0; d < MIN (call->len, TN_MAX_DIMS); d++)
    {
      const Literal *entry = call->pdata[d];
      dims[d].tuple = entry->kind == TUPLE;
      for (guint k = 0; k < (dims[d].tuple ? entry->items->len : 1); k++)
        if (!add_axis (mesh, dims[d].tuple ? entry->items->pdata[k] : entry, (int) d, &dims[d], error))
          return NULL;
    }
  return tn_layout_new (mesh, (int) MIN (call->len, G_MAXINT), dims, 0, TN_PARTIAL_NONE, error);
}

/* "device_matrix, alias_name, rank_list" with or without keywords, up to the closing parenthesis. */
static gboolean
parse_constructor (const char **at, Literal *arguments[3])
{
  static const char *const keys[] = { "device_matrix", "alias_name", "rank_list" };
  for (int i = 0; *(*at = skip_space (*at)) != ')'; i++)
    {
      int k = i;
      for (int key = 0; key < 3; key++)
        if (g_str_has_prefix (*at, keys[key]))
          {
            *at = skip_space (*at + strlen (keys[key]));
            k = key;
            if (*(*at)++ != '=')
              return FALSE;
          }
      if (k > 2 || arguments[k] != NULL || (arguments[k] = parse_literal (at, 0)) == NULL)
        return FALSE;
      *at = skip_space (*at);
      if (**at == ',')
        (*at)++;
      else if (**at != ')')
        return FALSE;
    }
  (*at)++;
  return arguments[0] != NULL && arguments[1] != NULL;
}

TnLayout *
tn_layout_parse_python (const char *text, TnMesh **mesh_out, GError **error)
{
  Literal *arguments[3] = { NULL };
  g_autoptr (GPtrArray) call = NULL;
  const char *at = skip_space (text);
  int commas;
  gboolean ok = g_str_has_prefix (at, "Layout");
  at = ok ? skip_space (at + strlen ("Layout")) : at;
  ok = ok && *at == '(';
  at += ok;
  ok = ok && parse_constructor (&at, arguments);
  at = ok ? skip_space (at) : at;
  if (ok && *at == '(')
    {
      at++;
      call = parse_items (&at, ')', 0, &commas);
      ok = call != NULL && *skip_space (at) == '\0';
    }
  else
    ok = ok && *at == '\0';
  g_autoptr (Literal) matrix = arguments[0], alias = arguments[1], list = arguments[2];
  if (!ok)
    {
      g_set_error (error, TN_LAYOUT_ERROR, TN_LAYOUT_ERROR_TYPE, _ ("“%.60s” is no layout: write Layout((2, 2), ('dp', 'mp'))('dp', 'None')."), text);
      return NULL;
    }
  g_autoptr (TnMesh) mesh = mesh_from_literals (matrix, alias, list, error);
  if (mesh == NULL)
    return NULL;
  if (mesh_out != NULL)
    *mesh_out = tn_mesh_ref (mesh);
  if (call != NULL)
    return layout_from_call (mesh, call, error);
  g_set_error (error, TN_LAYOUT_ERROR, TN_LAYOUT_ERROR_UNSET, _ ("The layout was not called with axes yet, so it has no tensor map."));
  return NULL;
}

static void
append_name (GString *text, const TnLayout *self, int axis)
{
  g_string_append_printf (text, "'%s'", axis >= 0 ? self->mesh->names[axis] : "None");
}

char *
tn_layout_to_python (const TnLayout *self)
{
  const TnMesh *mesh = self->mesh;
  GString *text = g_string_new ("Layout((");
  for (int i = 0; i < mesh->n_axes; i++)
    g_string_append_printf (text, "%s%" PRId64, i > 0 ? ", " : "", mesh->sizes[i]);
  g_string_append (text, mesh->n_axes == 1 ? ",), (" : "), (");
  for (int i = 0; i < mesh->n_axes; i++)
    g_string_append_printf (text, "%s'%s'", i > 0 ? ", " : "", mesh->names[i]);
  g_string_append (text, mesh->n_axes == 1 ? ",)" : ")");
  for (int64_t i = 0; !mesh->plain && i < mesh->n_ranks; i++)
    g_string_append_printf (text, "%s%" PRId64 "%s", i == 0 ? ", rank_list=[" : ", ", mesh->ranks[i], i == mesh->n_ranks - 1 ? "]" : "");
  g_string_append (text, ")(");
  for (int d = 0; d < self->n_dims; d++)
    {
      const TnDimMap *dim = &self->dims[d];
      gboolean tuple = dim->tuple || dim->n > 1;
      g_string_append (text, d > 0 ? ", " : "");
      if (dim->n == 0 && !tuple)
        append_name (text, self, -1);
      g_string_append (text, tuple ? "(" : "");
      for (int k = 0; k < dim->n; k++)
        {
          g_string_append (text, k > 0 ? ", " : "");
          append_name (text, self, dim->axes[k]);
        }
      g_string_append (text, !tuple ? "" : dim->n == 1 ? ",)" : ")");
    }
  return g_string_free (g_string_append_c (text, ')'), FALSE);
}
