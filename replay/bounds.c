/* Lifetimes from events; two plans over them. */
#include "replay/bounds.h"

#include "base/units.h"
#include "replay/start.h"
#include "sim/device.h"

#include <stdlib.h>
#include <string.h>

enum { PLAN_ROUND = 512, PLAN_LARGEST = 4096 };

#define PLAN_WORK_MAX (UINT64_C(1) << 32)    /* looks at a block; some seconds */

/* A request's place and time. `begin` and `end` are steps: births and deaths, counted from 0. */
struct life {
    uint64_t bytes, addr;
    uint64_t begin, end;
    bool     is_placed;              /* by the greedy part of a plan */
};

struct lives {
    struct life *at;
    size_t    n, cap;
    uint64_t *steps;                 /* 2 * life + (1 for its end) */
    size_t    n_steps, cap_steps;
    size_t   *open;                  /* by slot: its life */
    bool     *retired;               /* by slot: released, but not completed */
    uint64_t *bytes;                 /* by slot */
    uint64_t  live_bytes;
    struct bounds bounds;
};

/* Room for one more in a growing array. */
static bool lives_grow(void **at, size_t *cap, size_t n, size_t size)
{
    if (n < *cap)
        return true;
    const size_t more = *cap == 0 ? 1024 : *cap * 2;
    void *grown = more > SIZE_MAX / size ? NULL : realloc(*at, more * size);
    if (grown == NULL)
        return false;
    *at = grown;
    *cap = more;
    return true;
}

static bool lives_step(struct lives *l, uint64_t step)
{
    if (!lives_grow((void **)&l->steps, &l->cap_steps, l->n_steps, sizeof *l->steps))
        return false;
    l->steps[l->n_steps++] = step;
    return true;
}

static void lives_reach(struct lives *l, uint64_t bytes, int64_t event)
{
    if (bytes <= l->bounds.live_bytes)
        return;
    l->bounds.live_bytes = bytes;
    l->bounds.live_event = event;
}

static bool lives_add(struct lives *l, uint64_t bytes)
{
    if (!lives_grow((void **)&l->at, &l->cap, l->n, sizeof *l->at))
        return false;
    l->at[l->n] = (struct life){ .bytes = align_up(bytes, PLAN_ROUND), .begin = l->n_steps, .end = UINT64_MAX };
    return lives_step(l, 2 * (uint64_t)l->n++);
}

static bool lives_begin(struct lives *l, const struct event *e, int64_t event)
{
    l->open[e->slot] = l->n;
    l->bytes[e->slot] = e->bytes;
    l->retired[e->slot] = false;
    lives_reach(l, l->live_bytes += e->bytes, event);
    return lives_add(l, e->bytes);
}

/* A request that was refused when recorded: it would have to be there for a moment at least. */
static bool lives_pass(struct lives *l, const struct event *e, int64_t event)
{
    const size_t life = l->n;
    lives_reach(l, add_capped(l->live_bytes, e->bytes), event);
    if (!lives_add(l, e->bytes))
        return false;
    l->at[life].end = l->n_steps;
    return lives_step(l, 2 * (uint64_t)life + 1);
}

static bool lives_end(struct lives *l, uint32_t slot)
{
    const size_t life = l->open[slot];
    l->at[life].end = l->n_steps;
    if (!l->retired[slot])
        l->live_bytes -= l->bytes[slot];
    return lives_step(l, 2 * (uint64_t)life + 1);
}

static bool lives_take(struct lives *l, const struct event *e, int64_t event)
{
    switch (e->kind) {
    case EVENT_ALLOC:
        return lives_begin(l, e, event);
    case EVENT_FREE:
    case EVENT_FREE_COMPLETED:
        return lives_end(l, e->slot);
    case EVENT_FREE_REQUESTED:
        l->live_bytes -= l->bytes[e->slot];
        l->retired[e->slot] = true;
        return true;
    case EVENT_OOM:
        return lives_pass(l, e, event);
    default:
        return true;
    }
}

/* ---- plans ---- */

/* Blocks that are there at one time (first fit) or at any (greedy), ascending by address. */
struct line {
    const struct life **at;
    size_t   n;
    uint64_t height;                 /* highest address used */
    uint64_t work;
};

static void line_put(struct line *line, struct life *life, uint64_t addr)
{
    size_t at = line->n;
    life->addr = addr;
    while (at > 0 && line->at[at - 1]->addr > addr) {
        line->at[at] = line->at[at - 1];
        at--;
    }
    line->at[at] = life;
    line->n++;
    if (addr + life->bytes > line->height)
        line->height = addr + life->bytes;
}

/* The lowest address at which `life` fits beside everything on the line that lives while it does. */
static uint64_t line_find(struct line *line, const struct life *life)
{
    uint64_t addr = 0;
    for (size_t i = 0; i < line->n; i++, line->work++) {
        const struct life *other = line->at[i];
        if (other->end <= life->begin || other->begin >= life->end)
            continue;
        if (other->addr >= addr && other->addr - addr >= life->bytes)
            break;
        if (other->addr + other->bytes > addr)
            addr = other->addr + other->bytes;
    }
    return addr;
}

static void line_take(struct line *line, const struct life *life)
{
    size_t at = 0;
    while (line->at[at] != life)
        at++;
    line->work += at;
    memmove(&line->at[at], &line->at[at + 1], (line->n - at - 1) * sizeof *line->at);
    line->n--;
}

/* First fit in order of time for all that is not placed yet; returns the height. */
static uint64_t plan_by_time(struct lives *l, struct line *line)
{
    line->n = 0;
    line->height = 0;
    for (size_t i = 0; i < l->n_steps && line->work < PLAN_WORK_MAX; i++) {
        struct life *life = &l->at[l->steps[i] / 2];
        if (life->is_placed)
            continue;
        if (l->steps[i] % 2 == 1)
            line_take(line, life);
        else
            line_put(line, life, line_find(line, life));
    }
    return line->height;
}

static int compare_lives(const void *a, const void *b)
{
    const struct life *x = *(struct life *const *)a, *y = *(struct life *const *)b;
    if (x->bytes != y->bytes)
        return x->bytes > y->bytes ? -1 : 1;
    return x->begin < y->begin ? -1 : x->begin > y->begin;
}

/* The longest-lived first: they lie at the bottom, and what comes and goes above them. */
static int compare_durations(const void *a, const void *b)
{
    const struct life *x = *(struct life *const *)a, *y = *(struct life *const *)b;
    const uint64_t long_x = x->end - x->begin, long_y = y->end - y->begin;
    return long_x != long_y ? (long_x > long_y ? -1 : 1) : compare_lives(a, b);
}

/* Each in this order at the lowest address that is free for its whole life; returns the height. */
static uint64_t plan_in_order(struct life **order, size_t n, struct line *line)
{
    line->n = 0;
    line->height = 0;
    for (size_t i = 0; i < n && line->work < PLAN_WORK_MAX; i++) {
        line_put(line, order[i], line_find(line, order[i]));
        order[i]->is_placed = true;
    }
    return line->height;
}

/* `n_slots`: most requests live at once. */
static enum err plan(struct lives *l, size_t n_slots, struct err_detail *why)
{
    if (l->n > PLAN_WORK_MAX / (n_slots / 2 + 1))
        return ERR_OK;                           /* too long: it would look at half of the live blocks each time */
    struct life **by_size = calloc(l->n + 1, sizeof *by_size);
    struct line line = { .at = calloc(l->n + 1, sizeof *line.at) };
    enum err e = ERR_OK;
    if (by_size == NULL || line.at == NULL) {
        e = err_set(why, ERR_HOST_NOMEM, 0, "no memory for a plan of %zu requests", l->n);
    } else {
        for (size_t i = 0; i < l->n; i++)
            by_size[i] = &l->at[i];
        qsort(by_size, l->n, sizeof *by_size, compare_lives);
        const size_t n_largest = l->n < PLAN_LARGEST ? l->n : PLAN_LARGEST;
        uint64_t best = plan_by_time(l, &line);
        const uint64_t largest = plan_in_order(by_size, n_largest, &line);
        const uint64_t rest = plan_by_time(l, &line);
        best = largest + rest < best ? largest + rest : best;
        qsort(by_size, n_largest, sizeof *by_size, compare_durations);
        const uint64_t longest = plan_in_order(by_size, n_largest, &line);
        best = longest + rest < best ? longest + rest : best;
        if (line.work < PLAN_WORK_MAX)
            l->bounds.plan_bytes = align_up(best, DEVICE_PAGE_BYTES);
    }
    free(by_size);
    free(line.at);
    return e;
}

/* ---- reading ---- */

static enum err lives_read(struct lives *l, struct trace_reader *trace, struct err_detail *why)
{
    struct start start;
    enum err e = start_read(trace, &start, why);
    if (e != ERR_OK)
        return e;
    bool has_room = true;
    for (size_t i = 0; i < start.n_events && has_room; i++)
        has_room = lives_take(l, &start.events[i], -1);
    start_close(&start);
    e = trace_seek(trace, 0, why);
    const struct event *events;
    size_t n = 1;
    for (int64_t at = 0; e == ERR_OK && has_room && n > 0; at += (int64_t)n) {
        e = trace_next(trace, &events, &n, why);
        for (size_t i = 0; e == ERR_OK && i < n && has_room; i++)
            has_room = lives_take(l, &events[i], at + (int64_t)i);
    }
    return e != ERR_OK || has_room ? e : err_set(why, ERR_HOST_NOMEM, 0, "no memory for the lifetimes of the trace");
}

enum err bounds_find(struct trace_reader *trace, struct bounds *out, struct err_detail *why)
{
    const size_t n_slots = (size_t)trace_info(trace)->peak_live + 1;
    struct lives l = {
        .open = calloc(n_slots, sizeof *l.open),
        .retired = calloc(n_slots, sizeof *l.retired),
        .bytes = calloc(n_slots, sizeof *l.bytes),
        .bounds = { .live_event = -1 },
    };
    enum err e = l.open == NULL || l.retired == NULL || l.bytes == NULL
                     ? err_set(why, ERR_HOST_NOMEM, 0, "no memory for %zu live requests", n_slots)
                     : lives_read(&l, trace, why);
    if (e == ERR_OK)
        e = plan(&l, n_slots, why);
    if (e == ERR_OK)
        *out = l.bounds;
    free(l.at);
    free(l.steps);
    free(l.open);
    free(l.retired);
    free(l.bytes);
    return e;
}
