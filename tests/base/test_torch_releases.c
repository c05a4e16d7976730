/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/* The list of PyTorch's releases: names, and the layouts of their snapshots. */
#include "base/torch_releases.h"
#include "policies/policy.h"
#include "policies/pytorch/pytorch_rules.h"

#include <criterion/criterion.h>
#include <string.h>

static unsigned layout_of(enum torch_release r)
{
    unsigned parts = 0;
    for (unsigned k = 0; k < TORCH_LAYOUTS; k++)
        parts |= torch_release_has(r, (enum torch_layout)k) ? 1u << k : 0;
    return parts;
}

Test(torch_releases, a_version_text_names_its_release)
{
    static const struct { const char *text; enum torch_release release; } versions[] = {
        {"2.0", TORCH_2_0}, {"2.0.1", TORCH_2_0}, {"2.10", TORCH_2_10}, {"2.4.1+cu121", TORCH_2_4},
        {"2.999.3", TORCH_NEWEST}};
    for (size_t i = 0; i < sizeof versions / sizeof versions[0]; i++) {
        enum torch_release r = TORCH_2_7;
        cr_expect(torch_release_find(versions[i].text, &r), "%s", versions[i].text);
        cr_expect_eq(r, versions[i].release, "%s is %s", versions[i].text, torch_release_name(r));
        cr_expect_eq(torch_release_is_later(versions[i].text), versions[i].text[2] == '9', "%s", versions[i].text);
    }
}

Test(torch_releases, other_texts_name_none)
{
    static const char *const texts[] = {"", "2", "2.", "1.13", "3.0", "2.x", "2.4x", "npu", "2.-1", " 2.4"};
    enum torch_release r;
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++)
        cr_expect(!torch_release_find(texts[i], &r), "'%s'", texts[i]);
}

Test(torch_releases, every_name_is_found_again)
{
    for (unsigned i = 0; i < TORCH_RELEASES; i++) {
        enum torch_release r;
        cr_assert(torch_release_find(torch_release_name((enum torch_release)i), &r));
        cr_expect_eq((unsigned)r, i);
    }
}

Test(torch_releases, a_layout_is_taken_for_the_newest_release_that_has_it)
{
    for (unsigned i = 0; i < TORCH_RELEASES; i++) {
        const enum torch_release r = torch_release_of_layout(layout_of((enum torch_release)i));
        cr_expect_eq(layout_of(r), layout_of((enum torch_release)i), "2.%u is taken for %s", i, torch_release_name(r));
        cr_expect(r == TORCH_NEWEST || layout_of((enum torch_release)(r + 1)) != layout_of(r), "2.%u", i);
    }
}

Test(torch_releases, a_file_that_lacks_an_older_part_is_recognised_by_its_last_one)
{
    cr_expect_eq(torch_release_of_layout(1u << LAYOUT_POOL_ID), TORCH_2_12);
    cr_expect_eq(torch_release_of_layout(1u << LAYOUT_SETTINGS | 1u << LAYOUT_BLOCK_ADDRESS), TORCH_2_4);
    cr_expect_eq(torch_release_of_layout(0), TORCH_2_0);
}

Test(torch_releases, the_first_alike_has_the_same_layout_and_none_before_it_has)
{
    for (unsigned i = 0; i < TORCH_RELEASES; i++) {
        const enum torch_release first = torch_release_first_alike((enum torch_release)i);
        cr_expect_eq(layout_of(first), layout_of((enum torch_release)i));
        for (unsigned k = 0; k < (unsigned)first; k++)
            cr_expect_neq(layout_of((enum torch_release)k), layout_of(first), "2.%u looks like 2.%u", k, i);
    }
}

Test(torch_releases, the_newest_is_the_default)
{
    const struct policy_option *o = policy_find("pytorch")->options;
    while (strcmp(o->name, "version") != 0)
        o++;
    cr_expect_str_eq(o->fallback, torch_release_name(TORCH_NEWEST));
}

Test(torch_releases, a_sentence_names_the_release_or_the_port)
{
    char title[PYTORCH_RULES_TITLE];
    struct pytorch_rules rules;
    cr_assert(pytorch_rules_find("2.15", &rules));
    cr_expect_str_eq(pytorch_rules_title(&rules, title), "PyTorch 2.15");
    cr_assert(pytorch_rules_find("npu", &rules));
    cr_expect_str_eq(pytorch_rules_title(&rules, title), "torch_npu (Ascend's port of PyTorch 2.4)");
}
