/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
#include <adwaita.h>

/* TnApplication: the process: windows, preferences, notifications, session. */
#define TN_APP_ID "io.github.tenon_ml.Tenon"
#define TN_TYPE_APPLICATION (tn_application_get_type ())
G_DECLARE_FINAL_TYPE (TnApplication, tn_application, TN, APPLICATION, AdwApplication)

GApplication *tn_application_new (void);
/** The settings of the window; belongs to the application. */
GSettings *tn_application_settings (void);
/** Started with TENON_TEST=1. */
gboolean tn_application_is_test (void);
/** Where new projects are made. Free with g_free. */
char *tn_application_projects_folder (void);
/** Notes @path as recently opened, in a worker. */
void tn_application_note_project (const char *path);
