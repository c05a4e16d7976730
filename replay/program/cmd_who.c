/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/* `replay who FILE`: who holds the memory at a moment. */
#include "replay/program/cli.h"

#include "base/terminal.h"
#include "base/units.h"
#include "replay/engine/explain_run.h"
#include "replay/export/held_profile.h"
#include "replay/recording/categories.h"
#include "replay/recording/recorded_platform.h"
#include "replay/recording/recorded_settings.h"
#include "report/text/json_writer.h"
#include "report/text/text.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { ROWS_SHOWN = 20, NAME_COLUMN = 31, GUESSED_NAME = 64 };
#define LEAST_GUESS 0.05                             /* per cent of a row, shown as 0.1 */

static const struct { const char *word; enum holder_key key; } keys[] = {
    { "line", HOLDER_LINE }, { "file", HOLDER_FILE }, { "stack", HOLDER_STACK },
    { "size", HOLDER_SIZE }, { "stream", HOLDER_STREAM }, { "pool", HOLDER_POOL },
    { "category", HOLDER_CATEGORY }, { "module", HOLDER_MODULE },
};

/* Everything the command holds. Zero is valid: who_close accepts it. */
struct who {
    struct trace_reader *trace;
    struct holdings held;
    struct holders  rows;
    struct category_facts facts;     /* --by category */
    uint64_t since;                  /* --grew; 0 without it */
    int64_t  place;                  /* of the moment, in the source's numbering; -1: the end */
    size_t   key;                    /* index of keys[] */
    bool     is_forced_to_size;      /* no stacks: grouped by size */
    bool     has_grown;              /* --grew */
    bool     is_state;               /* the file holds a final state only, which is the one moment there is */
    bool     shows_all, is_wide;
    struct progress progress;
};

static void who_close(void *session)
{
    struct who *w = session;
    holders_close(&w->rows);
    holdings_close(&w->held);
    trace_close(w->trace);
}

static enum err read_key(struct who *w, const struct options *o, struct err_detail *err)
{
    const char *word = o->by != NULL ? o->by : "line";
    for (w->key = 0; w->key < sizeof keys / sizeof keys[0]; w->key++)
        if (strcmp(keys[w->key].word, word) == 0)
            break;
    if (w->key == sizeof keys / sizeof keys[0])
        return err_set(err, ERR_USAGE, 0, "--by '%s': expected line, file, module, category, stack, size, stream or "
                       "pool", word);
    const enum holder_key key = keys[w->key].key;
    if (key == HOLDER_MODULE && !holders_are_labelled(w->trace))
        return err_set(err, ERR_UNSUPPORTED, 0, "--by module: this recording has no labels, which name modules; record "
                       "it with --labels (record --torch, run-sim) or the Python module replay_labels, "
                       "or try --by line");
    if (trace_info(w->trace)->n_stacks == 0 && (key == HOLDER_LINE || key == HOLDER_FILE || key == HOLDER_STACK)) {
        w->is_forced_to_size = true;
        for (w->key = 0; keys[w->key].key != HOLDER_SIZE; w->key++)
            ;
    }
    return ERR_OK;
}

static bool read_digits(const char *text, size_t n, uint64_t *out)
{
    char *end, digits[24];
    if (n == 0 || n >= sizeof digits || strspn(text, "0123456789") < n)
        return false;
    memcpy(digits, text, n);
    digits[n] = '\0';
    *out = strtoull(digits, &end, 10);
    return *end == '\0' && *out <= INT64_MAX;
}

/* --at and --grew as a moment. */
static enum err read_moment(struct who *w, const struct options *o, enum moment_kind *kind, uint64_t *event,
                            struct err_detail *err)
{
    const char *at = o->at_moment, *dots = o->grew == NULL ? NULL : strstr(o->grew, "..");
    *event = 0;
    if (at != NULL && o->grew != NULL)
        return err_set(err, ERR_USAGE, 0, "--at and --grew both name a moment");
    if (o->grew != NULL) {
        *kind = MOMENT_EVENT;
        if (dots == NULL || !read_digits(o->grew, (size_t)(dots - o->grew), &w->since) ||
            !read_digits(dots + 2, strlen(dots + 2), event) || w->since > *event)
            return err_set(err, ERR_USAGE, 0, "--grew '%s': expected two events such as 1000..2000", o->grew);
        return ERR_OK;
    }
    *kind = at == NULL ? (trace_info(w->trace)->by_kind[EVENT_OOM] > 0 ? MOMENT_REFUSAL : MOMENT_PEAK)
            : strcmp(at, "peak") == 0 ? MOMENT_PEAK : strcmp(at, "refusal") == 0 ? MOMENT_REFUSAL
            : strcmp(at, "end") == 0 ? MOMENT_END : MOMENT_EVENT;
    if (at != NULL && *kind == MOMENT_EVENT && !read_digits(at, strlen(at), event))
        return err_set(err, ERR_USAGE, 0, "--at '%s': expected peak, refusal, end or the number of an event", at);
    return ERR_OK;
}

static enum err read_holders(struct who *w, const struct options *o, struct err_detail *err)
{
    enum moment_kind kind = MOMENT_PEAK;
    uint64_t event = 0;
    enum err e = cli_open_trace_or_state(o, 0, &w->trace, &w->is_state, err);
    w->progress = progress_start("reading", PROGRESS_EVENTS);
    if (e == ERR_OK) {
        trace_watch_reading(w->trace, progress_report, &w->progress);
        e = read_key(w, o, err);
    }
    if (e == ERR_OK)
        e = read_moment(w, o, &kind, &event, err);
    kind = w->is_state ? MOMENT_END : kind;
    if (e == ERR_OK && kind == MOMENT_EVENT)
        e = explain_run_find(w->trace, event, &event, err);
    if (e == ERR_OK && o->grew != NULL)
        e = explain_run_find(w->trace, w->since, &w->since, err);
    if (e == ERR_OK)
        e = holdings_read(w->trace, kind, event, &w->held, err);
    if (e == ERR_OK && o->grew != NULL)
        holdings_keep_new(&w->held, w->since);
    w->place = -1;
    if (e == ERR_OK && w->held.moment < trace_info(w->trace)->events)
        e = trace_event_number(w->trace, (int64_t)w->held.moment, &w->place, err);
    if (e == ERR_OK && keys[w->key].key == HOLDER_CATEGORY)
        e = categories_find(w->trace, &w->held, &w->facts, err);
    return e == ERR_OK ? holders_group(w->trace, &w->held, keys[w->key].key, &w->rows, err) : e;
}

static enum err who_read(void *session, const struct options *o, struct err_detail *err)
{
    struct who *w = session;
    w->shows_all = o->is_all || o->is_wide;
    w->is_wide = o->is_wide;
    w->has_grown = o->grew != NULL;
    const enum err e = read_holders(w, o, err);
    progress_clear(&w->progress);
    return e;
}

static double share(uint64_t part, uint64_t whole)
{
    return whole == 0 ? 0 : (double)part / (double)whole;
}

/* ---- text ---- */

/* Cuts a name that is wider than the terminal on the left, where the folders are, and never inside a letter. */
static void print_name(const char *name, bool is_wide)
{
    const size_t room = terminal_screen_columns(stdout) - NAME_COLUMN, n = strlen(name);
    const char *from = is_wide || n <= room ? name : name + (n - (room - 3));
    while (((unsigned char)*from & 0xC0) == 0x80)
        from++;
    fputs(from == name ? "" : "...", stdout);
    for (; *from != '\0'; from++)                    /* foreign text: nothing that a terminal obeys */
        putchar((unsigned char)*from < 0x20 || *from == 0x7F ? '?' : *from);
    putchar('\n');
}

/* A name of a category says how much of it is a guess. */
static const char *name_with_guess(const struct who *w, size_t i, char out[static GUESSED_NAME])
{
    const struct holder *r = &w->rows.at[i];
    const double guessed = 100 * share(r->guessed_bytes, r->bytes);
    if (guessed < LEAST_GUESS)
        return holder_name(&w->rows, i);
    if (guessed >= 100)
        snprintf(out, GUESSED_NAME, "%s (a guess)", holder_name(&w->rows, i));
    else
        snprintf(out, GUESSED_NAME, "%s (%.1f%% of it a guess)", holder_name(&w->rows, i), guessed);
    return out;
}

/* All in MiB, to be compared at a glance, but for what is too little for two decimals of it. */
static void print_amount(uint64_t bytes, uint64_t all)
{
    char small[UNITS_TEXT];
    if (bytes >= MIB || bytes == 0)
        printf("%10.2f MiB", (double)bytes / (double)MIB);
    else
        printf("%14s", units_format_bytes(bytes, small));
    printf(" %5.1f%% ", 100 * share(bytes, all));
}

static void print_rows(const struct who *w)
{
    const size_t shown = w->shows_all || w->rows.n <= ROWS_SHOWN ? w->rows.n : ROWS_SHOWN;
    uint64_t rest = 0;
    for (size_t i = 0; i < shown; i++) {
        const struct holder *r = &w->rows.at[i];
        char name[GUESSED_NAME];
        print_amount(r->bytes, w->held.bytes);
        printf("%7" PRIu64 "  ", r->n);
        print_name(name_with_guess(w, i, name), w->is_wide);
    }
    for (size_t i = shown; i < w->rows.n; i++)
        rest += w->rows.at[i].bytes;
    if (shown == w->rows.n)
        return;
    print_amount(rest, w->held.bytes);
    printf("         in %zu more; --all shows them\n", w->rows.n - shown);
}

/* How the next recording gets call stacks. */
static const char *ways_to_stacks(const struct who *w)
{
    const enum platform p = recorded_platform(w->trace);
    return platform_is_library(p)
               ? recorded_library_ways(p)
               : "In PyTorch, record with torch.cuda.memory._record_memory_history(stacks=\"python\").";
}

/* What the categories stand on, and how sure they are. */
static void print_sureness(const struct who *w)
{
    const uint64_t all = w->held.bytes, named = w->facts.named_bytes, labelled = w->facts.labelled_bytes;
    const uint64_t guessed = w->facts.guessed_bytes;
    struct words words = { .n = 0 };
    if (labelled > 0)
        words_add(&words, "Labels tell the category of %.1f%% of the bytes. Call stacks and lives alone would have "
                          "told %.1f%% of those rightly.", 100 * share(labelled, all),
                  100 * share(w->facts.agreed_bytes, labelled));
    else if (named > 0)
        words_add(&words, "Told by rules, from call stacks and from what each request lives through: %.1f%% of the "
                          "bytes, and %.1f%% as a guess%s. Rules may be wrong: labels know (run-sim or record --torch, "
                          "with --labels).",
                  100 * share(named - guessed, all), 100 * share(guessed, all),
                  named < all ? "; of the rest the recording tells nothing" : "");
    else
        words_add(&words, "No category can be told: %s%s", trace_info(w->trace)->n_stacks > 0
                      ? "what is live is older than the recording, its stacks show no Python, or the "
                        "program calls no module, backward pass or optimizer."
                      : "that takes call stacks. ", trace_info(w->trace)->n_stacks > 0 ? "" : ways_to_stacks(w));
    words_print_screen(stdout, &words);
}

static void print_forced_to_size(const struct who *w)
{
    struct words words = { .n = 0 };
    words_add(&words, "No call stacks were recorded, so lines are not known. %s", ways_to_stacks(w));
    words_print_screen(stdout, &words);
}

static enum err who_print(const void *session, struct err_detail *err)
{
    (void)err;
    const struct who *w = session;
    struct words words = { .n = 0 };
    words_add(&words, "%.2f MiB in %zu live request%s ", (double)w->held.bytes / (double)MIB, w->held.n,
              w->held.n == 1 ? "" : "s");
    if (w->place >= 0)
        words_add(&words, "before %s %" PRId64, trace_event_word(w->trace), w->place);
    else
        words_add(&words, "at the end");
    words_add(&words, "%s, by %s:", w->has_grown ? ", requested since then" : "", keys[w->key].word);
    words_print_screen(stdout, &words);
    print_rows(w);
    if (keys[w->key].key == HOLDER_CATEGORY)
        print_sureness(w);
    if (w->is_forced_to_size)
        print_forced_to_size(w);
    return ERR_OK;
}

/* ---- files ---- */

static enum err who_write_json(const void *session, FILE *out, struct err_detail *err)
{
    (void)err;
    const struct who *w = session;
#define ANSWER_TABLE "answers/who.def"
#include "answers/as_json.def"
    return ERR_OK;
}

static enum err who_write_profiles(void *session, FILE *const files[ANSWER_FILES], struct err_detail *err)
{
    const struct who *w = session;
    return held_profile_write(w->trace, &w->held, files[0], files[1], err);
}

static const struct flag_use who_flags[] = {
    TAKES(AT_MOMENT), TAKES(BY), TAKES(GREW), TAKES(ALL_ROWS),
    TAKES_AS(WIDE, "do not cut names to the width of 80 columns"), TAKES(JSON), TAKES(FOLDED), TAKES(SPEEDSCOPE),
    TAKES_INPUT, TAKES(HELP), FLAGS_END,
};

const struct subcommand cmd_who = {
    .name = "who",
    .synopsis = "who FILE",
    .summary = "show who holds the memory at a moment: by line of the program, category and more",
    .text = "A line is the innermost one of the program itself: frames of PyTorch and of installed libraries are "
            "skipped. Sizes are as requested. doc/recording.md defines the categories, and says how a recording is "
            "labelled.\n",
    .flags = who_flags,
    .n_inputs_min = 1,
    .n_inputs_max = 1,
    .answer = { .session_bytes = sizeof(struct who),
                .files = { offsetof(struct options, folded), offsetof(struct options, speedscope) }, .read = who_read,
                .write_json = who_write_json, .write_files = who_write_profiles, .print = who_print,
                .close = who_close },
};
