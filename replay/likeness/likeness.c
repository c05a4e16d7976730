/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/* Replays on a card without end, so that every policy gets to the end. */
#include "replay/likeness/likeness.h"

#include "loads/load.h"
#include "replay/trials/trial_runs.h"

#include <inttypes.h>
#include <stdio.h>

static const char *const likeness_policies[] = {
    "best-fit", "expandable_segments:True", "max_split_size_mb:64", "roundup_power2_divisions:4", "pow2", "none",
};
enum { POLICIES = sizeof likeness_policies / sizeof likeness_policies[0] };

struct measured { uint64_t requested, reserved[POLICIES]; };

static enum err measure(struct trace_reader *trace, struct measured *out, struct err_detail *err)
{
    struct trial trials[POLICIES];
    const struct device_config endless = {.total_bytes = DEVICE_UNLIMITED};
    const enum err e = trials_run_typed(trace, &endless, likeness_policies, trials, POLICIES, err);
    out->requested = trace_info(trace)->peak_requested_bytes;
    for (size_t i = 0; i < POLICIES && e == ERR_OK; i++)
        out->reserved[i] = trials[i].peak_reserved_bytes;
    return e;
}

/* By how many thousandths of `a` the two differ. */
static uint64_t permille(uint64_t a, uint64_t b)
{
    const uint64_t difference = a > b ? a - b : b - a;
    return a == 0 ? (b == 0 ? 0 : 1000) : difference / (a / 1000 > 0 ? a / 1000 : 1);
}

/* Less by more than counts. */
static bool is_less(uint64_t a, uint64_t b)
{
    return a < b && permille(b, a) > LIKENESS_PERMILLE;
}

static bool ranks_are_alike(const struct measured *a, const struct measured *b)
{
    for (size_t i = 0; i < POLICIES; i++)
        for (size_t k = 0; k < POLICIES; k++)
            if (is_less(a->reserved[i], a->reserved[k]) && is_less(b->reserved[k], b->reserved[i]))
                return false;
    return true;
}

enum err likeness_measure(struct trace_reader *a, struct trace_reader *b, struct likeness *out, struct err_detail *err)
{
    struct measured of_a, of_b;
    enum err e = measure(a, &of_a, err);
    if (e == ERR_OK)
        e = measure(b, &of_b, err);
    if (e != ERR_OK)
        return e;
    *out = (struct likeness){.worst_permille = permille(of_a.requested, of_b.requested), .n_policies = POLICIES,
                             .ranks_alike = ranks_are_alike(&of_a, &of_b)};
    for (size_t i = 0; i < POLICIES; i++) {
        const uint64_t by = permille(of_a.reserved[i], of_b.reserved[i]);
        out->worst_permille = by > out->worst_permille ? by : out->worst_permille;
    }
    return ERR_OK;
}

bool likeness_holds(const struct likeness *l)
{
    return l->worst_permille <= LIKENESS_PERMILLE && l->ranks_alike;
}

static enum err load_open(const char *file, uint64_t stretch, uint64_t seed, struct trace_reader **out,
                          struct err_detail *err)
{
    char text[4096 + 64];
    struct trace_writer *w;
    if (snprintf(text, sizeof text, "like:file=%s,stretch=%" PRIu64, file, stretch) >= (int)sizeof text)
        return err_set(err, ERR_USAGE, 0, "like: the name of the file is too long");
    enum err e = trace_create(NULL, &w, err);
    if (e != ERR_OK)
        return e;
    e = load_make(text, 0, seed, w, err);
    if (e == ERR_OK)
        return trace_finish_open(w, file, out, err);
    trace_abandon(w);
    return e;
}

enum err likeness_fit(struct trace_reader *recording, const char *file, uint64_t seed, struct trace_reader **out,
                      uint64_t *stretch, struct likeness *found, struct err_detail *err)
{
    enum { LONGEST = 4096 };
    *out = NULL;
    for (*stretch = LONGEST;; *stretch /= 2) {
        enum err e = load_open(file, *stretch, seed, out, err);
        if (e == ERR_OK)
            e = likeness_measure(recording, *out, found, err);
        if (e != ERR_OK || likeness_holds(found) || *stretch == 1)
            return e;
        trace_close(*out);
        *out = NULL;
    }
}
