/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
#include "replay/why/log_forms.h"

#include "base/shown.h"
#include "base/units.h"
#include "replay/why/log_letters.h"
#include "replay/why/log_loose.h"
#include "replay/why/log_mention.h"
#include "replay/why/log_phrases.h"
#include "sim/card_context.h"

#include <stdio.h>
#include <stdlib.h>
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

enum side { BEFORE, AFTER, GIB_AFTER };

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
                                 OOM_TEXT_UNKNOWN, OOM_TEXT_UNKNOWN, OOM_TEXT_UNKNOWN, OOM_TEXT_UNKNOWN,
                                 OOM_TEXT_UNKNOWN };
}

/* "Total GPU memory (GiB): 23.64": the unit is part of the words. */
static uint64_t read_gib_after(const char *one, const char *words)
{
    const char *at;
    char *end;
    if (letters_find(one, words, &at) == NULL || *at < '0' || *at > '9')
        return OOM_TEXT_UNKNOWN;
    const double gib = strtod(at, &end);
    return gib < 1e6 ? (uint64_t)(gib * GIB) : OOM_TEXT_UNKNOWN;
}

/* Some stacks write bytes without their unit. */
static uint64_t read_figure(const char *one, size_t i)
{
    if (figures[i].side == GIB_AFTER)
        return read_gib_after(one, figures[i].words);
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
            if (bytes != OOM_TEXT_UNKNOWN)
                memcpy((char *)&f + figures[i].member, &bytes, sizeof bytes);
        }
    if (!oom_text_is_card(f.total))
        f.total = OOM_TEXT_UNKNOWN;                  /* the figure is misread, or is none */
    if (f.allowed != OOM_TEXT_UNKNOWN && f.allowed > UINT64_C(1) << 50)
        f.allowed = OOM_TEXT_UNKNOWN;                /* PyTorch writes a huge number for "no limit" */
    return f;
}

/* ---- the verdict ---- */

static bool is_known(uint64_t bytes)
{
    return bytes != OOM_TEXT_UNKNOWN;
}

/* Of the pool of cudaMallocAsync the text tells what is allocated, not what is cached: only the extremes are told. Each
 * program has a context on the card, too. */
static enum verdict_kind judge_async(const struct log_figures *f)
{
    const uint64_t least_context = 128 * MIB;
    if (!is_known(f->total) || !is_known(f->asked) || !is_known(f->allocated))
        return VERDICT_UNTOLD;
    if (f->allocated > f->total)
        return VERDICT_HOST_LENT;
    if (add_capped(f->asked, least_context) > f->total - f->allocated && !(is_known(f->free) && f->free >= f->asked))
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
    if (form == FORM_PADDLE || form == FORM_PADDLE_DEVICE)
        return judge_paddle(f);
    if (form == FORM_TORCH_SUMMARY)
        return judge_summary(f);
    if (form == FORM_HSA && is_known(f->free) && f->free > GIB)
        return VERDICT_CARD_HAD_ROOM;                /* its queue needs far less of the card */
    if (forms[form].verdict == VERDICT_FULL && is_known(f->total) && is_known(f->allocated) && f->allocated > f->total)
        return VERDICT_HOST_LENT;
    if (forms[form].verdict == VERDICT_FULL && is_known(f->allowed) && is_known(f->allocated) && is_known(f->asked) &&
        add_capped(f->allocated, f->asked) > f->allowed)
        return VERDICT_LIMITED;
    return forms[form].verdict;
}

/* ---- the walk ---- */

size_t log_forms_count(void)
{
    return N_FORMS;
}

const char *log_forms_phrase(size_t i)
{
    return forms[i].phrase;
}

static bool has_near(const struct log_forms_walk *w, const struct log_form *form, size_t at)
{
    const size_t from = at > NEAR_REACH ? at - NEAR_REACH : 0;
    if (form->near[0] == '\0')
        return true;
    for (size_t i = from; i < at; i++)
        if (log_phrase_is(w->text, w->n, i, form->near))
            return true;
    return false;
}

/* Figures follow an error's words after a sign; words without figures may be anybody's. */
static bool has_figure_after(const struct log_forms_walk *w, size_t end)
{
    enum { REACH = 48 };
    if (end == w->n || strchr(".:,(", w->text[end]) == NULL)
        return false;
    for (size_t i = end; i < w->n && i < end + REACH && w->text[i] != '\n'; i++)
        if (w->text[i] >= '0' && w->text[i] <= '9')
            return true;
    return false;
}

static bool is_any_at(const struct log_forms_walk *w, size_t at, size_t to, const char *const *words)
{
    for (; *words != NULL; words++)
        if (log_phrase_is(w->text, to, at, *words))
            return true;
    return false;
}

static bool line_holds(const struct log_forms_walk *w, size_t from, size_t to, const char *const *words)
{
    for (size_t i = from; i < to; i++)
        if (is_any_at(w, i, to, words))
            return true;
    return false;
}

/* Where the line of text[at], or a few before it, begin: an error's causes are listed below its name. */
static size_t lines_begin(const struct log_forms_walk *w, size_t at)
{
    enum { LINES = 4 };
    size_t begin = letters_line_begin(w->text, at);
    for (int i = 1; i < LINES && begin > 0; i++)
        begin = letters_line_begin(w->text, begin - 1);
    return begin;
}

/* Whether an error is named in text[begin, at). No place is looked at twice, because phrases come in the order of the
 * text. */
static bool is_error_named(struct log_forms_walk *w, size_t begin, size_t at)
{
    static const char *const names[] = { "rror", "ERROR", "atal", "FATAL", "xception", "terminat", "ailed", "ncaught",
                                         "(): ", NULL };
    enum { LONGEST = 64 };           /* a console may break a name, and put a prefix within */
    for (size_t i = w->looked > begin ? w->looked : begin; i < at; i++)
        if (is_any_at(w, i, at, names))
            w->name_end = i + 1;
    w->looked = at > LONGEST ? at - LONGEST : 0;
    return w->name_end > begin;
}

/* Words of nobody in particular count only where a program names an error, in their line or a few before, or says
 * what could not be allocated in words of memory, and only if they are not those of a mention. */
static bool is_named_error(struct log_forms_walk *w, const struct log_form *form, size_t at)
{
    static const char *const sizes[] = { "memory", "buffer", "bytes", "MiB", "GiB", " MB", " GB", NULL };
    enum { REACH = 40, LINE = 200 };
    size_t end = at;
    if (w->mention != NULL && at - w->mention_at < REACH)
        return false;
    while (end < w->n && end < at + LINE && w->text[end] != '\n')
        end++;
    return is_error_named(w, lines_begin(w, at), at) ||
           (strstr(form->phrase, " alloc") != NULL && line_holds(w, at, end, sizes));
}

static bool is_mention(const struct log_forms_walk *w, const struct log_form *form, size_t at)
{
    static const char words[] = "out of memory";
    const size_t n = strlen(form->phrase), end = at + n < w->n ? at + n : w->n;
    const bool is_message = n >= strlen(words) && strcmp(form->phrase + n - strlen(words) + 1, words + 1) == 0;
    const enum log_mention_test test = !is_message || form->rank == 0 ? LOG_MENTION_QUOTES
                                       : has_figure_after(w, end)     ? LOG_MENTION_LINE
                                                                      : LOG_MENTION_MESSAGE;
    return log_is_mention(w->text, w->n, at, end, test);
}

/* ---- whom the kernel killed ---- */

/* What programs that compute are called; every other process has nothing to do with them. */
static bool is_of_run(const char *name)
{
    static const char *const begins[] = { "python", "pt_", "ray", "vllm", "sglang", "torchrun", "accelerate",
                                          "deepspeed", "jupyter", "ipykernel", "ollama", "llama", "train", "julia",
                                          "VLLM", "Ray", "tritonserver", "trtexec", "comfy" };
    for (size_t i = 0; i < sizeof begins / sizeof begins[0]; i++)
        if (strncmp(name, begins[i], strlen(begins[i])) == 0)
            return true;
    return false;
}

/* "Killed process 7714 (chrome)" after text[at]. False: the line has no such words. */
static bool read_killed(const struct log_forms_walk *w, size_t at, struct log_killed *out)
{
    static const char words[] = "process ";
    char line[161];
    const size_t n = w->n - at < sizeof line ? w->n - at : sizeof line - 1;
    snprintf(line, sizeof line, "%.*s", (int)n, w->text + at);
    line[strcspn(line, "\n")] = '\0';
    char *id = strstr(line, words), *end;
    if (id == NULL)
        return false;
    out->id = strtoull(id + strlen(words), &end, 10);
    if (strncmp(end, " (", 2) != 0)
        return false;
    snprintf(out->name, sizeof out->name, "%.*s", (int)strcspn(end + 2, ")"), end + 2);
    shown_clean(out->name, false);
    return out->name[0] != '\0';
}

/* The kernel's lines name the process that it killed, which decides whose form it is. */
static const struct log_form *judge_killed(struct log_forms_walk *w, const struct log_form *form, size_t at)
{
    struct log_killed killed;
    if ((form != &forms[FORM_KERNEL] && form != &forms[FORM_KERNEL_CGROUP] && form != &forms[FORM_KERNEL_STRANGER]) ||
        !read_killed(w, at, &killed))
        return form;
    if (is_of_run(killed.name))
        return form == &forms[FORM_KERNEL_STRANGER] ? &forms[FORM_KERNEL] : form;
    w->killed = killed;
    return &forms[FORM_KERNEL_STRANGER];
}

/* ---- vLLM's share of the card ---- */

/* The number right after text[at], in hundredths; text ends at n. False: there is none. */
static bool read_hundredths(const char *text, size_t n, size_t at, int64_t *out)
{
    char digits[24], *end;
    snprintf(digits, sizeof digits, "%.*s", (int)(n - at < sizeof digits ? n - at : sizeof digits - 1), text + at);
    const double number = strtod(digits, &end);
    *out = (int64_t)(number * 100);
    return end != digits && number > -1e9 && number < 1e9;
}

/* The number after the last place of these words before `at`, not further than a start's log reaches back. */
static bool find_hundredths(const struct log_forms_walk *w, size_t at, const char *words, int64_t *out)
{
    enum { REACH = 65536 };
    for (size_t i = at, n = strlen(words); i > 0 && at - i < REACH; i--)
        if (w->text[i - 1] == words[0] && log_phrase_is(w->text, at, i - 1, words))
            return read_hundredths(w->text, at, i - 1 + n, out);
    return false;
}

/* Whether the estimate of the graphs is what left nothing for the cache. The lines stand before the traceback. */
static bool estimate_decides(const struct log_forms_walk *w, size_t at)
{
    int64_t left, estimate;
    return find_hundredths(w, at, "Available KV cache memory: ", &left) && left <= 0 &&
           find_hundredths(w, at, "Estimated CUDA graph memory: ", &estimate) && estimate > -left;
}

/* "Free memory on device cuda:0 (78.4/79.19 GiB) on startup is less": what is not free may be the context alone. */
static bool is_context_alone(const struct log_forms_walk *w, size_t at)
{
    int64_t free, total;
    const size_t line = letters_line_begin(w->text, at);
    size_t slash = at;
    while (slash > line && w->text[slash] != '/')
        slash--;
    size_t open = slash;
    while (open > line && w->text[open] != '(')
        open--;
    return open > line && read_hundredths(w->text, at, open + 1, &free) &&
           read_hundredths(w->text, at, slash + 1, &total) && total > free &&
           (uint64_t)(total - free) <= 100 * (CARD_CONTEXT_MOST_BYTES / GIB);
}

static const struct log_form *judge_share(const struct log_forms_walk *w, const struct log_form *form, size_t at)
{
    if (form == &forms[FORM_VLLM_BLOCKS] || form == &forms[FORM_VLLM_ESTIMATE])
        return &forms[estimate_decides(w, at) ? FORM_VLLM_ESTIMATE : FORM_VLLM_BLOCKS];
    return form == &forms[FORM_VLLM_STARTUP] && is_context_alone(w, at) ? &forms[FORM_VLLM_SHARE] : form;
}

/* ---- TensorRT-LLM's parts ---- */

/* Where these words end after `at`; 0: they do not follow. */
static size_t find_after(const struct log_forms_walk *w, size_t at, size_t reach, const char *words)
{
    for (size_t i = at; i < w->n && i - at < reach; i++)
        if (w->text[i] == words[0] && log_phrase_is(w->text, w->n, i, words))
            return i + strlen(words);
    return 0;
}

enum { COMPONENT_REACH = 1500 };

static bool find_hundredths_after(const struct log_forms_walk *w, size_t at, const char *words, int64_t *out)
{
    const size_t end = find_after(w, at, COMPONENT_REACH, words);
    return end > 0 && read_hundredths(w->text, w->n, end, out);
}

/* What was free before anything was made: the first figure of "Model: 78.40 / 10.35", the first part's line. */
static bool find_first_free(const struct log_forms_walk *w, size_t at, int64_t *out)
{
    enum { REACH = 200 };
    const size_t list = find_after(w, at, COMPONENT_REACH, "before/after creation (GiB):");
    const size_t slash = list > 0 ? find_after(w, list, REACH, " / ") : 0;
    size_t begin = slash > 0 ? slash - strlen(" / ") : 0;
    while (begin > list && strchr("0123456789.", w->text[begin - 1]) != NULL)
        begin--;
    return slash > 0 && read_hundredths(w->text, w->n, begin, out);
}

static bool is_component(const struct log_form *form)
{
    return form == &forms[FORM_TRTLLM_COMPONENT] || form == &forms[FORM_TRTLLM_MODEL] ||
           form == &forms[FORM_TRTLLM_OTHERS] || form == &forms[FORM_TRTLLM_EITHER];
}

/* What was taken at first, beyond a context, is somebody else's. The larger share decides. */
static const struct log_form *judge_component(const struct log_forms_walk *w, const struct log_form *form, size_t at)
{
    const int64_t context = 100 * (int64_t)(CARD_CONTEXT_MOST_BYTES / GIB);
    int64_t total, free;
    if (!is_component(form))
        return form;
    const bool is_model = log_phrase_is(w->text, w->n, at, forms[FORM_TRTLLM_MODEL].phrase);
    const bool has_free = find_first_free(w, at, &free) ||
                          (is_model && find_hundredths_after(w, at, "component creation attempt (GiB):", &free));
    if (!has_free || !find_hundredths_after(w, at, "Total GPU memory (GiB):", &total))
        return &forms[is_model ? FORM_TRTLLM_EITHER : FORM_TRTLLM_COMPONENT];
    if (total - free > free)
        return &forms[FORM_TRTLLM_OTHERS];
    if (!is_model)
        return &forms[FORM_TRTLLM_COMPONENT];
    return &forms[total - free > context ? FORM_TRTLLM_EITHER : FORM_TRTLLM_MODEL];
}

/* ---- PyTorch's words on Metal ---- */

/* It says the same without its limit, and for more than that, which no limit serves. */
static const struct log_form *judge_mps(const struct log_forms_walk *w, const struct log_form *form, size_t at)
{
    if (form != &forms[FORM_MPS])
        return form;
    const struct log_figures f = read_figures(FORM_MPS, w->text, w->n, at);
    if (!is_known(f.allowed))
        return is_known(f.asked) ? &forms[FORM_MPS_UNLIMITED] : form;      /* otherwise its end is cut */
    return is_known(f.asked) && f.asked > f.allowed ? &forms[FORM_MPS_ONE] : form;
}

/* ---- llama.cpp's parts ---- */

/* A server says again what the process said that it started: "llama runner process has terminated: ...". */
static bool is_echo(const struct log_forms_walk *w, size_t at)
{
    static const char words[] = "process has terminated: ";
    enum { REACH = 100 };
    for (size_t i = at; i-- > 0 && at - i < REACH && w->text[i] != '\n';)
        if (log_phrase_is(w->text, at, i, words))
            return true;
    return false;
}

/* The refusal's own line has the figure, and lines after it tell what did not fit. */
static const struct log_form *judge_llama(const struct log_forms_walk *w, const struct log_form *form, size_t at)
{
    static const struct { const char *words; enum form_name form; } parts[] = {
        { "failed to allocate buffer for kv cache", FORM_LLAMA_KV },
        { "error loading model: unable to allocate", FORM_LLAMA_WEIGHTS },
        { "failed to allocate compute", FORM_LLAMA_COMPUTE },
    };
    enum { REACH = 500 };
    if (form != &forms[FORM_LLAMA_CUDA] && form != &forms[FORM_LLAMA_SYCL])
        return form;
    if (is_echo(w, at))
        return &forms[FORM_OLLAMA_RUNNER];
    for (size_t i = at + 1; i < w->n && i - at < REACH && !log_phrase_is(w->text, w->n, i, form->phrase); i++)
        for (size_t k = 0; k < sizeof parts / sizeof parts[0]; k++)
            if (log_phrase_is(w->text, w->n, i, parts[k].words))
                return &forms[parts[k].form];
    return form;
}

/* The lines after such a refusal have no figure, and the refusal tells whose memory it is. */
static bool is_told_before(const struct log_forms_walk *w, const struct log_form *form, size_t at)
{
    enum { REACH = 700, TELLS = 3 };
    const bool is_part = form == &forms[FORM_LLAMA_KV] || form == &forms[FORM_LLAMA_WEIGHTS] ||
                         form == &forms[FORM_LLAMA_COMPUTE];
    return is_part && w->best != NULL && w->best->rank >= TELLS && at - w->best_at < REACH;
}

/* The reason that llama.cpp gives in the line after "Failed to allocate pinned memory", which has a form. */
static bool is_of_pinned(const struct log_forms_walk *w, const struct log_form *form, size_t at)
{
    static const char *const words[] = { "pinned memory", NULL };
    const size_t line = letters_line_begin(w->text, at);
    return (form == &forms[FORM_LLAMA_VULKAN] || form == &forms[FORM_LLAMA_VULKAN_PIECE] ||
            form == &forms[FORM_LLAMA_VULKAN_LIMIT]) && line > 0 &&
           line_holds(w, letters_line_begin(w->text, line - 1), at, words);
}

/* The line itself says that it is none; that has a form. */
static bool is_tolerated(const struct log_forms_walk *w, const struct log_form *form, size_t at)
{
    static const char *const words[] = { "is not a failure", NULL };
    enum { REACH = 300 };
    size_t end = at;
    if (form != &forms[FORM_TF_BFC] && form != &forms[FORM_XLA_BFC])
        return false;
    while (end < w->n && end < at + REACH && w->text[end] != '\n')
        end++;
    return line_holds(w, at, end, words);
}

/* A traceback ends in the first line of a text whose figures stand before it. */
static bool is_repeat(const struct log_forms_walk *w, const struct log_form *form, size_t at)
{
    enum { REACH = 1 << 14 };
    const struct log_form *async = &forms[FORM_TORCH_ASYNC];
    return form == async && w->best == async && at - w->best_at < REACH &&
           !is_known(read_figures(FORM_TORCH_ASYNC, w->text, w->n, at).asked) &&
           is_known(read_figures(FORM_TORCH_ASYNC, w->text, w->n, w->best_at).asked);
}

void log_forms_take(struct log_forms_walk *w, size_t i, size_t at)
{
    const struct log_form *form = &forms[i];
    if (!has_near(w, form, at) || is_tolerated(w, form, at) || is_of_pinned(w, form, at) ||
        is_told_before(w, form, at) || (form->rank == 0 && !is_named_error(w, form, at)))
        return;
    if (is_mention(w, form, at)) {
        w->mention = form->rank > 0 ? form : w->mention;
        w->mention_at = form->rank > 0 ? at : w->mention_at;
        return;
    }
    form = judge_llama(w, judge_component(w, judge_share(w, judge_killed(w, form, at), at), at), at);
    form = judge_mps(w, form, at);
    if (form->rank > 0) {
        w->n_errors += w->last == NULL || letters_line_begin(w->text, at) != letters_line_begin(w->text, w->last_at);
        w->last = form;
        w->last_at = at;
    }
    if ((w->best != NULL && w->best->rank > form->rank) || is_repeat(w, form, at))
        return;
    w->best = form;
    w->best_at = at;
}

void log_forms_take_loose(struct log_forms_walk *w)
{
    static const enum form_name names[] = { [LOOSE_UNTOLD] = FORM_LOOSE, [LOOSE_CARD] = FORM_LOOSE_CARD,
                                            [LOOSE_HOST] = FORM_LOOSE_HOST };
    size_t at = 0;
    const enum log_loose_whose whose = w->best == NULL && w->mention == NULL ? log_loose_find(w->text, w->n, &at)
                                                                             : LOOSE_NONE;
    if (whose == LOOSE_NONE)
        return;
    w->best = &forms[names[whose]];
    w->best_at = at;
}

struct log_found log_forms_read(const struct log_forms_walk *w, const struct log_form *form, size_t at)
{
    const enum form_name name = (enum form_name)(form - forms);
    struct log_found f = { .form = form, .at = at, .n_errors = w->n_errors, .line = 1 };
    f.figures = read_figures(name, w->text, w->n, at);
    f.verdict = judge(name, &f.figures);
    for (size_t i = 0; i < at; i++)
        f.line += w->text[i] == '\n';
    return f;
}
