/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * The recorded calls by number, and the functions of NVIDIA's libraries that ours pass them on to.
 */
#ifndef REPLAY_RECORD_REAL_CALLS_H
#define REPLAY_RECORD_REAL_CALLS_H

#include <stdbool.h>
#include <stddef.h>

#define RECORD_API __attribute__((visibility("default")))

#define CALL(shape, library, name, space, looked_up_as, stream_0) CALL_##name,
#define RETIRED(name) CALL_##name,
enum recorded_call {
#include "record/calls.def"
    RECORDED_CALLS
};
#undef CALL
#undef RETIRED

enum call_library { LIBRARY_RUNTIME, LIBRARY_DRIVER };

/* Any function; it is called through its own type. */
typedef void (*call_function)(void);

/* Our function of a call, NULL of a retired one; it is in entry_points.c. */
call_function wrapper_of(enum recorded_call call);

/* The library's own function; NULL if no library of the process has it. */
call_function real_call(enum recorded_call call);

/* The same for a function that is not recorded; *cache is its own, NULL at first. */
call_function real_named(enum call_library library, const char *name, call_function *cache);

/* After a look-up in the driver: replaces *found by our function if the call is recorded. `is_per_thread`: the variant
 * for per-thread default streams was asked for. */
void driver_lookup_wrap(const char *name, bool is_per_thread, void **found);

#endif
