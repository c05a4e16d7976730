/* Settings and traces are told apart by their texts; who wins follows the rule of words.c, on reserved bytes. */
#include "report/verdict.h"

#include "base/units.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* ---- settings and cases ---- */

static const char *const setting_columns[] = { "policy", "start", "on_oom", "releases", "seed", "version" };
static const char *const trace_columns[] = { "trace_path", "trace_digest", "format", "gpu" };
enum { N_SETTING_COLUMNS = sizeof setting_columns / sizeof setting_columns[0],
       N_TRACE_COLUMNS = sizeof trace_columns / sizeof trace_columns[0] };

/* What a source does not say tells nothing apart: a replay's JSON has no digest, and may stand beside a database. */
static bool is_same_cell(const struct field *a, const struct field *b)
{
    if (a->kind == FIELD_NULL || b->kind == FIELD_NULL)
        return true;
    return a->kind == b->kind && a->number == b->number && (a->kind != FIELD_TEXT || strcmp(a->text, b->text) == 0);
}

static bool is_same(const struct run_table *t, size_t a, size_t b, const char *const columns[], size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (!is_same_cell(run_table_cell(t, a, columns[i]), run_table_cell(t, b, columns[i])))
            return false;
    return true;
}

bool verdict_is_same_trace(const struct run_table *t, size_t a, size_t b)
{
    return is_same(t, a, b, trace_columns, N_TRACE_COLUMNS);
}

/* As it was typed, where that is known: then it is the same for traces that have different cards. */
static const char *device_of(const struct run_table *t, size_t row)
{
    const char *typed = run_table_text(t, row, "device_typed");
    return typed[0] != '\0' ? typed : run_table_text(t, row, "device");
}

static bool is_same_device(const struct run_table *t, size_t a, size_t b)
{
    return strcmp(device_of(t, a), device_of(t, b)) == 0;
}

static uint32_t find_setting(struct verdict *v, size_t row)
{
    for (size_t i = 0; i < v->n_settings; i++)
        if (is_same(v->table, v->settings[i].first_row, row, setting_columns, N_SETTING_COLUMNS))
            return (uint32_t)i;
    v->settings[v->n_settings] = (struct verdict_setting){
        .first_row = row, .is_default = verdict_is_default(v->table, row),
        .n_changed = policy_text_changes(run_table_text(v->table, row, "policy")),
    };
    return (uint32_t)v->n_settings++;
}

static uint32_t find_case(struct verdict *v, size_t row)
{
    bool is_new_trace = true, is_new_device = true;
    for (size_t i = v->n_cases; i-- > 0;) {          /* a trace's runs follow each other */
        const bool is_trace = verdict_is_same_trace(v->table, v->cases[i].first_row, row);
        const bool is_device = is_same_device(v->table, v->cases[i].first_row, row);
        if (is_trace && is_device)
            return (uint32_t)i;
        is_new_trace = is_new_trace && !is_trace;
        is_new_device = is_new_device && !is_device;
    }
    v->n_traces += is_new_trace;
    v->n_devices += is_new_device;
    v->cases[v->n_cases] = (struct verdict_case){ .first_row = row, .least_time_ns = UINT64_MAX,
                                                  .best_row = VERDICT_NONE };
    return (uint32_t)v->n_cases++;
}

/* Whether settings differ in a column: then their labels name it. */
static bool does_vary(const struct verdict *v, size_t column)
{
    const char *name = setting_columns[column];
    for (size_t i = 1; i < v->n_settings; i++)
        if (!is_same_cell(run_table_cell(v->table, v->settings[0].first_row, name),
                          run_table_cell(v->table, v->settings[i].first_row, name)))
            return true;
    return false;
}

/* A label's own copy. It may be printed on a terminal, so it holds no control characters. */
static char *label_copy(const struct words *w)
{
    char *label = strdup(w->text);
    for (char *c = label; c != NULL && *c != '\0'; c++)
        if ((unsigned char)*c < ' ' || *c == 0x7f)
            *c = '?';
    return label;
}

static bool label_setting(const struct verdict *v, struct verdict_setting *s, const bool varies[N_SETTING_COLUMNS])
{
    struct words w = { .n = 0 };
    for (size_t i = 0; i < N_SETTING_COLUMNS; i++) {
        const struct field *f = run_table_cell(v->table, s->first_row, setting_columns[i]);
        if (i > 0 && !varies[i])
            continue;
        if (i > 0)
            words_add(&w, ", %s ", setting_columns[i]);
        if (f->kind == FIELD_NUMBER)
            words_add(&w, "%" PRId64, f->number);
        else
            words_add(&w, "%s", f->kind == FIELD_TEXT ? f->text : "unknown");
    }
    return (s->label = label_copy(&w)) != NULL;
}

static bool label_case(const struct verdict *v, struct verdict_case *c)
{
    struct words w = { .n = 0 };
    if (v->n_traces > 1 || v->n_devices == 1)
        words_add(&w, "%s", run_table_text(v->table, c->first_row, "trace_path"));
    if (v->n_devices > 1)
        words_add(&w, "%s%s", v->n_traces > 1 ? " on " : "", device_of(v->table, c->first_row));
    return (c->label = label_copy(&w)) != NULL;
}

static bool label_all(struct verdict *v)
{
    bool varies[N_SETTING_COLUMNS], is_done = true;
    for (size_t i = 0; i < N_SETTING_COLUMNS; i++)
        varies[i] = does_vary(v, i);
    for (size_t i = 0; i < v->n_settings && is_done; i++)
        is_done = label_setting(v, &v->settings[i], varies);
    for (size_t i = 0; i < v->n_cases && is_done; i++)
        is_done = label_case(v, &v->cases[i]);
    return is_done;
}

/* ---- who wins ---- */

bool verdict_is_ok(const struct run_table *t, size_t row)
{
    return strcmp(run_table_text(t, row, "outcome"), "ok") == 0;
}

bool verdict_is_default(const struct run_table *t, size_t row)
{
    const char *policy = run_table_text(t, row, "policy");
    const bool is_pytorch = strcmp(run_table_text(t, row, "name"), "pytorch") == 0 ||
                            strcmp(policy, "best-fit") == 0 || strcmp(policy, "pytorch") == 0;
    return is_pytorch && policy_text_changes(policy) == 0;
}

static uint64_t row_reserved(const struct run_table *t, size_t row)
{
    return (uint64_t)run_table_number(t, row, "peak_reserved_bytes");
}

/* What the card has to have, by which runs are ranked. Files of older versions do not say it. */
static uint64_t row_bytes(const struct run_table *t, size_t row)
{
    const struct field *f = run_table_cell(t, row, "card_peak_bytes");
    return f->kind == FIELD_NUMBER ? (uint64_t)f->number : row_reserved(t, row);
}

static uint64_t row_time(const struct run_table *t, size_t row)
{
    return (uint64_t)run_table_number(t, row, "device_time_ns");
}

/* Modelled driver time that is not worth a word beside the least of n runs. */
static bool is_cheap(uint64_t time_ns, uint64_t least_ns, uint64_t n)
{
    return (double)time_ns <= 10 * (double)least_ns + 1e6 * (double)n;
}

/* Of equal results the default, then what changes fewer settings: none is there for nothing; then shorter to type. */
static bool is_simpler_setting(const struct verdict_setting *a, const struct verdict_setting *b)
{
    if (a->is_default != b->is_default)
        return a->is_default;
    if (a->n_changed != b->n_changed)
        return a->n_changed < b->n_changed;
    return strlen(a->label) < strlen(b->label);
}

/* Of two runs of a trace: less of the card, then less driver time. results_db.c has the same rule in SQL. */
static bool is_better_row(const struct verdict *v, size_t a, size_t b)
{
    const struct run_table *t = v->table;
    if (row_bytes(t, a) != row_bytes(t, b))
        return row_bytes(t, a) < row_bytes(t, b);
    if (row_time(t, a) != row_time(t, b))
        return row_time(t, a) < row_time(t, b);
    return is_simpler_setting(&v->settings[v->setting_of[a]], &v->settings[v->setting_of[b]]);
}

static bool is_better_setting(const struct verdict_setting *a, const struct verdict_setting *b)
{
    if (a->n_ok != b->n_ok)
        return a->n_ok > b->n_ok;
    if (a->mean_share != b->mean_share)
        return a->mean_share < b->mean_share;
    if (a->time_ns != b->time_ns)
        return a->time_ns < b->time_ns;
    return is_simpler_setting(a, b);
}

static void count_row(struct verdict *v, size_t row)
{
    const struct run_table *t = v->table;
    struct verdict_setting *s = &v->settings[v->setting_of[row]];
    struct verdict_case *here = &v->cases[v->case_of[row]];
    const bool is_ok = verdict_is_ok(t, row);
    const double requested = (double)run_table_number(t, row, "peak_requested_bytes");
    s->n_runs++;
    here->n_runs++;
    s->n_oom += strcmp(run_table_text(t, row, "outcome"), "oom") == 0;
    if (!is_ok)
        return;
    const double share = requested > 0 ? (double)row_bytes(t, row) / requested : 1;
    s->mean_share += (share - s->mean_share) / (double)++s->n_ok;
    s->worst_share = share > s->worst_share ? share : s->worst_share;
    s->most_bytes = row_bytes(t, row) > s->most_bytes ? row_bytes(t, row) : s->most_bytes;
    s->time_ns += row_time(t, row);
    s->calls += (uint64_t)run_table_number(t, row, "device_calls");
    here->n_ok++;
    here->least_time_ns = row_time(t, row) < here->least_time_ns ? row_time(t, row) : here->least_time_ns;
}

static void find_best_rows(struct verdict *v)
{
    for (size_t row = 0; row < v->table->n_rows; row++) {
        struct verdict_case *here = &v->cases[v->case_of[row]];
        if (!verdict_is_ok(v->table, row) || !is_cheap(row_time(v->table, row), here->least_time_ns, 1))
            continue;
        if (here->best_row == VERDICT_NONE || is_better_row(v, row, here->best_row))
            here->best_row = row;
    }
}

/* Of the settings that get through most traces without a high price in driver time, the one with the least share. */
static void find_best_setting(struct verdict *v)
{
    uint64_t most_ok = 0, least_ns = UINT64_MAX;
    for (size_t i = 0; i < v->n_settings; i++)
        most_ok = v->settings[i].n_ok > most_ok ? v->settings[i].n_ok : most_ok;
    for (size_t i = 0; i < v->n_settings; i++)
        if (v->settings[i].n_ok == most_ok && v->settings[i].time_ns < least_ns)
            least_ns = v->settings[i].time_ns;
    v->best_setting = VERDICT_NONE;
    for (size_t i = 0; i < v->n_settings && most_ok > 0; i++) {
        const struct verdict_setting *s = &v->settings[i];
        if (s->n_ok == most_ok && is_cheap(s->time_ns, least_ns, most_ok) &&
            (v->best_setting == VERDICT_NONE || is_better_setting(s, &v->settings[v->best_setting])))
            v->best_setting = i;
    }
}

enum err verdict_open(const struct run_table *t, struct verdict *out)
{
    const size_t n = t->n_rows + 1;
    struct verdict v = { .table = t, .settings = calloc(n, sizeof *v.settings), .cases = calloc(n, sizeof *v.cases),
                         .setting_of = calloc(n, sizeof *v.setting_of), .case_of = calloc(n, sizeof *v.case_of) };
    bool is_done = v.settings != NULL && v.cases != NULL && v.setting_of != NULL && v.case_of != NULL;
    for (size_t row = 0; row < t->n_rows && is_done; row++) {
        v.setting_of[row] = find_setting(&v, row);
        v.case_of[row] = find_case(&v, row);
        count_row(&v, row);
    }
    if (!is_done || !label_all(&v)) {
        verdict_close(&v);
        return ERR_HOST_NOMEM;
    }
    find_best_rows(&v);
    find_best_setting(&v);
    *out = v;
    return ERR_OK;
}

void verdict_close(struct verdict *v)
{
    for (size_t i = 0; v->settings != NULL && i < v->n_settings; i++)
        free(v->settings[i].label);
    for (size_t i = 0; v->cases != NULL && i < v->n_cases; i++)
        free(v->cases[i].label);
    free(v->settings);
    free(v->cases);
    free(v->setting_of);
    free(v->case_of);
    *v = (struct verdict){ .table = NULL };
}

/* ---- in words ---- */

enum { OTHERS_NAMED = 4, DEVICES_NAMED = 4 };

/* How another run compares with the best one of its case. */
static void add_other(struct words *w, const struct verdict *v, size_t row, size_t best)
{
    const struct run_table *t = v->table;
    const struct verdict_case *here = &v->cases[v->case_of[best]];
    char n[TEXT_NUMBER], time[TEXT_NUMBER];
    const double base = (double)row_bytes(t, best);
    words_add(w, " %s ", v->settings[v->setting_of[row]].label);
    if (strcmp(run_table_text(t, row, "outcome"), "oom") == 0)
        words_add(w, "runs out of memory");
    else if (!verdict_is_ok(t, row))
        words_add(w, "fails");
    else if (row_bytes(t, row) == row_bytes(t, best))
        words_add(w, "the same");
    else
        words_add(w, "%+.1f%%", 100 * ((double)row_bytes(t, row) - base) / (base > 0 ? base : 1));
    if (verdict_is_ok(t, row) && !is_cheap(row_time(t, row), here->least_time_ns, 1))
        words_add(w, ", but for %s driver calls, about %s",
                  text_count((uint64_t)run_table_number(t, row, "device_calls"), n),
                  text_time(row_time(t, row), time));
}

static void add_others(struct words *w, const struct verdict *v, size_t best)
{
    size_t n = 0;
    for (size_t row = 0; row < v->table->n_rows; row++) {
        if (row == best)
            continue;
        if (n++ < OTHERS_NAMED) {
            words_add(w, "%s", n == 1 ? ";" : ",");
            add_other(w, v, row, best);
        }
    }
    if (n > OTHERS_NAMED)
        words_add(w, "; %zu more below", n - OTHERS_NAMED);
    words_add(w, ".");
}

/* Another run needs less, at a price that rules it out. */
static bool is_less_to_be_had(const struct verdict *v, size_t best)
{
    for (size_t row = 0; row < v->table->n_rows; row++)
        if (verdict_is_ok(v->table, row) && row_bytes(v->table, row) < row_bytes(v->table, best))
            return true;
    return false;
}

static void say_winner_of_case(const struct verdict *v, struct words *w)
{
    const struct run_table *t = v->table;
    const size_t best = v->cases[0].best_row;
    char a[UNITS_TEXT], n[TEXT_NUMBER], time[TEXT_NUMBER];
    if (best == VERDICT_NONE) {
        words_add(w, "No policy got through this trace on this card.");
        return;
    }
    const double reserved = (double)row_reserved(t, best);
    words_add(w, "%s %s%s of the card at its peak, %.0f%% of what it reserves in use, for %s driver calls, about %s",
              v->settings[v->setting_of[best]].label,
              v->cases[0].n_runs == 1 ? "takes " : is_less_to_be_had(v, best)
                  ? "needs least memory of those that spare the driver: " : "needs least memory: ",
              units_format_bytes(row_bytes(t, best), a),
              reserved > 0 ? 100 * (double)run_table_number(t, best, "peak_active_bytes") / reserved : 100,
              text_count((uint64_t)run_table_number(t, best, "device_calls"), n), text_time(row_time(t, best), time));
    add_others(w, v, best);
}

/* What the cases are. */
static const char *cases_word(const struct verdict *v)
{
    return v->n_devices == 1 ? "traces" : v->n_traces == 1 ? "cards" : "cases (a trace on a card)";
}

static void say_winner_of_cases(const struct verdict *v, struct words *w)
{
    char n[TEXT_NUMBER], time[TEXT_NUMBER], a[UNITS_TEXT];
    if (v->best_setting == VERDICT_NONE) {
        words_add(w, "No setting got through any of the %zu %s.", v->n_cases, cases_word(v));
        return;
    }
    const struct verdict_setting *s = &v->settings[v->best_setting];
    words_add(w, "%s %s: it gets through %" PRIu64 " of %" PRIu64 " %s and takes of the card at its peak ", s->label,
              v->n_settings > 1 ? "does best over all" : "is the only setting", s->n_ok, s->n_runs, cases_word(v));
    if (v->n_traces == 1)
        words_add(w, "%s at most, ", units_format_bytes(s->most_bytes, a));
    words_add(w, "%.2f times what is requested (the mean; worst %.2f)", s->mean_share, s->worst_share);
    words_add(w, ", for %s driver calls in all, about %s.", text_count(s->calls, n), text_time(s->time_ns, time));
}

/* Where the winner's memory went. */
static void say_losses(const struct verdict *v, struct words *w)
{
    const struct run_table *t = v->table;
    const size_t best = v->cases[0].best_row;
    char a[UNITS_TEXT], b[UNITS_TEXT], c[UNITS_TEXT], d[UNITS_TEXT], e[UNITS_TEXT];
    const int64_t internal = run_table_number(t, best, "fragmentation_internal_bytes");
    words_add(w, "Of the %s it then had reserved, %s answered requests, %s went to rounding (internal) and %s were "
              "held unallocated (external), %s of that pinned: free parts of segments in use, of which only whole pages "
              "of expandable segments can be given back.",
              units_format_bytes((uint64_t)run_table_number(t, best, "at_peak_reserved_bytes"), a),
              units_format_bytes((uint64_t)run_table_number(t, best, "at_peak_requested_bytes"), b),
              units_format_bytes(internal > 0 ? (uint64_t)internal : 0, c),
              units_format_bytes((uint64_t)run_table_number(t, best, "fragmentation_external_bytes"), d),
              units_format_bytes((uint64_t)run_table_number(t, best, "fragmentation_inactive_split_bytes"), e));
}

/* What any allocator could do; said of one trace only. */
static void say_possible(const struct verdict *v, struct words *w)
{
    const struct run_table *t = v->table;
    const int64_t live = run_table_number(t, 0, "trace_live_peak_bytes");
    const size_t best = v->n_cases == 1 ? v->cases[0].best_row : VERDICT_NONE;
    if (v->n_traces > 1 || live <= 0)
        return;
    const bool is_compared = best != VERDICT_NONE && row_reserved(t, best) >= (uint64_t)live;
    words_add_possible(w, (uint64_t)live, (uint64_t)run_table_number(t, 0, "trace_peak_requested_bytes"),
                       (uint64_t)run_table_number(t, 0, "trace_offline_plan_bytes"),
                       is_compared ? v->settings[v->setting_of[best]].label : NULL,
                       is_compared ? row_reserved(t, best) : 0);
}

/* What the winner is to be compared with: the default where it was run, otherwise the worst. */
static void say_other_end(const struct verdict *v, struct words *w)
{
    const struct verdict_setting *other = NULL, *best = &v->settings[v->best_setting];
    for (size_t i = 0; i < v->n_settings; i++) {
        const struct verdict_setting *s = &v->settings[i];
        if (s != best && (other == NULL || s->is_default || (!other->is_default && is_better_setting(other, s))))
            other = s;
    }
    if (other == NULL)
        return;
    words_add(w, "%s %s gets through %" PRIu64 " of %" PRIu64,
              other->is_default ? "PyTorch as it comes:" : "At the other end", other->label, other->n_ok,
              other->n_runs);
    if (other->n_ok > 0)
        words_add(w, " and takes %.2f times what is requested", other->mean_share);
    words_add(w, ".");
}

/* Out of memory on a device: "sim:2GiB 32 of 320". */
static void add_ooms_of_device(const struct verdict *v, size_t first_row, struct words *w)
{
    const struct run_table *t = v->table;
    uint64_t n_oom = 0, n = 0;
    char a[TEXT_NUMBER], b[TEXT_NUMBER];
    for (size_t row = 0; row < t->n_rows; row++) {
        if (!is_same_device(t, row, first_row))
            continue;
        n++;
        n_oom += strcmp(run_table_text(t, row, "outcome"), "oom") == 0;
    }
    words_add(w, " %s of %s on %s", text_count(n_oom, a), text_count(n, b), device_of(t, first_row));
}

static void add_ooms_by_device(const struct verdict *v, struct words *w)
{
    size_t n = 0;
    if (v->n_devices == 1 || v->n_devices > DEVICES_NAMED)
        return;
    for (size_t i = 0; i < v->n_cases; i++) {
        bool is_first = true;
        for (size_t k = 0; k < i; k++)
            is_first = is_first && !is_same_device(v->table, v->cases[k].first_row, v->cases[i].first_row);
        if (!is_first)
            continue;
        words_add(w, "%s", n++ == 0 ? ":" : ",");
        add_ooms_of_device(v, v->cases[i].first_row, w);
    }
}

static void say_ooms(const struct verdict *v, struct words *w)
{
    char n[TEXT_NUMBER], all[TEXT_NUMBER];
    uint64_t n_oom = 0, n_other = 0;
    for (size_t i = 0; i < v->n_settings; i++) {
        n_oom += v->settings[i].n_oom;
        n_other += v->settings[i].n_runs - v->settings[i].n_ok - v->settings[i].n_oom;
    }
    text_count(v->table->n_rows, all);
    if (n_oom > 0) {
        words_add(w, "%s of %s runs ran out of memory", text_count(n_oom, n), all);
        add_ooms_by_device(v, w);
        words_add(w, ".");
    }
    if (n_other > 0)
        words_add(w, "%s%s of %s runs failed.", n_oom > 0 ? " " : "", text_count(n_other, n), all);
}

bool verdict_sentence(const struct verdict *v, size_t i, struct words *out)
{
    *out = (struct words){ .n = 0 };
    switch (i) {
    case 0:
        if (v->n_cases == 1)
            say_winner_of_case(v, out);
        else
            say_winner_of_cases(v, out);
        return true;
    case 1:
        if (v->n_cases == 1 && v->cases[0].best_row != VERDICT_NONE)
            say_losses(v, out);
        else if (v->n_cases > 1 && v->best_setting != VERDICT_NONE)
            say_other_end(v, out);
        return true;
    case 2:
        say_possible(v, out);
        return true;
    case 3:
        say_ooms(v, out);
        return true;
    default:
        return false;
    }
}
