/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * A trace that is written anew with changes: recorded requests stay, get another size or are left out, and others are
 * put in between.
 */
#ifndef REPLAY_REPLAY_TECHNIQUE_CHANGED_TRACE_H
#define REPLAY_REPLAY_TECHNIQUE_CHANGED_TRACE_H

#include "replay/technique/course.h"
#include "traces/trace_copy.h"

/* What is requested and not freed where that is most, by category. */
struct technique_peak { uint64_t bytes, by_category[CATEGORY_KINDS]; };

struct changed_trace {
    const struct course *c;          /* borrowed */
    struct trace_writer *out;
    uint64_t *bytes;                 /* by request: what it asks for; 0: it is left out. At first as recorded */
    uint64_t *name;                  /* by request: under which it is live in the changed trace; 0: it is not live */
    uint8_t  *category;              /* by request: enum category. At first as recorded */
    size_t   *request_of;            /* by slot; SIZE_MAX: none yet */
    size_t    next;                  /* request of the next ALLOC */
    uint64_t  number, time_ns;       /* of the event that comes next */
    uint64_t  n_made;
    struct stack_copies stacks;
    struct technique_peak live, peak;
};

/* A change: called in front of each recorded event, and once more after the last with ev NULL. It may put requests in,
 * and says in *is_left_out that the event is not to be written (false at first). */
typedef enum err (*change_visit)(void *arg, struct changed_trace *t, const struct event *ev, bool *is_left_out,
                                 struct err_detail *err);

/* ERR_HOST_NOMEM. Closed with changed_trace_close, also on error. */
MUST_USE enum err changed_trace_open(struct changed_trace *t, const struct course *c, struct err_detail *err);

/* Writes the changed trace and opens it as *out: to the file `path`, or with NULL in memory. Stacks are kept. The
 * reader's and writer's errors, and those of `visit`, which may be NULL. */
MUST_USE enum err changed_trace_write(struct changed_trace *t, const char *path, change_visit visit, void *arg,
                                      struct trace_reader **out, struct err_detail *err);
void changed_trace_close(struct changed_trace *t);

/* Puts in a request like a recorded one, of so many bytes and of a category of its own; *name is what it is freed by.
 * With `keeps_stack` it has the recorded one's call stack, otherwise a label is all its stack. */
MUST_USE enum err changed_trace_make(struct changed_trace *t, size_t like, uint64_t bytes, enum category category,
                                     bool keeps_stack, uint64_t *name, struct err_detail *err);

/* Frees a request that was put in; category and bytes as it was made with. */
MUST_USE enum err changed_trace_free(struct changed_trace *t, size_t like, uint64_t bytes, enum category category,
                                     uint64_t name, struct err_detail *err);

/* One step in the life of a recorded request: it begins, or it ends. */
struct life { uint64_t event; size_t request; bool is_end; };

/* The lives of requests [first, first + n): where they begin, and where they end before event `until`, in the order of
 * the events. *out: *n_out of them, to be freed. ERR_HOST_NOMEM. */
MUST_USE enum err lives_read(const struct course *c, size_t first, size_t n, uint64_t until, struct life **out,
                             size_t *n_out, struct err_detail *err);

#endif
