/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
#include "replay/adversary/adversary_search.h"

#include "base/random.h"
#include "base/units.h"
#include "policies/pytorch/pytorch.h"
#include "replay/adversary/program_acts.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define CARD_STEP (2 * MIB)
#define CARD_MOST (UINT64_C(1) << 50)

/* Programs with acts are short: hardly one of many calls has none that stand in each other's way. */
enum { ACT_CALLS = 16, FEW_CALLS_OF_TWO = 8, CALLS_OF_ONE = 40, SHRUNK_ONE_IN = 8 };

struct search {
    const struct adversary_request *asked;
    struct adversary *out;
    struct keep  keep;
    struct keep_runner runner;
    struct device_choice card;       /* of the runner: of one policy, its size is what is searched */
    struct trace_reader *blank;
    struct adversary_best *tried;    /* two for each number of calls */
    uint64_t random, budget;
    unsigned acts;                   /* bits of enum program_act_kind: both releases have them; 0: not asked for */
};

static bool is_of_two(const struct search *s)
{
    return s->out->n_specs == 2;
}

static bool is_over(const struct search *s)
{
    return s->out->n_tried >= s->budget || (s->asked->interrupted != NULL && *s->asked->interrupted != 0);
}

/* The best of each number of calls, whichever of the two reserves more: the way to a good long program may lead over
 * long ones that are no better than a short one. */
static struct adversary_best *place_of(const struct search *s, size_t n, bool is_other_larger)
{
    return &s->tried[2 * n + is_other_larger];
}

/* ---- one program ---- */

static double share_apart(const struct search *s)
{
    const struct keep_runner *r = &s->runner;
    if (r->is_refused != r->is_other_refused)
        return 1;
    const double more = (double)(r->peak_bytes > r->other_bytes ? r->peak_bytes : r->other_bytes);
    const double less = (double)(r->peak_bytes > r->other_bytes ? r->other_bytes : r->peak_bytes);
    return r->is_refused || more == 0 ? 0 : (more - less) / more;
}

/* Whether a card of so many bytes refuses a request. */
static enum err run_on(struct search *s, const struct tried_program *p, uint64_t total, bool *is_refused,
                       struct err_detail *err)
{
    s->card.config.total_bytes = total;
    return keep_holds(&s->runner, p->calls, p->n, true, is_refused, err);
}

/* The largest card that refuses a request, in steps of 2 MiB; 0: none of what is live, and none above the best so far
 * of as many calls, or all cards do. */
static enum err find_card(struct search *s, const struct tried_program *p, uint64_t *total, struct err_detail *err)
{
    const uint64_t holding = round_up(program_live_peak(p), CARD_STEP);
    const uint64_t better = place_of(s, p->n, false)->card_bytes + CARD_STEP;
    uint64_t refusing = better > holding ? better : holding, enough;
    bool is_refused;
    *total = 0;
    enum err e = run_on(s, p, refusing, &is_refused, err);
    if (e != ERR_OK || !is_refused)
        return e;
    for (enough = 2 * refusing; e == ERR_OK && enough < CARD_MOST; enough *= 2) {
        e = run_on(s, p, enough, &is_refused, err);
        if (!is_refused)
            break;
        refusing = enough;
    }
    while (e == ERR_OK && enough < CARD_MOST && enough - refusing > CARD_STEP) {
        const uint64_t middle = (refusing + (enough - refusing) / 2) / CARD_STEP * CARD_STEP;
        e = run_on(s, p, middle, &is_refused, err);
        *(is_refused ? &refusing : &enough) = middle;
    }
    s->out->refuses_always = s->out->refuses_always || enough >= CARD_MOST;
    *total = enough < CARD_MOST ? refusing : 0;
    return e;
}

static enum err score_of(struct search *s, const struct tried_program *p, struct adversary_best *out,
                         struct err_detail *err)
{
    bool holds;
    if (is_of_two(s)) {
        const bool is_idle = s->acts != 0 && !program_has_acts(p);
        const enum err e = is_idle ? ERR_OK : keep_holds(&s->runner, p->calls, p->n, true, &holds, err);
        out->score = is_idle || e != ERR_OK ? 0 : share_apart(s);
        return e;
    }
    const enum err e = find_card(s, p, &out->card_bytes, err);
    out->score = (double)out->card_bytes / (double)ADVERSARY_LIVE;
    return e;
}

/* A program whose requests and frees alone differ shows nothing of its acts. */
static enum err discount(struct search *s, struct adversary_best *b, struct err_detail *err)
{
    struct tried_program plain;
    bool holds;
    program_without_acts(&b->program, &plain);
    const enum err e = keep_holds(&s->runner, plain.calls, plain.n, true, &holds, err);
    if (e == ERR_OK && share_apart(s) > 0)
        b->score = 0;
    return e;
}

static enum err measure(struct search *s, const struct tried_program *p, struct adversary_best *out,
                        struct err_detail *err)
{
    *out = (struct adversary_best){ .program = *p, .live_bytes = program_live_peak(p) };
    enum err e = score_of(s, p, out, err);
    if (e != ERR_OK)
        return e;
    s->out->n_tried++;
    if (s->asked->progress != NULL)
        s->asked->progress(s->asked->progress_arg, s->out->n_tried, s->budget);
    for (int other = 0; other < 2; other++) {
        out->peak_bytes[other] = other ? s->runner.other_bytes : s->runner.peak_bytes;
        out->is_refused[other] = other ? s->runner.is_other_refused : s->runner.is_refused;
    }
    return s->acts != 0 && out->score > 0 ? discount(s, out, err) : ERR_OK;
}

static void keep_best(struct search *s, const struct adversary_best *b)
{
    const size_t n = b->program.n;
    const bool is_other = is_of_two(s) && (b->is_refused[1] != b->is_refused[0] ? b->is_refused[1]
                                                                              : b->peak_bytes[1] > b->peak_bytes[0]);
    if (n <= s->out->most_calls && b->score > place_of(s, n, is_other)->score)
        *place_of(s, n, is_other) = *b;
}

/* Those that score more than all of fewer calls. */
static void take_best(struct search *s)
{
    double most = 0;
    for (size_t n = 1; n <= s->out->most_calls; n++) {
        s->out->best[n].score = 0;
        for (int other = 0; other < 2; other++)
            if (place_of(s, n, other)->score > most) {
                s->out->best[n] = *place_of(s, n, other);
                most = s->out->best[n].score;
            }
    }
}

static size_t fewest_calls(const struct search *s)
{
    size_t n = 1;
    while (n <= s->out->most_calls && place_of(s, n, false)->score == 0 && place_of(s, n, true)->score == 0)
        n++;
    return n;
}

/* ---- fewer calls ---- */

static void take_calls(const struct shrunk *left, struct tried_program *p)
{
    uint32_t request[PROGRAM_CALLS + 1];
    *p = (struct tried_program){ .n = 0 };
    for (size_t i = 0; i < left->n; i++) {
        const struct event *c = &left->calls[i];
        if (c->kind == EVENT_ALLOC) {
            request[c->slot] = p->n_requests;
            program_request(p, c->bytes);
        } else {
            program_free(p, request[c->slot]);
        }
    }
}

/* What shrink leaves of a program. `trace` is the program's, for the caller to close. */
static enum err shrink_program(const struct search *s, const struct tried_program *p, struct keep *keep,
                               const volatile sig_atomic_t *interrupted, struct trace_reader **trace,
                               struct shrunk *left, struct err_detail *err)
{
    enum err e = program_open(p, trace, err);
    if (e != ERR_OK)
        return e;
    const struct single_run run = { .trace = *trace, .spec = s->out->specs[0], .device = s->out->device };
    const struct shrink_request asked = { .run = &run, .keep = keep, .interrupted = interrupted };
    return shrink_find(&asked, left, err);
}

/* ---- fewer calls, with acts ---- */

static bool is_first_larger(const struct adversary_best *b)
{
    return b->is_refused[0] != b->is_refused[1] ? b->is_refused[0] : b->peak_bytes[0] > b->peak_bytes[1];
}

/* Takes the changed program for the best if the same one of the two needs more. */
static enum err try_instead(struct search *s, struct adversary_best *b, const struct tried_program *changed,
                            bool *is_taken, struct err_detail *err)
{
    struct adversary_best now;
    *is_taken = false;
    if (changed->n == 0 || !program_is_valid(changed))
        return ERR_OK;
    const enum err e = measure(s, changed, &now, err);
    if (e == ERR_OK && now.score > 0 && is_first_larger(&now) == is_first_larger(b)) {
        *b = now;
        *is_taken = true;
    }
    return e;
}

/* One call out, or two: what is entered is left, too. */
static enum err try_without(struct search *s, struct adversary_best *b, size_t i, size_t k, bool *is_taken,
                            struct err_detail *err)
{
    struct tried_program changed = b->program;
    program_take_out(&changed, k);
    if (i < k && i < changed.n)
        program_take_out(&changed, i);
    return try_instead(s, b, &changed, is_taken, err);
}

static enum err try_fewer(struct search *s, struct adversary_best *b, bool *is_taken, struct err_detail *err)
{
    enum err e = ERR_OK;
    *is_taken = false;
    for (size_t k = b->program.n; k-- > 0 && e == ERR_OK && !*is_taken;)
        for (size_t i = k + 1; i-- > 0 && e == ERR_OK && !*is_taken;)
            e = try_without(s, b, i, k, is_taken, err);
    return e;
}

static enum err try_plain_sizes(struct search *s, struct adversary_best *b, struct err_detail *err)
{
    enum err e = ERR_OK;
    uint64_t bytes;
    for (uint32_t r = 0; r < b->program.n_requests; r++) {
        bool is_taken = false;
        for (size_t i = 0; (bytes = program_plain_size(i)) > 0 && e == ERR_OK && !is_taken; i++) {
            struct tried_program changed = b->program;
            program_resize(&changed, r, bytes);
            e = try_instead(s, b, &changed, &is_taken, err);
        }
    }
    return e;
}

static enum err shrink_acts(struct search *s, const struct adversary_best *b, struct err_detail *err)
{
    struct adversary_best now = *b;
    bool is_taken = true;
    enum err e = ERR_OK;
    while (is_taken && e == ERR_OK)
        e = try_fewer(s, &now, &is_taken, err);
    if (e == ERR_OK)
        e = try_plain_sizes(s, &now, err);
    if (e == ERR_OK)
        keep_best(s, &now);
    return e;
}

/* ---- one of many ---- */

static enum err try_shrunk(struct search *s, const struct adversary_best *b, struct err_detail *err)
{
    if (s->acts != 0)
        return shrink_acts(s, b, err);
    struct keep keep = s->keep;
    struct trace_reader *trace = NULL;
    struct shrunk left = { .n = 0 };
    struct tried_program p;
    struct adversary_best now;
    enum err e = shrink_program(s, &b->program, &keep, s->asked->interrupted, &trace, &left, err);
    s->out->n_tried += left.n_runs;
    if (e == ERR_OK) {
        take_calls(&left, &p);
        e = measure(s, &p, &now, err);
    }
    if (e == ERR_OK)
        keep_best(s, &now);
    shrunk_close(&left);
    trace_close(trace);
    return e;
}

/* A program that is too long to be kept may hold a short one. */
static enum err try_program(struct search *s, const struct tried_program *p, struct err_detail *err)
{
    struct adversary_best b;
    enum err e = p->n > 0 ? measure(s, p, &b, err) : ERR_OK;
    if (e != ERR_OK || p->n == 0 || b.score == 0)
        return e;
    keep_best(s, &b);
    const bool is_first = fewest_calls(s) > s->out->most_calls;
    return is_of_two(s) && (is_first || random_next(&s->random) % SHRUNK_ONE_IN == 0) ? try_shrunk(s, &b, err) : ERR_OK;
}

/* ---- many programs ---- */

static uint64_t most_live(const struct search *s)
{
    return is_of_two(s) ? 4 * ADVERSARY_LIVE : ADVERSARY_LIVE;
}

/* One of the best, changed. */
static enum err try_changed(struct search *s, struct err_detail *err)
{
    const size_t n_places = 2 * (s->out->most_calls + 1), first = random_next(&s->random) % n_places;
    size_t i = first;
    while (s->tried[i].score == 0 && (i = (i + 1) % n_places) != first)
        continue;
    struct tried_program p = s->tried[i].program;
    const uint64_t n_changes = 1 + random_next(&s->random) % 3;
    bool is_valid = true;
    for (uint64_t k = 0; k < n_changes && is_valid; k++)
        is_valid = program_change(&p, s->out->most_calls, most_live(s), s->acts, &s->random);
    return is_valid ? try_program(s, &p, err) : ERR_OK;
}

static enum err try_drawn(struct search *s, struct err_detail *err)
{
    struct tried_program p;
    const size_t most = s->acts != 0 ? ACT_CALLS : is_of_two(s) ? PROGRAM_CALLS : s->out->most_calls;
    const size_t n = 1 + random_next(&s->random) % (most < PROGRAM_CALLS ? most : PROGRAM_CALLS);
    if (s->acts == 0 && random_next(&s->random) % 3 == 0)
        program_draw_pattern(&p, is_of_two(s) ? n : s->out->most_calls, ADVERSARY_LIVE, &s->random);
    else
        program_draw(&p, n, most_live(s), s->acts, &s->random);
    return try_program(s, &p, err);
}

static enum err try_many(struct search *s, struct err_detail *err)
{
    enum err e = ERR_OK;
    for (uint64_t turn = 0; !is_over(s) && e == ERR_OK; turn++) {
        e = turn % 2 == 0 || fewest_calls(s) > s->out->most_calls ? try_drawn(s, err) : try_changed(s, err);
        s->out->n_tried += turn % 2 == 1;        /* what cannot be changed so counts, too: the search ends */
    }
    return e;
}

/* ---- all programs of few calls ---- */

/* All programs that begin with `p` and have `n` calls, the last of them a request: only requests raise a peak. */
static enum err try_all_after(struct search *s, const struct tried_program *p, size_t n, struct err_detail *err)
{
    enum err e = ERR_OK;
    struct tried_program next;
    uint64_t bytes;
    if (is_over(s))
        return ERR_OK;
    if (p->n == n) {
        struct adversary_best b;
        e = measure(s, p, &b, err);
        if (e == ERR_OK && b.score > 0)
            keep_best(s, &b);
        return e;
    }
    for (size_t i = 0; (bytes = program_plain_size(i)) > 0 && e == ERR_OK; i++) {
        next = *p;
        program_request(&next, bytes);
        e = try_all_after(s, &next, n, err);
    }
    for (uint32_t r = 0; r < p->n_requests && p->n + 1 < n && e == ERR_OK; r++) {
        bool is_live = true;
        for (size_t i = 0; i < p->n; i++)
            is_live = is_live && !(p->calls[i].kind == EVENT_FREE && p->calls[i].slot == r);
        next = *p;
        if (is_live && program_free(&next, r))
            e = try_all_after(s, &next, n, err);
    }
    for (unsigned act = 0; act < ACT_KINDS && p->n + 1 < n && e == ERR_OK; act++)
        for (uint32_t r = 0; r < (act == ACT_USE ? p->n_requests : 1) && e == ERR_OK; r++) {
            next = *p;
            if ((s->acts >> act & 1) != 0 && program_act(&next, act, r))
                e = try_all_after(s, &next, n, err);
        }
    return e;
}

static enum err try_all_short(struct search *s, struct err_detail *err)
{
    const struct tried_program none = { .n = 0 };
    enum err e = ERR_OK;
    s->out->all_below = 1;
    for (size_t n = 1; n < fewest_calls(s) && !is_over(s) && e == ERR_OK; n++) {
        e = try_all_after(s, &none, n, err);
        if (!is_over(s) && fewest_calls(s) > n)
            s->out->all_below = n + 1;
    }
    return e;
}

/* ---- the whole ---- */

/* The acts that a release has: pools of the program's came with 2.5, and lending ones later. */
static enum err acts_of(const struct search *s, const struct policy_spec *spec, unsigned *acts, struct err_detail *err)
{
    const unsigned pools = 1U << ACT_POOL_MAKE | 1U << ACT_POOL_ENTER | 1U << ACT_POOL_LEAVE | 1U << ACT_POOL_DROP;
    struct lane lane = { .spec = NULL };
    if (spec->ops != &policy_pytorch)
        return err_set(err, ERR_USAGE, 0, "--pools is for two settings or releases of PyTorch's allocator, and %s is "
                       "neither", spec->typed);
    const enum err e = lane_open_idle(spec, s->card.ops, &s->card.config, s->blank, 0, &lane, err);
    if (e == ERR_OK) {
        const struct pytorch_rules *rules = &((const struct pytorch *)lane.policy)->rules;
        *acts = 1U << ACT_CAPTURE_BEGIN | 1U << ACT_CAPTURE_END | 1U << ACT_GRAPH_RESET | 1U << ACT_USE |
                1U << ACT_FLUSH | (rules->has_user_pools ? pools : 0) |
                (rules->borrows_first || rules->borrows_last ? 1U << ACT_POOL_MAKE_LENDING : 0);
    }
    lane_close(&lane);
    return e;
}

static enum err choose_acts(struct search *s, struct err_detail *err)
{
    unsigned acts[2] = { 0 };
    if (!s->asked->has_acts)
        return ERR_OK;
    if (!is_of_two(s))
        return err_set(err, ERR_USAGE, 0, "--pools is for two policies");
    enum err e = acts_of(s, &s->out->specs[0], &acts[0], err);
    if (e == ERR_OK)
        e = acts_of(s, &s->out->specs[1], &acts[1], err);
    s->acts = acts[0] & acts[1];
    return e;
}

static enum err open_search(struct search *s, struct err_detail *err)
{
    struct adversary *a = s->out;
    enum err e = program_open_blank(&s->blank, err);
    for (size_t i = 0; i < 2 && s->asked->policies[i] != NULL && e == ERR_OK; i++, a->n_specs++)
        e = policy_spec_parse(s->asked->policies[i], &a->specs[i], err);
    if (e == ERR_OK)
        e = device_choose(s->asked->device == NULL ? "sim:unlimited" : s->asked->device, s->blank, &a->device, err);
    if (e != ERR_OK)
        return e;
    a->most_calls = s->asked->most_calls > 0 ? s->asked->most_calls : is_of_two(s) ? FEW_CALLS_OF_TWO : CALLS_OF_ONE;
    a->best = calloc(a->most_calls + 1, sizeof *a->best);
    s->tried = calloc(2 * (a->most_calls + 1), sizeof *s->tried);
    if (a->best == NULL || s->tried == NULL)
        return err_no_memory(err);
    s->random = s->asked->seed;
    s->card = a->device;
    s->keep = (struct keep){ .kind = is_of_two(s) ? KEEP_APART : KEEP_REFUSED_ANYHOW };
    if (is_of_two(s))
        s->keep.other = a->specs[1];
    s->runner = (struct keep_runner){ .keep = &s->keep, .spec = &a->specs[0], .device = &s->card,
                                      .trace = s->blank };
    return choose_acts(s, err);
}

/* The fewest calls, or the highest score. */
static const struct adversary_best *choose(const struct search *s)
{
    const struct adversary *a = s->out;
    const struct adversary_best *found = &a->best[0];
    for (size_t n = 1; n <= a->most_calls; n++)
        if (a->best[n].score > 0 && (found->score == 0 || !is_of_two(s) || s->asked->is_largest))
            found = &a->best[n];
    return found;
}

/* Takes for found what shrink leaves of a program; at once, that is the program. */
static enum err take_found(struct search *s, const struct adversary_best *b, const volatile sig_atomic_t *at_once,
                           struct err_detail *err)
{
    struct adversary *a = s->out;
    struct keep keep = s->keep;
    struct tried_program p;
    shrunk_close(&a->left);
    trace_close(a->trace);
    a->trace = NULL;
    if (is_of_two(s))
        keep.kind = b->is_refused[0] == b->is_refused[1] ? KEEP_DIFFERS : KEEP_REFUSED_APART;
    else
        a->device.config.total_bytes = b->card_bytes;
    const enum err e = shrink_program(s, &b->program, &keep, at_once, &a->trace, &a->left, err);
    if (e != ERR_OK)
        return e;
    take_calls(&a->left, &p);
    place_of(s, p.n, false)->card_bytes = b->card_bytes > CARD_STEP ? b->card_bytes - CARD_STEP : 0;
    return measure(s, &p, &a->found, err);
}

/* A program with acts is as short as it gets: its trace's own calls, whose acts are numbered as there. */
static enum err take_acts(struct search *s, const struct adversary_best *b, struct err_detail *err)
{
    struct adversary *a = s->out;
    const struct event *calls;
    size_t n = 0;
    a->found = *b;
    a->left = (struct shrunk){ .n_before = b->program.n, .n_streams = 1, .has_pools = true,
                               .total_bytes = a->device.config.total_bytes };
    enum err e = program_open(&b->program, &a->trace, err);
    if (e == ERR_OK)
        e = program_open(&b->program, &a->left.copy, err);
    if (e == ERR_OK)
        e = trace_next(a->left.copy, &calls, &n, err);
    a->left.calls = e == ERR_OK ? calloc(n + 1, sizeof *calls) : NULL;
    if (e == ERR_OK && a->left.calls == NULL)
        return err_no_memory(err);
    if (e == ERR_OK)
        memcpy(a->left.calls, calls, n * sizeof *calls);
    a->left.n = e == ERR_OK ? n : 0;
    return e;
}

/* Round sizes, without loss of what it shows. An interrupt does not stop what takes so little. */
static enum err finish(struct search *s, struct err_detail *err)
{
    static const volatile sig_atomic_t at_once = 1;
    struct adversary *a = s->out;
    take_best(s);
    const struct adversary_best best = *choose(s);
    if (best.score == 0)
        return ERR_OK;
    if (s->acts != 0)
        return take_acts(s, &best, err);
    enum err e = take_found(s, &best, NULL, err);
    if (e == ERR_OK && a->found.score < best.score)
        e = take_found(s, &best, &at_once, err);
    keep_best(s, &a->found);
    take_best(s);
    return e;
}

/* Chance first: it finds an upper bound of the calls, below which all are tried. */
enum err adversary_find(const struct adversary_request *asked, struct adversary *out, struct err_detail *err)
{
    struct search s = { .asked = asked, .out = out };
    *out = (struct adversary){ .n_specs = 0 };
    enum err e = open_search(&s, err);
    const uint64_t all = asked->programs;
    s.budget = is_of_two(&s) ? all / 100 * 45 : all;
    if (e == ERR_OK)
        e = try_many(&s, err);
    s.budget = all;
    if (e == ERR_OK && is_of_two(&s))
        e = try_all_short(&s, err);
    out->is_stopped = asked->interrupted != NULL && *asked->interrupted != 0;
    s.budget = UINT64_MAX;
    if (e == ERR_OK)
        e = finish(&s, err);
    free(s.tried);
    trace_close(s.blank);
    return e;
}

void adversary_close(struct adversary *a)
{
    shrunk_close(&a->left);
    trace_close(a->trace);
    free(a->best);
    for (size_t i = 0; i < 2; i++)
        policy_spec_close(&a->specs[i]);
    *a = (struct adversary){ .n_specs = 0 };
}

/* For sizes that are powers of two up to n times the smallest, and M live, counted in the smallest: M (1 + log2(n) / 2)
 * - n + 1. */
struct robson_bounds robson_bounds_of(const struct tried_program *p)
{
    uint64_t least = UINT64_MAX, most = 0;
    for (size_t i = 0; i < p->n; i++) {
        least = p->calls[i].bytes < least ? p->calls[i].bytes : least;
        most = p->calls[i].bytes > most ? p->calls[i].bytes : most;
    }
    if (p->n == 0)
        return (struct robson_bounds){ .size_ratio = 1, .any = 1, .first_fit = 1 };
    const double ratio = (double)most / (double)least, halvings = floor(log2(ratio));
    const double live = (double)program_live_peak(p) / (double)least;
    return (struct robson_bounds){ .size_ratio = ratio, .first_fit = ratio < 2 ? 1 : log2(ratio),
                                   .any = 1 + halvings / 2 - (exp2(halvings) - 1) / live };
}
