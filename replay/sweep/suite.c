/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/* A sweep for each trace; then every run is counted under its policy and capacity. */
#include "replay/sweep/suite.h"

#include "base/units.h"
#include "replay/sweep/edition.h"
#include "replay/sweep/sweep.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static const char *const policies[] = {
#define SUITE_POLICY(typed) typed,
#include "replay/sweep/edition_1.def"
};

static const struct { const char *name, *reason; } left_out[] = {
#define SUITE_LEFT_OUT(name, why) { name, why },
#include "replay/sweep/edition_1.def"
};

enum { N_POLICIES = sizeof policies / sizeof policies[0],
       N_LEFT_OUT = sizeof left_out / sizeof left_out[0], PATH_TEXT = 4096, DEVICE_TYPED = 160 };

const char *suite_policy_at(size_t i)
{
    return i < N_POLICIES ? policies[i] : NULL;
}

const char *suite_left_out_at(size_t i, const char **reason)
{
    *reason = i < N_LEFT_OUT ? left_out[i].reason : NULL;
    return i < N_LEFT_OUT ? left_out[i].name : NULL;
}

/* ---- one trace ---- */

static uint64_t capacity_mib(const struct edition_trace *t, unsigned i)
{
    return align_up(t->bound_bytes * survival_percents[i] / 100, 2 * MIB) / MIB;
}

static void path_of(const struct suite_request *asked, const struct edition_trace *t, char out[PATH_TEXT])
{
    snprintf(out, PATH_TEXT, "%s/%s", asked->folder, t->file);
}

/* The first complaint of a sweep. */
static void take_complaint(void *arg, const char *text)
{
    struct err_detail *first = arg;
    if (first->text[0] == '\0')
        err_set(first, ERR_UNSUPPORTED, 0, "%s", text);
}

static enum err run_trace(const struct suite_request *asked, const struct expansion *expanded,
                          const struct edition_trace *t, struct run_table *table, struct err_detail *err)
{
    char path[PATH_TEXT], device[DEVICE_TYPED] = "sim:{";
    const char *const inputs[] = { path }, *const devices[] = { device };
    struct err_detail complaint = { .text = "" };
    struct sweep sweep = { .db = NULL };
    for (unsigned i = 0; i < SURVIVAL_CAPACITIES; i++) {
        const size_t n = strlen(device);
        snprintf(device + n, sizeof device - n, "%s%" PRIu64, i > 0 ? "," : "", capacity_mib(t, i));
    }
    strcat(device, "}MiB,addresses=" SUITE_ADDRESSES);
    path_of(asked, t, path);
    const struct sweep_request request = {
        .inputs = inputs, .n_inputs = 1, .policies = (const char *const *)expanded->at, .n_policies = expanded->n,
        .devices = devices, .n_devices = 1, .import = { .gpu = -1 }, .threads = asked->threads,
    };
    enum err e = edition_check(path, t, err);
    if (e == ERR_OK)
        e = sweep_open(&request, &sweep, NULL, err);
    if (e != ERR_OK)
        return e;
    sweep.complain = take_complaint;
    sweep.arg = &complaint;
    sweep.interrupted = asked->interrupted;
    e = sweep_run(&sweep, asked->db, false, err);
    if (e == ERR_OK && (sweep.n_left_out > 0 || sweep.host_error != ERR_OK))
        e = err_set(err, sweep.host_error != ERR_OK ? sweep.host_error : ERR_UNSUPPORTED, 0, "%s", complaint.text);
    if (e == ERR_OK && asked->db == NULL)
        e = run_table_add_db(table, sweep.db, err);
    sweep_close(&sweep);
    return e;
}

/* ---- counting ---- */

static struct survival_row *row_of(struct suite *s, const char *policy)
{
    for (size_t i = 0; i < s->survival.n; i++)
        if (strcmp(s->survival.rows[i].policy, policy) == 0)
            return &s->survival.rows[i];
    return NULL;
}

static void count_run(struct survival_row *r, const struct edition_trace *t, unsigned capacity,
                      const struct run_table *table, size_t row)
{
    if (strcmp(run_table_text(table, row, "outcome"), "ok") == 0)
        survival_count(r, capacity, (double)run_table_number(table, row, "card_peak_bytes") / (double)t->bound_bytes,
                       (uint64_t)run_table_number(table, row, "device_calls"),
                       (uint64_t)run_table_number(table, row, "trace_allocs"),
                       (uint64_t)run_table_number(table, row, "device_time_ns"));
}

/* Counts a run of the table, and calls its card by its part of the bound. */
static enum err take_run(const struct suite_request *asked, struct suite *s, struct run_table *table, size_t row)
{
    char path[PATH_TEXT], device[DEVICE_TYPED];
    size_t n_traces;
    const struct edition_trace *traces = edition_traces(&n_traces);
    struct survival_row *r = row_of(s, run_table_text(table, row, "policy"));
    for (size_t t = 0; t < n_traces && r != NULL; t++) {
        path_of(asked, &traces[t], path);
        if (strcmp(path, run_table_text(table, row, "trace_path")) != 0)
            continue;
        for (unsigned i = 0; i < SURVIVAL_CAPACITIES; i++) {
            snprintf(device, sizeof device, "sim:%" PRIu64 "MiB,addresses=" SUITE_ADDRESSES,
                     capacity_mib(&traces[t], i));
            if (strcmp(device, run_table_text(table, row, "device_typed")) != 0)
                continue;
            count_run(r, &traces[t], i, table, row);
            snprintf(device, sizeof device, "%.2f x bound", survival_percents[i] / 100.0);
            const bool is_done = run_table_set_text(table, row, "device_typed", device) &&
                                 run_table_set_text(table, row, "device", device);
            return is_done ? ERR_OK : ERR_HOST_NOMEM;
        }
    }
    return ERR_OK;
}

static enum err expand_edition(struct expansion *out, struct err_detail *err)
{
    enum err e = ERR_OK;
    for (size_t i = 0; i < N_POLICIES && e == ERR_OK; i++)
        e = expand(policies[i], out, err);
    return e;
}

static enum err open_rows(const struct suite_request *asked, struct suite *s, struct err_detail *err)
{
    enum err e = asked->n_policies == 0 ? expand_edition(&s->policies, err) : ERR_OK;
    for (size_t i = 0; i < asked->n_policies && e == ERR_OK; i++)
        e = strcmp(asked->policies[i], SUITE_EDITION) == 0 ? expand_edition(&s->policies, err)
                                                           : expand(asked->policies[i], &s->policies, err);
    s->survival.rows = e == ERR_OK ? calloc(s->policies.n + 1, sizeof *s->survival.rows) : NULL;
    if (e == ERR_OK && s->survival.rows == NULL)
        e = err_no_memory(err);
    for (size_t i = 0; i < s->policies.n && e == ERR_OK; i++)
        s->survival.rows[s->survival.n++] = (struct survival_row){ .policy = s->policies.at[i],
                                                                   .n = (unsigned)s->n_traces };
    return e;
}

static enum err read_stored(const char *path, struct run_table *table, struct err_detail *err)
{
    struct results_db *db = NULL;
    enum err e = results_db_open_read(path, NULL, &db, err);
    if (e == ERR_OK)
        e = run_table_add_db(table, db, err);
    results_db_close(db);
    return e;
}

enum err suite_run(const struct suite_request *asked, struct run_table *table, struct suite *out,
                   struct err_detail *err)
{
    *out = (struct suite){ .n_traces = 0 };
    const struct edition_trace *traces = edition_traces(&out->n_traces);
    enum err e = open_rows(asked, out, err);
    for (size_t i = 0; i < out->n_traces && e == ERR_OK; i++)
        e = run_trace(asked, &out->policies, &traces[i], table, err);
    if (e == ERR_OK && asked->db != NULL)
        e = read_stored(asked->db, table, err);
    for (size_t row = 0; row < table->n_rows && e == ERR_OK; row++)
        if ((e = take_run(asked, out, table, row)) != ERR_OK)
            err_set(err, e, 0, "the host is out of memory");
    survival_sort(&out->survival);
    return e;
}

void suite_close(struct suite *s)
{
    free(s->survival.rows);
    expansion_close(&s->policies);
    *s = (struct suite){ .n_traces = 0 };
}
