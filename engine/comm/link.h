/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
#include <stddef.h>

/* TnCommLink: what a module moves bytes with, so that the engine needs no MPI to be built or to run. It adds nothing and waits
 * for nothing. One thread calls at a time. */
#define TN_COMM_LINK_VERSION 1
#define TN_COMM_LINK_SYMBOL "tn_comm_link"

typedef struct
{
  int version;
  const char *(*library) (void); /* "Open MPI v4.1.4 ..." */
  /* Joins the other processes. 0, or -1 with a text in @error. */
  int (*start) (int *rank, int *size, char *error, size_t n_error);
  void (*finish) (void);
  /* Begin to move bytes; NULL where the library refuses. */
  void *(*send) (const void *data, size_t bytes, int to, int tag);
  void *(*receive) (void *data, size_t bytes, int from, int tag);
  /* 1: done and gone; 0: not yet; -1: failed and gone (another size came). */
  int (*test) (void *request);
  /* Gives a request up. */
  void (*drop) (void *request);
  /* Whether something with @tag waits, from whom and of what size. */
  int (*probe) (int tag, int *from, size_t *bytes);
} TnCommLink;

/* The module's one symbol. */
typedef const TnCommLink *(*TnCommLinkFunc) (void);
