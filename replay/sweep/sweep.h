/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * A sweep runs every trace through every policy on every card and writes the results to a database. Runs that the
 * database has already are skipped.
 */
#ifndef REPLAY_REPLAY_SWEEP_SWEEP_H
#define REPLAY_REPLAY_SWEEP_SWEEP_H

#include "import/import.h"
#include "replay/trials/equal_runs.h"
#include "replay/sweep/expand.h"
#include "replay/sweep/sweep_copies.h"
#include "replay/sweep/sweep_inputs.h"
#include "report/rows/results_db.h"

#include <signal.h>

/* Most runs in one part. */
enum { SWEEP_PART_MAX = EQUAL_RUNS_MAX };

/* Some missing runs of one trace: the unit of work of a process. */
struct sweep_part {
    size_t    input;
    char      digest[SHA256_HEX];    /* of its file */
    uint32_t *runs;                  /* n numbers among the trace's runs; valid until the next part */
    size_t    n;                     /* 0: no work is left */
};

/* The request. All texts and lists are borrowed until sweep_close. */
struct sweep_request {
    const char *const *inputs;       /* trace files, and folders of them */
    size_t             n_inputs;
    const char *const *policies;     /* as typed, braces and all */
    size_t             n_policies;
    bool               has_default_policies;         /* nobody named any: each trace also runs what everybody can choose
                                                      * where it was recorded; a release that lacks one is no fault */
    const char *const *devices;      /* the same; none: "sim" */
    size_t             n_devices;
    struct sweep_copies copies;      /* each trace also runs on these */
    const char        *from;         /* an importer's name; NULL: recognise each file's format */
    struct import_config import;
    enum oom_action    on_oom;
    enum start_mode    start;
    unsigned           threads;      /* 0: one per core */
    const uint64_t    *price_bytes_per_ms;           /* for the database to compare at (winner.h); NULL: as it is */
    uint64_t           shard, n_shards;              /* 1 <= shard <= n_shards; both 0: the whole sweep. Files are
                                                      * dealt first; then a file's copies, then policies */
};

struct sweep {
    struct sweep_request  asked;
    struct sweep_inputs   inputs;
    struct expansion      policies, devices;         /* all parsed once, so all are valid */
    struct results_db    *db;
    struct report_lines   complaints;                /* so far, none twice */

    /* Called now and then: the current trace (from 0), the share of the work that is done, 0 to 1. May be NULL. */
    void (*progress)(void *arg, size_t input, double done);
    /* Called before that, while the trace is read: so much of so many; 0 done: it begins. May be NULL. */
    void (*reading)(void *arg, size_t input, uint64_t done, uint64_t total);
    void (*complain)(void *arg, const char *text);   /* which trace or run was left out, and why; may be NULL */
    void  *arg;
    const struct results_db_watch *watch;            /* of its database; NULL: none */
    const volatile sig_atomic_t *interrupted;        /* not 0: the sweep ends and drops unfinished runs; NULL: never */

    /* Out. */
    uint64_t n_runs, n_done_before, n_finished;      /* of this shard; there already; written now */
    uint64_t n_repeated;                             /* of n_finished: not replayed, because an equal run answered */
    uint64_t n_unopened;                             /* of n_runs: their traces could not be opened */
    uint64_t n_wrong;                                /* of n_finished and n_done_before: ended in an error, or failed
                                                      * the audit */
    uint64_t n_left_out;                             /* traces and runs that could not begin */
    uint64_t n_lacking;                              /* runs of a default policy that the recorded release refuses */
    uint64_t n_no_traces;                            /* files in folders that are no traces */
    enum err host_error;                             /* ERR_HOST_NOMEM or ERR_IO: not only inputs failed, but the
                                                      * host did */
    double   bytes_done, bytes_total;                /* of trace files: the unit of progress */

    /* The sweep's own. */
    size_t    n_choices;                             /* the first so many policies are those of platforms */
    bool      needs_sites;                           /* a policy is told call stacks */
    struct sweep_trace *open;                        /* the current trace */
    size_t    next_input;                            /* the first input not looked at yet */
    char      digest[SHA256_HEX];                    /* of the input before it, */
    const char *digest_of;           /* whose path this is; NULL: none was read */
    uint32_t *missing;                               /* missing runs of that input, in order */
    size_t    n_missing, next_missing;
};

/* Expands policies and devices and finds the traces. expand's, policy_spec_parse's and device_parse's errors, with the
 * policy, device or input of `asked` that is wrong in *culprit; NULL there: none of them is. `culprit` may be NULL. */
MUST_USE enum err sweep_open(const struct sweep_request *asked, struct sweep *out, const char **culprit,
                             struct err_detail *err);
void sweep_close(struct sweep *s);

/* All runs of the sweep or of this shard, done or not, without those of traces known to be unreadable. */
uint64_t sweep_count_runs(const struct sweep *s);

/* Opens the database, which must exist if `is_resumed`, and runs what is missing. A trace or a run that cannot begin is
 * reported to `complain` and left out. Errors of the database end the sweep; so does ERR_INTERRUPTED. */
MUST_USE enum err sweep_run(struct sweep *s, const char *path, bool is_resumed, struct err_detail *err);

/* The same in steps, for several processes. Opens the database. */
MUST_USE enum err sweep_begin(struct sweep *s, const char *path, bool is_resumed, struct err_detail *err);

/* The next part: one of n_shares shares of a trace's missing runs, so that n_shares processes have work. */
MUST_USE enum err sweep_next_part(struct sweep *s, size_t n_shares, struct sweep_part *out, struct err_detail *err);

/* Runs a part and writes the results; leaves out traces and runs as sweep_run does. */
MUST_USE enum err sweep_run_part(struct sweep *s, const struct sweep_part *part, struct err_detail *err);

/* Notes an error in host_error, if it is the host's. No memory says more than any other. */
void sweep_note_host_error(struct sweep *s, enum err e);

/* Counts a part as done, for the progress. */
void sweep_part_done(struct sweep *s, const struct sweep_part *part);

#endif
