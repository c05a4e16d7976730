/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/* Progress on a terminal: how far, how fast, how long still. */
#include "base/progress.h"

#include "base/monotonic_ms.h"

#include <inttypes.h>
#include <stdio.h>
#include <unistd.h>

struct progress progress_start(const char *what, enum progress_unit unit)
{
    const int64_t now = monotonic_ms();
    return (struct progress){ .what = what, .unit = unit, .n_rounds = 1, .begun_ms = now, .started_ms = now,
                              .shown_ms = now };
}

void progress_next(struct progress *p, const char *what)
{
    const struct progress before = *p;
    *p = progress_start(what, before.unit);
    p->begun_ms = before.begun_ms;
    p->shown_ms = before.shown_ms;
    p->is_shown = before.is_shown;
}

/* Counts all that is done, also in rounds that begin anew: within a round it only grows. */
static void progress_count(struct progress *p, uint64_t done)
{
    const bool is_new = p->done > 0 && done <= p->done;
    p->n_rounds += is_new;
    p->done_in_all += is_new ? done : done - p->done;
    p->done = done;
}

static void progress_show_rate(const struct progress *p, double elapsed_s)
{
    const double rate = (double)p->done_in_all / elapsed_s;
    if (p->unit == PROGRESS_BYTES)
        fprintf(stderr, ", %.0f MiB/s", rate / (1 << 20));
    else if (p->unit == PROGRESS_EVENTS && rate < 1e6)
        fprintf(stderr, ", %.0f thousand events/s", rate / 1e3);
    else if (p->unit == PROGRESS_EVENTS)
        fprintf(stderr, ", %.1f million events/s", rate / 1e6);
}

/* "replaying: 42 %, 8.1 million events/s, about 12 s left"; without a total "reading: 310 MiB, 150 MiB/s"; in a later
 * round, as nobody knows how many there will be, "replaying: run 7, 42 %, 8.1 million events/s". */
void progress_report(void *progress, uint64_t done, uint64_t total)
{
    enum { REFRESH_MS = 100, RATE_AFTER_MS = 300 };
    struct progress *p = progress;
    const int64_t now = monotonic_ms();
    const double elapsed_s = (double)(now - p->started_ms) / 1000;
    progress_count(p, done);
    if (now - p->begun_ms < PROGRESS_PATIENCE_MS || now - p->shown_ms < REFRESH_MS || isatty(STDERR_FILENO) == 0)
        return;
    p->shown_ms = now;
    p->is_shown = true;
    progress_erase_line();
    fprintf(stderr, "%s: ", p->what);
    if (p->n_rounds > 1)
        fprintf(stderr, "run %u, ", p->n_rounds);
    if (done > total && p->unit == PROGRESS_BYTES)
        fprintf(stderr, "%" PRIu64 " MiB", done >> 20);
    else if (done > total)
        fprintf(stderr, "%.1f million events", (double)done / 1e6);
    else
        fprintf(stderr, "%.0f %%", 100 * (double)done / (double)total);
    if (now - p->started_ms < RATE_AFTER_MS)
        return;
    progress_show_rate(p, elapsed_s);
    if (p->n_rounds == 1 && done > 0 && done < total)
        fprintf(stderr, ", about %.0f s left", elapsed_s * (double)(total - done) / (double)done);
}

void progress_erase_line(void)
{
    dprintf(STDERR_FILENO, "\r\033[K");                  /* not by stderr, which prints nothing that a terminal obeys */
}

void progress_clear(struct progress *p)
{
    if (p->is_shown)
        progress_erase_line();
    p->is_shown = false;
}
