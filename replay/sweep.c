/*
 * A trace is opened once for all of its missing runs. These run as lanes, at most LANES_MAX at a time, so that memory
 * stays bounded by them and by a chunk; a trace with more runs is read once more for each LANES_MAX of them.
 */
#include "replay/sweep.h"

#include "replay/recorded.h"
#include "replay/result.h"
#include "sim/device.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { LANES_MAX = 1024 };

/* A run that is missing, and everything it needs; not moved between opening and closing. */
struct sweep_lane {
    struct run_identity  id;
    struct policy_spec   spec;
    struct device_choice device;
};

/* The trace under way. */
struct batch {
    struct sweep             *sweep;
    const struct sweep_input *input;
    size_t               n_input;
    double               bytes;
    struct trace_reader *trace;
    const char *release;              /* that made the recording; NULL: unknown */
    struct sweep_lane   *runs;       /* n of them */
    struct lane         *lanes;
    size_t               n;
    bool                 has_bounds;  /* from the first decoding */
    struct bounds        bounds;
};

/* What is wrong with a setting is wrong with it on every trace, and said once. */
static void complain(struct sweep *s, const char *text, uint64_t *count)
{
    const size_t n_said = s->complaints.n;
    ++*count;
    s->is_out_of_memory |= report_lines_add(&s->complaints, text) != ERR_OK;
    if (s->complain != NULL && s->complaints.n > n_said)
        s->complain(s->arg, text);
}

/* ---- what there is to do ---- */

static enum err check_policies(const struct sweep *s, struct err_detail *why)
{
    enum err e = ERR_OK;
    for (size_t i = 0; i < s->policies.n && e == ERR_OK; i++) {
        struct policy_spec spec;
        e = policy_spec_parse(s->policies.at[i], &spec, why);
        if (e == ERR_OK)
            policy_spec_close(&spec);
    }
    return e;
}

static enum err check_devices(const struct sweep *s, struct err_detail *why)
{
    enum err e = ERR_OK;
    for (size_t i = 0; i < s->devices.n && e == ERR_OK; i++) {
        struct device_config config;
        const struct device_ops *ops;
        bool has_total;
        e = device_parse(s->devices.at[i], &config, &ops, &has_total, why);
    }
    return e;
}

enum err sweep_open(const struct options *o, struct sweep *out, struct err_detail *why)
{
    struct sweep s = { .options = o };
    enum err e = ERR_OK;
    for (size_t i = 0; i < o->n_policies && e == ERR_OK; i++)
        e = expand(o->policies[i], &s.policies, why);
    if (e == ERR_OK)
        e = expand(o->device != NULL ? o->device : "sim", &s.devices, why);
    if (e == ERR_OK)
        e = check_policies(&s, why);
    if (e == ERR_OK)
        e = check_devices(&s, why);
    for (size_t i = 0; i < o->n_inputs && e == ERR_OK; i++)
        e = sweep_inputs_add(&s.inputs, o->inputs[i], why);
    if (e == ERR_OK && s.inputs.n == 0)
        e = err_set(why, ERR_USAGE, 0, "%.150s: no file is in it", o->inputs[0]);
    if (e != ERR_OK)
        sweep_close(&s);
    else
        *out = s;
    return e;
}

void sweep_close(struct sweep *s)
{
    results_db_close(s->db);
    s->db = NULL;
    report_lines_close(&s->complaints);
    sweep_inputs_close(&s->inputs);
    expansion_close(&s->policies);
    expansion_close(&s->devices);
}

/* Whether the i-th run of all, counted over traces, policies and devices, belongs to this part. */
static bool is_ours(const struct sweep *s, uint64_t i)
{
    return s->options->n_shards == 0 || i % s->options->n_shards == s->options->shard - 1;
}

static struct run_identity identity_of(const struct sweep *s, const char *path, const char *digest, const char *policy,
                                       const char *device)
{
    static const char *const on_oom[] = { "stop", "skip", "as-recorded" };
    static const char *const starts[] = { "fresh", "faithful" };
    static const char *const releases[] = { "auto", "program", "allocator" };
    const struct options *o = s->options;
    return (struct run_identity){
        .trace_path   = path,
        .trace_digest = digest,
        .policy       = policy,
        .device       = device,
        .start        = starts[o->start],
        .on_oom       = on_oom[o->on_oom],
        .releases     = releases[o->import.releases],
        .from         = o->from != NULL ? o->from : "",
        .seed         = o->seed,
        .gpu          = o->import.gpu,
    };
}

/* ---- one trace ---- */

static enum err write_lane(struct batch *b, size_t i, struct err_detail *why)
{
    struct sweep *s = b->sweep;
    struct report_run run;
    struct report report;
    enum err e = result_gather(b->trace, b->input->path, &b->bounds, &b->lanes[i], 1, &b->runs[i].device, &run, &report, why);
    if (e != ERR_OK)
        return e;
    e = results_db_put(s->db, &b->runs[i].id, b->input->job, b->input->rank, &report, why);
    result_close(&report);
    const enum err outcome = b->lanes[i].outcome;
    s->n_finished += e == ERR_OK;
    s->n_wrong += outcome != ERR_OK && outcome != ERR_DEVICE_OOM;
    return e;
}

static void batch_progress(void *arg, uint64_t done, uint64_t total)
{
    const struct batch *b = arg;
    struct sweep *s = b->sweep;
    const double share = total > 0 ? (double)done / (double)total : 1;
    if (s->progress != NULL)
        s->progress(s->arg, b->n_input, (s->bytes_done + share * b->bytes * (double)b->n) / s->bytes_total);
}

static void batch_close_lanes(struct batch *b)
{
    for (size_t i = 0; i < b->n; i++) {
        lane_close(&b->lanes[i]);
        policy_spec_close(&b->runs[i].spec);
    }
    memset(b->lanes, 0, LANES_MAX * sizeof *b->lanes);
    b->n = 0;
}

/* Runs and writes the lanes that were gathered. */
static enum err batch_run(struct batch *b, struct err_detail *why)
{
    const struct options *o = b->sweep->options;
    struct err_detail reason = { .text = "" };
    const struct replay_config cfg = { .on_oom = o->on_oom, .start = o->start, .threads = o->threads,
                                       .progress = batch_progress, .progress_arg = b };
    const double bytes = b->bytes * (double)b->n;
    enum err e = ERR_OK;
    if (b->n > 0) {
        const enum err run = b->has_bounds ? replay_run(b->trace, b->lanes, b->n, &cfg, &reason)
                                           : bounds_replay(b->trace, b->lanes, b->n, &cfg, &b->bounds, &reason);
        b->has_bounds = run == ERR_OK;
        if (run != ERR_OK)
            complain(b->sweep, reason.text, &b->sweep->n_left_out);    /* a broken trace: its runs have no result */
        for (size_t i = 0; i < b->n && run == ERR_OK && e == ERR_OK; i++)
            e = write_lane(b, i, why);
    }
    batch_close_lanes(b);
    b->sweep->bytes_done += bytes;
    return e;
}

/* Opens a lane for a run; a setting that cannot be had on this card or trace is left out. */
static void batch_open_lane(struct batch *b, const struct run_identity *id)
{
    struct sweep_lane *run = &b->runs[b->n];
    struct err_detail why = { .text = "" };
    *run = (struct sweep_lane){ .id = *id };
    enum err e = policy_spec_parse(id->policy, &run->spec, &why);
    if (e == ERR_OK) {
        recorded_take_release(b->release, &run->spec);
        e = device_choose(id->device, b->trace, &run->device, &why);
        if (e == ERR_OK)
            e = lane_open(&run->spec, run->device.ops, &run->device.config, b->trace, id->seed, &b->lanes[b->n], &why);
        if (e != ERR_OK)
            policy_spec_close(&run->spec);
    }
    b->sweep->is_out_of_memory |= e == ERR_HOST_NOMEM;
    if (e == ERR_OK)
        b->n++;
    else
        complain(b->sweep, why.text, &b->sweep->n_left_out);
}

/* The missing runs of a trace: their number, and with `b` the runs themselves, batch after batch. */
static enum err each_missing(struct sweep *s, size_t n_input, const char *digest, struct batch *b, uint64_t *n_missing,
                             struct err_detail *why)
{
    enum err e = ERR_OK;
    const size_t n_policies = s->policies.n, n = n_policies * s->devices.n;
    *n_missing = 0;
    for (size_t i = 0; i < n && e == ERR_OK; i++) {
        char key[SHA256_HEX];
        bool is_there;
        const struct run_identity id = identity_of(s, s->inputs.at[n_input].path, digest,
                                                   s->policies.at[i % n_policies], s->devices.at[i / n_policies]);
        if (!is_ours(s, (uint64_t)n_input * n + i))
            continue;
        e = run_identity_key(&id, key, why);
        if (e == ERR_OK)
            e = results_db_has(s->db, key, &is_there, why);
        if (e != ERR_OK || is_there)
            continue;
        ++*n_missing;
        if (b == NULL)
            continue;
        batch_open_lane(b, &id);
        if (b->n == LANES_MAX)
            e = batch_run(b, why);
    }
    return e != ERR_OK || b == NULL ? e : batch_run(b, why);
}

static enum err batch_open(struct sweep *s, size_t n_input, struct batch *b, struct err_detail *why)
{
    struct stat status;
    *b = (struct batch){ .sweep = s, .input = &s->inputs.at[n_input], .n_input = n_input };
    b->bytes = stat(b->input->path, &status) == 0 ? (double)status.st_size : 0;
    b->runs = calloc(LANES_MAX, sizeof *b->runs);
    b->lanes = calloc(LANES_MAX, sizeof *b->lanes);
    if (b->runs == NULL || b->lanes == NULL)
        return err_set(why, ERR_HOST_NOMEM, 0, "the host is out of memory");
    const enum err e = trace_open_any(b->input->path, s->options->from, &s->options->import, &b->trace, why);
    b->release = e == ERR_OK ? recorded_release(b->trace) : NULL;
    return e;
}

static void batch_close(struct batch *b)
{
    trace_close(b->trace);
    free(b->runs);
    free(b->lanes);
}

/* A file in a folder that is no trace was perhaps not meant: it is named, but is no failure. */
static void leave_out_trace(struct sweep *s, const struct sweep_input *input, enum err e, const struct err_detail *why)
{
    s->is_out_of_memory |= e == ERR_HOST_NOMEM;
    const bool is_no_trace = input->is_found && (e == ERR_FORMAT || e == ERR_UNSUPPORTED);
    complain(s, why->text, is_no_trace ? &s->n_no_traces : &s->n_left_out);
}

static enum err run_input(struct sweep *s, size_t n_input, struct err_detail *why)
{
    const struct sweep_input *input = &s->inputs.at[n_input];
    const uint64_t n = (uint64_t)s->policies.n * s->devices.n;
    struct err_detail reason = { .text = "" };
    char digest[SHA256_HEX];
    uint64_t n_missing, n_ours = 0;
    struct batch b;
    for (uint64_t i = 0; i < n; i++)
        n_ours += is_ours(s, n_input * n + i);
    if (n_ours == 0)
        return ERR_OK;
    enum err e = sha256_file(input->path, digest, &reason);
    if (e != ERR_OK) {
        leave_out_trace(s, input, e, &reason);
        return ERR_OK;
    }
    if ((e = each_missing(s, n_input, digest, NULL, &n_missing, why)) != ERR_OK)
        return e;
    s->n_runs += n_ours;
    s->n_done_before += n_ours - n_missing;
    if (n_missing == 0)
        return ERR_OK;
    e = batch_open(s, n_input, &b, &reason);
    if (e != ERR_OK) {
        s->n_runs -= n_ours;
        leave_out_trace(s, input, e, &reason);
        e = ERR_OK;
    } else {
        e = each_missing(s, n_input, digest, &b, &n_missing, why);
    }
    batch_close(&b);
    return e;
}

enum err sweep_run(struct sweep *s, struct err_detail *why)
{
    const struct options *o = s->options;
    enum err e = results_db_open(o->out, (o->given & OPTION_BIT(RESUME)) != 0, &s->db, why);
    for (size_t i = 0; i < s->inputs.n; i++) {
        struct stat status;
        if (stat(s->inputs.at[i].path, &status) == 0)
            s->bytes_total += (double)status.st_size * (double)s->policies.n * (double)s->devices.n /
                              (o->n_shards > 0 ? (double)o->n_shards : 1);
    }
    for (size_t i = 0; i < s->inputs.n && e == ERR_OK; i++)
        e = run_input(s, i, why);
    return e;
}
