/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
#include "dryrun/jax_need.h"

#include "base/units.h"

#include <inttypes.h>
#include <stdio.h>

enum { SIZES = 8, SPEC_TEXT = 96 };

/* Replays on an endless card with regions of these sizes; *first is the first that is enough, SIZES if none is. */
static enum err try_regions(struct trace_reader *trace, const struct device_config *device, const uint64_t *bytes,
                            size_t *first, struct err_detail *err)
{
    char texts[SIZES][SPEC_TEXT];
    const char *policies[SIZES];
    struct trial trials[SIZES] = { { .fits = false } };
    for (size_t i = 0; i < SIZES; i++) {
        snprintf(texts[i], sizeof texts[i], "tf-bfc:gc=off,growth=off,limit=%" PRIu64, bytes[i]);
        policies[i] = texts[i];
    }
    const enum err e = trials_run_typed(trace, device, policies, trials, SIZES, err);
    for (*first = 0; e == ERR_OK && *first < SIZES && !trials[*first].fits;)
        ++*first;
    return e;
}

/* The first of the sizes that is enough becomes *high, and the one before it *low. */
static void narrow(const uint64_t *bytes, size_t first, uint64_t *low, uint64_t *high)
{
    if (first < SIZES)
        *high = bytes[first];
    if (first > 0)
        *low = bytes[first - 1];
}

static enum err find_region(struct trace_reader *trace, const struct device_config *device, uint64_t *region_bytes,
                            struct err_detail *err)
{
    uint64_t bytes[SIZES], low = trace_info(trace)->peak_requested_bytes, high = 0;
    size_t first = SIZES;
    enum err e = ERR_OK;
    for (size_t i = 0; i < SIZES; i++)
        bytes[i] = align_up(low + (low / 16 + MIB) * (i * i) / 4, MIB);
    e = try_regions(trace, device, bytes, &first, err);
    narrow(bytes, first, &low, &high);
    while (e == ERR_OK && high > low + MIB) {
        const uint64_t step = (high - low) / SIZES > MIB ? (high - low) / SIZES : MIB;
        for (size_t i = 0; i < SIZES; i++)
            bytes[i] = i + 1 < SIZES && low + (i + 1) * step < high ? align_up(low + (i + 1) * step, MIB) : high;
        e = try_regions(trace, device, bytes, &first, err);
        narrow(bytes, first, &low, &high);
    }
    *region_bytes = high;
    return e;
}

enum err jax_need_find(struct trace_reader *trace, const struct device_config *device, struct jax_need *out,
                       struct err_detail *err)
{
    static const char *const policies[] = { "tf-bfc:gc=off", "none", "cuda-async" };
    struct trial trials[3] = { { .fits = false } };
    struct device_config endless = *device;
    endless.total_bytes = DEVICE_UNLIMITED;
    enum err e = trials_run_typed(trace, &endless, policies, trials, 3, err);
    if (e == ERR_OK)
        e = find_region(trace, &endless, &out->region_bytes, err);
    out->context_bytes = device->context_bytes;
    out->grown_bytes = trials[0].card_peak_bytes;
    out->platform_bytes = trials[1].card_peak_bytes;
    out->pooled_bytes = trials[2].card_peak_bytes;
    return e;
}

uint64_t jax_need_card(const struct jax_need *need, double share)
{
    return align_up((uint64_t)((double)need->region_bytes / share), MIB);
}

double jax_need_fraction(const struct jax_need *need, uint64_t card_bytes, double share)
{
    const double least = card_bytes > 0 ? (double)need->region_bytes / (double)card_bytes : 1;
    const double rounded = (double)(uint64_t)(least * 100 + 1) / 100;
    return need->region_bytes > 0 && rounded < share ? rounded : 0;
}

size_t jax_need_levers(const struct jax_need *need, const struct jax_need *donated, uint64_t card_bytes, double share,
                       struct jax_lever out[static JAX_LEVERS])
{
    const double fraction = jax_need_fraction(need, card_bytes, share);
    const bool is_tried = need->region_bytes > 0;
    size_t n = 0;
    out[n++] = (struct jax_lever){ "XLA_PYTHON_CLIENT_PREALLOCATE=false", is_tried, need->grown_bytes, 0 };
    out[n++] = (struct jax_lever){ "XLA_PYTHON_CLIENT_ALLOCATOR=cuda_async XLA_PYTHON_CLIENT_PREALLOCATE=false",
                                   is_tried, need->pooled_bytes, 0 };
    out[n++] = (struct jax_lever){ "XLA_PYTHON_CLIENT_ALLOCATOR=platform", is_tried, need->platform_bytes, 0 };
    if (fraction > 0) {
        out[n] = (struct jax_lever){ .is_tried = true, .card_bytes = need->context_bytes +
                                                                     (uint64_t)(fraction * (double)card_bytes) };
        snprintf(out[n++].text, JAX_LEVER_TEXT, "XLA_CLIENT_MEM_FRACTION=%.2f", fraction);
    }
    out[n++] = (struct jax_lever){ "jax.jit(..., donate_argnums=)", donated->region_bytes > 0, donated->grown_bytes,
                                   donated->region_bytes };
    out[n++] = (struct jax_lever){ .text = "jax.checkpoint" };
    return n;
}

void jax_need_say(struct words *out, const struct jax_need *need, uint64_t card_bytes, double share)
{
    char region[UNITS_TEXT], grown[UNITS_TEXT], platform[UNITS_TEXT], pooled[UNITS_TEXT];
    const double fraction = jax_need_fraction(need, card_bytes, share);
    words_add(out, "Its requests, replayed: a region of %s is enough for them", units_format_bytes(need->region_bytes,
                                                                                                 region));
    if (fraction > 0)
        words_add(out, " (XLA_CLIENT_MEM_FRACTION=%.2f on this card)", fraction);
    words_add(out, ". On a card with room the driver would see %s with XLA_PYTHON_CLIENT_PREALLOCATE=false, %s with "
              "XLA_PYTHON_CLIENT_ALLOCATOR=cuda_async besides, and %s with XLA_PYTHON_CLIENT_ALLOCATOR=platform, which "
              "is slow.", units_format_bytes(need->grown_bytes, grown), units_format_bytes(need->pooled_bytes, pooled),
              units_format_bytes(need->platform_bytes, platform));
}
