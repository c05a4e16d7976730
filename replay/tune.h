/*
 * Which setting of PyTorch's allocator serves a trace best on a card, and why.
 */
#ifndef REPLAY_REPLAY_TUNE_H
#define REPLAY_REPLAY_TUNE_H

#include "replay/bounds.h"
#include "replay/fit.h"
#include "replay/holes.h"
#include "replay/settings.h"

enum { TUNE_COPIES = 8, TUNE_FINALISTS = 16, TUNE_FITS = 6, TUNE_PERCENT = 2 };

/* One setting and what came of it. */
struct tune_entry {
    struct settings    settings;
    struct policy_spec spec;
    struct trial       trial;
};

/* The finalists on a changed copy of the trace. */
struct tune_copy {
    uint64_t seed;
    unsigned rounds;                 /* the trace so often in a row */
    struct trial trials[TUNE_FINALISTS + 1];     /* the last is the baseline's, behind those of the finalists */
    bool     runs;                   /* the winner serves every request of it */
    bool     wins;                   /* and none of the finalists is better there */
    bool     beats_baseline;         /* it is better there than the recorded setting */
};

struct tune {
    struct pytorch_profile profile;
    struct bounds      bounds;
    uint64_t           usable_bytes;             /* of the card, without context and others; DEVICE_UNLIMITED */
    struct tune_entry  baseline;                 /* the recorded settings; `settings` is not filled in */
    bool               is_baseline_recorded;     /* else the release's defaults: the record's are not known, or unknown
                                                  * to the release asked for */
    struct tune_entry *entries;                  /* on the trace itself best first */
    size_t             n_entries;
    size_t             winner;                   /* the entry that runs in most copies; of these the first */
    bool               is_better;                /* it outdoes the baseline: in more copies, or with as many */
    struct holes       holes_before, holes_after;    /* at the moment of `holes_event`; filled in if is_better */
    uint64_t           holes_event;              /* events before it */
    struct tune_copy   copies[TUNE_COPIES];      /* filled in if an entry runs */
    size_t             n_copies;
    size_t             finalists[TUNE_FINALISTS];    /* entries: the best, and the best with few settings */
    unsigned           finalist_runs[TUNE_FINALISTS + 1];    /* copies that each runs; then the baseline's */
    size_t             n_finalists;
    struct fit         fits[TUNE_FITS];          /* if none runs: least cards for the entries that got farthest */
    size_t             fit_entries[TUNE_FITS];   /* of which entries */
    size_t             n_fits;
};

/* Searches. `release`: as pytorch_profile_find takes it; NULL: the recorded one, else the newest. Released with
 * tune_close, also on error. ERR_USAGE for an unknown release; errors of the parts. */
MUST_USE enum err tune_run(struct trace_reader *trace, const struct device_choice *device, const char *release,
                           uint64_t seed, const struct replay_config *cfg, struct tune *out, struct err_detail *why);
void tune_close(struct tune *t);

/* Below 0 where a is better: no refusal (else the later one), then peak reserved, then modelled driver time. */
int trial_compare(const struct trial *a, const struct trial *b);

#endif
