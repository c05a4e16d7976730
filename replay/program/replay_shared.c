/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/* Reads what shares the card, runs it, and says who is refused first. */
#include "replay/program/replay_shared.h"

#include "base/array.h"
#include "base/terminal.h"
#include "base/units.h"
#include "import/csv_lines.h"
#include "replay/recording/coverage.h"
#include "replay/engine/shared_card.h"
#include "replay/results/result.h"
#include "replay/recording/recorded_settings.h"
#include "report/text/json_writer.h"
#include "report/text/text.h"
#include "report/text/terminal_table.h"

#include <stdlib.h>
#include <string.h>

enum { PROCESSES_MAX = 64 };

/* Everything the command holds. Zero is valid: shared_close accepts it. */
struct shared_report {
    char *list;                              /* the option's text, cut into its items */
    const char *paths[PROCESSES_MAX];
    struct card_process processes[PROCESSES_MAX];
    struct policy_spec specs[PROCESSES_MAX];
    size_t n;
    struct others_step *others;
    size_t n_others, others_room;
    struct device_choice device;
    struct shared_card card;
    bool is_wide;
};

static void shared_close(void *session)
{
    struct shared_report *r = session;
    shared_card_close(&r->card);
    for (size_t i = 0; i < r->n; i++) {
        policy_spec_close(&r->specs[i]);
        trace_close(r->processes[i].trace);
    }
    free(r->others);
    free(r->list);
}

/* ---- what was typed ---- */

/* "2s", "500ms", "0.25s" in nanoseconds. */
static bool time_read(const char *text, uint64_t *ns)
{
    double time;
    if (!units_parse_time(text, strlen(text), &time) || time < 0)
        return false;
    *ns = (uint64_t)time;
    return true;
}

/* "FILE", "FILE@+2s", "FILE@+2s@8GiB", "FILE@8GiB". The text is cut at the first "@" of these. */
static enum err process_read_item(char *item, struct card_process *p, struct err_detail *err)
{
    for (char *at; (at = strrchr(item, '@')) != NULL; *at = '\0') {
        if (at[1] == '+' && time_read(at + 2, &p->begins_ns))
            continue;
        if (units_parse_bytes(at + 1, strlen(at + 1), &p->limit_bytes) && p->limit_bytes > 0)
            continue;
        return err_set(err, ERR_USAGE, 0, "--share '%s': behind the @ is expected a beginning such as +2s, or the most "
                       "that the process may take, such as 8GiB", at);
    }
    return ERR_OK;
}

/* Lines "seconds,bytes"; a first line of words is a head. */
static enum err others_read(struct shared_report *r, const char *path, struct err_detail *err)
{
    struct csv_line *line = calloc(1, sizeof *line);
    struct input *in = NULL;
    enum err e = line == NULL ? err_no_memory(err)
                              : input_open(path, &in, err);
    while (e == ERR_OK && (e = csv_next(in, line, err)) == ERR_OK && line->n > 0) {
        struct others_step step, *more;
        char seconds[64];
        snprintf(seconds, sizeof seconds, "%.60ss", line->fields[0]);
        if (line->n < 2 || !time_read(seconds, &step.time_ns) ||
            !units_parse_bytes(line->fields[1], strlen(line->fields[1]), &step.bytes)) {
            if (line->number == 1)
                continue;
            e = err_at(err, ERR_FORMAT, line->number, path, "line %llu: expected seconds and a size, such as 2.5,4GiB",
                       (unsigned long long)line->number);
        } else if (r->n_others > 0 && step.time_ns < r->others[r->n_others - 1].time_ns) {
            e = err_at(err, ERR_FORMAT, line->number, path, "line %llu: time goes back",
                       (unsigned long long)line->number);
        } else if ((more = array_grow(r->others, r->n_others, &r->others_room, sizeof *more)) == NULL) {
            e = err_no_memory(err);
        } else {
            r->others = more;
            more[r->n_others++] = step;
        }
    }
    if (e == ERR_OK)
        input_is_of_use(in);
    input_close(in);
    free(line);
    return e;
}

static enum err process_open(struct shared_report *r, const struct options *o, char *item, struct err_detail *err)
{
    struct options one = *o;
    if (r->n == PROCESSES_MAX)
        return err_set(err, ERR_USAGE, 0, "--share: at most %d processes", PROCESSES_MAX);
    struct card_process *p = &r->processes[r->n];
    enum err e = process_read_item(item, p, err);
    if (e != ERR_OK)
        return e;
    one.inputs = &r->paths[r->n];
    one.n_inputs = 1;
    r->paths[r->n] = item;
    e = cli_open_trace_without_stacks(&one, 0, &p->trace, err);
    if (e != ERR_OK)
        return e;
    p->spec = &r->specs[r->n++];
    return o->n_policies > 0 ? policy_spec_parse(o->policies[0], &r->specs[r->n - 1], err)
                             : recorded_policy(p->trace, &r->specs[r->n - 1], err);
}

static enum err shared_read(struct shared_report *r, const struct options *o, struct err_detail *err)
{
    static const char others[] = "others=";
    enum err e = ERR_OK;
    r->list = strdup(o->share);
    if (r->list == NULL)
        return err_no_memory(err);
    for (char *item = r->list, *next; item != NULL && e == ERR_OK; item = next) {
        next = strchr(item, ',');
        if (next != NULL)
            *next++ = '\0';
        e = strncmp(item, others, strlen(others)) == 0 ? others_read(r, item + strlen(others), err)
                                                       : process_open(r, o, item, err);
    }
    if (e == ERR_OK && r->n == 0)
        e = err_set(err, ERR_USAGE, 0, "--share names no trace");
    return e;
}

static enum err check_options(const struct options *o, struct err_detail *err)
{
    static const enum flag_id taken[] = {FLAG_SHARE, FLAG_POLICY, FLAG_DEVICES, FLAG_JSON, FLAG_ON_OOM, FLAG_START,
                                         FLAG_FROM, FLAG_GPU, FLAG_GIVEN_BACK, FLAG_MEMORY_LIMIT, FLAG_WIDE};
    for (enum flag_id id = 0; id < N_FLAGS; id++) {
        bool is_taken = !o->is_given[id];
        for (size_t i = 0; i < sizeof taken / sizeof taken[0]; i++)
            is_taken = is_taken || taken[i] == id;
        if (!is_taken)
            return err_set(err, ERR_USAGE, 0, "--%s: not with --share", flag_name(id));
    }
    if (o->n_inputs > 0)
        return err_set(err, ERR_USAGE, 0, "--share names the traces; %s is one too many", o->inputs[0]);
    if (o->n_devices != 1 || o->n_policies > 1)
        return err_set(err, ERR_USAGE, 0,
                       "--share needs one card, such as --device 24GiB, and takes one policy at most");
    return ERR_OK;
}

static enum err shared_run(struct shared_report *r, const struct options *o, struct err_detail *err)
{
    struct progress progress = progress_start("replaying", PROGRESS_EVENTS);
    const struct replay_config cfg = {.on_oom = o->is_given[FLAG_ON_OOM] ? o->on_oom : OOM_STOP, .start = o->start,
                                      .progress = progress_report, .progress_arg = &progress};
    enum err e = device_choose_for_advice(o->devices[0], r->processes[0].trace, PLATFORM_UNKNOWN,
                                          &r->device, err);
    if (e != ERR_OK)
        return e;
    r->card = (struct shared_card){.ops = r->device.ops, .device = r->device.config, .processes = r->processes,
                                   .n_processes = r->n, .others = r->others, .n_others = r->n_others};
    e = shared_card_run(&r->card, &cfg, err);
    progress_clear(&progress);
    return e;
}

/* ---- answers ---- */

static void print_verdict(const struct shared_report *r)
{
    const struct shared_card *c = &r->card;
    char when[TEXT_NUMBER], asked[TEXT_NUMBER], left[TEXT_NUMBER], mine[TEXT_NUMBER], others[TEXT_NUMBER], line[512];
    if (c->first_refused == c->n_processes) {
        text_time(c->peak_ns, when);
        snprintf(line, sizeof line, "%s to %s end on one card: %s of it is taken at most, after %s.",
                 r->n == 1 ? "It runs" : r->n == 2 ? "Both run" : "All run", r->n == 1 ? "its" : "their",
                 text_mib(c->peak_bytes, mine), when);
    } else {
        const struct card_process *p = &r->processes[c->first_refused];
        const struct meter_oom *oom = &p->lane.meter.first_oom;
        text_time(c->first_refused_ns, when);
        snprintf(line, sizeof line, "%s is refused first: after %s it asks for %s and finds %s free on the card. It "
                 "has reserved %s then; the others hold %s.", r->paths[c->first_refused], when,
                 text_mib(oom->requested_bytes, asked), text_mib(oom->device_free_bytes, left),
                 text_mib(oom->reserved_bytes, mine), text_mib(p->others_at_refusal_bytes, others));
    }
    text_put_line(stdout, line, 0);
}

static enum err print_processes(const struct shared_report *r, size_t columns, struct err_detail *err)
{
    static const struct text_column titles[] = {
        {.title = "process", .is_left = true}, {.title = "begins"}, {.title = "ends"}, {.title = "reserved at most"},
        {.title = "of the card", .leaves = 1}, {.title = "refused"},
    };
    struct terminal_table t = {.columns = titles, .n_columns = sizeof titles / sizeof titles[0], .bold_row = SIZE_MAX};
    for (size_t i = 0; i < r->n; i++) {
        const struct card_process *p = &r->processes[i];
        char begins[TEXT_NUMBER], ends[TEXT_NUMBER], reserved[TEXT_NUMBER], card[TEXT_NUMBER], refused[TEXT_NUMBER];
        text_time(p->begins_ns, begins);
        text_time(p->ends_ns, ends);
        terminal_table_add(&t, (const char *const[]){
            r->paths[i], begins, ends, text_mib(p->lane.device->usage.reserved_peak_bytes, reserved),
            text_mib(p->peak_bytes, card), text_count(p->lane.meter.ooms, refused)});
    }
    printf("\n");
    const enum err e = terminal_table_print(stdout, &t, columns);
    return e == ERR_OK ? ERR_OK : err_set(err, e, 0, "%s", err_text(e));
}

static enum err print_coverage(const struct shared_report *r, struct err_detail *err)
{
    enum err e = ERR_OK;
    for (size_t i = 0; i < r->n && e == ERR_OK; i++)
        e = coverage_tell(stdout, r->processes[i].trace, r->paths[i], err);
    return e;
}

static enum err shared_write_json(const void *session, FILE *out, struct err_detail *err)
{
    (void)err;
    const struct shared_report *r = session;
    const struct shared_card *c = &r->card;
#define ANSWER_TABLE "answers/share.def"
#include "answers/as_json.def"
    return ERR_OK;
}

static enum err shared_print(const void *session, struct err_detail *err)
{
    const struct shared_report *r = session;
    print_verdict(r);
    const enum err e = print_processes(r, r->is_wide ? TERMINAL_ANY : terminal_columns(stdout), err);
    return e == ERR_OK ? print_coverage(r, err) : e;
}

static enum err shared_answer(void *session, const struct options *o, struct err_detail *err)
{
    struct shared_report *r = session;
    r->is_wide = o->is_wide;
    enum err e = check_options(o, err);
    if (e == ERR_OK)
        e = shared_read(r, o, err);
    return e == ERR_OK ? shared_run(r, o, err) : e;
}

static enum exit_status shared_status(const void *session)
{
    const struct shared_report *r = session;
    return r->card.first_refused < r->card.n_processes ? STATUS_FAILED : STATUS_DONE;
}

const struct answer_ops answer_of_shared = {
    .session_bytes = sizeof(struct shared_report), .read = shared_answer, .write_json = shared_write_json,
    .print = shared_print, .status = shared_status, .close = shared_close,
};
