/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * The answer on top of a page about one recording: what `why` and `fit` say of it.
 */
#ifndef REPLAY_REPLAY_PROGRAM_REPORT_ANSWER_H
#define REPLAY_REPLAY_PROGRAM_REPORT_ANSWER_H

#include "replay/engine/engine.h"
#include "replay/program/options.h"
#include "report/page/page.h"

/* Fills in page->answer, if the page has one trace on one card and the trace is still there. A trace that is long gets
 * a note instead. Whatever cannot be told is left out; the only error is ERR_HOST_NOMEM.
 * `cfg`: threads and progress. */
MUST_USE enum err report_answer_find(struct page *page, const struct replay_config *cfg, struct err_detail *err);

/* The policy that a trace was recorded under, as a person would type it, unless it is one of `known`; *out NULL: it is,
 * or is not known. free() it. The only error is ERR_HOST_NOMEM. */
MUST_USE enum err report_recorded_setting(const char *path, const struct options *o, const char *const *known,
                                          size_t n_known, char **out);

void report_answer_close(struct page_answer *answer);

#endif
