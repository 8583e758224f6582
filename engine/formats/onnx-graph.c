/* SPDX-License-Identifier: Apache-2.0 */
#include "formats/onnx-graph.h"
#include <inttypes.h>
#include "base/error.h"
#include "formats/protobuf.h"
#include <string.h>

#define MAX_NESTING 8
#define MAX_TEXT 512
#define MAX_ATTR_ITEMS 64

typedef struct
{
  TnGraphDocument *document;
  gboolean bad; /* some message ended early */
} Reader;

typedef struct Names Names;
struct Names
{
  Names *above;       /* values of the graph around a body are seen in it */
  GHashTable *values; /* name -> item + 1 */
  GHashTable *types;  /* name -> TypeText */
};

typedef struct
{
  char *shape;
  const char *dtype;
  double bytes;
} TypeText;

static void
type_free (gpointer data)
{
  g_free (((TypeText *) data)->shape);
  g_free (data);
}

/* ---- pieces ---- */

static char *
text_of (const TnPbField *field, gsize max)
{
  g_autofree char *text = g_strndup ((const char *) field->bytes, MIN (field->n, max));
  return g_utf8_make_valid (text, -1);
}

static const char *
dtype_name (uint64_t code, double *size)
{
  static const struct
  {
    const char *name;
    double size;
  } types[] = { { "", 0 }, { "float32", 4 }, { "uint8", 1 }, { "int8", 1 }, { "uint16", 2 }, { "int16", 2 }, { "int32", 4 }, { "int64", 8 },
                { "string", 0 }, { "bool", 1 }, { "float16", 2 }, { "float64", 8 }, { "uint32", 4 }, { "uint64", 8 }, { "complex64", 8 },
                { "complex128", 16 }, { "bfloat16", 2 }, { "float8e4m3fn", 1 }, { "float8e4m3fnuz", 1 }, { "float8e5m2", 1 },
                { "float8e5m2fnuz", 1 }, { "uint4", 0.5 }, { "int4", 0.5 }, { "float4e2m1", 0.5 } };
  gsize i = code < G_N_ELEMENTS (types) ? code : 0;
  *size = types[i].size;
  return types[i].name;
}

/* "1×3×224×224", with the names of dimensions that have no number. */
static void
append_dim (GString *out, const char *name, int64_t value, double *count)
{
  if (out->len > 0)
    g_string_append (out, "×");
  if (name != NULL && name[0] != '\0')
    g_string_append (out, name);
  else if (value < 0)
    g_string_append_c (out, '?');
  else
    g_string_append_printf (out, "%" PRId64, (gint64) value);
  *count = name != NULL || value < 0 ? 0 : *count * (double) value;
}

static void
read_shape (Reader *self, const TnPbField *shape, GString *out, double *count)
{
  TnPbReader dims = tn_pb_reader (shape->bytes, shape->n);
  TnPbField field, part;
  int n = 0;
  while (tn_pb_next (&dims, &field) && n < 64)
    if (field.number == 1 && field.wire == TN_PB_BYTES)
      {
        TnPbReader dim = tn_pb_reader (field.bytes, field.n);
        int64_t value = -1;
        g_autofree char *name = NULL;
        while (tn_pb_next (&dim, &part))
          if (part.number == 1 && part.wire == TN_PB_VARINT)
            value = (int64_t) part.value;
          else if (part.number == 2 && part.wire == TN_PB_BYTES)
            {
              g_free (name);
              name = text_of (&part, 64);
            }
        append_dim (out, name, value, count);
        n++;
        self->bad |= dim.bad;
      }
  if (n == 0)
    g_string_append (out, "scalar");
  self->bad |= dims.bad;
}

/* TypeProto: what a tensor looks like; other types have their kind alone. */
static void
read_type (Reader *self, const TnPbField *type, TypeText *text)
{
  TnPbReader outer = tn_pb_reader (type->bytes, type->n);
  TnPbField field, part;
  double size = 0, count = 1;
  while (tn_pb_next (&outer, &field))
    if (field.number == 1 && field.wire == TN_PB_BYTES)
      {
        TnPbReader tensor = tn_pb_reader (field.bytes, field.n);
        g_autoptr (GString) shape = g_string_new (NULL);
        while (tn_pb_next (&tensor, &part))
          if (part.number == 1 && part.wire == TN_PB_VARINT)
            text->dtype = dtype_name (part.value, &size);
          else if (part.number == 2 && part.wire == TN_PB_BYTES && shape->len == 0)
            read_shape (self, &part, shape, &count);
        g_free (text->shape);
        text->shape = g_strdup (shape->str);
        text->bytes = shape->len > 0 ? count * size : 0;
        self->bad |= tensor.bad;
      }
    else if (field.number == 4 || field.number == 9)
      text->dtype = field.number == 4 ? "sequence" : "optional";
  self->bad |= outer.bad;
}

static char *
read_value_info (Reader *self, const TnPbField *info, TypeText *text)
{
  TnPbReader reader = tn_pb_reader (info->bytes, info->n);
  TnPbField field;
  char *name = NULL;
  while (tn_pb_next (&reader, &field))
    if (field.number == 1 && field.wire == TN_PB_BYTES && name == NULL)
      name = text_of (&field, MAX_TEXT);
    else if (field.number == 2 && field.wire == TN_PB_BYTES)
      read_type (self, &field, text);
  self->bad |= reader.bad;
  return name;
}

/* TensorProto without its numbers. */
static char *
read_tensor (Reader *self, const TnPbField *tensor, TypeText *text)
{
  TnPbReader reader = tn_pb_reader (tensor->bytes, tensor->n);
  TnPbField field;
  g_autoptr (GString) shape = g_string_new (NULL);
  double size = 0, count = 1;
  char *name = NULL;
  int n = 0;
  while (tn_pb_next (&reader, &field))
    if (field.number == 1 && field.wire == TN_PB_VARINT && n++ < 64)
      append_dim (shape, NULL, (int64_t) field.value, &count);
    else if (field.number == 1 && field.wire == TN_PB_BYTES)
      {
        TnPbReader dims = tn_pb_reader (field.bytes, field.n);
        uint64_t value;
        while (dims.at < dims.end && n++ < 64 && tn_pb_read_varint (&dims, &value))
          append_dim (shape, NULL, (int64_t) value, &count);
      }
    else if (field.number == 2 && field.wire == TN_PB_VARINT)
      text->dtype = dtype_name (field.value, &size);
    else if (field.number == 8 && field.wire == TN_PB_BYTES && name == NULL)
      name = text_of (&field, MAX_TEXT);
  text->shape = g_strdup (shape->len > 0 ? shape->str : "scalar");
  text->bytes = count * size;
  self->bad |= reader.bad;
  return name;
}

/* ---- names ---- */

static int
find_value (const Names *names, const char *name)
{
  for (; names != NULL; names = names->above)
    {
      int found = GPOINTER_TO_INT (g_hash_table_lookup (names->values, name));
      if (found > 0)
        return found - 1;
    }
  return -1;
}

/* "/conv1/Conv" lies in conv1, "layer1.0.conv1.weight" in layer1/0/conv1; what is before the last part, with "/" between. */
static char *
scope_of (const char *prefix, const char *name, gboolean dots)
{
  g_autofree char *path = g_strdup (name[0] == '/' ? name + 1 : name);
  if (dots && strchr (path, '/') == NULL)
    g_strdelimit (path, ".", '/');
  char *slash = strrchr (path, '/');
  if (slash != NULL)
    *slash = '\0';
  else
    path[0] = '\0';
  if (prefix != NULL)
    return path[0] != '\0' ? g_strconcat (prefix, "/", path, NULL) : g_strdup (prefix);
  return g_steal_pointer (&path);
}

static const char *
last_part (const char *name)
{
  const char *slash = strrchr (name, '/');
  return slash != NULL && slash[1] != '\0' ? slash + 1 : name;
}

/* ---- items ---- */

static int
add_value (Reader *self, Names *names, const char *name, const TypeText *type, TnItemKind kind, const char *prefix)
{
  static const char *const ops[] = { "", "Input", "Output", "Parameter", "", "Constant" };
  g_autofree char *scope = kind == TN_ITEM_PARAMETER ? scope_of (prefix, name, TRUE) : g_strdup (prefix);
  TnGraphItem item = { .name = name, .label = last_part (name), .op = ops[kind], .kind = kind, .from = -1, .order = -1, .shape = type->shape,
                       .dtype = type->dtype, .output_bytes = type->bytes };
  item.scope = tn_graph_document_scope (self->document, scope);
  int id = tn_graph_document_add (self->document, &item);
  if (id >= 0 && kind != TN_ITEM_OUTPUT)
    g_hash_table_insert (names->values, g_strdup (name), GINT_TO_POINTER (id + 1));
  return id;
}

static void read_graph (Reader *self, const TnPbField *graph, Names *above, const char *prefix, int depth);

static void
append_number (GString *out, double value)
{
  char text[G_ASCII_DTOSTR_BUF_SIZE];
  g_string_append (out, g_ascii_formatd (text, sizeof text, "%.7g", value));
}

static void
append_ints (GString *out, const TnPbField *field)
{
  TnPbReader packed = tn_pb_reader (field->bytes, field->n);
  uint64_t value = field->value;
  gboolean single = field->wire == TN_PB_VARINT;
  for (int i = 0; i < MAX_ATTR_ITEMS && (single ? i == 0 : packed.at < packed.end && tn_pb_read_varint (&packed, &value)); i++)
    g_string_append_printf (out, "%s%" PRId64, out->len > 0 ? ", " : "", (gint64) value);
}

/* One AttributeProto; bodies are read by the caller. */
static void
read_attr (Reader *self, const TnPbField *attr, const char *scope, Names *names, int depth)
{
  TnPbReader reader = tn_pb_reader (attr->bytes, attr->n);
  TnPbField field;
  g_autofree char *name = NULL;
  g_autoptr (GString) value = g_string_new (NULL);
  int n = 0;
  while (tn_pb_next (&reader, &field) && n < 100000)
    {
      n++;
      if (field.number == 1 && field.wire == TN_PB_BYTES && name == NULL)
        name = text_of (&field, MAX_TEXT);
      else if ((field.number == 2 || field.number == 7) && field.wire == TN_PB_FIXED32 && value->len < 1024)
        {
          if (value->len > 0)
            g_string_append (value, ", ");
          append_number (value, (double) tn_pb_float (&field));
        }
      else if ((field.number == 3 || field.number == 8) && (field.wire == TN_PB_VARINT || field.wire == TN_PB_BYTES) && value->len < 1024)
        append_ints (value, &field);
      else if ((field.number == 4 || field.number == 9) && field.wire == TN_PB_BYTES && value->len < 1024)
        {
          g_autofree char *text = text_of (&field, 256);
          g_string_append_printf (value, "%s\"%s\"", value->len > 0 ? ", " : "", text);
        }
      else if (field.number == 5 && field.wire == TN_PB_BYTES)
        {
          TypeText type = { 0 };
          g_autofree char *unused = read_tensor (self, &field, &type);
          g_string_append_printf (value, "tensor %s %s", type.dtype != NULL ? type.dtype : "", type.shape);
          g_free (type.shape);
        }
    }
  self->bad |= reader.bad;
  if (name != NULL)
    tn_graph_document_add_attr (self->document, name, value->str);
}

static void
read_bodies (Reader *self, const TnPbField *node, const char *scope, Names *names, int depth)
{
  TnPbReader reader = tn_pb_reader (node->bytes, node->n);
  TnPbField field, part;
  if (depth >= MAX_NESTING)
    return;
  while (tn_pb_next (&reader, &field))
    if (field.number == 5 && field.wire == TN_PB_BYTES)
      {
        TnPbReader attr = tn_pb_reader (field.bytes, field.n);
        g_autofree char *name = NULL;
        while (tn_pb_next (&attr, &part))
          if (part.number == 1 && part.wire == TN_PB_BYTES && name == NULL)
            name = text_of (&part, MAX_TEXT);
          else if ((part.number == 6 || part.number == 11) && part.wire == TN_PB_BYTES)
            {
              g_autofree char *below = g_strconcat (scope, "/", name != NULL ? name : "body", NULL);
              read_graph (self, &part, names, below, depth + 1);
            }
      }
}

typedef struct
{
  int id;
  GPtrArray *inputs;
  TnPbField field;
  char *body_scope;
} Placed;

static void
placed_clear (gpointer data)
{
  g_ptr_array_unref (((Placed *) data)->inputs);
  g_free (((Placed *) data)->body_scope);
}

static void
read_node (Reader *self, const TnPbField *node, Names *names, const char *prefix, int depth, GArray *placed)
{
  TnPbReader reader = tn_pb_reader (node->bytes, node->n);
  TnPbField field;
  g_autofree char *name = NULL, *op = NULL, *domain = NULL;
  Placed place = { .inputs = g_ptr_array_new_with_free_func (g_free), .field = *node };
  g_autoptr (GPtrArray) outputs = g_ptr_array_new_with_free_func (g_free);
  gboolean body = FALSE;
  while (tn_pb_next (&reader, &field))
    {
      if (field.wire != TN_PB_BYTES)
        continue;
      char **single = field.number == 3 ? &name : field.number == 4 ? &op : field.number == 7 ? &domain : NULL;
      if (field.number <= 2)
        g_ptr_array_add (field.number == 1 ? place.inputs : outputs, text_of (&field, MAX_TEXT));
      else if (single != NULL && *single == NULL)
        *single = text_of (&field, MAX_TEXT);
    }
  self->bad |= reader.bad;
  const char *first = outputs->len > 0 ? outputs->pdata[0] : "";
  if (op == NULL)
    op = g_strdup ("?");
  if (name == NULL || name[0] == '\0')
    {
      g_free (name);
      name = g_strdup (first[0] != '\0' ? first : op);
    }
  g_autofree char *scope = scope_of (prefix, name, strchr (name, '/') == NULL && g_str_has_suffix (name, op));
  TypeText *type = g_hash_table_lookup (names->types, first);
  TnGraphItem item = { .name = name, .label = last_part (name), .op = op, .from = -1, .order = -1,
                       .kind = strcmp (op, "Constant") == 0 && place.inputs->len == 0 ? TN_ITEM_CONSTANT : TN_ITEM_OPERATOR };
  if (type != NULL)
    {
      item.shape = type->shape;
      item.dtype = type->dtype;
      item.output_bytes = type->bytes;
    }
  item.scope = tn_graph_document_scope (self->document, scope);
  place.id = tn_graph_document_add (self->document, &item);
  if (place.id < 0)
    {
      placed_clear (&place);
      return;
    }
  if (domain != NULL && domain[0] != '\0' && strcmp (domain, "ai.onnx") != 0)
    tn_graph_document_add_attr (self->document, "domain", domain);
  reader = tn_pb_reader (node->bytes, node->n);
  while (tn_pb_next (&reader, &field))
    if (field.number == 5 && field.wire == TN_PB_BYTES)
      {
        read_attr (self, &field, scope, names, depth);
        body = TRUE;
      }
  for (guint i = 0; i < outputs->len; i++)
    if (((const char *) outputs->pdata[i])[0] != '\0')
      g_hash_table_insert (names->values, g_strdup (outputs->pdata[i]), GINT_TO_POINTER (place.id + 1));
  if (body)
    place.body_scope = scope[0] != '\0' ? g_strconcat (scope, "/", last_part (name), NULL) : g_strdup (last_part (name));
  g_array_append_val (placed, place);
}

static void
link_inputs (Reader *self, const Names *names, const Placed *place)
{
  for (guint i = 0; i < place->inputs->len; i++)
    {
      const char *name = place->inputs->pdata[i];
      int from = name[0] != '\0' ? find_value (names, name) : -1;
      if (from >= 0)
        tn_graph_document_link (self->document, &(TnGraphLink){ .from = from, .to = place->id, .to_port = (int) i,
                                                                .bytes = tn_graph_document_item (self->document, from)->output_bytes });
    }
}

/* What only moves weights around is a constant to whoever looks at the model. */
static void
set_constant (Reader *self, const Names *names, const Placed *place)
{
  static const char *const movers[] = { "ConstantOfShape", "Identity", "Cast", "Transpose", "Reshape", "Unsqueeze", "Squeeze", "Shape", "Range", NULL };
  TnGraphItem *item = tn_graph_document_item (self->document, place->id);
  if (!g_strv_contains (movers, item->op))
    return;
  for (guint i = 0; i < place->inputs->len; i++)
    {
      int from = find_value (names, place->inputs->pdata[i]);
      TnItemKind kind = from >= 0 ? tn_graph_document_item (self->document, from)->kind : TN_ITEM_CONSTANT;
      if (kind != TN_ITEM_CONSTANT && kind != TN_ITEM_PARAMETER)
        return;
    }
  item->kind = TN_ITEM_CONSTANT;
}

static void
read_graph (Reader *self, const TnPbField *graph, Names *above, const char *prefix, int depth)
{
  Names names = { .above = above, .values = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, NULL),
                  .types = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, type_free) };
  g_autoptr (GArray) placed = g_array_new (FALSE, FALSE, sizeof (Placed));
  g_array_set_clear_func (placed, placed_clear);
  TnPbField field;
  /* Types and initializers first, as nodes stand before them. */
  for (int pass = 0; pass < 4; pass++)
    {
      TnPbReader reader = tn_pb_reader (graph->bytes, graph->n);
      while (tn_pb_next (&reader, &field))
        {
          if (field.wire != TN_PB_BYTES)
            continue;
          TypeText type = { 0 };
          g_autofree char *name = NULL;
          if (pass == 0 && (field.number == 13 || field.number == 12))
            {
              name = read_value_info (self, &field, &type);
              if (name != NULL)
                g_hash_table_insert (names.types, g_strdup (name), g_memdup2 (&type, sizeof type));
              else
                g_free (type.shape);
              continue;
            }
          if (pass == 1 && field.number == 5)
            {
              name = read_tensor (self, &field, &type);
              if (name != NULL)
                add_value (self, &names, name, &type, TN_ITEM_PARAMETER, prefix);
            }
          else if (pass == 2 && field.number == 11)
            {
              name = read_value_info (self, &field, &type); /* IR 3 and before name initializers here too */
              if (name != NULL && g_hash_table_lookup (names.values, name) == NULL)
                add_value (self, &names, name, &type, TN_ITEM_INPUT, prefix);
            }
          else if (pass == 3 && field.number == 1)
            read_node (self, &field, &names, prefix, depth, placed);
          g_free (type.shape);
        }
      self->bad |= reader.bad;
    }
  for (guint i = 0; i < placed->len; i++)
    {
      link_inputs (self, &names, &g_array_index (placed, Placed, i));
      set_constant (self, &names, &g_array_index (placed, Placed, i));
    }
  for (guint i = 0; i < placed->len; i++)
    if (g_array_index (placed, Placed, i).body_scope != NULL)
      read_bodies (self, &g_array_index (placed, Placed, i).field, g_array_index (placed, Placed, i).body_scope, &names, depth);
  TnPbReader reader = tn_pb_reader (graph->bytes, graph->n);
  while (tn_pb_next (&reader, &field))
    if (field.number == 12 && field.wire == TN_PB_BYTES)
      {
        TypeText type = { 0 };
        g_autofree char *name = read_value_info (self, &field, &type);
        int from = name != NULL ? find_value (&names, name) : -1;
        int id = name != NULL ? add_value (self, &names, name, &type, TN_ITEM_OUTPUT, prefix) : -1;
        if (from >= 0 && id >= 0)
          tn_graph_document_link (self->document, &(TnGraphLink){ .from = from, .to = id, .bytes = type.bytes });
        g_free (type.shape);
      }
  g_hash_table_unref (names.values);
  g_hash_table_unref (names.types);
}

gboolean
tn_onnx_graph_sniff (const void *data, gsize n)
{
  TnPbReader reader = tn_pb_reader (data, n);
  TnPbField field;
  for (int i = 0; i < 4 && tn_pb_next (&reader, &field); i++)
    if (field.number > 26 || (field.number == 1 && field.wire != TN_PB_VARINT) || (field.number == 7 && field.wire != TN_PB_BYTES))
      return FALSE;
    else if (field.number == 7 || (field.number == 1 && i == 0))
      return TRUE;
  return FALSE;
}

/* A file that was cut ends inside its graph: the reader of the whole refuses the last field, so its beginning is read by hand. */
static gboolean
find_graph (const uint8_t *data, gsize n, TnPbField *graph, gboolean *cut)
{
  TnPbReader reader = tn_pb_reader (data, n);
  TnPbField field;
  gboolean found = FALSE;
  const uint8_t *before = data;
  for (; tn_pb_next (&reader, &field); before = reader.at)
    if (field.number == 7 && field.wire == TN_PB_BYTES && !found)
      {
        *graph = field;
        found = TRUE;
      }
  *cut = reader.bad;
  if (found || !reader.bad)
    return found;
  reader = tn_pb_reader (before, (gsize) (data + n - before));
  uint64_t key, length;
  if (!tn_pb_read_varint (&reader, &key) || key != (7 << 3 | TN_PB_BYTES) || !tn_pb_read_varint (&reader, &length))
    return FALSE;
  *graph = (TnPbField){ .number = 7, .wire = TN_PB_BYTES, .bytes = reader.at, .n = (size_t) (reader.end - reader.at) };
  return TRUE;
}

TnGraphDocument *
tn_onnx_graph_read (const void *data, gsize n, const char *name, GError **error)
{
  TnPbField graph;
  gboolean cut = FALSE;
  if (!find_graph (data, n, &graph, &cut))
    {
      g_set_error (error, TN_ERROR, TN_ERROR_FORMAT, _ ("There is no graph in this file: it is no ONNX model, or it is cut off before its graph begins"));
      return NULL;
    }
  Reader self = { .document = tn_graph_document_new (name, "ONNX"), .bad = cut };
  read_graph (&self, &graph, NULL, NULL, 0);
  if (self.bad)
    {
      g_autofree char *note = g_strdup_printf (_ ("The model is damaged or cut off. Graph up to node %u shown"), self.document->item_array->len);
      tn_graph_document_set_note (self.document, note);
    }
  tn_graph_document_finish (self.document);
  return self.document;
}
