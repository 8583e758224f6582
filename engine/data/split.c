/* SPDX-License-Identifier: Apache-2.0 */
#include "data/split.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/error.h"

typedef enum
{
  NONE,
  LAST_COUNT,
  LAST_PERCENT,
  HASH_PERCENT
} Kind;

typedef struct
{
  Kind kind;
  int64_t count;
  double percent;
} Rule;

static gboolean
parse_percent (const char *text, double *percent)
{
  char *end;
  if (!g_ascii_isdigit (*text))
    return FALSE;
  *percent = g_ascii_strtod (text, &end);
  return strcmp (end, "%") == 0 && *percent > 0 && *percent < 100;
}

static gboolean
parse_rule (const char *text, Rule *rule, GError **error)
{
  guint64 count;
  memset (rule, 0, sizeof *rule);
  if (strcmp (text, "none") == 0)
    return TRUE;
  if (g_str_has_prefix (text, "last:") && parse_percent (text + 5, &rule->percent))
    rule->kind = LAST_PERCENT;
  else if (g_str_has_prefix (text, "hash:") && parse_percent (text + 5, &rule->percent))
    rule->kind = HASH_PERCENT;
  else if (g_str_has_prefix (text, "last:") && g_ascii_string_to_unsigned (text + 5, 10, 1, G_MAXINT64, &count, NULL))
    {
      rule->kind = LAST_COUNT;
      rule->count = (int64_t) count;
    }
  else
    {
      g_set_error (error, TN_ERROR, TN_ERROR_INVALID_ARGUMENT,
                   _ ("“%s” is no rule for holding samples out. Use “last:10000”, “last:10%%”, “hash:10%%” (over 0 and under 100) or “none”."),
                   text);
      return FALSE;
    }
  return TRUE;
}

gboolean
tn_split_check_rule (const char *rule, GError **error)
{
  Rule parsed;
  return parse_rule (rule, &parsed, error);
}

/* SplitMix64's finalizer: every id gets an independent place in [0, 1). */
static double
place_of (int64_t id)
{
  uint64_t z = (uint64_t) id + 0x9e3779b97f4a7c15ull;
  z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ull;
  z = (z ^ z >> 27) * 0x94d049bb133111ebull;
  z ^= z >> 31;
  return (double) (z >> 11) * 0x1p-53;
}

static gboolean
is_held_out (const Rule *rule, int64_t id, int64_t n, int64_t n_last)
{
  if (rule->kind == HASH_PERCENT)
    return place_of (id) < rule->percent / 100.0;
  return id >= n - n_last;
}

TnSplit *
tn_split_new (const char *text, int64_t n, GError **error)
{
  Rule rule;
  if (!parse_rule (text, &rule, error))
    return NULL;
  int64_t n_last = rule.kind == LAST_COUNT     ? MIN (rule.count, n)
                   : rule.kind == LAST_PERCENT ? (int64_t) llround ((double) n * rule.percent / 100.0)
                                               : 0;
  g_autoptr (TnSplit) self = g_new0 (TnSplit, 1);
  for (int64_t id = 0; id < n; id++)
    *(is_held_out (&rule, id, n, n_last) ? &self->n_held_out : &self->n_train) += 1;
  if (self->n_train == 0 || (self->n_held_out == 0 && rule.kind != NONE))
    {
      g_set_error (error, TN_ERROR, TN_ERROR_INVALID_ARGUMENT,
                   self->n_train == 0 ? _ ("The rule “%s” leaves none of %" PRId64 " samples for training. Hold fewer out.")
                                      : _ ("The rule “%s” holds none of %" PRId64 " samples out. Hold more out, or say “none”."),
                   text, n);
      return NULL;
    }
  self->train = g_new (int64_t, self->n_train);
  self->held_out = g_new (int64_t, MAX (self->n_held_out, 1));
  int64_t a = 0, b = 0;
  for (int64_t id = 0; id < n; id++)
    if (is_held_out (&rule, id, n, n_last))
      self->held_out[b++] = id;
    else
      self->train[a++] = id;
  return g_steal_pointer (&self);
}

static int64_t
count_left (const int64_t *ids, int64_t n, const TnIdRanges *excluded)
{
  int64_t left = 0;
  for (int64_t i = 0; i < n; i++)
    left += !tn_id_ranges_contains (excluded, ids[i]);
  return left;
}

static int64_t
take_out (int64_t *ids, int64_t n, const TnIdRanges *excluded)
{
  int64_t left = 0;
  for (int64_t i = 0; i < n; i++)
    if (!tn_id_ranges_contains (excluded, ids[i]))
      ids[left++] = ids[i];
  return left;
}

gboolean
tn_split_exclude (TnSplit *self, const TnIdRanges *excluded, GError **error)
{
  if (count_left (self->train, self->n_train, excluded) == 0
      || (self->n_held_out > 0 && count_left (self->held_out, self->n_held_out, excluded) == 0))
    {
      g_set_error_literal (error, TN_ERROR, TN_ERROR_INVALID_ARGUMENT,
                           _ ("The samples that data.exclude leaves out are all that train, or all that are held out. Leave fewer out."));
      return FALSE;
    }
  self->n_train = take_out (self->train, self->n_train, excluded);
  self->n_held_out = take_out (self->held_out, self->n_held_out, excluded);
  return TRUE;
}

void
tn_split_free (TnSplit *self)
{
  g_free (self->train);
  g_free (self->held_out);
  g_free (self);
}
