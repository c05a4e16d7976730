/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/* `replay extrapolate A:NAME=N B:NAME=N --to NAME=N`: a program's memory at a size that was not recorded. */
#include "replay/program/cli.h"

#include "replay/recording/coverage.h"
#include "replay/extrapolate/extrapolate.h"
#include "replay/results/single_run.h"
#include "report/text/text.h"

#include <assert.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { NAME_MAX_BYTES = 32, FORMULAS_SHOWN = 20 };

/* The largest value that is tried on a card. */
#define LARGEST_TRIED (UINT64_C(1) << 20)

/* What a replay of the recorded settings takes at one value. */
struct outcome {
    bool     fits;
    uint64_t reserved_bytes, requested_bytes;
};

/* Everything the command holds. Zero is valid: extrapolate_end accepts it. */
struct session {
    const struct options *options;
    char                  parameter[NAME_MAX_BYTES];
    char                 *paths[FORMULA_POINTS_MAX];
    struct trace_reader  *traces[FORMULA_POINTS_MAX];
    uint64_t              values[FORMULA_POINTS_MAX], to;
    size_t                n;
    struct extrapolation  x;
    struct outcome        least, most;       /* with the smallest and the largest size where no formula gives one */
    uint64_t              largest, n_tried;  /* the largest value that fits the card; 0: none, or no card was named */
};

static void extrapolate_end(void *session)
{
    struct session *s = session;
    extrapolate_close(&s->x);
    for (size_t i = 0; i < FORMULA_POINTS_MAX; i++) {
        trace_close(s->traces[i]);
        free(s->paths[i]);
    }
}

/* ---- what was typed ---- */

static bool read_value(const char *text, uint64_t *out)
{
    const size_t n = strspn(text, "0123456789");
    *out = n > 0 && n <= 7 && text[n] == '\0' ? strtoull(text, NULL, 10) : 0;
    return *out > 0;
}

/* "batch=8": the name is the same for all. */
static enum err take_parameter(struct session *s, const char *text, uint64_t *value, struct err_detail *err)
{
    const size_t n = strcspn(text, "=");
    if (n == 0 || n >= NAME_MAX_BYTES || text[n] != '=' || !read_value(text + n + 1, value))
        return err_set(err, ERR_USAGE, 0, "'%s': expected a name and a whole number, such as batch=8", text);
    if (s->parameter[0] == '\0')
        snprintf(s->parameter, sizeof s->parameter, "%.*s", (int)n, text);
    if (strlen(s->parameter) != n || memcmp(s->parameter, text, n) != 0)
        return err_set(err, ERR_USAGE, 0, "'%s': expected %s=N, as for the others", text, s->parameter);
    return ERR_OK;
}

/* "a.pickle:batch=8" */
static enum err take_input(struct session *s, const char *text, struct err_detail *err)
{
    const char *colon = strrchr(text, ':');
    if (s->n == FORMULA_POINTS_MAX)
        return err_set(err, ERR_USAGE, 0, "at most %d recordings are taken", FORMULA_POINTS_MAX);
    if (colon == NULL)
        return err_set(err, ERR_USAGE, 0, "'%s': expected FILE:NAME=N, such as a.pickle:batch=8", text);
    s->paths[s->n] = strndup(text, (size_t)(colon - text));
    if (s->paths[s->n] == NULL)
        return err_no_memory(err);
    const enum err e = take_parameter(s, colon + 1, &s->values[s->n], err);
    for (size_t i = 0; i < s->n && e == ERR_OK; i++)
        if (s->values[i] == s->values[s->n])
            return err_set(err, ERR_USAGE, 0, "%s=%" PRIu64 " is given twice", s->parameter, s->values[i]);
    s->n++;
    return e;
}

static enum err session_parse(struct session *s, struct err_detail *err)
{
    const struct options *o = s->options;
    enum err e = ERR_OK;
    for (size_t i = 0; i < o->n_inputs && e == ERR_OK; i++)
        e = take_input(s, o->inputs[i], err);
    if (e != ERR_OK)
        return e;
    if (o->to == NULL && o->device == NULL)
        return err_set(err, ERR_USAGE, 0, "--to %s=N is missing, or a card for the largest (--device)", s->parameter);
    return o->to != NULL ? take_parameter(s, o->to, &s->to, err) : ERR_OK;
}

static enum err session_open(struct session *s, struct err_detail *err)
{
    struct options o = *s->options;
    enum err e = session_parse(s, err);
    for (size_t i = 0; i < s->n && e == ERR_OK; i++) {
        const char *path = s->paths[i];
        o.inputs = &path;
        e = cli_open_trace(&o, 0, &s->traces[i], err);
    }
    return e == ERR_OK ? extrapolate_open(s->traces, s->values, s->n, s->parameter, &s->x, err) : e;
}

/* ---- replays ---- */

static enum err replay_at(struct session *s, uint64_t value, enum unsolved_size unsolved, const char *device,
                          struct outcome *out, struct err_detail *err)
{
    struct trace_reader *trace = NULL;
    struct single_run run = { .trace = NULL };
    const struct replay_config cfg = { .threads = 1 };
    enum err e = extrapolate_trace(&s->x, value, unsolved, &trace, err);
    if (e == ERR_OK)
        e = single_run_open(&run, trace, NULL, device, err);
    if (e == ERR_OK)
        e = single_run_replay(&run, &cfg, err);
    if (e == ERR_OK)
        *out = (struct outcome){ .fits = run.lane.outcome == ERR_OK,
                                 .reserved_bytes = run.lane.device->usage.reserved_peak_bytes,
                                 .requested_bytes = trace_info(trace)->peak_requested_bytes };
    single_run_close(&run);
    trace_close(trace);
    return e;
}

/* A value at which a formula gives no whole number of bytes counts as one that does not fit. */
static enum err fits_at(struct session *s, uint64_t value, bool *fits, struct err_detail *err)
{
    struct outcome o = { .fits = false };
    const enum err e = replay_at(s, value, UNSOLVED_LARGEST, s->options->device, &o, err);
    s->n_tried++;
    *fits = e == ERR_OK && o.fits;
    return e == ERR_UNSUPPORTED && extrapolate_count(&s->x, FORMULA_AMBIGUOUS) == 0 ? ERR_OK : e;
}

/* Doubles from the largest recorded value until it does not fit, then bisects: `low` fits (0: nothing known to fit),
 * `high` does not. */
static enum err find_largest(struct session *s, struct err_detail *err)
{
    uint64_t low = 0, high = s->values[0];
    bool fits = true;
    enum err e = ERR_OK;
    for (size_t i = 1; i < s->n; i++)
        high = s->values[i] > high ? s->values[i] : high;
    while (fits && high < LARGEST_TRIED && (e = fits_at(s, high, &fits, err)) == ERR_OK && fits) {
        low = high;
        high *= 2;
    }
    while (e == ERR_OK && high - low > 1) {
        const uint64_t middle = low + (high - low) / 2;
        e = fits_at(s, middle, &fits, err);
        low = fits ? middle : low;
        high = fits ? high : middle;
    }
    s->largest = low;
    return e;
}

static enum err session_run(struct session *s, struct err_detail *err)
{
    enum err e = ERR_OK;
    if (s->to > 0) {
        e = replay_at(s, s->to, UNSOLVED_SMALLEST, "sim:unlimited", &s->least, err);
        if (e == ERR_OK)
            e = replay_at(s, s->to, UNSOLVED_LARGEST, "sim:unlimited", &s->most, err);
        if (e == ERR_OK && s->options->out != NULL)
            e = extrapolate_write(&s->x, s->to, UNSOLVED_LARGEST, s->options->out, err);
    }
    return e == ERR_OK && s->options->device != NULL ? find_largest(s, err) : e;
}

/* ---- answers ---- */

static void print_formulas(const struct session *s)
{
    char text[FORMULA_TEXT];
    printf("\n%10s  %s\n", "requests", "bytes of each");
    for (size_t i = 0; i < s->x.n_growths && i < FORMULAS_SHOWN; i++) {
        const struct growth *g = &s->x.growths[i];
        printf("%10" PRIu64 "  %s\n", g->n,
               g->fit == FORMULA_FITS ? formula_text(&g->formula, s->parameter, text) : "no formula");
    }
    if (s->x.n_growths > FORMULAS_SHOWN)
        printf("%10s  and %zu more formulas\n", "", s->x.n_growths - FORMULAS_SHOWN);
}

/* Whether a value is asked for that lies outside of the recorded ones. */
static bool is_beyond(const struct session *s, uint64_t value)
{
    uint64_t least = UINT64_MAX, most = 0;
    for (size_t i = 0; i < s->n; i++) {
        least = s->values[i] < least ? s->values[i] : least;
        most = s->values[i] > most ? s->values[i] : most;
    }
    return value > 0 && (value < least || value > most);
}

/* The condition that stands before a figure beyond the recorded values. */
static void add_condition(struct words *w, const struct session *s, uint64_t value)
{
    words_add(w, is_beyond(s, value) ? "If the program takes the same way there, %s=%" PRIu64 " " : "%s=%" PRIu64 " ",
              s->parameter, value);
}

static void print_peak(const struct session *s)
{
    char a[TEXT_NUMBER], b[TEXT_NUMBER];
    struct words w = { .n = 0 };
    add_condition(&w, s, s->to);
    words_add(&w, "reserves %s", text_mib(s->least.reserved_bytes, a));
    if (s->least.reserved_bytes != s->most.reserved_bytes)
        words_add(&w, " to %s", text_mib(s->most.reserved_bytes, b));
    words_add(&w, s->least.reserved_bytes == s->most.reserved_bytes ? " at its peak, for %s of live data."
                                                                    : " at its peak, for up to %s of live data.",
              text_mib(s->most.requested_bytes, b));
    words_print_screen(stdout, &w);
}

static void print_largest(const struct session *s)
{
    struct words w = { .n = 0 };
    if (s->largest == 0) {
        printf("On %s no %s fits.\n", s->options->device, s->parameter);
        return;
    }
    add_condition(&w, s, s->largest);
    words_add(&w, "is the largest on %s; %s=%" PRIu64 " is refused memory (%" PRIu64 " values tried).",
              s->options->device, s->parameter, s->largest + 1, s->n_tried);
    words_print_screen(stdout, &w);
}

/* No recording tells at which sizes PyTorch changes its way. */
static void print_caution(const struct session *s)
{
    struct words w = { .n = 0 };
    if (!is_beyond(s, s->to) && !is_beyond(s, s->largest))
        return;
    words_add(&w, "PyTorch chooses other kernels at some sizes, and beyond the recorded values nothing shows it. To be "
                  "sure, run the program at that value: replay predict -- python YOUR_PROGRAM");
    words_print_screen(stdout, &w);
}

/* A recording that is cut makes all that is foretold from it a lower bound. */
static enum err print_coverage(const struct session *s, struct err_detail *err)
{
    enum err e = ERR_OK;
    for (size_t i = 0; i < s->n && e == ERR_OK; i++)
        e = coverage_tell(stdout, s->traces[i], s->paths[i], err);
    return e;
}

static enum err extrapolate_print(const void *session, struct err_detail *err)
{
    const struct session *s = session;
    const uint64_t unsolved = extrapolate_count(&s->x, FORMULA_NONE);
    if (s->to > 0)
        print_peak(s);
    if (s->options->device != NULL)
        print_largest(s);
    printf("%zu recordings agree in all but sizes: %zu requests.\n", s->n, s->x.n_requests);
    if (unsolved > 0)
        printf("The sizes of %" PRIu64 " requests follow no formula; each was tried with its smallest and its largest "
               "recorded size.\n", unsolved);
    print_caution(s);
    if (s->options->formulas)
        print_formulas(s);
    return print_coverage(s, err);
}

static enum err extrapolate_write_json(const void *session, FILE *out, struct err_detail *err)
{
    (void)err;
    const struct session *s = session;
#define ANSWER_TABLE "answers/extrapolate.def"
#include "answers/as_json.def"
    return ERR_OK;
}

static enum err extrapolate_read(void *session, const struct options *o, struct err_detail *err)
{
    struct session *s = session;
    s->options = o;
    const enum err e = session_open(s, err);
    return e == ERR_OK ? session_run(s, err) : e;
}

static const struct flag_use extrapolate_flags[] = {
    TAKES(TO), TAKES_AS(DEVICE, "find the largest value that fits this card, such as 24GiB or h100-80g"),
    TAKES_AS(OUT, "write the trace at --to, to be replayed like any other"), TAKES(FORMULAS), TAKES(JSON), TAKES_INPUT,
    TAKES(HELP), FLAGS_END,
};

const struct subcommand cmd_extrapolate = {
    .name = "extrapolate",
    .synopsis = "extrapolate FILE:NAME=N FILE:NAME=N [FILE:NAME=N] --to NAME=N",
    .summary = "foretell a program's memory at a batch or length that was not recorded",
    .text = "The files are recordings of one program at two or three values of a parameter, such as the batch. They "
            "are aligned request by request, and a formula is found for each size. If the program took another way at "
            "one of the values, the place is named and nothing is foretold. Where two recordings leave two formulas "
            "open, a third one is asked for. The recorded settings are then replayed at the new value.\n"
            "\n"
            "Examples:\n"
            "  replay extrapolate a.pickle:batch=8 b.pickle:batch=16 --to batch=64\n"
            "  replay extrapolate a.pickle:batch=8 b.pickle:batch=16 --device 24GiB\n",
    .flags = extrapolate_flags,
    .n_inputs_min = 2,
    .n_inputs_max = FORMULA_POINTS_MAX,
    .answer = { .session_bytes = sizeof(struct session), .read = extrapolate_read, .write_json = extrapolate_write_json,
                .print = extrapolate_print, .close = extrapolate_end },
};
