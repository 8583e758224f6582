/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
#include "page.h"

/* TnPageTrain: settings on the left, the live view on the right, console, events, checkpoints and ranks below. */
#define TN_TYPE_PAGE_TRAIN (tn_page_train_get_type ())
G_DECLARE_FINAL_TYPE (TnPageTrain, tn_page_train, TN, PAGE_TRAIN, TnPage)

/** Opens the group of the setting and puts the focus on its row. */
void tn_page_train_show_setting (TnPageTrain *self, const char *name);
/** Why a run would be refused, as the checks found at the last look; NULL: nothing is known to stand against it. */
const char *tn_page_train_error (TnPageTrain *self);
