/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/* The smallest card for each of several policies, and which of them serves best. */
#ifndef REPLAY_REPLAY_ADVISE_FIT_ANSWER_H
#define REPLAY_REPLAY_ADVISE_FIT_ANSWER_H

#include "replay/advise/filled_step.h"
#include "replay/advise/fit.h"
#include "replay/plan/bounds.h"
#include "replay/recording/coverage.h"
#include "replay/recording/first_step.h"
#include "replay/recording/growth_say.h"
#include "replay/recording/recorded_platform.h"
#include "report/rows/winner.h"

#include <stdio.h>

struct fit_request {
    const char *const *policies;                 /* as typed; none: the recorded settings, or all of
                                                  * platform_policies for requests to XLA's allocator */
    size_t             n_policies;
    const char        *device;                   /* as after --device; NULL: none was named */
    enum platform      system;                   /* PLATFORM_UNKNOWN: not named */
    uint64_t           price_bytes_per_ms;       /* report/rows/winner.h */
};

/* Zero is valid: fit_answer_close accepts it. */
struct fit_answer {
    struct fit_request    asked;                 /* what it points to is borrowed, as is the trace */
    struct trace_reader  *trace;
    struct device_choice  device;
    struct bounds         bounds;
    struct coverage       coverage;
    struct first_step     first;
    struct words          leak;                  /* what is said of a leak, which no card cures; empty: none */
    struct policy_spec   *specs;
    struct fit           *fits;
    struct filled_step   *filled;                /* by policy: if the cut step goes on as the one before */
    size_t                n;
    const char           *card_name;             /* of the card on which they compare; NULL: it has none */
    struct contender     *contenders;            /* the policies there */
    size_t                best;                  /* of these; WINNER_NONE: no policy runs on any card tried */
    size_t                n_alike;
};

/* Close *out with fit_answer_close, also after an error. Errors: policy_spec_parse's, device_choose_for_advice's,
 * trials_run's. */
MUST_USE enum err fit_answer_find(struct trace_reader *trace, const struct fit_request *asked,
                                  const struct replay_config *cfg, struct fit_answer *out, struct err_detail *err);
void fit_answer_close(struct fit_answer *s);

/* Whether the program may need more than the recording shows: every figure is a lower bound then. */
bool fit_is_lower_bound(const struct fit_answer *s);

/* The card on which policies compare, as in a sweep: the one given, or else the smallest named card on which any of
 * them runs. *name: NULL if it has none. */
struct device_config fit_deciding_card(const struct fit_answer *s, const char **name);

/* `columns`: of the table; TERMINAL_ANY: as many as it needs. terminal_table_print's errors; ERR_HOST_NOMEM. */
MUST_USE enum err fit_answer_print(FILE *out, const struct fit_answer *s, size_t columns);

/* What follows its first sentence: the table and the remarks. */
MUST_USE enum err fit_answer_print_tried(FILE *out, const struct fit_answer *s, size_t columns);

/* The same as "replay-fit/1" (report/SCHEMA.md); `path`: of the recording, as typed. The stream keeps its own error. */
void fit_answer_write_json(FILE *out, const struct fit_answer *s, const char *path);

#endif
