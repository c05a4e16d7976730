/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * The program on which two allocators differ, or which drives one to reserve most.
 *
 *     programs by chance and by patterns --> run --> what differs is shrunk --> the best of each number of calls
 *                                             ^                                          |
 *                                             +-------- changed in one place <-----------+
 *
 * Of two allocators all programs of few calls from a list of sizes are tried as well, so that "no shorter one" is known
 * for these sizes. A program counts by its score: of two, what the smaller peak is less than the larger, as a share of
 * it, or 1 if one of them refuses a request; of one, the largest card that refuses a request, as a multiple of 1 GiB,
 * which is the most that is live. If acts are asked for, a program whose requests and frees alone differ counts
 * nothing. A card that is smaller than what is live shows nothing of an allocator, and what is refused on any card
 * nothing of a card: these count nothing. The same question and seed give the same answer.
 */
#ifndef REPLAY_REPLAY_ADVERSARY_ADVERSARY_SEARCH_H
#define REPLAY_REPLAY_ADVERSARY_ADVERSARY_SEARCH_H

#include "replay/adversary/tried_program.h"
#include "replay/shrink/shrink.h"

/* So much is live at most when one allocator is driven: segments and sizes that it rounds to are small beside it. */
#define ADVERSARY_LIVE GIB

struct adversary_request {
    const char *policies[2];         /* as typed; the second NULL: the worst of the first */
    const char *device;              /* as typed; NULL: unlimited */
    size_t   most_calls;             /* 0: as adversary_find chooses */
    bool     is_largest;             /* of two: the largest difference in most_calls calls, not the fewest calls */
    bool     has_acts;               /* of two of PyTorch's: only programs that differ by private pools, captures and
                                      * uses of another stream count */
    uint64_t seed, programs;         /* so many are tried */
    const volatile sig_atomic_t *interrupted;
    void   (*progress)(void *arg, uint64_t done, uint64_t total);
    void    *progress_arg;
};

/* The best program of so many calls. */
struct adversary_best {
    struct tried_program program;
    double   score;                  /* 0: none was found, or fewer calls do as well */
    uint64_t peak_bytes[2], live_bytes;
    uint64_t card_bytes;             /* of one: the largest card that refuses a request */
    bool     is_refused[2];
};

/* Zero is a valid beginning and end. */
struct adversary {
    struct policy_spec specs[2];
    size_t   n_specs;
    struct device_choice device;
    struct adversary_best *best;     /* by number of calls, up to most_calls */
    size_t   most_calls;
    struct adversary_best found;     /* score 0: nothing differs */
    struct shrunk left;              /* the found program, as shrink leaves it; one with acts, as it is */
    struct trace_reader *trace;      /* of it, before */
    uint64_t n_tried;                /* programs */
    size_t   all_below;              /* every program of fewer calls than this from the plain sizes was tried, and none
                                      * differs */
    bool     is_stopped;             /* interrupted: the best so far is the result */
    bool     refuses_always;         /* of one: it refused a request on every card */
};

/* policy_spec_parse's and device_choose's errors; those of a lane, such as a setting that a release does not know.
 * ERR_USAGE for acts if not both are PyTorch's allocator. */
MUST_USE enum err adversary_find(const struct adversary_request *asked, struct adversary *out, struct err_detail *err);
void adversary_close(struct adversary *a);

/* Robson's bounds for the sizes of the found program, as multiples of what is live: no allocator that leaves blocks
 * where they are can be sure to stay below *any; first fit stays below about *first_fit. `size_ratio`: the largest
 * request by the smallest. */
struct robson_bounds { double size_ratio, any, first_fit; };
struct robson_bounds robson_bounds_of(const struct tried_program *p);

#endif
