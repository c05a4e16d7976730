/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/* Chooses the device; collects the facts and the remarks of a report. */
#include "replay/results/result.h"

#include "base/units.h"
#include "replay/recording/recorded_platform.h"
#include "replay/results/recorded_addresses.h"
#include "report/text/text.h"
#include "sim/card_context.h"
#include "sim/card_meant.h"

#include <assert.h>
#include <inttypes.h>
#include <stdarg.h>
#include <string.h>

/* ---- the device ---- */

/* The memory that a card needs for the recorded run: by bytes reserved if these were recorded, else by bytes requested;
 * plus what the card holds besides. */
static uint64_t bytes_needed(const struct trace_info *info, const struct device_config *cfg)
{
    const uint64_t run =
        info->recorded_peak_reserved_bytes > 0 ? info->recorded_peak_reserved_bytes : info->peak_requested_bytes;
    return add_capped(run, add_capped(cfg->context_bytes, cfg->others_bytes));
}

static const struct device_model *jetson_at(size_t i)
{
    const struct device_model *m;
    for (size_t k = 0; (m = card_at(k)) != NULL; k++)
        if (strncmp(m->name, "jetson-", strlen("jetson-")) == 0 && i-- == 0)
            return m;
    return NULL;
}

const struct device_model *device_card_at(enum platform p, size_t i)
{
    if (p == PLATFORM_JETSON)
        return jetson_at(i);
    const bool is_nvidia = platform_is_library(p) || (platform_is_cuda(p) && p != PLATFORM_ROCM &&
                                                      p != PLATFORM_ROCM_WINDOWS);
    return is_nvidia ? device_model_at(i) : NULL;
}

/* No card of this table is the platform's. */
static void device_choose_none(struct device_choice *d, const char *options)
{
    snprintf(d->typed, sizeof d->typed, "sim:unlimited%.120s", options);
    snprintf(d->headline, sizeof d->headline,
             "%.60s, simulated: no card of %s has a name here (one by its size: --device 24GiB)", d->typed,
             platform_words(d->card_platform));
}

/* Takes the smallest named card that the recorded run fits, the same for all policies. */
static void device_choose_card(struct device_choice *d, const struct trace_info *info, const char *options)
{
    char need[UNITS_TEXT], has[UNITS_TEXT];
    const uint64_t bytes = bytes_needed(info, &d->config);
    const struct device_model *model;
    const char *what = info->recorded_peak_reserved_bytes > 0 ? "reserved when recorded" : "requested at once";
    d->is_assumed = true;
    if (device_card_at(d->card_platform, 0) == NULL) {
        device_choose_none(d, options);
        return;
    }
    units_format_bytes(bytes, need);
    for (size_t i = 0; (model = device_card_at(d->card_platform, i)) != NULL && model->total_bytes < bytes;)
        i++;
    if (model == NULL) {
        snprintf(d->typed, sizeof d->typed, "sim:unlimited%.120s", options);
        snprintf(d->headline, sizeof d->headline,
                 "%.60s, simulated, because no named card holds the %s %s (another: --device 4090)", d->typed,
                 need, what);
        return;
    }
    d->config.total_bytes = model->total_bytes;
    snprintf(d->typed, sizeof d->typed, "sim:%.30s%.120s", model->name, options);
    snprintf(d->headline, sizeof d->headline,
             "%.60s (%s), simulated: the smallest named card that holds the %s %s (another: --device 4090)", d->typed,
             units_format_bytes(model->total_bytes, has), need, what);
}

/* Gives segments the order of addresses that the recording shows, unless the person asked for one. */
static enum err device_take_order(struct device_config *cfg, struct trace_reader *trace, struct err_detail *err)
{
    bool is_rising;
    if (cfg->has_addresses)
        return ERR_OK;
    const enum err e = addresses_rose(trace, &is_rising, err);
    if (e == ERR_OK && is_rising)
        cfg->addresses = ADDRESSES_RISING;
    return e;
}

/* Completes a parsed device: how large it is, and the headline. */
/* "system=windows" of a device's text. */
static enum platform typed_platform(const char *typed)
{
    char word[16] = "";
    enum platform found = PLATFORM_UNKNOWN;
    const char *system = strstr(typed, "system=");
    if (system != NULL)
        sscanf(system + strlen("system="), "%15[a-z]", word);
    return word[0] != '\0' && platform_find(word, &found) ? found : PLATFORM_UNKNOWN;
}

static void device_complete(struct device_choice *choice, const char *typed, const struct trace_reader *trace)
{
    struct device_choice d = *choice;
    const struct trace_info *info = trace_info(trace);
    char has[UNITS_TEXT];
    const char *colon = strchr(typed, ':');
    char options[DEVICE_TEXT] = "";
    d.platform = d.platform != PLATFORM_UNKNOWN ? d.platform : typed_platform(typed);
    d.card_platform = d.platform != PLATFORM_UNKNOWN ? d.platform : recorded_platform(trace);
    if (colon != NULL)
        snprintf(options, sizeof options, ",%s", colon + 1);
    if (device_is_real(d.ops)) {
        snprintf(d.typed, sizeof d.typed, "%s", typed);
        snprintf(d.headline, sizeof d.headline, "%.100s, as given with --device", typed);
    } else if (d.has_total) {
        snprintf(d.typed, sizeof d.typed, "%s", typed);
        snprintf(d.headline, sizeof d.headline, "%.100s, %s%s as given with --device", typed,
                 d.config.total_bytes == DEVICE_UNLIMITED ? "unlimited" : units_format_bytes(d.config.total_bytes, has),
                 d.config.total_bytes == DEVICE_UNLIMITED ? "" : ",");
    } else if (info->capacity_bytes > 0) {
        d.config.total_bytes = info->capacity_bytes;
        snprintf(d.typed, sizeof d.typed, "sim:%" PRIu64 "%.120s", info->capacity_bytes, options);
        snprintf(d.headline, sizeof d.headline,
                 "%s, simulated, as much as the recorded one had (another: --device 4090)",
                 units_format_bytes(info->capacity_bytes, has));
    } else {
        device_choose_card(&d, info, options);
    }
    *choice = d;
}

static enum err choose_on(const char *text, struct trace_reader *trace, enum platform system,
                          struct device_choice *out, struct err_detail *err)
{
    struct device_choice d = { .platform = system };
    const char *typed = text == NULL ? "sim" : text;
    enum err e = device_parse(typed, &d.config, &d.ops, &d.has_total, err);
    if (e == ERR_OK)
        e = device_take_order(&d.config, trace, err);
    if (e != ERR_OK)
        return e;
    device_complete(&d, typed, trace);
    *out = d;
    return ERR_OK;
}

enum err device_choose(const char *text, struct trace_reader *trace, struct device_choice *out, struct err_detail *err)
{
    return choose_on(text, trace, PLATFORM_UNKNOWN, out, err);
}

/* What the card had outside PyTorch when the recording's last request was refused: the part that the program could not
 * use. 0 if the recording does not tell, or is of another card. */
static uint64_t recorded_context(const struct trace_reader *trace, uint64_t total_bytes)
{
    const struct trace_info *info = trace_info(trace);
    if (info->capacity_bytes == 0 || info->capacity_bytes >= total_bytes || info->by_kind[EVENT_OOM] == 0)
        return 0;
    const uint64_t outside = total_bytes - info->capacity_bytes;
    return outside <= CARD_CONTEXT_MOST_BYTES ? outside : 0;
}

/* Without a capacity: the smallest named card that also holds its own context. */
static enum err choose_with_context(struct device_choice *d, const char *options, struct trace_reader *trace,
                                    struct err_detail *err)
{
    const struct trace_info *info = trace_info(trace);
    const uint64_t needed = bytes_needed(info, &d->config);
    const struct device_model *m;
    char text[DEVICE_TEXT];
    for (size_t i = 0; (m = device_card_at(d->card_platform, i)) != NULL; i++) {
        const struct card_context *c = card_context_of(m->name);
        if (m->total_bytes < add_capped(needed, c == NULL ? 0 : c->bytes))
            continue;
        snprintf(text, sizeof text, "sim:%s%s%s", m->name, options[0] == '\0' ? "" : ",", options);
        struct device_choice chosen;
        const enum err e = choose_on(text, trace, d->platform, &chosen, err);
        if (e != ERR_OK)
            return e;
        d->config = chosen.config;
        snprintf(d->typed, sizeof d->typed, "%s", text);
        snprintf(d->headline, sizeof d->headline, "%.60s, simulated: the smallest named card that holds the recorded "
                 "run and a CUDA context (another: --device 4090)", text);
        return ERR_OK;
    }
    return ERR_OK;
}

enum err device_choose_for_advice(const char *text, struct trace_reader *trace, enum platform system,
                                  struct device_choice *out, struct err_detail *err)
{
    const char *colon = text == NULL ? NULL : strchr(text, ':');
    struct device_choice d;
    enum err e = choose_on(text, trace, system, &d, err);
    if (e != ERR_OK)
        return e;
    d.takes_contexts = text == NULL || strstr(text, "context=") == NULL;
    if (d.takes_contexts && !d.has_total && trace_info(trace)->capacity_bytes == 0)
        e = choose_with_context(&d, colon == NULL ? "" : colon + 1, trace, err);
    const struct card_context *c = d.takes_contexts ? card_context_in(d.typed) : NULL;
    if (e == ERR_OK && c != NULL) {
        const uint64_t seen = recorded_context(trace, d.config.total_bytes);
        d.is_context_recorded = seen > 0;
        d.config.context_bytes = seen > 0 ? seen : c->bytes;
        d.context_most_bytes = seen > 0 ? 0 : c->most_bytes;
        d.context_source = seen > 0 ? "what the card had outside PyTorch at the refused request of this recording"
                                    : c->source;
    }
    if (e == ERR_OK)
        *out = d;
    return e;
}

bool device_shares_host(const char *card)
{
    static const char *const begins[] = { "jetson-", "gb10-", "gh200-", "gb200-", "gb300-" };
    for (size_t i = 0; card != NULL && i < sizeof begins / sizeof begins[0]; i++)
        if (strncmp(card, begins[i], strlen(begins[i])) == 0)
            return true;
    return false;
}

void device_say_shared(const char *card, char *text, size_t room)
{
    text[0] = '\0';
    if (device_shares_host(card))
        snprintf(text, room, "%s shares its memory with the host, which is not modelled: what the host's programs, its "
                 "page cache and a carve-out take of it is not known, so that what fits here may not fit there.", card);
}

const struct device_model *device_sold(const struct device_choice *d, uint64_t *left_bytes)
{
    char device[CARD_BYTES];
    const struct device_model *sold = card_meant(d->typed, device);
    if (sold == NULL || !d->has_total || d->config.context_bytes > 0)
        return NULL;
    const struct card_context *c = card_context_of(sold->name);
    *left_bytes = sold->total_bytes - (c != NULL ? c->bytes : 0);
    return sold;
}

/* A size that cards are sold with: nobody's card has so much. */
static void say_bare_size(const struct device_choice *d, char *text, size_t room)
{
    char has[UNITS_TEXT], left[UNITS_TEXT];
    uint64_t left_bytes;
    const struct device_model *sold = device_sold(d, &left_bytes);
    if (sold != NULL)
        snprintf(text, room, "%s is taken as it stands, with nothing set aside. A card that is sold with it has less: "
                 "%s shows %s, and leaves %s beside the CUDA context.", d->typed, sold->name,
                 units_format_bytes(sold->total_bytes, has), units_format_bytes(left_bytes, left));
}

void device_say_context(const struct device_choice *d, char *text, size_t room)
{
    char total[UNITS_TEXT], context[UNITS_TEXT], most[UNITS_TEXT], seen[sizeof ", at most 0 seen" + UNITS_TEXT] = "";
    text[0] = '\0';
    if (d->context_source == NULL) {
        say_bare_size(d, text, room);
        return;
    }
    if (d->context_most_bytes > d->config.context_bytes)
        snprintf(seen, sizeof seen, ", at most %s seen", units_format_bytes(d->context_most_bytes, most));
    snprintf(text, room, "Of the %s of %s %s%s go to the CUDA context and libraries%s%s (context=, doc/limits.md).",
             units_format_bytes(d->config.total_bytes, total), d->typed, d->is_context_recorded ? "" : "about ",
             units_format_bytes(d->config.context_bytes, context), seen,
             d->is_context_recorded ? ", as when the request was refused" : "");
}

void device_say_smallest(const struct device_choice *d, char *text, size_t room)
{
    const uint64_t context = d->config.context_bytes, others = d->config.others_bytes;
    char taken[UNITS_TEXT];
    units_format_bytes(add_capped(context, others), taken);
    if (context == 0 && others == 0)
        snprintf(text, room, "Smallest cards are without the CUDA context and libraries.");
    else
        snprintf(text, room, "Smallest cards include the %s of %s%s%s.", taken,
                 context > 0 ? "the CUDA context and libraries" : "", context > 0 && others > 0 ? " and " : "",
                 others > 0 ? "other processes" : "");
}

enum err device_choose_any(const char *text, struct trace_reader *trace, struct device_choice *out,
                           struct err_detail *err)
{
    struct device_choice d = { .ops = NULL };
    const char *typed = text == NULL ? "sim" : text;
    bool is_real;
    enum err e = device_parse_any(typed, &d.config, &is_real, &d.has_total, err);
    if (e == ERR_OK && !is_real)
        e = device_take_order(&d.config, trace, err);
    if (e != ERR_OK)
        return e;
    d.ops = is_real ? &device_cuda : &device_sim;
    device_complete(&d, typed, trace);
    *out = d;
    return ERR_OK;
}

/* ---- the report ---- */

static struct report_trace trace_facts(const struct trace_reader *trace, const char *path,
                                       const struct bounds *bounds, const struct coverage *coverage)
{
    const struct trace_info *info = trace_info(trace);
    const char *source = trace_meta(trace, "source");
    const struct bounds unasked = { .live_event = -1 };
    if (bounds == NULL)
        bounds = &unasked;
    return (struct report_trace){
        .path                         = path,
        .source                       = source != NULL ? source : "native",
        .device                       = info->device,
        .events                       = info->events,
        .duration_ns                  = info->duration_ns,
        .allocs                       = info->by_kind[EVENT_ALLOC],
        .frees                        = info->by_kind[EVENT_FREE] + info->by_kind[EVENT_FREE_REQUESTED],
        .starts_mid_run               = info->starts_mid_run,
        .peak_requested_bytes         = info->peak_requested_bytes,
        .live_peak_bytes              = bounds->live_bytes,
        .mean_live_bytes              = bounds->mean_live_bytes,
        .offline_plan_bytes           = bounds->plan_bytes,
        .capacity_bytes               = info->capacity_bytes,
        .recorded_peak_reserved_bytes = info->recorded_peak_reserved_bytes,
        .numbering                    = info->has_source_numbers ? "source" : "event",
        .begins                       = coverage != NULL ? coverage_begin_word(coverage->begins) : NULL,
        .ends                         = coverage != NULL ? coverage_end_word(coverage->ends) : NULL,
        .refusals                     = info->by_kind[EVENT_OOM],
        .survived                     = coverage != NULL ? coverage->survived : REPORT_UNKNOWN,
        .whole_steps                  = coverage != NULL && coverage->steps.how != STEPS_NONE ? coverage->steps.whole
                                                                                              : REPORT_UNKNOWN,
        .is_lower_bound               = coverage != NULL && coverage_is_lower_bound(coverage),
    };
}

enum { SENTENCE_SHARED = 320 };

struct remark_target {
    struct report_run *run;
    enum err e;
};

static void take_remark(void *arg, enum remark_kind kind, const char *sentence)
{
    struct remark_target *t = arg;
    struct report_lines *lines = kind == REMARK_WARNING ? &t->run->warnings : &t->run->assumptions;
    if (t->e == ERR_OK)
        t->e = report_lines_add(lines, sentence);
}

/* Adds a sentence. */
static void remark(struct remark_target *t, enum remark_kind kind, const char *fmt, ...) PRINTF_LIKE(3, 4);
static void remark(struct remark_target *t, enum remark_kind kind, const char *fmt, ...)
{
    char text[512];
    va_list args;
    va_start(args, fmt);
    vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    take_remark(t, kind, text);
}

static void remark_device(struct remark_target *t, const struct device_choice *d)
{
    const struct device_config *c = &d->config;
    char shared[SENTENCE_SHARED];
    device_say_shared(c->model != NULL ? c->model->name : NULL, shared, sizeof shared);
    if (shared[0] != '\0')
        remark(t, REMARK_ASSUMPTION, "%s", shared);
    remark(t, REMARK_ASSUMPTION,
           "driver time is modelled, not measured: %.0f us per segment allocated, %.0f per segment freed, %.0f per "
           "page mapped, %.0f per page unmapped (--device sim:...,alloc_ns=,free_ns=,map_ns=,unmap_ns=)",
           (double)c->alloc_ns / 1e3, (double)c->free_ns / 1e3, (double)c->map_ns / 1e3, (double)c->unmap_ns / 1e3);
}

/* Warns of what a real card did that the run did not expect. */
static void remark_card(struct remark_target *t, const struct device *dev)
{
    const struct device_measured *m = dev->measured;
    char a[UNITS_TEXT], b[UNITS_TEXT];
    if (m == NULL)
        return;
    if (dev->cfg.limit_bytes > m->idle.free_bytes)
        remark(t, REMARK_WARNING, "limit=%s is more than the %s that the card had free",
               units_format_bytes(dev->cfg.limit_bytes, a), units_format_bytes(m->idle.free_bytes, b));
    if (m->refusals > 0)
        remark(t, REMARK_WARNING,
               "the card refused %" PRIu64 " calls although it should have had room; %s were free at the first; "
               "another process may have taken memory meanwhile",
               m->refusals, units_format_bytes(m->refused_free_bytes, a));
}

/* The bytes, as requested, that were live before the first event, and how many of them lie in blocks of guessed size.
 * */
static void start_bytes(const struct trace_reader *trace, uint64_t *live_bytes, uint64_t *guessed_bytes)
{
    size_t n;
    const struct trace_block *blocks = trace_start_blocks(trace, &n);
    *live_bytes = *guessed_bytes = 0;
    for (size_t i = 0; i < n; i++) {
        if (blocks[i].slot == TRACE_NO_SLOT)
            continue;
        *live_bytes += blocks[i].requested;
        *guessed_bytes += blocks[i].is_size_guessed ? blocks[i].requested : 0;
    }
}

/* Says how the run began if the trace starts in mid-run, and how much of that state is known. */
static void remark_start(struct remark_target *t, const struct trace_reader *trace, const struct lane *l)
{
    uint64_t live, guessed;
    start_bytes(trace, &live, &guessed);
    if (!trace_info(trace)->starts_mid_run)
        return;
    if (l->is_restored)
        remark(t, REMARK_ASSUMPTION,
               "faithful start: the policy took over segments and blocks as recorded; %.2f%% of the live bytes lie in "
               "blocks of guessed size, and the ages and order of free blocks from before the recording are unknown",
               live == 0 ? 0.0 : 100.0 * (double)guessed / (double)live);
    else if (live > 0)
        take_remark(
            t, REMARK_ASSUMPTION,
            "fresh start: the requests that were live at the start were placed anew on an empty card, in the order of "
            "their recorded addresses; memory that was cached then is missing (--start faithful keeps the recorded "
            "state)");
}

static void remark_unfinished(struct remark_target *t, const struct trace_reader *trace)
{
    const struct trace_info *info = trace_info(trace);
    if (info->is_unfinished)
        remark(t, REMARK_WARNING, "the trace is unfinished: it is still being written, or its writer was "
               "killed; its last %" PRIu64 " bytes are left out", info->cut_off_bytes);
}

/* Passes on what the importer noted: what the recording does not tell, one line each. */
static void remark_notes(struct remark_target *t, const struct trace_reader *trace)
{
    char line[TRACE_NOTE];
    const char *notes = trace_meta(trace, "notes");
    while (trace_next_note(&notes, line))
        if (line[0] != '\0')
            take_remark(t, trace_note_contradicts(line) ? REMARK_WARNING : REMARK_ASSUMPTION, line);
}

/* Says which events of the trace the run could not repeat. */
static void remark_controls(struct remark_target *t, const struct lane *l)
{
    for (int kind = 0; kind < CONTROL_KINDS; kind++)
        if (l->unsupported[kind] > 0)
            remark(t, REMARK_WARNING, "%" PRIu64 " '%s' control events were skipped: this policy does not support them",
                   l->unsupported[kind], control_text((enum control_kind)kind));
    if (l->meter.survived > 0)
        remark(t, REMARK_ASSUMPTION,
               "%" PRIu64 " request%s refused when recorded %s served here and freed at once: the trace does not show "
               "what the program would have done with %s",
               l->meter.survived, l->meter.survived == 1 ? " that was" : "s that were",
               l->meter.survived == 1 ? "is" : "are", l->meter.survived == 1 ? "it" : "them");
}

static enum report_outcome outcome_of(enum err e)
{
    switch (e) {
    case ERR_OK:         return REPORT_OK;
    case ERR_DEVICE_OOM: return REPORT_OOM;
    case ERR_CORRUPT:    return REPORT_CORRUPT;
    default:             return REPORT_ERROR;
    }
}

/* Converts where things happened to the numbering of the source. */
static enum err gather_numbers(struct trace_reader *trace, const struct lane *l, struct report_run *run,
                               struct err_detail *err)
{
    enum err e = trace_event_number(trace, (int64_t)l->meter.at_peak_sample.event - 1, &run->peak_event, err);
    if (e == ERR_OK && l->meter.ooms > 0)
        e = trace_event_number(trace, l->meter.first_oom.event, &run->first_oom_event, err);
    if (e == ERR_OK && l->is_stopped)
        e = trace_event_number(trace, l->stopped_at, &run->stopped_at, err);
    return e;
}

static enum err gather_run(struct trace_reader *trace, const struct lane *l, const struct device_choice *device,
                           struct report_run *run, struct err_detail *err)
{
    *run = (struct report_run){
        .spec            = l->spec,
        .label           = l->spec->typed,
        .measured        = l->device->measured,
        .device          = device->typed,
        .device_config   = &l->device->cfg,
        .usage           = &l->device->usage,
        .meter           = &l->meter,
        .count           = &l->policy->count,
        .card_peak_bytes = device_card_bytes(l->device, l->device->usage.page_peak_bytes),
        .outcome         = outcome_of(l->outcome),
        .is_stopped      = l->is_stopped,
    };
    struct remark_target t = { .run = run, .e = ERR_OK };
    assert(l->is_stopped || l->outcome == ERR_OK || l->outcome == ERR_DEVICE_OOM);
    char where[TEXT_NUMBER];
    const enum err e = gather_numbers(trace, l, run, err);
    if (e != ERR_OK)
        return e;
    if (l->outcome == ERR_INTERRUPTED && run->stopped_at < 0)
        remark(&t, REMARK_WARNING, "the run was interrupted before its first event");
    else if (l->outcome == ERR_INTERRUPTED)
        remark(&t, REMARK_WARNING, "the run was interrupted at %s %" PRId64 ": all figures are of the part before it",
               trace_event_word(trace), run->stopped_at);
    else if (run->outcome == REPORT_CORRUPT || run->outcome == REPORT_ERROR)
        remark(&t, REMARK_WARNING, "the run failed at %s: %s",
               text_event(trace_event_word(trace), run->stopped_at, where), l->err.text);
    if (l->policy->ops->remarks != NULL)
        l->policy->ops->remarks(l->policy, take_remark, &t);
    remark_controls(&t, l);
    remark_start(&t, trace, l);
    remark_unfinished(&t, trace);
    remark_notes(&t, trace);
    remark_device(&t, device);
    remark_card(&t, l->device);
    return t.e == ERR_OK ? ERR_OK : err_set(err, t.e, 0, "%s", err_text(t.e));
}

enum err result_gather(struct trace_reader *trace, const char *path, const struct bounds *bounds,
                       const struct coverage *coverage, const struct lane *lanes, size_t n_lanes,
                       const struct device_choice *device, struct report_run *runs, struct report *out,
                       struct err_detail *err)
{
    struct report r = { .trace = trace_facts(trace, path, bounds, coverage), .runs = runs,
                        .headline = device->headline, .is_device_assumed = !device->has_total };
    enum err e = ERR_OK;
    for (; r.n_runs < n_lanes && e == ERR_OK; r.n_runs++)
        e = gather_run(trace, &lanes[r.n_runs], device, &runs[r.n_runs], err);
    if (e != ERR_OK)
        result_close(&r);
    else
        *out = r;
    return e;
}

void result_close(struct report *r)
{
    for (size_t i = 0; i < r->n_runs; i++) {
        report_lines_close(&r->runs[i].assumptions);
        report_lines_close(&r->runs[i].warnings);
    }
    r->n_runs = 0;
}
