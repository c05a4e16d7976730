/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
#include "replay/why/log_forms.h"

#include "base/units.h"
#include "replay/why/log_letters.h"
#include "replay/why/log_phrases.h"

#include <string.h>

enum { NEAR_REACH = 800 };           /* bytes before an error in which its `near` must stand */

enum form_name {
#define LOG_FORM(name, ...) FORM_##name,
#define LOG_FIGURE(...)
#include "replay/why/log_forms.def"
#undef LOG_FORM
#undef LOG_FIGURE
    N_FORMS
};

static const struct log_form forms[N_FORMS] = {
#define LOG_FORM(name, stack, platform, rank, verdict, phrase, near, says, lever, advice)                              \
    { stack, PLATFORM_##platform, rank, verdict, phrase, near, says, lever, advice },
#define LOG_FIGURE(...)
#include "replay/why/log_forms.def"
#undef LOG_FORM
#undef LOG_FIGURE
};

enum side { BEFORE, AFTER };

static const struct {
    enum form_name form;
    size_t member;                   /* of struct log_figures */
    enum side side;
    const char *words;
} figures[] = {
#define LOG_FORM(...)
#define LOG_FIGURE(name, member, side, words) { FORM_##name, offsetof(struct log_figures, member), side, words },
#include "replay/why/log_forms.def"
#undef LOG_FORM
#undef LOG_FIGURE
};

/* ---- what an error says ---- */

static struct log_figures figures_unknown(void)
{
    return (struct log_figures){ OOM_TEXT_UNKNOWN, OOM_TEXT_UNKNOWN, OOM_TEXT_UNKNOWN, OOM_TEXT_UNKNOWN,
                                 OOM_TEXT_UNKNOWN, OOM_TEXT_UNKNOWN, OOM_TEXT_UNKNOWN, OOM_TEXT_UNKNOWN };
}

/* Some stacks write bytes without their unit. */
static uint64_t read_figure(const char *one, size_t i)
{
    if (figures[i].side == BEFORE)
        return letters_size_before(one, figures[i].words);
    const uint64_t bytes = letters_size_after(one, figures[i].words);
    return bytes == OOM_TEXT_UNKNOWN ? letters_bytes_after(one, figures[i].words) : bytes;
}

/* The text of an error begins with its line, because some figures stand before its phrase. */
static struct log_figures read_figures(enum form_name form, const char *text, size_t n, size_t at)
{
    struct log_figures f = figures_unknown();
    char one[LETTERS_MAX];
    const struct letters whole = { text, letters_line_begin(text, at), n, NULL, 0 };
    letters_take(whole, one);
    for (size_t i = 0; i < sizeof figures / sizeof figures[0]; i++)
        if (figures[i].form == form) {
            const uint64_t bytes = read_figure(one, i);
            memcpy((char *)&f + figures[i].member, &bytes, sizeof bytes);
        }
    if (f.allowed != OOM_TEXT_UNKNOWN && f.allowed > UINT64_C(1) << 50)
        f.allowed = OOM_TEXT_UNKNOWN;                /* PyTorch writes a huge number for "no limit" */
    return f;
}

/* ---- the verdict ---- */

static bool is_known(uint64_t bytes)
{
    return bytes != OOM_TEXT_UNKNOWN;
}

/* Of the pool of cudaMallocAsync the text tells what is allocated, not what is cached: only the extremes are told. */
static enum verdict_kind judge_async(const struct log_figures *f)
{
    if (!is_known(f->total) || !is_known(f->asked) || !is_known(f->allocated))
        return VERDICT_UNTOLD;
    if (f->allocated > f->total)
        return VERDICT_HOST_LENT;
    if (f->asked > f->total - f->allocated)
        return f->asked > f->allocated ? VERDICT_ONE_TENSOR : VERDICT_FULL;
    if (is_known(f->allowed) && add_capped(f->allocated, f->asked) > f->allowed)
        return VERDICT_LIMITED;
    return is_known(f->free) && f->free >= f->asked ? VERDICT_CARD_HAD_ROOM : VERDICT_UNTOLD;
}

/* Paddle counts what it has allocated on the card and what is available there. */
static enum verdict_kind judge_paddle(const struct log_figures *f)
{
    if (!is_known(f->asked) || !is_known(f->free) || !is_known(f->allocated))
        return VERDICT_UNTOLD;
    return f->asked > add_capped(f->allocated, f->free) ? VERDICT_ONE_TENSOR : VERDICT_FULL;
}

static enum verdict_kind judge_summary(const struct log_figures *f)
{
    if (!is_known(f->reserved) || !is_known(f->pinned))
        return VERDICT_UNTOLD;
    return f->pinned > f->reserved / 10 ? VERDICT_FRAGMENTED : VERDICT_FULL;
}

static enum verdict_kind judge(enum form_name form, const struct log_figures *f)
{
    if (is_known(f->asked) && f->asked > UINT64_C(1) << 50 && forms[form].verdict != VERDICT_KERNEL)
        return VERDICT_BROKEN_SIZE;
    if (form == FORM_TORCH_ASYNC)
        return judge_async(f);
    if (form == FORM_PADDLE)
        return judge_paddle(f);
    if (form == FORM_TORCH_SUMMARY)
        return judge_summary(f);
    if (forms[form].verdict == VERDICT_FULL && is_known(f->allowed) && is_known(f->allocated) && is_known(f->asked) &&
        add_capped(f->allocated, f->asked) > f->allowed)
        return VERDICT_LIMITED;
    return forms[form].verdict;
}

/* ---- the search ---- */

struct form_search {
    const char *text;
    size_t n;
    struct log_found best;
};

static bool has_near(const struct form_search *s, const struct log_form *form, size_t at)
{
    const size_t from = at > NEAR_REACH ? at - NEAR_REACH : 0;
    if (form->near[0] == '\0')
        return true;
    for (size_t i = from; i < at; i++)
        if (log_phrase_is(s->text, s->n, i, form->near))
            return true;
    return false;
}

static void take_hit(void *arg, size_t i, size_t at)
{
    struct form_search *s = arg;
    if (!has_near(s, &forms[i], at))
        return;
    s->best.n_errors++;
    if (s->best.form != NULL && s->best.form->rank > forms[i].rank)
        return;
    s->best.form = &forms[i];
    s->best.at = at;
}

bool log_forms_find(const char *text, size_t n, struct log_found *out)
{
    struct form_search s = { .text = text, .n = n };
    const char *phrases[N_FORMS];
    struct log_phrases table;
    for (size_t i = 0; i < N_FORMS; i++)
        phrases[i] = forms[i].phrase;
    log_phrases_init(&table, phrases, N_FORMS);
    log_phrases_each(&table, text, n, take_hit, &s);
    *out = s.best;
    if (s.best.form == NULL)
        return false;
    const enum form_name form = (enum form_name)(s.best.form - forms);
    out->figures = read_figures(form, text, n, s.best.at);
    out->verdict = judge(form, &out->figures);
    out->line = 1;
    for (size_t i = 0; i < s.best.at; i++)
        out->line += text[i] == '\n';
    return true;
}
