/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * A finished replay, as its writers get it: one trace, and one run per policy and device. Writers compute only ratios,
 * text, and who wins (winner.h).
 */
#ifndef REPLAY_REPORT_ROWS_REPORT_H
#define REPLAY_REPORT_ROWS_REPORT_H

#include "policies/spec.h"
#include "report/explain/explain_report.h"
#include "report/text/json_writer.h"
#include "report/measure/meter.h"
#include "sim/device_measured.h"

#include <stdio.h>

/* Sentences, in order; the texts are owned. */
struct report_lines {
    char **at;
    size_t n;
};

#define REPORT_UNKNOWN UINT64_MAX

struct report_trace {
    const char *path, *source;       /* source: what kind of file it came from */
    uint32_t    device;              /* ordinal in the source */
    uint64_t    events, allocs, frees;
    bool        starts_mid_run;
    uint64_t    peak_requested_bytes;
    uint64_t    live_peak_bytes;     /* the same plus requests refused when recorded: no allocator needs less */
    uint64_t    mean_live_bytes;     /* over its time; 0: it has no times */
    uint64_t    offline_plan_bytes;  /* what a plan that knows all lifetimes needs; 0 = no plan was made */
    uint64_t    capacity_bytes;      /* of the recorded device; 0 = unknown */
    uint64_t    recorded_peak_reserved_bytes;        /* 0 = not recorded */
    uint64_t    duration_ns;         /* from the first event to the last */
    const char *begins, *ends;       /* what it covers, in the words of coverage.h; NULL: not looked at */
    uint64_t    refusals, survived;  /* requests refused when recorded; survived: REPORT_UNKNOWN if not looked at */
    uint64_t    whole_steps;         /* REPORT_UNKNOWN: nothing repeats, or not looked at */
    bool        is_lower_bound;      /* the program may have needed more than was recorded */
    const char *numbering;           /* "source": events are named by the source's own record; "event": by our count */
};

/* Why a run ended. */
#define REPORT_OUTCOMES(X) X(OK, "ok") X(OOM, "oom") X(CORRUPT, "corrupt") X(ERROR, "error")
#define REPORT_OUTCOME(name, text) REPORT_##name,
enum report_outcome { REPORT_OUTCOMES(REPORT_OUTCOME) REPORT_OUTCOME_COUNT };
#undef REPORT_OUTCOME

struct report_run {
    const struct policy_spec   *spec;
    const char                 *label;               /* the policy as typed, and with several devices its device */
    const char                 *device;              /* as typed, or as chosen */
    const struct device_config *device_config;
    const struct device_usage  *usage;
    const struct meter         *meter;
    const struct policy_counters *count;
    uint64_t                    card_peak_bytes;     /* what nvidia-smi would show at most */
    enum report_outcome         outcome;
    bool                        is_stopped;          /* before the end of the trace */
    int64_t                     stopped_at;          /* in the trace's numbering; -1: in the start state */
    int64_t                     first_oom_event;     /* the same; meaningful when meter->ooms > 0 */
    int64_t                     peak_event;          /* the same: when reserved reached its peak */
    struct report_lines         assumptions, warnings;
    const struct explanation   *at_oom, *at_event;   /* NULL, or not taken: there is none */
    struct device_measured     *measured;            /* of a real card; NULL: it ran on a simulated one */
};

/* Two runs of one policy on two devices, call by call. */
struct report_comparison {
    const char *policy;                              /* as typed */
    const char *devices[2];                          /* as typed */
    uint64_t    calls[2];
    uint64_t    common;                              /* calls before the first difference */
    bool        is_equal;
    bool        is_cut;                              /* the host had no memory for all calls; the rest is unknown */
    char        first[2][96];                        /* unless equal: the first calls that differ */
};

/* How it was run: values of the options of these names; NULL: not known. */
struct report_setup {
    const char *start, *on_oom, *releases, *format;
    uint64_t    seed;
    uint64_t    price_bytes_per_ms;  /* of driver time (winner.h) */
};

struct report {
    struct report_trace trace;
    struct report_setup setup;
    struct report_run  *runs;
    size_t              n_runs;
    const char         *headline;    /* what it ran on, and how to choose otherwise */
    bool                is_device_assumed;           /* the headline is an assumption */
    bool                is_wide;     /* the table keeps all columns on a narrow terminal */
    const struct report_comparison *comparisons;
    size_t              n_comparisons;
    struct explain_names names;      /* event_word is the writers' to fill in */
};

/* Appends a copy of a sentence, unless it is there already. ERR_HOST_NOMEM. */
MUST_USE enum err report_lines_add(struct report_lines *lines, const char *text);
void report_lines_close(struct report_lines *lines);

const char *report_outcome_name(enum report_outcome o);

/* Fragmentation when reserved was at its peak. Internal: allocated minus requested; below 0 if frees were pending,
 * because these still count as requested but no longer as allocated. External: reserved minus allocated. */
int64_t report_internal_bytes(const struct meter *m);
uint64_t report_external_bytes(const struct meter *m);

/* "record" or "event", by the trace's numbering. */
const char *report_event_word(const struct report *r);

/* Whether the run had segments that grow by pages. Whole free pages of them can be given back; how many is not
 * measured. */
bool report_has_ranges(const struct report_run *run);

/* The writers. Errors of writing stay in the stream, for output_commit to find. ERR_HOST_NOMEM: part is left out. */
MUST_USE enum err report_table(FILE *out, const struct report *r);
void report_json(FILE *out, const struct report *r);
void report_csv(FILE *out, const struct report *r);

/* What real cards took in time and memory, and where two devices differ: after the table, and as JSON. */
void report_measured(FILE *out, const struct report *r);
void report_comparisons(FILE *out, const struct report *r);
void measured_json(struct json_writer *json, const struct report_run *run);

/* Members of the object that is open: a policy's options with the values used: fallbacks filled in, null for one that
 * is not set. */
void report_options_put(struct json_writer *json, const struct policy_spec *spec);

/* Sentences in the array that is open, after `first` unless that is NULL. */
void report_lines_put(struct json_writer *json, const char *first, const struct report_lines *lines);

/* The run that wins (winner.h), by its number; WINNER_NONE: none got through. */
size_t report_best(const struct report *r);

/* The answer in one paragraph: which run wins, and what that costs. It stands before the table. ERR_HOST_NOMEM. */
MUST_USE enum err report_answer(FILE *out, const struct report *r);

/* The sentences after the table: what the winner's memory is spent on, what is possible, refusals, assumptions. What is
 * equal of several runs is printed once. ERR_HOST_NOMEM. */
MUST_USE enum err report_reasons(FILE *out, const struct report *r);

#endif
