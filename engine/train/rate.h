/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
#include "base/settings.h"
#include "optim/schedule.h"

/** The learning rate over a run of @total_steps as settings optimizer.lr and schedule.* say. */
TnSchedule *tn_rate_schedule_new (const TnSettings *settings, int64_t total_steps, GError **error);
