/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/* The search for the smallest card: bisection, then a look at the neighbours, because larger can be worse. */
#include "replay/advise/fit.h"

#include "base/units.h"
#include "sim/card_context.h"

#include <assert.h>
#include <stdlib.h>

enum { FIT_WIDTH = 16, FIT_MODELS_MAX = 64, FIT_DOUBLINGS = 8, FIT_RAISES = 64 };

/* The state of a search. Sizes are in granules. Invariant: on `low` it fails, or the live data is too large; on
 * `high` it runs. */
struct fit_search {
    struct trace_reader        *trace;
    const struct policy_spec   *spec;
    const struct device_choice *device;
    const struct replay_config *cfg;
    uint64_t floor;                  /* too small for the live data */
    uint64_t low, high;
    uint64_t least;                  /* the smallest size that runs, once it is found; larger ones may fail */
    uint64_t worst;                  /* the largest size that failed; 0: none */
    size_t   n_tried;
    struct trial best;               /* on `high` */
};

/* What of a card the context and others take. */
static uint64_t taken_bytes(const struct device_choice *device)
{
    return add_capped(device->config.context_bytes, device->config.others_bytes);
}

/* Tries sizes (granules, ascending) at once. */
static enum err search_try(struct fit_search *s, const uint64_t *sizes, size_t n, struct trial *trials,
                           struct err_detail *err)
{
    for (size_t i = 0; i < n; i++) {
        trials[i] = (struct trial){ .spec = s->spec, .device = s->device->config };
        trials[i].device.total_bytes = sizes[i] * FIT_GRANULE_BYTES;
    }
    const enum err e = trials_run(s->trace, s->device->ops, trials, n, s->cfg, err);
    for (size_t i = 0; i < n && e == ERR_OK; i++)
        if (!trials[i].fits && sizes[i] > s->worst)
            s->worst = sizes[i];
    s->n_tried += n;
    return e;
}

/* Takes the smallest of the sizes that runs, and the largest below it that does not. */
static void search_narrow(struct fit_search *s, const uint64_t *sizes, const struct trial *trials, size_t n)
{
    for (size_t i = n; i-- > 0;)
        if (trials[i].fits && sizes[i] < s->high) {
            s->high = sizes[i];
            s->best = trials[i];
        }
    for (size_t i = 0; i < n; i++)
        if (!trials[i].fits && sizes[i] < s->high && sizes[i] > s->low)
            s->low = sizes[i];
}

/* Sizes strictly between `low` and `high`, evenly spread; all of them if they are few. */
static size_t spread(uint64_t low, uint64_t high, uint64_t *sizes)
{
    assert(low < high);
    const uint64_t between = high - low - 1;
    const size_t n = between < FIT_WIDTH ? (size_t)between : FIT_WIDTH;
    for (size_t i = 0; i < n; i++)
        sizes[i] = low + 1 + (between == n ? i : (between - 1) * i / (FIT_WIDTH - 1));
    return n;
}

static enum err search_bisect(struct fit_search *s, struct err_detail *err)
{
    uint64_t sizes[FIT_WIDTH];
    struct trial trials[FIT_WIDTH];
    while (s->high - s->low > 1) {
        const size_t n = spread(s->low, s->high, sizes);
        const enum err e = search_try(s, sizes, n, trials, err);
        if (e != ERR_OK)
            return e;
        search_narrow(s, sizes, trials, n);
    }
    return ERR_OK;
}

/* What it reserves on a card without an end; 0 for a policy that takes a share of the card at its start, which has none
 * there. */
static enum err reserved_unlimited(struct fit_search *s, uint64_t *bytes, struct err_detail *err)
{
    struct trial unlimited = { .spec = s->spec, .device = s->device->config };
    unlimited.device.total_bytes = DEVICE_UNLIMITED;
    const enum err e = trials_run(s->trace, s->device->ops, &unlimited, 1, s->cfg, err);
    *bytes = e == ERR_OK ? unlimited.peak_reserved_bytes : 0;
    return e == ERR_USAGE ? ERR_OK : e;              /* whatever else is wrong is so on each card */
}

/* Finds a size on which it runs: what it reserves on an unlimited card, or more if that is not enough, as for a policy
 * whose limit is a share of the card. *found is false if even the largest size tried fails. */
static enum err search_upper(struct fit_search *s, uint64_t taken, bool *found, struct err_detail *err)
{
    uint64_t sizes[FIT_DOUBLINGS];
    struct trial trials[FIT_DOUBLINGS];
    uint64_t reserved;
    enum err e = reserved_unlimited(s, &reserved, err);
    if (e != ERR_OK)
        return e;
    const uint64_t needed = add_capped(reserved, taken);
    const uint64_t least = round_up(needed, FIT_GRANULE_BYTES) / FIT_GRANULE_BYTES;
    for (size_t i = 0; i < FIT_DOUBLINGS; i++)
        sizes[i] = (least > s->low ? least : s->low + 1) << i;
    e = search_try(s, sizes, FIT_DOUBLINGS, trials, err);
    s->high = UINT64_MAX;
    if (e == ERR_OK)
        search_narrow(s, sizes, trials, FIT_DOUBLINGS);
    *found = s->high != UINT64_MAX;
    return e;
}

/* Bisection may have stepped over a smaller card that runs. Tries the neighbours below until none of them runs. */
static enum err search_below(struct fit_search *s, struct err_detail *err)
{
    uint64_t sizes[FIT_WIDTH];
    struct trial trials[FIT_WIDTH];
    for (uint64_t before = 0; before != s->high;) {
        const uint64_t room = s->high - 1 - s->floor;
        const size_t n = room < FIT_WIDTH ? (size_t)room : FIT_WIDTH;
        before = s->high;
        for (size_t i = 0; i < n; i++)
            sizes[i] = s->high - n + i;
        const enum err e = search_try(s, sizes, n, trials, err);
        if (e != ERR_OK)
            return e;
        search_narrow(s, sizes, trials, n);
    }
    return ERR_OK;
}

/* Tries the neighbours above, and sizes spread up to `top`: is a larger card ever worse? */
static enum err search_check(struct fit_search *s, uint64_t top, struct err_detail *err)
{
    uint64_t sizes[FIT_WIDTH];
    struct trial trials[FIT_WIDTH];
    for (size_t i = 0; i < FIT_WIDTH; i++)
        sizes[i] = s->high + 1 + i;
    enum err e = search_try(s, sizes, FIT_WIDTH, trials, err);
    if (e != ERR_OK || top <= s->high + FIT_WIDTH + 1)
        return e;
    const size_t n = spread(s->high + FIT_WIDTH, top, sizes);
    return search_try(s, sizes, n, trials, err);
}

/* Raises `high` above every size that failed: to the first of those that run from there on, as far as they are tried.
 * False in *found if no such size is found. */
static enum err search_raise(struct fit_search *s, bool *found, struct err_detail *err)
{
    uint64_t sizes[FIT_WIDTH];
    struct trial trials[FIT_WIDTH];
    *found = s->worst < s->high;
    for (int round = 0; round < FIT_RAISES && !*found; round++) {
        const uint64_t failed = s->worst;
        for (size_t i = 0; i < FIT_WIDTH; i++)
            sizes[i] = failed + 1 + i;
        const enum err e = search_try(s, sizes, FIT_WIDTH, trials, err);
        if (e != ERR_OK)
            return e;
        if (s->worst == sizes[FIT_WIDTH - 1])
            continue;
        const size_t first = (size_t)(s->worst - failed);
        s->high = sizes[first];
        s->best = trials[first];
        *found = true;
    }
    return ERR_OK;
}

/* What the context takes on a named card: as typed, else as recorded on this very card, else by the table. */
static uint64_t context_on(const struct device_choice *device, const struct device_model *m)
{
    const struct card_context *c = device->takes_contexts ? card_context_of(m->name) : NULL;
    const bool is_this = m->total_bytes == device->config.total_bytes && device->context_source != NULL;
    return c == NULL || is_this ? device->config.context_bytes : c->bytes;
}

/* Finds the smallest named card on which it runs, and holds the context besides. */
static enum err search_card(struct fit_search *s, const struct device_model **card, struct err_detail *err)
{
    struct trial trials[FIT_MODELS_MAX];
    const struct device_model *models[FIT_MODELS_MAX];
    size_t n = 0;
    const struct device_model *m;
    for (size_t i = 0; (m = device_card_at(s->device->card_platform, i)) != NULL && n < FIT_MODELS_MAX; i++) {
        struct trial t = { .spec = s->spec, .device = s->device->config };
        t.device.total_bytes = m->total_bytes;
        t.device.context_bytes = context_on(s->device, m);
        const uint64_t usable = s->high * FIT_GRANULE_BYTES - taken_bytes(s->device);
        if (m->total_bytes < add_capped(usable, add_capped(t.device.context_bytes, t.device.others_bytes)))
            continue;
        trials[n] = t;
        models[n++] = m;
    }
    const enum err e = trials_run(s->trace, s->device->ops, trials, n, s->cfg, err);
    for (size_t i = n; i-- > 0 && e == ERR_OK;)
        if (trials[i].fits)
            *card = models[i];
    return e;
}

/* Whether the largest context that was seen on the card leaves too little for what the policy needs. */
static bool is_tight(const struct device_choice *device, const struct device_model *m, uint64_t smallest_bytes)
{
    const struct card_context *c = device->takes_contexts && !device->is_context_recorded ? card_context_of(m->name)
                                                                                          : NULL;
    const uint64_t usable = smallest_bytes - taken_bytes(device);
    return c != NULL && add_capped(usable, add_capped(c->most_bytes, device->config.others_bytes)) > m->total_bytes;
}

static struct fit_search search_begin(struct trace_reader *trace, const struct policy_spec *spec,
                                      const struct device_choice *device, uint64_t live_bytes,
                                      const struct replay_config *cfg)
{
    const uint64_t needed = add_capped(live_bytes, taken_bytes(device));
    struct fit_search s = { .trace = trace, .spec = spec, .device = device, .cfg = cfg };
    s.low = needed / FIT_GRANULE_BYTES;
    s.low -= s.low > 0 && needed % FIT_GRANULE_BYTES == 0;
    s.floor = s.low;
    return s;
}

static enum err search_smallest(struct fit_search *s, bool *found, struct err_detail *err)
{
    enum err e = search_upper(s, taken_bytes(s->device), found, err);
    const uint64_t top = s->high;            /* the search began below it */
    if (e == ERR_OK && *found)
        e = search_bisect(s, err);
    if (e == ERR_OK && *found)
        e = search_below(s, err);
    s->least = s->high;
    if (e == ERR_OK && *found)
        e = search_check(s, top, err);
    if (e == ERR_OK && *found)
        e = search_raise(s, found, err);
    return e;
}

/* What was found so far. */
static struct fit search_result(const struct fit_search *s, bool found)
{
    const bool is_monotone = !found || s->least == s->high;
    assert(!found || (s->best.fits && s->worst < s->high));
    return (struct fit){
        .smallest_bytes       = found ? s->high * FIT_GRANULE_BYTES : 0,
        .is_monotone          = is_monotone,
        .least_running_bytes  = found ? s->least * FIT_GRANULE_BYTES : 0,
        .larger_failing_bytes = is_monotone ? 0 : s->worst * FIT_GRANULE_BYTES,
        .n_tried              = s->n_tried,
        .trial                = s->best,
    };
}

enum err fit_find_smallest(struct trace_reader *trace, const struct policy_spec *spec,
                           const struct device_choice *device, uint64_t live_bytes, const struct replay_config *cfg,
                           struct fit *out, struct err_detail *err)
{
    struct fit_search s = search_begin(trace, spec, device, live_bytes, cfg);
    bool found = false;
    const enum err e = search_smallest(&s, &found, err);
    if (e == ERR_OK)
        *out = search_result(&s, found);
    return e;
}

enum err fit_find(struct trace_reader *trace, const struct policy_spec *spec, const struct device_choice *device,
                  uint64_t live_bytes, const struct replay_config *cfg, struct fit *out, struct err_detail *err)
{
    struct fit_search s = search_begin(trace, spec, device, live_bytes, cfg);
    const struct device_model *card = NULL;
    bool found = false;
    enum err e = search_smallest(&s, &found, err);
    if (e == ERR_OK && found)
        e = search_card(&s, &card, err);
    if (e != ERR_OK)
        return e;
    *out = search_result(&s, found);
    out->card = card;
    out->card_context_bytes = card == NULL ? 0 : context_on(device, card);
    out->is_tight = card != NULL && is_tight(device, card, out->smallest_bytes);
    return ERR_OK;
}
