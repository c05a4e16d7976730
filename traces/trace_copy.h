/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/* What every copy of a trace does that changes some of it. */
#ifndef REPLAY_TRACES_TRACE_COPY_H
#define REPLAY_TRACES_TRACE_COPY_H

#include "traces/trace.h"

/* Puts the numbers of a trace's streams into another. Errors as of trace_put_stream_number. */
MUST_USE enum err trace_copy_streams(const struct trace_reader *in, struct trace_writer *out, struct err_detail *err);

/* Fills in a record that repeats an event of `in`: all but ptr, bytes and stack. What ptr names is left to the caller:
 * the request in the event's slot, or for a control in record.control.slot. The label of a mark is put into `out`. */
MUST_USE enum err trace_copy_event(const struct trace_reader *in, const struct event *ev, struct trace_writer *out,
                                   struct trace_record *record, struct err_detail *err);

/* Puts the facts of a trace into another that repeats it changed, with `note` in place of its notes: what the recorded
 * file's path and units were is left out. */
MUST_USE enum err trace_copy_facts(const struct trace_reader *in, struct trace_writer *out, const char *note,
                                   struct err_detail *err);

/* Which stacks of one trace another has already: each is put once, however many events share it. Zero is a valid
 * beginning. */
struct stack_copies {
    uint32_t *of;                    /* by stack of the one: its number in the other; 0: not put yet */
};
void stack_copies_close(struct stack_copies *c);

/* Puts a stack of `in`, by its number, or that of an event into another trace; *stack is as before if there is none.
 * ERR_HOST_NOMEM; the reader's errors. */
MUST_USE enum err trace_copy_stack(struct stack_copies *c, const struct trace_reader *in, uint32_t number,
                                   struct trace_writer *out, uint32_t *stack, struct err_detail *err);
MUST_USE enum err trace_copy_stack_of(struct stack_copies *c, struct trace_reader *in, uint64_t event,
                                      struct trace_writer *out, uint32_t *stack, struct err_detail *err);

#endif
