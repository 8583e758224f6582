/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
#include <glib.h>

/* TnError: why the engine could not do what was asked.
 *
 * One domain for the whole engine, as callers branch on the kind and not on the room it came from. Messages say what
 * happened, where, and what to do; they are for people and may be translated, so nothing may parse them. */
#define TN_ERROR tn_error_quark ()

typedef enum
{
  TN_ERROR_INVALID_ARGUMENT, /* a value out of its range, an unknown name */
  TN_ERROR_SHAPE,            /* shapes that do not fit each other, or overflow */
  TN_ERROR_DTYPE,            /* an element type that is not supported there */
  TN_ERROR_PARSE,            /* text that is not in its language; the message has line and column */
  TN_ERROR_FORMAT,           /* a damaged file, or one of an unsupported version */
  TN_ERROR_IO,               /* the system refused to read or write */
  TN_ERROR_NO_SPACE,         /* disk or quota full */
  TN_ERROR_MEMORY,           /* no memory, or over the limit that was set */
  TN_ERROR_NOT_FOUND,
  TN_ERROR_EXISTS,
  TN_ERROR_BUSY,      /* somebody else holds the lock */
  TN_ERROR_STATE,     /* not possible in the present state */
  TN_ERROR_NUMERIC,   /* NaN or infinity where a number is needed */
  TN_ERROR_CANCELLED, /* stopped by the user */
  TN_ERROR_UNSUPPORTED,
  TN_ERROR_INTERNAL /* an invariant broke: a mistake of ours */
} TnError;

GQuark tn_error_quark (void);

/** Short stable name of a code, "no-space": for JSON output and logs. */
const char *tn_error_code_name (int code);

/** Sets @error from @errno_value: ENOSPC and EDQUOT become TN_ERROR_NO_SPACE, ENOENT TN_ERROR_NOT_FOUND, EEXIST
 * TN_ERROR_EXISTS, ENOMEM TN_ERROR_MEMORY, everything else TN_ERROR_IO. Text: "Cannot @verb “@path”: strerror. Advice".
 * @verb is already translated. */
void tn_error_set_errno (GError **error, int errno_value, const char *verb, const char *path);

/* Translation: identity unless the build has gettext. The window has _ and N_ from glib/gi18n.h, which it includes before. */
#ifdef ENABLE_NLS
#define tn_ngettext(one, many, n) g_dngettext ("tenon", one, many, n)
#else
#define tn_ngettext(one, many, n) ((n) == 1 ? (one) : (many))
#endif
#ifndef _
#ifdef ENABLE_NLS
#define _(text) g_dgettext ("tenon", text)
#else
#define _(text) (text)
#endif
#endif
#ifndef N_
#define N_(text) (text)
#endif
