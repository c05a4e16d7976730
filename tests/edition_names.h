/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/* Whether an edition of the benchmark runs a policy. */
#ifndef REPLAY_TESTS_EDITION_NAMES_H
#define REPLAY_TESTS_EDITION_NAMES_H

#include "policies/spec.h"

#include <criterion/criterion.h>
#include <string.h>

struct edition {
    const char *(*policy_at)(size_t i);
    const char *(*left_out_at)(size_t i, const char **reason);
};

/* Under whatever name and options, or says why not. */
static bool edition_names(const struct edition *e, const char *name)
{
    const char *typed, *reason;
    for (size_t i = 0; (typed = e->left_out_at(i, &reason)) != NULL; i++)
        if (strcmp(typed, name) == 0)
            return reason[0] != '\0';
    for (size_t i = 0; (typed = e->policy_at(i)) != NULL; i++) {
        struct policy_spec spec;
        struct err_detail wrong = { .text = "" };
        cr_assert_eq(policy_spec_parse(typed, &spec, &wrong), ERR_OK, "%s: %s", typed, wrong.text);
        const bool is_it = strcmp(spec.ops->name, name) == 0;
        policy_spec_close(&spec);
        if (is_it)
            return true;
    }
    return false;
}

#endif
