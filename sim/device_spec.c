/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * A device as a person types it, and the cards that have names.
 */
#include "base/nearest.h"
#include "base/units.h"
#include "sim/device.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* Total memory as the driver reports it (cudaDeviceProp.totalGlobalMem), in hundredths of a GiB: the number that
 * PyTorch's "has a total capacity of" prints on that card. Drivers differ by a few MiB. The T4 and the A100 40 GB are
 * as NVIDIA's deviceQuery sample prints them. */
#define MODEL_BYTES(hundredths) ((hundredths) * GIB / 100 / DEVICE_PAGE_BYTES * DEVICE_PAGE_BYTES)

static const struct device_model device_models[] = {
    {"rtx3070-8g", "NVIDIA GeForce RTX 3070", MODEL_BYTES(779)},
    {"rtx3080-10g", "NVIDIA GeForce RTX 3080", MODEL_BYTES(978)},
    {"rtx2080ti-11g", "NVIDIA GeForce RTX 2080 Ti", MODEL_BYTES(1076)},
    {"rtx3060-12g", "NVIDIA GeForce RTX 3060", MODEL_BYTES(1176)},
    {"t4-16g", "Tesla T4", UINT64_C(15843721216)},
    {"v100-16g", "Tesla V100-SXM2-16GB", MODEL_BYTES(1578)},
    {"l4-24g", "NVIDIA L4", MODEL_BYTES(2203)},
    {"a10g-24g", "NVIDIA A10G", MODEL_BYTES(2219)},
    {"a30-24g", "NVIDIA A30", MODEL_BYTES(2353)},
    {"rtx4090-24g", "NVIDIA GeForce RTX 4090", MODEL_BYTES(2364)},
    {"rtx3090-24g", "NVIDIA GeForce RTX 3090", MODEL_BYTES(2369)},
    {"rtx5090-32g", "NVIDIA GeForce RTX 5090", MODEL_BYTES(3136)},
    {"v100-32g", "Tesla V100-SXM2-32GB", MODEL_BYTES(3174)},
    {"a100-40g", "NVIDIA A100-SXM4-40GB", UINT64_C(42298834944)},
    {"l40s-48g", "NVIDIA L40S", MODEL_BYTES(4440)},
    {"a6000-48g", "NVIDIA RTX A6000", MODEL_BYTES(4753)},
    {"h100-80g", "NVIDIA H100 80GB HBM3", MODEL_BYTES(7910)},
    {"a100-80g", "NVIDIA A100-SXM4-80GB", MODEL_BYTES(7914)},
    {"h200-141g", "NVIDIA H200", MODEL_BYTES(13972)},
    {"b200-192g", "NVIDIA B200", MODEL_BYTES(17835)},
};

enum { N_DEVICE_MODELS = sizeof device_models / sizeof device_models[0] };

const struct device_model *device_model_at(size_t i)
{
    return i < N_DEVICE_MODELS ? &device_models[i] : NULL;
}

const struct device_model *device_model_for(uint64_t bytes)
{
    for (size_t i = 0; i < N_DEVICE_MODELS; i++)
        if (device_models[i].total_bytes >= bytes)
            return &device_models[i];
    return NULL;
}

/* The call costs are assumptions, of the order that `cudaMalloc` and the virtual memory calls take on a server card. A
 * run reports them as assumptions. */
struct device_config device_defaults(void)
{
    return (struct device_config){
        .total_bytes = DEVICE_UNLIMITED,
        .alloc_ns = 200000, .free_ns = 250000,
        .map_ns = 40000,    .unmap_ns = 60000,
        .wait_ns = 2000,    .sync_ns = 10000,
        .packing = true,
        .addresses = ADDRESSES_RISING,
    };
}

static bool text_is(const char *text, size_t n, const char *word)
{
    return strlen(word) == n && memcmp(text, word, n) == 0;
}

static bool device_parse_number(const char *text, size_t n, uint64_t *out)
{
    uint64_t value = 0;
    if (n == 0 || n > 18)
        return false;
    for (size_t i = 0; i < n; i++) {
        if (text[i] < '0' || text[i] > '9')
            return false;
        value = value * 10 + (uint64_t)(text[i] - '0');
    }
    *out = value;
    return true;
}

static bool device_parse_capacity(const char *text, size_t n, uint64_t *out)
{
    if (text_is(text, n, "unlimited")) {
        *out = DEVICE_UNLIMITED;
        return true;
    }
    for (size_t i = 0; i < N_DEVICE_MODELS; i++)
        if (text_is(text, n, device_models[i].name)) {
            *out = device_models[i].total_bytes;
            return true;
        }
    return units_parse_bytes(text, n, out) && *out >= DEVICE_PAGE_BYTES && *out < INT64_MAX;
}

/* The card that was probably meant: "h100" and "H100-80" begin like h100-80g, "h100-80" is a slip. NULL: none is
 * near. */
static const char *device_nearest_model(const char *text, size_t n)
{
    enum { SLIPS_MAX = 2 };
    struct nearest nearest = {.typed = text, .n_typed = n};
    for (size_t i = 0; i < N_DEVICE_MODELS; i++) {
        const char *name = device_models[i].name;
        if (n >= 2 && strncasecmp(name, text, n) == 0)
            return name;
        nearest_offer(&nearest, name, strlen(name));
    }
    return nearest.distance <= SLIPS_MAX ? nearest.name : NULL;
}

static bool device_parse_word(const char *text, size_t n, const char *const *words, size_t n_words, size_t *out)
{
    for (size_t i = 0; i < n_words; i++)
        if (text_is(text, n, words[i])) {
            *out = i;
            return true;
        }
    return false;
}

/* One `name=value` that was typed. */
struct device_item {
    const char *name, *value;
    size_t      n_name, n_value;
};

/* Takes an option that both kinds of device have. *is_known: it is one of them; *hint: what was expected. */
static bool device_parse_common(const struct device_item *it, struct device_config *cfg, bool *is_known,
                                const char **hint)
{
    static const char *const switches[] = {"off", "on"};
    const struct { const char *name; uint64_t *number; } numbers[] = {
        {"alloc_ns", &cfg->alloc_ns}, {"free_ns", &cfg->free_ns},
        {"map_ns", &cfg->map_ns},     {"unmap_ns", &cfg->unmap_ns},
        {"wait_ns", &cfg->wait_ns},   {"sync_ns", &cfg->sync_ns},
    };
    size_t word = 0;
    *is_known = true;
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++)
        if (text_is(it->name, it->n_name, numbers[i].name)) {
            *hint = "nanoseconds, a whole number";
            return device_parse_number(it->value, it->n_value, numbers[i].number);
        }
    if (text_is(it->name, it->n_name, "packing")) {
        *hint = "on or off";
        const bool is_ok = device_parse_word(it->value, it->n_value, switches, 2, &word);
        cfg->packing = is_ok ? word == 1 : cfg->packing;
        return is_ok;
    }
    *is_known = false;
    return false;
}

static bool device_parse_sim(const struct device_item *it, struct device_config *cfg, const char **hint)
{
    static const char *const modes[] = {"rising", "first-fit", "descending"};
    const struct { const char *name; uint64_t *bytes; } sizes[] = {
        {"context", &cfg->context_bytes}, {"others", &cfg->others_bytes},
    };
    size_t word = 0;
    for (size_t i = 0; i < 2; i++)
        if (text_is(it->name, it->n_name, sizes[i].name)) {
            *hint = "a size such as 450MiB";
            return units_parse_bytes(it->value, it->n_value, sizes[i].bytes);
        }
    if (text_is(it->name, it->n_name, "addresses")) {
        *hint = "rising, first-fit or descending";
        const bool is_ok = device_parse_word(it->value, it->n_value, modes, 3, &word);
        cfg->addresses = is_ok ? (enum device_addresses)word : cfg->addresses;
        return is_ok;
    }
    return false;
}

static bool device_parse_cuda(const struct device_item *it, struct device_config *cfg, const char **hint)
{
    if (!text_is(it->name, it->n_name, "limit"))
        return false;
    *hint = "a size such as 8GiB";
    return units_parse_bytes(it->value, it->n_value, &cfg->limit_bytes) && cfg->limit_bytes > 0 &&
           cfg->limit_bytes < INT64_MAX;
}

/* Takes one `name=value`. False for an unknown name or a bad value; *hint then says what was expected. */
static bool device_parse_option(const char *text, size_t n, bool is_cuda, struct device_config *cfg, const char **hint)
{
    const char *eq = memchr(text, '=', n);
    bool is_known;
    *hint = is_cuda ? "an option: limit=, packing=, alloc_ns=, free_ns=, map_ns=, unmap_ns=, wait_ns=, sync_ns="
                    : "an option: context=, others=, packing=, addresses=, alloc_ns=, free_ns=, map_ns=, unmap_ns=, "
                      "wait_ns=, sync_ns=";
    if (eq == NULL)
        return false;
    const size_t n_name = (size_t)(eq - text);
    const struct device_item it = {.name = text, .n_name = n_name, .value = eq + 1, .n_value = n - n_name - 1};
    const bool is_ok = device_parse_common(&it, cfg, &is_known, hint);
    if (is_known)
        return is_ok;
    return is_cuda ? device_parse_cuda(&it, cfg, hint) : device_parse_sim(&it, cfg, hint);
}

/* Takes what comes first after the colon, if it is no option. */
static bool device_parse_first(const char *text, size_t n, bool is_cuda, struct device_config *cfg, const char **hint)
{
    uint64_t ordinal = 0;
    if (!is_cuda) {
        *hint = "a capacity such as 24GiB, a card's name (see --list) or unlimited";
        return device_parse_capacity(text, n, &cfg->total_bytes);
    }
    *hint = "the number of a card, from 0 on";
    if (!device_parse_number(text, n, &ordinal) || ordinal > 1023)
        return false;
    cfg->ordinal = (unsigned)ordinal;
    return true;
}

static enum err device_refuse_item(const char *text, const char *item, size_t n, bool is_capacity, const char *hint,
                                   struct err_detail *why)
{
    const char *near = is_capacity ? device_nearest_model(item, n) : NULL;
    return err_set(why, ERR_USAGE, (uint64_t)(item - text), "device '%s': at character %zu, '%.*s': expected %s%s%s%s",
                   text, (size_t)(item - text) + 1, (int)n, item, hint, near != NULL ? "; did you mean '" : "",
                   near != NULL ? near : "", near != NULL ? "'?" : "");
}

/* Takes all items after the separator `at`. *has_first: the first of them was no option. */
static enum err device_parse_items(const char *text, const char *at, bool is_cuda, struct device_config *cfg,
                                   bool *has_first, struct err_detail *why)
{
    *has_first = false;
    for (const char *comma; at != NULL; at = comma) {
        const char *item = at + 1;
        comma = strchr(item, ',');
        const size_t n = comma == NULL ? strlen(item) : (size_t)(comma - item);
        const char *hint = "";
        const bool is_first = *at == ':' && at == strchr(text, ':') && memchr(item, '=', n) == NULL;
        if (is_first ? !device_parse_first(item, n, is_cuda, cfg, &hint)
                     : !device_parse_option(item, n, is_cuda, cfg, &hint))
            return device_refuse_item(text, item, n, is_first && !is_cuda, hint, why);
        *has_first = *has_first || is_first;
    }
    return ERR_OK;
}

enum err device_parse(const char *text, struct device_config *out, const struct device_ops **ops, bool *has_total,
                      struct err_detail *why)
{
    struct device_config cfg = device_defaults();
    bool has_first;
    if (text_is(text, strcspn(text, ":,"), "cuda"))
        return err_set(why, ERR_UNSUPPORTED, 0, "device '%s': a real card can replay one trace; here the simulated "
                       "device 'sim' is needed", text);
    if (device_parse_capacity(text, strcspn(text, ",:"), &cfg.total_bytes)) {
        static const char sim[] = "sim:";
        char whole[256];
        if ((size_t)snprintf(whole, sizeof whole, "%s%s", sim, text) >= sizeof whole)
            return err_set(why, ERR_USAGE, 0, "device '%.60s...': too long", text);
        const enum err e = device_parse(whole, out, ops, has_total, why);
        if (e != ERR_OK && why != NULL && why->offset >= strlen(sim))
            why->offset -= strlen(sim);          /* a place in what was typed */
        return e;
    }
    if (!text_is(text, strcspn(text, ":"), "sim")) {
        const size_t n = strcspn(text, ":,");
        const char *near = device_nearest_model(text, n);
        return err_set(why, ERR_USAGE, 0, near != NULL ? "device '%.*s': no card of that name; did you mean '%s'?"
                                                       : "device '%.*s': expected 'sim', the simulated card, or 'cuda', "
                                                         "a real one, or a card's size or name (see --list)%s",
                       (int)n, text, near != NULL ? near : "");
    }
    const enum err e = device_parse_items(text, strchr(text, ':'), false, &cfg, &has_first, why);
    if (e != ERR_OK)
        return e;
    if (device_card_bytes(&(struct device){.cfg = cfg}, 0) > cfg.total_bytes)
        return err_set(why, ERR_USAGE, 0, "device '%s': context and others take more than the card has", text);
    *out = cfg;
    *ops = &device_sim;
    *has_total = has_first;
    return ERR_OK;
}

enum err device_parse_any(const char *text, struct device_config *out, bool *is_real, bool *has_total,
                          struct err_detail *why)
{
    const struct device_ops *ops;
    const size_t n_name = strcspn(text, ":,");
    struct device_config cfg = device_defaults();
    bool has_ordinal;
    *is_real = text_is(text, n_name, "cuda");
    if (!*is_real)
        return device_parse(text, out, &ops, has_total, why);
    const char *items = text[n_name] == '\0' ? NULL : text + n_name;
    const enum err e = device_parse_items(text, items, true, &cfg, &has_ordinal, why);
    if (e != ERR_OK)
        return e;
    *out = cfg;
    *has_total = true;
    return ERR_OK;
}
