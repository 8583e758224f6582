/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
#include <glib.h>
#include <json-glib/json-glib.h>
#include <stdint.h>

/* JSON in and out, on json-glib's tree.
 *
 * Text is read by our own strict reader of the grammar (RFC 8259), which builds json-glib's nodes: nesting over 200, texts over
 * the limit, comments, single quotes, duplicate keys, invalid UTF-8 and anything after the value are refused with line and
 * column. Whole numbers are int64, all others (and -0, and whole numbers too large) double.
 *
 * Getters take the path of the object they look into, for messages: "cells[3]" gives "cells[3].kernel: ...". Path "" is
 * the top (NULL too). A member that may be missing has *out set to its default before the call, and is asked for with the _opt_
 * form. */
#define TN_JSON_MAX_DEPTH 200
#define TN_JSON_MAX_BYTES (64u << 20)

/** @n: bytes, or -1 for a string that ends in 0. Error TN_ERROR_PARSE: "line 3, column 14: ...". Columns count characters
 * from 1. Free with json_node_unref. */
JsonNode *tn_json_parse (const char *text, gssize n, GError **error);
/** Reads and parses a file; the message starts with its path. */
JsonNode *tn_json_load (const char *path, GError **error);

/** "cells" + 3 -> "cells[3]", "cells[3]" + "kernel" -> "cells[3].kernel". Free with g_free. */
char *tn_json_path_member (const char *path, const char *key);
char *tn_json_path_element (const char *path, guint index);

/* Typed members. FALSE with an error if the member is missing (TN_ERROR_NOT_FOUND), of another type or out of range
 * (TN_ERROR_INVALID_ARGUMENT): the message has the path, the value and what is allowed. */
gboolean tn_json_get_int (JsonObject *object, const char *key, gint64 min, gint64 max, gint64 *out, const char *path,
                          GError **error);
gboolean tn_json_get_double (JsonObject *object, const char *key, double min, double max, double *out, const char *path,
                             GError **error);
gboolean tn_json_get_bool (JsonObject *object, const char *key, gboolean *out, const char *path, GError **error);
/** *out belongs to @object. */
gboolean tn_json_get_string (JsonObject *object, const char *key, const char **out, const char *path, GError **error);
gboolean tn_json_get_object (JsonObject *object, const char *key, JsonObject **out, const char *path, GError **error);
gboolean tn_json_get_array (JsonObject *object, const char *key, JsonArray **out, const char *path, GError **error);
/** Up to @max_values integers; *n_values is set. */
gboolean tn_json_get_ints (JsonObject *object, const char *key, gint64 min, gint64 max, gint64 *values, int max_values,
                           int *n_values, const char *path, GError **error);

/* The same where a missing member (or null) is fine and leaves *out alone. */
gboolean tn_json_opt_int (JsonObject *object, const char *key, gint64 min, gint64 max, gint64 *out, const char *path,
                          GError **error);
gboolean tn_json_opt_double (JsonObject *object, const char *key, double min, double max, double *out, const char *path,
                             GError **error);
gboolean tn_json_opt_bool (JsonObject *object, const char *key, gboolean *out, const char *path, GError **error);
gboolean tn_json_opt_string (JsonObject *object, const char *key, const char **out, const char *path, GError **error);

/** Refuses members that are not in the NULL-terminated @known, with a "did you mean". */
gboolean tn_json_check_members (JsonObject *object, const char *const *known, const char *path, GError **error);

/* Exact numbers in text. */
/** The value as C99 hex float in the C locale, "0x1.8p+1", "inf", "-inf", "nan". Free with g_free. */
char *tn_hex_double (double value);
/** Reads exactly what tn_hex_double() writes (and decimals); FALSE if there is anything else. */
gboolean tn_hex_double_parse (const char *text, double *out);
/** An int64 as string member, "9007199254740993", as JSON readers keep 53 bits only; and back. */
void tn_json_set_int64_string (JsonObject *object, const char *key, int64_t value);
gboolean tn_json_get_int64_string (JsonObject *object, const char *key, int64_t *out, const char *path, GError **error);
void tn_json_set_hex_double (JsonObject *object, const char *key, double value);
gboolean tn_json_get_hex_double (JsonObject *object, const char *key, double *out, const char *path, GError **error);

/** @value in the fewest of 15 to 17 digits that read back the same, in the C locale. Returns @text. */
const char *tn_double_to_text (double value, char text[G_ASCII_DTOSTR_BUF_SIZE]);

/** Deterministic text: members in the order they were added, doubles as by tn_double_to_text() (whole ones with ".0"), values that are
 * not finite as strings "NaN", "Infinity", "-Infinity". @indent: spaces a level, 2 for files (with a final newline), 0 for one
 * line without. Free with g_free. */
char *tn_json_to_text (JsonNode *node, int indent);

/** Edit distance in characters, ASCII case ignored. */
guint tn_levenshtein (const char *a, const char *b);
/** The nearest of NULL-terminated @candidates; NULL if none is near (distance at most a third of the length, or the last
 * part after a dot is @name, or one begins with @name). */
const char *tn_did_you_mean (const char *name, const char *const *candidates);
