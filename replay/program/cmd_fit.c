/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/* `replay fit TRACE`: the smallest card for each policy. */
#include "replay/program/answering.h"
#include "replay/program/cli.h"

#include "base/terminal.h"
#include "base/units.h"
#include "replay/advise/filled_step.h"
#include "replay/advise/fit.h"
#include "replay/recording/coverage.h"
#include "replay/plan/bounds.h"
#include "replay/results/fresh_start.h"
#include "replay/recording/recorded_platform.h"
#include "replay/recording/recorded_release.h"
#include "replay/recording/recorded_settings.h"
#include "report/text/json_writer.h"
#include "report/text/text.h"
#include "report/text/terminal_table.h"
#include "report/rows/winner.h"
#include "sim/card_context.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

/* Everything the command holds. Zero is valid: fit_end accepts it. */
struct fit_session {
    const struct options *options;
    struct trace_reader  *trace;
    struct device_choice  device;
    struct bounds         bounds;
    struct coverage       coverage;
    struct policy_spec   *specs;
    struct fit           *fits;
    struct filled_step   *filled;                /* by policy: if the cut step goes on as the one before */
    size_t                n;
    const char           *card_name;             /* of the card on which they compare; NULL: it has none */
    struct contender     *contenders;            /* the policies there */
    size_t                best;                  /* of these; WINNER_NONE: no policy runs on any card tried */
    size_t                n_alike;
};

static void fit_end(void *session)
{
    struct fit_session *s = session;
    for (size_t i = 0; i < s->n; i++)
        policy_spec_close(&s->specs[i]);
    free(s->specs);
    free(s->fits);
    free(s->filled);
    free(s->contenders);
    trace_close(s->trace);
}

/* The policies that were typed, or else the recorded settings. */
static enum err session_parse(struct fit_session *s, struct err_detail *err)
{
    const struct options *o = s->options;
    const size_t n = o->n_policies > 0 ? o->n_policies : 1;
    s->specs = calloc(n, sizeof *s->specs);
    s->fits = calloc(n, sizeof *s->fits);
    s->filled = calloc(n, sizeof *s->filled);
    if (s->specs == NULL || s->fits == NULL || s->filled == NULL)
        return err_no_memory(err);
    const char *release;
    enum err e = recorded_release(s->trace, &release, err);
    while (s->n < n && e == ERR_OK) {
        e = o->n_policies > 0 ? policy_spec_parse(o->policies[s->n], &s->specs[s->n], err)
                              : recorded_policy(s->trace, &s->specs[s->n], err);
        if (e == ERR_OK)
            recorded_take_release(release, &s->specs[s->n++]);
    }
    return e;
}

/* The smallest cards for the recording whose cut step is filled in. */
static enum err session_fill(struct fit_session *s, const struct replay_config *cfg, struct err_detail *err)
{
    struct trace_reader *filled;
    enum err e = filled_step_open(s->trace, &s->coverage, &filled, err);
    for (size_t i = 0; i < s->n && e == ERR_OK && filled != NULL; i++) {
        struct fit fit;
        const uint64_t live = trace_info(filled)->peak_requested_bytes;
        e = fit_find_smallest(filled, &s->specs[i], &s->device, live, cfg, &fit, err);
        s->filled[i] = (struct filled_step){ .is_known = true, .live_bytes = live,
                                             .smallest_bytes = e == ERR_OK ? fit.smallest_bytes : 0 };
    }
    trace_close(filled);
    return e;
}

/* ---- who wins ---- */

/* The card on which policies compare, as in a sweep: the one given, or else the smallest named card on which any of
 * them runs. *name: NULL if it has none. */
static struct device_config deciding_card(const struct fit_session *s, const char **name)
{
    struct device_config card = s->device.config;
    const struct fit *least = NULL;
    *name = NULL;
    if (s->device.has_total)
        return card;
    for (size_t i = 0; i < s->n; i++)
        if (s->fits[i].card != NULL && (least == NULL || s->fits[i].card->total_bytes < least->card->total_bytes))
            least = &s->fits[i];
    card.total_bytes = least != NULL ? least->card->total_bytes : DEVICE_UNLIMITED;
    card.context_bytes = least != NULL ? least->card_context_bytes : card.context_bytes;
    *name = least != NULL ? least->card->name : NULL;
    return card;
}

static struct contender contender_of(const struct policy_spec *spec, const struct trial *there)
{
    return (struct contender){
        .setting = { .is_default = policy_spec_is_default(spec), .n_changed = policy_spec_changes(spec),
                     .typed = spec->typed },
        .label   = spec->typed,
        .is_ok   = there->fits,
        .is_oom  = !there->fits,
        .bytes   = there->card_peak_bytes,
        .card_bytes = there->device.total_bytes,
        .time_ns = there->device_time_ns,
        .calls   = there->device_calls,
    };
}

/* The policy of the smallest card; WINNER_NONE: none has one. */
static size_t least_of(const struct fit_session *s)
{
    size_t least = WINNER_NONE;
    for (size_t i = 0; i < s->n; i++) {
        const uint64_t bytes = s->fits[i].smallest_bytes;
        if (bytes > 0 && (least == WINNER_NONE || bytes < s->fits[least].smallest_bytes))
            least = i;
    }
    return least;
}

/* Runs all on the deciding card, and finds who wins. If none runs there, it is the one that needs least. */
static enum err session_judge(struct fit_session *s, const struct replay_config *cfg, struct err_detail *err)
{
    struct trial *there = calloc(s->n, sizeof *there);
    const struct device_config card = deciding_card(s, &s->card_name);
    s->contenders = calloc(s->n, sizeof *s->contenders);
    enum err e = there != NULL && s->contenders != NULL ? ERR_OK : err_no_memory(err);
    for (size_t i = 0; i < s->n && e == ERR_OK; i++)
        there[i] = (struct trial){ .spec = &s->specs[i], .device = card };
    if (e == ERR_OK)
        e = trials_run(s->trace, s->device.ops, there, s->n, cfg, err);
    for (size_t i = 0; i < s->n && e == ERR_OK; i++)
        s->contenders[i] = contender_of(&s->specs[i], &there[i]);
    if (e == ERR_OK)
        s->best = winner_of(s->contenders, s->n, s->options->price, &s->n_alike);
    if (e == ERR_OK && s->best == WINNER_NONE)
        s->best = least_of(s);
    free(there);
    return e;
}

static enum err session_run(struct fit_session *s, struct err_detail *err)
{
    struct progress progress = progress_start("replaying", PROGRESS_EVENTS);
    struct replay_config cfg = { .threads = s->options->threads, .progress = progress_report,
                                 .progress_arg = &progress };
    enum err e = coverage_read(s->trace, &s->coverage, err);
    cfg.caught_before = s->coverage.caught_before;
    if (e == ERR_OK)
        e = bounds_find(s->trace, s->coverage.caught_before, &s->bounds, err);
    for (size_t i = 0; i < s->n && e == ERR_OK; i++)
        e = fit_find(s->trace, &s->specs[i], &s->device, s->bounds.live_bytes, &cfg, &s->fits[i], err);
    if (e == ERR_OK)
        e = session_fill(s, &cfg, err);
    if (e == ERR_OK)
        e = session_judge(s, &cfg, err);
    progress_clear(&progress);
    return e;
}

/* ---- text ---- */

enum { WORDS_CONTEXT = 256 };

/* On a narrow terminal the cost leaves first; what fits stays. */
static const struct text_column fit_columns[] = {
    { .title = "policy", .is_left = true },  { .title = "smallest card" },
    { .title = "peak of card", .leaves = 3 }, { .title = "calls", .leaves = 1 },
    { .title = "margin", .leaves = 2 },      { .title = "named card", .is_left = true },
};
enum { FIT_COLUMNS = sizeof fit_columns / sizeof fit_columns[0] };

/* Whether a card was given with its capacity. */
static bool has_margin(const struct fit_session *s)
{
    return s->device.has_total && s->device.config.total_bytes != DEVICE_UNLIMITED;
}

static void add_row(struct terminal_table *rows, const struct fit_session *s, size_t i)
{
    const struct fit *f = &s->fits[i];
    const struct contender *there = &s->contenders[i];
    const uint64_t total = s->device.config.total_bytes;
    const bool is_lower_bound = coverage_is_lower_bound(&s->coverage);
    const char *card = is_lower_bound ? "not known" : f->card != NULL ? f->card->name : "none";
    char size[TEXT_NUMBER + 2], margin[TEXT_NUMBER + 2] = "", bytes[TEXT_NUMBER], reserved[TEXT_NUMBER],
         calls[TEXT_NUMBER];
    if (f->smallest_bytes == 0) {
        terminal_table_add(rows, (const char *const[FIT_COLUMNS]){ s->specs[i].typed, "none found", "-", "-", "",
                                                                   card });
        return;
    }
    snprintf(size, sizeof size, "%s%s", is_lower_bound ? ">=" : "", text_card(f->smallest_bytes, bytes));
    if (has_margin(s)) {
        const bool is_over = f->smallest_bytes > total;
        snprintf(margin, sizeof margin, "%s%s", is_over ? "-" : "+",
                 text_mib(is_over ? f->smallest_bytes - total : total - f->smallest_bytes, bytes));
    }
    terminal_table_add(rows, (const char *const[FIT_COLUMNS]){
                                 s->specs[i].typed, size, there->is_ok ? text_mib(there->bytes, reserved) : "OOM",
                                 there->is_ok ? text_count(there->calls, calls) : "-", margin, card });
}

static enum err print_table(const struct fit_session *s)
{
    struct terminal_table rows = { .columns = fit_columns, .n_columns = FIT_COLUMNS, .bold_row = s->best };
    for (size_t i = 0; i < s->n; i++)
        add_row(&rows, s, i);
    return terminal_table_print(stdout, &rows, s->options->is_wide ? TERMINAL_ANY : terminal_columns(stdout));
}

static void print_remarks(const struct fit_session *s)
{
    char size[TEXT_NUMBER], larger[TEXT_NUMBER];
    struct words w = { .n = 0 };
    words_add_possible(&w, s->bounds.live_bytes, trace_info(s->trace)->peak_requested_bytes, s->bounds.plan_bytes, NULL,
                       0);
    words_print(stdout, &w, 0, 2);
    for (size_t i = 0; i < s->n; i++) {
        const struct fit *f = &s->fits[i];
        struct words note = { .n = 0 };
        if (f->smallest_bytes == 0)
            words_add(&note, "%s runs out of memory on all %zu cards tried, "
                             "even on one many times the size of its data.", s->specs[i].typed, f->n_tried);
        else if (!f->is_monotone)
            words_add(&note, "%s also runs on some cards from %s on, but runs out of memory on one of %s.",
                      s->specs[i].typed, text_mib(f->least_running_bytes, size),
                      text_mib(f->larger_failing_bytes, larger));
        if (note.n > 0)
            words_print(stdout, &note, 0, 2);
    }
}

/* The answer for one policy. */
static void print_only(const struct fit_session *s)
{
    char a[TEXT_NUMBER];
    const struct contender c = s->contenders[0];
    const struct fit *f = &s->fits[0];
    struct words w = { .n = 0 };
    text_card(f->smallest_bytes, a);
    if (coverage_is_lower_bound(&s->coverage))
        words_add(&w, "%s needs a card of at least %s, as far as recorded.", c.label, a);
    else
        words_add(&w, "%s runs on a card of %s%s%s%s.", c.label, a,
                  f->is_monotone ? "" : " and on every larger one that was tried",
                  f->card != NULL ? "; the smallest named card for it is " : "", f->card != NULL ? f->card->name : "");
    words_print(stdout, &w, 0, 2);
    printf("\n");
}

static void print_best(const struct fit_session *s)
{
    char a[TEXT_NUMBER], peak[TEXT_NUMBER], n[TEXT_NUMBER], time[TEXT_NUMBER];
    const size_t best = s->best;
    const bool is_bound = coverage_is_lower_bound(&s->coverage);
    struct words w = { .n = 0 };
    if (best == WINNER_NONE)
        return;
    if (s->n == 1) {
        print_only(s);
        return;
    }
    const struct contender c = s->contenders[best];
    words_add(&w, "%s %s%s: it %s a card of %s%s. ", c.label, s->n_alike > 1 ? "does as well as any" : "is best",
              is_bound ? " as far as recorded" : "", is_bound ? "needs" : "runs on", is_bound ? "at least " : "",
              text_card(s->fits[best].smallest_bytes, a));
    if (c.is_ok)
        words_add(&w, "On %s it takes %s at its peak, at the cost of %s driver calls, about %s.",
                  s->card_name != NULL ? s->card_name : "this card", text_mib(c.bytes, peak), text_count(c.calls, n),
                  text_time(c.time_ns, time));
    winner_say_alike(&w, s->contenders, s->n, s->options->price);
    words_add(&w, " There policies compare; ");
    winner_say_price(&w, s->options->price);
    words_add(&w, ".");
    words_print(stdout, &w, 0, 2);
    printf("\n");
}

/* PyTorch takes other kernels on another class of card. A simulated card's recording tells its class. */
static void add_other_class(struct words *w, const struct fit_session *s)
{
    const char *recorded = trace_meta(s->trace, TRACE_META_CAPABILITY);
    char asked[CAPABILITY_TEXT];
    (void)capability_text(device_found(&s->device.config).capability, asked);
    if (s->device.context_source == NULL || trace_meta(s->trace, TRACE_META_RELEASE) == NULL ||
        (recorded != NULL && strcmp(recorded, asked) == 0))
        return;
    words_add(w, "%s", w->n > 0 ? " " : "");
    if (recorded != NULL)
        words_add(w, "It was recorded for compute capability %s, and %s has %s: ", recorded, s->device.typed, asked);
    else
        words_add(w, "Requests are those of the card it was recorded on. If that is of another class than %s, ",
                  s->device.typed);
    words_add(w, "PyTorch may take other kernels there, which need more or less: `replay predict --device %s -- python "
                 "PROGRAM` tells.", s->device.typed);
}

/* What was set aside on the card given, and on the named cards. */
static void print_context(const struct fit_session *s)
{
    char text[WORDS_CONTEXT], size[UNITS_TEXT];
    struct words w = { .n = 0 };
    device_say_context(&s->device, text, sizeof text);
    if (text[0] != '\0')
        words_add(&w, "%s", text);
    for (size_t i = 0; i < s->n && text[0] == '\0' && !coverage_is_lower_bound(&s->coverage); i++)
        if (s->device.takes_contexts && s->fits[i].card != NULL && w.n == 0)
            words_add(&w, "On %s about %s are set aside for the CUDA context and libraries (context=, doc/limits.md).",
                      s->fits[i].card->name, units_format_bytes(s->fits[i].card_context_bytes, size));
    for (size_t i = 0; i < s->n && !coverage_is_lower_bound(&s->coverage); i++)
        if (s->fits[i].is_tight)
            words_add(&w, "%s%s is tight on %s: beside the largest context seen there, %s, it would not run.",
                      w.n > 0 ? " " : "", s->specs[i].typed, s->fits[i].card->name,
                      units_format_bytes(card_context_of(s->fits[i].card->name)->most_bytes, size));
    add_other_class(&w, s);
    if (w.n > 0)
        words_print(stdout, &w, 0, 2);
}

static void print_sentence(const char *text)
{
    struct words w = { .n = 0 };
    words_add(&w, "%s", text);
    if (w.n > 0)
        words_print(stdout, &w, 0, 2);
}

/* Of cards that share the host's memory, and of policies whose setting does not exist on the platform. */
static void print_places(const struct fit_session *s)
{
    char text[WORDS_CONTEXT];
    const char *reason;
    const struct device_model *given = s->device.has_total ? s->device.config.model : NULL;
    const enum platform named = s->device.platform;
    const enum platform p = named != PLATFORM_UNKNOWN ? named : recorded_platform(s->trace);
    device_say_shared(given != NULL ? given->name : NULL, text, sizeof text);
    for (size_t i = 0; i < s->n && text[0] == '\0'; i++)
        device_say_shared(s->fits[i].card != NULL ? s->fits[i].card->name : NULL, text, sizeof text);
    print_sentence(text);
    for (size_t i = 0; i < s->n; i++)
        if (p != PLATFORM_UNKNOWN && strstr(s->specs[i].typed, "expandable_segments:True") != NULL &&
            !platform_has_setting(p, "expandable_segments", &reason)) {
            struct words w = { .n = 0 };
            words_add(&w, "%s is no choice on %s: %s.", s->specs[i].typed, platform_words(p), reason);
            words_print(stdout, &w, 0, 2);
        }
}

/* The answer that is filled in stands by itself: none of it was recorded. */
static enum err print_filled(const struct fit_session *s)
{
    struct words w = { .n = 0 };
    if (!s->filled[0].is_known)
        return ERR_OK;
    const char **whose = calloc(s->n, sizeof *whose);
    if (whose == NULL)
        return ERR_HOST_NOMEM;
    for (size_t i = 0; i < s->n; i++)
        whose[i] = s->specs[i].typed;
    filled_step_say(&w, s->filled, whose, s->n, steps_leak(&s->coverage.steps), NULL);
    words_print(stdout, &w, 0, 2);
    free(whose);
    return ERR_OK;
}

/* Smallest cards are bare sizes unless a card was named; the peaks beside them are of the card that decides. */
static void print_sizes(const struct fit_session *s)
{
    const char *name;
    char text[WORDS_CONTEXT];
    struct words w = { .n = 0 };
    (void)deciding_card(s, &name);
    device_say_smallest(&s->device, text, sizeof text);
    words_add(&w, "%s", text);
    if (name != NULL)
        words_add(&w, " Peaks of the card are those of %s, with them.", name);
    words_print_screen(stdout, &w);
}

static enum err fit_print(const void *session, struct err_detail *err)
{
    (void)err;
    const struct fit_session *s = session;
    coverage_print(stdout, &s->coverage);
    fresh_start_print(stdout, s->trace);
    print_best(s);
    const enum err e = print_table(s);
    print_sizes(s);
    printf("\n");
    print_filled(s);
    print_context(s);
    print_places(s);
    print_remarks(s);
    return e;
}

/* ---- JSON ---- */

struct shown_context {
    uint64_t    bytes;
    const char *source;                          /* NULL: nothing is set aside */
};

/* What is set aside on the named card, or without one on the card given; and where the figure is from. */
static struct shown_context context_of(const struct fit_session *s, const struct fit *f)
{
    const struct device_choice *d = &s->device;
    const bool is_named = f->card != NULL && !coverage_is_lower_bound(&s->coverage);
    const struct card_context *c = is_named && d->takes_contexts ? card_context_of(f->card->name) : NULL;
    const bool is_given = c == NULL || (d->context_source != NULL && f->card->total_bytes == d->config.total_bytes);
    return (struct shown_context){
        .bytes  = is_given ? d->config.context_bytes : f->card_context_bytes,
        .source = is_given && d->context_source != NULL    ? d->context_source
                : c != NULL && f->card_context_bytes > 0   ? c->source
                : d->config.context_bytes > 0              ? "context= of --device"
                                                           : NULL,
    };
}

static enum err fit_write_json(const void *session, FILE *out, struct err_detail *err)
{
    (void)err;
    const struct fit_session *s = session;
#define ANSWER_TABLE "answers/fit.def"
#include "answers/as_json.def"
    return ERR_OK;
}

/* ---- the command ---- */

/* Chooses the card. One that nobody named only stands for "large enough": no context is taken off it, so that the
 * smallest card is the program's alone. The named cards that are tried later hold theirs all the same. */
static enum err session_choose(struct fit_session *s, struct err_detail *err)
{
    struct device_choice *d = &s->device;
    const enum err e = device_choose_for_advice(s->options->device, s->trace, d, err);
    if (e == ERR_OK && !d->has_total && d->context_source != NULL) {
        d->config.context_bytes = 0;
        d->context_source = NULL;
    }
    if (e == ERR_OK && s->options->system != PLATFORM_UNKNOWN)
        d->platform = s->options->system;
    return e;
}

static enum err fit_read(void *session, const struct options *o, struct err_detail *err)
{
    struct fit_session *s = session;
    s->options = o;
    enum err e = cli_open_trace_without_stacks(o, 0, &s->trace, err);
    if (e == ERR_OK)
        e = session_parse(s, err);
    if (e == ERR_OK)
        e = session_choose(s, err);
    return e == ERR_OK ? session_run(s, err) : e;
}

static enum exit_status fit_main(const struct options *o)
{
    static const struct answer_ops ops = { .session_bytes = sizeof(struct fit_session), .read = fit_read,
                                           .write_json = fit_write_json, .print = fit_print, .close = fit_end };
    return answer_run(&ops, o);
}

static const struct flag_use fit_flags[] = {
    TAKES_AS(POLICY, "a policy to find a card for (replay --list shows them); may be given several times (default: the "
                     "recorded settings)"),
    TAKES_AS(DEVICE, "the card that you have, such as 24GiB or h100-80g: the margin against it is shown"),
    TAKES(SYSTEM), TAKES(JSON), TAKES(WIDE), TAKES(THREADS), TAKES(PRICE), TAKES_INPUT, TAKES(HELP), FLAGS_END,
};

const struct subcommand cmd_fit = {
    .name = "fit",
    .synopsis = "fit FILE",
    .summary = "find the smallest card on which each policy runs",
    .text = "The answer is the smallest card, to 2 MiB, on which no request is refused, and the smallest named card of "
            "at least that size, of those with a * in replay --list. The size is found by bisection. Larger sizes are "
            "tried as well, and if one of them fails, the answer says so. The best policy has the smallest sum of its "
            "card and its driver time at --price. A trace that was recorded in mid-run starts with its live requests "
            "placed anew.\n",
    .flags = fit_flags,
    .n_inputs_min = 1,
    .n_inputs_max = 1,
    .run = fit_main,
};
