/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/* Arithmetic over what an SGLang server said of its memory. */
#include "dryrun/sglang_budget.h"

#include "base/units.h"

/* Its figures are rounded to this. */
#define ROUNDING ((int64_t)(GIB / 100))

static bool is_told(int64_t bytes)
{
    return bytes != SERVER_UNTOLD;
}

bool sglang_has_prefill_graphs(const struct server_log *log)
{
    return is_told(log->largest_prefill_capture) && log->largest_prefill_capture > 0;
}

int64_t sglang_unseen_most(const struct server_log *log)
{
    return server_libraries_most(log) + server_graphs_most(log);
}

/* In hundredths, as people type it: up. -1: no share below the whole. */
static double fraction_up(double fraction)
{
    const double hundredths = fraction * 100;
    const int64_t whole = (int64_t)hundredths;
    const double up = (double)(hundredths > (double)whole ? whole + 1 : whole) / 100;
    return fraction > 0 && up < 1 ? up : -1;
}

static double fraction_down(double fraction)
{
    return fraction >= 0.01 ? (double)(int64_t)((fraction < 1 ? fraction : 0.99) * 100) / 100 : -1;
}

/* The fraction is told, and so is what it is of. */
static bool has_fraction(const struct server_log *log)
{
    return log->utilization >= 0 && is_told(log->free_at_start) && log->free_at_start > 0;
}

/* With which the cache is larger by so much. */
static double fraction_with(const struct server_log *log, int64_t more)
{
    return log->utilization + (double)more / (double)log->free_at_start;
}

/* Of one that has no cache: by itself, or from what its weights left. */
static double least_of_none(const struct server_log *log)
{
    if (log->least_fraction > 0)
        return fraction_up(log->least_fraction + 1e-9);
    if (!is_told(log->free_after_weights) || !is_told(log->free_at_start) || log->free_at_start <= 0)
        return -1;
    return fraction_up(1 - (double)(log->free_after_weights - ROUNDING) / (double)log->free_at_start);
}

static enum server_verdict verdict(const struct server_log *log)
{
    return log->end == SERVER_IS_READY        ? SERVER_FITS
         : log->end == SERVER_ENDED_OTHERWISE ? SERVER_FITS_UNKNOWN
                                              : SERVER_FITS_NOT;
}

/* What is refused beside a cache fits if the cache is smaller by as much. */
static void find_room_for_refused(const struct server_log *log, struct server_budget *b)
{
    const bool is_refused = log->end == SERVER_WAS_REFUSED || log->end == SERVER_DIED_LATER;
    b->most_share_after_refusal = -1;
    if (is_refused && is_told(log->refused_bytes) && is_told(log->cache) && has_fraction(log) &&
        log->cache > log->refused_bytes + ROUNDING)
        b->most_share_after_refusal = fraction_down(fraction_with(log, -log->refused_bytes - ROUNDING));
}

void sglang_budget_find(const struct server_log *log, struct server_budget *b)
{
    const int64_t libraries = server_libraries_most(log);
    const bool is_sized = is_told(log->cache) && has_fraction(log);
    const bool has_request = is_sized && is_told(b->request_bytes);
    b->beside_weights = b->not_asked_for = b->estimate_error = b->never_used = SERVER_UNTOLD;
    b->cache_least = is_told(log->cache) ? log->cache - libraries : SERVER_UNTOLD;
    b->tokens_least = b->bytes_per_token > 0 && b->cache_least > 0
                      ? (int64_t)((double)b->cache_least / b->bytes_per_token) : SERVER_UNTOLD;
    b->least_utilization = log->end == SERVER_HAS_NO_CACHE ? least_of_none(log) : !has_request ? -1
                         : fraction_up(fraction_with(log, b->request_bytes - log->cache + libraries + ROUNDING));
    b->least_simulated = has_request ? fraction_up(fraction_with(log, b->request_bytes - log->cache)) : -1;
    b->most_utilization = b->most_simulated = -1;
    b->most_tokens = SERVER_UNTOLD;
    b->small_type_tokens = is_told(log->tokens) && !log->has_small_cache_type && !log->has_latent_cache
                           ? 2 * log->tokens : SERVER_UNTOLD;
    find_room_for_refused(log, b);
    b->verdict = verdict(log);
}

void sglang_budget_add_peak(const struct server_log *log, int64_t peak, bool is_served, struct server_budget *b)
{
    if (log->end != SERVER_IS_READY || !is_told(log->free_at_start))
        return;
    const int64_t spare = log->free_at_start - peak - sglang_unseen_most(log) - ROUNDING;
    b->never_used = log->free_at_start - peak;
    if ((spare < 0 || sglang_has_prefill_graphs(log)) && b->verdict == SERVER_FITS)
        b->verdict = SERVER_MAY_FIT;
    if (!has_fraction(log))
        return;
    b->most_simulated = fraction_down(fraction_with(log, b->never_used));
    if (!is_served || sglang_has_prefill_graphs(log))
        return;                                      /* a full step, or the graphs, take more: how much is not known */
    b->is_share_too_large = spare < 0;
    b->most_utilization = fraction_down(fraction_with(log, spare));
    if (b->bytes_per_token > 0 && is_told(log->tokens) && b->most_utilization >= 0)
        b->most_tokens = log->tokens + (int64_t)((b->most_utilization - log->utilization) *
                                                 (double)log->free_at_start / b->bytes_per_token);
    if (b->most_utilization < b->least_utilization)
        b->least_utilization = -1;                   /* none has room for both */
}
