/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/* What the simulated card tells of a predicted program's lines: which branched on a value of the card that is not
 * computed, which asked for a size that depends on such values, which looked at its free memory,
 * and whose loops it ended. */
#ifndef REPLAY_DRYRUN_UNKNOWN_BRANCHES_H
#define REPLAY_DRYRUN_UNKNOWN_BRANCHES_H

#include "base/err.h"
#include "report/text/text.h"

enum { BRANCHES_SHOWN = 3, BRANCH_PLACE = 256,
       LOOP_LOOKS = 200 };           /* LOOKS_MOST in cudasim/python/replay_values.py; fewer if a line says so */

/* Lines of the program that were told. */
struct told_lines {
    char     at[BRANCHES_SHOWN][BRANCH_PLACE];       /* the first ones, as FILE:LINE; foreign */
    unsigned n;                                      /* all of them */
};

struct unknown_branches {
    struct told_lines places;                        /* that branched */
    struct told_lines sizes;                         /* whose size is not known */
    unsigned n_nothing;                              /* of these nothing is assumed, and zeros were taken */
    struct told_lines loops;                         /* that got another answer to end their loop: how often they turn
                                                      * is not known */
    unsigned looks;                                  /* after which the first of them was */
    unsigned n_settled;                              /* of these took no more memory when they ended */
    char     looked_at_memory[BRANCH_PLACE];         /* the first line that did; foreign. "": none */
};

/* Whether a loop still took more memory when it was ended. */
bool unknown_branches_grow(const struct unknown_branches *b);

/* How many of them are named. */
unsigned told_lines_shown(const struct told_lines *t);

/* Reads what the simulated card told in the program's output (cudasim/python/replay_values.py). ERR_IO, ERR_HOST_NOMEM:
 * the log cannot be read, and nobody knows whether the program branched. */
MUST_USE enum err unknown_branches_read(const char *log, struct unknown_branches *out, struct err_detail *err);

/* One sentence; nothing if there is none. The second is of the sizes, without its full stop. */
void unknown_branches_say(struct words *w, const struct unknown_branches *b);
void unknown_sizes_say(struct words *w, const struct unknown_branches *b);
/* What loops that were ended mean for a peak; how a verdict ends by it. */
void ended_loops_say(struct words *w, const struct unknown_branches *b);
void ended_loops_limit(struct words *w, const struct unknown_branches *b);

#endif
