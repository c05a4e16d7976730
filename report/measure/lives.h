/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * What lives for a while: requests of a program, or memory that an allocator holds. A picture of a run is made of such
 * lives, as rectangles of bytes by moments.
 *
 *     bytes  |   +--------------+        born: the first moment at which it lives
 *            |   |     life     |        ended: the first moment after its end
 *            +---+--------------+---> moments
 *
 * Moment m is the state after m events. Moment 0 is the start state.
 */
#ifndef REPLAY_REPORT_MEASURE_LIVES_H
#define REPLAY_REPORT_MEASURE_LIVES_H

#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct life {
    uint64_t bytes;                  /* > 0 */
    uint64_t born, ended;            /* moments, ended > born. At the end of a run everything ends */
    uint64_t freed;                  /* of a request: the first moment after the program freed it; <= ended */
    uint64_t addr;                   /* of memory; of a request 0 */
    uint32_t slot;                   /* of a request */
    uint32_t stack;                  /* of a request: filled in by the caller */
    uint16_t stream;
    uint8_t  pool;
    uint8_t  kind;                   /* of memory: enum life_kind */
};

/* What memory a life of memory is. Mapped memory lies in a range; a range alone holds no memory. */
enum life_kind { LIFE_SEGMENT, LIFE_RANGE, LIFE_MAPPED };

/* Keeps the `max` lives that are largest in a picture, which is by bytes times moments. Their number bounds the host's
 * memory, whatever the length of the run. */
struct lives {
    struct life *at;                 /* n of them */
    size_t   n, room, max;
    double   least_area;             /* smaller lives are not kept any more */
    uint64_t n_all;                  /* lives that were put in */
};

/* Takes a life. ERR_HOST_NOMEM. */
MUST_USE enum err lives_put(struct lives *l, const struct life *life);

/* Keeps the `max` largest (at most l->max) and sorts them by birth. Of equal ones those stay that were born first. */
void lives_cut(struct lives *l, size_t max);
void lives_close(struct lives *l);   /* zero is accepted */

#endif
