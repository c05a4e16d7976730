/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * Takes the text of a stack frame apart: "function file:line", as the importers write it.
 */
#ifndef REPLAY_TRACES_STACK_FRAME_H
#define REPLAY_TRACES_STACK_FRAME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Parts point into the text. A missing part is empty, a missing line 0. */
struct stack_frame {
    const char *name, *file;
    size_t      n_name, n_file;
    uint32_t    line;
};
struct stack_frame stack_frame_parse(const char *text);

/* True for a frame of the recorded program itself: a Python file outside of a folder `torch`. */
bool stack_frame_is_program(const struct stack_frame *f);

/* The innermost frame of the program itself; if there is none, the innermost frame; NULL without frames. */
const char *stack_frame_of_program(const char *const *frames, size_t n);

/* Formats a frame as "train.py:19 forward". A text in parentheses, which is no frame, stays as it is. */
void stack_frame_show(const char *text, char *out, size_t size);

#endif
