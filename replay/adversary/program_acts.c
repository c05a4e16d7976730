/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
#include "replay/adversary/program_acts.h"

/* What has been done with the pool and the captures so far. */
struct acts_state {
    bool     is_made, is_inside, is_dropped;
    bool     is_capturing, began_inside, is_reset;
    unsigned n_captures;
};

uint32_t program_request_of(const struct event *c)
{
    if (c->kind == EVENT_FLUSH || (c->kind == EVENT_CONTROL && c->slot < ACT_USE))
        return PROGRAM_NO_REQUEST;
    return c->kind == EVENT_CONTROL ? c->slot - ACT_USE : c->slot;
}

static unsigned act_of(const struct event *c)
{
    return c->kind == EVENT_FLUSH ? ACT_FLUSH : c->slot < ACT_USE ? c->slot : ACT_USE;
}

static bool is_act(const struct event *c)
{
    return c->kind == EVENT_CONTROL || c->kind == EVENT_FLUSH;
}

/* Regions and captures lie one within the other. A pool is made and dropped, and the cache given back, outside
 * captures: the device allows no other call there. */
static bool may_follow(const struct acts_state *s, unsigned act)
{
    switch (act) {
    case ACT_POOL_MAKE: case ACT_POOL_MAKE_LENDING: return !s->is_made && !s->is_capturing;
    case ACT_POOL_ENTER:    return s->is_made && !s->is_dropped && !s->is_inside;
    case ACT_POOL_LEAVE:    return s->is_inside && !(s->is_capturing && s->began_inside);
    case ACT_POOL_DROP:     return s->is_made && !s->is_dropped && !s->is_inside && !s->is_capturing;
    case ACT_CAPTURE_BEGIN: return !s->is_capturing && !s->is_reset;
    case ACT_CAPTURE_END:   return s->is_capturing && s->is_inside == s->began_inside;
    case ACT_GRAPH_RESET:   return s->n_captures == 1 && !s->is_capturing && !s->is_reset;
    default:                return act == ACT_USE || !s->is_capturing;
    }
}

static void take_act(struct acts_state *s, unsigned act)
{
    switch (act) {
    case ACT_POOL_MAKE: case ACT_POOL_MAKE_LENDING: s->is_made = true; break;
    case ACT_POOL_ENTER:  s->is_inside = true; break;
    case ACT_POOL_LEAVE:  s->is_inside = false; break;
    case ACT_POOL_DROP:   s->is_dropped = true; break;
    case ACT_CAPTURE_BEGIN:
        s->is_capturing = true;
        s->began_inside = s->is_inside;
        s->n_captures++;
        break;
    case ACT_CAPTURE_END: s->is_capturing = false; break;
    case ACT_GRAPH_RESET: s->is_reset = true; break;
    default: break;
    }
}

/* Also of requests: what is freed or used must be live. */
bool program_is_valid(const struct tried_program *p)
{
    struct acts_state state = { .n_captures = 0 };
    bool is_live[PROGRAM_CALLS] = { false };
    for (size_t i = 0; i < p->n; i++) {
        const struct event *c = &p->calls[i];
        const uint32_t request = program_request_of(c);
        if (request != PROGRAM_NO_REQUEST && is_live[request] != (c->kind != EVENT_ALLOC))
            return false;
        if (request != PROGRAM_NO_REQUEST && c->kind != EVENT_CONTROL)
            is_live[request] = c->kind == EVENT_ALLOC;
        if (is_act(c) && !may_follow(&state, act_of(c)))
            return false;
        if (is_act(c))
            take_act(&state, act_of(c));
    }
    return true;
}

bool program_act(struct tried_program *p, unsigned act, uint32_t request)
{
    if (p->n == PROGRAM_CALLS)
        return false;
    p->calls[p->n] = (struct event){ .time_ns = p->n, .kind = act == ACT_FLUSH ? EVENT_FLUSH : EVENT_CONTROL,
                                     .slot = act == ACT_USE ? ACT_USE + request : act == ACT_FLUSH ? 0 : act };
    p->n++;
    if (program_is_valid(p))
        return true;
    p->n--;
    return false;
}

bool program_has_acts(const struct tried_program *p)
{
    size_t i = 0;
    while (i < p->n && !is_act(&p->calls[i]))
        i++;
    return i < p->n;
}

void program_without_acts(const struct tried_program *p, struct tried_program *out)
{
    *out = *p;
    out->n = 0;
    for (size_t i = 0; i < p->n; i++)
        if (!is_act(&p->calls[i]))
            out->calls[out->n++] = p->calls[i];
}

void program_put_act(const struct event *c, struct trace_record *out)
{
    static const enum control_kind kinds[] = {
        [ACT_POOL_MAKE] = CONTROL_POOL_CREATE,       [ACT_POOL_MAKE_LENDING] = CONTROL_POOL_CREATE,
        [ACT_POOL_ENTER] = CONTROL_POOL_ENTER,       [ACT_POOL_LEAVE] = CONTROL_POOL_LEAVE,
        [ACT_POOL_DROP] = CONTROL_POOL_DROP,         [ACT_CAPTURE_BEGIN] = CONTROL_CAPTURE_BEGIN,
        [ACT_CAPTURE_END] = CONTROL_CAPTURE_END,     [ACT_GRAPH_RESET] = CONTROL_GRAPH_RESET,
        [ACT_USE] = CONTROL_USE,
    };
    const unsigned act = act_of(c);
    const bool is_graph = act == ACT_CAPTURE_BEGIN || act == ACT_CAPTURE_END || act == ACT_GRAPH_RESET;
    out->control = (struct control){ .kind = (uint8_t)kinds[act],
                                     .flags = act == ACT_POOL_MAKE_LENDING ? POOL_USE_ON_OOM : 0 };
    out->ptr = act == ACT_USE ? (uint64_t)(c->slot - ACT_USE) + 1 : 0;
    out->stream = act == ACT_USE ? 1 : 0;
    out->pool[0] = is_graph ? 1 : 0;
    out->pool[1] = act == ACT_USE || is_graph ? 0 : 1;
}
