/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * A trace is opened once for all its missing runs. The runs are gathered, at most SWEEP_PART_MAX at a time. Of runs
 * that cannot differ one runs as a lane (replay/trials/equal_runs.h), and each gets a row. So memory is bounded by
 * SWEEP_PART_MAX lanes and one chunk, and a trace is decoded once for each SWEEP_PART_MAX runs.
 *
 * A trace of a single chunk stays decoded. There only a few lanes for each thread are open at a time: the next lanes
 * take over the memory that they free while it is still in the caches.
 */
#include "replay/sweep/sweep.h"

#include "base/cores.h"
#include "replay/trials/altered_trace.h"
#include "replay/results/result.h"
#include "replay/recording/recorded_settings.h"
#include "replay/recording/recorded_release.h"
#include "replay/recording/recorded_settings.h"
#include "sim/device.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

enum { FEW_LANES = 16 };             /* for each thread */

/* A missing run, and everything it needs. It is not moved while it is open. */
struct sweep_lane {
    struct run_identity  id;
    struct policy_spec   spec;
    struct device_choice device;
};

/* The current trace, and its gathered runs. */
struct sweep_trace {
    struct sweep             *sweep;
    const struct sweep_input *input;  /* NULL: no trace is open */
    size_t                    opening;           /* the input that is read */
    struct trace_reader *recorded;    /* the file */
    struct trace_reader *changed;     /* its changed copy; NULL: the file itself runs */
    struct trace_reader *reader;      /* the one of both that runs */
    const char *release;              /* that made the recording; NULL: unknown */
    bool        has_bounds;           /* since the first decoding */
    bool        is_broken;            /* it cannot be read to its end, so its runs have no results */
    struct bounds      bounds;
    struct coverage    coverage;
    struct sweep_lane *runs;          /* n of them, */
    struct lane       *lanes;         /* idle */
    size_t             n, n_at_once;
    size_t             n_running, n_done;    /* of the current part */
};

void sweep_note_host_error(struct sweep *s, enum err e)
{
    if (e == ERR_HOST_NOMEM || (e == ERR_IO && s->host_error == ERR_OK))
        s->host_error = e;
}

/* Counts a complaint, and passes it on unless it was said before: a wrong setting is wrong on every trace. */
static void complain(struct sweep *s, const char *text, uint64_t *count)
{
    const size_t n_said = s->complaints.n;
    ++*count;
    sweep_note_host_error(s, report_lines_add(&s->complaints, text));
    if (s->complain != NULL && s->complaints.n > n_said)
        s->complain(s->arg, text);
}

/* ---- the runs of a sweep ---- */

/* Expands a policy as typed, and looks at each that it stands for. */
static enum err add_policy(struct sweep *s, const char *typed, struct err_detail *err)
{
    size_t i = s->policies.n;
    enum err e = expand(typed, &s->policies, err);
    for (; i < s->policies.n && e == ERR_OK; i++) {
        struct policy_spec spec;
        e = policy_spec_parse(s->policies.at[i], &spec, err);
        if (e != ERR_OK)
            break;
        s->needs_sites |= (spec.ops->needs & POLICY_NEEDS_SITES) != 0;
        policy_spec_close(&spec);
    }
    return e;
}

static enum err add_device(struct sweep *s, const char *typed, struct err_detail *err)
{
    size_t i = s->devices.n;
    enum err e = expand(typed, &s->devices, err);
    for (; i < s->devices.n && e == ERR_OK; i++) {
        struct device_config config;
        const struct device_ops *ops;
        bool has_total;
        e = device_parse(s->devices.at[i], &config, &ops, &has_total, err);
    }
    return e;
}

/* The policies that a file runs. Only a native trace, a journal of calls and a profile of XLA's can be of another
 * allocator than PyTorch's; what cannot be opened is reported when it is run. */
static enum err find_choices(const struct sweep *s, struct sweep_input *input, struct err_detail *err)
{
    const struct sweep_request *o = &s->asked;
    const struct importer *importer;
    struct import_config import = o->import;
    struct trace_reader *trace = NULL;
    struct err_detail reason;
    import.without_stacks = true;
    input->choices = platform_policies(PLATFORM_UNKNOWN, &input->n_choices);
    enum err e = trace_recognise(input->path, o->from, &import, &importer, &reason);
    if (e == ERR_OK && importer != NULL && importer != &importer_xplane && importer != &importer_calls)
        return ERR_OK;
    import.again = true;
    if (e == ERR_OK)
        e = trace_open_any(input->path, o->from, &import, &trace, &reason);
    if (e == ERR_OK)
        input->choices = recorded_choices(trace, &input->n_choices);
    trace_close(trace);
    return e == ERR_HOST_NOMEM ? err_no_memory(err) : ERR_OK;
}

static bool is_choice_of(const struct sweep_input *input, const char *policy)
{
    for (size_t i = 0; i < input->n_choices; i++)
        if (strcmp(input->choices[i], policy) == 0)
            return true;
    return false;
}

static enum err add_choices(struct sweep *s, const struct sweep_input *input, struct err_detail *err)
{
    enum err e = ERR_OK;
    for (size_t i = 0; i < input->n_choices && e == ERR_OK; i++)
        e = add_policy(s, input->choices[i], err);
    return e;
}

/* What everybody can choose where the inputs were recorded, once each, before what was asked for besides. */
static enum err choose_policies(struct sweep *s, struct err_detail *err)
{
    enum err e = ERR_OK;
    for (size_t i = 0; i < s->inputs.n && e == ERR_OK; i++) {
        bool is_there = false;
        e = find_choices(s, &s->inputs.at[i], err);
        for (size_t k = 0; k < s->policies.n; k++)
            is_there |= is_choice_of(&s->inputs.at[i], s->policies.at[k]);
        if (e == ERR_OK && !is_there)
            e = add_choices(s, &s->inputs.at[i], err);
    }
    s->n_choices = s->policies.n;
    return e;
}

static enum err add_input(struct sweep *s, const char *typed, struct err_detail *err)
{
    return sweep_inputs_add(&s->inputs, typed, err);
}

/* Adds all texts of a list; *culprit is the one that is wrong. */
static enum err add_all(struct sweep *s, const char *const *texts, size_t n,
                        enum err (*add)(struct sweep *s, const char *text, struct err_detail *err),
                        const char **culprit, struct err_detail *err)
{
    enum err e = ERR_OK;
    for (size_t i = 0; i < n && e == ERR_OK; i++) {
        e = add(s, texts[i], err);
        *culprit = e != ERR_OK ? texts[i] : NULL;
    }
    return e;
}

enum err sweep_open(const struct sweep_request *asked, struct sweep *out, const char **culprit, struct err_detail *err)
{
    struct sweep s = { .asked = *asked };
    const char *wrong = NULL;
    enum err e = add_all(&s, asked->inputs, asked->n_inputs, add_input, &wrong, err);
    if (e == ERR_OK && asked->has_default_policies)
        e = choose_policies(&s, err);
    if (e == ERR_OK)
        e = add_all(&s, asked->policies, asked->n_policies, add_policy, &wrong, err);
    if (e == ERR_OK)
        e = add_all(&s, asked->devices, asked->n_devices, add_device, &wrong, err);
    if (e == ERR_OK && asked->n_devices == 0)
        e = expand("sim", &s.devices, err);
    if (e == ERR_OK && asked->copies.n > 0 && asked->start == START_FAITHFUL)
        e = err_set(err, ERR_USAGE, 0, "--copies does not go with --start faithful: a changed copy starts empty");
    if (e == ERR_OK && asked->copies.n > 0)
        e = sweep_inputs_copy(&s.inputs, asked->copies.first_seed, asked->copies.n, err);
    if (e == ERR_OK && s.inputs.n == 0)
        e = err_at(err, ERR_USAGE, 0, asked->inputs[0], "holds no file");
    if (e == ERR_OK)
        e = sweep_inputs_deal(&s.inputs, asked->copies.n + 1, err);
    if (culprit != NULL)
        *culprit = wrong;
    if (e != ERR_OK)
        sweep_close(&s);
    else
        *out = s;
    return e;
}

/* Runs [begin, end) of a trace, counted policy by policy: those of one policy on several cards are often alike. */
struct run_range {
    uint64_t begin, end;
};

static uint64_t runs_each(const struct sweep *s)
{
    return (uint64_t)s->policies.n * s->devices.n;
}

/* A trace's runs in this shard. Opening and copying a trace costs more than many a run, so a file has as few shards as
 * can be: one, or if there are fewer files than shards, those whose number leaves its turn as the rest. */
static struct run_range runs_of_shard(const struct sweep *s, size_t n_input)
{
    const uint64_t n_each = s->asked.copies.n + 1, n_files = s->inputs.n / n_each, n_shards = s->asked.n_shards;
    const uint64_t turn = s->inputs.at[n_input].turn, shard = s->asked.shard - 1, n = runs_each(s);
    if (n_shards == 0)
        return (struct run_range){.end = n};
    if (n_shards <= n_files)
        return (struct run_range){.end = turn % n_shards == shard ? n : 0};
    if (shard % n_files != turn)
        return (struct run_range){.end = 0};
    const uint64_t n_parts = (n_shards - turn + n_files - 1) / n_files, part = shard / n_files, all = n_each * n;
    const uint64_t before = n_input % n_each * n;
    const uint64_t begin = all / n_parts * part + (part < all % n_parts ? part : all % n_parts);
    const uint64_t end = begin + all / n_parts + (part < all % n_parts);
    return (struct run_range){.begin = begin < before ? 0 : begin - before < n ? begin - before : n,
                              .end = end < before ? 0 : end - before < n ? end - before : n};
}

/* Whether a policy runs this input: those of another platform do not. */
static bool is_of_input(const struct sweep *s, size_t n_input, uint64_t policy)
{
    return policy >= s->n_choices || is_choice_of(&s->inputs.at[n_input], s->policies.at[policy]);
}

static uint64_t count_ours(const struct sweep *s, size_t n_input)
{
    const struct run_range ours = runs_of_shard(s, n_input);
    uint64_t n = 0;
    for (uint64_t i = ours.begin; i < ours.end; i++)
        n += is_of_input(s, n_input, i / s->devices.n);
    return n;
}

uint64_t sweep_count_runs(const struct sweep *s)
{
    uint64_t ours = 0;
    for (size_t i = 0; i < s->inputs.n; i++)
        ours += count_ours(s, i);
    assert(ours >= s->n_unopened);
    return ours - s->n_unopened;
}

static enum err check_interrupted(const struct sweep *s, struct err_detail *err)
{
    return s->interrupted != NULL && *s->interrupted != 0 ? err_set(err, ERR_INTERRUPTED, 0, "interrupted") : ERR_OK;
}

static struct run_identity identity_of(const struct sweep *s, const struct sweep_input *input, const char *digest,
                                       const char *policy, const char *device)
{
    static const char *const on_oom[] = { "stop", "skip", "as-recorded" };
    static const char *const starts[] = { "fresh", "faithful" };
    static const char *const releases[] = { "auto", "program", "allocator" };
    const struct sweep_request *o = &s->asked;
    return (struct run_identity){
        .trace_path   = input->path,
        .trace_digest = digest,
        .policy       = policy,
        .device       = device,
        .start        = starts[o->start],
        .on_oom       = on_oom[o->on_oom],
        .releases     = releases[o->import.segment_frees],
        .from         = o->from != NULL ? o->from : "",
        .gpu          = o->import.gpu,
        .copy_percent = input->is_copy ? o->copies.percent : 0,
        .copy_seed    = input->seed,
    };
}

/* The n-th of all runs of a trace. */
static struct run_identity identity_at(const struct sweep *s, size_t n_input, const char *digest, size_t n)
{
    return identity_of(s, &s->inputs.at[n_input], digest, s->policies.at[n % s->policies.n],
                       s->devices.at[n / s->policies.n]);
}

/* ---- one trace ---- */

static void sweep_trace_drop_copy(struct sweep_trace *t)
{
    trace_close(t->changed);
    t->changed = t->reader = NULL;
    t->input = NULL;
    t->has_bounds = t->is_broken = false;
}

static void sweep_trace_leave(struct sweep_trace *t)
{
    sweep_trace_drop_copy(t);
    trace_close(t->recorded);
    t->recorded = NULL;
}

static void sweep_trace_close(struct sweep_trace *t)
{
    if (t == NULL)
        return;
    sweep_trace_leave(t);
    free(t->runs);
    free(t->lanes);
    free(t);
}

void sweep_close(struct sweep *s)
{
    sweep_trace_close(s->open);
    s->open = NULL;
    free(s->missing);
    s->missing = NULL;
    results_db_close(s->db);
    s->db = NULL;
    report_lines_close(&s->complaints);
    sweep_inputs_close(&s->inputs);
    expansion_close(&s->policies);
    expansion_close(&s->devices);
}

/* Makes room for the lanes of one trace after another. */
static enum err sweep_trace_create(struct sweep *s, struct err_detail *err)
{
    struct sweep_trace *t = s->open = calloc(1, sizeof *t);
    if (t != NULL) {
        t->sweep = s;
        t->runs = calloc(SWEEP_PART_MAX, sizeof *t->runs);
        t->lanes = calloc(SWEEP_PART_MAX, sizeof *t->lanes);
    }
    if (t != NULL && t->runs != NULL && t->lanes != NULL)
        return ERR_OK;
    sweep_trace_close(t);
    s->open = NULL;
    return err_no_memory(err);
}

static size_t lanes_at_once(const struct sweep *s, const struct trace_reader *trace)
{
    const size_t few = FEW_LANES * (s->asked.threads > 0 ? s->asked.threads : cores_usable());
    return trace_info(trace)->events <= TRACE_CHUNK_EVENTS && few < SWEEP_PART_MAX ? few : SWEEP_PART_MAX;
}

static void tell_reading(const struct sweep *s, size_t n_input, uint64_t done, uint64_t total)
{
    if (s->reading != NULL)
        s->reading(s->arg, n_input, done, total);
}

static void show_reading(void *arg, uint64_t done, uint64_t total)
{
    const struct sweep_trace *t = arg;
    tell_reading(t->sweep, t->opening, done, total);
}

/* What is known of the recording holds for its copies too: they have the same requests in the same order. */
static enum err sweep_trace_read(struct sweep_trace *t, const char *path, struct err_detail *err)
{
    const struct sweep_request *asked = &t->sweep->asked;
    struct import_config import = asked->import;
    import.without_stacks = !t->sweep->needs_sites;
    import.again = true;                     /* its kind and digest were looked at */
    import.progress = show_reading;
    import.progress_arg = t;
    enum err e = trace_open_any(path, asked->from, &import, &t->recorded, err);
    if (e != ERR_OK)
        return e;
    e = coverage_check_cut(t->recorded, path, err);
    if (e != ERR_OK)
        return e;
    trace_watch_reading(t->recorded, show_reading, t);
    e = recorded_release(t->recorded, &t->release, err);
    if (e == ERR_OK)
        e = coverage_read(t->recorded, &t->coverage, err);
    trace_watch_reading(t->recorded, NULL, NULL);            /* a replay tells its progress itself */
    return e;
}

static enum err sweep_trace_change(struct sweep_trace *t, uint64_t seed, struct err_detail *err)
{
    const struct rewrite how = { .seed = seed, .percent = t->sweep->asked.copies.percent, .rounds = 1,
                                 .events = UINT64_MAX };
    return trace_rewrite(t->recorded, &how, &t->changed, err);
}

/* Opens an input as the current trace. */
static enum err sweep_trace_open(struct sweep *s, size_t n_input, struct err_detail *err)
{
    enum err e = s->open == NULL ? sweep_trace_create(s, err) : ERR_OK;
    struct sweep_trace *t = s->open;
    if (e != ERR_OK || t->input == &s->inputs.at[n_input])
        return e;
    const struct sweep_input *input = &s->inputs.at[n_input];
    const bool is_same_file = t->input != NULL && strcmp(t->input->path, input->path) == 0;
    if (is_same_file)
        sweep_trace_drop_copy(t);
    else
        sweep_trace_leave(t);
    t->opening = n_input;
    if (!is_same_file)
        e = sweep_trace_read(t, input->path, err);
    if (e == ERR_OK && input->is_copy)
        e = sweep_trace_change(t, input->seed, err);
    if (e != ERR_OK) {
        sweep_trace_leave(t);
        return e;
    }
    t->reader = input->is_copy ? t->changed : t->recorded;
    t->input = input;
    t->n_at_once = lanes_at_once(s, t->reader);
    return ERR_OK;
}

static void leave_out_run(struct sweep *s, enum err e, const struct err_detail *err)
{
    sweep_note_host_error(s, e);
    const bool is_lacking = s->asked.has_default_policies && (e == ERR_USAGE || e == ERR_UNSUPPORTED);
    complain(s, err->text, is_lacking ? &s->n_lacking : &s->n_left_out);
}

static enum err write_run(void *arg, size_t i, const struct lane *l, struct err_detail *err)
{
    struct sweep_trace *t = arg;
    struct sweep *s = t->sweep;
    struct report_run run;
    struct report report;
    t->n_done++;
    if (l->outcome == ERR_HOST_NOMEM) {          /* says nothing of the policy; another time there may be memory */
        leave_out_run(s, l->outcome, &l->err);
        return ERR_OK;
    }
    enum err e = result_gather(t->reader, t->input->path, &t->bounds, &t->coverage, l, 1, &t->runs[i].device, &run,
                               &report, err);
    if (e != ERR_OK)
        return e;
    e = results_db_begin_puts(s->db, err);
    if (e == ERR_OK)
        e = results_db_put(s->db, &t->runs[i].id, t->input->job, t->input->rank, &report, err);
    result_close(&report);
    s->n_finished += e == ERR_OK;
    s->n_wrong += l->outcome != ERR_OK && l->outcome != ERR_DEVICE_OOM;
    return e;
}

/* The host had no memory for a run. */
static enum err run_failed(void *arg, size_t i, enum err e, struct err_detail *err)
{
    struct sweep_trace *t = arg;
    (void)i;
    t->n_done++;
    leave_out_run(t->sweep, e, err);
    return ERR_OK;
}

static void show_share(void *arg, uint64_t done, uint64_t total)
{
    const struct sweep_trace *t = arg;
    const struct sweep *s = t->sweep;
    const double share = total > 0 ? (double)done / (double)total : 1;
    if (s->progress != NULL)
        s->progress(s->arg, (size_t)(t->input - s->inputs.at),
                    (s->bytes_done + (double)t->input->bytes * ((double)t->n_done + share * (double)t->n_running)) /
                        s->bytes_total);
}

/* Where the steps are. A changed copy has the requests of the start state before the events of the recording. */
static void sweep_trace_borders(const struct sweep_trace *t, struct replay_config *cfg)
{
    const uint64_t more = trace_info(t->reader)->events - trace_info(t->recorded)->events;
    cfg->n_borders = steps_borders(&t->coverage.steps, cfg->borders);
    for (unsigned i = 0; i < cfg->n_borders; i++)
        cfg->borders[i] += more;
}

/* Runs of a broken trace have no results. Neither have interrupted lanes, nor lanes that ended before the interruption,
 * because their rows need the bounds of the whole trace. */
static enum err run_lanes(void *arg, struct lane *lanes, size_t n, struct err_detail *err)
{
    struct sweep_trace *t = arg;
    const struct sweep_request *o = &t->sweep->asked;
    struct replay_config cfg = { .on_oom = o->on_oom, .start = o->start, .threads = o->threads,
                                 .progress = show_share, .progress_arg = t, .interrupted = t->sweep->interrupted };
    sweep_trace_borders(t, &cfg);
    t->n_running = n;
    enum err e = results_db_end_puts(t->sweep->db, err);     /* of the lanes before these */
    if (e != ERR_OK)
        return e;
    e = t->has_bounds ? replay_run(t->reader, lanes, n, &cfg, err)
                      : bounds_replay(t->reader, lanes, n, &cfg, true, &t->bounds, err);
    t->n_running = 0;
    if (e == ERR_OK && (e = check_interrupted(t->sweep, err)) != ERR_OK)
        return e;
    t->has_bounds = e == ERR_OK;
    t->is_broken = e != ERR_OK;
    if (t->is_broken)
        leave_out_run(t->sweep, e, err);
    return e;
}

/* Runs what was gathered, and writes the results. */
static enum err run_gathered(struct sweep_trace *t, struct err_detail *err)
{
    struct err_detail reason = { .text = "" };
    struct equal_runs equal = { .trace = t->reader, .n_at_once = t->n_at_once,
                           .run = run_lanes, .finished = write_run, .failed = run_failed, .arg = t };
    const enum err run = equal_runs_run(&equal, t->lanes, t->n, &reason);
    const enum err put = results_db_end_puts(t->sweep->db, run == ERR_OK ? &reason : NULL);   /* what has ended stays */
    const enum err e = run != ERR_OK ? run : put;
    t->sweep->n_repeated += equal.n_repeated;
    for (size_t i = 0; i < t->n; i++) {
        lane_close(&t->lanes[i]);
        policy_spec_close(&t->runs[i].spec);
    }
    t->n = 0;
    if (e != ERR_OK && !t->is_broken && err != NULL)
        *err = reason;
    return t->is_broken ? ERR_OK : e;
}

/* Gathers a run; leaves out a setting that this card or trace does not allow. */
static void gather_run(struct sweep_trace *t, const struct run_identity *id)
{
    struct sweep_lane *run = &t->runs[t->n];
    struct err_detail err = { .text = "" };
    *run = (struct sweep_lane){ .id = *id };
    enum err e = policy_spec_parse(id->policy, &run->spec, &err);
    if (e == ERR_OK) {
        recorded_take_release(t->release, &run->spec);
        if (t->n > 0 && run[-1].id.device == id->device)
            run->device = run[-1].device;                /* chosen for the same trace */
        else
            e = device_choose(id->device, t->recorded, &run->device, &err);
        if (e == ERR_OK)
            e = lane_open_idle(&run->spec, run->device.ops, &run->device.config, t->reader, 0, &t->lanes[t->n],
                               &err);
        if (e != ERR_OK)
            policy_spec_close(&run->spec);
    }
    if (e == ERR_OK)
        t->n++;
    else
        leave_out_run(t->sweep, e, &err);
}

/* Names what is left out. A file found in a folder that is no trace is no failure: nobody asked for it by name. */
static void leave_out_trace(struct sweep *s, struct sweep_input *input, enum err e, const struct err_detail *err)
{
    input->is_left_out = true;
    sweep_note_host_error(s, e);
    const bool is_no_trace = input->is_found && (e == ERR_FORMAT || e == ERR_UNSUPPORTED);
    complain(s, err->text, is_no_trace ? &s->n_no_traces : &s->n_left_out);
}

enum err sweep_run_part(struct sweep *s, const struct sweep_part *part, struct err_detail *err)
{
    struct err_detail reason = { .text = "" };
    const enum err open = sweep_trace_open(s, part->input, &reason);
    if (open != ERR_OK) {
        leave_out_trace(s, &s->inputs.at[part->input], open, &reason);
        s->n_unopened += part->n;
        return ERR_OK;
    }
    struct sweep_trace *t = s->open;
    assert(part->n <= SWEEP_PART_MAX && t->n == 0);
    t->n_done = 0;
    for (size_t i = 0; i < part->n && !t->is_broken; i++) {
        const struct run_identity id = identity_at(s, part->input, part->digest, part->runs[i]);
        gather_run(t, &id);
    }
    return run_gathered(t, err);
}

/* ---- parts ---- */

/* Finds the missing runs of an input. */
static enum err find_missing(struct sweep *s, size_t n_input, struct err_detail *err)
{
    const size_t n = s->policies.n * s->devices.n;
    const struct run_range ours = runs_of_shard(s, n_input);
    enum err e = results_db_look(s->db, err);
    s->n_missing = s->next_missing = 0;
    for (size_t i = 0; i < n && e == ERR_OK; i++) {
        char key[SHA256_HEX];
        enum stored_run stored = STORED_NOT;
        const struct run_identity id = identity_at(s, n_input, s->digest, i);
        const uint64_t number = i % s->policies.n * s->devices.n + i / s->policies.n;
        if (number < ours.begin || number >= ours.end || !is_of_input(s, n_input, i % s->policies.n))
            continue;
        s->n_runs++;
        run_identity_key(&id, key);
        e = results_db_has(s->db, key, &stored, err);
        s->n_done_before += stored != STORED_NOT;
        s->n_wrong += stored == STORED_FAILED;
        if (stored == STORED_NOT)
            s->missing[s->n_missing++] = (uint32_t)i;
    }
    return e == ERR_OK ? results_db_look_away(s->db, err) : e;
}

static bool has_ours(const struct sweep *s, size_t n_input)
{
    const struct run_range ours = runs_of_shard(s, n_input);
    return ours.begin < ours.end;
}

/* Goes on to the next input with missing runs; s->n_missing is 0 if there is none. */
static enum err next_input(struct sweep *s, struct err_detail *err)
{
    struct err_detail reason = { .text = "" };
    s->n_missing = s->next_missing = 0;
    for (; s->next_input < s->inputs.n && s->n_missing == 0; s->next_input++) {
        struct sweep_input *input = &s->inputs.at[s->next_input];
        if (!has_ours(s, s->next_input))
            continue;
        input->is_left_out |= input->is_copy && input[-1].is_left_out;
        if (input->is_left_out)
            continue;
        const bool is_known = s->digest_of != NULL && strcmp(s->digest_of, input->path) == 0;
        if (!is_known)
            tell_reading(s, s->next_input, 0, input->bytes);
        enum err e = is_known ? ERR_OK : sha256_file(input->path, s->digest, &reason);
        s->digest_of = e == ERR_OK ? input->path : NULL;
        if (e != ERR_OK)
            leave_out_trace(s, input, e, &reason);
        else if ((e = find_missing(s, s->next_input, err)) != ERR_OK)
            return e;
    }
    return ERR_OK;
}

enum err sweep_next_part(struct sweep *s, size_t n_shares, struct sweep_part *out, struct err_detail *err)
{
    assert(n_shares > 0 && s->next_missing <= s->n_missing);
    *out = (struct sweep_part){ .n = 0 };
    if (s->next_missing == s->n_missing) {
        const enum err e = next_input(s, err);
        if (e != ERR_OK || s->n_missing == 0)
            return e;
    }
    const size_t share = (s->n_missing + n_shares - 1) / n_shares, left = s->n_missing - s->next_missing;
    out->n = share < left ? share : left;
    out->n = out->n < SWEEP_PART_MAX ? out->n : SWEEP_PART_MAX;
    out->input = s->next_input - 1;
    out->runs = &s->missing[s->next_missing];
    memcpy(out->digest, s->digest, sizeof out->digest);
    s->next_missing += out->n;
    return ERR_OK;
}

void sweep_part_done(struct sweep *s, const struct sweep_part *part)
{
    s->bytes_done += (double)s->inputs.at[part->input].bytes * (double)part->n;
}

enum err sweep_begin(struct sweep *s, const char *path, bool is_resumed, struct err_detail *err)
{
    const struct sweep_request *o = &s->asked;
    const size_t n = s->policies.n * s->devices.n;
    if (n > UINT32_MAX)
        return err_set(err, ERR_USAGE, 0, "%zu policies on %zu cards are too many for one sweep", s->policies.n,
                       s->devices.n);
    s->missing = calloc(n + 1, sizeof *s->missing);
    if (s->missing == NULL)
        return err_no_memory(err);
    for (size_t i = 0; i < s->inputs.n; i++)
        s->bytes_total += (double)s->inputs.at[i].bytes *
                          (double)count_ours(s, i);
    const enum err e = results_db_open(path, is_resumed, s->watch, &s->db, err);
    return e == ERR_OK && o->price_bytes_per_ms != NULL ? results_db_set_price(s->db, *o->price_bytes_per_ms, err) : e;
}

enum err sweep_run(struct sweep *s, const char *path, bool is_resumed, struct err_detail *err)
{
    struct sweep_part part = { .n = 1 };
    enum err e = sweep_begin(s, path, is_resumed, err);
    while (e == ERR_OK && part.n > 0) {
        e = check_interrupted(s, err);
        if (e == ERR_OK)
            e = sweep_next_part(s, 1, &part, err);
        if (e == ERR_OK && part.n > 0)
            e = sweep_run_part(s, &part, err);
        if (e == ERR_OK && part.n > 0)
            sweep_part_done(s, &part);
    }
    return e == ERR_OK ? results_db_check_there(s->db, err) : e;
}
