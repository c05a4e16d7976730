/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * One walk over a log: its errors (log_forms.h) and what stands around them (log_facts.h) are looked for together.
 */
#ifndef REPLAY_REPLAY_WHY_LOG_WALK_H
#define REPLAY_REPLAY_WHY_LOG_WALK_H

#include "replay/why/log_facts.h"
#include "replay/why/log_forms.h"

struct log_walk {
    struct log_forms_walk forms;
    struct log_facts_walk facts;
};

/* The text is borrowed as long as the walk is used. */
void log_walk(const char *text, size_t n, struct log_walk *out);

#endif
