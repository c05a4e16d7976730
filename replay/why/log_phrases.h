/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * Many phrases looked for in one pass over a log.
 *
 * In a phrase '#' stands for a number, a blank for any blanks, '^' at its begin for the begin of a line, and '$' at its
 * end for the end of one. A console or a logger may break its lines, also where the next line has its prefix.
 */
#ifndef REPLAY_REPLAY_WHY_LOG_PHRASES_H
#define REPLAY_REPLAY_WHY_LOG_PHRASES_H

#include <stdbool.h>
#include <stddef.h>

enum { LOG_PHRASES_MAX = 1024 };

/* Phrases by their first letter. */
struct log_phrases {
    const char *const *at;           /* borrowed */
    short first[256];                /* the first phrase with this letter; -1: none */
    short next[LOG_PHRASES_MAX];     /* the next one with it */
};

void log_phrases_init(struct log_phrases *p, const char *const *phrases, size_t n);

/* Whether the phrase stands at text[at]. */
bool log_phrase_is(const char *text, size_t n, size_t at, const char *phrase);

/* Calls `hit` for each phrase at each place, in the order of the text. */
void log_phrases_each(const struct log_phrases *p, const char *text, size_t n,
                      void (*hit)(void *arg, size_t phrase, size_t at), void *arg);

#endif
