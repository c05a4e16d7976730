/* Traces of a run on the simulated CUDA. */
#include "replay/program/sim_record.h"

#include "base/output.h"
#include "import/import.h"
#include "replay/program/recorded_file.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- the driver's calls ---- */

/* What a journal's record is in a trace; false for one that is nothing there. A pool's segments are not requests: its
 * allocations are. Host memory takes none of the device's. */
static bool record_of(const struct journal_record *r, struct trace_record *out)
{
    *out = (struct trace_record){ .time_ns = r->time_ns, .ptr = r->addr, .addr = r->addr, .bytes = r->bytes,
                                  .stream = r->stream, .pool = { r->pool, 0 }, .record = TRACE_NO_RECORD };
    switch (r->kind) {
    case JOURNAL_MALLOC:     out->kind = EVENT_ALLOC; return r->pool == 0;
    case JOURNAL_FREE:       out->kind = EVENT_FREE; return r->pool == 0;
    case JOURNAL_POOL_ALLOC: out->kind = EVENT_ALLOC; return true;
    case JOURNAL_POOL_FREE:  out->kind = EVENT_FREE; return true;
    case JOURNAL_CREATE:     out->kind = EVENT_ALLOC, out->addr = 0; return true;
    case JOURNAL_RELEASE:    out->kind = EVENT_FREE, out->addr = 0; return true;
    case JOURNAL_CREATE_OOM:
    case JOURNAL_OOM:        out->kind = EVENT_OOM, out->addr = 0; return true;
    default:                 return false;
    }
}

static enum err put_records(const struct journal_view *v, int device, struct trace_writer *w, struct err_detail *why)
{
    enum err e = ERR_OK;
    for (size_t i = 0; e == ERR_OK && i < v->n; i++) {
        const struct journal_record r = journal_at(v, i);
        struct trace_record record;
        if (r.device == device && record_of(&r, &record))
            e = trace_put(w, &record, why);
    }
    return e;
}

enum err journal_trace(const struct journal_view *v, int device, const char *path, struct err_detail *why)
{
    struct journal_use use[JOURNAL_DEVICES] = { { 0 } };
    struct trace_writer *w;
    enum err e = trace_create(path, &w, why);
    if (e != ERR_OK)
        return e;
    journal_sum(v, use);
    trace_writer_info(w)->capacity_bytes = use[device].total_bytes - use[device].taken_bytes;
    trace_writer_info(w)->device = (uint32_t)device;
    e = trace_put_meta(w, "source", "cuda-driver", why);
    if (e == ERR_OK)
        e = put_records(v, device, w, why);
    if (e != ERR_OK) {
        trace_abandon(w);
        return e;
    }
    return trace_finish(w, why);
}

/* ---- names and files ---- */

/* A program that a process was: by exec it becomes another one, with a journal of its own. */
struct recorded_program {
    unsigned pid, part;              /* as in the journal's name, PID.PART.journal */
    char snapshot[32];               /* "" for none */
    bool used[JOURNAL_DEVICES];
};

struct recording {
    const char *folder, *path;
    struct json_writer *json;        /* NULL: not asked for */
    struct dirent **files;
    int n_files;
    struct recorded_program *programs;
    size_t n_programs;
};

static bool ends_with(const char *text, const char *end)
{
    const size_t n = strlen(text), k = strlen(end);
    return n >= k && strcmp(text + n - k, end) == 0;
}

/* "t.zst" becomes "t<what><end>". */
static void name_beside(const char *path, const char *what, const char *end, char out[PATH_MAX])
{
    const size_t n = strlen(path) - (ends_with(path, ".zst") ? 4 : 0);
    snprintf(out, PATH_MAX, "%.*s%s%s", (int)n, path, what, end);
}

/* To be closed by the caller. */
static enum err open_journal(const struct recording *r, const struct recorded_program *p, struct journal_view *v,
                             struct err_detail *why)
{
    char path[PATH_MAX];
    snprintf(path, sizeof path, "%s/%u.%u.journal", r->folder, p->pid, p->part);
    return journal_view_file(path, v, why);
}

/* Adds the program that a journal is of. What is no journal is left out, as the caller did and said before. */
static enum err take_journal(struct recording *r, const char *file, struct err_detail *why)
{
    struct recorded_program *p = &r->programs[r->n_programs];
    struct journal_use use[JOURNAL_DEVICES] = { { 0 } };
    struct journal_view v;
    if (sscanf(file, "%u.%u.", &p->pid, &p->part) != 2)
        return ERR_OK;               /* not one of the simulated CUDA's */
    const enum err e = open_journal(r, p, &v, why);
    if (e != ERR_OK)
        return e == ERR_FORMAT ? ERR_OK : e;
    journal_sum(&v, use);
    journal_view_close(&v);
    for (int i = 0; i < JOURNAL_DEVICES; i++)
        p->used[i] = use[i].calls + use[i].refusals > 0;
    r->n_programs++;
    return ERR_OK;
}

static size_t count_devices(const struct recorded_program *p)
{
    size_t n = 0;
    for (int i = 0; i < JOURNAL_DEVICES; i++)
        n += p->used[i];
    return n;
}

/* A snapshot is its process's last program's that used a device. One of the end goes before one of its out of memory;
 * those of signals are the user's own affair. */
static void take_snapshot(struct recording *r, const char *file)
{
    struct recorded_program *last = NULL;
    char end[32];
    for (size_t i = 0; i < r->n_programs; i++) {
        struct recorded_program *p = &r->programs[i];
        if (p->pid == strtoul(file, NULL, 10) && count_devices(p) > 0 && (last == NULL || p->part > last->part))
            last = p;
    }
    if (last == NULL || strlen(file) >= sizeof last->snapshot)
        return;                      /* not one of the hook's */
    snprintf(end, sizeof end, "%u.pickle", last->pid);
    if (strcmp(file, end) == 0 || (last->snapshot[0] == '\0' && ends_with(file, ".oom.pickle")))
        strcpy(last->snapshot, file);
}

static enum err list_programs(struct recording *r, struct err_detail *why)
{
    enum err e = ERR_OK;
    r->n_files = scandir(r->folder, &r->files, NULL, alphasort);
    if (r->n_files < 0)
        return err_set(why, ERR_IO, 0, "%.150s: %s", r->folder, strerror(errno));
    r->programs = calloc((size_t)r->n_files + 1, sizeof *r->programs);
    if (r->programs == NULL)
        return err_set(why, ERR_HOST_NOMEM, 0, "the host is out of memory");
    for (int i = 0; e == ERR_OK && i < r->n_files; i++)
        if (journal_is_name(r->files[i]->d_name))
            e = take_journal(r, r->files[i]->d_name, why);
    for (int i = 0; e == ERR_OK && i < r->n_files; i++)
        if (ends_with(r->files[i]->d_name, ".pickle"))
            take_snapshot(r, r->files[i]->d_name);
    return e;
}

static void recording_close(struct recording *r)
{
    for (int i = 0; i < r->n_files; i++)
        free(r->files[i]);
    if (r->n_files >= 0)
        free(r->files);
    free(r->programs);
}

static enum err keep_snapshot(const char *from, const char *to, struct err_detail *why)
{
    struct output *out;
    FILE *in = fopen(from, "rb");
    if (in == NULL)
        return err_set(why, ERR_IO, 0, "%.150s: %s", from, strerror(errno));
    const enum err e = output_open(to, &out, why);
    if (e != ERR_OK) {
        fclose(in);
        return e;
    }
    char part[65536];
    for (size_t n; (n = fread(part, 1, sizeof part, in)) > 0;)
        fwrite(part, 1, n, output_file(out));
    const int reason = ferror(in) ? errno : 0;
    fclose(in);
    if (reason == 0)
        return output_commit(&out, why);
    output_abandon(out);
    return err_set(why, ERR_INPUT, 0, "%.150s: cannot be read: %s", from, strerror(reason));
}

/* ---- one program ---- */

struct named {
    char what[40];                   /* ".<process>.gpu<N>", each where it is needed */
};

/* A process that replaced itself has several parts: ".1234-1". */
static struct named name_of(const struct recorded_program *p, bool is_only)
{
    struct named name = { "" };
    if (!is_only)
        snprintf(name.what, sizeof name.what, p->part > 0 ? ".%u-%u" : ".%u", p->pid, p->part);
    return name;
}

static struct named name_of_device(const struct recorded_program *p, bool is_only, int device)
{
    struct named name = name_of(p, is_only);
    if (count_devices(p) > 1) {
        const size_t n = strlen(name.what);
        snprintf(name.what + n, sizeof name.what - n, ".gpu%d", device);
    }
    return name;
}

/* Names a file that was made. */
static void say_file(const struct recording *r, const struct recorded_program *p, const char *holds, int device,
                     const char *path)
{
    const char *what = strcmp(holds, "snapshot") == 0   ? "snapshot"
                       : strcmp(holds, "requests") == 0 ? "trace of PyTorch's allocator"
                                                        : "trace of the driver's calls";
    const struct made_file f = { .path = path, .holds = holds, .device = device,
                                 .process = p->pid };
    fprintf(stderr, "  %s: %s\n", what, path);
    made_file_put(r->json, &f);
}

static enum err record_snapshot(const struct recording *r, const struct recorded_program *p, bool is_only,
                                struct err_detail *why)
{
    char from[PATH_MAX], snapshot[PATH_MAX], path[PATH_MAX];
    snprintf(from, sizeof from, "%s/%s", r->folder, p->snapshot);
    name_beside(r->path, name_of(p, is_only).what, ".pickle", snapshot);
    enum err e = keep_snapshot(from, snapshot, why);
    if (e == ERR_OK)
        say_file(r, p, "snapshot", -1, snapshot);
    for (int i = 0; e == ERR_OK && i < JOURNAL_DEVICES; i++) {
        const struct import_config cfg = { .gpu = i };
        if (!p->used[i])
            continue;
        name_beside(r->path, name_of_device(p, is_only, i).what, ".zst", path);
        e = trace_import(snapshot, NULL, &cfg, path, why);
        if (e == ERR_OK)
            say_file(r, p, "requests", i, path);
    }
    return e;
}

static enum err record_driver(const struct recording *r, const struct recorded_program *p, bool is_only,
                              struct err_detail *why)
{
    struct journal_view v;
    char path[PATH_MAX];
    enum err e = open_journal(r, p, &v, why);
    if (e != ERR_OK)
        return e;
    for (int i = 0; e == ERR_OK && i < JOURNAL_DEVICES; i++) {
        if (!p->used[i])
            continue;
        name_beside(r->path, name_of_device(p, is_only, i).what, p->snapshot[0] != '\0' ? ".driver.zst" : ".zst", path);
        e = journal_trace(&v, i, path, why);
        if (e == ERR_OK)
            say_file(r, p, "calls", i, path);
    }
    journal_view_close(&v);
    return e;
}

static enum err record_programs(struct recording *r, struct err_detail *why)
{
    size_t n_used = 0;
    for (size_t i = 0; i < r->n_programs; i++)
        n_used += count_devices(&r->programs[i]) > 0;
    if (n_used == 0)
        return err_set(why, ERR_INPUT, 0, "nothing was recorded: the program asked for no device memory");
    enum err e = ERR_OK;
    for (size_t i = 0; e == ERR_OK && i < r->n_programs; i++) {
        const struct recorded_program *p = &r->programs[i];
        if (p->snapshot[0] != '\0')
            e = record_snapshot(r, p, n_used == 1, why);
        if (e == ERR_OK)
            e = record_driver(r, p, n_used == 1, why);
    }
    return e;
}

enum err sim_record(const char *folder, const char *path, struct json_writer *json, struct err_detail *why)
{
    struct recording r = { .folder = folder, .path = path, .json = json };
    enum err e = list_programs(&r, why);
    if (e == ERR_OK)
        e = record_programs(&r, why);
    recording_close(&r);
    return e;
}
