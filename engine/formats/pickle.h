/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
#include <glib.h>
#include <stdint.h>

/* Python's pickles read as data: nothing is imported, called or run.
 *
 * A pickle is a program for a small stack machine. Here its classes and functions stay names and its calls stay notes (an
 * #TN_PICKLE_OBJECT with what would have been called and with what), so that a file can do nothing but be looked at. Opcodes
 * that data does not need are refused. Memory is bounded by a small multiple of the bytes read. */
typedef enum
{
  TN_PICKLE_NONE,
  TN_PICKLE_BOOL,
  TN_PICKLE_INT,
  TN_PICKLE_FLOAT,
  TN_PICKLE_TEXT,
  TN_PICKLE_BYTES,
  TN_PICKLE_TUPLE,
  TN_PICKLE_LIST,
  TN_PICKLE_DICT,  /* items: key, value, key, value ... */
  TN_PICKLE_NAME,  /* text: "torch.float32" */
  TN_PICKLE_OBJECT /* of @callee with @args; @state as BUILD gave it, or NULL */
} TnPickleKind;

typedef struct _TnPickleValue TnPickleValue;
struct _TnPickleValue
{
  TnPickleKind kind;
  int64_t integer;   /* BOOL, INT */
  double number;     /* FLOAT */
  char *text;        /* TEXT, NAME */
  GPtrArray *items;  /* TUPLE, LIST, DICT; values may stand in each other in a circle */
  const TnPickleValue *callee, *args, *state;
};

typedef struct _TnPickle TnPickle;

/** Errors: TN_ERROR_FORMAT says at which byte and what. */
TnPickle *tn_pickle_parse (const void *data, size_t n, GError **error);
void tn_pickle_free (TnPickle *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (TnPickle, tn_pickle_free)
/** The value; everything in it lives as long as @self. */
const TnPickleValue *tn_pickle_root (const TnPickle *self);

/** The last value under the text @key in a dict, or in the state of an object; NULL if there is none. @value may be NULL. */
const TnPickleValue *tn_pickle_get (const TnPickleValue *value, const char *key);
/** TRUE if @value is an object whose class has this name, with or without its module. */
gboolean tn_pickle_is_a (const TnPickleValue *value, const char *class_name);
