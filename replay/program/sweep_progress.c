/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
#include "replay/program/sweep_progress.h"

#include "base/monotonic_ms.h"
#include "base/shown.h"
#include "replay/program/cli.h"

#include <inttypes.h>
#include <unistd.h>

void sweep_progress_end(struct sweep_progress *p)
{
    if (p->is_line_open)
        progress_erase_line();
    p->is_line_open = false;
}

/* After a signal the current trace is still replayed to its end, which may take a while. */
static void tell_end(struct sweep_progress *p)
{
    if (p->is_end_told)
        return;
    sweep_progress_end(p);
    fprintf(stderr, "sweep: ends after this trace; a second signal ends it at once; no stored run is lost\n");
    p->is_end_told = true;
}

/* On a terminal one line that is rewritten; elsewhere a new line every half minute. False: it is too soon for one. */
static bool begin_line(struct sweep_progress *p, size_t input, bool is_at_once)
{
    enum { REFRESH_MS = 250, PAUSE_MS = 30000 };
    const int64_t now = monotonic_ms();
    const bool is_soon = now - p->shown_ms < (p->is_terminal ? REFRESH_MS : PAUSE_MS) ||
                         now - p->started_ms < PROGRESS_PATIENCE_MS;
    if (is_soon && !(is_at_once && p->is_terminal))
        return false;
    p->shown_ms = now;
    if (p->is_terminal)
        progress_erase_line();
    fprintf(stderr, "sweep: trace %zu of %zu, ", input + 1, p->sweep->inputs.n);
    return true;
}

static void end_line(struct sweep_progress *p)
{
    if (!p->is_terminal)
        fputc('\n', stderr);
    p->is_line_open = p->is_terminal;
}

static void show_progress(void *arg, size_t input, double done)
{
    struct sweep_progress *p = arg;
    if (p->sweep->interrupted != NULL && *p->sweep->interrupted != 0) {
        tell_end(p);
        return;
    }
    if (!begin_line(p, input, false))
        return;
    const double elapsed_s = (double)(p->shown_ms - p->started_ms) / 1000;
    fprintf(stderr, "%.0f %% of the work", 100 * done);
    if (done > 0.02 && done < 1)
        fprintf(stderr, ", about %.0f s left", elapsed_s * (1 - done) / done);
    end_line(p);
}

/* Nothing tells how far the digest of a file is, so of a large one it is said at once that it is read. */
static void show_reading(void *arg, size_t input, uint64_t done, uint64_t total)
{
    enum { LARGE_BYTES = 64 << 20 };
    if (!begin_line(arg, input, done == 0 && total >= LARGE_BYTES))
        return;
    fputs("reading", stderr);
    if (done > 0 && done <= total)
        fprintf(stderr, ", %.0f %%", 100 * (double)done / (double)total);
    end_line(arg);
}

static void show_complaint(void *arg, const char *text)
{
    sweep_progress_end(arg);
    fputs("replay: left out: ", stderr);
    shown_put(stderr, text);
    fputc('\n', stderr);
}

void sweep_progress_begin(struct sweep *s, struct sweep_progress *out)
{
    const int64_t now = monotonic_ms();
    *out = (struct sweep_progress){ .sweep = s, .started_ms = now, .shown_ms = now,
                                    .is_terminal = isatty(STDERR_FILENO) != 0 };
    s->progress = show_progress;
    s->reading = show_reading;
    s->complain = show_complaint;
    s->arg = out;
}
