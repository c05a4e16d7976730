/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/* Putting a program on the simulated card, and reading what it did there. */
#include "dryrun/run/sim_card.h"

#include "base/array.h"
#include "base/input.h"
#include "base/installed_file.h"
#include "base/shown.h"
#include "base/terminal.h"
#include "base/units.h"
#include "capture/call_framework.h"
#include "cudasim/core/core.h"
#include "cudasim/core/device_text.h"
#include "cudasim/standins/torch_standins.h"
#include "dryrun/run/journal_folder.h"
#include "dryrun/run/python_found.h"
#include "dryrun/run/range_sources.h"
#include "dryrun/safe/scratch_folder.h"
#include "report/text/text.h"
#include "sim/card_context.h"
#include "sim/cards.h"

#include <assert.h>
#include <inttypes.h>
#include <pwd.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { NAMES_MAX = 512 };

/* Distinct names of entry points. */
struct name_list {
    char   names[NAMES_MAX][CALL_TEXT_BYTES + 1];
    size_t n;
};

/* Folders are absolute. */
struct sim_card {
    struct sim_card_request asked;
    char   device[PATH_MAX];         /* "sim:24GiB,count=2" */
    char   libraries[PATH_MAX];      /* where the simulated CUDA lies */
    struct scratch_folder journals;  /* of this run only; "" before it is made */
    char   cache[PATH_MAX];          /* of stand-ins */
    char   capability[CAPABILITY_TEXT];
    char  *torch;                    /* what was found, "FOLDER:a:b", "" for none; NULL: none was looked for */
    struct standins standins;
    struct real_libraries real;      /* of --libraries real; the program has those that are wanted */
    struct call_use use[CALL_DEVICES_MAX];
    struct name_list no_effect, refused, missing;
    struct name_list stood_in;       /* sonames, also of stand-ins that were made after the program had begun */
    size_t n_processes, n_unread;    /* n_unread: journals that cannot be read */
    bool   has_lost;                 /* one of them because of the host */
    uint64_t lost;                   /* records without room on the disk */
    bool     has_search;             /* of the fastest algorithm of a convolution */
    bool     has_asked_events;
    unsigned frameworks;             /* a bit for each enum call_framework that asked for memory */
    bool     is_open[RANGE_SOURCES]; /* what may move the peak; never the order of addresses, which is not tried */
    struct workspaces_asked workspaces;      /* of some process */
    struct jax_held jax;
    uint32_t pid;                    /* of the journal that was read last */
    bool   has_opened;               /* this process is counted in n_processes */
    uint64_t others_bytes[CALL_DEVICES_MAX];         /* peaks of the processes before it, added up */
    struct process_use *processes;
    size_t n_uses, uses_room;        /* in `processes` */
};

/* ---- before the program ---- */

/* "1MiB" or "1MiB,256MiB". */
static enum err check_values(const struct sim_card_request *r, struct err_detail *err)
{
    const char *text = r->values;
    uint64_t bytes;
    const size_t n = text == NULL ? 0 : strcspn(text, ",");
    if (text == NULL || (units_parse_bytes(text, n, &bytes) &&
                         (text[n] == '\0' || units_parse_bytes(text + n + 1, strlen(text + n + 1), &bytes))))
        return ERR_OK;
    return err_set(err, ERR_USAGE, 0, "--values '%s': expected a size such as 1MiB, or two as in 1MiB,256MiB", text);
}

static bool wants_real(const struct sim_card_request *r)
{
    return r->libraries != NULL && strcmp(r->libraries, "real") == 0;
}

static enum err check_libraries(const struct sim_card_request *r, struct err_detail *err)
{
    const char *text = r->libraries;
    return text == NULL || wants_real(r) || strcmp(text, "stand-in") == 0 ? ERR_OK
         : err_set(err, ERR_USAGE, 0, "--libraries '%s': expected stand-in or real", text);
}

/* A size alone is one of a simulated card. */
static enum err choose_device(struct sim_card *c, struct err_detail *err)
{
    struct device_config cfg = device_defaults();
    const struct device_ops *ops;
    int count;
    const char *typed = c->asked.device != NULL ? c->asked.device : "sim";
    snprintf(c->device, sizeof c->device, "%s%s", typed[0] >= '0' && typed[0] <= '9' ? "sim:" : "", typed);
    const enum err e = cudasim_parse_devices(c->device, &cfg, &ops, &count, err);
    if (e == ERR_OK)
        (void)capability_text(device_found(&cfg).capability, c->capability);
    return e;
}

static enum err find_libraries(struct sim_card *c, struct err_detail *err)
{
    const enum err e = installed_file_find("cudasim/libreplay-cudasim.so", c->libraries, err);
    char *slash = e == ERR_OK ? strrchr(c->libraries, '/') : NULL;
    if (slash != NULL)
        *slash = '\0';
    return e;
}

static enum err make_journals(struct sim_card *c, const char *parent, struct err_detail *err)
{
    const int reason = c->asked.is_recorded ? folder_make_unique(parent, "replay-journals", c->journals.path)
                                            : scratch_folder_make(parent, "replay-run-sim", &c->journals);
    return reason == 0 ? journal_folder_begin(c->journals.path, err)
                       : err_at(err, ERR_IO, 0, parent, "no folder can be made in it: %s", strerror(reason));
}

/* The home folder that the system knows, for a service or a job without HOME; NULL: none. */
static const char *home_of_user(void)
{
    const struct passwd *user = getpwuid(getuid());
    return user == NULL ? NULL : user->pw_dir;
}

static enum err cache_folder(char out[PATH_MAX], struct err_detail *err)
{
    const char *cache = getenv("XDG_CACHE_HOME"), *home = getenv("HOME") != NULL ? getenv("HOME") : home_of_user();
    if (cache != NULL && cache[0] == '/')
        snprintf(out, PATH_MAX, "%s/replay", cache);
    else if (home != NULL && home[0] == '/')
        snprintf(out, PATH_MAX, "%s/.cache/replay", home);
    else
        return err_set(err, ERR_USAGE, 0, "no place for stand-ins: neither XDG_CACHE_HOME nor HOME is a folder's path");
    return ERR_OK;
}

/* The folder of the torch that the program's Python would import, and the folders of packages beside it, as "a:b:c";
 * ":b:c" if there are only plugins of JAX, "" if there is neither. A command that is no interpreter is never run to ask
 * it: python3 is asked for it. Python is not isolated (-I), because that hides packages of the user and of PYTHONPATH,
 * which the program has. The working folder is taken off the search path before anything is imported, so that no file
 * in it runs. */
static enum err find_torch(const struct sim_card_request *r, char **out, struct err_detail *err)
{
    static const char *const script = "import sys; sys.path = [p for p in sys.path if p != '']; "
                                      "import importlib.util as u; t = u.find_spec('torch'); "
                                      "is_any = t or u.find_spec('jax_plugins') or u.find_spec('tensorflow'); "
                                      "torch = t.submodule_search_locations[0] if t else ''; "
                                      "print(':'.join([torch] + sys.path) if is_any else '')";
    char python[PATH_MAX];
    const char *const argv[] = { python, "-c", script, NULL };
    if (python_found(r->program, python) || python_found("python3", python))
        return child_first_line(argv, out, err);
    *out = strdup("");
    return *out != NULL ? ERR_OK : err_no_memory(err);
}

/* Libraries get stand-ins that the torch which was found names, or a folder that was given. A program that runs another
 * Python gets those of its torch when it is imported (cudasim/standins/torch_standins.h). */
static enum err make_standins(struct sim_card *c, struct err_detail *err)
{
    enum err e = cache_folder(c->cache, err);
    if (e == ERR_OK && c->asked.torch_libs == NULL)
        e = find_torch(&c->asked, &c->torch, err);
    const char *found = c->torch != NULL ? c->torch : c->asked.torch_libs;
    if (e != ERR_OK || found[0] == '\0')
        return e;
    return torch_standins_make(found, c->cache, wants_real(&c->asked), &c->real, &c->standins, err);
}

enum err sim_card_open(const struct sim_card_request *request, const char *parent, struct sim_card **out,
                       struct err_detail *err)
{
    struct sim_card *c = calloc(1, sizeof *c);
    if (c == NULL)
        return err_no_memory(err);
    c->asked = *request;
    c->journals.lock = -1;
    enum err e = check_values(request, err);
    if (e == ERR_OK)
        e = check_libraries(request, err);
    if (e == ERR_OK)
        e = choose_device(c, err);
    if (e == ERR_OK)
        e = find_libraries(c, err);
    if (e == ERR_OK)
        e = make_standins(c, err);
    if (e == ERR_OK)
        e = make_journals(c, parent, err);
    if (e != ERR_OK)
        sim_card_close(c, false);
    else
        *out = c;
    return e;
}

void sim_card_close(struct sim_card *c, bool keeps_journals)
{
    if (c == NULL)
        return;
    standins_close(&c->standins);
    real_libraries_close(&c->real);
    free(c->torch);
    free(c->processes);
    if (c->journals.path[0] != '\0' && !keeps_journals)
        scratch_folder_remove(&c->journals, c->asked.command);
    else if (c->journals.path[0] != '\0')
        journal_folder_end(c->journals.path, c->asked.command);
    free(c);
}

const char *sim_card_journals(const struct sim_card *c)
{
    assert(c->journals.path[0] != '\0');
    return c->journals.path;
}

/* The sonames to load before all else. A library with a run path of its own would find the machine's libraries first.
 * What the user preloads stays in front of ours: a sanitizer must be the first. */
static enum err put_preload(const struct sim_card *c, const char *first, struct child_env *env, struct err_detail *err)
{
    const char *const before[] = { first, getenv("LD_PRELOAD") };
    size_t room = 64;
    for (size_t i = 0; i < 2; i++)
        room += before[i] == NULL ? 0 : strlen(before[i]) + 1;
    for (size_t i = 0; i < c->standins.n_sonames; i++)
        room += strlen(c->standins.sonames[i]) + 1;
    for (size_t i = 0; i < c->real.n; i++)
        room += strlen(c->real.all[i].path) + 1;
    char *list = calloc(room, 1);
    if (list == NULL)
        return err_no_memory(err);
    for (size_t i = 0; i < 2; i++)
        if (before[i] != NULL && before[i][0] != '\0') {
            strcat(list, before[i]);
            strcat(list, ":");
        }
    strcat(list, "libreplay-cudasim.so:libcuda.so.1:libnvidia-ml.so.1");
    for (size_t i = 0; i < c->standins.n_sonames; i++) {
        strcat(list, ":");
        strcat(list, c->standins.sonames[i]);
    }
    for (size_t i = 0; i < c->real.n; i++)
        if (c->real.all[i].is_wanted) {
            strcat(list, ":");
            strcat(list, c->real.all[i].path);
        }
    assert(strlen(list) < room);
    const enum err e = child_env_put(env, "LD_PRELOAD", list, '\0', err);
    free(list);
    return e;
}

/* What python/sitecustomize.py needs to make stand-ins later. */
static enum err put_standins(const struct sim_card *c, struct child_env *env, struct err_detail *err)
{
    if (c->torch == NULL)
        return ERR_OK;
    enum err e = child_env_put(env, STANDINS_ENV_CACHE, c->cache, '\0', err);
    if (e == ERR_OK)
        e = child_env_put(env, STANDINS_ENV_TORCH, c->torch, '\0', err);
    return e == ERR_OK && wants_real(&c->asked) ? child_env_put(env, STANDINS_ENV_LIBRARIES, "real", '\0', err) : e;
}

enum err sim_card_put_env(const struct sim_card *c, const char *first, struct child_env *env, struct err_detail *err)
{
    char paths[2 * PATH_MAX], python[PATH_MAX + 8], programs[PATH_MAX + 8];
    const char *folder = c->standins.folder;
    snprintf(paths, sizeof paths, "%s%s%s", c->libraries, folder != NULL ? ":" : "", folder != NULL ? folder : "");
    snprintf(python, sizeof python, "%s/python", c->libraries);
    snprintf(programs, sizeof programs, "%s/bin", c->libraries);             /* nvidia-smi */
    enum err e = child_env_put(env, "LD_LIBRARY_PATH", paths, ':', err);
    if (e == ERR_OK)
        e = put_preload(c, first, env, err);
    if (e == ERR_OK)
        e = put_standins(c, env, err);
    if (e == ERR_OK)
        e = child_env_put(env, "PYTHONPATH", python, ':', err);
    if (e == ERR_OK)
        e = child_env_put(env, "PATH", programs, ':', err);
    if (e == ERR_OK)                         /* PyTorch keeps kernels that it compiled for a later run on a real card */
        e = child_env_put(env, "USE_PYTORCH_KERNEL_CACHE", "0", '\0', err);
    if (e == ERR_OK)
        e = child_env_put(env, CUDASIM_ENV_DEVICE, c->device, '\0', err);
    if (e == ERR_OK && c->asked.values != NULL)
        e = child_env_put(env, CUDASIM_ENV_VALUES, c->asked.values, '\0', err);
    if (e == ERR_OK && getenv(CARDS_ENV) != NULL && realpath(getenv(CARDS_ENV), paths) != NULL)
        e = child_env_put(env, CARDS_ENV, paths, '\0', err);     /* the program may change its folder */
    return e == ERR_OK ? child_env_put(env, CUDASIM_ENV_JOURNAL, c->journals.path, '\0', err) : e;
}

/* ---- after the program ---- */

static void name_list_put_text(struct name_list *l, const char *name)
{
    for (size_t i = 0; i < l->n; i++)
        if (strcmp(l->names[i], name) == 0)
            return;
    if (l->n < NAMES_MAX)
        snprintf(l->names[l->n++], sizeof l->names[0], "%.*s", (int)CALL_TEXT_BYTES, name);
}

static void name_list_put(struct name_list *l, const struct call_record *r)
{
    char name[CALL_TEXT_BYTES + 1];
    call_record_text(r, name);
    name_list_put_text(l, name);
}

static int name_compare(const void *a, const void *b)
{
    return strcmp(a, b);
}

static void name_list_sort(struct name_list *l)
{
    qsort(l->names, l->n, sizeof l->names[0], name_compare);
}

/* Several processes may hold memory at once, so their peaks are added. What one process was in turn (exec) comes one
 * after the other, so the largest of these peaks counts:
 *
 *     journal    4711.0    4711.1    4712.0
 *     peak        512 MiB    1 MiB     3 MiB     together: 515 MiB
 */
static enum err begin_journal(struct sim_card *c, const struct call_journal *log, struct err_detail *err)
{
    const bool is_other = log->head.pid != c->pid || c->n_uses == 0;
    struct process_use *uses = array_grow(c->processes, c->n_uses, &c->uses_room, sizeof *uses);
    if (uses == NULL)
        return err_no_memory(err);
    c->processes = uses;
    if (is_other)
        uses[c->n_uses++] = (struct process_use){ .pid = log->head.pid };
    c->has_opened = c->has_opened && !is_other;
    c->pid = log->head.pid;
    for (int i = 0; i < CALL_DEVICES_MAX; i++) {
        assert(c->others_bytes[i] <= c->use[i].peak_bytes);
        if (is_other)
            c->others_bytes[i] = c->use[i].peak_bytes;
        c->use[i].held_bytes = c->others_bytes[i];
    }
    return ERR_OK;
}

static enum err take_journal(struct sim_card *c, const struct call_journal *log, struct err_detail *err)
{
    const enum err e = begin_journal(c, log, err);
    if (e != ERR_OK)
        return e;
    call_journal_sum(log, c->use);
    for (int i = 0; i < CALL_DEVICES_MAX; i++)
        c->processes[c->n_uses - 1].peak_bytes[i] = c->use[i].peak_bytes - c->others_bytes[i];
    c->lost += log->head.lost;
    bool has_opened = c->has_opened;
    for (uint32_t i = 0; i < log->n; i++) {
        const struct call_record *r = &log->records[i];
        has_opened = has_opened || r->kind == CALL_DEVICE;
        if (r->kind == CALL_NO_EFFECT)
            name_list_put(&c->no_effect, r);
        else if (r->kind == CALL_REFUSED)
            name_list_put(&c->refused, r);
        else if (r->kind == CALL_MISSING)
            name_list_put(&c->missing, r);
        else if (r->kind == CALL_WORKSPACE)
            workspaces_asked_take(&c->workspaces, r);
        c->has_search = c->has_search || r->kind == CALL_ALGORITHM_SEARCH;
        c->has_asked_events = c->has_asked_events || r->kind == CALL_EVENT_ASKED;
        if (r->kind == CALL_FRAMEWORK && r->other < CALL_FRAMEWORKS)
            c->frameworks |= 1u << r->other;
    }
    c->n_processes += has_opened && !c->has_opened;
    c->has_opened = has_opened;
    return ERR_OK;
}

/* The run is over and its status is the program's: a journal that cannot be read takes nothing from the others. */
static void read_journal(struct sim_card *c, const char *path)
{
    struct err_detail err = { .text = "" };
    struct call_journal *log = NULL;
    struct input *in = NULL;
    enum err e = input_open(path, &in, &err);
    if (e == ERR_OK)
        e = call_journal_read(in, &log, &err);
    if (e == ERR_OK)
        e = take_journal(c, log, &err);
    if (e != ERR_OK) {
        fprintf(stderr, "replay %s: %s; this journal is left out\n", c->asked.command, err.text);
        c->n_unread++;
        c->has_lost = c->has_lost || err_is_unread(e);
    }
    call_journal_free(log);
    input_close(in);
}

/* A name of the simulated runtime's is none of those that do nothing. */
static void put_stood_in(struct sim_card *c, const char *soname)
{
    static const char runtime[] = "libcudart";
    if (strncmp(soname, runtime, sizeof runtime - 1) != 0)
        name_list_put_text(&c->stood_in, soname);
}

/* Which libraries were stood in for, by the program's processes too. */
static void read_stand_ins(struct sim_card *c)
{
    char path[PATH_MAX], line[CALL_TEXT_BYTES + 2];
    for (size_t i = 0; i < c->standins.n_made; i++)
        put_stood_in(c, c->standins.sonames[i]);
    if ((size_t)snprintf(path, sizeof path, "%s/%s", c->journals.path, STANDINS_LATE_FILE) >= sizeof path)
        return;
    FILE *f = journal_folder_text(path);
    while (f != NULL && fgets(line, sizeof line, f) != NULL) {
        line[strcspn(line, "\n")] = '\0';
        put_stood_in(c, line);
    }
    if (f != NULL)
        fclose(f);
    unlink(path);
    name_list_sort(&c->stood_in);
}

static void read_open_sources(struct sim_card *c)
{
    const bool are_typed = c->workspaces.answer != WORKSPACES_LIKELY;
    range_sources_read(c->journals.path, c->is_open);
    c->is_open[RANGE_WORKSPACES] = workspaces_asked_any(&c->workspaces) && !are_typed;
    c->is_open[RANGE_SEARCH] = c->has_search && !are_typed;
}

enum err sim_card_read(struct sim_card *c, bool *is_complete, struct err_detail *err)
{
    struct journal_folder folder;
    const enum err e = journal_folder_open(c->journals.path, c->asked.command, &folder, err);
    if (e != ERR_OK)
        return e;
    for (int i = 0; i < folder.n; i++) {
        char path[PATH_MAX];
        journal_folder_path(&folder, i, path);
        read_journal(c, path);
    }
    c->lost += folder.unrecorded;
    journal_folder_close(&folder);
    read_stand_ins(c);
    jax_held_read(c->journals.path, &c->jax);
    read_open_sources(c);
    name_list_sort(&c->no_effect);
    name_list_sort(&c->refused);
    name_list_sort(&c->missing);
    *is_complete = c->n_unread == 0;
    return ERR_OK;
}

bool sim_card_is_open(const struct sim_card *c)
{
    bool is_open = false;
    for (int i = 0; i < RANGE_SOURCES; i++)
        is_open = is_open || c->is_open[i];
    return is_open;
}

bool sim_card_has_lost(const struct sim_card *c)
{
    return c->has_lost;
}

/* ---- the summary ---- */

/* A paragraph of the summary, which begins with `text`. */
static struct text_lines begin_paragraph(const char *text)
{
    struct text_lines l = { .out = stderr, .columns = TERMINAL_USUAL, .column = 2, .indent = 4 };
    fputs("  ", stderr);
    text_lines_put(&l, text, strlen(text));
    return l;
}

static void print_paragraph(const char *text)
{
    begin_paragraph(text);
    fputc('\n', stderr);
}

static void print_names(const char *what, const struct name_list *l)
{
    if (l->n == 0)
        return;
    struct text_lines lines = begin_paragraph(what);
    for (size_t i = 0; i < l->n; i++)
        text_lines_put(&lines, l->names[i], strlen(l->names[i]));
    fputc('\n', stderr);
}

static bool is_used(const struct call_use *u)
{
    return u->total_bytes > 0 && u->calls + u->refusals > 0;
}

size_t sim_card_largest_process(const struct sim_card *c, int device, uint64_t *bytes)
{
    size_t n = 0;
    *bytes = 0;
    for (size_t i = 0; i < c->n_uses; i++) {
        const uint64_t peak_bytes = c->processes[i].peak_bytes[device];
        n += peak_bytes > 0;
        *bytes = peak_bytes > *bytes ? peak_bytes : *bytes;
    }
    return n;
}

/* Each process finds the card empty, so the peaks of several may add up to more than it has. */
static void print_device(const struct sim_card *c, int device)
{
    const struct call_use *u = &c->use[device];
    char total[UNITS_TEXT], peak[UNITS_TEXT], taken[UNITS_TEXT], refused[UNITS_TEXT];
    uint64_t largest_bytes;
    const size_t n = sim_card_largest_process(c, device, &largest_bytes);
    fprintf(stderr, "  device %d: peak %s of %s, plus %s for the context and other processes\n", device,
            units_format_bytes(largest_bytes, peak), units_format_bytes(u->total_bytes, total),
            units_format_bytes(u->taken_bytes, taken));
    if (n > 1)
        fprintf(stderr, "    of %zu processes, each on an empty card; their peaks add up to %s\n", n,
                units_format_bytes(u->peak_bytes, peak));
    fprintf(stderr, "    %" PRIu64 " calls took memory or gave it back", u->calls);
    if (u->refusals > 0)
        fprintf(stderr, "; %" PRIu64 " %s refused for lack of memory, the last for %s%s", u->refusals,
                u->refusals == 1 ? "was" : "were", units_format_bytes(u->last_refused_bytes, refused),
                u->refusals == 1 ? "" : " (PyTorch calls twice before it refuses a request)");
    fprintf(stderr, "\n");
}

const struct process_use *sim_card_processes(const struct sim_card *c, size_t *n)
{
    *n = c->n_uses;
    return c->processes;
}

const char *sim_card_capability(const struct sim_card *c)
{
    return c->capability;
}

const struct workspaces_asked *sim_card_workspaces(const struct sim_card *c)
{
    return &c->workspaces;
}

bool sim_card_has_search(const struct sim_card *c)
{
    return c->has_search;
}

bool sim_card_is_of_library(const struct sim_card *c)
{
    const unsigned libraries = 1u << CALL_FRAMEWORK_JAX | 1u << CALL_FRAMEWORK_TENSORFLOW;
    return c->jax.is_there || c->jax.mixed[0] != '\0' ||
           ((c->frameworks & libraries) != 0 && (c->frameworks & 1u << CALL_FRAMEWORK_PYTORCH) == 0);
}

bool sim_card_has_asked_events(const struct sim_card *c)
{
    return c->has_asked_events;
}

const struct jax_held *sim_card_jax(const struct sim_card *c)
{
    return &c->jax;
}

static void print_jax(const struct sim_card *c)
{
    struct words w = {0};
    jax_held_say(&w, &c->jax);
    if (w.n > 0)
        print_paragraph(w.text);
}

static void print_workspaces(const struct sim_card *c)
{
    struct words w = {0};
    workspaces_asked_say(&w, &c->workspaces);
    if (c->workspaces.answer == WORKSPACES_LIKELY && w.text[0] != '\0')
        words_add(&w, " The least and the most: --device CARD,workspaces=none and =most; predict tries both.");
    if (w.text[0] != '\0')
        print_paragraph(w.text);
    if (c->has_search)
        print_paragraph(SEARCH_CAUTION);
}

/* "What the program does not show may move this peak: A, B." */
static void print_open_sources(const struct sim_card *c, bool ends_follow)
{
    struct words w = {0};
    for (int i = 0; i < RANGE_SOURCES; i++)
        if (c->is_open[i])
            words_add(&w, "%s%s", w.text[0] == '\0' ? "What the program does not show may move this peak: " : ", ",
                      range_source_names[i]);
    if (w.text[0] == '\0')
        return;
    words_add(&w, ends_follow ? "." : ". How far, --ends tells, or replay predict.");
    print_paragraph(w.text);
}

/* A real card of that name has less for the program. */
static void print_context(const struct sim_card *c)
{
    char bytes[UNITS_TEXT], text[256];
    const struct card_context *context = card_context_in(c->device);
    if (context == NULL || strstr(c->device, "context=") != NULL)
        return;
    snprintf(text, sizeof text, "A real card of that name also holds the CUDA context and libraries, about %s. To set "
             "that aside: --device %.60s,context=%" PRIu64 "MiB", units_format_bytes(context->bytes, bytes),
             strncmp(c->device, "sim:", 4) == 0 ? c->device + 4 : c->device, context->bytes >> 20);
    print_paragraph(text);
}

static void print_real(const struct sim_card *c)
{
    bool is_any = false;
    for (size_t i = 0; i < c->real.n; i++)
        is_any = is_any || c->real.all[i].is_wanted;
    if (!wants_real(&c->asked))
        return;
    struct text_lines lines = begin_paragraph(
        is_any ? "real libraries, as installed:"
               : "--libraries real: none that the program wants and that works without NVIDIA's driver was found "
                 "(NVRTC, nvJitLink; in Python's packages, $CUDA_HOME, $CUDA_PATH, /usr/local/cuda)");
    for (size_t i = 0; i < c->real.n; i++)
        if (c->real.all[i].is_wanted)
            text_lines_put(&lines, c->real.all[i].path, strlen(c->real.all[i].path));
    fputc('\n', stderr);
}

/* What a reader must know before taking the figures for a GPU's. */
static void print_cautions(const struct sim_card *c)
{
    print_paragraph(sim_card_is_of_library(c)
                        ? "No kernel ran: what is read from the card is zeros, and a check that guards an error "
                          "passes. A program that branches on it (a loss, a gradient norm) may have taken another path."
                        : "No kernel ran. Small tensors of PyTorch's were computed beside the card; other results are "
                          "zeros, and a single number that PyTorch reads is 1e-6. A program that branches on one (a "
                          "loss, a gradient norm) may have taken another path.");
    if (c->stood_in.n == 0)
        return;
    print_workspaces(c);
    print_real(c);
    if (c->jax.is_there)
        print_paragraph("XLA's autotuner saw all its candidates take the same time. On a card it may take others, with "
                        "other workspaces: XLA_FLAGS=--xla_gpu_autotune_level=0 leaves it out, there and here.");
    print_paragraph("cuBLAS's workspace is counted, because the program allocates it, and so is what cuDNN's RNNs and "
                    "attention need. NCCL's buffers are not modelled.");
    struct text_lines lines = begin_paragraph("stand-ins (every call succeeds and does nothing):");
    for (size_t i = 0; i < c->stood_in.n; i++)
        text_lines_put(&lines, c->stood_in.names[i], strlen(c->stood_in.names[i]));
    fputc('\n', stderr);
}

void sim_card_print(const struct sim_card *c, int status, bool ends_follow)
{
    fprintf(stderr, "replay %s: ", c->asked.command);
    shown_put(stderr, c->asked.program);
    fprintf(stderr, " ended with status %d; %zu process%s used the simulated card\n", status, c->n_processes,
            c->n_processes == 1 ? "" : "es");
    for (int i = 0; i < CALL_DEVICES_MAX; i++)
        if (is_used(&c->use[i]))
            print_device(c, i);
    if (c->lost > 0)
        fprintf(stderr, "  %" PRIu64 " calls are missing: a journal could not be made or could not grow\n", c->lost);
    if (c->n_processes > 0) {
        print_jax(c);
        print_context(c);
        print_open_sources(c, ends_follow);
        print_cautions(c);
        print_names("entry points that did nothing:", &c->no_effect);
    }
    print_names("entry points that are not simulated (their calls failed):", &c->refused);
    print_names("entry points that were looked up and do not exist:", &c->missing);
}

void sim_card_json(struct json_writer *json, const struct ended_card *e)
{
    const struct sim_card *c = e->card;
    const int status = e->status;
#define ANSWER_TABLE "answers/sim_card.def"
#include "answers/as_json.def"
}
