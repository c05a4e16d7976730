/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
#include "replay/plan/lifetimes.h"

#include "base/array.h"
#include "base/prefetch.h"

#include <assert.h>
#include <stdlib.h>

static_assert(2 * (uint64_t)LIFETIMES_MAX < UINT32_MAX, "steps are numbered with 32 bits");

static bool lifetimes_step(struct lifetimes *l, size_t step)
{
    uint32_t *steps = array_grow(l->steps, l->n_steps, &l->cap_steps, sizeof *steps);
    if (steps == NULL)
        return false;
    l->steps = steps;
    l->steps[l->n_steps++] = (uint32_t)step;
    return true;
}

bool lifetimes_begin(struct lifetimes *l, uint64_t bytes, uint64_t time_ns)
{
    struct lifetime *lives = array_grow(l->at, l->n, &l->cap, sizeof *lives);
    if (lives == NULL)
        return false;
    l->at = lives;
    l->at[l->n] = (struct lifetime){ .bytes = bytes, .time_ns = time_ns, .begin = (uint32_t)l->n_steps,
                                         .end = UINT32_MAX };
    return lifetimes_step(l, 2 * l->n++);
}

bool lifetimes_end(struct lifetimes *l, size_t life, uint64_t time_ns)
{
    assert(life < l->n && l->at[life].end == UINT32_MAX);
    l->at[life].end = (uint32_t)l->n_steps;
    l->at[life].time_ns = time_ns - l->at[life].time_ns;
    return lifetimes_step(l, 2 * life + 1);
}

bool lifetimes_resume(struct lifetimes *l, size_t life)
{
    struct lifetime *at = &l->at[life];
    assert(at->end != UINT32_MAX && at->resume == 0);
    at->pause = at->end;
    at->resume = (uint32_t)l->n_steps;
    at->end = UINT32_MAX;
    l->has_pauses = true;
    return lifetimes_step(l, 2 * life);
}

void lifetimes_close(struct lifetimes *l)
{
    free(l->at);
    free(l->steps);
    *l = (struct lifetimes){ .at = NULL };
}

void lifetimes_cut(struct lifetimes *l, uint32_t step)
{
    while (l->n > 0 && l->at[l->n - 1].begin >= step)
        l->n--;
    for (size_t i = 0; i < l->n; i++)
        if (l->at[i].end >= step)
            l->at[i].end = UINT32_MAX;
    l->n_steps = step < l->n_steps ? step : l->n_steps;
}

uint64_t lifetimes_live_peak(const struct lifetimes *l, uint32_t *step)
{
    uint64_t live = 0, peak = 0;
    for (size_t i = 0; i < l->n_steps; i++) {
        const struct lifetime *life = lifetimes_at_step(l, i);
        live += l->steps[i] % 2 == 1 ? 0 - life->bytes : life->bytes;
        if (live <= peak)
            continue;
        peak = live;
        if (step != NULL)
            *step = (uint32_t)i;
    }
    return peak;
}

struct lifetime *lifetimes_at_step(const struct lifetimes *l, size_t step)
{
    if (step + LIFETIMES_AHEAD < l->n_steps)
        prefetch(&l->at[l->steps[step + LIFETIMES_AHEAD] / 2]);
    return &l->at[l->steps[step] / 2];
}
