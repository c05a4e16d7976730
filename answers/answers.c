/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/* All tables, and each as a JSON Schema. */
#include "answers/answers.h"

#include "report/text/json_writer.h"

#include <assert.h>
#include <string.h>

static const struct answer_member bench_suite_members[] = {
#define ANSWER_TABLE "answers/bench_suite.def"
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
static const struct answer_member fit_members[] = {
#define ANSWER_TABLE "answers/fit.def"
#include "answers/as_members.def"
};
static const struct answer_member graphs_members[] = {
#define ANSWER_TABLE "answers/graphs.def"
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
static const struct answer_member requests_members[] = {
#define ANSWER_TABLE "answers/requests.def"
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
static const struct answer_member technique_members[] = {
#define ANSWER_TABLE "answers/technique.def"
#include "answers/as_members.def"
};
static const struct answer_member technique_side_members[] = {
#define ANSWER_TABLE "answers/technique_side.def"
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

static const struct answer_table tables[] = {
    { "bench_suite", bench_suite_members },
    { "blame", blame_members },
    { "calibration", calibration_members },
    { "compared", compared_members },
    { "compared_run", compared_run_members },
    { "conf", conf_members },
    { "conform", conform_members },
    { "contest", contest_members },
    { "coverage", coverage_members },
    { "cure", cure_members },
    { "device_call", device_call_members },
    { "diff", diff_members },
    { "difference", difference_members },
    { "event", event_members },
    { "explanation", explanation_members },
    { "extrapolate", extrapolate_members },
    { "figure", figure_members },
    { "filled_step", filled_step_members },
    { "fit", fit_members },
    { "graphs", graphs_members },
    { "held_category", held_category_members },
    { "holder", holder_members },
    { "info", info_members },
    { "info_peak", info_peak_members },
    { "peak_range", peak_range_members },
    { "pinned", pinned_members },
    { "placement", placement_members },
    { "plan", plan_members },
    { "predict", predict_members },
    { "predicted", predicted_members },
    { "predicted_card", predicted_card_members },
    { "ranks", ranks_members },
    { "requests", requests_members },
    { "serve", serve_members },
    { "setting", setting_members },
    { "setting_words", setting_words_members },
    { "share", share_members },
    { "shrink", shrink_members },
    { "start_state", start_state_members },
    { "stats", stats_members },
    { "step", step_members },
    { "survival", survival_members },
    { "technique", technique_members },
    { "technique_side", technique_side_members },
    { "trial", trial_members },
    { "tune", tune_members },
    { "tune_host", tune_host_members },
    { "verify", verify_members },
    { "verify_pass", verify_pass_members },
    { "who", who_members },
    { "why", why_members },
    { "why_log", why_log_members },
    { "why_recording", why_recording_members },
    { "why_text", why_text_members },
    { "why_words", why_words_members },
};

const struct answer_table *answer_table_at(size_t i)
{
    return i < sizeof tables / sizeof tables[0] ? &tables[i] : NULL;
}

const struct answer_table *answer_table_find(const char *name)
{
    for (size_t i = 0; i < sizeof tables / sizeof tables[0]; i++)
        if (strcmp(tables[i].name, name) == 0)
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

static const struct answer_member *members_of(const char *part)
{
    const struct answer_table *t = answer_table_find(part);
    assert(t != NULL);
    return t->members;
}

/* ---- JSON Schema ---- */

static void put_object_of(struct json_writer *json, const struct answer_member *members);

/* NULL: a number or a text. */
static void put_type(struct json_writer *json, const char *type, bool may_be_null)
{
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

/* What stands in an array or in a map. */
static void put_items(struct json_writer *json, const struct answer_member *m)
{
    json_put_object(json, m->kind == MEMBER_MAP ? "additionalProperties" : "items");
    if (m->kind == MEMBER_LISTS) {
        json_put_text(json, "type", "array");
        json_put_object(json, "items");
    }
    if (m->kind == MEMBER_PARTS)
        json_put_text(json, "title", m->part);
    put_type(json, m->type != NULL ? m->type : "object", false);
    if (m->type == NULL)
        put_object_of(json, m->kind == MEMBER_PARTS ? members_of(m->part) : m + 1);
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
    if (is_array || m->kind == MEMBER_MAP)
        put_items(json, m);
    else if (!is_value)
        put_object_of(json, m->kind == MEMBER_PART ? members_of(m->part) : m + 1);
    json_end_object(json);
}

static void put_properties(struct json_writer *json, const struct answer_member *m)
{
    for (; m->kind != MEMBER_END; m = member_after(m))
        if (m->kind == MEMBER_MEMBERS)
            put_properties(json, members_of(m->part));
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
            put_required(json, members_of(m->part));
        else
            json_put_text(json, NULL, m->key);
    }
}

static void put_object_of(struct json_writer *json, const struct answer_member *members)
{
    json_put_object(json, "properties");
    put_properties(json, members);
    json_end_object(json);
    json_put_array(json, "required");
    put_required(json, members);
    json_end_array(json);
}

void answer_schema_print(FILE *out, const struct answer_table *t)
{
    struct json_writer json = json_writer(out);
    json_put_object(&json, NULL);
    json_put_text(&json, "$schema", "https://json-schema.org/draft/2020-12/schema");
    json_put_text(&json, "title", t->members->only != NULL ? t->members->only : t->name);
    if (t->members->only != NULL)
        json_put_text(&json, "description", t->members->meaning);
    json_put_text(&json, "type", "object");
    put_object_of(&json, t->members);
    json_end_object(&json);
}
