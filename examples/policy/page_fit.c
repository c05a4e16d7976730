/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * page-fit: first fit over pages of one size, in arenas that are given back only when they are empty.
 *
 * An example of a policy that is built outside the tree. A request takes whole pages: the lowest free run of them that
 * is long enough, in the oldest arena that has one (Knuth, The Art of Computer Programming, vol. 1, section 2.5, "first
 * fit"). Each page has one word of state, and every search scans them: simple rather than fast.
 *
 * Frees that wait for another stream need nothing here: without retire() the block stays taken until free() comes.
 */
#include "policies/policy.h"

#include "base/units.h"

#include <stdlib.h>
#include <string.h>

/* The state of a page: free; the first page of a request, with the request's bytes; or one more page of the same
 * request. So two requests side by side can be told apart. */
#define PAGE_FREE UINT64_C(0)
#define PAGE_MORE UINT64_MAX

struct arena {
    struct segment segment;
    uint64_t *pages;
    size_t n_pages, n_taken;
};

struct page_fit {
    struct policy base;                     /* first, so the two pointers convert */
    uint64_t page_bytes, arena_bytes;       /* multiples of each other */
    struct arena *arenas;                   /* in the order they were made */
    size_t n_arenas, cap_arenas;
};

/* ---- options ---- */

enum { PAGE_OPTION, ARENA_OPTION };         /* values come in the order in which they are declared */

static const struct policy_option page_fit_options[] = {
    [PAGE_OPTION] = {"page", OPTION_BYTES, 512, GIB, "64KiB", "bytes", "size of a page, a power of two"},
    [ARENA_OPTION] = {"arena", OPTION_BYTES, 2 * MIB, TIB, "64MiB", "bytes",
                      "least memory to ask from the device at a time; rounded up to whole pages"},
    {.name = NULL},
};

static enum err page_fit_create(const struct policy_config *cfg, struct policy **out, struct err_detail *err)
{
    const uint64_t page_bytes = cfg->values[PAGE_OPTION].number;
    if (!is_power_of_two(page_bytes))
        return err_set(err, ERR_USAGE, 0, "page-fit: a page of %llu bytes is no power of two",
                       (unsigned long long)page_bytes);
    struct page_fit *f = calloc(1, sizeof *f);
    if (f == NULL)
        return err_no_memory(err);
    f->page_bytes = page_bytes;
    f->arena_bytes = align_up(cfg->values[ARENA_OPTION].number, page_bytes);
    *out = &f->base;
    return ERR_OK;
}

static void page_fit_destroy(struct policy *p)
{
    struct page_fit *f = (struct page_fit *)p;
    for (size_t i = 0; i < f->n_arenas; i++)
        free(f->arenas[i].pages);           /* the device frees the segments */
    free(f->arenas);
    free(f);
}

/* ---- arenas ---- */

/* Makes an arena of at least `bytes`. On failure everything stays as it was. */
static enum err page_fit_grow(struct page_fit *f, uint64_t bytes)
{
    if (f->n_arenas == f->cap_arenas) {
        const size_t cap = f->cap_arenas == 0 ? 16 : 2 * f->cap_arenas;
        struct arena *arenas = realloc(f->arenas, cap * sizeof *arenas);
        if (arenas == NULL)
            return ERR_HOST_NOMEM;
        f->arenas = arenas;
        f->cap_arenas = cap;
    }
    struct arena a = {.n_pages = (bytes > f->arena_bytes ? bytes : f->arena_bytes) / f->page_bytes};
    const enum err e = device_segment_alloc(f->base.device, a.n_pages * f->page_bytes, &a.segment);
    if (e != ERR_OK)
        return e;
    a.pages = calloc(a.n_pages, sizeof *a.pages);
    if (a.pages == NULL) {
        device_segment_free(f->base.device, &a.segment);
        return ERR_HOST_NOMEM;
    }
    f->arenas[f->n_arenas++] = a;
    return ERR_OK;
}

/* Gives empty arenas back; true if there was one. */
static bool page_fit_release(struct page_fit *f)
{
    const size_t n_before = f->n_arenas;
    size_t n = 0;
    for (size_t i = 0; i < n_before; i++) {
        if (f->arenas[i].n_taken > 0) {
            f->arenas[n++] = f->arenas[i];
            continue;
        }
        device_segment_free(f->base.device, &f->arenas[i].segment);
        free(f->arenas[i].pages);
    }
    f->n_arenas = n;
    return n < n_before;
}

/* The first page of the first run of n free ones; a->n_pages if there is none. */
static size_t arena_find(const struct arena *a, size_t n)
{
    size_t run = 0;
    if (a->n_pages - a->n_taken < n)
        return a->n_pages;
    for (size_t i = 0; i < a->n_pages; i++) {
        run = a->pages[i] == PAGE_FREE ? run + 1 : 0;
        if (run == n)
            return i + 1 - n;
    }
    return a->n_pages;
}

/* ---- the interface ---- */

static bool page_fit_place(struct page_fit *f, uint64_t requested, uint64_t bytes, struct block *out)
{
    const size_t n = bytes / f->page_bytes;
    for (size_t i = 0; i < f->n_arenas; i++) {
        struct arena *a = &f->arenas[i];
        const size_t at = arena_find(a, n);
        if (at == a->n_pages)
            continue;
        for (size_t k = 1; k < n; k++)
            a->pages[at + k] = PAGE_MORE;
        a->pages[at] = requested;
        a->n_taken += n;
        *out = (struct block){.addr = a->segment.addr + at * f->page_bytes, .bytes = bytes, .segment = a->segment.id};
        return true;
    }
    return false;
}

static enum err page_fit_alloc(struct policy *p, const struct event *req, struct block *out)
{
    struct page_fit *f = (struct page_fit *)p;
    const uint64_t bytes = align_up(req->bytes, f->page_bytes);
    if (bytes == UINT64_MAX)
        return ERR_DEVICE_OOM;
    if (page_fit_place(f, req->bytes, bytes, out)) {
        p->count.hits++;
        return ERR_OK;
    }
    enum err e = page_fit_grow(f, bytes);
    if (e == ERR_DEVICE_OOM && page_fit_release(f)) {
        p->count.retries++;
        e = page_fit_grow(f, bytes);
    }
    if (e != ERR_OK)
        return e;
    p->count.misses++;
    return page_fit_place(f, req->bytes, bytes, out) ? ERR_OK : ERR_CORRUPT;
}

static void page_fit_free(struct policy *p, const struct event *req, const struct block *b)
{
    struct page_fit *f = (struct page_fit *)p;
    (void)req;
    for (size_t i = 0; i < f->n_arenas; i++) {
        struct arena *a = &f->arenas[i];
        if (a->segment.id != b->segment)
            continue;
        const size_t n = b->bytes / f->page_bytes;
        memset(a->pages + (b->addr - a->segment.addr) / f->page_bytes, 0, n * sizeof *a->pages);
        a->n_taken -= n;
        return;
    }
}

static void page_fit_flush(struct policy *p, uint32_t stream)
{
    (void)stream;
    page_fit_release((struct page_fit *)p);
}

/* Arenas by address, as walk must visit them. The simulated device's addresses rise, but those of others need not. */
static int arena_compare(const void *a, const void *b)
{
    const struct arena *const *x = a, *const *y = b;
    return ((*x)->segment.addr > (*y)->segment.addr) - ((*x)->segment.addr < (*y)->segment.addr);
}

/* Visits the runs of pages of an arena: a free run is one block. */
static void arena_walk(const struct arena *a, uint64_t page_bytes, block_visit visit, void *arg)
{
    for (size_t i = 0, n; i < a->n_pages; i += n) {
        const uint64_t more = a->pages[i] == PAGE_FREE ? PAGE_FREE : PAGE_MORE;
        for (n = 1; i + n < a->n_pages && a->pages[i + n] == more; n++)
            ;
        visit(arg, &(struct block_view){
            .addr = a->segment.addr + i * page_bytes, .bytes = n * page_bytes, .requested = a->pages[i],
            .segment_addr = a->segment.addr, .segment = a->segment.id,
            .state = more == PAGE_FREE ? BLOCK_FREE : BLOCK_ALLOCATED,
        });
    }
}

static enum err page_fit_walk(const struct policy *p, block_visit visit, void *arg)
{
    const struct page_fit *f = (const struct page_fit *)p;
    const struct arena **sorted = calloc(f->n_arenas + 1, sizeof *sorted);
    if (sorted == NULL)
        return ERR_HOST_NOMEM;
    for (size_t i = 0; i < f->n_arenas; i++)
        sorted[i] = &f->arenas[i];
    qsort(sorted, f->n_arenas, sizeof *sorted, arena_compare);
    for (size_t i = 0; i < f->n_arenas; i++)
        arena_walk(sorted[i], f->page_bytes, visit, arg);
    free(sorted);
    return ERR_OK;
}

/* Checks that the arenas are what the device has given us, and that each counts its pages right. */
static enum err page_fit_check(const struct policy *p, struct err_detail *err)
{
    const struct page_fit *f = (const struct page_fit *)p;
    uint64_t bytes = 0;
    for (size_t i = 0; i < f->n_arenas; i++) {
        const struct arena *a = &f->arenas[i];
        size_t n_taken = 0;
        for (size_t k = 0; k < a->n_pages; k++)
            n_taken += a->pages[k] != PAGE_FREE;
        if (n_taken != a->n_taken)
            return err_set(err, ERR_CORRUPT, 0, "page-fit: arena %zu has %zu pages taken, not %zu", i, n_taken,
                           a->n_taken);
        bytes += a->segment.bytes;
    }
    if (bytes != p->device->usage.reserved_bytes)
        return err_set(err, ERR_CORRUPT, 0, "page-fit: the arenas are not what the device has reserved");
    return ERR_OK;
}

/* Decisions depend only on the options, which the engine compares, and on what the device refuses. */
static bool page_fit_repeats(const struct policy *done, const struct policy *fresh)
{
    (void)done;
    (void)fresh;
    return true;
}

static const struct policy_ops page_fit_ops = {
    POLICY_HEAD,
    .name = "page-fit",
    .summary = "first fit over whole pages (an example: examples/policy)",
    .options = page_fit_options,
    .create = page_fit_create, .destroy = page_fit_destroy,
    .alloc = page_fit_alloc,   .free = page_fit_free,
    .flush = page_fit_flush,   .walk = page_fit_walk,       .check = page_fit_check,
    .repeats = page_fit_repeats,
};

/* The one symbol that replay looks for. */
const struct policy_ops *policy_plugin(void);

const struct policy_ops *policy_plugin(void)
{
    return &page_fit_ops;
}
