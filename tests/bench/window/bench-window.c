/* SPDX-License-Identifier: Apache-2.0 */
#include "../../app/harness.h"

#include <X11/Xlib.h>
#include <X11/Xutil.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* What the window costs, as JSON lines:
 *   start    process start to the first drawn frame, against the least libadwaita window on the same X server (median of ROUNDS)
 *   page     a page's action to an idle window, the first time and later
 *   idle     processor time of 10 s in which nothing happens
 *
 *   TENON_WINDOW=build/app/tenon TENON_CLI=build/engine/cli/tenon-cli bench-window BARE-WINDOW */

#define ROUNDS 7

static int
compare (const void *a, const void *b)
{
  double x = *(const double *) a, y = *(const double *) b;
  return (x > y) - (x < y);
}

static double
median (double *values, int n)
{
  qsort (values, (size_t) n, sizeof *values, compare);
  return values[n / 2];
}

/* The root of Xvfb is black, what windows draw in a light theme is not. */
static gboolean
is_drawn (Display *display)
{
  XImage *image = XGetImage (display, DefaultRootWindow (display), 640, 400, 1, 1, AllPlanes, ZPixmap);
  unsigned long pixel = XGetPixel (image, 0, 0) & 0xffffff;
  XDestroyImage (image);
  return (pixel & 0xff) > 128;
}

/* Milliseconds from process start to the first frame. */
static double
time_start (Display *display, const char *program)
{
  while (is_drawn (display))
    g_usleep (2000);
  gint64 begun = g_get_monotonic_time ();
  char *argv[] = { (char *) program, NULL };
  GPid pid;
  g_autoptr (GError) error = NULL;
  if (!g_spawn_async (NULL, argv, NULL, G_SPAWN_DO_NOT_REAP_CHILD, NULL, NULL, &pid, &error))
    g_error ("%s", error->message);
  while (!is_drawn (display))
    g_usleep (500);
  double ms = (double) (g_get_monotonic_time () - begun) / 1000;
  kill (pid, SIGTERM);
  waitpid (pid, NULL, 0);
  return ms;
}

static void
bench_start (const char *bare)
{
  Display *display = XOpenDisplay (NULL);
  double ours[ROUNDS], theirs[ROUNDS];
  time_start (display, bare); /* caches of files */
  time_start (display, g_getenv ("TENON_WINDOW"));
  for (int i = 0; i < ROUNDS; i++)
    {
      theirs[i] = time_start (display, bare);
      ours[i] = time_start (display, g_getenv ("TENON_WINDOW"));
    }
  double a = median (ours, ROUNDS), b = median (theirs, ROUNDS);
  printf ("{\"bench\": \"start\", \"ms\": %.0f, \"ms_least\": %.0f, \"bare_ms\": %.0f, \"bare_ms_least\": %.0f, \"ratio\": %.2f, \"ratio_of_least\": %.2f}\n", a,
          ours[0], b, theirs[0], a / b, ours[0] / theirs[0]);
  XCloseDisplay (display);
}

static double
time_page (TnHarness *h, const char *page)
{
  gint64 begun = g_get_monotonic_time ();
  tn_harness_activate (h, "win.page", page);
  g_variant_unref (tn_harness_call (h, "WaitIdle", g_variant_new ("(u)", 5000)));
  return (double) (g_get_monotonic_time () - begun) / 1000;
}

static void
bench_pages (TnHarness *h)
{
  static const char *const pages[] = { "data", "model", "train", "graph", "shard", "runs" };
  double first[G_N_ELEMENTS (pages)];
  for (guint i = 0; i < G_N_ELEMENTS (pages); i++)
    first[i] = time_page (h, pages[i]);
  for (guint i = 0; i < G_N_ELEMENTS (pages); i++)
    {
      double later[ROUNDS];
      for (int k = 0; k < ROUNDS; k++)
        {
          time_page (h, pages[(i + 1) % G_N_ELEMENTS (pages)]);
          later[k] = time_page (h, pages[i]);
        }
      printf ("{\"bench\": \"page\", \"page\": \"%s\", \"first_ms\": %.0f, \"later_ms\": %.0f}\n", pages[i], first[i], median (later, ROUNDS));
    }
}

/* User and system time, in ms. */
static double
processor_ms (GPid pid)
{
  g_autofree char *path = g_strdup_printf ("/proc/%d/stat", pid), *text = NULL;
  unsigned long user = 0, system = 0;
  g_file_get_contents (path, &text, NULL, NULL);
  sscanf (strrchr (text, ')') + 1, " %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %lu %lu", &user, &system);
  return (double) (user + system) * 1000 / (double) sysconf (_SC_CLK_TCK);
}

static void
bench_idle (TnHarness *h, const char *page)
{
  tn_harness_activate (h, "win.page", page);
  g_usleep (3 * G_USEC_PER_SEC);
  double before = processor_ms (tn_harness_window (h));
  g_usleep (10 * G_USEC_PER_SEC);
  printf ("{\"bench\": \"idle\", \"page\": \"%s\", \"seconds\": 10, \"processor_ms\": %.0f}\n", page, processor_ms (tn_harness_window (h)) - before);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  TnHarness *h = argc == 2 ? tn_harness_new (1280, 800) : NULL;
  if (h == NULL)
    {
      fprintf (stderr, "bench-window BARE-WINDOW, with Xvfb, xdotool, dbus-daemon and ImageMagick installed\n");
      return 2;
    }
  bench_start (argv[1]);
  tn_harness_start (h, NULL);
  tn_harness_click (h, "start_empty_button");
  g_assert_true (tn_harness_wait_value (h, "root_stack", "project", 20000));
  g_usleep (5 * G_USEC_PER_SEC); /* a person reads the first page meanwhile */
  bench_pages (h);
  bench_idle (h, "train");
  bench_idle (h, "graph");
  tn_harness_free (h);
  return 0;
}
