/* SPDX-License-Identifier: Apache-2.0 */
/* The module tenon-mpi: the one file that knows MPI. */
#include "comm/link.h"
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PIECE ((size_t) 1 << 30) /* MPI counts in int */

const TnCommLink *tn_comm_link (void);

typedef struct
{
  int n;
  size_t expected;
  int receives;
  MPI_Request pieces[];
} Request;

static const char *
library (void)
{
  static char text[MPI_MAX_LIBRARY_VERSION_STRING];
  int n;
  MPI_Get_library_version (text, &n);
  text[strcspn (text, ",")] = '\0';
  return text;
}

static int
start (int *rank, int *size, char *error, size_t n_error)
{
  int given, is_there;
  MPI_Initialized (&is_there);
  if (!is_there && MPI_Init_thread (NULL, NULL, MPI_THREAD_SERIALIZED, &given) != MPI_SUCCESS)
    {
      snprintf (error, n_error, "MPI_Init_thread failed");
      return -1;
    }
  MPI_Query_thread (&given);
  if (given < MPI_THREAD_SERIALIZED)
    {
      snprintf (error, n_error, "this MPI allows calls from one thread only");
      return -1;
    }
  MPI_Comm_set_errhandler (MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  MPI_Comm_rank (MPI_COMM_WORLD, rank);
  MPI_Comm_size (MPI_COMM_WORLD, size);
  return 0;
}

static void
finish (void)
{
  int over;
  MPI_Finalized (&over);
  if (!over)
    MPI_Finalize ();
}

static Request *
request_new (size_t bytes)
{
  int n = bytes == 0 ? 1 : (int) ((bytes + PIECE - 1) / PIECE);
  Request *request = malloc (sizeof *request + sizeof (MPI_Request) * (size_t) n);
  if (request != NULL)
    *request = (Request){ .n = n, .expected = bytes };
  return request;
}

static int
piece (size_t bytes, int i)
{
  size_t left = bytes - (size_t) i * PIECE;
  return (int) (left < PIECE ? left : PIECE);
}

static void *
send_bytes (const void *data, size_t bytes, int to, int tag)
{
  Request *request = request_new (bytes);
  for (int i = 0; request != NULL && i < request->n; i++)
    if (MPI_Isend ((const char *) data + (size_t) i * PIECE, piece (bytes, i), MPI_BYTE, to, tag, MPI_COMM_WORLD, &request->pieces[i]) != MPI_SUCCESS)
      {
        free (request);
        return NULL;
      }
  return request;
}

static void *
receive_bytes (void *data, size_t bytes, int from, int tag)
{
  Request *request = request_new (bytes);
  if (request != NULL)
    request->receives = 1;
  for (int i = 0; request != NULL && i < request->n; i++)
    if (MPI_Irecv ((char *) data + (size_t) i * PIECE, piece (bytes, i), MPI_BYTE, from, tag, MPI_COMM_WORLD, &request->pieces[i]) != MPI_SUCCESS)
      {
        free (request);
        return NULL;
      }
  return request;
}

static int
test (void *data)
{
  Request *request = data;
  MPI_Status *statuses = calloc ((size_t) request->n, sizeof (MPI_Status));
  int done = 0, result = MPI_Testall (request->n, request->pieces, &done, statuses);
  int ok = result == MPI_SUCCESS;
  for (int i = 0; ok && done && request->receives && i < request->n; i++)
    {
      int count = -1;
      MPI_Get_count (&statuses[i], MPI_BYTE, &count);
      ok = count == piece (request->expected, i);
    }
  free (statuses);
  if (ok && !done)
    return 0;
  free (request);
  return ok ? 1 : -1;
}

static void
drop (void *data)
{
  Request *request = data;
  for (int i = 0; i < request->n; i++)
    if (request->pieces[i] != MPI_REQUEST_NULL)
      {
        MPI_Cancel (&request->pieces[i]);
        MPI_Request_free (&request->pieces[i]);
      }
  free (request);
}

static int
probe (int tag, int *from, size_t *bytes)
{
  int there = 0, count = 0;
  MPI_Status status;
  if (MPI_Iprobe (MPI_ANY_SOURCE, tag, MPI_COMM_WORLD, &there, &status) != MPI_SUCCESS || !there)
    return 0;
  MPI_Get_count (&status, MPI_BYTE, &count);
  *from = status.MPI_SOURCE;
  *bytes = (size_t) count;
  return 1;
}

const TnCommLink *
tn_comm_link (void)
{
  static const TnCommLink link = { .version = TN_COMM_LINK_VERSION, .library = library, .start = start, .finish = finish, .send = send_bytes,
                                   .receive = receive_bytes, .test = test, .drop = drop, .probe = probe };
  return &link;
}
