/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/* Stretches of phases are counted up to the moment; those that a caught refusal cut short do not count. */
#include "replay/recording/reached.h"

/* A program that runs so many forward passes and no backward pass goes from one to the next. */
enum { FORWARDS_LEAST = 2 };

bool phase_has_begun(const struct phases *p, enum phase phase, uint64_t moment)
{
    return p->starts[phase].n > 0 && p->starts[phase].at[0] < moment;
}

/* Whether a request was refused in the stretch that begins at `start`: it was cut short, and the program went on. */
static bool is_stretch_cut(const struct phases *p, uint64_t start, uint64_t moment)
{
    const uint64_t refusal = phase_starts_after(&p->refusals, start);
    return refusal < moment && refusal < phase_starts_after(&p->all, start);
}

/* How many stretches of a phase before the moment were not cut short. */
static size_t count_whole(const struct phases *p, enum phase phase, uint64_t moment)
{
    const struct phase_starts *s = &p->starts[phase];
    size_t n = 0;
    for (size_t i = 0; i < s->n && s->at[i] < moment; i++)
        n += !is_stretch_cut(p, s->at[i], moment);
    return n;
}

/* Whether a forward pass follows the first stretch of a phase that was not cut short. */
static bool goes_on_after(const struct phases *p, enum phase phase, uint64_t moment)
{
    const struct phase_starts *s = &p->starts[phase];
    size_t i = 0;
    while (i < s->n && is_stretch_cut(p, s->at[i], moment))
        i++;
    return i < s->n && phase_starts_after(&p->starts[PHASE_FORWARD], s->at[i]) < moment;
}

/* A program that computes without modules: its passes are not told apart, but that gradients are computed is. If live
 * memory has hardly come down yet, no step has been repeated. */
static enum reached reached_without_modules(const struct coverage *c, const struct phases *p, uint64_t moment,
                                            unsigned turns_before)
{
    const bool is_first = turns_before < TURNS_OF_STEPS && !coverage_has_whole_step(c);
    if (!phase_has_begun(p, PHASE_BACKWARD, moment))
        return phase_has_begun(p, PHASE_SETUP, moment) ? REACHED_SETUP : REACHED_UNKNOWN;
    return is_first && !phase_has_begun(p, PHASE_OPTIMIZER, moment) ? REACHED_FIRST_STEP : REACHED_UNKNOWN;
}

/* As the phases tell. A program that makes no step of an optimizer goes from one forward pass to the next. */
static enum reached reached_by_phases(const struct coverage *c, const struct phases *p, uint64_t moment,
                                      unsigned turns_before)
{
    const bool is_stepping = phase_has_begun(p, PHASE_OPTIMIZER, moment);
    const bool is_learning = phase_has_begun(p, PHASE_BACKWARD, moment);
    if (!phase_has_begun(p, PHASE_FORWARD, moment))
        return reached_without_modules(c, p, moment, turns_before);
    if (is_stepping)
        return goes_on_after(p, PHASE_OPTIMIZER, moment) ? REACHED_STEPS : REACHED_OPTIMIZER;
    if (is_learning)
        return goes_on_after(p, PHASE_BACKWARD, moment) ? REACHED_STEPS : REACHED_BACKWARD;
    return count_whole(p, PHASE_FORWARD, moment) > FORWARDS_LEAST ? REACHED_STEPS : REACHED_FORWARD;
}

/* What repeats may be the layers of one backward pass, or micro-batches before the first step of the optimizer: of a
 * recording from the program's beginning the phases tell. Marks tell more than they do. */
enum reached reached_at(const struct coverage *c, const struct phases *p, uint64_t moment, unsigned turns_before)
{
    const struct steps *s = &c->steps;
    const bool is_whole = s->whole > 0 && s->begin_end <= moment;
    const bool may_be_parts = s->how == STEPS_BY_REPETITION && c->begins == BEGINS_EMPTY;
    const bool is_known = p->has_python && c->begins != BEGINS_CUT;
    const enum reached told = is_known ? reached_by_phases(c, p, moment, turns_before) : REACHED_UNKNOWN;
    const bool is_in_first = told == REACHED_BACKWARD || told == REACHED_OPTIMIZER;
    return is_whole && !(may_be_parts && is_in_first) ? REACHED_STEPS : told;
}

bool reached_is_before_a_step(enum reached r)
{
    return r != REACHED_UNKNOWN && r != REACHED_STEPS;
}

bool reached_is_in_passes(enum reached r)
{
    return r == REACHED_FORWARD || r == REACHED_BACKWARD || r == REACHED_OPTIMIZER;
}

const char *reached_word(enum reached r)
{
    static const char *const words[] = { NULL, "setup", "forward", "backward", "optimizer", "step", "steps" };
    return words[r];
}

const char *reached_phrase(enum reached r)
{
    static const char *const phrases[] = { "", "before its first forward pass", "in its first forward pass",
                                           "in its first backward pass", "in its first optimizer step",
                                           "before it repeated a step", "" };
    return phrases[r];
}
