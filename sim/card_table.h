/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * The table of cards and of their contexts: what cards.csv and contexts.csv say, which are part of the program, and
 * what a file of the user's adds to them. Lines begin with what they are:
 *
 *     # anything
 *     card,NAME,TITLE,MEMORY,NVIDIA-SMI,CAPABILITY,MULTIPROCESSORS,L2 KiB,BUS BITS,CLOCK MHz,MEMORY CLOCK MHz,SOURCE
 *     often,...                        as card: one of those that advice and default cards are chosen from
 *     context,CARD or CAPABILITY,TYPICAL,LARGEST SEEN,SOURCE
 *     kind,...                         names of columns, for people
 *
 * MEMORY and the like are sizes ("85028896768", "81559MiB"). A field with commas stands in quotes; "" in it is a quote.
 */
#ifndef REPLAY_SIM_CARD_TABLE_H
#define REPLAY_SIM_CARD_TABLE_H

#include "base/err.h"
#include "sim/card_context.h"
#include "sim/cards.h"

enum { CARDS_MOST = 512, CONTEXTS_MOST = 256, CARD_TEXT_MOST = 1 << 16, CARD_FILE_MOST = 1 << 15 };

struct card_table {
    struct device_model cards[CARDS_MOST];           /* ascending by memory; of equal ones the earlier row first */
    struct card_context contexts[CONTEXTS_MOST];
    size_t n_cards, n_contexts, n_text;
    char   text[CARD_TEXT_MOST];                     /* what names, titles and sources point to */
};

/* Adds the rows of bytes[0, n). A row of a name that is there takes its place. ERR_FORMAT, with the line's number as
 * offset and "FILE:LINE: ..." as text; rows before that line have been added. */
MUST_USE enum err card_table_read(struct card_table *t, const char *file, const char *bytes, size_t n,
                                  struct err_detail *err);

/* The program's own table. */
const struct card_table *card_table(void);

#endif
