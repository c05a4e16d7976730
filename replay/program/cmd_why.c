/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/* `replay why FILE`: why a program ran out of memory, from a recording, or from the text of the error alone. */
#include "replay/program/cli.h"

#include "base/input.h"
#include "replay/results/result.h"
#include "replay/sweep/sweep_inputs.h"
#include "replay/why/log_answer.h"
#include "replay/why/log_recording.h"

#include <inttypes.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* A log is searched in its last part only, so that a long one takes no more memory. */
enum { LOG_MAX = 1 << 24 };

/* Everything the command holds. Zero is valid: session_close accepts it. */
struct why_session {
    const struct options *options;
    struct sweep_inputs   files;             /* several, or those of a folder: ranks, restarts; none: one was given */
    size_t                chosen;            /* the one of them that is answered */
    const char          **said;              /* of each, in a word; NULL: it holds nothing to answer */
    char                  spooled[32];       /* name of a copy of the input; "": none */
    int                   spool;             /* the copy */
    const char           *path;              /* of what is read */
    char                  beside[PATH_MAX];  /* read in place of the driver's calls that were named; "": nothing is */
    struct trace_reader  *trace;             /* NULL: the file is a text */
    bool                  is_state;          /* it holds a final state only */
    struct log_answer     log;
    struct log_recording  named;             /* by the log */
    bool                  is_named_read;     /* it lay beside the log, and is answered in its place */
    struct device_choice  device;
    struct why            answer;
    struct output        *json;
    bool                  is_stdout_taken;
};

static void session_close(struct why_session *s)
{
    sweep_inputs_close(&s->files);
    free(s->said);
    output_abandon(s->json);
    why_close(&s->answer);
    trace_close(s->trace);
    if (s->spooled[0] != '\0')
        close(s->spool);
}

/* Standard input or a pipe may be either, and can be read only once: it is copied to a file. */
static enum err spool(struct why_session *s, struct err_detail *err)
{
    struct input *in = NULL;
    enum err e = input_open(s->path, &in, err);
    if (e != ERR_OK)
        return e;
    input_keep_raw(in);
    e = input_whole_file(in, &s->spool, err);
    input_close(in);
    if (e != ERR_OK)
        return e;
    snprintf(s->spooled, sizeof s->spooled, "/dev/fd/%d", s->spool);
    s->path = s->spooled;
    return ERR_OK;
}

/* What a person called the input: the copy's name says nothing. */
static const char *shown_path(const struct why_session *s)
{
    if (s->spooled[0] == '\0' || s->files.n > 0)
        return s->path;
    return strcmp(s->options->inputs[0], "-") == 0 ? "standard input" : s->options->inputs[0];
}

static uint64_t count_lines(const char *bytes, size_t n)
{
    uint64_t lines = 0;
    for (size_t i = 0; i < n; i++)
        lines += bytes[i] == '\n';
    return lines;
}

/* Reads the text into `bytes`, keeping its last LOG_MAX bytes. Lines before them are counted in *dropped. */
static enum err read_log(struct input *in, char *bytes, size_t *n, uint64_t *dropped, struct err_detail *err)
{
    const unsigned char *part;
    size_t n_part = 1;
    enum err e = ERR_OK;
    *n = 0;
    *dropped = 0;
    while (e == ERR_OK && n_part > 0) {
        e = input_peek(in, INPUT_PEEK_MAX, &part, &n_part, err);
        if (e != ERR_OK || n_part == 0)
            break;
        if (*n + n_part > LOG_MAX) {
            *dropped += count_lines(bytes, LOG_MAX / 2);
            memmove(bytes, bytes + LOG_MAX / 2, *n - LOG_MAX / 2);
            *n -= LOG_MAX / 2;
        }
        memcpy(bytes + *n, part, n_part);
        *n += n_part;
        input_skip(in, n_part);
    }
    return e;
}

/* Whether bytes that are neither text nor a recording look like JSON, and not like "[1] 12345 killed". */
static bool is_json(const char *bytes, size_t n)
{
    size_t at = 1;
    while (at < n && (bytes[at] == ' ' || bytes[at] == '\n' || bytes[at] == '\r' || bytes[at] == '\t'))
        at++;
    return n > 1 && (bytes[0] == '{' || bytes[0] == '[') && at < n && strchr("{[\"", bytes[at]) != NULL;
}

/* Says what a text lacks. Of a recording that cannot be read, `err` already says more: it is binary, or JSON. */
static enum err refuse_text(const struct why_session *s, const char *bytes, size_t n, struct err_detail *err)
{
    if (n == 0 || !s->log.is_plain || is_json(bytes, n))
        return ERR_FORMAT;
    char mention[2 * LOG_OWN_LINE];
    log_answer_mention(&s->log, mention, sizeof mention);
    if (mention[0] != '\0')
        return err_at(err, ERR_FORMAT, 0, shown_path(s), "%s", mention);
    return err_at(err, ERR_FORMAT, 0, shown_path(s), "holds no error of memory that is known (doc/advice.md lists "
                  "them). Give the whole log, or record the run: replay record --help");
}

/* Takes the text of an OutOfMemoryError out of a file that is no recording, or the last error that says in other words
 * that the card was full. */
static enum err find_text(struct why_session *s, struct err_detail *err)
{
    struct err_detail reason;
    struct input *in = NULL;
    size_t n = 0;
    uint64_t dropped = 0;
    char *bytes = malloc(LOG_MAX + INPUT_PEEK_MAX);
    enum err e = bytes == NULL ? err_no_memory(&reason)
                               : input_open(s->path, &in, &reason);
    if (e == ERR_OK)
        e = read_log(in, bytes, &n, &dropped, &reason);
    if (e == ERR_HOST_NOMEM)
        *err = reason;
    else if (e != ERR_OK)
        e = ERR_FORMAT;                      /* `err` says what the file is not */
    else {
        log_answer_read(bytes, n, dropped, s->options->system, &s->log);
        s->named = log_recording_find(bytes, n);
        e = s->log.is_found ? ERR_OK : refuse_text(s, bytes, n, err);
    }
    input_close(in);
    free(bytes);
    return e;
}

/* Of a recording without a request nothing can be said: it may be cut off before the first. */
static enum err check_requests(const struct why_session *s, struct err_detail *err)
{
    size_t n_start;
    (void)trace_start_blocks(s->trace, &n_start);
    return trace_info(s->trace)->events > 0 || n_start > 0
         ? ERR_OK : err_at(err, ERR_INPUT, 0, shown_path(s), "holds no request, so nothing can be said of it");
}

/* A recorded limit tells the card, too, so that no other card is named. */
static enum err choose_device(struct why_session *s, const struct options *o, struct err_detail *err)
{
    char card[40];
    struct recorded_limit limit;
    const bool is_told = o->device == NULL && trace_info(s->trace)->capacity_bytes == 0 &&
                         recorded_limit_read(s->trace, &limit);
    if (is_told)
        snprintf(card, sizeof card, "sim:%" PRIu64, limit.card);
    const enum err e = device_choose_for_advice(is_told ? card : o->device, s->trace, &s->device, err);
    if (e == ERR_OK && is_told)
        s->device.has_total = false;
    return e;
}

/* Calls to the driver do not tell what of a segment is live. PyTorch's own requests of the same run may lie beside
 * them, as run-sim and record --torch leave them: run.driver.zst and run.zst. "": they do not. */
static void find_requests_beside(const char *path, char beside[PATH_MAX])
{
    static const char ending[] = ".driver.zst";
    const size_t n = strlen(path), before = n > sizeof ending - 1 ? n - (sizeof ending - 1) : 0;
    beside[0] = '\0';
    if (before == 0 || strcmp(path + before, ending) != 0)
        return;
    const int put = snprintf(beside, PATH_MAX, "%.*s.zst", (int)before, path);
    if (put >= PATH_MAX || access(beside, R_OK) != 0)
        beside[0] = '\0';
}

/* Those are read in place of the calls. */
static void take_requests_beside(struct why_session *s)
{
    find_requests_beside(s->path, s->beside);
    if (s->beside[0] != '\0')
        s->path = s->beside;
}

/* Of a log that names a recording: what lies beside it under that name is read in its place, if a request was refused
 * in it. Nowhere else is looked, whatever folders the log names. */
static void take_named(struct why_session *s, const struct options *o)
{
    char path[PATH_MAX];
    struct err_detail ignored;
    struct options named = *o;
    const char *file = path, *slash = strrchr(s->path, '/');
    const int folder = slash == NULL ? 0 : (int)(slash + 1 - s->path);
    if (s->named.name[0] == '\0' || s->files.n > 0 || s->spooled[0] != '\0' ||
        snprintf(path, sizeof path, "%.*s%s", folder, s->path, s->named.name) >= PATH_MAX || access(path, R_OK) != 0)
        return;
    named.inputs = &file;
    if (cli_open_trace_or_state(&named, 0, &s->trace, &s->is_state, &ignored) == ERR_OK &&
        trace_info(s->trace)->by_kind[EVENT_OOM] > 0) {
        s->is_named_read = true;
        return;
    }
    trace_close(s->trace);
    s->trace = NULL;
    s->is_state = false;
    s->named.is_told = false;                /* it is there, and tells nothing more */
}

static enum err session_open(struct why_session *s, struct err_detail *err)
{
    struct options o = *s->options;
    s->path = s->files.n > 0 ? s->files.at[s->chosen].path : o.inputs[0];
    take_requests_beside(s);
    enum err e = input_is_once(s->path) ? spool(s, err) : ERR_OK;
    if (e != ERR_OK)
        return e;
    o.inputs = &s->path;
    e = cli_open_trace_or_state(&o, 0, &s->trace, &s->is_state, err);
    if (e == ERR_FORMAT) {
        e = find_text(s, err);
        if (e == ERR_OK)
            take_named(s, &o);
        if (e != ERR_OK || !s->is_named_read)
            return e;
    }
    if (e == ERR_OK)
        e = check_requests(s, err);
    if (e == ERR_OK)
        e = choose_device(s, &o, err);
    if (e == ERR_OK && o.system != PLATFORM_UNKNOWN)
        s->device.platform = o.system;
    return e;
}

/* ---- several files ---- */

enum { RECORDED_REFUSAL = 5000, SURVIVED = 2, OTHERS_SHOWN = 8 };

/* The worst comes first: a recorded refusal, then what tells most, then the fullest card, and what the program survived
 * after all these. 0: nothing to answer. */
static unsigned badness_of(const struct why_session *s)
{
    const bool is_refused = s->trace != NULL && trace_info(s->trace)->by_kind[EVENT_OOM] > 0;
    if (s->trace == NULL && log_answer_is_survived(&s->log))
        return SURVIVED;
    return s->trace == NULL ? 1000 * (unsigned)log_answer_rank(&s->log) + log_answer_fullness(&s->log)
           : is_refused     ? RECORDED_REFUSAL
                            : 1;
}

static const char unread[] = "could not be read";

/* Looks at one of the files alone. A file that cannot be read, or holds no error, is none of the worst. */
static unsigned look_at(const struct why_session *s, size_t i, const char **said)
{
    struct why_session one = { .options = s->options, .files = s->files, .chosen = i };
    struct err_detail ignored;
    const enum err e = session_open(&one, &ignored);
    const unsigned badness = e == ERR_OK ? badness_of(&one) : 0;
    *said = access(s->files.at[i].path, R_OK) != 0 ? unread
            : e != ERR_OK         ? NULL
            : badness == SURVIVED ? "survived"
            : one.trace == NULL   ? why_word(log_answer_verdict(&one.log))
            : badness > 1       ? "a recorded refusal"
                                : "a recording without refusals";
    one.files = (struct sweep_inputs){ .n = 0 };
    session_close(&one);
    return badness;
}

static enum err choose_worst(struct why_session *s, struct err_detail *err)
{
    unsigned worst = 0;
    s->said = calloc(s->files.n + 1, sizeof *s->said);
    if (s->said == NULL)
        return err_no_memory(err);
    for (size_t i = 0; i < s->files.n; i++) {
        const unsigned badness = look_at(s, i, &s->said[i]);
        if (badness > worst) {
            worst = badness;
            s->chosen = i;
        }
    }
    return worst > 0 ? ERR_OK
                     : err_at(err, ERR_FORMAT, 0, s->options->inputs[0], "none of the %zu files holds a recording, or "
                              "an error of memory that is known", s->files.n);
}

/* Whether PyTorch's own requests are among the files as well. */
static bool is_doubled(const struct sweep_inputs *files, const char *path)
{
    char beside[PATH_MAX];
    find_requests_beside(path, beside);
    for (size_t i = 0; i < files->n && beside[0] != '\0'; i++)
        if (strcmp(files->at[i].path, beside) == 0)
            return true;
    return false;
}

/* Calls to the driver that PyTorch's requests lie beside are no recording of their own. */
static void leave_out_driver(struct sweep_inputs *files)
{
    for (size_t i = 0; i < files->n;) {
        struct sweep_input *file = &files->at[i];
        if (!is_doubled(files, file->path)) {
            i++;
            continue;
        }
        free(file->path);
        free(file->job);
        files->n--;
        memmove(file, file + 1, (files->n - i) * sizeof *file);
    }
}

/* Several files, or a folder, are the ranks and restarts of one run: one answer is given, of the worst. */
static enum err take_files(struct why_session *s, struct err_detail *err)
{
    struct stat st;
    const struct options *o = s->options;
    const bool is_folder = stat(o->inputs[0], &st) == 0 && S_ISDIR(st.st_mode);
    enum err e = ERR_OK;
    if (o->n_inputs == 1 && !is_folder)
        return ERR_OK;
    for (size_t i = 0; i < o->n_inputs && e == ERR_OK; i++)
        e = sweep_inputs_add(&s->files, o->inputs[i], err);
    leave_out_driver(&s->files);
    return e == ERR_OK ? choose_worst(s, err) : e;
}

enum look { HOLDS_SOME, HOLDS_NONE, UNREAD };

/* Whether a file that is not answered is of those that hold something to answer, or of those that do not. */
static bool is_listed(const struct why_session *s, size_t i, enum look look)
{
    const char *said = s->said[i];
    return i != s->chosen && look == (said == NULL ? HOLDS_NONE : said == unread ? UNREAD : HOLDS_SOME);
}

/* "The others: a: full, b: untold, and 3 more." None is dropped without a word. */
static void add_files(struct words *w, const struct why_session *s, const char *title, enum look look)
{
    size_t n = 0;
    for (size_t i = 0; i < s->files.n; i++) {
        if (!is_listed(s, i, look) || ++n > OTHERS_SHOWN)
            continue;
        words_add(w, "%s%s", n == 1 ? title : ", ", s->files.at[i].path);
        if (look == HOLDS_SOME)
            words_add(w, ": %s", s->said[i]);
    }
    if (n > OTHERS_SHOWN)
        words_add(w, ", and %zu more", n - OTHERS_SHOWN);
    words_add(w, "%s", n > 0 ? "." : look == HOLDS_SOME ? " No other holds an error." : "");
}

static void print_files(const struct why_session *s)
{
    struct words w = { .n = 0 }, rest = { .n = 0 }, lost = { .n = 0 };
    if (s->files.n == 0)
        return;
    words_add(&w, "- Of %zu files this is about the worst, %s.", s->files.n, s->files.at[s->chosen].path);
    add_files(&w, s, " The others: ", HOLDS_SOME);
    words_print_screen(stdout, &w);
    add_files(&rest, s, "- Neither a recording nor an error of memory is in: ", HOLDS_NONE);
    if (rest.n > 0)
        words_print_screen(stdout, &rest);
    add_files(&lost, s, "- Could not be read, a link may lead nowhere: ", UNREAD);
    if (lost.n > 0)
        words_print_screen(stdout, &lost);
}

static void print_beside(const struct why_session *s)
{
    struct words w = { .n = 0 };
    if (s->beside[0] == '\0')
        return;
    words_add(&w, "- This is about PyTorch's own requests, which lie beside the driver's calls of the same run: %s. "
                  "The calls do not tell live memory from cache.", s->beside);
    words_print_screen(stdout, &w);
}

static void print_named(const struct why_session *s)
{
    struct words w = { .n = 0 };
    if (s->is_named_read)
        words_add(&w, "- This is about the recording that the log names, which lies beside it: %s. If that is of "
                      "another run, move it away for an answer from the log alone.", s->named.name);
    else if (s->trace == NULL && s->named.is_told)
        words_add(&w, "- The log names a recording, %s: it tells more. Give it to replay why, or put it beside the "
                      "log.", s->named.name);
    if (w.n > 0)
        words_print_screen(stdout, &w);
}

static enum err session_run(struct why_session *s, struct err_detail *err)
{
    struct progress progress = progress_start("replaying", PROGRESS_EVENTS);
    const struct replay_config cfg = { .threads = s->options->threads, .progress = progress_report,
                                       .progress_arg = &progress };
    const enum err e = s->trace != NULL ? why_read(s->trace, s->is_state, &s->device, &cfg, &s->answer, err) : ERR_OK;
    progress_clear(&progress);
    return e;
}

static void write_json(FILE *out, const struct why_session *s)
{
#define ANSWER_TABLE "answers/why.def"
#include "answers/as_json.def"
}

static enum exit_status why_main(const struct options *o)
{
    struct why_session s = { .options = o };
    struct err_detail err = { .text = "" };
    enum err e = cli_open_output(o, o->json, &s.is_stdout_taken, &s.json, &err);
    if (e == ERR_OK)
        e = take_files(&s, &err);
    if (e == ERR_OK)
        e = session_open(&s, &err);
    if (e == ERR_OK)
        e = session_run(&s, &err);
    if (e == ERR_OK && s.json != NULL) {
        write_json(output_file(s.json), &s);
        e = output_commit(&s.json, &err);
    }
    if (e == ERR_OK && !s.is_stdout_taken && s.trace != NULL)
        why_print(stdout, &s.answer, trace_event_word(s.trace));
    else if (e == ERR_OK && !s.is_stdout_taken)
        log_answer_print(stdout, &s.log);
    if (e == ERR_OK && !s.is_stdout_taken)
        print_beside(&s);
    if (e == ERR_OK && !s.is_stdout_taken)
        print_named(&s);
    if (e == ERR_OK && !s.is_stdout_taken)
        print_files(&s);
    if (e == ERR_OK && s.trace == NULL && o->is_given[FLAG_DEVICE])
        fprintf(stderr, "replay: --device does nothing here: the error's text says which card it was\n");
    const enum exit_status status = e != ERR_OK ? cli_fail(e, &err) : cli_finish_stdout(STATUS_DONE);
    session_close(&s);
    return status;
}

static const struct flag_use why_flags[] = {
    TAKES_AS(DEVICE, "the card it ran on, such as 24GiB or h100-80g (default: what the recording tells)"), TAKES(JSON),
    TAKES(SYSTEM), TAKES(THREADS), TAKES_INPUT, TAKES(HELP), FLAGS_END,
};

const struct subcommand cmd_why = {
    .name = "why",
    .synopsis = "why FILE...",
    .summary = "say why a program ran out of memory, and which setting cures it",
    .text = "FILE is a recording, or a log that holds an error of memory; '-' is standard input. Known are the "
            "errors of "
            "PyTorch, JAX, TensorFlow, vLLM, llama.cpp, libraries, drivers, the kernel and others. Several files, or a "
            "folder, are the ranks or restarts of one run: the worst is answered. The "
            "first line is the verdict, the first of these that holds: a setting is not in force; somebody else has "
            "the memory; one tensor is too large; a leak, and the line that holds it; the last input is larger than "
            "all before; really full, and by how much it is short; fragmented, and the lines to paste; nothing "
            "was refused; or the recording does not tell. Of a text it may also be that a memory fraction refused the "
            "request, that the card had room, or that the text does not tell full from fragmented. A recording that "
            "ends with a refused request gives lower bounds: what the program would have needed next is not in it.\n"
            "\n"
            "Examples:\n"
            "  replay why snapshot.pickle\n"
            "  python train.py 2>&1 | tee log; replay why log\n"
            "  python train.py 2>&1 | replay why -\n",
    .flags = why_flags,
    .n_inputs_min = 1,
    .n_inputs_max = SIZE_MAX,
    .run = why_main,
};
