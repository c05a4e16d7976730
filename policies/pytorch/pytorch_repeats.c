/*
 * Whether one run of the allocator tells what another would have been.
 *
 * Some settings only bound what the allocator does: they are compared with how much is held, or with how large a block
 * is. Each is asked for in a few places, and below its bound every one of them answers as without any bound. So a run
 * that stayed within a bound is, decision by decision, the run of any other allocator whose bounds it stayed within as
 * well and which is the same in all else.
 */
#include "policies/pytorch/pytorch.h"

/* The settings but for the bounds. */
static bool settings_are_alike(const struct pytorch_settings *a, const struct pytorch_settings *b)
{
    static_assert(sizeof *a == 200, "a new member has to be compared here, or to be one of the bounds below");
    for (size_t i = 0; i < PYTORCH_ROUNDUP_INTERVALS; i++)
        if (a->roundup_divisions[i] != b->roundup_divisions[i])
            return false;
    return a->large_segment_size == b->large_segment_size && a->expandable_segments == b->expandable_segments &&
           a->release_lock_on_cudamalloc == b->release_lock_on_cudamalloc &&
           a->graph_capture_record_stream_reuse == b->graph_capture_record_stream_reuse &&
           a->is_async == b->is_async && a->reserve_kind == b->reserve_kind && a->reserve_bytes == b->reserve_bytes &&
           a->reserve_share >= b->reserve_share && a->reserve_share <= b->reserve_share;
}

static bool is_alike(const struct pytorch *a, const struct pytorch *b)
{
    return a->rules.release == b->rules.release && a->rules.is_npu == b->rules.is_npu &&
           a->rounds_to_power_of_two == b->rounds_to_power_of_two && a->has_no_cache == b->has_no_cache &&
           settings_are_alike(&a->settings, &b->settings);
}

/* The bound that `fresh` has is that of `done`, or a lower one that was not passed. */
static bool is_within(uint64_t most, uint64_t of_done, uint64_t of_fresh)
{
    return of_fresh == of_done || (of_fresh < of_done && most <= of_fresh);
}

/* max_split_size is compared with the sizes of free blocks, of the segments that are made, and of requests that a block
 * was found for; max_non_split_rounding only counts for requests of at least that size. No block is larger than its
 * segment: than the largest that was ever made, or, where segments expand, than all that was ever held. While all of
 * that is smaller, nothing is oversize, any block may be split, and no release finds a block that is large enough. */
static bool splits_alike(const struct pytorch *done, const struct pytorch *fresh)
{
    const struct pytorch_settings *a = &done->settings, *b = &fresh->settings;
    const uint64_t held = done->base.device->usage.reserved_peak_bytes;
    const uint64_t largest = done->cap_ranges > 0 && held > done->largest_segment ? held : done->largest_segment;
    if (a->max_split_size == b->max_split_size && a->max_non_split_rounding == b->max_non_split_rounding)
        return true;
    return b->max_split_size <= a->max_split_size && largest < b->max_split_size;
}

/* The card's capacity sets the reserve of expandable segments, and with it their addresses; what it bounds beside that,
 * the limits and the device tell. Any failed attempt to grow depends on all of these together. */
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
    /* A control that changes a bound is not followed; how often garbage was collected `fresh` could not remark. */
    if (done->has_new_bounds || done->gc_runs > 0)
        return false;
    return is_alike(done, fresh) && is_within(held, pytorch_gc_start(done), pytorch_gc_start(fresh)) &&
           splits_alike(done, fresh) && grows_alike(done, fresh);
}
