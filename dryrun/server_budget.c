/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/* Arithmetic over what a server said of its memory. */
#include "dryrun/sglang_budget.h"

#include "base/units.h"

/* vLLM's figures are rounded to this: half of it each way, and sums hold two of them. */
#define ROUNDING ((int64_t)(GIB / 100))

static bool is_told(int64_t bytes)
{
    return bytes != SERVER_UNTOLD;
}

int64_t server_libraries_least(const struct server_log *log)
{
    return (int64_t)(log->cards > 1 ? 7 * GIB / 100 : 2 * GIB / 100);
}

int64_t server_libraries_most(const struct server_log *log)
{
    return (int64_t)(log->cards > 1 ? 217 * GIB / 100 : 46 * GIB / 100);
}

int64_t server_graphs_most(const struct server_log *log)
{
    const bool has_graphs = (is_told(log->graphs_captured) && log->graphs_captured > 0) ||
                            (is_told(log->graphs_estimated) && log->graphs_estimated > 0);
    return has_graphs ? (int64_t)(185 * GIB / 100) : 0;
}

/* In hundredths, as people type it: up or down. */
static double hundredths_up(double share)
{
    const double hundredths = share * 100;
    const int64_t whole = (int64_t)hundredths;
    return (double)(hundredths > (double)whole ? whole + 1 : whole) / 100;
}

static double hundredths_down(double share)
{
    return (double)(int64_t)(share * 100) / 100;
}

static bool is_taken_off(const struct server_log *log)
{
    return is_told(log->graphs_estimated) && !log->is_estimate_unused;
}

/* What a card takes off the cache, and the simulated one does not. */
static int64_t unseen_most(const struct server_log *log)
{
    return log->is_cache_given ? 0 : server_libraries_most(log) + (is_taken_off(log) ? server_graphs_most(log) : 0);
}

static int64_t graphs_taken_off(const struct server_log *log)
{
    return is_taken_off(log) ? log->graphs_estimated : 0;
}

static int64_t request_bytes(const struct server_log *log, double bytes_per_token)
{
    if (is_told(log->request_bytes))
        return log->request_bytes;
    const double absurd = (double)(1LL << 60), bytes = bytes_per_token * (double)log->request_tokens;
    return bytes_per_token > 0 && is_told(log->request_tokens) && bytes < absurd ? (int64_t)bytes : SERVER_UNTOLD;
}

/* The share at which the cache holds one request: what is taken before the cache does not depend on the share.
 * `unseen`: what a card takes besides. */
static double least_utilization(const struct server_log *log, int64_t request, int64_t unseen)
{
    if (!is_told(request) || !is_told(log->share) || !is_told(log->cache) || !is_told(log->total) || log->total <= 0)
        return -1;
    const int64_t needed = log->share - log->cache + request + unseen;
    return hundredths_up((double)needed / (double)log->total);
}

/* The largest share with which all has room; SERVER_UNTOLD: not known, or there is no share. It must be free at the
 * start, and so must what the server then holds: its graphs are not what it set aside for them. */
static int64_t share_most(const struct server_log *log, bool is_simulated)
{
    if (log->is_cache_given || !is_told(log->free_at_start) || !is_told(log->total) || log->total <= 0)
        return SERVER_UNTOLD;
    const int64_t captured = is_told(log->graphs_captured) ? log->graphs_captured : 0;
    const int64_t by_driver = is_simulated || is_taken_off(log) ? 0 : server_graphs_most(log);
    const int64_t late = captured - graphs_taken_off(log) + by_driver;
    const int64_t unseen = is_simulated ? 0 : server_libraries_most(log) + ROUNDING;
    return log->free_at_start - unseen - (late > 0 ? late : 0);
}

static double most_utilization(const struct server_log *log, bool is_simulated)
{
    const int64_t most = share_most(log, is_simulated);
    return !is_told(most) || most <= 0 ? -1 : hundredths_down((double)most / (double)log->total);
}

/* In hundredths, as the answer tells the most: it contradicts itself nowhere. */
static bool is_share_too_large(const struct server_log *log, double most_utilization)
{
    const double slip = 1e-9;
    return is_told(share_most(log, false)) && log->utilization > most_utilization + slip;
}

static enum server_verdict verdict(const struct server_log *log, const struct server_budget *b)
{
    const bool is_budget = log->end == SERVER_HAS_NO_CACHE || log->end == SERVER_REQUEST_TOO_LONG ||
                           log->end == SERVER_SHARE_NOT_FREE || log->end == SERVER_WAS_REFUSED ||
                           log->end == SERVER_DIED_LATER;
    if (log->end != SERVER_IS_READY)
        return is_budget ? SERVER_FITS_NOT : SERVER_FITS_UNKNOWN;
    if (b->is_share_too_large)
        return SERVER_MAY_FIT;
    if (!is_told(b->cache_least) || !is_told(b->request_bytes))
        return SERVER_FITS;                          /* a model that keeps no keys and values needs no cache */
    return b->cache_least >= b->request_bytes ? SERVER_FITS : SERVER_MAY_FIT;
}

/* The cache on a card: libraries take more once the server has measured, and it takes that off. */
static void find_least_cache(const struct server_log *log, struct server_budget *b)
{
    b->cache_least = b->tokens_least = SERVER_UNTOLD;
    if (!is_told(log->cache))
        return;
    b->cache_least = log->cache - unseen_most(log);
    if (b->bytes_per_token > 0 && b->cache_least > 0)
        b->tokens_least = (int64_t)((double)b->cache_least / b->bytes_per_token);
}

static void find_choices(const struct server_log *log, struct server_budget *b)
{
    b->least_utilization = least_utilization(log, b->request_bytes, unseen_most(log) + ROUNDING);
    b->most_utilization = most_utilization(log, false);
    b->is_share_too_large = is_share_too_large(log, b->most_utilization);
    b->least_simulated = least_utilization(log, b->request_bytes, 0);
    b->most_simulated = most_utilization(log, true);
    if (b->most_utilization >= 0 && b->most_utilization < b->least_utilization)
        b->least_utilization = -1;                   /* no share is large enough */
    b->most_tokens = b->small_type_tokens = SERVER_UNTOLD;
    if (b->bytes_per_token > 0 && b->most_utilization >= 0 && is_told(log->share))
        b->most_tokens = log->tokens + (int64_t)((b->most_utilization * (double)log->total - (double)log->share) /
                                                 b->bytes_per_token);
    const bool is_halved = !log->has_small_cache_type && !log->has_latent_cache;
    if (is_halved && is_told(log->tokens))
        b->small_type_tokens = 2 * log->tokens;
    b->small_type_starts = is_halved && log->end == SERVER_REQUEST_TOO_LONG && is_told(log->cache) &&
                           log->request_bytes / 2 + unseen_most(log) <= log->cache;
}

/* What is refused beside a cache fits if the cache is smaller by as much. */
static void find_room_for_refused(const struct server_log *log, struct server_budget *b)
{
    b->most_cache_given = 0;
    b->most_share_after_refusal = -1;
    if (!is_told(log->refused_bytes) || !is_told(log->cache) || log->end == SERVER_IS_READY)
        return;
    const int64_t less = log->refused_bytes + ROUNDING;
    if (log->is_cache_given && log->cache > less)
        b->most_cache_given = log->cache - less;
    else if (is_told(log->share) && log->total > 0 && log->cache > less)
        b->most_share_after_refusal = hundredths_down((double)(log->share - less) / (double)log->total);
}

int64_t server_taken(const struct server_log *log, int64_t peak)
{
    const int64_t parts[] = { is_told(log->consumed) ? log->consumed : log->weights, log->activations, log->cache,
                              log->graphs_captured };
    int64_t sum = 0;
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++)
        sum += is_told(parts[i]) && parts[i] > 0 ? parts[i] : 0;
    return sum > peak ? sum : peak;
}

bool server_leaves_too_little(const struct server_log *log, int64_t peak)
{
    return log->is_cache_given && is_told(log->free_at_start) &&
           server_taken(log, peak) + server_libraries_most(log) + server_graphs_most(log) > log->free_at_start;
}

/* A token has whole bytes. A size that was given is exact, but its last block may not be full: the rest is that. */
static double bytes_per_token(const struct server_log *log)
{
    return log->is_cache_given ? (double)(log->cache / log->tokens) : (double)log->cache / (double)log->tokens;
}

struct server_budget server_budget_of(const struct server_log *log)
{
    struct server_budget b = { .requests = -1, .never_used = SERVER_UNTOLD };
    if (is_told(log->cache) && is_told(log->tokens) && log->tokens > 0 && log->cache > 0)
        b.bytes_per_token = bytes_per_token(log);
    b.request_bytes = request_bytes(log, b.bytes_per_token);
    if (is_told(log->tokens) && is_told(log->request_tokens) && log->request_tokens > 0)
        b.requests = (double)log->tokens / (double)log->request_tokens;
    if (log->kind == SERVER_SGLANG) {
        sglang_budget_find(log, &b);
        return b;
    }
    b.beside_weights = is_told(log->consumed) && is_told(log->weights) ? log->consumed - log->weights : SERVER_UNTOLD;
    b.not_asked_for = is_told(log->free_at_start) && is_told(log->share) ? log->free_at_start - log->share
                                                                         : SERVER_UNTOLD;
    b.estimate_error = is_told(log->graphs_estimated) && is_told(log->graphs_captured)
                       ? log->graphs_estimated - log->graphs_captured : SERVER_UNTOLD;
    find_least_cache(log, &b);
    find_choices(log, &b);
    find_room_for_refused(log, &b);
    b.verdict = verdict(log, &b);
    return b;
}
