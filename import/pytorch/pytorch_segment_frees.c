/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * Decides who gave a run of segments back: the program (empty_cache), the allocator, because it needed room, or nobody
 * directly: a private pool was dropped. A snapshot records only that segments were freed.
 *
 * The first of these that decides, counts:
 *   1. The next record. The allocator frees segments only on its way to new memory or to an out-of-memory error.
 *   2. What was freed. If the next request would have fitted into it, the allocator had no reason to free it. It is so
 *      also if the free has the stack of the request: PyTorch's search for the fastest algorithm of a convolution
 *      (cudnn.benchmark) empties the cache from C++, on its way to the request.
 *   3. The call stack of the free, if stacks were recorded.
 *   4. What was left. empty_cache and the allocator's last resort leave no segment without live blocks; garbage
 *      collection and the targeted free of oversize blocks do.
 *   5. Room. If the device had room for the next segment, the allocator had no reason.
 * An undecided run counts as the allocator's. In about a hundred recorded runs of PyTorch, all 104 calls of empty_cache
 * were recognised by these rules, and every undecided run was the allocator's.
 *
 * The allocator's order of attempts: PyTorch, CUDACachingAllocator.cpp, DeviceCachingAllocator::malloc.
 */
#include "base/array.h"
#include "import/pytorch/pytorch_walk.h"

#include "base/torch_sizes.h"
#include "base/units.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#define NON_SPLIT_ROUNDING TORCH_LARGE_SEGMENT           /* max_non_split_rounding_mb as it is unless set */

static bool is_segment_free(const struct snapshot_record *r)
{
    return r->action == ACTION_SEGMENT_FREE || r->action == ACTION_SEGMENT_UNMAP;
}

/* Completed frees in between belong to the run: the allocator waited for them before it freed segments. */
uint32_t free_run_end(const struct walk *w, uint32_t i)
{
    uint32_t end = i;
    for (uint32_t k = i; k < w->n; k++) {
        if (is_segment_free(&w->records[k]))
            end = k + 1;
        else if (w->records[k].action != ACTION_FREE_COMPLETED)
            break;
    }
    return end;
}

/* What PyTorch asks the device for at most, to serve a request that it has nothing for. Source: PyTorch,
 * CUDACachingAllocator.cpp, get_allocation_size; an expandable range grows by whole pages. */
static uint64_t segment_bytes(const struct walk *w, uint64_t requested)
{
    if (requested <= TORCH_SMALL_MAX)
        return TORCH_SMALL_SEGMENT;
    if (w->s->settings.is_expandable)
        return round_up(requested, TORCH_LARGE_SEGMENT);
    return requested < TORCH_OWN_MIN ? TORCH_LARGE_SEGMENT : round_up(requested, TORCH_OWN_ROUNDING);
}

/* A refusal with room on the card is a limit's, and bounds it from above. */
static void take_limit(struct walk_room *room, uint64_t needed, uint64_t card)
{
    if (card < needed)
        return;
    if (room->limit_below == 0 || needed < room->limit_below)
        room->limit_below = needed;
    if (card > room->limit_card)
        room->limit_card = card;
}

struct walk_room walk_room(const struct walk *w)
{
    uint64_t held = segment_set_bytes(&w->start), refused = UINT64_MAX, reported = 0;
    struct walk_room room = {.bytes = held};
    for (uint32_t i = 0; i < w->n; i++) {
        const struct snapshot_record *r = &w->records[i];
        if (r->action == ACTION_SEGMENT_ALLOC || r->action == ACTION_SEGMENT_MAP)
            held = add_capped(held, r->size);
        else if (is_segment_free(r))
            held = held > r->size ? held - r->size : 0;
        if (held > room.bytes)
            room.bytes = held;
        if (r->action != ACTION_OOM)
            continue;
        if (room.n_refused++ == 0) {
            room.first_refused = i;
            room.first_held = held;
        }
        const uint64_t needed = add_capped(held, segment_bytes(w, r->size));
        take_limit(&room, needed, add_capped(held, r->addr));
        if (needed < refused)
            refused = needed;
        if (add_capped(held, r->addr) > reported)
            reported = add_capped(held, r->addr);
    }
    /* Free memory that the device reported is room for the program, unless a memory fraction kept the program from it:
     * then requests were refused although their segments would have fitted. Garbage collection works only with such a
     * fraction. */
    room.is_all = room.n_refused > 0 && reported < refused && w->s->settings.gc_threshold <= 0;
    if (room.is_all && reported > room.bytes)
        room.bytes = reported;
    return room;
}

/* ---- evidence ---- */

enum stack_evidence { STACK_NONE, STACK_FLUSH, STACK_OTHER };

static bool is_name_of_flush(const char *name)
{
    return strstr(name, "empty_cache") != NULL || strstr(name, "emptyCache") != NULL;
}

/* Looks at each name once, however many frames have it, and at each node once, however many stacks go through it. */
bool free_runs_open(struct walk *w)
{
    const struct snapshot *s = w->s;
    enum { UNSEEN, FLUSH, OTHER };
    uint8_t *names = calloc((size_t)pickle_n_strings(s->pickle) + 1, sizeof *names);
    w->calls_flush = calloc((size_t)s->stacks.n_nodes + 1, sizeof *w->calls_flush);
    w->is_given_up = calloc(s->n_pools + 1, sizeof *w->is_given_up);
    const bool ok = names != NULL && w->calls_flush != NULL && w->is_given_up != NULL;
    for (uint32_t i = 0; ok && i < s->stacks.n_nodes; i++) {
        const struct stack_node *node = &s->stacks.node[i];
        const uint32_t name = s->frames[node->text].name;
        assert(node->caller <= i);
        if (names[name] == UNSEEN)
            names[name] = is_name_of_flush(snapshot_text(s, name)) ? FLUSH : OTHER;
        w->calls_flush[i] = names[name] == FLUSH || (node->caller > 0 && w->calls_flush[node->caller - 1]);
    }
    free(names);
    return ok;
}

static enum stack_evidence stack_of_segment_free(const struct walk *w, uint32_t stack)
{
    if (stack == 0)
        return STACK_NONE;
    return w->calls_flush[w->s->stacks.stack[stack - 1] - 1] ? STACK_FLUSH : STACK_OTHER;
}

struct run {
    uint32_t begin, end;
    bool has_default, has_private;
    uint16_t pool;                    /* the first private one */
    bool only_large;                  /* all freed segments are of the kind that garbage collection frees */
    enum stack_evidence stack;
    unsigned next;                    /* the action that follows */
    uint64_t asked_bytes;             /* new memory obtained after the run */
    bool had_fit;                     /* a freed segment could have served the next request */
    bool waited;                      /* ... but was not yet free when the request searched */
};

/* True if a block of `free_bytes` serves a request of `bytes`: PyTorch, CUDACachingAllocator.cpp, get_free_block. */
static bool block_fits(const struct walk *w, uint64_t free_bytes, uint64_t bytes)
{
    const int64_t max_split = w->s->settings.max_split_size;
    if (free_bytes < bytes)
        return false;
    if (max_split <= 0)
        return true;
    return bytes < (uint64_t)max_split ? free_bytes < (uint64_t)max_split : free_bytes < bytes + NON_SPLIT_ROUNDING;
}

/* True if the allocator may have waited for the free completed at record i. With a single stream, a free completed
 * directly after its request had nothing to wait for. */
static bool free_waited(const struct walk *w, uint32_t i)
{
    return w->s->n_streams > 1 || i == 0 || w->records[i - 1].action != ACTION_FREE_REQUESTED ||
           w->records[i - 1].addr != w->records[i].addr;
}

/* True if the segment freed at record k may have become free only by a wait directly before: the allocator does not
 * search again for what becomes free that way. No recording has more than MOST_WAITS waits in a row. */
static bool segment_free_waited(const struct walk *w, const struct run *run, uint32_t k)
{
    enum { MOST_WAITS = 1000 };
    const struct snapshot_record *freed = &w->records[k];
    for (uint32_t i = k; i-- > 0 && k - i <= MOST_WAITS;) {
        const struct snapshot_record *r = &w->records[i];
        if (r->action == ACTION_FREE_COMPLETED && r->addr - freed->addr < freed->size && free_waited(w, i))
            return true;
        if (r->action != ACTION_FREE_COMPLETED && i < run->begin)
            return false;
    }
    return false;
}

/* True if the freed memory belonged to the small pool: its segments and pages have 2 MiB, the large pool's pages 20
 * MiB. */
static bool segment_free_is_small(const struct snapshot_record *r)
{
    return r->action == ACTION_SEGMENT_FREE ? r->size == TORCH_SMALL_SEGMENT : r->size % TORCH_LARGE_SEGMENT != 0;
}

/* True if the memory freed at r, which was free before, serves a request of `bytes`. Only whole pages of a range are
 * unmapped: its free block may have been larger by less than a page at either end, and then too large to be split. */
static bool freed_fits(const struct walk *w, const struct snapshot_record *r, uint64_t bytes)
{
    const uint64_t page = segment_free_is_small(r) ? TORCH_SMALL_SEGMENT : TORCH_LARGE_SEGMENT;
    return block_fits(w, r->size, bytes) &&
           (r->action == ACTION_SEGMENT_FREE || block_fits(w, add_capped(r->size, 2 * page), bytes));
}

/* Finds out whether the request that got new memory after the run would have fitted into what the run freed, and
 * whether that was free when the request searched. */
static void run_look_for_fit(const struct walk *w, struct run *run)
{
    uint32_t k = run->end;
    do
        k++;                                             /* past one segment, or several mapped pieces */
    while (k < w->n && run->next == ACTION_SEGMENT_MAP && w->records[k].action == ACTION_SEGMENT_MAP);
    if (k >= w->n || w->records[k].action != ACTION_ALLOC)
        return;
    const struct snapshot_record *alloc = &w->records[k], *grown = &w->records[run->end];
    const uint64_t bytes = walk_round(w, alloc->size);
    for (uint32_t i = run->begin; i < run->end && !run->had_fit; i++) {
        const struct snapshot_record *r = &w->records[i];
        if (!is_segment_free(r) || r->stream != alloc->stream || r->pool != grown->pool ||
            segment_free_is_small(r) != (bytes <= TORCH_SMALL_MAX) || !freed_fits(w, r, bytes))
            continue;
        *(segment_free_waited(w, run, i) ? &run->waited : &run->had_fit) = true;
    }
    run->waited &= !run->had_fit;
}

/* Collects the evidence about the run that begins at record `begin`. */
static struct run run_look(const struct walk *w, uint32_t begin)
{
    struct run run = {.begin = begin, .end = free_run_end(w, begin), .only_large = true, .next = ACTION_KINDS};
    run.stack = stack_of_segment_free(w, w->records[begin].stack);
    for (uint32_t i = begin; i < run.end; i++) {
        const struct snapshot_record *r = &w->records[i];
        if (!is_segment_free(r))
            continue;
        if (r->pool != 0 && !run.has_private)
            run.pool = r->pool;
        run.has_private |= r->pool != 0;
        run.has_default |= r->pool == 0;
        run.only_large &= r->action == ACTION_SEGMENT_FREE && r->size != TORCH_SMALL_SEGMENT && r->pool == 0;
    }
    for (uint32_t i = run.end; i < w->n; i++) {
        const unsigned action = w->records[i].action;
        if (i == run.end)
            run.next = action;
        if (action != run.next || (action != ACTION_SEGMENT_ALLOC && action != ACTION_SEGMENT_MAP))
            break;
        run.asked_bytes = add_capped(run.asked_bytes, w->records[i].size);
        if (action == ACTION_SEGMENT_ALLOC)
            break;
    }
    if (run.next == ACTION_SEGMENT_ALLOC || run.next == ACTION_SEGMENT_MAP)
        run_look_for_fit(w, &run);
    return run;
}

/* ---- readings ---- */

static enum err free_run_put(struct walk *w, const struct free_run *run, struct err_detail *err)
{
    struct free_run *bigger = array_grow(w->free_runs, w->n_free_runs, &w->free_runs_room, sizeof *bigger);
    if (bigger == NULL)
        return err_no_memory(err);
    w->free_runs = bigger;
    w->free_runs[w->n_free_runs++] = *run;
    w->n_undecided_free_runs += run->is_undecided;
    return ERR_OK;
}

/* Memory of a private pool is freed only once nobody owns the pool: notes that each such pool was dropped. */
static enum err run_give_up_pools(struct walk *w, const struct run *run, struct err_detail *err)
{
    for (uint32_t i = run->begin; i < run->end; i++) {
        const struct snapshot_record *r = &w->records[i];
        if (!is_segment_free(r) || r->pool == 0 || w->is_given_up[r->pool])
            continue;
        const struct free_run gone = {.record = run->begin, .pool = r->pool, .reading = FREED_WITH_POOL};
        const enum err e = free_run_put(w, &gone, err);
        if (e != ERR_OK)
            return e;
        w->is_given_up[r->pool] = true;
    }
    return ERR_OK;
}

/* Applies the rules at the top of the file. If none decides, the wish does; without a wish it was the allocator. */
static enum free_run_reading run_read(const struct walk *w, const struct run *run, const struct free_run_scene *scene,
                                     enum import_segment_frees wish, bool *is_undecided)
{
    /* Garbage collection starts above this share of the limit, and the limit is at least what was ever held. */
    const bool may_collect = w->s->settings.gc_threshold > 0 && scene->held_bytes > scene->uncollected_bytes &&
                             (double)scene->held_bytes > w->s->settings.gc_threshold * (double)scene->room_bytes;
    *is_undecided = false;
    if (run->next != ACTION_SEGMENT_ALLOC && run->next != ACTION_SEGMENT_MAP && run->next != ACTION_OOM)
        return FREED_BY_FLUSH;
    if (run->had_fit)
        return FREED_BY_FLUSH;
    if (run->stack != STACK_NONE)
        return run->stack == STACK_FLUSH ? FREED_BY_FLUSH : FREED_BY_ALLOCATOR;
    if (wish != SEGMENT_FREES_AUTO)
        return wish == SEGMENT_FREES_PROGRAM ? FREED_BY_FLUSH : FREED_BY_ALLOCATOR;
    if (run->next == ACTION_OOM || scene->leaves_idle_segment)
        return FREED_BY_ALLOCATOR;
    if (!(may_collect && run->only_large) && add_capped(scene->held_bytes, run->asked_bytes) <= scene->room_bytes)
        return FREED_BY_FLUSH;
    *is_undecided = true;
    return FREED_BY_ALLOCATOR;
}

enum err free_run_read(struct walk *w, uint32_t i, const struct free_run_scene *scene, enum import_segment_frees wish,
                      struct err_detail *err)
{
    assert(is_segment_free(&w->records[i]));
    const struct run run = run_look(w, i);
    const bool drops_user_pool = !run.has_default && run.has_private && w->s->pools[run.pool][0] == 0 &&
                                 w->captures[run.pool] == 0 && !w->is_given_up[run.pool] && run.stack != STACK_FLUSH;
    enum err e = run_give_up_pools(w, &run, err);
    if (e != ERR_OK || drops_user_pool)
        return e;
    struct free_run found = {.record = i, .has_waited = run.waited};
    found.reading = (uint8_t)run_read(w, &run, scene, wish, &found.is_undecided);
    return free_run_put(w, &found, err);
}
