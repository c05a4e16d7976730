/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * Each process in turn, with those that were seen running beside it:
 *
 *     looks         1   2   3   4   5
 *     4711  8 GiB   x   x   x               with 4712: 10 GiB
 *     4712  2 GiB           x   x           with 4711: 10 GiB
 *     4713  1 GiB                   x       alone
 *
 * The process that held most is replayed; what the others add to it is 2 GiB.
 */
#include "dryrun/card_sharing.h"

static bool were_together(const struct following_span *a, const struct following_span *b)
{
    return a->first <= b->last && b->first <= a->last;
}

static const struct following_span *span_of(const struct following_spans *spans, uint32_t pid)
{
    for (size_t i = 0; i < spans->n; i++)
        if (spans->at[i].pid == pid)
            return &spans->at[i];
    return NULL;
}

/* What the processes hold together that were beside one of them, and how many they are. */
static uint64_t held_beside(const struct sim_card *c, const struct following_spans *spans, size_t k, int device,
                            unsigned *n)
{
    size_t n_uses;
    const struct process_use *uses = sim_card_processes(c, &n_uses);
    const struct following_span *mine = span_of(spans, uses[k].pid), *other;
    uint64_t bytes = 0;
    *n = 0;
    for (size_t i = 0; mine != NULL && i < n_uses; i++) {
        const uint64_t peak_bytes = uses[i].peak_bytes[device];
        if (i == k || peak_bytes == 0 || (other = span_of(spans, uses[i].pid)) == NULL || !were_together(mine, other))
            continue;
        bytes += peak_bytes;
        ++*n;
    }
    return bytes;
}

static struct card_others others_on(const struct sim_card *c, const struct following_spans *spans, int device)
{
    size_t n_uses;
    const struct process_use *uses = sim_card_processes(c, &n_uses);
    struct card_others others = { .n = 0 };
    uint64_t alone_bytes, together_bytes = 0;
    sim_card_largest_process(c, device, &alone_bytes);
    for (size_t i = 0; i < n_uses; i++) {
        const uint64_t peak_bytes = uses[i].peak_bytes[device];
        unsigned n;
        const uint64_t bytes = peak_bytes == 0 ? 0 : peak_bytes + held_beside(c, spans, i, device, &n);
        if (bytes > together_bytes) {
            together_bytes = bytes;
            others.n = n;
        }
    }
    others.bytes = together_bytes - alone_bytes;
    return others.bytes > 0 ? others : (struct card_others){ .n = 0 };
}

struct card_others card_sharing_find(const struct sim_card *c, const struct following_spans *spans)
{
    struct card_others most = { .n = 0 };
    for (int i = 0; i < CALL_DEVICES_MAX; i++) {
        const struct card_others others = others_on(c, spans, i);
        if (others.bytes > most.bytes)
            most = others;
    }
    return most;
}
