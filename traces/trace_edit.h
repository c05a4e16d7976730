/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * Traces made of traces: a part, several at once, other sizes, repetitions, another time of day, and nothing that names
 * the program. Each reads its traces from the front and holds what is live, whatever their length.
 *
 * All take an open reader and a writer to which nothing was put, and fill in the facts; the caller finishes the writer,
 * or abandons it after an error. Errors: ERR_HOST_NOMEM, and those of the reader and of trace_put.
 */
#ifndef REPLAY_TRACES_TRACE_EDIT_H
#define REPLAY_TRACES_TRACE_EDIT_H

#include "traces/trace.h"

/* The mark that stands where the part of trace_cut begins, and before it what was live then. trace_repeat repeats what
 * follows it. */
#define TRACE_CUT_MARK "cut begins"

/* Events [first, end), numbers from 0. What is live at `first` is requested before them. ERR_USAGE for a part that the
 * trace does not have. */
MUST_USE enum err trace_cut(struct trace_reader *in, uint64_t first, uint64_t end, struct trace_writer *out,
                            struct err_detail *err);

/* A copy of the first `end` events, as if the recording had ended there: places stay. ERR_USAGE if there are fewer. */
MUST_USE enum err trace_head(struct trace_reader *in, uint64_t end, struct trace_writer *out, struct err_detail *err);

/* Finds the first event at or after `time_ns`; trace_info.events if there is none. */
MUST_USE enum err trace_event_at(struct trace_reader *in, uint64_t time_ns, uint64_t *event, struct err_detail *err);

/* The trace `times` times, one after the other, each headed by a mark "repeat". A request that the trace begins with
 * and frees is, in the next repetition, the one of its size, stream and pool that the last one left; without one it is
 * requested again. What is left beyond that stays live; of a trace that begins empty it is freed,
 * as when a program runs again. */
MUST_USE enum err trace_repeat(struct trace_reader *in, uint64_t times, struct trace_writer *out,
                               struct err_detail *err);

/* All sizes times `factor`, rounded to the byte, at least one byte. */
MUST_USE enum err trace_resize(struct trace_reader *in, double factor, struct trace_writer *out,
                               struct err_detail *err);

/* Several traces on one card in order of time: n of them, at most TRACE_MERGE_MAX, the i-th offset_ns[i] later than its
 * own times. Each has streams and pools of its own; all share the shared pool.
 * At one time the earlier trace comes first. */
enum { TRACE_MERGE_MAX = 256 };
MUST_USE enum err trace_merge(struct trace_reader *const *in, const uint64_t *offset_ns, size_t n,
                              struct trace_writer *out, struct err_detail *err);

/* A copy whose time of day is `by_ns` nanoseconds later. ERR_UNSUPPORTED if the trace does not tell the time of day. */
MUST_USE enum err trace_shift(struct trace_reader *in, int64_t by_ns, struct trace_writer *out, struct err_detail *err);

/* True if a text may be shown to anyone. `what` is a fact's name, or TRACE_TEXT_SETTINGS for those of a control event.
 * The rooms above know which texts these are. */
typedef bool (*text_rule)(const char *what, const char *text);
#define TRACE_TEXT_SETTINGS "settings"

/* A copy without call stacks, labels, paths, command lines and the time of day. Marks are numbered by label. Of the
 * facts those stay that the rule accepts; settings of control events that it does not accept become "". */
MUST_USE enum err trace_anonymise(struct trace_reader *in, text_rule is_plain, struct trace_writer *out,
                                  struct err_detail *err);

/* Proves that a trace names nothing: visits every text in it, facts, labels, frames and settings, with what it is.
 * False if one of them is none that trace_anonymise writes. */
MUST_USE bool trace_is_anonymous(const struct trace_reader *in, text_rule is_plain,
                                 void (*text)(void *arg, const char *what, const char *text), void *arg);

#endif
