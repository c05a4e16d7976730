/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * What JAX's own allocator (XLA's BFC) says that it held: Device.memory_stats(), which is public and has kept its names
 * from release to release. The driver sees none of it, because JAX takes most of the card by one request at its start.
 * cudasim/python/replay_jax.py writes the file that is read here.
 */
#ifndef REPLAY_DRYRUN_RUN_JAX_HELD_H
#define REPLAY_DRYRUN_RUN_JAX_HELD_H

#include "report/text/text.h"

#include <stdbool.h>
#include <stdint.h>

/* Of the process and device that held most. */
enum { JAX_MIXED_TEXT = 200 };

struct jax_held {
    bool     is_there;
    uint64_t peak_bytes;             /* in use: what its programs and arrays took at once */
    uint64_t pool_bytes;             /* of the card, at most */
    uint64_t limit_bytes;            /* that it may take */
    bool     preallocates;           /* takes the limit at once */
    char     mixed[JAX_MIXED_TEXT];  /* "jaxlib 0.10.2, ...": JAX's parts, if they are of different releases; else "" */
};

/* In the folder of a run's journals, and removes the files there. Lines that are none of ours are passed over. */
void jax_held_read(const char *journals, struct jax_held *out);

/* What it may take of a card of `total_bytes`, as a share. JAX counts a card's memory to some MiB otherwise than its
 * driver tells, so a share that is nearly a whole percentage is that. */
double jax_held_share(const struct jax_held *h, uint64_t total_bytes);

/* Its allocator as a policy that may hold so many bytes. */
enum { JAX_POLICY_TEXT = 96 };
void jax_held_policy(const struct jax_held *h, uint64_t limit_bytes, char out[static JAX_POLICY_TEXT]);

/* Sentences: what it held, and what that tells of the card; of parts that do not fit each other;
 * nothing if JAX did not run. */
void jax_held_say(struct words *out, const struct jax_held *h);

#endif
