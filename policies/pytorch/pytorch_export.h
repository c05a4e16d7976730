/*
 * What a memory snapshot says of the allocator itself.
 */
#ifndef REPLAY_POLICIES_PYTORCH_PYTORCH_EXPORT_H
#define REPLAY_POLICIES_PYTORCH_PYTORCH_EXPORT_H

#include "policies/policy.h"
#include "policies/pytorch/pytorch_conf.h"

struct pytorch_export {
    enum torch_release    release;
    struct pytorch_settings settings;
    const char             *conf;    /* the settings text given last, refused ones included; lent until it changes */
};

/* False for a policy that is not the model of PyTorch's allocator, or one that keeps no blocks of its own. */
bool pytorch_export(const struct policy *policy, struct pytorch_export *out);

#endif
