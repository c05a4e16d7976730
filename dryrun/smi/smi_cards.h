/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * The simulated cards of a run, and what its processes hold of them now, as their journals tell.
 */
#ifndef REPLAY_DRYRUN_SMI_SMI_CARDS_H
#define REPLAY_DRYRUN_SMI_SMI_CARDS_H

#include "base/err.h"
#include "cudasim/core/device_text.h"
#include "sim/cards.h"

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>

enum { SMI_PROCESSES_MAX = 256, SMI_NAME_BYTES = 256 };

/* A process of the run that has opened the card and still runs. */
struct smi_process {
    int      card;
    unsigned pid;
    uint64_t bytes;                  /* whole pages, its context included */
    char     name[SMI_NAME_BYTES];   /* the path of its program */
};

struct smi_cards {
    struct device_model model;       /* of all of them */
    int      n;
    bool     is_shown[CUDASIM_COUNT_MAX];
    uint64_t total_bytes;            /* what nvidia-smi shows */
    uint64_t reserved_bytes;         /* of it, the driver's own */
    uint64_t others_bytes;           /* held by processes that are not of the run */
    struct smi_process processes[SMI_PROCESSES_MAX];
    int      n_processes;
};

/* ERR_USAGE without a simulated card in the environment. A journal that cannot be read is left out. */
MUST_USE enum err smi_cards_read(struct smi_cards *c, struct err_detail *err);

/* Shows those that the text names: indexes, UUIDs or bus ids after commas. False if one names no card. */
bool smi_cards_choose(struct smi_cards *c, const char *text);

uint64_t smi_used_bytes(const struct smi_cards *c, int card);

void smi_uuid(int card, char text[static SMI_NAME_BYTES]);
void smi_bus_id(int card, char text[static SMI_NAME_BYTES]);

#endif
