/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/* The frozen benchmark: no built-in policy is forgotten, and intervals are Wilson's. */
#include "policies/spec.h"
#include "replay/sweep/suite.h"

#include "tests/edition_names.h"

#include <criterion/criterion.h>
#include <string.h>

static const struct edition edition = { .policy_at = suite_policy_at, .left_out_at = suite_left_out_at };

Test(suite, every_built_in_policy_runs_or_is_left_out_with_a_reason)
{
    for (size_t i = 0; policy_at(i) != NULL; i++)
        cr_expect(edition_names(&edition, policy_at(i)->name),
                  "%s: neither in edition_1.def nor left out there", policy_at(i)->name);
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
