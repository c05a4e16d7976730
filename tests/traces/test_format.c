/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/* traces/FORMAT.md is true: its worked example decodes to its own table, and its tables agree with the code. */
#include "traces/event_sections.h"
#include "traces/native.h"
#include "traces/trace.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FORMAT_MD TEST_DATA "/../../traces/FORMAT.md"

/* The document as text; free() it. */
static char *document(void)
{
    FILE *f = fopen(FORMAT_MD, "rb");
    cr_assert_not_null(f, "%s is missing", FORMAT_MD);
    char *text = calloc(1, 1 << 20);
    const size_t n = fread(text, 1, (1 << 20) - 1, f);
    cr_assert_gt(n, 0);
    fclose(f);
    return text;
}

/* The bytes of the worked example: lines of "    OFFSET: xx xx ...  what it means". */
static size_t example(unsigned char *bytes, size_t room)
{
    char *text = document(), *at = strstr(text, "## A worked example");
    cr_assert_not_null(at);
    size_t n = 0;
    for (char *line = strtok(at, "\n"); line != NULL; line = strtok(NULL, "\n")) {
        unsigned offset;
        int used = 0;
        if (sscanf(line, "    %x:%n", &offset, &used) != 1 || used == 0)
            continue;
        cr_assert_eq(offset, n, "line at 0x%x stands at 0x%zx", offset, n);
        unsigned byte;
        for (const char *c = line + used; c[0] == ' ' && sscanf(c, " %2x", &byte) == 1 && c[1] != ' '; c += 3) {
            cr_assert_lt(n, room);
            bytes[n++] = (unsigned char)byte;
        }
    }
    free(text);
    return n;
}

static struct trace_reader *open_example(unsigned char *bytes, size_t room)
{
    struct err_detail err = {0};
    struct trace_reader *r = NULL;
    const size_t n = example(bytes, room);
    cr_assert_eq(trace_open_bytes(bytes, n, &r, &err), ERR_OK, "%s", err.text);
    return r;
}

Test(format, the_worked_example_decodes_to_the_events_it_says)
{
    unsigned char bytes[2048];
    struct err_detail err = {0};
    struct trace_reader *r = open_example(bytes, sizeof bytes);
    const struct event expected[] = {
        {.kind = EVENT_MARK},
        {.kind = EVENT_ALLOC, .bytes = 1000, .slot = 0},
        {.kind = EVENT_ALLOC, .bytes = 4096, .slot = 1, .time_ns = 5000},
        {.kind = EVENT_FREE, .bytes = 1000, .slot = 0, .time_ns = 7000},
        {.kind = EVENT_ALLOC, .bytes = 512, .slot = 0, .time_ns = 10000},
    };
    const struct event *events;
    size_t n;
    cr_assert_eq(trace_next(r, &events, &n, &err), ERR_OK, "%s", err.text);
    cr_assert_eq(n, 5);
    cr_expect_arr_eq(events, expected, sizeof expected);
    cr_expect_str_eq(trace_label(r, events[0].slot), "step 1");
    cr_assert_eq(trace_next(r, &events, &n, &err), ERR_OK, "%s", err.text);
    cr_expect_eq(n, 0);
    trace_close(r);
}

Test(format, the_worked_example_decodes_to_the_sides_it_says)
{
    unsigned char bytes[2048];
    struct err_detail err = {0};
    struct trace_reader *r = open_example(bytes, sizeof bytes);
    const uint64_t base = UINT64_C(0x7f0000000000);
    const uint64_t records[] = {TRACE_NO_RECORD, 0, 1, 2, 4}, addrs[] = {0, base, base + 0x400, base, base};
    struct trace_side sides[5];
    const char *const *frames;
    cr_assert_eq(trace_sides(r, 0, 5, sides, &err), ERR_OK, "%s", err.text);
    for (int i = 0; i < 5; i++) {
        cr_expect_eq(sides[i].record, records[i], "event %d", i);
        cr_expect_eq(sides[i].addr, addrs[i], "event %d", i);
        cr_expect_eq(sides[i].stack, i == 1 ? 1u : 0u, "event %d", i);
    }
    cr_assert_eq(trace_stack(r, 1, &frames), 2);
    cr_expect_str_eq(frames[0], "relu net.py:7");
    cr_expect_str_eq(frames[1], "forward net.py:4");
    cr_expect_str_eq(trace_meta(r, "source"), "example");
    cr_expect_str_eq(trace_meta(r, "units"), "bytes, nanoseconds");
    cr_expect_eq(trace_info(r)->peak_requested_bytes, 5096);
    trace_close(r);
}

Test(format, our_writer_writes_the_worked_example)
{
    unsigned char expected[2048];
    const size_t n_expected = example(expected, sizeof expected);
    const uint64_t base = UINT64_C(0x7f0000000000);
    const char *const frames[] = {"relu net.py:7", "forward net.py:4"};
    struct err_detail err = {0};
    struct trace_writer *w = NULL;
    uint32_t label, stack;
    cr_assert_eq(trace_create(NULL, &w, &err), ERR_OK, "%s", err.text);
    cr_assert_eq(trace_put_meta(w, "source", "example", &err), ERR_OK);
    cr_assert_eq(trace_put_label(w, "step 1", 6, &label, &err), ERR_OK);
    cr_assert_eq(trace_put_stack(w, frames, 2, &stack, &err), ERR_OK);
    const struct trace_record records[] = {
        {.kind = EVENT_MARK, .time_ns = 1000000, .label = label, .record = TRACE_NO_RECORD},
        {.kind = EVENT_ALLOC, .time_ns = 1000000, .ptr = 10, .addr = base, .bytes = 1000, .record = 0, .stack = stack},
        {.kind = EVENT_ALLOC, .time_ns = 1005000, .ptr = 11, .addr = base + 0x400, .bytes = 4096, .record = 1},
        {.kind = EVENT_FREE, .time_ns = 1007000, .ptr = 10, .addr = base, .record = 2},
        {.kind = EVENT_ALLOC, .time_ns = 1010000, .ptr = 12, .addr = base, .bytes = 512, .record = 4},
    };
    for (size_t i = 0; i < sizeof records / sizeof records[0]; i++)
        cr_assert_eq(trace_put(w, &records[i], &err), ERR_OK, "%s", err.text);
    void *bytes;
    size_t n;
    cr_assert_eq(trace_finish_bytes(w, &bytes, &n, &err), ERR_OK, "%s", err.text);
    cr_assert_eq(n, n_expected);
    cr_expect_arr_eq(bytes, expected, n);
    free(bytes);
}

Test(format, the_tables_name_sections_columns_and_commands_in_the_order_of_the_code)
{
    static const char *const rows[] = {
#define SECTION_ROW(name, tag, what) "\n| `" tag "` |",
        SECTION_LIST(SECTION_ROW)
#undef SECTION_ROW
#define COLUMN_ROW(name) "\n| " #name " |",
        EVENT_COLUMNS(COLUMN_ROW)
#undef COLUMN_ROW
#define CONTROL_WORD(name, text, meaning) text,
        CONTROL_LIST(CONTROL_WORD)
#undef CONTROL_WORD
    };
    char *text = document();
    const char *at = text;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const char *next = strstr(at, rows[i]);
        cr_assert_not_null(next, "\"%s\" is missing or out of order", rows[i]);
        at = next + 1;
    }
    free(text);
}
