/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * The table of tree_fit.rs, and what it asks of the device. Layouts of structs stay on this side, so no headers need
 * to be translated for Rust.
 */
#include "policies/policy.h"

#include "base/units.h"

#include <stdlib.h>

static_assert(sizeof(struct block) == 24 && sizeof(struct segment) == 24, "as tree_fit.rs declares them");

struct tree;
typedef void (*tree_fit_show)(void *arg, uint64_t addr, uint64_t bytes, uint64_t requested, const struct segment *of);

struct tree *tree_fit_new(void);
void tree_fit_delete(struct tree *t);
void tree_fit_add(struct tree *t, const struct segment *segment);
bool tree_fit_place(struct tree *t, uint64_t requested, uint64_t bytes, struct block *out);
void tree_fit_release(struct tree *t, const struct block *b);
bool tree_fit_drop_idle(struct tree *t, struct segment *out);
void tree_fit_walk(const struct tree *t, tree_fit_show show, void *arg);

struct tree_fit {
    struct policy base;                     /* first, so the two pointers convert */
    struct tree *tree;
    uint64_t chunk_bytes;
};

static const struct policy_option options[] = {
    {"chunk", OPTION_BYTES, 2 * MIB, TIB, "20MiB", "bytes", "least size to ask the device for"},
    {.name = NULL},
};

static enum err create(const struct policy_config *cfg, struct policy **out, struct err_detail *err)
{
    struct tree_fit *f = calloc(1, sizeof *f);
    if (f == NULL)
        return err_no_memory(err);
    f->tree = tree_fit_new();               /* Rust ends the program if it has no memory */
    f->chunk_bytes = cfg->values[0].number;
    *out = &f->base;
    return ERR_OK;
}

static void destroy(struct policy *p)
{
    struct tree_fit *f = (struct tree_fit *)p;
    tree_fit_delete(f->tree);
    free(f);
}

static void flush(struct policy *p, uint32_t stream)
{
    struct segment idle;
    (void)stream;
    while (tree_fit_drop_idle(((struct tree_fit *)p)->tree, &idle))
        device_segment_free(p->device, &idle);
}

static enum err grow(struct tree_fit *f, uint64_t bytes)
{
    struct segment segment;
    const uint64_t least = bytes > f->chunk_bytes ? bytes : f->chunk_bytes;
    enum err e = device_segment_alloc(f->base.device, align_up(least, 2 * MIB), &segment);
    if (e == ERR_DEVICE_OOM) {
        f->base.count.retries++;
        flush(&f->base, POLICY_ALL_STREAMS);
        e = device_segment_alloc(f->base.device, align_up(bytes, 2 * MIB), &segment);
    }
    if (e == ERR_OK)
        tree_fit_add(f->tree, &segment);
    return e;
}

static enum err alloc(struct policy *p, const struct event *req, struct block *out)
{
    struct tree_fit *f = (struct tree_fit *)p;
    const uint64_t bytes = align_up(req->bytes, 512);
    if (req->bytes > INT64_MAX)
        return ERR_DEVICE_OOM;
    if (tree_fit_place(f->tree, req->bytes, bytes, out)) {
        p->count.hits++;
        return ERR_OK;
    }
    const enum err e = grow(f, bytes);
    if (e != ERR_OK)
        return e;
    p->count.misses++;
    return tree_fit_place(f->tree, req->bytes, bytes, out) ? ERR_OK : ERR_CORRUPT;
}

static void free_block(struct policy *p, const struct event *req, const struct block *b)
{
    (void)req;
    tree_fit_release(((struct tree_fit *)p)->tree, b);
}

struct shown {
    block_visit visit;
    void *arg;
};

static void show(void *arg, uint64_t addr, uint64_t bytes, uint64_t requested, const struct segment *of)
{
    const struct shown *to = arg;
    to->visit(to->arg, &(struct block_view){
        .addr = addr, .bytes = bytes, .requested = requested, .segment_addr = of->addr, .segment = of->id,
        .state = requested == 0 ? BLOCK_FREE : BLOCK_ALLOCATED,
    });
}

static enum err walk(const struct policy *p, block_visit visit, void *arg)
{
    struct shown to = { .visit = visit, .arg = arg };
    tree_fit_walk(((const struct tree_fit *)p)->tree, show, &to);
    return ERR_OK;
}

static const struct policy_ops ops = {
    POLICY_HEAD,
    .name = "tree-fit",
    .summary = "best fit in ordered maps (an example in Rust)",
    .options = options,
    .create = create, .destroy = destroy,
    .alloc = alloc,   .free = free_block,
    .flush = flush,   .walk = walk,
};

const struct policy_ops *policy_plugin(void);

const struct policy_ops *policy_plugin(void)
{
    return &ops;
}
