/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
#include <gio/gio.h>
#include "draw/axis.h"
#include "draw/palette.h"
#include "draw/series.h"

/* TnPlot: curves over step, epoch or time, without a window: what is shown, how it is drawn, what lies under a pixel.
 *
 * A plot has lines; a line shows a TnSeries, which several plots may share. The plot decides what is seen (all, a range, the newest),
 * reduces it to what pixels can hold with every extreme kept, and paints on any TnCanvas. Geometry (axes, hits) is that of the
 * last drawing. One thread at a time.
 *
 *   TnPlot *plot = tn_plot_new ("loss");
 *   tn_plot_add (plot, series, "12 lr 0.01", "run-12");
 *   tn_plot_draw (plot, canvas, 600, 300, tn_palette_get (TN_PALETTE_LIGHT));
 */
typedef enum
{
  TN_MARKER_CIRCLE,
  TN_MARKER_SQUARE,
  TN_MARKER_TRIANGLE,
  TN_MARKER_DIAMOND,
  TN_N_MARKERS
} TnMarker;

typedef struct
{
  TnSeries *series;
  char *label; /* in legend and tooltip */
  char *run;   /* its id, in exports */
  int rank;
  unsigned color;    /* place in the palette's series[] */
  gboolean own_color;
  TnColor chosen;    /* where own_color is set */
  unsigned dash;     /* tn_palette_dash() */
  TnMarker marker;
  gboolean hidden;
  gboolean ghost;    /* an earlier run, faint and behind all others */
  gboolean emphasis; /* thick, with markers, never smoothed: validation */
  int band;          /* number of the band that shows it, else -1 */
} TnPlotLine;

typedef struct
{
  TnXKind x;
  gboolean x_log, y_log;     /* x_log: TN_X_STEP and TN_X_RELATIVE only */
  gboolean clip_outliers;    /* y shows the 1st to 99th percentile */
  gboolean unit_interval;    /* y is 0 to 1 where the data is: accuracies */
  double smoothing;          /* 0 to 0.999 */
  gboolean raw_behind;       /* the raw line behind the smoothed one */
  gboolean y_locked;
  gboolean show_title, show_legend; /* drawn inside the picture: for files */
  double corner;             /* pixels left free at the top right: a button of the window */
  gboolean localized;        /* the user's decimal point in labels */
  unsigned max_lines;        /* visible at once; 50 */
} TnPlotOptions;

typedef enum
{
  TN_EVENT_EPOCH,
  TN_EVENT_CHECKPOINT,
  TN_EVENT_VALIDATION,
  TN_EVENT_SETTING,
  TN_EVENT_PAUSE,
  TN_EVENT_RESUME,
  TN_EVENT_NAN,
  TN_EVENT_LOST,
  TN_EVENT_CROSSING, /* of a threshold */
  TN_EVENT_DIVERGING, /* validation no longer follows */
  TN_N_EVENTS
} TnEventKind;

typedef struct
{
  TnEventKind kind;
  int64_t step, time_us;
  char *text; /* "Learning rate 0.01 → 0.1" */
} TnPlotEvent;

typedef struct _TnPlot TnPlot;

TnPlot *tn_plot_new (const char *title);
void tn_plot_free (TnPlot *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (TnPlot, tn_plot_free)
const char *tn_plot_title (const TnPlot *self);
void tn_plot_set_title (TnPlot *self, const char *title);
/** "ms", "bytes"; stands at the end of the y axis. */
void tn_plot_set_unit (TnPlot *self, const char *unit);

/** Shows @series (which gets the plot's smoothing). Colour by @run (nullable) for life, else by place; dash and marker by how
 * many lines of that colour there are. The line is the plot's; change what it shows through its fields, then queue a drawing. */
TnPlotLine *tn_plot_add (TnPlot *self, TnSeries *series, const char *label, const char *run);
void tn_plot_remove (TnPlot *self, TnPlotLine *line);
void tn_plot_remove_all (TnPlot *self);
unsigned tn_plot_n_lines (const TnPlot *self);
TnPlotLine *tn_plot_line (const TnPlot *self, unsigned i);
/** Brings line @from to place @to: drag in the legend. */
void tn_plot_move_line (TnPlot *self, unsigned from, unsigned to);
TnColor tn_plot_line_color (const TnPlotLine *line, const TnPalette *palette);
/** Whether it is drawn: not hidden and among the first max_lines. */
gboolean tn_plot_line_is_shown (const TnPlot *self, const TnPlotLine *line);
/** Shows the lines @first to @first + @n - 1 as their mean with a band from least to greatest (seeds, ranks). */
void tn_plot_add_band (TnPlot *self, unsigned first, unsigned n, const char *label);

/** Appends a row to @line's series; where it crosses a threshold an event is noted. */
void tn_plot_append (TnPlot *self, TnPlotLine *line, int64_t step, double value, int64_t time_us);

const TnPlotOptions *tn_plot_options (const TnPlot *self);
void tn_plot_set_options (TnPlot *self, const TnPlotOptions *options);
/** Smooths up to @budget waiting rows of all lines; TRUE if there are more: call again before the next frame. */
gboolean tn_plot_smooth_some (TnPlot *self, size_t budget);

/** Events stay in order of step. */
void tn_plot_add_event (TnPlot *self, TnEventKind kind, int64_t step, int64_t time_us, const char *text);
void tn_plot_clear_events (TnPlot *self);
/** Takes out the events of step @from and later ones: they are made again by a run that goes on there. */
void tn_plot_drop_events (TnPlot *self, int64_t from);
unsigned tn_plot_n_events (const TnPlot *self);
const TnPlotEvent *tn_plot_event (const TnPlot *self, unsigned i);
/** To be called after a row of @validation: where it has moved away from @train (its smoothed value at that step) in each of the last five
 * checks, an event is noted, once for each such stretch. TRUE if one was. */
gboolean tn_plot_check_gap (TnPlot *self, const TnPlotLine *train, const TnPlotLine *validation);
/** What happened, for people: "Checkpoint". */
const char *tn_event_name (TnEventKind kind);
/** Step of the next event or not-finite value after @step (@direction > 0) or before it; FALSE if there is none. */
gboolean tn_plot_next_event (const TnPlot *self, int64_t step, int direction, int64_t *found, char **text);

/** A horizontal rule at @value. */
void tn_plot_add_threshold (TnPlot *self, double value);
void tn_plot_clear_thresholds (TnPlot *self);
unsigned tn_plot_n_thresholds (const TnPlot *self);
double tn_plot_threshold (const TnPlot *self, unsigned i);

/** Selected steps, as a band in every plot; begin = end is one line; @begin > @end: none. */
void tn_plot_set_selection (TnPlot *self, int64_t begin, int64_t end);
gboolean tn_plot_selection (const TnPlot *self, int64_t *begin, int64_t *end);

/* --- what is seen --- */

/** All of x; y by what is seen. */
void tn_plot_fit (TnPlot *self);
gboolean tn_plot_is_fit (const TnPlot *self);
/** @low and @high as on tn_plot_x_axis(). Follows the newest row while that is in view. */
void tn_plot_set_x_range (TnPlot *self, double low, double high);
void tn_plot_set_y_range (TnPlot *self, double low, double high);
void tn_plot_zoom_x (TnPlot *self, double pixel, double factor);
void tn_plot_pan_x (TnPlot *self, double pixels);
/** Shows the pixels of @box: x and, locked, y. */
void tn_plot_zoom_to (TnPlot *self, const TnRect *box);
gboolean tn_plot_is_following (const TnPlot *self);
/** The newest rows in view, with the same width. */
void tn_plot_follow (TnPlot *self);

/* --- drawing and its geometry --- */

void tn_plot_draw (TnPlot *self, TnCanvas *canvas, double width, double height, const TnPalette *palette);
/** Works out ranges and axes only: what tn_plot_draw() begins with. */
void tn_plot_layout (TnPlot *self, TnCanvas *canvas, double width, double height);
TnRect tn_plot_inner (const TnPlot *self);
const TnAxis *tn_plot_x_axis (const TnPlot *self);
const TnAxis *tn_plot_y_axis (const TnPlot *self);
/** x on the axis of row @i of @series. */
double tn_plot_x_of (const TnPlot *self, const TnSeries *series, size_t i);
/** Step of the row nearest to @pixel of any shown line; FALSE where there is none. */
gboolean tn_plot_step_at (const TnPlot *self, double pixel, int64_t *step);
/** Pixel of @step, by the first shown line that has rows on both sides of it; FALSE where none has. */
gboolean tn_plot_pixel_of_step (const TnPlot *self, int64_t step, double *pixel);
/** What is left out: "1 of 200 points, extremes kept · 3 values ≤ 0 not on a log axis"; NULL for nothing. Free with g_free. */
char *tn_plot_badge (const TnPlot *self);
/** "Loss, 2 runs, 9380 steps, last 0.042": for screen readers. Free with g_free. */
char *tn_plot_description (const TnPlot *self);

/* --- what lies where --- */

typedef struct
{
  const TnPlotLine *line;
  size_t row;
  double x, y; /* pixels */
  double raw, smoothed;
  int64_t step, time_us;
  double distance; /* pixels in y from the pointer */
} TnPlotHit;

/** One hit a shown line that does not end before @x or begin behind it: its row nearest in x; nearest to @y first, those without a place last. Array of TnPlotHit; free with
 * g_array_unref. */
GArray *tn_plot_hits (const TnPlot *self, double x, double y);
/** What a range of steps holds, of one line. */
typedef struct
{
  int64_t n, delta_step;
  double delta, slope, mean, deviation; /* slope: per step, by first and last finite value */
} TnPlotStatistics;
void tn_plot_statistics (const TnPlotLine *line, int64_t begin, int64_t end, TnPlotStatistics *statistics);

/* --- raw points --- */

typedef enum
{
  TN_TABLE_CSV,
  TN_TABLE_JSON
} TnTableFormat;

/** All raw rows of shown lines, or those of steps [begin, end] with @begin <= @end: run, rank, step, epoch, relative (s), wall (ISO 8601),
 * raw, smoothed, tag. JSON: one array of objects; not finite: null, with its word in "raw_text". Written durably. */
gboolean tn_plot_export (TnPlot *self, const char *path, TnTableFormat format, int64_t begin, int64_t end, GCancellable *cancellable,
                         GError **error);
/** The same as text, for the clipboard. Free with g_free. */
char *tn_plot_export_text (TnPlot *self, TnTableFormat format, int64_t begin, int64_t end);
