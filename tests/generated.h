/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * A generated trace in memory.
 */
#ifndef REPLAY_TESTS_GENERATED_H
#define REPLAY_TESTS_GENERATED_H

#include "loads/load.h"
#include "traces/trace.h"

#include <criterion/criterion.h>

/* `kind`, `events` and `seed` as of load_make; the caller closes the reader. */
static inline struct trace_reader *generated(const char *kind, uint64_t events, uint64_t seed)
{
    struct err_detail why = { .text = "" };
    struct trace_writer *w;
    struct trace_reader *r = NULL;
    void *bytes;
    size_t n;
    cr_assert_eq(trace_create(NULL, &w, &why), ERR_OK, "%s", why.text);
    cr_assert_eq(load_make(kind, events, seed, w, &why), ERR_OK, "%s", why.text);
    cr_assert_eq(trace_finish_bytes(w, &bytes, &n, &why), ERR_OK, "%s", why.text);
    cr_assert_eq(trace_open_owned(bytes, n, kind, 0, &r, &why), ERR_OK, "%s", why.text);
    return r;
}

#endif
