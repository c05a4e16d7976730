/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/* Chooses which runs lead, runs them, and gives their results to the runs that they answer. */
#include "replay/trials/equal_runs.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

/* ---- two lanes ---- */

static bool has_listener(const struct lane *l)
{
    return l->sample != NULL || l->on_oom != NULL || l->explain != NULL || l->calls != NULL || l->watch != NULL ||
           l->observer.record != NULL;
}

bool lane_repeats(const struct lane *done, const struct lane *idle)
{
    const struct policy_ops *ops = done->policy->ops;
    if (ops->repeats == NULL || ops->repeats != idle->policy->ops->repeats)
        return false;
    if (!policy_spec_agrees(done->spec, idle->spec))
        return false;
    if (!ops->repeats(done->policy, idle->policy) || !device_repeats(done->device, idle->device))
        return false;
    if (done->outcome != ERR_OK && done->outcome != ERR_DEVICE_OOM)
        return false;
    /* A refusal reports how much was free on the card, so the cards must be equally large. */
    if (done->meter.ooms > 0 && !device_is_as_large(done->device, idle->device))
        return false;
    return !has_listener(idle);
}

/* Copies the results of `done` to `l`, which repeats it. */
static void lane_take_answer(struct lane *l, const struct lane *done)
{
    l->device->usage = done->device->usage;
    l->device->cfg.addresses = done->device->cfg.addresses;      /* a recorded state has replaced them */
    l->policy->count = done->policy->count;
    l->meter = done->meter;
    l->meter.segments = NULL;            /* owned by `done` */
    l->meter.n_segments = 0;
    l->events_done = done->events_done;
    l->outcome = done->outcome;
    l->is_stopped = done->is_stopped;
    l->stopped_at = done->stopped_at;
    l->stopped_ns = done->stopped_ns;
    l->is_restored = done->is_restored;
    memcpy(l->unsupported, done->unsupported, sizeof l->unsupported);
}

/* ---- who leads ---- */

/*
 * Round 1: run those with the loosest limits. They answer every run whose own limits were not reached.
 * Round 2: a run that is left reached a limit, so only a run with the very same limits can answer it: run one of each.
 * Round 3: run what is still left.
 */
enum equal_runs_round { ROUND_LOOSEST, ROUND_EQUAL, ROUND_ALONE, ROUNDS };

struct equal_runs_work {
    struct equal_runs *t;
    struct lane  *idle;
    size_t        n;
    size_t       *leader;                /* by run: the run that may answer it, or itself */
    bool         *is_done;
    size_t       *leaders;               /* the n_leaders runs that lead themselves */
    size_t        n_leaders;
    struct lane  *lanes;                 /* the n_lanes lanes to run next, */
    size_t       *runs;                  /* and the run of each */
    size_t        n_lanes;
};

/* Whether the run of `leader` may answer run `i`; from round 2 on also the other way round. */
static bool may_answer(const struct equal_runs_work *w, enum equal_runs_round round, size_t leader, size_t i)
{
    return lane_repeats(&w->idle[leader], &w->idle[i]) &&
           (round == ROUND_LOOSEST || lane_repeats(&w->idle[i], &w->idle[leader]));
}

/* Lets run `i` follow a leader that may answer it. Without one it becomes a leader, and leaders with tighter limits
 * follow it from then on. */
static void find_place(struct equal_runs_work *w, enum equal_runs_round round, size_t i)
{
    w->leader[i] = i;
    for (size_t k = 0; k < w->n_leaders && round != ROUND_ALONE; k++)
        if (may_answer(w, round, w->leaders[k], i)) {
            w->leader[i] = w->leaders[k];
            return;
        }
    size_t n_kept = 0;
    for (size_t k = 0; k < w->n_leaders; k++)
        if (round == ROUND_LOOSEST && may_answer(w, round, i, w->leaders[k]))
            w->leader[w->leaders[k]] = i;
        else
            w->leaders[n_kept++] = w->leaders[k];
    w->leaders[n_kept] = i;
    w->n_leaders = n_kept + 1;
    assert(w->n_leaders <= w->n);
}

/* Gives every run that is left a leader that leads itself. */
static void find_leaders(struct equal_runs_work *w, enum equal_runs_round round)
{
    w->n_leaders = 0;
    for (size_t i = 0; i < w->n; i++)
        if (!w->is_done[i])
            find_place(w, round, i);
    for (size_t i = 0; i < w->n; i++)
        while (!w->is_done[i] && w->leader[w->leader[i]] != w->leader[i])
            w->leader[i] = w->leader[w->leader[i]];
}

/* ---- running ---- */

static enum err finish(struct equal_runs_work *w, size_t i, const struct lane *l, struct err_detail *err)
{
    assert(!w->is_done[i]);
    w->is_done[i] = true;
    return w->t->finished(w->t->arg, i, l, err);
}

/* Finishes a run and all runs that it answers. */
static enum err finish_all_of(struct equal_runs_work *w, size_t leader, const struct lane *done, struct err_detail *err)
{
    enum err e = finish(w, leader, done, err);
    for (size_t i = 0; i < w->n && e == ERR_OK; i++) {
        if (w->is_done[i] || w->leader[i] != leader || !lane_repeats(done, &w->idle[i]))
            continue;
        lane_take_answer(&w->idle[i], done);
        w->t->n_repeated++;
        e = finish(w, i, &w->idle[i], err);
    }
    return e;
}

/* Runs and closes the lanes that are open. */
static enum err run_lanes(struct equal_runs_work *w, struct err_detail *err)
{
    enum err e = w->n_lanes > 0 ? w->t->run(w->t->arg, w->lanes, w->n_lanes, err) : ERR_OK;
    for (size_t i = 0; i < w->n_lanes; i++) {
        if (e == ERR_OK)
            e = finish_all_of(w, w->runs[i], &w->lanes[i], err);
        lane_close(&w->lanes[i]);
    }
    w->n_lanes = 0;
    return e;
}

static enum err open_lane(struct equal_runs_work *w, size_t i, struct err_detail *err)
{
    const struct lane *l = &w->idle[i];
    const enum err e = lane_open(l->spec, l->device->ops, &l->device->cfg, w->t->trace, w->t->seed,
                                 &w->lanes[w->n_lanes], err);
    if (e != ERR_OK) {
        w->is_done[i] = true;
        return w->t->failed(w->t->arg, i, e, err);
    }
    assert(w->n_lanes < w->t->n_at_once);
    w->runs[w->n_lanes++] = i;
    return ERR_OK;
}

static enum err run_round(struct equal_runs_work *w, enum equal_runs_round round, struct err_detail *err)
{
    enum err e = ERR_OK;
    find_leaders(w, round);
    for (size_t i = 0; i < w->n && e == ERR_OK; i++) {
        if (!w->is_done[i] && w->leader[i] == i)
            e = open_lane(w, i, err);
        if (e == ERR_OK && w->n_lanes == w->t->n_at_once)
            e = run_lanes(w, err);
    }
    if (e == ERR_OK)
        return run_lanes(w, err);
    for (size_t i = 0; i < w->n_lanes; i++)
        lane_close(&w->lanes[i]);
    return e;
}

enum err equal_runs_run(struct equal_runs *t, struct lane *idle, size_t n, struct err_detail *err)
{
    assert(n <= EQUAL_RUNS_MAX && t->n_at_once > 0);
    struct equal_runs_work w = {
        .t = t, .idle = idle, .n = n,
        .leader = calloc(n + 1, sizeof *w.leader),
        .leaders = calloc(n + 1, sizeof *w.leaders),
        .is_done = calloc(n + 1, sizeof *w.is_done),
        .lanes = calloc(t->n_at_once, sizeof *w.lanes),
        .runs = calloc(t->n_at_once, sizeof *w.runs),
    };
    const bool has_room = w.leader != NULL && w.leaders != NULL && w.is_done != NULL && w.lanes != NULL &&
                          w.runs != NULL;
    enum err e = has_room ? ERR_OK : err_no_memory(err);
    t->n_repeated = 0;
    for (enum equal_runs_round round = ROUND_LOOSEST; round < ROUNDS && e == ERR_OK; round++)
        e = run_round(&w, round, err);
    free(w.leader);
    free(w.leaders);
    free(w.is_done);
    free(w.lanes);
    free(w.runs);
    return e;
}
