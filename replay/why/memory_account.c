/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
#include "replay/why/memory_account.h"

#include "base/units.h"
#include "sim/card_context.h"

static uint64_t minus(uint64_t a, uint64_t b)
{
    return a > b ? a - b : 0;
}

/* What is free, cached and free in pools, together. */
static uint64_t gain_of(const struct memory_account *a, const struct memory_judgement *j)
{
    return add_capped(add_capped(j->room, a->cached), a->pools);
}

/* Who is the largest when neither cache nor room suffices. A request that is larger than all that is live is the story,
 * whatever else lies on the card. */
static enum memory_giver find_largest(const struct memory_account *a)
{
    if (a->asked > a->allocated && a->asked > a->others)
        return GIVER_REQUEST;
    return a->others > a->allocated ? GIVER_OTHERS : GIVER_LIVE;
}

/* A gain that is no more than a scrap of what the program may have serves one request, and not what follows. */
static bool is_scrap(const struct memory_account *a, uint64_t gain)
{
    return gain <= (a->allowed == MEMORY_UNKNOWN ? a->total : a->allowed) / MEMORY_GAIN_SHARE;
}

/* A rest that nobody names may be contexts and buffers of NCCL or RCCL, which grow with the cards of a run. */
static bool do_others_count(const struct memory_account *a)
{
    return a->are_others_named ? card_others_matter(a->others, a->total) : a->others > a->total / MEMORY_GAIN_SHARE;
}

/* Others that hold more than the program does are the verdict even if its cache would have served this one request:
 * the next request finds the same card. Others that hold less are it only if the cache is no cure, and if they hold
 * more than what would have served the request without them. */
static bool blame_others(const struct memory_account *a, const struct memory_judgement *j)
{
    const uint64_t own = add_capped(a->allocated, a->cached);
    const uint64_t gain = gain_of(a, j), with_others = add_capped(gain, a->others);
    return do_others_count(a) && with_others >= a->least_asked && !is_scrap(a, with_others) &&
           (a->others >= own || gain < a->asked || (is_scrap(a, gain) && a->others > gain));
}

/* Between "it fits" and "it does not" lie the rounding of the figures and of the request. */
static enum memory_giver compare(const struct memory_account *a, struct memory_judgement *j)
{
    const uint64_t gain = gain_of(a, j);
    j->shortfall = minus(a->least_asked, add_capped(gain, a->rounding));
    if (j->shortfall > 0)
        return find_largest(a);
    if (is_scrap(a, gain))
        return GIVER_LIVE;
    return gain >= add_capped(add_capped(a->asked, a->rounding), a->asked_rounding) ? GIVER_CACHE
                                                                                      : GIVER_CACHE_OR_LIVE;
}

/* Whether a known limit refused the request, as far as its figures are exact: texts have three digits or more. */
static bool is_at_limit(const struct memory_account *a, uint64_t left)
{
    return a->allowed != MEMORY_UNKNOWN && left < add_capped(a->asked, a->allowed / 100);
}

struct memory_judgement memory_judge(const struct memory_account *a)
{
    const uint64_t own = add_capped(a->allocated, a->cached);
    const uint64_t left = a->allowed == MEMORY_UNKNOWN ? UINT64_MAX : minus(a->allowed, own);
    struct memory_judgement j = { .room = left < a->free ? left : a->free, .is_limit_nearer = left < a->free };
    if (a->allocated > add_capped(a->total, a->total / 100))
        j.giver = GIVER_HOST;
    else if (a->asked > add_capped(a->total, a->asked_rounding))
        j.giver = GIVER_REQUEST;
    else if (a->free >= add_capped(add_capped(a->asked, a->rounding), a->asked_rounding))
        j.giver = is_at_limit(a, left) ? GIVER_LIMIT : GIVER_ROOM;
    else if (blame_others(a, &j))
        j.giver = GIVER_OTHERS;
    else
        j.giver = compare(a, &j);
    return j;
}
