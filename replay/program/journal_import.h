/*
 * Makes traces of what a recorded program left in its folder: a journal of CUDA calls from each process, and the
 * snapshots of PyTorch's own history, if these were asked for.
 *
 * The two are at different levels. A snapshot says what the program asked PyTorch's allocator for; a journal says what
 * that allocator then asked the driver for.
 */
#ifndef REPLAY_REPLAY_PROGRAM_JOURNAL_IMPORT_H
#define REPLAY_REPLAY_PROGRAM_JOURNAL_IMPORT_H

#include "base/err.h"
#include "report/json_writer.h"

/* Where the commands differ. `record` keeps the name's own ending, names every snapshot of the hook, and takes no calls
 * for an answer. `run-sim` ends all names in .zst, takes the snapshot of a process's end or else of its first out of
 * memory, and refuses to record nothing. */
enum recording_rules { RECORDING_OF_RECORD, RECORDING_OF_RUN_SIM };

/* Imports the journals and snapshots of a folder. One process on one device gives the trace `out`; several give names
 * made from it. Each file is named on standard error. A journal goes when it is in a trace, unless its process still
 * runs. `json` (may be NULL) gets the array `files`, and for record `processes`. ERR_UNSUPPORTED if run-sim has
 * recorded nothing; ERR_IO; the errors of trace_import. */
MUST_USE enum err recording_import(const char *folder, const char *out, enum recording_rules rules,
                                   struct json_writer *json, struct err_detail *why);

#endif
