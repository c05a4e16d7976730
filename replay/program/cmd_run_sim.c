/* `replay run-sim`: starts a program on the simulated CUDA, and says afterwards what happened there. */
#include "replay/program/cli.h"

#include "base/installed_file.h"
#include "base/units.h"
#include "cudasim/core.h"
#include "cudasim/device_text.h"
#include "cudasim/journal_read.h"
#include "cudasim/standins.h"
#include "replay/program/run_child.h"
#include "replay/program/sim_record.h"

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { NAMES_MAX = 512 };

/* Distinct names. */
struct name_list {
    char   names[NAMES_MAX][sizeof((struct journal_record *)0)->name];
    size_t n;
};

/* One run. Folders are absolute; texts are malloc'ed. */
struct sim_run {
    const struct options *o;
    char   libraries[PATH_MAX];      /* where the simulated CUDA lies */
    char   journals[PATH_MAX];       /* of this run only; removed at the end, unless what they hold was not written */
    struct standins standins;
    struct journal_use use[JOURNAL_DEVICES];
    struct name_list nothing, refused, missing;
    size_t n_processes, n_unread;    /* n_unread: journals that are none */
    uint32_t pid;                    /* of the journal that was read last */
    bool   has_opened;               /* it is counted in n_processes */
    uint64_t others_bytes[JOURNAL_DEVICES];          /* peaks of the processes before it, added up */
};

/* ---- before ---- */

static enum err find_libraries(struct sim_run *run, struct err_detail *why)
{
    const enum err e = beside_find("cudasim/libreplay-cudasim.so", run->libraries, why);
    char *slash = e == ERR_OK ? strrchr(run->libraries, '/') : NULL;
    if (slash != NULL)
        *slash = '\0';
    return e;
}

static enum err make_journals(struct sim_run *run, struct err_detail *why)
{
    const char *tmp = getenv("TMPDIR");
    snprintf(run->journals, sizeof run->journals, "%s/replay-run-XXXXXX", tmp != NULL && tmp[0] != '\0' ? tmp : "/tmp");
    if (mkdtemp(run->journals) != NULL)
        return ERR_OK;
    const enum err e = err_set(why, ERR_IO, 0, "%.150s: cannot be made: %s", run->journals, strerror(errno));
    run->journals[0] = '\0';
    return e;
}

static enum err cache_folder(char out[PATH_MAX], struct err_detail *why)
{
    const char *cache = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
    if (cache != NULL && cache[0] == '/')
        snprintf(out, PATH_MAX, "%s/replay", cache);
    else if (home != NULL && home[0] == '/')
        snprintf(out, PATH_MAX, "%s/.cache/replay", home);
    else
        return err_set(why, ERR_USAGE, 0, "no place for stand-ins: neither XDG_CACHE_HOME nor HOME is set");
    return ERR_OK;
}

/* Where the torch lies that the command's Python would import; "" for none. */
static enum err find_torch(const struct options *o, char **out, struct err_detail *why)
{
    static const char *const script = "import importlib.util as u; s = u.find_spec('torch'); "
                                      "print(s.submodule_search_locations[0] if s else '')";
    const char *slash = strrchr(o->inputs[0], '/'), *name = slash == NULL ? o->inputs[0] : slash + 1;
    const char *python = strncmp(name, "python", 6) == 0 ? o->inputs[0] : "python3";
    const char *const argv[] = { python, "-c", script, NULL };
    return child_first_line(argv, out, why);
}

/* The folders whose libraries get stand-ins: as given, or torch's own and its lib/. */
static enum err make_standins(struct sim_run *run, struct err_detail *why)
{
    char cache[PATH_MAX], lib[PATH_MAX];
    char *torch = NULL;
    enum err e = cache_folder(cache, why);
    if (e != ERR_OK)
        return e;
    const char *given = run->o->texts[FLAG_TORCH_LIBS];
    if (given == NULL && (e = find_torch(run->o, &torch, why)) != ERR_OK)
        return e;
    const char *folders[2] = { given != NULL ? given : torch, lib };
    const bool has_any = folders[0][0] != '\0';
    snprintf(lib, sizeof lib, "%s/lib", folders[0]);
    if (has_any)
        e = standins_make(folders, access(lib, R_OK) == 0 ? 2 : 1, cache, &run->standins, why);
    free(torch);
    return e;
}

/* Sonames to load before all else: what carries a run path of its own would find the machine's libraries first. What
 * the user preloads stays in front: a sanitizer must be the first. */
static enum err put_preload(struct child_env *env, const struct sim_run *run, struct err_detail *why)
{
    const char *old = getenv("LD_PRELOAD");
    size_t room = 64 + (old == NULL ? 0 : strlen(old) + 1);
    for (size_t i = 0; i < run->standins.n_sonames; i++)
        room += strlen(run->standins.sonames[i]) + 1;
    char *list = malloc(room);
    if (list == NULL)
        return err_set(why, ERR_HOST_NOMEM, 0, "the host is out of memory");
    snprintf(list, room, "%s%slibreplay-cudasim.so:libcuda.so.1:libnvidia-ml.so.1", old == NULL ? "" : old,
             old == NULL || old[0] == '\0' ? "" : ":");
    for (size_t i = 0; i < run->standins.n_sonames; i++) {
        strcat(list, ":");
        strcat(list, run->standins.sonames[i]);
    }
    const enum err e = child_env_put(env, "LD_PRELOAD", list, '\0', why);
    free(list);
    return e;
}

static enum err make_env(struct child_env *env, const struct sim_run *run, struct err_detail *why)
{
    char paths[2 * PATH_MAX], python[PATH_MAX + 8];
    const char *folder = run->standins.folder;
    snprintf(paths, sizeof paths, "%s%s%s", run->libraries, folder != NULL ? ":" : "", folder != NULL ? folder : "");
    snprintf(python, sizeof python, "%s/python", run->libraries);
    enum err e = child_env_put(env, "LD_LIBRARY_PATH", paths, ':', why);
    if (e == ERR_OK)
        e = put_preload(env, run, why);
    if (e == ERR_OK)
        e = child_env_put(env, "PYTHONPATH", python, ':', why);
    if (e == ERR_OK)
        e = child_env_put(env, CUDASIM_ENV_DEVICE, run->o->device != NULL ? run->o->device : "sim", '\0', why);
    if (e == ERR_OK)
        e = child_env_put(env, CUDASIM_ENV_JOURNAL, run->journals, '\0', why);
    if (e == ERR_OK && run->o->texts[FLAG_RECORD] != NULL)
        e = child_env_put(env, "REPLAY_TORCH_RECORD", run->journals, '\0', why);
    return e;
}

/* ---- after ---- */

static void name_list_put(struct name_list *l, const char *name)
{
    for (size_t i = 0; i < l->n; i++)
        if (strcmp(l->names[i], name) == 0)
            return;
    if (l->n < NAMES_MAX)
        strcpy(l->names[l->n++], name);
}

static int name_compare(const void *a, const void *b)
{
    return strcmp(a, b);
}

static void name_list_sort(struct name_list *l)
{
    qsort(l->names, l->n, sizeof l->names[0], name_compare);
}

/* The next journal in order of names. Several processes may hold memory at once, so their peaks are added; what one
 * process was in turn (exec) comes one after the other, and the largest counts. */
static void begin_journal(struct sim_run *run, const struct journal_view *v)
{
    const bool is_other = v->head.pid != run->pid;
    run->has_opened = run->has_opened && !is_other;
    run->pid = v->head.pid;
    for (int i = 0; i < JOURNAL_DEVICES; i++) {
        if (is_other)
            run->others_bytes[i] = run->use[i].peak_bytes;
        run->use[i].held_bytes = run->others_bytes[i];
    }
}

static void take_journal(struct sim_run *run, const struct journal_view *v)
{
    begin_journal(run, v);
    journal_sum(v, run->use);
    bool has_opened = run->has_opened;
    for (size_t i = 0; i < v->n; i++) {
        const struct journal_record r = journal_at(v, i);
        has_opened = has_opened || r.kind == JOURNAL_OPEN;
        if (r.kind == JOURNAL_NOTHING)
            name_list_put(&run->nothing, r.name);
        else if (r.kind == JOURNAL_REFUSED)
            name_list_put(&run->refused, r.name);
        else if (r.kind == JOURNAL_MISSING)
            name_list_put(&run->missing, r.name);
    }
    run->n_processes += has_opened && !run->has_opened;
    run->has_opened = has_opened;
}

/* One that cannot be read takes nothing from the others: the run is over, and its status is the program's. */
static void read_journal(struct sim_run *run, const char *path)
{
    struct err_detail why = { .text = "" };
    struct journal_view v;
    if (journal_view_file(path, &v, &why) != ERR_OK) {
        fprintf(stderr, "replay run-sim: %s: it is left out\n", why.text);
        run->n_unread++;
        return;
    }
    if (v.records == NULL)
        fprintf(stderr, "replay run-sim: %s: is empty: its process was killed before its first call was noted\n", path);
    else
        take_journal(run, &v);
    journal_view_close(&v);
}

static int is_journal(const struct dirent *f)
{
    return journal_is_name(f->d_name);
}

/* In order of names: the journals of one process follow each other. */
static enum err read_results(struct sim_run *run, struct err_detail *why)
{
    struct dirent **files;
    const int n = scandir(run->journals, &files, is_journal, alphasort);
    if (n < 0)
        return err_set(why, ERR_IO, 0, "%.150s: %s", run->journals, strerror(errno));
    for (int i = 0; i < n; i++) {
        char path[PATH_MAX + NAME_MAX + 2];
        snprintf(path, sizeof path, "%s/%s", run->journals, files[i]->d_name);
        read_journal(run, path);
        free(files[i]);
    }
    free(files);
    name_list_sort(&run->nothing);
    name_list_sort(&run->refused);
    name_list_sort(&run->missing);
    return ERR_OK;
}

static void remove_journals(const struct sim_run *run)
{
    DIR *d = run->journals[0] == '\0' ? NULL : opendir(run->journals);
    for (const struct dirent *f; d != NULL && (f = readdir(d)) != NULL;)
        if (f->d_name[0] != '.')
            unlinkat(dirfd(d), f->d_name, 0);
    if (d != NULL) {
        closedir(d);
        rmdir(run->journals);
    }
}

/* What was recorded and could not be written as it was asked for; an empty folder goes. */
static void keep_journals(const struct sim_run *run)
{
    if (run->journals[0] != '\0' && rmdir(run->journals) != 0)
        fprintf(stderr, "replay run-sim: %s: journals are left there\n", run->journals);
}

static void print_names(const char *what, const struct name_list *l)
{
    if (l->n == 0)
        return;
    fprintf(stderr, "  %s:", what);
    for (size_t i = 0; i < l->n; i++)
        fprintf(stderr, " %s", l->names[i]);
    fprintf(stderr, "\n");
}

static bool is_used(const struct journal_use *u)
{
    return u->total_bytes > 0 && u->calls + u->refusals > 0;
}

static void print_device(int device, const struct journal_use *u)
{
    char total[UNITS_TEXT], peak[UNITS_TEXT], taken[UNITS_TEXT], refused[UNITS_TEXT];
    fprintf(stderr, "  device %d: %s, peak %s in segments, %s held by context and others; %" PRIu64 " calls", device,
            units_format_bytes(u->total_bytes, total), units_format_bytes(u->peak_bytes, peak),
            units_format_bytes(u->taken_bytes, taken), u->calls);
    if (u->refusals > 0)
        fprintf(stderr, ", %" PRIu64 " refused for lack of memory, the last of %s", u->refusals,
                units_format_bytes(u->last_refused_bytes, refused));
    fprintf(stderr, "\n");
}

/* What a reader must know who takes the numbers for those of a GPU. */
static void print_cautions(const struct sim_run *run)
{
    fprintf(stderr, "  values are not computed, and what is read from a device is zeros: a program that branches on a "
                    "result (a loss, a gradient norm) may have taken another way\n");
    if (run->standins.n_made == 0)
        return;
    fprintf(stderr, "  stand-ins, whose calls succeed and do nothing:");
    for (size_t i = 0; i < run->standins.n_made; i++)
        fprintf(stderr, " %s", run->standins.sonames[i]);
    fprintf(stderr, "\n  workspaces: cuBLAS's is PyTorch's own allocation and is there; those of cuDNN (switched off: "
                    "PyTorch's own kernels ran), cuFFT, cuSOLVER, cuSPARSE and NCCL are not modelled\n");
}

static void print_report(const struct sim_run *run, int status)
{
    fprintf(stderr, "replay run-sim: %s ended with status %d; %zu process%s used the simulated CUDA\n",
            run->o->inputs[0], status, run->n_processes, run->n_processes == 1 ? "" : "es");
    for (int i = 0; i < JOURNAL_DEVICES; i++)
        if (is_used(&run->use[i]))
            print_device(i, &run->use[i]);
    if (run->n_processes > 0) {
        print_cautions(run);
        print_names("did nothing", &run->nothing);
    }
    print_names("not simulated, refused", &run->refused);
    print_names("asked for by name and unknown", &run->missing);
}

static void json_names(struct json_writer *w, const char *key, const struct name_list *l)
{
    json_put_array(w, key);
    for (size_t i = 0; i < l->n; i++)
        json_put_text(w, NULL, l->names[i]);
    json_end_array(w);
}

static void json_device(struct json_writer *w, int device, const struct journal_use *u)
{
    json_put_object(w, NULL);
    json_put_number(w, "device", (unsigned)device);
    json_put_number(w, "total_bytes", u->total_bytes);
    json_put_number(w, "peak_bytes", u->peak_bytes);
    json_put_number(w, "taken_bytes", u->taken_bytes);
    json_put_number(w, "calls", u->calls);
    json_put_number(w, "refusals", u->refusals);
    json_put_number_unless(w, "last_refused_bytes", u->refusals > 0 ? u->last_refused_bytes : 0, 0);
    json_end_object(w);
}

/* Everything but the files. */
static void json_report(struct json_writer *w, const struct sim_run *run, int status)
{
    json_put_text(w, "schema", "replay-run-sim/1");
    json_put_text(w, "program", run->o->inputs[0]);
    json_put_number(w, "status", (unsigned)status);
    json_put_number(w, "processes", run->n_processes);
    json_put_array(w, "devices");
    for (int i = 0; i < JOURNAL_DEVICES; i++)
        if (is_used(&run->use[i]))
            json_device(w, i, &run->use[i]);
    json_end_array(w);
    json_names(w, "did_nothing", &run->nothing);
    json_names(w, "not_simulated", &run->refused);
    json_names(w, "unknown", &run->missing);
    json_put_array(w, "stand_ins");
    for (size_t i = 0; i < run->standins.n_made; i++)
        json_put_text(w, NULL, run->standins.sonames[i]);
    json_end_array(w);
}

/* Says what happened, and makes the traces; `out`: for the JSON, or NULL. */
static enum err report(const struct sim_run *run, int status, FILE *out, struct err_detail *why)
{
    const char *path = run->o->texts[FLAG_RECORD];
    struct json_writer w = json_writer(out);
    print_report(run, status);
    if (out == NULL)
        return path != NULL ? sim_record(run->journals, path, NULL, why) : ERR_OK;
    json_put_object(&w, NULL);
    json_report(&w, run, status);
    json_put_array(&w, "files");
    const enum err e = path != NULL ? sim_record(run->journals, path, &w, why) : ERR_OK;
    json_end_array(&w);
    json_end_object(&w);
    return e;
}

/* ---- the command ---- */

static enum err check_device(const struct options *o, struct err_detail *why)
{
    struct device_config cfg;
    const struct device_ops *ops;
    int count;
    return cudasim_parse_devices(o->device != NULL ? o->device : "sim", &cfg, &ops, &count, why);
}

static enum err run_all(struct sim_run *run, FILE *json, int *status, struct err_detail *why)
{
    struct child_env env = { .n = 0 };
    enum err e = check_device(run->o, why);
    if (e == ERR_OK)
        e = find_libraries(run, why);
    if (e == ERR_OK)
        e = make_standins(run, why);
    if (e == ERR_OK)
        e = make_journals(run, why);
    if (e == ERR_OK)
        e = make_env(&env, run, why);
    if (e == ERR_OK)
        e = child_run(run->o->inputs, &env, NULL, status, why);
    child_env_close(&env);
    if (e == ERR_OK)
        e = read_results(run, why);
    return e == ERR_OK ? report(run, *status, json, why) : e;
}

static enum exit_status run_sim_main(const struct options *o)
{
    struct err_detail why = { .text = "" };
    int status = 0;
    struct sim_run *run = calloc(1, sizeof *run);
    if (run == NULL)
        return cli_fail(ERR_HOST_NOMEM, &why);
    run->o = o;
    struct output *json = NULL;
    enum err e = cli_open_json_of_command(o, &json, &why);
    if (e == ERR_OK)
        e = run_all(run, json == NULL ? NULL : output_file(json), &status, &why);
    if (e == ERR_OK)
        e = output_commit(&json, &why);
    output_abandon(json);
    standins_close(&run->standins);
    if ((e != ERR_OK || run->n_unread > 0) && o->texts[FLAG_RECORD] != NULL)
        keep_journals(run);
    else
        remove_journals(run);
    free(run);
    return e != ERR_OK ? cli_fail(e, &why) : (enum exit_status)status;
}

static const struct flag_use run_sim_flags[] = {
    TAKES_AS(DEVICE, "the simulated cards: 24GiB, h100-80g, sim:24GiB,context=450MiB, sim:h100-80g,count=2 (default: one "
                     "of 24 GiB)"),
    TAKES(RECORD), TAKES(TORCH_LIBS), TAKES_AS(JSON, "write the report as JSON; standard output is the program's"),
    TAKES(HELP), FLAGS_END,
};

const struct subcommand cmd_run_sim = {
    .name = "run-sim",
    .synopsis = "run-sim -- COMMAND...",
    .summary = "run a CUDA program without a GPU, on the simulated card, and record its memory",
    .text =
        "The program finds our CUDA runtime and driver; it is neither changed nor rebuilt. Memory calls behave as on a "
        "card of that size; kernels, copies and library calls succeed and do nothing. Libraries of NVIDIA that PyTorch "
        "wants and the machine may lack (cuBLAS, cuDNN, NCCL ...) get stand-ins. --device takes count=N for several "
        "cards.\n"
        "\n"
        "Examples:\n"
        "  replay run-sim --device sim:24GiB -- python train.py\n"
        "  replay run-sim --device sim:h100-80g,count=2 --record t.zst -- python ddp.py\n"
        "  replay run-sim --device sim:8GiB,context=450MiB -- ./my-cuda-program\n",
    .status_note = "The exit status is that of the program; 2 or 3 also if it could not be run.",
    .flags = run_sim_flags,
    .n_inputs_min = 1,
    .n_inputs_max = SIZE_MAX,
    .run = run_sim_main,
};
