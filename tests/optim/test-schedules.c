/* SPDX-License-Identifier: Apache-2.0 */
#include "optim/schedule.h"
#include "base/error.h"
#include "nn/numbers.h"

/* Schedules against PyTorch's and MindSpore's own values, and the rules that those files do not show. */

static void
copy_members (JsonObject *from, JsonObject *to, const char *const *skip)
{
  g_autoptr (GList) names = json_object_get_members (from);
  for (GList *l = names; l != NULL; l = l->next)
    if (!g_strv_contains (skip, l->data) && !JSON_NODE_HOLDS_NULL (json_object_get_member (from, l->data)))
      json_object_set_member (to, l->data, json_node_copy (json_object_get_member (from, l->data)));
}

static TnSchedule *
make_schedule (const char *kind, double base_lr, JsonObject *settings)
{
  static const char *const skip[] = { "total_step", "last_epoch", "cycle_momentum", "scale_mode", NULL };
  g_autoptr (JsonObject) object = json_object_new ();
  json_object_set_string_member (object, "kind", kind);
  if (!isnan (base_lr))
    json_object_set_double_member (object, "base_lr", base_lr);
  if (settings != NULL)
    copy_members (settings, object, skip);
  return tn_schedule_from_json (object, "schedule", NULL);
}

static gboolean
compare_rates (Numbers *self, const char *name, const TnSchedule *schedule, double (*ask) (const TnSchedule *, int64_t), JsonArray *want,
               int group, double scale, double rel)
{
  for (guint t = 0; t < json_array_get_length (want); t++)
    {
      double value = group < 0 ? json_array_get_double_element (want, t)
                               : json_array_get_double_element (json_array_get_array_element (want, t), (guint) group);
      double got = scale * ask (schedule, t);
      if (fabs (got - value) <= rel * MAX (fabs (value), 0.05 * scale))
        continue;
      g_autofree char *message = g_strdup_printf ("rate of step %u is %.17g, want %.17g", t, got, value);
      numbers_fail (self, name, message);
      return FALSE;
    }
  return TRUE;
}

static TnPlateau
make_plateau (JsonObject *settings, double lr)
{
  TnPlateau plateau;
  tn_plateau_init (&plateau, lr);
  plateau.maximize = g_strcmp0 (numbers_text (settings, "mode"), "max") == 0;
  plateau.factor = numbers_double (settings, "factor", plateau.factor);
  plateau.patience = (int64_t) numbers_double (settings, "patience", 10);
  plateau.cooldown = (int64_t) numbers_double (settings, "cooldown", 0);
  plateau.threshold = numbers_double (settings, "threshold", plateau.threshold);
  plateau.absolute = g_strcmp0 (numbers_text (settings, "threshold_mode"), "abs") == 0;
  plateau.min_lr = numbers_double (settings, "min_lr", 0);
  plateau.eps = numbers_double (settings, "eps", 1e-8);
  tn_plateau_reset (&plateau);
  return plateau;
}

/* The rate in force during step t, then the metric of step t is passed on. */
static void
compare_plateau (Numbers *self, const char *name, JsonObject *settings, double lr, JsonArray *metric, JsonArray *want, int group, double rel)
{
  TnPlateau plateau = make_plateau (settings, lr);
  for (guint t = 0; t < json_array_get_length (want); t++)
    {
      double value = group < 0 ? json_array_get_double_element (want, t)
                               : json_array_get_double_element (json_array_get_array_element (want, t), (guint) group);
      if (fabs (plateau.lr - value) > rel * value)
        {
          g_autofree char *message = g_strdup_printf ("rate of step %u is %.17g, want %.17g", t, plateau.lr, value);
          numbers_fail (self, name, message);
          return;
        }
      if (t < json_array_get_length (metric))
        tn_plateau_step (&plateau, json_array_get_double_element (metric, t));
    }
}

/* ---- PyTorch ---- */

static TnSchedule *
make_sequence (JsonObject *settings, JsonArray *parts, double base_lr)
{
  JsonArray *milestones = numbers_array (settings, "milestones");
  guint n = json_array_get_length (parts);
  g_autofree TnSchedule **schedules = g_new0 (TnSchedule *, n);
  g_autofree int64_t *limits = g_new0 (int64_t, n);
  for (guint i = 0; i < n; i++)
    {
      JsonArray *part = json_array_get_array_element (parts, i);
      schedules[i] = make_schedule (json_array_get_string_element (part, 0), base_lr, json_array_get_object_element (part, 1));
      g_assert_nonnull (schedules[i]);
      if (i + 1 < n)
        limits[i] = json_array_get_int_element (milestones, i);
    }
  return tn_schedule_sequence ((int) n, schedules, limits, NULL);
}

static void
compare_torch (Numbers *self, JsonObject *entry)
{
  const char *name = numbers_text (entry, "scheduler");
  JsonObject *settings = numbers_object (entry, "settings");
  JsonArray *lr = numbers_array (entry, "lr"), *parts = numbers_array (entry, "parts"), *momentum = numbers_array (entry, "momentum");
  double base_lr = numbers_double (entry, "base_lr", NAN);
  if (parts == NULL && settings != NULL)
    parts = numbers_array (settings, "parts");
  self->compared++;
  if (strcmp (name, "ReduceLROnPlateau") == 0)
    {
      compare_plateau (self, name, settings, base_lr, numbers_array (entry, "metric"), lr, -1, 1e-12);
      return;
    }
  g_autoptr (TnSchedule) schedule = parts != NULL ? make_sequence (settings != NULL && numbers_array (settings, "milestones") != NULL ? settings : entry, parts, base_lr)
                                                  : make_schedule (name, base_lr, settings);
  if (schedule == NULL)
    {
      self->compared--;
      numbers_without (self, name);
      return;
    }
  if (compare_rates (self, name, schedule, tn_schedule_lr, lr, -1, 1, 1e-12) && momentum != NULL)
    compare_rates (self, name, schedule, tn_schedule_momentum, momentum, -1, 1, 1e-12);
}

/* ---- MindSpore ---- */

static const struct
{
  const char *name, *kind;
} mindspore_kinds[] = {
  { "piecewise_constant_lr", "piecewise_constant" },
  { "exponential_decay_lr", "exponential_decay" },
  { "natural_exp_decay_lr", "natural_exp_decay" },
  { "inverse_decay_lr", "inverse_decay" },
  { "cosine_decay_lr", "cosine_decay" },
  { "polynomial_decay_lr", "polynomial_decay" },
  { "warmup_lr", "warmup" },
  { "ExponentialDecayLR", "exponential_decay" },
  { "NaturalExpDecayLR", "natural_exp_decay" },
  { "InverseDecayLR", "inverse_decay" },
  { "CosineDecayLR", "cosine_decay" },
  { "PolynomialDecayLR", "polynomial_decay" },
  { "WarmUpLR", "warmup" },
};

/* "SequentialLR_ConstantLR(0.1,4)_ExponentialLR(0.9)_milestone_10", "LambdaLR_0.95**epoch", "MultiplicativeLR_0.97": what the
 * arguments do not say stands in the name. */
static TnSchedule *
make_from_name (const char *name, const char *class_name, double base_lr)
{
  double a, b, c;
  int milestone;
  if (sscanf (name, "SequentialLR_ConstantLR(%lf,%lf)_ExponentialLR(%lf)_milestone_%d", &a, &b, &c, &milestone) == 4)
    {
      TnSchedule *parts[2] = {
        tn_schedule_new ("ConstantLR", TN_SCHEDULE_ARGS (tn_arg ("base_lr", base_lr), tn_arg ("factor", a), tn_arg ("total_iters", b)), NULL),
        tn_schedule_new ("ExponentialLR", TN_SCHEDULE_ARGS (tn_arg ("base_lr", base_lr), tn_arg ("gamma", c)), NULL),
      };
      return tn_schedule_sequence (2, parts, (int64_t[]){ milestone }, NULL);
    }
  if (sscanf (name, "LambdaLR_%lf**epoch", &a) == 1 || sscanf (name, "MultiplicativeLR_%lf", &a) == 1)
    return tn_schedule_new ("ExponentialLR", TN_SCHEDULE_ARGS (tn_arg ("base_lr", base_lr), tn_arg ("gamma", a)), NULL);
  return NULL;
}

static void
compare_torch_style (Numbers *self, JsonObject *object, const char *name, const char *class_name)
{
  JsonObject *args = numbers_object (object, "args");
  JsonArray *values = numbers_array (object, "values");
  double base_lr = numbers_double (object, "base_lr", NAN), groups = numbers_double (object, "groups", 1);
  double first = json_array_get_double_element (json_array_get_array_element (values, 0), 0);
  /* Values are float32 and most are made by multiplying the one before: 50 roundings of 6e-8. */
  double rel = 3e-6;
  if (strcmp (class_name, "CosineAnnealingLR") == 0)
    rel = 1e-5; /* and this one divides by 1 + cos, which is near 0 once a period */
  if (strcmp (class_name, "ReduceLROnPlateau") == 0)
    {
      self->compared++;
      compare_plateau (self, name, args, base_lr, numbers_array (object, "metric"), values, 0, rel);
      return;
    }
  g_autoptr (TnSchedule) schedule = make_from_name (name, class_name, base_lr);
  if (schedule == NULL)
    schedule = make_schedule (class_name, base_lr, args);
  if (schedule == NULL)
    {
      numbers_without (self, name);
      return;
    }
  self->compared++;
  for (int g = 0; g < (int) groups; g++)
    {
      double scale = json_array_get_double_element (json_array_get_array_element (values, 0), (guint) g) / first;
      if (!compare_rates (self, name, schedule, tn_schedule_lr, values, g, scale, rel))
        return;
    }
}

static void
compare_mindspore (Numbers *self, JsonObject *object)
{
  const char *name = numbers_text (object, "name"), *kind = numbers_text (object, "kind");
  const char *made_by = numbers_text (object, strcmp (kind, "list") == 0 ? "function" : "class");
  JsonArray *values = numbers_array (object, "values");
  if (made_by == NULL || values == NULL)
    return;
  if (strcmp (kind, "torch_style") == 0)
    {
      compare_torch_style (self, object, name, made_by);
      return;
    }
  g_autoptr (TnSchedule) schedule = NULL;
  for (guint i = 0; i < G_N_ELEMENTS (mindspore_kinds); i++)
    if (strcmp (made_by, mindspore_kinds[i].name) == 0)
      schedule = make_schedule (mindspore_kinds[i].kind, NAN, numbers_object (object, "args"));
  if (schedule == NULL)
    {
      numbers_without (self, name);
      return;
    }
  self->compared++;
  compare_rates (self, name, schedule, tn_schedule_lr, values, -1, 1, strcmp (kind, "list") == 0 ? 1e-12 : 1e-6);
}

static void
compare_case (Numbers *self, JsonObject *object)
{
  const char *kind = numbers_text (object, "kind");
  if (numbers_text (object, "scheduler") != NULL && numbers_array (object, "lr") != NULL)
    compare_torch (self, object);
  else if (kind != NULL && (strcmp (kind, "list") == 0 || strcmp (kind, "cell") == 0 || strcmp (kind, "torch_style") == 0))
    compare_mindspore (self, object);
}

static void
test_shared (void)
{
  numbers_shared ("schedules", compare_case);
}

static void
test_own (void)
{
  numbers_own ("truth-optim", "schedules", compare_case);
}

/* ---- what is refused: MindSpore raises ValueError for these ---- */

static void
test_refused (void)
{
  static const struct
  {
    const char *json;
    gboolean fine;
  } texts[] = {
    { "{\"kind\": \"cosine_decay\", \"min_lr\": 0.1, \"max_lr\": 0.1, \"decay_steps\": 5}", FALSE },
    { "{\"kind\": \"cosine_decay\", \"min_lr\": -1, \"max_lr\": 0.1, \"decay_steps\": 5}", FALSE },
    { "{\"kind\": \"exponential_decay\", \"learning_rate\": 0.0, \"decay_rate\": 0.9, \"decay_steps\": 5}", FALSE },
    { "{\"kind\": \"exponential_decay\", \"learning_rate\": 0.1, \"decay_rate\": -1.0, \"decay_steps\": 5}", FALSE },
    { "{\"kind\": \"exponential_decay\", \"learning_rate\": 0.1, \"decay_rate\": 0.9, \"decay_steps\": 0}", FALSE },
    { "{\"kind\": \"exponential_decay\", \"learning_rate\": 0.1, \"decay_rate\": 0.9}", FALSE },
    { "{\"kind\": \"exponential_decay\", \"learning_rate\": 0.1, \"decay_rat\": 0.9, \"decay_steps\": 3}", FALSE },
    { "{\"kind\": \"piecewise_constant\", \"milestone\": [2, 3], \"learning_rates\": [0.1]}", FALSE },
    { "{\"kind\": \"piecewise_constant\", \"milestone\": [3, 2], \"learning_rates\": [0.1, 0.2]}", FALSE },
    { "{\"kind\": \"piecewise_constant\", \"milestone\": [2, 2], \"learning_rates\": [0.1, 0.2]}", TRUE },
    { "{\"kind\": \"warmup\", \"learning_rate\": 0.1, \"warmup_steps\": 0}", FALSE },
    { "{\"kind\": \"polynomial_decay\", \"learning_rate\": 0.1, \"end_learning_rate\": 0.01, \"decay_steps\": 5, \"power\": 0.0}", FALSE },
    { "{\"kind\": \"polynomial_decay\", \"learning_rate\": 0.1, \"end_learning_rate\": 0.2, \"decay_steps\": 5, \"power\": 1}", TRUE },
    { "{\"kind\": \"cosine_deca\", \"max_lr\": 0.1, \"decay_steps\": 5}", FALSE },
    { "{\"kind\": \"CyclicLR\", \"base_lr\": 0.1, \"max_lr\": 0.2, \"mode\": \"square\"}", FALSE },
  };
  for (guint i = 0; i < G_N_ELEMENTS (texts); i++)
    {
      g_autoptr (GError) error = NULL;
      g_autoptr (JsonNode) node = json_from_string (texts[i].json, NULL);
      g_autoptr (TnSchedule) schedule = tn_schedule_from_json (json_node_get_object (node), "train.schedule", &error);
      g_assert_cmpint (schedule != NULL, ==, texts[i].fine);
      if (!texts[i].fine)
        g_assert_cmpstr (error->message, !=, "");
    }
}

/* Documented example: warmup_lr(.1, 6, 2, 2) -> 0 0 .05 .05 .1 .1; here per step, composed with a constant. */
static void
test_warmup_composes (void)
{
  TnSchedule *constant = tn_schedule_new ("constant", TN_SCHEDULE_ARGS (tn_arg ("learning_rate", 0.1)), NULL);
  g_autoptr (TnSchedule) schedule = tn_schedule_warmup (constant, 4);
  static const double want[] = { 0, 0.025, 0.05, 0.075, 0.1, 0.1 };
  for (int t = 0; t < 6; t++)
    g_assert_cmpfloat_with_epsilon (tn_schedule_lr (schedule, t), want[t], 1e-15);
}

static void
test_list_holds_after_its_end (void)
{
  g_autoptr (TnSchedule) schedule = tn_schedule_from_list (3, (const double[]){ 0.3, 0.2, 0.1 });
  g_assert_cmpfloat (tn_schedule_lr (schedule, 1), ==, 0.2);
  g_assert_cmpfloat (tn_schedule_lr (schedule, 1000), ==, 0.1);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/optim/schedule/truth", test_shared);
  g_test_add_func ("/optim/schedule/own-truth", test_own);
  g_test_add_func ("/optim/schedule/bad-arguments-are-refused", test_refused);
  g_test_add_func ("/optim/schedule/warmup-goes-before-any-other", test_warmup_composes);
  g_test_add_func ("/optim/schedule/list-holds-after-its-end", test_list_holds_after_its_end);
  return g_test_run ();
}
