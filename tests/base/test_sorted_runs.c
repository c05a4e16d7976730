/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/* Sorting beyond memory: every record comes out once and in order, however small the memory;
 * and again after a rewind. */
#include "base/sorted_runs.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

struct record { uint64_t key, order; };

static int by_key(const void *a, const void *b)
{
    const struct record *x = a, *y = b;
    if (x->key != y->key)
        return x->key < y->key ? -1 : 1;
    return x->order < y->order ? -1 : x->order > y->order;
}

/* Sorts n records in so many bytes, twice read; the sum of the orders shows that none is lost or doubled. */
static void expect_sorted(uint64_t n, size_t memory_bytes)
{
    struct sorted_runs *s = NULL;
    struct err_detail err = { .text = "" };
    uint64_t seed = 11;
    cr_assert_eq(sorted_runs_create(sizeof(struct record), by_key, memory_bytes, &s, &err), ERR_OK, "%s", err.text);
    for (uint64_t i = 0; i < n; i++) {
        seed = seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
        const struct record r = { .key = seed >> 33 & 0xffff, .order = i };
        cr_assert_eq(sorted_runs_put(s, &r, &err), ERR_OK, "%s", err.text);
    }
    for (int reading = 0; reading < 2; reading++) {
        struct record last = { 0, 0 };
        const void *record;
        uint64_t got = 0, sum = 0;
        cr_assert_eq(sorted_runs_rewind(s, &err), ERR_OK, "%s", err.text);
        while (sorted_runs_next(s, &record, &err) == ERR_OK && record != NULL) {
            cr_assert(got == 0 || by_key(&last, record) < 0, "record %llu of %llu in %zu bytes",
                      (unsigned long long)got, (unsigned long long)n, memory_bytes);
            last = *(const struct record *)record;
            sum += last.order;
            got++;
        }
        cr_expect(got == n && sum == n * (n - (n > 0)) / 2);
    }
    sorted_runs_destroy(s);
}

Test(sorted_runs, all_records_come_out_in_order_whatever_the_memory)
{
    static const uint64_t counts[] = { 0, 1, 2, 255, 256, 257, 100000 };
    for (size_t i = 0; i < sizeof counts / sizeof counts[0]; i++) {
        expect_sorted(counts[i], 1 << 24);
        expect_sorted(counts[i], 4096);
        expect_sorted(counts[i] % 3000, 0);
    }
}

Test(sorted_runs, a_folder_that_is_not_there_is_named)
{
    struct sorted_runs *s = NULL;
    struct err_detail err = { .text = "" };
    enum err e = ERR_OK;
    setenv("TMPDIR", "/nonexistent", 1);
    cr_assert_eq(sorted_runs_create(sizeof(struct record), by_key, 0, &s, &err), ERR_OK);
    for (uint64_t i = 0; i < 2 && e == ERR_OK; i++)
        e = sorted_runs_put(s, &(struct record){ .key = i }, &err);
    cr_expect_eq(e, ERR_IO);
    cr_expect_not_null(strstr(err.text, "/nonexistent"), "%s", err.text);
    sorted_runs_destroy(s);
}
