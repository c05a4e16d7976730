/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * Declares entry points: ENTRY one with a body, SITE_NOTHING and SITE_REFUSED those of a table.
 *
 * A caller uses NVIDIA's own declaration. Ours only has to agree in what the processor passes.
 */
#ifndef REPLAY_CUDASIM_CORE_ENTRY_H
#define REPLAY_CUDASIM_CORE_ENTRY_H

#include "cudasim/core/core.h"

/* Declares, then defines. */
#define ENTRY(type, name, ...)                  \
    CUDASIM_API type name(__VA_ARGS__);         \
    CUDASIM_API type name(__VA_ARGS__)

/* The first line of an entry point that answers, for each place that must be there: without one nothing is done.
 * NO_PLACE is what the library returns then. The tables name the same places (ANSWERS), and a test asks each. */
#define NEEDS(place)                            \
    do {                                        \
        if ((place) == NULL)                    \
            return NO_PLACE;                    \
    } while (0)

#define SITE_WITH(entry, act)                                   \
    CUDASIM_API int entry(void);                                \
    CUDASIM_API int entry(void)                                 \
    {                                                           \
        static struct cudasim_site site = { .name = #entry };   \
        return act(&site);                                      \
    }

/* The call succeeds and does nothing. */
#define SITE_NOTHING(name) SITE_WITH(name, cudasim_do_nothing)

/* The call is not simulated. */
#define SITE_REFUSED(name) SITE_WITH(name, cudasim_refuse)

/* A second name, for variants with per-thread default streams. The simulation makes no difference between them. */
#define SITE_SAME(name, as) \
    CUDASIM_API extern __typeof__(as) name __attribute__((alias(#as)));

#endif
