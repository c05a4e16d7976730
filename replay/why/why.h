/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * Why a program ran out of memory, or what its memory is: one verdict, and the facts it stands on.
 */
#ifndef REPLAY_REPLAY_WHY_WHY_H
#define REPLAY_REPLAY_WHY_WHY_H

#include "replay/advise/own_settings.h"
#include "replay/advise/tune.h"
#include "replay/recording/recorded_limit.h"
#include "replay/recording/settings_facts.h"
#include "replay/recording/coverage.h"
#include "replay/recording/categories.h"
#include "replay/recording/growth.h"
#include "replay/recording/larger_input.h"
#include "replay/recording/loaded_file.h"
#include "replay/recording/new_part.h"
#include "replay/recording/reached.h"
#include "replay/recording/thaw.h"
#include "replay/recording/to_come.h"
#include "replay/why/foreach_step.h"
#include "replay/why/levers.h"
#include "replay/why/oom_text.h"
#include "replay/why/retry_stalls.h"
#include "replay/why/stream_walls.h"
#include "report/text/text.h"

/* In the order in which they are told: the first that holds is the verdict. */
enum verdict_kind {
    VERDICT_NOT_IN_FORCE,            /* a setting was asked for that the release did not apply */
    VERDICT_SOMEBODY_ELSE,           /* without what others hold on the card the request would have been served */
    VERDICT_LIMITED,                 /* a limit refused what the card had room for */
    VERDICT_STREAMS,                 /* it would fit if streams shared memory, or if what was freed were free at once */
    VERDICT_ONE_TENSOR,              /* one request exceeds the card, or half of it and all others by far */
    VERDICT_LEAK,                    /* a line of the program holds more and more, and that made it end */
    VERDICT_LARGER_INPUT,            /* the last input is larger than all before */
    VERDICT_FULL,                    /* live data and the request exceed the card, but for a little in pieces */
    VERDICT_FRAGMENTED,              /* the request would fit into what is free, and that is much */
    VERDICT_RETRIES,                 /* nothing was refused, and requests waited for cached memory again and again */
    VERDICT_CACHE,                   /* nothing was refused; reserved memory is cache */
    VERDICT_RECORDING_ENDS,          /* nothing of the above can be told from this recording */
    /* Of the text of an error only (log_answer.h). */
    VERDICT_CARD_HAD_ROOM,           /* it had, and the text does not tell why the request was refused */
    VERDICT_FULL_OR_FRAGMENTED,      /* the text does not tell which */
    VERDICT_HOST_LENT,               /* the system lent memory of the host beyond the card's */
    VERDICT_HOST,                    /* the host ran out of memory, not the card */
    VERDICT_SHARED_MEMORY,           /* /dev/shm did */
    VERDICT_BUDGET,                  /* the share that a serving engine was given is too small or too large */
    VERDICT_BROKEN_SIZE,             /* the size asked for is none */
    VERDICT_KERNEL,                  /* a kernel wants more of a multiprocessor than it has */
    VERDICT_INDEX,                   /* no memory: a kernel's check failed, mostly of an index or a label */
    VERDICT_LIBRARY,                 /* the driver or a library was refused, not the allocator */
    VERDICT_WORKSPACE,               /* probably a convolution's workspace was */
    VERDICT_UNTOLD,                  /* out of memory; the text does not tell whose */
    VERDICT_KINDS
};

/* How the setting found may be recommended. */
enum cure_kind {
    CURE_NONE,
    CURE_SERVES_REFUSED,             /* it serves the refused request, and what was recorded after it; whether that gets
                                      * the program through a step is not on record */
    CURE_RECOMMENDED,                /* tune recommends it, and a whole step is on record */
};

/* What is free but of no use counts from this share of the card on: 3 percent. */
enum { WHY_UNUSABLE_SHARE = 32 };

/* Whether the program would go on under the setting that serves the refused request. */
enum why_worth {
    WORTH_UNKNOWN,                   /* not tried: there is no setting, or the recording cannot be played on */
    WORTH_NOTHING,                   /* played on by its own pattern, it runs out of memory under it, too */
    WORTH_AS_LONG_AGAIN,             /* played on for as long again, it runs */
};

/* What we call live is not what PyTorch calls allocated. */
#define WHY_LIVE_WORDS "Live is as asked for; PyTorch's \"allocated\" rounds each request up."

enum { WHY_HOLDERS = 5, WHY_SENTENCE = 320 };

/* Bytes. */
struct why {
    enum verdict_kind verdict;
    bool     holds[VERDICT_KINDS];
    struct coverage coverage;
    bool     has_refusal;
    bool     is_state;               /* only a final state was recorded */
    struct recorded_limit limit;     /* that refused requests though the card had room; below 0: none was seen */
    bool     is_simulated;           /* it was made by run-sim, whose streams' work ends at once or as late as it can */
    bool     has_late_uses;          /* something that was freed waited for a stream while others were requested */
    bool     has_streams;            /* it has requests on several */
    bool     is_shrunk;              /* it is what shrink left of a recording */
    bool     is_of_driver;           /* the recording holds calls to the driver, not requests to PyTorch's allocator */
    bool     is_of_xla;              /* it holds requests to XLA's allocator: then `own` says what helps, and nothing of
                                      * `tune` does */
    struct own_settings own;
    enum platform library;           /* whose calls to the driver it holds, if that has an allocator of its own: no
                                      * setting follows from them. PLATFORM_UNKNOWN: it holds other things */
    bool     falls_short;            /* our replay is refused what the program got, as the recording begins in mid-run:
                                      * the recorded refusal is looked at, and no setting is recommended */
    int64_t  event;                  /* the refusal's number in the source; otherwise that of the peak */
    uint64_t asked, reserved, live, free, usable;     /* at the refusal, or at the peak of live data (asked 0) */
    uint64_t recorded_usable;        /* what the program could have of the recorded card; 0: not recorded */
    uint64_t outside;                /* on the named card and not PyTorch's when a request was refused;
                                        OOM_TEXT_UNKNOWN: not known */
    uint64_t total;                  /* of that card */
    uint64_t context_bytes;          /* taken off the card for the CUDA context and libraries */
    const char *device;              /* the card it is looked at on, as typed; borrowed from the choice */
    bool     is_card_named;          /* a person gave its size */
    const char *context_source;      /* where that is from; NULL: typed, or there is none */
    char     context_sentence[WHY_SENTENCE];
    char     shared_sentence[WHY_SENTENCE];          /* its card shares the host's memory; "": it does not */
    uint64_t later_live;             /* after the refusal the recording has so much live at once, which is what exceeds
                                        the card; 0: it does not. The lines and categories are then of that moment */
    int64_t  later_event;            /* its number in the source */
    uint64_t shortfall;              /* live and asked, or live later, beyond usable; 0: they would fit */
    uint64_t recorded_reserved;      /* of a state at its end, else at most; 0: not known, or a card was named */
    uint64_t moment;                 /* our number of the event before which all this is looked at */
    char     asked_line[WHY_SENTENCE];           /* asked for what was refused; "": not known */
    enum reached reached;        /* before the refusal that ended it */
    struct growth growth;
    bool     joins;                  /* the refused request was to join what the growth keeps, as torch.cat does */
    struct larger_input input;
    struct new_part part;            /* of the request that ended it, if the program made turns: of a part that none
                                      * before the last one had */
    struct thaw thaw;
    struct stream_walls walls;       /* looked for if the request and all that is live would fit */
    struct retry_stalls stalls;      /* if nothing was refused */
    struct loaded_file loaded;       /* of what is full, or of a larger input */
    struct foreach_step step;        /* of what is full */
    struct to_come to_come;          /* of what is full in its first step */
    bool     learns;                 /* gradients or steps of an optimizer were computed before the moment, or nothing
                                      * tells */
    bool     is_checkpointing;       /* it calls modules through torch.utils.checkpoint */
    struct levers levers;            /* of what is full, if a whole step is on record */
    struct holders lines;            /* by line, at the moment */
    struct holders categories;       /* at the moment; of named_bytes the category is known */
    uint64_t named_bytes;
    bool     is_by_size;             /* no stacks were recorded: `lines` are by size instead */
    struct settings_facts settings;
    struct tune tune;
    bool     is_served;              /* the winner of `tune` serves the refused request, cure or not */
    enum cure_kind cure;
    unsigned lasted;                 /* turns of tune.pattern; unless worth is unknown */
    enum why_worth worth;            /* of the setting that `cure` is about, or that was dropped as worth nothing */
};

/* Looks at a recording on a card, which is the recorded one unless a person named another. `is_state`: it holds a final
 * state only. tune_run's errors, the reader's, ERR_HOST_NOMEM. Released with why_close, also on error. */
MUST_USE enum err why_read(struct trace_reader *trace, bool is_state, const struct device_choice *device,
                           const struct replay_config *cfg, struct why *out, struct err_detail *err);
void why_close(struct why *w);

/* "fragmented". */
const char *why_word(enum verdict_kind v);

/* Whether what was recorded would fit on the card, but runs under none of the settings tried. */
bool why_is_incurable(const struct why *w);

/* What of the card is free, but was of no use for the refused request. */
uint64_t why_unusable(const struct why *w);

/* Whether the turn that died exceeds the card under any allocator, if it is as large as the largest before it. */
bool why_turn_exceeds(const struct why *w);

/* Whether the card is too small though the refused request would fit, or nothing tells that it is not: the setting that
 * serves the request buys next to nothing, or nothing repeats. */
bool why_dies_all_the_same(const struct why *w);

/* Whether requests were refused, and the program went on after each. */
bool why_is_survived(const struct why *w);

/* Whether the step of the optimizer fits if it computes one weight after the other. */
bool why_fits_by_weight(const struct why *w);

/* Whether checkpointing may save something: the program does not do it, it is not tried and of no use, and the program
 * learns, or holds what may be a graph. */
bool why_may_checkpoint(const struct why *w);

/* Whether an answer that speaks of all of the program, "nothing was refused", holds only until the recording ends: it
 * does not show the program's end. */
bool why_end_is_unseen(const struct why *w);

/* Whether what is live may be a graph, and nothing was learned. */
bool why_may_need_no_gradients(const struct why *w);

/* Whether a setting serves the request of a full card, and is named with what else to do. */
bool why_names_setting(const struct why *w);

/* Whether it is said among the reasons that a setting serves the request, of a card that is full or a program that died
 * early. */
bool why_mentions_setting(const struct why *w);

/* Whether the program died before it went through a whole step, so that what it needs is not known. */
bool why_is_early(const struct why *w);

/* Whether it died in a part that had just begun, after whole steps or turns, so that what that part needs is not known.
 */
bool why_is_in_new_part(const struct why *w);

/* Whether the program died before a whole step, or early in a part of its own: how much more it needs is not known, and
 * no setting is given to paste that serves one request of it. */
bool why_is_open(const struct why *w);

/* The answer for a terminal of 80 columns: the verdict, the line to paste, at most ten lines of reasons. */
void why_print(FILE *out, const struct why *w, const char *event_word);

/* Its parts: the verdict in a sentence; the others that hold, empty if none does; the lines to paste and what they
 * achieve, both empty without a cure; the reasons, a paragraph each that begins with "- ". */
void why_add_verdict(struct words *words, const struct why *w);
void why_add_also(struct words *words, const struct why *w);
void why_put_paste(FILE *out, const struct why *w, const char *indent);
void why_add_promise(struct words *words, const struct why *w);

/* What to do where there is nothing to paste; empty with a cure. */
void why_add_act(struct words *words, const struct why *w);
/* What to change in the program where streams hold it. */
void why_add_walls_act(struct words *words, enum walls_kind kind);
void why_print_reasons(FILE *out, const struct why *w, const char *event_word);

/* The members of answers/why_recording.def. */
void why_recording_json(struct json_writer *json, const struct why *w);

#endif
