/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/* What a policy can say and be told beyond requests: blocks that move, free blocks alone, host memory, threads,
 * call stacks, marks. */
#include "tests/engine_rig.h"

#include <criterion/criterion.h>
#include <string.h>

#define ALLOC(p, n)  { .kind = EVENT_ALLOC, .ptr = (p), .bytes = (n) }
#define FREE(p)      { .kind = EVENT_FREE, .ptr = (p) }
#define THREAD(n)    { .kind = EVENT_CONTROL, .control = { .kind = CONTROL_THREAD, .number = (n) } }
#define COUNT(a)     (sizeof (a) / sizeof (a)[0])

/* ---- a run ---- */

struct tiny_run {
    struct rig_trace   trace;
    struct policy_spec spec;
    struct lane        lane;
};

static void tiny_run(struct tiny_run *r, const struct policy_ops *ops, const struct trace_record *records, size_t n,
                     uint64_t card_bytes, bool is_audited)
{
    static char typed[] = "tiny";
    struct err_detail err = { .text = "" };
    const struct device_config device = { .total_bytes = card_bytes, .alloc_ns = 5 };
    r->spec = (struct policy_spec){ .ops = ops, .typed = typed, .expanded = typed };
    cr_assert_eq(rig_trace_open(&r->trace, records, n, &err), ERR_OK, "%s", err.text);
    cr_assert_eq(lane_open(&r->spec, &device_sim, &device, r->trace.reader, 0, &r->lane, &err), ERR_OK, "%s", err.text);
    cr_assert_eq(replay_run(r->trace.reader, &r->lane, 1, &(struct replay_config){ .audit = is_audited, .threads = 1 },
                            &err), ERR_OK, "%s", err.text);
}

static void tiny_close(struct tiny_run *r)
{
    lane_close(&r->lane);
    rig_trace_close(&r->trace);
}

/* ---- an arena that slides its blocks together when nothing fits ---- */

enum { ARENA_BYTES = 4 << 20, ARENA_BLOCKS = 16 };

struct slide {
    struct policy  base;
    struct segment arena;
    struct { uint64_t offset, bytes; uint32_t slot; } live[ARENA_BLOCKS];     /* by address */
    size_t n;
    bool   is_wrong;                 /* tells of a slot that holds nothing */
};

static enum err slide_create(const struct policy_config *cfg, struct policy **out, struct err_detail *err)
{
    struct slide *s = calloc(1, sizeof *s);
    if (s == NULL || device_segment_alloc(cfg->device, ARENA_BYTES, &s->arena) != ERR_OK)
        return err_no_memory(err);
    *out = &s->base;
    return ERR_OK;
}

static void slide_destroy(struct policy *p)
{
    free(p);
}

static struct block slide_block(const struct slide *s, uint64_t offset, uint64_t bytes)
{
    return (struct block){ .addr = s->arena.addr + offset, .bytes = bytes, .segment = s->arena.id };
}

static void slide_compact(struct slide *s)
{
    uint64_t offset = 0;
    for (size_t i = 0; i < s->n; offset += s->live[i++].bytes) {
        if (s->live[i].offset == offset)
            continue;
        const struct block to = slide_block(s, s->live[i].offset = offset, s->live[i].bytes);
        s->base.observer->moved(s->base.observer->arg, s->is_wrong ? 77 : s->live[i].slot, &to);
        s->base.count.moves++;
    }
}

static uint64_t slide_end(const struct slide *s)
{
    return s->n == 0 ? 0 : s->live[s->n - 1].offset + s->live[s->n - 1].bytes;
}

static enum err slide_alloc(struct policy *p, const struct event *req, struct block *out)
{
    struct slide *s = (struct slide *)p;
    if (slide_end(s) + req->bytes > ARENA_BYTES && p->observer->moved != NULL)
        slide_compact(s);
    if (slide_end(s) + req->bytes > ARENA_BYTES || s->n == ARENA_BLOCKS)
        return ERR_DEVICE_OOM;
    *out = slide_block(s, slide_end(s), req->bytes);
    s->live[s->n].offset = slide_end(s);
    s->live[s->n].bytes = req->bytes;
    s->live[s->n++].slot = req->slot;
    return ERR_OK;
}

static void slide_free(struct policy *p, const struct event *req, const struct block *b)
{
    struct slide *s = (struct slide *)p;
    size_t at = 0;
    (void)b;
    while (s->live[at].slot != req->slot)
        at++;
    memmove(&s->live[at], &s->live[at + 1], (--s->n - at) * sizeof s->live[0]);
}

/* The free blocks alone, the last one first. */
static enum err slide_walk_free(const struct policy *p, block_visit visit, void *arg)
{
    const struct slide *s = (const struct slide *)p;
    for (size_t i = s->n + 1; i-- > 0;) {
        const uint64_t from = i == 0 ? 0 : s->live[i - 1].offset + s->live[i - 1].bytes;
        const uint64_t to = i == s->n ? ARENA_BYTES : s->live[i].offset;
        if (to > from)
            visit(arg, &(struct block_view){ .addr = s->arena.addr + from, .bytes = to - from, .segment = s->arena.id,
                                             .segment_addr = s->arena.addr, .state = BLOCK_FREE });
    }
    return ERR_OK;
}

static const struct policy_ops policy_slide = {
    POLICY_HEAD, .name = "slide", .summary = "an arena that compacts (tests)",
    .create = slide_create, .destroy = slide_destroy, .alloc = slide_alloc, .free = slide_free,
};

static const struct policy_ops policy_slide_shown = {
    POLICY_HEAD, .name = "slide", .summary = "the same, and shows its free blocks (tests)",
    .create = slide_create, .destroy = slide_destroy, .alloc = slide_alloc, .free = slide_free,
    .walk_free = slide_walk_free,
};

/* Holes of 1 MiB at 1 and 3; a request for 2 MiB fits only once the blocks lie together. */
static const struct trace_record holes[] = {
    ALLOC(1, 1 << 20), ALLOC(2, 1 << 20), ALLOC(3, 1 << 20), ALLOC(4, 1 << 20), FREE(1), FREE(3),
    ALLOC(5, 2 << 20), FREE(2), FREE(4), FREE(5),
};

Test(policy_interface, a_compacting_policy_moves_live_blocks)
{
    const struct policy_ops *const all[] = { &policy_slide, &policy_slide_shown };
    for (size_t i = 0; i < 2; i++) {
        struct tiny_run r = { .lane = { .spec = NULL } };
        tiny_run(&r, all[i], holes, COUNT(holes), 64 << 20, true);
        cr_expect_eq(r.lane.outcome, ERR_OK, "%s", r.lane.err.text);
        cr_expect_eq(r.lane.meter.allocs, 5);
        cr_expect_eq(r.lane.meter.frees, 5);
        cr_expect_eq(r.lane.policy->count.moves, 2);
        cr_expect_eq(r.lane.meter.now.active, 0);
        cr_expect_eq(r.lane.meter.split_bytes, 0);
        tiny_close(&r);
    }
}

static enum err wrong_create(const struct policy_config *cfg, struct policy **out, struct err_detail *err)
{
    const enum err e = slide_create(cfg, out, err);
    if (e == ERR_OK)
        ((struct slide *)*out)->is_wrong = true;
    return e;
}

Test(policy_interface, a_move_of_what_is_not_live_ends_the_run)
{
    struct tiny_run r = { .lane = { .spec = NULL } };
    struct policy_ops wrong = policy_slide;
    wrong.create = wrong_create;
    tiny_run(&r, &wrong, holes, COUNT(holes), 64 << 20, false);
    cr_expect_eq(r.lane.outcome, ERR_CORRUPT);
    cr_expect_not_null(strstr(r.lane.err.text, "slot 77"), "%s", r.lane.err.text);
    tiny_close(&r);
}

struct seen {
    struct block_view at[16];
    size_t n;
};

static void see(void *arg, const struct block_view *b)
{
    struct seen *s = arg;
    cr_assert_lt(s->n, COUNT(s->at));
    s->at[s->n++] = *b;
}

Test(policy_interface, free_blocks_are_shown_with_the_live_ones_between)
{
    struct tiny_run r = { .lane = { .spec = NULL } };
    struct seen s = { .n = 0 };
    tiny_run(&r, &policy_slide_shown, holes, 6, 64 << 20, true);           /* up to the holes at 0 and 2 */
    cr_assert_not_null(r.lane.policy->ops->walk);
    cr_assert_eq(r.lane.policy->ops->walk(r.lane.policy, see, &s), ERR_OK);
    cr_assert_eq(s.n, 4);
    for (size_t i = 0; i < 4; i++) {
        cr_expect_eq(s.at[i].addr - s.at[0].addr, i << 20, "block %zu", i);
        cr_expect_eq(s.at[i].state, i % 2 == 0 ? BLOCK_FREE : BLOCK_ALLOCATED, "block %zu", i);
        cr_expect_eq(s.at[i].requested, i % 2 == 0 ? 0 : 1 << 20, "block %zu", i);
        cr_expect_eq(s.at[i].segment_addr, s.at[0].addr);
    }
    cr_expect_eq(policy_largest_free(r.lane.policy), 1 << 20);
    tiny_close(&r);
}

/* ---- host memory ---- */

static enum err spill_alloc(struct policy *p, const struct event *req, struct block *out)
{
    struct segment s;
    enum err e = device_segment_alloc(p->device, req->bytes, &s);
    if (e == ERR_DEVICE_OOM)
        e = device_host_alloc(p->device, req->bytes, &s);
    if (e == ERR_OK)
        *out = (struct block){ .addr = s.addr, .bytes = s.bytes, .segment = s.id };
    return e;
}

static void spill_free(struct policy *p, const struct event *req, const struct block *b)
{
    const struct segment s = { .addr = b->addr, .bytes = b->bytes, .id = b->segment };
    (void)req;
    if (p->device->segments[s.id].is_host)
        device_host_free(p->device, &s);
    else
        device_segment_free(p->device, &s);
}

static enum err spill_create(const struct policy_config *cfg, struct policy **out, struct err_detail *err)
{
    (void)cfg;
    (void)err;
    *out = calloc(1, sizeof **out);
    return *out != NULL ? ERR_OK : ERR_HOST_NOMEM;
}

static const struct policy_ops policy_spill = {
    POLICY_HEAD, .name = "spill", .summary = "what the card refuses goes to the host (tests)",
    .create = spill_create, .destroy = slide_destroy, .alloc = spill_alloc, .free = spill_free,
};

Test(policy_interface, host_memory_is_a_second_kind_of_memory)
{
    const struct trace_record records[] = { ALLOC(1, 6 << 20), ALLOC(2, 8 << 20), FREE(1), ALLOC(3, 4 << 20), FREE(2),
                                            FREE(3) };
    struct tiny_run r = { .lane = { .spec = NULL } };
    tiny_run(&r, &policy_spill, records, COUNT(records), 8 << 20, true);
    const struct device_usage *u = &r.lane.device->usage;
    cr_expect_eq(r.lane.outcome, ERR_OK, "%s", r.lane.err.text);
    cr_expect_eq(u->host_peak_bytes, 8 << 20);
    cr_expect_eq(u->host_bytes, 0);
    cr_expect_eq(u->reserved_peak_bytes, 6 << 20, "what is reserved is the card's alone");
    cr_expect_eq(u->page_peak_bytes, 6 << 20);
    cr_expect_eq(r.lane.meter.peak.requested, 14 << 20);
    cr_expect_eq(u->time_ns, 4 * 5, "three requests and the one that the card refused are charged");
    tiny_close(&r);
}

/* ---- threads ---- */

enum { THREADS = 3 };

/* An arena of 2 MiB for each thread. */
struct threaded {
    struct policy  base;
    struct segment arenas[THREADS];
    uint64_t       used[THREADS];
    size_t         thread;
};

static enum err threaded_create(const struct policy_config *cfg, struct policy **out, struct err_detail *err)
{
    struct threaded *t = calloc(1, sizeof *t);
    (void)cfg;
    (void)err;
    *out = &t->base;
    return t != NULL ? ERR_OK : ERR_HOST_NOMEM;
}

static enum err threaded_alloc(struct policy *p, const struct event *req, struct block *out)
{
    struct threaded *t = (struct threaded *)p;
    struct segment *arena = &t->arenas[t->thread];
    if (arena->bytes == 0 && device_segment_alloc(p->device, 2 << 20, arena) != ERR_OK)
        return ERR_DEVICE_OOM;
    *out = (struct block){ .addr = arena->addr + t->used[t->thread], .bytes = req->bytes, .segment = arena->id };
    t->used[t->thread] += req->bytes;
    return ERR_OK;
}

static void threaded_free(struct policy *p, const struct event *req, const struct block *b)
{
    (void)p;
    (void)req;
    (void)b;
}

static enum err threaded_control(struct policy *p, const struct control *c, const struct block *b,
                                 struct err_detail *err)
{
    (void)b;
    (void)err;
    if (c->kind != CONTROL_THREAD || c->number >= THREADS)
        return ERR_UNSUPPORTED;
    ((struct threaded *)p)->thread = (size_t)c->number;
    return ERR_OK;
}

static const struct policy_ops policy_threaded = {
    POLICY_HEAD, .name = "threaded", .summary = "an arena for each thread (tests)",
    .create = threaded_create, .destroy = slide_destroy, .alloc = threaded_alloc, .free = threaded_free,
    .control = threaded_control,
};

Test(policy_interface, a_policy_is_told_which_thread_requests)
{
    const struct trace_record records[] = { ALLOC(1, 8), THREAD(2), ALLOC(2, 16), ALLOC(3, 16), THREAD(0),
                                            ALLOC(4, 8) };
    struct tiny_run r = { .lane = { .spec = NULL } };
    tiny_run(&r, &policy_threaded, records, COUNT(records), 64 << 20, true);
    const struct threaded *t = (const struct threaded *)r.lane.policy;
    cr_expect_eq(r.lane.outcome, ERR_OK, "%s", r.lane.err.text);
    cr_expect_eq(t->used[0], 16);
    cr_expect_eq(t->used[1], 0);
    cr_expect_eq(t->used[2], 32);
    tiny_close(&r);
    tiny_run(&r, &policy_spill, records, COUNT(records), 64 << 20, true);
    cr_expect_eq(r.lane.unsupported[CONTROL_THREAD], 0, "who does not ask misses nothing");
    tiny_close(&r);
}

/* ---- where the program requests, and where its steps end ---- */

enum { TOLD_MOST = 8 };

/* A cache of nothing that notes what it is told. */
struct told {
    struct policy base;
    uint32_t sites[TOLD_MOST], marks[TOLD_MOST];
    size_t   n_sites, n_marks;
};

static enum err told_create(const struct policy_config *cfg, struct policy **out, struct err_detail *err)
{
    struct told *t = calloc(1, sizeof *t);
    (void)cfg;
    (void)err;
    *out = &t->base;
    return t != NULL ? ERR_OK : ERR_HOST_NOMEM;
}

static enum err told_alloc(struct policy *p, const struct event *req, struct block *out)
{
    struct told *t = (struct told *)p;
    struct segment s;
    t->sites[t->n_sites++] = p->site;
    const enum err e = device_segment_alloc(p->device, req->bytes, &s);
    if (e == ERR_OK)
        *out = (struct block){ .addr = s.addr, .bytes = req->bytes, .segment = s.id };
    return e;
}

static void told_mark(struct policy *p, uint32_t label)
{
    struct told *t = (struct told *)p;
    t->marks[t->n_marks++] = label;
}

static const struct policy_ops policy_told = {
    POLICY_HEAD, .name = "told", .summary = "notes what it is told (tests)", .needs = POLICY_NEEDS_SITES,
    .create = told_create, .destroy = slide_destroy, .alloc = told_alloc, .free = threaded_free, .mark = told_mark,
};

/* Two requests of one place, one of another, one without a stack; a step's end after each two. */
static void write_places(struct rig_trace *trace)
{
    static const char *const forward[] = { "forward model.py:3" }, *const loss[] = { "loss model.py:9" };
    struct err_detail err = { .text = "" };
    struct trace_writer *w;
    uint32_t a, b, step;
    *trace = (struct rig_trace){ .bytes = NULL };
    cr_assert_eq(trace_create(NULL, &w, &err), ERR_OK);
    cr_assert_eq(trace_put_stack(w, forward, 1, &a, &err), ERR_OK);
    cr_assert_eq(trace_put_stack(w, loss, 1, &b, &err), ERR_OK);
    cr_assert_eq(trace_put_label(w, "step", 4, &step, &err), ERR_OK);
    const struct trace_record records[] = {
        { .kind = EVENT_ALLOC, .ptr = 1, .bytes = 8, .stack = a },
        { .kind = EVENT_ALLOC, .ptr = 2, .bytes = 8, .stack = b },
        { .kind = EVENT_MARK, .label = step },
        { .kind = EVENT_ALLOC, .ptr = 3, .bytes = 8, .stack = a }, ALLOC(4, 8),
        { .kind = EVENT_MARK, .label = step },
    };
    cr_assert_eq(rig_trace_put(w, records, COUNT(records), &err), ERR_OK, "%s", err.text);
    cr_assert_eq(rig_trace_finish(trace, w, &err), ERR_OK, "%s", err.text);
}

Test(policy_interface, a_policy_is_told_call_stacks_and_marks)
{
    static char typed[] = "told";
    const struct device_config device = { .total_bytes = 64 << 20 };
    struct err_detail err = { .text = "" };
    struct policy_spec spec = { .ops = &policy_told, .typed = typed, .expanded = typed };
    struct rig_trace trace;
    struct lane lane;
    write_places(&trace);
    cr_assert_eq(lane_open(&spec, &device_sim, &device, trace.reader, 0, &lane, &err), ERR_OK, "%s", err.text);
    cr_assert_eq(replay_run(trace.reader, &lane, 1, &(struct replay_config){ .threads = 1 }, &err), ERR_OK);
    const struct told *t = (const struct told *)lane.policy;
    cr_assert_eq(t->n_sites, 4);
    cr_expect(t->sites[0] != 0 && t->sites[0] == t->sites[2] && t->sites[1] != 0 && t->sites[1] != t->sites[0]);
    cr_expect_eq(t->sites[3], 0);
    cr_assert_eq(t->n_marks, 2);
    cr_expect_eq(t->marks[0], t->marks[1]);
    lane_close(&lane);
    rig_trace_close(&trace);
}
