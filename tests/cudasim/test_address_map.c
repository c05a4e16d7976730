/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/* The simulated CUDA's map of addresses, against an array of bytes, and how deep it gets. */
#include "cudasim/core/address_map.h"
#include "tests/random_draws.h"

#include <criterion/criterion.h>
#include <stdlib.h>

enum { SPACE = 400, LENGTH = 12 };

/* The extent that each byte is of: its first address + 1; 0: none. */
struct model {
    uint64_t of[SPACE + 1];
};

static bool is_vacant(const struct model *model, uint64_t addr, uint64_t bytes)
{
    for (uint64_t i = addr; i < addr + bytes && i < SPACE; i++)
        if (model->of[i] != 0)
            return false;
    return true;
}

static bool begins_at(const struct model *model, uint64_t addr)
{
    return model->of[addr] == addr + 1;
}

static void fill(struct model *model, uint64_t addr, uint64_t bytes, uint64_t with)
{
    for (uint64_t i = addr; i < addr + bytes; i++)
        model->of[i] = with;
}

/* Everything that a map can be asked about each address. */
static void expect_same(const struct address_map *m, const struct model *model)
{
    for (uint64_t addr = 0; addr < SPACE; addr++) {
        const struct address_extent *e = address_map_find(m, addr);
        cr_assert_eq(e == NULL ? 0 : e->addr + 1, model->of[addr]);
        cr_assert_eq(address_map_at(m, addr) != NULL, begins_at(model, addr));
        cr_assert_eq(address_map_overlaps(m, addr, LENGTH), !is_vacant(model, addr, LENGTH));
        uint64_t below = addr, from = addr;
        while (below > 0 && !begins_at(model, below - 1))
            below--;
        while (from < SPACE && !begins_at(model, from))
            from++;
        e = address_map_below(m, addr);
        cr_assert_eq(e == NULL ? 0 : e->addr + 1, below);
        e = address_map_from(m, addr);
        cr_assert_eq(e == NULL ? SPACE : e->addr, from);
    }
}

Test(address_map, it_answers_as_an_array_of_bytes_does)
{
    enum { STEPS = 2000 };
    static struct model model;
    struct address_map m = { .n = 0 };
    uint64_t random = 20261;
    for (int i = 0; i < STEPS; i++) {
        const uint64_t addr = random_below(&random, SPACE - LENGTH), bytes = 1 + random_below(&random, LENGTH);
        struct address_extent *e = address_map_find(&m, addr);
        if (e != NULL) {
            cr_assert_eq(e->value, &model.of[e->addr]);
            fill(&model, e->addr, e->bytes, 0);
            address_map_remove(&m, e);
        } else if (is_vacant(&model, addr, bytes)) {
            cr_assert(address_map_reserve(&m));
            address_map_put(&m, addr, bytes, &model.of[addr]);
            fill(&model, addr, bytes, addr + 1);
        }
        if (i % 20 == 0)
            expect_same(&m, &model);
    }
    free(m.nodes);
}

/* Steps from the top to the extent at an address. */
static int depth_of(const struct address_map *m, uint64_t addr)
{
    int depth = 0;
    for (uint32_t i = m->root; m->nodes[i].extent.addr != addr; depth++)
        i = m->nodes[i].below[m->nodes[i].extent.addr < addr];
    return depth;
}

static int deepest(const struct address_map *m)
{
    int deepest = 0;
    const struct address_extent *e;
    for (uint64_t addr = 0; (e = address_map_from(m, addr)) != NULL; addr = e->addr + 1) {
        const int depth = depth_of(m, e->addr);
        deepest = depth > deepest ? depth : deepest;
    }
    return deepest;
}

Test(address_map, it_stays_shallow_whatever_the_order)
{
    enum { N = 100000, DEEPEST = 64, STEP = 0x100 };         /* a balanced tree of as many has 17 levels */
    struct address_map m = { .n = 0 };
    for (int is_falling = 0; is_falling < 2; is_falling++) {
        for (uint64_t i = 0; i < N; i++) {
            cr_assert(address_map_reserve(&m));
            address_map_put(&m, STEP * (is_falling ? N - i : i + 1), 1, NULL);
        }
        cr_expect_lt(deepest(&m), DEEPEST);
        for (uint64_t i = 1; i <= N / 2; i++)
            address_map_remove(&m, address_map_at(&m, STEP * i));
        cr_expect_lt(deepest(&m), DEEPEST);
        for (uint64_t i = N / 2 + 1; i <= N; i++)
            address_map_remove(&m, address_map_at(&m, STEP * i));
        cr_expect_null(address_map_from(&m, 0));
        cr_expect_leq(m.n, N + 1, "vacant nodes are used again");
    }
    free(m.nodes);
}
