/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/cli.h"
#include "base/error.h"
#include "base/pool.h"
#include "comm/mpi.h"
#include "device/cpu/peak.h"
#include "train/memory-limit.h"
#include <dnnl.h>
#include <glib/gstdio.h>
#include <sqlite3.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

/* doctor: what Tenon finds on this machine, and what it lacks. Rows of name and value, then remarks. */

typedef struct
{
  JsonObject *object;
  gboolean json;
  JsonArray *remarks;
} Report;

static void
add (Report *report, const char *name, const char *label, const char *value)
{
  json_object_set_string_member (report->object, name, value);
  if (!report->json)
    printf ("%-18s %s\n", label, value);
}

static void
add_number (Report *report, const char *name, double value)
{
  tn_cli_set_number (report->object, name, value);
}

static void
add_int (Report *report, const char *name, gint64 value)
{
  json_object_set_int_member (report->object, name, value);
}

static void
remark (Report *report, const char *text)
{
  json_array_add_string_element (report->remarks, text);
}

static char *
cpu_name (void)
{
  g_autofree char *text = NULL;
  if (!g_file_get_contents ("/proc/cpuinfo", &text, NULL, NULL))
    return g_strdup (_ ("unknown"));
  char *at = strstr (text, "model name");
  at = at != NULL ? strchr (at, ':') : NULL;
  if (at == NULL)
    return g_strdup (_ ("unknown"));
  at += strspn (at, ": ");
  return g_strndup (at, strcspn (at, "\n"));
}

static void
look_at_cpu (Report *report)
{
  g_autofree char *name = cpu_name ();
  TnIsa isa = tn_isa_detect ();
  int cores = tn_cpu_count_allowed (), all = (int) sysconf (_SC_NPROCESSORS_ONLN);
  g_autofree char *threads = g_strdup_printf (_ ("%d of %d processors may be used"), cores, all);
  add (report, "cpu", _ ("processor"), name);
  add (report, "isa", _ ("instructions"), tn_isa_name (isa));
  add (report, "threads_text", _ ("threads"), threads);
  add_int (report, "threads", cores);
  if (isa == TN_ISA_SSE2)
    remark (report, _ ("No AVX2: training works, several times slower than on newer processors."));
  else if (isa == TN_ISA_AVX2)
    remark (report, _ ("No AVX-512: bits differ from those of machines that have it, unless device.isa=avx2 is set there."));
  if (cores < all)
    remark (report, _ ("Affinity or a cgroup keeps some processors from this process."));
}

static void
look_at_peaks (Report *report, double seconds)
{
  TnIsa isa = tn_isa_detect ();
  double flops = tn_peak_flops (isa, seconds);
  TnPeakBandwidth bandwidth = tn_peak_bandwidth (isa, seconds);
  g_autofree char *text = g_strdup_printf (_ ("%.1f GFLOP/s of one thread, float32"), flops * 1e-9);
  g_autofree char *memory = g_strdup_printf (_ ("%.1f GB/s read, %.1f GB/s triad, one thread"), bandwidth.read_bytes_per_s * 1e-9,
                                             bandwidth.triad_bytes_per_s * 1e-9);
  add (report, "peak_text", _ ("arithmetic speed"), text);
  add (report, "bandwidth_text", _ ("memory speed"), memory);
  add_number (report, "gflops_1_thread", flops * 1e-9);
  add_number (report, "read_gb_per_s", bandwidth.read_bytes_per_s * 1e-9);
  add_number (report, "triad_gb_per_s", bandwidth.triad_bytes_per_s * 1e-9);
}

static void
look_at_memory (Report *report)
{
  size_t allowed = tn_memory_allowed (0);
  g_autofree char *text = tn_cli_bytes ((double) allowed);
  add (report, "memory", _ ("memory free"), text);
  add_int (report, "memory_bytes", (gint64) allowed);
  if (allowed < (size_t) 1 << 30)
    remark (report, _ ("Less than 1 GB of memory is free: take small batches, or set device.memory_limit_mb."));
}

static void
look_at_libraries (Report *report)
{
  const dnnl_version_t *dnnl = dnnl_version ();
  g_autofree char *glib = g_strdup_printf ("%u.%u.%u", glib_major_version, glib_minor_version, glib_micro_version);
  g_autofree char *onednn = g_strdup_printf ("%d.%d.%d", dnnl->major, dnnl->minor, dnnl->patch);
  add (report, "tenon", "Tenon", TN_VERSION);
  add (report, "glib", "GLib", glib);
  add (report, "json_glib", "JSON-GLib", JSON_VERSION_S);
  add (report, "onednn", "oneDNN", onednn);
  g_autoptr (GError) no_mpi = NULL;
  g_autofree char *mpi = tn_comm_mpi_describe (&no_mpi);
  add (report, "mpi_module", _ ("MPI module"), mpi != NULL ? mpi : no_mpi->message);
  add (report, "sqlite", "SQLite", sqlite3_libversion ());
  add (report, "zlib", "zlib", zlibVersion ());
}

static void
look_at_folders (Report *report)
{
  g_autofree char *data = g_build_filename (g_get_user_data_dir (), "tenon", NULL);
  const char *runtime = g_getenv ("XDG_RUNTIME_DIR");
  add (report, "data_dir", _ ("data folder"), data);
  add (report, "runtime_dir", _ ("runs listen in"), runtime != NULL ? runtime : _ ("a private folder of /tmp"));
  gboolean writable = g_mkdir_with_parents (data, 0755) == 0 && g_access (data, W_OK) == 0;
  json_object_set_boolean_member (report->object, "data_dir_writable", writable);
  if (!writable)
    remark (report, _ ("The data folder cannot be written: “tenon-cli sample” needs a folder of its own, and the list of runs is not kept. XDG_DATA_HOME names another."));
}

static void
look_at_what_is_missing (Report *report)
{
  g_autofree char *mpirun = g_find_program_in_path ("mpirun"), *dot = g_find_program_in_path ("dot");
  add (report, "mpi", "MPI", mpirun != NULL ? mpirun : _ ("none"));
  add (report, "graphviz", "Graphviz", dot != NULL ? dot : _ ("none"));
  gboolean nvidia = g_file_test ("/dev/nvidiactl", G_FILE_TEST_EXISTS);
  json_object_set_boolean_member (report->object, "nvidia_device", nvidia);
  remark (report, _ ("This build trains on the CPU, in one process: devices and ranks are not in it yet."));
  if (dot == NULL)
    remark (report, _ ("No Graphviz program: “tenon-cli graph --format dot” works, drawing its output needs one."));
}

static void
print_report (Report *report)
{
  if (report->json)
    {
      json_object_set_array_member (report->object, "remarks", json_array_ref (report->remarks));
      tn_cli_print_json (json_object_ref (report->object));
      return;
    }
  putchar ('\n');
  for (guint i = 0; i < json_array_get_length (report->remarks); i++)
    printf ("* %s\n", json_array_get_string_element (report->remarks, i));
}

int
tn_command_doctor (int argc, char **argv)
{
  gboolean json = FALSE;
  double seconds = 0.1;
  const GOptionEntry entries[] = {
    { "seconds", 0, 0, G_OPTION_ARG_DOUBLE, &seconds, N_ ("How long each peak is measured (0.1)"), "S" },
    { "json", 0, 0, G_OPTION_ARG_NONE, &json, N_ ("All of it as one JSON object"), NULL },
    { 0 },
  };
  if (!tn_cli_parse_arguments ("doctor", entries, &argc, &argv, 0, 0, ""))
    return TN_EXIT_USAGE;
  Report report = { json_object_new (), json, json_array_new () };
  look_at_cpu (&report);
  look_at_peaks (&report, CLAMP (seconds, 0.01, 10));
  look_at_memory (&report);
  look_at_libraries (&report);
  look_at_folders (&report);
  look_at_what_is_missing (&report);
  print_report (&report);
  json_object_unref (report.object);
  json_array_unref (report.remarks);
  return TN_EXIT_DONE;
}
