/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * Measures what can only be timed from inside: the engine's loop, the decoder, an import, and the memory that a process
 * needs for them.
 *
 * Prints one value a line, `measure,case,metric,value`; a repetition prints the same line again. bench/run collects
 * them and bench/write_page.py makes the page; bench/time_sweep.py asks for one bare figure. Speeds are by CPU time, so
 * that other work on the machine counts less. `cpu_share` is CPU time divided by the time that passed.
 */
#include "bench/cheapest.h"
#include "bench/lines.h"
#include "bench/made_trace.h"
#include "import/import.h"
#include "replay/engine/engine.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>
#include <zstd.h>

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

/* The bytes of a trace's file, in memory, and open for reading from there. */
struct held_trace {
    struct trace_reader *in;
    void               *bytes;
    size_t              n;
};

static enum err held_read(struct held_trace *t, const char *path, struct err_detail *err)
{
    FILE *file = fopen(path, "rb");
    const long n = file == NULL || fseek(file, 0, SEEK_END) != 0 ? -1 : ftell(file);
    t->bytes = n < 0 ? NULL : malloc((size_t)n + 1);
    if (t->bytes != NULL && fseek(file, 0, SEEK_SET) == 0)
        t->n = fread(t->bytes, 1, (size_t)n, file);
    if (file != NULL)
        fclose(file);
    if (t->n == 0 || t->n != (size_t)n)
        return err_set(err, ERR_IO, 0, "%s cannot be read back", path);
    return trace_open_bytes(t->bytes, t->n, &t->in, err);
}

/* Makes a trace in a file and reads it back: a trace that is made in memory is hardly packed. */
static enum err held_open(struct held_trace *t, const char *what, uint64_t events, struct err_detail *err)
{
    const char *folder = getenv("TMPDIR");
    char path[256];
    snprintf(path, sizeof path, "%.200s/replay-bench-XXXXXX", folder != NULL ? folder : "/tmp");
    *t = (struct held_trace){.bytes = NULL};
    const int made = mkstemp(path);
    if (made < 0)
        return err_at(err, ERR_IO, 0, path, "no file can be made there");
    close(made);
    enum err e = made_trace(path, what, events, NULL, NULL, err);
    if (e == ERR_OK)
        e = held_read(t, path, err);
    unlink(path);
    return e;
}

static void held_close(struct held_trace *t)
{
    trace_close(t->in);
    free(t->bytes);
}

static enum err decode_rest(struct trace_reader *in, struct err_detail *err)
{
    const struct event *ev;
    size_t n = 1;
    enum err e = ERR_OK;
    while (e == ERR_OK && n > 0)
        e = trace_next(in, &ev, &n, err);
    return e;
}

static enum err decode_all(const struct held_trace *t, struct err_detail *err)
{
    struct trace_reader *in;
    enum err e = trace_open_bytes(t->bytes, t->n, &in, err);
    if (e != ERR_OK)
        return e;
    e = decode_rest(in, err);
    trace_close(in);
    return e;
}

/* Unpacks zstd frames one after the other, and does nothing else. */
static enum err unpack_all(const void *frames, size_t n, struct err_detail *err)
{
    const size_t most = TRACE_CHUNK_EVENTS * sizeof(struct event);       /* in a frame, packed by column or not */
    const unsigned char *at = frames;
    const unsigned char *const end = at + n;
    ZSTD_DCtx *zstd = ZSTD_createDCtx();
    void *content = malloc(most);
    bool is_good = zstd != NULL && content != NULL;
    while (at < end && is_good) {
        const size_t packed = ZSTD_findFrameCompressedSize(at, (size_t)(end - at));
        is_good = !ZSTD_isError(packed) && !ZSTD_isError(ZSTD_decompressDCtx(zstd, content, most, at, packed));
        at += is_good ? packed : 0;
    }
    ZSTD_freeDCtx(zstd);
    free(content);
    return is_good ? ERR_OK : err_set(err, ERR_FORMAT, n - (size_t)(end - at), "zstd cannot read the frame");
}

/* ---- the same events as plain records ---- */

/* The events of a trace as plain records, packed by zstd: one zstd frame for each chunk. */
struct plain_trace {
    unsigned char *bytes;
    size_t         n, room;
};

static bool plain_append(struct plain_trace *p, ZSTD_CCtx *zstd, const struct event *ev, size_t n)
{
    const size_t most = ZSTD_compressBound(n * sizeof *ev);
    if (p->room - p->n < most) {
        unsigned char *bytes = realloc(p->bytes, 2 * p->room + most);
        if (bytes == NULL)
            return false;
        p->bytes = bytes;
        p->room = 2 * p->room + most;
    }
    const size_t packed = ZSTD_compress2(zstd, p->bytes + p->n, p->room - p->n, ev, n * sizeof *ev);
    p->n += ZSTD_isError(packed) ? 0 : packed;
    return !ZSTD_isError(packed);
}

/* Packs with zstd's default level and with its checksum, as the trace format does. */
static enum err plain_open(struct plain_trace *p, const struct held_trace *t, struct err_detail *err)
{
    struct trace_reader *in;
    const struct event *ev;
    size_t n = 1;
    *p = (struct plain_trace){.bytes = NULL};
    enum err e = trace_open_bytes(t->bytes, t->n, &in, err);
    if (e != ERR_OK)
        return e;
    ZSTD_CCtx *zstd = ZSTD_createCCtx();
    bool has_room = zstd != NULL && !ZSTD_isError(ZSTD_CCtx_setParameter(zstd, ZSTD_c_checksumFlag, 1));
    while (e == ERR_OK && n > 0 && has_room) {
        e = trace_next(in, &ev, &n, err);
        has_room = e != ERR_OK || n == 0 || plain_append(p, zstd, ev, n);
    }
    if (!has_room)
        e = err_no_memory(err);
    ZSTD_freeCCtx(zstd);
    trace_close(in);
    return e;
}

/* The yardstick: how fast the machine is at this moment. It unpacks plain records with zstd, which no version of our
 * format changes, so figures of two versions can be divided by it and compared. */
static enum err yardstick_main(char **args, struct err_detail *err)
{
    enum { TIMES = 8 };
    struct held_trace t = {.bytes = NULL};
    struct plain_trace plain = {.bytes = NULL};
    enum err e = held_read(&t, args[1], err);
    if (e == ERR_OK)
        e = plain_open(&plain, &t, err);
    const struct moment begin = moment_now();
    for (int i = 0; i < TIMES && e == ERR_OK; i++)
        e = unpack_all(plain.bytes, plain.n, err);
    if (e == ERR_OK)
        print_speed("machine", args[0], "zstd_plain_events_per_s", TIMES * (double)trace_info(t.in)->events, begin);
    free(plain.bytes);
    held_close(&t);
    return e;
}

/* Runs `n` lanes over a trace. It is an error if a lane ran out of memory or did not see every event. *reserved_bytes:
 * the peak of the last lane; may be NULL. */
static enum err run_lanes(struct trace_reader *in, const struct policy_spec *const *specs, size_t n, unsigned threads,
                          uint64_t total_bytes, uint64_t *reserved_bytes, struct err_detail *err)
{
    struct device_config device = device_defaults();
    const struct replay_config cfg = {.threads = threads};
    struct lane *lanes = calloc(n, sizeof *lanes);
    enum err e = lanes == NULL ? err_no_memory(err) : ERR_OK;
    if (total_bytes > 0)
        device.total_bytes = total_bytes;
    for (size_t i = 0; i < n && e == ERR_OK; i++)
        e = lane_open(specs[i], &device_sim, &device, in, 0, &lanes[i], err);
    if (e == ERR_OK)
        e = replay_run(in, lanes, n, &cfg, err);
    for (size_t i = 0; i < n && e == ERR_OK; i++) {
        if (lanes[i].outcome != ERR_OK || lanes[i].events_done != trace_info(in)->events)
            e = err_set(err, ERR_CORRUPT, 0, "%s ended at event %" PRId64 ": %s", specs[i]->typed, lanes[i].stopped_at,
                        err_text(lanes[i].outcome));
        if (reserved_bytes != NULL)
            *reserved_bytes = lanes[i].meter.peak.reserved;
    }
    for (size_t i = 0; i < n && lanes != NULL; i++)
        lane_close(&lanes[i]);
    free(lanes);
    return e;
}

/* The same with a new reader, so that nothing decoded by an earlier run is reused. */
static enum err run_held(const struct held_trace *t, const struct policy_spec *const *specs, size_t n, unsigned threads,
                         uint64_t total_bytes, uint64_t *reserved_bytes, struct err_detail *err)
{
    struct trace_reader *in;
    enum err e = trace_open_bytes(t->bytes, t->n, &in, err);
    if (e != ERR_OK)
        return e;
    e = run_lanes(in, specs, n, threads, total_bytes, reserved_bytes, err);
    trace_close(in);
    return e;
}

/* Runs one lane on a card of unlimited size. */
static enum err run_policy(struct trace_reader *in, const struct policy_spec *spec, struct err_detail *err)
{
    return run_lanes(in, &spec, 1, 1, 0, NULL, err);
}

static char cheapest_text[] = "cheapest";
static const struct policy_spec cheapest = {.ops = &policy_cheapest, .typed = cheapest_text, .expanded = cheapest_text};

/* What is compared: on one core by CPU time, and by the clock with the decoder on a second core. */
static const struct engine_measure {
    const char *metric;
    enum { READ_LINES, UNPACK, UNPACK_PLAIN, DECODE, CHEAPEST, PYTORCH } what;
    bool        is_by_clock;
} engine_measures[] = {
    {"lines_per_s", READ_LINES, false},
    {"zstd_events_per_s", UNPACK, false},
    {"zstd_plain_events_per_s", UNPACK_PLAIN, false},
    {"decode_events_per_s", DECODE, false},
    {"cheapest_events_per_s", CHEAPEST, false},
    {"pytorch_events_per_s", PYTORCH, false},
    {"cheapest_clock_events_per_s", CHEAPEST, true},
    {"pytorch_clock_events_per_s", PYTORCH, true},
};
enum { ENGINE_MEASURES = sizeof engine_measures / sizeof engine_measures[0] };

/* What it is compared on. */
struct engine_case {
    const char        *name;
    struct held_trace  trace;
    struct plain_trace plain;
    struct policy_spec pytorch;
    struct line       *lines, *line;     /* one for each live request; where to go on */
};

static enum err engine_do(const struct engine_measure *m, struct engine_case *c, struct err_detail *err)
{
    const struct policy_spec *const spec = m->what == CHEAPEST ? &cheapest : &c->pytorch;
    switch (m->what) {
    case READ_LINES:
        c->line = lines_follow(c->line, trace_info(c->trace.in)->events);
        return ERR_OK;
    case UNPACK:
        return unpack_all(c->trace.bytes, c->trace.n, err);
    case UNPACK_PLAIN:
        return unpack_all(c->plain.bytes, c->plain.n, err);
    case DECODE:
        return decode_all(&c->trace, err);
    default:
        return run_held(&c->trace, &spec, 1, m->is_by_clock ? 0 : 1, 0, NULL, err);
    }
}

static enum err engine_one(const struct engine_measure *m, struct engine_case *c, bool is_counted,
                           struct err_detail *err)
{
    const double events = (double)trace_info(c->trace.in)->events;
    const struct moment begin = moment_now();
    const enum err e = engine_do(m, c, err);
    if (e != ERR_OK || !is_counted)
        return e;
    if (m->is_by_clock)
        print_value("engine", c->name, m->metric, events / (moment_now().clock_s - begin.clock_s));
    else
        print_speed("engine", c->name, m->metric, events, begin);
    return ERR_OK;
}

/* Measures one after the other, round by round. The first round only warms up. */
static enum err engine_rounds(struct engine_case *c, uint64_t rounds, struct err_detail *err)
{
    enum err e = ERR_OK;
    for (uint64_t i = 0; i <= rounds && e == ERR_OK; i++)
        for (int k = 0; k < ENGINE_MEASURES && e == ERR_OK; k++)
            e = engine_one(&engine_measures[k], c, i > 0, err);
    return e;
}

/* Reads a count of decimal digits, 1 to 10^12. */
static enum err parse_count(const char *text, uint64_t *out, struct err_detail *err)
{
    char *end;
    *out = strtoull(text, &end, 10);
    if (*end != '\0' || strspn(text, "0123456789") == 0 || *out == 0 || *out > UINT64_C(1000000000000))
        return err_set(err, ERR_USAGE, 0, "'%s' is no number from 1 to 10^12", text);
    return ERR_OK;
}

/* Reads the two counts that every measurement of speed takes. */
static enum err parse_counts(char **args, uint64_t *events, uint64_t *rounds, struct err_detail *err)
{
    const enum err e = parse_count(args[0], events, err);
    return e == ERR_OK ? parse_count(args[1], rounds, err) : e;
}

static enum err engine_main(char **args, struct err_detail *err)
{
    struct engine_case c = {.name = args[0]};
    uint64_t events, rounds;
    enum err e = parse_counts(args + 1, &events, &rounds, err);
    if (e == ERR_OK)
        e = policy_spec_parse("pytorch", &c.pytorch, err);
    if (e != ERR_OK)
        return e;
    e = held_open(&c.trace, c.name, events, err);
    if (e == ERR_OK)
        e = plain_open(&c.plain, &c.trace, err);
    if (e == ERR_OK && (c.line = c.lines = lines_make((size_t)trace_info(c.trace.in)->peak_live + 1)) == NULL)
        e = err_no_memory(err);
    if (e == ERR_OK) {
        const double n = (double)trace_info(c.trace.in)->events;
        print_value("engine", c.name, "events", n);
        print_value("engine", c.name, "packed_bytes_per_event", (double)c.trace.n / n);
        print_value("engine", c.name, "plain_bytes_per_event", (double)c.plain.n / n);
        e = engine_rounds(&c, rounds, err);
    }
    free(c.lines);
    free(c.plain.bytes);
    held_close(&c.trace);
    policy_spec_close(&c.pytorch);
    return e;
}

/* ---- settings of the allocator ---- */

static const struct setting {
    const char *name, *spec;
    double      card;                /* size of the card, in peaks reserved by the default; 0: unlimited */
} settings[] = {
    {"default", "pytorch", 0},
    {"max_split", "pytorch:max-split=128MiB", 0},
    {"expandable", "pytorch:expandable", 0},
    {"gc", "gc=0.7", 1.25},          /* acts above seven eighths of the peak */
};
enum { SETTINGS = sizeof settings / sizeof settings[0] };

/* Allocators of other libraries, and those that are as described, with room for every trace. */
static const struct setting zoo[] = {
    {"default", "pytorch", 0},
    {"cupy", "cupy", 0},
    {"tf-bfc", "tf-bfc", 0},
    {"ort", "ort", 0},
    {"rmm-pool", "rmm-pool", 0},
    {"rmm-arena", "rmm-arena:size=64TiB", 0},
    {"rmm-fixed", "rmm-fixed:block=64MiB", 0},
    {"rmm-binning", "rmm-binning:min-exp=18,max-exp=22,upstream=[rmm-pool]", 0},
    {"paddle", "paddle", 0},
    {"mxnet", "mxnet", 0},
    {"torch-host", "torch-host", 0},
    {"first-fit", "first-fit", 0},
    {"next-fit", "next-fit", 0},
    {"worst-fit", "worst-fit", 0},
    {"tlsf", "tlsf", 0},
    {"buddy", "buddy", 0},
    {"cuda-async", "cuda-async", 0},
    {"gmlake", "gmlake", 0},
    {"jemalloc-like", "jemalloc-like", 0},
    {"neuron", "neuron", 0},
    {"stalloc", "stalloc", 0},
};
enum { ZOO = sizeof zoo / sizeof zoo[0] };

/* One run of each of `n` settings. The first is the default, whose peak is the measure of cards. */
static enum err settings_round(const struct held_trace *t, const char *measure, const struct setting *settings_list,
                               int n, const char *case_name, bool is_counted, struct err_detail *err)
{
    enum err e = ERR_OK;
    uint64_t peak = 0;
    for (int k = 0; k < n && e == ERR_OK; k++) {
        const uint64_t card = (uint64_t)(settings_list[k].card * (double)peak);
        char metric[64];
        struct policy_spec spec;
        e = policy_spec_parse(settings_list[k].spec, &spec, err);
        if (e != ERR_OK)
            return e;
        const struct policy_spec *one = &spec;
        const struct moment begin = moment_now();
        e = run_held(t, &one, 1, 1, card, k == 0 ? &peak : NULL, err);
        snprintf(metric, sizeof metric, "%s_events_per_s", settings_list[k].name);
        if (e == ERR_OK && is_counted)
            print_speed(measure, case_name, metric, (double)trace_info(t->in)->events, begin);
        policy_spec_close(&spec);
    }
    return e;
}

static enum err time_settings(const char *measure, const struct setting *list, int n, char **args,
                              struct err_detail *err)
{
    struct held_trace t;
    uint64_t events, rounds;
    enum err e = parse_counts(args + 2, &events, &rounds, err);
    if (e != ERR_OK)
        return e;
    e = held_open(&t, args[1], events, err);
    for (uint64_t i = 0; i <= rounds && e == ERR_OK; i++)
        e = settings_round(&t, measure, list, n, args[0], i > 0, err);
    held_close(&t);
    return e;
}

static enum err settings_main(char **args, struct err_detail *err)
{
    return time_settings("settings", settings, SETTINGS, args, err);
}

static enum err zoo_main(char **args, struct err_detail *err)
{
    return time_settings("zoo", zoo, ZOO, args, err);
}

/* ---- many lanes ---- */

/* Times `n` runs of one policy and `n` decodes, in turn because the machine's speed varies; CPU seconds of each. */
static enum err time_singles(const struct held_trace *t, const struct policy_spec *spec, size_t n, double *alone_s,
                             double *decode_s, struct err_detail *err)
{
    enum err e = ERR_OK;
    for (size_t i = 0; i < n && e == ERR_OK; i++) {
        const struct moment begin = moment_now();
        e = decode_all(t, err);
        const struct moment decoded = moment_now();
        if (e == ERR_OK)
            e = run_held(t, &spec, 1, 1, 0, NULL, err);
        *decode_s += decoded.cpu_s - begin.cpu_s;
        *alone_s += moment_now().cpu_s - decoded.cpu_s;
    }
    return e;
}

/* Measures `n` lanes of one policy: what a lane costs on one core, compared with `n` runs alone, of which one half runs
 * before and the other half after; and how many events they get through on all cores. */
static enum err lanes_round(const struct held_trace *t, const struct policy_spec *spec, size_t n, bool is_counted,
                            struct err_detail *err)
{
    const struct policy_spec *specs[256];
    char case_name[24];
    double alone_s = 0, decode_s = 0;
    for (size_t i = 0; i < n; i++)
        specs[i] = spec;
    enum err e = time_singles(t, spec, n / 2, &alone_s, &decode_s, err);
    const struct moment begin = moment_now();
    if (e == ERR_OK)
        e = run_held(t, specs, n, 1, 0, NULL, err);
    const struct moment end = moment_now();
    if (e == ERR_OK)
        e = time_singles(t, spec, n - n / 2, &alone_s, &decode_s, err);
    const struct moment begin_all = moment_now();
    if (e == ERR_OK)
        e = run_held(t, specs, n, 0, 0, NULL, err);
    const struct moment end_all = moment_now();
    if (e != ERR_OK || !is_counted)
        return e;
    const double saved_s = decode_s * (double)(n - 1) / (double)n;
    snprintf(case_name, sizeof case_name, "%zu", n);
    print_value("lanes", case_name, "policy_events_per_s",
                (double)n * (double)trace_info(t->in)->events / (end_all.clock_s - begin_all.clock_s));
    print_value("lanes", case_name, "cost_ratio", (end.cpu_s - begin.cpu_s) / (alone_s - saved_s));
    return ERR_OK;
}

static enum err lanes_main(char **args, struct err_detail *err)
{
    static const size_t numbers[] = {8, 64, 256};
    struct held_trace t;
    struct policy_spec pytorch;
    uint64_t events, rounds;
    enum err e = parse_counts(args + 1, &events, &rounds, err);
    if (e == ERR_OK)
        e = policy_spec_parse("pytorch", &pytorch, err);
    if (e != ERR_OK)
        return e;
    e = held_open(&t, args[0], events, err);
    for (uint64_t i = 0; i <= rounds && e == ERR_OK; i++)
        for (int k = 0; k < 3 && e == ERR_OK; k++)
            e = lanes_round(&t, &pytorch, numbers[k], i > 0, err);
    held_close(&t);
    policy_spec_close(&pytorch);
    return e;
}

/* Runs 64 lanes and nothing else, to compare a sweep of 64 settings with: policy-events per second of CPU time. */
static enum err lanes64_main(char **args, struct err_detail *err)
{
    enum { LANES = 64 };
    const struct policy_spec *specs[LANES];
    struct held_trace t;
    struct policy_spec pytorch;
    uint64_t events;
    enum err e = parse_count(args[1], &events, err);
    if (e == ERR_OK)
        e = policy_spec_parse("pytorch", &pytorch, err);
    if (e != ERR_OK)
        return e;
    for (size_t i = 0; i < LANES; i++)
        specs[i] = &pytorch;
    e = held_open(&t, args[0], events, err);
    const struct moment begin = moment_now();
    if (e == ERR_OK)
        e = run_held(&t, specs, LANES, 0, 0, NULL, err);
    if (e == ERR_OK)
        printf("%.6g\n", LANES * (double)trace_info(t.in)->events / (moment_now().cpu_s - begin.cpu_s));
    held_close(&t);
    policy_spec_close(&pytorch);
    return e;
}

/* ---- seeking ---- */

/* Seeks to places all over the trace, each far from the last, and reads the first event there. */
static enum err seek_main(char **args, struct err_detail *err)
{
    struct held_trace t;
    uint64_t events, rounds;
    enum err e = parse_counts(args + 1, &events, &rounds, err);
    if (e != ERR_OK)
        return e;
    e = held_open(&t, args[0], events, err);
    for (uint64_t i = 1; i <= rounds && e == ERR_OK; i++) {
        const uint64_t to = i * UINT64_C(0x9e3779b97f4a7c15) % trace_info(t.in)->events;
        e = trace_seek(t.in, 0, err);
        const struct moment begin = moment_now();
        if (e == ERR_OK)
            e = trace_seek(t.in, to, err);
        if (e == ERR_OK)
            print_value("seek", args[0], "seek_ms", 1e3 * (moment_now().cpu_s - begin.cpu_s));
    }
    held_close(&t);
    return e;
}

/* ---- compared with PyTorch's own allocator ---- */

/* Writes the same events as a trace and as an array of struct event. */
static enum err files_main(char **args, struct err_detail *err)
{
    struct trace_reader *in;
    const struct event *ev;
    uint64_t events;
    size_t n = 1;
    enum err e = parse_count(args[1], &events, err);
    if (e == ERR_OK)
        e = made_trace(args[2], args[0], events, NULL, NULL, err);
    if (e == ERR_OK)
        e = trace_open(args[2], &in, err);
    if (e != ERR_OK)
        return e;
    FILE *file = fopen(args[3], "wb");
    while (file != NULL && e == ERR_OK && n > 0)
        if ((e = trace_next(in, &ev, &n, err)) == ERR_OK && fwrite(ev, sizeof *ev, n, file) != n)
            e = err_at(err, ERR_IO, 0, args[3], "cannot be written");
    if (file == NULL || fclose(file) != 0)
        e = err_at(err, ERR_IO, 0, args[3], "cannot be written");
    trace_close(in);
    return e;
}

/* Measures the time for an event of a trace: replayed on one core, only decoded, or replayed by the clock. */
static enum err beside_one(const char *case_name, const char *path, const struct policy_spec *spec, unsigned threads,
                           const char *metric, struct err_detail *err)
{
    struct trace_reader *in;
    enum err e = trace_open(path, &in, err);
    if (e != ERR_OK)
        return e;
    const struct moment begin = moment_now();
    e = spec != NULL ? run_lanes(in, &spec, 1, threads, 0, NULL, err) : decode_rest(in, err);
    const struct moment end = moment_now();
    const double took_s = threads == 1 ? end.cpu_s - begin.cpu_s : end.clock_s - begin.clock_s;
    if (e == ERR_OK)
        print_value("torch", case_name, metric, 1e9 * took_s / (double)trace_info(in)->events);
    trace_close(in);
    return e;
}

/* Measures a whole replay to compare with PyTorch's, how much of it is decoding, and how long it takes by the clock. */
static enum err beside_main(char **args, struct err_detail *err)
{
    struct policy_spec spec;
    enum err e = policy_spec_parse(args[2], &spec, err);
    if (e != ERR_OK)
        return e;
    e = beside_one(args[0], args[1], &spec, 1, "replay_ns", err);
    if (e == ERR_OK)
        e = beside_one(args[0], args[1], NULL, 1, "decode_ns", err);
    if (e == ERR_OK)
        e = beside_one(args[0], args[1], &spec, 0, "replay_clock_ns", err);
    policy_spec_close(&spec);
    return e;
}

/* ---- import ---- */

/* Arguments: name of the case, a snapshot, its size in bytes, where to put the trace. */
static enum err import_main(char **args, struct err_detail *err)
{
    const struct import_config cfg = {.gpu = -1};
    uint64_t bytes;
    enum err e = parse_count(args[2], &bytes, err);
    if (e != ERR_OK)
        return e;
    const struct moment begin = moment_now();
    e = trace_import(args[1], NULL, &cfg, args[3], err);
    if (e != ERR_OK)
        return e;
    print_speed("import", args[0], "replay_mb_per_s", (double)bytes / 1e6, begin);
    print_peak("import", args[0], "replay_peak_mib");
    return ERR_OK;
}

/* ---- bytes per event ---- */

static enum err size_main(char **args, struct err_detail *err)
{
    struct trace_reader *in;
    const enum err e = trace_open(args[1], &in, err);
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

static enum err write_main(char **args, struct err_detail *err)
{
    uint64_t events;
    enum err e = parse_count(args[1], &events, err);
    if (e == ERR_OK)
        e = made_trace(args[2], args[0], events, NULL, NULL, err);
    if (e == ERR_OK)
        print_peak("memory", args[1], "write_peak_mib");
    return e;
}

static enum err replay_main(char **args, struct err_detail *err)
{
    struct trace_reader *in;
    struct policy_spec pytorch;
    enum err e = policy_spec_parse("pytorch", &pytorch, err);
    if (e != ERR_OK)
        return e;
    e = trace_open(args[1], &in, err);
    if (e == ERR_OK) {
        e = run_policy(in, &pytorch, err);
        trace_close(in);
    }
    policy_spec_close(&pytorch);
    if (e == ERR_OK)
        print_peak("memory", args[0], "replay_peak_mib");
    return e;
}

/* ---- length ---- */

/* Runs four policies over a trace in a file, in one thread, so that the figure does not depend on cores. */
static enum err scale_main(char **args, struct err_detail *err)
{
    static const char *const texts[] = {"best-fit", "pow2", "max_split_size_mb:128"};
    struct policy_spec specs[3];
    const struct policy_spec *lanes[4] = {&specs[0], &specs[1], &specs[2], &cheapest};
    struct trace_reader *in;
    enum err e = trace_open(args[1], &in, err);
    int n = 0;
    if (e != ERR_OK)
        return e;
    for (; n < 3 && e == ERR_OK; n++)
        e = policy_spec_parse(texts[n], &specs[n], err);
    const struct moment begin = moment_now();
    if (e == ERR_OK)
        e = run_lanes(in, lanes, 4, 1, 0, NULL, err);
    if (e == ERR_OK) {
        print_value("scale", args[0], "events", (double)trace_info(in)->events);
        print_value("scale", args[0], "event_ns",
                    1e9 * (moment_now().cpu_s - begin.cpu_s) / (double)trace_info(in)->events);
        print_peak("scale", args[0], "peak_mib");
    }
    while (n-- > 0)
        policy_spec_close(&specs[n]);
    trace_close(in);
    return e;
}

/* ---- the command line ---- */

static const struct measurement {
    const char *name, *arguments;
    int         n_arguments;
    enum err  (*main)(char **args, struct err_detail *err);
} measurements[] = {
    {"yardstick", "SECTION TRACE", 2, yardstick_main},
    {"engine", "WHAT EVENTS ROUNDS", 3, engine_main},
    {"settings", "CASE WHAT EVENTS ROUNDS", 4, settings_main},
    {"zoo", "CASE WHAT EVENTS ROUNDS", 4, zoo_main},
    {"lanes", "WHAT EVENTS ROUNDS", 3, lanes_main},
    {"lanes64", "WHAT EVENTS", 2, lanes64_main},
    {"seek", "WHAT EVENTS ROUNDS", 3, seek_main},
    {"files", "WHAT EVENTS TRACE ARRAY", 4, files_main},
    {"beside", "CASE TRACE POLICY", 3, beside_main},
    {"scale", "CASE TRACE", 2, scale_main},
    {"import", "CASE SNAPSHOT BYTES OUT", 4, import_main},
    {"size", "CASE TRACE", 2, size_main},
    {"write", "WHAT EVENTS OUT", 3, write_main},
    {"replay", "CASE TRACE", 2, replay_main},
};
enum { MEASUREMENTS = sizeof measurements / sizeof measurements[0] };

int main(int argc, char **argv)
{
    for (size_t i = 0; i < MEASUREMENTS && argc > 1; i++) {
        if (strcmp(argv[1], measurements[i].name) != 0 || argc != measurements[i].n_arguments + 2)
            continue;
        struct err_detail err = {.text = ""};
        const enum err e = measurements[i].main(argv + 2, &err);
        if (e != ERR_OK)
            fprintf(stderr, "bench_engine: %s\n", err.text[0] != '\0' ? err.text : err_text(e));
        return e == ERR_OK ? 0 : 2;
    }
    for (size_t i = 0; i < MEASUREMENTS; i++)
        fprintf(stderr, "bench_engine %s %s\n", measurements[i].name, measurements[i].arguments);
    return 2;
}
