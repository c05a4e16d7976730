/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/* What the captures take, told: as text, then as JSON (answers/graphs.def). */
#include "replay/graphs/graphs_answer.h"

#include "base/terminal.h"
#include "report/text/json_writer.h"
#include "report/text/terminal_table.h"
#include "report/text/text.h"

#include <inttypes.h>

enum { CAPTURES_SHOWN = 12 };

/* What the whole program reserved. A replay on a card without end would serve what was refused. */
static uint64_t recorded_peak(const struct graphs *g)
{
    const struct trace_info *info = trace_info(g->trace);
    const bool is_refused = info->by_kind[EVENT_OOM] > 0 && info->recorded_peak_reserved_bytes > 0;
    return is_refused ? info->recorded_peak_reserved_bytes : g->run.lane.device->usage.reserved_peak_bytes;
}

static const char *doubt_words(enum arrangement_doubt doubt)
{
    static const char *const words[] = {
        [ARRANGEMENT_EXACT] = "Exact, if each capture does what it did when recorded.",
        [ARRANGEMENT_DOUBT_ONCE] =
            ("Not exact where the first capture on a stream is left out or moved: it may have requested something for "
             "all, such as the workspace of a library, and the others do different work, "
             "so the recording does not tell."),
        [ARRANGEMENT_DOUBT_STREAMS] =
            "Without graphs not exact: frees that waited for the end of a capture would have waited for a stream.",
        [ARRANGEMENT_DOUBT_FREES] =
            "Not exact: captures free each other's memory, and which frees happen in this order is not recorded.",
    };
    return words[doubt];
}

/* Of several doubts the last of the list touches most figures. */
static enum arrangement_doubt worst_doubt(const struct graphs *g)
{
    enum arrangement_doubt worst = ARRANGEMENT_EXACT;
    for (size_t i = 0; i < GRAPH_ARRANGEMENTS; i++)
        worst = g->sizes[i].doubt > worst ? g->sizes[i].doubt : worst;
    for (size_t i = 0; i < g->n; i++)
        worst = g->alone[i].doubt > worst ? g->alone[i].doubt : worst;
    return worst;
}

static size_t place_of(enum graph_pools pools)
{
    size_t i = 0;
    while (graph_arrangements[i] != pools)
        i++;
    return i;
}

static uint64_t size_of(const struct graphs *g, enum graph_pools pools)
{
    return g->sizes[place_of(pools)].bytes;
}

/* "In one pool these 4 captures take 56 MiB, in a pool each 78 MiB": the answer, first. */
static void print_answer(FILE *out, const struct graphs *g)
{
    char shared[TEXT_NUMBER], own[TEXT_NUMBER], recorded[TEXT_NUMBER];
    struct words w = { .n = 0 };
    text_mib(size_of(g, GRAPH_POOLS_SHARED), shared);
    if (g->n == 1)
        words_add(&w, "This capture's private pool takes %s", shared);
    else if (g->n < g->captures.n || !g->is_in_order)
        words_add(&w, "In one pool these %zu of %zu captures, in this order, take %s", g->n, g->captures.n, shared);
    else
        words_add(&w, "In one pool these %zu captures take %s", g->n, shared);
    if (g->n > 1 && graphs_is_known(g, GRAPH_POOLS_OWN))
        words_add(&w, ", in a pool each %s", text_mib(size_of(g, GRAPH_POOLS_OWN), own));
    if (g->n > 1 && graphs_is_known(g, GRAPH_POOLS_RECORDED))
        words_add(&w, ", in the pools as recorded %s", text_mib(size_of(g, GRAPH_POOLS_RECORDED), recorded));
    words_add(&w, ".");
    if (g->captures.has_earlier)
        words_add(&w, " Not exact: private pools held memory before the recording began; it is not counted.");
    if (!g->captures.has_earlier || worst_doubt(g) != ARRANGEMENT_EXACT)
        words_add(&w, " %s", doubt_words(worst_doubt(g)));
    words_print_screen(out, &w);
    fprintf(out, "\n");
}

enum { COLUMNS = 6 };
static const struct text_column graphs_columns[COLUMNS] = {
    { .title = "capture" }, { .title = "requests", .leaves = 1 }, { .title = "live at once", .leaves = 2 },
    { .title = "alone" }, { .title = "in one pool", .group = "with those above" },
    { .title = "in a pool each", .group = "with those above" },
};

static void add_row(struct terminal_table *rows, const struct graphs *g, size_t i)
{
    char number[TEXT_NUMBER], requests[TEXT_NUMBER], peak[TEXT_NUMBER], alone[TEXT_NUMBER], shared[TEXT_NUMBER],
        own[TEXT_NUMBER];
    const struct graph_capture *c = &g->captures.at[g->list[i]];
    snprintf(number, sizeof number, "%" PRIu32, g->list[i] + 1);
    terminal_table_add(rows, (const char *const[COLUMNS]){
                                 number, text_count(c->n_requests, requests), text_mib(c->peak_bytes, peak),
                                 text_mib(g->alone[i].bytes, alone), text_mib(g->shared[i], shared),
                                 graphs_is_known(g, GRAPH_POOLS_OWN) ? text_mib(g->own[i], own) : "-" });
}

/* The first rows and the last, which has the sum of all. */
static enum err print_rows(FILE *out, const struct graphs *g, bool shows_all)
{
    struct terminal_table rows = { .columns = graphs_columns, .n_columns = COLUMNS, .bold_row = SIZE_MAX };
    const size_t shown = shows_all || g->n <= CAPTURES_SHOWN ? g->n : CAPTURES_SHOWN;
    for (size_t i = 0; i < g->n; i++)
        if (i + 1 < shown || i + 1 == g->n)
            add_row(&rows, g, i);
    const enum err e = terminal_table_print(out, &rows, terminal_columns(out));
    if (g->n > shown)
        fprintf(out, "%zu more between the last two rows; --all shows them\n", g->n - shown);
    fprintf(out, "\n");
    return e;
}

enum err graphs_print(FILE *out, const struct graphs *g, bool shows_all)
{
    char text[TEXT_NUMBER], with[TEXT_NUMBER];
    struct words none = { .n = 0 }, pools = { .n = 0 };
    print_answer(out, g);
    const enum err e = print_rows(out, g, shows_all);
    if (graphs_is_known(g, GRAPH_POOLS_NONE)) {
        words_add(&none, "Without graphs, the same work on the same stream in the ordinary pool, the whole program "
                         "reserves %s at its peak; as recorded, with all graphs, %s.",
                  text_mib(size_of(g, GRAPH_POOLS_NONE), text), text_mib(recorded_peak(g), with));
        words_print_screen(out, &none);
    }
    if (g->captures.how == CAPTURES_BY_POOL) {
        words_add(&pools, "Captures are told apart by their pools: those that share one count as one capture. "
                          "Recordings of replay run-sim and replay record --torch tell them apart.");
        words_print_screen(out, &pools);
    }
    return e;
}

static bool is_exact(const struct graphs *g, const struct arrangement_size *s)
{
    return s->doubt == ARRANGEMENT_EXACT && !g->captures.has_earlier;
}

static bool pools_are_exact(const struct graphs *g, enum graph_pools pools)
{
    return graphs_is_known(g, pools) && is_exact(g, &g->sizes[place_of(pools)]);
}

void graphs_write_json(FILE *out, const struct graphs *g)
{
#define ANSWER_TABLE "answers/graphs.def"
#include "answers/as_json.def"
}
