/* Journals of CUDA calls, made by hand: what becomes of each kind of record, and of files that are cut or contradict
 * themselves. */
#include "traces/call_journal_read.h"
#include "traces/import.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { RECORDS_MAX = 64 };

struct journal {
    struct call_head head;
    struct call_record records[RECORDS_MAX];
    uint32_t n;
};

static struct journal journal_begin(void)
{
    return (struct journal){.head = {.magic = CALL_JOURNAL_MAGIC, .order = CALL_JOURNAL_ORDER,
                                     .version = CALL_JOURNAL_VERSION, .record_bytes = sizeof(struct call_record),
                                     .head_bytes = sizeof(struct call_head), .pid = 7, .command = "./a\0-b"}};
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

/* Imports the first n bytes of a journal; NULL, with the sentence in *why, where that is refused. */
static struct trace_reader *import_cut(const struct journal *j, size_t n, int64_t gpu, struct err_detail *why)
{
    const struct import_config cfg = {.gpu = gpu};
    unsigned char *bytes = malloc(n + 1);
    struct input *in;
    struct trace_writer *w;
    struct trace_reader *trace = NULL;
    void *out;
    size_t n_out;
    const size_t n_head = n < sizeof j->head ? n : sizeof j->head;
    memcpy(bytes, &j->head, n_head);
    memcpy(bytes + n_head, j->records, n - n_head);
    cr_assert_eq(input_open_bytes(bytes, n, &in, why), ERR_OK);
    cr_assert_eq(trace_create(NULL, &w, why), ERR_OK);
    if (importer_calls.import(in, &cfg, w, why) == ERR_OK) {
        cr_assert_eq(trace_finish_bytes(w, &out, &n_out, why), ERR_OK, "%s", why->text);
        cr_assert_eq(trace_open_owned(out, n_out, "journal", &trace, why), ERR_OK, "%s", why->text);
    } else {
        cr_expect_neq(why->text[0], '\0');
        trace_abandon(w);
    }
    input_close(in);
    free(bytes);
    return trace;
}

static struct trace_reader *import_all(const struct journal *j, int64_t gpu)
{
    struct err_detail why = {.text = ""};
    struct trace_reader *trace = import_cut(j, sizeof j->head + j->n * sizeof j->records[0], gpu, &why);
    cr_assert_not_null(trace, "%s", why.text);
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

Test(import_calls, a_release_whose_call_failed_did_not_happen)
{
    struct journal j = journal_begin();
    put_alloc(&j, 0x1000, 10);
    const uint32_t failed = put_free(&j, 0x1000);
    put_alloc(&j, 0x2000, 20);
    put(&j, (struct call_record){.kind = CALL_UNDO, .other = failed});
    put_free(&j, 0x1000);
    expect_kinds(&j, "AAF");
}

Test(import_calls, a_journal_cut_anywhere_holds_the_calls_before_the_cut)
{
    struct journal j = journal_begin();
    for (uint64_t i = 1; i <= 10; i++)
        put_alloc(&j, i << 12, i);
    for (size_t n = 0; n < sizeof j.head + j.n * sizeof j.records[0]; n++) {
        struct err_detail why = {.text = ""};
        struct trace_reader *trace = import_cut(&j, n, -1, &why);
        const size_t whole = n < sizeof j.head ? 0 : (n - sizeof j.head) / sizeof j.records[0];
        cr_assert_eq(trace == NULL ? 0 : trace_info(trace)->events, whole, "%zu bytes: %s", n, why.text);
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

Test(import_calls, an_address_that_is_given_out_again_was_released)
{
    struct journal j = journal_begin();
    put_alloc(&j, 0x1000, 10);
    put_alloc(&j, 0x1000, 20);
    put_free(&j, 0x9000);
    expect_kinds(&j, "AFA");
}

Test(import_calls, a_release_on_another_device_is_that_of_the_allocation)
{
    char text[RECORDS_MAX];
    struct err_detail why = {.text = ""};
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
    cr_expect_null(import_cut(&j, sizeof j.head + j.n * sizeof j.records[0], -1, &why));
    cr_expect(strstr(why.text, "0 (1 requests), 1 (1 requests)") != NULL, "%s", why.text);
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

Test(import_calls, a_stack_comes_with_its_frames_and_a_loop_of_them_ends)    /* behind both stands the thread */
{
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
    struct err_detail why = {.text = ""};
    for (size_t i = 0; i < 3; i++)
        j.records[put_alloc(&j, (i + 1) << 12, 8)].thread = threads[i];
    struct trace_reader *trace = import_all(&j, -1);
    for (size_t i = 0; i < 3; i++) {
        struct trace_side side;
        const char *const *frames;
        char want[32];
        snprintf(want, sizeof want, "thread %u", (unsigned)threads[i]);
        cr_assert_eq(trace_side_at(trace, i, &side, &why), ERR_OK, "%s", why.text);
        cr_assert_eq(trace_stack(trace, side.stack, &frames), 1);
        cr_expect_str_eq(frames[0], want);
    }
    trace_close(trace);
}

Test(import_calls, another_version_or_byte_order_is_refused_with_a_sentence)
{
    struct journal j = journal_begin();
    struct err_detail why = {.text = ""};
    put_alloc(&j, 0x1000, 10);
    j.head.version = 9;
    cr_expect_null(import_cut(&j, sizeof j.head + sizeof j.records[0], -1, &why));
    cr_expect(strstr(why.text, "version 9") != NULL, "%s", why.text);
    j.head.order = 0x04030201;
    cr_expect_null(import_cut(&j, sizeof j.head + sizeof j.records[0], -1, &why));
    cr_expect(strstr(why.text, "byte order") != NULL, "%s", why.text);
}
