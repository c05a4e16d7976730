/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/* All tables, and each as a JSON Schema. */
#include "report/schema/answer_schema.h"

#include "report/text/json_writer.h"

#include <assert.h>
#include <string.h>

static const struct answer_member adversary_members[] = {
#define ANSWER_TABLE "answers/adversary.def"
#include "answers/as_members.def"
};
static const struct answer_member bench_pools_members[] = {
#define ANSWER_TABLE "answers/bench_pools.def"
#include "answers/as_members.def"
};
static const struct answer_member bench_suite_members[] = {
#define ANSWER_TABLE "answers/bench_suite.def"
#include "answers/as_members.def"
};
static const struct answer_member bisect_members[] = {
#define ANSWER_TABLE "answers/bisect.def"
#include "answers/as_members.def"
};
static const struct answer_member bisected_version_members[] = {
#define ANSWER_TABLE "answers/bisected_version.def"
#include "answers/as_members.def"
};
static const struct answer_member blame_members[] = {
#define ANSWER_TABLE "answers/blame.def"
#include "answers/as_members.def"
};
static const struct answer_member calibration_members[] = {
#define ANSWER_TABLE "answers/calibration.def"
#include "answers/as_members.def"
};
static const struct answer_member compared_members[] = {
#define ANSWER_TABLE "answers/compared.def"
#include "answers/as_members.def"
};
static const struct answer_member compared_run_members[] = {
#define ANSWER_TABLE "answers/compared_run.def"
#include "answers/as_members.def"
};
static const struct answer_member conf_members[] = {
#define ANSWER_TABLE "answers/conf.def"
#include "answers/as_members.def"
};
static const struct answer_member conform_members[] = {
#define ANSWER_TABLE "answers/conform.def"
#include "answers/as_members.def"
};
static const struct answer_member contest_members[] = {
#define ANSWER_TABLE "answers/contest.def"
#include "answers/as_members.def"
};
static const struct answer_member coverage_members[] = {
#define ANSWER_TABLE "answers/coverage.def"
#include "answers/as_members.def"
};
static const struct answer_member cure_members[] = {
#define ANSWER_TABLE "answers/cure.def"
#include "answers/as_members.def"
};
static const struct answer_member device_call_members[] = {
#define ANSWER_TABLE "answers/device_call.def"
#include "answers/as_members.def"
};
static const struct answer_member diff_members[] = {
#define ANSWER_TABLE "answers/diff.def"
#include "answers/as_members.def"
};
static const struct answer_member difference_members[] = {
#define ANSWER_TABLE "answers/difference.def"
#include "answers/as_members.def"
};
static const struct answer_member event_members[] = {
#define ANSWER_TABLE "answers/event.def"
#include "answers/as_members.def"
};
static const struct answer_member explanation_members[] = {
#define ANSWER_TABLE "answers/explanation.def"
#include "answers/as_members.def"
};
static const struct answer_member extrapolate_members[] = {
#define ANSWER_TABLE "answers/extrapolate.def"
#include "answers/as_members.def"
};
static const struct answer_member figure_members[] = {
#define ANSWER_TABLE "answers/figure.def"
#include "answers/as_members.def"
};
static const struct answer_member filled_step_members[] = {
#define ANSWER_TABLE "answers/filled_step.def"
#include "answers/as_members.def"
};
static const struct answer_member first_step_members[] = {
#define ANSWER_TABLE "answers/first_step.def"
#include "answers/as_members.def"
};
static const struct answer_member fit_members[] = {
#define ANSWER_TABLE "answers/fit.def"
#include "answers/as_members.def"
};
static const struct answer_member graphs_members[] = {
#define ANSWER_TABLE "answers/graphs.def"
#include "answers/as_members.def"
};
static const struct answer_member grown_row_members[] = {
#define ANSWER_TABLE "answers/grown_row.def"
#include "answers/as_members.def"
};
static const struct answer_member held_category_members[] = {
#define ANSWER_TABLE "answers/held_category.def"
#include "answers/as_members.def"
};
static const struct answer_member holder_members[] = {
#define ANSWER_TABLE "answers/holder.def"
#include "answers/as_members.def"
};
static const struct answer_member info_members[] = {
#define ANSWER_TABLE "answers/info.def"
#include "answers/as_members.def"
};
static const struct answer_member info_peak_members[] = {
#define ANSWER_TABLE "answers/info_peak.def"
#include "answers/as_members.def"
};
static const struct answer_member jax_memory_members[] = {
#define ANSWER_TABLE "answers/jax_memory.def"
#include "answers/as_members.def"
};
static const struct answer_member measured_members[] = {
#define ANSWER_TABLE "answers/measured.def"
#include "answers/as_members.def"
};
static const struct answer_member measured_call_members[] = {
#define ANSWER_TABLE "answers/measured_call.def"
#include "answers/as_members.def"
};
static const struct answer_member measured_memory_members[] = {
#define ANSWER_TABLE "answers/measured_memory.def"
#include "answers/as_members.def"
};
static const struct answer_member peak_range_members[] = {
#define ANSWER_TABLE "answers/peak_range.def"
#include "answers/as_members.def"
};
static const struct answer_member pinned_members[] = {
#define ANSWER_TABLE "answers/pinned.def"
#include "answers/as_members.def"
};
static const struct answer_member placement_members[] = {
#define ANSWER_TABLE "answers/placement.def"
#include "answers/as_members.def"
};
static const struct answer_member plan_members[] = {
#define ANSWER_TABLE "answers/plan.def"
#include "answers/as_members.def"
};
static const struct answer_member predict_members[] = {
#define ANSWER_TABLE "answers/predict.def"
#include "answers/as_members.def"
};
static const struct answer_member predicted_members[] = {
#define ANSWER_TABLE "answers/predicted.def"
#include "answers/as_members.def"
};
static const struct answer_member predicted_card_members[] = {
#define ANSWER_TABLE "answers/predicted_card.def"
#include "answers/as_members.def"
};
static const struct answer_member ranks_members[] = {
#define ANSWER_TABLE "answers/ranks.def"
#include "answers/as_members.def"
};
static const struct answer_member record_members[] = {
#define ANSWER_TABLE "answers/record.def"
#include "answers/as_members.def"
};
static const struct answer_member recorded_file_members[] = {
#define ANSWER_TABLE "answers/recorded_file.def"
#include "answers/as_members.def"
};
static const struct answer_member replay_members[] = {
#define ANSWER_TABLE "answers/replay.def"
#include "answers/as_members.def"
};
static const struct answer_member requests_members[] = {
#define ANSWER_TABLE "answers/requests.def"
#include "answers/as_members.def"
};
static const struct answer_member run_sim_members[] = {
#define ANSWER_TABLE "answers/run_sim.def"
#include "answers/as_members.def"
};
static const struct answer_member serve_members[] = {
#define ANSWER_TABLE "answers/serve.def"
#include "answers/as_members.def"
};
static const struct answer_member setting_members[] = {
#define ANSWER_TABLE "answers/setting.def"
#include "answers/as_members.def"
};
static const struct answer_member setting_words_members[] = {
#define ANSWER_TABLE "answers/setting_words.def"
#include "answers/as_members.def"
};
static const struct answer_member share_members[] = {
#define ANSWER_TABLE "answers/share.def"
#include "answers/as_members.def"
};
static const struct answer_member shrink_members[] = {
#define ANSWER_TABLE "answers/shrink.def"
#include "answers/as_members.def"
};
static const struct answer_member sim_card_members[] = {
#define ANSWER_TABLE "answers/sim_card.def"
#include "answers/as_members.def"
};
static const struct answer_member start_state_members[] = {
#define ANSWER_TABLE "answers/start_state.def"
#include "answers/as_members.def"
};
static const struct answer_member stats_members[] = {
#define ANSWER_TABLE "answers/stats.def"
#include "answers/as_members.def"
};
static const struct answer_member step_members[] = {
#define ANSWER_TABLE "answers/step.def"
#include "answers/as_members.def"
};
static const struct answer_member survival_members[] = {
#define ANSWER_TABLE "answers/survival.def"
#include "answers/as_members.def"
};
static const struct answer_member sweep_members[] = {
#define ANSWER_TABLE "answers/sweep.def"
#include "answers/as_members.def"
};
static const struct answer_member sweep_failed_members[] = {
#define ANSWER_TABLE "answers/sweep_failed.def"
#include "answers/as_members.def"
};
static const struct answer_member sweep_run_members[] = {
#define ANSWER_TABLE "answers/sweep_run.def"
#include "answers/as_members.def"
};
static const struct answer_member technique_members[] = {
#define ANSWER_TABLE "answers/technique.def"
#include "answers/as_members.def"
};
static const struct answer_member technique_side_members[] = {
#define ANSWER_TABLE "answers/technique_side.def"
#include "answers/as_members.def"
};
static const struct answer_member to_come_members[] = {
#define ANSWER_TABLE "answers/to_come.def"
#include "answers/as_members.def"
};
static const struct answer_member trial_members[] = {
#define ANSWER_TABLE "answers/trial.def"
#include "answers/as_members.def"
};
static const struct answer_member tune_members[] = {
#define ANSWER_TABLE "answers/tune.def"
#include "answers/as_members.def"
};
static const struct answer_member tune_host_members[] = {
#define ANSWER_TABLE "answers/tune_host.def"
#include "answers/as_members.def"
};
static const struct answer_member own_setting_members[] = {
#define ANSWER_TABLE "answers/own_setting.def"
#include "answers/as_members.def"
};
static const struct answer_member tune_own_members[] = {
#define ANSWER_TABLE "answers/tune_own.def"
#include "answers/as_members.def"
};
static const struct answer_member verify_members[] = {
#define ANSWER_TABLE "answers/verify.def"
#include "answers/as_members.def"
};
static const struct answer_member verify_pass_members[] = {
#define ANSWER_TABLE "answers/verify_pass.def"
#include "answers/as_members.def"
};
static const struct answer_member who_members[] = {
#define ANSWER_TABLE "answers/who.def"
#include "answers/as_members.def"
};
static const struct answer_member why_members[] = {
#define ANSWER_TABLE "answers/why.def"
#include "answers/as_members.def"
};
static const struct answer_member why_log_members[] = {
#define ANSWER_TABLE "answers/why_log.def"
#include "answers/as_members.def"
};
static const struct answer_member why_recording_members[] = {
#define ANSWER_TABLE "answers/why_recording.def"
#include "answers/as_members.def"
};
static const struct answer_member why_text_members[] = {
#define ANSWER_TABLE "answers/why_text.def"
#include "answers/as_members.def"
};
static const struct answer_member why_words_members[] = {
#define ANSWER_TABLE "answers/why_words.def"
#include "answers/as_members.def"
};
static const struct answer_member workspaces_members[] = {
#define ANSWER_TABLE "answers/workspaces.def"
#include "answers/as_members.def"
};

static const struct answer_table tables[] = {
    { .name = "adversary", .members = adversary_members },
    { .name = "bench_pools", .members = bench_pools_members },
    { .name = "bench_suite", .members = bench_suite_members },
    { .name = "bisect", .members = bisect_members },
    { .name = "bisected_version", .members = bisected_version_members },
    { .name = "blame", .members = blame_members },
    { .name = "calibration", .members = calibration_members },
    { .name = "compared", .members = compared_members },
    { .name = "compared_run", .members = compared_run_members },
    { .name = "conf", .members = conf_members },
    { .name = "conform", .members = conform_members },
    { .name = "contest", .members = contest_members },
    { .name = "coverage", .members = coverage_members },
    { .name = "cure", .members = cure_members },
    { .name = "database_columns", .is_database = true },
    { .name = "device_call", .members = device_call_members },
    { .name = "diff", .members = diff_members },
    { .name = "difference", .members = difference_members },
    { .name = "event", .members = event_members },
    { .name = "explanation", .members = explanation_members },
    { .name = "extrapolate", .members = extrapolate_members },
    { .name = "figure", .members = figure_members },
    { .name = "filled_step", .members = filled_step_members },
    { .name = "first_step", .members = first_step_members },
    { .name = "fit", .members = fit_members },
    { .name = "graphs", .members = graphs_members },
    { .name = "grown_row", .members = grown_row_members },
    { .name = "held_category", .members = held_category_members },
    { .name = "holder", .members = holder_members },
    { .name = "info", .members = info_members },
    { .name = "info_peak", .members = info_peak_members },
    { .name = "jax_memory", .members = jax_memory_members },
    { .name = "measured", .members = measured_members },
    { .name = "measured_call", .members = measured_call_members },
    { .name = "measured_memory", .members = measured_memory_members },
    { .name = "own_setting", .members = own_setting_members },
    { .name = "peak_range", .members = peak_range_members },
    { .name = "pinned", .members = pinned_members },
    { .name = "placement", .members = placement_members },
    { .name = "plan", .members = plan_members },
    { .name = "predict", .members = predict_members },
    { .name = "predicted", .members = predicted_members },
    { .name = "predicted_card", .members = predicted_card_members },
    { .name = "ranks", .members = ranks_members },
    { .name = "record", .members = record_members },
    { .name = "recorded_file", .members = recorded_file_members },
    { .name = "replay", .members = replay_members },
    { .name = "requests", .members = requests_members },
    { .name = "run_columns", .columns = COLUMNS_OF_RUN, .begin = RUN_NAMES, .end = SIZE_MAX },
    { .name = "run_names", .columns = COLUMNS_OF_RUN, .end = RUN_NAMES },
    { .name = "run_sim", .members = run_sim_members },
    { .name = "serve", .members = serve_members },
    { .name = "setting", .members = setting_members },
    { .name = "setting_words", .members = setting_words_members },
    { .name = "share", .members = share_members },
    { .name = "shrink", .members = shrink_members },
    { .name = "sim_card", .members = sim_card_members },
    { .name = "start_state", .members = start_state_members },
    { .name = "stats", .members = stats_members },
    { .name = "step", .members = step_members },
    { .name = "survival", .members = survival_members },
    { .name = "sweep", .members = sweep_members },
    { .name = "sweep_failed", .members = sweep_failed_members },
    { .name = "sweep_run", .members = sweep_run_members },
    { .name = "technique", .members = technique_members },
    { .name = "technique_side", .members = technique_side_members },
    { .name = "trace_columns", .columns = COLUMNS_OF_TRACE, .end = SIZE_MAX },
    { .name = "to_come", .members = to_come_members },
    { .name = "trial", .members = trial_members },
    { .name = "tune", .members = tune_members },
    { .name = "tune_host", .members = tune_host_members },
    { .name = "tune_own", .members = tune_own_members },
    { .name = "verify", .members = verify_members },
    { .name = "verify_pass", .members = verify_pass_members },
    { .name = "who", .members = who_members },
    { .name = "why", .members = why_members },
    { .name = "why_log", .members = why_log_members },
    { .name = "why_recording", .members = why_recording_members },
    { .name = "why_text", .members = why_text_members },
    { .name = "why_words", .members = why_words_members },
    { .name = "workspaces", .members = workspaces_members },
};

const struct answer_table *answer_table_at(size_t i)
{
    return i < sizeof tables / sizeof tables[0] ? &tables[i] : NULL;
}

/* "bench-pools", as commands and schemas are called, is the table "bench_pools". */
static bool is_called(const char *table, const char *name)
{
    for (; *table != '\0' && (*table == *name || (*table == '_' && *name == '-')); table++)
        name++;
    return *table == *name;
}

const struct answer_table *answer_table_find(const char *name)
{
    if (strcmp(name, "merge") == 0)                          /* its answer is a sweep's */
        name = "sweep";
    for (size_t i = 0; i < sizeof tables / sizeof tables[0]; i++)
        if (is_called(tables[i].name, name))
            return &tables[i];
    return NULL;
}

/* ---- one after another ---- */

static bool has_members(const struct answer_member *m)
{
    return m->kind == MEMBER_OBJECT || m->kind == MEMBER_OBJECTS;
}

/* What follows a member and its own members. */
static const struct answer_member *member_after(const struct answer_member *m)
{
    unsigned depth = 0;
    do {
        depth += has_members(m);
        depth -= m->kind == MEMBER_END;
        m++;
    } while (depth > 0);
    return m;
}

static const struct answer_table *table_of(const char *part)
{
    const struct answer_table *t = answer_table_find(part);
    assert(t != NULL);
    return t;
}

static const struct answer_member *members_of(const char *part)
{
    assert(table_of(part)->members != NULL);
    return table_of(part)->members;
}

/* ---- JSON Schema ---- */

static void put_object_of(struct json_writer *json, const struct answer_member *members);

static const char *const any_types[] = { "boolean", "null", "number", "string" };

/* NULL: a number or a text. "any": a value of any type. */
static void put_type(struct json_writer *json, const char *type, bool may_be_null)
{
    if (type != NULL && strcmp(type, "any") == 0) {
        json_put_array(json, "type");
        for (size_t i = 0; i < sizeof any_types / sizeof any_types[0]; i++)
            json_put_text(json, NULL, any_types[i]);
        json_end_array(json);
        return;
    }
    if (type != NULL && !may_be_null) {
        json_put_text(json, "type", type);
        return;
    }
    json_put_array(json, "type");
    if (may_be_null)
        json_put_text(json, NULL, "null");
    json_put_text(json, NULL, type != NULL ? type : "number");
    if (type == NULL)
        json_put_text(json, NULL, "string");
    json_end_array(json);
}

/* The words that the value may be. */
static void put_words(struct json_writer *json, const struct answer_member *m)
{
    char word[64];
    json_put_array(json, "enum");
    if (m->may_be_null)
        json_put_null(json, NULL);
    for (const char *at = m->words; *at != '\0'; at += *at == '|') {
        const size_t n = strcspn(at, "|");
        assert(n < sizeof word);
        memcpy(word, at, n);
        word[n] = '\0';
        json_put_text(json, NULL, word);
        at += n;
    }
    json_end_array(json);
}

/* What stands in an array or in a map. */
static void put_items(struct json_writer *json, const struct answer_member *m)
{
    json_put_object(json, m->kind == MEMBER_MAP ? "additionalProperties" : "items");
    if (m->kind == MEMBER_LISTS) {
        json_put_text(json, "type", "array");
        json_put_object(json, "items");
    }
    if (m->part != NULL)
        json_put_text(json, "title", m->part);
    put_type(json, m->type != NULL ? m->type : "object", false);
    if (m->words != NULL)
        put_words(json, m);
    if (m->type == NULL)
        put_object_of(json, m->part != NULL ? members_of(m->part) : m + 1);
    if (m->kind == MEMBER_LISTS)
        json_end_object(json);
    json_end_object(json);
}

static void put_member(struct json_writer *json, const struct answer_member *m)
{
    const bool is_array = m->kind == MEMBER_VALUES || m->kind == MEMBER_LISTS || m->kind == MEMBER_OBJECTS ||
                          m->kind == MEMBER_PARTS;
    const bool is_value = m->kind == MEMBER_VALUE || m->kind == MEMBER_FIELD;
    json_put_object(json, m->key);
    if (m->kind == MEMBER_PART)
        json_put_text(json, "title", m->part);
    if (m->only == NULL)
        json_put_text(json, "description", m->meaning);
    put_type(json, is_array ? "array" : is_value ? m->type : "object", m->may_be_null);
    if (m->only != NULL)
        json_put_text(json, "const", m->only);
    if (m->words != NULL && !is_array)
        put_words(json, m);
    if (is_array || m->kind == MEMBER_MAP)
        put_items(json, m);
    else if (!is_value)
        put_object_of(json, m->kind == MEMBER_PART ? members_of(m->part) : m + 1);
    json_end_object(json);
}

/* ---- columns of results ---- */

static void put_column(struct json_writer *json, const struct column *c, bool may_be_null)
{
    const char *type = c->values == VALUES_TEXT ? "string" : c->values == VALUES_RATIO ? "number" : "integer";
    json_put_text(json, "description", c->meaning);
    put_type(json, type, may_be_null);
}

static void put_columns_required(struct json_writer *json, const struct column *columns, size_t n, size_t n_object)
{
    struct column_member m;
    for (size_t i = 0; i < n; i += m.n) {
        m = column_member_of(&columns[i], n - i, n_object);
        json_put_text(json, NULL, m.name);
    }
}

static void put_columns(struct json_writer *json, const struct column *columns, size_t n, size_t n_object);

static void put_column_object(struct json_writer *json, const struct column_object *o, const struct column *columns,
                              size_t n)
{
    const size_t n_path = strlen(o->path);
    json_put_text(json, "description", o->meaning);
    put_type(json, "object", o->may_be_null);
    json_put_object(json, "properties");
    put_columns(json, columns, n, n_path);
    json_end_object(json);
    json_put_array(json, "required");
    put_columns_required(json, columns, n, n_path);
    json_end_array(json);
}

static void put_columns(struct json_writer *json, const struct column *columns, size_t n, size_t n_object)
{
    struct column_member m;
    for (size_t i = 0; i < n; i += m.n) {
        m = column_member_of(&columns[i], n - i, n_object);
        json_put_object(json, m.name);
        if (m.object != NULL)
            put_column_object(json, m.object, &columns[i], m.n);
        else
            put_column(json, &columns[i], strstr(columns[i].type, "null") != NULL);
        json_end_object(json);
    }
}

/* The columns of a table that has no members of its own. */
static const struct column *columns_in(const struct answer_table *t, size_t *n)
{
    const struct column *columns = columns_of(t->columns, n);
    *n = (t->end < *n ? t->end : *n) - t->begin;
    return columns + t->begin;
}

/* ---- columns of a database ---- */

static void put_database_columns(struct json_writer *json, const struct column *columns, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        json_put_object(json, columns[i].name);
        put_column(json, &columns[i], true);
        json_end_object(json);
    }
}

static void put_database_required(struct json_writer *json, const struct column *columns, size_t n)
{
    for (size_t i = 0; i < n; i++)
        json_put_text(json, NULL, columns[i].name);
}

/* In the order of a row (results_db_columns). */
static void put_database(struct json_writer *json,
                         void (*put)(struct json_writer *, const struct column *, size_t))
{
    for (enum column_kind kind = 0; kind < COLUMN_KINDS; kind++) {
        size_t n;
        const struct column *columns = columns_of(kind, &n);
        put(json, columns, n);
    }
}

/* ---- all members ---- */

/* How members, columns in objects and columns of a database are put. */
struct member_puts {
    void (*members)(struct json_writer *, const struct answer_member *);
    void (*columns)(struct json_writer *, const struct column *, size_t, size_t);
    void (*database)(struct json_writer *, const struct column *, size_t);
};

static void put_members_of(struct json_writer *json, const struct answer_table *t, struct member_puts put)
{
    size_t n;
    if (t->members != NULL) {
        put.members(json, t->members);
    } else if (t->is_database) {
        put_database(json, put.database);
    } else {
        const struct column *columns = columns_in(t, &n);
        put.columns(json, columns, n, 0);
    }
}

static void put_properties(struct json_writer *json, const struct answer_member *m);
static void put_required(struct json_writer *json, const struct answer_member *m);

static const struct member_puts properties = { put_properties, put_columns, put_database_columns },
                                required = { put_required, put_columns_required, put_database_required };

static void put_properties(struct json_writer *json, const struct answer_member *m)
{
    for (; m->kind != MEMBER_END; m = member_after(m))
        if (m->kind == MEMBER_MEMBERS)
            put_members_of(json, table_of(m->part), properties);
        else if (m->kind != MEMBER_IF && m->kind != MEMBER_END_IF)
            put_member(json, m);
}

static void put_required(struct json_writer *json, const struct answer_member *m)
{
    unsigned n_conditions = 0;
    for (; m->kind != MEMBER_END; m = member_after(m)) {
        n_conditions += m->kind == MEMBER_IF;
        n_conditions -= m->kind == MEMBER_END_IF;
        if (n_conditions > 0 || m->kind == MEMBER_END_IF)
            continue;
        if (m->kind == MEMBER_MEMBERS)
            put_members_of(json, table_of(m->part), required);
        else
            json_put_text(json, NULL, m->key);
    }
}

static void put_object_of_table(struct json_writer *json, const struct answer_table *t)
{
    json_put_object(json, "properties");
    put_members_of(json, t, properties);
    json_end_object(json);
    json_put_array(json, "required");
    put_members_of(json, t, required);
    json_end_array(json);
}

static void put_object_of(struct json_writer *json, const struct answer_member *members)
{
    put_object_of_table(json, &(struct answer_table){ .members = members });
}

void answer_schema_print(FILE *out, const struct answer_table *t)
{
    struct json_writer json = json_writer(out);
    json_put_object(&json, NULL);
    json_put_text(&json, "$schema", "https://json-schema.org/draft/2020-12/schema");
    const struct answer_member *schema = t->members != NULL && t->members->only != NULL ? t->members : NULL;
    json_put_text(&json, "title", schema != NULL ? schema->only : t->name);
    if (schema != NULL)
        json_put_text(&json, "description", schema->meaning);
    json_put_text(&json, "type", "object");
    put_object_of_table(&json, t);
    json_end_object(&json);
}
