/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * Expandable segments: address ranges that grow and shrink by pages.
 *
 * A range is one chain of blocks, in order of address, mapped or unmapped:
 *
 *     range   |  page   |  page   |  page   |  page   |  page   |  page   |
 *     memory  |#########|#########|#########|         |#########|         |
 *     blocks  [  live  ][  free  ][  live  ][unmapped][  live  ][unmapped]
 *
 * Neighbouring unmapped blocks always coalesce, so a mapped block is followed by at most one unmapped block. A request
 * takes a free block that fits; else the lowest run of free and unmapped blocks that adds up to its size, of which the
 * missing pages are mapped; else a new range. Giving back unmaps the whole pages inside a free block; what is left of
 * it before and after them stays a free block.
 */
#include "policies/pytorch/pytorch_steps.h"

#include "base/array.h"

#include <stdlib.h>
#include <string.h>

#define UNLIMITED_TOTAL TIB      /* the assumed total of an unlimited device */

uint64_t pytorch_reserve(const struct pytorch *p)
{
    const uint64_t capacity = p->base.device->cfg.total_bytes;
    const uint64_t total = capacity == DEVICE_UNLIMITED ? UNLIMITED_TOTAL : capacity;
    const uint64_t whole = total + total / 8;
    uint64_t wanted = whole;
    if (p->settings.reserve_kind == RESERVE_BYTES)
        wanted = p->settings.reserve_bytes;
    else if (p->settings.reserve_kind == RESERVE_SHARE && p->settings.reserve_share < 2)
        wanted = (uint64_t)(p->settings.reserve_share * (double)total);
    return wanted < whole ? wanted : whole;
}

static struct pytorch_range *range_at(const struct pytorch *p, const struct block_entry *b)
{
    return &p->ranges[p->segments[b->segment].range];
}

const struct pytorch_range *pytorch_range_of(const struct pytorch *p, const struct block_entry *b)
{
    return range_at(p, b);
}

/* ---- order B: unmapped stretches by stream handle, then address ---- */

static bool unmapped_before(const struct pytorch *p, const struct block_entry *a, const struct block_entry *b)
{
    const uint64_t ha = p->streams[a->stream].handle, hb = p->streams[b->stream].handle;
    return ha != hb ? ha < hb : a->addr < b->addr;
}

/* The index of a block in the list, or where it would be inserted. Only its stream and address count. */
static uint32_t unmapped_place(const struct pytorch *p, const struct pytorch_half *half, const struct block_entry *b)
{
    uint32_t low = 0, high = half->n_unmapped;
    while (low < high) {
        const uint32_t mid = low + (high - low) / 2;
        if (unmapped_before(p, pytorch_at(p, half->unmapped[mid]), b))
            low = mid + 1;
        else
            high = mid;
    }
    return low;
}

void pytorch_insert_unmapped(struct pytorch *p, uint32_t b)
{
    const struct block_entry *block = pytorch_at(p, b);
    struct pytorch_half *half = pytorch_half_of(p, block);
    if (half->n_unmapped == half->cap_unmapped) {
        const uint32_t cap = half->cap_unmapped == 0 ? 16 : 2 * half->cap_unmapped;
        uint32_t *unmapped = realloc(half->unmapped, cap * sizeof *unmapped);
        if (unmapped == NULL) {
            p->base.failure = ERR_HOST_NOMEM;
            return;
        }
        half->unmapped = unmapped;
        half->cap_unmapped = cap;
    }
    const uint32_t at = unmapped_place(p, half, block);
    memmove(half->unmapped + at + 1, half->unmapped + at, (half->n_unmapped - at) * sizeof *half->unmapped);
    half->unmapped[at] = b;
    half->n_unmapped++;
}

void pytorch_remove_unmapped(struct pytorch *p, uint32_t b)
{
    const struct block_entry *block = pytorch_at(p, b);
    struct pytorch_half *half = pytorch_half_of(p, block);
    const uint32_t at = unmapped_place(p, half, block);
    if (at == half->n_unmapped || half->unmapped[at] != b)
        return;                      /* inserting it failed: the host was out of memory */
    half->n_unmapped--;
    memmove(half->unmapped + at, half->unmapped + at + 1, (half->n_unmapped - at) * sizeof *half->unmapped);
}

uint32_t pytorch_find_unmapped(const struct pytorch *p, const struct pytorch_half *half, uint16_t stream, uint64_t addr)
{
    const struct block_entry at = {.stream = stream, .addr = addr};
    const uint32_t i = unmapped_place(p, half, &at);
    for (uint32_t k = i < half->n_unmapped ? i + 1 : i; k > 0 && k + 1 > i; k--) {      /* it begins there or before */
        const struct block_entry *b = pytorch_at(p, half->unmapped[k - 1]);
        if (b->stream == stream && addr >= b->addr && addr - b->addr < b->size)
            return half->unmapped[k - 1];
    }
    return BLOCK_NONE;
}

/* ---- ranges ---- */

static enum err range_enter(struct pytorch *p, const struct pytorch_range *range, uint64_t *tie)
{
    const uint32_t i = p->vacant_range != LINK_NONE ? p->vacant_range : p->n_ranges;
    if (i == p->n_ranges) {
        struct pytorch_range *ranges = array_grow(p->ranges, p->n_ranges, &p->cap_ranges, sizeof *ranges);
        if (ranges == NULL)
            return ERR_HOST_NOMEM;
        p->ranges = ranges;
    }
    const enum err e = pytorch_segment_enter(p, &range->seg, tie);
    if (e != ERR_OK)
        return e;
    if (i == p->vacant_range)
        p->vacant_range = p->ranges[i].next_vacant;
    p->ranges[i] = *range;
    p->segments[range->seg.id].range = i;
    if (i == p->n_ranges)
        p->n_ranges++;
    return ERR_OK;
}

/* Handles of pages in one chunk. */
enum { RANGE_CHUNK = 1024 };

static uint64_t range_n_chunks(const struct pytorch_range *r)
{
    return r->seg.bytes / r->page_bytes / RANGE_CHUNK + 1;
}

/* The handle of a page whose chunk is there. */
static uint32_t *range_phys(const struct pytorch_range *r, uint64_t page)
{
    return &r->phys[page / RANGE_CHUNK][page % RANGE_CHUNK];
}

/* Makes sure that the pages from `first` until before `end` have chunks. */
static enum err range_hold(struct pytorch_range *r, uint64_t first, uint64_t end)
{
    for (uint64_t k = first / RANGE_CHUNK; k * RANGE_CHUNK < end; k++)
        if (r->phys[k] == NULL && (r->phys[k] = calloc(RANGE_CHUNK, sizeof **r->phys)) == NULL)
            return ERR_HOST_NOMEM;
    return ERR_OK;
}

static void range_free_phys(const struct pytorch_range *r)
{
    for (uint64_t k = 0; r->phys != NULL && k < range_n_chunks(r); k++)
        free(r->phys[k]);
    free(r->phys);
}

/* Gives the addresses back. No page of the range has memory any more. */
static void range_forget(struct pytorch *p, struct pytorch_range *range)
{
    device_range_free(p->base.device, &range->seg);
    range_free_phys(range);
    *range = (struct pytorch_range){.next_vacant = p->vacant_range};
    p->vacant_range = (uint32_t)(range - p->ranges);
}

static uint64_t new_page_bytes(const struct pytorch *p, enum pytorch_size_class c)
{
    if (p->without & RULE_SEGMENT_SIZES)
        return p->base.device->cfg.page_bytes;
    return c == CLASS_SMALL ? TORCH_SMALL_SEGMENT : p->settings.large_segment_size;
}

enum err pytorch_create_range(struct pytorch *p, uint8_t pool, enum pytorch_size_class c, uint64_t S, uint16_t stream,
                              uint64_t reserve, uint32_t *out)
{
    const uint64_t page = new_page_bytes(p, c);
    const uint64_t bytes = round_up(reserve, page);
    struct pytorch_range range = {.page_bytes = page};
    enum err e = device_range_reserve(p->base.device, bytes, &range.seg);
    if (e != ERR_OK)
        return e == ERR_DEVICE_OOM ? ERR_OK : e;
    if (bytes < S && p->rules.has_reserve) {
        device_range_free(p->base.device, &range.seg);
        return ERR_OK;
    }
    range.phys = calloc(array_bytes(range_n_chunks(&range), sizeof *range.phys), 1);
    uint64_t tie;
    e = range.phys == NULL ? ERR_HOST_NOMEM : range_enter(p, &range, &tie);
    if (e != ERR_OK) {
        device_range_free(p->base.device, &range.seg);
        range_free_phys(&range);
        return e;
    }
    const uint32_t b = block_table_new(&p->blocks);
    *pytorch_at(p, b) = (struct block_entry){
        .addr = range.seg.addr, .size = bytes, .tie = tie, .segment = range.seg.id, .stream = stream, .pool = pool,
        .flags =
            (uint8_t)(BLOCK_IS_USED | BLOCK_IS_RANGE | BLOCK_IS_UNMAPPED | (c == CLASS_SMALL ? BLOCK_IS_SMALL : 0)),
    };
    struct pytorch_half *half = pytorch_half(p, pool, c);
    if (half->least_page_bytes == 0 || half->least_page_bytes > page)
        half->least_page_bytes = page;
    pytorch_insert_unmapped(p, b);
    *out = b;
    return p->base.failure;
}

/* Gives the pages of [addr, addr + n) memory: creates all of it first, then maps all. *attached is 0 if the device has
 * not enough. */
static enum err range_attach(struct pytorch *p, struct pytorch_range *r, uint64_t addr, uint64_t n, uint64_t *attached)
{
    struct device *dev = p->base.device;
    const uint64_t first = (addr - r->seg.addr) / r->page_bytes;
    const uint64_t end = (addr - r->seg.addr + n + r->page_bytes - 1) / r->page_bytes;
    enum err e = range_hold(r, first, end);
    uint64_t made = first, mapped = first;
    while (made < end && e == ERR_OK) {
        e = device_phys_create(dev, r->page_bytes, range_phys(r, made));
        made += e == ERR_OK;
    }
    while (mapped < end && e == ERR_OK) {
        e = device_map(dev, &r->seg, mapped * r->page_bytes, r->page_bytes, *range_phys(r, mapped));
        mapped += e == ERR_OK;
    }
    *attached = (end - first) * r->page_bytes;
    if (e == ERR_OK)
        return e;
    for (uint64_t i = first; i < made; i++) {
        if (i < mapped)
            device_unmap(dev, &r->seg, i * r->page_bytes, r->page_bytes);
        device_phys_destroy(dev, *range_phys(r, i), r->page_bytes);
        *range_phys(r, i) = 0;
    }
    *attached = 0;
    return e == ERR_DEVICE_OOM ? ERR_OK : e;
}

bool pytorch_map_part(struct pytorch *p, uint32_t u, uint64_t n, enum err *failure)
{
    struct block_entry *block = pytorch_at(p, u);
    const uint64_t addr = block->addr;
    uint64_t attached;
    *failure = range_attach(p, range_at(p, block), addr, n, &attached);
    if (*failure != ERR_OK || attached == 0)
        return false;
    pytorch_remove_unmapped(p, u);
    block->flags &= (uint8_t)~BLOCK_IS_UNMAPPED;
    if (attached < block->size) {
        const uint32_t rest = pytorch_split_back(p, u, block->size - attached);
        pytorch_at(p, rest)->flags |= BLOCK_IS_UNMAPPED;
        pytorch_insert_unmapped(p, rest);
    }
    const struct pytorch_home home = pytorch_home_of(p, block);
    uint64_t won;
    pytorch_coalesce(p, home, u, &won);
    pytorch_take_home(p, home, u);
    pytorch_hold(p, block->pool, pytorch_class(block), attached);
    p->stats.num_device_alloc++;
    pytorch_record(p, RECORD_SEGMENT_MAP, block->stream, block->pool, addr, attached);
    return true;
}

/* Whether the free blocks from b on, mapped or not, add up to S bytes. */
static bool run_reaches(const struct pytorch *p, uint32_t b, uint64_t S)
{
    uint64_t sum = 0;
    for (; b != BLOCK_NONE && sum < S; b = pytorch_at(p, b)->next) {
        if (!block_is_free(pytorch_at(p, b)))
            return false;
        sum = add_capped(sum, pytorch_at(p, b)->size);
    }
    return sum >= S;
}

uint32_t pytorch_find_run(const struct pytorch *p, const struct pytorch_half *half, uint64_t S, uint16_t stream)
{
    const struct block_entry first = {.stream = stream};
    for (uint32_t i = unmapped_place(p, half, &first); i < half->n_unmapped; i++) {
        const uint32_t u = half->unmapped[i];
        const struct block_entry *block = pytorch_at(p, u);
        if (p->streams[block->stream].handle != p->streams[stream].handle)
            break;
        if (block->stream != stream)
            continue;
        const bool has_front = block->prev != BLOCK_NONE && block_is_free(pytorch_at(p, block->prev));
        const uint32_t c = has_front ? block->prev : u;
        if (run_reaches(p, c, S + pytorch_gap(p, pytorch_at(p, c), S)))
            return c;
    }
    return BLOCK_NONE;
}

static uint64_t smaller(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

uint64_t pytorch_expandable_needs(const struct pytorch *p, uint8_t pool, enum pytorch_size_class c, uint64_t S,
                                  uint16_t stream)
{
    uint32_t b = pytorch_find_run(p, pytorch_half(p, pool, c), S, stream);
    if (b == BLOCK_NONE)
        return round_up(S, new_page_bytes(p, c));
    const uint64_t page = pytorch_range_of(p, pytorch_at(p, b))->page_bytes;
    uint64_t sum = 0, needs = 0;
    S += pytorch_gap(p, pytorch_at(p, b), S);
    for (; b != BLOCK_NONE && sum < S; b = pytorch_at(p, b)->next) {
        const struct block_entry *block = pytorch_at(p, b);
        const bool is_unmapped = block->flags & BLOCK_IS_UNMAPPED;
        const uint64_t part = is_unmapped ? round_up(smaller(block->size, S - sum), page) : block->size;
        needs += is_unmapped ? part : 0;
        sum += part;
    }
    return needs;
}

enum err pytorch_grow_expandable(struct pytorch *p, uint8_t pool, enum pytorch_size_class c, uint64_t S,
                                 uint16_t stream, uint32_t *out)
{
    struct pytorch_half *half = pytorch_half(p, pool, c);
    uint32_t b = pytorch_find_run(p, half, S, stream);
    enum err e = ERR_OK;
    *out = BLOCK_NONE;
    if (b == BLOCK_NONE) {
        const uint64_t span = pytorch_expands(p) ? pytorch_reserve(p) : pytorch_segment_span(p, S);
        e = pytorch_create_range(p, pool, c, S, stream, span, &b);
        if (e != ERR_OK || b == BLOCK_NONE)
            return e;
    }
    S += pytorch_gap(p, pytorch_at(p, b), S);
    if (pytorch_at(p, b)->flags & BLOCK_IS_UNMAPPED && !pytorch_map_part(p, b, smaller(pytorch_at(p, b)->size, S), &e))
        return e;
    while (pytorch_at(p, b)->size < S) {
        const uint32_t next = pytorch_at(p, b)->next;
        if (next == BLOCK_NONE)
            return ERR_OK;           /* a range too small for the request, mapped to its end in vain */
        const uint64_t missing = S - pytorch_at(p, b)->size;
        if (!pytorch_map_part(p, next, smaller(missing, pytorch_at(p, next)->size), &e))
            return e;
        b = next;                    /* it has swallowed the block before it */
    }
    pytorch_leave_home(p, pytorch_home(half, stream), b);
    *out = b;
    return ERR_OK;
}

/* Splits `size` bytes off a block as a free block. */
static void cut_free(struct pytorch *p, uint32_t b, uint64_t size, bool is_front)
{
    pytorch_put_free(p, is_front ? pytorch_split_front(p, b, size) : pytorch_split_back(p, b, size));
}

/* An unmapped block in no list swallows a neighbour that is unmapped too. */
static void coalesce_unmapped(struct pytorch *p, uint32_t b, bool is_front)
{
    const uint32_t neighbour = is_front ? pytorch_at(p, b)->prev : pytorch_at(p, b)->next;
    if (!(pytorch_at(p, neighbour)->flags & BLOCK_IS_UNMAPPED))
        return;
    pytorch_remove_unmapped(p, neighbour);
    pytorch_swallow(p, b, is_front);
}

/* The pages of a range that lie wholly in a block: from `first` until before `end`. */
struct page_run {
    uint64_t first, end;
};

static struct page_run pages_inside(const struct pytorch_range *range, const struct block_entry *block)
{
    const uint64_t offset = block->addr - range->seg.addr;
    return (struct page_run){.first = round_up(offset, range->page_bytes) / range->page_bytes,
                             .end = (offset + block->size) / range->page_bytes};
}

bool pytorch_has_pages(const struct pytorch *p, const struct block_entry *block)
{
    if (!(block->flags & BLOCK_IS_RANGE))
        return false;
    const struct page_run inside = pages_inside(range_at(p, block), block);
    return inside.first < inside.end;
}

void pytorch_unmap(struct pytorch *p, uint32_t b)
{
    if (block_table_reserve(&p->blocks, PYTORCH_SPARE_BLOCKS + 2) != ERR_OK) {
        p->base.failure = ERR_HOST_NOMEM;
        return;
    }
    struct block_entry *block = pytorch_at(p, b);
    struct pytorch_range *range = range_at(p, block);
    struct device *dev = p->base.device;
    const struct page_run inside = pages_inside(range, block);
    if (inside.first >= inside.end)
        return;
    const uint64_t page = range->page_bytes;
    const uint64_t start = range->seg.addr + inside.first * page, bytes = (inside.end - inside.first) * page;
    pytorch_leave_home(p, pytorch_home_of(p, block), b);
    stream_queues_sync(dev->cfg.queues, block->stream, 1);
    for (uint64_t i = inside.first; i < inside.end; i++) {
        device_unmap(dev, &range->seg, i * page, page);
        device_phys_destroy(dev, *range_phys(range, i), page);
        *range_phys(range, i) = 0;
    }
    if (start > block->addr)
        cut_free(p, b, start - block->addr, true);
    if (bytes < block->size)
        cut_free(p, b, block->size - bytes, false);
    block->flags |= BLOCK_IS_UNMAPPED;
    coalesce_unmapped(p, b, true);
    coalesce_unmapped(p, b, false);
    pytorch_insert_unmapped(p, b);
    pytorch_unhold(p, block->pool, pytorch_class(block), bytes);
    if (block->pool != 0)
        p->pools[block->pool].device_allocs--;
    p->stats.num_device_free++;
    pytorch_record(p, RECORD_SEGMENT_UNMAP, block->stream, block->pool, start, bytes);
    if (!block_is_split(block)) {
        pytorch_remove_unmapped(p, b);
        range_forget(p, range);
        block_table_drop(&p->blocks, b);
    }
}

void pytorch_ranges_close(struct pytorch *p)
{
    for (uint32_t i = 0; i < p->n_ranges; i++)
        range_free_phys(&p->ranges[i]);
    free(p->ranges);
}
