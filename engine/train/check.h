/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
#include "train/program.h"
#include "train/project.h"

/* TnCheck: what would go wrong, or be unwise, if a project were trained as it is: its model, data, plan and memory, looked at without
 * training and without allocating its parameters. Reads the data set, so call it from a worker thread. */
typedef enum
{
  TN_FINDING_ERROR,   /* the run would be refused */
  TN_FINDING_WARNING, /* it would run, and perhaps not as wanted */
  TN_FINDING_NOTE
} TnSeverity;

/** "error", "warning", "note": stable, untranslated. */
const char *tn_severity_name (TnSeverity severity);

typedef struct
{
  TnSeverity severity;
  char *code;    /* stable: "data", "model", "memory", "batch", "rate" ... */
  char *text;    /* for people */
  char *setting; /* what it is about, or NULL */
  char *fix;     /* its value that would mend it, or NULL */
} TnFinding;

typedef struct
{
  GPtrArray *findings; /* TnFinding, errors first */
  /* What is known where no error stands before it; 0 otherwise. */
  gint64 n_train, n_held_out, steps_per_epoch, total_steps, n_parameters;
  guint64 data_bytes;
  TnProgramMeasure memory;
  char *data; /* the data set's description, or NULL */
} TnCheck;

/** @settings: (nullable): the project's own if NULL. Never fails: what is wrong is a finding. @cancellable: looked at between the
 * parts; what was found until then is returned. */
TnCheck *tn_check_project (TnProject *project, const TnSettings *settings, GCancellable *cancellable);
void tn_check_free (TnCheck *check);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (TnCheck, tn_check_free)
gboolean tn_check_has_errors (const TnCheck *check);
