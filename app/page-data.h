/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
#include "data-scan.h"
#include "page.h"

/* The Data page: where samples come from, what they look like, which are held out or left out, and how classes are called. */
#define TN_TYPE_PAGE_DATA (tn_page_data_get_type ())
G_DECLARE_FINAL_TYPE (TnPageData, tn_page_data, TN, PAGE_DATA, TnPage)

/** What it has read of the data; NULL before. Belongs to the page. */
TnDataScan *tn_page_data_scan (TnPageData *self);
