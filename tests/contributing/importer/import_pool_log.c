/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * pool-log: the CSV log that RMM's LoggingResourceAdaptor writes.
 *
 *     Thread,Time,Action,Pointer,Size,Stream
 *     22858,07:54:20.578298,allocate,0x7f0000000000,1000,0
 *     22858,07:54:20.578441,free,0x7f0000000000,1000,0
 *
 * The example of CONTRIBUTING.md, "Add an importer". Requests of 0 bytes take no memory and are left out.
 */
#include "import/import.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static const char pool_log_head[] = "Thread,Time,Action,Pointer,Size,Stream\n";

enum { POOL_LOG_LINE_MAX = 256 };

static bool pool_log_sniff(const unsigned char *head, size_t n)
{
    return n >= sizeof pool_log_head - 1 && memcmp(head, pool_log_head, sizeof pool_log_head - 1) == 0;
}

/* The next line without its end, in `line`. *n is 0 at the end of the input. */
static enum err pool_log_line(struct input *in, char line[POOL_LOG_LINE_MAX], size_t *n, struct err_detail *err)
{
    const unsigned char *bytes;
    size_t have;
    const enum err e = input_peek(in, POOL_LOG_LINE_MAX, &bytes, &have, err);
    if (e != ERR_OK)
        return e;
    *n = have < POOL_LOG_LINE_MAX ? have : POOL_LOG_LINE_MAX;
    const unsigned char *end = memchr(bytes, '\n', *n);
    if (end == NULL && *n == POOL_LOG_LINE_MAX)
        return err_set(err, ERR_FORMAT, input_offset(in), "a line is longer than %d bytes", POOL_LOG_LINE_MAX);
    if (end != NULL)
        *n = (size_t)(end - bytes) + 1;
    const size_t text = *n - (end != NULL);
    memcpy(line, bytes, text);
    line[text] = '\0';
    input_skip(in, *n);
    return ERR_OK;
}

static enum err pool_log_record(const char *line, struct trace_writer *w, uint64_t number, struct err_detail *err)
{
    unsigned hour, minute, second, micro;
    char action[32], pointer[32];
    struct trace_record r = {.record = number};
    if (sscanf(line, "%*[^,],%u:%u:%u.%u,%31[^,],%31[^,],%" SCNu64 ",%" SCNx64, &hour, &minute, &second, &micro, action,
               pointer, &r.bytes, &r.stream) != 8)
        return err_set(err, ERR_FORMAT, number, "record %" PRIu64 ": six fields are needed", number);
    if (r.bytes == 0)
        return ERR_OK;
    r.time_ns = ((((hour * UINT64_C(60)) + minute) * 60 + second) * 1000000 + micro) * 1000;
    sscanf(pointer, "%" SCNx64, &r.ptr);
    r.addr = r.ptr;
    if (strcmp(action, "allocate") == 0)
        r.kind = EVENT_ALLOC;
    else if (strcmp(action, "free") == 0)
        r.kind = EVENT_FREE;
    else if (strcmp(action, "allocate failure") == 0)
        r.kind = EVENT_OOM;
    else
        return err_set(err, ERR_FORMAT, number, "record %" PRIu64 ": unknown action '%s'", number, action);
    return trace_put(w, &r, err);
}

static enum err pool_log_import(struct input *in, const struct import_config *cfg, struct trace_writer *w,
                                struct err_detail *err)
{
    (void)cfg;
    char line[POOL_LOG_LINE_MAX];
    size_t n;
    enum err e = trace_put_meta(w, "source", importer_pool_log.name, err);
    if (e == ERR_OK)
        e = trace_put_meta(w, "notes", "the log holds no settings of the pool", err);
    for (uint64_t number = 0; e == ERR_OK; number++) {
        e = pool_log_line(in, line, &n, err);
        if (e != ERR_OK || n == 0)
            break;
        if (number > 0)                     /* after the heading */
            e = pool_log_record(line, w, number, err);
    }
    return e;
}

/* Nothing in a log is left out, so there is no fact to tell. */
static enum err pool_log_describe(struct input *in, void (*line)(void *arg, const char *text), void *arg,
                                  struct err_detail *err)
{
    (void)in;
    (void)line;
    (void)arg;
    (void)err;
    return ERR_OK;
}

const struct importer importer_pool_log = {
    .name = "pool-log",
    .summary = "the CSV log of RMM's LoggingResourceAdaptor (an example)",
    .sniff = pool_log_sniff,
    .import = pool_log_import,
    .describe = pool_log_describe,
};
