/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * Activation functions in place: the result lies where the input lay.
 *
 *     input  |----|                          input, then result  |---------------|
 *     result    |------------|    becomes
 *
 * Only functions of torch.nn.functional with `inplace=True` count whose backward pass needs the result alone.
 */
#include "replay/technique/changes.h"

#include "replay/recording/phases.h"
#include "traces/stack_frame.h"

#include <stdlib.h>

#define NONE UINT32_MAX

enum in_place_function {
    FUNCTION_OTHER,
    FUNCTION_ENDS_INPUT,             /* its backward pass reads the result: nobody needs the input afterwards */
    FUNCTION_KEEPS_INPUT,            /* its backward pass reads the input; in place it reads the result instead */
};

static enum in_place_function function_of(const char *const *frames, size_t n)
{
    static const char *const keepers[] = { "leaky_relu", "elu", "selu", "celu", "hardtanh", "relu6",
                                          "threshold" };
    if (n == 0)
        return FUNCTION_OTHER;
    const struct stack_frame f = stack_frame_parse(frames[0]);
    if (!stack_frame_is_torch(&f) || !stack_frame_file_ends(&f, "functional.py"))
        return FUNCTION_OTHER;
    if (stack_frame_is_named(&f, "relu"))
        return FUNCTION_ENDS_INPUT;
    for (size_t i = 0; i < sizeof keepers / sizeof keepers[0]; i++)
        if (stack_frame_is_named(&f, keepers[i]))
            return FUNCTION_KEEPS_INPUT;
    return FUNCTION_OTHER;
}

struct joins {
    const struct course *c;
    uint8_t  *function;              /* by stack: enum in_place_function */
    uint32_t *result_of;             /* by request: the result that takes over its memory; NONE */
    uint32_t *input_of;              /* by request: whose memory it takes over; NONE */
    size_t    n;
};

/* How many requests before a result its input is looked for. */
enum { INPUTS_TRIED = 256 };

/* In a module's forward pass, or in a program that has no modules. */
static bool is_forward(const struct course *c, size_t request)
{
    return c->phase[request] == PHASE_FORWARD || c->phase[request] == PHASE_OWN;
}

/* The youngest request of a forward pass that is live when `result` begins, as large,
 * and in the same place. NONE: none. */
static uint32_t input_of(const struct joins *j, size_t result)
{
    const struct holding *all = j->c->all.at, *r = &all[result];
    for (size_t i = result; i-- > 0 && result - i <= INPUTS_TRIED;)
        if (all[i].bytes == r->bytes && all[i].stream == r->stream && all[i].pool == r->pool &&
            all[i].died > (uint64_t)r->born)
            return is_forward(j->c, i) && j->result_of[i] == NONE ? (uint32_t)i : NONE;
    return NONE;
}

/* Whether the program needs the input no more once the result is there, before it requests anything else. */
static bool ends_at_once(const struct course *c, size_t input, size_t result)
{
    return c->all.at[input].died < (result + 1 < c->all.n ? (uint64_t)c->all.at[result + 1].born : UINT64_MAX);
}

static void find_joins(struct joins *j)
{
    const struct course *c = j->c;
    for (size_t i = 0; i < c->all.n; i++)
        j->result_of[i] = j->input_of[i] = NONE;
    for (size_t i = 0; i < c->all.n; i++) {
        const enum in_place_function function = (enum in_place_function)j->function[c->all.at[i].stack];
        const uint32_t input = is_forward(c, i) && function != FUNCTION_OTHER ? input_of(j, i) : NONE;
        if (input == NONE || (function == FUNCTION_ENDS_INPUT && !ends_at_once(c, input, i)))
            continue;
        j->result_of[input] = (uint32_t)i;
        j->input_of[i] = input;
        j->n++;
    }
}

/* The input's memory lives on as the result. */
static void hand_over(struct changed_trace *t, size_t input, size_t result)
{
    if (t->name[input] == 0)
        return;
    t->name[result] = t->name[input];
    t->name[input] = 0;
    t->live.by_category[t->category[input]] -= t->bytes[input];
    t->live.by_category[t->category[result]] += t->bytes[input];
}

static enum err join_visit(void *arg, struct changed_trace *t, const struct event *ev, bool *is_left_out,
                           struct err_detail *err)
{
    const struct joins *j = arg;
    (void)err;
    if (ev == NULL)
        return ERR_OK;
    if (ev->kind == EVENT_ALLOC) {
        *is_left_out = j->input_of[t->next] != NONE;
    } else if (ev->kind == EVENT_FREE || ev->kind == EVENT_FREE_REQUESTED) {
        const size_t input = t->request_of[ev->slot];
        const uint32_t result = j->result_of[input];
        if (result != NONE && j->c->all.at[result].died > t->number && (uint64_t)j->c->all.at[result].born < t->number)
            hand_over(t, input, result);
    }
    return ERR_OK;
}

static enum err read_functions(struct joins *j, struct err_detail *err)
{
    const size_t n_stacks = trace_info(j->c->trace)->n_stacks;
    const char *const *frames;
    j->function = calloc(n_stacks + 1, 1);
    j->result_of = calloc(j->c->all.n + 1, sizeof *j->result_of);
    j->input_of = calloc(j->c->all.n + 1, sizeof *j->input_of);
    if (j->function == NULL || j->result_of == NULL || j->input_of == NULL)
        return err_no_memory(err);
    for (uint32_t i = 1; i <= n_stacks; i++) {
        const size_t n = trace_stack(j->c->trace, i, &frames);
        j->function[i] = (uint8_t)function_of(frames, n);
    }
    return ERR_OK;
}

enum err in_place_apply(const struct course *c, const struct technique *how, const char *path,
                        struct trace_reader **out, struct technique_result *result, struct err_detail *err)
{
    (void)how;
    struct changed_trace t;
    struct joins j = { .c = c };
    enum err e = changed_trace_open(&t, c, err);
    if (e == ERR_OK)
        e = read_functions(&j, err);
    if (e == ERR_OK) {
        find_joins(&j);
        e = changed_trace_write(&t, path, join_visit, &j, out, err);
    }
    *result = (struct technique_result){ .peak = t.peak, .n_joined = j.n,
                                         .way = j.n > 0 ? TECHNIQUE_EDITED : TECHNIQUE_UNCHANGED };
    changed_trace_close(&t);
    free(j.function);
    free(j.result_of);
    free(j.input_of);
    return e;
}
