/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/* The rows of pytorch_rules.def that hold in one release. */
#include "policies/pytorch/pytorch_rules.h"

#include <stdio.h>
#include <string.h>

static bool is_within(enum torch_release r, enum torch_release first, enum torch_release last)
{
    return r >= first && r <= last;
}

struct pytorch_rules pytorch_rules_of(enum torch_release r)
{
    assert(r < TORCH_RELEASES);
    return (struct pytorch_rules){
        .release = r,
#define RULE(name, first, last, says) .name = is_within(r, TORCH_##first, TORCH_##last),
#include "policies/pytorch/pytorch_rules.def"
#undef RULE
    };
}

bool pytorch_rules_find(const char *text, struct pytorch_rules *out)
{
    enum torch_release release = TORCH_2_4;          /* the one that was ported */
    const bool is_npu = strcmp(text, "npu") == 0;
    if (!is_npu && !torch_release_find(text, &release))
        return false;
    *out = pytorch_rules_of(release);
    out->is_npu = is_npu;
    out->is_later = !is_npu && torch_release_is_later(text);
    return true;
}

const char *pytorch_rules_name(const struct pytorch_rules *rules)
{
    return rules->is_npu ? "npu" : torch_release_name(rules->release);
}

const char *pytorch_rules_title(const struct pytorch_rules *rules, char text[PYTORCH_RULES_TITLE])
{
    const char *release = torch_release_name(rules->release);
    if (rules->is_later)
        snprintf(text, PYTORCH_RULES_TITLE, "PyTorch %s (2.%d and later are not known)", release, TORCH_RELEASES);
    else
        snprintf(text, PYTORCH_RULES_TITLE, rules->is_npu ? "torch_npu (Ascend's port of PyTorch %s)" : "PyTorch %s",
                 release);
    return text;
}
