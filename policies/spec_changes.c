/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/* Counts the settings by which a typed policy differs from its defaults, and compares those of two. */
#include "policies/spec.h"

#include <limits.h>
#include <string.h>

/* The length of the item that a list begins with: up to a comma outside brackets. */
static size_t item_length(const char *list)
{
    size_t n = 0, depth = 0;
    for (; list[n] != '\0' && (list[n] != ',' || depth > 0); n++) {
        depth += list[n] == '[';
        depth -= list[n] == ']' && depth > 0;
    }
    return n;
}

/* Whether key:value of PYTORCH_CUDA_ALLOC_CONF is PyTorch's default. */
static bool is_default_pair(const char *pair, size_t n)
{
    static const char *const ends[] = { ":False", ":native" };
    for (size_t i = 0; i < sizeof ends / sizeof ends[0]; i++) {
        const size_t k = strlen(ends[i]);
        if (n >= k && memcmp(pair + n - k, ends[i], k) == 0)
            return true;
    }
    return false;
}

static unsigned count_items(const char *list, bool is_pairs)
{
    unsigned count = 0;
    for (;;) {
        const size_t n = item_length(list);
        count += n > 0 && !(is_pairs && is_default_pair(list, n));
        if (list[n] == '\0')
            return count;
        list += n + 1;
    }
}

static unsigned typed_settings(const char *policy)
{
    const char *items = strchr(policy, ':');
    return items != NULL ? count_items(items + 1, false) : 0;
}

/* Only what was typed counts: a release that the recording named changes nothing. */
static unsigned option_changes(const struct policy_option *o, const struct option_value *v)
{
    if (!v->is_given || !v->is_set)
        return 0;
    if (o->kind == OPTION_PAIRS)
        return count_items(v->text, true);
    if (o->fallback != NULL)
        return strcmp(v->text, o->fallback) != 0;
    return o->kind != OPTION_SWITCH || v->number != 0;
}

/* The preset of a spec, if variables make it; else NULL. */
static const struct policy_preset *made_by_variables(const struct policy_spec *spec)
{
    const struct policy_preset *preset = policy_preset_of(spec->typed);
    return preset != NULL && preset->variables != NULL ? preset : NULL;
}

static unsigned count_variables(const char *variables)
{
    unsigned n = variables[0] != '\0';
    for (; *variables != '\0'; variables++)
        n += *variables == ' ';
    return n;
}

unsigned policy_spec_changes(const struct policy_spec *spec)
{
    const struct policy_preset *preset = made_by_variables(spec);
    unsigned n = 0;
    if (spec->plugin != NULL)
        return typed_settings(spec->typed);
    if (preset != NULL)
        return count_variables(preset->variables) + typed_settings(spec->typed);
    for (size_t i = 0; i < spec->n_options; i++)
        n += option_changes(&spec->ops->options[i], &spec->values[i]);
    return n;
}

bool policy_spec_is_default(const struct policy_spec *spec)
{
    return policy_spec_changes(spec) == 0 &&
           (strcmp(spec->ops->name, "pytorch") == 0 || made_by_variables(spec) != NULL);
}

bool policy_text_is_default(const char *text)
{
    struct policy_spec spec;
    if (policy_spec_parse_foreign(text, &spec, NULL) != ERR_OK)
        return false;
    const bool is_default = policy_spec_is_default(&spec);
    policy_spec_close(&spec);
    return is_default;
}

unsigned policy_text_changes(const char *policy)
{
    struct policy_spec spec;
    const enum err e = policy_spec_parse_foreign(policy, &spec, NULL);
    if (e != ERR_OK)
        return e == ERR_HOST_NOMEM ? UINT_MAX : typed_settings(policy);
    const unsigned n = policy_spec_changes(&spec);
    policy_spec_close(&spec);
    return n;
}

/* The text is what was typed, so it also says which policy is chosen, with all its options. */
static bool values_are_equal(const struct option_value *a, const struct option_value *b)
{
    return a->is_given == b->is_given && a->is_set == b->is_set && a->number == b->number &&
           memcmp(&a->ratio, &b->ratio, sizeof a->ratio) == 0 &&
           (a->text == NULL || b->text == NULL ? a->text == b->text : strcmp(a->text, b->text) == 0);
}

bool policy_spec_agrees(const struct policy_spec *a, const struct policy_spec *b)
{
    if (a->ops->options != b->ops->options || a->ops->repeats != b->ops->repeats || a->n_options != b->n_options)
        return false;
    for (size_t i = 0; i < a->n_options; i++)
        if ((a->ops->compared >> i & 1) == 0 && !values_are_equal(&a->values[i], &b->values[i]))
            return false;
    return true;
}
