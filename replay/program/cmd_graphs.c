/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/* `replay graphs FILE`: what the private pools of CUDA graphs take, in any arrangement of the captures. */
#include "replay/program/cli.h"

#include "base/terminal.h"
#include "replay/graphs/arrangement.h"
#include "report/text/json_writer.h"
#include "report/text/terminal_table.h"
#include "report/text/text.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { CAPTURES_SHOWN = 12, ARRANGEMENTS = 4 };

/* By place in struct graphs. */
static const enum graph_pools arrangements[ARRANGEMENTS] = {
    GRAPH_POOLS_SHARED, GRAPH_POOLS_OWN, GRAPH_POOLS_RECORDED, GRAPH_POOLS_NONE,
};

/* Everything the command holds. Zero is valid: graphs_close accepts it. */
struct graphs {
    struct trace_reader *trace;
    struct single_run run;               /* the recording, under its own settings, on a card without end */
    struct captures captures;
    uint32_t *list;                      /* n captures, as asked for */
    struct arrangement_size *alone;      /* by place in the list: this capture only */
    uint64_t *shared, *own;              /* by place: this capture and those before it */
    size_t    n;
    bool      is_in_order;
    struct arrangement_size sizes[ARRANGEMENTS];
    bool      shows_all;
};

static void graphs_close(void *session)
{
    struct graphs *g = session;
    single_run_close(&g->run);
    captures_close(&g->captures);
    trace_close(g->trace);
    free(g->list);
    free(g->alone);
    free(g->shared);
    free(g->own);
}

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
static bool is_known(const struct graphs *g, enum graph_pools pools)
{
    return pools == GRAPH_POOLS_NONE ? g->is_in_order : pools != GRAPH_POOLS_OWN || g->n <= GRAPH_POOLS_OWN_MAX;
}

static enum err measure_all(struct graphs *g, struct err_detail *err)
{
    enum err e = measure_rows(g, err);
    for (size_t i = 0; i < ARRANGEMENTS && e == ERR_OK; i++) {
        const enum graph_pools pools = arrangements[i];
        const struct arrangement a = { .captures = &g->captures, .list = g->list, .n = g->n, .pools = pools };
        uint64_t *after = pools == GRAPH_POOLS_SHARED ? g->shared : pools == GRAPH_POOLS_OWN ? g->own : NULL;
        if (is_known(g, pools))
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

static enum err graphs_read(void *session, const struct options *o, struct err_detail *err)
{
    struct graphs *g = session;
    const struct replay_config cfg = { .threads = 1, .on_oom = OOM_AS_RECORDED };
    enum err e = cli_open_trace(o, 0, &g->trace, err);
    if (e == ERR_OK)
        e = captures_read(g->trace, &g->captures, err);
    if (e == ERR_OK && (g->captures.how == CAPTURES_NONE || g->captures.how == CAPTURES_MIXED))
        e = refuse(g, err);
    if (e != ERR_OK)
        return e;
    g->is_in_order = true;
    g->shows_all = o->is_all;
    g->list = calloc(g->captures.n, sizeof *g->list);
    g->alone = calloc(g->captures.n, sizeof *g->alone);
    g->shared = calloc(g->captures.n, sizeof *g->shared);
    g->own = calloc(g->captures.n, sizeof *g->own);
    if (g->list == NULL || g->alone == NULL || g->shared == NULL || g->own == NULL)
        return err_no_memory(err);
    e = read_list(g, o->captures, err);
    if (e == ERR_OK)
        e = single_run_open(&g->run, g->trace, NULL, "sim:unlimited", err);
    if (e == ERR_OK)
        e = single_run_replay(&g->run, &cfg, err);
    return e == ERR_OK ? measure_all(g, err) : e;
}

/* What the whole program reserved. A replay on a card without end would serve what was refused. */
static uint64_t recorded_peak(const struct graphs *g)
{
    const struct trace_info *info = trace_info(g->trace);
    const bool is_refused = info->by_kind[EVENT_OOM] > 0 && info->recorded_peak_reserved_bytes > 0;
    return is_refused ? info->recorded_peak_reserved_bytes : g->run.lane.device->usage.reserved_peak_bytes;
}

/* ---- answers ---- */

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
    for (size_t i = 0; i < ARRANGEMENTS; i++)
        worst = g->sizes[i].doubt > worst ? g->sizes[i].doubt : worst;
    for (size_t i = 0; i < g->n; i++)
        worst = g->alone[i].doubt > worst ? g->alone[i].doubt : worst;
    return worst;
}

static size_t place_of(enum graph_pools pools)
{
    size_t i = 0;
    while (arrangements[i] != pools)
        i++;
    return i;
}

static uint64_t size_of(const struct graphs *g, enum graph_pools pools)
{
    return g->sizes[place_of(pools)].bytes;
}

/* "In one pool these 4 captures take 56 MiB, in a pool each 78 MiB": the answer, first. */
static void print_answer(const struct graphs *g)
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
    if (g->n > 1 && is_known(g, GRAPH_POOLS_OWN))
        words_add(&w, ", in a pool each %s", text_mib(size_of(g, GRAPH_POOLS_OWN), own));
    if (g->n > 1 && is_known(g, GRAPH_POOLS_RECORDED))
        words_add(&w, ", in the pools as recorded %s", text_mib(size_of(g, GRAPH_POOLS_RECORDED), recorded));
    words_add(&w, ".");
    if (g->captures.has_earlier)
        words_add(&w, " Not exact: private pools held memory before the recording began; it is not counted.");
    if (!g->captures.has_earlier || worst_doubt(g) != ARRANGEMENT_EXACT)
        words_add(&w, " %s", doubt_words(worst_doubt(g)));
    words_print_screen(stdout, &w);
    printf("\n");
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
                                 is_known(g, GRAPH_POOLS_OWN) ? text_mib(g->own[i], own) : "-" });
}

/* The first rows and the last, which has the sum of all. */
static enum err print_rows(const struct graphs *g)
{
    struct terminal_table rows = { .columns = graphs_columns, .n_columns = COLUMNS, .bold_row = SIZE_MAX };
    const size_t shown = g->shows_all || g->n <= CAPTURES_SHOWN ? g->n : CAPTURES_SHOWN;
    for (size_t i = 0; i < g->n; i++)
        if (i + 1 < shown || i + 1 == g->n)
            add_row(&rows, g, i);
    const enum err e = terminal_table_print(stdout, &rows, terminal_columns(stdout));
    if (g->n > shown)
        printf("%zu more between the last two rows; --all shows them\n", g->n - shown);
    printf("\n");
    return e;
}

static enum err graphs_print(const void *session, struct err_detail *err)
{
    (void)err;
    const struct graphs *g = session;
    char text[TEXT_NUMBER], with[TEXT_NUMBER];
    struct words none = { .n = 0 }, pools = { .n = 0 };
    print_answer(g);
    const enum err e = print_rows(g);
    if (is_known(g, GRAPH_POOLS_NONE)) {
        words_add(&none, "Without graphs, the same work on the same stream in the ordinary pool, the whole program "
                         "reserves %s at its peak; as recorded, with all graphs, %s.",
                  text_mib(size_of(g, GRAPH_POOLS_NONE), text), text_mib(recorded_peak(g), with));
        words_print_screen(stdout, &none);
    }
    if (g->captures.how == CAPTURES_BY_POOL) {
        words_add(&pools, "Captures are told apart by their pools: those that share one count as one capture. "
                          "Recordings of replay run-sim and replay record --torch tell them apart.");
        words_print_screen(stdout, &pools);
    }
    return e;
}

static bool is_exact(const struct graphs *g, const struct arrangement_size *s)
{
    return s->doubt == ARRANGEMENT_EXACT && !g->captures.has_earlier;
}

static bool pools_are_exact(const struct graphs *g, enum graph_pools pools)
{
    return is_known(g, pools) && is_exact(g, &g->sizes[place_of(pools)]);
}

static enum err graphs_write_json(const void *session, FILE *out, struct err_detail *err)
{
    (void)err;
    const struct graphs *g = session;
#define ANSWER_TABLE "answers/graphs.def"
#include "answers/as_json.def"
    return ERR_OK;
}

static const struct flag_use graphs_flags[] = { TAKES(CAPTURES), TAKES(ALL_ROWS), TAKES(JSON), TAKES_INPUT, TAKES(HELP),
                                                FLAGS_END };

const struct subcommand cmd_graphs = {
    .name = "graphs",
    .synopsis = "graphs FILE",
    .summary = "show what the private pools of CUDA graphs take: for any of the captures, in any order, in one pool or "
               "several",
    .text = "From one recording with captures, by a replay of each arrangement. `replay run-sim` and `replay record "
            "--torch` note where captures begin and end; in other snapshots each private pool counts as one capture.\n"
            "\n"
            "Examples:\n"
            "  replay graphs out.pickle\n"
            "  replay graphs out.pickle --captures 8,4,1\n",
    .flags = graphs_flags,
    .n_inputs_min = 1,
    .n_inputs_max = 1,
    .answer = { .session_bytes = sizeof(struct graphs), .read = graphs_read, .write_json = graphs_write_json,
                .print = graphs_print, .close = graphs_close },
};
