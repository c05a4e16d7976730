/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/* Takes values from a histogram of sizes; builds the cross product and neighbours. */
#include "replay/advise/candidate_settings.h"

#include "base/units.h"
#include "policies/pytorch/pytorch_conf.h"
#include "replay/engine/start_state.h"
#include "replay/recording/recorded_engine.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { HISTOGRAM_MIB = 1 << 16, COARSE_SPLITS = 6 };

static const char *const roundups[] = { "", "1", "2", "4", "8", "16", "[16:8,64:2,>:1]", "[64:8,>:2]", "[256:8,>:2]",
                                        "[16:4,>:1]" };
enum { COARSE_ROUNDUPS = 7, N_ROUNDUPS = sizeof roundups / sizeof roundups[0] };

static const uint32_t usual_splits_mib[] = { 32, 64, 128, 256, 512 };
enum { N_USUAL_SPLITS = sizeof usual_splits_mib / sizeof usual_splits_mib[0] };

/* ---- values that the trace suggests ---- */

/* Requested bytes by size in whole MiB, the last for all above. */
struct histogram {
    uint64_t *bytes;
    uint64_t largest;
};

static void histogram_take(struct histogram *h, const struct event *e)
{
    if (e->kind != EVENT_ALLOC && e->kind != EVENT_OOM)
        return;
    const uint64_t mib = e->bytes / MIB;
    uint64_t *sum = &h->bytes[mib < HISTOGRAM_MIB ? mib : HISTOGRAM_MIB - 1];
    *sum = add_capped(*sum, e->bytes);
    h->largest = e->bytes > h->largest ? e->bytes : h->largest;
}

static enum err histogram_read(struct histogram *h, struct trace_reader *trace, struct err_detail *err)
{
    struct start_state start;
    enum err e = start_state_read(trace, &start, err);
    if (e != ERR_OK)
        return e;
    for (size_t i = 0; i < start.n_events; i++)
        histogram_take(h, &start.events[i]);
    start_state_close(&start);
    const struct event *events;
    size_t n = 1;
    e = trace_seek(trace, 0, err);
    while (e == ERR_OK && n > 0) {
        e = trace_next(trace, &events, &n, err);
        for (size_t i = 0; e == ERR_OK && i < n; i++)
            histogram_take(h, &events[i]);
    }
    return e;
}

static void space_add_split(struct settings_space *space, uint32_t mib)
{
    for (size_t i = 0; i < space->n_splits; i++)
        if (space->splits_mib[i] == mib)
            return;
    if (space->n_splits < SETTINGS_SPLITS_MAX && mib * MIB <= space->largest_bytes)
        space->splits_mib[space->n_splits++] = mib;
}

/* A threshold at a popular size keeps blocks of that size and above whole; between popular sizes nothing changes. Every
 * release accepts thresholds above 20 MiB. */
static void space_add_splits(struct settings_space *space, struct histogram *h)
{
    enum { LEAST = 21, POPULAR = SETTINGS_SPLITS_MAX - N_USUAL_SPLITS };
    for (int k = 0; k < POPULAR; k++) {
        uint32_t top = 0;
        for (uint32_t mib = LEAST; mib < HISTOGRAM_MIB; mib++)
            if (h->bytes[mib] > 0 && (top == 0 || h->bytes[mib] > h->bytes[top]))
                top = mib;
        if (top == 0)
            break;
        h->bytes[top] = 0;
        space_add_split(space, top);
    }
    for (size_t i = 0; i < N_USUAL_SPLITS; i++)
        space_add_split(space, usual_splits_mib[i]);
}

enum err settings_space_read(struct trace_reader *trace, const struct pytorch_rules *rules,
                             enum platform platform, struct settings_space *out, struct err_detail *err)
{
    struct histogram h = { .bytes = calloc(HISTOGRAM_MIB, sizeof *h.bytes) };
    if (h.bytes == NULL)
        return err_no_memory(err);
    const enum err e = histogram_read(&h, trace, err);
    if (e == ERR_OK) {
        *out = (struct settings_space){ .rules = *rules, .platform = platform, .largest_bytes = h.largest,
                                        .spread_engine = recorded_spread_engine(trace) };
        space_add_splits(out, &h);
    }
    free(h.bytes);
    return e;
}

/* ---- text ---- */

static void text_add(char buf[SETTINGS_TEXT], const char *key, const char *value)
{
    const size_t n = strlen(buf);
    const bool is_first = n == 0 || buf[n - 1] == ':';
    snprintf(buf + n, SETTINGS_TEXT - n, "%s%s%s", is_first ? "" : ",", key, value);
}

static void text_add_number(char buf[SETTINGS_TEXT], const char *key, uint32_t number)
{
    char value[16];
    snprintf(value, sizeof value, "%" PRIu32, number);
    if (number > 0)
        text_add(buf, key, value);
}

static void text_add_share(char buf[SETTINGS_TEXT], const char *key, unsigned percent)
{
    char value[16];
    snprintf(value, sizeof value, "0.%02u", percent);
    text_add(buf, key, value);
}

const char *settings_text(const struct settings *s, const struct pytorch_rules *rules, bool as_policy,
                          char buf[SETTINGS_TEXT])
{
    buf[0] = '\0';
    if (as_policy) {
        snprintf(buf, SETTINGS_TEXT, "pytorch:");
        text_add(buf, "version=", pytorch_rules_name(rules));
    }
    text_add_number(buf, "large_segment_size_mb:", s->large_segment_mib);
    if (s->expandable)
        text_add(buf, "expandable_segments:", "True");
    text_add_number(buf, "max_split_size_mb:", s->max_split_mib);
    text_add_number(buf, "max_non_split_rounding_mb:", s->non_split_mib);
    if (s->roundup[0] != '\0')
        text_add(buf, "roundup_power2_divisions:", s->roundup);
    if (s->gc_percent > 0) {
        text_add_share(buf, "garbage_collection_threshold:", s->gc_percent);
        if (rules->has_fraction_option)
            text_add_share(buf, "per_process_memory_fraction:", s->fraction_percent);
        else if (as_policy)
            text_add_share(buf, "fraction=", s->fraction_percent);
    }
    return buf;
}

bool settings_are_part(const struct settings *part, const struct settings *whole)
{
    return settings_count(part) < settings_count(whole) && (!part->expandable || whole->expandable) &&
           (part->max_split_mib == 0 || part->max_split_mib == whole->max_split_mib) &&
           (part->non_split_mib == 0 || part->non_split_mib == whole->non_split_mib) &&
           (part->large_segment_mib == 0 || part->large_segment_mib == whole->large_segment_mib) &&
           (part->gc_percent == 0 || (part->gc_percent == whole->gc_percent &&
                                      part->fraction_percent == whole->fraction_percent)) &&
           (part->roundup[0] == '\0' || strcmp(part->roundup, whole->roundup) == 0);
}

unsigned settings_count(const struct settings *s)
{
    return (s->expandable ? 1U : 0) + (s->max_split_mib > 0 ? 1U : 0) + (s->non_split_mib > 0 ? 1U : 0) +
           (s->large_segment_mib > 0 ? 1U : 0) + (s->gc_percent > 0 ? 2U : 0) + (s->roundup[0] != '\0' ? 1U : 0);
}

/* ---- points ---- */

static bool settings_equal(const struct settings *a, const struct settings *b)
{
    return a->expandable == b->expandable && a->max_split_mib == b->max_split_mib &&
           a->non_split_mib == b->non_split_mib && a->large_segment_mib == b->large_segment_mib &&
           a->gc_percent == b->gc_percent && a->fraction_percent == b->fraction_percent &&
           strcmp(a->roundup, b->roundup) == 0;
}

static bool exists(enum platform p, bool is_set, const char *setting)
{
    const char *reason;
    return !is_set || platform_has_setting(p, setting, &reason);
}

static bool settings_exist(const struct settings *s, enum platform p)
{
    return exists(p, s->expandable, "expandable_segments") && exists(p, s->max_split_mib > 0, "max_split_size_mb") &&
           exists(p, s->gc_percent > 0, "garbage_collection_threshold") &&
           exists(p, s->roundup[0] != '\0', "roundup_power2_divisions");
}

/* ERR_USAGE if the release or the platform lacks one of the options, or the release refuses the text. */
static enum err settings_check(const struct settings *s, const struct settings_space *space, struct err_detail *err)
{
    const struct pytorch_rules *rules = &space->rules;
    char text[SETTINGS_TEXT];
    struct pytorch_settings applied = pytorch_settings_default();
    if ((s->expandable && !rules->has_expandable) || (s->non_split_mib > 0 && !rules->has_non_split_rounding) ||
        (s->large_segment_mib > 0 && !rules->has_large_segment))
        return ERR_USAGE;
    if (!settings_exist(s, space->platform) || (s->expandable && space->spread_engine != NULL))
        return ERR_USAGE;
    return pytorch_conf_apply(rules, CONF_AT_START, settings_text(s, rules, false, text), &applied, err);
}

static enum err set_add(const struct settings_space *space, struct settings_set *set, struct settings s,
                        struct err_detail *err)
{
    if (s.max_split_mib == 0)
        s.non_split_mib = 0;
    assert((s.gc_percent > 0) == (s.fraction_percent > 0));
    const enum err e = settings_check(&s, space, err);
    if (e != ERR_OK)
        return e == ERR_HOST_NOMEM ? e : ERR_OK;
    for (size_t i = 0; i < set->n; i++)
        if (settings_equal(&set->at[i], &s))
            return ERR_OK;
    struct settings *grown = realloc(set->at, (set->n + 1) * sizeof *grown);
    if (grown == NULL)
        return err_no_memory(err);
    set->at = grown;
    set->at[set->n++] = s;
    return ERR_OK;
}

void settings_set_close(struct settings_set *set)
{
    free(set->at);
    *set = (struct settings_set){ .at = NULL };
}

static void settings_set_roundup(struct settings *s, const char *text)
{
    snprintf(s->roundup, sizeof s->roundup, "%s", text);
}

enum err settings_add_cross(const struct settings_space *space, struct settings_set *set, struct err_detail *err)
{
    const size_t n_splits = space->n_splits < COARSE_SPLITS ? space->n_splits : COARSE_SPLITS;
    enum err e = ERR_OK;
    for (size_t k = 0; k < 2 * (n_splits + 1) * COARSE_ROUNDUPS * 2 && e == ERR_OK; k++) {
        const size_t split = k / 4 % (n_splits + 1);
        struct settings s = { .expandable = k % 2 == 1 };
        if (split > 0)
            s.max_split_mib = space->splits_mib[split - 1];
        settings_set_roundup(&s, roundups[k / 4 / (n_splits + 1)]);
        if (k / 2 % 2 == 1) {
            s.gc_percent = 80;
            s.fraction_percent = 95;
        }
        e = set_add(space, set, s, err);
    }
    return e;
}

enum err settings_add_simpler(const struct settings_space *space, const struct settings *s, struct settings_set *set,
                              struct err_detail *err)
{
    struct settings without[] = { *s, *s, *s, *s, *s, *s };
    enum { N_WITHOUT = sizeof without / sizeof without[0] };
    without[0].expandable = false;
    without[1].max_split_mib = 0;
    without[2].non_split_mib = 0;
    without[3].large_segment_mib = 0;
    without[4].gc_percent = without[4].fraction_percent = 0;
    without[5].roundup[0] = '\0';
    enum err e = ERR_OK;
    for (size_t i = 0; i < N_WITHOUT && e == ERR_OK; i++)
        e = set_add(space, set, without[i], err);
    return e;
}

static enum err add_neighbours_by_size(const struct settings_space *space, const struct settings *around,
                                       struct settings_set *set, struct err_detail *err)
{
    static const uint32_t roundings_mib[] = { 0, 64, 128, 256, 512 };
    static const uint32_t segments_mib[] = { 0, 32, 64, 128 };
    enum err e = ERR_OK;
    for (size_t i = 0; i <= space->n_splits && e == ERR_OK; i++) {
        struct settings s = *around;
        s.max_split_mib = i == 0 ? 0 : space->splits_mib[i - 1];
        e = set_add(space, set, s, err);
    }
    for (size_t i = 0; i < sizeof roundings_mib / sizeof roundings_mib[0] && e == ERR_OK; i++) {
        struct settings s = *around;
        s.non_split_mib = roundings_mib[i];
        e = set_add(space, set, s, err);
    }
    for (size_t i = 0; i < sizeof segments_mib / sizeof segments_mib[0] && e == ERR_OK; i++) {
        struct settings s = *around;
        s.large_segment_mib = segments_mib[i];
        e = set_add(space, set, s, err);
    }
    return e;
}

enum err settings_add_neighbours(const struct settings_space *space, const struct settings *around,
                                 struct settings_set *set, struct err_detail *err)
{
    static const unsigned thresholds[] = { 0, 60, 70, 80, 90 }, fractions[] = { 90, 95, 99 };
    enum err e = add_neighbours_by_size(space, around, set, err);
    struct settings toggled = *around;
    toggled.expandable = !around->expandable;
    if (e == ERR_OK)
        e = set_add(space, set, toggled, err);
    for (size_t i = 0; i < N_ROUNDUPS && e == ERR_OK; i++) {
        struct settings s = *around;
        settings_set_roundup(&s, roundups[i]);
        e = set_add(space, set, s, err);
    }
    for (size_t i = 0; i < 15 && e == ERR_OK; i++) {
        struct settings s = *around;
        s.gc_percent = thresholds[i / 3];
        s.fraction_percent = s.gc_percent > 0 ? fractions[i % 3] : 0;
        e = set_add(space, set, s, err);
    }
    return e;
}
