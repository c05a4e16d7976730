/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/* Small requests lie in pages where NVIDIA's driver put them (tests/data, archive `driver`). */
#include "sim/pages.h"

#include "base/units.h"
#include "sim/device.h"

#include <criterion/criterion.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

enum { REQUESTS_MAX = 1000 };

static uint64_t number(const json_t *array, size_t i)
{
    return (uint64_t)json_integer_value(json_array_get(array, i));
}

/* What a case holds of small requests, here and on the card. */
struct program {
    struct pages *pages;
    uint32_t piece[REQUESTS_MAX];            /* PAGES_NONE: not there, or not small */
    uint64_t card_page[4 * REQUESTS_MAX];    /* by our page: where the card's page begins; 0: no page */
};

/* Whether a request lies where it does on the card: in the same page as others, and as far from its start. */
static bool is_in_place(struct program *p, uint32_t piece, uint64_t card_addr)
{
    uint32_t page;
    const uint64_t offset = pages_offset(p->pages, piece, &page), card_page = card_addr - offset;
    cr_assert_lt(page, 4 * REQUESTS_MAX);
    if (p->card_page[page] == 0)
        p->card_page[page] = card_page;
    return card_addr % DEVICE_PAGE_BYTES == offset && p->card_page[page] == card_page;
}

/* Plays a case; the number of small requests. */
static size_t play(const json_t *c)
{
    const json_t *ops = json_object_get(c, "ops"), *answers = json_object_get(c, "answers");
    const char *name = json_string_value(json_object_get(c, "name"));
    static struct program p;
    size_t n = 0;
    memset(&p, 0, sizeof p);
    memset(p.piece, 0xff, sizeof p.piece);
    cr_assert_eq(pages_create(&p.pages), ERR_OK);
    for (size_t i = 0; i < json_array_size(ops); i++) {
        const json_t *op = json_array_get(ops, i);
        const uint64_t id = number(op, 1), bytes = number(op, 2);
        cr_assert_lt(id, REQUESTS_MAX);
        if (strcmp(json_string_value(json_array_get(op, 0)), "free") == 0) {
            uint32_t page;
            if (p.piece[id] == PAGES_NONE)
                continue;
            (void)pages_offset(p.pages, p.piece[id], &page);
            if (pages_take(p.pages, p.piece[id]))
                p.card_page[page] = 0;
            p.piece[id] = PAGES_NONE;
        } else if (bytes <= PAGES_SHARED_MAX) {
            const bool has_room = pages_have_room(p.pages, bytes);
            cr_assert_eq(pages_put(p.pages, bytes, &p.piece[id]), ERR_OK);
            const bool is_right = is_in_place(&p, p.piece[id], number(json_array_get(answers, i), 0));
            cr_assert(is_right, "%s, operation %zu: %" PRIu64 " bytes, %s", name, i, bytes,
                      has_room ? "into a hole" : "into a new page");
            n++;
        }
    }
    pages_destroy(p.pages);
    return n;
}

Test(pages, requests_lie_where_the_driver_put_them)
{
    FILE *f = fopen(GOLDEN_DIR "/driver/mallocs.jsonl", "r");
    size_t n = 0;
    cr_assert_not_null(f);
    for (json_t *c; (c = json_loadf(f, JSON_DISABLE_EOF_CHECK, NULL)) != NULL; json_decref(c))
        n += play(c);
    cr_expect_gt(n, 4000);
    fclose(f);
}

Test(pages, a_page_that_is_empty_goes_back)
{
    struct pages *p;
    uint32_t piece[300];
    cr_assert_eq(pages_create(&p), ERR_OK);
    for (uint32_t i = 0; i < 300; i++)
        cr_assert_eq(pages_put(p, 1 * MIB, &piece[i]), ERR_OK);
    cr_expect_not(pages_have_room(p, 1), "two requests fill a page");
    cr_expect_not(pages_take(p, piece[140]));
    cr_expect(pages_have_room(p, 1 * MIB));
    cr_expect_not(pages_have_room(p, 1 * MIB + 1));
    cr_expect(pages_take(p, piece[141]));
    cr_expect_not(pages_have_room(p, 1), "an empty page is the driver's again");
    pages_destroy(p);
    pages_destroy(NULL);
}
