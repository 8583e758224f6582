/* SPDX-License-Identifier: Apache-2.0 */
#include "base/settings.h"

#include "base/error.h"
#include "base/id-ranges.h"

/* The table. A row's order here is its order in `tenon-cli options` and in the window. */

#define VALUES(...) (const char *const[]) { __VA_ARGS__, NULL }

#define INT_ROW(name_, default_, min_, max_, unit_, help_, ...)                                                          \
  { .name = name_, .type = TN_SETTING_INT, .default_value = default_, .min = min_, .max = max_, .unit = unit_,           \
    .help = help_, __VA_ARGS__ }
#define FLOAT_ROW(name_, default_, min_, max_, unit_, help_, ...)                                                        \
  { .name = name_, .type = TN_SETTING_FLOAT, .default_value = default_, .min = min_, .max = max_, .unit = unit_,         \
    .help = help_, __VA_ARGS__ }
#define BOOL_ROW(name_, default_, help_, ...)                                                                            \
  { .name = name_, .type = TN_SETTING_BOOL, .default_value = default_, .unit = "", .help = help_, __VA_ARGS__ }
#define ENUM_ROW(name_, default_, values_, help_, ...)                                                                   \
  { .name = name_, .type = TN_SETTING_ENUM, .default_value = default_, .values = values_, .unit = "", .help = help_,     \
    __VA_ARGS__ }
#define TEXT_ROW(name_, type_, default_, help_, ...)                                                                     \
  { .name = name_, .type = type_, .default_value = default_, .unit = "", .help = help_, __VA_ARGS__ }
#define LIST_ROW(name_, type_, default_, min_, max_, unit_, help_, ...)                                                  \
  { .name = name_, .type = type_, .default_value = default_, .min = min_, .max = max_, .unit = unit_, .help = help_,     \
    __VA_ARGS__ }

#define MAX_STEPS 1e15 /* well inside the whole numbers that a double holds */
#define HUGE_FLOAT 1e30

static gboolean
check_validation (const char *text, GError **error)
{
  TnValidationRule rule;
  return tn_validation_rule_parse (text, &rule, error);
}

static gboolean
check_exclude (const char *text, GError **error)
{
  g_autoptr (TnIdRanges) ranges = tn_id_ranges_parse (text, error);
  return ranges != NULL;
}

const TnSetting tn_settings[] = {
  TEXT_ROW ("data.source", TN_SETTING_PATH, "drawn-digits",
            N_ ("The training data: drawn-digits for the built-in set, or a folder or file.")),
  INT_ROW ("data.samples", "12000", 1, 1e7, N_ ("samples"), N_ ("How many samples the built-in set draws.")),
  INT_ROW ("data.seed", "0", 0, 9e15, "", N_ ("Where the built-in set and the order of samples start from.")),
  TEXT_ROW ("data.validation", TN_SETTING_STRING, "last:10%",
            N_ ("Which samples are held out: last:N, last:P%, hash:P% (by sample id) or none."),
            .check = check_validation),
  TEXT_ROW ("data.exclude", TN_SETTING_STRING, "",
            N_ ("Ids of samples that neither train nor are held out, such as 3,17,200-210; the others stay on their side."),
            .check = check_exclude),
  TEXT_ROW ("data.class_names", TN_SETTING_STRING, "",
            N_ ("Names of the classes in order, separated by commas; an empty one keeps the data's own.")),
  BOOL_ROW ("data.shuffle", "true", N_ ("Whether each epoch takes the samples in another order."),
            .aliases = "shuffle"),
  BOOL_ROW ("data.drop_last", "true", N_ ("Whether the last batch of an epoch is left out if it is not full."),
            .aliases = "drop_remainder"),
  INT_ROW ("data.prefetch", "2", 0, 1024, N_ ("batches"), N_ ("How many batches are prepared ahead of the step."),
           .aliases = "prefetch_size"),
  FLOAT_ROW ("data.normalize_mean", "0.1307", -HUGE_FLOAT, HUGE_FLOAT, "",
             N_ ("What is subtracted from pixels scaled to 0..1.")),
  FLOAT_ROW ("data.normalize_std", "0.3081", 1e-12, HUGE_FLOAT, "",
             N_ ("What pixels are divided by after the mean is subtracted.")),
  INT_ROW ("data.pad", "-1", -1, 1024, N_ ("pixels"),
           N_ ("Zero pixels added on each side of an image; -1 adds what the model asks for.")),

  TEXT_ROW ("model.preset", TN_SETTING_STRING, "lenet5", N_ ("The built-in network that is trained; ignored where model.file is set.")),
  TEXT_ROW ("model.file", TN_SETTING_PATH, "", N_ ("A model in JSON to train in place of a preset.")),

  ENUM_ROW ("init.preset", "mindspore2", VALUES ("mindspore1", "mindspore2"),
            N_ ("First weights: mindspore1 is Normal(0.01) with zero biases, mindspore2 HeUniform(sqrt 5) with uniform biases.")),
  TEXT_ROW ("init.from", TN_SETTING_PATH, "",
            N_ ("A file of weights to start from; those whose name and shape match are taken.")),

  INT_ROW ("train.epochs", "1", 0, 1e6, N_ ("epochs"), N_ ("How many times the training data are gone through."),
           .aliases = "epoch", .flags = TN_SETTING_LIVE),
  INT_ROW ("train.max_steps", "0", 0, MAX_STEPS, N_ ("steps"), N_ ("Ends the run after so many steps; 0 sets no limit."),
           .flags = TN_SETTING_LIVE),
  INT_ROW ("train.batch", "32", 1, 1 << 20, N_ ("samples"), N_ ("Samples in one step, over all ranks."),
           .aliases = "batch_size"),
  INT_ROW ("train.seed", "1", 0, 9e15, "", N_ ("Where first weights, dropout and shuffling start from."),
           .aliases = "seed"),
  INT_ROW ("train.eval_every", "1", 0, 1e6, N_ ("epochs"),
           N_ ("How often the held-out samples are evaluated; 0 only at the end."), .flags = TN_SETTING_LIVE),
  INT_ROW ("train.early_stop", "0", 0, 1e6, N_ ("checks"),
           N_ ("Ends the run after so many validations in a row without gain in accuracy (or loss, without classes); 0 never."),
           .aliases = "patience", .flags = TN_SETTING_LIVE),
  FLOAT_ROW ("train.early_stop_delta", "0", 0, 1e6, "", N_ ("What counts as a gain for early stopping: more than this."),
             .aliases = "min_delta", .flags = TN_SETTING_LIVE),
  FLOAT_ROW ("train.target_accuracy", "0", 0, 1, "", N_ ("Ends the run when a validation reaches this accuracy, from 0 to 1; 0 never."),
             .flags = TN_SETTING_LIVE),
  ENUM_ROW ("train.loss", "softmax_cross_entropy", VALUES ("softmax_cross_entropy", "mse", "l1", "bce"),
            N_ ("What training lowers: how far the outputs are from the answers; softmax_cross_entropy is for classes."), .aliases = "loss_fn"),
  ENUM_ROW ("train.on_nonfinite", "stop", VALUES ("stop", "skip", "rollback"),
            N_ ("What happens when the loss or a gradient is not a number: end the run, leave out the step, or go back to the last checkpoint.")),
  TEXT_ROW ("train.freeze", TN_SETTING_STRING, "",
            N_ ("Name patterns, separated by commas, of parameters that are not trained.")),
  FLOAT_ROW ("train.clip_norm", "0", 0, HUGE_FLOAT, "",
             N_ ("Gradients are scaled down to this global norm; 0 leaves them alone."), .aliases = "clip_norm"),

  ENUM_ROW ("optimizer.kind", "momentum", VALUES ("momentum", "sgd", "adam", "adamw", "adam_weight_decay"),
            N_ ("The rule by which parameters are updated."), .aliases = "optimizer"),
  FLOAT_ROW ("optimizer.lr", "0.01", 0, 1e6, "", N_ ("The learning rate, before the schedule."),
             .aliases = "learning_rate lr", .flags = TN_SETTING_LIVE),
  FLOAT_ROW ("optimizer.momentum", "0.9", 0, 1, "", N_ ("The share of the last update that goes into the next."),
             .aliases = "momentum"),
  BOOL_ROW ("optimizer.nesterov", "false", N_ ("Whether momentum looks ahead (Nesterov)."), .aliases = "use_nesterov"),
  FLOAT_ROW ("optimizer.weight_decay", "0", 0, 1e6, "", N_ ("How strongly parameters are pulled to zero."),
             .aliases = "weight_decay"),
  FLOAT_ROW ("optimizer.dampening", "0", 0, 1, "", N_ ("The share of a new gradient that SGD's momentum leaves out."),
             .aliases = "dampening"),
  FLOAT_ROW ("optimizer.beta1", "0.9", 0, 0.9999999, "", N_ ("How slowly Adam's mean of gradients changes."),
             .aliases = "beta1"),
  FLOAT_ROW ("optimizer.beta2", "0.999", 0, 0.9999999999, "",
             N_ ("How slowly Adam's mean of squared gradients changes."), .aliases = "beta2"),
  FLOAT_ROW ("optimizer.eps", "1e-08", 1e-30, 1, "", N_ ("What Adam adds to the root before it divides."),
             .aliases = "eps"),

  ENUM_ROW ("schedule.kind", "constant", VALUES ("constant", "step", "cosine", "warmup"),
            N_ ("How the learning rate changes over the run.")),
  INT_ROW ("schedule.step_size", "1000", 1, MAX_STEPS, N_ ("steps"),
           N_ ("After how many steps the step schedule lowers the rate."), .aliases = "step_size"),
  FLOAT_ROW ("schedule.gamma", "0.1", 0, 1, "", N_ ("What the step schedule multiplies the rate by."),
             .aliases = "gamma"),
  INT_ROW ("schedule.warmup_steps", "0", 0, MAX_STEPS, N_ ("steps"),
           N_ ("Over how many first steps the rate rises from zero."), .aliases = "warmup_steps"),
  FLOAT_ROW ("schedule.min_lr", "0", 0, 1e6, "", N_ ("Where the cosine schedule ends."), .aliases = "min_lr"),
  INT_ROW ("schedule.total_steps", "0", 0, MAX_STEPS, N_ ("steps"),
           N_ ("The length of the cosine schedule; 0 is the length of the run."), .aliases = "decay_steps total_step"),
  INT_ROW ("schedule.epochs", "0", 0, 1e6, N_ ("epochs"),
           N_ ("The length of the schedule in epochs, from its last restart on; 0 is the length of the run."), .flags = TN_SETTING_LIVE),
  LIST_ROW ("schedule.restarts", TN_SETTING_INT_LIST, "", 1, 1e6, N_ ("epochs"), N_ ("After how many epochs the schedule begins again."),
            .flags = TN_SETTING_LIVE),
  ENUM_ROW ("schedule.extend", "hold", VALUES ("hold", "stretch", "restart"),
            N_ ("What a run with more epochs does: hold the rate at which the schedule ended, stretch the schedule over the new length, or restart it."),
            .flags = TN_SETTING_LIVE),

  INT_ROW ("metrics.histogram_every", "0", 0, MAX_STEPS, N_ ("steps"),
           N_ ("How often histograms of parameters and gradients are written; 0 never."), .flags = TN_SETTING_LIVE),
  BOOL_ROW ("metrics.norms", "true", N_ ("Whether the norms of gradients and parameters are written every step."),
            .flags = TN_SETTING_LIVE),
  LIST_ROW ("watch.samples", TN_SETTING_INT_LIST, "", 0, 1e15, "",
            N_ ("Samples, by number, whose answers are noted at every checkpoint; the window shows them."), .flags = TN_SETTING_LIVE),

  INT_ROW ("checkpoint.every_steps", "0", 0, MAX_STEPS, N_ ("steps"),
           N_ ("How often a checkpoint is written within an epoch; 0 only at the ends of epochs."),
           .aliases = "save_checkpoint_steps", .flags = TN_SETTING_LIVE),
  INT_ROW ("checkpoint.every_epochs", "1", 0, 1e6, N_ ("epochs"),
           N_ ("After how many epochs a checkpoint is written; 0 only at the end of the run."),
           .flags = TN_SETTING_LIVE),
  INT_ROW ("checkpoint.keep", "3", 1, 1e6, N_ ("checkpoints"),
           N_ ("How many of the newest checkpoints stay; the best and pinned ones stay too."),
           .aliases = "keep_checkpoint_max", .flags = TN_SETTING_LIVE),

  INT_ROW ("device.threads", "0", 0, 1024, N_ ("threads"),
           N_ ("Threads that compute; 0 takes all processors that the process may use."),
           .aliases = "runtime_num_threads"),
  ENUM_ROW ("device.isa", "auto", VALUES ("auto", "sse2", "avx2", "avx512"),
            N_ ("The instruction level of the kernels; auto takes the best one the processor has.")),
  ENUM_ROW ("device.mode", "graph", VALUES ("graph", "pynative"),
            N_ ("Whether a compiled plan runs (graph) or one operator after the other (pynative)."), .aliases = "mode",
            .flags = TN_SETTING_LIVE),
  BOOL_ROW ("device.strict", "false", N_ ("Whether passes that round differently are left out."),
            .aliases = "deterministic"),
  INT_ROW ("device.memory_limit_mb", "0", 0, 1e9, "MB",
           N_ ("Memory that a run may use; 0 is what the machine allows."), .aliases = "max_device_memory"),

  INT_ROW ("parallel.ranks", "1", 1, 16384, N_ ("ranks"), N_ ("How many ranks share the work; each is a thread, or a process under mpirun."),
           .aliases = "device_num"),
  ENUM_ROW ("parallel.mode", "stand_alone",
            VALUES ("stand_alone", "data_parallel", "hybrid_parallel", "semi_auto_parallel", "auto_parallel"),
            N_ ("How ranks work together: alone, each on its samples, or on their parts of the weights too."), .aliases = "parallel_mode"),
  TEXT_ROW ("parallel.mesh", TN_SETTING_STRING, "",
            N_ ("The ranks as named axes, such as dp=4,tp=2; dp splits samples, tp weights, sp sequences; empty is dp with all ranks.")),
  LIST_ROW ("parallel.rank_list", TN_SETTING_INT_LIST, "", 0, 1e9, N_ ("ranks"),
            N_ ("Which rank stands at which place of the mesh, row by row, such as 0,2,1,3; empty is 0, 1, 2 ..."), .aliases = "rank_list"),
  TEXT_ROW ("parallel.strategy", TN_SETTING_STRING, "",
            N_ ("How cells are split, in JSON: {\"fc*\": [[\"dp\", \"None\"], [\"tp\", \"None\"]]} by axes, or [[4, 1], [2, 1]] by counts.")),
  ENUM_ROW ("parallel.dataset", "data_parallel", VALUES ("data_parallel", "full_batch"),
            N_ ("Whether ranks read their part of each batch or all of it."), .aliases = "dataset_strategy"),
  ENUM_ROW ("parallel.batch_norm", "auto", VALUES ("auto", "global", "local"),
            N_ ("Whether batch statistics are those of the whole batch (global) or of each rank's samples (local); auto is local in data_parallel, else global.")),
  BOOL_ROW ("parallel.gradients_mean", "false", N_ ("Whether gradients are averaged over ranks where each has a loss of its own."),
            .aliases = "gradients_mean"),
  BOOL_ROW ("parallel.gradient_fp32_sync", "true", N_ ("Whether gradients are added up in float32."), .aliases = "gradient_fp32_sync"),
  BOOL_ROW ("parallel.loss_repeated_mean", "true", N_ ("Whether a loss that several ranks compute counts once."),
            .aliases = "loss_repeated_mean"),
  BOOL_ROW ("parallel.parameter_broadcast", "false", N_ ("Whether rank 0's first weights are sent to all."),
            .aliases = "parameter_broadcast"),
  ENUM_ROW ("parallel.search_mode", "sharding_propagation",
            VALUES ("dynamic_programming", "recursive_programming", "sharding_propagation"),
            N_ ("How auto_parallel finds strategies; sharding_propagation is the one that can run."),
            .aliases = "search_mode auto_parallel_search_mode"),
  TEXT_ROW ("parallel.strategy_load", TN_SETTING_PATH, "", N_ ("A strategy file that parameters are laid out by."),
            .aliases = "strategy_ckpt_load_file"),
  TEXT_ROW ("parallel.strategy_save", TN_SETTING_PATH, "", N_ ("Where the strategy of every parameter is written; .json for JSON."),
            .aliases = "strategy_ckpt_save_file"),
  TEXT_ROW ("parallel.group_save", TN_SETTING_PATH, "", N_ ("Where the groups of ranks are written."),
            .aliases = "group_ckpt_save_file"),
  BOOL_ROW ("parallel.optimizer", "false", N_ ("Whether parameters and optimizer states are cut over ranks that would hold copies."),
            .aliases = "enable_parallel_optimizer"),
  INT_ROW ("parallel.optimizer_level", "1", 1, 3, "",
           N_ ("What is cut: 1 weights between steps and states, 2 accumulated gradients too, 3 weights are gathered again for the backward pass."),
           .aliases = "optimizer_level"),
  INT_ROW ("parallel.optimizer_threshold", "64", 0, 1e9, "KB", N_ ("Parameters below this size are not cut."),
           .aliases = "parallel_optimizer_threshold threshold"),
  INT_ROW ("parallel.optimizer_shard_size", "-1", -1, 16384, N_ ("ranks"),
           N_ ("Over how many ranks a parameter is cut; -1 takes all that would hold copies."),
           .aliases = "optimizer_weight_shard_size"),
  BOOL_ROW ("parallel.optimizer_aggregated_save", "false", N_ ("Whether cut parameters are gathered before they are saved."),
            .aliases = "optimizer_weight_shard_aggregated_save"),
  BOOL_ROW ("parallel.gradient_accumulation_shard", "true", N_ ("Whether accumulated gradients are cut like the optimizer's states."),
            .aliases = "gradient_accumulation_shard"),
  INT_ROW ("parallel.accumulation_steps", "1", 1, 1e6, N_ ("micro-batches"), N_ ("Gradients of so many micro-batches are added before an update."),
           .aliases = "grad_accumulation_step"),
  INT_ROW ("parallel.pipeline_stages", "1", 1, 4096, N_ ("stages"), N_ ("Into how many stages the network is cut; more than 1 can be read and stored only."),
           .aliases = "pipeline_stages"),
  LIST_ROW ("parallel.all_reduce_fusion", TN_SETTING_INT_LIST, "", 0, 1e9, "",
            N_ ("Gradients after which a bucket ends, by their number; empty cuts by size."), .aliases = "all_reduce_fusion_config"),
  BOOL_ROW ("parallel.all_to_all", "true", N_ ("Whether redistributions may use all-to-all."), .aliases = "enable_alltoall"),
  ENUM_ROW ("parallel.group_mode", "ALL_GROUP_PARALLEL", VALUES ("ALL_GROUP_PARALLEL", "SAME_SERVER_GROUP_PARALLEL", "NO_GROUP_PARALLEL"),
            N_ ("Which groups communicate at the same time."), .aliases = "communi_parallel_mode"),
  INT_ROW ("parallel.same_bits", "0", 0, 4096, N_ ("blocks"),
           N_ ("Cuts a batch into so many blocks (a power of two) that are added in a fixed order, so that the bits do not depend on the number of ranks; 0 does not.")),
  INT_ROW ("parallel.bucket_kb", "4096", 1, 1 << 22, "KB", N_ ("Gradients are brought together in buckets of about this size, while others are still being computed.")),

  BOOL_ROW ("graph.save", "false", N_ ("Whether the graph is written as .ir and .dot after every stage of compilation."),
            .aliases = "save_graphs"),
  { .name = NULL },
};
