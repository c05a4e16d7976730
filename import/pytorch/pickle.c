/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * The pickle machine: a stack of values, a stack of marks and a memo.
 *
 *     stack   | ... | list (open) | dict (open) | key | value | key | value |     items of the innermost container
 *     marks                                     ^                                  the innermost mark
 *     bags            the items of open containers that are no longer on the stack
 *
 * A container on the stack is open until something consumes it or refers to it; then the handler seals it. The items of
 * an open container wait in a bag. A dictionary is sealed earlier, straight from the stack, when its last batch of
 * items has come: Python's pickler writes batches of 1000 items, so a shorter batch is the last, and other picklers
 * write all items at once. This saves a bag for each of a million records that wait for their list to be complete.
 *
 * Opcodes: CPython, Lib/pickletools.py. Batches: CPython, Modules/_pickle.c, batch_dict and batch_list.
 */
#include "import/pytorch/pickle.h"

#include "base/hash.h"

#include <stdlib.h>
#include <string.h>

enum {
    BATCH_ITEMS = 1000,
    MARKS_MAX = 1000,                 /* nested containers */
    MEMO_GAP_MAX = 1 << 12,           /* memo numbers have no gaps; small ones are tolerated */
    OPCODE_BYTES_MAX = 300,           /* longest common opcode: a short string and its length */
    TEXT_MAX = 4096,                  /* of a number in text */
#ifdef REPLAY_SMALL_PARTS             /* so that what a fuzzer makes has several, and each pickle is cheap */
    ARENA_BYTES = 1 << 14,
#else
    ARENA_BYTES = 1 << 20,
#endif
    MEMO_BITS = 32                    /* of an open value: memo index + 1, below the bag's number + 1 */
};
#define MEMO_UNSET UINT32_MAX
#define MEMO_MAX (UINT32_MAX - 1)

/* The memo is kept in pages. The objects of a page are mostly a few stack frames and stacks over and over, so a full
 * page is packed into a table of its distinct values and a byte per entry. */
#ifdef REPLAY_SMALL_PARTS
enum { PAGE_BITS = 9 };
#else
enum { PAGE_BITS = 12 };
#endif
enum { PAGE_ENTRIES = 1 << PAGE_BITS, PAGE_VALUES = 256, PAGES_UNPACKED = 4 };

struct packed_page {
    uint32_t value[PAGE_VALUES];
    uint32_t n;
    uint8_t  entry[PAGE_ENTRIES];
};

struct memo_page {                    /* one of the two is set; neither: all entries are unset */
    uint32_t *plain;
    struct packed_page *packed;
};

struct bag {                          /* items of an open container */
    uint64_t *items;
    size_t n, cap;
};

struct arena {                        /* memory of strings, which never move */
    struct arena *next;
    size_t used, cap;
    char bytes[];
};

struct strings {
    struct arena *arena;
    const char **text;                /* by number */
    uint32_t *length, *hash;
    uint32_t n, cap;
    uint32_t *slots;                  /* open addressing: number + 1, 0 = vacant */
    uint32_t n_slots;                 /* a power of two, at least twice n */
    struct hash_seed seed;
};

struct pickle {
    struct input *in;
    struct pickle_handler handler;
    const unsigned char *base, *at, *end;    /* the window, and the place in it */
    uint64_t base_offset, op_offset;
    bool at_end;                      /* nothing follows the window */
    bool is_stopped;
    uint64_t *stack;
    size_t n, cap;
    size_t open_end;                  /* all open containers are below this place of the stack */
    uint32_t marks[MARKS_MAX];
    uint32_t n_marks;
    struct memo_page *pages;
    size_t n_pages, pages_cap;
    size_t n_memo;                    /* entries that are set */
    struct bag *bags;
    uint32_t n_bags, bags_cap;
    uint32_t *vacant;                 /* bags not in use */
    uint32_t n_vacant;
    struct strings strings;
    uint64_t *bigs;
    size_t n_bigs, bigs_cap;
    double *floats;
    size_t n_floats, floats_cap;
    char *scratch;                    /* unescaped text */
};

struct opcode {
    const char *name;
    enum err (*run)(struct pickle *p, unsigned arg, struct err_detail *err);
    unsigned arg;
};

/* ---- failure and growth ---- */

static enum err pickle_fail(const struct pickle *p, const char *what, struct err_detail *err)
{
    return err_at(err, ERR_FORMAT, p->op_offset, input_name(p->in), "byte %llu: %s", (unsigned long long)p->op_offset,
                  what);
}

/* Makes room for element number n of an array, whose pointer and cap change. Grows by half, which wastes less memory
 * than array_grow. */
static bool grow(void **array, size_t *cap, size_t n, size_t element)
{
    if (n < *cap)
        return true;
    const size_t want = *cap < 64 ? 64 : *cap + *cap / 2;
    void *bigger = realloc(*array, (want > n ? want : n + 1) * element);
    if (bigger == NULL)
        return false;
    *array = bigger;
    *cap = want > n ? want : n + 1;
    return true;
}

/* ---- the window ---- */

/* Gives back the used part of the window and asks for `want` bytes more. */
static enum err pickle_refill(struct pickle *p, size_t want, struct err_detail *err)
{
    size_t n = 0;
    const size_t used = (size_t)(p->at - p->base);
    if (p->base != NULL)
        input_skip(p->in, used);
    p->base_offset += used;
    if (p->handler.progress != NULL)
        p->handler.progress(p->handler.arg);
    const enum err e = input_peek(p->in, want, &p->base, &n, err);
    p->at = p->base;
    p->end = p->base + (e == ERR_OK ? n : 0);
    p->at_end = e == ERR_OK && n < want;
    return e;
}

/* Takes the next n (<= INPUT_PEEK_MAX) bytes and lends them. */
static enum err pickle_take(struct pickle *p, size_t n, const unsigned char **bytes, struct err_detail *err)
{
    if ((size_t)(p->end - p->at) < n) {
        const enum err e = p->at_end ? ERR_OK : pickle_refill(p, INPUT_PEEK_MAX, err);
        if (e != ERR_OK)
            return e;
        if ((size_t)(p->end - p->at) < n)
            return pickle_fail(p, "the pickle is cut off", err);
    }
    *bytes = p->at;
    p->at += n;
    return ERR_OK;
}

static enum err pickle_pass(struct pickle *p, uint64_t n, struct err_detail *err)
{
    const unsigned char *bytes;
    while (n > 0) {
        const size_t step = n < INPUT_PEEK_MAX ? (size_t)n : INPUT_PEEK_MAX;
        const enum err e = pickle_take(p, step, &bytes, err);
        if (e != ERR_OK)
            return e;
        n -= step;
    }
    return ERR_OK;
}

static uint64_t little_endian(const unsigned char *b, size_t n)
{
    uint64_t v = 0;
    for (size_t i = n; i-- > 0;)
        v = v << 8 | b[i];
    return v;
}

static enum err pickle_number(struct pickle *p, unsigned width, uint64_t *v, struct err_detail *err)
{
    const unsigned char *b = NULL;
    const enum err e = pickle_take(p, width, &b, err);
    if (e == ERR_OK)
        *v = little_endian(b, width);
    return e;
}

/* Takes the next line and lends it without its end; *text is NULL if the line does not fit the window. */
static enum err pickle_line(struct pickle *p, const char **text, size_t *n, struct err_detail *err)
{
    const unsigned char *stop = memchr(p->at, '\n', (size_t)(p->end - p->at));
    if (stop == NULL && !p->at_end) {
        const enum err e = pickle_refill(p, INPUT_PEEK_MAX, err);
        if (e != ERR_OK)
            return e;
        stop = memchr(p->at, '\n', (size_t)(p->end - p->at));
    }
    *text = NULL;
    *n = 0;
    while (stop == NULL) {                               /* longer than any line that is used: skip it */
        if (p->at_end)
            return pickle_fail(p, "the pickle is cut off", err);
        p->at = p->end;
        const enum err e = pickle_refill(p, INPUT_PEEK_MAX, err);
        if (e != ERR_OK)
            return e;
        stop = memchr(p->at, '\n', (size_t)(p->end - p->at));
        if (stop != NULL) {
            p->at = stop + 1;
            return ERR_OK;
        }
    }
    *text = (const char *)p->at;
    *n = (size_t)(stop - p->at);
    p->at = stop + 1;
    return ERR_OK;
}

/* ---- strings ---- */

/* A copy of s[0, n) with a terminator; NULL without memory. Arenas are not enlarged, so copies never move. */
static const char *arena_copy(struct strings *t, const char *s, size_t n)
{
    if (t->arena == NULL || t->arena->cap - t->arena->used <= n) {
        const size_t cap = n < ARENA_BYTES / 4 ? ARENA_BYTES : n + 1;
        struct arena *a = malloc(sizeof *a + cap);
        if (a == NULL)
            return NULL;
        *a = (struct arena){.next = t->arena, .cap = cap};
        t->arena = a;
    }
    char *to = t->arena->bytes + t->arena->used;
    memcpy(to, s, n);
    to[n] = '\0';
    t->arena->used += n + 1;
    return to;
}

static bool strings_rehash(struct strings *t)
{
    const uint32_t n_slots = t->n_slots == 0 ? 1024 : t->n_slots * 2;
    uint32_t *slots = calloc(n_slots, sizeof *slots);
    if (slots == NULL)
        return false;
    if (t->n_slots == 0)
        t->seed = hash_seed();
    for (uint32_t i = 0; i < t->n; i++) {
        uint32_t at = t->hash[i] & (n_slots - 1);
        while (slots[at] != 0)
            at = (at + 1) & (n_slots - 1);
        slots[at] = i + 1;
    }
    free(t->slots);
    t->slots = slots;
    t->n_slots = n_slots;
    return true;
}

static bool strings_grow(struct strings *t)
{
    size_t cap[3] = {t->cap, t->cap, t->cap};
    void *text = t->text, *length = t->length, *hash = t->hash;
    const bool ok = grow(&text, &cap[0], t->n, sizeof *t->text) && grow(&length, &cap[1], t->n, sizeof *t->length) &&
                    grow(&hash, &cap[2], t->n, sizeof *t->hash);
    t->text = text;
    t->length = length;
    t->hash = hash;
    if (ok)
        t->cap = (uint32_t)cap[2];
    return ok;
}

/* The number of a string; UINT32_MAX without memory or free numbers. */
static uint32_t strings_intern(struct strings *t, const char *s, size_t n)
{
    if (t->n >= t->n_slots / 2 && !strings_rehash(t))
        return UINT32_MAX;
    const uint32_t hash = (uint32_t)hash_bytes(&t->seed, s, n);
    uint32_t at = hash & (t->n_slots - 1);
    for (; t->slots[at] != 0; at = (at + 1) & (t->n_slots - 1)) {
        const uint32_t i = t->slots[at] - 1;
        if (t->hash[i] == hash && t->length[i] == n && memcmp(t->text[i], s, n) == 0)
            return i;
    }
    if (t->n == PICKLE_INDEX_MAX || (t->n == t->cap && !strings_grow(t)))
        return UINT32_MAX;
    const char *copy = arena_copy(t, s, n);
    if (copy == NULL)
        return UINT32_MAX;
    t->text[t->n] = copy;
    t->length[t->n] = (uint32_t)n;
    t->hash[t->n] = hash;
    t->slots[at] = t->n + 1;
    return t->n++;
}

static void strings_free(struct strings *t)
{
    for (struct arena *a = t->arena, *next; a != NULL; a = next) {
        next = a->next;
        free(a);
    }
    free(t->text);
    free(t->length);
    free(t->hash);
    free(t->slots);
}

/* ---- values ---- */

static enum err pickle_push(struct pickle *p, uint64_t value, struct err_detail *err)
{
    if (p->n == p->cap) {
        void *stack = p->stack;
        if (p->n > PICKLE_INDEX_MAX)
            return pickle_fail(p, "too many values wait at once", err);
        if (!grow(&stack, &p->cap, p->n, sizeof *p->stack))
            return err_no_memory(err);
        p->stack = stack;
        if (p->cap > (size_t)PICKLE_INDEX_MAX + 1)       /* every place of the stack fits a memo entry */
            p->cap = (size_t)PICKLE_INDEX_MAX + 1;
    }
    p->stack[p->n++] = value;
    return ERR_OK;
}

static enum err big_value(struct pickle *p, uint64_t bits, uint64_t *value, struct err_detail *err)
{
    void *bigs = p->bigs;
    if (p->n_bigs > PICKLE_INDEX_MAX || !grow(&bigs, &p->bigs_cap, p->n_bigs, sizeof *p->bigs))
        return err_no_memory(err);
    p->bigs = bigs;
    p->bigs[p->n_bigs] = bits;
    *value = pickle_value(PICKLE_BIG, (uint32_t)p->n_bigs++);
    return ERR_OK;
}

static enum err int_value(struct pickle *p, int64_t v, uint64_t *value, struct err_detail *err)
{
    const int64_t most = INT64_C(1) << (63 - PICKLE_KIND_BITS);
    if (v < -most || v >= most)
        return big_value(p, (uint64_t)v, value, err);
    *value = (uint64_t)v << PICKLE_KIND_BITS | PICKLE_INT;
    return ERR_OK;
}

static enum err push_int(struct pickle *p, int64_t v, struct err_detail *err)
{
    uint64_t value;
    const enum err e = int_value(p, v, &value, err);
    return e != ERR_OK ? e : pickle_push(p, value, err);
}

static enum err push_float(struct pickle *p, double v, struct err_detail *err)
{
    void *floats = p->floats;
    if (p->n_floats > PICKLE_INDEX_MAX || !grow(&floats, &p->floats_cap, p->n_floats, sizeof *p->floats))
        return err_no_memory(err);
    p->floats = floats;
    p->floats[p->n_floats] = v;
    return pickle_push(p, pickle_value(PICKLE_FLOAT, (uint32_t)p->n_floats++), err);
}

static enum err push_string(struct pickle *p, const char *s, size_t n, struct err_detail *err)
{
    const uint32_t i = strings_intern(&p->strings, s, n);
    return i == UINT32_MAX ? err_no_memory(err) : pickle_push(p, pickle_value(PICKLE_STRING, i), err);
}

/* ---- memo pages ---- */

static uint32_t memo_at(const struct pickle *p, uint64_t index)
{
    if (index >> PAGE_BITS >= p->n_pages)
        return MEMO_UNSET;
    const struct memo_page *page = &p->pages[index >> PAGE_BITS];
    const size_t i = (size_t)(index & (PAGE_ENTRIES - 1));
    if (page->plain != NULL)
        return page->plain[i];
    return page->packed == NULL ? MEMO_UNSET : page->packed->value[page->packed->entry[i]];
}

/* Packs a page. If it has too many distinct values, or without memory, it stays as it is. */
static void page_pack(struct memo_page *page)
{
    enum { SLOTS = 2 * PAGE_VALUES };
    uint16_t slots[SLOTS] = {0};                         /* number of the value + 1 */
    struct packed_page *packed = page->plain == NULL ? NULL : malloc(sizeof *packed);
    if (packed == NULL)
        return;
    packed->n = 0;
    for (size_t i = 0; i < PAGE_ENTRIES; i++) {
        const uint32_t v = page->plain[i];
        uint32_t at = v * UINT32_C(0x9E3779B1) >> 23;
        while (slots[at] != 0 && packed->value[slots[at] - 1] != v)
            at = (at + 1) % SLOTS;
        if (slots[at] == 0) {
            if (packed->n == PAGE_VALUES) {
                free(packed);
                return;
            }
            packed->value[packed->n] = v;
            slots[at] = (uint16_t)++packed->n;
        }
        packed->entry[i] = (uint8_t)(slots[at] - 1);
    }
    free(page->plain);
    page->plain = NULL;
    page->packed = packed;
}

static bool page_unpack(struct memo_page *page)
{
    page->plain = malloc(PAGE_ENTRIES * sizeof *page->plain);
    if (page->plain == NULL)
        return false;
    for (size_t i = 0; i < PAGE_ENTRIES; i++)
        page->plain[i] = page->packed == NULL ? MEMO_UNSET : page->packed->value[page->packed->entry[i]];
    free(page->packed);
    page->packed = NULL;
    return true;
}

/* Makes the page that holds `index`, and packs an older page, which is hardly written any more. */
static bool memo_reach(struct pickle *p, uint64_t index)
{
    const size_t k = (size_t)(index >> PAGE_BITS);
    void *pages = p->pages;
    if (!grow(&pages, &p->pages_cap, k, sizeof *p->pages))
        return false;
    p->pages = pages;
    for (; p->n_pages <= k; p->n_pages++)
        p->pages[p->n_pages] = (struct memo_page){.plain = NULL};
    if (k >= PAGES_UNPACKED + 2)
        page_pack(&p->pages[k - 2]);
    return true;
}

/* Sets an entry of a page that is packed or does not exist yet; false without memory. */
static bool memo_set_anywhere(struct pickle *p, uint64_t index, uint32_t value)
{
    if (index >> PAGE_BITS >= p->n_pages && !memo_reach(p, index))
        return false;
    struct memo_page *page = &p->pages[index >> PAGE_BITS];
    const size_t i = (size_t)(index & (PAGE_ENTRIES - 1));
    struct packed_page *packed = page->packed;
    if (packed != NULL) {
        uint32_t k = 0;
        while (k < packed->n && packed->value[k] != value)
            k++;
        if (k < PAGE_VALUES) {
            packed->value[k] = value;
            packed->n += k == packed->n;
            packed->entry[i] = (uint8_t)k;
            return true;
        }
    }
    if (page->plain == NULL && !page_unpack(page))
        return false;
    page->plain[i] = value;
    return true;
}

/* The place of an entry that can be written directly; NULL if its page is packed or missing. */
static inline uint32_t *memo_plain(const struct pickle *p, uint64_t index)
{
    if (index >> PAGE_BITS >= p->n_pages || p->pages[index >> PAGE_BITS].plain == NULL)
        return NULL;
    return &p->pages[index >> PAGE_BITS].plain[index & (PAGE_ENTRIES - 1)];
}

/* Sets an entry; false without memory. */
static inline bool memo_set(struct pickle *p, uint64_t index, uint32_t value)
{
    uint32_t *entry = memo_plain(p, index);
    if (entry == NULL)
        return memo_set_anywhere(p, index, value);
    *entry = value;
    return true;
}

/* ---- open containers ---- */

static bool is_open(uint64_t value)
{
    const unsigned kind = pickle_kind(value);
    return kind == PICKLE_OPEN_DICT || kind == PICKLE_OPEN_LIST;
}

/* Memo index + 1 and bag + 1 of an open value; 0: none. */
static uint32_t open_memo(uint64_t value)
{
    return (uint32_t)(value >> PICKLE_KIND_BITS);
}

static uint32_t open_bag(uint64_t value)
{
    return (uint32_t)(value >> (PICKLE_KIND_BITS + MEMO_BITS));
}

static uint64_t open_value(unsigned kind, uint32_t memo, uint32_t bag)
{
    return (uint64_t)bag << (PICKLE_KIND_BITS + MEMO_BITS) | (uint64_t)memo << PICKLE_KIND_BITS | kind;
}

/* Finds a bag for an open container: one in use before, else a new one. */
static bool bag_find(struct pickle *p, uint32_t *bag)
{
    if (p->n_vacant > 0) {
        *bag = p->vacant[--p->n_vacant];
        return true;
    }
    if (p->n_bags == p->bags_cap) {
        void *bags = p->bags, *vacant = p->vacant;
        size_t cap = p->bags_cap, vacant_cap = p->bags_cap;
        const bool ok = p->n_bags < PICKLE_INDEX_MAX - 1 && grow(&bags, &cap, p->n_bags, sizeof *p->bags);
        p->bags = bags;
        if (!ok || !grow(&vacant, &vacant_cap, p->n_bags, sizeof *p->vacant))
            return false;
        p->vacant = vacant;
        p->bags_cap = (uint32_t)cap;
    }
    p->bags[p->n_bags] = (struct bag){.items = NULL};
    *bag = p->n_bags++;
    return true;
}

/* Adds items to the open container at `pos`. */
static enum err open_add(struct pickle *p, size_t pos, const uint64_t *items, size_t n, struct err_detail *err)
{
    uint32_t bag = open_bag(p->stack[pos]);
    if (bag == 0) {
        if (!bag_find(p, &bag))
            return err_no_memory(err);
        bag++;
        p->stack[pos] = open_value(pickle_kind(p->stack[pos]), open_memo(p->stack[pos]), bag);
    }
    struct bag *b = &p->bags[bag - 1];
    void *room = b->items;
    if (n > 0 && !grow(&room, &b->cap, b->n + n - 1, sizeof *b->items))
        return err_no_memory(err);
    b->items = room;
    if (n > 0)
        memcpy(b->items + b->n, items, n * sizeof *items);
    b->n += n;
    return ERR_OK;
}

/* Hands a complete container to the handler. Every later reference sees the handler's answer. */
static inline enum err open_seal_with(struct pickle *p, size_t pos, const uint64_t *items, size_t n,
                                      struct err_detail *err)
{
    const uint64_t open = p->stack[pos];
    uint64_t value = PICKLE_OPAQUE;
    const enum err e = pickle_kind(open) == PICKLE_OPEN_DICT
                           ? p->handler.dict(p->handler.arg, items, n, &value, err)
                           : p->handler.list(p->handler.arg, items, n, &value, err);
    if (e != ERR_OK)
        return e;
    if (open_memo(open) != 0 && !memo_set(p, open_memo(open) - 1, (uint32_t)value))
        return err_no_memory(err);
    p->stack[pos] = value;
    return ERR_OK;
}

/* Seals the open container at `pos`, whose items are in its bag, and gives the bag back. */
static enum err open_seal(struct pickle *p, size_t pos, struct err_detail *err)
{
    const uint32_t bag = open_bag(p->stack[pos]);
    if (bag == 0)
        return open_seal_with(p, pos, NULL, 0, err);
    struct bag *b = &p->bags[bag - 1];
    const enum err e = open_seal_with(p, pos, b->items, b->n, err);
    b->n = 0;
    if (b->cap > BATCH_ITEMS) {                          /* do not keep the memory of a rare big one */
        free(b->items);
        *b = (struct bag){.items = NULL};
    }
    p->vacant[p->n_vacant++] = bag - 1;
    return e;
}

/* Seals all open containers from stack position `first` on: they become items of another container. */
static enum err seal_from(struct pickle *p, size_t first, struct err_detail *err)
{
    for (size_t i = first; i < p->n && i < p->open_end; i++) {
        const enum err e = is_open(p->stack[i]) ? open_seal(p, i, err) : ERR_OK;
        if (e != ERR_OK)
            return e;
    }
    p->open_end = first < p->open_end ? first : p->open_end;
    return ERR_OK;
}

/* The first stack position after the innermost mark. */
static size_t floor_of(const struct pickle *p)
{
    return p->n_marks == 0 ? 0 : p->marks[p->n_marks - 1];
}

static inline enum err take_mark(struct pickle *p, size_t *first, struct err_detail *err)
{
    if (p->n_marks == 0)
        return pickle_fail(p, "items without a mark before them", err);
    *first = p->marks[--p->n_marks];
    return seal_from(p, *first, err);
}

/* Moves the items from stack position `first` on into the container below them. */
static inline enum err add_items(struct pickle *p, size_t first, bool is_last, unsigned kind, struct err_detail *err)
{
    const size_t n = p->n - first;
    if (first <= floor_of(p))
        return pickle_fail(p, "items without a container", err);
    if (pickle_kind(p->stack[first - 1]) != kind)
        return pickle_fail(p, "items for a value that is not a container, is complete, or contains itself", err);
    if (kind == PICKLE_OPEN_DICT && n % 2 != 0)
        return pickle_fail(p, "a dictionary's key without a value", err);
    enum err e;
    if (is_last && open_bag(p->stack[first - 1]) == 0) {
        e = open_seal_with(p, first - 1, p->stack + first, n, err);
    } else {
        e = open_add(p, first - 1, p->stack + first, n, err);
        if (e == ERR_OK && is_last)
            e = open_seal(p, first - 1, err);
    }
    p->n = first;
    if (is_last)
        p->open_end = first - 1;
    return e;
}

/* ---- opcodes ---- */

static enum err op_refuse(struct pickle *p, unsigned opcode, struct err_detail *err);

static enum err op_proto(struct pickle *p, unsigned arg, struct err_detail *err)
{
    const unsigned char *b = NULL;
    const enum err e = pickle_take(p, 1, &b, err);
    (void)arg;
    if (e == ERR_OK && b[0] > 5)
        return err_at(err, ERR_UNSUPPORTED, p->op_offset, input_name(p->in), "pickle protocol %u, but 0 to 5 are known",
                      b[0]);
    return e;
}

static enum err op_skip(struct pickle *p, unsigned width, struct err_detail *err)
{
    return pickle_pass(p, width, err);
}

static enum err op_stop(struct pickle *p, unsigned arg, struct err_detail *err)
{
    (void)arg;
    if (p->n_marks > 0 || p->n != 1)
        return pickle_fail(p, "the pickle stops in the middle of an object", err);
    p->is_stopped = true;
    return seal_from(p, 0, err);
}

static enum err op_constant(struct pickle *p, unsigned value, struct err_detail *err)
{
    return pickle_push(p, value, err);
}

static enum err op_empty(struct pickle *p, unsigned kind, struct err_detail *err)
{
    p->open_end = p->n + 1;
    return pickle_push(p, open_value(kind, 0, 0), err);
}

static enum err op_mark(struct pickle *p, unsigned arg, struct err_detail *err)
{
    (void)arg;
    if (p->n_marks == MARKS_MAX)
        return pickle_fail(p, "objects nested more than 1000 deep", err);
    p->marks[p->n_marks++] = (uint32_t)p->n;
    return ERR_OK;
}

static enum err op_pop(struct pickle *p, unsigned arg, struct err_detail *err)
{
    (void)arg;
    if (p->n_marks > 0 && p->n == floor_of(p)) {
        p->n_marks--;
        return ERR_OK;
    }
    if (p->n == 0)
        return pickle_fail(p, "POP of an empty stack", err);
    const enum err e = seal_from(p, p->n - 1, err);
    p->n--;
    return e;
}

static enum err op_pop_mark(struct pickle *p, unsigned arg, struct err_detail *err)
{
    size_t first = 0;
    const enum err e = take_mark(p, &first, err);
    (void)arg;
    if (e == ERR_OK)
        p->n = first;
    return e;
}

static enum err op_dup(struct pickle *p, unsigned arg, struct err_detail *err)
{
    (void)arg;
    if (p->n == floor_of(p))
        return pickle_fail(p, "DUP of an empty stack", err);
    const enum err e = seal_from(p, p->n - 1, err);
    return e != ERR_OK ? e : pickle_push(p, p->stack[p->n - 1], err);
}

/* SETITEMS, APPENDS: the items are on the stack, and mostly are sealed from there. */
static enum err op_items(struct pickle *p, unsigned kind, struct err_detail *err)
{
    size_t first = 0;
    const enum err e = take_mark(p, &first, err);
    if (e != ERR_OK)
        return e;
    const size_t n = (p->n - first) / (kind == PICKLE_OPEN_DICT ? 2 : 1);
    return add_items(p, first, kind == PICKLE_OPEN_DICT && n < BATCH_ITEMS, kind, err);
}

static enum err op_item(struct pickle *p, unsigned kind, struct err_detail *err)
{
    const size_t n = kind == PICKLE_OPEN_DICT ? 2 : 1;
    if (p->n - floor_of(p) <= n)
        return pickle_fail(p, "an item without a container", err);
    const enum err e = seal_from(p, p->n - n, err);
    return e != ERR_OK ? e : add_items(p, p->n - n, false, kind, err);
}

/* DICT, LIST of protocol 0: they start from a mark and may go on growing. */
static enum err op_from_mark(struct pickle *p, unsigned kind, struct err_detail *err)
{
    size_t first = 0;
    enum err e = take_mark(p, &first, err);
    if (e != ERR_OK)
        return e;
    if (p->n == first)
        return op_empty(p, kind, err);
    if ((e = pickle_push(p, 0, err)) != ERR_OK)
        return e;
    memmove(p->stack + first + 1, p->stack + first, (p->n - first - 1) * sizeof *p->stack);
    p->stack[first] = open_value(kind, 0, 0);
    p->open_end = first + 1;
    return add_items(p, first + 1, false, kind, err);
}

static enum err tuple_of(struct pickle *p, size_t first, struct err_detail *err)
{
    uint64_t value = PICKLE_OPAQUE;
    enum err e = seal_from(p, first, err);
    if (e == ERR_OK)
        e = p->handler.tuple(p->handler.arg, p->n == first ? NULL : p->stack + first, p->n - first, &value, err);
    p->n = first;
    return e != ERR_OK ? e : pickle_push(p, value, err);
}

static enum err op_tuple(struct pickle *p, unsigned n, struct err_detail *err)
{
    if (p->n - floor_of(p) < n)
        return pickle_fail(p, "a tuple of more items than the stack holds", err);
    return tuple_of(p, p->n - n, err);
}

static enum err op_tuple_mark(struct pickle *p, unsigned arg, struct err_detail *err)
{
    size_t first = 0;
    const enum err e = take_mark(p, &first, err);
    (void)arg;
    return e != ERR_OK ? e : tuple_of(p, first, err);
}

/* ADDITEMS, FROZENSET: no snapshot has sets; the items are dropped. */
static enum err op_set(struct pickle *p, unsigned is_frozen, struct err_detail *err)
{
    size_t first = 0;
    const enum err e = take_mark(p, &first, err);
    if (e != ERR_OK)
        return e;
    p->n = first;
    return is_frozen ? pickle_push(p, PICKLE_OPAQUE, err) : ERR_OK;
}

static enum err op_unsigned(struct pickle *p, unsigned width, struct err_detail *err)
{
    uint64_t v = 0;
    const enum err e = pickle_number(p, width, &v, err);
    return e != ERR_OK ? e : pickle_push(p, v << PICKLE_KIND_BITS | PICKLE_INT, err);
}

static enum err op_binint(struct pickle *p, unsigned arg, struct err_detail *err)
{
    uint64_t v = 0;
    const enum err e = pickle_number(p, 4, &v, err);
    (void)arg;
    return e != ERR_OK ? e : push_int(p, (int32_t)(uint32_t)v, err);
}

/* Two's complement of any length; a number of more than 64 bits becomes opaque. */
static enum err op_long(struct pickle *p, unsigned width, struct err_detail *err)
{
    uint64_t n = 0, value = 0;
    const unsigned char *b = NULL;
    enum err e = pickle_number(p, width, &n, err);
    if (e != ERR_OK)
        return e;
    if (n > 9) {
        e = pickle_pass(p, n, err);
        return e != ERR_OK ? e : pickle_push(p, PICKLE_OPAQUE, err);
    }
    if ((e = pickle_take(p, (size_t)n, &b, err)) != ERR_OK)
        return e;
    uint64_t bits = little_endian(b, n < 8 ? (size_t)n : 8);
    if (n == 9) {
        e = b[8] == 0 ? big_value(p, bits, &value, err) : ERR_OK;
        return e != ERR_OK ? e : pickle_push(p, b[8] == 0 ? value : PICKLE_OPAQUE, err);
    }
    if (n > 0 && n < 8 && b[n - 1] >= 0x80)
        bits |= UINT64_MAX << (8 * n);
    return push_int(p, (int64_t)bits, err);
}

static enum err op_binfloat(struct pickle *p, unsigned arg, struct err_detail *err)
{
    const unsigned char *b = NULL;
    const enum err e = pickle_take(p, 8, &b, err);
    (void)arg;
    if (e != ERR_OK)
        return e;
    uint64_t bits = 0;
    double v;
    for (size_t i = 0; i < 8; i++)
        bits = bits << 8 | b[i];
    memcpy(&v, &bits, sizeof v);
    return push_float(p, v, err);
}

static enum err op_string(struct pickle *p, unsigned width, struct err_detail *err)
{
    uint64_t n = 0;
    const unsigned char *b = NULL;
    enum err e = pickle_number(p, width, &n, err);
    if (e != ERR_OK)
        return e;
    if (n > INPUT_PEEK_MAX) {
        e = pickle_pass(p, n, err);
        return e != ERR_OK ? e : pickle_push(p, PICKLE_OPAQUE, err);
    }
    e = pickle_take(p, (size_t)n, &b, err);
    return e != ERR_OK ? e : push_string(p, (const char *)b, (size_t)n, err);
}

/* ---- opcodes of protocol 0: numbers and strings as lines of text ---- */

/* Decimal with a sign; false for anything else and beyond 64 bits. */
static bool text_int(const char *s, size_t n, int64_t *out)
{
    uint64_t v = 0;
    const bool negative = n > 0 && s[0] == '-';
    size_t i = negative || (n > 0 && s[0] == '+') ? 1 : 0;
    if (i == n)
        return false;
    for (; i < n; i++) {
        const unsigned digit = (unsigned)((unsigned char)s[i] - '0');
        if (digit > 9 || v > (UINT64_MAX - digit) / 10)
            return false;
        v = v * 10 + digit;
    }
    if (negative && v > (uint64_t)INT64_MAX + 1)
        return false;
    *out = negative ? (int64_t)(0 - v) : (int64_t)v;
    return true;
}

static enum err number_line(struct pickle *p, const char **s, size_t *n, struct err_detail *err)
{
    const enum err e = pickle_line(p, s, n, err);
    if (e == ERR_OK && (*s == NULL || *n > TEXT_MAX))
        return pickle_fail(p, "a number of too many digits", err);
    return e;
}

static enum err op_text_int(struct pickle *p, unsigned is_long, struct err_detail *err)
{
    const char *s = NULL;
    size_t n = 0;
    int64_t v = 0;
    const enum err e = number_line(p, &s, &n, err);
    if (e != ERR_OK)
        return e;
    if (!is_long && n == 2 && s[0] == '0' && (s[1] == '0' || s[1] == '1'))
        return pickle_push(p, pickle_value(PICKLE_BOOL, s[1] == '1'), err);
    if (is_long && n > 0 && s[n - 1] == 'L')
        n--;
    if (!text_int(s, n, &v))
        return pickle_fail(p, "not an integer of 64 bits", err);
    uint64_t value;
    if (v < 0 && s[0] != '-') {                          /* 2^63 and above: the pattern of an address */
        const enum err f = big_value(p, (uint64_t)v, &value, err);
        return f != ERR_OK ? f : pickle_push(p, value, err);
    }
    return push_int(p, v, err);
}

static enum err op_text_float(struct pickle *p, unsigned arg, struct err_detail *err)
{
    const char *s = NULL;
    char text[64], *stop;
    size_t n = 0;
    const enum err e = number_line(p, &s, &n, err);
    (void)arg;
    if (e != ERR_OK)
        return e;
    if (n == 0 || n >= sizeof text)
        return pickle_fail(p, "not a number", err);
    memcpy(text, s, n);
    text[n] = '\0';
    const double v = strtod(text, &stop);
    return *stop != '\0' ? pickle_fail(p, "not a number", err) : push_float(p, v, err);
}

/* Writes a code point as UTF-8, up to 4 bytes; returns how many. */
static size_t utf8_put(char *to, uint32_t c)
{
    if (c < 0x80) {
        to[0] = (char)c;
        return 1;
    }
    if (c < 0x800) {
        to[0] = (char)(0xC0 | c >> 6);
        to[1] = (char)(0x80 | (c & 63));
        return 2;
    }
    if (c < 0x10000) {
        to[0] = (char)(0xE0 | c >> 12);
        to[1] = (char)(0x80 | (c >> 6 & 63));
        to[2] = (char)(0x80 | (c & 63));
        return 3;
    }
    to[0] = (char)(0xF0 | (c >> 18 & 7));
    to[1] = (char)(0x80 | (c >> 12 & 63));
    to[2] = (char)(0x80 | (c >> 6 & 63));
    to[3] = (char)(0x80 | (c & 63));
    return 4;
}

/* Reads `digits` hexadecimal digits at s; false if there are fewer. */
static bool text_hex(const char *s, size_t n, size_t digits, uint32_t *out)
{
    uint32_t v = 0;
    if (n < digits)
        return false;
    for (size_t i = 0; i < digits; i++) {
        const char c = s[i];
        const int d = c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 :
                      c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
        if (d < 0)
            return false;
        v = v << 4 | (uint32_t)d;
    }
    *out = v;
    return true;
}

/* Reads one escape after a backslash at s; returns its length, 0 if it is none. */
static size_t text_escape(const char *s, size_t n, bool is_unicode, uint32_t *c)
{
    if (n == 0)
        return 0;
    if (s[0] == 'u' && is_unicode)
        return text_hex(s + 1, n - 1, 4, c) ? 5 : 0;
    if (s[0] == 'U' && is_unicode)
        return text_hex(s + 1, n - 1, 8, c) && *c < 0x110000 ? 9 : 0;
    if (is_unicode)
        return 0;
    if (s[0] == 'x')
        return text_hex(s + 1, n - 1, 2, c) ? 3 : 0;
    const char *const from = "ntr\\'\"", *const to = "\n\t\r\\'\"";
    const char *at = s[0] == '\0' ? NULL : strchr(from, s[0]);
    if (at == NULL)
        return 0;
    *c = (uint32_t)to[at - from];
    return 1;
}

/* UNICODE is "raw-unicode-escape": Latin-1 with \u; STRING is Python's repr. */
static enum err op_text_string(struct pickle *p, unsigned is_unicode, struct err_detail *err)
{
    const char *s = NULL;
    size_t n = 0, used = 0;
    const enum err e = pickle_line(p, &s, &n, err);
    if (e != ERR_OK)
        return e;
    if (s == NULL || n > INPUT_PEEK_MAX)
        return pickle_push(p, PICKLE_OPAQUE, err);
    if (!is_unicode) {
        if (n < 2 || (s[0] != '\'' && s[0] != '"') || s[n - 1] != s[0])
            return pickle_fail(p, "a string without its quotes", err);
        s++;
        n -= 2;
    }
    if (p->scratch == NULL && (p->scratch = malloc(2 * INPUT_PEEK_MAX)) == NULL)
        return err_no_memory(err);
    for (size_t i = 0; i < n;) {
        uint32_t c = (unsigned char)s[i];
        const size_t escape = c == '\\' ? text_escape(s + i + 1, n - i - 1, is_unicode, &c) : 0;
        used += utf8_put(p->scratch + used, c);
        i += 1 + escape;
    }
    return push_string(p, p->scratch, used, err);
}

/* ---- the memo ---- */

/* Names the top of the stack. The entry of an open container is its place on the stack, until it is sealed. */
static enum err memo_put(struct pickle *p, uint64_t index, struct err_detail *err)
{
    if (p->n == floor_of(p))
        return pickle_fail(p, "a memo entry for an empty stack", err);
    if (index > MEMO_MAX || index > p->n_memo + MEMO_GAP_MAX)
        return pickle_fail(p, "a memo number far beyond the number of objects", err);
    uint64_t *top = &p->stack[p->n - 1], value = *top;
    enum err e = ERR_OK;
    if (is_open(value) && open_memo(value) != 0) {       /* only a sealed container can have a second name */
        e = open_seal(p, p->n - 1, err);
        value = *top;
    }
    if (e == ERR_OK && pickle_kind(value) == PICKLE_INT && value >> PICKLE_KIND_BITS > PICKLE_INDEX_MAX)
        e = big_value(p, (uint64_t)((int64_t)value >> PICKLE_KIND_BITS), &value, err);
    if (e != ERR_OK)
        return e;
    p->n_memo += memo_at(p, index) == MEMO_UNSET;
    if (is_open(value)) {
        *top = open_value(pickle_kind(value), (uint32_t)index + 1, open_bag(value));
        value = pickle_value(pickle_kind(value), (uint32_t)(p->n - 1));
    }
    return memo_set(p, index, (uint32_t)value) ? ERR_OK : err_no_memory(err);
}

/* Pushes a memoised value; an open container is sealed by the reference. */
static enum err memo_get(struct pickle *p, uint64_t index, struct err_detail *err)
{
    const uint32_t entry = memo_at(p, index);
    if (entry == MEMO_UNSET)
        return pickle_fail(p, "a reference to an unset memo entry", err);
    if (is_open(entry)) {                                /* on the stack and complete: see the top of the file */
        const size_t pos = pickle_index(entry);
        if (pos >= p->n || !is_open(p->stack[pos]) || open_memo(p->stack[pos]) != index + 1)
            return pickle_fail(p, "a reference to an object that is gone", err);
        const enum err e = open_seal(p, pos, err);
        if (e != ERR_OK)
            return e;
    }
    return pickle_push(p, memo_at(p, index), err);
}

static enum err op_memoize(struct pickle *p, unsigned arg, struct err_detail *err)
{
    (void)arg;
    return memo_put(p, p->n_memo, err);
}

static enum err op_put(struct pickle *p, unsigned width, struct err_detail *err)
{
    uint64_t index = 0;
    const enum err e = pickle_number(p, width, &index, err);
    return e != ERR_OK ? e : memo_put(p, index, err);
}

static enum err op_get(struct pickle *p, unsigned width, struct err_detail *err)
{
    uint64_t index = 0;
    const enum err e = pickle_number(p, width, &index, err);
    return e != ERR_OK ? e : memo_get(p, index, err);
}

static enum err op_text_memo(struct pickle *p, unsigned is_put, struct err_detail *err)
{
    const char *s = NULL;
    size_t n = 0;
    int64_t index;
    const enum err e = number_line(p, &s, &n, err);
    if (e != ERR_OK)
        return e;
    if (!text_int(s, n, &index) || index < 0)
        return pickle_fail(p, "not a memo number", err);
    return is_put ? memo_put(p, (uint64_t)index, err) : memo_get(p, (uint64_t)index, err);
}

/* ---- the machine ---- */

#define TRUE_VALUE (1u << PICKLE_KIND_BITS | PICKLE_BOOL)

static const struct opcode opcodes[256] = {
    [0x80] = {"PROTO", op_proto, 0},
    [0x95] = {"FRAME", op_skip, 8},
    ['.'] = {"STOP", op_stop, 0},
    ['N'] = {"NONE", op_constant, PICKLE_NONE},
    [0x88] = {"NEWTRUE", op_constant, TRUE_VALUE},
    [0x89] = {"NEWFALSE", op_constant, PICKLE_BOOL},
    ['}'] = {"EMPTY_DICT", op_empty, PICKLE_OPEN_DICT},
    [']'] = {"EMPTY_LIST", op_empty, PICKLE_OPEN_LIST},
    [0x8f] = {"EMPTY_SET", op_constant, PICKLE_OPAQUE},
    ['('] = {"MARK", op_mark, 0},
    ['0'] = {"POP", op_pop, 0},
    ['1'] = {"POP_MARK", op_pop_mark, 0},
    ['2'] = {"DUP", op_dup, 0},
    ['u'] = {"SETITEMS", op_items, PICKLE_OPEN_DICT},
    ['e'] = {"APPENDS", op_items, PICKLE_OPEN_LIST},
    ['s'] = {"SETITEM", op_item, PICKLE_OPEN_DICT},
    ['a'] = {"APPEND", op_item, PICKLE_OPEN_LIST},
    ['d'] = {"DICT", op_from_mark, PICKLE_OPEN_DICT},
    ['l'] = {"LIST", op_from_mark, PICKLE_OPEN_LIST},
    [')'] = {"EMPTY_TUPLE", op_tuple, 0},
    [0x85] = {"TUPLE1", op_tuple, 1},
    [0x86] = {"TUPLE2", op_tuple, 2},
    [0x87] = {"TUPLE3", op_tuple, 3},
    ['t'] = {"TUPLE", op_tuple_mark, 0},
    [0x90] = {"ADDITEMS", op_set, 0},
    [0x91] = {"FROZENSET", op_set, 1},
    ['K'] = {"BININT1", op_unsigned, 1},
    ['M'] = {"BININT2", op_unsigned, 2},
    ['J'] = {"BININT", op_binint, 4},
    [0x8a] = {"LONG1", op_long, 1},
    [0x8b] = {"LONG4", op_long, 4},
    ['G'] = {"BINFLOAT", op_binfloat, 8},
    [0x8c] = {"SHORT_BINUNICODE", op_string, 1},
    ['X'] = {"BINUNICODE", op_string, 4},
    [0x8d] = {"BINUNICODE8", op_string, 8},
    ['U'] = {"SHORT_BINSTRING", op_string, 1},
    ['T'] = {"BINSTRING", op_string, 4},
    ['C'] = {"SHORT_BINBYTES", op_string, 1},
    ['B'] = {"BINBYTES", op_string, 4},
    [0x8e] = {"BINBYTES8", op_string, 8},
    [0x96] = {"BYTEARRAY8", op_string, 8},
    ['I'] = {"INT", op_text_int, 0},
    ['L'] = {"LONG", op_text_int, 1},
    ['F'] = {"FLOAT", op_text_float, 0},
    ['V'] = {"UNICODE", op_text_string, 1},
    ['S'] = {"STRING", op_text_string, 0},
    [0x94] = {"MEMOIZE", op_memoize, 0},
    ['q'] = {"BINPUT", op_put, 1},
    ['r'] = {"LONG_BINPUT", op_put, 4},
    ['h'] = {"BINGET", op_get, 1},
    ['j'] = {"LONG_BINGET", op_get, 4},
    ['p'] = {"PUT", op_text_memo, 1},
    ['g'] = {"GET", op_text_memo, 0},
    ['c'] = {"GLOBAL", op_refuse, 'c'},
    [0x93] = {"STACK_GLOBAL", op_refuse, 0x93},
    ['R'] = {"REDUCE", op_refuse, 'R'},
    ['b'] = {"BUILD", op_refuse, 'b'},
    ['i'] = {"INST", op_refuse, 'i'},
    ['o'] = {"OBJ", op_refuse, 'o'},
    [0x81] = {"NEWOBJ", op_refuse, 0x81},
    [0x92] = {"NEWOBJ_EX", op_refuse, 0x92},
    ['P'] = {"PERSID", op_refuse, 'P'},
    ['Q'] = {"BINPERSID", op_refuse, 'Q'},
    [0x82] = {"EXT1", op_refuse, 0x82},
    [0x83] = {"EXT2", op_refuse, 0x83},
    [0x84] = {"EXT4", op_refuse, 0x84},
    [0x97] = {"NEXT_BUFFER", op_refuse, 0x97},
    [0x98] = {"READONLY_BUFFER", op_refuse, 0x98},
};

static enum err op_refuse(struct pickle *p, unsigned opcode, struct err_detail *err)
{
    return err_at(err, ERR_UNSUPPORTED, p->op_offset, input_name(p->in), "byte %llu: opcode %s would run code or look "
                  "outside the file; a snapshot is plain data, so this file is refused",
                  (unsigned long long)p->op_offset, opcodes[opcode].name);
}

/* True for a memo entry that can be used as it is: set, and not an open container. */
static inline bool memo_is_plain(uint32_t entry)
{
    return entry != MEMO_UNSET && !is_open(entry);
}

/* MEMOIZE of the n-th value of the stack in the common case: the first name of a value, in a page that can be written
 * directly. False, with nothing done, in any other case. */
static inline bool memoize_common(struct pickle *p, uint64_t *stack, size_t n)
{
    uint32_t *entry = memo_plain(p, p->n_memo);
    if (entry == NULL || *entry != MEMO_UNSET || n == floor_of(p) || p->n_memo >= MEMO_MAX)
        return false;
    const uint64_t value = stack[n - 1];
    if (is_open(value)) {
        if (open_memo(value) != 0)
            return false;
        stack[n - 1] = open_value(pickle_kind(value), (uint32_t)p->n_memo + 1, open_bag(value));
        *entry = (uint32_t)pickle_value(pickle_kind(value), (uint32_t)(n - 1));
    } else {
        if (value >> 32 != 0)
            return false;
        *entry = (uint32_t)value;
    }
    p->n_memo++;
    return true;
}

/* Runs the opcodes that make up nine tenths of a snapshot, as long as nothing is unusual: the window holds the whole
 * opcode, the stack has room, and no open container is touched. Stops before the first opcode of any other kind. */
static void pickle_run_common(struct pickle *p)
{
    const unsigned char *at = p->at;
    const unsigned char *const stop = p->end - OPCODE_BYTES_MAX;
    uint64_t *const stack = p->stack;
    size_t n = p->n;
    const size_t cap = p->cap;
    while (at < stop && n < cap) {
        uint32_t entry;
        switch (*at) {
        case 'K':
            stack[n++] = (uint64_t)at[1] << PICKLE_KIND_BITS | PICKLE_INT;
            at += 2;
            continue;
        case 'M':
            stack[n++] = little_endian(at + 1, 2) << PICKLE_KIND_BITS | PICKLE_INT;
            at += 3;
            continue;
        case 'J':
            stack[n++] = (uint64_t)(int32_t)little_endian(at + 1, 4) << PICKLE_KIND_BITS | PICKLE_INT;
            at += 5;
            continue;
        case 0x8a:                                       /* 6 and 7 bytes: addresses and times */
            if (at[1] > 7 || at[1] == 0)
                break;
            stack[n++] = (little_endian(at + 2, at[1]) | (at[at[1] + 1] < 0x80 ? 0 : UINT64_MAX << 8 * at[1]))
                         << PICKLE_KIND_BITS | PICKLE_INT;
            at += 2 + at[1];
            continue;
        case 'h':
            entry = memo_at(p, at[1]);
            if (!memo_is_plain(entry))
                break;
            stack[n++] = entry;
            at += 2;
            continue;
        case 'j':                                        /* often several in a row: the frames of a stack */
            while (*at == 'j' && n < cap && at < stop && memo_is_plain(entry = memo_at(p, little_endian(at + 1, 4)))) {
                stack[n++] = entry;
                at += 5;
            }
            if (*at == 'j')
                break;
            continue;
        case 0x94:
            if (!memoize_common(p, stack, n))
                break;
            at++;
            continue;
        case '}':
        case ']':
            stack[n++] = *at++ == '}' ? PICKLE_OPEN_DICT : PICKLE_OPEN_LIST;
            p->open_end = n;
            continue;
        case '(':
            if (p->n_marks == MARKS_MAX)
                break;
            p->marks[p->n_marks++] = (uint32_t)n;
            at++;
            continue;
        default:
            break;
        }
        break;
    }
    p->at = at;
    p->n = n;
}

/* Runs the common opcodes as far as they go, then one opcode of any kind. */
static enum err pickle_step(struct pickle *p, struct err_detail *err)
{
    if (p->end - p->at < OPCODE_BYTES_MAX && !p->at_end) {
        const enum err e = pickle_refill(p, INPUT_PEEK_MAX, err);
        if (e != ERR_OK)
            return e;
    }
    if (p->end - p->at > OPCODE_BYTES_MAX)
        pickle_run_common(p);
    p->op_offset = p->base_offset + (uint64_t)(p->at - p->base);
    if (p->at == p->end)
        return pickle_fail(p, "the file ends before the pickle does", err);
    const struct opcode *op = &opcodes[*p->at];
    if (op->run == NULL)
        return err_at(err, ERR_FORMAT, p->op_offset, input_name(p->in), "byte %llu: 0x%02x is not a pickle opcode",
                      (unsigned long long)p->op_offset, *p->at);
    p->at++;
    return op->run(p, op->arg, err);
}

enum err pickle_read(struct pickle *p, uint64_t *value, struct err_detail *err)
{
    p->is_stopped = false;
    while (!p->is_stopped) {
        const enum err e = pickle_step(p, err);
        if (e != ERR_OK)
            return e;
    }
    *value = p->stack[--p->n];
    return ERR_OK;
}

enum err pickle_open(struct input *in, const struct pickle_handler *handler, const char *const *words, size_t n_words,
                     struct pickle **out, struct err_detail *err)
{
    struct pickle *p = calloc(1, sizeof *p);
    if (p == NULL)
        return err_no_memory(err);
    p->in = in;
    p->handler = *handler;
    p->base_offset = input_offset(in);
    for (size_t i = 0; i < n_words; i++) {
        if (strings_intern(&p->strings, words[i], strlen(words[i])) != i) {
            pickle_close(p);
            return err_no_memory(err);
        }
    }
    *out = p;
    return ERR_OK;
}

void pickle_drop_memo(struct pickle *p)
{
    for (size_t i = 0; i < p->n_pages; i++) {
        free(p->pages[i].plain);
        free(p->pages[i].packed);
    }
    free(p->pages);
    p->pages = NULL;
    p->n_pages = p->pages_cap = p->n_memo = 0;
}

void pickle_close(struct pickle *p)
{
    if (p == NULL)
        return;
    for (uint32_t i = 0; i < p->n_bags; i++)
        free(p->bags[i].items);
    strings_free(&p->strings);
    free(p->bags);
    free(p->vacant);
    free(p->stack);
    pickle_drop_memo(p);
    free(p->bigs);
    free(p->floats);
    free(p->scratch);
    free(p);
}

uint64_t pickle_offset(const struct pickle *p)
{
    return p->op_offset;
}

bool pickle_int(const struct pickle *p, uint64_t value, int64_t *out)
{
    switch (pickle_kind(value)) {
    case PICKLE_BOOL:
        *out = pickle_index(value);
        return true;
    case PICKLE_INT:
        *out = (int64_t)value >> PICKLE_KIND_BITS;
        return true;
    case PICKLE_BIG:
        *out = (int64_t)p->bigs[pickle_index(value)];
        return true;
    default:
        return false;
    }
}

bool pickle_float(const struct pickle *p, uint64_t value, double *out)
{
    int64_t whole;
    if (pickle_kind(value) == PICKLE_FLOAT)
        *out = p->floats[pickle_index(value)];
    else if (pickle_int(p, value, &whole))
        *out = (double)whole;
    else
        return false;
    return true;
}

uint32_t pickle_n_strings(const struct pickle *p)
{
    return p->strings.n;
}

const char *pickle_string(const struct pickle *p, uint64_t value, size_t *n)
{
    if (pickle_kind(value) != PICKLE_STRING)
        return NULL;
    *n = p->strings.length[pickle_index(value)];
    return p->strings.text[pickle_index(value)];
}
