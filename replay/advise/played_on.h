/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * For how long settings last: the recording is played on by its own pattern, for as long again as it is.
 *
 * A turn is the last whole step, played again and again, or else the recording's later half, twice; what a program
 * frees after the refusal that ended it is no part of that. What a turn leaves behind stays (continued_trace.h).
 * Without whole steps live memory must have come down again twice: otherwise nothing tells that the program does
 * anything a second time. And the request that ended the program must be of a part that the turns have shown: of one
 * that had just begun, such as a file that is loaded, they tell nothing (new_part.h). Nor do turns in which the
 * program caught a refused request: it may be served under another setting, and then the turn goes another way.
 *
 * What is played may leave out what comes again: what lies between steps, such as a validation, or in a half the rest
 * of a turn that needs far more than any before. Then it is told if it does not last, and nothing if it does.
 */
#ifndef REPLAY_REPLAY_ADVISE_PLAYED_ON_H
#define REPLAY_REPLAY_ADVISE_PLAYED_ON_H

#include "replay/recording/coverage.h"
#include "replay/trials/continued_trace.h"
#include "replay/trials/trial_runs.h"
#include "report/text/text.h"

/* A recording is played on by so many turns at most. */
enum { PLAYED_ON_MOST = 64 };

struct pattern {
    bool     by_steps;               /* a turn is the last whole step; otherwise the later half */
    bool     leaves_out;             /* the program does more than is played: that it lasts tells nothing */
    unsigned turns;                  /* played beyond the recording; 0: it cannot be played on */
    struct continuation how;
};

/* `moment`: the event at which a request was refused. A recording with controls cannot be played on: captures and pools
 * cannot be made again. ERR_HOST_NOMEM, the reader's errors. */
MUST_USE enum err pattern_find(struct trace_reader *trace, const struct coverage *coverage, uint64_t moment,
                               struct pattern *out, struct err_detail *err);

/* Plays the recording on under each of n trials; lasted[i]: the turns that ran. Needs turns. Errors as of trials_run
 * and trace_continue. */
MUST_USE enum err pattern_play(struct trace_reader *trace, const struct pattern *pattern, struct trial *trials,
                               size_t n, const struct device_ops *ops, const struct replay_config *cfg,
                               unsigned *lasted, struct err_detail *err);

/* A later half that does not last tells nothing: what it leaves behind may be a memory that fills once. Nor does what
 * lasts and leaves something out. */
bool pattern_tells(const struct pattern *pattern, unsigned lasted);

/* "Played on by its own pattern (its later half twice more) the recording runs under this setting for as long again."
 * Or that it runs out of memory again, and when; or that nothing tells it. */
void pattern_say(struct words *w, const struct pattern *pattern, unsigned lasted);

#endif
