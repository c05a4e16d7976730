/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * The engine: replays one trace through one or many lanes. A lane is one policy on one device.
 *
 *                          +--> lane 0:  policy on device --> meter, samples, refusals
 *     trace --> chunk of --+--> lane 1:  policy on device --> meter, samples, refusals
 *               events     +--> ...
 *
 * A single replay is a run with one lane; there is no second code path.
 */
#ifndef REPLAY_REPLAY_ENGINE_ENGINE_H
#define REPLAY_REPLAY_ENGINE_ENGINE_H

#include "policies/spec.h"
#include "report/measure/meter.h"
#include "report/measure/meter.h"
#include "sim/device.h"
#include "traces/trace.h"

/* How to begin a trace that starts in mid-run. */
enum start_mode {
    START_FRESH,                           /* on an empty card: the policy places the live requests anew, in the order
                                            * of their recorded addresses */
    START_FAITHFUL,                        /* the policy takes over the recorded segments and blocks, if it can */
};

/* What a refused request does to the run. */
enum oom_action {
    OOM_STOP,                              /* it ends the run */
    OOM_SKIP,                              /* the run goes on without the request */
    OOM_AS_RECORDED,                       /* a request that was also refused when recorded is skipped and does not
                                            * count as out of memory; any other ends the run */
};

/* Changes to the recorded program. Zero: none. */
struct what_if {
    uint64_t flush_every_events;           /* flush before every n-th event; 0: never */
    bool     has_flush_label;
    uint32_t flush_label;                  /* flush at each mark with this label */
    uint64_t warm_bytes;                   /* requested on the default stream and freed before the first event; ignored
                                            * if the policy takes over the recorded state. 0: none */
};

struct replay_config {
    uint64_t        sample_every_ns;       /* trace time between samples; 0: none by time */
    uint64_t        sample_every_events;   /* events between samples; 0: none by number. The start, each mark and the
                                            * end are always sampled */
    enum oom_action on_oom;
    uint64_t        caught_before;         /* requests refused when recorded before this event are not tried again: the
                                            * program went on without them, so they only gave cached memory back */
    unsigned        threads;               /* 0: one per core. At most one for each lane and one for `chunk` are used;
                                            * with more than one, the reader decodes ahead in a thread of its own */
    enum start_mode start;
    struct what_if  what_if;
    uint64_t        borders[METER_PARTS];  /* before these events, ascending, the parts of the run end
                                            * (report/measure/meter.h), */
    unsigned        n_borders;             /* the first n_borders of them */
    bool            audit;                 /* check every placement against an independent map; of a plugin always */
    void          (*progress)(void *arg, uint64_t events_done, uint64_t events_total);   /* called after each chunk;
                                            * may be NULL */
    void           *progress_arg;
    const volatile sig_atomic_t *interrupted;   /* read once a chunk: not 0 stops every lane. NULL: never */

    /* Gets every event of the trace in order, a chunk at a time, even after the last lane has stopped. Called in any
     * thread, but never twice at once. May be NULL. */
    void          (*chunk)(void *arg, const struct event *events, size_t n);
    void           *chunk_arg;
};

struct explain_run;                        /* replay/engine/explain_run.h */
struct lane;

/* Called after every event of a lane. Make it the first member of the watcher's own struct. Lanes run in threads of
 * their own, so each lane needs its own watch. */
struct lane_watch {
    /* `done`: how many events have passed; 0 while the start state is placed. `ev` is NULL once: when that is done. */
    void (*event)(struct lane_watch *w, const struct lane *l, const struct event *ev, uint64_t done);
};

/* One policy on one device. lane_open opens it and replay_run runs it once; do not move it in memory in between. */
struct lane {
    const struct policy_spec *spec;        /* borrowed */
    struct device *device;
    struct policy *policy;
    enum err     (*sample)(void *arg, const struct meter_sample *m);   /* takes each sample; NULL: nobody does. An
                                            * error stops the lane */
    void          *sample_arg;
    struct meter   meter;                  /* out */
    uint64_t       events_done;            /* out */
    enum err       outcome;                /* out: OK; DEVICE_OOM: a request was refused; CORRUPT: the policy or the
                                            * audit found a wrong placement; or another error of the policy */
    bool           is_stopped;             /* out: before the end of the trace */
    int64_t        stopped_at;             /* out: our number of the event that stopped it; -1: in the start state */
    uint64_t       stopped_ns;             /* out: the time of that event, if it was refused memory */
    struct err_detail err;                 /* out: the reason of an outcome other than OK and DEVICE_OOM */
    bool           is_restored;            /* out: it began from the recorded state, or failed to and is stopped */
    uint64_t       unsupported[CONTROL_KINDS];   /* out: control events that this policy does not support, by kind */

    /* Listeners: borrowed, set between lane_open and replay_run, NULL for none. */
    void         (*on_oom)(void *arg, const struct meter_oom *oom);      /* called for each refused request */
    void          *on_oom_arg;
    struct explain_run *explain;           /* what to explain */
    const struct device_log *calls;        /* gets every call to the device */
    struct lane_watch  *watch;             /* called after every event */

    /* The engine's own. */
    const struct replay_config *cfg;
    struct block  *live;                   /* by slot; bytes 0: refused, vacant, or its free was completed early */
    uint64_t      *pending;                /* by slot: requested bytes of a free that is not completed yet */
    uint32_t       n_slots;                /* peak_live. Both tables have one more entry, for requests that the
                                            * recorded allocator refused */
    struct audit  *audit;
    struct policy_observer observer;       /* its `record` may be set between lane_open and replay_run */
    struct device_log      log;
    const struct device_log *others_log;   /* the listener that the device had before */
    uint64_t       next_sample_ns, next_sample_event;
    uint64_t       next_stop_event;        /* where to explain or to flush next: see lane_stop_here */
    bool           is_starting;            /* the start state is being placed */
    bool           is_foreign;             /* a plugin serves it: it is audited, and may crash */
    const uint32_t *sites;                 /* by event: for POLICY_NEEDS_SITES; NULL: not asked for */
    uint64_t       event_done;             /* of a foreign lane: `done` of the event under way */
    struct policy  crashed;                /* stands in for a policy that crashed, which is never called again */
};

/* Opens a device and a policy for a trace. `spec` and `trace` must outlive the lane. device_open's and policy_create's
 * errors, with the place in the settings if a setting is wrong; ERR_HOST_NOMEM. */
MUST_USE enum err lane_open(const struct policy_spec *spec, const struct device_ops *ops,
                            const struct device_config *device, const struct trace_reader *trace, uint64_t seed,
                            struct lane *out, struct err_detail *err);

/* Opens a lane that is never run, only compared with one that was (replay/trials/equal_runs.h). It has no tables of
 * requests, so it takes little time and memory. */
MUST_USE enum err lane_open_idle(const struct policy_spec *spec, const struct device_ops *ops,
                                 const struct device_config *device, const struct trace_reader *trace, uint64_t seed,
                                 struct lane *out, struct err_detail *err);

/* Accepts a lane of zeros. */
void lane_close(struct lane *lane);

/* replay_run in steps, for a caller that decides when which lane goes on: lane_start places the start state, lane_feed
 * runs over events of the trace, the first of which has number `first`, and lane_finish takes the last sample. Events
 * come in order, and each once. */
MUST_USE enum err lane_start(struct lane *lane, struct trace_reader *in, const struct replay_config *cfg,
                             struct err_detail *err);
void lane_feed(struct lane *lane, const struct event *events, size_t n, uint64_t first, const struct control *controls);
void lane_finish(struct lane *lane, uint64_t time_ns);

/* What made a lane that has run fail: ERR_OK if it came to the end, or if memory of the device was refused, which is a
 * result. Else its outcome, and in `err` at which event. Ask before any figure of a lane is used. */
MUST_USE enum err lane_failure(const struct lane *lane, struct err_detail *err);

/* ERR_HOST_NOMEM if the host had no memory for a lane: what such a lane did says nothing of its policy. */
MUST_USE enum err lanes_host_failure(const struct lane *lanes, size_t n_lanes, struct err_detail *err);

/* Runs all lanes over the trace, from its start state. A refused request or a failing policy stops its own lane only,
 * and the lane says so (lane_failure). ERR_HOST_NOMEM and the reader's errors stop all lanes. The result does not
 * depend on the number of threads. */
MUST_USE enum err replay_run(struct trace_reader *in, struct lane *lanes, size_t n_lanes,
                             const struct replay_config *cfg, struct err_detail *err);

#endif
