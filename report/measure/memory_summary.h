/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * torch.cuda.memory_summary(), byte for byte, from counters under PyTorch's own keys.
 * Source: PyTorch, torch/cuda/memory.py, memory_summary; the layout is the same from 2.0 to 2.15.
 */
#ifndef REPLAY_REPORT_MEASURE_MEMORY_SUMMARY_H
#define REPLAY_REPORT_MEASURE_MEMORY_SUMMARY_H

#include "policies/policy.h"

#include <stddef.h>
#include <stdint.h>

enum summary_form { SUMMARY_FULL, SUMMARY_ABBREVIATED };

/* The value of a counter by its key ("allocated_bytes.all.peak"); 0 for an unknown key. */
typedef int64_t (*stat_lookup)(const void *arg, const char *key);

/* A stat_lookup whose `arg` is a struct policy. */
int64_t memory_summary_policy_stat(const void *policy, const char *key);

/* Enough for every summary and its terminating zero, even with numbers of 20 digits. */
enum { MEMORY_SUMMARY_MAX = 8192 };

/* Writes the text for the device with that ordinal, ending in a newline. Returns its length, which may exceed what fits
 * into buf[cap] (the text is then cut; it is always terminated where cap > 0). */
size_t memory_summary(stat_lookup lookup, const void *arg, uint32_t device, enum summary_form form, char *buf,
                      size_t cap);

#endif
