/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/* Smallest cards on the longer recording: of the program's own setting, of the one recommended, of its neighbours. */
#include "dryrun/lasting_setting.h"

#include "replay/advise/filled_step.h"

/* So many steps more. */
enum { STEPS_MORE = 20 };

struct check {
    struct trace_reader *trace;      /* the longer one */
    const struct tune *tune;
    const struct device_choice *device;
    const struct replay_config *cfg;
    uint64_t live_bytes;             /* at its peak */
    uint64_t before_bytes;           /* the smallest card without the setting */
};

static enum err smallest_bytes(const struct check *c, const struct policy_spec *spec, uint64_t *bytes,
                               struct err_detail *err)
{
    struct fit fit = { .smallest_bytes = 0 };
    const enum err e = fit_find(c->trace, spec, c->device, c->live_bytes, c->cfg, &fit, err);
    *bytes = fit.smallest_bytes;
    return e;
}

/* Whether a setting still saves what matters. */
static enum err saves(const struct check *c, const struct settings *s, bool *saves, struct err_detail *err)
{
    char text[SETTINGS_TEXT];
    struct policy_spec spec;
    uint64_t bytes;
    enum err e = policy_spec_parse(settings_text(s, &c->tune->rules, true, text), &spec, err);
    if (e != ERR_OK)
        return e;
    e = smallest_bytes(c, &spec, &bytes, err);
    *saves = e == ERR_OK && bytes > 0 && (c->before_bytes == 0 || bytes + c->tune->least_gain_bytes <= c->before_bytes);
    policy_spec_close(&spec);
    return e;
}

/* The setting, and with a limit of splitting a quarter lower and a quarter higher. */
static enum err check_neighbours(const struct check *c, bool *lasts, struct err_detail *err)
{
    static const unsigned quarters[] = { 4, 3, 5 };
    const struct settings *best = &c->tune->entries[c->tune->winner].settings;
    const size_t n = best->max_split_mib > 0 ? 3 : 1;
    enum err e = ERR_OK;
    for (size_t i = 0; i < n && e == ERR_OK && *lasts; i++) {
        struct settings s = *best;
        s.max_split_mib = s.max_split_mib * quarters[i] / 4;
        const bool is_taken = s.max_split_mib == 0 ||                /* PyTorch takes no less than a large segment */
                              (s.max_split_mib > 20 && s.max_split_mib >= s.large_segment_mib);
        e = is_taken ? saves(c, &s, lasts, err) : ERR_OK;
    }
    return e;
}

enum err lasting_setting_check(struct trace_reader *trace, const struct tune *tune, const struct policy_spec *baseline,
                               const struct device_choice *device, const struct replay_config *cfg, bool *lasts,
                               struct err_detail *err)
{
    struct check c = { .tune = tune, .device = device, .cfg = cfg };
    *lasts = true;
    enum err e = repeated_step_open(trace, &tune->coverage.steps, STEPS_MORE, &c.trace, err);
    if (e != ERR_OK || c.trace == NULL)
        return e;
    c.live_bytes = trace_info(c.trace)->peak_requested_bytes;
    e = smallest_bytes(&c, baseline, &c.before_bytes, err);
    if (e == ERR_OK)
        e = check_neighbours(&c, lasts, err);
    trace_close(c.trace);
    return e;
}
