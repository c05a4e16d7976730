/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * A real card: segments by cudaMalloc and cudaFree, ranges by the driver's virtual memory calls.
 *
 * The front functions keep capacity and accounts, as for a simulated device. This file passes each call on, times it,
 * and remembers what it obtained, so that everything can be given back at any moment. If the driver lacks memory, the
 * call ends in ERR_DEVICE_OOM. Any other failure of a call that gives memory back is kept in `failure`, and growing
 * calls then report it and ask for nothing more.
 */
#include "base/array.h"
#include "base/units.h"
#include "sim/cuda_api.h"
#include "sim/cuda_card.h"
#include "sim/device.h"
#include "sim/device_measured.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

struct cuda_mapping {
    uint64_t addr, bytes;
};

struct cuda {
    struct device          base;             /* first, so the two pointers convert */
    struct cuda_api        own;              /* if no test brought functions of its own */
    const struct cuda_api *api;
    struct cuda_card       card;
    struct device_measured measured;
    uint64_t              *phys;             /* the driver's handle, by our number less 1; 0: freed */
    size_t                 n_phys, cap_phys;
    struct cuda_mapping   *mapped;           /* by address */
    size_t                 n_mapped, cap_mapped;
    bool                   is_ending;        /* what is given back now is not the policy's doing */
};

/* ---- calls ---- */

static uint64_t cuda_now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

/* Notes how long a call that began at `since_ns` took; returns its result. */
static int cuda_timed(struct cuda *c, enum measured_call kind, uint64_t since_ns, int result)
{
    const uint64_t took_ns = cuda_now_ns() - since_ns;
    if (!c->is_ending)
        call_times_add(&c->measured.calls[result == CUDA_OUT_OF_MEMORY ? MEASURED_REFUSED : kind], took_ns);
    return result;
}

static enum err cuda_fail(struct cuda *c, const char *what, uint64_t bytes, int result)
{
    char text[64], size[UNITS_TEXT];
    return err_set(&c->base.err, ERR_DRIVER, 0, "cuda:%u: %s of %s failed: %s", c->base.cfg.ordinal, what,
                   units_format_bytes(bytes, size), cuda_result_text(c->api, result, text));
}

/* The error that a growing call's result means. */
static enum err cuda_judge(struct cuda *c, const char *what, uint64_t bytes, int result)
{
    uint64_t total;
    if (result == CUDA_DONE)
        return ERR_OK;
    if (result != CUDA_OUT_OF_MEMORY)
        return cuda_fail(c, what, bytes, result);
    if (c->api->cudaGetLastError != NULL)
        (void)c->api->cudaGetLastError();    /* clears it: the runtime keeps an error until it is asked */
    if (c->measured.refusals++ == 0)
        cuda_card_memory(&c->card, &c->measured.refused_free_bytes, &total);
    return ERR_DEVICE_OOM;
}

/* A call that gives something back cannot be refused, so the next growing call reports its failure. */
static void cuda_expect(struct cuda *c, const char *what, uint64_t bytes, int result)
{
    if (result != CUDA_DONE && c->base.failure == ERR_OK)
        c->base.failure = cuda_fail(c, what, bytes, result);
}

/* Whether a growing call may go ahead. Makes the context current, whatever thread calls. */
static enum err cuda_enter(struct cuda *c)
{
    struct device *dev = &c->base;
    if (dev->failure != ERR_OK)
        return dev->failure;
    if (dev->cfg.interrupted != NULL && *dev->cfg.interrupted != 0)
        return err_set(&dev->err, ERR_INTERRUPTED, 0, "interrupted");
    const int result = c->api->cuCtxSetCurrent(c->card.context);
    return result == CUDA_DONE ? ERR_OK : cuda_fail(c, "use", 0, result);
}

static void *cuda_pointer(uint64_t addr)
{
    return (void *)(uintptr_t)addr;
}

/* Calls the runtime library, or the driver if there is none. */
static int cuda_call_malloc(const struct cuda_api *api, uint64_t bytes, uint64_t *addr)
{
    void *p = NULL;
    if (api->cudaMalloc == NULL)
        return api->cuMemAlloc_v2(addr, bytes);
    const int result = api->cudaMalloc(&p, bytes);
    *addr = (uint64_t)(uintptr_t)p;
    return result;
}

static int cuda_call_free(const struct cuda_api *api, uint64_t addr)
{
    return api->cudaFree != NULL ? api->cudaFree(cuda_pointer(addr)) : api->cuMemFree_v2(addr);
}

/* Waits for all that was started on the card. */
static int cuda_call_wait(const struct cuda_api *api)
{
    if (api->cudaMemset != NULL)
        return api->cudaDeviceSynchronize();
    return api->cuCtxSynchronize != NULL ? api->cuCtxSynchronize() : CUDA_DONE;
}

/* Writes to all of the memory, and waits until that is done. */
static int cuda_call_write(const struct cuda_api *api, uint64_t addr, uint64_t bytes)
{
    const int result = api->cudaMemset != NULL ? api->cudaMemset(cuda_pointer(addr), 0xa5, bytes)
                                               : api->cuMemsetD8_v2(addr, 0xa5, bytes);
    return result == CUDA_DONE ? cuda_call_wait(api) : result;
}

/* Touches new memory: what was never written may not exist on the card yet. */
static enum err cuda_touch(struct cuda *c, uint64_t addr, uint64_t bytes)
{
    if (!c->base.cfg.touch)
        return ERR_OK;
    const uint64_t since = cuda_now_ns();
    const int result = cuda_timed(c, MEASURED_TOUCH, since, cuda_call_write(c->api, addr, bytes));
    return cuda_judge(c, "writing", bytes, result);
}

/* ---- looks at the card ---- */

static void cuda_look(struct cuda *c, struct measured_memory *out)
{
    out->reserved_bytes = c->base.usage.reserved_bytes;
    out->page_bytes = c->base.usage.page_bytes;
    cuda_card_read(&c->card, out);
}

/* Called before memory is given back: if more is held than at the last look, this may be the peak. The margin keeps
 * looks rare while memory grows and shrinks in small steps. */
static void cuda_look_at_peak(struct cuda *c)
{
    enum { MARGIN = 512 };
    const uint64_t last = c->measured.peak.page_bytes, now = c->base.usage.page_bytes;
    if (now > last && now - last > last / MARGIN)
        cuda_look(c, &c->measured.peak);
}

static void cuda_memory_info(const struct device *dev, uint64_t *free_bytes, uint64_t *total_bytes)
{
    *free_bytes = *total_bytes = MEASURED_UNKNOWN;
    if (!dev->is_given_back)
        cuda_card_memory(&((const struct cuda *)dev)->card, free_bytes, total_bytes);
}

/* ---- segments ---- */

static void cuda_free_segment(struct cuda *c, uint64_t addr, uint64_t bytes)
{
    const uint64_t since = cuda_now_ns();
    cuda_expect(c, "freeing", bytes, cuda_timed(c, MEASURED_FREE, since, cuda_call_free(c->api, addr)));
}

static enum err cuda_segment_alloc(struct device *dev, uint64_t bytes, uint64_t *addr)
{
    struct cuda *c = (struct cuda *)dev;
    uint64_t at = 0;
    enum err e = cuda_enter(c);
    if (e != ERR_OK)
        return e;
    const uint64_t since = cuda_now_ns();
    const int result = cuda_timed(c, MEASURED_MALLOC, since, cuda_call_malloc(c->api, bytes, &at));
    e = cuda_judge(c, "allocating", bytes, result);
    if (e != ERR_OK)
        return e;
    e = cuda_touch(c, at, bytes);
    if (e != ERR_OK)
        cuda_free_segment(c, at, bytes);
    else
        *addr = at;
    return e;
}

static void cuda_segment_free(struct device *dev, uint64_t addr, uint64_t bytes)
{
    struct cuda *c = (struct cuda *)dev;
    if (dev->is_given_back)
        return;
    cuda_look_at_peak(c);
    (void)c->api->cuCtxSetCurrent(c->card.context);
    cuda_free_segment(c, addr, bytes);
}

/* ---- ranges ---- */

static enum err cuda_range_reserve(struct device *dev, uint64_t bytes, uint64_t *addr)
{
    struct cuda *c = (struct cuda *)dev;
    const enum err e = cuda_enter(c);
    if (e != ERR_OK)
        return e;
    const uint64_t since = cuda_now_ns();
    const int result = c->api->cuMemAddressReserve(addr, align_up(bytes, DEVICE_PAGE_BYTES), 0, 0, 0);
    return cuda_judge(c, "reserving addresses", bytes, cuda_timed(c, MEASURED_RESERVE, since, result));
}

static void cuda_range_free(struct device *dev, uint64_t addr, uint64_t bytes)
{
    struct cuda *c = (struct cuda *)dev;
    if (dev->is_given_back)
        return;
    const uint64_t since = cuda_now_ns();
    const int result = c->api->cuMemAddressFree(addr, align_up(bytes, DEVICE_PAGE_BYTES));
    cuda_expect(c, "giving addresses back", bytes, cuda_timed(c, MEASURED_UNRESERVE, since, result));
}

static enum err cuda_phys_create(struct device *dev, uint64_t bytes, uint32_t *phys)
{
    struct cuda *c = (struct cuda *)dev;
    const struct cuda_allocation prop = {
        .type = CUDA_ALLOCATION_PINNED, .location = {.type = CUDA_LOCATION_DEVICE, .id = c->card.device},
    };
    uint64_t handle;
    enum err e = cuda_enter(c);
    if (e != ERR_OK)
        return e;
    uint64_t *table = array_grow(c->phys, c->n_phys, &c->cap_phys, sizeof *table);
    if (table == NULL)
        return ERR_HOST_NOMEM;
    c->phys = table;
    const uint64_t since = cuda_now_ns();
    const int result = c->api->cuMemCreate(&handle, align_up(bytes, DEVICE_PAGE_BYTES), &prop, 0);
    e = cuda_judge(c, "creating memory", bytes, cuda_timed(c, MEASURED_CREATE, since, result));
    if (e != ERR_OK)
        return e;
    c->phys[c->n_phys++] = handle;
    *phys = (uint32_t)c->n_phys;
    return ERR_OK;
}

static void cuda_release(struct cuda *c, uint32_t phys, uint64_t bytes)
{
    const uint64_t since = cuda_now_ns();
    const int result = c->api->cuMemRelease(c->phys[phys - 1]);
    cuda_expect(c, "freeing memory", bytes, cuda_timed(c, MEASURED_RELEASE, since, result));
    c->phys[phys - 1] = 0;
}

static void cuda_phys_destroy(struct device *dev, uint32_t phys, uint64_t bytes)
{
    struct cuda *c = (struct cuda *)dev;
    if (dev->is_given_back)
        return;
    cuda_look_at_peak(c);
    cuda_release(c, phys, bytes);
}

/* The first mapping at or above an address. */
static size_t cuda_mapping_find(const struct cuda *c, uint64_t addr)
{
    size_t low = 0, high = c->n_mapped;
    while (low < high) {
        const size_t mid = low + (high - low) / 2;
        if (c->mapped[mid].addr < addr)
            low = mid + 1;
        else
            high = mid;
    }
    return low;
}

/* A program whose allocator this is may free while its kernels still run. Unlike cudaFree, cuMemUnmap does not wait for
 * them. */
static void cuda_unmap_at(struct cuda *c, const struct cuda_mapping *m)
{
    cuda_expect(c, "waiting to unmap", m->bytes, cuda_call_wait(c->api));
    const uint64_t since = cuda_now_ns();
    const int result = c->api->cuMemUnmap(m->addr, m->bytes);
    cuda_expect(c, "unmapping", m->bytes, cuda_timed(c, MEASURED_UNMAP, since, result));
}

/* Maps memory for reading and writing; maps nothing if that fails. */
static enum err cuda_map_at(struct cuda *c, const struct cuda_mapping *m, uint64_t handle)
{
    const struct cuda_access access = {
        .location = {.type = CUDA_LOCATION_DEVICE, .id = c->card.device}, .flags = CUDA_ACCESS_READ_WRITE,
    };
    uint64_t since = cuda_now_ns();
    int result = c->api->cuMemMap(m->addr, m->bytes, 0, handle, 0);
    enum err e = cuda_judge(c, "mapping", m->bytes, cuda_timed(c, MEASURED_MAP, since, result));
    if (e != ERR_OK)
        return e;
    since = cuda_now_ns();
    result = c->api->cuMemSetAccess(m->addr, m->bytes, &access, 1);
    e = cuda_judge(c, "giving access", m->bytes, cuda_timed(c, MEASURED_ACCESS, since, result));
    if (e == ERR_OK)
        e = cuda_touch(c, m->addr, m->bytes);
    if (e != ERR_OK)
        cuda_unmap_at(c, m);
    return e;
}

static enum err cuda_map(struct device *dev, uint64_t addr, uint64_t bytes, uint32_t phys)
{
    struct cuda *c = (struct cuda *)dev;
    const struct cuda_mapping m = {.addr = addr, .bytes = bytes};
    enum err e = cuda_enter(c);
    if (e != ERR_OK)
        return e;
    struct cuda_mapping *table = array_grow(c->mapped, c->n_mapped, &c->cap_mapped, sizeof *table);
    if (table == NULL)
        return ERR_HOST_NOMEM;
    c->mapped = table;
    e = cuda_map_at(c, &m, c->phys[phys - 1]);
    if (e != ERR_OK)
        return e;
    const size_t at = cuda_mapping_find(c, addr);
    memmove(c->mapped + at + 1, c->mapped + at, (c->n_mapped - at) * sizeof *c->mapped);
    c->mapped[at] = m;
    c->n_mapped++;
    return ERR_OK;
}

static void cuda_unmap(struct device *dev, uint64_t addr, uint64_t bytes)
{
    struct cuda *c = (struct cuda *)dev;
    if (dev->is_given_back)
        return;
    cuda_look_at_peak(c);
    (void)c->api->cuCtxSetCurrent(c->card.context);
    const size_t at = cuda_mapping_find(c, addr);
    cuda_unmap_at(c, &(struct cuda_mapping){.addr = addr, .bytes = bytes});
    if (at == c->n_mapped || c->mapped[at].addr != addr)
        return;
    c->n_mapped--;
    memmove(c->mapped + at, c->mapped + at + 1, (c->n_mapped - at) * sizeof *c->mapped);
}

/* ---- the whole ---- */

static void cuda_destroy(struct cuda *c)
{
    if (c == NULL)
        return;
    for (int i = 0; i < MEASURED_CALL_KINDS; i++)
        call_times_close(&c->measured.calls[i]);
    free(c->phys);
    free(c->mapped);
    free(c);
}

/* Makes the first calls, which make the context grow: the runtime library sets itself up, the writing kernel is loaded.
 * This memory and time are not the policy's. If it fails, the call that matters will say why. */
static void cuda_warm(struct cuda *c, bool touch)
{
    uint64_t addr = 0;
    if (cuda_call_malloc(c->api, DEVICE_PAGE_BYTES, &addr) == CUDA_DONE) {
        if (touch)
            (void)cuda_call_write(c->api, addr, DEVICE_PAGE_BYTES);
        (void)cuda_call_free(c->api, addr);
    } else if (c->api->cudaGetLastError != NULL) {
        (void)c->api->cudaGetLastError();
    }
}

/* Finds who has the memory that is in use before we hold any. NVML's number for the process is the context's; without
 * it the two cannot be told apart, and everything counts as others'. */
static void cuda_measure_idle(struct cuda *c)
{
    struct device_measured *m = &c->measured;
    cuda_look(c, &m->idle);
    m->context_bytes = m->idle.process_bytes;
    m->others_bytes = MEASURED_UNKNOWN;
    const bool has_process = m->context_bytes != MEASURED_UNKNOWN;
    if (has_process && m->idle.card_bytes != MEASURED_UNKNOWN && m->idle.card_bytes >= m->context_bytes)
        m->others_bytes = m->idle.card_bytes - m->context_bytes;
}

static enum err cuda_open(const struct device_config *cfg, struct device **out, struct err_detail *err)
{
    struct cuda *c = calloc(1, sizeof *c);
    if (c == NULL)
        return err_no_memory(err);
    enum err e = cfg->cuda != NULL ? ERR_OK : cuda_library_open(&c->own, err);
    c->api = cfg->cuda != NULL ? cfg->cuda : &c->own;
    if (e == ERR_OK)
        e = cuda_card_open(c->api, cfg->ordinal, &c->card, err);
    if (e != ERR_OK) {
        cuda_destroy(c);
        return e;
    }
    cuda_card_describe(&c->card, &c->measured);
    cuda_warm(c, cfg->touch);
    cuda_measure_idle(c);
    if (c->measured.idle.free_bytes == MEASURED_UNKNOWN) {
        cuda_card_close(&c->card);
        cuda_destroy(c);
        return err_set(err, ERR_DRIVER, 0, "device cuda:%u does not say how much memory it has", cfg->ordinal);
    }
    c->base.measured = &c->measured;
    c->base.lacks_ranges = !c->card.has_ranges;
    if (c->base.lacks_ranges)
        err_set(&c->base.err, ERR_UNSUPPORTED, 0, "cuda:%u: %s", cfg->ordinal, c->card.no_ranges);
    *out = &c->base;
    return ERR_OK;
}

/* A limit makes the card one of that size, used by nobody else: decisions are then those on `sim` of that size, as long
 * as the card has that much free. */
static void cuda_settle(struct device *dev)
{
    const struct device_measured *m = dev->measured;
    struct device_config *cfg = &dev->cfg;
    if (cfg->limit_bytes > 0) {
        cfg->total_bytes = cfg->limit_bytes;
        cfg->context_bytes = 0;
        cfg->others_bytes = cfg->limit_bytes > m->idle.free_bytes ? cfg->limit_bytes - m->idle.free_bytes : 0;
        return;
    }
    const uint64_t used = m->idle.total_bytes - m->idle.free_bytes;
    cfg->total_bytes = m->idle.total_bytes;
    cfg->context_bytes = m->context_bytes == MEASURED_UNKNOWN || m->context_bytes > used ? 0 : m->context_bytes;
    cfg->others_bytes = used - cfg->context_bytes;
}

/* Gives everything back in the order that leaves nothing dangling: mappings, memory, segments and addresses. */
static void cuda_give_back(struct device *dev)
{
    struct cuda *c = (struct cuda *)dev;
    (void)c->api->cuCtxSetCurrent(c->card.context);
    cuda_look_at_peak(c);
    c->is_ending = true;
    for (size_t i = 0; i < c->n_mapped; i++)
        cuda_unmap_at(c, &c->mapped[i]);
    c->n_mapped = 0;
    for (size_t i = 0; i < c->n_phys; i++)
        if (c->phys[i] != 0)
            cuda_release(c, (uint32_t)i + 1, 0);
    for (uint32_t i = 0; i < dev->n_segments; i++) {
        const struct segment_state *s = &dev->segments[i];
        if (s->bytes > 0 && s->is_range)
            cuda_range_free(dev, s->addr, s->bytes);
        else if (s->bytes > 0)
            cuda_free_segment(c, s->addr, s->bytes);
    }
    cuda_look(c, &c->measured.end);
    c->measured.end.reserved_bytes = c->measured.end.page_bytes = 0;
}

/* The context goes last. If one device follows another, the next one finds the context there. */
static void cuda_close(struct device *dev)
{
    cuda_card_close(&((struct cuda *)dev)->card);
    cuda_destroy((struct cuda *)dev);
}

const struct device_ops device_cuda = {
    .abi = DEVICE_ABI,
    .size = sizeof(struct device_ops),
    .name = "cuda",
    .open = cuda_open,                .close = cuda_close,
    .segment_alloc = cuda_segment_alloc, .segment_free = cuda_segment_free,
    .range_reserve = cuda_range_reserve, .range_free = cuda_range_free,
    .phys_create = cuda_phys_create,  .phys_destroy = cuda_phys_destroy,
    .map = cuda_map,                  .unmap = cuda_unmap,
    .memory_info = cuda_memory_info,
    .settle = cuda_settle,            .give_back = cuda_give_back,
};
