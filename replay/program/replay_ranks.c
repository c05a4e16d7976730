/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/* Finds a recording for each rank of a folder, replays them one after the other, and compares. */
#include "replay/program/replay_ranks.h"

#include "base/terminal.h"
#include "replay/recording/coverage.h"
#include "replay/diff/rank_spread.h"
#include "replay/advise/nccl_buffers.h"
#include "replay/results/single_run.h"
#include "replay/sweep/sweep_inputs.h"
#include "report/text/json_writer.h"
#include "report/text/terminal_table.h"
#include "report/text/text.h"
#include "traces/stack_frame.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { LABEL_TEXT = 32, LINE_TEXT = 160, LINES_SHOWN = 8, RANKS_SHOWN = 16, LINE_LETTERS = 40, POLICY_TEXT = 256 };

/* Endings of a recording's files, the one that tells most first: what `run-sim` and `record` name so. */
static const char *const endings[] = { ".zst", ".pickle", ".pkl", ".gz", ".html", ".oom.zst", ".oom.pickle",
                                       ".usr1.zst", ".usr1.pickle", ".driver.zst" };
enum { N_ENDINGS = sizeof endings / sizeof endings[0] };

/* Everything the command holds. Zero is valid: ranks_close accepts it. */
struct ranks_report {
    struct sweep_inputs inputs;
    size_t *order;                   /* n inputs, by rank and then by name */
    size_t  n;
    struct rank_figures *figures;    /* by place in `order` */
    struct rank_spread   spread;
    char policy[POLICY_TEXT], device[POLICY_TEXT];   /* of the replays; "several": ranks had others */
};

static void ranks_close(void *session)
{
    struct ranks_report *r = session;
    rank_spread_close(&r->spread);
    sweep_inputs_close(&r->inputs);
    free(r->order);
    free(r->figures);
}

bool ranks_are_asked_for(const struct options *o)
{
    struct stat st;
    return stat(o->inputs[0], &st) == 0 && S_ISDIR(st.st_mode);
}

/* Only what is true of each rank by itself can be asked of a folder. */
static enum err check_options(const struct options *o, struct err_detail *err)
{
    static const enum flag_id taken[] = { FLAG_POLICY, FLAG_DEVICES, FLAG_JSON, FLAG_GPU, FLAG_FROM, FLAG_GIVEN_BACK };
    for (enum flag_id id = 0; id < N_FLAGS; id++) {
        bool is_taken = !o->is_given[id];
        for (size_t i = 0; i < sizeof taken / sizeof taken[0]; i++)
            is_taken = is_taken || taken[i] == id;
        if (!is_taken)
            return err_set(err, ERR_USAGE, 0, "--%s: not for a folder of ranks; give one rank's file", flag_name(id));
    }
    if (o->n_policies > 1 || o->n_devices > 1)
        return err_set(err, ERR_USAGE, 0, "ranks are compared under one policy and on one card");
    return ERR_OK;
}

/* ---- files ---- */

/* The place of a file's ending in `endings`; N_ENDINGS: it is no such file. *stem: the length of the name before it. */
static size_t ending_of(const char *path, size_t *stem)
{
    size_t found = N_ENDINGS, length = 0;
    for (size_t i = 0; i < N_ENDINGS; i++) {
        const size_t n = strlen(path), k = strlen(endings[i]);
        if (n > k && k > length && strcmp(path + n - k, endings[i]) == 0) {
            found = i;
            length = k;
        }
    }
    *stem = strlen(path) - length;
    return found;
}

/* Whether another file of the folder tells more about the same rank. */
static bool is_outdone(const struct sweep_inputs *in, size_t i)
{
    size_t stem, other_stem;
    const size_t ending = ending_of(in->at[i].path, &stem);
    for (size_t k = 0; k < in->n; k++) {
        const size_t other = ending_of(in->at[k].path, &other_stem);
        if (other < ending && other_stem == stem && memcmp(in->at[i].path, in->at[k].path, stem) == 0)
            return true;
    }
    return false;
}

static const char *file_of(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash == NULL ? path : slash + 1;
}

/* Puts an input into the order: ranks by number, files without one after them, as found. */
static void order_put(struct ranks_report *r, size_t input)
{
    size_t at = r->n++;
    const uint64_t rank = (uint64_t)r->inputs.at[input].rank;        /* -1 becomes the largest */
    for (; at > 0 && (uint64_t)r->inputs.at[r->order[at - 1]].rank > rank; at--)
        r->order[at] = r->order[at - 1];
    r->order[at] = input;
}

static enum err find_ranks(struct ranks_report *r, const char *folder, struct err_detail *err)
{
    const enum err e = sweep_inputs_add(&r->inputs, folder, err);
    if (e != ERR_OK)
        return e;
    r->order = calloc(r->inputs.n + 1, sizeof *r->order);
    r->figures = calloc(r->inputs.n + 1, sizeof *r->figures);
    if (r->order == NULL || r->figures == NULL)
        return err_no_memory(err);
    for (size_t i = 0; i < r->inputs.n; i++) {
        size_t stem;
        if (ending_of(r->inputs.at[i].path, &stem) < N_ENDINGS && !is_outdone(&r->inputs, i))
            order_put(r, i);
    }
    if (r->n == 0)
        return err_at(err, ERR_INPUT, 0, folder, "is a directory without recordings (.zst, .pickle)");
    return ERR_OK;
}

static const char *path_of(const struct ranks_report *r, size_t i)
{
    return r->inputs.at[r->order[i]].path;
}

static enum err open_rank(const struct ranks_report *r, const struct options *o, size_t i, struct trace_reader **out,
                          struct err_detail *err)
{
    struct options one = *o;
    const char *path = path_of(r, i);
    one.inputs = &path;
    return cli_open_trace(&one, 0, out, err);
}

/* ---- figures ---- */

/* What all ranks have in common, or `several` where they differ. */
static void note_one(char text[static POLICY_TEXT], const char *now, const char *several)
{
    if (text[0] == '\0')
        snprintf(text, POLICY_TEXT, "%s", now);
    else if (strncmp(text, now, POLICY_TEXT - 1) != 0)
        snprintf(text, POLICY_TEXT, "%s", several);
}

static void note_setting(struct ranks_report *r, const struct single_run *run)
{
    note_one(r->policy, run->spec.typed, "several policies");
    note_one(r->device, run->device.typed, "several cards");
}

static enum err replay_rank(struct ranks_report *r, const struct options *o, size_t i, struct err_detail *err)
{
    const struct replay_config cfg = { .threads = 1, .on_oom = OOM_AS_RECORDED };
    struct trace_reader *trace = NULL;
    struct single_run run = { .trace = NULL };
    struct coverage coverage;
    enum err e = open_rank(r, o, i, &trace, err);
    if (e == ERR_OK)
        e = single_run_open(&run, trace, o->n_policies > 0 ? o->policies[0] : NULL,
                            o->n_devices > 0 ? o->devices[0] : NULL, err);
    if (e == ERR_OK)
        e = single_run_replay(&run, &cfg, err);
    if (e == ERR_OK)
        note_setting(r, &run);
    if (e == ERR_OK)
        e = coverage_read(trace, &coverage, err);
    if (e == ERR_OK)
        r->figures[i] = (struct rank_figures){
            .reserved_bytes = run.lane.device->usage.reserved_peak_bytes,
            .live_bytes = trace_info(trace)->peak_requested_bytes,
            .outcome = coverage.ends == ENDS_REFUSED ? ERR_DEVICE_OOM : run.lane.outcome,
            .is_lower_bound = coverage_is_lower_bound(&coverage) };
    single_run_close(&run);
    trace_close(trace);
    return e;
}

static enum err compare_ranks(struct ranks_report *r, const struct options *o, struct err_detail *err)
{
    struct trace_reader *worst = NULL, *least = NULL;
    rank_spread_find(r->figures, r->n, &r->spread);
    enum err e = open_rank(r, o, r->spread.worst, &worst, err);
    if (e == ERR_OK)
        e = open_rank(r, o, r->spread.least, &least, err);
    if (e == ERR_OK)
        e = rank_spread_compare(worst, least, &r->spread, err);
    trace_close(worst);
    trace_close(least);
    return e;
}

/* ---- answers ---- */

/* "rank 3", or the file's name if it names no rank. */
static const char *label_of(const struct ranks_report *r, size_t i, char text[static LABEL_TEXT])
{
    const struct sweep_input *in = &r->inputs.at[r->order[i]];
    if (in->rank >= 0)
        snprintf(text, LABEL_TEXT, "rank %" PRId64, in->rank);
    else
        snprintf(text, LABEL_TEXT, "%.*s", LABEL_TEXT - 1, file_of(in->path));
    return text;
}

/* The worst, and how far apart they are: the answer, first. */
static void print_answer(const struct ranks_report *r)
{
    char label[LABEL_TEXT], reserved[TEXT_NUMBER], spread[TEXT_NUMBER], live[TEXT_NUMBER];
    const struct rank_figures *worst = &r->figures[r->spread.worst];
    struct words w = { .n = 0 };
    words_add(&w, r->n == 1 ? "One rank, %s: %s reserved%s." : "The worst is %s: %s reserved%s.",
              label_of(r, r->spread.worst, label), text_mib(worst->reserved_bytes, reserved),
              worst->outcome != ERR_OK ? ", and a request was refused" : "");
    if (r->n > 1 && r->spread.reserved_bytes == 0 && r->spread.live_bytes == 0)
        words_add(&w, " The %zu ranks take the same.", r->n);
    else if (r->n > 1)
        words_add(&w, " The %zu ranks lie %s apart (%.1f%% of the worst), their live data %s.", r->n,
                  text_mib(r->spread.reserved_bytes, spread),
                  worst->reserved_bytes > 0 ? 100 * (double)r->spread.reserved_bytes / (double)worst->reserved_bytes
                                            : 0,
                  text_mib(r->spread.live_bytes, live));
    words_print_screen(stdout, &w);
    printf("\n");
}

enum { RANK_COLUMNS = 4, LINE_COLUMNS = 4 };
static const struct text_column rank_columns[RANK_COLUMNS] = {
    { .title = "", .is_left = true }, { .title = "live at most" }, { .title = "reserved" },
    { .title = "", .is_left = true },
};

static void add_rank(struct terminal_table *rows, const struct ranks_report *r, size_t i)
{
    char label[LABEL_TEXT], live[TEXT_NUMBER], reserved[TEXT_NUMBER], remark[TEXT_NUMBER];
    const bool is_worst = i == r->spread.worst && r->n > 1, is_refused = r->figures[i].outcome != ERR_OK;
    snprintf(remark, sizeof remark, "%s%s%s", is_worst ? "the worst" : "", is_worst && is_refused ? ", " : "",
             is_refused ? "refused memory" : "");
    terminal_table_add(rows, (const char *const[RANK_COLUMNS]){
                                 label_of(r, i, label), text_mib(r->figures[i].live_bytes, live),
                                 text_mib(r->figures[i].reserved_bytes, reserved), remark });
}

static enum err print_ranks(const struct ranks_report *r)
{
    struct terminal_table rows = { .columns = rank_columns, .n_columns = RANK_COLUMNS, .bold_row = SIZE_MAX };
    for (size_t i = 0; i < r->n; i++)
        if (r->n <= RANKS_SHOWN || i == r->spread.worst || i == r->spread.least)
            add_rank(&rows, r, i);
    const enum err e = terminal_table_print(stdout, &rows, terminal_columns(stdout));
    if (r->n > RANKS_SHOWN)
        printf("and %zu between them\n", r->n - 2);
    printf("\n");
    return e;
}

static void add_line(struct terminal_table *rows, const struct rank_spread *s, const struct rank_line *l)
{
    char worst[TEXT_NUMBER], least[TEXT_NUMBER], by[TEXT_NUMBER], more[TEXT_NUMBER + 1], line[LINE_TEXT];
    const bool is_more = l->worst_bytes > l->least_bytes;
    stack_frame_show_line(text_table_at(&s->pair.lines.names, l->name), line, sizeof line);
    const size_t n = strlen(line);
    char *shown = n > LINE_LETTERS ? line + n - LINE_LETTERS : line;         /* folders are cut, not the file */
    text_mib(is_more ? l->worst_bytes - l->least_bytes : l->least_bytes - l->worst_bytes, by);
    snprintf(more, sizeof more, "%c%s", is_more ? '+' : '-', by);
    if (n > LINE_LETTERS)
        memcpy(shown, "...", 3);
    terminal_table_add(rows, (const char *const[LINE_COLUMNS]){ text_mib(l->worst_bytes, worst),
                                                                text_mib(l->least_bytes, least), more, shown });
}

static enum err print_lines(const struct ranks_report *r)
{
    const struct rank_spread *s = &r->spread;
    char a[LABEL_TEXT], b[LABEL_TEXT];
    const struct text_column columns[LINE_COLUMNS] = {
        { .title = label_of(r, s->worst, a) }, { .title = label_of(r, s->least, b) }, { .title = "difference" },
        { .title = "line", .is_left = true },
    };
    struct terminal_table rows = { .columns = columns, .n_columns = LINE_COLUMNS, .bold_row = SIZE_MAX };
    struct words w = { .n = 0 };
    enum err e = ERR_OK;
    if (s->n_lines == 0)
        words_add(&w, "No line of the program holds more in one than in another at its peak.");
    else
        words_add(&w, "Lines that make the difference, at the peak of each:");
    words_print_screen(stdout, &w);
    for (size_t i = 0; i < s->n_lines && i < LINES_SHOWN; i++)
        add_line(&rows, s, &s->lines[i]);
    if (s->n_lines > 0)
        e = terminal_table_print(stdout, &rows, terminal_columns(stdout));
    if (s->n_lines > LINES_SHOWN)
        printf("and %zu more lines\n", s->n_lines - LINES_SHOWN);
    return e;
}

/* Under which policy and on which card the ranks were replayed. */
static void print_setting(const struct ranks_report *r)
{
    struct words w = { .n = 0 };
    words_add(&w, "Replayed under %s on %s.", r->policy, r->device);
    words_print_screen(stdout, &w);
}

static void print_lower_bounds(const struct ranks_report *r)
{
    struct words w = { .n = 0 };
    size_t n = 0;
    for (size_t i = 0; i < r->n; i++)
        n += r->figures[i].is_lower_bound;
    if (n == 0)
        return;
    words_add(&w, "In %zu of %zu recordings a request was refused, or a part is missing: there the figures are lower "
                  "bounds. The program may need more.", n, r->n);
    words_print_screen(stdout, &w);
}

static void print_nccl(const struct ranks_report *r)
{
    struct words w = { .n = 0 };
    if (r->n < 2)
        return;
    words_add_nccl(&w);
    printf("\n");
    words_print_screen(stdout, &w);
}

static enum err ranks_print(const void *session, struct err_detail *err)
{
    (void)err;
    const struct ranks_report *r = session;
    print_answer(r);
    enum err e = print_ranks(r);
    if (e == ERR_OK && r->n > 1) {
        e = print_lines(r);
        printf("\n");
    }
    print_setting(r);
    print_lower_bounds(r);
    print_nccl(r);
    return e;
}

static const char *line_text(const struct ranks_report *r, const struct rank_line *l, char out[LINE_TEXT])
{
    stack_frame_show_line(text_table_at(&r->spread.pair.lines.names, l->name), out, LINE_TEXT);
    return out;
}

static enum err ranks_write_json(const void *session, FILE *out, struct err_detail *err)
{
    (void)err;
    const struct ranks_report *r = session;
#define ANSWER_TABLE "answers/ranks.def"
#include "answers/as_json.def"
    return ERR_OK;
}

static enum err ranks_read(void *session, const struct options *o, struct err_detail *err)
{
    struct ranks_report *r = session;
    enum err e = check_options(o, err);
    if (e == ERR_OK)
        e = find_ranks(r, o->inputs[0], err);
    for (size_t i = 0; i < r->n && e == ERR_OK; i++)
        e = replay_rank(r, o, i, err);
    return e == ERR_OK ? compare_ranks(r, o, err) : e;
}

static enum exit_status ranks_status(const void *session)
{
    const struct ranks_report *r = session;
    return r->figures[r->spread.worst].outcome == ERR_OK ? STATUS_DONE : STATUS_FAILED;
}

const struct answer_ops answer_of_ranks = {
    .session_bytes = sizeof(struct ranks_report), .read = ranks_read, .write_json = ranks_write_json,
    .print = ranks_print, .status = ranks_status, .close = ranks_close,
};
