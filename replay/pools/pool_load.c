/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/* Plays a trace of requests against a pool of blocks. */
#include "replay/pools/pool_load.h"

#include "loads/request_trace.h"

#include <math.h>
#include <stdlib.h>

enum { POWER_APART = 420,            /* arrivals are pulled apart by 4,096 at most */
       POWER_CLOSE = 1860 };         /* REQUEST_ARRIVAL_MAX is less than a microsecond then: all come at once */
#define STEP_RATIO 1.02
#define US_PER_S 1e6

/* A request that runs, or that was preempted. */
struct seat {
    const struct served_request *request;
    uint64_t done, answered;         /* tokens whose keys and values are kept; tokens answered */
    struct kv_hold hold;
    uint64_t now;                    /* tokens of this step */
    uint64_t queued_us;              /* when it came into the queue last */
    bool has_waited;                 /* it was counted */
};

struct player {
    const struct request_trace *trace;
    struct pool pool;
    struct kv_pool kv;
    double factor;                   /* arrivals are divided by it */
    struct seat *running, *preempted;        /* together at most pool.running_most */
    uint32_t *numbers;               /* of holds: the last n_numbers are nobody's */
    size_t n_numbers;
    size_t n_running, n_preempted;
    size_t next;                     /* of the trace */
    size_t n_seen;                   /* of the trace: those before it were looked at, whether they wait */
    uint64_t now_us;
    struct pool_play play;
};

static bool is_playable(const struct player *p, const struct served_request *r)
{
    const uint64_t tokens = r->prompt + r->answer;
    return r->answer > 0 && kv_pool_can_hold(&p->kv, tokens) && (p->pool.longest == 0 || tokens <= p->pool.longest);
}

static const uint32_t *ids_of(const struct player *p, const struct seat *s)
{
    return p->trace->ids + s->request->first_id;
}

static uint64_t arrival_us(const struct player *p, const struct served_request *r)
{
    return (uint64_t)((double)r->arrival_us / p->factor);
}

/* The request whose turn it is, past those that are left out; NULL: none has come. */
static const struct served_request *head_of(struct player *p)
{
    const struct request_trace *t = p->trace;
    while (p->next < t->n_requests && !is_playable(p, &t->requests[p->next]))
        p->next++;
    const bool has_come = p->next < t->n_requests && arrival_us(p, &t->requests[p->next]) <= p->now_us;
    return has_come ? &t->requests[p->next] : NULL;
}

static uint64_t left_of(const struct seat *s)
{
    return s->request->prompt + s->answered - s->done;
}

/* Takes the blocks for so many more tokens. */
static bool take(struct player *p, struct seat *s, uint64_t tokens)
{
    if (!kv_pool_grow(&p->kv, &s->hold, s->done, s->done + tokens))
        return false;
    s->now = tokens;
    const uint64_t used = kv_pool_taken(&p->kv) / (p->pool.shape.layers * p->pool.shape.layer_bytes);
    if (used > p->play.peak_tokens)
        p->play.peak_tokens = used;
    return true;
}

static void give(struct player *p, struct seat *s)
{
    kv_pool_give(&p->kv, &s->hold, ids_of(p, s));
    p->numbers[p->n_numbers++] = s->hold.number;
    s->now = 0;
}

/* The last one that began gives its blocks back, and computes all anew later. */
static void preempt_last(struct player *p)
{
    struct seat *last = &p->running[--p->n_running];
    give(p, last);
    p->play.n_waited += !last->has_waited;
    last->has_waited = true;
    last->queued_us = p->now_us;
    last->done = 0;
    p->preempted[p->n_preempted++] = *last;
    p->play.n_preempted++;
}

/* All who have arrived wait: the cache is what keeps the first of them out. Each request is looked at once. */
static void see_queue(struct player *p)
{
    const struct request_trace *t = p->trace;
    for (p->n_seen = p->n_seen < p->next ? p->next : p->n_seen;
         p->n_seen < t->n_requests && arrival_us(p, &t->requests[p->n_seen]) <= p->now_us; p->n_seen++)
        p->play.n_waited += is_playable(p, &t->requests[p->n_seen]);
}

/* What runs goes on. Returns what is left of the budget, or 0 if one was preempted: then nobody else begins. */
static uint64_t go_on(struct player *p)
{
    uint64_t budget = p->pool.step_tokens;
    bool is_preempted = false;
    for (size_t i = 0; i < p->n_running; i++) {
        struct seat *s = &p->running[i];
        const uint64_t tokens = left_of(s) < budget ? left_of(s) : budget;
        while (i < p->n_running && !take(p, s, tokens)) {
            preempt_last(p);
            is_preempted = true;
        }
        budget -= i < p->n_running ? tokens : 0;
    }
    if (is_preempted)
        see_queue(p);
    return is_preempted ? 0 : budget;
}

static struct seat seat_of(const struct player *p, const struct served_request *r)
{
    return (struct seat){ .request = r, .queued_us = arrival_us(p, r), .has_waited = p->next < p->n_seen };
}

/* One that was preempted, or the next of the trace. False: it has no blocks, or there is none. */
static bool begin_one(struct player *p, uint64_t *budget)
{
    const bool is_back = p->n_preempted > 0;
    const struct served_request *head = is_back ? NULL : head_of(p);
    if (!is_back && head == NULL)
        return false;
    struct seat *s = &p->running[p->n_running];
    *s = is_back ? p->preempted[p->n_preempted - 1] : seat_of(p, head);
    s->hold = (struct kv_hold){ .number = p->numbers[--p->n_numbers] };
    s->done = kv_pool_share(&p->kv, &s->hold, ids_of(p, s), s->request->n_ids, s->request->prompt);
    const uint64_t tokens = left_of(s) < *budget ? left_of(s) : *budget;
    if (!take(p, s, tokens)) {
        give(p, s);
        see_queue(p);
        return false;
    }
    p->play.shared_tokens += s->done;
    *budget -= tokens;
    p->n_running++;
    p->n_preempted -= is_back;
    p->next += !is_back;
    if (s->has_waited && p->now_us - s->queued_us > p->play.longest_wait_us)
        p->play.longest_wait_us = p->now_us - s->queued_us;
    return true;
}

static void add_sums(struct player *p)
{
    struct pool_sums *sums = &p->play.sums;
    for (size_t i = 0; i < p->n_running; i++) {
        const struct seat *s = &p->running[i];
        sums->tokens += (double)(s->done + s->now);
        sums->needed_bytes += (double)kv_needed(&p->kv.shape, s->done, s->done + s->now);
        sums->outdated_bytes += (double)kv_outdated(&p->kv, s->done, s->done + s->now);
    }
    sums->needed_bytes -= (double)kv_pool_saved(&p->kv);
    sums->given_bytes += (double)kv_pool_given(&p->kv);
    sums->taken_bytes += (double)kv_pool_taken(&p->kv);
    p->play.n_steps++;
}

static void end_step(struct player *p)
{
    size_t n = 0;
    add_sums(p);
    if (p->n_running > p->play.running_peak)
        p->play.running_peak = p->n_running;
    for (size_t i = 0; i < p->n_running; i++) {
        struct seat *s = &p->running[i];
        s->done += s->now;
        s->answered += s->now > 0 && left_of(s) == 0;
        s->now = 0;
        kv_pool_computed(&p->kv, &s->hold, ids_of(p, s), s->request->n_ids, s->request->prompt, s->done);
        if (s->answered >= s->request->answer)
            give(p, s);
        else
            p->running[n++] = *s;
    }
    p->n_running = n;
    p->now_us += p->pool.step_us;
}

static bool is_over(struct player *p)
{
    if (p->n_running > 0 || p->n_preempted > 0 || head_of(p) != NULL)
        return false;
    if (p->next >= p->trace->n_requests)
        return true;
    p->now_us = arrival_us(p, &p->trace->requests[p->next]);
    return false;
}

static struct pool_play play_at(struct player *p, double factor)
{
    p->factor = factor;
    p->n_running = p->n_preempted = p->next = p->n_seen = 0;
    p->now_us = 0;
    p->play = (struct pool_play){ .n_waited = 0 };
    kv_pool_empty(&p->kv);
    for (p->n_numbers = 0; p->n_numbers <= p->pool.running_most; p->n_numbers++)
        p->numbers[p->n_numbers] = (uint32_t)p->n_numbers;
    while (!is_over(p)) {
        uint64_t budget = go_on(p);
        while (budget > 0 && p->n_running < p->pool.running_most && begin_one(p, &budget))
            ;
        end_step(p);
    }
    p->play.n_evicted = p->kv.prefixes.n_evicted;
    return p->play;
}

static bool holds(const struct pool_play *play)
{
    return play->n_waited == 0;      /* nor is one preempted: it would have waited */
}

/* STEP_RATIO to this power. */
static double factor_of(int power)
{
    double factor = 1;
    for (int i = 0; i < power || i < -power; i++)
        factor *= STEP_RATIO;
    return power < 0 ? 1 / factor : factor;
}

static bool holds_at(struct player *p, int power)
{
    const struct pool_play play = play_at(p, factor_of(power));
    return holds(&play);
}

/* The most by which arrivals may be closer together. Below 0: however far apart they come, one waits. */
static double factor_most(struct player *p, bool holds_as_recorded)
{
    int low = holds_as_recorded ? 0 : -POWER_APART, high = holds_as_recorded ? POWER_CLOSE : 0;
    if (!holds_as_recorded && !holds_at(p, low))
        return -1;
    while (high - low > 1) {
        const int middle = low + (high - low) / 2;
        *(holds_at(p, middle) ? &low : &high) = middle;
    }
    return factor_of(low);
}

static void count(const struct player *p, struct pool_load *out)
{
    const struct request_trace *t = p->trace;
    uint64_t prompt = 0, answer = 0, first_us = 0, last_us = 0, n = 0;
    for (size_t i = 0; i < t->n_requests; i++) {
        const struct served_request *r = &t->requests[i];
        out->n_requests += r->answer > 0;
        out->n_empty += r->answer == 0;
        if (!is_playable(p, r))
            continue;
        first_us = n == 0 ? r->arrival_us : first_us;
        last_us = r->arrival_us;
        n++;
        prompt += r->prompt;
        answer += r->answer;
    }
    out->n_too_long = out->n_requests - n;
    if (n == 0)
        return;
    out->prompt = (double)prompt / (double)n;
    out->answer = (double)answer / (double)n;
    out->rate = last_us > first_us ? (double)(n - 1) * US_PER_S / (double)(last_us - first_us) : 0;
}

static enum pool_limit limit_of(struct player *p, uint64_t n_played)
{
    const struct pool_play play = play_at(p, INFINITY);
    return !holds(&play) ? POOL_LIMIT_CACHE : play.running_peak == n_played ? POOL_LIMIT_FILE
         : play.running_peak == p->pool.running_most ? POOL_LIMIT_RUNNING : POOL_LIMIT_STEP;
}

static void play(struct player *p, struct pool_load *out)
{
    const uint64_t n = out->n_requests - out->n_too_long;
    out->play = play_at(p, 1);
    out->limit = holds(&out->play) ? limit_of(p, n) : POOL_LIMIT_CACHE;
    double factor = out->limit == POOL_LIMIT_CACHE ? factor_most(p, holds(&out->play)) : -1;
    if (factor >= 0 && play_at(p, factor).running_peak == n) {
        out->limit = POOL_LIMIT_FILE;
        factor = -1;
    }
    out->rate_most = factor < 0 ? -1 : factor * out->rate;
    out->is_played = true;
}

enum err pool_load_open(const char *path, struct request_trace **out, struct err_detail *err)
{
    *out = calloc(1, sizeof **out);
    if (*out == NULL)
        return err_no_memory(err);
    const enum err e = request_trace_read(path, POOL_REQUESTS_MAX, *out, err);
    if (e != ERR_OK) {
        pool_load_close(*out);
        *out = NULL;
    }
    return e;
}

void pool_load_close(struct request_trace *requests)
{
    if (requests != NULL)
        request_trace_free(requests);
    free(requests);
}

/* Ids are below it. */
static size_t ids_end(const struct request_trace *t)
{
    size_t end = 0;
    for (size_t i = 0; i < t->n_ids; i++)
        end = t->ids[i] >= end ? (size_t)t->ids[i] + 1 : end;
    return end;
}

/* Of a pool that is known in tokens alone: a layer of two bytes. */
static struct pool pool_in_bytes(const struct pool *pool)
{
    struct pool out = *pool;
    if (pool->kind != NULL)
        return out;
    out.kind = kv_kind_named("unshared");
    out.shape = (struct kv_shape){ .layers = 1, .layer_bytes = 2, .block_tokens = pool->block_tokens,
                                   .step_tokens = pool->step_tokens };
    out.bytes = pool->tokens * out.shape.layer_bytes;
    return out;
}

static enum err player_open(struct player *p, const struct request_trace *requests, const struct pool *pool,
                            struct err_detail *err)
{
    *p = (struct player){ .trace = requests, .pool = pool_in_bytes(pool) };
    p->running = calloc(pool->running_most + 1, sizeof *p->running);
    p->preempted = calloc(pool->running_most + 1, sizeof *p->preempted);
    p->numbers = calloc(pool->running_most + 1, sizeof *p->numbers);
    if (p->running == NULL || p->preempted == NULL || p->numbers == NULL)
        return err_no_memory(err);
    return kv_pool_open(p->pool.kind, &p->pool.shape, p->pool.bytes, ids_end(requests), requests->id_tokens,
                        pool->running_most + 1, &p->kv, err);
}

static void player_close(struct player *p)
{
    kv_pool_close(&p->kv);
    free(p->running);
    free(p->preempted);
    free(p->numbers);
}

enum err pool_load_play(const struct request_trace *requests, const struct pool *pool, struct pool_load *out,
                        struct err_detail *err)
{
    struct player p;
    const enum err e = player_open(&p, requests, pool, err);
    *out = (struct pool_load){ .rate_most = -1, .n_empty = requests->n_empty };
    if (e == ERR_OK) {
        count(&p, out);
        play(&p, out);
    }
    player_close(&p);
    return e;
}
