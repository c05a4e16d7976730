/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/* One event at a time: after each, what the card has left is known anew. */
#include "replay/engine/shared_card.h"

#include "base/units.h"

/* What a process takes of the card now. */
static uint64_t process_bytes(const struct card_process *p)
{
    return p->has_begun && !p->has_ended ? device_process_bytes(p->lane.device, p->lane.device->usage.page_bytes) : 0;
}

static uint64_t others_bytes_at(const struct shared_card *c, uint64_t time_ns)
{
    uint64_t bytes = c->device.others_bytes;
    for (size_t i = 0; i < c->n_others && c->others[i].time_ns <= time_ns; i++)
        bytes = c->others[i].bytes;
    return bytes;
}

/* What everybody but `p` holds. */
static uint64_t bytes_besides(const struct shared_card *c, const struct card_process *p, uint64_t time_ns)
{
    uint64_t bytes = others_bytes_at(c, time_ns);
    for (size_t i = 0; i < c->n_processes; i++)
        if (&c->processes[i] != p)
            bytes = add_capped(bytes, process_bytes(&c->processes[i]));
    return bytes;
}

/* The same, as the device of `p` is told it: a process with a limit finds the rest of the card taken. */
static uint64_t bytes_told(const struct shared_card *c, const struct card_process *p, uint64_t besides)
{
    const uint64_t total = c->device.total_bytes;
    if (p->limit_bytes == 0 || total == DEVICE_UNLIMITED || p->limit_bytes >= total)
        return besides;
    const uint64_t out_of_reach = total - p->limit_bytes;
    return besides > out_of_reach ? besides : out_of_reach;
}

static void card_observe(struct shared_card *c, struct card_process *p, uint64_t besides, uint64_t time_ns)
{
    const uint64_t mine = process_bytes(p), sum = add_capped(mine, besides);
    const uint64_t all = sum < c->device.total_bytes ? sum : c->device.total_bytes;
    p->peak_bytes = mine > p->peak_bytes ? mine : p->peak_bytes;
    if (all > c->peak_bytes) {
        c->peak_bytes = all;
        c->peak_ns = time_ns;
    }
    if (p->lane.meter.ooms == 0 || p->was_refused)
        return;
    p->was_refused = true;
    p->others_at_refusal_bytes = besides;
    if (c->first_refused == c->n_processes) {
        c->first_refused = (size_t)(p - c->processes);
        c->first_refused_ns = time_ns;
    }
}

/* When the next event of a process is; UINT64_MAX: it has none left. */
static uint64_t next_time(const struct card_process *p)
{
    if (p->has_ended)
        return UINT64_MAX;
    return p->has_begun ? add_capped(p->begins_ns, p->events[p->at].time_ns) : p->begins_ns;
}

static struct card_process *next_process(struct shared_card *c)
{
    struct card_process *next = NULL;
    for (size_t i = 0; i < c->n_processes; i++)
        if (!c->processes[i].has_ended && (next == NULL || next_time(&c->processes[i]) < next_time(next)))
            next = &c->processes[i];
    return next;
}

static void process_end(struct card_process *p, uint64_t time_ns)
{
    lane_finish(&p->lane, time_ns);
    p->has_ended = true;
    p->ends_ns = add_capped(p->begins_ns, time_ns);
}

/* Lends the next events of a process that has done all of the last ones; at the end of the trace the process ends. */
static enum err process_read(struct card_process *p, struct err_detail *err)
{
    const uint64_t last_ns = p->n_events > 0 ? p->events[p->n_events - 1].time_ns : 0;
    p->first += p->n_events;
    p->at = 0;
    const enum err e = trace_next(p->trace, &p->events, &p->n_events, err);
    if (e == ERR_OK && p->n_events == 0)
        process_end(p, last_ns);
    return e;
}

static enum err process_begin(struct shared_card *c, struct card_process *p, const struct replay_config *cfg,
                              struct err_detail *err)
{
    const uint64_t besides = bytes_besides(c, p, p->begins_ns);
    struct device_config device = c->device;
    device.others_bytes = bytes_told(c, p, besides);
    enum err e = lane_open(p->spec, c->ops, &device, p->trace, 0, &p->lane, err);
    if (e != ERR_OK)
        return e;
    p->has_begun = true;
    e = lane_start(&p->lane, p->trace, cfg, err);
    card_observe(c, p, besides, p->begins_ns);
    return e == ERR_OK ? process_read(p, err) : e;
}

static enum err process_step(struct shared_card *c, struct card_process *p, struct err_detail *err)
{
    const struct event *ev = &p->events[p->at];
    const uint64_t now = next_time(p), besides = bytes_besides(c, p, now);
    device_set_others(p->lane.device, bytes_told(c, p, besides));
    lane_feed(&p->lane, ev, 1, p->first + p->at, trace_controls(p->trace));
    p->at++;
    card_observe(c, p, besides, now);
    if (p->lane.is_stopped) {
        if (p->lane.outcome != ERR_DEVICE_OOM)
            return err_set(err, p->lane.outcome, 0, "process %zu: %s", (size_t)(p - c->processes) + 1,
                           p->lane.err.text);
        process_end(p, ev->time_ns);
        return ERR_OK;
    }
    return p->at == p->n_events ? process_read(p, err) : ERR_OK;
}

enum err shared_card_run(struct shared_card *c, const struct replay_config *cfg, struct err_detail *err)
{
    struct card_process *p;
    enum err e = ERR_OK;
    uint64_t done = 0, total = 0;
    c->first_refused = c->n_processes;
    for (size_t i = 0; i < c->n_processes; i++)
        total += trace_info(c->processes[i].trace)->events;
    while (e == ERR_OK && (p = next_process(c)) != NULL) {
        e = p->has_begun ? process_step(c, p, err) : process_begin(c, p, cfg, err);
        if (cfg->interrupted != NULL && *cfg->interrupted != 0)
            return err_set(err, ERR_INTERRUPTED, 0, "%s", err_text(ERR_INTERRUPTED));
        if (cfg->progress != NULL && ++done % TRACE_CHUNK_EVENTS == 0)
            cfg->progress(cfg->progress_arg, done, total);
    }
    return e;
}

void shared_card_close(struct shared_card *c)
{
    for (size_t i = 0; i < c->n_processes; i++)
        lane_close(&c->processes[i].lane);
}
