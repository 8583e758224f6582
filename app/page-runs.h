/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
#include "page.h"

/* TnPageRuns: the runs of the project as a table, and the curves of the selected ones over each other. */
#define TN_TYPE_PAGE_RUNS (tn_page_runs_get_type ())
G_DECLARE_FINAL_TYPE (TnPageRuns, tn_page_runs, TN, PAGE_RUNS, TnPage)
