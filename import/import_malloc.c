/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * Logs of the host's malloc, and heap dumps of its allocators.
 *
 *     = Start                                  glibc's mtrace(3): + requests, - ends, < and > a realloc
 *     @ ./a.out:(f+0x1f)[0x401156] + 0x1d2e6a0 0x64
 *     a 3 4072 | r 3 8144 | f 3                "malloc lab" traces (.rep): request, resize, end of a number
 *     heap_v2/524288                           jemalloc's heap dump; "heap profile: " gperftools': what is live
 *     @ 0x5f86da8 0x5f5a1dc
 *       t*: 13: 6688 [0: 0]
 *
 * A resize is an end and a request. A dump shows one moment: its lines of objects become requests that are never freed.
 * Sources: glibc, malloc/mtrace.c; CMU's malloc lab, traces/README; jemalloc, src/prof_data.c; gperftools,
 * src/heap-profile-table.cc.
 */
#include "base/intern.h"
#include "import/csv_lines.h"
#include "import/import.h"
#include "import/live_objects.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { FRAMES_MAX = 128, FRAME_BYTES = 32, NUMBER_HEADS = 4 };

struct malloc_log {
    struct input *in;
    struct trace_writer *w;
    char     line[CSV_LINE_MAX];             /* the line at hand, without its end */
    uint64_t number;                         /* of it, from 1 */
    struct pair_map live;                    /* names of what is live */
    uint64_t n_records, n_unknown, n_empty;
    struct live_objects objects;             /* of a dump */
    uint32_t stack;                          /* of the lines of a dump that follow */
};

static enum err fail_line(const struct malloc_log *m, const char *what, struct err_detail *err)
{
    return err_at(err, ERR_FORMAT, m->number, input_name(m->in), "line %" PRIu64 ": %s: '%s'", m->number, what,
                  m->line);
}

/* Takes the next line; a longer one is cut. */
static enum err next_line(struct malloc_log *m, bool *has_line, struct err_detail *err)
{
    const unsigned char *bytes;
    size_t n;
    const enum err e = input_peek(m->in, CSV_LINE_MAX - 1, &bytes, &n, err);
    if (e != ERR_OK)
        return e;
    n = n < CSV_LINE_MAX ? n : CSV_LINE_MAX - 1;
    const unsigned char *end = memchr(bytes, '\n', n);
    const size_t used = end == NULL ? n : (size_t)(end - bytes);
    memcpy(m->line, bytes, used);
    m->line[used] = '\0';
    input_skip(m->in, used + (end != NULL));
    *has_line = n > 0;
    m->number += n > 0;
    return ERR_OK;
}

/* ---- requests ---- */

static enum err put_end(struct malloc_log *m, uint64_t name, struct err_detail *err)
{
    const struct trace_record r = { .kind = EVENT_FREE, .ptr = name, .record = m->number - 1 };
    if (pair_map_find(&m->live, name, 0) == NULL) {
        m->n_unknown++;
        return ERR_OK;
    }
    pair_map_remove(&m->live, name, 0);
    return trace_put(m->w, &r, err);
}

static enum err put_request(struct malloc_log *m, uint64_t name, uint64_t bytes, struct err_detail *err)
{
    const struct trace_record r = { .kind = EVENT_ALLOC, .ptr = name, .bytes = bytes, .record = m->number - 1 };
    m->n_empty += bytes == 0;
    if (bytes == 0)
        return ERR_OK;
    if (pair_map_find(&m->live, name, 0) != NULL)
        return fail_line(m, "is live already", err);
    if (!pair_map_add(&m->live, name, 0, 0))
        return err_no_memory(err);
    return trace_put(m->w, &r, err);
}

/* ---- glibc's mtrace ---- */

/* The sign and what follows it: after the caller's place, which ends in "] ", if there is one. */
static const char *mtrace_sign(const char *line)
{
    const char *place = line[0] == '@' ? strstr(line, "] ") : NULL;
    return place != NULL ? place + 2 : line[0] == '@' ? line + 1 : line;
}

static enum err take_mtrace(struct malloc_log *m, struct err_detail *err)
{
    const char *sign = mtrace_sign(m->line);
    unsigned long long name = 0, bytes = 0;
    if (m->line[0] == '=' || m->line[0] == '\0' || sign[0] == '!')
        return ERR_OK;
    if (sign[0] == '\0')
        return fail_line(m, "is not a line of mtrace", err);
    const int n = sscanf(sign + 1, " %llx %llx", &name, &bytes);
    m->n_records++;
    if ((sign[0] == '+' || sign[0] == '>') && n == 2)
        return put_request(m, name, bytes, err);
    if ((sign[0] == '-' || sign[0] == '<') && n >= 1)
        return put_end(m, name, err);
    return fail_line(m, "is not a line of mtrace", err);
}

/* ---- malloc lab ---- */

static enum err take_lab(struct malloc_log *m, struct err_detail *err)
{
    char kind;
    unsigned long long name = 0, bytes = 0;
    const int n = sscanf(m->line, " %c %llu %llu", &kind, &name, &bytes);
    if (n <= 0)
        return ERR_OK;
    if (m->number <= NUMBER_HEADS && kind >= '0' && kind <= '9')
        return ERR_OK;                       /* sizes of the heap, counts, a weight */
    m->n_records++;
    if (kind == 'f' && n >= 2)
        return put_end(m, name, err);
    if (n != 3 || (kind != 'a' && kind != 'r'))
        return fail_line(m, "is not a request (a), resize (r) or end (f)", err);
    const enum err e = kind == 'r' ? put_end(m, name, err) : ERR_OK;
    return e == ERR_OK ? put_request(m, name, bytes, err) : e;
}

/* ---- heap dumps ---- */

/* The addresses after '@', innermost first. */
static enum err take_stack(struct malloc_log *m, const char *at, struct err_detail *err)
{
    char text[FRAMES_MAX][FRAME_BYTES];
    const char *frames[FRAMES_MAX];
    size_t n = 0;
    unsigned long long address;
    int used;
    for (; n < FRAMES_MAX && sscanf(at, " %llx%n", &address, &used) == 1; at += used) {
        snprintf(text[n], sizeof text[n], "0x%llx ??:0", address);
        frames[n] = text[n];
        n++;
    }
    m->stack = TRACE_NO_STACK;
    return n == 0 ? ERR_OK : trace_put_stack(m->w, frames, n, &m->stack, err);
}

/* jemalloc: "@ stack", then "  t*: objects: bytes [...]" for all threads. gperftools: both in one line. */
static enum err take_dump(struct malloc_log *m, struct err_detail *err)
{
    unsigned long long count = 0, bytes = 0;
    const char *at = strchr(m->line, '@');
    const char *total = strstr(m->line, "t*:");
    const bool is_one_line = sscanf(m->line, " %llu: %llu [", &count, &bytes) == 2;
    const enum err e = at != NULL ? take_stack(m, at + 1, err) : ERR_OK;
    if (e != ERR_OK || (!is_one_line && (total == NULL || sscanf(total + 3, " %llu: %llu", &count, &bytes) != 2)))
        return e;
    m->n_records++;
    return m->stack == TRACE_NO_STACK || count == 0 || bytes == 0
               ? ERR_OK : live_objects_put(&m->objects, m->in, m->w, count, bytes, m->number - 1, m->stack, err);
}

/* ---- the kinds of file ---- */

static bool begins(const void *text, size_t n, const char *with)
{
    return n >= strlen(with) && memcmp(text, with, strlen(with)) == 0;
}

/* A line of one number, and after at most three more such lines "a NUMBER NUMBER". */
static bool is_lab(const unsigned char *head, size_t n)
{
    for (int line = 0; line <= NUMBER_HEADS; line++) {
        const unsigned char *end = memchr(head, '\n', n);
        unsigned long long a, b;
        char text[64], more;
        if (end == NULL || (size_t)(end - head) >= sizeof text)
            return false;
        snprintf(text, sizeof text, "%.*s", (int)(end - head), (const char *)head);
        if (line > 0 && sscanf(text, "a %llu %llu %c", &a, &b, &more) == 2)
            return true;
        if (sscanf(text, " %llu %c", &a, &more) != 1)
            return false;
        n -= (size_t)(end - head) + 1;
        head = end + 1;
    }
    return false;
}

static bool is_mtrace(const unsigned char *head, size_t n)
{
    return begins(head, n, "= Start") || begins(head, n, "@ ");
}

static bool is_dump(const unsigned char *head, size_t n)
{
    return begins(head, n, "heap_v2/") || begins(head, n, "heap profile: ");
}

static bool malloc_sniff(const unsigned char *head, size_t n)
{
    return is_mtrace(head, n) || is_dump(head, n) || is_lab(head, n);
}

static enum err put_notes(const struct malloc_log *m, bool is_of_dump, struct err_detail *err)
{
    char notes[512];
    size_t n = (size_t)snprintf(notes, sizeof notes, "%s", is_of_dump
        ? "shows what is live at one moment, as the profiler sampled it; not recorded: order, times, frees"
        : "memory of the host; not recorded: times, threads");
    const struct { uint64_t count; const char *says; } lines[] = {
        { m->n_unknown, "ends of requests that the log does not begin, left out" },
        { m->n_empty, "requests of 0 bytes, left out" },
        { m->objects.n_together, LIVE_OBJECTS_TOGETHER },
    };
    for (size_t i = 0; i < sizeof lines / sizeof lines[0]; i++)
        if (lines[i].count > 0)
            n += (size_t)snprintf(notes + n, sizeof notes - n, "\n%s: %" PRIu64, lines[i].says, lines[i].count);
    return trace_put_meta(m->w, "notes", notes, err);
}

static enum err read_lines(struct malloc_log *m, bool is_of_dump, bool is_of_lab, const struct import_config *cfg,
                           struct err_detail *err)
{
    bool has_line = true;
    enum err e = ERR_OK;
    while (e == ERR_OK && has_line) {
        e = next_line(m, &has_line, err);
        if (e != ERR_OK || !has_line || (is_of_dump && begins(m->line, strlen(m->line), "MAPPED_LIBRARIES")))
            break;
        if (is_of_dump && m->number == 1)
            continue;
        e = is_of_dump ? take_dump(m, err) : is_of_lab ? take_lab(m, err) : take_mtrace(m, err);
        if (cfg->progress != NULL)
            cfg->progress(cfg->progress_arg, input_raw_offset(m->in), input_raw_size(m->in));
    }
    return e;
}

static enum err malloc_import(struct input *in, const struct import_config *cfg, struct trace_writer *w,
                              struct err_detail *err)
{
    enum { HEAD_BYTES = 4096 };
    const unsigned char *head;
    size_t n;
    enum err e = input_peek(in, HEAD_BYTES, &head, &n, err);
    if (e != ERR_OK)
        return e;
    const bool is_of_dump = is_dump(head, n), is_of_lab = is_lab(head, n);
    struct malloc_log *m = calloc(1, sizeof *m);
    if (m == NULL)
        return err_no_memory(err);
    *m = (struct malloc_log){ .in = in, .w = w, .live = { .seed = hash_seed() },
                              .objects.n_free = input_free_bytes(in) / LIVE_OBJECTS_FREE_BYTES };
    e = trace_put_meta(w, "source", importer_malloc.name, err);
    if (e == ERR_OK && is_of_dump)
        e = trace_put_meta(w, TRACE_META_BEGINS, TRACE_CUT, err);
    if (e == ERR_OK)
        e = read_lines(m, is_of_dump, is_of_lab, cfg, err);
    trace_writer_info(w)->records = m->n_records;
    if (e == ERR_OK && m->n_records == 0)
        e = err_at(err, ERR_UNSUPPORTED, 0, input_name(in), "holds no request");
    if (e == ERR_OK)
        e = put_notes(m, is_of_dump, err);
    pair_map_free(&m->live);
    free(m);
    return e;
}

const struct importer importer_malloc = {
    .name = "malloc",
    .summary = "the host's malloc: logs of glibc's mtrace and of malloc lab, heap dumps of jemalloc and gperftools",
    .sniff = malloc_sniff,
    .import = malloc_import,
};
