/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
#include <glib.h>

/* TnCatalogue: which projects and runs there are, for lists and search.
 *
 * SQLite in $XDG_DATA_HOME/tenon/catalogue.sqlite. It is a cache: run folders are the truth, and everything in it but the list of
 * projects can be made from them. A damaged file is moved aside (catalogue.sqlite.damaged) and begun anew; one that is
 * locked by another process is waited for up to 2 s and then done without (TN_ERROR_BUSY).
 * One thread at a time. */
typedef struct _TnCatalogue TnCatalogue;

typedef struct
{
  char *path, *project, *name, *model, *state, *cause;
  gint64 created_us, changed_us;  /* Unix time */
  gint64 step;
  double loss, accuracy;          /* NaN where not known */
} TnCatalogueRun;

typedef struct
{
  char *path, *name;
  gint64 opened_us;
  gboolean exists; /* the folder is still there */
} TnCatalogueProject;

void tn_catalogue_run_free (TnCatalogueRun *run);
void tn_catalogue_project_free (TnCatalogueProject *project);

/** @path: file, or NULL for the user's own. */
TnCatalogue *tn_catalogue_open (const char *path, GError **error);
void tn_catalogue_free (TnCatalogue *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (TnCatalogue, tn_catalogue_free)
/** Whether opening found a damaged file, and set it aside. */
gboolean tn_catalogue_was_damaged (const TnCatalogue *self);

/** Notes the project (now) and brings its runs up to date from their folders; runs that are gone are forgotten. */
gboolean tn_catalogue_scan_project (TnCatalogue *self, const char *project_path, GError **error);
gboolean tn_catalogue_forget_project (TnCatalogue *self, const char *project_path, GError **error);
/** One run. */
gboolean tn_catalogue_scan_run (TnCatalogue *self, const char *run_path, GError **error);
/** Forgets all runs and scans every project that exists. */
gboolean tn_catalogue_rebuild (TnCatalogue *self, GError **error);

/** TnCatalogueProject, last opened first. */
GPtrArray *tn_catalogue_projects (TnCatalogue *self, GError **error);
/** TnCatalogueRun, newest first. @project_path: NULL for all; @state: NULL for any. */
GPtrArray *tn_catalogue_runs (TnCatalogue *self, const char *project_path, const char *state, GError **error);
