/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * Joins the lines of two recordings of one program that was edited between them: a line above which something was added
 * has another number, and is the same line.
 *
 *     A: train.py:8  forward   48 MiB              train.py:9  forward  (A: 8)    48 MiB  48 MiB
 *     B: train.py:9  forward   48 MiB       ->     train.py:10 forward             0 MiB  32 MiB
 *        train.py:10 forward   32 MiB
 *
 * The lines of one function are aligned in order, so that as much as possible agrees: what they requested, how often,
 * their numbers. A file is the same if it has the same path; or if its name stands once among the other files of each
 * recording; or if it is the only other one of each.
 */
#ifndef REPLAY_REPLAY_DIFF_MOVED_LINES_H
#define REPLAY_REPLAY_DIFF_MOVED_LINES_H

#include "replay/diff/memory_profile.h"

struct joined_lines {
    struct profile_row *rows;
    struct joined_name {
        uint32_t side[PROFILE_SIDES];        /* numbers in the table's names: two, if the line moved */
    } *names;                                /* by row */
    size_t n;
};

/* Of a table that both recordings were read into. ERR_HOST_NOMEM. */
MUST_USE enum err joined_lines_open(const struct profile_table *t, struct joined_lines *out, struct err_detail *err);
void joined_lines_close(struct joined_lines *j);

/* B's name of a row, as stack_frame_show_line has it, and what A has instead: "train.py:9 forward (A: 8)". */
void joined_line_show(const struct profile_table *t, const struct joined_name *name, char *out, size_t size);

#endif
