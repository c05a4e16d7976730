/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * A step that a refused request cut, filled in from the step before it.
 *
 *     | step | step | A B C D E F | A B C x       recorded: D was refused
 *                         | D E F |
 *     | step | step | A B C D E F | A B C D E F A B C ...       filled in
 *
 * What is put in was not recorded. It is what the program would do if the step went on as the one before, and then
 * began the next: one whole period from the refused request on. So an answer from it stands beside the lower bound,
 * labelled, and never in place of it.
 */
#ifndef REPLAY_REPLAY_ADVISE_FILLED_STEP_H
#define REPLAY_REPLAY_ADVISE_FILLED_STEP_H

#include "replay/recording/coverage.h"
#include "report/text/json_writer.h"
#include "report/text/text.h"

/* Opens the filled-in trace in memory. *out is NULL if the step cannot be filled in: the recording does not end with a
 * refused request, has no two whole steps that are equal, or the cut step or the refused request differs from them.
 * ERR_HOST_NOMEM; the reader's and writer's errors. */
MUST_USE enum err filled_step_open(struct trace_reader *trace, const struct coverage *c, struct trace_reader **out,
                                   struct err_detail *err);

/* The recording up to the end of its last whole step, and that step so many times more: what the program would do if it
 * went on. *out is NULL if its steps are not found by repetition, or the last two differ. Errors as above. */
MUST_USE enum err repeated_step_open(struct trace_reader *trace, const struct steps *steps, unsigned times,
                                     struct trace_reader **out, struct err_detail *err);

/* What the recording would need then. */
struct filled_step {
    bool     is_known;               /* false: the step cannot be filled in, and nothing below holds */
    uint64_t live_bytes;             /* at its peak */
    uint64_t smallest_bytes;         /* the smallest card for it; 0: none was found */
    bool     has_setting;            /* there is a setting to say it of: */
    bool     runs_with_setting;      /* that setting runs it on the card that is asked about */
};

/* One sentence: what n policies need, each called `whose[i]`, and whether `setting` runs it (NULL: there is none).
 * `leaks`: every step leaves something live, so the card lasts until the next one only. */
void filled_step_say(struct words *w, const struct filled_step *f, const char *const *whose, size_t n, bool leaks,
                     const char *setting);

/* The members of answers/filled_step.def. */
void filled_step_json(struct json_writer *json, const struct filled_step *f);

#endif
