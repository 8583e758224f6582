/* SPDX-License-Identifier: Apache-2.0 */
#include <glib/gstdio.h>
#include <locale.h>
#include <math.h>

#include "banner.h"
#include "chip.h"
#include "combo-row.h"
#include "entry-row.h"
#include "number-row.h"
#include "number.h"
#include "path-row.h"
#include "segmented.h"
#include "spin-row.h"
#include "state-pane.h"
#include "support.h"
#include "switch-row.h"

static void
count_cb (gpointer object, int *count)
{
  *count += 1;
}

static void
numbers_are_read (void)
{
  static const struct
  {
    const char *text;
    double value;
  } good[] = { { "1e-3", 0.001 }, { " 12 ", 12 }, { "\xe2\x88\x92" "4", -4 }, { "1 000", 1000 }, { "1\xc2\xa0" "000\xe2\x80\xaf" "000", 1e6 },
               { "+.5", 0.5 },    { "2E2", 200 }, { "0", 0 } };
  for (size_t i = 0; i < G_N_ELEMENTS (good); i++)
    {
      double value = NAN;
      g_assert_true (tn_number_parse (good[i].text, &value));
      g_assert_cmpfloat (value, ==, good[i].value);
    }
  for (const char *const *bad = (const char *const[]) { "", "abc", "1e", "0x10", "nan", "inf", "1e999", "1..2", "5 %", "--1", "\xff", NULL };
       *bad != NULL; bad++)
    {
      double value = 7;
      g_assert_false (tn_number_parse (*bad, &value));
      g_assert_cmpfloat (value, ==, 7);
    }
}

static void
numbers_read_back (void)
{
  guint32 seed = g_test_rand_int ();
  g_test_message ("seed %u", seed);
  g_autoptr (GRand) rand = g_rand_new_with_seed (seed);
  for (int i = 0; i < 5000; i++)
    {
      double value = g_rand_double_range (rand, -1, 1) * pow (10, g_rand_int_range (rand, -30, 30)), back;
      g_autofree char *text = tn_number_text (value), *c_text = tn_number_text_c (value);
      g_assert_true (tn_number_parse (text, &back));
      g_assert_cmpfloat (back, ==, value);
      g_assert_cmpfloat (g_ascii_strtod (c_text, NULL), ==, value);
    }
  g_autofree char *lr = tn_number_text_c (0.001), *count = tn_number_text_c (120000), *small = tn_number_text_c (1e-7);
  g_assert_cmpstr (lr, ==, "0.001");
  g_assert_cmpstr (count, ==, "120000");
  g_assert_cmpstr (small, ==, "1e-07");
}

static void
decimal_comma_is_read (void)
{
  g_autofree char *before = g_strdup (setlocale (LC_NUMERIC, NULL));
  if (setlocale (LC_NUMERIC, "de_DE.UTF-8") == NULL)
    {
      g_test_skip ("no de_DE locale");
      return;
    }
  double comma = 0, dot = 0;
  g_assert_true (tn_number_parse ("0,25", &comma));
  g_assert_true (tn_number_parse ("0.25", &dot));
  g_autofree char *text = tn_number_text (0.25), *c_text = tn_number_text_c (0.25);
  setlocale (LC_NUMERIC, before);
  g_assert_cmpfloat (comma, ==, 0.25);
  g_assert_cmpfloat (dot, ==, 0.25);
  g_assert_cmpstr (text, ==, "0,25");
  g_assert_cmpstr (c_text, ==, "0.25");
}

/* A row alone in a list in a window, with a counter of its "edited". */
static GtkWidget *
show_row (GtkWidget *row, int *edited)
{
  adw_preferences_row_set_title (ADW_PREFERENCES_ROW (row), "Rate");
  tn_row_set_line (TN_ROW (row), "How fast");
  tn_row_set_api_name (TN_ROW (row), "learning_rate");
  GtkWidget *list = gtk_list_box_new ();
  gtk_list_box_append (GTK_LIST_BOX (list), row);
  g_signal_connect (row, "edited", G_CALLBACK (count_cb), edited);
  return widgets_show (list);
}

static void
type_text (GtkWidget *row, const char *text)
{
  GtkWidget *entry = widgets_find (row, GTK_TYPE_TEXT);
  gtk_editable_set_text (GTK_EDITABLE (entry), text);
  g_signal_emit_by_name (entry, "activate");
}

static void
assert_text (GtkWidget *row, const char *expected)
{
  g_autofree char *text = tn_row_get_text (TN_ROW (row));
  g_assert_cmpstr (text, ==, expected);
}

static void
assert_bad_value_stays (GtkWidget *row, GtkWidget *control, const char *bad, const char *last_good)
{
  type_text (row, bad);
  g_assert_nonnull (tn_row_get_error (TN_ROW (row)));
  g_assert_true (gtk_widget_has_css_class (row, "error"));
  gtk_test_accessible_assert_state (control, GTK_ACCESSIBLE_STATE_INVALID, GTK_ACCESSIBLE_INVALID_TRUE);
  g_assert_cmpstr (gtk_editable_get_text (GTK_EDITABLE (control)), ==, bad);
  assert_text (row, last_good);
  const char *subtitle = adw_action_row_get_subtitle (ADW_ACTION_ROW (row));
  g_assert_nonnull (strstr (subtitle, "learning_rate"));
  g_assert_null (strstr (subtitle, "How fast"));
}

static void
number_row_keeps_the_last_good_value (void)
{
  int edited = 0;
  GtkWidget *row = g_object_ref (tn_number_row_new (0, 1e6));
  tn_number_row_set_value (TN_NUMBER_ROW (row), 0.01);
  GtkWidget *window = show_row (row, &edited);
  GtkWidget *entry = widgets_find (row, GTK_TYPE_ENTRY);
  type_text (row, "1e-3");
  g_assert_cmpint (edited, ==, 1);
  assert_text (row, "0.001");
  assert_bad_value_stays (row, entry, "fast", "0.001");
  assert_bad_value_stays (row, entry, "-1", "0.001");
  g_assert_cmpint (edited, ==, 1);
  /* Repair clears the error before the value is taken. */
  gtk_editable_set_text (GTK_EDITABLE (entry), "0.5");
  g_assert_null (tn_row_get_error (TN_ROW (row)));
  gtk_test_accessible_assert_state (entry, GTK_ACCESSIBLE_STATE_INVALID, GTK_ACCESSIBLE_INVALID_FALSE);
  g_signal_emit_by_name (widgets_find (row, GTK_TYPE_TEXT), "activate");
  g_assert_cmpint (edited, ==, 2);
  assert_text (row, "0.5");
  tn_row_set_text (TN_ROW (row), "0.25");
  g_assert_cmpint (edited, ==, 2);
  widgets_assert_gone (window, row);
}

static void
spin_row_keeps_the_last_good_value (void)
{
  int edited = 0;
  GtkWidget *row = g_object_ref (tn_spin_row_new (0, 90, 0));
  tn_spin_row_set_value (TN_SPIN_ROW (row), 20);
  GtkWidget *window = show_row (row, &edited);
  GtkWidget *spin = widgets_find (row, GTK_TYPE_SPIN_BUTTON);
  type_text (row, "3e1");
  g_assert_cmpint (edited, ==, 1);
  assert_text (row, "30");
  g_assert_cmpstr (gtk_editable_get_text (GTK_EDITABLE (spin)), ==, "30");
  assert_bad_value_stays (row, spin, "105", "30");
  assert_bad_value_stays (row, spin, "2.5", "30");
  assert_bad_value_stays (row, spin, "many", "30");
  g_assert_cmpint (edited, ==, 1);
  tn_row_set_text (TN_ROW (row), "30");
  g_assert_null (tn_row_get_error (TN_ROW (row)));
  g_assert_cmpstr (gtk_editable_get_text (GTK_EDITABLE (spin)), ==, "30");
  g_assert_cmpint (edited, ==, 1);
  gtk_spin_button_spin (GTK_SPIN_BUTTON (spin), GTK_SPIN_STEP_FORWARD, 1);
  g_assert_cmpint (edited, ==, 2);
  assert_text (row, "31");
  widgets_assert_gone (window, row);
}

static char *
refuse_spaces (const char *text, gpointer data)
{
  return strchr (text, ' ') != NULL ? g_strdup ("No spaces, please.") : NULL;
}

static void
entry_row_keeps_the_last_good_value (void)
{
  int edited = 0;
  GtkWidget *row = g_object_ref (tn_entry_row_new ());
  tn_entry_row_set_check (TN_ENTRY_ROW (row), refuse_spaces, NULL, NULL);
  GtkWidget *window = show_row (row, &edited);
  type_text (row, "conv1");
  assert_text (row, "conv1");
  assert_bad_value_stays (row, widgets_find (row, GTK_TYPE_ENTRY), "a b", "conv1");
  g_assert_cmpint (edited, ==, 1);
  widgets_assert_gone (window, row);
}

static void
switch_row_speaks_true_and_false (void)
{
  int edited = 0;
  GtkWidget *row = g_object_ref (tn_switch_row_new ());
  GtkWidget *window = show_row (row, &edited);
  tn_row_set_text (TN_ROW (row), "true");
  assert_text (row, "true");
  g_assert_cmpint (edited, ==, 0);
  gtk_widget_activate (widgets_find (row, GTK_TYPE_SWITCH));
  widgets_wait (edited == 1);
  assert_text (row, "false");
  gtk_test_accessible_assert_property (widgets_find (row, GTK_TYPE_SWITCH), GTK_ACCESSIBLE_PROPERTY_LABEL, "Rate");
  widgets_assert_gone (window, row);
}

static void
combo_row_is_set_by_id (void)
{
  int edited = 0;
  GtkWidget *row = g_object_ref (tn_combo_row_new ());
  tn_combo_row_add (TN_COMBO_ROW (row), "sgd", "Plain");
  tn_combo_row_add (TN_COMBO_ROW (row), "adam", "Adam");
  GtkWidget *window = show_row (row, &edited);
  assert_text (row, "sgd");
  tn_row_set_text (TN_ROW (row), "adam");
  assert_text (row, "adam");
  g_assert_false (tn_combo_row_set_id (TN_COMBO_ROW (row), "lion"));
  assert_text (row, "adam");
  g_assert_cmpint (edited, ==, 0);
  adw_combo_row_set_selected (ADW_COMBO_ROW (row), 0);
  g_assert_cmpint (edited, ==, 1);
  assert_text (row, "sgd");
  widgets_assert_gone (window, row);
}

static void
path_row_refuses_what_is_not_there (void)
{
  int edited = 0;
  GtkWidget *row = g_object_ref (tn_path_row_new (GTK_FILE_CHOOSER_ACTION_OPEN));
  GtkWidget *window = show_row (row, &edited);
  g_autofree char *folder = g_dir_make_tmp ("tenon-path-XXXXXX", NULL), *file = g_build_filename (folder, "a.npz", NULL);
  g_assert_true (g_file_set_contents (file, "x", 1, NULL));
  type_text (row, file);
  widgets_wait (edited == 1);
  assert_text (row, file);
  type_text (row, folder);
  widgets_wait (tn_row_get_error (TN_ROW (row)) != NULL);
  assert_text (row, file);
  type_text (row, "");
  widgets_wait (edited == 2);
  assert_text (row, "");
  g_remove (file);
  type_text (row, file);
  widgets_wait (tn_row_get_error (TN_ROW (row)) != NULL);
  gtk_test_accessible_assert_state (widgets_find (row, GTK_TYPE_ENTRY), GTK_ACCESSIBLE_STATE_INVALID, GTK_ACCESSIBLE_INVALID_TRUE);
  g_rmdir (folder);
  /* Gone in the middle of a look. */
  type_text (row, "/usr");
  widgets_assert_gone (window, row);
}

static void
a_changed_row_can_be_reset (void)
{
  int edited = 0, reset = 0;
  GtkWidget *row = g_object_ref (tn_number_row_new (0, 1));
  GtkWidget *window = show_row (row, &edited);
  g_signal_connect (row, "reset", G_CALLBACK (count_cb), &reset);
  g_assert_null (widgets_find (row, GTK_TYPE_BUTTON));
  tn_row_set_changed (TN_ROW (row), TRUE, "0.9");
  GtkWidget *button = widgets_find (row, GTK_TYPE_BUTTON);
  g_assert_true (gtk_widget_get_visible (button));
  g_assert_cmpstr (gtk_widget_get_tooltip_text (button), ==, "Reset Rate to 0.9");
  gtk_test_accessible_assert_property (button, GTK_ACCESSIBLE_PROPERTY_LABEL, "Reset Rate");
  g_signal_emit_by_name (button, "clicked");
  g_assert_cmpint (reset, ==, 1);
  tn_row_set_changed (TN_ROW (row), FALSE, NULL);
  g_assert_false (gtk_widget_get_visible (button));
  tn_row_set_help (TN_ROW (row), "A <i>formula</i>");
  g_assert_nonnull (widgets_find (row, GTK_TYPE_MENU_BUTTON));
  tn_row_set_help (TN_ROW (row), NULL);
  g_assert_null (widgets_find (row, GTK_TYPE_MENU_BUTTON));
  widgets_assert_gone (window, row);
}

static void
segmented_is_a_radio_group (void)
{
  GtkWidget *views = g_object_ref (tn_segmented_new ("View"));
  GtkWidget *first = tn_segmented_add (TN_SEGMENTED (views), "a", "Alpha"), *second = tn_segmented_add (TN_SEGMENTED (views), "b", "Beta");
  GtkWidget *window = widgets_show (views);
  gtk_test_accessible_assert_role (views, GTK_ACCESSIBLE_ROLE_RADIO_GROUP);
  gtk_test_accessible_assert_role (first, GTK_ACCESSIBLE_ROLE_RADIO);
  gtk_test_accessible_assert_state (first, GTK_ACCESSIBLE_STATE_CHECKED, GTK_ACCESSIBLE_TRISTATE_TRUE);
  gtk_widget_activate (second);
  widgets_wait (g_strcmp0 (tn_segmented_get_active_id (TN_SEGMENTED (views)), "b") == 0);
  gtk_test_accessible_assert_state (first, GTK_ACCESSIBLE_STATE_CHECKED, GTK_ACCESSIBLE_TRISTATE_FALSE);
  gtk_test_accessible_assert_state (second, GTK_ACCESSIBLE_STATE_CHECKED, GTK_ACCESSIBLE_TRISTATE_TRUE);
  g_assert_false (tn_segmented_move (TN_SEGMENTED (views), 1));
  g_assert_true (tn_segmented_move (TN_SEGMENTED (views), -1));
  g_assert_cmpstr (tn_segmented_get_active_id (TN_SEGMENTED (views)), ==, "a");
  widgets_assert_gone (window, views);
}

static void
banner_shows_and_closes (void)
{
  GtkWidget *banner = g_object_ref (tn_banner_new ());
  GtkWidget *window = widgets_show (banner);
  g_assert_false (gtk_widget_get_visible (banner));
  tn_banner_add_button (TN_BANNER (banner), "_Retry", "page.retry", NULL);
  tn_banner_show (TN_BANNER (banner), GTK_MESSAGE_WARNING, "12 files changed");
  g_assert_true (tn_banner_get_revealed (TN_BANNER (banner)));
  g_assert_true (gtk_widget_get_visible (banner));
  gtk_test_accessible_assert_role (banner, GTK_ACCESSIBLE_ROLE_ALERT);
  gtk_test_accessible_assert_property (banner, GTK_ACCESSIBLE_PROPERTY_LABEL, "12 files changed");
  g_signal_emit_by_name (widgets_find (banner, GTK_TYPE_INFO_BAR), "response", GTK_RESPONSE_CLOSE);
  g_assert_false (tn_banner_get_revealed (TN_BANNER (banner)));
  widgets_wait (!gtk_widget_get_visible (banner));
  widgets_assert_gone (window, banner);
}

static void
state_pane_says_its_state (void)
{
  int cancelled = 0;
  GtkWidget *pane = g_object_ref (tn_state_pane_new (gtk_label_new ("content")));
  GtkWidget *window = widgets_show (pane);
  g_assert_cmpstr (tn_state_pane_get_state (TN_STATE_PANE (pane)), ==, "ready");
  tn_state_pane_set_loading (TN_STATE_PANE (pane), "Reading", -1);
  g_assert_cmpstr (tn_state_pane_get_state (TN_STATE_PANE (pane)), ==, "loading");
  GtkWidget *cancel = widgets_find (pane, GTK_TYPE_BUTTON);
  g_assert_false (gtk_widget_get_visible (cancel));
  g_signal_connect (pane, "cancelled", G_CALLBACK (count_cb), &cancelled);
  tn_state_pane_set_loading (TN_STATE_PANE (pane), "Reading", 0.5);
  g_assert_true (gtk_widget_get_visible (cancel));
  g_signal_emit_by_name (cancel, "clicked");
  g_assert_cmpint (cancelled, ==, 1);
  tn_state_pane_set_failed (TN_STATE_PANE (pane), "It <broke>", "Because & so on", "Again", NULL);
  g_assert_cmpstr (tn_state_pane_get_state (TN_STATE_PANE (pane)), ==, "failed");
  tn_state_pane_set_empty (TN_STATE_PANE (pane), NULL, "Nothing", "No data yet", NULL, NULL);
  g_assert_cmpstr (tn_state_pane_get_state (TN_STATE_PANE (pane)), ==, "empty");
  tn_state_pane_set_loading (TN_STATE_PANE (pane), "Reading", -1);
  widgets_assert_gone (window, pane);
}

static void
chip_clears (void)
{
  int cleared = 0;
  GtkWidget *chip = g_object_ref (tn_chip_new ("rank 3", NULL));
  GtkWidget *window = widgets_show (chip);
  g_signal_connect (chip, "cleared", G_CALLBACK (count_cb), &cleared);
  GtkWidget *name = widgets_find (chip, GTK_TYPE_MENU_BUTTON), *clear = gtk_widget_get_next_sibling (name);
  gtk_test_accessible_assert_property (clear, GTK_ACCESSIBLE_PROPERTY_LABEL, "Clear rank 3");
  g_signal_emit_by_name (clear, "clicked");
  g_assert_cmpint (cleared, ==, 1);
  widgets_assert_gone (window, chip);
}

int
main (int argc, char **argv)
{
  if (!widgets_start (&argc, &argv))
    return 0;
  g_test_add_func ("/widgets/number/what-people-type-is-read", numbers_are_read);
  g_test_add_func ("/widgets/number/shortest-text-reads-back", numbers_read_back);
  g_test_add_func ("/widgets/number/decimal-comma-and-point-are-read", decimal_comma_is_read);
  g_test_add_func ("/widgets/number-row/bad-text-keeps-the-last-good-value", number_row_keeps_the_last_good_value);
  g_test_add_func ("/widgets/spin-row/bad-text-keeps-the-last-good-value", spin_row_keeps_the_last_good_value);
  g_test_add_func ("/widgets/entry-row/bad-text-keeps-the-last-good-value", entry_row_keeps_the_last_good_value);
  g_test_add_func ("/widgets/switch-row/speaks-true-and-false", switch_row_speaks_true_and_false);
  g_test_add_func ("/widgets/combo-row/is-set-by-id", combo_row_is_set_by_id);
  g_test_add_func ("/widgets/path-row/refuses-what-is-not-there", path_row_refuses_what_is_not_there);
  g_test_add_func ("/widgets/row/a-changed-one-can-be-reset", a_changed_row_can_be_reset);
  g_test_add_func ("/widgets/segmented/is-a-radio-group", segmented_is_a_radio_group);
  g_test_add_func ("/widgets/banner/shows-and-closes", banner_shows_and_closes);
  g_test_add_func ("/widgets/state-pane/says-its-state", state_pane_says_its_state);
  g_test_add_func ("/widgets/chip/clears", chip_clears);
  return g_test_run ();
}
