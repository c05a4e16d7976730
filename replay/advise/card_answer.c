/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/* Two trials of one recording: on the card, and on one without an end. */
#include "replay/advise/card_answer.h"

enum err card_answer_find(struct trace_reader *trace, const struct policy_spec *spec, const char *text,
                          const struct card_others *others, const struct replay_config *cfg, struct card_answer *out,
                          struct err_detail *err)
{
    struct card_answer a = { .fits = false };
    enum err e = device_choose_for_advice(text, trace, &a.device, err);
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
