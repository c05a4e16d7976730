/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * The engine under ThreadSanitizer: lanes on several threads, over more than one chunk, end as they do on one.
 *
 * A plain program, because Criterion does not start under that sanitizer. Built and run everywhere all the same.
 */
#include "replay/engine/engine.h"
#include "loads/load.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const specs[] = {"best-fit", "none", "gc=0.5"};

enum { N_LANES = sizeof specs / sizeof specs[0], N_EVENTS = TRACE_CHUNK_EVENTS + 10000 };

struct outcome {
    struct meter_bytes peak[N_LANES];
    uint64_t ooms[N_LANES], calls[N_LANES];
};

static void expect(enum err e, const struct err_detail *err)
{
    if (e == ERR_OK)
        return;
    fprintf(stderr, "%s: %s\n", err_name(e), err->text);
    exit(EXIT_FAILURE);
}

static struct outcome run(struct trace_reader *trace, unsigned threads)
{
    struct err_detail err = {.text = ""};
    struct policy_spec spec[N_LANES];
    static struct lane lanes[N_LANES];
    struct outcome out = {.calls = {0}};
    const struct replay_config cfg = {.threads = threads, .on_oom = OOM_SKIP};
    struct device_config device = device_defaults();
    device.total_bytes = UINT64_C(4) << 30;
    expect(trace_seek(trace, 0, &err), &err);
    for (size_t i = 0; i < N_LANES; i++) {
        expect(policy_spec_parse(specs[i], &spec[i], &err), &err);
        expect(lane_open(&spec[i], &device_sim, &device, trace, 1, &lanes[i], &err), &err);
    }
    expect(replay_run(trace, lanes, N_LANES, &cfg, &err), &err);
    for (size_t i = 0; i < N_LANES; i++) {
        out.peak[i] = lanes[i].meter.peak;
        out.ooms[i] = lanes[i].meter.ooms;
        out.calls[i] = lanes[i].device->usage.calls;
        lane_close(&lanes[i]);
        policy_spec_close(&spec[i]);
    }
    return out;
}

int main(void)
{
    struct err_detail err = {.text = ""};
    struct trace_writer *writer;
    struct trace_reader *trace;
    void *bytes;
    size_t n;
    expect(trace_create(NULL, &writer, &err), &err);
    expect(load_make("mix:400", N_EVENTS, 7, writer, &err), &err);
    expect(trace_finish_bytes(writer, &bytes, &n, &err), &err);
    expect(trace_open_bytes(bytes, n, &trace, &err), &err);
    const struct outcome alone = run(trace, 1);
    const struct outcome together = run(trace, N_LANES);
    const bool is_same = memcmp(&alone, &together, sizeof alone) == 0;
    trace_close(trace);
    free(bytes);
    printf("%d threads give %s as one\n", N_LANES, is_same ? "the same" : "OTHER RESULTS");
    return is_same ? EXIT_SUCCESS : EXIT_FAILURE;
}
