/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/* Exports: what comes back by import is the same in all that the format holds; what it does not hold is counted. */
#include "replay/export/request_export.h"

#include "import/import.h"
#include "tests/whole_trace.h"

#include <stdio.h>
#include <unistd.h>

static const char *const samples[] = {
    TEST_DATA "/../../samples/gpt-varlen-default.trace.zst", TEST_DATA "/../../samples/oom-fragmented.trace.zst",
    TEST_DATA "/../../samples/mlp-adam.trace.zst",
};
enum { N_SAMPLES = sizeof samples / sizeof samples[0] };

static struct trace_reader *exported(struct trace_reader *in, const char *format,
                                     uint64_t lost[static REQUEST_LOSS_KINDS])
{
    struct err_detail err = { .text = "" };
    struct trace_reader *back = NULL;
    char path[] = "/tmp/replay-export-XXXXXX";
    const int fd = mkstemp(path);
    FILE *out = fdopen(fd, "w");
    cr_assert_eq(request_export(in, request_format_find(format), out, lost, &err), ERR_OK, "%s", err.text);
    fclose(out);
    cr_assert_eq(trace_open_any(path, NULL, NULL, &back, &err), ERR_OK, "%s: %s", format, err.text);
    remove(path);
    return back;
}

/* The events that a format holds of a trace: requests and ends, refused ones if it has them. */
static size_t kept_events(struct trace_reader *r, bool has_refused, struct event **out)
{
    size_t n, kept = 0;
    *out = events_of(r, &n);
    for (size_t i = 0; i < n; i++) {
        const uint8_t kind = (*out)[i].kind;
        if (kind == EVENT_ALLOC || kind == EVENT_FREE || kind == EVENT_FREE_COMPLETED ||
            (kind == EVENT_OOM && has_refused)) {
            (*out)[kept] = (*out)[i];
            (*out)[kept++].kind = kind == EVENT_FREE_COMPLETED ? EVENT_FREE : kind;
        }
    }
    return kept;
}

/* Which request an end ends is compared by its place among the requests. */
static void number_requests(struct event *events, size_t n)
{
    uint32_t *request = calloc(1 << 20, sizeof *request), next = 0;
    for (size_t i = 0; i < n; i++) {
        if (events[i].kind == EVENT_ALLOC)
            request[events[i].slot] = next++;
        if (events[i].kind != EVENT_OOM)
            events[i].slot = request[events[i].slot];
    }
    free(request);
}

/* `time_unit_ns`: to which times are cut; 0: they are not held. */
static void expect_back(const char *format, bool has_refused, bool has_streams, uint64_t time_unit_ns)
{
    for (size_t s = 0; s < N_SAMPLES; s++) {
        struct trace_reader *in;
        struct err_detail err = { .text = "" };
        uint64_t lost[REQUEST_LOSS_KINDS], first = 0;
        struct event *x, *y;
        cr_assert_eq(trace_open(samples[s], &in, &err), ERR_OK, "%s", err.text);
        struct trace_reader *back = exported(in, format, lost);
        const size_t n = kept_events(in, has_refused, &x), n_back = kept_events(back, has_refused, &y);
        cr_assert_eq(n + lost[REQUEST_LOSS_OPEN], n_back, "%s of %s: %zu, %zu", format, samples[s], n, n_back);
        number_requests(x, n);
        number_requests(y, n_back);
        for (size_t i = 0; i < n; i++) {
            cr_assert(x[i].kind == y[i].kind && x[i].bytes == y[i].bytes && x[i].slot == y[i].slot,
                      "%s of %s, event %zu", format, samples[s], i);
            if (has_streams && x[i].kind != EVENT_FREE)
                cr_assert_eq(trace_streams(in)[x[i].stream].handle, trace_streams(back)[y[i].stream].handle);
            first = i == 0 ? x[0].time_ns : first;
            if (time_unit_ns > 0) {
                const uint64_t a = x[i].time_ns - first, b = y[i].time_ns;
                cr_assert((a > b ? a - b : b - a) < time_unit_ns, "%s, event %zu: %llu, %llu ns", format, i,
                          (unsigned long long)a, (unsigned long long)b);
            }
        }
        free(x);
        free(y);
        trace_close(back);
        trace_close(in);
    }
}

Test(request_export, csv_holds_requests_times_and_streams)
{
    expect_back("csv", true, true, 1);
}

Test(request_export, rmm_holds_them_to_the_microsecond)
{
    expect_back("rmm", true, true, 1001);
}

Test(request_export, chrome_holds_requests_and_times)
{
    expect_back("chrome", false, false, 1);
}

Test(request_export, minimalloc_holds_the_order_of_requests_and_ends)
{
    expect_back("minimalloc", false, false, 0);
}

Test(request_export, what_a_format_does_not_hold_is_counted)
{
    struct trace_reader *in, *back;
    struct err_detail err = { .text = "" };
    uint64_t lost[REQUEST_LOSS_KINDS];
    struct trace_writer *w = NULL;
    struct trace_record r = { .kind = EVENT_ALLOC, .ptr = 1, .bytes = 8, .stream = 77, .pool = { 0, 3 },
                              .record = TRACE_NO_RECORD };
    cr_assert_eq(trace_create(NULL, &w, &err), ERR_OK);
    cr_assert_eq(trace_put_label(w, "step", 4, &r.label, &err), ERR_OK);
    cr_assert_eq(trace_put(w, &r, &err), ERR_OK);
    for (int k = EVENT_OOM; k >= EVENT_FLUSH; k--) {
        r.kind = (enum event_kind)k;
        cr_assert_eq(trace_put(w, &r, &err), ERR_OK);
    }
    r.kind = EVENT_MARK;
    r.time_ns = 1500;
    cr_assert_eq(trace_put(w, &r, &err), ERR_OK);
    cr_assert_eq(trace_finish_open(w, "made", &in, &err), ERR_OK);
    back = exported(in, "minimalloc", lost);
    cr_expect(lost[REQUEST_LOSS_STREAMS] == 1 && lost[REQUEST_LOSS_POOLS] == 1 && lost[REQUEST_LOSS_REFUSED] == 1 &&
              lost[REQUEST_LOSS_FLUSHES] == 1 && lost[REQUEST_LOSS_MARKS] == 1 && lost[REQUEST_LOSS_TIMES] == 4 &&
              lost[REQUEST_LOSS_NANOSECONDS] == 0);
    trace_close(back);
    back = exported(in, "csv", lost);
    cr_expect(lost[REQUEST_LOSS_STREAMS] == 0 && lost[REQUEST_LOSS_REFUSED] == 0 && lost[REQUEST_LOSS_POOLS] == 1);
    trace_close(back);
    back = exported(in, "rmm", lost);
    cr_expect(lost[REQUEST_LOSS_TIMES] == 0 && lost[REQUEST_LOSS_NANOSECONDS] == 4);
    trace_close(back);
    trace_close(in);
}
