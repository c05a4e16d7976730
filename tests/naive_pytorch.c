/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/* The model of naive_pytorch.h, in the order in which an allocation goes through it. */
#include "tests/naive_pytorch.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define K ((uint64_t)1024)
#define M (K * 1024)

enum { ALL, LARGE, SMALL, N_ENTRIES };
static const char *const entry_names[N_ENTRIES] = {"all", "large_pool", "small_pool"};

struct naive_stat {
    int64_t allocated, current, freed, peak;
};

/* One half of a pool. */
struct half {
    unsigned pool;
    bool     is_small;
};

/* A hash table whose slot order is the order of three walks. Entries are in their home slot or after it. */
enum { TABLE_MAX = 160 };
struct naive_entry {
    bool     is_taken;
    unsigned distance;               /* from its home slot */
    uint64_t hash;
    unsigned value;
    bool     is_in_capture;          /* a use marked during a capture */
};
struct naive_table {
    unsigned n, longest, count;      /* home slots; distance that no entry reaches; entries */
    struct naive_entry at[TABLE_MAX];
};

struct naive_block {
    uint64_t addr, size, requested, ord, age_base;
    unsigned stream;
    unsigned slot;
    struct half half;
    bool     is_allocated, is_pending, is_mapped;
    struct naive_table *uses;                /* streams that used it, NULL: never any */
    unsigned n_events;
    bool     is_range;
    uint64_t range_base, page;               /* of the expandable segment it lies in */
    struct naive_block *prev, *next;         /* neighbours in the same segment */
};

/* In byte order of their keys. */
enum naive_stat_name {
    ACTIVE, ACTIVE_BYTES, ALLOCATED_BYTES, ALLOCATION, INACTIVE_SPLIT, INACTIVE_SPLIT_BYTES, REQUESTED_BYTES,
    RESERVED_BYTES, SEGMENT, N_ARRAYS
};
static const char *const array_names[N_ARRAYS] = {
    "active", "active_bytes", "allocated_bytes", "allocation", "inactive_split", "inactive_split_bytes",
    "requested_bytes", "reserved_bytes", "segment",
};
struct naive_pool {
    bool     exists, no_split, ever_held;
    unsigned n_uses;
    unsigned device_allocs;
    uint64_t fit_calls[2];                   /* large, small */
    struct naive_stat reserved[N_ENTRIES];
};

struct naive_wait {
    unsigned stream;
    uint64_t nth;                            /* event of that stream */
    struct naive_block *block;
};

struct naive_queue {
    uint64_t recorded, finished;
    bool     is_held;
};

struct naive_diversion {
    unsigned pool, stream;
    bool     is_capture;                     /* takes its stream only */
};

struct naive {
    struct naive_config    cfg;
    struct naive_settings  set;
    struct naive_block   **blocks;           /* all of them, in no order */
    size_t                 n_blocks, cap_blocks;
    struct naive_block    *by_slot[NAIVE_SLOTS];
    struct naive_block   **pending;          /* freed but in use, in order of their requests */
    size_t                 n_pending, cap_pending;
    uint64_t               used;             /* of the device */
    size_t                 n_addresses;
    uint64_t               held;
    struct naive_pool      pools[NAIVE_POOLS];
    struct naive_table     freeable;         /* pools nobody uses any more */
    struct naive_table     lenders;          /* pools that were opened to requests of the default one */
    struct naive_diversion diversions[64];
    size_t                 n_diversions;
    unsigned               n_captures;
    struct naive_queue     queues[NAIVE_STREAMS];
    struct naive_table     waiting;          /* streams with waits */
    struct naive_wait     *waits;            /* in order of recording */
    size_t                 n_waits, cap_waits;
    struct naive_block   **deferred;         /* freed in a capture with uses, in order */
    size_t                 n_deferred, cap_deferred;
    uint64_t               next_ord;
    int64_t                max_split_at_start;
    bool                   is_undefined;
    struct naive_stat      array[N_ARRAYS][N_ENTRIES];
    struct naive_stat      oversize_allocations, oversize_segments;
    int64_t                retries, ooms, syncs, device_allocs, device_frees, rejections;
    struct naive_record   *records;
    size_t                 n_records, cap_records;
    unsigned               ended[NAIVE_SLOTS];
    size_t                 n_ended;
};

static uint64_t round_up_to(uint64_t n, uint64_t unit)
{
    return (n + unit - 1) / unit * unit;
}

/* A longer array, or the end of the test. */
static void *grow_array(void *array, size_t n, size_t *cap, size_t size)
{
    if (n < *cap)
        return array;
    *cap = *cap == 0 ? 64 : *cap * 2;
    array = realloc(array, *cap * size);
    if (array == NULL)
        abort();
    return array;
}

/* ---- statistics and records ---- */

static void stat_add(struct naive_stat *s, int64_t change)
{
    s->current += change;
    if (change > 0)
        s->allocated += change;
    else
        s->freed -= change;
    if (s->current > s->peak)
        s->peak = s->current;
}

static void count(struct naive *n, enum naive_stat_name name, bool is_small, int64_t change)
{
    stat_add(&n->array[name][ALL], change);
    stat_add(&n->array[name][is_small ? SMALL : LARGE], change);
}

static void hold(struct naive *n, struct half half, int64_t change)
{
    n->held += (uint64_t)change;
    count(n, RESERVED_BYTES, half.is_small, change);
    if (half.pool == 0)
        return;
    n->pools[half.pool].ever_held = true;
    stat_add(&n->pools[half.pool].reserved[ALL], change);
    stat_add(&n->pools[half.pool].reserved[half.is_small ? SMALL : LARGE], change);
}

static void record(struct naive *n, char action, unsigned stream, unsigned pool, uint64_t addr, uint64_t bytes)
{
    n->records = grow_array(n->records, n->n_records, &n->cap_records, sizeof *n->records);
    n->records[n->n_records++] = (struct naive_record){action, stream, pool, addr, bytes};
}

/* ---- the hash table ---- */

static unsigned table_home(const struct naive_table *t, uint64_t hash)
{
    return (unsigned)(UINT64_C(11400714819323198485) * hash / (UINT64_MAX / t->n + 1));
}

/* The slot at which the search for a key ends: the key's own, or the one for it. Keys of equal hash are different. */
static unsigned table_stop(const struct naive_table *t, uint64_t hash, unsigned value)
{
    unsigned i = table_home(t, hash);
    for (unsigned distance = 0; t->at[i].is_taken && t->at[i].distance >= distance; distance++, i++)
        if (t->at[i].hash == hash && t->at[i].value == value)
            break;
    return i;
}

static struct naive_entry *table_find(struct naive_table *t, uint64_t hash, unsigned value)
{
    if (t->n == 0)
        return NULL;
    struct naive_entry *e = &t->at[table_stop(t, hash, value)];
    return e->is_taken && e->hash == hash && e->value == value ? e : NULL;
}

static void table_insert(struct naive_table *t, struct naive_entry e);

static void table_grow(struct naive_table *t)
{
    const struct naive_table old = *t;
    *t = (struct naive_table){.n = old.n == 0 ? 4 : 2 * old.n};
    unsigned k = 0;
    while (1u << k < t->n)
        k++;
    t->longest = k > 4 ? k : 4;
    if (t->n + t->longest > TABLE_MAX)
        abort();
    for (unsigned i = 0; i < TABLE_MAX; i++)
        if (old.at[i].is_taken)
            table_insert(t, old.at[i]);
}

/* A key that is not in the table. */
static void table_insert(struct naive_table *t, struct naive_entry e)
{
    if (t->n == 0 || 2 * (t->count + 1) > t->n) {
        table_grow(t);
        table_insert(t, e);
        return;
    }
    const unsigned place = table_stop(t, e.hash, e.value);
    e.is_taken = true;
    e.distance = place - table_home(t, e.hash);
    if (e.distance == t->longest) {
        table_grow(t);
        table_insert(t, e);
        return;
    }
    struct naive_entry carried = t->at[place];
    t->at[place] = e;
    for (unsigned i = place + 1; carried.is_taken; i++) {
        carried.distance++;
        if (carried.distance == t->longest) {
            t->at[place] = carried;
            table_grow(t);
            table_insert(t, e);
            return;
        }
        if (!t->at[i].is_taken || t->at[i].distance < carried.distance) {
            const struct naive_entry next = t->at[i];
            t->at[i] = carried;
            carried = next;
        }
    }
    t->count++;
}

static void table_remove(struct naive_table *t, unsigned i)
{
    for (; t->at[i + 1].is_taken && t->at[i + 1].distance > 0; i++) {
        t->at[i] = t->at[i + 1];
        t->at[i].distance--;
    }
    t->at[i].is_taken = false;
    t->count--;
}

static uint64_t stream_hash(const struct naive *n, unsigned stream)
{
    return (uint64_t)1 << 56 | (uint64_t)n->cfg.ordinal << 48 | n->cfg.stream_numbers[stream];
}

static uint64_t pool_hash(const struct naive *n, unsigned pool)
{
    const uint64_t *id = n->cfg.pool_ids[pool];
    return id[0] != 0 ? id[0] : id[1];
}

/* ---- the list of blocks ---- */

static struct naive_block *block_new(struct naive *n, struct naive_block values)
{
    struct naive_block *b = malloc(sizeof *b);
    if (b == NULL)
        abort();
    *b = values;
    n->blocks = grow_array(n->blocks, n->n_blocks, &n->cap_blocks, sizeof(struct naive_block *));
    n->blocks[n->n_blocks++] = b;
    return b;
}

static void block_drop(struct naive *n, struct naive_block *b)
{
    size_t i = 0;
    while (n->blocks[i] != b)
        i++;
    n->blocks[i] = n->blocks[--n->n_blocks];
    free(b->uses);
    free(b);
}

static bool is_busy(const struct naive_block *b)
{
    return b->is_allocated || b->is_pending;
}

/* In the set of free blocks of its pool. */
static bool is_in(const struct naive_block *b, struct half half)
{
    return b->half.pool == half.pool && b->half.is_small == half.is_small;
}

static bool is_free(const struct naive_block *b, struct half half)
{
    return is_in(b, half) && b->is_mapped && !is_busy(b);
}

static bool is_split(const struct naive_block *b)
{
    return b->prev != NULL || b->next != NULL;
}

static uint64_t handle_of(const struct naive *n, const struct naive_block *b)
{
    return n->cfg.stream_handles[b->stream];
}

/* Order A: stream handle, size, order number (if the release has one), address. */
static bool is_before(const struct naive *n, const struct naive_block *a, const struct naive_block *b)
{
    if (handle_of(n, a) != handle_of(n, b))
        return handle_of(n, a) < handle_of(n, b);
    if (a->size != b->size)
        return a->size < b->size;
    if (n->cfg.minor >= 12 && a->ord != b->ord)
        return a->ord < b->ord;
    return a->addr < b->addr;
}

/* The first free block behind `after` in order A (NULL: the first of all). */
static struct naive_block *free_after(const struct naive *n, struct half half, const struct naive_block *after)
{
    struct naive_block *found = NULL;
    for (size_t i = 0; i < n->n_blocks; i++) {
        struct naive_block *b = n->blocks[i];
        if (is_free(b, half) && (after == NULL || is_before(n, after, b)) &&
            (found == NULL || is_before(n, b, found)))
            found = b;
    }
    return found;
}

/* The last free block before `before` in order A (NULL: the last of all). */
static struct naive_block *free_before(const struct naive *n, struct half half, const struct naive_block *before)
{
    struct naive_block *found = NULL;
    for (size_t i = 0; i < n->n_blocks; i++) {
        struct naive_block *b = n->blocks[i];
        if (is_free(b, half) && (before == NULL || is_before(n, b, before)) &&
            (found == NULL || is_before(n, found, b)))
            found = b;
    }
    return found;
}

/* The first free block in order A whose key is at least (stream, bytes, nothing), of whatever stream. */
static struct naive_block *lower_bound(const struct naive *n, struct half half, unsigned stream, uint64_t bytes)
{
    const uint64_t handle = n->cfg.stream_handles[stream];
    struct naive_block *found = NULL;
    for (size_t i = 0; i < n->n_blocks; i++) {
        struct naive_block *b = n->blocks[i];
        const bool is_less = handle_of(n, b) < handle || (handle_of(n, b) == handle && b->size < bytes);
        if (is_free(b, half) && !is_less && (found == NULL || is_before(n, b, found)))
            found = b;
    }
    return found;
}

/* All free blocks of a pool in order A; the caller frees the array. */
static struct naive_block **free_blocks(const struct naive *n, struct half half, size_t *found)
{
    struct naive_block **list = malloc((n->n_blocks + 1) * sizeof(struct naive_block *));
    if (list == NULL)
        abort();
    *found = 0;
    for (struct naive_block *b = free_after(n, half, NULL); b != NULL; b = free_after(n, half, b))
        list[(*found)++] = b;
    return list;
}

static void enter_free(struct naive *n, struct naive_block *b)
{
    b->age_base = n->pools[b->half.pool].fit_calls[b->half.is_small];
}

static uint64_t new_block_ord(struct naive *n, uint64_t inherited)
{
    return n->cfg.minor == 12 ? n->next_ord++ : inherited;
}

/* dst swallows its neighbour src if that is free, and both have memory or neither has. Returns the bytes gained. */
static uint64_t coalesce(struct naive *n, struct naive_block *dst, struct naive_block *src)
{
    if (src == NULL || is_busy(src) || src->is_mapped != dst->is_mapped)
        return 0;
    const uint64_t won = src->size;
    if (dst->prev == src) {
        dst->addr = src->addr;
        dst->prev = src->prev;
        if (dst->prev != NULL)
            dst->prev->next = dst;
    } else {
        dst->next = src->next;
        if (dst->next != NULL)
            dst->next->prev = dst;
    }
    dst->size += won;
    block_drop(n, src);
    return won;
}

/* ---- the device ---- */

static bool device_take(struct naive *n, uint64_t bytes)
{
    const uint64_t room = round_up_to(bytes, 2 * M);
    if (room > n->cfg.total - n->used)
        return false;
    n->used += room;
    return true;
}

static void device_give(struct naive *n, uint64_t bytes)
{
    n->used -= round_up_to(bytes, 2 * M);
}

static uint64_t device_address(struct naive *n)
{
    return n->cfg.addresses[n->n_addresses++];
}

/* ---- giving memory back ---- */

/* Counts memory that a private pool gives back. PyTorch asserts that its own count says the pool has some, but
 * expandable segments do not keep that count exact. */
static void pool_gives(struct naive *n, unsigned pool)
{
    if (pool == 0)
        return;
    if (n->pools[pool].device_allocs == 0)
        n->is_undefined = true;
    else
        n->pools[pool].device_allocs--;
}

static void release_block(struct naive *n, struct naive_block *b)
{
    if (is_split(b)) {                       /* part of a segment that became oversize by a smaller max_split_size */
        n->is_undefined = true;
        return;
    }
    n->device_frees++;
    record(n, 'R', b->stream, b->half.pool, b->addr, b->size);
    device_give(n, b->size);
    count(n, SEGMENT, b->half.is_small, -1);
    hold(n, b->half, -(int64_t)b->size);
    pool_gives(n, b->half.pool);
    if (b->size >= n->set.max_split)
        stat_add(&n->oversize_segments, -1);
    block_drop(n, b);
}

/* Splits a free block off one end of b. */
static struct naive_block *cut_off(struct naive *n, const struct naive_block *b, uint64_t addr, uint64_t size)
{
    struct naive_block part = *b;
    part.uses = NULL;
    part.addr = addr;
    part.size = size;
    part.requested = 0;
    part.ord = new_block_ord(n, b->ord);
    return block_new(n, part);
}

/* Gives back the memory of the whole pages inside a free block of an expandable segment. */
static void unmap_block(struct naive *n, struct naive_block *b)
{
    const uint64_t from = b->range_base + round_up_to(b->addr - b->range_base, b->page);
    const uint64_t to = b->range_base + (b->addr + b->size - b->range_base) / b->page * b->page;
    if (to <= from)
        return;
    if (from > b->addr) {
        struct naive_block *front = cut_off(n, b, b->addr, from - b->addr);
        front->next = b;
        if (front->prev != NULL)
            front->prev->next = front;
        b->prev = front;
        enter_free(n, front);
    }
    if (b->addr + b->size > to) {
        struct naive_block *behind = cut_off(n, b, to, b->addr + b->size - to);
        behind->prev = b;
        if (behind->next != NULL)
            behind->next->prev = behind;
        b->next = behind;
        enter_free(n, behind);
    }
    b->addr = from;
    b->size = to - from;
    b->is_mapped = false;
    for (uint64_t at = from; at < to; at += b->page)
        device_give(n, b->page);
    n->queues[b->stream].finished = n->queues[b->stream].recorded;
    hold(n, b->half, -(int64_t)(to - from));
    pool_gives(n, b->half.pool);
    n->device_frees++;
    record(n, 'U', b->stream, b->half.pool, from, to - from);
    coalesce(n, b, b->prev);
    coalesce(n, b, b->next);
    if (!is_split(b))
        block_drop(n, b);
}

/* Gives back unsplit segments at once, and then the blocks of expandable segments. */
static void give_back_half(struct naive *n, struct half half)
{
    size_t found;
    struct naive_block **list = free_blocks(n, half, &found);
    for (size_t i = 0; i < found; i++)
        if (!list[i]->is_range && !is_split(list[i])) {
            release_block(n, list[i]);
            list[i] = NULL;
        }
    for (size_t i = 0; i < found; i++)
        if (list[i] != NULL && list[i]->is_range)
            unmap_block(n, list[i]);
    free(list);
}

static void complete_free(struct naive *n, struct naive_block *b)
{
    record(n, 'c', b->stream, b->half.pool, b->addr, b->requested);
    const uint64_t size = b->size;
    int64_t blocks = 0, bytes = 0;
    struct naive_block *const neighbours[] = {b->prev, b->next};
    for (int i = 0; i < 2; i++) {
        const uint64_t won = coalesce(n, b, neighbours[i]);
        if (won > 0) {
            blocks--;
            bytes -= (int64_t)won;
        }
    }
    b->is_pending = false;
    enter_free(n, b);
    if (is_split(b)) {
        blocks++;
        bytes += (int64_t)b->size;
    }
    if (!b->is_range) {
        count(n, INACTIVE_SPLIT, b->half.is_small, blocks);
        count(n, INACTIVE_SPLIT_BYTES, b->half.is_small, bytes);
    }
    count(n, ACTIVE, b->half.is_small, -1);
    count(n, ACTIVE_BYTES, b->half.is_small, -(int64_t)size);
    count(n, REQUESTED_BYTES, b->half.is_small, -(int64_t)b->requested);
}

/* ---- work of other streams ---- */

/* With one thread: from the beginning to the end of a graph capture. 2.4 to 2.12 take any pool region for one. */
static bool is_capturing(const struct naive *n)
{
    if (n->cfg.minor >= 4 && n->cfg.minor <= 12)
        return n->n_diversions > 0;
    return n->n_captures > 0;
}

/* For a request: from 2.13 on only a capture of its own stream counts. */
static bool is_capturing_stream(const struct naive *n, unsigned stream)
{
    if (n->cfg.minor <= 12)
        return is_capturing(n);
    for (size_t i = 0; i < n->n_diversions; i++)
        if (n->diversions[i].is_capture && n->diversions[i].stream == stream)
            return true;
    return false;
}

static bool has_waits(const struct naive *n, unsigned stream)
{
    for (size_t i = 0; i < n->n_waits; i++)
        if (n->waits[i].stream == stream)
            return true;
    return false;
}

/* Records an event on each stream that used the block, in the order of the table. After this the block has no uses. */
static void record_events(struct naive *n, struct naive_block *b)
{
    for (unsigned i = 0; i < TABLE_MAX; i++) {
        if (!b->uses->at[i].is_taken)
            continue;
        const unsigned stream = b->uses->at[i].value;
        struct naive_queue *q = &n->queues[stream];
        q->recorded++;
        if (!q->is_held)
            q->finished = q->recorded;
        if (table_find(&n->waiting, stream_hash(n, stream), stream) == NULL)
            table_insert(&n->waiting, (struct naive_entry){.hash = stream_hash(n, stream), .value = stream});
        n->waits = grow_array(n->waits, n->n_waits, &n->cap_waits, sizeof *n->waits);
        n->waits[n->n_waits++] = (struct naive_wait){stream, q->recorded, b};
        b->n_events++;
    }
    memset(b->uses, 0, sizeof *b->uses);
}

static void end_wait(struct naive *n, size_t i)
{
    struct naive_block *b = n->waits[i].block;
    memmove(n->waits + i, n->waits + i + 1, (n->n_waits - i - 1) * sizeof *n->waits);
    n->n_waits--;
    if (--b->n_events == 0)
        complete_free(n, b);
}

/* Carries out the frees that a capture put off. Uses marked during it are no work on a stream (2.0 kept them). */
static void settle_deferred(struct naive *n)
{
    for (size_t i = 0; i < n->n_deferred; i++) {
        struct naive_block *b = n->deferred[i];
        struct naive_table kept = {0};
        for (unsigned k = 0; k < TABLE_MAX && n->cfg.minor > 0; k++)
            if (b->uses->at[k].is_taken && !b->uses->at[k].is_in_capture)
                table_insert(&kept, b->uses->at[k]);
        if (n->cfg.minor > 0)
            *b->uses = kept;
        if (b->uses->count > 0)
            record_events(n, b);
        else
            complete_free(n, b);
    }
    n->n_deferred = 0;
}

/* Ends the first waits of a stream as long as their events have finished. */
static void poll_stream(struct naive *n, unsigned stream)
{
    for (size_t i = 0; i < n->n_waits;) {
        if (n->waits[i].stream != stream) {
            i++;
            continue;
        }
        if (n->queues[stream].finished < n->waits[i].nth)
            return;
        end_wait(n, i);
    }
}

static void poll_all(struct naive *n)
{
    settle_deferred(n);
    for (unsigned i = 0; i < TABLE_MAX;) {
        const struct naive_entry e = n->waiting.at[i];
        if (e.is_taken)
            poll_stream(n, e.value);
        if (e.is_taken && !has_waits(n, e.value))
            table_remove(&n->waiting, i);
        else
            i++;
    }
}

static void end_pending(struct naive *n, size_t i)
{
    struct naive_block *b = n->pending[i];
    memmove(n->pending + i, n->pending + i + 1, (n->n_pending - i - 1) * sizeof(struct naive_block *));
    n->n_pending--;
    n->by_slot[b->slot] = NULL;
    complete_free(n, b);
}

/* Waits for every event, or (pool > 0) for those of the pool's blocks; then for the frees that the trace would end. */
static void wait_all(struct naive *n, unsigned pool, bool settles)
{
    n->syncs++;
    if (settles)
        settle_deferred(n);
    for (unsigned k = 0; k < TABLE_MAX;) {
        const struct naive_entry e = n->waiting.at[k];
        for (size_t i = 0; e.is_taken && i < n->n_waits;) {
            const struct naive_wait w = n->waits[i];
            if (w.stream != e.value || (pool != 0 && w.block->half.pool != pool)) {
                i++;
                continue;
            }
            if (n->queues[w.stream].finished < w.nth)
                n->queues[w.stream].finished = w.nth;
            end_wait(n, i);
        }
        if (e.is_taken && pool != 0 && !has_waits(n, e.value))
            table_remove(&n->waiting, k);
        else
            k++;
    }
    if (pool == 0) {
        memset(n->waiting.at, 0, sizeof n->waiting.at);
        n->waiting.count = 0;
    }
    for (size_t i = 0; i < n->n_pending;) {
        if (pool != 0 && n->pending[i]->half.pool != pool) {
            i++;
            continue;
        }
        n->ended[n->n_ended++] = n->pending[i]->slot;
        end_pending(n, i);
    }
}

/* ---- releasing ---- */

static void pool_disappears(struct naive *n, unsigned pool)
{
    for (size_t i = 0; i < n->n_blocks; i++)
        if (n->blocks[i]->half.pool == pool)
            n->is_undefined = true;          /* by a count that was not exact */
    n->pools[pool].exists = false;
}

/* Gives back what is free: in the default pool and the pools without users, or (pool > 0) in that one, if it has no
 * users. */
static void release_all(struct naive *n, unsigned pool, bool is_in_capture)
{
    if (pool == 0 && !is_in_capture) {
        wait_all(n, 0, true);
        give_back_half(n, (struct half){0, false});
        give_back_half(n, (struct half){0, true});
    }
    for (unsigned i = 0; i < TABLE_MAX;) {
        const struct naive_entry e = n->freeable.at[i];
        if (!e.is_taken || (pool != 0 && e.value != pool)) {
            i++;
            continue;
        }
        if (pool != 0)
            wait_all(n, pool, !is_in_capture);
        give_back_half(n, (struct half){e.value, true});
        give_back_half(n, (struct half){e.value, false});
        if (n->pools[e.value].device_allocs == 0) {
            pool_disappears(n, e.value);
            table_remove(&n->freeable, i);
        } else {
            i++;
        }
    }
}

/* Gives oversize blocks back; whether that may be enough for a request of S bytes. */
static bool release_oversize(struct naive *n, struct half half, uint64_t S, unsigned stream)
{
    if (n->set.max_split == NAIVE_UNLIMITED)
        return false;
    const uint64_t key = S > n->set.max_split ? S : n->set.max_split;
    struct naive_block *b = lower_bound(n, half, stream, key);
    if (b != NULL && b->stream == stream && !b->is_range) {
        release_block(n, b);
        return true;
    }
    uint64_t sum = 0;
    b = free_before(n, half, b);
    while (b != NULL && sum < key && b->size >= n->set.max_split && b->stream == stream) {
        struct naive_block *lower = free_before(n, half, b);
        if (!b->is_range) {
            sum += b->size;
            release_block(n, b);
        }
        b = lower;
    }
    return sum >= key;
}

static bool collects_garbage(const struct naive *n)
{
    return n->cfg.limit != NAIVE_UNLIMITED && n->set.gc_threshold > 0;
}

static void collect_garbage(struct naive *n)
{
    const uint64_t threshold = (uint64_t)(n->set.gc_threshold * (double)n->cfg.limit);
    if (n->held <= threshold)
        return;
    const uint64_t target = n->held - threshold;
    const struct half large = {0, false};
    const uint64_t now = n->pools[0].fit_calls[0];
    uint64_t sum = 0, blocks = 0, reclaimed = 0;
    for (size_t i = 0; i < n->n_blocks; i++)
        if (is_free(n->blocks[i], large) && !is_split(n->blocks[i])) {
            sum += now - n->blocks[i]->age_base;
            blocks++;
        }
    for (bool has_freed = true; has_freed && reclaimed < target && blocks > 0;) {
        const double average = (double)sum / (double)blocks;
        size_t found;
        struct naive_block **list = free_blocks(n, large, &found);
        has_freed = false;
        for (size_t i = 0; i < found; i++) {
            const uint64_t age = now - list[i]->age_base;
            if (is_split(list[i]) || list[i]->is_range || (double)age < average)
                continue;
            reclaimed += list[i]->size;
            sum -= age;
            blocks--;
            has_freed = true;
            release_block(n, list[i]);
        }
        free(list);
    }
}

/* ---- serving a request ---- */

static uint64_t largest_power(uint64_t bytes)
{
    uint64_t power = 1;
    while (power <= bytes / 2)
        power *= 2;
    return power;
}

static uint64_t round_request(const struct naive *n, uint64_t bytes)
{
    if (bytes < 512)
        return 512;
    unsigned k = 0;
    while (k < NAIVE_ROUNDUPS - 1 && bytes >= (2 * M) << k)
        k++;
    const uint64_t divisions = n->set.roundup[k];
    if (divisions == 1 && n->cfg.minor == 0)
        return bytes;
    if (divisions > 1 && bytes > 512 * divisions)
        return round_up_to(bytes, largest_power(bytes) / divisions);
    return round_up_to(bytes, 512);
}

static uint64_t segment_size(const struct naive *n, uint64_t S)
{
    if (S <= M)
        return 2 * M;
    if (S < 10 * M)
        return n->set.large_segment;
    return round_up_to(S, 2 * M);
}

static uint64_t reach(const struct naive_block *b)
{
    return b->size + (b->next != NULL && !b->next->is_mapped ? b->next->size : 0);
}

static struct naive_block *fit(struct naive *n, struct half half, uint64_t S, unsigned stream, bool exp)
{
    if (collects_garbage(n))
        n->pools[half.pool].fit_calls[half.is_small]++;
    struct naive_block *b = lower_bound(n, half, stream, S);
    if (b == NULL || b->stream != stream)
        return NULL;
    if (b->is_range && exp) {
        for (;;) {
            struct naive_block *next = free_after(n, half, b);
            if (!b->is_range || next == NULL || next->stream != stream || reach(next) >= reach(b))
                break;
            b = next;
        }
    } else {
        while (b != NULL && b->stream == stream && b->is_range)
            b = free_after(n, half, b);
        if (b == NULL || b->stream != stream)
            return NULL;
    }
    if (S < n->set.max_split && b->size >= n->set.max_split)
        return NULL;
    if (S >= n->set.max_split && b->size >= S + n->set.non_split_rounding)
        return NULL;
    return b;
}

/* Maps memory to the first `bytes` of an unmapped block, in whole pages; NULL if there is not enough. */
static struct naive_block *map_part(struct naive *n, struct naive_block *u, uint64_t bytes)
{
    const uint64_t pages = round_up_to(bytes, u->page) / u->page;
    const uint64_t mapped = pages * u->page;
    const uint64_t addr = u->addr;
    for (uint64_t i = 0; i < pages; i++)
        if (!device_take(n, u->page)) {
            while (i-- > 0)
                device_give(n, u->page);
            return NULL;
        }
    if (mapped < u->size) {
        struct naive_block *rest = cut_off(n, u, u->addr + mapped, u->size - mapped);
        rest->prev = u;
        if (rest->next != NULL)
            rest->next->prev = rest;
        u->next = rest;
        u->size = mapped;
    }
    u->is_mapped = true;
    coalesce(n, u, u->prev);
    coalesce(n, u, u->next);
    enter_free(n, u);
    hold(n, u->half, (int64_t)mapped);
    n->device_allocs++;
    record(n, 'M', u->stream, u->half.pool, addr, mapped);
    return u;
}

/* The lowest unmapped block, or its free predecessor, that can grow to S bytes. */
static struct naive_block *growable(const struct naive *n, struct half half, uint64_t S, unsigned stream)
{
    struct naive_block *lowest = NULL, *start = NULL;
    for (size_t i = 0; i < n->n_blocks; i++) {
        struct naive_block *u = n->blocks[i];
        if (u->is_mapped || !is_in(u, half) || u->stream != stream)
            continue;
        struct naive_block *const first = u->prev != NULL && !is_busy(u->prev) ? u->prev : u;
        uint64_t sum = 0;
        for (const struct naive_block *b = first; b != NULL && !is_busy(b) && sum < S; b = b->next)
            sum += b->size;
        if (sum >= S && (lowest == NULL || u->addr < lowest->addr)) {
            lowest = u;
            start = first;
        }
    }
    return start;
}

static struct naive_block *new_range(struct naive *n, struct half half, uint64_t S, unsigned stream)
{
    const uint64_t page = half.is_small ? 2 * M : n->set.large_segment;
    uint64_t reserve = n->cfg.total + n->cfg.total / 8;
    if (reserve > n->set.reserve)
        reserve = n->set.reserve;
    const uint64_t bytes = round_up_to(reserve, page);
    const uint64_t addr = device_address(n);
    if (n->cfg.minor >= 15 && bytes < S)
        return NULL;
    return block_new(n, (struct naive_block){.addr = addr, .size = bytes, .stream = stream, .half = half,
                                             .is_range = true, .range_base = addr, .page = page,
                                             .ord = n->next_ord++});
}

static struct naive_block *grow_expandable(struct naive *n, struct half half, uint64_t S, unsigned stream)
{
    struct naive_block *b = growable(n, half, S, stream);
    if (b == NULL)
        b = new_range(n, half, S, stream);
    if (b != NULL && !b->is_mapped)
        b = map_part(n, b, b->size < S ? b->size : S);
    while (b != NULL && b->size < S) {
        const uint64_t missing = S - b->size;
        if (b->next == NULL)
            return NULL;
        b = map_part(n, b->next, missing < b->next->size ? missing : b->next->size);
    }
    return b;
}

enum growth { GREW, NO_MEMORY, REJECTED };

/* A request while it is served. */
struct attempt {
    uint64_t S;                              /* rounded size */
    unsigned stream;
    struct half half;
    bool     exp;                            /* from expandable segments */
};

static enum growth grow(struct naive *n, const struct attempt *a, bool is_retry, struct naive_block **out)
{
    const uint64_t G = segment_size(n, a->S);
    if (is_retry)
        n->retries++;
    if (n->cfg.limit != NAIVE_UNLIMITED && n->held + G > n->cfg.limit)
        return NO_MEMORY;
    if (n->set.throws && n->held + G > (uint64_t)(n->set.fraction * (double)n->cfg.total)) {
        n->rejections++;
        return REJECTED;
    }
    if (a->exp) {
        *out = grow_expandable(n, a->half, a->S, a->stream);
        n->pools[a->half.pool].device_allocs += *out != NULL;
        return *out != NULL ? GREW : NO_MEMORY;
    }
    if (!device_take(n, G))
        return NO_MEMORY;
    *out = block_new(n, (struct naive_block){.addr = device_address(n), .size = G, .stream = a->stream,
                                             .half = a->half, .is_mapped = true, .ord = n->next_ord++});
    n->pools[a->half.pool].device_allocs++;
    hold(n, a->half, (int64_t)G);
    count(n, SEGMENT, a->half.is_small, 1);
    if (G >= n->set.max_split)
        stat_add(&n->oversize_segments, 1);
    n->device_allocs++;
    record(n, 'S', a->stream, a->half.pool, (*out)->addr, G);
    return GREW;
}

static bool wants_split(const struct naive *n, const struct naive_block *b, const struct attempt *a)
{
    const uint64_t rest = b->size - a->S;
    if (n->pools[b->half.pool].no_split)
        return false;
    if (b->half.is_small || (n->cfg.minor == 4 ? n->set.is_expandable : a->exp))
        return rest >= 512;
    return a->S < n->set.max_split && rest > M;
}

/* Splits b if the rules say so; returns the block to hand out. */
static struct naive_block *split(struct naive *n, struct naive_block *b, const struct attempt *a)
{
    const uint64_t S = a->S;
    const bool was_split = is_split(b);
    struct naive_block *front = b;
    if (wants_split(n, b, a)) {
        front = cut_off(n, b, b->addr, S);
        front->next = b;
        if (front->prev != NULL)
            front->prev->next = front;
        b->prev = front;
        b->addr += S;
        b->size -= S;
        enter_free(n, b);
        if (!b->is_range && was_split)
            count(n, INACTIVE_SPLIT_BYTES, b->half.is_small, -(int64_t)S);
        if (!b->is_range && !was_split) {
            count(n, INACTIVE_SPLIT_BYTES, b->half.is_small, (int64_t)b->size);
            count(n, INACTIVE_SPLIT, b->half.is_small, 1);
        }
    } else if (!b->is_range && was_split) {
        count(n, INACTIVE_SPLIT_BYTES, b->half.is_small, -(int64_t)b->size);
        count(n, INACTIVE_SPLIT, b->half.is_small, -1);
    }
    return front;
}

static void hand_out(struct naive *n, struct naive_block *b, uint64_t bytes, unsigned slot)
{
    b->is_allocated = true;
    b->requested = bytes;
    b->slot = slot;
    n->by_slot[slot] = b;
    record(n, 'a', b->stream, b->half.pool, b->addr, bytes);
    count(n, ALLOCATION, b->half.is_small, 1);
    count(n, ALLOCATED_BYTES, b->half.is_small, (int64_t)b->size);
    count(n, ACTIVE, b->half.is_small, 1);
    count(n, ACTIVE_BYTES, b->half.is_small, (int64_t)b->size);
    count(n, REQUESTED_BYTES, b->half.is_small, (int64_t)bytes);
    if (b->size >= n->set.max_split)
        stat_add(&n->oversize_allocations, 1);
}

/* Takes a block of a pool that lends; the block stays that pool's. In 2.9 it may be in an expandable segment. */
static struct naive_block *borrow(struct naive *n, struct attempt *a)
{
    const bool exp = a->exp && n->cfg.minor == 9;
    for (unsigned i = 0; i < TABLE_MAX && a->half.pool == 0; i++) {
        const struct naive_entry e = n->lenders.at[i];
        if (!e.is_taken || !n->pools[e.value].exists)
            continue;
        struct naive_block *b = fit(n, (struct half){e.value, a->half.is_small}, a->S, a->stream, exp);
        if (b != NULL) {
            a->exp = exp;
            return b;
        }
    }
    return NULL;
}

static enum growth obtain(struct naive *n, struct attempt *a, struct naive_block **b)
{
    if (collects_garbage(n))
        collect_garbage(n);
    enum growth result = grow(n, a, false, b);
    if (result == NO_MEMORY && n->cfg.minor >= 11 && (*b = borrow(n, a)) != NULL)
        result = GREW;
    if (result == NO_MEMORY && release_oversize(n, a->half, a->S, a->stream))
        result = grow(n, a, false, b);
    if (result == NO_MEMORY && !is_capturing_stream(n, a->stream)) {
        release_all(n, 0, false);
        result = grow(n, a, true, b);
    }
    const bool borrows_last = n->cfg.minor == 9 || n->cfg.minor == 10;
    if (result == NO_MEMORY && borrows_last && (*b = borrow(n, a)) != NULL)
        result = GREW;
    return result;
}

/* The pool of the innermost region that takes the stream; up to 2.9 that of the outermost. */
static unsigned choose_pool(const struct naive *n, unsigned stream)
{
    unsigned pool = 0;
    for (size_t i = 0; i < n->n_diversions; i++) {
        const struct naive_diversion d = n->diversions[i];
        if ((!d.is_capture || d.stream == stream) && (n->cfg.minor >= 10 || pool == 0))
            pool = d.pool;
    }
    return pool;
}

bool naive_alloc(struct naive *n, unsigned slot, unsigned stream, uint64_t bytes, uint64_t *addr)
{
    if (!is_capturing_stream(n, stream))
        poll_all(n);
    const uint64_t S = round_request(n, bytes);
    const unsigned pool = choose_pool(n, stream);
    struct attempt a = {.S = S, .stream = stream, .half = {pool, S <= M},
                        .exp = n->set.is_expandable && (pool == 0 || n->cfg.minor > 4)};
    struct naive_block *b = fit(n, a.half, S, stream, a.exp);
    const enum growth result = b != NULL ? GREW : obtain(n, &a, &b);
    if (result == NO_MEMORY) {
        record(n, 'o', stream, pool, n->cfg.total - n->used, S);
        n->ooms++;
    }
    if (result != GREW)
        return false;
    b = split(n, b, &a);
    hand_out(n, b, bytes, slot);
    *addr = b->addr;
    return true;
}

/* ---- what else a program does ---- */

static struct naive_block *request_free(struct naive *n, unsigned slot)
{
    struct naive_block *b = n->by_slot[slot];
    b->is_allocated = false;
    b->is_pending = true;
    count(n, ALLOCATION, b->half.is_small, -1);
    count(n, ALLOCATED_BYTES, b->half.is_small, -(int64_t)b->size);
    record(n, 'f', b->stream, b->half.pool, b->addr, b->requested);
    if (b->size >= n->set.max_split)
        stat_add(&n->oversize_allocations, -1);
    return b;
}

void naive_retire(struct naive *n, unsigned slot)
{
    n->pending = grow_array(n->pending, n->n_pending, &n->cap_pending, sizeof(struct naive_block *));
    n->pending[n->n_pending++] = request_free(n, slot);
}

void naive_complete(struct naive *n, unsigned slot)
{
    size_t i = 0;
    while (n->pending[i] != n->by_slot[slot])
        i++;
    end_pending(n, i);
}

void naive_free(struct naive *n, unsigned slot)
{
    struct naive_block *b = request_free(n, slot);
    n->by_slot[slot] = NULL;
    if (b->uses == NULL || b->uses->count == 0) {
        complete_free(n, b);
    } else if (is_capturing(n)) {
        n->deferred = grow_array(n->deferred, n->n_deferred, &n->cap_deferred, sizeof(struct naive_block *));
        n->deferred[n->n_deferred++] = b;
    } else {
        record_events(n, b);
    }
}

/* The pool of the innermost region: 2.6 shows and flushes nothing else; 0: no region. */
static unsigned only_pool(const struct naive *n)
{
    unsigned pool = 0;
    for (size_t i = 0; i < n->n_diversions && n->cfg.minor == 6; i++)
        if (!n->diversions[i].is_capture)
            pool = n->diversions[i].pool;
    return pool;
}

void naive_flush(struct naive *n)
{
    release_all(n, only_pool(n), is_capturing(n));
}

void naive_use(struct naive *n, unsigned slot, unsigned stream)
{
    struct naive_block *b = n->by_slot[slot];
    if (stream == b->stream)
        return;
    if (b->uses == NULL && (b->uses = calloc(1, sizeof *b->uses)) == NULL)
        abort();
    const uint64_t hash = stream_hash(n, stream);
    if (table_find(b->uses, hash, stream) == NULL)
        table_insert(b->uses, (struct naive_entry){.hash = hash, .value = stream});
    if (is_capturing(n))
        table_find(b->uses, hash, stream)->is_in_capture = true;
}

void naive_hold(struct naive *n, unsigned stream, bool is_held)
{
    n->queues[stream].is_held = is_held;
    if (!is_held)
        n->queues[stream].finished = n->queues[stream].recorded;
}

void naive_finish(struct naive *n, unsigned stream, uint64_t events)
{
    struct naive_queue *q = &n->queues[stream];
    while (events-- > 0 && q->finished < q->recorded)
        q->finished++;
}

/* ---- private pools ---- */

static void pool_acquire(struct naive *n, unsigned pool)
{
    if (!n->pools[pool].exists) {
        naive_pool_create(n, pool, false, false);
        return;
    }
    const struct naive_entry *e = table_find(&n->freeable, pool_hash(n, pool), pool);
    if (n->pools[pool].n_uses++ == 0 && e != NULL)
        table_remove(&n->freeable, (unsigned)(e - n->freeable.at));
}

static void pool_give_up(struct naive *n, unsigned pool)
{
    if (--n->pools[pool].n_uses == 0)
        table_insert(&n->freeable, (struct naive_entry){.hash = pool_hash(n, pool), .value = pool});
}

static void diversion_remove(struct naive *n, unsigned pool)
{
    size_t i = n->n_diversions - 1;
    while (n->diversions[i].pool != pool)
        i--;
    for (n->n_diversions--; i < n->n_diversions; i++)
        n->diversions[i] = n->diversions[i + 1];
}

void naive_pool_create(struct naive *n, unsigned pool, bool no_split, bool lends)
{
    n->pools[pool].exists = true;
    n->pools[pool].no_split = no_split;
    n->pools[pool].n_uses = 1;
    if (lends)
        table_insert(&n->lenders, (struct naive_entry){.hash = pool_hash(n, pool), .value = pool});
}

void naive_pool_enter(struct naive *n, unsigned pool)
{
    pool_acquire(n, pool);
    n->diversions[n->n_diversions++] = (struct naive_diversion){.pool = pool};
}

void naive_pool_leave(struct naive *n, unsigned pool)
{
    diversion_remove(n, pool);
    pool_give_up(n, pool);
}

void naive_pool_drop(struct naive *n, unsigned pool)
{
    const struct naive_entry *e = table_find(&n->lenders, pool_hash(n, pool), pool);
    if (e != NULL)
        table_remove(&n->lenders, (unsigned)(e - n->lenders.at));
    pool_give_up(n, pool);
    release_all(n, pool, is_capturing(n));
}

void naive_capture_begin(struct naive *n, unsigned pool, unsigned stream)
{
    pool_acquire(n, pool);
    n->diversions[n->n_diversions++] = (struct naive_diversion){.pool = pool, .stream = stream, .is_capture = true};
    n->n_captures++;
}

void naive_capture_end(struct naive *n)
{
    size_t i = n->n_diversions - 1;
    while (!n->diversions[i].is_capture)
        i--;
    diversion_remove(n, n->diversions[i].pool);
    n->n_captures--;
}

void naive_graph_reset(struct naive *n, unsigned pool)
{
    pool_give_up(n, pool);
}

/* ---- settings and counters ---- */

void naive_set(struct naive *n, const struct naive_settings *s)
{
    n->set = *s;
}

void naive_set_limit(struct naive *n, uint64_t limit)
{
    n->cfg.limit = limit;
}

void naive_reset_peak(struct naive *n)
{
    for (int i = 0; i < N_ARRAYS; i++)
        for (int k = 0; k < N_ENTRIES; k++)
            n->array[i][k].peak = n->array[i][k].current;
    for (int i = 1; i < NAIVE_POOLS; i++)
        for (int k = 0; k < N_ENTRIES; k++)
            n->pools[i].reserved[k].peak = n->pools[i].reserved[k].current;
    n->oversize_allocations.peak = n->oversize_allocations.current;
    n->oversize_segments.peak = n->oversize_segments.current;
}

static void forget_accumulated(struct naive_stat *s)
{
    s->allocated = 0;
    s->freed = 0;
}

void naive_reset_accumulated(struct naive *n)
{
    for (int i = 0; i < N_ARRAYS; i++)
        for (int k = 0; k < N_ENTRIES; k++)
            forget_accumulated(&n->array[i][k]);
    for (int i = 1; i < NAIVE_POOLS; i++)
        for (int k = 0; k < N_ENTRIES; k++)
            forget_accumulated(&n->pools[i].reserved[k]);
    forget_accumulated(&n->oversize_allocations);
    forget_accumulated(&n->oversize_segments);
    n->retries = n->ooms = n->syncs = n->device_allocs = n->device_frees = n->rejections = 0;
}

/* ---- life and views ---- */

struct naive *naive_open(const struct naive_config *cfg)
{
    struct naive *n = calloc(1, sizeof *n);
    if (n == NULL)
        abort();
    n->cfg = *cfg;
    n->set = cfg->settings;
    n->max_split_at_start = n->set.max_split == NAIVE_UNLIMITED ? -1 : (int64_t)n->set.max_split;
    return n;
}

void naive_close(struct naive *n)
{
    while (n->n_blocks > 0)
        block_drop(n, n->blocks[0]);
    free(n->blocks);
    free(n->pending);
    free(n->waits);
    free(n->deferred);
    free(n->records);
    free(n);
}

bool naive_is_undefined(const struct naive *n)
{
    return n->is_undefined;
}

const struct naive_record *naive_records(const struct naive *n, size_t *count_out)
{
    *count_out = n->n_records;
    return n->records;
}

const unsigned *naive_ended(const struct naive *n, size_t *count_out)
{
    *count_out = n->n_ended;
    return n->ended;
}

void naive_forget(struct naive *n)
{
    n->n_records = 0;
    n->n_ended = 0;
}

static char state_of(const struct naive_block *b)
{
    if (!b->is_mapped)
        return 'u';
    return b->is_allocated ? 'a' : b->is_pending ? 'p' : 'f';
}

static int view_compare(const void *a, const void *b)
{
    const struct naive_view *x = a, *y = b;
    return x->addr < y->addr ? -1 : x->addr > y->addr;
}

static bool is_shown(const struct naive *n, const struct naive_block *b)
{
    return only_pool(n) == 0 || only_pool(n) == b->half.pool;
}

struct naive_view *naive_views(const struct naive *n, size_t *count_out)
{
    struct naive_view *views = calloc(n->n_blocks + 1, sizeof *views);
    if (views == NULL)
        abort();
    *count_out = 0;
    for (size_t i = 0; i < n->n_blocks; i++) {
        const struct naive_block *b = n->blocks[i];
        if (is_shown(n, b))
            views[(*count_out)++] = (struct naive_view){
                .addr = b->addr, .bytes = b->size, .requested = b->requested, .stream = b->stream,
                .pool = b->half.pool, .state = state_of(b), .is_small = b->half.is_small,
                .page_bytes = b->is_range ? b->page : 0,
            };
    }
    qsort(views, *count_out, sizeof *views, view_compare);
    return views;
}

typedef void stat_visitor(void *arg, const char *key, int64_t value);

static void visit_stat(const struct naive_stat *s, const char *name, stat_visitor *visit, void *arg)
{
    static const char *const counters[] = {"allocated", "current", "freed", "peak"};
    const int64_t values[] = {s->allocated, s->current, s->freed, s->peak};
    for (int i = 0; i < 4; i++) {
        char key[3 * NAIVE_KEY];
        snprintf(key, sizeof key, "%s.%s", name, counters[i]);
        visit(arg, key, values[i]);
    }
}

static void visit_array(const struct naive_stat *array, const char *name, stat_visitor *visit, void *arg)
{
    for (int k = 0; k < N_ENTRIES; k++) {
        char key[2 * NAIVE_KEY];
        snprintf(key, sizeof key, "%s.%s", name, entry_names[k]);
        visit_stat(&array[k], key, visit, arg);
    }
}

static void visit_pools(const struct naive *n, stat_visitor *visit, void *arg)
{
    for (unsigned i = 1; i < NAIVE_POOLS && n->cfg.minor >= 13; i++) {
        char name[NAIVE_KEY];
        snprintf(name, sizeof name, "reserved_bytes_by_private_pools.%u_%u", (unsigned)n->cfg.pool_ids[i][0],
                 (unsigned)n->cfg.pool_ids[i][1]);
        if (n->pools[i].ever_held)
            visit_array(n->pools[i].reserved, name, visit, arg);
    }
}

void naive_stats(const struct naive *n, stat_visitor *visit, void *arg)
{
    for (int i = ACTIVE; i <= INACTIVE_SPLIT_BYTES; i++)
        visit_array(n->array[i], array_names[i], visit, arg);
    visit(arg, "max_split_size", n->max_split_at_start);
    visit(arg, "num_alloc_retries", n->retries);
    if (n->cfg.minor >= 4) {
        visit(arg, "num_device_alloc", n->device_allocs);
        visit(arg, "num_device_free", n->device_frees);
    }
    if (n->cfg.minor >= 12)
        visit(arg, "num_oom_rejections", n->rejections);
    visit(arg, "num_ooms", n->ooms);
    if (n->cfg.minor >= 4)
        visit(arg, "num_sync_all_streams", n->syncs);
    visit_stat(&n->oversize_allocations, "oversize_allocations", visit, arg);
    visit_stat(&n->oversize_segments, "oversize_segments", visit, arg);
    visit_array(n->array[REQUESTED_BYTES], array_names[REQUESTED_BYTES], visit, arg);
    visit_array(n->array[RESERVED_BYTES], array_names[RESERVED_BYTES], visit, arg);
    visit_pools(n, visit, arg);
    visit_array(n->array[SEGMENT], array_names[SEGMENT], visit, arg);
}

uint64_t naive_device_used(const struct naive *n)
{
    return n->used;
}
