/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
#include <adwaita.h>

/* TnRow: what every settings row has, whatever it holds.
 *
 * An AdwActionRow with a control at its end. Under the title stand one line in plain words and the API name in small grey
 * text. A bad value shows its error there instead of the line: the row gets the class "error" and the control the invalid
 * state, the text stays in the field for repair, and the last good value stays in force. A row that differs from its
 * default has a dot and a button that resets it; a row with longer help has a "?" button.
 *
 *   GtkWidget *row = tn_number_row_new ();
 *   adw_preferences_row_set_title (ADW_PREFERENCES_ROW (row), _("Learning rate"));
 *   tn_row_set_line (TN_ROW (row), _("How far each step moves the weights."));
 *   tn_row_set_api_name (TN_ROW (row), "learning_rate");
 *   g_signal_connect (row, "edited", G_CALLBACK (edited_cb), self);   // tn_row_get_text() is the new value
 *   g_signal_connect (row, "reset", G_CALLBACK (reset_cb), self);     // the reset button was pressed
 *
 * Classes: TnSwitchRow, TnSpinRow, TnNumberRow, TnEntryRow, TnComboRow, TnPathRow.
 * Signals: "edited" after the user (never the program) has put in another good value; "reset".
 */
#define TN_TYPE_ROW (tn_row_get_type ())
G_DECLARE_INTERFACE (TnRow, tn_row, TN, ROW, AdwActionRow)

struct _TnRowInterface
{
  GTypeInterface parent;
  char *(*get_text) (TnRow *self);
  void (*set_text) (TnRow *self, const char *text);
  /** What takes the value: gets name, description and invalid state. */
  GtkWidget *(*get_control) (TnRow *self);
};

/** The value in force as the settings table writes it: C locale, "true" and "false", an enum's word. Free with g_free. */
char *tn_row_get_text (TnRow *self);
/** Shows @text, which is in that form; clears an error; emits nothing. */
void tn_row_set_text (TnRow *self, const char *text);

/** One line under the title, plain text; NULL for none. */
void tn_row_set_line (TnRow *self, const char *text);
void tn_row_set_api_name (TnRow *self, const char *name);
/** A remark in place of the line, for a value that is allowed but has a consequence; NULL for none. */
void tn_row_set_note (TnRow *self, const char *text);
/** Says what is wrong and what to do; NULL when all is well again. */
void tn_row_set_error (TnRow *self, const char *text);
const char *tn_row_get_error (TnRow *self);
/** @default_text is shown in the tooltip of the reset button; NULL leaves it out. */
void tn_row_set_changed (TnRow *self, gboolean changed, const char *default_text);
gboolean tn_row_get_changed (TnRow *self);
/** Longer help behind a "?" button, Pango markup; NULL removes the button. */
void tn_row_set_help (TnRow *self, const char *markup);

/* ---- for the classes ---- */

/** Adds @control at the end, names it after the title (now and when that changes) and, where @activatable, makes a press on the
 * row a press on it. @control NULL: only the names (AdwComboRow has its own). Once, at the end of instance init. */
void tn_row_setup (TnRow *self, GtkWidget *control, gboolean activatable);
void tn_row_emit_edited (TnRow *self);
