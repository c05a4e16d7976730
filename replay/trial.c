/* Lanes opened, run and read, in groups. */
#include "replay/trial.h"

#include <inttypes.h>

enum { TRIALS_AT_ONCE = 64, TRIALS_SLOTS = 1 << 23 };     /* the slots of all lanes bound their memory */

static enum err trial_read(struct trial *t, const struct lane *l, struct err_detail *why)
{
    const struct meter *m = &l->meter;
    if (l->outcome != ERR_OK && l->outcome != ERR_DEVICE_OOM)
        return err_set(why, l->outcome, 0, "%.80s failed at event %" PRId64 ": %.120s", t->spec->typed, l->stopped_at,
                       l->why.text);
    t->fits = l->outcome == ERR_OK;
    t->stopped_at = l->stopped_at;
    t->refused_bytes = m->ooms > 0 ? m->first_oom.requested_bytes : 0;
    t->refused_reserved_bytes = m->ooms > 0 ? m->first_oom.reserved_bytes : 0;
    t->refused_free_bytes = m->ooms > 0 ? m->first_oom.device_free_bytes : 0;
    t->peak_reserved_bytes = m->peak.reserved;
    t->at_peak_requested_bytes = m->at_peak.requested;
    t->at_peak_allocated_bytes = m->at_peak.allocated;
    t->peak_event = m->at_peak_sample.event;
    t->inactive_split_peak_bytes = m->inactive_split_peak;
    t->device_calls = l->device->usage.calls;
    t->device_time_ns = l->device->usage.time_ns;
    t->retries = l->policy->count.retries;
    return ERR_OK;
}

static enum err trials_run_group(struct trace_reader *trace, const struct device_ops *ops, struct trial *trials,
                                 size_t n, const struct replay_config *cfg, struct err_detail *why)
{
    struct lane lanes[TRIALS_AT_ONCE] = { { .spec = NULL } };
    enum err e = ERR_OK;
    size_t n_open = 0;
    for (; n_open < n && e == ERR_OK; n_open++)
        e = lane_open(trials[n_open].spec, ops, &trials[n_open].device, trace, 0, &lanes[n_open], why);
    if (e == ERR_OK)
        e = replay_run(trace, lanes, n, cfg, why);
    for (size_t i = 0; i < n && e == ERR_OK; i++)
        e = trial_read(&trials[i], &lanes[i], why);
    for (size_t i = 0; i < n_open; i++)
        lane_close(&lanes[i]);
    return e;
}

enum err trials_run(struct trace_reader *trace, const struct device_ops *ops, struct trial *trials, size_t n,
                    const struct replay_config *cfg, struct err_detail *why)
{
    const size_t affordable = TRIALS_SLOTS / ((size_t)trace_info(trace)->peak_live + 1) + 1;
    const size_t at_once = affordable < TRIALS_AT_ONCE ? affordable : TRIALS_AT_ONCE;
    enum err e = ERR_OK;
    for (size_t at = 0; at < n && e == ERR_OK; at += at_once)
        e = trials_run_group(trace, ops, &trials[at], n - at < at_once ? n - at : at_once, cfg, why);
    return e;
}
