/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
#include <gio/gio.h>

/* A window under test: an Xvfb and a session bus of its own, pressed by xdotool, read through the test interface.
 *
 *   TnHarness *h = tn_harness_new (1280, 800);       // NULL, and the test skipped, where a tool is missing
 *   tn_harness_start (h, NULL);
 *   tn_harness_click (h, "start_train_button:digits");
 *   g_assert_true (tn_harness_wait_state (h, "run", "running", 3000));
 *   tn_harness_free (h);
 *
 * Waits are conditions with a deadline. Criticals of the window are fatal, so a window that dies fails the next call. */
typedef struct _TnHarness TnHarness;

typedef struct
{
  char *role, *name, *value;
  int x, y, width, height;
  gboolean visible, sensitive;
} TnFound;

void tn_found_clear (TnFound *found);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (TnFound, tn_found_clear)

TnHarness *tn_harness_new (int width, int height);
/** Stops what it started, trainings too. */
void tn_harness_free (TnHarness *self);
/** Starts the window; @argument may be NULL. Returns when it is on the bus and idle. */
void tn_harness_start (TnHarness *self, const char *argument);
/** Waits for the window's end and returns its exit status, -1 for none within @ms. */
int tn_harness_wait_exit (TnHarness *self, int ms);
void tn_harness_kill_window (TnHarness *self);
const char *tn_harness_home (TnHarness *self);

/** FALSE if there is no such widget. */
gboolean tn_harness_find (TnHarness *self, const char *id, TnFound *found);
/** Its value; "" if there is none. Free with g_free. */
char *tn_harness_value (TnHarness *self, const char *id);
char *tn_harness_state (TnHarness *self, const char *view);
gboolean tn_harness_wait_visible (TnHarness *self, const char *id, int ms);
gboolean tn_harness_wait_state (TnHarness *self, const char *view, const char *state, int ms);
/** @pattern: a glob. */
gboolean tn_harness_wait_value (TnHarness *self, const char *id, const char *pattern, int ms);
/** Steps done, as the Loss plot's description says; 0 for none. */
gint64 tn_harness_steps (TnHarness *self);

/** A press at the middle of the widget, which must be on the screen. */
void tn_harness_click (TnHarness *self, const char *id);
/** As xdotool key takes them: "ctrl+r". */
void tn_harness_key (TnHarness *self, const char *keys);
void tn_harness_type (TnHarness *self, const char *text);
/** Set-up only. @text: a string target, or NULL. */
void tn_harness_activate (TnHarness *self, const char *action, const char *text);
void tn_harness_activate_state (TnHarness *self, const char *action, gboolean state);
/** Whether the window's exported action is enabled. */
gboolean tn_harness_enabled (TnHarness *self, const char *action);
/** Pixels on the screen, 3 bytes each; free with g_free. */
guint8 *tn_harness_picture (TnHarness *self, int *width, int *height);
/** Process that trains the newest run of the first project; 0. */
GPid tn_harness_trainer (TnHarness *self);
/** Process of the window; 0. */
GPid tn_harness_window (TnHarness *self);
/** Path of the newest run of project @name; NULL if there is none. */
char *tn_harness_run (TnHarness *self, const char *name);
GVariant *tn_harness_call (TnHarness *self, const char *method, GVariant *parameters);
