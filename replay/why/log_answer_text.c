/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/* What was read of a log (log_answer.c), for a terminal and as JSON. */
#include "replay/why/log_answer.h"

#include "base/units.h"
#include "replay/why/card_tools.h"
#include "replay/why/oom_answer.h"

#include <inttypes.h>
#include <string.h>

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
    add_figure(&w, f->others, "held by other parts of the program, such as Metal's graphs");
    add_figure(&w, f->free, "free");
    add_figure(&w, f->allowed, "allowed");
    add_figure(&w, f->total, "in all");
    if (f->tokens != OOM_TEXT_UNKNOWN)
        words_add(&w, "%s %" PRIu64 " tokens are the longest that fits", w.n == 0 ? "- In the text:" : ",", f->tokens);
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
        return "One tensor: a single request exceeds what the card could ever give. No allocator setting "
               "serves that.";
    case VERDICT_HOST_LENT:
        return "The card was full long before: more is allocated than it has. The system lends memory of the host, "
               "which is slow and also runs out.";
    case VERDICT_LIMITED:
        return "A limit refused it: what is allocated and what was asked for exceed what is allowed.";
    case VERDICT_CARD_HAD_ROOM:
        return "The card had room, and the text does not tell why the request was refused.";
    case VERDICT_BROKEN_SIZE:
        return "The size is broken, not the memory: no request has so many bytes.";
    case VERDICT_HOST:
        return "The machine's memory is full: a Jetson's card shares it with the host.";
    case VERDICT_SOMEBODY_ELSE:
        return "Somebody else holds the card, as the table in the log shows: see below.";
    case VERDICT_FRAGMENTED:
        return "Fragmented: much of what PyTorch reserved is free, but live blocks keep its segments.";
    default:
        return "Really full: live data and the request exceed the card.";
    }
}

/* The line for a library that was refused: PyTorch leaves it room. */
static void print_leave(FILE *out, enum platform p)
{
    card_tools_print_advice(out, p, "If another process fills the card, that is the cause, and the line does not help: "
                                    "nvidia-smi tells. Then choose another card with CUDA_VISIBLE_DEVICES. Otherwise "
                                    "PyTorch keeps freed memory for itself. It gives it back when one of its own "
                                    "requests is refused, not when a library's is. With the line it leaves a tenth of "
                                    "the card to others, and gives back before it takes more. "
                                    "torch.cuda.empty_cache() before that call gives back once.");
}

/* PyTorch can leave memory to what asks the driver beside it, in the same program and on a card of its own. */
static bool may_leave(const struct log_answer *a)
{
    return a->found.form->lever[0] == '@' && a->found.verdict == a->found.form->verdict &&
           (a->caller == NULL || a->caller->is_in_torch);
}

static void print_lever(FILE *out, const struct log_answer *a)
{
    const char *why, *lever = a->found.form->lever;
    if (lever[0] == '@')
        lever = !may_leave(a) ? "" : "torch.cuda.set_per_process_memory_fraction(0.9)  # at the program's start";
    if (lever[0] != '\0' && a->found.verdict == a->found.form->verdict)
        fprintf(out, "\n  %s\n", lever);
    if (a->found.verdict == VERDICT_FRAGMENTED && platform_has_setting(a->facts.platform, "expandable_segments",
        &why) &&
        !a->facts.is_expandable_asked) {
        fputc('\n', out);
        platform_put_setting(out, a->facts.shell, platform_variable(a->facts.platform), "expandable_segments:True",
            "  ");
        fputc('\n', out);
    }
    fputc('\n', out);
}

static void print_where(FILE *out, const struct log_answer *a)
{
    struct words w = { .n = 0 };
    words_add(&w, "- This is a text");
    if (strcmp(a->found.form->stack, "unknown") != 0)
        words_add(&w, " of %s", a->found.form->stack);
    words_add(&w, ", in line %" PRIu64, a->found.line);
    if (a->found.n_errors > 1)
        words_add(&w, ". %" PRIu64 " lines of the log speak of memory, and this one tells most", a->found.n_errors);
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
    const char *recorder = oom_answer_recorder(a->facts.platform, a->facts.shell, false);
    struct words w = { .n = 0 };
    if (oom_answer_print_recording(out, &a->facts))
        return;
    if (recorder == NULL || (a->caller != NULL && !a->caller->is_in_torch) ||
        (a->found.form->lever[0] != '@' && !a->facts.has_torch))
        return;
    if (v != VERDICT_LIBRARY && v != VERDICT_WORKSPACE &&
        (v != VERDICT_UNTOLD || strcmp(a->found.form->stack, "pytorch") != 0))
        return;
    words_add(&w, "- %s", a->found.figures.allocated == OOM_TEXT_UNKNOWN
                          ? "The text does not tell how much PyTorch held. A recording does, and which setting "
                            "needs less"
                          : "A recording tells whose lines hold the memory, and which setting needs less");
    if (a->facts.is_async)
        words_add(&w, ", but backend:cudaMallocAsync keeps none. Start first with PyTorch's own allocator (ComfyUI: "
                      "--disable-cuda-malloc), then record");
    words_add(&w, ": %s", recorder);
    words_print_screen(out, &w);
}

/* Options of llama.cpp are none of the programs that stand on it, which have their own. */
static bool is_advised_within(const struct log_answer *a)
{
    return strcmp(a->found.form->stack, "llama.cpp") == 0 && a->facts.within_advice != NULL &&
           strcmp(log_answer_stack(a), a->found.form->stack) != 0;
}

static void print_advice(FILE *out, const struct log_answer *a)
{
    const enum platform p = a->facts.platform;
    log_xla_print(out, &a->xla);
    if (!is_advised_within(a))
        card_tools_print_advice(out, p, a->found.form->advice);
    card_tools_print_advice(out, p, a->backend);
    if (a->caller != NULL)
        card_tools_print_advice(out, p, a->caller->advice);
    if (p == PLATFORM_JETSON && a->found.verdict == VERDICT_HOST && strcmp(a->found.form->stack, "nvidia-driver") != 0)
        text_print_screen(out, "- Close what else runs, add swap for the host's part, or use a smaller model. "
                               "tegrastats shows both.");
}

static void print_killed(FILE *out, const struct log_answer *a)
{
    struct words w = { .n = 0 };
    if (a->killed.name[0] == '\0')
        return;
    words_add(&w, "- The kernel killed %s (process %" PRIu64 "), because the host's memory was full. No program that "
                  "computes on a card is called like that", a->killed.name, a->killed.id);
    words_add(&w, a->is_text || a->found.form->rank > 1 ? ", and it is another matter than the error above."
                                                        : ". If it is yours, hold less memory of the host there.");
    words_print_screen(out, &w);
}

/* Under backend:cudaMallocAsync: who filled the card is not told, but that it was full may be. */
static void add_fullness(struct words *w, const struct log_answer *a)
{
    enum { SCRAP_SHARE = 20 };
    char b[UNITS_TEXT], c[UNITS_TEXT];
    const struct log_figures *f = &a->found.figures;
    if (!a->facts.is_async || a->found.verdict != VERDICT_UNTOLD || f->asked == OOM_TEXT_UNKNOWN || f->free >= f->asked)
        return;
    words_add(w, " %s: %s were asked for, and %s were free.",
              f->total != OOM_TEXT_UNKNOWN && f->free <= f->total / SCRAP_SHARE ? "The card was full"
                                                                                : "Too little was free",
              units_format_bytes(f->asked, b), units_format_bytes(f->free, c));
}

/* "The card was full outside PyTorch": or outside the allocator of the library that called. */
static void add_sentence(struct words *w, const struct log_answer *a)
{
    static const char torch[] = "outside PyTorch";
    const char *sentence = sentence_of(&a->found), *at = strstr(sentence, torch);
    if (at == NULL || a->caller == NULL || strcmp(a->caller->stack, "jax") != 0)
        words_add(w, "%s", sentence);
    else
        words_add(w, "%.*soutside JAX's allocator%s", (int)(at - sentence), sentence, at + strlen(torch));
    add_fullness(w, a);
}

static void print_form(FILE *out, const struct log_answer *a)
{
    struct words first = { .n = 0 };
    add_sentence(&first, a);
    words_print_screen(out, &first);
    print_lever(out, a);
    print_figures(out, &a->found.figures);
    smi_table_print(out, &a->table, &a->held, a->facts.platform);
    if (may_leave(a))
        print_leave(out, a->facts.platform);
    print_advice(out, a);
    if (a->found.verdict == VERDICT_ONE_TENSOR && a->own_line[0] != '\0') {
        struct words w = { .n = 0 };
        words_add(&w, "- It was asked for at %s", a->own_line);
        words_print_screen(out, &w);
    }
    if (a->facts.shared != NULL && a->found.verdict != VERDICT_KERNEL)
        oom_answer_print_shared(out, a->facts.shared, a->facts.platform);
    if (strcmp(log_answer_stack(a), a->found.form->stack) != 0 && a->found.verdict != VERDICT_NOT_IN_FORCE)
        card_tools_print_advice(out, a->facts.platform, a->facts.within_advice);
    print_killed(out, a);
    if (a->facts.is_guess)
        oom_answer_print_guess(out);
    print_where(out, a);
    print_lacks(out, &a->text);
    print_next(out, a);
}

/* How many such errors the log holds, which the program survived. */
static uint64_t count_errors(const struct log_answer *a)
{
    return a->is_text && a->text.n_errors > 0 ? a->text.n_errors : 1;
}

static void add_survived(struct words *w, const struct log_answer *a)
{
    const uint64_t n = count_errors(a);
    words_add(w, "The error in line %" PRIu64 " was survived: the log goes on after it, and ends with \"%s\". ",
              a->is_text ? a->text.line : a->found.line, a->last_line);
    if (n > 1)
        words_add(w, "The log holds %" PRIu64 " such errors. Each cost ", n);
    else
        words_add(w, "It cost ");
    words_add(w, "at least the work that it broke off, such as a batch, a trial or a faster kernel. Why it was "
                 "refused:");
}

/* "No error: ..." of the table: nothing was survived, because nothing failed. */
static bool is_no_error(const struct log_answer *a)
{
    static const char words[] = "No error:";
    return !a->is_text && strncmp(a->found.form->says, words, strlen(words)) == 0;
}

/* What the log says after the error comes first: it decides whether the rest is an answer to anything. */
static void print_end(FILE *out, const struct log_answer *a)
{
    struct words w = { .n = 0 };
    if (is_no_error(a) && a->later.other[0] == '\0')
        return;
    if (a->later.other[0] != '\0')
        words_add(&w, "The log ends with another error: %s. %s what follows:", a->later.other,
                  a->end == LOG_SURVIVED ? "The program survived"
                                         : "If that one ended the run, the program survived");
    else if (a->end == LOG_SURVIVED)
        add_survived(&w, a);
    else if (a->end == LOG_GOES_ON)
        words_add(&w, "The log goes on after the error in line %" PRIu64 ", up to \"%s\". Either the program survived "
                      "it, or these lines were kept back and written late; the log does not tell. Why it was refused:",
                  a->is_text ? a->text.line : a->found.line, a->last_line);
    if (w.n == 0)
        return;
    words_print_screen(out, &w);
    fputc('\n', out);
}

static void print_consequence(FILE *out, const struct log_answer *a)
{
    struct words w = { .n = 0 };
    if (a->later.of_it[0] == '\0')
        return;
    words_add(&w, "- What the log names after it came of it, of its handling, or of a process that lost it: %s.",
              a->later.of_it);
    words_print_screen(out, &w);
}

static void print_other(FILE *out, const struct log_answer *a)
{
    struct words w = { .n = 0 };
    if (a->other.line == 0)
        return;
    words_add(&w, "- Another error has another cause: in line %" PRIu64, a->other.line);
    if (a->other.rank >= 0)
        words_add(&w, ", of rank %" PRId64, a->other.rank);
    words_add(&w, ", GPU %u: %s. Given alone, it is answered, too.", a->other.gpu, why_word(a->other_verdict));
    words_print_screen(out, &w);
}

void log_answer_print(FILE *out, const struct log_answer *a)
{
    print_end(out, a);
    if (!a->is_text) {
        print_form(out, a);
        print_consequence(out, a);
        return;
    }
    oom_answer_print(out, &a->text, &a->facts, a->own_line[0] == '\0' ? NULL : a->own_line);
    print_other(out, a);
    print_consequence(out, a);
    print_killed(out, a);
}

/* ---- JSON ---- */

static const char *end_word(const struct log_answer *a)
{
    return a->later.other[0] != '\0'   ? "another-error"
           : a->end == LOG_SURVIVED    ? "survived"
           : a->end == LOG_GOES_ON     ? "goes-on"
                                       : "here";
}

static bool is_library(const struct log_answer *a)
{
    return a->found.verdict == VERDICT_LIBRARY || a->found.verdict == VERDICT_WORKSPACE;
}

static void why_text_json(struct json_writer *json, const struct log_answer *log)
{
    const struct oom_text *t = &log->text;
    const struct oom_answer a = oom_answer_of(t, &log->facts);
#define ANSWER_TABLE "answers/why_text.def"
#include "answers/as_json.def"
}

static void why_words_json(struct json_writer *json, const struct log_answer *a)
{
    const struct log_found *f = &a->found;
    const char *ignored;
    const bool has_setting = f->verdict == VERDICT_FRAGMENTED && !a->facts.is_expandable_asked &&
                             platform_has_setting(a->facts.platform, "expandable_segments", &ignored);
#define ANSWER_TABLE "answers/why_words.def"
#include "answers/as_json.def"
}

void why_log_json(struct json_writer *json, const struct log_answer *a)
{
#define ANSWER_TABLE "answers/why_log.def"
#include "answers/as_json.def"
}
