/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * A device as a person types it.
 */
#include "base/nearest.h"
#include "base/units.h"
#include "sim/device.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

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
        .addresses = ADDRESSES_LINUX,
    };
}

struct device_model device_found(const struct device_config *cfg)
{
    enum { CAPABILITY_USUAL = 90 };
    const unsigned capability = cfg->capability != 0 ? cfg->capability : CAPABILITY_USUAL;
    const struct device_model *base = cfg->model;
    for (size_t i = 0; base == NULL; i++)
        if (strcmp(card_at(i)->name, compute_class_of(capability)->typical) == 0)
            base = card_at(i);
    struct device_model found = *base;
    found.total_bytes = cfg->total_bytes;
    found.capability = cfg->capability != 0 ? cfg->capability : base->capability;
    found.multiprocessors = cfg->multiprocessors != 0 ? cfg->multiprocessors : base->multiprocessors;
    if (cfg->model == NULL) {
        found.title = "NVIDIA simulated GPU";
        found.smi_bytes = cfg->total_bytes;
    }
    return found;
}

static bool text_is(const char *text, size_t n, const char *word)
{
    return strlen(word) == n && memcmp(text, word, n) == 0;
}

/* Whether a text may name a card, as "4090" does: "4" and "-4GiB" are sizes gone wrong, though a card has 4 GB. */
static bool may_name_card(const char *text, size_t n)
{
    enum { NICKNAME_DIGITS = 4 };
    uint64_t bytes;
    if (n == 0 || !isalnum((unsigned char)text[0]))
        return false;
    return !units_parse_bytes(text, n, &bytes) ||
           (n == NICKNAME_DIGITS && units_parse_number(text, n, &bytes));
}

/* A size, "unlimited", or a card. A text that could mean several cards is none. */
static bool device_parse_capacity(const char *text, size_t n, struct device_config *cfg)
{
    const struct device_model *model;
    uint64_t bytes = DEVICE_UNLIMITED;
    const bool is_size = text_is(text, n, "unlimited") ||
                         (units_parse_bytes(text, n, &bytes) && bytes >= DEVICE_PAGE_BYTES && bytes < INT64_MAX);
    if (!is_size && (!may_name_card(text, n) || cards_find(text, n, &model, 1) != 1))
        return false;
    cfg->model = is_size ? NULL : model;
    cfg->total_bytes = is_size ? bytes : model->total_bytes;
    return true;
}

enum { HINT_TEXT = 320 };

/* The nearest of all cards' names, whole, without their memory ("rtx4090") and without letters before ("4090"). Returns
 * its length, 0 if none is near. */
static size_t nearest_card(const char *text, size_t n, const char **name)
{
    enum { SLIPS_MAX = 2 };
    size_t length = 0;
    struct nearest nearest = {.typed = text, .n_typed = n, .distance = SIZE_MAX};
    for (size_t i = 0; may_name_card(text, n) && card_at(i) != NULL; i++) {
        const char *card = card_at(i)->name;
        const size_t n_short = strcspn(card, "-"), n_letters = strcspn(card, "0123456789");
        const struct { const char *at; size_t n; } forms[] = {
            {card, strlen(card)}, {card, n_short}, {card + n_letters, n_short > n_letters ? n_short - n_letters : 0},
        };
        for (size_t k = 0; k < sizeof forms / sizeof forms[0]; k++) {
            const size_t before = nearest.distance;
            nearest_offer(&nearest, forms[k].at, forms[k].n);
            length = nearest.distance < before ? forms[k].n : length;
        }
    }
    *name = nearest.name;
    return nearest.name != NULL && nearest.distance <= SLIPS_MAX && 2 * nearest.distance <= n ? length : 0;
}

/* What to type instead of a text that means no card, or several: a sentence's end, or "". */
static void device_suggest_card(const char *text, size_t n, char *out)
{
    enum { SHOWN = 6, GIB_DIGITS = 4 };
    const struct device_model *found[SHOWN];
    uint64_t number;
    out[0] = '\0';
    const size_t n_found = may_name_card(text, n) ? cards_find(text, n, found, SHOWN) : 0;
    if (n_found == 0 && n <= GIB_DIGITS && units_parse_number(text, n, &number) && number > 0) {
        snprintf(out, HINT_TEXT, "; a card of that size is '%.*sGiB'", (int)n, text);
        return;
    }
    const char *near;
    const size_t n_near = n_found == 0 ? nearest_card(text, n, &near) : 0;
    if (n_near > 0)
        snprintf(out, HINT_TEXT, "; did you mean '%.*s'?", (int)n_near, near);
    for (size_t i = 0, at = 0; i < n_found && i < SHOWN; i++)
        at += (size_t)snprintf(out + at, HINT_TEXT - at, "%s%s", i == 0 ? "; it could be " : ", ", found[i]->name);
    if (n_found > SHOWN)
        snprintf(out + strlen(out), HINT_TEXT - strlen(out), ", ... (%zu)", n_found);
}

/* "8.6". */
static bool device_parse_capability(const char *text, size_t n, unsigned *out)
{
    const char *dot = memchr(text, '.', n);
    uint64_t major, minor;
    if (dot == NULL || !units_parse_number(text, (size_t)(dot - text), &major) ||
        !units_parse_number(dot + 1, n - (size_t)(dot - text) - 1, &minor) || major > 99 || minor > 9)
        return false;
    *out = (unsigned)(10 * major + minor);
    return compute_class_of(*out) != NULL;
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
    enum { NS_DIGITS = 18 };                         /* thirty years; sums of them fit 64 bits */
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
            return it->n_value <= NS_DIGITS && units_parse_number(it->value, it->n_value, numbers[i].number);
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

static const char *const address_orders[] = {
    [ADDRESSES_RISING] = "rising", [ADDRESSES_FIRST_FIT] = "first-fit", [ADDRESSES_DESCENDING] = "descending",
    [ADDRESSES_LIST] = "list",     [ADDRESSES_LINUX] = "linux",
};

const char *device_addresses_name(enum device_addresses addresses)
{
    return address_orders[addresses];
}

/* "likely", "most", "none" or a size. */
static bool device_parse_workspaces(const struct device_item *it, struct device_config *cfg, const char **hint)
{
    static const char *const words[] = {[WORKSPACES_LIKELY] = "likely", [WORKSPACES_MOST] = "most",
                                        [WORKSPACES_FIXED] = "none"};
    size_t word = WORKSPACES_FIXED;
    uint64_t bytes = 0;
    *hint = "likely, most, none or a size such as 128MiB";
    if (!device_parse_word(it->value, it->n_value, words, 3, &word) &&
        (!units_parse_bytes(it->value, it->n_value, &bytes) || bytes >= INT64_MAX))
        return false;
    cfg->workspaces = (enum device_workspaces)word;
    cfg->workspace_bytes = bytes;
    return true;
}

/* Takes an option of what the card says of itself. */
static bool device_parse_card(const struct device_item *it, struct device_config *cfg, const char **hint)
{
    static const char *const systems[] = {"linux", "windows", "wsl"};
    size_t word = 0;
    uint64_t number = 0;
    if (text_is(it->name, it->n_name, "system")) {
        *hint = "linux, windows or wsl";
        const bool is_ok = device_parse_word(it->value, it->n_value, systems, 3, &word);
        cfg->is_windows = is_ok ? word != 0 : cfg->is_windows;
        return is_ok;
    }
    if (text_is(it->name, it->n_name, "workspaces"))
        return device_parse_workspaces(it, cfg, hint);
    if (text_is(it->name, it->n_name, "capability")) {
        *hint = "a compute capability such as 8.6, from 5.3 to 12.1";
        return device_parse_capability(it->value, it->n_value, &cfg->capability);
    }
    if (text_is(it->name, it->n_name, "multiprocessors")) {
        *hint = "how many multiprocessors the card has, from 1 to 1024";
        const bool is_ok = units_parse_number(it->value, it->n_value, &number) && number >= 1 && number <= 1024;
        cfg->multiprocessors = is_ok ? (unsigned)number : cfg->multiprocessors;
        return is_ok;
    }
    return false;
}

static bool device_parse_sim(const struct device_item *it, struct device_config *cfg, const char **hint)
{
    const struct { const char *name; uint64_t *bytes; } sizes[] = {
        {"context", &cfg->context_bytes}, {"others", &cfg->others_bytes},
    };
    size_t word = 0;
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++)
        if (text_is(it->name, it->n_name, sizes[i].name)) {
            *hint = "a size such as 450MiB";
            return units_parse_bytes(it->value, it->n_value, sizes[i].bytes) && *sizes[i].bytes < INT64_MAX;
        }
    if (!text_is(it->name, it->n_name, "addresses"))
        return device_parse_card(it, cfg, hint);
    *hint = "linux, rising (as under Windows and WSL), descending or first-fit";
    const bool is_ok = device_parse_word(it->value, it->n_value, address_orders, ADDRESSES_LINUX + 1, &word) &&
                       word != ADDRESSES_LIST;
    cfg->addresses = is_ok ? (enum device_addresses)word : cfg->addresses;
    cfg->has_addresses = cfg->has_addresses || is_ok;
    return is_ok;
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
                    : "an option: context=, others=, capability=, multiprocessors=, system=, workspaces=, "
                      "packing=, addresses=, alloc_ns=, free_ns=, map_ns=, unmap_ns=, wait_ns=, sync_ns=";
    if (eq == NULL && !is_cuda && text_is(text, n, "exactly")) {
        *hint = "it after a size, such as 24GiB,exactly: a card's name says how much there is";
        return cfg->model == NULL;
    }
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
        return device_parse_capacity(text, n, cfg);
    }
    *hint = "the number of a card, from 0 on";
    if (!units_parse_number(text, n, &ordinal) || ordinal > 1023)
        return false;
    cfg->ordinal = (unsigned)ordinal;
    return true;
}

static enum err device_refuse_item(const char *text, const char *item, size_t n, bool is_capacity, const char *hint,
                                   struct err_detail *err)
{
    char cards[HINT_TEXT] = "";
    if (is_capacity)
        device_suggest_card(item, n, cards);
    return err_set(err, ERR_USAGE, (uint64_t)(item - text), "device '%s': at character %zu, '%.*s': expected %s%s",
                   text, (size_t)(item - text) + 1, (int)n, item, hint, cards);
}

/* Takes all items after the separator `at`. *has_first: the first of them was no option. */
static enum err device_parse_items(const char *text, const char *at, bool is_cuda, struct device_config *cfg,
                                   bool *has_first, struct err_detail *err)
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
            return device_refuse_item(text, item, n, is_first && !is_cuda, hint, err);
        *has_first = *has_first || is_first;
    }
    return ERR_OK;
}

/* Under Windows and WSL addresses rise, and a card has all that nvidia-smi shows less 512 KiB (logs of ten cards). */
static void device_settle_system(struct device_config *cfg)
{
    if (cfg->is_windows && cfg->model != NULL && cfg->model->smi_bytes > cfg->total_bytes)
        cfg->total_bytes = cfg->model->smi_bytes - 512 * KIB;
    if (cfg->is_windows && !cfg->has_addresses) {
        cfg->addresses = ADDRESSES_RISING;
        cfg->has_addresses = true;
    }
}

enum err device_parse(const char *text, struct device_config *out, const struct device_ops **ops, bool *has_total,
                      struct err_detail *err)
{
    struct device_config cfg = device_defaults();
    bool has_first;
    if (text_is(text, strcspn(text, ":,"), "cuda"))
        return err_set(err, ERR_UNSUPPORTED, 0, "device '%s': a real card can replay one trace; here the simulated "
                       "device 'sim' is needed", text);
    if (device_parse_capacity(text, strcspn(text, ",:"), &cfg)) {
        static const char sim[] = "sim:";
        char whole[256];
        if ((size_t)snprintf(whole, sizeof whole, "%s%s", sim, text) >= sizeof whole)
            return err_set(err, ERR_USAGE, 0, "device '%s': too long", text);
        const enum err e = device_parse(whole, out, ops, has_total, err);
        if (e != ERR_OK && err != NULL && err->offset >= strlen(sim))
            err->offset -= strlen(sim);          /* a place in what was typed */
        return e;
    }
    if (!text_is(text, strcspn(text, ":"), "sim")) {
        const size_t n = strcspn(text, ":,");
        char cards[HINT_TEXT];
        device_suggest_card(text, n, cards);
        const char *const sentence = cards[0] != '\0' ? "device '%.*s': no single card of that name%s"
                                   : "device '%.*s': neither a size such as 24GiB nor a card that is known (replay "
                                     "--list), nor 'cuda', a real one%s";
        return err_set(err, ERR_USAGE, 0, sentence, (int)n, text, cards);
    }
    const enum err e = device_parse_items(text, strchr(text, ':'), false, &cfg, &has_first, err);
    if (e != ERR_OK)
        return e;
    device_settle_system(&cfg);
    if (device_card_bytes(&(struct device){.cfg = cfg}, 0) > cfg.total_bytes)
        return err_set(err, ERR_USAGE, 0, "device '%s': context and others take more than the card has", text);
    *out = cfg;
    *ops = &device_sim;
    *has_total = has_first;
    return ERR_OK;
}

enum err device_parse_any(const char *text, struct device_config *out, bool *is_real, bool *has_total,
                          struct err_detail *err)
{
    const struct device_ops *ops;
    const size_t n_name = strcspn(text, ":,");
    struct device_config cfg = device_defaults();
    bool has_ordinal;
    *is_real = text_is(text, n_name, "cuda");
    if (!*is_real)
        return device_parse(text, out, &ops, has_total, err);
    const char *items = text[n_name] == '\0' ? NULL : text + n_name;
    const enum err e = device_parse_items(text, items, true, &cfg, &has_ordinal, err);
    if (e != ERR_OK)
        return e;
    *out = cfg;
    *has_total = true;
    return ERR_OK;
}
