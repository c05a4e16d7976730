/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/* In which order the recorded card handed out addresses, as its segments and ranges show. */
#include "replay/results/recorded_addresses.h"

#include "base/units.h"
#include "tests/engine_rig.h"

#include <criterion/criterion.h>

#define ALLOC TRACE_SEGMENT_ALLOC
#define MAP   TRACE_SEGMENT_MAP
#define UNMAP TRACE_SEGMENT_UNMAP

/* What was recorded of a segment; addresses are in MiB above 1 TiB. No bytes: the end. */
struct piece {
    enum trace_segment_kind kind;
    uint64_t addr_mib, mib;
};

static bool pieces_rose(const struct piece *pieces)
{
    static const uint64_t pool[2] = { 0, 0 };
    struct err_detail err = { .text = "" };
    struct trace_writer *w;
    struct rig_trace t = { .bytes = NULL };
    bool is_rising;
    cr_assert_eq(trace_create(NULL, &w, &err), ERR_OK);
    cr_assert_eq(trace_put(w, &(struct trace_record){ .kind = EVENT_ALLOC, .ptr = 1, .bytes = 1 }, &err), ERR_OK);
    for (uint64_t i = 0; pieces[i].mib > 0; i++)
        cr_assert_eq(trace_put_segment_event(w, pieces[i].kind, TIB + pieces[i].addr_mib * MIB, pieces[i].mib * MIB, 0,
                                             pool, i, &err), ERR_OK, "%s", err.text);
    cr_assert_eq(rig_trace_finish(&t, w, &err), ERR_OK, "%s", err.text);
    cr_assert_eq(addresses_rose(t.reader, &is_rising, &err), ERR_OK, "%s", err.text);
    rig_trace_close(&t);
    return is_rising;
}


Test(recorded_addresses, four_of_five_pairs_of_large_segments_show_it)
{
    cr_expect(pieces_rose((struct piece[]){ { ALLOC, 0, 20 }, { ALLOC, 20, 40 }, { ALLOC, 10, 20 }, { ALLOC, 60, 20 },
                                            { ALLOC, 80, 20 }, { ALLOC, 100, 20 }, { 0 } }));
    cr_expect_not(pieces_rose((struct piece[]){ { ALLOC, 0, 20 }, { ALLOC, 20, 40 }, { ALLOC, 60, 20 }, { 0 } }),
                  "two pairs may be chance");
    cr_expect_not(pieces_rose((struct piece[]){ { ALLOC, 0, 2 }, { ALLOC, 2, 2 }, { ALLOC, 4, 2 }, { ALLOC, 6, 2 },
                                                { ALLOC, 8, 2 }, { 0 } }), "small ones share a span, which rises");
}

Test(recorded_addresses, a_second_range_above_the_first_shows_it)
{
    cr_expect(pieces_rose((struct piece[]){ { MAP, 0, 40 }, { MAP, 40, 20 }, { MAP, 580, 20 }, { 0 } }));
    cr_expect_not(pieces_rose((struct piece[]){ { MAP, 580, 40 }, { MAP, 620, 20 }, { MAP, 0, 20 }, { 0 } }));
    cr_expect_not(pieces_rose((struct piece[]){ { MAP, 0, 40 }, { MAP, 40, 20 }, { UNMAP, 0, 60 }, { MAP, 0, 80 },
                                                { 0 } }), "one range alone shows nothing");
}

Test(recorded_addresses, a_range_at_addresses_that_were_given_up_shows_nothing)
{
    cr_expect_not(pieces_rose((struct piece[]){ { MAP, 1200, 40 }, { MAP, 600, 40 }, { UNMAP, 1200, 40 },
                                                { MAP, 1200, 20 }, { 0 } }));
}
