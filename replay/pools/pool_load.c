/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/* Plays a trace of requests against a pool of blocks. */
#include "replay/pools/pool_load.h"

#include "loads/request_trace.h"

#include <math.h>
#include <stdlib.h>

enum { POWER_APART = 420,            /* arrivals are pulled apart by 4,096 at most */
       POWER_CLOSE = 1860,           /* REQUEST_ARRIVAL_MAX is less than a microsecond then: all come at once */
       HALVINGS = 5 };               /* of a STEP_RATIO, which leave less than a thousandth */
#define STEP_RATIO 1.02
#define US_PER_S 1e6

/* A request that runs, or that was preempted. */
struct seat {
    const struct served_request *request;
    uint64_t done, answered;         /* tokens whose keys and values are kept; tokens answered */
    struct kv_hold hold;
    uint64_t now;                    /* tokens of this step */
    uint64_t began;                  /* how many began before it */
    uint64_t queued_us;              /* when it came into the queue last */
    bool has_waited;                 /* it was counted */
};

/* What one model's server runs, and who asked it. */
struct lane {
    uint32_t model;
    struct seat *running, *preempted;        /* together at most pool.running_most; running: in the order of `began` */
    size_t n_running, n_preempted;
    size_t next;                     /* of the trace: what other models are asked is passed over */
    size_t n_seen;                   /* of the trace: those before it were looked at, whether they wait */
};

struct player {
    const struct request_trace *trace;
    struct pool pool;
    struct kv_pool kv[POOL_MODELS_MAX];      /* n_pools: one for all models, or one for each */
    struct lane lanes[POOL_MODELS_MAX];      /* pool.n_models */
    uint32_t n_pools, awake;         /* kinds that sleep: the model that has the card */
    double factor;                   /* arrivals are divided by it */
    uint32_t *numbers;               /* of holds: the last n_numbers are nobody's */
    size_t n_numbers;
    uint64_t now_us, n_began;
    bool is_short[POOL_MODELS_MAX];  /* by pool: one was preempted in this step, so nobody else begins */
    struct pool_play play;
};

static struct kv_pool *pool_of(struct player *p, const struct lane *l)
{
    return &p->kv[l->model % p->n_pools];
}

/* Who of the models is asked: each in turn, request by request or for some time. */
static uint32_t model_of(const struct player *p, size_t i)
{
    const uint64_t turn_us = p->pool.turn_us;
    return (uint32_t)((turn_us > 0 ? p->trace->requests[i].arrival_us / turn_us : i) % p->pool.n_models);
}

static bool is_playable(const struct player *p, const struct served_request *r)
{
    const uint64_t tokens = r->prompt + r->answer;
    return r->answer > 0 && kv_pool_can_hold(&p->kv[0], tokens) && (p->pool.longest == 0 || tokens <= p->pool.longest);
}

static bool is_for(const struct player *p, const struct lane *l, size_t i)
{
    return model_of(p, i) == l->model && is_playable(p, &p->trace->requests[i]);
}

static const uint32_t *ids_of(const struct player *p, const struct seat *s)
{
    return p->trace->ids + s->request->first_id;
}

static uint64_t arrival_us(const struct player *p, size_t i)
{
    return (uint64_t)((double)p->trace->requests[i].arrival_us / p->factor);
}

/* When its next request comes; UINT64_MAX: none does. */
static uint64_t next_us(const struct player *p, struct lane *l)
{
    while (l->next < p->trace->n_requests && !is_for(p, l, l->next))
        l->next++;
    return l->next < p->trace->n_requests ? arrival_us(p, l->next) : UINT64_MAX;
}

static bool has_queue(const struct player *p, struct lane *l)
{
    return l->n_preempted > 0 || next_us(p, l) <= p->now_us;
}

static uint64_t left_of(const struct seat *s)
{
    return s->request->prompt + s->answered - s->done;
}

static uint64_t taken(const struct player *p)
{
    uint64_t bytes = 0;
    for (uint32_t i = 0; i < p->n_pools; i++)
        bytes += kv_pool_taken(&p->kv[i]);
    return bytes;
}

/* Takes the blocks for so many more tokens. */
static bool take(struct player *p, struct lane *l, struct seat *s, uint64_t tokens)
{
    if (!kv_pool_grow(pool_of(p, l), &s->hold, s->done, s->done + tokens))
        return false;
    s->now = tokens;
    const uint64_t used = taken(p) / (p->pool.shape.layers * p->pool.shape.layer_bytes);
    if (used > p->play.peak_tokens)
        p->play.peak_tokens = used;
    return true;
}

static void give(struct player *p, struct lane *l, struct seat *s)
{
    kv_pool_give(pool_of(p, l), &s->hold, ids_of(p, s));
    p->numbers[p->n_numbers++] = s->hold.number;
    s->now = 0;
}

/* The lane of the last one that began, of those that hold the same memory; one of `l` runs. */
static struct lane *last_begun(struct player *p, struct lane *l)
{
    struct lane *last = l;
    for (uint32_t i = 0; i < p->pool.n_models; i++) {
        struct lane *other = &p->lanes[i];
        if (pool_of(p, other) == pool_of(p, l) && other->n_running > 0 &&
            other->running[other->n_running - 1].began > last->running[last->n_running - 1].began)
            last = other;
    }
    return last;
}

/* The last one that began gives its blocks back, and computes all anew later. */
static void preempt_last(struct player *p, struct lane *l)
{
    struct seat *last = &l->running[--l->n_running];
    give(p, l, last);
    p->play.n_waited += !last->has_waited;
    last->has_waited = true;
    last->queued_us = p->now_us;
    last->done = 0;
    l->preempted[l->n_preempted++] = *last;
    p->play.n_preempted++;
    p->is_short[l->model % p->n_pools] = true;
}

/* All who have arrived wait: the cache is what keeps the first of them out. Each request is looked at once. */
static void see_queue(struct player *p, struct lane *l)
{
    for (l->n_seen = l->n_seen < l->next ? l->next : l->n_seen;
         l->n_seen < p->trace->n_requests && arrival_us(p, l->n_seen) <= p->now_us; l->n_seen++)
        p->play.n_waited += is_for(p, l, l->n_seen);
}

/* What runs goes on. Returns what is left of the budget. */
static uint64_t go_on(struct player *p, struct lane *l)
{
    uint64_t budget = p->pool.step_tokens;
    for (size_t i = 0; i < l->n_running; i++) {
        struct seat *s = &l->running[i];
        const uint64_t tokens = left_of(s) < budget ? left_of(s) : budget;
        while (i < l->n_running && !take(p, l, s, tokens))
            preempt_last(p, last_begun(p, l));
        budget -= i < l->n_running ? tokens : 0;
    }
    return budget;
}

static struct seat seat_next(const struct player *p, const struct lane *l)
{
    return (struct seat){ .request = &p->trace->requests[l->next], .queued_us = arrival_us(p, l->next),
                          .has_waited = l->next < l->n_seen };
}

/* One that was preempted, or the next of the trace: there is one. False: it has no blocks. */
static bool begin_one(struct player *p, struct lane *l, uint64_t *budget)
{
    const bool is_back = l->n_preempted > 0;
    struct seat *s = &l->running[l->n_running];
    *s = is_back ? l->preempted[l->n_preempted - 1] : seat_next(p, l);
    s->hold = (struct kv_hold){ .number = p->numbers[--p->n_numbers], .model = l->model };
    s->done = kv_pool_share(pool_of(p, l), &s->hold, ids_of(p, s), s->request->n_ids, s->request->prompt);
    const uint64_t tokens = left_of(s) < *budget ? left_of(s) : *budget;
    if (!take(p, l, s, tokens)) {
        give(p, l, s);
        see_queue(p, l);
        return false;
    }
    s->began = p->n_began++;
    p->play.shared_tokens += s->done;
    *budget -= tokens;
    l->n_running++;
    l->n_preempted -= is_back;
    l->next += !is_back;
    if (s->has_waited && p->now_us - s->queued_us > p->play.longest_wait_us)
        p->play.longest_wait_us = p->now_us - s->queued_us;
    return true;
}

/* ---- models that sleep ---- */

/* The model that was asked first, of those that wait; pool.n_models: none does. */
static uint32_t first_asked(struct player *p)
{
    uint32_t first = p->pool.n_models;
    for (uint32_t i = 0; i < p->pool.n_models; i++)
        if (next_us(p, &p->lanes[i]) <= p->now_us &&
            (first == p->pool.n_models || next_us(p, &p->lanes[i]) < next_us(p, &p->lanes[first])))
            first = i;
    return first;
}

/* Whether a model may let requests in: it is awake, and none of another came before. */
static bool may_begin(struct player *p, struct lane *l)
{
    const uint32_t first = kv_kind_sleeps(p->pool.kind) ? first_asked(p) : l->model;
    return first == l->model || (l->model == p->awake && l->n_preempted > 0) || first == p->pool.n_models;
}

/* The model that is awake goes to sleep when it runs nothing and another was asked first: weights go and come. */
static void change_model(struct player *p)
{
    const struct lane *l = &p->lanes[p->awake];
    const uint32_t first = first_asked(p);
    if (!kv_kind_sleeps(p->pool.kind) || l->n_running + l->n_preempted > 0 || first == p->pool.n_models ||
        first == p->awake)
        return;
    for (uint32_t i = 0; i < p->pool.n_models; i++)
        see_queue(p, &p->lanes[i]);
    p->play.n_evicted += p->kv[0].prefixes.n_evicted;
    kv_pool_empty(&p->kv[0]);
    p->awake = first;
    p->now_us += p->pool.wake_us;
    p->play.n_wakes++;
}

/* ---- steps ---- */

static void step(struct player *p)
{
    uint64_t budgets[POOL_MODELS_MAX];
    for (uint32_t i = 0; i < p->n_pools; i++)
        p->is_short[i] = false;
    change_model(p);
    for (uint32_t i = 0; i < p->pool.n_models; i++)
        budgets[i] = go_on(p, &p->lanes[i]);
    for (uint32_t i = 0; i < p->pool.n_models; i++) {
        struct lane *l = &p->lanes[i];
        const bool is_asleep = kv_kind_sleeps(p->pool.kind) && i != p->awake;
        if (p->is_short[i % p->n_pools] || is_asleep)
            see_queue(p, l);
        else
            while (budgets[i] > 0 && l->n_running < p->pool.running_most && has_queue(p, l) && may_begin(p, l) &&
                   begin_one(p, l, &budgets[i]))
                ;
    }
}

static void add_sums(struct player *p)
{
    struct pool_sums *sums = &p->play.sums;
    for (uint32_t k = 0; k < p->pool.n_models; k++)
        for (size_t i = 0; i < p->lanes[k].n_running; i++) {
            const struct seat *s = &p->lanes[k].running[i];
            sums->tokens += (double)(s->done + s->now);
            sums->needed_bytes += (double)kv_needed(&p->pool.shape, s->done, s->done + s->now);
            sums->outdated_bytes += (double)kv_outdated(&p->kv[0], s->done, s->done + s->now);
        }
    for (uint32_t i = 0; i < p->n_pools; i++) {
        sums->needed_bytes -= (double)kv_pool_saved(&p->kv[i]);
        sums->given_bytes += (double)kv_pool_given(&p->kv[i]);
    }
    sums->taken_bytes += (double)taken(p);
    p->play.n_steps++;
}

static void end_lane(struct player *p, struct lane *l)
{
    size_t n = 0;
    for (size_t i = 0; i < l->n_running; i++) {
        struct seat *s = &l->running[i];
        s->done += s->now;
        s->answered += s->now > 0 && left_of(s) == 0;
        s->now = 0;
        kv_pool_computed(pool_of(p, l), &s->hold, ids_of(p, s), s->request->n_ids, s->request->prompt, s->done);
        if (s->answered >= s->request->answer)
            give(p, l, s);
        else
            l->running[n++] = *s;
    }
    l->n_running = n;
}

static void end_step(struct player *p)
{
    size_t n = 0;
    add_sums(p);
    for (uint32_t i = 0; i < p->pool.n_models; i++)
        n += p->lanes[i].n_running;
    if (n > p->play.running_peak)
        p->play.running_peak = n;
    for (uint32_t i = 0; i < p->pool.n_models; i++)
        end_lane(p, &p->lanes[i]);
    p->now_us += p->pool.step_us;
}

/* If nothing runs or waits, time goes on to the next arrival. */
static bool is_over(struct player *p)
{
    uint64_t next = UINT64_MAX;
    for (uint32_t i = 0; i < p->pool.n_models; i++) {
        struct lane *l = &p->lanes[i];
        if (l->n_running > 0 || has_queue(p, l))
            return false;
        next = next_us(p, l) < next ? next_us(p, l) : next;
    }
    p->now_us = next;
    return next == UINT64_MAX;
}

static void start_anew(struct player *p, double factor)
{
    p->factor = factor;
    p->awake = 0;
    p->now_us = p->n_began = 0;
    p->play = (struct pool_play){ .n_waited = 0 };
    for (uint32_t i = 0; i < p->pool.n_models; i++)
        p->lanes[i].n_running = p->lanes[i].n_preempted = p->lanes[i].next = p->lanes[i].n_seen = 0;
    for (uint32_t i = 0; i < p->n_pools; i++)
        kv_pool_empty(&p->kv[i]);
    for (p->n_numbers = 0; p->n_numbers < p->pool.n_models * (p->pool.running_most + 1); p->n_numbers++)
        p->numbers[p->n_numbers] = (uint32_t)p->n_numbers;
}

static struct pool_play play_at(struct player *p, double factor)
{
    start_anew(p, factor);
    while (!is_over(p)) {
        step(p);
        end_step(p);
    }
    for (uint32_t i = 0; i < p->n_pools; i++)
        p->play.n_evicted += p->kv[i].prefixes.n_evicted;
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

static bool holds_at(struct player *p, double factor)
{
    const struct pool_play play = play_at(p, factor);
    return holds(&play);
}

/* The most by which arrivals may be closer together. Below 0: however far apart they come, one waits. */
static double factor_most(struct player *p, bool holds_as_recorded)
{
    int low = holds_as_recorded ? 0 : -POWER_APART, high = holds_as_recorded ? POWER_CLOSE : 0;
    if (!holds_as_recorded && !holds_at(p, factor_of(low)))
        return -1;
    while (high - low > 1) {
        const int middle = low + (high - low) / 2;
        *(holds_at(p, factor_of(middle)) ? &low : &high) = middle;
    }
    double least = factor_of(low), most = factor_of(high);
    for (int i = 0; i < HALVINGS; i++) {
        const double middle = (least + most) / 2;
        *(holds_at(p, middle) ? &least : &most) = middle;
    }
    return least;
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
         : play.running_peak >= p->pool.running_most ? POOL_LIMIT_RUNNING : POOL_LIMIT_STEP;
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

bool pool_load_can_share(const struct request_trace *requests, uint64_t block_tokens, uint64_t *id_tokens)
{
    *id_tokens = requests->n_ids > 0 ? requests->id_tokens : 0;
    return *id_tokens > 0 && *id_tokens % block_tokens == 0;
}

/* Of a pool that is known in tokens alone: a layer of two bytes. */
static struct pool pool_in_bytes(const struct pool *pool)
{
    struct pool out = *pool;
    out.n_models = pool->n_models > 0 ? pool->n_models : 1;
    if (pool->kind != NULL)
        return out;
    out.kind = kv_kind_named(pool->shares_prompts ? "paged" : "unshared");
    out.shape = (struct kv_shape){ .layers = 1, .layer_bytes = 2, .block_tokens = pool->block_tokens,
                                   .step_tokens = pool->step_tokens };
    out.bytes = pool->tokens * out.shape.layer_bytes;
    return out;
}

static enum err lane_open(struct player *p, uint32_t model, struct err_detail *err)
{
    struct lane *l = &p->lanes[model];
    l->model = model;
    l->running = calloc(p->pool.running_most + 1, sizeof *l->running);
    l->preempted = calloc(p->pool.running_most + 1, sizeof *l->preempted);
    return l->running == NULL || l->preempted == NULL ? err_no_memory(err) : ERR_OK;
}

static enum err player_open(struct player *p, const struct request_trace *requests, const struct pool *pool,
                            struct err_detail *err)
{
    *p = (struct player){ .trace = requests, .pool = pool_in_bytes(pool) };
    const size_t n_holds = p->pool.n_models * (p->pool.running_most + 1);
    enum err e = ERR_OK;
    p->numbers = calloc(n_holds, sizeof *p->numbers);
    if (p->numbers == NULL)
        return err_no_memory(err);
    for (uint32_t i = 0; i < p->pool.n_models && e == ERR_OK; i++)
        e = lane_open(p, i, err);
    const uint32_t n_pools = kv_kind_shares_card(p->pool.kind) ? 1 : p->pool.n_models;
    for (p->n_pools = 0; p->n_pools < n_pools && e == ERR_OK; p->n_pools++)
        e = kv_pool_open(p->pool.kind, &p->pool.shape, p->pool.bytes / n_pools, ids_end(requests),
                         requests->id_tokens, n_holds, &p->kv[p->n_pools], err);
    return e;
}

static void player_close(struct player *p)
{
    for (uint32_t i = 0; i < p->n_pools; i++)
        kv_pool_close(&p->kv[i]);
    for (uint32_t i = 0; i < p->pool.n_models; i++) {
        free(p->lanes[i].running);
        free(p->lanes[i].preempted);
    }
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
