/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * Loads: traces made by a rule, as a person types them.
 *
 *     530-270    mix:2000    transformer:layers=12,width=768,batch=8    serve:requests=azure.csv,cache=paged
 *
 * The same text, number of events and seed give the same bytes on every machine: all is computed in whole numbers.
 */
#ifndef REPLAY_LOADS_LOAD_H
#define REPLAY_LOADS_LOAD_H

#include "traces/trace.h"

enum load_option_kind { LOAD_NUMBER, LOAD_BYTES, LOAD_WORD, LOAD_TEXT };
enum { LOAD_OPTIONS_MAX = 24 };

struct load_option {                     /* name == NULL ends the list */
    const char *name;
    enum load_option_kind kind;
    uint64_t    min, max;                /* LOAD_NUMBER, LOAD_BYTES, inclusive */
    const char *fallback;                /* as it would be typed; NULL: must be given */
    const char *words;                   /* LOAD_WORD: "fp32|bf16" */
    const char *help;
};

/* What a load is made from. `values` has one element per option. */
struct load_value { uint64_t number; const char *text; };        /* WORD: its place in the list; TEXT: the text */
struct load_request {
    const struct load_value *values;
    uint64_t events;                     /* 0: the kind's own number */
    uint64_t seed;
};

struct load_kind {
    const char *name, *typed, *summary;  /* "mix", "mix:LIVE" */
    const struct load_option *options;   /* NULL: none. The value of the first may be typed without its name. */
    bool        is_endless;              /* it takes the number of events that is asked for */
    enum err  (*make)(const struct load_request *r, struct trace_writer *w, struct err_detail *err);
};

/* The i-th kind; NULL after the last. load_kind_named: NULL for an unknown name. */
const struct load_kind *load_kind_at(size_t i);
const struct load_kind *load_kind_named(const char *name);

/* Reads "name=value,..." as the options of a kind; those that are not typed are as their fallbacks say. Texts of
 * `values` lie in *typed, which the caller frees also after an error. ERR_USAGE, ERR_HOST_NOMEM. */
MUST_USE enum err load_values_read(const struct load_kind *k, const char *text,
                                   struct load_value values[LOAD_OPTIONS_MAX], char **typed, struct err_detail *err);

/* Writes the load `text` into a trace; the caller ends the trace. `events` is for kinds that take a number of them, 0
 * otherwise. ERR_USAGE for a text that cannot be read or a size that no card has; errors of files that an option
 * names. */
MUST_USE enum err load_make(const char *text, uint64_t events, uint64_t seed, struct trace_writer *w,
                            struct err_detail *err);

#endif
