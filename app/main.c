/* SPDX-License-Identifier: Apache-2.0 */
#include "application.h"

int
main (int argc, char **argv)
{
  g_autoptr (GApplication) application = tn_application_new ();
  return g_application_run (application, argc, argv);
}
