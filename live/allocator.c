/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * libreplay-alloc.so: one of our policies as PyTorch's allocator, on the real card.
 *
 * torch.cuda.memory.CUDAPluggableAllocator opens this library and calls two of its functions (PyTorch,
 * torch/csrc/cuda/CUDAPluggableAllocator.h). At its first request each card gets a device `cuda` and a policy of its
 * own; REPLAY_POLICY names the policy, as after --policy. The code that decides here is the code that replays.
 */
#define _GNU_SOURCE                   /* dladdr */
#include "base/array.h"
#include "base/intern.h"
#include "base/units.h"
#include "policies/spec.h"

#include <dlfcn.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>

enum { LIVE_DEVICES_MAX = 64, LIVE_STREAMS_MAX = 1024 };

/* A request that is live, by slot. */
struct live_request {
    struct event event;
    struct block block;
    uint32_t next_vacant;            /* of a vacant slot: the slot vacated before it, + 1 */
};

/* A card in use. The names of streams are filled in as they appear: the policy looks only at those that its events
 * name. */
struct live_card {
    struct device *device;
    struct policy *policy;
    struct stream_name streams[LIVE_STREAMS_MAX];
    uint32_t n_streams;
    struct pair_map slots;           /* (address, 0) -> slot */
    struct live_request *requests;
    size_t   n_requests, room;
    uint32_t vacant;                 /* + 1; 0: none */
};

/* All state is here: PyTorch's interface passes none. */
static struct {
    pthread_mutex_t lock;
    bool is_started;
    bool is_forked;                              /* from a process that had a card in use; set in the child alone */
    bool is_broken[LIVE_DEVICES_MAX];            /* the card or the policy could not be opened; it is tried once */
    struct policy_spec spec;
    struct live_card *cards[LIVE_DEVICES_MAX];
} live = {.lock = PTHREAD_MUTEX_INITIALIZER};

__attribute__((visibility("default"))) void *replay_alloc(ssize_t size, int device, void *stream);
__attribute__((visibility("default"))) void replay_free(void *ptr, ssize_t size, int device, void *stream);

/* ---- a fork ---- */

/* CUDA does not survive a fork: the driver refuses a child everything once its parent has used a card. So a child
 * leaves the books alone. Another thread may have been in the middle of them, and its lock is then never given back:
 * nobody waits for it. To take it before the fork would not do: the driver may hold a lock of its own by then. */
static void live_forked(void)
{
    if (pthread_mutex_trylock(&live.lock) != 0) {
        live.is_forked = true;
        return;
    }
    for (size_t i = 0; i < LIVE_DEVICES_MAX; i++)
        live.is_forked |= live.cards[i] != NULL;
    pthread_mutex_unlock(&live.lock);
}

__attribute__((constructor)) static void live_loaded(void)
{
    pthread_atfork(NULL, NULL, live_forked);
}

/* ---- starting ---- */

/* Makes our symbols visible to plugins, which call the device's front functions: Python opened us for itself alone. */
static void live_become_visible(void)
{
    Dl_info info;
    if (dladdr(&live, &info) != 0)
        (void)dlopen(info.dli_fname, RTLD_NOW | RTLD_GLOBAL | RTLD_NOLOAD);
}

static enum err live_start(struct err_detail *err)
{
    const char *typed = getenv("REPLAY_POLICY");
    const char *text = typed == NULL || typed[0] == '\0' ? "pytorch" : typed;
    if (live.is_started)
        return ERR_OK;
    if (strchr(text, '/') != NULL)
        live_become_visible();
    const enum err e = policy_spec_parse(text, &live.spec, err);
    if (e == ERR_OK && (live.spec.ops->needs & POLICY_NEEDS_FUTURE) != 0) {
        policy_spec_close(&live.spec);
        return err_set(err, ERR_UNSUPPORTED, 0, "policy %s must know all requests in advance, and a live program "
                       "cannot tell them", text);
    }
    live.is_started = e == ERR_OK;
    return e;
}

static enum err live_open(struct live_card *c, int ordinal, struct err_detail *err)
{
    static const struct pool_name pool = {.id = {0, 0}};
    struct device_config cfg = device_defaults();
    cfg.ordinal = (unsigned)ordinal;
    enum err e = device_open(&device_cuda, &cfg, &c->device, err);
    if (e != ERR_OK)
        return e;
    const struct policy_config policy = {
        .device = c->device, .ordinal = (uint32_t)ordinal, .values = live.spec.values, .streams = c->streams,
        .n_streams = LIVE_STREAMS_MAX, .pools = &pool, .n_pools = 1};
    struct err_detail reason = {.text = ""};
    e = policy_create(live.spec.ops, &policy, &c->policy, &reason);
    return e == ERR_OK ? e : policy_spec_refuse(&live.spec, e, &reason, err);
}

/* The state of a card, opened at its first request. */
static enum err live_card(int ordinal, struct live_card **out, struct err_detail *err)
{
    if (ordinal < 0 || ordinal >= LIVE_DEVICES_MAX)
        return err_set(err, ERR_USAGE, 0, "there is no device %d", ordinal);
    if (live.is_broken[ordinal])
        return err_set(err, ERR_UNSUPPORTED, 0, "the allocator of device %d could not be started: see the message "
                       "above", ordinal);
    enum err e = live_start(err);
    if (e == ERR_OK && live.cards[ordinal] == NULL) {
        struct live_card *c = calloc(1, sizeof *c);
        e = c == NULL ? err_no_memory(err) : live_open(c, ordinal, err);
        if (e != ERR_OK && c != NULL)
            device_close(c->device);
        if (e != ERR_OK)
            free(c);
        else
            live.cards[ordinal] = c;
    }
    live.is_broken[ordinal] = e != ERR_OK;
    *out = live.cards[ordinal];
    return e;
}

/* ---- the end ---- */

/* X(member, key): the counters of a plan (plan.c), by their keys among those of the policy. */
#define LIVE_PLAN_STATS(X)                                                                                  \
    X(arena, "plan.bytes") X(live, "plan.live_bytes") X(served, "plan.served") X(unlike, "plan.unlike")     \
    X(in_use, "plan.in_use")

struct plan_figures {
#define LIVE_MEMBER(member, key) uint64_t member;
    LIVE_PLAN_STATS(LIVE_MEMBER)
#undef LIVE_MEMBER
    bool is_plan;
};

static void take_plan_stat(void *arg, const char *key, int64_t value)
{
    struct plan_figures *f = arg;
#define LIVE_TAKE(member, name) if (strcmp(key, name) == 0) f->member = (uint64_t)value;
    LIVE_PLAN_STATS(LIVE_TAKE)
#undef LIVE_TAKE
    f->is_plan |= strcmp(key, "plan.bytes") == 0;
}

/* How well a plan served the program: one line on standard error. Other policies say nothing. */
static void live_tell_plan(const struct live_card *c, size_t ordinal)
{
    struct plan_figures f = {.is_plan = false};
    char arena[UNITS_TEXT], live_text[UNITS_TEXT], peak[UNITS_TEXT], now[UNITS_TEXT];
    if (c->policy->ops->stats != NULL)
        c->policy->ops->stats(c->policy, take_plan_stat, &f);
    if (!f.is_plan)
        return;
    fprintf(stderr, "replay: plan on device %zu: %" PRIu64 " served by plan, %" PRIu64 " fell back (%" PRIu64
            " not as planned, %" PRIu64 " with their place in use). Arena %s; reserved at most %s, at the end %s; the "
            "planned requests need %s at least.\n", ordinal, f.served, f.unlike + f.in_use, f.unlike, f.in_use,
            units_format_bytes(f.arena, arena), units_format_bytes(c->device->usage.reserved_peak_bytes, peak),
            units_format_bytes(c->device->usage.reserved_bytes, now), units_format_bytes(f.live, live_text));
}

/* Another thread may still be at work, and then nothing is told. */
__attribute__((destructor)) static void live_unloaded(void)
{
    if (live.is_forked || pthread_mutex_trylock(&live.lock) != 0)
        return;
    for (size_t i = 0; i < LIVE_DEVICES_MAX; i++)
        if (live.cards[i] != NULL)
            live_tell_plan(live.cards[i], i);
    pthread_mutex_unlock(&live.lock);
}

/* ---- requests ---- */

/* The dense number of a stream; the default stream is 0. */
static enum err live_stream(struct live_card *c, uint64_t handle, uint16_t *out, struct err_detail *err)
{
    if (c->n_streams == 0)
        c->n_streams = 1;
    for (uint32_t i = 0; i < c->n_streams; i++)
        if (c->streams[i].handle == handle) {
            *out = (uint16_t)i;
            return ERR_OK;
        }
    if (c->n_streams == LIVE_STREAMS_MAX)
        return err_set(err, ERR_UNSUPPORTED, 0, "more than %d streams", LIVE_STREAMS_MAX);
    c->streams[c->n_streams] = (struct stream_name){.handle = handle, .number = c->n_streams};
    *out = (uint16_t)c->n_streams++;
    return ERR_OK;
}

/* A vacant slot, which stays vacant until its request is placed. */
static enum err live_slot(struct live_card *c, uint32_t *out, struct err_detail *err)
{
    if (c->vacant == 0) {
        struct live_request *grown = array_grow(c->requests, c->n_requests, &c->room, sizeof *grown);
        if (grown == NULL)
            return err_no_memory(err);
        c->requests = grown;
        c->requests[c->n_requests].next_vacant = 0;
        c->vacant = (uint32_t)++c->n_requests;
    }
    *out = c->vacant - 1;
    return ERR_OK;
}

/* What PyTorch's own allocator would have told the program. A policy that has no words for it gets ours. */
static void live_describe_refusal(const struct live_card *c, uint64_t bytes, struct refusal *out)
{
    char text[UNITS_TEXT];
    uint64_t start_bytes;
    if (policy_is_refused(c->policy, &start_bytes))
        snprintf(out->text, sizeof out->text, "CUDA out of memory. %s: the card has no room for the %s that it takes "
                 "at its start", live.spec.typed, units_format_bytes(start_bytes, text));
    else if (c->policy->ops->refusal != NULL)
        c->policy->ops->refusal(c->policy, out);
    else
        snprintf(out->text, sizeof out->text, "CUDA out of memory. %s: no memory on the card for a request of %s",
                 c->policy->ops->name, units_format_bytes(bytes, text));
}

static enum err live_alloc(struct live_card *c, uint64_t bytes, uint64_t stream, uint64_t *addr,
                           struct refusal *refusal, struct err_detail *err)
{
    struct event event = {.bytes = bytes, .kind = EVENT_ALLOC};
    struct block block;
    enum err e = live_stream(c, stream, &event.stream, err);
    if (e == ERR_OK)
        e = live_slot(c, &event.slot, err);
    if (e == ERR_OK)
        e = c->policy->ops->alloc(c->policy, &event, &block);
    if (e == ERR_DEVICE_OOM)
        live_describe_refusal(c, bytes, refusal);
    if (e != ERR_OK)
        return e;
    if (!pair_map_add(&c->slots, block.addr, 0, event.slot)) {
        c->policy->ops->free(c->policy, &event, &block);
        return err_no_memory(err);
    }
    struct live_request *r = &c->requests[event.slot];
    c->vacant = r->next_vacant;
    *r = (struct live_request){.event = event, .block = block};
    *addr = block.addr;
    return ERR_OK;
}

static void live_free(struct live_card *c, uint64_t addr)
{
    const uint32_t *slot = pair_map_find(&c->slots, addr, 0);
    if (slot == NULL)
        return;
    const uint32_t vacated = *slot;
    struct live_request *r = &c->requests[vacated];
    r->event.kind = EVENT_FREE;
    pair_map_remove(&c->slots, addr, 0);
    c->policy->ops->free(c->policy, &r->event, &r->block);
    r->next_vacant = c->vacant;
    c->vacant = vacated + 1;
}

/* Throws std::runtime_error in a program of PyTorch, and returns in any other. PyTorch calls us from C++, passes
 * exceptions on as Python's RuntimeError, and takes NULL for memory. It is known by its library. */
static void live_throw(const char *text)
{
    void (*throw_runtime_error)(const char *) = NULL;
    void *torch = dlopen("libc10.so", RTLD_LAZY | RTLD_NOLOAD);
    void *cxx = torch == NULL ? NULL : dlopen("libstdc++.so.6", RTLD_LAZY | RTLD_NOLOAD);
    void *symbol = cxx == NULL ? NULL : dlsym(cxx, "_ZSt21__throw_runtime_errorPKc");
    if (torch != NULL)
        dlclose(torch);
    if (cxx != NULL)
        dlclose(cxx);
    memcpy(&throw_runtime_error, &symbol, sizeof symbol);
    if (throw_runtime_error != NULL)
        throw_runtime_error(text);
}

static enum err live_alloc_locked(int device, uint64_t bytes, uint64_t stream, uint64_t *addr, struct refusal *refusal,
                                  struct err_detail *err)
{
    struct live_card *c = NULL;
    pthread_mutex_lock(&live.lock);
    enum err e = live_card(device, &c, err);
    if (e == ERR_OK)
        e = live_alloc(c, bytes, stream, addr, refusal, err);
    pthread_mutex_unlock(&live.lock);
    return e;
}

/* No memory is a RuntimeError under PyTorch; elsewhere a sentence on standard error, and NULL. */
void *replay_alloc(ssize_t size, int device, void *stream)
{
    struct err_detail err = {.text = ""};
    struct refusal refusal = {.text = ""};
    uint64_t addr = 0;
    enum err e = ERR_OK;
    if (size <= 0)
        return NULL;
    if (live.is_forked)
        e = err_set(&err, ERR_UNSUPPORTED, 0, "this process was forked from one that uses a card, and CUDA allows it "
                    "none: start it anew (in Python: multiprocessing's method 'spawn')");
    else
        e = live_alloc_locked(device, (uint64_t)size, (uint64_t)(uintptr_t)stream, &addr, &refusal, &err);
    if (e == ERR_OK)
        return (void *)(uintptr_t)addr;
    const char *text = refusal.text[0] != '\0' ? refusal.text : err.text[0] != '\0' ? err.text : err_text(e);
    live_throw(text);
    fprintf(stderr, "replay: replay_alloc: %s\n", text);
    return NULL;
}

void replay_free(void *ptr, ssize_t size, int device, void *stream)
{
    (void)size;
    (void)stream;
    if (live.is_forked)
        return;
    pthread_mutex_lock(&live.lock);
    if (device >= 0 && device < LIVE_DEVICES_MAX && live.cards[device] != NULL && ptr != NULL)
        live_free(live.cards[device], (uint64_t)(uintptr_t)ptr);
    pthread_mutex_unlock(&live.lock);
}
