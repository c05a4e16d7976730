/* Traces of a run on the simulated CUDA. */
#include "replay/sim_record.h"

#include "base/output.h"
#include "replay/made_file.h"
#include "traces/import.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

enum { PROCESSES_MAX = 256 };

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

/* A process that left something: its number as the files' names begin with it. */
struct recorded_process {
    char pid[16];
    char snapshot[32];               /* "" for none */
    bool used[JOURNAL_DEVICES];
};

struct recording {
    const char *folder, *path;
    struct json_writer *json;         /* NULL: not asked for */
    struct recorded_process processes[PROCESSES_MAX];
    size_t n_processes;
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

/* Maps a journal. The bytes are unmapped by the caller. */
static enum err open_journal(const struct recording *r, const char *pid, struct journal_view *v, void **bytes,
                             size_t *n, struct err_detail *why)
{
    char path[PATH_MAX];
    struct stat st;
    snprintf(path, sizeof path, "%s/%s.journal", r->folder, pid);
    const int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0 || fstat(fd, &st) != 0 || st.st_size == 0) {
        const enum err e = err_set(why, ERR_IO, 0, "%.150s: %s", path, fd < 0 ? strerror(errno) : "is empty");
        if (fd >= 0)
            close(fd);
        return e;
    }
    *n = (size_t)st.st_size;
    *bytes = mmap(NULL, *n, PROT_READ, MAP_PRIVATE, fd, 0);
    close(fd);
    if (*bytes == MAP_FAILED)
        return err_set(why, ERR_IO, 0, "%.150s: %s", path, strerror(errno));
    const enum err e = journal_view(*bytes, *n, v, why);
    if (e != ERR_OK)
        munmap(*bytes, *n);
    return e;
}

static struct recorded_process *process_of(struct recording *r, const char *file)
{
    const size_t n = strcspn(file, ".");
    for (size_t i = 0; i < r->n_processes; i++)
        if (strlen(r->processes[i].pid) == n && strncmp(r->processes[i].pid, file, n) == 0)
            return &r->processes[i];
    if (r->n_processes == PROCESSES_MAX || n >= sizeof r->processes[0].pid)
        return NULL;
    struct recorded_process *p = &r->processes[r->n_processes++];
    memcpy(p->pid, file, n);
    return p;
}

/* A snapshot of a process's end before one of its out of memory; those of signals are the user's own affair. */
static void take_snapshot(struct recorded_process *p, const char *file)
{
    char last[32];
    const size_t n = strlen(file);
    snprintf(last, sizeof last, "%s.pickle", p->pid);
    if (n >= sizeof p->snapshot)
        return;                      /* not one of the hook's */
    if (strcmp(file, last) == 0 || (p->snapshot[0] == '\0' && ends_with(file, ".oom.pickle")))
        memcpy(p->snapshot, file, n + 1);
}

static enum err take_journal(struct recording *r, struct recorded_process *p, struct err_detail *why)
{
    struct journal_use use[JOURNAL_DEVICES] = { { 0 } };
    struct journal_view v;
    void *bytes;
    size_t n;
    const enum err e = open_journal(r, p->pid, &v, &bytes, &n, why);
    if (e != ERR_OK)
        return e;
    journal_sum(&v, use);
    munmap(bytes, n);
    for (int i = 0; i < JOURNAL_DEVICES; i++)
        p->used[i] = use[i].calls + use[i].refusals > 0;
    return ERR_OK;
}

static enum err list_processes(struct recording *r, struct err_detail *why)
{
    struct dirent **files;
    const int n = scandir(r->folder, &files, NULL, alphasort);
    enum err e = n < 0 ? err_set(why, ERR_IO, 0, "%.150s: %s", r->folder, strerror(errno)) : ERR_OK;
    for (int i = 0; i < n; i++) {
        const char *file = files[i]->d_name;
        const bool is_journal = ends_with(file, ".journal");
        struct recorded_process *p = is_journal || ends_with(file, ".pickle") ? process_of(r, file) : NULL;
        if (p != NULL && is_journal && e == ERR_OK)
            e = take_journal(r, p, why);
        else if (p != NULL)
            take_snapshot(p, file);
        free(files[i]);
    }
    if (n >= 0)
        free(files);
    return e;
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
    fclose(in);
    return output_commit(&out, why);
}

/* ---- one process ---- */

struct named {
    char what[40];                   /* ".<process>.gpu<N>", each where it is needed */
};

static size_t count_devices(const struct recorded_process *p)
{
    size_t n = 0;
    for (int i = 0; i < JOURNAL_DEVICES; i++)
        n += p->used[i];
    return n;
}

static struct named name_of(const struct recorded_process *p, bool is_only, int device)
{
    struct named name = { "" };
    if (!is_only)
        snprintf(name.what, sizeof name.what, ".%s", p->pid);
    if (count_devices(p) > 1) {
        const size_t n = strlen(name.what);
        snprintf(name.what + n, sizeof name.what - n, ".gpu%d", device);
    }
    return name;
}

/* Names a file that was made. */
static void say_file(const struct recording *r, const struct recorded_process *p, const char *holds, int device,
                     const char *path)
{
    const char *what = strcmp(holds, "snapshot") == 0   ? "snapshot"
                       : strcmp(holds, "requests") == 0 ? "trace of PyTorch's allocator"
                                                        : "trace of the driver's calls";
    const struct made_file f = { .path = path, .holds = holds, .device = device,
                                 .process = (unsigned)strtoul(p->pid, NULL, 10) };
    fprintf(stderr, "  %s: %s\n", what, path);
    made_file_put(r->json, &f);
}

static enum err record_snapshot(const struct recording *r, const struct recorded_process *p, bool is_only,
                                struct err_detail *why)
{
    char from[PATH_MAX], snapshot[PATH_MAX], path[PATH_MAX], what[24] = "";
    if (!is_only)
        snprintf(what, sizeof what, ".%s", p->pid);
    snprintf(from, sizeof from, "%s/%s", r->folder, p->snapshot);
    name_beside(r->path, what, ".pickle", snapshot);
    enum err e = keep_snapshot(from, snapshot, why);
    if (e == ERR_OK)
        say_file(r, p, "snapshot", -1, snapshot);
    for (int i = 0; e == ERR_OK && i < JOURNAL_DEVICES; i++) {
        const struct import_config cfg = { .gpu = i };
        if (!p->used[i])
            continue;
        name_beside(r->path, name_of(p, is_only, i).what, ".zst", path);
        e = trace_import(snapshot, NULL, &cfg, path, why);
        if (e == ERR_OK)
            say_file(r, p, "requests", i, path);
    }
    return e;
}

static enum err record_driver(const struct recording *r, const struct recorded_process *p, bool is_only,
                              struct err_detail *why)
{
    struct journal_view v;
    void *bytes;
    size_t n;
    char path[PATH_MAX];
    enum err e = open_journal(r, p->pid, &v, &bytes, &n, why);
    if (e != ERR_OK)
        return e;
    for (int i = 0; e == ERR_OK && i < JOURNAL_DEVICES; i++) {
        if (!p->used[i])
            continue;
        name_beside(r->path, name_of(p, is_only, i).what, p->snapshot[0] != '\0' ? ".driver.zst" : ".zst", path);
        e = journal_trace(&v, i, path, why);
        if (e == ERR_OK)
            say_file(r, p, "calls", i, path);
    }
    munmap(bytes, n);
    return e;
}

enum err sim_record(const char *folder, const char *path, struct json_writer *json, struct err_detail *why)
{
    struct recording *r = calloc(1, sizeof *r);
    if (r == NULL)
        return err_set(why, ERR_HOST_NOMEM, 0, "the host is out of memory");
    r->folder = folder;
    r->path = path;
    r->json = json;
    size_t n_used = 0;
    enum err e = list_processes(r, why);
    for (size_t i = 0; i < r->n_processes; i++)
        n_used += count_devices(&r->processes[i]) > 0;
    if (e == ERR_OK && n_used == 0)
        e = err_set(why, ERR_IO, 0, "nothing was recorded: the program asked for no device memory");
    for (size_t i = 0; e == ERR_OK && i < r->n_processes; i++) {
        const struct recorded_process *p = &r->processes[i];
        if (count_devices(p) == 0)
            continue;
        if (p->snapshot[0] != '\0')
            e = record_snapshot(r, p, n_used == 1, why);
        if (e == ERR_OK)
            e = record_driver(r, p, n_used == 1, why);
    }
    free(r);
    return e;
}
