/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * Other choices than those that a server's words make, each tried by a start of its own on the same card: shares of the
 * card up to the least and the most that start, a cache of 8 bits, fewer graphs, none, a shorter request.
 */
#ifndef REPLAY_DRYRUN_SERVED_TRIES_H
#define REPLAY_DRYRUN_SERVED_TRIES_H

#include "dryrun/served_run.h"

/* Reads s->asked.range. ERR_USAGE also if the program takes no options of a server's. */
MUST_USE enum err served_read_range(struct served *s, struct err_detail *err);

/* Adds start->tries: what start->least_tried and most_tried follow from, if s->asked.tries, and the values of a range
 * that start->largest follows from. Nothing is tried of a program that takes no options of a server's, or whose first
 * start could not be told. */
MUST_USE enum err served_try(struct served *s, struct served_place *place, struct served_start *start,
                             struct err_detail *err);

/* The first choice that was tried whose option is this, not counting values of a range; NULL: none. */
const struct served_start *served_try_of(const struct served_start *start, const char *option);

/* The try of this option with this value, or the first start if it has the value anyway; NULL: none. */
const struct served_start *served_try_with(const struct served_start *start, const char *option, const char *value);

#endif
