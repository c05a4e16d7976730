/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/* What the simulated card tells of a predicted program's lines: which branched on a value of the card that is not
 * computed, which asked for a size that depends on such values, which looked at its free memory,
 * and whose loops it ended. */
#ifndef REPLAY_DRYRUN_UNKNOWN_BRANCHES_H
#define REPLAY_DRYRUN_UNKNOWN_BRANCHES_H

#include "base/err.h"
#include "report/text/text.h"

enum { BRANCHES_SHOWN = 3, BRANCH_PLACE = 256,
       LOOP_LOOKS = 200 };           /* LOOKS_MOST in cudasim/python/replay_values.py */

struct unknown_branches {
    char     places[BRANCHES_SHOWN][BRANCH_PLACE];       /* the first ones, as FILE:LINE; foreign */
    unsigned n;                                      /* all of them */
    char     sizes[BRANCHES_SHOWN][BRANCH_PLACE];    /* the first lines whose size is not known; foreign */
    unsigned n_sizes;                                /* all of them */
    unsigned n_nothing;                              /* of these nothing is assumed, and zeros were taken */
    char     loops[BRANCHES_SHOWN][BRANCH_PLACE];    /* the first that got another answer to end their loop; foreign */
    unsigned n_loops;                                /* all of them: how often they turn is not known */
    char     looked_at_memory[BRANCH_PLACE];             /* the first line that did; foreign. "": none */
};

/* Reads what the simulated card told in the program's output (cudasim/python/replay_values.py). ERR_IO, ERR_HOST_NOMEM:
 * the log cannot be read, and nobody knows whether the program branched. */
MUST_USE enum err unknown_branches_read(const char *log, struct unknown_branches *out, struct err_detail *err);

/* One sentence; nothing if there is none. The second is of the sizes, without its full stop. */
void unknown_branches_say(struct words *w, const struct unknown_branches *b);
/* Of the lines whose size is not known, those that are named. */
unsigned unknown_sizes_shown(const struct unknown_branches *b);
void unknown_sizes_say(struct words *w, const struct unknown_branches *b);
/* Of the lines whose loops were ended, those that are named; what that means for a peak; how a verdict ends by it. */
unsigned ended_loops_shown(const struct unknown_branches *b);
void ended_loops_say(struct words *w, const struct unknown_branches *b);
void ended_loops_limit(struct words *w, const struct unknown_branches *b);

#endif
