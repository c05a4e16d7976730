/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * What a person means by "24GiB": a card sold with so much, of which no program gets all.
 *
 *     24GiB, 24GB              a10-24g          the smallest card of the list that is sold with it
 *     24GiB,count=2            a10-24g,count=2
 *     24GiB,exactly            sim:24GiB        a size alone: all of it is there
 *     sim:24GiB                as it is
 *     25GiB, 24576MiB, 8.5GiB  as it is         no card is sold with it, or nobody names a card in this way
 *     24GiB,capability=8.6     as it is         the card is described
 */
#ifndef REPLAY_SIM_CARD_MEANT_H
#define REPLAY_SIM_CARD_MEANT_H

#include "sim/cards.h"

/* The longest text of a card. */
enum { CARD_BYTES = 256 };

/* Writes the card's text as after --device; what is too long is cut. Returns the card that a size stands for; NULL: the
 * text is no size, or stands for itself. */
const struct device_model *card_meant(const char *typed, char device[static CARD_BYTES]);

#endif
