/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
#include "base/settings.h"

/** "Learning rate" for "optimizer.lr", translated; the name itself where the window has no words for it. */
const char *tn_setting_title (const char *name);
