/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * What differs between the releases of PyTorch, as switches for one release. The table is pytorch_rules.def.
 *
 * The rest of the policy asks for a rule by its name and never compares releases.
 */
#ifndef REPLAY_POLICIES_PYTORCH_PYTORCH_RULES_H
#define REPLAY_POLICIES_PYTORCH_PYTORCH_RULES_H

#include "base/torch_releases.h"

#include <stdbool.h>

struct pytorch_rules {
    enum torch_release release;
    bool is_later;                   /* a release later than the newest known was named: `release` is the newest */
    bool is_npu;                     /* torch_npu's port: 32 bytes more per request, other starts in large ranges */
#define RULE(name, first, last, says) bool name;
#include "policies/pytorch/pytorch_rules.def"
#undef RULE
};

struct pytorch_rules pytorch_rules_of(enum torch_release r);

/* The rules that a person names: a version as torch_release_find takes it, or "npu" for Ascend's port, which has the
 * rules of 2.4 except for what struct pytorch_rules says. False for any other text. */
bool pytorch_rules_find(const char *text, struct pytorch_rules *out);

/* "2.15", "npu". */
const char *pytorch_rules_name(const struct pytorch_rules *rules);

/* As a sentence names them: "PyTorch 2.15", "PyTorch 2.15 (2.16 and later are not known)", "torch_npu (Ascend's port of
 * PyTorch 2.4)". Returns `text`. */
enum { PYTORCH_RULES_TITLE = 64 };
const char *pytorch_rules_title(const struct pytorch_rules *rules, char text[PYTORCH_RULES_TITLE]);

#endif
