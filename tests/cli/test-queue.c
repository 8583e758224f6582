/* SPDX-License-Identifier: Apache-2.0 */
#include "support.h"

#include <signal.h>

/* Runs that wait for each other. */

static char *
add (const char *project, const char *more)
{
  g_autofree char *line = g_strdup_printf ("queue add %s --set train.max_steps=3 %s", project, more);
  return g_strchomp (run_ok (line));
}

/* Names in the queue, in order, joined by spaces. */
static char *
order (const char *project)
{
  g_autofree char *line = g_strdup_printf ("queue list %s --json", project), *out = run_ok (line);
  g_auto (GStrv) lines = g_strsplit (g_strchomp (out), "\n", -1);
  g_autoptr (GString) names = g_string_new (NULL);
  for (char **row = lines; **lines != '\0' && *row != NULL; row++)
    {
      g_autoptr (JsonNode) node = parse_lines (*row);
      g_string_append_printf (names, "%s%s", names->len > 0 ? " " : "", text_of (node, "run"));
    }
  return g_string_free (g_steal_pointer (&names), FALSE);
}

static char *
state_of (const char *project, const char *name)
{
  g_autofree char *path = g_strdup_printf ("%s/runs/%s", project, name);
  g_autoptr (JsonNode) shown = show (path);
  return g_strdup (text_of (shown, "state"));
}

static void
assert_order (const char *project, const char *a, const char *b, const char *c)
{
  g_autofree char *want = g_strdup_printf ("%s %s %s", a, b, c), *have = order (project);
  g_assert_cmpstr (have, ==, want);
}

static void
test_order_is_changed (void)
{
  make_project ("order", NULL);
  g_autofree char *a = add ("order", ""), *b = add ("order", ""), *c = add ("order", "");
  assert_order ("order", a, b, c);
  g_autofree char *first = g_strdup_printf ("queue move order %s 1", c), *last = g_strdup_printf ("queue move order %s 99", a);
  run_quiet (first);
  assert_order ("order", c, a, b);
  run_quiet (last);
  assert_order ("order", c, b, a);
  g_autofree char *remove = g_strdup_printf ("queue remove order %s", b), *twice = g_strdup_printf ("queue add order %s", c);
  run_quiet (remove);
  assert_fails (remove, 1, "not in the queue", NULL);
  assert_fails (twice, 1, "already", NULL);
  assert_fails ("queue add order ../order", 1, "no run", NULL);
  assert_fails ("queue move order x", 2, "which place", NULL);
  assert_fails ("queue remov order", 2, "did you mean “remove”", NULL);
}

/* One that fails does not hold up the next, is tried again as often as was said, and stays with its reason. */
static void
test_failure_goes_on (void)
{
  make_project ("works", NULL);
  g_autofree char *bad = add ("works", "--set data.source=nowhere --tries 2"), *good = add ("works", "");
  g_autofree char *out = run_ok ("queue run works --json"), *left = order ("works");
  g_assert_cmpstr (left, ==, bad);
  g_auto (GStrv) lines = g_strsplit (out, "\n", -1);
  int n_bad = 0, n_good = 0;
  for (char **line = lines; *line != NULL && **line != '\0'; line++)
    {
      g_autoptr (JsonNode) row = parse_lines (*line);
      gboolean is_bad = strcmp (text_of (row, "run"), bad) == 0;
      if (strcmp (text_of (row, "event"), "begun") == 0)
        continue;
      g_assert_cmpstr (text_of (row, "event"), ==, is_bad ? "failed" : "finished");
      n_bad += is_bad;
      n_good += !is_bad;
    }
  g_assert_cmpint (n_bad, ==, 2);
  g_assert_cmpint (n_good, ==, 1);
  g_autofree char *list = run_ok ("queue list works"), *state = state_of ("works", good);
  g_assert_nonnull (strstr (list, "failed 2 of 2 times"));
  g_assert_nonnull (strstr (list, "nowhere"));
  g_assert_cmpstr (state, ==, "finished");
}

/* Ended, its run is saved and waits on; there is only one process a project; and the next goes on where it was. */
static void
test_ended_and_taken_up (void)
{
  make_project ("ended", "--set train.eval_every=0");
  g_autofree char *name = g_strchomp (run_ok ("queue add ended --set train.epochs=100000 --set checkpoint.every_epochs=0"));
  g_autoptr (GSubprocess) process = start ("queue run ended --json", G_SUBPROCESS_FLAGS_STDOUT_PIPE | G_SUBPROCESS_FLAGS_STDERR_PIPE);
  gboolean running = FALSE;
  for (int i = 0; i < 500 && !running; i++)
    {
      g_usleep (20000);
      g_autofree char *state = state_of ("ended", name);
      running = strcmp (state, "running") == 0;
    }
  g_assert_true (running);
  assert_fails ("queue run ended", 1, "Another process", NULL);
  g_subprocess_send_signal (process, SIGTERM);
  g_auto (Result) result = finish (process);
  g_assert_cmpint (result.exit_code, ==, 130);
  g_autofree char *state = state_of ("ended", name), *left = order ("ended");
  g_assert_cmpstr (state, ==, "stopped");
  g_assert_cmpstr (left, ==, name);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/cli/queue/order-is-changed", test_order_is_changed);
  g_test_add_func ("/cli/queue/a-failure-goes-on-to-the-next", test_failure_goes_on);
  g_test_add_func ("/cli/queue/ended-and-taken-up", test_ended_and_taken_up);
  return run_tests ();
}
