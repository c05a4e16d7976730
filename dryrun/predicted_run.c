/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/* Runs a program on the simulated card and stops it once the recording shows enough equal steps. */
#include "dryrun/predicted_run.h"

#include "base/monotonic_ms.h"
#include "base/progress.h"
#include "dryrun/card_sharing.h"
#include "dryrun/even_recording.h"
#include "dryrun/program_log.h"
#include "dryrun/run/journal_follow.h"
#include "dryrun/run/journal_folder.h"
#include "dryrun/run/journal_import.h"
#include "dryrun/run/run_child.h"
#include "dryrun/safe/scratch_folder.h"
#include "import/import.h"
#include "replay/recording/coverage.h"
#include "replay/recording/growth.h"

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

/* Time between looks; a look for steps waits this many times as long as the last one took. */
enum { LOOK_MS = 100, SEARCH_SHARE = 4 };

/* A program that holds more with every step is stopped after so many. */
enum { GROWING_STEPS = 1000 };

/* What recordings hold. */
struct found {
    uint64_t steps;                  /* the most that one of them holds */
    bool     is_growing;             /* one of them holds more with every step */
    uint64_t requests;               /* of all */
    struct timespec written;         /* the newest snapshot; 0: none, and traces grow with the program */
};

/* A run while it lasts. */
struct running {
    const struct run_request *request;
    struct predicted_run *run;
    struct following *following;
    const char *journals;            /* the folder */
    int64_t started_ms, next_search_ms, grown_ms;
    struct found found;              /* at the last look */
};

static bool ends_in(const char *text, const char *end)
{
    const size_t n = strlen(text), k = strlen(end);
    return n >= k && strcmp(text + n - k, end) == 0;
}

/* ---- steps, while it runs ---- */

static bool is_later(const struct timespec *a, const struct timespec *b)
{
    return a->tv_sec > b->tv_sec || (a->tv_sec == b->tv_sec && a->tv_nsec > b->tv_nsec);
}

enum followed { FOLLOWED_NOT, FOLLOWED_EPOCH, FOLLOWED_ALL, FOLLOWED_BY_NOTHING, FOLLOWED_IN_PARTS };

/* What PyTorch's hook says of a process that has optimizers (cudasim/python/replay_steps.py). */
struct told_steps {
    uint64_t repeated;               /* 0: it goes on */
    unsigned followed;               /* what was seen after them: as of enum followed */
    uint64_t growth_bytes;           /* that each of these steps left behind; 0: none, or too little to matter */
    uint64_t cut_reserved_bytes;     /* reserved when its loops were cut short; 0: they were not */
    struct told_rhythm rhythm;
};

/* False: it says nothing. */
static bool read_optimizer_steps(const char *folder, unsigned long pid, struct told_steps *told)
{
    char path[PATH_MAX];
    *told = (struct told_steps){ .repeated = 0 };
    const int n = snprintf(path, sizeof path, "%s/%lu.steps", folder, pid);
    FILE *f = (size_t)n < sizeof path ? journal_folder_text(path) : NULL;
    if (f == NULL)
        return false;
    if (fscanf(f, "%9" SCNu64 " %1u %18" SCNu64 " %9" SCNu64 " %18" SCNu64 " %9" SCNu64 " %95[ -~]",
               &told->repeated, &told->followed, &told->growth_bytes, &told->rhythm.growth_steps,
               &told->cut_reserved_bytes, &told->rhythm.unseen_turns, told->rhythm.unseen_at) < 1)
        told->repeated = 0;
    fclose(f);
    return true;
}

/* Takes what a process with optimizers says, if more repeated there than elsewhere. */
static void take_told(const struct told_steps *told, struct predicted_run *run)
{
    if (!run->has_optimizers)                    /* the loop around the model is not what trains it */
        run->ends_with_steps = false;
    run->has_optimizers = true;
    if (told->repeated <= run->optimizer_steps)
        return;
    run->optimizer_steps = told->repeated;
    run->turns_differ = told->followed == FOLLOWED_IN_PARTS;
    run->ran_to_end = told->followed == FOLLOWED_ALL || run->turns_differ;
    run->was_followed = told->followed == FOLLOWED_EPOCH || run->ran_to_end;
    run->ends_with_steps = told->followed == FOLLOWED_BY_NOTHING;
    run->told_growth_bytes = told->growth_bytes;
    run->cut_reserved_bytes = told->cut_reserved_bytes;
    run->rhythm = told->rhythm;
}

static void look_for_steps(const char *folder, struct predicted_run *run)
{
    struct told_steps told;
    DIR *d = opendir(folder);
    const struct dirent *entry;
    while (d != NULL && (entry = readdir(d)) != NULL)
        if (ends_in(entry->d_name, ".last-loop") && !run->has_optimizers)
            run->ends_with_steps = true;             /* sitecustomize.py */
        else if (ends_in(entry->d_name, ".steps") &&
                 read_optimizer_steps(folder, strtoul(entry->d_name, NULL, 10), &told))
            take_told(&told, run);
    if (d != NULL)
        closedir(d);
}

/* Adds what one recording holds. Growth is looked for once there are `least` steps. Of a process with optimizers what
 * repeats is no step: its hook counts them. */
static void search(const char *path, bool has_optimizers, uint64_t least, struct found *found)
{
    struct stat st;
    const struct import_config cfg = { .gpu = -1, .without_stacks = true };
    struct err_detail err;
    struct trace_reader *trace = NULL;
    struct steps steps = { .how = STEPS_NONE };
    struct step_growth growth = { .bytes_per_step = 0 };
    if (trace_open_any(path, NULL, &cfg, &trace, &err) != ERR_OK)
        return;                      /* nothing in it yet, or half written: the next look tells */
    const uint64_t requests = trace_info(trace)->by_kind[EVENT_ALLOC];
    if (has_optimizers || requests > COVERAGE_STEPS_EVENTS || steps_find(trace, &steps, &err) != ERR_OK)
        steps.whole = 0;
    if (steps.whole >= least && step_growth_find(trace, &steps, least, &growth, &err) != ERR_OK)
        steps.whole = 0;
    trace_close(trace);
    found->is_growing = found->is_growing || growth.bytes_per_step > 0;
    found->requests += requests;
    if (ends_in(path, ".pickle") && stat(path, &st) == 0 && is_later(&st.st_mtim, &found->written))
        found->written = st.st_mtim;
    found->steps = steps.whole > found->steps ? steps.whole : found->steps;
}

/* Whether a recording of this name may show steps. The driver's calls of a process that has a snapshot do not: its
 * allocator keeps what the program frees. */
static bool is_searched(const char *folder, const char *name)
{
    char path[PATH_MAX];
    struct stat st;
    if ((size_t)snprintf(path, sizeof path, "%s/%s", folder, name) >= sizeof path || lstat(path, &st) != 0 ||
        !S_ISREG(st.st_mode))                    /* a pipe that the program made there would be waited for */
        return false;
    if (ends_in(name, ".so-far.pickle"))
        return true;
    if (!ends_in(name, ".zst"))
        return false;
    snprintf(path, sizeof path, "%s/%lu.so-far.pickle", folder, strtoul(name, NULL, 10));
    return access(path, F_OK) != 0;
}

static struct found search_all(const char *folder, uint64_t least)
{
    struct found found = { .steps = 0 };
    DIR *d = opendir(folder);
    const struct dirent *entry;
    while (d != NULL && (entry = readdir(d)) != NULL) {
        char path[PATH_MAX];
        struct told_steps told;
        if (is_searched(folder, entry->d_name) &&
            (size_t)snprintf(path, sizeof path, "%s/%s", folder, entry->d_name) < sizeof path)
            search(path, read_optimizer_steps(folder, strtoul(entry->d_name, NULL, 10), &told), least, &found);
    }
    if (d != NULL)
        closedir(d);
    return found;
}

/* Looks for steps; the next look waits in proportion to what this one took. Time without requests counts only as far as
 * a snapshot shows it: an old one may miss some. */
static void running_search(struct running *r)
{
    const int64_t began = monotonic_ms();
    if (began < r->next_search_ms)
        return;
    const struct found found = search_all(r->journals, r->request->steps);
    const int64_t now = monotonic_ms();
    r->next_search_ms = now + SEARCH_SHARE * (now - began);
    const bool is_fresh = found.written.tv_sec == 0 || is_later(&found.written, &r->found.written);
    if (found.requests != r->found.requests)
        r->grown_ms = now;
    if (found.requests != r->found.requests || is_fresh)
        r->run->quiet_s = (uint64_t)(now - r->grown_ms) / 1000;
    r->found = found;
    r->run->whole_steps = found.steps;
}

static void show_progress(const struct running *r, int64_t now)
{
    if (isatty(STDERR_FILENO) == 0)
        return;
    progress_erase_line();
    fprintf(stderr, "%.50s: %" PRId64 " s", r->request->title, (now - r->started_ms) / 1000);
    if (r->run->whole_steps > 0)
        fprintf(stderr, ", %" PRIu64 " steps", r->run->whole_steps);
    fflush(stderr);
}

static bool running_stop(struct running *r, enum run_end end)
{
    r->run->end = end;
    return false;
}

/* Whether what a look found is enough for an answer: one step more than are wanted, because the recording is cut where
 * one of them ends. */
static bool has_enough(const struct found *found, uint64_t least)
{
    return least > 0 && found->steps > least && (!found->is_growing || found->steps > GROWING_STEPS);
}

static bool running_look(void *arg)
{
    struct running *r = arg;
    following_look(r->following);
    program_log_trim(r->run->log);
    show_progress(r, monotonic_ms());
    if (*r->request->interrupted != 0)
        return running_stop(r, RUN_INTERRUPTED);
    look_for_steps(r->journals, r->run);
    if (r->run->optimizer_steps > 0)
        return running_stop(r, RUN_REPEATED);
    const struct found before = r->found;
    running_search(r);                           /* what has repeated must go on: layers of one forward pass do not */
    if (has_enough(&before, r->request->steps) && has_enough(&r->found, r->request->steps) &&
        r->found.requests > before.requests)
        return running_stop(r, RUN_REPEATED);
    const int64_t now = monotonic_ms();
    if ((uint64_t)(now - r->started_ms) / 1000 < r->request->within_s)
        return true;
    return running_stop(r, RUN_TOO_LONG);
}

/* ---- the recordings, afterwards ---- */

/* Whether the driver's calls of the same process lie beside this trace. */
static bool is_beside_calls(const char *path)
{
    char calls[PATH_MAX];
    const int n = (int)strlen(path) - (int)strlen(".zst");
    return (size_t)snprintf(calls, sizeof calls, "%.*s.driver.zst", n, path) < sizeof calls && access(calls, F_OK) == 0;
}

struct pooled_look {
    const struct pool_name *pools;
    bool is_pooled;
};

/* The simulated card names the driver's pools by their handles. */
static void look_for_pool(void *arg, const struct event *ev, uint64_t number)
{
    struct pooled_look *look = arg;
    (void)number;
    look->is_pooled &= ev->kind != EVENT_ALLOC || look->pools[ev->pool].id[0] != 0;
}

static bool is_profile_of_jax(struct trace_reader *trace)
{
    const char *source = trace_meta(trace, "source");
    return source != NULL && strcmp(source, importer_xplane.name) == 0;
}

/* Takes a trace if it is better than the one taken before: requests to an allocator before those to the driver, then
 * the larger peak. */
static enum err take_trace(struct predicted_run *run, const char *path, struct err_detail *err)
{
    struct trace_reader *trace;
    enum err e = trace_open(path, &trace, err);
    if (e != ERR_OK)
        return e;
    const uint64_t bytes = trace_info(trace)->peak_requested_bytes;
    const bool is_of_requests = is_beside_calls(path), is_of_jax = is_of_requests && is_profile_of_jax(trace);
    struct pooled_look look = {.pools = trace_pools(trace), .is_pooled = !is_of_requests};
    if (!is_of_requests)
        e = trace_each_event(trace, look_for_pool, &look, err);
    trace_close(trace);
    if (e != ERR_OK)
        return e;
    run->n_recordings++;
    const bool was_of_requests = run->is_of_pytorch || run->is_of_jax;
    if (run->trace[0] != '\0' && (is_of_requests < was_of_requests ||
                                  (is_of_requests == was_of_requests && bytes <= run->live_bytes)))
        return ERR_OK;
    snprintf(run->trace, sizeof run->trace, "%s", path);
    run->is_of_pytorch = is_of_requests && !is_of_jax;
    run->is_of_jax = is_of_jax;
    run->is_pooled = look.is_pooled;
    run->live_bytes = bytes;
    return ERR_OK;
}

/* Of one process, the requests to its allocator or, if there are none, its calls to the driver. */
static int is_trace(const struct dirent *f)
{
    return ends_in(f->d_name, ".zst") && !ends_in(f->d_name, ".driver.zst");
}

static enum err choose_trace(struct predicted_run *run, struct err_detail *err)
{
    struct dirent **files = NULL;
    const int n = scandir(run->folder, &files, is_trace, alphasort);
    enum err e = n < 0 ? err_at(err, ERR_IO, 0, run->folder, "cannot be read: %s", strerror(errno)) : ERR_OK;
    for (int i = 0; i < n; i++) {
        char path[PATH_MAX];
        if (e == ERR_OK && (size_t)snprintf(path, sizeof path, "%s/%s", run->folder, files[i]->d_name) < sizeof path)
            e = take_trace(run, path, err);
        free(files[i]);
    }
    free(files);
    return e;
}

/* The equal steps that an answer rests on. Of a program with optimizers its hook counts them: what repeats in the
 * recording may be less than one. How many more a recording holds than were waited for depends on the machine. */
static uint64_t whole_steps(const struct predicted_run *run, uint64_t least, uint64_t repeated)
{
    const bool is_growing = run->growth.bytes_per_step > 0;
    if (run->end == RUN_REPEATED && run->optimizer_steps > 0)
        return run->optimizer_steps;
    if (run->has_optimizers && run->end != RUN_ENDED && !is_growing)
        return 0;
    return run->end == RUN_REPEATED && !is_growing && repeated > least ? least : repeated;
}

/* What the clock alone has ended is cut to the steps that were wanted. */
static enum err make_even(const struct predicted_run *run, uint64_t least, struct err_detail *err)
{
    struct trace_reader *trace;
    struct coverage coverage;
    struct step_growth growth = { .bytes_per_step = 0 };
    if (run->end != RUN_REPEATED || run->has_optimizers)
        return ERR_OK;
    enum err e = trace_open(run->trace, &trace, err);
    if (e != ERR_OK)
        return e;
    e = coverage_read(trace, &coverage, err);
    if (e == ERR_OK)
        e = step_growth_find(trace, &coverage.steps, least, &growth, err);
    trace_close(trace);
    return e == ERR_OK ? even_recording_cut(run->trace, &coverage.steps,
                                            growth.bytes_per_step > 0 ? GROWING_STEPS : least, err) : e;
}

/* The line that `why` names of this recording. */
static enum err find_growing_line(struct predicted_run *run, struct trace_reader *trace, struct err_detail *err)
{
    struct growth g;
    const struct trace_info *info = trace_info(trace);
    const enum err e = growth_find(trace, info->events, info->peak_requested_bytes, &g, err);
    if (e == ERR_OK && g.is_found && g.lines.n > 0 && info->n_stacks > 0)
        snprintf(run->grows_at, sizeof run->grows_at, "%s", holder_name(&g.lines, 0));
    growth_close(&g);
    return e;
}

/* What the chosen recording covers. */
static enum err read_coverage(struct predicted_run *run, uint64_t least, struct err_detail *err)
{
    struct trace_reader *trace;
    struct coverage coverage;
    enum err e = make_even(run, least, err);
    if (e != ERR_OK)
        return e;
    e = trace_open(run->trace, &trace, err);
    if (e != ERR_OK)
        return e;
    const bool has_waits = run->has_waits || trace_info(trace)->by_kind[EVENT_FREE_REQUESTED] > 0;
    const uint64_t reserved_bytes = trace_info(trace)->recorded_peak_reserved_bytes;
    e = coverage_read(trace, &coverage, err);
    if (run->is_of_jax)                          /* what XLA's autotuner repeats is no step */
        coverage.steps = (struct steps){ .how = STEPS_NONE };
    if (e == ERR_OK)
        e = step_growth_find(trace, &coverage.steps, least, &run->growth, err);
    if (run->growth.bytes_per_step == 0 && run->end == RUN_REPEATED)
        run->growth.bytes_per_step = run->told_growth_bytes;
    if (e == ERR_OK && run->growth.bytes_per_step > 0)
        e = find_growing_line(run, trace, err);
    trace_close(trace);
    if (e != ERR_OK)
        return e;
    run->has_waits = has_waits;
    run->reserved_bytes = run->is_of_pytorch ? reserved_bytes : 0;
    run->whole_steps = whole_steps(run, least, coverage.steps.whole);
    run->is_refused = coverage.ends == ENDS_REFUSED && !(run->end == RUN_ENDED && run->status == 0);
    run->survived = run->is_refused ? 0 : coverage.refusals;
    run->refused_bytes = coverage.refused_bytes;
    return ERR_OK;
}

/* A program that asked for no memory has no recording, which is an answer. */
static enum err take_recordings(struct predicted_run *run, const struct sim_card *card,
                                const struct run_request *request, struct err_detail *err)
{
    char path[PATH_MAX];
    if ((size_t)snprintf(path, sizeof path, "%s/run.zst", run->folder) >= sizeof path)
        return err_at(err, ERR_IO, 0, run->folder, "the name is too long");
    struct recording_made made = { .is_whole = true, .was_interrupted = run->end == RUN_INTERRUPTED };
    enum err e = recording_import(sim_card_journals(card), path, RECORDING_OF_PREDICT, request->of,
                                  sim_card_capability(card), &made, err);
    recording_made_close(&made);
    if ((e == ERR_OK || e == ERR_UNSUPPORTED) && !made.is_whole)
        return recording_check(&made, err);
    if (e == ERR_UNSUPPORTED)
        return ERR_OK;
    if (e == ERR_OK)
        e = choose_trace(run, err);
    return e == ERR_OK && run->trace[0] != '\0' ? read_coverage(run, request->steps, err) : e;
}

bool predicted_run_is_out_of_jax(const struct predicted_run *run)
{
    return run->jax.is_there && run->status != 0 &&
           strstr(run->failure.line, "RESOURCE_EXHAUSTED: Out of memory") != NULL;
}

/* Whether it, or a process of it, failed, and whether for another reason than memory. */
static void read_failure(struct predicted_run *run)
{
    const bool has_status = run->end == RUN_ENDED && run->status != 0;
    if (has_status)
        program_failure_read(run->log, &run->failure);
    else
        program_failure_of_rank(run->log, &run->failure);
    if (has_status && run->is_of_jax && predicted_run_is_out_of_jax(run))
        run->is_refused = true;
    run->has_failed = !run->is_refused && (has_status || run->failure.line[0] != '\0');
}

/* Without a search of algorithms there is no such level. */
static enum run_level level_of(const struct predicted_run *run, enum run_level level)
{
    return level == RUN_SEARCH && !(run->has_search && run->are_workspaces_open) ? RUN_MOST : level;
}

bool predicted_run_is_at(const struct predicted_run *run, enum run_level of_run, enum run_level wanted)
{
    const enum run_level made = level_of(run, of_run), level = level_of(run, wanted);
    const bool is_of_least = run->branches.sizes.n > 0 || run->branches.loops.n > 0;
    const bool is_of_sizes = is_of_least && (made == RUN_LEAST) != (level == RUN_LEAST);
    const bool is_late = made == RUN_MOST || made == RUN_SEARCH, should_be = level == RUN_MOST || level == RUN_SEARCH;
    const bool is_of_waits = run->has_waits && is_late != should_be;
    const bool is_of_branches = run->branches.places.n > 0 && (made == RUN_OTHER) != (level == RUN_OTHER);
    const bool are_expected = (made == RUN_EXPECTED || made == RUN_OTHER) &&
                              (level == RUN_EXPECTED || level == RUN_OTHER);
    const bool is_of_workspaces = run->are_workspaces_open && !are_expected;
    const bool is_of_donation = (made == RUN_DONATED) != (level == RUN_DONATED);
    return made == level || (!is_of_donation && !is_of_workspaces && !is_of_sizes && !is_of_waits && !is_of_branches);
}

bool predicted_run_adapts(const struct predicted_run *run)
{
    return run->survived > 0 || run->branches.looked_at_memory[0] != '\0' || run->jax.is_there;
}

bool predicted_run_grows(const struct predicted_run *run)
{
    return run->end != RUN_ENDED && run->growth.bytes_per_step > 0;
}

bool predicted_run_is_unseen(const struct predicted_run *run)
{
    const bool is_over = run->ends_with_steps && run->whole_steps > 0;
    const bool was_seen = run->end == RUN_ENDED || (run->ran_to_end && !run->turns_differ) || is_over;
    return !was_seen && !predicted_run_grows(run);
}

/* ---- the run ---- */

static enum err make_folder(struct predicted_run *run, const char *parent, struct err_detail *err)
{
    const int reason = folder_make_unique(parent, "run", run->folder);
    if (reason != 0)
        return err_at(err, ERR_IO, 0, parent, "no folder can be made in it: %s", strerror(reason));
    snprintf(run->log, sizeof run->log, "%.*s/run.log", PATH_MAX - 16, run->folder);
    return ERR_OK;
}

static enum err make_env(const struct run_request *request, const struct sim_card *card, struct child_env *env,
                         struct err_detail *err)
{
    char text[24];
    snprintf(text, sizeof text, "%" PRIu64, request->steps);
    enum err e = sim_card_put_env(card, NULL, env, err);
    if (e == ERR_OK && request->level == RUN_LEAST)
        e = child_env_put(env, "REPLAY_CUDASIM_SIZES", "least", '\0', err);
    if (e == ERR_OK && (request->level == RUN_MOST || request->level == RUN_SEARCH))
        e = child_env_put(env, "REPLAY_CUDASIM_WAITS", "late", '\0', err);
    if (e == ERR_OK && request->level == RUN_OTHER)
        e = child_env_put(env, "REPLAY_CUDASIM_NUMBERS", "falling", '\0', err);
    if (e == ERR_OK && request->level == RUN_SEARCH)
        e = child_env_put(env, "REPLAY_CUDASIM_SEARCH", "most", '\0', err);
    if (e == ERR_OK && request->level == RUN_DONATED)
        e = child_env_put(env, "REPLAY_JAX_DONATE", request->donates, '\0', err);
    if (e == ERR_OK)
        e = child_env_put(env, "REPLAY_TORCH_RECORD", sim_card_journals(card), '\0', err);
    return e == ERR_OK ? child_env_put(env, "REPLAY_TORCH_FOLLOW", text, '\0', err) : e;
}

static enum err run_program(const struct run_request *request, const struct sim_card *card, struct predicted_run *run,
                            struct following_spans *spans, struct err_detail *err)
{
    struct running r = { .request = request, .run = run, .journals = sim_card_journals(card),
                         .started_ms = monotonic_ms() };
    struct child_env env = { .n = 0 };
    const struct child_watch watch = { .look = running_look, .arg = &r, .every_ms = LOOK_MS };
    const struct child_setting setting = { .env = &env, .watch = &watch, .log = run->log, .ends_with_us = true,
                                           .prepare = request->overlay->is_on ? overlay_enter : NULL,
                                           .prepare_arg = request->overlay };
    r.grown_ms = r.started_ms;
    overlay_share(request->overlay, r.journals);
    enum err e = make_env(request, card, &env, err);
    if (e == ERR_OK)
        e = following_start(r.journals, "predict", &r.following, err);
    if (e == ERR_OK)
        e = child_run(request->program, &setting, &run->status, err);
    child_env_close(&env);
    look_for_steps(r.journals, run);
    if (run->end == RUN_ENDED && run->optimizer_steps > 0)       /* its loops were cut short */
        run->end = RUN_REPEATED;
    if (e == ERR_OK)
        e = following_spans_read(r.following, spans, err);
    following_end(r.following, true);
    if (isatty(STDERR_FILENO) != 0)
        progress_erase_line();
    return e;
}

/* Keeps the log short, and says so. */
static enum err cut_log(const char *log, struct err_detail *err)
{
    uint64_t cut_bytes = 0;
    const enum err e = program_log_cut(log, &cut_bytes, err);
    if (e == ERR_OK && cut_bytes > 0)
        fprintf(stderr, "replay predict: the middle of what the program printed is not kept: %" PRIu64 " bytes\n",
                cut_bytes);
    return e;
}

enum err predicted_run_make(const struct run_request *request, const char *parent, struct predicted_run *out,
                            struct err_detail *err)
{
    struct sim_card *card = NULL;
    struct following_spans spans = { .n = 0 };
    bool is_complete;                /* otherwise the reader has said so */
    *out = (struct predicted_run){ .end = RUN_ENDED };
    enum err e = sim_card_open(&request->card, parent, &card, err);
    if (e == ERR_OK)
        e = make_folder(out, parent, err);
    if (e == ERR_OK)
        e = run_program(request, card, out, &spans, err);
    if (e == ERR_OK)
        e = cut_log(out->log, err);
    if (e == ERR_OK)
        e = sim_card_read(card, &is_complete, err);
    if (e == ERR_OK)
        out->others = card_sharing_find(card, &spans);
    if (e == ERR_OK)
        out->has_waits = sim_card_has_asked_events(card);
    if (e == ERR_OK)
        out->is_of_library = sim_card_is_of_library(card);
    if (e == ERR_OK)
        e = take_recordings(out, card, request, err);
    if (e == ERR_OK)
        out->jax = *sim_card_jax(card);
    if (e == ERR_OK)
        read_failure(out);
    if (e == ERR_OK)
        out->workspaces = *sim_card_workspaces(card);
    if (e == ERR_OK)
        out->has_search = sim_card_has_search(card);
    out->are_workspaces_open = workspaces_asked_any(&out->workspaces) && !request->are_workspaces_typed;
    if (e == ERR_OK)
        e = unknown_branches_read(out->log, &out->branches, err);
    free(spans.at);
    sim_card_close(card, false);
    return e;
}
