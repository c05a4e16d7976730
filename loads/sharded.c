/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * Gathered parameters come in one buffer and are copied out of it; gradients go through one buffer to their share.
 * Source: PyTorch 2.9, torch/distributed/fsdp/_fully_shard/_fsdp_collectives.py, _fsdp_param_group.py.
 */
#include "loads/sharded.h"

#include <stdlib.h>

struct shard_group {
    uint64_t bytes;                          /* of its parameters, whole */
    uint32_t gathered;                       /* ahead of its use; TAPE_NONE: not yet */
    size_t   n, *parameters;
    uint32_t *whole;                         /* by parameter; TAPE_NONE: only the share is here */
    uint64_t *whole_bytes;
};

static uint64_t share_of(const struct sharded *s, uint64_t bytes)
{
    return (bytes + s->n_ranks - 1) / s->n_ranks;
}

static bool group_grow(struct shard_group *g, size_t parameter, uint64_t bytes)
{
    size_t *parameters = realloc(g->parameters, (g->n + 1) * sizeof *parameters);
    g->parameters = parameters != NULL ? parameters : g->parameters;
    uint32_t *whole = realloc(g->whole, (g->n + 1) * sizeof *whole);
    g->whole = whole != NULL ? whole : g->whole;
    uint64_t *whole_bytes = realloc(g->whole_bytes, (g->n + 1) * sizeof *whole_bytes);
    g->whole_bytes = whole_bytes != NULL ? whole_bytes : g->whole_bytes;
    if (parameters == NULL || whole == NULL || whole_bytes == NULL)
        return false;
    g->parameters[g->n] = parameter;
    g->whole_bytes[g->n] = bytes;
    g->whole[g->n++] = TAPE_NONE;
    g->bytes += bytes;
    return true;
}

/* All parameters of a group get their share before the first whole one goes. */
static void group_shard(struct sharded *s, struct shard_group *g)
{
    struct tape_parameter p;
    for (size_t i = 0; i < g->n && tape_parameter_at(s->tape, g->parameters[i], &p); i++) {
        g->whole[i] = p.storage;
        const uint64_t share = share_of(s, p.bytes);
        tape_replace_parameter(s->tape, g->parameters[i], tape_new(s->tape, share), share);
    }
    for (size_t i = 0; i < g->n; i++) {
        tape_drop(s->tape, g->whole[i]);
        g->whole[i] = TAPE_NONE;
    }
}

void sharded_begin(struct sharded *s, struct tape *t, uint64_t n_ranks, const size_t *group_of_parameter,
                   size_t n_groups)
{
    struct tape_parameter p;
    *s = (struct sharded){.tape = t, .n_ranks = n_ranks, .n = n_groups, .gathered = TAPE_NONE, .reduced = TAPE_NONE};
    bool is_ok = (s->groups = calloc(n_groups, sizeof *s->groups)) != NULL;
    for (size_t i = 0; is_ok && tape_parameter_at(t, i, &p); i++)
        is_ok = group_grow(&s->groups[group_of_parameter[i]], i, p.bytes);
    if (!is_ok) {
        tape_no_memory(t);
        return;
    }
    for (size_t i = 0; i < n_groups; i++) {
        s->groups[i].gathered = TAPE_NONE;
        group_shard(s, &s->groups[i]);
    }
}

void sharded_end(struct sharded *s)
{
    for (size_t i = 0; s->groups != NULL && i < s->n; i++) {
        free(s->groups[i].parameters);
        free(s->groups[i].whole);
        free(s->groups[i].whole_bytes);
    }
    free(s->groups);
}

static void gather(struct sharded *s, struct shard_group *g)
{
    if (g->gathered == TAPE_NONE)
        g->gathered = tape_new(s->tape, share_of(s, g->bytes) * s->n_ranks);
}

void sharded_unshard(struct sharded *s, size_t group)
{
    struct shard_group *g = &s->groups[group];
    gather(s, g);
    for (size_t i = 0; i < g->n; i++)
        g->whole[i] = tape_new(s->tape, g->whole_bytes[i]);
    sharded_forget_gathered(s);
    s->gathered = g->gathered;
    g->gathered = TAPE_NONE;
    if (tape_is_backward(s->tape))
        sharded_forget_gathered(s);
}

void sharded_forget_gathered(struct sharded *s)
{
    tape_drop(s->tape, s->gathered);
    s->gathered = TAPE_NONE;
}

void sharded_reshard(struct sharded *s, size_t group)
{
    struct shard_group *g = &s->groups[group];
    for (size_t i = 0; i < g->n; i++) {
        tape_drop(s->tape, g->whole[i]);
        g->whole[i] = TAPE_NONE;
    }
}

void sharded_reduce(struct sharded *s, size_t group)
{
    const struct shard_group *g = &s->groups[group];
    struct tape *t = s->tape;
    tape_drop(t, s->reduced);
    s->reduced = tape_new(t, share_of(s, g->bytes) * s->n_ranks);
    for (size_t i = 0; i < g->n; i++)
        tape_replace_gradient(t, g->parameters[i], TAPE_NONE);
    const uint32_t share = tape_new(t, share_of(s, g->bytes));
    for (size_t i = 0; i < g->n; i++) {              /* each is a part of it */
        tape_keep(t, share);
        tape_replace_gradient(t, g->parameters[i], share);
    }
    tape_drop(t, share);
    if (group + 1 == s->n) {                         /* the root is the last one of a step */
        tape_drop(t, s->reduced);
        s->reduced = TAPE_NONE;
    }
}

/* ---- on the way back ---- */

/* What the two nodes do is in their sizes: the group, and the one ahead. */
static void pass_on(struct tape *t, struct tape_node *n)
{
    tape_keep(t, n->gradients[0]);
    tape_give(t, n, 0, n->gradients[0], false);
}

static void before_backward(struct tape *t, struct tape_node *n)
{
    struct sharded *s = n->context;
    if (n->sizes[0] != SIZE_MAX)
        sharded_unshard(s, (size_t)n->sizes[0]);
    if (n->sizes[1] != SIZE_MAX)
        gather(s, &s->groups[n->sizes[1]]);
    pass_on(t, n);
}

static void after_backward(struct tape *t, struct tape_node *n)
{
    struct sharded *s = n->context;
    sharded_reshard(s, (size_t)n->sizes[0]);
    sharded_reduce(s, (size_t)n->sizes[0]);
    pass_on(t, n);
}

static struct value hook(struct sharded *s, struct value x, tape_backward backward, size_t group, size_t ahead)
{
    struct tape_node *n = tape_operation(s->tape, backward, &x, 1);
    if (n == NULL)
        return x;
    n->context = s;
    n->sizes[0] = group;
    n->sizes[1] = ahead;
    return tape_output(s->tape, n, 0, x.storage, x.count, x);
}

struct value sharded_before_backward(struct sharded *s, struct value x, size_t group, size_t ahead)
{
    return hook(s, x, before_backward, group, ahead);
}

struct value sharded_after_backward(struct sharded *s, struct value x, size_t group)
{
    return hook(s, x, after_backward, group, SIZE_MAX);
}
