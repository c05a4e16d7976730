/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
#include "replay/plan/loop_plan.h"

#include "base/array.h"
#include "base/repetition.h"

#include <stdlib.h>

/* ---- the step that repeats ---- */

enum { LOOP_PLACES = 16 };           /* of the recording, from which a repetition is looked for */

/* The longest repetition of sizes and streams; period 0: there is none. */
static struct repetition find_repetition(const uint64_t *keys, size_t n)
{
    struct repetition best = { .period = 0 };
    for (size_t i = 1; i < LOOP_PLACES; i++) {
        const struct repetition r = repetition_from(keys, n, n / LOOP_PLACES * i);
        if (repetition_length(&r) > repetition_length(&best))
            best = r;
    }
    return best;
}

/* Of the moments from the first request of the last round to after its last one, the last at which least is live. */
static uint32_t find_quietest(const struct lifetimes *l, size_t first, size_t last)
{
    const uint32_t from = l->at[first].begin, to = l->at[last].begin + 1;
    uint64_t live = 0, least = UINT64_MAX;
    uint32_t quietest = from;
    for (uint32_t step = 0; step <= to; step++) {
        if (step >= from && live <= least) {
            quietest = step;
            least = live;
        }
        if (step < to)
            live += l->steps[step] % 2 == 1 ? 0 - lifetimes_at_step(l, step)->bytes : lifetimes_at_step(l, step)->bytes;
    }
    return quietest;
}

/* The first request after a moment. */
static size_t request_after(const struct lifetimes *l, uint32_t step)
{
    size_t low = 0, high = l->n;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        if (l->at[middle].begin < step)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* Bytes that live at the cut, were requested in the loop before request `end`, and cannot have the place of the same
 * request of the round before. */
static uint64_t without_common_place(const struct lifetimes *l, uint32_t cut, size_t end, size_t n_requests)
{
    uint64_t bytes = 0;
    for (size_t i = end - n_requests; i < end; i++) {
        const struct lifetime *life = &l->at[i], *before = i < n_requests ? NULL : &l->at[i - n_requests];
        if (life->end >= cut && (before == NULL || before->bytes != life->bytes || before->end > life->begin))
            bytes += life->bytes;
    }
    return bytes;
}

/* The fewest rounds of `period` with which most of what lives on has a common place. */
static void choose_rounds(const struct lifetimes *l, const struct repetition *r, struct plan_loop *out)
{
    const size_t end = request_after(l, out->end_step);
    uint64_t least = UINT64_MAX;
    for (unsigned n = 1; n <= LOOP_ROUNDS_MAX && end >= r->begin + n * r->period; n++) {
        const uint64_t bytes = without_common_place(l, out->end_step, end, n * r->period);
        if (bytes >= least)
            continue;
        least = bytes;
        out->n_rounds = n;
        out->n_requests = n * r->period;
    }
}

enum err plan_loop_find(const struct lifetimes *l, struct plan_loop *out, struct err_detail *err)
{
    uint64_t *keys = malloc(array_bytes(l->n + 1, sizeof *keys));
    if (keys == NULL)
        return err_no_memory(err);
    for (size_t i = 0; i < l->n; i++)
        keys[i] = l->at[i].bytes | l->at[i].stream % LOOP_STREAMS_MAX;      /* sizes are multiples of 512 */
    const struct repetition r = find_repetition(keys, l->n);
    const size_t end = r.end + r.period;
    free(keys);
    *out = (struct plan_loop){ .end_step = (uint32_t)l->n_steps };
    if (r.period > 0) {
        out->end_step = find_quietest(l, end - r.period, end - 1);
        choose_rounds(l, &r, out);
    }
    return ERR_OK;
}

/* ---- the plan ---- */

/* The lives of one stream, as they are planned. */
struct stream_lives {
    struct lifetimes lives;
    size_t *life_of;                 /* by request; SIZE_MAX: it is of another stream */
};

/* The life that a request of the loop has in common with the same request of the round before: it lives on into the
 * next round, as that one did into this. SIZE_MAX: it has one of its own. */
static size_t common_life(const struct stream_lives *s, const struct lifetimes *l, const struct plan_loop *loop,
                          size_t request)
{
    if (request < l->n - loop->n_requests || l->at[request].end != UINT32_MAX || request < loop->n_requests)
        return SIZE_MAX;
    const size_t before = request - loop->n_requests, life = s->life_of[before];
    const bool is_alike = life != SIZE_MAX && l->at[before].bytes == l->at[request].bytes;
    return is_alike && s->lives.at[life].end != UINT32_MAX && s->lives.at[life].resume == 0 ? life : SIZE_MAX;
}

static bool stream_begin(struct stream_lives *s, const struct lifetimes *l, const struct plan_loop *loop,
                         size_t request)
{
    const size_t common = common_life(s, l, loop, request);
    s->life_of[request] = common == SIZE_MAX ? s->lives.n : common;
    return common == SIZE_MAX ? lifetimes_begin(&s->lives, l->at[request].bytes, 0)
                              : lifetimes_resume(&s->lives, common);
}

static enum err stream_lives_open(const struct lifetimes *l, const struct plan_loop *loop, uint16_t stream,
                                  struct stream_lives *out)
{
    *out = (struct stream_lives){ .life_of = malloc(array_bytes(l->n + 1, sizeof *out->life_of)) };
    bool has_room = out->life_of != NULL;
    for (size_t i = 0; i < l->n && has_room; i++)
        out->life_of[i] = SIZE_MAX;
    for (uint32_t step = 0; step < l->n_steps && has_room; step++) {
        const size_t request = l->steps[step] / 2;
        if (l->at[request].stream == stream)
            has_room = l->steps[step] % 2 == 1 ? lifetimes_end(&out->lives, out->life_of[request], 0)
                                               : stream_begin(out, l, loop, request);
    }
    for (size_t i = 0; i < l->n && has_room; i++)
        if (out->life_of[i] != SIZE_MAX)
            out->lives.at[out->life_of[i]].time_ns += l->at[i].time_ns;
    return has_room ? ERR_OK : ERR_HOST_NOMEM;
}

static void stream_lives_close(struct stream_lives *s)
{
    free(s->life_of);
    lifetimes_close(&s->lives);
}

/* Plans one stream above what is planned already. */
static enum err plan_stream(const struct lifetimes *l, struct plan_loop *loop, uint16_t stream,
                            const struct plan_limits *limits, struct best_plan *out, struct err_detail *err)
{
    struct stream_lives s;
    struct best_plan plan = { .offsets = NULL };
    struct plan_limits left = *limits;
    left.enough_bytes = 0;
    left.work = limits->work > out->work ? limits->work - out->work : 0;
    enum err e = stream_lives_open(l, loop, stream, &s);
    if (e != ERR_OK)
        err_no_memory(err);
    else if (s.lives.n > 0)
        e = best_plan_find(&s.lives, &left, &plan, err);
    for (size_t i = 0; i < l->n && e == ERR_OK; i++)
        if (s.life_of[i] != SIZE_MAX)
            out->offsets[i] = out->plan_bytes + plan.offsets[s.life_of[i]];
    if (e == ERR_OK) {
        out->plan_bytes += plan.plan_bytes;
        out->work += plan.work;
        loop->apart_bytes += plan.live_bytes;
    }
    best_plan_close(&plan);
    stream_lives_close(&s);
    return e;
}

enum err loop_plan_find(const struct lifetimes *l, struct plan_loop *loop, const struct plan_limits *limits,
                        struct best_plan *out, struct err_detail *err)
{
    uint16_t n_streams = 0;
    for (size_t i = 0; i < l->n; i++)
        n_streams = l->at[i].stream >= n_streams ? (uint16_t)(l->at[i].stream + 1) : n_streams;
    if (n_streams > LOOP_STREAMS_MAX)
        return err_set(err, ERR_UNSUPPORTED, 0, "the requests are of more than %d streams", LOOP_STREAMS_MAX);
    *out = (struct best_plan){ .offsets = calloc(l->n + 1, sizeof *out->offsets) };
    out->live_bytes = lifetimes_live_peak(l, &out->live_step);
    enum err e = out->offsets == NULL ? err_no_memory(err) : best_plan_prove_by_live_peak(l, out);
    for (uint16_t stream = 0; stream < n_streams && e == ERR_OK; stream++)
        e = plan_stream(l, loop, stream, limits, out, err);
    if (e != ERR_OK)
        best_plan_close(out);
    return e;
}
