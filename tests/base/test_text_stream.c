/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/* Streams into memory. What they do without memory is tried by tests/program/test_failures.py. */
#include "base/text_stream.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

enum { LINES = 20000 };

Test(text_stream, holds_all_that_was_written)
{
    struct text_stream to;
    cr_assert_not_null(text_stream_open(&to));
    for (int i = 0; i < LINES; i++)
        fprintf(to.file, "%06d\n", i);
    char *text = text_stream_take(&to);
    cr_assert_not_null(text);
    cr_expect_eq(strlen(text), LINES * 7u);
    cr_expect_eq(to.n, LINES * 7u);
    cr_expect_str_eq(text + strlen(text) - 7, "019999\n");
    free(text);
}

Test(text_stream, without_a_letter_is_an_empty_text)
{
    struct text_stream to;
    cr_assert_not_null(text_stream_open(&to));
    char *text = text_stream_take(&to);
    cr_assert_not_null(text);
    cr_expect_str_eq(text, "");
    free(text);
}

Test(text_stream, begins_anew_when_it_is_emptied)
{
    struct text_stream to;
    cr_assert_not_null(text_stream_open(&to));
    fputs("a longer text", to.file);
    cr_expect_str_eq(text_stream_text(&to), "a longer text");
    text_stream_empty(&to);
    cr_expect_str_eq(text_stream_text(&to), "");
    fputs("b", to.file);
    cr_expect_str_eq(text_stream_text(&to), "b");
    free(text_stream_take(&to));
}
