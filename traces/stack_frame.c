/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/* The last space separates function and file: names of C++ functions contain spaces, file names hardly ever. */
#define _GNU_SOURCE                          /* memmem, memrchr */
#include "traces/stack_frame.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct stack_frame stack_frame_parse(const char *text)
{
    const char *colon = strrchr(text, ':');
    const size_t n = colon == NULL ? strlen(text) : (size_t)(colon - text);
    const char *last = memrchr(text, ' ', n);
    const size_t space = last == NULL ? 0 : (size_t)(last - text) + 1;
    struct stack_frame f = {.name = text, .file = text + space,
                            .n_name = space > 0 ? space - 1 : 0, .n_file = n - space};
    if (colon != NULL) {
        const unsigned long line = strtoul(colon + 1, NULL, 10);
        f.line = line > UINT32_MAX ? 0 : (uint32_t)line;
    }
    return f;
}

/* True if the path names this folder: "torch/optim" is in "/x/torch/optim/adam.py" and in "torch/optim/adam.py". */
static bool path_has_folder(const char *path, size_t n, const char *folder)
{
    const size_t n_folder = strlen(folder);
    const char *const end = path + n;
    for (const char *at = path; (at = memmem(at, (size_t)(end - at), folder, n_folder)) != NULL; at++)
        if ((at == path || at[-1] == '/') && at + n_folder < end && at[n_folder] == '/')
            return true;
    return false;
}

static bool part_is(const char *part, size_t n, const char *text)
{
    return strlen(text) == n && memcmp(part, text, n) == 0;
}

static bool is_one_of(const char *part, size_t n, const char *const *texts)
{
    while (*texts != NULL && !part_is(part, n, *texts))
        texts++;
    return *texts != NULL;
}

bool stack_frame_is_in(const struct stack_frame *f, const char *folder)
{
    return path_has_folder(f->file, f->n_file, folder);
}

bool stack_frame_is_named(const struct stack_frame *f, const char *name)
{
    return part_is(f->name, f->n_name, name);
}

bool stack_frame_file_ends(const struct stack_frame *f, const char *path)
{
    const size_t n = strlen(path);
    return f->n_file >= n && memcmp(f->file + f->n_file - n, path, n) == 0 &&
           (f->n_file == n || f->file[f->n_file - n - 1] == '/');
}

bool stack_frame_is_python(const struct stack_frame *f)
{
    return f->n_file > 3 && memcmp(f->file + f->n_file - 3, ".py", 3) == 0;
}

/* A cell of a notebook has no file. */
static bool is_notebook(const struct stack_frame *f)
{
    static const char cell[] = "<ipython-input";
    return f->n_file > sizeof cell && memcmp(f->file, cell, sizeof cell - 1) == 0;
}

/* Some recordings hold file names without folders. These are PyTorch's files, and
 * two of a library, that occur in nearly every stack. A script
 * that was started by such a name is still told apart by its <module>. */
static bool is_torch_without_folder(const struct stack_frame *f)
{
    static const char *const files[] = { "module.py", "functional.py", "_tensor.py", "_ops.py", "graph.py",
        "container.py", "linear.py", "sparse.py", "conv.py", "batchnorm.py", "normalization.py", "dropout.py",
        "activation.py", "loss.py", "optimizer.py", "adam.py", "adamw.py", "sgd.py", "lr_scheduler.py", "clip_grad.py",
        "_contextlib.py", "grad_mode.py", "checkpoint.py", "einops.py", "_backends.py", "eval_frame.py",
        "external_utils.py", "grad_scaler.py", "autocast_mode.py", NULL };
    return memchr(f->file, '/', f->n_file) == NULL && !stack_frame_is_named(f, "<module>") &&
           is_one_of(f->file, f->n_file, files);
}

bool stack_frame_is_torch(const struct stack_frame *f)
{
    return path_has_folder(f->file, f->n_file, "torch") || is_torch_without_folder(f);
}

/* "lib/python3.11/": the standard library and what is installed beside it. */
static bool is_below_python(const struct stack_frame *f)
{
    static const char folder[] = "lib/python3.";
    const size_t n = sizeof folder - 1;
    const char *const end = f->file + f->n_file;
    for (const char *at = f->file; (at = memmem(at, (size_t)(end - at), folder, n)) != NULL; at++)
        if ((at == f->file || at[-1] == '/') && at + n < end)
            return true;
    return false;
}

static bool is_library(const struct stack_frame *f)
{
    return stack_frame_is_torch(f) || path_has_folder(f->file, f->n_file, "site-packages") ||
           path_has_folder(f->file, f->n_file, "dist-packages") || is_below_python(f);
}

bool stack_frame_is_program(const struct stack_frame *f)
{
    return is_notebook(f) || (stack_frame_is_python(f) && !is_library(f));
}

/* Frames that every stack begins or ends with, and that say nothing of the request: PyTorch's own, the interpreter's
 * and those that start a process or a thread. */
static bool is_plumbing(const struct stack_frame *f)
{
    static const char *const starts[] = { "torch::", "c10::", "at::", "void c10::", "at::Tensor c10::", "std::", "_Py",
        "PyEval_", "PyObject_", "PyCFunction_", "Py_", "THP", "pybind11::", "__clone", "clone3", "start_thread",
        "pthread_", "execute_native_thread_routine", "_start", "__libc_", "??", NULL };
    for (size_t i = 0; starts[i] != NULL; i++)
        if (strncmp(f->name, starts[i], strlen(starts[i])) == 0)
            return true;
    return f->n_name == 0;
}

static const char node_start[] = "torch::autograd::generated::", node_end[] = "::apply(";

/* The node of a backward pass: "torch::autograd::generated::MmBackward0::apply(...)". */
static bool is_backward_node(const struct stack_frame *f)
{
    return strncmp(f->name, node_start, sizeof node_start - 1) == 0 && strstr(f->name, node_end) != NULL;
}

bool stack_frames_any(const char *const *frames, size_t n, bool (*is)(const struct stack_frame *f))
{
    for (size_t i = 0; i < n; i++) {
        const struct stack_frame f = stack_frame_parse(frames[i]);
        if (is(&f))
            return true;
    }
    return false;
}

const char *stack_frame_of_program(const char *const *frames, size_t n)
{
    const char *library = NULL, *python = NULL, *native = NULL, *node = NULL;
    for (size_t i = 0; i < n; i++) {
        const struct stack_frame f = stack_frame_parse(frames[i]);
        if (stack_frame_is_program(&f))
            return frames[i];
        if (!stack_frame_is_python(&f)) {
            node = node == NULL && is_backward_node(&f) ? frames[i] : node;
            native = native == NULL && !is_plumbing(&f) ? frames[i] : native;
            continue;
        }
        python = python == NULL ? frames[i] : python;
        library = stack_frame_is_torch(&f) ? library : frames[i];        /* the outermost stays */
    }
    return library != NULL ? library : python != NULL ? python : node != NULL ? node : native != NULL ? native
           : n > 0 ? STACK_NO_LINE : NULL;
}

size_t stack_frame_index_of_program(const char *const *frames, size_t n)
{
    const char *frame = stack_frame_of_program(frames, n);
    size_t i = 0;
    while (i < n && frames[i] != frame)
        i++;
    return i;
}

static const char *const label_files[] = { [STACK_LABEL_MODULE] = "nn.Module", [STACK_LABEL_CATEGORY] = "category" };

static bool is_label(const struct stack_frame *f, enum stack_label kind)
{
    return f->line == 0 && part_is(f->file, f->n_file, label_files[kind]);
}

bool stack_frame_label(const char *const *frames, size_t n, enum stack_label kind, struct stack_frame *out)
{
    for (size_t i = n; i > stack_frames_of_code(frames, n); i--) {
        *out = stack_frame_parse(frames[i - 1]);
        if (is_label(out, kind))
            return true;
    }
    return false;
}

size_t stack_frames_of_code(const char *const *frames, size_t n)
{
    for (; n > 0; n--) {
        const struct stack_frame f = stack_frame_parse(frames[n - 1]);
        if (!is_label(&f, STACK_LABEL_MODULE) && !is_label(&f, STACK_LABEL_CATEGORY))
            break;
    }
    return n;
}

void stack_frame_show(const char *text, char *out, size_t size)
{
    const struct stack_frame f = stack_frame_parse(text);
    if (text[0] == '(' || f.n_file == 0)
        snprintf(out, size, "%s", text);
    else if (is_label(&f, STACK_LABEL_MODULE) || is_label(&f, STACK_LABEL_CATEGORY))
        snprintf(out, size, "%.*s %.*s", (int)f.n_file, f.file, (int)f.n_name, f.name);
    else if (part_is(f.file, f.n_file, "??") && f.n_name > 0)
        snprintf(out, size, "%.*s", (int)f.n_name, f.name);
    else
        snprintf(out, size, "%.*s:%" PRIu32 " %.*s", (int)f.n_file, f.file, f.line, (int)f.n_name, f.name);
}

void stack_frame_show_line(const char *text, char *out, size_t size)
{
    const struct stack_frame f = stack_frame_parse(text);
    const char *const name = f.name + sizeof node_start - 1;
    if (is_backward_node(&f))
        snprintf(out, size, "(backward pass, %.*s)", (int)(strstr(name, node_end) - name), name);
    else
        stack_frame_show(text, out, size);
}
