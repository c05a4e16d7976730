/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/* A server's starts: one for each card, and one for each choice that is tried on it. */
#include "dryrun/served_start.h"

#include "base/temporary_file.h"
#include "cudasim/core/device_text.h"
#include "dryrun/safe/overlay.h"
#include "dryrun/safe/scratch_folder.h"
#include "dryrun/served_run.h"
#include "dryrun/served_tries.h"
#include "sim/card_meant.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BLOCK_TOKENS = 16, RUNNING_MOST = 256, STEP_TOKENS = 8192, LOAD_LIMIT = 1 << 20 };

static uint64_t told_or(int64_t value, uint64_t otherwise)
{
    return value == SERVER_UNTOLD || value <= 0 || value > LOAD_LIMIT ? otherwise : (uint64_t)value;
}

/* On the tokens that the cache holds at least. What the log does not tell is what vLLM takes if nobody chooses. */
static enum err play_load(const struct served_request *r, const struct request_trace *load, struct served_start *s,
                          struct err_detail *err)
{
    const struct server_log *log = &s->log;
    const int64_t least = s->budget.tokens_least, tokens = least == SERVER_UNTOLD ? log->tokens : least;
    if (log->kind != SERVER_VLLM || log->end != SERVER_IS_READY || log->has_mixed_layers || tokens == SERVER_UNTOLD ||
        tokens < BLOCK_TOKENS)
        return ERR_OK;
    s->pool = (struct pool){ .tokens = (uint64_t)tokens, .block_tokens = BLOCK_TOKENS,
                             .running_most = told_or(log->running_most, RUNNING_MOST),
                             .step_tokens = told_or(log->step_tokens, STEP_TOKENS), .step_us = r->step_us,
                             .longest = told_or(log->request_tokens, 0) };
    s->pool.shares_prompts = pool_load_can_share(load, BLOCK_TOKENS, &s->id_tokens) && log->keeps_prefixes;
    return pool_load_play(load, &s->pool, &s->load, err);
}

/* A start for each card, and those of its other choices. `load`: NULL: nothing is played. */
static enum err make_starts(struct served *out, const struct request_trace *load, struct served_place *place,
                            struct err_detail *err)
{
    const struct served_request *request = &out->asked;
    enum err e = overlay_open(request->program, request->without_overlay, place->overlay, err);
    for (size_t i = 0; i < request->n_cards && e == ERR_OK; i++) {
        out->starts[i].card = request->cards[i];
        e = served_run(out, place, &out->starts[i], err);
        out->n += e == ERR_OK;
        if (e == ERR_OK && load != NULL)
            e = play_load(request, load, &out->starts[i], err);
        if (e == ERR_OK && (request->tries || request->range != NULL))
            e = served_try(out, place, &out->starts[i], err);
        if (e == ERR_INTERRUPTED && out->n > 0)              /* a start is made: the answer so far */
            return ERR_OK;
    }
    return e;
}

static enum err make_in_folder(struct served *out, const struct request_trace *load, struct err_detail *err)
{
    struct overlay overlay = { .is_on = false };
    struct scratch_folder folder = { .path = "" };
    struct served_place place = { .overlay = &overlay, .folder = folder.path };
    out->starts = calloc(out->asked.n_cards, sizeof *out->starts);
    if (out->starts == NULL)
        return err_no_memory(err);
    const int reason = scratch_folder_make(temporary_place(), "replay-serve", &folder);
    if (reason != 0)
        return err_at(err, ERR_IO, 0, temporary_place(), "no folder can be made in it: %s", strerror(reason));
    const enum err e = make_starts(out, load, &place, err);
    overlay_close(&overlay);
    scratch_folder_remove(&folder, "serve");
    return e;
}

/* A server that is spread over more cards than a question names would only fail after minutes. */
static enum err check_cards(const struct served_request *request, struct err_detail *err)
{
    const unsigned long wanted = served_cards_wanted(request);
    for (size_t i = 0; i < request->n_cards; i++) {
        char card[CARD_BYTES];
        snprintf(card, sizeof card, "%s", request->cards[i]);
        const int n = cudasim_take_count(card);
        if (wanted > CUDASIM_COUNT_MAX)
            return err_set(err, ERR_USAGE, 0, "the server's options spread it over more cards than the %d that can be "
                           "simulated", CUDASIM_COUNT_MAX);
        if (n > 0 && wanted > (unsigned long)n)
            return err_set(err, ERR_USAGE, 0, "--device '%s': the server's options spread it over %lu cards; say "
                           "--device %s,count=%lu", request->cards[i], wanted, card, wanted);
    }
    return ERR_OK;
}

enum err served_make(const struct served_request *request, struct served *out, struct err_detail *err)
{
    *out = (struct served){ .asked = *request };
    struct request_trace *load = NULL;
    enum err e = ERR_OK;
    if (request->n_cards == 0)
        return err_set(err, ERR_USAGE, 0, "--device: name the card that the server is for, as in --device h100-80g");
    if (request->load != NULL && served_is_sglang(request))
        return err_set(err, ERR_USAGE, 0, "--trace plays requests as vLLM schedules them, and not as SGLang does: "
                       "leave it out");
    e = check_cards(request, err);
    if (e == ERR_OK && request->range != NULL)
        e = served_read_range(out, err);
    if (e == ERR_OK && request->load != NULL)
        e = pool_load_open(request->load, &load, err);       /* a start takes minutes: a bad file is refused before */
    if (e == ERR_OK)
        e = make_in_folder(out, load, err);
    pool_load_close(load);
    return e;
}

void served_close(struct served *s)
{
    for (size_t i = 0; s->starts != NULL && i < s->n; i++)
        free(s->starts[i].tries);
    free(s->starts);
    s->starts = NULL;
}

bool served_fits(const struct served *s)
{
    for (size_t i = 0; i < s->n; i++)
        if (s->starts[i].budget.verdict != SERVER_FITS)
            return false;
    return s->n > 0 && s->n == s->asked.n_cards;             /* fewer: an interrupt */
}

bool served_is_open(const struct served *s)
{
    bool is_open = s->n < s->asked.n_cards;
    for (size_t i = 0; i < s->n; i++) {
        if (s->starts[i].budget.verdict == SERVER_FITS_NOT)
            return false;
        is_open = is_open || s->starts[i].budget.verdict != SERVER_FITS;
    }
    return is_open;
}
