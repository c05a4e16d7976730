/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * A thread that fills the places of a ring ahead of its owner, who takes them one after the other.
 *
 *     place      0        1        2        3
 *              lent     filled   filled   being filled       n_places = 4
 *              to the   (ready to be      by the thread
 *              owner     taken)
 *
 * The thread stops when all places but the lent one are filled, and while it rests.
 */
#ifndef REPLAY_BASE_PRODUCER_H
#define REPLAY_BASE_PRODUCER_H

#include <stdbool.h>

struct producer;

/* Fills a place; called in the thread. False if this is the last one. */
typedef bool (*producer_fill)(void *arg, unsigned place);

/* Starts a producer, at rest, with `n_places` >= 2 places 0, 1, ... The owner may use the place taken last until it
 * takes the next. NULL if there is no memory or no thread. */
struct producer *producer_start(unsigned n_places, producer_fill fill, void *arg);

/* Waits for the next filled place, and lets the thread go on. False after the last one. */
bool producer_take(struct producer *p, unsigned *place);

/* Stops the filling until the next producer_take, and waits for a place being filled. Until then the owner may read
 * what the thread wrote. NULL is accepted. */
void producer_rest(struct producer *p);

/* The same, and drops the filled places: the next place taken starts anew. NULL is accepted. */
void producer_begin_anew(struct producer *p);

/* Ends the thread after the place it is filling, and frees the producer. NULL is accepted. */
void producer_stop(struct producer *p);

#endif
