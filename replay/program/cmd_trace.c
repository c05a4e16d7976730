/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/* `replay trace cut|merge|resize|repeat|shift|anonymise FILE... -o OUT`: traces made of traces. */
#include "replay/program/cli.h"

#include "base/shown.h"
#include "base/units.h"
#include "replay/recording/plain_facts.h"
#include "replay/recording/steps.h"
#include "traces/trace_edit.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { PATH_BYTES = 4096, TEXTS_SHOWN = 20, TEXT_COLUMNS = 76 };

/* Everything the command holds. Zero is valid: trace_end accepts it. */
struct edit {
    const struct options *o;
    const struct edit_kind *kind;
    struct trace_reader *in[TRACE_MERGE_MAX];
    uint64_t offset_ns[TRACE_MERGE_MAX];
    size_t   n;
};

/* ---- values ---- */

/* The second side of "A..B", behind the dots; it may be empty. NULL with *why set: the text has no two sides. */
static const char *second_side(const char *flag, const char *text, struct err_detail *err)
{
    const char *dots = strstr(text, "..");
    if (dots != NULL && dots != text)
        return dots + 2;
    (void)err_set(err, ERR_USAGE, 0, "--%s '%s': expected A..B or A..", flag, text);
    return NULL;
}

static enum err part_by_events(const struct edit *d, uint64_t *first, uint64_t *end, struct err_detail *err)
{
    char *stop;
    const char *second = second_side("events", d->o->part, err);
    if (second == NULL)
        return ERR_USAGE;
    *first = strtoull(d->o->part, &stop, 10);
    bool is_read = stop == second - 2 && d->o->part[0] != '-';
    *end = second[0] == '\0' ? trace_info(d->in[0])->events : strtoull(second, &stop, 10);
    is_read &= second[0] == '\0' || (*stop == '\0' && second[0] != '-');
    return is_read ? ERR_OK
                   : err_set(err, ERR_USAGE, 0, "--events '%s': expected two numbers as 100..200", d->o->part);
}

static enum err part_by_time(const struct edit *d, uint64_t *first, uint64_t *end, struct err_detail *err)
{
    double from = 0, to = 0;
    const char *second = second_side("time", d->o->part_time, err);
    if (second == NULL)
        return ERR_USAGE;
    const bool has_end = second[0] != '\0';
    if (!units_parse_time(d->o->part_time, (size_t)(second - 2 - d->o->part_time), &from) || from < 0 ||
        (has_end && (!units_parse_time(second, strlen(second), &to) || to < 0)))
        return err_set(err, ERR_USAGE, 0, "--time '%s': expected two times as 1.5s..2s", d->o->part_time);
    *end = trace_info(d->in[0])->events;
    const enum err e = trace_event_at(d->in[0], (uint64_t)from, first, err);
    return e == ERR_OK && has_end ? trace_event_at(d->in[0], (uint64_t)to, end, err) : e;
}

static enum err part_by_step(const struct edit *d, uint64_t *first, uint64_t *end, struct err_detail *err)
{
    struct steps steps;
    const enum err e = steps_find(d->in[0], &steps, err);
    if (e == ERR_OK && steps.whole == 0)
        return err_at(err, ERR_UNSUPPORTED, 0, d->o->inputs[1], "no whole step was recorded; --events or --time name a "
                      "part");
    *first = steps.first;
    *end = steps.end;
    return e;
}

/* ---- the kinds of work ---- */

static enum err edit_cut(struct edit *d, struct trace_writer *w, struct err_detail *err)
{
    uint64_t first = 0, end = 0;
    const struct options *o = d->o;
    if ((o->part != NULL) + (o->part_time != NULL) + o->part_step != 1)
        return err_set(err, ERR_USAGE, 0, "cut needs one of --events A..B, --time A..B and --step");
    enum err e = o->part != NULL        ? part_by_events(d, &first, &end, err)
                 : o->part_time != NULL ? part_by_time(d, &first, &end, err)
                                        : part_by_step(d, &first, &end, err);
    return e == ERR_OK ? trace_cut(d->in[0], first, end, w, err) : e;
}

static enum err edit_merge(struct edit *d, struct trace_writer *w, struct err_detail *err)
{
    return trace_merge(d->in, d->offset_ns, d->n, w, err);
}

static enum err edit_resize(struct edit *d, struct trace_writer *w, struct err_detail *err)
{
    char *end = NULL;
    const double factor = d->o->scale == NULL ? 0 : strtod(d->o->scale, &end);
    if (end == NULL || *end != '\0' || !(factor > 0 && factor <= 1e6))
        return err_set(err, ERR_USAGE, 0, "resize needs --scale X, above 0 and at most 1000000");
    return trace_resize(d->in[0], factor, w, err);
}

static enum err edit_repeat(struct edit *d, struct trace_writer *w, struct err_detail *err)
{
    return d->o->times == 0 ? err_set(err, ERR_USAGE, 0, "repeat needs --times N")
                            : trace_repeat(d->in[0], d->o->times, w, err);
}

static enum err edit_shift(struct edit *d, struct trace_writer *w, struct err_detail *err)
{
    double ns = 0;
    if (d->o->by == NULL || !units_parse_time(d->o->by, strlen(d->o->by), &ns))
        return err_set(err, ERR_USAGE, 0, "shift needs --by TIME, such as 2s or -150ms");
    return trace_shift(d->in[0], (int64_t)ns, w, err);
}

static enum err edit_anonymise(struct edit *d, struct trace_writer *w, struct err_detail *err)
{
    return trace_anonymise(d->in[0], fact_is_plain, w, err);
}

static const struct edit_kind {
    const char *name;
    size_t      most_files;
    enum err  (*run)(struct edit *d, struct trace_writer *w, struct err_detail *err);
} kinds[] = {
    { "cut", 1, edit_cut },       { "merge", TRACE_MERGE_MAX, edit_merge }, { "resize", 1, edit_resize },
    { "repeat", 1, edit_repeat }, { "shift", 1, edit_shift },               { "anonymise", 1, edit_anonymise },
};

static enum err find_kind(const char *name, const struct edit_kind **out, struct err_detail *err)
{
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++)
        if (strcmp(kinds[i].name, name) == 0) {
            *out = &kinds[i];
            return ERR_OK;
        }
    return err_set(err, ERR_USAGE, 0, "trace '%s': expected cut, merge, resize, repeat, shift or anonymise", name);
}

/* ---- files ---- */

/* Opens "b.zst" or "b.zst@2s": a file, and how much later it begins. */
static enum err open_one(struct edit *d, const char *typed, bool *has_offset, struct err_detail *err)
{
    char path[PATH_BYTES];
    const char *inputs[1] = { path };
    struct options one = *d->o;
    double ns = 0;
    const char *at = strrchr(typed, '@');
    *has_offset = at != NULL && units_parse_time(at + 1, strlen(at + 1), &ns) && ns >= 0;
    const size_t n = *has_offset ? (size_t)(at - typed) : strlen(typed);
    if (n >= sizeof path)
        return err_set(err, ERR_USAGE, 0, "a path is longer than %d letters", PATH_BYTES);
    snprintf(path, sizeof path, "%.*s", (int)n, typed);
    one.inputs = inputs;
    one.n_inputs = 1;
    d->offset_ns[d->n] = *has_offset ? (uint64_t)ns : 0;
    const enum err e = cli_open_trace(&one, 0, &d->in[d->n], err);
    d->n += e == ERR_OK;
    return e;
}

/* Without offsets, recordings that all tell the time of day begin as they began then. */
static void offsets_by_clock(struct edit *d)
{
    uint64_t first_us = UINT64_MAX;
    for (size_t i = 0; i < d->n; i++) {
        const uint64_t us = trace_info(d->in[i])->epoch_us;
        if (us == 0)
            return;
        first_us = us < first_us ? us : first_us;
    }
    for (size_t i = 0; i < d->n; i++)
        d->offset_ns[i] = (trace_info(d->in[i])->epoch_us - first_us) * 1000;
}

static enum err open_files(struct edit *d, struct err_detail *err)
{
    enum err e = ERR_OK;
    bool has_any = false, has_offset;
    if (d->o->n_inputs < 2 || d->o->n_inputs - 1 > d->kind->most_files)
        return err_set(err, ERR_USAGE, 0, "trace %s needs %s", d->kind->name,
                       d->kind->most_files == 1 ? "one file" : "files to merge");
    for (size_t i = 1; i < d->o->n_inputs && e == ERR_OK; i++) {
        e = open_one(d, d->o->inputs[i], &has_offset, err);
        has_any |= has_offset;
    }
    if (e == ERR_OK && !has_any)
        offsets_by_clock(d);
    return e;
}

/* ---- the proof ---- */

/* ERR_USAGE if the copy cannot be read again where it would be written: a pipe would wait for ever. */
static enum err check_provable(const char *path, struct err_detail *err)
{
    struct stat st;
    if (strcmp(path, "-") != 0 && (stat(path, &st) != 0 || S_ISREG(st.st_mode)))
        return ERR_OK;
    return err_at(err, ERR_USAGE, 0, path, "is not a file; an anonymous copy is read back as proof");
}

struct shown_texts { size_t n; };

static void show_text(void *arg, const char *what, const char *text)
{
    struct shown_texts *shown = arg;
    if (strcmp(what, "units") == 0 || strcmp(what, "notes") == 0 || shown->n++ >= TEXTS_SHOWN)
        return;
    if (strlen(what) + strlen(text) + 6 <= TEXT_COLUMNS) {
        printf("  %s: ", what);
        shown_put(stdout, text[0] == '\0' ? "(empty)" : text);
        putchar('\n');
        return;
    }
    printf("  %s:\n", what);
    for (size_t at = 0, n = strlen(text); at < n; at += TEXT_COLUMNS) {
        printf("    ");
        shown_put_part(stdout, text + at, n - at < TEXT_COLUMNS ? n - at : TEXT_COLUMNS);
        putchar('\n');
    }
}

/* Says which facts the copy lacks, and how many settings of events: their texts are of no closed list. */
static void show_left_out(const struct trace_reader *in, const struct trace_reader *written)
{
    const char *name, *value;
    size_t n = 0, n_settings = 0;
    for (size_t i = 0; (name = trace_meta_at(in, i, &value)) != NULL; i++)
        if (trace_meta(written, name) == NULL) {
            printf(n++ == 0 ? "Facts left out: " : ", ");
            shown_put(stdout, name);
        }
    if (n > 0)
        putchar('\n');
    for (uint32_t i = 0; i < trace_info(in)->n_controls; i++) {
        const char *text = trace_controls(in)[i].text;
        n_settings += text != NULL && !fact_is_plain(TRACE_TEXT_SETTINGS, text);
    }
    if (n_settings > 0)
        printf("Settings left out: of %zu event%s\n", n_settings, n_settings == 1 ? "" : "s");
}

/* Reads the file that was written, and lists every text in it and what was left out. */
static enum err prove(const struct trace_reader *in, const char *path, struct err_detail *err)
{
    struct trace_reader *written = NULL;
    struct shown_texts shown = { 0 };
    const enum err e = trace_open(path, &written, err);
    if (e != ERR_OK)
        return e;
    printf("All texts in ");
    shown_put(stdout, path);
    printf(", read back; the rest is numbers:\n");
    const bool is_anonymous = trace_is_anonymous(written, fact_is_plain, show_text, &shown);
    if (shown.n > TEXTS_SHOWN)
        printf("  and %zu more of the same kinds\n", shown.n - TEXTS_SHOWN);
    if (shown.n == 0)
        printf("  none\n");
    show_left_out(in, written);
    trace_close(written);
    return is_anonymous ? ERR_OK : err_at(err, ERR_FORMAT, 0, path, "holds a text that names something");
}

/* As many as are read, once or several times; 0: of a cut nobody knows. */
static uint64_t events_to_write(const struct edit *d)
{
    uint64_t events = 0;
    for (size_t i = 0; i < d->n; i++)
        events += trace_info(d->in[i])->events;
    return d->kind->run == edit_cut ? 0 : d->kind->run == edit_repeat ? events * d->o->times : events;
}

static enum err edit_to(struct edit *d, struct err_detail *err)
{
    struct trace_writer *w = NULL;
    struct progress progress = progress_start("writing", PROGRESS_EVENTS);
    enum err e = trace_create(d->o->out, &w, err);
    if (e != ERR_OK)
        return e;
    trace_watch_writing(w, events_to_write(d), progress_report, &progress);
    e = d->kind->run(d, w, err);
    progress_clear(&progress);
    if (e == ERR_OK)
        return trace_finish(w, err);
    trace_abandon(w);
    return e;
}

static enum err trace_read(void *session, const struct options *o, struct err_detail *err)
{
    struct edit *d = session;
    d->o = o;
    enum err e = find_kind(o->inputs[0], &d->kind, err);
    if (e == ERR_OK)
        e = o->out != NULL ? cli_check_output(o, o->out, err)
                           : err_set(err, ERR_USAGE, 0, "trace needs a name for the new trace: -o OUT");
    if (e == ERR_OK && d->kind->run == edit_anonymise)
        e = check_provable(o->out, err);
    if (e == ERR_OK)
        e = open_files(d, err);
    return e == ERR_OK ? edit_to(d, err) : e;
}

static enum err trace_print(const void *session, struct err_detail *err)
{
    const struct edit *d = session;
    return d->kind->run == edit_anonymise ? prove(d->in[0], d->o->out, err) : ERR_OK;
}

static void trace_end(void *session)
{
    struct edit *d = session;
    for (size_t i = 0; i < d->n; i++)
        trace_close(d->in[i]);
}

static const struct flag_use trace_flags[] = {
    TAKES(OUT), TAKES(PART), TAKES(PART_TIME), TAKES(PART_STEP), TAKES(TIMES), TAKES(SCALE), TAKES(LATER), TAKES_INPUT,
    TAKES(HELP), FLAGS_END,
};

const struct subcommand cmd_trace = {
    .name = "trace",
    .synopsis = "trace WORK FILE... -o OUT",
    .summary = "make a trace of traces: cut, merge, resize, repeat, shift or anonymise them",
    .text = "cut takes a part; what was live at its beginning is requested before it. repeat takes a trace several "
            "times, as a step that was cut out. merge puts several on one card, in order of time: as they began by the "
            "clock, or as @TIME says. resize multiplies all sizes. shift moves the time of day. anonymise takes out "
            "call stacks, labels, paths, commands and every text that is not of a closed list, reads back what it "
            "wrote, and lists every text that is left and what was left out; OUT must be a file.\n"
            "\n"
            "  replay trace cut run.pickle --step -o step.zst\n"
            "  replay trace repeat step.zst --times 100 -o long.zst\n"
            "  replay trace merge rank0.zst rank1.zst@2s -o card.zst\n"
            "  replay trace anonymise oom.pickle -o report.zst\n",
    .flags = trace_flags,
    .n_inputs_min = 1,
    .n_inputs_max = TRACE_MERGE_MAX + 1,
    .answer = { .session_bytes = sizeof(struct edit), .read = trace_read, .print = trace_print, .close = trace_end },
};
