/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * The front functions: the one place of capacity, accounting, the segment table, the call log and injected failures.
 */
#include "sim/device.h"

#include "base/units.h"
#include "sim/pages.h"

#include <stdlib.h>

static uint64_t whole_pages(const struct device *dev, uint64_t bytes)
{
    return align_up(bytes, dev->cfg.page_bytes == 0 ? DEVICE_PAGE_BYTES : dev->cfg.page_bytes);
}

static void device_note(struct device *dev, const struct device_call *call)
{
    dev->usage.calls++;
    dev->usage.changes++;
    if (dev->log != NULL)
        dev->log->call(dev->log->arg, call);
}

/* Bytes left on the card while we hold `page_bytes` in the driver's pages. */
static uint64_t device_room_with(const struct device *dev, uint64_t page_bytes)
{
    const uint64_t used = device_card_bytes(dev, page_bytes);
    if (dev->cfg.total_bytes == DEVICE_UNLIMITED)
        return DEVICE_UNLIMITED;
    return used > dev->cfg.total_bytes ? 0 : dev->cfg.total_bytes - used;
}

static uint64_t device_room(const struct device *dev)
{
    return device_room_with(dev, dev->usage.page_bytes);
}

/* Whether a growing call may go on: first the injected failure, then the room for `page_bytes` more. */
static bool device_admits(struct device *dev, uint64_t page_bytes)
{
    dev->growing_calls++;
    if (dev->cfg.fail_from_call != 0 && dev->growing_calls >= dev->cfg.fail_from_call)
        return false;
    return page_bytes <= device_room(dev);
}

static enum err device_refuse(struct device *dev, enum device_call_kind kind, uint64_t bytes)
{
    device_note(dev, &(struct device_call){.kind = kind, .bytes = bytes});
    dev->usage.refusals++;
    dev->refused_bytes = bytes;
    return ERR_DEVICE_OOM;
}

static void device_grow_usage(struct device *dev, uint64_t bytes, uint64_t page_bytes)
{
    struct device_usage *u = &dev->usage;
    u->reserved_bytes += bytes;
    u->page_bytes += page_bytes;
    if (u->reserved_bytes > u->reserved_peak_bytes)
        u->reserved_peak_bytes = u->reserved_bytes;
    if (u->page_bytes > u->page_peak_bytes)
        u->page_peak_bytes = u->page_bytes;
}

/* Makes room for one more id in the table and in the stack of vacant ids. */
static enum err device_table_grow(struct device *dev)
{
    const uint32_t cap = dev->cap_segments == 0 ? 64 : dev->cap_segments * 2;
    if (cap < dev->cap_segments)
        return ERR_HOST_NOMEM;
    struct segment_state *table = realloc(dev->segments, cap * sizeof *table);
    if (table != NULL)
        dev->segments = table;
    uint32_t *vacant = realloc(dev->vacant, cap * sizeof *vacant);
    if (vacant != NULL)
        dev->vacant = vacant;
    if (table == NULL || vacant == NULL)
        return ERR_HOST_NOMEM;
    dev->cap_segments = cap;
    return ERR_OK;
}

/* Reserves an id, so that entering the segment cannot fail. */
static enum err device_table_reserve(struct device *dev)
{
    return dev->n_vacant > 0 || dev->n_segments < dev->cap_segments ? ERR_OK : device_table_grow(dev);
}

/* Another segment takes the place of an id, which stays in the list of ranges that moved. */
static void device_table_replace(struct device *dev, uint32_t id, const struct segment_state *s)
{
    const struct segment_state was = dev->segments[id];
    dev->segments[id] = *s;
    dev->segments[id].next_moved = was.next_moved;
    dev->segments[id].is_moved = was.is_moved;
}

static uint32_t device_table_enter(struct device *dev, const struct segment_state *s)
{
    if (dev->n_vacant > 0) {
        const uint32_t id = dev->vacant[--dev->n_vacant];
        device_table_replace(dev, id, s);
        return id;
    }
    dev->segments[dev->n_segments] = *s;
    return dev->n_segments++;
}

static void device_table_leave(struct device *dev, uint32_t id)
{
    device_table_replace(dev, id, &(struct segment_state){.page = PAGES_NONE});
    dev->vacant[dev->n_vacant++] = id;
}

enum err device_open(const struct device_ops *ops, const struct device_config *cfg, struct device **out,
                     struct err_detail *err)
{
    if (ops->abi != DEVICE_ABI || ops->size != sizeof *ops)
        return err_set(err, ERR_ABI, 0, "device %s: interface %u of %u bytes, not %u of %zu", ops->name, ops->abi,
                       ops->size, DEVICE_ABI, sizeof *ops);
    struct pages *shared = NULL;
    if (cfg->packing && pages_create(&shared) != ERR_OK)
        return err_no_memory(err);
    struct device *dev;
    const enum err e = ops->open(cfg, &dev, err);
    if (e != ERR_OK) {
        pages_destroy(shared);
        return e;
    }
    dev->ops = ops;
    dev->cfg = *cfg;
    dev->opened_with = cfg->addresses;
    dev->shared = shared;
    if (ops->settle != NULL)
        ops->settle(dev);
    *out = dev;
    return ERR_OK;
}

void device_give_back(struct device *dev)
{
    if (dev->ops->give_back == NULL || dev->is_given_back)
        return;
    dev->ops->give_back(dev);
    dev->is_given_back = true;
}

bool device_is_real(const struct device_ops *ops)
{
    return ops->give_back != NULL;
}

void device_close(struct device *dev)
{
    if (dev == NULL)
        return;
    device_give_back(dev);
    free(dev->segments);
    free(dev->vacant);
    pages_destroy(dev->shared);
    dev->ops->close(dev);
}

static bool device_shares_page(const struct device *dev, uint64_t bytes)
{
    return dev->shared != NULL && bytes <= PAGES_SHARED_MAX;
}

enum err device_segment_alloc(struct device *dev, uint64_t bytes, struct segment *out)
{
    const bool is_shared = device_shares_page(dev, bytes);
    const bool has_page = is_shared && pages_have_room(dev->shared, bytes);
    const uint64_t page_bytes = has_page ? 0 : whole_pages(dev, bytes);
    enum err e = device_table_reserve(dev);
    if (e != ERR_OK)
        return e;
    dev->usage.time_ns += dev->cfg.alloc_ns;
    if (!device_admits(dev, page_bytes))
        return device_refuse(dev, DEVICE_CALL_MALLOC_OOM, bytes);
    struct segment_state s = {.bytes = bytes, .mapped_bytes = bytes, .page = PAGES_NONE};
    if (is_shared && (e = pages_put(dev->shared, bytes, &s.page)) != ERR_OK)
        return e;
    e = dev->ops->segment_alloc(dev, bytes, &s.addr);
    if (e != ERR_OK) {
        if (is_shared)
            pages_take(dev->shared, s.page);
        return e == ERR_DEVICE_OOM ? device_refuse(dev, DEVICE_CALL_MALLOC_OOM, bytes) : e;
    }
    const uint32_t id = device_table_enter(dev, &s);
    device_grow_usage(dev, bytes, page_bytes);
    dev->usage.segment_allocs++;
    if (++dev->usage.segments > dev->usage.segments_peak)
        dev->usage.segments_peak = dev->usage.segments;
    device_note(dev, &(struct device_call){.kind = DEVICE_CALL_MALLOC, .bytes = bytes, .addr = s.addr, .segment = id});
    *out = (struct segment){.addr = s.addr, .bytes = bytes, .id = id};
    return ERR_OK;
}

void device_segment_free(struct device *dev, const struct segment *seg)
{
    const struct segment_state s = dev->segments[seg->id];
    uint64_t page_bytes = whole_pages(dev, s.bytes);
    if (s.page != PAGES_NONE && !pages_take(dev->shared, s.page))
        page_bytes = 0;
    dev->ops->segment_free(dev, s.addr, s.bytes);
    device_table_leave(dev, seg->id);
    dev->usage.reserved_bytes -= s.bytes;
    dev->usage.page_bytes -= page_bytes;
    dev->usage.segments--;
    dev->usage.segment_frees++;
    dev->usage.time_ns += dev->cfg.free_ns;
    device_note(dev, &(struct device_call){.kind = DEVICE_CALL_FREE, .bytes = whole_pages(dev, s.bytes),
                                           .addr = s.addr, .segment = seg->id});
}

enum err device_host_alloc(struct device *dev, uint64_t bytes, struct segment *out)
{
    if (device_is_real(dev->ops))
        return ERR_UNSUPPORTED;
    struct segment_state s = {.bytes = bytes, .page = PAGES_NONE, .is_host = true};
    enum err e = device_table_reserve(dev);
    if (e == ERR_OK)
        e = dev->ops->segment_alloc(dev, bytes, &s.addr);
    if (e != ERR_OK)
        return e;
    struct device_usage *u = &dev->usage;
    const uint32_t id = device_table_enter(dev, &s);
    u->host_bytes += bytes;
    u->host_peak_bytes = u->host_bytes > u->host_peak_bytes ? u->host_bytes : u->host_peak_bytes;
    u->time_ns += dev->cfg.alloc_ns;
    device_note(dev, &(struct device_call){.kind = DEVICE_CALL_HOST_MALLOC, .bytes = bytes, .addr = s.addr,
                                           .segment = id});
    *out = (struct segment){.addr = s.addr, .bytes = bytes, .id = id};
    return ERR_OK;
}

void device_host_free(struct device *dev, const struct segment *seg)
{
    dev->ops->segment_free(dev, seg->addr, seg->bytes);
    device_table_leave(dev, seg->id);
    dev->usage.host_bytes -= seg->bytes;
    dev->usage.time_ns += dev->cfg.free_ns;
    device_note(dev, &(struct device_call){.kind = DEVICE_CALL_HOST_FREE, .bytes = seg->bytes, .addr = seg->addr,
                                           .segment = seg->id});
}

bool device_has_ranges(const struct device *dev)
{
    return dev->ops->range_reserve != NULL && !dev->lacks_ranges;
}

enum err device_range_reserve(struct device *dev, uint64_t bytes, struct segment *out)
{
    if (!device_has_ranges(dev))
        return ERR_UNSUPPORTED;
    struct segment_state s = {.bytes = bytes, .page = PAGES_NONE, .is_range = true};
    enum err e = device_table_reserve(dev);
    if (e == ERR_OK && !device_admits(dev, 0))
        e = ERR_DEVICE_OOM;
    if (e == ERR_OK)
        e = dev->ops->range_reserve(dev, bytes, &s.addr);
    if (e != ERR_OK)
        return e;
    const uint32_t id = device_table_enter(dev, &s);
    dev->usage.ranges++;
    device_note(dev, &(struct device_call){.kind = DEVICE_CALL_RESERVE, .bytes = bytes, .addr = s.addr, .segment = id});
    *out = (struct segment){.addr = s.addr, .bytes = bytes, .id = id};
    return ERR_OK;
}

void device_range_free(struct device *dev, const struct segment *range)
{
    dev->ops->range_free(dev, range->addr, range->bytes);
    device_table_leave(dev, range->id);
    dev->usage.ranges--;
    device_note(dev, &(struct device_call){.kind = DEVICE_CALL_UNRESERVE, .bytes = range->bytes, .addr = range->addr,
                                           .segment = range->id});
}

enum err device_phys_create(struct device *dev, uint64_t bytes, uint32_t *phys)
{
    if (!device_has_ranges(dev))
        return ERR_UNSUPPORTED;
    const uint64_t page_bytes = whole_pages(dev, bytes);
    dev->usage.time_ns += dev->cfg.map_ns;
    if (!device_admits(dev, page_bytes))
        return device_refuse(dev, DEVICE_CALL_CREATE_OOM, bytes);
    const enum err e = dev->ops->phys_create(dev, bytes, phys);
    if (e == ERR_DEVICE_OOM)
        return device_refuse(dev, DEVICE_CALL_CREATE_OOM, bytes);
    if (e != ERR_OK)
        return e;
    dev->usage.page_bytes += page_bytes;
    if (dev->usage.page_bytes > dev->usage.page_peak_bytes)
        dev->usage.page_peak_bytes = dev->usage.page_bytes;
    device_note(dev, &(struct device_call){.kind = DEVICE_CALL_CREATE, .bytes = bytes, .phys = *phys});
    return ERR_OK;
}

void device_phys_destroy(struct device *dev, uint32_t phys, uint64_t bytes)
{
    dev->ops->phys_destroy(dev, phys, bytes);
    dev->usage.page_bytes -= whole_pages(dev, bytes);
    device_note(dev, &(struct device_call){.kind = DEVICE_CALL_RELEASE, .bytes = bytes, .phys = phys});
}

/* Notes a mapping or unmapping call that succeeded. */
static void device_note_mapping(struct device *dev, enum device_call_kind kind, const struct segment *range,
                                uint64_t offset, uint64_t bytes, uint32_t phys)
{
    device_note(dev, &(struct device_call){.kind = kind, .bytes = bytes, .addr = range->addr + offset, .phys = phys,
                                           .segment = range->id, .offset = offset});
}

/* A range gains or loses memory. */
static void device_range_moves(struct device *dev, uint32_t id)
{
    struct segment_state *s = &dev->segments[id];
    if (s->is_moved)
        return;
    s->is_moved = true;
    s->next_moved = dev->moved;
    dev->moved = 1 + id;
}

enum err device_map(struct device *dev, const struct segment *range, uint64_t offset, uint64_t bytes, uint32_t phys)
{
    const enum err e = dev->ops->map(dev, range->addr + offset, bytes, phys);
    if (e != ERR_OK)
        return e;
    dev->segments[range->id].mapped_bytes += bytes;
    device_range_moves(dev, range->id);
    device_grow_usage(dev, bytes, 0);               /* its memory was counted when it was created */
    dev->usage.maps++;
    device_note_mapping(dev, DEVICE_CALL_MAP, range, offset, bytes, phys);
    return ERR_OK;
}

void device_unmap(struct device *dev, const struct segment *range, uint64_t offset, uint64_t bytes)
{
    dev->ops->unmap(dev, range->addr + offset, bytes);
    dev->segments[range->id].mapped_bytes -= bytes;
    device_range_moves(dev, range->id);
    dev->usage.reserved_bytes -= bytes;
    dev->usage.unmaps++;
    dev->usage.time_ns += dev->cfg.unmap_ns;
    device_note_mapping(dev, DEVICE_CALL_UNMAP, range, offset, bytes, 0);
}

enum err device_map_again(struct device *dev, const struct segment *range, uint64_t offset, uint64_t bytes,
                          uint32_t phys)
{
    const enum err e = dev->ops->map(dev, range->addr + offset, bytes, phys);
    if (e != ERR_OK)
        return e;
    dev->usage.maps++;
    dev->usage.time_ns += dev->cfg.map_ns;
    device_note_mapping(dev, DEVICE_CALL_MAP, range, offset, bytes, phys);
    return ERR_OK;
}

void device_unmap_again(struct device *dev, const struct segment *range, uint64_t offset, uint64_t bytes)
{
    dev->ops->unmap(dev, range->addr + offset, bytes);
    dev->usage.unmaps++;
    dev->usage.time_ns += dev->cfg.unmap_ns;
    device_note_mapping(dev, DEVICE_CALL_UNMAP, range, offset, bytes, 0);
}

void device_count_in(struct device *dev, const struct segment *from, const struct segment *to, uint64_t bytes)
{
    dev->segments[from->id].mapped_bytes -= bytes;
    dev->segments[to->id].mapped_bytes += bytes;
    device_range_moves(dev, from->id);
    device_range_moves(dev, to->id);
    dev->usage.recounts++;
    dev->usage.changes++;
}

/* ---- streams ---- */

static void device_order(struct device *dev, enum device_call_kind kind, uint64_t ns)
{
    dev->usage.time_ns += ns;
    device_note(dev, &(struct device_call){.kind = kind});
}

void device_wait_event(struct device *dev)
{
    dev->usage.waits++;
    device_order(dev, DEVICE_CALL_WAIT_EVENT, dev->cfg.wait_ns);
}

void device_stream_sync(struct device *dev)
{
    dev->usage.syncs++;
    device_order(dev, DEVICE_CALL_STREAM_SYNC, dev->cfg.sync_ns);
}

void device_sync(struct device *dev)
{
    dev->usage.syncs++;
    device_order(dev, DEVICE_CALL_DEVICE_SYNC, dev->cfg.sync_ns);
}

void device_list_addresses(struct device *dev, const uint64_t *addresses, size_t n)
{
    dev->cfg.addresses = n > 0 ? ADDRESSES_LIST : dev->opened_with;
    dev->cfg.address_list = addresses;
    dev->cfg.n_addresses = n;
    dev->n_listed = 0;
}

void device_reset_usage(struct device *dev)
{
    const struct device_usage was = dev->usage;
    dev->usage = (struct device_usage){
        .reserved_bytes = was.reserved_bytes, .reserved_peak_bytes = was.reserved_bytes,
        .page_bytes = was.page_bytes,         .page_peak_bytes = was.page_bytes,
        .segments = was.segments,             .segments_peak = was.segments,
        .ranges = was.ranges,
        .host_bytes = was.host_bytes,         .host_peak_bytes = was.host_bytes,
    };
}

void device_memory_info(const struct device *dev, uint64_t *free_bytes, uint64_t *total_bytes)
{
    *free_bytes = device_room(dev);
    *total_bytes = dev->cfg.total_bytes;
    if (dev->ops->memory_info == NULL)
        return;
    uint64_t free_there, total_there;
    dev->ops->memory_info(dev, &free_there, &total_there);
    if (free_there < *free_bytes)
        *free_bytes = free_there;
}

void device_set_others(struct device *dev, uint64_t bytes)
{
    dev->cfg.others_bytes = bytes;
}

bool device_is_as_large(const struct device *a, const struct device *b)
{
    return a->cfg.total_bytes == b->cfg.total_bytes && a->cfg.context_bytes == b->cfg.context_bytes &&
           a->cfg.others_bytes == b->cfg.others_bytes;
}

/* Whether two configs of simulated cards agree in everything except the memory and the source of addresses. */
static bool device_is_alike(const struct device_config *a, const struct device_config *b)
{
    return a->fail_from_call == b->fail_from_call && a->alloc_ns == b->alloc_ns && a->free_ns == b->free_ns &&
           a->map_ns == b->map_ns && a->unmap_ns == b->unmap_ns && a->wait_ns == b->wait_ns &&
           a->sync_ns == b->sync_ns && a->packing == b->packing &&
           a->base_addr == b->base_addr && a->hole_bytes == b->hole_bytes && a->queues == NULL && b->queues == NULL;
}

bool device_repeats(const struct device *done, const struct device *fresh)
{
    if (done->ops != fresh->ops || device_is_real(done->ops) || done->opened_with != fresh->opened_with ||
        done->opened_with == ADDRESSES_LIST || !device_is_alike(&done->cfg, &fresh->cfg))
        return false;
    if (device_is_as_large(done, fresh))
        return true;
    return device_room_with(fresh, 0) <= device_room_with(done, 0) && done->usage.refusals == 0 &&
           device_card_bytes(fresh, done->usage.page_peak_bytes) <= fresh->cfg.total_bytes;
}

uint64_t device_process_bytes(const struct device *dev, uint64_t page_bytes)
{
    return add_capped(page_bytes, dev->cfg.context_bytes);
}

uint64_t device_card_bytes(const struct device *dev, uint64_t page_bytes)
{
    return add_capped(device_process_bytes(dev, page_bytes), dev->cfg.others_bytes);
}
