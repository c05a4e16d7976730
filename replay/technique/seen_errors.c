/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/* The table as it is compiled. */
#include "replay/technique/seen_errors.h"

#include <assert.h>

static const struct seen_error seen_errors[] = {
#define SEEN_ERROR(change, words_, n, pairs_, reserved, live, n_other, reserved_other, live_other)   \
    [CHANGE_##change] = { .words = words_, .n_pairs = n, .pairs = pairs_,                            \
                          .of_pairs = { reserved, live }, .n_programs = n_other,                     \
                          .of_programs = { reserved_other, live_other } },
#include "replay/technique/seen_errors.def"
#undef SEEN_ERROR
};
static_assert(sizeof seen_errors / sizeof seen_errors[0] == TECHNIQUE_CHANGES, "each change has its errors");

const struct seen_error *seen_error_of(enum technique_change change)
{
    return &seen_errors[change];
}
