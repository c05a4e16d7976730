/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/* Means and standard errors of a stratified sample (Cochran, "Sampling techniques", section 5.3). */
#include "replay/contest/standings.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>

/* The logarithm of a cost, or of one cost over another's. `other` SIZE_MAX: none. */
static double value_of(const struct standings_input *in, size_t trace, size_t policy, size_t other)
{
    const double *costs = in->costs + trace * in->n_policies;
    return log(costs[policy]) - (other != SIZE_MAX ? log(costs[other]) : 0);
}

/* Mean over the strata, and its standard error. by_stratum may be NULL. */
static double mean_of(const struct standings_input *in, size_t policy, size_t other, double *error, double *by_stratum)
{
    double total = 0, variance = 0;
    size_t n_used = 0;
    for (size_t s = 0; s < in->n_strata; s++) {
        double sum = 0, squares = 0;
        size_t n = 0;
        for (size_t t = 0; t < in->n_traces; t++)
            if (in->strata[t] == s) {
                sum += value_of(in, t, policy, other);
                n++;
            }
        if (by_stratum != NULL)
            by_stratum[s] = n > 0 ? exp(sum / (double)n) : NAN;
        if (n == 0)
            continue;
        for (size_t t = 0; t < in->n_traces; t++)
            if (in->strata[t] == s)
                squares += pow(value_of(in, t, policy, other) - sum / (double)n, 2);
        total += sum / (double)n;
        variance += n > 1 ? squares / (double)(n - 1) / (double)n : INFINITY;
        n_used++;
    }
    *error = sqrt(variance) / (double)n_used;
    return total / (double)n_used;
}

double standings_width(size_t n_policies)
{
    const double n_pairs = n_policies > 1 ? (double)n_policies * (double)(n_policies - 1) / 2 : 1;
    double low = 0, high = 40;
    for (int i = 0; i < 100; i++) {                  /* P(|Z| > width) = 5 % / pairs */
        const double middle = (low + high) / 2;
        if (erfc(middle / sqrt(2)) > 0.05 / n_pairs)
            low = middle;
        else
            high = middle;
    }
    return high;
}

static size_t count_of(const struct standings_input *in, size_t policy)
{
    size_t n = 0;
    for (size_t t = 0; t < in->n_traces; t++)
        n += isnan(in->costs[t * in->n_policies + policy]) ? 0 : 1;
    return n;
}

static int by_mean(const void *a, const void *b)
{
    const struct standing *x = a, *y = b;
    if (isnan(x->mean) != isnan(y->mean))
        return isnan(x->mean) ? 1 : -1;
    if (!isnan(x->mean) && (x->mean < y->mean || x->mean > y->mean))
        return x->mean < y->mean ? -1 : 1;
    if (x->n != y->n)
        return x->n > y->n ? -1 : 1;
    return x->policy < y->policy ? -1 : 1;
}

static void place(const struct standings_input *in, struct standing *rows, size_t n, size_t i, double width)
{
    struct standing *r = &rows[i];
    double error;
    r->place_from = 1;
    r->place_to = n;
    for (size_t k = 0; k < n; k++) {
        if (k == i)
            continue;
        const double mean = mean_of(in, r->policy, rows[k].policy, &error, NULL);
        r->place_from += mean - width * error > 0;
        r->place_to -= mean + width * error < 0;
    }
    const double mean = mean_of(in, r->policy, rows[0].policy, &error, NULL);
    r->over_first = exp(mean);
    r->low = exp(mean - width * error);
    r->high = exp(mean + width * error);
}

enum err standings_find(const struct standings_input *in, struct standing *out, struct err_detail *err)
{
    size_t n_whole = 0;
    if (in->n_traces == 0 || in->n_strata > STANDINGS_STRATA_MAX)
        return err_set(err, ERR_USAGE, 0, "a comparison needs traces");
    for (size_t p = 0; p < in->n_policies; p++) {
        double error;
        out[p] = (struct standing){ .policy = p, .n = count_of(in, p), .mean = NAN, .over_first = NAN, .low = NAN,
                                    .high = NAN };
        const double mean = mean_of(in, p, SIZE_MAX, &error, out[p].by_stratum);
        if (out[p].n == in->n_traces)
            out[p].mean = exp(mean);
        n_whole += out[p].n == in->n_traces;
    }
    qsort(out, in->n_policies, sizeof *out, by_mean);
    const double width = standings_width(in->n_policies);
    for (size_t i = 0; i < n_whole; i++)
        place(in, out, n_whole, i, width);
    return ERR_OK;
}
