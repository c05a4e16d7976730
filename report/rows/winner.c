/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/* The rule, and the sentence that reports it. */
#include "report/rows/winner.h"

#include "policies/spec.h"

#include <assert.h>
#include <string.h>

enum { NS_PER_MS = 1000000 };

/* ---- the rule ---- */

static uint64_t multiply_capped(uint64_t a, uint64_t b)
{
    return a != 0 && b > UINT64_MAX / a ? UINT64_MAX : a * b;
}

/* Whole milliseconds and the rest apart, as in SQL: the product of price and nanoseconds could pass 2^64. */
uint64_t winner_score(uint64_t bytes, uint64_t time_ns, uint64_t price_bytes_per_ms)
{
    const uint64_t of_ms = multiply_capped(price_bytes_per_ms, time_ns / NS_PER_MS);
    const uint64_t of_rest = multiply_capped(price_bytes_per_ms, time_ns % NS_PER_MS) / NS_PER_MS;
    return add_capped(bytes, add_capped(of_ms, of_rest));
}

uint64_t contender_score(const struct contender *c, uint64_t price_bytes_per_ms)
{
    return c->setting.own_order > 0 ? 0 : winner_score(c->bytes, c->time_ns, price_bytes_per_ms);
}

void simplicity_take_own(struct simplicity *s, const char *policy, const char *source)
{
    s->own_order = strcmp(source, "xplane") == 0 ? policy_own_order(policy) : 0;
    if (s->own_order > 0)
        s->n_changed = s->own_order - 1;
}

/* -1, 0 or 1, the smaller first. */
static int compare_numbers(uint64_t a, uint64_t b)
{
    return a < b ? -1 : a > b;
}

static int compare_ratios(double a, double b)
{
    return a < b ? -1 : a > b;
}

static int compare_changes(const struct simplicity *a, const struct simplicity *b)
{
    if (a->is_default != b->is_default)
        return a->is_default ? -1 : 1;
    return compare_numbers(a->n_changed, b->n_changed);
}

int winner_compare_simplicity(const struct simplicity *a, const struct simplicity *b)
{
    assert(a->typed != NULL && b->typed != NULL);
    const int by_changes = compare_changes(a, b);
    if (by_changes != 0)
        return by_changes;
    const int by_length = compare_numbers(strlen(a->typed), strlen(b->typed));
    return by_length != 0 ? by_length : strcmp(a->typed, b->typed);
}

int winner_compare(const struct contender *a, const struct contender *b, uint64_t price_bytes_per_ms)
{
    assert(!(a->is_ok && a->is_oom) && !(b->is_ok && b->is_oom));
    if (a->is_ok != b->is_ok)
        return a->is_ok ? -1 : 1;
    const int by_score = compare_numbers(contender_score(a, price_bytes_per_ms),
                                         contender_score(b, price_bytes_per_ms));
    return by_score != 0 ? by_score : winner_compare_simplicity(&a->setting, &b->setting);
}

int winner_compare_over_cases(const struct contender_over_cases *a, const struct contender_over_cases *b)
{
    if (a->n_ok != b->n_ok)
        return compare_numbers(b->n_ok, a->n_ok);
    const int by_score = compare_ratios(a->mean_score, b->mean_score);
    return by_score != 0 ? by_score : winner_compare_simplicity(&a->setting, &b->setting);
}

uint64_t winner_margin(uint64_t card_bytes, uint64_t least_score)
{
    return (card_bytes != UINT64_MAX ? card_bytes : least_score) / WINNER_MARGIN_SHARE;
}

/* The one with the lowest score that got through; NULL: none did. */
static const struct contender *lowest_of(const struct contender *all, size_t n, uint64_t price_bytes_per_ms)
{
    const struct contender *lowest = NULL;
    for (size_t i = 0; i < n; i++)
        if (all[i].is_ok && (lowest == NULL ||
                             contender_score(&all[i], price_bytes_per_ms) <
                                 contender_score(lowest, price_bytes_per_ms)))
            lowest = &all[i];
    return lowest;
}

bool winner_is_alike(const struct contender *c, const struct contender *lowest, uint64_t price_bytes_per_ms)
{
    const uint64_t least = contender_score(lowest, price_bytes_per_ms);
    return c->is_ok &&
           contender_score(c, price_bytes_per_ms) <= add_capped(least, winner_margin(lowest->card_bytes, least));
}

bool winner_is_simpler(const struct contender *a, const struct contender *b, uint64_t price_bytes_per_ms)
{
    const int by_changes = compare_changes(&a->setting, &b->setting);
    return by_changes < 0 || (by_changes == 0 && winner_compare(a, b, price_bytes_per_ms) < 0);
}

size_t winner_of(const struct contender *all, size_t n, uint64_t price_bytes_per_ms, size_t *n_alike)
{
    const struct contender *lowest = lowest_of(all, n, price_bytes_per_ms);
    size_t best = WINNER_NONE, n_found = 0;
    for (size_t i = 0; lowest != NULL && i < n; i++) {
        if (!winner_is_alike(&all[i], lowest, price_bytes_per_ms))
            continue;
        n_found++;
        if (best == WINNER_NONE || winner_is_simpler(&all[i], &all[best], price_bytes_per_ms))
            best = i;
    }
    if (n_alike != NULL)
        *n_alike = n_found;
    return best;
}

size_t winner_over_cases(const struct contender_over_cases *all, size_t n, size_t *n_alike)
{
    size_t first = 0;
    *n_alike = 0;
    assert(n > 0);
    for (size_t i = 1; i < n; i++)
        if (winner_compare_over_cases(&all[i], &all[first]) < 0)
            first = i;
    const double most = all[first].mean_score + all[first].mean_margin;
    size_t best = first;
    for (size_t i = 0; i < n; i++) {
        if (all[i].n_ok != all[first].n_ok || all[i].mean_score > most)
            continue;
        ++*n_alike;
        const int by_changes = compare_changes(&all[i].setting, &all[best].setting);
        if (by_changes < 0 || (by_changes == 0 && winner_compare_over_cases(&all[i], &all[best]) < 0))
            best = i;
    }
    return best;
}

/* ---- in words ---- */

/* What its driver time costs, in bytes. */
static uint64_t time_cost(const struct contender *c, uint64_t price_bytes_per_ms)
{
    return winner_score(0, c->time_ns, price_bytes_per_ms);
}

/* Whether its driver time is to be told: it lost because of it, or it costs a tenth of the winner's memory more. */
static bool is_dear(const struct contender *c, const struct contender *best, uint64_t price_bytes_per_ms)
{
    const uint64_t cost = time_cost(c, price_bytes_per_ms), least = time_cost(best, price_bytes_per_ms);
    return c->is_ok && cost > least && (c->bytes < best->bytes || cost - least > best->bytes / 10);
}

static void add_calls(struct words *w, const struct contender *c)
{
    char n[TEXT_NUMBER], time[TEXT_NUMBER];
    words_add(w, "at the cost of %s driver call%s, about %s", text_count(c->calls, n), c->calls == 1 ? "" : "s",
              text_time(c->time_ns, time));
}

/* "none +4.1%, at the cost of 3,567 driver calls, about 799.5 ms" */
static void add_other(struct words *w, const struct contender *c, const struct contender *best,
                      uint64_t price_bytes_per_ms)
{
    const double base = (double)best->bytes;
    words_add(w, " %s ", c->label);
    if (c->is_oom)
        words_add(w, "runs out of memory");
    else if (!c->is_ok)
        words_add(w, "fails");
    else if (c->bytes == best->bytes)
        words_add(w, "the same");
    else
        words_add(w, "%+.1f%%", 100 * ((double)c->bytes - base) / (base > 0 ? base : 1));
    if (is_dear(c, best, price_bytes_per_ms)) {
        words_add(w, ", ");
        add_calls(w, c);
    }
}

static void add_others(struct words *w, const struct contender *all, size_t n, size_t best,
                       uint64_t price_bytes_per_ms, size_t most)
{
    size_t n_others = 0;
    for (size_t i = 0; i < n; i++) {
        if (i == best || n_others++ >= most)
            continue;
        words_add(w, n_others == 1 ? ";" : ",");
        add_other(w, &all[i], &all[best], price_bytes_per_ms);
    }
    if (n_others > most)
        words_add(w, "; %zu more below", n_others - most);
}

static bool is_least(const struct contender *all, size_t n, const struct contender *best)
{
    for (size_t i = 0; i < n; i++)
        if (all[i].is_ok && all[i].bytes < best->bytes)
            return false;
    return true;
}

void winner_say_price(struct words *w, uint64_t price_bytes_per_ms)
{
    char a[UNITS_TEXT];
    words_add(w, "a millisecond of driver time counts as much as %s of the card (--price)",
              units_format_bytes(price_bytes_per_ms, a));
}

void winner_say_alike(struct words *w, const struct contender *all, size_t n, uint64_t price_bytes_per_ms)
{
    char a[UNITS_TEXT];
    size_t n_alike;
    const struct contender *lowest = lowest_of(all, n, price_bytes_per_ms);
    if (lowest == NULL || winner_of(all, n, price_bytes_per_ms, &n_alike) == WINNER_NONE || n_alike < 2)
        return;
    const uint64_t margin = winner_margin(lowest->card_bytes, contender_score(lowest, price_bytes_per_ms));
    if (lowest->setting.own_order > 0)
        words_add(w, " What a library takes in advance is no need of the program's: the first of its settings that "
                     "runs is named, the library as it comes before all.");
    else
        words_add(w, " %zu of %zu are alike: they differ by less than 2%% of the card (%s), and the simplest is named.",
                  n_alike, n, units_format_bytes(margin, a));
}

const char *winner_own_words(const struct contender *c)
{
    return c->setting.own_order == 1 ? "as it comes does" : "is the first that runs";
}

void winner_say(struct words *w, const struct contender *all, size_t n, uint64_t price_bytes_per_ms, size_t most)
{
    char a[UNITS_TEXT];
    size_t n_alike;
    const size_t best = winner_of(all, n, price_bytes_per_ms, &n_alike);
    assert(best < n);
    const struct contender *c = &all[best];
    const bool has_least = is_least(all, n, c);
    words_add(w, strcmp(c->label, "none") == 0 ? "The policy %s " : "%s ", c->label);
    if (n == 1)
        words_add(w, "takes ");
    else if (c->setting.own_order > 0)
        words_add(w, "%s: ", winner_own_words(c));
    else if (n_alike > 1)
        words_add(w, "does as well as any: ");
    else
        words_add(w, has_least ? "needs least memory: " : "is best: ");
    words_add(w, "%s of the card at its peak (as nvidia-smi counts it), ", units_format_bytes(c->bytes, a));
    add_calls(w, c);
    add_others(w, all, n, best, price_bytes_per_ms, most);
    words_add(w, ". At most %.0f%% of what %s reserves is in use at any time.", c->in_use_percent,
              n == 1 ? "it" : c->label);
    winner_say_alike(w, all, n, price_bytes_per_ms);
    if (!has_least && n_alike < 2 && c->setting.own_order == 0) {
        words_add(w, " Less memory does not pay here: ");
        winner_say_price(w, price_bytes_per_ms);
        words_add(w, ".");
    }
}
