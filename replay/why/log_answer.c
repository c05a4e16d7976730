/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
#include "replay/why/log_answer.h"

#include "base/units.h"
#include "replay/why/log_clean.h"
#include "replay/why/oom_answer.h"

#include <ctype.h>
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

enum { LATER_SHOWN = 160 };

/* "KeyError: 'x'", "json.decoder.JSONDecodeError: ...": a Python error, and neither of memory nor of a launcher that
 * only passes one on. */
static bool is_other_error(const char *line)
{
    static const char *const parts[] = { "memory", "Memory", "CUDA", "ChildFailed", "CalledProcess", "ProcessRaised",
                                         "ProcessExited", "Engine", "WorkerProc", "SystemExit" };
    size_t name = 0;
    while (line[name] != '\0' && (isalnum((unsigned char)line[name]) || line[name] == '.' || line[name] == '_'))
        name++;
    const bool is_named = (name > 5 && memcmp(line + name - 5, "Error", 5) == 0) ||
                          (name > 9 && memcmp(line + name - 9, "Exception", 9) == 0);
    if (!is_named || (line[name] != '\0' && line[name] != ':'))
        return false;
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++)
        if (strstr(line, parts[i]) != NULL)
            return false;
    return true;
}

/* The last such line after the one that begins at or holds `at`. */
static void find_later_error(const char *bytes, size_t n, size_t at, char out[LOG_OWN_LINE])
{
    out[0] = '\0';
    for (const char *line = memchr(bytes + at, '\n', n - at), *end = bytes + n; line != NULL && ++line < end;) {
        const char *stop = memchr(line, '\n', (size_t)(end - line));
        const size_t length = (size_t)((stop == NULL ? end : stop) - line);
        char text[LATER_SHOWN];
        snprintf(text, sizeof text, "%.*s", (int)(length < sizeof text ? length : sizeof text), line);
        if (is_other_error(text))
            snprintf(out, LOG_OWN_LINE, "%s", text);
        line = stop;
    }
}

void log_answer_read(char *bytes, size_t n, uint64_t dropped, enum platform system, struct log_answer *out)
{
    *out = (struct log_answer){ .is_found = false };
    n = log_clean(bytes, n);
    const bool has_text = oom_text_find(bytes, n, &out->text);
    const bool has_form = memchr(bytes, '\0', n) == NULL && log_forms_find(bytes, n, &out->found);
    const bool is_later = has_form && out->found.form->rank >= TEXT_RANK && is_after(&out->found, &out->text);
    out->is_found = has_text || has_form;
    out->is_text = has_text && !is_later;
    out->facts = log_facts_read(bytes, n);
    if (has_form)
        take_form_platform(out);
    if (system != PLATFORM_UNKNOWN)
        log_facts_set_platform(&out->facts, system);
    if (!log_own_line(bytes, out->is_text ? out->text.at : out->found.at, out->own_line, sizeof out->own_line))
        out->own_line[0] = '\0';
    if (out->is_found)
        find_later_error(bytes, n, out->is_text ? out->text.at : out->found.at, out->later);
    out->text.line += out->text.line > 0 ? dropped : 0;
    out->found.line += dropped;
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
    if (a->facts.within != NULL && (a->is_text || is_of_framework(a->found.form)))
        return a->facts.within;
    return a->is_text ? "pytorch" : a->found.form->stack;
}

int log_answer_rank(const struct log_answer *a)
{
    return !a->is_found ? 0 : a->is_text ? TEXT_RANK : a->found.form->rank;
}

unsigned log_answer_fullness(const struct log_answer *a)
{
    const struct oom_text *t = &a->text;
    return a->is_text && t->total > 0 ? (unsigned)((double)(t->total - (t->free < t->total ? t->free :
        t->total)) * 1000 /
                                                   (double)t->total) : 0;
}

/* ---- words ---- */

static void add_figure(struct words *w, uint64_t bytes, const char *what)
{
    char b[UNITS_TEXT];
    if (bytes != OOM_TEXT_UNKNOWN)
        words_add(w, "%s%s %s", w->n == 0 ? "- In the text: " : ", ", units_format_bytes(bytes, b), what);
}

static void print_figures(FILE *out, const struct log_figures *f)
{
    struct words w = { .n = 0 };
    add_figure(&w, f->asked, "asked for");
    add_figure(&w, f->allocated, "allocated");
    add_figure(&w, f->reserved, "reserved");
    add_figure(&w, f->pinned, "free but not releasable");
    add_figure(&w, f->others, "held by others");
    add_figure(&w, f->free, "free");
    add_figure(&w, f->allowed, "allowed");
    add_figure(&w, f->total, "in all");
    if (w.n == 0)
        return;
    words_add(&w, ".");
    words_print_screen(out, &w);
}

/* What figures make of a form: its own sentence says less then. NULL: the form's. */
static const char *sentence_of(const struct log_found *f)
{
    if (f->verdict == f->form->verdict)
        return f->form->says;
    switch (f->verdict) {
    case VERDICT_ONE_TENSOR:
        return "One tensor: a single request exceeds what the card could ever give. No setting serves that.";
    case VERDICT_HOST_LENT:
        return "The card was full long before: more is allocated than it has. The system lends memory of the host, "
               "which is slow and ends, too.";
    case VERDICT_LIMITED:
        return "A limit refused it: what is allocated and what was asked for exceed what is allowed.";
    case VERDICT_CARD_HAD_ROOM:
        return "The card had room, and the text does not tell why the request was refused.";
    case VERDICT_BROKEN_SIZE:
        return "The size is broken, not the memory: no request has so many bytes.";
    case VERDICT_FRAGMENTED:
        return "Fragmented: much of what PyTorch reserved is free, but live blocks keep its segments.";
    default:
        return "Really full: live data and the request exceed the card.";
    }
}

/* The line for a library that was refused: PyTorch leaves it room. */
static void print_leave(FILE *out)
{
    text_print_screen(out, "- If another process fills the card, that is the cause, and the line does not help: "
                           "nvidia-smi tells; choose another card with CUDA_VISIBLE_DEVICES. Otherwise PyTorch "
                           "keeps freed memory for itself. It gives it back when one of its own requests is "
                           "refused, not when a library's is. With the line it leaves a tenth of the card to "
                           "others, and gives back before it takes more. torch.cuda.empty_cache() before that call "
                           "gives back once.");
}

static void print_lever(FILE *out, const struct log_answer *a)
{
    const char *err, *lever = a->found.form->lever;
    if (lever[0] == '@')
        lever = "torch.cuda.set_per_process_memory_fraction(0.9)  # at the program's start";
    if (lever[0] != '\0' && a->found.verdict == a->found.form->verdict)
        fprintf(out, "\n  %s\n", lever);
    if (a->found.verdict == VERDICT_FRAGMENTED && platform_has_setting(a->facts.platform, "expandable_segments",
        &err) &&
        !a->facts.is_expandable_asked) {
        fputc('\n', out);
        platform_put_setting(out, a->facts.shell, platform_variable(a->facts.platform), "expandable_segments:True",
            "  ");
        fputc('\n', out);
    }
    fputc('\n', out);
}

static void print_paragraph(FILE *out, const char *text)
{
    struct words w = { .n = 0 };
    if (text == NULL || text[0] == '\0')
        return;
    words_add(&w, "- %s", text);
    words_print_screen(out, &w);
}

static void print_where(FILE *out, const struct log_answer *a)
{
    struct words w = { .n = 0 };
    words_add(&w, "- This is a text of %s, in line %" PRIu64, a->found.form->stack, a->found.line);
    if (a->found.n_errors > 1)
        words_add(&w, "; of %" PRIu64 " such words the one that tells most and stands last", a->found.n_errors);
    if (a->text.n_errors > 0)
        words_add(&w, ". The OutOfMemoryErrors of PyTorch before it were survived, or led to it: %" PRIu64,
                  a->text.n_errors);
    words_add(&w, ".");
    words_print_screen(out, &w);
}

/* What PyTorch's own text lacks, if it is the one that was cut. */
static void print_lacks(FILE *out, const struct oom_text *t)
{
    struct words w = { .n = 0 };
    if (t->line == 0 || oom_text_lacks(t) == NULL)
        return;
    words_add(&w, "- The OutOfMemoryError in line %" PRIu64 " lacks %s%s.", t->line, oom_text_lacks(t),
              t->total == OOM_TEXT_UNKNOWN ? " (as it does on GPU 0 in PyTorch 2.3)" : "");
    words_print_screen(out, &w);
}

/* A recording helps where PyTorch's requests are the story. */
static void print_next(FILE *out, const struct log_answer *a)
{
    const enum verdict_kind v = a->found.verdict;
    if (v == VERDICT_LIBRARY || v == VERDICT_WORKSPACE || (v == VERDICT_UNTOLD && strcmp(a->found.form->stack,
        "pytorch") == 0))
        text_print_screen(out, "- The text does not tell how much PyTorch held. A recording does, and which setting "
                               "needs less: replay record --torch -o trace.zst -- python YOUR_PROGRAM, then replay "
                               "why.");
}

static void print_form(FILE *out, const struct log_answer *a)
{
    struct words first = { .n = 0 };
    words_add(&first, "%s", sentence_of(&a->found));
    words_print_screen(out, &first);
    print_lever(out, a);
    print_figures(out, &a->found.figures);
    if (a->found.form->lever[0] == '@')
        print_leave(out);
    print_paragraph(out, a->found.form->advice);
    if (a->found.verdict == VERDICT_ONE_TENSOR && a->own_line[0] != '\0') {
        struct words w = { .n = 0 };
        words_add(&w, "- It was asked for at %s", a->own_line);
        words_print_screen(out, &w);
    }
    if (a->facts.shared != NULL && a->found.verdict != VERDICT_KERNEL)
        oom_answer_print_shared(out, a->facts.shared);
    if (strcmp(log_answer_stack(a), a->found.form->stack) != 0)
        print_paragraph(out, a->facts.within_advice);
    print_where(out, a);
    print_lacks(out, &a->text);
    print_next(out, a);
}

void log_answer_print(FILE *out, const struct log_answer *a)
{
    if (a->later[0] != '\0') {
        struct words w = { .n = 0 };
        words_add(&w, "The log ends with another error: %s. If that one ended the run, the program survived what "
                      "follows:", a->later);
        words_print_screen(out, &w);
        fputc('\n', out);
    }
    if (!a->is_text) {
        print_form(out, a);
        return;
    }
    oom_answer_print(out, &a->text, &a->facts, a->own_line[0] == '\0' ? NULL : a->own_line);
    print_paragraph(out, a->facts.within_advice);
}

/* ---- JSON ---- */

static void put_figure(struct json_writer *j, const char *key, uint64_t bytes)
{
    json_put_number_unless(j, key, bytes, OOM_TEXT_UNKNOWN);
}

static void json_form(struct json_writer *j, const struct log_answer *a)
{
    const struct log_found *f = &a->found;
    const bool is_library = f->verdict == VERDICT_LIBRARY || f->verdict == VERDICT_WORKSPACE;
    const char *ignored;
    const bool has_setting = f->verdict == VERDICT_FRAGMENTED && !a->facts.is_expandable_asked &&
                             platform_has_setting(a->facts.platform, "expandable_segments", &ignored);
    json_put_text(j, "verdict", why_word(f->verdict));
    json_put_object(j, is_library ? "library" : "words");
    json_put_text(j, "name", f->form->stack);
    json_put_text(j, "phrase", f->form->phrase);
    json_put_text(j, "stack", log_answer_stack(a));
    json_put_text(j, "platform", platform_word(a->facts.platform));
    json_put_number(j, "line", f->line);
    put_figure(j, "asked_bytes", f->figures.asked);
    put_figure(j, "card_bytes", f->figures.total);
    put_figure(j, "free_bytes", f->figures.free);
    put_figure(j, "allowed_bytes", f->figures.allowed);
    put_figure(j, "allocated_bytes", f->figures.allocated);
    json_put_text(j, "setting", has_setting ? "expandable_segments:True" : NULL);
    json_end_object(j);
}

void log_answer_json(struct json_writer *j, const struct log_answer *a)
{
    if (a->is_text)
        oom_answer_json(j, &a->text, &a->facts);
    else
        json_form(j, a);
}
