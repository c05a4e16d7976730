/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * The facts of a recording as a settings text, so that PyTorch's own reader compares it with what was asked for.
 */
#include "replay/recording/settings_facts.h"

#include "base/units.h"
#include "policies/pytorch/pytorch_conf.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const facts[] = { "conf", "max_split_size", "garbage_collection_threshold", "expandable_segments",
                                     "roundup_power2_divisions" };

bool settings_is_fact(const char *name)
{
    for (size_t i = 0; i < sizeof facts / sizeof facts[0]; i++)
        if (strcmp(facts[i], name) == 0)
            return true;
    return false;
}

static void add_option(struct settings_facts *s, const char *key, const char *value)
{
    const size_t n = strlen(s->in_force);
    snprintf(s->in_force + n, sizeof s->in_force - n, "%s%s:%s", n == 0 ? "" : ",", key, value);
}

/* "1:4,2:4,...": one number if all are the same, nothing if all are 0. */
static void add_divisions(struct settings_facts *s, const char *list)
{
    char value[SETTINGS_FACTS_TEXT];
    const char *first = strchr(list, ':');
    bool is_uniform = first != NULL;
    const size_t n = first == NULL ? 0 : strcspn(first, ",");
    for (const char *at = first; is_uniform && at != NULL; at = strchr(at + 1, ':'))
        is_uniform = strcspn(at, ",") == n && strncmp(at, first, n) == 0;
    if (first == NULL || (is_uniform && n == 2 && first[1] == '0'))
        return;
    if (is_uniform)
        snprintf(value, sizeof value, "%.*s", (int)n - 1, first + 1);
    else
        snprintf(value, sizeof value, "[%s]", list);
    add_option(s, "roundup_power2_divisions", value);
}

static void read_in_force(const struct trace_reader *trace, struct settings_facts *s)
{
    char mib[24];
    const char *split = trace_meta(trace, "max_split_size"), *gc = trace_meta(trace, "garbage_collection_threshold");
    const char *expandable = trace_meta(trace, "expandable_segments");
    const char *divisions = trace_meta(trace, "roundup_power2_divisions");
    s->has_in_force = split != NULL && expandable != NULL;
    if (split != NULL && split[0] != '-') {
        snprintf(mib, sizeof mib, "%llu", strtoull(split, NULL, 10) / MIB);
        add_option(s, "max_split_size_mb", mib);
    }
    if (gc != NULL && strtod(gc, NULL) > 0)
        add_option(s, "garbage_collection_threshold", gc);
    if (expandable != NULL && strcmp(expandable, "True") == 0)
        add_option(s, "expandable_segments", "True");
    if (divisions != NULL)
        add_divisions(s, divisions);
}

/* The first setting that a snapshot tells and in which the two differ. */
static const char *first_difference(const struct pytorch_settings *a, const struct pytorch_settings *b)
{
    return a->expandable_segments != b->expandable_segments                     ? "expandable_segments"
           : a->max_split_size != b->max_split_size                             ? "max_split_size_mb"
           : a->garbage_collection_threshold != b->garbage_collection_threshold ? facts[2]
           : memcmp(a->roundup_divisions, b->roundup_divisions, sizeof a->roundup_divisions) != 0
               ? facts[4]
               : NULL;
}

static void find_lost(const struct pytorch_rules *rules, struct settings_facts *s)
{
    struct pytorch_settings asked = pytorch_settings_default(), in_force = asked;
    struct err_detail refused, ignored;
    char title[PYTORCH_RULES_TITLE];
    const char *key;
    if (s->asked == NULL || s->asked[0] == '\0')
        return;
    if (pytorch_conf_apply(rules, CONF_AT_START, s->asked, &asked, &refused) != ERR_OK && s->in_force[0] == '\0')
        snprintf(s->lost, sizeof s->lost, "%s refuses '%.120s': %.120s", pytorch_rules_title(rules, title), s->asked,
                 refused.text);
    else if (s->has_in_force &&
             pytorch_conf_apply(rules, CONF_AT_START, s->in_force, &in_force, &ignored) == ERR_OK &&
             (key = first_difference(&asked, &in_force)) != NULL)
        snprintf(s->lost, sizeof s->lost, "'%.100s' was asked for; %s is not as asked: in force is %s%.100s%s",
                 s->asked, key, s->in_force[0] == '\0' ? "the default" : "'", s->in_force,
                 s->in_force[0] == '\0' ? "" : "'");
}

void settings_facts_read(const struct trace_reader *trace, const struct pytorch_rules *rules,
                            struct settings_facts *out)
{
    *out = (struct settings_facts){ .asked = trace_meta(trace, "conf") };
    read_in_force(trace, out);
    find_lost(rules, out);
}

bool settings_facts_find(const struct trace_reader *trace, struct settings_facts *out)
{
    struct pytorch_rules rules;
    const char *release = trace_meta(trace, TRACE_META_RELEASE);
    if (release == NULL || !pytorch_rules_find(release, &rules))
        return false;
    settings_facts_read(trace, &rules, out);
    return true;
}
