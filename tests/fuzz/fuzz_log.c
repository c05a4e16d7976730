/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * Fuzz target: a log, of which `why` reads the error that ended the run. What is said of it is plain text, and JSON.
 */
#define _GNU_SOURCE                                  /* open_memstream */
#include "replay/why/log_answer.h"
#include "tests/fuzz/fuzz.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

/* No letter in what was said may move a terminal's cursor or colour it. */
static bool is_plain(const char *text, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if ((text[i] >= 0 && text[i] < ' ' && text[i] != '\n') || text[i] == '\x7f')
            return false;
    return true;
}

static void expect_words(const struct log_answer *a)
{
    char *said = NULL;
    size_t n = 0;
    FILE *out = open_memstream(&said, &n);
    if (out == NULL)
        return;
    log_answer_print(out, a);
    fclose(out);
    FUZZ_EXPECT(n > 0 && is_plain(said, n));
    free(said);
}

static void expect_json(const struct log_answer *a)
{
    char *said = NULL;
    size_t n = 0;
    FILE *out = open_memstream(&said, &n);
    if (out == NULL)
        return;
    struct json_writer j = json_writer(out);
    json_put_object(&j, NULL);
    why_log_json(&j, a);
    json_end_object(&j);
    fclose(out);
    json_t *read = json_loadb(said, n, JSON_REJECT_DUPLICATES, NULL);
    FUZZ_EXPECT(read != NULL);
    json_decref(read);
    free(said);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    struct log_answer a;
    char *bytes = malloc(n + 1);
    if (bytes == NULL)
        return 0;
    memcpy(bytes, data, n);
    log_answer_read(bytes, n, 0, PLATFORM_UNKNOWN, &a);
    if (a.is_found) {
        expect_words(&a);
        expect_json(&a);
    }
    free(bytes);
    return 0;
}
