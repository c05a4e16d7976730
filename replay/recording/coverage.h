/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * What a recording covers: where it begins, how it ends, which requests were refused in it, and how many whole steps it
 * holds. Whatever a study says of a recording may not reach beyond this.
 */
#ifndef REPLAY_REPLAY_RECORDING_COVERAGE_H
#define REPLAY_REPLAY_RECORDING_COVERAGE_H

#include "replay/recording/steps.h"
#include "report/text/json_writer.h"
#include "report/text/text.h"

enum coverage_begin {
    BEGINS_EMPTY,                    /* nothing was allocated before the first event */
    BEGINS_MID_RUN,                  /* the recording was switched on while the program ran */
    BEGINS_CUT,                      /* earlier events were recorded and lost: the history's limit was met */
};

enum coverage_end {
    ENDS_OPEN,                       /* nothing tells what the program did next */
    ENDS_EXIT,                       /* our own recorder saw the program end */
    ENDS_REFUSED,                    /* nothing substantial follows a refused request: it ended the program */
    ENDS_INTERRUPTED,                /* our own recorder saw the program end, because a signal asked it to */
    ENDS_CUT,                        /* the file is unfinished, or the recording says that its end is missing */
};

struct coverage {
    enum coverage_begin begins;
    enum coverage_end   ends;
    uint64_t refusals;               /* requests refused when recorded */
    uint64_t survived;               /* of those, refusals after which the program went on: it requested more than a
                                      * program does that prints an error and ends, or tried again and again */
    int64_t  last_refusal;           /* the number of the last refused request in the source; -1: none */
    uint64_t refused_bytes;          /* what it asked for */
    const char *event_word;          /* what such a number counts: "record" */
    uint64_t first_of_end;           /* ENDS_REFUSED: our number of the first refusal that was not survived */
    uint64_t caught_before;          /* refusals before this event were survived, and others follow that were not
                                      * (replay_config.caught_before); 0: there are none, or all were survived */
    struct steps steps;
};

/* Steps are looked for in recordings of up to so many events; of longer ones nobody waits for it. */
#define COVERAGE_STEPS_EVENTS (UINT64_C(1) << 22)

/* Reads all events twice at most. ERR_HOST_NOMEM, the reader's errors. */
MUST_USE enum err coverage_read(struct trace_reader *trace, struct coverage *out, struct err_detail *err);

/* ERR_INPUT for a recording that ends before its first request: nothing can be said of it. One that is whole, and of a
 * program that made no request, is none. `path`: as typed. */
MUST_USE enum err coverage_check_cut(const struct trace_reader *trace, const char *path, struct err_detail *err);

/* Whether the program may have needed more than the recording shows: a request was refused, or a part is missing. What
 * a study finds is then a lower bound. */
bool coverage_is_lower_bound(const struct coverage *c);

/* Whether the recording shows at least one whole step, or the program to its end, so that a setting can be judged. */
bool coverage_has_whole_step(const struct coverage *c);

/* "empty", "mid-run", "cut" and "exit", "refused", "cut", "open". */
const char *coverage_begin_word(enum coverage_begin b);
const char *coverage_end_word(enum coverage_end e);

/* Adds the sentence for people: "The recording ends with a refused request ...". Nothing for a recording of the whole
 * program. */
void coverage_say(struct words *w, const struct coverage *c);

/* The sentence as a paragraph for a screen, and an empty line after it. */
void coverage_print(FILE *out, const struct coverage *c);

/* The same of a trace, behind its name unless that is NULL, and without the empty line. */
MUST_USE enum err coverage_tell(FILE *out, struct trace_reader *trace, const char *name, struct err_detail *err);

/* The members begins, ends, refusals, refusals_survived and whole_steps (null: nothing repeats) of the object that is
 * open in `w`. */
void coverage_json(struct json_writer *w, const struct coverage *c);

#endif
