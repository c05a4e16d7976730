/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * Who wins: the one rule for "best", used by the terminal, Markdown, the page, the database, `fit` and `tune`.
 *
 *   1. On a given card, a run that gets through comes before one that does not.
 *   2. Then the lower score. A score is what the run needs of the card, in bytes, plus its modelled driver time at a
 *      price in bytes per millisecond.
 *   3. Runs whose scores are within 2 % of the card of the lowest are alike. Of these the simplest setting wins:
 *      PyTorch's default, then the fewest changed options, then the lower score, then the shorter text, then the order
 *      of the alphabet. (Not the order typed: a database does not know it.)
 *
 *   4. Under a recording of a library's own requests (JAX, TensorFlow) its settings have the score 0, and count as
 *      simple by their order (policy_own_order): the first that gets through wins, the library as it comes before all.
 *      What it takes of the card in advance is no need of the program's, and less of it is no gain.
 *
 * So a run that is better in memory and time than the winner is alike and changes more, or it is the winner. A list is
 * in the order of 1 and 2, with the winner first.
 *
 *       bytes of the card                     The price is the slope of the lines: all runs on one line are equally
 *         |  \   \                            good, and the lowest line that touches a run names the winner.
 *         |   \  none \
 *         | best-fit   \
 *         |_____\_______\____ driver time
 */
#ifndef REPLAY_REPORT_ROWS_WINNER_H
#define REPLAY_REPORT_ROWS_WINNER_H

#include "base/units.h"
#include "report/text/text.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * The price unless --price says otherwise: 1 GiB less is worth one second more of driver time within the recording.
 *
 * Why: memory is worth its share of the card, driver time its share of the recording. Both shares are equal at
 * (bytes of the card) / (length of the recording): for 80 GiB and 80 s that is 1 MiB per ms. A recording of 10 s on
 * such a card asks for 8 MiB per ms.
 */
#define WINNER_PRICE_BYTES_PER_MS MIB

#define WINNER_NONE SIZE_MAX

/* How simple a setting is to explain. */
struct simplicity {
    bool        is_default;          /* PyTorch's allocator as it comes */
    unsigned    n_changed;           /* options that differ from their defaults */
    const char *typed;               /* borrowed */
    unsigned    own_order;           /* rule 4: its place among the library's settings, from 1; 0: it is none */
};

/* Fills own_order, and n_changed by it, for a run of this policy on a recording of this kind (trace_source). */
void simplicity_take_own(struct simplicity *s, const char *policy, const char *source);

/* One run as the rule sees it. */
struct contender {
    struct simplicity setting;
    const char *label;               /* how sentences name it; borrowed */
    bool     is_ok;                  /* it got through */
    bool     is_oom;                 /* it did not, because a request was refused */
    uint64_t bytes;                  /* that it needs of the card: the smallest card on which it runs (`fit`, `tune`),
                                      * or its peak of the card */
    uint64_t card_bytes;             /* the card that is asked about; UINT64_MAX: it has no end */
    uint64_t time_ns;                /* modelled driver time */
    uint64_t calls;                  /* that reached the driver */
    double   in_use_percent;         /* of what it reserves at most; only sentences use it */
};

/* Bytes; capped at UINT64_MAX. The first is rule 2, the second also rule 4. */
uint64_t winner_score(uint64_t bytes, uint64_t time_ns, uint64_t price_bytes_per_ms);
uint64_t contender_score(const struct contender *c, uint64_t price_bytes_per_ms);

/* Below 0: `a` is better; 0: only if both are the same setting with the same score. */
int winner_compare(const struct contender *a, const struct contender *b, uint64_t price_bytes_per_ms);

/* The third rule alone. */
int winner_compare_simplicity(const struct simplicity *a, const struct simplicity *b);

/* By how much a score may pass the lowest and still be alike: 2 % of the card; of the lowest score, if the card has no
 * end (UINT64_MAX). */
uint64_t winner_margin(uint64_t card_bytes, uint64_t least_score);
enum { WINNER_MARGIN_SHARE = 50 };

/* Whether one that got through is alike with the one of the lowest score; whether of two such `a` goes before `b`. */
bool winner_is_alike(const struct contender *c, const struct contender *lowest, uint64_t price_bytes_per_ms);
bool winner_is_simpler(const struct contender *a, const struct contender *b, uint64_t price_bytes_per_ms);

/* The winner of those that got through; WINNER_NONE: none did. *n_alike, unless NULL: how many are alike, the winner
 * among them. */
size_t winner_of(const struct contender *all, size_t n, uint64_t price_bytes_per_ms, size_t *n_alike);

/* One setting over many cases. Its order: more cases first, then the lower mean score, then the simpler setting. */
struct contender_over_cases {
    struct simplicity setting;
    uint64_t n_ok;                   /* cases that it gets through */
    double   mean_score;             /* of score / peak requested over these, so that small traces count as large */
    double   mean_margin;            /* of the margin / peak requested */
};
int winner_compare_over_cases(const struct contender_over_cases *a, const struct contender_over_cases *b);

/* The winner over many cases: rule 3 among those that get through as many as the first of that order. *n_alike: how
 * many these are, the winner among them. */
size_t winner_over_cases(const struct contender_over_cases *all, size_t n, size_t *n_alike);

/* The sentence that names the winner and says how the others compare, at most `most` of them. One got through. */
void winner_say(struct words *w, const struct contender *all, size_t n, uint64_t price_bytes_per_ms, size_t most);

/* " 3 of 4 are alike: they differ by less than 2% of the card (163.84 MiB), and the simplest is named." Nothing if no
 * other is alike. */
void winner_say_alike(struct words *w, const struct contender *all, size_t n, uint64_t price_bytes_per_ms);

/* "a millisecond of driver time counts as much as 1 MiB of the card (--price)" */
/* After the name of one of a library's own settings: why it is named. Static. */
const char *winner_own_words(const struct contender *c);

void winner_say_price(struct words *w, uint64_t price_bytes_per_ms);

#endif
