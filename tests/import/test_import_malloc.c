/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/* Logs of the host's malloc and heap dumps: requests, resizes, ends; and what is refused. */
#include "tests/opened_text.h"

static void expect_events(const char *text, const char *expected)
{
    struct trace_reader *r;
    struct err_detail err = {.text = ""};
    char got[256];
    cr_assert_eq(opened_text(text, NULL, -1, &r, &err), ERR_OK, "%s", err.text);
    cr_expect_str_eq(events_text(r, got, sizeof got), expected);
    trace_close(r);
}

Test(import_malloc, lines_of_mtrace_are_requests_ends_and_resizes)
{
    expect_events("= Start\n@ ./a.out:(main+0x1f)[0x401156] + 0x1d2e6a0 0x64\n@ ./a.out:[0x401160] - 0x1d2e6a0\n"
                  "@ [0x7f] + 0x10 0x20\n@ [0x7f] < 0x10\n@ [0x7f] > 0x50 0x40\n@ [0x7f] ! 0x50 0x40\n- 0x50\n- 0x99\n"
                  "= End\n", "+100 -100 +32 -32 +64 -64 ");
}

Test(import_malloc, traces_of_malloc_lab_are_read)
{
    expect_events("20000\n3\n5\n1\na 0 512\na 1 128\nr 0 640\nf 1\nf 0\n", "+512 +128 -512 +640 -128 -640 ");
    expect_events("6\n12\na 0 2040\nf 0\n", "+2040 -2040 ");
}

Test(import_malloc, heap_dumps_show_what_is_live_with_its_stack)
{
    struct trace_reader *r;
    struct err_detail err = {.text = ""};
    struct trace_side side;
    const char *const *frames;
    static const char jemalloc[] = "heap_v2/524288\n  t*: 4: 400 [0: 0]\n  t3: 4: 400 [0: 0]\n@ 0x5f86da8 0x5f5a1dc\n"
                                   "  t*: 3: 100 [0: 0]\n  t3: 3: 100 [0: 0]\n@ 0x1\n  t*: 1: 300 [0: 0]\n\n"
                                   "MAPPED_LIBRARIES:\n+\n";
    expect_events(jemalloc, "+34 +33 +33 +300 ");
    expect_events("heap profile:   3: 400 [ 3: 400] @ heapprofile\n  2: 100 [ 2: 100] @ 0x1 0x2\n"
                  "  1: 300 [ 1: 300] @ 0x3\n", "+50 +50 +300 ");
    cr_assert_eq(opened_text(jemalloc, NULL, -1, &r, &err), ERR_OK, "%s", err.text);
    cr_assert_eq(trace_side_at(r, 0, &side, &err), ERR_OK);
    cr_assert_eq(trace_stack(r, side.stack, &frames), 2);
    cr_expect_str_eq(frames[0], "0x5f86da8 ??:0");
    trace_close(r);
}

/* The requests of a heap dump that claims 15,000 objects of a byte. */
static uint64_t requests_of_claim(uint64_t allowed)
{
    static const char text[] = "heap_v2/524288\n@ 0x1\n  t*: 15000: 15000 [0: 0]\n";
    const struct import_config cfg = {.gpu = -1};
    struct input *in;
    struct trace_writer *w;
    struct trace_reader *r;
    struct err_detail err = {.text = ""};
    cr_assert_eq(input_open_bytes(text, sizeof text - 1, &in, &err), ERR_OK, "%s", err.text);
    input_allow(in, allowed);
    cr_assert_eq(trace_create(NULL, &w, &err), ERR_OK, "%s", err.text);
    cr_assert_eq(importer_malloc.import(in, &cfg, w, &err), ERR_OK, "%s", err.text);
    cr_assert_eq(trace_finish_open(w, "dump", &r, &err), ERR_OK, "%s", err.text);
    const uint64_t n = trace_info(r)->events;
    trace_close(r);
    input_close(in);
    return n;
}

Test(import_malloc, a_dump_has_no_more_requests_than_its_bytes_and_the_limit_of_memory_explain)
{
    cr_expect_eq(requests_of_claim(0), 15000);
    cr_expect_eq(requests_of_claim((uint64_t)15000 * 1024), 15000);
    cr_expect_eq(requests_of_claim((uint64_t)14000 * 1024), 1);
}

Test(import_malloc, what_is_wrong_is_said_with_its_line)
{
    expect_text_refused("= Start\n@ [0x7f] + 0x10 0x20\n@ [0x7f] + 0x10 0x20\n", NULL, ERR_FORMAT,
                        "line 3: is live already");
    expect_text_refused("= Start\n@ [0x7f] ? 0x10\n", NULL, ERR_FORMAT, "line 2: is not a line of mtrace");
    expect_text_refused("6\n12\na 0 2040\nx 0\n", NULL, ERR_FORMAT, "line 4: is not a request (a)");
    expect_text_refused("= Start\n= End\n", NULL, ERR_UNSUPPORTED, "holds no request");
}
