/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * Whether one run of the allocator tells what another would have been.
 *
 * Some settings only bound what the allocator does: it compares them with the bytes held, or with the size of a block.
 * Below its bound each such comparison answers as if there were no bound. So a run that stayed within its bounds is,
 * decision by decision, the run of every other allocator that equals it in all else and whose bounds it stayed within
 * as well.
 */
#include "policies/pytorch/pytorch.h"

#include <string.h>

/* Compares member by member, so that padding does not count. */
static bool settings_are_alike(const struct pytorch_settings *a, const struct pytorch_settings *b)
{
#define IS_BOUND 1
#define IS_ALIKE 0
#define PYTORCH_SETTING(type, name, kind) (IS_##kind || memcmp(&a->name, &b->name, sizeof a->name) == 0) &&
    return PYTORCH_SETTINGS(PYTORCH_SETTING) true;
#undef PYTORCH_SETTING
#undef IS_ALIKE
#undef IS_BOUND
}

static bool is_alike(const struct pytorch *a, const struct pytorch *b)
{
    return a->rules.release == b->rules.release && a->rules.is_npu == b->rules.is_npu && a->without == b->without &&
           settings_are_alike(&a->settings, &b->settings);
}

/* Whether the bound of `fresh` is that of `done`, or a lower one that `done` stayed within. `most`: the most that
 * `done` had of what is bounded. */
static bool is_within(uint64_t most, uint64_t of_done, uint64_t of_fresh)
{
    return of_fresh == of_done || (of_fresh < of_done && most <= of_fresh);
}

/* The allocator compares max_split_size with the sizes of free blocks, of new segments, and of requests that a block
 * was found for; max_non_split_rounding matters only to requests of at least max_split_size. No block is larger than
 * its segment, which is at most the largest segment ever made or, if segments expand, all that was ever held. While
 * that is below max_split_size, no block is oversize and every block may be split. */
static bool splits_alike(const struct pytorch *done, const struct pytorch *fresh)
{
    const struct pytorch_settings *a = &done->settings, *b = &fresh->settings;
    const uint64_t held = done->base.device->usage.reserved_peak_bytes;
    const uint64_t largest = done->cap_ranges > 0 && held > done->largest_segment ? held : done->largest_segment;
    if (a->max_split_size == b->max_split_size && a->max_non_split_rounding == b->max_non_split_rounding)
        return true;
    return b->max_split_size <= a->max_split_size && largest < b->max_split_size;
}

/* The card's capacity sets the reserve of expandable segments, and so their addresses. Apart from that it only bounds
 * how much can be held. A failed attempt to grow depends on all the bounds together, so a run with
 * one proves nothing. */
static bool grows_alike(const struct pytorch *done, const struct pytorch *fresh)
{
    const struct device *a = done->base.device, *b = fresh->base.device;
    const uint64_t held = a->usage.reserved_peak_bytes;
    const uint64_t of_done = pytorch_rejection_limit(done), of_fresh = pytorch_rejection_limit(fresh);
    if (device_is_as_large(a, b) && done->limit == fresh->limit && of_done == of_fresh)
        return true;
    if (a->cfg.total_bytes != b->cfg.total_bytes && (done->settings.expandable_segments || done->cap_ranges > 0))
        return false;
    return !done->has_lacked && is_within(held, done->limit, fresh->limit) && is_within(held, of_done, of_fresh);
}

bool pytorch_repeats(const struct policy *done_base, const struct policy *fresh_base)
{
    const struct pytorch *done = (const struct pytorch *)done_base, *fresh = (const struct pytorch *)fresh_base;
    const uint64_t held = done_base->device->usage.reserved_peak_bytes;
    /* A bound that changed while `done` ran is not compared here; and `fresh` must remark how often it collected. */
    if (done->has_new_bounds || done->gc_runs > 0)
        return false;
    return is_alike(done, fresh) && is_within(held, pytorch_gc_start(done), pytorch_gc_start(fresh)) &&
           splits_alike(done, fresh) && grows_alike(done, fresh);
}
