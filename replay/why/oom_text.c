/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/* Reads the letters of a text without their layout (log_letters.h). */
#include "replay/why/oom_text.h"

#include "base/torch_sizes.h"
#include "base/units.h"
#include "replay/why/log_letters.h"

#include <stdlib.h>
#include <string.h>


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

uint64_t oom_text_least_asked(const struct oom_text *t)
{
    if (t->asked == TORCH_SMALL_SEGMENT)
        return 1;
    if (t->asked == TORCH_LARGE_SEGMENT)
        return TORCH_SMALL_MAX + 1;
    return t->asked < TORCH_OWN_MIN ? t->asked : t->asked - (TORCH_OWN_ROUNDING + oom_text_rounding(t->asked)) + 1;
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

/* XPU leaves out what is free up to 2.11, which is at most what is not reserved. */
static void fill_free(struct oom_text *t)
{
    t->lacks_free = t->free == OOM_TEXT_UNKNOWN && t->total != OOM_TEXT_UNKNOWN && t->reserved != OOM_TEXT_UNKNOWN;
    if (t->lacks_free)
        t->free = t->total > t->reserved ? t->total - t->reserved : 0;
}

/* 2.0 gives all figures in brackets, and what is reserved in total; 1.4 and older what is cached beside it. */
static void read_early(const char *text, struct oom_text *t)
{
    const uint64_t cached = letters_size_before(text, "cached)");
    t->total = letters_size_before(text, "total capacity;");
    t->allocated = letters_size_before(text, "already allocated;");
    t->free = letters_size_before(text, "free;");
    t->reserved = letters_size_before(text, "reserved in total by PyTorch");
    if (t->reserved == OOM_TEXT_UNKNOWN && cached != OOM_TEXT_UNKNOWN && t->allocated != OOM_TEXT_UNKNOWN)
        t->reserved = t->allocated + cached;
    fill_free(t);
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
    if (letters_find(text, "of which", NULL) == NULL)
        fill_free(t);
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
    t->is_before_general = t->is_early || t->names_max_split ||
                           (strcmp(t->variable, "PYTORCH_ALLOC_CONF") != 0 &&
                            letters_find(text, "notes/cuda.html#environment-variables", NULL) != NULL);
    t->expandable_reserve = letters_size_after(text, "exceeds the expandable-segment reserve of");
    t->is_expandable = t->expandable_reserve != OOM_TEXT_UNKNOWN ||
                       letters_find(text, "expandable_segments is enabled", NULL) != NULL;
}

bool oom_text_is_card(uint64_t bytes)
{
    return bytes > 0 && bytes <= 512 * GIB;
}

const char *oom_text_lacks(const struct oom_text *t)
{
    return t->asked == OOM_TEXT_UNKNOWN       ? "what was asked for"
           : t->total == OOM_TEXT_UNKNOWN     ? "the card's capacity"
           : !oom_text_is_card(t->total)      ? "a capacity that a card can have"
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
int64_t oom_text_rank(const char *text, size_t at)
{
    static const char word[] = "[rank";
    for (size_t i = letters_line_begin(text, at); i + strlen(word) < at; i++)
        if (memcmp(text + i, word, strlen(word)) == 0 && is_digit(text[i + strlen(word)]))
            return strtol(text + i + strlen(word), NULL, 10) & 0xfffff;
    return -1;
}

/* Two digits and a colon, "03:", at text[at]. */
static bool is_pair(const char *text, size_t at)
{
    return is_digit(text[at]) && is_digit(text[at + 1]) && text[at + 2] == ':';
}

/* The digits of the date right before text[at], "2026-06-11 " or "06-11 ", as one number. 0: there is none. */
static uint64_t read_date(const char *text, size_t begin, size_t at)
{
    uint64_t date = 0;
    size_t from = at;
    while (from > begin && (is_digit(text[from - 1]) || strchr("-/ T_", text[from - 1]) != NULL))
        from--;
    for (size_t i = from; i < at; i++)
        if (is_digit(text[i]))
            date = date % 10000000 * 10 + (uint64_t)(text[i] - '0');
    return date;
}

/* "2026-06-11 03:14:09,882" before the error, in its line: milliseconds, to be compared with those of other lines. */
static uint64_t read_time(const char *text, size_t at)
{
    const size_t begin = letters_line_begin(text, at);
    for (size_t i = begin; i + 8 < at; i++)
        if (is_pair(text, i) && is_pair(text, i + 3) && (i == begin || !is_digit(text[i - 1]))) {
            uint64_t ms = 0;
            const bool has_ms = i + 11 < at && (text[i + 8] == '.' || text[i + 8] == ',');
            for (size_t k = 0; k < 3; k++)
                ms = ms * 10 + (has_ms && is_digit(text[i + 9 + k]) ? (uint64_t)(text[i + 9 + k] - '0') : 0);
            const uint64_t s = strtoul(text + i, NULL, 10) * 3600 + strtoul(text + i + 3, NULL, 10) * 60 +
                               strtoul(text + i + 6, NULL, 10);
            return read_date(text, begin, i) * 100000000 + s * 1000 + ms + 1;
        }
    return 0;
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
    out->rank = oom_text_rank(text, at);
    out->root_rank = -1;
    out->time = read_time(text, at);
    return is_whole;
}

static void deaths_put(struct oom_deaths *d, const struct oom_text *t)
{
    size_t i = 0;
    while (i < d->n && (d->at[i].rank != t->rank || d->at[i].gpu != t->gpu))
        i++;
    if (i == OOM_RANKS_MAX)
        return;
    d->at[i] = *t;
    d->n += i == d->n;
}

static bool is_earlier(const struct oom_text *a, const struct oom_text *b, bool has_times)
{
    return has_times && a->time != b->time ? a->time < b->time : a->line < b->line;
}

static unsigned read_number(const char *text, size_t n, size_t at)
{
    unsigned number = 0;
    for (; at < n && is_digit(text[at]); at++)
        number = number % 100000 * 10 + (unsigned)(text[at] - '0');
    return number;
}

/* "rank      : 5 (local_rank: 1)", after the words of torchrun in text[0, n). False: they are not there. */
static bool read_root(const char *text, size_t n, int64_t *rank, unsigned *local)
{
    static const char words[] = "Root Cause (first observed failure)", inner[] = "(local_rank: ";
    bool is_root = false, is_read = false;
    for (size_t i = 0; i < n; i++) {
        if (text[i] == words[0] && n - i > strlen(words) && memcmp(text + i, words, strlen(words)) == 0)
            is_root = true;
        if (!is_root || text[i] != inner[0] || n - i <= strlen(inner) || memcmp(text + i, inner, strlen(inner)) != 0)
            continue;
        size_t from = i;
        while (from > 0 && (is_digit(text[from - 1]) || text[from - 1] == ' '))
            from--;
        while (text[from] == ' ')
            from++;
        *rank = read_number(text, n, from);
        *local = read_number(text, n, i + strlen(inner));
        is_root = false;
        is_read = true;
    }
    return is_read;
}

/* The death that the launcher names. Lines without a rank are known by their GPU, if no other line has it. NULL: there
 * is none. */
static const struct oom_text *find_root(const struct oom_deaths *d, int64_t rank, unsigned local)
{
    for (size_t i = 0; i < d->n; i++)
        if (d->at[i].rank == rank || (d->at[i].rank < 0 && d->n > 1 && d->at[i].gpu == local))
            return &d->at[i];
    return NULL;
}

/* Each rank has a card of its own, and calls it by its number on the machine: a rank other than the first that asks on
 * GPU 0 beside others, or two ranks that died on one GPU, forgot to choose theirs. Machines have 8 cards as a rule. */
static bool is_among_ranks(const struct oom_deaths *d, const struct oom_text *t)
{
    enum { CARDS = 8 };
    if (t->rank < 0 || t->others == 0)
        return false;
    for (size_t i = 0; i < d->n; i++)
        if (d->at[i].rank != t->rank && d->at[i].gpu == t->gpu && d->at[i].rank / CARDS == t->rank / CARDS)
            return true;
    return t->gpu == 0 && t->rank % CARDS != 0;
}

/* Whether all that is free, cached and in private pools is less than the request, so that no setting serves it. What
 * a limit leaves is another matter. */
static bool is_short(const struct oom_text *t)
{
    const uint64_t cached = t->reserved - t->allocated, pools = t->private_pools == OOM_TEXT_UNKNOWN ? 0
                                                                                                    : t->private_pools;
    const uint64_t rounding = oom_text_rounding(t->free) + oom_text_rounding(cached) + oom_text_rounding(pools);
    const uint64_t gain = add_capped(add_capped(t->free, rounding), add_capped(cached, pools));
    return t->allowed == OOM_TEXT_UNKNOWN && oom_text_least_asked(t) > gain;
}

/* The first line that is short. NULL: none is. */
static const struct oom_text *find_short(const struct oom_deaths *d)
{
    const struct oom_text *found = NULL;
    for (size_t i = 0; i < d->n; i++)
        if (is_short(&d->at[i]) && (found == NULL || d->at[i].line < found->line))
            found = &d->at[i];
    return found;
}

static void choose_first(const struct oom_deaths *d, const char *text, size_t n, struct oom_text *out)
{
    const struct oom_text *first = &d->at[0];
    bool has_times = true;
    int64_t rank = -1;
    unsigned local = 0;
    for (size_t i = 0; i < d->n; i++)
        has_times = has_times && d->at[i].time > 0;
    for (size_t i = 1; i < d->n; i++)
        if (is_earlier(&d->at[i], first, has_times))
            first = &d->at[i];
    const struct oom_text *root = read_root(text, n, &rank, &local) ? find_root(d, rank, local) : NULL;
    const struct oom_text *shorter = root != NULL || is_short(first) ? NULL : find_short(d);
    *out = root != NULL ? *root : shorter != NULL ? *shorter : *first;
    out->first = root != NULL      ? OOM_FIRST_BY_LAUNCHER
                 : shorter != NULL ? OOM_SHORT
                 : has_times       ? OOM_FIRST_BY_TIME
                                   : OOM_FIRST_OF_LINES;
    out->root_rank = rank;
    out->is_of_ranks = is_among_ranks(d, out);
    out->is_root_missing = rank >= 0 && root == NULL && out->rank >= 0;
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

/* The device's name stands before the words: "CUDA out of memory". One that a package adds to PyTorch has an allocator
 * and tools of its own. No name, or another word, as of "GPU 0 out of memory", tells nothing. */
static bool is_of_foreign_device(const char *text, size_t at)
{
    static const char *const foreign[] = { "MUSA ", "MLU ", "GCU ", "SDAA ", "HPU ", "MACA ", "DIPU ", "TXDA ",
                                           "SPYRE ", "PrivateUse1 " };
    for (size_t i = 0; i < sizeof foreign / sizeof foreign[0]; i++) {
        const size_t n = strlen(foreign[i]);
        if (at >= n && memcmp(text + at - n, foreign[i], n) == 0)
            return true;
    }
    return false;
}

/* A notebook's file has an error twice: as "evalue", and at the end of the traceback that follows. */
static bool is_notebook_copy(const char *text, size_t at)
{
    static const char key[] = "\"evalue\": \"";
    const size_t from = at > 64 ? at - 64 : 0;
    for (size_t i = from; i + strlen(key) <= at; i++)
        if (memcmp(text + i, key, strlen(key)) == 0)
            return true;
    return false;
}

bool oom_text_find_deaths(const char *text, size_t n, struct oom_text *out, struct oom_deaths *deaths)
{
    uint64_t line = 1, n_errors = 0;
    deaths->n = 0;
    *out = (struct oom_text){ .line = 0 };
    for (size_t i = 0; i < n; i++) {
        struct oom_text t;
        line += text[i] == '\n';
        if (!is_opening(text, i, n))
            continue;
        const bool is_whole = read_at(text, i, n, &t);
        t.line = line;
        t.is_headless = text[i] == tried[0];
        t.is_foreign = is_of_foreign_device(text, i);
        t.at = i;
        n_errors += is_whole && !is_notebook_copy(text, i);
        if (is_whole)
            deaths_put(deaths, &t);
        else
            *out = t;
    }
    if (deaths->n == 0)
        return false;
    choose_first(deaths, text, n, out);
    out->n_errors = n_errors > 0 ? n_errors : 1;     /* the traceback may have been cut out */
    out->n_ranks = deaths->n;
    return true;
}

bool oom_text_find(const char *text, size_t n, struct oom_text *out)
{
    struct oom_deaths deaths;
    return oom_text_find_deaths(text, n, out, &deaths);
}

uint64_t oom_text_outside(const struct oom_text *t)
{
    const uint64_t rounding = figures_rounding(t), held = add_capped(t->free, t->reserved);
    if (t->total <= add_capped(held, rounding))
        return held <= t->total + rounding ? 0 : OOM_TEXT_UNKNOWN;
    return t->total - held;
}
