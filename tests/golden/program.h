/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * Runs one golden case through the policy, and compares each answer as it comes.
 */
#ifndef REPLAY_TESTS_GOLDEN_PROGRAM_H
#define REPLAY_TESTS_GOLDEN_PROGRAM_H

#include "tests/golden/case.h"
#include "replay/conform/compare.h"

/* Runs the case to its end or to the first difference, which `diff` then names. Errors are ours and not the case's: no
 * memory, or no such policy. */
MUST_USE enum err program_run(const struct golden_case *c, struct difference *diff, struct err_detail *err);

#endif
