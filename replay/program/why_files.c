/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/* Several files, of which `why` answers the worst. */
#include "replay/program/why_session.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { RECORDED_REFUSAL = 5000, SURVIVED = 2, OTHERS_SHOWN = 8, SHARING_SHOWN = 4 };

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
static unsigned look_at(const struct why_session *s, size_t i, const char **said, uint64_t *reserved_bytes)
{
    struct why_session one = { .options = s->options, .files = s->files, .chosen = i };
    struct err_detail ignored;
    const enum err e = why_session_open(&one, &ignored);
    const unsigned badness = e == ERR_OK ? badness_of(&one) : 0;
    *said = access(s->files.at[i].path, R_OK) != 0 ? unread
            : e != ERR_OK         ? NULL
            : badness == SURVIVED ? "survived"
            : one.trace == NULL   ? why_word(log_answer_verdict(&one.log))
            : badness > 1       ? "a recorded refusal"
                                : "a recording without refusals";
    *reserved_bytes = e == ERR_OK && one.trace != NULL ? trace_info(one.trace)->recorded_peak_reserved_bytes : 0;
    one.files = (struct sweep_inputs){ .n = 0 };
    why_session_close(&one);
    return badness;
}

static enum err choose_worst(struct why_session *s, struct err_detail *err)
{
    unsigned worst = 0;
    s->said = calloc(s->files.n + 1, sizeof *s->said);
    s->reserved_bytes = calloc(s->files.n + 1, sizeof *s->reserved_bytes);
    if (s->said == NULL || s->reserved_bytes == NULL)
        return err_no_memory(err);
    for (size_t i = 0; i < s->files.n; i++) {
        const unsigned badness = look_at(s, i, &s->said[i], &s->reserved_bytes[i]);
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
    why_session_find_requests(path, beside);
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

enum err why_files_take(struct why_session *s, struct err_detail *err)
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

/* Recordings may be of programs that were on one card at once; each of them sees the others only as memory that is
 * gone. Whether they fit is for a replay of them together. Ranks have cards of their own. */
static void print_sharing(const struct why_session *s)
{
    struct words w = { .n = 0 }, list = { .n = 0 };
    char a[TEXT_NUMBER];
    uint64_t sum = 0;
    size_t n = 0;
    for (size_t i = 0; i < s->files.n; i++) {
        if (s->reserved_bytes[i] == 0)
            continue;
        sum = add_capped(sum, s->reserved_bytes[i]);
        words_add(&list, "%s%s", n++ == 0 ? "" : ",", s->files.at[i].path);
    }
    if (n < 2 || n > SHARING_SHOWN || strstr(list.text, "rank") != NULL)
        return;
    words_add(&w, "- If they were on one card at once: at most they reserved %s together, and each has a CUDA context. "
                  "Whether they fit a card, and who is refused first: replay --share %s --device CARD",
              text_mib(sum, a), list.text);
    words_print_screen(stdout, &w);
}

void why_files_print(const struct why_session *s)
{
    struct words w = { .n = 0 }, rest = { .n = 0 }, lost = { .n = 0 };
    if (s->files.n == 0)
        return;
    words_add(&w, "- Of %zu files this is about the worst, %s.", s->files.n, s->files.at[s->chosen].path);
    add_files(&w, s, " The others: ", HOLDS_SOME);
    words_print_screen(stdout, &w);
    print_sharing(s);
    add_files(&rest, s, "- Neither a recording nor an error of memory is in: ", HOLDS_NONE);
    if (rest.n > 0)
        words_print_screen(stdout, &rest);
    add_files(&lost, s, "- Could not be read, a link may lead nowhere: ", UNREAD);
    if (lost.n > 0)
        words_print_screen(stdout, &lost);
}
