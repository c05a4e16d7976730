/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/* Journals of calls, and what allocators of the programs say of their requests, into traces. */
#include "dryrun/run/journal_import.h"

#include "base/output.h"
#include "base/shown.h"
#include "import/import.h"
#include "import/import_calls.h"
#include "dryrun/run/file_move.h"
#include "dryrun/run/journal_folder.h"
#include "dryrun/run/recorded_file.h"
#include "report/text/text.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Whose requests a snapshot holds. */
struct allocator_kind {
    const char *owner, *is_called;       /* "PyTorch's", "snapshot" */
    const char *end;                     /* of the file that is kept */
    const struct importer *importer;
};
static const struct allocator_kind of_pytorch = { "PyTorch's", "snapshot", ".pickle", &importer_pytorch };
static const struct allocator_kind of_jax = { "JAX's", "profile", ".xplane.pb", &importer_xplane };

/* What the hook in a Python writes (cudasim/python/sitecustomize.py, replay_jax.py), and how record names it. */
static const struct { const char *end, *what; const struct allocator_kind *kind; } snapshots[] = {
    { ".pickle", "", &of_pytorch }, { ".oom.pickle", ".oom", &of_pytorch }, { ".usr1.pickle", ".usr1", &of_pytorch },
    { ".so-far.pickle", ".so-far", &of_pytorch }, { ".xplane.pb", ".jax", &of_jax },
    { ".cut.xplane.pb", ".jax", &of_jax },
};
enum {
    SNAPSHOT_OF_END, SNAPSHOT_OF_OOM, SNAPSHOT_ON_REQUEST, SNAPSHOT_SO_FAR, SNAPSHOT_OF_JAX,
    SNAPSHOT_OF_CUT_JAX,
    N_SNAPSHOTS = sizeof snapshots / sizeof snapshots[0]
};

enum { PROGRAM_SHOWN = 60 };         /* letters of a command line */

/* What one process was until it ended or replaced itself by exec. */
struct recorded_journal {
    unsigned pid, part;              /* as in the file's name */
    struct calls_summary summary;
    int64_t rank;                    /* in the program's distributed job; -1: it is not known, or not its alone */
    size_t n_devices;                /* devices with calls */
    bool has_snapshot[N_SNAPSHOTS];  /* those of its process that are its own */
    bool is_running;                 /* when it was imported */
    bool is_read;                    /* false: it was left out */
};

struct recording {
    struct journal_folder folder;
    const char *out;
    const char *of;                  /* what the program is of, for what is said; NULL: not told */
    enum recording_rules rules;
    const char *capability;          /* of the simulated card; NULL: a real one */
    struct recorded_journal *journals;
    size_t n_traces, n_used;         /* pairs of journal and device with calls; journals with calls */
    bool   has_snapshots;
    bool   is_whole;                 /* no call is missing */
    bool   was_interrupted;          /* the program was */
    struct recorded_files *files;    /* that were made */
};

static bool is_run_sim(const struct recording *r)
{
    return r->rules != RECORDING_OF_RECORD;
}

/* Whether a person is told of each file. */
static bool is_told(const struct recording *r)
{
    return r->rules != RECORDING_OF_PREDICT;
}

static const char *command_of(const struct recording *r)
{
    return r->rules == RECORDING_OF_PREDICT ? "predict" : is_run_sim(r) ? "run-sim" : "record";
}

static bool has_calls(const struct recorded_journal *j, unsigned device)
{
    return j->summary.devices[device].requests + j->summary.devices[device].ooms > 0;
}

/* ---- names ---- */

size_t recording_stem_length(const char *name)
{
    const size_t n = strlen(name);
    return n >= 4 && strcmp(name + n - 4, ".zst") == 0 ? n - 4 : n;
}

/* The length of `out` without its ending. run-sim knows one ending, record takes any. */
static size_t stem_length(const struct recording *r)
{
    const size_t n = strlen(r->out);
    if (is_run_sim(r))
        return recording_stem_length(r->out);
    const char *slash = strrchr(r->out, '/'), *file = slash == NULL ? r->out : slash + 1, *dot = strrchr(file, '.');
    return dot == NULL || dot == file ? n : (size_t)(dot - r->out);
}

/* "trace.zst" becomes "trace<process><device><what>.zst", or ends in `end` if that is not NULL. The process is named if
 * there are several, by its rank if it has one; the device if the process used several. device -1: the file is about
 * all devices. */
static void file_name(const struct recording *r, const struct recorded_journal *j, int device, const char *what,
                      const char *end, char name[PATH_MAX])
{
    const size_t n = stem_length(r);
    char process[32] = "", gpu[16] = "";
    if (r->n_used > 1 && j->rank >= 0)
        snprintf(process, sizeof process, ".rank%" PRId64, j->rank);
    else if (r->n_used > 1)
        snprintf(process, sizeof process, j->part > 0 ? ".%u-%u" : ".%u", j->pid, j->part);
    if (device >= 0 && j->n_devices > 1)
        snprintf(gpu, sizeof gpu, ".gpu%d", device);
    if (end == NULL)
        end = is_run_sim(r) ? ".zst" : r->out + n;
    snprintf(name, PATH_MAX, "%.*s%s%s%s%s", (int)n, r->out, process, gpu, what, end);
}

static void snapshot_path(const struct recording *r, unsigned pid, size_t k, char path[PATH_MAX])
{
    assert(k < N_SNAPSHOTS);
    snprintf(path, PATH_MAX, "%s/%u%s", r->folder.path, pid, snapshots[k].end);
}

/* A command line without the folders in front of the program's name. */
static const char *program_shown(const char *command_line)
{
    const char *shown = command_line;
    for (size_t i = 0, n = strcspn(command_line, " "); i < n; i++)
        if (command_line[i] == '/')
            shown = command_line + i + 1;
    return shown;
}

/* ---- snapshots ---- */

/* What run-sim's card has for the program; a prediction is about other cards, too. */
static uint64_t simulated_bytes(const struct recording *r, const struct recorded_journal *j, unsigned device)
{
    return r->rules == RECORDING_OF_RUN_SIM ? j->summary.devices[device].free_bytes : 0;
}

/* A device that has calls may have no requests, if something else in the program used it. */
static enum err import_snapshot_device(const struct recording *r, const struct recorded_journal *j, unsigned device,
                                       size_t k, const char *path, struct err_detail *err)
{
    const struct allocator_kind *kind = snapshots[k].kind;
    const char *how = r->was_interrupted ? TRACE_INTERRUPTED : TRACE_EXIT;
    const struct import_config cfg = { .gpu = device, .without_path = !is_told(r),
                                       .ends = k == SNAPSHOT_OF_END ? how : NULL, .is_cut = k == SNAPSHOT_OF_CUT_JAX,
                                       .capability = r->capability,
                                       .capacity_bytes = simulated_bytes(r, j, device) };
    char name[PATH_MAX];
    file_name(r, j, (int)device, is_run_sim(r) ? "" : snapshots[k].what, NULL, name);
    const enum err e = trace_import(path, kind->importer->name, &cfg, name, err);
    if (e == ERR_OK && is_told(r))
        fprintf(stderr, "replay %s: %s: %s requests, process %u, device %u\n", command_of(r), name, kind->owner, j->pid,
                device);
    if (e == ERR_OK)
        return recorded_files_add(r->files, &(struct recorded_file){ .path = name, .holds = "requests",
                                                                     .process = j->pid, .device = (int)device }, err);
    return e == ERR_USAGE || e == ERR_UNSUPPORTED ? ERR_OK : e;
}

static enum err import_snapshot(const struct recording *r, const struct recorded_journal *j, size_t k,
                                struct err_detail *err)
{
    const struct allocator_kind *kind = snapshots[k].kind;
    char path[PATH_MAX], name[PATH_MAX];
    snapshot_path(r, j->pid, k, path);
    file_name(r, j, -1, is_run_sim(r) ? "" : snapshots[k].what, kind->end, name);
    enum err e = file_move(path, name, err);
    if (e != ERR_OK)
        return e;
    if (is_told(r))
        fprintf(stderr, "replay %s: %s: %s %s\n", command_of(r), name, kind->owner, kind->is_called);
    e = recorded_files_add(r->files, &(struct recorded_file){ .path = name, .holds = "snapshot", .process = j->pid,
                                                              .device = -1 }, err);
    for (unsigned d = 0; e == ERR_OK && d < CALL_DEVICES_MAX; d++)
        if (has_calls(j, d))
            e = import_snapshot_device(r, j, d, k, name, err);
    return e;
}

static enum err import_snapshots(const struct recording *r, const struct recorded_journal *j, struct err_detail *err)
{
    enum err e = ERR_OK;
    for (size_t k = 0; e == ERR_OK && k < N_SNAPSHOTS; k++)
        if (j->has_snapshot[k])
            e = import_snapshot(r, j, k, err);
    return e;
}

static bool has_any_snapshot(const struct recorded_journal *j)
{
    bool has_any = false;
    for (size_t k = 0; k < N_SNAPSHOTS; k++)
        has_any = has_any || j->has_snapshot[k];
    return has_any;
}

/* ---- journals ---- */

static enum err import_device(const struct recording *r, int i, unsigned device, struct err_detail *err)
{
    const struct import_config cfg = { .gpu = device };
    const struct recorded_journal *j = &r->journals[i];
    const struct call_device *d = &j->summary.devices[device];
    const bool is_beside_snapshot = is_run_sim(r) ? has_any_snapshot(j) : r->has_snapshots;
    char path[PATH_MAX], name[PATH_MAX], requests[TEXT_NUMBER], refused[TEXT_NUMBER];
    journal_folder_path(&r->folder, i, path);
    file_name(r, j, (int)device, is_beside_snapshot ? ".driver" : "", NULL, name);
    const enum err e = is_run_sim(r) ? calls_import_file(path, device, name, err)
                                     : trace_import(path, importer_calls.name, &cfg, name, err);
    if (e != ERR_OK)
        return e;
    if (is_told(r)) {
        const char *program = program_shown(j->summary.command_line);
        fprintf(stderr, "replay %s: ", command_of(r));
        shown_put(stderr, name);
        fprintf(stderr, ": process %u (", j->pid);
        shown_put_part(stderr, program, strnlen(program, PROGRAM_SHOWN));
        fprintf(stderr, "), device %u: %s requests, %s refused\n", device, text_count(d->requests, requests),
                text_count(d->ooms, refused));
    }
    return recorded_files_add(r->files, &(struct recorded_file){ .path = name, .holds = "calls", .process = j->pid,
                                                                 .device = (int)device, .is_counted = !is_run_sim(r),
                                                                 .requests = d->requests, .refused = d->ooms }, err);
}

static enum err import_devices(const struct recording *r, int i, struct err_detail *err)
{
    enum err e = ERR_OK;
    for (unsigned d = 0; e == ERR_OK && d < CALL_DEVICES_MAX; d++)
        if (has_calls(&r->journals[i], d))
            e = import_device(r, i, d, err);
    return e;
}

/* The order is that of `files` in the JSON: run-sim has the snapshot first. */
static enum err import_journal(const struct recording *r, int i, struct err_detail *err)
{
    struct recorded_journal *j = &r->journals[i];
    char path[PATH_MAX];
    enum err e = ERR_OK;
    journal_folder_path(&r->folder, i, path);
    j->is_running = journal_is_written(path, j->summary.pid);
    if (is_run_sim(r))
        e = import_snapshots(r, j, err);
    if (e == ERR_OK)
        e = import_devices(r, i, err);
    if (e == ERR_OK && !is_run_sim(r))
        e = import_snapshots(r, j, err);
    if (e != ERR_OK)
        return e;
    if (j->summary.lost > 0)
        fprintf(stderr, "replay %s: %" PRIu64 " calls of process %u are missing: its journal could not grow; the "
                "process said why\n", command_of(r), j->summary.lost, j->summary.pid);
    if (!j->is_running)
        unlink(path);
    else if (!is_run_sim(r))
        fprintf(stderr, "replay record: process %u still runs: what it does from now on is in %s\n", j->summary.pid,
                path);
    return ERR_OK;
}

/* Reads what journal i holds. run-sim leaves out a journal that it cannot read and has said so before; to record, that
 * is an error. */
static enum err summarise(struct recording *r, int i, struct err_detail *err)
{
    struct recorded_journal *j = &r->journals[i];
    char path[PATH_MAX];
    journal_folder_path(&r->folder, i, path);
    const bool has_numbers = journal_folder_numbers(&r->folder, i, &j->pid, &j->part);
    if (is_run_sim(r) && !has_numbers)
        return ERR_OK;
    const enum err e = calls_summarise(path, &j->summary, err);
    if (e != ERR_OK)
        return is_run_sim(r) && !err_is_unread(e) ? ERR_OK : e;
    j->pid = j->summary.pid;
    j->is_read = true;
    r->is_whole = r->is_whole && j->summary.lost == 0;
    for (unsigned d = 0; d < CALL_DEVICES_MAX; d++)
        j->n_devices += has_calls(j, d);
    r->n_traces += j->n_devices;
    r->n_used += j->n_devices > 0;
    return ERR_OK;
}

/* The snapshot of run-sim's trace: the whole history if there is one, else the one with more of it, else JAX's. */
static size_t best_snapshot(const struct recording *r, unsigned pid)
{
    static const size_t by_rank[] = { SNAPSHOT_OF_END, SNAPSHOT_OF_OOM, SNAPSHOT_SO_FAR };
    char path[PATH_MAX];
    struct stat st;
    struct timespec newest = { .tv_sec = 0 };
    snapshot_path(r, pid, SNAPSHOT_OF_CUT_JAX, path);
    size_t best = stat(path, &st) == 0 ? SNAPSHOT_OF_CUT_JAX : SNAPSHOT_OF_JAX;
    for (size_t i = 0; i < sizeof by_rank / sizeof by_rank[0]; i++) {
        snapshot_path(r, pid, by_rank[i], path);
        if (stat(path, &st) != 0)
            continue;
        if (by_rank[i] == SNAPSHOT_OF_END)
            return SNAPSHOT_OF_END;
        if (st.st_mtim.tv_sec > newest.tv_sec ||
            (st.st_mtim.tv_sec == newest.tv_sec && st.st_mtim.tv_nsec > newest.tv_nsec)) {
            best = by_rank[i];
            newest = st.st_mtim;
        }
    }
    return best;
}

/* The program may have put anything there. */
static bool is_snapshot_there(const struct recording *r, const char *path)
{
    struct stat st;
    const bool is_there = lstat(path, &st) == 0;
    if (is_there && !S_ISREG(st.st_mode))
        fprintf(stderr, "replay %s: %s: is not a regular file, and is left out\n", command_of(r), path);
    return is_there && S_ISREG(st.st_mode);
}

/* Snapshots are named after the process only. They are of the last program that the process was and that used a
 * device, or of the first one if none did. */
static void take_snapshots(struct recording *r, int i)
{
    struct recorded_journal *j = &r->journals[i];
    bool is_last = j->is_read && (j->n_devices > 0 || (j->part == 0 && !is_run_sim(r)));
    for (int k = 0; k < r->folder.n; k++) {
        const struct recorded_journal *other = &r->journals[k];
        if (k != i && other->is_read && other->pid == j->pid && other->n_devices > 0)
            is_last = is_last && j->n_devices > 0 && other->part < j->part;
    }
    const size_t best = is_last && is_run_sim(r) ? best_snapshot(r, j->pid) : N_SNAPSHOTS;
    for (size_t k = 0; is_last && k < N_SNAPSHOTS; k++) {
        char path[PATH_MAX];
        snapshot_path(r, j->pid, k, path);
        j->has_snapshot[k] = (!is_run_sim(r) || k == best) && is_snapshot_there(r, path);
        r->has_snapshots = r->has_snapshots || j->has_snapshot[k];
    }
}

/* Reads the rank that the hook wrote. */
static void take_rank(struct recording *r, struct recorded_journal *j)
{
    char path[PATH_MAX];
    unsigned rank;
    j->rank = -1;
    snprintf(path, sizeof path, "%s/%u.rank", r->folder.path, j->pid);
    FILE *in = journal_folder_text(path);
    if (in == NULL)
        return;
    if (j->is_read && j->n_devices > 0 && fscanf(in, "%9u", &rank) == 1)
        j->rank = rank;
    fclose(in);
}

/* Forgets ranks that several processes have: two jobs, or two programs of one process. */
static void settle_ranks(struct recording *r)
{
    for (int i = 0; i < r->folder.n; i++) {
        const int64_t rank = r->journals[i].rank;
        bool is_shared = false;
        for (int k = i + 1; k < r->folder.n && rank >= 0; k++)
            if (r->journals[k].rank == rank) {
                is_shared = true;
                r->journals[k].rank = -1;
            }
        r->journals[i].rank = is_shared ? -1 : rank;
    }
}

static void remove_ranks(const struct recording *r)
{
    char path[PATH_MAX];
    for (int i = 0; i < r->folder.n; i++) {
        snprintf(path, sizeof path, "%s/%u.rank", r->folder.path, r->journals[i].pid);
        unlink(path);
    }
}

/* ---- processes ---- */

static void recorded_processes_close(struct recorded_processes *p)
{
    for (size_t i = 0; i < p->n; i++) {
        free(p->at[i].command);
        free(p->at[i].journal);
    }
    free(p->at);
}

void recording_made_close(struct recording_made *made)
{
    recorded_files_close(&made->files);
    recorded_processes_close(&made->processes);
}

static enum err take_process(const struct recording *r, int i, struct recorded_process *out, struct err_detail *err)
{
    const struct recorded_journal *j = &r->journals[i];
    char path[PATH_MAX];
    journal_folder_path(&r->folder, i, path);
    *out = (struct recorded_process){ .process = j->summary.pid, .parent = j->summary.parent,
                                      .command = strdup(j->summary.command_line), .lost_calls = j->summary.lost,
                                      .journal = j->is_running ? strdup(path) : NULL };
    return out->command == NULL || (j->is_running && out->journal == NULL) ? err_no_memory(err) : ERR_OK;
}

static enum err take_processes(const struct recording *r, struct recorded_processes *out, struct err_detail *err)
{
    enum err e = ERR_OK;
    out->unrecorded_calls = r->folder.unrecorded;
    out->at = calloc((size_t)r->folder.n + 1, sizeof *out->at);
    if (out->at == NULL)
        return err_no_memory(err);
    for (int i = 0; e == ERR_OK && i < r->folder.n; i++)
        e = take_process(r, i, &out->at[out->n++], err);
    return e;
}

static enum err import_all(struct recording *r, struct err_detail *err)
{
    enum err e = ERR_OK;
    for (int i = 0; e == ERR_OK && i < r->folder.n; i++)
        e = summarise(r, i, err);
    for (int i = 0; e == ERR_OK && i < r->folder.n; i++)
        take_snapshots(r, i);
    for (int i = 0; e == ERR_OK && i < r->folder.n; i++)
        take_rank(r, &r->journals[i]);
    settle_ranks(r);
    for (int i = 0; e == ERR_OK && i < r->folder.n; i++)
        if (r->journals[i].is_read)
            e = import_journal(r, i, err);
    if (e == ERR_OK)
        remove_ranks(r);
    return e;
}

static void say_unrecorded(const struct recording *r)
{
    if (r->folder.unrecorded > 0)
        fprintf(stderr, "replay %s: %" PRIu64 " calls are missing, of processes that could not make a journal; they "
                "said why\n", command_of(r), r->folder.unrecorded);
}

/* A program without calls is no failure: the exit status stays its own. Of one that was interrupted the caller says
 * so. */
static void say_if_nothing_recorded(const struct recording *r)
{
    if (r->n_traces == 0 && r->folder.unrecorded == 0 && !r->was_interrupted)
        fprintf(stderr, "replay %s: %s%sno calls for CUDA memory were recorded, so there is no trace\n", command_of(r),
                r->of != NULL ? r->of : "", r->of != NULL ? ": " : "");
}

enum err recording_import(const char *folder, const char *out, enum recording_rules rules, const char *of,
                          const char *capability, struct recording_made *made, struct err_detail *err)
{
    struct recording r = { .out = out, .of = of, .rules = rules, .capability = capability, .files = &made->files,
                           .is_whole = true, .was_interrupted = made->was_interrupted };
    made->is_whole = true;
    enum err e = journal_folder_open(folder, command_of(&r), &r.folder, err);
    if (e != ERR_OK)
        return e;
    r.journals = calloc((size_t)r.folder.n + 1, sizeof *r.journals);
    e = r.journals == NULL ? err_no_memory(err) : import_all(&r, err);
    if (e == ERR_OK)
        e = take_processes(&r, &made->processes, err);
    say_unrecorded(&r);
    if (e == ERR_OK)
        say_if_nothing_recorded(&r);
    made->is_whole = r.is_whole && r.folder.unrecorded == 0;
    journal_folder_close(&r.folder);
    free(r.journals);
    return e;
}

enum err recording_check(const struct recording_made *made, struct err_detail *err)
{
    return made->is_whole ? ERR_OK : err_set(err, ERR_IO, 0, "the recording is not whole: calls are missing, as said "
                                                             "above");
}
