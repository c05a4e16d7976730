/* Journals of calls, and snapshots of PyTorch's history, into traces. */
#include "replay/program/journal_import.h"

#include "import/import.h"
#include "import/import_calls.h"
#include "replay/program/recorded_file.h"
#include "replay/program/run_child.h"
#include "report/text.h"

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* What the hook in a Python writes (cudasim/python/sitecustomize.py), and what is put into names for it. */
static const struct { const char *end, *what; } snapshots[] = {
    { ".pickle", "" }, { ".oom.pickle", ".oom" }, { ".usr1.pickle", ".usr1" },
};
enum { N_SNAPSHOTS = sizeof snapshots / sizeof snapshots[0] };

struct recording {
    const char *folder, *out;
    struct dirent **files;
    int    n_files;
    struct calls_summary *summaries;  /* by file */
    size_t n_traces, n_journals;      /* processes and devices with calls; processes with calls */
    bool   has_snapshots;             /* which then have the plain names */
    struct json_writer *json;         /* NULL: not asked for */
    bool  *is_running;                /* by file: the process, when its journal was imported */
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

static void snapshot_path(const struct recording *r, int i, size_t k, char path[PATH_MAX])
{
    snprintf(path, PATH_MAX, "%s/%u%s", r->folder, r->summaries[i].pid, snapshots[k].end);
}

/* ---- names ---- */

/* "trace.zst" becomes "trace<process><device><what>.zst", or ends in `end` where that is not NULL. Process and device
 * are named where there are several; a process that replaced itself has several parts: "1234-1". */
static void trace_name(const struct recording *r, int i, int device, const char *what, const char *end,
                       char name[PATH_MAX])
{
    unsigned pid = 0, part = 0;
    const char *slash = strrchr(r->out, '/'), *file = slash == NULL ? r->out : slash + 1, *dot = strrchr(file, '.');
    const size_t n = dot == NULL || dot == file ? strlen(r->out) : (size_t)(dot - r->out);
    char process[32] = "", gpu[16] = "";
    const int got = sscanf(r->files[i]->d_name, "%u.%u.", &pid, &part);
    if (r->n_journals > 1 || (r->n_traces > 1 && device >= 0))
        snprintf(process, sizeof process, got == 2 && part > 0 ? ".%u-%u" : ".%u", pid, part);
    if (r->n_traces > 1 && device >= 0)
        snprintf(gpu, sizeof gpu, ".gpu%d", device);
    snprintf(name, PATH_MAX, "%.*s%s%s%s%s", (int)n, r->out, process, gpu, what, end != NULL ? end : r->out + n);
}

/* The command without the folders in front of the program's name. */
static const char *command_shown(const char *command)
{
    const char *shown = command;
    for (size_t i = 0, n = strcspn(command, " "); i < n; i++)
        if (command[i] == '/')
            shown = command + i + 1;
    return shown;
}

/* ---- snapshots ---- */

/* PyTorch may have asked for nothing on a device that something else used. */
static enum err import_snapshot_device(const struct recording *r, int i, unsigned device, size_t k, const char *path,
                                       struct err_detail *why)
{
    const struct import_config cfg = { .gpu = device };
    char name[PATH_MAX];
    trace_name(r, i, (int)device, snapshots[k].what, NULL, name);
    const enum err e = trace_import(path, importer_pytorch.name, &cfg, name, why);
    if (e == ERR_OK) {
        fprintf(stderr, "replay record: %s: PyTorch's requests, process %u, device %u\n", name, r->summaries[i].pid,
                device);
        made_file_put(r->json, &(struct made_file){ .path = name, .holds = "requests", .process = r->summaries[i].pid,
                                                    .device = (int)device });
    }
    return e == ERR_USAGE || e == ERR_UNSUPPORTED ? ERR_OK : e;
}

/* The snapshot itself moves beside the trace; both folders are on one disk. */
static enum err import_snapshot(const struct recording *r, int i, size_t k, struct err_detail *why)
{
    char path[PATH_MAX], name[PATH_MAX];
    snapshot_path(r, i, k, path);
    if (access(path, R_OK) != 0)
        return ERR_OK;
    trace_name(r, i, -1, snapshots[k].what, ".pickle", name);
    if (rename(path, name) != 0)
        return err_set(why, ERR_IO, 0, "%.150s: cannot be written: %s", name, strerror(errno));
    fprintf(stderr, "replay record: %s: PyTorch's snapshot\n", name);
    made_file_put(r->json, &(struct made_file){ .path = name, .holds = "snapshot", .process = r->summaries[i].pid,
                                                .device = -1 });
    enum err e = ERR_OK;
    for (unsigned d = 0; e == ERR_OK && d < CALL_DEVICES_MAX; d++)
        if (has_calls(&r->summaries[i], d))
            e = import_snapshot_device(r, i, d, k, name, why);
    return e;
}

/* ---- journals ---- */

static enum err import_device(const struct recording *r, int i, unsigned device, struct err_detail *why)
{
    const struct import_config cfg = { .gpu = device };
    const struct calls_summary *s = &r->summaries[i];
    char path[PATH_MAX], name[PATH_MAX], requests[TEXT_NUMBER], refused[TEXT_NUMBER];
    journal_path(r, i, path);
    trace_name(r, i, (int)device, r->has_snapshots ? ".driver" : "", NULL, name);
    const enum err e = trace_import(path, importer_calls.name, &cfg, name, why);
    if (e != ERR_OK)
        return e;
    fprintf(stderr, "replay record: %s: process %u (%.60s), device %u: %s requests, %s refused\n", name, s->pid,
            command_shown(s->command), device, text_count(s->devices[device].requests, requests),
            text_count(s->devices[device].ooms, refused));
    made_file_put(r->json, &(struct made_file){ .path = name, .holds = "calls", .process = s->pid,
                                                .device = (int)device, .is_counted = true,
                                                .requests = s->devices[device].requests,
                                                .refused = s->devices[device].ooms });
    return ERR_OK;
}

/* The journal goes when all of it is in traces, and nothing more can come. */
static enum err import_journal(const struct recording *r, int i, struct err_detail *why)
{
    const struct calls_summary *s = &r->summaries[i];
    const bool goes_on = process_is_running(s->pid);
    char path[PATH_MAX];
    enum err e = ERR_OK;
    journal_path(r, i, path);
    for (unsigned d = 0; e == ERR_OK && d < CALL_DEVICES_MAX; d++)
        if (has_calls(s, d))
            e = import_device(r, i, d, why);
    for (size_t k = 0; e == ERR_OK && k < N_SNAPSHOTS; k++)
        e = import_snapshot(r, i, k, why);
    if (e == ERR_OK && s->lost > 0)
        fprintf(stderr, "replay record: %" PRIu64 " calls of process %u are missing: there was no room on the disk\n",
                s->lost, s->pid);
    if (e == ERR_OK && goes_on)
        fprintf(stderr, "replay record: process %u still runs: what it does from now on is in %s\n", s->pid, path);
    else if (e == ERR_OK)
        unlink(path);
    r->is_running[i] = goes_on;
    return e;
}

static enum err summarise(struct recording *r, int i, struct err_detail *why)
{
    char path[PATH_MAX];
    journal_path(r, i, path);
    const enum err e = calls_summarise(path, &r->summaries[i], why);
    size_t n = 0;
    for (unsigned d = 0; e == ERR_OK && d < CALL_DEVICES_MAX; d++)
        n += has_calls(&r->summaries[i], d);
    r->n_traces += n;
    r->n_journals += n > 0;
    for (size_t k = 0; e == ERR_OK && k < N_SNAPSHOTS; k++) {
        snapshot_path(r, i, k, path);
        r->has_snapshots = r->has_snapshots || access(path, R_OK) == 0;
    }
    return e;
}

static void json_processes(const struct recording *r)
{
    char path[PATH_MAX];
    json_put_array(r->json, "processes");
    for (int i = 0; i < r->n_files; i++) {
        const struct calls_summary *s = &r->summaries[i];
        journal_path(r, i, path);
        json_put_object(r->json, NULL);
        json_put_number(r->json, "process", s->pid);
        json_put_number(r->json, "parent", s->parent);
        json_put_text(r->json, "command", s->command);
        json_put_number(r->json, "lost_calls", s->lost);
        json_put_bool(r->json, "is_running", r->is_running[i]);
        json_put_text(r->json, "journal", r->is_running[i] ? path : NULL);
        json_end_object(r->json);
    }
    json_end_array(r->json);
}

/* Whether a journal's process wrote anything into it. Of one that cannot be read, its import says why. */
static bool is_begun(const char *path)
{
    FILE *f = fopen(path, "rb");
    const int first = f == NULL ? EOF : getc(f);
    const bool is_empty = f != NULL && (first == 0 || (first == EOF && !ferror(f)));
    if (f != NULL)
        fclose(f);
    return !is_empty;
}

/* Leaves out the empty journals of processes that were killed before they wrote into them: they take nothing from the
 * others. One whose process still runs is about to be written and stays. */
static void drop_empty(struct recording *r)
{
    int n = 0;
    for (int i = 0; i < r->n_files; i++) {
        char path[PATH_MAX];
        journal_path(r, i, path);
        if (is_begun(path)) {
            r->files[n++] = r->files[i];
            continue;
        }
        fprintf(stderr, "replay record: %s: is empty: its process had not begun to write it\n", path);
        if (!process_is_running((unsigned)strtoul(r->files[i]->d_name, NULL, 10)))
            unlink(path);
        free(r->files[i]);
    }
    r->n_files = n;
}

static enum err import_all(struct recording *r, struct err_detail *why)
{
    enum err e = ERR_OK;
    for (int i = 0; e == ERR_OK && i < r->n_files; i++)
        e = summarise(r, i, why);
    if (r->json != NULL)
        json_put_array(r->json, "files");
    for (int i = 0; e == ERR_OK && i < r->n_files; i++)
        e = import_journal(r, i, why);
    if (r->json != NULL) {
        json_end_array(r->json);
        json_processes(r);
    }
    return e;
}

enum err recording_import(const char *folder, const char *out, struct json_writer *json, struct err_detail *why)
{
    struct recording r = { .folder = folder, .out = out, .json = json };
    r.n_files = scandir(folder, &r.files, is_journal, alphasort);
    if (r.n_files < 0)
        return err_set(why, ERR_IO, 0, "%.150s: %s", folder, strerror(errno));
    drop_empty(&r);
    r.summaries = calloc((size_t)r.n_files + 1, sizeof *r.summaries);
    r.is_running = calloc((size_t)r.n_files + 1, sizeof *r.is_running);
    const bool has_memory = r.summaries != NULL && r.is_running != NULL;
    const enum err e = has_memory ? import_all(&r, why)
                                  : err_set(why, ERR_HOST_NOMEM, 0, "the host is out of memory");
    if (e == ERR_OK && r.n_traces == 0)
        fprintf(stderr, "replay record: no calls for CUDA memory were recorded, so there is no trace\n");
    for (int i = 0; i < r.n_files; i++)
        free(r.files[i]);
    free(r.files);
    free(r.summaries);
    free(r.is_running);
    return e;
}
