/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/* A number is plain if it is written as this program writes it, so it can hold nothing else. */
#include "replay/recording/plain_facts.h"

#include "import/import.h"
#include "import/pytorch/snapshot.h"
#include "policies/pytorch/pytorch_conf.h"
#include "replay/recording/platform.h"
#include "replay/recording/recorded_limit.h"
#include "traces/trace.h"
#include "traces/trace_edit.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NUMBER_BYTES = 32, DIVISIONS_BYTES = 512, DIVISIONS = 16 };

static bool is_one_of(const char *const *words, const char *text)
{
    while (*words != NULL && strcmp(*words, text) != 0)
        words++;
    return *words != NULL;
}

static bool is_units(const char *text)
{
    return strcmp(text, TRACE_UNITS) == 0;
}

/* The importers' names, and what else they and `generate` write. */
static bool is_source(const char *text)
{
    static const char *const others[] = { "pytorch-snapshot:" SNAPSHOT_HOST, "minimalloc", "cuda-driver", "generated",
                                          NULL };
    const struct importer *importer;
    for (size_t i = 0; (importer = importer_at(i)) != NULL; i++)
        if (strcmp(importer->name, text) == 0)
            return true;
    return is_one_of(others, text);
}

static bool is_release(const char *text)
{
    struct pytorch_rules rules;
    return pytorch_rules_find(text, &rules) && strcmp(pytorch_rules_name(&rules), text) == 0;
}

static bool is_end(const char *text)
{
    static const char *const words[] = { TRACE_CUT, TRACE_EXIT, TRACE_INTERRUPTED, TRACE_OPEN, NULL };
    return is_one_of(words, text);
}

static bool is_switch(const char *text)
{
    static const char *const words[] = { "True", "False", NULL };
    return is_one_of(words, text);
}

static bool is_limit(const char *text)
{
    struct recorded_limit l;
    return recorded_limit_parse(text, &l);
}

/* "8.6". */
static bool is_capability(const char *text)
{
    const size_t n = strspn(text, "0123456789");
    return n >= 1 && n <= 2 && text[n] == '.' && isdigit((unsigned char)text[n + 1]) && text[n + 2] == '\0';
}

static bool is_platform(const char *text)
{
    enum platform p;
    return platform_find(text, &p);
}

static bool is_integer(const char *text)
{
    char again[NUMBER_BYTES];
    snprintf(again, sizeof again, "%" PRId64, (int64_t)strtoll(text, NULL, 10));
    return strcmp(again, text) == 0;
}

static bool is_real(const char *text)
{
    char again[NUMBER_BYTES];
    snprintf(again, sizeof again, "%.17g", strtod(text, NULL));
    return strcmp(again, text) == 0;
}

/* "1:0,2:0,..." with a number for each power of two. */
static bool are_divisions(const char *text)
{
    char again[DIVISIONS_BYTES];
    const char *colon = text;
    size_t used = 0;
    for (int k = 0; k < DIVISIONS; k++) {
        colon = strchr(colon, ':');
        if (colon == NULL)
            return false;
        used += (size_t)snprintf(again + used, sizeof again - used, "%s%d:%llu", k == 0 ? "" : ",", 1 << k,
                                 strtoull(++colon, NULL, 10));
    }
    return strcmp(again, text) == 0;
}

bool fact_is_plain(const char *what, const char *text)
{
    static const struct { const char *name; bool (*is_plain)(const char *text); } rules[] = {
        { "units", is_units },
        { "source", is_source },
        { TRACE_META_RELEASE, is_release },
        { TRACE_META_PLATFORM, is_platform },
        { TRACE_META_LIMIT, is_limit },
        { TRACE_META_CAPABILITY, is_capability },
        { TRACE_META_SHRUNK, is_integer },
        { TRACE_META_BEGINS, is_end },
        { TRACE_META_ENDS, is_end },
        { "conf", pytorch_conf_is_plain },
        { TRACE_TEXT_SETTINGS, pytorch_conf_is_plain },
        { "max_split_size", is_integer },
        { "garbage_collection_threshold", is_real },
        { "expandable_segments", is_switch },
        { "roundup_power2_divisions", are_divisions },
    };
    for (size_t i = 0; i < sizeof rules / sizeof rules[0]; i++)
        if (strcmp(rules[i].name, what) == 0)
            return rules[i].is_plain(text);
    return false;
}
