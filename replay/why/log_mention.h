/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * Whether words about memory stand in a text as an error of a program does, or are only mentioned: as a key, as the
 * name of a file, in source code, in an answer to a question.
 */
#ifndef REPLAY_REPLAY_WHY_LOG_MENTION_H
#define REPLAY_REPLAY_WHY_LOG_MENTION_H

#include <stdbool.h>
#include <stddef.h>

/* How the place of words is looked at. */
enum log_mention_test {
    LOG_MENTION_LINE,                /* their line only: figures stand with them */
    LOG_MENTION_QUOTES,              /* and whether they are quoted */
    LOG_MENTION_MESSAGE,             /* and whether a message can begin with them */
};

/* The words are text[at, end). */
bool log_is_mention(const char *text, size_t n, size_t at, size_t end, enum log_mention_test test);

#endif
