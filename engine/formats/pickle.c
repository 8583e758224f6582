/* SPDX-License-Identifier: Apache-2.0 */
#include "formats/pickle.h"

#include <string.h>
#include "base/error.h"

#define MAX_VALUES 8000000 /* about 0.7 GB of them, whatever the file says */

struct _TnPickle
{
  GPtrArray *values; /* all that were made */
  const TnPickleValue *root;
};

typedef struct
{
  TnPickle *pickle;
  const uint8_t *start, *at, *end;
  GPtrArray *stack;  /* TnPickleValue; NULL is a mark */
  GHashTable *memo;  /* number -> TnPickleValue */
  GError **error;
} Machine;

static void
free_value (gpointer data)
{
  TnPickleValue *value = data;
  g_free (value->text);
  g_clear_pointer (&value->items, g_ptr_array_unref);
  g_free (value);
}

void
tn_pickle_free (TnPickle *self)
{
  if (self == NULL)
    return;
  g_ptr_array_unref (self->values);
  g_free (self);
}

const TnPickleValue *
tn_pickle_root (const TnPickle *self)
{
  return self->root;
}

/* ---- the machine ---- */

static gboolean
wrong (const Machine *m, const char *what)
{
  if (m->error == NULL || *m->error == NULL)
    g_set_error (m->error, TN_ERROR, TN_ERROR_FORMAT, _ ("Byte %zu of the pickle: %s."), (gsize) (m->at - m->start), what);
  return FALSE;
}

static TnPickleValue *
make (Machine *m, TnPickleKind kind)
{
  TnPickleValue *value = g_new0 (TnPickleValue, 1);
  value->kind = kind;
  if (kind == TN_PICKLE_TUPLE || kind == TN_PICKLE_LIST || kind == TN_PICKLE_DICT)
    value->items = g_ptr_array_new ();
  g_ptr_array_add (m->pickle->values, value);
  return value;
}

static gboolean
push (Machine *m, const TnPickleValue *value)
{
  g_ptr_array_add (m->stack, (gpointer) value);
  return TRUE;
}

static gboolean
push_int (Machine *m, TnPickleKind kind, int64_t integer)
{
  TnPickleValue *value = make (m, kind);
  value->integer = integer;
  return push (m, value);
}

/* NULL after an error, also where a mark stands. */
static TnPickleValue *
pop (Machine *m)
{
  TnPickleValue *value = m->stack->len > 0 ? m->stack->pdata[m->stack->len - 1] : NULL;
  if (value == NULL)
    wrong (m, _ ("something is missing on the stack"));
  else
    g_ptr_array_set_size (m->stack, (gint) m->stack->len - 1);
  return value;
}

static TnPickleValue *
top (Machine *m)
{
  TnPickleValue *value = m->stack->len > 0 ? m->stack->pdata[m->stack->len - 1] : NULL;
  if (value == NULL)
    wrong (m, _ ("something is missing on the stack"));
  return value;
}

/* Moves what stands above the last mark to @items, and drops the mark. */
static gboolean
pop_to_mark (Machine *m, GPtrArray *items)
{
  guint at = m->stack->len;
  while (at > 0 && m->stack->pdata[at - 1] != NULL)
    at--;
  if (at == 0)
    return wrong (m, _ ("a mark is missing"));
  for (guint i = at; items != NULL && i < m->stack->len; i++)
    g_ptr_array_add (items, m->stack->pdata[i]);
  g_ptr_array_set_size (m->stack, (gint) at - 1);
  return TRUE;
}

static gboolean
read_uint (Machine *m, int n_bytes, uint64_t *out)
{
  if (m->end - m->at < n_bytes)
    return wrong (m, _ ("it ends inside of a number"));
  *out = 0;
  for (int i = 0; i < n_bytes; i++)
    *out |= (uint64_t) m->at[i] << (8 * i);
  m->at += n_bytes;
  return TRUE;
}

static gboolean
push_text (Machine *m, TnPickleKind kind, int length_bytes)
{
  uint64_t n;
  if (!read_uint (m, length_bytes, &n))
    return FALSE;
  if (n > (uint64_t) (m->end - m->at))
    return wrong (m, _ ("a text is longer than the file"));
  if (kind == TN_PICKLE_TEXT && !g_utf8_validate ((const char *) m->at, (gssize) n, NULL))
    return wrong (m, _ ("a text is no UTF-8"));
  TnPickleValue *value = make (m, kind);
  value->text = kind == TN_PICKLE_TEXT ? g_strndup ((const char *) m->at, n) : NULL;
  m->at += n;
  return push (m, value);
}

static gboolean
push_line_name (Machine *m)
{
  const uint8_t *first = memchr (m->at, '\n', (size_t) (m->end - m->at)), *second = first != NULL ? memchr (first + 1, '\n', (size_t) (m->end - first - 1)) : NULL;
  if (second == NULL)
    return wrong (m, _ ("a name has no end"));
  g_autofree char *module = g_strndup ((const char *) m->at, (gsize) (first - m->at)), *name = g_strndup ((const char *) first + 1, (gsize) (second - first - 1));
  TnPickleValue *value = make (m, TN_PICKLE_NAME);
  value->text = g_strdup_printf ("%s.%s", module, name);
  m->at = second + 1;
  return push (m, value);
}

static gboolean
push_long (Machine *m, int length_bytes)
{
  uint64_t n, bits = 0;
  if (!read_uint (m, length_bytes, &n) || (n > 8 && !wrong (m, _ ("a whole number needs more than 64 bits"))) || (n > 0 && !read_uint (m, (int) n, &bits)))
    return FALSE;
  if (n > 0 && n < 8 && bits >> (8 * n - 1) != 0)
    bits |= UINT64_MAX << (8 * n);
  return push_int (m, TN_PICKLE_INT, (int64_t) bits);
}

static gboolean
push_float (Machine *m)
{
  uint64_t bits;
  if (!read_uint (m, 8, &bits))
    return FALSE;
  TnPickleValue *value = make (m, TN_PICKLE_FLOAT);
  bits = GUINT64_SWAP_LE_BE (bits);
  memcpy (&value->number, &bits, sizeof bits);
  return push (m, value);
}

static gboolean
push_tuple (Machine *m, int n)
{
  TnPickleValue *tuple = make (m, TN_PICKLE_TUPLE);
  if (n < 0)
    return pop_to_mark (m, tuple->items) && push (m, tuple);
  for (int i = 0; i < n; i++)
    {
      TnPickleValue *item = pop (m);
      if (item == NULL)
        return FALSE;
      g_ptr_array_insert (tuple->items, 0, item);
    }
  return push (m, tuple);
}

static gboolean
push_marked (Machine *m, TnPickleKind kind)
{
  TnPickleValue *value = make (m, kind);
  return pop_to_mark (m, value->items) && push (m, value);
}

/* Items above the mark, or @n of them, into the list or dict below. */
static gboolean
fill (Machine *m, TnPickleKind kind, int n)
{
  g_autoptr (GPtrArray) items = g_ptr_array_new ();
  for (int i = 0; i < n; i++)
    {
      TnPickleValue *item = pop (m);
      if (item == NULL)
        return FALSE;
      g_ptr_array_insert (items, 0, item);
    }
  if (n == 0 && !pop_to_mark (m, items))
    return FALSE;
  TnPickleValue *target = top (m);
  if (target == NULL)
    return FALSE;
  if (target->kind == TN_PICKLE_OBJECT)
    return TRUE; /* of a class that fills itself: its contents are not needed */
  if (target->kind != kind || (kind == TN_PICKLE_DICT && items->len % 2 != 0))
    return wrong (m, _ ("items are given to something that takes none"));
  for (guint i = 0; i < items->len; i++)
    g_ptr_array_add (target->items, items->pdata[i]);
  return TRUE;
}

static gboolean
stack_name (Machine *m)
{
  TnPickleValue *name = pop (m), *module = name != NULL ? pop (m) : NULL;
  if (module == NULL || module->kind != TN_PICKLE_TEXT || name->kind != TN_PICKLE_TEXT)
    return wrong (m, _ ("a name is no text"));
  TnPickleValue *value = make (m, TN_PICKLE_NAME);
  value->text = g_strdup_printf ("%s.%s", module->text, name->text);
  return push (m, value);
}

static gboolean
note_call (Machine *m, gboolean with_keywords)
{
  if (with_keywords && pop (m) == NULL)
    return FALSE;
  TnPickleValue *args = pop (m), *callee = args != NULL ? pop (m) : NULL;
  if (callee == NULL)
    return FALSE;
  if (callee->kind != TN_PICKLE_NAME || args->kind != TN_PICKLE_TUPLE)
    return wrong (m, _ ("a call is of nothing that has a name"));
  TnPickleValue *value = make (m, TN_PICKLE_OBJECT);
  value->callee = callee;
  value->args = args;
  return push (m, value);
}

static gboolean
note_state (Machine *m)
{
  TnPickleValue *state = pop (m), *object = state != NULL ? top (m) : NULL;
  if (object == NULL)
    return FALSE;
  if (object->kind != TN_PICKLE_OBJECT)
    return wrong (m, _ ("a state is given to no object"));
  object->state = state;
  return TRUE;
}

static gboolean
get (Machine *m, int n_bytes)
{
  uint64_t number;
  if (!read_uint (m, n_bytes, &number))
    return FALSE;
  const TnPickleValue *value = g_hash_table_lookup (m->memo, GSIZE_TO_POINTER (number));
  return value != NULL ? push (m, value) : wrong (m, _ ("it refers to something that was not kept"));
}

static gboolean
put (Machine *m, uint64_t number)
{
  TnPickleValue *value = top (m);
  if (value == NULL)
    return FALSE;
  g_hash_table_insert (m->memo, GSIZE_TO_POINTER (number), value);
  return TRUE;
}

static gboolean
put_numbered (Machine *m, int n_bytes)
{
  uint64_t number;
  return read_uint (m, n_bytes, &number) && put (m, number);
}

static gboolean
skip (Machine *m, int n_bytes)
{
  uint64_t ignored;
  return read_uint (m, n_bytes, &ignored);
}

static gboolean
push_int_of (Machine *m, int n_bytes)
{
  uint64_t bits;
  return read_uint (m, n_bytes, &bits) && push_int (m, TN_PICKLE_INT, n_bytes == 4 ? (int32_t) bits : (int64_t) bits);
}

/* One opcode; numbers as in Python's pickletools. */
static gboolean
step (Machine *m, uint8_t op)
{
  switch (op)
    {
    case 0x80: return skip (m, 1);                      /* PROTO */
    case 0x95: return skip (m, 8);                      /* FRAME */
    case '(': return push (m, NULL);                    /* MARK */
    case '0': return pop (m) != NULL;                   /* POP */
    case '1': return pop_to_mark (m, NULL);             /* POP_MARK */
    case '2': return top (m) != NULL && push (m, top (m)); /* DUP */
    case 'N': return push (m, make (m, TN_PICKLE_NONE));
    case 0x88: return push_int (m, TN_PICKLE_BOOL, 1);
    case 0x89: return push_int (m, TN_PICKLE_BOOL, 0);
    case 'K': return push_int_of (m, 1);                /* BININT1 */
    case 'M': return push_int_of (m, 2);                /* BININT2 */
    case 'J': return push_int_of (m, 4);                /* BININT */
    case 0x8a: return push_long (m, 1);                 /* LONG1 */
    case 0x8b: return push_long (m, 4);                 /* LONG4 */
    case 'G': return push_float (m);                    /* BINFLOAT */
    case 0x8c: return push_text (m, TN_PICKLE_TEXT, 1); /* SHORT_BINUNICODE */
    case 'X': return push_text (m, TN_PICKLE_TEXT, 4);  /* BINUNICODE */
    case 0x8d: return push_text (m, TN_PICKLE_TEXT, 8); /* BINUNICODE8 */
    case 'C': return push_text (m, TN_PICKLE_BYTES, 1); /* SHORT_BINBYTES */
    case 'B': return push_text (m, TN_PICKLE_BYTES, 4); /* BINBYTES */
    case 0x8e: return push_text (m, TN_PICKLE_BYTES, 8);
    case 'U': return push_text (m, TN_PICKLE_BYTES, 1); /* SHORT_BINSTRING */
    case 'T': return push_text (m, TN_PICKLE_BYTES, 4); /* BINSTRING */
    case ')': return push_tuple (m, 0);
    case 't': return push_tuple (m, -1);
    case 0x85: return push_tuple (m, 1);
    case 0x86: return push_tuple (m, 2);
    case 0x87: return push_tuple (m, 3);
    case ']': return push (m, make (m, TN_PICKLE_LIST));
    case 0x8f: return push (m, make (m, TN_PICKLE_LIST)); /* EMPTY_SET */
    case '}': return push (m, make (m, TN_PICKLE_DICT));
    case 'l': return push_marked (m, TN_PICKLE_LIST);
    case 0x91: return push_marked (m, TN_PICKLE_LIST);  /* FROZENSET */
    case 'a': return fill (m, TN_PICKLE_LIST, 1);
    case 'e': return fill (m, TN_PICKLE_LIST, 0);
    case 0x90: return fill (m, TN_PICKLE_LIST, 0);      /* ADDITEMS */
    case 's': return fill (m, TN_PICKLE_DICT, 2);
    case 'u': return fill (m, TN_PICKLE_DICT, 0);
    case 'c': return push_line_name (m);                /* GLOBAL */
    case 0x93: return stack_name (m);
    case 'R': return note_call (m, FALSE);              /* REDUCE */
    case 0x81: return note_call (m, FALSE);             /* NEWOBJ */
    case 0x92: return note_call (m, TRUE);              /* NEWOBJ_EX */
    case 'b': return note_state (m);                    /* BUILD */
    case 'h': return get (m, 1);
    case 'j': return get (m, 4);
    case 'q': return put_numbered (m, 1);
    case 'r': return put_numbered (m, 4);
    case 0x94: return put (m, g_hash_table_size (m->memo)); /* MEMOIZE */
    default:
      {
        g_autofree char *what = g_strdup_printf (_ ("operation %02x is none that data needs"), op);
        return wrong (m, what);
      }
    }
}

TnPickle *
tn_pickle_parse (const void *data, size_t n, GError **error)
{
  g_autoptr (TnPickle) self = g_new0 (TnPickle, 1);
  g_autoptr (GPtrArray) stack = g_ptr_array_new ();
  g_autoptr (GHashTable) memo = g_hash_table_new (NULL, NULL);
  GError *problem = NULL;
  self->values = g_ptr_array_new_with_free_func (free_value);
  Machine m = { self, data, data, (const uint8_t *) data + n, stack, memo, &problem };
  while (m.at < m.end && *m.at != '.' && problem == NULL)
    {
      uint8_t op = *m.at++;
      if (!step (&m, op) || (self->values->len > MAX_VALUES && !wrong (&m, _ ("it holds too many values"))))
        break;
    }
  if (problem == NULL && m.at == m.end)
    wrong (&m, _ ("it has no end"));
  if (problem == NULL)
    self->root = pop (&m);
  if (problem == NULL)
    return g_steal_pointer (&self);
  g_propagate_error (error, problem);
  return NULL;
}

/* ---- looking ---- */

const TnPickleValue *
tn_pickle_get (const TnPickleValue *value, const char *key)
{
  if (value != NULL && value->kind == TN_PICKLE_OBJECT)
    value = value->state;
  if (value == NULL || value->kind != TN_PICKLE_DICT)
    return NULL;
  for (guint i = value->items->len; i >= 2; i -= 2)
    {
      const TnPickleValue *name = value->items->pdata[i - 2];
      if (name->kind == TN_PICKLE_TEXT && strcmp (name->text, key) == 0)
        return value->items->pdata[i - 1];
    }
  return NULL;
}

gboolean
tn_pickle_is_a (const TnPickleValue *value, const char *class_name)
{
  if (value == NULL || value->kind != TN_PICKLE_OBJECT)
    return FALSE;
  const char *text = value->callee->text, *dot = strrchr (text, '.');
  return strcmp (text, class_name) == 0 || (dot != NULL && strcmp (dot + 1, class_name) == 0);
}
