/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/* Reads "sizes=2%,seeds=1..20". */
#include "replay/sweep/sweep_copies.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

enum { SEED_DIGITS = 9 };

/* Skips a word that the text begins with. */
static bool skip_word(const char **text, const char *word)
{
    const size_t n = strlen(word);
    const bool is_there = strncmp(*text, word, n) == 0;
    *text += is_there ? n : 0;
    return is_there;
}

static bool take_number(const char **text, uint64_t *out)
{
    const char *at = *text;
    uint64_t n = 0;
    while (*at >= '0' && *at <= '9' && at - *text < SEED_DIGITS)
        n = n * 10 + (uint64_t)(*at++ - '0');
    const bool is_there = at > *text;
    *text = at;
    *out = n;
    return is_there;
}

/* "1..20", or "7" alone. */
static bool take_seeds(const char **text, struct sweep_copies *c)
{
    uint64_t last;
    if (!take_number(text, &c->first_seed))
        return false;
    last = c->first_seed;
    if (skip_word(text, "..") && !take_number(text, &last))
        return false;
    c->n = last >= c->first_seed ? last - c->first_seed + 1 : 0;
    return c->n > 0 && c->n <= COPIES_MAX;
}

static bool take_sizes(const char **text, struct sweep_copies *c)
{
    uint64_t percent;
    if (!take_number(text, &percent) || !skip_word(text, "%"))
        return false;
    c->percent = percent <= COPIES_PERCENT_MAX ? (unsigned)percent : 0;
    return c->percent > 0;
}

enum err sweep_copies_parse(const char *text, struct sweep_copies *out, struct err_detail *err)
{
    struct sweep_copies c = { .n = 0 };
    const char *at = text;
    bool is_right = true;
    do
        is_right = skip_word(&at, "sizes=") ? take_sizes(&at, &c) : skip_word(&at, "seeds=") && take_seeds(&at, &c);
    while (is_right && skip_word(&at, ","));
    if (!is_right || *at != '\0' || c.n == 0 || c.percent == 0)
        return err_set(err, ERR_USAGE, 0, "--copies %s: expected sizes=1%% to %d%%, and seeds, at most %d: "
                       "sizes=2%%,seeds=1..20", text, COPIES_PERCENT_MAX, COPIES_MAX);
    *out = c;
    return ERR_OK;
}
