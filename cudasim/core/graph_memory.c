/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * Memory that nodes of graphs take and give back.
 *
 * As the CUDA programming guide and the sample graphMemoryFootprint describe, a node's address is fixed when the node
 * is made. A launch maps physical memory there. Physical memory comes from a pool of the device, for all graphs:
 *
 *     node made       addresses, no memory                              reserved   0
 *     first launch    memory is taken from the card, mapped             reserved  64 MiB
 *     free node       it lies idle in the pool, for the next launch     reserved  64 MiB
 *     trim            what lies idle goes back to the card              reserved   0
 *
 * Nodes of one graph share addresses if one comes after the free of the other. A card may keep graphs apart that run at
 * the same time; here each launch ends at once, so they share.
 */
#include "cudasim/core/graphs.h"

#include "base/array.h"
#include "base/units.h"
#include "cudasim/core/values.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

/* Addresses of one or several nodes of a graph, in turn. */
struct graph_slot {
    struct cudasim_allocation allocation;    /* first; `bytes` of the node whose turn it is */
    struct graph_memory *owner;      /* NULL: the graph and its instantiation are gone, the memory is live */
    uint64_t room_bytes;             /* whole pages */
    uint32_t phys;                   /* what is mapped while it is live */
    uint64_t phys_bytes;
    bool     is_taken;               /* a node took it and no later node of the graph gave it back */
    bool     is_freed_elsewhere;     /* a node of another graph gives it back */
    bool     is_live;                /* a launch took it and nobody gave it back */
};

/* A node, in the order in which nodes were added. `bytes` 0: it gives back what is at the address. */
struct graph_step {
    uint64_t addr, bytes;
};

struct graph_memory {
    unsigned refs;                   /* the graph, and its instantiation */
    bool     is_instantiated;
    struct graph_step *steps;
    size_t   n_steps, steps_room;
};

static struct graph_slot *slot_at(uint64_t addr)
{
    const struct address_extent *e = address_map_at(&cudasim.pointers, addr);
    struct cudasim_allocation *a = e == NULL ? NULL : e->value;
    return a != NULL && a->kind == MEMORY_GRAPH ? (struct graph_slot *)a : NULL;
}

static struct cudasim_device *device_of(const struct graph_slot *s)
{
    return &cudasim.devices[s->allocation.device];
}

static void slot_note(enum call_kind kind, const struct graph_slot *s, uint64_t bytes, uint64_t stream)
{
    const bool is_request = kind == CALL_ALLOC || kind == CALL_FREE || kind == CALL_OOM;
    cudasim_note((struct call_record){ .kind = (uint8_t)kind, .space = is_request ? CALL_SPACE_POOL : CALL_SPACE_DEVICE,
                                       .device = (uint8_t)s->allocation.device, .addr = s->allocation.segment.addr,
                                       .bytes = bytes, .stream = stream, .other = device_of(s)->graphs.name });
}

static void slot_destroy(struct graph_slot *s)
{
    struct address_extent *e = address_map_at(&cudasim.pointers, s->allocation.segment.addr);
    device_range_free(device_of(s)->device, &s->allocation.segment);
    values_drop(e->addr, e->bytes);
    address_map_remove(&cudasim.pointers, e);
    free(s);
}

static struct graph_slot *slot_create(int device, uint64_t room_bytes)
{
    struct cudasim_device *d = &cudasim.devices[device];
    struct graph_slot *s = calloc(1, sizeof *s);
    if (s == NULL || !address_map_reserve(&cudasim.pointers) ||
        device_range_reserve(d->device, room_bytes, &s->allocation.segment) != ERR_OK) {
        free(s);
        return NULL;
    }
    const uint64_t addr = s->allocation.segment.addr;
    if (room_bytes > d->end_addr - addr) {
        device_range_free(d->device, &s->allocation.segment);
        free(s);
        return NULL;
    }
    s->allocation.kind = MEMORY_GRAPH;
    s->allocation.device = device;
    s->room_bytes = room_bytes;
    cudasim_address_given(d, addr, room_bytes);
    address_map_put(&cudasim.pointers, addr, room_bytes, s);
    if (d->graphs.name == 0) {
        d->graphs.name = cudasim.next_handle;
        cudasim.next_handle += 0x100;
    }
    return s;
}

/* ---- the pool of a device ---- */

static void pool_grow(struct cudasim_graph_pool *p, uint64_t reserved, uint64_t used)
{
    p->reserved_bytes += reserved;
    p->used_bytes += used;
    p->reserved_high = p->reserved_bytes > p->reserved_high ? p->reserved_bytes : p->reserved_high;
    p->used_high = p->used_bytes > p->used_high ? p->used_bytes : p->used_high;
}

static void pool_trim(int device)
{
    struct cudasim_graph_pool *p = &cudasim.devices[device].graphs;
    for (size_t i = 0; i < p->n_idle; i++) {
        device_phys_destroy(cudasim.devices[device].device, p->idle[i].phys, p->idle[i].bytes);
        cudasim_note((struct call_record){ .kind = CALL_SEGMENT_FREE, .device = (uint8_t)device,
                                           .bytes = p->idle[i].bytes, .other = p->name });
        p->reserved_bytes -= p->idle[i].bytes;
        p->n_chunks--;
    }
    p->n_idle = 0;
}

/* The smallest idle chunk with room for it; n_idle: there is none. */
static size_t pool_find(const struct cudasim_graph_pool *p, uint64_t bytes)
{
    size_t best = p->n_idle;
    for (size_t i = 0; i < p->n_idle; i++)
        if (p->idle[i].bytes >= bytes && (best == p->n_idle || p->idle[i].bytes < p->idle[best].bytes))
            best = i;
    return best;
}

/* Maps memory to a slot: what is idle, else of the card. Each chunk has its place in `idle` and can go there. */
static enum cudasim_code slot_map(struct graph_slot *s)
{
    struct cudasim_device *d = device_of(s);
    struct cudasim_graph_pool *p = &d->graphs;
    const size_t found = pool_find(p, s->room_bytes);
    if (found < p->n_idle) {
        s->phys = p->idle[found].phys;
        s->phys_bytes = p->idle[found].bytes;
        p->idle[found] = p->idle[--p->n_idle];
        return CODE_SUCCESS;
    }
    struct graph_chunk *idle = array_grow(p->idle, p->n_chunks, &p->idle_room, sizeof *idle);
    if (idle == NULL)
        return CODE_OUT_OF_MEMORY;
    p->idle = idle;
    enum err e = device_phys_create(d->device, s->room_bytes, &s->phys);
    if (e == ERR_DEVICE_OOM && p->n_idle > 0) {
        pool_trim(s->allocation.device);
        e = device_phys_create(d->device, s->room_bytes, &s->phys);
    }
    if (e != ERR_OK)
        return cudasim_code_of(e);
    s->phys_bytes = s->room_bytes;
    p->n_chunks++;
    pool_grow(p, s->phys_bytes, 0);
    slot_note(CALL_SEGMENT, s, s->phys_bytes, 0);
    return CODE_SUCCESS;
}

static void slot_unmap(struct graph_slot *s)
{
    struct cudasim_graph_pool *p = &device_of(s)->graphs;
    assert(p->n_idle < p->n_chunks);
    p->idle[p->n_idle++] = (struct graph_chunk){ .phys = s->phys, .bytes = s->phys_bytes };
}

static enum cudasim_code slot_take(struct graph_slot *s, uint64_t bytes, uint64_t stream)
{
    const enum cudasim_code code = slot_map(s);
    if (code != CODE_SUCCESS) {
        slot_note(CALL_OOM, s, bytes, stream);
        return code;
    }
    s->is_live = true;
    s->allocation.bytes = bytes;
    pool_grow(&device_of(s)->graphs, 0, bytes);
    slot_note(CALL_ALLOC, s, bytes, stream);
    return CODE_SUCCESS;
}

static void slot_give(struct graph_slot *s, uint64_t stream)
{
    slot_note(CALL_FREE, s, s->allocation.bytes, stream);
    device_of(s)->graphs.used_bytes -= s->allocation.bytes;
    s->is_live = false;
    slot_unmap(s);
    if (s->owner == NULL)
        slot_destroy(s);
}

/* ---- a graph's ---- */

struct graph_memory *graph_memory_create(void)
{
    struct graph_memory *m = calloc(1, sizeof *m);
    if (m != NULL)
        m->refs = 1;
    return m;
}

void graph_memory_release(struct graph_memory *m)
{
    if (m == NULL || --m->refs > 0)
        return;
    for (size_t i = 0; i < m->n_steps; i++) {
        struct graph_slot *s = slot_at(m->steps[i].addr);
        if (s == NULL || s->owner != m)
            continue;
        s->owner = NULL;
        if (!s->is_live)
            slot_destroy(s);
    }
    free(m->steps);
    free(m);
}

size_t graph_memory_steps(const struct graph_memory *m)
{
    return m->n_steps;
}

enum cudasim_code graph_memory_instantiate(struct graph_memory *m)
{
    if (m->is_instantiated)
        return CODE_NOT_SUPPORTED;
    m->is_instantiated = true;
    m->refs++;
    return CODE_SUCCESS;
}

void graph_memory_end_instance(struct graph_memory *m)
{
    if (m == NULL)
        return;
    m->is_instantiated = false;
    graph_memory_release(m);
}

static bool add_step(struct graph_memory *m, uint64_t addr, uint64_t bytes)
{
    struct graph_step *steps = array_grow(m->steps, m->n_steps, &m->steps_room, sizeof *steps);
    if (steps == NULL)
        return false;
    m->steps = steps;
    steps[m->n_steps++] = (struct graph_step){ .addr = addr, .bytes = bytes };
    return true;
}

/* Addresses of an earlier node that was given back, the smallest with room; NULL: there are none. */
static struct graph_slot *find_vacant(const struct graph_memory *m, int device, uint64_t room_bytes)
{
    struct graph_slot *best = NULL;
    for (size_t i = 0; i < m->n_steps; i++) {
        struct graph_slot *s = slot_at(m->steps[i].addr);
        if (s != NULL && s->owner == m && !s->is_taken && s->allocation.device == device &&
            s->room_bytes >= room_bytes && (best == NULL || s->room_bytes < best->room_bytes))
            best = s;
    }
    return best;
}

enum cudasim_code graph_memory_add_alloc(struct graph_memory *m, int device, uint64_t bytes, uint64_t *addr)
{
    const uint64_t room_bytes = align_up(bytes, DEVICE_PAGE_BYTES);
    if (bytes == 0)
        return CODE_INVALID_VALUE;
    struct graph_slot *vacant = room_bytes == UINT64_MAX ? NULL : find_vacant(m, device, room_bytes);
    struct graph_slot *s = vacant != NULL || room_bytes == UINT64_MAX ? vacant : slot_create(device, room_bytes);
    if (s == NULL)
        return CODE_OUT_OF_MEMORY;
    if (!add_step(m, s->allocation.segment.addr, bytes)) {
        if (s != vacant)
            slot_destroy(s);
        return CODE_OUT_OF_MEMORY;
    }
    s->owner = m;
    s->is_taken = true;
    s->allocation.bytes = bytes;
    *addr = s->allocation.segment.addr;
    return CODE_SUCCESS;
}

enum cudasim_code graph_memory_add_free(struct graph_memory *m, uint64_t addr)
{
    struct graph_slot *s = slot_at(addr);
    if (s == NULL || !s->is_taken || s->is_freed_elsewhere)
        return CODE_INVALID_VALUE;
    if (!add_step(m, addr, 0))
        return CODE_OUT_OF_MEMORY;
    if (s->owner == m)
        s->is_taken = false;
    else
        s->is_freed_elsewhere = true;
    return CODE_SUCCESS;
}

static bool is_taking(const struct graph_step *step)
{
    return step->bytes > 0;
}

/* Gives back what the first n steps took and left live. */
static void give_live(const struct graph_memory *m, size_t n, uint64_t stream)
{
    for (size_t i = 0; i < n; i++) {
        struct graph_slot *s = is_taking(&m->steps[i]) ? slot_at(m->steps[i].addr) : NULL;
        if (s != NULL && s->is_live)
            slot_give(s, stream);
    }
}

enum cudasim_code graph_memory_launch(struct graph_memory *m, size_t n, bool frees_first, uint64_t stream)
{
    for (size_t i = 0; i < n && !frees_first; i++)
        if (is_taking(&m->steps[i]) && slot_at(m->steps[i].addr)->is_live)
            return CODE_INVALID_VALUE;
    give_live(m, n, stream);
    for (size_t i = 0; i < n; i++) {
        struct graph_slot *s = slot_at(m->steps[i].addr);
        if (is_taking(&m->steps[i])) {
            const enum cudasim_code code = slot_take(s, m->steps[i].bytes, stream);
            if (code != CODE_SUCCESS) {
                give_live(m, i, stream);
                return code;
            }
        } else if (s != NULL && s->is_live) {
            slot_give(s, stream);
        }
    }
    return CODE_SUCCESS;
}

/* Maps in the order of the steps, so that addresses which are used in turn take memory once. */
enum cudasim_code graph_memory_upload(struct graph_memory *m, size_t n)
{
    enum cudasim_code code = CODE_SUCCESS;
    size_t done = 0;
    for (; code == CODE_SUCCESS && done < n; done++) {
        struct graph_slot *s = is_taking(&m->steps[done]) ? slot_at(m->steps[done].addr) : NULL;
        if (s == NULL || s->is_live)
            continue;
        code = slot_map(s);
        s->is_live = code == CODE_SUCCESS;               /* until all of them are mapped */
        s->allocation.bytes = 0;
    }
    for (size_t i = 0; i < done; i++) {
        struct graph_slot *s = is_taking(&m->steps[i]) ? slot_at(m->steps[i].addr) : NULL;
        if (s == NULL || !s->is_live || s->allocation.bytes != 0)
            continue;
        s->is_live = false;
        slot_unmap(s);
    }
    return code;
}

enum cudasim_code graph_memory_free(struct address_extent *e, uint64_t stream)
{
    struct graph_slot *s = e->value;
    if (!s->is_live || !s->is_taken)
        return CODE_INVALID_VALUE;
    slot_give(s, stream);
    return CODE_SUCCESS;
}

void cudasim_graph_memory_reset(int device)
{
    const struct address_extent *e;
    for (uint64_t addr = UINT64_MAX; (e = address_map_below(&cudasim.pointers, addr)) != NULL;) {
        struct cudasim_allocation *a = e->value;
        addr = e->addr;
        if (a->kind == MEMORY_GRAPH && a->device == device && ((struct graph_slot *)a)->is_live)
            slot_give((struct graph_slot *)a, 0);
    }
    pool_trim(device);
}

/* ---- what the program asks of a device's pool ---- */

static uint64_t *pool_number(struct cudasim_graph_pool *p, int attribute)
{
    uint64_t *const numbers[] = { &p->used_bytes, &p->used_high, &p->reserved_bytes, &p->reserved_high };
    return attribute >= 0 && attribute < 4 ? numbers[attribute] : NULL;
}

static enum cudasim_code begin_pool(int device, struct cudasim_graph_pool **p)
{
    const enum cudasim_code code = cudasim_begin();
    if (code != CODE_SUCCESS)
        return code;
    if (device < 0 || device >= cudasim.n_devices)
        return cudasim_end(CODE_INVALID_DEVICE);
    *p = &cudasim.devices[device].graphs;
    return CODE_SUCCESS;
}

enum cudasim_code cudasim_graph_pool_get(int device, int attribute, uint64_t *value)
{
    struct cudasim_graph_pool *p = NULL;
    const enum cudasim_code code = begin_pool(device, &p);
    if (code != CODE_SUCCESS)
        return code;
    const uint64_t *number = pool_number(p, attribute);
    if (number == NULL || value == NULL)
        return cudasim_end(CODE_INVALID_VALUE);
    *value = *number;
    return cudasim_end(CODE_SUCCESS);
}

/* High-water marks can only be set to 0, which restarts them. */
enum cudasim_code cudasim_graph_pool_set(int device, int attribute, const uint64_t *value)
{
    struct cudasim_graph_pool *p = NULL;
    const enum cudasim_code code = begin_pool(device, &p);
    if (code != CODE_SUCCESS)
        return code;
    if (value == NULL || *value != 0 || (attribute != 1 && attribute != 3))
        return cudasim_end(CODE_INVALID_VALUE);
    *pool_number(p, attribute) = *pool_number(p, attribute - 1);
    return cudasim_end(CODE_SUCCESS);
}

enum cudasim_code cudasim_graph_pool_trim(int device)
{
    struct cudasim_graph_pool *p = NULL;
    const enum cudasim_code code = begin_pool(device, &p);
    if (code != CODE_SUCCESS)
        return code;
    pool_trim(device);
    return cudasim_end(CODE_SUCCESS);
}
