/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * Who holds the memory: the live requests at one moment, grouped by line of the program, size, stream and more.
 */
#ifndef REPLAY_REPLAY_RECORDING_HOLDERS_H
#define REPLAY_REPLAY_RECORDING_HOLDERS_H

#include "base/err.h"
#include "base/intern.h"
#include "report/text/json_writer.h"
#include "traces/trace.h"

/* What a request is for: X(NAME, word). doc/recording.md defines them. */
#define CATEGORIES(X)                                                                                       \
    X(UNKNOWN, "unknown")                                                                                   \
    X(PARAMETERS, "parameters")                                                                             \
    X(BUFFERS, "buffers")                                                                                   \
    X(GRADIENTS, "gradients")                                                                               \
    X(OPTIMIZER, "optimizer state")                                                                         \
    X(ACTIVATIONS, "activations")                                                                           \
    X(TEMPORARIES, "temporaries")                                                                           \
    X(WORKSPACES, "workspaces")                                                                             \
    X(INPUTS, "inputs")

enum category {
#define CATEGORY(name, word) CATEGORY_##name,
    CATEGORIES(CATEGORY)
#undef CATEGORY
    CATEGORY_KINDS
};
const char *category_word(enum category category);

/* One live request. `born` and `died` are our numbers of events; -1: before the first. */
struct holding {
    uint64_t bytes;                  /* as requested */
    int64_t  born;
    uint64_t died;                   /* UINT64_MAX: not in the recording */
    uint32_t stack;                  /* TRACE_NO_STACK: none */
    uint16_t stream;                 /* dense */
    uint8_t  pool;                   /* dense */
    uint8_t  category;               /* enum category; unknown until categories_find */
    bool     is_guess;               /* the category is likely, no more; until then false */
};

/* What is live in front of event `moment`. */
struct holdings {
    struct holding *at;              /* n of them, by slot */
    size_t   n;
    uint64_t bytes, moment;
    uint64_t peak_bytes, peak_moment;    /* the most that is ever live, and the first moment at which it is */
};

/* Which moments a person can name. */
enum moment_kind { MOMENT_PEAK, MOMENT_REFUSAL, MOMENT_END, MOMENT_EVENT };

/* Reads the events three times at most. `event` counts for MOMENT_EVENT. ERR_USAGE if nothing was refused, or the event
 * is not there; ERR_HOST_NOMEM; the reader's errors. */
MUST_USE enum err holdings_read(struct trace_reader *trace, enum moment_kind kind, uint64_t event,
                                struct holdings *out, struct err_detail *err);

/* Bytes of a category; *n: how many requests, unless it is NULL. */
uint64_t holdings_of(const struct holdings *h, enum category category, size_t *n);

/* Keeps only what was requested at event `since` or later. */
void holdings_keep_new(struct holdings *h, uint64_t since);
void holdings_close(struct holdings *h);

enum holder_key { HOLDER_LINE, HOLDER_FILE, HOLDER_STACK, HOLDER_SIZE, HOLDER_STREAM, HOLDER_POOL, HOLDER_CATEGORY,
                  HOLDER_MODULE, HOLDER_KEYS };

/* name: in holders.names; guessed_bytes: of the bytes, those whose category is a guess. */
struct holder { uint32_t name; uint64_t bytes, n, guessed_bytes; };

/* Groups, largest first; of equal ones the first met. */
struct holders {
    struct text_table names;
    struct holder *at;               /* n of them */
    size_t n, room;
};

/* What a request without a stack is called: where Python was recorded it comes from a backward pass (phases.h). Static.
 * Reads all stacks. */
const char *holders_stackless_name(const struct trace_reader *trace);

/* Groups what is held. ERR_HOST_NOMEM. */
MUST_USE enum err holders_group(struct trace_reader *trace, const struct holdings *h, enum holder_key key,
                                struct holders *out, struct err_detail *err);

/* Adds one request to the group of a name, and sorts the groups as holders_group does. ERR_HOST_NOMEM. */
MUST_USE enum err holders_put(struct holders *g, const char *name, uint64_t bytes, struct err_detail *err);
void holders_sort(struct holders *g);

/* True if the recording has labels. */
bool holders_are_labelled(const struct trace_reader *trace);
const char *holder_name(const struct holders *h, size_t i);

/* The category of most of it is a guess: it may be named, but advice may not build on it. */
bool holder_is_guess(const struct holder *one);

/* How many there are, at most so many. */
size_t holders_most(const struct holders *h, size_t most);

/* One of them, for JSON. */
struct holder_at {
    const struct holders *all;
    size_t i;
};
void holder_json(struct json_writer *json, const struct holder_at *h);
void held_category_json(struct json_writer *json, const struct holder_at *h);

void holders_close(struct holders *h);

#endif
