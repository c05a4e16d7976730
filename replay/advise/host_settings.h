/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * Which thresholds of PyTorch's page-locked host memory serve a trace of its requests best.
 *
 * PyTorch rounds each request up to a power of two and keeps it: up to twice what was asked. From 2.15 on two settings
 * end that for large requests. pinned_max_round_threshold_mb: larger ones are not rounded; pinned_max_cached_size_mb:
 * larger ones are not kept either.
 */
#ifndef REPLAY_REPLAY_ADVISE_HOST_SETTINGS_H
#define REPLAY_REPLAY_ADVISE_HOST_SETTINGS_H

#include "replay/trials/trial_runs.h"

enum { HOST_SETTINGS_MAX = 64, HOST_TEXT = 64 };

struct host_setting {
    char     conf[HOST_TEXT];            /* as in PYTORCH_CUDA_ALLOC_CONF; "" for none */
    char     policy[HOST_TEXT];
    uint64_t peak_bytes;                 /* taken of the host at most */
    uint64_t calls, time_ns;             /* to page-lock and to give back, at the simulated card's prices */
};

struct host_settings {
    struct host_setting at[HOST_SETTINGS_MAX];       /* [0]: no setting; [1]: exact pinning without a cache */
    size_t   n;
    size_t   best;                       /* 0: no setting gains what matters (TUNE_GAIN_SHARE) */
    uint64_t requested_bytes;            /* asked for at once, at most */
};

/* `price`: bytes that a millisecond of driver time is worth. Errors of trials_run. */
MUST_USE enum err host_settings_find(struct trace_reader *trace, uint64_t price, struct host_settings *out,
                                     struct err_detail *err);

#endif
