/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * Who holds a card's memory, as a table beside an error shows it: nvidia-smi (its table, -q, and --format=csv with its
 * header), nvitop, gpustat, rocm-smi. An error without figures leaves open whether the program itself or others filled
 * the card, and people paste such a table to show it.
 */
#ifndef REPLAY_REPLAY_WHY_SMI_TABLE_H
#define REPLAY_REPLAY_WHY_SMI_TABLE_H

#include "replay/recording/platform.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

enum { SMI_TABLE_CARDS = 16, SMI_TABLE_PROCESSES = 32, SMI_TABLE_NAME = 40 };

struct card_row {
    unsigned index;
    uint64_t used, total;            /* bytes; total 0: not told */
};

struct card_process {
    unsigned card;
    uint64_t id, bytes;              /* bytes 0: the table does not tell, as on Windows */
    bool is_own;                     /* its id stands in the log as that of a process of the program */
    char name[SMI_TABLE_NAME];      /* or its user, whichever the table tells */
};

/* What the last table of a log shows. */
struct smi_table {
    struct card_row cards[SMI_TABLE_CARDS];
    size_t n_cards;
    struct card_process processes[SMI_TABLE_PROCESSES];
    size_t n_processes;
    uint64_t line;                   /* of its last row; 0: the log has none */
};

enum card_holder { CARD_HOLDER_UNKNOWN, CARD_HOLDER_OTHERS, CARD_HOLDER_ITSELF, CARD_HOLDER_NOBODY };

struct card_held {
    enum card_holder holder;         /* who holds most of the card that was asked; NOBODY: it is nearly empty */
    struct card_row card;
    uint64_t others;                 /* bytes that are not the program's */
    size_t biggest;                  /* of table->processes, the largest of others; n_processes: none is listed */
    bool has_empty;                  /* another card of the table is nearly empty */
    unsigned empty;
};

/* Reads text[0, n) line by line. `at`: where the error stands. */
void smi_table_read(const char *text, size_t n, size_t at, struct smi_table *out, struct card_held *held);

/* What the table tells, as an item of an answer; nothing if it tells nothing. */
void smi_table_print(FILE *out, const struct smi_table *t, const struct card_held *held, enum platform p);

#endif
