/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/* Settings as they stand. Source: PyTorch, torch/csrc/cuda/Module.cpp, allocator_settings. */
#include "policies/pytorch/pytorch_export.h"

#include "policies/pytorch/pytorch.h"

bool pytorch_export(const struct policy *policy, struct pytorch_export *out)
{
    const struct pytorch *p = (const struct pytorch *)policy;
    if (policy->ops != &policy_pytorch || p->has_no_cache)
        return false;
    *out = (struct pytorch_export){.release = p->rules.release, .settings = p->settings, .conf = p->conf};
    return true;
}
