/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
#include <glib.h>
#include <json-glib/json-glib.h>
#include <stdint.h>

/* Settings: everything a user can choose, in one table.
 *
 * The same dotted names stand in project.json, --set, SetValue and the window's search; all are made from tn_settings[].
 * A new setting is one row in settings-table.c and nothing else.
 *
 * TnSettings holds values for some of the names; the others have their defaults. Not thread-safe; share copies.
 *
 *   g_autoptr (TnSettings) settings = tn_settings_new ();
 *   if (!tn_settings_set (settings, "train.batch", "64", &error))
 *     return FALSE;
 *   int64_t batch = tn_settings_get_int (settings, "train.batch");
 */
typedef enum
{
  TN_SETTING_INT,
  TN_SETTING_FLOAT,
  TN_SETTING_BOOL,
  TN_SETTING_STRING,
  TN_SETTING_ENUM,
  TN_SETTING_PATH,
  TN_SETTING_INT_LIST,  /* "1,2,3"; an array in JSON */
  TN_SETTING_FLOAT_LIST
} TnSettingType;

typedef enum
{
  TN_SETTING_LIVE = 1 << 0 /* may change while a run goes on */
} TnSettingFlags;

/** One row. */
typedef struct
{
  const char *name; /* "train.batch" */
  TnSettingType type;
  double min, max;           /* numbers and elements of lists, inclusive */
  const char *const *values; /* ENUM: NULL-terminated */
  const char *default_value; /* as text */
  const char *unit;          /* "samples", "" for none */
  const char *help;          /* one sentence, untranslated: show _(help) */
  const char *aliases;       /* MindSpore's names for it, separated by spaces, or NULL */
  TnSettingFlags flags;
  gboolean (*check) (const char *text, GError **error); /* STRING with a grammar of its own, or NULL */
} TnSetting;

/** The table; ends with a row whose name is NULL. Grouped by the part before the dot. */
extern const TnSetting tn_settings[];

/** By name or alias; NULL if there is none. */
const TnSetting *tn_setting_find (const char *name);
/** By name or alias; the error has a "did you mean". */
const TnSetting *tn_setting_require (const char *name, GError **error);
const char *tn_setting_type_name (TnSettingType type);
/** "1 .. 1048576", "momentum, sgd, adam, adamw", "true or false", "". Free with g_free. */
char *tn_setting_range_text (const TnSetting *setting);

typedef struct _TnSettings TnSettings;

TnSettings *tn_settings_new (void);
TnSettings *tn_settings_copy (const TnSettings *self);
void tn_settings_free (TnSettings *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (TnSettings, tn_settings_free)

/** @value is checked against type and range and stored in its normal form ("032" as "32", "yes" as "true"). Error
 * TN_ERROR_INVALID_ARGUMENT, or _NOT_FOUND for the name. */
gboolean tn_settings_set (TnSettings *self, const char *name, const char *value, GError **error);
/** "name=value", as in --set. */
gboolean tn_settings_set_assignment (TnSettings *self, const char *assignment, GError **error);
gboolean tn_settings_set_json (TnSettings *self, const char *name, JsonNode *value, GError **error);
void tn_settings_reset (TnSettings *self, const char *name);
gboolean tn_settings_is_set (const TnSettings *self, const char *name);

/* Values by exact name; asking for a name or type that the table does not have is a programming mistake. */
/** Normal text form; belongs to @self and holds until the setting changes. */
const char *tn_settings_get_text (const TnSettings *self, const char *name);
int64_t tn_settings_get_int (const TnSettings *self, const char *name);
double tn_settings_get_float (const TnSettings *self, const char *name);
gboolean tn_settings_get_bool (const TnSettings *self, const char *name);
/** STRING, ENUM and PATH. */
const char *tn_settings_get_string (const TnSettings *self, const char *name);
/** Place in the row's values. */
int tn_settings_get_enum (const TnSettings *self, const char *name);
gboolean tn_settings_enum_is (const TnSettings *self, const char *name, const char *value);
/** Free with g_free; NULL if the list is empty. */
int64_t *tn_settings_get_int_list (const TnSettings *self, const char *name, int *n);
double *tn_settings_get_float_list (const TnSettings *self, const char *name, int *n);

/** Takes every member, nested ({"train": {"batch": 32}}) or dotted ({"train.batch": 32}). Names in NULL-terminated @skip
 * (top level, may be NULL) are left to others. All or nothing: on error @self is as it was. */
gboolean tn_settings_from_json (TnSettings *self, JsonObject *object, const char *const *skip, GError **error);
/** Nested by group, in table order. @all: with defaults too. Doubles are numbers, so that a reader gets the same bits. */
JsonObject *tn_settings_to_json (const TnSettings *self, gboolean all);

/** Names (from the table, static) that differ in value between the two, in table order. Free the array with g_free. */
const char **tn_settings_diff (const TnSettings *a, const TnSettings *b);

typedef void (*TnSettingsFunc) (const TnSetting *setting, const char *value, gboolean is_set, void *data);
/** Every row in table order, with the value in @self. */
void tn_settings_foreach (const TnSettings *self, TnSettingsFunc fn, void *data);

/** The table for people: one paragraph a setting, grouped. Free with g_free. */
char *tn_settings_to_text (void);
/** The table as a JSON array of rows: for `options --json`. */
JsonNode *tn_settings_table_to_json (void);

/* The rule of data.validation. */
typedef enum
{
  TN_VALIDATION_NONE,
  TN_VALIDATION_LAST_COUNT,   /* "last:N" */
  TN_VALIDATION_LAST_PERCENT, /* "last:P%" */
  TN_VALIDATION_HASH_PERCENT  /* "hash:P%": by a hash of the sample id, so that growing data keeps its split */
} TnValidationKind;

typedef struct
{
  TnValidationKind kind;
  int64_t count;
  double percent;
} TnValidationRule;

gboolean tn_validation_rule_parse (const char *text, TnValidationRule *out, GError **error);
