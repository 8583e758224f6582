/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
#include "optim/schedule.h"

/* The table of schedule kinds: a row says what arguments a kind takes and how its rate is computed. */
#define TN_SCHEDULE_MAX_ARGS 12

typedef enum
{
  SCHEDULE_NUMBER,
  SCHEDULE_COUNT, /* a whole number */
  SCHEDULE_FLAG,
  SCHEDULE_LIST,
  SCHEDULE_WORD
} TnScheduleArgType;

typedef struct
{
  const char *names; /* "decay_steps|decay_epoch": the first is the name, the others are understood */
  TnScheduleArgType type;
  gboolean required;
  double number;    /* default */
  double min, max;  /* inclusive; both 0: any */
  const char *text; /* default of a word */
} TnScheduleArgSpec;

/* Values in the order of the row's arguments. */
typedef struct
{
  double n[TN_SCHEDULE_MAX_ARGS];
  double *list[TN_SCHEDULE_MAX_ARGS];
  int list_n[TN_SCHEDULE_MAX_ARGS];
  char *text[TN_SCHEDULE_MAX_ARGS];
  gboolean given[TN_SCHEDULE_MAX_ARGS];
} TnScheduleValues;

typedef struct
{
  const char *name;
  TnScheduleArgSpec args[TN_SCHEDULE_MAX_ARGS];
  gboolean epochs; /* counts steps / steps_per_epoch, rounded down, where that is given */
  double (*lr) (const TnScheduleValues *v, double t);
  double (*momentum) (const TnScheduleValues *v, double t); /* or NULL */
  gboolean (*check) (const TnScheduleValues *v, GError **error); /* or NULL */
} TnScheduleKind;

/** Ends with a row without a name. */
extern const TnScheduleKind tn_schedule_table[];
