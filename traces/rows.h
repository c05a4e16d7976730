/*
 * The small tables of a trace, row by row in memory and by column in a section (traces/FORMAT.md, "Rows"): names, start
 * state, recorded segment events, controls, stacks. Writer and reader share the description of each.
 */
#ifndef REPLAY_TRACES_ROWS_H
#define REPLAY_TRACES_ROWS_H

#include "base/event.h"
#include "traces/columns.h"
#include "traces/intern.h"
#include "traces/native.h"
#include "traces/trace.h"

enum { ROW_FIELDS_MAX = 10 };

/* A control as it is kept in rows: its text is a number, 0 for none, else one more than that of the string. */
struct control_row {
    struct control control;
    uint32_t text;
};

/* Encodes rows [0, n), n <= NATIVE_ROWS, of the kind of section; `rows` is an array of struct stream_name,
 * pool_name, trace_segment, trace_block, trace_segment_event, control_row or stack_node, or of uint32_t (stacks). */
void rows_encode(struct bytes *out, enum section_kind kind, const void *rows, size_t n);

/* Decodes n rows. ERR_FORMAT when the section is damaged or a number does not fit its member; nothing else is checked.
 * ERR_HOST_NOMEM. */
enum err rows_decode(enum section_kind kind, const void *raw, size_t raw_bytes, void *rows, size_t n);

/* What is wrong with a row of the start state, as "segment overlaps ..."; NULL if nothing is. `before` is the row in
 * front of it or NULL. Rows ascend by address and do not overlap; a block lies within its segment. */
const char *start_segment_fault(const struct trace_segment *s, const struct trace_segment *before);
const char *start_block_fault(const struct trace_block *b, const struct trace_block *before,
                              const struct trace_segment *segments, size_t n_segments);

/* Size of a row in memory; 0 for sections that hold none. */
size_t rows_size(enum section_kind kind);

#endif
