/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/* Plays a trace of requests against a pool of blocks. */
#include "dryrun/pool_load.h"

#include "loads/request_trace.h"

#include <stdlib.h>

enum { POWER_MOST = 420 };           /* arrivals closer together by 4,096 are taken for all at once */
#define STEP_RATIO 1.02
#define US_PER_S 1e6

/* A request that runs, or that was preempted. */
struct seat {
    const struct served_request *request;
    uint64_t done, answered;         /* tokens whose keys and values are kept; tokens answered */
    uint64_t blocks;
    uint64_t now;                    /* tokens of this step */
};

struct player {
    const struct request_trace *trace;
    struct pool pool;
    double factor;                   /* arrivals are divided by it */
    struct seat *running, *preempted;        /* together at most pool.running_most */
    size_t n_running, n_preempted;
    size_t next;                     /* of the trace */
    bool is_head_waiting;            /* it was its turn already */
    uint64_t free_blocks, now_us;
    struct pool_play play;
};

static uint64_t blocks_for(const struct pool *p, uint64_t tokens)
{
    return (tokens + p->block_tokens - 1) / p->block_tokens;
}

static bool is_playable(const struct pool *p, const struct served_request *r)
{
    const uint64_t tokens = r->prompt + r->answer;
    return blocks_for(p, tokens) <= p->tokens / p->block_tokens && (p->longest == 0 || tokens <= p->longest);
}

static uint64_t arrival_us(const struct player *p, const struct served_request *r)
{
    return (uint64_t)((double)r->arrival_us / p->factor);
}

/* The request whose turn it is, past those that are left out; NULL: none has come. */
static const struct served_request *head_of(struct player *p)
{
    const struct request_trace *t = p->trace;
    while (p->next < t->n_requests &&
           (t->requests[p->next].answer == 0 || !is_playable(&p->pool, &t->requests[p->next])))
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
    const uint64_t more = blocks_for(&p->pool, s->done + tokens) - s->blocks;
    if (more > p->free_blocks)
        return false;
    p->free_blocks -= more;
    s->blocks += more;
    s->now = tokens;
    const uint64_t used = p->pool.tokens / p->pool.block_tokens - p->free_blocks;
    if (used * p->pool.block_tokens > p->play.peak_tokens)
        p->play.peak_tokens = used * p->pool.block_tokens;
    return true;
}

static void give(struct player *p, struct seat *s)
{
    p->free_blocks += s->blocks;
    s->blocks = s->now = 0;
}

/* The last one that began gives its blocks back, and computes all anew later. */
static void preempt_last(struct player *p)
{
    struct seat *last = &p->running[--p->n_running];
    give(p, last);
    last->done = 0;
    p->preempted[p->n_preempted++] = *last;
    p->play.n_preempted++;
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
    return is_preempted ? 0 : budget;
}

static void note_wait(struct player *p, const struct served_request *r)
{
    const uint64_t waited = p->now_us - arrival_us(p, r);
    if (p->is_head_waiting && waited > p->play.longest_wait_us)
        p->play.longest_wait_us = waited;
    p->is_head_waiting = false;
}

/* One that was preempted, or the next of the trace. False: it has no blocks, or there is none. */
static bool begin_one(struct player *p, uint64_t *budget)
{
    const bool is_back = p->n_preempted > 0;
    const struct served_request *head = is_back ? NULL : head_of(p);
    if (!is_back && head == NULL)
        return false;
    struct seat *s = &p->running[p->n_running];
    *s = is_back ? p->preempted[p->n_preempted - 1] : (struct seat){ .request = head };
    const uint64_t tokens = left_of(s) < *budget ? left_of(s) : *budget;
    if (!take(p, s, tokens)) {
        p->play.n_waited += !is_back && !p->is_head_waiting;
        p->is_head_waiting = p->is_head_waiting || !is_back;
        return false;
    }
    *budget -= tokens;
    p->n_running++;
    p->n_preempted -= is_back;
    if (!is_back) {
        note_wait(p, head);
        p->next++;
    }
    return true;
}

static void end_step(struct player *p)
{
    size_t n = 0;
    if (p->n_running > p->play.running_peak)
        p->play.running_peak = p->n_running;
    for (size_t i = 0; i < p->n_running; i++) {
        struct seat *s = &p->running[i];
        s->done += s->now;
        s->answered += s->now > 0 && left_of(s) == 0;
        s->now = 0;
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
    p->n_running = p->n_preempted = p->next = 0;
    p->is_head_waiting = false;
    p->free_blocks = p->pool.tokens / p->pool.block_tokens;
    p->now_us = 0;
    p->play = (struct pool_play){ .n_waited = 0 };
    while (!is_over(p)) {
        uint64_t budget = go_on(p);
        while (budget > 0 && p->n_running < p->pool.running_most && begin_one(p, &budget))
            ;
        end_step(p);
    }
    return p->play;
}

static bool holds(const struct pool_play *play)
{
    return play->n_waited == 0 && play->n_preempted == 0;
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
    int low = holds_as_recorded ? 0 : -POWER_MOST, high = holds_as_recorded ? POWER_MOST : 0;
    if (!holds_as_recorded && !holds_at(p, low))
        return -1;
    while (high - low > 1) {
        const int middle = (low + high + 2 * POWER_MOST) / 2 - POWER_MOST;
        *(holds_at(p, middle) ? &low : &high) = middle;
    }
    return factor_of(low);
}

static void count(const struct request_trace *t, const struct pool *pool, struct pool_load *out)
{
    uint64_t prompt = 0, answer = 0, first_us = 0, last_us = 0;
    for (size_t i = 0; i < t->n_requests; i++) {
        const struct served_request *r = &t->requests[i];
        if (r->answer == 0)
            continue;
        first_us = out->n_requests == 0 ? r->arrival_us : first_us;
        last_us = r->arrival_us;
        out->n_requests++;
        out->n_too_long += !is_playable(pool, r);
        prompt += r->prompt;
        answer += r->answer;
    }
    if (out->n_requests == 0)
        return;
    out->prompt = (double)prompt / (double)out->n_requests;
    out->answer = (double)answer / (double)out->n_requests;
    out->rate = last_us > first_us ? (double)(out->n_requests - 1) * US_PER_S / (double)(last_us - first_us) : 0;
}

static void play(struct player *p, struct pool_load *out)
{
    out->play = play_at(p, 1);
    out->is_rate_unlimited = holds(&out->play) && holds_at(p, POWER_MOST);
    const double factor = out->is_rate_unlimited ? -1 : factor_most(p, holds(&out->play));
    out->rate_most = factor < 0 ? -1 : factor * out->rate;
    out->is_played = true;
}

enum err pool_load_play(const char *path, const struct pool *pool, struct pool_load *out, struct err_detail *err)
{
    struct request_trace trace = { .n_requests = 0 };
    *out = (struct pool_load){ .rate_most = -1 };
    enum err e = request_trace_read(path, POOL_REQUESTS_MAX, &trace, err);
    struct player p = { .trace = &trace, .pool = *pool };
    if (e == ERR_OK) {
        p.running = calloc(pool->running_most + 1, sizeof *p.running);
        p.preempted = calloc(pool->running_most + 1, sizeof *p.preempted);
        e = p.running == NULL || p.preempted == NULL ? err_no_memory(err) : ERR_OK;
    }
    if (e == ERR_OK) {
        count(&trace, pool, out);
        play(&p, out);
    }
    free(p.running);
    free(p.preempted);
    request_trace_free(&trace);
    return e;
}
