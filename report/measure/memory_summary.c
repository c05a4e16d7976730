/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/* The table is a list of rows. A cell's unit comes from a reference value, so that the rows of one metric share a
 * unit. */
#include "report/measure/memory_summary.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

struct summary {
    stat_lookup lookup;
    const void *arg;
    char       *buf;
    size_t      cap, length;
};

static void summary_put(struct summary *t, const char *fmt, ...) PRINTF_LIKE(2, 3);

static void summary_put(struct summary *t, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    const size_t room = t->length < t->cap ? t->cap - t->length : 0;
    const int n = vsnprintf(room == 0 ? NULL : t->buf + t->length, room, fmt, args);
    va_end(args);
    t->length += n < 0 ? 0 : (size_t)n;
}

static void summary_put_rule(struct summary *t, char c)
{
    char rule[76];
    memset(rule, c, 75);
    rule[75] = '\0';
    summary_put(t, "|%s|\n", rule);
}

/* ---- cells ---- */

struct summary_unit {
    int64_t     step, threshold;      /* the next unit is used from threshold units on */
    int         width;
    const char *names[6];             /* up to the first NULL */
};

static const struct summary_unit summary_sizes = {
    1024, 768 * 1024, 6, {"B  ", "KiB", "MiB", "GiB", "TiB", "PiB"}};
static const struct summary_unit summary_counts = {1000, 750 * 1000, 7, {" ", "K", "M"}};

/* `reference` chooses the unit. The value is cut, not rounded, as PyTorch does. */
static void summary_put_cell(struct summary *t, const struct summary_unit *unit, int64_t value, int64_t reference)
{
    size_t k = 0;
    while (k + 1 < 6 && unit->names[k + 1] != NULL && reference >= unit->threshold) {
        reference /= unit->step;
        value /= unit->step;
        k++;
    }
    summary_put(t, " %*" PRId64 " %s%s |", unit->width, value, unit->names[k], unit == &summary_counts ? " " : "");
}

static const char *const summary_columns[] = {"current", "peak", "allocated", "freed"};

static int64_t summary_value(const struct summary *t, const char *stat, const char *column)
{
    char key[80];
    snprintf(key, sizeof key, "%s.%s", stat, column);
    return t->lookup(t->arg, key);
}

/* One row: the four counters of `stat`, in the units of `reference`. */
static void summary_put_row(struct summary *t, const char *label, const char *stat, const char *reference,
                            const struct summary_unit *unit)
{
    summary_put(t, "| %-21s |", label);
    for (size_t i = 0; i < 4; i++)
        summary_put_cell(t, unit, summary_value(t, stat, summary_columns[i]),
                         summary_value(t, reference, summary_columns[i]));
    summary_put(t, "\n");
}

/* ---- rows ---- */

static const struct {
    const char *stat, *label;
    const struct summary_unit *unit;
    bool        has_pools;
} summary_metrics[] = {
    {"allocated_bytes", "Allocated memory", &summary_sizes, true},
    {"active_bytes", "Active memory", &summary_sizes, true},
    {"requested_bytes", "Requested memory", &summary_sizes, true},
    {"reserved_bytes", "GPU reserved memory", &summary_sizes, true},
    {"inactive_split_bytes", "Non-releasable memory", &summary_sizes, true},
    {"allocation", "Allocations", &summary_counts, true},
    {"active", "Active allocs", &summary_counts, true},
    {"segment", "GPU reserved segments", &summary_counts, true},
    {"inactive_split", "Non-releasable allocs", &summary_counts, true},
    {"oversize_allocations", "Oversize allocations", &summary_counts, false},
    {"oversize_segments", "Oversize GPU segments", &summary_counts, false},
};

static const struct {
    const char *pool, *label;         /* NULL: the metric's own */
} summary_pools[] = {{"all", NULL}, {"large_pool", "      from large pool"}, {"small_pool", "      from small pool"}};

static void summary_put_metric(struct summary *t, size_t metric, enum summary_form form)
{
    const char *stat = summary_metrics[metric].stat, *label = summary_metrics[metric].label;
    const struct summary_unit *unit = summary_metrics[metric].unit;
    summary_put_rule(t, '-');
    if (!summary_metrics[metric].has_pools) {
        summary_put_row(t, label, stat, stat, unit);
        return;
    }
    char whole[64], part[64];
    snprintf(whole, sizeof whole, "%s.all", stat);
    for (size_t i = 0; i < (form == SUMMARY_FULL ? 3 : 1); i++) {
        snprintf(part, sizeof part, "%s.%s", stat, summary_pools[i].pool);
        summary_put_row(t, i == 0 ? label : summary_pools[i].label, part, whole, unit);
    }
}

size_t memory_summary(stat_lookup lookup, const void *arg, uint32_t device, enum summary_form form, char *buf,
                      size_t cap)
{
    struct summary t = {.lookup = lookup, .arg = arg, .buf = buf, .cap = cap};
    summary_put_rule(&t, '=');
    summary_put(&t, "|%18sPyTorch CUDA memory summary, device ID %-17" PRIu32 " |\n", "", device);
    summary_put_rule(&t, '-');
    summary_put(&t, "|            CUDA OOMs: %-12" PRId64 " |        cudaMalloc retries: %-8" PRId64 "  |\n",
                lookup(arg, "num_ooms"), lookup(arg, "num_alloc_retries"));
    summary_put_rule(&t, '=');
    summary_put(&t, "|        Metric         | Cur Usage  | Peak Usage | Tot Alloc  | Tot Freed  |\n");
    for (size_t i = 0; i < sizeof summary_metrics / sizeof summary_metrics[0]; i++)
        summary_put_metric(&t, i, form);
    summary_put_rule(&t, '=');
    return t.length;
}

/* ---- counters of a policy ---- */

struct summary_search {
    const char *key;
    int64_t     value;
};

static void summary_visit(void *arg, const char *key, int64_t value)
{
    struct summary_search *s = arg;
    if (strcmp(key, s->key) == 0)
        s->value = value;
}

int64_t memory_summary_policy_stat(const void *policy, const char *key)
{
    const struct policy *p = policy;
    struct summary_search search = {.key = key};
    if (p->ops->stats != NULL)
        p->ops->stats(p, summary_visit, &search);
    return search.value;
}
