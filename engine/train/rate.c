/* SPDX-License-Identifier: Apache-2.0 */
#include "train/rate.h"
#include <inttypes.h>
#include "base/error.h"

static TnSchedule *
new_cosine (const TnSettings *settings, double rate, int64_t total_steps, GError **error)
{
  int64_t chosen = tn_settings_get_int (settings, "schedule.total_steps");
  int64_t warmup = tn_settings_get_int (settings, "schedule.warmup_steps");
  int64_t steps = MAX (1, (chosen > 0 ? chosen : total_steps) - warmup);
  return tn_schedule_new ("cosine_decay",
                          TN_SCHEDULE_ARGS (tn_arg ("min_lr", tn_settings_get_float (settings, "schedule.min_lr")),
                                            tn_arg ("max_lr", rate), tn_arg ("decay_steps", (double) steps)),
                          error);
}

static TnSchedule *
new_without_warmup (const TnSettings *settings, int64_t total_steps, GError **error)
{
  double rate = tn_settings_get_float (settings, "optimizer.lr");
  if (tn_settings_enum_is (settings, "schedule.kind", "step"))
    return tn_schedule_new ("StepLR",
                            TN_SCHEDULE_ARGS (tn_arg ("base_lr", rate),
                                              tn_arg ("step_size", (double) tn_settings_get_int (settings, "schedule.step_size")),
                                              tn_arg ("gamma", tn_settings_get_float (settings, "schedule.gamma"))),
                            error);
  if (tn_settings_enum_is (settings, "schedule.kind", "cosine"))
    return new_cosine (settings, rate, total_steps, error);
  return tn_schedule_new ("constant", TN_SCHEDULE_ARGS (tn_arg ("learning_rate", rate)), error);
}

TnSchedule *
tn_rate_schedule_new (const TnSettings *settings, int64_t total_steps, GError **error)
{
  int64_t warmup = tn_settings_get_int (settings, "schedule.warmup_steps");
  if (tn_settings_enum_is (settings, "schedule.kind", "warmup") && warmup < 1)
    {
      g_set_error (error, TN_ERROR, TN_ERROR_INVALID_ARGUMENT, _ ("schedule.kind = warmup needs schedule.warmup_steps of at least 1."));
      return NULL;
    }
  TnSchedule *schedule = new_without_warmup (settings, total_steps, error);
  return schedule != NULL && warmup > 0 ? tn_schedule_warmup (schedule, warmup) : schedule;
}

/* Restarts. */

typedef struct
{
  int64_t begin; /* its first step */
  TnSchedule *schedule;
} Cycle;

struct _TnRate
{
  int n;
  Cycle cycles[];
};

static int64_t
last_length (const TnSettings *settings, int64_t begin_epoch, int64_t steps_per_epoch, int64_t total_steps)
{
  int64_t own = tn_settings_get_int (settings, "schedule.epochs"), epochs = tn_settings_get_int (settings, "train.epochs");
  if (own > 0)
    return own * steps_per_epoch;
  return epochs > 0 ? (epochs - begin_epoch) * steps_per_epoch : total_steps;
}

TnRate *
tn_rate_new (const TnSettings *settings, int64_t steps_per_epoch, int64_t total_steps, GError **error)
{
  int n_restarts;
  g_autofree int64_t *restarts = tn_settings_get_int_list (settings, "schedule.restarts", &n_restarts);
  TnRate *self = g_malloc0 (sizeof (TnRate) + (gsize) (n_restarts + 1) * sizeof (Cycle));
  for (int i = 0; i <= n_restarts; i++)
    {
      int64_t begin = i > 0 ? restarts[i - 1] : 0;
      int64_t length = i < n_restarts ? (restarts[i] - begin) * steps_per_epoch : last_length (settings, begin, steps_per_epoch, total_steps);
      if (i < n_restarts && restarts[i] <= begin)
        {
          g_set_error (error, TN_ERROR, TN_ERROR_INVALID_ARGUMENT, _ ("schedule.restarts must be rising numbers of epochs."));
          tn_rate_free (self);
          return NULL;
        }
      self->cycles[i].begin = begin * steps_per_epoch;
      self->cycles[i].schedule = tn_rate_schedule_new (settings, MAX (length, 1), error);
      self->n = i + 1;
      if (self->cycles[i].schedule == NULL)
        {
          tn_rate_free (self);
          return NULL;
        }
    }
  return self;
}

void
tn_rate_free (TnRate *self)
{
  for (int i = 0; self != NULL && i < self->n; i++)
    g_clear_pointer (&self->cycles[i].schedule, tn_schedule_unref);
  g_free (self);
}

double
tn_rate_at (const TnRate *self, int64_t step)
{
  int i = self->n - 1;
  while (i > 0 && self->cycles[i].begin > step)
    i--;
  return tn_schedule_lr (self->cycles[i].schedule, step - self->cycles[i].begin);
}

char **
tn_rate_extension (const TnSettings *settings, int64_t epochs)
{
  int64_t old = tn_settings_get_int (settings, "train.epochs"), own = tn_settings_get_int (settings, "schedule.epochs");
  g_autoptr (GPtrArray) pairs = g_ptr_array_new ();
  int n;
  g_autofree int64_t *restarts = tn_settings_get_int_list (settings, "schedule.restarts", &n);
  int64_t begin = n > 0 ? restarts[n - 1] : 0;
  int64_t length = own > 0 ? own : old - begin;
  if (old > 0 && epochs > old && length > 0)
    {
      const char *name = "schedule.epochs";
      char *value = NULL;
      if (tn_settings_enum_is (settings, "schedule.extend", "hold"))
        value = own == 0 ? g_strdup_printf ("%" PRId64, length) : NULL;
      else if (own != 0)
        {
          g_ptr_array_add (pairs, g_strdup (name));
          g_ptr_array_add (pairs, g_strdup ("0"));
        }
      if (tn_settings_enum_is (settings, "schedule.extend", "restart"))
        {
          const char *before = tn_settings_get_text (settings, "schedule.restarts");
          name = "schedule.restarts";
          value = g_strdup_printf ("%s%s%" PRId64, before, *before != '\0' ? "," : "", begin + length);
        }
      if (value != NULL)
        {
          g_ptr_array_add (pairs, g_strdup (name));
          g_ptr_array_add (pairs, value);
        }
    }
  g_ptr_array_add (pairs, NULL);
  return (char **) g_ptr_array_free (g_steal_pointer (&pairs), FALSE);
}
