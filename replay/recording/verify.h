/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * verify: is the `pytorch` policy the allocator that made this recording?
 *
 * Two passes over one trace:
 *
 *     following       The policy says before each request what it would do, and then does what was recorded. So one
 *                     difference does not hide the next.
 *     running free    The policy gets only the program's own requests. Everything that it decides is compared.
 */
#ifndef REPLAY_REPLAY_RECORDING_VERIFY_H
#define REPLAY_REPLAY_RECORDING_VERIFY_H

#include "base/err.h"
#include "policies/spec.h"
#include "traces/trace.h"

#include <stdbool.h>
#include <stdint.h>

struct verify_counts {
    uint64_t compared, equal;
    uint64_t unknowable;             /* the record does not hold what decided; not counted in the other two */
};

struct verify_difference {
    uint64_t event;                  /* our number */
    uint64_t record;                 /* the recording's own number */
    char     text[480];              /* what was expected, what was recorded, and the blocks around the address */
};

struct verify_pass {
    bool     is_done;
    char     reason[240];            /* why it is not done, or ended early; "" otherwise */
    struct verify_counts placements, segments, reserved;
    uint64_t ooms_recorded, ooms_predicted;
    bool     has_difference;
    struct verify_difference first;
    uint64_t first_unknowable;       /* our number of the first event whose placement is unknowable; UINT64_MAX: none */
};

struct verify_report {
    struct verify_pass following, free_running;
    char version[8];                 /* the release whose decisions were compared */
    char settings[1200];             /* the policy and its settings, as typed */
    uint64_t limit_bytes;            /* of memory, of which garbage collection keeps a share: inferred; 0: none was */
    char inferred[320];              /* what the record does not hold and how it was found; "" for nothing */
};

struct verify_options {
    const struct policy_spec *policy;    /* `pytorch` with its settings, and its version if given; NULL: as recorded */
    uint64_t total_bytes;                /* memory of the recorded card; 0: unknown */
};

/* Compares the policy with the recording. Holds the whole trace in memory, and runs both passes for each release and
 * each card size that has to be tried. ERR_UNSUPPORTED if the trace has no recorded addresses; ERR_USAGE for another
 * policy, or for settings that the release refuses; ERR_HOST_NOMEM; the reader's errors. */
MUST_USE enum err verify_trace(struct trace_reader *in, const struct verify_options *o, struct verify_report *out,
                               struct err_detail *err);

/* Chooses among the releases that share the recording's layout: the one under which most decisions are as recorded,
 * with the recorded settings; the newest of equals. *out is static text. It verifies the trace once for each of them.
 * The errors of verify_trace. */
MUST_USE enum err verify_choose_release(struct trace_reader *in, const char **out, struct err_detail *err);

/* Whether nothing that was compared differs. */
bool verify_is_equal(const struct verify_report *r);

#endif
