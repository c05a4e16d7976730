/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/* sched_getaffinity is Linux's own. */
#define _GNU_SOURCE
#include "base/cores.h"

#include <sched.h>
#include <unistd.h>

unsigned cores_usable(void)
{
#ifdef __wasm__
    return 1;                       /* of WebAssembly */
#else
    cpu_set_t set;
    if (sched_getaffinity(0, sizeof set, &set) == 0 && CPU_COUNT(&set) > 0)
        return (unsigned)CPU_COUNT(&set);
    const long n = sysconf(_SC_NPROCESSORS_ONLN);        /* more processors than the set has room for */
    return n > 0 ? (unsigned)n : 1;
#endif
}
