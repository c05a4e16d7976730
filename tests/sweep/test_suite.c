/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/* The frozen benchmark: no built-in policy is forgotten, and intervals are Wilson's. */
#include "policies/spec.h"
#include "replay/sweep/suite.h"

#include <criterion/criterion.h>
#include <string.h>

/* Whether the edition runs a policy, under whatever name and options, or says why not. */
static bool is_named(const char *name)
{
    const char *typed, *err;
    for (size_t i = 0; (typed = suite_left_out_at(i, &err)) != NULL; i++)
        if (strcmp(typed, name) == 0)
            return err[0] != '\0';
    for (size_t i = 0; (typed = suite_policy_at(i)) != NULL; i++) {
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

Test(suite, every_built_in_policy_runs_or_is_left_out_with_a_reason)
{
    for (size_t i = 0; policy_at(i) != NULL; i++)
        cr_expect(is_named(policy_at(i)->name), "%s: neither in edition_1.def nor left out there", policy_at(i)->name);
}

/* Values of Wilson's interval at 95 %, worked out beside it. */
Test(suite, intervals_are_wilsons)
{
    const struct { unsigned k, n; double low, high; } cases[] = {
        { 0, 22, 0, 14.87 }, { 22, 22, 85.13, 100 }, { 10, 22, 26.92, 65.34 }, { 1, 2, 9.45, 90.55 },
        { 81, 263, 25.53, 36.62 },
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        double low, high;
        survival_interval(cases[i].k, cases[i].n, &low, &high);
        cr_expect_float_eq(low, cases[i].low, 0.01, "%u of %u: from %g", cases[i].k, cases[i].n, low);
        cr_expect_float_eq(high, cases[i].high, 0.01, "%u of %u: to %g", cases[i].k, cases[i].n, high);
    }
}
