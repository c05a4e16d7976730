/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/* What a server's start on a simulated card tells, on one screen and as JSON. */
#include "dryrun/served_sglang.h"
#include "dryrun/served_tries.h"
#include "dryrun/served_words.h"

#include "base/units.h"
#include "replay/results/result.h"
#include "report/text/json_writer.h"

#include <inttypes.h>
#include <string.h>

/* ---- the first sentence ---- */

/* Why it only may start. */
static void add_may_start(const struct served_start *s, struct words *w)
{
    char shared[SERVED_SENTENCE];
    const struct server_budget *b = &s->budget;
    const bool is_cache_open = served_is_told(b->cache_least) && served_is_told(b->request_bytes) &&
                               b->cache_least < b->request_bytes;
    if (served_shares_host(s)) {
        device_say_shared(s->model->name, shared, sizeof shared);
        words_add(w, " %s", shared);
        return;
    }
    if (b->is_share_too_large && b->most_utilization >= 0)
        words_add(w, " Its --gpu-memory-utilization %.4g is above %.2f, the most with which all that it holds at its "
                  "peak has room whatever libraries and the driver take on a card.", s->log.utilization,
                  b->most_utilization);
    else if (b->is_share_too_large)
        words_add(w, " With no --gpu-memory-utilization has all that it holds at its peak room whatever libraries and "
                  "the driver take on a card.");
    if (is_cache_open || !b->is_share_too_large)
        words_add(w, " What is left beside %s is less than libraries and the driver may take on a card.",
                  s->log.is_cache_given ? "all that it takes" : "one request");
}

static void add_started(const struct served_start *s, struct words *w)
{
    const struct server_log *log = &s->log;
    char cache[TEXT_NUMBER], tokens[TEXT_NUMBER], requests[TEXT_NUMBER], length[TEXT_NUMBER];
    words_add(w, "It %s on %s", s->budget.verdict == SERVER_MAY_FIT ? "may start" : "starts", s->card);
    if (served_is_told(log->cache))
        words_add(w, ", with %s%s GiB of KV cache", log->is_cache_given ? "" : "at most ",
                  served_gib(log->cache, cache));
    if (served_is_told(log->tokens))
        words_add(w, ": %s tokens", served_count(log->tokens, tokens));
    if (s->budget.requests >= 1)
        words_add(w, ", %s %s of %s tokens at once", served_count((int64_t)s->budget.requests, requests),
                  s->budget.requests < 2 ? "request" : "requests", served_count(log->request_tokens, length));
    if (!served_is_told(log->cache))
        words_add(w, ". It tells of no KV cache; its processes take at most %s GiB of the card, beside the context",
                  served_gib((int64_t)s->peak_bytes, cache));
    words_add(w, ".");
    if (s->budget.verdict == SERVER_MAY_FIT)
        add_may_start(s, w);
}

static void add_stopped(const struct served *all, const struct served_start *s, struct words *w)
{
    char a[TEXT_NUMBER], b[TEXT_NUMBER], c[TEXT_NUMBER];
    const struct server_log *log = &s->log;
    switch (log->end) {
    case SERVER_REQUEST_TOO_LONG:
        words_add(w, "It does not start on %s: one request of %s tokens needs %s GiB of KV cache, and %s GiB are left.",
                  s->card, served_count(log->request_tokens, a), served_gib(log->request_bytes, b),
                  served_gib(log->cache, c));
        return;
    case SERVER_HAS_NO_CACHE:
        words_add(w, "It does not start on %s: nothing is left for the KV cache", s->card);
        if (served_is_told(log->cache) && log->cache < 0)
            words_add(w, ", %s GiB less than nothing", served_gib(-log->cache, a));
        words_add(w, ".");
        return;
    case SERVER_SHARE_NOT_FREE:
        words_add(w, "It does not start on %s: the share that it asks for is more than what the context leaves free.",
                  s->card);
        return;
    case SERVER_DIED_LATER:
        words_add(w, "It starts on %s and dies later: it %s, %s %s of %s tokens.", s->card,
                  s->ask.status == HTTP_OK ? "serves a full step, and runs out of memory if the logprobs of the "
                                             "prompts are asked for as well (prompt_logprobs, or echo with logprobs)"
                                           : "runs out of memory at its first full step",
                  served_count((int64_t)s->ask.prompts, a), s->ask.prompts == 1 ? "prompt" : "prompts",
                  served_count((int64_t)s->ask.prompt_tokens, b));
        return;
    case SERVER_WAS_REFUSED:
        words_add(w, "It does not start on %s: it runs out of memory%s.", s->card,
                  served_is_told(log->cache) ? " after its cache is sized" : served_is_told(log->weights)
                  ? " while it measures what it needs" : " while it loads its weights");
        return;
    default:
        served_add_untold(w, all, s);
    }
}

/* ---- the table ---- */

static void add_graph_rows(const struct served_start *s, struct terminal_table *t)
{
    char note[TABLE_CELL], number[TEXT_NUMBER];
    const struct server_log *log = &s->log;
    if (served_is_told(log->graphs_estimated) && !log->is_cache_given) {
        snprintf(note, sizeof note, served_is_told(log->graphs_captured) ? "captured then: %s" : "not captured",
                 served_is_told(log->graphs_captured) ? served_gib(log->graphs_captured, number) : "");
        served_add_row(t, log->is_estimate_unused ? "  CUDA graphs, estimated, not taken off"
                                                  : "  CUDA graphs, estimated", log->graphs_estimated, note);
    } else if (log->graphs_captured != 0) {
        served_add_row(t, log->is_cache_given ? "  CUDA graphs" : "CUDA graphs, on top of the share",
                       log->graphs_captured, "captured");
    }
}

/* Of a server whose cache was given: what is free at its start and is not taken at its peak. */
static int64_t free_beside(const struct served_start *s)
{
    const bool is_known = s->log.is_cache_given && s->log.end == SERVER_IS_READY &&
                          served_is_told(s->log.free_at_start);
    return is_known ? s->log.free_at_start - server_taken(&s->log, (int64_t)s->peak_bytes) : SERVER_UNTOLD;
}

static enum err print_table(FILE *out, const struct served_start *s)
{
    static const struct text_column columns[] = { { .title = "", .is_left = true }, { .title = "GiB" },
                                                  { .title = "", .is_left = true, .leaves = 1 } };
    struct terminal_table t = { .columns = columns, .n_columns = sizeof columns / sizeof columns[0],
                                .bold_row = SIZE_MAX };
    char share[TABLE_CELL], note[TABLE_CELL];
    const struct server_log *log = &s->log;
    share[0] = note[0] = '\0';
    if (log->utilization >= 0)
        snprintf(share, sizeof share, "--gpu-memory-utilization %.4g", log->utilization);
    if (s->budget.bytes_per_token > 0 && !log->has_mixed_layers)
        snprintf(note, sizeof note, "%.4g KiB a token", s->budget.bytes_per_token / (double)KIB);
    served_add_row(&t, "the card", log->total, "");
    served_add_row(&t, "free when it starts", log->free_at_start,
            s->context_bytes > 0 || strstr(s->device, "context=") != NULL ? "the context is set aside" : "");
    served_add_row(&t, "the share that it takes", log->share, share);
    served_add_row(&t, "  weights", log->weights, "");
    served_add_row(&t, "  held beside them", s->budget.beside_weights, "cuBLAS's workspaces, buffers");
    served_add_row(&t, "  activations at the profiled peak", log->activations, "");
    add_graph_rows(s, &t);
    served_add_row(&t, log->is_cache_given ? "  KV cache, of a size that was given" : "  left for the KV cache",
                   log->cache, note);
    served_add_row(&t, "free, but not in the share", s->budget.not_asked_for, "");
    served_add_row(&t, "free beside all that it takes", free_beside(s), "at its peak");
    if (t.n_rows == 0)
        return ERR_OK;
    fprintf(out, "\n");
    return terminal_table_print(out, &t, SERVED_SCREEN);
}

/* ---- what else follows ---- */

static void print_utilization(FILE *out, const struct served_start *s)
{
    struct words w = { .n = 0 };
    char tokens[TEXT_NUMBER];
    const struct server_budget *b = &s->budget;
    const bool is_ready = s->log.end == SERVER_IS_READY;
    const bool is_small = s->log.end == SERVER_HAS_NO_CACHE || s->log.end == SERVER_REQUEST_TOO_LONG;
    if (b->least_utilization >= 0 && (is_ready || (is_small && b->least_utilization > s->log.utilization)))
        words_add(&w, "With --gpu-memory-utilization %.2f or more there is room for a cache, whatever libraries take.",
                  b->least_utilization);
    else if (s->log.end == SERVER_SHARE_NOT_FREE && b->most_utilization >= 0)
        words_add(&w, "With --gpu-memory-utilization %.2f or less all of its share is free.", b->most_utilization);
    else if (is_small && b->most_utilization >= 0)
        words_add(&w, "No --gpu-memory-utilization is large enough%s.",
                  s->log.end == SERVER_HAS_NO_CACHE ? " as far as is known" : "");
    if (is_ready && b->most_utilization >= 0) {
        words_add(&w, "%s%.2f is the most with which all that it holds at its peak has room",
                  w.n > 0 ? " " : "--gpu-memory-utilization ", b->most_utilization);
        if (served_is_told(b->most_tokens) && b->most_tokens > s->log.tokens)
            words_add(&w, ", for about %s tokens", served_about(b->most_tokens, tokens));
        words_add(&w, ".");
    }
    if (w.n > 0) {
        words_add(&w, " Computed.");
        if (s->n_tries > 0)
            served_add_shares_tried(&w, s);
        served_print_item(out, &w);
    }
}

/* The room beside a cache whose size was given. */
static void print_beside(FILE *out, const struct served_start *s)
{
    struct words w = { .n = 0 };
    char taken[TEXT_NUMBER], left[TEXT_NUMBER];
    const int64_t beside = free_beside(s), bytes = server_taken(&s->log, (int64_t)s->peak_bytes);
    if (!served_is_told(beside))
        return;
    words_add(&w, bytes == (int64_t)s->peak_bytes
                  ? "At its peak it takes %s GiB: weights, the cache, activations, graphs."
                  : "What it tells of takes %s GiB: weights, the cache, graphs.", served_gib(bytes, taken));
    words_add(&w, " Beside that %s GiB are left of what is free when it starts.", served_gib(beside, left));
    if (s->ask.state == ASKING_NOT_YET)
        words_add(&w, " A full step that is served may take more: --ask asks for one.");
    served_print_item(out, &w);
}

static void print_lengths(FILE *out, const struct served_start *s)
{
    struct words w = { .n = 0 };
    char a[TEXT_NUMBER], b[TEXT_NUMBER];
    if (s->log.end == SERVER_REQUEST_TOO_LONG && served_is_told(s->log.longest_tokens))
        words_add(&w, "--max-model-len %" PRId64 " is the longest that fits, by the server itself, and a little less "
                  "on a card: libraries take up to %s GiB more there. A shorter one needs less.", s->log.longest_tokens,
                  served_gib(server_libraries_most(&s->log), a));
    else if (s->log.end == SERVER_IS_READY && s->log.has_mixed_layers)
        words_add(&w, "Some of its layers keep a state or a window and not every token: tokens are of requests of the "
                  "maximum length, and another --max-model-len changes both.");
    else if (s->log.end == SERVER_IS_READY && s->budget.requests >= 1)
        words_add(&w, "--max-model-len changes how many requests of that length fit at once (%s of half of it), not "
                  "the tokens. Computed.", served_count((int64_t)(2 * s->budget.requests), b));
    if (w.n == 0)
        return;
    served_add_tried(&w, s, "--max-model-len");
    served_print_item(out, &w);
}

static void print_type(FILE *out, const struct served_start *s)
{
    struct words w = { .n = 0 };
    char tokens[TEXT_NUMBER];
    if (s->log.end == SERVER_IS_READY && served_is_told(s->budget.small_type_tokens))
        words_add(&w, "--kv-cache-dtype fp8 holds about %s tokens in the same memory. Computed: half the bytes a "
                  "token; another attention kernel may need other buffers.",
                  served_about(s->budget.small_type_tokens, tokens));
    else if (s->budget.small_type_starts)
        words_add(&w, "--kv-cache-dtype fp8 halves what a request needs, and it fits then. Computed.");
    if (w.n == 0)
        return;
    served_add_tried(&w, s, "--kv-cache-dtype");
    served_print_item(out, &w);
}

static void print_graphs(FILE *out, const struct served_start *s)
{
    struct words w = { .n = 0 };
    char estimated[TEXT_NUMBER], captured[TEXT_NUMBER], tokens[TEXT_NUMBER];
    const struct server_log *log = &s->log;
    if (!served_is_told(s->budget.estimate_error) || log->is_estimate_unused || log->is_cache_given)
        return;
    const double lost = s->budget.bytes_per_token > 0
                        ? (double)s->budget.estimate_error / s->budget.bytes_per_token : 0;
    words_add(&w, "The server set aside %s GiB for its CUDA graphs, which then took %s GiB",
              served_gib(log->graphs_estimated, estimated), served_gib(log->graphs_captured, captured));
    if (lost >= 1)
        words_add(&w, ": about %s tokens fewer than fit", served_about((int64_t)lost, tokens));
    else if (s->budget.estimate_error < 0)
        words_add(&w, ": the rest comes on top of the share");
    words_add(&w, ". Both without what the driver takes for graphs.");
    if (served_is_told(log->first_graph_estimated) && log->first_graph_estimated > log->graphs_captured)
        words_add(&w, " Of the estimate %s GiB are the first graph of a kind, more than all graphs took: what trying "
                  "it took and gave back is in it.", served_gib(log->first_graph_estimated, captured));
    served_print_item(out, &w);
}

/* ---- what was tried ---- */

static void tried_note(const struct served_start *s, char note[TABLE_CELL])
{
    static const char *const notes[] = {
        [SERVER_IS_READY] = "yes", [SERVER_HAS_NO_CACHE] = "no: nothing is left",
        [SERVER_REQUEST_TOO_LONG] = "no: a request is too long",
        [SERVER_SHARE_NOT_FREE] = "no: more than is free", [SERVER_DIED_LATER] = "and dies later",
        [SERVER_WAS_REFUSED] = "no: out of memory",
        [SERVER_ENDED_OTHERWISE] = "cannot be told",
    };
    const bool is_late = s->log.end == SERVER_ENDED_OTHERWISE && s->is_stopped;
    snprintf(note, TABLE_CELL, "%s", is_late ? "not ready in time" : notes[s->log.end]);
}

static void add_try(struct terminal_table *t, const struct served_start *s)
{
    char choice[TABLE_CELL], note[TABLE_CELL], cache[TEXT_NUMBER] = "", tokens[TEXT_NUMBER] = "";
    char graphs[TEXT_NUMBER] = "";
    const struct server_log *log = &s->log;
    const bool is_ready = log->end == SERVER_IS_READY;
    snprintf(choice, sizeof choice, "%s%s%s", s->choice[0] == NULL ? "as it is" : s->choice[0],
             s->choice[1] == NULL ? "" : " ", s->choice[1] == NULL ? "" : s->choice[1]);
    tried_note(s, note);
    if (served_is_told(log->cache))
        served_gib(log->cache, cache);
    if (is_ready && served_is_told(log->tokens))
        served_count(log->tokens, tokens);
    if (is_ready && served_is_told(log->graphs_captured))
        served_gib(log->graphs_captured, graphs);
    terminal_table_add(t, (const char *const[]){ choice, cache, tokens, graphs, note });
}

static enum err print_tries(FILE *out, const struct served_start *s)
{
    static const struct text_column columns[] = {
        { .title = "tried, each by a start", .is_left = true }, { .title = "KV GiB" }, { .title = "tokens" },
        { .title = "graphs", .leaves = 1 }, { .title = "starts", .is_left = true },
    };
    struct terminal_table t = { .columns = columns, .n_columns = sizeof columns / sizeof columns[0],
                                .bold_row = SIZE_MAX };
    if (s->n_tries == 0)
        return ERR_OK;
    add_try(&t, s);
    for (size_t i = 0; i < s->n_tries; i++)
        add_try(&t, &s->tries[i]);
    fprintf(out, "\n");
    return terminal_table_print(out, &t, SERVED_SCREEN);
}

/* A step that was answered, and its prompts' logprobs that were not. */
static void add_logprobs(struct words *w, const struct served_ask *a)
{
    if (a->state == ASKING_NOT_YET || a->status == HTTP_OK)
        return;
    words_add(w, " Asked for the logprobs of the prompts as well, ");
    if (a->status > 0)
        words_add(w, "it answered with HTTP status %d", a->status);
    else
        words_add(w, "it gave no answer in time");
    words_add(w, a->status >= 400 && a->status < 500 ? ", and so refuses them."
                                                     : ": whether it can serve them is not known.");
}

/* Whether it was asked for a full step, and served it. */
static void print_ask(FILE *out, const struct served_start *s)
{
    struct words w = { .n = 0 };
    char a[TEXT_NUMBER], b[TEXT_NUMBER], peak[TEXT_NUMBER];
    if (s->ask.state == ASKING_NOT_YET || s->log.end != SERVER_IS_READY)
        return;
    words_add(&w, "Asked for a full step, %s %s of %s tokens, ", served_count((int64_t)s->ask.prompts, a),
              s->ask.prompts == 1 ? "prompt" : "prompts", served_count((int64_t)s->ask.prompt_tokens, b));
    if (s->ask.status == HTTP_OK)
        words_add(&w, "it answered; with that%s its processes took at most %s GiB of the card, beside the context.",
                  s->ask_logprobs.status == HTTP_OK ? ", and asked for the logprobs of the prompts as well," : "",
                  served_gib((int64_t)s->peak_bytes, peak));
    else if (s->ask.status > 0)
        words_add(&w, "it answered with HTTP status %d: whether it can serve it is not known.", s->ask.status);
    else
        words_add(&w, "it gave no answer in time: whether it can serve it is not known.");
    add_logprobs(&w, &s->ask_logprobs);
    served_print_item(out, &w);
}

/* The least of the range with which it was not ready. */
static void add_failing(struct words *w, const struct served *all, const struct served_start *s)
{
    char value[24];
    snprintf(value, sizeof value, "%" PRIu64, s->largest.fails);
    const struct served_start *try = served_try_with(s, all->option, value);
    const bool is_known = try != NULL && try->budget.verdict != SERVER_FITS_UNKNOWN;
    words_add(w, "%sWith %s %s it %s.", w->n > 0 ? " " : "", all->option, value,
              !is_known ? "was not ready, and whether it starts cannot be told"
              : try->log.end == SERVER_DIED_LATER ? "starts and dies later" : "does not start");
    if (try != NULL && try->log.end == SERVER_ENDED_OTHERWISE && try->failure.line[0] != '\0')
        words_add(w, " It says: %s%s", try->failure.line, served_ends_sentence(try->failure.line) ? "" : ".");
}

static void print_range(FILE *out, const struct served *all, const struct served_start *s)
{
    const struct largest_value *l = &s->largest;
    struct words w = { .n = 0 };
    if (all->option[0] == '\0' || (!l->is_any && !l->has_failed))
        return;
    if (l->is_any)
        words_add(&w, "%s %" PRIu64 " is the largest tried with which it starts.", all->option, l->fits);
    if (l->has_failed)
        add_failing(&w, all, s);
    served_print_item(out, &w);
}

/* Three digits, without an exponent: "0.0123", "99.8", "2,160". */
static const char *figure(double value, char buf[TEXT_NUMBER])
{
    int decimals = 0;
    for (double v = value; v > 0 && v < 99.95 && decimals < 9; v *= 10)
        decimals++;
    if (decimals == 0)
        return text_count((uint64_t)(value + 0.5), buf);
    size_t n = (size_t)snprintf(buf, TEXT_NUMBER, "%.*f", decimals, value);
    while (buf[n - 1] == '0')
        buf[--n] = '\0';
    if (buf[n - 1] == '.')
        buf[n - 1] = '\0';
    return buf;
}

static void add_waits(struct words *w, const struct pool_play *p)
{
    char n[TEXT_NUMBER], longest[TEXT_NUMBER];
    if (p->n_waited == 0) {
        words_add(w, " None waits for room in it, and none is preempted.");
        return;
    }
    figure((double)p->longest_wait_us / 1e6, longest);
    if (p->n_waited == 1)
        words_add(w, " 1 waits for room in it, at most %s s at a time", longest);
    else
        words_add(w, " %s wait for room in it, at most %s s at a time", text_count(p->n_waited, n), longest);
    if (p->n_preempted > 1)
        words_add(w, "; %s times one that runs is preempted, and waits anew.", text_count(p->n_preempted, n));
    else
        words_add(w, p->n_preempted == 0 ? "; none is preempted."
                                         : "; once one that runs is preempted, and waits anew.");
}

/* The largest rate, or why there is none. */
static void add_rate(struct words *w, const struct pool_load *l, const struct pool *pool)
{
    char a[TEXT_NUMBER];
    switch (l->limit) {
    case POOL_LIMIT_RUNNING:
        words_add(w, " That stays so however close they come: --max-num-seqs %s is the limit.",
                  text_count(pool->running_most, a));
        return;
    case POOL_LIMIT_STEP:
        words_add(w, " That stays so however close they come: the %s tokens of a step (--max-num-batched-tokens) are "
                  "the limit.", text_count(pool->step_tokens, a));
        return;
    case POOL_LIMIT_FILE:
        words_add(w, " They are too few to tell a largest rate: all of them can run at once without a wait.");
        return;
    case POOL_LIMIT_CACHE:
        if (l->rate_most > 0)
            words_add(w, " Up to %s a second none would wait for room.", figure(l->rate_most, a));
        return;
    }
}

static void add_play(struct words *w, const struct pool_load *l, const struct pool *pool, bool is_least)
{
    char a[TEXT_NUMBER], b[TEXT_NUMBER], c[TEXT_NUMBER];
    words_add(w, " If a step takes %s ms (--step-us), at most %s %s at once, in %s%% of the cache.",
              figure((double)pool->step_us / 1000, a), text_count(l->play.running_peak, b),
              l->play.running_peak == 1 ? "runs" : "run",
              figure(100.0 * (double)l->play.peak_tokens / (double)pool->tokens, c));
    add_waits(w, &l->play);
    add_rate(w, l, pool);
    words_add(w, " Played on %s tokens%s", text_count(pool->tokens, a),
              is_least ? ", the least." : "; a card may have fewer, how many is not known.");
}

/* Whether prompts that begin alike share blocks, and if not, why. */
static void add_sharing(struct words *w, const struct served_start *s)
{
    char a[TEXT_NUMBER], b[TEXT_NUMBER];
    if (s->pool.shares_prompts)
        words_add(w, " Prompts that begin alike share blocks, by the file's ids of %s tokens each: %s tokens of "
                  "prompts were there and not computed again.", text_count(s->id_tokens, a),
                  text_count(s->load.play.shared_tokens, b));
    else if (s->id_tokens == 0)
        words_add(w, " Prompts share nothing: the file does not tell how they begin.");
    else if (!s->log.keeps_prefixes)
        words_add(w, " Prompts share nothing: the server does not keep their beginnings.");
    else
        words_add(w, " Prompts share nothing: blocks of %s tokens do not divide the file's ids of %s.",
                  text_count(s->pool.block_tokens, a), text_count(s->id_tokens, b));
}

static void add_requests(struct words *w, uint64_t n)
{
    char a[TEXT_NUMBER];
    words_add(w, " %s %s", text_count(n, a), n == 1 ? "request" : "requests");
}

/* "azure.csv: 8,819 requests, 2.5 a second, of 2,048 tokens and 28 of an answer on average": those that are played. */
static void print_load(FILE *out, const struct served *all, const struct served_start *s)
{
    const struct pool_load *l = &s->load;
    const uint64_t n = l->n_requests - l->n_too_long;
    struct words w = { .n = 0 };
    char a[TEXT_NUMBER], b[TEXT_NUMBER];
    if (all->asked.load != NULL && s->log.end == SERVER_IS_READY && s->log.kind == SERVER_SGLANG)
        fprintf(out, "- %.40s is not played: loads are played as vLLM schedules them.\n", all->asked.load);
    else if (all->asked.load != NULL && s->log.end == SERVER_IS_READY && s->log.has_mixed_layers)
        fprintf(out, "- %.40s is not played: a state or a window is no block of tokens.\n", all->asked.load);
    if (all->asked.load != NULL && s->log.end != SERVER_IS_READY)
        fprintf(out, "- %.40s is not played: the server does not serve as it is.\n", all->asked.load);
    if (!l->is_played)
        return;
    words_add(&w, "%.40s:", all->asked.load);
    if (l->n_empty > 0)
        words_add(&w, " %s %s 0 tokens, of a prompt or of an answer, and %s left out.", text_count(l->n_empty, a),
                  l->n_empty == 1 ? "row has" : "rows have", l->n_empty == 1 ? "is" : "are");
    if (l->n_too_long > 0) {
        add_requests(&w, l->n_too_long);
        words_add(&w, " %s longer than one may be, and %s left out.", l->n_too_long == 1 ? "is" : "are",
                  l->n_too_long == 1 ? "is" : "are");
    }
    if (n > 0) {
        add_requests(&w, n);
        if (n > 1)
            words_add(&w, l->rate > 0 ? ", %s a second" : ", all at once", figure(l->rate, a));
        words_add(&w, ", of %s tokens and %s of an answer on average.", text_count((uint64_t)l->prompt, a),
                  text_count((uint64_t)l->answer, b));
        add_play(&w, l, &s->pool, served_is_told(s->budget.tokens_least));
        add_sharing(&w, s);
    }
    served_print_item(out, &w);
}

/* What a card takes on top of a cache whose size was given. */
static void add_unseen_besides(struct words *w, const struct served_start *s)
{
    char least[TEXT_NUMBER], most[TEXT_NUMBER], graphs[TEXT_NUMBER];
    words_add(w, " The cache has the size that was given, whatever is left. On a card libraries take more (%s to %s "
              "GiB in public logs)", served_gib(server_libraries_least(&s->log), least),
              served_gib(server_libraries_most(&s->log), most));
    if (server_graphs_most(&s->log) > 0)
        words_add(w, ", and so does the driver for graphs (up to %s GiB there)",
                  served_gib(server_graphs_most(&s->log), graphs));
}

/* What a card takes of the cache, and the simulated one does not. */
static void add_unseen(struct words *w, const struct served_start *s)
{
    char least[TEXT_NUMBER], most[TEXT_NUMBER], tokens[TEXT_NUMBER], graphs[TEXT_NUMBER];
    words_add(w, " On a card the cache is smaller by what libraries take after the server has measured (%s to %s GiB "
              "a card in public logs)", served_gib(server_libraries_least(&s->log), least),
              served_gib(server_libraries_most(&s->log), most));
    const bool has_graphs = server_graphs_most(&s->log) > 0;
    served_gib(server_graphs_most(&s->log), graphs);
    if (has_graphs && !s->log.is_estimate_unused)
        words_add(w, " and by what the driver takes for graphs (up to %s GiB there)", graphs);
    if (served_is_told(s->budget.tokens_least))
        words_add(w, ": at least about %s tokens", served_about(s->budget.tokens_least, tokens));
    if (has_graphs && s->log.is_estimate_unused)
        words_add(w, ". What the driver takes for graphs comes on top of the share (up to %s GiB there)", graphs);
}

static void print_basis(FILE *out, const struct served *all, const struct served_start *s)
{
    struct words w = { .n = 0 };
    char context[TEXT_NUMBER];
    words_add(&w, "vLLM%s%s ran on the simulated card%s; the figures are its own, rounded to 0.01 GiB.",
              s->log.version[0] != '\0' ? " " : "", s->log.version,
              s->log.end == SERVER_IS_READY ? " until its engine was ready" : "");
    if (all->has_dummy_weights)
        words_add(&w, " Its weights were made up (--load-format dummy).");
    if (s->context_bytes > 0)
        words_add(&w, " Set aside for the context: %s, as seen on such cards (context= of --device).",
                  text_mib(s->context_bytes, context));
    if (s->log.is_cache_given)
        add_unseen_besides(&w, s);
    else if (served_is_told(s->log.cache))
        add_unseen(&w, s);
    words_add(&w, "%sWorkspaces of kernels are counted if PyTorch allocates them.",
              served_is_told(s->log.cache) ? ". " : " ");
    if (all->has_own_sampler)
        words_add(&w, " FlashInfer's sampler was off (VLLM_USE_FLASHINFER_SAMPLER=0): its code would be compiled "
                  "first.");
    fprintf(out, "\n");
    words_print_screen(out, &w);
}

/* What lets a request that was refused beside the cache have its room. */
static void add_room_for_refused(struct words *w, const struct served_start *s)
{
    const struct server_log *log = &s->log;
    const struct server_budget *b = &s->budget;
    char request[TEXT_NUMBER];
    served_refused_size(log->refused_bytes, request);
    if (b->most_cache_given > 0)
        words_add(w, "With --kv-cache-memory-bytes %" PRId64 " or less the request that was refused (%s) has room. "
                  "Computed; what comes after it is not known.", b->most_cache_given, request);
    else if (b->most_share_after_refusal > 0)
        words_add(w, "With --gpu-memory-utilization %.2f or less the request that was refused (%s) has room. Computed; "
                  "what comes after it is not known.", b->most_share_after_refusal, request);
    if (s->n_tries > 0)
        served_add_shares_tried(w, s);
    if (log->largest_capture != 0 && log->end == SERVER_WAS_REFUSED)
        words_add(w, "%sFewer CUDA graphs (--max-cudagraph-capture-size) or none (--enforce-eager) take less.",
                  w->n > 0 ? " " : "");
}

/* Of a request that the card refused: what the choices change there. */
static void print_refused(FILE *out, const struct served_start *s)
{
    struct words w = { .n = 0 };
    const struct server_log *log = &s->log;
    if (log->end != SERVER_WAS_REFUSED && log->end != SERVER_DIED_LATER)
        return;
    if (served_is_told(log->cache))
        add_room_for_refused(&w, s);
    else if (served_is_told(log->weights))
        words_add(&w, "It measures with the largest step and the most requests at once: a smaller "
                  "--max-num-batched-tokens or --max-num-seqs needs less there. --gpu-memory-utilization and the "
                  "length of a request change nothing in it.");
    else
        words_add(&w, "--gpu-memory-utilization changes nothing in that. Weights of a smaller type need less, and so "
                  "does a card that has a part of them (--tensor-parallel-size).");
    if (log->end == SERVER_DIED_LATER)
        words_add(&w, "%sA smaller --max-num-batched-tokens computes less at once.%s", w.n > 0 ? " " : "",
                  s->ask.status == HTTP_OK ? " With --max-logprobs 0 the server refuses such requests." : "");
    if (w.n > 0)
        served_print_item(out, &w);
}

/* What else follows of a vLLM server, one item each. */
static void print_items(FILE *out, const struct served_start *s)
{
    print_utilization(out, s);
    print_beside(out, s);
    print_lengths(out, s);
    print_type(out, s);
    print_graphs(out, s);
    print_refused(out, s);
}

static void print_first(FILE *out, const struct served *all, const struct served_start *s)
{
    struct words w = { .n = 0 };
    if (s->log.kind == SERVER_SGLANG)
        served_sglang_add_first(&w, all, s);
    else if (s->log.end == SERVER_IS_READY)
        add_started(s, &w);
    else
        add_stopped(all, s, &w);
    words_print_within(out, &w, SERVED_SCREEN, 0, 2);
}

static enum err print_start(FILE *out, const struct served *all, const struct served_start *s)
{
    const bool is_sglang = s->log.kind == SERVER_SGLANG;
    print_first(out, all, s);
    enum err e = is_sglang ? served_sglang_table(out, s) : print_table(out, s);
    if (e != ERR_OK || s->budget.verdict == SERVER_FITS_UNKNOWN)
        return e;
    fprintf(out, "\n");
    (is_sglang ? served_sglang_items : print_items)(out, s);
    print_ask(out, s);
    print_range(out, all, s);
    print_load(out, all, s);
    e = print_tries(out, s);
    if (*all->asked.interrupted != 0 && s == &all->starts[all->asked.n_cards - 1])
        fprintf(out, "Interrupted: what else was to be tried is missing.\n");
    (is_sglang ? served_sglang_basis : print_basis)(out, all, s);
    return e;
}

enum err served_print(FILE *out, const struct served *s)
{
    enum err e = ERR_OK;
    for (size_t i = 0; i < s->n && e == ERR_OK; i++) {
        if (i > 0)
            fprintf(out, "\n");
        e = print_start(out, s, &s->starts[i]);
    }
    if (e == ERR_OK && s->n < s->asked.n_cards)
        fprintf(out, "\nInterrupted before it was known whether the server starts on %.40s%s.\n",
                s->asked.cards[s->n], s->n + 1 < s->asked.n_cards ? " and the cards after it" : "");
    return e;
}

/* ---- JSON ---- */

static const char *verdict_name(enum server_verdict verdict)
{
    static const char *const names[] = { [SERVER_FITS] = "fits", [SERVER_MAY_FIT] = "may-fit",
                                         [SERVER_FITS_NOT] = "does-not-fit", [SERVER_FITS_UNKNOWN] = "unknown" };
    return names[verdict];
}

static const char *end_name(enum server_end end)
{
    static const char *const names[] = { [SERVER_IS_READY] = "ready", [SERVER_HAS_NO_CACHE] = "no-cache",
                                         [SERVER_REQUEST_TOO_LONG] = "request-too-long",
                                         [SERVER_SHARE_NOT_FREE] = "share-not-free",
                                         [SERVER_WAS_REFUSED] = "refused",
                                         [SERVER_DIED_LATER] = "died-later", [SERVER_ENDED_OTHERWISE] = "other" };
    return names[end];
}

/* NULL: nothing was played. */
static const char *limit_name(const struct pool_load *l)
{
    static const char *const names[] = { [POOL_LIMIT_CACHE] = "cache", [POOL_LIMIT_RUNNING] = "max-num-seqs",
                                         [POOL_LIMIT_STEP] = "step", [POOL_LIMIT_FILE] = "file" };
    return l->is_played ? names[l->limit] : NULL;
}

void served_write_json(FILE *out, const struct served *s)
{
#define ANSWER_TABLE "answers/serve.def"
#include "answers/as_json.def"
}
