/*
 * Where the memory of a recorded program was when the recording ended, as the recording itself says. That needs no
 * events: a snapshot of a program that kept no history tells as much.
 */
#ifndef REPLAY_REPLAY_RESULTS_FINAL_STATE_H
#define REPLAY_REPLAY_RESULTS_FINAL_STATE_H

#include "import/import.h"
#include "replay/engine/explain_run.h"
#include "replay/results/single_run.h"

/* Zero is a valid beginning and end. Not moved in memory between final_state_open and final_state_close. */
struct final_state {
    struct trace_reader *trace;      /* that starts from it and has no events */
    struct single_run    run;
    struct explain_run   explain;
};

/* Reads the file once more, for its final state only; arguments as for trace_open_any. ERR_USAGE and ERR_UNSUPPORTED for
 * a file that has none; ERR_CORRUPT for one that contradicts itself; the errors of reading it; ERR_HOST_NOMEM. */
MUST_USE enum err final_state_open(struct final_state *s, const char *path, const char *from,
                                   const struct import_config *cfg, struct err_detail *why);
void final_state_close(struct final_state *s);

/* The account of every reserved byte; the card's part of it is left out. */
const struct explanation *final_state_account(const struct final_state *s);

#endif
