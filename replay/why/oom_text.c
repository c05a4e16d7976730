/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/* Reads the letters of a text without their layout (log_letters.h). */
#include "replay/why/oom_text.h"

#include "base/units.h"
#include "replay/why/log_letters.h"

#include <stdlib.h>
#include <string.h>

enum { RANKS_MAX = 256 };            /* the ranks told apart; the errors of later ones are counted only */

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static const char opening[] = "out of memory. Tried to allocate ", tried[] = "Tried to allocate ";

/* ---- figures ---- */

/* PyTorch begins a unit above its value, not at it (policies/pytorch/pytorch_text.c). */
uint64_t oom_text_rounding(uint64_t bytes)
{
    const uint64_t unit = bytes > GIB ? GIB : bytes > MIB ? MIB : bytes > KIB ? KIB : 0;
    return unit / 200 + (unit > 0);
}

/* Of what the card has, what is free, and what PyTorch reserved, together. */
static uint64_t figures_rounding(const struct oom_text *t)
{
    return oom_text_rounding(t->total) + oom_text_rounding(t->free) + oom_text_rounding(t->allocated) +
           oom_text_rounding(t->reserved);
}

/* ---- the parts of one text, which is without blanks ---- */

/* The processes that a text lists beside "this process". */
struct listed {
    uint64_t sum, own;               /* own: the one that can be the program, by its figure */
    bool     has_own;
    struct { uint64_t id, bytes; } top[2];       /* the two largest, one of which may be the program */
};

/* The program holds what PyTorch reserved and its context: of the figures that are no less, it is the next above. */
static void listed_take(struct listed *l, uint64_t id, uint64_t bytes, uint64_t reserved)
{
    l->sum += bytes;
    if (bytes + oom_text_rounding(bytes) >= reserved && (!l->has_own || bytes < l->own)) {
        l->own = bytes;
        l->has_own = true;
    }
    const size_t place = bytes > l->top[0].bytes ? 0 : bytes > l->top[1].bytes ? 1 : 2;
    if (place == 0)
        l->top[1] = l->top[0];
    if (place < 2) {
        l->top[place].id = id;
        l->top[place].bytes = bytes;
    }
}

static struct listed read_listed(const char *text, uint64_t reserved)
{
    struct listed l = { .sum = 0 };
    uint64_t bytes;
    const char *end;
    while (letters_find(text, "Process", &text) != NULL) {
        const uint64_t id = strtoull(text, NULL, 10);
        text += strspn(text, "0123456789");
        if (strncmp(text, "has", 3) == 0 && letters_read_size(text + 3, &bytes, &end) && bytes < UINT64_MAX >> 10)
            listed_take(&l, id, bytes, reserved);
    }
    return l;
}

/* "Process 4711 has 470.64 MiB memory in use." for each process but "this process". If that is not there, and these
 * and what PyTorch reserved are more than what is in use, then the program itself is one of these. */
static void read_processes(const char *text, struct oom_text *t)
{
    const struct listed l = read_listed(text, t->reserved);
    const uint64_t in_use = t->total > t->free ? t->total - t->free : 0;
    t->is_listed = t->process == OOM_TEXT_UNKNOWN && l.sum > 0 && l.has_own &&
                   add_capped(l.sum, t->reserved) > add_capped(in_use, figures_rounding(t));
    t->others = t->is_listed ? l.sum - l.own : l.sum;
    const size_t other = t->is_listed && l.own == l.top[0].bytes;
    t->other_id = l.top[other].id;
    t->other_bytes = l.top[other].bytes;
    t->lists_processes = l.sum > 0 || t->process != OOM_TEXT_UNKNOWN;
}

/* 2.3 writes the number as a character. */
static unsigned read_gpu(const char *text)
{
    const char *at;
    if (letters_find(text, "GPU", &at) == NULL)
        return 0;
    return is_digit(*at) ? (unsigned)strtoul(at, NULL, 10) & 1023 : *at > 0 && *at < ' ' ? (unsigned)*at : 0;
}

/* 2.0 gives all figures in brackets, and what is reserved in total; 1.4 and older what is cached beside it. XPU leaves
 * out what is free, which is at most what is not reserved. */
static void read_early(const char *text, struct oom_text *t)
{
    const uint64_t cached = letters_size_before(text, "cached)");
    t->total = letters_size_before(text, "total capacity;");
    t->allocated = letters_size_before(text, "already allocated;");
    t->free = letters_size_before(text, "free;");
    t->reserved = letters_size_before(text, "reserved in total by PyTorch");
    if (t->reserved == OOM_TEXT_UNKNOWN && cached != OOM_TEXT_UNKNOWN && t->allocated != OOM_TEXT_UNKNOWN)
        t->reserved = t->allocated + cached;
    t->lacks_free = t->free == OOM_TEXT_UNKNOWN && t->total != OOM_TEXT_UNKNOWN && t->reserved != OOM_TEXT_UNKNOWN;
    if (t->lacks_free)
        t->free = t->total > t->reserved ? t->total - t->reserved : 0;
}

static void read_later(const char *text, struct oom_text *t)
{
    const uint64_t unallocated = letters_size_before(text, "is reserved by PyTorch but unallocated");
    t->total = letters_size_after(text, "has a total capacity of");
    if (t->total == OOM_TEXT_UNKNOWN)
        t->total = letters_size_after(text, "has a total capacty of");       /* 2.1's spelling */
    t->free = letters_size_before(text, "is free.");
    t->process = letters_size_after(text, "Including non-PyTorch memory, this process has");
    t->allocated = letters_size_before(text, "is allocated by PyTorch");
    t->private_pools = letters_size_before(text, "allocated in private pools");
    if (t->allocated != OOM_TEXT_UNKNOWN && unallocated != OOM_TEXT_UNKNOWN)
        t->reserved = t->allocated + unallocated;
}

/* What the hint at the end of a text tells of the release and its settings. */
static void read_hint(const char *text, struct oom_text *t)
{
    static const char *const variables[] = { "PYTORCH_CUDA_ALLOC_CONF", "PYTORCH_HIP_ALLOC_CONF",
                                             "PYTORCH_NPU_ALLOC_CONF", "PYTORCH_ALLOC_CONF" };
    t->variable = variables[0];
    for (size_t i = 1; i < sizeof variables / sizeof variables[0]; i++)
        if (letters_find(text, variables[i], NULL) != NULL)
            t->variable = variables[i];
    t->names_max_split = letters_find(text, "try setting max_split_size_mb", NULL) != NULL;
    t->expandable_reserve = letters_size_after(text, "exceeds the expandable-segment reserve of");
    t->is_expandable = t->expandable_reserve != OOM_TEXT_UNKNOWN ||
                       letters_find(text, "expandable_segments is enabled", NULL) != NULL;
}

const char *oom_text_lacks(const struct oom_text *t)
{
    return t->asked == OOM_TEXT_UNKNOWN       ? "what was asked for"
           : t->total == OOM_TEXT_UNKNOWN     ? "the card's capacity"
           : t->free == OOM_TEXT_UNKNOWN      ? "what is free"
           : t->allocated == OOM_TEXT_UNKNOWN ? "what is allocated"
           : t->reserved == OOM_TEXT_UNKNOWN  ? "what is reserved"
                                              : NULL;
}

/* False if it lacks a size. */
static bool read_text(const char *text, struct oom_text *t)
{
    *t = (struct oom_text){ .rank = -1 };
    t->total = t->free = t->process = t->allocated = t->reserved = t->private_pools = OOM_TEXT_UNKNOWN;
    t->asked = letters_size_after(text, tried);
    t->is_early = letters_find(text, "total capacity;", NULL) != NULL;
    if (t->is_early)
        read_early(text, t);
    else
        read_later(text, t);
    t->allowed = letters_size_before(text, "allowed;");
    t->gpu = read_gpu(text);
    read_hint(text, t);
    if (oom_text_lacks(t) != NULL)
        return false;
    t->allocated = t->allocated < t->reserved ? t->allocated : t->reserved;
    read_processes(text, t);
    return true;
}

/* ---- the texts of a log ---- */

/* "[rank3]: ", as PyTorch begins the lines of a rank's traceback. */
static int64_t read_rank(const char *text, size_t at)
{
    static const char word[] = "[rank";
    for (size_t i = letters_line_begin(text, at); i + strlen(word) < at; i++)
        if (memcmp(text + i, word, strlen(word)) == 0 && is_digit(text[i + strlen(word)]))
            return strtol(text + i + strlen(word), NULL, 10) & 0xfffff;
    return -1;
}

/* Takes the text at text[at] up to the next one. False if it lacks its sizes. */
static bool read_at(const char *text, size_t at, size_t n, struct oom_text *out)
{
    char one[LETTERS_MAX];
    letters_take(letters_from(text, at, n), one);
    const size_t head = sizeof opening < strlen(one) ? sizeof opening : strlen(one);
    const char *next = letters_find(one + head, tried, NULL);
    if (next != NULL)
        one[next - one] = '\0';
    const bool is_whole = read_text(one, out);
    out->rank = read_rank(text, at);
    return is_whole;
}

/* The last error of each rank, or of each GPU if ranks are not named, in the order of the first ones. */
struct deaths {
    struct oom_text at[RANKS_MAX];
    size_t          n;
};

static void deaths_put(struct deaths *d, const struct oom_text *t)
{
    size_t i = 0;
    while (i < d->n && (d->at[i].rank != t->rank || d->at[i].gpu != t->gpu))
        i++;
    if (i == RANKS_MAX)
        return;
    d->at[i] = *t;
    d->n += i == d->n;
}

/* Somebody pasted the text without its first words: "Tried to allocate 20.00 MiB (GPU 0; 1.96 GiB total capacity; ...".
 * Texts of other stacks say so, too, but name no total capacity. */
static bool is_headless(const char *text, size_t at, size_t n)
{
    enum { WITHIN = 120 };
    char one[WITHIN + 1];
    struct letters l = letters_from(text, at, n);
    const size_t before = at > 24 ? at - 24 : 0;
    if (text[at] != tried[0] || !letters_are(l, tried))
        return false;
    for (size_t i = before; i < at; i++)
        if (letters_are((struct letters){ text, i, at, NULL, 0 }, "of memory."))
            return false;
    size_t used = 0;
    for (char c; used < WITHIN && (c = letters_next(&l)) != '\0';)
        one[used++] = c;
    one[used] = '\0';
    return letters_find(one, "total capac", NULL) != NULL;
}

/* The first words are looked for without a prefix, which takes longer to find. */
static bool is_opening(const char *text, size_t at, size_t n)
{
    if (is_headless(text, at, n))
        return true;
    return text[at] == opening[0] && letters_are((struct letters){ text, at, n, NULL, 0 }, "out of memory") &&
           letters_are(letters_from(text, at, n), opening);
}

bool oom_text_find(const char *text, size_t n, struct oom_text *out)
{
    struct deaths deaths = { .n = 0 };
    uint64_t line = 1, n_errors = 0;
    *out = (struct oom_text){ .line = 0 };
    for (size_t i = 0; i < n; i++) {
        struct oom_text t;
        line += text[i] == '\n';
        if (!is_opening(text, i, n))
            continue;
        const bool is_whole = read_at(text, i, n, &t);
        t.line = line;
        t.is_headless = text[i] == tried[0];
        t.at = i;
        n_errors += is_whole;
        if (is_whole)
            deaths_put(&deaths, &t);
        else
            *out = t;
    }
    if (deaths.n == 0)
        return false;
    *out = deaths.at[0];
    for (size_t i = 1; i < deaths.n; i++)
        if (deaths.at[i].line < out->line)
            *out = deaths.at[i];
    out->n_errors = n_errors;
    out->n_ranks = deaths.n;
    return true;
}

uint64_t oom_text_outside(const struct oom_text *t)
{
    const uint64_t rounding = figures_rounding(t), held = add_capped(t->free, t->reserved);
    if (t->total <= add_capped(held, rounding))
        return held <= t->total + rounding ? 0 : OOM_TEXT_UNKNOWN;
    return t->total - held;
}
