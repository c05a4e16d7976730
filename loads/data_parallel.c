/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * Buckets hold copies of gradients, which are added over the ranks; NCCL's own memory does not come from PyTorch's
 * allocator. Source: PyTorch 2.9, torch/csrc/distributed/c10d/reducer.cpp, comm.cpp; nn/parallel/distributed.py.
 */
#include "loads/data_parallel.h"

#include "base/units.h"

#include <stdlib.h>

enum { NUMBER_BYTES = 4 };                           /* the ranks tell each other the buckets in int32 */

static size_t parameters_count(const struct tape *t)
{
    struct tape_parameter p;
    size_t n = 0;
    while (tape_parameter_at(t, n, &p))
        n++;
    return n;
}

/* Bytes of the parameters, in the order in which their gradients came first; returns how many there are. */
static size_t arrivals(const struct tape *t, uint64_t *bytes)
{
    struct tape_parameter p;
    size_t n = 0;
    for (size_t i = 0; tape_parameter_at(t, i, &p); i++)
        if (p.arrival > 0) {
            bytes[p.arrival - 1] = p.bytes;
            n++;
        }
    return n;
}

/* Makes buckets of the sizes in `bytes`, in their place: a bucket is full when it has reached its limit. */
static size_t buckets_of(uint64_t *bytes, size_t n, uint64_t first_limit, uint64_t limit)
{
    size_t n_buckets = 0;
    uint64_t sum = 0;
    for (size_t i = 0; i < n; i++) {
        sum += bytes[i];
        if (sum < (n_buckets == 0 ? first_limit : limit) && i + 1 < n)
            continue;
        bytes[n_buckets++] = sum;
        sum = 0;
    }
    return n_buckets;
}

/* Parameters are sent in pieces; two are under way at once (dist._broadcast_coalesced). */
static void broadcast(struct tape *t, uint64_t *bytes)
{
    struct tape_parameter p;
    size_t n = 0;
    while (tape_parameter_at(t, n, &p))
        bytes[n++] = p.bytes;
    const size_t n_pieces = buckets_of(bytes, n, 250 * MIB, 250 * MIB);
    uint32_t last = TAPE_NONE;
    for (size_t i = 0; i < n_pieces; i++) {
        const uint32_t piece = tape_new(t, bytes[i]);
        tape_drop(t, last);
        last = piece;
    }
    tape_drop(t, last);
}

void data_parallel_begin(struct data_parallel *d, struct tape *t)
{
    uint64_t *bytes = malloc((parameters_count(t) + 1) * sizeof *bytes), sum = 0;
    if (bytes == NULL) {
        tape_no_memory(t);
        return;
    }
    broadcast(t, bytes);
    struct tape_parameter p;
    for (size_t i = 0; tape_parameter_at(t, i, &p); i++)
        sum += p.is_trained ? p.bytes : 0;
    d->bucket = tape_new(t, sum);
    free(bytes);
}

void data_parallel_forward(struct data_parallel *d, struct tape *t)
{
    uint64_t *bytes = malloc((parameters_count(t) + 1) * sizeof *bytes);
    if (bytes == NULL) {
        tape_no_memory(t);
        return;
    }
    const size_t n = d->is_rebuilt ? 0 : arrivals(t, bytes), n_buckets = buckets_of(bytes, n, MIB, 25 * MIB);
    if (n > 0) {
        const uint32_t places = tape_new(t, (n + 1) * NUMBER_BYTES), sizes = tape_new(t, n_buckets * NUMBER_BYTES);
        tape_drop(t, sizes);
        tape_drop(t, places);
        tape_drop(t, d->bucket);
        for (size_t i = 0; i < n_buckets; i++)
            (void)tape_new(t, bytes[i]);             /* kept to the end */
        d->is_rebuilt = true;
    }
    free(bytes);
}
