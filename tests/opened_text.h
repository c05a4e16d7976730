/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/* A text as a file that is opened as a trace, for tests of importers of texts. */
#ifndef REPLAY_TESTS_OPENED_TEXT_H
#define REPLAY_TESTS_OPENED_TEXT_H

#include "import/import.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static inline enum err opened_text(const char *text, const char *from, int64_t gpu, struct trace_reader **out,
                                   struct err_detail *why)
{
    const struct import_config cfg = {.gpu = gpu};
    char path[] = "/tmp/replay-text-XXXXXX";
    const int fd = mkstemp(path);
    FILE *f = fd < 0 ? NULL : fdopen(fd, "w");
    cr_assert_not_null(f);
    fputs(text, f);
    fclose(f);
    const enum err e = trace_open_any(path, from, &cfg, out, why);
    remove(path);
    return e;
}

/* Expects the text to be refused with words that hold `says`. */
static inline void expect_text_refused(const char *text, const char *from, enum err e, const char *says)
{
    struct trace_reader *r = NULL;
    struct err_detail why = {.text = ""};
    cr_expect_eq(opened_text(text, from, -1, &r, &why), e, "%s", why.text);
    cr_expect_not_null(strstr(why.text, says), "'%s' lacks '%s'", why.text, says);
}

#endif
