/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/* Starts a server on a simulated card and waits until its engine is ready. */
#include "dryrun/served_run.h"

#include "base/monotonic_ms.h"
#include "base/progress.h"
#include "cudasim/core/device_text.h"
#include "dryrun/program_log.h"
#include "dryrun/run/file_move.h"
#include "dryrun/run/run_child.h"
#include "dryrun/run/sim_card.h"
#include "dryrun/safe/overlay.h"
#include "dryrun/sglang_budget.h"
#include "replay/results/result.h"
#include "sim/card_context.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { LOOK_MS = 200, WORDS_ADDED = 16 };

/* ---- the command line ---- */

static const char *base_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash == NULL ? path : slash + 1;
}

/* Where the words of a server's own command line begin: after "serve" or after the module of the server. 0: another
 * program. */
static size_t words_after(const struct served_request *r, const char *program, const char *module)
{
    for (size_t i = 1; i < r->n_words; i++) {
        const char *word = r->program[i], *before = base_name(r->program[i - 1]);
        if (strcmp(word, "serve") == 0 && strncmp(before, program, strlen(program)) == 0)
            return i + 1;
        if (strcmp(before, "-m") == 0 && strcmp(word, module) == 0)
            return i + 1;
    }
    return 0;
}

static size_t sglang_words(const struct served_request *r)
{
    return words_after(r, "sglang", "sglang.launch_server");
}

static size_t server_words(const struct served_request *r)
{
    const size_t vllm = words_after(r, "vllm", "vllm.entrypoints.openai.api_server");
    return vllm > 0 ? vllm : sglang_words(r);
}

/* Whether an option stands there, with its value or without. */
static bool has_option(const struct served_request *r, size_t from, const char *option)
{
    const size_t n = strlen(option);
    for (size_t i = from; i < r->n_words; i++)
        if (strncmp(r->program[i], option, n) == 0 && (r->program[i][n] == '\0' || r->program[i][n] == '='))
            return true;
    return false;
}

/* The value of word `i` if that is one of the names, which NULL ends: the word after it, or what follows its '='. "":
 * it is none of them. */
static const char *value_at(const struct served_request *r, size_t i, const char *const *names)
{
    for (; *names != NULL; names++) {
        const char *word = r->program[i];
        const size_t n = strlen(*names);
        if (strncmp(word, *names, n) == 0 && word[n] == '=')
            return word + n + 1;
        if (strcmp(word, *names) == 0 && i + 1 < r->n_words)
            return r->program[i + 1];
    }
    return "";
}

/* The number that an option has; the last counts. 1: it is not there. */
static unsigned long number_after(const struct served_request *r, size_t from, const char *const *names)
{
    unsigned long found = 1;
    for (size_t i = from; i < r->n_words; i++) {
        const unsigned long number = strtoul(value_at(r, i, names), NULL, 10);
        found = number > 0 ? number : found;
    }
    return found;
}

unsigned long served_cards_wanted(const struct served_request *r)
{
    static const char *const tensor[] = { "--tensor-parallel-size", "-tp", "--tp-size", "--tp", NULL };
    static const char *const pipeline[] = { "--pipeline-parallel-size", "-pp", "--pp-size", "--pp", NULL };
    static const char *const machines[] = { "--nnodes", NULL };
    const size_t from = server_words(r);
    if (from == 0 || number_after(r, from, machines) > 1)
        return 1;
    const unsigned long across = number_after(r, from, tensor), along = number_after(r, from, pipeline);
    return across <= CUDASIM_COUNT_MAX && along <= CUDASIM_COUNT_MAX ? across * along : ULONG_MAX;
}

/* The model: the first word after "serve", or after --model, SGLang's --model-path. NULL: none. */
static const char *model_of(const struct served_request *r, size_t from)
{
    for (size_t i = from; i + 1 < r->n_words; i++)
        if (strcmp(r->program[i], "--model") == 0 || strcmp(r->program[i], "--model-path") == 0)
            return r->program[i + 1];
    return from < r->n_words && r->program[from][0] != '-' ? r->program[from] : NULL;
}

/* Whether a folder of a model has a configuration and no tokenizer. */
static bool lacks_tokenizer(const char *model)
{
    static const char *const names[] = { "tokenizer.json", "tokenizer.model", "tokenizer_config.json", "vocab.json",
                                         "tekken.json", "tiktoken.model", "spiece.model" };
    char path[PATH_MAX];
    if ((size_t)snprintf(path, sizeof path, "%s/config.json", model) >= sizeof path || access(path, R_OK) != 0)
        return false;
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        snprintf(path, sizeof path, "%.*s/%s", PATH_MAX - 32, model, names[i]);
        if (access(path, R_OK) == 0)
            return false;
    }
    return true;
}

bool served_takes_options(const struct served_request *r)
{
    return server_words(r) > 0;
}

bool served_is_sglang(const struct served_request *r)
{
    return sglang_words(r) > 0;
}

/* The words with ours after them, in `words`, which has room for them and WORDS_ADDED more. A later option wins. */
static void add_words(struct served *s, const struct served_start *start, const char **words)
{
    const struct served_request *r = &s->asked;
    const size_t from = server_words(r);
    size_t n = r->n_words;
    memcpy(words, r->program, n * sizeof *words);
    words[n] = NULL;
    if (from == 0)
        return;
    const char *model = model_of(r, from);
    s->has_dummy_weights = !has_option(r, from, "--load-format");
    s->has_dummy_tokenizer = model != NULL && lacks_tokenizer(model) && !has_option(r, from, "--tokenizer") &&
                             !has_option(r, from, "--tokenizer-path") &&
                             !has_option(r, from, "--skip-tokenizer-init");
    if (s->has_dummy_weights) {
        words[n++] = "--load-format";
        words[n++] = "dummy";
    }
    if (s->has_dummy_tokenizer)
        words[n++] = "--skip-tokenizer-init";
    words[n++] = "--port";                           /* a server may be running here */
    words[n++] = start->port;
    for (size_t i = 0; i < SERVED_CHOICE && start->choice[i] != NULL; i++)
        words[n++] = start->choice[i];
    words[n] = NULL;
}

/* What vLLM finds out about a model's class, by another process that imports all of it, is of the code alone: the
 * starts share it. Without it they only take longer. */
static void share_model_infos(const struct served_place *place, const char *root)
{
    char shared[PATH_MAX], link[PATH_MAX];
    snprintf(shared, sizeof shared, "%.*s/modelinfos", PATH_MAX - 16, place->folder);
    snprintf(link, sizeof link, "%.*s/modelinfos", PATH_MAX - 16, root);
    (void)mkdir(shared, S_IRWXU);
    if (mkdir(root, S_IRWXU) == 0)
        (void)!symlink(shared, link);
}

/* A server that starts for the first time finds its caches of compiled graphs empty, and fills them as it goes. These
 * are of this start alone: what a person's own hold was compiled for a card, and nothing of ours may get there. Machine
 * code of single kernels takes no memory of the card, so all starts share it. */
static enum err put_caches(const struct served_place *place, const char *log, struct child_env *env,
                           struct err_detail *err)
{
    static const struct { const char *name, *ending; } kernels[] = {
        { "TRITON_CACHE_DIR", "triton" }, { "DG_JIT_CACHE_DIR", "deep_gemm" },
    }, caches[] = {
        { "TORCHINDUCTOR_CACHE_DIR", "inductor" }, { "VLLM_CACHE_ROOT", "vllm" },
    };
    char path[PATH_MAX];
    enum err e = child_env_put(env, "TORCHINDUCTOR_FORCE_DISABLE_CACHES", "0", '\0', err);
    for (size_t i = 0; i < sizeof kernels / sizeof kernels[0] && e == ERR_OK; i++) {
        snprintf(path, sizeof path, "%.*s/%s", PATH_MAX - 16, place->folder, kernels[i].ending);
        e = child_env_put(env, kernels[i].name, path, '\0', err);
    }
    for (size_t i = 0; i < sizeof caches / sizeof caches[0] && e == ERR_OK; i++) {
        snprintf(path, sizeof path, "%.*s.%s", PATH_MAX - 16, log, caches[i].ending);
        e = child_env_put(env, caches[i].name, path, '\0', err);
    }
    if (e == ERR_OK)
        share_model_infos(place, path);              /* the last is vLLM's */
    return e;
}

/* Tells its figures, and nobody else; compiles no kernels that would not run. */
static enum err put_env(struct served *s, const struct sim_card *card, struct child_env *env, struct err_detail *err)
{
    static const struct { const char *name, *value; bool is_persons; } ours[] = {
        { "VLLM_LOGGING_LEVEL", "DEBUG", false }, { "VLLM_CONFIGURE_LOGGING", "1", false }, { "NO_COLOR", "1", false },
        { "VLLM_NO_USAGE_STATS", "1", false },    { "VLLM_USE_FLASHINFER_SAMPLER", "0", true },
        { "PYTHONUNBUFFERED", "1", false },   { "VLLM_USE_AOT_COMPILE", "0", true },
        { "VLLM_DEEP_GEMM_WARMUP", "skip", true },
    };
    enum err e = sim_card_put_env(card, NULL, env, err);
    s->has_own_sampler = getenv("VLLM_USE_FLASHINFER_SAMPLER") == NULL;
    for (size_t i = 0; i < sizeof ours / sizeof ours[0] && e == ERR_OK; i++)
        if (!ours[i].is_persons || getenv(ours[i].name) == NULL)
            e = child_env_put(env, ours[i].name, ours[i].value, '\0', err);
    return e;
}

/* ---- the run ---- */

struct starting {
    const struct served_request *asked;
    struct served_start *start;
    const char *log;
    int64_t began_ms;
    uint64_t ready_s;                /* when it was ready, and one more; 0: not yet */
    uint64_t told_s;                 /* when its progress was told last */
    size_t number;                   /* of the start, from 1 */
};

/* The whole log, which the caller free()s; "" if it cannot be read. */
static char *read_log(const char *path, size_t *n)
{
    FILE *f = fopen(path, "rb");
    char *text = NULL;
    size_t room = 0, got = 1;
    *n = 0;
    while (f != NULL && got > 0) {
        if (room - *n < 4096) {
            char *more = realloc(text, room = 2 * room + 65536);
            if (more == NULL)
                break;
            text = more;
        }
        got = fread(text + *n, 1, room - *n, f);
        *n += got;
    }
    if (f != NULL)
        fclose(f);
    return text;
}

/* "h100-80g, trying --max-num-seqs 256". */
static void put_start(const struct served_start *s)
{
    fprintf(stderr, "%.40s", s->card);
    for (size_t i = 0; i < SERVED_CHOICE && s->choice[i] != NULL; i++)
        fprintf(stderr, "%s%s", i == 0 ? ", trying " : " ", s->choice[i]);
}

/* On a terminal one line that is rewritten; elsewhere a line a minute, because a start may take ten. */
static void show_progress(struct starting *s, uint64_t seconds)
{
    enum { PAUSE_S = 60 };
    const bool is_terminal = isatty(STDERR_FILENO) != 0;
    if (!is_terminal && seconds < s->told_s + PAUSE_S)
        return;
    s->told_s = seconds;
    if (is_terminal)
        progress_erase_line();
    else
        fprintf(stderr, "replay serve: start %zu: ", s->number);
    put_start(s->start);
    fprintf(stderr, is_terminal ? ": %" PRIu64 " s" : ": %" PRIu64 " s so far\n", seconds);
    fflush(stderr);
}

/* What became of a start, where no terminal shows it as it goes. */
static void tell_end(const struct served_start *s, size_t number)
{
    const enum server_end end = s->log.end;
    if (isatty(STDERR_FILENO) != 0)
        return;
    fprintf(stderr, "replay serve: start %zu: ", number);
    put_start(s);
    fprintf(stderr, ": %s after %" PRIu64 " s\n", end == SERVER_IS_READY ? "ready" : end == SERVER_DIED_LATER
            ? "ready, and out of memory" : "not ready", s->within_s);
}

enum { ASK_WITHIN_S = 120, STEP_TOKENS = 2048 };

/* SGLang lets in no more than its cache holds. */
static uint64_t longest_request(const struct server_log *log, uint64_t step)
{
    const uint64_t longest = log->request_tokens > 0 ? (uint64_t)log->request_tokens : step;
    return log->kind == SERVER_SGLANG && log->tokens > 0 && (uint64_t)log->tokens < longest ? (uint64_t)log->tokens
                                                                                             : longest;
}

/* Whether the server, which is ready, has been asked as well, if it is to be: for a step, and if it answers, for the
 * logprobs of its prompts. */
static bool is_asked(struct starting *s, const char *text, size_t n)
{
    struct server_log log;
    struct served_start *start = s->start;
    if (!s->asked->asks || start->ask.port == 0)
        return true;
    if (s->ready_s == 0)
        s->ready_s = start->within_s + 1;
    server_log_read(text, n, SERVER_UNTOLD, &log);
    const uint64_t step = log.step_tokens > 0 ? (uint64_t)log.step_tokens : STEP_TOKENS;
    const uint64_t longest = longest_request(&log, step);
    if (!served_ask_look(&start->ask, step, longest))
        return start->within_s >= s->ready_s + ASK_WITHIN_S;
    return start->ask.status != HTTP_OK || served_ask_look(&start->ask_logprobs, step, longest) ||
           start->within_s >= s->ready_s + 2 * ASK_WITHIN_S;
}

static bool starting_look(void *arg)
{
    struct starting *s = arg;
    size_t n;
    s->start->within_s = (uint64_t)(monotonic_ms() - s->began_ms) / 1000;
    program_log_trim(s->log);
    show_progress(s, s->start->within_s);
    char *text = read_log(s->log, &n);
    const bool is_ready = text != NULL && server_log_is_ready(text, n), is_done = is_ready && is_asked(s, text, n);
    free(text);
    s->start->is_stopped = !is_ready && s->start->within_s >= s->asked->within_s;
    return *s->asked->interrupted == 0 && !is_done && !s->start->is_stopped;
}

static enum err run_server(struct served *s, struct served_start *start, struct sim_card *card,
                           const struct served_place *place, const char *log, struct err_detail *err)
{
    struct overlay *overlay = place->overlay;
    struct child_env env = { .n = 0 };
    struct starting starting = { .asked = &s->asked, .start = start, .log = log, .began_ms = monotonic_ms(),
                                 .number = place->n };
    const struct child_watch watch = { .look = starting_look, .arg = &starting, .every_ms = LOOK_MS };
    const struct child_setting setting = { .env = &env, .watch = &watch, .log = log, .ends_with_us = true,
                                           .prepare = overlay->is_on ? overlay_enter : NULL, .prepare_arg = overlay };
    const char **words = calloc(s->asked.n_words + WORDS_ADDED + 1, sizeof *words);
    int status;
    if (words == NULL)
        return err_no_memory(err);
    const bool is_sglang = served_is_sglang(&s->asked);
    start->ask.port = s->asked.asks && served_takes_options(&s->asked) ? served_ask_port() : 0;
    start->ask.is_sglang = is_sglang;
    start->ask_logprobs = (struct served_ask){ .port = start->ask.port, .wants_logprobs = true,
                                               .is_sglang = is_sglang };
    const int port = is_sglang && start->ask.port == 0 ? served_ask_port() : start->ask.port;
    snprintf(start->port, sizeof start->port, "%d", port);       /* 0: any that is free, of vLLM's */
    add_words(s, start, words);
    overlay_share(overlay, place->folder);           /* the card's journals lie there, too */
    enum err e = put_env(s, card, &env, err);
    if (e == ERR_OK)
        e = put_caches(place, log, &env, err);
    if (e == ERR_OK)
        e = child_run(words, &setting, &status, err);
    served_ask_close(&start->ask);
    served_ask_close(&start->ask_logprobs);
    child_env_close(&env);
    free(words);
    if (isatty(STDERR_FILENO) != 0)
        progress_erase_line();
    return e == ERR_OK && *s->asked.interrupted != 0 ? ERR_INTERRUPTED : e;
}

/* Of a start that tells nothing, all that was printed stays: in serve.log, or in serve-2.log if there is one. Nothing
 * printed is no file. */
static void keep_log(struct served_start *start, const char *log)
{
    enum { NAMES = 100 };
    struct err_detail err;
    char name[32] = "serve.log";
    struct stat st;
    if (stat(log, &st) == 0 && st.st_size == 0)
        return;
    for (unsigned i = 2; i < NAMES && access(name, F_OK) == 0; i++)
        snprintf(name, sizeof name, "serve-%u.log", i);
    if (access(name, F_OK) != 0 && file_move(log, name, &err) == ERR_OK)
        snprintf(start->kept_log, sizeof start->kept_log, "%s", name);
}

/* The words of an interrupt. Before there is an answer what the first start printed is all that there is. */
static enum err end_interrupted(const struct served *s, struct served_start *start, const char *log,
                                struct err_detail *err)
{
    uint64_t cut_bytes;
    if (s->n > 0)
        return err_set(err, ERR_INTERRUPTED, 0, "interrupted");
    const enum err e = program_log_cut(log, &cut_bytes, err);
    if (e != ERR_OK)
        return e;
    keep_log(start, log);
    return start->kept_log[0] == '\0'
         ? err_set(err, ERR_INTERRUPTED, 0, "interrupted: the first start was not ready, and no log of it is kept")
         : err_set(err, ERR_INTERRUPTED, 0, "interrupted: the first start was not ready; its log is %.200s",
                   start->kept_log);
}

/* Why it ended, if its engine does not say: what stands last. */
static void read_failure(struct served_start *start, const char *log)
{
    if (start->log.error[0] != '\0')
        snprintf(start->failure.line, sizeof start->failure.line, "%s", start->log.error);
    else
        program_failure_read(log, &start->failure);
}

/* A server that its Python does not have is a mistake of the person's, not an answer about the card. */
static enum err check_installed(const struct served *s, const struct served_start *start, struct err_detail *err)
{
    char missing[48];
    const char *module = served_is_sglang(&s->asked) ? "sglang" : "vllm";
    snprintf(missing, sizeof missing, "No module named '%s'", module);
    if (!served_takes_options(&s->asked) || strstr(start->failure.line, missing) == NULL)
        return ERR_OK;
    return err_set(err, ERR_USAGE, 0, "the Python that '%.200s' starts has no module %s: install it there, or name the "
                   "Python of the environment that has it", s->asked.program[0], module);
}

bool served_shares_host(const struct served_start *s)
{
    return s->model != NULL && device_shares_host(s->model->name);
}

static bool is_unanswered(const struct served_ask *a)
{
    return a->state != ASKING_NOT_YET && a->status != HTTP_OK;
}

/* What the server said. */
static enum err take_log(const struct served *s, struct served_start *start, const char *text, size_t n,
                         const char *log, struct err_detail *err)
{
    server_log_read(text, n, (int64_t)start->total_bytes, &start->log);
    if (start->log.end == SERVER_IS_READY && server_log_has_refusal(text, n) &&
        (is_unanswered(&start->ask) || is_unanswered(&start->ask_logprobs)))
        start->log.end = SERVER_DIED_LATER;
    start->log.kind = served_is_sglang(&s->asked) ? SERVER_SGLANG : start->log.kind;
    start->budget = server_budget_of(&start->log);
    if (served_shares_host(start) && start->budget.verdict == SERVER_FITS)
        start->budget.verdict = SERVER_MAY_FIT;              /* if the host leaves so much */
    if (start->log.end != SERVER_ENDED_OTHERWISE)
        return ERR_OK;
    read_failure(start, log);
    const enum err e = check_installed(s, start, err);
    if (e == ERR_OK && start->choice[0] == NULL)
        keep_log(start, log);
    return e;
}

/* What the server said, and what the card saw. */
static enum err read_start(const struct served *s, struct served_start *start, struct sim_card *card, const char *log,
                           struct err_detail *err)
{
    size_t n;
    bool is_complete;
    uint64_t cut_bytes;
    enum err e = program_log_cut(log, &cut_bytes, err);
    char *text = e == ERR_OK ? read_log(log, &n) : NULL;
    if (e == ERR_OK && text == NULL)
        return err_no_memory(err);
    if (e == ERR_OK)
        e = take_log(s, start, text, n, log, err);
    if (e == ERR_OK)
        e = sim_card_read(card, &is_complete, err);
    for (int d = 0; e == ERR_OK && d < CALL_DEVICES_MAX; d++) {
        size_t n_processes;
        uint64_t sum = 0;
        const struct process_use *p = sim_card_processes(card, &n_processes);
        for (size_t i = 0; i < n_processes; i++)
            sum += p[i].peak_bytes[d];
        start->peak_bytes = sum > start->peak_bytes ? sum : start->peak_bytes;
    }
    if (start->log.kind == SERVER_SGLANG)
        sglang_budget_add_peak(&start->log, (int64_t)start->peak_bytes, start->ask.status == HTTP_OK, &start->budget);
    if (start->budget.verdict == SERVER_FITS && server_leaves_too_little(&start->log, (int64_t)start->peak_bytes))
        start->budget.verdict = SERVER_MAY_FIT;
    free(text);
    return e;
}

/* The card, with what its context and the libraries take of it, unless somebody typed that. */
static enum err choose_device(struct served_start *start, struct err_detail *err)
{
    char text[CARD_BYTES];
    struct device_config cfg;
    const struct device_ops *ops;
    int n_cards;
    (void)card_meant(start->card, text);
    const struct card_context *context = strstr(text, "context=") == NULL ? card_context_in(text) : NULL;
    start->context_bytes = context == NULL ? 0 : context->bytes;
    if (context == NULL)
        snprintf(start->device, sizeof start->device, "%s", text);
    else
        snprintf(start->device, sizeof start->device, "%s,context=%" PRIu64 "B", text, context->bytes);
    const enum err e = cudasim_parse_devices(start->device, &cfg, &ops, &n_cards, err);
    start->total_bytes = e == ERR_OK ? cfg.total_bytes : 0;
    start->model = e == ERR_OK ? cfg.model : NULL;
    return e;
}

enum err served_run(struct served *s, struct served_place *place, struct served_start *start, struct err_detail *err)
{
    struct sim_card *card = NULL;
    char log[PATH_MAX];
    enum err e = choose_device(start, err);
    if (e != ERR_OK)
        return e;
    const struct sim_card_request request = { .command = "serve", .program = s->asked.program[0],
                                              .device = start->device, .torch_libs = s->asked.torch_libs };
    snprintf(log, sizeof log, "%.*s/server-%zu.log", PATH_MAX - 32, place->folder, place->n++);
    e = sim_card_open(&request, place->folder, &card, err);
    if (e == ERR_OK)
        e = run_server(s, start, card, place, log, err);
    if (e == ERR_INTERRUPTED)
        e = end_interrupted(s, start, log, err);
    if (e == ERR_OK)
        e = read_start(s, start, card, log, err);
    if (e == ERR_OK)
        tell_end(start, place->n);
    sim_card_close(card, false);
    return e == ERR_OK && place->overlay->is_on ? overlay_clear(place->overlay, err) : e;
}
