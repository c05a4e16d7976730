/*
 * What a table of runs comes to: which settings and cases are in it, which setting wins and what it costs.
 *
 * A case is a trace on a device: what is given. A setting is what one may choose: the policy. The price of memory is
 * told as a share: what is taken of the card at the peak over what is requested at the peak, so that small traces count
 * as large ones do.
 */
#ifndef REPLAY_REPORT_VERDICT_H
#define REPLAY_REPORT_VERDICT_H

#include "report/run_table.h"
#include "report/text.h"

#define VERDICT_NONE SIZE_MAX

struct verdict_setting {
    char    *label;                  /* the policy, and what else tells it from the others; owned */
    unsigned n_changed;              /* settings that its policy changes */
    bool     is_default;             /* PyTorch's allocator as it comes */
    size_t   first_row;
    uint64_t n_runs, n_ok, n_oom;    /* the rest failed in another way */
    double   mean_share, worst_share;        /* card / requested, over the runs that got through; 0: none did */
    uint64_t most_bytes;             /* of the card, at the largest peak of a run that got through */
    uint64_t time_ns, calls;         /* sums over these */
};

struct verdict_case {
    char    *label;                  /* what tells it from the others: trace, device, or both; owned */
    size_t   first_row;
    uint64_t n_runs, n_ok;
    uint64_t least_time_ns;          /* of the runs that got through */
    size_t   best_row;               /* VERDICT_NONE: none got through */
};

struct verdict {
    const struct run_table *table;   /* borrowed */
    struct verdict_setting *settings;
    size_t   n_settings;
    struct verdict_case    *cases;   /* in order of their first rows */
    size_t   n_cases, n_traces, n_devices;
    uint32_t *setting_of, *case_of;  /* by row */
    size_t   best_setting;           /* VERDICT_NONE: none got through anything */
};

/* The table outlives it. ERR_HOST_NOMEM. */
MUST_USE enum err verdict_open(const struct run_table *t, struct verdict *out);
void verdict_close(struct verdict *v);

bool verdict_is_ok(const struct run_table *t, size_t row);

/* Whether two runs are of one trace. */
bool verdict_is_same_trace(const struct run_table *t, size_t a, size_t b);

/* Whether its policy is PyTorch's allocator as it comes, however that is spelled out. */
bool verdict_is_default(const struct run_table *t, size_t row);

/* The sentences at the head of a report, `i` from 0: who wins and what it costs; where its memory goes; what is
 * possible; who runs out of memory. An empty one is not to be said. Returns false behind the last. */
bool verdict_sentence(const struct verdict *v, size_t i, struct words *out);

#endif
