/*
 * A sweep: every trace through every policy on every card, results to a database; what is there already is skipped.
 */
#ifndef REPLAY_REPLAY_SWEEP_H
#define REPLAY_REPLAY_SWEEP_H

#include "replay/expand.h"
#include "replay/options.h"
#include "replay/sweep_inputs.h"
#include "report/results_db.h"

struct sweep {
    const struct options *options;
    struct sweep_inputs   inputs;
    struct expansion      policies, devices;         /* parsed once: every one is valid */
    struct results_db    *db;
    struct report_lines   complaints;                /* so far, each once */

    /* Called now and then: the trace under way (from 0), the share of the work that is done, 0 to 1. May be NULL. */
    void (*progress)(void *arg, size_t input, double done);
    void (*complain)(void *arg, const char *text);   /* a trace or run that was left out, and why; may be NULL */
    void  *arg;

    /* Out. */
    uint64_t n_runs, n_done_before, n_finished;      /* of this part; there already; written now */
    uint64_t n_wrong;                                /* ended in an error or failed the audit */
    uint64_t n_left_out;                             /* traces and runs that could not be begun */
    uint64_t n_no_traces;                            /* files found in folders that are no traces */
    bool     is_out_of_memory;                       /* the host's, on the way */
    double   bytes_done, bytes_total;                /* of trace files: what progress is measured in */
};

/* Expands policies and devices and finds the traces. expand's, policy_spec_parse's and device_parse's errors. */
MUST_USE enum err sweep_open(const struct options *o, struct sweep *out, struct err_detail *why);

/* Opens the database and runs what is missing. A trace or a run that cannot be begun is complained about and left out;
 * the database's errors end the sweep. */
MUST_USE enum err sweep_run(struct sweep *s, struct err_detail *why);
void sweep_close(struct sweep *s);

#endif
