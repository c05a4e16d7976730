/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * A rig holds one policy on one simulated device, without a trace: what the tests of policies drive by hand.
 */
#ifndef REPLAY_TESTS_RIG_H
#define REPLAY_TESTS_RIG_H

#include "base/units.h"
#include "policies/spec.h"
#include "sim/device.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

enum { RIG_SLOTS = 256, RIG_STREAMS = 3, RIG_SPEC_MAX = 128 };

struct rig_config {
    const char *policy;                     /* as typed after --policy */
    uint64_t    total_bytes;                /* 0: unlimited */
    uint64_t    fail_from_call;             /* 0: never */
    uint64_t    seed;
    bool        rises;                      /* newer segments lie above older ones; otherwise as Linux's driver does */
};

struct rig {
    struct device     *device;
    struct policy_spec spec;
    struct policy     *policy;
    struct stream_name streams[RIG_STREAMS];
    struct pool_name   pool;
};

/* Settings that are neither a built-in's name nor a preset. */
static const char *const rig_more_specs[] = {
    "pytorch:expandable",
    "pytorch:version=2.0",
    "pytorch:version=2.12",
    "max_split_size_mb:32,garbage_collection_threshold:0.5,per_process_memory_fraction:0.9",
    "expandable_segments:True,max_split_size_mb:64,roundup_power2_divisions:[64:8,256:2,>:1]",
    "ort:extend=next-power-of-two",
    "tf-bfc:gc=off,coalesce-regions",
    "tf-bfc:frag-fraction=0.01,limit=4TiB",
    "tf-bfc:growth=off,gc=off,limit=4TiB",
    "mxnet:type=round",
    "mxnet:type=unpooled",
    "paddle:small-pool=1MiB,small-chunk=10MiB,large-chunk=128MiB,free-idle",
    "torch-host:reserve-segment=64MiB,round-threshold=4MiB,cached-size=32MiB",
    "rmm-pool:maximum=4TiB",
    "rmm-binning:min-exp=8,max-exp=18,upstream=[rmm-pool]",
    "rmm-limiting:limit=4TiB,upstream=[cupy:upstream=[rmm-pool:initial=16MiB]]",
    "cupy:limit=4TiB",
    "cuda-async:reuse=same,threshold=64MiB,sync-every=50",
    "next-fit:chunk=0",
    "gmlake:frag-limit=0,auto-gc=256MiB",
    "gmlake:frag-limit=0,defrag-level=1,fill=off,reuse-limit=2",
    "mlx:cache-limit=64MiB,page=4KiB",
    "mps:low=0,align=16KiB",
    "mps:low=64MiB,high=4TiB",
};

/* How a built-in takes part where its defaults do not suit: on a card without an end, and on any card. */
static const struct {
    const char *name, *unlimited, *limited;
} rig_suited_specs[] = {
    {"rmm-arena", "rmm-arena:size=4TiB", "rmm-arena"},              /* takes half of the card */
    {"rmm-fixed", "rmm-fixed:block=40MiB,count=1", "rmm-fixed:block=40MiB,count=1"},        /* has a largest request */
    {"ort", "ort:extend=same-as-requested", "ort:extend=same-as-requested"},   /* else a flush keeps the first region */
};

/* Whether a policy still holds memory after a flush with nothing live. */
static inline bool rig_keeps_memory(const char *spec)
{
    static const char *const words[] = {"rmm-", "tf-bfc", "jax-start", "ort:extend=next-power-of-two",
                                        "reserve-segment"};
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
        if (strstr(spec, words[i]) != NULL)
            return true;
    return false;
}

static inline const char *rig_suited_spec(const char *spec, uint64_t total_bytes)
{
    for (size_t i = 0; i < sizeof rig_suited_specs / sizeof rig_suited_specs[0]; i++)
        if (strcmp(rig_suited_specs[i].name, spec) == 0)
            return total_bytes == 0 ? rig_suited_specs[i].unlimited : rig_suited_specs[i].limited;
    return spec;
}

/* The n-th spec of all: every built-in, every preset (X filled in), and the settings above. False behind the last. */
static inline bool rig_spec_at(size_t n, char spec[RIG_SPEC_MAX])
{
    for (size_t i = 0; policy_at(i) != NULL; i++)
        if (n-- == 0) {
            snprintf(spec, RIG_SPEC_MAX, "%s", policy_at(i)->name);
            return true;
        }
    for (size_t i = 0; policy_preset_at(i) != NULL; i++)    /* those of variables are tf-bfc, cuda-async and none */
        if (policy_preset_at(i)->variables == NULL && n-- == 0) {
            const char *name = policy_preset_at(i)->name;
            const size_t n_name = strcspn(name, "=");
            const bool is_share = strncmp(name, "gc", n_name) == 0 || strncmp(name, "jax-start", n_name) == 0;
            const char *value = is_share ? "0.8" : "4";
            snprintf(spec, RIG_SPEC_MAX, "%.*s%s%s", (int)n_name, name, name[n_name] == '=' ? "=" : "",
                     name[n_name] == '=' ? value : "");
            return true;
        }
    if (n >= sizeof rig_more_specs / sizeof rig_more_specs[0])
        return false;
    snprintf(spec, RIG_SPEC_MAX, "%s", rig_more_specs[n]);
    return true;
}

static inline void rig_open(struct rig *r, const struct rig_config *cfg)
{
    struct err_detail err = {.text = ""};
    struct device_config device = device_defaults();
    memset(r, 0, sizeof *r);
    for (uint32_t i = 0; i < RIG_STREAMS; i++)          /* numbers as PyTorch gives them from 2.4 on */
        r->streams[i] = (struct stream_name){.handle = (uint64_t)i * 64, .number = i == 0 ? 0 : (i - 1) * 32 + 3};
    device.total_bytes = cfg->total_bytes != 0 ? cfg->total_bytes : DEVICE_UNLIMITED;
    device.fail_from_call = cfg->fail_from_call;
    device.addresses = cfg->rises ? ADDRESSES_RISING : device.addresses;
    const char *suited = rig_suited_spec(cfg->policy, cfg->total_bytes);
    cr_assert_eq(policy_spec_parse(suited, &r->spec, &err), ERR_OK, "%s", err.text);
    cr_assert_eq(device_open(&device_sim, &device, &r->device, &err), ERR_OK, "%s", err.text);
    const struct policy_config config = {
        .device = r->device,     .peak_live = RIG_SLOTS,     .seed = cfg->seed,  .values = r->spec.values,
        .streams = r->streams,   .n_streams = RIG_STREAMS,   .pools = &r->pool,  .n_pools = 1,
    };
    cr_assert_eq(policy_create(r->spec.ops, &config, &r->policy, &err), ERR_OK, "%s", err.text);
}

static inline void rig_close(struct rig *r)
{
    policy_destroy(r->policy);
    device_close(r->device);
    policy_spec_close(&r->spec);
}

static inline enum err rig_alloc(struct rig *r, uint32_t slot, uint16_t stream, uint64_t bytes, struct block *out)
{
    const struct event req = {.kind = EVENT_ALLOC, .slot = slot, .stream = stream, .bytes = bytes};
    return r->policy->ops->alloc(r->policy, &req, out);
}

/* FREE, FREE_REQUESTED or FREE_COMPLETED, as the engine hands them on. */
static inline void rig_free(struct rig *r, enum event_kind kind, uint32_t slot, uint16_t stream, uint64_t bytes,
                            const struct block *b)
{
    const struct event req = {.kind = (uint8_t)kind, .slot = slot, .stream = stream, .bytes = bytes};
    if (kind != EVENT_FREE_REQUESTED)
        r->policy->ops->free(r->policy, &req, b);
    else if (r->policy->ops->retire != NULL)
        r->policy->ops->retire(r->policy, &req, b);
}

static inline void rig_flush(struct rig *r)
{
    if (r->policy->ops->flush != NULL)
        r->policy->ops->flush(r->policy, POLICY_ALL_STREAMS);
}

/* Every invariant that the policy knows of holds. */
static inline void rig_check(const struct rig *r)
{
    struct err_detail err = {.text = ""};
    if (r->policy->ops->check != NULL)
        cr_assert_eq(r->policy->ops->check(r->policy, &err), ERR_OK, "%s", err.text);
}

#endif
