/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
#include <glib.h>

/* Numbers as people type and read them. No GTK.
 *
 *   double lr;
 *   tn_number_parse ("1e-3", &lr);   // also "0,001" where the locale has a decimal comma, and "0.001" everywhere
 */

/** Reads all of @text as one finite number: C decimals and exponents, the locale's decimal sign, a minus sign (U+2212),
 * spaces between groups of digits. FALSE for anything else, also for infinity and nan; @value is then untouched. */
gboolean tn_number_parse (const char *text, double *value);
/** The shortest text that reads back as the same number, with the locale's decimal sign: "0.001", "1e-07". Free with g_free. */
char *tn_number_text (double value);
/** The same in the C locale: for files and settings. */
char *tn_number_text_c (double value);
