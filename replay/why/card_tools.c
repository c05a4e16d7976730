/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
#include "replay/why/card_tools.h"

#include "report/text/text.h"

#include <string.h>

/* host: what shows the host's memory; NULL: `free -h`, beside the other tools of Linux. */
static const struct { const char *shows, *chooses, *host; } tools[PLATFORMS] = {
    [PLATFORM_UNKNOWN] = { "nvidia-smi", "CUDA_VISIBLE_DEVICES", NULL },
    [PLATFORM_LINUX] = { "nvidia-smi", "CUDA_VISIBLE_DEVICES", NULL },
    [PLATFORM_WINDOWS] = { "nvidia-smi", "CUDA_VISIBLE_DEVICES", "the task manager" },
    [PLATFORM_WSL] = { "nvidia-smi", "CUDA_VISIBLE_DEVICES", NULL },
    [PLATFORM_ROCM] = { "rocm-smi", "HIP_VISIBLE_DEVICES", NULL },
    [PLATFORM_ROCM_WINDOWS] = { "the task manager", "HIP_VISIBLE_DEVICES", "the task manager" },
    [PLATFORM_XPU] = { "xpu-smi", "ZE_AFFINITY_MASK", NULL },
    [PLATFORM_MPS] = { "the activity monitor", NULL, "the activity monitor" },
    [PLATFORM_NPU] = { "npu-smi info", "ASCEND_RT_VISIBLE_DEVICES", NULL },
    [PLATFORM_JETSON] = { "tegrastats", NULL, NULL },
    [PLATFORM_JAX] = { "nvidia-smi", "CUDA_VISIBLE_DEVICES", NULL },
    [PLATFORM_TENSORFLOW] = { "nvidia-smi", "CUDA_VISIBLE_DEVICES", NULL },
};

static const char shows[] = "nvidia-smi", chooses[] = "CUDA_VISIBLE_DEVICES", host[] = "free -h";

const char *card_tools_shows(enum platform p)
{
    return tools[p].shows;
}

const char *card_tools_chooses(enum platform p)
{
    return tools[p].chooses;
}

const char *card_tools_module(enum platform p)
{
    return p == PLATFORM_XPU ? "torch.xpu" : p == PLATFORM_NPU ? "torch.npu" : p == PLATFORM_MPS ? "torch.mps"
                                                                                                 : "torch.cuda";
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
        const bool is_host = strncmp(from, host, strlen(host)) == 0 && tools[p].host != NULL;
        if (is_shows || is_chooses || is_host)
            words_add(w, "%s", is_shows ? tools[p].shows : is_chooses ? tools[p].chooses : tools[p].host);
        else
            words_add(w, "%c", *from);
        from += is_shows ? strlen(shows) : is_chooses ? strlen(chooses) : is_host ? strlen(host) : 1;
    }
}

/* Whether the sentence speaks of what the platform lacks. */
static bool is_foreign(const char *from, const char *to, enum platform p)
{
    static const char *const of_linux[] = { "dmesg", "df -h", "ulimit", "/dev/shm" };
    bool has_linux = false;
    for (size_t i = 0; i < sizeof of_linux / sizeof of_linux[0]; i++)
        has_linux = has_linux || holds(from, to, of_linux[i]);
    return (has_linux && tools[p].host != NULL) || (p == PLATFORM_JETSON && holds(from, to, "slice"));
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
        if (is_foreign(advice, to, p))
            continue;
        if (tools[p].chooses != NULL || !holds(advice, to, chooses))
            add_named(&w, p, advice, to);
    }
    if (w.n > begin)
        words_print_screen(out, &w);
}
