/* Journals into traces. */
#include "replay/recording.h"

#include "report/text.h"
#include "traces/import.h"
#include "traces/import_calls.h"

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct recording {
    const char *folder, *out;
    struct dirent **files;
    int    n_files;
    struct calls_summary *summaries;  /* by file; no devices where it could not be read */
    size_t n_traces;                  /* processes and devices with calls, in all */
};

static int is_journal(const struct dirent *f)
{
    const size_t n = strlen(f->d_name), k = strlen(".calls");
    return n > k && strcmp(f->d_name + n - k, ".calls") == 0;
}

static bool has_calls(const struct calls_summary *s, unsigned device)
{
    return s->devices[device].requests + s->devices[device].ooms > 0;
}

static void journal_path(const struct recording *r, int i, char path[PATH_MAX])
{
    snprintf(path, PATH_MAX, "%s/%s", r->folder, r->files[i]->d_name);
}

/* "trace.zst" becomes "trace.1234.gpu0.zst"; a process that replaced itself has several parts: "1234-1". */
static void trace_name(const struct recording *r, int i, unsigned device, char name[PATH_MAX])
{
    unsigned pid = 0, part = 0;
    const char *slash = strrchr(r->out, '/'), *file = slash == NULL ? r->out : slash + 1, *dot = strrchr(file, '.');
    const size_t n = dot == NULL || dot == file ? strlen(r->out) : (size_t)(dot - r->out);
    char more[24] = "";
    if (r->n_traces == 1) {
        snprintf(name, PATH_MAX, "%s", r->out);
        return;
    }
    if (sscanf(r->files[i]->d_name, "%u.%u.", &pid, &part) == 2 && part > 0)
        snprintf(more, sizeof more, "-%u", part);
    snprintf(name, PATH_MAX, "%.*s.%u%s.gpu%u%s", (int)n, r->out, pid, more, device, r->out + n);
}

static enum err import_device(const struct recording *r, int i, unsigned device, struct err_detail *why)
{
    const struct import_config cfg = { .gpu = device };
    const struct calls_summary *s = &r->summaries[i];
    char path[PATH_MAX], name[PATH_MAX], requests[TEXT_NUMBER], refused[TEXT_NUMBER];
    journal_path(r, i, path);
    trace_name(r, i, device, name);
    const enum err e = trace_import(path, importer_calls.name, &cfg, name, why);
    if (e == ERR_OK)
        fprintf(stderr, "replay record: %s: process %u (%.60s), device %u: %s requests, %s refused\n", name, s->pid,
                s->command, device, text_count(s->devices[device].requests, requests),
                text_count(s->devices[device].ooms, refused));
    return e;
}

/* The journal goes when all of it is in traces, and nothing more can come. */
static enum err import_journal(const struct recording *r, int i, struct err_detail *why)
{
    const struct calls_summary *s = &r->summaries[i];
    const bool is_running = kill((pid_t)s->pid, 0) == 0 || errno == EPERM;
    char path[PATH_MAX];
    enum err e = ERR_OK;
    journal_path(r, i, path);
    for (unsigned d = 0; e == ERR_OK && d < CALL_DEVICES_MAX; d++)
        if (has_calls(s, d))
            e = import_device(r, i, d, why);
    if (e == ERR_OK && s->lost > 0)
        fprintf(stderr, "replay record: %" PRIu64 " calls of process %u are missing: there was no room on the disk\n",
                s->lost, s->pid);
    if (e == ERR_OK && is_running)
        fprintf(stderr, "replay record: process %u still runs: what it does from now on is in %s\n", s->pid, path);
    else if (e == ERR_OK)
        unlink(path);
    return e;
}

static enum err summarise_all(struct recording *r, struct err_detail *why)
{
    enum err e = ERR_OK;
    r->summaries = calloc((size_t)r->n_files + 1, sizeof *r->summaries);
    if (r->summaries == NULL)
        return err_set(why, ERR_HOST_NOMEM, 0, "the host is out of memory");
    for (int i = 0; e == ERR_OK && i < r->n_files; i++) {
        char path[PATH_MAX];
        journal_path(r, i, path);
        e = calls_summarise(path, &r->summaries[i], why);
        for (unsigned d = 0; e == ERR_OK && d < CALL_DEVICES_MAX; d++)
            r->n_traces += has_calls(&r->summaries[i], d);
    }
    return e;
}

enum err recording_import(const char *folder, const char *out, struct err_detail *why)
{
    struct recording r = { .folder = folder, .out = out };
    r.n_files = scandir(folder, &r.files, is_journal, alphasort);
    if (r.n_files < 0)
        return err_set(why, ERR_IO, 0, "%.150s: %s", folder, strerror(errno));
    enum err e = summarise_all(&r, why);
    for (int i = 0; e == ERR_OK && i < r.n_files; i++)
        e = import_journal(&r, i, why);
    if (e == ERR_OK && r.n_traces == 0)
        fprintf(stderr, "replay record: no calls for CUDA memory were recorded, so there is no trace\n");
    for (int i = 0; i < r.n_files; i++)
        free(r.files[i]);
    free(r.files);
    free(r.summaries);
    return e;
}
