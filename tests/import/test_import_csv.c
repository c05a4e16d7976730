/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/* Logs of requests as CSV: RMM's, minimalloc's, and columns that a person names. */
#include "tests/opened_text.h"

/* The events as letters: a, f and o with sizes, "a1000 f o30". */
static void expect_events(const char *text, const char *from, const char *expected)
{
    struct trace_reader *r;
    struct err_detail err = {.text = ""};
    const struct event *events;
    size_t n = 1;
    char got[512] = "";
    cr_assert_eq(opened_text(text, from, -1, &r, &err), ERR_OK, "%s", err.text);
    while (n > 0) {
        cr_assert_eq(trace_next(r, &events, &n, &err), ERR_OK);
        for (size_t i = 0; i < n; i++) {
            const char letter = "affffot"[events[i].kind];
            const size_t used = strlen(got);
            if (letter == 'f')
                snprintf(got + used, sizeof got - used, "f ");
            else if (letter == 't')
                snprintf(got + used, sizeof got - used, "t%.0f ", trace_controls(r)[events[i].slot].number);
            else
                snprintf(got + used, sizeof got - used, "%c%llu ", letter, (unsigned long long)events[i].bytes);
        }
    }
    cr_expect_str_eq(got, expected);
    trace_close(r);
}

#define RMM "Thread,Time,Action,Pointer,Size,Stream\n"

Test(import_csv, rmm_logs_are_recognised)
{
    expect_events(RMM "22859,07:54:20.577769,allocate,0x7f0000000000,41943040,0\n"
                      "22859,07:54:20.577943,allocate failure,(nil),31457280,0\n"
                      "22859,07:54:20.577944,allocate,(nil),0,0\n"
                      "22859,07:54:20.578029,free,0x7f0000000000,41943040,0\n"
                      "22859,07:54:20.578057,allocate,0x7f0000000000,31457280,0x600000100\n", NULL,
                  "a41943040 o31457280 f a31457280 ");
}

Test(import_csv, another_thread_is_told_where_it_goes_on)
{
    expect_events(RMM "22859,07:54:20.5,allocate,0x10,8,0\n"
                      "22859,07:54:20.6,free,0x10,8,0\n"
                      "30001,07:54:20.7,allocate,0x10,16,0\n"
                      "30001,07:54:20.8,allocate,0x20,16,0\n"
                      "22859,07:54:20.9,free,0x10,16,0\n", NULL, "a8 f t1 a16 a16 t0 f ");
}

Test(import_csv, a_time_of_day_goes_on_over_midnight)
{
    struct trace_reader *r;
    struct err_detail err;
    cr_assert_eq(opened_text(RMM "1,23:59:59.0,allocate,0x100,1,0\n1,00:00:01.5,free,0x100,1,0\n", NULL, -1, &r, &err),
                 ERR_OK);
    cr_expect_eq(trace_info(r)->duration_ns, 2500000000, "%llu", (unsigned long long)trace_info(r)->duration_ns);
    trace_close(r);
}

static uint64_t duration_ns(const char *first, const char *second)
{
    struct trace_reader *r;
    struct err_detail err;
    char text[200];
    snprintf(text, sizeof text, "op,ptr,size,time\nalloc,1,8,%s\nfree,1,8,%s\n", first, second);
    cr_assert_eq(opened_text(text, NULL, -1, &r, &err), ERR_OK, "%s", err.text);
    const uint64_t ns = trace_info(r)->duration_ns;
    trace_close(r);
    return ns;
}

Test(import_csv, a_line_that_can_be_read_in_two_ways_is_refused)
{
    expect_text_refused("op,ptr,size\nalloc,1,\"8\nfree,1,8\n", NULL, ERR_FORMAT, "line 2 has a quote that is never");
    expect_text_refused("op,ptr,size,SIZE\nalloc,1,8,9\n", NULL, ERR_FORMAT, "has two columns 'SIZE'");
    expect_events("op,ptr,size,note,note\nalloc,1,8,a,b\n", NULL, "a8 ");
}

Test(import_csv, what_is_left_out_or_changed_is_noted)
{
    struct trace_reader *r;
    struct err_detail err;
    cr_assert_eq(opened_text("op,ptr,size,time\nalloc,1,8,5\nalloc,2,8,3\noom,0,0,6\nalloc,3,0,6\nalloc,4,8,5\n", NULL,
                             -1, &r, &err), ERR_OK, "%s", err.text);
    cr_expect_not_null(strstr(trace_meta(r, "notes"), "2 times that go back were taken for the latest before them"));
    cr_expect_not_null(strstr(trace_meta(r, "notes"), "2 requests of 0 bytes were left out"));
    trace_close(r);
}

Test(import_csv, under_a_heading_with_times_each_line_has_one)
{
    expect_text_refused("op,ptr,size,time\nalloc,2,5,7\nalloc,1,5,\n", NULL, ERR_FORMAT, "line 3: its time is missing");
    expect_text_refused("op,ptr,size,time\nalloc,1,5\nfree,1,5,2\n", NULL, ERR_FORMAT, "line 2: its time is missing");
    expect_text_refused("op,ptr,size,time\nalloc,1,5,1\nfree,1,5,\n", NULL, ERR_FORMAT, "line 3: its time is missing");
    expect_text_refused("time,op,ptr,size\n1,alloc,1,5\n,oom,,9\n", NULL, ERR_FORMAT, "line 3: its time is missing");
    expect_events("time,op,ptr,size\n0,alloc,1,5\n3,oom,,9\n4,oom,(nil),\n5,free,1,\n", NULL, "a5 o9 f ");
    expect_events("op,ptr,size\nalloc,1,5\noom,,9\n", NULL, "a5 o9 ");
}

Test(import_csv, an_end_of_another_size_than_its_request_is_noted)
{
    struct trace_reader *r;
    struct err_detail err;
    cr_assert_eq(opened_text("op,ptr,size\nalloc,1,8\nalloc,2,8\nalloc,3,8\nfree,1,8\nfree,2,9\nfree,3,\n", NULL, -1,
                             &r, &err), ERR_OK, "%s", err.text);
    cr_expect_not_null(strstr(trace_meta(r, "notes"), "1 ends have another size than their request, the first in "
                                                      "line 6"));
    trace_close(r);
}

Test(import_csv, a_refused_request_is_bounded_like_a_served_one)
{
    expect_text_refused("op,ptr,size\nalloc,1,8\noom,0,18446744073709551615\n", NULL, ERR_FORMAT, "more bytes live");
    expect_text_refused("op,ptr,size\nalloc,1,8\noom,0,4611686018427387897\n", NULL, ERR_FORMAT, "more bytes live");
    expect_events("op,ptr,size\nalloc,1,8\noom,0,4611686018427387896\n", NULL, "a8 o4611686018427387896 ");
}

Test(import_csv, a_time_in_whole_numbers_is_exact)
{
    cr_expect_eq(duration_ns("1760000000000000001", "1760000000000000004"), 3);
    cr_expect_eq(duration_ns("0", "18446744073709551615"), UINT64_MAX);
    cr_expect_eq(duration_ns("1.5", "7.25"), 6, "else nanoseconds are cut off");
}

Test(import_csv, an_end_without_a_beginning_is_counted_and_left_out)
{
    struct trace_reader *r;
    struct err_detail err;
    cr_assert_eq(opened_text(RMM "1,00:00:01.0,free,0x100,1,0\n1,00:00:02.0,allocate,0x100,1,0\n", NULL, -1, &r, &err),
                 ERR_OK);
    cr_expect_eq(trace_info(r)->events, 1);
    cr_expect_not_null(strstr(trace_meta(r, "notes"), "1 ends of requests that the log does not begin"));
    trace_close(r);
}

Test(import_csv, an_end_that_the_log_lacks_is_put_where_its_address_is_requested_again_if_that_is_asked_for)
{
    static const char log[] = "op,ptr,size\nalloc,1,5\nalloc,2,7\nalloc,1,6\nfree,1,0\nalloc,1,8\n";
    struct trace_reader *r;
    struct err_detail err;
    expect_events(log, "csv:missing=end", "a5 a7 f a6 f a8 ");
    cr_assert_eq(opened_text(log, "csv:missing=end", -1, &r, &err), ERR_OK);
    cr_expect_eq(trace_info(r)->peak_requested_bytes, 15);
    cr_expect_not_null(strstr(trace_meta(r, "notes"), "1 ends that the log lacks"));
    trace_close(r);
}

Test(import_csv, lives_become_events_and_an_end_comes_before_a_beginning_at_its_time)
{
    expect_events("id,lower,upper,size\n0,4,9,100\n1,0,4,7\n2,4,5,0\n", NULL, "a7 f a100 f ");
    expect_text_refused("id,lower,upper,size\n0,4,4,100\n", NULL, ERR_FORMAT, "line 2: its life ends at 4");
}

/* An address may be used again; an id is of one life, also if that has no bytes. */
Test(import_csv, two_lives_of_one_id_are_refused)
{
    expect_text_refused("id,lower,upper,size\na,0,4,9\nb,0,4,9\n\na,5,6,9\n", NULL, ERR_FORMAT,
                        "line 5: id 'a' is that of an earlier line");
    expect_text_refused("id,lower,upper,size\n7,0,4,0\n7,0,4,9\n", NULL, ERR_FORMAT, "line 3: id '7' is that of");
    expect_text_refused("id,lower,upper,size\n,0,4,9\n", NULL, ERR_FORMAT, "line 2: its id is missing");
    expect_text_refused("k,b,e,n\nx,0,1,2\nx,1,2,2\n", "csv:id=k,lower=b,upper=e,size=n", ERR_FORMAT,
                        "line 3: id 'x' is that of");
    expect_events("address,lower,upper,size\n0x10,0,4,9\n0x10,4,6,8\n", NULL, "a9 f a8 f ");
    expect_events("lower,upper,size\n0,4,9\n", NULL, "a9 f ");
}

Test(import_csv, columns_are_found_by_their_usual_names_or_as_named)
{
    expect_events("bytes,op,address\n10,malloc,1\n,free,1\n", NULL, "a10 f ");
    expect_events("what,where,n,when\nNEW,0x10,5,1.5\ndelete,16,,2\n", "csv:op=what,ptr=where,size=n,time=when,unit=us",
                  "a5 f ");
    expect_events("\"op\",ptr,size\r\n\"alloc\", 1 ,\"5\"\r\n\r\n", NULL, "a5 ");
}

Test(import_csv, requests_may_have_names)
{
    expect_events("op,ptr,size\nalloc,p1,10\nalloc,p2,20\nfree,p1,\nalloc,p1,30\nfree,(nil),\nfree,p2,20\n", NULL,
                  "a10 a20 f a30 f ");
    expect_text_refused("op,ptr,size\nalloc,p1,5\nalloc,p1,6\n", NULL, ERR_FORMAT,
                        "a request at 'p1', where one is live");
    expect_text_refused("op,ptr,size\nalloc,p1,5\nalloc,(nil),6\nalloc,(nil),6\n", NULL, ERR_FORMAT,
                        "a request at 0x0, where one is live");
    expect_text_refused("op,ptr,size\nalloc,16,5\nalloc,p1,6\n", NULL, ERR_FORMAT, "line 3: ptr 'p1' is not a number");
}

Test(import_csv, sizes_and_times_have_the_unit_that_is_told)
{
    expect_events("op,ptr,size\nalloc,1,2 MiB\nalloc,2,1.5KiB\nfree,1,2 MiB\n", NULL, "a2097152 a1536 f ");
    expect_events("op,ptr,mem\nalloc,1,2.5\nfree,1,\n", "csv:size=mem,size_unit=MB", "a2500000 f ");
    expect_text_refused("op,ptr,size\nalloc,1,2 MB\n", NULL, ERR_FORMAT, "size '2 MB' is not a number");
    expect_text_refused("op,ptr,size\nalloc,1,much\n", "csv:size_unit=MB", ERR_FORMAT, "size 'much' is not a number");
    expect_text_refused("op,ptr,size\n", "csv:size_unit=mb", ERR_USAGE, "expected B, KiB");
    struct trace_reader *r;
    struct err_detail err = {.text = ""};
    cr_assert_eq(opened_text("op,ptr,size,time_us\nalloc,1,5,10\nfree,1,5,15\n", NULL, -1, &r, &err), ERR_OK);
    cr_expect_eq(trace_info(r)->duration_ns, 5000, "a column time_us is in microseconds");
    trace_close(r);
}

Test(import_csv, other_separators_are_seen_and_columns_may_be_numbered)
{
    expect_events("op;ptr;size\nalloc;1;10\nfree;1;\n", NULL, "a10 f ");
    expect_events("op\tptr\tsize\nalloc\t1\t10\nfree\t1\t\n", NULL, "a10 f ");
    expect_events("0 5  16\n2 3 8\n", "csv:lower=1,upper=2,size=3", "a16 a8 f f ");
    expect_events("a,p1,16\nf,p1,\n", "csv:op=1,ptr=2,size=3", "a16 f ");
    expect_text_refused("0 5 16\n", "csv:lower=1,upper=2,size=4", ERR_FORMAT, "has no column '4'");
}

Test(import_csv, what_is_wrong_is_said_with_its_line)
{
    expect_text_refused("op,ptr,size\nalloc,1,5\ngrow,1,6\n", NULL, ERR_FORMAT,
                        "line 3: 'grow' is neither a request nor its end");
    expect_text_refused("op,ptr,size\nalloc,1,5x\n", NULL, ERR_FORMAT, "line 2: size '5x' is not a number");
    expect_text_refused("op,ptr,size,time\nalloc,1,5,noon\n", NULL, ERR_FORMAT, "line 2: time 'noon' is none");
    expect_text_refused("op,ptr,size\nalloc,1,5\nalloc,1,6\n", NULL, ERR_FORMAT,
                        "line 3: a request at 0x1, where one is live");
    expect_text_refused("op,ptr,size\nalloc,1,5\nalloc,1,6\n", NULL, ERR_FORMAT, "--from csv:missing=end puts it");
    expect_text_refused("op,ptr,size\n", "csv:missing=free", ERR_USAGE, "missing=free: expected end");
    expect_text_refused("a,b\n1,2\n", "csv", ERR_FORMAT, "the heading names no column for ptr");
    expect_text_refused("a,b\n1,2\n", "csv:ptr=c", ERR_FORMAT, "has no column 'c'");
    expect_text_refused("a,b\n1,2\n", "csv:pointer=a", ERR_USAGE, "'pointer' is none of op, ptr");
    expect_text_refused("a,b\n1,2\n", "csv:unit=h", ERR_USAGE, "expected ns, us, ms, s or min");
}

/* An empty field is none, not 0: a request at no address, or an end of none, would change what is live. */
Test(import_csv, what_is_missing_is_no_0)
{
    expect_text_refused("op,ptr,size\nalloc,,5\n", NULL, ERR_FORMAT, "line 2: its ptr is missing");
    expect_text_refused("op,ptr,size\nalloc,1,5\nfree,,5\n", NULL, ERR_FORMAT, "line 3: its ptr is missing");
    expect_text_refused("op,ptr,size\nalloc,1,5\nfree\n", NULL, ERR_FORMAT, "line 3: its ptr is missing");
    expect_text_refused("op,ptr,size\nalloc,1,\n", NULL, ERR_FORMAT, "line 2: its size is missing");
    expect_text_refused("op,ptr,mem\nalloc,1,\n", "csv:size=mem,size_unit=MB", ERR_FORMAT,
                        "line 2: its size is missing");
    expect_text_refused("id,lower,upper,size\n0,,4,100\n", NULL, ERR_FORMAT, "line 2: its lower is missing");
    expect_text_refused("id,lower,upper,size\n0,1,4\n", NULL, ERR_FORMAT, "line 2: its size is missing");
}

/* A killed program's log ends in a line, whose last number may be the beginning of a larger one. */
/* "40" may be the beginning of "4096", and nothing tells. */
Test(import_csv, a_last_line_without_an_end_is_taken_and_told)
{
    static const char *const texts[] = {"op,ptr,size\nalloc,1,4096\nalloc,2,40", "lower,upper,size\n0,4,8\n1,5,7"};
    static const uint64_t n_events[] = {2, 4};
    for (size_t i = 0; i < 2; i++) {
        struct err_detail err;
        struct trace_reader *r = NULL;
        char ended[128];
        cr_assert_eq(opened_text(texts[i], NULL, -1, &r, &err), ERR_OK, "%s", err.text);
        cr_expect_not_null(strstr(trace_meta(r, "notes"), "the last line, 3, has no end"), "'%s'", texts[i]);
        cr_expect_eq(trace_info(r)->events, n_events[i]);
        trace_close(r);
        snprintf(ended, sizeof ended, "%s\n", texts[i]);
        cr_assert_eq(opened_text(ended, NULL, -1, &r, &err), ERR_OK, "%s", err.text);
        cr_expect_null(strstr(trace_meta(r, "notes"), "has no end"), "'%s'", ended);
        trace_close(r);
    }
}

Test(import_csv, a_last_line_that_is_cut_off_is_left_out_and_told)
{
    static const char *const cut[] = {"free,1", "alloc,2,40", "al"};
    char text[96];
    for (size_t i = 0; i < sizeof cut / sizeof cut[0]; i++) {
        struct trace_reader *r;
        struct err_detail err = {.text = ""};
        snprintf(text, sizeof text, "op,ptr,size,stream\nalloc,1,4096,0\n%s", cut[i]);
        cr_assert_eq(opened_text(text, NULL, -1, &r, &err), ERR_OK, "'%s': %s", cut[i], err.text);
        cr_expect_not_null(strstr(trace_meta(r, "notes"), "the last line is cut off"), "'%s'", cut[i]);
        trace_close(r);
        expect_events(text, NULL, "a4096 ");
    }
    expect_events("op,ptr,size,stream\nalloc,1,4096,0\nfree,1,,0", NULL, "a4096 f ");
}

Test(import_csv, a_file_of_another_kind_is_guessed_at)
{
    expect_text_refused("a,b\n1,2\n", NULL, ERR_FORMAT, "if it is CSV, name its columns: --from csv:");
    expect_text_refused("PAR1x", NULL, ERR_FORMAT, "it is Parquet");
    expect_text_refused("{\"a\": 1}", NULL, ERR_FORMAT, "it is JSON");
}
