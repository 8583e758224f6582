/* SPDX-License-Identifier: Apache-2.0 */
#include "collectives.h"
#include "comm/mpi.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* What test-mpi starts under mpirun: one process a rank. The last line of each that ends well is "ok". */

static int
fail_at (TnComm *comm, int failing)
{
  float x[5000] = { 0 };
  GError *error = NULL;
  for (int i = 0; error == NULL; i++)
    {
      if (comm->rank == failing && i == 5)
        {
          tn_comm_fail (comm, "the disk is full");
          g_usleep (G_USEC_PER_SEC); /* mpirun would end the others as soon as this one ends */
          tn_comm_free (comm);
          return 0;
        }
      tn_comm_all_reduce (comm, x, x, 5000, TN_DTYPE_F32, TN_REDUCE_SUM, &error);
    }
  printf ("%d: %s\n", comm->rank, error->message);
  fflush (stdout);
  g_usleep (G_USEC_PER_SEC);
  g_error_free (error);
  tn_comm_free (comm);
  return 0;
}

/* Processor time of ranks that wait half a second for rank 0. */
static int
idle (TnComm *comm)
{
  struct timespec before, after;
  tn_comm_barrier (comm, NULL);
  clock_gettime (CLOCK_PROCESS_CPUTIME_ID, &before);
  if (comm->rank == 0)
    g_usleep (2 * G_USEC_PER_SEC);
  tn_comm_barrier (comm, NULL);
  clock_gettime (CLOCK_PROCESS_CPUTIME_ID, &after);
  double cpu = (double) (after.tv_sec - before.tv_sec) + (double) (after.tv_nsec - before.tv_nsec) * 1e-9;
  if (comm->rank > 0)
    printf ("share %.4f\n", cpu / 2);
  tn_comm_free (comm);
  return 0;
}

int
main (int argc, char **argv)
{
  GError *error = NULL;
  TnComm *comm = tn_comm_mpi_open (&error);
  if (comm == NULL || argc < 2)
    {
      fprintf (stderr, "%s\n", error != NULL ? error->message : "name what to do");
      return 1;
    }
  if (strcmp (argv[1], "fail") == 0)
    return fail_at (comm, comm->size - 1);
  if (strcmp (argv[1], "idle") == 0)
    return idle (comm);
  check_collectives (comm, (guint32) strtoul (argv[1], NULL, 10), 40);
  tn_comm_free (comm);
  printf ("ok\n");
  return 0;
}
