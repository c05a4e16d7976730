/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/* One trace after the other: it is made, run by all policies on all cards, and forgotten. */
#include "replay/contest/contest.h"

#include "base/units.h"
#include "replay/contest/decisions.h"
#include "replay/trials/trial_runs.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const char *const policies[] = {
#define CONTEST_POLICY(typed) typed,
#include "replay/contest/edition_2.def"
};
static const struct { const char *name, *reason; } left_out[] = {
#define CONTEST_LEFT_OUT(name, why) { name, why },
#include "replay/contest/edition_2.def"
};
static const struct { const char *name; uint64_t percent, bytes; } cards[CONTEST_CARDS] = {
#define CONTEST_CAPACITY(name, percent, bytes) { name, percent, bytes },
#include "replay/contest/edition_2.def"
};
enum { N_POLICIES = sizeof policies / sizeof policies[0], N_LEFT_OUT = sizeof left_out / sizeof left_out[0],
       NS_PER_MS = 1000000 };

const char *contest_policy_at(size_t i)
{
    return i < N_POLICIES ? policies[i] : NULL;
}

const char *contest_left_out_at(size_t i, const char **reason)
{
    *reason = i < N_LEFT_OUT ? left_out[i].reason : NULL;
    return i < N_LEFT_OUT ? left_out[i].name : NULL;
}

const char *contest_card_at(size_t i)
{
    return i < CONTEST_CARDS ? cards[i].name : NULL;
}

static struct device_config device_of(const struct contest_trace *t, size_t card)
{
    struct device_config device = device_defaults();
    device.addresses = CONTEST_ADDRESSES;
    device.has_addresses = true;
    device.total_bytes = DEVICE_UNLIMITED;
    const uint64_t bytes = t->bound_bytes * cards[card].percent / 100 + cards[card].bytes;
    if (bytes > 0)
        device.total_bytes = align_up(bytes, DEVICE_PAGE_BYTES);
    return device;
}

/* ---- one trace ---- */

static struct contest_run run_of(const struct contest *c, const struct contest_trace *t, const struct trial *trials)
{
    struct contest_run r = { .card_bytes = trials[0].card_peak_bytes, .time_ns = trials[0].device_time_ns,
                             .calls = trials[0].device_calls, .cost = NAN };
    for (size_t i = 0; i < CONTEST_CARDS; i++)
        r.fits[i] = trials[i].fits;
    if (r.fits[0] && t->bound_bytes > 0)
        r.cost = ((double)r.card_bytes + (double)r.time_ns / NS_PER_MS * (double)c->asked.price_bytes_per_ms) /
                 (double)t->bound_bytes;
    return r;
}

static enum err run_trace(struct contest *c, size_t i, const struct policy_spec *specs, struct decisions *written,
                          struct err_detail *err)
{
    const struct replay_config cfg = { .threads = c->asked.threads };
    struct contest_trace *t = &c->traces[i];
    struct trace_reader *trace = NULL;
    const size_t n = c->policies.n * CONTEST_CARDS;
    struct trial *trials = calloc(n, sizeof *trials);
    enum err e = trials != NULL ? contest_trace_open(t, c->asked.folder, &trace, err) : err_no_memory(err);
    for (size_t k = 0; k < n && e == ERR_OK; k++)
        trials[k] = (struct trial){ .spec = &specs[k / CONTEST_CARDS], .device = device_of(t, k % CONTEST_CARDS) };
    if (e == ERR_OK)
        e = trials_run(trace, &device_sim, trials, n, &cfg, err);
    for (size_t p = 0; p < c->policies.n && e == ERR_OK; p++)
        c->runs[i * c->policies.n + p] = run_of(c, t, trials + p * CONTEST_CARDS);
    if (e == ERR_OK && written != NULL)
        decisions_put_trace(written, contest_stratum_at(t->stratum), t);
    for (size_t k = 0; k < n && e == ERR_OK && written != NULL; k++)
        if (trials[k].fits)
            e = decisions_put_run(written, trace, &trials[k], cards[k % CONTEST_CARDS].name, err);
    trace_close(trace);
    free(trials);
    return e;
}

static enum err run_traces(struct contest *c, const struct policy_spec *specs, struct err_detail *err)
{
    struct decisions *written = NULL;
    enum err e = c->asked.decisions != NULL ? decisions_open(c->asked.decisions, &written, err) : ERR_OK;
    for (size_t i = 0; i < c->n_traces && e == ERR_OK; i++)
        e = run_trace(c, i, specs, written, err);
    const enum err closing = decisions_close(written, e == ERR_OK ? err : NULL);
    return e == ERR_OK ? closing : e;
}

/* ---- all ---- */

static enum err expand_edition(struct expansion *out, struct err_detail *err)
{
    enum err e = ERR_OK;
    for (size_t i = 0; i < N_POLICIES && e == ERR_OK; i++)
        e = expand(policies[i], out, err);
    return e;
}

static enum err expand_policies(struct contest *c, struct err_detail *err)
{
    enum err e = c->asked.n_policies == 0 ? expand_edition(&c->policies, err) : ERR_OK;
    for (size_t i = 0; i < c->asked.n_policies && e == ERR_OK; i++)
        e = strcmp(c->asked.policies[i], CONTEST_EDITION) == 0 ? expand_edition(&c->policies, err)
                                                               : expand(c->asked.policies[i], &c->policies, err);
    return e;
}

static enum err parse_and_run(struct contest *c, struct err_detail *err)
{
    struct policy_spec *specs = calloc(c->policies.n + 1, sizeof *specs);
    enum err e = specs != NULL ? ERR_OK : err_no_memory(err);
    size_t n_parsed = 0;
    while (n_parsed < c->policies.n && e == ERR_OK) {
        e = policy_spec_parse(c->policies.at[n_parsed], &specs[n_parsed], err);
        n_parsed += e == ERR_OK;
    }
    if (e == ERR_OK)
        e = run_traces(c, specs, err);
    while (n_parsed > 0)
        policy_spec_close(&specs[--n_parsed]);
    free(specs);
    return e;
}

static enum err find_standings(struct contest *c, struct err_detail *err)
{
    double *costs = calloc(c->n_traces * c->policies.n + 1, sizeof *costs);
    size_t *strata = calloc(c->n_traces + 1, sizeof *strata);
    const struct standings_input in = { costs, strata, c->n_traces, c->policies.n, c->n_strata };
    enum err e = costs != NULL && strata != NULL ? ERR_OK : err_no_memory(err);
    for (size_t i = 0; i < c->n_traces * c->policies.n && e == ERR_OK; i++)
        costs[i] = c->runs[i].cost;
    for (size_t i = 0; i < c->n_traces && e == ERR_OK; i++)
        strata[i] = c->traces[i].stratum;
    if (e == ERR_OK)
        e = standings_find(&in, c->standings, err);
    free(costs);
    free(strata);
    return e;
}

enum err contest_run(const struct contest_request *asked, struct contest *out, struct err_detail *err)
{
    *out = (struct contest){ .asked = *asked };
    while (contest_stratum_at(out->n_strata) != NULL)
        out->n_strata++;
    enum err e = expand_policies(out, err);
    if (e == ERR_OK)
        e = contest_traces_draw(asked->seed, asked->stratum, &out->traces, &out->n_traces, err);
    if (e != ERR_OK)
        return e;
    out->runs = calloc(out->n_traces * out->policies.n + 1, sizeof *out->runs);
    out->standings = calloc(out->policies.n + 1, sizeof *out->standings);
    e = out->runs != NULL && out->standings != NULL ? parse_and_run(out, err) : err_no_memory(err);
    return e == ERR_OK ? find_standings(out, err) : e;
}

void contest_close(struct contest *c)
{
    free(c->traces);
    free(c->runs);
    free(c->standings);
    expansion_close(&c->policies);
    *c = (struct contest){ .n_traces = 0 };
}

struct contest_sums contest_sum(const struct contest *c, size_t policy)
{
    struct contest_sums s = { .card_worst = 0 };
    double sums[STANDINGS_STRATA_MAX] = { 0 }, counts[STANDINGS_STRATA_MAX] = { 0 }, total = 0, n_used = 0;
    for (size_t i = 0; i < c->n_traces; i++) {
        const struct contest_run *r = &c->runs[i * c->policies.n + policy];
        for (size_t k = 0; k < CONTEST_CARDS; k++)
            s.n_survived[k] += r->fits[k];
        if (!r->fits[0])
            continue;
        const double share = (double)r->card_bytes / (double)c->traces[i].bound_bytes;
        sums[c->traces[i].stratum] += log(share);
        counts[c->traces[i].stratum]++;
        s.card_worst = share > s.card_worst ? share : s.card_worst;
        s.calls += r->calls;
        s.time_ns += r->time_ns;
        s.n_requests += c->traces[i].n_requests;
    }
    for (size_t k = 0; k < c->n_strata; k++) {
        total += counts[k] > 0 ? sums[k] / counts[k] : 0;
        n_used += counts[k] > 0;
    }
    s.card_mean = n_used > 0 ? exp(total / n_used) : NAN;
    return s;
}
