/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
#include "replay/why/log_end.h"

#include "base/shown.h"
#include "replay/why/log_letters.h"

#include <ctype.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

enum { LINE_SHOWN = 100 };

/* ---- lines ---- */

struct line {
    const char *at;
    size_t      n;
};

static bool is_line_end(char c)
{
    return c == '\n' || c == '\r';           /* a progress bar goes back to the begin of its line */
}

/* The next line from *at on. False: there is none before `stop`. */
static bool take_line(const char *text, size_t *at, size_t stop, struct line *out)
{
    while (*at < stop && is_line_end(text[*at]))
        ++*at;
    out->at = text + *at;
    while (*at < stop && !is_line_end(text[*at]))
        ++*at;
    out->n = (size_t)(text + *at - out->at);
    return out->n > 0;
}

static bool is_word(const struct line *l, size_t i, const char *word)
{
    const size_t n = strlen(word);
    if (l->n - i < n)
        return false;
    for (size_t k = 0; k < n; k++)
        if (tolower((unsigned char)l->at[i + k]) != word[k])
            return false;
    return true;
}

static bool is_word_begin(const struct line *l, size_t i)
{
    return i == 0 || !(isalnum((unsigned char)l->at[i - 1]) || l->at[i - 1] == '_');
}

static bool has_any(const struct line *l, const char *const *words)
{
    for (size_t i = 0; i < l->n; i++)
        for (const char *const *w = words; is_word_begin(l, i) && *w != NULL; w++)
            if (is_word(l, i, *w))
                return true;
    return false;
}

/* What a program that caught an error says of it, and no advice: "try setting", "reduce the batch" are none. */
static const char *const recoveries[] = { "skipp", "retry", "recover", "trying batch", "trying with", "using batch",
                                          "is not a failure", "falling back", "fallback", "reducing batch",
                                          "reducing the", "reduced", "halving", "halved", "decreasing batch",
                                          "decreased", "lowered", "continuing", "failed with value", NULL };
static const char *const negations[] = { "could not", "cannot", "unable to", "failed to", "failed before", "to ignore",
                                         "would", "try reducing", NULL };
/* Words that say of an error in its own line that the program does without. */
static const char *const tolerances[] = { "is not a failure", "falling back", "failed to allocate pinned",
                                           "of pinned memory:", "taskalignedassigner, using cpu", NULL };
static const char *const completions[] = { "done", "finished", "complete", "saved", "written", "100%", "max_epochs",
                                           "max_steps", NULL };
static const char *const failures[] = { "traceback (most", "childfailed", "calledprocess", "exit code", "exitcode",
                                        "exited with", "non-zero exit", "killed", "aborted", "core dumped",
                                        "closing signal", "srun: error", "segmentation fault",
                                        "out of memory. tried", NULL };

/* ---- counters ---- */

static const char *const counted[] = { "step", "steps", "global_step", "epoch", "iter", "iteration", "batch", "trial",
                                       "update", "updates", "num_updates", "it" };

enum { OF_BAR = sizeof counted / sizeof counted[0], COUNTERS_MAX = 32 };

/* "step 12": kind is the word. "12/40": kind is OF_BAR, and `of` 40. */
struct counter {
    unsigned kind;
    uint64_t of, before, last;
    bool     has_before, has_last;
};

struct walk {
    struct counter counters[COUNTERS_MAX];
    size_t n;
    bool   is_after;                 /* the error */
    bool   has_risen, is_beyond;     /* a counter, after the error; beyond what it was before */
};

static struct counter *find_counter(struct walk *w, unsigned kind, uint64_t of)
{
    size_t i = 0;
    while (i < w->n && (w->counters[i].kind != kind || w->counters[i].of != of))
        i++;
    if (i == COUNTERS_MAX)
        return NULL;
    if (i == w->n)
        w->counters[w->n++] = (struct counter){ .kind = kind, .of = of };
    return &w->counters[i];
}

static void count(struct walk *w, unsigned kind, uint64_t of, uint64_t value)
{
    struct counter *c = find_counter(w, kind, of);
    if (c == NULL)
        return;
    if (!w->is_after) {
        c->before = value;
        c->has_before = true;
        return;
    }
    const bool rises = c->has_last && value > c->last, is_further = c->has_before && value > c->before;
    w->has_risen = w->has_risen || rises;
    w->is_beyond = w->is_beyond || (rises && is_further) || (value == of && is_further);
    c->last = value;
    c->has_last = true;
}

static bool is_digit_at(const struct line *l, size_t i)
{
    return i < l->n && l->at[i] >= '0' && l->at[i] <= '9';
}

/* The number at l[*i], which moves past it. */
static uint64_t take_number(const struct line *l, size_t *i)
{
    uint64_t value = 0;
    for (; is_digit_at(l, *i); ++*i)
        value = value < UINT64_C(1) << 48 ? value * 10 + (uint64_t)(l->at[*i] - '0') : value;
    return value;
}

static size_t skip(const struct line *l, size_t i, const char *letters)
{
    while (i < l->n && strchr(letters, l->at[i]) != NULL && l->at[i] != '\0')
        i++;
    return i;
}

/* "step 12", "epoch: 3", "num_updates=410", "num_updates": "410" at l[i]. */
static void count_word(struct walk *w, const struct line *l, size_t i)
{
    for (unsigned k = 0; k < OF_BAR; k++) {
        size_t at = i + strlen(counted[k]);
        if (!is_word(l, i, counted[k]) || at >= l->n || isalnum((unsigned char)l->at[at]) || l->at[at] == '_')
            continue;
        at = skip(l, at, " \t:=#[(\"'");
        if (is_digit_at(l, at)) {
            const uint64_t value = take_number(l, &at);
            count(w, k, 0, value);
        }
    }
}

/* "12/40", and no part of a date or a path. */
static void count_bar(struct walk *w, const struct line *l, size_t i)
{
    const char before = i > 0 ? l->at[i - 1] : ' ';
    const uint64_t value = take_number(l, &i);
    i = skip(l, i, " ");
    if (i >= l->n || l->at[i] != '/' || before == '/' || before == '.')
        return;
    i = skip(l, i + 1, " ");
    if (!is_digit_at(l, i))
        return;
    const uint64_t of = take_number(l, &i);
    if (value <= of && of > 1 && (i == l->n || l->at[i] != '/'))
        count(w, OF_BAR, of, value);
}

static void count_line(struct walk *w, const struct line *l)
{
    for (size_t i = 0; i < l->n; i++) {
        if (!is_word_begin(l, i))
            continue;
        if (is_digit_at(l, i))
            count_bar(w, l, i);
        else
            count_word(w, l, i);
    }
}

/* ---- the judgement ---- */

static bool is_after_name(const char *text, size_t from, size_t at)
{
    static const char name[] = "Error: ";
    return at - from >= strlen(name) && memcmp(text + at - strlen(name), name, strlen(name)) == 0;
}

/* An error that nobody caught stands after its name, as "OutOfMemoryError: CUDA out of memory". What a program prints
 * of an error that it caught mostly does not. */
static bool is_uncaught(const char *text, size_t at)
{
    const size_t from = letters_line_begin(text, at);
    size_t word = at;
    while (word > from && text[word - 1] == ' ')
        word--;
    while (word > from && text[word - 1] != ' ')
        word--;
    return is_after_name(text, from, at) || is_after_name(text, from, word);
}

/* "* Reducing the number of threads": an item of a list of what one may do. */
static bool is_item(const struct line *l)
{
    size_t i = 0;
    while (i < l->n && l->at[i] == ' ')
        i++;
    return i + 1 < l->n && (l->at[i] == '*' || l->at[i] == '-') && l->at[i + 1] == ' ';
}

static bool is_recovery(const struct line *l)
{
    return has_any(l, recoveries) && !is_item(l) && (has_any(l, tolerances) || !has_any(l, negations));
}

static void count_before(struct walk *w, const char *text, size_t at)
{
    struct line l;
    for (size_t i = 0; take_line(text, &i, at, &l);)
        count_line(w, &l);
}

enum log_end log_end_read(const char *text, size_t at, size_t stop)
{
    struct walk w = { .n = 0 };
    struct line l;
    const size_t begin = letters_line_begin(text, at);
    bool has_recovered = false, has_completed = false, is_tolerated = false;
    count_before(&w, text, at);
    w.is_after = true;
    for (size_t i = begin; take_line(text, &i, stop, &l);) {
        const bool is_own = l.at == text + begin;
        if (!is_own && has_any(&l, failures)) {
            w.has_risen = w.is_beyond = has_completed = is_tolerated = false;
            continue;
        }
        is_tolerated = is_tolerated || (is_own && has_any(&l, tolerances));
        has_recovered = has_recovered || is_recovery(&l);
        has_completed = has_completed || has_any(&l, completions);
        count_line(&w, &l);
    }
    const bool is_caught = has_recovered || !is_uncaught(text, at);
    if (is_tolerated || w.is_beyond || (w.has_risen && is_caught) || (has_recovered && has_completed))
        return LOG_SURVIVED;
    return w.has_risen || has_recovered ? LOG_GOES_ON : LOG_ENDS_THERE;
}

bool log_end_line(const char *text, size_t at, size_t stop, char *out, size_t room)
{
    size_t end = stop;
    while (end > at && isspace((unsigned char)text[end - 1]))
        end--;
    size_t from = end;
    while (from > at && !is_line_end(text[from - 1]))
        from--;
    while (from < end && isspace((unsigned char)text[from]))
        from++;
    const bool is_long = end - from > LINE_SHOWN;
    snprintf(out, room, "%.*s%s", (int)(is_long ? LINE_SHOWN : end - from), text + from, is_long ? "..." : "");
    shown_clean(out, false);
    return end > from;
}
