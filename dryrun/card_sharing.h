/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * Processes that are on one simulated card at the same time. Each of them finds the card empty, so that what they take
 * together is added up here.
 */
#ifndef REPLAY_DRYRUN_CARD_SHARING_H
#define REPLAY_DRYRUN_CARD_SHARING_H

#include "replay/advise/card_answer.h"
#include "dryrun/run/journal_follow.h"
#include "dryrun/run/sim_card.h"

/* What others held at most on a card beside the process that held most there; of several cards, that with the most.
 * Peaks are added up, so it may be less. Processes that no look saw together are taken to come one after the other. */
struct card_others card_sharing_find(const struct sim_card *c, const struct following_spans *spans);

#endif
