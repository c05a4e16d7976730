/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * The text of PyTorch's OutOfMemoryError, taken apart: what a person has who recorded nothing.
 *
 * Source of the texts: policies/pytorch/pytorch_text.c.
 */
#ifndef REPLAY_REPLAY_WHY_OOM_TEXT_H
#define REPLAY_REPLAY_WHY_OOM_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define OOM_TEXT_UNKNOWN UINT64_MAX

/* Of several ranks that died, what tells which was the first. */
enum oom_text_first { OOM_FIRST_OF_LINES, OOM_FIRST_BY_TIME, OOM_FIRST_BY_LAUNCHER,
                      OOM_SHORT };   /* nothing: it is one that no setting cures, as it may cure the first */

/* Bytes; OOM_TEXT_UNKNOWN: the text does not say, which holds for process, allowed,
 * private_pools and expandable_reserve only. */
struct oom_text {
    uint64_t asked;                  /* of the device: whole segments in most releases */
    uint64_t total, free;            /* of the card */
    uint64_t process;                /* this process, context and libraries included */
    uint64_t others;                 /* sum of the other processes that the text names */
    bool     is_listed;              /* the program itself is among "Process N", as in a container, where PyTorch does
                                      * not know its own number; `others` leaves out the one whose figure fits it */
    uint64_t other_id, other_bytes;  /* number and memory of the largest other process; 0: none is named */
    bool     lists_processes;        /* as PyTorch does on Linux from 2.1 on, with NVIDIA's driver */
    bool     lacks_free;             /* `free` is what is not reserved, at most */
    uint64_t allowed;                /* limit set by a memory fraction */
    uint64_t allocated, reserved;    /* by PyTorch */
    uint64_t private_pools;          /* free in private pools, as of CUDA graphs; part of `allocated` */
    unsigned gpu;
    const char *variable;            /* of the settings, as the text names it; PYTORCH_CUDA_ALLOC_CONF if it names none.
                                      * Static */
    bool     is_foreign;             /* of a device that is none of PyTorch's own: "MUSA out of memory" */
    bool     is_headless;            /* it lacks its first words: another error's may stand there */
    bool     is_early;               /* the wording up to PyTorch 2.0 */
    bool     names_max_split;        /* max_split_size_mb */
    bool     is_before_general;      /* of 2.9 or older, by its wording: PYTORCH_ALLOC_CONF is not read */
    bool     is_expandable;          /* expandable segments are on; known from 2.14 on */
    uint64_t expandable_reserve;     /* which the request exceeds, where expandable segments cannot grow beyond it */
    int64_t  rank;                   /* of a distributed program, as the line begins; -1: it does not say */
    uint64_t time;                   /* at the line's begin, in ms, to be compared only; 0: it has none */
    enum oom_text_first first;       /* why it counts as the first death */
    int64_t  root_rank;              /* which torchrun names as the first to fail; -1: it names none */
    bool     is_root_missing;        /* none of the texts is of that rank */
    uint64_t line;                   /* of the text that was searched, from 1 on */
    size_t   at;                     /* where in it */
    uint64_t n_errors;               /* that the text holds */
    bool     is_of_ranks;            /* other ranks of the run are on its GPU, as far as ranks and GPUs tell */
    size_t   n_ranks;                /* that they are of; of GPUs, if ranks are not named */
};

/* Looks for such texts in text[0, n), whatever stands around and within them: a log, a traceback, line breaks, colours,
 * a prefix of each line. A program may survive an error and try again, so each rank died of its last one. Takes the
 * first of these, because a rank that dies may take others with it: the one that torchrun names, or the earliest by the
 * times of the lines, or the first line. If a setting may cure that one, and the launcher does not name it, the first
 * that none cures counts: the run dies of it in any case. False if there is none with all sizes that every release
 * writes; then *out is the last that lacks some, or has line 0. */
bool oom_text_find(const char *text, size_t n, struct oom_text *out);

enum { OOM_RANKS_MAX = 256 };        /* the ranks told apart; the errors of later ones are counted only */

/* The last error of each rank, or of each GPU if ranks are not named, in the order of the first ones. */
struct oom_deaths {
    struct oom_text at[OOM_RANKS_MAX];
    size_t          n;
};

/* The same, and all deaths that *out was chosen from; none if it is false. */
bool oom_text_find_deaths(const char *text, size_t n, struct oom_text *out, struct oom_deaths *deaths);

/* Whether a card can have so many bytes: some, and no more than any that is sold. */
bool oom_text_is_card(uint64_t bytes);

/* The first that such a text lacks: "the card's capacity". NULL: nothing. Static. */
const char *oom_text_lacks(const struct oom_text *t);

/* The smallest request that the segment asked for may stand for. */
uint64_t oom_text_least_asked(const struct oom_text *t);

/* The rank that the line of text[at] begins with, before it, as "[rank3]: "; -1: it names none. */
int64_t oom_text_rank(const char *text, size_t at);

/* How far a figure of the text may be off: half of its second decimal. */
uint64_t oom_text_rounding(uint64_t bytes);

/* What the card has in use that PyTorch did not reserve: contexts, libraries, other processes. 0 if it is less than the
 * rounding of the figures; OOM_TEXT_UNKNOWN if they contradict each other. */
uint64_t oom_text_outside(const struct oom_text *t);

#endif
