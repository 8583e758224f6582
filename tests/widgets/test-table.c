/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>

#include "support.h"
#include "table.h"

/* Parameters of a small network: what the filter's words speak of. */
static const struct
{
  const char *name;
  double bytes, rank;
} parameters[] = { { "conv1.weight", 600, 0 }, { "conv10.bias", 24, 3 }, { "conv2.weight", 9600, 3 }, { "fc1.weight", 3 * 1048576.0, 1 },
                   { "a \"b\", c", NAN, 0 } };

static const TnTableColumn columns[] = { { "name", "Name", TN_COLUMN_TEXT, .expand = TRUE },
                                         { "bytes", "Size in Memory", TN_COLUMN_BYTES },
                                         { "rank", "Rank", TN_COLUMN_NUMBER } };

static guint
n_parameters (gpointer data)
{
  return data != NULL ? *(guint *) data : G_N_ELEMENTS (parameters);
}

static double
number_of (gpointer data, guint row, guint column)
{
  return column == 1 ? parameters[row % 5].bytes : parameters[row % 5].rank;
}

static char *
text_of (gpointer data, guint row, guint column)
{
  return column == 0 ? g_strdup (parameters[row % 5].name) : g_strdup_printf ("%g", number_of (data, row, column));
}

static const TnTableFuncs funcs = { n_parameters, text_of, number_of };

/* Rows that pass, as their numbers: "024". */
static char *
passing (const char *text)
{
  char *error = NULL;
  g_autoptr (TnTableFilter) filter = tn_table_filter_new (text, columns, 3, &error);
  if (error != NULL)
    return error;
  g_autoptr (GString) rows = g_string_new (NULL);
  for (guint row = 0; row < 5; row++)
    if (filter == NULL || tn_table_filter_match (filter, row, text_of, number_of, NULL))
      g_string_append_printf (rows, "%u", row);
  return g_string_free (g_steal_pointer (&rows), FALSE);
}

static void
filter_language (void)
{
  static const char *const cases[][2] = {
    { "", "01234" },
    { "  ", "01234" },
    { "CONV", "012" },
    { "name~conv bytes>1KiB", "2" },
    { "name!~conv", "34" },
    { "bytes>1MiB", "3" },
    { "bytes>=9.6kB", "23" },
    { "bytes<600", "1" },
    { "bytes<=600", "01" },
    { "rank:3", "12" },
    { "rank=3 weight", "2" },
    { "rank!=3", "034" },
    { "name:fc1.WEIGHT", "3" },
    { "SizeInMemory>1e3", "23" },
    { "\"b\", c", "" },
    { "name~\", c\"", "4" },
    { "byte>1", "Unknown word ‘byte’. Try bytes." },
    { "bytes>much", "‘much’ is not a number that bytes can be compared with." },
    { "bytes>3ms", "‘3ms’ is not a number that bytes can be compared with." },
    { "name~", "‘name~’ needs a value, as in name~abc." },
    { "\"open", "A quotation mark is missing." },
  };
  for (size_t i = 0; i < G_N_ELEMENTS (cases); i++)
    {
      g_autofree char *rows = passing (cases[i][0]);
      g_test_message ("%s", cases[i][0]);
      g_assert_cmpstr (rows, ==, cases[i][1]);
    }
}

static void
units (void)
{
  static const struct
  {
    const char *text;
    TnColumnKind kind;
    double value;
  } cases[] = { { "1.5MiB", TN_COLUMN_BYTES, 1572864 }, { "2 GB", TN_COLUMN_BYTES, 2e9 }, { "250us", TN_COLUMN_TIME, 250e-6 },
                { "2min", TN_COLUMN_TIME, 120 },        { "5%", TN_COLUMN_SHARE, 0.05 },  { "3k", TN_COLUMN_NUMBER, 3000 },
                { "1e3", TN_COLUMN_NUMBER, 1000 },      { "-2.5e-3", TN_COLUMN_NUMBER, -0.0025 } };
  for (size_t i = 0; i < G_N_ELEMENTS (cases); i++)
    {
      double value = NAN;
      g_assert_true (tn_table_filter_number (cases[i].text, cases[i].kind, &value));
      g_assert_cmpfloat_with_epsilon (value, cases[i].value, fabs (cases[i].value) * 1e-12);
    }
  double value;
  g_assert_false (tn_table_filter_number ("3parsec", TN_COLUMN_NUMBER, &value));
  g_assert_false (tn_table_filter_number ("", TN_COLUMN_NUMBER, &value));
}

static char *
order_of (TnTableModel *model)
{
  g_autoptr (GString) rows = g_string_new (NULL);
  for (guint i = 0; i < g_list_model_get_n_items (G_LIST_MODEL (model)); i++)
    {
      g_autoptr (TnTableRow) row = g_list_model_get_item (G_LIST_MODEL (model), i);
      g_assert_cmpint (tn_table_row_index (row), ==, tn_table_model_row_at (model, i));
      g_string_append_printf (rows, "%u", tn_table_row_index (row));
    }
  return g_string_free (g_steal_pointer (&rows), FALSE);
}

static void
assert_order (TnTableModel *model, const char *expected)
{
  g_autofree char *order = order_of (model);
  g_assert_cmpstr (order, ==, expected);
}

static void
sorting (void)
{
  g_autoptr (TnTableModel) model = tn_table_model_new (columns, 3, &funcs, NULL, NULL);
  assert_order (model, "01234");
  tn_table_model_set_sort (model, "bytes", FALSE);
  assert_order (model, "10234"); /* what has no number comes last */
  tn_table_model_set_sort (model, "bytes", TRUE);
  assert_order (model, "32014");
  tn_table_model_set_sort (model, "rank", FALSE);
  assert_order (model, "04312"); /* equal ranks in their own order */
  tn_table_model_set_sort (model, "name", FALSE);
  assert_order (model, "40213"); /* conv2 before conv10 */
  g_autofree char *error = NULL;
  g_assert_true (tn_table_model_set_filter (model, "conv", &error));
  assert_order (model, "021");
  g_assert_false (tn_table_model_set_filter (model, "byte>1", &error));
  assert_order (model, "021");
  g_assert_cmpint (tn_table_model_position_of (model, 1), ==, 2);
  g_assert_cmpint (tn_table_model_position_of (model, 3), ==, -1);
  tn_table_model_set_sort (model, NULL, FALSE);
  assert_order (model, "012");
}

static void
many_rows (void)
{
  guint n = 200000;
  g_autoptr (TnTableModel) model = tn_table_model_new (columns, 3, &funcs, &n, NULL);
  tn_table_model_set_sort (model, "bytes", TRUE);
  g_assert_true (tn_table_model_is_busy (model));
  g_assert_cmpint (tn_table_model_row_at (model, 1), ==, 1); /* the old order until the new one stands */
  gint64 longest = 0;
  while (tn_table_model_is_busy (model))
    {
      gint64 start = g_get_monotonic_time ();
      if (!g_main_context_iteration (NULL, FALSE))
        g_usleep (500);
      longest = MAX (longest, g_get_monotonic_time () - start);
    }
  g_test_message ("longest turn of the main loop: %d us", (int) longest);
  g_assert_cmpint (g_list_model_get_n_items (G_LIST_MODEL (model)), ==, n);
  for (guint i = 1; i < n; i++)
    {
      double before = number_of (NULL, tn_table_model_row_at (model, i - 1), 1), here = number_of (NULL, tn_table_model_row_at (model, i), 1);
      g_assert_true (isnan (here) || before >= here);
    }
  /* Another order while the first is being made: the first is dropped. */
  tn_table_model_set_sort (model, "rank", FALSE);
  tn_table_model_set_sort (model, NULL, FALSE);
  g_assert_false (tn_table_model_is_busy (model));
  g_assert_cmpint (tn_table_model_row_at (model, 7), ==, 7);
  tn_table_model_set_sort (model, "bytes", FALSE);
}

static void
appended_rows (void)
{
  guint n = 3;
  g_autoptr (TnTableModel) model = tn_table_model_new (columns, 3, &funcs, &n, NULL);
  n = 5;
  tn_table_model_appended (model);
  assert_order (model, "01234");
  tn_table_model_set_sort (model, "bytes", TRUE);
  n = 4;
  tn_table_model_changed (model);
  assert_order (model, "3201");
}

static void
csv (void)
{
  g_autoptr (TnTableModel) model = tn_table_model_new (columns, 3, &funcs, NULL, NULL);
  guint positions[] = { 4, 1 }, shown[] = { 0, 1 };
  g_autofree char *text = tn_table_model_to_csv (model, positions, 2, shown, 2, ',');
  g_assert_cmpstr (text, ==, "Name,Size in Memory\r\n\"a \"\"b\"\", c\",\r\nconv10.bias,24\r\n");
  g_autofree char *tabbed = tn_table_model_to_csv (model, NULL, 0, NULL, 0, '\t');
  g_assert_true (g_str_has_prefix (tabbed, "Name\tSize in Memory\tRank\r\nconv1.weight\t600\t0\r\n"));
}

static void
widget_filters_and_copies (void)
{
  g_autoptr (TnTableModel) model = tn_table_model_new (columns, 3, &funcs, NULL, NULL);
  GtkWidget *table = g_object_ref (tn_table_new (model, "model_param_table", "Parameters table"));
  GtkWidget *window = widgets_show (table);
  gtk_test_accessible_assert_property (widgets_find (table, GTK_TYPE_COLUMN_VIEW), GTK_ACCESSIBLE_PROPERTY_LABEL, "Parameters table");
  GtkWidget *entry = widgets_find (table, GTK_TYPE_SEARCH_ENTRY);
  gtk_editable_set_text (GTK_EDITABLE (entry), "conv");
  widgets_wait (g_list_model_get_n_items (G_LIST_MODEL (model)) == 3);
  int end = -1;
  gtk_editable_insert_text (GTK_EDITABLE (entry), " byte>1", -1, &end);
  widgets_wait (gtk_widget_has_css_class (entry, "error"));
  gtk_test_accessible_assert_state (entry, GTK_ACCESSIBLE_STATE_INVALID, GTK_ACCESSIBLE_INVALID_TRUE);
  g_assert_cmpint (g_list_model_get_n_items (G_LIST_MODEL (model)), ==, 3);
  gtk_widget_activate_action (table, "table.sort", "s", "-bytes");
  assert_order (model, "201");
  tn_table_select_row (TN_TABLE (table), 0);
  g_autoptr (GArray) rows = tn_table_get_selected (TN_TABLE (table));
  g_assert_cmpint (rows->len, ==, 1);
  g_assert_cmpint (g_array_index (rows, guint, 0), ==, 0);
  gtk_widget_activate_action (table, "table.column-rank", NULL);
  g_autofree char *text = tn_table_copy_text (TN_TABLE (table), ',');
  g_assert_cmpstr (text, ==, "Name,Size in Memory\r\nconv1.weight,600\r\n");
  g_autofree char *state = tn_table_get_state (TN_TABLE (table));
  g_assert_cmpstr (state, ==, "sort=-bytes;hide=rank");
  tn_table_set_state (TN_TABLE (table), "sort=name;show=rank");
  assert_order (model, "021");
  widgets_assert_gone (window, table);
}

int
main (int argc, char **argv)
{
  if (!widgets_start (&argc, &argv))
    return 0;
  g_test_add_func ("/widgets/table/filter-language", filter_language);
  g_test_add_func ("/widgets/table/filter-units", units);
  g_test_add_func ("/widgets/table/sorts-numbers-and-names", sorting);
  g_test_add_func ("/widgets/table/many-rows-are-sorted-in-slices", many_rows);
  g_test_add_func ("/widgets/table/appended-rows", appended_rows);
  g_test_add_func ("/widgets/table/copies-csv", csv);
  g_test_add_func ("/widgets/table/filters-sorts-selects-and-copies", widget_filters_and_copies);
  return g_test_run ();
}
