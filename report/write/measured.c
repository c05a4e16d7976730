/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/* Reports what real cards took in time and memory, and where two devices differ. */
#include "report/rows/report.h"
#include "report/text/text.h"

#include <inttypes.h>
#include <string.h>

/* ---- times ---- */

static const char *const call_names[] = {
#define MEASURED_NAME(name, text, meaning) text,
    MEASURED_CALLS(MEASURED_NAME)
#undef MEASURED_NAME
};

/* What the model charges for one call; 0 if it charges nothing for this kind. */
static uint64_t call_model_ns(const struct device_config *cfg, enum measured_call kind)
{
    switch (kind) {
    case MEASURED_MALLOC: return cfg->alloc_ns;
    case MEASURED_FREE:   return cfg->free_ns;
    case MEASURED_CREATE: return cfg->map_ns;
    case MEASURED_UNMAP:  return cfg->unmap_ns;
    default:              return 0;
    }
}

static void print_call_row(FILE *out, const char *name, uint64_t calls, const char *median, const char *p99,
                           const char *total, const char *modelled)
{
    char n[TEXT_NUMBER];
    fprintf(out, "  %-10s %9s %9s %9s %9s %9s\n", name, text_count(calls, n), median, p99, total, modelled);
}

static void print_calls(FILE *out, const struct report_run *run)
{
    char median[TEXT_NUMBER], p99[TEXT_NUMBER], total[TEXT_NUMBER], modelled[TEXT_NUMBER];
    uint64_t calls = 0, total_ns = 0;
    fprintf(out, "  %-10s %9s %9s %9s %9s %9s\n", "call", "calls", "median", "p99", "total", "modelled");
    for (int i = 0; i < MEASURED_CALL_KINDS; i++) {
        struct call_times *t = &run->measured->calls[i];
        const uint64_t model_ns = call_model_ns(run->device_config, (enum measured_call)i);
        if (t->calls == 0)
            continue;
        print_call_row(out, call_names[i], t->calls, text_time(call_times_percentile(t, 50), median),
                       text_time(call_times_percentile(t, 99), p99), text_time(t->total_ns, total),
                       model_ns == 0 ? "" : text_time(model_ns * t->calls, modelled));
        calls += t->calls;
        total_ns += t->total_ns;
    }
    print_call_row(out, "all", calls, "", "", text_time(total_ns, total), text_time(run->usage->time_ns, modelled));
}

/* ---- memory ---- */

/* In use on the card: by NVML as nvidia-smi shows it, else by cudaMemGetInfo. */
static uint64_t used_bytes(const struct device_measured *m, const struct measured_memory *at)
{
    const bool has_nvml = m->idle.card_bytes != MEASURED_UNKNOWN && m->peak.card_bytes != MEASURED_UNKNOWN &&
                          m->end.card_bytes != MEASURED_UNKNOWN;
    if (has_nvml)
        return at->card_bytes;
    return at->free_bytes == MEASURED_UNKNOWN ? 0 : at->total_bytes - at->free_bytes;
}

/* What should be in use at the peak: what was in use before, plus what was taken. */
static uint64_t explained_bytes(const struct device_measured *m)
{
    return used_bytes(m, &m->idle) + m->peak.page_bytes;
}

static double difference_percent(uint64_t measured, uint64_t explained)
{
    return measured == 0 ? 0 : 100 * ((double)measured - (double)explained) / (double)measured;
}

static void words_add_idle(struct words *w, const struct device_measured *m)
{
    char a[TEXT_NUMBER], b[TEXT_NUMBER];
    if (m->context_bytes != MEASURED_UNKNOWN && m->others_bytes != MEASURED_UNKNOWN)
        words_add(w, "%s context + %s others", text_mib(m->context_bytes, a), text_mib(m->others_bytes, b));
    else
        words_add(w, "%s context and others, not told apart here", text_mib(used_bytes(m, &m->idle), a));
}

static void print_memory(FILE *out, const struct report_run *run)
{
    const struct device_measured *m = run->measured;
    struct words w = { .n = 0 };
    char a[TEXT_NUMBER], b[TEXT_NUMBER];
    const uint64_t used = used_bytes(m, &m->peak), explained = explained_bytes(m);
    if (m->peak.page_bytes == 0)
        return;
    words_add(&w, "Memory at its peak: %s reserved", text_mib(m->peak.reserved_bytes, a));
    if (m->peak.page_bytes >= m->peak.reserved_bytes)
        words_add(&w, " + %s rounding to pages + ", text_mib(m->peak.page_bytes - m->peak.reserved_bytes, a));
    else
        words_add(&w, " - %s in shared pages + ", text_mib(m->peak.reserved_bytes - m->peak.page_bytes, a));
    words_add_idle(&w, m);
    words_add(&w, " = %s; %s shows %s (%+.2f%%)", text_mib(explained, a),
              m->peak.card_bytes != MEASURED_UNKNOWN ? "nvidia-smi" : "cudaMemGetInfo", text_mib(used, b),
              difference_percent(used, explained));
    if (m->peak.process_bytes != MEASURED_UNKNOWN && m->context_bytes != MEASURED_UNKNOWN)
        words_add(&w, ", and %s for this process (%+.2f%%)", text_mib(m->peak.process_bytes, a),
                  difference_percent(m->peak.process_bytes, m->context_bytes + m->peak.page_bytes));
    words_add(&w, ". Free before: %s, at the peak: %s,", text_mib(m->idle.free_bytes, a),
              text_mib(m->peak.free_bytes, b));
    words_add(&w, " when all was given back: %s.", text_mib(m->end.free_bytes, a));
    fputs("  ", out);
    words_print(out, &w, 2, 4);
}

void report_measured(FILE *out, const struct report *r)
{
    for (size_t i = 0; i < r->n_runs; i++) {
        const struct report_run *run = &r->runs[i];
        if (run->measured == NULL)
            continue;
        fprintf(out, "\nMeasured: %s on %s (%s, %s). No two runs take the same time.\n", run->spec->typed, run->device,
                run->measured->card[0] != '\0' ? run->measured->card : "a card without a name",
                run->measured->software);
        print_calls(out, run);
        print_memory(out, run);
    }
}

/* ---- two devices ---- */

void report_comparisons(FILE *out, const struct report *r)
{
    if (r->n_comparisons > 0)
        fputc('\n', out);
    for (size_t i = 0; i < r->n_comparisons; i++) {
        const struct report_comparison *c = &r->comparisons[i];
        struct words w = { .n = 0 };
        char n[TEXT_NUMBER];
        words_add(&w, "%s on %s and on %s: ", c->policy, c->devices[0], c->devices[1]);
        if (c->is_equal)
            words_add(&w, "same %s calls", text_count(c->common, n));
        else if (c->is_cut)
            words_add(&w, "the same for the first %s calls; the host had no memory for more", text_count(c->common, n));
        else
            words_add(&w, "first difference at call %s: %s, against %s", text_count(c->common + 1, n), c->first[0],
                      c->first[1]);
        words_print(out, &w, 0, 2);
    }
}

/* ---- JSON ---- */

struct call_of_run {
    const struct report_run *run;
    size_t                   kind;   /* an enum measured_call */
};

static void measured_call_json(struct json_writer *json, const struct call_of_run *c)
{
    struct call_times *t = &c->run->measured->calls[c->kind];
    const uint64_t model_ns = call_model_ns(c->run->device_config, (enum measured_call)c->kind);
#define ANSWER_TABLE "answers/measured_call.def"
#include "answers/as_json.def"
}

static void measured_memory_json(struct json_writer *json, const struct measured_memory *m)
{
#define ANSWER_TABLE "answers/measured_memory.def"
#include "answers/as_json.def"
}

void measured_json(struct json_writer *json, const struct report_run *run)
{
    const struct device_measured *m = run->measured;
#define ANSWER_TABLE "answers/measured.def"
#include "answers/as_json.def"
}
