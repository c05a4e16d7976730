/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * A text is read letter by letter without its layout. A terminal breaks lines within words and numbers, and a log puts
 * a time before each line; without blanks and prefixes a text is always the same.
 */
#include "replay/why/oom_text.h"

#include "base/units.h"

#include <stdlib.h>
#include <string.h>

enum {
    TEXT_MAX = 2048,                 /* the longest text is below 1,000 letters */
    PREFIX_MAX = 256,                /* the longest prefix of a line */
    RANKS_MAX = 256,                 /* the ranks told apart; the errors of later ones are counted only */
};

static const char opening[] = "out of memory. Tried to allocate ";

/* ---- letters without their layout ---- */

/* text[at, n); a line may begin with `prefix`, which is the beginning of the line where the error begins. */
struct letters {
    const char *text;
    size_t      at, n;
    const char *prefix;
    size_t      n_prefix;
};

static bool is_blank(char c)
{
    return c == ' ' || c == '\n' || c == '\r' || c == '\t';
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* Skips the prefix, if the line has it. Numbers may differ, because most prefixes tell the time. */
static void skip_prefix(struct letters *l)
{
    size_t at = l->at;
    for (size_t i = 0; i < l->n_prefix;) {
        if (at == l->n || is_digit(l->prefix[i]) != is_digit(l->text[at]))
            return;
        if (is_digit(l->prefix[i])) {
            for (; i < l->n_prefix && is_digit(l->prefix[i]); i++)
                ;
            for (; at < l->n && is_digit(l->text[at]); at++)
                ;
        } else if (l->prefix[i++] != l->text[at++]) {
            return;
        }
    }
    l->at = at;
}

/* Skips "ESC [ 31 m", a colour of a terminal. */
static void skip_colour(struct letters *l)
{
    l->at++;
    if (l->at < l->n && l->text[l->at] == '[')
        for (l->at++; l->at < l->n && l->text[l->at] >= ' ' && l->text[l->at] < '@'; l->at++)
            ;
    l->at += l->at < l->n;
}

/* '\0' at the end. */
static char letters_next(struct letters *l)
{
    while (l->at < l->n) {
        const char c = l->text[l->at];
        if (c == '\x1b') {
            skip_colour(l);
            continue;
        }
        l->at++;
        if (!is_blank(c))
            return c;
        if (c == '\n')
            skip_prefix(l);
    }
    return '\0';
}

/* Whether the letters go on with `words`, whose blanks do not count. */
static bool letters_are(struct letters l, const char *words)
{
    for (; *words != '\0'; words++)
        if (*words != ' ' && letters_next(&l) != *words)
            return false;
    return true;
}

/* The beginning of the line of text[at], at most PREFIX_MAX bytes before it. */
static size_t line_begin(const char *text, size_t at)
{
    size_t begin = at;
    while (begin > 0 && at - begin < PREFIX_MAX && text[begin - 1] != '\n' && text[begin - 1] != '\r')
        begin--;
    return begin;
}

/* Where the word before text[at] begins, if blanks or nothing stand between them. */
static size_t word_begin(const char *text, size_t begin, size_t at)
{
    while (at > begin && is_blank(text[at - 1]))
        at--;
    while (at > begin && !is_blank(text[at - 1]))
        at--;
    return at;
}

/* The letters from text[at] on, which is the opening after "CUDA". What the line has before "torch.OutOfMemoryError:
 * CUDA" is its prefix. One that is nothing but a number would take figures of the text for itself. */
static struct letters letters_from(const char *text, size_t at, size_t n)
{
    static const char error[] = "Error: ";
    const size_t begin = line_begin(text, at);
    size_t end = word_begin(text, begin, at);
    if (end - begin >= strlen(error) && memcmp(text + end - strlen(error), error, strlen(error)) == 0)
        end = word_begin(text, begin, end);
    for (size_t i = begin; i < end; i++)
        if (!is_blank(text[i]) && !is_digit(text[i]))
            return (struct letters){ text, at, n, text + begin, end - begin };
    return (struct letters){ text, at, n, NULL, 0 };
}

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

/* Where `words` stand, whose blanks do not count; *end (may be NULL) is what follows them. NULL: nowhere. */
static const char *find_words(const char *text, const char *words, const char **end)
{
    for (; *text != '\0'; text++) {
        const char *at = text, *w = words;
        for (; *w != '\0' && (*w == ' ' || *w == *at); w++)
            at += *w != ' ';
        if (*w != '\0')
            continue;
        if (end != NULL)
            *end = at;
        return text;
    }
    return NULL;
}

/* The size at the beginning of `at`, such as "64.00MiB"; *end is what follows it. */
static bool read_size(const char *at, uint64_t *bytes, const char **end)
{
    static const struct { const char *word; double bytes; } units[] = {
        { "bytes", 1 }, { "KiB", KIB }, { "MiB", MIB }, { "GiB", GIB },
    };
    char *after;
    if (!is_digit(*at))
        return false;
    const double number = strtod(at, &after);
    for (size_t i = 0; i < sizeof units / sizeof units[0]; i++)
        if (strncmp(after, units[i].word, strlen(units[i].word)) == 0 && number < 1e7) {
            *bytes = (uint64_t)(number * units[i].bytes);
            *end = after + strlen(units[i].word);
            return true;
        }
    return false;
}

/* Whether a number may begin at `at`: what is before it is no part of it. A full stop may end a sentence. */
static bool is_number_begin(const char *text, const char *at)
{
    const bool has_stop = at > text && at[-1] == '.';
    at -= has_stop;
    return at == text || !is_digit(at[-1]);
}

/* The size that stands right before `words`; unknown if it does not. */
static uint64_t size_before(const char *text, const char *words)
{
    const char *found = find_words(text, words, NULL), *end;
    uint64_t bytes;
    if (found == NULL)
        return OOM_TEXT_UNKNOWN;
    for (const char *at = found; at-- > text && found - at < 24;)
        if (is_number_begin(text, at) && read_size(at, &bytes, &end) && end == found)
            return bytes;
    return OOM_TEXT_UNKNOWN;
}

static uint64_t size_after(const char *text, const char *words)
{
    const char *after, *end;
    uint64_t bytes;
    return find_words(text, words, &after) != NULL && read_size(after, &bytes, &end) ? bytes : OOM_TEXT_UNKNOWN;
}

/* "Process 4711 has 470.64 MiB memory in use." for each process but "this process". If that is not there, and these
 * and what PyTorch reserved are more than what is in use, then the program itself is one of these: it holds at least
 * what it reserved, and so none is more likely than the largest. */
static void read_processes(const char *text, struct oom_text *t)
{
    const bool is_named = find_words(text, "this process has", NULL) != NULL;
    const uint64_t in_use = t->total > t->free ? t->total - t->free : 0;
    uint64_t sum = 0, largest = 0, bytes;
    const char *end;
    while (find_words(text, "Process", &text) != NULL) {
        text += strspn(text, "0123456789");
        if (strncmp(text, "has", 3) != 0 || !read_size(text + 3, &bytes, &end))
            continue;
        sum += bytes;
        largest = bytes > largest ? bytes : largest;
    }
    t->is_listed = !is_named && sum > 0 && add_capped(sum, t->reserved) > add_capped(in_use, figures_rounding(t));
    t->others = t->is_listed ? sum - largest : sum;
}

/* 2.3 writes the number as a character. */
static unsigned read_gpu(const char *text)
{
    const char *at;
    if (find_words(text, "GPU", &at) == NULL)
        return 0;
    return is_digit(*at) ? (unsigned)strtoul(at, NULL, 10) & 1023 : *at > 0 && *at < ' ' ? (unsigned)*at : 0;
}

/* 2.0 gives all figures in brackets, and what is reserved in total. */
static void read_early(const char *text, struct oom_text *t)
{
    t->total = size_before(text, "total capacity;");
    t->allocated = size_before(text, "already allocated;");
    t->free = size_before(text, "free;");
    t->reserved = size_before(text, "reserved in total by PyTorch");
}

static void read_later(const char *text, struct oom_text *t)
{
    const uint64_t unallocated = size_before(text, "is reserved by PyTorch but unallocated");
    t->total = size_after(text, "has a total capacity of");
    if (t->total == OOM_TEXT_UNKNOWN)
        t->total = size_after(text, "has a total capacty of");       /* 2.1's spelling */
    t->free = size_before(text, "is free.");
    t->process = size_after(text, "Including non-PyTorch memory, this process has");
    t->allocated = size_before(text, "is allocated by PyTorch");
    t->private_pools = size_before(text, "allocated in private pools");
    if (t->allocated != OOM_TEXT_UNKNOWN && unallocated != OOM_TEXT_UNKNOWN)
        t->reserved = t->allocated + unallocated;
}

/* What the hint at the end of a text tells of the release and its settings. */
static void read_hint(const char *text, struct oom_text *t)
{
    static const char *const variables[] = { "PYTORCH_CUDA_ALLOC_CONF", "PYTORCH_HIP_ALLOC_CONF",
                                             "PYTORCH_ALLOC_CONF" };
    t->variable = variables[0];
    for (size_t i = 1; i < sizeof variables / sizeof variables[0]; i++)
        if (find_words(text, variables[i], NULL) != NULL)
            t->variable = variables[i];
    t->names_max_split = find_words(text, "try setting max_split_size_mb", NULL) != NULL;
    t->expandable_reserve = size_after(text, "exceeds the expandable-segment reserve of");
    t->is_expandable = t->expandable_reserve != OOM_TEXT_UNKNOWN ||
                       find_words(text, "expandable_segments is enabled", NULL) != NULL;
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
    t->asked = size_after(text, opening);
    t->is_early = find_words(text, "reserved in total by PyTorch", NULL) != NULL;
    if (t->is_early)
        read_early(text, t);
    else
        read_later(text, t);
    t->allowed = size_before(text, "allowed;");
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
    for (size_t i = line_begin(text, at); i + strlen(word) < at; i++)
        if (memcmp(text + i, word, strlen(word)) == 0 && is_digit(text[i + strlen(word)]))
            return strtol(text + i + strlen(word), NULL, 10) & 0xfffff;
    return -1;
}

/* Takes the text at text[at] up to the next one. False if it lacks its sizes. */
static bool read_at(const char *text, size_t at, size_t n, struct oom_text *out)
{
    struct letters l = letters_from(text, at, n);
    char one[TEXT_MAX];
    size_t used = 0;
    for (char c; used < TEXT_MAX - 1 && (c = letters_next(&l)) != '\0';)
        one[used++] = c;
    one[used] = '\0';
    const char *next = find_words(one + 1, opening, NULL);
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

/* The first words are looked for without a prefix, which takes longer to find. */
static bool is_opening(const char *text, size_t at, size_t n)
{
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
