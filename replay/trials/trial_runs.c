/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/* Opens lanes, runs them, and copies what became of each into its trial. */
#include "replay/trials/trial_runs.h"

#include "replay/trials/equal_runs.h"

#include <assert.h>
#include <stdlib.h>

enum { TRIALS_AT_ONCE = 64, TRIALS_SLOTS = 1 << 23 };     /* the slots of all lanes bound their memory */

static enum err trial_read(struct trial *t, const struct lane *l, struct err_detail *err)
{
    const struct meter *m = &l->meter;
    const enum err e = lane_failure(l, err);
    if (e != ERR_OK)
        return e;
    t->fits = l->outcome == ERR_OK;
    t->stopped_at = l->stopped_at;
    t->refused_bytes = m->ooms > 0 ? m->first_oom.requested_bytes : 0;
    t->refused_reserved_bytes = m->ooms > 0 ? m->first_oom.reserved_bytes : 0;
    t->refused_free_bytes = m->ooms > 0 ? m->first_oom.device_free_bytes : 0;
    t->card_peak_bytes = device_card_bytes(l->device, l->device->usage.page_peak_bytes);
    t->peak_reserved_bytes = m->peak.reserved;
    assert(t->card_peak_bytes >= t->device.context_bytes);
    t->at_peak_requested_bytes = m->at_peak.requested;
    t->at_peak_allocated_bytes = m->at_peak.allocated;
    t->peak_event = m->at_peak_sample.event;
    t->inactive_split_peak_bytes = m->inactive_split_peak;
    t->device_calls = l->device->usage.calls;
    t->device_time_ns = l->device->usage.time_ns;
    t->retries = l->policy->count.retries;
    return ERR_OK;
}

/* The trials of one call. */
struct trials {
    struct trace_reader *trace;
    struct trial *at;
    const struct replay_config *cfg;
};

static enum err trials_replay(void *arg, struct lane *lanes, size_t n, struct err_detail *err)
{
    const struct trials *t = arg;
    return replay_run(t->trace, lanes, n, t->cfg, err);
}

static enum err trials_finished(void *arg, size_t i, const struct lane *l, struct err_detail *err)
{
    const struct trials *t = arg;
    return trial_read(&t->at[i], l, err);
}

static enum err trials_failed(void *arg, size_t i, enum err e, struct err_detail *err)
{
    (void)arg;
    (void)i;
    (void)err;
    return e;
}

static enum err trials_run_part(struct trials *t, const struct device_ops *ops, size_t n, struct err_detail *err)
{
    const size_t affordable = TRIALS_SLOTS / ((size_t)trace_info(t->trace)->peak_live + 1) + 1;
    struct equal_runs equal = {
        .trace = t->trace,
        .n_at_once = affordable < TRIALS_AT_ONCE ? affordable : TRIALS_AT_ONCE,
        .run = trials_replay, .finished = trials_finished, .failed = trials_failed, .arg = t,
    };
    struct lane *idle = calloc(n, sizeof *idle);
    enum err e = idle != NULL ? ERR_OK : err_no_memory(err);
    size_t n_open = 0;
    for (; n_open < n && e == ERR_OK; n_open++)
        e = lane_open_idle(t->at[n_open].spec, ops, &t->at[n_open].device, t->trace, equal.seed, &idle[n_open], err);
    if (e == ERR_OK)
        e = equal_runs_run(&equal, idle, n, err);
    for (size_t i = 0; i < n_open; i++)
        lane_close(&idle[i]);
    free(idle);
    return e;
}

enum err trials_run(struct trace_reader *trace, const struct device_ops *ops, struct trial *trials, size_t n,
                    const struct replay_config *cfg, struct err_detail *err)
{
    enum err e = ERR_OK;
    for (size_t at = 0; at < n && e == ERR_OK; at += EQUAL_RUNS_MAX) {
        struct trials t = { .trace = trace, .at = &trials[at], .cfg = cfg };
        e = trials_run_part(&t, ops, n - at < EQUAL_RUNS_MAX ? n - at : EQUAL_RUNS_MAX, err);
    }
    return e;
}

enum err trial_run_rewritten(struct trace_reader *trace, const struct rewrite *how, const struct device_ops *ops,
                             struct trial *trial, const struct replay_config *cfg, struct err_detail *err)
{
    struct trace_reader *copy = NULL;
    enum err e = trace_rewrite(trace, how, &copy, err);
    if (e == ERR_OK)
        e = trials_run(copy, ops, trial, 1, cfg, err);
    trace_close(copy);
    return e;
}

enum err trials_run_typed(struct trace_reader *trace, const struct device_config *device, const char *const *policies,
                          struct trial *trials, size_t n, struct err_detail *err)
{
    const struct replay_config cfg = {.on_oom = OOM_SKIP};
    struct policy_spec *specs = calloc(n, sizeof *specs);
    enum err e = specs != NULL ? ERR_OK : err_no_memory(err);
    size_t n_parsed = 0;
    while (n_parsed < n && e == ERR_OK) {
        trials[n_parsed] = (struct trial){.spec = &specs[n_parsed], .device = *device};
        e = policy_spec_parse(policies[n_parsed], &specs[n_parsed], err);
        n_parsed += e == ERR_OK;
    }
    if (e == ERR_OK)
        e = trials_run(trace, &device_sim, trials, n, &cfg, err);
    for (size_t i = 0; i < n_parsed; i++) {
        policy_spec_close(&specs[i]);
        trials[i].spec = NULL;
    }
    free(specs);
    return e;
}
