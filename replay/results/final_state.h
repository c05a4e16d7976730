/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * Where a program's memory was when its recording ended, as the recording itself says. This needs no events, so a
 * snapshot without history tells it, too.
 */
#ifndef REPLAY_REPLAY_RESULTS_FINAL_STATE_H
#define REPLAY_REPLAY_RESULTS_FINAL_STATE_H

#include "import/import.h"
#include "replay/engine/explain_run.h"
#include "replay/results/single_run.h"

/* Zero is a valid beginning and end. Not moved in memory between final_state_open and final_state_close. */
struct final_state {
    struct trace_reader *trace;      /* begins with the final state and has no events */
    struct single_run    run;
    struct explain_run   explain;
};

/* Reads the final state of a file; arguments as for trace_open_any. ERR_USAGE and ERR_UNSUPPORTED if the file has none;
 * ERR_CORRUPT if it contradicts itself; the errors of reading it; ERR_HOST_NOMEM. */
MUST_USE enum err final_state_open(struct final_state *s, const char *path, const char *from,
                                   const struct import_config *cfg, struct err_detail *err);
void final_state_close(struct final_state *s);

/* The account of every reserved byte. It leaves out the card, whose size a final state does not tell. */
const struct explanation *final_state_account(const struct final_state *s);

#endif
