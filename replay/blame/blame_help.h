/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/* What a person can do about the rule that holds most. */
#ifndef REPLAY_REPLAY_BLAME_BLAME_HELP_H
#define REPLAY_REPLAY_BLAME_BLAME_HELP_H

#include "replay/blame/blame.h"
#include "report/text/text.h"

/* Whether expandable_segments:True exists in the run's release and on the platform, and would reserve less than the run
 * did. */
bool blame_growing_helps(const struct blame *b, const struct single_run *run, enum platform platform);

/* Adds what can be done; a setting is named only if it exists there and was replayed. Nothing if no rule holds
 * anything. `platform`: where the program runs. */
void blame_say_help(struct words *w, const struct blame *b, const struct single_run *run, enum platform platform);

#endif
