/* SPDX-License-Identifier: Apache-2.0 */
#include "train/rate.h"
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
