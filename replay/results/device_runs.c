/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/* Runs real cards one lane at a time, then the simulated devices, then compares. */
#include "replay/results/device_runs.h"

#include "base/units.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>

/* Makes the logs of calls, if there are devices to compare. */
static enum err runs_prepare(struct device_runs *r, struct err_detail *err)
{
    const size_t n = r->n_devices * r->n_policies;
    if (r->n_devices < 2)
        return ERR_OK;
    r->logs = calloc(n, sizeof *r->logs);
    r->listeners = calloc(n, sizeof *r->listeners);
    r->addresses = calloc(n, sizeof *r->addresses);
    r->comparisons = calloc(n, sizeof *r->comparisons);
    if (r->logs == NULL || r->listeners == NULL || r->addresses == NULL || r->comparisons == NULL)
        return err_no_memory(err);
    for (size_t i = 0; i < n; i++)
        r->listeners[i] = device_calls_listener(&r->logs[i]);
    return ERR_OK;
}

/* The index of the first real card; n_devices if there is none. */
static size_t runs_real(const struct device_runs *r)
{
    size_t d = 0;
    while (d < r->n_devices && !device_is_real(r->devices[d].ops))
        d++;
    return d;
}

/* The device of a lane. Plain `sim` in company of a real card takes that card's capacity and addresses. */
static enum err runs_config(struct device_runs *r, size_t d, size_t p, struct device_config *out,
                            struct err_detail *err)
{
    const size_t real = runs_real(r), lane = d * r->n_policies + p;
    *out = r->devices[d].config;
    if (real == r->n_devices || device_is_real(r->devices[d].ops))
        return ERR_OK;
    const struct device_config *card = &r->lanes[real * r->n_policies + p].device->cfg;
    if (!r->devices[d].has_total) {
        out->total_bytes = card->total_bytes;
        out->context_bytes = card->context_bytes;
        out->others_bytes = card->others_bytes;
    }
    if (out->has_addresses)
        return ERR_OK;
    const struct device_calls *calls = &r->logs[real * r->n_policies + p];
    const enum err e = device_calls_addresses(calls, &r->addresses[lane], &out->n_addresses);
    if (e != ERR_OK)
        return err_set(err, e, 0, "no memory for the addresses of %zu calls", calls->n);
    out->addresses = ADDRESSES_LIST;
    out->address_list = r->addresses[lane];
    return ERR_OK;
}

/* Completes the headline: which card it is, or what a plain `sim` became. */
static void runs_describe(struct device_runs *r, size_t d)
{
    struct device_choice *choice = &r->devices[d];
    const struct device *dev = r->lanes[d * r->n_policies].device;
    char has[UNITS_TEXT], idle[UNITS_TEXT];
    units_format_bytes(dev->cfg.total_bytes, has);
    if (device_is_real(choice->ops))
        snprintf(choice->headline, sizeof choice->headline, "%.100s, %.90s%s%s, of which %s are free", choice->typed,
                 dev->measured->card, dev->measured->card[0] == '\0' ? "" : ", ", has,
                 units_format_bytes(dev->cfg.total_bytes - device_card_bytes(dev, 0), idle));
    else if (!choice->has_total && runs_real(r) < r->n_devices)
        snprintf(choice->headline, sizeof choice->headline, "%.60s, with the capacity of %.100s and its addresses",
                 choice->typed, r->devices[runs_real(r)].typed);
}

static enum err runs_open_lane(struct device_runs *r, size_t d, size_t p, const struct replay_config *cfg,
                               struct err_detail *err)
{
    struct device_config config;
    const size_t lane = d * r->n_policies + p;
    enum err e = runs_config(r, d, p, &config, err);
    if (e == ERR_OK)
        e = lane_open(&r->specs[p], r->devices[d].ops, &config, r->trace, r->seed, &r->lanes[lane], err);
    if (e != ERR_OK)
        return e;
    if (r->listeners != NULL)
        r->lanes[lane].calls = &r->listeners[lane];
    if (p == 0)
        runs_describe(r, d);
    return r->opened == NULL ? ERR_OK : r->opened(r->opened_arg, lane, cfg, err);
}

static enum err runs_on_device(struct device_runs *r, size_t d, const struct replay_config *cfg,
                               struct err_detail *err)
{
    const bool is_real = device_is_real(r->devices[d].ops);
    struct lane *lanes = &r->lanes[d * r->n_policies];
    enum err e = ERR_OK;
    for (size_t p = 0; p < r->n_policies && e == ERR_OK; p++) {
        e = runs_open_lane(r, d, p, cfg, err);
        if (e == ERR_OK && is_real) {
            e = replay_run(r->trace, &lanes[p], 1, cfg, err);
            device_give_back(lanes[p].device);
        }
    }
    if (e != ERR_OK || is_real)
        return e;
    r->has_bounds = true;
    return bounds_replay(r->trace, lanes, r->n_policies, cfg, r->with_plan, &r->bounds, err);
}

static void runs_compare(struct device_runs *r, size_t d, size_t p)
{
    assert(r->n_comparisons < r->n_devices * r->n_policies);
    const struct device_calls *a = &r->logs[p], *b = &r->logs[d * r->n_policies + p];
    struct report_comparison *c = &r->comparisons[r->n_comparisons++];
    *c = (struct report_comparison){
        .policy = r->specs[p].typed,
        .devices = { r->devices[0].typed, r->devices[d].typed },
        .calls = { a->n, b->n },
        .common = device_calls_common(a, b),
        .is_cut = a->is_cut || b->is_cut,
    };
    assert(c->common <= a->n && c->common <= b->n);
    c->is_equal = c->common == a->n && c->common == b->n && !c->is_cut;
    device_calls_text(a, (size_t)c->common, c->first[0]);
    device_calls_text(b, (size_t)c->common, c->first[1]);
}

enum err device_runs_replay(struct device_runs *r, const struct replay_config *cfg, struct err_detail *err)
{
    enum err e = runs_prepare(r, err);
    for (int pass = 0; pass < 2; pass++)
        for (size_t d = 0; d < r->n_devices && e == ERR_OK; d++)
            if (device_is_real(r->devices[d].ops) == (pass == 0))
                e = runs_on_device(r, d, cfg, err);
    if (e == ERR_OK && !r->has_bounds)       /* not before: it takes time, and a real card should not wait for it */
        e = bounds_find(r->trace, 0, r->with_plan, &r->bounds, err);
    for (size_t d = 1; d < r->n_devices && e == ERR_OK; d++)
        for (size_t p = 0; p < r->n_policies; p++)
            runs_compare(r, d, p);
    return e;
}

bool device_runs_agree(const struct device_runs *r)
{
    for (size_t i = 0; i < r->n_comparisons; i++)
        if (!r->comparisons[i].is_equal)
            return false;
    return true;
}

void device_runs_close(struct device_runs *r)
{
    for (size_t i = 0; i < r->n_devices * r->n_policies && r->lanes != NULL; i++) {
        lane_close(&r->lanes[i]);
        if (r->logs != NULL)
            device_calls_close(&r->logs[i]);
        if (r->addresses != NULL)
            free(r->addresses[i]);
    }
    free(r->comparisons);
    free(r->addresses);
    free(r->listeners);
    free(r->logs);
}
