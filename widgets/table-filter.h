/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
#include <glib.h>

/* TnTableFilter: the words of a table's filter entry. No GTK.
 *
 *   conv            some cell contains "conv", whatever the case
 *   name~conv       the cell of column "name" does; name!~conv: it does not
 *   rank:3          the cell is 3; rank=3 and rank!=3 too; text is compared without case
 *   bytes>1MiB      numbers: > >= < <=, with KiB MiB GiB, kB MB GB, ns us ms s min, k M G, %
 *   "two words"     quotes keep spaces; name~"two words"
 *
 * All words must hold. Columns are named by id, or by title without its spaces. The filter is immutable.
 *
 *   TnTableFilter *filter = tn_table_filter_new ("bytes>1MiB", columns, n, &error);   // "Unknown word ‘byte’. Try bytes."
 *   if (tn_table_filter_match (filter, row, read_text, read_number, data)) ...
 */
typedef enum
{
  TN_COLUMN_TEXT,
  TN_COLUMN_NUMBER,
  TN_COLUMN_BYTES,
  TN_COLUMN_TIME, /* seconds */
  TN_COLUMN_SHARE /* 0 to 1 */
} TnColumnKind;

typedef struct
{
  const char *id;    /* "bytes": for filters, actions and files */
  const char *title; /* translated */
  TnColumnKind kind;
  gboolean hidden;   /* until it is switched on in the columns menu */
  gboolean expand;   /* takes the width that is left */
  int width;         /* pixels; 0: what the cells need */
} TnTableColumn;

/** What is shown; freed with g_free. */
typedef char *(*TnTableText) (gpointer data, guint row, guint column);
/** NAN where there is none. */
typedef double (*TnTableNumber) (gpointer data, guint row, guint column);

typedef struct _TnTableFilter TnTableFilter;

/** NULL without an error for text that has no words: all rows match. */
TnTableFilter *tn_table_filter_new (const char *text, const TnTableColumn *columns, guint n_columns, char **error);
void tn_table_filter_free (TnTableFilter *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (TnTableFilter, tn_table_filter_free)
/** @number may be NULL where no column has numbers. */
gboolean tn_table_filter_match (const TnTableFilter *self, guint row, TnTableText text, TnTableNumber number, gpointer data);
/** "1.5MiB" as 1572864, by the kind of column. FALSE for what is no number with a unit of that kind. */
gboolean tn_table_filter_number (const char *text, TnColumnKind kind, double *value);
