/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * Errors of memory in words that no form knows: a line that speaks of a shortage and of memory, where a program names
 * an error. Asked only if nothing else was found.
 */
#ifndef REPLAY_REPLAY_WHY_LOG_LOOSE_H
#define REPLAY_REPLAY_WHY_LOG_LOOSE_H

#include <stdbool.h>
#include <stddef.h>

enum log_loose_whose { LOOSE_NONE, LOOSE_UNTOLD, LOOSE_CARD, LOOSE_HOST };

/* The last such line of text[0, n), and where it begins. */
enum log_loose_whose log_loose_find(const char *text, size_t n, size_t *at);

#endif
