/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * Runs a golden case of another allocator (tests/data/zoo.md) through its policy, and compares placements, device
 * calls, sizes and counters.
 */
#ifndef REPLAY_REPLAY_CONFORM_ZOO_PROGRAM_H
#define REPLAY_REPLAY_CONFORM_ZOO_PROGRAM_H

#include "replay/conform/compare.h"

/* Whether a case is one of the zoo, and not of PyTorch's device allocator. */
bool zoo_is_case(const json_t *root);

/* The policy that a case names, with its options, as typed after --policy; *out is to be freed, NULL after an error.
 * `stand_in`: another policy in its place, with the same options; NULL: none. ERR_FORMAT for options that are not
 * known, ERR_HOST_NOMEM. */
MUST_USE enum err zoo_case_policy(const json_t *root, const char *stand_in, char **out, struct err_detail *err);

/* Runs the case as `policy`. `diff` names the first difference. A stand-in need not have the counters of the real one,
 * and that it does not take an option is a difference. Other errors are ours and not the case's. */
MUST_USE enum err zoo_program_run(const json_t *root, const char *policy, bool is_stand_in, struct difference *diff,
                                  struct err_detail *err);

#endif
