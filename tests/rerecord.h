/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * Makes recordings by the policy, for runs that were not recorded: on a full card, or under another setting.
 */
#ifndef REPLAY_TESTS_RERECORD_H
#define REPLAY_TESTS_RERECORD_H

#include "tests/dumped.h"

/* Replays under `conf` on a card and imports the snapshot of that run. Expects the run to end well. */
static inline struct trace_reader *rerecord(struct trace_reader *trace, const char *conf, uint64_t total_bytes)
{
    const struct dumped_path path = dumped(trace, conf, NULL, total_bytes);
    struct trace_reader *made = recorded_open(path.text, -1);
    remove(path.text);
    return made;
}

#endif
