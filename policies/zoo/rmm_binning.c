/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * rmm-binning: RMM's binning_memory_resource of 26.10 (cpp/src/mr/detail/binning_memory_resource_impl.cpp).
 *
 * Each bin is an rmm-fixed, filled at the start. A request goes to the smallest bin that holds it, above the largest
 * one to the upstream. The size of a free says where its block came from.
 */
#include "policies/zoo/rmm_fixed.h"

#include "base/units.h"

#include <stdlib.h>
#include <string.h>

enum { RMM_BINS_MAX = 64 };

struct rmm_binning {
    struct policy   base;                   /* first, so the two pointers convert */
    struct upstream upstream;
    struct rmm_fixed_bin bins[RMM_BINS_MAX];     /* ascending by block size */
    const struct heap   *heaps[RMM_BINS_MAX];
    size_t          n_bins;
};

enum { RMM_BINNING_MIN, RMM_BINNING_MAX, RMM_BINNING_BINS, RMM_BINNING_ORDER, RMM_BINNING_UPSTREAM };

static const struct policy_option rmm_binning_options[] = {
    [RMM_BINNING_MIN] = {"min-exp", OPTION_NUMBER, 0, 46, NULL, NULL,
                         "a bin for each power of two from this exponent on (min_size_exponent); RMM's own replay: 18"},
    [RMM_BINNING_MAX] = {"max-exp", OPTION_NUMBER, 0, 46, NULL, NULL, "up to this one (max_size_exponent); there: 22"},
    [RMM_BINNING_BINS] = {"bins", OPTION_TEXT, 0, 0, NULL, "[64KiB,3MiB]",
                          "bins of these sizes besides (add_bin), in the order in which they are made"},
    [RMM_BINNING_ORDER] = RMM_ORDER_OPTION,
    [RMM_BINNING_UPSTREAM] = UPSTREAM_OPTION,
    {.name = NULL},
};

static void rmm_binning_destroy(struct policy *p)
{
    struct rmm_binning *r = (struct rmm_binning *)p;
    for (size_t i = 0; i < r->n_bins; i++)
        rmm_fixed_bin_close(&r->bins[i]);
    upstream_close(&r->upstream);
    free(r);
}

/* Makes a bin, unless there is one of that size. */
static enum err rmm_binning_add(struct rmm_binning *r, const struct policy_config *cfg, uint64_t bytes,
                                struct err_detail *err)
{
    const uint64_t block_bytes = align_up(bytes, RMM_FIXED_UNIT);
    size_t i = r->n_bins;
    for (size_t k = 0; k < r->n_bins; k++)
        if (r->bins[k].block_bytes == block_bytes)
            return ERR_OK;
    if (r->n_bins == RMM_BINS_MAX)
        return err_set(err, ERR_USAGE, 0, "more than %d bins", RMM_BINS_MAX);
    for (; i > 0 && r->bins[i - 1].block_bytes > block_bytes; i--)
        r->bins[i] = r->bins[i - 1];
    r->n_bins++;
    return rmm_fixed_bin_open(&r->bins[i], cfg, RMM_BINNING_ORDER, &r->upstream, bytes, RMM_FIXED_COUNT, err);
}

static enum err rmm_binning_add_powers(struct rmm_binning *r, const struct policy_config *cfg, struct err_detail *err)
{
    const struct option_value *min = &cfg->values[RMM_BINNING_MIN], *max = &cfg->values[RMM_BINNING_MAX];
    enum err e = ERR_OK;
    if (min->is_set != max->is_set)
        return err_set(err, ERR_USAGE, POLICY_PLACE(min->is_set ? RMM_BINNING_MIN : RMM_BINNING_MAX, 0),
                       "min-exp and max-exp belong together");
    for (uint64_t power = min->number; min->is_set && power <= max->number && e == ERR_OK; power++)
        e = rmm_binning_add(r, cfg, UINT64_C(1) << power, err);
    return e;
}

/* "[64KiB,3MiB]" or one size. */
static enum err rmm_binning_add_listed(struct rmm_binning *r, const struct policy_config *cfg, struct err_detail *err)
{
    const char *text = cfg->values[RMM_BINNING_BINS].text;
    if (!cfg->values[RMM_BINNING_BINS].is_set)
        return ERR_OK;
    for (const char *at = text + strspn(text, "["); *at != '\0' && *at != ']';) {
        const size_t n = strcspn(at, ",]");
        uint64_t bytes;
        if (!units_parse_bytes(at, n, &bytes) || bytes == 0 || bytes > TIB)
            return err_set(err, ERR_USAGE, POLICY_PLACE(RMM_BINNING_BINS, at - text), "a bin is a size up to 1TiB");
        const enum err e = rmm_binning_add(r, cfg, bytes, err);
        if (e != ERR_OK)
            return e;
        at += n;
        at += *at == ',';
    }
    return ERR_OK;
}

static enum err rmm_binning_create(const struct policy_config *cfg, struct policy **out, struct err_detail *err)
{
    struct rmm_binning *r = calloc(1, sizeof *r);
    if (r == NULL)
        return err_no_memory(err);
    enum err e = upstream_open(&r->upstream, cfg, &cfg->values[RMM_BINNING_UPSTREAM], err);
    if (e == ERR_OK)
        e = rmm_binning_add_powers(r, cfg, err);
    if (e == ERR_OK)
        e = rmm_binning_add_listed(r, cfg, err);
    if (e != ERR_OK) {
        rmm_binning_destroy(&r->base);
        return e;
    }
    for (size_t i = 0; i < r->n_bins; i++)
        r->heaps[i] = &r->bins[i].heap;
    *out = &r->base;
    return ERR_OK;
}

/* The smallest bin that holds a request; NULL: none does. */
static struct rmm_fixed_bin *rmm_binning_find(struct rmm_binning *r, uint64_t bytes)
{
    for (size_t i = 0; i < r->n_bins; i++)
        if (bytes <= r->bins[i].block_bytes)
            return &r->bins[i];
    return NULL;
}

static enum err rmm_binning_alloc(struct policy *p, const struct event *req, struct block *out)
{
    struct rmm_binning *r = (struct rmm_binning *)p;
    struct rmm_fixed_bin *bin = rmm_binning_find(r, req->bytes);
    return bin != NULL ? rmm_fixed_bin_alloc(bin, req, &p->count, out)
                       : upstream_alloc(&r->upstream, req->bytes, req->stream, out);
}

static void rmm_binning_free(struct policy *p, const struct event *req, const struct block *b)
{
    struct rmm_binning *r = (struct rmm_binning *)p;
    struct rmm_fixed_bin *bin = rmm_binning_find(r, req->bytes);
    if (bin != NULL)
        rmm_fixed_bin_free(bin, req, b);
    else
        upstream_free(&r->upstream, req->bytes, req->stream, b);
}

static enum err rmm_binning_walk(const struct policy *p, block_visit visit, void *arg)
{
    const struct rmm_binning *r = (const struct rmm_binning *)p;
    return r->n_bins == 0 ? upstream_walk(&r->upstream, visit, arg) : heaps_walk(r->heaps, r->n_bins, visit, arg);
}

static uint64_t rmm_binning_largest_free(const struct policy *p)
{
    const struct rmm_binning *r = (const struct rmm_binning *)p;
    uint64_t largest = 0;
    for (size_t i = 0; i < r->n_bins; i++)
        largest = r->bins[i].n_free > 0 ? r->bins[i].block_bytes : largest;
    return upstream_largest_free(&r->upstream, largest);
}

static void rmm_binning_stats(const struct policy *p, stat_visit visit, void *arg)
{
    upstream_stats(&((const struct rmm_binning *)p)->upstream, NULL, 0, visit, arg);
}

static enum err rmm_binning_check(const struct policy *p, struct err_detail *err)
{
    const struct rmm_binning *r = (const struct rmm_binning *)p;
    enum err e = upstream_check(&r->upstream, err);
    for (size_t i = 0; i < r->n_bins && e == ERR_OK; i++)
        e = heap_check(&r->bins[i].heap, "rmm-binning", err);
    return e;
}

const struct policy_ops policy_rmm_binning = {
    POLICY_HEAD,
    .name = "rmm-binning",
    .summary = "RMM's bins of fixed sizes over an upstream (rmm 26.10, binning_memory_resource)",
    .options = rmm_binning_options,
    .create = rmm_binning_create, .destroy = rmm_binning_destroy,
    .alloc = rmm_binning_alloc,   .free = rmm_binning_free,
    .walk = rmm_binning_walk,     .largest_free = rmm_binning_largest_free,
    .stats = rmm_binning_stats,   .check = rmm_binning_check,
};
