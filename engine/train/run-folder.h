/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
#include <glib.h>
#include <json-glib/json-glib.h>
#include "train/project.h"
#include "train/run-state.h"

/* TnRunFolder: what one run is on disk.
 *
 *   runs/2026-11-30-lenet5-01/
 *     run.json        format version, network, resolved settings, seed, versions, processor, build facts, data fingerprint,
 *                     changes made while it ran, state, exit cause
 *     lock            pid, boot id, start time, address of its D-Bus service; held with flock() while a process trains
 *     log.txt         messages, a time stamp each
 *     events.out.tfevents.*   checkpoints/
 *
 * The folder's name is taken with mkdir(), so that two processes never get the same. Only the holder of the lock writes.
 * One thread at a time, except tn_run_folder_log().
 *
 *   g_autoptr (TnRunFolder) run = tn_run_folder_create (project, settings, &error);
 *   g_autoptr (TnRunFolder) run = tn_run_folder_open ("digits/runs/2026-11-30-lenet5-01", &error);
 *   if (!tn_run_folder_lock (run, &error)) ...
 */
#define TN_RUN_VERSION 1

typedef struct _TnRunFolder TnRunFolder;

/** A setting that changed while the run went on; holds from before step @step (0-based) on. */
typedef struct
{
  gint64 step;
  char *name, *value;
} TnRunChange;

TnRunChange *tn_run_change_new (gint64 step, const char *name, const char *value);
void tn_run_change_free (TnRunChange *change);

/** Who holds the lock, or held it last. */
typedef struct
{
  gboolean held;
  gint64 pid;
  char *host, *boot_id;
  gint64 start_ticks;   /* field 22 of /proc/PID/stat: tells a re-used pid */
  char *address;        /* D-Bus address, or NULL */
  gint64 heartbeat_us, step, median_step_us; /* Unix time of its last sign of life, and what it said then */
} TnRunOwner;

void tn_run_owner_clear (TnRunOwner *owner);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (TnRunOwner, tn_run_owner_clear)
/** Whether its process is on this machine and stopped by a signal (SIGSTOP, Ctrl-Z). */
gboolean tn_run_owner_is_stopped (const TnRunOwner *owner);
/** Whether it is, or was, on this machine: its lock can be seen here, and its process. */
gboolean tn_run_owner_is_local (const TnRunOwner *owner);
/** Whether its process, and not another that got its number later, is on this machine. */
gboolean tn_run_owner_is_alive (const TnRunOwner *owner);

/** Makes the next free runs/YYYY-MM-DD-MODEL-NN with state queued. @settings: (nullable): resolved settings, the
 * project's own if NULL; copied. */
TnRunFolder *tn_run_folder_create (TnProject *project, const TnSettings *settings, GError **error);
/** Reads run.json. Errors: TN_ERROR_NOT_FOUND, TN_ERROR_FORMAT (no run; a newer version, by number), TN_ERROR_PARSE. */
TnRunFolder *tn_run_folder_open (const char *path, GError **error);
void tn_run_folder_free (TnRunFolder *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (TnRunFolder, tn_run_folder_free)

/** TN_ERROR_BUSY names the process that trains in it. Clears what a killed writer left behind. */
gboolean tn_run_folder_lock (TnRunFolder *self, GError **error);
void tn_run_folder_unlock (TnRunFolder *self);
gboolean tn_run_folder_is_locked (const TnRunFolder *self);
/** Writes the service's address into the lock. */
gboolean tn_run_folder_set_address (TnRunFolder *self, const char *address, GError **error);
/** A sign of life in the lock: once a second while the lock is held. The thread that called tn_run_folder_set_address(), at any time. */
void tn_run_folder_beat (TnRunFolder *self, gint64 step, gint64 median_step_us);
/** Reads the lock of the run at @path without taking it. */
gboolean tn_run_folder_owner (const char *path, TnRunOwner *owner, GError **error);

/** Writes run.json durably; needs the lock. On a full disk the space that the run keeps in reserve is freed first. */
gboolean tn_run_folder_save (TnRunFolder *self, GError **error);
/** Reads run.json again. */
gboolean tn_run_folder_reload (TnRunFolder *self, GError **error);

const char *tn_run_folder_path (const TnRunFolder *self); /* absolute */
const char *tn_run_folder_name (const TnRunFolder *self); /* last part of the path */
/** The project's folder, two levels up. Free with g_free. */
char *tn_run_folder_project_path (const TnRunFolder *self);
char *tn_run_folder_checkpoints_path (const TnRunFolder *self);
/** As they were when the run was made: changes not applied. */
TnSettings *tn_run_folder_settings (const TnRunFolder *self);
/** Whether whoever made the run chose this setting, even to its default. */
gboolean tn_run_folder_is_chosen (const TnRunFolder *self, const char *name);
/** A copy with all changes of steps <= @step applied. */
TnSettings *tn_run_folder_settings_at (const TnRunFolder *self, gint64 step);
/** The run's own copy of the model: later edits of the project do not reach it. init.preset and train.freeze are applied. */
TnModel *tn_run_folder_load_model (const TnRunFolder *self, GError **error);
/** "lenet5": as in the folder's name. */
const char *tn_run_folder_model_name (const TnRunFolder *self);

TnRunState tn_run_folder_state (const TnRunFolder *self);
/** State as somebody who looks from outside should call it (tn_run_state_judge()); @silent may be NULL. May reload run.json: texts that the
 * folder gave out before hold no longer. */
TnRunState tn_run_folder_look (TnRunFolder *self, gboolean *silent);
/** The same without @silent. */
TnRunState tn_run_folder_seen_state (TnRunFolder *self);
/** Why it ended: text for people, or "". */
const char *tn_run_folder_reason (const TnRunFolder *self);
/** Short stable cause: "max-steps", "epochs", "user", "no-space", "non-finite" ..., or "". */
const char *tn_run_folder_cause (const TnRunFolder *self);
void tn_run_folder_set_state (TnRunFolder *self, TnRunState state, const char *cause, const char *reason);

/** Appends; save afterwards. */
void tn_run_folder_add_change (TnRunFolder *self, gint64 step, const char *name, const char *value);
int tn_run_folder_n_changes (const TnRunFolder *self);
const TnRunChange *tn_run_folder_change (const TnRunFolder *self, int i);

/* Facts that the trainer learns: kept as members of run.json under "facts" (numbers or text). */
void tn_run_folder_set_fact (TnRunFolder *self, const char *name, const char *value);
void tn_run_folder_set_fact_number (TnRunFolder *self, const char *name, double value);
/** NULL if there is none. "data_fingerprint", "build", "isa", "cpu" ... */
const char *tn_run_folder_fact (const TnRunFolder *self, const char *name);
/** NaN if there is none. "step", "epoch", "loss", "accuracy", "best_accuracy", "seconds", "memory_forecast" ... */
double tn_run_folder_fact_number (const TnRunFolder *self, const char *name);
/** The whole of run.json as last saved or read: for show --json. Belongs to @self. */
JsonNode *tn_run_folder_json (TnRunFolder *self);

/** A line in log.txt, with time; a failure to write it is ignored. Any thread. */
void tn_run_folder_log (TnRunFolder *self, const char *format, ...) G_GNUC_PRINTF (2, 3);

/** Absolute paths of the project's runs, oldest first (by date, then number); folders without run.json are left out, those with one
 * that tn_run_folder_open() cannot read are there. */
GPtrArray *tn_run_folder_list (const char *project_path, GError **error);
