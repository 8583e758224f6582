/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/cli.h"
#include "base/error.h"
#if TN_HAVE_DRAW
#include <math.h>
#include <stdio.h>
#include <string.h>
#include "draw/canvas-cairo.h"
#include "draw/plot.h"
#include "formats/tfevents.h"
#include "train/metrics.h"
#endif

/* render: the curves of runs and event files as a picture, or all their rows. */

#if TN_HAVE_DRAW

typedef struct
{
  char *output, *size, *theme, *x, *title;
  char **tags;
  double smooth, scale;
  gboolean log_x, log_y, clip, no_legend;
} Options;

static void
options_clear (Options *self)
{
  g_free (self->output);
  g_free (self->size);
  g_free (self->theme);
  g_free (self->x);
  g_free (self->title);
  g_strfreev (self->tags);
}

typedef struct
{
  TnPlot *plot;
  const TnPalette *palette;
} Job;

static void
paint (TnCanvas *canvas, double width, double height, gpointer user_data)
{
  const Job *job = user_data;
  tn_plot_draw (job->plot, canvas, width, height, job->palette);
}

/* A tag is asked for by its name or its last part: "loss" is "train/loss" and "validation/loss". */
static gboolean
is_wanted (char **tags, const char *tag)
{
  const char *slash = strrchr (tag, '/');
  for (int i = 0; tags != NULL && tags[i] != NULL; i++)
    if (strcmp (tags[i], tag) == 0 || (slash != NULL && strcmp (tags[i], slash + 1) == 0))
      return TRUE;
  return tags == NULL && g_str_has_suffix (tag, "loss");
}

static TnTfeventsRows *
read_rows (const char *path, GError **error)
{
  if (g_file_test (path, G_FILE_TEST_IS_DIR))
    {
      g_autofree char *warning = NULL;
      TnTfeventsRows *rows = tn_tfevents_read_folder (path, &warning, error);
      if (rows != NULL && warning != NULL)
        fprintf (stderr, "tenon-cli: %s\n", warning);
      return rows;
    }
  g_autoptr (TnTfeventsReader) reader = tn_tfevents_reader_new (path, 0, error);
  g_autoptr (TnTfeventsRows) rows = tn_tfevents_rows_new ();
  g_autoptr (GError) damage = NULL;
  if (reader == NULL)
    return NULL;
  if (!tn_tfevents_reader_read (reader, rows, &damage))
    {
      if (rows->rows->len == 0)
        {
          g_propagate_error (error, g_steal_pointer (&damage));
          return NULL;
        }
      fprintf (stderr, "tenon-cli: %s\n", damage->message);
    }
  tn_tfevents_rows_purge (rows);
  return g_steal_pointer (&rows);
}

static double
steps_per_epoch (const TnTfeventsRows *rows)
{
  double steps = 0;
  for (guint i = 0; i < rows->rows->len; i++)
    {
      const TnTfeventsRow *row = &g_array_index (rows->rows, TnTfeventsRow, i);
      if (row->kind == TN_TFEVENTS_SCALAR && strcmp (row->tag, tn_tags[TN_TAG_EPOCH].name) == 0 && row->value > 0 && row->step > 0)
        steps = (double) row->step / row->value;
    }
  return steps;
}

/* One line a tag. */
static guint
add_rows (TnPlot *plot, const TnTfeventsRows *rows, const char *run, gboolean many, char **tags)
{
  g_autoptr (GHashTable) lines = g_hash_table_new (g_str_hash, g_str_equal);
  double epoch = steps_per_epoch (rows);
  for (guint i = 0; i < rows->rows->len; i++)
    {
      const TnTfeventsRow *row = &g_array_index (rows->rows, TnTfeventsRow, i);
      if (row->kind == TN_TFEVENTS_START)
        {
          GHashTableIter iter;
          gpointer line;
          g_hash_table_iter_init (&iter, lines);
          while (g_hash_table_iter_next (&iter, NULL, &line))
            tn_series_restart (((TnPlotLine *) line)->series, row->step);
        }
      if (row->kind != TN_TFEVENTS_SCALAR || !is_wanted (tags, row->tag))
        continue;
      TnPlotLine *line = g_hash_table_lookup (lines, row->tag);
      if (line == NULL)
        {
          g_autoptr (TnSeries) series = tn_series_new (row->tag);
          g_autofree char *label = many ? g_strdup_printf ("%s %s", run, row->tag) : g_strdup (row->tag);
          tn_series_set_steps_per_epoch (series, epoch);
          line = tn_plot_add (plot, series, label, run);
          line->color = (tn_plot_n_lines (plot) - 1) % TN_PALETTE_N_SERIES; /* in one picture no two should be alike */
          line->dash = (tn_plot_n_lines (plot) - 1) / TN_PALETTE_N_SERIES;
          line->emphasis = g_str_has_prefix (row->tag, "validation/");
          g_hash_table_insert (lines, (gpointer) row->tag, line);
        }
      tn_series_append (line->series, row->step, row->value, (int64_t) (row->wall_time * 1e6));
    }
  return g_hash_table_size (lines);
}

static gboolean
load (TnPlot *plot, char **paths, char **tags, GError **error)
{
  guint n = 0;
  for (int i = 0; paths[i] != NULL; i++)
    {
      g_autoptr (TnTfeventsRows) rows = read_rows (paths[i], error);
      g_autofree char *run = g_path_get_basename (paths[i]);
      if (rows == NULL)
        return FALSE;
      n += add_rows (plot, rows, run, paths[1] != NULL, tags);
    }
  if (n == 0)
    g_set_error (error, TN_ERROR, TN_ERROR_NOT_FOUND, _ ("There are no rows of the asked tags in %s. See its tags with: tenon-cli inspect %s"),
                 paths[0], paths[0]);
  return n > 0;
}

static gboolean
parse_size (const char *text, double *width, double *height)
{
  char *end;
  *width = g_ascii_strtod (text, &end);
  if (end == text || (*end != 'x' && *end != 'X'))
    return FALSE;
  const char *second = end + 1;
  *height = g_ascii_strtod (second, &end);
  return end != second && *end == '\0' && *width >= 1 && *height >= 1 && *width <= TN_PICTURE_MAX_SIDE && *height <= TN_PICTURE_MAX_SIDE;
}

static gboolean
find_word (const char *word, const char *const *words, int *place)
{
  for (*place = 0; words[*place] != NULL; (*place)++)
    if (strcmp (word, words[*place]) == 0)
      return TRUE;
  return FALSE;
}

static gboolean
write_output (TnPlot *plot, const Options *options, const TnPalette *palette, double width, double height, GError **error)
{
  TnPictureFormat format;
  gboolean csv = g_str_has_suffix (options->output, ".csv"), json = g_str_has_suffix (options->output, ".json");
  if (csv || json)
    return tn_plot_export (plot, options->output, csv ? TN_TABLE_CSV : TN_TABLE_JSON, 0, -1, NULL, error);
  Job job = { plot, palette };
  TnPictureSize size = { width, height, options->scale };
  while (tn_plot_smooth_some (plot, 1 << 22))
    ;
  if (!tn_picture_format_from_path (options->output, &format, NULL))
    {
      g_set_error (error, TN_ERROR, TN_ERROR_UNSUPPORTED, _ ("“%s” does not end in .png, .svg, .pdf, .csv or .json. Choose one of these endings."),
                   options->output);
      return FALSE;
    }
  return tn_picture_write (options->output, format, &size, paint, &job, error);
}

static char *
title_of (const Options *options)
{
  if (options->title != NULL)
    return g_strdup (options->title);
  return options->tags != NULL ? g_strjoinv (", ", options->tags) : g_strdup ("loss");
}

static int
render (const Options *options, char **paths)
{
  static const char *const themes[] = { "light", "dark", "light-contrast", "dark-contrast", NULL };
  static const char *const kinds[] = { "step", "epoch", "relative", "wall", NULL };
  double width, height;
  int theme, x;
  if (!parse_size (options->size, &width, &height))
    return tn_cli_usage ("render", _ ("“%s” is no size; write it like 1200x600"), options->size);
  if (!find_word (options->theme, themes, &theme))
    return tn_cli_usage ("render", _ ("there is no theme “%s”: light, dark, light-contrast or dark-contrast"), options->theme);
  if (!find_word (options->x, kinds, &x))
    return tn_cli_usage ("render", _ ("there is no x axis “%s”: step, epoch, relative or wall"), options->x);
  if (!(options->smooth >= 0 && options->smooth <= 0.999))
    return tn_cli_usage ("render", _ ("the weight of smoothing is 0 to 0.999"));
  if (options->log_x && x != TN_X_STEP && x != TN_X_RELATIVE)
    return tn_cli_usage ("render", _ ("only step and relative time can have a logarithmic x axis"));
  g_autoptr (GError) error = NULL;
  g_autofree char *title = title_of (options);
  g_autoptr (TnPlot) plot = tn_plot_new (title);
  TnPlotOptions shown = *tn_plot_options (plot);
  shown.x = (TnXKind) x;
  shown.x_log = options->log_x;
  shown.y_log = options->log_y;
  shown.clip_outliers = options->clip;
  shown.smoothing = options->smooth;
  shown.show_title = TRUE;
  shown.show_legend = !options->no_legend;
  tn_plot_set_options (plot, &shown);
  if (!load (plot, paths, options->tags, &error) || !write_output (plot, options, tn_palette_get (theme), width, height, &error))
    return tn_cli_fail (error, FALSE);
  size_t n = 0;
  for (guint i = 0; i < tn_plot_n_lines (plot); i++)
    n += tn_series_n (tn_plot_line (plot, i)->series);
  printf (_ ("Wrote %u lines of %lu rows to %s.\n"), tn_plot_n_lines (plot), (gulong) n, options->output);
  return TN_EXIT_DONE;
}

int
tn_command_render (int argc, char **argv)
{
  Options options = { .scale = 1, .size = g_strdup ("1200x600"), .theme = g_strdup ("light"), .x = g_strdup ("step") };
  const GOptionEntry entries[] = {
    { "output", 'o', 0, G_OPTION_ARG_FILENAME, &options.output, N_ ("The file to write: .png, .svg, .pdf, .csv or .json"), "FILE" },
    { "tag", 't', 0, G_OPTION_ARG_STRING_ARRAY, &options.tags, N_ ("A metric, or the last part of its name (default: losses)"), "TAG" },
    { "size", 0, 0, G_OPTION_ARG_STRING, &options.size, N_ ("Width and height in pixels (1200x600)"), "WxH" },
    { "scale", 0, 0, G_OPTION_ARG_DOUBLE, &options.scale, N_ ("Pixels of a PNG for each of these (1)"), "N" },
    { "theme", 0, 0, G_OPTION_ARG_STRING, &options.theme, N_ ("light, dark, light-contrast or dark-contrast"), "THEME" },
    { "x", 'x', 0, G_OPTION_ARG_STRING, &options.x, N_ ("step, epoch, relative or wall"), "KIND" },
    { "smooth", 's', 0, G_OPTION_ARG_DOUBLE, &options.smooth, N_ ("Weight of the exponential average, 0 to 0.999"), "W" },
    { "log-x", 0, 0, G_OPTION_ARG_NONE, &options.log_x, N_ ("Logarithmic x axis"), NULL },
    { "log-y", 0, 0, G_OPTION_ARG_NONE, &options.log_y, N_ ("Logarithmic y axis"), NULL },
    { "clip", 0, 0, G_OPTION_ARG_NONE, &options.clip, N_ ("Show percentiles 1 to 99, arrows for the rest"), NULL },
    { "no-legend", 0, 0, G_OPTION_ARG_NONE, &options.no_legend, N_ ("Leave the legend out"), NULL },
    { "title", 0, 0, G_OPTION_ARG_STRING, &options.title, N_ ("Heading of the picture"), "TEXT" },
    { 0 },
  };
  int status = TN_EXIT_USAGE;
  if (tn_cli_parse_arguments ("render", entries, &argc, &argv, 1, 1000, _ ("name a run's folder or event files")))
    status = options.output == NULL ? tn_cli_usage ("render", _ ("name the file to write with -o")) : render (&options, argv + 1);
  options_clear (&options);
  return status;
}

#else

int
tn_command_render (int argc, char **argv)
{
  g_autoptr (GError) error = g_error_new_literal (TN_ERROR, TN_ERROR_UNSUPPORTED,
                                                  _ ("This tenon-cli was built without cairo and pango and cannot draw. Install one that was built with them."));
  return tn_cli_fail (error, FALSE);
}

#endif
