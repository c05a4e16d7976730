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

/* True for a Python file; for PyTorch's Python code; for a frame whose path names the folder ("torch/optim"); for a
 * frame of the function `name`. */
bool stack_frame_is_python(const struct stack_frame *f);
bool stack_frame_is_torch(const struct stack_frame *f);
bool stack_frame_is_in(const struct stack_frame *f, const char *folder);
bool stack_frame_is_named(const struct stack_frame *f, const char *name);

/* Whether one of the frames is of that kind. */
bool stack_frames_any(const char *const *frames, size_t n, bool (*is)(const struct stack_frame *f));

/* True if the file's path is `path` or ends in it after a slash: "functional.py". */
bool stack_frame_file_ends(const struct stack_frame *f, const char *path);

/* True for a frame of the recorded program itself: a Python file or a notebook's cell, and neither PyTorch's nor that
 * of an installed library (site-packages, dist-packages, lib/python3.X) nor code without a file
 * (<string>, <frozen ...>). */
bool stack_frame_is_program(const struct stack_frame *f);

/* The frame that tells a person where a request comes from: the innermost frame of the program itself, at any depth. If
 * there is none, the outermost frame of a library other than PyTorch, else PyTorch's innermost Python frame, else the
 * node of the backward pass, else the innermost native frame above PyTorch and below the start of the process, else
 * STACK_NO_LINE. NULL without frames. */
#define STACK_NO_LINE "(no line of the program)"
const char *stack_frame_of_program(const char *const *frames, size_t n);

/* Its index; n if none of them is it. */
size_t stack_frame_index_of_program(const char *const *frames, size_t n);

/* Labels of a recording (cudasim/python/replay_labels.py) are the outermost frames of a stack: "GPT.head nn.Module:0"
 * and "activations category:0". stack_frame_label finds one; false: there is none. stack_frames_of_code is how many of
 * the n frames are left without them. */
enum stack_label { STACK_LABEL_MODULE, STACK_LABEL_CATEGORY };
bool stack_frame_label(const char *const *frames, size_t n, enum stack_label kind, struct stack_frame *out);
size_t stack_frames_of_code(const char *const *frames, size_t n);

/* Formats a frame as "train.py:19 forward". A text in parentheses, which is no frame, stays as it is.
 * Of a frame of an unknown file ("??") only the name is shown, and a label as "category activations". */
void stack_frame_show(const char *text, char *out, size_t size);

/* The same where it stands for the line of the program: a node of a backward pass, which has none, is
 * "(backward pass, MmBackward0)". */
void stack_frame_show_line(const char *text, char *out, size_t size);

#endif
