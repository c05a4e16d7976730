/*
 * A stack frame's text, taken apart: "function file:line", as the importers write it.
 */
#ifndef REPLAY_TRACES_STACK_FRAME_H
#define REPLAY_TRACES_STACK_FRAME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Into the text; a part that is not there is empty, and the line 0. */
struct stack_frame {
    const char *name, *file;
    size_t      n_name, n_file;
    uint32_t    line;
};
struct stack_frame stack_frame_parse(const char *text);

/* Whether the frame is a Python file outside of the folder torch: the program's own. */
bool stack_frame_is_program(const struct stack_frame *f);

/* The innermost frame of a stack that is the program's; the innermost of all where none is; NULL without frames. */
const char *stack_frame_of_program(const char *const *frames, size_t n);

/* A frame as "train.py:19 forward"; what stands in brackets, for no frame, as it is. */
void stack_frame_show(const char *text, char *out, size_t size);

#endif
