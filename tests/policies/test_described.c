/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * Policies "as described" are asked what their descriptions promise: that nothing hangs on where the driver puts
 * segments, that a freed block is found again, that free neighbours become one block, how much rounding may take, and
 * which block a fit is.
 */
#include "tests/rig.h"

#include "base/random.h"

#include <stdlib.h>

enum { STEPS = 4000, LIVE = 200, REPEATS = 100, PARTS = 16 };
#define CARD_BYTES (UINT64_C(3) << 30)

/* `rounding`: the most that a block of a request of 1 MiB or more has above it, as a share of the request; `slack`: and
 * in bytes. */
static const struct described {
    const char *name;
    double      rounding;
    uint64_t    slack;
    bool        coalesces;
} described[] = {
    {"first-fit", 0, 511, true},                     /* Knuth: exact but for the unit */
    {"next-fit", 0, 511, true},
    {"worst-fit", 0, 511, true},
    {"tlsf", 1.0 / 32, 511, true},                   /* Masmano et al.: 32 classes to each power of two */
    {"buddy", 1, 0, true},                           /* Knowlton: below twice the request */
    {"jemalloc-like", 0.25, 511, true},              /* four classes to each doubling: a fifth of the block */
    {"neuron", 0.25, 511, true},
    {"stalloc", 0, 511, true},
    {"gmlake", 0, (2 << 20) - 1, true},              /* whole pages */
    {"mlx", 0, 16383, false},                        /* whole pages; buffers are never cut or joined */
    {"mps", 0, (32 << 20) + 255, false},             /* a cached buffer may be 32 MiB larger, and is never cut */
};
enum { DESCRIBED = sizeof described / sizeof described[0] };

/* ---- a random program ---- */

struct placed {
    uint32_t segment;
    uint64_t offset, bytes;
    bool     is_refused;
};

static uint64_t random_bytes(uint64_t *random)
{
    const uint64_t kind = random_next(random) % 8;
    const uint64_t most = kind < 5 ? MIB : kind < 7 ? 24 * MIB : 200 * MIB;
    return 1 + random_next(random) % most;
}

/* Runs the same program of requests, frees and flushes; out[i] says where the i-th request lies. */
static void run_program(const char *policy, bool rises, struct placed *out)
{
    static const uint64_t few[] = {5 * MIB, 6 * MIB + 512, 130 * MIB};       /* sizes that come again and again */
    struct rig r;
    struct block blocks[LIVE];
    uint64_t bytes[LIVE] = {0}, random = 7;
    rig_open(&r, &(struct rig_config){.policy = policy, .total_bytes = CARD_BYTES, .rises = rises});
    for (int step = 0; step < STEPS; step++) {
        const uint32_t slot = (uint32_t)(random_next(&random) % LIVE);
        const uint64_t wanted = random_next(&random) % 2 == 0 ? few[random_next(&random) % 3] : random_bytes(&random);
        out[step] = (struct placed){.is_refused = true};
        if (random_next(&random) % 500 == 0)
            rig_flush(&r);
        if (bytes[slot] != 0) {
            rig_free(&r, EVENT_FREE, slot, 0, bytes[slot], &blocks[slot]);
            bytes[slot] = 0;
        } else if (rig_alloc(&r, slot, 0, wanted, &blocks[slot]) == ERR_OK) {
            const struct block *b = &blocks[slot];
            bytes[slot] = wanted;
            out[step] = (struct placed){.segment = b->segment, .bytes = b->bytes,
                                        .offset = b->addr - r.device->segments[b->segment].addr};
        }
    }
    rig_check(&r);
    rig_close(&r);
}

/* Linux's driver puts a new segment below the others, others put it above. */
Test(described, no_placement_hangs_on_the_direction_of_addresses)
{
    struct placed *falls = calloc(STEPS, sizeof *falls), *rises = calloc(STEPS, sizeof *rises);
    cr_assert(falls != NULL && rises != NULL);
    for (int i = 0; i < DESCRIBED; i++) {
        run_program(described[i].name, false, falls);
        run_program(described[i].name, true, rises);
        for (int step = 0; step < STEPS; step++)
            cr_assert(falls[step].segment == rises[step].segment && falls[step].offset == rises[step].offset &&
                      falls[step].bytes == rises[step].bytes && falls[step].is_refused == rises[step].is_refused,
                      "%s, step %d", described[i].name, step);
    }
    free(falls);
    free(rises);
}

/* The list above has every policy whose summary says so. */
Test(described, all_of_them_are_here)
{
    for (size_t i = 0; policy_at(i) != NULL; i++) {
        bool is_here = strstr(policy_at(i)->summary, "(as described") == NULL;
        for (int k = 0; k < DESCRIBED && !is_here; k++)
            is_here = strcmp(described[k].name, policy_at(i)->name) == 0;
        cr_expect(is_here, "%s", policy_at(i)->name);
    }
}

/* ---- reuse, rounding, coalescing ---- */

static const uint64_t sizes[] = {512, 3 * 512, 100000, MIB, MIB + 1, 7 * MIB + 123, 20 * MIB, 130 * MIB, 257 * MIB};
enum { SIZES = sizeof sizes / sizeof sizes[0] };

/* A block that was freed serves the next request of its size, alone in its segment and between live neighbours. */
static void find_again(const struct described *d, uint64_t bytes)
{
    struct rig r;
    struct block low, b, high, again;
    rig_open(&r, &(struct rig_config){.policy = d->name});
    cr_assert_eq(rig_alloc(&r, 0, 0, bytes, &low), ERR_OK);
    cr_assert_eq(rig_alloc(&r, 1, 0, bytes, &b), ERR_OK);
    cr_assert_eq(rig_alloc(&r, 2, 0, bytes, &high), ERR_OK);
    const uint64_t reserved = r.device->usage.reserved_bytes;
    for (int i = 0; i < REPEATS; i++) {
        rig_free(&r, EVENT_FREE, 1, 0, bytes, &b);
        cr_assert_eq(rig_alloc(&r, 1, 0, bytes, &again), ERR_OK);
        b = again;
    }
    cr_expect_eq(r.device->usage.reserved_bytes, reserved, "%s, %llu bytes", d->name, (unsigned long long)bytes);
    if (bytes >= MIB)
        cr_expect_leq((double)(b.bytes - bytes), d->rounding * (double)bytes + (double)d->slack, "%s, %llu bytes",
                      d->name, (unsigned long long)bytes);
    rig_close(&r);
}

Test(described, a_freed_block_is_found_again_and_rounding_keeps_to_its_bound)
{
    for (int i = 0; i < DESCRIBED; i++)
        for (int k = 0; k < SIZES; k++)
            find_again(&described[i], sizes[k]);
}

/* PARTS requests of 2 MiB take 32 MiB. Freed in any order they serve one request of 32 MiB, and a flush gives all
 * back. */
Test(described, free_neighbours_become_one_block)
{
    uint64_t random = 3;
    for (int i = 0; i < DESCRIBED; i++)
        for (int round = 0; round < 8; round++) {
            struct rig r;
            struct block parts[PARTS], whole;
            rig_open(&r, &(struct rig_config){.policy = described[i].name});
            if (described[i].coalesces) {             /* a segment of 32 MiB, whatever the policy asks for by itself */
                cr_assert_eq(rig_alloc(&r, PARTS, 0, 32 * MIB, &whole), ERR_OK);
                rig_free(&r, EVENT_FREE, PARTS, 0, 32 * MIB, &whole);
            }
            for (uint32_t k = 0; k < PARTS; k++)
                cr_assert_eq(rig_alloc(&r, k, 0, 2 * MIB, &parts[k]), ERR_OK);
            const uint64_t reserved = r.device->usage.reserved_bytes;
            const uint32_t step = (uint32_t)(random_next(&random) | 1) % PARTS, start = (uint32_t)random_next(&random);
            for (uint32_t k = 0; k < PARTS; k++) {
                const uint32_t part = (start + k * (step | 1)) % PARTS;
                rig_free(&r, EVENT_FREE, part, 0, 2 * MIB, &parts[part]);
            }
            cr_assert_eq(rig_alloc(&r, 0, 0, 32 * MIB, &whole), ERR_OK);
            if (described[i].coalesces)
                cr_expect_eq(r.device->usage.reserved_bytes, reserved, "%s", described[i].name);
            rig_free(&r, EVENT_FREE, 0, 0, 32 * MIB, &whole);
            rig_flush(&r);
            cr_expect_eq(r.device->usage.reserved_bytes, 0, "%s", described[i].name);
            rig_close(&r);
        }
}

/* ---- which block a fit is: a reader's version of Knuth's rules ---- */

/* What is free or taken, in order: the segments by age, each from its start. Segments do not touch. */
struct stretch {
    uint32_t segment;
    uint64_t offset, bytes;
    bool     is_taken;
};

struct reader {
    struct stretch at[4 * LIVE];
    int n;
    uint32_t next_segment;                           /* next fit begins its search at or after this place */
    uint64_t next_offset;
};

static bool is_before(const struct stretch *s, uint32_t segment, uint64_t offset)
{
    return s->segment != segment ? s->segment < segment : s->offset < offset;
}

/* The stretch that the rule takes for `bytes`; -1: none is large enough. */
static int reader_find(const struct reader *m, const char *rule, uint64_t bytes)
{
    int first = -1, next = -1, worst = -1;
    for (int i = m->n; i-- > 0;) {
        if (m->at[i].is_taken || m->at[i].bytes < bytes)
            continue;
        first = i;
        worst = worst < 0 || m->at[i].bytes >= m->at[worst].bytes ? i : worst;
        next = is_before(&m->at[i], m->next_segment, m->next_offset) ? next : i;
    }
    return strcmp(rule, "worst-fit") == 0 ? worst : strcmp(rule, "next-fit") == 0 && next >= 0 ? next : first;
}

/* Cuts the first `bytes` off. */
static void reader_take(struct reader *m, int i, uint64_t bytes)
{
    if (m->at[i].bytes > bytes) {
        memmove(&m->at[i + 1], &m->at[i], (size_t)(m->n++ - i) * sizeof m->at[0]);
        m->at[i + 1].offset += bytes;
        m->at[i + 1].bytes -= bytes;
    }
    m->at[i].bytes = bytes;
    m->at[i].is_taken = true;
}

static void reader_free(struct reader *m, uint32_t segment, uint64_t offset)
{
    for (int i = 0; i < m->n; i++)
        if (m->at[i].segment == segment && m->at[i].offset == offset)
            m->at[i].is_taken = false;
    for (int i = 0; i + 1 < m->n;) {
        struct stretch *low = &m->at[i], *high = low + 1;
        if (low->is_taken || high->is_taken || low->segment != high->segment) {
            i++;
            continue;
        }
        low->bytes += high->bytes;
        memmove(high, high + 1, (size_t)(--m->n - i - 1) * sizeof m->at[0]);
    }
}

/* No segment is ever given back, so a segment's number is its age. */
static void compare_with_reader(const char *rule)
{
    struct rig r;
    struct block blocks[LIVE];
    uint64_t bytes[LIVE] = {0}, random = 11;
    struct reader *m = calloc(1, sizeof *m);
    cr_assert_not_null(m);
    rig_open(&r, &(struct rig_config){.policy = rule});
    for (int step = 0; step < STEPS; step++) {
        const uint32_t slot = (uint32_t)(random_next(&random) % LIVE);
        struct block *b = &blocks[slot];
        if (bytes[slot] != 0) {
            reader_free(m, b->segment, b->addr - r.device->segments[b->segment].addr);
            rig_free(&r, EVENT_FREE, slot, 0, bytes[slot], b);
            bytes[slot] = 0;
            continue;
        }
        bytes[slot] = 512 * (1 + random_next(&random) % (random_next(&random) % 4 == 0 ? 40000 : 4000));
        cr_assert_eq(rig_alloc(&r, slot, 0, bytes[slot], b), ERR_OK);
        const uint64_t offset = b->addr - r.device->segments[b->segment].addr;
        int i = reader_find(m, rule, bytes[slot]);
        if (i < 0) {
            i = m->n++;
            m->at[i] = (struct stretch){.segment = b->segment, .bytes = r.device->segments[b->segment].bytes};
        } else {
            m->next_segment = m->at[i].segment;
            m->next_offset = m->at[i].offset + bytes[slot];
        }
        cr_assert(m->at[i].segment == b->segment && m->at[i].offset == offset, "%s, step %d", rule, step);
        reader_take(m, i, bytes[slot]);
    }
    rig_close(&r);
    free(m);
}

Test(described, the_fits_take_the_block_that_knuth_names)
{
    compare_with_reader("first-fit");
    compare_with_reader("next-fit");
    compare_with_reader("worst-fit");
}
