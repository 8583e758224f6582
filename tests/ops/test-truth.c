/* SPDX-License-Identifier: Apache-2.0 */
#include "ops/op.h"
#include "ops/small-cases.h"
#include "ops/truth-run.h"
#include <math.h>
#include <string.h>

/* Every operator against what another framework computed, and its gradient against finite differences. Cases come from
 * tests/data/truth (always) and from $TENON_TRUTH or ../shared/truth (where there is one). */

typedef struct
{
  char *folder; /* NULL: missing */
  GPtrArray *roots; /* JsonNode: hold the cases */
  GPtrArray *cases; /* JsonObject */
} Folder;

static Folder own, shared;
static GHashTable *reached; /* rows that some graph had: TnOp name -> itself */
static GHashTable *differentiated; /* rows whose gradient was compared with finite differences */

static void
load_folder (Folder *self, char *folder)
{
  self->folder = folder;
  self->roots = g_ptr_array_new_with_free_func ((GDestroyNotify) json_node_unref);
  self->cases = g_ptr_array_new ();
  g_autoptr (GPtrArray) files = folder != NULL ? truth_files (folder) : g_ptr_array_new ();
  for (guint i = 0; i < files->len; i++)
    {
      JsonNode *root = truth_load (files->pdata[i]);
      if (root == NULL)
        continue;
      g_ptr_array_add (self->roots, root);
      JsonNode *cases = json_object_get_member (json_node_get_object (root), "cases");
      if (cases == NULL || !JSON_NODE_HOLDS_ARRAY (cases))
        continue;
      for (guint k = 0; k < json_array_get_length (json_node_get_array (cases)); k++)
        {
          JsonNode *item = json_array_get_element (json_node_get_array (cases), k);
          if (truth_is_case (item))
            g_ptr_array_add (self->cases, json_node_get_object (item));
        }
    }
}

static void
clear_folder (Folder *self)
{
  g_free (self->folder);
  g_ptr_array_unref (self->cases);
  g_ptr_array_unref (self->roots);
}

static void
mark (GHashTable *rows, const TnGraph *graph)
{
  for (int i = 0; i < tn_graph_n_nodes (graph); i++)
    g_hash_table_add (rows, (gpointer) tn_graph_node (graph, i)->op->name);
}

/* ---- tolerances: numbers/README.md ---- */

static gboolean
is_exact (const TruthRun *run, int i)
{
  TnTensor *want = run->want->pdata[i];
  return i < run->n_outputs && (!tn_dtype_is_float (want->dtype) || g_str_has_prefix (run->c.id, "shape/"));
}

static double
tolerance_of (const TruthRun *run, int i)
{
  static const char *const looser[] = { "erf", "gelu", "attention", "poisson", "lgamma", "digamma" };
  if (is_exact (run, i))
    return 0;
  if (run->c.dtype == TN_DTYPE_F64)
    {
      /* torch rounds two constants to float32 even in float64: 1/alpha in celu's gradient and 1/6 in hardsigmoid's. */
      if (i >= run->n_outputs && (strcmp (run->c.op, "celu") == 0 || strcmp (run->c.op, "hardsigmoid") == 0))
        return 1e-7;
      for (gsize k = 0; k < G_N_ELEMENTS (looser); k++)
        if (strstr (run->c.op, looser[k]) != NULL)
          return 1e-10;
      return 1e-12;
    }
  int64_t longest = 1; /* no sum is longer than the largest input */
  for (guint k = 0; k < run->inputs->len; k++)
    longest = MAX (longest, tn_tensor_count (run->inputs->pdata[k]));
  return MAX (2e-6 * sqrt ((double) longest), 1e-5);
}

/* Sums that cancel to 0 have no largest value to measure by: some rounding errors of numbers of size 1. */
static double
absolute_of (const TruthRun *run, int i)
{
  return is_exact (run, i) ? 0 : run->c.dtype == TN_DTYPE_F64 ? 1e-15 : 1e-6;
}

/* Border cases beyond the range of float32 are float64's alone: a number that becomes infinite, an input that becomes 0. */
static gboolean
fits_float32 (GPtrArray *tensors, gboolean may_vanish)
{
  for (guint k = 0; k < tensors->len; k++)
    for (int64_t i = 0; i < tn_tensor_count (tensors->pdata[k]); i++)
      {
        double wide = tn_tensor_get (tensors->pdata[k], i), narrow = (double) (float) wide;
        if (isfinite (wide) != isfinite (narrow) || (!may_vanish && wide != 0 && narrow == 0))
          return FALSE;
      }
  return TRUE;
}

/* ---- replay ---- */

/* Compares one case in one dtype; TRUE if it was compared. A difference fails the test. */
static gboolean
replay (JsonObject *json, TnDType dtype, gboolean *no_operator)
{
  TruthRun run;
  g_autofree char *message = NULL;
  TruthState state = truth_run_init (&run, json, dtype, &message);
  *no_operator = state == TRUTH_NO_OPERATOR;
  if (state == TRUTH_BROKEN)
    {
      g_test_message ("%s (%s): %s", run.c.id, tn_dtype_name (dtype), message);
      g_test_fail ();
    }
  g_autoptr (GPtrArray) results = state == TRUTH_READY ? truth_run_compute (&run, run.inputs, &message) : NULL;
  if (state == TRUTH_READY)
    mark (reached, run.c.graph);
  if (state == TRUTH_READY && results == NULL)
    {
      g_test_message ("%s (%s): %s", run.c.id, tn_dtype_name (dtype), message);
      g_test_fail ();
    }
  for (guint i = 0; results != NULL && i < results->len; i++)
    {
      g_autofree char *difference = NULL;
      if (!truth_compare (results->pdata[i], run.want->pdata[i], tolerance_of (&run, (int) i), absolute_of (&run, (int) i), &difference))
        {
          g_test_message ("%s (%s), %s: %s", run.c.id, tn_dtype_name (dtype), (char *) run.names->pdata[i], difference);
          g_test_fail ();
        }
    }
  truth_run_clear (&run);
  return results != NULL;
}

static gboolean
case_fits_float32 (JsonObject *json)
{
  TruthRun run;
  g_autofree char *message = NULL;
  gboolean fits = truth_run_init (&run, json, TN_DTYPE_F64, &message) == TRUTH_READY && fits_float32 (run.inputs, FALSE)
                  && fits_float32 (run.want, TRUE);
  truth_run_clear (&run);
  return fits;
}

static int
count_up (GHashTable *table, const char *key)
{
  int n = GPOINTER_TO_INT (g_hash_table_lookup (table, key)) + 1;
  g_hash_table_insert (table, g_strdup (key), GINT_TO_POINTER (n));
  return n;
}

static char *
list_counts (GHashTable *table)
{
  g_autoptr (GList) keys = g_list_sort (g_hash_table_get_keys (table), (GCompareFunc) strcmp);
  GString *text = g_string_new (NULL);
  for (GList *l = keys; l != NULL; l = l->next)
    g_string_append_printf (text, "%s%s %d", text->len > 0 ? ", " : "", (char *) l->data, GPOINTER_TO_INT (g_hash_table_lookup (table, l->data)));
  return g_string_free (text, FALSE);
}

/* Returns how many cases were compared. */
static int
replay_folder (const Folder *folder)
{
  g_autoptr (GHashTable) by_op = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, NULL);
  g_autoptr (GHashTable) by_group = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, NULL);
  g_autoptr (GHashTable) missing = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, NULL);
  int compared = 0, in_float32 = 0;
  for (guint i = 0; i < folder->cases->len; i++)
    {
      JsonObject *json = folder->cases->pdata[i];
      const char *op = json_object_get_string_member (json, "op");
      g_autofree char *group = truth_group (json_object_get_string_member_with_default (json, "id", "?"));
      gboolean no_operator;
      if (replay (json, TN_DTYPE_F64, &no_operator))
        {
          compared++;
          count_up (by_op, op);
          count_up (by_group, group);
          if (case_fits_float32 (json))
            in_float32 += replay (json, TN_DTYPE_F32, &no_operator);
        }
      else if (no_operator)
        count_up (missing, op);
    }
  g_autofree char *ops = list_counts (by_op), *groups = list_counts (by_group), *without = list_counts (missing);
  g_test_message ("%s: compared %d truth cases in float64, %d of them in float32", folder->folder, compared, in_float32);
  g_test_message ("compared %d truth cases by group: %s", compared, groups);
  g_test_message ("compared %d truth cases by op: %s", compared, ops);
  g_test_message ("no operator yet: %s", without[0] != '\0' ? without : "none");
  return compared;
}

/* ---- tests ---- */

#define AT_LEAST_OF_PYTORCH 200

static void
fail (const char *message)
{
  g_test_message ("%s", message);
  g_test_fail ();
}

static void
test_own_cases (void)
{
  if (replay_folder (&own) == 0)
    fail ("no case was compared");
}

/* Over the folder beside the source tree the number is promised; another one is whatever somebody brought. */
static gboolean
is_default_folder (const char *folder)
{
  g_autofree char *beside = g_build_filename (g_getenv ("TENON_SOURCE_ROOT") != NULL ? g_getenv ("TENON_SOURCE_ROOT") : ".", "../shared/truth", NULL);
  g_autofree char *a = g_canonicalize_filename (beside, NULL), *b = g_canonicalize_filename (folder, NULL);
  return strcmp (a, b) == 0;
}

static void
test_shared_cases (void)
{
  if (shared.folder == NULL && g_getenv ("TENON_TRUTH") != NULL)
    fail ("TENON_TRUTH names no folder");
  else if (shared.folder == NULL)
    g_test_skip ("there is no ../shared/truth beside the source tree, and TENON_TRUTH is not set");
  else if (replay_folder (&shared) < (is_default_folder (shared.folder) ? AT_LEAST_OF_PYTORCH : 1))
    fail ("too few cases were compared");
}

/* ---- finite differences ---- */

#define DIRECTIONS 2

/* Σ over outputs of output · entering gradient, at the inputs given. */
static double
loss_at (TruthRun *run, GPtrArray *inputs)
{
  g_autofree char *message = NULL;
  g_autoptr (GPtrArray) results = truth_run_compute (run, inputs, &message);
  double loss = 0;
  g_assert_nonnull (results);
  for (int i = 0; i < run->n_outputs; i++)
    for (int64_t k = 0; run->seed_of[i] >= 0 && k < tn_tensor_count (results->pdata[i]); k++)
      loss += tn_tensor_get (results->pdata[i], k) * tn_tensor_get (run->inputs->pdata[run->seed_of[i]], k);
  return loss;
}

static TnTensor *
moved (TnTensor *from, TnTensor *direction, double step)
{
  TnTensor *to = tn_tensor_new (from->dtype, from->shape, NULL);
  for (int64_t i = 0; i < tn_tensor_count (from); i++)
    tn_tensor_set (to, i, tn_tensor_get (from, i) + step * tn_tensor_get (direction, i));
  return to;
}

static int
input_index (TruthRun *run, const char *name)
{
  for (int i = 0; i < tn_graph_n_inputs (run->c.graph); i++)
    if (strcmp (tn_graph_input (run->c.graph, i)->node->name, name) == 0)
      return i;
  return -1;
}

static double
loss_moved (TruthRun *run, int input, TnTensor *direction, double step)
{
  g_autoptr (GPtrArray) inputs = g_ptr_array_new_with_free_func ((GDestroyNotify) tn_tensor_unref);
  for (guint i = 0; i < run->inputs->len; i++)
    g_ptr_array_add (inputs, (int) i == input ? moved (run->inputs->pdata[i], direction, step) : tn_tensor_ref (run->inputs->pdata[i]));
  return loss_at (run, inputs);
}

/* Central differences along random directions against <gradient, direction>. */
static void
check_gradient (TruthRun *run, int input, TnTensor *gradient, GRand *random)
{
  const double h = 1e-6;
  double scale = 1;
  for (int d = 0; d < DIRECTIONS && tn_tensor_count (gradient) > 0; d++)
    {
      g_autoptr (TnTensor) direction = tn_tensor_new (gradient->dtype, gradient->shape, NULL);
      double want = 0;
      for (int64_t i = 0; i < tn_tensor_count (gradient); i++)
        {
          tn_tensor_set (direction, i, g_rand_double_range (random, -1, 1));
          want += tn_tensor_get (gradient, i) * tn_tensor_get (direction, i);
          scale = MAX (scale, fabs (tn_tensor_get (gradient, i)));
        }
      double got = (loss_moved (run, input, direction, h) - loss_moved (run, input, direction, -h)) / (2 * h);
      if (fabs (got - want) > 1e-5 * scale)
        {
          g_test_message ("%s: differences by %s give %.10g, the gradient rule %.10g", run->c.id,
                          tn_graph_input (run->c.graph, input)->node->name, got, want);
          g_test_fail ();
        }
    }
}

static void
test_finite_differences (void)
{
  guint32 seed = g_test_rand_int_range (0, G_MAXINT32);
  g_autoptr (GRand) random = g_rand_new_with_seed (seed);
  const Folder *folder = shared.folder != NULL ? &shared : &own;
  int checked = 0;
  g_test_message ("directions from seed %u", seed);
  for (guint i = 0; i < folder->cases->len; i++)
    {
      TruthRun run;
      g_autofree char *message = NULL;
      if (truth_run_init (&run, folder->cases->pdata[i], TN_DTYPE_F64, &message) == TRUTH_READY && run.gradcheck)
        {
          g_autoptr (GPtrArray) results = truth_run_compute (&run, run.inputs, &message);
          mark (differentiated, run.c.graph);
          for (guint k = (guint) run.n_outputs; results != NULL && k < results->len; k++)
            {
              check_gradient (&run, input_index (&run, (char *) run.names->pdata[k] + strlen ("gradient of ")), results->pdata[k], random);
              checked++;
            }
        }
      truth_run_clear (&run);
    }
  g_test_message ("%d gradients compared with finite differences", checked);
  g_assert_cmpint (checked, >, 0);
}

/* ---- hand-made cases, and the rows that nothing reaches ---- */

static void
test_small_cases (void)
{
  for (const SmallCase *c = small_cases; c->op != NULL; c++)
    {
      g_autofree char *message = NULL;
      if (!small_case_run (c, &message) || (c->smooth && !small_case_gradient (c, &message)))
        {
          g_test_message ("%s: %s", c->op, message);
          g_test_fail ();
        }
      g_hash_table_add (reached, (gpointer) c->op);
      if (c->smooth)
        g_hash_table_add (differentiated, (gpointer) c->op);
    }
}

static gboolean
tested_elsewhere (const TnOp *op)
{
  for (int i = 0; rows_tested_elsewhere[i].op != NULL; i++)
    if (g_pattern_match_simple (rows_tested_elsewhere[i].op, op->name))
      return TRUE;
  return (op->flags & TN_OP_LEAF) != 0;
}

/* Comparisons and steps have a rule that says "flat"; random rows are checked in test-random.c. */
static gboolean
has_slope (const TnOp *op)
{
  static const char *const flat[] = { "Sign", "Floor", "Ceil", "Round", "*Equal*", "Less", "Greater", "Logical*", "Is*", "StopGradient", "*Like" };
  gboolean slope = op->gradient != NULL && (op->flags & TN_OP_RANDOM) == 0;
  for (gsize i = 0; i < G_N_ELEMENTS (flat); i++)
    slope &= !g_pattern_match_simple (flat[i], op->name);
  return slope;
}

static void
test_every_row_is_reached (void)
{
  g_autoptr (GString) untested = g_string_new (NULL);
  if (shared.folder == NULL)
    {
      g_test_skip ("without ../shared/truth not every row has a case");
      return;
    }
  for (int i = 0; i < tn_op_count (); i++)
    {
      const TnOp *op = tn_op_at (i);
      if (!g_hash_table_contains (reached, op->name) && !tested_elsewhere (op))
        g_string_append_printf (untested, " %s", op->name);
    }
  g_autoptr (GString) by_values_only = g_string_new (NULL);
  for (int i = 0; i < tn_op_count (); i++)
    if (has_slope (tn_op_at (i)) && !g_hash_table_contains (differentiated, tn_op_at (i)->name))
      g_string_append_printf (by_values_only, " %s", tn_op_at (i)->name);
  g_test_message ("gradients without finite differences:%s", by_values_only->len > 0 ? by_values_only->str : " none");
  if (untested->len > 0)
    {
      g_test_message ("no case reaches these rows:%s", untested->str);
      g_test_fail ();
    }
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  reached = g_hash_table_new (g_str_hash, g_str_equal);
  differentiated = g_hash_table_new (g_str_hash, g_str_equal);
  load_folder (&own, truth_own_folder ());
  load_folder (&shared, truth_folder ());
  g_test_add_func ("/ops/truth/own-cases-agree", test_own_cases);
  g_test_add_func ("/ops/truth/shared-cases-agree", test_shared_cases);
  g_test_add_func ("/ops/truth/gradients-agree-with-finite-differences", test_finite_differences);
  g_test_add_func ("/ops/truth/small-cases-agree", test_small_cases);
  g_test_add_func ("/ops/truth/every-row-is-reached", test_every_row_is_reached);
  int status = g_test_run ();
  clear_folder (&own);
  clear_folder (&shared);
  g_hash_table_unref (reached);
  g_hash_table_unref (differentiated);
  return status;
}
