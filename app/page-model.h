/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
#include "page.h"

/* The Model page: layers with their shapes and options, parameters, and what does not fit. */
#define TN_TYPE_PAGE_MODEL (tn_page_model_get_type ())
G_DECLARE_FINAL_TYPE (TnPageModel, tn_page_model, TN, PAGE_MODEL, TnPage)
