/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/* A text as a file that is opened as a trace, for tests of importers of texts. */
#ifndef REPLAY_TESTS_OPENED_TEXT_H
#define REPLAY_TESTS_OPENED_TEXT_H

#include "import/import.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static inline enum err opened_bytes(const void *bytes, size_t n, const char *from, int64_t gpu,
                                    struct trace_reader **out, struct err_detail *err)
{
    const struct import_config cfg = {.gpu = gpu};
    char path[] = "/tmp/replay-text-XXXXXX";
    const int fd = mkstemp(path);
    FILE *f = fd < 0 ? NULL : fdopen(fd, "w");
    cr_assert_not_null(f);
    fwrite(bytes, 1, n, f);
    fclose(f);
    const enum err e = trace_open_any(path, from, &cfg, out, err);
    remove(path);
    return e;
}

static inline enum err opened_text(const char *text, const char *from, int64_t gpu, struct trace_reader **out,
                                   struct err_detail *err)
{
    return opened_bytes(text, strlen(text), from, gpu, out, err);
}

/* The events of a trace as a text: "+512 -512 !step " for a request, its end, a mark. */
static inline const char *events_text(struct trace_reader *r, char *out, size_t size)
{
    const struct event *events;
    struct err_detail err;
    size_t n = 1, used = 0;
    out[0] = '\0';
    while (n > 0) {
        cr_assert_eq(trace_next(r, &events, &n, &err), ERR_OK, "%s", err.text);
        for (size_t i = 0; i < n && used < size; i++) {
            const struct event *ev = &events[i];
            used += (size_t)(ev->kind == EVENT_MARK
                                 ? snprintf(out + used, size - used, "!%s ", trace_label(r, ev->slot))
                                 : snprintf(out + used, size - used, "%c%llu ", ev->kind == EVENT_ALLOC ? '+' : '-',
                                            (unsigned long long)ev->bytes));
        }
    }
    return out;
}

/* Expects the text to be refused with words that hold `says`. */
static inline void expect_text_refused(const char *text, const char *from, enum err e, const char *says)
{
    struct trace_reader *r = NULL;
    struct err_detail err = {.text = ""};
    cr_expect_eq(opened_text(text, from, -1, &r, &err), e, "%s", err.text);
    cr_expect_not_null(strstr(err.text, says), "'%s' lacks '%s'", err.text, says);
}

#endif
