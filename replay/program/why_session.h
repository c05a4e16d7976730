/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/* What `why` was given: a recording, the text of an error, or several files of which the worst is answered. */
#ifndef REPLAY_REPLAY_PROGRAM_WHY_SESSION_H
#define REPLAY_REPLAY_PROGRAM_WHY_SESSION_H

#include "replay/program/cli.h"

#include "replay/results/result.h"
#include "replay/sweep/sweep_inputs.h"
#include "replay/why/log_answer.h"
#include "replay/why/log_recording.h"

#include <limits.h>

/* Everything the command holds. Zero is valid: why_session_close accepts it. */
struct why_session {
    const struct options *options;
    struct sweep_inputs   files;             /* several, or those of a folder: ranks, restarts; none: one was given */
    size_t                chosen;            /* the one of them that is answered */
    uint64_t             *reserved_bytes;    /* of each that is a recording of PyTorch's, at most; 0: not known */
    const char          **said;              /* of each, in a word; NULL: it holds nothing to answer */
    char                  spooled[32];       /* name of a copy of the input; "": none */
    int                   spool;             /* the copy */
    const char           *path;              /* of what is read */
    char                  beside[PATH_MAX];  /* read in place of the driver's calls that were named; "": nothing is */
    struct trace_reader  *trace;             /* NULL: the file is a text */
    bool                  is_state;          /* it holds a final state only */
    struct log_answer     log;
    struct log_recording  named;             /* by the log */
    bool                  is_named_read;     /* it lay beside the log, and is answered in its place */
    struct device_choice  device;
    struct why            answer;
};

/* Opens the chosen file, or the only one: as a recording, or as a log from which the text is taken. ERR_FORMAT if it is
 * neither; ERR_INPUT. */
MUST_USE enum err why_session_open(struct why_session *s, struct err_detail *err);
void why_session_close(struct why_session *s);

/* Calls to the driver do not tell what of a segment is live. PyTorch's own requests of the same run may lie beside
 * them, as run-sim and record --torch leave them: run.driver.zst and run.zst. "": they do not. */
void why_session_find_requests(const char *path, char beside[PATH_MAX]);

/* Several files, or a folder, are the ranks and restarts of one run: one answer is given, of the worst. Chooses it.
 * ERR_FORMAT if none has anything to answer. */
MUST_USE enum err why_files_take(struct why_session *s, struct err_detail *err);

/* Says which of several files the answer is about, and what the others hold. */
void why_files_print(const struct why_session *s);

#endif
