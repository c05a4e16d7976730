/*
 * Which setting of PyTorch's allocator serves a trace best on a card, and why.
 */
#ifndef REPLAY_REPLAY_ADVISE_TUNE_H
#define REPLAY_REPLAY_ADVISE_TUNE_H

#include "replay/advise/candidate_settings.h"
#include "replay/advise/fit.h"
#include "replay/advise/pinned_holes.h"
#include "replay/plan/bounds.h"

enum { TUNE_COPIES = 8, TUNE_FINALISTS = 16, TUNE_FITS = 6, TUNE_PERCENT = 2 };

/* One setting and what came of it. */
struct tune_entry {
    struct settings    settings;
    struct policy_spec spec;
    struct trial       trial;
};

/* An entry that was tried on the changed copies of the trace, and what came of it there. */
struct tune_finalist {
    size_t   entry;
    unsigned runs;                   /* copies of which it serves every request */
    unsigned beats;                  /* of these, where it is better than the baseline */
    uint64_t held_bytes;             /* the sum of its peaks of reserved over all copies */
};

/* What may be said of the winner. */
enum tune_advice {
    TUNE_NOTHING,                    /* no entry runs, or none does better than the baseline */
    TUNE_HERE_ONLY,                  /* it does better on the recording, but most copies do not confirm it */
    TUNE_WITH_CAUTION,               /* it saves a recording that runs out of memory, but runs in few of the copies */
    TUNE_RECOMMENDED,
};

/* The finalists on a changed copy of the trace. */
struct tune_copy {
    uint64_t seed;
    unsigned rounds;                 /* the trace so often in a row */
    struct trial trials[TUNE_FINALISTS + 1];     /* the last is the baseline's, behind those of the finalists */
    bool     runs;                   /* the winner serves every request of it, */
    bool     beats_baseline;         /* is better there than the recorded setting, */
    bool     wins;                   /* and none of the finalists is better there */
};

struct tune {
    struct pytorch_rules rules;
    struct bounds      bounds;
    uint64_t           usable_bytes;             /* of the card, without context and others; DEVICE_UNLIMITED */
    struct tune_entry  baseline;                 /* the recorded settings; `settings` is not filled in */
    bool               is_baseline_recorded;     /* else the release's defaults: the record's are not known, or unknown
                                                  * to the release asked for */
    struct tune_entry *entries;                  /* on the trace itself best first */
    size_t             n_entries;
    size_t             winner;                   /* the entry that the copies speak for most; without any the first */
    enum tune_advice   advice;
    struct holes       holes_before, holes_after;    /* at the moment of `holes_event`; where one is recommended */
    uint64_t           holes_event;              /* events before it */
    struct tune_copy   copies[TUNE_COPIES];      /* filled in if an entry runs */
    size_t             n_copies;
    struct tune_finalist finalists[TUNE_FINALISTS + 1];      /* the best entries, and the best with few settings, by
                                                  * rank; behind them the baseline, which has no entry */
    size_t             n_finalists;              /* without it */
    struct fit         fits[TUNE_FITS];          /* if none runs: least cards for the entries that got farthest */
    size_t             fit_entries[TUNE_FITS];   /* of which entries */
    size_t             n_fits;
};

/* Searches. `release`: as pytorch_rules_find takes it; NULL: the recorded one, else the newest. Released with
 * tune_close, also on error. ERR_USAGE for an unknown release; errors of the parts. */
MUST_USE enum err tune_run(struct trace_reader *trace, const struct device_choice *device, const char *release,
                           uint64_t seed, const struct replay_config *cfg, struct tune *out, struct err_detail *why);
void tune_close(struct tune *t);

/* Whether the winner is to be set for another run. */
bool tune_recommends(const struct tune *t);

/* Below 0 where a is better: no refusal (else the later one), then peak reserved, then modelled driver time. */
int trial_compare(const struct trial *a, const struct trial *b);

#endif
