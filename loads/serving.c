/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * A server of a language model: requests come, wait, run side by side and end; each keeps the keys and values of its
 * tokens.
 *
 *     contiguous   a tensor for keys and one for values in each layer, one token longer at each step by concatenation
 *                  (Hugging Face's DynamicCache): the worst that an allocator meets
 *     reserved     the same tensors, made for the longest request that there may be when a request begins
 *                  (FasterTransformer, Orca): what PagedAttention's paper compares with
 *     paged        blocks of some tokens for all layers, shared by prompts that begin alike (vLLM, Mooncake)
 *     mapped       the reserved tensors as addresses alone, to which pages of the card are mapped as tokens come
 *                  (vAttention, as described: Prabhu et al., ASPLOS 2025): a request of the trace is a page. The pages
 *                  of a request that has ended go back; what the paper keeps of them for the next one is left out
 *
 * A step of the server takes `step_us`. In it each running request advances by a chunk of its prompt, or by a token of
 * its answer.
 */
#include "loads/kinds.h"

#include "loads/prefix_blocks.h"
#include "loads/training.h"

#include "base/units.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum serving_option {
    REQUESTS, N, RATE, CACHE, LAYERS, WIDTH, HEADS, KV_HEADS, HIDDEN, VOCABULARY, RUNNING, CHUNK, BLOCK, POOL, STEP_US,
    LONGEST, GRAPHS, PAGE, CARD
};
enum { CONTIGUOUS, PAGED, RESERVED, MAPPED };
enum { ELEMENT_BYTES = 2, NS_PER_US = 1000 };

static const struct load_option serving_options[] = {
    [REQUESTS] = {"requests", LOAD_TEXT, 0, 0, "made", NULL,
                  "file of a published request trace; made: requests made up"},
    [N] = {"n", LOAD_NUMBER, 1, 100000000, "64", NULL, "requests, or the first of the file's"},
    [RATE] = {"rate", LOAD_NUMBER, 1, 1000000, "4", NULL, "requests a second, where they are made up"},
    [CACHE] = {"cache", LOAD_WORD, 0, 0, "contiguous", "contiguous|paged|reserved|mapped",
               "how keys and values are kept"},
    [LAYERS] = {"layers", LOAD_NUMBER, 1, 1000, "12", NULL, "layers of the model"},
    [WIDTH] = {"width", LOAD_NUMBER, 8, 1 << 16, "768", NULL, "elements of a token's vector"},
    [HEADS] = {"heads", LOAD_NUMBER, 1, 1024, "12", NULL, "heads of attention; they divide the width"},
    [KV_HEADS] = {"kv_heads", LOAD_NUMBER, 0, 1024, "0", NULL, "heads of keys and values; 0: as many"},
    [HIDDEN] = {"hidden", LOAD_NUMBER, 0, 1 << 20, "0", NULL,
                "width of the feed-forward layer; 0: four times the width"},
    [VOCABULARY] = {"vocabulary", LOAD_NUMBER, 2, 1 << 22, "50257", NULL, "tokens that there are"},
    [RUNNING] = {"running", LOAD_NUMBER, 1, 100000, "8", NULL, "requests that run at once, at most"},
    [CHUNK] = {"chunk", LOAD_NUMBER, 0, 1 << 24, "0", NULL, "tokens of a prompt in one step; 0: all"},
    [BLOCK] = {"block", LOAD_NUMBER, 1, 1 << 16, "16", NULL, "paged: tokens in a block (Mooncake's ids: 512)"},
    [POOL] = {"pool", LOAD_NUMBER, 0, UINT32_MAX, "0", NULL, "paged: blocks at once; 0: no limit"},
    [STEP_US] = {"step_us", LOAD_NUMBER, 1, 1000000000, "20000", NULL, "microseconds of a step"},
    [LONGEST] = {"longest", LOAD_NUMBER, 1, 1 << 24, "2048", NULL, "reserved: tokens that each request has room for"},
    [GRAPHS] = {"graphs", LOAD_NUMBER, 0, 16, "0", NULL,
                "paged: steps of 1, 2, 4, ... requests captured in CUDA graphs of one pool, so many"},
    [PAGE] = {"page", LOAD_BYTES, 4096, 1 << 30, "2MiB", NULL, "mapped: size of a page"},
    [CARD] = {"card", LOAD_TEXT, 0, 0, "a100-40g", NULL, "cuBLAS's workspace follows it"},
    {.name = NULL},
};

struct layer { struct value qkv[2], out[2], up[2], down[2]; };

/* A request that runs. */
struct active {
    const struct served_request *request;
    uint64_t n_done, n_answered;             /* tokens whose keys and values are kept; tokens answered */
    struct layers_cache *caches;             /* contiguous: by layer */
    uint32_t tokens;                         /* the tensor of the last token, or of the prompt */
    uint32_t *own;                           /* paged: blocks of its own; mapped: pages; n_own of them */
    uint64_t n_own, n_promised;
};

struct server {
    struct training base;                    /* tape and card; nothing is trained */
    const struct load_value *v;
    uint64_t kv_width, hidden;
    struct value tokens, head;
    struct layer *layers;
    struct request_trace trace;
    struct prefix_blocks blocks;
    struct active *running;
    size_t   n_running, next;
    uint64_t now_us;
};

static struct tape *tape_of(const struct server *s)
{
    return s->base.layers.tape;
}

static void server_place(struct server *s)
{
    struct tape *t = tape_of(s);
    const uint64_t width = s->v[WIDTH].number, qkv = width + 2 * s->kv_width;
    const uint64_t sizes[4][2] = {{width, qkv}, {width, width}, {width, s->hidden}, {s->hidden, width}};
    for (size_t k = 0; k < 4; k++)
        for (uint64_t i = 0; i < s->v[LAYERS].number; i++) {
            struct value *pair = k == 0 ? s->layers[i].qkv : k == 1 ? s->layers[i].out
                               : k == 2 ? s->layers[i].up : s->layers[i].down;
            pair[0] = tape_parameter(t, sizes[k][0] * sizes[k][1], false);
            pair[1] = tape_parameter(t, sizes[k][1], false);
        }
    s->tokens = tape_parameter(t, s->v[VOCABULARY].number * width, false);
    s->head = tape_parameter(t, s->v[VOCABULARY].number * width, false);
    tape_place_parameters(t);
}

/* ---- the model ---- */

static struct value residual(struct server *s, struct value x, struct value y)
{
    const struct value sum = layers_add(&s->base.layers, x, y);
    tape_drop(tape_of(s), y.storage);
    tape_drop(tape_of(s), x.storage);
    return sum;
}

static struct value feed_forward_run(struct server *s, const struct layer *layer, struct value x, uint64_t n_rows)
{
    struct layers *l = &s->base.layers;
    const struct value wide = layers_linear(l, x, layer->up[0], layer->up[1], n_rows, s->hidden);
    const struct value bent = layers_gelu(l, wide);
    tape_drop(l->tape, wide.storage);
    const struct value out = layers_linear(l, bent, layer->down[0], layer->down[1], n_rows, s->v[WIDTH].number);
    tape_drop(l->tape, bent.storage);
    return residual(s, x, out);
}

/* A forward pass of n_rows tokens, n_last of which are the last of their request. `a`: the request whose cache grows;
 * NULL: the cache is paged. The function's variables keep what they held until they get the next layer's. */
static uint32_t forward_run(struct server *s, struct active *a, uint32_t tokens, uint64_t n_rows, uint64_t n_last)
{
    struct layers *l = &s->base.layers;
    struct tape *t = l->tape;
    const uint64_t width = s->v[WIDTH].number;
    struct value x = layers_embedding(l, s->tokens, tokens, n_rows, width);
    const struct layers_heads heads = {.batch = 1, .length = n_rows, .n = s->v[HEADS].number,
                                       .width = width / s->v[HEADS].number};
    uint32_t last_qkv = TAPE_NONE, last_mixed = TAPE_NONE;
    for (uint64_t i = 0; i < s->v[LAYERS].number; i++) {
        const struct layer *layer = &s->layers[i];
        const uint32_t qkv = layers_linear(l, x, layer->qkv[0], layer->qkv[1], n_rows, width + 2 * s->kv_width).storage;
        tape_drop(t, last_qkv);
        last_qkv = qkv;
        if (a != NULL && s->v[CACHE].number == CONTIGUOUS)
            layers_grow_cache(l, &a->caches[i], qkv, (a->n_done + n_rows) * s->kv_width * ELEMENT_BYTES);
        const uint64_t n_keys = a != NULL ? a->n_done + n_rows : 0;
        const uint32_t mixed = layers_flash_attention(l, &heads, n_keys, x);
        tape_drop(t, last_mixed);
        last_mixed = mixed;
        const struct value y = {.storage = mixed, .node = TAPE_NONE, .count = n_rows * width,
                                .element_bytes = ELEMENT_BYTES};
        x = residual(s, x, layers_linear(l, y, layer->out[0], layer->out[1], n_rows, width));
        x = feed_forward_run(s, layer, x, n_rows);
    }
    const struct value no_bias = {.storage = TAPE_NONE, .node = TAPE_NONE};
    const uint32_t logits = layers_linear(l, x, s->head, no_bias, n_last, s->v[VOCABULARY].number).storage;
    tape_drop(t, x.storage);
    tape_drop(t, last_qkv);
    tape_drop(t, last_mixed);
    const uint32_t next = tape_new(t, n_last * LAYERS_INDEX_BYTES);
    tape_drop(t, logits);
    return next;
}

/* ---- requests come and go ---- */

static uint64_t blocks_of(const struct server *s, uint64_t tokens)
{
    return (tokens + s->v[BLOCK].number - 1) / s->v[BLOCK].number;
}

/* Pages of a request of so many tokens: each layer has its own for keys and for values. */
static uint64_t pages_of(const struct server *s, uint64_t tokens)
{
    return 2 * s->v[LAYERS].number * divide_up(tokens * s->kv_width * ELEMENT_BYTES, s->v[PAGE].number);
}

/* Prompts that begin with blocks that are there need not compute them, but for the last token. */
static void prompt_share(struct server *s, struct active *a)
{
    const struct served_request *r = a->request;
    bool is_there = true;
    for (size_t i = 0; i < r->n_ids; i++) {
        bool was_there;
        prefix_blocks_use(&s->blocks, s->trace.ids[r->first_id + i], &was_there);
        is_there &= was_there;
        if (is_there)
            a->n_done += s->v[BLOCK].number;
    }
    if (a->n_done >= r->prompt)
        a->n_done = r->prompt - 1;
}

/* Keys and values of a layer for as many tokens as there may be. */
static struct layers_cache cache_reserve(struct server *s)
{
    const uint64_t bytes = s->v[LONGEST].number * s->kv_width * ELEMENT_BYTES;
    const uint32_t keys = tape_new(tape_of(s), bytes);
    return (struct layers_cache){.keys = keys, .values = tape_new(tape_of(s), bytes)};
}

static enum err active_begin(struct server *s, const struct served_request *r, struct err_detail *err)
{
    const uint64_t n_blocks = blocks_of(s, r->prompt + r->answer), n_layers = s->v[LAYERS].number;
    if (s->v[CACHE].number == RESERVED && r->prompt + r->answer > s->v[LONGEST].number)
        return err_set(err, ERR_USAGE, 0, "serve: a request has %" PRIu64 " tokens, more than longest=%" PRIu64,
                       r->prompt + r->answer, s->v[LONGEST].number);
    struct active a = {.request = r, .tokens = TAPE_NONE, .n_promised = n_blocks > r->n_ids ? n_blocks : r->n_ids};
    a.caches = malloc(n_layers * sizeof *a.caches);
    const uint64_t n_pages = pages_of(s, r->prompt + r->answer);
    a.own = malloc((n_blocks > n_pages ? n_blocks : n_pages) * sizeof *a.own);
    if (a.caches == NULL || a.own == NULL) {
        free(a.caches);
        free(a.own);
        return err_no_memory(err);
    }
    for (uint64_t i = 0; i < n_layers; i++)
        a.caches[i] = s->v[CACHE].number == RESERVED ? cache_reserve(s) : LAYERS_NO_CACHE;
    if (s->v[CACHE].number == PAGED)
        prompt_share(s, &a);
    else if (s->v[CACHE].number != MAPPED)
        a.tokens = tape_new(tape_of(s), r->prompt * LAYERS_INDEX_BYTES);
    s->running[s->n_running++] = a;
    return ERR_OK;
}

static void active_end(struct server *s, struct active *a)
{
    struct tape *t = tape_of(s);
    for (uint64_t i = s->v[LAYERS].number; i-- > 0;)         /* CPython empties a list from its end */
        layers_drop_cache(&s->base.layers, a->caches[i]);
    tape_drop(t, a->tokens);
    for (uint64_t i = 0; i < a->n_own; i++)
        if (s->v[CACHE].number == MAPPED)
            tape_drop(t, a->own[i]);
        else
            prefix_blocks_give(&s->blocks, a->own[i]);
    if (s->v[CACHE].number == PAGED) {
        for (size_t i = 0; i < a->request->n_ids; i++)
            prefix_blocks_leave(&s->blocks, s->trace.ids[a->request->first_id + i]);
        prefix_blocks_release(&s->blocks, a->n_promised);
    }
    free(a->caches);
    free(a->own);
}

/* Begins those that have come, as long as there is room. */
static enum err server_admit(struct server *s, struct err_detail *err)
{
    enum err e = ERR_OK;
    while (e == ERR_OK && s->n_running < s->v[RUNNING].number && s->next < s->trace.n_requests) {
        const struct served_request *r = &s->trace.requests[s->next];
        const uint64_t n_blocks = blocks_of(s, r->prompt + r->answer), n = n_blocks > r->n_ids ? n_blocks : r->n_ids;
        if (r->arrival_us > s->now_us)
            break;
        if (s->v[CACHE].number == PAGED && !prefix_blocks_promise(&s->blocks, n)) {
            if (s->n_running == 0)
                return err_set(err, ERR_USAGE, 0, "serve: request %zu needs %llu blocks, more than pool=%llu",
                               s->next + 1, (unsigned long long)n, (unsigned long long)s->v[POOL].number);
            break;
        }
        e = active_begin(s, r, err);
        s->next++;
    }
    return e;
}

/* ---- steps ---- */

static uint64_t rows_of(const struct server *s, const struct active *a)
{
    if (a->n_done >= a->request->prompt)
        return 1;
    const uint64_t left = a->request->prompt - a->n_done, chunk = s->v[CHUNK].number;
    return chunk > 0 && chunk < left ? chunk : left;
}

static bool is_done(const struct active *a)
{
    return a->n_done >= a->request->prompt && a->n_answered >= a->request->answer;
}

static void advance(struct active *a, uint64_t n_rows)
{
    a->n_done += n_rows;
    a->n_answered += a->n_done >= a->request->prompt;
}

static void step_contiguous(struct server *s)
{
    for (size_t i = 0; i < s->n_running; i++) {
        struct active *a = &s->running[i];
        const uint64_t n_rows = rows_of(s, a);
        const uint32_t old = a->tokens;
        a->tokens = forward_run(s, a, old, n_rows, 1);
        tape_drop(tape_of(s), old);
        advance(a, n_rows);
    }
}

/* Captures the steps that only answer, the largest first, as vLLM does: what a capture took stays in the pool, and the
 * result stays live. */
static void server_capture(struct server *s)
{
    struct tape *t = tape_of(s);
    tape_use_pool(t, s->v[GRAPHS].number > 0);
    for (uint64_t i = s->v[GRAPHS].number; i-- > 0;) {
        const uint64_t n = UINT64_C(1) << i;
        const uint32_t tokens = tape_new(t, n * LAYERS_INDEX_BYTES);
        (void)forward_run(s, NULL, tokens, n, n);            /* tokens and result belong to the graph, for good */
    }
    tape_use_pool(t, 0);
}

static bool is_captured(const struct server *s, uint64_t n_rows)
{
    return s->v[GRAPHS].number > 0 && n_rows == s->n_running && n_rows <= UINT64_C(1) << (s->v[GRAPHS].number - 1);
}

/* Takes the blocks or pages that a request of so many tokens needs. */
static void active_grow(struct server *s, struct active *a, uint64_t tokens)
{
    const bool is_mapped = s->v[CACHE].number == MAPPED;
    const uint64_t needed = is_mapped ? pages_of(s, tokens) : blocks_of(s, tokens);
    const uint64_t shared = is_mapped ? 0 : a->request->n_ids;
    while (shared + a->n_own < needed)
        a->own[a->n_own++] = is_mapped ? tape_new(tape_of(s), s->v[PAGE].number) : prefix_blocks_take(&s->blocks);
}

/* One forward pass for all, or a graph of it; before it each request takes the blocks that its new tokens need. */
static void step_paged(struct server *s)
{
    uint64_t n_rows = 0;
    for (size_t i = 0; i < s->n_running; i++) {
        struct active *a = &s->running[i];
        const uint64_t mine = rows_of(s, a);
        active_grow(s, a, a->n_done + mine);
        advance(a, mine);
        n_rows += mine;
    }
    struct tape *t = tape_of(s);
    if (is_captured(s, n_rows))
        return;
    const uint32_t tokens = tape_new(t, n_rows * LAYERS_INDEX_BYTES);
    tape_drop(t, forward_run(s, NULL, tokens, n_rows, s->n_running));
    tape_drop(t, tokens);
}

static void server_end_done(struct server *s)
{
    size_t n = 0;
    for (size_t i = 0; i < s->n_running; i++)
        if (is_done(&s->running[i]))
            active_end(s, &s->running[i]);
        else
            s->running[n++] = s->running[i];
    s->n_running = n;
}

/* Whether all requests are computed at once. */
static bool is_batched(const struct server *s)
{
    return s->v[CACHE].number == PAGED || s->v[CACHE].number == MAPPED;
}

static enum err server_run(struct server *s, struct err_detail *err)
{
    enum err e = ERR_OK;
    while (e == ERR_OK && (s->n_running > 0 || s->next < s->trace.n_requests)) {
        if (s->n_running == 0 && s->trace.requests[s->next].arrival_us > s->now_us)
            s->now_us = s->trace.requests[s->next].arrival_us;
        tape_wait_until(tape_of(s), s->now_us * NS_PER_US);
        e = server_admit(s, err);
        if (e == ERR_OK && is_batched(s))
            step_paged(s);
        else if (e == ERR_OK)
            step_contiguous(s);
        server_end_done(s);
        s->now_us += s->v[STEP_US].number;
    }
    while (s->n_running > 0)
        active_end(s, &s->running[--s->n_running]);
    return e;
}

/* ---- the load ---- */

static enum err serving_check(const struct load_value *v, struct err_detail *err)
{
    const uint64_t kv = v[KV_HEADS].number;
    if (v[WIDTH].number % v[HEADS].number != 0 || (kv > 0 && v[HEADS].number % kv != 0))
        return err_set(err, ERR_USAGE, 0, "serve: heads divide the width, and kv_heads divide heads");
    if (v[GRAPHS].number > 0 && v[CACHE].number != PAGED)
        return err_set(err, ERR_USAGE, 0, "serve: graphs= needs cache=paged, whose blocks do not move");
    return ERR_OK;
}

static enum err serving_requests(const struct load_request *r, struct request_trace *out, struct err_detail *err)
{
    const struct load_value *v = r->values;
    if (strcmp(v[REQUESTS].text, "made") == 0)
        return request_trace_make(v[N].number, v[RATE].number, r->seed, out, err);
    const enum err e = request_trace_read(v[REQUESTS].text, v[N].number, out, err);
    if (e == ERR_OK && out->n_empty > 0)
        return err_at(err, ERR_FORMAT, out->first_empty_line, v[REQUESTS].text, "line %llu: a request of 0 tokens",
                      (unsigned long long)out->first_empty_line);
    if (e == ERR_OK && out->n_ids > 0 && v[CACHE].number == PAGED && v[BLOCK].number != out->id_tokens)
        return err_at(err, ERR_USAGE, 0, v[REQUESTS].text, "an id of its hash_ids stands for %llu tokens: say "
                      "block=%llu", (unsigned long long)out->id_tokens, (unsigned long long)out->id_tokens);
    return e;
}

static size_t ids_end(const struct request_trace *t)
{
    size_t end = 0;
    for (size_t i = 0; i < t->n_ids; i++)
        end = t->ids[i] >= end ? (size_t)t->ids[i] + 1 : end;
    return end;
}

static enum err server_open(struct server *s, const struct load_request *r, struct trace_writer *w,
                            struct err_detail *err)
{
    const struct load_value *v = r->values;
    s->v = v;
    s->hidden = v[HIDDEN].number > 0 ? v[HIDDEN].number : 4 * v[WIDTH].number;
    s->kv_width = v[WIDTH].number / v[HEADS].number * (v[KV_HEADS].number > 0 ? v[KV_HEADS].number : v[HEADS].number);
    s->layers = calloc(v[LAYERS].number, sizeof *s->layers);
    s->running = calloc(v[RUNNING].number, sizeof *s->running);
    if (s->layers == NULL || s->running == NULL)
        return err_no_memory(err);
    enum err e = serving_requests(r, &s->trace, err);
    if (e == ERR_OK)
        e = training_open(&s->base, w, v[CARD].text, ELEMENT_BYTES, TRAINING_SGD, err);
    if (e == ERR_OK)
        e = prefix_blocks_open(&s->blocks, tape_of(s),
                               v[BLOCK].number * v[LAYERS].number * 2 * s->kv_width * ELEMENT_BYTES, v[POOL].number,
                               ids_end(&s->trace), err);
    return e;
}

static enum err serving_make(const struct load_request *r, struct trace_writer *w, struct err_detail *err)
{
    struct server s = {.n_running = 0};
    enum err e = serving_check(r->values, err);
    if (e == ERR_OK)
        e = server_open(&s, r, w, err);
    if (e == ERR_OK) {
        server_place(&s);
        server_capture(&s);
        e = server_run(&s, err);
    }
    if (s.base.layers.tape != NULL) {
        const enum err closing = training_close(&s.base);
        e = e == ERR_OK ? closing : e;
    }
    prefix_blocks_close(&s.blocks);
    request_trace_free(&s.trace);
    free(s.layers);
    free(s.running);
    return e;
}

const struct load_kind load_serving = {
    .name = "serve",
    .typed = "serve:...",
    .summary = "a server of a language model: caches of keys and values, contiguous or paged, from a request trace",
    .options = serving_options,
    .make = serving_make,
};
