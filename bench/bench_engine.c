/*
 * What can only be timed from inside: the engine's loop, the decoder, an import; and what a process needs for them.
 *
 * Prints one value a line, `measure,case,metric,value`; repetitions are lines that repeat. bench/run collects them and
 * bench/write_page.py makes the page. Speeds are by CPU time, so that what else runs on the machine counts less;
 * `cpu_share` tells how much of the clock's time that was.
 */
#include "replay/replay.h"
#include "traces/generate.h"
#include "traces/import.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

/* ---- cheapest: what is left of a run when the policy does nothing ---- */

/* Blocks one after the other in one segment, none reused and nothing kept of them. */
struct cheapest {
    struct policy  base;
    struct segment segment;
    uint64_t       next_addr;
};

static const uint64_t cheapest_segment_bytes = UINT64_C(1) << 55;    /* more than any trace here asks for in all */

static enum err cheapest_create(const struct policy_config *cfg, struct policy **out, struct err_detail *why)
{
    struct cheapest *c = calloc(1, sizeof *c);
    if (c == NULL)
        return err_set(why, ERR_HOST_NOMEM, 0, "no memory for policy cheapest");
    const enum err e = device_segment_alloc(cfg->device, cheapest_segment_bytes, &c->segment);
    if (e != ERR_OK) {
        free(c);
        return e;
    }
    c->next_addr = c->segment.addr;
    *out = &c->base;
    return ERR_OK;
}

static void cheapest_destroy(struct policy *p)
{
    free(p);
}

static enum err cheapest_alloc(struct policy *p, const struct event *req, struct block *out)
{
    struct cheapest *c = (struct cheapest *)p;
    if (c->segment.addr + c->segment.bytes - c->next_addr < req->bytes)
        return ERR_DEVICE_OOM;
    *out = (struct block){.addr = c->next_addr, .bytes = req->bytes, .segment = c->segment.id};
    c->next_addr += req->bytes;
    return ERR_OK;
}

static void cheapest_free(struct policy *p, const struct event *req, const struct block *b)
{
    (void)p;
    (void)req;
    (void)b;
}

static const struct policy_ops policy_cheapest = {
    .abi = POLICY_ABI,
    .size = sizeof(struct policy_ops),
    .name = "cheapest",
    .summary = "blocks one after the other, none reused (measurements only)",
    .create = cheapest_create, .destroy = cheapest_destroy,
    .alloc = cheapest_alloc,   .free = cheapest_free,
};

/* ---- measuring ---- */

struct moment {
    double cpu_s, clock_s;
};

static double seconds(clockid_t clock)
{
    struct timespec t;
    clock_gettime(clock, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static struct moment moment_now(void)
{
    return (struct moment){.cpu_s = seconds(CLOCK_PROCESS_CPUTIME_ID), .clock_s = seconds(CLOCK_MONOTONIC)};
}

static void print_value(const char *measure, const char *case_name, const char *metric, double value)
{
    printf("%s,%s,%s,%.6g\n", measure, case_name, metric, value);
}

static void print_speed(const char *measure, const char *case_name, const char *metric, double amount,
                        struct moment begin)
{
    const struct moment end = moment_now();
    const double cpu_s = end.cpu_s - begin.cpu_s, clock_s = end.clock_s - begin.clock_s;
    print_value(measure, case_name, metric, amount / cpu_s);
    print_value(measure, case_name, "cpu_share", cpu_s / clock_s);
}

/* The most memory this process ever held. */
static void print_peak(const char *measure, const char *case_name, const char *metric)
{
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    print_value(measure, case_name, metric, (double)usage.ru_maxrss / 1024);
}

/* ---- speed ---- */

/* A generated trace, in memory or (with a path) in a file. */
static enum err generate(const char *path, const char *kind, uint64_t events, void **bytes, size_t *n,
                         struct err_detail *why)
{
    struct trace_writer *w;
    enum err e = trace_create(path, &w, why);
    if (e != ERR_OK)
        return e;
    e = trace_generate(kind, events, 1, w, why);
    if (e == ERR_OK)
        return path == NULL ? trace_finish_bytes(w, bytes, n, why) : trace_finish(w, why);
    trace_abandon(w);
    return e;
}

static enum err decode_all(struct trace_reader *in, struct err_detail *why)
{
    const struct event *ev;
    size_t n = 1;
    enum err e = trace_seek(in, 0, why);
    while (e == ERR_OK && n > 0)
        e = trace_next(in, &ev, &n, why);
    return e;
}

/* One run on a card without end; `metric` names its speed, NULL: it is not printed. */
static enum err run_policy(struct trace_reader *in, const struct policy_spec *spec, const char *case_name,
                           const char *metric, struct err_detail *why)
{
    const struct device_config device = device_defaults();
    const struct replay_config cfg = {.threads = 1};
    struct lane lane;
    enum err e = lane_open(spec, &device_sim, &device, in, 0, &lane, why);
    if (e != ERR_OK)
        return e;
    const struct moment begin = moment_now();
    e = replay_run(in, &lane, 1, &cfg, why);
    if (e == ERR_OK && (lane.outcome != ERR_OK || lane.events_done != trace_info(in)->events))
        e = err_set(why, ERR_CORRUPT, 0, "%s ended at event %" PRId64 " of %s: %.120s", spec->typed, lane.stopped_at,
                    case_name, err_text(lane.outcome));
    else if (e == ERR_OK && metric != NULL)
        print_speed("engine", case_name, metric, (double)lane.events_done, begin);
    lane_close(&lane);
    return e;
}

/* The three things to compare, one after the other; the first round only warms up. */
static enum err measure_rounds(struct trace_reader *in, const char *case_name, uint64_t rounds, struct err_detail *why)
{
    static char cheapest_text[] = "cheapest";
    const struct policy_spec cheapest = {.ops = &policy_cheapest, .typed = cheapest_text, .expanded = cheapest_text};
    struct policy_spec pytorch;
    enum err e = policy_spec_parse("pytorch", &pytorch, why);
    if (e != ERR_OK)
        return e;
    for (uint64_t i = 0; i <= rounds && e == ERR_OK; i++) {
        const struct moment begin = moment_now();
        e = decode_all(in, why);
        if (e == ERR_OK && i > 0)
            print_speed("engine", case_name, "decode_events_per_s", (double)trace_info(in)->events, begin);
        if (e == ERR_OK)
            e = run_policy(in, &cheapest, case_name, i > 0 ? "cheapest_events_per_s" : NULL, why);
        if (e == ERR_OK)
            e = run_policy(in, &pytorch, case_name, i > 0 ? "pytorch_events_per_s" : NULL, why);
    }
    policy_spec_close(&pytorch);
    return e;
}

/* A count in decimal digits only. */
static enum err parse_count(const char *text, uint64_t *out, struct err_detail *why)
{
    char *end;
    *out = strtoull(text, &end, 10);
    if (*end != '\0' || strspn(text, "0123456789") == 0 || *out == 0 || *out > 1000000000)
        return err_set(why, ERR_USAGE, 0, "'%.60s' is no number from 1 to 1000000000", text);
    return ERR_OK;
}

static enum err engine_main(char **args, struct err_detail *why)
{
    struct trace_reader *in;
    uint64_t events, rounds;
    void *bytes;
    size_t n;
    enum err e = parse_count(args[1], &events, why);
    if (e == ERR_OK)
        e = parse_count(args[2], &rounds, why);
    if (e == ERR_OK)
        e = generate(NULL, args[0], events, &bytes, &n, why);
    if (e != ERR_OK)
        return e;
    e = trace_open_bytes(bytes, n, &in, why);
    if (e == ERR_OK) {
        print_value("engine", args[0], "events", (double)events);
        e = measure_rounds(in, args[0], rounds, why);
        trace_close(in);
    }
    free(bytes);
    return e;
}

/* ---- import ---- */

/* The case name, a snapshot, its size in bytes, and where the trace shall go. */
static enum err import_main(char **args, struct err_detail *why)
{
    const struct import_config cfg = {.gpu = -1};
    uint64_t bytes;
    enum err e = parse_count(args[2], &bytes, why);
    if (e != ERR_OK)
        return e;
    const struct moment begin = moment_now();
    e = trace_import(args[1], NULL, &cfg, args[3], why);
    if (e != ERR_OK)
        return e;
    print_speed("import", args[0], "replay_mb_per_s", (double)bytes / 1e6, begin);
    print_peak("import", args[0], "replay_peak_mib");
    return ERR_OK;
}

/* ---- bytes per event ---- */

static enum err size_main(char **args, struct err_detail *why)
{
    struct trace_reader *in;
    const enum err e = trace_open(args[1], &in, why);
    if (e != ERR_OK)
        return e;
    const struct trace_bytes b = trace_bytes(in);
    const double events = (double)trace_info(in)->events;
    print_value("size", args[0], "events", events);
    print_value("size", args[0], "bytes_per_event", (double)(b.total - b.sides - b.strings) / events);
    print_value("size", args[0], "time_bytes_per_event", (double)b.times / events);
    print_value("size", args[0], "bytes_per_event_with_sides", (double)b.total / events);
    trace_close(in);
    return ERR_OK;
}

/* ---- memory: a process each ---- */

static enum err write_main(char **args, struct err_detail *why)
{
    uint64_t events;
    enum err e = parse_count(args[1], &events, why);
    if (e == ERR_OK)
        e = generate(args[2], args[0], events, NULL, NULL, why);
    if (e == ERR_OK)
        print_peak("memory", args[1], "write_peak_mib");
    return e;
}

static enum err replay_main(char **args, struct err_detail *why)
{
    struct trace_reader *in;
    struct policy_spec pytorch;
    enum err e = policy_spec_parse("pytorch", &pytorch, why);
    if (e != ERR_OK)
        return e;
    e = trace_open(args[1], &in, why);
    if (e == ERR_OK) {
        e = run_policy(in, &pytorch, args[0], NULL, why);
        trace_close(in);
    }
    policy_spec_close(&pytorch);
    if (e == ERR_OK)
        print_peak("memory", args[0], "replay_peak_mib");
    return e;
}

/* ---- the command line ---- */

static const struct measurement {
    const char *name, *arguments;
    int         n_arguments;
    enum err  (*main)(char **args, struct err_detail *why);
} measurements[] = {
    {"engine", "KIND EVENTS ROUNDS", 3, engine_main},
    {"import", "CASE SNAPSHOT BYTES OUT", 4, import_main},
    {"size", "CASE TRACE", 2, size_main},
    {"write", "KIND EVENTS OUT", 3, write_main},
    {"replay", "CASE TRACE", 2, replay_main},
};
enum { MEASUREMENTS = sizeof measurements / sizeof measurements[0] };

int main(int argc, char **argv)
{
    for (size_t i = 0; i < MEASUREMENTS && argc > 1; i++) {
        if (strcmp(argv[1], measurements[i].name) != 0 || argc != measurements[i].n_arguments + 2)
            continue;
        struct err_detail why = {.text = ""};
        const enum err e = measurements[i].main(argv + 2, &why);
        if (e != ERR_OK)
            fprintf(stderr, "bench_engine: %s\n", why.text[0] != '\0' ? why.text : err_text(e));
        return e == ERR_OK ? 0 : 2;
    }
    for (size_t i = 0; i < MEASUREMENTS; i++)
        fprintf(stderr, "bench_engine %s %s\n", measurements[i].name, measurements[i].arguments);
    return 2;
}
