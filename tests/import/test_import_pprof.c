/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/* Heap profiles of pprof: JAX's own, by buffer and line; and what is refused. */
#include "tests/opened_text.h"

#define REAL TEST_DATA "/profiles/jax-device-memory.prof"

/* What the profiled train.py keeps: three gradients and the weights of 256 x 256, the input of 64 x 256, a number. */
Test(import_pprof, each_buffer_of_a_jax_profile_is_a_request_with_its_stack)
{
    struct trace_reader *r;
    struct err_detail err = {.text = ""};
    struct trace_side side;
    const char *const *frames;
    char got[256];
    cr_assert_eq(trace_open_any(REAL, NULL, NULL, &r, &err), ERR_OK, "%s", err.text);
    cr_expect_str_eq(trace_meta(r, "source"), "pprof");
    events_text(r, got, sizeof got);
    cr_expect_eq(trace_info(r)->peak_requested_bytes, 4 * 262144 + 65536 + 4, "%s", got);
    cr_expect_eq(trace_info(r)->by_kind[EVENT_ALLOC], 6);
    cr_assert_eq(trace_side_at(r, 0, &side, &err), ERR_OK);
    const size_t n = trace_stack(r, side.stack, &frames);
    cr_assert_gt(n, 1);
    cr_expect_str_eq(frames[n - 1], "<module> /opt/example/train.py:16");
    trace_close(r);
}

Test(import_pprof, a_sample_of_several_objects_becomes_several_requests)
{
    /* alloc/count, space/bytes; one sample of 3 objects and 1000 bytes; strings "", "count", "bytes" */
    static const char profile[] = "\x0a\x04\x08\x01\x10\x01" "\x0a\x04\x08\x02\x10\x02" "\x12\x05\x12\x03\x03\xe8\x07"
                                  "\x32\x00" "\x32\x05" "count" "\x32\x05" "bytes";
    struct trace_reader *r;
    struct err_detail err = {.text = ""};
    char got[256];
    cr_assert_eq(opened_bytes(profile, sizeof profile - 1, NULL, -1, &r, &err), ERR_OK, "%s", err.text);
    cr_expect_str_eq(events_text(r, got, sizeof got), "+334 +333 +333 ");
    trace_close(r);
}

Test(import_pprof, more_objects_than_the_file_explains_become_one)
{
    static const char profile[] = "\x0a\x04\x08\x01\x10\x01" "\x0a\x04\x08\x02\x10\x02"
                                  "\x12\x0c\x12\x0a\x80\x80\x80\x80\x08\x80\x80\x80\x80\x10"
                                  "\x32\x00" "\x32\x05" "count" "\x32\x05" "bytes";
    struct trace_reader *r;
    struct err_detail err = {.text = ""};
    cr_assert_eq(opened_bytes(profile, sizeof profile - 1, NULL, -1, &r, &err), ERR_OK, "%s", err.text);
    cr_expect_eq(trace_info(r)->events, 1);
    cr_expect_not_null(strstr(trace_meta(r, "notes"), "each put as one request: 1"));
    trace_close(r);
}

Test(import_pprof, what_cannot_be_taken_is_said)
{
    struct trace_reader *r;
    struct err_detail err = {.text = ""};
    static const char time[] = "\x0a\x04\x08\x01\x10\x01" "\x12\x03\x12\x01\x05" "\x32\x00" "\x32\x03" "cpu";
    static const char cut[] = "\x0a\x04\x08\x01\x10\x01" "\x12\x7f\x12\x01\x05";
    cr_expect_eq(opened_bytes(time, sizeof time - 1, NULL, -1, &r, &err), ERR_UNSUPPORTED);
    cr_expect_not_null(strstr(err.text, "is a profile of cpu, not of memory"), "%s", err.text);
    cr_expect_eq(opened_bytes(cut, sizeof cut - 1, NULL, -1, &r, &err), ERR_FORMAT);
    cr_expect_not_null(strstr(err.text, "the file is cut off"), "%s", err.text);
    const struct import_config cfg = {.gpu = 7};
    cr_expect_eq(trace_open_any(REAL, NULL, &cfg, &r, &err), ERR_UNSUPPORTED);
    cr_expect_not_null(strstr(err.text, "choose another with --gpu"), "%s", err.text);
}
