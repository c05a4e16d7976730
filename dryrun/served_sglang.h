/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/* The answer's words for SGLang, in its own options. None of vLLM's may stand in them. */
#ifndef REPLAY_DRYRUN_SERVED_SGLANG_H
#define REPLAY_DRYRUN_SERVED_SGLANG_H

#include "dryrun/served_words.h"

/* The first sentence. */
void served_sglang_add_first(struct words *w, const struct served *all, const struct served_start *s);

/* The table of what it takes. */
MUST_USE enum err served_sglang_table(FILE *out, const struct served_start *s);

/* What else follows, one item each. */
void served_sglang_items(FILE *out, const struct served_start *s);

/* What let the answer be so. */
void served_sglang_basis(FILE *out, const struct served *all, const struct served_start *s);

#endif
