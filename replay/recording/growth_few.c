/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/* One walk finds the lines that give back what is old; what is held is then summed up by the step that asked for it. */
#include "replay/recording/growth_few.h"

#include "replay/recording/telling_lines.h"

#include <stdlib.h>

/* So many turns: of more growth.c tells. It matters if it is an 8th of the need. Fewer steps on record tell nothing. */
enum { TURNS_SEEN_LEAST = 2, TURNS_TOLD = 3, TURNS_MOST = 6, NEED_SHARE = 8, STEPS_LEAST = 2 };

/* A turn counts if it left a quarter of the most that any did; none that was not cut off left less than half as much as
 * another, nor are two more than twice as far apart as two others. */
enum { TURN_SHARE = 4, ALIKE = 2, APART = 2 };

/* A line gave back what is old if that is an 8th of what it holds. Old is what two later steps have met. */
enum { GIVEN_SHARE = 8, OLD_STEPS = 2 };

/* With so many calls of modules in a step of training, those of an evaluation may be parts of one long pass. */
enum { LOOP_CALLS = 3 };

/* A graph is at least so many requests. */
enum { GRAPH_REQUESTS = 4, RESULTS_MOST = 2 };

struct few {
    const struct phases *phases;
    const struct phase_starts *steps;
    bool      is_of_passes;          /* `steps` are forward passes: nothing learns */
    bool      is_evaluation;         /* likewise: nothing learns any more */
    const uint32_t *stacks;
    uint64_t  moment;
    size_t    request;
    uint32_t *line;                  /* by slot: 0: none that counts; otherwise the line's number and 1 */
    size_t   *born;                  /* by slot: the step */
    uint64_t *given;                 /* by line: of what was old */
    uint64_t *bytes;                 /* by step: held of it at the moment */
    size_t   *n;                     /* likewise: of how many requests, of a forward pass */
    uint64_t *first;                 /* likewise: the first that is held */
};

static bool may_count(const struct few *f, uint32_t stack)
{
    const enum phase phase = (enum phase)f->phases->of_stack[stack];
    return stack != TRACE_NO_STACK && (phase == PHASE_FORWARD || phase == PHASE_OWN);
}

static size_t step_of(const struct few *f, uint64_t event)
{
    return phase_starts_up_to(f->steps, (int64_t)event);
}

static void few_event(void *arg, const struct event *ev, uint64_t number)
{
    struct few *f = arg;
    if (number >= f->moment)
        return;
    if (ev->kind == EVENT_ALLOC) {
        const uint32_t stack = f->stacks[f->request++];
        f->line[ev->slot] = may_count(f, stack) ? f->phases->line_of[stack] + 1 : 0;
        f->born[ev->slot] = step_of(f, number);
    } else if ((ev->kind == EVENT_FREE || ev->kind == EVENT_FREE_REQUESTED) && f->line[ev->slot] > 0) {
        const bool is_old = step_of(f, number) >= f->born[ev->slot] + OLD_STEPS;
        f->given[f->line[ev->slot] - 1] += is_old ? ev->bytes : 0;
        f->line[ev->slot] = 0;
    }
}

/* Data that are put on the card before the first forward pass are of no step. */
static bool is_of_step(const struct few *f, const struct holding *h)
{
    const struct phase_starts *from = f->is_evaluation ? f->steps : &f->phases->starts[PHASE_FORWARD];
    return from->n > 0 && h->born >= 0 && (uint64_t)h->born >= from->at[0] && may_count(f, h->stack);
}

/* Keeps of what is held what counts: of lines that give nothing old back. `held`: zero, by line. */
static void keep_counting(const struct few *f, struct holdings *h, uint64_t *held)
{
    size_t kept = 0;
    for (size_t i = 0; i < h->n; i++)
        if (is_of_step(f, &h->at[i]))
            held[f->phases->line_of[h->at[i].stack]] += h->at[i].bytes;
    for (size_t i = 0; i < h->n; i++) {
        const struct holding one = h->at[i];
        const uint32_t line = f->phases->line_of[one.stack];
        if (is_of_step(f, &one) && f->given[line] < held[line] / GIVEN_SHARE + 1)
            h->at[kept++] = one;
    }
    h->n = kept;
}

static void sum_steps(const struct few *f, const struct holdings *h)
{
    for (size_t i = 0; i < h->n; i++) {
        const uint64_t born = (uint64_t)h->at[i].born;
        const size_t step = step_of(f, born);
        f->first[step] = f->bytes[step] == 0 || born < f->first[step] ? born : f->first[step];
        f->bytes[step] += h->at[i].bytes;
        f->n[step] += f->phases->of_stack[h->at[i].stack] == PHASE_FORWARD;
    }
}

/* The turns, by the steps in which they lie. */
struct turns {
    size_t   n, first, second, last, nearest, farthest;
    uint64_t bytes, smallest, largest, largest_before;   /* largest_before: without the last turn */
    size_t   fewest;                 /* requests of a forward pass */
};

static void add_turn(const struct few *f, struct turns *t, size_t step)
{
    const size_t apart = step - t->last;
    t->nearest = t->n > 0 && apart < t->nearest ? apart : t->nearest;
    t->farthest = t->n > 0 && apart > t->farthest ? apart : t->farthest;
    t->first = t->n == 0 ? step : t->first;
    t->second = t->n == 1 ? step : t->second;
    t->largest_before = t->largest;
    t->smallest = f->bytes[step] < t->smallest ? f->bytes[step] : t->smallest;
    t->largest = f->bytes[step] > t->largest ? f->bytes[step] : t->largest;
    t->fewest = f->n[step] < t->fewest ? f->n[step] : t->fewest;
    t->bytes += f->bytes[step];
    t->last = step;
    t->n++;
}

/* All finished steps; the one that is cut off holds what it needs as well. */
static struct turns find_turns(const struct few *f, size_t finished)
{
    struct turns t = { .nearest = SIZE_MAX, .smallest = UINT64_MAX, .fewest = SIZE_MAX };
    uint64_t most = 0;
    for (size_t i = 0; i < finished; i++)
        most = f->bytes[i] > most ? f->bytes[i] : most;
    for (size_t i = 0; i < finished; i++)
        if (most > 0 && f->bytes[i] >= most / TURN_SHARE)
            add_turn(f, &t, i);
    return t;
}

/* A turn may be what comes next: the last one is no farther from the end than two are apart. The result of the last
 * step alone is no turn, so of two the second is older. */
static bool are_alike(const struct few *f, const struct turns *t, size_t finished)
{
    return t->n >= TURNS_SEEN_LEAST && (t->n <= TURNS_MOST || f->is_evaluation) && t->largest <= ALIKE * t->smallest &&
           t->farthest <= APART * t->nearest && finished - t->last <= APART * t->nearest;
}

/* Forward passes of a program that does not learn may be the layers of one, or chats that come and go. They tell if
 * each left as much as the others, in one request or two: a result that is kept. In an evaluation after training they
 * may keep more: hidden states, or graphs. The input of the pass that is cut
 * off came before it, and counts with the last turn. */
static bool are_results(const struct few *f, const struct turns *t)
{
    const uint64_t largest = f->is_evaluation ? t->largest_before : t->largest;
    return t->n >= TURNS_TOLD && (t->fewest <= RESULTS_MOST || f->is_evaluation) && 4 * largest <= 5 * t->smallest;
}

static unsigned phases_of(const struct few *f, const struct holdings *h, uint64_t bytes)
{
    uint64_t of[PHASES] = { 0 };
    unsigned phases = 0;
    for (size_t i = 0; i < h->n; i++)
        of[f->phases->of_stack[h->at[i].stack]] += h->at[i].bytes;
    for (int i = 0; i < PHASES; i++)
        phases |= of[i] > bytes / 4 ? 1U << i : 0;
    return phases;
}

static enum err take_growth(struct trace_reader *trace, const struct few *f, struct holdings *h, size_t finished,
                            const struct turns *t, struct growth *out, struct err_detail *err)
{
    size_t kept = 0;
    for (size_t i = 0; i < h->n; i++)
        if (step_of(f, (uint64_t)h->at[i].born) < finished)
            h->at[kept++] = h->at[i];
    h->n = kept;
    out->is_found = true;
    out->turn = t->farthest > 1 ? TURN_RUN : f->is_of_passes ? TURN_FORWARD : TURN_STEP;
    out->turns = t->n;
    out->of_two_sets = t->n < TURNS_TOLD && t->fewest < GRAPH_REQUESTS;
    out->of_two_turns = t->n < TURNS_TOLD && !out->of_two_sets;
    out->bytes = t->bytes;
    out->bytes_per_turn = t->bytes / t->n;
    out->since = f->first[t->second];
    out->of_evaluation = f->is_evaluation;
    out->phases = phases_of(f, h, t->bytes);
    return growth_take_lines(trace, h, f->moment, out, err);
}

static enum err find(struct trace_reader *trace, struct few *f, struct holdings *h, uint64_t *held,
                     uint64_t need_bytes, struct growth *out, struct err_detail *err)
{
    const size_t finished = step_of(f, f->moment);
    const enum err e = trace_each_event(trace, few_event, f, err);
    if (e != ERR_OK)
        return e;
    keep_counting(f, h, held);
    sum_steps(f, h);
    const struct turns t = find_turns(f, finished);
    if (!are_alike(f, &t, finished) || (f->is_of_passes && !are_results(f, &t)) || t.bytes < need_bytes / NEED_SHARE)
        return ERR_OK;
    return take_growth(trace, f, h, finished, &t, out, err);
}

static enum err find_in_room(struct trace_reader *trace, struct few *f, uint64_t need_bytes, struct growth *out,
                             struct err_detail *err)
{
    struct holdings h = { .n = 0 };
    const size_t lines = (size_t)trace_info(trace)->n_stacks + 1;
    uint64_t *held = calloc(lines, sizeof *held);
    const bool has_room = held != NULL && f->line != NULL && f->born != NULL && f->given != NULL &&
                          f->bytes != NULL && f->n != NULL && f->first != NULL;
    enum err e = has_room ? holdings_read(trace, MOMENT_EVENT, f->moment, &h, err) : err_no_memory(err);
    if (e == ERR_OK)
        e = find(trace, f, &h, held, need_bytes, out, err);
    holdings_close(&h);
    free(held);
    return e;
}

static enum err find_in_steps(struct trace_reader *trace, struct few f, uint64_t need_bytes, struct growth *out,
                              struct err_detail *err)
{
    const size_t slots = (size_t)trace_info(trace)->peak_live + 1, n = f.steps->n + 1;
    if (f.steps->n < STEPS_LEAST)
        return ERR_OK;
    f.line = calloc(slots, sizeof *f.line);
    f.born = calloc(slots, sizeof *f.born);
    f.given = calloc((size_t)trace_info(trace)->n_stacks + 1, sizeof *f.given);
    f.bytes = calloc(n, sizeof *f.bytes);
    f.n = calloc(n, sizeof *f.n);
    f.first = calloc(n, sizeof *f.first);
    const enum err e = find_in_room(trace, &f, need_bytes, out, err);
    out->until = f.moment;
    free(f.line);
    free(f.born);
    free(f.given);
    free(f.bytes);
    free(f.n);
    free(f.first);
    return e;
}

enum err growth_few_find(struct trace_reader *trace, const struct phases *phases, const uint32_t *stacks,
                         uint64_t moment, uint64_t need_bytes, struct growth *out, struct err_detail *err)
{
    const enum phase phase = phases->starts[PHASE_OPTIMIZER].n > 0  ? PHASE_OPTIMIZER
                             : phases->starts[PHASE_BACKWARD].n > 0 ? PHASE_BACKWARD     /* SGD's ask for nothing */
                                                                    : PHASE_FORWARD;
    const struct few f = { .phases = phases, .steps = &phases->starts[phase], .is_of_passes = phase == PHASE_FORWARD,
                           .stacks = stacks, .moment = moment };
    return find_in_steps(trace, f, need_bytes, out, err);
}

enum err growth_evaluated_find(struct trace_reader *trace, const struct phases *phases, const uint32_t *stacks,
                               uint64_t moment, uint64_t need_bytes, struct growth *out, struct err_detail *err)
{
    const struct phase_starts *forward = &phases->starts[PHASE_FORWARD];
    if (forward->n == 0)
        return ERR_OK;
    const size_t first = phase_starts_up_to(forward, (int64_t)phases_last_learning(phases, moment));
    const struct phase_starts passes = { .at = forward->at + first, .n = forward->n - first };
    const struct few f = { .phases = phases, .steps = &passes, .is_of_passes = true, .is_evaluation = true,
                           .stacks = stacks, .moment = moment };
    return phases_most_calls(phases, moment) < LOOP_CALLS ? find_in_steps(trace, f, need_bytes, out, err) : ERR_OK;
}
