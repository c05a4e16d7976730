/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/* Pages of blocks: lists of pages with room, and chains of slots. */
#include "replay/pools/kv_pages.h"

#include <assert.h>
#include <stdlib.h>

#define SLOTS_MAX (UINT64_C(1) << 26)

enum err kv_pages_open(struct kv_pages *out, uint64_t bytes, size_t n_holds, struct err_detail *err)
{
    const uint64_t n_pages = bytes / out->page_bytes;
    uint64_t most = 1;
    for (uint32_t k = 0; k < out->n_classes; k++) {
        const uint64_t n = out->page_bytes / out->block_bytes[k];
        if (n == 0)
            return err_set(err, ERR_USAGE, 0, "kvcached: a block is larger than a page: make blocks of fewer tokens, "
                           "or pages larger");
        most = n > most ? n : most;
        out->per_page[k] = (uint32_t)(n < SLOTS_MAX ? n : SLOTS_MAX);
    }
    if (n_pages > SLOTS_MAX || most > SLOTS_MAX || n_pages * most > SLOTS_MAX)
        return err_set(err, ERR_USAGE, 0, "the memory has more than %llu blocks: make them larger",
                       (unsigned long long)SLOTS_MAX);
    out->n_pages = (uint32_t)n_pages;
    out->n_holds = (uint32_t)n_holds;
    out->slots_per_page = (uint32_t)most;
    out->pages = calloc(n_pages + 1, sizeof *out->pages);
    out->next_slot = calloc(n_pages * most + 1, sizeof *out->next_slot);
    out->of_hold = calloc(n_holds * KV_CLASSES + 1, sizeof *out->of_hold);
    out->room_of_hold = calloc(n_holds * KV_CLASSES + 1, sizeof *out->room_of_hold);
    out->turns = calloc(n_holds + 1, sizeof *out->turns);
    if (out->pages == NULL || out->next_slot == NULL || out->of_hold == NULL || out->room_of_hold == NULL ||
        out->turns == NULL)
        return err_no_memory(err);
    kv_pages_empty(out);
    return ERR_OK;
}

void kv_pages_close(struct kv_pages *p)
{
    free(p->pages);
    free(p->next_slot);
    free(p->of_hold);
    free(p->room_of_hold);
    free(p->turns);
}

void kv_pages_empty(struct kv_pages *p)
{
    for (uint32_t i = 0; i < p->n_pages; i++)
        p->pages[i] = (struct kv_page){ .links[KV_OF_CLASS].after = i + 1 < p->n_pages ? i + 1 : KV_NONE };
    p->free_page = p->n_pages > 0 ? 0 : KV_NONE;
    p->n_free_pages = p->n_pages;
    for (size_t i = 0; i < (size_t)p->n_holds * KV_CLASSES; i++) {
        p->of_hold[i] = KV_NONE;
        p->room_of_hold[i] = 0;
    }
    for (uint32_t k = 0; k < KV_CLASSES; k++) {
        p->of_class[k] = KV_NONE;
        p->room_of_class[k] = p->n_blocks[k] = 0;
    }
}

/* ---- lists of pages with room ---- */

static size_t place_of(uint32_t hold, uint32_t class)
{
    return (size_t)hold * KV_CLASSES + class;
}

static uint32_t *head_of(struct kv_pages *p, uint32_t page, enum kv_list list)
{
    const struct kv_page *g = &p->pages[page];
    return list == KV_OF_CLASS ? &p->of_class[g->class] : &p->of_hold[place_of(g->hold, g->class)];
}

static void list_add(struct kv_pages *p, uint32_t page, enum kv_list list)
{
    uint32_t *head = head_of(p, page, list);
    p->pages[page].links[list].before = KV_NONE;
    p->pages[page].links[list].after = *head;
    if (*head != KV_NONE)
        p->pages[*head].links[list].before = page;
    *head = page;
}

static void list_remove(struct kv_pages *p, uint32_t page, enum kv_list list)
{
    const uint32_t before = p->pages[page].links[list].before, after = p->pages[page].links[list].after;
    *(before == KV_NONE ? head_of(p, page, list) : &p->pages[before].links[list].after) = after;
    if (after != KV_NONE)
        p->pages[after].links[list].before = before;
}

/* A page has got room, or has lost it. */
static void page_list(struct kv_pages *p, uint32_t page)
{
    list_add(p, page, KV_OF_CLASS);
    if (p->pages[page].hold != KV_NONE)
        list_add(p, page, KV_OF_HOLD);
}

static void page_unlist(struct kv_pages *p, uint32_t page)
{
    list_remove(p, page, KV_OF_CLASS);
    if (p->pages[page].hold != KV_NONE)
        list_remove(p, page, KV_OF_HOLD);
}

static void count_room(struct kv_pages *p, uint32_t page, uint64_t more, uint64_t less)
{
    const struct kv_page *g = &p->pages[page];
    p->room_of_class[g->class] += more - less;
    if (g->hold != KV_NONE)
        p->room_of_hold[place_of(g->hold, g->class)] += more - less;
}

/* ---- pages ---- */

static uint32_t page_new(struct kv_pages *p, uint32_t hold, uint32_t class)
{
    const uint32_t page = p->free_page, first = page * p->slots_per_page;
    assert(page != KV_NONE);
    p->free_page = p->pages[page].links[KV_OF_CLASS].after;
    p->n_free_pages--;
    p->pages[page] = (struct kv_page){ .free_slot = first, .hold = p->is_by_hold ? hold : KV_NONE, .class = class,
                                        .turn = p->turns[hold] };
    for (uint32_t i = 0; i < p->per_page[class]; i++)
        p->next_slot[first + i] = i + 1 < p->per_page[class] ? first + i + 1 : KV_NONE;
    count_room(p, page, p->per_page[class], 0);
    page_list(p, page);
    return page;
}

/* Its last block went: it is of no class, and nobody's. It is listed, as it has room. */
static void page_free(struct kv_pages *p, uint32_t page)
{
    page_unlist(p, page);
    count_room(p, page, 0, p->per_page[p->pages[page].class]);
    p->pages[page].links[KV_OF_CLASS].after = p->free_page;
    p->free_page = page;
    p->n_free_pages++;
}

static void slot_give(struct kv_pages *p, uint32_t slot)
{
    const uint32_t page = slot / p->slots_per_page;
    struct kv_page *g = &p->pages[page];
    if (g->free_slot != KV_NONE)
        page_unlist(p, page);
    else if (g->hold != KV_NONE && g->turn != p->turns[g->hold])
        g->hold = KV_NONE;                               /* it went while others filled the page */
    p->next_slot[slot] = g->free_slot;
    g->free_slot = slot;
    g->n_used--;
    p->n_blocks[g->class]--;
    count_room(p, page, 1, 0);
    page_list(p, page);                                  /* before all others: it got room last */
    if (g->n_used == 0)
        page_free(p, page);
}

/* ---- blocks ---- */

static uint64_t least(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

bool kv_pages_have(const struct kv_pages *p, uint32_t hold, const uint64_t need[KV_CLASSES])
{
    uint64_t pages = p->n_free_pages;
    for (uint32_t k = 0; k < p->n_classes; k++) {
        const uint64_t nearest = p->is_by_hold ? p->room_of_hold[place_of(hold, k)] : p->room_of_class[k];
        const uint64_t beyond = need[k] - least(need[k], nearest);
        const uint64_t new_pages = least(pages, (beyond + p->per_page[k] - 1) / p->per_page[k]);
        if (beyond > new_pages * p->per_page[k] + (p->room_of_class[k] - nearest))
            return false;
        pages -= new_pages;
    }
    return true;
}

static uint32_t page_for(struct kv_pages *p, uint32_t hold, uint32_t class)
{
    const uint32_t own = p->is_by_hold ? p->of_hold[place_of(hold, class)] : p->of_class[class];
    return own != KV_NONE ? own : p->free_page != KV_NONE ? page_new(p, hold, class) : p->of_class[class];
}

void kv_pages_take(struct kv_pages *p, uint32_t hold, uint32_t class, struct kv_chain *chain)
{
    const uint32_t page = page_for(p, hold, class);
    assert(page != KV_NONE);
    struct kv_page *g = &p->pages[page];
    const uint32_t slot = g->free_slot;
    g->free_slot = p->next_slot[slot];
    g->n_used++;
    p->n_blocks[class]++;
    count_room(p, page, 0, 1);
    if (g->free_slot == KV_NONE)
        page_unlist(p, page);
    p->next_slot[slot] = KV_NONE;
    if (chain->n++ == 0)
        chain->oldest = slot;
    else
        p->next_slot[chain->newest] = slot;
    chain->newest = slot;
}

void kv_pages_give_oldest(struct kv_pages *p, struct kv_chain *chain)
{
    const uint32_t slot = chain->oldest;
    assert(chain->n > 0);
    chain->oldest = p->next_slot[slot];
    chain->n--;
    chain->first++;
    slot_give(p, slot);
}

/* Pages in which others have blocks stay, and are nobody's. */
static void hold_forget(struct kv_pages *p, uint32_t hold)
{
    p->turns[hold]++;
    for (uint32_t k = 0; k < p->n_classes && p->is_by_hold; k++) {
        while (p->of_hold[place_of(hold, k)] != KV_NONE) {
            const uint32_t page = p->of_hold[place_of(hold, k)];
            list_remove(p, page, KV_OF_HOLD);
            p->pages[page].hold = KV_NONE;
        }
        p->room_of_hold[place_of(hold, k)] = 0;
    }
}

void kv_pages_give_all(struct kv_pages *p, uint32_t hold, struct kv_chain chains[KV_CLASSES])
{
    for (uint32_t k = 0; k < p->n_classes; k++) {
        while (chains[k].n > 0)
            kv_pages_give_oldest(p, &chains[k]);
        chains[k] = (struct kv_chain){ .n = 0 };
    }
    hold_forget(p, hold);
}

uint64_t kv_pages_taken(const struct kv_pages *p)
{
    return (uint64_t)(p->n_pages - p->n_free_pages) * p->page_bytes;
}

uint64_t kv_pages_given(const struct kv_pages *p)
{
    uint64_t bytes = 0;
    for (uint32_t k = 0; k < p->n_classes; k++)
        bytes += p->n_blocks[k] * p->block_bytes[k];
    return bytes;
}
