/* SPDX-License-Identifier: Apache-2.0 */
#include "optim/schedule.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>
#include "base/error.h"
#include "base/json.h"
#include "optim/schedule-kinds.h"

#define MAX_LIST 1000000

struct _TnSchedule
{
  gatomicrefcount ref_count;
  const TnScheduleKind *kind; /* or one of the three below */
  TnScheduleValues values;
  double steps_per_epoch;

  int n_rates; /* from_list */
  double *rates;

  TnSchedule *inner; /* warmup */
  int64_t warmup;

  int n_parts; /* sequence */
  TnSchedule **parts;
  int64_t *milestones;
};

static TnSchedule *
schedule_alloc (void)
{
  TnSchedule *self = g_new0 (TnSchedule, 1);
  g_atomic_ref_count_init (&self->ref_count);
  return self;
}

TnSchedule *
tn_schedule_ref (TnSchedule *self)
{
  g_atomic_ref_count_inc (&self->ref_count);
  return self;
}

void
tn_schedule_unref (TnSchedule *self)
{
  if (self == NULL || !g_atomic_ref_count_dec (&self->ref_count))
    return;
  for (int i = 0; i < TN_SCHEDULE_MAX_ARGS; i++)
    {
      g_free (self->values.list[i]);
      g_free (self->values.text[i]);
    }
  g_free (self->rates);
  g_clear_pointer (&self->inner, tn_schedule_unref);
  for (int i = 0; i < self->n_parts; i++)
    tn_schedule_unref (self->parts[i]);
  g_free (self->parts);
  g_free (self->milestones);
  g_free (self);
}

/* ---- making one ---- */

const char *const *
tn_schedule_kinds (void)
{
  static const char *names[64];
  static gsize once;
  if (g_once_init_enter (&once))
    {
      for (int i = 0; tn_schedule_table[i].name != NULL; i++)
        names[i] = tn_schedule_table[i].name;
      g_once_init_leave (&once, 1);
    }
  return names;
}

static const TnScheduleKind *
find_kind (const char *name, GError **error)
{
  for (int i = 0; tn_schedule_table[i].name != NULL; i++)
    if (g_ascii_strcasecmp (tn_schedule_table[i].name, name) == 0)
      return &tn_schedule_table[i];
  const char *near = tn_did_you_mean (name, tn_schedule_kinds ());
  g_set_error (error, TN_ERROR, TN_ERROR_INVALID_ARGUMENT, _ ("there is no schedule “%s”%s%s%s"), name,
               near != NULL ? _ ("; did you mean “") : "", near != NULL ? near : "", near != NULL ? _ ("”?") : "");
  return NULL;
}

static gboolean
name_is_one_of (const char *name, const char *names)
{
  g_auto (GStrv) list = g_strsplit (names, "|", -1);
  return g_strv_contains ((const char *const *) list, name);
}

static int
find_arg (const TnScheduleKind *kind, const char *name, GError **error)
{
  const char *known[TN_SCHEDULE_MAX_ARGS + 2] = { NULL };
  int i = 0;
  for (; i < TN_SCHEDULE_MAX_ARGS && kind->args[i].names != NULL; i++)
    {
      if (name_is_one_of (name, kind->args[i].names))
        return i;
      known[i] = kind->args[i].names;
    }
  if (kind->epochs)
    known[i] = "steps_per_epoch";
  g_autoptr (GString) list = g_string_new (NULL);
  for (int k = 0; known[k] != NULL; k++)
    g_string_append_printf (list, "%s%.*s", k > 0 ? ", " : "", (int) strcspn (known[k], "|"), known[k]);
  g_set_error (error, TN_ERROR, TN_ERROR_INVALID_ARGUMENT, _ ("schedule %s has no argument “%s”: it takes %s"), kind->name, name,
               list->str);
  return -1;
}

static gboolean
check_number (const TnScheduleKind *kind, const TnScheduleArgSpec *spec, double value, GError **error)
{
  gboolean in_range = isfinite (value) && ((spec->min == 0 && spec->max == 0) || (value >= spec->min && value <= spec->max));
  if (in_range && (spec->type != SCHEDULE_COUNT || value == floor (value)))
    return TRUE;
  g_set_error (error, TN_ERROR, TN_ERROR_INVALID_ARGUMENT, _ ("schedule %s: %.*s = %g is out of range: %s from %g to %g"),
               kind->name, (int) strcspn (spec->names, "|"), spec->names, value,
               spec->type == SCHEDULE_COUNT ? _ ("a whole number") : _ ("a number"), spec->min, spec->max);
  return FALSE;
}

static gboolean
take_arg (TnSchedule *self, const TnScheduleArg *arg, GError **error)
{
  const TnScheduleKind *kind = self->kind;
  if (kind->epochs && name_is_one_of (arg->name, "steps_per_epoch|step_per_epoch"))
    {
      static const TnScheduleArgSpec spec = { "steps_per_epoch", SCHEDULE_COUNT, FALSE, 0, 1, 1e15 };
      self->steps_per_epoch = arg->value;
      return check_number (kind, &spec, arg->value, error);
    }
  int i = find_arg (kind, arg->name, error);
  if (i < 0)
    return FALSE;
  const TnScheduleArgSpec *spec = &kind->args[i];
  gboolean is_list = arg->values != NULL, is_word = arg->text != NULL;
  if (is_list != (spec->type == SCHEDULE_LIST) || is_word != (spec->type == SCHEDULE_WORD) || arg->count > MAX_LIST)
    {
      g_set_error (error, TN_ERROR, TN_ERROR_INVALID_ARGUMENT, _ ("schedule %s: %s must be %s"), kind->name, arg->name,
                   spec->type == SCHEDULE_LIST ? _ ("a list") : spec->type == SCHEDULE_WORD ? _ ("a word") : _ ("one number"));
      return FALSE;
    }
  self->values.given[i] = TRUE;
  self->values.n[i] = arg->value;
  if (spec->type == SCHEDULE_WORD)
    {
      g_free (self->values.text[i]);
      self->values.text[i] = g_strdup (arg->text);
      return TRUE;
    }
  if (spec->type != SCHEDULE_LIST)
    return spec->type == SCHEDULE_FLAG || check_number (kind, spec, arg->value, error);
  for (int k = 0; k < arg->count; k++)
    if (!check_number (kind, spec, arg->values[k], error))
      return FALSE;
  g_free (self->values.list[i]);
  self->values.list[i] = g_memdup2 (arg->values, sizeof (double) * (size_t) arg->count);
  self->values.list_n[i] = arg->count;
  return TRUE;
}

static gboolean
fill_defaults (TnSchedule *self, GError **error)
{
  for (int i = 0; i < TN_SCHEDULE_MAX_ARGS && self->kind->args[i].names != NULL; i++)
    {
      const TnScheduleArgSpec *spec = &self->kind->args[i];
      if (self->values.given[i])
        continue;
      if (spec->required)
        {
          g_set_error (error, TN_ERROR, TN_ERROR_INVALID_ARGUMENT, _ ("schedule %s needs %.*s"), self->kind->name,
                       (int) strcspn (spec->names, "|"), spec->names);
          return FALSE;
        }
      self->values.n[i] = spec->number;
      self->values.text[i] = g_strdup (spec->text);
    }
  return self->kind->check == NULL || self->kind->check (&self->values, error);
}

TnSchedule *
tn_schedule_new (const char *kind, int n_args, const TnScheduleArg *args, GError **error)
{
  const TnScheduleKind *row = find_kind (kind, error);
  if (row == NULL)
    return NULL;
  g_autoptr (TnSchedule) self = schedule_alloc ();
  self->kind = row;
  for (int i = 0; i < n_args; i++)
    if (!take_arg (self, &args[i], error))
      return NULL;
  return fill_defaults (self, error) ? g_steal_pointer (&self) : NULL;
}

TnSchedule *
tn_schedule_from_list (int n, const double *values)
{
  g_return_val_if_fail (n > 0, NULL);
  TnSchedule *self = schedule_alloc ();
  self->n_rates = n;
  self->rates = g_memdup2 (values, sizeof (double) * (size_t) n);
  return self;
}

TnSchedule *
tn_schedule_warmup (TnSchedule *inner, int64_t steps)
{
  g_return_val_if_fail (inner != NULL, NULL);
  if (steps <= 0)
    return inner;
  TnSchedule *self = schedule_alloc ();
  self->inner = inner;
  self->warmup = steps;
  return self;
}

TnSchedule *
tn_schedule_sequence (int n, TnSchedule **schedules, const int64_t *milestones, GError **error)
{
  g_autoptr (TnSchedule) self = schedule_alloc ();
  self->n_parts = n;
  self->parts = g_memdup2 (schedules, sizeof (TnSchedule *) * (size_t) n);
  self->milestones = g_memdup2 (milestones, sizeof (int64_t) * (size_t) MAX (n - 1, 0));
  for (int i = 0; i + 1 < n; i++)
    if (milestones[i] < 0 || (i > 0 && milestones[i] < milestones[i - 1]))
      {
        g_set_error (error, TN_ERROR, TN_ERROR_INVALID_ARGUMENT,
                     _ ("milestone[%d] = %" PRId64 ": milestones must not fall"), i, (gint64) milestones[i]);
        return NULL;
      }
  if (n < 1)
    {
      g_set_error (error, TN_ERROR, TN_ERROR_INVALID_ARGUMENT, _ ("a sequence needs at least one schedule"));
      return NULL;
    }
  return g_steal_pointer (&self);
}

/* ---- JSON ---- */

/* Turns one member into an argument; a list is put into @numbers, which the caller frees. */
static gboolean
member_to_arg (JsonNode *node, const char *name, TnScheduleArg *arg, double **numbers, const char *path, GError **error)
{
  *arg = (TnScheduleArg){ .name = name };
  if (JSON_NODE_HOLDS_VALUE (node))
    {
      GType type = json_node_get_value_type (node);
      if (type == G_TYPE_STRING)
        arg->text = json_node_get_string (node);
      else if (type == G_TYPE_BOOLEAN)
        arg->value = json_node_get_boolean (node);
      else
        arg->value = json_node_get_double (node);
      return TRUE;
    }
  if (JSON_NODE_HOLDS_ARRAY (node))
    {
      JsonArray *array = json_node_get_array (node);
      arg->count = (int) MIN (json_array_get_length (array), MAX_LIST + 1);
      *numbers = g_new0 (double, arg->count + 1);
      for (int i = 0; i < arg->count; i++)
        {
          JsonNode *element = json_array_get_element (array, (guint) i);
          GType type = JSON_NODE_HOLDS_VALUE (element) ? json_node_get_value_type (element) : G_TYPE_INVALID;
          if (type != G_TYPE_INT64 && type != G_TYPE_DOUBLE)
            {
              g_set_error (error, TN_ERROR, TN_ERROR_INVALID_ARGUMENT, _ ("%s.%s[%d] must be a number"), path, name, i);
              return FALSE;
            }
          (*numbers)[i] = json_node_get_double (element);
        }
      arg->values = *numbers;
      return TRUE;
    }
  g_set_error (error, TN_ERROR, TN_ERROR_INVALID_ARGUMENT, _ ("%s.%s must be a number, a word or a list"), path, name);
  return FALSE;
}

static TnSchedule *
schedule_from_members (JsonObject *object, const char *kind, const char *path, GError **error)
{
  g_autoptr (GArray) args = g_array_new (FALSE, TRUE, sizeof (TnScheduleArg));
  g_autoptr (GPtrArray) lists = g_ptr_array_new_with_free_func (g_free);
  g_autoptr (GList) members = json_object_get_members (object);
  for (GList *l = members; l != NULL; l = l->next)
    {
      const char *name = l->data;
      JsonNode *node = json_object_get_member (object, name);
      if (strcmp (name, "kind") == 0 || strcmp (name, "warmup") == 0 || JSON_NODE_HOLDS_NULL (node))
        continue;
      TnScheduleArg arg;
      double *numbers = NULL;
      gboolean ok = member_to_arg (node, name, &arg, &numbers, path, error);
      g_ptr_array_add (lists, numbers);
      if (!ok)
        return NULL;
      g_array_append_val (args, arg);
    }
  g_autoptr (GError) local = NULL;
  TnSchedule *self = tn_schedule_new (kind, (int) args->len, (const TnScheduleArg *) (void *) args->data, &local);
  if (self == NULL)
    g_propagate_prefixed_error (error, g_steal_pointer (&local), "%s: ", path);
  return self;
}

TnSchedule *
tn_schedule_from_json (JsonObject *object, const char *path, GError **error)
{
  const char *kind = NULL;
  gint64 warmup = 0;
  if (!tn_json_get_string (object, "kind", &kind, path, error)
      || !tn_json_opt_int (object, "warmup", 0, G_MAXINT64, &warmup, path, error))
    return NULL;
  TnSchedule *self = schedule_from_members (object, kind, path, error);
  return self != NULL ? tn_schedule_warmup (self, warmup) : NULL;
}

/* ---- asking ---- */

double
tn_schedule_lr (const TnSchedule *self, int64_t step)
{
  if (self->rates != NULL)
    return self->rates[MIN (step, self->n_rates - 1)];
  if (self->inner != NULL)
    return step < self->warmup ? tn_schedule_lr (self->inner, 0) * (double) step / (double) self->warmup
                               : tn_schedule_lr (self->inner, step - self->warmup);
  if (self->parts != NULL)
    {
      int k = 0;
      while (k < self->n_parts - 1 && step >= self->milestones[k])
        k++;
      return tn_schedule_lr (self->parts[k], k > 0 ? step - self->milestones[k - 1] : step);
    }
  double t = (double) step;
  return self->kind->lr (&self->values, self->steps_per_epoch > 0 ? floor (t / self->steps_per_epoch) : t);
}

double
tn_schedule_momentum (const TnSchedule *self, int64_t step)
{
  if (self->kind == NULL || self->kind->momentum == NULL)
    return NAN;
  return self->kind->momentum (&self->values, (double) step);
}
