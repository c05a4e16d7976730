/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/* What the hot pair of `pytorch` promises beside its answers: no memory from the host except for finer bins, hints that
 * change nothing, and sets of free blocks in order however many there are. Built so that the counters below stand in
 * for malloc. */
#include "policies/parts/free_set.h"
#include "policies/spec.h"
#include "replay/engine/engine.h"
#include "loads/load.h"

#include <criterion/criterion.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- calls for memory, counted by way of the linker's --wrap ---- */

static uint64_t n_host_calls;

void *__real_malloc(size_t n);
void *__real_calloc(size_t n, size_t size);
void *__real_realloc(void *p, size_t n);
void *__wrap_malloc(size_t n);
void *__wrap_calloc(size_t n, size_t size);
void *__wrap_realloc(void *p, size_t n);

void *__wrap_malloc(size_t n)
{
    n_host_calls++;
    return __real_malloc(n);
}

void *__wrap_calloc(size_t n, size_t size)
{
    n_host_calls++;
    return __real_calloc(n, size);
}

void *__wrap_realloc(void *p, size_t n)
{
    n_host_calls++;
    return __real_realloc(p, n);
}

/* ---- a policy driven by a generated trace, without the engine ---- */

struct drive {
    struct trace_reader *in;
    void               *bytes;
    struct policy_spec  spec;
    struct lane         lane;          /* for its policy and device; its engine does not run */
    struct block       *live;
};

static void drive_open(struct drive *d, const char *kind, uint64_t events, const char *spec, uint64_t total_bytes)
{
    struct err_detail err = {.text = ""};
    struct device_config device = device_defaults();
    struct trace_writer *w;
    size_t n;
    if (total_bytes > 0)
        device.total_bytes = total_bytes;
    cr_assert_eq(trace_create(NULL, &w, &err), ERR_OK, "%s", err.text);
    cr_assert_eq(load_make(kind, events, 1, w, &err), ERR_OK, "%s", err.text);
    cr_assert_eq(trace_finish_bytes(w, &d->bytes, &n, &err), ERR_OK, "%s", err.text);
    cr_assert_eq(trace_open_bytes(d->bytes, n, &d->in, &err), ERR_OK, "%s", err.text);
    cr_assert_eq(policy_spec_parse(spec, &d->spec, &err), ERR_OK, "%s", err.text);
    cr_assert_eq(lane_open(&d->spec, &device_sim, &device, d->in, 0, &d->lane, &err), ERR_OK, "%s", err.text);
    d->live = calloc(trace_info(d->in)->peak_live, sizeof *d->live);
    cr_assert_not_null(d->live);
}

static void drive_close(struct drive *d)
{
    lane_close(&d->lane);
    policy_spec_close(&d->spec);
    trace_close(d->in);
    free(d->bytes);
    free(d->live);
}

static void drive_event(struct drive *d, const struct event *ev)
{
    struct policy *p = d->lane.policy;
    struct block *b = &d->live[ev->slot];
    if (ev->kind == EVENT_ALLOC) {
        if (p->ops->alloc(p, ev, b) != ERR_OK)
            b->bytes = 0;
    } else if (b->bytes > 0) {
        p->ops->free(p, ev, b);
        b->bytes = 0;
    }
}

static const char *const specs[] = {
    "pytorch", "pytorch:expandable", "pytorch:max-split=32MiB", "pytorch:gc=0.6,fraction=0.9", "pytorch:version=2.12",
    "pytorch:roundup=4",
};
enum { SPECS = sizeof specs / sizeof specs[0] };

/* One stream; each of its two sets gets finer bins twice. */
enum { FINER_BINS = 2 * 2 };

Test(hot_path, a_request_or_free_without_a_device_call_takes_memory_of_the_host_for_finer_bins_only)
{
    for (size_t i = 0; i < SPECS; i++) {
        struct drive d;
        struct err_detail err;
        const struct event *ev;
        size_t n = 1;
        uint64_t n_hits = 0, n_calls = 0;
        drive_open(&d, "mix:1500", 60000, specs[i], UINT64_C(24) << 30);
        while (trace_next(d.in, &ev, &n, &err) == ERR_OK && n > 0)
            for (size_t k = 0; k < n; k++) {
                const uint64_t before = n_host_calls, device_calls = d.lane.device->usage.calls;
                drive_event(&d, &ev[k]);
                const bool is_hit = d.lane.device->usage.calls == device_calls;
                n_hits += is_hit;
                n_calls += is_hit ? n_host_calls - before : 0;
            }
        cr_expect_gt(n_hits, 20000, "%s: %" PRIu64 " hits", specs[i], n_hits);
        cr_expect_leq(n_calls, FINER_BINS, "%s: %" PRIu64 " calls in %" PRIu64 " hits", specs[i], n_calls, n_hits);
        drive_close(&d);
    }
    cr_expect_gt(n_host_calls, 0, "nothing was counted at all");
}

Test(hot_path, what_a_policy_is_told_to_expect_changes_no_answer)
{
    for (size_t i = 0; i < SPECS; i++) {
        struct drive told, untold;
        struct err_detail err;
        const struct event *ev, *same;
        size_t n = 1, n_same;
        uint64_t random = 1;
        drive_open(&told, "mix:500", 20000, specs[i], UINT64_C(24) << 30);
        drive_open(&untold, "mix:500", 20000, specs[i], UINT64_C(24) << 30);
        while (trace_next(told.in, &ev, &n, &err) == ERR_OK && n > 0) {
            cr_assert_eq(trace_next(untold.in, &same, &n_same, &err), ERR_OK);
            for (size_t k = 0; k < n; k++) {
                const struct policy *p = told.lane.policy;
                random = random * UINT64_C(6364136223846793005) + 1442695040888963407;
                const struct event *any = &ev[(random >> 33) % n];       /* also what never comes, or came long ago */
                p->ops->expect(p, any, &told.live[any->slot], (random >> 32) % 2 != 0);
                drive_event(&told, &ev[k]);
                drive_event(&untold, &same[k]);
                cr_assert_eq(memcmp(&told.live[ev[k].slot], &untold.live[ev[k].slot], sizeof *told.live), 0,
                             "%s, event %zu", specs[i], k);
            }
        }
        drive_close(&told);
        drive_close(&untold);
    }
}

/* ---- sets of free blocks ---- */

enum { SET_BLOCKS = 600 };

/* Free blocks of one stream beside a plain list of them. */
struct model {
    struct block_table blocks;
    struct free_set       set;
    uint32_t in[SET_BLOCKS];
    size_t   n;
};

static bool model_before(const struct model *m, uint32_t a, uint32_t b)
{
    const struct block_entry *x = &m->blocks.at[a], *y = &m->blocks.at[b];
    if (x->size != y->size)
        return x->size < y->size;
    return x->tie < y->tie;
}

/* The least block that is behind `than` (BLOCK_NONE: any) and has `size` bytes; BLOCK_NONE when there is none. */
static uint32_t model_least(const struct model *m, uint32_t than, uint64_t size)
{
    uint32_t found = BLOCK_NONE;
    for (size_t i = 0; i < m->n; i++)
        if (m->blocks.at[m->in[i]].size >= size && (than == BLOCK_NONE || model_before(m, than, m->in[i])) &&
            (found == BLOCK_NONE || model_before(m, m->in[i], found)))
            found = m->in[i];
    return found;
}

static void model_compare(const struct model *m, uint64_t size)
{
    uint32_t b = model_least(m, BLOCK_NONE, 0), last = BLOCK_NONE;
    const uint32_t fit = model_least(m, BLOCK_NONE, size);
    cr_assert_eq(free_set_first(&m->set), b);
    cr_assert_eq(free_set_at_least(&m->set, 0, size), fit);
    cr_assert_eq(free_set_below(&m->set, 0, size), fit == b ? BLOCK_NONE : fit == BLOCK_NONE
                     ? free_set_below(&m->set, 0, UINT64_MAX) : free_set_prev(&m->set, fit));
    for (size_t i = 0; i < m->n; i++) {
        cr_assert_eq(b == BLOCK_NONE ? BLOCK_NONE : free_set_prev(&m->set, b), last);
        last = b;
        b = free_set_next(&m->set, b);
        cr_assert_eq(b, model_least(m, last, 0));
    }
    cr_assert_eq(free_set_largest(&m->set), last == BLOCK_NONE ? 0 : m->blocks.at[last].size);
}

static void model_add(struct model *m, uint64_t size, uint64_t tie)
{
    const uint32_t b = block_table_new(&m->blocks);
    m->blocks.at[b] = (struct block_entry){.size = size, .tie = tie, .flags = BLOCK_IS_USED};
    m->in[m->n++] = b;
    free_set_insert(&m->set, b);
}

static void model_remove(struct model *m, size_t i)
{
    free_set_remove(&m->set, m->in[i]);
    block_table_drop(&m->blocks, m->in[i]);
    m->in[i] = m->in[--m->n];
}

static void model_open(struct model *m)
{
    *m = (struct model){.n = 0};
    cr_assert_eq(free_set_open(&m->set, &m->blocks, NULL, 1), ERR_OK);
    cr_assert_eq(free_set_add_stream(&m->set, 0), ERR_OK);
    cr_assert_eq(block_table_reserve(&m->blocks, SET_BLOCKS + 1), ERR_OK);
}

static void model_close(struct model *m)
{
    free_set_close(&m->set);
    block_table_close(&m->blocks);
}

/* Blocks come and go; `sizes` different sizes from `smallest` on, `step` bytes apart. */
static void set_against_model(uint64_t smallest, uint64_t step, uint64_t sizes, uint64_t seed)
{
    struct model m;
    model_open(&m);
    for (unsigned i = 0; i < 6000; i++) {
        seed = seed * UINT64_C(6364136223846793005) + 1442695040888963407;
        const uint64_t r = seed >> 20;
        const unsigned goal = i / 1000 % 2 == 0 ? 95 : 5;        /* grows, shrinks, grows ... */
        if (m.n == 0 || (r % 100 < goal && m.n < SET_BLOCKS))
            model_add(&m, smallest + r / 100 % sizes * step, i * UINT64_C(0x9e3779b97f4a7c15));
        else
            model_remove(&m, r / 100 % m.n);
        if (i % 97 == 0)
            model_compare(&m, smallest + r % (sizes * step));
    }
    model_close(&m);
}

/* A release walks over a set and takes blocks out behind itself. */
static void walk_taking_out(uint64_t sizes, uint64_t seed)
{
    struct model m;
    model_open(&m);
    for (uint64_t i = 0; i < SET_BLOCKS; i++)
        model_add(&m, (UINT64_C(70) << 20) + i % sizes * 512, i * UINT64_C(0x9e3779b97f4a7c15));
    uint32_t next, last = BLOCK_NONE;
    for (uint32_t b = free_set_first(&m.set); b != BLOCK_NONE; b = next) {
        cr_assert_eq(b, model_least(&m, last, 0), "%zu blocks left", m.n);
        next = free_set_next(&m.set, b);
        seed = seed * UINT64_C(6364136223846793005) + 1442695040888963407;
        size_t i = 0;
        while (m.in[i] != b)
            i++;
        if (seed >> 62 != 0)
            model_remove(&m, i);
        else
            last = b;
    }
    cr_assert_gt(m.n, SET_BLOCKS / 8);
    model_compare(&m, UINT64_C(70) << 20);
    model_close(&m);
}

Test(free_set, a_walk_that_takes_blocks_out_behind_itself_keeps_the_order)
{
    walk_taking_out(1, 4);
    walk_taking_out(7, 5);
    walk_taking_out(300, 6);
}

enum look { LOOK_AT_LEAST, LOOK_BELOW, LOOK_LARGEST, LOOKS };

/* Each block goes in front of all others, which takes no step; what looks for the last one would take them all. */
static void list_grown_from_its_front(enum look look)
{
    struct model m;
    model_open(&m);
    const uint64_t first = UINT64_C(70) << 20, last = first + (SET_BLOCKS - 1) * 512;
    for (uint64_t i = 0; i < SET_BLOCKS; i++)
        model_add(&m, last - i * 512, i);
    const struct free_bins *f = free_set_bins(&m.set, 0);
    const unsigned bin = bin_in(f, first);
    cr_assert_eq(bin, bin_in(f, last));
    cr_assert_not(bin_is_long(f, bin));
    if (look == LOOK_AT_LEAST)
        cr_assert_eq(m.blocks.at[free_set_at_least(&m.set, 0, last)].size, last);
    else if (look == LOOK_BELOW)
        cr_assert_eq(m.blocks.at[free_set_below(&m.set, 0, last)].size, last - 512);
    else
        cr_assert_eq(free_set_largest(&m.set), last);
    cr_assert(bin_is_long(f, bin), "whoever looks so next takes all steps again");
    model_compare(&m, last);
    model_close(&m);
}

Test(free_set, nobody_walks_a_long_list_twice)
{
    for (enum look look = LOOK_AT_LEAST; look < LOOKS; look++)
        list_grown_from_its_front(look);
}

Test(free_set, it_is_in_order_with_many_equal_blocks)
{
    set_against_model(512, 512, 2, 1);
}

Test(free_set, it_is_in_order_with_many_blocks_of_neighbouring_sizes)
{
    set_against_model(UINT64_C(70) << 20, 512, 200, 2);
}

Test(free_set, it_is_in_order_over_many_bins)
{
    set_against_model(512, 4608, 4000, 3);
}
