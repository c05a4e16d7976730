/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * Other choices than those that a server's words make, each tried by a start of its own on the same card: shares of the
 * card up to the least and the most that start, a cache of 8 bits, fewer graphs, none, a shorter request.
 */
#ifndef REPLAY_DRYRUN_SERVED_TRIES_H
#define REPLAY_DRYRUN_SERVED_TRIES_H

#include "dryrun/served_run.h"

/* Adds start->tries, and start->least_tried and most_tried. Nothing is tried of a program that takes no options of
 * vLLM's, or whose first start could not be told. */
MUST_USE enum err served_try_choices(struct served *s, struct served_place *place, struct served_start *start,
                                     struct err_detail *err);

/* The first try whose option is this; NULL: none. */
const struct served_start *served_try_of(const struct served_start *start, const char *option);

#endif
