/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * Importing PyTorch snapshots: every layout, every compression and page, starts in mid-run, contradictions, and
 * recorded files with known contents.
 */
#include "base/units.h"
#include "import/import.h"
#include "replay/recording/plain_facts.h"
#include "tests/json_file.h"

#include <criterion/criterion.h>
#include <dirent.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>
#include <zstd.h>

#define BASE UINT64_C(0x7f0000000000)
#define NOTHING UINT64_C(0)          /* of the right width for snap_segment */

/* ---- a small writer of snapshots ---- */

struct snap {
    unsigned char bytes[1 << 16];
    size_t n;
};

static void snap_raw(struct snap *s, const char *bytes)
{
    const size_t n = strlen(bytes);
    cr_assert_lt(s->n + n, sizeof s->bytes);
    memcpy(s->bytes + s->n, bytes, n);
    s->n += n;
}

static void snap_text(struct snap *s, const char *text)
{
    const char head[] = {'U', (char)strlen(text), '\0'};
    snap_raw(s, head);
    snap_raw(s, text);
}

static void snap_int(struct snap *s, uint64_t v)
{
    snap_raw(s, "\x8a\x08");
    for (unsigned i = 0; i < 8; i++)
        s->bytes[s->n++] = (unsigned char)(v >> (8 * i));
}

static void snap_entry(struct snap *s, const char *key, uint64_t v)
{
    snap_text(s, key);
    snap_int(s, v);
}

/* Opens the file and the first device's records. */
static void snap_begin(struct snap *s)
{
    s->n = 0;
    snap_raw(s, "\x80\x02}(");
    snap_text(s, "device_traces");
    snap_raw(s, "](](");
}

static void snap_next_device(struct snap *s)
{
    snap_raw(s, "e](");
}

static void snap_record(struct snap *s, const char *action, uint64_t addr, uint64_t size)
{
    snap_raw(s, "}(");
    snap_text(s, "action");
    snap_text(s, action);
    snap_entry(s, strcmp(action, "oom") == 0 ? "device_free" : "addr", addr);
    snap_entry(s, "size", size);
    snap_entry(s, "stream", 0);
    snap_raw(s, "u");
}

/* A record with one entry more. */
static void snap_record_more(struct snap *s, const char *action, uint64_t addr, uint64_t size, const char *key,
                             uint64_t v)
{
    snap_record(s, action, addr, size);
    s->n--;
    snap_entry(s, key, v);
    snap_raw(s, "u");
}

static void snap_record_pool(struct snap *s, const char *action, uint64_t addr, uint64_t size, uint64_t a, uint64_t b)
{
    snap_record(s, action, addr, size);
    s->n--;
    snap_text(s, "pool_id");
    snap_int(s, a);
    snap_int(s, b);
    snap_raw(s, "\x86u");
}

/* A record with a stack of one frame. */
static void snap_record_called(struct snap *s, const char *action, uint64_t addr, uint64_t size, const char *function)
{
    snap_record(s, action, addr, size);
    s->n--;
    snap_text(s, "frames");
    snap_raw(s, "](}(");
    snap_text(s, "filename");
    snap_text(s, "conv.py");
    snap_entry(s, "line", 7);
    snap_text(s, "name");
    snap_text(s, function);
    snap_raw(s, "ueu");
}

static void snap_free(struct snap *s, uint64_t addr, uint64_t size)
{
    snap_record(s, "free_requested", addr, size);
    snap_record(s, "free_completed", addr, size);
}

/* Ends the records; segments follow. */
static void snap_segments(struct snap *s)
{
    snap_raw(s, "ee");
    snap_text(s, "segments");
    snap_raw(s, "](");
}

/* A segment of the final state, up to the list of its blocks. */
static void snap_segment_begin(struct snap *s, uint64_t addr, uint64_t bytes, const char *type)
{
    snap_raw(s, "}(");
    snap_entry(s, "device", 0);
    snap_entry(s, "address", addr);
    snap_entry(s, "total_size", bytes);
    snap_entry(s, "stream", 0);
    snap_text(s, "segment_type");
    snap_text(s, type);
    snap_text(s, "blocks");
}

static void snap_block(struct snap *s, uint64_t addr, uint64_t size, uint64_t requested, int state)
{
    snap_raw(s, "}(");
    snap_entry(s, "address", addr);
    snap_entry(s, "size", size);
    snap_entry(s, "requested_size", requested);
    snap_text(s, "state");
    snap_text(s, state == 'a' ? "active_allocated" : state == 'p' ? "active_pending_free" : "inactive");
    snap_raw(s, "u");
}

/* One segment, its blocks given as size, requested size, state letter (a, p, i); a size of 0 ends them. */
static void snap_segment(struct snap *s, uint64_t addr, uint64_t bytes, const char *type, ...)
{
    va_list args;
    snap_segment_begin(s, addr, bytes, type);
    snap_raw(s, "](");
    va_start(args, type);
    for (uint64_t at = addr, size; (size = va_arg(args, uint64_t)) != 0; at += size) {
        const uint64_t requested = va_arg(args, uint64_t);
        snap_block(s, at, size, requested, va_arg(args, int));
    }
    va_end(args);
    snap_raw(s, "eu");
}

static void snap_end(struct snap *s)
{
    snap_raw(s, "eu.");
}

/* ---- importing ---- */

static const struct import_config auto_config = {.gpu = -1, .segment_frees = SEGMENT_FREES_AUTO};

static enum err import_bytes(const void *bytes, size_t n, const struct import_config *cfg, struct trace_reader **r,
                             struct err_detail *err)
{
    struct input *in;
    struct trace_writer *w;
    void *out;
    size_t n_out;
    cr_assert_eq(input_open_bytes(bytes, n, &in, err), ERR_OK);
    cr_assert_eq(trace_create(NULL, &w, err), ERR_OK);
    enum err e = importer_pytorch.import(in, cfg, w, err);
    input_close(in);
    if (e != ERR_OK) {
        trace_abandon(w);
        return e;
    }
    cr_assert_eq(trace_finish_bytes(w, &out, &n_out, err), ERR_OK, "%s", err->text);
    return trace_open_owned(out, n_out, "imported", 0, r, err);
}

static struct trace_reader *import_snap(const struct snap *s, const struct import_config *cfg)
{
    struct trace_reader *r = NULL;
    struct err_detail err = {.text = ""};
    cr_assert_eq(import_bytes(s->bytes, s->n, cfg, &r, &err), ERR_OK, "%s", err.text);
    return r;
}

static void expect_refused(const struct snap *s, enum err expected, const char *part)
{
    struct trace_reader *r = NULL;
    struct err_detail err = {.text = ""};
    cr_expect_eq(import_bytes(s->bytes, s->n, &auto_config, &r, &err), expected, "%s", part);
    cr_expect(strstr(err.text, part) != NULL, "\"%s\" lacks \"%s\"", err.text, part);
    trace_close(r);
}

static struct trace_reader *open_path(const char *path)
{
    struct trace_reader *r = NULL;
    struct err_detail err = {.text = ""};
    cr_assert_eq(trace_open_any(path, NULL, NULL, &r, &err), ERR_OK, "%s", err.text);
    return r;
}

static struct trace_reader *open_data(const char *name)
{
    char path[512];
    snprintf(path, sizeof path, "%s/%s", TEST_DATA, name);
    return open_path(path);
}

/* All events, which a small trace holds in one chunk. */
static const struct event *events_of(struct trace_reader *r, size_t *n)
{
    const struct event *events;
    struct err_detail err = {.text = ""};
    cr_assert_eq(trace_next(r, &events, n, &err), ERR_OK, "%s", err.text);
    cr_assert_eq(*n, trace_info(r)->events);
    return events;
}

/* Two imports agree in all but `path`. */
static void expect_same_trace(struct trace_reader *a, struct trace_reader *b, const char *what)
{
    size_t n = 0, m = 0, n_start, m_start;
    const struct event *x = events_of(a, &n), *y = events_of(b, &m);
    cr_assert_eq(n, m, "%s", what);
    cr_expect_eq(memcmp(x, y, n * sizeof *x), 0, "%s", what);
    const struct trace_segment *s = trace_start_segments(a, &n_start), *t = trace_start_segments(b, &m_start);
    cr_assert_eq(n_start, m_start);
    cr_expect(n_start == 0 || memcmp(s, t, n_start * sizeof *s) == 0, "%s", what);
    const char *value;
    for (size_t i = 0; trace_meta_at(a, i, &value) != NULL; i++) {
        const char *name = trace_meta_at(a, i, &value);
        if (strcmp(name, "path") != 0)
            cr_expect_str_eq(trace_meta(b, name), value, "%s: %s", what, name);
    }
}

/* ---- layouts and wrappings ---- */

static const char *const releases[][2] = {
    {"2.0.1", "2.0"},   {"2.1.2", "2.1"},   {"2.2.2", "2.2"},   {"2.3.1", "2.4"},   {"2.4.1", "2.4"},
    {"2.5.1", "2.7"},   {"2.6.0", "2.7"},   {"2.7.1", "2.7"},   {"2.8.0", "2.8"},   {"2.9.1", "2.9"},
    {"2.10.0", "2.11"}, {"2.11.0", "2.11"}, {"2.12.1", "2.12"}, {"2.13.0", "2.13"}, {"2.14.0", "2.15"},
    {"2.15.0", "2.15"}};

enum { N_RELEASES = sizeof releases / sizeof releases[0] };

Test(import_pytorch, every_release_tells_the_same_life)
{
    for (size_t i = 0; i < N_RELEASES; i++) {
        char name[64];
        snprintf(name, sizeof name, "layouts/%s.pickle", releases[i][0]);
        struct trace_reader *r = open_data(name);
        const struct trace_info *t = trace_info(r);
        cr_expect_str_eq(trace_meta(r, TRACE_META_RELEASE), releases[i][1], "%s", name);
        cr_expect_str_eq(trace_meta(r, "source"), "pytorch-snapshot");
        cr_expect_eq(t->records, 26, "%s", name);
        cr_expect_eq(t->by_kind[EVENT_ALLOC], 8, "%s", name);
        cr_expect_eq(t->by_kind[EVENT_FREE], 6, "%s", name);
        cr_expect_eq(t->by_kind[EVENT_OOM], 1, "%s", name);
        /* up to 2.2 a segment free has no stack; an OOM follows, so the allocator may have freed the segment */
        cr_expect_eq(t->by_kind[EVENT_FLUSH], i <= 2 ? 0 : 1, "%s", name);
        cr_expect_eq(t->n_streams, 2);
        cr_expect_eq(t->recorded_peak_reserved_bytes, 56623104, "%s", name);
        cr_expect_eq(t->recorded_end_reserved_bytes, 54525952, "%s", name);
        cr_expect_eq(t->recorded_end_segments, 3, "%s", name);
        cr_expect_not(t->starts_mid_run, "%s", name);
        trace_close(r);
    }
}

Test(import_pytorch, settings_come_along)
{
    struct trace_reader *r = open_data("layouts/2.15.0.pickle");
    cr_expect_str_eq(trace_meta(r, "conf"), "");
    cr_expect_str_eq(trace_meta(r, "max_split_size"), "-1");
    cr_expect_str_eq(trace_meta(r, "garbage_collection_threshold"), "0");
    cr_expect_str_eq(trace_meta(r, "expandable_segments"), "False");
    cr_expect_eq(strncmp(trace_meta(r, "roundup_power2_divisions"), "1:0,2:0,4:0,", 12), 0);
    trace_close(r);
    r = open_data("layouts/2.0.1.pickle");
    cr_expect_null(trace_meta(r, "conf"));
    trace_close(r);
}

Test(import_pytorch, pages_of_the_viewer_hold_the_same_snapshot)
{
    static const char *const pairs[][2] = {{"layouts/2.15.0-trace_plot.html", "layouts/2.15.0.pickle"},
                                           {"layouts/2.4.1-segment_plot.html", "layouts/2.4.1.pickle"}};
    for (size_t i = 0; i < 2; i++) {
        struct trace_reader *page = open_data(pairs[i][0]), *file = open_data(pairs[i][1]);
        expect_same_trace(page, file, pairs[i][0]);
        trace_close(page);
        trace_close(file);
    }
}

Test(import_pytorch, every_protocol_and_pickler_gives_the_same_trace)
{
    for (int i = 0; i < 12; i++) {
        char name[64];
        snprintf(name, sizeof name, "pickle/%s-protocol%d.pickle", i < 6 ? "c" : "python", i % 6);
        struct trace_reader *a = open_data(name), *b = open_data("layouts/2.15.0.pickle");
        expect_same_trace(a, b, name);
        trace_close(a);
        trace_close(b);
    }
}

static size_t read_data(const char *name, unsigned char *bytes, size_t room)
{
    char path[512];
    snprintf(path, sizeof path, "%s/%s", TEST_DATA, name);
    FILE *f = fopen(path, "rb");
    cr_assert_not_null(f, "%s", path);
    const size_t n = fread(bytes, 1, room, f);
    fclose(f);
    cr_assert(n > 0 && n < room);
    return n;
}

Test(import_pytorch, compressed_files_are_opened_as_they_are)
{
    static unsigned char plain[1 << 14], packed[1 << 15];
    const size_t n = read_data("layouts/2.15.0.pickle", plain, sizeof plain);
    for (int kind = 0; kind < 2; kind++) {
        char path[] = "/tmp/replay-test-import-XXXXXX";
        size_t n_packed;
        if (kind == 0) {
            z_stream z = {.next_in = plain, .avail_in = (uInt)n, .next_out = packed, .avail_out = sizeof packed};
            deflateInit2(&z, 9, Z_DEFLATED, 16 + MAX_WBITS, 8, Z_DEFAULT_STRATEGY);
            cr_assert_eq(deflate(&z, Z_FINISH), Z_STREAM_END);
            n_packed = z.total_out;
            deflateEnd(&z);
        } else {
            n_packed = ZSTD_compress(packed, sizeof packed, plain, n, 3);
        }
        const int fd = mkstemp(path);
        cr_assert_eq(write(fd, packed, n_packed), (ssize_t)n_packed);
        close(fd);
        struct trace_reader *a = open_path(path), *b = open_data("layouts/2.15.0.pickle");
        expect_same_trace(a, b, kind == 0 ? "gzip" : "zstd");
        trace_close(a);
        trace_close(b);
        unlink(path);
    }
}

Test(import_pytorch, a_file_imported_reads_like_the_snapshot)
{
    char from[512], to[] = "/tmp/replay-test-import-XXXXXX";
    struct err_detail err = {.text = ""};
    snprintf(from, sizeof from, "%s/layouts/2.15.0.pickle", TEST_DATA);
    close(mkstemp(to));
    cr_assert_eq(trace_import(from, NULL, NULL, to, &err), ERR_OK, "%s", err.text);
    struct trace_reader *a = open_path(from), *b = open_path(to);
    expect_same_trace(a, b, "imported");
    trace_close(a);
    trace_close(b);
    cr_expect_eq(trace_import(to, NULL, NULL, to, &err), ERR_USAGE);
    cr_expect(strstr(err.text, "native trace already") != NULL, "%s", err.text);
    unlink(to);
}

Test(import_pytorch, sides_tell_record_address_and_stack)
{
    struct trace_reader *r = open_data("layouts/2.15.0.pickle");
    struct trace_side side;
    const char *const *frames;
    cr_assert_eq(trace_side_at(r, 0, &side, NULL), ERR_OK);
    cr_expect_eq(side.record, 1);                        /* record 0 is the segment's */
    cr_expect_eq(side.addr, 139637976727552);
    cr_assert_eq(trace_stack(r, side.stack, &frames), 2);
    cr_expect_str_eq(frames[0], "child oracle.py:149");
    cr_expect_str_eq(frames[1], "<module> oracle.py:227");
    const struct trace_segment_event *events;
    size_t n;
    cr_assert_eq(trace_segment_events(r, &events, &n, NULL), ERR_OK);
    cr_assert_eq(n, 5);
    cr_expect_eq(events[0].before, 0);
    cr_expect_eq(events[4].kind, TRACE_SEGMENT_FREE);
    cr_expect_eq(events[4].record, 19);
    trace_close(r);
}

Test(import_pytorch, an_import_without_stacks_is_otherwise_the_same)
{
    static const struct import_config bare = {.gpu = -1, .without_stacks = true};
    struct trace_reader *without = NULL, *with = open_data("layouts/2.15.0.pickle");
    char path[512];
    snprintf(path, sizeof path, "%s/layouts/2.15.0.pickle", TEST_DATA);
    cr_assert_eq(trace_open_any(path, NULL, &bare, &without, NULL), ERR_OK);
    expect_same_trace(without, with, "without stacks");
    cr_expect_gt(trace_info(with)->n_stacks, 0);
    cr_expect_eq(trace_info(without)->n_stacks, 0);
    for (uint64_t i = 0; i < trace_info(with)->events; i++) {
        struct trace_side a, b;
        cr_assert_eq(trace_side_at(with, i, &a, NULL), ERR_OK);
        cr_assert_eq(trace_side_at(without, i, &b, NULL), ERR_OK);
        cr_expect(a.record == b.record && a.addr == b.addr && b.stack == TRACE_NO_STACK, "event %llu",
                  (unsigned long long)i);
    }
    trace_close(with);
    trace_close(without);
}

/* ---- bad input ---- */

Test(import_pytorch, every_cut_is_refused_with_a_sentence)
{
    static unsigned char bytes[1 << 14];
    const size_t n = read_data("layouts/2.0.1.pickle", bytes, sizeof bytes);
    for (size_t cut = 0; cut < n; cut += 5) {
        struct trace_reader *r = NULL;
        struct err_detail err = {.text = ""};
        cr_assert_neq(import_bytes(bytes, cut, &auto_config, &r, &err), ERR_OK, "cut at %zu", cut);
        cr_assert_neq(err.text[0], '\0', "cut at %zu", cut);
    }
}

Test(import_pytorch, a_flipped_byte_is_tolerated_or_refused)
{
    static unsigned char bytes[1 << 14];
    const size_t n = read_data("layouts/2.15.0.pickle", bytes, sizeof bytes);
    for (size_t at = 0; at < n; at += 3) {
        struct trace_reader *r = NULL;
        struct err_detail err = {.text = ""};
        const unsigned char flip = (unsigned char)(1u << at / 3 % 8);
        bytes[at] ^= flip;
        const enum err e = import_bytes(bytes, n, &auto_config, &r, &err);
        cr_assert(e == ERR_OK || err.text[0] != '\0', "byte %zu", at);
        trace_close(r);
        bytes[at] ^= flip;
    }
}

static void expect_open_error(const char *text, size_t n, enum err expected, const char *part)
{
    char path[] = "/tmp/replay-test-import-XXXXXX";
    const int fd = mkstemp(path);
    struct trace_reader *r = NULL;
    struct err_detail err = {.text = ""};
    cr_assert_eq(write(fd, text, n), (ssize_t)n);
    close(fd);
    cr_expect_eq(trace_open_any(path, NULL, NULL, &r, &err), expected, "%s", part);
    cr_expect(strstr(err.text, part) != NULL, "\"%s\" lacks \"%s\"", err.text, part);
    cr_expect(strstr(err.text, path) != NULL, "\"%s\" lacks the file's name", err.text);
    trace_close(r);
    unlink(path);
}

/* Five requests of 2^60 - 1 bytes are more than a trace can hold. */
Test(import_pytorch, errors_name_the_imported_file_and_not_the_trace_made_of_it)
{
    static struct snap s;
    char from[] = "/tmp/replay-test-import-XXXXXX", to[] = "/tmp/replay-test-import-XXXXXX", start[128];
    struct trace_reader *r = NULL;
    struct err_detail err = {.text = ""};
    snap_begin(&s);
    for (uint64_t i = 0; i < 5; i++)
        snap_record(&s, "alloc", i << 60, (UINT64_C(1) << 60) - 1);
    snap_segments(&s);
    snap_end(&s);
    const int fd = mkstemp(from);
    close(mkstemp(to));
    cr_assert_eq(write(fd, s.bytes, s.n), (ssize_t)s.n);
    close(fd);
    snprintf(start, sizeof start, "%s: event 4: ", from);
    cr_expect_eq(trace_open_any(from, NULL, NULL, &r, &err), ERR_FORMAT);
    cr_expect_eq(strncmp(err.text, start, strlen(start)), 0, "in memory: \"%s\"", err.text);
    cr_expect_eq(trace_import(from, NULL, NULL, to, &err), ERR_FORMAT);
    cr_expect_eq(strncmp(err.text, start, strlen(start)), 0, "into a file: \"%s\"", err.text);
    unlink(from);
    unlink(to);
}

static void keep_line(void *arg, const char *text)
{
    snprintf(arg, 64, "%s", text);
}

Test(import_pytorch, an_importer_without_a_description_is_described_by_its_summary)
{
    static const struct importer plain = {.name = "plain", .summary = "a plain list"};
    char line[64] = "";
    struct err_detail err = {.text = ""};
    cr_expect_eq(importer_describe(&plain, NULL, keep_line, line, &err), ERR_OK);
    cr_expect_str_eq(line, "a plain list");
}

Test(import_pytorch, foreign_files_are_refused_by_name_and_reason)
{
    expect_open_error("", 0, ERR_FORMAT, "is empty");
    expect_open_error("x", 1, ERR_FORMAT, "not a recording");
    expect_open_error("\x80", 1, ERR_FORMAT, "not a recording");
    expect_open_error("\x80\x02]q\x01.", 6, ERR_FORMAT, "no snapshot");
    expect_open_error("\x80\x02}q\x01.", 6, ERR_FORMAT, "no snapshot");
    expect_open_error("\x80\x02" "cos\nsystem\n.", 14, ERR_UNSUPPORTED, "GLOBAL");
    expect_open_error("<!DOCTYPE html><p>hello", 23, ERR_UNSUPPORTED, "without a snapshot");
    expect_open_error("<html>\"base64\" = \"gA\"", 21, ERR_FORMAT, "does not hold its snapshot where it should");
    struct trace_reader *r = NULL;
    struct err_detail err = {.text = ""};
    cr_expect_eq(trace_open_any("/nonexistent", NULL, NULL, &r, &err), ERR_INPUT);
    cr_expect_eq(trace_open_any("/", NULL, NULL, &r, &err), ERR_INPUT);
    cr_expect_eq(trace_open_any("/dev/null", "csw", NULL, &r, &err), ERR_USAGE);
    cr_expect(strstr(err.text, "csw") != NULL);
}

/* ---- what can be described but not replayed ---- */

struct lines { char text[4096]; };

static void take_line(void *arg, const char *text)
{
    struct lines *l = arg;
    const size_t n = strlen(l->text);
    snprintf(l->text + n, sizeof l->text - n, "%s\n", text);
}

static void describe(const struct snap *s, struct lines *l)
{
    struct input *in;
    struct err_detail err = {.text = ""};
    l->text[0] = '\0';
    cr_assert_eq(input_open_bytes(s->bytes, s->n, &in, NULL), ERR_OK);
    cr_assert_eq(importer_pytorch.describe(in, take_line, l, &err), ERR_OK, "%s", err.text);
    input_close(in);
}

Test(import_pytorch, a_final_state_is_described_but_not_replayed)
{
    static struct snap s;
    struct lines l;
    snap_begin(&s);
    snap_record(&s, "alloc", BASE, 100);                 /* recording with "state" keeps only the last record */
    snap_segments(&s);
    snap_segment(&s, BASE, 2 * MIB, "small", (uint64_t)512, (uint64_t)100, 'a', 2 * MIB - 512, NOTHING, 'i', NOTHING);
    snap_end(&s);
    expect_refused(&s, ERR_UNSUPPORTED, "only a final state (1 segments, 2 MiB)");
    describe(&s, &l);
    cr_expect(strstr(l.text, "1 live blocks (512 B)") != NULL, "%s", l.text);
    cr_expect(strstr(l.text, "not replayed") != NULL, "%s", l.text);
}

Test(import_pytorch, a_bare_list_of_segments_is_a_final_state)
{
    static struct snap s;
    struct lines l;
    snap_raw(&s, "\x80\x02](");
    snap_segment(&s, BASE, 20 * MIB, "large", 20 * MIB, (uint64_t)0, 'i', NOTHING);
    snap_raw(&s, "e.");
    expect_refused(&s, ERR_UNSUPPORTED, "only a final state");
    describe(&s, &l);
    cr_expect(strstr(l.text, "only its list of segments") != NULL, "%s", l.text);
}

Test(import_pytorch, a_final_state_is_a_trace_that_starts_from_it)
{
    static const struct import_config final = {.gpu = -1, .final_state = true};
    static struct snap s;
    size_t n_segments, n_blocks;
    snap_begin(&s);
    snap_record(&s, "segment_alloc", BASE, 2 * MIB);
    snap_record(&s, "alloc", BASE, 100);
    snap_record(&s, "alloc", BASE + 512, 200);
    snap_free(&s, BASE, 100);
    snap_segments(&s);
    snap_segment(&s, BASE, 2 * MIB, "small", (uint64_t)512, (uint64_t)100, 'i', (uint64_t)512, (uint64_t)200, 'a',
                 (uint64_t)512, (uint64_t)300, 'p', 2 * MIB - 3 * 512, NOTHING, 'i', NOTHING);
    snap_end(&s);
    struct trace_reader *r = import_snap(&s, &final);
    const struct trace_segment *segments = trace_start_segments(r, &n_segments);
    const struct trace_block *blocks = trace_start_blocks(r, &n_blocks);
    cr_expect_eq(trace_info(r)->events, 0);
    cr_assert(n_segments == 1 && n_blocks == 4);
    cr_expect(segments[0].addr == BASE && segments[0].bytes == 2 * MIB && segments[0].is_small);
    cr_expect(blocks[0].bytes == 512 && blocks[0].slot == TRACE_NO_SLOT);
    cr_expect(blocks[1].requested == 200 && blocks[1].slot != TRACE_NO_SLOT && !blocks[1].is_pending);
    cr_expect(blocks[2].requested == 300 && blocks[2].is_pending);
    cr_expect(blocks[3].bytes == 2 * MIB - 3 * 512 && blocks[3].slot == TRACE_NO_SLOT);
    trace_close(r);
}

Test(import_pytorch, a_final_state_is_that_of_one_device)
{
    static const struct import_config any = {.gpu = -1, .final_state = true}, second = {.gpu = 1, .final_state = true};
    static struct snap s;
    struct trace_reader *r = NULL;
    struct err_detail err = {.text = ""};
    snap_begin(&s);
    snap_segments(&s);
    for (uint64_t device = 0; device < 3; device += 2) {
        snap_raw(&s, "}(");
        snap_entry(&s, "device", device);
        snap_entry(&s, "address", BASE + device * GIB);
        snap_entry(&s, "total_size", 2 * MIB);
        snap_raw(&s, "u");
    }
    snap_end(&s);
    cr_expect_eq(import_bytes(s.bytes, s.n, &any, &r, &err), ERR_USAGE);
    cr_expect(strstr(err.text, "several devices hold memory: 0 (2 MiB), 2 (2 MiB); choose one") != NULL, "%s",
              err.text);
    cr_expect_eq(import_bytes(s.bytes, s.n, &second, &r, &err), ERR_USAGE);
    cr_expect(strstr(err.text, "device 1 holds no memory; these do: 0 (2 MiB), 2") != NULL, "%s", err.text);
}

/* A device refuses a request while 20 MiB are held and some are free. */
static void snap_refused(struct snap *s, uint64_t free_bytes, uint64_t asked, bool is_expandable)
{
    snap_begin(s);
    snap_record(s, "segment_alloc", BASE, 20 * MIB);
    snap_record(s, "alloc", BASE, 20 * MIB);
    snap_record(s, "oom", free_bytes, asked);
    snap_segments(s);
    snap_segment(s, BASE, 20 * MIB, "large", 20 * MIB, 20 * MIB, 'a', NOTHING);
    snap_raw(s, "e");
    snap_text(s, "allocator_settings");
    snap_raw(s, "}(");
    snap_entry(s, "max_split_size", UINT64_MAX);
    snap_entry(s, "expandable_segments", is_expandable);
    snap_raw(s, "uu.");
}

Test(import_pytorch, a_refused_request_of_a_size_that_no_tensor_has_is_refused_like_a_served_one)
{
    static const uint64_t sizes[] = { UINT64_C(1) << 60, INT64_MAX, UINT64_MAX };
    static struct snap s;
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        snap_begin(&s);
        snap_record(&s, "alloc", 4096, MIB);
        snap_record(&s, "oom", 4096, sizes[i]);
        snap_segments(&s);
        snap_end(&s);
        expect_refused(&s, ERR_FORMAT, "a trace record without a valid size");
    }
}

/* Writes an entry more into the dictionary that was written last; a NULL key: nothing. */
static void snap_amend(struct snap *s, const char *key, const char *value)
{
    if (key == NULL)
        return;
    s->n--;
    snap_text(s, key);
    snap_raw(s, value);
    snap_raw(s, "u");
}

/* Records and a segment with one block, each amended. */
static void snap_odd(struct snap *s, const char *of_record, const char *of_segment, const char *of_block,
                     const char *value)
{
    snap_begin(s);
    snap_free(s, BASE, 512);
    snap_record(s, "alloc", BASE, 512);
    snap_amend(s, of_record, value);
    snap_segments(s);
    snap_segment_begin(s, BASE, 2 * MIB, "small");
    snap_raw(s, "](");
    snap_block(s, BASE, 512, 500, 'a');
    snap_amend(s, of_block, value);
    snap_raw(s, "eu");
    snap_amend(s, of_segment, value);
    snap_end(s);
}

Test(import_pytorch, a_figure_that_is_no_whole_number_is_refused_and_a_missing_one_is_not)
{
    static const struct { const char *of_record, *of_segment, *of_block, *what; } cases[] = {
        {"stream", NULL, NULL, "a stream that is not a whole number"},
        {"time_us", NULL, NULL, "a trace record whose time is not a whole number"},
        {NULL, "stream", NULL, "a stream that is not a whole number"},
        {NULL, "device", NULL, "a segment whose device is not a whole number"},
        {NULL, "is_expandable", NULL, "a segment whose 'is_expandable' is not a bool"},
        {NULL, NULL, "requested_size", "a block without a valid requested size"},
    };
    static struct snap s;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        snap_odd(&s, cases[i].of_record, cases[i].of_segment, cases[i].of_block, "U\0017");
        expect_refused(&s, ERR_FORMAT, cases[i].what);
        snap_odd(&s, cases[i].of_record, cases[i].of_segment, cases[i].of_block, "N");
        trace_close(import_snap(&s, &auto_config));
    }
}

Test(import_pytorch, a_refusal_tells_what_the_device_had)
{
    static struct snap s;
    snap_refused(&s, 12 * MIB, 30 * MIB, false);
    struct trace_reader *r = import_snap(&s, &auto_config);
    cr_expect_eq(trace_info(r)->capacity_bytes, 32 * MIB);
    const char *notes = trace_meta(r, "notes");
    cr_expect(strstr(notes, "out of memory at record 2: 30 MiB asked for, 20 MiB reserved, 12 MiB free") != NULL, "%s",
              notes);
    cr_expect(strstr(notes, "not recorded: a memory fraction") != NULL, "%s", notes);
    trace_close(r);
    snap_refused(&s, 40 * MIB, 30 * MIB, false);         /* there was room: a memory fraction refused */
    r = import_snap(&s, &auto_config);
    cr_expect_eq(trace_info(r)->capacity_bytes, 60 * MIB);
    cr_expect_not_null(trace_meta(r, TRACE_META_LIMIT));
    trace_close(r);
}

/* PyTorch asks the device for whole segments: what is free may exceed the request and still be too little. If it is
 * not, a limit refused. */
Test(import_pytorch, a_refused_segment_may_be_larger_than_its_request)
{
    static const struct { uint64_t free_bytes, asked; bool is_expandable, is_limit; } cases[] = {
        {1 * MIB, 512, false, false},             {2 * MIB, 512, false, true},
        {18 * MIB, 3 * MIB, false, false},        {20 * MIB, 3 * MIB, false, true},
        {31 * MIB, 30 * MIB + 512, false, false}, {32 * MIB, 30 * MIB + 512, false, true},
        {38 * MIB, 30 * MIB, true, false},        {40 * MIB, 30 * MIB, true, true},
    };
    static struct snap s;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        snap_refused(&s, cases[i].free_bytes, cases[i].asked, cases[i].is_expandable);
        struct trace_reader *r = import_snap(&s, &auto_config);
        cr_expect_eq(trace_info(r)->capacity_bytes, 20 * MIB + cases[i].free_bytes, "case %zu", i);
        cr_expect_eq(trace_meta(r, TRACE_META_LIMIT) != NULL, cases[i].is_limit, "case %zu", i);
        trace_close(r);
    }
}

Test(import_pytorch, blocks_of_the_final_state_do_not_overlap_in_their_segment)
{
    static const struct { uint64_t addr[2], size[2]; const char *what; } cases[] = {
        {{BASE, BASE + 512}, {512, 0}, "it holds a block of 0 bytes"},
        {{BASE - 512, BASE}, {512, 512}, "its blocks overlap, or begin below it"},
        {{BASE, BASE}, {512, 512}, "its blocks overlap, or begin below it"},
        {{BASE, BASE + 512}, {512, 2 * MIB}, "its blocks reach beyond it"},
        {{BASE, BASE + 4 * MIB}, {512, 512}, "its blocks reach beyond it"},
    };
    static struct snap s;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        snap_begin(&s);
        snap_record(&s, "alloc", BASE, 512);
        snap_free(&s, BASE, 512);
        snap_segments(&s);
        snap_segment_begin(&s, BASE, 2 * MIB, "small");
        snap_raw(&s, "](");
        for (size_t k = 0; k < 2; k++)
            snap_block(&s, cases[i].addr[k], cases[i].size[k], 100, 'a');
        snap_raw(&s, "eu");
        snap_end(&s);
        expect_refused(&s, ERR_FORMAT, cases[i].what);
    }
}

Test(import_pytorch, a_list_of_blocks_belongs_to_one_segment)
{
    static struct snap s;
    snap_begin(&s);
    snap_record(&s, "alloc", BASE, 512);
    snap_free(&s, BASE, 512);
    snap_segments(&s);
    snap_segment_begin(&s, BASE, 2 * MIB, "small");
    snap_raw(&s, "]q\x01(");
    snap_block(&s, BASE, 512, 100, 'a');
    snap_raw(&s, "eu");
    for (uint64_t i = 1; i < 3; i++) {
        snap_segment_begin(&s, BASE + i * 2 * MIB, 2 * MIB, "small");
        snap_raw(&s, "h\x01u");
    }
    snap_end(&s);
    expect_refused(&s, ERR_FORMAT, "it shares its blocks with another segment");
}

static void two_devices(struct snap *s)
{
    snap_begin(s);
    snap_record(s, "segment_alloc", BASE, 2 * MIB);
    snap_record(s, "alloc", BASE, 100);
    snap_next_device(s);
    snap_next_device(s);
    snap_record(s, "segment_alloc", 2 * BASE, 2 * MIB);
    snap_record(s, "alloc", 2 * BASE, 200);
    snap_record(s, "alloc", 2 * BASE + 512, 300);
    snap_segments(s);
    snap_end(s);
}

Test(import_pytorch, of_several_devices_one_is_chosen)
{
    static struct snap s;
    struct trace_reader *r = NULL;
    struct err_detail err = {.text = ""};
    two_devices(&s);
    expect_refused(&s, ERR_USAGE, "0 (2 records), 2 (3 records); choose one with --gpu");
    const struct import_config second = {.gpu = 2}, none = {.gpu = 1}, beyond = {.gpu = 7};
    r = import_snap(&s, &second);
    cr_expect_eq(trace_info(r)->device, 2);
    cr_expect_eq(trace_info(r)->by_kind[EVENT_ALLOC], 2);
    trace_close(r);
    cr_expect_eq(import_bytes(s.bytes, s.n, &none, &r, &err), ERR_USAGE);
    cr_expect(strstr(err.text, "device 1 has no events") != NULL, "%s", err.text);
    cr_expect_eq(import_bytes(s.bytes, s.n, &beyond, &r, &err), ERR_USAGE);
}

/* ---- the start in mid-run ---- */

/* One large segment at the start: a block that is freed later, one that stays live, free blocks between and after. */
static void mid_run(struct snap *s, bool has_evidence)
{
    snap_begin(s);
    if (has_evidence)
        snap_record(s, "alloc", BASE + 4 * MIB, 6 * MIB);        /* after the first block, which had 1 MiB more */
    snap_free(s, BASE, 3 * MIB);
    snap_record(s, "free_completed", BASE + 10 * MIB, 2 * MIB);
    snap_segments(s);
    if (has_evidence)
        snap_segment(s, BASE, 20 * MIB, "large", 4 * MIB, 3 * MIB, 'i', 6 * MIB, 6 * MIB, 'a', 4 * MIB, NOTHING, 'i',
                     6 * MIB, 5 * MIB + 1, 'a', NOTHING);
    else
        snap_segment(s, BASE, 20 * MIB, "large", 14 * MIB, 3 * MIB, 'i', 6 * MIB, 5 * MIB + 1, 'a', NOTHING);
    snap_end(s);
}

Test(import_pytorch, the_state_before_the_first_record_is_rebuilt)
{
    static struct snap s;
    size_t n_segments, n_blocks;
    mid_run(&s, true);
    struct trace_reader *r = import_snap(&s, &auto_config);
    const struct trace_segment *g = trace_start_segments(r, &n_segments);
    const struct trace_block *b = trace_start_blocks(r, &n_blocks);
    cr_expect(trace_info(r)->starts_mid_run);
    cr_expect_eq(trace_info(r)->recorded_start_reserved_bytes, 20 * MIB);
    cr_assert_eq(n_segments, 1);
    cr_expect(g[0].addr == BASE && g[0].bytes == 20 * MIB && !g[0].is_small && !g[0].is_range);
    cr_assert_eq(n_blocks, 5);
    /* the next allocation tells where the first block ends */
    cr_expect(b[0].addr == BASE && b[0].bytes == 4 * MIB && b[0].requested == 3 * MIB && !b[0].is_size_guessed);
    cr_expect(b[1].slot == TRACE_NO_SLOT && b[1].addr == BASE + 4 * MIB && b[1].bytes == 6 * MIB);
    cr_expect(b[2].addr == BASE + 10 * MIB && b[2].is_pending && b[2].requested == 2 * MIB);
    cr_expect(b[3].slot == TRACE_NO_SLOT && b[3].addr == BASE + 12 * MIB && b[3].bytes == 2 * MIB);
    cr_expect(b[4].addr == BASE + 14 * MIB && b[4].bytes == 6 * MIB && b[4].requested == 5 * MIB + 1);
    cr_expect(strstr(trace_meta(r, "notes"), "starts in mid-run: 3 blocks") != NULL, "%s", trace_meta(r, "notes"));
    trace_close(r);
}

Test(import_pytorch, a_size_that_no_record_tells_is_noted_as_a_guess)
{
    static struct snap s;
    size_t n;
    mid_run(&s, false);
    struct trace_reader *r = import_snap(&s, &auto_config);
    const struct trace_block *b = trace_start_blocks(r, &n);
    cr_expect(b[0].bytes == 3 * MIB && b[0].is_size_guessed);
    cr_expect(strstr(trace_meta(r, "notes"), "rest on guesses") != NULL, "%s", trace_meta(r, "notes"));
    trace_close(r);
}

/* A rest of at most 1 MiB in the large pool is not split off. */
Test(import_pytorch, a_small_rest_belongs_to_the_block_before_it)
{
    static struct snap s;
    size_t n;
    snap_begin(&s);
    snap_free(&s, BASE, 13 * MIB + 1);
    snap_segments(&s);
    snap_segment(&s, BASE, 14 * MIB, "large", 14 * MIB, 13 * MIB + 1, 'i', NOTHING);
    snap_end(&s);
    struct trace_reader *r = import_snap(&s, &auto_config);
    const struct trace_block *b = trace_start_blocks(r, &n);
    cr_assert_eq(n, 1);
    cr_expect(b[0].bytes == 14 * MIB && !b[0].is_size_guessed);
    trace_close(r);
}

Test(import_pytorch, segments_are_undone_from_the_end)
{
    static struct snap s;
    size_t n;
    snap_begin(&s);
    snap_record(&s, "segment_free", BASE + 100 * MIB, 2 * MIB);          /* at the start, not at the end */
    snap_record(&s, "segment_alloc", BASE, 20 * MIB);                    /* at the end, not at the start */
    snap_record(&s, "alloc", BASE, 3 * MIB);
    snap_segments(&s);
    snap_segment(&s, BASE, 20 * MIB, "large", 3 * MIB, 3 * MIB, 'a', 17 * MIB, NOTHING, 'i', NOTHING);
    snap_segment(&s, BASE + 50 * MIB, 2 * MIB, "small", 2 * MIB, NOTHING, 'i', NOTHING);
    snap_end(&s);
    struct trace_reader *r = import_snap(&s, &auto_config);
    const struct trace_segment *g = trace_start_segments(r, &n);
    cr_assert_eq(n, 2);
    cr_expect(g[0].addr == BASE + 50 * MIB && g[0].is_small);
    cr_expect(g[1].addr == BASE + 100 * MIB && g[1].bytes == 2 * MIB && g[1].is_small);
    cr_expect_eq(trace_info(r)->recorded_start_reserved_bytes, 4 * MIB);
    cr_expect_eq(trace_info(r)->recorded_peak_reserved_bytes, 22 * MIB);
    cr_expect_eq(trace_info(r)->recorded_end_reserved_bytes, 22 * MIB);
    trace_close(r);
}

/* Makes the last segment a piece of a range, by one key more. */
static void snap_expandable(struct snap *s)
{
    s->n -= 2;
    snap_raw(s, "e");
    snap_text(s, "is_expandable");
    snap_raw(s, "\x88u");
}

Test(import_pytorch, mapped_stretches_are_cut_and_joined)
{
    static struct snap s;
    size_t n;
    snap_begin(&s);
    snap_record(&s, "segment_unmap", BASE + 60 * MIB, 20 * MIB);
    snap_record(&s, "segment_map", BASE + 20 * MIB, 20 * MIB);
    snap_segments(&s);
    snap_segment(&s, BASE, 60 * MIB, "large", 60 * MIB, NOTHING, 'i', NOTHING);
    snap_expandable(&s);
    snap_end(&s);
    struct trace_reader *r = import_snap(&s, &auto_config);
    const struct trace_segment *g = trace_start_segments(r, &n);
    cr_assert_eq(n, 2);
    cr_expect(g[0].addr == BASE && g[0].bytes == 20 * MIB && g[0].is_range);
    cr_expect(g[1].addr == BASE + 40 * MIB && g[1].bytes == 40 * MIB && g[1].is_range);
    trace_close(r);
}

/* At the start a piece of 20 MiB is mapped at BASE + 40 MiB. `unmapped` bytes of it are unmapped before a request of
 * `bytes` gets memory at BASE. */
static struct trace_reader *import_lower(uint64_t unmapped, uint64_t request)
{
    static struct snap s;
    snap_begin(&s);
    if (unmapped > 0)
        snap_record(&s, "segment_unmap", BASE + 60 * MIB - unmapped, unmapped);
    snap_record(&s, "segment_map", BASE, 20 * MIB);
    snap_record(&s, "alloc", BASE, request);
    snap_segments(&s);
    snap_segment(&s, BASE, 20 * MIB, request <= MIB ? "small" : "large", request, request, 'a', 20 * MIB - request,
                 NOTHING, 'i', NOTHING);
    snap_expandable(&s);
    if (unmapped < 20 * MIB) {
        snap_segment(&s, BASE + 40 * MIB, 20 * MIB - unmapped, "large", 20 * MIB - unmapped, NOTHING, 'i', NOTHING);
        snap_expandable(&s);
    }
    snap_end(&s);
    return import_snap(&s, &auto_config);
}

Test(import_pytorch, memory_mapped_below_all_pieces_shows_where_their_range_begins)
{
    size_t n, n_blocks;
    struct trace_reader *r = import_lower(10 * MIB, 15 * MIB);
    const struct trace_segment *g = trace_start_segments(r, &n);
    const struct trace_block *b = trace_start_blocks(r, &n_blocks);
    cr_assert(n == 2 && n_blocks == 1);
    cr_expect(g[0].addr == BASE && g[0].bytes == 0 && g[0].is_range && !g[0].is_small);
    cr_expect(g[1].addr == BASE + 40 * MIB && g[1].bytes == 20 * MIB && g[1].is_range);
    cr_expect(b[0].segment == 1 && b[0].bytes == 20 * MIB);
    cr_expect_eq(trace_info(r)->recorded_start_reserved_bytes, 20 * MIB);
    trace_close(r);
}

Test(import_pytorch, memory_mapped_elsewhere_does_not)
{
    size_t n;
    struct trace_reader *another = import_lower(0, MIB);                 /* a range of small requests */
    cr_expect_eq(trace_start_segments(another, &n)->bytes, 20 * MIB);
    cr_expect_eq(n, 1);
    trace_close(another);
    struct trace_reader *later = import_lower(20 * MIB, 15 * MIB);       /* the range was given up before */
    cr_expect_eq(trace_start_segments(later, &n)->bytes, 20 * MIB);
    cr_expect_eq(n, 1);
    trace_close(later);
}

/* ---- contradictions ---- */

static void contradiction(struct snap *s, const char *first, const char *second, uint64_t at)
{
    snap_begin(s);
    snap_record(s, "segment_alloc", BASE, 2 * MIB);
    snap_record(s, "alloc", BASE, 1000);
    snap_record(s, "alloc", BASE + 4096, 1000);
    snap_free(s, BASE + 4096, 1000);
    if (first != NULL)
        snap_record(s, first, at, 1000);
    snap_record(s, second, at, 1000);
    snap_segments(s);
    snap_end(s);
}

Test(import_pytorch, contradictions_name_their_record)
{
    static struct snap s;
    contradiction(&s, NULL, "alloc", BASE);
    expect_refused(&s, ERR_FORMAT, "record 5 of device 0 contradicts the ones before it: an allocation of");
    contradiction(&s, NULL, "free_requested", BASE + 4096);
    expect_refused(&s, ERR_FORMAT, "record 5 of device 0 contradicts the ones before it: a free of a block");
    contradiction(&s, "free_requested", "free_requested", BASE);
    expect_refused(&s, ERR_FORMAT, "record 6 of device 0");
    contradiction(&s, NULL, "free_completed", BASE + 4096);
    expect_refused(&s, ERR_FORMAT, "the completion of a free of nothing");
    contradiction(&s, NULL, "free_completed", BASE);
    expect_refused(&s, ERR_FORMAT, "the completion of a free that was not requested");
    contradiction(&s, NULL, "alloc", BASE + 512);
    expect_refused(&s, ERR_FORMAT, "record 5 of device 0: the block at 0x7f0000000200 (1000 bytes) overlaps");
    contradiction(&s, NULL, "alloc", BASE - 512);
    expect_refused(&s, ERR_FORMAT, "overlaps the live block at 0x7f0000000000 (1000 bytes)");
}

Test(import_pytorch, an_address_in_no_segment_is_flagged)
{
    static struct snap s;
    contradiction(&s, NULL, "alloc", BASE + 10 * MIB);
    struct trace_reader *r = import_snap(&s, &auto_config);
    const char *part = "contradiction: record 5: the address 0x7f0000a00000 lies in no segment";
    cr_expect(strstr(trace_meta(r, "notes"), part) != NULL, "%s", trace_meta(r, "notes"));
    cr_expect_eq(trace_info(r)->by_kind[EVENT_ALLOC], 3);
    trace_close(r);
}

Test(import_pytorch, unknown_actions_and_keys_are_skipped_and_counted)
{
    static struct snap s;
    snap_begin(&s);
    snap_record(&s, "segment_alloc", BASE, 2 * MIB);
    snap_record(&s, "user_defined", 0, 0);
    snap_record_more(&s, "alloc", BASE, 100, "something_new", 7);
    snap_record(&s, "snapshot", 0, 100);
    snap_segments(&s);
    snap_end(&s);
    struct trace_reader *r = import_snap(&s, &auto_config);
    cr_expect_eq(trace_info(r)->records, 4);
    cr_expect_eq(trace_info(r)->by_kind[EVENT_ALLOC], 1);
    cr_expect_eq(trace_info(r)->by_kind[EVENT_CONTROL], 1);
    cr_expect_eq(trace_controls(r)[0].kind, CONTROL_SNAPSHOT);
    cr_expect(strstr(trace_meta(r, "notes"), "1 records of an unknown action") != NULL);
    trace_close(r);
}

Test(import_pytorch, captures_are_controls_and_give_their_pool_to_segments_that_are_gone)
{
    static struct snap s;
    snap_begin(&s);
    snap_record_pool(&s, "capture_end", 0, 0, 1, 0);                 /* was not begun */
    snap_record_pool(&s, "capture_begin", 0, 0, 0, 0);               /* into no private pool */
    snap_record_pool(&s, "capture_begin", 0, 0, 7, 0);
    snap_record_pool(&s, "capture_begin", 0, 0, 8, 0);               /* in a capture */
    snap_record(&s, "segment_alloc", BASE, 2 * MIB);
    snap_record(&s, "alloc", BASE, 100);
    snap_free(&s, BASE, 100);
    snap_record_pool(&s, "capture_end", 0, 0, 8, 0);                 /* of another */
    snap_record_pool(&s, "capture_end", 0, 0, 7, 0);
    snap_record(&s, "segment_free", BASE, 2 * MIB);
    snap_segments(&s);
    snap_end(&s);
    struct trace_reader *r = import_snap(&s, &auto_config);
    size_t n;
    const struct event *events = events_of(r, &n);
    const struct control *c = trace_controls(r);
    cr_assert_eq(trace_info(r)->n_controls, 3);
    cr_expect(c[0].kind == CONTROL_CAPTURE_BEGIN && c[1].kind == CONTROL_CAPTURE_END &&
              c[2].kind == CONTROL_GRAPH_RESET);
    cr_expect(c[0].pool == 1 && c[1].pool == 1 && c[2].pool == 1);
    cr_expect_eq(trace_pools(r)[1].id[0], 7);
    cr_expect(events[1].kind == EVENT_ALLOC && events[1].pool == 1);
    cr_expect_null(strstr(trace_meta(r, TRACE_META_RELEASE), "2.1"), "records of ours say nothing about the release");
    trace_close(r);
}

Test(import_pytorch, the_class_of_the_card_is_a_fact_if_the_recorder_knows_it)
{
    static struct snap s;
    snap_begin(&s);
    snap_record(&s, "segment_alloc", BASE, 2 * MIB);
    snap_record(&s, "alloc", BASE, 512);
    snap_segments(&s);
    snap_end(&s);
    const struct import_config known = {.gpu = -1, .capability = "8.6", .capacity_bytes = 3 * GIB};
    struct trace_reader *r = import_snap(&s, &known), *unknown = import_snap(&s, &auto_config);
    cr_expect_str_eq(trace_meta(r, TRACE_META_CAPABILITY), "8.6");
    cr_expect(fact_is_plain(TRACE_META_CAPABILITY, "8.6") && !fact_is_plain(TRACE_META_CAPABILITY, "8.6 of Ann's"));
    cr_expect_null(trace_meta(unknown, TRACE_META_CAPABILITY));
    cr_expect(trace_info(r)->capacity_bytes == 3 * GIB && trace_info(unknown)->capacity_bytes == 0);
    trace_close(r);
    trace_close(unknown);
}

Test(import_pytorch, frees_that_record_only_their_end_are_frees)
{
    static struct snap s;
    snap_begin(&s);
    snap_record(&s, "segment_alloc", BASE, 2 * MIB);
    snap_record(&s, "alloc", BASE, 100);
    snap_record(&s, "free_completed", BASE, 100);
    snap_segments(&s);
    snap_end(&s);
    struct trace_reader *r = import_snap(&s, &auto_config);
    cr_expect_eq(trace_info(r)->by_kind[EVENT_FREE], 1);
    cr_expect_not(trace_info(r)->starts_mid_run);
    trace_close(r);
}

Test(import_pytorch, times_count_from_the_first_and_never_go_back)
{
    static struct snap s;
    size_t n;
    snap_begin(&s);
    snap_record_more(&s, "segment_alloc", BASE, 2 * MIB, "time_us", 1700000000000000);
    snap_record_more(&s, "alloc", BASE, 100, "time_us", 1700000000000005);
    snap_record_more(&s, "alloc", BASE + 512, 100, "time_us", 1700000000000003);
    snap_record_more(&s, "alloc", BASE + 1024, 100, "time_us", 1700000000000009);
    snap_segments(&s);
    snap_end(&s);
    struct trace_reader *r = import_snap(&s, &auto_config);
    const struct event *ev = events_of(r, &n);
    cr_assert_eq(n, 3);
    cr_expect_eq(trace_info(r)->epoch_us, 1700000000000005, "of the first event, which is time 0");
    cr_expect_eq(ev[1].time_ns, ev[0].time_ns);
    cr_expect_eq(ev[2].time_ns - ev[0].time_ns, 4000);
    trace_close(r);
}

/* ---- who gave segments back ---- */

/* Holds 40 MiB (at most `high` MiB ever), frees the block of a segment, frees that segment, then goes on. */
static void release_case(struct snap *s, uint64_t high_mib, const char *next, uint64_t asked_mib)
{
    snap_begin(s);
    snap_record(s, "segment_alloc", BASE, 20 * MIB);
    snap_record(s, "alloc", BASE, 20 * MIB);
    snap_record(s, "segment_alloc", BASE + 20 * MIB, 20 * MIB);
    snap_record(s, "alloc", BASE + 20 * MIB, 20 * MIB);
    snap_free(s, BASE + 20 * MIB, 20 * MIB);
    snap_record(s, "segment_free", BASE + 20 * MIB, 20 * MIB);           /* record 6 */
    if (strcmp(next, "oom") == 0)
        snap_record(s, next, 5 * MIB, asked_mib * MIB);
    else if (strcmp(next, "alloc") == 0)
        snap_free(s, BASE, 20 * MIB);
    else
        snap_record(s, next, BASE + 100 * MIB, asked_mib * MIB);
    const uint64_t grown_mib = strcmp(next, "segment_alloc") == 0 ? asked_mib : 0;
    snap_record(s, "segment_alloc", BASE + 1000 * MIB, (high_mib - 20 - grown_mib) * MIB);
    snap_record(s, "alloc", BASE + 1000 * MIB, 2 * MIB);
    snap_segments(s);
    snap_end(s);
}

static void expect_flushes(const struct snap *s, enum import_segment_frees wish, uint64_t expected, const char *what)
{
    const struct import_config cfg = {.gpu = -1, .segment_frees = wish};
    struct trace_reader *r = import_snap(s, &cfg);
    cr_expect_eq(trace_info(r)->by_kind[EVENT_FLUSH], expected, "%s", what);
    trace_close(r);
}

Test(import_pytorch, segments_are_freed_by_the_program_or_the_allocator)
{
    static struct snap s;
    release_case(&s, 100, "alloc", 0);
    expect_flushes(&s, SEGMENT_FREES_AUTO, 1, "no new memory follows");
    expect_flushes(&s, SEGMENT_FREES_ALLOCATOR, 1, "no new memory follows, whatever is wished");
    release_case(&s, 100, "segment_alloc", 30);
    expect_flushes(&s, SEGMENT_FREES_AUTO, 1, "the device had room: it held 100 MiB later");
    expect_flushes(&s, SEGMENT_FREES_ALLOCATOR, 0, "wished");
    release_case(&s, 100, "oom", 400);
    expect_flushes(&s, SEGMENT_FREES_AUTO, 0, "the last resort before an OOM");
    expect_flushes(&s, SEGMENT_FREES_PROGRAM, 1, "wished");
    release_case(&s, 60, "segment_alloc", 30);
    expect_flushes(&s, SEGMENT_FREES_AUTO, 0, "nothing tells");
    expect_flushes(&s, SEGMENT_FREES_PROGRAM, 1, "nothing tells, but it is wished");
}

/* Of a free block of 130 MiB the 120 MiB that are whole pages are unmapped; a request of 30 MiB then gets one back. */
static void unmapping_case(struct snap *s, uint64_t max_split_size)
{
    snap_begin(s);
    snap_record(s, "segment_map", BASE, 140 * MIB);
    snap_record(s, "alloc", BASE, 10 * MIB);
    snap_record(s, "alloc", BASE + 10 * MIB, 130 * MIB);
    snap_free(s, BASE + 10 * MIB, 130 * MIB);
    snap_record(s, "segment_unmap", BASE + 20 * MIB, 120 * MIB);
    snap_record(s, "segment_map", BASE + 20 * MIB, 20 * MIB);
    snap_record(s, "alloc", BASE + 10 * MIB, 30 * MIB);
    snap_segments(s);
    snap_segment(s, BASE, 40 * MIB, "large", 10 * MIB, 10 * MIB, 'a', 30 * MIB, 30 * MIB, 'a', NOTHING);
    snap_expandable(s);
    snap_raw(s, "e");
    snap_text(s, "allocator_settings");
    snap_raw(s, "}(");
    snap_entry(s, "max_split_size", max_split_size);
    snap_entry(s, "expandable_segments", true);
    snap_raw(s, "uu.");
}

Test(import_pytorch, a_free_block_that_is_too_large_to_be_split_serves_no_small_request)
{
    static struct snap s;
    unmapping_case(&s, UINT64_MAX);
    expect_flushes(&s, SEGMENT_FREES_ALLOCATOR, 1, "it would have fitted: the allocator had no reason");
    unmapping_case(&s, 128 * MIB);
    expect_flushes(&s, SEGMENT_FREES_ALLOCATOR, 0, "130 MiB may not be split, though 120 may");
}

/* As PyTorch's search for the fastest algorithm of a convolution does: it empties the cache before a workspace. */
static void search_case(struct snap *s, uint64_t asked_mib)
{
    snap_begin(s);
    snap_record_called(s, "segment_alloc", BASE, 200 * MIB, "conv");
    snap_record_called(s, "alloc", BASE, 200 * MIB, "conv");
    snap_free(s, BASE, 200 * MIB);
    snap_record_called(s, "segment_free", BASE, 200 * MIB, "conv");
    snap_record_called(s, "segment_alloc", BASE + 1000 * MIB, asked_mib * MIB, "conv");
    snap_record_called(s, "alloc", BASE + 1000 * MIB, asked_mib * MIB, "conv");
    snap_segments(s);
    snap_segment(s, BASE + 1000 * MIB, asked_mib * MIB, "large", asked_mib * MIB, asked_mib * MIB, 'a', NOTHING);
    snap_end(s);
}

Test(import_pytorch, a_flush_may_have_the_stack_of_the_request_after_it)
{
    static struct snap s;
    search_case(&s, 60);
    expect_flushes(&s, SEGMENT_FREES_AUTO, 1, "60 MiB would have been served by what was free");
    search_case(&s, 220);
    expect_flushes(&s, SEGMENT_FREES_AUTO, 0, "220 MiB would not");
}

Test(import_pytorch, a_segment_free_that_nothing_decides_is_noted)
{
    static struct snap s;
    release_case(&s, 60, "segment_alloc", 30);
    struct trace_reader *r = import_snap(&s, &auto_config);
    const char *part = "1 times segments were given back either by the program's empty_cache or by the allocator";
    cr_expect(strstr(trace_meta(r, "notes"), part) != NULL, "%s", trace_meta(r, "notes"));
    trace_close(r);
}

Test(import_pytorch, a_flush_comes_before_its_first_segment_free)
{
    static struct snap s;
    size_t n, n_segments;
    const struct trace_segment_event *segments;
    struct trace_side side;
    release_case(&s, 100, "alloc", 0);
    struct trace_reader *r = import_snap(&s, &auto_config);
    const struct event *ev = events_of(r, &n);
    cr_assert_eq(trace_segment_events(r, &segments, &n_segments, NULL), ERR_OK);
    cr_assert_eq(ev[3].kind, EVENT_FLUSH);                               /* alloc, alloc, free, flush */
    cr_expect_eq(segments[2].kind, TRACE_SEGMENT_FREE);
    cr_expect_eq(segments[2].before, 4);
    cr_assert_eq(trace_side_at(r, 3, &side, NULL), ERR_OK);
    cr_expect_eq(side.record, 6);
    trace_close(r);
}

/* The next request would have fitted into the freed segment. */
Test(import_pytorch, a_segment_free_that_the_next_request_did_not_need_is_the_programs)
{
    static struct snap s;
    for (uint64_t mib = 20; mib <= 21; mib++) {
        snap_begin(&s);
        snap_record(&s, "segment_alloc", BASE, 20 * MIB);
        snap_record(&s, "alloc", BASE, 20 * MIB);
        snap_free(&s, BASE, 20 * MIB);
        snap_record(&s, "segment_free", BASE, 20 * MIB);
        snap_record(&s, "segment_alloc", BASE + 100 * MIB, 22 * MIB);
        snap_record(&s, "alloc", BASE + 100 * MIB, mib * MIB);
        snap_segments(&s);
        snap_end(&s);
        expect_flushes(&s, SEGMENT_FREES_AUTO, mib == 20 ? 1 : 0, "20 MiB would have been served, 21 MiB not");
    }
}

/* With several streams the allocator may have waited for a free completed directly before a segment free. This explains
 * why the freed segment did not serve the next request only if that free was in this segment. */
Test(import_pytorch, a_segment_free_may_have_waited_only_for_frees_in_its_segment)
{
    static struct snap s;
    for (uint64_t last = 0; last <= 1; last++) {
        snap_begin(&s);
        for (uint64_t i = 0; i < 2; i++) {
            snap_record(&s, "segment_alloc", BASE + i * 20 * MIB, (20 - 8 * i) * MIB);
            snap_record(&s, "alloc", BASE + i * 20 * MIB, (20 - 8 * i) * MIB);
        }
        snap_record_more(&s, "segment_alloc", BASE + 40 * MIB, 40 * MIB, "stream", 7);
        snap_record_more(&s, "alloc", BASE + 40 * MIB, 40 * MIB, "stream", 7);
        snap_free(&s, BASE + (1 - last) * 20 * MIB, (12 + 8 * last) * MIB);
        snap_free(&s, BASE + last * 20 * MIB, (20 - 8 * last) * MIB);
        snap_record(&s, "segment_free", BASE, 20 * MIB);
        snap_record(&s, "segment_alloc", BASE + 100 * MIB, 22 * MIB);
        snap_record(&s, "alloc", BASE + 100 * MIB, 20 * MIB);
        snap_free(&s, BASE + 100 * MIB, 20 * MIB);
        snap_segments(&s);
        snap_end(&s);
        expect_flushes(&s, SEGMENT_FREES_AUTO, last, "the last free before the release was in it, or elsewhere");
    }
}

/* The driver gives the address of what a wait made free to the request that waited: both are there. */
Test(import_pytorch, a_request_may_get_the_address_that_it_waited_for)
{
    static struct snap s;
    snap_begin(&s);
    for (uint64_t i = 0; i < 2; i++) {
        snap_record_more(&s, "segment_alloc", BASE + i * 20 * MIB, 20 * MIB, "stream", 7 * i);
        snap_record_more(&s, "alloc", BASE + i * 20 * MIB, 20 * MIB, "stream", 7 * i);
    }
    snap_record(&s, "free_requested", BASE, 20 * MIB);
    snap_record_more(&s, "free_requested", BASE + 20 * MIB, 20 * MIB, "stream", 7);
    snap_record(&s, "free_completed", BASE, 20 * MIB);
    snap_record_more(&s, "free_completed", BASE + 20 * MIB, 20 * MIB, "stream", 7);
    snap_record(&s, "segment_free", BASE, 20 * MIB);
    snap_record_more(&s, "segment_free", BASE + 20 * MIB, 20 * MIB, "stream", 7);
    snap_record(&s, "segment_alloc", BASE, 30 * MIB);
    snap_record(&s, "alloc", BASE, 30 * MIB);
    snap_segments(&s);
    snap_segment(&s, BASE, 30 * MIB, "large", 30 * MIB, 30 * MIB, 'a', NOTHING);
    snap_end(&s);
    struct trace_reader *r = import_snap(&s, &auto_config);
    cr_expect_eq(trace_info(r)->by_kind[EVENT_ALLOC], 3);
    cr_expect_eq(trace_info(r)->by_kind[EVENT_FREE_COMPLETED], 2);
    trace_close(r);
}

/* A segment free that leaves another free segment was garbage collection. */
Test(import_pytorch, a_run_that_leaves_a_free_segment_is_the_allocators)
{
    static struct snap s;
    snap_begin(&s);
    for (uint64_t i = 0; i < 2; i++) {
        snap_record(&s, "segment_alloc", BASE + i * 20 * MIB, 20 * MIB);
        snap_record(&s, "alloc", BASE + i * 20 * MIB, 20 * MIB);
    }
    snap_free(&s, BASE, 20 * MIB);
    snap_free(&s, BASE + 20 * MIB, 20 * MIB);
    snap_record(&s, "segment_free", BASE, 20 * MIB);
    snap_record(&s, "segment_alloc", BASE + 100 * MIB, 200 * MIB);
    snap_record(&s, "alloc", BASE + 100 * MIB, 200 * MIB);
    snap_record(&s, "segment_alloc", BASE + 400 * MIB, 200 * MIB);
    snap_segments(&s);
    snap_end(&s);
    expect_flushes(&s, SEGMENT_FREES_AUTO, 0, "a free segment stayed");
}

Test(import_pytorch, freeing_the_segments_of_a_private_pool_is_its_end)
{
    static struct snap s;
    snap_begin(&s);
    snap_record_pool(&s, "segment_alloc", BASE, 20 * MIB, 0, 1);
    snap_record_pool(&s, "alloc", BASE, 3 * MIB, 0, 1);
    snap_record_pool(&s, "free_requested", BASE, 3 * MIB, 0, 1);
    snap_record_pool(&s, "free_completed", BASE, 3 * MIB, 0, 1);
    snap_record_pool(&s, "segment_free", BASE, 20 * MIB, 0, 1);
    snap_record_pool(&s, "segment_alloc", BASE + 50 * MIB, 20 * MIB, 0, 0);
    snap_record_pool(&s, "alloc", BASE + 50 * MIB, 3 * MIB, 0, 0);
    snap_segments(&s);
    snap_end(&s);
    struct trace_reader *r = import_snap(&s, &auto_config);
    cr_assert_eq(trace_info(r)->n_pools, 2);
    cr_expect_eq(trace_pools(r)[1].id[1], 1);
    cr_assert_eq(trace_info(r)->n_controls, 1);
    cr_expect_eq(trace_controls(r)[0].kind, CONTROL_POOL_DROP);
    cr_expect_eq(trace_controls(r)[0].pool, 1);
    cr_expect_eq(trace_info(r)->by_kind[EVENT_FLUSH], 0);
    trace_close(r);
}

/* ---- recorded files ---- */

static uint64_t number(const json_t *object, const char *key)
{
    return (uint64_t)json_integer_value(json_object_get(object, key));
}

/* The number of free records of either kind, as the source counts them. */
static void expect_counts(const struct trace_info *t, const json_t *device, const char *file)
{
    const json_t *actions = json_object_get(device, "actions");
    const uint64_t frees = t->by_kind[EVENT_FREE];
    cr_expect_eq(t->records, number(device, "n"), "%s", file);
    cr_expect_eq(t->by_kind[EVENT_ALLOC], number(actions, "alloc"), "%s", file);
    cr_expect_eq(frees + t->by_kind[EVENT_FREE_COMPLETED], number(actions, "free_completed"), "%s", file);
    if (json_object_get(actions, "free_requested") != NULL)
        cr_expect_eq(frees + t->by_kind[EVENT_FREE_REQUESTED], number(actions, "free_requested"), "%s", file);
    cr_expect_eq(t->by_kind[EVENT_OOM], number(device, "n_oom"), "%s", file);
    cr_expect_eq(t->recorded_start_reserved_bytes, number(device, "init_reserved"), "%s", file);
    cr_expect_eq(t->recorded_peak_reserved_bytes, number(device, "peak_reserved"), "%s", file);
    cr_expect_eq(t->recorded_end_reserved_bytes, number(device, "end_reserved"), "%s", file);
    cr_expect_eq(t->starts_mid_run, !json_boolean_value(json_object_get(device, "complete")), "%s", file);
}

static void expect_segment_counts(struct trace_reader *r, const json_t *device, const char *file)
{
    static const char *const names[] = {"segment_alloc", "segment_free", "segment_map", "segment_unmap"};
    const struct trace_segment_event *events = NULL;
    size_t n = 0, counts[4] = {0};
    cr_assert_eq(trace_segment_events(r, &events, &n, NULL), ERR_OK);
    for (size_t i = 0; i < n; i++)
        counts[events[i].kind]++;
    for (size_t k = 0; k < 4; k++)
        cr_expect_eq(counts[k], number(json_object_get(device, "actions"), names[k]), "%s: %s", file, names[k]);
}

static void expect_truth(const json_t *entry)
{
    char path[512];
    const char *file = json_string_value(json_object_get(entry, "file"));
    const json_t *devices = json_object_get(entry, "devices");
    struct trace_reader *r = NULL;
    struct err_detail err = {.text = ""};
    struct lines l = {.text = ""};
    snprintf(path, sizeof path, "%s/traces/%s", SHARED_DIR, file);
    cr_expect_eq(trace_describe(path, NULL, NULL, take_line, &l, &err), ERR_OK, "%s", err.text);
    const enum err e = trace_open_any(path, NULL, NULL, &r, &err);
    if (json_array_size(devices) == 0) {
        cr_expect_eq(e, ERR_UNSUPPORTED, "%s", file);
        cr_expect(strstr(err.text, "only a final state") != NULL, "%s", err.text);
        cr_expect(strstr(l.text, "not replayed") != NULL, "%s: %s", file, l.text);
        return;
    }
    cr_assert_eq(e, ERR_OK, "%s", err.text);
    expect_counts(trace_info(r), json_array_get(devices, 0), file);
    expect_segment_counts(r, json_array_get(devices, 0), file);
    const char *notes = trace_meta(r, "notes");
    cr_expect_eq(strstr(notes, "contradiction") != NULL, strstr(file, "facebookresearch") != NULL, "%s: %s", file,
                 notes);
    trace_close(r);
}

Test(import_pytorch, public_snapshots_have_their_known_contents)
{
    json_t *truth = json_file_load(SHARED_DIR "/traces/pytorch-snapshot/truth.json");
    if (truth == NULL)
        cr_skip_test("needs recordings of others: no " SHARED_DIR "/traces/pytorch-snapshot/truth.json");
    cr_expect_gt(json_array_size(truth), 50);
    for (size_t i = 0; i < json_array_size(truth); i++)
        expect_truth(json_array_get(truth, i));
    json_decref(truth);
}

/* Every call of empty_cache waits for all streams once, and so does the allocator's last resort: the rest are the
 * calls. Calls that found nothing to free leave no record (snap-empty). */
static void expect_stats(struct trace_reader *r, const json_t *stats, const char *name)
{
    const struct trace_info *t = trace_info(r);
    const uint64_t calls = number(stats, "num_sync_all_streams") - number(stats, "num_alloc_retries");
    cr_expect_eq(t->by_kind[EVENT_ALLOC], number(stats, "allocation.all.allocated"), "%s", name);
    cr_expect_eq(t->by_kind[EVENT_OOM], number(stats, "num_ooms"), "%s", name);
    cr_expect_eq(t->recorded_peak_reserved_bytes, number(stats, "reserved_bytes.all.peak"), "%s", name);
    cr_expect_eq(t->recorded_end_reserved_bytes, number(stats, "reserved_bytes.all.current"), "%s", name);
    if (strstr(name, "snap-empty") == NULL)
        cr_expect_eq(t->by_kind[EVENT_FLUSH], calls, "%s", name);
    else
        cr_expect_leq(t->by_kind[EVENT_FLUSH], calls, "%s", name);
    cr_expect_not(t->starts_mid_run, "%s", name);
}

static void expect_golden_file(const char *dir, const char *file, const char *suffix)
{
    char path[1024], name[512];
    snprintf(name, sizeof name, "%.*s.json", (int)(strlen(file) - strlen(suffix)), file);
    snprintf(path, sizeof path, "%s/%s", dir, name);
    json_t *facts = json_file_load(path);
    cr_assert_not_null(facts, "%s", path);
    const json_t *stats = json_object_get(facts, "memory_stats");
    const size_t n_devices = json_is_array(stats) ? json_array_size(stats) : 1;
    snprintf(path, sizeof path, "%s/%s", dir, file);
    for (size_t gpu = 0; gpu < n_devices; gpu++) {
        const struct import_config cfg = {.gpu = n_devices == 1 ? -1 : (int64_t)gpu};
        struct trace_reader *r = NULL;
        struct err_detail err = {.text = ""};
        cr_assert_eq(trace_open_any(path, NULL, &cfg, &r, &err), ERR_OK, "%s", err.text);
        expect_stats(r, json_is_array(stats) ? json_array_get(stats, gpu) : stats, name);
        trace_close(r);
    }
    json_decref(facts);
}

static size_t expect_golden_folder(const char *folder, const char *suffix)
{
    char dir[512];
    snprintf(dir, sizeof dir, "%s/%s", GOLDEN_DIR, folder);
    DIR *d = opendir(dir);
    size_t n = 0;
    for (const struct dirent *f; d != NULL && (f = readdir(d)) != NULL;) {
        const size_t length = strlen(f->d_name), k = strlen(suffix);
        if (length <= k || strcmp(f->d_name + length - k, suffix) != 0)
            continue;
        expect_golden_file(dir, f->d_name, suffix);
        n++;
    }
    if (d != NULL)
        closedir(d);
    return n;
}

Test(import_pytorch, genuine_snapshots_agree_with_their_statistics)
{
    size_t n = expect_golden_folder("snapshots", ".pickle");
    n += expect_golden_folder("training", ".pickle");
    n += expect_golden_folder("counterfactual/varlen", ".pickle");
    n += expect_golden_folder("counterfactual/prefetch", ".pickle");
    n += expect_golden_folder("counterfactual/unet", ".pickle");
    cr_expect_eq(n, 36);
}

Test(import_pytorch, page_locked_host_memory_is_a_trace_of_its_own)
{
    static const char path[] = TEST_DATA "/profiles/torch-2.14.1-pinned.pickle";
    struct trace_reader *r;
    struct err_detail err = {.text = ""};
    cr_assert_eq(trace_open_any(path, NULL, NULL, &r, &err), ERR_OK, "%s", err.text);
    cr_expect_eq(trace_info(r)->by_kind[EVENT_ALLOC], 1);
    cr_expect_not_null(strstr(trace_meta(r, "notes"), "has 8 records of its own"));
    trace_close(r);
    cr_assert_eq(trace_open_any(path, "pytorch-snapshot:host", NULL, &r, &err), ERR_OK, "%s", err.text);
    cr_expect_eq(trace_info(r)->by_kind[EVENT_ALLOC], 3);
    cr_expect_eq(trace_info(r)->recorded_peak_reserved_bytes, (512 << 10) + (12 << 20));
    trace_close(r);
    cr_expect_eq(trace_open_any(TEST_DATA "/layouts/2.12.1.pickle", "pytorch-snapshot:host", NULL, &r, &err),
                 ERR_UNSUPPORTED);
    cr_expect_not_null(strstr(err.text, "record_pinned_host_memory=True"), "%s", err.text);
}
