/*
 * verify: is the `pytorch` policy the allocator that made this recording?
 *
 * Two passes over one trace. Following the record, the policy is asked before each request what it would do, and then
 * does what the record says: one difference does not hide the next. Running free, it reads only the program's own
 * requests, and everything it decides is compared.
 */
#ifndef REPLAY_REPLAY_VERIFY_VERIFY_H
#define REPLAY_REPLAY_VERIFY_VERIFY_H

#include "base/err.h"
#include "policies/spec.h"
#include "traces/trace.h"

#include <stdbool.h>
#include <stdint.h>

struct verify_counts {
    uint64_t compared, equal;
    uint64_t unknowable;             /* the record does not tell what decided; in neither of the others */
};

struct verify_difference {
    uint64_t event;                  /* our number */
    uint64_t record;                 /* the source's own number */
    char     text[480];              /* what was expected, what was recorded, the blocks around */
};

struct verify_pass {
    bool     is_done;
    char     reason[240];            /* why not, or what it rests on */
    struct verify_counts placements, segments, reserved;
    uint64_t ooms_recorded, ooms_predicted;
    bool     has_difference;
    struct verify_difference first;
    uint64_t first_unknowable;       /* our number of the event; UINT64_MAX: none */
};

struct verify_report {
    struct verify_pass following, free_running;
    char version[8];                 /* the release whose decisions were compared */
    char settings[1200];             /* settings text it ran with */
    char inferred[320];              /* what was not in the record, and how it was found; "" for nothing */
};

struct verify_options {
    const struct policy_spec *policy;    /* `pytorch` with its settings, and version if given; NULL: the record's */
    uint64_t total_bytes;                /* of the recorded device; 0: unknown */
};

/* Compares. The trace must have recorded addresses. ERR_UNSUPPORTED with the reason, ERR_USAGE for settings that the
 * release refuses, the reader's errors. */
MUST_USE enum err verify_trace(struct trace_reader *in, const struct verify_options *o, struct verify_report *out,
                               struct err_detail *why);

/* Of the releases that share the record's layout, the newest under which most of it comes out, under the recorded
 * settings; static text. The errors of verify_trace. */
MUST_USE enum err verify_choose_release(struct trace_reader *in, const char **out, struct err_detail *why);

/* Nothing that was compared differs. */
bool verify_is_equal(const struct verify_report *r);

#endif
