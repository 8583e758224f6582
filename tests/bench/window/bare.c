/* SPDX-License-Identifier: Apache-2.0 */
#include <adwaita.h>

/* The least window that looks like ours: a header bar and a status page. What bench-window compares our start with. */

static void
activate_cb (GtkApplication *app)
{
  GtkWidget *window = adw_application_window_new (app), *box = gtk_box_new (GTK_ORIENTATION_VERTICAL, 0), *page = adw_status_page_new ();
  adw_status_page_set_title (ADW_STATUS_PAGE (page), "Bare");
  gtk_widget_set_vexpand (page, TRUE);
  gtk_box_append (GTK_BOX (box), adw_header_bar_new ());
  gtk_box_append (GTK_BOX (box), page);
  adw_application_window_set_content (ADW_APPLICATION_WINDOW (window), box);
  gtk_window_set_default_size (GTK_WINDOW (window), 1280, 800);
  gtk_window_present (GTK_WINDOW (window));
}

int
main (int argc, char **argv)
{
  g_autoptr (AdwApplication) app = adw_application_new ("io.github.tenon_ml.Bare", G_APPLICATION_NON_UNIQUE);
  g_signal_connect (app, "activate", G_CALLBACK (activate_cb), NULL);
  return g_application_run (G_APPLICATION (app), argc, argv);
}
