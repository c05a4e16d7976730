/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/* What a person is told while a database cannot be had, and what an interrupt of reading one does. */
#include "replay/program/database_watch.h"

#include "base/shown.h"
#include "replay/program/cli.h"

#include <stdio.h>

void database_tell_waiting(const char *path)
{
    fputs("replay: ", stderr);
    shown_put(stderr, path);
    fputs(": another process has it locked; waiting for it, a minute at most\n", stderr);
}

const struct results_db_watch database_watch = { .waits = database_tell_waiting };

enum err database_read(struct run_table *t, const char *path, uint64_t memory_limit, bool *is_results,
                       struct err_detail *err)
{
    if (input_is_once(path))                 /* a pipe, which is no database, may keep one waiting for any time */
        return results_file_add(t, path, memory_limit, &database_watch, is_results, err);
    const struct results_db_watch watch = { .waits = database_tell_waiting, .interrupted = cli_defer_signals() };
    const enum err e = results_file_add(t, path, memory_limit, &watch, is_results, err);
    cli_heed_signals();
    return e == ERR_OK && cli_deferred_signal() != 0 ? err_at(err, ERR_INTERRUPTED, 0, path, "interrupted") : e;
}
