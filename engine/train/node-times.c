/* SPDX-License-Identifier: Apache-2.0 */
#include "train/node-times.h"

#include <string.h>
#include <time.h>

#define LINE_BYTES 64

/* One worker's: on cache lines that no other worker writes to. */
typedef struct
{
  gint64 begun_ns;
  gint64 *sum_ns; /* [n_nodes] */
} Worker;

struct _TnNodeTimes
{
  TnPlan *plan;
  TnSpanHook hook;
  int n_workers, n_nodes;
  const TnNode **nodes; /* [n_nodes] */
  int *node_of_call;    /* [n_calls] */
  char *memory;         /* a Worker and its sums each stride bytes */
  gsize stride;
  guint n_steps;
};

static gint64
now_ns (void)
{
  struct timespec now;
  clock_gettime (CLOCK_MONOTONIC, &now);
  return (gint64) now.tv_sec * 1000000000 + now.tv_nsec;
}

static Worker *
worker_of (const TnNodeTimes *self, int worker)
{
  return (Worker *) (gpointer) (self->memory + (gsize) worker * self->stride);
}

static void
begin_call (void *data, const TnPlan *plan, int call, int64_t slice, int worker)
{
  TnNodeTimes *self = data;
  if (plan == self->plan && worker < self->n_workers)
    worker_of (self, worker)->begun_ns = now_ns ();
}

static void
end_call (void *data, const TnPlan *plan, int call, int64_t slice, int worker, const TnCpuCall *values)
{
  TnNodeTimes *self = data;
  if (plan != self->plan || worker >= self->n_workers)
    return;
  Worker *own = worker_of (self, worker);
  own->sum_ns[self->node_of_call[call]] += now_ns () - own->begun_ns;
}

static void
number_nodes (TnNodeTimes *self)
{
  int n_calls = tn_plan_n_calls (self->plan);
  g_autoptr (GHashTable) places = g_hash_table_new (NULL, NULL); /* node -> place + 1 */
  self->nodes = g_new (const TnNode *, n_calls + 1);
  self->node_of_call = g_new (int, n_calls + 1);
  for (int i = 0; i < n_calls; i++)
    {
      const TnNode *node = tn_plan_call (self->plan, i).node;
      int place = GPOINTER_TO_INT (g_hash_table_lookup (places, node));
      if (place == 0)
        {
          self->nodes[self->n_nodes] = node;
          place = ++self->n_nodes;
          g_hash_table_insert (places, (gpointer) node, GINT_TO_POINTER (place));
        }
      self->node_of_call[i] = place - 1;
    }
}

TnNodeTimes *
tn_node_times_new (TnPlan *plan, int n_workers)
{
  TnNodeTimes *self = g_new0 (TnNodeTimes, 1);
  self->plan = tn_plan_ref (plan);
  self->n_workers = n_workers;
  self->hook = (TnSpanHook){ begin_call, end_call, self };
  number_nodes (self);
  gsize bytes = sizeof (Worker) + (gsize) self->n_nodes * sizeof (gint64);
  self->stride = (bytes + 2 * LINE_BYTES - 1) / LINE_BYTES * LINE_BYTES; /* at least a line between what two workers write */
  self->memory = g_malloc0 (self->stride * (gsize) n_workers);
  for (int w = 0; w < n_workers; w++)
    worker_of (self, w)->sum_ns = (gint64 *) (gpointer) (worker_of (self, w) + 1);
  return self;
}

void
tn_node_times_free (TnNodeTimes *self)
{
  if (self == NULL)
    return;
  tn_plan_unref (self->plan);
  g_free (self->nodes);
  g_free (self->node_of_call);
  g_free (self->memory);
  g_free (self);
}

const TnSpanHook *
tn_node_times_hook (TnNodeTimes *self)
{
  return &self->hook;
}

static TnNodeTimesReport *
new_report (guint n)
{
  TnNodeTimesReport *report = g_malloc0 (sizeof (TnNodeTimesReport) + n * (sizeof (double) + sizeof (guint32)));
  double *means = (double *) (gpointer) (report + 1);
  report->n = n;
  report->mean_ns = means;
  report->ids = (guint32 *) (gpointer) (means + n);
  return report;
}

TnNodeTimesReport *
tn_node_times_step (TnNodeTimes *self, gint64 steps_done)
{
  if (++self->n_steps < TN_NODE_TIMES_STEPS)
    return NULL;
  TnNodeTimesReport *report = new_report ((guint) self->n_nodes);
  double *means = (double *) report->mean_ns;
  guint32 *ids = (guint32 *) report->ids;
  report->step = steps_done;
  report->n_steps = self->n_steps;
  for (int i = 0; i < self->n_nodes; i++)
    {
      gint64 sum = 0;
      for (int w = 0; w < self->n_workers; w++)
        {
          sum += worker_of (self, w)->sum_ns[i];
          worker_of (self, w)->sum_ns[i] = 0;
        }
      ids[i] = (guint32) self->nodes[i]->id;
      means[i] = (double) sum / self->n_steps;
    }
  self->n_steps = 0;
  return report;
}

TnNodeTimesReport *
tn_node_times_report_copy (const TnNodeTimesReport *report)
{
  TnNodeTimesReport *copy = new_report (report->n);
  copy->step = report->step;
  copy->n_steps = report->n_steps;
  memcpy ((gpointer) copy->ids, report->ids, report->n * sizeof (guint32));
  memcpy ((gpointer) copy->mean_ns, report->mean_ns, report->n * sizeof (double));
  return copy;
}

GVariant *
tn_node_times_table (const TnNodeTimes *self)
{
  GVariantBuilder builder;
  g_variant_builder_init (&builder, G_VARIANT_TYPE ("a(usss)"));
  for (int i = 0; i < self->n_nodes; i++)
    g_variant_builder_add (&builder, "(usss)", (guint32) self->nodes[i]->id, self->nodes[i]->name, self->nodes[i]->scope,
                           tn_phase_name (self->nodes[i]->phase));
  return g_variant_ref_sink (g_variant_builder_end (&builder));
}
