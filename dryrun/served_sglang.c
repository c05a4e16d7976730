/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/* What an SGLang server's start on a simulated card tells. */
#include "dryrun/served_sglang.h"

#include "base/units.h"
#include "dryrun/served_run.h"
#include "dryrun/sglang_budget.h"
#include "replay/results/result.h"

#include <inttypes.h>

static const char *decode_flag(const struct server_log *log)
{
    return log->has_phase_flags ? "--cuda-graph-max-bs-decode" : "--cuda-graph-max-bs";
}

/* ---- the first sentence ---- */

static void add_may_start(struct words *w, const struct served_start *s)
{
    char shared[SERVED_SENTENCE], unused[TEXT_NUMBER], unseen[TEXT_NUMBER];
    if (served_shares_host(s)) {
        device_say_shared(s->model->name, shared, sizeof shared);
        words_add(w, " %s", shared);
        return;
    }
    if (sglang_has_prefill_graphs(&s->log)) {
        words_add(w, " On a card its prefill graphs may take far more than here: over 11 GiB in a public report, of a "
                  "model of 0.6 billion parameters, and that server died of it.");
        return;
    }
    words_add(w, " At its peak %s GiB of the card are unused here, and on a card libraries and the driver may take %s "
              "GiB: a smaller --mem-fraction-static leaves more.", served_gib(s->budget.never_used, unused),
              served_gib(sglang_unseen_most(&s->log), unseen));
}

static void add_started(struct words *w, const struct served_start *s)
{
    const struct server_log *log = &s->log;
    char a[TEXT_NUMBER], b[TEXT_NUMBER];
    words_add(w, "It %s on %s", s->budget.verdict == SERVER_MAY_FIT ? "may start" : "starts", s->card);
    if (served_is_told(log->cache))
        words_add(w, ", with at most %s GiB of KV cache", served_gib(log->cache, a));
    if (served_is_told(log->tokens))
        words_add(w, ": %s tokens", served_count(log->tokens, a));
    const bool is_capped = log->running_most > 0 && s->budget.requests > (double)log->running_most;
    if (s->budget.requests >= 1)
        words_add(w, ", %s %s of %s tokens at once",
                  served_count(is_capped ? log->running_most : (int64_t)s->budget.requests, a),
                  s->budget.requests < 2 ? "request" : "requests", served_count(log->request_tokens, b));
    words_add(w, ".");
    if (s->budget.requests >= 0 && s->budget.requests < 1)
        words_add(w, " That is less than one request of its context length, %s tokens: longer ones are refused.",
                  served_count(log->request_tokens, a));
    if (s->budget.verdict == SERVER_MAY_FIT)
        add_may_start(w, s);
}

static const char *place_of_refusal(const struct server_log *log)
{
    return log->is_capturing            ? " while it captures its CUDA graphs"
         : served_is_told(log->cache)   ? " after its cache is made"
         : served_is_told(log->weights) ? " while it makes its cache"
                                        : " while it loads its weights";
}

static void add_stopped(struct words *w, const struct served *all, const struct served_start *s)
{
    char a[TEXT_NUMBER], b[TEXT_NUMBER];
    const struct server_log *log = &s->log;
    switch (log->end) {
    case SERVER_HAS_NO_CACHE:
        words_add(w, "It does not start on %s: with --mem-fraction-static %.4g its weights leave nothing for the KV "
                  "cache.", s->card, log->utilization);
        return;
    case SERVER_WAS_REFUSED:
        words_add(w, "It does not start on %s: it runs out of memory%s.", s->card, place_of_refusal(log));
        return;
    case SERVER_DIED_LATER:
        words_add(w, "It starts on %s and dies later: it %s, %s %s of %s tokens.", s->card,
                  s->ask.status == HTTP_OK ? "serves a full step, and runs out of memory if the logprobs of the "
                                             "prompts are asked for as well (return_logprob from logprob_start_len 0)"
                                           : "runs out of memory at its first full step",
                  served_count((int64_t)s->ask.prompts, a), s->ask.prompts == 1 ? "prompt" : "prompts",
                  served_count((int64_t)s->ask.prompt_tokens, b));
        return;
    default:
        served_add_untold(w, all, s);
    }
}

void served_sglang_add_first(struct words *w, const struct served *all, const struct served_start *s)
{
    if (s->log.end == SERVER_IS_READY)
        add_started(w, s);
    else
        add_stopped(w, all, s);
}

/* ---- the table ---- */

static void note_graphs(const struct server_log *log, char note[TABLE_CELL])
{
    char tokens[TEXT_NUMBER];
    int n = 0;
    note[0] = '\0';
    if (log->largest_capture > 0)
        n = snprintf(note, TABLE_CELL, "to %" PRId64 " requests", log->largest_capture);
    if (log->largest_prefill_capture > 0 && n >= 0 && n < TABLE_CELL)
        snprintf(note + n, (size_t)(TABLE_CELL - n), "%sprefill to %s tokens", n > 0 ? ", " : "",
                 served_count(log->largest_prefill_capture, tokens));
}

/* What it took and no line names: tables of requests, workspaces of attention, states of mixed layers. */
static int64_t beside_them(const struct server_log *log)
{
    const int64_t parts[] = { log->weights, log->cache, log->left };
    int64_t rest = log->free_at_start;
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++)
        rest = served_is_told(rest) && served_is_told(parts[i]) ? rest - parts[i] : SERVER_UNTOLD;
    return served_is_told(rest) && served_is_told(log->graphs_captured) ? rest - log->graphs_captured : rest;
}

enum err served_sglang_table(FILE *out, const struct served_start *s)
{
    static const struct text_column columns[] = { { .title = "", .is_left = true }, { .title = "GiB" },
                                                  { .title = "", .is_left = true, .leaves = 1 } };
    struct terminal_table t = { .columns = columns, .n_columns = sizeof columns / sizeof columns[0],
                                .bold_row = SIZE_MAX };
    char share[TABLE_CELL] = "", token[TABLE_CELL] = "", graphs[TABLE_CELL];
    const struct server_log *log = &s->log;
    const int64_t beside = beside_them(log);
    if (log->utilization >= 0)
        snprintf(share, sizeof share, "--mem-fraction-static %.4g", log->utilization);
    if (s->budget.bytes_per_token > 0 && !log->has_mixed_layers)
        snprintf(token, sizeof token, "%.4g KiB a token", s->budget.bytes_per_token / (double)KIB);
    note_graphs(log, graphs);
    served_add_row(&t, "the card", log->total, "");
    served_add_row(&t, "free before its weights", log->free_at_start,
                   s->context_bytes > 0 ? "the context is set aside" : "");
    served_add_row(&t, "static: weights and KV cache", log->share, share);
    served_add_row(&t, "  weights", log->weights, "");
    served_add_row(&t, "  KV cache", log->cache, token);
    served_add_row(&t, "CUDA graphs", log->graphs_captured, graphs);
    served_add_row(&t, "held beside them", beside, log->has_mixed_layers ? "states, tables, workspaces"
                                                                        : "tables, workspaces of attention");
    served_add_row(&t, "free when it is ready", log->left, "for all that it computes");
    served_add_row(&t, "unused at its peak", s->budget.never_used,
                   s->ask.status == HTTP_OK ? "with a full step" : "without a full step");
    if (t.n_rows == 0)
        return ERR_OK;
    fprintf(out, "\n");
    return terminal_table_print(out, &t, SERVED_SCREEN);
}

/* ---- what else follows ---- */

static void print_no_cache(FILE *out, const struct served_start *s)
{
    struct words w = { .n = 0 };
    char left[TEXT_NUMBER];
    const struct server_log *log = &s->log;
    const double least = s->budget.least_utilization;
    if (log->end != SERVER_HAS_NO_CACHE)
        return;
    if (least > 0 && served_is_told(log->free_at_start))
        words_add(&w, "With --mem-fraction-static %.2f or more something is left for a cache%s, and at most %s GiB for "
                  "its graphs and all that it computes.", least, log->least_fraction > 0 ? ", by itself" : ". Computed",
                  served_gib((int64_t)((1 - least) * (double)log->free_at_start), left));
    else if (least < 0 && served_is_told(log->free_at_start))
        words_add(&w, "No --mem-fraction-static is large enough.");
    words_add(&w, "%sWeights of a smaller type need less, and so does a card that has a part of them (--tp-size).",
              w.n > 0 ? " " : "");
    served_print_item(out, &w);
}

static void print_fraction(FILE *out, const struct served_start *s)
{
    struct words w = { .n = 0 };
    char tokens[TEXT_NUMBER];
    const struct server_budget *b = &s->budget;
    if (s->log.end != SERVER_IS_READY || s->log.utilization < 0)
        return;
    if (b->least_utilization > 0)
        words_add(&w, "With --mem-fraction-static %.2f or more the cache has room for a request of its context length, "
                  "whatever libraries take.", b->least_utilization);
    else if (b->least_simulated > 0)
        words_add(&w, "No --mem-fraction-static is known with which a request of its context length and all that it "
                  "computes have room.");
    if (b->most_utilization > 0)
        words_add(&w, "%s%.2f is the most with which all that it was seen to hold has room", w.n > 0 ? " " :
                  "--mem-fraction-static ", b->most_utilization);
    if (b->most_utilization > 0 && served_is_told(b->most_tokens) && b->most_tokens > s->log.tokens)
        words_add(&w, ", for about %s tokens", served_about(b->most_tokens, tokens));
    if (b->most_utilization > 0)
        words_add(&w, ".");
    words_add(&w, "%sComputed.", w.n > 0 ? " " : "");
    if (sglang_has_prefill_graphs(&s->log))
        words_add(&w, " How large it may be is not known: what prefill graphs take on a card is not simulated.");
    else if (s->ask.state == ASKING_NOT_YET)
        words_add(&w, " How large it may be is not known without a full step: the server measures none before it makes "
                  "its cache, and --ask asks for one.");
    if (s->n_tries > 0)
        served_add_shares_tried(&w, s);
    served_print_item(out, &w);
}

/* What bounds the requests at once, and the length of one. */
static void print_requests(FILE *out, const struct served_start *s)
{
    struct words w = { .n = 0 };
    char a[TEXT_NUMBER];
    const struct server_log *log = &s->log;
    if (log->end != SERVER_IS_READY)
        return;
    if (log->running_most > 0)
        words_add(&w, "At most %s requests run at once (--max-running-requests).", served_count(log->running_most, a));
    if (log->has_mixed_layers)
        words_add(&w, "%sSome of its layers keep a state or a window and not every token.", w.n > 0 ? " " : "");
    else if (served_is_told(log->request_tokens))
        words_add(&w, "%s--context-length changes which requests are let in, and not the tokens.", w.n > 0 ? " " : "");
    if (w.n == 0)
        return;
    served_add_tried(&w, s, "--context-length");
    served_print_item(out, &w);
}

static void print_type(FILE *out, const struct served_start *s)
{
    struct words w = { .n = 0 };
    char tokens[TEXT_NUMBER];
    if (s->log.end != SERVER_IS_READY || !served_is_told(s->budget.small_type_tokens))
        return;
    words_add(&w, "--kv-cache-dtype fp8_e4m3 holds about %s tokens in the same memory. Computed: half the bytes a "
              "token; another attention kernel may need other buffers.",
              served_about(s->budget.small_type_tokens, tokens));
    served_add_tried(&w, s, "--kv-cache-dtype");
    served_print_item(out, &w);
}

/* They come after the cache, out of what the fraction leaves. */
static void print_graphs(FILE *out, const struct served_start *s)
{
    struct words w = { .n = 0 };
    const struct server_log *log = &s->log;
    if (log->end != SERVER_IS_READY || !served_is_told(log->graphs_captured) || log->is_sized_after_capture)
        return;
    words_add(&w, "Its graphs come after its cache, out of what --mem-fraction-static leaves: fewer of them (%s",
              decode_flag(log));
    if (log->has_phase_flags && log->largest_prefill_capture > 0)
        words_add(&w, ", --cuda-graph-max-bs-prefill");
    words_add(&w, ") leave more for what it computes, and the cache the same.");
    if (log->has_phase_flags && log->largest_prefill_capture > 0)
        words_add(&w, " --cuda-graph-backend-prefill disabled starts without prefill graphs.");
    served_add_tried(&w, s, decode_flag(log));
    served_print_item(out, &w);
}

static void add_room_for_refused(struct words *w, const struct served_start *s)
{
    char request[TEXT_NUMBER];
    const struct server_log *log = &s->log;
    if (s->budget.most_share_after_refusal > 0) {
        served_refused_size(log->refused_bytes, request);
        words_add(w, "With --mem-fraction-static %.2f or less the request that was refused (%s) has room. Computed; "
                  "what comes after it is not known. ", s->budget.most_share_after_refusal, request);
    } else {
        words_add(w, "A smaller --mem-fraction-static leaves more beside the cache. ");
    }
    if (log->is_capturing)
        words_add(w, "Fewer CUDA graphs (%s%s) take less.", decode_flag(log),
                  log->has_phase_flags ? ", --cuda-graph-max-bs-prefill" : "");
    else
        words_add(w, "A smaller --chunked-prefill-size computes less at once.");
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
        words_add(&w, "A smaller --mem-fraction-static makes a smaller cache.");
    else
        words_add(&w, "--mem-fraction-static changes nothing in that. Weights of a smaller type need less, and so does "
                  "a card that has a part of them (--tp-size).");
    served_print_item(out, &w);
}

void served_sglang_items(FILE *out, const struct served_start *s)
{
    print_no_cache(out, s);
    print_fraction(out, s);
    print_requests(out, s);
    print_type(out, s);
    print_graphs(out, s);
    print_refused(out, s);
}

/* ---- what it rests on ---- */

static void add_unseen(struct words *w, const struct served_start *s)
{
    char least[TEXT_NUMBER], most[TEXT_NUMBER], tokens[TEXT_NUMBER];
    words_add(w, " On a card libraries take more (%s to %s GiB a card in public logs): what they take before the cache "
              "is made comes off it", served_gib(server_libraries_least(&s->log), least),
              served_gib(server_libraries_most(&s->log), most));
    if (served_is_told(s->budget.tokens_least))
        words_add(w, ", at least about %s tokens", served_about(s->budget.tokens_least, tokens));
    if (server_graphs_most(&s->log) > 0)
        words_add(w, ". What the driver takes for graphs comes off what is left after it (up to %s GiB there)",
                  served_gib(server_graphs_most(&s->log), most));
    words_add(w, ".");
}

void served_sglang_basis(FILE *out, const struct served *all, const struct served_start *s)
{
    struct words w = { .n = 0 };
    char context[TEXT_NUMBER];
    words_add(&w, "SGLang%s%s ran on the simulated card%s; the figures are its own, rounded to 0.01 GiB.",
              s->log.version[0] != '\0' ? " " : "", s->log.version,
              s->log.end == SERVER_IS_READY ? " until it was ready" : "");
    if (all->has_dummy_weights)
        words_add(&w, " Its weights were made up (--load-format dummy).");
    if (s->context_bytes > 0)
        words_add(&w, " Set aside for the context: %s, as seen on such cards (context= of --device).",
                  text_mib(s->context_bytes, context));
    if (served_is_told(s->log.cache))
        add_unseen(&w, s);
    words_add(&w, " Workspaces of kernels are counted if PyTorch allocates them.");
    fprintf(out, "\n");
    words_print_screen(out, &w);
}
