/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * The recording that a log says was written: "Saved memory snapshot to oom_rank0.pickle". It tells more than the log.
 */
#ifndef REPLAY_REPLAY_WHY_LOG_RECORDING_H
#define REPLAY_REPLAY_WHY_LOG_RECORDING_H

#include <stdbool.h>
#include <stddef.h>

enum { LOG_RECORDING_NAME = 256 };

struct log_recording {
    char name[LOG_RECORDING_NAME];   /* the last file named that may be one, without its folders; "": none */
    bool is_told;                    /* its line speaks of a snapshot or a recording, so it is one */
};

/* Names end in .pickle, .pkl or .zst, and begin with a letter or a digit. One in .driver.zst is not taken: the one
 * beside it tells more. */
struct log_recording log_recording_find(const char *bytes, size_t n);

#endif
