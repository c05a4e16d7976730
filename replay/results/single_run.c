/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/* Chooses policy, release and device, and runs one lane. */
#include "replay/results/single_run.h"

#include "replay/recording/recorded_release.h"
#include "replay/recording/recorded_settings.h"

enum err single_run_open(struct single_run *run, struct trace_reader *trace, const char *policy, const char *device,
                         struct err_detail *err)
{
    const char *release;
    *run = (struct single_run){ .trace = trace };
    enum err e = policy == NULL ? recorded_policy(trace, &run->spec, err) : policy_spec_parse(policy, &run->spec, err);
    if (e != ERR_OK)
        return e;
    e = recorded_release(trace, &release, err);
    if (e == ERR_OK)
        recorded_take_release(release, &run->spec);
    if (e == ERR_OK && run->spec.ops->stats == NULL)
        e = err_set(err, ERR_UNSUPPORTED, 0, "the policy %s keeps no memory_stats; pytorch does", run->spec.ops->name);
    if (e == ERR_OK)
        e = device_choose(device, trace, &run->device, err);
    if (e == ERR_OK)
        e = lane_open(&run->spec, run->device.ops, &run->device.config, trace, 0, &run->lane, err);
    if (e != ERR_OK)
        single_run_close(run);
    return e;
}

enum err single_run_replay(struct single_run *run, const struct replay_config *cfg, struct err_detail *err)
{
    const enum err e = replay_run(run->trace, &run->lane, 1, cfg, err);
    return e == ERR_OK ? lane_failure(&run->lane, err) : e;
}

enum err single_run_measure(const struct single_run *like, struct trace_reader *trace, const char *what,
                            enum err (*sample)(void *, const struct meter_sample *), void *sample_arg,
                            uint64_t *reserved_bytes, struct err_detail *err)
{
    const struct replay_config cfg = { .threads = 1, .on_oom = OOM_AS_RECORDED };
    struct lane lane = { .spec = NULL };
    enum err e = lane_open(&like->spec, like->device.ops, &like->device.config, trace, 0, &lane, err);
    if (e == ERR_OK) {
        lane.sample = sample;
        lane.sample_arg = sample_arg;
        e = replay_run(trace, &lane, 1, &cfg, err);
    }
    if (e == ERR_OK && lane.outcome != ERR_OK)
        e = err_set(err, lane.outcome, 0, "%s cannot be replayed: %s", what, lane.err.text);
    if (e == ERR_OK)
        *reserved_bytes = lane.device->usage.reserved_peak_bytes;
    lane_close(&lane);
    return e;
}

void single_run_close(struct single_run *run)
{
    lane_close(&run->lane);
    policy_spec_close(&run->spec);
    *run = (struct single_run){ .trace = NULL };
}
