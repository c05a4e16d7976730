/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * Arguments of a compiled program whose place a result could take: jax.jit(f, donate_argnums=). JAX gives a donated
 * argument's buffer to a result of the same shape and type. What was donated is an allocation that is both an argument
 * and a result; of the others those count whose shape a result has that took none.
 *
 * Only a function of the program's own can be jitted otherwise: one whose name is among the frames of its instructions.
 * JAX compiles its own operators too (jnp.multiply), and those of libraries.
 */
#ifndef REPLAY_IMPORT_XLA_DONATION_H
#define REPLAY_IMPORT_XLA_DONATION_H

#include "base/err.h"

#include <hlo.pb-c.h>
#include <stddef.h>
#include <stdint.h>

/* Smaller arguments are left out, and so is what comes after so many. */
enum { XLA_DONATION_LEAST = 64 << 10, XLA_DONATIONS_MOST = 1024 };

/* Of one program and one size of result. */
struct xla_donation {
    uint32_t name;                   /* of the program, as the caller numbers it */
    uint64_t bytes;                  /* of each result */
    uint32_t arguments;              /* of so many bytes that could be donated; 0: programs disagree */
    uint32_t results;                /* that it makes of this size in a run */
};

struct xla_donations {
    struct xla_donation *at;
    size_t n, room;
};

/* Adds what a program could donate. ERR_HOST_NOMEM. */
MUST_USE enum err xla_donations_put(struct xla_donations *d, uint32_t name, const ReplayProto__HloModule *module,
                                    const ReplayProto__HloBufferAssignment *assigned, struct err_detail *err);

#endif
