/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * Fuzz target: whole commands on a file from a stranger. The first byte chooses the command line, the rest of the first
 * line is the text of its free option, and what follows is the file (forged_input.h).
 *
 * A command ends with a status of its table. It leaves the output that it names, whole, or none; and a page's data is
 * JSON.
 */
#include "replay/program/cli.h"
#include "tests/fuzz/forged_input.h"
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/input_file.h"
#include "tests/fuzz/mutators.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

enum { WORDS_MAX = 16, TEXT_MAX = 256, OUTPUT_MAX = 1 << 22 };

/* "@" is the file, "%" the free text, "^" the output. */
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
};

enum { N_LINES = sizeof lines / sizeof lines[0] };

/* One word with '@', '%' and '^' replaced; to be freed. */
static char *word_of(const char *word, const char *file, const char *text, const char *output)
{
    char *out = NULL;
    size_t n;
    FILE *f = open_memstream(&out, &n);
    for (const char *at = word; f != NULL && *at != '\0'; at++)
        if (*at == '@' || *at == '%' || *at == '^')
            fputs(*at == '@' ? file : *at == '%' ? text : output, f);
        else
            fputc(*at, f);
    if (f != NULL)
        fclose(f);
    return out;
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
    char *text = calloc(1, OUTPUT_MAX + 1);
    FILE *f = fopen(path, "rb");
    const size_t n = f == NULL || text == NULL ? 0 : fread(text, 1, OUTPUT_MAX, f);
    if (n > 0 && n < OUTPUT_MAX && strcmp(option, "--html") == 0)
        expect_page(text);
    if (n < OUTPUT_MAX && f != NULL && text != NULL && (strcmp(option, "--json") == 0 || strcmp(option, "--perfetto") == 0)) {
        json_t *json = json_loadb(text, n, JSON_DECODE_ANY, NULL);
        FUZZ_EXPECT(json != NULL);
        json_decref(json);
    }
    if (f != NULL)
        fclose(f);
    free(text);
}

static void run_line(const char *const *line, const char *file, const char *text)
{
    char output[80], *words[WORDS_MAX + 1] = { NULL };
    const char *option = "";
    int n = 0;
    snprintf(output, sizeof output, "%s-out", file);
    const struct subcommand *c = line[0] == NULL ? &cmd_replay : subcommand_find(line[0]);
    FUZZ_EXPECT(c != NULL);
    for (const char *const *w = line + 1; w < line + WORDS_MAX && *w != NULL; w++) {
        option = (*w)[0] == '^' ? w[-1] : option;
        words[n++] = word_of(*w, file, text, output);
    }
    const enum exit_status status = subcommand_run(c, n, words);
    FUZZ_EXPECT(status <= STATUS_OURS);
    expect_output(option, output);
    unlink(output);
    while (n > 0)
        free(words[--n]);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    char text[TEXT_MAX + 1] = "";
    const uint8_t *end = n > 0 ? memchr(data + 1, '\n', n - 1) : NULL;
    const size_t n_text = end == NULL ? 0 : (size_t)(end - data) - 1;
    if (end == NULL || n_text > TEXT_MAX || memchr(data + 1, '/', n_text) != NULL)
        return 0;                            /* a name with a slash could be a plugin's, or a file of this machine */
    memcpy(text, data + 1, n_text);
    size_t n_file;
    void *bytes = forged_file(end + 1, n - n_text - 2, &n_file);
    const char *file = input_file_write(bytes, n_file);
    free(bytes);
    if (file != NULL && strstr(text, ".so") == NULL)
        run_line(lines[data[0] % N_LINES], file, text);
    input_file_remove();
    return 0;
}

FUZZ_MUTATOR(mutate_command)
