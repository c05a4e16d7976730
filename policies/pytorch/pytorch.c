/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * The policy `pytorch`: its options, what a program can tell it apart from requests, and what it shows of itself.
 */
#include "policies/pytorch/pytorch_steps.h"

#include "base/prefetch.h"
#include "policies/pytorch/pytorch_text.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- options ---- */

enum {
    OPT_VERSION, OPT_CONF, OPT_MAX_SPLIT, OPT_NON_SPLIT, OPT_ROUNDUP, OPT_GC, OPT_FRACTION, OPT_EXPANDABLE, OPT_LARGE,
    OPT_THROW, OPT_LIMIT, OPT_POW2, OPT_NO_CACHE, N_OPTIONS
};

#define SOURCE_CONF "PyTorch, docs/source/notes/cuda.md"

static const struct policy_option pytorch_options[] = {
    [OPT_VERSION] = {"version", OPTION_TEXT, 0, 0, torch_release_names[TORCH_NEWEST], "release",
                     "the PyTorch release whose decisions are made, from 2.0 on; npu: Ascend's port"},
    [OPT_CONF] = {"conf", OPTION_PAIRS, 0, 0, NULL, NULL,
                  "any key:value of PYTORCH_CUDA_ALLOC_CONF, as that release reads it (" SOURCE_CONF ")"},
    [OPT_MAX_SPLIT] = {"max-split", OPTION_BYTES, MIB, UINT64_C(17592186044415) * MIB, NULL, "whole MiB",
                       "max_split_size_mb: larger blocks are not split (" SOURCE_CONF ")"},
    [OPT_NON_SPLIT] = {"non-split-rounding", OPTION_BYTES, MIB, UINT64_C(17592186044415) * MIB, NULL, "whole MiB",
                       "max_non_split_rounding_mb: how much larger than its request a block above max-split may be "
                       "(#136174)"},
    [OPT_ROUNDUP] = {"roundup", OPTION_TEXT, 0, 0, NULL, "N or [MiB:N,...,>:N]",
                     "roundup_power2_divisions: steps per power of two that sizes are rounded to (" SOURCE_CONF ")"},
    [OPT_GC] = {"gc", OPTION_RATIO, 0, 0, NULL, NULL,
                "garbage_collection_threshold: segments unused for long are given back above this share of the limit "
                "(" SOURCE_CONF ")"},
    [OPT_FRACTION] = {"fraction", OPTION_RATIO, 0, 0, NULL, NULL,
                      "torch.cuda.set_per_process_memory_fraction, called at the start (torch/cuda/memory.py)"},
    [OPT_EXPANDABLE] = {"expandable", OPTION_SWITCH, 0, 0, NULL, NULL,
                        "expandable_segments: segments grow and shrink by pages (" SOURCE_CONF ")"},
    [OPT_LARGE] = {"large-segment", OPTION_BYTES, MIB, UINT64_C(17592186044415) * MIB, NULL, "whole MiB",
                   "large_segment_size_mb: segment for requests of 1 to 10 MiB (#172056)"},
    [OPT_THROW] = {"throw", OPTION_SWITCH, 0, 0, NULL, NULL,
                   "throw_on_cudamalloc_oom: reject before the device is asked (#179473)"},
    [OPT_LIMIT] = {"limit-device", OPTION_SWITCH, 0, 0, NULL, NULL,
                   "take the device's capacity as the limit, as a fraction of exactly 1.0 did before 2.10"},
    [OPT_POW2] = {"pow2", OPTION_SWITCH, 0, 0, NULL, NULL,
                  "round every request up to a power of two (not a PyTorch setting)"},
    [OPT_NO_CACHE] = {"no-cache", OPTION_SWITCH, 0, 0, NULL, NULL,
                      "PYTORCH_NO_CUDA_MEMORY_CACHING=1: every request goes to the device as it is"},
    [N_OPTIONS] = {0},
};

/* What pytorch_repeats.c compares by its meaning: two texts may mean one setting, and a bound may go unmet. */
#define BIT(option) (UINT64_C(1) << (option))
#define OPTIONS_COMPARED                                                                                              \
    (BIT(OPT_VERSION) | BIT(OPT_CONF) | BIT(OPT_MAX_SPLIT) | BIT(OPT_NON_SPLIT) | BIT(OPT_ROUNDUP) | BIT(OPT_GC) |     \
     BIT(OPT_FRACTION) | BIT(OPT_EXPANDABLE) | BIT(OPT_LARGE) | BIT(OPT_THROW) | BIT(OPT_LIMIT))

/* The options that are settings of PyTorch, in the order in which they take effect. */
static const struct { int option; const char *key; } pytorch_setting_options[] = {
    {OPT_LARGE, "large_segment_size_mb"},
    {OPT_MAX_SPLIT, "max_split_size_mb"},
    {OPT_NON_SPLIT, "max_non_split_rounding_mb"},
    {OPT_ROUNDUP, "roundup_power2_divisions"},
    {OPT_GC, "garbage_collection_threshold"},
    {OPT_EXPANDABLE, "expandable_segments"},
    {OPT_THROW, "throw_on_cudamalloc_oom"},
};

enum { SETTING_OPTIONS = sizeof pytorch_setting_options / sizeof pytorch_setting_options[0] };

/* Settings that were given as options. */
struct given_settings {
    struct conf_setting setting[SETTING_OPTIONS];
    int    option[SETTING_OPTIONS];
    size_t n;
};

static enum err given_setting(int option, const struct option_value *v, struct conf_setting *out,
                              struct err_detail *err)
{
    out->text = v->text;
    switch (pytorch_options[option].kind) {
    case OPTION_BYTES:
        if (v->number % MIB != 0)
            return err_at(err, ERR_USAGE, POLICY_PLACE(option, 0), pytorch_options[option].name,
                          "PyTorch takes whole MiB here");
        out->kind = CONF_INTEGER;
        out->integer = v->number / MIB;
        break;
    case OPTION_RATIO:
        out->kind = CONF_REAL;
        out->real = v->ratio;
        break;
    case OPTION_SWITCH:
        out->text = v->number != 0 ? "True" : "False";
        break;
    default:
        break;
    }
    return ERR_OK;
}

static enum err given_settings_read(const struct option_value *v, struct given_settings *out, struct err_detail *err)
{
    *out = (struct given_settings){0};
    for (size_t i = 0; i < SETTING_OPTIONS; i++) {
        const int option = pytorch_setting_options[i].option;
        if (!v[option].is_set)
            continue;
        out->setting[out->n].key = pytorch_setting_options[i].key;
        const enum err e = given_setting(option, &v[option], &out->setting[out->n], err);
        if (e != ERR_OK)
            return e;
        out->option[out->n++] = option;
    }
    return ERR_OK;
}

/* All settings as the one text that a program would have been given, for the report and for snapshots. */
static char *given_settings_text(const char *text, const struct given_settings *g)
{
    size_t room = strlen(text) + 1;
    for (size_t i = 0; i < g->n; i++)
        room += strlen(g->setting[i].key) + strlen(g->setting[i].text) + 24;
    char *out = malloc(room);
    if (out == NULL)
        return NULL;
    size_t n = (size_t)snprintf(out, room, "%s", text);
    for (size_t i = 0; i < g->n; i++) {
        const struct conf_setting *s = &g->setting[i];
        n += (size_t)snprintf(out + n, room - n, "%s%s:", n > 0 ? "," : "", s->key);
        n += s->kind == CONF_INTEGER ? (size_t)snprintf(out + n, room - n, "%" PRIu64, s->integer)
                                     : (size_t)snprintf(out + n, room - n, "%s", s->text);
    }
    assert(n < room);
    return out;
}

/* ---- life ---- */

static void pytorch_set_fraction(struct pytorch *p, double fraction)
{
    const uint64_t total = p->base.device->cfg.total_bytes;
    const bool is_whole = fraction >= 1.0;
    p->has_device_limit = false;
    if (total == DEVICE_UNLIMITED || (is_whole && !p->rules.has_limit_at_fraction_1))
        p->limit = PYTORCH_UNLIMITED;
    else
        p->limit = (uint64_t)(fraction * (double)total + (p->rules.has_rounded_limit ? 0.5 : 0.0));
}

static void pytorch_destroy(struct policy *base)
{
    struct pytorch *p = (struct pytorch *)base;
    pytorch_pools_close(p);
    pytorch_streams_close(p);
    pytorch_ranges_close(p);
    block_table_close(&p->blocks);
    free(p->stream_places);
    free(p->placed_handles);
    free(p->segments);
    free(p->conf);
    free(p);
}

/* Adds to PyTorch's own words what the person may have meant; a slip of form is answered with that alone. */
static void add_slip(const struct pytorch_rules *rules, const char *text, struct err_detail *err)
{
    char slip[PYTORCH_CONF_SLIP];
    pytorch_conf_slip(rules, text, slip);
    const size_t n = strncmp(slip, "; write ", strlen("; write ")) == 0 ? 0 : strlen(err->text);
    if (slip[0] != '\0')
        snprintf(err->text + n, sizeof err->text - n, "%s", n == 0 ? slip + strlen("; ") : slip);
}

/* Reads the settings text and the options that are settings. */
static enum err pytorch_read_settings(struct pytorch *p, const struct option_value *v, struct err_detail *err)
{
    const char *text = v[OPT_CONF].is_set ? v[OPT_CONF].text : "";
    struct given_settings given;
    size_t source = 0;
    enum err e = given_settings_read(v, &given, err);
    if (e != ERR_OK)
        return e;
    p->conf = given_settings_text(text, &given);
    if (p->conf == NULL)
        return ERR_HOST_NOMEM;
    p->settings = pytorch_settings_default();
    e = pytorch_conf_start(&p->rules, text, given.setting, given.n, &p->settings, &source, err);
    if (e == ERR_USAGE && err != NULL) {
        if (source == 0)
            add_slip(&p->rules, text, err);
        const int option = source == 0 ? OPT_CONF : given.option[source - 1];
        const bool is_text = pytorch_options[option].kind == OPTION_PAIRS ||
                             pytorch_options[option].kind == OPTION_TEXT;
        err->offset = POLICY_PLACE(option, is_text ? err->offset : 0);
    }
    return e;
}

static enum err pytorch_configure(struct pytorch *p, const struct option_value *v, struct err_detail *err)
{
    if (!pytorch_rules_find(v[OPT_VERSION].text, &p->rules))
        return err_set(err, ERR_USAGE, POLICY_PLACE(OPT_VERSION, 0),
                       "version is a PyTorch release from 2.0 on, or npu");
    const enum err e = pytorch_read_settings(p, v, err);
    if (e != ERR_OK)
        return e;
    if (p->settings.is_async)
        return err_set(err, ERR_UNSUPPORTED, 0,
                       "backend:cudaMallocAsync is another allocator, the driver's own: --policy cuda-async");
    p->max_split_at_start =
        p->settings.max_split_size == PYTORCH_UNLIMITED ? -1 : (int64_t)p->settings.max_split_size;
    p->has_given_version = v[OPT_VERSION].is_given;
    p->rounds_to_power_of_two = v[OPT_POW2].number != 0;
    pytorch_plan_rounding(p);
    p->has_no_cache = v[OPT_NO_CACHE].number != 0;
    p->limit = PYTORCH_UNLIMITED;
    if (p->rules.has_fraction_option)
        pytorch_set_fraction(p, p->settings.fraction);
    if (v[OPT_FRACTION].is_set)
        pytorch_set_fraction(p, v[OPT_FRACTION].ratio);
    if (v[OPT_LIMIT].number != 0 && p->limit == PYTORCH_UNLIMITED) {
        p->limit = p->base.device->cfg.total_bytes;
        p->has_device_limit = p->limit != DEVICE_UNLIMITED;
    }
    return ERR_OK;
}

static enum err pytorch_create(const struct policy_config *cfg, struct policy **out, struct err_detail *err)
{
    struct pytorch *p = calloc(1, sizeof *p);
    if (p == NULL)
        return err_no_memory(err);
    p->base.device = cfg->device;
    p->streams = cfg->streams;
    p->n_streams = cfg->n_streams;
    p->pool_names = cfg->pools;
    p->n_pools = cfg->n_pools;
    p->ordinal = cfg->ordinal;
    p->peak_live = cfg->peak_live;
    p->small_max = TORCH_SMALL_MAX;
    p->least_rest = TORCH_MIN_BLOCK;
    p->vacant_uses = p->vacant_waits = p->vacant_range = LINK_NONE;
    p->pools = calloc(cfg->n_pools, sizeof *p->pools);
    p->halves = calloc(cfg->n_pools, 2 * sizeof *p->halves);
    p->fifos = calloc(cfg->n_streams, sizeof *p->fifos);
    p->stream_places = calloc(cfg->n_streams, sizeof *p->stream_places);
    p->placed_handles = calloc(cfg->n_streams, sizeof *p->placed_handles);
    const bool has_all = p->pools != NULL && p->halves != NULL && p->fifos != NULL && p->stream_places != NULL &&
                         p->placed_handles != NULL;
    enum err e = has_all ? ERR_OK : ERR_HOST_NOMEM;
    for (uint32_t i = 0; i < cfg->n_streams && e == ERR_OK; i++)
        p->fifos[i] = (struct pytorch_fifo){.head = LINK_NONE, .tail = LINK_NONE};
    if (e == ERR_OK)
        e = pytorch_place_streams(p);
    if (e == ERR_OK)
        e = pytorch_pool_open(p, 0, 0);
    if (e == ERR_OK)
        e = pytorch_hold_blocks(p);
    if (e == ERR_OK)
        e = pytorch_configure(p, cfg->values, err);
    if (e == ERR_HOST_NOMEM)
        err_set(err, e, 0, "no memory for policy pytorch");
    if (e != ERR_OK) {
        pytorch_destroy(&p->base);
        return e;
    }
    *out = &p->base;
    return ERR_OK;
}

/* ---- events ---- */

/* A free touches its block, then the neighbours. We do not test whether `ev` is a free: the branch would mispredict.
 * For an alloc the prefetch is merely wasted: its slot names a block long gone. */
static void pytorch_expect(const struct policy *base, const struct event *ev, const struct block *b, bool is_next)
{
    const struct pytorch *p = (const struct pytorch *)base;
    (void)ev;
    const struct block_entry *block = pytorch_at(p, b->cookie < p->blocks.n ? b->cookie : BLOCK_NONE);
    prefetch(is_next ? pytorch_at(p, block->prev) : block);
    if (is_next)
        prefetch(pytorch_at(p, block->next));
}

static void pytorch_retire(struct policy *base, const struct event *req, const struct block *b)
{
    struct pytorch *p = (struct pytorch *)base;
    if (p->has_no_cache)
        return;
    pytorch_request_late_free(p, b->cookie);
    pytorch_retire_block(p, b->cookie, req->slot);
}

/* The only pool that a flush gives back and a snapshot shows; 0: all of them. Two releases are so narrow inside a pool
 * region. */
static uint8_t only_pool(const struct pytorch *p)
{
    for (uint32_t i = p->n_diversions; i-- > 0 && p->rules.is_narrow_in_region;)
        if (!p->diversions[i].is_capture)
            return p->diversions[i].pool;
    return 0;
}

static void pytorch_flush(struct policy *base, uint32_t stream)
{
    (void)stream;
    struct pytorch *p = (struct pytorch *)base;
    if (!p->has_no_cache)
        pytorch_give_back_all(p, only_pool(p), pytorch_is_capturing(p));
}

/* ---- controls ---- */

static enum err control_settings(struct pytorch *p, const char *text, struct err_detail *err)
{
    char *copy = strdup(text);
    if (copy == NULL)
        return err_no_memory(err);
    free(p->conf);
    p->conf = copy;                  /* counts as given even if it is refused */
    p->has_new_bounds = true;
    const enum err e = pytorch_conf_apply(&p->rules, CONF_AT_RUN_TIME, text, &p->settings, err);
    pytorch_plan_rounding(p);
    return e;
}

static enum err control_fraction(struct pytorch *p, double fraction, struct err_detail *err)
{
    if (!(fraction >= 0 && fraction <= 1))
        return err_set(err, ERR_USAGE, 0, "ValueError: Invalid fraction value: %g. Allowed range: 0~1", fraction);
    pytorch_set_fraction(p, fraction);
    p->has_new_bounds = true;
    return ERR_OK;
}

static void control_reset_peak(struct pytorch *p)
{
    pytorch_stats_reset_peak(&p->stats);
    for (uint32_t i = 1; i < p->n_pools; i++)
        pytorch_stat_reset_peak(&p->pools[i].reserved);
}

static void control_reset_accumulated(struct pytorch *p)
{
    pytorch_stats_reset_accumulated(&p->stats);
    for (uint32_t i = 1; i < p->n_pools; i++)
        pytorch_stat_reset_accumulated(&p->pools[i].reserved);
}

/* Whether a snapshot taken now shows a block. */
static bool snapshot_shows(const struct pytorch *p, const struct block_entry *b)
{
    const uint8_t only = only_pool(p);
    return (b->flags & BLOCK_IS_USED) != 0 && (only == 0 || only == b->pool);
}

static void control_snapshot(struct pytorch *p)
{
    uint64_t active = 0;
    if (p->base.observer->record == NULL)
        return;
    for (uint32_t b = 0; b < p->blocks.n; b++)
        if (snapshot_shows(p, pytorch_at(p, b)) && !block_is_free(pytorch_at(p, b)))
            active += pytorch_at(p, b)->size;
    pytorch_record(p, RECORD_SNAPSHOT, 0, 0, 0, active);
}

static enum err pytorch_control(struct policy *base, const struct control *c, const struct block *b,
                                struct err_detail *err)
{
    struct pytorch *p = (struct pytorch *)base;
    switch (c->kind) {
    case CONTROL_SETTINGS:
        return control_settings(p, c->text, err);
    case CONTROL_FRACTION:
        return control_fraction(p, c->number, err);
    case CONTROL_RESET_PEAK:
        control_reset_peak(p);
        return ERR_OK;
    case CONTROL_RESET_ACCUMULATED:
        control_reset_accumulated(p);
        return ERR_OK;
    case CONTROL_USE:
        return p->has_no_cache ? ERR_OK : pytorch_use(p, b->cookie, c->stream);
    case CONTROL_SNAPSHOT:
        control_snapshot(p);
        return ERR_OK;
    case CONTROL_THREAD: case CONTROL_WAIT:
        return ERR_UNSUPPORTED;                    /* PyTorch's allocator looks at neither */
    default:
        return pytorch_pool_control(p, c, err);
    }
}

/* ---- views ---- */

/* A block for qsort, which takes no context: so its address is here, too. */
struct placed {
    uint64_t addr;
    uint32_t block;
};

static int placed_compare(const void *a, const void *b)
{
    const struct placed *x = a, *y = b;
    return x->addr < y->addr ? -1 : x->addr > y->addr;
}

static enum block_state view_state(const struct block_entry *b)
{
    if (b->flags & BLOCK_IS_UNMAPPED)
        return BLOCK_UNMAPPED;
    if (b->flags & BLOCK_IS_ALLOCATED)
        return BLOCK_ALLOCATED;
    return b->flags & BLOCK_IS_BUSY ? BLOCK_PENDING : BLOCK_FREE;
}

/* Visits the blocks that a snapshot taken now would show. */
static enum err pytorch_walk(const struct policy *base, block_visit visit, void *arg)
{
    const struct pytorch *p = (const struct pytorch *)base;
    struct placed *order = malloc((p->blocks.n + 1) * sizeof *order);
    if (order == NULL)
        return ERR_HOST_NOMEM;
    size_t n = 0;
    for (uint32_t b = 0; b < p->blocks.n; b++)
        if (snapshot_shows(p, pytorch_at(p, b)))
            order[n++] = (struct placed){.addr = pytorch_at(p, b)->addr, .block = b};
    qsort(order, n, sizeof *order, placed_compare);
    for (size_t i = 0; i < n; i++) {
        const struct block_entry *b = pytorch_at(p, order[i].block);
        visit(arg, &(struct block_view){
                       .addr = b->addr, .bytes = b->size, .requested = b->requested,
                       .segment_addr = base->device->segments[b->segment].addr, .segment = b->segment,
                       .stream = b->stream, .pool = b->pool, .state = (uint8_t)view_state(b),
                       .is_small = (b->flags & BLOCK_IS_SMALL) != 0,
                       .page_bytes = b->flags & BLOCK_IS_RANGE ? pytorch_range_of(p, b)->page_bytes : 0,
                   });
    }
    free(order);
    return ERR_OK;
}

static uint64_t pytorch_largest_free(const struct policy *base)
{
    const struct pytorch *p = (const struct pytorch *)base;
    uint64_t largest = 0;
    for (uint32_t i = 0; i < 2 * p->n_pools; i++) {
        const uint64_t here = free_set_largest(&p->halves[i].free);
        largest = here > largest ? here : largest;
    }
    return largest;
}

/* A private pool's key in memory_stats(), for sorting by bytes. */
struct pool_key {
    char     key[64];
    uint32_t pool;
};

static int pool_key_compare(const void *a, const void *b)
{
    return strcmp(((const struct pool_key *)a)->key, ((const struct pool_key *)b)->key);
}

static void stats_of_pools(const struct pytorch *p, stat_visit visit, void *arg)
{
    struct pool_key keys[UINT8_MAX + 1];         /* enough: a pool's number is a byte */
    size_t n = 0;
    for (uint32_t i = 1; i < p->n_pools; i++) {
        if (!p->pools[i].ever_held)
            continue;
        keys[n].pool = i;
        snprintf(keys[n++].key, sizeof keys->key, "%" PRIu64 "_%" PRIu64 ".", p->pool_names[i].id[0],
                 p->pool_names[i].id[1]);
    }
    qsort(keys, n, sizeof *keys, pool_key_compare);
    for (size_t i = 0; i < n; i++) {
        char name[128];
        snprintf(name, sizeof name, "reserved_bytes_by_private_pools.%.*s", (int)strlen(keys[i].key) - 1, keys[i].key);
        pytorch_stat_walk(&p->pools[keys[i].pool].reserved, name, visit, arg);
    }
}

static void pytorch_walk_stats(const struct policy *base, stat_visit visit, void *arg)
{
    const struct pytorch *p = (const struct pytorch *)base;
    const struct pytorch_stats now = pytorch_stats_read(&p->stats), *const s = &now;
    pytorch_stat_walk(&s->active, "active", visit, arg);
    pytorch_stat_walk(&s->active_bytes, "active_bytes", visit, arg);
    pytorch_stat_walk(&s->allocated_bytes, "allocated_bytes", visit, arg);
    pytorch_stat_walk(&s->allocation, "allocation", visit, arg);
    pytorch_stat_walk(&s->inactive_split, "inactive_split", visit, arg);
    pytorch_stat_walk(&s->inactive_split_bytes, "inactive_split_bytes", visit, arg);
    visit(arg, "max_split_size", p->max_split_at_start);
    visit(arg, "num_alloc_retries", s->num_alloc_retries);
    if (p->rules.has_device_counts) {
        visit(arg, "num_device_alloc", s->num_device_alloc);
        visit(arg, "num_device_free", s->num_device_free);
    }
    if (p->rules.has_rejections)
        visit(arg, "num_oom_rejections", s->num_oom_rejections);
    visit(arg, "num_ooms", s->num_ooms);
    if (p->rules.has_device_counts)
        visit(arg, "num_sync_all_streams", s->num_sync_all_streams);
    pytorch_stat_walk_one(&s->oversize_allocations, "oversize_allocations", visit, arg);
    pytorch_stat_walk_one(&s->oversize_segments, "oversize_segments", visit, arg);
    pytorch_stat_walk(&s->requested_bytes, "requested_bytes", visit, arg);
    pytorch_stat_walk(&s->reserved_bytes, "reserved_bytes", visit, arg);
    if (p->rules.has_private_pool_bytes)
        stats_of_pools(p, visit, arg);
    pytorch_stat_walk(&s->segment, "segment", visit, arg);
}

/* ---- the report ---- */

struct conf_visit {
    const char  *conf;               /* the settings text */
    remark_visit visit;
    void        *arg;
};

/* PyTorch takes "max_split_size_mb:-5" without a word: its reader of unsigned numbers wraps around. */
static void remark_minus(const struct conf_visit *v, const struct conf_option *option)
{
    char sentence[200];
    const int n = (int)(option->to - option->from);
    const char *item = v->conf + option->from, *value = memchr(item, ':', (size_t)n);
    if (value == NULL || value[1 + strspn(value + 1, " \t")] != '-')
        return;
    snprintf(sentence, sizeof sentence, "%.*s: PyTorch takes the minus sign without a word, and reads a huge number",
             n < 80 ? n : 80, item);
    v->visit(v->arg, REMARK_WARNING, sentence);
}

static void remark_option(void *arg, const struct conf_option *option)
{
    const struct conf_visit *v = arg;
    char sentence[200];
    remark_minus(v, option);
    if (option->inert == NULL)
        return;
    snprintf(sentence, sizeof sentence, "%s has no effect on placement: %s", option->key, option->inert);
    v->visit(v->arg, REMARK_WARNING, sentence);
}

static void remark_gc(const struct pytorch *p, remark_visit visit, void *arg)
{
    char text[256], bytes[UNITS_TEXT];
    const double threshold = p->settings.garbage_collection_threshold;
    if (p->limit == PYTORCH_UNLIMITED) {
        visit(arg, REMARK_WARNING, "garbage_collection_threshold does nothing without a memory fraction below 1 "
                                   "(set_per_process_memory_fraction, or here fraction=)");
        return;
    }
    if (p->has_device_limit) {
        snprintf(text, sizeof text, "garbage collection takes the device's capacity, %s, as its limit; in PyTorch it "
                 "does nothing until a memory fraction sets one", units_format_bytes(p->limit, bytes));
        visit(arg, REMARK_ASSUMPTION, text);
    }
    if (p->gc_runs == 0)
        snprintf(text, sizeof text, "garbage collection never acted: whenever a segment was needed, at most %g of the "
                 "limit was held, or nothing was free", threshold);
    else
        snprintf(text, sizeof text, "garbage collection acted %" PRIu64 " times and gave %s back", p->gc_runs,
                 units_format_bytes(p->gc_bytes, bytes));
    visit(arg, REMARK_ASSUMPTION, text);
}

/* Whether divisions are given that change no size. */
static bool has_plain_divisions(const struct pytorch *p)
{
    bool is_given = false;
    for (size_t i = 0; i < PYTORCH_ROUNDUP_INTERVALS; i++) {
        if (p->settings.roundup_divisions[i] > 1)
            return false;
        is_given |= p->settings.roundup_divisions[i] == 1;
    }
    return is_given && !p->rules.has_raw_divisions_of_1;
}

static void pytorch_remarks(const struct policy *base, remark_visit visit, void *arg)
{
    const struct pytorch *p = (const struct pytorch *)base;
    char text[160], title[PYTORCH_RULES_TITLE];
    if (p->rounds_to_power_of_two)
        visit(arg, REMARK_ASSUMPTION, "every request is rounded up to a power of two, which no PyTorch setting does; "
                                      "its roundup_power2_divisions:1 means plain 512-byte rounding");
    if (p->settings.garbage_collection_threshold > 0)
        remark_gc(p, visit, arg);
    if (has_plain_divisions(p))
        visit(arg, REMARK_WARNING, "roundup_power2_divisions with 1 everywhere means plain rounding to 512 bytes: "
                                   "it does nothing");
    if (p->settings.expandable_segments && base->device->cfg.total_bytes == DEVICE_UNLIMITED)
        visit(arg, REMARK_ASSUMPTION,
              "on an unlimited device expandable segments reserve addresses as on one of 1 TiB");
    if (p->settings.max_split_size == PYTORCH_UNLIMITED && strstr(p->conf, "max_non_split_rounding_mb") != NULL)
        visit(arg, REMARK_WARNING, "max_non_split_rounding_mb does nothing without max_split_size_mb");
    if (p->settings.throw_on_cudamalloc_oom && base->device->cfg.total_bytes == DEVICE_UNLIMITED)
        visit(arg, REMARK_WARNING, "throw_on_cudamalloc_oom does nothing on an unlimited device");
    if (p->settings.graph_capture_record_stream_reuse)
        visit(arg, REMARK_WARNING, "graph_capture_record_stream_reuse is accepted, its effect inside graph captures is "
                                   "not modelled");
    snprintf(text, sizeof text, "decisions are those of %s%s", pytorch_rules_title(&p->rules, title),
             p->has_given_version ? "" : ", by the layout of the recording or by default (version= chooses another)");
    visit(arg, REMARK_ASSUMPTION, text);
    struct conf_visit v = {.conf = p->conf, .visit = visit, .arg = arg};
    (void)!pytorch_conf_each(&p->rules, p->conf, remark_option, &v);
}

/* Bytes in free blocks of private pools. */
static uint64_t private_free_bytes(const struct pytorch *p)
{
    uint64_t sum = 0;
    for (uint32_t i = 2; i < 2 * p->n_pools; i++) {
        const struct free_set *s = &p->halves[i].free;
        for (uint32_t b = free_set_first(s); b != BLOCK_NONE; b = free_set_next(s, b))
            sum += pytorch_at(p, b)->size;
    }
    return sum;
}

static void refusal_oom(const struct pytorch *p, struct refusal *out)
{
    const struct device *dev = p->base.device;
    struct pytorch_oom oom = {
        .segment_bytes = p->refused_segment,
        .rounded_bytes = p->refused_rounded,
        .process_bytes = device_process_bytes(dev, dev->usage.page_bytes),
        .limit_bytes = p->limit,
        .allocated_bytes = p->stats.allocated_bytes.current[CLASS_ALL],
        .reserved_bytes = p->stats.reserved_bytes.current[CLASS_ALL],
        .private_free_bytes = private_free_bytes(p),
        .reserve_bytes = pytorch_reserve(p),
        .device = p->ordinal,
        .is_expandable = p->settings.expandable_segments,
        .has_reserve = p->settings.reserve_kind != RESERVE_DEFAULT,
    };
    device_memory_info(dev, &oom.free_bytes, &oom.total_bytes);
    pytorch_text_oom(&p->rules, &oom, out);
}

static void pytorch_refusal(const struct policy *base, struct refusal *out)
{
    const struct pytorch *p = (const struct pytorch *)base;
    switch (p->refused) {
    case REFUSED_OOM:
        refusal_oom(p, out);
        break;
    case REFUSED_REJECTED:
        pytorch_text_rejection(p->refused_request, out);
        break;
    case REFUSED_BY_DEVICE:
        pytorch_text_device_error(&p->rules, out);
        break;
    case REFUSED_NOT:
        *out = (struct refusal){.type = ""};
        return;
    }
    out->rounded_bytes = p->refused_rounded;
    out->segment_bytes = p->refused_needs;
}

/* ---- invariants ---- */

static enum err check_block(const struct pytorch *p, uint32_t i, struct err_detail *err)
{
    const struct block_entry *b = pytorch_at(p, i);
    if (b->size == 0)
        return err_set(err, ERR_CORRUPT, i, "block %u is empty", i);
    if (b->next != BLOCK_NONE) {
        const struct block_entry *n = pytorch_at(p, b->next);
        if (n->prev != i || n->addr != b->addr + b->size || n->segment != b->segment)
            return err_set(err, ERR_CORRUPT, i, "blocks %u and %u are not neighbours", i, b->next);
        if (block_is_free(b) && block_is_free(n) && ((b->flags ^ n->flags) & BLOCK_IS_UNMAPPED) == 0)
            return err_set(err, ERR_CORRUPT, i, "free blocks %u and %u were not merged", i, b->next);
    }
    const struct segment_state *s = &p->base.device->segments[b->segment];
    if (b->addr < s->addr || b->addr - s->addr > s->bytes || b->size > s->bytes - (b->addr - s->addr))
        return err_set(err, ERR_CORRUPT, i, "block %u leaves its segment", i);
    if ((b->flags & BLOCK_IS_UNMAPPED) == 0 && block_is_free(b)) {
        const uint32_t found = free_set_at_least(&pytorch_half_of(p, b)->free, b->stream, b->size);
        if (found == BLOCK_NONE || pytorch_at(p, found)->size != b->size)
            return err_set(err, ERR_CORRUPT, i, "free block %u cannot be found", i);
    }
    return ERR_OK;
}

/* Whether the lists of whole free segments hold as many as there are, from the oldest to the newest. */
static enum err check_idle(const struct pytorch *p, uint64_t whole, struct err_detail *err)
{
    uint64_t listed = 0;
    for (uint32_t i = 0; i < 2 * p->n_pools; i++) {
        const struct pytorch_segment *s;
        const struct pytorch_segment none = {0}, *before = &none;
        uint32_t older = BLOCK_NONE;
        for (uint32_t b = p->halves[i].idle.oldest; b != BLOCK_NONE && listed <= whole; b = s->newer) {
            s = &p->segments[pytorch_at(p, b)->segment];
            if (block_is_split(pytorch_at(p, b)) || s->older != older || s->free_since < before->free_since)
                return err_set(err, ERR_CORRUPT, b, "block %u is not the next oldest whole segment", b);
            before = s;
            older = b;
            listed++;
        }
        if (p->halves[i].idle.newest != older)
            return err_set(err, ERR_CORRUPT, older, "block %u is not the newest whole segment", older);
    }
    if (listed != whole)
        return err_set(err, ERR_CORRUPT, 0, "%" PRIu64 " whole segments are free, and %" PRIu64 " listed", whole,
                       listed);
    return ERR_OK;
}

static enum err pytorch_check(const struct policy *base, struct err_detail *err)
{
    const struct pytorch *p = (const struct pytorch *)base;
    uint64_t mapped = 0, active = 0, allocated = 0, whole = 0;
    for (uint32_t i = 0; i < p->blocks.n; i++) {
        const struct block_entry *b = pytorch_at(p, i);
        if (!(b->flags & BLOCK_IS_USED))
            continue;
        const enum err e = check_block(p, i, err);
        if (e != ERR_OK)
            return e;
        mapped += b->flags & BLOCK_IS_UNMAPPED ? 0 : b->size;
        active += block_is_free(b) ? 0 : b->size;
        allocated += b->flags & BLOCK_IS_ALLOCATED ? b->size : 0;
        whole += block_is_free(b) && !block_is_split(b) && !(b->flags & BLOCK_IS_RANGE);
    }
    if (p->has_no_cache)
        return ERR_OK;
    if (mapped != p->held || p->held != base->device->usage.reserved_bytes)
        return err_set(err, ERR_CORRUPT, 0, "blocks hold %" PRIu64 " bytes, the counter says %" PRIu64 ", the device %"
                       PRIu64, mapped, p->held, base->device->usage.reserved_bytes);
    const struct pytorch_stats stats = pytorch_stats_read(&p->stats);
    if (active != stats.active_bytes.current[CLASS_ALL] || allocated != stats.allocated_bytes.current[CLASS_ALL])
        return err_set(err, ERR_CORRUPT, 0, "active or allocated bytes differ from the blocks'");
    return check_idle(p, whole, err);
}

const struct policy_ops policy_pytorch = {
    POLICY_HEAD,
    .name    = "pytorch",
    .summary = "PyTorch's caching allocator, decision by decision (c10/cuda/CUDACachingAllocator.cpp)",
    .options = pytorch_options,
    .create  = pytorch_create,   .destroy = pytorch_destroy,
    .alloc   = pytorch_alloc,    .free    = pytorch_free,
    .retire  = pytorch_retire,   .flush   = pytorch_flush,
    .control = pytorch_control,
    .walk    = pytorch_walk,     .largest_free = pytorch_largest_free,
    .stats   = pytorch_walk_stats,
    .remarks = pytorch_remarks,  .refusal = pytorch_refusal,
    .check   = pytorch_check,    .restore = pytorch_restore,
    .expect  = pytorch_expect,   .repeats = pytorch_repeats, .compared = OPTIONS_COMPARED,
};
