/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/* Tries each power of two of MiB as either threshold, on a host without end. */
#include "replay/advise/host_settings.h"

#include "base/units.h"
#include "replay/advise/tune.h"
#include "report/rows/winner.h"

#include <inttypes.h>
#include <stdio.h>

static const char *const threshold_options[][2] = {
    {"pinned_max_round_threshold_mb", "round-threshold"}, {"pinned_max_cached_size_mb", "cached-size"},
};

static void setting_put(struct host_settings *s, const char *conf, const char *policy, uint64_t mib)
{
    struct host_setting *h = &s->at[s->n++];
    if (mib > 0) {
        snprintf(h->conf, sizeof h->conf, "%s:%" PRIu64, conf, mib);
        snprintf(h->policy, sizeof h->policy, "torch-host:%s=%" PRIu64 "MiB", policy, mib);
    } else {
        snprintf(h->policy, sizeof h->policy, "%s", policy);
    }
}

/* No threshold above the largest request does anything; it is not larger than all that is asked for at once. */
static void settings_list(struct host_settings *s)
{
    setting_put(s, "", "torch-host", 0);
    setting_put(s, "", "none", 0);
    for (size_t i = 0; i < 2; i++)
        for (uint64_t mib = 1;
             mib <= s->requested_bytes / MIB && s->n < 2 + (i + 1) * (HOST_SETTINGS_MAX - 2) / 2; mib *= 2)
            setting_put(s, threshold_options[i][0], threshold_options[i][1], mib);
}

static enum err settings_try(struct trace_reader *trace, struct host_settings *s, struct err_detail *err)
{
    struct trial trials[HOST_SETTINGS_MAX];
    const char *policies[HOST_SETTINGS_MAX];
    const struct device_config device = device_defaults();
    for (size_t i = 0; i < s->n; i++)
        policies[i] = s->at[i].policy;
    const enum err e = trials_run_typed(trace, &device, policies, trials, s->n, err);
    for (size_t i = 0; i < s->n && e == ERR_OK; i++) {
        s->at[i].peak_bytes = trials[i].peak_reserved_bytes;
        s->at[i].calls = trials[i].device_calls;
        s->at[i].time_ns = trials[i].device_time_ns;
    }
    return e;
}

/* The tree's one figure for "best"; of equals the earlier setting stays, which has the smaller threshold. */
static uint64_t score_of(const struct host_setting *h, uint64_t price)
{
    return winner_score(h->peak_bytes, h->time_ns, price);
}

static void settings_choose(struct host_settings *s, uint64_t price)
{
    size_t best = 0;
    for (size_t i = 2; i < s->n; i++)
        if (score_of(&s->at[i], price) < score_of(&s->at[best], price))
            best = i;
    const uint64_t now = score_of(&s->at[0], price);
    s->best = now - score_of(&s->at[best], price) >= now / TUNE_GAIN_SHARE ? best : 0;
}

enum err host_settings_find(struct trace_reader *trace, uint64_t price, struct host_settings *out,
                            struct err_detail *err)
{
    *out = (struct host_settings){.requested_bytes = trace_info(trace)->peak_requested_bytes};
    settings_list(out);
    const enum err e = settings_try(trace, out, err);
    if (e == ERR_OK)
        settings_choose(out, price);
    return e;
}
