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

#include <stddef.h>

enum { CARD_UUID_BYTES = 16 };

/* `text`: of the environment; NULL: it is not set, and all `n_cards` are seen. Puts the machine's number of each card
 * that is seen into places[0 .. most - 1], and returns how many there are. A name (GPU-..., MIG-...) is the card with
 * the number of its place in the list, unless visible_card_uuid gives that name to another. */
int visible_cards_read(const char *text, int n_cards, int most, int *places);

/* The UUID of a card of the machine. It begins as `text` has it if that names the card ("GPU-6f0a"), because libraries
 * look for the name among those of all cards. Otherwise its first byte is the card's number plus one, the others 0. */
void visible_card_uuid(const char *text, int card, unsigned char uuid[static CARD_UUID_BYTES]);

/* "GPU-01000000-0000-0000-0000-000000000000", for CUDA_VISIBLE_DEVICES as it is. Returns its length, as snprintf. */
int visible_card_uuid_text(int card, char *out, size_t n);

#endif
