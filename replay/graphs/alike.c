/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/* Walks through two captures side by side. */
#include "replay/graphs/alike.h"

#include <stddef.h>

/* Where a walk through the events of a capture stands. */
struct walk {
    const struct captures *c;
    uint32_t capture, at, end;
};

/* Advances to the next event of the capture's own requests in it, unless `walk` stands on one. NULL: none is left. What
 * it does to requests of earlier captures depends on which came before, so that is no part of its work. */
static const struct graph_event *walk_look(struct walk *w)
{
    for (; w->at < w->end; w->at++) {
        const struct graph_event *ev = &w->c->events[w->at];
        const struct graph_request *q = &w->c->requests[ev->request];
        if (ev->is_inside && q->capture == w->capture && !q->is_once)
            return ev;
    }
    return NULL;
}

static struct walk walk_start(const struct captures *c, uint32_t capture)
{
    const struct graph_capture *own = &c->at[capture];
    return (struct walk){ .c = c, .capture = capture, .at = own->first_event, .end = own->first_event + own->n_events };
}

static bool is_same(const struct captures *c, const struct graph_event *a, const struct graph_event *b)
{
    const struct graph_request *p = &c->requests[a->request], *q = &c->requests[b->request];
    if (a->kind != b->kind)
        return false;
    if (a->kind != EVENT_ALLOC)
        return p->ordinal == q->ordinal;
    return p->line == q->line && p->is_freed_inside == q->is_freed_inside;
}

bool captures_are_alike(const struct captures *c, uint32_t a, uint32_t b)
{
    struct walk first = walk_start(c, a), second = walk_start(c, b);
    const struct graph_event *p = walk_look(&first), *q = walk_look(&second);
    for (; p != NULL && q != NULL; p = walk_look(&first), q = walk_look(&second)) {
        if (!is_same(c, p, q))
            return false;
        first.at++;
        second.at++;
    }
    return p == NULL && q == NULL;
}

/* Marks what capture `a` requests and keeps, and capture `b` does not request. Numbers the other requests of `a` on the
 * way. False if they differ in anything else. */
static bool match(struct captures *c, uint32_t a, uint32_t b)
{
    struct walk first = walk_start(c, a), second = walk_start(c, b);
    const struct graph_event *p, *q;
    uint32_t ordinal = 0;
    while ((p = walk_look(&first)) != NULL) {
        struct graph_request *own = &c->requests[p->request];
        q = walk_look(&second);
        if (p->kind == EVENT_ALLOC)
            own->ordinal = ordinal;
        if (q != NULL && is_same(c, p, q)) {
            ordinal += p->kind == EVENT_ALLOC;
            second.at++;
        } else if (p->kind == EVENT_ALLOC && !own->is_freed_inside) {
            own->is_once = c->at[a].has_once = true;
        } else {
            return false;
        }
        first.at++;
    }
    return walk_look(&second) == NULL;
}

/* Forgets a match that failed. */
static void unmatch(struct captures *c, uint32_t a)
{
    c->at[a].has_once = false;
    for (uint32_t i = 0; i < c->at[a].n_requests; i++) {
        struct graph_request *q = &c->requests[c->at[a].first_request + i];
        q->is_once = false;
        q->ordinal = i;
    }
}

void captures_match(struct captures *c)
{
    for (uint32_t a = 0; a < c->n; a++) {
        uint32_t before = 0;
        while (before < a && c->at[before].stream != c->at[a].stream)
            before++;
        c->at[a].is_first_on_stream = before == a;
        for (uint32_t b = a + 1; b < c->n && before == a && !c->at[a].is_matched; b++) {
            c->at[a].is_matched = c->at[b].stream == c->at[a].stream && match(c, a, b);
            if (!c->at[a].is_matched)
                unmatch(c, a);
        }
    }
}

uint32_t captures_counterpart(const struct captures *c, uint32_t request, uint32_t b)
{
    const struct graph_request *q = &c->requests[request];
    const struct graph_capture *other = &c->at[b];
    for (uint32_t i = q->ordinal; i < other->n_requests; i++) {
        const uint32_t k = other->first_request + i;
        if (!c->requests[k].is_once && c->requests[k].ordinal == q->ordinal)
            return k;
    }
    return UINT32_MAX;
}
