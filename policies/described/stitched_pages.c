/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/* Blocks of pages, and the ranges that are stitched from them: stitched_pages.h. */
#include "policies/described/stitched_pages.h"

#include "base/array.h"
#include "policies/parts/split_coalesce.h"

#include <assert.h>
#include <inttypes.h>
#include <stdlib.h>

static const struct tie_kind by_place = {.has_numbers = false};

enum err stitched_pages_open(struct stitched_pages *s, const struct policy_config *cfg)
{
    s->device = cfg->device;
    enum err e = block_table_hold(&s->blocks, 64);
    if (e == ERR_OK)
        e = free_set_open(&s->free, &s->blocks, NULL, cfg->n_streams);
    for (uint32_t i = 0; i < cfg->n_streams && e == ERR_OK; i++)
        e = free_set_add_stream(&s->free, (uint16_t)i);
    return e;
}

static void range_close(struct primitive_range *r)
{
    for (uint32_t i = 0; i < r->n_pages && r->pages != NULL; i++)
        free(r->pages[i].held_by);
    free(r->pages);
    *r = (struct primitive_range){.n_pages = 0};
}

void stitched_pages_close(struct stitched_pages *s)
{
    for (size_t i = 0; i < s->n_ranges; i++)
        range_close(&s->ranges[i]);
    for (size_t i = 0; i < s->n_stitched; i++)
        free(s->stitched[i].pages);
    free(s->ranges);
    free(s->stitched);
    free_set_close(&s->free);
    block_table_close(&s->blocks);
}

/* ---- blocks ---- */

static struct block_entry *entry(const struct stitched_pages *s, uint32_t b)
{
    return &s->blocks.at[b];
}

static uint32_t first_page(const struct stitched_pages *s, uint32_t b)
{
    const struct block_entry *e = entry(s, b);
    return (uint32_t)((e->addr - s->ranges[e->segment].seg.addr) / STITCHED_PAGE_BYTES);
}

static uint32_t page_count(const struct stitched_pages *s, uint32_t b)
{
    return (uint32_t)(entry(s, b)->size / STITCHED_PAGE_BYTES);
}

/* The first page of a block; the others follow it. */
static struct stitched_page *pages_of(const struct stitched_pages *s, uint32_t b)
{
    return &s->ranges[entry(s, b)->segment].pages[first_page(s, b)];
}

/* Writes into its pages which block holds them. */
static void own_pages(struct stitched_pages *s, uint32_t b)
{
    struct stitched_page *page = pages_of(s, b);
    for (uint32_t i = 0, n = page_count(s, b); i < n; i++)
        page[i].block = b;
}

/* The pages of a block are in use from now on, or no longer. */
static void use_pages(struct stitched_pages *s, uint32_t b, bool is_used)
{
    const struct stitched_page *page = pages_of(s, b);
    for (uint32_t i = 0, n = page_count(s, b); i < n; i++)
        for (size_t k = 0; k < page[i].n_held_by; k++)
            s->stitched[page[i].held_by[k]].n_used += is_used ? 1 : UINT32_MAX;
}

static void note_first(struct stitched_pages *s, uint32_t b)
{
    if (entry(s, b)->prev == BLOCK_NONE)
        s->ranges[entry(s, b)->segment].first = b;
}

static void allocate(struct stitched_pages *s, uint32_t b)
{
    entry(s, b)->flags |= BLOCK_IS_ALLOCATED;
    use_pages(s, b, true);
}

enum err stitched_pages_take(struct stitched_pages *s, uint32_t b, uint64_t bytes)
{
    const enum err e = block_table_reserve(&s->blocks, 1);
    if (e != ERR_OK)
        return e;
    free_set_remove(&s->free, b);
    if (entry(s, b)->size > bytes) {
        const uint32_t rest = block_split_back(&s->blocks, b, entry(s, b)->size - bytes, by_place);
        own_pages(s, rest);
        free_set_insert(&s->free, rest);
        s->n_splits++;
    }
    allocate(s, b);
    return ERR_OK;
}

void stitched_pages_free(struct stitched_pages *s, uint32_t b)
{
    use_pages(s, b, false);
    entry(s, b)->flags &= (uint8_t)~BLOCK_IS_ALLOCATED;
    for (int is_front = 0; is_front < 2; is_front++) {
        const uint32_t neighbour = is_front ? entry(s, b)->prev : entry(s, b)->next;
        if (!block_is_idle(&s->blocks, neighbour))
            continue;
        free_set_remove(&s->free, neighbour);
        block_swallow(&s->blocks, b, is_front != 0, false);
        s->n_coalesces++;
    }
    own_pages(s, b);
    note_first(s, b);
    free_set_insert(&s->free, b);
}

/* ---- primitive ranges ---- */

/* Gives the first n pages of a range back, and its addresses. */
static void range_release(struct stitched_pages *s, struct primitive_range *r, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++) {
        device_unmap(s->device, &r->seg, i * STITCHED_PAGE_BYTES, STITCHED_PAGE_BYTES);
        device_phys_destroy(s->device, r->pages[i].phys, STITCHED_PAGE_BYTES);
    }
    device_range_free(s->device, &r->seg);
    s->n_pages -= n;
    range_close(r);
}

static enum err page_fill(struct stitched_pages *s, struct primitive_range *r, uint32_t page)
{
    uint32_t phys;
    enum err e = device_phys_create(s->device, STITCHED_PAGE_BYTES, &phys);
    if (e != ERR_OK)
        return e;
    e = device_map(s->device, &r->seg, page * STITCHED_PAGE_BYTES, STITCHED_PAGE_BYTES, phys);
    if (e != ERR_OK)
        device_phys_destroy(s->device, phys, STITCHED_PAGE_BYTES);
    r->pages[page].phys = phys;
    return e;
}

static enum err range_fill(struct stitched_pages *s, struct primitive_range *r)
{
    enum err e = ERR_OK;
    for (uint32_t i = 0; i < r->n_pages; i++) {
        if ((e = page_fill(s, r, i)) != ERR_OK) {
            range_release(s, r, i);
            return e;
        }
        s->n_pages++;
    }
    return ERR_OK;
}

/* The number of a vacant entry; room for one more was made. */
static uint32_t vacant_range(struct stitched_pages *s)
{
    for (size_t i = 0; i < s->n_ranges; i++)
        if (s->ranges[i].seg.bytes == 0)
            return (uint32_t)i;
    s->ranges[s->n_ranges] = (struct primitive_range){.n_pages = 0};
    return (uint32_t)s->n_ranges++;
}

/* The one block of a new range. */
static uint32_t range_block(struct stitched_pages *s, uint32_t number, uint16_t stream)
{
    struct primitive_range *r = &s->ranges[number];
    const uint32_t b = block_table_new(&s->blocks);
    *entry(s, b) = (struct block_entry){.addr = r->seg.addr, .size = r->seg.bytes, .tie = s->places_end,
                                        .segment = number, .stream = stream,
                                        .flags = BLOCK_IS_USED | BLOCK_IS_ALLOCATED};
    s->places_end += r->seg.bytes;
    r->first = b;
    own_pages(s, b);
    return b;
}

enum err stitched_pages_grow(struct stitched_pages *s, uint32_t n, uint16_t stream, uint32_t *block)
{
    struct primitive_range *ranges = array_grow(s->ranges, s->n_ranges, &s->room_ranges, sizeof *ranges);
    if (ranges == NULL)
        return ERR_HOST_NOMEM;
    s->ranges = ranges;
    struct primitive_range made = {.n_pages = n, .pages = calloc(n, sizeof *made.pages)};
    enum err e = made.pages == NULL ? ERR_HOST_NOMEM : block_table_reserve(&s->blocks, 1);
    if (e == ERR_OK)
        e = device_range_reserve(s->device, n * STITCHED_PAGE_BYTES, &made.seg);
    if (e != ERR_OK) {
        range_close(&made);
        return e;
    }
    if ((e = range_fill(s, &made)) != ERR_OK)
        return e;
    const uint32_t number = vacant_range(s);
    s->ranges[number] = made;
    *block = range_block(s, number, stream);
    return ERR_OK;
}

/* ---- stitched ranges ---- */

static void page_forget(struct stitched_page *page, uint32_t range)
{
    size_t at = 0;
    while (page->held_by[at] != range)
        at++;
    page->held_by[at] = page->held_by[--page->n_held_by];
}

static struct stitched_page *page_at(const struct stitched_pages *s, struct page_place place)
{
    return &s->ranges[place.range].pages[place.page];
}

/* Takes the first n pages of a stitched range out of it, and gives its addresses back. */
static void unstitch(struct stitched_pages *s, uint32_t number, uint32_t n)
{
    struct stitched_range *r = &s->stitched[number];
    for (uint32_t i = 0; i < n; i++) {
        device_unmap_again(s->device, &r->seg, i * STITCHED_PAGE_BYTES, STITCHED_PAGE_BYTES);
        page_forget(page_at(s, r->pages[i]), number);
    }
    s->stitched_bytes -= r->seg.bytes;
    device_range_free(s->device, &r->seg);
    free(r->pages);
    *r = (struct stitched_range){.n_pages = 0};
}

static enum err stitch_page(struct stitched_pages *s, uint32_t number, uint32_t i)
{
    struct stitched_range *r = &s->stitched[number];
    struct stitched_page *page = page_at(s, r->pages[i]);
    uint32_t *held_by = array_grow(page->held_by, page->n_held_by, &page->room, sizeof *held_by);
    if (held_by == NULL)
        return ERR_HOST_NOMEM;
    page->held_by = held_by;
    const enum err e = device_map_again(s->device, &r->seg, i * STITCHED_PAGE_BYTES, STITCHED_PAGE_BYTES, page->phys);
    if (e == ERR_OK)
        held_by[page->n_held_by++] = number;
    return e;
}

/* Lists the pages of blocks. */
static void list_pages(const struct stitched_pages *s, const uint32_t *blocks, size_t n, struct page_place *out)
{
    for (size_t k = 0; k < n; k++)
        for (uint32_t i = 0, first = first_page(s, blocks[k]); i < page_count(s, blocks[k]); i++)
            *out++ = (struct page_place){.range = entry(s, blocks[k])->segment, .page = first + i};
}

static uint32_t vacant_stitched(struct stitched_pages *s)
{
    for (size_t i = 0; i < s->n_stitched; i++)
        if (s->stitched[i].seg.bytes == 0)
            return (uint32_t)i;
    return (uint32_t)s->n_stitched++;
}

/* The first n pages of a stitched range count there, or again where they belong. */
static void count_pages(struct stitched_pages *s, const struct stitched_range *r, uint32_t n, bool is_there)
{
    for (uint32_t i = 0; i < n; i++) {
        const struct segment *home = &s->ranges[r->pages[i].range].seg;
        device_count_in(s->device, is_there ? home : &r->seg, is_there ? &r->seg : home, STITCHED_PAGE_BYTES);
    }
}

enum err stitched_pages_stitch(struct stitched_pages *s, const uint32_t *blocks, size_t n, uint32_t *range)
{
    struct stitched_range *all = array_grow(s->stitched, s->n_stitched, &s->room_stitched, sizeof *all);
    struct stitched_range made = {.n_pages = 0, .stream = entry(s, blocks[0])->stream};
    if (all == NULL)
        return ERR_HOST_NOMEM;
    s->stitched = all;
    for (size_t k = 0; k < n; k++)
        made.n_pages += page_count(s, blocks[k]);
    made.n_used = made.n_handed = made.n_pages;
    made.used_at = ++s->clock;
    made.pages = calloc(made.n_pages, sizeof *made.pages);
    enum err e = made.pages == NULL ? ERR_HOST_NOMEM
                                    : device_range_reserve(s->device, made.n_pages * STITCHED_PAGE_BYTES, &made.seg);
    if (e != ERR_OK) {
        free(made.pages);
        return e;
    }
    list_pages(s, blocks, n, made.pages);
    const uint32_t number = vacant_stitched(s);
    s->stitched[number] = made;
    s->stitched_bytes += made.seg.bytes;
    for (uint32_t i = 0; i < made.n_pages; i++)
        if ((e = stitch_page(s, number, i)) != ERR_OK) {
            unstitch(s, number, i);
            return e;
        }
    count_pages(s, &s->stitched[number], made.n_pages, true);
    *range = number;
    return ERR_OK;
}

/* Makes the part of a free block that holds pages [first, end) of its range a block of its own, and allocates it.
 * Returns the page after it. */
static uint32_t take_part(struct stitched_pages *s, uint32_t b, uint32_t first, uint32_t end)
{
    const uint32_t begin = first_page(s, b);
    free_set_remove(&s->free, b);
    if (first > begin) {
        const uint32_t before = block_split_front(&s->blocks, b, (first - begin) * STITCHED_PAGE_BYTES, by_place);
        own_pages(s, before);
        note_first(s, before);
        free_set_insert(&s->free, before);
    }
    if (first + page_count(s, b) > end) {
        const uint64_t kept = (end - first) * STITCHED_PAGE_BYTES;
        const uint32_t after = block_split_back(&s->blocks, b, entry(s, b)->size - kept, by_place);
        own_pages(s, after);
        free_set_insert(&s->free, after);
    }
    entry(s, b)->requested = 0;
    allocate(s, b);
    return first + page_count(s, b);
}

enum err stitched_pages_take_range(struct stitched_pages *s, uint32_t number, uint32_t n)
{
    struct stitched_range *r = &s->stitched[number];
    assert(n <= r->n_pages && r->n_used == 0);
    const enum err e = block_table_reserve(&s->blocks, 2 * n);
    if (e != ERR_OK)
        return e;
    for (uint32_t i = 0; i < n;) {
        const struct page_place from = r->pages[i];
        uint32_t end = from.page + 1;
        for (i++; i < n && r->pages[i].range == from.range && r->pages[i].page == end; i++)
            end++;
        for (uint32_t at = from.page; at < end;)
            at = take_part(s, s->ranges[from.range].pages[at].block, at, end);
    }
    count_pages(s, r, n, true);
    r->n_handed = n;
    r->used_at = ++s->clock;
    return ERR_OK;
}

void stitched_pages_free_range(struct stitched_pages *s, uint32_t number)
{
    struct stitched_range *r = &s->stitched[number];
    const uint32_t n = r->n_handed;
    count_pages(s, r, n, false);
    r->n_handed = 0;
    for (uint32_t i = 0; i < n; i++) {
        const uint32_t b = page_at(s, r->pages[i])->block;
        if (!block_is_idle(&s->blocks, b))
            stitched_pages_free(s, b);
    }
}

void stitched_pages_drop_range(struct stitched_pages *s, uint32_t number)
{
    assert(s->stitched[number].n_handed == 0);
    unstitch(s, number, s->stitched[number].n_pages);
}

static bool is_held(const struct primitive_range *r)
{
    for (uint32_t i = 0; i < r->n_pages; i++)
        if (r->pages[i].n_held_by > 0)
            return true;
    return false;
}

void stitched_pages_give_back(struct stitched_pages *s)
{
    for (uint32_t i = 0; i < s->n_stitched; i++)
        if (s->stitched[i].seg.bytes > 0 && s->stitched[i].n_handed == 0)
            stitched_pages_drop_range(s, i);
    for (size_t i = 0; i < s->n_ranges; i++) {
        struct primitive_range *r = &s->ranges[i];
        if (r->seg.bytes == 0 || !block_is_idle(&s->blocks, r->first) || block_is_split(entry(s, r->first)) ||
            is_held(r))
            continue;
        free_set_remove(&s->free, r->first);
        block_table_drop(&s->blocks, r->first);
        range_release(s, r, r->n_pages);
    }
}

/* ---- showing and checking ---- */

/* A block that a stitched range uses is shown there. */
static void show_blocks(const struct stitched_pages *s, const struct primitive_range *r, block_visit visit, void *arg)
{
    for (uint32_t b = r->first; b != BLOCK_NONE; b = entry(s, b)->next) {
        const struct block_entry *at = entry(s, b);
        const bool is_free = block_is_idle(&s->blocks, b);
        const struct block_view v = {.addr = at->addr, .bytes = at->size, .requested = at->requested,
                                     .segment_addr = r->seg.addr, .segment = r->seg.id, .stream = at->stream,
                                     .state = is_free ? BLOCK_FREE : BLOCK_ALLOCATED};
        if (is_free || at->requested > 0)
            visit(arg, &v);
    }
}

void stitched_pages_show(const struct stitched_pages *s, block_visit visit, void *arg)
{
    for (size_t i = 0; i < s->n_ranges; i++)
        if (s->ranges[i].seg.bytes > 0)
            show_blocks(s, &s->ranges[i], visit, arg);
    for (size_t i = 0; i < s->n_stitched; i++) {
        const struct stitched_range *r = &s->stitched[i];
        const struct block_view v = {.addr = r->seg.addr, .bytes = r->n_handed * STITCHED_PAGE_BYTES,
                                     .requested = r->requested, .segment_addr = r->seg.addr, .segment = r->seg.id,
                                     .stream = r->stream, .state = BLOCK_ALLOCATED};
        if (r->n_handed > 0)
            visit(arg, &v);
    }
}

/* Adds up a range's chain: *n_stitched, the pages that stitched ranges use. False if it does not cover the range. */
static bool chain_is_right(const struct stitched_pages *s, uint32_t number, uint64_t *n_stitched)
{
    const struct primitive_range *r = &s->ranges[number];
    uint64_t end = r->seg.addr;
    uint32_t before = BLOCK_NONE;
    for (uint32_t b = r->first; b != BLOCK_NONE; before = b, b = entry(s, b)->next) {
        const struct block_entry *at = entry(s, b);
        const bool is_right = at->addr == end && at->prev == before && at->segment == number && at->size > 0;
        if (!is_right || pages_of(s, b)->block != b || pages_of(s, b)[page_count(s, b) - 1].block != b)
            return false;
        end += at->size;
        if (!block_is_idle(&s->blocks, b) && at->requested == 0)
            *n_stitched += page_count(s, b);
    }
    return end == r->seg.addr + r->seg.bytes;
}

/* Counts again how many pages of a stitched range are in use. False if it was counted wrong, or if a page that it
 * handed out is not. */
static bool uses_are_right(const struct stitched_pages *s, const struct stitched_range *r)
{
    uint32_t n_used = 0;
    for (uint32_t i = 0; i < r->n_pages; i++) {
        const uint32_t b = page_at(s, r->pages[i])->block;
        const bool is_used = !block_is_idle(&s->blocks, b);
        n_used += is_used;
        if (i < r->n_handed && (!is_used || entry(s, b)->requested > 0))
            return false;
    }
    return n_used == r->n_used;
}

enum err stitched_pages_check(const struct stitched_pages *s, struct err_detail *err)
{
    uint64_t n_pages = 0, n_in_chains = 0, n_handed = 0;
    for (uint32_t i = 0; i < s->n_ranges; i++) {
        n_pages += s->ranges[i].n_pages;
        if (s->ranges[i].seg.bytes > 0 && !chain_is_right(s, i, &n_in_chains))
            return err_set(err, ERR_CORRUPT, 0, "the blocks do not cover their range %" PRIu32, i);
    }
    for (size_t i = 0; i < s->n_stitched; i++) {
        n_handed += s->stitched[i].n_handed;
        if (!uses_are_right(s, &s->stitched[i]))
            return err_set(err, ERR_CORRUPT, 0, "stitched range %zu miscounts its pages in use", i);
    }
    if (n_pages != s->n_pages || n_handed != n_in_chains)
        return err_set(err, ERR_CORRUPT, 0, "%" PRIu64 " pages are held and %" PRIu64 " counted; %" PRIu64 " are "
                       "handed out stitched and %" PRIu64 " used so", n_pages, s->n_pages, n_handed, n_in_chains);
    return ERR_OK;
}
