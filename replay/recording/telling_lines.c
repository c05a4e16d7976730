/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/* For each line of the program: how many lines call it, and how many of these for something that is held. For each line
 * that calls a module: what is held of the call, and how much of that by the line inside that holds most. */
#include "replay/recording/telling_lines.h"

#include "base/intern.h"
#include "base/units.h"
#include "traces/stack_frame.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LINES_DEEP = 64, NAME_BYTES = 512 };

/* Callers of a line: in all of the recording, and of what is held. */
struct callers { uint32_t all, held; };

/* Bytes held of all calls of modules at a line; of the line inside that holds most. */
struct call_share { uint64_t all, most; };

struct telling {
    struct trace_reader *trace;
    struct text_table lines;
    struct pair_map   calls;         /* (line, caller): 1, or 2 if it is of something held */
    struct callers   *callers;       /* by line; room for `room` */
    struct pair_map   inside;        /* (line that calls a module, line inside): where its bytes are in `parts` */
    uint64_t         *parts;
    struct call_share *shares;       /* by line */
    uint8_t          *is_held;       /* by stack */
    bool              has_memory;
};

/* The lines of the program in a stack, from the innermost one on. */
static size_t lines_of(struct telling *t, uint32_t stack, uint32_t lines[static LINES_DEEP])
{
    const char *const *frames;
    const size_t n_frames = trace_stack(t->trace, stack, &frames);
    size_t n = 0;
    for (size_t i = 0; i < n_frames && n < LINES_DEEP; i++) {
        const struct stack_frame f = stack_frame_parse(frames[i]);
        if (!stack_frame_is_program(&f))
            continue;
        lines[n] = text_table_put(&t->lines, frames[i], strlen(frames[i]));
        t->has_memory = t->has_memory && lines[n] != UINT32_MAX;
        n++;
    }
    return t->has_memory ? n : 0;
}

/* Makes room for what is known of all lines. */
static bool callers_fit(struct telling *t, size_t *room)
{
    if (t->lines.n <= *room)
        return true;
    const size_t more = 2 * (size_t)t->lines.n;
    struct callers *at = realloc(t->callers, more * sizeof *at);
    if (at == NULL)
        return false;
    memset(at + *room, 0, (more - *room) * sizeof *at);
    t->callers = at;
    *room = more;
    return true;
}

static void note_call(struct telling *t, uint32_t line, uint32_t caller, bool is_held)
{
    uint32_t *known = pair_map_find(&t->calls, line, caller);
    if (known == NULL) {
        t->has_memory = t->has_memory && pair_map_add(&t->calls, line, caller, is_held ? 2 : 1);
        t->callers[line].all++;
        t->callers[line].held += is_held;
    } else if (*known == 1 && is_held) {
        *known = 2;
        t->callers[line].held++;
    }
}

static void note_calls(struct telling *t)
{
    uint32_t lines[LINES_DEEP];
    size_t room = 0;
    for (uint32_t i = 1; i <= trace_info(t->trace)->n_stacks && t->has_memory; i++) {
        const size_t n = lines_of(t, i, lines);
        t->has_memory = t->has_memory && callers_fit(t, &room);
        for (size_t k = 0; k + 1 < n && t->has_memory; k++)
            note_call(t, lines[k], lines[k + 1], t->is_held[i] != 0);
    }
}

/* How many lines of the program lie inside its outermost call of a module; 0: it calls none. */
static size_t lines_inside_module(const struct telling *t, uint32_t stack)
{
    const char *const *frames;
    const size_t n_frames = trace_stack(t->trace, stack, &frames);
    size_t n = 0, inside = 0;
    for (size_t i = 0; i < n_frames; i++) {
        const struct stack_frame f = stack_frame_parse(frames[i]);
        if (stack_frame_file_ends(&f, "module.py") && stack_frame_is_named(&f, "_call_impl"))
            inside = n;
        n += stack_frame_is_program(&f);
    }
    return inside < n ? inside : 0;
}

/* The innermost line that tells what is held from what is freed, from line `k` on. */
static size_t telling_index(const struct telling *t, const uint32_t *lines, size_t n, size_t k)
{
    while (k + 1 < n && t->callers[lines[k]].all > t->callers[lines[k]].held)
        k++;
    return k;
}

static void note_share(struct telling *t, const struct holding *h)
{
    uint32_t lines[LINES_DEEP];
    const size_t n = lines_of(t, h->stack, lines), inside = lines_inside_module(t, h->stack);
    if (inside == 0 || inside >= n)
        return;
    const uint32_t *known = pair_map_find(&t->inside, lines[inside], lines[0]);
    const uint32_t at = known != NULL ? *known : (uint32_t)t->inside.n;
    if (known == NULL && !pair_map_add(&t->inside, lines[inside], lines[0], at)) {
        t->has_memory = false;
        return;
    }
    struct call_share *share = &t->shares[lines[inside]];
    t->parts[at] += h->bytes;
    share->all += h->bytes;
    share->most = t->parts[at] > share->most ? t->parts[at] : share->most;
}

/* Where to begin: inside a call of a module only if one line there holds half of what the call does. */
static size_t first_index(const struct telling *t, uint32_t stack, const uint32_t *lines, size_t n)
{
    const size_t inside = lines_inside_module(t, stack);
    const struct call_share *share = &t->shares[lines[inside < n ? inside : 0]];
    return inside > 0 && inside < n && share->most < share->all / 2 ? inside : 0;
}

/* The line to name, and its caller if it has one; false: the stack has none. */
static bool name_line_that_tells(struct telling *t, uint32_t stack, char name[static NAME_BYTES])
{
    uint32_t lines[LINES_DEEP];
    const size_t n = lines_of(t, stack, lines);
    if (n == 0)
        return false;
    const size_t k = telling_index(t, lines, n, first_index(t, stack, lines, n));
    stack_frame_show_line(text_table_at(&t->lines, lines[k]), name, NAME_BYTES);
    if (k + 1 < n) {
        char caller[NAME_BYTES / 2];
        const size_t used = strlen(name);
        stack_frame_show_line(text_table_at(&t->lines, lines[k + 1]), caller, sizeof caller);
        snprintf(name + used, NAME_BYTES - used, ", called at %s", caller);
    }
    return true;
}

static const char nameless[] = "(backward pass, no Python stack)";

static void name_holding(struct telling *t, const struct holding *h, char name[static NAME_BYTES])
{
    char size[UNITS_TEXT];
    const char *const *frames;
    if (trace_info(t->trace)->n_stacks == 0) {
        snprintf(name, NAME_BYTES, "%s", units_format_bytes(h->bytes, size));
        return;
    }
    if (h->stack != TRACE_NO_STACK && name_line_that_tells(t, h->stack, name))
        return;
    const size_t n = h->stack == TRACE_NO_STACK ? 0 : trace_stack(t->trace, h->stack, &frames);
    const char *line = n > 0 ? stack_frame_of_program(frames, stack_frames_of_code(frames, n)) : NULL;
    stack_frame_show_line(line != NULL ? line : nameless, name, NAME_BYTES);
}

/* What has no line cannot be looked at. */
static void put_nameless_last(struct holders *h)
{
    for (size_t i = 0; i + 1 < h->n; i++)
        if (strcmp(holder_name(h, i), nameless) == 0) {
            const struct holder moved = h->at[i];
            h->at[i] = h->at[i + 1];
            h->at[i + 1] = moved;
        }
}

static void note_shares(struct telling *t, const struct holdings *h)
{
    t->shares = calloc((size_t)t->lines.n + 1, sizeof *t->shares);
    t->parts = calloc(h->n + 1, sizeof *t->parts);
    t->has_memory = t->has_memory && t->shares != NULL && t->parts != NULL;
    for (size_t i = 0; i < h->n && t->has_memory; i++)
        if (h->at[i].stack != TRACE_NO_STACK)
            note_share(t, &h->at[i]);
}

static enum err group(struct telling *t, const struct holdings *h, struct holders *out, struct err_detail *err)
{
    enum err e = ERR_OK;
    for (size_t i = 0; i < h->n; i++)
        t->is_held[h->at[i].stack] = h->at[i].stack != TRACE_NO_STACK;
    note_calls(t);
    note_shares(t, h);
    for (size_t i = 0; i < h->n && e == ERR_OK && t->has_memory; i++) {
        char name[NAME_BYTES];
        name_holding(t, &h->at[i], name);
        e = holders_put(out, name, h->at[i].bytes, err);
    }
    holders_sort(out);
    put_nameless_last(out);
    return e == ERR_OK && !t->has_memory ? err_no_memory(err) : e;
}

/* Counts the groups anew, of what is held in `now`. Names that are in no group are put after theirs. */
static enum err count_now(struct telling *t, const struct holdings *now, struct holders *out, struct err_detail *err)
{
    const size_t n = out->n;
    size_t *place_of = calloc(n + 1, sizeof *place_of);
    if (place_of == NULL)
        return err_no_memory(err);
    for (size_t i = 0; i < n; i++) {
        place_of[out->at[i].name] = i;
        out->at[i].bytes = out->at[i].n = 0;
    }
    for (size_t i = 0; i < now->n && t->has_memory; i++) {
        if (now->at[i].born < 0 && trace_info(t->trace)->n_stacks > 0)
            continue;                            /* who asked for it is not known */
        char name[NAME_BYTES];
        name_holding(t, &now->at[i], name);
        const uint32_t id = text_table_put(&out->names, name, strlen(name));
        t->has_memory = t->has_memory && id != UINT32_MAX;
        if (id < n) {
            out->at[place_of[id]].bytes += now->at[i].bytes;
            out->at[place_of[id]].n++;
        }
    }
    free(place_of);
    return t->has_memory ? ERR_OK : err_no_memory(err);
}

/* `now`: NULL, or what is counted. */
static enum err group_and_count(struct trace_reader *trace, const struct holdings *h, const struct holdings *now,
                                struct holders *out, struct err_detail *err)
{
    struct telling t = { .trace = trace, .has_memory = true };
    *out = (struct holders){ .n = 0 };
    t.is_held = calloc((size_t)trace_info(trace)->n_stacks + 1, 1);
    enum err e = t.is_held == NULL ? err_no_memory(err) : group(&t, h, out, err);
    if (e == ERR_OK && now != NULL)
        e = count_now(&t, now, out, err);
    text_table_free(&t.lines);
    pair_map_free(&t.calls);
    pair_map_free(&t.inside);
    free(t.parts);
    free(t.shares);
    free(t.callers);
    free(t.is_held);
    if (e != ERR_OK)
        holders_close(out);
    return e;
}

enum err telling_lines_group(struct trace_reader *trace, const struct holdings *h, struct holders *out,
                             struct err_detail *err)
{
    return group_and_count(trace, h, NULL, out, err);
}

enum err telling_lines_count(struct trace_reader *trace, const struct holdings *h, uint64_t moment,
                             struct holders *out, struct err_detail *err)
{
    struct holdings now = { .n = 0 };
    enum err e = holdings_read(trace, MOMENT_EVENT, moment, &now, err);
    if (e == ERR_OK)
        e = group_and_count(trace, h, &now, out, err);
    holdings_close(&now);
    return e;
}

enum err telling_line_of_event(struct trace_reader *trace, uint64_t event, size_t size, char *out,
                               struct err_detail *err)
{
    uint32_t stack = TRACE_NO_STACK;
    const char *const *frames;
    const enum err e = trace_stacks_at(trace, &event, 1, &stack, err);
    const size_t n = e == ERR_OK ? trace_stack(trace, stack, &frames) : 0;
    const char *line = n > 0 ? stack_frame_of_program(frames, stack_frames_of_code(frames, n)) : NULL;
    out[0] = '\0';
    if (line != NULL)
        stack_frame_show_line(line, out, size);
    return e;
}
