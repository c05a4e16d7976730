/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
#ifndef REPLAY_REPLAY_PROGRAM_OUTPUT_NAMES_H
#define REPLAY_REPLAY_PROGRAM_OUTPUT_NAMES_H

#include "replay/program/options.h"

/* Whether two names are one regular file that is there; "-" is none. */
bool is_same_file(const char *a, const char *b);

/* Whether a name can be a file's by its last part, which is neither empty nor "." nor "..". */
bool output_name_is_of_file(const char *path);

/* ERR_USAGE if two outputs of a command line are one file: the second would replace the first. */
MUST_USE enum err output_names_check(const struct options *o, struct err_detail *err);

/* The same of a command whose `out` is a database: SQLite keeps files of its own beside it, and removes them. */
MUST_USE enum err output_names_check_database(const struct options *o, struct err_detail *err);

/* ERR_USAGE if a file of a recording, its name with an ending, would replace one that the program's arguments name, as
 * they are or after a '=', or is another output's. `name`: as after -o; `has_log`: what the program prints becomes a
 * file too. */
MUST_USE enum err output_names_check_recording(const struct options *o, const char *name, bool has_log,
                                               struct err_detail *err);

#endif
