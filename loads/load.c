/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/* The kinds of loads, and what a person typed for one. */
#include "loads/load.h"

#include "base/nearest.h"
#include "base/units.h"
#include "loads/kinds.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct load_kind *const load_kinds[] = {
    &load_rounds, &load_mix, &load_random, &load_like, &load_transformer, &load_cnn, &load_serving, &load_reinforcement,
    &load_diffusion, &load_adversary,
};
enum { LOAD_KINDS = sizeof load_kinds / sizeof load_kinds[0] };

const struct load_kind *load_kind_at(size_t i)
{
    return i < LOAD_KINDS ? load_kinds[i] : NULL;
}

static const struct load_kind *kind_of(const char *name, size_t n)
{
    for (size_t i = 0; i < LOAD_KINDS; i++)
        if (strlen(load_kinds[i]->name) == n && memcmp(load_kinds[i]->name, name, n) == 0)
            return load_kinds[i];
    return NULL;
}

const struct load_kind *load_kind_named(const char *name)
{
    return kind_of(name, strlen(name));
}

static enum err load_unknown(const char *text, size_t n, struct err_detail *err)
{
    struct nearest nearest = {.typed = text, .n_typed = n};
    for (size_t i = 0; i < LOAD_KINDS; i++)
        nearest_offer(&nearest, load_kinds[i]->name, strlen(load_kinds[i]->name));
    return err_set(err, ERR_USAGE, 0, "\"%s\" cannot be generated; the nearest is %s (replay --list shows all)", text,
                   nearest.name);
}

/* ---- options ---- */

static size_t option_count(const struct load_kind *k)
{
    size_t n = 0;
    while (k->options != NULL && k->options[n].name != NULL)
        n++;
    return n;
}

static size_t option_named(const struct load_kind *k, const char *name, size_t n)
{
    size_t i = 0;
    while (i < option_count(k) && (strlen(k->options[i].name) != n || memcmp(k->options[i].name, name, n) != 0))
        i++;
    return i;
}

static enum err option_unknown(const struct load_kind *k, const char *name, size_t n, struct err_detail *err)
{
    struct nearest nearest = {.typed = name, .n_typed = n};
    for (size_t i = 0; i < option_count(k); i++)
        nearest_offer(&nearest, k->options[i].name, strlen(k->options[i].name));
    if (nearest.name == NULL)
        return err_set(err, ERR_USAGE, 0, "%s takes no options", k->name);
    return err_set(err, ERR_USAGE, 0, "%s has no option \"%.*s\"; the nearest is %s (replay --help %s lists them)",
                   k->name, (int)(n < 40 ? n : 40), name, nearest.name, k->name);
}

/* The place of a word in "a|b|c"; the number of words if it is not there. */
static uint64_t word_place(const char *words, const char *text)
{
    uint64_t i = 0;
    for (const char *at = words; *at != '\0'; i++) {
        const size_t n = strcspn(at, "|");
        if (strlen(text) == n && memcmp(at, text, n) == 0)
            return i;
        at += n + (at[n] == '|');
    }
    return UINT64_MAX;
}

static bool number_read(const struct load_option *o, const char *text, uint64_t *out)
{
    const size_t n = strlen(text);
    const bool is_read = units_parse_number(text, n, out) || (o->kind == LOAD_BYTES && units_parse_bytes(text, n, out));
    return is_read && *out >= o->min && *out <= o->max;
}

static enum err option_read(const struct load_kind *k, const struct load_option *o, const char *text,
                            struct load_value *out, struct err_detail *err)
{
    out->text = text;
    if (o->kind == LOAD_BYTES && !number_read(o, text, &out->number))
        return err_at(err, ERR_USAGE, 0, k->name, "%s=%s: it is a size, such as 64KiB, from %" PRIu64 " to %" PRIu64
                      " bytes", o->name, text, o->min, o->max);
    if (o->kind == LOAD_NUMBER && !number_read(o, text, &out->number))
        return err_at(err, ERR_USAGE, 0, k->name, "%s=%s: it is a whole number from %" PRIu64 " to %" PRIu64, o->name,
                      text, o->min, o->max);
    if (o->kind == LOAD_WORD && (out->number = word_place(o->words, text)) == UINT64_MAX)
        return err_at(err, ERR_USAGE, 0, k->name, "%s=%s: it is one of %s", o->name, text, o->words);
    return ERR_OK;
}

/* Reads "name=value,...", which is changed. A first item without a name is the first option's. */
static enum err options_read(const struct load_kind *k, char *text, struct load_value *values, struct err_detail *err)
{
    enum err e = ERR_OK;
    bool is_first = true;
    for (char *item = text; item != NULL && e == ERR_OK; is_first = false) {
        char *next = strchr(item, ',');
        if (next != NULL)
            *next++ = '\0';
        char *value = strchr(item, '=');
        const size_t n = value == NULL ? strlen(item) : (size_t)(value - item);
        const size_t i = value == NULL && is_first && option_count(k) > 0 ? 0 : option_named(k, item, n);
        if (i == option_count(k))
            return option_unknown(k, item, n, err);
        if (value == NULL && i != 0)
            return err_at(err, ERR_USAGE, 0, k->name, "%s needs a value: %s=...", item, item);
        e = option_read(k, &k->options[i], value == NULL ? item : value + 1, &values[i], err);
        item = next;
    }
    return e;
}

static enum err options_complete(const struct load_kind *k, struct load_value *values, struct err_detail *err)
{
    enum err e = ERR_OK;
    for (size_t i = 0; i < option_count(k) && e == ERR_OK; i++) {
        if (values[i].text != NULL)
            continue;
        if (k->options[i].fallback == NULL)
            return err_set(err, ERR_USAGE, 0, "%s needs %s=...: %s", k->name, k->options[i].name, k->options[i].help);
        e = option_read(k, &k->options[i], k->options[i].fallback, &values[i], err);
    }
    return e;
}

enum err load_values_read(const struct load_kind *k, const char *text, struct load_value values[LOAD_OPTIONS_MAX],
                          char **typed, struct err_detail *err)
{
    *typed = strdup(text);
    if (*typed == NULL)
        return err_no_memory(err);
    for (size_t i = 0; i < LOAD_OPTIONS_MAX; i++)
        values[i] = (struct load_value){.text = NULL};
    const enum err e = text[0] != '\0' ? options_read(k, *typed, values, err) : ERR_OK;
    return e == ERR_OK ? options_complete(k, values, err) : e;
}

/* ---- the trace ---- */

static enum err facts_put(const char *text, uint64_t seed, struct trace_writer *w, struct err_detail *err)
{
    char number[32];
    snprintf(number, sizeof number, "%" PRIu64, seed);
    enum err e = trace_put_meta(w, "source", "generated", err);
    if (e == ERR_OK)
        e = trace_put_meta(w, "kind", text, err);
    if (e == ERR_OK)
        e = trace_put_meta(w, "seed", number, err);
    return e;
}

enum err load_make(const char *text, uint64_t events, uint64_t seed, struct trace_writer *w, struct err_detail *err)
{
    const size_t n = strcspn(text, ":");
    const struct load_kind *k = kind_of(text, n);
    if (k == NULL)
        return load_unknown(text, n, err);
    if (events > 0 && !k->is_endless)
        return err_set(err, ERR_USAGE, 0, "--events: %s has as many events as its options make", k->name);
    struct load_value values[LOAD_OPTIONS_MAX];
    char *typed;
    enum err e = load_values_read(k, text[n] == ':' ? text + n + 1 : "", values, &typed, err);
    if (e == ERR_OK)
        e = facts_put(text, seed, w, err);
    if (e == ERR_OK)
        e = k->make(&(struct load_request){.values = values, .events = events, .seed = seed}, w, err);
    free(typed);
    return e;
}
