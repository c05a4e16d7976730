/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * Requests whose sizes and lives follow distributions, over several streams, pools and phases.
 *
 * A life is counted in requests: one of 100 is freed before the 100th request after it. Logarithms are computed in
 * whole numbers, so that every machine draws the same ones.
 */
#include "loads/kinds.h"

#include "loads/schedule.h"

#include "base/random.h"

#include <stdio.h>
#include <string.h>

enum random_option { N, SIZES, LEAST, MOST, LIVES, LIFE, STREAMS, POOLS, PHASES };
enum { SIZES_LOG, SIZES_UNIFORM, SIZES_TWO };
enum { LIVES_EXPONENTIAL, LIVES_LOG, LIVES_SAME };

static const struct load_option random_options[] = {
    [N] = {"n", LOAD_NUMBER, 1, UINT32_MAX - 1, "100000", NULL, "requests"},
    [SIZES] = {"sizes", LOAD_WORD, 0, 0, "log", "log|uniform|two",
               "log: each power of two is as frequent; two: nine of ten are small"},
    [LEAST] = {"least", LOAD_NUMBER, 1, UINT64_C(1) << 40, "512", NULL, "bytes of the smallest request"},
    [MOST] = {"most", LOAD_NUMBER, 1, UINT64_C(1) << 40, "67108864", NULL, "bytes of the largest request"},
    [LIVES] = {"lives", LOAD_WORD, 0, 0, "exponential", "exponential|log|same", "how lives are spread"},
    [LIFE] = {"life", LOAD_NUMBER, 1, 1 << 30, "100", NULL, "mean life, in requests; log: the longest"},
    [STREAMS] = {"streams", LOAD_NUMBER, 1, 64, "1", NULL, "streams, the first of which has half of the requests"},
    [POOLS] = {"pools", LOAD_NUMBER, 0, 64, "0", NULL, "private pools, which share a quarter of the requests"},
    [PHASES] = {"phases", LOAD_NUMBER, 1, 10000, "1", NULL, "phases, each marked, at whose ends all is freed"},
    {.name = NULL},
};

enum { FRACTION_BITS = 16 };

/* -log2(u / 2^32) for u in [1, 2^32], in 2^-16: the square of u has twice its logarithm, which gives a bit at a
 * time. */
static uint64_t log2_of_inverse(uint64_t u)
{
    uint64_t whole = 0, fraction = 0;
    while (u < UINT64_C(1) << 31) {
        u *= 2;
        whole++;
    }
    if (u >= UINT64_C(1) << 32)
        return whole << FRACTION_BITS;
    /* u / 2^32 is in [1/2, 1): its inverse's logarithm is in (0, 1] */
    for (unsigned bit = 0; bit < FRACTION_BITS; bit++) {
        u = (u * u) >> 32;
        fraction *= 2;
        if (u < UINT64_C(1) << 31) {
            u *= 2;
            fraction++;
        }
    }
    return (whole << FRACTION_BITS) + fraction;
}

/* A number in [low, high], each power of two between them as frequent. */
static uint64_t draw_log(uint64_t *random, uint64_t low, uint64_t high)
{
    unsigned powers = 1;
    while (low << powers <= high && powers < 62)
        powers++;
    const uint64_t power = low << random_next(random) % powers;
    const uint64_t most = power > high / 2 ? high : 2 * power - 1;
    return power + random_next(random) % (most - power + 1);
}

static uint64_t draw_size(const struct load_value *v, uint64_t *random)
{
    enum { SMALL_SHARE = 10 };
    const uint64_t low = v[LEAST].number, high = v[MOST].number;
    if (v[SIZES].number == SIZES_UNIFORM)
        return low + random_next(random) % (high - low + 1);
    if (v[SIZES].number == SIZES_LOG)
        return draw_log(random, low, high);
    const bool is_small = random_next(random) % SMALL_SHARE != 0;
    const uint64_t middle = low + (high - low) / 64;
    return is_small ? low + random_next(random) % (middle - low + 1)
                    : middle + random_next(random) % (high - middle + 1);
}

static uint64_t draw_life(const struct load_value *v, uint64_t *random)
{
    const uint64_t life = v[LIFE].number;
    if (v[LIVES].number == LIVES_SAME)
        return life;
    if (v[LIVES].number == LIVES_LOG)
        return draw_log(random, 1, life);
    const uint64_t u = (random_next(random) >> 32) + 1;
    const uint64_t ln2 = 45426;                      /* ln 2 in 2^-16 */
    return 1 + (log2_of_inverse(u) * ln2 >> FRACTION_BITS) * life / (UINT64_C(1) << FRACTION_BITS);
}

/* The stream and pool of a request: the first of each is the default one. */
static void draw_place(const struct load_value *v, uint64_t *random, struct planned_request *r)
{
    const uint64_t n_streams = v[STREAMS].number, n_pools = v[POOLS].number;
    const uint64_t a = random_next(random), b = random_next(random);
    r->stream = (uint16_t)(n_streams == 1 || a % 2 == 0 ? 0 : 1 + (a >> 8) % (n_streams - 1));
    r->pool = (uint8_t)(n_pools == 0 || b % 4 != 0 ? 0 : 1 + (b >> 8) % n_pools);
}

static enum err random_make(const struct load_request *request, struct trace_writer *w, struct err_detail *err)
{
    const struct load_value *v = request->values;
    uint64_t random = request->seed;
    if (v[LEAST].number > v[MOST].number)
        return err_set(err, ERR_USAGE, 0, "random: least is more than most");
    struct schedule *s;
    enum err e = schedule_open(w, &s, err);
    for (uint64_t i = 0; i < v[N].number && e == ERR_OK; i++) {
        const uint64_t phase = i * v[PHASES].number / v[N].number;
        const uint64_t phase_end = (phase + 1) * v[N].number / v[PHASES].number;
        if (v[PHASES].number > 1 && (i == 0 || (i - 1) * v[PHASES].number / v[N].number != phase)) {
            char label[32];
            snprintf(label, sizeof label, "phase %llu", (unsigned long long)phase + 1);
            e = schedule_mark(s, i, label, err);
        }
        struct planned_request r = {.birth = i, .bytes = draw_size(v, &random)};
        const uint64_t life = draw_life(v, &random);
        r.death = v[PHASES].number > 1 && life > phase_end - i ? phase_end : i + life;
        draw_place(v, &random, &r);
        if (e == ERR_OK)
            e = schedule_put(s, &r, err);
    }
    return schedule_close(s, e, v[N].number, err);
}

const struct load_kind load_random = {
    .name = "random",
    .typed = "random:...",
    .summary = "sizes and lives by distributions, over several streams, pools and phases",
    .options = random_options,
    .make = random_make,
};
