/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/* Loads: those that imitate programs, request by request; random ones, by what they promise; and what is refused. */
#include "loads/experts.h"
#include "loads/load.h"
#include "loads/request_trace.h"

#include "base/sha256.h"

#include <criterion/criterion.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static struct trace_reader *load_open(const char *text, uint64_t seed)
{
    struct err_detail err = {.text = ""};
    struct trace_writer *w;
    struct trace_reader *r = NULL;
    cr_assert_eq(trace_create(NULL, &w, &err), ERR_OK, "%s", err.text);
    cr_assert_eq(load_make(text, 0, seed, w, &err), ERR_OK, "%s: %s", text, err.text);
    cr_assert_eq(trace_finish_open(w, text, &r, &err), ERR_OK, "%s", err.text);
    return r;
}

static void expect_refused(const char *text, const char *reason)
{
    struct err_detail err = {.text = ""};
    struct trace_writer *w;
    cr_assert_eq(trace_create(NULL, &w, &err), ERR_OK);
    cr_expect_neq(load_make(text, 0, 0, w, &err), ERR_OK, "%s", text);
    cr_expect_not_null(strstr(err.text, reason), "%s: \"%s\" does not say \"%s\"", text, err.text, reason);
    trace_abandon(w);
}

/* Calls `each` for every event of the load. */
static void each_event(struct trace_reader *r, void (*each)(void *arg, const struct event *ev), void *arg)
{
    struct err_detail err = {.text = ""};
    const struct event *events;
    size_t n;
    cr_assert_eq(trace_seek(r, 0, &err), ERR_OK);
    while (trace_next(r, &events, &n, &err) == ERR_OK && n > 0)
        for (size_t i = 0; i < n; i++)
            each(arg, &events[i]);
    cr_assert_str_eq(err.text, "");
}

/* ---- programs ---- */

/* The requests and frees as tests/against-torch/loads.py writes them: "+SIZE", and "-K" for the K-th request. */
struct steps { char *text; size_t n, room; uint32_t *number_in_slot; uint32_t n_requests; };

static void step_append(void *arg, const struct event *ev)
{
    struct steps *s = arg;
    if (ev->kind != EVENT_ALLOC && ev->kind != EVENT_FREE)
        return;
    if (s->room - s->n < 64)
        cr_assert_not_null(s->text = realloc(s->text, s->room += 1 << 16));
    if (ev->kind == EVENT_ALLOC)
        s->number_in_slot[ev->slot] = ++s->n_requests;
    const char *separator = s->n > 0 ? "\n" : "";
    s->n += (size_t)(ev->kind == EVENT_ALLOC
                         ? snprintf(s->text + s->n, 64, "%s+%" PRIu64, separator, ev->bytes)
                         : snprintf(s->text + s->n, 64, "%s-%" PRIu32, separator, s->number_in_slot[ev->slot]));
}

Test(loads, programs_make_the_requests_that_pytorch_made)
{
    char line[512], sum[SHA256_HEX];
    size_t n_lines = 0;
    FILE *f = fopen(TEST_DATA "/loads.txt", "r");
    cr_assert_not_null(f);
    for (; fgets(line, sizeof line, f) != NULL; n_lines++) {
        line[strcspn(line, "\n")] = '\0';
        struct trace_reader *r = load_open(line + SHA256_HEX, 0);
        struct steps s = {.number_in_slot = calloc(trace_info(r)->peak_live + 1, sizeof(uint32_t))};
        each_event(r, step_append, &s);
        sha256_texts((const char *const[]){s.text}, 1, sum);
        cr_expect_eq(memcmp(sum, line, SHA256_HEX - 1), 0, "%s differs from the recording", line + SHA256_HEX);
        trace_close(r);
        free(s.text);
        free(s.number_in_slot);
    }
    fclose(f);
    cr_expect_gt(n_lines, 10);
}

Test(loads, twice_the_batch_is_twice_the_activations)
{
    struct trace_reader *one = load_open("transformer:layers=2,width=64,heads=2,vocabulary=512,batch=4,length=64", 0);
    struct trace_reader *two = load_open("transformer:layers=2,width=64,heads=2,vocabulary=512,batch=8,length=64", 0);
    struct trace_reader *kept = load_open(
        "transformer:layers=2,width=64,heads=2,vocabulary=512,batch=8,length=64,checkpointing=yes", 0);
    cr_expect_eq(trace_info(one)->by_kind[EVENT_ALLOC], trace_info(two)->by_kind[EVENT_ALLOC]);
    cr_expect_gt(trace_info(two)->peak_requested_bytes, trace_info(one)->peak_requested_bytes);
    cr_expect_lt(trace_info(kept)->peak_requested_bytes, trace_info(two)->peak_requested_bytes);
    trace_close(one);
    trace_close(two);
    trace_close(kept);
}

/* Eight ranks that share all hold an eighth of what one holds between steps. */
Test(loads, ranks_that_share_hold_less)
{
    static const char *const ranks[] = {"data=8", "data=8,zero=states", "data=8,zero=all"};
    uint64_t last = UINT64_MAX;
    for (size_t i = 0; i < sizeof ranks / sizeof ranks[0]; i++) {
        char text[160];
        snprintf(text, sizeof text, "transformer:layers=4,width=512,heads=4,vocabulary=1000,batch=1,length=64,%s",
                 ranks[i]);
        struct trace_reader *r = load_open(text, 0);
        cr_expect_lt(trace_info(r)->peak_requested_bytes, last, "%s", ranks[i]);
        last = trace_info(r)->peak_requested_bytes;
        trace_close(r);
    }
}

/* ---- distributions ---- */

struct counted { uint64_t n, bytes, least, most, n_streams, n_pools; };

static void count(void *arg, const struct event *ev)
{
    struct counted *c = arg;
    if (ev->kind != EVENT_ALLOC)
        return;
    c->n++;
    c->bytes += ev->bytes;
    c->least = ev->bytes < c->least ? ev->bytes : c->least;
    c->most = ev->bytes > c->most ? ev->bytes : c->most;
    c->n_streams += ev->stream != 0;
    c->n_pools += ev->pool != 0;
}

Test(loads, random_sizes_and_lives_follow_their_distributions)
{
    struct counted c = {.least = UINT64_MAX};
    struct trace_reader *r =
        load_open("random:n=40000,sizes=uniform,least=1000,most=3000,life=500,streams=4,pools=2", 7);
    each_event(r, count, &c);
    cr_expect_eq(c.n, 40000);
    cr_expect(c.least >= 1000 && c.most <= 3000, "%" PRIu64 " to %" PRIu64, c.least, c.most);
    cr_expect(c.bytes / c.n > 1980 && c.bytes / c.n < 2020, "mean %" PRIu64, c.bytes / c.n);
    cr_expect(c.n_streams > 19000 && c.n_streams < 21000, "%" PRIu64, c.n_streams);
    cr_expect(c.n_pools > 9500 && c.n_pools < 10500, "%" PRIu64, c.n_pools);
    /* Little's law: as many are live as come in a mean life. */
    const uint64_t live = trace_info(r)->peak_live;
    cr_expect(live > 500 && live < 640, "%" PRIu64 " live at most", live);
    trace_close(r);
}

Test(loads, phases_are_marked_and_end_with_nothing_live)
{
    struct trace_reader *r = load_open("random:n=1000,life=400,lives=same,phases=4", 1);
    cr_expect_eq(trace_info(r)->by_kind[EVENT_MARK], 4);
    cr_expect_eq(trace_info(r)->by_kind[EVENT_FREE], 1000);
    cr_expect_eq(trace_info(r)->peak_live, 250);
    trace_close(r);
}

Test(loads, the_same_text_and_seed_give_the_same_events_and_another_seed_others)
{
    struct steps s[3] = {{.text = NULL}};
    for (size_t i = 0; i < 3; i++) {
        struct trace_reader *r = load_open("random:n=500,sizes=two", i == 2 ? 2 : 1);
        s[i].number_in_slot = calloc(trace_info(r)->peak_live + 1, sizeof(uint32_t));
        each_event(r, step_append, &s[i]);
        trace_close(r);
    }
    cr_expect_str_eq(s[0].text, s[1].text);
    cr_expect_str_neq(s[0].text, s[2].text);
    for (size_t i = 0; i < 3; i++) {
        free(s[i].text);
        free(s[i].number_in_slot);
    }
}

/* ---- like a recording ---- */

Test(loads, a_load_in_stretches_of_one_is_the_recording_without_its_names)
{
    struct steps s[2] = {{.text = NULL}};
    struct trace_reader *recording = NULL, *load;
    struct err_detail err = {.text = ""};
    cr_assert_eq(trace_open(TEST_DATA "/../../samples/mlp-adam.trace.zst", &recording, &err), ERR_OK, "%s", err.text);
    load = load_open("like:" TEST_DATA "/../../samples/mlp-adam.trace.zst,stretch=1", 3);
    struct trace_reader *both[] = {recording, load};
    for (size_t i = 0; i < 2; i++) {
        s[i].number_in_slot = calloc(trace_info(both[i])->peak_live + 1, sizeof(uint32_t));
        each_event(both[i], step_append, &s[i]);
    }
    cr_expect_str_eq(s[0].text, s[1].text);
    cr_expect_eq(trace_info(load)->n_stacks, 0);
    for (size_t i = 0; i < 2; i++) {
        free(s[i].text);
        free(s[i].number_in_slot);
        trace_close(both[i]);
    }
}

/* ---- a server ---- */

static const char *requests_write(const char *name, const char *text)
{
    static char path[64];
    snprintf(path, sizeof path, "/tmp/%s.%d", name, (int)getpid());
    FILE *f = fopen(path, "w");
    cr_assert_not_null(f);
    fputs(text, f);
    fclose(f);
    return path;
}

Test(loads, request_traces_are_read_by_the_names_of_their_columns)
{
    static const struct { const char *text; uint64_t n, arrival_us, prompt, answer, n_ids; } cases[] = {
        {"TIMESTAMP,ContextTokens,GeneratedTokens\n2023-11-16 18:59:59.5,10,1\n2023-11-16 19:00:01.75,374,44\n",
         2, 2250000, 374, 44, 0},
        {"Timestamp,Session ID,Elapsed time,Model,Request tokens,Response tokens\n"
         "5,a,1,GPT-4,472,18\n45,a,2,GPT-4,1087,230\n", 2, 40000000, 1087, 230, 0},
        {"{\"timestamp\": 0, \"input_length\": 100, \"output_length\": 2, \"hash_ids\": [0]}\n"
         "{\"timestamp\": 1500, \"input_length\": 600, \"output_length\": 3, \"hash_ids\": [0, 7]}\n",
         2, 1500000, 600, 3, 2},
        {"TIMESTAMP,ContextTokens,GeneratedTokens\n2024-05-10 00:00:00.009930+00:00,2162,5\n"
         "2024-05-10 00:00:00.017335+00:00,2399,6\n", 2, 7405, 2399, 6, 0},
        {"\xef\xbb\xbfTIMESTAMP,ContextTokens,GeneratedTokens\r\n1,10,1\r\n2,33,9\r\n", 2, 1000000, 33, 9, 0},
        {"\n {\"timestamp\": 0, \"input_length\": 9, \"output_length\": 1}\n"
         "{\"timestamp\": 1000, \"input_length\": 33, \"output_length\": 9}\n", 2, 1000000, 33, 9, 0},
        {"TIMESTAMP,NumImages,ContextTokens,GeneratedTokens\n1.5,1,700,20\n2.5,0,33,9\n", 2, 1000000, 33, 9, 0},
        {"{\"chat_id\": 1, \"parent_chat_id\": -1, \"timestamp\": 0.0, \"input_length\": 20, \"output_length\": 2, "
         "\"type\": \"text\", \"turn\": 1, \"hash_ids\": [0, 1]}\n"
         "{\"chat_id\": 2, \"parent_chat_id\": 1, \"timestamp\": 61.114, \"input_length\": 33, \"output_length\": 132, "
         "\"type\": \"text\", \"turn\": 2, \"hash_ids\": [0, 7, 8]}\n", 2, 61114000, 33, 132, 3},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct err_detail err = {.text = ""};
        struct request_trace t;
        const char *path = requests_write("requests", cases[i].text);
        cr_expect_eq(request_trace_read(path, 100, &t, &err), ERR_OK, "%s", err.text);
        cr_assert_eq(t.n_requests, cases[i].n);
        cr_expect_eq(t.requests[1].arrival_us, cases[i].arrival_us, "%" PRIu64, t.requests[1].arrival_us);
        cr_expect_eq(t.requests[1].prompt, cases[i].prompt);
        cr_expect_eq(t.requests[1].answer, cases[i].answer);
        cr_expect_eq(t.requests[1].n_ids, cases[i].n_ids);
        request_trace_free(&t);
        remove(path);
    }
}

/* Mooncake's stand for 512 tokens each, Qwen-Bailian's for 16; a prompt of one id does not tell. */
Test(loads, a_prompt_of_several_ids_tells_what_an_id_stands_for)
{
    static const struct { const char *text; uint64_t tokens; } cases[] = {
        {"{\"timestamp\": 0, \"input_length\": 100, \"output_length\": 2, \"hash_ids\": [0]}\n"
         "{\"timestamp\": 0, \"input_length\": 6755, \"output_length\": 5, "
         "\"hash_ids\": [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13]}\n", 512},
        {"{\"timestamp\": 0, \"input_length\": 33, \"output_length\": 2, \"hash_ids\": [0, 1, 2]}\n", 16},
        {"{\"timestamp\": 0, \"input_length\": 33, \"output_length\": 2, \"hash_ids\": [0, 1]}\n", 16},
        {"{\"timestamp\": 0, \"input_length\": 100, \"output_length\": 2, \"hash_ids\": [0]}\n", 512},
        {"{\"timestamp\": 0, \"input_length\": 600, \"output_length\": 2, \"hash_ids\": [0, 1]}\n", 512},
        {"{\"timestamp\": 0, \"input_length\": 600, \"output_length\": 2, \"hash_ids\": [0, 1]}\n"
         "{\"timestamp\": 0, \"input_length\": 1300, \"output_length\": 2, \"hash_ids\": [0, 1, 2, 3, 4]}\n", 256},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct err_detail err = {.text = ""};
        struct request_trace t;
        const char *path = requests_write("tokens", cases[i].text);
        cr_assert_eq(request_trace_read(path, 100, &t, &err), ERR_OK, "%s", err.text);
        cr_expect_eq(t.id_tokens, cases[i].tokens, "%zu: %" PRIu64, i, t.id_tokens);
        request_trace_free(&t);
        remove(path);
    }
}

/* A table of blocks is as long as there are ids, not as the largest of them. */
Test(loads, ids_of_blocks_are_numbered_in_order_of_appearance)
{
    struct err_detail err = {.text = ""};
    struct request_trace t;
    const char *path = requests_write("ids", "{\"timestamp\": 0, \"input_length\": 5, \"output_length\": 2, "
                                      "\"hash_ids\": [9223372036854775807, 46, 9223372036854775807, 0]}\n");
    static const uint32_t expected[] = {0, 1, 0, 2};
    cr_assert_eq(request_trace_read(path, 100, &t, &err), ERR_OK, "%s", err.text);
    cr_assert_eq(t.n_ids, 4u);
    for (size_t i = 0; i < t.n_ids; i++)
        cr_expect_eq(t.ids[i], expected[i]);
    request_trace_free(&t);
    remove(path);
}

/* Time begins with the first that asks something. */
Test(loads, rows_of_requests_without_tokens_are_left_out_and_counted)
{
    struct err_detail err = {.text = ""};
    struct request_trace t;
    const char *path = requests_write("empty", "arrived_at,num_prefill_tokens,num_decode_tokens\n1,0,0\n5,4,2\n"
                                      "6,0,3\n7,5,0\n");
    cr_assert_eq(request_trace_read(path, 100, &t, &err), ERR_OK, "%s", err.text);
    cr_expect_eq(t.n_requests, 2u);
    cr_expect_eq(t.n_empty, 2u);
    cr_expect_eq(t.first_empty_line, 2u);
    cr_expect_eq(t.requests[1].arrival_us, 2000000u);
    request_trace_free(&t);
    remove(path);
}

Test(loads, damaged_request_traces_are_refused_with_the_line)
{
    static const char *const texts[][2] = {
        {"", "no"}, {"TIMESTAMP,ContextTokens\n1,2\n", "line 1"},
        {"TIMESTAMP,ContextTokens,GeneratedTokens\n1,2\n", "line 2"},
        {"TIMESTAMP,ContextTokens,GeneratedTokens\n1,0,5\n", "no requests with tokens"},
        {"TIMESTAMP,ContextTokens,GeneratedTokens\n1,99999999,5\n", "line 2"},
        {"TIMESTAMP,ContextTokens,GeneratedTokens\nx,1,5\n", "line 2"},
        {"{\"timestamp\": 0}\n", "line 1"}, {"{\"timestamp\": 0,\n", "line 1"},
        {"{\"timestamp\": 0, \"input_length\": 5, \"output_length\": 2, \"hash_ids\": [-1]}\n", "line 1"},
        {"{\"timestamp\": 9223372036854775, \"input_length\": 5, \"output_length\": 2}\n", "285 years"},
        {"arrived_at,num_prefill_tokens,num_decode_tokens\n0,4,2\n999999999999,4,2\n",
         "line 3: comes more than 285 years"},
        {"time,prompt_tokens\n1,2\n",
         "no column of arrivals: \"TIMESTAMP\", \"Timestamp\" or \"timestamp\"; it has \"time\", \"prompt_tokens\""},
        {"TIMESTAMP,ContextTokens,Answer\n1,2,3\n", "no column of answers' tokens"},
        {"{\"ts\": 0, \"prompt_len\": 5}\n", "it has \"ts\", \"prompt_len\""},
        {"{\"timestamp\": \"0\", \"input_length\": 5, \"output_length\": 2}\n", "which are numbers"},
        {"[{\"id\": \"a\", \"conversations\": []}]\n", "a conversation has no times"},
    };
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        struct err_detail err = {.text = ""};
        struct request_trace t;
        const char *path = requests_write("damaged", texts[i][0]);
        cr_expect_neq(request_trace_read(path, 100, &t, &err), ERR_OK, "\"%s\"", texts[i][0]);
        cr_expect_not_null(strstr(err.text, texts[i][1]), "%s", err.text);
        request_trace_free(&t);
        remove(path);
    }
}

struct blocks { uint64_t bytes, n, live, most; };

static void count_blocks(void *arg, const struct event *ev)
{
    struct blocks *b = arg;
    if (ev->bytes != b->bytes)
        return;
    b->n += ev->kind == EVENT_ALLOC;
    b->live += ev->kind == EVENT_ALLOC ? 1 : UINT64_MAX;
    b->most = b->live > b->most ? b->live : b->most;
}

/* Two prompts of three blocks that share two: the second takes one block of its own, and of a pool of four the oldest
 * unused block is given up for the third request. */
Test(loads, prompts_that_begin_alike_share_blocks_and_the_oldest_unused_goes_first)
{
    const char *path =
        requests_write("shared", "{\"timestamp\":0,\"input_length\":48,\"output_length\":1,\"hash_ids\":[0,1,2]}\n"
                                 "{\"timestamp\":9000,\"input_length\":48,\"output_length\":1,\"hash_ids\":[0,1,3]}\n"
                                 "{\"timestamp\":19000,\"input_length\":16,\"output_length\":1,\"hash_ids\":[4]}\n");
    char text[256];
    snprintf(text, sizeof text,
             "serve:requests=%s,cache=paged,block=16,pool=4,layers=3,width=264,heads=2,vocabulary=64", path);
    struct blocks b = {.bytes = 16 * 3 * 2 * 264 * 2};
    struct trace_reader *r = load_open(text, 0);
    each_event(r, count_blocks, &b);
    cr_expect_eq(b.most, 4, "%" PRIu64 " blocks at most", b.most);
    cr_expect_eq(b.n, 3 + 1 + 1, "%" PRIu64 " blocks taken", b.n);
    trace_close(r);
    snprintf(text, sizeof text, "serve:requests=%s,cache=paged,block=16,pool=3", path);
    expect_refused(text, "more than pool=3");

    /* A cache that is reserved has two tensors in each layer, for as many tokens as there may be, from begin to end. */
    snprintf(text, sizeof text,
             "serve:requests=%s,cache=reserved,longest=100,layers=3,width=264,heads=2,vocabulary=64,running=1", path);
    struct blocks reserved = {.bytes = 100 * 264 * 2};
    r = load_open(text, 0);
    each_event(r, count_blocks, &reserved);
    cr_expect_eq(reserved.most, 3 * 2, "%" PRIu64 " tensors at most", reserved.most);
    cr_expect_eq(reserved.n, 3 * 3 * 2, "%" PRIu64 " tensors", reserved.n);
    trace_close(r);
    /* A cache that is mapped has pages of each layer for keys and for values: 4 of 48 tokens, 2 of 16. */
    snprintf(text, sizeof text,
             "serve:requests=%s,cache=mapped,page=8192,layers=3,width=264,heads=2,vocabulary=64,running=1", path);
    struct blocks pages = {.bytes = 8192};
    r = load_open(text, 0);
    each_event(r, count_blocks, &pages);
    cr_expect_eq(pages.most, 4 * 3 * 2, "%" PRIu64 " pages at most", pages.most);
    cr_expect_eq(pages.n, (4 + 4 + 2) * 3 * 2, "%" PRIu64 " pages", pages.n);
    cr_expect_eq(pages.live, 0, "%" PRIu64 " pages stay", pages.live);
    trace_close(r);
    snprintf(text, sizeof text, "serve:requests=%s,cache=reserved,longest=48", path);
    expect_refused(text, "more than longest=48");
    remove(path);
}

Test(loads, the_shares_of_experts_add_up_and_fall_also_where_their_product_exceeds_64_bits)
{
    static const struct { uint64_t n, chosen, skew, rows; } cases[] = {
        {8, 2, 4, 1000}, {1, 1, 1, 7}, {512, 512, 1000, UINT64_C(1) << 40}, {3, 1, 1, 1},
    };
    for (size_t c = 0; c < sizeof cases / sizeof cases[0]; c++) {
        const struct experts e = {.n = cases[c].n, .chosen = cases[c].chosen, .skew = cases[c].skew};
        uint64_t sum = 0, least = UINT64_MAX;
        for (uint64_t i = 0; i < e.n; i++) {
            const uint64_t rows = experts_rows(&e, cases[c].rows, i);
            cr_expect(least == UINT64_MAX || rows <= least + 1, "case %zu: expert %" PRIu64 " gets more", c, i);
            least = rows < least ? rows : least;
            sum += rows;
        }
        cr_expect_eq(sum, cases[c].rows * e.chosen, "case %zu: %" PRIu64, c, sum);
    }
}

/* ---- what is typed ---- */

Test(loads, what_cannot_be_read_is_refused_with_the_reason)
{
    expect_refused("transformr:layers=2", "nearest is transformer");
    expect_refused("transformer:layer=2", "nearest is layers");
    expect_refused("transformer:layers=0", "from 1 to 1000");
    expect_refused("transformer:layers=two", "whole number");
    expect_refused("transformer:layers=2,width", "width=");
    expect_refused("transformer:precision=fp8", "fp32|bf16");
    expect_refused("transformer:tensor=5", "does not divide");
    expect_refused("transformer:tensor=2,lora=4", "not with lora");
    expect_refused("transformer:zero=states", "data=");
    expect_refused("transformer:data=2,zero=all,lora=2", "not with");
    expect_refused("transformer:stages=2,stage=2", "one of stages=");
    expect_refused("transformer:stages=2,data=2", "not with data=");
    expect_refused("transformer:heads=7", "do not divide");
    expect_refused("transformer:experts=2,chosen=3", "more than there are");
    expect_refused("transformer:card=nothing", "no such card");
    expect_refused("random:least=8,most=4", "more than most");
    expect_refused("like", "needs file=");
    expect_refused("like:no/such/file", "no/such/file");
    expect_refused("530-270:x=1", "takes no options");
}
