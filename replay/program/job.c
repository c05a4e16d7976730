/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/* Every line becomes an argument, and the arguments are read as those of a command line:
 * there is one table of options. */
#include "replay/program/job.h"

#include "base/read_files.h"
#include "base/shown.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define BLANKS " \t\r"                /* are cut off at both ends of a key and a value */

enum { JOB_BYTES_MAX = 1 << 20 };

/* The text without the spaces at both ends; it is cut in place. */
static char *trim(char *text)
{
    text += strspn(text, BLANKS);
    size_t n = strlen(text);
    while (n > 0 && strchr(BLANKS, text[n - 1]) != NULL)
        text[--n] = '\0';
    return text;
}

/* "key = value" becomes "--key=value", and a trace its name alone; a switch takes yes or no. */
static enum err take_line(struct job *job, char *line, const struct flag_use *taken, const char *name, size_t number,
                          struct err_detail *err)
{
    char *equals = strchr(line, '=');
    if (equals == NULL)
        return err_at(err, ERR_USAGE, number, name, "line %zu: expected 'key = value'", number);
    *equals = '\0';
    const char *key = trim(line), *value = trim(equals + 1);
    const size_t room = strlen(key) + strlen(value) + 4;
    char *argument = malloc(room);
    if (argument == NULL)
        return err_no_memory(err);
    const enum flag_id id = flag_find(taken, key, strlen(key));
    const bool is_switch = id != N_FLAGS && flag_argument(id) == NULL;
    if (is_switch && strcmp(value, "yes") != 0) {
        free(argument);
        return strcmp(value, "no") == 0 ? ERR_OK
                                        : err_at(err, ERR_USAGE, number, name, "line %zu: %.30s is yes or no", number,
                                                 key);
    }
    if (strcmp(key, "trace") == 0)
        snprintf(argument, room, "%s%s", value[0] == '-' ? "./" : "", value);
    else
        snprintf(argument, room, "--%s%s%s", key, is_switch ? "" : "=", is_switch ? "" : value);
    assert(job->argv[job->argc] == NULL);        /* there is room for every line, and a NULL after the last */
    job->lines[job->argc] = number;
    job->argv[job->argc++] = argument;
    return ERR_OK;
}

static enum err take_lines(struct job *job, const struct flag_use *taken, const char *name, struct err_detail *err)
{
    enum err e = ERR_OK;
    size_t number = 0;
    for (char *line = job->bytes, *next; line != NULL && e == ERR_OK; line = next) {
        next = strchr(line, '\n');
        if (next != NULL)
            *next++ = '\0';
        number++;
        char *text = trim(line);
        if (text[0] != '\0' && strchr("#;[", text[0]) == NULL)
            e = take_line(job, text, taken, name, number, err);
    }
    return e;
}

/* Parses the arguments. The line of the one that is refused is found by halves: all shorter beginnings are accepted. */
static enum err parse_arguments(struct job *job, const struct flag_use *taken, const char *name,
                                struct err_detail *err)
{
    struct err_detail reason = { .text = "" }, ignored;
    struct options tried;
    const enum err e = options_parse(job->argc, job->argv, taken, &job->options, &reason);
    int accepted = 0, refused = job->argc;
    if (e == ERR_OK || e == ERR_HOST_NOMEM)
        return e == ERR_OK ? ERR_OK : err_no_memory(err);
    while (refused - accepted > 1) {
        const int half = accepted + (refused - accepted) / 2;
        if (options_parse(half, job->argv, taken, &tried, &ignored) == ERR_OK) {
            options_close(&tried);
            accepted = half;
        } else {
            refused = half;
        }
    }
    const size_t line = job->lines[refused - 1];
    return err_at(err, e, line, name, "line %zu: %s", line, reason.text);
}

size_t job_line(const struct job *job, const char *text)
{
    for (int i = 0; i < job->argc; i++) {
        const char *equals = strchr(job->argv[i], '=');
        if (text == job->argv[i] || (equals != NULL && text == equals + 1))
            return job->lines[i];
    }
    return 0;
}

enum err job_read_bytes(const char *bytes, size_t n, const char *name, const struct flag_use *taken,
                        struct job *out, struct err_detail *err)
{
    struct job job = { .bytes = malloc(n + 1) };
    size_t n_lines = 2;
    if (n > JOB_BYTES_MAX || memchr(bytes, '\0', n) != NULL) {
        free(job.bytes);
        return err_at(err, ERR_USAGE, 0, name, "is not a job file");
    }
    for (size_t i = 0; i < n; i++)
        n_lines += bytes[i] == '\n';
    job.argv = calloc(n_lines, sizeof *job.argv);
    job.lines = calloc(n_lines, sizeof *job.lines);
    enum err e = ERR_OK;
    if (job.bytes == NULL || job.argv == NULL || job.lines == NULL) {
        e = err_no_memory(err);
    } else {
        memcpy(job.bytes, bytes, n);
        job.bytes[n] = '\0';
        e = take_lines(&job, taken, name, err);
    }
    if (e == ERR_OK)
        e = parse_arguments(&job, taken, name, err);
    if (e != ERR_OK)
        job_close(&job);
    else
        *out = job;
    return e;
}

enum err job_read(const char *path, const struct flag_use *taken, struct job *out, struct err_detail *err)
{
    FILE *in = fopen(path, "rb");
    if (in == NULL)
        return err_at(err, err_of_open(errno), 0, path, "%s", strerror(errno));
    read_files_note(fileno(in));
    char *bytes = malloc(JOB_BYTES_MAX + 1);
    enum err e = bytes == NULL ? err_no_memory(err) : ERR_OK;
    if (e == ERR_OK) {
        const size_t n = fread(bytes, 1, JOB_BYTES_MAX + 1, in);
        e = ferror(in) ? err_at(err, ERR_INPUT, 0, path, "cannot be read")
                       : job_read_bytes(bytes, n, path, taken, out, err);
    }
    free(bytes);
    fclose(in);
    return e;
}

void job_close(struct job *job)
{
    options_close(&job->options);
    for (int i = 0; i < job->argc; i++)
        free(job->argv[i]);
    free(job->argv);
    free(job->lines);
    free(job->bytes);
    *job = (struct job){ .bytes = NULL };
}

/* Why a job file cannot hold the value, as take_line and a stream that cleans treat it; NULL if it can. */
static const char *why_not_kept(const char *value, bool is_trace)
{
    const size_t n = strlen(value);
    if (strchr(value, '\n') != NULL)
        return "it holds a line's end";
    if (!shown_is_clean(value))
        return "it holds control characters or other letters that are not printed";
    if (n > 0 && (strchr(BLANKS, value[0]) != NULL || strchr(BLANKS, value[n - 1]) != NULL))
        return "it begins or ends with a blank";
    return is_trace && value[0] == '-' ? "it begins with '-'; name a file as ./-NAME" : NULL;
}

static enum err check_values(const char *const *values, size_t n, bool are_traces, struct err_detail *err)
{
    for (size_t i = 0; i < n; i++) {
        const char *reason = why_not_kept(values[i], are_traces);
        if (reason != NULL)
            return err_set(err, ERR_USAGE, 0, "a job file cannot hold '%s': %s", values[i], reason);
    }
    return ERR_OK;
}

static bool is_written(const struct options *o, enum flag_id id)
{
    return o->is_given[id] && id != FLAG_SHOW_JOB;
}

static enum err check_options(const struct options *o, struct err_detail *err)
{
    const char *const *values;
    enum err e = check_values(o->inputs, o->n_inputs, true, err);
    for (unsigned i = 0; i < N_FLAGS && e == ERR_OK; i++)
        if (is_written(o, (enum flag_id)i)) {
            const size_t n = options_values(o, (enum flag_id)i, &values);
            e = check_values(values, n, false, err);
        }
    return e;
}

enum err job_write(FILE *out, const struct options *o, struct err_detail *err)
{
    const enum err e = check_options(o, err);
    if (e != ERR_OK)
        return e;
    fputs("[sweep]\n", out);
    for (size_t i = 0; i < o->n_inputs; i++)
        fprintf(out, "trace = %s\n", o->inputs[i]);
    for (unsigned i = 0; i < N_FLAGS; i++) {
        const enum flag_id id = (enum flag_id)i;
        const char *const *values;
        if (!is_written(o, id))
            continue;
        const size_t n = options_values(o, id, &values);
        for (size_t k = 0; k < n; k++)
            fprintf(out, "%s = %s\n", flag_name(id), values[k]);
        if (flag_argument(id) == NULL)
            fprintf(out, "%s = yes\n", flag_name(id));
    }
    return ERR_OK;
}
