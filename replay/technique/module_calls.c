/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/* For each stack, the lines that call modules are numbered from the outermost in;
 * requests are then read in their order. */
#include "replay/technique/module_calls.h"

#include "base/array.h"
#include "base/intern.h"
#include "replay/recording/phases.h"
#include "traces/stack_frame.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Calls of modules in each other that are looked at. */
enum { DEPTHS = 8 };

/* Requests that one of two calls may have between those that both have. */
enum { SKIPPED_MAX = 8 };

/* The lines of a stack that call modules, outermost first.
 * A line is told from others by all frames outside of it, too. */
struct sites {
    uint32_t at[DEPTHS];
    uint8_t  n, asked;               /* asked: depth of the line that was asked for, counted from 1; 0: none */
};

struct finder {
    const struct course *c;
    const char *line;                /* NULL: any that repeats */
    struct pair_map chains;          /* (chain outside, address of the frame) -> chain: a frame with all outside of
                                      * it */
    struct sites *of_stack;
    struct module_calls calls;       /* at one depth */
};

/* ---- stacks ---- */

static bool is_call(const struct stack_frame *f)
{
    return stack_frame_is_torch(f) && stack_frame_file_ends(f, "module.py") &&
           (stack_frame_is_named(f, "_call_impl") || stack_frame_is_named(f, "_wrapped_call_impl"));
}

static bool is_asked(const struct finder *f, const char *frame)
{
    char at[512];
    const struct stack_frame parsed = stack_frame_parse(frame);
    const char *colon = f->line == NULL ? NULL : strrchr(f->line, ':');
    if (colon == NULL || strtoul(colon + 1, NULL, 10) != parsed.line)
        return false;
    snprintf(at, sizeof at, "%.*s", (int)(colon - f->line), f->line);
    return stack_frame_file_ends(&parsed, at);
}

/* The number of a frame with what is outside of it, from 1; 0 without memory.
 * A trace lends equal frames as one text. */
static uint32_t put_chain(struct finder *f, uint32_t outside, const char *frame)
{
    const uint32_t *known = pair_map_find(&f->chains, outside, (uintptr_t)frame), next = (uint32_t)f->chains.n + 1;
    return known != NULL ? *known : pair_map_add(&f->chains, outside, (uintptr_t)frame, next) ? next : 0;
}

static bool read_stack(struct finder *f, uint32_t stack)
{
    const char *const *frames;
    const size_t n = trace_stack(f->c->trace, stack, &frames);
    struct sites *s = &f->of_stack[stack];
    uint32_t chain = 0;              /* of nothing */
    bool has_memory = true;
    bool is_outside = true;          /* the frame outside of this one belongs to no call of a module */
    for (size_t i = stack_frames_of_code(frames, n), from = i; i-- > 0 && has_memory;) {
        const struct stack_frame frame = stack_frame_parse(frames[i]);
        const bool is_inside = is_call(&frame);
        if (is_inside && is_outside && i + 1 < from && s->n < DEPTHS) {
            s->at[s->n++] = chain;
            s->asked = s->asked == 0 && is_asked(f, frames[i + 1]) ? s->n : s->asked;
        }
        is_outside = !is_inside;
        chain = put_chain(f, chain, frames[i]);
        has_memory = chain != 0;
    }
    return has_memory;
}

/* ---- calls ---- */

/* The line of a request's stack at a depth; UINT32_MAX: it has none there, or is of no forward pass. */
static uint32_t site_of(const struct finder *f, size_t request, unsigned depth)
{
    const struct sites *s = &f->of_stack[f->c->all.at[request].stack];
    const bool is_known = f->c->phase[request] == PHASE_FORWARD && depth < s->n;
    return !is_known || (f->line != NULL && s->asked != depth + 1) ? UINT32_MAX : s->at[depth];
}

static uint32_t stack_of(const struct finder *f, size_t request)
{
    return f->c->all.at[request].stack;
}

static enum err read_calls(struct finder *f, unsigned depth, struct err_detail *err)
{
    struct module_calls *out = &f->calls;
    out->n = 0;
    for (size_t i = 0; i < f->c->all.n; i++) {
        const uint32_t site = site_of(f, i, depth);
        struct module_call *last = out->n > 0 ? &out->at[out->n - 1] : NULL;
        if (site == UINT32_MAX)
            continue;
        if (last != NULL && last->end == i && site_of(f, last->first, depth) == site &&
            (stack_of(f, i) != stack_of(f, last->first) || stack_of(f, i - 1) == stack_of(f, i))) {
            last->end++;
            continue;
        }
        struct module_call *at = array_grow(out->at, out->n, &out->room, sizeof *at);
        if (at == NULL)
            return err_no_memory(err);
        out->at = at;
        out->at[out->n++] = (struct module_call){ i, i + 1 };
    }
    return ERR_OK;
}

/* How many requests of `a` have one with the same stack in `b`, in the same order. A few may be between: the first call
 * also asks for workspaces. */
static size_t count_equal(const struct finder *f, const struct module_call *a, const struct module_call *b)
{
    size_t n = 0, from = b->first;
    for (size_t i = a->first; i < a->end; i++)
        for (size_t k = from; k < b->end && k < from + SKIPPED_MAX; k++)
            if (stack_of(f, i) == stack_of(f, k)) {
                n++;
                from = k + 1;
                break;
            }
    return n;
}

/* Whether two calls did the same: neither has twice the requests of the other, and eight of ten are alike. So a line
 * that calls two unlike modules does not pass for a loop. */
static bool are_alike(const struct finder *f, const struct module_call *a, const struct module_call *b)
{
    const size_t n = a->end - a->first, m = b->end - b->first, less = n < m ? n : m;
    return 2 * less > (n < m ? m : n) && 10 * count_equal(f, a, b) >= 8 * less;
}

/* Whether two calls, one after the other, are of one line in one forward pass, and did the same. */
static bool is_repeated(const struct finder *f, unsigned depth, const struct module_call *a,
                        const struct module_call *b)
{
    bool is_one_pass = site_of(f, a->first, depth) == site_of(f, b->first, depth) && are_alike(f, a, b);
    for (size_t i = a->end; i < b->first && is_one_pass; i++)
        is_one_pass = f->c->phase[i] == PHASE_FORWARD;
    return is_one_pass;
}

static void keep_repeated(struct finder *f, unsigned depth)
{
    struct module_calls *calls = &f->calls;
    size_t kept = 0;
    bool is_like_last = false;
    for (size_t i = 0; i < calls->n; i++) {
        const struct module_call call = calls->at[i];
        const bool is_like_next = i + 1 < calls->n && is_repeated(f, depth, &call, &calls->at[i + 1]);
        if (is_like_last || is_like_next)
            calls->at[kept++] = call;
        is_like_last = is_like_next;
    }
    calls->n = kept;
}

static enum err find(struct finder *f, struct err_detail *err)
{
    const size_t n_stacks = trace_info(f->c->trace)->n_stacks;
    f->of_stack = calloc(n_stacks + 1, sizeof *f->of_stack);
    bool has_memory = f->of_stack != NULL;
    for (uint32_t i = 1; has_memory && i <= n_stacks; i++)
        has_memory = read_stack(f, i);
    enum err e = has_memory ? ERR_OK : err_no_memory(err);
    for (unsigned depth = 0; depth < DEPTHS && f->calls.n == 0 && e == ERR_OK; depth++) {
        e = read_calls(f, depth, err);
        if (e == ERR_OK && f->line == NULL)
            keep_repeated(f, depth);
    }
    return e;
}

enum err module_calls_find(const struct course *c, const char *line, struct module_calls *out, struct err_detail *err)
{
    struct finder f = { .c = c, .line = line };
    enum err e = find(&f, err);
    if (e == ERR_OK && f.calls.n == 0 && line != NULL)
        e = err_set(err, ERR_USAGE, 0, "--checkpoint: line %s calls no module in a forward pass (a call as in `x = "
                    "block(x)`)", line);
    *out = f.calls;
    pair_map_free(&f.chains);
    free(f.of_stack);
    return e;
}

void module_calls_close(struct module_calls *calls)
{
    free(calls->at);
    *calls = (struct module_calls){ .at = NULL };
}
