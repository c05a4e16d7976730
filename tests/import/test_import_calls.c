/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/* Importing journals of CUDA calls that are made by hand: each kind of record, and files that are cut off or contradict
 * themselves. */
#include "capture/call_framework.h"
#include "import/call_journal_read.h"
#include "import/import.h"
#include "import/import_calls.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { RECORDS_MAX = 320 };

struct journal {
    struct call_head head;
    struct call_record records[RECORDS_MAX];
    uint32_t n;
};

static struct journal journal_begin(void)
{
    return (struct journal){.head = {.magic = CALL_JOURNAL_MAGIC, .order = CALL_JOURNAL_ORDER,
                                     .version = CALL_JOURNAL_VERSION, .record_bytes = sizeof(struct call_record),
                                     .head_bytes = sizeof(struct call_head), .pid = 7, .command_line = "./a\0-b"}};
}

static uint32_t put(struct journal *j, struct call_record r)
{
    cr_assert_lt(j->n, (uint32_t)RECORDS_MAX);
    r.is_whole = CALL_WHOLE;
    r.time_ns = 100 + j->n;
    j->records[j->n] = r;
    return j->n++;
}

static uint32_t put_alloc(struct journal *j, uint64_t addr, uint64_t bytes)
{
    return put(j, (struct call_record){.kind = CALL_ALLOC, .addr = addr, .bytes = bytes});
}

static uint32_t put_free(struct journal *j, uint64_t addr)
{
    return put(j, (struct call_record){.kind = CALL_FREE, .addr = addr});
}

/* Imports the first n bytes of a journal. NULL, with the sentence in *why, if that is refused. */
static struct trace_reader *import_as(const struct journal *j, size_t n, const struct import_config *cfg,
                                      struct err_detail *err)
{
    unsigned char *bytes = malloc(n + 1);
    struct input *in;
    struct trace_writer *w;
    struct trace_reader *trace = NULL;
    void *out;
    size_t n_out;
    const size_t n_head = n < sizeof j->head ? n : sizeof j->head;
    memcpy(bytes, &j->head, n_head);
    memcpy(bytes + n_head, j->records, n - n_head);
    cr_assert_eq(input_open_bytes(bytes, n, &in, err), ERR_OK);
    cr_assert_eq(trace_create(NULL, &w, err), ERR_OK);
    if (importer_calls.import(in, cfg, w, err) == ERR_OK) {
        cr_assert_eq(trace_finish_bytes(w, &out, &n_out, err), ERR_OK, "%s", err->text);
        cr_assert_eq(trace_open_owned(out, n_out, "journal", 0, &trace, err), ERR_OK, "%s", err->text);
    } else {
        cr_expect_neq(err->text[0], '\0');
        trace_abandon(w);
    }
    input_close(in);
    free(bytes);
    return trace;
}

static struct trace_reader *import_cut(const struct journal *j, size_t n, int64_t gpu, struct err_detail *err)
{
    return import_as(j, n, &(struct import_config){.gpu = gpu}, err);
}

static struct trace_reader *import_all(const struct journal *j, int64_t gpu)
{
    struct err_detail err = {.text = ""};
    struct trace_reader *trace = import_cut(j, sizeof j->head + j->n * sizeof j->records[0], gpu, &err);
    cr_assert_not_null(trace, "%s", err.text);
    return trace;
}

/* The kinds of all events as letters: A, F (free), O (refused). */
static const char *kinds_of(struct trace_reader *trace, char text[RECORDS_MAX])
{
    const struct event *events;
    size_t n, at = 0;
    do {
        cr_assert_eq(trace_next(trace, &events, &n, NULL), ERR_OK);
        for (size_t i = 0; i < n; i++)
            text[at++] = events[i].kind == EVENT_ALLOC ? 'A' : events[i].kind == EVENT_FREE ? 'F' : 'O';
    } while (n > 0);
    text[at] = '\0';
    return text;
}

static void expect_kinds(const struct journal *j, const char *want)
{
    char text[RECORDS_MAX];
    struct trace_reader *trace = import_all(j, -1);
    cr_expect_str_eq(kinds_of(trace, text), want);
    trace_close(trace);
}

Test(import_calls, a_free_whose_call_failed_did_not_happen)
{
    struct journal j = journal_begin();
    put_alloc(&j, 0x1000, 10);
    const uint32_t failed = put_free(&j, 0x1000);
    put_alloc(&j, 0x2000, 20);
    put(&j, (struct call_record){.kind = CALL_UNDO, .other = failed});
    put_free(&j, 0x1000);
    expect_kinds(&j, "AAF");
}

/* A simulated card's journal: pool 0x10100 takes a segment and gives part of it out, memory on the host is allocated,
 * and physical memory outlives its handle. */
static struct journal journal_of_simulated_card(void)
{
    struct journal j = journal_begin();
    j.head.card = CALL_CARD_SIMULATED;
    j.head.epoch_ns = 5000;
    put(&j, (struct call_record){.kind = CALL_DEVICE, .bytes = 1000, .other = 900});
    put(&j, (struct call_record){.kind = CALL_SEGMENT, .addr = 0x1000, .bytes = 100, .other = 0x10100});
    put(&j, (struct call_record){.kind = CALL_ALLOC, .space = CALL_SPACE_POOL, .addr = 0x1000, .bytes = 60, .stream = 5,
                                 .other = 0x10100});
    put(&j, (struct call_record){.kind = CALL_ALLOC, .space = CALL_SPACE_MANAGED, .addr = 0x9000, .bytes = 7});
    put(&j, (struct call_record){.kind = CALL_FREE, .space = CALL_SPACE_POOL, .addr = 0x1000, .bytes = 60, .stream = 6,
                                 .other = 0x10100});
    put(&j, (struct call_record){.kind = CALL_SEGMENT_FREE, .addr = 0x1000, .bytes = 100, .other = 0x10100});
    put(&j, (struct call_record){.kind = CALL_FREE, .space = CALL_SPACE_MANAGED, .addr = 0x9000, .bytes = 7});
    put(&j, (struct call_record){.kind = CALL_CREATE, .space = CALL_SPACE_PHYSICAL, .bytes = 40, .other = 3});
    put(&j, (struct call_record){.kind = CALL_MAP, .space = CALL_SPACE_PHYSICAL, .addr = 0x2000, .bytes = 40,
                                 .other = 3});
    put(&j, (struct call_record){.kind = CALL_RELEASE, .space = CALL_SPACE_PHYSICAL, .other = 3});
    put_alloc(&j, 0x3000, 70);
    put(&j, (struct call_record){.kind = CALL_OOM, .bytes = 800});
    put(&j, (struct call_record){.kind = CALL_UNMAP, .space = CALL_SPACE_PHYSICAL, .addr = 0x2000, .bytes = 40});
    put(&j, (struct call_record){.kind = CALL_PHYSICAL_FREE, .space = CALL_SPACE_PHYSICAL, .bytes = 40, .other = 3});
    return j;
}

/* Waits for stream 6 and for the device, of a program that uses stream 5 too. */
Test(import_calls, what_the_program_waits_for_is_kept)
{
    struct journal j = journal_of_simulated_card();
    put(&j, (struct call_record){.kind = CALL_WAIT, .stream = 6});
    put(&j, (struct call_record){.kind = CALL_WAIT, .other = 1});
    struct trace_reader *trace = import_all(&j, -1);
    cr_assert_eq(trace_info(trace)->n_controls, 2);
    const struct control *c = trace_controls(trace);
    cr_expect(c[0].kind == CONTROL_WAIT && c[0].number == 0);
    cr_expect_eq(trace_streams(trace)[c[0].stream].handle, 6);
    cr_expect(c[1].kind == CONTROL_WAIT && c[1].number == 1);
    trace_close(trace);
}

Test(import_calls, a_refused_request_of_an_absurd_size_is_left_out_and_noted)
{
    struct journal j = journal_begin();
    put_alloc(&j, 0x3000, 70);
    put(&j, (struct call_record){.kind = CALL_OOM, .bytes = UINT64_MAX});
    put(&j, (struct call_record){.kind = CALL_OOM, .bytes = 800});
    struct trace_reader *trace = import_all(&j, -1);
    char text[RECORDS_MAX];
    cr_expect_str_eq(kinds_of(trace, text), "AO");
    cr_expect_not_null(strstr(trace_meta(trace, "notes"), "1 refused requests are larger than a trace can hold"));
    trace_close(trace);
}

Test(import_calls, a_simulated_card_has_events_of_its_own_memory_alone_and_nothing_of_the_wall_clock)
{
    const struct journal j = journal_of_simulated_card();
    struct trace_reader *trace = import_all(&j, -1);
    const struct event *events;
    struct trace_side side;
    size_t n;
    char text[RECORDS_MAX];
    cr_expect_str_eq(kinds_of(trace, text), "AFAAOF");
    cr_expect_eq(trace_info(trace)->capacity_bytes, 900, "what context and others left of the card");
    cr_expect_eq(trace_info(trace)->epoch_us, 0);
    cr_expect_str_eq(trace_meta(trace, "source"), "cuda-driver");
    cr_expect_null(trace_meta(trace, "process"));
    cr_assert_eq(trace_info(trace)->n_pools, 2);
    cr_expect_eq(trace_pools(trace)[1].id[0], 0x10100);
    cr_assert_eq(trace_seek(trace, 0, NULL), ERR_OK);
    cr_assert_eq(trace_next(trace, &events, &n, NULL), ERR_OK);
    cr_expect_neq(events[0].stream, events[1].stream, "a free is on the stream that it was given");
    cr_assert_eq(trace_side_at(trace, 3, &side, NULL), ERR_OK);
    cr_expect_eq(side.stack, TRACE_NO_STACK);
    trace_close(trace);
}

static void expect_platform(const struct journal *j, const char *platform)
{
    struct trace_reader *trace = import_all(j, -1);
    const char *found = trace_meta(trace, TRACE_META_PLATFORM), *notes = trace_meta(trace, "notes");
    cr_expect(platform == NULL ? found == NULL : found != NULL && strcmp(found, platform) == 0, "%s, not %s",
              found == NULL ? "none" : found, platform == NULL ? "none" : platform);
    cr_expect_eq(notes != NULL && strstr(notes, "its own allocator shares out") != NULL, platform != NULL);
    trace_close(trace);
}

Test(import_calls, the_framework_that_asks_is_the_platform_unless_pytorch_asks_as_well)
{
    struct journal j = journal_of_simulated_card();
    expect_platform(&j, NULL);
    put(&j, (struct call_record){.kind = CALL_FRAMEWORK, .other = CALL_FRAMEWORKS});
    expect_platform(&j, NULL);
    put(&j, (struct call_record){.kind = CALL_FRAMEWORK, .other = CALL_FRAMEWORK_TENSORFLOW});
    expect_platform(&j, "tensorflow");
    put(&j, (struct call_record){.kind = CALL_FRAMEWORK, .other = CALL_FRAMEWORK_JAX});
    expect_platform(&j, "jax");
    put(&j, (struct call_record){.kind = CALL_FRAMEWORK, .other = CALL_FRAMEWORK_PYTORCH});
    expect_platform(&j, NULL);
}

static uint32_t put_frame(struct journal *j, const char *text, uint32_t caller)
{
    struct call_text part = {.kind = CALL_TEXT};
    struct call_record record;
    memcpy(part.text, text, strlen(text));
    memcpy(&record, &part, sizeof record);
    const uint32_t number = put(j, record);
    j->records[number].time_ns = 0;                      /* of a text it is the part before */
    return put(j, (struct call_record){.kind = CALL_FRAME, .addr = number, .other = number + 1, .stack = caller});
}

/* The library that asks, not one that is only among its callers. */
Test(import_calls, on_a_real_card_the_stack_tells_the_framework)
{
    struct journal j = journal_begin();
    const uint32_t torch = put_frame(&j, "f+0x1 /w/torch/lib/libtorch_cuda.so", 0);
    const uint32_t jax = put_frame(&j, "g+0x1 /w/xla_cuda_plugin.so", torch + 1);
    const uint32_t driver = put_frame(&j, "cuMemAlloc_v2+0x9 /l/libcuda.so.1", jax + 1);
    j.head.has_stacks = 1;
    put(&j, (struct call_record){.kind = CALL_ALLOC, .addr = 0x1000, .bytes = 10, .stack = driver + 1});
    expect_platform(&j, "jax");
    put(&j, (struct call_record){.kind = CALL_ALLOC, .addr = 0x2000, .bytes = 10, .stack = torch + 1});
    expect_platform(&j, NULL);
}

Test(import_calls, more_pools_of_a_simulated_card_than_a_trace_holds_share_the_last)
{
    enum { POOLS = 300, APART = 200 };
    struct journal j = journal_begin();
    j.head.card = CALL_CARD_SIMULATED;
    for (uint64_t i = 0; i < POOLS; i++)
        put(&j, (struct call_record){.kind = CALL_ALLOC, .space = CALL_SPACE_POOL, .addr = 0x1000 * (i + 1), .bytes = 1,
                                     .other = 0x100 * (i + 1)});
    struct trace_reader *trace = import_all(&j, -1);
    cr_assert_eq(trace_info(trace)->n_pools, 1 + APART + 1);
    for (uint64_t i = 1; i <= APART + 1; i++)
        cr_expect_eq(trace_pools(trace)[i].id[0], 0x100 * i);
    trace_close(trace);
}

Test(import_calls, what_a_simulated_card_gave_is_summed_by_segments)
{
    const struct journal j = journal_of_simulated_card();
    static struct call_use use[CALL_DEVICES_MAX];
    struct err_detail err = {.text = ""};
    struct call_journal *log = NULL;
    struct input *in;
    cr_assert_eq(input_open_bytes(&j, sizeof j.head + j.n * sizeof j.records[0], &in, &err), ERR_OK);
    cr_assert_eq(call_journal_read(in, &log, &err), ERR_OK, "%s", err.text);
    call_journal_sum(log, use);
    cr_expect_eq(use[0].total_bytes, 1000);
    cr_expect_eq(use[0].taken_bytes, 100);
    cr_expect_eq(use[0].peak_bytes, 110, "the pool's segment was given back before: 40 physical and 70");
    cr_expect_eq(use[0].held_bytes, 70);
    cr_expect_eq(use[0].calls, 5);
    cr_expect_eq(use[0].refusals, 1);
    cr_expect_eq(use[0].last_refused_bytes, 800);
    call_journal_free(log);
    input_close(in);
}

/* Kinds are only ever appended, so they are a later release's, and may have given memory back. */
Test(import_calls, records_of_an_unknown_kind_are_told)
{
    struct journal j = journal_begin();
    put_alloc(&j, 0x1000, 512);
    put(&j, (struct call_record){.kind = CALL_KINDS, .addr = 0x1000});
    put(&j, (struct call_record){.kind = CALL_ALLOC, .space = CALL_SPACES, .addr = 0x2000, .bytes = 512});
    struct trace_reader *trace = import_all(&j, -1);
    cr_assert_not_null(trace_meta(trace, "notes"));
    cr_expect_not_null(strstr(trace_meta(trace, "notes"), "2 records are of a kind that this release does not know"));
    trace_close(trace);
    j = journal_begin();
    put_alloc(&j, 0x1000, 512);
    put_free(&j, 0x1000);
    trace = import_all(&j, -1);
    cr_expect(trace_meta(trace, "notes") == NULL || strstr(trace_meta(trace, "notes"), "does not know") == NULL);
    trace_close(trace);
}

Test(import_calls, a_card_of_an_unknown_kind_is_refused)
{
    struct journal j = journal_begin();
    struct err_detail err = {.text = ""};
    put_alloc(&j, 0x1000, 10);
    j.head.card = CALL_CARDS;
    cr_expect_null(import_cut(&j, sizeof j.head + sizeof j.records[0], -1, &err));
    cr_expect_not_null(strstr(err.text, "byte 72"), "%s", err.text);
}

Test(import_calls, a_journal_cut_anywhere_holds_the_calls_before_the_cut)
{
    struct journal j = journal_begin();
    for (uint64_t i = 1; i <= 10; i++)
        put_alloc(&j, i << 12, i);
    for (size_t n = 0; n < sizeof j.head + j.n * sizeof j.records[0]; n++) {
        struct err_detail err = {.text = ""};
        struct trace_reader *trace = import_cut(&j, n, -1, &err);
        const size_t whole = n < sizeof j.head ? 0 : (n - sizeof j.head) / sizeof j.records[0];
        cr_assert_eq(trace == NULL ? 0 : trace_info(trace)->events, whole, "%zu bytes: %s", n, err.text);
        trace_close(trace);
    }
}

Test(import_calls, a_record_that_was_never_finished_is_left_out_and_counted)
{
    struct journal j = journal_begin();
    put_alloc(&j, 0x1000, 10);
    j.records[put_alloc(&j, 0x2000, 20)].is_whole = 0;
    put_alloc(&j, 0x3000, 30);
    j.records[put_alloc(&j, 0x4000, 40)].is_whole = 0;
    struct trace_reader *trace = import_all(&j, -1);
    cr_expect_eq(trace_info(trace)->events, 2);
    cr_expect(strstr(trace_meta(trace, "notes"), "1 records were begun") != NULL, "%s", trace_meta(trace, "notes"));
    trace_close(trace);
}

Test(import_calls, physical_memory_lives_until_it_is_released_and_unmapped)
{
    const struct call_record map[] = {
        {.kind = CALL_CREATE, .other = 5, .bytes = 2 << 20, .space = CALL_SPACE_PHYSICAL},
        {.kind = CALL_MAP, .other = 5, .addr = 0x10000, .bytes = 2 << 20},
        {.kind = CALL_MAP, .other = 5, .addr = 0x210000, .bytes = 2 << 20},
        {.kind = CALL_RELEASE, .other = 5}};
    struct journal j = journal_begin();
    for (size_t i = 0; i < 4; i++)
        put(&j, map[i]);
    expect_kinds(&j, "A");
    put(&j, map[0]);                                     /* the number is used again while the memory is still mapped */
    put(&j, (struct call_record){.kind = CALL_UNMAP, .addr = 0x10000, .bytes = 4 << 20});
    expect_kinds(&j, "AAF");
    put(&j, (struct call_record){.kind = CALL_RETAIN, .other = 5});
    put(&j, map[3]);
    expect_kinds(&j, "AAF");
    put(&j, map[3]);
    expect_kinds(&j, "AAFF");
}

Test(import_calls, each_handle_of_physical_memory_takes_its_own_releases)
{
    const struct call_record map = {.kind = CALL_MAP, .other = 6, .addr = 0x10000, .bytes = 2 << 20};
    const struct call_record unmap = {.kind = CALL_UNMAP, .addr = 0x10000, .bytes = 2 << 20};
    const struct call_record release[] = {{.kind = CALL_RELEASE, .other = 5}, {.kind = CALL_RELEASE, .other = 6}};
    struct journal j = journal_begin();
    put(&j, (struct call_record){.kind = CALL_CREATE, .other = 5, .bytes = 2 << 20, .space = CALL_SPACE_PHYSICAL});
    put(&j, (struct call_record){.kind = CALL_MAP, .other = 5, .addr = 0x10000, .bytes = 2 << 20});
    put(&j, (struct call_record){.kind = CALL_RETAIN, .other = 6, .addr = 0x10000});
    put(&j, release[0]);
    put(&j, release[0]);                                 /* once more than it may be: not the other handle's */
    put(&j, unmap);
    expect_kinds(&j, "A");
    put(&j, map);
    put(&j, unmap);
    expect_kinds(&j, "A");
    put(&j, release[1]);
    expect_kinds(&j, "AF");
    for (int i = 0; i < 10; i++) {                       /* it names nothing any more */
        put(&j, map);
        put(&j, unmap);
        put(&j, release[1]);
    }
    expect_kinds(&j, "AF");
}

Test(import_calls, an_address_that_is_handed_out_again_was_freed)
{
    struct journal j = journal_begin();
    put_alloc(&j, 0x1000, 10);
    put_alloc(&j, 0x1000, 20);
    put_free(&j, 0x9000);
    expect_kinds(&j, "AFA");
}

Test(import_calls, a_free_on_another_device_is_that_of_the_allocation)
{
    char text[RECORDS_MAX];
    struct err_detail err = {.text = ""};
    struct journal j = journal_begin();
    put(&j, (struct call_record){.kind = CALL_DEVICE, .device = 1, .bytes = 1 << 30});
    put(&j, (struct call_record){.kind = CALL_ALLOC, .addr = 0x1000, .bytes = 10, .device = 1});
    put_alloc(&j, 0x2000, 20);
    put_free(&j, 0x1000);
    put(&j, (struct call_record){.kind = CALL_OOM, .bytes = 5, .device = 1, .code = 2});
    struct trace_reader *trace = import_all(&j, 1);
    cr_expect_str_eq(kinds_of(trace, text), "AFO");
    cr_expect_eq(trace_info(trace)->capacity_bytes, 1 << 30);
    trace_close(trace);
    cr_expect_null(import_cut(&j, sizeof j.head + j.n * sizeof j.records[0], -1, &err));
    cr_expect(strstr(err.text, "0 (1 requests), 1 (1 requests)") != NULL, "%s", err.text);
}

Test(import_calls, a_reset_ends_what_its_device_has_in_order)
{
    struct journal j = journal_begin();
    const struct event *events;
    size_t n;
    for (uint64_t i = 1; i <= 4; i++)
        put_alloc(&j, i << 12, i);
    put_free(&j, 2 << 12);
    put(&j, (struct call_record){.kind = CALL_ALLOC, .addr = 0x9000, .bytes = 9, .device = 1});
    put(&j, (struct call_record){.kind = CALL_CREATE, .other = 5, .bytes = 10, .space = CALL_SPACE_PHYSICAL});
    put(&j, (struct call_record){.kind = CALL_RESET});
    put(&j, (struct call_record){.kind = CALL_RESET});
    const uint32_t failed = put(&j, (struct call_record){.kind = CALL_RESET, .device = 1});
    put(&j, (struct call_record){.kind = CALL_UNDO, .other = failed});
    put_alloc(&j, 0x1000, 7);
    struct trace_reader *trace = import_all(&j, 0);
    cr_assert_eq(trace_next(trace, &events, &n, NULL), ERR_OK);
    static const uint64_t freed[] = {1, 3, 4};
    cr_assert_eq(n, 4 + 1 + 1 + 3 + 1);
    for (size_t i = 0; i < 3; i++)
        cr_expect(events[6 + i].kind == EVENT_FREE && events[6 + i].bytes == freed[i], "%zu", i);
    cr_expect_null(trace_meta(trace, "notes") == NULL ? NULL : strstr(trace_meta(trace, "notes"), "again"));
    trace_close(trace);
    trace = import_all(&j, 1);
    cr_expect_eq(trace_info(trace)->by_kind[EVENT_FREE], 0);
    trace_close(trace);
}

Test(import_calls, an_array_s_handle_is_no_address)
{
    struct journal j = journal_begin();
    struct trace_side side;
    const struct call_record array = {.kind = CALL_ALLOC, .addr = 0x1000, .bytes = 20, .space = CALL_SPACE_ARRAY};
    put_alloc(&j, 0x1000, 10);
    put(&j, array);
    put_free(&j, 0x1000);
    put(&j, (struct call_record){.kind = CALL_FREE, .addr = 0x1000, .space = CALL_SPACE_ARRAY});
    struct trace_reader *trace = import_all(&j, -1);
    cr_expect_eq(trace_info(trace)->by_kind[EVENT_FREE], 2);
    cr_assert_eq(trace_side_at(trace, 1, &side, NULL), ERR_OK);
    cr_expect_eq(side.addr, 0);
    trace_close(trace);
    expect_kinds(&j, "AAFF");
}

Test(import_calls, each_kind_of_memory_is_a_pool_of_its_own)
{
    struct journal j = journal_begin();
    for (uint64_t i = 0; i < 2 * CALL_SPACES; i++)
        put(&j, (struct call_record){.kind = CALL_ALLOC, .addr = (i + 1) << 12, .bytes = 1, .other = i,
                                     .space = (uint8_t)(i % CALL_SPACES)});
    struct trace_reader *trace = import_all(&j, -1);
    cr_expect_eq(trace_info(trace)->n_pools, CALL_SPACES + 1, "two memory pools");
    cr_expect_str_eq(trace_meta(trace, "command"), "./a -b");
    trace_close(trace);
}

Test(import_calls, a_stack_comes_with_its_frames_and_a_loop_of_them_ends)    /* after both comes the thread */
{
    static const struct import_config bare = {.gpu = -1, .without_stacks = true};
    const char *const *frames;
    struct trace_side side;
    struct call_text part = {.kind = CALL_TEXT}, more = {.kind = CALL_TEXT};
    struct call_record record;
    struct journal j = journal_begin();
    memset(part.text, 'x', sizeof part.text);
    memcpy(&record, &part, sizeof record);
    more.before = put(&j, record) + 1;
    strcpy(more.text, " lib");
    memcpy(&record, &more, sizeof record);
    j.records[put(&j, record)].time_ns = more.before;    /* which is where a text says what is before it */
    const uint32_t outer = put(&j, (struct call_record){.kind = CALL_FRAME, .addr = 1, .other = 2});
    const uint32_t inner = put(&j, (struct call_record){.kind = CALL_FRAME, .addr = 2, .other = 2, .stack = outer + 1});
    j.records[0].time_ns = 0;
    put(&j, (struct call_record){.kind = CALL_ALLOC, .addr = 0x1000, .bytes = 10, .stack = inner + 1});
    struct trace_reader *trace = import_all(&j, -1);
    cr_assert_eq(trace_side_at(trace, 0, &side, NULL), ERR_OK);
    cr_assert_eq(trace_stack(trace, side.stack, &frames), 3);
    cr_expect_eq(strlen(frames[0]), CALL_TEXT_BYTES + 4);
    trace_close(trace);
    trace = import_as(&j, sizeof j.head + j.n * sizeof *j.records, &bare, NULL);
    cr_assert_eq(trace_side_at(trace, 0, &side, NULL), ERR_OK);
    cr_expect_eq(side.stack, TRACE_NO_STACK);
    trace_close(trace);
    j.records[outer].stack = inner + 1;
    trace = import_all(&j, -1);
    cr_assert_eq(trace_side_at(trace, 0, &side, NULL), ERR_OK);
    cr_expect_eq(trace_stack(trace, side.stack, &frames), 3);
    trace_close(trace);
}

Test(import_calls, each_event_names_its_thread)
{
    static const uint32_t threads[] = {500, 501, 500};
    struct journal j = journal_begin();
    struct err_detail err = {.text = ""};
    for (size_t i = 0; i < 3; i++)
        j.records[put_alloc(&j, (i + 1) << 12, 8)].thread = threads[i];
    struct trace_reader *trace = import_all(&j, -1);
    for (size_t i = 0; i < 3; i++) {
        struct trace_side side;
        const char *const *frames;
        char want[32];
        snprintf(want, sizeof want, "thread %u", (unsigned)threads[i]);
        cr_assert_eq(trace_side_at(trace, i, &side, &err), ERR_OK, "%s", err.text);
        cr_assert_eq(trace_stack(trace, side.stack, &frames), 1);
        cr_expect_str_eq(frames[0], want);
    }
    trace_close(trace);
}

/* ---- while it is written ---- */

/* A journal's file and the traces that are made of it, one for each device. */
struct growing {
    char folder[64], path[96];
    struct calls_follow *follow;
};

static void trace_path(const struct growing *g, unsigned device, char path[96])
{
    snprintf(path, 96, "%s/%u.trace", g->folder, device);
}

static enum err create_trace(void *arg, unsigned device, struct trace_writer **out, struct err_detail *err)
{
    char path[96];
    trace_path(arg, device, path);
    return trace_create_growing(path, out, err);
}

static void growing_write(const struct growing *g, const struct journal *j)
{
    FILE *f = fopen(g->path, "wb");
    cr_assert_not_null(f);
    cr_assert_eq(fwrite(&j->head, sizeof j->head, 1, f), 1);
    cr_assert_eq(fwrite(j->records, sizeof j->records[0], j->n, f), j->n);
    cr_assert_eq(fclose(f), 0);
}

static void growing_open(struct growing *g, const struct journal *j)
{
    struct err_detail err = {.text = ""};
    const struct calls_traces traces = {.create = create_trace, .arg = g};
    strcpy(g->folder, "/tmp/replay-test-follow-XXXXXX");
    cr_assert_not_null(mkdtemp(g->folder));
    snprintf(g->path, sizeof g->path, "%s/calls", g->folder);
    growing_write(g, j);
    cr_assert_eq(calls_follow_open(g->path, &traces, &g->follow, &err), ERR_OK, "%s", err.text);
}

/* Looks, and expects a device's trace to have these events. */
static void growing_expect(struct growing *g, const struct journal *j, unsigned device, const char *want)
{
    char path[96], text[RECORDS_MAX];
    struct err_detail err = {.text = ""};
    struct trace_reader *trace;
    bool has_more;
    growing_write(g, j);
    cr_assert_eq(calls_follow_look(g->follow, &has_more, &err), ERR_OK, "%s", err.text);
    trace_path(g, device, path);
    if (want == NULL) {
        cr_expect_neq(access(path, F_OK), 0);
        return;
    }
    cr_assert_eq(trace_open(path, &trace, &err), ERR_OK, "%s", err.text);
    cr_expect(trace_info(trace)->is_unfinished);
    cr_expect_str_eq(kinds_of(trace, text), want);
    trace_close(trace);
}

static void growing_close(struct growing *g)
{
    char command[96];
    calls_follow_close(g->follow);
    snprintf(command, sizeof command, "rm -r %s", g->folder);
    cr_expect_eq(system(command), 0);
}

Test(import_calls, a_journal_is_followed_as_it_grows_each_device_in_a_trace_of_its_own)
{
    struct growing g;
    struct journal j = journal_begin();
    growing_open(&g, &j);
    growing_expect(&g, &j, 0, NULL);
    put_alloc(&j, 0x1000, 10);
    growing_expect(&g, &j, 0, "A");
    growing_expect(&g, &j, 0, "A");
    put(&j, (struct call_record){.kind = CALL_DEVICE, .device = 1, .bytes = 1 << 30});
    put_free(&j, 0x1000);
    put_alloc(&j, 0x1000, 20);
    growing_expect(&g, &j, 0, "AFA");
    growing_expect(&g, &j, 1, NULL);
    put(&j, (struct call_record){.kind = CALL_ALLOC, .addr = 0x2000, .bytes = 10, .device = 1});
    growing_expect(&g, &j, 1, "A");
    put_free(&j, 0x2000);
    put_free(&j, 0x1000);
    growing_expect(&g, &j, 1, "AF");
    growing_expect(&g, &j, 0, "AFAF");
    growing_close(&g);
}

Test(import_calls, a_record_that_is_not_whole_is_waited_for_once)
{
    struct growing g;
    struct journal j = journal_begin();
    put_alloc(&j, 0x1000, 10);
    const uint32_t late = put_alloc(&j, 0x2000, 20);
    put_alloc(&j, 0x3000, 30);
    j.records[late].is_whole = 0;
    growing_open(&g, &j);
    growing_expect(&g, &j, 0, "A");
    growing_expect(&g, &j, 0, "A");
    j.records[late].is_whole = CALL_WHOLE;
    growing_expect(&g, &j, 0, "AAA");
    const uint32_t never = put_alloc(&j, 0x4000, 40);
    put_free(&j, 0x3000);
    j.records[never].is_whole = 0;
    growing_expect(&g, &j, 0, "AAA");
    growing_expect(&g, &j, 0, "AAA");
    growing_expect(&g, &j, 0, "AAAF");
    growing_close(&g);
}

Test(import_calls, a_free_that_failed_is_taken_back_if_that_is_known_in_time)
{
    struct growing g;
    struct journal j = journal_begin();
    put_alloc(&j, 0x1000, 10);
    const uint32_t failed = put_free(&j, 0x1000);
    put(&j, (struct call_record){.kind = CALL_UNDO, .other = failed});
    growing_open(&g, &j);
    growing_expect(&g, &j, 0, "A");
    const uint32_t again = put_free(&j, 0x1000);
    growing_expect(&g, &j, 0, "AF");
    put(&j, (struct call_record){.kind = CALL_UNDO, .other = again});
    put_free(&j, 0x1000);
    growing_expect(&g, &j, 0, "AF");                     /* of the import: */
    expect_kinds(&j, "AF");
    growing_close(&g);
}

Test(import_calls, a_followed_journal_gives_what_its_import_gives)
{
    struct err_detail err = {.text = ""};
    struct growing g;
    struct journal j = journal_begin();
    const struct call_text part = {.kind = CALL_TEXT, .text = "f+0x1 lib"};
    struct call_record text;
    char path[96];
    growing_open(&g, &j);
    memcpy(&text, &part, sizeof text);
    for (uint32_t i = 0; i < 10; i++) {
        if (i == 4) {
            j.records[put(&j, text)].time_ns = 0;
            put(&j, (struct call_record){.kind = CALL_FRAME, .other = j.n});
        }
        put(&j, (struct call_record){.kind = CALL_ALLOC, .addr = (i % 7 + 1) << 12, .bytes = 8 + i, .other = i / 3,
                                     .space = i % 2 == 0 ? CALL_SPACE_POOL : CALL_SPACE_DEVICE, .stream = i % 3,
                                     .thread = i / 5, .stack = i > 4 ? 6 : 0});
        if (i % 2 == 0) {
            bool has_more;
            growing_write(&g, &j);
            cr_assert_eq(calls_follow_look(g.follow, &has_more, &err), ERR_OK, "%s", err.text);
        }
    }
    bool has_more;
    struct trace_reader *followed, *imported = import_all(&j, 0);
    growing_write(&g, &j);
    cr_assert_eq(calls_follow_look(g.follow, &has_more, &err), ERR_OK, "%s", err.text);
    cr_assert_eq(calls_follow_finish(g.follow, &err), ERR_OK, "%s", err.text);
    g.follow = NULL;
    trace_path(&g, 0, path);
    cr_assert_eq(trace_open(path, &followed, &err), ERR_OK, "%s", err.text);
    const struct event *a, *b;
    size_t n_a, n_b;
    cr_assert_eq(trace_next(followed, &a, &n_a, &err), ERR_OK);
    cr_assert_eq(trace_next(imported, &b, &n_b, &err), ERR_OK);
    cr_assert(n_a == n_b && n_a == 13);
    cr_expect_arr_eq(a, b, n_a * sizeof *a);
    for (uint64_t i = 0; i < n_a; i++) {
        struct trace_side x, y;
        const char *const *f, *const *h;
        cr_assert(trace_side_at(followed, i, &x, &err) == ERR_OK && trace_side_at(imported, i, &y, &err) == ERR_OK);
        cr_expect(x.record == y.record && x.addr == y.addr);
        const size_t depth = trace_stack(followed, x.stack, &f);
        cr_assert_eq(depth, trace_stack(imported, y.stack, &h));
        for (size_t k = 0; k < depth; k++)
            cr_expect_str_eq(f[k], h[k]);
    }
    cr_expect(trace_info(followed)->records == trace_info(imported)->records && !trace_info(followed)->is_unfinished);
    trace_close(followed);
    trace_close(imported);
    growing_close(&g);
}

Test(import_calls, another_version_or_byte_order_is_refused_with_a_sentence)
{
    struct journal j = journal_begin();
    struct err_detail err = {.text = ""};
    put_alloc(&j, 0x1000, 10);
    j.head.version = 9;
    cr_expect_null(import_cut(&j, sizeof j.head + sizeof j.records[0], -1, &err));
    cr_expect(strstr(err.text, "version 9") != NULL, "%s", err.text);
    j.head.order = 0x04030201;
    cr_expect_null(import_cut(&j, sizeof j.head + sizeof j.records[0], -1, &err));
    cr_expect(strstr(err.text, "byte order") != NULL, "%s", err.text);
}
