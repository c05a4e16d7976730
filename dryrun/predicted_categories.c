/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/* Categories of a predicted program, by the rules of `who --by category`. */
#include "dryrun/predicted_categories.h"

#include "base/terminal.h"
#include "base/units.h"
#include "replay/recording/categories.h"
#include "report/text/text.h"

#include <stdlib.h>

enum { CATEGORIES_SHOWN = 5 };

struct predicted_categories {
    struct holders holders;
    uint64_t held_bytes, named_bytes;        /* in all; of these the category is known */
};

static enum err group(struct trace_reader *trace, struct holdings *held, struct predicted_categories *c,
                      struct err_detail *err)
{
    struct category_facts facts = { .named_bytes = 0 };
    enum err e = categories_find(trace, held, &facts, err);
    if (e == ERR_OK)
        e = holders_group(trace, held, HOLDER_CATEGORY, &c->holders, err);
    c->held_bytes = held->bytes;
    c->named_bytes = facts.named_bytes;
    return e;
}

enum err predicted_categories_find(struct trace_reader *trace, struct predicted_categories **out,
                                   struct err_detail *err)
{
    struct predicted_categories *c = calloc(1, sizeof *c);
    struct holdings held;
    if (c == NULL)
        return err_no_memory(err);
    enum err e = holdings_read(trace, MOMENT_PEAK, 0, &held, err);
    if (e == ERR_OK) {
        e = group(trace, &held, c, err);
        holdings_close(&held);
    }
    if (e == ERR_OK)
        *out = c;
    else
        free(c);
    return e;
}

void predicted_categories_print(FILE *out, const struct predicted_categories *c)
{
    struct words w = { .n = 0 };
    char held[UNITS_TEXT], bytes[UNITS_TEXT];
    if (c == NULL || c->named_bytes == 0)
        return;
    const struct holders *h = &c->holders;
    words_add(&w, "At its peak the program has requested %s: ", units_format_bytes(c->held_bytes, held));
    for (size_t i = 0; i < h->n && i < CATEGORIES_SHOWN; i++)
        words_add(&w, "%s%s %s (%.0f%%%s)", i == 0 ? "" : ", ", holder_name(h, i),
                  units_format_bytes(h->at[i].bytes, bytes), 100.0 * (double)h->at[i].bytes / (double)c->held_bytes,
                  holder_is_guess(&h->at[i]) ? ", a guess" : "");
    words_add(&w, h->n > CATEGORIES_SHOWN ? ", and other (replay who --by category)." : ".");
    words_print_within(out, &w, TERMINAL_USUAL, 0, 2);
}

const struct holders *predicted_categories_held(const struct predicted_categories *c)
{
    return c != NULL ? &c->holders : NULL;
}

void predicted_categories_close(struct predicted_categories *c)
{
    if (c == NULL)
        return;
    holders_close(&c->holders);
    free(c);
}
