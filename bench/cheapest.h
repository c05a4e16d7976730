/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/* The cheapest possible policy. A run with it takes the time of everything but the policy. */
#ifndef REPLAY_BENCH_CHEAPEST_H
#define REPLAY_BENCH_CHEAPEST_H

#include "policies/policy.h"

extern const struct policy_ops policy_cheapest;

#endif
