/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/* The producer: places come in order, a lent place is not filled, and nothing is filled during a rest. */
#include "base/producer.h"

#include <criterion/criterion.h>
#include <stdatomic.h>

enum { PLACES = 3 };

/* Fills places with ascending numbers up to `last`. */
struct counter {
    int        place[PLACES];
    int        next, last;
    atomic_int lent;                                     /* place; -1: none */
    atomic_int n_spoilt;                                 /* fills of the lent place */
};

static bool count(void *arg, unsigned place)
{
    struct counter *c = arg;
    c->n_spoilt += (int)place == c->lent;
    c->place[place] = c->next++;
    return c->next <= c->last;
}

/* Takes all places up to the end and expects ascending numbers from `expected` on; returns the next number. */
static int take_all(struct producer *p, struct counter *c, int expected)
{
    unsigned place;
    for (c->lent = -1; producer_take(p, &place); expected++, c->lent = -1) {
        c->lent = (int)place;
        cr_expect_eq(c->place[place], expected);
    }
    return expected;
}

Test(producer, all_places_come_in_order_and_the_lent_one_is_left_alone)
{
    struct counter c = {.last = 20000, .lent = -1};
    struct producer *p = producer_start(PLACES, count, &c);
    cr_assert_not_null(p);
    cr_expect_eq(take_all(p, &c, 0), c.last + 1);
    cr_expect_eq(take_all(p, &c, 0), 0, "nothing follows the end");
    cr_expect_eq(c.n_spoilt, 0);
    producer_stop(p);
}

Test(producer, at_rest_nothing_is_filled_and_what_was_filled_is_still_there)
{
    struct counter c = {.last = 1000, .lent = -1};
    struct producer *p = producer_start(PLACES, count, &c);
    unsigned place;
    cr_assert_not_null(p);
    for (int i = 0; i < 500; i++) {
        cr_assert(producer_take(p, &place));
        producer_rest(p);
        cr_expect_eq(c.place[place], i);
        cr_expect(c.next > i && c.next <= i + PLACES, "%d filled after %d were taken", c.next, i + 1);
    }
    cr_expect_eq(take_all(p, &c, 500), c.last + 1);
    producer_stop(p);
}

Test(producer, one_that_begins_anew_forgets_what_it_filled)
{
    struct counter c = {.last = 100, .lent = -1};
    struct producer *p = producer_start(PLACES, count, &c);
    unsigned place;
    cr_assert_not_null(p);
    for (int round = 0; round < 200; round++) {
        producer_begin_anew(p);
        c.next = 0;
        for (int i = 0; i < round; i++)
            cr_assert_eq(producer_take(p, &place), i <= c.last);
    }
    producer_begin_anew(p);
    c.next = 0;
    cr_expect_eq(take_all(p, &c, 0), c.last + 1);
    producer_stop(p);
}

Test(producer, one_that_was_never_asked_can_be_stopped)
{
    struct counter c = {.last = 1, .lent = -1};
    producer_stop(producer_start(PLACES, count, &c));
    cr_expect_eq(c.next, 0);
    producer_rest(NULL);
    producer_begin_anew(NULL);
    producer_stop(NULL);
}
