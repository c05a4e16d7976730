/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * The settings that a recording was made with: asked for, and in force.
 */
#ifndef REPLAY_REPLAY_RECORDING_SETTINGS_FACTS_H
#define REPLAY_REPLAY_RECORDING_SETTINGS_FACTS_H

#include "policies/pytorch/pytorch_rules.h"
#include "traces/trace.h"

enum { SETTINGS_FACTS_TEXT = 512, SETTINGS_FACTS_SENTENCE = 320 };

struct settings_facts {
    const char *asked;                               /* the variable's text; NULL: not recorded; the reader's own */
    bool        has_in_force;
    char        in_force[SETTINGS_FACTS_TEXT];    /* as a settings text, "" for the defaults */
    char        lost[SETTINGS_FACTS_SENTENCE];    /* what was asked for and is not in force, a sentence; "" for
                                                   * nothing */
};

/* The names of facts (trace_meta_at) that settings_facts_read reads. */
bool settings_is_fact(const char *name);

/* Reads them by the rules of the release that the recording names. False: it names none. */
bool settings_facts_find(const struct trace_reader *trace, struct settings_facts *out);

/* `rules` are those of the release that made the recording. A recording from 2.3 on tells what is in force. */
void settings_facts_read(const struct trace_reader *trace, const struct pytorch_rules *rules,
                            struct settings_facts *out);

#endif
