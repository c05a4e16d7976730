/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * Fuzz target: braces and ranges, and job files, as people type them.
 */
#include "replay/program/job.h"
#include "replay/sweep/expand.h"
#include "tests/fuzz/fuzz.h"

#include <stdlib.h>
#include <string.h>

static void try_expand(const char *text)
{
    struct expansion x = { .at = NULL };
    struct err_detail err = { .text = "" };
    if (expand(text, &x, &err) != ERR_OK)
        FUZZ_EXPECT(err.text[0] != '\0' && x.n == 0);
    else
        FUZZ_EXPECT(x.n > 0 && x.n <= EXPAND_MAX);
    for (size_t i = 0; i < x.n; i++)
        FUZZ_EXPECT(strlen(x.at[i]) < EXPAND_TEXT_MAX && strpbrk(x.at[i], "{}") == NULL);
    expansion_close(&x);
}

static void try_job(const char *bytes, size_t n)
{
    static const struct flag_use taken[] = {TAKES(POLICY), TAKES(DEVICE), TAKES(OUT), TAKES(THREADS), TAKES(ON_OOM),
                                            TAKES(SHARD), TAKES(RESUME), FLAGS_END};
    struct err_detail err = { .text = "" };
    struct job job;
    if (job_read_bytes(bytes, n, "fuzz", taken, &job, &err) != ERR_OK) {
        FUZZ_EXPECT(err.text[0] != '\0');
        return;
    }
    for (unsigned i = 0; i < N_FLAGS; i++)
        FUZZ_EXPECT(!job.options.is_given[i] || flag_find(taken, flag_name((enum flag_id)i),
                                                          strlen(flag_name((enum flag_id)i))) == (enum flag_id)i);
    job_close(&job);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    char *text = strndup((const char *)data, n);
    if (text == NULL)
        return 0;
    try_expand(text);
    try_job((const char *)data, n);
    free(text);
    return 0;
}
