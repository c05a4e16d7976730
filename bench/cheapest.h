/* The cheapest policy that there can be: what is left of a run when the policy does nothing. */
#ifndef REPLAY_BENCH_CHEAPEST_H
#define REPLAY_BENCH_CHEAPEST_H

#include "policies/policy.h"

extern const struct policy_ops policy_cheapest;

#endif
