/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
#include "base/settings.h"
#include "optim/schedule.h"

/* TnRate: the learning rate of every step of a run, as settings optimizer.lr and schedule.* say.
 *
 * The schedule has a length: schedule.total_steps, else schedule.epochs, else the run's. A run that was extended keeps the length
 * that it had (schedule.extend = hold), takes the new one (stretch), or has its schedule begin again at the epochs in
 * schedule.restarts (restart). Immutable. */
typedef struct _TnRate TnRate;

/** @total_steps: of the run, where train.epochs does not say. */
TnRate *tn_rate_new (const TnSettings *settings, int64_t steps_per_epoch, int64_t total_steps, GError **error);
void tn_rate_free (TnRate *self);
/** @step counts from 0. */
double tn_rate_at (const TnRate *self, int64_t step);

/**
 * tn_rate_extension:
 * @settings: as they are, before train.epochs is raised to @epochs
 *
 * What else must change so that schedule.extend is followed: pairs of a setting and its value, NULL-terminated; free with g_strfreev.
 * They are to be recorded with the new train.epochs, and tell the rest: a replay needs no other memory.
 */
char **tn_rate_extension (const TnSettings *settings, int64_t epochs);

/** One schedule over @total_steps, without restarts. */
TnSchedule *tn_rate_schedule_new (const TnSettings *settings, int64_t total_steps, GError **error);
