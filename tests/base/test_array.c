/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * Growing arrays: the elements stay, the room is known, and a refusal changes nothing.
 */
#include "base/array.h"

#include <criterion/criterion.h>
#include <stdint.h>
#include <stdlib.h>

Test(array, elements_survive_growth)
{
    size_t room = 0;
    uint32_t *at = NULL;
    for (uint32_t n = 0; n < 1000; n++) {
        uint32_t *more = array_grow(at, n, &room, sizeof *at);
        cr_assert_not_null(more);
        cr_assert_gt(room, n);
        at = more;
        at[n] = n;
    }
    for (uint32_t i = 0; i < 1000; i++)
        cr_expect_eq(at[i], i);
    free(at);
}

Test(array, a_reservation_fits_what_was_asked_for_and_is_kept_while_it_fits)
{
    size_t room = 0;
    uint64_t *at = array_reserve(NULL, 0, 1000, &room, sizeof *at);
    cr_assert_not_null(at);
    cr_expect_geq(room, 1000);
    const size_t first_room = room;
    cr_expect_eq(array_reserve(at, 10, room - 10, &room, sizeof *at), at);
    cr_expect_eq(room, first_room);
    free(at);
}

Test(array, a_size_beyond_all_memory_is_refused_and_leaves_the_array)
{
    size_t room = 0;
    unsigned char *at = array_grow(NULL, 0, &room, 1);
    const size_t first_room = room;
    at[0] = 7;
    cr_expect_null(array_reserve(at, 1, SIZE_MAX, &room, 1));
    cr_expect_null(array_reserve(at, 1, SIZE_MAX / 8, &room, 16));
    cr_expect_eq(room, first_room);
    cr_expect_eq(at[0], 7);
    free(at);
}
