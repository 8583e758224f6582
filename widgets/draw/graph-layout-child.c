/* SPDX-License-Identifier: Apache-2.0 */
#include "draw/graph-layout.h"
#include "base/error.h"
#include <fcntl.h>
#include <graphviz/gvc.h>
#include <locale.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

/* libgvc in a process of its own: it has no cancel, is not safe in threads, aborts at times and can take minutes or gigabytes.
 *
 * What goes in, one line each: "graph BOXES CLUSTERS EDGES TO_RIGHT", "cluster PARENT HEAD", "box WIDTH HEIGHT CLUSTER",
 * "edge FROM TO". What comes out: "size W H", "box X Y", "cluster X Y W H", "edge N X Y ...", "end". Sizes are pixels. */

#define MAX_OBJECTS 100000
#define MAX_ANSWER (64u << 20)
#define INCH 72.0

/* ---- the child ---- */

static void
limit (int what, rlim_t most)
{
  struct rlimit now;
  if (getrlimit (what, &now) == 0 && (now.rlim_max == RLIM_INFINITY || now.rlim_max > most))
    setrlimit (what, &(struct rlimit){ most, most });
}

static void
set (void *object, const char *name, double value)
{
  char text[64];
  g_ascii_formatd (text, sizeof text, "%.5f", value);
  agsafeset (object, (char *) name, text, "");
}

typedef struct
{
  Agraph_t *graph;
  Agraph_t **clusters;
  Agnode_t **nodes;
  Agedge_t **edges;
  int *parents;
  int n_clusters, n_nodes, n_edges;
  gboolean to_right;
} Child;

static gboolean
read_clusters (Child *self, FILE *in)
{
  for (int i = 0; i < self->n_clusters; i++)
    {
      int parent;
      char name[32];
      if (fscanf (in, " cluster %d", &parent) != 1 || parent >= i)
        return FALSE;
      self->parents[i] = parent;
      g_snprintf (name, sizeof name, "cluster_%d", i);
      self->clusters[i] = agsubg (parent >= 0 ? self->clusters[parent] : self->graph, name, 1);
      agsafeset (self->clusters[i], (char *) "margin", (char *) "14", (char *) "");
      /* A label keeps room for the frame's head; what it says does not matter. */
      agsafeset (self->clusters[i], (char *) "label", (char *) "M", (char *) "");
      agsafeset (self->clusters[i], (char *) "fontsize", (char *) "13", (char *) "");
    }
  return TRUE;
}

static gboolean
read_boxes (Child *self, FILE *in)
{
  for (int i = 0; i < self->n_nodes; i++)
    {
      double w, h;
      int cluster;
      char name[32];
      if (fscanf (in, " box %lf %lf %d", &w, &h, &cluster) != 3 || !(w > 0 && w < 1e5 && h > 0 && h < 1e5) || cluster >= self->n_clusters)
        return FALSE;
      g_snprintf (name, sizeof name, "n%d", i);
      self->nodes[i] = agnode (self->graph, name, 1);
      set (self->nodes[i], "width", w / INCH);
      set (self->nodes[i], "height", h / INCH);
      for (int c = cluster; c >= 0; c = self->parents[c])
        agsubnode (self->clusters[c], self->nodes[i], 1);
    }
  return TRUE;
}

static gboolean
read_edges (Child *self, FILE *in)
{
  for (int i = 0; i < self->n_edges; i++)
    {
      int from, to;
      if (fscanf (in, " edge %d %d", &from, &to) != 2 || from < 0 || to < 0 || from >= self->n_nodes || to >= self->n_nodes)
        return FALSE;
      self->edges[i] = agedge (self->graph, self->nodes[from], self->nodes[to], NULL, 1);
    }
  return TRUE;
}

static gboolean
read_graph (Child *self, FILE *in)
{
  int to_right;
  if (fscanf (in, " graph %d %d %d %d", &self->n_nodes, &self->n_clusters, &self->n_edges, &to_right) != 4)
    return FALSE;
  if (self->n_nodes < 0 || self->n_clusters < 0 || self->n_edges < 0 || self->n_nodes > MAX_OBJECTS || self->n_clusters > MAX_OBJECTS
      || self->n_edges > 10 * MAX_OBJECTS)
    return FALSE;
  self->to_right = to_right != 0;
  self->graph = agopen ((char *) "g", Agdirected, NULL);
  self->clusters = g_new0 (Agraph_t *, self->n_clusters + 1);
  self->parents = g_new0 (int, self->n_clusters + 1);
  self->nodes = g_new0 (Agnode_t *, self->n_nodes + 1);
  self->edges = g_new0 (Agedge_t *, self->n_edges + 1);
  gboolean small = self->n_nodes <= TN_GRAPH_MAX_BOXES;
  agattr (self->graph, AGRAPH, (char *) "rankdir", (char *) (self->to_right ? "LR" : "TB"));
  agattr (self->graph, AGRAPH, (char *) "nslimit", (char *) (small ? "2" : "0.1"));
  agattr (self->graph, AGRAPH, (char *) "nslimit1", (char *) (small ? "2" : "0.1"));
  agattr (self->graph, AGRAPH, (char *) "mclimit", (char *) (small ? "1" : "0.1"));
  agattr (self->graph, AGRAPH, (char *) "splines", (char *) (small ? "polyline" : "line"));
  agattr (self->graph, AGRAPH, (char *) "ranksep", (char *) "0.4");
  agattr (self->graph, AGRAPH, (char *) "nodesep", (char *) "0.3");
  agattr (self->graph, AGNODE, (char *) "label", (char *) "");
  agattr (self->graph, AGNODE, (char *) "shape", (char *) "box");
  agattr (self->graph, AGNODE, (char *) "fixedsize", (char *) "true");
  agattr (self->graph, AGEDGE, (char *) "dir", (char *) "none");
  return read_clusters (self, in) && read_boxes (self, in) && read_edges (self, in);
}

static void
put (FILE *out, double value)
{
  char text[64];
  fprintf (out, " %s", g_ascii_formatd (text, sizeof text, "%.2f", value));
}

static void
write_edge (Child *self, FILE *out, Agedge_t *edge, double top)
{
  const splines *spl = ED_spl (edge);
  if (spl == NULL || spl->size < 1)
    {
      fprintf (out, "edge 0\n");
      return;
    }
  /* Polylines come as curves whose inner points lie on the line: each third one is a corner. */
  g_autoptr (GArray) points = g_array_new (FALSE, FALSE, sizeof (pointf));
  for (int k = 0; k < spl->size; k++)
    for (int i = 0; i < spl->list[k].size; i += 3)
      g_array_append_val (points, spl->list[k].list[i]);
  fprintf (out, "edge %u", points->len);
  for (guint i = 0; i < points->len; i++)
    {
      put (out, g_array_index (points, pointf, i).x);
      put (out, top - g_array_index (points, pointf, i).y);
    }
  fputc ('\n', out);
  (void) self;
}

static void
write_layout (Child *self, FILE *out)
{
  boxf bb = GD_bb (self->graph);
  fprintf (out, "size");
  put (out, bb.UR.x);
  put (out, bb.UR.y);
  fputc ('\n', out);
  for (int i = 0; i < self->n_nodes; i++)
    {
      fprintf (out, "box");
      put (out, ND_coord (self->nodes[i]).x);
      put (out, bb.UR.y - ND_coord (self->nodes[i]).y);
      fputc ('\n', out);
    }
  for (int i = 0; i < self->n_clusters; i++)
    {
      boxf c = GD_bb (self->clusters[i]);
      fprintf (out, "cluster");
      put (out, c.LL.x);
      put (out, bb.UR.y - c.UR.y);
      put (out, c.UR.x - c.LL.x);
      put (out, c.UR.y - c.LL.y);
      fputc ('\n', out);
    }
  for (int i = 0; i < self->n_edges; i++)
    write_edge (self, out, self->edges[i], bb.UR.y);
  fprintf (out, "end\n");
}

int
tn_graph_layout_child (FILE *in, FILE *out, int seconds, int memory_mib)
{
  /* Before anything is read: no core file, so much memory and time, an alarm for time that is not computed, nothing open but the pipe. */
  limit (RLIMIT_CORE, 0);
  limit (RLIMIT_AS, (rlim_t) MAX (memory_mib, 64) << 20);
  limit (RLIMIT_CPU, (rlim_t) MAX (seconds, 1) + 1);
  alarm ((unsigned) MAX (seconds, 1) + 1);
  for (int fd = 3; fd < 1024; fd++)
    close (fd);
  setlocale (LC_ALL, "C");
  Child self = { 0 };
  agseterr (AGMAX);
  GVC_t *gvc = gvContext ();
  if (gvc == NULL || !read_graph (&self, in) || gvLayout (gvc, self.graph, "dot") != 0)
    return 1;
  write_layout (&self, out);
  return fflush (out) == 0 ? 0 : 1;
}

/* ---- the parent ---- */

char *
tn_graph_layout_program (void)
{
  const char *given = g_getenv ("TENON_CLI");
  if (given != NULL && g_file_test (given, G_FILE_TEST_IS_EXECUTABLE))
    return g_strdup (given);
  g_autofree char *self = g_file_read_link ("/proc/self/exe", NULL);
  g_autofree char *folder = self != NULL ? g_path_get_dirname (self) : g_strdup (".");
  static const char *const places[] = { "tenon-cli", "../engine/cli/tenon-cli", "../../engine/cli/tenon-cli", "../libexec/tenon-cli" };
  for (gsize i = 0; i < G_N_ELEMENTS (places); i++)
    {
      char *path = g_build_filename (folder, places[i], NULL);
      if (g_file_test (path, G_FILE_TEST_IS_EXECUTABLE))
        return path;
      g_free (path);
    }
  return g_find_program_in_path ("tenon-cli");
}

static void
append (GString *out, double value)
{
  char text[64];
  g_string_append_printf (out, " %s", g_ascii_formatd (text, sizeof text, "%.2f", value));
}

static gboolean
is_sent (const TnGraphEdge *edge)
{
  return edge->kind != TN_EDGE_TUNNEL;
}

static GBytes *
make_question (const TnGraphCut *cut)
{
  GString *out = g_string_new (NULL);
  int n_edges = 0;
  for (int e = 0; e < cut->n_edges; e++)
    n_edges += is_sent (&cut->edges[e]);
  g_string_append_printf (out, "graph %d %d %d %d\n", cut->n_boxes, cut->n_frames, n_edges, cut->show.to_right);
  for (int f = 0; f < cut->n_frames; f++)
    g_string_append_printf (out, "cluster %d\n", cut->frames[f].frame);
  for (int b = 0; b < cut->n_boxes; b++)
    {
      g_string_append (out, "box");
      append (out, cut->boxes[b].width);
      append (out, cut->boxes[b].height);
      g_string_append_printf (out, " %d\n", cut->boxes[b].frame);
    }
  for (int e = 0; e < cut->n_edges; e++)
    if (is_sent (&cut->edges[e]))
      g_string_append_printf (out, "edge %d %d\n", cut->edges[e].from, cut->edges[e].to);
  return g_string_free_to_bytes (out);
}

/* Numbers of the answer, one after the other; @ok turns FALSE at the first wrong one. */
static double
number (const char **at, gboolean *ok)
{
  char *end;
  double value = g_ascii_strtod (*at, &end);
  if (end == *at || !isfinite (value) || fabs (value) > 1e9)
    *ok = FALSE;
  *at = end;
  return value;
}

static gboolean
word (const char **at, const char *expected)
{
  while (g_ascii_isspace (**at))
    (*at)++;
  if (!g_str_has_prefix (*at, expected))
    return FALSE;
  *at += strlen (expected);
  return TRUE;
}

static TnPoint
to_border (const TnRect *box, TnPoint from)
{
  double cx = box->x + box->width / 2, cy = box->y + box->height / 2, dx = from.x - cx, dy = from.y - cy;
  if (fabs (dx) < 1e-9 && fabs (dy) < 1e-9)
    return (TnPoint){ cx, box->y };
  double t = MIN (fabs (dx) > 1e-9 ? box->width / 2 / fabs (dx) : 1e18, fabs (dy) > 1e-9 ? box->height / 2 / fabs (dy) : 1e18);
  return (TnPoint){ cx + dx * t, cy + dy * t };
}

static gboolean
read_edge (const TnGraphCut *cut, TnGraphLayout *layout, int e, const char **at, GArray *points)
{
  const TnGraphEdge *edge = &cut->edges[e];
  const TnRect *from = &layout->boxes[edge->from], *to = &layout->boxes[edge->to];
  gboolean ok = word (at, "edge");
  double n = ok ? number (at, &ok) : 0;
  if (!ok || n < 0 || n > 10000)
    return FALSE;
  g_autoptr (GArray) line = g_array_new (FALSE, FALSE, sizeof (TnPoint));
  for (int k = 0; k < (int) n && ok; k++)
    {
      TnPoint p;
      p.x = number (at, &ok);
      p.y = number (at, &ok);
      g_array_append_val (line, p);
    }
  if (line->len < 2)
    {
      TnPoint ends[2] = { { from->x + from->width / 2, from->y + from->height / 2 }, { to->x + to->width / 2, to->y + to->height / 2 } };
      g_array_set_size (line, 0);
      g_array_append_vals (line, ends, 2);
    }
  /* Both ends exactly onto the border. */
  g_array_index (line, TnPoint, 0) = to_border (from, line->len > 2 ? g_array_index (line, TnPoint, 0) : (TnPoint){ to->x + to->width / 2, to->y + to->height / 2 });
  TnPoint before = line->len > 2 ? g_array_index (line, TnPoint, line->len - 1) : (TnPoint){ from->x + from->width / 2, from->y + from->height / 2 };
  g_array_index (line, TnPoint, line->len - 1) = to_border (to, before);
  g_array_append_vals (points, line->data, line->len);
  return ok;
}

/* The answer may be anything: every number is checked, and then the whole. */
static TnGraphLayout *
read_answer (const TnGraphCut *cut, const char *text)
{
  g_autoptr (TnGraphLayout) layout = g_new0 (TnGraphLayout, 1);
  gboolean ok = TRUE;
  const char *at = text;
  *layout = (TnGraphLayout){ .refs = 1, .n_boxes = cut->n_boxes, .n_frames = cut->n_frames, .n_edges = cut->n_edges, .maker = "dot" };
  layout->boxes = g_new0 (TnRect, cut->n_boxes + 1);
  layout->frames = g_new0 (TnRect, cut->n_frames + 1);
  layout->first_point = g_new0 (int, cut->n_edges + 1);
  ok = word (&at, "size");
  layout->width = ok ? number (&at, &ok) : 0;
  layout->height = ok ? number (&at, &ok) : 0;
  for (int b = 0; b < cut->n_boxes && ok; b++)
    {
      ok = word (&at, "box");
      double x = number (&at, &ok), y = number (&at, &ok), w = cut->boxes[b].width, h = cut->boxes[b].height;
      layout->boxes[b] = (TnRect){ x - w / 2, y - h / 2, w, h };
    }
  for (int f = 0; f < cut->n_frames && ok; f++)
    {
      ok = word (&at, "cluster");
      TnRect *r = &layout->frames[f];
      r->x = number (&at, &ok);
      r->y = number (&at, &ok);
      r->width = number (&at, &ok);
      r->height = number (&at, &ok);
    }
  g_autoptr (GArray) points = g_array_new (FALSE, FALSE, sizeof (TnPoint));
  for (int e = 0; e < cut->n_edges && ok; e++)
    {
      layout->first_point[e] = (int) points->len;
      if (is_sent (&cut->edges[e]))
        ok = read_edge (cut, layout, e, &at, points);
    }
  layout->first_point[cut->n_edges] = (int) points->len;
  layout->points = g_memdup2 (points->data, sizeof (TnPoint) * MAX (points->len, 1u));
  return ok && word (&at, "end") ? g_steal_pointer (&layout) : NULL;
}

/* The question as a file in memory: a child that ends before it has read a pipe would end this program too (SIGPIPE). */
static int
question_file (GBytes *question)
{
  gsize n, done = 0;
  const char *data = g_bytes_get_data (question, &n);
  int fd = memfd_create ("tenon-layout", MFD_CLOEXEC);
  while (fd >= 0 && done < n)
    {
      gssize written = write (fd, data + done, n - done);
      if (written <= 0)
        {
          close (fd);
          return -1;
        }
      done += (gsize) written;
    }
  if (fd >= 0)
    lseek (fd, 0, SEEK_SET);
  return fd;
}

static TnGraphLayout *
run_child (const TnGraphCut *cut, const TnGraphLayoutLimits *limits, GCancellable *cancellable, const char **why)
{
  int seconds = limits != NULL && limits->seconds > 0 ? limits->seconds : 10, memory = limits != NULL && limits->memory_mib > 0 ? limits->memory_mib : 1024;
  g_autofree char *program = limits != NULL && limits->program != NULL ? g_strdup (limits->program) : tn_graph_layout_program ();
  g_autofree char *seconds_text = g_strdup_printf ("%d", seconds), *memory_text = g_strdup_printf ("%d", memory);
  *why = "missing";
  if (program == NULL)
    return NULL;
  g_autoptr (GBytes) question = make_question (cut), answer = NULL;
  int in = question_file (question);
  if (in < 0)
    return NULL;
  g_autoptr (GSubprocessLauncher) launcher = g_subprocess_launcher_new (G_SUBPROCESS_FLAGS_STDOUT_PIPE | G_SUBPROCESS_FLAGS_STDERR_SILENCE);
  g_subprocess_launcher_take_stdin_fd (launcher, in);
  g_autoptr (GSubprocess) child = g_subprocess_launcher_spawn (launcher, NULL, program, "layout", "--seconds", seconds_text, "--memory-mib", memory_text, NULL);
  if (child == NULL)
    return NULL;
  gboolean talked = g_subprocess_communicate (child, NULL, cancellable, &answer, NULL, NULL);
  if (!talked)
    g_subprocess_force_exit (child);
  g_subprocess_wait (child, NULL, NULL);
  *why = "crash";
  if (g_cancellable_is_cancelled (cancellable))
    *why = "cancelled";
  else if (g_subprocess_get_if_signaled (child) && (g_subprocess_get_term_sig (child) == SIGALRM || g_subprocess_get_term_sig (child) == SIGXCPU || g_subprocess_get_term_sig (child) == SIGKILL))
    *why = "time";
  if (!talked || answer == NULL || !g_subprocess_get_successful (child))
    return NULL;
  gsize n;
  const char *data = g_bytes_get_data (answer, &n);
  g_autofree char *text = n < MAX_ANSWER ? g_strndup (data, n) : NULL;
  TnGraphLayout *layout = text != NULL ? read_answer (cut, text) : NULL;
  if (layout == NULL)
    return NULL;
  if (!tn_graph_layout_check (layout, cut, NULL))
    {
      *why = "overlap";
      g_clear_pointer (&layout, tn_graph_layout_unref);
    }
  return layout;
}

TnGraphLayout *
tn_graph_layout_make (const TnGraphCut *cut, const TnGraphLayoutLimits *limits, GCancellable *cancellable, GError **error)
{
  const char *why = NULL;
  TnGraphLayout *layout = cut->has_columns || cut->n_boxes == 0 ? NULL : run_child (cut, limits, cancellable, &why);
  if (layout != NULL)
    return layout;
  layout = tn_graph_layout_layered (cut);
  layout->why = why;
  return layout;
}

/* ---- in a thread ---- */

typedef struct
{
  TnGraphCut *cut;
  TnGraphLayoutLimits limits;
  char *program;
} Job;

static void
job_free (gpointer data)
{
  Job *job = data;
  tn_graph_cut_unref (job->cut);
  g_free (job->program);
  g_free (job);
}

static void
run_job (GTask *task, gpointer source, gpointer data, GCancellable *cancellable)
{
  Job *job = data;
  g_task_return_pointer (task, tn_graph_layout_make (job->cut, &job->limits, cancellable, NULL), (GDestroyNotify) tn_graph_layout_unref);
}

void
tn_graph_layout_make_async (TnGraphCut *cut, const TnGraphLayoutLimits *limits, GCancellable *cancellable, GAsyncReadyCallback callback, gpointer user_data)
{
  g_autoptr (GTask) task = g_task_new (NULL, cancellable, callback, user_data);
  Job *job = g_new0 (Job, 1);
  job->cut = tn_graph_cut_ref (cut);
  if (limits != NULL)
    job->limits = *limits;
  job->limits.program = job->program = g_strdup (job->limits.program);
  g_task_set_check_cancellable (task, FALSE); /* a cancelled child leaves the own layout */
  g_task_set_task_data (task, job, job_free);
  g_task_run_in_thread (task, run_job);
}

TnGraphLayout *
tn_graph_layout_make_finish (GAsyncResult *result, GError **error)
{
  return g_task_propagate_pointer (G_TASK (result), error);
}
