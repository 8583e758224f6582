/* SPDX-License-Identifier: Apache-2.0 */
#include "setting-titles.h"

#include <glib/gi18n.h>

static const struct
{
  const char *name, *title;
} titles[] = {
  { "data.source", N_("Data") },
  { "data.samples", N_("Number of samples") },
  { "data.seed", N_("Data seed") },
  { "data.validation", N_("Held out") },
  { "data.shuffle", N_("Shuffle") },
  { "data.drop_last", N_("Drop the last partial batch") },
  { "data.prefetch", N_("Batches prepared ahead") },
  { "data.normalize_mean", N_("Mean") },
  { "data.normalize_std", N_("Standard deviation") },
  { "data.pad", N_("Padding") },
  { "data.class_names", N_("Class names") },
  { "data.exclude", N_("Excluded samples") },
  { "model.preset", N_("Network") },
  { "model.file", N_("Model file") },
  { "init.preset", N_("Initial weights") },
  { "init.from", N_("Start from weights") },
  { "train.epochs", N_("Epochs") },
  { "train.max_steps", N_("Step limit") },
  { "train.batch", N_("Batch size") },
  { "train.seed", N_("Seed") },
  { "train.eval_every", N_("Validate every") },
  { "train.loss", N_("Loss") },
  { "train.on_nonfinite", N_("When the loss is not a number") },
  { "train.freeze", N_("Frozen parameters") },
  { "train.clip_norm", N_("Clip gradients at") },
  { "optimizer.kind", N_("Optimizer") },
  { "optimizer.lr", N_("Learning rate") },
  { "optimizer.momentum", N_("Momentum") },
  { "optimizer.nesterov", N_("Nesterov") },
  { "optimizer.weight_decay", N_("Weight decay") },
  { "optimizer.dampening", N_("Dampening") },
  { "optimizer.beta1", N_("Beta 1") },
  { "optimizer.beta2", N_("Beta 2") },
  { "optimizer.eps", N_("Epsilon") },
  { "schedule.kind", N_("Learning-rate schedule") },
  { "schedule.step_size", N_("Lower every") },
  { "schedule.gamma", N_("Factor") },
  { "schedule.warmup_steps", N_("Warm-up") },
  { "schedule.min_lr", N_("Lowest rate") },
  { "schedule.total_steps", N_("Schedule length") },
  { "metrics.histogram_every", N_("Histograms every") },
  { "metrics.norms", N_("Record norms") },
  { "checkpoint.every_steps", N_("Every so many steps") },
  { "checkpoint.every_epochs", N_("Every so many epochs") },
  { "checkpoint.keep", N_("Keep the newest") },
  { "device.threads", N_("Threads") },
  { "device.isa", N_("Instruction level") },
  { "device.mode", N_("Mode") },
  { "device.strict", N_("Strict arithmetic") },
  { "device.memory_limit_mb", N_("Memory limit") },
  { "graph.save", N_("Save graphs") },
};

const char *
tn_setting_title (const char *name)
{
  for (guint i = 0; i < G_N_ELEMENTS (titles); i++)
    if (g_str_equal (titles[i].name, name))
      return _(titles[i].title);
  return name;
}
