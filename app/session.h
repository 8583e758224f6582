/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
#include "window.h"

/* What was open, kept in session.gvariant of the user's state folder: project, page, selection. Written 3 s after a change,
 * at once when another project is opened, and when a window closes; a mark in it tells a crash from an end. */
void tn_session_changed (TnWindow *window);
/** Now. */
void tn_session_save (TnWindow *window);
/** Opens what was open, where the setting restore-session says so. */
void tn_session_restore (TnWindow *window);
