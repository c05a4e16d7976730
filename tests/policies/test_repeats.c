/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * Whether policies are right about runs that cannot differ: random programs under random pairs of settings and cards.
 * If one run is said to repeat another, it runs as well, and must do exactly the same.
 *
 * The seeds are fixed and part of every message. REPLAY_LONG_TESTS in the environment makes the run a hundred times as
 * long.
 */
#include "base/units.h"
#include "policies/spec.h"
#include "sim/device.h"
#include "tests/drawn_options.h"
#include "tests/random_draws.h"

#include <criterion/criterion.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SLOTS = 96, STEPS = 400, STREAMS = 2, POOLS = 3, PAIRS = 20000, SPEC = 512, REMARKS = 4096 };

/* ---- configurations ---- */

/* The cards, as the texts of numbers: a number for each of these. */
#define CHOICES(X)                                                                                          \
    X(TOTAL, "18446744073709551615", "8589934592", "2147483648", "1073741824", "536870912", "100663296")    \
    X(TAKEN, "0", "0", "0", "52428800", "536870912")                                                        \
    X(NS, "1000", "1000", "1000", "2000")

enum choice {
#define CHOICE(name, ...) CHOICE_##name,
    CHOICES(CHOICE)
#undef CHOICE
    N_CHOICES
};

static const char *const choices[N_CHOICES][10] = {
#define CHOICE(name, ...) {__VA_ARGS__},
    CHOICES(CHOICE)
#undef CHOICE
};

/* A policy, its options and a card. given[i]: option i is not given, or which of its drawn values it has, from 1 on. */
struct configuration {
    const struct policy_ops *ops;
    size_t   given[POLICY_OPTIONS_MAX];
    unsigned chosen[N_CHOICES];
};

static void choose(struct configuration *c, unsigned at, uint64_t *random)
{
    unsigned n = 0;
    while (choices[at][n] != NULL)
        n++;
    c->chosen[at] = (unsigned)random_below(random, n);
}

static void choose_option(struct configuration *c, size_t option, uint64_t *random)
{
    const struct drawn_values v = drawn_values_of(c->ops, &c->ops->options[option]);
    c->given[option] = random_one_in(random, 3) ? 1 + random_below(random, v.n) : 0;
}

/* Of the policies that say what repeats, each as often as it has options. */
static const struct policy_ops *choose_policy(uint64_t *random)
{
    size_t n = 0;
    for (size_t i = 0; policy_at(i) != NULL; i++)
        n += policy_at(i)->repeats != NULL ? 1 + drawn_options_of(policy_at(i)) : 0;
    size_t left = random_below(random, n);
    for (size_t i = 0;; i++) {
        const struct policy_ops *ops = policy_at(i);
        const size_t share = ops->repeats != NULL ? 1 + drawn_options_of(ops) : 0;
        if (left < share)
            return ops;
        left -= share;
    }
}

static struct configuration choose_all(uint64_t *random)
{
    struct configuration c = {.ops = choose_policy(random)};
    for (size_t i = 0; i < drawn_options_of(c.ops); i++)
        choose_option(&c, i, random);
    for (unsigned i = 0; i < N_CHOICES; i++)
        choose(&c, i, random);
    return c;
}

/* The same with some of it chosen anew. */
static struct configuration choose_near(const struct configuration *a, uint64_t *random)
{
    struct configuration c = *a;
    for (size_t i = 0; i < drawn_options_of(c.ops); i++)
        if (random_one_in(random, 5))
            choose_option(&c, i, random);
    for (unsigned i = 0; i < N_CHOICES; i++)
        if (random_one_in(random, i == CHOICE_NS ? 10 : 3))
            choose(&c, i, random);
    return c;
}

static const char *text_of(const struct configuration *c, enum choice at)
{
    return choices[at][c->chosen[at]];
}

static uint64_t number_of(const struct configuration *c, enum choice at)
{
    return strtoull(text_of(c, at), NULL, 10);
}

static void spec_of(const struct configuration *c, char spec[SPEC])
{
    size_t n = (size_t)snprintf(spec, SPEC, "%s", c->ops->name);
    char between = ':';
    for (size_t i = 0; i < drawn_options_of(c->ops); i++) {
        if (c->given[i] == 0)
            continue;
        const struct policy_option *o = &c->ops->options[i];
        const struct drawn_values v = drawn_values_of(c->ops, o);
        n += (size_t)snprintf(spec + n, SPEC - n, "%c%s=%s", between, o->name, v.text[c->given[i] - 1]);
        between = ',';
    }
}

/* ---- one run ---- */

/* Everything observed of a run goes into `digest`. */
struct run {
    struct device     *device;
    struct policy_spec spec;
    struct policy     *policy;
    struct policy_observer observer;
    struct device_log  log;
    struct block       live[SLOTS];
    uint64_t           requested[SLOTS];
    bool               is_pending[SLOTS];
    uint64_t           digest, n_refused, n_calls;
    bool               has_failed;           /* in a way other than lack of memory */
};

static const struct stream_name streams[STREAMS] = {{0, 0}, {64, 3}};
static const struct pool_name pools[POOLS] = {{{0, 0}}, {{0, 1}}, {{7, 0}}};

static void note(struct run *r, uint64_t value)
{
    r->digest = (r->digest ^ value) * UINT64_C(1099511628211);
}

static void note_text(struct run *r, const char *text)
{
    for (; *text != '\0'; text++)
        note(r, (uint64_t)(unsigned char)*text);
}

static void note_record(void *arg, const struct policy_record *record)
{
    note(arg, record->action);
    note(arg, record->stream);
    note(arg, record->addr);
    note(arg, record->bytes);
}

static void note_call(void *arg, const struct device_call *c)
{
    struct run *r = arg;
    r->n_calls++;
    note(r, c->kind);
    note(r, c->bytes);
    note(r, c->addr);
    note(r, c->offset);
}

static void note_completed(void *arg, uint32_t slot)
{
    struct run *r = arg;
    note(r, slot);
    r->live[slot].bytes = 0;
}

/* The key is the run's own setting. */
static void note_stat(void *arg, const char *key, int64_t value)
{
    if (strcmp(key, "max_split_size") != 0)
        note(arg, (uint64_t)value);
}

/* False where there is no such policy. */
static bool run_open(struct run *r, const struct configuration *c, uint32_t peak_live)
{
    char spec[SPEC];
    struct err_detail err = {.text = ""};
    struct device_config device = device_defaults();
    memset(r, 0, sizeof *r);
    spec_of(c, spec);
    device.total_bytes = number_of(c, CHOICE_TOTAL);
    device.context_bytes = number_of(c, CHOICE_TAKEN) / 2;
    device.others_bytes = number_of(c, CHOICE_TAKEN) - device.context_bytes;
    device.alloc_ns = number_of(c, CHOICE_NS);
    cr_assert_eq(policy_spec_parse(spec, &r->spec, &err), ERR_OK, "%s: %s", spec, err.text);
    cr_assert_eq(device_open(&device_sim, &device, &r->device, &err), ERR_OK, "%s", err.text);
    const struct policy_config config = {
        .device = r->device, .peak_live = peak_live, .values = r->spec.values,
        .streams = streams,  .n_streams = STREAMS,   .pools = pools, .n_pools = POOLS,
    };
    r->observer = (struct policy_observer){.record = note_record, .completed = note_completed, .arg = r};
    r->log = (struct device_log){.call = note_call, .arg = r};
    r->device->log = &r->log;
    if (policy_create(r->spec.ops, &config, &r->policy, &err) != ERR_OK)
        return false;
    r->policy->observer = &r->observer;
    return true;
}

static void run_close(struct run *r)
{
    policy_destroy(r->policy);
    device_close(r->device);
    policy_spec_close(&r->spec);
}

static void run_alloc(struct run *r, const struct event *ev)
{
    struct refusal refusal = {.type = ""};
    struct block *b = &r->live[ev->slot];
    const enum err e = r->policy->ops->alloc(r->policy, ev, b);
    note(r, e);
    if (e == ERR_OK) {
        note(r, b->addr);
        note(r, b->bytes);
        r->requested[ev->slot] = ev->bytes;
        return;
    }
    b->bytes = 0;
    r->n_refused++;
    r->has_failed |= e != ERR_DEVICE_OOM;
    r->policy->ops->refusal(r->policy, &refusal);
    note_text(r, refusal.text);
}

static void run_free(struct run *r, struct event *ev, bool is_late)
{
    const struct block b = r->live[ev->slot];
    ev->bytes = r->requested[ev->slot];
    if (is_late && !r->is_pending[ev->slot] && r->policy->ops->retire != NULL) {
        r->is_pending[ev->slot] = true;
        r->policy->ops->retire(r->policy, ev, &b);
        return;
    }
    r->live[ev->slot].bytes = 0;
    r->is_pending[ev->slot] = false;
    r->policy->ops->free(r->policy, ev, &b);
}

static void run_control(struct run *r, const struct control *c)
{
    struct err_detail err = {.text = ""};
    if (r->policy->ops->control != NULL)
        note(r, r->policy->ops->control(r->policy, c, NULL, &err));
    note_text(r, err.text);
}

/* What a program has apart from its requests. */
struct habits {
    unsigned bits;                       /* of its largest requests */
    bool has_settings, has_fractions, has_pools;
};

static void run_step(struct run *r, const struct habits *h, uint64_t *random)
{
    const uint32_t slot = (uint32_t)random_below(random, SLOTS);
    const unsigned bits = h->bits < 16 ? h->bits : (unsigned)(h->bits - random_below(random, 8));
    struct event ev = {.kind = EVENT_ALLOC, .slot = slot, .bytes = 1 + random_below(random, UINT64_C(1) << bits),
                       .stream = (uint16_t)random_one_in(random, 4)};
    const bool is_late = random_one_in(random, 6);
    ev.pool = h->has_pools && random_one_in(random, 5) ? (uint8_t)(1 + random_below(random, POOLS - 1)) : 0;
    if (r->live[slot].bytes == 0) {
        r->is_pending[slot] = false;
        run_alloc(r, &ev);
    } else {
        run_free(r, &ev, is_late);
    }
    if (random_one_in(random, 150))
        r->policy->ops->flush != NULL ? r->policy->ops->flush(r->policy, POLICY_ALL_STREAMS) : (void)0;
    if (random_one_in(random, 200))
        run_control(r, &(struct control){.kind = CONTROL_RESET_PEAK});
    if (random_one_in(random, 200))
        run_control(r, &(struct control){.kind = CONTROL_RESET_ACCUMULATED});
    if (h->has_settings && random_one_in(random, 100))
        run_control(r, &(struct control){.kind = CONTROL_SETTINGS, .text = "max_split_size_mb:24"});
    if (h->has_fractions && random_one_in(random, 100))
        run_control(r, &(struct control){.kind = CONTROL_FRACTION, .number = 0.3});
}

static void run_program(struct run *r, uint64_t seed)
{
    uint64_t random = seed;
    struct habits h = {.bits = 10 + (unsigned)random_below(&random, 18),
                       .has_settings = random_one_in(&random, 12), .has_fractions = random_one_in(&random, 12),
                       .has_pools = random_one_in(&random, 3)};
    h.has_pools = h.has_pools && strncmp(r->spec.typed, "none", 4) != 0;
    for (uint8_t i = 1; i < POOLS && h.has_pools; i++)
        run_control(r, &(struct control){.kind = CONTROL_POOL_CREATE, .pool = i,
                                         .flags = i == 1 ? POOL_USE_ON_OOM : 0});
    for (unsigned i = 0; i < STEPS; i++)
        run_step(r, &h, &random);
    if (r->policy->ops->stats != NULL)
        r->policy->ops->stats(r->policy, note_stat, r);
}

/* ---- pairs ---- */

static void append_remark(void *arg, enum remark_kind kind, const char *sentence)
{
    char *text = arg;
    const size_t n = strlen(text);
    snprintf(text + n, REMARKS - n, "%d %s\n", (int)kind, sentence);
}

static void remarks_of(const struct run *r, char text[REMARKS])
{
    text[0] = '\0';
    r->policy->ops->remarks(r->policy, append_remark, text);
}

/* As the engine asks. */
static bool is_said_to_repeat(const struct run *done, const struct run *fresh)
{
    const struct policy_ops *ops = done->policy->ops;
    return ops == fresh->policy->ops && policy_spec_agrees(&done->spec, &fresh->spec) &&
           (done->n_refused == 0 || device_is_as_large(done->device, fresh->device)) &&
           device_repeats(done->device, fresh->device) && ops->repeats(done->policy, fresh->policy);
}

/* Pairs; those that might repeat before the first of them had run, those that did then; of these, those with refusals,
 * and how often what differed: the options of `pytorch`, and the card. */
struct tally {
    uint64_t pairs, before, after, refused;
    uint64_t by_option[POLICY_OPTIONS_MAX], by_choice[N_CHOICES];
};

static void tally_differences(struct tally *t, const struct configuration *a, const struct configuration *b)
{
    for (size_t i = 0; i < POLICY_OPTIONS_MAX; i++) {
        const bool is_other = a->given[i] != b->given[i];
        cr_expect(!is_other || (a->ops->compared >> i & 1) != 0, "%s repeats in spite of another %s", a->ops->name,
                  a->ops->options[i].name);
        t->by_option[i] += is_other && strcmp(a->ops->name, "pytorch") == 0;
    }
    for (unsigned i = 0; i < N_CHOICES; i++)
        t->by_choice[i] += strcmp(text_of(a, i), text_of(b, i)) != 0;
}

static void expect_same(const struct run *done, struct run *fresh, uint64_t seed)
{
    char before[REMARKS], after[REMARKS];
    remarks_of(fresh, before);
    run_program(fresh, seed);
    remarks_of(fresh, after);
    const struct device_usage *a = &done->device->usage, *b = &fresh->device->usage;
    cr_assert_eq(done->n_calls, fresh->n_calls, "seed %" PRIu64 ": '%s' and '%s' call the device %" PRIu64 " and %"
                 PRIu64 " times", seed, done->spec.typed, fresh->spec.typed, done->n_calls, fresh->n_calls);
    cr_assert_eq(done->digest, fresh->digest, "seed %" PRIu64 ": '%s' and '%s' decide differently", seed,
                 done->spec.typed, fresh->spec.typed);
    cr_assert(memcmp(a, b, sizeof *a) == 0, "seed %" PRIu64 ": '%s' and '%s' use the device differently", seed,
              done->spec.typed, fresh->spec.typed);
    cr_assert(memcmp(&done->policy->count, &fresh->policy->count, sizeof fresh->policy->count) == 0,
              "seed %" PRIu64 ": '%s' and '%s' count differently", seed, done->spec.typed, fresh->spec.typed);
    cr_assert_str_eq(before, after, "seed %" PRIu64 ": '%s' remarks otherwise once it has run", seed,
                     fresh->spec.typed);
}

static void try_pair(uint64_t seed, struct tally *t)
{
    uint64_t random = seed;
    const struct configuration a = choose_all(&random), b = choose_near(&a, &random);
    struct run done, fresh;
    const bool is_open = run_open(&done, &a, SLOTS);
    if (run_open(&fresh, &b, 0) && is_open) {
        const bool before = is_said_to_repeat(&done, &fresh);
        run_program(&done, seed);
        const bool after = !done.has_failed && is_said_to_repeat(&done, &fresh);
        cr_assert(before || !after, "seed %" PRIu64 ": '%s' was not asked for", seed, fresh.spec.typed);
        t->pairs++;
        t->before += before;
        t->after += after;
        t->refused += after && done.n_refused > 0;
        if (after) {
            tally_differences(t, &a, &b);
            expect_same(&done, &fresh, seed);
        }
    }
    run_close(&done);
    run_close(&fresh);
}

Test(repeats, what_is_said_to_repeat_does)
{
    struct tally t = {.pairs = 0};
    const uint64_t n = getenv("REPLAY_LONG_TESTS") != NULL ? 100 * PAIRS : PAIRS;
    for (uint64_t seed = 1; seed <= n; seed++)
        try_pair(seed, &t);
    printf("%" PRIu64 " pairs, %" PRIu64 " may repeat, %" PRIu64 " do, %" PRIu64 " of them with refusals; different "
           "in", t.pairs, t.before, t.after, t.refused);
    static const char *const bounds[] = {"max-split", "non-split-rounding", "gc", "fraction", "throw", "limit-device"};
    const struct policy_option *options = policy_find("pytorch")->options;
    for (size_t i = 0; options[i].name != NULL; i++) {
        printf(" %s:%" PRIu64, options[i].name, t.by_option[i]);
        for (size_t k = 0; k < sizeof bounds / sizeof bounds[0]; k++)
            cr_expect(strcmp(bounds[k], options[i].name) != 0 || t.by_option[i] > PAIRS / 400,
                      "hardly any pair is alike that differs in %s", bounds[k]);
    }
    printf(" TOTAL:%" PRIu64 " TAKEN:%" PRIu64 "\n", t.by_choice[CHOICE_TOTAL], t.by_choice[CHOICE_TAKEN]);
    cr_expect_gt(t.by_choice[CHOICE_TOTAL], PAIRS / 400, "hardly any pair is alike that differs in the card's size");
    cr_expect_gt(t.by_choice[CHOICE_TAKEN], PAIRS / 400, "hardly any pair is alike that differs in what is taken");
    cr_expect_lt(t.after, t.before, "no bound was ever met: what a run does plays no part in what is said");
    cr_expect_gt(t.refused, 0);
    cr_expect_eq(t.by_choice[CHOICE_NS], 0);
}
