/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
#include <gtk/gtk.h>

/* Every action that a user can call, with its keys: accelerators, the shortcuts window, the palette and the tests are made
 * from this one table. */
typedef enum
{
  TN_KEYS_GENERAL,
  TN_KEYS_PAGES,
  TN_KEYS_TRAINING,
  TN_KEYS_EDIT,
  TN_KEYS_VIEW,
  TN_KEYS_N_SECTIONS
} TnKeysSection;

typedef struct
{
  const char *action;      /* detailed name */
  const char *accelerator; /* NULL: none; several separated by spaces */
  const char *title;       /* untranslated */
  TnKeysSection section;
  gboolean local;          /* answered in the bubble phase, after the focused widget: letters, Ctrl+C, Esc ... */
} TnAccelerator;

/** Ends with a row whose action is NULL. */
extern const TnAccelerator tn_accelerators[];
const char *tn_keys_section_title (TnKeysSection section);
void tn_accelerators_set (GtkApplication *application);
/** Adds the local ones to @window. */
void tn_accelerators_add_local (GtkWidget *window);
GtkWidget *tn_shortcuts_window_new (void);
