/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * cuDNN's graphs ("backend", cudnn_graph.h): what a program describes by them, as far as the workspace of a convolution
 * depends on it. Executing one does nothing, as all of a stand-in.
 *
 * A descriptor is memory of its own, as in cuDNN: its handle is the address. All kinds have one form. One that is given
 * to another (an operation to a graph, a graph to the heuristics, their result to a plan) gives it its convolution, so
 * that the plan knows which one it is for.
 */
#include "cudasim/core/entry.h"
#include "cudasim/standins/convolution_sizes.h"

#include <stdlib.h>
#include <string.h>

enum { OK = 0, NO_MEMORY = 2000, BAD_PARAM = 2001, DIMENSIONS_MAX = 8 };

/* cudnnBackendAttributeName_t, cudnnBackendAttributeType_t, cudnnDataType_t. */
enum {
    CONVOLUTION_STRIDES = 103,
    HEURISTIC_RESULTS = 202, CONFIGURATION_ENGINE = 300, PLAN_CONFIGURATION = 401, PLAN_WORKSPACE = 402,
    FORWARD_CONVOLUTION = 702, FORWARD_W, FORWARD_X, FORWARD_Y,
    INPUT_CONVOLUTION = 708, INPUT_W, INPUT_DX, INPUT_DY,
    WEIGHT_CONVOLUTION = 714, WEIGHT_DW, WEIGHT_X, WEIGHT_DY,
    TENSOR_TYPE = 901, TENSOR_SIZES, TENSOR_STRIDES,
    TYPE_OF_DATA = 1, TYPE_INT64 = 3, TYPE_DESCRIPTOR = 15,
    DATA_DOUBLE = 1, DATA_HALF = 2, DATA_BFLOAT16 = 9,
};

struct descriptor {
    int      n;                      /* of a tensor: its dimensions */
    int64_t  sizes[DIMENSIONS_MAX], strides[DIMENSIONS_MAX];         /* strides: of the convolution as well */
    unsigned element_bytes;
    bool     is_convolution;         /* or it was given one */
    bool     is_search;              /* or a configuration that only a search of the fastest one tries */
    struct convolution_shape shape;  /* of that; groups: 0 until the input is known */
    uint64_t weight_channels;        /* of one group */
    unsigned n_runs;                 /* of a pack of operands: so often a plan was executed with it */
};

/* cudnnBackendCreateDescriptor(type, handle *). */
ENTRY(int, cudasim_standin_graph_create, int type, void **out)
{
    (void)type;
    if (out == NULL)
        return BAD_PARAM;
    *out = calloc(1, sizeof(struct descriptor));
    return *out == NULL ? NO_MEMORY : OK;
}

/* ---- what is described ---- */

static uint64_t area_of(const struct descriptor *t)
{
    uint64_t area = 1;
    for (int i = 2; i < t->n; i++)
        area *= (uint64_t)t->sizes[i];
    return area;
}

/* A tensor of one channel lies the same in both layouts. */
static bool is_channels_last(const struct descriptor *t)
{
    return t->n > 2 && t->sizes[1] > 1 && t->strides[1] == 1;
}

static int take_sizes(const struct descriptor *t, uint64_t out[static CONVOLUTION_DIMENSIONS])
{
    const int n = t->n - 2 < CONVOLUTION_DIMENSIONS ? t->n - 2 : CONVOLUTION_DIMENSIONS;
    for (int i = 0; i < n; i++)
        out[i] = (uint64_t)t->sizes[2 + i];
    return n > 0 ? n : 0;
}

static void take_input(struct descriptor *d, const struct descriptor *x)
{
    d->shape.n_dimensions = take_sizes(x, d->shape.input_sizes);
    d->shape.batch = (uint64_t)x->sizes[0];
    d->shape.channels = (uint64_t)x->sizes[1];
    d->shape.input_area = area_of(x);
    d->shape.element_bytes = x->element_bytes;
    d->shape.is_channels_last = d->shape.is_channels_last || is_channels_last(x);
}

static void take_weights(struct descriptor *d, const struct descriptor *w)
{
    d->shape.filters = (uint64_t)w->sizes[0];
    d->weight_channels = (uint64_t)w->sizes[1];
    d->shape.kernel_area = area_of(w);
    (void)take_sizes(w, d->shape.kernel_sizes);
}

static void take_output(struct descriptor *d, const struct descriptor *y)
{
    d->shape.output_area = area_of(y);
    d->shape.is_channels_last = d->shape.is_channels_last || is_channels_last(y);
}

static void take_strides(struct descriptor *d, const struct descriptor *convolution)
{
    for (int i = 0; i < DIMENSIONS_MAX; i++)
        d->shape.has_stride = d->shape.has_stride || convolution->strides[i] > 1;
}

static const struct {
    int name;
    enum convolution_pass pass;
    void (*take)(struct descriptor *, const struct descriptor *);
} operands[] = {
    { FORWARD_X, CONVOLUTION_FORWARD, take_input },
    { FORWARD_W, CONVOLUTION_FORWARD, take_weights },
    { FORWARD_Y, CONVOLUTION_FORWARD, take_output },
    { FORWARD_CONVOLUTION, CONVOLUTION_FORWARD, take_strides },
    { INPUT_DX, CONVOLUTION_INPUT_GRADIENT, take_input },
    { INPUT_W, CONVOLUTION_INPUT_GRADIENT, take_weights },
    { INPUT_DY, CONVOLUTION_INPUT_GRADIENT, take_output },
    { INPUT_CONVOLUTION, CONVOLUTION_INPUT_GRADIENT, take_strides },
    { WEIGHT_X, CONVOLUTION_WEIGHT_GRADIENT, take_input },
    { WEIGHT_DW, CONVOLUTION_WEIGHT_GRADIENT, take_weights },
    { WEIGHT_DY, CONVOLUTION_WEIGHT_GRADIENT, take_output },
    { WEIGHT_CONVOLUTION, CONVOLUTION_WEIGHT_GRADIENT, take_strides },
};

/* One descriptor is given to another: as an operand of a convolution, or as what describes one. */
static void take_descriptor(struct descriptor *d, int name, const struct descriptor *given)
{
    for (size_t i = 0; i < sizeof operands / sizeof operands[0]; i++)
        if (operands[i].name == name) {
            d->is_convolution = true;
            d->shape.pass = operands[i].pass;
            operands[i].take(d, given);
            return;
        }
    if (given->is_convolution) {
        d->is_convolution = true;
        d->is_search = given->is_search;
        d->shape = given->shape;
        d->weight_channels = given->weight_channels;
    }
}

static unsigned bytes_of_type(int type)
{
    if (type == DATA_DOUBLE)
        return 8;
    return type == DATA_HALF || type == DATA_BFLOAT16 ? 2 : 4;
}

static void take_numbers(struct descriptor *d, int name, int64_t n, const int64_t *numbers)
{
    const int n_kept = n < DIMENSIONS_MAX ? (int)n : DIMENSIONS_MAX;
    const bool are_sizes = name == TENSOR_SIZES;
    if (!are_sizes && name != TENSOR_STRIDES && name != CONVOLUTION_STRIDES)
        return;
    memcpy(are_sizes ? d->sizes : d->strides, numbers, (size_t)n_kept * sizeof *numbers);
    if (are_sizes)
        d->n = n_kept;
}

/* cudnnBackendSetAttribute. */
ENTRY(int, cudasim_standin_graph_set, struct descriptor *d, int name, int type, int64_t n, const void *values)
{
    if (d == NULL || n < 0 || (n > 0 && values == NULL))
        return BAD_PARAM;
    if (type == TYPE_INT64)
        take_numbers(d, name, n, values);
    else if (type == TYPE_OF_DATA && name == TENSOR_TYPE && n == 1)
        d->element_bytes = bytes_of_type(*(const int *)values);
    for (int64_t i = 0; type == TYPE_DESCRIPTOR && i < n; i++) {
        const struct descriptor *given = ((struct descriptor *const *)values)[i];
        if (given != NULL)
            take_descriptor(d, name, given);
    }
    return OK;
}

/* ---- what is answered ---- */

/* PyTorch takes no plan whose workspace is larger than what is free. */
static uint64_t search_bytes(const struct convolution_shape *s)
{
    const uint64_t wanted = convolution_search_bytes(s);
    uint64_t free_bytes = 0, total_bytes;
    if (cudasim_memory_info(cudasim_current_device(), &free_bytes, &total_bytes) != CODE_SUCCESS)
        return 0;
    free_bytes -= free_bytes % CUDASIM_GRANULARITY;
    return wanted < free_bytes ? wanted : free_bytes;
}

static int64_t workspace_of(const struct descriptor *plan)
{
    uint64_t bytes = 0;
    struct convolution_shape s = plan->shape;
    if (!plan->is_convolution)
        return 0;
    s.groups = plan->weight_channels > 0 && s.channels > plan->weight_channels ? s.channels / plan->weight_channels : 1;
    if (plan->is_search)
        return (int64_t)search_bytes(&s);
    switch (cudasim_workspaces(WORKSPACES_OF_CUDNN, &bytes)) {
    case WORKSPACES_LIKELY: return (int64_t)convolution_workspace_bytes(&s);
    case WORKSPACES_MOST: return (int64_t)convolution_workspace_most_bytes(&s);
    case WORKSPACES_FIXED: break;
    }
    return (int64_t)bytes;
}

/* Whether the heuristics know a second configuration. It is no faster, so PyTorch runs it in its search alone. */
static bool has_search(const struct descriptor *d)
{
    const char *search = getenv(CUDASIM_ENV_SEARCH);
    return search != NULL && strcmp(search, "most") == 0 && d->is_convolution;
}

/* The configurations of the heuristics, into descriptors that the caller has made. */
static void give_results(const struct descriptor *d, int64_t wanted, struct descriptor **out)
{
    for (int64_t i = 0; i < wanted && i < (has_search(d) ? 2 : 1); i++)
        if (out[i] != NULL) {
            take_descriptor(out[i], HEURISTIC_RESULTS, d);
            out[i]->is_search = i > 0;
        }
}

/* cudnnBackendGetAttribute: the heuristics know one engine configuration, which has an engine without knobs and notes.
 * A plan hands it back. The caller has made the descriptors to be filled in. */
ENTRY(int, cudasim_standin_graph_get, const struct descriptor *d, int name, int type, int64_t wanted, int64_t *n,
      void *values)
{
    const bool is_part = type == TYPE_DESCRIPTOR && (name == HEURISTIC_RESULTS || name == CONFIGURATION_ENGINE ||
                                                     name == PLAN_CONFIGURATION);
    if (d == NULL)
        return BAD_PARAM;
    if (n != NULL)
        *n = is_part && name == HEURISTIC_RESULTS && has_search(d) ? 2 : is_part || type == TYPE_INT64;
    if (wanted < 1 || values == NULL)
        return OK;
    if (type == TYPE_INT64)
        *(int64_t *)values = name == PLAN_WORKSPACE ? workspace_of(d) : 0;
    else if (is_part && name == HEURISTIC_RESULTS)
        give_results(d, wanted, values);
    else if (is_part && *(struct descriptor **)values != NULL)
        take_descriptor(*(struct descriptor **)values, name, d);
    return OK;
}

/* cudnnBackendExecute. PyTorch makes a pack of operands for each execution; only its search for the fastest algorithm
 * runs a plan more than once with one. */
ENTRY(int, cudasim_standin_graph_execute, uint64_t handle, const struct descriptor *plan, struct descriptor *pack)
{
    (void)handle;
    if (plan != NULL && plan->is_convolution && pack != NULL && ++pack->n_runs == 2)
        cudasim_note_algorithm_search();
    cudasim_values_unknown();
    return OK;
}
