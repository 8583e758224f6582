/* SPDX-License-Identifier: Apache-2.0 */
#include "style.h"

#include <gtk/gtk.h>

static const char css[] =
  "row.tn-row .subtitle { font-feature-settings: 'tnum'; }\n"
  "row.tn-row.error .title, row.tn-row.error .subtitle { color: @error_color; opacity: 1; }\n"
  "row.tn-row.error { box-shadow: inset 3px 0 0 0 @error_color; }\n"
  "row.tn-row.error:dir(rtl) { box-shadow: inset -3px 0 0 0 @error_color; }\n"
  "row.tn-row.warning .subtitle { color: @warning_color; opacity: 1; }\n"
  "row.tn-row entry, row.tn-row spinbutton { font-feature-settings: 'tnum'; }\n"
  "row.tn-row.error entry, row.tn-row.error spinbutton { outline: 1px solid @error_color; outline-offset: -1px; }\n"
  ".tn-changed-dot { background-color: @accent_bg_color; border-radius: 50%; min-width: 8px; min-height: 8px; }\n"
  ".tn-segmented > button { padding-left: 12px; padding-right: 12px; }\n"
  ".tn-banner infobar > revealer > box { padding: 6px 12px; }\n"
  ".tn-banner label.tn-message { font-weight: normal; }\n"
  ".tn-chip > menubutton > button { padding: 2px 10px; min-height: 24px; }\n"
  ".tn-chip > button { padding: 2px 6px; min-height: 24px; min-width: 20px; }\n"
  ".tn-tabular { font-feature-settings: 'tnum'; }\n"
  "colorbutton.tn-swatch > button { padding: 3px; min-height: 14px; min-width: 14px; }\n"
  "colorbutton.tn-swatch colorswatch { min-height: 14px; min-width: 14px; }\n"
  ".tn-table-bar { padding: 6px 12px; }\n"
  ".tn-table-bar entry.error { color: @error_color; }\n";

void
tn_style_ensure (void)
{
  static gsize loaded;
  GdkDisplay *display = gdk_display_get_default ();
  if (display == NULL || !g_once_init_enter (&loaded))
    return;
  g_autoptr (GtkCssProvider) provider = gtk_css_provider_new ();
  gtk_css_provider_load_from_data (provider, css, -1);
  /* Below the application's own sheet, which may override it. */
  gtk_style_context_add_provider_for_display (display, GTK_STYLE_PROVIDER (provider),
                                              GTK_STYLE_PROVIDER_PRIORITY_APPLICATION - 1);
  g_once_init_leave (&loaded, 1);
}
