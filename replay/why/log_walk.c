/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
#include "replay/why/log_walk.h"

#include "replay/why/log_phrases.h"

/* Phrases of forms come before those of signs. */
static void take(void *arg, size_t i, size_t at)
{
    struct log_walk *w = arg;
    if (i < log_forms_count())
        log_forms_take(&w->forms, i, at);
    else
        log_facts_take(&w->facts, i - log_forms_count(), at);
}

void log_walk(const char *text, size_t n, struct log_walk *out)
{
    const char *phrases[LOG_PHRASES_MAX];
    struct log_phrases table;
    size_t n_phrases = 0;
    for (size_t i = 0; i < log_forms_count(); i++)
        phrases[n_phrases++] = log_forms_phrase(i);
    for (size_t i = 0; i < log_facts_count(); i++)
        phrases[n_phrases++] = log_facts_phrase(i);
    *out = (struct log_walk){ .forms = { .text = text, .n = n }, .facts = log_facts_walk_of(text, n) };
    log_phrases_init(&table, phrases, n_phrases);
    log_phrases_each(&table, text, n, take, out);
}
