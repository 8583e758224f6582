/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <string.h>
#include "base/durable.h"
#include <inttypes.h>
#include "base/error.h"
#include "draw/plot-private.h"

/* All raw rows as text, in the C locale. */

#define FLUSH_BYTES (256 * 1024)

typedef gboolean (*Sink) (GString *text, gpointer data, GError **error);

static void
put_number (GString *text, double value, const char *not_finite)
{
  char buffer[G_ASCII_DTOSTR_BUF_SIZE];
  g_string_append (text, isfinite (value) ? g_ascii_dtostr (buffer, sizeof buffer, value) : not_finite != NULL ? not_finite
                         : isnan (value) ? "NaN" : value > 0 ? "Infinity" : "-Infinity");
}

static void
put_time (GString *text, int64_t time_us)
{
  g_autoptr (GDateTime) time = g_date_time_new_from_unix_utc (time_us / 1000000);
  g_autofree char *seconds = time != NULL ? g_date_time_format (time, "%Y-%m-%dT%H:%M:%S") : NULL;
  if (seconds != NULL)
    g_string_append_printf (text, "%s.%06dZ", seconds, (int) ((time_us % 1000000 + 1000000) % 1000000));
}

static void
put_csv_text (GString *text, const char *value)
{
  if (strpbrk (value, ",\"\r\n") == NULL)
    {
      g_string_append (text, value);
      return;
    }
  g_string_append_c (text, '"');
  for (const char *at = value; *at != '\0'; at++)
    {
      if (*at == '"')
        g_string_append_c (text, '"');
      g_string_append_c (text, *at);
    }
  g_string_append_c (text, '"');
}

static void
put_json_text (GString *text, const char *value)
{
  g_string_append_c (text, '"');
  for (const char *at = value; *at != '\0'; at++)
    if (*at == '"' || *at == '\\')
      g_string_append_printf (text, "\\%c", *at);
    else if ((unsigned char) *at < 0x20)
      g_string_append_printf (text, "\\u%04x", *at);
    else
      g_string_append_c (text, *at);
  g_string_append_c (text, '"');
}

static double
epoch_of (const TnSeries *series, size_t row)
{
  double steps = tn_series_steps_per_epoch (series);
  return steps > 0 ? (double) tn_series_steps (series)[row] / steps : NAN;
}

static void
put_csv_row (GString *text, const TnPlotLine *line, size_t row)
{
  const TnSeries *series = line->series;
  put_csv_text (text, line->run[0] != '\0' ? line->run : line->label);
  g_string_append_printf (text, ",%d,%" PRId64 ",", line->rank, tn_series_steps (series)[row]);
  put_number (text, epoch_of (series, row), "");
  g_string_append_c (text, ',');
  put_number (text, tn_series_x (series, TN_X_RELATIVE, 0, row) / 1e6, NULL);
  g_string_append_c (text, ',');
  put_time (text, tn_series_times (series)[row]);
  g_string_append_c (text, ',');
  put_number (text, tn_series_values (series, FALSE)[row], NULL);
  g_string_append_c (text, ',');
  put_number (text, tn_series_values (series, TRUE)[row], NULL);
  g_string_append_c (text, ',');
  put_csv_text (text, tn_series_name (series));
  g_string_append_c (text, '\n');
}

static void
put_json_row (GString *text, const TnPlotLine *line, size_t row)
{
  const TnSeries *series = line->series;
  double raw = tn_series_values (series, FALSE)[row];
  g_string_append (text, "{\"run\": ");
  put_json_text (text, line->run[0] != '\0' ? line->run : line->label);
  g_string_append_printf (text, ", \"rank\": %d, \"step\": %" PRId64 ", \"epoch\": ", line->rank, tn_series_steps (series)[row]);
  put_number (text, epoch_of (series, row), "null");
  g_string_append (text, ", \"relative\": ");
  put_number (text, tn_series_x (series, TN_X_RELATIVE, 0, row) / 1e6, "null");
  g_string_append (text, ", \"wall\": \"");
  put_time (text, tn_series_times (series)[row]);
  g_string_append (text, "\", \"raw\": ");
  put_number (text, raw, "null");
  g_string_append (text, ", \"smoothed\": ");
  put_number (text, tn_series_values (series, TRUE)[row], "null");
  if (!isfinite (raw))
    {
      g_string_append (text, ", \"raw_text\": \"");
      put_number (text, raw, NULL);
      g_string_append_c (text, '"');
    }
  g_string_append (text, ", \"tag\": ");
  put_json_text (text, tn_series_name (series));
  g_string_append_c (text, '}');
}

static gboolean
write_rows (TnPlot *self, TnTableFormat format, int64_t begin, int64_t end, Sink sink, gpointer data, GCancellable *cancellable, GError **error)
{
  g_autoptr (GString) text = g_string_new (format == TN_TABLE_CSV ? "run,rank,step,epoch,relative,wall,raw,smoothed,tag\n" : "[");
  gboolean first = TRUE;
  for (guint i = 0; i < self->lines->len; i++)
    {
      const TnPlotLine *line = tn_plot_line (self, i);
      if (!tn_plot_line_is_shown (self, line))
        continue;
      while (tn_series_smooth_some (line->series, 1 << 20))
        ;
      for (size_t row = 0; row < tn_series_n (line->series); row++)
        {
          int64_t step = tn_series_steps (line->series)[row];
          if (begin <= end && (step < begin || step > end))
            continue;
          if (format == TN_TABLE_JSON)
            g_string_append (text, first ? "\n" : ",\n");
          first = FALSE;
          (format == TN_TABLE_CSV ? put_csv_row : put_json_row) (text, line, row);
          if (text->len >= FLUSH_BYTES && (!sink (text, data, error) || g_cancellable_set_error_if_cancelled (cancellable, error)))
            return FALSE;
        }
    }
  if (format == TN_TABLE_JSON)
    g_string_append (text, "\n]\n");
  return sink (text, data, error);
}

static gboolean
to_file (GString *text, gpointer data, GError **error)
{
  gboolean ok = tn_durable_file_write (data, text->str, text->len, error);
  g_string_truncate (text, 0);
  return ok;
}

static gboolean
to_text (GString *text, gpointer data, GError **error)
{
  g_string_append_len (data, text->str, text->len);
  g_string_truncate (text, 0);
  return TRUE;
}

gboolean
tn_plot_export (TnPlot *self, const char *path, TnTableFormat format, int64_t begin, int64_t end, GCancellable *cancellable, GError **error)
{
  g_autoptr (TnDurableFile) file = tn_durable_file_new (path, 0, error);
  if (file == NULL || !write_rows (self, format, begin, end, to_file, file, cancellable, error))
    return FALSE;
  return tn_durable_file_finish (g_steal_pointer (&file), TRUE, error);
}

char *
tn_plot_export_text (TnPlot *self, TnTableFormat format, int64_t begin, int64_t end)
{
  GString *all = g_string_new (NULL);
  write_rows (self, format, begin, end, to_text, all, NULL, NULL);
  return g_string_free (all, FALSE);
}
