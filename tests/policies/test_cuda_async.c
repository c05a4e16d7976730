/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/* cuda-async answers as NVIDIA's driver did (tests/data, archive `driver`): addresses and reserved bytes. */
#include "policies/zoo/cuda_async.h"

#include "base/units.h"
#include "policies/spec.h"

#include <criterion/criterion.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { REQUESTS_MAX = 20000, STREAMS_MAX = 8 };

/* A pool on a card of its own. */
struct pool {
    struct device *device;
    struct policy_spec spec;
    struct policy *policy;
    struct block blocks[REQUESTS_MAX];       /* bytes 0: it is not there */
    uint64_t asked[REQUESTS_MAX];
    uint64_t first;                          /* where the range of addresses begins */
};

static uint64_t number(const json_t *array, size_t i)
{
    return (uint64_t)json_integer_value(json_array_get(array, i));
}

static struct pool *pool_open(const json_t *card_said, uint64_t threshold_bytes)
{
    static const struct pool_name shared_pool;
    static struct stream_name streams[STREAMS_MAX];
    struct err_detail err = {.text = ""};
    struct device_config card = device_defaults();
    char spec[128];
    struct pool *p = calloc(1, sizeof *p);
    cr_assert_not_null(p);
    card.total_bytes = (uint64_t)json_integer_value(json_object_get(card_said, "card_bytes"));
    card.others_bytes = card.total_bytes - (uint64_t)json_integer_value(json_object_get(card_said, "free_bytes"));
    snprintf(spec, sizeof spec, "cuda-async:threshold=%" PRIu64, threshold_bytes);
    cr_assert_eq(device_open(&device_sim, &card, &p->device, &err), ERR_OK, "%s", err.text);
    cr_assert_eq(policy_spec_parse(spec, &p->spec, &err), ERR_OK, "%s", err.text);
    const struct policy_config cfg = {.device = p->device, .values = p->spec.values, .streams = streams,
                                      .n_streams = STREAMS_MAX, .pools = &shared_pool, .n_pools = 1};
    cr_assert_eq(policy_create(p->spec.ops, &cfg, &p->policy, &err), ERR_OK, "%s", err.text);
    return p;
}

static void pool_close(struct pool *p)
{
    policy_destroy(p->policy);
    device_close(p->device);
    policy_spec_close(&p->spec);
    free(p);
}

/* ["alloc", id, bytes, stream]; the address less that of the first one, UINT64_MAX if it is refused. */
static uint64_t pool_alloc(struct pool *p, const json_t *op)
{
    const size_t id = number(op, 1);
    const struct event req = {.kind = EVENT_ALLOC, .bytes = number(op, 2), .stream = (uint16_t)number(op, 3)};
    cr_assert_lt(id, REQUESTS_MAX);
    p->asked[id] = req.bytes;
    const enum err e = p->policy->ops->alloc(p->policy, &req, &p->blocks[id]);
    if (e == ERR_DEVICE_OOM)
        return UINT64_MAX;
    cr_assert_eq(e, ERR_OK);
    if (p->first == 0)
        p->first = p->blocks[id].addr;
    return p->blocks[id].addr - p->first;
}

static void pool_free(struct pool *p, const json_t *op)
{
    const size_t id = number(op, 1);
    const struct event req = {.kind = EVENT_FREE, .bytes = p->asked[id], .stream = (uint16_t)number(op, 2)};
    if (p->blocks[id].bytes > 0)             /* it was not refused */
        p->policy->ops->free(p->policy, &req, &p->blocks[id]);
}

/* ["sync", stream], or all of them, as a recording tells it. */
static void pool_wait(struct pool *p, const json_t *op)
{
    const bool is_all = json_array_size(op) == 1;
    const uint16_t stream = is_all ? 0 : (uint16_t)number(op, 1);
    const struct control wait = {.kind = CONTROL_WAIT, .number = is_all, .stream = stream};
    struct err_detail err;
    cr_assert_eq(p->policy->ops->control(p->policy, &wait, NULL, &err), ERR_OK);
}

/* Plays one operation. False: an answer differs, and `said` tells how. */
static bool pool_step(struct pool *p, const json_t *op, const json_t *answer, char *said, size_t room)
{
    const char *name = json_string_value(json_array_get(op, 0));
    const bool is_alloc = strcmp(name, "alloc") == 0;
    uint64_t addr = 0;
    if (is_alloc)
        addr = pool_alloc(p, op);
    else if (strcmp(name, "free") == 0)
        pool_free(p, op);
    else if (strcmp(name, "sync") == 0)
        pool_wait(p, op);
    else if (strcmp(name, "trim") == 0)
        cuda_async_trim(p->policy, number(op, 1));
    else
        cr_assert_fail("no such operation: %s", name);
    const uint64_t reserved = p->device->usage.reserved_bytes;
    if (json_is_integer(answer)) {
        snprintf(said, room, "address %#" PRIx64 "; the driver refused", addr);
        return addr == UINT64_MAX;
    }
    snprintf(said, room, "address %#" PRIx64 ", reserved %" PRIu64 "; the driver: %#" PRIx64 ", %" PRIu64, addr,
             reserved, is_alloc ? number(answer, 0) : 0, number(answer, is_alloc));
    return reserved == number(answer, is_alloc) && (!is_alloc || addr == number(answer, 0));
}

/* The operations of a case until one differs. */
static void pool_play(const json_t *c, const json_t *card)
{
    const json_t *ops = json_object_get(c, "ops"), *answers = json_object_get(c, "answers");
    const json_t *threshold = json_object_get(c, "threshold");
    struct err_detail err = {.text = ""};
    const bool has_end = json_is_integer(threshold);                 /* null: all that is idle stays */
    struct pool *p = pool_open(card, has_end ? (uint64_t)json_integer_value(threshold) : UINT64_MAX / 4);
    const char *name = json_string_value(json_object_get(c, "name"));
    char said[256];
    bool is_equal = true;
    for (size_t i = 0; i < json_array_size(ops) && is_equal; i++) {
        is_equal = pool_step(p, json_array_get(ops, i), json_array_get(answers, i), said, sizeof said);
        cr_expect(is_equal, "%s, operation %zu of %zu: %s", name, i, json_array_size(ops), said);
        if (i % 8 == 0)
            cr_assert_eq(p->policy->ops->check(p->policy, &err), ERR_OK, "%s, operation %zu: %s", name, i, err.text);
    }
    pool_close(p);
}

/* Plays each case of a file: a line about the card, then a case in each line. */
static void play_file(const char *path, size_t n_least)
{
    FILE *f = fopen(path, "r");
    cr_assert_not_null(f, "%s", path);
    json_t *card = json_loadf(f, JSON_DISABLE_EOF_CHECK, NULL), *c;
    size_t n = 0;
    while ((c = json_loadf(f, JSON_DISABLE_EOF_CHECK, NULL)) != NULL) {
        pool_play(c, card);
        json_decref(c);
        n++;
    }
    cr_expect_geq(n, n_least, "%s has %zu cases", path, n);
    json_decref(card);
    fclose(f);
}

Test(cuda_async, answers_as_the_driver_did)
{
    play_file(GOLDEN_DIR "/driver/pools.jsonl", 380);
}
