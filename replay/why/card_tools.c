/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
#include "replay/why/card_tools.h"

#include "report/text/text.h"

#include <string.h>

static const struct { const char *shows, *chooses; } tools[PLATFORMS] = {
    [PLATFORM_UNKNOWN] = { "nvidia-smi", "CUDA_VISIBLE_DEVICES" },
    [PLATFORM_LINUX] = { "nvidia-smi", "CUDA_VISIBLE_DEVICES" },
    [PLATFORM_WINDOWS] = { "nvidia-smi", "CUDA_VISIBLE_DEVICES" },
    [PLATFORM_WSL] = { "nvidia-smi", "CUDA_VISIBLE_DEVICES" },
    [PLATFORM_ROCM] = { "rocm-smi", "HIP_VISIBLE_DEVICES" },
    [PLATFORM_ROCM_WINDOWS] = { "the task manager", "HIP_VISIBLE_DEVICES" },
    [PLATFORM_XPU] = { "xpu-smi", "ZE_AFFINITY_MASK" },
    [PLATFORM_MPS] = { "the activity monitor", NULL },
    [PLATFORM_NPU] = { "npu-smi info", "ASCEND_RT_VISIBLE_DEVICES" },
    [PLATFORM_JETSON] = { "tegrastats", NULL },
};

static const char shows[] = "nvidia-smi", chooses[] = "CUDA_VISIBLE_DEVICES";

const char *card_tools_shows(enum platform p)
{
    return tools[p].shows;
}

const char *card_tools_chooses(enum platform p)
{
    return tools[p].chooses;
}

/* The end of the sentence that begins at `at`, its blank included. */
static const char *sentence_end(const char *at)
{
    for (; *at != '\0'; at++)
        if (*at == '.' && (at[1] == ' ' || at[1] == '\0'))
            return at + 1 + (at[1] == ' ');
    return at;
}

static bool holds(const char *from, const char *to, const char *words)
{
    const char *found = strstr(from, words);
    return found != NULL && found < to;
}

/* Adds text[0, to) with the platform's names. */
static void add_named(struct words *w, enum platform p, const char *from, const char *to)
{
    while (from < to) {
        const bool is_shows = strncmp(from, shows, strlen(shows)) == 0;
        const bool is_chooses = strncmp(from, chooses, strlen(chooses)) == 0 && tools[p].chooses != NULL;
        if (is_shows || is_chooses)
            words_add(w, "%s", is_shows ? tools[p].shows : tools[p].chooses);
        else
            words_add(w, "%c", *from);
        from += is_shows ? strlen(shows) : is_chooses ? strlen(chooses) : 1;
    }
}

void card_tools_print_advice(FILE *out, enum platform p, const char *advice)
{
    struct words w = { .n = 0 };
    if (advice == NULL || advice[0] == '\0')
        return;
    words_add(&w, "- ");
    const size_t begin = w.n;
    for (const char *to; *advice != '\0'; advice = to) {
        to = sentence_end(advice);
        if (p == PLATFORM_JETSON && holds(advice, to, "slice"))
            continue;                        /* it has no MIG */
        if (tools[p].chooses != NULL || !holds(advice, to, chooses))
            add_named(&w, p, advice, to);
    }
    if (w.n > begin)
        words_print_screen(out, &w);
}
