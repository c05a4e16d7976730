/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * CUDA_VISIBLE_DEVICES: which cards of the machine a process sees, and in which order. CUDA reads it when it begins.
 *
 * Programs name cards of the machine that they were written on. A number beyond those that --device gives is one more
 * card of the same kind, so a program that asks for card 3 gets one here. None are seen of an empty list, or after a
 * negative number, as in CUDA.
 */
#ifndef REPLAY_CUDASIM_CORE_VISIBLE_CARDS_H
#define REPLAY_CUDASIM_CORE_VISIBLE_CARDS_H

/* `text`: of the environment; NULL: it is not set, and all `n_cards` are seen. Puts the machine's number of each card
 * that is seen into places[0 .. most - 1], and returns how many there are. A name (GPU-..., MIG-...) is the card with
 * the number of its place in the list. */
int visible_cards_read(const char *text, int n_cards, int most, int *places);

#endif
