/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/* Reads loads, and plays each against every kind of pool. */
#include "replay/pools/pool_contest.h"

#include "loads/load.h"
#include "loads/request_trace.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum contest_option {
    REQUESTS, N, RATE, PREFIXES, PREFIX, MEMORY, LAYERS, WINDOW_LAYERS, WINDOW, KV_HEADS, HEAD, ELEMENT, BLOCK, PAGE,
    LONGEST, RUNNING, STEP_TOKENS, STEP_US, MODELS, WEIGHTS, TURN_S, HOST
};
enum { KEYS_AND_VALUES = 2, US_PER_S = 1000000, MB_PER_GB = 1000 };

static const struct load_option contest_options[] = {
    [REQUESTS] = { "requests", LOAD_TEXT, 0, 0, "made", NULL, "file of a published request trace; made: made up" },
    [N] = { "n", LOAD_NUMBER, 1, POOL_REQUESTS_MAX, "400", NULL, "requests, or the first of the file's" },
    [RATE] = { "rate", LOAD_NUMBER, 1, 1000000, "8", NULL,
               "requests a second; those of a file come as recorded, unless it is given" },
    [PREFIXES] = { "prefixes", LOAD_NUMBER, 0, 100000, "0", NULL,
                   "made up: each prompt begins with one of so many texts" },
    [PREFIX] = { "prefix", LOAD_NUMBER, REQUEST_ID_TOKENS, 1 << 20, "2048", NULL,
                 "tokens of such a text, in steps of 512" },
    [MEMORY] = { "memory", LOAD_BYTES, 1 << 20, UINT64_C(1) << 44, "8GiB", NULL, "size of the pool, with the weights" },
    [LAYERS] = { "layers", LOAD_NUMBER, 1, 1000, "32", NULL, "layers that keep keys and values" },
    [WINDOW_LAYERS] = { "window_layers", LOAD_NUMBER, 0, 1000, "0", NULL, "of these, with a sliding window" },
    [WINDOW] = { "window", LOAD_NUMBER, 1, 1 << 24, "4096", NULL, "tokens that they look back at" },
    [KV_HEADS] = { "kv_heads", LOAD_NUMBER, 1, 1024, "8", NULL, "heads of keys and values on one card" },
    [HEAD] = { "head", LOAD_NUMBER, 1, 1 << 16, "128", NULL, "elements of a head" },
    [ELEMENT] = { "element", LOAD_NUMBER, 1, 4, "2", NULL, "bytes of an element" },
    [BLOCK] = { "block", LOAD_NUMBER, 1, 1 << 16, "16", NULL, "tokens in a block" },
    [PAGE] = { "page", LOAD_BYTES, 4096, 1 << 30, "2MiB", NULL, "mapped, kvcached: size of a page" },
    [LONGEST] = { "longest", LOAD_NUMBER, 1, REQUEST_TOKENS_MAX, "8192", NULL,
                  "tokens of a request, prompt and answer; longer ones are left out" },
    [RUNNING] = { "running", LOAD_NUMBER, 1, 100000, "256", NULL, "requests that run at once, at most" },
    [STEP_TOKENS] = { "step_tokens", LOAD_NUMBER, 1, 1 << 24, "8192", NULL, "tokens that are computed in a step" },
    [STEP_US] = { "step_us", LOAD_NUMBER, 1, 1000000000, "20000", NULL, "microseconds of a step: assumed" },
    [MODELS] = { "models", LOAD_NUMBER, 1, POOL_MODELS_MAX, "1", NULL,
                 "of this shape on the card, each with its server and its share of the requests" },
    [WEIGHTS] = { "weights", LOAD_BYTES, 0, UINT64_C(1) << 44, "0", NULL,
                  "size of a model's weights, which come off the memory; sleep: of one model at a time" },
    [TURN_S] = { "turn_s", LOAD_NUMBER, 0, 1000000, "0", NULL,
                 "seconds for which a model is asked, then the next; 0: each request asks another" },
    [HOST] = { "host", LOAD_NUMBER, 1, 10000, "25", NULL, "sleep: GB a second between card and host" },
    { .name = NULL },
};

static const struct load_kind contest_kind = { .name = "pools", .typed = "requests=...",
                                               .summary = "a load of requests, a model's shape and a memory",
                                               .options = contest_options };

/* An 8-billion model with grouped heads; the same with system prompts; one of 27 billion whose layers have a window,
 * five in six; a small one on a small card; two of the first that are asked in turn. */
static const char *const edition[] = {
    "made,n=600,rate=16,memory=4GiB",
    "made,n=600,rate=16,memory=4GiB,prefixes=8,prefix=2048",
    "made,n=600,rate=8,memory=8GiB,layers=62,window_layers=52,window=1024,kv_heads=16,prefixes=600,prefix=5120",
    "made,n=600,rate=32,memory=1GiB,layers=16,head=64,page=64KiB",
    "made,n=600,rate=16,memory=36GiB,models=2,weights=16GiB,turn_s=15",
};

const struct load_kind *pool_contest_options(void)
{
    return &contest_kind;
}

const char *pool_contest_load_at(size_t i)
{
    return i < sizeof edition / sizeof edition[0] ? edition[i] : NULL;
}

/* ---- a load ---- */

static enum err shape_check(const struct load_value *v, struct err_detail *err)
{
    if (v[WINDOW_LAYERS].number > v[LAYERS].number)
        return err_set(err, ERR_USAGE, 0, "pools: window_layers=%s are more than layers=%s",
                       v[WINDOW_LAYERS].text, v[LAYERS].text);
    if (v[WEIGHTS].number >= v[MEMORY].number)
        return err_set(err, ERR_USAGE, 0, "pools: weights=%s leave nothing of memory=%s", v[WEIGHTS].text,
                       v[MEMORY].text);
    if (v[PREFIX].number % REQUEST_ID_TOKENS != 0)
        return err_set(err, ERR_USAGE, 0, "pools: prefix=%s is no multiple of %d", v[PREFIX].text,
                       REQUEST_ID_TOKENS);
    if (v[PREFIXES].number > 0 && strcmp(v[REQUESTS].text, "made") != 0)
        return err_set(err, ERR_USAGE, 0, "pools: prefixes= is for requests that are made up");
    return ERR_OK;
}

/* Both models' weights pass, and those of more than the memory leave nothing. */
static struct pool pool_of(const struct load_value *v, const struct kv_kind *kind)
{
    const uint64_t memory = v[MEMORY].number, weights = v[WEIGHTS].number;
    const uint64_t all = kv_kind_sleeps(kind) ? weights : weights * v[MODELS].number;
    const struct kv_shape shape = {
        .layers = v[LAYERS].number, .window_layers = v[WINDOW_LAYERS].number, .window = v[WINDOW].number,
        .layer_bytes = KEYS_AND_VALUES * v[KV_HEADS].number * v[HEAD].number * v[ELEMENT].number,
        .block_tokens = v[BLOCK].number, .page_bytes = v[PAGE].number, .longest = v[LONGEST].number,
        .step_tokens = v[STEP_TOKENS].number, .n_models = (uint32_t)v[MODELS].number };
    return (struct pool){ .running_most = v[RUNNING].number, .step_tokens = v[STEP_TOKENS].number,
                          .step_us = v[STEP_US].number, .longest = v[LONGEST].number, .shape = shape,
                          .bytes = all < memory ? memory - all : 0, .kind = kind,
                          .n_models = shape.n_models, .turn_us = v[TURN_S].number * US_PER_S,
                          .wake_us = 2 * weights / (v[HOST].number * MB_PER_GB) };
}

/* Requests of a file, which come as recorded unless a rate was typed. */
static enum err requests_of_file(const struct load_value *v, struct request_trace *out, struct err_detail *err)
{
    const enum err e = request_trace_read(v[REQUESTS].text, v[N].number, out, err);
    if (e != ERR_OK || v[RATE].text == contest_options[RATE].fallback)
        return e;
    return request_trace_set_rate(out, (double)v[RATE].number)
           ? ERR_OK : err_set(err, ERR_USAGE, 0, "pools: rate=%s: the requests of %s all come at once",
                              v[RATE].text, v[REQUESTS].text);
}

static enum err requests_of(const struct load_value *v, uint64_t seed, struct request_trace *out,
                            struct err_detail *err)
{
    if (strcmp(v[REQUESTS].text, "made") != 0)
        return requests_of_file(v, out, err);
    enum err e = request_trace_make(v[N].number, v[RATE].number, seed, out, err);
    if (e == ERR_OK && v[PREFIXES].number > 0)
        e = request_trace_begin_alike(out, v[PREFIXES].number, v[PREFIX].number, seed, err);
    return e;
}

/* ---- rounds ---- */

static enum err round_play(struct pool_contest *c, struct pool_round *round, const struct load_value *v,
                           struct err_detail *err)
{
    struct request_trace requests = { .requests = NULL };
    enum err e = requests_of(v, c->asked.seed, &requests, err);
    for (size_t i = 0; i < round->n_rows && e == ERR_OK; i++) {
        const struct pool pool = pool_of(v, round->rows[i].kind);
        round->token_bytes = pool.shape.layers * pool.shape.layer_bytes;
        e = pool_load_play(&requests, &pool, &round->rows[i].load, err);
    }
    request_trace_free(&requests);
    return e;
}

/* The kinds that were asked for, in that order; else all, but none that sleeps if there is one model. */
static enum err kinds_fill(const struct pool_contest *c, struct pool_round *round, struct err_detail *err)
{
    size_t n = c->asked.n_kinds;
    while (c->asked.n_kinds == 0 && kv_kind_at(n) != NULL)
        n++;
    round->rows = calloc(n, sizeof *round->rows);
    if (round->rows == NULL)
        return err_no_memory(err);
    for (size_t i = 0; i < n; i++) {
        const struct kv_kind *kind = c->asked.n_kinds == 0 ? kv_kind_at(i) : kv_kind_named(c->asked.kinds[i]);
        if (kind == NULL)
            return err_set(err, ERR_USAGE, 0, "there is no pool \"%s\": contiguous, unshared, paged, mapped, kvcached, "
                           "jenga and sleep are compared", c->asked.kinds[i]);
        if (c->asked.n_kinds > 0 || round->n_models > 1 || !kv_kind_sleeps(kind))
            round->rows[round->n_rows++].kind = kind;
    }
    return ERR_OK;
}

static enum err round_run(struct pool_contest *c, struct pool_round *round, struct err_detail *err)
{
    struct load_value values[LOAD_OPTIONS_MAX];
    char *typed;
    enum err e = load_values_read(&contest_kind, round->load, values, &typed, err);
    if (e == ERR_OK)
        e = shape_check(values, err);
    if (e == ERR_OK) {
        round->bytes = values[MEMORY].number;
        round->n_models = values[MODELS].number;
        e = kinds_fill(c, round, err);
    }
    if (e == ERR_OK)
        e = round_play(c, round, values, err);
    free(typed);
    return e;
}

static size_t n_of(const char *(*at)(size_t))
{
    size_t n = 0;
    while (at(n) != NULL)
        n++;
    return n;
}

enum err pool_contest_run(const struct pool_contest_request *asked, struct pool_contest *out, struct err_detail *err)
{
    enum err e = ERR_OK;
    *out = (struct pool_contest){ .asked = *asked };
    const size_t n = asked->n_loads > 0 ? asked->n_loads : n_of(pool_contest_load_at);
    out->rounds = calloc(n, sizeof *out->rounds);
    if (out->rounds == NULL)
        return err_no_memory(err);
    for (size_t i = 0; i < n && e == ERR_OK; i++) {
        struct pool_round *round = &out->rounds[out->n_rounds++];
        round->load = asked->n_loads > 0 ? asked->loads[i] : pool_contest_load_at(i);
        e = round_run(out, round, err);
    }
    return e;
}

void pool_contest_close(struct pool_contest *c)
{
    for (size_t i = 0; i < c->n_rounds; i++)
        free(c->rounds[i].rows);
    free(c->rounds);
    c->rounds = NULL;
    c->n_rounds = 0;
}

struct pool_figures pool_row_figures(const struct pool_row *row)
{
    const struct pool_sums *s = &row->load.play.sums;
    const double gib = 1 << 30, taken = s->taken_bytes > 0 ? s->taken_bytes : NAN;
    return (struct pool_figures){
        .tokens_per_gib = s->tokens / (taken / gib), .needed = s->needed_bytes / taken,
        .outdated = s->outdated_bytes / taken,
        .internal = (s->given_bytes - s->needed_bytes - s->outdated_bytes) / taken,
        .external = (s->taken_bytes - s->given_bytes) / taken };
}

const char *pool_limit_word(enum pool_limit limit)
{
    static const char *const words[] = { [POOL_LIMIT_CACHE] = "cache", [POOL_LIMIT_RUNNING] = "running",
                                         [POOL_LIMIT_STEP] = "step", [POOL_LIMIT_FILE] = "file" };
    return words[limit];
}
