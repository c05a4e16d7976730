/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/* Starts a server again with other choices. */
#include "dryrun/served_tries.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { TRIES_MAX = 24, RANGE_STEPS = 16, STEPS_MAX = 8, FEWER_GRAPHS = 8 };

struct trying {
    struct served *served;
    struct served_place *place;
    struct served_start *start;      /* the first, without a choice */
    bool is_in_range;                /* values of the range are tried */
    size_t n_max;                    /* tries that there is room for */
    struct err_detail *err;
    enum err e;                      /* nothing more is tried after an error */
};

/* What a server calls its choices. */
struct option_names {
    const char *share, *length, *small_type, *captures, *no_graphs;
};

static struct option_names names_of(const struct server_log *log)
{
    return log->kind == SERVER_VLLM
         ? (struct option_names){ "--gpu-memory-utilization", "--max-model-len", "fp8", "--max-cudagraph-capture-size",
                                  "--enforce-eager" }
         : (struct option_names){ "--mem-fraction-static", "--context-length", "fp8_e4m3",
                                  log->has_phase_flags ? "--cuda-graph-max-bs-decode" : "--cuda-graph-max-bs",
                                  "--disable-cuda-graph" };
}

static bool is_ready(const struct served_start *s)
{
    return s != NULL && s->log.end == SERVER_IS_READY;
}

/* Ready, and with room for one request: SGLang begins without. */
static bool has_room(const struct served_start *s)
{
    return is_ready(s) && (s->budget.requests < 0 || s->budget.requests >= 1);
}

/* One more start, which takes minutes, or the one that was made. `value` may be "". NULL: it could not be made. */
static const struct served_start *try_choice(struct trying *t, const char *option, const char *value)
{
    struct served_start *s = t->start;
    const struct served_start *made = served_try_with(s, option, value);
    if (made != NULL)
        return made;
    if (t->e != ERR_OK || s->n_tries == t->n_max)
        return NULL;
    struct served_start *try = &s->tries[s->n_tries];
    *try = (struct served_start){ .card = s->card, .choice = { option }, .is_of_range = t->is_in_range };
    snprintf(try->choice_value, sizeof try->choice_value, "%s", value);
    try->choice[1] = value[0] == '\0' ? NULL : try->choice_value;
    t->e = served_run(t->served, t->place, try, t->err);
    s->n_tries += t->e == ERR_OK;
    return t->e == ERR_OK ? try : NULL;
}

static const struct served_start *try_share(struct trying *t, int hundredths)
{
    char value[16];
    snprintf(value, sizeof value, "%.2f", hundredths / 100.0);
    return try_choice(t, names_of(&t->start->log).share, value);
}

static int hundredths(double share)
{
    return (int)(share * 100 + 0.5);
}

/* Where a walk is: the outermost share that started and the innermost that did not; -1: none yet. */
struct walk {
    int started, refused, outwards;
};

static bool walk_is_done(const struct walk *w)
{
    const int edge = w->outwards > 0 ? 100 : 1;
    return w->started == edge || (w->started >= 0 && w->refused == w->started + w->outwards);
}

/* One step, or halfway between both. Of a share that was refused memory beside its cache, the largest with which that
 * request has room is nearer: a server that dies later may lack several. */
static int walk_next(const struct walk *w, int at, const struct served_start *try)
{
    const double room = w->outwards > 0 && try != NULL ? try->budget.most_share_after_refusal : -1;
    if (w->started >= 0 && w->refused >= 0)
        return (w->started + w->refused) / 2;
    if (w->started >= 0)
        return at + w->outwards;
    return room > 0 && hundredths(room) < at ? hundredths(room) : at - w->outwards;
}

/* From a share that should start: outwards while the server starts, or inwards until it does. Returns the last that
 * started, in hundredths, if the next one outwards did not; -1: it was not found. */
static int walk(struct trying *t, int from, int outwards)
{
    struct walk w = { .started = -1, .refused = -1, .outwards = outwards };
    for (int i = 0, at = from; i < STEPS_MAX && at > 0 && at <= 100 && t->e == ERR_OK && !walk_is_done(&w); i++) {
        const struct served_start *try = try_share(t, at);
        *((outwards < 0 ? has_room(try) : is_ready(try)) ? &w.started : &w.refused) = at;
        at = walk_next(&w, at, try);
    }
    return t->e == ERR_OK && walk_is_done(&w) ? w.started : -1;
}

/* The most first: of a server that dies later it is the answer. */
static void try_shares(struct trying *t)
{
    const struct server_budget *b = &t->start->budget;
    const double most = b->most_share_after_refusal > 0 ? b->most_share_after_refusal : b->most_simulated;
    if (most >= 0)
        t->start->most_tried = walk(t, hundredths(most), 1) / 100.0;
    if (b->least_simulated >= 0)
        t->start->least_tried = walk(t, hundredths(b->least_simulated), -1) / 100.0;
}

/* A graph for each size of batch up to a limit: fewer of them, and none. */
static void try_graphs(struct trying *t)
{
    const struct server_log *log = &t->start->log;
    char value[24];
    if (log->largest_capture >= FEWER_GRAPHS) {
        snprintf(value, sizeof value, "%" PRId64, log->largest_capture / FEWER_GRAPHS);
        (void)try_choice(t, names_of(log).captures, value);
    }
    if (log->largest_capture != 0)
        (void)try_choice(t, names_of(log).no_graphs, "");
}

/* The longest request that fits by the server's own word; else half of what was asked for. */
static void try_length(struct trying *t)
{
    const struct server_log *log = &t->start->log;
    const int64_t tokens = log->longest_tokens != SERVER_UNTOLD ? log->longest_tokens
                         : log->request_tokens != SERVER_UNTOLD ? log->request_tokens / 2 : 0;
    char value[24];
    if (tokens <= 0)
        return;
    snprintf(value, sizeof value, "%" PRId64, tokens);
    (void)try_choice(t, names_of(log).length, value);
}

static void try_choices(struct trying *t)
{
    try_shares(t);
    try_length(t);
    (void)try_choice(t, "--kv-cache-dtype", names_of(&t->start->log).small_type);
    try_graphs(t);
}

/* A sixteenth of the range, unless somebody typed a step. */
static uint64_t step_of(const struct value_range *range)
{
    const uint64_t step = (range->high - range->low) / RANGE_STEPS;
    return range->step > 0 ? range->step : step > 0 ? step : 1;
}

enum err served_read_range(struct served *s, struct err_detail *err)
{
    char name[RANGE_NAME];
    const enum err e = named_range_read(s->asked.range, name, &s->range, err);
    if (e != ERR_OK)
        return e;
    if (!served_takes_options(&s->asked))
        return err_set(err, ERR_USAGE, 0, "--range: '%.40s' takes no options of a server's; it is for vllm serve or "
                       "SGLang", s->asked.program[0]);
    snprintf(s->option, sizeof s->option, "--%s", name);
    s->range.step = step_of(&s->range);
    return ERR_OK;
}

static enum err try_value(void *arg, uint64_t value, bool *fits, struct err_detail *err)
{
    struct trying *t = arg;
    char text[24];
    t->is_in_range = true;
    (void)err;                       /* it is the one of `t` */
    snprintf(text, sizeof text, "%" PRIu64, value);
    *fits = is_ready(try_choice(t, t->served->option, text));
    return t->e;
}

enum err served_try(struct served *s, struct served_place *place, struct served_start *start, struct err_detail *err)
{
    const bool has_range = s->option[0] != '\0';
    struct trying t = { .served = s, .place = place, .start = start, .err = err, .n_max = TRIES_MAX };
    const struct value_trial trial = { .fits = try_value, .arg = &t, .is_rising = true };
    start->least_tried = start->most_tried = -1;
    if (!served_takes_options(&s->asked) || start->budget.verdict == SERVER_FITS_UNKNOWN)
        return ERR_OK;
    t.n_max += has_range ? largest_value_trials_max(&s->range) : 0;
    start->tries = calloc(t.n_max, sizeof *start->tries);
    if (start->tries == NULL)
        return err_no_memory(err);
    if (s->asked.tries)
        try_choices(&t);
    return t.e == ERR_OK && has_range ? largest_value_find(&s->range, &trial, &start->largest, err) : t.e;
}

const struct served_start *served_try_of(const struct served_start *start, const char *option)
{
    for (size_t i = 0; i < start->n_tries; i++)
        if (strcmp(start->tries[i].choice[0], option) == 0 && !start->tries[i].is_of_range)
            return &start->tries[i];
    return NULL;
}

/* The first start is one with a value that it has without a choice. */
static bool has_value(const struct served_start *s, const char *option, const char *value)
{
    const bool is_running = strcmp(option, "--max-num-seqs") == 0 || strcmp(option, "--max-running-requests") == 0;
    const int64_t had = strcmp(option, names_of(&s->log).length) == 0 ? s->log.request_tokens
                        : is_running                                  ? s->log.running_most
                                                                      : SERVER_UNTOLD;
    char text[24];
    snprintf(text, sizeof text, "%" PRId64, had);
    return had != SERVER_UNTOLD && strcmp(text, value) == 0;
}

const struct served_start *served_try_with(const struct served_start *start, const char *option, const char *value)
{
    if (has_value(start, option, value))
        return start;
    for (size_t i = 0; i < start->n_tries; i++)
        if (strcmp(start->tries[i].choice[0], option) == 0 && strcmp(start->tries[i].choice_value, value) == 0)
            return &start->tries[i];
    return NULL;
}
