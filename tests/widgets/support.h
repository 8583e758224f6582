/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
#include <adwaita.h>

/* What every test of a widget needs: a display or a skip, a window, waits with a deadline. */

/** Starts GTK; FALSE after saying that all is skipped where there is no display. */
static inline gboolean
widgets_start (int *argc, char ***argv)
{
  g_setenv ("GTK_A11Y", "test", FALSE);
  g_setenv ("GSK_RENDERER", "cairo", FALSE);
  g_setenv ("GSETTINGS_BACKEND", "memory", FALSE);
  g_setenv ("ADW_DISABLE_PORTAL", "1", FALSE);
  g_test_init (argc, argv, NULL);
  if (!gtk_init_check ())
    {
      g_print ("1..0 # SKIP no display\n");
      return FALSE;
    }
  adw_init ();
  g_object_set (gtk_settings_get_default (), "gtk-enable-animations", FALSE, NULL);
  return TRUE;
}

static inline GtkWidget *
widgets_show (GtkWidget *child)
{
  GtkWidget *window = gtk_window_new ();
  gtk_window_set_default_size (GTK_WINDOW (window), 600, 400);
  gtk_window_set_child (GTK_WINDOW (window), child);
  gtk_window_present (GTK_WINDOW (window));
  gtk_test_widget_wait_for_draw (window);
  return window;
}

/** Runs the main loop until nothing is left to do, at most @ms. */
static inline void
widgets_settle (int ms)
{
  gint64 end = g_get_monotonic_time () + ms * 1000;
  while (g_get_monotonic_time () < end && g_main_context_iteration (NULL, FALSE))
    ;
}

/** Runs the main loop until @done says so; fails after 5 s. */
#define widgets_wait(done)                                                                                                  \
  G_STMT_START                                                                                                             \
  {                                                                                                                        \
    gint64 wait_end_ = g_get_monotonic_time () + 5 * G_USEC_PER_SEC;                                                        \
    while (!(done) && g_get_monotonic_time () < wait_end_)                                                                  \
      if (!g_main_context_iteration (NULL, FALSE))                                                                          \
        g_usleep (1000);                                                                                                    \
    g_assert_true (done);                                                                                                   \
  }                                                                                                                        \
  G_STMT_END

/** The first widget of @type below @widget, itself included; NULL if there is none. */
static inline GtkWidget *
widgets_find (GtkWidget *widget, GType type)
{
  if (g_type_is_a (G_OBJECT_TYPE (widget), type))
    return widget;
  for (GtkWidget *child = gtk_widget_get_first_child (widget); child != NULL; child = gtk_widget_get_next_sibling (child))
    {
      GtkWidget *found = widgets_find (child, type);
      if (found != NULL)
        return found;
    }
  return NULL;
}

/** @window is destroyed and @widget, to which the caller holds a reference, must go with it. */
static inline void
widgets_assert_gone (GtkWidget *window, gpointer widget)
{
  gtk_window_destroy (GTK_WINDOW (window));
  widgets_settle (500);
  g_assert_finalize_object (widget);
}
