/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
#include <adwaita.h>

#include "adaptive-bin.h"
#include "document.h"
#include "run-control.h"
#include "selection.h"

/* TnPage: one destination of the sidebar.
 *
 * A page is a class that derives from TnPage and a row in pages.c; window, sidebar, palette, menus and shortcuts are made
 * from that table. The widget exists from the start but builds its contents in build(), when it is first shown. What a
 * page can do in general (find, export, zoom ...) are verbs: it says which it can do now, the window's actions follow.
 *
 *   struct _TnPageData { TnPage parent_instance; ... };
 *   static void
 *   tn_page_data_build (TnPage *page)
 *   {
 *     tn_page_add_tool (page, segmented);
 *     tn_page_set_content (page, scroller);
 *     tn_page_set_drawer (page, table);
 *   }
 *
 * All vfuncs are optional. Those about document, run and selection come only while the page is shown, and once after
 * build() and each time it is shown again if something changed meanwhile. */
typedef enum
{
  TN_PAGE_FIND,
  TN_PAGE_FIND_NEXT,
  TN_PAGE_FIND_PREVIOUS,
  TN_PAGE_EXPORT,
  TN_PAGE_EXPORT_AGAIN,
  TN_PAGE_PRINT,
  TN_PAGE_COPY,
  TN_PAGE_COPY_PICTURE,
  TN_PAGE_PASTE,
  TN_PAGE_TABLE_TWIN,
  TN_PAGE_ZOOM_IN,
  TN_PAGE_ZOOM_OUT,
  TN_PAGE_ZOOM_FIT,
  TN_PAGE_ZOOM_ACTUAL,
  TN_PAGE_FIT_SELECTION,
  TN_PAGE_RELOAD,
  TN_PAGE_NEXT_VIEW,
  TN_PAGE_PREVIOUS_VIEW,
  TN_PAGE_N_VERBS
} TnPageVerb;

typedef enum
{
  TN_PAGE_BUILD,
  TN_PAGE_INSIDE,
  TN_PAGE_KEEP
} TnPageGroup;

/** One row of pages.c. */
typedef struct
{
  const char *id;    /* "data": action target and prefix of ids */
  const char *title; /* untranslated */
  const char *icon;
  TnPageGroup group;
  GType (*get_type) (void);
  const char *help;  /* three sentences for the `?` popover, untranslated */
} TnPageInfo;

/** Ends with a row whose id is NULL. */
extern const TnPageInfo tn_pages[];
const TnPageInfo *tn_page_info_find (const char *id);

#define TN_TYPE_PAGE (tn_page_get_type ())
G_DECLARE_DERIVABLE_TYPE (TnPage, tn_page, TN, PAGE, AdwBin)

struct _TnPageClass
{
  AdwBinClass parent_class;
  void (*build) (TnPage *self);
  void (*document_changed) (TnPage *self); /* another document, or NULL */
  void (*edited) (TnPage *self, const char *kind, const char *key); /* as TnDocument::edited */
  void (*run_changed) (TnPage *self);      /* another current run, or NULL */
  void (*selection_changed) (TnPage *self, guint mask);
  void (*width_changed) (TnPage *self, TnWidthClass width);
  /** Bits 1 << TnPageVerb of what can be done now. */
  guint (*verbs) (TnPage *self);
  /** FALSE if nothing was done. */
  gboolean (*perform) (TnPage *self, TnPageVerb verb);
  /** What State() of the test interface says: "empty", "loading", "ready" ... static. */
  const char *(*state) (TnPage *self);
  gpointer padding[4];
};

const TnPageInfo *tn_page_info (TnPage *self);
TnSelection *tn_page_selection (TnPage *self);
TnRunControl *tn_page_control (TnPage *self);
/** NULL while no project is open. */
TnDocument *tn_page_document (TnPage *self);
/** The current run, or NULL. */
TnRun *tn_page_run (TnPage *self);
TnWidthClass tn_page_width (TnPage *self);

/** Builds and measures a page that was never shown, so that its first show is as quick as later ones. FALSE if it is built. */
gboolean tn_page_prepare (TnPage *self);

/* While building. */
/** @tool: goes to the toolbar above the content, before the `?` button. */
void tn_page_add_tool (TnPage *self, GtkWidget *tool);
void tn_page_set_content (TnPage *self, GtkWidget *content);
/** A pane below the content that win.show-drawer opens; none at first. */
void tn_page_set_drawer (TnPage *self, GtkWidget *drawer);
/** A badge in the sidebar; @text NULL removes it. @explanation is the tooltip. */
void tn_page_set_badge (TnPage *self, const char *text, const char *explanation);
/** After verbs() would answer differently. */
void tn_page_verbs_changed (TnPage *self);
/** A line that goes by itself. */
void tn_page_toast (TnPage *self, const char *text);

/* For the window. */
void tn_page_set_context (TnPage *self, const TnPageInfo *info, TnSelection *selection, TnRunControl *control);
void tn_page_set_document (TnPage *self, TnDocument *document);
void tn_page_set_width (TnPage *self, TnWidthClass width);
void tn_page_set_drawer_shown (TnPage *self, gboolean shown);
gboolean tn_page_has_drawer (TnPage *self);
guint tn_page_verbs (TnPage *self);
gboolean tn_page_perform (TnPage *self, TnPageVerb verb);
const char *tn_page_state (TnPage *self);
const char *tn_page_badge (TnPage *self);
const char *tn_page_badge_explanation (TnPage *self);
void tn_page_show_help (TnPage *self);
