/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/* XPlane profiles, written here field by field: requests of threads in order of time, totals, marks, what is refused;
 * and the recordings of others, whose bytes in use come out at every event. */
#include "tests/opened_text.h"

#include <unistd.h>

struct message {
    unsigned char bytes[4096];
    size_t n;
};

static void put_varint(struct message *m, uint64_t value)
{
    for (; value >= 0x80; value >>= 7)
        m->bytes[m->n++] = (unsigned char)(value | 0x80);
    m->bytes[m->n++] = (unsigned char)value;
}

static void put_number(struct message *m, unsigned field, uint64_t value)
{
    put_varint(m, field << 3);
    put_varint(m, value);
}

static void put_bytes(struct message *m, unsigned field, const void *bytes, size_t n)
{
    put_varint(m, field << 3 | 2);
    put_varint(m, n);
    memcpy(m->bytes + m->n, bytes, n);
    m->n += n;
}

static void put_double(struct message *m, unsigned field, double value)
{
    put_varint(m, field << 3 | 1);
    memcpy(m->bytes + m->n, &value, sizeof value);
    m->n += sizeof value;
}

static void put_message(struct message *m, unsigned field, const struct message *inner)
{
    put_bytes(m, field, inner->bytes, inner->n);
}

/* Numbers of the names below. */
static const char *const names[] = {
    NULL, "MemoryAllocation", "MemoryDeallocation", "train", "allocator_name", "bytes_allocated", "bytes_available",
    "fragmentation", "requested_bytes", "allocation_bytes", "addr", "step_num", "GPU_1_bfc", "xla_gpu_host_bfc",
    "tf_op",
};
enum { ALLOCATION = 1, DEALLOCATION, TRAIN, NAME, ALLOCATED, AVAILABLE, FRAGMENTATION, REQUESTED, BYTES, ADDR, STEP,
       GPU, HOST, OP, N_NAMES };

static void put_stat(struct message *event, uint64_t number, unsigned field, uint64_t value)
{
    struct message stat = {.n = 0};
    put_number(&stat, 1, number);
    put_number(&stat, field, value);
    put_message(event, 4, &stat);
}

static void put_memory(struct message *line, uint64_t kind, uint64_t ns, uint64_t allocator, uint64_t addr,
                       uint64_t requested, uint64_t bytes, uint64_t allocated)
{
    struct message event = {.n = 0}, stat = {.n = 0};
    put_number(&event, 1, kind);
    put_number(&event, 2, ns * 1000);
    put_stat(&event, NAME, 7, allocator);
    put_stat(&event, ALLOCATED, 4, allocated);
    put_stat(&event, AVAILABLE, 4, 8192 - allocated);
    put_stat(&event, REQUESTED, 4, requested);
    put_stat(&event, BYTES, 4, bytes);
    put_stat(&event, ADDR, 4, addr);
    put_number(&stat, 1, FRAGMENTATION);
    put_double(&stat, 2, 0.25);
    put_message(&event, 4, &stat);
    put_message(line, 4, &event);
}

static void put_names(struct message *plane)
{
    for (unsigned i = 1; i < N_NAMES; i++) {
        struct message meta = {.n = 0}, entry = {.n = 0};
        put_bytes(&meta, 2, names[i], strlen(names[i]));
        put_number(&entry, 1, i);
        put_message(&entry, 2, &meta);
        put_message(plane, i < NAME ? 4 : 5, &entry);
    }
}

/* Two threads, whose clocks begin at 100 and 50 ns; the step's mark; one event of the host's allocator. */
static struct message profile(void)
{
    struct message space = {.n = 0}, plane = {.n = 0}, a = {.n = 0}, b = {.n = 0}, step = {.n = 0};
    put_number(&a, 3, 100);
    put_memory(&a, ALLOCATION, 0, GPU, 4096, 500, 512, 1536);
    put_memory(&a, DEALLOCATION, 60, GPU, 9216, 1000, 1024, 256 + 512);
    put_number(&step, 1, TRAIN);
    put_number(&step, 2, 5000);
    put_stat(&step, STEP, 4, 0);
    put_message(&a, 4, &step);
    put_number(&b, 3, 50);
    put_memory(&b, ALLOCATION, 60, GPU, 8192, 256, 256, 1536 + 256);
    put_memory(&b, ALLOCATION, 61, HOST, 1, 256, 256, 256);
    put_bytes(&plane, 2, "/host:CPU", 9);
    put_message(&plane, 3, &a);
    put_message(&plane, 3, &b);
    put_names(&plane);
    put_message(&space, 1, &plane);
    return space;
}

Test(import_xplane, threads_are_put_in_order_of_time_and_the_names_may_come_last)
{
    struct trace_reader *r;
    struct err_detail err = {.text = ""};
    const struct message m = profile();
    char got[256];
    cr_assert_eq(opened_bytes(m.bytes, m.n, NULL, -1, &r, &err), ERR_OK, "%s", err.text);
    cr_expect_str_eq(events_text(r, got, sizeof got), "+500 !step +256 -1000 ");
    cr_expect_eq(trace_info(r)->device, 1);
    cr_expect_eq(trace_info(r)->capacity_bytes, 8192);
    cr_expect_eq(trace_info(r)->recorded_peak_allocated_bytes, 1792);
    cr_expect(trace_info(r)->starts_mid_run);
    const char *notes = trace_meta(r, "notes");
    cr_expect_not_null(strstr(notes, "at most 25.0 %"), "%s", notes);
    cr_expect_not_null(strstr(notes, "of the host, left out: 1"), "%s", notes);
    cr_expect_null(strstr(notes, "change the recorded total"), "%s", notes);
    trace_close(r);
}

Test(import_xplane, a_total_that_does_not_follow_is_counted)
{
    struct trace_reader *r;
    struct err_detail err = {.text = ""};
    struct message space = {.n = 0}, plane = {.n = 0}, line = {.n = 0};
    put_memory(&line, ALLOCATION, 0, GPU, 4096, 512, 512, 512);
    put_memory(&line, ALLOCATION, 1, GPU, 8192, 512, 512, 4096);
    put_bytes(&plane, 2, "/host:CPU", 9);
    put_message(&plane, 3, &line);
    put_names(&plane);
    put_message(&space, 1, &plane);
    cr_assert_eq(opened_bytes(space.bytes, space.n, NULL, -1, &r, &err), ERR_OK, "%s", err.text);
    cr_expect_not_null(strstr(trace_meta(r, "notes"), "another amount than their size: 1"));
    trace_close(r);
}

Test(import_xplane, what_cannot_be_taken_is_said)
{
    struct trace_reader *r;
    struct err_detail err = {.text = ""};
    struct message m = profile(), space = {.n = 0}, plane = {.n = 0};
    cr_expect_eq(opened_bytes(m.bytes, m.n - 3, NULL, -1, &r, &err), ERR_FORMAT);
    cr_expect_not_null(strstr(err.text, "cut off"), "%s", err.text);
    put_bytes(&plane, 2, "/host:CPU", 9);
    put_message(&space, 1, &plane);
    cr_expect_eq(opened_bytes(space.bytes, space.n, NULL, -1, &r, &err), ERR_UNSUPPORTED);
    cr_expect_not_null(strstr(err.text, "has no memory events of a card"), "%s", err.text);
    m.bytes[1] = 0x7f;                       /* the plane is said to end in the middle of a line */
    cr_expect_eq(opened_bytes(m.bytes, m.n, "xplane", -1, &r, &err), ERR_FORMAT);
    cr_expect_not_null(strstr(err.text, "byte "), "%s", err.text);
}

/* Bytes in use after each event equal what the allocator itself stated, or the notes would count the others. */
Test(import_xplane, bytes_in_use_of_public_recordings_come_out_at_every_event)
{
    static const struct { const char *file; int64_t gpu; uint64_t events, peak; } recordings[] = {
        { "tracelens-jax-te-fused-attn", -1, 59, 663228416 }, { "tracelens-jax08-attention", -1, 252, 452985344 },
        { "tracelens-jax08-elementwise", -1, 150, 671286528 }, { "tracelens-jax08-gemm", -1, 138, 482345216 },
        { "tracelens-jax-conv-minimal-08", 1, 30, 0 }, { "tracelens-jax-conv-minimal-legacy", 6, 60, 0 },
    };
    for (size_t i = 0; i < sizeof recordings / sizeof recordings[0]; i++) {
        struct trace_reader *r;
        struct err_detail err = {.text = ""};
        char path[256];
        const struct import_config cfg = {.gpu = recordings[i].gpu};
        snprintf(path, sizeof path, "%s/traces/xplane/%s.xplane.pb", SHARED_DIR, recordings[i].file);
        if (access(path, R_OK) != 0)
            cr_skip_test("needs recordings of others: %s", path);
        cr_assert_eq(trace_open_any(path, NULL, &cfg, &r, &err), ERR_OK, "%s", err.text);
        cr_expect_eq(trace_info(r)->events, recordings[i].events, "%s: %llu", path,
                     (unsigned long long)trace_info(r)->events);
        cr_expect(recordings[i].peak == 0 || trace_info(r)->recorded_peak_allocated_bytes == recordings[i].peak);
        cr_expect_null(strstr(trace_meta(r, "notes"), "change the recorded total"), "%s: %s", path,
                       trace_meta(r, "notes"));
        trace_close(r);
    }
}
