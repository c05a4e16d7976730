/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/* `replay conf TEXT`: what each release of PyTorch makes of a settings text. */
#include "replay/program/cli.h"

#include "base/shown.h"
#include "policies/pytorch/pytorch_conf.h"
#include "replay/recording/conf_review.h"
#include "replay/recording/platform.h"
#include "report/text/json_writer.h"
#include "report/text/text.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { CONF_COLUMNS = 80 };

/* Everything the command holds. Zero is valid: conf_close accepts it. */
struct conf_session {
    const char        *text;
    enum platform      platform;                 /* that the variable is of, or that a person named */
    struct conf_review reviews[TORCH_RELEASES];  /* oldest first; of the releases that are asked about */
    size_t             n;
};

static void conf_close(void *session)
{
    struct conf_session *s = session;
    for (size_t i = 0; i < s->n; i++)
        conf_review_close(&s->reviews[i]);
}

/* "export PYTORCH_CUDA_ALLOC_CONF='...'" is taken for what it sets. */
static const char *without_variable(const char *text)
{
    static const char ending[] = "ALLOC_CONF=";
    const char *name = strstr(text, ending), *equals = strchr(text, '=');
    return name != NULL && name + strlen(ending) - 1 == equals ? equals + 1 : text;
}

/* The platform whose own variable the text sets; PLATFORM_UNKNOWN: it names none, or one that all read. */
static enum platform variable_platform(const char *text)
{
    static const enum platform own[] = { PLATFORM_ROCM, PLATFORM_NPU };
    for (size_t i = 0; i < sizeof own / sizeof own[0]; i++) {
        const char *name = platform_variable(own[i]), *found = strstr(text, name);
        if (found != NULL && found[strlen(name)] == '=')
            return own[i];
    }
    return PLATFORM_UNKNOWN;
}

static enum err conf_read(void *session, const struct options *o, struct err_detail *err)
{
    struct conf_session *s = session;
    struct pytorch_rules rules;
    enum err e = ERR_OK;
    s->text = without_variable(o->inputs[0]);
    s->platform = o->system != PLATFORM_UNKNOWN ? o->system : variable_platform(o->inputs[0]);
    if (o->torch != NULL) {
        if (!pytorch_rules_find(o->torch, &rules))
            return err_set(err, ERR_USAGE, 0, "--version '%s': no PyTorch release from 2.0 to 2.15, nor npu", o->torch);
        s->n = 1;
        return conf_review_read(&rules, s->text, &s->reviews[0], err);
    }
    for (unsigned r = 0; r < TORCH_RELEASES && e == ERR_OK; r++) {
        rules = pytorch_rules_of((enum torch_release)r);
        e = conf_review_read(&rules, s->text, &s->reviews[s->n++], err);
    }
    return e;
}

/* ---- words ---- */

/* "2.3", "2.3 to 2.9" */
static void add_releases(struct words *w, const struct conf_session *s, size_t from, size_t to)
{
    words_add(w, "%s", pytorch_rules_name(&s->reviews[from].rules));
    if (to > from + 1)
        words_add(w, " %s %s", to == from + 2 ? "and" : "to", pytorch_rules_name(&s->reviews[to - 1].rules));
}

/* The end of the run of releases that begins at `from` and gives one answer. */
static size_t run_end(const struct conf_session *s, size_t from,
                      bool (*is_same)(const struct conf_session *s, size_t a, size_t b, size_t option), size_t option)
{
    size_t to = from + 1;
    while (to < s->n && is_same(s, from, to, option))
        to++;
    return to;
}

static bool is_same_outcome(const struct conf_session *s, size_t a, size_t b, size_t option)
{
    (void)option;
    return s->reviews[a].is_taken == s->reviews[b].is_taken &&
           (s->reviews[a].is_taken || strcmp(s->reviews[a].refusal.text, s->reviews[b].refusal.text) == 0);
}

/* What a release says of the option; NULL: it reads fewer options in this text. */
static const struct conf_answer *answer_of(const struct conf_session *s, size_t release, size_t option)
{
    const struct conf_review *r = &s->reviews[release];
    return option < r->n ? &r->answers[option] : NULL;
}

static bool is_same_answer(const struct conf_session *s, size_t a, size_t b, size_t option)
{
    const struct conf_answer *one = answer_of(s, a, option), *other = answer_of(s, b, option);
    if (one == NULL || other == NULL)
        return one == other;
    return one->fate == other->fate && strcmp(one->says, other->says) == 0;
}

static void print_outcomes(const struct conf_session *s)
{
    for (size_t from = 0, to; from < s->n; from = to) {
        const struct conf_review *r = &s->reviews[from];
        struct words w = { .n = 0 };
        char title[PYTORCH_RULES_TITLE];
        to = run_end(s, from, is_same_outcome, 0);
        words_add(&w, "%s", s->n == 1 ? pytorch_rules_title(&r->rules, title) : "PyTorch ");
        if (s->n > 1)
            add_releases(&w, s, from, to);
        if (r->is_taken)
            words_add(&w, " %s this text.", to == from + 1 ? "takes" : "take");
        else
            words_add(&w, " %s with an error at character %" PRIu64 ": %s", to == from + 1 ? "stops" : "stop",
                      r->refusal.offset + 1, r->refusal.text);
        words_print_within(stdout, &w, CONF_COLUMNS, 0, 2);
    }
}

static void add_answer(struct words *w, const struct conf_answer *a)
{
    static const char *const texts[CONF_FATES] = {
        "honoured", "changes nothing, it is the default", "no effect on placement", "acts", "no such option", "refused",
    };
    if (a == NULL) {
        words_add(w, "reads no option here");
        return;
    }
    words_add(w, "%s", texts[a->fate]);
    if (a->says[0] != '\0')
        words_add(w, "%s%s", a->fate == CONF_CONDITIONAL ? " " : ": ", a->says);
}

/* The i-th option, by the first release that reads so many; NULL: none does. */
static const struct conf_answer *option_at(const struct conf_session *s, size_t i)
{
    const struct conf_answer *option = NULL;
    for (size_t release = 0; release < s->n && option == NULL; release++)
        option = answer_of(s, release, i);
    return option;
}

/* Why the option is not to be set on a platform; NULL: it may be, or the platform is not in question. */
static const char *why_not_there(const struct conf_session *s, enum platform p, const char *key)
{
    const char *reason;
    const bool is_asked = s->platform == p ? platform_tells_setting(PLATFORMS, key)
                                           : s->platform == PLATFORM_UNKNOWN && platform_tells_setting(p, key);
    return is_asked && !platform_has_setting(p, key, &reason) ? reason : NULL;
}

static bool is_place_known(const struct conf_session *s, const char *key)
{
    return s->platform != PLATFORM_UNKNOWN && platform_tells_setting(PLATFORMS, key);
}

/* The platform in question lacks the option: no release honours it there. */
static bool is_missing(const struct conf_session *s, const char *key)
{
    return is_place_known(s, key) && platform_lacks_setting(s->platform, key);
}

static bool is_any_missing(const struct conf_session *s)
{
    const struct conf_answer *option;
    for (size_t i = 0; (option = option_at(s, i)) != NULL; i++)
        if (is_missing(s, option->key))
            return true;
    return false;
}

/* Where an option is not to be had: on the platform in question, or, if none is, wherever it is known to be missing. */
static void print_place(const struct conf_session *s, const char *key)
{
    const char *last = "";
    struct words w = { .n = 0 };
    for (int p = PLATFORM_UNKNOWN + 1; p < PLATFORMS; p++) {
        const char *reason = why_not_there(s, (enum platform)p, key);
        if (reason == NULL)
            continue;
        if (w.n > 0 && strcmp(reason, last) != 0)
            words_add(&w, ": %s", last);
        words_add(&w, "%s%s", w.n == 0 ? "- Not on " : strcmp(reason, last) == 0 ? ", " : "; not on ",
                  platform_words((enum platform)p));
        last = reason;
    }
    if (w.n == 0)
        return;
    words_add(&w, ": %s.", last);
    printf("  ");
    words_print_within(stdout, &w, CONF_COLUMNS, 2, 4);
}

static void print_options(const struct conf_session *s)
{
    const struct conf_answer *option;
    for (size_t i = 0; (option = option_at(s, i)) != NULL; i++) {
        putchar('\n');
        shown_put_part(stdout, s->text + option->from, option->to - option->from);
        putchar('\n');
        for (size_t from = 0, to; from < s->n && !is_missing(s, option->key); from = to) {
            struct words w = { .n = 0 };
            to = run_end(s, from, is_same_answer, i);
            words_add(&w, "- ");
            add_releases(&w, s, from, to);
            words_add(&w, ": ");
            add_answer(&w, answer_of(s, from, i));
            printf("  ");
            words_print_within(stdout, &w, CONF_COLUMNS, 2, 4);
        }
        print_place(s, option->key);
    }
}

static size_t count_releases(const struct conf_session *s, bool (*holds)(const struct pytorch_rules *rules))
{
    size_t n = 0;
    for (size_t i = 0; i < s->n; i++)
        n += holds(&s->reviews[i].rules);
    return n;
}

static bool reads_general(const struct pytorch_rules *rules)
{
    return rules->reads_general_name;
}

static bool warns(const struct pytorch_rules *rules)
{
    return rules->warns_of_cuda_name;
}

/* The variables, as far as the releases asked about differ in them. */
static void print_variable(const struct conf_session *s)
{
    const char *own = platform_variable(s->platform);
    const bool is_cuda = s->platform == PLATFORM_UNKNOWN || own == NULL || s->reviews[0].rules.is_npu;
    const char *variable = is_cuda ? pytorch_conf_variable(&s->reviews[0].rules) : own;
    struct words w = { .n = 0 };
    const size_t general = count_releases(s, reads_general);
    printf("\nSet before the program starts:\n\n");
    platform_put_setting(stdout, platform_shell(s->platform), variable, s->text, "  ");
    printf("\n\n");
    if (s->reviews[0].rules.is_npu || !is_cuda)
        return;
    if (general == 0)
        words_add(&w, "PyTorch %s does not read PYTORCH_ALLOC_CONF.", pytorch_rules_name(&s->reviews[0].rules));
    else if (general == s->n)
        words_add(&w, "PyTorch %s reads PYTORCH_ALLOC_CONF, too; %s wins where both are set.",
                  pytorch_rules_name(&s->reviews[0].rules), variable);
    else
        words_add(&w, "Every release reads this variable. From 2.10 on PYTORCH_ALLOC_CONF is read, too; before, it "
                      "does nothing. %s wins where both are set.", variable);
    if (count_releases(s, warns) > 0)
        words_add(&w, " PyTorch 2.9 warns that %s is deprecated, yet reads no other.", variable);
    words_print_within(stdout, &w, CONF_COLUMNS, 0, 0);
}

static enum exit_status conf_status(const void *session)
{
    const struct conf_session *s = session;
    for (size_t i = 0; i < s->n; i++)
        if (!s->reviews[i].is_taken)
            return STATUS_FAILED;
    return STATUS_DONE;
}

static bool is_taken_by_any(const struct conf_session *s)
{
    for (size_t i = 0; i < s->n; i++)
        if (s->reviews[i].is_taken)
            return true;
    return false;
}

static enum err conf_print(const void *session, struct err_detail *err)
{
    (void)err;
    const struct conf_session *s = session;
    print_outcomes(s);
    print_options(s);
    if (s->text[0] != '\0' && is_taken_by_any(s) && !is_any_missing(s))
        print_variable(s);
    return ERR_OK;
}

/* ---- JSON ---- */

enum { TYPED_TEXT = 1024 };

/* One option of the text, as typed. Returns `out`. */
static const char *option_text(const struct conf_session *s, const struct conf_answer *a, char out[TYPED_TEXT])
{
    snprintf(out, TYPED_TEXT, "%.*s", (int)(a->to - a->from), s->text + a->from);
    return out;
}

static bool exists_there(const struct conf_session *s, const char *key)
{
    const char *reason;
    return platform_has_setting(s->platform, key, &reason);
}

static enum err conf_write_json(const void *session, FILE *out, struct err_detail *err)
{
    (void)err;
    const struct conf_session *s = session;
#define ANSWER_TABLE "answers/conf.def"
#include "answers/as_json.def"
    return ERR_OK;
}

static const struct flag_use conf_flags[] = { TAKES(RELEASE), TAKES(SYSTEM), TAKES(JSON), TAKES(HELP), FLAGS_END };

const struct subcommand cmd_conf = {
    .name = "conf",
    .synopsis = "conf TEXT",
    .summary = "say what each PyTorch release makes of a settings text",
    .text = "TEXT is what stands in PYTORCH_CUDA_ALLOC_CONF. Of each option conf says whether a release honours it, "
            "takes it without effect, does not know it, or refuses it, and with which words PyTorch then stops. It "
            "also says which variable the release reads.\n"
            "\n"
            "Examples:\n"
            "  replay conf expandable_segments:True,garbage_collection_threshold:0.8\n"
            "  replay conf max_split_size_mb:16 --version 2.9\n",
    .failed = "a release that was asked about refuses the text",
    .flags = conf_flags,
    .n_inputs_min = 1,
    .n_inputs_max = 1,
    .answer = { .session_bytes = sizeof(struct conf_session), .read = conf_read, .write_json = conf_write_json,
                .print = conf_print, .status = conf_status, .close = conf_close },
};
