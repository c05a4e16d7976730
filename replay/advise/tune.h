/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * Which setting of PyTorch's allocator serves a trace best on a card, and why.
 *
 *     hundreds of settings --runs on the trace--> finalists --smallest cards, as `fit`, and runs on 8 changed copies-->
 *     the most robust --by smallest cards--> the best of these --of those that do as well--> the simplest
 *
 * "Best" is as in winner.h. To find smallest cards for hundreds of settings would cost too many runs, so the
 * first step ranks by the peak of the card. A setting that shows only on a smaller card ranks low there: so each option
 * alone, and each part of the best, is a finalist whatever its rank.
 */
#ifndef REPLAY_REPLAY_ADVISE_TUNE_H
#define REPLAY_REPLAY_ADVISE_TUNE_H

#include "replay/advise/filled_step.h"
#include "replay/advise/candidate_settings.h"
#include "replay/advise/fit.h"
#include "replay/advise/pinned_holes.h"
#include "replay/advise/played_on.h"
#include "replay/recording/first_step.h"
#include "replay/recording/growth_say.h"
#include "replay/plan/bounds.h"
#include "report/rows/winner.h"

enum { TUNE_COPIES = 8, TUNE_BEST = 8, TUNE_FINALISTS = 64, TUNE_FITS = 6, TUNE_PERCENT = 2 };

/* A gain matters from this share of the card on: 2 percent. */
enum { TUNE_GAIN_SHARE = WINNER_MARGIN_SHARE };

/* To run in so many copies less is no evidence against a simpler setting. */
enum { TUNE_COPIES_SPARED = 1 };

/* One setting and what came of it. */
struct tune_entry {
    struct settings    settings;
    struct policy_spec spec;
    struct trial       trial;
    uint64_t           price_bytes_per_ms;       /* the tune's, for sorting */
};

/* An entry that was tried on the changed copies of the trace, and what came of it. */
struct tune_finalist {
    size_t   entry;
    unsigned runs;                   /* copies of which it serves every request */
    unsigned beats;                  /* of these, copies on which it is better than the baseline (tune_copy.beats) */
    unsigned lasted;                 /* turns that it lasts beyond the recording (tune.pattern) */
    bool     runs_filled;            /* it serves every request of the filled-in recording; true if there is none */
    uint64_t smallest_bytes;         /* the smallest card on which it runs the recording; 0: none was found */
    uint64_t time_ns;                /* modelled driver time there */
};

/* What may be said of the winner. */
enum tune_advice {
    TUNE_NOTHING,                    /* no entry runs, or none does better than the baseline */
    TUNE_HERE_ONLY,                  /* it does better on the recording, but not in most copies */
    TUNE_SERVES_REFUSED,             /* it serves the request that was refused when recorded; but whether it would get
                                      * the program through is not on record (tune.is_judged) */
    TUNE_DELAYS_LEAK,                /* likewise, but the program leaks: no setting is recommended */
    TUNE_WITH_CAUTION,               /* it saves a recording that runs out of memory, but few of its copies */
    TUNE_RECOMMENDED,
};

/* The finalists on a changed copy of the trace. */
struct tune_copy {
    uint64_t seed;
    unsigned rounds;                 /* how often the trace is repeated in it */
    struct trial trials[TUNE_FINALISTS + 1];     /* of the finalists, then of the baseline */
    bool     beats[TUNE_FINALISTS];  /* whether a finalist is better than the baseline, on a card halfway between the
                                      * smallest ones of both, or on the finalist's if that is the larger one. If the
                                      * baseline does not run the recording: on the card that is asked about */
    bool     runs;                   /* the winner serves every request of it; */
    bool     beats_baseline;         /* is better there than the baseline; */
    bool     wins;                   /* and no finalist is better there */
};

/* Of a setting that serves the refused request with which the recording ends. */
#define TUNE_SERVED_WORDS "With this setting the refused request is served; what follows was not recorded"

struct tune {
    struct pytorch_rules rules;
    enum platform      platform;                 /* where the settings are to work: named, recorded, or Linux */
    struct bounds      bounds;
    struct coverage    coverage;                 /* of the recording */
    struct first_step  first;                    /* likewise; not looked at for a cure or the baseline alone */
    struct words       leak;                     /* likewise: what is said of a leak; empty: none */
    uint64_t           usable_bytes;             /* of the card, without context and others; DEVICE_UNLIMITED */
    struct tune_entry  baseline;                 /* the recorded settings; `settings` is not filled in */
    bool               is_baseline_recorded;     /* else the release's defaults: the recorded settings are not known, or
                                                  * mean nothing to the release asked for */
    uint64_t           price_bytes_per_ms;       /* of driver time (report/rows/winner.h) */
    uint64_t           least_gain_bytes;         /* a gain below it does not matter: winner_margin */
    struct tune_entry *entries;                  /* best first, by their peak of the card on the recording */
    size_t             n_entries;
    bool               is_judged;                /* the recording tells what follows a setting: it is whole, or whole
                                                  * steps of it reach over the place where it was cut */
    size_t             winner;                   /* the entry that wins among the finalists; without any the first */
    size_t             rival;                    /* the finalist of one option, or that is a part of the winner, that
                                                  * needs less on the recording, but failed otherwise; SIZE_MAX: none */
    enum tune_advice   advice;
    struct holes       holes_before, holes_after;    /* at `holes_event`; filled in if a setting is recommended */
    uint64_t           holes_event;              /* events before it */
    struct tune_copy   copies[TUNE_COPIES];      /* filled in if an entry runs */
    size_t             n_copies;
    struct tune_finalist finalists[TUNE_FINALISTS + 1];      /* by rank: the best entries, their parts, each option
                                                  * alone and the defaults; then the baseline, which has no entry */
    size_t             n_finalists;              /* without it */
    struct fit         fits[TUNE_FITS];          /* if no entry runs: smallest cards, ascending, of the entries that
                                                  * got farthest */
    size_t             fit_entries[TUNE_FITS];   /* the entries of `fits` */
    size_t             n_fits;
    struct pattern     pattern;      /* by which the recording is played on; no turns: it is not, or nothing is refused
                                      * under the recorded settings */
    struct filled_step filled;       /* under the recorded settings; the setting is the winner */
};

/* What it does first, and then: it reads the trace, looks for the least memory possible, replays. */
enum tune_stage { TUNE_READING, TUNE_PLANNING, TUNE_REPLAYING };

struct tune_request {
    const char *release;             /* as pytorch_rules_find takes it; NULL: the recorded one, else the newest */
    uint64_t    seed;                /* of the changed copies */
    uint64_t    price_bytes_per_ms;
    bool        only_cure;           /* search only where a setting can cure something: the baseline is refused a
                                      * request that would fit. Else there are no entries, and the advice is
                                      * TUNE_NOTHING. */
    bool        only_baseline;       /* search nothing: there are no entries */
    void      (*stage)(void *arg, enum tune_stage stage);    /* told as one begins; NULL: nobody is */
    void       *stage_arg;
};

/* Searches. Close *out with tune_close, also after an error. ERR_USAGE for an unknown release; errors of the parts. */
MUST_USE enum err tune_run(struct trace_reader *trace, const struct device_choice *device,
                           const struct tune_request *asked, const struct replay_config *cfg, struct tune *out,
                           struct err_detail *err);
void tune_close(struct tune *t);

/* Whether the program may need more than the recording shows: every figure is a lower bound then. */
bool tune_is_lower_bound(const struct tune *t);

/* Whether a setting that serves the refused request may be given to paste: the program came through its first step, or
 * there is far to go until live data fills the card. */
bool tune_may_serve(const struct tune *t);

/* So much of the card, in thirds, may be live in the first step, and a setting still be worth a try. */
enum { TUNE_FAR_THIRDS = 2 };

/* What the copies and the smallest card say of an entry; NULL: it is no finalist. */
const struct tune_finalist *tune_finalist_of(const struct tune *t, size_t entry);

/* Whether the winner is recommended for another run. */
bool tune_recommends(const struct tune *t);

/* Below 0 if `a` is better: no refusal comes first, else the later refusal; then the lower score, of the peak of the
 * card. 0: equally good. */
int trial_compare(const struct trial *a, const struct trial *b, uint64_t price_bytes_per_ms);

#endif
