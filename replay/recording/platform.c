/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
#include "replay/recording/platform.h"

#include "report/text/text.h"

#include <string.h>

static const struct {
    const char *word, *words, *variable;
    enum shell_kind shell;
} platforms[PLATFORMS] = {
#define PLATFORM(name, word, words, variable, shell) { word, words, variable, shell },
#include "replay/recording/platforms.def"
#undef PLATFORM
};

enum place_answer { NO, BUILD, YES };

static const struct place {
    const char *setting;
    enum platform platform;
    enum place_answer answer;
    const char *reason;
} places[] = {
#define PLACE(setting, platform, answer, reason) { setting, PLATFORM_##platform, answer, reason },
#include "replay/recording/setting_places.def"
#undef PLACE
};

const char *platform_word(enum platform p)
{
    return platforms[p].word;
}

const char *platform_words(enum platform p)
{
    return platforms[p].words;
}

bool platform_find(const char *word, enum platform *out)
{
    for (int p = 0; p < PLATFORMS; p++)
        if (strcmp(platforms[p].word, word) == 0) {
            *out = (enum platform)p;
            return true;
        }
    return false;
}

const char *platform_variable(enum platform p)
{
    return platforms[p].variable;
}

enum shell_kind platform_shell(enum platform p)
{
    return platforms[p].shell;
}

struct choices {
    const char *policies[PLATFORM_POLICIES + 1];
};

static const struct choices of_torch = { { "best-fit", "expandable_segments:True", "max_split_size_mb:128",
                                           "roundup_power2_divisions:4" } };
static const struct choices own_choices[PLATFORMS] = {
#define CHOICES(platform, ...) [PLATFORM_##platform] = { { __VA_ARGS__ } },
#include "replay/recording/platform_policies.def"
#undef CHOICES
};

bool platform_is_library(enum platform p)
{
    return own_choices[p].policies[0] != NULL;
}

bool platform_is_cuda(enum platform p)
{
    return !platform_is_library(p) && p != PLATFORM_XPU && p != PLATFORM_MPS && p != PLATFORM_NPU;
}

const char *const *platform_policies(enum platform p, size_t *n)
{
    const struct choices *c = platform_is_library(p) ? &own_choices[p] : &of_torch;
    for (*n = 0; c->policies[*n] != NULL;)
        ++*n;
    return c->policies;
}

/* The row of a setting on a platform; NULL: there is none. */
static const struct place *place_of(enum platform p, const char *setting)
{
    const size_t n = strcspn(setting, ":");
    for (size_t i = 0; i < sizeof places / sizeof places[0]; i++)
        if (places[i].platform == p && strlen(places[i].setting) == n && strncmp(places[i].setting, setting, n) == 0)
            return &places[i];
    return NULL;
}

bool platform_has_setting(enum platform p, const char *setting, const char **reason)
{
    const struct place *place = place_of(p, setting);
    *reason = place != NULL ? place->reason : "it does not exist there";
    return place != NULL && place->answer == YES;
}

bool platform_lacks_setting(enum platform p, const char *setting)
{
    const struct place *place = place_of(p, setting);
    return place == NULL || place->answer == NO;
}

bool platform_tells_setting(enum platform p, const char *setting)
{
    if (p != PLATFORMS)
        return place_of(p, setting) != NULL;
    for (int any = 0; any < PLATFORMS; any++)
        if (place_of((enum platform)any, setting) != NULL)
            return true;
    return false;
}

void platform_put_setting(FILE *out, enum shell_kind shell, const char *variable, const char *value,
                          const char *indent)
{
    fputs(indent, out);
    if (shell == SHELL_WINDOWS) {
        fprintf(out, "set %s=%s\n%s$env:%s=\"%s\"  # PowerShell", variable, value, indent, variable, value);
    } else if (shell == SHELL_NOTEBOOK) {
        fprintf(out, "import os; os.environ[\"%s\"] = \"%s\"  # before import torch: restart the kernel", variable,
                value);
    } else {
        text_put_export(out, variable, value);
    }
}
