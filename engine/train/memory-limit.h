/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
#include <stddef.h>
#include <stdint.h>

/** Bytes that this process may still take: the least of available RAM, the cgroup's limits (v2 memory.max of every level,
 * v1 memory.limit_in_bytes) less what it uses, RLIMIT_AS, and @limit_mb megabytes where that is above 0. */
size_t tn_memory_allowed (int64_t limit_mb);
/** Resident bytes of this process now, and at its peak; 0 where the system does not say. */
size_t tn_memory_resident (void);
size_t tn_memory_peak (void);
