/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * Requests that are planned with their ends: written in the order of time, frees before the request of the same time.
 */
#ifndef REPLAY_LOADS_SCHEDULE_H
#define REPLAY_LOADS_SCHEDULE_H

#include "traces/trace.h"

struct schedule;

/* Times are counted in any unit, such as requests. `death` > birth. */
struct planned_request { uint64_t birth, death, bytes; uint16_t stream; uint8_t pool; };

MUST_USE enum err schedule_open(struct trace_writer *w, struct schedule **out, struct err_detail *err);

/* Puts a request; births never decrease. Frees that are due are written first. */
MUST_USE enum err schedule_put(struct schedule *s, const struct planned_request *r, struct err_detail *err);
MUST_USE enum err schedule_mark(struct schedule *s, uint64_t time, const char *label, struct err_detail *err);

/* Writes the frees that are due by `end`, unless `e` is an error, and frees the schedule; NULL is accepted. Returns the
 * first error. */
enum err schedule_close(struct schedule *s, enum err e, uint64_t end, struct err_detail *err);

#endif
