/*
 * The engine: one trace, one or many lanes. A single replay is a sweep of one; there is no second code path.
 */
#ifndef REPLAY_REPLAY_ENGINE_ENGINE_H
#define REPLAY_REPLAY_ENGINE_ENGINE_H

#include "policies/spec.h"
#include "report/meter.h"
#include "report/meter.h"
#include "sim/device.h"
#include "traces/trace.h"

/* How a trace that starts in mid-run begins. */
enum start_mode {
    START_FRESH,                           /* the policy places the requests that were live anew, by recorded address */
    START_FAITHFUL,                        /* it takes over segments and blocks as recorded, if it can */
};

enum oom_action {
    OOM_STOP,                              /* a refused request ends the run */
    OOM_SKIP,                              /* it is left out */
    OOM_AS_RECORDED,                       /* one that was refused when recorded, too, is part of the run and no
                                            * outcome; another one ends it */
};

/* What is done beside the trace. Zero: nothing. */
struct what_if {
    uint64_t flush_every_events;           /* flush in front of each multiple of it */
    bool     has_flush_label;
    uint32_t flush_label;                  /* flush at each mark with this label */
    uint64_t warm_bytes;                   /* requested on the default stream and given back before all else; only
                                            * where the policy begins afresh */
};

struct replay_config {
    uint64_t        sample_every_ns;       /* trace time between samples; 0 = none by time */
    uint64_t        sample_every_events;   /* events between samples; 0 = none by number. First, marks, last always */
    enum oom_action on_oom;
    unsigned        threads;               /* 0 = one per core; at most one per lane, and one for `chunk`, is used. With
                                            * more than 1 the trace is decoded in one of its reader's, too */
    enum start_mode start;
    struct what_if  what_if;
    bool            audit;                 /* check every placement against an independent map */
    void          (*progress)(void *arg, uint64_t events_done, uint64_t events_total);   /* may be NULL */
    void           *progress_arg;
    const volatile sig_atomic_t *interrupted;   /* not 0: lanes stop as soon as they look; NULL: never */

    /* Shown all events of the trace, a chunk at a time, also those behind the end of the last lane; in any thread, one
     * call after the other. May be NULL. */
    void          (*chunk)(void *arg, const struct event *events, size_t n);
    void           *chunk_arg;
};

struct explain_run;                        /* replay/engine/explain_run.h */
struct lane;

/* Whoever looks at a lane behind every event; the first member of what it keeps. Lanes run in threads of their own: one
 * watch serves one lane. */
struct lane_watch {
    /* `done`: the number of events so far, 0 in the start state. `ev` is NULL once, when the start state is placed. */
    void (*event)(struct lane_watch *w, const struct lane *l, const struct event *ev, uint64_t done);
};

/* One policy on one device under replay. Opened by lane_open, then used by replay_run, once; it is not moved in
 * memory in between. */
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
                                            * audit found a placement wrong; another error of the policy's */
    bool           is_stopped;             /* out: before the end of the trace */
    int64_t        stopped_at;             /* out: our number of the event; -1: before the first event */
    uint64_t       stopped_ns;             /* out: its time, where it was refused memory */
    struct err_detail why;                 /* out: of an outcome beyond DEVICE_OOM */
    bool           is_restored;            /* out: it began from the recorded state, or could not: then it is stopped */
    uint64_t       unsupported[CONTROL_KINDS];   /* out: controls that mean nothing to the policy */

    /* Called for each refused request, if set between lane_open and replay_run. */
    void         (*on_oom)(void *arg, const struct meter_oom *oom);
    void          *on_oom_arg;

    struct explain_run *explain;           /* borrowed; NULL: nothing is explained. Set as on_oom is */
    const struct device_log *calls;        /* borrowed; hears the device's calls; may be NULL. Set as on_oom is */

    struct lane_watch  *watch;             /* borrowed; NULL: nobody. Set as on_oom is */

    /* The engine's own. */
    const struct replay_config *cfg;
    struct block  *live;                   /* by slot; bytes 0: refused, vacant, or its free was completed early */
    uint64_t      *pending;                /* by slot: requested bytes of a free that is not completed yet */
    uint32_t       n_slots;                /* peak_live; one more entry stands behind it, for refused requests */
    struct audit  *audit;
    struct policy_observer observer;       /* its `record` may be set between lane_open and replay_run */
    struct device_log      log;
    const struct device_log *others_log;   /* who listened to the device already */
    uint64_t       next_sample_ns, next_sample_event;
    uint64_t       next_stop_event;        /* to explain, or to flush: see lane_stop_here */
    bool           is_starting;            /* the start state is being placed */
};

/* Opens device and policy for a trace. What `spec` and `trace` point to outlives the lane. */
MUST_USE enum err lane_open(const struct policy_spec *spec, const struct device_ops *ops,
                            const struct device_config *device, const struct trace_reader *trace, uint64_t seed,
                            struct lane *out, struct err_detail *why);

/* The same for a lane that is never run, but asked whether it repeats one that was (replay/engine/equal_runs.h): it has no table of
 * requests and takes little time and memory. */
MUST_USE enum err lane_open_idle(const struct policy_spec *spec, const struct device_ops *ops,
                                 const struct device_config *device, const struct trace_reader *trace, uint64_t seed,
                                 struct lane *out, struct err_detail *why);

/* A lane of zeros is accepted. */
void lane_close(struct lane *lane);

/* Runs all lanes over the trace, from its start state. A lane that runs out of memory stops, or skips the request,
 * alone; a broken file stops everything. */
MUST_USE enum err replay_run(struct trace_reader *in, struct lane *lanes, size_t n_lanes,
                             const struct replay_config *cfg, struct err_detail *why);

#endif
