/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/* Two trials of one recording: on the card, and on one without an end. */
#include "replay/advise/card_answer.h"

#include "base/units.h"

enum err card_answer_find(struct trace_reader *trace, const struct policy_spec *spec, const char *text,
                          const struct card_others *others, const struct replay_config *cfg, struct card_answer *out,
                          struct err_detail *err)
{
    struct card_answer a = { .fits = false };
    enum err e = device_choose_for_advice(text, trace, PLATFORM_UNKNOWN, &a.device, err);
    if (e != ERR_OK)
        return e;
    a.others_bytes = others->n * a.device.config.context_bytes + others->bytes;
    a.device.config.others_bytes += a.others_bytes;
    struct trial trials[2] = {
        { .spec = spec, .device = a.device.config },
        { .spec = spec, .device = a.device.config },
    };
    trials[1].device.total_bytes = DEVICE_UNLIMITED;
    e = trials_run(trace, a.device.ops, trials, 2, cfg, err);
    if (e != ERR_OK)
        return e;
    const struct trial *shown = &trials[trials[0].fits ? 0 : 1];
    a.fits = trials[0].fits;
    a.trial = trials[0];
    a.peak_reserved_bytes = shown->peak_reserved_bytes;
    a.card_peak_bytes = shown->card_peak_bytes;
    *out = a;
    return ERR_OK;
}

/* Of the H200 whose processes were looked at. */
#define HOLE_BYTES (416 * MIB)

static const struct {
    enum device_addresses addresses;
    uint64_t hole_bytes;
} orders[] = {
    { ADDRESSES_LINUX, 0 }, { ADDRESSES_LINUX, HOLE_BYTES }, { ADDRESSES_RISING, 0 }, { ADDRESSES_DESCENDING, 0 },
};

enum { N_ORDERS = sizeof orders / sizeof orders[0] };

/* On the card, and on one without an end. */
static void add_trials(struct trial *trials, const struct policy_spec *spec, const struct device_config *device)
{
    trials[0] = trials[1] = (struct trial){ .spec = spec, .device = *device };
    trials[1].device.total_bytes = DEVICE_UNLIMITED;
}

enum err card_answer_bound(struct trace_reader *trace, const struct policy_spec *spec,
                           const struct card_answer *answer, const struct replay_config *cfg,
                           struct card_bounds *out, struct err_detail *err)
{
    struct trial trials[2 * N_ORDERS];
    const size_t n = answer->device.config.has_addresses ? 0 : N_ORDERS;
    *out = (struct card_bounds){ .least_bytes = answer->card_peak_bytes, .most_bytes = answer->card_peak_bytes,
                                 .fits_always = answer->fits, .fits_ever = answer->fits };
    for (size_t i = 0; i < n; i++) {
        struct device_config device = answer->device.config;
        device.addresses = orders[i].addresses;
        device.hole_bytes = orders[i].hole_bytes;
        add_trials(&trials[2 * i], spec, &device);
    }
    const enum err e = n > 0 ? trials_run(trace, answer->device.ops, trials, 2 * n, cfg, err) : ERR_OK;
    for (size_t i = 0; e == ERR_OK && i < n; i++) {
        const bool fits = trials[2 * i].fits;
        const uint64_t bytes = trials[2 * i + !fits].card_peak_bytes;
        out->least_bytes = bytes < out->least_bytes ? bytes : out->least_bytes;
        out->most_bytes = bytes > out->most_bytes ? bytes : out->most_bytes;
        out->fits_always = out->fits_always && fits;
        out->fits_ever = out->fits_ever || fits;
    }
    return e;
}
