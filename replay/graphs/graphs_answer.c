/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/* Which captures were asked for, and each arrangement of them measured. */
#include "replay/graphs/graphs_answer.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* By place in struct graphs. */
const enum graph_pools graph_arrangements[GRAPH_ARRANGEMENTS] = {
    GRAPH_POOLS_SHARED, GRAPH_POOLS_OWN, GRAPH_POOLS_RECORDED, GRAPH_POOLS_NONE,
};

/* ---- which captures ---- */

static enum err list_put(struct graphs *g, uint64_t number, struct err_detail *err)
{
    if (number == 0 || number > g->captures.n)
        return err_set(err, ERR_USAGE, 0, "--captures: capture %" PRIu64 " is not there: the recording has 1 to %zu",
                       number, g->captures.n);
    for (size_t i = 0; i < g->n; i++)
        if (g->list[i] == number - 1)
            return err_set(err, ERR_USAGE, 0, "--captures: capture %" PRIu64 " is named twice", number);
    g->is_in_order = g->is_in_order && (g->n == 0 || g->list[g->n - 1] < number - 1);
    g->list[g->n++] = (uint32_t)(number - 1);
    return ERR_OK;
}

/* A number of at most nine digits. Returns what follows it; NULL: there is none. */
static const char *read_number(const char *text, uint64_t *out)
{
    const size_t n = strspn(text, "0123456789");
    *out = n > 0 && n <= 9 ? strtoull(text, NULL, 10) : 0;
    return n > 0 && n <= 9 ? text + n : NULL;
}

/* "3" or "1-4". Returns what follows it; NULL: it is neither. */
static const char *read_range(const char *text, uint64_t *first, uint64_t *last)
{
    const char *end = read_number(text, first);
    *last = *first;
    if (end != NULL && *end == '-')
        end = read_number(end + 1, last);
    return end != NULL && (*end == ',' || *end == '\0') && *last >= *first ? end : NULL;
}

/* Ranges with commas between them; NULL: all. */
static enum err read_list(struct graphs *g, const char *text, struct err_detail *err)
{
    uint64_t first = 1, last = g->captures.n;
    enum err e = ERR_OK;
    for (const char *at = text; e == ERR_OK; at++) {
        if (text != NULL && (at = read_range(at, &first, &last)) == NULL)
            return err_set(err, ERR_USAGE, 0, "--captures '%s': expected numbers such as 3,1 or 1-4", text);
        for (uint64_t i = first; i <= last && e == ERR_OK; i++)
            e = list_put(g, i, err);
        if (text == NULL || *at == '\0')
            break;
    }
    return e;
}

/* ---- sizes ---- */

static enum err measure_rows(struct graphs *g, struct err_detail *err)
{
    struct arrangement a = { .captures = &g->captures, .n = 1, .pools = GRAPH_POOLS_SHARED };
    enum err e = ERR_OK;
    for (size_t i = 0; i < g->n && e == ERR_OK; i++) {
        a.list = &g->list[i];
        e = arrangement_measure(&a, &g->run, NULL, &g->alone[i], err);
    }
    return e;
}

/* Whether an arrangement can be measured. */
bool graphs_is_known(const struct graphs *g, enum graph_pools pools)
{
    return pools == GRAPH_POOLS_NONE ? g->is_in_order : pools != GRAPH_POOLS_OWN || g->n <= GRAPH_POOLS_OWN_MAX;
}

static enum err measure_all(struct graphs *g, struct err_detail *err)
{
    enum err e = measure_rows(g, err);
    for (size_t i = 0; i < GRAPH_ARRANGEMENTS && e == ERR_OK; i++) {
        const enum graph_pools pools = graph_arrangements[i];
        const struct arrangement a = { .captures = &g->captures, .list = g->list, .n = g->n, .pools = pools };
        uint64_t *after = pools == GRAPH_POOLS_SHARED ? g->shared : pools == GRAPH_POOLS_OWN ? g->own : NULL;
        if (graphs_is_known(g, pools))
            e = arrangement_measure(&a, &g->run, after, &g->sizes[i], err);
    }
    return e;
}

static enum err refuse(const struct graphs *g, struct err_detail *err)
{
    const char *found = g->captures.how == CAPTURES_MIXED
                            ? "captures used their pools in turns, and it does not tell which request is whose"
                        : trace_info(g->trace)->n_pools > 1 ? "it does not tell whether its pools are those of graphs"
                                                            : "it has no memory of CUDA graphs";
    return err_set(err, ERR_UNSUPPORTED, 0,
                   "this recording does not show captures: %s. Record the program with `replay run-sim -o OUT -- "
                   "PROGRAM` or `replay record --torch -o OUT -- PROGRAM`, and give OUT.pickle", found);
}

static enum err make_room(struct graphs *g, struct err_detail *err)
{
    const size_t n = g->captures.n;
    g->list = calloc(n, sizeof *g->list);
    g->alone = calloc(n, sizeof *g->alone);
    g->shared = calloc(n, sizeof *g->shared);
    g->own = calloc(n, sizeof *g->own);
    const bool has_room = g->list != NULL && g->alone != NULL && g->shared != NULL && g->own != NULL;
    return has_room ? ERR_OK : err_no_memory(err);
}

enum err graphs_find(struct trace_reader *trace, const char *captures, struct graphs *g, struct err_detail *err)
{
    const struct replay_config cfg = { .threads = 1, .on_oom = OOM_AS_RECORDED };
    *g = (struct graphs){ .trace = trace, .is_in_order = true };
    enum err e = captures_read(trace, &g->captures, err);
    if (e == ERR_OK && (g->captures.how == CAPTURES_NONE || g->captures.how == CAPTURES_MIXED))
        e = refuse(g, err);
    if (e == ERR_OK)
        e = make_room(g, err);
    if (e == ERR_OK)
        e = read_list(g, captures, err);
    if (e == ERR_OK)
        e = single_run_open(&g->run, trace, NULL, "sim:unlimited", err);
    if (e == ERR_OK)
        e = single_run_replay(&g->run, &cfg, err);
    return e == ERR_OK ? measure_all(g, err) : e;
}

void graphs_close(struct graphs *g)
{
    single_run_close(&g->run);
    captures_close(&g->captures);
    free(g->list);
    free(g->alone);
    free(g->shared);
    free(g->own);
}
