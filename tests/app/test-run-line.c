/* SPDX-License-Identifier: Apache-2.0 */
#include "run-line.h"
#include "run-timing.h"

#include <math.h>

static void
assert_text (TnRunLine line, const char *expected)
{
  g_autofree char *text = tn_run_line_text (&line);
  g_assert_cmpstr (text, ==, expected);
}

/* The sentences of ui.md 1.8, in the C locale. */
static void
test_sentences (void)
{
  TnRunLine line = { .word = TN_WORD_NONE, .accuracy = NAN, .seconds = NAN, .left_low = NAN, .left_high = NAN, .step = 1240, .total_steps = 9380 };
  assert_text (line, "Not trained yet");
  line.word = TN_WORD_RUNNING;
  assert_text (line, "Training · step 1240 of 9380 · estimating the time left");
  line.left_low = 35.2;
  line.left_high = 39.1;
  assert_text (line, "Training · step 1240 of 9380 · 35–40 s left");
  line.word = TN_WORD_SILENT;
  line.silent_seconds = 130;
  assert_text (line, "No sign of life for 2 min 10 s, last step 1240");
  line.word = TN_WORD_PAUSED;
  assert_text (line, "Paused at step 1240");
  line.word = TN_WORD_PARKED;
  assert_text (line, "Parked at step 1240: saved, memory free");
  line.word = TN_WORD_STOPPED;
  assert_text (line, "Stopped by you at step 1240, saved");
  line.word = TN_WORD_LOST;
  line.signal = 9;
  assert_text (line, "Trainer gone (killed, signal 9) after step 1240");
  line.word = TN_WORD_FINISHED;
  line.epoch = line.epochs = 10;
  line.accuracy = 0.989;
  line.seconds = 43;
  assert_text (line, "Finished · 10 of 10 epochs · accuracy 98.9 % · 43 s");
}

/* Steps of exactly 10 ms: the range holds the truth, and is not wider than a tenth. */
static void
test_time_left (void)
{
  TnRunTiming timing;
  double low, high;
  tn_run_timing_reset (&timing);
  for (int i = 0; i < 15; i++)
    tn_run_timing_step (&timing, i, 1000000 + i * 10000);
  tn_run_timing_left (&timing, 15, 1015, &low, &high);
  g_assert_true (isnan (low)); /* ten do not count, and ten more are wanted */
  for (int i = 15; i < 60; i++)
    tn_run_timing_step (&timing, i, 1000000 + i * 10000);
  tn_run_timing_left (&timing, 60, 1060, &low, &high);
  g_assert_cmpfloat (low, <=, 10.0001);
  g_assert_cmpfloat (high, >=, 9.9999);
  g_assert_cmpfloat (high - low, <=, 1);
}

static void
test_live_and_ended (void)
{
  for (int word = 0; word < TN_N_WORDS; word++)
    g_assert_false (tn_run_word_is_live ((TnRunWord) word) && tn_run_word_is_end ((TnRunWord) word));
  g_assert_true (tn_run_word_is_end (TN_WORD_PARKED));
  g_assert_true (tn_run_word_is_live (TN_WORD_PAUSED));
  g_assert_false (tn_run_word_is_live (TN_WORD_QUEUED));
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/run-line/sentences-of-every-state", test_sentences);
  g_test_add_func ("/run-line/time-left-holds-the-truth", test_time_left);
  g_test_add_func ("/run-line/no-word-is-both-live-and-ended", test_live_and_ended);
  return g_test_run ();
}
