/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/* Writes column by column: what is alike comes together, which deflate likes. */
#include "replay/results/packed_page.h"

#include "base/array.h"
#include "report/page/packed_columns.h"
#include "report/text/short_paths.h"
#include "traces/stack_frame.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { DRAWN_MIN = 256, ADDRESS_UNIT = 512 };

/* Which requests are packed: indices into the trace's, in order of birth. */
struct drawn {
    uint32_t *at;
    size_t    n;
};

/* ---- choosing ---- */

struct ranked { double area; uint32_t request; };

static int by_area_falling(const void *a, const void *b)
{
    const struct ranked *x = a, *y = b;
    return x->area > y->area ? -1 : x->area < y->area ? 1 : x->request < y->request ? -1 : 1;
}

static int by_request(const void *a, const void *b)
{
    const uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return x < y ? -1 : x > y;
}

/* Chooses the `max` requests that are largest in a picture. */
static enum err choose(const struct lives *requests, size_t max, struct drawn *out)
{
    struct ranked *ranked = malloc((requests->n + 1) * sizeof *ranked);
    *out = (struct drawn){ .at = malloc((requests->n + 1) * sizeof *out->at) };
    out->n = requests->n < max ? requests->n : max;
    if (ranked == NULL || out->at == NULL) {
        free(ranked);
        return ERR_HOST_NOMEM;
    }
    for (size_t i = 0; i < requests->n; i++) {
        const struct life *life = &requests->at[i];
        ranked[i] = (struct ranked){ (double)life->bytes * (double)(life->ended - life->born), (uint32_t)i };
    }
    if (requests->n > 0)
        qsort(ranked, requests->n, sizeof *ranked, by_area_falling);
    for (size_t i = 0; i < out->n; i++)
        out->at[i] = ranked[i].request;
    if (out->n > 0)
        qsort(out->at, out->n, sizeof *out->at, by_request);
    free(ranked);
    return ERR_OK;
}

/* ---- requests ---- */

/* The sizes that occur, in order of their first appearance. */
static enum err put_sizes(struct packed_columns *p, const struct trace_lives *t, const struct drawn *drawn)
{
    struct pair_map index_of = { .n = 0 };
    uint64_t *sizes = malloc((drawn->n + 1) * sizeof *sizes);
    size_t n = 0;
    bool is_short = sizes == NULL;
    for (size_t i = 0; i < drawn->n && !is_short; i++) {
        const uint64_t bytes = t->requests.at[drawn->at[i]].bytes;
        const uint32_t *found = pair_map_find(&index_of, bytes, 0);
        packed_put(p, found != NULL ? *found : n);
        if (found != NULL)
            continue;
        is_short = !pair_map_add(&index_of, bytes, 0, (uint32_t)n);
        sizes[n++] = bytes;
    }
    packed_put(p, n);
    for (size_t i = 0; i < n; i++)
        packed_put(p, sizes[i]);
    pair_map_free(&index_of);
    free(sizes);
    return is_short ? ERR_HOST_NOMEM : ERR_OK;
}

static enum err pack_requests(const struct trace_lives *t, const struct drawn *drawn, char **out, size_t *n)
{
    struct packed_columns p = { .at = NULL };
    const struct life *at = t->requests.at;
    uint64_t before = 0;
    int64_t place = -1;
    packed_put(&p, drawn->n);
    for (size_t i = 0; i < drawn->n; before = at[drawn->at[i++]].born)
        packed_put(&p, at[drawn->at[i]].born - before);
    for (size_t i = 0; i < drawn->n; i++)
        packed_put(&p, at[drawn->at[i]].ended - at[drawn->at[i]].born);
    for (size_t i = 0; i < drawn->n; i++)
        packed_put(&p, at[drawn->at[i]].ended - at[drawn->at[i]].freed);
    for (size_t i = 0; i < drawn->n; i++)
        packed_put(&p, at[drawn->at[i]].stack);
    for (size_t i = 0; i < drawn->n; i++)
        packed_put(&p, t->freers[drawn->at[i]]);
    for (size_t i = 0; i < drawn->n; i++)
        packed_put(&p, at[drawn->at[i]].stream);
    for (size_t i = 0; i < drawn->n; i++)
        packed_put(&p, at[drawn->at[i]].pool);
    for (size_t i = 0; i < drawn->n; i++)
        packed_put(&p, t->categories == NULL ? CATEGORY_UNKNOWN : t->categories[drawn->at[i]]);
    for (size_t i = 0; i < drawn->n && t->numbers == NULL; place = t->places[drawn->at[i++]])
        packed_put_difference(&p, (uint64_t)place, (uint64_t)t->places[drawn->at[i]]);
    const enum err e = put_sizes(&p, t, drawn);
    if (e == ERR_OK)
        return packed_finish(&p, out, n);
    free(p.at);
    return e;
}

/* ---- stacks ---- */

enum { FRAME_OWN, FRAME_OF_LIBRARY, FRAME_OF_TORCH, FRAME_NATIVE };

static unsigned frame_kind(const char *text)
{
    const struct stack_frame f = stack_frame_parse(text);
    return stack_frame_is_program(&f) ? FRAME_OWN : stack_frame_is_torch(&f) ? FRAME_OF_TORCH
         : stack_frame_is_python(&f) ? FRAME_OF_LIBRARY : FRAME_NATIVE;
}

/* The folder that all own files with an absolute path are in. */
static enum err find_folder(const struct trace_lives *t, char **out)
{
    const char *path = NULL;
    size_t n = 0;
    for (uint32_t i = 0; i < t->frames.n; i++) {
        const struct stack_frame f = stack_frame_parse(text_table_at(&t->frames, i));
        if (frame_kind(text_table_at(&t->frames, i)) != FRAME_OWN || !path_is_absolute(f.file, f.n_file))
            continue;
        n = path_shared_folder(path == NULL ? f.file : path, path == NULL ? f.n_file : n, f.file);
        path = f.file;
    }
    *out = n == 0 ? NULL : strndup(path, n);
    return n == 0 || *out != NULL ? ERR_OK : ERR_HOST_NOMEM;
}

/* A frame without the folders of the machine. */
static void put_frame(struct packed_columns *p, const char *text, const char *folder)
{
    char shown[FRAME_BYTES_MAX + 1];
    const struct stack_frame f = stack_frame_parse(text);
    const size_t before = (size_t)(f.file - text), left_out = path_folders_length(f.file, f.n_file, folder);
    const int n = snprintf(shown, sizeof shown, "%.*s%s", (int)before, text, f.file + left_out);
    packed_put_text(p, shown, (size_t)n < sizeof shown ? (size_t)n : sizeof shown - 1);
}

static enum err pack_stacks(const struct trace_lives *t, const char *folder, char **out, size_t *n)
{
    struct packed_columns p = { .at = NULL };
    packed_put(&p, t->frames.n);
    for (uint32_t i = 0; i < t->frames.n; i++)
        packed_put(&p, frame_kind(text_table_at(&t->frames, i)));
    for (uint32_t i = 0; i < t->frames.n; i++)
        put_frame(&p, text_table_at(&t->frames, i), folder);
    packed_put(&p, t->stacks.n_nodes);
    for (uint32_t i = 0; i < t->stacks.n_nodes; i++)
        packed_put_difference(&p, i, t->stacks.node[i].caller);
    for (uint32_t i = 0; i < t->stacks.n_nodes; i++)
        packed_put(&p, t->stacks.node[i].text);
    packed_put(&p, t->stacks.n_stacks);
    for (uint32_t i = 0; i < t->stacks.n_stacks; i++)
        packed_put(&p, t->stacks.stack[i]);
    for (uint32_t i = 0; i < t->stacks.n_stacks; i++)
        packed_put(&p, t->lines[i]);
    return packed_finish(&p, out, n);
}

/* ---- events ---- */

static void put_refusals(struct packed_columns *p, const struct trace_lives *t)
{
    uint64_t before = 0;
    packed_put(p, t->n_refusals);
    for (size_t i = 0; i < t->n_refusals; before = t->refusals[i++].moment)
        packed_put(p, t->refusals[i].moment - before);
    for (size_t i = 0; i < t->n_refusals; i++)
        packed_put(p, t->refusals[i].bytes);
}

static void put_moments(struct packed_columns *p, const uint64_t *moments, size_t n)
{
    packed_put(p, n);
    for (size_t i = 0; i < n; i++)
        packed_put(p, moments[i] - (i > 0 ? moments[i - 1] : 0));
}

static void put_reserved(struct packed_columns *p, const struct recorded_reserved *r)
{
    packed_put(p, r->n);
    for (size_t i = 0; i < r->n; i++)
        packed_put(p, r->at[i].moment - (i > 0 ? r->at[i - 1].moment : 0));
    for (size_t i = 0; i < r->n; i++)
        packed_put_difference(p, i > 0 ? r->at[i - 1].bytes : 0, r->at[i].bytes);
}

static enum err pack_events(const struct trace_reader *trace, const struct trace_lives *t, char **out, size_t *n)
{
    struct packed_columns p = { .at = NULL };
    const uint64_t n_numbers = t->numbers == NULL ? 0 : t->n_events;
    uint64_t before = 0;
    packed_put(&p, n_numbers);
    for (uint64_t i = 0; i < n_numbers; before = t->numbers[i++])
        packed_put(&p, t->numbers[i] - before);
    before = 0;
    packed_put(&p, LIVE_SAMPLES);
    for (size_t i = 0; i <= LIVE_SAMPLES; before = t->live[i++])
        packed_put_difference(&p, before, t->live[i]);
    before = 0;
    packed_put(&p, t->n_marks);
    for (size_t i = 0; i < t->n_marks; before = t->marks[i++].moment)
        packed_put(&p, t->marks[i].moment - before);
    for (size_t i = 0; i < t->n_marks; i++) {
        const char *label = trace_label(trace, t->marks[i].label);
        packed_put_text(&p, label, strlen(label));
    }
    put_refusals(&p, t);
    put_moments(&p, t->steps, t->n_steps);
    put_reserved(&p, &t->reserved);
    put_moments(&p, t->flushes, t->n_flushes);
    return packed_finish(&p, out, n);
}

/* ---- a run ---- */

/* The last address of each size, for a program that repeats itself gets the same places again.
 * Zero is a valid beginning. */
struct last_addresses {
    struct pair_map index_of;        /* bytes -> index into `at` */
    uint64_t *at;
    size_t    n, room;
    uint64_t  before;                /* the last of any size */
};

/* Puts an address as the difference to the last one of its size; the first of a size to the one before. */
static void put_address(struct packed_columns *p, struct last_addresses *last, uint64_t addr, uint64_t bytes)
{
    const uint32_t *found = pair_map_find(&last->index_of, bytes, 0);
    packed_put_difference(p, found != NULL ? last->at[*found] : last->before, addr);
    last->before = addr;
    if (found != NULL) {
        last->at[*found] = addr;
        return;
    }
    uint64_t *at = array_grow(last->at, last->n, &last->room, sizeof *at);
    if (at == NULL || !pair_map_add(&last->index_of, bytes, 0, (uint32_t)last->n)) {
        last->at = at != NULL ? at : last->at;
        p->is_short = true;
        return;
    }
    last->at = at;
    at[last->n++] = addr;
}

static void close_addresses(struct last_addresses *last)
{
    pair_map_free(&last->index_of);
    free(last->at);
}

/* Blocks of most allocators begin at multiples of 512 bytes; those of a plugin may not. */
static uint64_t address_unit(const struct lane_lives *lane)
{
    for (size_t i = 0; i < lane->requests->n; i++)
        if (lane->addr[i] % ADDRESS_UNIT != 0)
            return 1;
    return ADDRESS_UNIT;
}

static enum err pack_placed(const struct lane_lives *lane, const struct drawn *drawn, char **out, size_t *n)
{
    struct packed_columns p = { .at = NULL };
    const uint64_t unit = address_unit(lane);
    struct last_addresses last = { .n = 0 };
    packed_put(&p, unit);
    for (size_t i = 0; i < drawn->n; i++) {
        const uint64_t addr = lane->addr[drawn->at[i]];
        packed_put(&p, addr != LANE_LIFE_NOWHERE);
    }
    for (size_t i = 0; i < drawn->n; i++) {
        const uint64_t addr = lane->addr[drawn->at[i]];
        if (addr != LANE_LIFE_NOWHERE)
            put_address(&p, &last, addr / unit, lane->requests->at[drawn->at[i]].bytes);
    }
    close_addresses(&last);
    for (size_t i = 0; i < drawn->n; i++)
        if (lane->addr[drawn->at[i]] != LANE_LIFE_NOWHERE)
            packed_put(&p, lane->bytes[drawn->at[i]] - lane->requests->at[drawn->at[i]].bytes);
    return packed_finish(&p, out, n);
}

/* Pages of a range that are mapped and unmapped together are one. Lives are in order of birth, then of address. */
static size_t join_mapped(struct life *at, size_t n)
{
    size_t kept = 0;
    for (size_t i = 0; i < n; i++) {
        struct life *last = kept > 0 ? &at[kept - 1] : NULL;
        if (last != NULL && at[i].kind == LIFE_MAPPED && last->kind == LIFE_MAPPED && last->born == at[i].born &&
            last->ended == at[i].ended && last->addr + last->bytes == at[i].addr)
            last->bytes += at[i].bytes;
        else
            at[kept++] = at[i];
    }
    return kept;
}

static void put_memory(struct packed_columns *p, const struct life *at, size_t n)
{
    uint64_t before = 0;
    packed_put(p, n);
    for (size_t i = 0; i < n; i++)
        packed_put(p, at[i].kind);
    for (size_t i = 0; i < n; before = at[i++].born)
        packed_put(p, at[i].born - before);
    for (size_t i = 0; i < n; i++)
        packed_put(p, at[i].ended - at[i].born);
    for (size_t i = 0; i < n; i++)
        packed_put(p, at[i].bytes);
    struct last_addresses last = { .n = 0 };
    for (size_t i = 0; i < n; i++)
        put_address(p, &last, at[i].addr, at[i].bytes);
    close_addresses(&last);
}

/* Packs the `max` largest pieces of memory; *left_out: how many others there were. */
static enum err pack_memory(const struct lives *memory, size_t max, char **out, size_t *n, uint64_t *left_out)
{
    struct packed_columns p = { .at = NULL };
    struct lives copy = { .at = malloc((memory->n + 1) * sizeof *copy.at), .n = memory->n, .room = memory->n + 1 };
    if (copy.at == NULL)
        return ERR_HOST_NOMEM;
    if (memory->n > 0)
        memcpy(copy.at, memory->at, memory->n * sizeof *copy.at);
    lives_cut(&copy, max);
    *left_out = memory->n_all - copy.n;
    put_memory(&p, copy.at, join_mapped(copy.at, copy.n));
    lives_close(&copy);
    return packed_finish(&p, out, n);
}

/* ---- courses ---- */

static void put_gauge(struct packed_columns *p, const struct timeline *t, int gauge)
{
    const struct timeline_bucket *b = t->buckets;
    for (size_t i = 0; i < t->n; i++)
        packed_put_difference(p, i > 0 ? b[i - 1].least[gauge] : 0, b[i].least[gauge]);
    for (size_t i = 0; i < t->n; i++)
        packed_put(p, b[i].most[gauge] - b[i].least[gauge]);
}

enum err packed_page_courses(struct page_run *const *runs, size_t n, char **out)
{
    struct packed_columns p = { .at = NULL };
    size_t n_text;
    for (size_t r = 0; r < n; r++)
        packed_put(&p, runs[r]->timeline.n);
    for (size_t r = 0; r < n; r++) {
        const struct timeline *t = &runs[r]->timeline;
        for (size_t i = 0; i < t->n; i++)
            packed_put_difference(&p, i > 0 ? t->buckets[i - 1].event + t->moments_each : 0, t->buckets[i].event);
    }
    for (size_t r = 0; r < n; r++) {
        const struct timeline *t = &runs[r]->timeline;
        for (size_t i = 0; i < t->n; i++)
            packed_put(&p, t->buckets[i].time_ns - (i > 0 ? t->buckets[i - 1].time_ns : 0));
    }
    for (int gauge = 0; gauge < TIMELINE_N_GAUGES; gauge++)
        for (size_t r = 0; r < n; r++)
            put_gauge(&p, &runs[r]->timeline, gauge);
    return packed_finish(&p, out, &n_text);
}

/* ---- all of a trace ---- */

/* Packs what depends on which requests are drawn; *bytes: of all of it. */
static enum err pack_drawn(const struct trace_lives *lives, const struct lane_lives *lanes, size_t n, size_t max,
                           struct page_trace *out, struct page_run *const *runs, size_t *bytes)
{
    struct drawn drawn = { .n = 0 };
    size_t n_text = 0;
    free(out->requests);
    out->requests = NULL;
    enum err e = choose(&lives->requests, max, &drawn);
    if (e == ERR_OK)
        e = pack_requests(lives, &drawn, &out->requests, bytes);
    for (size_t i = 0; i < n && e == ERR_OK; i++) {
        free(runs[i]->placed);
        free(runs[i]->memory);
        runs[i]->placed = runs[i]->memory = NULL;
        e = pack_placed(&lanes[i], &drawn, &runs[i]->placed, &n_text);
        *bytes += n_text;
        if (e == ERR_OK)
            e = pack_memory(&lanes[i].memory, max, &runs[i]->memory, &n_text, &runs[i]->n_memory_left_out);
        *bytes += n_text;
    }
    out->n_drawn = drawn.n;
    free(drawn.at);
    return e;
}

enum err packed_page_trace(const struct trace_reader *trace, const struct trace_lives *lives,
                           const struct lane_lives *lanes, size_t n, size_t bytes_max, struct page_trace *out,
                           struct page_run *const *runs)
{
    size_t fixed = 0, n_text = 0, bytes = 0, max = LIVES_MAX;
    enum err e = find_folder(lives, &out->folder);
    if (e == ERR_OK)
        e = pack_stacks(lives, out->folder, &out->stacks, &fixed);
    if (e == ERR_OK)
        e = pack_events(trace, lives, &out->events, &n_text);
    fixed += n_text;
    out->n_requests = lives->requests.n_all;
    out->n_events = lives->n_events;
#define CATEGORY(name, word) word ","
#define GUESS(name, word) word " (a guess),"
    out->categories = lives->categories != NULL ? CATEGORIES(CATEGORY) CATEGORIES(GUESS) : NULL;
#undef GUESS
#undef CATEGORY
    out->live_peak_moment = lives->live_peak_moment;
    while (e == ERR_OK) {
        e = pack_drawn(lives, lanes, n, max, out, runs, &bytes);
        if (fixed + bytes <= bytes_max || max == DRAWN_MIN)
            break;
        const size_t room = bytes_max > fixed ? bytes_max - fixed : 0, drawn = out->n_drawn;
        max = (size_t)((double)drawn * 0.95 * (double)room / (double)bytes);
        max = max < DRAWN_MIN ? DRAWN_MIN : max;
    }
    return e;
}
