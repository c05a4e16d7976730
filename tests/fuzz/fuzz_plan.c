/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * Fuzz target: a plan, and following it: the first bytes are the requests of a program, the rest is the plan.
 */
#include "base/units.h"
#include "policies/described/plan_follow.h"
#include "tests/fuzz/fuzz.h"

#include <string.h>

enum { FUZZ_REQUESTS = 16 };

/* Follows a plan by its own sizes, each of which may be one row too early or too late. */
static void follow(const struct plan_table *table, const uint8_t *turns)
{
    struct plan_follow f;
    if (plan_follow_open(&f, table) != ERR_OK)
        return;
    for (size_t i = 0; i < 4 * table->n; i++) {
        const size_t at = (i + turns[i % FUZZ_REQUESTS]) % table->n;
        const struct plan_place *row = plan_follow_request(&f, table->at[at].bytes);
        FUZZ_EXPECT(row == NULL || (row >= table->at && row < table->at + table->n));
        FUZZ_EXPECT(row == NULL || align_up(row->bytes, PLAN_PLACE_UNIT) ==
                                       align_up(table->at[at].bytes, PLAN_PLACE_UNIT));
        FUZZ_EXPECT(f.next <= table->n);
    }
    plan_follow_close(&f);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    struct plan_table table = { .n = 0 };
    struct err_detail err = { .text = "" };
    if (n < FUZZ_REQUESTS)
        return 0;
    const char *text = (const char *)data + FUZZ_REQUESTS;
    if (plan_table_read(text, n - FUZZ_REQUESTS, "own.plan", 0, &table, &err) != ERR_OK) {
        FUZZ_EXPECT(strncmp(err.text, "own.plan: ", 10) == 0 && table.at == NULL);
        return 0;
    }
    FUZZ_EXPECT(table.loop <= table.n);
    for (size_t i = 0; i < table.n; i++)
        FUZZ_EXPECT(table.at[i].bytes > 0 && table.at[i].offset + table.at[i].bytes <= table.arena_bytes);
    if (table.n > 0)
        follow(&table, data);
    plan_table_close(&table);
    return 0;
}
