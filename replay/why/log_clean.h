/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * A log as people have it, made plain: UTF-16 of PowerShell, colours of a terminal, docker's JSON around each line, a
 * frame of bars around the text.
 * Lines stay lines, so that their numbers stay true.
 */
#ifndef REPLAY_REPLAY_WHY_LOG_CLEAN_H
#define REPLAY_REPLAY_WHY_LOG_CLEAN_H

#include <stdbool.h>
#include <stddef.h>

/* What was around the text, which tells where it was written. */
struct log_dress {
    bool is_utf16, is_docker;
};

/* Works in place, and never makes the text longer. Returns its new length. */
size_t log_clean(char *bytes, size_t n, struct log_dress *dress);

#endif
