/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * What a memory snapshot says of the allocator itself, apart from segments and records.
 */
#ifndef REPLAY_POLICIES_PYTORCH_PYTORCH_EXPORT_H
#define REPLAY_POLICIES_PYTORCH_PYTORCH_EXPORT_H

#include "policies/policy.h"
#include "policies/pytorch/pytorch_conf.h"

struct pytorch_export {
    enum torch_release    release;
    struct pytorch_settings settings;
    const char             *conf;    /* the last settings text, even if it was refused; borrowed until the next */
};

/* False if the policy is not `pytorch`, or caches nothing and so keeps no blocks. */
bool pytorch_export(const struct policy *policy, struct pytorch_export *out);

#endif
