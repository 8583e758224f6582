/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
#include "ir/graph.h"

/* TnModel: a network as a person describes it.
 *
 *   {
 *     "name": "LeNet5",
 *     "input": {"shape": [1, 32, 32], "pad": 2, "mean": 0.1307, "std": 0.3081},
 *     "init": "mindspore2",
 *     "freeze": ["conv1.*"],
 *     "cells": [
 *       {"type": "Conv2d", "name": "conv1", "out_channels": 6, "kernel": 5, "pad_mode": "valid", "has_bias": true},
 *       {"type": "ReLU"}, ...
 *     ]
 *   }
 *
 * Cells are wired in sequence; one with "inputs": ["conv1", "input"] reads earlier ones by name. Containers nest: see
 * nn/cell.h. A model is immutable but for the setters below; reference counted (atomic). Building may be repeated, into the same
 * graph (parameters are then shared) or into others.
 *
 *   g_autoptr (TnModel) model = tn_model_new_preset ("lenet5", &error);
 *   TnValue *x = tn_graph_add_input (graph, "x", TN_DTYPE_F32, tn_model_batch_shape (model, 32));
 *   TnValue *logits = tn_model_build (model, graph, x, TRUE, &error);
 */
typedef struct _TnModel TnModel;

#define TN_MODEL_MAX_CHANNELS 16

/* What a sample looks like when it comes to the network, and what is done to a picture before. The data side does it:
 * value = (pixel / 255 - mean[c]) / std[c], where @pad zero pixels were put around the picture first. */
typedef struct
{
  TnShape shape; /* of one sample, as the network gets it: [1][32][32] */
  TnDType dtype; /* float32, or int32 for tokens */
  int pad;       /* pixels on each side that are part of shape: the file's picture is 28 x 28 for 32 and 2 */
  int n_channels;                      /* of mean and std: 0 means no normalisation, 1 means the same for all channels */
  double mean[TN_MODEL_MAX_CHANNELS];
  double std[TN_MODEL_MAX_CHANNELS];
} TnModelInput;

/** Syntax errors (TN_ERROR_PARSE) have line and column; errors of meaning have the member's path and value. @n: bytes or -1. */
TnModel *tn_model_from_json (const char *text, gssize n, GError **error);
TnModel *tn_model_load (const char *path, GError **error);
/** One of tn_model_preset_names(). */
TnModel *tn_model_new_preset (const char *name, GError **error);
TnModel *tn_model_ref (TnModel *self);
void tn_model_unref (TnModel *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (TnModel, tn_model_unref)

/** The text of a preset, static; NULL if there is none of that name. */
const char *tn_model_preset (const char *name);
/** NULL-terminated: "lenet5", "mlp", "resnet18-cifar", "small-cnn". */
const char *const *tn_model_preset_names (void);

/** JSON text that makes the same model. Free with g_free. */
char *tn_model_to_json (TnModel *self);
const char *tn_model_name (TnModel *self);
const TnModelInput *tn_model_input (TnModel *self);
/** [batch] + the sample's shape. */
TnShape tn_model_batch_shape (TnModel *self, int64_t batch);

/** "mindspore1" (normal(0.01), zeros) or "mindspore2" (he_uniform(sqrt5), +-1/sqrt(fan_in)); for cells without their own. */
gboolean tn_model_set_init (TnModel *self, const char *preset, GError **error);
const char *tn_model_init (TnModel *self);
/** Comma-separated globs over parameter names ("conv*,bn1.*"); replaces the model's own. NULL or "": none. */
void tn_model_set_freeze (TnModel *self, const char *patterns);

/**
 * tn_model_build:
 * @x: [batch] + input shape; the batch may be any size
 * @training: batch statistics and dropout
 *
 * Adds the forward nodes under "Default/network-<name>" and returns the output, [batch] and what the last cell makes. NULL with @error (the
 * graph is then in the failed state) where shapes do not fit; the message has the cell's path and the shapes.
 */
TnValue *tn_model_build (TnModel *self, TnGraph *graph, TnValue *x, gboolean training, GError **error);

/** Builds the model in a graph of its own with batch 2 and counts trained elements (@trained, frozen too) and running
 * statistics; @output (nullable) is the shape of one sample's output. */
gboolean tn_model_measure (TnModel *self, int64_t *trained, int64_t *statistics, TnShape *output, GError **error);
