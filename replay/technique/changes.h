/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * The single changes that technique.c makes one after the other. Each writes a whole trace: parameters and errors as
 * for technique_apply. Each fills in those members of *result that it knows.
 */
#ifndef REPLAY_REPLAY_TECHNIQUE_CHANGES_H
#define REPLAY_REPLAY_TECHNIQUE_CHANGES_H

#include "replay/technique/technique.h"

MUST_USE enum err in_place_apply(const struct course *c, const struct technique *how, const char *path,
                                 struct trace_reader **out, struct technique_result *result, struct err_detail *err);

MUST_USE enum err checkpointing_apply(const struct course *c, const struct technique *how, const char *path,
                                      struct trace_reader **out, struct technique_result *result,
                                      struct err_detail *err);

MUST_USE enum err accumulation_apply(const struct course *c, const struct technique *how, const char *path,
                                     struct trace_reader **out, struct technique_result *result,
                                     struct err_detail *err);

/* The optimizer, and the precision of its states. */
MUST_USE enum err other_optimizer_apply(const struct course *c, const struct technique *how, const char *path,
                                        struct trace_reader **out, struct technique_result *result,
                                        struct err_detail *err);

#endif
