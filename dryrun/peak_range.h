/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * What a card's peak may be, as a range, and which of the things that a program does not show make it one.
 */
#ifndef REPLAY_DRYRUN_PEAK_RANGE_H
#define REPLAY_DRYRUN_PEAK_RANGE_H

#include "dryrun/run/range_sources.h"
#include "replay/advise/card_answer.h"
#include "report/text/json_writer.h"
#include "report/text/text.h"

/* Of the whole card, with context and others. low_bytes <= expected_bytes <= high_bytes. If it has no end
 * (RANGE_UNSEEN), the upper one is that of what was seen. */
struct peak_range {
    uint64_t low_bytes, expected_bytes, high_bytes;
    uint64_t below_bytes[RANGE_SOURCES], above_bytes[RANGE_SOURCES];         /* what each takes off, and adds */
    bool is_endless;
};

/* The range of one recording, whose only source is addresses. */
struct peak_range peak_range_of(const struct card_answer *expected, const struct card_bounds *bounds);

/* Takes in another recording of the program, which differs by a source. */
void peak_range_widen(struct peak_range *r, enum range_source source, const struct card_answer *other,
                      const struct card_bounds *bounds);

bool peak_range_is_open(const struct peak_range *r);

bool peak_range_has(const struct peak_range *r, enum range_source source);

/* Whether a person sees it: ends that read alike tell nothing. */
bool peak_range_shows(const struct peak_range *r);

/* "Between A and B: workspaces of libraries (-X, +Y), ..."; "at least A: ..." if it has no end; nothing if it has no
 * width. */
void peak_range_say(struct words *w, const struct peak_range *r);

/* What makes it a range: "workspaces of libraries (-X, +Y), ...". */
void peak_range_say_sources(struct words *w, const struct peak_range *r);

void peak_range_json(struct json_writer *json, const struct peak_range *r);

#endif
