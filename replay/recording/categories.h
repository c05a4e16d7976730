/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * What live requests are for: parameters, gradients, activations and more.
 *
 * A labelled recording says it. Otherwise it is told from the phase that a request was born in and those that it lives
 * through; a rule of categories.c must hold, or the request's category is unknown. doc/recording.md defines the
 * categories; cudasim/python/replay_labels.py writes labels.
 */
#ifndef REPLAY_REPLAY_RECORDING_CATEGORIES_H
#define REPLAY_REPLAY_RECORDING_CATEGORIES_H

#include "replay/recording/holders.h"
#include "replay/recording/phases.h"

/* Bytes of what is held: whose category is not unknown; that a label names; that a label names, and the rules by
 * themselves would name alike; whose category is a guess. */
struct category_facts { uint64_t named_bytes, labelled_bytes, agreed_bytes, guessed_bytes; };

/* Sets holding.category of all that is held. Reads all stacks and all events once. ERR_HOST_NOMEM, the reader's
 * errors. */
MUST_USE enum err categories_find(struct trace_reader *trace, struct holdings *h, struct category_facts *facts,
                                  struct err_detail *err);

/* The same for who has read the phases of the trace already. */
MUST_USE enum err categories_tell(struct trace_reader *trace, const struct phases *phases, struct holdings *h,
                                  struct category_facts *facts, struct err_detail *err);

#endif
