/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * Fuzz target: whole commands on a file from a stranger, or two. The first byte chooses the command line, the rest of
 * the first line is the text of its free option, and what follows is the file (forged_input.h), up to a line "####" if
 * there is one. The second file comes after that.
 *
 * A command ends with a status of its table. It leaves the output that it names, whole, or none: a page's data is JSON,
 * and every trace and every export can be read again.
 */
#define _GNU_SOURCE                                  /* memmem */
#include "import/import.h"
#include "replay/program/cli.h"
#include "report/rows/results_db.h"
#include "tests/fuzz/forged_input.h"
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/input_file.h"
#include "tests/fuzz/mutators.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { WORDS_MAX = 16, TEXT_MAX = 1024, OUTPUT_MAX = 1 << 22 };

static const char between_files[] = "\n####\n";

/* "@" is the file, "#" the second or the same again, "%" the free text, "$" a file of it in which each ";" ends a
 * line, "^" the output, "&" a letter "@". */
static const char *const lines[][WORDS_MAX] = {
    { "info", "@", "--json", "^" },
    { "verify", "@" },
    { "stats", "@", "--device", "%" },
    { "summary", "@", "--abbreviated" },
    { "who", "@", "--at", "%" },
    { "who", "@", "--by", "%", "--folded", "^" },
    { "who", "@", "--grew", "%", "--speedscope", "^" },
    { "why", "@" },
    { "why", "@", "--device", "%", "--json", "^" },
    { "graphs", "@", "--all" },
    { "graphs", "@", "--captures", "%", "--json", "^" },
    { "technique", "@", "--optimizer", "%", "-o", "^" },
    { "technique", "@", "--states", "%", "--json", "^" },
    { "snapshot", "@", "-o", "^" },
    { "import", "@", "-o", "^" },
    { "import", "@", "--from", "%", "-o", "^" },
    { "report", "@", "--html", "^" },
    { "report", "@", "--md", "^", "--fail-if", "%" },
    { "diff", "@", "@" },
    { "diff", "@", "@", "--policy", "best-fit", "--policy", "none", "--json", "^" },
    { "extrapolate", "@:batch=1", "@:batch=2", "@:batch=4", "--to", "%" },
    { "conf", "%", "--json", "^" },
    { NULL, "@", "--policy", "best-fit", "--threads", "1", "--perfetto", "^" },
    { NULL, "@", "--policy", "none", "--threads", "1", "--samples", "^", "--sample-every", "%" },
    { NULL, "@", "--policy", "expandable_segments:True", "--threads", "1", "--insert", "%" },
    { NULL, "@", "--policy", "best-fit", "--threads", "1", "--explain", "%", "--start", "faithful", "--audit" },
    { "fit", "@", "--policy", "best-fit", "--threads", "1", "--json", "^" },
    { "export", "@", "--to", "csv", "-o", "^" },
    { "export", "@", "--to", "%", "-o", "^" },
    { "trace", "cut", "@", "--events", "%", "-o", "^" },
    { "trace", "cut", "@", "--time", "%", "-o", "^" },
    { "trace", "cut", "@", "--step", "-o", "^" },
    { "trace", "merge", "@", "@&%", "-o", "^" },
    { "trace", "resize", "@", "--scale", "%", "-o", "^" },
    { "trace", "repeat", "@", "--times", "3", "-o", "^" },
    { "trace", "shift", "@", "--by", "%", "-o", "^" },
    { "trace", "anonymise", "@", "-o", "^" },
    { NULL, "@", "--policy", "%", "--threads", "1", "--on-oom", "skip", "--audit" },
    { NULL, "@", "--policy", "%", "--device", "sim:64MiB", "--threads", "1", "--explain", "end", "--json", "^" },
    { NULL, "--share", "@,@&+%", "--device", "sim:24GiB", "--json", "^" },
    { "tune", "@", "--threads", "1", "--json", "^" },
    { "sweep", "@", "--policy", "%", "--threads", "1", "-o", "^" },
    { "technique", "@", "--accumulate", "%" },
    { NULL, "--share", "@,others=$", "--device", "sim:24GiB" },
    { NULL, "@", "--policy", "plan:file=$", "--threads", "1", "--audit" },
    { "technique", "@", "--checkpoint", "%", "--in-place" },
    { "diff", "@", "#" },
    { "diff", "@", "#", "--json", "^" },
    { "diff", "@", "#", "--html", "^" },
    { "merge", "@", "#", "-o", "^" },
    { "report", "@", "#", "--csv", "^", "--fail-if", "%" },
    { "verify", "@", "--policy", "%", "--json", "^" },
    { NULL, "@", "--policy", "best-fit", "--device", "sim:%", "--device", "sim:9MiB", "--threads", "1", "--json", "^" },
    { "sweep", "@", "#", "--policy", "best-fit", "--copies", "%", "--threads", "1", "-o", "^", "--csv", "-" },
    { "generate", "like:@", "-o", "^" },
    { "tune", "@", "--host", "--threads", "1", "--json", "^" },
    { NULL, "@", "--policy", "%", "--device", "sim:8MiB", "--threads", "1", "--start", "faithful", "--json", "^" },
};

enum { N_LINES = sizeof lines / sizeof lines[0] };

/* What a line is made of. */
struct parts {
    const char *file, *second, *text;
    char output[80], text_file[80];
};

static const char *part_of(const struct parts *p, char letter)
{
    switch (letter) {
    case '@': return p->file;
    case '#': return p->second;
    case '%': return p->text;
    case '$': return p->text_file;
    case '^': return p->output;
    case '&': return "@";
    default: return NULL;
    }
}

/* One word with its parts in place; to be freed. */
static char *word_of(const char *word, const struct parts *p)
{
    char *out = NULL;
    size_t n;
    FILE *f = open_memstream(&out, &n);
    for (const char *at = word; f != NULL && *at != '\0'; at++)
        if (part_of(p, *at) != NULL)
            fputs(part_of(p, *at), f);
        else
            fputc(*at, f);
    if (f != NULL)
        fclose(f);
    return out;
}

static void write_lines(const char *path, const char *text)
{
    FILE *f = fopen(path, "w");
    for (; f != NULL && *text != '\0'; text++)
        fputc(*text == ';' ? '\n' : *text, f);
    if (f != NULL)
        fclose(f);
}

/* The data of a page, as its script reads it. */
static void expect_page(char *text)
{
    static const char opening[] = "<script type=\"application/json\" id=\"data\">";
    char *from = strstr(text, opening), *to = from == NULL ? NULL : strstr(from, "</script>");
    FUZZ_EXPECT(to != NULL);
    from += sizeof opening - 1;
    json_t *data = json_loadb(from, (size_t)(to - from), 0, NULL);
    FUZZ_EXPECT(data != NULL);
    json_decref(data);
}

/* What a command has written is whole: JSON can be read. */
static void expect_output(const char *option, const char *path)
{
    const bool is_page = strcmp(option, "--html") == 0;
    const bool is_json = strcmp(option, "--json") == 0 || strcmp(option, "--perfetto") == 0;
    struct stat s;
    if ((!is_page && !is_json) || stat(path, &s) != 0 || s.st_size > OUTPUT_MAX)
        return;
    char *text = calloc(1, (size_t)s.st_size + 1);
    FILE *f = fopen(path, "rb");
    const size_t n = f == NULL || text == NULL ? 0 : fread(text, 1, (size_t)s.st_size, f);
    if (n > 0 && is_page)
        expect_page(text);
    if (n > 0 && is_json) {
        json_t *json = json_loadb(text, n, JSON_DECODE_ANY, NULL);
        FUZZ_EXPECT(json != NULL);
        json_decref(json);
    }
    if (f != NULL)
        fclose(f);
    free(text);
}

/* Whether a command's -o is a recording, and can be read to its end. */
static void expect_recording(const char *command, const char *path)
{
    static const char *const writers[] = { "export", "import", "technique", "trace" };
    const struct import_config cfg = { .gpu = IMPORT_GPU_MOST };
    struct trace_reader *r;
    const struct event *events;
    size_t n = 1;
    bool is_recording = false;
    for (size_t i = 0; i < sizeof writers / sizeof writers[0]; i++)
        is_recording |= strcmp(command, writers[i]) == 0;
    if (!is_recording)
        return;
    FUZZ_EXPECT(trace_open_any(path, NULL, &cfg, &r, NULL) == ERR_OK);
    while (n > 0)
        FUZZ_EXPECT(trace_next(r, &events, &n, NULL) == ERR_OK);
    trace_close(r);
}

static void run_line(const char *const *line, const char *file, const char *second, const char *text)
{
    struct parts parts = { .file = file, .second = second, .text = text };
    char *words[WORDS_MAX + 1] = { NULL };
    const char *option = "";
    int n = 0;
    snprintf(parts.output, sizeof parts.output, "%s-out", file);
    snprintf(parts.text_file, sizeof parts.text_file, "%s-text", file);
    write_lines(parts.text_file, text);
    const struct subcommand *c = line[0] == NULL ? &cmd_replay : subcommand_find(line[0]);
    FUZZ_EXPECT(c != NULL);
    for (const char *const *w = line + 1; w < line + WORDS_MAX && *w != NULL; w++) {
        option = (*w)[0] == '^' ? w[-1] : option;
        words[n++] = word_of(*w, &parts);
    }
    const enum exit_status status = subcommand_run(c, n, words);
    FUZZ_EXPECT(status <= STATUS_PART);          /* the last of base/exit_status.h */
    expect_output(option, parts.output);
    if (status == STATUS_DONE && strcmp(option, "-o") == 0)
        expect_recording(c->name, parts.output);
    database_remove(parts.output);
    unlink(parts.text_file);
    while (n > 0)
        free(words[--n]);
}

/* Writes the file that the bytes stand for. */
static bool write_forged(const char *path, const uint8_t *data, size_t n)
{
    size_t n_file;
    void *bytes = forged_file(data, n, &n_file);
    const bool is_written = file_write(path, bytes, n_file);
    free(bytes);
    return is_written;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    char text[TEXT_MAX + 1] = "", second[80];
    const uint8_t *end = n > 0 ? memchr(data + 1, '\n', n - 1) : NULL;
    const size_t n_text = end == NULL ? 0 : (size_t)(end - data) - 1;
    if (end == NULL || n_text > TEXT_MAX || memchr(data + 1, '/', n_text) != NULL)
        return 0;                            /* a slash could name a plugin or a file of this machine */
    memcpy(text, data + 1, n_text);
    if (strstr(text, ".so") != NULL || strstr(text, "cuda:") != NULL)
        return 0;                            /* a plugin beside us, or a real card */
    const uint8_t *from = end + 1, *to = data + n;
    const uint8_t *between = memmem(from, (size_t)(to - from), between_files, sizeof between_files - 1);
    const uint8_t *next = between == NULL ? to : between + sizeof between_files - 1;
    const char *file = input_file_write(from, 0);
    bool is_there = file != NULL && write_forged(file, from, (size_t)((between == NULL ? to : between) - from));
    snprintf(second, sizeof second, "%s-second", file == NULL ? "" : file);
    if (is_there && between != NULL)
        is_there = write_forged(second, next, (size_t)(to - next));
    if (is_there)
        run_line(lines[data[0] % N_LINES], file, between == NULL ? file : second, text);
    unlink(second);
    input_file_remove();
    return 0;
}

FUZZ_MUTATOR(mutate_command)
