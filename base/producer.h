/*
 * A thread that fills the places of a ring, ahead of its owner who takes them one after the other.
 */
#ifndef REPLAY_BASE_PRODUCER_H
#define REPLAY_BASE_PRODUCER_H

#include <stdbool.h>

struct producer;

/* Fills a place, in the thread; false when nothing follows it. */
typedef bool (*producer_fill)(void *arg, unsigned place);

/* A producer at rest that has `n_places` (at least 2), called 0, 1, ...: the last one taken is its owner's until the next
 * is. NULL when there is no memory or no thread to be had. */
struct producer *producer_start(unsigned n_places, producer_fill fill, void *arg);

/* Waits for the next place; filling goes on. False: nothing follows, and nothing goes on. */
bool producer_take(struct producer *p, unsigned *place);

/* Returns when nothing is being filled; what the thread wrote is seen, and stays so until the next producer_take. NULL is
 * accepted. */
void producer_rest(struct producer *p);

/* Rests, and forgets what is filled. The next place filled is the first of something new. NULL is accepted. */
void producer_begin_anew(struct producer *p);

/* Ends the thread behind the place that it fills. NULL is accepted. */
void producer_stop(struct producer *p);

#endif
