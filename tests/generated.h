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
    struct err_detail err = { .text = "" };
    struct trace_writer *w;
    struct trace_reader *r = NULL;
    void *bytes;
    size_t n;
    cr_assert_eq(trace_create(NULL, &w, &err), ERR_OK, "%s", err.text);
    cr_assert_eq(load_make(kind, events, seed, w, &err), ERR_OK, "%s", err.text);
    cr_assert_eq(trace_finish_bytes(w, &bytes, &n, &err), ERR_OK, "%s", err.text);
    cr_assert_eq(trace_open_owned(bytes, n, kind, 0, &r, &err), ERR_OK, "%s", err.text);
    return r;
}

#endif
