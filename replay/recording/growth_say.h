/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/* What is said of a growth: by `why`, and by those that look for a card or a setting, which cure none. */
#ifndef REPLAY_REPLAY_RECORDING_GROWTH_SAY_H
#define REPLAY_REPLAY_RECORDING_GROWTH_SAY_H

#include "replay/recording/coverage.h"
#include "replay/recording/growth.h"
#include "report/text/text.h"

/* "step" of one, "steps" of others. */
const char *growth_turns_word(enum growth_turn turn, uint64_t n);

/* "A leak: live memory grows by 172 KiB a step, at train.py:20 main." */
void growth_say(struct words *w, const struct growth *g);

/* The same for advice on cards and settings, with what that means for it; nothing if nothing grows, or two copies that
 * may be meant. Looks at the end of the recording, or at its refused request. A driver's calls and XLA's requests tell
 * nothing of it. ERR_HOST_NOMEM, the reader's errors. */
MUST_USE enum err growth_warn(struct trace_reader *trace, const struct coverage *coverage, struct words *w,
                              struct err_detail *err);

/* Such a warning as a paragraph for a screen, and an empty line after it; nothing of an empty one. */
void growth_warning_print(FILE *out, const struct words *warning);

#endif
