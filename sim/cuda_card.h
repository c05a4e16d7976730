/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * One card of the host: its context, and what driver and NVML say about its memory.
 */
#ifndef REPLAY_SIM_CUDA_CARD_H
#define REPLAY_SIM_CUDA_CARD_H

#include "sim/cuda_api.h"
#include "sim/device_measured.h"

#include <stdbool.h>

enum { CUDA_PROCESSES_MAX = 64 };

struct cuda_card {
    const struct cuda_api *api;              /* borrowed */
    int      device;
    void    *context;                        /* the primary context, retained */
    void    *nvml;                           /* NVML's handle; NULL without NVML */
    unsigned strangers[CUDA_PROCESSES_MAX];  /* processes on the card before our context existed */
    unsigned n_strangers;
    bool     has_ranges;                     /* card and driver have virtual memory, with pages of a usable size */
    char     no_ranges[128];                 /* if not: why */
};

/* Retains the primary context of the n-th card and makes it current. ERR_UNSUPPORTED without any card, ERR_USAGE if
 * there is no such card, ERR_DEVICE_OOM if its context does not fit, ERR_DRIVER. */
MUST_USE enum err cuda_card_open(const struct cuda_api *api, unsigned ordinal, struct cuda_card *out,
                                 struct err_detail *err);
void cuda_card_close(struct cuda_card *card);

/* The name of a result, such as "CUDA_ERROR_ILLEGAL_ADDRESS (700)". */
const char *cuda_result_text(const struct cuda_api *api, int result, char buf[64]);

/* The names of the card and of its software. */
void cuda_card_describe(const struct cuda_card *card, struct device_measured *out);

/* Free and total bytes; MEASURED_UNKNOWN on failure. */
void cuda_card_memory(const struct cuda_card *card, uint64_t *free_bytes, uint64_t *total_bytes);

/* Fills in everything except what we hold. */
void cuda_card_read(const struct cuda_card *card, struct measured_memory *out);

#endif
