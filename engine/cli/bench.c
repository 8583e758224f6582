/* SPDX-License-Identifier: Apache-2.0 */
#include "base/error.h"
#include "base/philox.h"
#include "cli/cli.h"
#include "device/cpu/peak.h"
#include "train/memory-limit.h"
#include "train/program.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <stdio.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

/* bench: times training steps of a preset on one synthetic batch, or the machine's peaks. One JSON line a result, with
 * the fields that the scripts for other frameworks print, so that lines can be compared; on a terminal a line for people. */

typedef struct
{
  int batch, threads, steps, warmup, ranks, megabytes;
  double seconds;
  gint64 seed;
  char *mode, *isa;
  char **set;
  gboolean plan, text, json;
} Options;

static double
wall_ms (void)
{
  struct timespec t;
  clock_gettime (CLOCK_MONOTONIC, &t);
  return (double) t.tv_sec * 1e3 + (double) t.tv_nsec * 1e-6;
}

static double
cpu_ms (void)
{
  struct timespec t;
  clock_gettime (CLOCK_PROCESS_CPUTIME_ID, &t);
  return (double) t.tv_sec * 1e3 + (double) t.tv_nsec * 1e-6;
}

static int
compare_doubles (const void *a, const void *b)
{
  double x = *(const double *) a, y = *(const double *) b;
  return (x > y) - (x < y);
}

static gboolean
is_for_people (const Options *options)
{
  return options->text || (!options->json && isatty (STDOUT_FILENO));
}

/* ---- peak ---- */

static int
bench_peak (const Options *options)
{
  TnIsa isa;
  g_autoptr (GError) error = NULL;
  if (!tn_isa_parse (options->isa != NULL ? options->isa : "auto", &isa, &error))
    return tn_cli_fail (error, TRUE);
  int threads = options->threads > 0 ? options->threads : tn_cpu_count_allowed ();
  double one = tn_peak_flops (isa, options->seconds / 4), all = tn_peak_flops_threads (isa, threads, options->seconds / 4);
  TnPeakBandwidth bandwidth = tn_peak_bandwidth (isa, options->seconds / 2);
  if (is_for_people (options))
    {
      printf (_ ("peak: %.1f GFLOP/s of one thread, %.1f of %d; memory %.1f GB/s read, %.1f GB/s triad\n"), one * 1e-9, all * 1e-9, threads,
              bandwidth.read_bytes_per_s * 1e-9, bandwidth.triad_bytes_per_s * 1e-9);
      return TN_EXIT_DONE;
    }
  JsonObject *line = json_object_new ();
  json_object_set_string_member (line, "workload", "peak");
  json_object_set_string_member (line, "isa", tn_isa_name (isa == TN_ISA_AUTO ? tn_isa_detect () : isa));
  json_object_set_int_member (line, "threads", threads);
  json_object_set_double_member (line, "gflops_1_thread", one * 1e-9);
  json_object_set_double_member (line, "gflops", all * 1e-9);
  json_object_set_double_member (line, "read_gb_per_s", bandwidth.read_bytes_per_s * 1e-9);
  json_object_set_double_member (line, "triad_gb_per_s", bandwidth.triad_bytes_per_s * 1e-9);
  tn_cli_print_json (line);
  return TN_EXIT_DONE;
}

/* ---- models ---- */

static int64_t
draw (uint64_t seed, uint64_t *place, int64_t from, int64_t to)
{
  uint32_t block[4];
  tn_philox_block (seed, 0x62656e6368, (*place)++, block);
  return from + (int64_t) (block[0] % (uint32_t) (to - from + 1));
}

/* A small convolutional net from a seed: channels 1..32, kernels 3, 5, 7, stride 1 or 2, batch 16..96. */
static TnModel *
random_net (uint64_t seed, int *batch, char **text, GError **error)
{
  uint64_t place = 0;
  int64_t size = draw (seed, &place, 20, 40), n_convs = draw (seed, &place, 2, 3);
  g_autoptr (GString) json = g_string_new (NULL);
  g_string_append_printf (json, "{\"name\": \"random-%" G_GUINT64_FORMAT "\", \"input\": {\"shape\": [%d, %d, %d]}, \"cells\": [", seed,
                          (int) draw (seed, &place, 1, 4), (int) size, (int) size);
  for (int64_t i = 0; i < n_convs; i++)
    {
      int64_t kernel = 3 + 2 * draw (seed, &place, 0, 2), stride = draw (seed, &place, 1, 2);
      if (size <= kernel + 1)
        break;
      g_string_append_printf (json, "{\"type\": \"Conv2d\", \"out_channels\": %d, \"kernel\": %d, \"stride\": %d, \"pad_mode\": \"%s\", \"has_bias\": true}, {\"type\": \"ReLU\"}, ",
                              (int) draw (seed, &place, 4, 32), (int) kernel, (int) stride, draw (seed, &place, 0, 1) ? "same" : "valid");
      size = (size - kernel) / stride + 1;
    }
  g_string_append (json, "{\"type\": \"Flatten\"}, {\"type\": \"Dense\", \"out_channels\": 10}]}");
  *batch = (int) draw (seed, &place, 16, 96);
  *text = g_strdup (json->str);
  return tn_model_from_json (json->str, -1, error);
}

static TnModel *
load_model (const char *workload, const Options *options, int *batch, char **description, GError **error)
{
  if (strcmp (workload, "random") == 0)
    return random_net ((uint64_t) options->seed, batch, description, error);
  *batch = strcmp (workload, "mlp") == 0 ? 128 : 32;
  if (g_file_test (workload, G_FILE_TEST_IS_REGULAR))
    return tn_model_load (workload, error);
  return tn_model_new_preset (workload, error);
}

/* ---- steps ---- */

typedef struct
{
  double *wall, *cpu;
  int n;
  double first_s, first_loss, last_loss;
} Times;

static gboolean
one_step (TnProgram *program, const TnProgramBatch *batch, int64_t step, double *loss, GError **error)
{
  TnStepResult result;
  if (!tn_program_forward_backward (program, batch, step, &result, error) || !tn_program_update (program, 0.01, step, error))
    return FALSE;
  *loss = result.loss;
  return TRUE;
}

static gboolean
time_steps (TnProgram *program, const TnProgramBatch *batch, const Options *options, Times *times, GError **error)
{
  int64_t step = 0;
  double begin = wall_ms ();
  if (!one_step (program, batch, step++, &times->first_loss, error))
    return FALSE;
  times->first_s = (wall_ms () - begin) * 1e-3;
  for (int i = 1; i < options->warmup; i++)
    if (!one_step (program, batch, step++, &times->last_loss, error))
      return FALSE;
  const int most = MAX (options->steps, 20000);
  times->wall = g_new (double, most);
  times->cpu = g_new (double, most);
  begin = wall_ms ();
  while (times->n < options->steps || (wall_ms () - begin < options->seconds * 1e3 && times->n < most))
    {
      double wall = wall_ms (), cpu = cpu_ms ();
      if (!one_step (program, batch, step++, &times->last_loss, error))
        return FALSE;
      times->wall[times->n] = wall_ms () - wall;
      times->cpu[times->n++] = cpu_ms () - cpu;
    }
  return TRUE;
}

/* JSON has no NaN: a net that ran away on its random labels says null. */
static void
set_finite (JsonObject *line, const char *name, double value)
{
  if (isfinite (value))
    json_object_set_double_member (line, name, value);
  else
    json_object_set_null_member (line, name);
}

static void
print_times (const char *workload, TnProgram *program, int batch, const Options *options, Times *times, double peak, const char *description)
{
  double mean = 0;
  for (int i = 0; i < times->n; i++)
    mean += times->wall[i] / times->n;
  qsort (times->wall, (size_t) times->n, sizeof (double), compare_doubles);
  qsort (times->cpu, (size_t) times->n, sizeof (double), compare_doubles);
  double flops = tn_program_flops (program, batch), least = times->wall[0], median = times->wall[times->n / 2];
  double p99 = times->wall[(int) ceil (0.99 * (times->n - 1))]; /* of few steps the slowest, never one below the median */
  if (is_for_people (options))
    {
      printf (_ ("%s, batch %d, %d threads: %.3f ms a step (median of %d; best %.3f, 99 %% below %.3f), %.0f samples/s, %.1f GFLOP/s = %.0f %% of the peak\n"),
              workload, batch, tn_program_n_threads (program), median, times->n, least, p99, batch / median * 1e3, flops / least * 1e-6,
              flops / (least * 1e-3) / peak * 100);
      return;
    }
  JsonObject *line = json_object_new ();
  json_object_set_string_member (line, "peer", "tenon");
  json_object_set_string_member (line, "version", TN_VERSION);
  json_object_set_string_member (line, "mode", tn_program_mode (program) == TN_MODE_GRAPH ? "graph" : "pynative");
  json_object_set_string_member (line, "workload", workload);
  json_object_set_int_member (line, "batch", batch);
  json_object_set_int_member (line, "threads", tn_program_n_threads (program));
  json_object_set_double_member (line, "ms_min", least);
  json_object_set_double_member (line, "ms_median", median);
  json_object_set_double_member (line, "ms_mean", mean);
  json_object_set_double_member (line, "ms_p99", p99);
  json_object_set_double_member (line, "samples_per_s", batch / median * 1e3);
  json_object_set_double_member (line, "peak_rss_mb", (double) tn_memory_peak () / 1048576.0);
  json_object_set_double_member (line, "cpu_ms_median", times->cpu[times->n / 2]);
  json_object_set_int_member (line, "steps", times->n);
  json_object_set_double_member (line, "first_step_s", times->first_s);
  set_finite (line, "first_loss", times->first_loss);
  set_finite (line, "last_loss", times->last_loss);
  json_object_set_double_member (line, "mflop", flops * 1e-6);
  json_object_set_double_member (line, "gflops", flops / least * 1e-6);
  json_object_set_double_member (line, "peak_gflops", peak * 1e-9);
  json_object_set_double_member (line, "peak_share", flops / (least * 1e-3) / peak);
  if (description != NULL)
    json_object_set_string_member (line, "net", description);
  tn_cli_print_json (line);
}

static TnSettings *
bench_settings (const Options *options, int batch, GError **error)
{
  g_autoptr (TnSettings) settings = tn_settings_new ();
  g_autofree char *rows = g_strdup_printf ("%d", batch), *threads = g_strdup_printf ("%d", options->threads);
  if (!tn_settings_set (settings, "train.batch", rows, error) || !tn_settings_set (settings, "device.threads", threads, error)
      || !tn_settings_set (settings, "device.isa", options->isa != NULL ? options->isa : "auto", error)
      || !tn_settings_set (settings, "device.mode", options->mode != NULL ? options->mode : "graph", error)
      || !tn_cli_apply (settings, options->set, error))
    return NULL;
  return g_steal_pointer (&settings);
}

static gboolean
bench_workload (const char *workload, const Options *options, GError **error)
{
  int batch;
  g_autofree char *description = NULL;
  g_autoptr (TnModel) model = load_model (workload, options, &batch, &description, error);
  if (model == NULL)
    return FALSE;
  if (options->batch > 0)
    batch = options->batch;
  g_autoptr (TnSettings) settings = bench_settings (options, batch, error);
  g_autoptr (TnProgram) program = settings != NULL ? tn_program_new_ranks (model, settings, error) : NULL;
  if (program == NULL)
    return FALSE;
  if (options->plan)
    {
      g_autofree char *text = tn_plan_describe (tn_program_plan (program, batch, NULL));
      g_printerr ("%s", text);
    }
  TnShape shape = tn_model_batch_shape (model, batch);
  size_t n = (size_t) tn_shape_count (&shape);
  float *x = g_aligned_alloc (n, sizeof (float), 64);
  g_autofree int32_t *labels = g_new (int32_t, batch);
  tn_philox_normal (tn_philox_key (1, "bench/x", 0), 0, 0, n, x);
  int64_t classes = tn_program_n_outputs (program);
  uint64_t place = 0;
  for (int i = 0; i < batch; i++)
    labels[i] = (int32_t) draw (2, &place, 0, classes - 1);
  TnProgramBatch rows = { .n = batch, .x = x, .labels = labels };
  Times times = { 0 };
  gboolean ok = time_steps (program, &rows, options, &times, error);
  if (ok)
    {
      TnIsa isa = TN_ISA_AUTO;
      tn_isa_parse (tn_settings_get_string (settings, "device.isa"), &isa, NULL);
      print_times (workload, program, batch, options, &times, tn_peak_flops_threads (isa, tn_program_n_threads (program), 0.3), description);
    }
  g_free (times.wall);
  g_free (times.cpu);
  g_aligned_free (x);
  return ok;
}

int
tn_command_bench (int argc, char **argv)
{
  Options options = { .steps = 20, .warmup = 3, .seconds = 5, .seed = 1, .ranks = 2, .megabytes = 25 };
  const GOptionEntry entries[] = {
    { "batch", 0, 0, G_OPTION_ARG_INT, &options.batch, N_ ("Rows of a batch (0: the workload's own)"), "N" },
    { "threads", 0, 0, G_OPTION_ARG_INT, &options.threads, N_ ("Threads (0: all that may be used)"), "N" },
    { "steps", 0, 0, G_OPTION_ARG_INT, &options.steps, N_ ("Fewest timed steps"), "N" },
    { "warmup", 0, 0, G_OPTION_ARG_INT, &options.warmup, N_ ("Steps before timing"), "N" },
    { "seconds", 0, 0, G_OPTION_ARG_DOUBLE, &options.seconds, N_ ("Go on timing, past --steps, until so much time is spent"), "S" },
    { "ranks", 0, 0, G_OPTION_ARG_INT, &options.ranks, N_ ("comm: ranks that are threads (mpirun: its processes)"), "N" },
    { "megabytes", 0, 0, G_OPTION_ARG_INT, &options.megabytes, N_ ("comm: bytes of each rank's vector"), "MB" },
    { "seed", 0, 0, G_OPTION_ARG_INT64, &options.seed, N_ ("Seed of the workload “random”"), "N" },
    { "mode", 0, 0, G_OPTION_ARG_STRING, &options.mode, N_ ("graph or pynative"), "MODE" },
    { "isa", 0, 0, G_OPTION_ARG_STRING, &options.isa, N_ ("auto, sse2, avx2, avx512"), "LEVEL" },
    { "set", 0, 0, G_OPTION_ARG_STRING_ARRAY, &options.set, N_ ("A setting"), "NAME=VALUE" },
    { "text", 0, 0, G_OPTION_ARG_NONE, &options.text, N_ ("A line for people (the default on a terminal)"), NULL },
    { "json", 0, 0, G_OPTION_ARG_NONE, &options.json, N_ ("A JSON line (the default elsewhere)"), NULL },
    { "plan", 0, 0, G_OPTION_ARG_NONE, &options.plan, N_ ("Print the plan of a step on stderr"), NULL },
    { 0 },
  };
  if (!tn_cli_parse ("bench", entries, &argc, &argv))
    return TN_EXIT_USAGE;
  if (argc < 2)
    return tn_cli_usage ("bench", _ ("name a workload: peak, comm, random, a preset or a model file"));
  int status = TN_EXIT_DONE;
  for (int i = 1; i < argc && status == TN_EXIT_DONE; i++)
    {
      g_autoptr (GError) error = NULL;
      if (strcmp (argv[i], "peak") == 0)
        status = bench_peak (&options);
      else if (strcmp (argv[i], "comm") == 0)
        status = tn_bench_comm (CLAMP (options.ranks, 1, 1024), (size_t) CLAMP (options.megabytes, 1, 4096) * 1000000, CLAMP (options.seconds, 0.1, 600),
                                is_for_people (&options));
      else if (!bench_workload (argv[i], &options, &error))
        status = tn_cli_fail (error, FALSE);
    }
  g_strfreev (options.set);
  g_free (options.mode);
  g_free (options.isa);
  return status;
}
