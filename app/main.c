/* SPDX-License-Identifier: Apache-2.0 */
#include "application.h"
#include "base/language.h"

int
main (int argc, char **argv)
{
  tn_language_begin ();
  g_autoptr (GApplication) application = tn_application_new ();
  return g_application_run (application, argc, argv);
}
