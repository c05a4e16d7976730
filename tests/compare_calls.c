/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * compare_calls DRIVER POLICY DEVICE REQUESTS [live]: does a replay ask the device for what a recording of the driver
 * shows?
 *
 * DRIVER is a trace of driver calls (replay record), whose pool 0 holds plain allocations. REQUESTS is a trace of the
 * program's requests, or a file of lines "A thread addr bytes stream device" ("O" where it was refused) and "F thread
 * addr", as the programs of these tests write. Refused calls are left out: our own account of a card refuses before the
 * driver is asked. With "live" the recording begins with what opening the device `cuda` does: an allocation and its
 * release, which are no policy's. Says "same N calls" or names the first difference; exit status 0, 1.
 */
#include "import/import.h"
#include "replay/engine/device_calls.h"
#include "replay/engine/engine.h"
#include "replay/results/result.h"
#include "replay/recording/recorded_release.h"
#include "replay/recording/recorded_settings.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A call of either side; `which` counts the allocations that succeeded, from 0. */
struct plain_call {
    enum device_call_kind kind;
    uint64_t bytes, which;
};

struct plain_calls {
    struct plain_call *at;
    size_t n, room;
};

static void expect(enum err e, const struct err_detail *err)
{
    if (e == ERR_OK)
        return;
    fprintf(stderr, "compare_calls: %s: %s\n", err_name(e), err->text);
    exit(2);
}

static void put_call(struct plain_calls *c, enum device_call_kind kind, uint64_t bytes, uint64_t which)
{
    if (c->n == c->room) {
        c->room = 2 * c->room + 64;
        c->at = realloc(c->at, c->room * sizeof *c->at);
        if (c->at == NULL)
            exit(3);
    }
    c->at[c->n++] = (struct plain_call){.kind = kind, .bytes = bytes, .which = which};
}

/* ---- what was recorded ---- */

static void read_driver(const char *path, struct plain_calls *out)
{
    struct trace_reader *trace;
    const struct event *events;
    size_t n;
    uint64_t n_allocs = 0;
    struct err_detail err = {.text = ""};
    expect(trace_open_any(path, NULL, NULL, &trace, &err), &err);
    uint64_t *which = calloc(trace_info(trace)->peak_live + 1u, sizeof *which);
    do {
        expect(trace_next(trace, &events, &n, &err), &err);
        for (size_t i = 0; i < n; i++) {
            const struct event *e = &events[i];
            const uint64_t *pool = trace_pools(trace)[e->pool].id;
            if (pool[0] != 0 || pool[1] != 0)
                continue;
            if (e->kind == EVENT_ALLOC)
                put_call(out, DEVICE_CALL_MALLOC, e->bytes, which[e->slot] = n_allocs++);
            else if (e->kind == EVENT_FREE)
                put_call(out, DEVICE_CALL_FREE, e->bytes, which[e->slot]);
        }
    } while (n > 0);
    free(which);
    trace_close(trace);
}

/* ---- what a replay does ---- */

/* Lines of a test program as a trace in memory. */
static struct trace_reader *read_lines(FILE *f)
{
    struct trace_writer *w;
    struct trace_reader *trace;
    char line[160];
    void *bytes;
    size_t n;
    struct err_detail err = {.text = ""};
    expect(trace_create(NULL, &w, &err), &err);
    while (fgets(line, sizeof line, f) != NULL) {
        struct trace_record r = {.record = TRACE_NO_RECORD,
                                 .kind = line[0] == 'A' ? EVENT_ALLOC : line[0] == 'O' ? EVENT_OOM : EVENT_FREE};
        unsigned thread;
        if (sscanf(line + 1, "%u %" SCNx64 " %" SCNu64 " %" SCNu64, &thread, &r.ptr, &r.bytes, &r.stream) >= 2)
            expect(trace_put(w, &r, &err), &err);
    }
    fclose(f);
    expect(trace_finish_bytes(w, &bytes, &n, &err), &err);
    expect(trace_open_owned(bytes, n, "lines", 0, &trace, &err), &err);
    return trace;
}

static struct trace_reader *open_requests(const char *path)
{
    struct trace_reader *trace;
    struct err_detail err = {.text = ""};
    FILE *f = fopen(path, "r");
    const int first = f == NULL ? EOF : getc(f);
    if (first == 'A') {
        ungetc(first, f);
        return read_lines(f);
    }
    if (f != NULL)
        fclose(f);
    expect(trace_open_any(path, NULL, NULL, &trace, &err), &err);
    return trace;
}

/* Every request that was refused must be, and no other. */
static void run_replay(const char *policy, const char *device, struct trace_reader *trace, struct plain_calls *out)
{
    const char *release;
    struct policy_spec spec;
    struct device_choice choice;
    struct lane lane;
    struct device_calls log = {.n = 0};
    struct err_detail err = {.text = ""};
    const struct replay_config cfg = {.on_oom = OOM_SKIP, .threads = 1};
    const struct device_log listener = device_calls_listener(&log);
    expect(policy_spec_parse(policy, &spec, &err), &err);
    expect(recorded_release(trace, &release, &err), &err);
    recorded_take_release(release, &spec);
    expect(device_choose(device, trace, &choice, &err), &err);
    expect(lane_open(&spec, choice.ops, &choice.config, trace, 0, &lane, &err), &err);
    lane.calls = &listener;
    expect(replay_run(trace, &lane, 1, &cfg, &err), &err);
    uint64_t *which = calloc(log.n + 1, sizeof *which), n_allocs = 0;
    for (size_t i = 0; i < log.n; i++) {
        const struct device_call *c = &log.at[i];
        if (c->kind == DEVICE_CALL_MALLOC)
            which[c->segment] = n_allocs++;
        if (c->kind != DEVICE_CALL_MALLOC_OOM)
            put_call(out, c->kind, c->bytes, which[c->segment]);
    }
    free(which);
    if (lane.meter.ooms != trace_info(trace)->by_kind[EVENT_OOM]) {
        printf("%" PRIu64 " requests refused in the replay, %" PRIu64 " in the recording\n", lane.meter.ooms,
               trace_info(trace)->by_kind[EVENT_OOM]);
        exit(1);
    }
    device_calls_close(&log);
    lane_close(&lane);
    policy_spec_close(&spec);
}

static bool is_same_call(const struct plain_call *a, const struct plain_call *b)
{
    return a->kind == b->kind && a->which == b->which && (a->kind == DEVICE_CALL_FREE || a->bytes == b->bytes);
}

static void say_call(const char *who, const struct plain_calls *c, size_t i)
{
    static const char *const names[DEVICE_CALL_KINDS] = {[DEVICE_CALL_MALLOC] = "malloc", [DEVICE_CALL_FREE] = "free"};
    if (i < c->n)
        printf("  %s: %s of %" PRIu64 " bytes, allocation %" PRIu64 "\n", who,
               names[c->at[i].kind] == NULL ? "another call" : names[c->at[i].kind], c->at[i].bytes, c->at[i].which);
    else
        printf("  %s: no call\n", who);
}

static bool is_opening(const struct plain_calls *c)
{
    return c->n >= 2 && c->at[0].kind == DEVICE_CALL_MALLOC && c->at[1].kind == DEVICE_CALL_FREE &&
           c->at[1].which == c->at[0].which;
}

/* Takes the first two calls out. */
static void drop_opening(struct plain_calls *c)
{
    c->n -= 2;
    memmove(c->at, c->at + 2, c->n * sizeof *c->at);
    for (size_t i = 0; i < c->n; i++)
        c->at[i].which--;
}

int main(int argc, char **argv)
{
    struct plain_calls recorded = {.n = 0}, replayed = {.n = 0};
    size_t i = 0;
    if (argc != 5 && (argc != 6 || strcmp(argv[5], "live") != 0))
        return 2;
    struct trace_reader *trace = open_requests(argv[4]);
    read_driver(argv[1], &recorded);
    if (argc == 6 && !is_opening(&recorded)) {
        printf("the recording does not begin with the opening of a device\n");
        return 1;
    }
    if (argc == 6)
        drop_opening(&recorded);
    run_replay(argv[2], argv[3], trace, &replayed);
    trace_close(trace);
    while (i < recorded.n && i < replayed.n && is_same_call(&recorded.at[i], &replayed.at[i]))
        i++;
    const bool is_same = i == recorded.n && i == replayed.n;
    if (is_same) {
        printf("same %zu calls\n", i);
    } else {
        printf("call %zu differs\n", i);
        say_call("recorded", &recorded, i);
        say_call("replayed", &replayed, i);
    }
    free(recorded.at);
    free(replayed.at);
    return is_same ? 0 : 1;
}
