/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/* XPlane profiles, written here field by field: requests of threads in order of time, totals, marks, what is refused;
 * and the recordings of others, whose bytes in use come out at every event. */
#define _GNU_SOURCE                          /* memmem */
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
    cr_expect_eq(trace_info(r)->capacity_bytes, 8192 * 4 / 3, "the allocator may take three quarters of JAX's card");
    cr_expect_str_eq(trace_meta(r, TRACE_META_PLATFORM), "jax");
    cr_expect_eq(trace_info(r)->recorded_peak_allocated_bytes, 1792);
    cr_expect(trace_info(r)->starts_mid_run);
    const char *notes = trace_meta(r, "notes");
    cr_expect_not_null(strstr(notes, "at most 25.0 %"), "%s", notes);
    cr_expect_not_null(strstr(notes, "of the host, left out: 1"), "%s", notes);
    cr_expect_null(strstr(notes, "change the recorded total"), "%s", notes);
    trace_close(r);
}

/* ---- compiled programs ---- */

enum { SPAN_OF_STEP = 101, SPAN_OF_COMPILER, SPAN_OF_COPY, SPAN_OF_RETRY };

/* An instruction with a stack of Python, or none (frame 0). */
static void put_instruction(struct message *computation, uint64_t id, uint64_t frame)
{
    struct message instruction = {.n = 0}, metadata = {.n = 0};
    put_number(&metadata, 15, frame);
    put_message(&instruction, 7, &metadata);
    put_number(&instruction, 35, id);
    put_message(computation, 2, &instruction);
}

/* Frames: 1 main at train.py:40; 2 layer at train.py:8, called by 1; 3 loss at train.py:20, called by 1. */
static void put_frames(struct message *module)
{
    static const char *const functions[] = {"main", "layer", "loss"};
    static const unsigned lines[] = {40, 8, 20};
    struct message index = {.n = 0};
    put_bytes(&index, 1, "train.py", 8);
    for (unsigned i = 0; i < 3; i++)
        put_bytes(&index, 2, functions[i], strlen(functions[i]));
    for (unsigned i = 0; i < 3; i++) {
        struct message place = {.n = 0};
        put_number(&place, 1, 1);
        put_number(&place, 2, i + 1);
        put_number(&place, 3, lines[i]);
        put_message(&index, 3, &place);
    }
    for (unsigned i = 0; i < 3; i++) {
        struct message frame = {.n = 0};
        put_number(&frame, 1, i + 1);
        put_number(&frame, 2, i == 0 ? 0 : 1);
        put_message(&index, 4, &frame);
    }
    put_message(module, 17, &index);
}

static void put_buffer(struct message *assignment, uint64_t id, uint64_t bytes)
{
    struct message buffer = {.n = 0}, place = {.n = 0};
    put_number(&place, 4, id);
    put_number(&buffer, 1, id);
    put_number(&buffer, 2, bytes);
    put_message(&buffer, 3, &place);
    put_message(assignment, 1, &buffer);
}

static void put_allocation(struct message *assignment, uint64_t bytes, bool is_result, uint64_t first, uint64_t last)
{
    struct message allocation = {.n = 0};
    put_number(&allocation, 2, bytes);
    put_number(&allocation, 7, is_result);
    for (uint64_t id = first; id <= last; id++) {
        struct message assigned = {.n = 0};
        put_number(&assigned, 1, id);
        put_message(&allocation, 9, &assigned);
    }
    put_message(assignment, 3, &allocation);
}

static void put_heap_event(struct message *trace, uint64_t kind, uint64_t buffer)
{
    struct message event = {.n = 0};
    put_number(&event, 1, kind);
    put_number(&event, 2, buffer);
    put_message(trace, 1, &event);
}

/* jit_step: a result of 500 bytes, which `frame` made; temporaries of 256 bytes, in which 100 of layer and 50 of loss
 * are live at once, and 120 of loss after that. */
static struct message step_program(uint64_t frame)
{
    struct message hlo = {.n = 0}, module = {.n = 0}, computation = {.n = 0}, assignment = {.n = 0}, trace = {.n = 0};
    put_bytes(&module, 1, "jit_step", 8);
    put_instruction(&computation, 1, frame);
    put_instruction(&computation, 2, 2);
    put_instruction(&computation, 3, 3);
    put_instruction(&computation, 4, 3);
    put_message(&module, 3, &computation);
    put_frames(&module);
    put_buffer(&assignment, 1, 500);
    put_buffer(&assignment, 2, 100);
    put_buffer(&assignment, 3, 50);
    put_buffer(&assignment, 4, 120);
    put_allocation(&assignment, 500, true, 1, 1);
    put_allocation(&assignment, 256, false, 2, 4);
    put_heap_event(&trace, 0, 2);
    put_heap_event(&trace, 0, 3);
    put_heap_event(&trace, 1, 2);
    put_heap_event(&trace, 1, 3);
    put_heap_event(&trace, 0, 4);
    put_message(&assignment, 4, &trace);
    put_message(&hlo, 1, &module);
    put_message(&hlo, 3, &assignment);
    return hlo;
}

static void put_program(struct message *space, const struct message *programs, size_t n)
{
    struct message plane = {.n = 0};
    put_bytes(&plane, 2, "/host:metadata", 14);
    for (size_t i = 0; i < n; i++) {
        struct message stat = {.n = 0}, meta = {.n = 0}, entry = {.n = 0};
        put_message(&stat, 6, &programs[i]);
        put_message(&meta, 5, &stat);
        put_number(&entry, 1, i + 1);
        put_message(&entry, 2, &meta);
        put_message(&plane, 4, &entry);
    }
    put_message(space, 1, &plane);
}

static void put_span(struct message *line, uint64_t name, uint64_t ns, uint64_t duration_ns)
{
    struct message event = {.n = 0};
    put_number(&event, 1, name);
    put_number(&event, 2, ns * 1000);
    put_number(&event, 3, duration_ns * 1000);
    put_message(line, 4, &event);
}

static void put_span_name(struct message *plane, uint64_t number, const char *name)
{
    struct message meta = {.n = 0}, entry = {.n = 0};
    put_bytes(&meta, 2, name, strlen(name));
    put_number(&entry, 1, number);
    put_message(&entry, 2, &meta);
    put_message(plane, 4, &entry);
}

/* A run of jit_step that asks for its result and its temporaries, the compiler's request, a copy's, and one outside. */
static struct message run_of_programs(const struct message *programs, size_t n)
{
    struct message space = {.n = 0}, plane = {.n = 0}, line = {.n = 0};
    put_program(&space, programs, n);
    put_span(&line, SPAN_OF_STEP, 0, 10);
    put_memory(&line, ALLOCATION, 1, GPU, 4096, 500, 512, 512);
    put_memory(&line, ALLOCATION, 2, GPU, 8192, 256, 256, 768);
    put_span(&line, SPAN_OF_COMPILER, 20, 10);
    put_memory(&line, ALLOCATION, 21, GPU, 12288, 256, 256, 1024);
    put_span(&line, SPAN_OF_COPY, 40, 10);
    put_memory(&line, ALLOCATION, 41, GPU, 16384, 256, 256, 1280);
    put_memory(&line, ALLOCATION, 60, GPU, 20480, 256, 256, 1536);
    put_bytes(&plane, 2, "/host:CPU", 9);
    put_message(&plane, 3, &line);
    put_names(&plane);
    put_span_name(&plane, SPAN_OF_STEP, "LoadedExecutable::Execute (jit_step)");
    put_span_name(&plane, SPAN_OF_COMPILER, "CompileSingleModule");
    put_span_name(&plane, SPAN_OF_COPY, "BufferFromHostBuffer");
    put_message(&space, 1, &plane);
    return space;
}

/* The frames of a request, innermost first, each after a bar. */
static const char *frames_text(struct trace_reader *r, uint64_t event, char out[static 1024])
{
    uint32_t stack;
    const char *const *frames;
    struct err_detail err;
    size_t used = 0;
    cr_assert_eq(trace_stacks_at(r, &event, 1, &stack, &err), ERR_OK);
    const size_t n = stack == TRACE_NO_STACK ? 0 : trace_stack(r, stack, &frames);
    out[0] = '\0';
    for (size_t i = 0; i < n; i++)
        used += (size_t)snprintf(out + used, 1024 - used, "|%s", frames[i]);
    return out;
}

Test(import_xplane, a_request_of_a_program_has_the_line_that_made_it_and_temporaries_say_what_is_in_them)
{
    struct trace_reader *r;
    struct err_detail err = {.text = ""};
    char got[1024];
    const struct message program = step_program(2), m = run_of_programs(&program, 1);
    cr_assert_eq(opened_bytes(m.bytes, m.n, NULL, -1, &r, &err), ERR_OK, "%s", err.text);
    cr_expect_str_eq(frames_text(r, 0, got), "|jit_step result train.py:8|layer train.py:8|main train.py:40");
    cr_expect_str_eq(frames_text(r, 1, got), "|jit_step temporaries train.py:40|100 B of 150 B at their peak are of "
                     "train.py:8 layer ??:0|main train.py:40");
    cr_expect_not_null(strstr(trace_meta(r, "notes"), "jit_step, as compiled: 0 B of arguments, 500 B of results, "
                                                      "256 B of temporaries"), "%s", trace_meta(r, "notes"));
    trace_close(r);
}

/* A run of jit_step that is granted its result and then waits in vain, and one that is granted its temporaries at last;
 * `is_compiling`: the compiler waits. */
static struct message run_that_waits(const struct message *program, bool is_served, bool is_compiling)
{
    struct message space = {.n = 0}, plane = {.n = 0}, line = {.n = 0};
    put_program(&space, program, 1);
    if (is_compiling)
        put_span(&line, SPAN_OF_COMPILER, 0, 100);
    put_span(&line, SPAN_OF_STEP, 1, 90);
    put_memory(&line, ALLOCATION, 2, GPU, 4096, 500, 512, 8000);
    put_span(&line, SPAN_OF_RETRY, 10, 50);
    if (is_served)
        put_memory(&line, ALLOCATION, 55, GPU, 8192, 256, 256, 4256);
    put_memory(&line, DEALLOCATION, 95, GPU, 4096, 500, 512, 7488);
    put_bytes(&plane, 2, "/host:CPU", 9);
    put_message(&plane, 3, &line);
    put_names(&plane);
    put_span_name(&plane, SPAN_OF_STEP, "LoadedExecutable::Execute (jit_step)");
    put_span_name(&plane, SPAN_OF_COMPILER, "CompileSingleModule");
    put_span_name(&plane, SPAN_OF_RETRY, "AllocatorRetry::AllocateRaw");
    put_message(&space, 1, &plane);
    return space;
}

static void expect_events(const struct message *m, uint64_t n_refused, const char *events)
{
    struct trace_reader *r;
    struct err_detail err = {.text = ""};
    char got[256], frames[1024];
    cr_assert_eq(opened_bytes(m->bytes, m->n, NULL, -1, &r, &err), ERR_OK, "%s", err.text);
    cr_expect_eq(trace_info(r)->by_kind[EVENT_OOM], n_refused);
    if (n_refused > 0)
        cr_expect_not_null(strstr(frames_text(r, 1, frames), "|jit_step temporaries"), "%s", frames);
    cr_expect_str_eq(events_text(r, got, sizeof got), events);
    trace_close(r);
}

/* 192 bytes are free, a quarter of them in parts: the temporaries of 256 do not fit. */
Test(import_xplane, a_run_that_waits_for_its_temporaries_in_vain_was_refused_them)
{
    const struct message program = step_program(2);
    struct message m = run_that_waits(&program, false, false);
    expect_events(&m, 1, "+500 -256 -500 ");
    m = run_that_waits(&program, true, false);
    expect_events(&m, 0, "+500 +256 -500 ");
    m = run_that_waits(&program, false, true);
    expect_events(&m, 0, "+500 -500 ");
}

/* jit_step of train.py: arguments 0 and 1 of one shape, of which 1 is donated; 2 of another; two results of the first
 * shape and one that is as large and of no argument's. */
static struct message donating_program(const char *function)
{
    static const struct { unsigned shape, is_argument, number, is_result; } allocations[] = {
        {0, 1, 0, 0}, {0, 1, 1, 1}, {1, 1, 2, 0}, {0, 0, 0, 1}, {2, 0, 0, 1} };
    struct message hlo = {.n = 0}, module = {.n = 0}, assignment = {.n = 0}, shapes[3], program = {.n = 0},
                   result = {.n = 0}, index = {.n = 0}, place = {.n = 0};
    static const unsigned sides[][2] = {{256, 128}, {8, 8}, {128, 256}};
    for (unsigned i = 0; i < 3; i++) {
        shapes[i].n = 0;
        put_number(&shapes[i], 2, 11);
        put_number(&shapes[i], 3, sides[i][0]);
        put_number(&shapes[i], 3, sides[i][1]);
    }
    put_bytes(&module, 1, "jit_step", 8);
    put_bytes(&index, 1, "train.py", 8);
    put_bytes(&index, 2, function, strlen(function));
    put_number(&place, 1, 1);
    put_number(&place, 2, 1);
    put_number(&place, 3, 7);
    put_message(&index, 3, &place);
    put_message(&module, 17, &index);
    for (unsigned i = 0; i < 3; i++)
        put_message(&program, 1, &shapes[i / 2]);
    put_message(&result, 4, &shapes[0]);
    put_message(&result, 4, &shapes[0]);
    put_message(&result, 4, &shapes[2]);
    put_message(&program, 2, &result);
    put_message(&module, 4, &program);
    for (unsigned i = 0; i < 5; i++) {
        struct message allocation = {.n = 0};
        put_number(&allocation, 2, allocations[i].shape == 1 ? 256 : 131072);
        put_number(&allocation, 5, allocations[i].is_argument);
        put_number(&allocation, 6, allocations[i].number);
        put_number(&allocation, 7, allocations[i].is_result);
        put_message(&assignment, 3, &allocation);
    }
    put_message(&hlo, 1, &module);
    put_message(&hlo, 3, &assignment);
    return hlo;
}

static void expect_donatable(const struct message *program, const char *expected)
{
    struct trace_reader *r;
    struct err_detail err = {.text = ""};
    const struct message m = run_of_programs(program, 1);
    cr_assert_eq(opened_bytes(m.bytes, m.n, NULL, -1, &r, &err), ERR_OK, "%s", err.text);
    const char *got = trace_meta(r, TRACE_META_DONATABLE);
    cr_expect_str_eq(got == NULL ? "" : got, expected);
    trace_close(r);
}

Test(import_xplane, an_argument_that_is_not_donated_and_has_the_shape_of_a_result_is_told)
{
    const struct message own = donating_program("main.<locals>.step"), operator = donating_program("main");
    expect_donatable(&own, "131072 1 2 jit_step");
    expect_donatable(&operator, "");             /* JAX's own, called in main */
}

Test(import_xplane, a_request_of_no_program_says_what_its_thread_was_in)
{
    struct trace_reader *r;
    struct err_detail err = {.text = ""};
    char got[1024];
    const struct message program = step_program(2), m = run_of_programs(&program, 1);
    cr_assert_eq(opened_bytes(m.bytes, m.n, NULL, -1, &r, &err), ERR_OK, "%s", err.text);
    cr_expect_str_eq(frames_text(r, 2, got), "|XLA's compiler, to try candidates ??:0|CompileSingleModule ??:0");
    cr_expect_str_eq(frames_text(r, 3, got), "|BufferFromHostBuffer ??:0");
    cr_expect_str_eq(frames_text(r, 4, got), "");
    trace_close(r);
}

/* A second request of `bytes`, which loss made if it is a result. */
static struct message step_program_with(uint64_t bytes, bool is_result)
{
    struct message hlo = {.n = 0}, module = {.n = 0}, computation = {.n = 0}, assignment = {.n = 0};
    put_bytes(&module, 1, "jit_step", 8);
    put_instruction(&computation, 1, 2);
    put_instruction(&computation, 2, 3);
    put_message(&module, 3, &computation);
    put_frames(&module);
    put_buffer(&assignment, 1, 500);
    put_buffer(&assignment, 2, bytes);
    put_allocation(&assignment, 500, true, 1, 1);
    put_allocation(&assignment, bytes, is_result, 2, 2);
    put_message(&hlo, 1, &module);
    put_message(&hlo, 3, &assignment);
    return hlo;
}

static void expect_first_frames(const struct message *programs, size_t n, const char *expected)
{
    struct trace_reader *r;
    struct err_detail err = {.text = ""};
    char got[1024];
    const struct message m = run_of_programs(programs, n);
    cr_assert_eq(opened_bytes(m.bytes, m.n, NULL, -1, &r, &err), ERR_OK, "%s", err.text);
    cr_expect_str_eq(frames_text(r, 0, got), expected);
    trace_close(r);
}

Test(import_xplane, requests_that_share_name_and_size_are_of_the_line_that_they_came_through)
{
    const struct message two[] = {step_program(2), step_program(3)}, one = step_program_with(500, true);
    expect_first_frames(two, 2, "|jit_step result train.py:40|main train.py:40");
    expect_first_frames(&one, 1, "|jit_step result train.py:40|main train.py:40");
}

Test(import_xplane, of_a_result_and_temporaries_of_one_size_no_line_is_named)
{
    const struct message mixed = step_program_with(500, false);
    expect_first_frames(&mixed, 1, "|LoadedExecutable::Execute (jit_step) ??:0");
}

Test(import_xplane, a_program_that_does_not_decode_or_goes_in_circles_costs_no_more_than_its_lines)
{
    struct trace_reader *r;
    struct err_detail err = {.text = ""};
    char got[1024];
    struct message program = step_program(1);
    static const unsigned char parent_of_first[] = {0x08, 0x01, 0x10, 0x00};
    unsigned char *first = memmem(program.bytes, program.n, parent_of_first, sizeof parent_of_first);
    cr_assert_not_null(first);
    first[3] = 1;                            /* the outermost frame is called by itself */
    struct message m = run_of_programs(&program, 1);
    cr_assert_eq(opened_bytes(m.bytes, m.n, NULL, -1, &r, &err), ERR_OK, "%s", err.text);
    trace_close(r);
    memset(program.bytes, 0xff, program.n);
    m = run_of_programs(&program, 1);
    cr_assert_eq(opened_bytes(m.bytes, m.n, NULL, -1, &r, &err), ERR_OK, "%s", err.text);
    cr_expect_str_eq(frames_text(r, 0, got), "|LoadedExecutable::Execute (jit_step) ??:0");
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

/* Of three requests the first `n_eager` come from a span of TensorFlow's. */
static void expect_platform(unsigned n_eager, const char *platform, uint64_t capacity_bytes)
{
    struct trace_reader *r;
    struct err_detail err = {.text = ""};
    struct message space = {.n = 0}, plane = {.n = 0}, line = {.n = 0};
    put_span(&line, SPAN_OF_STEP, 0, 10 * n_eager);
    for (unsigned i = 0; i < 3; i++)
        put_memory(&line, ALLOCATION, 10 * i + 1, GPU, 4096 * (i + 1), 512, 512, 512 * (i + 1));
    put_bytes(&plane, 2, "/host:CPU", 9);
    put_message(&plane, 3, &line);
    put_names(&plane);
    put_span_name(&plane, SPAN_OF_STEP, "EagerKernelExecute");
    put_message(&space, 1, &plane);
    cr_assert_eq(opened_bytes(space.bytes, space.n, NULL, -1, &r, &err), ERR_OK, "%s", err.text);
    cr_expect_str_eq(trace_meta(r, TRACE_META_PLATFORM), platform, "%u of 3", n_eager);
    cr_expect_eq(trace_info(r)->capacity_bytes, capacity_bytes, "%u of 3", n_eager);
    cr_expect_eq(strstr(trace_meta(r, "notes"), "card's size is not recorded") != NULL, capacity_bytes != 8192);
    trace_close(r);
}

Test(import_xplane, whose_allocator_it_is_of_is_told_by_what_most_requests_come_from)
{
    expect_platform(0, "jax", 8192 * 4 / 3);
    expect_platform(1, "jax", 8192 * 4 / 3);
    expect_platform(2, "tensorflow", 8192);
    expect_platform(3, "tensorflow", 8192);
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
