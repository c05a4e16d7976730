/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/* What `tune` found, told: as text and as JSON. */
#ifndef REPLAY_REPLAY_ADVISE_TUNE_ANSWER_H
#define REPLAY_REPLAY_ADVISE_TUNE_ANSWER_H

#include "replay/advise/tune.h"

#include <stdio.h>

/* All is borrowed. */
struct tune_answer {
    const char *path;                        /* of the recording, as it was typed */
    size_t      columns;                     /* of the table of trials; TERMINAL_ANY: as many as it needs */
    struct trace_reader        *trace;
    const struct device_choice *device;
    const struct tune          *tune;        /* of this trace on this device */
};

/* What to set, if anything, and why. terminal_table_print's errors. */
MUST_USE enum err tune_answer_print(FILE *out, const struct tune_answer *s);

/* The same as "replay-tune/1" (report/SCHEMA.md). The stream keeps its own error. */
void tune_answer_write_json(FILE *out, const struct tune_answer *s);

#endif
