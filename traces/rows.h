/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * The small tables of a trace: names, start state, recorded segment events, controls, stacks. A table is an array of
 * structs in memory and a set of columns in a section (traces/FORMAT.md, "Rows"); one description of each table serves
 * writer and reader.
 */
#ifndef REPLAY_TRACES_ROWS_H
#define REPLAY_TRACES_ROWS_H

#include "base/event.h"
#include "traces/columns.h"
#include "base/intern.h"
#include "traces/native.h"
#include "traces/trace.h"

enum { ROW_FIELDS_MAX = 10 };

/* A control as a row: its text is the number of a string plus 1, or 0 for none. */
struct control_row {
    struct control control;
    uint32_t text;
};

/* Encodes n <= NATIVE_ROWS rows. `rows` is an array of the kind's struct: stream_name, pool_name, trace_segment,
 * trace_block, trace_segment_event, control_row, stack_node, or uint32_t (stacks). */
void rows_encode(struct bytes *out, enum section_kind kind, const void *rows, size_t n);

/* Decodes n rows. ERR_FORMAT if the section is damaged or a number does not fit its member: nothing else is checked.
 * ERR_HOST_NOMEM. */
enum err rows_decode(enum section_kind kind, const void *raw, size_t raw_bytes, void *rows, size_t n);

/* What is wrong with a row of the start state ("segment overlaps ..."), or NULL. `before` is the previous row, NULL for
 * the first. Rows must ascend by address without overlap; a block must lie within its segment. */
const char *start_segment_fault(const struct trace_segment *s, const struct trace_segment *before);
const char *start_block_fault(const struct trace_block *b, const struct trace_block *before,
                              const struct trace_segment *segments, size_t n_segments);

/* Bytes of a row in memory; 0 for kinds of section that hold no rows. */
size_t rows_size(enum section_kind kind);

#endif
