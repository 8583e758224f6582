/* SPDX-License-Identifier: Apache-2.0 */
#include "device/cpu/kernels.h"

const TnCpuKernel tn_cpu_kernels_wide[] = { { 0 } };
