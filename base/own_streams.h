/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * Standard streams that can be replaced, for a C library whose own are constants, as musl's are (base/shown.h replaces
 * them). CMake lets the compiler include this first there, and nowhere else.
 */
#ifndef REPLAY_BASE_OWN_STREAMS_H
#define REPLAY_BASE_OWN_STREAMS_H

#define _GNU_SOURCE                   /* fopencookie, for shown.c: this header comes before its own */
#include <stdio.h>

static inline FILE *library_stdout(void)
{
    return stdout;
}

static inline FILE *library_stderr(void)
{
    return stderr;
}

extern FILE *own_stdout, *own_stderr;
#undef stdout
#undef stderr
#define stdout own_stdout
#define stderr own_stderr
#define printf(...) fprintf(own_stdout, __VA_ARGS__)
#define vprintf(format, arguments) vfprintf(own_stdout, format, arguments)
#define puts(text) fprintf(own_stdout, "%s\n", text)
#define putchar(letter) fputc(letter, own_stdout)

#endif
