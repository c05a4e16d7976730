/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * Explanations as text and as JSON.
 */
#ifndef REPLAY_REPORT_EXPLAIN_EXPLAIN_REPORT_H
#define REPLAY_REPORT_EXPLAIN_EXPLAIN_REPORT_H

#include "report/explain/explain.h"
#include "report/text/json_writer.h"

/* How the report names things. */
struct explain_names {
    const char *event_word;          /* "record" or "event" */
    size_t    (*stack)(const void *arg, uint32_t stack, const char *const **frames);   /* NULL: there are none */
    const void *arg;
    size_t    (*own)(const char *const *frames, size_t n);   /* index of the program's own frame, n: none;
                                                              * NULL: the first */
};

/* An explanation that was taken, as it is written. */
struct explained {
    const struct explanation   *explanation;
    const struct explain_names *names;
};

/* Nothing for an explanation that was not taken. */
void explain_words(FILE *out, const struct explanation *x, const char *policy, const struct explain_names *names);

/* The members of answers/explanation.def. */
void explanation_json(struct json_writer *json, const struct explained *e);

/* Why cached segments were neither used nor given back; NULL for free parts of segments in use. */
const char *explain_why_kept(const struct explanation *x, const struct explain_free *f);

/* How much the card lacks for a new segment; 0: it has the room. */
uint64_t explain_missing_bytes(const struct explanation *x);

/* Free memory of another stream that would fit the request; NULL: there is none. */
const struct explain_free *explain_other_stream(const struct explanation *x);

#endif
