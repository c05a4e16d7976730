/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * Values to try for the options of policies, drawn from the policies' own tables: an option that nobody thought of is
 * tried as well. Only words need a list here, and a test fails on a text option that the list lacks.
 */
#ifndef REPLAY_TESTS_DRAWN_OPTIONS_H
#define REPLAY_TESTS_DRAWN_OPTIONS_H

#include "base/units.h"
#include "policies/policy.h"

#include <criterion/criterion.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { DRAWN_VALUES = 8, DRAWN_TEXT = 96 };

struct drawn_values {
    char   text[DRAWN_VALUES][DRAWN_TEXT];
    size_t n;
};

static const struct {
    const char *policy, *option;            /* policy NULL: of all that have the option */
    const char *words[DRAWN_VALUES];
} drawn_words[] = {
    {"pytorch", "version", {"2.4", "npu", "2.0", "2.5", "2.9", "2.10", "2.12", "2.15"}},
    {"pytorch", "conf", {"per_process_memory_fraction:0.5", "per_process_memory_fraction:0.1", "max_split_size_mb:64",
                         "expandable_segments:True", "expandable_segments:False"}},
    {"pytorch", "roundup", {"4", "[>:4]", "[64:8,256:2,>:1]"}},
    {"rmm-binning", "bins", {"[64KiB,3MiB]", "[1MiB]"}},
    {NULL, "order", {"first-seen", "last-seen"}},
    {"ort", "extend", {"next-power-of-two", "same-as-requested"}},
    {"mxnet", "type", {"naive", "round", "unpooled"}},
    {"cuda-async", "reuse", {"all", "same"}},
    {"plan", "file", {NULL}},               /* a file; the policy never repeats */
};

static inline void drawn_add(struct drawn_values *v, const char *text)
{
    if (v->n < DRAWN_VALUES)
        snprintf(v->text[v->n++], DRAWN_TEXT, "%s", text);
}

static inline void drawn_add_words(struct drawn_values *v, const char *policy, const char *option)
{
    for (size_t i = 0; i < sizeof drawn_words / sizeof drawn_words[0]; i++) {
        const char *of = drawn_words[i].policy;
        if (strcmp(drawn_words[i].option, option) != 0 || (of != NULL && strcmp(of, policy) != 0))
            continue;
        for (size_t k = 0; k < DRAWN_VALUES && drawn_words[i].words[k] != NULL; k++)
            drawn_add(v, drawn_words[i].words[k]);
        return;
    }
    cr_assert_fail("%s: give drawn_words[] values of the option %s, so that it is tested", policy, option);
}

static inline void drawn_add_numbers(struct drawn_values *v, const struct policy_option *o, const uint64_t *tried,
                                     size_t n)
{
    char text[DRAWN_TEXT];
    for (size_t i = 0; i < n; i++) {
        if (tried[i] < o->min || tried[i] > o->max)
            continue;
        snprintf(text, sizeof text, "%" PRIu64 "%s", tried[i], o->kind == OPTION_BYTES ? "B" : "");
        drawn_add(v, text);
    }
}

static inline struct drawn_values drawn_values_of(const struct policy_ops *ops, const struct policy_option *o)
{
    static const uint64_t sizes[] = {4096, MIB, 21 * MIB, 32 * MIB, 64 * MIB, 256 * MIB, 2 * GIB};
    static const uint64_t numbers[] = {0, 1, 5, 22, 25, 100};
    static const char *const shares[] = {"0.1", "0.3", "0.6", "0.9", "1"};
    struct drawn_values v = {.n = 0};
    switch (o->kind) {
    case OPTION_BYTES:
        drawn_add_numbers(&v, o, sizes, sizeof sizes / sizeof sizes[0]);
        break;
    case OPTION_NUMBER:
        drawn_add_numbers(&v, o, numbers, sizeof numbers / sizeof numbers[0]);
        break;
    case OPTION_RATIO:
        for (size_t i = 0; i < sizeof shares / sizeof shares[0]; i++)
            drawn_add(&v, shares[i]);
        break;
    case OPTION_SWITCH:
        drawn_add(&v, "on");
        drawn_add(&v, "off");
        break;
    case OPTION_UPSTREAM:
        drawn_add(&v, "[none]");
        drawn_add(&v, "[cupy]");
        break;
    case OPTION_TEXT:
    case OPTION_PAIRS:
        drawn_add_words(&v, ops->name, o->name);
        break;
    }
    return v;
}

static inline size_t drawn_options_of(const struct policy_ops *ops)
{
    size_t n = 0;
    while (ops->options != NULL && ops->options[n].name != NULL)
        n++;
    return n;
}

#endif
