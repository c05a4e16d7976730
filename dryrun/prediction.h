/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * What `predict` finds out: the program runs on simulated cards, and its recordings are replayed on the cards named.
 *
 * A recording is good for all cards of a class: they differ in nothing but their memory. The program runs on the
 * largest of them. If it runs out of memory there, and what it needs is asked for, it runs once more on a card that is
 * larger than any. A program that goes on after a refused request, or looks at the card's free memory, adapts to its
 * card: it runs on each card by itself. Of a range it then fits up to where nothing was refused.
 */
#ifndef REPLAY_DRYRUN_PREDICTION_H
#define REPLAY_DRYRUN_PREDICTION_H

#include "sim/card_meant.h"
#include "dryrun/jax_donation.h"
#include "dryrun/predicted_categories.h"
#include "dryrun/predicted_run.h"
#include "dryrun/named_range.h"
#include "dryrun/peak_range.h"
#include "dryrun/safe/scratch_folder.h"
#include "replay/advise/card_answer.h"
#include "replay/advise/largest_value.h"
#include "replay/advise/tune.h"

/* What is asked. Texts are as typed, and all is borrowed until prediction_close. */
struct prediction_request {
    const char *const *program;      /* a list that NULL ends; {NAME} in a word stands for a value of the range */
    size_t      n_words;             /* of the program, without the NULL */
    const char *of;                  /* which version it is, for what is said of it; NULL: there is one alone */
    const char *const *cards;        /* none: the smallest card is looked for */
    size_t      n_cards;
    const char *const *policies;     /* settings to predict with; none: the program's own */
    size_t      n_policies;
    const char *range;               /* "batch=1..256"; NULL: none */
    uint64_t    steps;               /* equal ones after which the program is stopped; 0: it runs to its end */
    uint64_t    within_s;            /* the longest that it runs */
    bool        peak_only;           /* nothing but the first row's expected peak: no range, card or setting is found */
    bool        range_only;          /* the first row's range, no card and no setting */
    bool        without_overlay;     /* the program writes to its own files */
    const char *torch_libs, *values; /* of its card (struct sim_card_request); NULL: not given */
    unsigned    threads;             /* to replay in; 0: one per core */
    uint64_t    price_bytes_per_ms;  /* of driver time, when settings are compared (report/rows/winner.h) */
    const volatile sig_atomic_t *interrupted;    /* not 0: the person wants the answer so far */
};

/* One card with one setting. */
struct predicted_row {
    const char *card;                /* as typed */
    const char *device;              /* the card that is meant, as after --device; the prediction's */
    const struct device_model *sold; /* that a size stands for (card_meant.h); NULL: none */
    const char *policy;              /* as typed; NULL: the program's own setting */
    struct largest_value largest;    /* of the range; with none, the only value is 0 */
    uint64_t value;                  /* that the figures are of: the largest that fits, else the least of the range */
    size_t   run;                    /* whose recording they are from */
    bool     is_known;               /* false: interrupted before anything was known */
    bool     fits;                   /* what was seen, at `value` and at the high end of the range */
    bool     may_fit;                /* that does not, and somewhere in the range it does */
    struct card_answer answer;       /* what is expected */
    struct peak_range range;
    bool     next_may_fit;           /* largest.fails: it does not fit, and is expected to */
};

/* One run of the program. */
struct prediction_run {
    const char *device;              /* of its class, the largest named */
    uint64_t value;
    bool     is_enlarged;            /* the card was made larger than any, */
    const char *enlarged_to;         /* to this size */
    enum run_level level;
    struct predicted_run made;
};

struct prediction {
    struct prediction_request asked;
    struct overlay overlay;
    struct scratch_folder folder;    /* of the runs and their recordings */
    bool   has_range;
    char   name[RANGE_NAME];                 /* what varies: "batch" */
    struct value_range range;
    char   default_card[32];         /* if none is named: a size alone, so that the answer is of the usual class */
    char (*devices)[CARD_BYTES];     /* the rows', by card */
    struct prediction_run *runs;
    size_t n_runs, room_runs;
    bool   showed_nothing;           /* the last run: the program failed, or asked for nothing */
    struct program_failure last_words;           /* of that run */
    struct predicted_row *rows;      /* card by card, then setting by setting; the first one speaks for all that is
                                      * said once. If no card is named, the smallest named one comes last */
    size_t n_rows;

    char   release[16];              /* of PyTorch, that the first row's recording is of; "": it is not PyTorch's */

    /* The smallest card for the least value, with the first row's setting, and of its class. The program was run on
     * the named card (smallest.card) by itself. */
    bool   has_smallest;
    struct fit smallest;
    char   named_card[96];           /* that it was run on: "rtx3070-8g,count=2" */
    char   sized_card[32];           /* JAX: the smallest one as a size, to run on; */
    bool   is_size_open;             /* it was not run there, or in vain: smallest.card alone is known */
    struct jax_need jax_need;        /* of JAX's requests; region_bytes 0: not JAX */
    struct jax_donation jax_donation;            /* of the same */
    double jax_share;                /* that JAX takes of its card */

    struct predicted_categories *categories;         /* of the first row's run; NULL: not of PyTorch's allocator */

    /* The setting that saves most on the first card. */
    bool   has_tune;
    struct tune tune;
    bool   setting_lasts;            /* what is recommended also saves if the steps go on (lasting_setting.h) */
};

/* Reads the request; runs nothing. ERR_USAGE, and the errors of overlay_open. Close it also after an error. */
MUST_USE enum err prediction_open(const struct prediction_request *request, struct prediction *p,
                                  struct err_detail *err);

/* Runs the program as often as it takes. ERR_INPUT if the program fails by itself, said with its reason. An interrupt
 * is no error: rows that are not known stay so. Errors of the parts. */
MUST_USE enum err prediction_make(struct prediction *p, struct err_detail *err);

/* Removes the recordings that were not taken elsewhere. */
void prediction_close(struct prediction *p);

/* Whether every row is known, from a run that ended by itself or showed whole steps and does not grow. */
bool prediction_is_whole(const struct prediction *p);

/* Whether all that it does fits on a row's card. */
bool prediction_row_fits(const struct predicted_row *row);

/* Whether it does not surely, and may: by its range, or because something was not seen. */
bool prediction_row_may_fit(const struct predicted_row *row);

/* Whether every row is known in this way, and fits. */
bool prediction_fits(const struct prediction *p);

/* Whether the program runs on a row's card because it adapts to it (predicted_run_adapts). */
bool prediction_row_adapts(const struct prediction *p, const struct predicted_row *row);

/* Whether a loop of its run was ended whose end depends on a value that is not computed. */
bool prediction_row_cuts_loop(const struct prediction *p, const struct predicted_row *row);

/* Whether it does not fit, and every row fits or may fit: nobody knows. */
bool prediction_is_open(const struct prediction *p);

/* About how many steps a card of a row lasts for whose run grows. */
uint64_t prediction_row_lasts(const struct prediction *p, const struct predicted_row *row);

/* The run that the first row's figures are from; NULL: none. */
const struct prediction_run *prediction_run_shown(const struct prediction *p);

#endif
