/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
#include "replay/why/log_answer.h"

#include "replay/why/log_clean.h"
#include "replay/why/oom_answer.h"

#include <inttypes.h>
#include <string.h>

enum { TEXT_RANK = 3 };              /* of PyTorch's text with all its figures, as ranks of log_forms.def are */

/* ---- reading ---- */

/* An error that one platform only writes tells it, unless the log tells more: an NVIDIA driver's line may be of WSL. */
static void take_form_platform(struct log_answer *a)
{
    const enum platform p = a->found.form->platform;
    if (!a->is_text && p > a->facts.platform)
        log_facts_set_platform(&a->facts, p);
}

/* Whether the found error follows PyTorch's text, or is the first words that this text lacks. */
static bool is_after(const struct log_found *f, const struct oom_text *t)
{
    enum { HEAD_REACH = 200 };
    return f->at > t->at || (t->is_headless && t->at - f->at < HEAD_REACH);
}

/* ---- which error is answered ---- */

/* A process that the kernel killed leaves no traceback, so a text in the same log is of another one. */
static bool is_kernel(const struct log_form *f)
{
    return f->verdict == VERDICT_HOST && strcmp(f->stack, "linux") == 0;
}

static size_t answered_at(const struct log_answer *a)
{
    return a->is_text ? a->text.at : a->found.at;
}

/* The text with all its figures, or the form that tells most, whichever ended the run. */
static void choose(struct log_answer *a, const struct log_walk *w, bool has_text)
{
    const struct log_form *best = w->forms.best;
    a->is_text = has_text;
    if (best == NULL)
        return;
    a->found = log_forms_read(&w->forms, best, w->forms.best_at);
    a->is_text = has_text && best->rank <= TEXT_RANK &&
                 (best->rank < TEXT_RANK || is_kernel(best) || !is_after(&a->found, &a->text));
}

/* If the program lived on after the error, the last one in the log is the one that ended it. Being killed ends also
 * what may have lived on. */
static void choose_later(struct log_answer *a, const struct log_walk *w)
{
    const size_t at = answered_at(a), last = w->forms.last_at;
    if (w->forms.last == NULL || last <= at)
        return;
    const enum log_end end = log_end_read(w->forms.text, at, last);
    if (end == LOG_ENDS_THERE || (end == LOG_GOES_ON && w->forms.last->verdict != VERDICT_HOST))
        return;
    a->found = log_forms_read(&w->forms, w->forms.last, last);
    a->is_text = false;
}

static void read_end(struct log_answer *a, const char *bytes, size_t n)
{
    const size_t at = answered_at(a);
    a->end = log_end_read(bytes, at, n);
    if (a->end == LOG_SURVIVED && !a->is_text && a->found.form->verdict == VERDICT_HOST)
        a->end = LOG_GOES_ON;                        /* the host's next program may write to the same log */
    if (!log_end_line(bytes, at, n, a->last_line, sizeof a->last_line))
        a->last_line[0] = '\0';
    log_later_read(bytes, n, at, a->end == LOG_SURVIVED, &a->later);
}

/* The card of a Jetson has no memory of its own: whatever says that it is full says that the machine is. */
static void take_shared_memory(struct log_answer *a)
{
    const enum verdict_kind v = a->found.verdict;
    if (a->facts.platform == PLATFORM_JETSON &&
        (v == VERDICT_FULL || v == VERDICT_LIBRARY || v == VERDICT_UNTOLD || v == VERDICT_SOMEBODY_ELSE))
        a->found.verdict = VERDICT_HOST;
}

/* An error that tells no figures leaves open who filled the card. A table beside it does not. */
static void take_table(struct log_answer *a, const char *bytes, size_t n)
{
    const enum verdict_kind v = a->found.verdict;
    if (v != VERDICT_LIBRARY && v != VERDICT_UNTOLD && v != VERDICT_SOMEBODY_ELSE)
        return;
    smi_table_read(bytes, n, a->found.at, &a->table, &a->held);
    if (a->held.holder == CARD_HOLDER_OTHERS)
        a->found.verdict = VERDICT_SOMEBODY_ELSE;
}

/* An error of the driver may be of any library. */
static bool is_of_driver(const struct log_form *f)
{
    return strcmp(f->stack, "cuda") == 0 && f->verdict != VERDICT_HOST;
}

/* Of XLA's errors some have their sizes in letters of its own: "21.95G". */
static void take_xla(struct log_answer *a, const char *bytes, size_t n)
{
    struct log_figures *f = &a->found.figures;
    log_xla_read(bytes, n, a->found.at, &a->xla);
    if (f->asked == OOM_TEXT_UNKNOWN)
        f->asked = a->xla.used != OOM_TEXT_UNKNOWN ? a->xla.used : a->xla.asked;
    if (f->free == OOM_TEXT_UNKNOWN)
        f->free = a->xla.free;
    if (f->total == OOM_TEXT_UNKNOWN)
        f->total = a->xla.capacity;
}

static bool is_of_ggml(const struct log_form *f)
{
    return strcmp(f->stack, "llama.cpp") == 0 || strcmp(f->stack, "ollama") == 0;
}

/* Whether two figures' verdicts send their reader the same way: "full or fragmented" is one of both. */
static bool is_same_cause(enum verdict_kind a, enum verdict_kind b)
{
    const bool is_either = a == VERDICT_FULL_OR_FRAGMENTED || b == VERDICT_FULL_OR_FRAGMENTED;
    const enum verdict_kind other = a == VERDICT_FULL_OR_FRAGMENTED ? b : a;
    return a == b || (is_either && (other == VERDICT_FULL || other == VERDICT_FRAGMENTED));
}

/* Ranks of one run may die of different causes, and only one is answered. */
static void take_other(struct log_answer *a, const struct oom_deaths *d, uint64_t dropped)
{
    const enum verdict_kind own = log_answer_verdict(a);
    for (size_t i = 0; i < d->n && a->other.line == 0; i++) {
        const enum verdict_kind verdict = oom_answer_of(&d->at[i], &a->facts).verdict;
        if (d->at[i].line == a->text.line || is_same_cause(own, verdict))
            continue;
        a->other = d->at[i];
        a->other.line += dropped;
        a->other_verdict = verdict;
    }
}

static void take_mention(struct log_answer *a, const struct log_forms_walk *w)
{
    if (w->mention == NULL)
        return;
    a->mention = w->mention->phrase;
    a->mention_line = 1;
    for (size_t i = 0; i < w->mention_at; i++)
        a->mention_line += w->text[i] == '\n';
    log_later_read(w->text, w->n, 0, true, &a->later);
}

/* Which library asked the driver. Of one that PyTorch would leave memory to, only whether JAX called it, which cannot
 * leave it any. */
static const struct log_caller *find_caller(const struct log_answer *a, const char *bytes, size_t n)
{
    const bool is_of_torch = a->found.form->lever[0] == '@';
    if (!is_of_driver(a->found.form) && !is_of_torch)
        return NULL;
    const struct log_caller *caller = log_facts_caller(bytes, n, a->found.at);
    return is_of_driver(a->found.form) || (caller != NULL && strcmp(caller->stack, "jax") == 0) ? caller : NULL;
}

static void read_found(struct log_answer *a, const struct log_walk *w, bool has_text, size_t n)
{
    const char *bytes = w->forms.text;
    choose(a, w, has_text);
    choose_later(a, w);
    a->facts.is_loading = log_is_loading(bytes, answered_at(a));
    if (!log_own_line(bytes, answered_at(a), a->own_line, sizeof a->own_line))
        a->own_line[0] = '\0';
    if (!a->is_text)
        a->caller = find_caller(a, bytes, n);
    if (!a->is_text && is_of_ggml(a->found.form) && a->found.form->verdict != VERDICT_HOST)
        a->backend = log_facts_backend(bytes, n, a->found.at);
    if (!a->is_text && (strcmp(a->found.form->stack, "jax") == 0 || strcmp(a->found.form->stack, "tensorflow") == 0))
        take_xla(a, bytes, n);
    if (!a->is_text)
        take_table(a, bytes, n);
    read_end(a, bytes, n);
}

void log_answer_read(char *bytes, size_t n, uint64_t dropped, enum platform system, struct log_answer *out)
{
    struct log_walk w;
    struct log_dress dress;
    *out = (struct log_answer){ .is_found = false };
    n = log_clean(bytes, n, &dress);
    struct oom_deaths deaths;
    const bool has_text = oom_text_find_deaths(bytes, n, &out->text, &deaths);
    out->is_plain = memchr(bytes, '\0', n) == NULL;
    log_walk(bytes, out->is_plain ? n : 0, &w);
    if (!has_text)
        log_forms_take_loose(&w.forms);
    out->is_found = has_text || w.forms.best != NULL;
    out->facts = log_facts_of(&w.facts);
    out->facts.is_container = out->facts.is_container || dress.is_docker;
    out->killed = w.forms.killed;
    if (out->is_found)
        read_found(out, &w, has_text, n);
    else
        take_mention(out, &w.forms);
    if (out->found.form != NULL)
        take_form_platform(out);
    if (dress.is_utf16 && out->facts.platform == PLATFORM_UNKNOWN)
        log_facts_guess_windows(&out->facts);
    if (system != PLATFORM_UNKNOWN)
        log_facts_set_platform(&out->facts, system);
    if (out->found.form != NULL)
        take_shared_memory(out);
    if (out->is_text)
        take_other(out, &deaths, dropped);
    out->text.line += out->text.line > 0 ? dropped : 0;
    out->found.line += dropped;
    out->mention_line += dropped;
}

void log_answer_mention(const struct log_answer *a, char *out, size_t room)
{
    out[0] = '\0';
    if (a->mention == NULL)
        return;
    const int n = snprintf(out, room, "speaks of \"%s\" (line %" PRIu64 "), but is no error of a program: no line "
                           "of it is one as a program writes it. ", a->mention, a->mention_line);
    if (n < 0 || (size_t)n >= room)
        return;
    if (a->later.other[0] != '\0')
        snprintf(out + n, room - (size_t)n, "It ends with another error, which memory has no part in: %s",
                 a->later.other);
    else
        snprintf(out + n, room - (size_t)n, "Give the whole log of the run");
}

enum verdict_kind log_answer_verdict(const struct log_answer *a)
{
    return a->is_text ? oom_answer_of(&a->text, &a->facts).verdict : a->found.verdict;
}

/* A framework's log holds texts of what it stands on; texts of the host and of a serving engine are their own. */
static bool is_of_framework(const struct log_form *f)
{
    static const char *const below[] = { "pytorch", "cuda", "hip", "cublas", "cudnn", "nccl", "llama.cpp" };
    for (size_t i = 0; i < sizeof below / sizeof below[0]; i++)
        if (strcmp(f->stack, below[i]) == 0)
            return f->verdict != VERDICT_HOST && f->verdict != VERDICT_SHARED_MEMORY;
    return false;
}

const char *log_answer_stack(const struct log_answer *a)
{
    if (!a->is_text && a->caller != NULL && strcmp(a->caller->stack, "llama.cpp") != 0)
        return a->caller->stack;                     /* what stands on llama.cpp is a framework around it */
    if (a->facts.within != NULL && (a->is_text || is_of_framework(a->found.form)))
        return a->facts.within;
    return a->is_text ? "pytorch" : a->found.form->stack;
}

bool log_answer_is_survived(const struct log_answer *a)
{
    return a->is_found && a->end == LOG_SURVIVED;
}

int log_answer_rank(const struct log_answer *a)
{
    if (!a->is_found)
        return 0;
    return a->is_text ? TEXT_RANK : a->found.form->rank > 0 ? a->found.form->rank : 1;
}

unsigned log_answer_fullness(const struct log_answer *a)
{
    const struct oom_text *t = &a->text;
    return a->is_text && t->total > 0 ? (unsigned)((double)(t->total - (t->free < t->total ? t->free :
        t->total)) * 1000 /
                                                   (double)t->total) : 0;
}
