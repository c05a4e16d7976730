/*
 * What a run on the simulated CUDA leaves behind, made into traces.
 *
 * Two things may be recorded at once: the calls that reached the simulated driver (each process's journal), and the
 * requests to PyTorch's allocator (its own snapshot). They are at different levels: the second says what the program
 * wanted, the first what the allocator made of it.
 */
#ifndef REPLAY_REPLAY_PROGRAM_SIM_RECORD_H
#define REPLAY_REPLAY_PROGRAM_SIM_RECORD_H

#include "base/err.h"
#include "cudasim/journal_read.h"
#include "report/json_writer.h"

#include <limits.h>

/* The calls of one device in a journal, as a native trace: whole segments, memory of pools (by pool and stream),
 * physical memory, refusals. ERR_IO, ERR_FORMAT for a journal that contradicts itself. */
MUST_USE enum err journal_trace(const struct journal_view *v, int device, const char *path, struct err_detail *why);

/* Makes the traces of a run. `folder`: its journals and snapshots; a file that is no journal is left out. `path`: as given
 * to --record; names of further files are made from it: .gpu<N> where several devices were used, .<process> where several
 * processes recorded, with -<n> for what a process became by exec, .driver where there is a snapshot, whose trace has the
 * plain name then. Each name is printed, and put into `json`, an open array, where that is not NULL. ERR_IO when there was
 * nothing to record. */
MUST_USE enum err sim_record(const char *folder, const char *path, struct json_writer *json, struct err_detail *why);

#endif
