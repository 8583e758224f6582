/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/** Sets the process's locale from the environment and finds the translations: beside the program where it is installed
 * (bin/../share/locale), in the build folder where it is run from there. Once, first in main(). */
void tn_language_begin (void);
