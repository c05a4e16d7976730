/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/* Profiles of torch.profiler: memory events in order of time, totals as recorded, and what cannot be replayed. */
#include "tests/opened_text.h"

#define MEMORY(ts, type, device, addr, bytes, allocated, reserved)                                                 \
    "{\"ph\": \"i\", \"name\": \"[memory]\", \"ts\": " #ts ", \"args\": {\"Device Type\": " #type                  \
    ", \"Device Id\": " #device ", \"Addr\": " #addr ", \"Bytes\": " #bytes ", \"Total Allocated\": " #allocated   \
    ", \"Total Reserved\": " #reserved "}},\n"
#define PROFILE(events)                                                                                            \
    "{\"schemaVersion\": 1, \"deviceProperties\": [{\"id\": 0}],\n \"traceEvents\": [\n" events                    \
    "{\"ph\": \"X\", \"name\": \"a ] } [memory]\", \"ts\": 1}\n], \"traceName\": \"x\"}"

/* Requested bytes after each event, as text. */
static void expect_allocated(const char *text, int64_t gpu, const char *expected)
{
    struct trace_reader *r;
    struct err_detail err = {.text = ""};
    const struct event *events;
    const struct trace_block *blocks;
    char got[256] = "";
    uint64_t sizes[16] = {0}, live = 0;
    size_t n = 1;
    cr_assert_eq(opened_text(text, NULL, gpu, &r, &err), ERR_OK, "%s", err.text);
    blocks = trace_start_blocks(r, &n);
    for (size_t i = 0; i < n; i++)
        live += sizes[blocks[i].slot] = blocks[i].requested;
    for (n = 1; n > 0;) {
        cr_assert_eq(trace_next(r, &events, &n, &err), ERR_OK);
        for (size_t i = 0; i < n; i++) {
            live = events[i].kind == EVENT_ALLOC ? live + events[i].bytes : live - sizes[events[i].slot];
            sizes[events[i].slot] = events[i].bytes;
            snprintf(got + strlen(got), sizeof got - strlen(got), "%llu ", (unsigned long long)live);
        }
    }
    cr_expect_str_eq(got, expected);
    trace_close(r);
}

Test(import_profiler, threads_are_put_in_order_of_time_and_totals_come_out)
{
    expect_allocated(PROFILE(MEMORY(10.5, 1, 0, 4096, 512, 1536, 2097152) MEMORY(12.5, 1, 0, 4096, -512, 2048, 2097152)
                             MEMORY(11.25, 1, 0, 8192, 1024, 2560, 2097152) MEMORY(11, 0, -1, 1, 8, 8, 0)), -1,
                     "1536 2560 2048 ");
}

Test(import_profiler, what_was_live_before_ends_where_the_profile_says)
{
    struct trace_reader *r;
    struct err_detail err;
    static const char text[] = PROFILE(MEMORY(1, 1, 0, 4096, -512, 3584, 4194304)
                                       MEMORY(2, 1, 0, 4096, 1024, 4608, 4194304)
                                       MEMORY(3, 1, 0, 4096, -1024, 3584, 4194304)
                                       MEMORY(4, 1, 0, 9000, -3072, 512, 4194304));
    expect_allocated(text, -1, "3584 4608 3584 512 ");
    cr_assert_eq(opened_text(text, NULL, -1, &r, &err), ERR_OK);
    cr_expect(trace_info(r)->starts_mid_run);
    cr_expect_eq(trace_info(r)->recorded_peak_reserved_bytes, 4194304);
    cr_expect_eq(trace_info(r)->recorded_start_reserved_bytes, 4194304);
    cr_expect_eq(trace_info(r)->recorded_peak_allocated_bytes, 4608);
    trace_close(r);
}

Test(import_profiler, of_several_devices_one_is_chosen)
{
    static const char text[] = PROFILE(MEMORY(1, 1, 0, 4096, 512, 512, 2097152)
                                       MEMORY(2, 6, 1, 4096, 1024, 1024, 2097152));
    expect_text_refused(text, NULL, ERR_USAGE, "choose a device with --gpu: 0 (1 events), 1 (1 events)");
    expect_allocated(text, 1, "1024 ");
}

Test(import_profiler, what_cannot_be_replayed_is_said)
{
    expect_text_refused(PROFILE(""), NULL, ERR_UNSUPPORTED, "has no memory events of a card; record with");
    expect_text_refused(PROFILE(MEMORY(1, 0, -1, 1, 8, 8, 0)), NULL, ERR_UNSUPPORTED, "only of the host");
    expect_text_refused(PROFILE("{\"name\": \"[memory]\", \"ts\": 1, \"args\": {\"Device Type\": 1, \"Device Id\": 0, "
                                "\"Bytes\": 8}},"), NULL, ERR_UNSUPPORTED, "have no addresses");
    expect_text_refused("{\"schemaVersion\": 1, \"traceEvents\": [{\"name\": ", NULL, ERR_FORMAT,
                        "the file is cut off");
    expect_text_refused("{\"schemaVersion\": 1, \"traceEvents\": [3]}", NULL, ERR_FORMAT, "an event is not an object");
    expect_text_refused("{\"schemaVersion\": 1}", NULL, ERR_FORMAT, "has no list traceEvents");
    expect_text_refused(PROFILE("{\"name\": \"[memory]\", \"args\": {}},"), NULL, ERR_FORMAT, "lacks its device");
    expect_text_refused(PROFILE("{\"name\": \"[memory]\", \"args\": {]}},"), NULL, ERR_FORMAT, "byte ");
}
