/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
#include "bench/lines.h"

#include "base/large_pages.h"
#include "base/random.h"

#include <stdlib.h>

/* Inserts each line after a random earlier one, so that all rings are equally likely. */
struct line *lines_make(size_t n)
{
    uint64_t random = 1;
    struct line *lines = aligned_alloc(sizeof *lines, n * sizeof *lines);
    if (lines == NULL)
        return NULL;
    large_pages_want(lines, n * sizeof *lines);
    lines[0].next = &lines[0];
    for (size_t i = 1; i < n; i++) {
        struct line *const before = &lines[random_next(&random) % i];
        lines[i].next = before->next;
        before->next = &lines[i];
    }
    return lines;
}

struct line *lines_follow(struct line *at, uint64_t steps)
{
    for (uint64_t i = 0; i < steps; i++)
        at = at->next;
    return at;
}
