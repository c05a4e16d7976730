/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/* What a person is told while a database cannot be had. */
#include "replay/program/database_watch.h"

#include "base/shown.h"

#include <stdio.h>

void database_tell_waiting(const char *path)
{
    fputs("replay: ", stderr);
    shown_put(stderr, path);
    fputs(": another process has it locked; waiting for it, a minute at most\n", stderr);
}

const struct results_db_watch database_watch = { .waits = database_tell_waiting };
