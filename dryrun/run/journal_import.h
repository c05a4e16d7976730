/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * Makes traces of what a recorded program left in its folder: a journal of CUDA calls from each process, and snapshots
 * of PyTorch's own history or a profile of JAX's, if these were asked for.
 *
 * The two are at different levels. A snapshot says what the program asked PyTorch's or JAX's allocator for; a journal
 * says what that allocator then asked the driver for.
 */
#ifndef REPLAY_DRYRUN_RUN_JOURNAL_IMPORT_H
#define REPLAY_DRYRUN_RUN_JOURNAL_IMPORT_H

#include "base/err.h"
#include "dryrun/run/recorded_file.h"

/* Where the commands differ.
 *
 *                        record                              run-sim
 *     names end in       what OUT ends in                    .zst
 *     .PID is added      for several processes or devices    for several processes
 *     .gpuN is added     the same                            if the process used several devices
 *     snapshots          all that the hook wrote             that of the end, else the newer of the two
 *                                                            at the first out of memory and so far
 *     no calls           a message                           an error
 */
enum recording_rules {
    RECORDING_OF_RECORD,
    RECORDING_OF_RUN_SIM,
    RECORDING_OF_PREDICT,                /* as of run-sim; nothing is said of the files */
};

/* The length of the name of a recording of run-sim or predict without ".zst". */
size_t recording_stem_length(const char *name);

/* The processes that made calls. */
struct recorded_process {
    unsigned process, parent;
    char    *command;                    /* its command line, cut if it is long */
    uint64_t lost_calls;
    char    *journal;                    /* that it still writes; NULL: it has ended */
};
struct recorded_processes {
    struct recorded_process *at;
    size_t   n;
    uint64_t unrecorded_calls;           /* of processes that could not make a journal */
};

/* What was made. Zero is valid: nothing. */
struct recording_made {
    struct recorded_files     files;     /* in order */
    struct recorded_processes processes;
    bool                      is_whole;  /* no call is missing */
    bool                      was_interrupted;   /* the program was; the caller says so before */
};
void recording_made_close(struct recording_made *made);

/* Imports the journals and snapshots of a folder. One process on one device gives the trace `out`; several give names
 * made from it. Each file is named on standard error. A journal goes when it is in a trace, unless its process still
 * runs. `of`: which version of the program it is, for what is said; NULL: there is one alone. `capability`: of the
 * simulated card, "8.6"; NULL: the card is a real one. The caller closes *made, after an error, too, which then tells
 * what was made before. ERR_UNSUPPORTED if run-sim has recorded nothing; ERR_IO, ERR_HOST_NOMEM; the errors of
 * trace_import. */
MUST_USE enum err recording_import(const char *folder, const char *out, enum recording_rules rules,
                                   const char *of, const char *capability, struct recording_made *made,
                                   struct err_detail *err);

/* ERR_IO for a recording that is not whole: what a command ends with when all that there is has been written. */
MUST_USE enum err recording_check(const struct recording_made *made, struct err_detail *err);

#endif
