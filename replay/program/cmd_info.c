/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/* `replay info FILE`: what a file is and holds. */
#include "replay/program/cli.h"

#include "base/input.h"
#include "base/shown.h"
#include "base/terminal.h"
#include "base/units.h"
#include "replay/recording/recorded_platform.h"
#include "replay/recording/settings_facts.h"
#include "replay/recording/coverage.h"
#include "replay/diff/peak_lines.h"
#include "replay/engine/start_state.h"
#include "replay/results/final_state.h"
#include "replay/results/result.h"
#include "report/explain/explain_report.h"
#include "report/text/json_writer.h"
#include "report/text/text.h"

#include <inttypes.h>
#include <string.h>
#include <time.h>

enum { FACT_COLUMN = 22 };

/* X(NAME, key): the kinds of events as they are printed. */
#define INFO_KINDS(X)                                                                                       \
    X(ALLOC, "alloc") X(FREE, "free") X(FREE_REQUESTED, "free_requested") X(FREE_COMPLETED, "free_completed") \
    X(FLUSH, "flush") X(OOM, "oom") X(CONTROL, "control") X(MARK, "mark")

static const char *const kind_names[EVENT_KINDS] = {
#define INFO_KIND(name, key) [EVENT_##name] = key,
    INFO_KINDS(INFO_KIND)
#undef INFO_KIND
};

/* The account of a final state names no events. */
static const struct explain_names final_state_names = { .event_word = "event" };

static void print_text(const char *name, const char *text)
{
    printf("%-*s ", FACT_COLUMN, name);
    shown_put(stdout, text);
    putchar('\n');
}

static void print_bytes(const char *name, uint64_t bytes)
{
    char text[UNITS_TEXT];
    if (bytes == 0)
        printf("%-22s not recorded\n", name);
    else
        printf("%-22s %s (%" PRIu64 " bytes)\n", name, units_format_bytes(bytes, text), bytes);
}

static void print_when(uint64_t epoch_us)
{
    const time_t at = (time_t)(epoch_us / 1000000);
    struct tm utc;
    char text[64];
    if (epoch_us != 0 && gmtime_r(&at, &utc) != NULL && strftime(text, sizeof text, "%Y-%m-%d %H:%M:%S UTC", &utc) > 0)
        printf("%-22s %s\n", "recorded", text);
}

static void print_start(const struct trace_reader *r)
{
    const struct start_state_totals s = start_state_sum(r);
    char live[UNITS_TEXT], held[UNITS_TEXT];
    if (!trace_info(r)->starts_mid_run) {
        printf("%-22s empty\n", "start state");
        return;
    }
    printf("%-22s mid-run: %zu live requests (%s), %zu segments (%s)", "start state", s.n_live,
           units_format_bytes(s.live_bytes, live), s.n_segments, units_format_bytes(s.segment_bytes, held));
    if (s.n_pending > 0)
        printf(", %zu frees pending", s.n_pending);
    if (s.n_guessed > 0)
        printf(", %zu block sizes guessed", s.n_guessed);
    printf("\n");
}

/* A line of a fact: as it stands, but broken like a paragraph where the terminal is narrower. */
static void print_fact(const char *name, const char *value, size_t n)
{
    const size_t columns = terminal_columns(stdout);
    struct words w = { .n = 0 };
    printf("%-*s ", FACT_COLUMN, name);
    if (columns > n && columns - n > FACT_COLUMN) {
        fwrite(value, 1, n, stdout);
        putchar('\n');
        return;
    }
    words_add(&w, "%.*s", (int)n, value);
    words_print_within(stdout, &w, columns, FACT_COLUMN + 1, FACT_COLUMN + 1);
}

/* The facts that the source recorded, by name. A fact of several lines is printed in one column. */
static void print_meta(const struct trace_reader *r, const char *path)
{
    const char *value, *name;
    for (size_t i = 0; (name = trace_meta_at(r, i, &value)) != NULL; i++) {
        const bool is_elsewhere = (strcmp(name, "path") == 0 && strcmp(value, path) == 0) ||
                                  strcmp(name, TRACE_META_BEGINS) == 0 || strcmp(name, TRACE_META_ENDS) == 0 ||
                                  strcmp(name, TRACE_META_DONATABLE) == 0 ||
                                  strcmp(name, TRACE_META_PLATFORM) == 0 ||       /* print_platform */
                                  settings_is_fact(name);
        if (is_elsewhere)
            continue;
        for (; *value != '\0' || name[0] != '\0'; name = "") {
            const size_t n = strcspn(value, "\n");
            print_fact(name, value, n);
            value += n + (value[n] != '\0');
        }
    }
}

static const char *settings_or(const char *text, const char *none)
{
    return text == NULL ? "not recorded" : text[0] == '\0' ? none : text;
}

/* Where it was made, and what that says of its settings. */
static void print_platform(const struct trace_reader *r)
{
    const enum platform p = recorded_platform(r);
    if (p != PLATFORM_UNKNOWN)
        print_text("platform", platform_words(p));
}

/* PyTorch's settings, of a recording that tells the release that made it. */
static void print_settings(const struct trace_reader *r)
{
    struct settings_facts s;
    if (!settings_facts_find(r, &s))
        return;
    print_text("settings asked for", settings_or(s.asked, "none"));
    print_text("settings in force", settings_or(s.has_in_force ? s.in_force : NULL, "the defaults"));
    if (s.lost[0] != '\0')
        print_text("not in force", s.lost);
}

/* What it covers: `covers` is NULL if the events could not be read. */
static void print_coverage(const struct coverage *covers)
{
    if (covers == NULL)
        return;
    printf("%-22s %s\n", "begins", coverage_begin_word(covers->begins));
    printf("%-22s %s\n", "ends", coverage_end_word(covers->ends));
    if (covers->refusals > 0)
        printf("%-22s %" PRIu64 ", of which the program survived %" PRIu64 "\n", "refused requests", covers->refusals,
               covers->survived);
    if (covers->steps.how != STEPS_NONE)
        printf("%-22s %" PRIu64 "\n", "whole steps", covers->steps.whole);
}

static void print_info(const char *path, const struct trace_reader *r, const struct coverage *covers)
{
    const struct trace_info *info = trace_info(r);
    print_text("file", path);
    print_meta(r, path);
    print_platform(r);
    print_settings(r);
    print_when(info->epoch_us);
    printf("%-22s %" PRIu32 "\n", "device", info->device);
    print_bytes("device capacity", info->capacity_bytes);
    print_coverage(covers);
    if (info->is_unfinished)
        printf("%-22s %" PRIu64 " bytes at the end are cut off\n", "unfinished", info->cut_off_bytes);
    printf("%-22s %" PRIu64 " (of %" PRIu64 " records in the source)\n", "events", info->events, info->records);
    for (int kind = 0; kind < EVENT_KINDS; kind++)
        if (info->by_kind[kind] > 0)
            printf("  %-20s %" PRIu64 "\n", kind_names[kind], info->by_kind[kind]);
    printf("%-22s %" PRIu32 ", pools %" PRIu32 " (the default ones included)\n", "streams", info->n_streams,
           info->n_pools);
    printf("%-22s %.6f s\n", "time span", (double)info->duration_ns / 1e9);
    printf("%-22s %" PRIu32 "\n", "live requests at most", info->peak_live);
    print_bytes("requested at most", info->peak_requested_bytes);
    print_start(r);
    print_bytes("peak reserved", info->recorded_peak_reserved_bytes);
    print_bytes("peak allocated", info->recorded_peak_allocated_bytes);
    print_bytes("reserved at start", info->recorded_start_reserved_bytes);
    print_bytes("reserved at end", info->recorded_end_reserved_bytes);
    if (info->recorded_end_segments > 0)
        printf("%-22s %" PRIu64 "\n", "segments at end", info->recorded_end_segments);
    printf("%-22s %s%s%s%s\n", "also recorded", info->has_source_numbers ? "source numbers, " : "",
           info->has_addresses ? "addresses, " : "", info->has_segment_events ? "segment events, " : "",
           info->n_stacks > 0 ? "call stacks" : "no call stacks");
}

static void put_meta(struct json_writer *json, const struct trace_reader *r)
{
    const char *value, *name;
    for (size_t i = 0; (name = trace_meta_at(r, i, &value)) != NULL; i++)
        json_put_text(json, name, value);
}

static void print_line(void *arg, const char *text)
{
    (void)arg;
    printf("%s\n", text);
}

/* Reads the final state of the device that the trace is of. It stays empty, without an error, if the file holds none or
 * can be read only once. */
static enum err info_final_state(const struct options *o, const struct trace_reader *trace, struct final_state *state,
                                 struct err_detail *err)
{
    struct import_config import = o->import;
    import.without_stacks = true;
    if (trace != NULL)
        import.gpu = trace_info(trace)->device;
    const enum err e = input_is_once(o->inputs[0])
                           ? ERR_UNSUPPORTED : final_state_open(state, o->inputs[0], o->from, &import, err);
    return e == ERR_UNSUPPORTED || (e == ERR_USAGE && trace != NULL) ? ERR_OK : e;
}

/* Prints where all memory was in the final state, or why that is not known. */
static void print_final_state(const struct final_state *state, enum err e, const struct err_detail *err)
{
    if (e != ERR_OK)
        printf("\nThe final state cannot be read: %s\n", err->text);
    else if (state->trace != NULL)
        explain_words(stdout, final_state_account(state), "the program", &final_state_names);
}

/* Whether the file itself is wrong; otherwise it holds nothing to replay, or a choice is missing. */
static bool is_bad(enum err reason)
{
    return reason == ERR_FORMAT;
}

/* Describes a file that cannot be replayed, or only after a choice such as --gpu. */
static enum err print_described(const struct options *o, enum err reason, const struct err_detail *reason_why,
                                struct err_detail *err)
{
    if (err_is_unread(reason) || input_is_once(o->inputs[0]) ||
        trace_describe(o->inputs[0], o->from, &o->import, print_line, NULL, err) != ERR_OK) {
        *err = *reason_why;
        return reason;
    }
    if (!is_bad(reason))
        printf("cannot be replayed: %s\n", reason_why->text);
    return ERR_OK;
}

struct info {
    const struct options *options;
    struct trace_reader *trace;          /* NULL: the file cannot be replayed; `reason` says why */
    enum err             reason;
    struct err_detail    reason_why;
    struct peak_lines    lines;
    bool                 has_lines, has_coverage;
    struct coverage      coverage;
    struct final_state   state;
    enum err             state_error;
    struct err_detail    state_why;
};

/* A trace that is damaged further on shows fewer facts. A failure of the host is an error,
 * and a file that cannot be read. */
static enum err info_read(void *session, const struct options *o, struct err_detail *err)
{
    struct info *i = session;
    enum err e = ERR_OK;
    i->options = o;
    i->reason = cli_open_file(o, 0, &i->trace, &i->reason_why);
    if (i->trace != NULL && trace_info(i->trace)->n_stacks > 0 && trace_info(i->trace)->events <= PEAK_LINES_EVENTS)
        i->has_lines = (e = peak_lines_open(&i->lines, i->trace, err)) == ERR_OK;
    if (i->trace != NULL && (e == ERR_OK || e == ERR_FORMAT))
        i->has_coverage = (e = coverage_read(i->trace, &i->coverage, err)) == ERR_OK;
    if (e != ERR_OK && e != ERR_FORMAT)
        return e;
    i->state_error = info_final_state(o, i->trace, &i->state, &i->state_why);
    if (!err_is_unread(i->state_error))
        return ERR_OK;
    *err = i->state_why;
    return i->state_error;
}

static void info_close(void *session)
{
    struct info *i = session;
    final_state_close(&i->state);
    peak_lines_close(&i->lines);
    trace_close(i->trace);
}

/* Of a file that is bad, what could be read of it is shown before the error. */
static enum err info_print(const void *session, struct err_detail *err)
{
    const struct info *i = session;
    enum err e = ERR_OK;
    if (i->trace != NULL)
        print_info(i->options->inputs[0], i->trace, i->has_coverage ? &i->coverage : NULL);
    else
        e = print_described(i->options, i->reason, &i->reason_why, err);
    if (i->has_lines)
        peak_lines_print(stdout, &i->lines, trace_event_word(i->trace));
    if (e != ERR_OK)
        return e;
    print_final_state(&i->state, i->state_error, &i->state_why);
    *err = i->reason_why;
    return is_bad(i->reason) ? i->reason : ERR_OK;
}

/* A file that holds only a final state counts as a trace without events. */
static enum err info_write_json(const void *session, FILE *out, struct err_detail *err)
{
    const struct info *i = session;
    const struct trace_reader *r = i->trace != NULL || i->reason != ERR_UNSUPPORTED ? i->trace : i->state.trace;
    if (r == NULL) {
        *err = i->reason_why;
        return i->reason;
    }
    struct settings_facts facts;
    const bool has_settings = settings_facts_find(r, &facts);
    const struct trace_info *info = trace_info(r);
    const struct start_state_totals s = start_state_sum(r);
    const struct explanation *account = i->state.trace == NULL ? NULL : final_state_account(&i->state);
#define ANSWER_TABLE "answers/info.def"
#include "answers/as_json.def"
    return ERR_OK;
}

static const struct flag_use info_flags[] = {TAKES(JSON), TAKES_INPUT, TAKES(HELP), FLAGS_END};

const struct subcommand cmd_info = {
    .name = "info",
    .synopsis = "info FILE",
    .summary = "show what a file is, what it holds, and what was recorded with it",
    .text = "If call stacks were recorded, info also shows which lines of the program hold most memory at the peak. Of "
            "a PyTorch snapshot, with or without a history, it shows where all memory was when the snapshot was "
            "taken.\n",
    .status_note = "Of a file that is malformed or contradicts itself info shows what it can, and ends with 2.",
    .flags = info_flags,
    .n_inputs_min = 1,
    .n_inputs_max = 1,
    .answer = { .session_bytes = sizeof(struct info), .read = info_read, .write_json = info_write_json,
                .print = info_print, .close = info_close },
};
