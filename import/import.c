/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * Opens every input file: native traces as they are, other files through the importer that recognises them.
 *
 *     path -> input (gzip, zstd undone) -> sniff -> importer -> trace writer -> trace reader, or a file
 *                  native trace, by the descriptor -------------------------> trace reader
 */
#include "import/import.h"

#include "base/array.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { HEAD_BYTES = 4096, SLURP_BYTES = 1 << 16, NAMES_BYTES = 256 };

static const struct importer *const importers[] = {
    &importer_pytorch, &importer_calls, &importer_profiler, &importer_timeline, &importer_nsys, &importer_xplane,
    &importer_pprof, &importer_malloc, &importer_csv,
};

enum { N_IMPORTERS = sizeof importers / sizeof importers[0] };

const struct importer *importer_at(size_t i)
{
    return i < N_IMPORTERS ? importers[i] : NULL;
}

/* Lists the names of all importers, for a message. */
static const char *importer_names(char text[NAMES_BYTES])
{
    size_t used = 0;
    for (size_t i = 0; i < N_IMPORTERS && used < NAMES_BYTES; i++)
        used += (size_t)snprintf(text + used, NAMES_BYTES - used, "%s%s", i > 0 ? ", " : "", importers[i]->name);
    return text;
}

/* `name`: as after --from, with what follows a colon left to the importer. */
static enum err importer_named(const char *name, const struct importer **out, struct err_detail *err)
{
    char known[NAMES_BYTES];
    const size_t n = strcspn(name, ":");
    for (size_t i = 0; i < N_IMPORTERS; i++)
        if (strlen(importers[i]->name) == n && strncmp(importers[i]->name, name, n) == 0) {
            *out = importers[i];
            return ERR_OK;
        }
    return err_set(err, ERR_USAGE, 0, "no format is called \"%s\"; known: %s", name, importer_names(known));
}

static bool holds(const unsigned char *head, size_t n, const char *words)
{
    const size_t length = strlen(words);
    for (size_t i = 0; i + length <= n; i++)
        if (head[i] == (unsigned char)words[0] && memcmp(head + i, words, length) == 0)
            return true;
    return false;
}

/* A line for each object, as docker and structured loggers write. */
static bool is_json_lines(const unsigned char *head, size_t n)
{
    const unsigned char *end = memchr(head, '\n', n);
    return holds(head, n < 8 ? n : 8, "{\"log\":") ||
           (end != NULL && end > head && end[-1] == '}' && (end + 1 == head + n || end[1] == '{'));
}

/* "[rank0]: ..." is a line of a log, "[[1, 2], ..." is JSON. */
static bool is_json(const unsigned char *head, size_t n)
{
    return (head[0] == '{' && !is_json_lines(head, n)) ||
           (head[0] == '[' && n > 1 && strchr("[{\"\n", head[1]) != NULL);
}

/* Whether it is what a program printed before it died. */
static bool is_log(const unsigned char *head, size_t n)
{
    static const char *const words[] = { "Traceback (most recent call last)", "Error: ", "out of memory", "ERROR",
                                         "Out of memory", "OOM", "Killed", "exhausted", "exits with return code" };
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
        if (holds(head, n, words[i]))
            return !is_json(head, n) && memchr(head, '\0', n) == NULL;
    return false;
}

/* What a file may be that no importer takes, by its first bytes; "" for no guess. */
static const char *guess(const unsigned char *head, size_t n)
{
    if (is_log(head, n))
        return "it is a program's log, which `replay why` reads";
    static const struct { const char *magic, *says; } known[] = {
        { "\x89PNG", "it is a picture" },
        { "\xff\xd8\xff", "it is a picture" },
        { "GIF8", "it is a picture" },
        { "%PDF", "it is a PDF" },
        { "{\n \"cells\"", "it is a notebook: run it, and record that (replay record --help, replay predict --help)" },
        { "PK\x03\x04", "it is a zip archive, such as torch.save writes; a snapshot is written by _dump_snapshot" },
        { "{", "it is JSON: results are read by `replay report`; a profile of torch.profiler has a list traceEvents" },
        { "SQLite format 3", "it is a database: results are read by `replay report`" },
        { "[", "it is JSON; a memory timeline of torch.profiler is a list of lists of four numbers (*.raw.json.gz)" },
        { "NVIDIA", "it may be a report of Nsight Systems: nsys export --type sqlite makes a file that is read" },
        { "memray", "it is a capture of memray: python -m vramreplay.memray makes a log that is read" },
        { "\x04\x22\x4d\x18", "it is LZ4: if it is a capture of memray, python -m vramreplay.memray makes a log that "
                              "is read" },
        { "PAR1", "it is Parquet: write the columns as CSV, and name them with --from csv:..." },
        { "ARROW1", "it is an Arrow file: write the columns as CSV, and name them with --from csv:..." },
        { "\x89HDF", "it is HDF5: write the columns as CSV, and name them with --from csv:..." },
        { "QDSTRM", "it is a stream of Nsight Systems: nsys export --type sqlite makes a file that is read" },
        { "\x0a", "if it is a protocol buffer, it is neither an XPlane profile nor one of pprof" },
        { "\x7f" "ELF", "it is a program" },
        { "\xff\xfe", "if it is a program's log in UTF-16, as PowerShell writes it, replay why reads it" },
    };
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++)
        if (n >= strlen(known[i].magic) && memcmp(head, known[i].magic, strlen(known[i].magic)) == 0)
            return known[i].says;
    const unsigned char *end = memchr(head, '\n', n);
    if (end != NULL && memchr(head, ',', (size_t)(end - head)) != NULL)
        return "if it is CSV, name its columns: --from csv:op=...,ptr=...,size=...,time=...; if it is a program's log, "
               "replay why reads it";
    if (memchr(head, '\0', n) == NULL)
        return "if it is a program's log, replay why reads it";
    return "";
}

static enum err importer_sniff(struct input *in, const unsigned char *head, size_t n, const struct importer **out,
                               struct err_detail *err)
{
    char known[NAMES_BYTES];
    if (n == 0)
        return err_at(err, ERR_FORMAT, 0, input_name(in), "is empty");
    for (size_t i = 0; i < N_IMPORTERS; i++)
        if (importers[i]->sniff(head, n)) {
            *out = importers[i];
            return ERR_OK;
        }
    const char *maybe = guess(head, n);
    if (strncmp(maybe, "it is ", strlen("it is ")) == 0)
        return err_at(err, ERR_FORMAT, 0, input_name(in), "not a recording: %s", maybe);
    return err_at(err, ERR_FORMAT, 0, input_name(in), "byte 0: not a recording of any format that is read (%s)%s%s",
                  importer_names(known), maybe[0] != '\0' ? "; " : "", maybe);
}

/* Reads the rest of the input into memory. */
static enum err input_slurp(struct input *in, bool is_raw, void **out, size_t *n, struct err_detail *err)
{
    unsigned char *all = NULL;
    size_t used = 0, room = 0;
    for (;;) {
        const unsigned char *bytes;
        size_t got;
        const enum err e = is_raw ? input_peek_raw(in, SLURP_BYTES, &bytes, &got, err)
                                  : input_peek(in, SLURP_BYTES, &bytes, &got, err);
        if (e != ERR_OK) {
            free(all);
            return e;
        }
        if (got == 0)
            break;
        unsigned char *bigger = array_reserve(all, used, got, &room, 1);
        if (bigger == NULL) {
            free(all);
            return err_no_memory(err);
        }
        all = bigger;
        memcpy(all + used, bytes, got);
        used += got;
        input_skip(in, got);
    }
    *out = all;
    *n = used;
    return ERR_OK;
}

static enum err open_slurped(struct input *in, bool is_raw, uint64_t memory_limit, struct trace_reader **out,
                             struct err_detail *err)
{
    void *bytes = NULL;
    size_t n = 0;
    const enum err e = input_slurp(in, is_raw, &bytes, &n, err);
    return e != ERR_OK ? e : trace_open_owned(bytes, n, input_name(in), memory_limit, out, err);
}

/* A file is read as it is needed, a pipe into memory. By the descriptor: a second open of the name could find another
 * file, and what was peeked of a pipe is gone from it. */
static enum err open_native(struct input *in, uint64_t memory_limit, struct trace_reader **out, struct err_detail *err)
{
    const int fd = input_regular_file(in);
    return fd >= 0 ? trace_open_file(fd, input_name(in), memory_limit, out, err)
                   : open_slurped(in, true, memory_limit, out, err);
}

static enum err run_importer(const struct importer *from, struct input *in, const struct import_config *cfg,
                             struct trace_writer *w, struct err_detail *err)
{
    const enum err e = cfg->without_path ? ERR_OK : trace_put_source_path(w, input_name(in), err);
    return e != ERR_OK ? e : from->import(in, cfg, w, err);
}

static enum err open_imported(const struct importer *from, struct input *in, const struct import_config *cfg,
                              struct trace_reader **out, struct err_detail *err)
{
    struct trace_writer *w = NULL;
    enum err e = trace_create(NULL, &w, err);
    if (e != ERR_OK)
        return e;
    e = run_importer(from, in, cfg, w, err);
    if (e != ERR_OK) {
        trace_abandon(w);
        return e;
    }
    const uint64_t taken = input_offset(in), size = input_raw_size(in);      /* a database, say, is not taken */
    return trace_finish_import(w, input_name(in), taken > size ? taken : size, cfg->memory_limit, out, err);
}

static const struct import_config default_config = {.gpu = -1, .segment_frees = SEGMENT_FREES_AUTO};

static enum err open_input(const char *path, const struct import_config *cfg, struct input **out,
                           struct err_detail *err)
{
    const enum err e = cfg->again ? input_open_again(path, out, err) : input_open(path, out, err);
    if (e == ERR_OK)
        input_allow(*out, cfg->memory_limit);
    return e;
}

/* The wishes as given, or the defaults, with what stands after the colon of --from. */
static struct import_config config_of(const struct import_config *cfg, const char *from)
{
    struct import_config wanted = cfg == NULL ? default_config : *cfg;
    const char *colon = from == NULL ? NULL : strchr(from, ':');
    wanted.columns = colon == NULL ? NULL : colon + 1;
    return wanted;
}

/* Recognises the format: a native trace (*is_native), else *importer. */
static enum err input_recognise(struct input *in, const char *from, bool *is_native, const struct importer **importer,
                                struct err_detail *err)
{
    const unsigned char *head;
    size_t n;
    *is_native = false;
    if (from != NULL)
        return importer_named(from, importer, err);
    const enum err e = input_peek(in, HEAD_BYTES, &head, &n, err);
    if (e != ERR_OK)
        return e;
    *is_native = trace_is_native(head, n);
    return *is_native ? ERR_OK : importer_sniff(in, head, n, importer, err);
}

/* True if the file itself is a native trace, not one that was compressed again. */
static enum err input_is_native(struct input *in, bool *is_native, struct err_detail *err)
{
    const unsigned char *head;
    size_t n;
    const enum err e = input_peek_raw(in, HEAD_BYTES, &head, &n, err);
    *is_native = e == ERR_OK && trace_is_native(head, n);
    return e;
}

enum err trace_open_any(const char *path, const char *from, const struct import_config *cfg, struct trace_reader **out,
                        struct err_detail *err)
{
    const struct import_config wanted = config_of(cfg, from);
    struct input *in = NULL;
    const struct importer *importer = NULL;
    bool is_native = false;
    enum err e = open_input(path, &wanted, &in, err);
    if (e == ERR_OK && from == NULL)
        e = input_is_native(in, &is_native, err);
    if (e == ERR_OK && is_native) {
        input_keep_raw(in);
        e = open_native(in, wanted.memory_limit, out, err);
    } else if (e == ERR_OK && (e = input_recognise(in, from, &is_native, &importer, err)) == ERR_OK) {
        e = is_native ? open_slurped(in, false, wanted.memory_limit, out, err)
                      : open_imported(importer, in, &wanted, out, err);
    }
    if (e == ERR_OK)
        input_is_of_use(in);
    input_close(in);
    return e;
}

enum err trace_recognise(const char *path, const char *from, const struct import_config *cfg,
                         const struct importer **importer, struct err_detail *err)
{
    const struct import_config wanted = config_of(cfg, from);
    struct input *in = NULL;
    bool is_native = false;
    *importer = NULL;
    enum err e = open_input(path, &wanted, &in, err);
    if (e == ERR_OK)
        e = input_recognise(in, from, &is_native, importer, err);
    if (e == ERR_OK)
        input_is_of_use(in);
    input_close(in);
    return e;
}

static enum err import_to_file(const struct importer *from, struct input *in, const struct import_config *cfg,
                               const char *out_path, struct err_detail *err)
{
    struct trace_writer *w = NULL;
    enum err e = trace_create(out_path, &w, err);
    if (e != ERR_OK)
        return e;
    e = run_importer(from, in, cfg, w, err);
    if (e != ERR_OK) {
        trace_abandon(w);
        return e;
    }
    input_is_of_use(in);
    return trace_finish(w, err);
}

/* Opens a file that is not a native trace. */
static enum err open_foreign(const char *path, const char *from, const struct import_config *cfg, struct input **in,
                             const struct importer **importer, struct err_detail *err)
{
    bool is_native = false;
    enum err e = open_input(path, cfg, in, err);
    if (e == ERR_OK && from == NULL)
        e = input_is_native(*in, &is_native, err);
    if (e == ERR_OK && !is_native)
        e = input_recognise(*in, from, &is_native, importer, err);
    if (e == ERR_OK && is_native)
        return err_at(err, ERR_USAGE, 0, input_name(*in), "is a native trace already");
    return e;
}

enum err trace_open_final_state(const char *path, const char *from, const struct import_config *cfg,
                                struct trace_reader **out, struct err_detail *err)
{
    struct import_config wanted = config_of(cfg, from);
    struct input *in = NULL;
    const struct importer *importer = NULL;
    wanted.final_state = wanted.again = true;
    enum err e = open_foreign(path, from, &wanted, &in, &importer, err);
    if (e == ERR_OK && !importer->has_final_state)
        e = err_at(err, ERR_UNSUPPORTED, 0, input_name(in), "the format %s has no final state", importer->name);
    if (e == ERR_OK)
        e = open_imported(importer, in, &wanted, out, err);
    input_close(in);
    return e;
}

enum err trace_import(const char *path, const char *from, const struct import_config *cfg, const char *out_path,
                      struct err_detail *err)
{
    const struct import_config wanted = config_of(cfg, from);
    struct input *in = NULL;
    const struct importer *importer = NULL;
    enum err e = open_foreign(path, from, &wanted, &in, &importer, err);
    if (e == ERR_OK)
        e = import_to_file(importer, in, &wanted, out_path, err);
    input_close(in);
    return e;
}

enum err importer_describe(const struct importer *importer, struct input *in,
                           void (*line)(void *arg, const char *text), void *arg, struct err_detail *err)
{
    if (importer->describe != NULL)
        return importer->describe(in, line, arg, err);
    line(arg, importer->summary);
    return ERR_OK;
}

enum err trace_describe(const char *path, const char *from, const struct import_config *cfg,
                        void (*line)(void *arg, const char *text), void *arg, struct err_detail *err)
{
    struct import_config wanted = config_of(cfg, from);
    struct input *in = NULL;
    const struct importer *importer = NULL;
    wanted.again = true;
    enum err e = open_foreign(path, from, &wanted, &in, &importer, err);
    if (e == ERR_OK)
        e = importer_describe(importer, in, line, arg, err);
    input_close(in);
    return e;
}
