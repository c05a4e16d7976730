/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/* A platform is read from paths, and decides which settings exist, which variable holds them, and how it is set. */
#define _GNU_SOURCE                                  /* open_memstream */
#include "answers/fixed_words.h"
#include "import/pytorch/frame_platform.h"
#include "policies/spec.h"
#include "replay/recording/platform.h"
#include "report/text/json_writer.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

Test(platform, a_path_tells_only_what_it_must)
{
    const struct { const char *frame, *word; } cases[] = {
        { "forward C:\\proj\\train.py:40", "windows" }, { "C:/proj/train.py", "windows" },
        { "f d:\\a\\b.py:1", "windows" },               { "f /mnt/c/proj/train.py:3", "wsl" },
        { "f /opt/rocm-7.0/lib/x.so:0", "rocm" },       { "f /opt/venv/torch_npu/npu.py:3", "npu" },
        { "std::vector<a>::b ??:0", NULL },             { "f /home/user/a.py:3", NULL },
        { "f ABC:\\x", NULL },                          { "", NULL },
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const char *word = frame_platform_word(cases[i].frame);
        cr_expect(word == cases[i].word || (word != NULL && cases[i].word != NULL && strcmp(word, cases[i].word) == 0),
                  "%s: %s", cases[i].frame, word == NULL ? "none" : word);
    }
}

Test(platform, the_schema_lists_each_word)
{
    for (int p = 0; p < PLATFORMS; p++)
        cr_expect(json_is_one_of(platform_word((enum platform)p), PLATFORM_WORDS), "%d", p);
}

Test(platform, each_word_is_found_again)
{
    for (int p = 0; p < PLATFORMS; p++) {
        enum platform found;
        cr_expect(platform_find(platform_word((enum platform)p), &found) && found == (enum platform)p);
    }
}

Test(platform, expandable_segments_are_no_choice_on_windows_nor_rocm)
{
    const enum platform without[] = { PLATFORM_WINDOWS, PLATFORM_ROCM, PLATFORM_ROCM_WINDOWS, PLATFORM_XPU,
        PLATFORM_MPS,
                                      PLATFORM_JETSON, PLATFORM_UNKNOWN };
    const char *reason;
    for (size_t i = 0; i < sizeof without / sizeof without[0]; i++)
        cr_expect(!platform_has_setting(without[i], "expandable_segments:True", &reason) && reason[0] != '\0');
    cr_expect(platform_has_setting(PLATFORM_LINUX, "expandable_segments:True", &reason) && reason[0] == '\0');
    cr_expect_not(platform_has_setting(PLATFORM_LINUX, "expandable", &reason), "a beginning is no setting");
}

/* Advice that cannot work there must not appear. */
Test(platform, what_is_run_on_jax_and_tensorflow_are_their_own_choices)
{
    const enum platform own[] = { PLATFORM_JAX, PLATFORM_TENSORFLOW };
    const char *reason;
    for (size_t k = 0; k < 2; k++) {
        size_t n;
        const char *const *policies = platform_policies(own[k], &n);
        cr_assert_geq(n, 3);
        for (size_t i = 0; i < n; i++) {
            char variables[POLICY_VARIABLES];
            cr_expect_not(policy_text_is_pytorch(policies[i]), "%s", policies[i]);
            cr_expect_not_null(policy_preset_of(policies[i]));
            cr_expect_eq(policy_variables(policies[i], variables)[0] == '\0', i == 0, "the first is as it comes");
        }
        cr_expect_not(platform_has_setting(own[k], "expandable_segments:True", &reason));
        cr_expect_not(platform_has_setting(own[k], "max_split_size_mb:128", &reason));
        cr_expect_null(platform_variable(own[k]));
    }
}

Test(platform, what_is_run_elsewhere_is_pytorch_s)
{
    for (int p = 0; p < PLATFORM_JAX; p++) {
        size_t n;
        const char *const *policies = platform_policies((enum platform)p, &n);
        for (size_t i = 0; i < n; i++)
            cr_expect(policy_text_is_pytorch(policies[i]), "%s", policies[i]);
    }
}

static char *put(enum shell_kind shell)
{
    char *text = NULL;
    size_t n;
    FILE *out = open_memstream(&text, &n);
    platform_put_setting(out, shell, "X", "a:1", "  ");
    fclose(out);
    return text;
}

Test(platform, a_setting_is_set_as_the_shell_does)
{
    const struct { enum shell_kind shell; const char *lines; } cases[] = {
        { SHELL_POSIX, "  export X=a:1" },
        { SHELL_WINDOWS, "  set X=a:1\n  $env:X=\"a:1\"  # PowerShell" },
        { SHELL_NOTEBOOK, "  import os; os.environ[\"X\"] = \"a:1\"  # before import torch: restart the kernel" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char *text = put(cases[i].shell);
        cr_expect_str_eq(text, cases[i].lines);
        free(text);
    }
}
